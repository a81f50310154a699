//! NFSv2 seen as NFSv3: its statuses, attributes and results in the types of version 3, so
//! that everything above the wire is written once. What version 2 does not return is
//! filled in with what follows from it; each function documents what.
//!
//! It has no sockets and no state.

use filermark_model::plan::NfsVersion;
use filermark_onc::nfs2::{self, FHSIZE, FILE_BYTES_MAX, Fhandle, MAXDATA, Sattr};
use filermark_onc::nfs3::{
    CreateOk, CreateRes, DirWcc, Failed, Fattr3, FileHandle, FileWcc, FsinfoOk, FsstatOk,
    FsstatRes, Ftype3, GetattrOk, GetattrRes, LinkRes, LinkWcc, LookupOk, LookupRes, Nfsstat3,
    Nfstime3, ObjWcc, Procedure, ReadOk, ReadRes, ReadlinkOk, ReadlinkRes, RemoveRes, RenameRes,
    RenameWcc, Res, Sattr3, SetTime, SetattrRes, Specdata3, StableHow, WccData, WriteOk, WriteRes,
};
use filermark_onc::nfs4::Nfsstat4;

/// The largest READ and WRITE of version 2, in bytes.
pub(crate) const TRANSFER_BYTES_MAX: u32 = MAXDATA as u32;

/// A handle on the wire; one that is not of version 2 (which nothing of ours makes) is
/// sent as zeros, which the server refuses.
pub(crate) fn wire(handle: FileHandle<'_>) -> Fhandle<'_> {
    const NONE: &[u8; FHSIZE] = &[0; FHSIZE];
    Fhandle::from_slice(handle.as_bytes()).unwrap_or(Fhandle::new(NONE))
}

/// The numbers are those of version 3 wherever both have one.
pub(crate) fn status(status: nfs2::Nfsstat) -> Nfsstat3 {
    Nfsstat3::from_u32(status.to_u32())
}

fn failed<O, F: Default>(why: nfs2::Nfsstat) -> Res<O, F> {
    Err(Failed::new(status(why)))
}

/// A status as the version calls it.
pub(crate) fn status_text(version: NfsVersion, status: Nfsstat3) -> String {
    match version {
        NfsVersion::V2 => nfs2::Nfsstat::from_u32(status.to_u32()).to_string(),
        NfsVersion::V3 => status.to_string(),
        NfsVersion::V40 | NfsVersion::V41 | NfsVersion::V42 => {
            Nfsstat4::from_u32(status.to_u32()).to_string()
        }
    }
}

/// A procedure as the version calls it.
pub(crate) const fn procedure_name(version: NfsVersion, procedure: Procedure) -> &'static str {
    match (version, procedure) {
        (NfsVersion::V2, Procedure::Fsstat) => nfs2::Procedure::Statfs.name(),
        _ => procedure.name(),
    }
}

/// The attributes of SETATTR and CREATE. Sizes that version 2 cannot represent become its
/// largest; a time of the server's is sent as in RFC 1094's successors: mtime's
/// microseconds are a million (X/Open's XNFS), which servers know. That means both times,
/// and in atime alone it would be no time at all: so the server's clock for either is the
/// server's clock for both.
pub(crate) fn sattr(attributes: &Sattr3) -> Sattr {
    const SERVER_TIME: nfs2::Timeval = nfs2::Timeval {
        seconds: 0,
        useconds: 1_000_000,
    };
    let by_server = [attributes.atime, attributes.mtime].contains(&SetTime::ServerTime);
    let time = |time| match time {
        _ if by_server => SERVER_TIME,
        SetTime::DontChange | SetTime::ServerTime => nfs2::Timeval::KEEP,
        SetTime::ClientTime(at) => nfs2::Timeval {
            seconds: at.seconds,
            useconds: at.nseconds / 1_000,
        },
    };
    Sattr {
        mode: attributes.mode.unwrap_or(Sattr::KEEP),
        uid: attributes.uid.unwrap_or(Sattr::KEEP),
        gid: attributes.gid.unwrap_or(Sattr::KEEP),
        size: attributes
            .size
            .map_or(Sattr::KEEP, |size| size.min(FILE_BYTES_MAX) as u32),
        atime: time(attributes.atime),
        mtime: time(attributes.mtime),
    }
}

