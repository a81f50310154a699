//! What the rules of claiming need of a share.

use crate::client::{Client, Failure, Files, Gone, Listing, NOT_THERE, OpenFor, advice};
use crate::target::Target;
use filermark_engine::claim::{Entry, EntryKind, Ground, MarkerFile, Removal, Removed};
use filermark_engine::driver::{Claim, DriverError};
use filermark_engine::marker::MARKER_BYTES_MAX;
use filermark_engine::name::{MARKER, Name};
use filermark_engine::stopping;
use filermark_model::plan::SmbPlan;
use filermark_smbwire::status;
use std::time::Duration;

/// Attempts to remove what somebody still has open: connections that have just ended
/// hold their files until the server has noticed.
const ATTEMPTS: usize = 30;
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(100);

/// A run's directory on a share.
pub(super) struct Share<'a> {
    client: &'a mut Client,
    plan: &'a SmbPlan,
    /// For people.
    place: String,
    /// From the share's root.
    path: String,
}

impl<'a> Share<'a> {
    pub(super) fn new(
        client: &'a mut Client,
        plan: &'a SmbPlan,
        target: &Target,
        claim: &Claim,
    ) -> Self {
        Self {
            client,
            plan,
            place: format!(r"{}\{}", target.mount, claim.dir_name),
            path: target.run_dir(&claim.dir_name),
        }
    }

    fn files(&mut self) -> &mut dyn Files {
        self.client.files()
    }

    fn path_of(&self, below: &[Name], name: Option<Name>) -> String {
        let mut path = self.path.clone();
        for name in below.iter().copied().chain(name) {
            path.push('\\');
            path.push_str(&String::from_utf8_lossy(name.text().as_bytes()));
        }
        path
    }

    fn marker(&self) -> String {
        format!(r"{}\{MARKER}", self.path)
    }

    /// A failure as a sentence.
    fn told(&self, step: &str) -> impl Fn(Failure) -> DriverError {
        let (place, step, plan) = (self.place.clone(), step.to_owned(), self.plan.clone());
        move |failure| advice::explain(&place, &step, &failure, &plan)
    }

    /// Reads the front of a file, and closes it.
    fn front_of(&mut self, path: &str) -> Result<Vec<u8>, Failure> {
        let files = self.files();
        let file = files.open(path, OpenFor::Read)?;
        let bytes = files.read(file, 0, MARKER_BYTES_MAX);
        let closed = files.close(file);
        let bytes = bytes?;
        closed.map(|()| bytes)
    }

    /// Writes a file anew.
    fn put(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        let files = self.files();
        let file = files.open(path, OpenFor::Replace)?;
        let written = files.write(file, 0, text.as_bytes());
        let closed = files.close(file);
        written.and(closed)
    }

    /// Removes paths; those that are in use for a moment are tried again.
    fn remove_with_patience(&mut self, what: Gone, paths: &[String]) -> Result<Vec<u32>, Failure> {
        let mut statuses = self.files().remove_each(what, paths)?;
        for _ in 1..ATTEMPTS {
            let busy: Vec<usize> = (0..statuses.len())
                .filter(|at| statuses.get(*at).is_some_and(|status| is_busy(*status)))
                .collect();
            if busy.is_empty() {
                break;
            }
            stopping::sleep(PAUSE);
            let again: Vec<String> = busy
                .iter()
                .filter_map(|at| paths.get(*at).cloned())
                .collect();
            let became = self.files().remove_each(what, &again)?;
            for (at, status) in busy.into_iter().zip(became) {
                if let Some(known) = statuses.get_mut(at) {
                    *known = status;
                }
            }
        }
        Ok(statuses)
    }
}

/// Whether it may be otherwise in a moment. A directory that was emptied has entries for
/// as long as somebody has removed files open.
const fn is_busy(code: u32) -> bool {
    matches!(
        code,
        status::SHARING_VIOLATION | status::DELETE_PENDING | status::DIRECTORY_NOT_EMPTY
    )
}

/// Nothing has the name any more, or soon.
fn is_gone(code: u32) -> bool {
    NOT_THERE.contains(&code) || code == status::DELETE_PENDING
}

/// It is something else than was thought.
const fn is_other(code: u32) -> bool {
    matches!(
        code,
        status::FILE_IS_A_DIRECTORY
            | status::NOT_A_DIRECTORY
            | status::DIRECTORY_NOT_EMPTY
            | status::STOPPED_ON_SYMLINK
            | status::IO_REPARSE_TAG_NOT_HANDLED
    )
}

