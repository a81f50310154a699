//! What a protocol supplies for the rules of the run directory: a few operations on
//! directories.

use crate::marker::Marker;
use filermark_engine::driver::DriverError;

/// The directory of a server in which the run directory is, over one protocol. All errors
/// name the place, the step, the reason and what to try.
pub trait RunDirBackend {
    /// A directory that was found: a file handle, a path, an open directory.
    type Dir;
    /// A listing under way.
    type Listing;

    /// The run directory, for messages.
    fn place(&self) -> String;

    /// The separator of names in displayed paths.
    fn separator(&self) -> char {
        '/'
    }

    /// Looks for the run directory.
    ///
    /// # Errors
    /// The server could not be asked.
    fn find_run_dir(&mut self) -> Result<DirLookup<Self::Dir>, DriverError>;

    /// Makes the run directory; `false`: its name exists already.
    ///
    /// # Errors
    /// No permission, read-only, full.
    fn make_run_dir(&mut self) -> Result<bool, DriverError>;

    /// Removes the run directory, which is empty; if it is missing, that is no error.
    ///
    /// # Errors
    /// It cannot be removed.
    fn remove_run_dir(&mut self) -> Result<(), DriverError>;

    /// Finds a directory in another one. Does not follow links, as far as the protocol shows
    /// them, and does not enter other file systems.
    ///
    /// # Errors
    /// The server could not be asked.
    fn find_dir(
        &mut self,
        parent: &Self::Dir,
        name: &str,
    ) -> Result<DirLookup<Self::Dir>, DriverError>;

    /// Reads the first bytes of a file ([`crate::marker::MARKER_BYTES_MAX`]).
    ///
    /// # Errors
    /// It cannot be read.
    fn read_file(&mut self, dir: &Self::Dir, name: &str) -> Result<FilePrefix, DriverError>;

    /// Writes a file and overwrites its contents.
    ///
    /// # Errors
    /// No permission, read-only, full.
    fn write_file(&mut self, dir: &Self::Dir, name: &str, text: &str) -> Result<(), DriverError>;

    /// Reads a file and overwrites only the part that `change` returns. Both happen on the
    /// same file, even if another file gets its name in between.
    ///
    /// # Errors
    /// It cannot be read or written.
    fn change_file(
        &mut self,
        dir: &Self::Dir,
        name: &str,
        change: &mut dyn FnMut(FilePrefix) -> Option<Patch>,
    ) -> Result<(), DriverError>;

    /// Begins to list a directory; `None`: it is missing.
    ///
    /// # Errors
    /// It cannot be listed.
    fn list(&mut self, dir: &Self::Dir) -> Result<Option<Self::Listing>, DriverError>;

    /// The next entries of a listing, without `.` and `..`; `None`: the end.
    ///
    /// # Errors
    /// It cannot be listed.
    fn next_entries(
        &mut self,
        listing: &mut Self::Listing,
    ) -> Result<Option<Vec<Entry>>, DriverError>;

    /// Ends a listing. Best effort.
    fn end_list(&mut self, _listing: Self::Listing) {}

    /// Removes files, or empty directories, from one directory; returns the result for each,
    /// in their order.
    ///
    /// # Errors
    /// A file or directory of ours cannot be removed.
    fn remove(
        &mut self,
        what: Removal,
        dir: &Self::Dir,
        names: &[&str],
    ) -> Result<Vec<Removed>, DriverError>;

    /// Whether the last failure may be transient: the server or the system refused because of
    /// an I/O error or a lack of resources. Not for failures after which the protocol's client
    /// has already retried, as it does with lost connections.
    fn may_pass(&self) -> bool {
        false
    }

    /// Whether a stop is requested; then emptying a directory ends with an error.
    fn is_stopped(&self) -> bool {
        filermark_engine::interrupt_guard::stop_requested()
    }
}

/// The result of looking for a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirLookup<D> {
    /// The name does not exist.
    Missing,
    /// A directory.
    Dir(D),
    /// Not a directory that may be entered; says why.
    Other(&'static str),
}

/// The name is not that of a directory.
pub const NOT_A_DIRECTORY: &str = "it is not a directory";
/// Links are not followed.
pub const A_LINK: &str = "it is a link";
/// A link, if the protocol may be SMB, which has more kinds of them.
pub const A_REPARSE_POINT: &str = "it is a link, or over SMB another reparse point";
/// Directories of other file systems are not entered.
pub const OTHER_FILE_SYSTEM: &str = "another file system is mounted or exported there";

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// The listing does not contain it.
    Unknown,
    /// A file of any type without entries.
    File,
    /// A directory.
    Dir,
    /// A link, which is never followed.
    Link,
}

/// The first bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePrefix {
    /// There is no such file.
    Missing,
    /// The name exists and cannot be read as a file.
    NoFile,
    /// The bytes.
    Bytes(Vec<u8>),
}

/// Bytes that overwrite a part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Their offset.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Patch {
    /// The patch that changes a marker, whose file has these bytes, into another one.
    ///
    /// Heartbeat, state and `shared` have fixed places: only they are written if nothing else
    /// changes. Otherwise the whole text is written, so that two processes that change the
    /// same marker at the same moment leave one of the two texts, never a mixture.
    pub fn of_marker(bytes: &[u8], before: &Marker, after: &Marker) -> Option<Self> {
        let text = after.text();
        if before.is_same_lease(after) {
            return Self::between(bytes, &text);
        }
        Some(Self {
            offset: 0,
            bytes: text.into_bytes(),
        })
    }

    /// The patch that changes `before` into `after`: all bytes from the first that differs to
    /// the last. If both have the same size, bytes that others change outside of this range
    /// meanwhile are kept. `None`: nothing differs.
    pub fn between(before: &[u8], after: &str) -> Option<Self> {
        let after = after.as_bytes();
        let pairs = || before.iter().zip(after);
        let from = pairs().take_while(|(one, two)| one == two).count();
        let rest = after.get(from..).filter(|rest| !rest.is_empty())?;
        let same_at_end = match before.len() == after.len() {
            true => pairs().rev().take_while(|(one, two)| one == two).count(),
            false => 0,
        };
        let bytes = rest.get(..rest.len().checked_sub(same_at_end)?)?.to_vec();
        Some(Self {
            offset: from as u64,
            bytes,
        })
    }
}

/// What is to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// Files.
    File,
    /// Empty directories.
    Dir,
}

/// The result of removing a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It was removed.
    Done,
    /// It was missing.
    NotFound,
    /// It remains: it has another type, or is not empty.
    NotRemoved,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_has_the_bytes_that_differ() {
        let of = |before: &str, after: &str| {
            let patch = Patch::between(before.as_bytes(), after)?;
            let mut file = before.as_bytes().to_vec();
            let from = patch.offset as usize;
            file.resize(file.len().max(from + patch.bytes.len()), b'?');
            file[from..from + patch.bytes.len()].copy_from_slice(&patch.bytes);
            assert!(file.starts_with(after.as_bytes()), "{before} {after}");
            Some((patch.offset, String::from_utf8(patch.bytes).unwrap()))
        };
        assert_eq!(of("beat: 09 no", "beat: 10 no"), Some((6, "10".into())));
        assert_eq!(of("beat: 09 no ", "beat: 09 yes"), Some((9, "yes".into())));
        assert_eq!(of("aXa", "aYa"), Some((1, "Y".into())));
        assert_eq!(of("same", "same"), None);
        assert_eq!(of("", "new"), Some((0, "new".into())));
        assert_eq!(of("short", "shorter"), Some((5, "er".into())));
        assert_eq!(of("an old text", "a text"), Some((1, " text".into())));
    }
}
