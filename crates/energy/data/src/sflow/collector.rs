//! Decodes datagrams and counts problems.

use super::datagram::{Datagram, Sample};
use super::error::WireError;
use super::ports::{Admission, AgentKey, PortOptions, Ports};
use super::sflowtool::Row;
use super::traffic::TrafficSample;
use filermark_results::Timestamp;
use std::net::IpAddr;

/// Datagrams and samples that gave no rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramProblems {
    /// Datagrams whose head cannot be read.
    pub unreadable: u64,
    /// Samples and records that cannot be read, in datagrams that can.
    pub broken: u64,
    /// Samples of unknown kinds; skipped.
    pub skipped: u64,
    /// The first that could not be read.
    pub first: Option<WireError>,
}

/// The state of a stream of datagrams.
#[derive(Debug)]
pub struct Collector {
    /// The interfaces' counters.
    pub ports: Ports,
    problems: DatagramProblems,
    /// The admission of the last head in a text file.
    row_head: Admission,
}

impl Collector {
    /// A collector without any datagram.
    pub fn new(options: PortOptions) -> Self {
        Self {
            ports: Ports::new(options),
            problems: DatagramProblems::default(),
            row_head: Admission::InOrder,
        }
    }

    /// The problems so far.
    pub fn problems(&self) -> DatagramProblems {
        self.problems
    }

    /// Handles the bytes of a datagram. `from` is the sender; rates go to `sink`.
    /// Nothing is allocated unless an agent or interface is new.
    ///
    /// # Errors
    ///
    /// Its head cannot be read. That is counted, too.
    pub fn datagram(
        &mut self,
        at: Timestamp,
        from: IpAddr,
        bytes: &[u8],
        sink: &mut impl FnMut(TrafficSample),
    ) -> Result<Admission, WireError> {
        let datagram = Datagram::decode(bytes).inspect_err(|error| {
            self.problems.unreadable += 1;
            self.problems.first.get_or_insert(*error);
        })?;
        let key = AgentKey {
            agent: datagram.agent.unwrap_or(from),
            sub_agent: datagram.sub_agent,
        };
        let (sequence, uptime_ms) = (datagram.sequence, datagram.uptime_ms);
        let admitted = self.ports.admit(at, key, sequence, uptime_ms);
        if admitted == Admission::No {
            return Ok(admitted);
        }
        for sample in datagram.samples() {
            match sample {
                Ok(Sample::Counters(sample)) => {
                    self.note(sample.records().filter_map(Result::err));
                    let head = (uptime_ms, admitted);
                    self.ports.sample(at, key, head, &sample, sink);
                }
                Ok(Sample::Packet) => {}
                Ok(Sample::Other { .. }) => self.problems.skipped += 1,
                Err(error) => self.note(std::iter::once(error)),
            }
        }
        Ok(admitted)
    }

    /// Handles a row of a text file. `now` is the time of rows without one.
    ///
    /// Counters of a late datagram are dropped: without the number of their sample it is unknown
    /// whether they are older than the last ones.
    pub fn row(&mut self, now: Timestamp, row: &Row, sink: &mut impl FnMut(TrafficSample)) {
        match row {
            Row::Head {
                at,
                key,
                sequence,
                uptime_ms,
            } => self.row_head = self.ports.admit(*at, *key, *sequence, *uptime_ms),
            Row::Counters { at, key, counters } => {
                if self.row_head == Admission::InOrder {
                    self.ports.counters(at.unwrap_or(now), *key, counters, sink);
                }
            }
            Row::Packet => {}
        }
    }

    fn note(&mut self, errors: impl Iterator<Item = WireError>) {
        for error in errors {
            self.problems.broken += 1;
            self.problems.first.get_or_insert(error);
        }
    }
}
