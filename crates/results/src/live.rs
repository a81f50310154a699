//! Logs that grow while a run goes on, for `tail -f`: `sfslog`, the progress of every
//! proc (`netmist_C`), and the heartbeats (`-q`).
//!
//! The functions that make the files of a whole record make these texts, too, from what is
//! known of the load point under way. Whole lines are added to the files as they come.
//! Where a text is no longer what was written, the file is cut back to what both have.

use crate::files::{FilesError, proc_log_dir, suffix_is_plain};
use crate::proc_logs::{heartbeat_lines, live_progress};
use crate::record::{Line, Phase, PhaseRecord, RunRecord};
use crate::sfslog_txt::sfslog_live;
use crate::time::Timestamp;
use std::fs::OpenOptions;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What happens in a run.
#[derive(Clone, Debug)]
pub enum News {
    /// A load point begins.
    Point(u32, Timestamp),
    /// A phase begins, or has come a tenth further.
    Phase(OpenPhase),
    /// A line of the record, of any kind but a load point's.
    Line(Box<Line>),
}

/// A phase that goes on.
#[derive(Clone, Debug)]
pub struct OpenPhase {
    /// The load point it belongs to, from 1; 0: to the run as a whole.
    pub point: u32,
    /// Which phase.
    pub phase: Phase,
    /// When it began.
    pub began: Timestamp,
    /// The same by the monotonic clock.
    pub since: Instant,
    /// As in [`PhaseRecord::percents`].
    pub percents: Vec<Timestamp>,
}

/// Where the logs of a run are.
#[derive(Clone, Debug)]
pub struct LivePlaces {
    /// Directory of the results.
    pub dir: PathBuf,
    /// Directory of the procs' logs (`-U`, NETMIST_LOGS).
    pub log_dir: PathBuf,
    /// A further log of the heartbeats (`-q`).
    pub heartbeat_log: Option<PathBuf>,
}

/// The logs of one run.
#[derive(Debug)]
pub struct LiveLogs {
    /// What is known of the load point under way, and the hosts.
    record: RunRecord,
    point: Option<(u32, Timestamp)>,
    open: Option<OpenPhase>,
    is_first: bool,
    /// A load point has ended: others write the files until the next one begins.
    is_resting: bool,
    log: LiveFile,
    heartbeats: Vec<LiveFile>,
    procs: Vec<LiveFile>,
}

impl LiveLogs {
    /// Logs of the run that this record has begun with.
    ///
    /// # Errors
    /// The suffix is no part of a file name, or the procs' directory cannot be made.
    pub fn new(record: RunRecord, places: &LivePlaces) -> Result<Self, FilesError> {
        let suffix = &record.run.suffix;
        if !suffix_is_plain(suffix) {
            return Err(FilesError::Suffix(suffix.clone()));
        }
        let procs = places.log_dir.join(proc_log_dir(suffix));
        std::fs::create_dir_all(&procs).map_err(|source| FilesError::Io {
            path: procs.clone(),
            source,
        })?;
        let count = record.run.plan.procs.len();
        let of_proc = |n| LiveFile::new(procs.join(format!("netmist_C{n}.{suffix}.log")));
        let beside = places.dir.join(format!("heartbeats_{suffix}.log"));
        let heartbeats = match record.run.plan.heartbeat {
            Some(_) => std::iter::once(&beside)
                .chain(&places.heartbeat_log)
                .collect(),
            None => Vec::new(),
        };
        Ok(Self {
            point: None,
            open: None,
            is_first: true,
            is_resting: false,
            log: LiveFile::new(places.dir.join(format!("sfslog.{suffix}.txt"))),
            heartbeats: heartbeats
                .into_iter()
                .map(|p| LiveFile::new(p.clone()))
                .collect(),
            procs: (0..count).map(of_proc).collect(),
            record,
        })
    }

    /// Takes in what has happened; [`show`](Self::show) writes it.
    pub fn hear(&mut self, news: News) {
        match news {
            News::Point(number, began) => {
                if std::mem::take(&mut self.is_resting) {
                    for file in self.files() {
                        file.settle();
                    }
                }
                self.point = Some((number, began));
            }
            News::Phase(open) => self.open = Some(open),
            News::Line(line) => {
                if matches!(*line, Line::Phase(_)) {
                    self.open = None;
                }
                self.record.push(*line);
            }
        }
    }

