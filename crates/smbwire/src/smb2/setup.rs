//! SESSION_SETUP, TREE_CONNECT and their ends, ECHO and CANCEL (MS-SMB2 2.2.5 to 2.2.12,
//! 2.2.28 to 2.2.30).

use super::header::{Command, LEN, put_empty_body};
use super::{Request, Response, body, part, patch};
use crate::bytes::Put;
use crate::error::DecodeError;

/// Bits of [`SessionSetupResponse::flags`].
pub mod session_flag {
    /// The user is a guest.
    pub const IS_GUEST: u16 = 1;
    /// The user is anonymous.
    pub const IS_NULL: u16 = 2;
    /// The session is to be encrypted.
    pub const ENCRYPT_DATA: u16 = 4;
}

/// One leg of proving who the user is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionSetupRequest<'a> {
    /// The connection is to become another channel of the session that the header names
    /// (SMB2_SESSION_FLAG_BINDING).
    pub binds: bool,
    /// See [`super::negotiate::security_mode`].
    pub security_mode: u8,
    /// [`super::negotiate::capability::DFS`], or nothing.
    pub capabilities: u32,
    /// A session that has been lost and is to be ended; 0: none.
    pub previous_session: u64,
    /// The token.
    pub token: &'a [u8],
}

impl Request for SessionSetupRequest<'_> {
    const COMMAND: Command = Command::SessionSetup;

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(25);
        out.push(self.binds.into()); // flags
        out.push(self.security_mode);
        out.put_u32(self.capabilities);
        out.put_u32(0); // channel
        out.put_u16((LEN + 24) as u16);
        out.put_u16(self.token.len() as u16);
        out.put_u64(self.previous_session);
        out.extend_from_slice(self.token);
    }
}

/// The server's answer to a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionSetupResponse<'a> {
    /// See [`session_flag`].
    pub flags: u16,
    /// The server's token.
    pub token: &'a [u8],
}

impl<'a> Response<'a> for SessionSetupResponse<'a> {
    fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = body(message, 9)?;
        let flags = r.u16()?;
        let (offset, length) = (usize::from(r.u16()?), usize::from(r.u16()?));
        Ok(Self {
            flags,
            token: part(&r, offset, length)?,
        })
    }
}

/// Enters a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeConnectRequest<'a> {
    /// The server's host.
    pub server: &'a str,
    /// The share.
    pub share: &'a str,
}

impl Request for TreeConnectRequest<'_> {
    const COMMAND: Command = Command::TreeConnect;

    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.put_u16(9);
        out.put_u16(0); // flags
        out.put_u16((LEN + 8) as u16);
        out.put_u16(0); // length
        for word in ["\\\\", self.server, "\\", self.share] {
            out.put_utf16(word);
        }
        let length = (out.len() - start - 8) as u16;
        patch(out, start + 6, &length.to_le_bytes());
    }
}

/// Bits of [`TreeConnectResponse::flags`].
#[allow(missing_docs)] // They are called as MS-SMB2 2.2.10 calls them.
pub mod share_flag {
    pub const DFS: u32 = 0x0000_0001;
    pub const DFS_ROOT: u32 = 0x0000_0002;
    pub const FORCE_LEVELII_OPLOCK: u32 = 0x0000_1000;
    pub const ENCRYPT_DATA: u32 = 0x0000_8000;
}

/// Bits of [`TreeConnectResponse::capabilities`].
#[allow(missing_docs)]
pub mod share_capability {
    pub const DFS: u32 = 0x08;
    pub const CONTINUOUS_AVAILABILITY: u32 = 0x10;
    pub const SCALEOUT: u32 = 0x20;
    pub const CLUSTER: u32 = 0x40;
}

/// What a share is: [`TreeConnectResponse::share_type`] of a disk share.
pub const SHARE_TYPE_DISK: u8 = 1;

/// A share that has been entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeConnectResponse {
    /// [`SHARE_TYPE_DISK`]; 2 is a pipe, 3 a printer.
    pub share_type: u8,
    /// See [`share_flag`].
    pub flags: u32,
    /// See [`share_capability`].
    pub capabilities: u32,
    /// The most that the user may do in it.
    pub maximal_access: u32,
}

impl Response<'_> for TreeConnectResponse {
    fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut r = body(message, 16)?;
        let share_type = r.u8()?;
        r.u8()?;
        Ok(Self {
            share_type,
            flags: r.u32()?,
            capabilities: r.u32()?,
            maximal_access: r.u32()?,
        })
    }
}

macro_rules! empty_requests {
    ($($(#[$doc:meta])* $name:ident = $command:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;

        impl Request for $name {
            const COMMAND: Command = Command::$command;

            fn encode(&self, out: &mut Vec<u8>) {
                put_empty_body(out);
            }
        }
    )*};
}

empty_requests! {
    /// Ends the session.
    LogoffRequest = Logoff;
    /// Leaves the share.
    TreeDisconnectRequest = TreeDisconnect;
    /// Asks for nothing but an answer.
    EchoRequest = Echo;
    /// Takes a request back: the message id (or, where it was answered with STATUS_PENDING,
    /// the async id) is that of the request. It takes no credit and gets no answer.
    CancelRequest = Cancel;
}

/// The answer to FLUSH, LOCK, LOGOFF, ECHO and TREE_DISCONNECT: nothing but that it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyResponse;

impl Response<'_> for EmptyResponse {
    fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        body(message, 4).map(|_| Self)
    }
}
