//! Levels of information (MS-CIFS 2.2.8, MS-FSCC 2.4, 2.5 where a level is passed through).

use crate::bytes::ByteReader;
use crate::error::DecodeError;

/// Levels as numbers.
pub mod level {
    /// SMB_SET_FILE_BASIC_INFO.
    pub const SET_BASIC: u16 = 0x101;
    /// SMB_SET_FILE_DISPOSITION_INFO.
    pub const SET_DISPOSITION: u16 = 0x102;
    /// SMB_SET_FILE_ALLOCATION_INFO.
    pub const SET_ALLOCATION: u16 = 0x103;
    /// SMB_SET_FILE_END_OF_FILE_INFO.
    pub const SET_END_OF_FILE: u16 = 0x104;
    /// FileRenameInformation, passed through.
    pub const PASS_RENAME: u16 = 1000 + 10;
    /// SMB_QUERY_FILE_BASIC_INFO.
    pub const FILE_BASIC: u16 = 0x101;
    /// SMB_QUERY_FILE_STANDARD_INFO.
    pub const FILE_STANDARD: u16 = 0x102;
    /// SMB_QUERY_FILE_ALL_INFO.
    pub const FILE_ALL: u16 = 0x107;
    /// SMB_QUERY_FS_SIZE_INFO.
    pub const FS_SIZE: u16 = 0x103;
    /// FileFsFullSizeInformation, passed through.
    pub const FS_FULL_SIZE: u16 = 1000 + 7;
    /// SMB_FIND_FILE_BOTH_DIRECTORY_INFO.
    pub const FIND_BOTH: u16 = 0x104;
}

/// Times (FILETIME: 100 ns since 1601) and attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BasicInfo {
    /// When it was made.
    pub created: u64,
    /// When it was read last.
    pub accessed: u64,
    /// When it was written last.
    pub written: u64,
    /// When anything about it changed.
    pub changed: u64,
    /// ExtFileAttributes (MS-CIFS 2.2.1.2.3).
    pub attributes: u32,
}

impl BasicInfo {
    /// Reads it.
    ///
    /// # Errors
    /// It is cut short.
    pub fn read(data: &[u8]) -> Result<Self, DecodeError> {
        Self::take(&mut ByteReader::new(data))
    }

    pub(super) fn take(r: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            created: r.u64()?,
            accessed: r.u64()?,
            written: r.u64()?,
            changed: r.u64()?,
            attributes: r.u32()?,
        })
    }

    /// The times in the order of the wire.
    pub const fn times(&self) -> [u64; 4] {
        [self.created, self.accessed, self.written, self.changed]
    }

    /// Whether it is of a directory.
    pub const fn is_directory(&self) -> bool {
        self.attributes & 0x10 != 0
    }
}

/// Sizes and kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandardInfo {
    /// Space on disk, in bytes.
    pub allocation: u64,
    /// Size in bytes.
    pub size: u64,
    /// Names it has.
    pub links: u32,
    /// It goes when it is closed.
    pub delete_pending: bool,
    /// It is a directory.
    pub directory: bool,
}

impl StandardInfo {
    /// Reads it.
    ///
    /// # Errors
    /// It is cut short.
    pub fn read(data: &[u8]) -> Result<Self, DecodeError> {
        Self::take(&mut ByteReader::new(data))
    }

    fn take(r: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            allocation: r.u64()?,
            size: r.u64()?,
            links: r.u32()?,
            delete_pending: r.u8()? != 0,
            directory: r.u8()? != 0,
        })
    }
}

/// Everything about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllInfo<'a> {
    /// Times and attributes.
    pub basic: BasicInfo,
    /// Sizes and kind.
    pub standard: StandardInfo,
    /// Bytes of extended attributes.
    pub ea_size: u32,
    /// Its path in UTF-16.
    pub name: &'a [u8],
}

