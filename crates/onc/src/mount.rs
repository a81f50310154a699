//! MOUNT version 3, program 100005 (RFC 1813 appendix I): from a path to the file handle of its root.

use crate::nfs3::FileHandle;
use crate::rpc::AuthFlavor;
use crate::xdr::{Decode, DecodeError, DecodeFailure, Decoder, Encode, Encoder, List};

/// Program number.
pub const PROGRAM: u32 = 100_005;
/// Version of the program.
pub const VERSION: u32 = 3;
/// The most bytes in a path (`MNTPATHLEN`).
pub const MNTPATHLEN: usize = 1024;
/// The most bytes in a host or group name (`MNTNAMLEN`).
pub const MNTNAMLEN: usize = 255;
/// The most authentication flavors taken from a server. (The RFC sets no limit.)
pub const MAX_FLAVORS: usize = 64;

xdr_status! {
    /// `mountstat3`: what became of MNT.
    pub enum Mountstat3("MNT3ERR_UNKNOWN") {
        /// Done.
        Ok = 0 "MNT3_OK" "done",
        /// Not owner.
        Perm = 1 "MNT3ERR_PERM" "the server does not let this client mount; check the export's client list, and RESVPORT=1",
        /// No such path.
        Noent = 2 "MNT3ERR_NOENT" "the server has no such path; ask it for its exports (showmount -e)",
        /// I/O error.
        Io = 5 "MNT3ERR_IO" "the server could not read the path from its disk; look at its log",
        /// Access denied.
        Acces = 13 "MNT3ERR_ACCES" "the path is not exported to this client; check the export's client list, and RESVPORT=1",
        /// Not a directory.
        Notdir = 20 "MNT3ERR_NOTDIR" "the path is not a directory",
        /// Invalid argument.
        Inval = 22 "MNT3ERR_INVAL" "the server calls the path invalid; it must begin with a slash",
        /// Name too long.
        Nametoolong = 63 "MNT3ERR_NAMETOOLONG" "the path is too long for the server",
        /// Not supported.
        Notsupp = 10004 "MNT3ERR_NOTSUPP" "the server does not support this kind of mount",
        /// The server failed.
        Serverfault = 10006 "MNT3ERR_SERVERFAULT" "the server failed; look at its log",
    }
}

xdr_struct! {
    /// Arguments of NULL: none.
    pub struct NullArgs {}
}
xdr_struct! {
    /// Arguments of MNT.
    pub struct MntArgs<'a> {
        /// Path of the export or of a directory below it.
        dirpath: &'a [u8] => MNTPATHLEN,
    }
}
xdr_struct! {
    /// Arguments of DUMP: none; the answer is a list of [`MountEntry`].
    pub struct DumpArgs {}
}
xdr_struct! {
    /// Arguments of UMNT; the answer is empty.
    pub struct UmntArgs<'a> {
        /// The path that was given to MNT.
        dirpath: &'a [u8] => MNTPATHLEN,
    }
}
xdr_struct! {
    /// Arguments of UMNTALL: none; the answer is empty.
    pub struct UmntallArgs {}
}
xdr_struct! {
    /// Arguments of EXPORT: none; the answer is a list of [`ExportNode`].
    pub struct ExportArgs {}
}

xdr_struct! {
    /// What MNT answers when it is done (`mountres3_ok`).
    pub struct MntOk<'a> {
        /// Handle of the directory.
        fhandle: FileHandle<'a>,
        /// The authentication flavors the server takes for it.
        auth_flavors: FlavorList<'a>,
    }
}

/// Answer of MNT: the handle, or why not.
pub type MntRes<'a> = Result<MntOk<'a>, Mountstat3>;

impl DecodeFailure<'_> for Mountstat3 {
    const STATUS: &'static str = "MntRes.fhs_status";

    fn decode_failure(status: u32, _d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self::from_u32(status))
    }
}

/// The authentication flavors of an export, still in their wire form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlavorList<'a> {
    words: &'a [u8],
}

impl<'a> FlavorList<'a> {
    /// A server that takes AUTH_SYS and nothing else.
    pub const SYS: FlavorList<'static> = FlavorList {
        words: &[0, 0, 0, 1],
    };

    /// The flavors in the server's order of preference.
    pub fn iter(&self) -> impl Iterator<Item = AuthFlavor> + use<'a> {
        let (words, _) = self.words.as_chunks::<4>();
        words
            .iter()
            .map(|word| AuthFlavor::from_u32(u32::from_be_bytes(*word)))
    }

    /// Whether AUTH_SYS is worth trying: the server lists it, lists nothing (old
    /// servers), or lists AUTH_NONE, which clients take to mean that it looks at no
    /// credential and so accepts any.
    pub fn allows_sys(&self) -> bool {
        let fits = |flavor| matches!(flavor, AuthFlavor::Sys | AuthFlavor::None);
        self.words.is_empty() || self.iter().any(fits)
    }
}

impl Encode for FlavorList<'_> {
    fn encode(&self, e: &mut Encoder<'_>) {
        e.u32((self.words.len() / 4) as u32);
        e.raw(self.words);
    }
}

impl<'a> Decode<'a> for FlavorList<'a> {
    fn decode_as(d: &mut Decoder<'a>, what: &'static str) -> Result<Self, DecodeError> {
        let count = d.length(MAX_FLAVORS, what)?;
        let words = d.opaque_fixed(count * 4, what)?;
        Ok(Self { words })
    }
}

xdr_struct! {
    /// One line of DUMP (`mountbody`).
    pub struct MountEntry<'a> {
        /// The client.
        hostname: &'a [u8] => MNTNAMLEN,
        /// The path it mounts.
        directory: &'a [u8] => MNTPATHLEN,
    }
}
xdr_struct! {
    /// One export (`exportnode`).
    pub struct ExportNode<'a> {
        /// Its path.
        dir: &'a [u8] => MNTPATHLEN,
        /// Who may mount it; empty for all clients.
        groups: List<'a, GroupNode<'a>>,
    }
}
xdr_struct! {
    /// One host or group of an export (`groupnode`).
    pub struct GroupNode<'a> {
        /// Its name, or a pattern in the server's own style.
        name: &'a [u8] => MNTNAMLEN,
    }
}

xdr_program! {
    /// Does nothing.
    Null = 0 "NULL" (NullArgs) -> ();
    /// Asks for the handle of an export's root.
    Mnt = 1 "MNT" (MntArgs<'a>) -> MntRes<'r>;
    /// Lists who mounts what.
    Dump = 2 "DUMP" (DumpArgs) -> List<'r, MountEntry<'r>>;
    /// Takes back one MNT.
    Umnt = 3 "UMNT" (UmntArgs<'a>) -> ();
    /// Takes back every MNT of this client.
    Umntall = 4 "UMNTALL" (UmntallArgs) -> ();
    /// Lists the exports.
    Export = 5 "EXPORT" (ExportArgs) -> List<'r, ExportNode<'r>>;
}
