//! The energy log: the measurements during runs, as lines of JSON.
//!
//! One object per line, described by `schema/energy-log-v1.json`. A merged log has the same
//! format, with a phase on every sample and a line for every run: so there is one format, one
//! reader and one writer.

mod disclosed;
mod reader;
mod writer;

pub use disclosed::{Instrument, Product};
pub use reader::{LINE_LEN_MAX, Log, ReadError};
pub use writer::{LogWriter, WriteError};

use crate::digits::Digits;
use crate::reading::Quantity;
use crate::sflow::TrafficSample;
use filermark_results::Timestamp;
use serde::de::{SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

/// The version of the log's schema that this program writes and reads.
pub const SCHEMA_VERSION: u32 = 1;

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum LogLine {
    /// The program that wrote it, and what was measured; the first line.
    Energy(Box<Head>),
    /// A meter, a sensor or a collector of sFlow; before its first sample.
    Source(Source),
    /// An interface of a switch; before its first sample.
    Port(Port),
    /// A run with which the log was merged.
    Run(Box<MergedRun>),
    /// The figures of a meter or a sensor at one time.
    Readings(Readings),
    /// The traffic of interfaces.
    Traffic(Traffic),
    /// Something that happened to a source or to the clock.
    Event(LogEvent),
    /// The last line of a complete log.
    End(LogEnd),
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema: u32,
    /// The program that wrote it: `filermark`.
    pub program: String,
    /// Its version.
    pub version: String,
    /// When collecting began; of an imported log, when it was imported.
    pub started: Timestamp,
    /// On which host.
    pub host: String,
    /// [`filermark_model::NOT_A_SPEC_RESULT`].
    pub notice: String,
    /// The server and the lab, as the user describes them.
    #[serde(default)]
    pub lab: Lab,
}

/// The server and the lab, as the user describes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lab {
    /// Storage devices of the server, for the best-foot-forward plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drives: Option<u32>,
    /// Raw capacity of the server in GB (10^9 bytes), for GB/W when idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_capacity_gb: Option<f64>,
    /// Nominal voltage of the supply; without it, the nearest of 115 V and 230 V (4.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominal_voltage_v: Option<f64>,
    /// Interfaces that face the server, as [`crate::sflow::PortPattern`] reads them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    /// What is measured.
    #[serde(skip_serializing_if = "Product::is_empty")]
    pub product: Product,
    /// Where it is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The person or company that measures it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_by: Option<String>,
}

impl Lab {
    /// All texts, each with its name in the setup and its label.
    pub fn texts(&self) -> Vec<(String, &'static str, &Option<String>)> {
        let product = self.product.fields().into_iter();
        let mut all: Vec<_> = product
            .map(|(name, called, value)| (format!("product.{name}"), called, value))
            .collect();
        all.push(("place".into(), "Place of measurement", &self.place));
        all.push(("measured_by".into(), "Measured by", &self.measured_by));
        all
    }

    /// Takes missing fields from the other, except for the interfaces.
    pub fn fill(&mut self, other: &Self) {
        self.drives = self.drives.or(other.drives);
        self.raw_capacity_gb = self.raw_capacity_gb.or(other.raw_capacity_gb);
        self.nominal_voltage_v = self.nominal_voltage_v.or(other.nominal_voltage_v);
        let mut its = other.product.clone();
        for (own, its) in self.product.fields_mut().into_iter().zip(its.fields_mut()) {
            *own = own.take().or(its.take());
        }
        self.place = self.place.take().or(other.place.clone());
        self.measured_by = self.measured_by.take().or(other.measured_by.clone());
    }
}

/// The kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// A power meter.
    Meter,
    /// A sensor of temperature or humidity.
    Sensor,
    /// A collector of sFlow, or a file of one.
    Sflow,
}

/// The consumer of a meter's power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The server, or a part of it; such meters add up. Of a sensor: the server's inlet.
    #[default]
    Server,
    /// Hosts that make the load.
    Client,
    /// Something else: shown, never added.
    Other,
}

impl Role {
    /// The word in files and options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Other => "other",
        }
    }
}

/// A meter, a sensor or a collector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Its number in this log.
    pub id: u32,
    /// Its kind.
    pub kind: SourceKind,
    /// Its name.
    pub name: String,
    /// Where it was read: a URL without secrets, a file.
    pub location: String,
    /// What it measures.
    #[serde(default)]
    pub role: Role,
    /// Its figures are made up. Every output marks them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// Seconds between its samples, as in the setup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_s: Option<f64>,
    /// How fine its figures are, where their text was read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub digits: BTreeMap<Quantity, Digits>,
    /// The offset of its clock from the prime's.
    #[serde(default)]
    pub clock: ClockFacts,
    /// Its type plate and calibration certificate, as the user gave them.
    #[serde(default, skip_serializing_if = "Instrument::is_empty")]
    pub instrument: Box<Instrument>,
}

