//! Reads the log of another kit's run, or one of Filermark in that format, as a run to merge
//! with: the times of its load points and phases, and its results.
//!
//! It recognizes the lines of sources.md 3.10. Their times are local times of the prime, so a
//! zone is needed (Filermark writes them in UTC). Other lines are skipped; only the load
//! points are kept.

use crate::import::text::{LINE_LEN_MAX, Lines};
use crate::log::{EnergyPhase, MergedPoint, MergedRun, PhaseBegin};
use crate::sflow::{LocalTimes, Zone};
use filermark_results::{Summary, Timestamp, text::one_line};
use jiff::civil::{Date, DateTime};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Load points of a log.
const POINTS_MAX: usize = 10_000;
/// Lines of a log; a heartbeat a second for a year has fewer.
const LINES_MAX: u64 = 100_000_000;
/// Clients report phases themselves, so a line may be this much earlier than the one before.
const BACK_SECONDS_MAX: f64 = 2.0;
/// Achieved rates of log and summary are the same within this, in operations per second.
const RATES_DIFFER: f64 = 0.01;

/// Why a log cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum OtherKitError {
    /// It cannot be read.
    #[error("{path}: cannot read the log of the run: {source}")]
    Io {
        /// The log.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A line is invalid.
    #[error("{path}:{line}: {reason}")]
    Line {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// It has no load point.
    #[error(
        "{0}: not a log of a run: no line begins a load point (\"<<< DATE: Starting ...\" or \"Starting tests: DATE\"); give the sfslog file, or what the run printed on the console"
    )]
    NoPoint(PathBuf),
    /// A summary does not belong to the log.
    #[error(
        "{path}: the summary file has {summary} load points and this log {log}, and their rates do not agree; leave it out or give the right one"
    )]
    Summary {
        /// The log.
        path: PathBuf,
        /// Load points of the summary.
        summary: usize,
        /// Load points of the log.
        log: usize,
    },
}

/// Whether a file with this beginning is such a log; some kilobytes are enough.
pub fn looks_like_sfslog(first: &[u8]) -> bool {
    let mut lines = Lines::new(first);
    while matches!(lines.next(), Ok(true)) {
        let line = lines.line.trim_start();
        if line.starts_with('{') {
            return false;
        }
        let begins = line.starts_with("<<< ") && line.contains(": Starting");
        let words = [
            "Starting tests:",
            "Waiting to finish initialization.",
            "Tests finished:",
        ];
        if begins || words.iter().any(|word| line.starts_with(word)) {
            return true;
        }
    }
    false
}

/// The possible names of the summary of a log: `sfssum.vda.txt` of `sfslog.vda.txt`,
/// `sfssum_vda.txt` of `sfslog_vda.log`.
pub fn sfssum_names(log: &str) -> Vec<String> {
    if !log.contains("sfslog") {
        return Vec::new();
    }
    let same = log.replacen("sfslog", "sfssum", 1);
    let text = same.strip_suffix(".log").map(|stem| format!("{stem}.txt"));
    text.into_iter().chain([same]).collect()
}

/// Reads a log to its end. `path` is only used in messages and as its place; `name` is
/// the name of the run. An interrupted load point has no end of RUN.
///
/// # Errors
/// It cannot be read; it has no load point, or too many; a phase has no time, there is no
/// `zone`, the time does not exist in it, or it goes back; or load points are of two
/// benchmarks.
pub fn read_sfslog(
    path: &Path,
    reader: impl Read,
    zone: Option<Zone>,
    name: &str,
) -> Result<MergedRun, OtherKitError> {
    let mut parser = Parser {
        path,
        line: 0,
        times: LocalTimes::new(zone),
        last: None,
        run: MergedRun {
            run: 0,
            name: one_line(name),
            location: path.display().to_string(),
            fingerprint: String::new(),
            benchmark: String::new(),
            load_unit: String::new(),
            // Set when the first load point has begun.
            began: Timestamp::from_unix_seconds(0.0),
            ended: None,
            cut_after: Vec::new(),
            points: Vec::new(),
        },
    };
    let mut lines = Lines::new(reader);
    let io = |source| OtherKitError::Io {
        path: path.into(),
        source,
    };
    while lines.next().map_err(io)? {
        parser.line = lines.number;
        if lines.number > LINES_MAX {
            return Err(parser.bad(format!("more than {LINES_MAX} lines")));
        }
        if lines.too_long {
            return Err(parser.bad(format!(
                "longer than {LINE_LEN_MAX} bytes; not a log of a run"
            )));
        }
        parser.take(lines.line.trim())?;
    }
    if parser.run.points.is_empty() {
        return Err(OtherKitError::NoPoint(path.into()));
    }
    if parser.run.load_unit.is_empty() {
        parser.run.load_unit = business_metric(&parser.run.benchmark).into();
    }
    Ok(parser.run)
}

