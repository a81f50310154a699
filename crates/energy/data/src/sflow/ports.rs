//! Computes rates from the last and the next counters of every interface.
//!
//! The numbers of agents, and of interfaces of each, are bounded; the least recently used one is
//! dropped. Readings that give no rate are counted by reason.

use super::counters::{CounterRecord, InterfaceCounters};
use super::datagram::{CounterSample, Source};
use super::sequence::{Arrival, Sequence};
use super::traffic::{self, TrafficSample};
use filermark_results::Timestamp;
use lru::LruCache;
use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroUsize;

/// Readings closer than this are one reading, in seconds.
const SECONDS_MIN: f64 = 0.001;
/// The two clocks may differ by this over an interval, in seconds, and a tenth of it.
const CLOCKS_DIFFER_S: f64 = 2.0;

/// The clock that measures intervals. The time of a sample is always the receiver's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeBasis {
    /// The receiver's.
    #[default]
    Receiver,
    /// The agent's uptime, where it increases; it excludes delays on the way.
    AgentUptime,
}

/// Limits and choices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortOptions {
    /// Most parts of agents that are kept.
    pub agents_max: usize,
    /// Most interfaces of each that are kept.
    pub interfaces_max: usize,
    /// An interval of more seconds gives no rate: counters may have wrapped in it.
    pub seconds_max: f64,
    /// The clock that measures intervals.
    pub time_basis: TimeBasis,
}

impl Default for PortOptions {
    fn default() -> Self {
        Self {
            agents_max: 64,
            interfaces_max: 1024,
            seconds_max: 600.0,
            time_basis: TimeBasis::Receiver,
        }
    }
}

/// One part of an agent. Sequence numbers are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentKey {
    /// Its address.
    pub agent: IpAddr,
    /// Which part; mostly 0.
    pub sub_agent: u32,
}

/// Counts of datagrams and readings since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Datagrams that were used.
    pub datagrams: u64,
    /// Datagrams whose numbers are missing. Late ones are subtracted again.
    pub lost: u64,
    /// Late datagrams that were used.
    pub late: u64,
    /// Datagrams received twice, or too late to be used; dropped.
    pub duplicates: u64,
    /// Restarts of agents.
    pub restarts: u64,
    /// Readings of interface counters that were used.
    pub readings: u64,
    /// Readings older than one already taken, or the same; dropped.
    pub stale: u64,
    /// Intervals without a rate since counters were reset, or the agent restarted.
    pub resets: u64,
    /// Intervals without a rate since they were longer than the limit.
    pub too_long: u64,
    /// Readings without a rate since no time had passed. The earlier reading stays.
    pub no_time: u64,
    /// Intervals without a rate since the receiver's clock went back.
    pub clock_back: u64,
    /// Intervals over which agent and receiver differ about the time that passed.
    pub clocks_differ: u64,
    /// Agents dropped since there were too many.
    pub agents_dropped: u64,
    /// Interfaces dropped since there were too many.
    pub interfaces_dropped: u64,
}

/// The position of a reading in the stream of an agent.
#[derive(Clone, Copy, Debug)]
struct ReadingPosition {
    uptime_ms: u32,
    late: bool,
    source: Source,
    sequence: u32,
}

/// The last reading of an interface.
#[derive(Clone, Copy, Debug)]
struct Port {
    at: Timestamp,
    /// The number of restarts of the agent when this was read.
    starts: u64,
    place: Option<ReadingPosition>,
    counters: InterfaceCounters,
}

#[derive(Debug)]
struct Agent {
    sequence: Option<Sequence>,
    starts: u64,
    ports: LruCache<u32, Port>,
}

/// All interfaces of all agents.
#[derive(Debug)]
pub struct Ports {
    options: PortOptions,
    agents: LruCache<AgentKey, Agent>,
    counts: PortCounts,
}

