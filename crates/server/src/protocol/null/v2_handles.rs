//! Handles and attributes in canned replies of NFSv2: the files, directories and runs of version 3's.

use super::runs::{self, NameMeaning, run_of};
use super::sample;
use crate::memfs::{Attr, FileKind};
use crate::protocol::answer::put;
use crate::protocol::convert::HANDLE;
use crate::protocol::nfs2;
use filermark_onc::nfs2::{
    AttrstatOk, AttrstatRes, DiropOk, DiropRes, Diropargs, Fattr, Fhandle, Nfsstat, StatRes,
};
use filermark_onc::nfs3::{FileHandle, Ftype3, Nfsstat3};

/// Kind of a file, and the run it belongs to (0: none): what a handle of ours says of itself.
pub(in crate::protocol) type HandleKind = (Ftype3, u64);

/// The attributes of a file of this kind.
pub(in crate::protocol) fn attributes(kind: Ftype3) -> Fattr {
    let three = sample::attributes(kind);
    let ns = u64::from(three.mtime.seconds) * 1_000_000_000;
    let attr = Attr {
        kind: match kind {
            Ftype3::Dir => FileKind::Directory,
            Ftype3::Lnk => FileKind::Symlink,
            _ => FileKind::Regular,
        },
        mode: three.mode,
        nlink: three.nlink,
        uid: three.uid,
        gid: three.gid,
        size: three.size,
        used: three.used,
        rdev: (0, 0),
        fileid: three.fileid,
        atime_ns: ns,
        mtime_ns: ns,
        ctime_ns: ns,
    };
    nfs2::attr(&attr, three.fsid)
}

/// The handle as version 3 has it, without the zeros behind.
fn narrow<'a>(handle: &Fhandle<'a>) -> Option<FileHandle<'a>> {
    FileHandle::new(&handle.as_bytes()[..HANDLE])
}

/// The run that a handle belongs to, if any.
pub(in crate::protocol) fn run(handle: &Fhandle<'_>) -> Option<u64> {
    run_of(&narrow(handle)?)
}

/// What a name means.
pub(in crate::protocol) fn named<'a>(place: &Diropargs<'a>) -> Option<NameMeaning<'a>> {
    runs::named(place.name, || run(&place.dir))
}

/// The kind that a handle says.
pub(in crate::protocol) fn kind_of(handle: &Fhandle<'_>) -> Ftype3 {
    match handle.as_bytes()[HANDLE - 1] {
        kind if kind == Ftype3::Dir as u8 => Ftype3::Dir,
        kind if kind == Ftype3::Lnk as u8 => Ftype3::Lnk,
        _ => Ftype3::Reg,
    }
}

/// The status in version 2's words.
pub(in crate::protocol) fn refused(status: Nfsstat3) -> Nfsstat {
    nfs2::status(status).unwrap_or(Nfsstat::Io)
}

/// Results of LOOKUP, CREATE and MKDIR.
pub(in crate::protocol) fn put_thing(thing: Result<HandleKind, Nfsstat3>, out: &mut Vec<u8>) {
    let (kind, id) = match thing {
        Ok(thing) => thing,
        Err(status) => return put(out, &DiropRes::Err(refused(status))),
    };
    let handle = nfs2::widen(&runs::handle_of(kind, id));
    let ok = DiropOk {
        file: Fhandle::new(&handle),
        attributes: attributes(kind),
    };
    put(out, &DiropRes::Ok(ok));
}

/// Results that are a status alone.
pub(in crate::protocol) fn put_stat(done: Result<(), Nfsstat3>, out: &mut Vec<u8>) {
    put::<StatRes>(out, &done.map_err(refused));
}

/// Results of GETATTR, SETATTR and WRITE for a file of this kind.
pub(in crate::protocol) fn attrstat(kind: Ftype3) -> AttrstatRes {
    Ok(AttrstatOk {
        attributes: attributes(kind),
    })
}
