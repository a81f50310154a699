//! When replies do not come: time-outs, retransmissions, giving up.
//!
//! Over TCP every call has `rpc_timeout` for its reply. When that is over on a
//! connection, all calls under way there count a try and go again on a new
//! connection; a call whose tries are used up ends its operation. A connection that
//! breaks is made again without a try being counted, since the time runs on anyway.
//!
//! Over UDP every call has a time-out of its own, doubled with each try
//! ([`ReplyTimeouts`](super::reply_timeouts::ReplyTimeouts)); what is not answered goes again alone, with the same xid.

use super::calls::Call;
use super::core::{Core, Timer};
use super::counters::Tally;
use super::ended_calls::CallEnd;
use super::ops::SETTLING;
use super::reply::CallOutcome;
use filermark_engine::driver::{Action, Status};
use filermark_model::Nanos;
use filermark_onc::nfs3::{Nfsstat3, Procedure};
use std::cmp::Reverse;

/// How long replies are waited for after the wish to stop.
const STOPPING_TIMEOUT: Nanos = Nanos::from_secs(2);

impl Core {
    /// Bytes (UDP: datagrams) up to `sent_to` of this connection were handed to the system at
    /// `self.now`.
    #[inline]
    pub(crate) fn stamp(&mut self, conn: u32, sent_to: u32) {
        while let Some(slot) = self.calls.next_sent(conn, sent_to) {
            let call = self.calls.get_mut(slot);
            if call.on_wire {
                call.retransmitted = true;
                self.counters.add(Tally::Retransmits);
                if self.settings.datagrams {
                    self.calls.renew(slot, self.now);
                }
                continue;
            }
            call.on_wire = true;
            call.first = self.now;
            tracing::trace!(target: "filermark_nfs::rpc", conn, xid = call.xid, procedure = call.procedure.name(), "sent");
            self.counters.call(call.procedure);
            let (op, procedure) = (call.op, call.procedure);
            if procedure == Procedure::Commit {
                self.count_commit(op);
            }
            self.stamp_sent(op, self.now);
            // The time for the reply begins here, however long it waited before.
            self.calls.renew(slot, self.now);
        }
    }

    /// A COMMIT goes out: counts it, unless the mix asks for it.
    fn count_commit(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let is_at_end = logical.token == SETTLING;
        let tally = match logical.action {
            Action::Read { .. } => Tally::ReadCommits,
            _ if logical.is_upkeep(Procedure::Commit) => Tally::WriteCommits,
            _ => return,
        };
        self.counters.add(tally);
        self.counters
            .add_many(Tally::EndCommits, u64::from(is_at_end));
    }

    /// When the reply to this call is late: soon once everybody wishes to stop.
    #[inline]
    pub(crate) fn due_at(&self, call: &Call) -> Nanos {
        let wait = self.settings.waits.of(call.stage);
        match (self.stopping, self.settings.datagrams) {
            (false, _) => call.since + wait,
            (true, false) => call.since + wait.min(STOPPING_TIMEOUT),
            (true, true) => (call.since + wait).min(self.stop_limit(call)),
        }
    }

    /// Datagrams: when nothing is waited for any more after the wish to stop.
    fn stop_limit(&self, call: &Call) -> Nanos {
        call.first.max(self.stopping_at) + STOPPING_TIMEOUT
    }

    /// A call whose reply is late.
    pub(crate) fn late_call(&self, now: Nanos) -> Option<u32> {
        let mut oldest = self.calls.oldest();
        oldest
            .find(|(_, call)| self.due_at(call) <= now)
            .map(|(slot, _)| slot)
    }

    /// Datagrams: this call goes again, or ends with `status` if it had enough.
    pub(crate) fn send_again(&mut self, slot: u32, status: Status) {
        let now = self.now;
        let call = self.calls.get(slot);
        let (conn, stage) = (call.conn, call.stage);
        let too_late = self.stopping && self.stop_limit(call) <= now;
        if call.tries >= self.settings.rpc_retries || too_late {
            return self.end_call(slot, CallOutcome::Ends(status), now);
        }
        self.calls.get_mut(slot).tries += 1;
        let stage = self.settings.waits.after(stage);
        self.calls.again(slot, stage, now);
        self.mark_dirty(conn);
    }

    /// Datagrams: keeps in mind how a call ended to which more replies may come.
    pub(crate) fn remember(&mut self, slot: u32, given_up: bool) {
        let call = self.calls.get(slot);
        if given_up {
            self.departed.remember(call.xid, CallEnd::TimedOut);
        } else if call.retransmitted {
            self.departed.remember(call.xid, CallEnd::Answered);
        } else {
            self.departed.answered_at_once(call.xid);
        }
    }

    /// A reply came that no call waits for.
    #[cold]
    pub(crate) fn nobody_waits(&mut self, xid: Option<u32>) {
        let fate = xid.and_then(|xid| self.departed.fate(xid));
        self.counters.add(match fate {
            Some(CallEnd::Answered) => Tally::DuplicateReplies,
            Some(CallEnd::TimedOut) => Tally::LateReplies,
            None => Tally::StaleReplies,
        });
    }

    /// Counts a try for every call of this connection; ends those that had enough.
    pub(crate) fn count_tries(&mut self, conn: u32, was_up: bool) {
        let enough = match self.stop.is_raised() {
            true => 0,
            false => self.settings.rpc_retries,
        };
        let status = match was_up {
            true => Status::TimedOut,
            false => Status::Disconnected,
        };
        let now = self.now;
        self.for_each_call(conn, |core, slot| {
            let call = core.calls.get_mut(slot);
            call.tries += 1;
            if call.tries > enough {
                core.end_call(slot, CallOutcome::Ends(status), now);
            } else {
                core.calls.renew(slot, now);
            }
        });
    }

    /// Ends all calls of this connection: there is no use in waiting for it.
    pub(crate) fn fail_all(&mut self, conn: u32) {
        let now = self.now;
        self.for_each_call(conn, |core, slot| {
            core.end_call(slot, CallOutcome::Ends(Status::Disconnected), now);
        });
    }

    /// Does something with each call that is in the queue now. A failed operation
    /// makes no further calls, so the call behind stays the call behind.
    fn for_each_call(&mut self, conn: u32, mut each: impl FnMut(&mut Self, u32)) {
        let mut next = self.calls.first(conn);
        while let Some(slot) = next {
            next = self.calls.after(slot);
            each(self, slot);
        }
    }

    /// The next timer that is due.
    pub(crate) fn due(&mut self, now: Nanos) -> Option<Timer> {
        let Reverse((at, _)) = self.timers.peek()?;
        if *at > now {
            return None;
        }
        self.timers.pop().map(|Reverse((_, timer))| timer)
    }

    /// A call has waited for NFS3ERR_JUKEBOX and goes again.
    pub(crate) fn call_again(&mut self, xid: u32) {
        if let Some(slot) = self.calls.find(xid) {
            let conn = self.calls.get(slot).conn;
            self.calls.unpark(slot, self.now);
            self.mark_dirty(conn);
        }
    }

    /// Ends all calls that wait for NFS3ERR_JUKEBOX.
    pub(crate) fn give_up_jukebox(&mut self) {
        let now = self.now;
        let mut timers = std::mem::take(&mut self.timers);
        for Reverse((at, timer)) in timers.drain() {
            match timer {
                Timer::Jukebox { xid } => {
                    if let Some(slot) = self.calls.find(xid) {
                        self.end_call(slot, CallOutcome::Failed(Nfsstat3::Jukebox), now);
                    }
                }
                other => self.start_timer(at, other),
            }
        }
    }
}
