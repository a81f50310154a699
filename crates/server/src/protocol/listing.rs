//! READDIR and READDIRPLUS: as many entries as the client has room for.

use super::convert::{attr, file_id, handle, status};
use super::nfs::Context;
use super::put;
use crate::memfs::{DirEntry, FsError, Listing};
use filermark_onc::nfs3::{
    DirAttr, DirListWriter, Entry3, EntryPlus3, Failed, FileHandle, Nfsstat3, PostOpAttr,
    ReaddirArgs, ReaddirRes, ReaddirplusArgs,
};

/// The largest listing that is made, in bytes, whatever the client has room for.
const MAX_LISTING: u32 = 1 << 20;

fn max_listing(cx: &Context<'_>) -> u32 {
    MAX_LISTING.min(cx.options.rtmax)
}

/// Bytes of an `entry3` besides its name: marker, fileid, length, cookie.
const ENTRY: usize = 4 + 8 + 4 + 8;

/// READDIR's and READDIRPLUS's failure look the same.
fn fail(out: &mut Vec<u8>, status: Nfsstat3, dir_attributes: PostOpAttr) {
    put(
        out,
        &ReaddirRes::Err(Failed {
            status,
            info: DirAttr { dir_attributes },
        }),
    );
}

/// What both ask for.
struct Request<'a> {
    dir: FileHandle<'a>,
    cookie: u64,
    verifier: Option<u64>,
    /// Bytes of the reply.
    max_bytes: u32,
    /// Bytes of names, cookies and numbers in it.
    max_names: u32,
    plus: bool,
}

fn list(
    cx: &Context<'_>,
    request: &Request<'_>,
) -> Result<(PostOpAttr, Listing), (Nfsstat3, PostOpAttr)> {
    let dir = file_id(&request.dir).map_err(|status| (status, None))?;
    // Collect as much as could fit; the writer has the last word on what does.
    let mut room = request.max_names as usize;
    let take = |entry: &DirEntry| {
        let taken = ENTRY + entry.name.len();
        let first = room == request.max_names as usize;
        let fits = first || taken <= room;
        room = room.saturating_sub(taken);
        fits
    };
    let (found, listing) = cx.shared.fs.readdir(
        dir,
        request.cookie,
        request.verifier,
        &cx.caller.cred(),
        request.plus,
        take,
    );
    let found = cx.post(found);
    listing
        .map(|listing| (found, listing))
        .map_err(|error: FsError| (status(error), found))
}

fn answer(
    cx: &Context<'_>,
    request: &Request<'_>,
    out: &mut Vec<u8>,
    push: impl Fn(&mut DirListWriter<'_>, &DirEntry) -> bool,
) {
    let (found, listing) = match list(cx, request) {
        Ok(both) => both,
        Err((status, found)) => return fail(out, status, found),
    };
    let verifier = listing.verifier.to_be_bytes();
    let mut writer = DirListWriter::begin(out, found, verifier, request.max_bytes);
    let all = listing.entries.iter().all(|entry| push(&mut writer, entry));
    if writer.is_empty() && !all {
        writer.cancel();
        return fail(out, Nfsstat3::Toosmall, found);
    }
    writer.finish(all && listing.eof);
}

pub(super) fn readdir(cx: &Context<'_>, args: &ReaddirArgs<'_>, out: &mut Vec<u8>) {
    let count = args.count.min(max_listing(cx));
    let request = Request {
        dir: args.dir,
        cookie: args.cookie,
        verifier: Some(u64::from_be_bytes(args.cookieverf)),
        max_bytes: count,
        max_names: count,
        plus: false,
    };
    answer(cx, &request, out, |writer, entry| {
        let (fileid, cookie) = (entry.id.number, entry.cookie);
        writer.push(&Entry3 {
            fileid,
            name: &entry.name,
            cookie,
        })
    });
}

pub(super) fn readdirplus(cx: &Context<'_>, args: &ReaddirplusArgs<'_>, out: &mut Vec<u8>) {
    let request = Request {
        dir: args.dir,
        cookie: args.cookie,
        verifier: Some(u64::from_be_bytes(args.cookieverf)),
        max_bytes: args.maxcount.min(max_listing(cx)),
        max_names: args.dircount.min(args.maxcount).min(max_listing(cx)),
        plus: true,
    };
    answer(cx, &request, out, |writer, entry| {
        let fh = handle(entry.id);
        writer.push(&EntryPlus3 {
            fileid: entry.id.number,
            name: &entry.name,
            cookie: entry.cookie,
            name_attributes: entry.attr.map(|found| attr(&found, cx.shared.fsid)),
            name_handle: FileHandle::new(&fh),
        })
    });
}
