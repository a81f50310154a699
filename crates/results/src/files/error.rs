//! Why files of a result cannot be written.

use std::io;
use std::path::PathBuf;

/// Why the files cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The record's suffix is no part of a file name.
    #[error(
        "the suffix {0:?} cannot be part of a file name: use letters, digits, '.', '_' and '-' (SUFFIX, or -s)"
    )]
    Suffix(String),
    /// A file cannot be written.
    #[error("{path}: cannot write: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}
