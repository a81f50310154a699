//! READ, WRITE and COMMIT: in the file system, and canned.

use super::answer::{Refusal, put};
use super::context::Context;
use super::convert::{attr, file_id, status, wcc};
use super::nfs::Served;
use super::null::sample::{self, VERIFIER};
use super::null::{Request, runs};
use crate::memfs::{Attr, Changed, FileId, FsError, ReadEnd};
use crate::options::ServerOptions;
use filermark_onc::nfs3::*;
use filermark_onc::xdr::Encoder;

/// Status, attributes, count, end mark and length in front of READ's data, in bytes.
const FRONT_OF_READ: usize = 4 + (4 + 84) + 4 + 4 + 4;

impl Served for ReadArgs<'_> {
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        read(cx, self, out);
    }

    fn prepared(_: &ServerOptions, _: &mut Vec<u8>) {}

    #[inline]
    fn canned(request: &mut Request<'_, '_>) -> Result<bool, Refusal> {
        let args: ReadArgs<'_> = request.args()?;
        if let Some(run) = runs::run_of(&args.file) {
            read_marker(run, &args, request);
            return Ok(true);
        }
        let count = args.count.min(request.replies.rtmax);
        request.counters.bytes_read.add(u64::from(count));
        request.copy_read(count);
        Ok(true)
    }
}

/// READ of the marker of a run.
fn read_marker(run: u64, args: &ReadArgs<'_>, request: &mut Request<'_, '_>) {
    let file_attributes = Some(sample::attributes(Ftype3::Reg));
    let marker = request.replies.runs.marker(run);
    let result = marker.as_ref().map(|bytes| {
        let from = usize::try_from(args.offset).unwrap_or(usize::MAX);
        let rest = bytes.get(from..).unwrap_or_default();
        let data = &rest[..rest.len().min(args.count as usize)];
        ReadOk {
            file_attributes,
            count: data.len() as u32,
            eof: data.len() == rest.len(),
            data,
        }
    });
    let count = result.as_ref().map_or(0, |ok| u64::from(ok.count));
    let result: ReadRes<'_> = result.map_err(|status| Failed::new(*status));
    request.reply(&result);
    request.counters.bytes_read.add(count);
}

/// The data goes from the file into the reply in one copy: behind a gap for the fields
/// in front, which are known only afterwards.
fn read(cx: &mut Context<'_>, args: &ReadArgs<'_>, out: &mut Vec<u8>) {
    let id = match file_id(&args.file) {
        Ok(id) => id,
        Err(status) => return put(out, &ReadRes::Err(Failed::new(status))),
    };
    let gap = out.len();
    out.resize(gap + FRONT_OF_READ, 0);
    let data = out.len();
    let (found, end) = fetch(cx, id, args.offset, args.count, out);
    match (found, end) {
        (Some(found), Ok(end)) => {
            let front = &mut *cx.scratch;
            front.clear();
            let mut e = Encoder::new(front);
            e.put(&Nfsstat3::Ok);
            e.put(&Some(attr(&found, cx.shared.fsid)));
            e.u32(end.count);
            e.bool(end.eof);
            e.u32(end.count);
            out[gap..data].copy_from_slice(front);
        }
        (found, end) => {
            out.truncate(gap);
            let error = end.err().unwrap_or(FsError::Stale);
            put(out, &ReadRes::Err(cx.obj_failed(error, found)));
        }
    }
}

/// Appends the data of a READ of any version, filled up to a multiple of 4 bytes: as much as was asked for,
/// but for the limits and faults of the server.
pub(super) fn fetch(
    cx: &Context<'_>,
    id: FileId,
    offset: u64,
    count: u32,
    out: &mut Vec<u8>,
) -> (Option<Attr>, Result<ReadEnd, FsError>) {
    let wanted = count.min(cx.options.rtmax);
    let count = wanted.min(cx.shared.faults.short.unwrap_or(u32::MAX));
    let (fs, start) = (&cx.shared.fs, out.len());
    let (found, end) = fs.read_file(id, offset, count, &cx.caller.cred(), out);
    if let Ok(end) = &end {
        out.resize(start + (end.count as usize).next_multiple_of(4), 0);
        cx.counters.bytes_read.add(u64::from(end.count));
        let is_cut = end.count < wanted && !end.eof;
        cx.counters.transfers_cut.add(u64::from(is_cut));
    }
    (found, end)
}

impl Served for WriteArgs<'_> {
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &write(cx, self));
    }

    fn prepared(_: &ServerOptions, _: &mut Vec<u8>) {}

    #[inline]
    fn canned(request: &mut Request<'_, '_>) -> Result<bool, Refusal> {
        let args: WriteArgs<'_> = request.args()?;
        if let Some(run) = runs::run_of(&args.file) {
            write_marker(run, &args, request);
            return Ok(true);
        }
        let count = args.count.min(args.data.len() as u32);
        let count = count.min(request.replies.wtmax);
        request.counters.bytes_written.add(u64::from(count));
        request.reply(&WriteRes::Ok(canned_write(count)));
        Ok(true)
    }
}

