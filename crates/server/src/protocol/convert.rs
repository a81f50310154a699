//! Between the words of the file system and those of the wire.

use crate::memfs::{
    Attr, CreateHow, FileId, FileKind, FsError, PreAttr, SetAttr, SetTime as FsSetTime, Wcc,
};
use filermark_onc::nfs2::FHSIZE;
use filermark_onc::nfs3::{
    Createhow3, Fattr3, FileHandle, Ftype3, Nfsstat3, Nfstime3, Sattr3, SetTime, Specdata3,
    WccAttr, WccData,
};

/// Length of our handles in bytes.
pub(super) const HANDLE: usize = 24;
const MAGIC: &[u8; 8] = b"Filermk\x01";
pub(super) const NS: u64 = 1_000_000_000;

/// A handle: a word of ours, the number, the generation.
pub(super) fn handle(id: FileId) -> [u8; HANDLE] {
    let mut bytes = [0; HANDLE];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..16].copy_from_slice(&id.number.to_be_bytes());
    bytes[16..].copy_from_slice(&id.generation.to_be_bytes());
    bytes
}

/// Reads a handle; what we never gave out is BADHANDLE.
pub(super) fn file_id(handle: &FileHandle<'_>) -> Result<FileId, Nfsstat3> {
    file_id_of(handle.as_bytes()).ok_or(Nfsstat3::Badhandle)
}

/// The same for the bytes of a handle of any version. Zeros may follow ours: version 2 fills its handles
/// up with them, and a handle may come back by another version.
pub(super) fn file_id_of(handle: &[u8]) -> Option<FileId> {
    let word = |at: usize| handle.get(at..)?.first_chunk::<8>().copied();
    let tail = handle.get(HANDLE..).unwrap_or_default();
    let known = tail.is_empty() || (tail.len() == FHSIZE - HANDLE && tail.iter().all(|b| *b == 0));
    if !known || word(0)? != *MAGIC {
        return None;
    }
    Some(FileId {
        number: u64::from_be_bytes(word(8)?),
        generation: u64::from_be_bytes(word(16)?),
    })
}

pub(super) fn status(error: FsError) -> Nfsstat3 {
    match error {
        FsError::Perm => Nfsstat3::Perm,
        FsError::NoEnt => Nfsstat3::Noent,
        FsError::Acces => Nfsstat3::Acces,
        FsError::Exist => Nfsstat3::Exist,
        FsError::NotDir => Nfsstat3::Notdir,
        FsError::IsDir => Nfsstat3::Isdir,
        FsError::Inval => Nfsstat3::Inval,
        FsError::FBig => Nfsstat3::Fbig,
        FsError::NoSpc => Nfsstat3::Nospc,
        FsError::RoFs => Nfsstat3::Rofs,
        FsError::MLink => Nfsstat3::Mlink,
        FsError::NameTooLong => Nfsstat3::Nametoolong,
        FsError::NotEmpty => Nfsstat3::Notempty,
        FsError::Stale => Nfsstat3::Stale,
        FsError::NotSync => Nfsstat3::NotSync,
        FsError::BadCookie => Nfsstat3::BadCookie,
        FsError::BadType => Nfsstat3::Badtype,
        // Only operations of version 4 have them.
        FsError::BeyondEnd | FsError::NoXattr => Nfsstat3::Inval,
    }
}

fn time(ns: u64) -> Nfstime3 {
    Nfstime3 {
        seconds: (ns / NS) as u32,
        nseconds: (ns % NS) as u32,
    }
}

pub(super) fn ns(time: Nfstime3) -> u64 {
    u64::from(time.seconds) * NS + u64::from(time.nseconds).min(NS - 1)
}

pub(super) fn attr(attr: &Attr, fsid: u64) -> Fattr3 {
    Fattr3 {
        ftype: match attr.kind {
            FileKind::Regular => Ftype3::Reg,
            FileKind::Directory => Ftype3::Dir,
            FileKind::BlockDevice => Ftype3::Blk,
            FileKind::CharDevice => Ftype3::Chr,
            FileKind::Symlink => Ftype3::Lnk,
            FileKind::Socket => Ftype3::Sock,
            FileKind::Fifo => Ftype3::Fifo,
        },
        mode: attr.mode,
        nlink: attr.nlink,
        uid: attr.uid,
        gid: attr.gid,
        size: attr.size,
        used: attr.used,
        rdev: Specdata3 {
            specdata1: attr.rdev.0,
            specdata2: attr.rdev.1,
        },
        fsid,
        fileid: attr.fileid,
        atime: time(attr.atime_ns),
        mtime: time(attr.mtime_ns),
        ctime: time(attr.ctime_ns),
    }
}

fn pre(attr: PreAttr) -> WccAttr {
    WccAttr {
        size: attr.size,
        mtime: time(attr.mtime_ns),
        ctime: time(attr.ctime_ns),
    }
}

pub(super) fn wcc(wcc: &Wcc, fsid: u64) -> WccData {
    WccData {
        before: wcc.before.map(pre),
        after: wcc.after.map(|after| attr(&after, fsid)),
    }
}

pub(super) fn set_attr(set: &Sattr3) -> SetAttr {
    let time = |time: SetTime| match time {
        SetTime::DontChange => FsSetTime::Keep,
        SetTime::ServerTime => FsSetTime::Now,
        SetTime::ClientTime(time) => FsSetTime::To(ns(time)),
    };
    SetAttr {
        mode: set.mode,
        uid: set.uid,
        gid: set.gid,
        size: set.size,
        atime: time(set.atime),
        mtime: time(set.mtime),
    }
}

pub(super) fn create_how(how: &Createhow3) -> CreateHow {
    match how {
        Createhow3::Unchecked(set) => CreateHow::Unchecked(set_attr(set)),
        Createhow3::Guarded(set) => CreateHow::Guarded(set_attr(set)),
        Createhow3::Exclusive(verf) => {
            CreateHow::Exclusive(u64::from_be_bytes(*verf), SetAttr::default())
        }
    }
}
