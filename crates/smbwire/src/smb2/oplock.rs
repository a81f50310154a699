//! OPLOCK_BREAK: the server takes back what a client may keep (MS-SMB2 2.2.23 to 2.2.25).

use super::create::OplockLevel;
use super::file::FileId;
use super::header::Command;
use super::{Request, Response, body};
use crate::bytes::Put;
use crate::error::DecodeError;

/// Flag of a lease's break: the server waits for an answer.
const ACK_REQUIRED: u32 = 1;

/// What a server sends of its own accord, with [`super::header::UNSOLICITED`] as its
/// message id; and what it answers to an acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OplockBreak {
    /// An oplock sinks to this level.
    Oplock {
        /// Of which open.
        file: FileId,
        /// What is left of it.
        level: OplockLevel,
    },
    /// A lease sinks to this state.
    Lease {
        /// Which.
        key: [u8; 16],
        /// What it was: see [`super::create::lease`].
        current: u32,
        /// What is left of it.
        new: u32,
        /// Counts changes, in leases of version 2.
        epoch: u16,
        /// Whether the server waits for an acknowledgment.
        must_acknowledge: bool,
    },
}

impl Response<'_> for OplockBreak {
    fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        if let Ok(mut r) = body(message, 24) {
            let level = OplockLevel::decode(r.u8()?)?;
            r.u8()?;
            r.u32()?;
            let file = FileId::decode(&mut r)?;
            return Ok(Self::Oplock { file, level });
        }
        let mut r = body(message, 44)?;
        let (epoch, flags) = (r.u16()?, r.u32()?);
        let key = r.array()?;
        let (current, new) = (r.u32()?, r.u32()?);
        r.take(12)?; // reason, hints
        Ok(Self::Lease {
            key,
            current,
            new,
            epoch,
            must_acknowledge: flags & ACK_REQUIRED != 0,
        })
    }
}

/// The client has given up what the oplock let it keep. An oplock that sinks from
/// [`OplockLevel::Two`] to nothing is not acknowledged (MS-SMB2 3.2.5.19.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OplockAcknowledgment {
    /// Of which open.
    pub file: FileId,
    /// What is left of it.
    pub level: OplockLevel,
}

impl Request for OplockAcknowledgment {
    const COMMAND: Command = Command::OplockBreak;

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(24);
        out.push(self.level as u8);
        out.push(0);
        out.put_u32(0);
        self.file.encode(out);
    }
}

/// The client has given up what the lease let it keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseAcknowledgment {
    /// Which lease.
    pub key: [u8; 16],
    /// What is left of it.
    pub state: u32,
}

impl Request for LeaseAcknowledgment {
    const COMMAND: Command = Command::OplockBreak;

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(36);
        out.put_u16(0);
        out.put_u32(0); // flags
        out.extend_from_slice(&self.key);
        out.put_u32(self.state);
        out.put_u64(0); // duration
    }
}

/// The server's answer to a lease's acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseBreakResponse {
    /// Which lease.
    pub key: [u8; 16],
    /// Its state.
    pub state: u32,
}

impl Response<'_> for LeaseBreakResponse {
    fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut r = body(message, 36)?;
        r.u16()?;
        r.u32()?;
        let (key, state) = (r.array()?, r.u32()?);
        r.u64()?;
        Ok(Self { key, state })
    }
}