/// The business metrics of the workloads of 2014.
fn business_metric(benchmark: &str) -> &'static str {
    match benchmark {
        "swbuild" => "BUILDS",
        "vda" => "STREAMS",
        "vdi" => "DESKTOPS",
        "database" => "DATABASES",
        "eda" => "JOB_SETS",
        _ => "",
    }
}

/// Adds the summary of the same run: loads, verdicts, and figures that the log lacks. Points
/// are matched by their achieved rate; where the log has none, by their order.
///
/// # Errors
/// They do not match. The run is unchanged then.
pub fn add_sfssum(run: &mut MergedRun, summary: &Summary) -> Result<(), OtherKitError> {
    let rows = &summary.curve.points;
    let same = |point: &MergedPoint, achieved: f64| {
        point
            .achieved_ops_per_s
            .is_none_or(|ours| (ours - achieved).abs() <= RATES_DIFFER + achieved * 1e-6)
    };
    // A log that was cut has fewer, a summary never has fewer than points that ended.
    let ended = run.points.iter().filter(|p| p.run_ended.is_some()).count();
    let fits =
        |(point, row): (&MergedPoint, &filermark_results::CurvePoint)| same(point, row.achieved);
    if ended > rows.len() || !run.points.iter().zip(rows).all(fits) {
        return Err(OtherKitError::Summary {
            path: run.location.clone().into(),
            summary: rows.len(),
            log: run.points.len(),
        });
    }
    // A summary of the 14 columns by another program has no verdict.
    let has_verdicts = summary.is_ours || summary.curve.protocol.is_empty();
    for (point, row) in run.points.iter_mut().zip(rows) {
        point.load.get_or_insert(row.load);
        point.achieved_ops_per_s.get_or_insert(row.achieved);
        point.latency_ms_mean.get_or_insert(row.mean_ms);
        if let Some(kib) = row.total_kib_per_sec {
            point.client_mib_per_s.get_or_insert(kib / 1024.0);
        }
        match row.is_valid {
            false => point.valid = Some(false),
            true if has_verdicts => {
                point.valid.get_or_insert(true);
            }
            true => {}
        }
    }
    if run.benchmark.is_empty() {
        run.benchmark = summary.curve.benchmark.to_lowercase();
    }
    if run.load_unit.is_empty() {
        run.load_unit = match business_metric(&run.benchmark) {
            "" => summary.curve.metric.clone(),
            metric => metric.into(),
        };
    }
    Ok(())
}

struct Parser<'a> {
    path: &'a Path,
    line: u64,
    times: LocalTimes,
    /// The latest time that began something.
    last: Option<Timestamp>,
    run: MergedRun,
}

