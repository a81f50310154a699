//! READDIR and READDIRPLUS.

use super::ops::{Bench, Check, Outcome};
use crate::client::{ClientError, NFS_V3, PlusEntry};
use crate::validate::listing::{self, name};
use crate::validate::shared::readdir::{self as shared, empty, fileids, fill, notdir};
use crate::validate::text::{is_dot, no_answer, shown};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs3::*;
use filermark_onc::xdr;

checks! { CHECKS: Check =>
    "readdir.all_once", Procedure::Readdir, "320 entries, each once, over many small answers" => all_once;
    "readdir.empty", Procedure::Readdir, "an empty directory" => empty;
    "readdir.fileids", Procedure::Readdir, "the fileids are those of the files" => fileids;
    "readdir.count", Procedure::Readdir, "answers stay within the requested size" => count;
    "readdir.resume", Procedure::Readdir, "continues after any cookie" => resume;
    "readdir.while_removing", Procedure::Readdir, "remaining names are listed while others are removed" => while_removing;
    "readdir.bad_cookie", Procedure::Readdir, "invalid cookies and verifiers do no harm" => bad_cookie;
    "readdir.toosmall", Procedure::Readdir, "a size too small for an entry answers NFS3ERR_TOOSMALL" => toosmall;
    "readdir.notdir", Procedure::Readdir, "of a file answers NFS3ERR_NOTDIR" => notdir;
    "readdirplus.all_once", Procedure::Readdirplus, "320 entries, each once, over many small answers" => plus_all_once;
    "readdirplus.agrees", Procedure::Readdirplus, "attributes and handles agree with GETATTR" => plus_agrees;
    "readdirplus.count", Procedure::Readdirplus, "answers stay within the requested size" => plus_count;
    "readdirplus.notdir", Procedure::Readdirplus, "of a file answers NFS3ERR_NOTDIR" => plus_notdir;
}

const ENTRIES: usize = 320;
/// Small enough for many answers, large enough for any name here.
const SMALL: u32 = 1024;
const START: (u64, Verf) = (0, [0; VERFSIZE]);

fn all_once(b: &mut Bench<'_>) -> Outcome {
    shared::all_once(b, ENTRIES, SMALL)
}

/// Length of the results after the status, in bytes.
fn answer_bytes(b: &mut Bench<'_>, procedure: Procedure, args: &[u8]) -> Result<usize, Stop> {
    let what = procedure.name();
    let results = b
        .nfs
        .rpc()
        .call_raw(NFS_V3, procedure.to_u32(), args)
        .map_err(|error| no_answer(what, &error))?;
    match results.split_first_chunk() {
        Some((&[0, 0, 0, 0], rest)) => Ok(rest.len()),
        Some((status, _)) => {
            let status = Nfsstat3::from_u32(u32::from_be_bytes(*status));
            Err(Stop::fail(format!("{what}: NFS3_OK"), status))
        }
        None => Err(Stop::fail(format!("{what}: a status"), "nothing")),
    }
}

/// The limit includes everything. Servers that count only the entries exceed it by the
/// directory's attributes and verifier, which clients accept.
fn within(b: &mut Bench<'_>, what: &str, len: usize, limit: u32) -> Outcome {
    const ATTRIBUTES_AND_VERIFIER: usize = 128;
    let limit = limit as usize;
    if len > limit && len <= limit + ATTRIBUTES_AND_VERIFIER {
        b.note(format!(
            "{what} of {len} bytes where {limit} were requested"
        ));
        return Ok(());
    }
    b.holds(
        len <= limit,
        &format!("{what} of {limit} bytes at most"),
        len,
    )
}

fn count(b: &mut Bench<'_>) -> Outcome {
    fill(b, 100)?;
    for count in [512, 1024, 4096] {
        let mut args = Vec::new();
        let call = ReaddirArgs {
            dir: b.dir.handle(),
            cookie: 0,
            cookieverf: START.1,
            count,
        };
        xdr::append(&mut args, &call);
        let len = answer_bytes(b, Procedure::Readdir, &args)?;
        within(b, "READDIR3resok", len, count)?;
    }
    Ok(())
}

fn resume(b: &mut Bench<'_>) -> Outcome {
    shared::resume(b, SMALL)
}

/// The calls of `rm -r`. A server may refuse its cookies when the directory has changed
/// (NFS3ERR_BAD_COOKIE). The cookie verifier exists so that it does not skip entries instead,
/// but the RFC does not state this as a requirement.
fn while_removing(b: &mut Bench<'_>) -> Outcome {
    const COUNT: usize = 120;
    let dir = b.dir;
    fill(b, COUNT)?;
    let mut from = START;
    loop {
        let part = match b.either("READDIR", |nfs| nfs.readdir(&dir, from, SMALL))? {
            Ok(part) => part,
            Err(Nfsstat3::BadCookie) => {
                b.note("a changed directory must be listed again from the start");
                return Ok(());
            }
            Err(status) => return Err(Stop::fail("READDIR: NFS3_OK", status)),
        };
        let last = part.entries.last().map(|entry| entry.cookie);
        for entry in part.entries.iter().filter(|e| !is_dot(&e.name)) {
            b.done("REMOVE of a listed file", |nfs| {
                nfs.remove(&dir, &entry.name)
            })?;
        }
        match last {
            Some(cookie) if !part.eof => from = (cookie, part.cookieverf),
            _ => break,
        }
    }
    let left = b.list(&dir)?.len();
    if left > 0 {
        b.note(format!(
            "READDIR skips {left} of {COUNT} entries while those before are removed, without \
             NFS3ERR_BAD_COOKIE: an rm -r may leave files"
        ));
    }
    Ok(())
}

