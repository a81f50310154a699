//! The energy setup as types, from `energy.toml` or from options. All strings are parsed here.

mod file;
mod read;
mod show;
mod spec;
mod url;

pub use file::{
    INTERVAL_MAX, INTERVAL_MIN, SOURCES_MAX, TEXT_LEN_MAX, check_quantity, day, optional_text,
    seconds,
};
pub use read::OIDS_MAX;
pub use spec::{Simulated, SourceSpec, SpecError};

use crate::log::{Instrument, Lab, Role};
use crate::sflow::{Names, PortPattern, Selection, TimeBasis};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// The name of the collector of sFlow in logs.
pub const SFLOW_NAME: &str = "sflow";

/// Everything that is to be collected.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The server and the lab, as the user describes them.
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
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The interfaces that face the server, and names of interfaces.
    pub selection: Selection,
    /// The interfaces as they are written in the setup; for the log.
    pub ports: Vec<PortPattern>,
    /// The clock that measures intervals.
    pub time_basis: TimeBasis,
    /// The type plate of the switch.
    pub instrument: Instrument,
}

impl SflowSetup {
    /// Without chosen interfaces and names.
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
    /// Its name.
    pub name: String,
    /// Its location and protocol.
    pub at: SourceSpec,
    /// What it measures.
    pub role: Role,
    /// How often it is read.
    pub interval: Duration,
    /// Seconds that its clock is behind the prime's, if the user gave them.
    pub clock_offset_s: Option<f64>,
    /// Its type plate and calibration certificate.
    pub instrument: Instrument,
}

/// Why a setup cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The file system refused.
    #[error("{path}: cannot read the energy setup: {source}")]
    Io {
        /// The file.
        path: std::path::PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A key or value is invalid.
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
    /// The instruments of meters, sensors and the switch, by name.
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
    /// The file cannot be read, is not TOML, or has an invalid key or value.
    pub fn read(path: &Path) -> Result<Self, SetupError> {
        Self::parse(&Self::read_text(path)?, path)
    }

    /// Reads only its text.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_text(path: &Path) -> Result<String, SetupError> {
        file::read(path).map_err(|source| SetupError::Io {
            path: path.into(),
            source,
        })
    }

    /// Parses a text; `path` is only used in messages.
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
