//! Transfers of whole files, in sizes drawn from the workload's tables.

use super::PosixShard;
use super::ranges::Span;
use super::work::OpTally;
use crate::counters::Tally;
use crate::sys::{Errno, OpenMode, Result};
use filermark_engine::data::WriteMark;
use filermark_engine::driver::{Outcome, Status};
use filermark_engine::file_action::{FileAction, FileRef, Io};
use filermark_model::{Rng, TransferTable};

/// The number of the stream that transfer sizes come from.
const SIZES: u64 = 0;

/// The transfers of a whole file.
struct Transfers {
    rng: Rng,
    offset: u64,
    size: u64,
}

impl Transfers {
    fn new(seed: u64, size: u64) -> Self {
        Self {
            rng: Rng::new(seed, SIZES),
            offset: 0,
            size,
        }
    }

    /// Offset and length of the next one.
    fn next(&mut self, table: &TransferTable) -> Option<(u64, usize)> {
        let left = self.size - self.offset;
        if left == 0 {
            return None;
        }
        let offset = self.offset;
        let length = u64::from(table.draw(&mut self.rng)).clamp(1, left);
        self.offset += length;
        Some((offset, length as usize))
    }
}

impl PosixShard {
    /// read_file, write_file and copyfile.
    pub(super) fn run_whole_file(&mut self, proc: u32, action: &FileAction) -> Outcome {
        match *action {
            FileAction::ReadFile {
                file,
                content,
                size,
                seed,
                io,
            } => {
                let transfers = Transfers::new(seed, size);
                self.read_file(proc, whole(file, content), transfers, io)
            }
            FileAction::WriteFile {
                file,
                content,
                size,
                seed,
                io,
            } => {
                let transfers = Transfers::new(seed, size);
                self.write_file(proc, whole(file, content), transfers, io)
            }
            FileAction::Copy {
                from,
                to,
                size,
                seed,
            } => {
                let transfers = Transfers::new(seed, size);
                self.timed(|shard, work| shard.copy(proc, from, to, transfers, work))
            }
            _ => self.refused(Errno::NOSYS),
        }
    }

    fn read_file(&mut self, proc: u32, file: Span, mut all: Transfers, io: Io) -> Outcome {
        let Ok(tree) = self.parts.handles.proc(proc).map(|p| p.tree.clone()) else {
            return self.refused(Errno::INVAL);
        };
        self.timed(|shard, work| {
            while let Some((offset, length)) = all.next(&tree.workload.read_transfers) {
                shard.go_on()?;
                let span = Span {
                    offset,
                    length,
                    ..file
                };
                let got = shard.read_span(proc, span, io.direct, work)?;
                let clock = shard.parts.clock.clone();
                work.wrong = work.untimed(&clock, || shard.compare(proc, span, got));
                if work.wrong.is_some() {
                    break;
                }
            }
            Ok(())
        })
    }

    fn write_file(&mut self, proc: u32, file: Span, mut all: Transfers, io: Io) -> Outcome {
        let Ok(tree) = self.parts.handles.proc(proc).map(|p| p.tree.clone()) else {
            return self.refused(Errno::INVAL);
        };
        let table = &tree.workload.write_transfers;
        let first = all.next(table).map(|part| at(file, part));
        let mut next = match self.prepare_next(proc, first) {
            Ok(next) => next,
            Err(e) => return self.refused(e),
        };
        self.timed(|shard, work| {
            let clock = shard.parts.clock.clone();
            while let Some((span, mark)) = next {
                shard.go_on()?;
                let following = all.next(table).map(|part| at(file, part));
                // Stable once, with the last transfer.
                let io = Io {
                    commit: io.commit && following.is_none(),
                    ..io
                };
                shard.write_span(proc, span, io, work)?;
                next = work.untimed(&clock, || {
                    shard.note_written(proc, span, mark, true);
                    shard.prepare_next(proc, following)
                })?;
            }
            Ok(())
        })
    }

    /// Makes what is to be written next, if something is.
    fn prepare_next(&mut self, proc: u32, span: Option<Span>) -> Result<Option<(Span, WriteMark)>> {
        match span {
            Some(span) => Ok(Some((span, self.prepare(proc, span)?))),
            None => Ok(None),
        }
    }

    fn copy(
        &mut self,
        proc: u32,
        from: FileRef,
        to: FileRef,
        mut all: Transfers,
        work: &mut OpTally,
    ) -> Result<()> {
        let tree = self.parts.handles.proc(proc)?.tree.clone();
        let plain = OpenMode::default();
        let source = (self.parts.handles).file(proc, from, plain, &mut self.counters)?;
        let target = (self.parts.handles).file(proc, to, plain, &mut self.counters)?;
        while let Some((offset, length)) = all.next(&tree.workload.read_transfers) {
            self.go_on()?;
            let source = self.parts.handles.file_at(source)?;
            let bytes = self.buffer.get(length);
            let mut got = 0;
            while got < length {
                let count = source.read_at(&mut bytes[got..], offset + got as u64)?;
                work.physical += 1;
                got += count;
                if count == 0 {
                    break;
                }
            }
            work.read_bytes += got as u64;
            let span = Span {
                offset,
                length: got,
                ..whole(to, 0)
            };
            let target = self.parts.handles.file_at(target)?;
            let mut put = 0;
            while put < span.length {
                let count = target.write_at(&bytes[put..got], offset + put as u64)?;
                work.physical += 1;
                put += count;
                work.written_bytes += count as u64;
                if count == 0 {
                    return Err(Errno::IO);
                }
            }
            if got < length {
                work.end = true;
                work.wrong = Some(Status::Lost);
                self.counters.add(Tally::EarlyEofs);
                break;
            }
        }
        Ok(())
    }

    /// Whether a long operation may go on: not when everything is to end.
    pub(super) fn go_on(&self) -> Result<()> {
        match self.parts.stop.is_raised() {
            true => Err(Errno::CANCELED),
            false => Ok(()),
        }
    }
}

/// A file as a whole.
fn whole(file: FileRef, content: u64) -> Span {
    Span {
        file,
        content,
        offset: 0,
        length: 0,
    }
}

fn at(file: Span, (offset, length): (u64, usize)) -> Span {
    Span {
        offset,
        length,
        ..file
    }
}
