//! Writes the renderings of a record beside it, under their classical names.

use crate::record::RunRecord;
use crate::{client_log, csv, sfslog, sfsres, sfssum};
use std::io;
use std::path::{Path, PathBuf};

/// Longest suffix that is taken into a file name, in bytes.
const SUFFIX_LEN_MAX: usize = 100;

/// Why the files cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The record's suffix is no part of a file name.
    #[error(
        "the suffix {0:?} cannot be part of a file name: use letters, digits, '.', '_' and '-' (SUFFIX, or -s)"
    )]
    Suffix(String),
    /// The file system said no.
    #[error("{path}: cannot write: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Whether a suffix can be part of a file name on every system, and stays in
/// the directory it is used in.
pub fn suffix_is_plain(suffix: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '=' | '@');
    !suffix.is_empty() && suffix.len() <= SUFFIX_LEN_MAX && suffix.chars().all(plain)
}

/// Writes `sfssum.S`, `sfslog.S`, `sfsres.S`, `sfsc0001.S` ... and `S.csv` into
/// `dir`, where S is the record's suffix; gives the paths.
///
/// # Errors
/// The suffix is no part of a file name (a record may come from anywhere), or
/// the file system says no.
pub fn write_files(record: &RunRecord, dir: &Path) -> Result<Vec<PathBuf>, FilesError> {
    let suffix = &record.run.suffix;
    if !suffix_is_plain(suffix) {
        return Err(FilesError::Suffix(suffix.clone()));
    }
    let mut files = vec![
        (format!("sfssum.{suffix}"), sfssum::sfssum(record)),
        (format!("sfslog.{suffix}"), sfslog::sfslog(record)),
        (format!("sfsres.{suffix}"), sfsres::sfsres(record)),
        (format!("{suffix}.csv"), csv::csv(record)),
    ];
    for client in 1..=record.run.plan.clients.len() as u32 {
        let log = client_log::client_log(record, client);
        files.push((format!("sfsc{client:04}.{suffix}"), log));
    }
    let mut written = Vec::new();
    for (name, text) in files {
        let path = dir.join(name);
        std::fs::write(&path, text).map_err(|source| FilesError::Io {
            path: path.clone(),
            source,
        })?;
        written.push(path);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn all_files_are_written_and_stay_in_their_directory() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = testing::record();
        let names: Vec<String> = write_files(&record, dir.path())
            .unwrap()
            .iter()
            .map(|p| p.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(
            names,
            [
                "sfssum.mine",
                "sfslog.mine",
                "sfsres.mine",
                "mine.csv",
                "sfsc0001.mine",
                "sfsc0002.mine"
            ]
        );
        for bad in ["../../etc/x", "a/b", "", "a\0b", "a b"] {
            record.run.suffix = bad.into();
            assert!(matches!(
                write_files(&record, dir.path()),
                Err(FilesError::Suffix(_))
            ));
        }
    }
}