impl Parser<'_> {
    fn bad(&self, reason: impl Into<String>) -> OtherKitError {
        OtherKitError::Line {
            path: self.path.into(),
            line: self.line,
            reason: reason.into(),
        }
    }

    fn take(&mut self, line: &str) -> Result<(), OtherKitError> {
        if let Some(rest) = line.strip_prefix("<<<") {
            return match rest.contains("Starting") {
                true => self.begin(rest),
                false => Ok(()),
            };
        }
        if let Some(rest) = line.strip_prefix("Starting tests:") {
            return self.starting_tests(rest);
        }
        if let Some(rest) = line.strip_prefix("Waiting to finish initialization.") {
            return self.phase(EnergyPhase::Init, rest);
        }
        if let Some(rest) = line.strip_prefix("Tests finished:") {
            return self.finished(rest);
        }
        if let Some(rest) = line.strip_prefix("Overall") {
            self.figure(rest);
            return Ok(());
        }
        self.verdict(line);
        if let Some(rest) = line.strip_prefix("Starting test client:") {
            self.workload(rest);
            return Ok(());
        }
        for (what, phase) in [
            ("Starting WARM phase", EnergyPhase::Warmup),
            ("Starting RUN phase", EnergyPhase::Run),
            ("Run 90 percent complete", EnergyPhase::RunTail),
        ] {
            // "DATE Starting RUN phase": a script's output may quote such a line.
            let is_it = |rest: &str| rest.trim_start().starts_with(what);
            if line.contains(what) && date_time(line).is_some_and(|(_, rest)| is_it(rest)) {
                return self.phase(phase, line);
            }
        }
        Ok(())
    }

    /// ` DATE: Starting VDA run 1 of 10: STREAMS=9 >>>`
    fn begin(&mut self, rest: &str) -> Result<(), OtherKitError> {
        self.open(rest)?;
        let Some((_, start)) = rest.split_once("Starting") else {
            return Ok(());
        };
        let start = start.trim_end_matches(['>', ' ']);
        let benchmark = start.split_whitespace().next().unwrap_or("").to_lowercase();
        let benchmark = one_line(benchmark.trim_end_matches(':'));
        match self.run.benchmark.as_str() {
            "" => self.run.benchmark = benchmark,
            known if *known == *benchmark => {}
            known => {
                return Err(self.bad(format!(
                    "load points of two benchmarks in one log, {known} and {benchmark}; split it into one file for each run"
                )));
            }
        }
        if let Some((metric, load)) = start.rsplit_once('=') {
            let metric = metric.split([' ', ':']).next_back().unwrap_or("");
            let load = load.trim().parse::<f64>().ok();
            if let (Some(load), Some(point)) = (load, self.run.points.last_mut()) {
                point.load = Some(load).filter(|l| l.is_finite() && *l >= 0.0);
            }
            if self.run.load_unit.is_empty() {
                self.run.load_unit = one_line(metric);
            }
        }
        Ok(())
    }

    /// A console log may lack its beginning: then a load point begins here.
    fn starting_tests(&mut self, rest: &str) -> Result<(), OtherKitError> {
        let open = self.run.points.last();
        match open.is_some_and(|point| point.phases.len() == 1) {
            true => Ok(()),
            false => self.open(rest),
        }
    }

    fn open(&mut self, text: &str) -> Result<(), OtherKitError> {
        if self.run.points.len() >= POINTS_MAX {
            return Err(self.bad(format!("more than {POINTS_MAX} load points")));
        }
        let at = self.time(text)?;
        let number = self.run.points.len() as u32 + 1;
        let phase = EnergyPhase::Pre;
        if number == 1 {
            self.run.began = at;
        }
        self.run.points.push(MergedPoint {
            number,
            load: None,
            achieved_ops_per_s: None,
            client_mib_per_s: None,
            latency_ms_mean: None,
            valid: None,
            phases: vec![PhaseBegin { phase, at }],
            run_ended: None,
            throughput_mib_per_s: Vec::new(),
            throughput_step_s: None,
        });
        Ok(())
    }

    /// A phase begins; the first of several such lines counts.
    fn phase(&mut self, phase: EnergyPhase, text: &str) -> Result<(), OtherKitError> {
        let at = self.time(text)?;
        let Some(point) = self.run.points.last_mut() else {
            return Err(self.bad(format!(
                "{phase} begins before any load point has (\"<<< DATE: Starting ...\"); the log was cut at its beginning"
            )));
        };
        // A repeated or earlier phase is another client's line.
        if point.phases.last().is_some_and(|last| last.phase < phase) {
            point.phases.push(PhaseBegin { phase, at });
        }
        Ok(())
    }

    fn finished(&mut self, text: &str) -> Result<(), OtherKitError> {
        self.phase(EnergyPhase::Post, text)?;
        if let Some(point) = self.run.points.last_mut() {
            let ran = point.began(EnergyPhase::Run).is_some();
            point.run_ended = point.began(EnergyPhase::Post).filter(|_| ran);
        }
        Ok(())
    }

    /// The time that the text begins with.
    fn time(&mut self, text: &str) -> Result<Timestamp, OtherKitError> {
        let Some((local, _)) = date_time(text) else {
            return Err(self.bad(
                "a load point or phase without its time; expected a time as \"Wed Feb 28 12:53:19 2018\"",
            ));
        };
        if !self.times.has_zone() {
            return Err(self.bad(
                "times of such a log are local times of the prime; give its time zone: --zone America/Denver, --zone UTC",
            ));
        }
        let Some(at) = self.times.place(local) else {
            return Err(self.bad(format!(
                "{local} does not exist in that zone: clocks were set forward; is it the right --zone?"
            )));
        };
        let at = match self.last {
            Some(last) if last.seconds_since(at) > BACK_SECONDS_MAX => {
                return Err(self.bad(format!(
                    "the time goes back from {last} to {at}; if these are two logs in one file, split it"
                )));
            }
            Some(last) => at.max(last),
            None => at,
        };
        self.last = Some(at);
        Ok(at)
    }

    /// ` average latency 2.021 Milli-seconds`, after "Overall".
    fn figure(&mut self, rest: &str) {
        let Some(point) = self.run.points.last_mut() else {
            return;
        };
        let mut words = rest.split_whitespace().rev();
        let unit = words.next().unwrap_or("");
        let value = words.next().and_then(|word| word.parse::<f64>().ok());
        let Some(value) = value.filter(|v| v.is_finite() && (0.0..1e18).contains(v)) else {
            return;
        };
        let name = rest.trim_start();
        match unit {
            "Ops/sec" => point.achieved_ops_per_s = Some(value),
            "Milli-seconds" if name.starts_with("average latency") => {
                point.latency_ms_mean = Some(value);
            }
            "Kbytes/sec" if name.starts_with("throughput") => {
                point.client_mib_per_s = Some(value / 1024.0);
            }
            _ => {}
        }
    }

    fn verdict(&mut self, line: &str) {
        let Some(point) = self.run.points.last_mut() else {
            return;
        };
        let invalid = line.split_whitespace().any(|word| word == "INVALID_RUN");
        if invalid || line.starts_with("Run FAILED") {
            point.valid = Some(false);
        } else if line == "Run is VALID" {
            point.valid.get_or_insert(true);
        }
    }

    /// `Starting test client: 0 Host: c1 Workload: SWBUILD Location: ...`
    fn workload(&mut self, rest: &str) {
        let word = rest
            .split_once("Workload:")
            .and_then(|(_, rest)| rest.split_whitespace().next());
        if let (Some(word), true) = (word, self.run.benchmark.is_empty()) {
            // VDA1 and VDA2 are the components of VDA.
            let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
            self.run.benchmark = one_line(&name.to_lowercase());
        }
    }
}