impl Ports {
    /// An empty table.
    pub fn new(options: PortOptions) -> Self {
        Self {
            options,
            agents: table(options.agents_max),
            counts: PortCounts::default(),
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> PortCounts {
        self.counts
    }

    /// Numbers of parts of agents, and of interfaces, that are kept now.
    pub fn sizes(&self) -> (usize, usize) {
        let interfaces = self.agents.iter().map(|(_, agent)| agent.ports.len());
        (self.agents.len(), interfaces.sum())
    }

    /// Checks the head of a datagram: whether it is to be used, and whether it is late.
    pub fn admit(
        &mut self,
        at: Timestamp,
        key: AgentKey,
        sequence: u32,
        uptime_ms: u32,
    ) -> Admission {
        let agent = agent(&mut self.agents, &mut self.counts, self.options, key);
        let arrival = match &mut agent.sequence {
            Some(known) => known.arrive(sequence, uptime_ms, at),
            None => {
                agent.sequence = Some(Sequence::new(sequence, uptime_ms, at));
                Arrival::New { missing: 0 }
            }
        };
        let counts = &mut self.counts;
        counts.datagrams += u64::from(arrival != Arrival::Duplicate);
        match arrival {
            Arrival::New { missing } => counts.lost += u64::from(missing),
            Arrival::OutOfOrder => {
                counts.late += 1;
                counts.lost = counts.lost.saturating_sub(1);
                return Admission::OutOfOrder;
            }
            Arrival::Duplicate => {
                counts.duplicates += 1;
                return Admission::No;
            }
            Arrival::Restart => {
                counts.restarts += 1;
                agent.starts += 1;
            }
        }
        Admission::InOrder
    }

    /// Handles the counters of a sample. `head` has the admission of the datagram.
    pub fn sample(
        &mut self,
        at: Timestamp,
        key: AgentKey,
        head: (u32, Admission),
        sample: &CounterSample<'_>,
        sink: &mut impl FnMut(TrafficSample),
    ) {
        let (uptime_ms, admitted) = head;
        for record in sample.records() {
            let Ok(CounterRecord::Interface(counters)) = record else {
                continue;
            };
            let place = ReadingPosition {
                uptime_ms,
                late: admitted == Admission::OutOfOrder,
                source: sample.source,
                sequence: sample.sequence,
            };
            self.take(at, key, Some(place), &counters, sink);
        }
    }

    /// Handles counters without a datagram, as from a text file.
    pub fn counters(
        &mut self,
        at: Timestamp,
        key: AgentKey,
        counters: &InterfaceCounters,
        sink: &mut impl FnMut(TrafficSample),
    ) {
        self.take(at, key, None, counters, sink);
    }

    fn take(
        &mut self,
        at: Timestamp,
        key: AgentKey,
        place: Option<ReadingPosition>,
        counters: &InterfaceCounters,
        sink: &mut impl FnMut(TrafficSample),
    ) {
        let agent = agent(&mut self.agents, &mut self.counts, self.options, key);
        let new = Port {
            at,
            starts: agent.starts,
            place,
            counters: *counters,
        };
        let mut first = false;
        let (port, dropped) = entry(&mut agent.ports, counters.if_index, || {
            first = true;
            new
        });
        self.counts.interfaces_dropped += u64::from(dropped);
        if first {
            self.counts.readings += 1;
            return;
        }
        if let Some(sample) = next(port, new, key, self.options, &mut self.counts) {
            sink(sample);
        }
    }
}

/// Whether a datagram is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is the newest: use it.
    InOrder,
    /// It was missing: use it, but its counters may be older than the last ones.
    OutOfOrder,
    /// It was received already: drop it.
    No,
}

/// An empty table of at most `limit` entries, and of one at least. It allocates as it fills.
fn table<K: Eq + Hash, V>(limit: usize) -> LruCache<K, V> {
    LruCache::sparse(NonZeroUsize::new(limit).unwrap_or(NonZeroUsize::MIN))
}

/// The entry of a key, made if there is none; and whether the least recently used entry was
/// dropped for it.
fn entry<K: Copy + Eq + Hash, V>(
    table: &mut LruCache<K, V>,
    key: K,
    make: impl FnOnce() -> V,
) -> (&mut V, bool) {
    let is_dropped = table.len() == table.cap().get() && !table.contains(&key);
    (table.get_or_insert_mut(key, make), is_dropped)
}

fn agent<'a>(
    agents: &'a mut LruCache<AgentKey, Agent>,
    counts: &mut PortCounts,
    options: PortOptions,
    key: AgentKey,
) -> &'a mut Agent {
    let (agent, dropped) = entry(agents, key, || Agent {
        sequence: None,
        starts: 0,
        ports: table(options.interfaces_max),
    });
    counts.agents_dropped += u64::from(dropped);
    agent
}

