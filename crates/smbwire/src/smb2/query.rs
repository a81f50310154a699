//! QUERY_INFO: files and file systems (MS-SMB2 2.2.37, 2.2.38; MS-FSCC 2.4, 2.5).
//! The answer is an [`super::OutputResponse`], whose bytes are decoded here; security
//! descriptors are in [`super::security`].

use super::Request;
use super::file::{FileFacts, FileId};
use super::header::Command;
use crate::bytes::{ByteReader, Put};
use crate::error::DecodeError;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// A class of facts about the file.
    File(FileClass),
    /// A class of facts about the file system it is in.
    FileSystem(FsClass),
    /// Parts of its security descriptor: see [`super::security::part`].
    Security(u32),
}

/// Facts about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FileClass {
    /// Times and attributes: [`BasicInfo`].
    Basic = 4,
    /// Sizes and links: [`StandardInfo`].
    Standard = 5,
    /// Its number: [`internal`].
    Internal = 6,
    /// All of these, rights, position and name: [`AllInfo`].
    All = 18,
    /// Times, sizes and attributes: [`network_open`].
    NetworkOpen = 34,
}

/// Facts about a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FsClass {
    /// Label and serial number: [`VolumeInfo`].
    Volume = 1,
    /// Space: [`FsSizeInfo`].
    Size = 3,
    /// What it can: [`AttributeInfo`].
    Attribute = 5,
    /// Space, for the caller and at all: [`FsSizeInfo`].
    FullSize = 7,
}

/// Asks for facts about an open file, its file system, or its security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryInfoRequest {
    /// The open file.
    pub file: FileId,
    /// What is asked for.
    pub query: Query,
    /// The most that may come back, in bytes.
    pub max_output: u32,
}

impl Request for QueryInfoRequest {
    const COMMAND: Command = Command::QueryInfo;

    fn encode(&self, out: &mut Vec<u8>) {
        let (kind, class, additional) = match self.query {
            Query::File(class) => (1, class as u8, 0),
            Query::FileSystem(class) => (2, class as u8, 0),
            Query::Security(parts) => (3, 0, parts),
        };
        out.put_u16(41);
        out.push(kind);
        out.push(class);
        out.put_u32(self.max_output);
        out.put_u32(0); // input
        out.put_u32(0);
        out.put_u32(additional);
        out.put_u32(0); // flags
        self.file.encode(out);
        out.push(0); // there must be a byte
    }

    fn charged_bytes(&self) -> u32 {
        self.max_output
    }
}

/// FileBasicInformation. Times are in 100 ns since 1601; when setting, 0 is "as it is".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // They are called as MS-FSCC 2.4.7 calls them.
pub struct BasicInfo {
    pub creation_time: u64,
    pub last_access_time: u64,
    pub last_write_time: u64,
    pub change_time: u64,
    pub attributes: u32,
}

impl BasicInfo {
    /// Decodes the output of its class.
    ///
    /// # Errors
    /// It is cut.
    pub fn decode(output: &[u8]) -> Result<Self, DecodeError> {
        Self::read(&mut ByteReader::new(output))
    }

    fn read(r: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        let info = Self {
            creation_time: r.u64()?,
            last_access_time: r.u64()?,
            last_write_time: r.u64()?,
            change_time: r.u64()?,
            attributes: r.u32()?,
        };
        r.u32()?;
        Ok(info)
    }
}

/// FileStandardInformation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct StandardInfo {
    pub allocation_size: u64,
    pub end_of_file: u64,
    pub links: u32,
    pub delete_pending: bool,
    pub directory: bool,
}

impl StandardInfo {
    /// Decodes the output of its class.
    ///
    /// # Errors
    /// It is cut.
    pub fn decode(output: &[u8]) -> Result<Self, DecodeError> {
        Self::read(&mut ByteReader::new(output))
    }

    fn read(r: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        let info = Self {
            allocation_size: r.u64()?,
            end_of_file: r.u64()?,
            links: r.u32()?,
            delete_pending: r.u8()? != 0,
            directory: r.u8()? != 0,
        };
        r.u16()?;
        Ok(info)
    }
}

