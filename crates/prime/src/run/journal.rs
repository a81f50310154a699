//! The record of a run and the files that are written from it, while the run goes on and
//! at its end.

use super::types::{RunError, RunOptions, RunOutcome};
use crate::live_writer::LiveWriter;
use filermark_model::Finding;
use filermark_results::files::{
    write_files_and_logs, write_files_so_far, write_heartbeat_log, write_results,
};
use filermark_results::final_logs::SettledLogs;
use filermark_results::live::{LogPaths, RunEvent};
use filermark_results::output::{Make, Output, OutputTable};
use filermark_results::outputs::{OUTPUTS, RECORD};
use filermark_results::record::{End, Line, Outcome, RunHeader};
use filermark_results::{RecordWriter, RunRecord, read_record};
use std::path::{Path, PathBuf};

/// The record of a run under way, in its file and in memory, and the files of its results.
pub(super) struct Journal {
    writer: RecordWriter,
    record: RunRecord,
    /// What was noticed about the run as a whole.
    findings: Vec<Finding>,
    files: Vec<PathBuf>,
    places: LogPaths,
    /// Writes the logs of a composite while it runs.
    live: Option<LiveWriter>,
    /// The logs of the load points that have ended.
    settled: SettledLogs,
    /// The files of the results are this run's.
    has_results: bool,
    /// The first thing that kept a line out of the record, or a file from being written.
    write_error: Option<String>,
}

impl Journal {
    /// Opens the record.
    pub fn begin(options: &RunOptions<'_>) -> Result<Self, RunError> {
        let dir = &options.dir;
        std::fs::create_dir_all(dir).map_err(|e| {
            RunError::Record(format!(
                "{}: cannot make the result directory: {e}; choose another (-d, WORK_DIR)",
                dir.display()
            ))
        })?;
        let path = dir.join(RECORD.name(&options.suffix));
        let header = RunHeader::new(
            env!("CARGO_PKG_VERSION"),
            &options.suffix,
            options.plan.clone(),
        )
        .with_inputs(options.inputs.clone());
        let line = Line::Run(Box::new(header.clone()));
        let opened = match options.goes_on {
            true => continued(&path, header),
            false => {
                let is_taken = has_files_of(dir, &options.suffix, options.reports);
                RecordWriter::create(&path, is_taken)
                    .map(|writer| (writer, RunRecord::new(header)))
                    .map_err(|e| e.to_string())
            }
        };
        let (mut writer, record) = opened.map_err(RunError::Record)?;
        writer
            .write(&line)
            .map_err(|e| RunError::Record(e.to_string()))?;
        let findings = record.warnings_of_events();
        let places = places(options);
        let settled = SettledLogs::new(places.clone());
        Ok(Self {
            writer,
            record,
            findings,
            files: Vec::new(),
            places,
            live: None,
            settled,
            has_results: false,
            write_error: None,
        })
    }

    /// The record, as far as it has come.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The record's file.
    pub fn path(&self) -> &Path {
        self.writer.path()
    }

    /// How long the pieces before this one took.
    pub fn seconds_before(&self) -> f64 {
        let last = self.record.restarts.last();
        last.map_or(0.0, |restart| restart.seconds_before)
    }

    /// Everybody is ready: from now on the record and the files are this run's.
    pub fn keep(&mut self) -> Result<(), String> {
        self.writer.keep().map_err(|e| e.to_string())?;
        self.has_results = true;
        Ok(())
    }

    /// The logs of a composite grow while it runs.
    pub fn begin_live_logs(&mut self) {
        if self.record.run.plan.benchmark.composite().is_none() {
            return;
        }
        // Of a run that goes on: the logs go on behind the load points that it has.
        if !self.record.points.is_empty() {
            self.render();
        }
        match LiveWriter::begin(self.record.clone(), self.places.clone()) {
            Ok(live) => self.live = Some(live),
            Err(why) => {
                self.write_error.get_or_insert(why);
            }
        }
    }

    /// What the logs of a run under way tell.
    pub fn tell_live(&self, news: impl FnOnce() -> RunEvent) {
        if let Some(live) = &self.live {
            live.push(news());
        }
    }

    /// Into the file first, then into memory.
    pub fn push(&mut self, line: Line) {
        if let Err(e) = self.writer.write(&line) {
            self.write_error.get_or_insert(e.to_string());
        }
        if !matches!(line, Line::Point(_) | Line::End(_)) {
            self.tell_live(|| RunEvent::Line(Box::new(line.clone())));
        }
        self.record.push(line);
    }

    /// Keeps a finding about the run as a whole, the same one only once; says whether it
    /// is new.
    pub fn add_finding(&mut self, finding: Finding) -> bool {
        let known = |f: &Finding| f.rule == finding.rule && f.message == finding.message;
        if self.findings.iter().any(known) {
            return false;
        }
        self.findings.push(finding);
        true
    }

    /// Keeps those findings about the run as a whole that a piece before has not had.
    pub fn add_fresh(&mut self, findings: Vec<Finding>) {
        let fresh = findings.into_iter();
        let fresh: Vec<Finding> = fresh.filter(|f| !self.findings.contains(f)).collect();
        self.findings.extend(fresh);
    }

