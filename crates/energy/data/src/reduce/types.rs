//! Types of the steps of the reduction: the contents of a log, the series of each meter, and
//! the errors.

use super::steps::{Piece, Steps};
use crate::digits::Digits;
use crate::log::{Head, LogEvent, MergedRun, ReadError, Source};
use crate::reading::Quantity;
use crate::sflow::Selection;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

/// Least number of samples that show the interval between samples.
const INTERVAL_SAMPLES_MIN: usize = 3;

/// Why logs cannot be reduced.
#[derive(Debug, thiserror::Error)]
pub enum ReduceError {
    /// A log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has no run.
    #[error(
        "{0}: no run is in this energy log; merge it first: filermark energy merge RUN.run.jsonl {0}"
    )]
    NotMerged(PathBuf),
    /// It is too large.
    #[error(
        "{0}: more than {1} samples of meters and chosen interfaces; choose fewer interfaces, or merge run by run"
    )]
    TooMuch(PathBuf, usize),
}

/// The contents of a log.
pub(super) struct LogData {
    pub head: Head,
    pub runs: Vec<MergedRun>,
    pub sources: BTreeMap<u32, SourceData>,
    /// By agent and ifIndex: the same interface in two logs is one.
    pub ports: BTreeMap<(IpAddr, u32), PortData>,
    pub selection: Selection,
    /// Invalid patterns of interfaces, as they were written.
    pub bad_ports: Vec<String>,
    pub events: Vec<LogEvent>,
    pub events_omitted: u64,
    /// The number of a truncated last line.
    pub cut: Option<u64>,
    /// How many figures and samples are kept.
    pub held: usize,
    /// Interfaces by their numbers in this log.
    pub by_number: BTreeMap<u32, (IpAddr, u32)>,
}

/// A meter or sensor, or a collector.
pub(super) struct SourceData {
    pub source: Source,
    pub samples: u64,
    pub moments: BTreeMap<Quantity, Vec<(f64, f64)>>,
}

impl SourceData {
    /// How fine its figures are: from the log, else from the figures; `None`: unknown.
    pub(super) fn digits(&self, quantity: Quantity) -> Option<Digits> {
        let logged = self.source.digits.get(&quantity).copied();
        logged.or_else(|| {
            let moments = self.moments.get(&quantity)?;
            Digits::of_values(moments.iter().map(|moment| moment.1))
        })
    }
}

/// An interface.
pub(super) struct PortData {
    pub label: String,
    pub chosen: bool,
    pub pieces: Vec<Piece>,
    /// Samples in which a count was not known.
    pub unknown: u64,
    /// Packets with errors or discarded, in RUN.
    pub bad_packets: u64,
    /// Bytes in RUN, by run.
    pub run_bytes: BTreeMap<u32, u64>,
}

/// The figures of one meter of one quantity.
pub(super) struct MeterSeries {
    pub moments: Vec<(f64, f64)>,
    /// That of the setup, or the usual one.
    pub interval_s: Option<f64>,
    /// Two logs have different figures for one time.
    pub contradicts: bool,
    /// All of it, for charts.
    pub all: Steps,
    /// Of power: how it is computed and how fine it is, by log.
    pub fineness: Vec<Resolution>,
}

impl MeterSeries {
    /// The step between adjacent figures near this one, where it is known.
    pub(super) fn step_at(&self, watts: f64) -> Option<f64> {
        let steps = self.fineness.iter().filter_map(|f| f.step_at(watts));
        steps.reduce(f64::max)
    }

    /// Its figures from a time until before another.
    pub(super) fn between(&self, from: f64, to: f64) -> Steps {
        let begin = self.moments.partition_point(|m| m.0 < from);
        // A reading at the end belongs to what follows, as its tag does.
        let end = self.moments.partition_point(|m| m.0 < to);
        let moments = self.moments.get(begin..end).unwrap_or_default();
        // Idle may have been measured at another interval.
        let own = moments.len() >= INTERVAL_SAMPLES_MIN;
        let interval_s = self.interval_s.filter(|_| !own);
        Steps::of_moments(moments, interval_s).cut(from, to)
    }
}

/// How a meter's power is computed, and how fine it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Resolution {
    /// Of the meter's own column, where it is known.
    pub column: Option<Digits>,
    /// The product, if it is finer than the column.
    pub product: Option<Product>,
}

/// Voltage x current x power factor, compared with the meter's own column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Product {
    /// It agrees with the column, and is the power; else the column is.
    pub is_used: bool,
    /// Half its steps as a share of it.
    pub share: f64,
    /// Mean of the column, in W.
    pub mean_w: f64,
    /// The most by which both differ, in W.
    pub apart_w: f64,
    /// The most that rounding explains, in W.
    pub explained_w: f64,
}

impl Resolution {
    /// The step between adjacent figures near this one, where it is known.
    pub(super) fn step_at(&self, watts: f64) -> Option<f64> {
        match self.product {
            Some(product) if product.is_used => Some(2.0 * product.share * watts.abs()),
            _ => Some(self.column?.step_at(watts)),
        }
    }
}

/// The meters of a role with one quantity, by label.
pub(super) type PartMap = BTreeMap<String, MeterSeries>;

/// The series of a log, made once for all its load points.
pub(super) struct Parts {
    pub power: PartMap,
    pub client_power: PartMap,
    pub temperature: PartMap,
    pub humidity: PartMap,
    pub voltage: PartMap,
    pub frequency: PartMap,
    pub distortion: PartMap,
    /// Chosen interfaces.
    pub traffic: BTreeMap<String, Steps>,
    /// Samples of them that overlap others: received twice.
    pub traffic_over: u64,
}
