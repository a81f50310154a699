//! Writes the renderings of a record beside it, under their classical names.

mod error;

pub use error::FilesError;

use crate::figures::is_composite;
use crate::final_logs::SettledLogs;
use crate::live_file::complete;
use crate::record::RunRecord;
use crate::{
    client_log, csv, proc_logs, sfslog, sfslog_txt, sfsres, sfssum, sfssum_txt, sfssum_xml,
};
use filermark_model::NOT_A_SPEC_RESULT;
use std::io;
use std::path::{Path, PathBuf};

/// Longest suffix that is taken into a file name, in bytes.
const SUFFIX_LEN_MAX: usize = 100;

/// Whether a suffix can be part of a file name on every system, and stays in
/// the directory it is used in.
pub fn suffix_is_plain(suffix: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '=' | '@');
    !suffix.is_empty() && suffix.len() <= SUFFIX_LEN_MAX && suffix.chars().all(plain)
}

/// Writes the files of a record into `dir`; gives the paths. S is the suffix.
///
/// A classical benchmark has `sfssum.S`, `sfslog.S`, `sfsres.S`, `sfsc0001.S` ...
/// and `S.csv`. A composite one has `sfssum.S.txt`, `sfssum_S.xml`,
/// `sfslog.S.txt`, `S.csv`, `heartbeats_S.log` where there are heartbeats, and,
/// once its run has ended, [`write_proc_logs`].
///
/// # Errors
/// The suffix is no part of a file name (a record may come from anywhere), or
/// the file system says no.
pub fn write_files(record: &RunRecord, dir: &Path) -> Result<Vec<PathBuf>, FilesError> {
    write_files_and_logs(record, dir, dir)
}

/// The same, with the logs of the procs below `log_dir` (`-U`, NETMIST_LOGS), which
/// is made when missing.
///
/// # Errors
/// As [`write_files`].
pub fn write_files_and_logs(
    record: &RunRecord,
    dir: &Path,
    log_dir: &Path,
) -> Result<Vec<PathBuf>, FilesError> {
    let mut written = write_results(record, dir)?;
    if is_composite(record) && record.end.is_some() {
        written.push(write_proc_logs(record, log_dir)?);
    }
    Ok(written)
}

/// The same without the logs of the procs.
///
/// # Errors
/// As [`write_files`].
pub fn write_results(record: &RunRecord, dir: &Path) -> Result<Vec<PathBuf>, FilesError> {
    let mut written = Vec::new();
    for (name, text) in renderings(record)? {
        let path = dir.join(&name);
        written.push(match grows(record, &name) {
            true => finish(path, &text)?,
            false => write(path, &text)?,
        });
    }
    Ok(written)
}

/// The same of a run that goes on, when a load point has ended: `logs` are given what the
/// load point adds to them.
///
/// # Errors
/// As [`write_files`].
pub fn write_files_so_far(
    record: &RunRecord,
    dir: &Path,
    logs: &mut SettledLogs,
) -> Result<Vec<PathBuf>, FilesError> {
    if !is_composite(record) {
        return write_files(record, dir);
    }
    let suffix = plain_suffix(record)?;
    let log = dir.join(format!("sfslog.{suffix}.txt"));
    let mut written = vec![finish(log, &sfslog_txt::sfslog_so_far(record))?];
    for (name, text) in composite_results(record, suffix) {
        written.push(write(dir.join(name), &text)?);
    }
    logs.add(record)?;
    Ok(written)
}

/// The logs that grow while a run goes on, by name, as they are when a load point has
/// ended; those of the procs are [`proc_log_files`] [`without_notice`].
///
/// # Errors
/// The suffix is no part of a file name.
pub fn logs_so_far(record: &RunRecord) -> Result<Vec<(String, String)>, FilesError> {
    let suffix = plain_suffix(record)?;
    Ok(match is_composite(record) {
        true => vec![
            (
                format!("sfslog.{suffix}.txt"),
                sfslog_txt::sfslog_so_far(record),
            ),
            (
                format!("heartbeats_{suffix}.log"),
                proc_logs::heartbeat_lines(record),
            ),
        ],
        false => Vec::new(),
    })
}

/// A log without its last line, which says what kind of result it is not.
pub fn without_notice(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix(NOT_A_SPEC_RESULT).unwrap_or(text)
}

