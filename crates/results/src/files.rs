//! Writes the renderings of a record next to it, under their classical names.

mod error;

pub use error::{FilesError, OTHER_DIRECTORY};

use crate::figures::is_composite;
use crate::final_logs::SettledLogs;
use crate::live_file::complete;
use crate::output::{Make, Output, OutputTable};
use crate::outputs::{HEARTBEATS, OUTPUTS, PROC_LOG_DIR, PROC_LOGS};
use crate::proc_logs;
use crate::record::RunRecord;
use filermark_model::NOT_A_SPEC_RESULT;
use std::io;
use std::path::{Path, PathBuf};

/// Longest suffix in a file name, in bytes.
const SUFFIX_LEN_MAX: usize = 100;

/// Whether a suffix can be part of a file name on every system, and stays in
/// the directory it is used in.
pub fn suffix_is_plain(suffix: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '=' | '@');
    !suffix.is_empty() && suffix.len() <= SUFFIX_LEN_MAX && suffix.chars().all(plain)
}

/// Writes the files of a record into `dir` ([`crate::outputs`]); gives the paths. Those of
/// a composite include, once its run has ended, [`write_proc_logs`].
///
/// # Errors
/// The suffix is no part of a file name (a record may come from anywhere), or a file
/// cannot be written.
pub fn write_files(record: &RunRecord, dir: &Path) -> Result<Vec<PathBuf>, FilesError> {
    write_files_and_logs(record, dir, dir)
}

/// Writes the files of a record into `dir`, and the logs of its procs below `log_dir`
/// (`-U`, NETMIST_LOGS), which is made when missing.
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

/// Writes the files of a record into `dir`, without the logs of its procs.
///
/// # Errors
/// As [`write_files`].
pub fn write_results(record: &RunRecord, dir: &Path) -> Result<Vec<PathBuf>, FilesError> {
    let mut written = Vec::new();
    for file in renderings(record, OutputTable(&[OUTPUTS]))? {
        written.push(file.write(dir)?);
    }
    Ok(written)
}

/// Writes the files of a run that is in progress, when a load point has ended: `logs`
/// gets the new parts.
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
    let mut written = Vec::new();
    for output in of_record(record, OutputTable(&[OUTPUTS])) {
        let text = match output.make {
            Make::Log(log) if !log.added_by_point => (log.so_far)(record),
            Make::Text(render) => match render(record) {
                Some(text) => text,
                None => continue,
            },
            _ => continue,
        };
        let file = Rendering {
            output,
            name: output.name(suffix),
            text,
        };
        written.push(file.write(dir)?);
    }
    logs.add(record)?;
    Ok(written)
}

/// The logs that grow during a run, by name, as they are when a load point has
/// ended; those of the procs are [`proc_log_files`] [`without_notice`].
///
/// # Errors
/// The suffix is no part of a file name.
pub fn logs_so_far(record: &RunRecord) -> Result<Vec<(String, String)>, FilesError> {
    let suffix = plain_suffix(record)?;
    let logs = of_record(record, OutputTable(&[OUTPUTS])).filter_map(|output| match output.make {
        Make::Log(log) => Some((output.name(suffix), (log.so_far)(record))),
        _ => None,
    });
    Ok(logs.collect())
}

/// A log without its last line, the notice that it is no SPEC result.
pub fn without_notice(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix(NOT_A_SPEC_RESULT).unwrap_or(text)
}

/// Writes the log of all heartbeats that `-q` asks for, when the run has ended.
///
/// # Errors
/// The file cannot be written.
pub fn write_heartbeat_log(record: &RunRecord, path: &Path) -> Result<(), FilesError> {
    finish(path.to_owned(), &proc_logs::heartbeat_log(record)).map(|_| ())
}

/// A file that a record makes.
#[derive(Clone, Debug)]
pub struct Rendering {
    /// Its row in the table.
    pub output: &'static Output,
    /// Its name in the result directory.
    pub name: String,
    /// What is in it.
    pub text: String,
}

