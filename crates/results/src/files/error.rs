//! Why files of a result cannot be written.

use std::io;
use std::path::PathBuf;

/// What to do where a file of a result cannot be written.
pub const OTHER_DIRECTORY: &str =
    "check free space and permissions there, or choose another directory (-d, WORK_DIR)";

/// Why the files cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The record's suffix is no part of a file name.
    #[error(
        "the suffix {0:?} cannot be part of a file name: use letters, digits, '.', '_' and '-' (SUFFIX, or -s)"
    )]
    Suffix(String),
    /// A file cannot be written.
    #[error("{path}: cannot write: {source}; {OTHER_DIRECTORY}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}
