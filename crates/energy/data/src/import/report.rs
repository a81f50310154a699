//! The report of an import.

use crate::log::{EventKind, LogEvent, LogLine};
use filermark_results::Timestamp;
use serde::Serialize;
use std::net::IpAddr;
use std::path::PathBuf;

/// The report of the import of a file, printed as text or JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ImportReport {
    /// The file.
    pub path: PathBuf,
    /// Its detected format.
    pub form: String,
    /// Its source in the log.
    pub source: u32,
    /// Of a table, what was read from which columns: `power_w = WT1:P-1`.
    pub columns: Vec<String>,
    /// Rows or datagrams that were used.
    pub good: u64,
    /// Rows or datagrams that could not be used.
    pub bad: u64,
    /// The first of these: its line (0 where the file has none), and why.
    pub first_bad: Option<(u64, String)>,
    /// Rows or samples dropped since their time was before one already taken.
    pub back: u64,
    /// Rows dropped since they had the same time as the one before.
    pub same_time: u64,
    /// The time of the first sample.
    pub first: Option<Timestamp>,
    /// The time of the last sample.
    pub last: Option<Timestamp>,
    /// Its interfaces, by number.
    pub ports: Vec<PortTotal>,
    /// Other notes, as sentences. They are events of the log, too.
    pub notes: Vec<String>,
}

/// The total traffic of an interface in a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PortTotal {
    /// Its number in the log.
    pub port: u32,
    /// The agent.
    pub agent: IpAddr,
    /// The part of the agent.
    pub sub_agent: u32,
    /// ifIndex.
    pub if_index: u32,
    /// MiB that the agent received, where it counts them.
    pub in_mib: f64,
    /// MiB that the agent sent, where it counts them.
    pub out_mib: f64,
    /// Samples.
    pub samples: u64,
}

/// Events at the end of a file, as lines of the log.
pub(super) struct Events {
    source: u32,
    at: Timestamp,
    pub(super) lines: Vec<LogLine>,
}

impl Events {
    /// All have the time of the last sample, so that time does not go back.
    pub(super) fn new(source: u32, at: Timestamp) -> Self {
        Self {
            source,
            at,
            lines: Vec::new(),
        }
    }

    /// Adds an event.
    pub(super) fn add(&mut self, what: EventKind, message: String) {
        self.lines.push(event(self.source, self.at, what, message));
    }

    /// Adds an event, if the count is above 0: `rows that are bad: 7`.
    pub(super) fn count(&mut self, what: EventKind, count: u64, things: &str) {
        if count > 0 {
            self.add(what, format!("{things}: {count}"));
        }
    }
}

/// Makes an event.
pub(super) fn event(source: u32, at: Timestamp, what: EventKind, message: String) -> LogLine {
    LogLine::Event(LogEvent {
        at,
        source: Some(source),
        what,
        message: filermark_results::text::one_line(&message),
    })
}
