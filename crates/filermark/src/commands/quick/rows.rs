//! What the parts of `quick` held, as a table and as JSON.

use super::parts::Part;
use super::target::Target;
use crate::cli::OutputArgs;
use crate::stdout;
use filermark_model::stats::PointStats;
use filermark_model::{Rule, RunPlan};
use filermark_prime::RunOutcome;
use filermark_report::{rate, wrapped};
use filermark_results::figures::{Planned, Throughput};
use filermark_results::record::PointRecord;
use serde::Serialize;
use std::fmt::Write as _;

/// The version of that form.
const SCHEMA_VERSION: u32 = 1;
/// The largest width of sentences, in columns.
const WIDTH_MAX: usize = 80;
/// Operations from which on a percentile is stated: ten above it.
const P99_COUNT: u64 = 1_000;
const P999_COUNT: u64 = 10_000;
/// The share of the procs' time in operations, in percent, below which this host is named as what
/// limits the rate.
const SERVICE_PCNT_MIN: f64 = 50.0;

/// One part.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Which.
    pub part: &'static str,
    #[serde(skip)]
    title: &'static str,
    /// `held`, `cached`, `invalid` or `failed`.
    pub verdict: &'static str,
    /// Why it does not count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// What was measured.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    /// The run record.
    pub record: String,
}

/// The figures of a part.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    ops_per_sec: f64,
    mib_per_sec: f64,
    #[serde(skip)]
    reads: bool,
    latency_ms_mean: f64,
    latency_ms_p50: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms_p99: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms_p999: Option<f64>,
    latency_ms_max: f64,
    op_count: u64,
    error_count: u64,
    seconds: f64,
    /// Share of the procs' time that operations took; the rest is this host's own work. Not known
    /// where operations failed or were not answered, or where a rate was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    service_pcnt: Option<f64>,
    /// Share of the bytes read that came out of this host's memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_pcnt: Option<f64>,
}

impl Row {
    /// Of the run of a part.
    pub fn of(part: Part, outcome: &RunOutcome) -> Self {
        let point = outcome.record.points.first();
        let plan = &outcome.record.run.plan;
        let mut figures = point.and_then(Figures::of);
        if let (Some(point), Some(figures)) = (point, &mut figures)
            && is_busy_throughout(plan, point)
        {
            figures.service_pcnt = point.measured().map(service_pcnt);
        }
        let verdict = point.map_or("failed", verdict_of);
        let findings = point.map_or(&[][..], |point| &point.findings[..]);
        let counts = |rule| rule == Rule::ClientCache;
        let reasons = findings
            .iter()
            .filter(|f| f.invalidates() || counts(f.rule))
            .map(|f| f.message.clone());
        let failure = stdout::failure_of(&outcome.record).filter(|_| point.is_none());
        Self {
            part: part.name(),
            title: part.title(),
            verdict,
            reasons: reasons.chain(failure).collect(),
            figures,
            record: outcome.record_path.display().to_string(),
        }
    }

    /// Whether there are figures.
    pub fn is_measured(&self) -> bool {
        self.figures.is_some()
    }

    /// The verdict, with the share that came out of this host's memory.
    fn verdict_text(&self) -> String {
        let cached = self.figures.as_ref().and_then(|f| f.cached_pcnt);
        match (self.verdict, cached) {
            ("cached", Some(pcnt)) => format!("cached {pcnt:.0} %"),
            (verdict, _) => verdict.to_owned(),
        }
    }

    /// Whether its figures are valid.
    pub fn counts(&self) -> bool {
        matches!(self.verdict, "held" | "cached")
    }
}

/// The verdict on the only load point of a part.
fn verdict_of(point: &PointRecord) -> &'static str {
    match point.is_valid() {
        true if point.is_cached() => "cached",
        true => "held",
        false if point.measured().is_some() => "invalid",
        false => "failed",
    }
}