/// FileInternalInformation: the file's number.
///
/// # Errors
/// It is cut.
pub fn internal(output: &[u8]) -> Result<u64, DecodeError> {
    ByteReader::new(output).u64()
}

/// FileNetworkOpenInformation.
///
/// # Errors
/// It is cut.
pub fn network_open(output: &[u8]) -> Result<FileFacts, DecodeError> {
    FileFacts::decode(&mut ByteReader::new(output))
}

/// FileAllInformation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AllInfo<'a> {
    pub basic: BasicInfo,
    pub standard: StandardInfo,
    /// The file's number.
    pub internal: u64,
    /// Bytes of extended attributes.
    pub ea_size: u32,
    /// What it was opened for.
    pub access: u32,
    pub position: u64,
    pub mode: u32,
    pub alignment: u32,
    /// The name, in UTF-16.
    pub name: &'a [u8],
}

impl<'a> AllInfo<'a> {
    /// Decodes the output of its class. A name that did not fit (STATUS_BUFFER_OVERFLOW)
    /// comes as far as it goes.
    ///
    /// # Errors
    /// It is cut before the name.
    pub fn decode(output: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(output);
        let mut info = Self {
            basic: BasicInfo::read(&mut r)?,
            standard: StandardInfo::read(&mut r)?,
            internal: r.u64()?,
            ea_size: r.u32()?,
            access: r.u32()?,
            position: r.u64()?,
            mode: r.u32()?,
            alignment: r.u32()?,
            name: &[],
        };
        let length = r.u32()? as usize;
        let rest = r.rest();
        info.name = rest.get(..length).unwrap_or(rest);
        Ok(info)
    }
}

/// FileFsSizeInformation and FileFsFullSizeInformation, in allocation units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsSizeInfo {
    /// Units of the file system, or of the caller's quota.
    pub total: u64,
    /// Free ones, for the caller.
    pub available: u64,
    /// All free ones; equal to `available` where the server returns only that.
    pub free: u64,
    /// Bytes of a unit.
    pub unit: u64,
}

impl FsSizeInfo {
    /// Decodes the output of [`FsClass::Size`] or [`FsClass::FullSize`].
    ///
    /// # Errors
    /// It is cut, or of another class.
    pub fn decode(output: &[u8], class: FsClass) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(output);
        let (total, available) = (r.u64()?, r.u64()?);
        let free = match class {
            FsClass::Size => available,
            FsClass::FullSize => r.u64()?,
            _ => return Err(DecodeError::Bad("the class of sizes")),
        };
        let unit = u64::from(r.u32()?) * u64::from(r.u32()?);
        Ok(Self {
            total,
            available,
            free,
            unit,
        })
    }
}

/// FileFsAttributeInformation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributeInfo<'a> {
    /// What it can (MS-FSCC 2.5.1).
    pub attributes: u32,
    /// The longest name, in characters.
    pub name_max: u32,
    /// Its kind, in UTF-16: `NTFS`.
    pub kind: &'a [u8],
}

impl<'a> AttributeInfo<'a> {
    /// Decodes the output of its class.
    ///
    /// # Errors
    /// It is cut.
    pub fn decode(output: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(output);
        let (attributes, name_max) = (r.u32()?, r.u32()?);
        let length = r.u32()? as usize;
        let kind = r.take(length)?;
        Ok(Self {
            attributes,
            name_max,
            kind,
        })
    }
}

/// FileFsVolumeInformation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeInfo<'a> {
    /// When it was made, in 100 ns since 1601.
    pub creation_time: u64,
    /// Its serial number.
    pub serial: u32,
    /// Its label, in UTF-16.
    pub label: &'a [u8],
}

impl<'a> VolumeInfo<'a> {
    /// Decodes the output of its class.
    ///
    /// # Errors
    /// It is cut.
    pub fn decode(output: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(output);
        let (creation_time, serial) = (r.u64()?, r.u32()?);
        let length = r.u32()? as usize;
        r.u16()?;
        let label = r.take(length)?;
        Ok(Self {
            creation_time,
            serial,
            label,
        })
    }
}
