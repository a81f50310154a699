//! Transfers of one range, and the loops under all transfers.

use super::PosixShard;
use super::progress::{ReadProgress, WriteProgress};
use super::work::OpTally;
use crate::counters::{Counters, Tally};
use crate::sys::{Errno, OpenMode, Result};
use filermark_engine::data::{History, WriteMark};
use filermark_engine::driver::{Outcome, Status};
use filermark_engine::file_action::{FileAction, FileRef, Io};
use std::ops::Range;

/// Where in its file a transfer is, and whose contents it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub file: FileRef,
    pub content: u64,
    pub offset: u64,
    pub length: usize,
}

impl Span {
    pub(super) fn of(file: FileRef, content: u64, offset: u64, length: u32) -> Self {
        Self {
            file,
            content,
            offset,
            length: length as usize,
        }
    }
}

/// The larger alignment that is tried when the smaller one is refused.
pub(super) const LARGE_ALIGN: u64 = 4096;

impl PosixShard {
    /// Read, write and rmw.
    pub(super) fn range(&mut self, proc: u32, action: &FileAction) -> Outcome {
        let span = Span::of;
        match *action {
            FileAction::Read {
                file,
                content,
                offset,
                length,
                io,
            } => self.read(proc, span(file, content, offset, length), io),
            FileAction::Write {
                file,
                content,
                offset,
                length,
                io,
            } => self.write(proc, span(file, content, offset, length), io),
            FileAction::Rmw {
                file,
                content,
                offset,
                length,
                io,
            } => self.rmw(proc, span(file, content, offset, length), io),
            _ => self.refused(Errno::NOSYS),
        }
    }

    fn read(&mut self, proc: u32, span: Span, io: Io) -> Outcome {
        let mut got = 0..0;
        let mut outcome = self.timed(|shard, work| {
            got = shard.read_span(proc, span, io.direct, work)?;
            Ok(())
        });
        if outcome.status == Status::Ok {
            outcome.status = self.compare(proc, span, got).unwrap_or(Status::Ok);
        }
        outcome
    }

    fn write(&mut self, proc: u32, span: Span, io: Io) -> Outcome {
        let mark = match self.prepare(proc, span) {
            Ok(mark) => mark,
            Err(e) => return self.refused(e),
        };
        let outcome = self.timed(|shard, work| shard.write_span(proc, span, io, work));
        self.note_written(proc, span, mark, outcome.status == Status::Ok);
        outcome
    }

    /// What is written back is new; making it is not measured.
    fn rmw(&mut self, proc: u32, span: Span, io: Io) -> Outcome {
        let mut mark = None;
        let outcome = self.timed(|shard, work| {
            let got = shard.read_span(proc, span, io.direct, work)?;
            let clock = shard.parts.clock.clone();
            work.wrong = work.untimed(&clock, || shard.compare(proc, span, got));
            if work.wrong.is_some() {
                return Ok(());
            }
            mark = Some(work.untimed(&clock, || shard.prepare(proc, span))?);
            shard.write_span(proc, span, io, work)
        });
        if let Some(mark) = mark {
            self.note_written(proc, span, mark, outcome.status == Status::Ok);
        }
        outcome
    }

    /// Makes what is to be written at a span: a generation of its own.
    pub(super) fn prepare(&mut self, proc: u32, span: Span) -> Result<WriteMark> {
        let range = (span.content, span.offset, span.length as u64);
        let history = &mut self.parts.handles.proc(proc)?.history;
        let mark = history.begin_write(0, range);
        self.make(proc, span, mark)
    }

    /// The same, for a part of a file that is made anew, which ends with the file or
    /// where a sector does.
    pub(super) fn prepare_new(&mut self, proc: u32, span: Span) -> Result<WriteMark> {
        let history = &mut self.parts.handles.proc(proc)?.history;
        let mark = history.begin_fill(0);
        self.make(proc, span, mark)
    }

    fn make(&mut self, proc: u32, span: Span, mark: WriteMark) -> Result<WriteMark> {
        let data = self.parts.handles.proc(proc)?.history.data();
        let out = self.outgoing.get(span.length);
        data.fill(span.content, span.offset, mark.generation, out);
        Ok(mark)
    }

    /// The history of writes learns of one that has ended.
    pub(super) fn note_written(&mut self, proc: u32, span: Span, mark: WriteMark, certain: bool) {
        if let Ok(proc) = self.parts.handles.proc(proc) {
            let range = (span.content, span.offset, span.length as u64);
            proc.history.end_write(0, mark, range, certain);
        }
    }

    /// Compares a span that was read into this part of the buffer with what had been
    /// written there; gives what is wrong.
    pub(super) fn compare(&mut self, proc: u32, span: Span, got: Range<usize>) -> Option<Status> {
        let bytes = &self.buffer.get(got.end)[got];
        let history = &mut self.parts.handles.proc(proc).ok()?.history;
        // The history learns of ends between operations only: of none since the read began.
        let since = history.begin_read();
        compare_bytes(history, &mut self.counters, (span, since), bytes)
    }

