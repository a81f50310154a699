//! NEGOTIATE, SESSION_SETUP_ANDX and TREE_CONNECT_ANDX (MS-SMB 2.2.4.5 to 2.2.4.7).

use super::header::Command;
use super::reply::Reply;
use super::writer::{Request, Writer};
use crate::error::DecodeError;

/// Capabilities (MS-SMB 2.2.4.5.2.1).
pub mod caps {
    /// UTF-16.
    pub const UNICODE: u32 = 0x0000_0004;
    /// Offsets of 64 bits.
    pub const LARGE_FILES: u32 = 0x0000_0008;
    /// NT_CREATE_ANDX and its like.
    pub const NT_SMBS: u32 = 0x0000_0010;
    /// NTSTATUS.
    pub const STATUS32: u32 = 0x0000_0040;
    /// Oplocks of level II.
    pub const LEVEL_II_OPLOCKS: u32 = 0x0000_0080;
    /// TRANS2_FIND_FIRST2 with NT's levels.
    pub const NT_FIND: u32 = 0x0000_0200;
    /// Levels of MS-FSCC, passed through.
    pub const PASSTHRU: u32 = 0x0000_2000;
    /// READ_ANDX beyond the longest message.
    pub const LARGE_READX: u32 = 0x0000_4000;
    /// WRITE_ANDX beyond the longest message.
    pub const LARGE_WRITEX: u32 = 0x0000_8000;
    /// Security tokens.
    pub const EXTENDED_SECURITY: u32 = 0x8000_0000;

    /// What ours are.
    pub const OURS: u32 = UNICODE
        | LARGE_FILES
        | NT_SMBS
        | STATUS32
        | LEVEL_II_OPLOCKS
        | NT_FIND
        | PASSTHRU
        | LARGE_READX
        | LARGE_WRITEX
        | EXTENDED_SECURITY;
}

/// NEGOTIATE of NT LM 0.12 only.
#[derive(Clone, Copy, Debug)]
pub struct Negotiate;

impl Request for Negotiate {
    const COMMAND: Command = Command::Negotiate;

    fn encode(&self, w: &mut Writer<'_>) {
        w.end_words();
        w.bytes(b"\x02NT LM 0.12\0");
    }
}

/// What the server answers to NEGOTIATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated<'a> {
    /// Bit 2: can sign, bit 3: must sign.
    pub security_mode: u8,
    /// Requests that may be under way at once.
    pub max_mpx: u16,
    /// Longest message it takes.
    pub max_buffer: u32,
    /// A number to say again at login.
    pub session_key: u32,
    /// Capabilities.
    pub capabilities: u32,
    /// Its SPNEGO offer; empty without extended security.
    pub token: &'a [u8],
}

impl<'a> Negotiated<'a> {
    /// Reads it; `None`: the server has not got the dialect.
    ///
    /// # Errors
    /// It is cut short, or names a dialect that was not offered.
    pub fn read(reply: &Reply<'a>) -> Result<Option<Self>, DecodeError> {
        let mut r = reply.words(1)?;
        match r.u16()? {
            0 => {}
            0xFFFF => return Ok(None),
            _ => return Err(DecodeError::Bad("the number of the dialect")),
        }
        let mut r = reply.words(17)?;
        r.take(2)?;
        let security_mode = r.u8()?;
        let max_mpx = r.u16()?;
        r.take(2)?;
        let max_buffer = r.u32()?;
        r.take(4)?;
        let (session_key, capabilities) = (r.u32()?, r.u32()?);
        let token = match capabilities & caps::EXTENDED_SECURITY {
            0 => &[][..],
            // A GUID is in front of it.
            _ => reply.bytes.get(16..).ok_or(DecodeError::TooShort)?,
        };
        Ok(Some(Self {
            security_mode,
            max_mpx,
            max_buffer,
            session_key,
            capabilities,
            token,
        }))
    }

    /// Whether the server can sign.
    pub const fn can_sign(&self) -> bool {
        self.security_mode & 0x0C != 0
    }

    /// Whether the server requires signatures.
    pub const fn must_sign(&self) -> bool {
        self.security_mode & 0x08 != 0
    }
}

/// SESSION_SETUP_ANDX with a security token of 64 KiB at most.
#[derive(Clone, Copy, Debug)]
pub struct SessionSetup<'a> {
    /// Requests under way at once.
    pub max_mpx: u16,
    /// As NEGOTIATE answered.
    pub session_key: u32,
    /// What both have of capabilities.
    pub capabilities: u32,
    /// The token.
    pub token: &'a [u8],
}

impl Request for SessionSetup<'_> {
    const COMMAND: Command = Command::SessionSetupAndx;

    fn encode(&self, w: &mut Writer<'_>) {
        w.no_andx();
        // The longest message we take, but for large reads.
        w.u16(0xFFFF);
        w.u16(self.max_mpx);
        // 0 would make a Windows server end this machine's other connections.
        w.u16(1);
        w.u32(self.session_key);
        w.u16(self.token.len() as u16);
        w.u32(0);
        w.u32(self.capabilities);
        w.end_words();
        w.bytes(self.token);
        for name in ["Unix", "Filermark"] {
            w.text(name);
            w.u16(0);
        }
    }
}

/// What the server answers to SESSION_SETUP_ANDX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionAnswer<'a> {
    /// The user is a guest.
    pub guest: bool,
    /// The token, perhaps empty.
    pub token: &'a [u8],
}

impl<'a> SessionAnswer<'a> {
    /// Reads it.
    pub fn read(reply: &Reply<'a>) -> Result<Self, DecodeError> {
        let mut r = reply.words(4)?;
        r.take(4)?;
        let (action, length) = (r.u16()?, r.u16()?);
        let token = reply.bytes.get(..length.into());
        Ok(Self {
            guest: action & 1 != 0,
            token: token.ok_or(DecodeError::TooShort)?,
        })
    }
}

/// TREE_CONNECT_ANDX to a share with files.
#[derive(Clone, Copy, Debug)]
pub struct TreeConnect<'a> {
    /// Host.
    pub server: &'a str,
    /// Share.
    pub share: &'a str,
}

impl Request for TreeConnect<'_> {
    const COMMAND: Command = Command::TreeConnectAndx;

    fn encode(&self, w: &mut Writer<'_>) {
        w.no_andx();
        // An extended answer is wished for.
        w.u16(0x0008);
        w.u16(1);
        w.end_words();
        // The password of the share: empty, since the login is by user.
        w.u8(0);
        w.text("\\\\");
        w.text(self.server);
        w.text("\\");
        w.text(self.share);
        w.u16(0);
        w.bytes(b"A:\0");
    }
}

/// What the server answers to TREE_CONNECT_ANDX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeAnswer {
    /// The share is in a DFS tree.
    pub in_dfs: bool,
}

impl TreeAnswer {
    /// Reads it.
    pub fn read(reply: &Reply<'_>) -> Result<Self, DecodeError> {
        let mut r = reply.words(2)?;
        r.take(4)?;
        // OptionalSupport is missing where the server is very old.
        let optional = r.u16().unwrap_or_default();
        Ok(Self {
            in_dfs: optional & 0x0002 != 0,
        })
    }
}