/// The offset of a clock from the prime's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockFacts {
    /// Seconds to add to a sample's time for the prime's time.
    #[serde(default)]
    pub offset_s: f64,
    /// Seconds that merging has added already; only merged logs have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added_s: Option<f64>,
    /// The error of the offset is at most this many seconds; `None`: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_s: Option<f64>,
    /// How the offset was determined; empty: it was not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub how: String,
}

/// An interface of a switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Port {
    /// Its number in this log.
    pub port: u32,
    /// The source that reports it.
    pub source: u32,
    /// The agent's address.
    pub agent: IpAddr,
    /// The part of the agent.
    #[serde(default)]
    pub sub_agent: u32,
    /// ifIndex.
    pub if_index: u32,
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its speed in bits per second, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_bits_per_s: Option<u64>,
}

impl Port {
    /// `10.0.0.248 filer-e0a`, `10.0.0.248 interface 24`.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("{} {name}", self.agent),
            None => format!("{} interface {}", self.agent, self.if_index),
        }
    }
}

/// A phase of a run in energy logs (those of tag2014, sources.md 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EnergyPhase {
    /// Before the first load point.
    PreTest,
    /// A load point has begun, INIT has not.
    Pre,
    /// The file set is made.
    Init,
    /// Load is made and not measured. Between INIT and the first load, too.
    Warmup,
    /// Load is made and measured, up to 90 %.
    Run,
    /// The last tenth of RUN.
    RunTail,
    /// After RUN, until the next load point.
    Post,
}

impl EnergyPhase {
    /// All of them, by time.
    pub const ALL: [Self; 7] = [
        Self::PreTest,
        Self::Pre,
        Self::Init,
        Self::Warmup,
        Self::Run,
        Self::RunTail,
        Self::Post,
    ];

    /// Its name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PreTest => "PRE_TEST",
            Self::Pre => "PRE",
            Self::Init => "INIT",
            Self::Warmup => "WARMUP",
            Self::Run => "RUN",
            Self::RunTail => "RUN_TAIL",
            Self::Post => "POST",
        }
    }
}

impl fmt::Display for EnergyPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Where in a run a sample lies. Only merged logs have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tag {
    /// Which run of the log, from 0.
    pub run: u32,
    /// Which load point, from 1; 0 before the first.
    pub point: u32,
    /// Which phase.
    pub phase: EnergyPhase,
}

/// The figures of a meter or a sensor at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Readings {
    /// Its source.
    pub source: u32,
    /// The time by the source's clock, or the reader's where it has none.
    pub at: Timestamp,
    /// The figures, finite, each in the unit of its quantity.
    pub values: BTreeMap<Quantity, f64>,
    /// Where in a run it lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<Tag>,
}

/// The traffic of interfaces; a line has any number of samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Which collector.
    pub source: u32,
    /// Times of samples count from here.
    pub at: Timestamp,
    /// Where in a run all of them lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<Tag>,
    /// The samples, by their time.
    pub samples: Vec<PortSample>,
}

/// The traffic of one interface between two readings of its counters. In the file it is an
/// array of whole numbers: `[after_us, interval_us, port, in_bytes, out_bytes, bad]`; null
/// is a count that the agent does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSample {
    /// Microseconds from the line's time to the second reading.
    pub after_us: i64,
    /// Microseconds between the two readings; above 0.
    pub interval_us: u64,
    /// Which interface.
    pub port: u32,
    /// Bytes that the agent received.
    pub in_bytes: Option<u64>,
    /// Bytes that the agent sent.
    pub out_bytes: Option<u64>,
    /// Packets in both directions with errors or discarded.
    pub bad_packets: Option<u64>,
}

impl PortSample {
    /// The traffic from an agent's counters, of the interface with this number. `base` is the
    /// line's time.
    pub fn of(sample: &TrafficSample, port: u32, base: Timestamp) -> Self {
        let bad = sample.input.bad_packets.zip(sample.output.bad_packets);
        Self {
            after_us: (sample.at.seconds_since(base) * 1e6).round() as i64,
            interval_us: ((sample.seconds * 1e6).round() as u64).max(1),
            port,
            in_bytes: sample.input.bytes,
            out_bytes: sample.output.bytes,
            bad_packets: bad.map(|(input, output)| input.saturating_add(output)),
        }
    }

    /// Bytes in both directions.
    pub fn bytes(&self) -> Option<u64> {
        self.in_bytes?.checked_add(self.out_bytes?)
    }
}

