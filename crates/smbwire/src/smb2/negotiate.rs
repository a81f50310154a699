//! NEGOTIATE (MS-SMB2 2.2.3, 2.2.4): which dialect, and what either side can.

use super::contexts::{Choices, Offers};
use super::header::{Command, LEN};
use super::{Request, Response, align8, body, part, patch};
use crate::bytes::Put;
use crate::error::DecodeError;
use filermark_model::smb::Dialect;

/// Bits of the security mode.
pub mod security_mode {
    /// Signs where it is asked to.
    pub const SIGNING_ENABLED: u16 = 1;
    /// Signs always, and takes nothing unsigned.
    pub const SIGNING_REQUIRED: u16 = 2;
}

/// Bits of the capabilities (MS-SMB2 2.2.3).
#[allow(missing_docs)] // They are called as the specification calls them.
pub mod capability {
    pub const DFS: u32 = 0x01;
    pub const LEASING: u32 = 0x02;
    pub const LARGE_MTU: u32 = 0x04;
    pub const MULTI_CHANNEL: u32 = 0x08;
    pub const PERSISTENT_HANDLES: u32 = 0x10;
    pub const DIRECTORY_LEASING: u32 = 0x20;
    pub const ENCRYPTION: u32 = 0x40;
}

/// What the client offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegotiateRequest<'a> {
    /// Dialects, rising.
    pub dialects: &'a [Dialect],
    /// See [`security_mode`].
    pub security_mode: u16,
    /// See [`capability`].
    pub capabilities: u32,
    /// Identifies the client.
    pub client_guid: [u8; 16],
    /// Contexts; they are sent where 3.1.1 is among the dialects.
    pub offers: Offers<'a>,
}

impl Request for NegotiateRequest<'_> {
    const COMMAND: Command = Command::Negotiate;

    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.put_u16(36);
        out.put_u16(self.dialects.len() as u16);
        out.put_u16(self.security_mode);
        out.put_u16(0);
        out.put_u32(self.capabilities);
        out.extend_from_slice(&self.client_guid);
        out.put_u64(0); // where the contexts are, and how many
        for dialect in self.dialects {
            out.put_u16(dialect.revision());
        }
        if self.dialects.contains(&Dialect::V311) {
            align8(out, start);
            let offset = (LEN + out.len() - start) as u32;
            patch(out, start + 28, &offset.to_le_bytes());
            let count = self.offers.encode(out, start);
            patch(out, start + 32, &count.to_le_bytes());
        }
    }
}

/// What the server has chosen, and what it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegotiateResponse<'a> {
    /// See [`security_mode`].
    pub security_mode: u16,
    /// The number of the dialect.
    pub revision: u16,
    /// Identifies the server.
    pub server_guid: [u8; 16],
    /// See [`capability`].
    pub capabilities: u32,
    /// The most that anything but READ and WRITE may carry, in bytes.
    pub max_transact: u32,
    /// The most that READ may.
    pub max_read: u32,
    /// The most that WRITE may.
    pub max_write: u32,
    /// The server's clock, in 100 ns since 1601.
    pub system_time: u64,
    /// The server's first token.
    pub token: &'a [u8],
    /// What it has chosen of the contexts, where the dialect is 3.1.1.
    pub choices: Choices,
}

impl<'a> Response<'a> for NegotiateResponse<'a> {
    fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = body(message, 65)?;
        let security_mode = r.u16()?;
        let revision = r.u16()?;
        let count = r.u16()?;
        let server_guid = r.array()?;
        let capabilities = r.u32()?;
        let (max_transact, max_read, max_write) = (r.u32()?, r.u32()?, r.u32()?);
        let system_time = r.u64()?;
        r.u64()?; // start time
        let (offset, length) = (usize::from(r.u16()?), usize::from(r.u16()?));
        let contexts = r.u32()? as usize;
        let choices = match revision == Dialect::V311.revision() {
            true => {
                let rest = message.get(contexts.max(LEN)..).unwrap_or_default();
                Choices::decode(rest, count)?
            }
            false => Choices::default(),
        };
        Ok(Self {
            security_mode,
            revision,
            server_guid,
            capabilities,
            max_transact,
            max_read,
            max_write,
            system_time,
            token: part(&r, offset, length)?,
            choices,
        })
    }
}
