//! Files, one request at a time: the same for both protocols.
//!
//! Paths count from the share's root, with backslashes and none in front; the empty one
//! is the root.

use super::error::{ClientError, Failure, NOT_THERE};
use filermark_smbwire::error::DecodeError;
use std::net::SocketAddr;

/// Entries of one directory that [`Files::list`] takes; more are a server's mistake.
const LIST_MAX: usize = 10_000_000;

/// An open file or directory: both halves of its id with SMB2, the second with SMB1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File(pub(super) u64, pub(super) u64);

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenFor {
    /// Its attributes.
    Attributes,
    /// Reading.
    Read,
    /// Reading and writing.
    Update,
    /// Reading and writing; it is made, or cut to nothing if it is there.
    Replace,
    /// A directory: making things in it. Makes nothing by itself.
    MakeIn,
}

/// An entry of a directory, or what has a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name; what is no text has replacement characters in it. Empty where it was
    /// asked for by path.
    pub name: String,
    /// It is a directory.
    pub is_dir: bool,
    /// It is a reparse point, as far as the server reports that.
    pub is_link: bool,
    /// Its length in bytes.
    pub size: u64,
}

/// A listing that is under way; [`Files::end_list`] ends it.
#[derive(Debug)]
pub struct Listing {
    /// The directory (SMB2), or the search (SMB1).
    pub(super) file: File,
    /// What has come already and was not handed out (SMB1: with the first answer).
    pub(super) ready: Option<Vec<Entry>>,
    /// Where a search goes on: the last name, and its key.
    pub(super) last: (String, u32),
    /// There is no more.
    pub(super) is_over: bool,
    /// The server has closed it of its own accord.
    pub(super) is_closed: bool,
}

/// Space of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// All of it, or of the user's quota.
    pub total: u64,
    /// What the user may still use.
    pub free: u64,
}

impl From<Space> for filermark_model::survey::Space {
    fn from(space: Space) -> Self {
        Self {
            free_bytes: space.free,
            total_bytes: space.total,
        }
    }
}

/// What is to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoveTarget {
    /// A file.
    File,
    /// An empty directory.
    Dir,
}

/// What a client can do with files. Every method fails with [`Failure`]: the server's
/// refusal with its NTSTATUS, or that there was no reply.
#[allow(clippy::missing_errors_doc)] // The errors are those described above.
pub trait Files {
    /// Makes a directory, which must not be there.
    fn make_dir(&mut self, path: &str) -> Result<(), Failure>;

    /// Makes a file, which must not be there, and opens it for reading and writing.
    fn create_new(&mut self, path: &str) -> Result<File, Failure>;

    /// Opens what is there.
    fn open(&mut self, path: &str, purpose: OpenFor) -> Result<File, Failure>;

    /// Up to `length` bytes from `offset` on; fewer at the end of the file.
    fn read(&mut self, file: File, offset: u64, length: u32) -> Result<Vec<u8>, Failure>;

    /// Writes all of `data`.
    fn write(&mut self, file: File, offset: u64, data: &[u8]) -> Result<(), Failure>;

    /// Brings what was written to stable storage.
    fn flush(&mut self, file: File) -> Result<(), Failure>;

    /// Closes it.
    fn close(&mut self, file: File) -> Result<(), Failure>;

    /// What has this path; `None`: nothing has.
    fn look(&mut self, path: &str) -> Result<Option<Entry>, Failure>;

    /// Begins to list a directory.
    fn begin_list(&mut self, path: &str) -> Result<Listing, Failure>;

    /// Some entries, without `.` and `..`; `None`: there are no more.
    fn next_entries(&mut self, listing: &mut Listing) -> Result<Option<Vec<Entry>>, Failure>;

    /// Ends a listing.
    fn end_list(&mut self, listing: Listing) -> Result<(), Failure>;

    /// Removes many, several at a time; the NTSTATUS of each, in their order.
    fn remove_each(&mut self, what: RemoveTarget, paths: &[String]) -> Result<Vec<u32>, Failure>;

    /// Cuts or lengthens a file.
    fn set_end_of_file(&mut self, file: File, size: u64) -> Result<(), Failure>;

    /// The space of the file system that a path is in.
    fn space(&mut self, path: &str) -> Result<Space, Failure>;

    /// What the server and the session are, for the record: name, value.
    fn server_facts(&self) -> Vec<(String, String)>;

    /// Leaves the share and ends the session; the connection is of no use any more.
    /// Best effort.
    fn log_off(&mut self);

    /// The server's address.
    fn peer(&self) -> SocketAddr;

    /// Removes a file.
    fn remove_file(&mut self, path: &str) -> Result<(), Failure> {
        let became = self.remove_each(RemoveTarget::File, &[path.to_owned()])?;
        refused("remove a file", &became)
    }

    /// Removes an empty directory.
    fn remove_dir(&mut self, path: &str) -> Result<(), Failure> {
        let became = self.remove_each(RemoveTarget::Dir, &[path.to_owned()])?;
        refused("remove a directory", &became)
    }

    /// Whether anything has this path.
    fn exists(&mut self, path: &str) -> Result<bool, Failure> {
        Ok(self.look(path)?.is_some())
    }

    /// All entries of a directory, without `.` and `..`.
    fn list(&mut self, path: &str) -> Result<Vec<Entry>, Failure> {
        let mut listing = self.begin_list(path)?;
        let mut all = Vec::new();
        let outcome = loop {
            match self.next_entries(&mut listing) {
                Ok(Some(_)) if all.len() > LIST_MAX => break Err(endless(self.peer())),
                Ok(Some(entries)) => all.extend(entries),
                Ok(None) => break Ok(all),
                Err(error) => break Err(error),
            }
        };
        let ended = self.end_list(listing);
        let all = outcome?;
        ended.map(|()| all)
    }
}

fn endless(address: SocketAddr) -> Failure {
    let source = DecodeError::Bad("the length of a listing, which has no end,");
    Failure::ConnectionLost {
        step: "list a directory",
        error: ClientError::Garbage { address, source },
    }
}

/// A refusal among the statuses.
fn refused(step: &'static str, statuses: &[u32]) -> Result<(), Failure> {
    match statuses.iter().find(|status| **status != 0) {
        Some(status) => Err(Failure::Refused {
            step,
            status: *status,
        }),
        None => Ok(()),
    }
}

/// Nothing has this path, as a refusal says it.
pub(super) fn or_nothing<T>(found: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(failure) if failure.is(&NOT_THERE) => Ok(None),
        Err(failure) => Err(failure),
    }
}
