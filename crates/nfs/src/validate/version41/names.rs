//! LOOKUP, LOOKUPP, ACCESS, READLINK, and unusual names.

use super::client::{Opening, of_mode};
use super::ops::{Bench, Check, Outcome, Subject, V41};
use crate::validate::shared::lookup::{noent, notdir, stale, text};
use crate::validate::shared::ops::Common;
use crate::validate::text::shown;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs4::*;

const LOOKUP: Subject = Subject::Op(Operation::Lookup);
const LOOKUPP: Subject = Subject::Op(Operation::Lookupp);
const ACCESS: Subject = Subject::Op(Operation::Access);
const READLINK: Subject = Subject::Op(Operation::Readlink);
const OPEN: Subject = Subject::Op(Operation::Open);
const NAMES: &str = "RFC 8881 section 14";

checks! { CHECKS: Check =>
    "lookup.found", LOOKUP, "finds the file that was created" => found;
    "lookup.noent", LOOKUP, "an unknown name answers NFS4ERR_NOENT" => noent;
    "lookup.notdir", LOOKUP, "in a file answers NFS4ERR_NOTDIR" => notdir;
    "lookup.symlink", LOOKUP, "in a symbolic link answers NFS4ERR_SYMLINK" => in_symlink;
    "lookup.empty_name", LOOKUP, "an empty name answers NFS4ERR_INVAL" => empty_name;
    "lookup.dot", LOOKUP, "'.' and '..' are not names" => dots;
    "lookup.stale", LOOKUP, "in a removed directory answers NFS4ERR_STALE" => stale;
    "lookupp.parent", LOOKUPP, "leads to the parent directory" => parent;
    "lookupp.root", LOOKUPP, "of the root answers NFS4ERR_NOENT" => of_root;
    "lookupp.file", LOOKUPP, "of a file answers NFS4ERR_NOTDIR" => of_file;
    "access.owner", ACCESS, "the owner has rights on a file and a directory" => owner;
    "access.subset", ACCESS, "grants no right that was not requested" => subset;
    "readlink.text", READLINK, "returns the text that the link was created with" => text;
    "readlink.file", READLINK, "of a file is refused" => not_a_link;
    "names.longest", OPEN, "a name of more than maxname bytes answers NFS4ERR_NAMETOOLONG" => longest;
    "names.slash", OPEN, "a slash in a name does not lead to another directory" => slash, by NAMES;
    "names.utf8", OPEN, "UTF-8 names, byte by byte" => utf8, by NAMES;
    "names.not_utf8", OPEN, "bytes that are not UTF-8 are kept, or answer NFS4ERR_INVAL" => not_utf8, by NAMES;
}

fn found(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let made = b.file_with(b"file", b"twelve bytes")?;
    let found = b.find(&dir, b"file")?;
    let (wanted, is) = (b.facts(&made)?, b.facts(&found)?);
    b.equal("fileid and size", (wanted.fileid, 12), (is.fileid, is.size))
}

fn in_symlink(b: &mut Bench<'_>) -> Outcome {
    b.mkdir(b"dir")?;
    let link = b.symlink(b"link", b"dir")?;
    let what = "LOOKUP in a symbolic link";
    let wanted = [Nfsstat4::Symlink];
    match b.refused(what, &wanted, |client| V41::lookup(client, &link, b"x")) {
        Err(Stop::Fail { got, .. }) if got == Nfsstat4::Notdir.to_string() => {
            b.note(format!("{what}: {got}; {} is usual", Nfsstat4::Symlink));
            Ok(())
        }
        other => other.map(drop),
    }
}

fn empty_name(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.refused("LOOKUP of ''", &[Nfsstat4::Inval], |client| {
        V41::lookup(client, &dir, b"")
    })
    .map(drop)
}

/// LOOKUPP is for the parent. What a server does with these names is left to it, but they must not
/// lead to another object than their own.
fn dots(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    for (name, own) in [(&b"."[..], below), (b"..", dir)] {
        let what = format!("LOOKUP of {}", shown(name));
        match b.either(&what, |client| V41::lookup(client, &below, name))? {
            Err(Nfsstat4::Badname | Nfsstat4::Noent | Nfsstat4::Inval) => {}
            Err(status) => b.note(format!("{what}: {status}; {} is usual", Nfsstat4::Badname)),
            Ok(found) => {
                b.note(format!("{what} succeeds"));
                let (wanted, is) = (b.facts(&own)?, b.facts(&found)?);
                b.equal(&format!("{what}: fileid"), wanted.fileid, is.fileid)?;
            }
        }
    }
    Ok(())
}

