//! Transfers of one range, and the loops under all transfers.

use super::PosixShard;
use super::work::Work;
use crate::counters::Tally;
use crate::sys::{Class, Errno, Result};
use filermark_engine::driver::{Outcome, Status};
use filermark_engine::file_action::{FileAction, FileRef, Io};
use std::ops::Range;

/// Where in its file a transfer is, and whose contents it has.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub file: FileRef,
    pub content: u64,
    pub offset: u64,
    pub length: usize,
}

/// Where the bytes of a write are.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Made by [`PosixShard::prepare`].
    Prepared,
    /// Read before, from here on in the buffer.
    Read(usize),
}

/// The larger alignment that is tried when the smaller one is refused.
const LARGE_ALIGN: u64 = 4096;

impl PosixShard {
    /// Read, write and rmw.
    pub(super) fn range(&mut self, proc: u32, action: &FileAction) -> Outcome {
        let span = |file, content, offset, length: u32| Span {
            file,
            content,
            offset,
            length: length as usize,
        };
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
        if outcome.status == Status::Ok && !self.is_as_written(proc, span, got) {
            outcome.status = Status::Corrupt;
        }
        outcome
    }

    fn write(&mut self, proc: u32, span: Span, io: Io) -> Outcome {
        if let Err(e) = self.prepare(proc, span) {
            return self.refused(e);
        }
        self.timed(|shard, work| shard.write_span(proc, span, Source::Prepared, io, work))
    }

    /// What is written back is what was read: contents are a function of the place.
    fn rmw(&mut self, proc: u32, span: Span, io: Io) -> Outcome {
        self.timed(|shard, work| {
            let got = shard.read_span(proc, span, io.direct, work)?;
            let clock = shard.parts.clock.clone();
            if shard.verifies(proc) {
                let good = work.aside(&clock, || shard.is_as_written(proc, span, got.clone()));
                work.corrupt |= !good;
            }
            if work.corrupt {
                return Ok(());
            }
            if got.len() == span.length {
                return shard.write_span(proc, span, Source::Read(got.start), io, work);
            }
            // Behind the end of the file nothing was read.
            work.aside(&clock, || shard.prepare(proc, span))?;
            shard.write_span(proc, span, Source::Prepared, io, work)
        })
    }

    /// Makes what is to be written at a span.
    pub(super) fn prepare(&mut self, proc: u32, span: Span) -> Result<()> {
        let proc = self.parts.handles.proc(proc)?;
        let (data, at) = (&proc.tree.data, (span.content, span.offset));
        match proc.exact {
            true => self.outgoing.exact(data, at, span.length),
            false => self.outgoing.stamped(data, at, span.length),
        };
        Ok(())
    }

    /// Whether reads of a proc are checked.
    #[inline]
    pub(super) fn verifies(&self, proc: u32) -> bool {
        let proc = self.parts.handles.procs.get(proc as usize);
        proc.is_some_and(|proc| proc.verifies)
    }

    /// Whether a span was read into this part of the buffer as it was written: all
    /// of it and right. Always true where reads are not checked.
    pub(super) fn is_as_written(&mut self, proc: u32, span: Span, got: Range<usize>) -> bool {
        if !self.verifies(proc) {
            return true;
        }
        let Ok(proc) = self.parts.handles.proc(proc) else {
            return true;
        };
        let complete = got.len() == span.length;
        let bytes = &self.buffer.get(got.end)[got];
        let good = complete && proc.tree.data.check(span.content, span.offset, bytes);
        if !good {
            self.counters.add(Tally::VerifyErrors);
        }
        good
    }

    /// Reads a span into the buffer; gives the part of the buffer that holds it,
    /// shorter where the file ends before.
    pub(super) fn read_span(
        &mut self,
        proc: u32,
        span: Span,
        direct: bool,
        work: &mut Work,
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
        work: &mut Work,
    ) -> Result<Range<usize>> {
        let unit = align.max(1);
        let from = span.offset - span.offset % unit;
        let skip = (span.offset - from) as usize;
        let needed = skip + span.length;
        let room = needed.next_multiple_of(unit as usize);
        let class = Class::new(align > 0, false);
        let handles = &mut self.parts.handles;
        let slot = handles.file(proc, span.file, class, &mut self.counters)?;
        let file = handles.file_at(slot)?;
        let bytes = self.buffer.get(room);
        let mut got = 0;
        while got < needed {
            let count = file.read_at(&mut bytes[got..], from + got as u64)?;
            work.physical += 1;
            got += count;
            // Past the cache only the end of the file is not a whole multiple.
            if count == 0 || (got < needed && got % unit as usize != 0) {
                break;
            }
            if got < needed {
                self.counters.add(Tally::ShortReads);
            }
        }
        if got < needed {
            work.end = true;
            self.counters.add(Tally::EarlyEofs);
        }
        let got = skip.min(got)..got.min(needed);
        work.read_bytes += got.len() as u64;
        Ok(got)
    }

    /// Writes a span, and makes it stable if it commits.
    pub(super) fn write_span(
        &mut self,
        proc: u32,
        span: Span,
        source: Source,
        io: Io,
        work: &mut Work,
    ) -> Result<()> {
        let fits = |align: u64| (span.offset | span.length as u64).is_multiple_of(align.max(1));
        let mut align = self.direct_align(proc, io.direct)?;
        loop {
            if !fits(align) {
                align = 0;
            }
            match self.write_aligned(proc, span, source, Class::new(align > 0, io.sync), work) {
                Err(Errno::INVAL) if align > 0 => align = self.refuse_align(proc, align)?,
                Err(e) => return Err(e),
                Ok(()) => break,
            }
        }
        if io.direct && align == 0 {
            self.counters.add(Tally::DirectFallbacks);
        }
        match io.commit {
            true => self.commit(proc, span.file, Class::new(align > 0, io.sync)),
            false => Ok(()),
        }
    }

    fn write_aligned(
        &mut self,
        proc: u32,
        span: Span,
        source: Source,
        class: Class,
        work: &mut Work,
    ) -> Result<()> {
        let handles = &mut self.parts.handles;
        let slot = handles.file(proc, span.file, class, &mut self.counters)?;
        let file = handles.file_at(slot)?;
        let bytes = match source {
            Source::Prepared => self.outgoing.get(span.length),
            Source::Read(at) => &self.buffer.get(at + span.length)[at..],
        };
        let mut put = 0;
        while put < bytes.len() {
            let count = file.write_at(&bytes[put..], span.offset + put as u64)?;
            work.physical += 1;
            work.written_bytes += count as u64;
            put += count;
            if count == 0 {
                return Err(Errno::IO);
            }
            if put < bytes.len() {
                self.counters.add(Tally::ShortWrites);
            }
        }
        Ok(())
    }

    /// Makes a file stable, unless the plan forbids it.
    pub(super) fn commit(&mut self, proc: u32, file: FileRef, class: Class) -> Result<()> {
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
    fn direct_align(&mut self, proc: u32, direct: bool) -> Result<u64> {
        match direct {
            true => Ok(self.parts.handles.proc(proc)?.direct_align),
            false => Ok(0),
        }
    }

    /// Notes that an alignment was refused; gives the next one to try.
    #[cold]
    fn refuse_align(&mut self, proc: u32, align: u64) -> Result<u64> {
        let proc = self.parts.handles.proc(proc)?;
        proc.direct_align = match align < LARGE_ALIGN {
            true => LARGE_ALIGN,
            false => 0,
        };
        Ok(proc.direct_align)
    }
}