/// Writes the log of all heartbeats that `-q` asks for, when the run has ended.
///
/// # Errors
/// The file system says no.
pub fn write_heartbeat_log(record: &RunRecord, path: &Path) -> Result<(), FilesError> {
    finish(path.to_owned(), &proc_logs::heartbeat_log(record)).map(|_| ())
}

/// Whether a file of a composite is one that grows.
fn grows(record: &RunRecord, name: &str) -> bool {
    is_composite(record) && (name.starts_with("sfslog.") || name.starts_with("heartbeats_"))
}

/// The files of a record that [`write_files`] writes, by name, without the logs of
/// the procs ([`proc_log_files`]).
///
/// # Errors
/// The suffix is no part of a file name.
pub fn renderings(record: &RunRecord) -> Result<Vec<(String, String)>, FilesError> {
    let suffix = plain_suffix(record)?;
    Ok(match is_composite(record) {
        true => composite_files(record, suffix),
        false => classical_files(record, suffix),
    })
}

fn classical_files(record: &RunRecord, suffix: &str) -> Vec<(String, String)> {
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
    files
}

/// The files of a composite that are no logs.
fn composite_results(record: &RunRecord, suffix: &str) -> [(String, String); 3] {
    [
        (
            format!("sfssum.{suffix}.txt"),
            sfssum_txt::sfssum_txt(record),
        ),
        (
            format!("sfssum_{suffix}.xml"),
            sfssum_xml::sfssum_xml(record),
        ),
        (format!("{suffix}.csv"), csv::csv(record)),
    ]
}

fn composite_files(record: &RunRecord, suffix: &str) -> Vec<(String, String)> {
    let [sums, xml, csv] = composite_results(record, suffix);
    let log = (
        format!("sfslog.{suffix}.txt"),
        sfslog_txt::sfslog_txt(record),
    );
    let mut files = vec![sums, xml, log, csv];
    if !record.heartbeats.is_empty() {
        let log = proc_logs::heartbeat_log(record);
        files.push((format!("heartbeats_{suffix}.log"), log));
    }
    files
}

/// Writes the logs of every proc of a composite into `client-logs.S` below `dir`,
/// so that thousands of procs do not flood it: `client_<n>.S`,
/// `Workload_<NAME>_<n>.S` and `netmist_C<n>.S.log`. Gives that directory.
///
/// # Errors
/// As [`write_files`].
pub fn write_proc_logs(record: &RunRecord, dir: &Path) -> Result<PathBuf, FilesError> {
    let dir = dir.join(proc_log_dir(plain_suffix(record)?));
    make_dir(&dir)?;
    for (name, text) in proc_log_files(record)? {
        finish(dir.join(name), &text)?;
    }
    Ok(dir)
}

pub(crate) fn make_dir(dir: &Path) -> Result<(), FilesError> {
    std::fs::create_dir_all(dir).map_err(|source| FilesError::Io {
        path: dir.to_owned(),
        source,
    })
}

/// The directory of the logs of the procs.
pub fn proc_log_dir(suffix: &str) -> String {
    format!("client-logs.{suffix}")
}

/// The logs of every proc of a composite, by name in [`proc_log_dir`], made one after
/// the other; of a classical benchmark there are none.
///
/// # Errors
/// The suffix is no part of a file name.
pub fn proc_log_files(
    record: &RunRecord,
) -> Result<impl Iterator<Item = (String, String)> + '_, FilesError> {
    plain_suffix(record)?;
    let logs = is_composite(record).then(|| proc_logs::all_proc_logs(record));
    Ok(logs.into_iter().flatten().flat_map(|(number, logs)| {
        let names = proc_log_names(record, number).into_iter().flatten();
        names.zip([logs.results, logs.operations, logs.progress])
    }))
}

/// The names of the logs of a proc: its results, its operations, its progress.
pub(crate) fn proc_log_names(record: &RunRecord, number: u32) -> Option<[String; 3]> {
    let (suffix, plan) = (&record.run.suffix, &record.run.plan);
    let proc = plan.procs.get(number as usize)?;
    let components = &plan.benchmark.composite()?.components;
    let workload = &components.get(proc.component as usize)?.workload.name;
    // A record may come from anywhere, and its workloads have any name.
    let name = match suffix_is_plain(workload) {
        true => workload,
        false => "UNNAMED",
    };
    Some([
        format!("client_{number}.{suffix}"),
        format!("Workload_{name}_{number}.{suffix}"),
        format!("netmist_C{number}.{suffix}.log"),
    ])
}