impl Figures {
    fn of(point: &PointRecord) -> Option<Self> {
        let stats = point.measured()?;
        let service = stats.service();
        let ms = |percentile| service.percentile_ns(percentile) as f64 / 1e6;
        let from = |count, percentile| (service.count() >= count).then(|| ms(percentile));
        Some(Self {
            ops_per_sec: stats.achieved_ops_per_sec(),
            mib_per_sec: Throughput::of(stats).total() / 1024.0,
            reads: Throughput::of(stats).read > 0.0,
            latency_ms_mean: service.mean_ns() / 1e6,
            latency_ms_p50: ms(50.0),
            latency_ms_p99: from(P99_COUNT, 99.0),
            latency_ms_p999: from(P999_COUNT, 99.9),
            latency_ms_max: service.max_ns() as f64 / 1e6,
            op_count: stats.success_count(),
            error_count: stats.error_count(),
            seconds: stats.window_ns as f64 / 1e9,
            service_pcnt: None,
            cached_pcnt: cached_pcnt(point),
        })
    }
}

/// Whether each proc began its next operation as soon as it could, and all were answered.
fn is_busy_throughout(plan: &RunPlan, point: &PointRecord) -> bool {
    let is_silent = point.findings.iter().any(|f| f.rule == Rule::NoReply);
    let has_errors = point.measured().is_some_and(|s| s.error_count() > 0);
    let has_rate = Planned::of(plan, point.load).requested.is_some();
    !is_silent && !has_errors && !has_rate
}

/// The share of the time of the procs that their operations took, in percent.
fn service_pcnt(stats: &PointStats) -> f64 {
    let service = stats.service();
    let procs_ns = stats.window_ns as f64 * stats.procs.len() as f64;
    let share = service.count() as f64 * service.mean_ns() / procs_ns.max(1.0);
    (100.0 * share).min(100.0)
}

/// The share of the bytes read that this host's memory answered, where it is known.
fn cached_pcnt(point: &PointRecord) -> Option<f64> {
    let known = point
        .client_reads
        .iter()
        .filter_map(|reads| Some((reads.memory_bytes()?, reads.read_bytes)));
    let (memory, read) = known.fold((0, 0), |(m, r), (memory, read)| (m + memory, r + read));
    (read > 0).then(|| 100.0 * memory as f64 / read as f64)
}

/// The sentence below the verdict of the output.
const SHORT: &str = "Not a standard run: short, one client, a small file set, no requested rate.";

/// Prints the parts on stdout; `wanted` is how many there should be.
pub fn print(
    output: &OutputArgs,
    (target, protocol): (&Target, &str),
    rows: &[Row],
    wanted: usize,
) {
    let verdict = verdict(rows, wanted);
    if output.json {
        stdout::print_json(&json((target, protocol), rows, verdict));
        return;
    }
    stdout::print(&table(target, rows, verdict));
}

fn json((target, protocol): (&Target, &str), rows: &[Row], verdict: &str) -> serde_json::Value {
    serde_json::json!({
        "schema": SCHEMA_VERSION,
        "program": "filermark",
        "version": env!("CARGO_PKG_VERSION"),
        "notice": filermark_model::NOT_A_SPEC_RESULT,
        "target": target.name(),
        "protocol": protocol,
        "verdict": verdict,
        "parts": rows,
    })
}

/// One word about all parts: the worst of them.
fn verdict(rows: &[Row], wanted: usize) -> &'static str {
    let worst = ["failed", "invalid", "cached"];
    let has = |word: &&&str| rows.iter().any(|row| row.verdict == **word);
    match worst.iter().find(has) {
        Some(word) => word,
        None if rows.len() == wanted => "held",
        None => "failed",
    }
}