fn canned_write(count: u32) -> WriteOk {
    WriteOk {
        file_wcc: sample::wcc(Ftype3::Reg),
        count,
        committed: StableHow::FileSync,
        verf: VERIFIER,
    }
}

/// WRITE to the marker of a run.
fn write_marker(run: u64, args: &WriteArgs<'_>, request: &mut Request<'_, '_>) {
    let count = args.data.len().min(args.count as usize);
    let (runs, data) = (&request.replies.runs, &args.data[..count]);
    let written = runs.set_marker(run, args.offset, data);
    let result = written.map(|()| canned_write(count as u32));
    let count = result.as_ref().map_or(0, |ok| u64::from(ok.count));
    let result: WriteRes = result.map_err(Failed::new);
    request.reply(&result);
    request.counters.bytes_written.add(count);
}

fn write(cx: &Context<'_>, args: &WriteArgs<'_>) -> WriteRes {
    let id = file_id(&args.file).map_err(Failed::new)?;
    let Some(data) = args.data.get(..args.count as usize) else {
        return Err(Failed::new(Nfsstat3::Inval)); // fewer bytes than announced
    };
    let done = store(cx, id, args.offset, data, args.stable);
    let file_wcc = wcc(&done.wcc, cx.shared.fsid);
    match done.result {
        Ok(stored) => Ok(WriteOk {
            file_wcc,
            count: stored.count,
            committed: stored.committed,
            verf: stored.verf,
        }),
        Err(error) => Err(Failed {
            status: status(error),
            info: FileWcc { file_wcc },
        }),
    }
}

/// What a WRITE did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored {
    pub(super) count: u32,
    pub(super) committed: StableHow,
    pub(super) verf: Verf,
}

/// WRITE of versions 3 and 4: as much as was asked for, but for the limits and faults of the server.
pub(super) fn store(
    cx: &Context<'_>,
    id: FileId,
    offset: u64,
    data: &[u8],
    stable: StableHow,
) -> Changed<Stored> {
    let (shared, wanted) = (cx.shared, data.len());
    let most = cx
        .options
        .wtmax
        .min(shared.faults.short.unwrap_or(u32::MAX)) as usize;
    let data = &data[..wanted.min(most)];
    let unstable = shared.faults.unstable && stable == StableHow::Unstable;
    // The verifier of the time before the write: what is lost while it is answered has an
    // earlier one than the COMMIT that follows.
    let verf = shared.fs.write_verifier().to_be_bytes();
    let cred = cx.caller.cred();
    let done = match unstable && shared.faults.loses {
        true => shared.fs.write_unstable(id, offset, data, &cred),
        false => shared.fs.write_file(id, offset, data, &cred),
    };
    if done.result.is_ok() {
        count_write(cx, data.len(), wanted);
    }
    let committed = match unstable {
        true => StableHow::Unstable,
        false => StableHow::FileSync,
    };
    Changed {
        wcc: done.wcc,
        result: done.result.map(|()| Stored {
            count: data.len() as u32,
            committed,
            verf,
        }),
    }
}

/// Counts a WRITE that was done, and changes the write verifier where that is due.
fn count_write(cx: &Context<'_>, written: usize, wanted: usize) {
    cx.counters.bytes_written.add(written as u64);
    cx.counters.transfers_cut.add(u64::from(written < wanted));
    let shared = cx.shared;
    if shared.faults.verifier_changes() {
        match shared.faults.loses {
            true => cx.counters.writes_lost.add(shared.fs.revert_uncommitted()),
            false => shared.fs.change_write_verifier(),
        }
        cx.counters.verifier_changes.add(1);
    }
}

impl Served for CommitArgs<'_> {
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        put(out, &commit(cx, self));
    }

    fn prepared(_: &ServerOptions, out: &mut Vec<u8>) {
        let committed = CommitOk {
            file_wcc: sample::wcc(Ftype3::Reg),
            verf: VERIFIER,
        };
        put(out, &CommitRes::Ok(committed));
    }
}

fn commit(cx: &Context<'_>, args: &CommitArgs<'_>) -> CommitRes {
    let id = file_id(&args.file).map_err(Failed::new)?;
    let done = cx.shared.fs.commit(id, &cx.caller.cred());
    let file_wcc = wcc(&done.wcc, cx.shared.fsid);
    match done.result {
        Ok(()) => Ok(CommitOk {
            file_wcc,
            verf: cx.shared.fs.write_verifier().to_be_bytes(),
        }),
        Err(error) => Err(Failed {
            status: status(error),
            info: FileWcc { file_wcc },
        }),
    }
}