/// Whether a file in [`proc_log_dir`] has such a name, of whichever proc and workload.
fn is_proc_log(name: &str, suffix: &str) -> bool {
    let is_of = |begin: &str, end: &str| {
        let middle = name.strip_prefix(begin).and_then(|n| n.strip_suffix(end));
        let number = middle.and_then(|m| m.rsplit('_').next());
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    is_of("client_", &format!(".{suffix}"))
        || is_of("Workload_", &format!(".{suffix}"))
        || is_of("netmist_C", &format!(".{suffix}.log"))
}

/// Removes the logs that grow of an earlier run with this suffix: the new one may have
/// fewer procs, other workloads or no heartbeats, and none of its results were kept.
///
/// # Errors
/// The file system says no.
pub(crate) fn remove_grown_logs(dir: &Path, procs: &Path, suffix: &str) -> Result<(), FilesError> {
    let gone = |path: PathBuf| match std::fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(FilesError::Io { path, source })
        }
        _ => Ok(()),
    };
    gone(dir.join(format!("heartbeats_{suffix}.log")))?;
    let io = |source| FilesError::Io {
        path: procs.to_owned(),
        source,
    };
    for entry in std::fs::read_dir(procs).map_err(io)? {
        let entry = entry.map_err(io)?;
        let is_file = entry.file_type().is_ok_and(|t| t.is_file());
        let name = entry.file_name();
        if is_file && name.to_str().is_some_and(|name| is_proc_log(name, suffix)) {
            gone(entry.path())?;
        }
    }
    Ok(())
}

pub(crate) fn plain_suffix(record: &RunRecord) -> Result<&str, FilesError> {
    let suffix = &record.run.suffix;
    match suffix_is_plain(suffix) {
        true => Ok(suffix),
        false => Err(FilesError::Suffix(suffix.clone())),
    }
}

/// Writes a log that may have grown.
fn finish(path: PathBuf, text: &str) -> Result<PathBuf, FilesError> {
    match complete(&path, text) {
        Ok(()) => Ok(path),
        Err(source) => Err(FilesError::Io { path, source }),
    }
}

fn write(path: PathBuf, text: &str) -> Result<PathBuf, FilesError> {
    match std::fs::write(&path, text) {
        Ok(()) => Ok(path),
        Err(source) => Err(FilesError::Io { path, source }),
    }
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

    fn names_in(dir: &Path) -> Vec<String> {
        let name = |e: io::Result<std::fs::DirEntry>| e.unwrap().file_name();
        let mut names: Vec<String> = std::fs::read_dir(dir)
            .unwrap()
            .map(|e| name(e).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn composites_have_their_own_files_and_the_procs_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = testing::composite::stream_record();
        let end = record.end.take();
        write_files(&record, dir.path()).unwrap();
        let files = [
            "heartbeats_vda.log",
            "sfslog.vda.txt",
            "sfssum.vda.txt",
            "sfssum_vda.xml",
            "vda.csv",
        ];
        assert_eq!(names_in(dir.path()), files, "while the run goes on");
        record.end = end;
        let written = write_files(&record, dir.path()).unwrap();
        let logs = written.last().unwrap();
        assert!(logs.ends_with("client-logs.vda"));
        let names = names_in(logs);
        assert_eq!(names.len(), 3 * 36);
        for name in [
            "client_35.vda",
            "Workload_VDA2_35.vda",
            "netmist_C35.vda.log",
        ] {
            assert!(names.iter().any(|n| n == name), "{name}");
        }
    }

    #[test]
    fn a_hostile_workload_name_stays_in_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = testing::composite::stream_record();
        let filermark_model::benchmark::Work::Composite(work) = &mut record.run.plan.benchmark.work
        else {
            panic!("the streams are a composite");
        };
        work.components[0].workload.name = "../../../x".into();
        let logs = write_proc_logs(&record, dir.path()).unwrap();
        assert_eq!(names_in(&logs).len(), 3 * 36);
        assert_eq!(names_in(dir.path()), ["client-logs.vda"]);
    }
}
