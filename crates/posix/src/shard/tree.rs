//! INIT and CLEANUP: making, filling and removing a proc's tree.

use super::PosixShard;
use super::ranges::Span;
use super::work::OpTally;
use crate::claim::backend::Mounted;
use crate::counters::Tally;
use crate::names;
use crate::sys::{Dir, Errno, File, Kind, OpenMode, Result};
use filermark_driver_kit::claim::{Level, empty_dir};
use filermark_engine::driver::Outcome;
use filermark_engine::file_action::{FileAction, FileRef};
use filermark_model::Bucket;
use std::ffi::CStr;

/// What is looked at of a file of an earlier run, at its beginning and at its end, in
/// bytes.
const LOOK_BYTES: u64 = 4096;
/// One transfer of a fill, in bytes.
const FILL_BYTES: u64 = 1 << 20;

impl PosixShard {
    /// The actions of INIT, preparation and CLEANUP.
    pub(super) fn tree(&mut self, proc: u32, action: &FileAction) -> Outcome {
        use FileAction as A;
        self.timed(|shard, work| match *action {
            A::MakeTree => {
                shard.parts.handles.forget_proc(proc);
                work.physical += 1;
                shard.parts.handles.proc(proc)?.make_top()
            }
            A::MakeDirs { dir } => shard.make_dirs(proc, dir, work),
            A::Fill {
                file,
                content,
                size,
                reuse,
            } => shard.fill(proc, (file, content, size), reuse, work),
            A::Truncate { file, size } => shard.truncate(proc, file, size, work),
            A::RemoveDirs { dir } => shard.remove_dirs(proc, dir, work),
            A::RemoveTree => {
                shard.parts.handles.forget_proc(proc);
                work.physical += 1;
                shard.parts.handles.proc(proc)?.remove_top()
            }
            _ => Err(Errno::NOSYS),
        })
    }

    fn make_dirs(&mut self, proc: u32, dir: u32, work: &mut OpTally) -> Result<()> {
        self.parts.handles.forget_dir(proc, dir);
        let name = names::dir(dir)?;
        let proc = self.parts.handles.proc(proc)?;
        let tree = proc.tree.clone();
        let owned = proc.owned(&[&tree.name, name.as_str()]);
        let dir = owned.make(proc.top()?, name.as_c_str())?;
        for bucket in Bucket::all() {
            let bucket = names::bucket(bucket);
            let owned = proc.owned(&[&tree.name, name.as_str(), bucket.as_str()]);
            owned.make(&dir, bucket.as_c_str())?;
        }
        work.physical += 2 * (1 + Bucket::COUNT as u32);
        Ok(())
    }

    fn fill(
        &mut self,
        proc: u32,
        (file, content, size): (FileRef, u64, u64),
        reuse: bool,
        work: &mut OpTally,
    ) -> Result<()> {
        let name = names::file(file)?;
        let handles = &mut self.parts.handles;
        let slot = handles.dir(proc, file.dir, file.bucket, &mut self.counters)?;
        let dir = handles.dir_at(slot)?;
        if reuse
            && is_file_of(dir, name.as_c_str(), size)
            && self.is_ours(proc, file, content, size)
        {
            self.counters.add(Tally::ReusedFiles);
            work.physical += 1;
            return Ok(());
        }
        let handles = &self.parts.handles;
        let dir = handles.dir_at(slot)?;
        let open = dir.open_fresh(name.as_c_str())?;
        work.physical += 1;
        let mut offset = 0;
        while offset < size {
            self.go_on()?;
            let span = Span {
                file,
                content,
                offset,
                length: FILL_BYTES.min(size - offset) as usize,
            };
            let clock = self.parts.clock.clone();
            let mark = work.untimed(&clock, || self.prepare_new(proc, span))?;
            self.put(&open, span, work)?;
            self.note_written(proc, span, mark, true);
            offset += span.length as u64;
        }
        Ok(())
    }

    /// Whether a file that an earlier run left holds what one with the same seed wrote
    /// there: looked at are the first and the last bytes.
    fn is_ours(&mut self, proc: u32, file: FileRef, content: u64, size: u64) -> bool {
        let length = LOOK_BYTES.min(size);
        let is_right = [0, size - length].into_iter().all(|offset| {
            let span = Span {
                file,
                content,
                offset,
                length: length as usize,
            };
            let mut unmeasured = OpTally::default();
            let Ok(got) = self.read_span(proc, span, false, &mut unmeasured) else {
                return false;
            };
            let bytes = &self.buffer.get(got.end)[got];
            let Ok(proc) = self.parts.handles.proc(proc) else {
                return false;
            };
            let checked = (proc.history.data()).check_earlier(content, offset, bytes);
            bytes.len() == span.length && checked.good
        });
        match is_right {
            false => self.parts.handles.forget_file(proc, file),
            // Which writes there were is not known.
            true => {
                if let Ok(proc) = self.parts.handles.proc(proc) {
                    proc.history.data().note_reused(content);
                }
            }
        }
        is_right
    }

    fn put(&mut self, file: &File, span: Span, work: &mut OpTally) -> Result<()> {
        let bytes = self.outgoing.get(span.length);
        let mut put = 0;
        while put < bytes.len() {
            let count = file.write_at(&bytes[put..], span.offset + put as u64)?;
            work.physical += 1;
            work.written_bytes += count as u64;
            put += count;
            if count == 0 {
                return Err(Errno::IO);
            }
        }
        Ok(())
    }

    fn truncate(&mut self, proc: u32, file: FileRef, size: u64, work: &mut OpTally) -> Result<()> {
        let handles = &mut self.parts.handles;
        let slot = handles.file(proc, file, OpenMode::default(), &mut self.counters)?;
        work.physical += 1;
        handles.file_at(slot)?.truncate(size)
    }

    fn remove_dirs(&mut self, proc: u32, dir: u32, work: &mut OpTally) -> Result<()> {
        self.parts.handles.forget_dir(proc, dir);
        let name = names::dir(dir)?;
        let stop = self.parts.stop.clone();
        let proc = self.parts.handles.proc(proc)?;
        let place = proc.place.clone();
        let tree = proc.tree.clone();
        let top = match proc.top() {
            // Others that share the tree may have removed it.
            Err(Errno::NOENT) => return Ok(()),
            top => top?,
        };
        let path = [place.dir_name.as_str(), &tree.name, name.as_str()];
        let mut mounted = Mounted::new(String::new(), path[0], &place.dir);
        mounted.stop = stop;
        let emptied = empty_dir(&mut mounted, top, &path, Level::Dir, &place.nonce);
        match emptied {
            Ok(emptied) => {
                work.physical += u32::try_from(emptied.removed_count).unwrap_or(u32::MAX);
                Ok(())
            }
            Err(_) if mounted.stop.is_raised() => Err(Errno::CANCELED),
            Err(_) => Err(mounted.errno.unwrap_or(Errno::NOTEMPTY)),
        }
    }
}

fn is_file_of(dir: &Dir, name: &CStr, size: u64) -> bool {
    matches!(dir.meta(name), Ok(meta) if meta.kind == Kind::File && meta.size == size)
}
