//! Transfers through memory mappings.

use super::PosixShard;
use super::ranges::Span;
use crate::counters::Tally;
use crate::sys::{Class, Errno, mapped};
use filermark_engine::driver::{Outcome, Status};
use filermark_engine::file_action::FileAction;

impl PosixShard {
    /// mmap_read and mmap_write.
    pub(super) fn mapped(&mut self, proc: u32, action: &FileAction) -> Outcome {
        match *action {
            FileAction::MmapRead {
                file,
                content,
                offset,
                length,
            } => {
                let length = length as usize;
                self.mapped_read(
                    proc,
                    Span {
                        file,
                        content,
                        offset,
                        length,
                    },
                )
            }
            FileAction::MmapWrite {
                file,
                content,
                offset,
                length,
                commit,
            } => {
                let length = length as usize;
                let span = Span {
                    file,
                    content,
                    offset,
                    length,
                };
                self.mapped_write(proc, span, commit)
            }
            _ => self.refused(Errno::NOSYS),
        }
    }

    fn mapped_read(&mut self, proc: u32, span: Span) -> Outcome {
        let verifies = self.verifies(proc);
        let mut outcome = self.timed(|shard, work| {
            let handles = &mut shard.parts.handles;
            let slot = handles.file(proc, span.file, Class::default(), &mut shard.counters)?;
            let copy = verifies.then(|| shard.buffer.get(span.length));
            mapped::read(handles.file_at(slot)?, span.offset, span.length, copy)?;
            work.physical += 1;
            work.read_bytes += span.length as u64;
            Ok(())
        });
        if outcome.status == Status::Ok && !self.is_as_written(proc, span, 0..span.length) {
            outcome.status = Status::Corrupt;
        }
        outcome
    }

    fn mapped_write(&mut self, proc: u32, span: Span, commit: bool) -> Outcome {
        if let Err(e) = self.prepare(proc, span) {
            return self.refused(e);
        }
        let commit = commit && !self.parts.no_fsync;
        self.timed(|shard, work| {
            let handles = &mut shard.parts.handles;
            let slot = handles.file(proc, span.file, Class::default(), &mut shard.counters)?;
            let data = shard.outgoing.get(span.length);
            mapped::write(handles.file_at(slot)?, span.offset, data, commit)?;
            work.physical += 1;
            work.written_bytes += span.length as u64;
            if commit {
                shard.counters.add(Tally::Fsyncs);
            }
            Ok(())
        })
    }
}
