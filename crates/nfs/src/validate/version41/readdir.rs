//! READDIR.

use super::client::putfh;
use super::ops::{Bench, Check, Outcome, Subject, V41};
use crate::client::next_result;
use crate::validate::listing::name;
use crate::validate::shared::ops::Common;
use crate::validate::shared::readdir::{
    self as shared, each_once, empty, fileids, fill, in_parts, notdir,
};
use crate::validate::text::{is_dot, shown};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs4::*;

const READDIR: Subject = Subject::Op(Operation::Readdir);

checks! { CHECKS: Check =>
    "readdir.all_once", READDIR, "320 entries, each once, over many small answers" => all_once;
    "readdir.empty", READDIR, "an empty directory" => empty;
    "readdir.fileids", READDIR, "the fileids are those of the files" => fileids;
    "readdir.attributes", READDIR, "attributes of entries agree with GETATTR" => attributes;
    "readdir.maxcount", READDIR, "answers stay within maxcount" => maxcount;
    "readdir.resume", READDIR, "continues after any cookie" => resume;
    "readdir.cookies", READDIR, "no entry has the cookie 0, which is the beginning" => cookies;
    "readdir.verifier", READDIR, "a wrong cookie verifier does no harm" => verifier;
    "readdir.toosmall", READDIR, "a maxcount too small for an entry answers NFS4ERR_TOOSMALL" => toosmall;
    "readdir.notdir", READDIR, "of a file answers NFS4ERR_NOTDIR" => notdir;
}

const ENTRIES: usize = 320;
/// Small enough for many answers, large enough for any name here.
const SMALL: u32 = 1024;

/// Section 18.23.4: "." and ".." should not be returned.
fn all_once(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    fill(b, ENTRIES)?;
    let (listed, parts) = in_parts(b, &dir, SMALL)?;
    each_once((0..ENTRIES).map(name), &listed)?;
    let expected = format!("more than one answer of {SMALL} bytes for {ENTRIES} entries");
    b.holds(parts > 1, &expected, parts)?;
    if listed.iter().any(|entry| is_dot(&entry.name)) {
        b.note("'.' or '..' is listed");
    }
    Ok(())
}

/// READDIR from the beginning.
fn args(maxcount: u32, attr_request: Bitmap4) -> ReaddirArgs {
    ReaddirArgs {
        cookie: 0,
        cookieverf: [0; 8],
        dircount: maxcount,
        maxcount,
        attr_request,
    }
}

fn attributes(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.mkdir(b"below")?;
    for number in 0..10 {
        b.file_with(&name(number), &vec![1; number * 10])?;
    }
    let asked = Bitmap4::of(&[
        Attribute::Type,
        Attribute::Size,
        Attribute::Fileid,
        Attribute::Filehandle,
    ]);
    let listed = b.done("READDIR", |client| {
        let args = args(16_384, asked);
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(&dir)).op(&args);
        };
        client.nfs.compound(false, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            let ok = next_result!(compound, ReaddirArgs);
            let mut all = Vec::new();
            for entry in &ok.entries {
                let a = entry.attrs.attributes()?;
                let handle = a.filehandle.map(|handle| handle.to_fh());
                all.push((entry.name.to_vec(), a.ftype, a.size, a.fileid, handle));
            }
            Ok(Ok(all))
        })
    })?;
    let listed: Vec<_> = listed
        .into_iter()
        .filter(|entry| !is_dot(&entry.0))
        .collect();
    b.equal("entries", 11, listed.len())?;
    for (name, ftype, size, fileid, handle) in listed {
        let found = b.find(&dir, &name)?;
        let wanted = b.get_attributes(
            &found,
            &[Attribute::Type, Attribute::Size, Attribute::Fileid],
            |a| Some((a.ftype, a.size, a.fileid)),
        )?;
        let what = format!("type, size and fileid of {}", shown(&name));
        b.equal(&what, wanted, (ftype, size, fileid))?;
        if let Some(handle) = handle {
            let what = format!("filehandle of {}", shown(&name));
            b.same_object(&what, &found, &handle)?;
        }
    }
    Ok(())
}

/// The limit includes all of `READDIR4resok`.
fn maxcount(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    fill(b, 100)?;
    for limit in [512, 1024, 4096] {
        let answer = b.raw()?.call("READDIR", false, |compound| {
            compound.op(&putfh(&dir));
            compound.op(&args(limit, Bitmap4::of(&[Attribute::Fileid])));
        })?;
        answer.must_be("READDIR", &[Nfsstat4::Ok])?;
        let front = b.raw()?.call("PUTFH", false, |compound| {
            compound.op(&putfh(&dir));
        })?;
        // Beside the results before it, the answer has number and status of READDIR.
        let len = answer.body.len().saturating_sub(front.body.len() + 8);
        let expected = format!("READDIR4resok of {limit} bytes at most");
        b.holds(len <= limit as usize, &expected, len)?;
    }
    Ok(())
}

fn resume(b: &mut Bench<'_>) -> Outcome {
    shared::resume(b, SMALL)
}

fn cookies(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    fill(b, 10)?;
    let (all, _) = in_parts(b, &dir, SMALL)?;
    for entry in all.iter().filter(|entry| entry.next.0 <= 2) {
        let what = format!("the cookie of {}", shown(&entry.name));
        b.holds(entry.next.0 != 0, &format!("{what}: not 0"), 0)?;
        b.note(format!("{what} is {}, which is reserved", entry.next.0));
    }
    let verf = all.first().map(|entry| entry.next.1).unwrap_or_default();
    for cookie in [1, 2] {
        let what = format!("READDIR from cookie {cookie}");
        match b.either(&what, |client| {
            V41::readdir(client, &dir, (cookie, verf), 8192)
        })? {
            Err(Nfsstat4::BadCookie) => {}
            Err(status) => b.note(format!(
                "{what}: {status}; {} is usual",
                Nfsstat4::BadCookie
            )),
            Ok(part) => b.note(format!("{what} returns {} entries", part.entries.len())),
        }
    }
    Ok(())
}

fn verifier(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    fill(b, 30)?;
    let part = b.done("READDIR", |client| {
        V41::readdir(client, &dir, V41::START, 512)
    })?;
    let Some(last) = part.entries.last() else {
        return Err(Stop::fail("READDIR of 512 bytes: entries", "none"));
    };
    let mut verf = last.next.1;
    verf.iter_mut().for_each(|byte| *byte ^= 0x5a);
    let args = ReaddirArgs {
        cookie: last.next.0,
        cookieverf: verf,
        ..args(8192, Bitmap4::EMPTY)
    };
    let what = "READDIR with a wrong verifier";
    match b.either(what, |client| {
        client.on(&dir, &args, |res| res.map(|ok| ok.entries.len()))
    })? {
        Err(Nfsstat4::NotSame) => {}
        Err(status @ (Nfsstat4::BadCookie | Nfsstat4::Inval)) => {
            b.note(format!("{what}: {status}; {} is usual", Nfsstat4::NotSame));
        }
        Err(status) => return Err(Stop::fail(format!("{what}: {}", Nfsstat4::NotSame), status)),
        Ok(_) => b.note("the cookie verifier is not checked"),
    }
    Ok(())
}

fn toosmall(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(&[b'n'; 100])?;
    let args = args(40, Bitmap4::of(&[Attribute::Fileid]));
    b.refused(
        "READDIR of 40 bytes at most",
        &[Nfsstat4::Toosmall],
        |client| client.on(&dir, &args, |res| res.map(drop)),
    )
    .map(drop)
}
