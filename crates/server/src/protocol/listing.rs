//! READDIR and READDIRPLUS, of the file system and canned: as many entries as fit the client's limits.

use super::answer::{Refusal, put, reply};
use super::context::Context;
use super::convert::{attr, file_id, handle, status};
use super::nfs::Served;
use super::null::sample::{self, VERIFIER};
use super::null::{Request, runs};
use crate::memfs::{DirEntry, FsError, Listing};
use crate::options::ServerOptions;
use filermark_onc::nfs3::*;

/// The largest listing that is made, in bytes, whatever the client's limit.
const MAX_LISTING: u32 = 1 << 20;

pub(super) fn max_listing(cx: &Context<'_>) -> u32 {
    MAX_LISTING.min(cx.options.rtmax)
}

/// Bytes of an `entry3` besides its name: marker, fileid, length, cookie.
const ENTRY: usize = 4 + 8 + 4 + 8;

/// READDIR and READDIRPLUS fail with equal bytes.
fn fail(out: &mut Vec<u8>, status: Nfsstat3, dir_attributes: PostOpAttr) {
    put(
        out,
        &ReaddirRes::Err(Failed {
            status,
            info: DirAttr { dir_attributes },
        }),
    );
}

/// The arguments of both.
struct Wanted<'a> {
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
    request: &Wanted<'_>,
) -> Result<(PostOpAttr, Listing), (Nfsstat3, PostOpAttr)> {
    let dir = file_id(&request.dir).map_err(|status| (status, None))?;
    // Collect as much as could fit; the encoder decides which entries do.
    let mut budget = request.max_names as usize;
    let take = |entry: &DirEntry| {
        let taken = ENTRY + entry.name.len();
        let first = budget == request.max_names as usize;
        let fits = first || taken <= budget;
        budget = budget.saturating_sub(taken);
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
    request: &Wanted<'_>,
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

impl Served for ReaddirArgs<'_> {
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        readdir(cx, self, out);
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        put_canned(None, (0, u32::MAX), false, out);
    }

    #[inline]
    fn canned(request: &mut Request<'_, '_>) -> Result<bool, Refusal> {
        let args: ReaddirArgs<'_> = request.args()?;
        let Some(id) = runs::run_of(&args.dir) else {
            return Ok(false);
        };
        let (marked, part) = (
            request.replies.runs.is_marked(id),
            (args.cookie, args.count),
        );
        reply(request.out, request.xid, |out| match marked {
            Ok(marked) => put_canned(Some((id, marked)), part, false, out),
            Err(status) => fail(out, status, Some(sample::attributes(Ftype3::Dir))),
        });
        Ok(true)
    }
}

impl Served for ReaddirplusArgs<'_> {
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        readdirplus(cx, self, out);
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        put_canned(None, (0, u32::MAX), true, out);
    }

    #[inline]
    fn canned(request: &mut Request<'_, '_>) -> Result<bool, Refusal> {
        let args: ReaddirplusArgs<'_> = request.args()?;
        let Some(id) = runs::run_of(&args.dir) else {
            return Ok(false);
        };
        let (marked, part) = (
            request.replies.runs.is_marked(id),
            (args.cookie, args.maxcount),
        );
        reply(request.out, request.xid, |out| match marked {
            Ok(marked) => put_canned(Some((id, marked)), part, true, out),
            Err(status) => fail(out, status, Some(sample::attributes(Ftype3::Dir))),
        });
        Ok(true)
    }
}

/// A canned listing behind a cookie, of so many bytes at most: `.`, `..`, and in the directory of a run the
/// marker where there is one.
fn put_canned(
    run: Option<(u64, bool)>,
    (cookie, count): (u64, u32),
    plus: bool,
    out: &mut Vec<u8>,
) {
    let dir_attributes = Some(sample::attributes(Ftype3::Dir));
    let (id, marked) = run.unwrap_or_default();
    let mut writer = DirListWriter::begin(out, dir_attributes, VERIFIER, count);
    let entries = [
        (1, &b"."[..], Ftype3::Dir, runs::handle_of(Ftype3::Dir, id)),
        (2, b"..", Ftype3::Dir, sample::handle(Ftype3::Dir)),
        (
            3,
            runs::MARKER,
            Ftype3::Reg,
            runs::handle_of(Ftype3::Reg, id),
        ),
    ];
    let shown = entries.iter().take(2 + usize::from(marked));
    let mut shown = shown.filter(|entry| entry.0 > cookie);
    let all = shown.all(|(cookie, name, kind, fh)| {
        let fileid = u64::from(kind.to_u32());
        let (name, cookie) = (*name, *cookie);
        match plus {
            true => writer.push(&EntryPlus3 {
                fileid,
                name,
                cookie,
                name_attributes: Some(sample::attributes(*kind)),
                name_handle: FileHandle::new(fh),
            }),
            false => writer.push(&Entry3 {
                fileid,
                name,
                cookie,
            }),
        }
    });
    if writer.is_empty() && !all {
        writer.cancel();
        return fail(out, Nfsstat3::Toosmall, dir_attributes);
    }
    writer.finish(all);
}

fn readdir(cx: &Context<'_>, args: &ReaddirArgs<'_>, out: &mut Vec<u8>) {
    let count = args.count.min(max_listing(cx));
    let request = Wanted {
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

fn readdirplus(cx: &Context<'_>, args: &ReaddirplusArgs<'_>, out: &mut Vec<u8>) {
    let request = Wanted {
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
