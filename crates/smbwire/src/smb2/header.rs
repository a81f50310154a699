//! The 64 bytes before every message (MS-SMB2 2.2.1).

use crate::bytes::{ByteReader, Put};
use crate::error::DecodeError;

/// Bytes of a header.
pub const LEN: usize = 64;
/// What a header begins with.
pub const PROTOCOL_ID: [u8; 4] = *b"\xFESMB";
/// The message id of unsolicited messages: oplock and lease breaks.
pub const UNSOLICITED: u64 = u64::MAX;

/// Bits of [`Header::flags`].
pub mod flags {
    /// From the server.
    pub const SERVER_TO_REDIR: u32 = 0x0000_0001;
    /// An interim or late reply, or the CANCEL of one: `async_id` counts.
    pub const ASYNC: u32 = 0x0000_0002;
    /// Works on what the message before it in the compound has opened.
    pub const RELATED: u32 = 0x0000_0004;
    /// Signed.
    pub const SIGNED: u32 = 0x0000_0008;
    /// The path is one of a distributed file system.
    pub const DFS: u32 = 0x1000_0000;
    /// Sent again after a lost connection.
    pub const REPLAY: u32 = 0x2000_0000;
}

/// What a message asks for or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
#[allow(missing_docs)] // They are called as MS-SMB2 2.2.1 calls them.
pub enum Command {
    Negotiate = 0,
    SessionSetup = 1,
    Logoff = 2,
    TreeConnect = 3,
    TreeDisconnect = 4,
    Create = 5,
    Close = 6,
    Flush = 7,
    Read = 8,
    Write = 9,
    Lock = 10,
    Ioctl = 11,
    Cancel = 12,
    Echo = 13,
    QueryDirectory = 14,
    ChangeNotify = 15,
    QueryInfo = 16,
    SetInfo = 17,
    OplockBreak = 18,
}

impl Command {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 19] = [
        Self::Negotiate,
        Self::SessionSetup,
        Self::Logoff,
        Self::TreeConnect,
        Self::TreeDisconnect,
        Self::Create,
        Self::Close,
        Self::Flush,
        Self::Read,
        Self::Write,
        Self::Lock,
        Self::Ioctl,
        Self::Cancel,
        Self::Echo,
        Self::QueryDirectory,
        Self::ChangeNotify,
        Self::QueryInfo,
        Self::SetInfo,
        Self::OplockBreak,
    ];

    /// The command with a number of the wire.
    pub fn from_u16(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// As the specification writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Negotiate => "NEGOTIATE",
            Self::SessionSetup => "SESSION_SETUP",
            Self::Logoff => "LOGOFF",
            Self::TreeConnect => "TREE_CONNECT",
            Self::TreeDisconnect => "TREE_DISCONNECT",
            Self::Create => "CREATE",
            Self::Close => "CLOSE",
            Self::Flush => "FLUSH",
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::Lock => "LOCK",
            Self::Ioctl => "IOCTL",
            Self::Cancel => "CANCEL",
            Self::Echo => "ECHO",
            Self::QueryDirectory => "QUERY_DIRECTORY",
            Self::ChangeNotify => "CHANGE_NOTIFY",
            Self::QueryInfo => "QUERY_INFO",
            Self::SetInfo => "SET_INFO",
            Self::OplockBreak => "OPLOCK_BREAK",
        }
    }
}

/// A header, of a request or a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The command.
    pub command: Command,
    /// NTSTATUS of a response; 0 in requests.
    pub status: u32,
    /// How many credits (and message ids) the request takes.
    pub credit_charge: u16,
    /// How many credits are asked for, or granted.
    pub credits: u16,
    /// See [`flags`].
    pub flags: u32,
    /// Bytes from this header to the next one of the compound; 0 in the last.
    pub next_command: u32,
    /// Which request this is, or answers; [`UNSOLICITED`] for breaks.
    pub message_id: u64,
    /// The tree; 0 where `async_id` takes its place.
    pub tree_id: u32,
    /// Names a request that is answered later; 0 without [`flags::ASYNC`].
    pub async_id: u64,
    /// The session.
    pub session_id: u64,
    /// The signature; zeros where there is none.
    pub signature: [u8; 16],
}

