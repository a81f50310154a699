//! CREATE (MS-SMB2 2.2.13, 2.2.14), with oplocks, leases and the rights that one has.

use super::file::{FileFacts, FileId};
use super::header::{Command, LEN};
use super::{Request, Response, align8, body, part, patch};
use crate::bytes::{ByteReader, Put};
use crate::error::DecodeError;

/// How much a client may keep to itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum OplockLevel {
    /// Nothing.
    #[default]
    None = 0,
    /// What it has read.
    Two = 1,
    /// What it writes too.
    Exclusive = 8,
    /// That, and the open itself.
    Batch = 9,
    /// A lease says how much.
    Lease = 0xFF,
}

impl OplockLevel {
    pub(crate) fn decode(level: u8) -> Result<Self, DecodeError> {
        [
            Self::None,
            Self::Two,
            Self::Exclusive,
            Self::Batch,
            Self::Lease,
        ]
        .into_iter()
        .find(|known| *known as u8 == level)
        .ok_or(DecodeError::Bad("the oplock's level"))
    }
}

/// Bits of a lease's state.
#[allow(missing_docs)]
pub mod lease {
    pub const READ: u32 = 1;
    pub const HANDLE: u32 = 2;
    pub const WRITE: u32 = 4;
    /// Flag of a granted lease: it is being broken.
    pub const BREAK_IN_PROGRESS: u32 = 2;
    /// Flag of a version 2 lease: it has a parent's key.
    pub const PARENT_KEY_SET: u32 = 4;
}

/// What is asked for besides the open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestedOplock {
    /// Nothing.
    #[default]
    None,
    /// An oplock.
    Oplock(OplockLevel),
    /// A lease: 2.1 and later, where the server has [`capability::LEASING`].
    ///
    /// [`capability::LEASING`]: super::negotiate::capability::LEASING
    Lease {
        /// Names it; the same for every open of one file.
        key: [u8; 16],
        /// See [`lease`].
        state: u32,
    },
    /// A lease of version 2: 3.0 and later.
    LeaseV2 {
        /// Names it; the same for every open of one file.
        key: [u8; 16],
        /// See [`lease`].
        state: u32,
        /// The lease of the directory it is in.
        parent: Option<[u8; 16]>,
        /// Counts changes of its state.
        epoch: u16,
    },
}

/// Opens or makes a file or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateRequest<'a> {
    /// From the share's root, with backslashes and none in front; empty: the root.
    pub path: &'a str,
    /// See [`super::file::access`].
    pub access: u32,
    /// See [`super::file::attributes`]; for new files.
    pub attributes: u32,
    /// See [`super::file::share`].
    pub share: u32,
    /// See [`super::file::disposition`].
    pub disposition: u32,
    /// See [`super::file::options`].
    pub options: u32,
    /// What may be kept by the client.
    pub oplock: RequestedOplock,
    /// Asks for the most that the user may do with it (MxAc).
    pub maximal_access: bool,
}

/// Where things are in the body of CREATE.
mod at {
    pub const OPLOCK: usize = 3;
    pub const NAME_LENGTH: usize = 46;
    pub const CONTEXTS: usize = 48;
    pub const NAME: usize = 56;
}

impl Request for CreateRequest<'_> {
    const COMMAND: Command = Command::Create;

    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.put_u16(57);
        out.put_u16(0); // security flags, oplock level
        out.put_u32(2); // impersonation level: as the user
        out.put_u64(0); // SmbCreateFlags
        out.put_u64(0); // reserved
        out.put_u32(self.access);
        out.put_u32(self.attributes);
        out.put_u32(self.share);
        out.put_u32(self.disposition);
        out.put_u32(self.options);
        out.put_u16((LEN + at::NAME) as u16);
        out.put_u16(0); // the name's length
        out.put_u64(0); // the contexts
        out.put_utf16(self.path);
        let name_length = (out.len() - start - at::NAME) as u16;
        patch(out, start + at::NAME_LENGTH, &name_length.to_le_bytes());
        if name_length == 0 {
            out.push(0); // there must be a byte
        }
        self.encode_oplock(out, start);
    }
}

impl CreateRequest<'_> {
    fn encode_oplock(&self, out: &mut Vec<u8>, start: usize) {
        let mut contexts = Contexts::new(start);
        let level = match self.oplock {
            RequestedOplock::None => OplockLevel::None,
            RequestedOplock::Oplock(level) => level,
            RequestedOplock::Lease { key, state } => {
                contexts.begin(out, *b"RqLs", 32);
                put_lease(out, &key, state, 0);
                OplockLevel::Lease
            }
            RequestedOplock::LeaseV2 {
                key,
                state,
                parent,
                epoch,
            } => {
                contexts.begin(out, *b"RqLs", 52);
                let flags = parent.map_or(0, |_| lease::PARENT_KEY_SET);
                put_lease(out, &key, state, flags);
                out.extend_from_slice(&parent.unwrap_or_default());
                out.put_u16(epoch);
                out.put_u16(0);
                OplockLevel::Lease
            }
        };
        if self.maximal_access {
            contexts.begin(out, *b"MxAc", 0);
        }
        patch(out, start + at::OPLOCK, &[level as u8]);
        contexts.finish(out);
    }
}

