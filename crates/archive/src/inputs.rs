//! The files that runs read, as their records name them, and those that are given for
//! them.

use crate::bundle::Member;
use filermark_model::InputFile;
use filermark_results::{Role, RunRecord};

/// Whether a file of the archive is the one of this name.
pub(crate) fn is_named(member: &str, name: &str) -> bool {
    !name.is_empty() && (member == name || member.rsplit('/').next() == Some(name))
}

/// What the records of an archive say of the files that their runs read.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    files: Vec<InputFile>,
    record_count: usize,
    /// How many of them name no files: those of version 0.1.
    silent_count: usize,
}

impl Inputs {
    /// Takes those of a further record in.
    pub fn take(&mut self, record: &RunRecord) {
        self.record_count += 1;
        match &record.run.inputs {
            None => self.silent_count += 1,
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

    /// Whether there are records, and each names what its run read.
    pub fn are_all_known(&self) -> bool {
        self.record_count > 0 && self.silent_count == 0
    }

    /// Whether a run read this.
    pub fn has(&self, bytes: &[u8]) -> bool {
        self.files.iter().any(|input| input.is_of(bytes))
    }

    /// Why a file cannot stand for what a run read, if it would be taken for that: it
    /// has the name of such a file, or is said to be an rc file.
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
