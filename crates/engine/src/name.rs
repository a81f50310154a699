//! Names of what a run creates: a pure function of the object.
//!
//! Layout on the server, below each mount point:
//!
//! ```text
//! filermark.SUFFIX/               the run's directory, owned by the marker in it
//!     .filermark-owner            the marker
//!     p000000/                    one directory per proc
//!         .filermark-owner        its owner file
//!         d0000/ f00000000 ...    DIR_COUNT directories with the I/O files, and
//!                                 an owner file each
//!         n000000 ...             files outside of the I/O set
//!         l000000 ...             symbolic links
//!         m000000/ ...            directories made by MKDIR
//! ```
//!
//! Because every name follows this pattern, CLEANUP removes only objects of Filermark.

/// The marker file of a directory that belongs to Filermark.
pub const MARKER: &str = ".filermark-owner";
/// What the names of run directories begin with.
pub const RUN_DIR_PREFIX: &str = "filermark.";

/// Kinds of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// A proc's directory.
    ProcDir,
    /// A directory of I/O files.
    Dir,
    /// An I/O file.
    File,
    /// A file outside of the I/O set (also special files and hard links).
    Small,
    /// A symbolic link.
    Symlink,
    /// A directory made by MKDIR.
    MadeDir,
    /// The owner file of a directory: [`MARKER`], whatever the number.
    Owner,
}

impl NameKind {
    const ALL: [Self; 6] = [
        Self::ProcDir,
        Self::Dir,
        Self::File,
        Self::Small,
        Self::Symlink,
        Self::MadeDir,
    ];

    const fn letter(self) -> u8 {
        match self {
            Self::ProcDir => b'p',
            Self::Dir => b'd',
            Self::File => b'f',
            Self::Small => b'n',
            Self::Symlink => b'l',
            Self::MadeDir => b'm',
            Self::Owner => MARKER.as_bytes()[0],
        }
    }

    const fn digits(self) -> usize {
        match self {
            Self::Dir => 4,
            Self::File => 10,
            Self::ProcDir | Self::Small | Self::Symlink | Self::MadeDir | Self::Owner => 6,
        }
    }

    /// Whether it names a directory.
    pub const fn is_dir(self) -> bool {
        matches!(self, Self::ProcDir | Self::Dir | Self::MadeDir)
    }
}

/// A name: its kind and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// What it names.
    pub kind: NameKind,
    /// Which one.
    pub number: u32,
}

/// A formatted name, without heap allocation.
#[derive(Clone, Copy)]
pub struct NameText {
    bytes: [u8; 16],
    len: u8,
}

impl NameText {
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl Name {
    /// A name.
    pub const fn new(kind: NameKind, number: u32) -> Self {
        Self { kind, number }
    }

    /// Its text: a letter and a number of fixed width.
    #[inline]
    pub fn text(self) -> NameText {
        if matches!(self.kind, NameKind::Owner) {
            let mut bytes = [0u8; 16];
            bytes.copy_from_slice(MARKER.as_bytes());
            return NameText { bytes, len: 16 };
        }
        let digits = self.kind.digits();
        let mut bytes = [0u8; 16];
        bytes[0] = self.kind.letter();
        let mut rest = self.number;
        for slot in bytes[1..=digits].iter_mut().rev() {
            *slot = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        NameText {
            bytes,
            len: digits as u8 + 1,
        }
    }

    /// Parses a name of this layout; `None` for any other.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (letter, digits) = text.split_first()?;
        let kind = NameKind::ALL
            .into_iter()
            .find(|k| k.letter() == *letter && k.digits() == digits.len())?;
        let number = std::str::from_utf8(digits).ok()?;
        if !number.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Some(Self::new(kind, number.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_foreign_ones_are_refused() {
        for kind in NameKind::ALL {
            let name = Name::new(kind, 1234);
            assert_eq!(Name::parse(name.text().as_bytes()), Some(name));
        }
        assert_eq!(Name::new(NameKind::Dir, 7).text().as_bytes(), b"d0007");
        for foreign in [
            &b"important.doc"[..],
            b"d7",
            b"",
            b"f+000000001",
            b"p00000a",
        ] {
            assert_eq!(Name::parse(foreign), None, "{foreign:?}");
        }
    }
}
