//! Conditions that end a run to protect the server and its other users (STOP_IF).

use serde::{Deserialize, Serialize};
use std::fmt;

/// A figure of every second of WARMUP and RUN, all clients together, and the limit that
/// it may not exceed (free space: fall below) for some seconds in a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StopCondition {
    /// What is looked at.
    pub figure: StopFigure,
    /// The limit: nanoseconds for response times, percent for errors and free space.
    pub limit: f64,
    /// So many seconds in a row.
    pub seconds: u32,
}

/// What a condition looks at.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StopFigure {
    /// A percentile of the service times.
    Percentile {
        /// Above 0, below 100.
        percent: f64,
    },
    /// The mean service time.
    Mean,
    /// The share of failed operations.
    Errors,
    /// The share of a server's file system that is free; of any of them.
    Free,
}

impl fmt::Display for StopFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percentile { percent } => write!(f, "p{percent}"),
            Self::Mean => f.write_str("mean"),
            Self::Errors => f.write_str("errors"),
            Self::Free => f.write_str("free"),
        }
    }
}

impl fmt::Display for StopCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (limit, unit) = match self.figure {
            StopFigure::Errors | StopFigure::Free => (self.limit, "%"),
            _ if self.limit >= 1e9 => (self.limit / 1e9, "s"),
            _ => (self.limit / 1e6, "ms"),
        };
        let sign = match self.figure {
            StopFigure::Free => '<',
            _ => '>',
        };
        let Self {
            figure, seconds, ..
        } = self;
        write!(f, "{figure}{sign}{limit}{unit} for {seconds}s")
    }
}