impl Rendering {
    /// Writes it into `dir`; gives its path.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, dir: &Path) -> Result<PathBuf, FilesError> {
        let path = dir.join(&self.name);
        match self.output.make {
            Make::Log(_) => finish(path, &self.text),
            _ => write(path, &self.text),
        }
    }
}

/// The rows of a table that a run with this record has.
fn of_record<'a>(
    record: &'a RunRecord,
    table: OutputTable<'a>,
) -> impl Iterator<Item = &'static Output> + 'a {
    table.iter().filter(move |output| output.is_of(record))
}

/// The files of a record by the rows of a table, without the logs of the procs
/// ([`proc_log_files`]) and without pages, which users may lay out differently.
///
/// # Errors
/// The suffix is no part of a file name.
pub fn renderings(
    record: &RunRecord,
    table: OutputTable<'_>,
) -> Result<Vec<Rendering>, FilesError> {
    let suffix = plain_suffix(record)?;
    let mut made = Vec::new();
    for output in of_record(record, table) {
        let one = |text| Rendering {
            output,
            name: output.name(suffix),
            text,
        };
        match output.make {
            Make::Text(render) => made.extend(render(record).map(one)),
            Make::Log(log) => made.extend((log.whole)(record).map(one)),
            Make::Client(render) => {
                let clients = 1..=record.run.plan.clients.len() as u32;
                made.extend(clients.map(|client| Rendering {
                    output,
                    name: output.numbered(suffix, client, ""),
                    text: render(record, client),
                }));
            }
            Make::Elsewhere | Make::Proc(_) | Make::Page(_) => {}
        }
    }
    Ok(made)
}

/// Writes the logs of every proc of a composite into a separate folder below `dir`, so
/// that thousands of files do not fill the result directory. Returns that folder.
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

/// The folder of the logs of the procs.
pub fn proc_log_dir(suffix: &str) -> String {
    let name = PROC_LOG_DIR.name(suffix);
    name.strip_suffix('/').map_or(name.clone(), str::to_owned)
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

/// The names of the logs of a proc, in the order of [`PROC_LOGS`].
pub(crate) fn proc_log_names(record: &RunRecord, number: u32) -> Option<[String; 3]> {
    let (suffix, plan) = (&record.run.suffix, &record.run.plan);
    let proc = plan.procs.get(number as usize)?;
    let components = &plan.benchmark.composite()?.components;
    let workload = &components.get(proc.component as usize)?.workload.name;
    // A record may come from anywhere, and its workloads may have any name.
    let workload = match suffix_is_plain(workload) {
        true => workload,
        false => "UNNAMED",
    };
    Some(PROC_LOGS.map(|log| log.base_numbered(suffix, number, workload)))
}

/// Removes the growing logs of an earlier run with this suffix: the new run may have
/// fewer procs, other workloads or no heartbeats, and none of the old results were kept.
///
/// # Errors
/// A file cannot be removed.
pub(crate) fn remove_grown_logs(dir: &Path, procs: &Path, suffix: &str) -> Result<(), FilesError> {
    let gone = |path: PathBuf| match std::fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(FilesError::Io { path, source })
        }
        _ => Ok(()),
    };
    gone(dir.join(HEARTBEATS.name(suffix)))?;
    let io = |source| FilesError::Io {
        path: procs.to_owned(),
        source,
    };
    for entry in std::fs::read_dir(procs).map_err(io)? {
        let entry = entry.map_err(io)?;
        let is_file = entry.file_type().is_ok_and(|t| t.is_file());
        let name = entry.file_name();
        let is_log = |name: &str| PROC_LOGS.iter().any(|log| log.is_base_of(name, suffix));
        if is_file && name.to_str().is_some_and(is_log) {
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
        assert_eq!(names_in(dir.path()), files, "during the run");
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