/// LOOKUPP and GETFH.
fn lookupp(b: &mut Bench<'_>, object: &Fh4) -> Result<Result<Fh4, Nfsstat4>, Stop> {
    let answer = b.raw()?.call("LOOKUPP", false, |compound| {
        compound
            .op(&super::client::putfh(object))
            .op(&LookuppArgs {});
        compound.op(&GetfhArgs {});
    })?;
    let parent = answer.result::<GetfhArgs, _>(b.first_index() + 2, |result| {
        Some(result.ok()?.object.to_fh())
    });
    Ok(parent.ok_or(answer.status))
}

fn parent(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    match lookupp(b, &below)? {
        Ok(parent) => {
            let (wanted, is) = (b.facts(&dir)?, b.facts(&parent)?);
            b.equal("fileid of the parent", wanted.fileid, is.fileid)
        }
        Err(status) => Err(Stop::fail(format!("LOOKUPP: {}", Nfsstat4::Ok), status)),
    }
}

fn of_root(b: &mut Bench<'_>) -> Outcome {
    let root = b.done("PUTROOTFH", |client| client.nfs.root())?.object;
    match lookupp(b, &root)? {
        Err(Nfsstat4::Noent) => Ok(()),
        answer => {
            let got = answer.err().unwrap_or(Nfsstat4::Ok);
            Err(Stop::fail(
                format!("LOOKUPP of the root: {}", Nfsstat4::Noent),
                got,
            ))
        }
    }
}

fn of_file(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    match lookupp(b, &file)? {
        Err(Nfsstat4::Notdir) => Ok(()),
        answer => {
            let got = answer.err().unwrap_or(Nfsstat4::Ok);
            Err(Stop::fail(
                format!("LOOKUPP of a file: {}", Nfsstat4::Notdir),
                got,
            ))
        }
    }
}

const DIR_RIGHTS: u32 = access::READ | access::LOOKUP | access::MODIFY | access::EXTEND;
const FILE_RIGHTS: u32 = access::READ | access::MODIFY | access::EXTEND;

fn owner(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = b.file(b"file")?;
    for (what, object, rights) in [("directory", dir, DIR_RIGHTS), ("file", file, FILE_RIGHTS)] {
        let ok = b.done("ACCESS", |client| client.nfs.access(&object, rights))?;
        let expected = format!(
            "{:#x}, all supported rights on our own {what}",
            ok.supported
        );
        let denied = rights & ok.supported & !ok.access;
        b.holds(denied == 0, &expected, format!("{:#x}", ok.access))?;
        let unknown = rights & !ok.supported;
        if unknown != 0 {
            b.note(format!(
                "the server does not state the rights {unknown:#x} of a {what}"
            ));
        }
    }
    Ok(())
}

fn subset(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    for asked in [0, access::READ, access::LOOKUP | access::DELETE] {
        let ok = b.done("ACCESS", |client| client.nfs.access(&dir, asked))?;
        let expected = format!("rights within those requested ({asked:#x})");
        let more = (ok.access | ok.supported) & !asked;
        b.holds(
            more == 0,
            &expected,
            format!("{:#x} of {:#x}", ok.access, ok.supported),
        )?;
    }
    Ok(())
}

fn not_a_link(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    let wanted = [Nfsstat4::WrongType, Nfsstat4::Inval];
    b.refused("READLINK of a file", &wanted, |client| {
        V41::readlink(client, &file)
    })
    .map(drop)
}

fn longest(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let max = b.get_attributes(&dir, &[Attribute::Maxname], |a| a.maxname)?;
    // The codec has the same limit for names of all versions.
    let Some(max) = usize::try_from(max).ok().filter(|max| *max < MAX_NAME) else {
        return Err(Stop::skip(format!("maxname is {max}")));
    };
    let name = vec![b'n'; max + 1];
    let mode = of_mode(0o644);
    let opening = Opening::new_file(&name, Createhow4::Guarded(Fattr4::new(&mode)));
    let what = format!("OPEN of a name of {} bytes", name.len());
    b.open_refused(&what, &[Nfsstat4::Nametoolong], &opening)?;
    let what = format!("LOOKUP of a name of {} bytes", name.len());
    b.refused(&what, &[Nfsstat4::Nametoolong], |client| {
        V41::lookup(client, &dir, &name)
    })?;
    let name = name.get(..max).unwrap_or_default();
    let what = format!("OPEN of a name of {max} bytes");
    match b.either(&what, |client| client.create(&dir, name))? {
        Ok(_) => Ok(()),
        Err(status @ Nfsstat4::Nametoolong) => {
            b.note(format!(
                "maxname is {max}, but such a name is refused: {status}"
            ));
            Ok(())
        }
        Err(status) => Err(Stop::fail(format!("{what}: {}", Nfsstat4::Ok), status)),
    }
}

