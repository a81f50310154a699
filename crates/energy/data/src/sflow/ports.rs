//! Remembers the last counters of every interface and makes rates of the next ones.
//!
//! What it keeps is bounded: so many agents, so many interfaces of each; who was heard
//! longest ago goes. What could not become a rate is counted, by its reason.

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
/// The two clocks may differ by so much over an interval, in seconds, and a tenth of it.
const CLOCKS_DIFFER_S: f64 = 2.0;

/// Whose clock an interval is measured with. The time of a sample is always the receiver's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeBasis {
    /// The receiver's.
    #[default]
    Receiver,
    /// The agent's uptime, where it goes on; it knows nothing of delays on the way.
    AgentUptime,
}

/// Limits and choices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortOptions {
    /// Parts of agents that are remembered.
    pub agents_max: usize,
    /// Interfaces of each that are remembered.
    pub interfaces_max: usize,
    /// An interval of more seconds gives no rate: nobody knows what was in it.
    pub seconds_max: f64,
    /// How long an interval was.
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

/// What has come, and what could not be used, since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Datagrams that were taken.
    pub datagrams: u64,
    /// Datagrams whose numbers are missing. Those that come late are taken off again.
    pub lost: u64,
    /// Datagrams that came late and were taken.
    pub late: u64,
    /// Datagrams that had come already, or too late to tell; dropped.
    pub duplicates: u64,
    /// Times that an agent started again.
    pub restarts: u64,
    /// Readings of interface counters that were taken.
    pub readings: u64,
    /// Readings older than one already taken, or the same; dropped.
    pub stale: u64,
    /// Intervals without a rate since counters were set back, or the agent started again.
    pub resets: u64,
    /// Intervals without a rate since they were longer than the limit.
    pub too_long: u64,
    /// Readings without a rate since no time had passed. The earlier reading stays.
    pub no_time: u64,
    /// Intervals without a rate since the receiver's clock went back.
    pub clock_back: u64,
    /// Intervals over which agent and receiver differ about the time that passed.
    pub clocks_differ: u64,
    /// Agents forgotten to make room.
    pub agents_dropped: u64,
    /// Interfaces forgotten to make room.
    pub interfaces_dropped: u64,
}

/// Where in the stream of an agent a reading lies.
#[derive(Clone, Copy, Debug)]
struct ReadingPosition {
    uptime_ms: u32,
    late: bool,
    source: Source,
    sequence: u32,
}

/// What is remembered of an interface.
#[derive(Clone, Copy, Debug)]
struct Port {
    at: Timestamp,
    /// How often the agent had started when this was read.
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
    /// Remembers nothing yet.
    pub fn new(options: PortOptions) -> Self {
        Self {
            options,
            agents: table(options.agents_max),
            counts: PortCounts::default(),
        }
    }

    /// What has come so far.
    pub fn counts(&self) -> PortCounts {
        self.counts
    }

    /// Parts of agents, and interfaces, that are remembered now.
    pub fn sizes(&self) -> (usize, usize) {
        let interfaces = self.agents.iter().map(|(_, agent)| agent.ports.len());
        (self.agents.len(), interfaces.sum())
    }

    /// Takes the head of a datagram in: whether it is one to be used, and whether it is late.
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

    /// Takes the counters of a sample in. The datagram was admitted as `admitted` says.
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

    /// Takes counters in that come without a datagram around them, as from a text file.
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

/// What becomes of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is the newest: use it.
    InOrder,
    /// It is one that was missing: use it, but its counters may be older than those known.
    OutOfOrder,
    /// It has come already: drop it.
    No,
}

/// An empty table of at most `limit` entries, and of one at least. It takes memory as it fills.
fn table<K: Eq + Hash, V>(limit: usize) -> LruCache<K, V> {
    LruCache::sparse(NonZeroUsize::new(limit).unwrap_or(NonZeroUsize::MIN))
}

/// The entry of a key, made where there is none; and whether the entry that was used longest
/// ago was dropped for it.
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

/// From what is known of an interface to the new reading, which becomes what is known if it is
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

/// How a reading stands to the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadingOrder {
    Next,
    /// Older than what is known, or the same.
    Stale,
    /// The counters have begun anew in between.
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
        // Another source with numbers of its own tells of the interface now.
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

/// How long the interval was, by the clock that is wanted.
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
        // An agent without a clock, or one that set it a little late.
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
