//! The files that runs read, as named in their records, and the files in the archive that
//! have these names.

use crate::bundle::Member;
use filermark_model::InputFile;
use filermark_results::{Role, RunRecord};

/// Whether a file of the archive has this name, in any folder.
pub(crate) fn is_named(member: &str, name: &str) -> bool {
    !name.is_empty() && (member == name || member.rsplit('/').next() == Some(name))
}

/// The files that the runs of an archive read, as named in the records.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    files: Vec<InputFile>,
    record_count: usize,
    /// How many records name no files: those of version 0.1.
    unlisted_count: usize,
}

impl Inputs {
    /// Adds the files of a record.
    pub fn add(&mut self, record: &RunRecord) {
        self.record_count += 1;
        match &record.run.inputs {
            None => self.unlisted_count += 1,
            Some(inputs) => {
                for input in inputs {
                    if !self.files.contains(input) {
                        self.files.push(input.clone());
                    }
                }
            }
        }
    }

    /// The files.
    pub fn files(&self) -> &[InputFile] {
        &self.files
    }

    /// Whether there are records, and each names the files that its run read.
    pub fn are_all_known(&self) -> bool {
        self.record_count > 0 && self.unlisted_count == 0
    }

    /// Whether a run read a file with this content.
    pub fn has(&self, bytes: &[u8]) -> bool {
        self.files.iter().any(|input| input.is_of(bytes))
    }

    /// Why a file is not what a run read, if readers would take it for that: it has the
    /// name of such a file, or the role of an rc file.
    pub fn refusal(&self, name: &str, member: &Member) -> Option<String> {
        if member.role == Role::Record || self.has(&member.bytes) {
            return None;
        }
        let same_name = self.files.iter().find(|input| is_named(name, &input.name));
        if let Some(input) = same_name {
            return Some(input.difference(&member.bytes));
        }
        let is_rc = member.role == Role::Rc && self.are_all_known();
        is_rc.then(|| match self.files.iter().find(|input| input.is_rc()) {
            Some(rc) => rc.difference(&member.bytes),
            None => "the run read no rc file".to_owned(),
        })
    }
}