fn bad_cookie(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    fill(b, 30)?;
    let first = b.done("READDIR", |nfs| nfs.readdir(&dir, START, 512))?;
    let cookie = first.entries.last().map_or(1, |entry| entry.cookie);
    let mut wrong = first.cookieverf;
    wrong.iter_mut().for_each(|byte| *byte ^= 0x5a);
    for (what, from) in [
        ("a wrong verifier", (cookie, wrong)),
        (
            "an invented cookie",
            (0x7edc_ba98_7654_3210, first.cookieverf),
        ),
    ] {
        match b.either("READDIR", |nfs| nfs.readdir(&dir, from, 8192))? {
            Err(Nfsstat3::BadCookie) => {}
            Err(status @ (Nfsstat3::Inval | Nfsstat3::NotSync)) => {
                b.note(format!(
                    "READDIR with {what}: {status}; NFS3ERR_BAD_COOKIE is usual"
                ));
            }
            Err(status) => {
                let expected = format!("READDIR with {what}: NFS3ERR_BAD_COOKIE");
                return Err(Stop::fail(expected, status));
            }
            Ok(part) => {
                let count = part.entries.len();
                b.note(format!(
                    "READDIR with {what} returns {count} entries: it is not checked"
                ));
            }
        }
    }
    Ok(())
}

fn toosmall(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let what = "READDIR of 8 bytes at most";
    b.file(&[b'n'; 100])?;
    match b.nfs.readdir(&dir, START, 8) {
        Ok(Err(failed)) if failed.status == Nfsstat3::Toosmall => {}
        Ok(Err(failed)) => b.note(format!("{what}: {}", failed.status)),
        Ok(Ok(part)) if part.entries.is_empty() && part.eof => {
            return Err(Stop::fail(
                format!("{what}: NFS3ERR_TOOSMALL"),
                "an empty directory",
            ));
        }
        Ok(Ok(part)) => b.note(format!("{what} returns {} entries", part.entries.len())),
        // No client requests so few bytes, so this does no harm.
        Err(error @ ClientError::Garbage { .. }) => b.note(format!("{what}: {error}")),
        Err(error) => return Err(no_answer(what, &error)),
    }
    Ok(())
}

fn plus_in_parts(b: &mut Bench<'_>, dir: &Fh) -> Result<(Vec<PlusEntry>, usize), Stop> {
    let mut all = Vec::new();
    let mut from = START;
    for parts in 1..=2000 {
        let part =
            b.done_if_supported("READDIRPLUS", |nfs| nfs.readdirplus(dir, from, SMALL, 4096))?;
        let last = part.entries.last().map(|plus| plus.entry.cookie);
        all.extend(part.entries);
        match last {
            _ if part.eof => return Ok((all, parts)),
            Some(cookie) => from = (cookie, part.cookieverf),
            None => return Err(Stop::fail("READDIRPLUS: entries, or eof", "neither")),
        }
    }
    Err(Stop::fail("READDIRPLUS: an end", "none after 2000 answers"))
}

fn plus_all_once(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    fill(b, ENTRIES)?;
    let (entries, parts) = plus_in_parts(b, &dir)?;
    let listed = entries.iter().map(|plus| &plus.entry.name[..]);
    listing::each_once((0..ENTRIES).map(name), listed)?;
    b.holds(
        parts > 1,
        "more than one answer of 4096 bytes for 320 entries",
        parts,
    )
}

fn plus_agrees(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.mkdir(b"below")?;
    for number in 0..20 {
        b.file_with(&name(number), &vec![1; number * 10])?;
    }
    let (entries, _) = plus_in_parts(b, &dir)?;
    let mut bare = 0;
    for plus in entries.iter().filter(|plus| !is_dot(&plus.entry.name)) {
        let name = &plus.entry.name;
        let found = b.find(&dir, name)?;
        let wanted = b.attributes(&found)?;
        b.equal(
            &format!("fileid of {}", shown(name)),
            wanted.fileid,
            plus.entry.fileid,
        )?;
        if let Some(given) = plus.attributes {
            b.equal(
                &format!("fileid, type, size and links of {}", shown(name)),
                (wanted.fileid, wanted.ftype, wanted.size, wanted.nlink),
                (given.fileid, given.ftype, given.size, given.nlink),
            )?;
        }
        if let Some(handle) = plus.handle {
            let is = b.attributes(&handle)?;
            b.equal("fileid of the returned handle", wanted.fileid, is.fileid)?;
        }
        bare += usize::from(plus.attributes.is_none() || plus.handle.is_none());
    }
    if bare > 0 {
        b.note(format!(
            "{bare} of 21 entries have no attributes or no handle"
        ));
    }
    Ok(())
}

fn plus_count(b: &mut Bench<'_>) -> Outcome {
    fill(b, 100)?;
    for maxcount in [2048, 8192] {
        let mut args = Vec::new();
        let call = ReaddirplusArgs {
            dir: b.dir.handle(),
            cookie: 0,
            cookieverf: START.1,
            dircount: maxcount,
            maxcount,
        };
        xdr::append(&mut args, &call);
        let dir = b.dir;
        b.done_if_supported("READDIRPLUS", |nfs| {
            nfs.readdirplus(&dir, START, maxcount, maxcount)
        })?;
        let len = answer_bytes(b, Procedure::Readdirplus, &args)?;
        within(b, "READDIRPLUS3resok", len, maxcount)?;
    }
    Ok(())
}

fn plus_notdir(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    let wanted = [Nfsstat3::Notdir, Nfsstat3::Notsupp];
    b.refused("READDIRPLUS of a file", &wanted, |nfs| {
        nfs.readdirplus(&file, START, 1024, 4096)
    })
    .map(drop)
}
