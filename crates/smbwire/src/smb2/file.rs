//! What names and describes an open file: its id, rights, share modes, options, times.

use crate::bytes::{ByteReader, Put};
use crate::error::DecodeError;

/// An open file, directory or stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Survives a lost connection where the handle is durable.
    pub persistent: u64,
    /// Names the open in its session.
    pub volatile: u64,
}

impl FileId {
    /// In a related message of a compound: the file that the message before it has opened.
    pub const RELATED: Self = Self {
        persistent: u64::MAX,
        volatile: u64::MAX,
    };

    #[inline]
    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        out.put_u64(self.persistent);
        out.put_u64(self.volatile);
    }

    #[inline]
    pub(crate) fn decode(r: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            persistent: r.u64()?,
            volatile: r.u64()?,
        })
    }
}

/// Rights that can be asked for (MS-SMB2 2.2.13.1).
#[allow(missing_docs)] // They are called as the specification calls them.
pub mod access {
    pub const READ_DATA: u32 = 0x0000_0001;
    pub const WRITE_DATA: u32 = 0x0000_0002;
    pub const APPEND_DATA: u32 = 0x0000_0004;
    pub const READ_EA: u32 = 0x0000_0008;
    pub const WRITE_EA: u32 = 0x0000_0010;
    pub const DELETE_CHILD: u32 = 0x0000_0040;
    pub const READ_ATTRIBUTES: u32 = 0x0000_0080;
    pub const WRITE_ATTRIBUTES: u32 = 0x0000_0100;
    pub const DELETE: u32 = 0x0001_0000;
    pub const READ_CONTROL: u32 = 0x0002_0000;
    pub const WRITE_DAC: u32 = 0x0004_0000;
    pub const SYNCHRONIZE: u32 = 0x0010_0000;
    pub const MAXIMUM_ALLOWED: u32 = 0x0200_0000;
    pub const GENERIC_ALL: u32 = 0x1000_0000;
    pub const GENERIC_WRITE: u32 = 0x4000_0000;
    pub const GENERIC_READ: u32 = 0x8000_0000;
}

/// What others may do meanwhile.
#[allow(missing_docs)]
pub mod share {
    pub const READ: u32 = 1;
    pub const WRITE: u32 = 2;
    pub const DELETE: u32 = 4;
    pub const ALL: u32 = 7;
}

/// What is done where the file is there, and where it is not.
#[allow(missing_docs)]
pub mod disposition {
    pub const SUPERSEDE: u32 = 0;
    pub const OPEN: u32 = 1;
    pub const CREATE: u32 = 2;
    pub const OPEN_IF: u32 = 3;
    pub const OVERWRITE: u32 = 4;
    pub const OVERWRITE_IF: u32 = 5;
}

/// Options of an open.
#[allow(missing_docs)]
pub mod options {
    pub const DIRECTORY_FILE: u32 = 0x0000_0001;
    pub const WRITE_THROUGH: u32 = 0x0000_0002;
    pub const SEQUENTIAL_ONLY: u32 = 0x0000_0004;
    pub const NO_INTERMEDIATE_BUFFERING: u32 = 0x0000_0008;
    pub const NON_DIRECTORY_FILE: u32 = 0x0000_0040;
    pub const RANDOM_ACCESS: u32 = 0x0000_0800;
    pub const DELETE_ON_CLOSE: u32 = 0x0000_1000;
    pub const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
}

/// Attributes of a file (MS-FSCC 2.6).
#[allow(missing_docs)]
pub mod attributes {
    pub const READONLY: u32 = 0x0000_0001;
    pub const HIDDEN: u32 = 0x0000_0002;
    pub const SYSTEM: u32 = 0x0000_0004;
    pub const DIRECTORY: u32 = 0x0000_0010;
    pub const ARCHIVE: u32 = 0x0000_0020;
    pub const NORMAL: u32 = 0x0000_0080;
    pub const REPARSE_POINT: u32 = 0x0000_0400;
}

/// What an open did.
#[allow(missing_docs)]
pub mod action {
    pub const SUPERSEDED: u32 = 0;
    pub const OPENED: u32 = 1;
    pub const CREATED: u32 = 2;
    pub const OVERWRITTEN: u32 = 3;
}

/// Times, sizes and attributes of a file, as CREATE, CLOSE and FileNetworkOpenInformation
/// give them. Times are in 100 ns since 1601.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct FileFacts {
    pub creation_time: u64,
    pub last_access_time: u64,
    pub last_write_time: u64,
    pub change_time: u64,
    /// Bytes that it takes.
    pub allocation_size: u64,
    /// Its length in bytes.
    pub end_of_file: u64,
    /// See [`attributes`].
    pub attributes: u32,
}

impl FileFacts {
    #[inline]
    pub(crate) fn decode(r: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            creation_time: r.u64()?,
            last_access_time: r.u64()?,
            last_write_time: r.u64()?,
            change_time: r.u64()?,
            allocation_size: r.u64()?,
            end_of_file: r.u64()?,
            attributes: r.u32()?,
        })
    }

    /// Whether it is a directory.
    pub const fn is_directory(&self) -> bool {
        self.attributes & attributes::DIRECTORY != 0
    }
}
