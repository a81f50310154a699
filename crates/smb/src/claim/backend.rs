//! What the rules of claiming need of a share.

use crate::client::{Client, Failure, Files, Listing, NOT_THERE, OpenFor, RemoveTarget, advice};
use crate::target::Target;
use filermark_driver_kit::claim::{
    A_REPARSE_POINT, DirLookup, Entry, EntryKind, FilePrefix, NOT_A_DIRECTORY, Patch, Removal,
    Removed, RunDirBackend,
};
use filermark_driver_kit::marker::MARKER_BYTES_MAX;
use filermark_engine::driver::{Claim, DriverError};
use filermark_engine::interrupt_guard;
use filermark_model::plan::SmbPlan;
use filermark_smbwire::status;
use std::time::Duration;

/// Attempts to remove files that are still open: connections that have just ended keep
/// their files open until the server has noticed the end.
const ATTEMPTS: usize = 30;
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(100);

/// A run's directory on a share.
pub struct Share<'a> {
    client: &'a mut Client,
    plan: &'a SmbPlan,
    /// For people.
    place: String,
    /// From the share's root.
    path: String,
    /// Whether the last failure may be gone at another try.
    may_pass: bool,
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
            place: Target::run_dir_text(&target.mount, &claim.dir_name),
            path: target.run_dir(&claim.dir_name),
            may_pass: false,
        }
    }

    fn files(&mut self) -> &mut dyn Files {
        self.client.files()
    }

    /// A failure as a sentence.
    fn driver_error(&mut self, step: &str, failure: &Failure) -> DriverError {
        self.may_pass = failure.status().is_some_and(is_of_the_moment);
        advice::explain(&self.place, step, failure, self.plan)
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

    /// Reads a file and writes over it, by one open.
    fn change(
        &mut self,
        path: &str,
        change: &mut dyn FnMut(FilePrefix) -> Option<Patch>,
    ) -> Result<(), Failure> {
        let files = self.files();
        let file = files.open(path, OpenFor::Update)?;
        let bytes = files.read(file, 0, MARKER_BYTES_MAX);
        let changed = bytes.and_then(|bytes| match change(FilePrefix::Bytes(bytes)) {
            Some(patch) => files.write(file, patch.offset, &patch.bytes),
            None => Ok(()),
        });
        let closed = files.close(file);
        changed.and(closed)
    }

    /// What has a path, as a directory.
    fn dir_at(&mut self, step: &str, path: String) -> Result<DirLookup<String>, DriverError> {
        let found = self
            .files()
            .look(&path)
            .map_err(|f| self.driver_error(step, &f))?;
        Ok(match found {
            None => DirLookup::Missing,
            Some(entry) if entry.is_link => DirLookup::Other(A_REPARSE_POINT),
            Some(entry) if entry.is_dir => DirLookup::Dir(path),
            Some(_) => DirLookup::Other(NOT_A_DIRECTORY),
        })
    }

    /// Removes paths; those that are in use for a moment are tried again.
    fn remove_with_retries(
        &mut self,
        what: RemoveTarget,
        paths: &[String],
    ) -> Result<Vec<u32>, Failure> {
        let mut statuses = self.files().remove_each(what, paths)?;
        for _ in 1..ATTEMPTS {
            let busy: Vec<usize> = (0..statuses.len())
                .filter(|at| statuses.get(*at).is_some_and(|status| is_busy(*status)))
                .collect();
            if busy.is_empty() {
                break;
            }
            interrupt_guard::sleep(PAUSE);
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
/// as long as removed files are open.
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

/// The server may answer otherwise a moment later.
const fn is_of_the_moment(code: u32) -> bool {
    matches!(
        code,
        status::IO_DEVICE_ERROR
            | status::UNEXPECTED_IO_ERROR
            | status::DATA_ERROR
            | status::CRC_ERROR
            | status::INSUFFICIENT_RESOURCES
            | status::INSUFF_SERVER_RESOURCES
            | status::NO_MEMORY
            | status::IO_TIMEOUT
            | status::DEVICE_BUSY
            | status::NETWORK_BUSY
            | status::TOO_MANY_OPENED_FILES
            | status::UNSUCCESSFUL
    )
}

const fn kind(is_dir: bool, is_link: bool) -> EntryKind {
    match (is_dir, is_link) {
        (_, true) => EntryKind::Link,
        (true, false) => EntryKind::Dir,
        (false, false) => EntryKind::File,
    }
}

/// The path of a name in a directory.
fn path_in(dir: &str, name: &str) -> String {
    format!(r"{dir}\{name}")
}

/// Directories are paths from the share's root on. A server that follows symbolic links
/// by itself shows them as directories: the owner file in one shows where it is.
impl RunDirBackend for Share<'_> {
    type Dir = String;
    type Listing = Listing;

    fn place(&self) -> String {
        self.place.clone()
    }

    fn separator(&self) -> char {
        '\\'
    }

    fn find_run_dir(&mut self) -> Result<DirLookup<String>, DriverError> {
        let path = self.path.clone();
        self.dir_at("open the run's directory", path)
    }

    fn make_run_dir(&mut self) -> Result<bool, DriverError> {
        let path = self.path.clone();
        match self.files().make_dir(&path) {
            Ok(()) => Ok(true),
            Err(failure) if failure.is(&[status::OBJECT_NAME_COLLISION]) => Ok(false),
            Err(failure) => Err(self.driver_error("make the run's directory", &failure)),
        }
    }

    fn remove_run_dir(&mut self) -> Result<(), DriverError> {
        let (step, path) = ("remove the run's directory", self.path.clone());
        self.remove_for_good(step, RemoveTarget::Dir, path)
    }

    fn find_dir(&mut self, parent: &String, name: &str) -> Result<DirLookup<String>, DriverError> {
        self.dir_at("inspect a leftover", path_in(parent, name))
    }

    fn read_file(&mut self, dir: &String, name: &str) -> Result<FilePrefix, DriverError> {
        let path = path_in(dir, name);
        match self.front_of(&path) {
            Ok(bytes) => Ok(FilePrefix::Bytes(bytes)),
            Err(failure) => match failure.status() {
                Some(status) if is_gone(status) => Ok(FilePrefix::Missing),
                // The end of a file that is empty.
                Some(status::END_OF_FILE) => Ok(FilePrefix::Bytes(Vec::new())),
                Some(status) if is_other(status) => Ok(FilePrefix::NoFile),
                _ => Err(self.driver_error("read the marker file", &failure)),
            },
        }
    }

    fn write_file(&mut self, dir: &String, name: &str, text: &str) -> Result<(), DriverError> {
        let path = path_in(dir, name);
        self.put(&path, text)
            .map_err(|f| self.driver_error("write the marker file", &f))
    }

    fn change_file(
        &mut self,
        dir: &String,
        name: &str,
        change: &mut dyn FnMut(FilePrefix) -> Option<Patch>,
    ) -> Result<(), DriverError> {
        let path = path_in(dir, name);
        match self.change(&path, change) {
            Err(failure) if failure.status().is_some_and(is_gone) => Ok(()),
            other => other.map_err(|f| self.driver_error("renew the marker file", &f)),
        }
    }

    fn list(&mut self, dir: &String) -> Result<Option<Listing>, DriverError> {
        match self.files().begin_list(dir) {
            Ok(listing) => Ok(Some(listing)),
            Err(failure) if failure.status().is_some_and(is_gone) => Ok(None),
            Err(failure) => Err(self.driver_error("list the run's directory", &failure)),
        }
    }

    fn next_entries(&mut self, listing: &mut Listing) -> Result<Option<Vec<Entry>>, DriverError> {
        let entries = self.files().next_entries(listing);
        let entries = entries.map_err(|f| self.driver_error("list the run's directory", &f))?;
        let entry = |entry: crate::client::Entry| Entry {
            kind: kind(entry.is_dir, entry.is_link),
            name: entry.name.into_bytes(),
        };
        Ok(entries.map(|entries| entries.into_iter().map(entry).collect()))
    }

    fn end_list(&mut self, listing: Listing) {
        let _ = self.files().end_list(listing);
    }

    fn remove(
        &mut self,
        what: Removal,
        dir: &String,
        names: &[&str],
    ) -> Result<Vec<Removed>, DriverError> {
        let (what, step) = match what {
            Removal::File => (RemoveTarget::File, "remove leftovers"),
            Removal::Dir => (RemoveTarget::Dir, "remove leftover directories"),
        };
        let paths: Vec<String> = names.iter().map(|name| path_in(dir, name)).collect();
        let statuses = self.remove_with_retries(what, &paths);
        let statuses = statuses.map_err(|f| self.driver_error(step, &f))?;
        let became = statuses.into_iter().map(|status| match status {
            status::SUCCESS => Ok(Removed::Done),
            status if is_gone(status) => Ok(Removed::NotFound),
            status if is_other(status) => Ok(Removed::NotRemoved),
            status => {
                let step_asked = "CREATE to remove";
                let failure = Failure::Refused {
                    step: step_asked,
                    status,
                };
                Err(self.driver_error(step, &failure))
            }
        });
        became.collect()
    }

    fn may_pass(&self) -> bool {
        self.may_pass
    }
}

impl Share<'_> {
    fn remove_for_good(
        &mut self,
        step: &str,
        what: RemoveTarget,
        path: String,
    ) -> Result<(), DriverError> {
        let statuses = self.remove_with_retries(what, &[path]);
        let statuses = statuses.map_err(|f| self.driver_error(step, &f))?;
        match statuses.first() {
            Some(status) if *status != status::SUCCESS && !is_gone(*status) => {
                let failure = Failure::Refused {
                    step: "the removal",
                    status: *status,
                };
                Err(self.driver_error(step, &failure))
            }
            _ => Ok(()),
        }
    }
}
