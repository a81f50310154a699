//! QUERY_DIRECTORY and its entries (MS-SMB2 2.2.33, 2.2.34; MS-FSCC 2.4.8, 2.4.14, 2.4.17,
//! 2.4.18).

use super::file::{FileFacts, FileId};
use super::header::{Command, LEN};
use super::{Request, Response, body, part, patch};
use crate::bytes::{ByteReader, Put};
use crate::error::DecodeError;

/// The information level of the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DirectoryClass {
    /// Times, sizes, attributes.
    Full = 2,
    /// That, and the short name.
    Both = 3,
    /// That, and the file's number.
    IdBoth = 37,
    /// As `Full`, and the file's number.
    IdFull = 38,
}

impl DirectoryClass {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Full, Self::Both, Self::IdBoth, Self::IdFull];

    /// Where an entry has the file's number, if it has.
    const fn id_at(self) -> Option<usize> {
        match self {
            Self::Full | Self::Both => None,
            Self::IdBoth => Some(96),
            Self::IdFull => Some(72),
        }
    }

    /// Where an entry has its name.
    const fn name_at(self) -> usize {
        match self {
            Self::Full => 68,
            Self::Both => 94,
            Self::IdBoth => 104,
            Self::IdFull => 80,
        }
    }
}

/// Where to begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scan {
    /// Where the last answer ended.
    #[default]
    Resume,
    /// At the front, with this pattern.
    Restart,
    /// At the front, with this pattern, as if the directory had just been opened.
    Reopen,
}

/// Lists an open directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryDirectoryRequest<'a> {
    /// Which.
    pub file: FileId,
    /// The information level of the entries.
    pub class: DirectoryClass,
    /// Where to begin.
    pub scan: Scan,
    /// One entry only.
    pub single: bool,
    /// Which names: `*`, `*.txt`, a name.
    pub pattern: &'a str,
    /// The most that may come back, in bytes.
    pub max_output: u32,
}

/// Where the pattern is in the body.
const PATTERN: usize = 32;

impl Request for QueryDirectoryRequest<'_> {
    const COMMAND: Command = Command::QueryDirectory;

    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let scan = match self.scan {
            Scan::Resume => 0x00,
            Scan::Restart => 0x01,
            Scan::Reopen => 0x10,
        };
        out.put_u16(33);
        out.push(self.class as u8);
        out.push(scan | u8::from(self.single) << 1);
        out.put_u32(0); // index
        self.file.encode(out);
        out.put_u16((LEN + PATTERN) as u16);
        out.put_u16(0); // the pattern's length
        out.put_u32(self.max_output);
        out.put_utf16(self.pattern);
        let length = (out.len() - start - PATTERN) as u16;
        patch(out, start + 26, &length.to_le_bytes());
        if length == 0 {
            out.push(0); // there must be a byte
        }
    }

    fn charged_bytes(&self) -> u32 {
        self.max_output
    }
}

/// What came back of QUERY_DIRECTORY, QUERY_INFO or CHANGE_NOTIFY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputResponse<'a> {
    /// The bytes, of the class that was asked for.
    pub output: &'a [u8],
}

impl<'a> Response<'a> for OutputResponse<'a> {
    #[inline]
    fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = body(message, 9)?;
        let (offset, length) = (usize::from(r.u16()?), r.u32()? as usize);
        Ok(Self {
            output: part(&r, offset, length)?,
        })
    }
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Times, sizes, attributes.
    pub facts: FileFacts,
    /// The file's number; 0 where the class has none.
    pub file_id: u64,
    /// The name, in UTF-16.
    pub name: &'a [u8],
}

impl Entry<'_> {
    /// Whether it is the directory itself or the one above.
    pub fn is_dot(&self) -> bool {
        self.name == b".\0" || self.name == b".\0.\0"
    }
}

/// The entries of an answer.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    rest: &'a [u8],
    class: DirectoryClass,
}

impl<'a> Entries<'a> {
    /// Of [`OutputResponse::output`].
    pub const fn new(output: &'a [u8], class: DirectoryClass) -> Self {
        Self {
            rest: output,
            class,
        }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.rest);
        Some(entry(bytes, self.class).map(|(entry, rest)| {
            self.rest = rest;
            entry
        }))
    }
}

#[inline]
fn entry(bytes: &[u8], class: DirectoryClass) -> Result<(Entry<'_>, &[u8]), DecodeError> {
    let mut r = ByteReader::new(bytes);
    let next = r.u32()? as usize;
    r.u32()?; // index
    // End of file and allocation are the other way round than in CREATE.
    let mut facts = FileFacts {
        creation_time: r.u64()?,
        last_access_time: r.u64()?,
        last_write_time: r.u64()?,
        change_time: r.u64()?,
        end_of_file: r.u64()?,
        allocation_size: r.u64()?,
        attributes: 0,
    };
    facts.attributes = r.u32()?;
    let name_length = r.u32()? as usize;
    let file_id = match class.id_at() {
        Some(at) => ByteReader::new(r.at(at, 8)?).u64()?,
        None => 0,
    };
    let name = r.at(class.name_at(), name_length)?;
    let rest = following(bytes, next, class.name_at() + name_length)?;
    let entry = Entry {
        facts,
        file_id,
        name,
    };
    Ok((entry, rest))
}

/// What follows an entry of a list: nothing after the last, else what is `next` bytes on,
/// which is behind the entry itself.
pub(super) fn following(bytes: &[u8], next: usize, used: usize) -> Result<&[u8], DecodeError> {
    match next {
        0 => Ok(&[]),
        _ if next < used => Err(DecodeError::Bad("the offset of the next entry")),
        _ => match bytes.get(next..) {
            Some(rest) if !rest.is_empty() => Ok(rest),
            _ => Err(DecodeError::TooShort),
        },
    }
}
