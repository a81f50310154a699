//! The procedures that change names and attributes: in the file system, and canned.

use super::answer::{Refusal, put, reply};
use super::context::Context;
use super::convert::{create_how, file_id, ns, set_attr, status, wcc};
use super::nfs::Served;
use super::null::runs::{self, NameMeaning};
use super::null::{Request, sample};
use super::read_attributes::with_handle;
use crate::memfs::{Changed, DirEntryName, FileId, ObjectAttr, SpecialKind};
use crate::options::ServerOptions;
use filermark_onc::nfs3::*;

impl Served for SetattrArgs<'_> {
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &setattr(cx, self));
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        let obj_wcc = sample::wcc(Ftype3::Reg);
        put(out, &SetattrRes::Ok(ObjWcc { obj_wcc }));
    }
}

fn setattr(cx: &Context<'_>, args: &SetattrArgs<'_>) -> SetattrRes {
    let id = file_id(&args.object).map_err(Failed::new)?;
    let (set, guard) = (set_attr(&args.new_attributes), args.guard.map(ns));
    let done = cx.shared.fs.setattr(id, &set, guard, &cx.caller.cred());
    let info = ObjWcc {
        obj_wcc: wcc(&done.wcc, cx.shared.fsid),
    };
    done.result.map(|()| info).map_err(|error| Failed {
        status: status(error),
        info,
    })
}

/// The part that CREATE, MKDIR, SYMLINK and MKNOD have in common.
fn make(
    cx: &Context<'_>,
    dir: &FileHandle<'_>,
    out: &mut Vec<u8>,
    body: impl FnOnce(FileId) -> Changed<ObjectAttr>,
) {
    let dir = match file_id(dir) {
        Ok(dir) => dir,
        Err(status) => return put(out, &CreateRes::Err(Failed::new(status))),
    };
    let made = body(dir);
    let dir_wcc = wcc(&made.wcc, cx.shared.fsid);
    match made.result {
        Ok(found) => with_handle(found.id, |fh| {
            let obj_attributes = cx.post(Some(found.attr));
            put(
                out,
                &CreateRes::Ok(CreateOk {
                    obj: Some(fh),
                    obj_attributes,
                    dir_wcc,
                }),
            );
        }),
        Err(error) => {
            let info = DirWcc { dir_wcc };
            put(
                out,
                &CreateRes::Err(Failed {
                    status: status(error),
                    info,
                }),
            );
        }
    }
}

/// The canned results of the same four: what was made, with its run.
fn put_canned(made: Result<(Ftype3, u64), Nfsstat3>, out: &mut Vec<u8>) {
    let dir_wcc = sample::wcc(Ftype3::Dir);
    match made {
        Ok((kind, id)) => {
            let fh = runs::handle_of(kind, id);
            let made = CreateOk {
                obj: FileHandle::new(&fh),
                obj_attributes: Some(sample::attributes(kind)),
                dir_wcc,
            };
            put(out, &CreateRes::Ok(made));
        }
        Err(status) => {
            let info = DirWcc { dir_wcc };
            put(out, &CreateRes::Err(Failed { status, info }));
        }
    }
}

impl Served for CreateArgs<'_> {
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        create(cx, self, out);
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        put_canned(Ok((Ftype3::Reg, 0)), out);
    }

    #[inline]
    fn canned(request: &mut Request<'_, '_>) -> Result<bool, Refusal> {
        let args: CreateArgs<'_> = request.args()?;
        let Some(NameMeaning::Marker(id)) = runs::named_in(&args.location) else {
            return Ok(false);
        };
        let made = request.replies.runs.make_marker(id, &args.how);
        reply(request.out, request.xid, |out| put_canned(made, out));
        Ok(true)
    }
}

fn create(cx: &Context<'_>, args: &CreateArgs<'_>, out: &mut Vec<u8>) {
    make(cx, &args.location.dir, out, |dir| {
        cx.shared.fs.create(
            dir,
            args.location.name,
            &create_how(&args.how),
            &cx.caller.cred(),
        )
    });
}

impl Served for MkdirArgs<'_> {
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        mkdir(cx, self, out);
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        put_canned(Ok((Ftype3::Dir, 0)), out);
    }

    #[inline]
    fn canned(request: &mut Request<'_, '_>) -> Result<bool, Refusal> {
        let args: MkdirArgs<'_> = request.args()?;
        let Some(NameMeaning::Run(name)) = runs::named_in(&args.location) else {
            return Ok(false);
        };
        let made = request.replies.runs.make_dir(name);
        reply(request.out, request.xid, |out| put_canned(made, out));
        Ok(true)
    }
}

fn mkdir(cx: &Context<'_>, args: &MkdirArgs<'_>, out: &mut Vec<u8>) {
    make(cx, &args.location.dir, out, |dir| {
        let set = set_attr(&args.attributes);
        cx.shared
            .fs
            .mkdir(dir, args.location.name, &set, &cx.caller.cred())
    });
}

impl Served for SymlinkArgs<'_> {
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        symlink(cx, self, out);
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        put_canned(Ok((Ftype3::Lnk, 0)), out);
    }
}

fn symlink(cx: &Context<'_>, args: &SymlinkArgs<'_>, out: &mut Vec<u8>) {
    make(cx, &args.location.dir, out, |dir| {
        let (name, set) = (args.location.name, set_attr(&args.symlink_attributes));
        cx.shared
            .fs
            .symlink(dir, name, args.symlink_data, &set, &cx.caller.cred())
    });
}

