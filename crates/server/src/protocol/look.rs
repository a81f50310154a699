//! The procedures that only look, listings apart.

use super::convert::{attr, file_id, handle, status};
use super::nfs::Context;
use super::put;
use crate::memfs::{FileId, FsError, LINK_MAX, MAX_FILE_SIZE, NAME_MAX, Rights};
use filermark_onc::nfs3::{
    AccessArgs, AccessOk, AccessRes, DirAttr, Failed, FileHandle, FsinfoArgs, FsinfoOk, FsinfoRes,
    FsstatArgs, FsstatOk, FsstatRes, GetattrArgs, GetattrOk, GetattrRes, LookupArgs, LookupOk,
    LookupRes, Nfsstat3, Nfstime3, ObjAttr, PathconfArgs, PathconfOk, PathconfRes, PostOpAttr,
    ReadArgs, ReadRes, ReadlinkArgs, ReadlinkOk, ReadlinkRes, access as bits, fsf,
};
use filermark_onc::xdr::Encoder;

/// Preferred size of a directory listing, in bytes.
pub(super) const DTPREF: u32 = 64 * 1024;
/// Granularity that reads and writes should have, in bytes.
const TRANSFER_MULTIPLE: u32 = 4096;
const FRONT_OF_READ: usize = 4 + (4 + 84) + 4 + 4 + 4;

impl Context<'_> {
    pub(super) fn post(&self, attributes: Option<crate::memfs::Attr>) -> PostOpAttr {
        attributes.map(|a| attr(&a, self.shared.fsid))
    }

    fn obj_failed(&self, error: FsError, a: Option<crate::memfs::Attr>) -> Failed<ObjAttr> {
        Failed {
            status: status(error),
            info: ObjAttr {
                obj_attributes: self.post(a),
            },
        }
    }

    /// The attributes that FSINFO and PATHCONF return beside figures of their own.
    fn post_of(&self, fh: &FileHandle<'_>) -> Result<PostOpAttr, Failed<ObjAttr>> {
        let id = file_id(fh).map_err(Failed::new)?;
        let found = self
            .shared
            .fs
            .getattr(id)
            .map_err(|error| self.obj_failed(error, None))?;
        Ok(self.post(Some(found)))
    }
}

pub(super) fn getattr(cx: &Context<'_>, args: &GetattrArgs<'_>) -> GetattrRes {
    let id = file_id(&args.object).map_err(Failed::new)?;
    match cx.shared.fs.getattr(id) {
        Ok(found) => Ok(GetattrOk {
            obj_attributes: attr(&found, cx.shared.fsid),
        }),
        Err(error) => Err(Failed::new(status(error))),
    }
}

pub(super) fn lookup(cx: &Context<'_>, args: &LookupArgs<'_>, out: &mut Vec<u8>) {
    let dir = match file_id(&args.what.dir) {
        Ok(dir) => dir,
        Err(status) => return put(out, &LookupRes::Err(Failed::new(status))),
    };
    let (dir_attr, found) = cx.shared.fs.lookup(dir, args.what.name, &cx.caller.cred());
    let dir_attributes = cx.post(dir_attr);
    match found {
        Ok(found) => with_handle(found.id, |object| {
            let obj_attributes = cx.post(Some(found.attr));
            put(
                out,
                &LookupRes::Ok(LookupOk {
                    object,
                    obj_attributes,
                    dir_attributes,
                }),
            );
        }),
        Err(error) => {
            let info = DirAttr { dir_attributes };
            put(
                out,
                &LookupRes::Err(Failed {
                    status: status(error),
                    info,
                }),
            );
        }
    }
}