const fn kind(is_dir: bool, is_link: bool) -> EntryKind {
    match (is_dir, is_link) {
        (_, true) => EntryKind::Link,
        (true, false) => EntryKind::Dir,
        (false, false) => EntryKind::File,
    }
}

impl Ground for Share<'_> {
    type Listing = Listing;

    fn place(&self) -> String {
        self.place.clone()
    }

    fn separator(&self) -> char {
        '\\'
    }

    fn find(&mut self) -> Result<Option<EntryKind>, DriverError> {
        let path = self.path.clone();
        let found = self.files().look(&path);
        let found = found.map_err(self.told("look for the run's directory"))?;
        Ok(found.map(|entry| kind(entry.is_dir, entry.is_link)))
    }

    fn make(&mut self) -> Result<bool, DriverError> {
        let path = self.path.clone();
        match self.files().make_dir(&path) {
            Ok(()) => Ok(true),
            Err(failure) if failure.is(&[status::OBJECT_NAME_COLLISION]) => Ok(false),
            Err(failure) => Err(self.told("make the run's directory")(failure)),
        }
    }

    fn remove(&mut self) -> Result<(), DriverError> {
        let (step, path) = ("remove the run's directory", self.path.clone());
        self.remove_for_good(step, Gone::Dir, path)
    }

    fn read_marker(&mut self) -> Result<MarkerFile, DriverError> {
        let path = self.marker();
        match self.front_of(&path) {
            Ok(bytes) => Ok(MarkerFile::Bytes(bytes)),
            Err(failure) => match failure.status() {
                Some(status) if is_gone(status) => Ok(MarkerFile::Missing),
                Some(status) if is_other(status) => Ok(MarkerFile::NoFile),
                _ => Err(self.told("read the marker file")(failure)),
            },
        }
    }

    fn write_marker(&mut self, text: &str) -> Result<(), DriverError> {
        let path = self.marker();
        self.put(&path, text)
            .map_err(self.told("write the marker file"))
    }

    fn remove_marker(&mut self) -> Result<(), DriverError> {
        let (step, path) = ("remove the marker file", self.marker());
        self.remove_for_good(step, Gone::File, path)
    }

    fn list(&mut self, below: &[Name]) -> Result<Option<Listing>, DriverError> {
        let path = self.path_of(below, None);
        match self.files().begin_list(&path) {
            Ok(listing) => Ok(Some(listing)),
            Err(failure) if failure.status().is_some_and(is_gone) => Ok(None),
            Err(failure) => Err(self.told("list the run's directory")(failure)),
        }
    }

    fn next_entries(&mut self, listing: &mut Listing) -> Result<Option<Vec<Entry>>, DriverError> {
        let entries = self.files().next_entries(listing);
        let entries = entries.map_err(self.told("list the run's directory"))?;
        let entry = |entry: crate::client::Entry| Entry {
            kind: kind(entry.is_dir, entry.is_link),
            name: entry.name.into_bytes(),
        };
        Ok(entries.map(|entries| entries.into_iter().map(entry).collect()))
    }

    fn end_list(&mut self, listing: Listing) {
        let _ = self.files().end_list(listing);
    }

    fn remove_names(
        &mut self,
        what: Removal,
        below: &[Name],
        names: &[Name],
    ) -> Result<Vec<Removed>, DriverError> {
        let (what, step) = match what {
            Removal::File => (Gone::File, "remove leftovers"),
            Removal::Dir => (Gone::Dir, "remove leftover directories"),
        };
        let paths: Vec<String> = names
            .iter()
            .map(|name| self.path_of(below, Some(*name)))
            .collect();
        let statuses = self.remove_with_patience(what, &paths);
        let statuses = statuses.map_err(self.told(step))?;
        let became = statuses.into_iter().map(|status| match status {
            status::SUCCESS => Ok(Removed::Done),
            status if is_gone(status) => Ok(Removed::Gone),
            status if is_other(status) => Ok(Removed::Stays),
            status => {
                let step_asked = "CREATE to remove";
                Err(self.told(step)(Failure::Refused {
                    step: step_asked,
                    status,
                }))
            }
        });
        became.collect()
    }
}

impl Share<'_> {
    fn remove_for_good(&mut self, step: &str, what: Gone, path: String) -> Result<(), DriverError> {
        let statuses = self.remove_with_patience(what, &[path]);
        let statuses = statuses.map_err(self.told(step))?;
        match statuses.first() {
            Some(status) if *status != status::SUCCESS && !is_gone(*status) => {
                Err(self.told(step)(Failure::Refused {
                    step: "the removal",
                    status: *status,
                }))
            }
            _ => Ok(()),
        }
    }
}
