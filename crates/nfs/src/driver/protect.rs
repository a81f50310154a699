//! Calls of a shard are protected after they are encoded, and replies lose their protection before they
//! are evaluated, so that the rest of the driver does not know of it.

use super::contexts::{Opened, Space};
use super::core::{Core, Timer};
use super::counters::Tally;
use super::variant::Variant;
use filermark_driver_kit::sockets::Event;
use filermark_net::FrameProgress;
use filermark_onc::record::{RecordTooLong, whole_record};
use filermark_onc::rpc::{REPLY, peek_xid};
use std::io;

/// Offset of the message type (RFC 5531 section 9).
const KIND_AT: usize = 4;

impl<V: Variant> Core<V> {
    /// Whether another call of a connection can be protected now.
    #[inline]
    pub(super) fn has_space(&mut self, conn: u32) -> bool {
        let Some(contexts) = &mut self.contexts else {
            return true;
        };
        let space = contexts.space(conn, self.state.now);
        match space {
            Space::Free | Space::WindowIsFull => {}
            Space::NoContext => self.watch_contexts(),
        }
        space == Space::Free
    }

    /// Protects the call from `start` to the end of `out`; `false`: there is no context, and no call.
    #[inline]
    pub(super) fn protect(&mut self, conn: u32, out: &mut Vec<u8>, start: usize) -> bool {
        let Some(contexts) = &mut self.contexts else {
            return true;
        };
        let is_protected = contexts.protect(conn, out, start, self.state.now);
        if !is_protected {
            self.watch_contexts();
        }
        is_protected
    }

    /// The next call of a connection is protected: counts its wait for the window.
    #[inline]
    pub(super) fn count_window_wait(&mut self, conn: u32) {
        let since = self.contexts.as_mut().and_then(|c| c.full_since(conn));
        let next = self.calls.next_to_encode(conn);
        if let (Some(Some(since)), Some(slot)) = (since, next) {
            let begun = self.calls.get(slot).first.max(*since);
            let waited_us = self.state.now.since(begun).0 / 1_000;
            self.counters.add(Tally::WindowWaits);
            self.counters.add_many(Tally::WindowWaitTime, waited_us);
        }
    }

    /// No call of a connection waits any more.
    #[inline]
    pub(super) fn end_window_wait(&mut self, conn: u32) {
        if let Some(since) = self.contexts.as_mut().and_then(|c| c.full_since(conn)) {
            *since = None;
        }
    }

    /// Protects the calls among the messages from `start` to the end of `out`. Answers to calls of the
    /// server stay as they are. Returns the calls that could not be protected: they are to be sent in the
    /// next context.
    pub(super) fn protect_own(&mut self, conn: u32, out: &mut Vec<u8>, start: usize) -> Vec<u8> {
        let mut kept = Vec::new();
        if self.contexts.is_none() {
            return kept;
        }
        let plain = out.split_off(start);
        let mut rest = &plain[..];
        while let Ok(Some(whole)) = whole_record(rest, rest.len()) {
            let at = out.len();
            let (record, behind) = rest.split_at(rest.len() - whole.rest.len());
            out.extend_from_slice(record);
            if !is_reply(whole.record) && !self.protect(conn, out, at) {
                kept.extend_from_slice(record);
            }
            rest = behind;
        }
        if !kept.is_empty() {
            // The connection is woken when there is a context.
            self.has_space(conn);
        }
        kept
    }

    /// Passes every whole record in `bytes` to `each`, replies without their protection; returns the
    /// strongest of the events.
    #[inline]
    pub(super) fn receive_records(
        &mut self,
        conn: u32,
        bytes: &[u8],
        mut each: impl FnMut(&mut Self, &[u8]) -> Event,
    ) -> Result<(FrameProgress, Event), RecordTooLong> {
        let mut records = std::mem::take(&mut self.records);
        let mut contexts = self.contexts.take();
        let mut event = Event::Nothing;
        let progress = records.split(bytes, |record| {
            let new = match &mut contexts {
                Some(contexts) if is_reply(record) => {
                    match contexts.open(conn, record, self.state.now) {
                        Opened::Reply(plain) => each(self, plain),
                        Opened::Lost(why) => self.context_lost(conn, record, why),
                    }
                }
                _ => each(self, record),
            };
            event = stronger(std::mem::take(&mut event), new);
        });
        self.records = records;
        self.contexts = contexts;
        self.watch_contexts();
        Ok((progress?, event))
    }

    /// The server has not executed a call, because it does not know its context.
    #[cold]
    fn context_lost(&mut self, conn: u32, record: &[u8], why: &str) -> Event {
        let slot = peek_xid(record).and_then(|xid| self.calls.find(xid));
        let slot = slot.filter(|slot| {
            let call = self.calls.get(*slot);
            call.conn == conn && call.on_wire && !call.parked
        });
        match slot {
            Some(slot) => {
                self.calls.requeue(slot);
                Event::Replies
            }
            // A call of the set-up: that begins again.
            None => Event::Lost(io::Error::other(format!(
                "the server has lost the context of Kerberos ({why})"
            ))),
        }
    }

    /// Has connections send again whose calls can be protected now.
    #[inline]
    pub(super) fn wake_waiting(&mut self) {
        if let Some(contexts) = &mut self.contexts {
            let calls = &mut self.calls;
            contexts.take_free(|conn| calls.mark_dirty(conn));
        }
    }

    /// Starts the timer that looks for contexts, if one is needed.
    pub(super) fn watch_contexts(&mut self) {
        let Some(contexts) = &mut self.contexts else {
            return;
        };
        if let Some(at) = contexts.next_timer(self.state.now) {
            self.start_timer(at, Timer::Contexts);
        }
    }

    /// The timer has expired.
    pub(super) fn renew_contexts(&mut self) {
        let Some(contexts) = &mut self.contexts else {
            return;
        };
        let renewed = contexts.renew(self.state.now);
        self.counters
            .add_many(Tally::NewContexts, renewed.established);
        self.counters
            .add_many(Tally::ContextFailures, renewed.failed);
        self.wake_waiting();
        self.watch_contexts();
    }
}

#[inline]
fn is_reply(record: &[u8]) -> bool {
    let kind = record.get(KIND_AT..).and_then(<[u8]>::first_chunk);
    kind.is_some_and(|kind| u32::from_be_bytes(*kind) == REPLY)
}

/// The one of two events of a read that the loop must see.
fn stronger(before: Event, new: Event) -> Event {
    let rank = |event: &Event| match event {
        Event::Nothing => 0,
        Event::Replies => 1,
        Event::Send => 2,
        Event::SetupAgain | Event::Up => 3,
        Event::Lost(_) => 4,
        Event::Refused(_) => 5,
    };
    if rank(&new) > rank(&before) {
        new
    } else {
        before
    }
}
