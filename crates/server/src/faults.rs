//! Known misbehaviour, injected on purpose, so that tests can compare what was measured
//! with what was done.
//!
//! `spec` reads what a user asks for; `Faults` decides, request by request. Every decision
//! depends only on the seed and on how many requests the rule has seen, never on threads or
//! time, so that the same run meets the same faults; but for stops, which depend on the time
//! that the caller passes in. It must not know sockets.

mod capacity;
mod delay;
mod random;
mod spec;
mod stop;
#[cfg(test)]
mod tests;

pub use capacity::CapacitySpec;
pub use delay::{DelayDistribution, DelaySpec};
pub use spec::{DropSpec, ErrorRule, ErrorSpec, Faulted, HitRate, Late, SpecError, UnstableSpec};
pub use stop::StopSpec;

use crate::options::ServerOptions;
use capacity::Capacity;
use filermark_onc::nfs3::{Nfsstat3, Procedure};
use filermark_onc::nfs4::Operation;
use random::{mix, unit};
use std::sync::atomic::{AtomicU64, Ordering};

/// Streams of draws; those of `--error` count from 1.
const REPLIES: u64 = 0;
const CALLS: u64 = u64::MAX;
const COPIES: u64 = u64::MAX - 1;
const LATE: u64 = u64::MAX - 2;

/// A rule's own sequence: which of its requests are hit.
#[derive(Debug)]
struct FaultSequence {
    share: HitRate,
    seed: u64,
    seen: AtomicU64,
}

impl FaultSequence {
    fn new(share: HitRate, seed: u64, stream: u64) -> FaultSequence {
        FaultSequence {
            share,
            seed: mix(seed ^ mix(stream)),
            seen: AtomicU64::new(0),
        }
    }

    fn hit(&self) -> bool {
        let nth = self.seen.fetch_add(1, Ordering::Relaxed);
        match self.share {
            HitRate::All => true,
            HitRate::First(count) => nth < count,
            HitRate::Every(n) => (nth + 1).is_multiple_of(n),
            HitRate::Fraction(share) => unit(mix(self.seed ^ mix(nth))) < share,
        }
    }
}

/// All faults of one server.
#[derive(Debug)]
pub(crate) struct Faults {
    delays: [Option<DelayDistribution>; Procedure::COUNT],
    /// Of what is no procedure of version 3.
    default_delay: Option<DelayDistribution>,
    delay_seed: u64,
    delays_seen: AtomicU64,
    /// When the queue of delays is empty again, in ns; `None`: delays do not queue.
    queue_free_at: Option<AtomicU64>,
    /// The highest rate; `None`: none.
    capacity: Option<Capacity>,
    stop: Option<StopSpec>,
    /// From when the stops are counted, on the monotonic clock.
    started_ns: u64,
    /// Of operations of version 4 that are named.
    operation_delays: Vec<(Operation, DelayDistribution)>,
    errors: Vec<(Faulted, Nfsstat3, FaultSequence)>,
    swallow_call: Option<FaultSequence>,
    swallow: Option<FaultSequence>,
    repeat: Option<FaultSequence>,
    late: Option<(FaultSequence, u64)>,
    /// Requests of one connection after which it is closed.
    pub(crate) close_after: Option<u64>,
    /// Answer WRITE with UNSTABLE.
    pub(crate) unstable: bool,
    verifier_every: Option<u64>,
    /// What was not committed is lost when the write verifier changes.
    pub(crate) loses: bool,
    writes: AtomicU64,
    /// Most bytes of one READ or WRITE.
    pub(crate) short: Option<u32>,
}