impl Header {
    /// A request of no session and no tree, which takes one credit and asks for one.
    pub const fn request(command: Command, message_id: u64) -> Self {
        Self {
            command,
            status: 0,
            credit_charge: 1,
            credits: 1,
            flags: 0,
            next_command: 0,
            message_id,
            tree_id: 0,
            async_id: 0,
            session_id: 0,
            signature: [0; 16],
        }
    }

    /// Whether the reply is only a promise of one: STATUS_PENDING (MS-SMB2 3.2.5.1.5).
    pub const fn is_interim(&self) -> bool {
        self.status == crate::status::PENDING && self.flags & flags::ASYNC != 0
    }

    /// Whether it is a break that the server sends of its own accord.
    pub const fn is_break(&self) -> bool {
        matches!(self.command, Command::OplockBreak) && self.message_id == UNSOLICITED
    }

    /// Appends it.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }

    /// As it goes over the wire.
    #[inline]
    pub fn to_bytes(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        let mut put = |at: usize, value: &[u8]| {
            bytes[at..at + value.len()].copy_from_slice(value);
        };
        put(0, &PROTOCOL_ID);
        put(4, &(LEN as u16).to_le_bytes());
        put(6, &self.credit_charge.to_le_bytes());
        put(8, &self.status.to_le_bytes());
        put(12, &(self.command as u16).to_le_bytes());
        put(14, &self.credits.to_le_bytes());
        put(16, &self.flags.to_le_bytes());
        put(20, &self.next_command.to_le_bytes());
        put(24, &self.message_id.to_le_bytes());
        match self.flags & flags::ASYNC {
            0 => put(36, &self.tree_id.to_le_bytes()),
            _ => put(32, &self.async_id.to_le_bytes()),
        }
        put(40, &self.session_id.to_le_bytes());
        put(48, &self.signature);
        bytes
    }

    /// Decodes the front of a message.
    ///
    /// # Errors
    /// It is too short, is no SMB2 message, or has a command that there is not.
    #[inline]
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(message);
        if r.array::<4>()? != PROTOCOL_ID {
            return Err(DecodeError::Bad("the protocol's mark"));
        }
        if usize::from(r.u16()?) != LEN {
            return Err(DecodeError::Bad("the header's size"));
        }
        let credit_charge = r.u16()?;
        let status = r.u32()?;
        let command = Command::from_u16(r.u16()?).ok_or(DecodeError::Bad("the command"))?;
        let credits = r.u16()?;
        let flags = r.u32()?;
        let next_command = r.u32()?;
        let message_id = r.u64()?;
        let id = r.u64()?;
        let is_async = flags & flags::ASYNC != 0;
        Ok(Self {
            command,
            status,
            credit_charge,
            credits,
            flags,
            next_command,
            message_id,
            tree_id: if is_async { 0 } else { (id >> 32) as u32 },
            async_id: if is_async { id } else { 0 },
            session_id: r.u64()?,
            signature: r.array()?,
        })
    }
}

/// Appends a request: its header, whose command is taken from the body, and its body.
/// Gives where the message begins.
pub fn append<R: super::Request>(out: &mut Vec<u8>, header: &Header, request: &R) -> usize {
    let start = out.len();
    let command = R::COMMAND;
    Header { command, ..*header }.encode(out);
    request.encode(out);
    start
}

/// A body of nothing but its size: FLUSH's, LOCK's, LOGOFF's, ECHO's, TREE_DISCONNECT's.
pub(crate) fn put_empty_body(out: &mut Vec<u8>) {
    out.put_u16(4);
    out.put_u16(0);
}