fn slash(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    b.file(b"sibling")?;
    let made = b.either_odd("OPEN of 'below/file'", |client| {
        client.create(&dir, b"below/file")
    })?;
    let inside = b.list(&below)?.len();
    match made {
        Err(refusal) => {
            let usual = [Nfsstat4::Badchar, Nfsstat4::Badname, Nfsstat4::Inval];
            if !usual
                .iter()
                .any(|status| status.to_string() == refusal.to_string())
            {
                b.note(format!(
                    "OPEN of 'below/file': {refusal}; {} is usual",
                    Nfsstat4::Badchar
                ));
            }
        }
        Ok(_) if inside > 0 => {
            return Err(Stop::fail(
                "one name",
                "OPEN of 'below/file' created a file in 'below'",
            ));
        }
        Ok(_) => b.note("a name may contain a slash"),
    }
    match b.either_odd("LOOKUP of '../sibling'", |client| {
        V41::lookup(client, &below, b"../sibling")
    })? {
        Err(_) => Ok(()),
        Ok(_) => Err(Stop::fail(
            "one name",
            "LOOKUP of '../sibling' leaves the directory",
        )),
    }
}

/// Creates a file of this name, finds it by LOOKUP and READDIR, and removes it. Returns the
/// status if the server refuses the name. It may list the name in the form `also`.
fn round_trip(
    b: &mut Bench<'_>,
    name: &[u8],
    also: Option<&[u8]>,
) -> Result<Option<Nfsstat4>, Stop> {
    let dir = b.dir;
    let what = format!("OPEN of {}", shown(name));
    if let Err(status) = b.either(&what, |client| client.create(&dir, name))? {
        return Ok(Some(status));
    }
    b.find(&dir, name)?;
    let names: Vec<_> = b.list(&dir)?.into_iter().map(|e| e.name).collect();
    match (names.as_slice(), also) {
        ([listed], Some(also)) if listed == also => {
            b.note(format!("{} is listed as {}", shown(name), shown(also)));
        }
        _ => {
            let names: Vec<_> = names.iter().map(|name| shown(name)).collect();
            b.equal("the name as listed", vec![shown(name)], names)?;
        }
    }
    b.done(&format!("REMOVE of {}", shown(name)), |client| {
        client.remove(&dir, name)
    })?;
    b.absent(&dir, name)?;
    Ok(None)
}

/// A server may normalize names (section 14.1.5): only one of these has another form.
fn utf8(b: &mut Bench<'_>) -> Outcome {
    for (name, also) in [
        ("with blanks in it", None),
        ("...", None),
        ("gr\u{fc}\u{df}e", Some("gru\u{308}\u{df}e")),
        ("\u{65e5}\u{672c}\u{8a9e}", None),
        ("\u{1f4be}", None),
    ] {
        let name = name.as_bytes();
        match round_trip(b, name, also.map(str::as_bytes))? {
            None => {}
            Some(status @ (Nfsstat4::Badchar | Nfsstat4::Badname)) => {
                b.note(format!("{} is not accepted: {status}", shown(name)));
            }
            Some(status) => {
                let expected = format!("OPEN of {}: {}", shown(name), Nfsstat4::Ok);
                return Err(Stop::fail(expected, status));
            }
        }
    }
    Ok(())
}

fn not_utf8(b: &mut Bench<'_>) -> Outcome {
    for name in [&b"latin\xfc1"[..], b"\xff\xfe"] {
        match round_trip(b, name, None)? {
            None => b.note("names need not be UTF-8"),
            Some(Nfsstat4::Inval) => {}
            Some(status) => b.note(format!(
                "{} is not accepted: {status}; {} is usual",
                shown(name),
                Nfsstat4::Inval
            )),
        }
    }
    Ok(())
}
