//! Converts files of other programs into lines of the energy log: tables of power meters and
//! thermometers ([`power_csv`]), and sFlow from sflowtool and captures ([`sflowtool`],
//! [`pcap`]).
//!
//! Files are streamed, so memory does not grow with their length. Rows that cannot be used are
//! counted, the first with its line, and reported as an event, so that missing rows are
//! visible. Within a source time goes forward; rows that go back are dropped and reported.

mod batch;
mod columns;
pub(crate) mod dates;
mod layout;
mod names;
mod power;
mod report;
mod row;
pub(crate) mod text;
mod traffic;

pub use columns::{Columns, ColumnsError};
pub use power::power_csv;
pub use report::{ImportReport, PortTotal};
pub use traffic::{pcap, sflowtool};

use crate::log::{ClockFacts, Instrument, LogLine, Role, Source, SourceKind, WriteError};
use crate::sflow::Zone;
use std::path::{Path, PathBuf};

/// Where lines go: mostly [`crate::log::LogWriter::line`].
pub type Sink<'a> = dyn FnMut(LogLine) -> Result<(), WriteError> + 'a;

/// The user's options for a file.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The time zone of its times; needed where they have no offset.
    pub zone: Option<Zone>,
    /// The meaning of columns; for tables only.
    pub columns: Columns,
    /// Whose power, or where the sensor is.
    pub role: Role,
    /// The offset of its clock from the prime's.
    pub clock: ClockFacts,
    /// The power meter, from its type plate and its calibration certificate.
    pub instrument: Instrument,
}

/// The next free numbers of sources and interfaces of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// The next source.
    pub source: u32,
    /// The next interface.
    pub port: u32,
}

/// What a table is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A power meter's: it must have power.
    Power,
    /// A thermometer's or hygrometer's: it must have temperature or humidity.
    Environment,
}

impl Table {
    /// What the source is in the log.
    pub const fn source(self) -> SourceKind {
        match self {
            Self::Power => SourceKind::Meter,
            Self::Environment => SourceKind::Sensor,
        }
    }
}

/// Why a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It cannot be read.
    #[error("{path}: cannot be read: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A line cannot be used.
    #[error("{path}:{line}: {reason}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The whole file cannot be used.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The log cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl ImportError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        let path = path.into();
        Self::Io { path, source }
    }

    pub(crate) fn line(path: &Path, line: u64, reason: impl Into<String>) -> Self {
        let (path, reason) = (path.into(), reason.into());
        Self::Line { path, line, reason }
    }

    pub(crate) fn file(path: &Path, reason: impl Into<String>) -> Self {
        let (path, reason) = (path.into(), reason.into());
        Self::File { path, reason }
    }
}

/// The next source of a log, which is a file.
pub(crate) fn file_source(
    path: &Path,
    kind: SourceKind,
    options: &Options,
    ids: &mut Ids,
) -> Source {
    let id = ids.source;
    ids.source += 1;
    Source {
        id,
        kind,
        name: source_name(path),
        location: absolute_path(path),
        role: options.role,
        simulated: false,
        interval_s: None,
        digits: Default::default(),
        instrument: match kind {
            SourceKind::Meter => Box::new(options.instrument.clone()),
            SourceKind::Sensor | SourceKind::Sflow => Default::default(),
        },
        clock: options.clock.clone(),
    }
}

/// The absolute path of a file: files of one name in two folders are two sources.
fn absolute_path(path: &Path) -> String {
    let whole = std::fs::canonicalize(path);
    whole.as_deref().unwrap_or(path).display().to_string()
}

/// The name of a source that is a file: the file name without its extension.
fn source_name(path: &Path) -> String {
    let name = path.file_stem().unwrap_or(path.as_os_str());
    filermark_results::text::one_line(&name.to_string_lossy())
}

#[cfg(test)]
mod tests;
