//! LOOKUP and READLINK.

use super::ops::{Bench, Check, Outcome, nfs};
use crate::validate::bench::Refusal;
use crate::validate::shared::lookup::{dot, dotdot, noent, notdir, same_text, stale, text};
use crate::validate::text::shown;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs2::*;

checks! { CHECKS: Check =>
    "lookup.found", nfs(Procedure::Lookup), "finds the right file, with its attributes" => found;
    "lookup.noent", nfs(Procedure::Lookup), "an unknown name answers NFSERR_NOENT" => noent;
    "lookup.notdir", nfs(Procedure::Lookup), "in a file answers NFSERR_NOTDIR" => notdir;
    "lookup.dot", nfs(Procedure::Lookup), "'.' is the directory itself" => dot;
    "lookup.dotdot", nfs(Procedure::Lookup), "'..' is its parent" => dotdot;
    "lookup.longest_name", nfs(Procedure::Lookup), "a name of 255 bytes works, one of 256 is refused" => longest_name, by "RFC 1094 section 2.3.7";
    "lookup.names", nfs(Procedure::Lookup), "blanks, dots, quotes and UTF-8 in names" => names, by "RFC 1094 section 2.3.7";
    "lookup.stale", nfs(Procedure::Lookup), "in a removed directory answers NFSERR_STALE" => stale;
    "readlink.text", nfs(Procedure::Readlink), "returns the text that the link was created with" => text;
    "readlink.longest", nfs(Procedure::Readlink), "a text of 1023 bytes is returned whole" => longest_text, by "RFC 1094 section 2.3.8";
    "readlink.not_a_link", nfs(Procedure::Readlink), "of a file is refused" => not_a_link;
    "readlink.stale", nfs(Procedure::Readlink), "of a removed link answers NFSERR_STALE" => readlink_stale;
}

fn found(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let made = b.file_with(b"file", b"twelve bytes")?;
    let wanted = b.attributes(&made)?;
    let (file, given) = b.done("LOOKUP", |nfs| nfs.lookup(&dir, b"file"))?;
    b.equal("fileid given by LOOKUP", wanted.fileid, given.fileid)?;
    b.agrees("LOOKUP", &file, &given)
}

fn longest_name(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let name = [b'n'; MAXNAMLEN];
    let what = "CREATE of a name of 255 bytes";
    match b.either_odd(what, |nfs| nfs.create(&dir, &name, Sattr::mode(0o644)))? {
        Ok((file, _)) => {
            let found = b.find(&dir, &name)?;
            let (made, found) = (b.attributes(&file)?, b.attributes(&found)?);
            b.equal("fileid of the name", made.fileid, found.fileid)?;
        }
        // MAXNAMLEN is the protocol's limit; a file system's may be lower.
        Err(Refusal::Status(Nfsstat::Nametoolong)) => {
            b.note(format!("{what}: {}", Nfsstat::Nametoolong));
        }
        Err(refusal) => return Err(Stop::fail(format!("{what}: NFS_OK"), refusal)),
    }
    let before = b.list(&dir)?.len();
    let longer = [b'n'; MAXNAMLEN + 1];
    let too_long = [Nfsstat::Nametoolong, Nfsstat::Acces];
    refused_name(b, "LOOKUP of a name of 256 bytes", &too_long, |nfs| {
        nfs.lookup(&dir, &longer)
    })?;
    refused_name(b, "CREATE of a name of 256 bytes", &too_long, |nfs| {
        nfs.create(&dir, &longer, Sattr::mode(0o644))
    })?;
    // A truncated name would be listed here.
    let after = b.list(&dir)?.len();
    b.equal("names in the directory afterwards", before, after)
}

/// The XDR type ends at 255 bytes, so GARBAGE_ARGS is as correct as a status.
fn refused_name<O>(
    b: &mut Bench<'_>,
    what: &str,
    usual: &[Nfsstat],
    call: impl FnMut(&mut crate::client::Nfs2Client) -> crate::client::Reply2<O>,
) -> Outcome {
    match b.either_odd(what, call)? {
        Err(Refusal::GarbageArgs) => {}
        Err(Refusal::Status(status)) if usual.contains(&status) => {}
        Err(refusal) => b.note(format!(
            "{what}: {refusal}; NFSERR_NAMETOOLONG or GARBAGE_ARGS is usual"
        )),
        Ok(_) => {
            let expected = format!("{what}: NFSERR_NAMETOOLONG or GARBAGE_ARGS");
            return Err(Stop::fail(expected, Nfsstat::Ok));
        }
    }
    Ok(())
}

fn names(b: &mut Bench<'_>) -> Outcome {
    const NAMES: [&[u8]; 6] = [
        b"with blank",
        b".hidden",
        b"quote'\"",
        b"-dash",
        b"...",
        b"gr\xc3\xbc\xc3\x9fe",
    ];
    let dir = b.dir;
    let mut made = Vec::new();
    for name in NAMES {
        let what = format!("CREATE of {}", shown(name));
        match b.either(&what, |nfs| nfs.create(&dir, name, Sattr::mode(0o644)))? {
            Ok((file, _)) => made.push((name, file)),
            Err(status) => b.note(format!("{what}: {status}")),
        }
    }
    for (name, file) in &made {
        let found = b.find(&dir, name)?;
        let (made, found) = (b.attributes(file)?, b.attributes(&found)?);
        let what = format!("fileid of {}", shown(name));
        b.equal(&what, made.fileid, found.fileid)?;
    }
    let mut wanted: Vec<_> = made.iter().map(|(name, _)| shown(name)).collect();
    let mut listed: Vec<_> = b.list(&dir)?.iter().map(|e| shown(&e.name)).collect();
    wanted.sort_unstable();
    listed.sort_unstable();
    b.equal("the names as READDIR lists them", wanted, listed)
}

/// MAXPATHLEN is 1024; servers that end a path with a zero byte allow one byte less.
fn longest_text(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let text = [b't'; MAXPATHLEN - 1];
    let what = "SYMLINK with a text of 1023 bytes";
    if let Err(status) = b.either(what, |nfs| nfs.symlink(&dir, b"link", &text))? {
        return Err(Stop::Skip(format!("{what}: {status}")));
    }
    let link = b.find(&dir, b"link")?;
    same_text(b, &link, &text)
}

fn not_a_link(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    let usual = [Nfsstat::Inval, Nfsstat::Nxio, Nfsstat::Io];
    b.refused_somehow("READLINK of a file", &usual, |nfs| nfs.readlink(&file))
}

fn readlink_stale(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let link = b.symlink(b"gone", b"nowhere")?;
    b.done("REMOVE", |nfs| nfs.remove(&dir, b"gone"))?;
    b.becomes_stale("READLINK of a removed link", |nfs| nfs.readlink(&link))
}