impl<'a> AllInfo<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// It is cut short.
    pub fn read(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(data);
        let basic = BasicInfo::take(&mut r)?;
        r.take(4)?;
        let standard = StandardInfo::take(&mut r)?;
        r.take(2)?;
        let ea_size = r.u32()?;
        let length = r.u32()?;
        Ok(Self {
            basic,
            standard,
            ea_size,
            name: r.take(length as usize)?,
        })
    }
}

/// Sizes of a file system, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FsSize {
    /// All of it.
    pub total: u64,
    /// What this user may still use.
    pub available: u64,
    /// What is free for all users together.
    pub free: u64,
}

impl FsSize {
    /// Reads SMB_QUERY_FS_SIZE_INFO.
    ///
    /// # Errors
    /// It is cut short.
    pub fn read(data: &[u8]) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(data);
        let (total, free) = (r.u64()?, r.u64()?);
        Self::in_bytes(&mut r, [total, free, free])
    }

    /// Reads FileFsFullSizeInformation.
    ///
    /// # Errors
    /// It is cut short.
    pub fn read_full(data: &[u8]) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(data);
        let units = [r.u64()?, r.u64()?, r.u64()?];
        Self::in_bytes(&mut r, units)
    }

    fn in_bytes(r: &mut ByteReader<'_>, units: [u64; 3]) -> Result<Self, DecodeError> {
        let unit = u64::from(r.u32()?) * u64::from(r.u32()?);
        let [total, available, free] = units.map(|n| n.saturating_mul(unit));
        Ok(Self {
            total,
            available,
            free,
        })
    }
}

/// An entry of a directory (SMB_FIND_FILE_BOTH_DIRECTORY_INFO, MS-CIFS 2.2.8.1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Where FIND_NEXT2 could go on.
    pub index: u32,
    /// Times and attributes.
    pub basic: BasicInfo,
    /// Size in bytes.
    pub size: u64,
    /// Space on disk, in bytes.
    pub allocation: u64,
    /// Its name in UTF-16.
    pub name: &'a [u8],
}

impl Entry<'_> {
    /// Whether it is the directory itself or the one above.
    pub fn is_dot(&self) -> bool {
        matches!(self.name, [b'.', 0] | [b'.', 0, b'.', 0])
    }
}

/// The entries of an answer, one after the other; ends at the first bad one, after returning its error.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a> {
    data: &'a [u8],
    left: u16,
}

impl<'a> Entries<'a> {
    /// Entries in the data of FIND_FIRST2 or FIND_NEXT2, and how many the answer says they
    /// are. smbd's last entry points to a next one, so the count it is that ends them.
    pub const fn new(data: &'a [u8], count: u16) -> Self {
        Self { data, left: count }
    }

    fn entry(&mut self) -> Result<Entry<'a>, DecodeError> {
        let mut r = ByteReader::new(self.data);
        let next = r.u32()? as usize;
        let index = r.u32()?;
        let mut basic = BasicInfo {
            created: r.u64()?,
            accessed: r.u64()?,
            written: r.u64()?,
            changed: r.u64()?,
            attributes: 0,
        };
        let (size, allocation) = (r.u64()?, r.u64()?);
        basic.attributes = r.u32()?;
        let length = r.u32()? as usize;
        // EaSize, the short name and its length.
        r.take(4 + 2 + 24)?;
        let name = r.take(length)?;
        let read = r.position();
        self.left = match next {
            0 => 0,
            _ => self.left.saturating_sub(1),
        };
        if self.left > 0 {
            // An entry that begins within this one would go round for ever.
            if next < read {
                return Err(DecodeError::Bad("the offset of the next entry"));
            }
            self.data = self.data.get(next..).ok_or(DecodeError::TooShort)?;
        }
        Ok(Entry {
            index,
            basic,
            size,
            allocation,
            name,
        })
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let entry = self.entry();
        if entry.is_err() {
            self.left = 0;
        }
        Some(entry)
    }
}
