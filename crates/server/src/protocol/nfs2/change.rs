//! Version 2's procedures that change something, in the file system and canned. Each is done when it is
//! answered: there is no COMMIT.

use super::Served;
use super::convert::{attr, failed, file_id, set_attr, special};
use super::read_attributes::put_found;
use crate::memfs::{Changed, CreateHow, DirEntryName, FileId, ObjectAttr, SetAttr};
use crate::protocol::answer::put;
use crate::protocol::context::Context;
use crate::protocol::null::Replies;
use crate::protocol::null::runs::NameMeaning;
use crate::protocol::null::v2_handles::{
    attrstat, kind_of, named, put_stat, put_thing, refused, run,
};
use crate::stats::Counters;
use filermark_onc::nfs2::*;
use filermark_onc::nfs3::{Createhow3, Ftype3, Procedure as Procedure3, Sattr3};

/// The attributes after a change.
fn changed(cx: &Context<'_>, done: &Changed<()>) -> AttrstatRes {
    done.result.map_err(failed)?;
    let after = done.wcc.after.as_ref().ok_or(Nfsstat::Stale)?;
    Ok(AttrstatOk {
        attributes: attr(after, cx.shared.fsid),
    })
}

impl Served for SetattrArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Setattr;
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &setattr(cx, self));
    }

    fn canned(&self, _: &Replies, _: &Counters, out: &mut Vec<u8>) {
        put(out, &attrstat(kind_of(&self.file)));
    }
}

fn setattr(cx: &Context<'_>, args: &SetattrArgs<'_>) -> AttrstatRes {
    let (id, set) = (file_id(&args.file)?, set_attr(&args.attributes)?);
    let done = cx.shared.fs.setattr(id, &set, None, &cx.caller.cred());
    changed(cx, &done)
}

impl Served for WriteArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Write;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &write(cx, self));
    }

    fn canned(&self, replies: &Replies, counters: &Counters, out: &mut Vec<u8>) {
        let kept = match run(&self.file) {
            Some(id) => (replies.runs).set_marker(id, u64::from(self.offset), self.data),
            None => Ok(()),
        };
        match kept {
            Ok(()) => {
                counters.bytes_written.add(self.data.len() as u64);
                put(out, &attrstat(Ftype3::Reg));
            }
            Err(status) => put(out, &AttrstatRes::Err(refused(status))),
        }
    }
}

/// All or nothing: the answer has no count, so `--short` cannot cut it.
fn write(cx: &Context<'_>, args: &WriteArgs<'_>) -> AttrstatRes {
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

fn put_made(cx: &Context<'_>, made: Result<ObjectAttr, Nfsstat>, out: &mut Vec<u8>) {
    match made {
        Ok(found) => put_found(cx, &found, out),
        Err(status) => put(out, &DiropRes::Err(status)),
    }
}

impl Served for CreateArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Create;
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        create(cx, self, out);
    }

    fn canned(&self, replies: &Replies, _: &Counters, out: &mut Vec<u8>) {
        let how = Createhow3::Unchecked(match self.attributes.size {
            0 => Sattr3::size(0),
            _ => Sattr3::mode(0o644),
        });
        let made = match named(&self.location) {
            Some(NameMeaning::Marker(id)) => replies.runs.make_marker(id, &how),
            _ => Ok((Ftype3::Reg, 0)),
        };
        put_thing(made, out);
    }
}

/// An existing file is taken as it is, but for a size: size 0 cuts it, as `creat` does.
fn create(cx: &Context<'_>, args: &CreateArgs<'_>, out: &mut Vec<u8>) {
    let (fs, cred, name) = (&cx.shared.fs, cx.caller.cred(), args.location.name);
    let make = |dir: FileId| {
        if let Some(kind) = special(&args.attributes) {
            // The size is the device's number, not a size.
            let attributes = Sattr {
                size: Sattr::KEEP,
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

impl Served for MkdirArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Mkdir;
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        mkdir(cx, self, out);
    }

    fn canned(&self, replies: &Replies, _: &Counters, out: &mut Vec<u8>) {
        let made = match named(&self.location) {
            Some(NameMeaning::Run(name)) => replies.runs.make_dir(name),
            _ => Ok((Ftype3::Dir, 0)),
        };
        put_thing(made, out);
    }
}

fn mkdir(cx: &Context<'_>, args: &MkdirArgs<'_>, out: &mut Vec<u8>) {
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

impl Served for SymlinkArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Symlink;
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &symlink(cx, self));
    }

    fn canned(&self, _: &Replies, _: &Counters, out: &mut Vec<u8>) {
        put_stat(Ok(()), out);
    }
}

/// The attributes are ignored, as RFC 1094 section 2.2.14 has it for servers on Unix.
fn symlink(cx: &Context<'_>, args: &SymlinkArgs<'_>) -> StatRes {
    let dir = file_id(&args.from.dir)?;
    let none = SetAttr::default();
    let made = cx
        .shared
        .fs
        .symlink(dir, args.from.name, args.to, &none, &cx.caller.cred());
    made.result.map(|_| ()).map_err(failed)
}

impl Served for RemoveArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Remove;
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &remove(cx, &self.what, false));
    }

    fn canned(&self, replies: &Replies, _: &Counters, out: &mut Vec<u8>) {
        let removed = match named(&self.what) {
            Some(NameMeaning::Marker(id)) => replies.runs.remove_marker(id),
            _ => Ok(()),
        };
        put_stat(removed, out);
    }
}

impl Served for RmdirArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Rmdir;
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &remove(cx, &self.what, true));
    }

    fn canned(&self, replies: &Replies, _: &Counters, out: &mut Vec<u8>) {
        let removed = match named(&self.what) {
            Some(NameMeaning::Run(name)) => replies.runs.remove_dir(name),
            _ => Ok(()),
        };
        put_stat(removed, out);
    }
}

fn remove(cx: &Context<'_>, what: &Diropargs<'_>, directory: bool) -> StatRes {
    let (dir, fs, cred) = (file_id(&what.dir)?, &cx.shared.fs, cx.caller.cred());
    let done = if directory {
        fs.rmdir(dir, what.name, &cred)
    } else {
        fs.remove(dir, what.name, &cred)
    };
    done.result.map_err(failed)
}

impl Served for RenameArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Rename;
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &rename(cx, self));
    }

    fn canned(&self, _: &Replies, _: &Counters, out: &mut Vec<u8>) {
        put_stat(Ok(()), out);
    }
}

fn rename(cx: &Context<'_>, args: &RenameArgs<'_>) -> StatRes {
    let from = DirEntryName {
        dir: file_id(&args.from.dir)?,
        name: args.from.name,
    };
    let to = DirEntryName {
        dir: file_id(&args.to.dir)?,
        name: args.to.name,
    };
    let (_, _, result) = cx.shared.fs.rename(from, to, &cx.caller.cred());
    result.map_err(failed)
}

impl Served for LinkArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Link;
    const ONCE: bool = true;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &link(cx, self));
    }

    fn canned(&self, _: &Replies, _: &Counters, out: &mut Vec<u8>) {
        put_stat(Ok(()), out);
    }
}

fn link(cx: &Context<'_>, args: &LinkArgs<'_>) -> StatRes {
    let (id, dir) = (file_id(&args.from)?, file_id(&args.to.dir)?);
    let (_, done) = cx.shared.fs.link(id, dir, args.to.name, &cx.caller.cred());
    done.result.map_err(failed)
}