/// The sample from the last reading of an interface to the new one, which replaces it if it is
/// newer.
fn next(
    port: &mut Port,
    new: Port,
    key: AgentKey,
    options: PortOptions,
    counts: &mut PortCounts,
) -> Option<TrafficSample> {
    let order = order(port, &new);
    if order == ReadingOrder::Stale {
        counts.stale += 1;
        return None;
    }
    let received = new.at.seconds_since(port.at);
    if order == ReadingOrder::Next && received.abs() < SECONDS_MIN {
        counts.no_time += 1;
        return None;
    }
    let old = std::mem::replace(port, new);
    counts.readings += 1;
    if order == ReadingOrder::Reset {
        counts.resets += 1;
        return None;
    }
    let seconds = seconds(&old, &new, received, options.time_basis, counts);
    if seconds <= 0.0 {
        counts.clock_back += 1;
        return None;
    }
    if seconds > options.seconds_max {
        counts.too_long += 1;
        return None;
    }
    let Some((input, output)) = traffic::rates(&old.counters, &new.counters, seconds) else {
        counts.resets += 1;
        return None;
    };
    Some(TrafficSample {
        at: new.at,
        seconds,
        agent: key.agent,
        sub_agent: key.sub_agent,
        if_index: new.counters.if_index,
        speed_bits_per_s: traffic::speed(&new.counters),
        input,
        output,
    })
}

/// The order of a reading and the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadingOrder {
    Next,
    /// Older than the last one, or the same.
    Stale,
    /// The counters were reset in between.
    Reset,
}

fn order(old: &Port, new: &Port) -> ReadingOrder {
    if new.starts != old.starts {
        return ReadingOrder::Reset;
    }
    let (Some(before), Some(now)) = (old.place, new.place) else {
        return ReadingOrder::Next;
    };
    if before.source != now.source {
        // Another source, with its own numbers, reports the interface now.
        return ReadingOrder::Reset;
    }
    match now.sequence.wrapping_sub(before.sequence).cast_signed() {
        // Some agents never count; only the same reading again is stale.
        0 if old.counters == new.counters && before.uptime_ms == now.uptime_ms => {
            ReadingOrder::Stale
        }
        0.. => ReadingOrder::Next,
        _ if now.late => ReadingOrder::Stale,
        _ => ReadingOrder::Reset,
    }
}

/// The length of the interval, by the chosen clock.
fn seconds(
    old: &Port,
    new: &Port,
    received: f64,
    basis: TimeBasis,
    counts: &mut PortCounts,
) -> f64 {
    let (Some(before), Some(now)) = (old.place, new.place) else {
        return received;
    };
    let passed_ms = now.uptime_ms.wrapping_sub(before.uptime_ms).cast_signed();
    if passed_ms <= 0 {
        // An agent without a clock, or one that updates it late.
        return received;
    }
    let uptime = f64::from(passed_ms) / 1000.0;
    let differ = (uptime - received).abs() > CLOCKS_DIFFER_S + received.abs() / 10.0;
    counts.clocks_differ += u64::from(differ);
    match basis {
        TimeBasis::Receiver => received,
        TimeBasis::AgentUptime => uptime,
    }
}
