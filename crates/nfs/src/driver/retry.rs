//! When replies do not come: time-outs, retransmissions, giving up.
//!
//! Every call has `rpc_timeout` for its reply. When that is over on a connection,
//! all calls under way there count a try and go again on a new connection; a call
//! whose tries are used up ends its operation. A connection that breaks is made
//! again without a try being counted, since the time runs on anyway.

use super::core::{Core, Timer};
use super::counters::Tally;
use super::reply::Verdict;
use filermark_engine::driver::Status;
use filermark_model::Nanos;
use filermark_onc::nfs3::Nfsstat3;
use std::cmp::Reverse;

/// How long replies are waited for after the wish to stop.
const STOPPING_TIMEOUT: Nanos = Nanos::from_secs(2);

impl Core {
    /// Bytes up to `sent_to` of this connection were handed to the system at
    /// `self.now`.
    #[inline]
    pub(crate) fn stamp(&mut self, conn: u32, sent_to: u32) {
        while let Some(slot) = self.calls.next_sent(conn, sent_to) {
            let call = self.calls.get_mut(slot);
            if call.on_wire {
                call.retransmitted = true;
                self.counters.add(Tally::Retransmits);
                continue;
            }
            call.on_wire = true;
            tracing::trace!(target: "filermark_nfs::rpc", conn, xid = call.xid, procedure = call.procedure.name(), "sent");
            self.counters.call(call.procedure);
            let op = call.op;
            self.stamp_sent(op, self.now);
            // The time for the reply begins here, however long it waited before.
            self.calls.renew(slot, self.now);
        }
    }

    /// How long a reply may take: not long any more once everybody wishes to stop.
    #[inline]
    pub(crate) fn rpc_timeout(&self) -> Nanos {
        match self.stopping {
            true => self.settings.rpc_timeout.min(STOPPING_TIMEOUT),
            false => self.settings.rpc_timeout,
        }
    }

    /// The connection of a call whose reply is late.
    pub(crate) fn late_connection(&self, now: Nanos) -> Option<u32> {
        let call = self.calls.oldest()?;
        (call.since + self.rpc_timeout() <= now).then_some(call.conn)
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
                core.end_call(slot, Verdict::Ends(status), now);
            } else {
                core.calls.renew(slot, now);
            }
        });
    }

    /// Ends all calls of this connection: there is no use in waiting for it.
    pub(crate) fn fail_all(&mut self, conn: u32) {
        let now = self.now;
        self.for_each_call(conn, |core, slot| {
            core.end_call(slot, Verdict::Ends(Status::Disconnected), now);
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
                        self.end_call(slot, Verdict::Failed(Nfsstat3::Jukebox), now);
                    }
                }
                other => self.start_timer(at, other),
            }
        }
    }
}
