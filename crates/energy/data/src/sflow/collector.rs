//! Takes datagrams in and keeps books: rates, estimates, and what was wrong.

use super::datagram::{Datagram, Sample};
use super::error::WireError;
use super::ports::{Admission, AgentKey, PortOptions, Ports};
use super::sflowtool::Row;
use super::traffic::TrafficSample;
use filermark_results::Timestamp;
use std::net::IpAddr;

/// What came that is neither rate nor estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramProblems {
    /// Datagrams whose head cannot be read.
    pub unreadable: u64,
    /// Samples and records that cannot be read, in datagrams that can.
    pub broken: u64,
    /// Samples of kinds that are not known here; skipped.
    pub skipped: u64,
    /// The first that could not be read.
    pub first: Option<WireError>,
}

/// Everything that a stream of datagrams has told.
#[derive(Debug)]
pub struct Collector {
    /// The interfaces' counters.
    pub ports: Ports,
    problems: DatagramProblems,
    /// What became of the last head in a text file.
    row_head: Admission,
}

impl Collector {
    /// Has heard nothing yet.
    pub fn new(options: PortOptions) -> Self {
        Self {
            ports: Ports::new(options),
            problems: DatagramProblems::default(),
            row_head: Admission::InOrder,
        }
    }

    /// What was wrong so far.
    pub fn problems(&self) -> DatagramProblems {
        self.problems
    }

    /// Takes the bytes of a datagram in. `from` is who sent it; rates go to `sink`.
    /// Nothing is allocated unless an agent or interface is new.
    ///
    /// # Errors
    ///
    /// When its head cannot be read. That is counted too.
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

    /// Takes in what a text file tells. `now` is the time of rows that have none.
    ///
    /// Counters of a datagram that came late are dropped: without the number of their sample
    /// nobody knows whether they are older than those known.
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