/// Attributes. Kinds that version 3 has no name for become regular files; the space
/// taken is blocks of 512 bytes, as servers on Unix count whatever `blocksize` says.
pub(crate) fn fattr(a: &nfs2::Fattr) -> Fattr3 {
    const BLOCK_BYTES: u64 = 512;
    let time = |t: nfs2::Timeval| Nfstime3 {
        seconds: t.seconds,
        nseconds: t.useconds.saturating_mul(1_000),
    };
    Fattr3 {
        ftype: match a.ftype {
            nfs2::Ftype::Dir => Ftype3::Dir,
            nfs2::Ftype::Blk => Ftype3::Blk,
            nfs2::Ftype::Chr => Ftype3::Chr,
            nfs2::Ftype::Lnk => Ftype3::Lnk,
            nfs2::Ftype::Sock => Ftype3::Sock,
            nfs2::Ftype::Fifo => Ftype3::Fifo,
            nfs2::Ftype::Reg | nfs2::Ftype::Non | nfs2::Ftype::Bad => Ftype3::Reg,
        },
        // Version 2 has the kind in the mode too, version 3 the permissions alone.
        mode: a.mode & 0o7777,
        nlink: a.nlink,
        uid: a.uid,
        gid: a.gid,
        size: a.size.into(),
        used: u64::from(a.blocks) * BLOCK_BYTES,
        rdev: Specdata3 {
            specdata1: a.rdev >> 8,
            specdata2: a.rdev & 0xff,
        },
        fsid: a.fsid.into(),
        fileid: a.fileid.into(),
        atime: time(a.atime),
        mtime: time(a.mtime),
        ctime: time(a.ctime),
    }
}

/// Attributes after an operation; none before it.
fn wcc(attributes: &nfs2::Fattr) -> WccData {
    WccData {
        before: None,
        after: Some(fattr(attributes)),
    }
}

/// GETATTR.
pub(crate) fn getattr(results: nfs2::AttrstatRes) -> GetattrRes {
    match results {
        Ok(ok) => Ok(GetattrOk {
            obj_attributes: fattr(&ok.attributes),
        }),
        Err(why) => failed(why),
    }
}

/// SETATTR.
pub(crate) fn setattr(results: nfs2::AttrstatRes) -> SetattrRes {
    match results {
        Ok(ok) => Ok(ObjWcc {
            obj_wcc: wcc(&ok.attributes),
        }),
        Err(why) => failed(why),
    }
}

