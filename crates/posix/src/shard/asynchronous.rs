//! Reads and writes that are under way while the shard goes on: those of workloads with a depth
//! above 1, by `crate::sys::uring`.
//!
//! An operation is begun in `submit`, is sent with all others of its turn by the one system call
//! of `poll` that also waits, and ends with the last of its calls: a short transfer is continued,
//! an alignment that is refused is followed by the next, a write that commits by an fsync. Its
//! buffer is the slot's, and stays the kernel's until the call has ended, whatever the engine
//! does meanwhile.
//!
//! Operations with other actions wait in `submit`, as in a shard without depth; what is queued is
//! sent before, so that it does not wait for them.

use super::PosixShard;
use super::progress::{ReadProgress, WriteProgress};
use super::ranges::{Span, compare_bytes, write_align};
use super::under_way::{Op, PIECE_BYTES, Step, UnderWay};
use super::work::OpTally;
use crate::counters::Tally;
use crate::sys::async_call::{Call, Ended};
use crate::sys::{Errno, OpenMode, Result};
use filermark_engine::driver::{Completion, DriverError, Outcome, Request, Status, Submit};
use filermark_engine::file_action::FileAction;
use filermark_model::{Bucket, Nanos};
use std::time::Duration;

/// Has the buffer of a slot filled, in pieces; ends of other operations are noted between them.
fn fill_pieces(
    under_way: &mut UnderWay,
    slot: u32,
    length: usize,
    mut fill: impl FnMut(usize, &mut [u8]),
) -> Result<()> {
    let mut at = 0;
    while at < length {
        let end = length.min(at + PIECE_BYTES);
        under_way.before_work(end - at);
        let buffer = under_way.ring.buffer(slot).ok_or(Errno::BUSY)?;
        fill(at, buffer.get_mut(at..end).ok_or(Errno::INVAL)?);
        at = end;
    }
    Ok(())
}

impl PosixShard {
    /// Whether an action is carried out while the shard goes on. Reads and writes of a range are;
    /// appends are not, since the next one begins where the last one has ended, and transfers of
    /// no bytes need no call.
    #[inline]
    fn is_asynchronous(under_way: &UnderWay, action: &FileAction) -> bool {
        let fits = 1..=under_way.largest;
        match action {
            FileAction::Read { length, .. } => fits.contains(length),
            FileAction::Write { file, length, .. } => {
                file.bucket != Bucket::APPEND && fits.contains(length)
            }
            _ => false,
        }
    }

    /// Begins a read or write.
    fn begin(
        &mut self,
        under_way: &mut UnderWay,
        request: &Request,
        action: &FileAction,
    ) -> Submit {
        let Some(slot) = under_way.free.pop() else {
            return Submit::Busy;
        };
        let begun = self.make_op(under_way, slot, request, action);
        let begun = begun.and_then(|mut op| match self.start(under_way, slot, &mut op) {
            Ok(()) => Ok(op),
            Err(e) => {
                under_way.let_go(&mut op);
                self.end_history(&op, false);
                Err(e)
            }
        });
        match begun {
            Ok(op) => {
                under_way.ops[slot as usize] = Some(op);
                under_way.unsent.push(slot);
                Submit::Queued
            }
            Err(e) => {
                under_way.free.push(slot);
                let mut outcome = self.refused(e);
                self.explain(request.proc, &mut outcome);
                Submit::Done(outcome)
            }
        }
    }

    /// An operation, with its data where it writes.
    fn make_op(
        &mut self,
        under_way: &mut UnderWay,
        slot: u32,
        request: &Request,
        action: &FileAction,
    ) -> Result<Op> {
        let proc = request.proc;
        let (span, io, reads) = match *action {
            FileAction::Read {
                file,
                content,
                offset,
                length,
                io,
            } => (Span::of(file, content, offset, length), io, true),
            FileAction::Write {
                file,
                content,
                offset,
                length,
                io,
            } => (Span::of(file, content, offset, length), io, false),
            _ => return Err(Errno::NOSYS),
        };
        let align = self.direct_align(proc, io.direct)?;
        let step = if reads {
            let since = self.parts.handles.proc(proc)?.history.begin_read();
            Step::Read(ReadProgress::new(span, align), since)
        } else {
            let history = &mut self.parts.handles.proc(proc)?.history;
            let mark = history.begin_write(0, (span.content, span.offset, span.length as u64));
            let generation = mark.generation;
            let filled = fill_pieces(under_way, slot, span.length, |at, out| {
                let offset = span.offset + at as u64;
                history.data().fill(span.content, offset, generation, out);
            });
            if let Err(e) = filled {
                self.note_written(proc, span, mark, false);
                return Err(e);
            }
            Step::Write(WriteProgress::new(span), mark)
        };
        Ok(Op {
            token: request.token,
            proc,
            span,
            io,
            align: if reads {
                align
            } else {
                write_align(span, align)
            },
            file: None,
            is_broken_off: false,
            sent: None,
            step,
            work: OpTally::default(),
        })
    }

