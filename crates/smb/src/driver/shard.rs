//! A shard of the driver: procs, connections and the loop around them.

use super::conn::{Conn, Io};
use super::core::{Core, Timer};
use filermark_engine::driver::{Completion, DriverError, ObjectId, Request, ShardDriver, Submit};
use filermark_model::Nanos;
use filermark_net::Ready;
use std::collections::BTreeMap;
use std::time::Duration;

/// How many connections are being made at once: servers queue a limited number, and
/// each session begins with a process or thread there.
const CONNECTING_MAX: usize = 64;
/// How often the wish to stop is looked at, at least.
const STOP_CHECK: Nanos = Nanos::from_millis(100);
/// How often late replies are looked for.
const LOOK: Nanos = Nanos::from_millis(500);

/// Carries out the requests of all procs of one thread.
#[derive(Debug)]
pub struct Shard {
    pub(crate) core: Core,
    pub(crate) io: Io,
    pub(crate) conns: Vec<Conn>,
    pub(crate) ready: Vec<Ready>,
}

impl Shard {
    /// Waits for the network until `until` at most, and works on what comes.
    fn turn(&mut self, until: Nanos) -> Result<(), DriverError> {
        let timeout = match self.io.unread.is_empty() {
            // Never for long: somebody may wish to stop.
            true => until.since(self.core.now).min(STOP_CHECK),
            false => Nanos::ZERO,
        };
        let timeout = Duration::from_nanos(timeout.0);
        self.io
            .reactor
            .wait(Some(timeout), &mut self.ready)
            .map_err(|error| self.useless(&error))?;
        for key in self.io.unread.drain(..) {
            self.ready.push(Ready {
                key,
                readable: true,
                writable: false,
                ended: false,
                broken: false,
            });
        }
        for ready in &self.ready {
            if let Some(conn) = self.conns.get_mut(ready.key as u32 as usize) {
                conn.ready(*ready, &mut self.core, &mut self.io);
            }
        }
        Ok(())
    }

    #[cold]
    fn useless(&self, error: &std::io::Error) -> DriverError {
        DriverError {
            place: self.conns.first().map(Conn::place).unwrap_or_default(),
            step: "wait for replies".to_owned(),
            reason: error.to_string(),
            advice: String::new(),
        }
    }

    /// Connects everything, a bounded number at a time. The first one alone: a user that
    /// the server does not take is to be refused once, not once per proc.
    pub(super) fn connect_all(&mut self) -> Result<(), DriverError> {
        self.core.start_timer(self.core.now + LOOK, Timer::Look);
        let mut next = 0;
        while next < self.conns.len() {
            let count = if next == 0 { 1 } else { CONNECTING_MAX };
            let end = self.conns.len().min(next + count);
            for conn in &mut self.conns[next..end] {
                self.core.now = self.core.clock.now();
                if let Err(error) = conn.connect(&mut self.core, &mut self.io) {
                    return Err(not_connected(conn, &error.to_string()));
                }
            }
            while let Some(waiting) = self.conns[next..end].iter().find(|c| !c.is_up()) {
                if let Some(failure) = waiting.failure() {
                    return Err(not_connected(waiting, failure));
                }
                if self.core.stop.is_raised() {
                    return Err(not_connected(waiting, "the run was stopped"));
                }
                self.core.now = self.core.clock.now();
                self.send_dirty();
                let until = self.core.next_wake();
                self.turn(until)?;
                self.core.now = self.core.clock.now();
                self.run_timers();
            }
            next = end;
        }
        self.send_dirty();
        Ok(())
    }

    /// Does what is due by now without anything having come.
    fn run_timers(&mut self) {
        let now = self.core.now;
        while let Some(timer) = self.core.due(now) {
            self.fire(timer);
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Reconnect { conn, epoch } => {
                if let Some(conn) = self.conns.get_mut(conn as usize) {
                    conn.try_again(epoch, &mut self.core);
                }
            }
            Timer::Connect { conn, setup } => {
                if let Some(conn) = self.conns.get_mut(conn as usize) {
                    conn.connect_timed_out(setup, &mut self.core, &mut self.io);
                }
            }
            Timer::Look => {
                for conn in &mut self.conns {
                    conn.look_at_replies(&mut self.core, &mut self.io);
                }
                let at = self.core.now + LOOK;
                self.core.start_timer(at, Timer::Look);
            }
        }
    }

    /// Once everybody wishes to stop, nothing waits for a server that is gone.
    fn check_stop(&mut self) {
        let raised = self.core.stop.is_raised();
        if raised && !self.core.stopping {
            for conn in &mut self.conns {
                conn.give_up_waiting(&mut self.core);
            }
        }
        self.core.stopping = raised;
    }

    fn send_dirty(&mut self) {
        let mut next = 0;
        while let Some(conn) = self.core.dirty.get(next).copied() {
            next += 1;
            self.core.is_dirty[conn as usize] = false;
            self.conns[conn as usize].pump(&mut self.core, &mut self.io);
        }
        self.core.dirty.clear();
    }
}

impl ShardDriver for Shard {
    fn submit(&mut self, request: &Request) -> Submit {
        self.core.submit(request)
    }

    fn flush(&mut self) {
        self.send_dirty();
    }

    fn poll(&mut self, deadline: Nanos, done: &mut Vec<Completion>) -> Result<(), DriverError> {
        loop {
            self.core.now = self.core.clock.now();
            self.run_timers();
            self.check_stop();
            self.send_dirty();
            if self.core.done.is_empty() {
                let until = deadline.min(self.core.next_wake());
                self.turn(until)?;
            }
            if !self.core.done.is_empty() {
                done.append(&mut self.core.done);
                return Ok(());
            }
            self.core.now = self.core.clock.now();
            if self.core.now >= deadline {
                return Ok(());
            }
        }
    }

    fn take_counters(&mut self, into: &mut BTreeMap<String, u64>) {
        self.core.counters.take(into);
    }

    fn transfer_bytes(&self) -> (u32, u32) {
        let sizes = self.core.transfers.iter().copied();
        sizes
            .reduce(|a, b| (a.0.min(b.0), a.1.min(b.1)))
            .unwrap_or_default()
    }

    fn forget_objects(&mut self, proc: u32, from: ObjectId) {
        if let Some(proc) = self.core.procs.get_mut(proc as usize) {
            proc.forget_objects(from);
        }
    }
}

fn not_connected(conn: &Conn, reason: &str) -> DriverError {
    DriverError {
        place: conn.place(),
        step: "set an SMB session up".to_owned(),
        reason: reason.to_owned(),
        advice: "check that the server runs and how many sessions it allows (and open files \
                 here: ulimit -n); CONNECTIONS=N lets procs share"
            .to_owned(),
    }
}
