//! ALLOCATE, DEALLOCATE, SEEK, COPY and CLONE of version 4.2 (RFC 7862 section 15).

use super::compound::Compound;
use super::stateids::Held;
use crate::memfs::{CopyRange, FileId, SeekFor};
use crate::nfs4::{FileUse, Notice};
use filermark_onc::nfs4::*;

/// Most bytes of one COPY: the file system is locked meanwhile. The client sends another one for the rest.
const COPY_BYTES_MAX: u64 = 16 << 20;
/// Most bytes of one CLONE, which has to be whole; the file system is locked meanwhile. A client that is refused
/// copies instead.
const CLONE_BYTES_MAX: u64 = 256 << 20;

impl Compound<'_> {
    /// The current file, which this stateid must allow to be used so.
    fn used(&self, stateid: &Stateid4, access: u32) -> Res<(FileId, Held<'_>)> {
        let object = self.current()?;
        self.must_be_file(object)?;
        let id = object.file_or(Nfsstat4::Isdir)?;
        let held = self.check_stateid(stateid, id, access)?;
        Ok((id, held))
    }

    pub(super) fn allocate(&self, args: &AllocateArgs) -> AllocateRes {
        let (id, _held) = self.used(&args.stateid, share::WRITE)?;
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        match args.length {
            0 => Err(Nfsstat4::Inval),
            length => Self::of_fs(fs.allocate(id, args.offset, length, &cred)),
        }
    }

    pub(super) fn deallocate(&self, args: &DeallocateArgs) -> DeallocateRes {
        let (id, _held) = self.used(&args.stateid, share::WRITE)?;
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        match args.length {
            0 => Err(Nfsstat4::Inval),
            length => Self::of_fs(fs.deallocate(id, args.offset, length, &cred)),
        }
    }

    pub(super) fn seek(&self, args: &SeekArgs) -> SeekRes {
        let (id, _held) = self.used(&args.stateid, share::READ)?;
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        let what = match args.what {
            DataContent4::Data => SeekFor::Data,
            DataContent4::Hole => SeekFor::Hole,
        };
        let found = Self::of_fs(fs.seek(id, args.offset, what, &cred))?;
        Ok(SeekOk {
            eof: found.is_none(),
            offset: match found {
                Some(offset) => offset,
                None => Self::of_fs(fs.readable_size(id, &cred))?,
            },
        })
    }

    /// The files of COPY and CLONE: from the saved to the current file handle.
    fn both(&self, source: &Stateid4, target: &Stateid4) -> Res<(FileId, FileId, Held<'_>)> {
        let saved = self.saved()?;
        self.must_be_file(saved)?;
        let from = saved.file_or(Nfsstat4::Isdir)?;
        // Each check ends before the next one begins, since both files may have the same lock.
        let (to, of_target) = self.used(target, share::WRITE)?;
        let mut is_held = of_target.is_some();
        drop(of_target);
        let of_source = self.check_resolved(&self.resolved_saved(source)?, from, share::READ)?;
        is_held |= of_source.is_some();
        drop(of_source);
        let held = match is_held {
            true => self.undelegated([Some(from), Some(to)], FileUse::Change)?,
            false => None,
        };
        Ok((from, to, held))
    }

    pub(super) fn copy(&self, args: &CopyArgs<'_>) -> CopyRes {
        self.copied(args).map_err(Failed4::Status)
    }

    fn copied(&self, args: &CopyArgs<'_>) -> Res<CopyOk> {
        if !args.source_server.is_empty() {
            return Err(Nfsstat4::Notsupp); // from another server
        }
        let (from, to, _held) = self.both(&args.src_stateid, &args.dst_stateid)?;
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        let size = Self::of_fs(fs.readable_size(from, &cred))?;
        let rest = size.checked_sub(args.src_offset).ok_or(Nfsstat4::Inval)?;
        let wanted = if args.count == 0 { rest } else { args.count };
        if wanted > rest {
            return Err(Nfsstat4::Inval);
        }
        let short = self.cx.shared.faults.short.map_or(u64::MAX, u64::from);
        let most = COPY_BYTES_MAX.min(short);
        let range = CopyRange {
            from,
            from_offset: args.src_offset,
            to,
            to_offset: args.dst_offset,
            count: wanted.min(most),
        };
        let copied = match wanted {
            0 => Ok(0),
            _ => Self::of_fs(fs.copy_range(&range, &cred)),
        };
        let copied = copied.map(|count| WriteResponse4 {
            callback_id: None,
            count,
            // What is copied is safe, but a server that answers WRITE so does it here, too.
            committed: match self.cx.shared.faults.unstable {
                true => StableHow::Unstable,
                false => StableHow::FileSync,
            },
            writeverf: fs.write_verifier().to_be_bytes(),
        });
        if let Some(reported) = self.reported_later(args, to, copied) {
            return Ok(reported);
        }
        Ok(CopyOk {
            response: copied?,
            requirements: CopyRequirements4 {
                consecutive: true,
                synchronous: true,
            },
        })
    }

    /// The reply to a COPY whose end is reported by CB_OFFLOAD, if the client allows that and can be called.
    fn reported_later(
        &self,
        args: &CopyArgs<'_>,
        target: FileId,
        copied: Res<WriteResponse4>,
    ) -> Option<CopyOk> {
        let call = self.calling().filter(|_| !args.synchronous)?;
        let (shared, clientid) = (self.cx.shared, self.client().ok()?.id);
        let offload = shared.nfs4.offloads.add(clientid, target, call, copied)?;
        shared.send_notice(Notice::Offload(offload));
        Some(CopyOk {
            response: WriteResponse4 {
                callback_id: Some(offload.stateid),
                count: 0,
                committed: StableHow::Unstable,
                writeverf: shared.fs.write_verifier().to_be_bytes(),
            },
            requirements: CopyRequirements4 {
                consecutive: true,
                synchronous: false,
            },
        })
    }

    pub(super) fn offload_status(&self, args: &OffloadStatusArgs) -> OffloadStatusRes {
        let offloads = &self.cx.shared.nfs4.offloads;
        let found = offloads.find(self.client()?.id, &args.stateid);
        let ended = found.ok_or(Nfsstat4::BadStateid)?.ended;
        Ok(OffloadStatusOk {
            count: ended.map_or(0, |response| response.count),
            complete: Some(ended.err().unwrap_or(Nfsstat4::Ok)),
        })
    }

    /// The client wants no report.
    pub(super) fn offload_cancel(&self, args: &OffloadCancelArgs) -> OffloadCancelRes {
        let offloads = &self.cx.shared.nfs4.offloads;
        match offloads.forget(self.client()?.id, &args.stateid) {
            true => Ok(()),
            false => Err(Nfsstat4::BadStateid),
        }
    }

    pub(super) fn clone_range(&self, args: &CloneArgs) -> CloneRes {
        let (from, to, _held) = self.both(&args.src_stateid, &args.dst_stateid)?;
        let range = CopyRange {
            from,
            from_offset: args.src_offset,
            to,
            to_offset: args.dst_offset,
            count: args.count,
        };
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        let size = Self::of_fs(fs.readable_size(from, &cred))?;
        let rest = size.saturating_sub(args.src_offset);
        let count = if args.count == 0 { rest } else { args.count };
        if count.min(rest) > CLONE_BYTES_MAX {
            return Err(Nfsstat4::Notsupp);
        }
        Self::of_fs(fs.copy_range(&range, &cred)).map(drop)
    }
}