    /// Finds the file of an operation, and queues its next call.
    fn start(&mut self, under_way: &mut UnderWay, slot: u32, op: &mut Op) -> Result<()> {
        let sync = op.io.sync && !matches!(op.step, Step::Read(..));
        let class = OpenMode::new(op.align > 0, sync);
        let handles = &mut self.parts.handles;
        let found = match handles.open_file(op.proc, op.span.file, class) {
            Some(found) => found,
            // The operation begins with the opening of its file. What is queued does not wait for it.
            None => {
                if under_way.ring.queued_count() > 0 {
                    under_way.enter(self.parts.clock.now(), None)?;
                }
                under_way.look();
                op.sent.get_or_insert(self.parts.clock.now());
                let found = handles.file(op.proc, op.span.file, class, &mut self.counters);
                under_way.look();
                under_way.waited_until = self.parts.clock.now();
                found?
            }
        };
        under_way.hold(op, found, handles)?;
        self.queue(under_way, slot, op)
    }

    /// Queues the next call of an operation.
    fn queue(&mut self, under_way: &mut UnderWay, slot: u32, op: &Op) -> Result<()> {
        let (call, next) = match op.step {
            Step::Read(progress, _) => (Call::Read, progress.next()),
            Step::Write(progress, _) => (Call::Write, progress.next()),
            Step::Sync(_) => (Call::Sync, None),
        };
        let (part, offset) = next.unwrap_or((0..0, op.span.offset));
        let file = op.file.ok_or(Errno::INVAL)?;
        under_way.ring.start(slot, call, file, part, offset)?;
        self.counters.add(Tally::AsyncTransfers);
        if call != Call::Sync && !under_way.ring.has_registered_buffers() {
            self.counters.add(Tally::UnregisteredTransfers);
        }
        Ok(())
    }

    /// Begins an operation, or carries it out where it is one that waits.
    pub(super) fn submit_beside(
        &mut self,
        under_way: &mut UnderWay,
        request: &Request,
        action: &FileAction,
    ) -> Submit {
        if Self::is_asynchronous(under_way, action) {
            return self.begin(under_way, request, action);
        }
        if under_way.ring.queued_count() > 0 {
            // What fails here fails again in `poll`, which reports it.
            let _ = under_way.enter(self.parts.clock.now(), None);
        }
        under_way.look();
        let mut outcome = self.perform(request.proc, action);
        under_way.look();
        self.explain(request.proc, &mut outcome);
        // It may have closed files.
        under_way.unlist_closed(&mut self.parts.handles);
        Submit::Done(outcome)
    }

    /// Sends what is queued, and waits for the end of an operation until `deadline`.
    pub(super) fn poll_ring(
        &mut self,
        under_way: &mut UnderWay,
        deadline: Nanos,
        done: &mut Vec<Completion>,
    ) -> std::result::Result<(), DriverError> {
        let before = done.len();
        loop {
            let now = self.parts.clock.now();
            let left = match under_way.ended.is_empty() {
                true => deadline.since(now),
                false => Nanos::ZERO,
            };
            let limit = (left > Nanos::ZERO).then(|| Duration::from_nanos(left.0));
            if under_way.ring.busy_count() == 0 && under_way.ended.is_empty() {
                if limit.is_some() {
                    self.parts.clock.sleep_until(deadline);
                }
                return Ok(());
            }
            if under_way.ended.is_empty() || under_way.ring.queued_count() > 0 {
                under_way
                    .enter(now, limit)
                    .map_err(|e| self.ring_failed(e))?;
            }
            self.take_ended(under_way, done);
            if done.len() > before || limit.is_none() {
                return Ok(());
            }
        }
    }

    /// Goes on with the operations whose calls have ended; those that end meanwhile are left to
    /// the next turn, with the time at which that was seen.
    fn take_ended(&mut self, under_way: &mut UnderWay, done: &mut Vec<Completion>) {
        under_way.note_ended();
        for _ in 0..under_way.ended.len() {
            let Some((Ended { slot, result }, now)) = under_way.ended.pop_front() else {
                return;
            };
            let Some(mut op) = under_way.ops.get_mut(slot as usize).and_then(Option::take) else {
                continue;
            };
            match self.advance(under_way, slot, &mut op, result) {
                Some(result) => {
                    let outcome = self.outcome(under_way, slot, &op, now, result);
                    under_way.let_go(&mut op);
                    under_way.free.push(slot);
                    done.push(Completion {
                        token: op.token,
                        outcome,
                    });
                }
                None => under_way.ops[slot as usize] = Some(op),
            }
        }
    }

