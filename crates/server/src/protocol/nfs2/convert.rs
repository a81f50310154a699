//! Between the words of the file system and those of version 2.

use crate::memfs::{Attr, FileId, FileKind, FsError, SetAttr, SetTime, SpecialKind};
use crate::protocol::convert;
use filermark_onc::nfs2::{FHSIZE, FILE_BYTES_MAX, Fattr, Fhandle, Ftype, Nfsstat, Sattr, Timeval};
use filermark_onc::nfs3::{FileHandle, Nfsstat3};

/// Size of a block in attributes and STATFS, in bytes: what the file system charges by.
pub(super) const BLOCK: u32 = 4096;
/// Unit of `blocks` in attributes, in bytes: clients on Unix take it for `st_blocks`, whatever
/// `blocksize` says.
const BLOCKS_UNIT: u64 = 512;
/// Device number of what has none; with the type of a character device it means a FIFO.
const NO_DEVICE: u32 = u32::MAX;
/// "useconds" of mtime by which SETATTR requests the server's clock for both times: Sun's convention.
const SERVER_TIME: u32 = 1_000_000;
/// Where the kind of a file is in `mode`.
const KIND_BITS: u32 = 0o170_000;

/// A handle of 32 bytes: version 3's with zeros behind it.
pub(super) fn wide_handle(id: FileId) -> [u8; FHSIZE] {
    widen(&convert::handle(id))
}

/// Any handle of version 3's length with zeros behind it.
pub(in crate::protocol) fn widen(handle: &[u8; convert::HANDLE]) -> [u8; FHSIZE] {
    let mut wide = [0; FHSIZE];
    wide[..convert::HANDLE].copy_from_slice(handle);
    wide
}

/// Reads a handle. Version 2 has no BADHANDLE: what we never gave out is stale.
pub(super) fn file_id(handle: &Fhandle<'_>) -> Result<FileId, Nfsstat> {
    let handle = FileHandle::new(handle.as_bytes()).ok_or(Nfsstat::Stale)?;
    convert::file_id(&handle).map_err(|_| Nfsstat::Stale)
}

/// The nearest status of version 2; `None` for JUKEBOX, which is to be answered by silence. What is mapped
/// is what Linux's server maps; what that sends though version 2 does not have it is NFSERR_IO here.
pub(in crate::protocol) fn status(status: Nfsstat3) -> Option<Nfsstat> {
    Some(match status {
        Nfsstat3::Jukebox => return None,
        Nfsstat3::Badhandle => Nfsstat::Stale,
        Nfsstat3::Xdev => Nfsstat::Acces,
        known => match Nfsstat::from_u32(known.to_u32()) {
            Nfsstat::Unknown(_) => Nfsstat::Io,
            same => same,
        },
    })
}

pub(super) fn failed(error: FsError) -> Nfsstat {
    status(convert::status(error)).unwrap_or(Nfsstat::Io)
}

fn time(ns: u64) -> Timeval {
    Timeval {
        seconds: (ns / convert::NS) as u32,
        useconds: (ns % convert::NS / 1000) as u32,
    }
}

fn kind(kind: FileKind) -> (Ftype, u32) {
    match kind {
        FileKind::Regular => (Ftype::Reg, 0o100_000),
        FileKind::Directory => (Ftype::Dir, 0o040_000),
        FileKind::BlockDevice => (Ftype::Blk, 0o060_000),
        FileKind::CharDevice => (Ftype::Chr, 0o020_000),
        FileKind::Symlink => (Ftype::Lnk, 0o120_000),
        FileKind::Socket => (Ftype::Sock, 0o140_000),
        // The RFC has no type for it; servers and clients agree on a character device without number.
        FileKind::Fifo => (Ftype::Chr, 0o010_000),
    }
}

/// A device number in 32 bits, as Linux's clients and servers write it.
fn device((major, minor): (u32, u32)) -> u32 {
    (minor & 0xff) | ((major & 0xfff) << 8) | ((minor & !0xff) << 12)
}

fn parts_of(device: u32) -> (u32, u32) {
    (
        (device >> 8) & 0xfff,
        (device & 0xff) | ((device >> 12) & 0xf_ff00),
    )
}

/// Attributes in 32 bits: what is larger shows as the largest number there is.
pub(in crate::protocol) fn attr(attr: &Attr, fsid: u64) -> Fattr {
    let (ftype, kind_bits) = kind(attr.kind);
    let is_device = matches!(attr.kind, FileKind::BlockDevice | FileKind::CharDevice);
    let blocks = attr.used.div_ceil(BLOCKS_UNIT);
    Fattr {
        ftype,
        mode: kind_bits | (attr.mode & 0o7777),
        nlink: attr.nlink,
        uid: attr.uid,
        gid: attr.gid,
        size: attr.size.min(FILE_BYTES_MAX) as u32,
        blocksize: BLOCK,
        rdev: if is_device {
            device(attr.rdev)
        } else {
            NO_DEVICE
        },
        blocks: clamp(blocks),
        fsid: (fsid ^ (fsid >> 32)) as u32,
        fileid: attr.fileid as u32,
        atime: time(attr.atime_ns),
        mtime: time(attr.mtime_ns),
        ctime: time(attr.ctime_ns),
    }
}

pub(super) fn clamp(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// What SETATTR, CREATE and MKDIR are to set.
pub(super) fn set_attr(set: &Sattr) -> Result<SetAttr, Nfsstat> {
    let some = |word: u32| (word != Sattr::KEEP).then_some(word);
    let time = |time: Timeval| match (some(time.seconds), some(time.useconds)) {
        (Some(seconds), Some(useconds)) => SetTime::To(
            u64::from(seconds) * convert::NS + u64::from(useconds.min(SERVER_TIME - 1)) * 1000,
        ),
        _ => SetTime::Keep,
    };
    let size = some(set.size).map(u64::from);
    if size.is_some_and(|size| size > FILE_BYTES_MAX) {
        return Err(Nfsstat::Fbig);
    }
    let (mut atime, mut mtime) = (time(set.atime), time(set.mtime));
    if set.mtime.useconds == SERVER_TIME {
        (atime, mtime) = (SetTime::Now, SetTime::Now);
    }
    Ok(SetAttr {
        // Old clients have 16 bits of -1.
        mode: some(set.mode)
            .filter(|mode| *mode != 0xffff)
            .map(|mode| mode & 0o7777),
        uid: some(set.uid),
        gid: some(set.gid),
        size,
        atime,
        mtime,
    })
}

/// The special file that CREATE is to make, if any: version 2 has no MKNOD, so the kind is in the mode
/// and the device number in the size.
pub(super) fn special(set: &Sattr) -> Option<SpecialKind> {
    if set.mode == Sattr::KEEP {
        return None;
    }
    let (major, minor) = parts_of(set.size);
    match set.mode & KIND_BITS {
        0o010_000 => Some(SpecialKind::Fifo),
        0o020_000 if set.size == NO_DEVICE => Some(SpecialKind::Fifo),
        0o020_000 => Some(SpecialKind::CharDevice(major, minor)),
        0o060_000 => Some(SpecialKind::BlockDevice(major, minor)),
        0o140_000 => Some(SpecialKind::Socket),
        _ => None,
    }
}
