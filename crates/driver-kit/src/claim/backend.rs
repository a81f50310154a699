//! What a protocol does for the rules of the run directory: a few operations on
//! directories, by names that the rules hand in.

use crate::marker::Marker;
use filermark_engine::driver::DriverError;

/// Where a run directory is, or is to be: one directory of a server, by one protocol.
/// All errors are sentences that name the place, the step, the reason and what to try.
pub trait RunDirBackend {
    /// A directory that was found: a file handle, a path, an open directory.
    type Dir;
    /// A listing that is under way.
    type Listing;

    /// The run directory, for people.
    fn place(&self) -> String;

    /// What separates names in paths for people.
    fn separator(&self) -> char {
        '/'
    }

    /// Looks for the run directory.
    ///
    /// # Errors
    /// The server could not be asked.
    fn find_run_dir(&mut self) -> Result<DirLookup<Self::Dir>, DriverError>;

    /// Makes the run directory; `false`: something has its name already.
    ///
    /// # Errors
    /// No right, read-only, full.
    fn make_run_dir(&mut self) -> Result<bool, DriverError>;

    /// Removes the run directory, which is empty; that it is gone is fine.
    ///
    /// # Errors
    /// It stays.
    fn remove_run_dir(&mut self) -> Result<(), DriverError>;

    /// Finds a directory in another one. Follows no link, as far as the protocol can
    /// tell, and enters no other file system.
    ///
    /// # Errors
    /// The server could not be asked.
    fn find_dir(
        &mut self,
        parent: &Self::Dir,
        name: &str,
    ) -> Result<DirLookup<Self::Dir>, DriverError>;

    /// Reads the front of a file ([`crate::marker::MARKER_BYTES_MAX`]).
    ///
    /// # Errors
    /// It cannot be read.
    fn read_file(&mut self, dir: &Self::Dir, name: &str) -> Result<FilePrefix, DriverError>;

    /// Writes a file, over whatever was in it.
    ///
    /// # Errors
    /// No right, read-only, full.
    fn write_file(&mut self, dir: &Self::Dir, name: &str, text: &str) -> Result<(), DriverError>;

    /// Reads a file and writes what `change` gives over a part of it, and nothing else of
    /// it. Both go to the same file, also when another one takes its name in between.
    ///
    /// # Errors
    /// It cannot be read or written.
    fn change_file(
        &mut self,
        dir: &Self::Dir,
        name: &str,
        change: &mut dyn FnMut(FilePrefix) -> Option<Patch>,
    ) -> Result<(), DriverError>;

    /// Begins to list a directory; `None`: it is gone.
    ///
    /// # Errors
    /// It cannot be listed.
    fn list(&mut self, dir: &Self::Dir) -> Result<Option<Self::Listing>, DriverError>;

    /// Goes on with a listing: some entries, without `.` and `..`; `None`: there are no
    /// more.
    ///
    /// # Errors
    /// It cannot be listed.
    fn next_entries(
        &mut self,
        listing: &mut Self::Listing,
    ) -> Result<Option<Vec<Entry>>, DriverError>;

    /// Ends a listing. Best effort.
    fn end_list(&mut self, _listing: Self::Listing) {}

    /// Removes files, or empty directories, from one directory; what became of each, in
    /// their order.
    ///
    /// # Errors
    /// Something of ours cannot be removed.
    fn remove(
        &mut self,
        what: Removal,
        dir: &Self::Dir,
        names: &[&str],
    ) -> Result<Vec<Removed>, DriverError>;

    /// Whether the last failure may be gone at another try: the server, or the system,
    /// refused for a reason of the moment (an I/O error, no resources). Not what the
    /// protocol's own client has tried again already, as it does with lost connections.
    fn may_pass(&self) -> bool {
        false
    }

    /// Whether somebody wishes to stop; then emptying a directory ends with an error.
    fn is_stopped(&self) -> bool {
        filermark_engine::interrupt_guard::stop_requested()
    }
}

/// What a look for a directory came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirLookup<D> {
    /// Nothing has the name.
    Missing,
    /// A directory.
    Dir(D),
    /// Something that is not entered, and what it is.
    Other(&'static str),
}

/// Why a name that is no directory is not entered.
pub const NOT_A_DIRECTORY: &str = "it is not a directory";
/// Why a link is not followed.
pub const A_LINK: &str = "it is a link";
/// The same of SMB, where there are more kinds of them.
pub const A_REPARSE_POINT: &str = "it is a link, or over SMB another reparse point";
/// Why a directory of another file system is not entered.
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
    /// The listing does not say it.
    Unknown,
    /// Something without entries of its own.
    File,
    /// A directory.
    Dir,
    /// Something that leads elsewhere, which is never followed.
    Link,
}

/// What a file begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePrefix {
    /// There is none.
    Missing,
    /// Something has its name that cannot be read as a file.
    NoFile,
    /// Its first bytes.
    Bytes(Vec<u8>),
}

/// Bytes that are written over a part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where they begin.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Patch {
    /// What makes one marker of another, whose file has these bytes.
    ///
    /// Heartbeat, state and `shared` have fixed places: only they are written where nothing
    /// else changes. Else the whole text is, so that of two who change the same marker in
    /// the same moment one is there entirely, and never a mixture of both.
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

    /// What makes `after` of `before`: all bytes from the first that differs to the last.
    /// Where they have the same size, bytes that others change elsewhere in the file
    /// meanwhile stay as they are. `None`: nothing differs.
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

/// What became of a name that was to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It is removed.
    Done,
    /// It was gone already.
    NotFound,
    /// It stays: it is something else, or not empty.
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
