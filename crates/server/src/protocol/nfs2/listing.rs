//! Version 2's READDIR: numbers, names and cookies of 32 bits.

use super::convert::{failed, file_id};
use crate::memfs::{DirEntry, Listing};
use crate::protocol::nfs::Context;
use crate::protocol::put;
use filermark_onc::nfs2::{Entry, MAXDATA, Nfsstat, ReaddirArgs, ReaddirRes};
use filermark_onc::nfs3::DirListWriter;

/// Bytes of an entry besides its name: marker, fileid, length, cookie.
const ENTRY: usize = 4 + 4 + 4 + 4;

fn list(cx: &Context<'_>, args: &ReaddirArgs<'_>, count: u32) -> Result<Listing, Nfsstat> {
    // Collect as much as could fit; the writer has the last word on what does.
    let mut room = count as usize;
    let take = |entry: &DirEntry| {
        let taken = ENTRY + entry.name.len();
        let first = room == count as usize;
        let fits = first || taken <= room;
        room = room.saturating_sub(taken);
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
pub(super) fn readdir(cx: &Context<'_>, args: &ReaddirArgs<'_>, out: &mut Vec<u8>) {
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
