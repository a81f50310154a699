//! Transfers through memory mappings.

use super::PosixShard;
use super::ranges::Span;
use crate::counters::Tally;
use crate::sys::{Errno, OpenMode, mapped};
use filermark_engine::driver::{Outcome, Status};
use filermark_engine::file_action::FileAction;
use std::ops::Range;

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
        let history = self.parts.handles.proc(proc).map(|p| &mut p.history);
        let part = history.map(|history| history.part(span.offset, span.length));
        let part = match part {
            Ok(part) => part,
            Err(e) => return self.refused(e),
        };
        let mut outcome = self.timed(|shard, work| {
            let handles = &mut shard.parts.handles;
            let slot = handles.file(proc, span.file, OpenMode::default(), &mut shard.counters)?;
            let copy = shard.buffer.get(part.len());
            let file = handles.file_at(slot)?;
            mapped::read(file, span.offset, span.length, (part.start, copy))?;
            work.physical += 1;
            work.read_bytes += span.length as u64;
            Ok(())
        });
        outcome.status = match outcome.status {
            Status::Ok => self.compare_part(proc, span, part),
            Status::Refused(code) if Errno(code) == Errno::IO && self.is_cut(proc, span) => {
                self.counters.add(Tally::EarlyEofs);
                Status::Lost
            }
            other => other,
        };
        outcome
    }

    /// Compares the part of a mapped span that was copied into the buffer.
    fn compare_part(&mut self, proc: u32, span: Span, part: Range<usize>) -> Status {
        let Ok(proc) = self.parts.handles.proc(proc) else {
            return Status::Ok;
        };
        let history = &proc.history;
        let offset = span.offset + part.start as u64;
        let bytes = &*self.buffer.get(part.len());
        let checked = history.compare(history.begin_read(), span.content, offset, bytes);
        self.counters.add_many(Tally::CheckedBytes, checked.bytes);
        self.counters
            .add_many(Tally::UndecidedBytes, checked.undecided_bytes);
        if !checked.good {
            self.counters.add(Tally::VerifyErrors);
        }
        match checked.good || !history.fails_reads() {
            true => Status::Ok,
            false => Status::Corrupt,
        }
    }

    /// Whether a file ends before the end of a span.
    fn is_cut(&mut self, proc: u32, span: Span) -> bool {
        let handles = &mut self.parts.handles;
        let slot = handles.file(proc, span.file, OpenMode::default(), &mut self.counters);
        let size = slot.and_then(|slot| handles.file_at(slot)?.size());
        size.is_ok_and(|size| size < span.offset + span.length as u64)
    }

    fn mapped_write(&mut self, proc: u32, span: Span, commit: bool) -> Outcome {
        let mark = match self.prepare(proc, span) {
            Ok(mark) => mark,
            Err(e) => return self.refused(e),
        };
        let commit = commit && !self.parts.no_fsync;
        let outcome = self.timed(|shard, work| {
            let handles = &mut shard.parts.handles;
            let slot = handles.file(proc, span.file, OpenMode::default(), &mut shard.counters)?;
            let data = shard.outgoing.get(span.length);
            mapped::write(handles.file_at(slot)?, span.offset, data, commit)?;
            work.physical += 1;
            work.written_bytes += span.length as u64;
            if commit {
                shard.counters.add(Tally::Fsyncs);
            }
            Ok(())
        });
        self.note_written(proc, span, mark, outcome.status == Status::Ok);
        outcome
    }
}
