//! Answers, borrowed from the message (MS-CIFS 2.2.4, MS-SMB 2.2.4).
//!
//! Check the status before decoding one: an error has neither words nor bytes.

use super::header::{HEADER, Header};
use super::info::BasicInfo;
use super::pieces::Transaction;
use super::transfer::lock_type;
use crate::bytes::ByteReader;
use crate::error::DecodeError;

/// A message of the server, in its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Its header.
    pub header: Header,
    /// Its words.
    pub words: &'a [u8],
    /// Its bytes.
    pub bytes: &'a [u8],
    /// All of it, to which offsets refer.
    pub message: &'a [u8],
}

impl<'a> Reply<'a> {
    /// Takes a message apart.
    ///
    /// # Errors
    /// It ends too early, or is no SMB1.
    pub fn read(message: &'a [u8]) -> Result<Self, DecodeError> {
        let header = Header::read(message)?;
        let mut r = ByteReader::new(message);
        r.take(HEADER)?;
        let words = usize::from(r.u8()?);
        let words = r.take(words * 2)?;
        let count = r.u16()?;
        Ok(Self {
            header,
            words,
            // Of more than 64 KiB of data the count says the lower 16 bits only.
            bytes: r.take(count.into())?,
            message,
        })
    }

    /// Its words, which are so many at least.
    pub(super) fn words(&self, least: usize) -> Result<ByteReader<'a>, DecodeError> {
        match self.words.len() >= least * 2 {
            true => Ok(ByteReader::new(self.words)),
            false => Err(DecodeError::Bad("the count of words")),
        }
    }

    /// Where its bytes begin in the message.
    pub(super) const fn bytes_at(&self) -> usize {
        HEADER + 1 + self.words.len() + 2
    }
}

/// Answer to NT_CREATE_ANDX (MS-CIFS 2.2.4.64.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    /// FID.
    pub fid: u16,
    /// 0 none, 1 exclusive, 2 batch, 3 level II.
    pub oplock: u8,
    /// 0 replaced, 1 opened, 2 made, 3 cut to nothing.
    pub action: u32,
    /// Times and attributes.
    pub basic: BasicInfo,
    /// Space on disk, in bytes.
    pub allocation: u64,
    /// Size in bytes.
    pub size: u64,
    /// It is a directory.
    pub directory: bool,
}

impl Created {
    /// Reads it.
    ///
    /// # Errors
    /// It is cut short.
    pub fn read(reply: &Reply<'_>) -> Result<Self, DecodeError> {
        let mut r = reply.words(34)?;
        r.take(4)?;
        let (oplock, fid, action) = (r.u8()?, r.u16()?, r.u32()?);
        let basic = BasicInfo::take(&mut r)?;
        let (allocation, size) = (r.u64()?, r.u64()?);
        r.take(4)?;
        Ok(Self {
            fid,
            oplock,
            action,
            basic,
            allocation,
            size,
            directory: r.u8()? != 0,
        })
    }
}

/// Answer to READ_ANDX (MS-SMB 2.2.4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadData<'a> {
    /// What was read; fewer bytes than asked for at the end of a file.
    pub data: &'a [u8],
}

impl<'a> ReadData<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// It is cut short, or points outside of itself or into its own words.
    pub fn read(reply: &Reply<'a>) -> Result<Self, DecodeError> {
        let mut r = reply.words(12)?;
        r.take(4 + 6)?;
        let low = r.u16()?;
        let offset = usize::from(r.u16()?);
        let length = usize::from(r.u16()?) << 16 | usize::from(low);
        if length == 0 {
            return Ok(Self { data: &[] });
        }
        if offset < reply.bytes_at() {
            return Err(DecodeError::Bad("the offset of the data"));
        }
        let data = ByteReader::new(reply.message).at(offset, length)?;
        Ok(Self { data })
    }
}

/// Answer to WRITE_ANDX (MS-SMB 2.2.4.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes written.
    pub count: u32,
}

