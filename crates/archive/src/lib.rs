//! Archives of results: what belongs to a run in one zip, with a manifest of SHA-256
//! sums, and the check that recomputes every figure from the run record.
//!
//! A [`Bundle`] is files by name; it is packed and read back within limits. [`gather()`]
//! finds what belongs to a record or a submission. [`verify()`] holds everything
//! against the record: sums, renderings, submissions, findings, totals.
//!
//! This room measures nothing, makes no report (whoever calls hands one in) and reads
//! no rc file but for secrets.

mod bundle;
pub mod gather;
mod inputs;
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
mod cut_tests;
#[cfg(test)]
mod gather_tests;
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

/// Most files of an archive.
pub const FILE_COUNT_MAX: usize = 60_000;
/// Largest file of an archive, in bytes.
pub const FILE_LEN_MAX: u64 = 1 << 30;
/// Most bytes of all files of an archive together.
pub const TOTAL_LEN_MAX: u64 = 2 << 30;

/// Why an archive cannot be made or read: a sentence that names the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArchiveError(pub String);

impl ArchiveError {
    fn at(path: &Path, what: impl std::fmt::Display) -> Self {
        Self(format!("{}: {what}", path.display()))
    }
}

/// What calls of this room give back.
pub type ArchiveResult<T = ()> = Result<T, ArchiveError>;

pub use filermark_model::secret_text::{secret_files, secrets};
pub use filermark_results::{Role, sha256};