/// LOOKUP.
pub(crate) fn lookup(results: nfs2::DiropRes<'_>) -> LookupRes<'_> {
    match results {
        Ok(ok) => Ok(LookupOk {
            object: ok.file.into(),
            obj_attributes: Some(fattr(&ok.attributes)),
            dir_attributes: None,
        }),
        Err(why) => failed(why),
    }
}

/// READLINK.
pub(crate) fn readlink(results: nfs2::ReadlinkRes<'_>) -> ReadlinkRes<'_> {
    match results {
        Ok(ok) => Ok(ReadlinkOk {
            symlink_attributes: None,
            data: ok.data,
        }),
        Err(why) => failed(why),
    }
}

/// READ from `offset`: the end of the file is where its size says.
pub(crate) fn read(results: nfs2::ReadRes<'_>, offset: u64) -> ReadRes<'_> {
    match results {
        Ok(ok) => Ok(ReadOk {
            file_attributes: Some(fattr(&ok.attributes)),
            count: ok.data.len() as u32,
            eof: offset + ok.data.len() as u64 >= u64::from(ok.attributes.size),
            data: ok.data,
        }),
        Err(why) => failed(why),
    }
}

/// WRITE of `count` bytes: version 2 takes all of them and keeps them safe, or fails.
pub(crate) fn write(results: nfs2::AttrstatRes, count: u32) -> WriteRes {
    match results {
        Ok(ok) => Ok(WriteOk {
            file_wcc: wcc(&ok.attributes),
            count,
            committed: StableHow::FileSync,
            verf: [0; 8],
        }),
        Err(why) => Err(Failed {
            status: status(why),
            info: FileWcc::default(),
        }),
    }
}

/// CREATE and MKDIR.
pub(crate) fn create(results: nfs2::DiropRes<'_>) -> CreateRes<'_> {
    match results {
        Ok(ok) => Ok(CreateOk {
            obj: Some(ok.file.into()),
            obj_attributes: Some(fattr(&ok.attributes)),
            dir_wcc: WccData::default(),
        }),
        Err(why) => failed(why),
    }
}

/// SYMLINK, which gives no handle.
pub(crate) fn symlink(results: nfs2::StatRes) -> CreateRes<'static> {
    match results {
        Ok(()) => Ok(CreateOk {
            obj: None,
            obj_attributes: None,
            dir_wcc: WccData::default(),
        }),
        Err(why) => failed(why),
    }
}

/// REMOVE and RMDIR.
pub(crate) fn remove(results: nfs2::StatRes) -> RemoveRes {
    results.map_or_else(failed, |()| Ok(DirWcc::default()))
}

/// RENAME.
pub(crate) fn rename(results: nfs2::StatRes) -> RenameRes {
    results.map_or_else(failed, |()| Ok(RenameWcc::default()))
}

/// LINK.
pub(crate) fn link(results: nfs2::StatRes) -> LinkRes {
    results.map_or_else(failed, |()| Ok(LinkWcc::default()))
}

/// STATFS: blocks as bytes; it does not return the number of files.
pub(crate) fn statfs(results: nfs2::StatfsRes) -> FsstatRes {
    let ok = match results {
        Ok(ok) => ok,
        Err(why) => return failed(why),
    };
    let bytes = |blocks: u32| u64::from(blocks) * u64::from(ok.bsize);
    Ok(FsstatOk {
        obj_attributes: None,
        tbytes: bytes(ok.blocks),
        fbytes: bytes(ok.bfree),
        abytes: bytes(ok.bavail),
        tfiles: 0,
        ffiles: 0,
        afiles: 0,
        invarsec: 0,
    })
}

/// What FSINFO would say: 8 KB transfers, or fewer where STATFS prefers fewer.
pub(crate) fn fsinfo(statfs: &nfs2::StatfsOk, root: Option<Fattr3>) -> FsinfoOk {
    let preferred = match statfs.tsize {
        0 => TRANSFER_BYTES_MAX,
        tsize => tsize.min(TRANSFER_BYTES_MAX),
    };
    FsinfoOk {
        obj_attributes: root,
        rtmax: TRANSFER_BYTES_MAX,
        rtpref: preferred,
        rtmult: 512,
        wtmax: TRANSFER_BYTES_MAX,
        wtpref: preferred,
        wtmult: 512,
        dtpref: TRANSFER_BYTES_MAX,
        maxfilesize: FILE_BYTES_MAX,
        time_delta: Nfstime3 {
            seconds: 0,
            nseconds: 1_000,
        },
        properties: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_clock_for_one_time_is_the_servers_clock_for_both() {
        let times = |atime, mtime| {
            let set = sattr(&Sattr3 {
                atime,
                mtime,
                ..Sattr3::default()
            });
            (set.atime, set.mtime)
        };
        let time = |seconds, useconds| nfs2::Timeval { seconds, useconds };
        let (server, keep) = (time(0, 1_000_000), nfs2::Timeval::KEEP);
        let at = SetTime::ClientTime(Nfstime3 {
            seconds: 5,
            nseconds: 7_999,
        });
        for other in [SetTime::DontChange, SetTime::ServerTime, at] {
            assert_eq!(times(SetTime::ServerTime, other), (server, server));
            assert_eq!(times(other, SetTime::ServerTime), (server, server));
        }
        assert_eq!(times(at, SetTime::DontChange), (time(5, 7), keep));
        assert_eq!(times(SetTime::DontChange, at), (keep, time(5, 7)));
    }
}
