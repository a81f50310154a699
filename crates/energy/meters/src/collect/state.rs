//! The collector of sFlow: makes lines of the log from datagrams.
//!
//! It has no socket: it takes bytes with their time, and sends batches of lines about once a
//! second.

use super::clock::StepWatch;
use super::ports::{PORTS_MAX, PortTable};
use super::throttle::LogThrottle;
use super::writer::{LineBatch, LogSender, NotSent};
use filermark_energy_data::log::{EventKind, LogLine, PortSample, Traffic};
use filermark_energy_data::sflow::datagram::Datagram;
use filermark_energy_data::sflow::ports::{AgentKey, PortCounts, PortOptions, Ports, TimeBasis};
use filermark_energy_data::sflow::{Collector, Selection, TrafficSample};
use filermark_model::units::counted;
use filermark_results::Timestamp;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A line has no more samples than this.
const SAMPLES_MAX: usize = 4096;
/// The longest wait of a sample for its line.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// The events of a stream of datagrams, each about once a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ThrottleTopic {
    Lost(AgentKey),
    Restarted(AgentKey),
    CountersBegan(AgentKey),
    TooLong(AgentKey),
    Unreadable,
    Broken,
    AgentsDropped,
    InterfacesDropped,
    NoNumberLeft,
    NotWritten,
}

/// The state of one collector.
pub(super) struct CollectorState {
    source: u32,
    options: PortOptions,
    collector: Collector,
    outbox: LogSender,
    steps: StepWatch,
    topics: LogThrottle<ThrottleTopic>,
    /// Lines of interfaces and events that have not been sent yet.
    pending: LineBatch,
    /// Rates since the last line, with the interface's number.
    rates: Vec<(u32, TrafficSample)>,
    /// Rates of the current datagram.
    fresh: Vec<TrafficSample>,
    /// When the first of `rates` came.
    begun: Option<Duration>,
    /// When events were last checked.
    events_checked: Duration,
    totals: Totals,
}

/// Sums over the whole collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Datagrams that were decoded.
    pub datagrams: u64,
    /// Datagrams whose numbers are missing.
    pub lost: u64,
    /// Datagrams whose head cannot be read.
    pub unreadable: u64,
    /// Samples that were dropped because the queue of the writer was full.
    pub not_written: u64,
    /// Samples of interfaces that got no number.
    pub no_number: u64,
}

impl Totals {
    /// The problem where no datagram of version 5 was received.
    pub fn nothing_received(&self, listens: Option<SocketAddr>) -> Option<String> {
        if self.datagrams > 0 {
            return None;
        }
        let at = listens.map_or_else(String::new, |at| format!(" on {at}"));
        Some(match self.unreadable {
            0 => format!(
                "no datagram of sFlow received{at}: check that the switch sends to this host, and that no firewall blocks it"
            ),
            n => format!(
                "no datagram of sFlow version 5 received{at}, but {} of another kind: set the switch to sFlow version 5",
                counted(n, "datagram")
            ),
        })
    }
}

impl CollectorState {
    /// Starts the state of a source, and gives the live view its interfaces.
    pub fn new(source: u32, selection: Selection, basis: TimeBasis, outbox: LogSender) -> Self {
        let options = PortOptions {
            time_basis: basis,
            ..PortOptions::default()
        };
        outbox.now.set_ports(PortTable::new(source, selection));
        Self {
            source,
            options,
            collector: Collector::new(options),
            steps: StepWatch::new(),
            topics: LogThrottle::new(),
            pending: LineBatch::new(),
            rates: Vec::with_capacity(SAMPLES_MAX),
            fresh: Vec::new(),
            begun: None,
            events_checked: outbox.clock.passed(),
            totals: Totals::default(),
            outbox,
        }
    }

