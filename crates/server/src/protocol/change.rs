//! The procedures that change something.

use super::convert::{create_how, file_id, ns, set_attr, status, wcc};
use super::look::with_handle;
use super::nfs::Context;
use super::put;
use crate::memfs::{Changed, FileId, Found, Place, SpecialKind};
use filermark_onc::nfs3::{
    CommitArgs, CommitOk, CommitRes, CreateArgs, CreateOk, CreateRes, DirWcc, Diropargs3, Failed,
    FileHandle, FileWcc, LinkArgs, LinkRes, LinkWcc, MkdirArgs, MknodArgs, Mknoddata3, Nfsstat3,
    ObjWcc, RemoveRes, RenameArgs, RenameRes, RenameWcc, SetattrArgs, SetattrRes, StableHow,
    SymlinkArgs, WriteArgs, WriteOk, WriteRes,
};

pub(super) fn setattr(cx: &Context<'_>, args: &SetattrArgs<'_>) -> SetattrRes {
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

pub(super) fn write(cx: &Context<'_>, args: &WriteArgs<'_>) -> WriteRes {
    let id = file_id(&args.file).map_err(Failed::new)?;
    let (shared, wanted) = (cx.shared, args.count as usize);
    let Some(data) = args.data.get(..wanted) else {
        return Err(Failed::new(Nfsstat3::Inval)); // fewer bytes than announced
    };
    let most = cx
        .options
        .wtmax
        .min(shared.faults.short.unwrap_or(u32::MAX)) as usize;
    let data = &data[..data.len().min(most)];
    let unstable = shared.faults.unstable && args.stable == StableHow::Unstable;
    // The verifier of the time before the write: what is lost while it is answered has an
    // earlier one than the COMMIT that follows.
    let verf = shared.fs.write_verifier().to_be_bytes();
    let cred = cx.caller.cred();
    let done = match unstable && shared.faults.loses {
        true => shared.fs.write_unstable(id, args.offset, data, &cred),
        false => shared.fs.write_file(id, args.offset, data, &cred),
    };
    let file_wcc = wcc(&done.wcc, shared.fsid);
    if let Err(error) = done.result {
        return Err(Failed {
            status: status(error),
            info: FileWcc { file_wcc },
        });
    }
    cx.counters.bytes_written.add(data.len() as u64);
    cx.counters
        .transfers_cut
        .add(u64::from(data.len() < wanted));
    if shared.faults.verifier_changes() {
        match shared.faults.loses {
            true => cx.counters.writes_lost.add(shared.fs.lose_uncommitted()),
            false => shared.fs.change_write_verifier(),
        }
        cx.counters.verifier_changes.add(1);
    }
    Ok(WriteOk {
        file_wcc,
        count: data.len() as u32,
        committed: if unstable {
            StableHow::Unstable
        } else {
            StableHow::FileSync
        },
        verf,
    })
}

pub(super) fn commit(cx: &Context<'_>, args: &CommitArgs<'_>) -> CommitRes {
    let id = file_id(&args.file).map_err(Failed::new)?;
    let done = cx.shared.fs.commit(id, &cx.caller.cred());
    let file_wcc = wcc(&done.wcc, cx.shared.fsid);
    match done.result {
        Ok(()) => Ok(CommitOk {
            file_wcc,
            verf: cx.shared.fs.write_verifier().to_be_bytes(),
        }),
        Err(error) => Err(Failed {
            status: status(error),
            info: FileWcc { file_wcc },
        }),
    }
}

/// The part that CREATE, MKDIR, SYMLINK and MKNOD have in common.
fn make(
    cx: &Context<'_>,
    dir: &FileHandle<'_>,
    out: &mut Vec<u8>,
    body: impl FnOnce(FileId) -> Changed<Found>,
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

pub(super) fn create(cx: &Context<'_>, args: &CreateArgs<'_>, out: &mut Vec<u8>) {
    make(cx, &args.location.dir, out, |dir| {
        cx.shared.fs.create(
            dir,
            args.location.name,
            &create_how(&args.how),
            &cx.caller.cred(),
        )
    });
}

pub(super) fn mkdir(cx: &Context<'_>, args: &MkdirArgs<'_>, out: &mut Vec<u8>) {
    make(cx, &args.location.dir, out, |dir| {
        let set = set_attr(&args.attributes);
        cx.shared
            .fs
            .mkdir(dir, args.location.name, &set, &cx.caller.cred())
    });
}

pub(super) fn symlink(cx: &Context<'_>, args: &SymlinkArgs<'_>, out: &mut Vec<u8>) {
    make(cx, &args.location.dir, out, |dir| {
        let (name, set) = (args.location.name, set_attr(&args.symlink_attributes));
        cx.shared
            .fs
            .symlink(dir, name, args.symlink_data, &set, &cx.caller.cred())
    });
}

pub(super) fn mknod(cx: &Context<'_>, args: &MknodArgs<'_>, out: &mut Vec<u8>) {
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

pub(super) fn remove(cx: &Context<'_>, what: &Diropargs3<'_>, directory: bool) -> RemoveRes {
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

pub(super) fn rename(cx: &Context<'_>, args: &RenameArgs<'_>) -> RenameRes {
    let from = Place {
        dir: file_id(&args.from.dir).map_err(Failed::new)?,
        name: args.from.name,
    };
    let to = Place {
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

pub(super) fn link(cx: &Context<'_>, args: &LinkArgs<'_>) -> LinkRes {
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
