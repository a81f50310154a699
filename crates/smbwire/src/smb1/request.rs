//! Requests on files, directories and sessions (MS-CIFS 2.2.4, MS-SMB 2.2.4).

use super::header::Command;
use super::writer::{Path, Request, Writer};

/// What precedes a name in the old commands.
const NAME: u8 = 4;

/// NT_CREATE_ANDX (MS-CIFS 2.2.4.64); values as in MS-SMB2 2.2.13.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NtCreate<'a> {
    /// 2: ask for an oplock, 4: for a batch oplock, 0x10: extended answer.
    pub flags: u32,
    /// DesiredAccess.
    pub access: u32,
    /// ExtFileAttributes of a new file.
    pub attributes: u32,
    /// AllocationSize of a new file in bytes.
    pub allocation: u64,
    /// ShareAccess: 1 read, 2 write, 4 delete.
    pub share: u32,
    /// CreateDisposition.
    pub disposition: u32,
    /// CreateOptions.
    pub options: u32,
    /// What is opened.
    pub path: Path<'a>,
}

impl Request for NtCreate<'_> {
    const COMMAND: Command = Command::NtCreateAndx;

    fn encode(&self, w: &mut Writer<'_>) {
        w.no_andx();
        w.u8(0);
        let length_at = w.here();
        w.u16(0);
        w.u32(self.flags);
        w.u32(0);
        w.u32(self.access);
        w.u64(self.allocation);
        w.u32(self.attributes);
        w.u32(self.share);
        w.u32(self.disposition);
        w.u32(self.options);
        // The server may act as the client does (impersonation).
        w.u32(2);
        w.u8(0);
        w.end_words();
        let length = w.path_part(&self.path);
        w.u16(0);
        w.patch_u16(length_at, length);
    }
}

/// CLOSE, leaving the file's times alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close {
    /// FID.
    pub fid: u16,
}

impl Request for Close {
    const COMMAND: Command = Command::Close;

    fn encode(&self, w: &mut Writer<'_>) {
        w.u16(self.fid);
        w.u32(0xFFFF_FFFF);
        w.end_words();
    }
}

/// FLUSH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flush {
    /// FID; 0xFFFF: everything that this process has open.
    pub fid: u16,
}

impl Request for Flush {
    const COMMAND: Command = Command::Flush;

    fn encode(&self, w: &mut Writer<'_>) {
        w.u16(self.fid);
        w.end_words();
    }
}

/// ECHO, to be answered once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo<'a> {
    /// What is to come back.
    pub data: &'a [u8],
}

impl Request for Echo<'_> {
    const COMMAND: Command = Command::Echo;

    fn encode(&self, w: &mut Writer<'_>) {
        w.u16(1);
        w.end_words();
        w.bytes(self.data);
    }
}

macro_rules! on_name {
    ($(#[$doc:meta])* $name:ident, $attributes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<'a> {
            /// Which.
            pub path: Path<'a>,
        }

        impl Request for $name<'_> {
            const COMMAND: Command = Command::$name;

            fn encode(&self, w: &mut Writer<'_>) {
                if $attributes {
                    w.u16(ANY);
                }
                w.end_words();
                w.u8(NAME);
                w.path(&self.path);
            }
        }
    };
}

/// SearchAttributes: hidden and system files as well as others.
const ANY: u16 = 0x06;
/// The same, and directories.
const ANY_OR_DIR: u16 = 0x16;

on_name!(
    /// CREATE_DIRECTORY.
    CreateDirectory,
    false
);
on_name!(
    /// DELETE_DIRECTORY; it must be empty.
    DeleteDirectory,
    false
);
on_name!(
    /// DELETE of one file.
    Delete,
    true
);

/// RENAME of a file or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rename<'a> {
    /// As it is.
    pub from: Path<'a>,
    /// As it is to be.
    pub to: Path<'a>,
}

impl Request for Rename<'_> {
    const COMMAND: Command = Command::Rename;

    fn encode(&self, w: &mut Writer<'_>) {
        w.u16(ANY_OR_DIR);
        w.end_words();
        for path in [&self.from, &self.to] {
            w.u8(NAME);
            w.path(path);
        }
    }
}

/// FIND_CLOSE2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindClose {
    /// SID of the search.
    pub sid: u16,
}

impl Request for FindClose {
    const COMMAND: Command = Command::FindClose2;

    fn encode(&self, w: &mut Writer<'_>) {
        w.u16(self.sid);
        w.end_words();
    }
}

/// NT_CANCEL: the request with the same mid is to end. There is no answer but that one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NtCancel;

impl Request for NtCancel {
    const COMMAND: Command = Command::NtCancel;

    fn encode(&self, w: &mut Writer<'_>) {
        w.end_words();
    }
}

/// TREE_DISCONNECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeDisconnect;

impl Request for TreeDisconnect {
    const COMMAND: Command = Command::TreeDisconnect;

    fn encode(&self, w: &mut Writer<'_>) {
        w.end_words();
    }
}

/// LOGOFF_ANDX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logoff;

impl Request for Logoff {
    const COMMAND: Command = Command::LogoffAndx;

    fn encode(&self, w: &mut Writer<'_>) {
        w.no_andx();
        w.end_words();
    }
}
