//! Version 2's READDIR: numbers, names and cookies of 32 bits; of the file system, and canned.

use super::Served;
use super::convert::{failed, file_id};
use crate::memfs::{DirEntry, Listing};
use crate::protocol::answer::put;
use crate::protocol::context::Context;
use crate::protocol::null::v2_handles::{refused, run};
use crate::protocol::null::{Replies, runs};
use crate::stats::Counters;
use filermark_onc::nfs2::*;
use filermark_onc::nfs3::{DirListWriter, Ftype3, Procedure as Procedure3};

/// Bytes of an entry besides its name: marker, fileid, length, cookie.
const ENTRY: usize = 4 + 4 + 4 + 4;

fn list(cx: &Context<'_>, args: &ReaddirArgs<'_>, count: u32) -> Result<Listing, Nfsstat> {
    // Collect as much as could fit; the writer has the last word on what does.
    let mut budget = count as usize;
    let take = |entry: &DirEntry| {
        let taken = ENTRY + entry.name.len();
        let first = budget == count as usize;
        let fits = first || taken <= budget;
        budget = budget.saturating_sub(taken);
        fits
    };
    let (dir, cookie) = (file_id(&args.dir)?, u64::from(args.cookie));
    let (_, listing) = cx
        .shared
        .fs
        .readdir(dir, cookie, None, &cx.caller.cred(), false, take);
    listing.map_err(failed)
}

/// As many entries as fit into `count` bytes, 8,192 at most.
fn readdir(cx: &Context<'_>, args: &ReaddirArgs<'_>, out: &mut Vec<u8>) {
    let count = args.count.min(MAXDATA as u32);
    let listing = match list(cx, args, count) {
        Ok(listing) => listing,
        Err(status) => return put(out, &ReaddirRes::Err(status)),
    };
    let mut writer = DirListWriter::begin_v2(out, count);
    let all = listing.entries.iter().all(|entry| {
        // Only a directory that saw 4 billion names made ends early.
        u32::try_from(entry.cookie).is_ok_and(|cookie| {
            writer.push(&Entry {
                fileid: entry.id.number as u32,
                name: &entry.name,
                cookie,
            })
        })
    });
    if writer.is_empty() && !all {
        // There is no TOOSMALL; an empty list without an end would make clients ask for ever.
        writer.cancel();
        return put(out, &ReaddirRes::Err(Nfsstat::Inval));
    }
    writer.finish(all && listing.eof);
}

impl Served for ReaddirArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Readdir;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        readdir(cx, self, out);
    }

    fn canned(&self, replies: &Replies, _: &Counters, out: &mut Vec<u8>) {
        match run(&self.dir).map(|id| replies.runs.is_marked(id)) {
            None => put_canned(self, false, out),
            Some(Ok(marked)) => put_canned(self, marked, out),
            Some(Err(status)) => put(out, &ReaddirRes::Err(refused(status))),
        }
    }
}

/// `.`, `..`, and the marker of a run's directory where there is one.
fn put_canned(args: &ReaddirArgs<'_>, marked: bool, out: &mut Vec<u8>) {
    let entries = [
        (1, &b"."[..], Ftype3::Dir),
        (2, b"..", Ftype3::Dir),
        (3, runs::MARKER, Ftype3::Reg),
    ];
    let mut writer = DirListWriter::begin_v2(out, args.count.min(MAXDATA as u32));
    let shown = entries.iter().take(2 + usize::from(marked));
    let mut shown = shown.filter(|entry| entry.0 > args.cookie);
    let all = shown.all(|(cookie, name, kind)| {
        writer.push(&Entry {
            fileid: kind.to_u32(),
            name,
            cookie: *cookie,
        })
    });
    if writer.is_empty() && !all {
        writer.cancel();
        return put(out, &ReaddirRes::Err(Nfsstat::Inval));
    }
    writer.finish(all);
}
