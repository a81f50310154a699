//! Version 2's procedures that change something. Each is done when it is answered: there is no COMMIT.

use super::convert::{attr, failed, file_id, set_attr, special};
use super::look::put_found;
use crate::memfs::{Changed, CreateHow, FileId, Found, Place, SetAttr};
use crate::protocol::nfs::Context;
use crate::protocol::put;
use filermark_onc::nfs2::{
    AttrstatOk, AttrstatRes, CreateArgs, DiropRes, Diropargs, FILE_BYTES_MAX, LinkArgs, MkdirArgs,
    Nfsstat, RenameArgs, SetattrArgs, StatRes, SymlinkArgs, WriteArgs,
};

/// The attributes after a change.
fn changed(cx: &Context<'_>, done: &Changed<()>) -> AttrstatRes {
    done.result.map_err(failed)?;
    let after = done.wcc.after.as_ref().ok_or(Nfsstat::Stale)?;
    Ok(AttrstatOk {
        attributes: attr(after, cx.shared.fsid),
    })
}

pub(super) fn setattr(cx: &Context<'_>, args: &SetattrArgs<'_>) -> AttrstatRes {
    let (id, set) = (file_id(&args.file)?, set_attr(&args.attributes)?);
    let done = cx.shared.fs.setattr(id, &set, None, &cx.caller.cred());
    changed(cx, &done)
}

/// All or nothing: the answer has no count, so `--short` cannot cut it.
pub(super) fn write(cx: &Context<'_>, args: &WriteArgs<'_>) -> AttrstatRes {
    let (id, offset) = (file_id(&args.file)?, u64::from(args.offset));
    if offset + args.data.len() as u64 > FILE_BYTES_MAX {
        return Err(Nfsstat::Fbig);
    }
    let done = cx
        .shared
        .fs
        .write_file(id, offset, args.data, &cx.caller.cred());
    let written = changed(cx, &done)?;
    cx.counters.bytes_written.add(args.data.len() as u64);
    Ok(written)
}

fn put_made(cx: &Context<'_>, made: Result<Found, Nfsstat>, out: &mut Vec<u8>) {
    match made {
        Ok(found) => put_found(cx, &found, out),
        Err(status) => put(out, &DiropRes::Err(status)),
    }
}

/// An existing file is taken as it is, but for a size: size 0 cuts it, as `creat` does.
pub(super) fn create(cx: &Context<'_>, args: &CreateArgs<'_>, out: &mut Vec<u8>) {
    let (fs, cred, name) = (&cx.shared.fs, cx.caller.cred(), args.location.name);
    let make = |dir: FileId| {
        if let Some(kind) = special(&args.attributes) {
            // The size is the device's number, not a size.
            let attributes = filermark_onc::nfs2::Sattr {
                size: filermark_onc::nfs2::Sattr::KEEP,
                ..args.attributes
            };
            let set = set_attr(&attributes)?;
            return fs
                .mknod(dir, name, kind, &set, &cred)
                .result
                .map_err(failed);
        }
        let how = CreateHow::Unchecked(set_attr(&args.attributes)?);
        fs.create(dir, name, &how, &cred).result.map_err(failed)
    };
    put_made(cx, file_id(&args.location.dir).and_then(make), out);
}

pub(super) fn mkdir(cx: &Context<'_>, args: &MkdirArgs<'_>, out: &mut Vec<u8>) {
    let make = |dir: FileId| {
        // A directory has no size to set.
        let set = SetAttr {
            size: None,
            ..set_attr(&args.attributes)?
        };
        let made = cx
            .shared
            .fs
            .mkdir(dir, args.location.name, &set, &cx.caller.cred());
        made.result.map_err(failed)
    };
    put_made(cx, file_id(&args.location.dir).and_then(make), out);
}

/// The attributes are ignored, as RFC 1094 section 2.2.14 has it for servers on Unix.
pub(super) fn symlink(cx: &Context<'_>, args: &SymlinkArgs<'_>) -> StatRes {
    let dir = file_id(&args.from.dir)?;
    let none = SetAttr::default();
    let made = cx
        .shared
        .fs
        .symlink(dir, args.from.name, args.to, &none, &cx.caller.cred());
    made.result.map(|_| ()).map_err(failed)
}

pub(super) fn remove(cx: &Context<'_>, what: &Diropargs<'_>, directory: bool) -> StatRes {
    let (dir, fs, cred) = (file_id(&what.dir)?, &cx.shared.fs, cx.caller.cred());
    let done = if directory {
        fs.rmdir(dir, what.name, &cred)
    } else {
        fs.remove(dir, what.name, &cred)
    };
    done.result.map_err(failed)
}

pub(super) fn rename(cx: &Context<'_>, args: &RenameArgs<'_>) -> StatRes {
    let from = Place {
        dir: file_id(&args.from.dir)?,
        name: args.from.name,
    };
    let to = Place {
        dir: file_id(&args.to.dir)?,
        name: args.to.name,
    };
    let (_, _, result) = cx.shared.fs.rename(from, to, &cx.caller.cred());
    result.map_err(failed)
}

pub(super) fn link(cx: &Context<'_>, args: &LinkArgs<'_>) -> StatRes {
    let (id, dir) = (file_id(&args.from)?, file_id(&args.to.dir)?);
    let (_, done) = cx.shared.fs.link(id, dir, args.to.name, &cx.caller.cred());
    done.result.map_err(failed)
}