    /// A load point has ended, and its files are made from the record. What comes until the
    /// next one begins is shown with that one.
    pub fn rest(&mut self) {
        if self.point.is_some() {
            self.is_resting = true;
            self.is_first = false;
        }
        let record = &mut self.record;
        record.phases.clear();
        record.events.clear();
        record.heartbeats.clear();
        record.scripts.clear();
    }

    /// Writes what is new.
    ///
    /// # Errors
    /// The file system says no; the other files are written all the same.
    pub fn show(&mut self) -> Result<(), FilesError> {
        let Some((number, began)) = self.point.filter(|_| !self.is_resting) else {
            return Ok(());
        };
        let closed = self.record.phases.len();
        self.record.phases.extend(self.open.as_ref().map(unended));
        let record = &self.record;
        let mut result = self
            .log
            .show(&sfslog_live(record, (number, began), self.is_first));
        let beats = heartbeat_lines(record);
        for file in &mut self.heartbeats {
            result = result.and(file.show(&beats));
        }
        for (at, file) in (0u32..).zip(&mut self.procs) {
            if let Some(text) = live_progress(record, number, at) {
                result = result.and(file.show(&text));
            }
        }
        self.record.phases.truncate(closed);
        result
    }

    fn files(&mut self) -> impl Iterator<Item = &mut LiveFile> {
        let others = self.heartbeats.iter_mut().chain(&mut self.procs);
        std::iter::once(&mut self.log).chain(others)
    }
}

/// A phase under way as the record may have it later, as far as it is known.
fn unended(open: &OpenPhase) -> PhaseRecord {
    PhaseRecord {
        point: open.point,
        phase: open.phase,
        began: open.began,
        ended: Timestamp::now(),
        seconds: open.since.elapsed().as_secs_f64(),
        detail: String::new(),
        failure: Some("it goes on".into()),
        space: None,
        percents: open.percents.clone(),
    }
}

/// A file that grows.
#[derive(Debug)]
struct LiveFile {
    path: PathBuf,
    /// Bytes of the load points before.
    settled: u64,
    /// What was written since.
    text: String,
    is_begun: bool,
}

impl LiveFile {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            settled: 0,
            text: String::new(),
            is_begun: false,
        }
    }

    /// What is in the file stays as it is.
    fn settle(&mut self) {
        self.settled = std::fs::metadata(&self.path).map_or(0, |m| m.len());
        self.text.clear();
    }

    /// The file holds this text behind what is settled. An older file is emptied first.
    fn show(&mut self, text: &str) -> Result<(), FilesError> {
        if self.is_begun && self.text == text {
            return Ok(());
        }
        let both = common_length(&self.text, text);
        let write = || -> io::Result<()> {
            let mut options = OpenOptions::new();
            let mut file = options
                .write(true)
                .create(true)
                .truncate(false)
                .open(&self.path)?;
            // A pipe or a device is only written to.
            if file.metadata()?.is_file() {
                let end = self.settled + both as u64;
                if !self.is_begun || both < self.text.len() {
                    file.set_len(end)?;
                }
                file.seek(SeekFrom::Start(end))?;
            }
            file.write_all(&text.as_bytes()[both..])
        };
        write().map_err(|source| FilesError::Io {
            path: self.path.clone(),
            source,
        })?;
        self.is_begun = true;
        text.clone_into(&mut self.text);
        Ok(())
    }
}

/// How many bytes two texts begin with alike, whole lines of both.
fn common_length(one: &str, other: &str) -> usize {
    if other.starts_with(one) {
        return one.len();
    }
    let same = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    one.as_bytes()[..same]
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1)
}

/// Writes a whole log. What a log that grew holds of it stays where it is, so that who
/// reads it with `tail -f` reads on.
///
/// # Errors
/// The file system says no.
pub fn complete(path: &Path, text: &str) -> io::Result<()> {
    let length =
        std::fs::metadata(path).map_or(u64::MAX, |m| if m.is_file() { m.len() } else { u64::MAX });
    if length <= text.len() as u64 {
        let there = std::fs::read(path)?;
        if let Some(rest) = text.as_bytes().strip_prefix(&there[..]) {
            let mut file = OpenOptions::new().append(true).open(path)?;
            return file.write_all(rest);
        }
    }
    std::fs::write(path, text)
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
