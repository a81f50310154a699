//! READ_PLUS (RFC 7862 section 15.10): data, and holes that are named instead of transferred.

use super::super::transfer::fetch;
use super::compound::{Compound, Results};
use crate::memfs::{FileId, SeekFor};
use filermark_onc::nfs4::*;
use filermark_onc::xdr::Encoder;

/// Most parts of a reply.
const PARTS_MAX: u32 = 256;
/// Status, end mark and number of parts in front of the parts, in bytes.
const FRONT: usize = 4 + 4 + 4;
/// Kind, offset and length in front of the data of a part, in bytes.
const FRONT_OF_DATA: usize = 4 + 8 + 4;

/// What was appended.
struct Parts {
    count: u32,
    eof: bool,
}

impl Compound<'_> {
    pub(super) fn read_plus(&self, args: &ReadPlusArgs, results: &mut Results<'_>) -> Nfsstat4 {
        let (id, _held) = match self.transferred(&args.stateid, share::READ) {
            Ok(file) => file,
            Err(status) => return results.fail(Operation::ReadPlus, status),
        };
        let (mark, mut failed) = (results.mark(), None);
        let done = results.with(Operation::ReadPlus, |out| {
            let gap = out.len();
            out.resize(gap + FRONT, 0);
            match self.append_parts(id, args, out) {
                Ok(parts) => {
                    let mut front = Vec::with_capacity(FRONT);
                    let mut e = Encoder::new(&mut front);
                    e.put(&Nfsstat4::Ok);
                    e.bool(parts.eof);
                    e.u32(parts.count);
                    out[gap..gap + FRONT].copy_from_slice(&front);
                }
                Err(status) => failed = Some(status),
            }
        });
        match failed {
            None => done,
            Some(status) => {
                results.reset(mark);
                results.fail(Operation::ReadPlus, status)
            }
        }
    }

    /// Appends data and holes from the offset on, in turn.
    fn append_parts(&self, id: FileId, args: &ReadPlusArgs, out: &mut Vec<u8>) -> Res<Parts> {
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        let size = Self::of_fs(fs.readable_size(id, &cred))?;
        let count = u64::from(args.count.min(self.cx.options.rtmax));
        let end = args.offset.saturating_add(count).min(size);
        let (mut at, mut parts) = (args.offset, 0);
        while at < end && parts < PARTS_MAX {
            let data = Self::of_fs(fs.seek(id, at, SeekFor::Data, &cred))?;
            let data = data.unwrap_or(size).min(end);
            if data > at {
                let mut e = Encoder::new(out);
                e.put(&DataContent4::Hole);
                e.u64(at);
                e.u64(data - at);
                at = data;
            } else {
                let hole = Self::of_fs(fs.seek(id, at, SeekFor::Hole, &cred))?;
                let length = hole.unwrap_or(size).min(end) - at;
                let read = self.append_data(id, at, length as u32, out)?;
                at += u64::from(read);
                if u64::from(read) < length {
                    parts += 1;
                    break;
                }
            }
            parts += 1;
        }
        Ok(Parts {
            count: parts,
            eof: at >= size,
        })
    }

    fn append_data(&self, id: FileId, offset: u64, count: u32, out: &mut Vec<u8>) -> Res<u32> {
        let gap = out.len();
        out.resize(gap + FRONT_OF_DATA, 0);
        let (_, end) = fetch(&self.cx, id, offset, count, out);
        let end = Self::of_fs(end)?;
        let mut front = Vec::with_capacity(FRONT_OF_DATA);
        let mut e = Encoder::new(&mut front);
        e.put(&DataContent4::Data);
        e.u64(offset);
        e.u32(end.count);
        out[gap..gap + FRONT_OF_DATA].copy_from_slice(&front);
        Ok(end.count)
    }
}
