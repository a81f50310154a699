//! Operations on names, attributes and directories; locks; the user's own.

use super::PosixShard;
use super::work::OpTally;
use crate::counters::Tally;
use crate::names;
use crate::sys::{Dir, Errno, OpenMode, Result};
use filermark_engine::driver::Outcome;
use filermark_engine::file_action::{FileAction, FileRef};
use filermark_model::Bucket;
use std::ffi::CStr;
use std::time::Duration;

/// The longest wait for a lock; then the operation fails with ETIMEDOUT.
const LOCK_LIMIT: Duration = Duration::from_secs(10);
/// The first and the longest pause before a lock is asked for again.
const LOCK_PAUSE: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(10)];

impl PosixShard {
    /// Everything that moves no data and belongs to no phase of its own.
    pub(super) fn attribute(&mut self, proc: u32, action: &FileAction) -> Outcome {
        use FileAction as A;
        match *action {
            A::Access { file } => self.named(proc, file, |dir, name| dir.access(name)),
            A::Stat { file } => self.named(proc, file, |dir, name| dir.meta(name).map(drop)),
            A::Chmod { file, mode } => self.named(proc, file, |dir, name| dir.chmod(name, mode)),
            A::Statfs { file } => self.named(proc, file, |dir, name| dir.space_at(name).map(drop)),
            A::Pathconf { file } => self.named(proc, file, |dir, name| dir.limits_at(name)),
            A::Mkdir { file } => self.named(proc, file, |dir, name| dir.make_dir(name)),
            A::Rmdir { file } => self.named(proc, file, |dir, name| dir.remove_dir(name)),
            A::Create { file } => self.named(proc, file, |dir, name| dir.open_new(name).map(drop)),
            A::Unlink { file } => {
                // A file server must not be made to keep what is still open.
                self.parts.handles.forget_file(proc, file);
                self.named(proc, file, |dir, name| dir.unlink(name))
            }
            A::Rename { from, to } => self.rename(proc, from, to),
            A::Readdir { dir, bucket } => self.readdir(proc, dir, bucket),
            A::Lock {
                file,
                offset,
                length,
                exclusive,
            } => self.timed(|shard, work| {
                let range = (offset, length);
                shard.lock(proc, file, range, exclusive, work)
            }),
            A::Custom { which, file } => self.custom(proc, which, file),
            _ => self.refused(Errno::NOSYS),
        }
    }

    /// One call on a name in its bucket's directory.
    #[inline]
    fn named(
        &mut self,
        proc: u32,
        file: FileRef,
        call: impl FnOnce(&Dir, &CStr) -> Result<()>,
    ) -> Outcome {
        let name = match names::file(file) {
            Ok(name) => name,
            Err(e) => return self.refused(e),
        };
        self.timed(|shard, work| {
            let handles = &mut shard.parts.handles;
            let slot = handles.dir(proc, file.dir, file.bucket, &mut shard.counters)?;
            call(handles.dir_at(slot)?, name.as_c_str())?;
            work.physical += 1;
            Ok(())
        })
    }

    fn rename(&mut self, proc: u32, from: FileRef, to: FileRef) -> Outcome {
        self.parts.handles.forget_file(proc, from);
        self.parts.handles.forget_file(proc, to);
        let (old, new) = match (names::file(from), names::file(to)) {
            (Ok(old), Ok(new)) => (old, new),
            (Err(e), _) | (_, Err(e)) => return self.refused(e),
        };
        self.timed(|shard, work| {
            let handles = &mut shard.parts.handles;
            let source = handles.dir(proc, from.dir, from.bucket, &mut shard.counters)?;
            let target = handles.dir(proc, to.dir, to.bucket, &mut shard.counters)?;
            let target = handles.dir_at(target)?;
            (handles.dir_at(source)?).rename(old.as_c_str(), target, new.as_c_str())?;
            work.physical += 1;
            Ok(())
        })
    }

    fn readdir(&mut self, proc: u32, dir: u32, bucket: Bucket) -> Outcome {
        self.timed(|shard, work| {
            let handles = &mut shard.parts.handles;
            let slot = handles.dir(proc, dir, bucket, &mut shard.counters)?;
            work.physical += handles.dir_at(slot)?.list(&mut shard.listing)?;
            work.end = true;
            Ok(())
        })
    }

    /// Locks and unlocks. The system's own waiting has no limit, so it is asked again
    /// and again, less and less often.
    fn lock(
        &mut self,
        proc: u32,
        file: FileRef,
        (offset, length): (u64, u64),
        exclusive: bool,
        work: &mut OpTally,
    ) -> Result<()> {
        let handles = &mut self.parts.handles;
        let slot = handles.file(proc, file, OpenMode::default(), &mut self.counters)?;
        let file = handles.file_at(slot)?;
        if !file.try_lock(offset, length, exclusive)? {
            self.counters.add(Tally::LockWaits);
            let [mut pause, longest] = LOCK_PAUSE;
            let mut waited = Duration::ZERO;
            loop {
                if waited >= LOCK_LIMIT || self.parts.stop.is_raised() {
                    return Err(Errno::TIMEDOUT);
                }
                std::thread::sleep(pause);
                waited += pause;
                pause = (pause * 2).min(longest);
                if file.try_lock(offset, length, exclusive)? {
                    break;
                }
            }
        }
        work.physical += 1;
        file.unlock(offset, length)?;
        work.physical += 1;
        Ok(())
    }

    fn custom(&mut self, proc: u32, which: u8, file: FileRef) -> Outcome {
        let path = match self.path_of(proc, file) {
            Ok(path) => path,
            Err(e) => return self.refused(e),
        };
        self.timed(|shard, work| {
            let (stop, counters) = (&shard.parts.stop, &mut shard.counters);
            let answer = shard.parts.customs.ask(which, &path, stop, counters)?;
            work.physical += 1;
            work.read_bytes += answer.read_bytes;
            work.written_bytes += answer.written_bytes;
            Ok(())
        })
    }

    /// The whole path of a file.
    fn path_of(&mut self, proc: u32, file: FileRef) -> Result<String> {
        let proc = self.parts.handles.proc(proc)?;
        let bucket = names::bucket_path(file.dir, file.bucket)?;
        let name = names::file(file)?;
        let mut path = proc.place.path.to_string_lossy().into_owned();
        // The bucket's path has the separator that all systems take.
        let names = bucket.as_str().split('/');
        for part in std::iter::once(proc.tree.name.as_str()).chain(names) {
            push_name(&mut path, part);
        }
        push_name(&mut path, name.as_str());
        Ok(path)
    }
}

/// Appends a name to a path.
fn push_name(path: &mut String, name: &str) {
    if !path.ends_with(std::path::is_separator) {
        path.push(std::path::MAIN_SEPARATOR);
    }
    path.push_str(name);
}
