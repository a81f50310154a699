//! The record of a run and the files that are written from it, during the run and at its
//! end.

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
    /// Findings about the run as a whole.
    findings: Vec<Finding>,
    files: Vec<PathBuf>,
    places: LogPaths,
    /// Writes the logs of a composite while it runs.
    live: Option<LiveWriter>,
    /// The logs of the load points that have ended.
    settled: SettledLogs,
    /// Whether the result files are those of this run.
    has_results: bool,
    /// The first error of writing the record or a file.
    write_error: Option<String>,
}

impl Journal {
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

    /// The record until now.
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

    /// All agents are ready: from now on the record and the files are those of this run.
    pub fn keep(&mut self) -> Result<(), String> {
        self.writer.keep().map_err(|e| e.to_string())?;
        self.has_results = true;
        Ok(())
    }

    /// Begins to write the logs of a composite while it runs.
    pub fn begin_live_logs(&mut self) {
        if self.record.run.plan.benchmark.composite().is_none() {
            return;
        }
        // In a resumed run the logs go on after the load points in the record.
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

    /// Queues an event for the logs of a run under way.
    pub fn push_live(&self, event: impl FnOnce() -> RunEvent) {
        if let Some(live) = &self.live {
            live.push(event());
        }
    }

    /// Adds a line, first to the file, then to the record in memory.
    pub fn push(&mut self, line: Line) {
        if let Err(e) = self.writer.write(&line) {
            self.write_error.get_or_insert(e.to_string());
        }
        if !matches!(line, Line::Point(_) | Line::End(_)) {
            self.push_live(|| RunEvent::Line(Box::new(line.clone())));
        }
        self.record.push(line);
    }

    /// Adds a finding about the run as a whole, the same one only once; returns whether it is
    /// new.
    pub fn add_finding(&mut self, finding: Finding) -> bool {
        let known = |f: &Finding| f.rule == finding.rule && f.message == finding.message;
        if self.findings.iter().any(known) {
            return false;
        }
        self.findings.push(finding);
        true
    }

    /// Adds the findings about the run as a whole that no earlier piece has.
    pub fn add_new_findings(&mut self, findings: Vec<Finding>) {
        let new = findings.into_iter();
        let new: Vec<Finding> = new.filter(|f| !self.findings.contains(f)).collect();
        self.findings.extend(new);
    }

    /// Takes the findings about the run as a whole.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// The message about lines that the logs lacked while the load point was measured.
    pub fn dropped_lines(&self) -> Option<String> {
        let dropped = self.live.as_ref().map_or(0, LiveWriter::take_dropped);
        (dropped > 0 && self.record.end.is_none()).then(|| {
            format!(
                "{dropped} lines of the logs came late: the file system took too long to write them"
            )
        })
    }

    /// Writes the files of what has been measured so far, or of the whole run.
    pub fn render(&mut self) {
        let has_ended = self.record.end.is_some();
        let settle = |live: &LiveWriter| live.settle(has_ended);
        let write_error = self.live.as_ref().and_then(settle);
        self.keep_error(write_error);
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
            Err(e) => self.keep_error(Some(e.to_string())),
        }
        if has_ended {
            self.write_late_logs();
        }
        self.write_heartbeat_log();
    }

    /// Writes the logs again if the thread was late, but has written everything.
    fn write_late_logs(&mut self) {
        let Some(recovered) = self.live.as_ref().and_then(LiveWriter::settle_again) else {
            return;
        };
        if self.write_error.as_ref() == Some(&recovered.message) {
            self.write_error = None;
        }
        self.keep_error(recovered.write_error);
        let places = &self.places;
        match write_files_and_logs(&self.record, &places.dir, &places.log_dir) {
            Ok(files) => self.files = files,
            Err(e) => self.keep_error(Some(e.to_string())),
        }
    }

    /// Writes the complete log of `-q`.
    fn write_heartbeat_log(&mut self) {
        let is_due = self.has_results && self.record.end.is_some();
        let is_free = !self.live.as_ref().is_some_and(LiveWriter::has_failed);
        let path = self.places.heartbeat_log.as_ref();
        if let Some(path) = path.filter(|_| is_due && is_free) {
            let written = write_heartbeat_log(&self.record, path);
            self.keep_error(written.err().map(|e| e.to_string()));
        }
    }

    fn keep_error(&mut self, error: Option<String>) {
        if let Some(error) = error {
            self.write_error.get_or_insert(error);
        }
    }

    /// Judges the record, closes it and renders the files.
    pub fn finish(mut self, end: End) -> RunOutcome {
        let end = self.record.judged(end);
        self.push(Line::End(end));
        let earlier_stays = self.writer.is_draft();
        // A run without a load point has no results. The logs of one that began are completed.
        let has_results = !self.record.points.is_empty() || self.live.is_some();
        if !earlier_stays && has_results {
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

/// The directories and files of the logs.
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

/// The record at `path`, continued with this header.
fn continued(path: &Path, header: RunHeader) -> Result<(RecordWriter, RunRecord), String> {
    // From here on no other run can write to the record.
    let writer = RecordWriter::go_on(path).map_err(|e| e.to_string())?;
    let mut record = read_record(path).map_err(|e| e.to_string())?;
    if record.run.fingerprint != header.fingerprint || record.run.version != header.version {
        return Err(format!(
            "{}: a run of another plan or version cannot go on; move it away, or choose another suffix",
            path.display()
        ));
    }
    // Another command may have continued the run since this one has read the record.
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

/// Whether a run of this suffix has left files in a result directory, with or without its
/// record; `reports` are rows of the table of outputs in addition to those of `results`.
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