impl Serialize for PortSample {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(6))?;
        seq.serialize_element(&self.after_us)?;
        seq.serialize_element(&self.interval_us)?;
        seq.serialize_element(&self.port)?;
        seq.serialize_element(&self.in_bytes)?;
        seq.serialize_element(&self.out_bytes)?;
        seq.serialize_element(&self.bad_packets)?;
        seq.end()
    }
}

impl<'de> Deserialize<'de> for PortSample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Six;
        impl<'de> Visitor<'de> for Six {
            type Value = PortSample;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("[after_us, interval_us, port, in_bytes, out_bytes, bad]")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<PortSample, A::Error> {
                let short = |n| serde::de::Error::invalid_length(n, &"6 numbers");
                let sample = PortSample {
                    after_us: seq.next_element()?.ok_or_else(|| short(0))?,
                    interval_us: seq.next_element()?.ok_or_else(|| short(1))?,
                    port: seq.next_element()?.ok_or_else(|| short(2))?,
                    in_bytes: seq.next_element()?.ok_or_else(|| short(3))?,
                    out_bytes: seq.next_element()?.ok_or_else(|| short(4))?,
                    bad_packets: seq.next_element()?.ok_or_else(|| short(5))?,
                };
                if sample.interval_us == 0 {
                    return Err(serde::de::Error::custom("an interval of 0 microseconds"));
                }
                Ok(sample)
            }
        }
        deserializer.deserialize_seq(Six)
    }
}

/// Something that happened to a source or to the clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogEvent {
    /// When.
    pub at: Timestamp,
    /// To which source, if to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<u32>,
    /// What kind of thing.
    pub what: EventKind,
    /// The message.
    pub message: String,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A source does not answer (any more).
    Lost,
    /// It answers again.
    #[serde(rename = "back")]
    Recovered,
    /// The collector's clock was set.
    ClockJump,
    /// Rows, datagrams or readings could not be used.
    #[serde(rename = "bad")]
    Invalid,
    /// Datagrams were lost on the way.
    Gap,
    /// An agent or a counter was restarted.
    Restart,
    /// Something else.
    Note,
}

/// The last line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogEnd {
    /// When.
    pub at: Timestamp,
    /// Lines of readings.
    pub readings: u64,
    /// Samples of traffic.
    pub samples: u64,
}

/// A run with which a log was merged: all that the reduction needs of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergedRun {
    /// Its number in this log, from 0.
    pub run: u32,
    /// Suffix of its files, or the name of the foreign log.
    pub name: String,
    /// Where it was read.
    pub location: String,
    /// The plan's fingerprint; empty for a foreign log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// The benchmark: `swbuild`, `nfs3`; empty if a foreign log does not have it.
    pub benchmark: String,
    /// What the load counts: `BUILDS`, `ops/s`.
    pub load_unit: String,
    /// When the run began, before INIT; of a foreign log its first load point.
    pub began: Timestamp,
    /// When it ended, as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// Of an interrupted and resumed run: the ends of the measured load points of all parts
    /// but the last. Samples after such a time belong to no load point, until the next load
    /// point of `points` begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_after: Vec<Timestamp>,
    /// Its load points, by time.
    pub points: Vec<MergedPoint>,
}

/// A load point of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergedPoint {
    /// Its number, from 1.
    pub number: u32,
    /// The requested load, in the run's unit, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Operations per second that were achieved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub achieved_ops_per_s: Option<f64>,
    /// MiB per second that clients read and wrote, as they count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_mib_per_s: Option<f64>,
    /// Mean service time, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms_mean: Option<f64>,
    /// Whether the point counts; `None` if a foreign log does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid: Option<bool>,
    /// When each of its phases began, by time; the first begins the point.
    pub phases: Vec<PhaseBegin>,
    /// When RUN ended, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_ended: Option<Timestamp>,
    /// MiB/s that clients read and wrote over RUN, a value for every `throughput_step_s`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throughput_mib_per_s: Vec<f64>,
    /// Seconds of a value of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_step_s: Option<f64>,
}

impl MergedPoint {
    /// When a phase began.
    pub fn began(&self, phase: EnergyPhase) -> Option<Timestamp> {
        self.phases
            .iter()
            .find(|begin| begin.phase == phase)
            .map(|begin| begin.at)
    }

    /// RUN with its tail, from when to when.
    pub fn measured(&self) -> Option<(Timestamp, Timestamp)> {
        Some((self.began(EnergyPhase::Run)?, self.run_ended?))
    }
}

/// A phase begins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseBegin {
    /// Which.
    pub phase: EnergyPhase,
    /// When, by the prime's clock.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests;
