//! The procedures that only look, listings apart: in the file system, and canned.

use super::answer::{Refusal, put, reply};
use super::context::Context;
use super::convert::{attr, file_id, handle, status};
use super::nfs::Served;
use super::null::{Request, runs, sample};
use crate::memfs::{FileId, FsError, LINK_MAX, MAX_FILE_SIZE, NAME_MAX, Rights};
use crate::options::ServerOptions;
use filermark_onc::nfs3::access as bits;
use filermark_onc::nfs3::*;

/// Preferred size of a directory listing, in bytes.
const DTPREF: u32 = 64 * 1024;
/// Granularity that reads and writes should have, in bytes.
const TRANSFER_MULTIPLE: u32 = 4096;

impl Context<'_> {
    pub(super) fn post(&self, attributes: Option<crate::memfs::Attr>) -> PostOpAttr {
        attributes.map(|a| attr(&a, self.shared.fsid))
    }

    pub(super) fn obj_failed(
        &self,
        error: FsError,
        a: Option<crate::memfs::Attr>,
    ) -> Failed<ObjAttr> {
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

impl Served for GetattrArgs<'_> {
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &getattr(cx, self));
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        let obj_attributes = sample::attributes(Ftype3::Reg);
        put(out, &GetattrRes::Ok(GetattrOk { obj_attributes }));
    }

    #[inline]
    fn canned(request: &mut Request<'_, '_>) -> Result<bool, Refusal> {
        let args: GetattrArgs<'_> = request.args()?;
        let Some(block) = request.replies.getattr(&args.object) else {
            return Ok(false);
        };
        request.copy(block);
        Ok(true)
    }
}

fn getattr(cx: &Context<'_>, args: &GetattrArgs<'_>) -> GetattrRes {
    let id = file_id(&args.object).map_err(Failed::new)?;
    match cx.shared.fs.getattr(id) {
        Ok(found) => Ok(GetattrOk {
            obj_attributes: attr(&found, cx.shared.fsid),
        }),
        Err(error) => Err(Failed::new(status(error))),
    }
}

impl Served for LookupArgs<'_> {
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        lookup(cx, self, out);
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        put_canned(Ok((Ftype3::Reg, 0)), out);
    }

    #[inline]
    fn canned(request: &mut Request<'_, '_>) -> Result<bool, Refusal> {
        let args: LookupArgs<'_> = request.args()?;
        let Some(named) = runs::named_in(&args.what) else {
            return Ok(false);
        };
        let found = request.replies.runs.find(named);
        reply(request.out, request.xid, |out| put_canned(found, out));
        Ok(true)
    }
}

/// LOOKUP's canned results: what a name means, with its run.
fn put_canned(found: Result<(Ftype3, u64), Nfsstat3>, out: &mut Vec<u8>) {
    let dir_attributes = Some(sample::attributes(Ftype3::Dir));
    match found {
        Ok((kind, id)) => {
            let fh = runs::handle_of(kind, id);
            let Some(object) = FileHandle::new(&fh) else {
                return;
            };
            let found = LookupOk {
                object,
                obj_attributes: Some(sample::attributes(kind)),
                dir_attributes,
            };
            put(out, &LookupRes::Ok(found));
        }
        Err(status) => {
            let info = DirAttr { dir_attributes };
            put(out, &LookupRes::Err(Failed { status, info }));
        }
    }
}

fn lookup(cx: &Context<'_>, args: &LookupArgs<'_>, out: &mut Vec<u8>) {
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

pub(super) fn access_bits(rights: Rights) -> u32 {
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

impl Served for AccessArgs<'_> {
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &access(cx, self));
    }

    fn prepared(_: &ServerOptions, _: &mut Vec<u8>) {}

    #[inline]
    fn canned(request: &mut Request<'_, '_>) -> Result<bool, Refusal> {
        let access = request.args::<AccessArgs<'_>>()?.access;
        let obj_attributes = Some(sample::attributes(Ftype3::Dir));
        request.reply(&AccessRes::Ok(AccessOk {
            obj_attributes,
            access,
        }));
        Ok(true)
    }
}

fn access(cx: &Context<'_>, args: &AccessArgs<'_>) -> AccessRes {
    let id = file_id(&args.object).map_err(Failed::new)?;
    let (found, rights) = cx.shared.fs.access(id, &cx.caller.cred());
    let rights = rights.map_err(|error| cx.obj_failed(error, found))?;
    let access = args.access & access_bits(rights);
    Ok(AccessOk {
        obj_attributes: cx.post(found),
        access,
    })
}

impl Served for ReadlinkArgs<'_> {
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        readlink(cx, self, out);
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        let target = ReadlinkOk {
            symlink_attributes: Some(sample::attributes(Ftype3::Lnk)),
            data: b"target",
        };
        put(out, &ReadlinkRes::Ok(target));
    }
}

fn readlink(cx: &Context<'_>, args: &ReadlinkArgs<'_>, out: &mut Vec<u8>) {
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

impl Served for FsstatArgs<'_> {
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &fsstat(cx, self));
    }

    fn prepared(options: &ServerOptions, out: &mut Vec<u8>) {
        let space = FsstatOk {
            obj_attributes: Some(sample::attributes(Ftype3::Dir)),
            tbytes: options.capacity_bytes,
            fbytes: options.capacity_bytes,
            abytes: options.capacity_bytes,
            tfiles: options.max_files,
            ffiles: options.max_files,
            afiles: options.max_files,
            invarsec: 0,
        };
        put(out, &FsstatRes::Ok(space));
    }
}

fn fsstat(cx: &Context<'_>, args: &FsstatArgs<'_>) -> FsstatRes {
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

impl Served for FsinfoArgs<'_> {
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &fsinfo(cx, self));
    }

    fn prepared(options: &ServerOptions, out: &mut Vec<u8>) {
        let dir = Some(sample::attributes(Ftype3::Dir));
        put(out, &FsinfoRes::Ok(fsinfo_of(options, dir)));
    }
}

fn fsinfo_of(options: &ServerOptions, obj_attributes: PostOpAttr) -> FsinfoOk {
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

fn fsinfo(cx: &Context<'_>, args: &FsinfoArgs<'_>) -> FsinfoRes {
    Ok(fsinfo_of(cx.options, cx.post_of(&args.fsroot)?))
}

impl Served for PathconfArgs<'_> {
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &pathconf(cx, self));
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        let file = Some(sample::attributes(Ftype3::Reg));
        put(out, &PathconfRes::Ok(pathconf_of(file)));
    }
}

fn pathconf_of(obj_attributes: PostOpAttr) -> PathconfOk {
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

fn pathconf(cx: &Context<'_>, args: &PathconfArgs<'_>) -> PathconfRes {
    Ok(pathconf_of(cx.post_of(&args.object)?))
}
