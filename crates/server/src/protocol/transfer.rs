//! READ, WRITE and COMMIT: in the file system, and canned.

use super::answer::{Refusal, put};
use super::context::Context;
use super::convert::{attr, file_id, status, wcc};
use super::nfs::Served;
use super::null::sample::{self, VERIFIER};
use super::null::{Request, runs};
use crate::memfs::FsError;
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
    let wanted = args.count.min(cx.options.rtmax);
    let count = wanted.min(cx.shared.faults.short.unwrap_or(u32::MAX));
    let gap = out.len();
    out.resize(gap + FRONT_OF_READ, 0);
    let data = out.len();
    let fs = &cx.shared.fs;
    let (found, end) = fs.read_file(id, args.offset, count, &cx.caller.cred(), out);
    match (found, end) {
        (Some(found), Ok(end)) => {
            out.resize(data + (end.count as usize).next_multiple_of(4), 0);
            let front = &mut *cx.scratch;
            front.clear();
            let mut e = Encoder::new(front);
            e.put(&Nfsstat3::Ok);
            e.put(&Some(attr(&found, cx.shared.fsid)));
            e.u32(end.count);
            e.bool(end.eof);
            e.u32(end.count);
            out[gap..data].copy_from_slice(front);
            cx.counters.bytes_read.add(u64::from(end.count));
            cx.counters
                .transfers_cut
                .add(u64::from(end.count < wanted && !end.eof));
        }
        (found, end) => {
            out.truncate(gap);
            let error = end.err().unwrap_or(FsError::Stale);
            put(out, &ReadRes::Err(cx.obj_failed(error, found)));
        }
    }
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
    let (shared, wanted) = (cx.shared, args.count as usize);
    let Some(data) = args.data.get(..wanted) else {
        return Err(Failed::new(Nfsstat3::Inval)); // fewer bytes than announced
    };
    let most = cx
        .options
        .wtmax
        .min(shared.faults.short.unwrap_or(u32::MAX)) as usize;
    let data = &data[..data.len().min(most)];
    let unstable = shared.faults.unstable && args.stable == StableHow::Unstable;
    // The verifier of the time before the write: what is lost while it is answered has an
    // earlier one than the COMMIT that follows.
    let verf = shared.fs.write_verifier().to_be_bytes();
    let cred = cx.caller.cred();
    let done = match unstable && shared.faults.loses {
        true => shared.fs.write_unstable(id, args.offset, data, &cred),
        false => shared.fs.write_file(id, args.offset, data, &cred),
    };
    let file_wcc = wcc(&done.wcc, shared.fsid);
    if let Err(error) = done.result {
        return Err(Failed {
            status: status(error),
            info: FileWcc { file_wcc },
        });
    }
    cx.counters.bytes_written.add(data.len() as u64);
    cx.counters
        .transfers_cut
        .add(u64::from(data.len() < wanted));
    if shared.faults.verifier_changes() {
        match shared.faults.loses {
            true => cx.counters.writes_lost.add(shared.fs.revert_uncommitted()),
            false => shared.fs.change_write_verifier(),
        }
        cx.counters.verifier_changes.add(1);
    }
    Ok(WriteOk {
        file_wcc,
        count: data.len() as u32,
        committed: if unstable {
            StableHow::Unstable
        } else {
            StableHow::FileSync
        },
        verf,
    })
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