    /// Sums so far.
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// Handles a datagram that was just received.
    pub fn datagram(&mut self, from: IpAddr, bytes: &[u8]) {
        let (now, passed) = (self.outbox.clock.now(), self.outbox.clock.passed());
        self.watch(now, passed);
        let before = (self.collector.ports.counts(), self.collector.problems());
        let fresh = &mut self.fresh;
        let taken = self
            .collector
            .datagram(now, from, bytes, &mut |sample| fresh.push(sample));
        let (counts, problems) = (self.collector.ports.counts(), self.collector.problems());
        if taken.is_err() {
            self.totals.unreadable += 1;
            self.topics.add(ThrottleTopic::Unreadable, 1);
        }
        let broken = problems.broken - before.1.broken;
        self.topics.add(ThrottleTopic::Broken, signed(broken));
        if counts != before.0 {
            self.count(from, bytes, &before.0, &counts);
        }
        if !self.fresh.is_empty() {
            self.number(passed);
        }
    }

    /// No interval may span a step of the clock.
    fn watch(&mut self, now: Timestamp, passed: Duration) {
        if self.steps.step(now, passed).is_some() {
            self.collector.ports = Ports::new(self.options);
        }
    }

    /// Adds what has changed. Mostly that is only the number of datagrams.
    fn count(&mut self, from: IpAddr, bytes: &[u8], before: &PortCounts, now: &PortCounts) {
        self.totals.datagrams += now.datagrams - before.datagrams;
        let lost = signed(now.lost) - signed(before.lost);
        self.totals.lost = self.totals.lost.saturating_add_signed(lost);
        let began = signed(now.resets - before.resets);
        let too_long = signed(now.too_long - before.too_long);
        let restarts = signed(now.restarts - before.restarts);
        self.topics.add(
            ThrottleTopic::AgentsDropped,
            signed(now.agents_dropped - before.agents_dropped),
        );
        self.topics.add(
            ThrottleTopic::InterfacesDropped,
            signed(now.interfaces_dropped - before.interfaces_dropped),
        );
        if (lost, began, too_long, restarts) == (0, 0, 0, 0) {
            return;
        }
        if let Ok(datagram) = Datagram::decode(bytes) {
            let key = AgentKey {
                agent: datagram.agent.unwrap_or(from),
                sub_agent: datagram.sub_agent,
            };
            self.topics.add(ThrottleTopic::Lost(key), lost);
            self.topics.add(ThrottleTopic::CountersBegan(key), began);
            self.topics.add(ThrottleTopic::TooLong(key), too_long);
            self.topics.add(ThrottleTopic::Restarted(key), restarts);
        }
    }

    /// Gives the fresh rates the numbers of their interfaces.
    fn number(&mut self, passed: Duration) {
        let (fresh, rates, pending) = (&mut self.fresh, &mut self.rates, &mut self.pending);
        let before = rates.len() + fresh.len();
        self.outbox.now.with_ports(|table| {
            for sample in fresh.drain(..) {
                if let Some((number, port)) = table.take(&sample, passed) {
                    pending.extend(port.map(LogLine::Port));
                    rates.push((number, sample));
                }
            }
        });
        let left_out = (before - self.rates.len()) as u64;
        self.totals.no_number += left_out;
        self.topics
            .add(ThrottleTopic::NoNumberLeft, signed(left_out));
        if !self.rates.is_empty() {
            self.begun.get_or_insert(passed);
        }
    }

    /// Sends what has waited long enough. Returns whether the writer still runs.
    pub fn send_due(&mut self) -> bool {
        let passed = self.outbox.clock.passed();
        let old = |since: Duration| passed >= since + LINE_EVERY;
        if old(self.events_checked) {
            self.events_checked = passed;
            self.take_events(false);
        }
        if self.begun.is_some_and(old) || self.rates.len() >= SAMPLES_MAX {
            return self.hand_over(false);
        }
        true
    }

    /// Sends everything; may block. Where nothing was received at `listens`, the log has an
    /// event: the reduction must distinguish missing traffic from traffic that was not
    /// collected.
    pub fn end(mut self, listens: Option<SocketAddr>) -> Totals {
        self.take_events(true);
        if let Some(nothing) = self.totals.nothing_received(listens) {
            let line = self
                .outbox
                .event(Some(self.source), EventKind::Lost, nothing);
            self.pending.push(line);
        }
        self.hand_over(true);
        self.totals
    }

