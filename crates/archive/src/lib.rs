//! Archives of results: the files of a run in one zip file, with a manifest of SHA-256
//! sums, and the check that recomputes every figure from the run record.
//!
//! A [`Bundle`] holds files by name; it is packed and read within limits. [`gather()`]
//! finds the files of a record or a submission. [`verify()`] compares everything with
//! the record: sums, renderings, submissions, findings, totals.
//!
//! This crate measures nothing. It makes no reports: the caller passes the rows of the
//! table of outputs that make them. It reads rc files only to find secrets. [`kind`]
//! recognizes the kind of a file by its content.

mod bundle;
pub mod gather;
mod inputs;
pub mod kind;
mod manifest;
mod name;
mod page;
mod replace;
mod role;
pub mod sign;
mod submission_file;
pub mod verify;
mod zipfile;

#[cfg(test)]
mod tests;

pub use bundle::{Bundle, Member};
pub use gather::{CollectOptions, CollectedFiles, gather};
pub use manifest::{MANIFEST_JSON, MANIFEST_SUMS, Manifest, ManifestFile, ManifestRun, SCHEMA};
pub use name::check_name;
pub use role::role_of_name;
pub use verify::{Check, CheckStatus, Options, Verification, verify};
pub use zipfile::is_zip;

use std::path::Path;

/// Maximum number of files in an archive.
pub const FILE_COUNT_MAX: usize = 60_000;
/// Maximum size of a file in an archive, in bytes.
pub const FILE_LEN_MAX: u64 = 1 << 30;
/// Maximum size of all files in an archive together, in bytes.
pub const TOTAL_LEN_MAX: u64 = 2 << 30;

/// Why an archive cannot be made or read: a sentence with the file's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArchiveError(pub String);

impl ArchiveError {
    fn at(path: &Path, what: impl std::fmt::Display) -> Self {
        Self(format!("{}: {what}", path.display()))
    }
}

/// The result of functions of this crate.
pub type ArchiveResult<T = ()> = Result<T, ArchiveError>;

pub use filermark_model::secret_text::{secret_files, secrets};
pub use filermark_results::{Role, sha256};