    /// Takes the findings about the run as a whole.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// What the logs of the load point lacked while it was measured, in words.
    pub fn left_out(&self) -> Option<String> {
        let left_out = self.live.as_ref().map_or(0, LiveWriter::take_left_out);
        (left_out > 0 && self.record.end.is_none()).then(|| {
            format!("{left_out} lines of the logs came late: the file system took too long to write them")
        })
    }

    /// Writes the files of what has been measured so far, or of the whole run.
    pub fn render(&mut self) {
        let has_ended = self.record.end.is_some();
        let settle = |live: &LiveWriter| live.settle(has_ended);
        let trouble = self.live.as_ref().and_then(settle);
        self.keep_trouble(trouble);
        let (dir, log_dir) = (&self.places.dir, &self.places.log_dir);
        let written = match (
            has_ended,
            self.live.as_ref().is_some_and(LiveWriter::has_failed),
        ) {
            (_, true) => write_results(&self.record, dir),
            (true, false) => write_files_and_logs(&self.record, dir, log_dir),
            (false, false) => write_files_so_far(&self.record, dir, &mut self.settled),
        };
        match written {
            Ok(files) => self.files = files,
            Err(e) => self.keep_trouble(Some(e.to_string())),
        }
        if has_ended {
            self.write_late_logs();
        }
        self.write_heartbeat_log();
    }

    /// The logs of a thread that was late, and has come to its end after all.
    fn write_late_logs(&mut self) {
        let Some(back) = self.live.as_ref().and_then(LiveWriter::settle_again) else {
            return;
        };
        if self.write_error.as_ref() == Some(&back.message) {
            self.write_error = None;
        }
        self.keep_trouble(back.write_error);
        let places = &self.places;
        match write_files_and_logs(&self.record, &places.dir, &places.log_dir) {
            Ok(files) => self.files = files,
            Err(e) => self.keep_trouble(Some(e.to_string())),
        }
    }

    /// The log of `-q`, complete.
    fn write_heartbeat_log(&mut self) {
        let is_due = self.has_results && self.record.end.is_some();
        let is_free = !self.live.as_ref().is_some_and(LiveWriter::has_failed);
        let path = self.places.heartbeat_log.as_ref();
        if let Some(path) = path.filter(|_| is_due && is_free) {
            let written = write_heartbeat_log(&self.record, path);
            self.keep_trouble(written.err().map(|e| e.to_string()));
        }
    }

    fn keep_trouble(&mut self, trouble: Option<String>) {
        if let Some(trouble) = trouble {
            self.write_error.get_or_insert(trouble);
        }
    }

    /// Judges the record, closes it and renders the files.
    pub fn finish(mut self, end: End) -> RunOutcome {
        let end = self.record.judged(end);
        self.push(Line::End(end));
        let earlier_stays = self.writer.is_draft();
        if !earlier_stays {
            self.render();
        }
        let record_path = self.writer.path().to_path_buf();
        let finished = self.writer.finish().map_err(|e| e.to_string()).err();
        RunOutcome {
            record: self.record,
            record_path,
            files: self.files,
            earlier_run_kept: earlier_stays,
            unwritten: self.write_error.or(finished),
        }
    }
}

/// Where the logs of a run are.
fn places(options: &RunOptions<'_>) -> LogPaths {
    LogPaths {
        dir: options.dir.clone(),
        log_dir: log_dir(options),
        heartbeat_log: options.heartbeat_log.clone(),
    }
}

fn log_dir(options: &RunOptions<'_>) -> PathBuf {
    let own = options.client_log_dir.as_ref();
    own.unwrap_or(&options.dir).clone()
}

/// The record at `path` as it goes on with this line.
fn continued(path: &Path, header: RunHeader) -> Result<(RecordWriter, RunRecord), String> {
    // What another run has written until then is in the record.
    let writer = RecordWriter::go_on(path).map_err(|e| e.to_string())?;
    let mut record = read_record(path).map_err(|e| e.to_string())?;
    if record.run.fingerprint != header.fingerprint || record.run.version != header.version {
        return Err(format!(
            "{}: a run of another plan or version cannot go on; move it away, or choose another suffix",
            path.display()
        ));
    }
    // Another command may have gone on with it since this one has looked.
    let has_failed = record.failed_points().next().is_some();
    let what = match record.end.as_ref().map(|end| &end.outcome) {
        Some(Outcome::Complete) => Some("is complete"),
        Some(Outcome::Failed { .. }) => Some("has failed"),
        _ => has_failed.then_some("has failed"),
    };
    if let Some(what) = what {
        return Err(format!(
            "{}: this run {what} meanwhile; start the command again",
            path.display()
        ));
    }
    record.go_on(&header);
    Ok((writer, record))
}

/// Whether a run of this suffix has left files in a result directory, whatever became of
/// its record; `reports` are rows of the table of outputs beside those of `results`.
fn has_files_of(dir: &Path, suffix: &str, reports: &'static [Output]) -> bool {
    let rows = [OUTPUTS, reports];
    let is_single = |make| !matches!(make, Make::Elsewhere | Make::Client(_) | Make::Proc(_));
    OutputTable(&rows)
        .iter()
        .filter(|output| output.origin.is_run() && is_single(output.make))
        .any(|output| std::fs::symlink_metadata(dir.join(output.name(suffix))).is_ok())
}

#[cfg(test)]
mod tests;