    /// Makes events of the counts that are due.
    fn take_events(&mut self, end: bool) {
        let now = &self.outbox.now;
        now.set_datagrams(self.totals.datagrams, self.totals.lost);
        for (topic, count) in self.topics.due(self.outbox.clock.passed(), end) {
            let (what, message) = self.event_text(topic, count);
            let line = self.outbox.event(Some(self.source), what, message);
            self.pending.push(line);
        }
        if !self.pending.is_empty() {
            self.begun.get_or_insert(self.events_checked);
        }
    }

    fn event_text(&self, topic: ThrottleTopic, n: u64) -> (EventKind, String) {
        let first = self.collector.problems().first;
        let first = first.map_or_else(String::new, |error| format!("; the first: {error}"));
        match topic {
            ThrottleTopic::Lost(key) => (
                EventKind::Gap,
                format!(
                    "agent {}: {} lost on the way; bytes are still counted, over a longer interval",
                    name(key),
                    counted(n, "datagram")
                ),
            ),
            ThrottleTopic::Restarted(key) => (
                EventKind::Restart,
                format!(
                    "agent {}: restarted ({n}); one interval of each interface has no rate",
                    name(key)
                ),
            ),
            ThrottleTopic::CountersBegan(key) => (
                EventKind::Restart,
                format!(
                    "agent {}: {n} intervals have no rate: counters were reset",
                    name(key)
                ),
            ),
            ThrottleTopic::TooLong(key) => (
                EventKind::Gap,
                format!(
                    "agent {}: {n} intervals have no rate: more than {} s between two readings",
                    name(key),
                    self.options.seconds_max
                ),
            ),
            ThrottleTopic::Unreadable => (
                EventKind::Invalid,
                format!("{}: not sFlow version 5{first}", counted(n, "datagram")),
            ),
            ThrottleTopic::Broken => (
                EventKind::Invalid,
                format!("{n} samples or records cannot be read{first}"),
            ),
            ThrottleTopic::AgentsDropped => (
                EventKind::Invalid,
                format!(
                    "{n} agents dropped: more than {} send counters; send only those of the test here",
                    self.options.agents_max
                ),
            ),
            ThrottleTopic::InterfacesDropped => (
                EventKind::Invalid,
                format!(
                    "{n} interfaces dropped: an agent has more than {}; poll only those of the test",
                    self.options.interfaces_max
                ),
            ),
            ThrottleTopic::NoNumberLeft => (
                EventKind::Invalid,
                format!("{n} samples left out: more than {PORTS_MAX} interfaces in one log"),
            ),
            ThrottleTopic::NotWritten => (
                EventKind::Invalid,
                format!("{n} samples dropped: the disk is too slow for the log"),
            ),
        }
    }

    /// Sends all lines. If it may not wait and the queue is full, samples are dropped and
    /// counted; interfaces and events are kept for the next time.
    fn hand_over(&mut self, may_wait: bool) -> bool {
        self.begun = None;
        let lines_before = self.pending.len();
        let mut post = std::mem::take(&mut self.pending);
        self.rates.sort_by_key(|(port, sample)| (sample.at, *port));
        let samples = self.rates.len() as u64;
        post.extend(
            self.rates
                .chunks(SAMPLES_MAX)
                .filter_map(|rates| self.line(rates)),
        );
        self.rates.clear();
        if post.is_empty() {
            return true;
        }
        if may_wait {
            return self.outbox.send(post);
        }
        match self.outbox.try_send(post) {
            Ok(()) => true,
            Err(NotSent::Closed) => false,
            Err(NotSent::Full(mut post)) => {
                post.truncate(lines_before);
                self.pending = post;
                self.totals.not_written += samples;
                self.topics.add(ThrottleTopic::NotWritten, signed(samples));
                true
            }
        }
    }

    fn line(&self, rates: &[(u32, TrafficSample)]) -> Option<LogLine> {
        let at = rates.first()?.1.at;
        let samples = rates.iter();
        Some(LogLine::Traffic(Traffic {
            source: self.source,
            at,
            tag: None,
            samples: samples
                .map(|(port, rate)| PortSample::of(rate, *port, at))
                .collect(),
        }))
    }
}

fn name(key: AgentKey) -> String {
    match key.sub_agent {
        0 => key.agent.to_string(),
        part => format!("{} part {part}", key.agent),
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
