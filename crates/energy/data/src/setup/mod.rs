//! What is to be collected, as types: read from `energy.toml` or from options.
//!
//! The border: behind it there are no strings to be understood. Knows no socket.

mod file;
mod read;
mod show;
mod spec;
mod url;

pub use file::{
    INTERVAL_MAX, INTERVAL_MIN, SOURCES_MAX, TEXT_LEN_MAX, belongs, day, optional_text, seconds,
};
pub use read::OIDS_MAX;
pub use spec::{Simulated, SourceSpec, SpecError};

use crate::log::{Instrument, Lab, Role};
use crate::sflow::{Names, PortPattern, Selection, TimeBasis};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// What the collector of sFlow is called in logs.
pub const SFLOW_NAME: &str = "sflow";

/// Everything that is to be collected.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// What the user says of the server and of the lab.
    pub lab: Lab,
    /// How long power is measured before a run begins.
    pub idle: Duration,
    /// The collector of sFlow, if there is to be one.
    pub sflow: Option<SflowSetup>,
    /// Power meters.
    pub meters: Vec<SourceSetup>,
    /// Sensors of temperature and humidity.
    pub sensors: Vec<SourceSetup>,
}

/// The collector of sFlow.
#[derive(Clone, Debug)]
pub struct SflowSetup {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Which interfaces face the server, and what interfaces are called.
    pub selection: Selection,
    /// The same, as it was written; for the log.
    pub ports: Vec<PortPattern>,
    /// How long an interval was.
    pub time_basis: TimeBasis,
    /// What the switch is by its plate.
    pub instrument: Instrument,
}

impl SflowSetup {
    /// Listens here; no interface chosen, none named.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            selection: Selection::new(Vec::new(), Names::default()),
            ports: Vec::new(),
            time_basis: TimeBasis::default(),
            instrument: Instrument::default(),
        }
    }
}

/// A meter or a sensor.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSetup {
    /// What people call it.
    pub name: String,
    /// Where it is and how it is read.
    pub at: SourceSpec,
    /// What it measures.
    pub role: Role,
    /// How often it is read.
    pub interval: Duration,
    /// Seconds that its clock is behind the prime's, where the user knows.
    pub clock_offset_s: Option<f64>,
    /// What it is by its plate and its certificate.
    pub instrument: Instrument,
}

/// Why a setup cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The file system said no.
    #[error("{path}: cannot read the energy setup: {source}")]
    Io {
        /// The file.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It makes no sense.
    #[error("{path}:{line}: {reason}")]
    Bad {
        /// The file.
        path: std::path::PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what to write instead.
        reason: String,
    },
}

impl Setup {
    /// What meters, sensors and the switch are by their plates, by their names.
    pub fn instruments(&self) -> BTreeMap<String, Instrument> {
        let sources = self.meters.iter().chain(&self.sensors);
        let sources = sources.map(|source| (source.name.clone(), source.instrument.clone()));
        let switch = self.sflow.iter();
        let switch = switch.map(|sflow| (SFLOW_NAME.to_owned(), sflow.instrument.clone()));
        let all = sources.chain(switch);
        all.filter(|(_, instrument)| !instrument.is_empty())
            .collect()
    }

    /// Reads `energy.toml`.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, or has a key or value that makes no sense.
    pub fn read(path: &Path) -> Result<Self, SetupError> {
        Self::parse(&Self::read_text(path)?, path)
    }

    /// Only its text.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_text(path: &Path) -> Result<String, SetupError> {
        file::read(path).map_err(|source| SetupError::Io {
            path: path.into(),
            source,
        })
    }

    /// The same from a text; `path` is only used in messages.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str, path: &Path) -> Result<Self, SetupError> {
        file::parse(text).map_err(|(line, reason)| SetupError::Bad {
            path: path.into(),
            line,
            reason,
        })
    }
}
