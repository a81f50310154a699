//! Which names a run makes in which directory. Covers both layouts, that of the classical
//! benchmarks ([`filermark_engine::name`]) and the trees of the composites
//! ([`filermark_engine::file_action`]), so that every driver recognizes a directory that
//! another one has left.

use filermark_engine::file_action::{DIR_DIGITS, FILE_DIGITS, FileKind, is_tree_name};
use filermark_engine::name::{MARKER, Name, NameKind};

/// Prefix of the names of the probes' temporary files, before a number.
pub const PROBE_PREFIX: &str = ".filermark-probe-";
/// Digits of a bucket's number in its name.
const BUCKET_DIGITS: usize = 2;

/// The level of a directory in a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The run directory.
    Run,
    /// Classical: the directory of a proc.
    Proc,
    /// Classical: a directory with I/O files.
    Files,
    /// Composite: the root of a tree.
    Tree,
    /// Composite: a directory in it.
    Dir,
    /// Composite: a bucket in such a directory.
    Bucket,
}

/// The meaning of a name in its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameMeaning {
    /// The owner file (in the run directory: the marker).
    Owner,
    /// A file, symbolic link or special file that a run makes.
    File,
    /// A directory that INIT makes, with an owner file.
    Dir(Level),
    /// A directory that an operation makes. No files are made in it: it is removed if it is
    /// empty, and never entered.
    Empty,
    /// Not ours.
    NotOurs,
}

impl Level {
    /// The meaning of a name in a directory of this level.
    pub fn meaning(self, name: &[u8]) -> NameMeaning {
        if name == MARKER.as_bytes() {
            return NameMeaning::Owner;
        }
        match self {
            Self::Run => in_run_dir(name),
            Self::Proc => match Name::parse(name).map(|name| name.kind) {
                Some(NameKind::Dir) => NameMeaning::Dir(Self::Files),
                Some(NameKind::MadeDir) => NameMeaning::Empty,
                Some(NameKind::ProcDir) | None => NameMeaning::NotOurs,
                Some(_) => NameMeaning::File,
            },
            Self::Files => match Name::parse(name) {
                Some(name) if !name.kind.is_dir() => NameMeaning::File,
                _ => NameMeaning::NotOurs,
            },
            Self::Tree => match is_numbered(name, b'd', DIR_DIGITS) {
                true => NameMeaning::Dir(Self::Dir),
                false => NameMeaning::NotOurs,
            },
            Self::Dir => match is_numbered(name, b'b', BUCKET_DIGITS) {
                true => NameMeaning::Dir(Self::Bucket),
                false => NameMeaning::NotOurs,
            },
            Self::Bucket => match bucket_kind(name) {
                Some(FileKind::MadeDir) => NameMeaning::Empty,
                Some(_) => NameMeaning::File,
                None => NameMeaning::NotOurs,
            },
        }
    }
}

fn in_run_dir(name: &[u8]) -> NameMeaning {
    if name.starts_with(PROBE_PREFIX.as_bytes()) {
        return NameMeaning::File;
    }
    match Name::parse(name).map(|name| name.kind) {
        Some(NameKind::ProcDir) => return NameMeaning::Dir(Level::Proc),
        // Directories of `validate`, which empties them itself.
        Some(NameKind::MadeDir) => return NameMeaning::Empty,
        _ => {}
    }
    match std::str::from_utf8(name).is_ok_and(is_tree_name) {
        true => NameMeaning::Dir(Level::Tree),
        false => NameMeaning::NotOurs,
    }
}

/// Whether `name` is `letter` and this number of digits.
fn is_numbered(name: &[u8], letter: u8, digits: usize) -> bool {
    matches!(name.split_first(), Some((first, rest))
        if *first == letter && rest.len() == digits && rest.iter().all(u8::is_ascii_digit))
}

fn bucket_kind(name: &[u8]) -> Option<FileKind> {
    FileKind::ALL
        .into_iter()
        .find(|kind| is_numbered(name, kind.letter(), FILE_DIGITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_only_where_a_run_makes_it() {
        for (level, name, known) in [
            (Level::Run, "p000001", NameMeaning::Dir(Level::Proc)),
            (Level::Run, "CL0_VDA1", NameMeaning::Dir(Level::Tree)),
            (Level::Run, ".filermark-probe-0f", NameMeaning::File),
            (Level::Run, "f0000000001", NameMeaning::NotOurs),
            (Level::Run, "d0000", NameMeaning::NotOurs),
            (Level::Proc, "d0000", NameMeaning::Dir(Level::Files)),
            (Level::Proc, "m000001", NameMeaning::Empty),
            (Level::Proc, "l000001", NameMeaning::File),
            (Level::Proc, "p000001", NameMeaning::NotOurs),
            (Level::Files, "f0000000001", NameMeaning::File),
            (Level::Files, "d0000", NameMeaning::NotOurs),
            (Level::Tree, "d0001", NameMeaning::Dir(Level::Dir)),
            (Level::Dir, "b07", NameMeaning::Dir(Level::Bucket)),
            (Level::Bucket, "m0000001", NameMeaning::Empty),
            (Level::Bucket, "f0000001", NameMeaning::File),
            (Level::Bucket, "f1", NameMeaning::NotOurs),
            (Level::Files, MARKER, NameMeaning::Owner),
        ] {
            assert_eq!(level.meaning(name.as_bytes()), known, "{level:?} {name}");
        }
    }
}
