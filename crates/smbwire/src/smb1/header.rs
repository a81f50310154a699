//! The SMB header (MS-CIFS 2.2.3.1, MS-SMB 2.2.3.1).

use crate::bytes::{ByteReader, Put};
use crate::error::DecodeError;

/// Bytes of the header.
pub const HEADER: usize = 32;
/// What every message begins with.
const PROTOCOL: &[u8; 4] = b"\xFFSMB";
/// Where the signature is.
pub(super) const SIGNATURE_AT: usize = 14;
/// Where Flags2 is.
pub(super) const FLAGS2_AT: usize = 10;
/// MultiplexId of what the server says unasked.
const UNASKED: u16 = 0xFFFF;

/// Flags.
pub mod flags {
    /// Names are the same in capitals.
    pub const CASE_INSENSITIVE: u8 = 0x08;
    /// Obsolete, and set by all clients.
    pub const CANONICAL: u8 = 0x10;
    /// The message is an answer.
    pub const REPLY: u8 = 0x80;
}

/// Flags2.
pub mod flags2 {
    /// Long names may come back.
    pub const LONG_NAMES: u16 = 0x0001;
    /// The message is signed, or signing is asked for.
    pub const SIGNED: u16 = 0x0004;
    /// The client requires signatures.
    pub const SIGNING_REQUIRED: u16 = 0x0010;
    /// Names in the message are long.
    pub const IS_LONG_NAME: u16 = 0x0040;
    /// Security tokens instead of passwords.
    pub const EXTENDED_SECURITY: u16 = 0x0800;
    /// Paths are in a DFS tree.
    pub const DFS: u16 = 0x1000;
    /// Status is an NTSTATUS.
    pub const NT_STATUS: u16 = 0x4000;
    /// Text is UTF-16.
    pub const UNICODE: u16 = 0x8000;

    /// What every message of ours has.
    pub const OURS: u16 = LONG_NAMES | IS_LONG_NAME | EXTENDED_SECURITY | NT_STATUS | UNICODE;
}

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        /// What is asked for (MS-CIFS 2.2.2.1).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Command {
            $($(#[$doc])* $name = $code,)*
        }

        impl Command {
            /// All that occur here.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The command with a code.
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// As the specification names it, without `SMB_COM_`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

commands! {
    /// Makes a directory.
    CreateDirectory = 0x00, "CREATE_DIRECTORY";
    /// Removes an empty directory.
    DeleteDirectory = 0x01, "DELETE_DIRECTORY";
    /// Closes a file.
    Close = 0x04, "CLOSE";
    /// Puts a file's data onto stable storage.
    Flush = 0x05, "FLUSH";
    /// Removes a file.
    Delete = 0x06, "DELETE";
    /// Renames a file or a directory.
    Rename = 0x07, "RENAME";
    /// Locks and unlocks ranges; also breaks and acknowledges oplocks.
    LockingAndx = 0x24, "LOCKING_ANDX";
    /// Says the same back.
    Echo = 0x2B, "ECHO";
    /// Reads.
    ReadAndx = 0x2E, "READ_ANDX";
    /// Writes.
    WriteAndx = 0x2F, "WRITE_ANDX";
    /// A transaction with a subcommand.
    Transaction2 = 0x32, "TRANSACTION2";
    /// Ends a search.
    FindClose2 = 0x34, "FIND_CLOSE2";
    /// Leaves a tree.
    TreeDisconnect = 0x71, "TREE_DISCONNECT";
    /// Agrees on a dialect.
    Negotiate = 0x72, "NEGOTIATE";
    /// Logs in.
    SessionSetupAndx = 0x73, "SESSION_SETUP_ANDX";
    /// Logs out.
    LogoffAndx = 0x74, "LOGOFF_ANDX";
    /// Enters a tree.
    TreeConnectAndx = 0x75, "TREE_CONNECT_ANDX";
    /// A transaction with a function.
    NtTransact = 0xA0, "NT_TRANSACT";
    /// Opens or makes a file or a directory.
    NtCreateAndx = 0xA2, "NT_CREATE_ANDX";
    /// Takes a request back; has no answer of its own.
    NtCancel = 0xA4, "NT_CANCEL";
}

impl Command {
    /// Its code on the wire.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// The header of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// SMB_COM.
    pub command: u8,
    /// NTSTATUS; where the server answers with a DOS error, its class and its code
    /// shifted by 16, as MS-CIFS 2.2.2.4 writes such values.
    pub status: u32,
    /// Flags.
    pub flags: u8,
    /// Flags2.
    pub flags2: u16,
    /// Process on the client, to which locks belong.
    pub pid: u32,
    /// Signature.
    pub signature: [u8; 8],
    /// Tree.
    pub tid: u16,
    /// Session.
    pub uid: u16,
    /// Which of the requests under way.
    pub mid: u16,
}

impl Header {
    /// Reads the header at the front of a message.
    ///
    /// # Errors
    /// There is none, or it is not SMB1's.
    pub fn read(message: &[u8]) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(message);
        if r.take(4)? != PROTOCOL {
            return Err(DecodeError::Bad("the protocol identifier"));
        }
        let mut header = Self {
            command: r.u8()?,
            status: r.u32()?,
            flags: r.u8()?,
            flags2: r.u16()?,
            ..Self::default()
        };
        let pid_high = r.u16()?;
        header.signature = r.array()?;
        r.take(2)?;
        header.tid = r.u16()?;
        header.pid = u32::from(pid_high) << 16 | u32::from(r.u16()?);
        header.uid = r.u16()?;
        header.mid = r.u16()?;
        Ok(header)
    }

    /// Appends it.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(PROTOCOL);
        out.push(self.command);
        out.put_u32(self.status);
        out.push(self.flags);
        out.put_u16(self.flags2);
        out.put_u16((self.pid >> 16) as u16);
        out.extend_from_slice(&self.signature);
        out.put_u16(0);
        out.put_u16(self.tid);
        out.put_u16(self.pid as u16);
        out.put_u16(self.uid);
        out.put_u16(self.mid);
    }

    /// Whether the message is an answer.
    pub const fn is_reply(&self) -> bool {
        self.flags & flags::REPLY != 0
    }

    /// Whether the server breaks an oplock, which it does unasked (MS-CIFS 3.3.4.2).
    pub const fn is_oplock_break(&self) -> bool {
        !self.is_reply() && self.command == Command::LockingAndx.code() && self.mid == UNASKED
    }
}
