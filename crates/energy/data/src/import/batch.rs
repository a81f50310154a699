//! Puts samples of interfaces into lines of traffic, by time, up to 4096 in a line.

use super::report::PortTotal;
use super::{Ids, ImportError, Sink};
use crate::MIB;
use crate::log::{LogLine, Port, PortSample, Traffic};
use crate::sflow::TrafficSample;
use filermark_results::Timestamp;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;
use std::path::Path;

/// Samples in a line.
const LINE_SAMPLES_MAX: usize = 4096;
/// Seconds in a line.
const LINE_SECONDS_MAX: f64 = 60.0;
/// A sample may come this many seconds after a later one, and is put in order.
const LATE_SECONDS_MAX: f64 = 10.0;
/// Intervals of an interface may overlap by this much, since times are rounded.
const OVERLAP_SECONDS_MAX: f64 = 0.001;
/// Samples that wait for earlier ones.
const WAITING_MAX: usize = 1 << 16;
/// Most interfaces of a log. Readers accept no more.
const PORTS_MAX: u32 = 100_000;

/// Ordered by time, then by arrival.
#[derive(Debug)]
struct PendingSample {
    at: Timestamp,
    number: u64,
    port: u32,
    sample: TrafficSample,
}

impl PartialEq for PendingSample {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PendingSample {}

impl PartialOrd for PendingSample {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PendingSample {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

type Key = (IpAddr, u32, u32);

/// An interface that was declared.
struct DeclaredInterface {
    port: u32,
    /// The end of its last sample.
    until: Timestamp,
}

/// Puts samples in order and into lines.
pub(super) struct SampleBatcher<'a, 'b> {
    path: &'a Path,
    source: u32,
    ids: &'a mut Ids,
    sink: &'a mut Sink<'b>,
    known: BTreeMap<Key, DeclaredInterface>,
    totals: BTreeMap<u32, PortTotal>,
    waiting: BinaryHeap<Reverse<PendingSample>>,
    number: u64,
    /// The latest time that has come.
    newest: Option<Timestamp>,
    line: Vec<PortSample>,
    line_from: Timestamp,
    /// The first and last sample that have gone into lines.
    pub(super) first: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
    /// Samples that came too late.
    pub(super) back: u64,
    /// Samples in lines.
    pub(super) samples: u64,
    /// The first error; nothing is written after it.
    failed: Option<ImportError>,
}

impl<'a, 'b> SampleBatcher<'a, 'b> {
    pub(super) fn new(
        path: &'a Path,
        source: u32,
        ids: &'a mut Ids,
        sink: &'a mut Sink<'b>,
    ) -> Self {
        Self {
            path,
            source,
            ids,
            sink,
            known: BTreeMap::new(),
            totals: BTreeMap::new(),
            waiting: BinaryHeap::new(),
            number: 0,
            newest: None,
            line: Vec::new(),
            line_from: Timestamp::from_unix_seconds(0.0),
            first: None,
            last: None,
            back: 0,
            samples: 0,
            failed: None,
        }
    }

    /// Whether there was an error, so that reading can stop.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Writes a line that is not traffic.
    pub(super) fn other(&mut self, line: LogLine) {
        if self.failed.is_none() {
            self.failed = (self.sink)(line).err().map(ImportError::from);
        }
    }

    /// Takes a sample. Errors are returned by [`Self::end`].
    pub(super) fn take(&mut self, sample: TrafficSample) {
        if self.failed.is_some() {
            return;
        }
        if self.last.is_some_and(|last| sample.at < last) {
            self.back += 1;
            return;
        }
        let Some(port) = self.port(&sample) else {
            return;
        };
        let key = (sample.agent, sample.sub_agent, sample.if_index);
        if let Some(known) = self.known.get_mut(&key) {
            // After the clock was set: an interval that overlaps a known one.
            if known.until.seconds_since(sample.at) + sample.seconds > OVERLAP_SECONDS_MAX {
                self.back += 1;
                return;
            }
            known.until = sample.at;
        }
        self.number += 1;
        self.waiting.push(Reverse(PendingSample {
            at: sample.at,
            number: self.number,
            port,
            sample,
        }));
        let newest = self
            .newest
            .map_or(sample.at, |newest| newest.max(sample.at));
        self.newest = Some(newest);
        while let Some(Reverse(next)) = self.waiting.peek() {
            let due = newest.seconds_since(next.at) > LATE_SECONDS_MAX;
            if !due && self.waiting.len() <= WAITING_MAX {
                break;
            }
            self.one();
        }
    }

    /// The interface's number; a new one is declared.
    fn port(&mut self, sample: &TrafficSample) -> Option<u32> {
        let key = (sample.agent, sample.sub_agent, sample.if_index);
        if let Some(known) = self.known.get(&key) {
            return Some(known.port);
        }
        let port = self.ids.port;
        if port >= PORTS_MAX {
            let reason = format!("more than {PORTS_MAX} interfaces; import fewer files at once");
            self.failed = Some(ImportError::file(self.path, reason));
            return None;
        }
        self.ids.port += 1;
        let until = sample.at.plus_seconds(-sample.seconds);
        self.known.insert(key, DeclaredInterface { port, until });
        self.totals.insert(
            port,
            PortTotal {
                port,
                agent: sample.agent,
                sub_agent: sample.sub_agent,
                if_index: sample.if_index,
                in_mib: 0.0,
                out_mib: 0.0,
                samples: 0,
            },
        );
        self.other(LogLine::Port(Port {
            port,
            source: self.source,
            agent: sample.agent,
            sub_agent: sample.sub_agent,
            if_index: sample.if_index,
            name: None,
            speed_bits_per_s: sample.speed_bits_per_s,
        }));
        Some(port)
    }

    /// Adds the earliest waiting sample to the line.
    fn one(&mut self) {
        let Some(Reverse(next)) = self.waiting.pop() else {
            return;
        };
        let long = next.at.seconds_since(self.line_from) >= LINE_SECONDS_MAX;
        if self.line.len() >= LINE_SAMPLES_MAX || (long && !self.line.is_empty()) {
            self.flush();
        }
        if self.line.is_empty() {
            self.line_from = next.at;
        }
        let sample = PortSample::of(&next.sample, next.port, self.line_from);
        if let Some(total) = self.totals.get_mut(&next.port) {
            total.in_mib += sample.in_bytes.unwrap_or(0) as f64 / MIB;
            total.out_mib += sample.out_bytes.unwrap_or(0) as f64 / MIB;
            total.samples += 1;
        }
        self.line.push(sample);
        self.samples += 1;
        self.first.get_or_insert(next.at);
        self.last = Some(next.at);
    }

    fn flush(&mut self) {
        let samples = std::mem::take(&mut self.line);
        if !samples.is_empty() {
            self.other(LogLine::Traffic(Traffic {
                source: self.source,
                at: self.line_from,
                tag: None,
                samples,
            }));
        }
    }

    /// Writes all waiting samples.
    pub(super) fn finish(&mut self) {
        while !self.waiting.is_empty() {
            self.one();
        }
        self.flush();
    }

    /// The totals of the interfaces.
    ///
    /// # Errors
    /// The log could not be written, or there were too many interfaces.
    pub(super) fn end(self) -> Result<Vec<PortTotal>, ImportError> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.totals.into_values().collect()),
        }
    }
}