fn put_lease(out: &mut Vec<u8>, key: &[u8; 16], state: u32, flags: u32) {
    out.extend_from_slice(key);
    out.put_u32(state);
    out.put_u32(flags);
    out.put_u64(0); // duration
}

/// Writes a chain of create contexts (MS-SMB2 2.2.13.2).
struct Contexts {
    body: usize,
    first: usize,
    last: usize,
}

impl Contexts {
    const fn new(body: usize) -> Self {
        Self {
            body,
            first: 0,
            last: 0,
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>, name: [u8; 4], data: u32) {
        align8(out, self.body);
        let here = out.len();
        if self.first == 0 {
            self.first = here;
        } else {
            let next = (here - self.last) as u32;
            patch(out, self.last, &next.to_le_bytes());
        }
        self.last = here;
        out.put_u32(0); // next
        out.put_u16(16); // the name's offset
        out.put_u16(4);
        out.put_u16(0);
        out.put_u16(if data == 0 { 0 } else { 24 });
        out.put_u32(data);
        out.extend_from_slice(&name);
        out.put_u32(0);
    }

    fn finish(self, out: &mut [u8]) {
        if self.first == 0 {
            return;
        }
        let offset = (LEN + self.first - self.body) as u32;
        let length = (out.len() - self.first) as u32;
        patch(out, self.body + at::CONTEXTS, &offset.to_le_bytes());
        patch(out, self.body + at::CONTEXTS + 4, &length.to_le_bytes());
    }
}

/// A file or directory is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateResponse<'a> {
    /// What may be kept.
    pub oplock: OplockLevel,
    /// See [`super::file::action`].
    pub action: u32,
    /// Its times, sizes and attributes.
    pub facts: FileFacts,
    /// What the open is called from now on.
    pub file: FileId,
    /// The chain of contexts.
    contexts: &'a [u8],
}

impl<'a> Response<'a> for CreateResponse<'a> {
    fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = body(message, 89)?;
        let oplock = OplockLevel::decode(r.u8()?)?;
        r.u8()?; // flags
        let action = r.u32()?;
        let facts = FileFacts::decode(&mut r)?;
        r.u32()?; // reserved
        let file = FileId::decode(&mut r)?;
        let offset = r.u32()? as usize;
        let length = r.u32()? as usize;
        Ok(Self {
            oplock,
            action,
            facts,
            file,
            contexts: part(&r, offset, length)?,
        })
    }
}

/// A lease as the server grants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantedLease {
    /// The key that was asked for.
    pub key: [u8; 16],
    /// See [`lease`].
    pub state: u32,
    /// [`lease::BREAK_IN_PROGRESS`], [`lease::PARENT_KEY_SET`].
    pub flags: u32,
    /// Counts changes of its state; `None` in version 1.
    pub epoch: Option<u16>,
}

impl<'a> CreateResponse<'a> {
    /// The context with this name: its data.
    ///
    /// # Errors
    /// The chain is broken before it is found.
    pub fn context(&self, name: &[u8]) -> Result<Option<&'a [u8]>, DecodeError> {
        let mut rest = self.contexts;
        while !rest.is_empty() {
            let mut r = ByteReader::new(rest);
            let next = r.u32()? as usize;
            let (name_at, name_length) = (r.u16()?, r.u16()?);
            r.u16()?;
            let (data_at, data_length) = (r.u16()?, r.u32()?);
            if r.at(usize::from(name_at), usize::from(name_length))? == name {
                return match data_length {
                    0 => Ok(Some(&[])),
                    _ => r.at(usize::from(data_at), data_length as usize).map(Some),
                };
            }
            rest = match next {
                0 => &[],
                _ if next < 16 => return Err(DecodeError::Bad("a create context's next")),
                _ => rest.get(next..).ok_or(DecodeError::TooShort)?,
            };
        }
        Ok(None)
    }

    /// The lease, where one was granted.
    ///
    /// # Errors
    /// Its context is not valid.
    pub fn lease(&self) -> Result<Option<GrantedLease>, DecodeError> {
        let Some(data) = self.context(b"RqLs")? else {
            return Ok(None);
        };
        let mut r = ByteReader::new(data);
        let (key, state, flags) = (r.array()?, r.u32()?, r.u32()?);
        r.u64()?; // duration
        let epoch = match r.rest().len() {
            0 => None,
            _ => {
                r.take(16)?; // the parent's key
                Some(r.u16()?)
            }
        };
        Ok(Some(GrantedLease {
            key,
            state,
            flags,
            epoch,
        }))
    }

    /// The maximal access of the user, if it was requested and the server returned it.
    ///
    /// # Errors
    /// Its context is not valid.
    pub fn maximal_access(&self) -> Result<Option<u32>, DecodeError> {
        let Some(data) = self.context(b"MxAc")? else {
            return Ok(None);
        };
        let mut r = ByteReader::new(data);
        let (status, access) = (r.u32()?, r.u32()?);
        Ok((status == crate::status::SUCCESS).then_some(access))
    }
}