impl Faults {
    /// When the reply to a request that came in at `received_ns` leaves. It is `received_ns` where it
    /// leaves at once. `delay_ns`: how long an operation is held back; `None`: no operation of NFS,
    /// which takes no time.
    #[inline]
    pub(crate) fn due_ns(&self, received_ns: u64, delay_ns: Option<u64>) -> u64 {
        let Some(delay_ns) = delay_ns else {
            return self.done_ns(received_ns, 0);
        };
        let received_ns = self.served_ns(received_ns);
        let Some(free_at) = self.queue_free_at.as_ref().filter(|_| delay_ns > 0) else {
            return self.done_ns(received_ns, delay_ns);
        };
        let due = |free: u64| self.done_ns(free.max(received_ns), delay_ns);
        let free =
            free_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| Some(due(free)));
        due(free.unwrap_or(received_ns))
    }

    /// When the operation that came in at `received_ns` has been served by a server with a highest
    /// rate; its delays begin then.
    #[inline]
    fn served_ns(&self, received_ns: u64) -> u64 {
        match &self.capacity {
            Some(capacity) => capacity.served_ns(received_ns),
            None => received_ns,
        }
    }

    /// The end of work that begins at `from_ns`, on the monotonic clock; it rests during stops.
    fn done_ns(&self, from_ns: u64, work_ns: u64) -> u64 {
        let Some(stop) = &self.stop else {
            return from_ns + work_ns;
        };
        let since_start_ns = from_ns.saturating_sub(self.started_ns);
        self.started_ns
            .saturating_add(stop.done_ns(since_start_ns, work_ns))
    }

    /// The faults of a server that starts at `started_ns` on the monotonic clock.
    pub(crate) fn new(options: &ServerOptions, started_ns: u64) -> Faults {
        let seed = options.seed;
        let errors = options.errors.rules.iter().zip(1..);
        let drawn = |share: Option<HitRate>, stream| {
            share.map(|share| FaultSequence::new(share, seed, stream))
        };
        Faults {
            delays: options.delay.per_procedure(),
            default_delay: options.delay.default,
            operation_delays: options.delay.per_operation(),
            delay_seed: mix(seed),
            delays_seen: AtomicU64::new(0),
            queue_free_at: options.queue.then(|| AtomicU64::new(0)),
            capacity: options.capacity_ops.clone().map(Capacity::new),
            stop: options.stop,
            started_ns,
            errors: errors
                .map(|(rule, n)| {
                    (
                        rule.of,
                        rule.status,
                        FaultSequence::new(rule.share, seed, n),
                    )
                })
                .collect(),
            swallow_call: drawn(options.drop.call, CALLS),
            repeat: drawn(options.drop.copy, COPIES),
            late: options
                .drop
                .late
                .map(|late| (FaultSequence::new(late.share, seed, LATE), late.ns)),
            swallow: drawn(options.drop.reply, REPLIES),
            close_after: options.drop.connection_after,
            unstable: options.unstable.enabled,
            verifier_every: options.unstable.verifier_every,
            loses: options.unstable.loses,
            writes: AtomicU64::new(0),
            short: options.short,
        }
    }

    /// The status to answer this request with instead of serving it.
    #[inline]
    pub(crate) fn error(&self, procedure: Procedure) -> Option<Nfsstat3> {
        self.error_of(Faulted::Procedure(procedure))
    }

    /// The same for an operation of version 4 that no procedure of version 3 has the name of.
    #[inline]
    pub(crate) fn operation_error(&self, operation: Operation) -> Option<Nfsstat3> {
        self.error_of(Faulted::Operation(operation))
    }

    fn error_of(&self, faulted: Faulted) -> Option<Nfsstat3> {
        let mut rules = self.errors.iter().filter(|(of, ..)| *of == faulted);
        rules
            .find(|(_, _, draw)| draw.hit())
            .map(|(_, status, _)| *status)
    }

    /// How long to hold this reply back, in ns; 0 for not at all.
    #[inline]
    pub(crate) fn delay_ns(&self, procedure: Procedure) -> u64 {
        self.draw_ns(self.delays[procedure as usize])
    }

    /// Whether operations of version 4 have delays of their own; which this one has.
    #[inline]
    pub(crate) fn operation_delay(&self, operation: Operation) -> Option<DelayDistribution> {
        let mut delays = self.operation_delays.iter();
        let found = delays.find(|(of, _)| *of == operation);
        found.map(|(_, delay)| *delay)
    }

    /// How long to hold back a reply with this delay, in ns.
    #[inline]
    pub(crate) fn delay_of_ns(&self, delay: DelayDistribution) -> u64 {
        self.draw_ns(Some(delay))
    }

    /// How long to hold back the reply to a call that no procedure of version 3 stands for, in ns.
    #[inline]
    pub(crate) fn default_delay_ns(&self) -> u64 {
        self.draw_ns(self.default_delay)
    }

    fn draw_ns(&self, delay: Option<DelayDistribution>) -> u64 {
        let Some(delay) = delay else {
            return 0;
        };
        if let DelayDistribution::Constant { ns } = delay {
            return ns;
        }
        let nth = self.delays_seen.fetch_add(1, Ordering::Relaxed);
        delay.draw_ns(self.delay_seed, nth)
    }

    /// Whether operations are served one after the other, at a highest rate.
    #[inline]
    pub(crate) fn has_capacity(&self) -> bool {
        self.capacity.is_some()
    }

    /// Whether any reply is ever held back.
    pub(crate) fn delays_replies(&self) -> bool {
        self.capacity.is_some()
            || self.stop.is_some()
            || self.late.is_some()
            || self.delays.iter().any(Option::is_some)
            || !self.operation_delays.is_empty()
    }

    /// Whether to lose this call.
    #[inline]
    pub(crate) fn swallow_call(&self) -> bool {
        self.swallow_call.as_ref().is_some_and(FaultSequence::hit)
    }

    /// Whether to send this reply twice.
    #[inline]
    pub(crate) fn repeat_reply(&self) -> bool {
        self.repeat.as_ref().is_some_and(FaultSequence::hit)
    }

    /// For how long to hold this reply back beside its delay, in ns; 0 for not at all.
    #[inline]
    pub(crate) fn late_ns(&self) -> u64 {
        match &self.late {
            Some((draw, ns)) if draw.hit() => *ns,
            _ => 0,
        }
    }

    /// Whether to lose this reply.
    #[inline]
    pub(crate) fn swallow_reply(&self) -> bool {
        self.swallow.as_ref().is_some_and(FaultSequence::hit)
    }

    /// Counts one WRITE; whether the write verifier is to change after it.
    pub(crate) fn verifier_changes(&self) -> bool {
        let Some(every) = self.verifier_every else {
            return false;
        };
        (self.writes.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(every)
    }
}
