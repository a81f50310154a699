//! One trait for everything that measures.

use filermark_energy_data::Quantity;
use filermark_energy_data::log::ClockFacts;
use filermark_energy_data::setup::SourceSpec;
use filermark_results::Timestamp;

/// What a source said when it was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When, by the source's own clock; `None`: it has none, the moment of the answer counts.
    pub at: Option<Timestamp>,
    /// The figures, finite, each in the unit of its quantity.
    pub values: Vec<(Quantity, f64)>,
}

/// Something that can be asked for power, temperature or humidity.
///
/// An implementation never blocks longer than the limit it was opened with, connects again
/// by itself after a failure, and never makes a figure up: what is missing is missing.
pub trait Meter: Send {
    /// What it says now.
    ///
    /// # Errors
    /// It does not answer in time, or its answer makes no sense. The next call tries again.
    fn read(&mut self) -> Result<Sample, MeterError>;

    /// How its clock stands to this host's, where its times are its own. Asked once after
    /// the first good answer.
    fn clock(&mut self) -> ClockFacts {
        ClockFacts::default()
    }

    /// Whether its figures are made up.
    fn is_simulated(&self) -> bool {
        false
    }
}

/// Why a source gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}: {step}: {reason}")]
pub struct MeterError {
    /// Which source: its location without secrets.
    pub source_name: String,
    /// What was being done.
    pub step: &'static str,
    /// What went wrong, and the next thing to try.
    pub reason: String,
}

impl MeterError {
    /// The sentence for a source that people call `name`; where that is its location, the
    /// location stands there once.
    pub fn of_source(&self, name: &str) -> String {
        match name == self.source_name {
            true => self.to_string(),
            false => format!("{name}: {self}"),
        }
    }
}

/// What went wrong inside a meter, before its name is put to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadFailure {
    step: &'static str,
    reason: String,
}

impl ReadFailure {
    /// In this step, for this reason.
    pub(crate) fn new(step: &'static str, reason: impl Into<String>) -> Self {
        Self {
            step,
            reason: reason.into(),
        }
    }

    /// Of this source.
    pub(crate) fn of(self, spec: &SourceSpec) -> MeterError {
        MeterError {
            source_name: spec.to_string(),
            step: self.step,
            reason: self.reason,
        }
    }
}

/// A kind of source: what differs between them.
pub(crate) trait Source: Send {
    /// The figures, and when, within the limit it was made with.
    fn figures(&mut self) -> Result<Sample, ReadFailure>;

    /// As [`Meter::clock`].
    fn clock(&mut self) -> ClockFacts {
        ClockFacts::default()
    }
}

impl Sample {
    /// Figures of now, by the clock of whoever asked.
    pub(crate) fn now(values: Vec<(Quantity, f64)>) -> Self {
        Self { at: None, values }
    }
}