/// `Wed Feb 28 12:53:19 2018` at the beginning, optionally in brackets, optionally with a time
/// zone before the year, which is ignored; and the text after it.
fn date_time(text: &str) -> Option<(DateTime, &str)> {
    let mut rest = text.trim_start_matches([' ', '\t', '(', '[']);
    let mut word = || {
        let trimmed = rest.trim_start();
        let end = trimmed.find(char::is_whitespace).unwrap_or(trimmed.len());
        let (word, after) = trimmed.split_at(end);
        rest = after;
        word
    };
    let weekday = word();
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    if !days.contains(&weekday) {
        return None;
    }
    let month = crate::import::dates::month(word())?;
    let day: i8 = word().parse().ok()?;
    let time = crate::import::dates::time(word())?;
    let mut year = word();
    if !year.is_empty() && year.bytes().all(|b| b.is_ascii_alphabetic()) {
        year = word();
    }
    let digits = year.get(..4)?;
    let ends = year.get(4..)?.trim_matches([':', ')', ']', ',', '.']);
    let sound = ends.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let year: i16 = digits.parse().ok().filter(|_| sound)?;
    let date = Date::new(year, i8::try_from(month).ok()?, day).ok()?;
    Some((date.to_datetime(time), rest))
}

#[cfg(test)]
mod tests;