/// Lends the handle of `id`. (Handles of ours are always short enough.)
pub(super) fn with_handle(id: FileId, body: impl FnOnce(FileHandle<'_>)) {
    if let Some(handle) = FileHandle::new(&handle(id)) {
        body(handle);
    }
}

fn access_bits(rights: Rights) -> u32 {
    let mut granted = 0;
    let mut grant = |yes: bool, bits: u32| granted |= if yes { bits } else { 0 };
    grant(rights.read, bits::READ);
    grant(rights.write, bits::MODIFY | bits::EXTEND);
    grant(rights.write && rights.directory, bits::DELETE);
    grant(
        rights.execute,
        if rights.directory {
            bits::LOOKUP
        } else {
            bits::EXECUTE
        },
    );
    granted
}

pub(super) fn access(cx: &Context<'_>, args: &AccessArgs<'_>) -> AccessRes {
    let id = file_id(&args.object).map_err(Failed::new)?;
    let (found, rights) = cx.shared.fs.access(id, &cx.caller.cred());
    let rights = rights.map_err(|error| cx.obj_failed(error, found))?;
    let access = args.access & access_bits(rights);
    Ok(AccessOk {
        obj_attributes: cx.post(found),
        access,
    })
}

pub(super) fn readlink(cx: &Context<'_>, args: &ReadlinkArgs<'_>, out: &mut Vec<u8>) {
    let id = match file_id(&args.symlink) {
        Ok(id) => id,
        Err(status) => return put(out, &ReadlinkRes::Err(Failed::new(status))),
    };
    match cx.shared.fs.readlink(id) {
        (found, Ok(target)) => {
            let symlink_attributes = cx.post(found);
            put(
                out,
                &ReadlinkRes::Ok(ReadlinkOk {
                    symlink_attributes,
                    data: &target,
                }),
            );
        }
        (found, Err(error)) => put(out, &ReadlinkRes::Err(cx.obj_failed(error, found))),
    }
}

/// The data goes from the file into the reply in one copy: behind a gap for the fields
/// in front, which are known only afterwards.
pub(super) fn read(cx: &mut Context<'_>, args: &ReadArgs<'_>, out: &mut Vec<u8>) {
    let id = match file_id(&args.file) {
        Ok(id) => id,
        Err(status) => return put(out, &ReadRes::Err(Failed::new(status))),
    };
    let wanted = args.count.min(cx.options.rtmax);
    let count = wanted.min(cx.shared.faults.short.unwrap_or(u32::MAX));
    let gap = out.len();
    out.resize(gap + FRONT_OF_READ, 0);
    let data = out.len();
    let fs = &cx.shared.fs;
    let (found, end) = fs.read_file(id, args.offset, count, &cx.caller.cred(), out);
    match (found, end) {
        (Some(found), Ok(end)) => {
            out.resize(data + (end.count as usize).next_multiple_of(4), 0);
            let front = &mut *cx.scratch;
            front.clear();
            let mut e = Encoder::new(front);
            e.put(&Nfsstat3::Ok);
            e.put(&Some(attr(&found, cx.shared.fsid)));
            e.u32(end.count);
            e.bool(end.eof);
            e.u32(end.count);
            out[gap..data].copy_from_slice(front);
            cx.counters.bytes_read.add(u64::from(end.count));
            cx.counters
                .transfers_cut
                .add(u64::from(end.count < wanted && !end.eof));
        }
        (found, end) => {
            out.truncate(gap);
            let error = end.err().unwrap_or(FsError::Stale);
            put(out, &ReadRes::Err(cx.obj_failed(error, found)));
        }
    }
}

pub(super) fn fsstat(cx: &Context<'_>, args: &FsstatArgs<'_>) -> FsstatRes {
    let id = file_id(&args.fsroot).map_err(Failed::new)?;
    let (found, stat) = cx.shared.fs.fsstat(id);
    let stat = stat.map_err(|error| cx.obj_failed(error, found))?;
    Ok(FsstatOk {
        obj_attributes: cx.post(found),
        tbytes: stat.total_bytes,
        fbytes: stat.free_bytes,
        abytes: stat.free_bytes,
        tfiles: stat.total_files,
        ffiles: stat.free_files,
        afiles: stat.free_files,
        invarsec: 0,
    })
}

pub(super) fn fsinfo_of(options: &crate::ServerOptions, obj_attributes: PostOpAttr) -> FsinfoOk {
    FsinfoOk {
        obj_attributes,
        rtmax: options.rtmax,
        rtpref: options.rtpref,
        rtmult: TRANSFER_MULTIPLE.min(options.rtpref),
        wtmax: options.wtmax,
        wtpref: options.wtpref,
        wtmult: TRANSFER_MULTIPLE.min(options.wtpref),
        dtpref: DTPREF,
        maxfilesize: MAX_FILE_SIZE,
        time_delta: Nfstime3 {
            seconds: 0,
            nseconds: 1,
        },
        properties: fsf::LINK | fsf::SYMLINK | fsf::HOMOGENEOUS | fsf::CANSETTIME,
    }
}

pub(super) fn fsinfo(cx: &Context<'_>, args: &FsinfoArgs<'_>) -> FsinfoRes {
    Ok(fsinfo_of(cx.options, cx.post_of(&args.fsroot)?))
}

pub(super) fn pathconf_of(obj_attributes: PostOpAttr) -> PathconfOk {
    PathconfOk {
        obj_attributes,
        linkmax: LINK_MAX,
        name_max: NAME_MAX as u32,
        no_trunc: true,
        chown_restricted: true,
        case_insensitive: false,
        case_preserving: true,
    }
}

pub(super) fn pathconf(cx: &Context<'_>, args: &PathconfArgs<'_>) -> PathconfRes {
    Ok(pathconf_of(cx.post_of(&args.object)?))
}