    /// A call of an operation has ended; the result of the operation, unless it goes on.
    fn advance(
        &mut self,
        under_way: &mut UnderWay,
        slot: u32,
        op: &mut Op,
        result: Result<usize>,
    ) -> Option<Result<()>> {
        let count = match result {
            // Nothing more is sent for it.
            Ok(_) if op.is_broken_off => return Some(Err(Errno::INTR)),
            Err(e) if op.is_broken_off => return Some(Err(e)),
            Ok(count) => count,
            Err(Errno::INVAL) if op.align > 0 && !matches!(op.step, Step::Sync(_)) => {
                return self.realign(under_way, slot, op).err().map(Err);
            }
            // As a system call that waits is made again after a signal.
            Err(Errno::INTR) => return self.queue(under_way, slot, op).err().map(Err),
            Err(e) => return Some(Err(e)),
        };
        let goes_on = match &mut op.step {
            Step::Read(progress, _) => Ok(progress.took(count, &mut self.counters, &mut op.work)),
            Step::Write(progress, _) => progress.took(count, &mut self.counters, &mut op.work),
            Step::Sync(_) => Ok(false),
        };
        match (goes_on, op.step) {
            (Err(e), _) => return Some(Err(e)),
            (Ok(true), _) => {}
            (Ok(false), Step::Write(_, mark)) => {
                if op.io.direct && op.align == 0 {
                    self.counters.add(Tally::DirectFallbacks);
                }
                if !op.io.commit || self.parts.no_fsync {
                    return Some(Ok(()));
                }
                self.counters.add(Tally::Fsyncs);
                op.step = Step::Sync(mark);
            }
            (Ok(false), Step::Read(..)) => {
                if op.io.direct && op.align == 0 {
                    self.counters.add(Tally::DirectFallbacks);
                }
                return Some(Ok(()));
            }
            (Ok(false), Step::Sync(_)) => return Some(Ok(())),
        }
        self.queue(under_way, slot, op).err().map(Err)
    }

    /// The alignment was refused: begins again with the next one.
    fn realign(&mut self, under_way: &mut UnderWay, slot: u32, op: &mut Op) -> Result<()> {
        let current = self.direct_align(op.proc, true)?;
        // Another operation may have been refused before this one.
        let align = match current == op.align {
            true => self.refuse_align(op.proc, op.align)?,
            false => current,
        };
        match &mut op.step {
            Step::Read(progress, _) => {
                op.align = align;
                *progress = ReadProgress::new(op.span, align);
            }
            Step::Write(..) | Step::Sync(_) => op.align = write_align(op.span, align),
        }
        self.start(under_way, slot, op)
    }

    /// What an operation came to.
    fn outcome(
        &mut self,
        under_way: &mut UnderWay,
        slot: u32,
        op: &Op,
        now: Nanos,
        result: Result<()>,
    ) -> Outcome {
        let mut work = op.work;
        if let (Step::Read(progress, since), Ok(())) = (op.step, result) {
            let got = progress.finish(&mut self.counters, &mut work);
            under_way.before_work(got.len());
            let bytes = under_way.ring.buffer(slot).and_then(|bytes| bytes.get(got));
            let proc = self.parts.handles.proc(op.proc);
            work.wrong = match (bytes, proc) {
                (Some(bytes), Ok(proc)) => {
                    let read = (op.span, since);
                    compare_bytes(&mut proc.history, &mut self.counters, read, bytes)
                }
                _ => Some(Status::Garbage),
            };
        }
        self.end_history(op, result.is_ok());
        let mut outcome = work.outcome(op.sent.unwrap_or(now), now, result);
        self.explain(op.proc, &mut outcome);
        outcome
    }

    /// The history learns of a write that has ended.
    fn end_history(&mut self, op: &Op, certain: bool) {
        if let Step::Write(_, mark) | Step::Sync(mark) = op.step {
            self.note_written(op.proc, op.span, mark, certain);
        }
    }

    fn ring_failed(&self, e: Errno) -> DriverError {
        let place = self.parts.handles.procs.first();
        DriverError {
            place: place.map_or_else(String::new, |p| p.place.path.display().to_string()),
            step: "wait for reads and writes under way (io_uring_enter)".to_owned(),
            reason: e.to_string(),
            advice: "write depth=1 and use more procs, if it happens again".to_owned(),
        }
    }
}