impl Served for MknodArgs<'_> {
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        mknod(cx, self, out);
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        put_canned(Ok((Ftype3::Reg, 0)), out);
    }
}

fn mknod(cx: &Context<'_>, args: &MknodArgs<'_>, out: &mut Vec<u8>) {
    let (kind, set) = match &args.what {
        Mknoddata3::Chr(set, spec) => {
            (SpecialKind::CharDevice(spec.specdata1, spec.specdata2), set)
        }
        Mknoddata3::Blk(set, spec) => (
            SpecialKind::BlockDevice(spec.specdata1, spec.specdata2),
            set,
        ),
        Mknoddata3::Sock(set) => (SpecialKind::Socket, set),
        Mknoddata3::Fifo(set) => (SpecialKind::Fifo, set),
        Mknoddata3::Other(_) => {
            return put(out, &CreateRes::Err(Failed::new(Nfsstat3::Badtype)));
        }
    };
    make(cx, &args.location.dir, out, |dir| {
        let set = set_attr(set);
        cx.shared
            .fs
            .mknod(dir, args.location.name, kind, &set, &cx.caller.cred())
    });
}

impl Served for RemoveArgs<'_> {
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &remove(cx, &self.object, false));
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        put_canned_removal(Ok(()), out);
    }

    #[inline]
    fn canned(request: &mut Request<'_, '_>) -> Result<bool, Refusal> {
        let args: RemoveArgs<'_> = request.args()?;
        let Some(NameMeaning::Marker(id)) = runs::named_in(&args.object) else {
            return Ok(false);
        };
        let removed = request.replies.runs.remove_marker(id);
        reply(request.out, request.xid, |out| {
            put_canned_removal(removed, out)
        });
        Ok(true)
    }
}

impl Served for RmdirArgs<'_> {
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &remove(cx, &self.object, true));
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        put_canned_removal(Ok(()), out);
    }

    #[inline]
    fn canned(request: &mut Request<'_, '_>) -> Result<bool, Refusal> {
        let args: RmdirArgs<'_> = request.args()?;
        let Some(NameMeaning::Run(name)) = runs::named_in(&args.object) else {
            return Ok(false);
        };
        let removed = request.replies.runs.remove_dir(name);
        reply(request.out, request.xid, |out| {
            put_canned_removal(removed, out)
        });
        Ok(true)
    }
}

fn put_canned_removal(removed: Result<(), Nfsstat3>, out: &mut Vec<u8>) {
    let info = DirWcc {
        dir_wcc: sample::wcc(Ftype3::Dir),
    };
    let result: RemoveRes = removed
        .map(|()| info)
        .map_err(|status| Failed { status, info });
    put(out, &result);
}

fn remove(cx: &Context<'_>, what: &Diropargs3<'_>, directory: bool) -> RemoveRes {
    let dir = file_id(&what.dir).map_err(Failed::new)?;
    let (fs, cred) = (&cx.shared.fs, cx.caller.cred());
    let done = if directory {
        fs.rmdir(dir, what.name, &cred)
    } else {
        fs.remove(dir, what.name, &cred)
    };
    let info = DirWcc {
        dir_wcc: wcc(&done.wcc, cx.shared.fsid),
    };
    done.result.map(|()| info).map_err(|error| Failed {
        status: status(error),
        info,
    })
}

impl Served for RenameArgs<'_> {
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &rename(cx, self));
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        let dir_wcc = sample::wcc(Ftype3::Dir);
        let renamed = RenameWcc {
            fromdir_wcc: dir_wcc,
            todir_wcc: dir_wcc,
        };
        put(out, &RenameRes::Ok(renamed));
    }
}

fn rename(cx: &Context<'_>, args: &RenameArgs<'_>) -> RenameRes {
    let from = DirEntryName {
        dir: file_id(&args.from.dir).map_err(Failed::new)?,
        name: args.from.name,
    };
    let to = DirEntryName {
        dir: file_id(&args.to.dir).map_err(Failed::new)?,
        name: args.to.name,
    };
    let (from_wcc, to_wcc, result) = cx.shared.fs.rename(from, to, &cx.caller.cred());
    let info = RenameWcc {
        fromdir_wcc: wcc(&from_wcc, cx.shared.fsid),
        todir_wcc: wcc(&to_wcc, cx.shared.fsid),
    };
    result.map(|()| info).map_err(|error| Failed {
        status: status(error),
        info,
    })
}

impl Served for LinkArgs<'_> {
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &link(cx, self));
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        let linked = LinkWcc {
            file_attributes: Some(sample::attributes(Ftype3::Reg)),
            linkdir_wcc: sample::wcc(Ftype3::Dir),
        };
        put(out, &LinkRes::Ok(linked));
    }
}

fn link(cx: &Context<'_>, args: &LinkArgs<'_>) -> LinkRes {
    let id = file_id(&args.file).map_err(Failed::new)?;
    let dir = file_id(&args.link.dir).map_err(Failed::new)?;
    let (found, done) = cx
        .shared
        .fs
        .link(id, dir, args.link.name, &cx.caller.cred());
    let info = LinkWcc {
        file_attributes: cx.post(found),
        linkdir_wcc: wcc(&done.wcc, cx.shared.fsid),
    };
    done.result.map(|()| info).map_err(|error| Failed {
        status: status(error),
        info,
    })
}
