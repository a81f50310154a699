//! The trait of meters and sensors.

use filermark_energy_data::Quantity;
use filermark_energy_data::log::ClockFacts;
use filermark_energy_data::setup::SourceSpec;
use filermark_results::Timestamp;

/// The answer of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The time by the source's own clock; `None`: it has none, the time of the answer is used.
    pub at: Option<Timestamp>,
    /// The figures, finite, each in the unit of its quantity.
    pub values: Vec<(Quantity, f64)>,
}

/// A source of power, temperature or humidity.
///
/// An implementation never blocks longer than the limit it was opened with, reconnects
/// after a failure, and never invents a figure: a missing figure is left out.
pub trait Meter: Send {
    /// Reads it now.
    ///
    /// # Errors
    /// It does not answer in time, or its answer is invalid. The next call tries again.
    fn read(&mut self) -> Result<Sample, MeterError>;

    /// The offset of its clock from this host's, where its times are its own. Called once
    /// after the first valid answer.
    fn clock(&mut self) -> ClockFacts {
        ClockFacts::default()
    }

    /// Whether its figures are made up.
    fn is_simulated(&self) -> bool {
        false
    }
}

/// Why a reading failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}: {step}: {reason}")]
pub struct MeterError {
    /// Which source: its location without secrets.
    pub source_name: String,
    /// The step that failed.
    pub step: &'static str,
    /// What went wrong, and what to try next.
    pub reason: String,
}

impl MeterError {
    /// The sentence for a source with this name; a name that equals the location is not
    /// repeated.
    pub fn of_source(&self, name: &str) -> String {
        match name == self.source_name {
            true => self.to_string(),
            false => format!("{name}: {self}"),
        }
    }
}

/// The failure of a reading, without the name of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadFailure {
    step: &'static str,
    reason: String,
}

impl ReadFailure {
    pub(crate) fn new(step: &'static str, reason: impl Into<String>) -> Self {
        Self {
            step,
            reason: reason.into(),
        }
    }

    pub(crate) fn of(self, spec: &SourceSpec) -> MeterError {
        MeterError {
            source_name: spec.to_string(),
            step: self.step,
            reason: self.reason,
        }
    }
}

/// The part of a meter that differs between the kinds of sources.
pub(crate) trait Source: Send {
    /// The figures and their time, within the limit it was made with.
    fn figures(&mut self) -> Result<Sample, ReadFailure>;

    /// As [`Meter::clock`].
    fn clock(&mut self) -> ClockFacts {
        ClockFacts::default()
    }
}

impl Sample {
    /// Figures with the time of the answer.
    pub(crate) fn now(values: Vec<(Quantity, f64)>) -> Self {
        Self { at: None, values }
    }
}
