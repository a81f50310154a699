//! READDIR.

use super::ops::{Bench, Check, Outcome, nfs};
use crate::client::{ClientError, NFS_V2};
use crate::validate::listing::name;
use crate::validate::shared::readdir::{
    self as shared, each_once, empty, fileids, fill, in_parts, notdir,
};
use crate::validate::text::{is_dot, no_answer, shown};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs2::*;
use filermark_onc::xdr;

checks! { CHECKS: Check =>
    "readdir.all_once", nfs(Procedure::Readdir), "300 entries, each once, over many small answers" => all_once;
    "readdir.empty", nfs(Procedure::Readdir), "an empty directory" => empty;
    "readdir.fileids", nfs(Procedure::Readdir), "the fileids are those of the files" => fileids;
    "readdir.count", nfs(Procedure::Readdir), "answers stay within the requested size" => count;
    "readdir.resume", nfs(Procedure::Readdir), "continues after any cookie" => resume;
    "readdir.while_removing", nfs(Procedure::Readdir), "remaining names are listed while others are removed" => while_removing;
    "readdir.bad_cookie", nfs(Procedure::Readdir), "an invalid cookie does no harm" => bad_cookie;
    "readdir.toosmall", nfs(Procedure::Readdir), "a size too small for an entry does not return the end" => toosmall;
    "readdir.notdir", nfs(Procedure::Readdir), "of a file answers NFSERR_NOTDIR" => notdir;
    "readdir.stale", nfs(Procedure::Readdir), "of a removed directory answers NFSERR_STALE" => stale;
}

const ENTRIES: usize = 300;
/// Small enough for many answers, large enough for any name here.
const SMALL: u32 = 512;
const START: u32 = 0;

fn all_once(b: &mut Bench<'_>) -> Outcome {
    shared::all_once(b, ENTRIES, SMALL)
}

/// The count includes the whole result. Servers that count only the entries exceed it by the
/// status and the end marks, which clients accept.
fn count(b: &mut Bench<'_>) -> Outcome {
    const AROUND: usize = 12;
    fill(b, 100)?;
    for count in [512usize, 1024, 2048] {
        let mut args = Vec::new();
        let dir = super::rpc::wire_handle(&b.dir)?;
        let call = ReaddirArgs {
            dir,
            cookie: START,
            count: count as u32,
        };
        xdr::append(&mut args, &call);
        let results = b.nfs.rpc();
        let results = results
            .call_raw(NFS_V2, Procedure::Readdir.to_u32(), &args)
            .map_err(|error| no_answer("READDIR", &error))?;
        let (status, len) = (results.first_chunk().copied(), results.len());
        b.equal("READDIR: status", Some([0; 4]), status)?;
        let what = format!("READDIR: an answer of {count} bytes at most");
        b.holds(len <= count + AROUND, &what, len)?;
        if len > count {
            b.note(format!(
                "an answer of {len} bytes where {count} were requested"
            ));
        }
    }
    Ok(())
}

fn resume(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    fill(b, 30)?;
    let (all, _) = in_parts(b, &dir, SMALL)?;
    for (at, entry) in all.iter().enumerate() {
        let from = entry.next;
        let (part, eof) = b.done("READDIR from a cookie", |nfs| {
            nfs.readdir(&dir, from, MAXDATA as u32)
        })?;
        let wanted = all.get(at + 1).map(|next| shown(&next.name));
        let got = part.first().map(|next| shown(&next.name));
        let name = shown(&entry.name);
        b.equal(&format!("the name after {name}"), wanted, got)?;
        if !eof {
            b.note("the last entry comes without eof: clients need one more READDIR");
        }
    }
    Ok(())
}

/// The calls of `rm -r`. A cookie of version 2 has no verifier, so a server cannot detect that
/// it is not valid any more.
fn while_removing(b: &mut Bench<'_>) -> Outcome {
    const COUNT: usize = 120;
    let dir = b.dir;
    fill(b, COUNT)?;
    let mut from = START;
    loop {
        let (entries, eof) = b.done("READDIR", |nfs| nfs.readdir(&dir, from, SMALL))?;
        let last = entries.last().map(|entry| entry.cookie);
        for entry in entries.iter().filter(|entry| !is_dot(&entry.name)) {
            b.done("REMOVE of a listed file", |nfs| {
                nfs.remove(&dir, &entry.name)
            })?;
        }
        match last {
            Some(cookie) if !eof => from = cookie,
            _ => break,
        }
    }
    let left = b.list(&dir)?.len();
    if left > 0 {
        b.note(format!(
            "READDIR skips {left} of {COUNT} entries while those before are removed: an \
             rm -r may leave files"
        ));
    }
    Ok(())
}

fn bad_cookie(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    fill(b, 30)?;
    let what = "READDIR with an invented cookie";
    match b.either(what, |nfs| nfs.readdir(&dir, 0x7edc_ba98, MAXDATA as u32))? {
        Err(status) => b.note(format!("{what}: {status}")),
        Ok((entries, _)) => b.note(format!("{what} returns {} entries", entries.len())),
    }
    // Later calls must work as before.
    let (entries, _) = in_parts(b, &dir, SMALL)?;
    each_once((0..30).map(name), &entries)
}

fn toosmall(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(&[b'n'; 100])?;
    for bytes in [8, 20] {
        let what = format!("READDIR of {bytes} bytes at most");
        match b.nfs.readdir(&dir, START, bytes) {
            Ok(Err(status)) => b.note(format!("{what}: {status}")),
            Ok(Ok((entries, true))) if entries.iter().all(|entry| is_dot(&entry.name)) => {
                return Err(Stop::fail(
                    format!("{what}: an error, or entries, or no eof"),
                    "eof without the existing entry",
                ));
            }
            Ok(Ok((entries, _))) => b.note(format!("{what} returns {} entries", entries.len())),
            // No client requests so few bytes, so this does no harm.
            Err(error @ (ClientError::Garbage { .. } | ClientError::Refused { .. })) => {
                b.note(format!("{what}: {error}"));
            }
            Err(error) => return Err(no_answer(&what, &error)),
        }
    }
    Ok(())
}

fn stale(b: &mut Bench<'_>) -> Outcome {
    let gone = b.removed_dir()?;
    b.becomes_stale("READDIR of a removed directory", |nfs| {
        nfs.readdir(&gone, START, 4096)
    })
}
