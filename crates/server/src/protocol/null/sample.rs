//! The one file, the one directory and the one link in canned replies.

use crate::protocol::convert::HANDLE;
use filermark_onc::nfs3::{Fattr3, Ftype3, Nfstime3, Specdata3, WccAttr, WccData};

/// Size of every file, in bytes: no read reaches the end.
const SIZE: u64 = 1 << 40;
pub(in crate::protocol) const VERIFIER: [u8; 8] = *b"canned\0\0";
const TIME: Nfstime3 = Nfstime3 {
    seconds: 1_000_000_000,
    nseconds: 0,
};

/// A handle that contains the type of its file.
pub(in crate::protocol) fn handle(kind: Ftype3) -> [u8; HANDLE] {
    let mut bytes = [0; HANDLE];
    bytes[..8].copy_from_slice(b"Filermk\0");
    bytes[HANDLE - 1] = kind as u8;
    bytes
}

/// The handle of `/export`.
pub(in crate::protocol) fn root() -> [u8; HANDLE] {
    handle(Ftype3::Dir)
}

pub(in crate::protocol) fn attributes(ftype: Ftype3) -> Fattr3 {
    let size = if ftype == Ftype3::Reg { SIZE } else { 4096 };
    Fattr3 {
        ftype,
        mode: 0o777,
        nlink: 2,
        uid: 0,
        gid: 0,
        size,
        used: size,
        rdev: Specdata3::default(),
        fsid: 1,
        fileid: u64::from(ftype.to_u32()),
        atime: TIME,
        mtime: TIME,
        ctime: TIME,
    }
}

pub(in crate::protocol) fn wcc(ftype: Ftype3) -> WccData {
    let after = attributes(ftype);
    let before = WccAttr {
        size: after.size,
        mtime: TIME,
        ctime: TIME,
    };
    WccData {
        before: Some(before),
        after: Some(after),
    }
}