impl Written {
    /// Reads it.
    ///
    /// # Errors
    /// It is cut short.
    pub fn read(reply: &Reply<'_>) -> Result<Self, DecodeError> {
        let mut r = reply.words(6)?;
        r.take(4)?;
        let low = r.u16()?;
        r.take(2)?;
        let count = u32::from(r.u16()?) << 16 | u32::from(low);
        Ok(Self { count })
    }
}

/// Answer to ECHO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echoed<'a> {
    /// Which of the answers that were asked for, from 1.
    pub sequence: u16,
    /// What came back.
    pub data: &'a [u8],
}

impl<'a> Echoed<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// It is cut short.
    pub fn read(reply: &Reply<'a>) -> Result<Self, DecodeError> {
        let sequence = reply.words(1)?.u16()?;
        Ok(Self {
            sequence,
            data: reply.bytes,
        })
    }
}

/// The server breaks an oplock: LOCKING_ANDX as a request of its own (MS-CIFS 2.2.4.32.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OplockBreak {
    /// FID.
    pub fid: u16,
    /// What remains: 0 nothing, 1 level II.
    pub level: u8,
}

impl OplockBreak {
    /// Reads it from a message whose header says [`Header::is_oplock_break`].
    ///
    /// # Errors
    /// It is cut short, or about no oplock.
    pub fn read(reply: &Reply<'_>) -> Result<Self, DecodeError> {
        let mut r = reply.words(8)?;
        r.take(4)?;
        let (fid, kind, level) = (r.u16()?, r.u8()?, r.u8()?);
        if kind & lock_type::OPLOCK == 0 {
            return Err(DecodeError::Bad("the type of the lock"));
        }
        Ok(Self { fid, level })
    }
}

/// Answer to TRANS2_FIND_FIRST2, without its entries: those are
/// [`Entries`](super::info::Entries) of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindFirstReply {
    /// SID of the search.
    pub sid: u16,
    /// Entries that came.
    pub count: u16,
    /// There are no more.
    pub end: bool,
}

impl FindFirstReply {
    /// Reads it.
    ///
    /// # Errors
    /// It is cut short.
    pub fn read(answer: &Transaction<'_>) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(answer.parameters);
        Ok(Self {
            sid: r.u16()?,
            count: r.u16()?,
            end: r.u16()? != 0,
        })
    }
}

/// Answer to TRANS2_FIND_NEXT2, without its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindNextReply {
    /// Entries that came.
    pub count: u16,
    /// There are no more.
    pub end: bool,
}

impl FindNextReply {
    /// Reads it.
    ///
    /// # Errors
    /// It is cut short.
    pub fn read(answer: &Transaction<'_>) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(answer.parameters);
        Ok(Self {
            count: r.u16()?,
            end: r.u16()? != 0,
        })
    }
}

/// Answer to NT_TRANSACT_QUERY_SECURITY_DESC. With STATUS_BUFFER_TOO_SMALL only the length is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecurityReply<'a> {
    /// Bytes the descriptor needs.
    pub needed: u32,
    /// The descriptor (MS-DTYP 2.4.6), self-relative.
    pub descriptor: &'a [u8],
}

impl<'a> SecurityReply<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// It is cut short.
    pub fn read(answer: &Transaction<'a>) -> Result<Self, DecodeError> {
        let needed = ByteReader::new(answer.parameters).u32()?;
        Ok(Self {
            needed,
            descriptor: answer.data,
        })
    }

    /// Whether the descriptor looks like one: revision 1, self-relative, offsets within.
    pub fn is_sound(&self) -> bool {
        let mut r = ByteReader::new(self.descriptor);
        let parts = (|| {
            let revision = r.u8()?;
            r.u8()?;
            let control = r.u16()?;
            let offsets = [r.u32()?, r.u32()?, r.u32()?, r.u32()?];
            Ok::<_, DecodeError>((revision, control, offsets))
        })();
        parts.is_ok_and(|(revision, control, offsets)| {
            let within =
                |at: &u32| *at == 0 || (20..self.descriptor.len()).contains(&(*at as usize));
            revision == 1 && control & 0x8000 != 0 && offsets.iter().all(within)
        })
    }
}
