//! Version 2's procedures that only look, listings apart, and READ: in the file system, and canned.

use super::Served;
use super::convert::{BLOCK, attr, clamp, failed, file_id, wide_handle};
use crate::memfs::{FsError, ObjectAttr};
use crate::protocol::answer::put;
use crate::protocol::context::Context;
use crate::protocol::null::Replies;
use crate::protocol::null::v2_handles::{
    attributes, attrstat, kind_of, named, put_thing, refused, run,
};
use crate::stats::Counters;
use filermark_onc::nfs2::*;
use filermark_onc::nfs3::{Ftype3, Procedure as Procedure3};
use filermark_onc::xdr::Encoder;

/// Status, attributes and length in front of READ's data, in bytes.
const FRONT_OF_READ: usize = 4 + 68 + 4;
/// What the canned READ gives.
const ZEROES: [u8; MAXDATA] = [0; MAXDATA];

impl Served for GetattrArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Getattr;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &getattr(cx, self));
    }

    fn canned(&self, _: &Replies, _: &Counters, out: &mut Vec<u8>) {
        put(out, &attrstat(kind_of(&self.file)));
    }
}

fn getattr(cx: &Context<'_>, args: &GetattrArgs<'_>) -> AttrstatRes {
    let found = cx.shared.fs.getattr(file_id(&args.file)?).map_err(failed)?;
    Ok(AttrstatOk {
        attributes: attr(&found, cx.shared.fsid),
    })
}

/// Answers with what was found or made.
pub(super) fn put_found(cx: &Context<'_>, found: &ObjectAttr, out: &mut Vec<u8>) {
    let handle = wide_handle(found.id);
    let ok = DiropOk {
        file: Fhandle::new(&handle),
        attributes: attr(&found.attr, cx.shared.fsid),
    };
    put(out, &DiropRes::Ok(ok));
}

impl Served for LookupArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Lookup;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        lookup(cx, self, out);
    }

    fn canned(&self, replies: &Replies, _: &Counters, out: &mut Vec<u8>) {
        let found = match named(&self.what) {
            Some(named) => replies.runs.find(named),
            None => Ok((Ftype3::Reg, 0)),
        };
        put_thing(found, out);
    }
}

fn lookup(cx: &Context<'_>, args: &LookupArgs<'_>, out: &mut Vec<u8>) {
    let found = file_id(&args.what.dir).and_then(|dir| {
        let (_, found) = cx.shared.fs.lookup(dir, args.what.name, &cx.caller.cred());
        found.map_err(failed)
    });
    match found {
        Ok(found) => put_found(cx, &found, out),
        Err(status) => put(out, &DiropRes::Err(status)),
    }
}

impl Served for ReadlinkArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Readlink;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        readlink(cx, self, out);
    }

    fn canned(&self, _: &Replies, _: &Counters, out: &mut Vec<u8>) {
        put(out, &ReadlinkRes::Ok(ReadlinkOk { data: b"target" }));
    }
}

fn readlink(cx: &Context<'_>, args: &ReadlinkArgs<'_>, out: &mut Vec<u8>) {
    let target = file_id(&args.file).and_then(|id| cx.shared.fs.readlink(id).1.map_err(failed));
    match target {
        Ok(target) => put(out, &ReadlinkRes::Ok(ReadlinkOk { data: &target })),
        Err(status) => put(out, &ReadlinkRes::Err(status)),
    }
}

impl Served for ReadArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Read;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        read(cx, self, out);
    }

    fn canned(&self, replies: &Replies, counters: &Counters, out: &mut Vec<u8>) {
        let most = self.count.min(replies.rtmax).min(MAXDATA as u32) as usize;
        let marker = run(&self.file).map(|id| replies.runs.marker(id));
        match marker.transpose() {
            Ok(None) => counted(&ZEROES[..most], counters, out),
            Ok(Some(bytes)) => {
                let from = bytes.len().min(self.offset as usize);
                let end = bytes.len().min(from.saturating_add(most));
                counted(&bytes[from..end], counters, out);
            }
            Err(status) => put(out, &ReadRes::Err(refused(status))),
        }
    }
}

/// READ's canned results.
fn counted(data: &[u8], counters: &Counters, out: &mut Vec<u8>) {
    counters.bytes_read.add(data.len() as u64);
    let attributes = attributes(Ftype3::Reg);
    put(out, &ReadRes::Ok(ReadOk { attributes, data }));
}

/// The data goes into the reply in one copy, behind a gap for the fields in front, as in version 3.
fn read(cx: &mut Context<'_>, args: &ReadArgs<'_>, out: &mut Vec<u8>) {
    let id = match file_id(&args.file) {
        Ok(id) => id,
        Err(status) => return put(out, &ReadRes::Err(status)),
    };
    let shared = cx.shared;
    // Version 2 reads a file only up to the largest size that it can report.
    let visible = clamp(FILE_BYTES_MAX.saturating_sub(u64::from(args.offset)));
    let wanted = args
        .count
        .min(MAXDATA as u32)
        .min(cx.options.rtmax)
        .min(visible);
    let count = wanted.min(shared.faults.short.unwrap_or(u32::MAX));
    let gap = out.len();
    out.resize(gap + FRONT_OF_READ, 0);
    let data = out.len();
    let cred = cx.caller.cred();
    let (found, end) = shared
        .fs
        .read_file(id, u64::from(args.offset), count, &cred, out);
    match (found, end) {
        (Some(found), Ok(end)) => {
            out.resize(data + (end.count as usize).next_multiple_of(4), 0);
            let front = &mut *cx.scratch;
            front.clear();
            let mut e = Encoder::new(front);
            e.put(&Nfsstat::Ok);
            e.put(&attr(&found, shared.fsid));
            e.u32(end.count);
            out[gap..data].copy_from_slice(front);
            cx.counters.bytes_read.add(u64::from(end.count));
            cx.counters
                .transfers_cut
                .add(u64::from(end.count < wanted && !end.eof));
        }
        (_, end) => {
            out.truncate(gap);
            let error = end.err().unwrap_or(FsError::Stale);
            put(out, &ReadRes::Err(failed(error)));
        }
    }
}

impl Served for StatfsArgs<'_> {
    const IN_V3: Procedure3 = Procedure3::Fsstat;

    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &statfs(cx, self));
    }

    fn canned(&self, replies: &Replies, _: &Counters, out: &mut Vec<u8>) {
        let space = statfs_of(replies.capacity_bytes, replies.capacity_bytes);
        put(out, &StatfsRes::Ok(space));
    }
}

fn statfs(cx: &Context<'_>, args: &StatfsArgs<'_>) -> StatfsRes {
    let stat = cx.shared.fs.fsstat(file_id(&args.file)?).1;
    let stat = stat.map_err(failed)?;
    Ok(statfs_of(stat.total_bytes, stat.free_bytes))
}

/// STATFS in blocks; what 32 bits cannot say shows as the largest number there is.
fn statfs_of(total_bytes: u64, free_bytes: u64) -> StatfsOk {
    let blocks = |bytes: u64| clamp(bytes / u64::from(BLOCK));
    StatfsOk {
        tsize: MAXDATA as u32,
        bsize: BLOCK,
        blocks: blocks(total_bytes),
        bfree: blocks(free_bytes),
        bavail: blocks(free_bytes),
    }
}
