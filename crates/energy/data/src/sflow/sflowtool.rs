//! Parses the output of sflowtool: rows of `-l`, with or without a time column, and the objects
//! of `-j` and `-J`.
//!
//! It reads text line by line and returns [`Row`]s. Invalid lines are counted, and the first is
//! kept; other output of sflowtool is skipped. A line and an object have a limit of [`TEXT_MAX`]
//! bytes.

use super::counters::InterfaceCounters;
use super::json;
use super::local_time::{LocalTimes, Zone};
use super::ports::AgentKey;
use filermark_results::Timestamp;
use std::io::{BufRead, Read};
use std::net::IpAddr;

/// Bytes of a line or of an object. A datagram in JSON has some kilobytes.
pub const TEXT_MAX: usize = 1 << 20;
/// Bytes of a bad line that are kept for a message.
const KEPT: usize = 80;

/// The contents of a line or an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// The head of a datagram (JSON only); what follows came with it.
    Head {
        /// When it was received.
        at: Timestamp,
        /// Its agent.
        key: AgentKey,
        /// Its number.
        sequence: u32,
        /// The agent's uptime.
        uptime_ms: u32,
    },
    /// Counters of an interface.
    Counters {
        /// The time, if the row has one.
        at: Option<Timestamp>,
        /// Their agent.
        key: AgentKey,
        /// The counters.
        counters: InterfaceCounters,
    },
    /// A sampled packet; not used.
    Packet,
}

/// Lines so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// All.
    pub read: u64,
    /// Rows with counters or packets, in JSON the samples.
    pub rows: u64,
    /// Invalid rows or objects.
    pub bad: u64,
    /// Number, from 1, and beginning of the first bad one.
    pub first_bad: Option<(u64, String)>,
    /// Rows with a local time while no time zone was given. They are included in `bad`.
    pub no_zone: u64,
}

/// Reads output of sflowtool.
#[derive(Clone, Debug)]
pub struct SflowtoolReader {
    times: LocalTimes,
    lines: Lines,
    /// An object that has begun, and how deep it is open.
    object: String,
    depth: i64,
    /// Where the object begins.
    object_line: u64,
}

impl SflowtoolReader {
    /// `zone` is the time zone of rows. Without it rows whose time has no offset are bad. JSON
    /// has times in UTC and needs none.
    pub fn new(zone: Option<Zone>) -> Self {
        Self {
            times: LocalTimes::new(zone),
            lines: Lines::default(),
            object: String::new(),
            depth: 0,
            object_line: 0,
        }
    }

    /// The counts so far.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Handles the next line, with or without its line end.
    pub fn line(&mut self, line: &str, sink: &mut impl FnMut(Row)) {
        self.lines.read += 1;
        let line = line.trim_end();
        if !self.object.is_empty() || line.trim_start().starts_with('{') {
            self.json_line(line, sink);
        } else if line.starts_with("CNTR") || line.starts_with("FLOW") {
            match self.row(line) {
                Some(row) => {
                    self.lines.rows += 1;
                    sink(row);
                }
                None => self.bad(self.lines.read, line),
            }
        }
    }

    /// Handles a whole text, a line at a time. Bytes that are not UTF-8 make only their row bad.
    /// Of a line that is too long only the beginning is kept.
    ///
    /// # Errors
    ///
    /// `input` cannot be read. Rows before went to `sink`.
    pub fn text(
        &mut self,
        mut input: impl BufRead,
        sink: &mut impl FnMut(Row),
    ) -> std::io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let limit = TEXT_MAX as u64 + 1;
            if input.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if line.len() > TEXT_MAX && line.last() != Some(&b'\n') {
                input.skip_until(b'\n')?;
            }
            self.line(&String::from_utf8_lossy(&line), sink);
        }
        self.end();
        Ok(())
    }

    /// Ends the text: an incomplete object is bad.
    pub fn end(&mut self) {
        if !self.object.is_empty() {
            let object = std::mem::take(&mut self.object);
            self.bad(self.object_line, &object);
        }
    }

    fn bad(&mut self, line: u64, text: &str) {
        self.lines.bad += 1;
        let beginning = || (line, text.chars().take(KEPT).collect());
        self.lines.first_bad.get_or_insert_with(beginning);
    }

    fn row(&mut self, line: &str) -> Option<Row> {
        if line.len() > TEXT_MAX {
            return None;
        }
        let mut fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let (kind, agent): (&str, IpAddr) = (fields[0], fields.get(1)?.parse().ok()?);
        let key = AgentKey {
            agent,
            sub_agent: 0,
        };
        let plain = match kind {
            "CNTR" => 21,
            "FLOW" => 20,
            _ => return None,
        };
        let at = match fields.len().checked_sub(plain)? {
            0 => None,
            1 => {
                let time = fields.remove(2);
                let at = self.times.read(time);
                self.lines.no_zone += u64::from(at.is_none() && !self.times.has_zone());
                Some(at?)
            }
            _ => return None,
        };
        if kind == "FLOW" {
            return Some(Row::Packet);
        }
        let counters = counters(&fields[2..])?;
        Some(Row::Counters { at, key, counters })
    }

    fn json_line(&mut self, line: &str, sink: &mut impl FnMut(Row)) {
        // Only an object begins with a brace in the first column, so a truncated object does not
        // include the next.
        if line.starts_with('{') {
            self.end();
        }
        if self.object.is_empty() {
            self.object_line = self.lines.read;
            self.depth = 0;
        }
        if self.object.len() + line.len() > TEXT_MAX {
            self.end();
            return;
        }
        self.object.push_str(line);
        self.object.push('\n');
        self.depth += depth(line);
        if self.depth > 0 {
            return;
        }
        let object = std::mem::take(&mut self.object);
        let lines = &mut self.lines;
        let bad = json::datagram(&object, &mut |row| {
            lines.rows += u64::from(!matches!(row, Row::Head { .. }));
            sink(row);
        });
        if bad > 0 {
            self.bad(self.object_line, &object);
            self.lines.bad += bad - 1;
        }
    }
}

/// Opened minus closed braces and brackets, outside of strings.
fn depth(line: &str) -> i64 {
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    for byte in line.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
    }
    depth
}

/// The nineteen counters of a row.
fn counters(fields: &[&str]) -> Option<InterfaceCounters> {
    let mut fields = fields.iter();
    let mut wide = || fields.next()?.parse::<u64>().ok();
    macro_rules! narrow {
        () => {
            u32::try_from(wide()?).ok()?
        };
    }
    // In the order of the row.
    Some(InterfaceCounters {
        if_index: narrow!(),
        if_type: narrow!(),
        speed: wide()?,
        direction: narrow!(),
        status: narrow!(),
        in_octets: wide()?,
        in_unicast: narrow!(),
        in_multicast: narrow!(),
        in_broadcast: narrow!(),
        in_discards: narrow!(),
        in_errors: narrow!(),
        in_unknown_protocols: narrow!(),
        out_octets: wide()?,
        out_unicast: narrow!(),
        out_multicast: narrow!(),
        out_broadcast: narrow!(),
        out_discards: narrow!(),
        out_errors: narrow!(),
        promiscuous: narrow!(),
    })
}