    /// Reads a span into the buffer; gives the part of the buffer that holds it,
    /// shorter where the file ends before.
    pub(super) fn read_span(
        &mut self,
        proc: u32,
        span: Span,
        direct: bool,
        work: &mut OpTally,
    ) -> Result<Range<usize>> {
        let mut align = self.direct_align(proc, direct)?;
        loop {
            match self.read_aligned(proc, span, align, work) {
                Err(Errno::INVAL) if align > 0 => align = self.refuse_align(proc, align)?,
                other => {
                    if direct && align == 0 {
                        self.counters.add(Tally::DirectFallbacks);
                    }
                    return other;
                }
            }
        }
    }

    /// Reads whole multiples of `align` around a span; 0: through the cache.
    fn read_aligned(
        &mut self,
        proc: u32,
        span: Span,
        align: u64,
        work: &mut OpTally,
    ) -> Result<Range<usize>> {
        let mut progress = ReadProgress::new(span, align);
        let class = OpenMode::new(align > 0, false);
        let handles = &mut self.parts.handles;
        let slot = handles.file(proc, span.file, class, &mut self.counters)?;
        let file = handles.file_at(slot)?;
        let bytes = self.buffer.get(progress.capacity());
        while let Some((part, offset)) = progress.next() {
            let count = file.read_at(&mut bytes[part], offset)?;
            if !progress.took(count, &mut self.counters, work) {
                break;
            }
        }
        Ok(progress.finish(&mut self.counters, work))
    }

    /// Writes a span as [`prepare`](Self::prepare) made it, and makes it stable if it
    /// commits.
    pub(super) fn write_span(
        &mut self,
        proc: u32,
        span: Span,
        io: Io,
        work: &mut OpTally,
    ) -> Result<()> {
        let mut align = self.direct_align(proc, io.direct)?;
        loop {
            align = write_align(span, align);
            match self.write_aligned(proc, span, OpenMode::new(align > 0, io.sync), work) {
                Err(Errno::INVAL) if align > 0 => align = self.refuse_align(proc, align)?,
                Err(e) => return Err(e),
                Ok(()) => break,
            }
        }
        if io.direct && align == 0 {
            self.counters.add(Tally::DirectFallbacks);
        }
        match io.commit {
            true => self.commit(proc, span.file, OpenMode::new(align > 0, io.sync)),
            false => Ok(()),
        }
    }

    fn write_aligned(
        &mut self,
        proc: u32,
        span: Span,
        class: OpenMode,
        work: &mut OpTally,
    ) -> Result<()> {
        let handles = &mut self.parts.handles;
        let slot = handles.file(proc, span.file, class, &mut self.counters)?;
        let file = handles.file_at(slot)?;
        let bytes = self.outgoing.get(span.length);
        let mut progress = WriteProgress::new(span);
        while let Some((part, offset)) = progress.next() {
            let count = file.write_at(&bytes[part], offset)?;
            progress.took(count, &mut self.counters, work)?;
        }
        Ok(())
    }

    /// Makes a file stable, unless the plan forbids it.
    pub(super) fn commit(&mut self, proc: u32, file: FileRef, class: OpenMode) -> Result<()> {
        if self.parts.no_fsync {
            return Ok(());
        }
        let handles = &mut self.parts.handles;
        let slot = handles.file(proc, file, class, &mut self.counters)?;
        self.counters.add(Tally::Fsyncs);
        handles.file_at(slot)?.sync()
    }

    /// What a direct transfer of a proc must be aligned to; 0: it is none.
    #[inline]
    pub(super) fn direct_align(&mut self, proc: u32, direct: bool) -> Result<u64> {
        match direct {
            true => Ok(self.parts.handles.proc(proc)?.direct_align),
            false => Ok(0),
        }
    }

    /// Notes that an alignment was refused; gives the next one to try.
    #[cold]
    pub(super) fn refuse_align(&mut self, proc: u32, align: u64) -> Result<u64> {
        let proc = self.parts.handles.proc(proc)?;
        proc.direct_align = match align < LARGE_ALIGN {
            true => LARGE_ALIGN,
            false => 0,
        };
        Ok(proc.direct_align)
    }
}

/// Compares the bytes of a span, read since that event, with what had been written there; gives
/// what is wrong.
pub(super) fn compare_bytes(
    history: &mut History,
    counters: &mut Counters,
    (span, since): (Span, u64),
    bytes: &[u8],
) -> Option<Status> {
    let checked = history.check(since, span.content, span.offset, bytes);
    counters.add_many(Tally::CheckedBytes, checked.bytes);
    counters.add_many(Tally::UndecidedBytes, checked.undecided_bytes);
    if !checked.good {
        counters.add(Tally::VerifyErrors);
        if history.fails_reads() {
            return Some(Status::Corrupt);
        }
    }
    (bytes.len() != span.length).then_some(Status::Lost)
}

/// What a write is aligned to, where direct transfers are to `align`. It is never extended: one
/// that does not fit goes through the cache (0).
#[inline]
pub(super) fn write_align(span: Span, align: u64) -> u64 {
    let fits = (span.offset | span.length as u64).is_multiple_of(align.max(1));
    if fits { align } else { 0 }
}
