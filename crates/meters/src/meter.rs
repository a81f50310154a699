//! One trait for everything that measures.

use filermark_energy::Quantity;
use filermark_energy::log::ClockFacts;
use filermark_energy::setup::SourceSpec;
use filermark_results::Timestamp;
use std::time::Duration;

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

/// Makes a meter of its description. Nothing is connected yet where that can wait.
/// `traffic` gives the MiB/s through the chosen interfaces now, for a simulated source.
///
/// # Errors
/// What can be known at once: no such chip, a password file that cannot be read.
pub fn open(
    spec: &SourceSpec,
    _limit: Duration,
    _traffic: std::sync::Arc<dyn Fn() -> f64 + Send + Sync>,
) -> Result<Box<dyn Meter>, MeterError> {
    Err(MeterError {
        source_name: spec.to_string(),
        step: "open",
        reason: "not read yet".into(),
    })
}