fn table(target: &Target, rows: &[Row], verdict: &str) -> String {
    let mut text = format!(
        "{:<17} {:>8} {:>7} {:>7} {:>7} {:>7} {:>7}  {}\n",
        "part", "op/s", "MiB/s", "mean ms", "p50", "p99", "p99.9", "verdict"
    );
    for row in rows {
        let Some(f) = &row.figures else {
            let _ = writeln!(text, "{:<17} {:>48}  {}", row.title, "", row.verdict);
            continue;
        };
        let _ = writeln!(
            text,
            "{:<17} {:>8} {:>7} {:>7} {:>7} {:>7} {:>7}  {}",
            row.title,
            rate(f.ops_per_sec),
            match f.mib_per_sec {
                mib if mib > 0.0 => rate(mib),
                _ => "-".to_owned(),
            },
            ms_text(Some(f.latency_ms_mean)),
            ms_text(Some(f.latency_ms_p50)),
            ms_text(f.latency_ms_p99),
            ms_text(f.latency_ms_p999),
            row.verdict_text(),
        );
    }
    text.push('\n');
    for row in rows {
        for reason in &row.reasons {
            let line = format!("{}, {}: {reason}", row.title, row.verdict);
            text.push_str(&wrapped(&line, stdout::width().min(WIDTH_MAX), 2));
            text.push('\n');
        }
    }
    let notice = filermark_model::NOT_A_SPEC_RESULT.to_owned();
    let width = stdout::width().min(WIDTH_MAX);
    let first = sentence(target, rows, verdict).to_owned();
    let sentences = [
        Some(first),
        own_work(rows),
        Some(SHORT.to_owned()),
        Some(notice),
    ];
    for sentence in sentences.into_iter().flatten() {
        text.push_str(&wrapped(&sentence, width, 2));
        text.push('\n');
    }
    text
}

/// Names the parts in which this host's own work took most of the time.
fn own_work(rows: &[Row]) -> Option<String> {
    let limited = |row: &&Row| {
        let figures = row.figures.as_ref();
        let share = figures.and_then(|f| f.service_pcnt);
        share.is_some_and(|pcnt| pcnt < SERVICE_PCNT_MIN)
    };
    let limited: Vec<_> = rows.iter().filter(limited).map(|row| row.title).collect();
    (!limited.is_empty()).then(|| {
        format!(
            "This host's own work took more time than the operations in: {}. The target may \
             hold more there.",
            limited.join("; ")
        )
    })
}

/// What the figures say.
fn sentence(target: &Target, rows: &[Row], verdict: &str) -> &'static str {
    let is_directory = matches!(target, Target::Directory(_));
    let reads = |row: &&Row| row.figures.as_ref().is_some_and(|f| f.reads);
    let knows = |row: &Row| {
        row.figures
            .as_ref()
            .is_some_and(|f| f.cached_pcnt.is_some())
    };
    match verdict {
        "held" if !is_directory => {
            "VALID: the server held these figures; every operation went to it."
        }
        "held" if !rows.iter().any(|row| reads(&row)) => {
            "VALID for this host: no data was read. Metadata, and writes without O_DIRECT, may \
             have stayed in its memory: no counter shows that."
        }
        "held" if rows.iter().filter(reads).all(knows) => {
            "VALID: the file system held these figures; at most 10 % of the data that was read \
             came out of this host's memory. Metadata may have come out of it: no counter shows \
             that."
        }
        "held" => {
            "VALID for this host: how much came out of its memory is not known, since the file \
             system has no counter."
        }
        "cached" => {
            "CACHED: data came out of this host's memory in the parts marked so; their figures \
             are not those of the file system. Metadata may have come out of it, too: no counter \
             shows that."
        }
        "invalid" => "INVALID: a part does not count, for the reasons above.",
        _ => "FAILED: not all parts were measured.",
    }
}

/// A time in milliseconds with three digits; `-`: too few operations.
fn ms_text(ms: Option<f64>) -> String {
    ms.map_or("-".to_owned(), |ms| filermark_report::ms(ms * 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::{Finding, Severity};
    use filermark_results::testing;

    #[test]
    fn a_share_that_is_not_known_is_not_cached() {
        let mut point = testing::record().points.remove(0);
        let verdict = |point: &mut PointRecord, severity| {
            point.findings = vec![Finding::new(Rule::ClientCache, severity, "read")];
            verdict_of(point)
        };
        assert_eq!(verdict(&mut point, Severity::Note), "held");
        assert_eq!(verdict(&mut point, Severity::Warning), "cached");
        assert_eq!(verdict(&mut point, Severity::Invalid), "invalid");
    }
}
