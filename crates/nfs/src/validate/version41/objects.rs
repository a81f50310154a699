//! CREATE and REMOVE.

use super::client::{Opened, of_mode};
use super::ops::{Bench, Check, Outcome, Subject, V41};
use crate::validate::shared::create::{
    self as shared, create_notdir, mkdir_exist, mkdir_notdir, mkdir_stale, stale,
};
use crate::validate::shared::ops::Common;
use crate::validate::shared::remove::{noent, notdir, symlink};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs3::Ftype3;
use filermark_onc::nfs4::*;

const CREATE: Subject = Subject::Op(Operation::Create);
const OPEN: Subject = Subject::Op(Operation::Open);
const REMOVE: Subject = Subject::Op(Operation::Remove);

checks! { CHECKS: Check =>
    "create.dir", CREATE, "creates a directory with the requested mode" => dir;
    "create.fifo", CREATE, "creates a named pipe" => fifo;
    "create.reg", CREATE, "of a regular file answers NFS4ERR_BADTYPE" => regular;
    "create.exist", CREATE, "an existing name answers NFS4ERR_EXIST" => mkdir_exist;
    "create.notdir", CREATE, "in a file answers NFS4ERR_NOTDIR" => mkdir_notdir;
    "create.stale", CREATE, "in a removed directory answers NFS4ERR_STALE" => mkdir_stale;
    "create.dot", CREATE, "'.' and '..' cannot be created" => dot;
    "create.empty_name", CREATE, "an empty name answers NFS4ERR_INVAL" => empty_name;
    "create.cinfo", CREATE, "a new directory changes its parent's change attribute" => cinfo;
    "open.create_notdir", OPEN, "a new file in a file answers NFS4ERR_NOTDIR" => create_notdir;
    "open.create_stale", OPEN, "a new file in a removed directory answers NFS4ERR_STALE" => stale;
    "remove.file", REMOVE, "removes a file; its handle becomes stale" => file;
    "remove.dir", REMOVE, "removes an empty directory" => empty_dir;
    "remove.notempty", REMOVE, "a directory with entries answers NFS4ERR_NOTEMPTY" => notempty;
    "remove.noent", REMOVE, "an unknown name answers NFS4ERR_NOENT" => noent;
    "remove.notdir", REMOVE, "in a file answers NFS4ERR_NOTDIR" => notdir;
    "remove.empty_name", REMOVE, "an empty name answers NFS4ERR_INVAL" => remove_empty_name;
    "remove.symlink", REMOVE, "removes the link, not its target" => symlink;
    "remove.open_file", REMOVE, "an open file can be read until CLOSE, or answers NFS4ERR_FILE_OPEN" => open_file;
    "remove.cinfo", REMOVE, "changes the directory's change attribute" => remove_cinfo;
}

fn dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let made = b.mkdir(b"dir")?;
    let is = b.attributes(&made)?;
    b.equal("type", Ftype3::Dir, is.ftype)?;
    b.equal("mode (octal 755 is 493)", 0o755, is.mode & 0o777)?;
    let found = b.find(&dir, b"dir")?;
    b.same_object("LOOKUP after CREATE", &made, &found)
}

fn fifo(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    match b.either("CREATE of a named pipe", |client| {
        client.make(&dir, b"fifo", Createtype4::Fifo)
    })? {
        Ok(made) => {
            let is = b.attributes(&made)?;
            b.equal("type", Ftype3::Fifo, is.ftype)
        }
        Err(status @ (Nfsstat4::Badtype | Nfsstat4::Notsupp | Nfsstat4::Perm)) => {
            Err(Stop::skip(format!("CREATE of a named pipe: {status}")))
        }
        Err(status) => Err(Stop::fail(
            format!("CREATE of a named pipe: {}", Nfsstat4::Ok),
            status,
        )),
    }
}

fn regular(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.refused("CREATE of a regular file", &[Nfsstat4::Badtype], |client| {
        client.make(&dir, b"file", Createtype4::Reg)
    })
    .map(drop)
}

fn dot(b: &mut Bench<'_>) -> Outcome {
    shared::dot(b, &[Nfsstat4::Badname])
}

fn empty_name(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.refused("CREATE of ''", &[Nfsstat4::Inval], |client| {
        V41::mkdir(client, &dir, b"")
    })
    .map(drop)
}

fn cinfo(b: &mut Bench<'_>) -> Outcome {
    let (dir, mode) = (b.dir, of_mode(0o755));
    let before = b.change_before(&dir)?;
    let args = CreateArgs {
        objtype: Createtype4::Dir,
        objname: b"made",
        createattrs: Fattr4::new(&mode),
    };
    let info = b.done("CREATE", |client| {
        client.on(&dir, &args, |res| res.map(|ok| ok.cinfo))
    })?;
    let after = b.change(&dir)?;
    b.changed(info, before, after)
}

fn file(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = b.removed_file()?;
    b.absent(&dir, b"gone")?;
    b.becomes_stale("GETATTR of a removed file", |client| {
        V41::getattr(client, &file)
    })
}

fn empty_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    b.done("REMOVE of a directory", |client| {
        client.remove(&dir, b"below")
    })?;
    b.absent(&dir, b"below")?;
    b.becomes_stale("GETATTR of a removed directory", |client| {
        V41::getattr(client, &below)
    })
}

fn notempty(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    b.file_in(&below, b"file")?;
    let wanted = [Nfsstat4::Notempty];
    b.refused("REMOVE of a directory with entries", &wanted, |client| {
        client.remove(&dir, b"below")
    })?;
    b.find(&below, b"file").map(drop)
}

fn remove_empty_name(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.refused("REMOVE of ''", &[Nfsstat4::Inval], |client| {
        client.remove(&dir, b"")
    })
    .map(drop)
}

fn open_file(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let opened = b.open_new(b"file")?;
    b.writes(&opened, b"data")?;
    let what = "REMOVE of an open file";
    match b.either(what, |client| client.remove(&dir, b"file"))? {
        Ok(_) => {}
        Err(status @ Nfsstat4::FileOpen) => {
            b.note(format!("{what}: {status}"));
            return Ok(());
        }
        Err(status) => return Err(Stop::fail(format!("{what}: {}", Nfsstat4::Ok), status)),
    }
    b.absent(&dir, b"file")?;
    let Opened { file, stateid, .. } = opened;
    match b.either("READ after REMOVE", |client| {
        client.read(&file, stateid, 0, 4)
    })? {
        Ok((_, data)) => b.equal("data", &b"data"[..], &data[..]),
        Err(status @ Nfsstat4::Stale) => {
            b.note(format!("READ of an open file after REMOVE: {status}"));
            Ok(())
        }
        Err(status) => Err(Stop::fail(
            "READ after REMOVE: the data, or NFS4ERR_STALE",
            status,
        )),
    }
}

fn remove_cinfo(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    let before = b.change_before(&dir)?;
    let info = b.done("REMOVE", |client| client.remove(&dir, b"file"))?;
    let after = b.change(&dir)?;
    b.changed(info, before, after)
}
