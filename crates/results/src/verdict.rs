//! Whether a run's result counts, in one of four words: VALID; VALID, NOT STANDARD;
//! VALID, CACHED; INVALID. Both qualifiers together are VALID, NOT STANDARD, CACHED.
//!
//! This is the only place that decides it. It reads findings and the record's end, and
//! nothing else: code that needs another verdict adds a finding
//! (docs/src/reference/rules.md#the-verdict).

mod next_step;

pub use next_step::{HeldRate, NextStep, StalledPoints};

use crate::judge::rate::{ShortfallCause, other_cause};
use crate::record::{End, Outcome, PointRecord, RunRecord, by_load};
use filermark_model::text::one_line;
use filermark_model::units::counted;
use filermark_model::{Finding, Rule, Severity};

/// All verdicts of runs, the best first.
pub const WORDS: [&str; 5] = [
    "VALID",
    "VALID, CACHED",
    "VALID, NOT STANDARD",
    "VALID, NOT STANDARD, CACHED",
    "INVALID",
];

/// The text of a `not-standard` finding before the parameter.
const NOT_STANDARD_PREFIX: &str = "not standard: ";
/// The text after the parameter.
const STANDARD_SUFFIX: &str = " (standard: ";

/// The verdict on a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Why nothing of it counts; empty: it is valid.
    invalid: Vec<String>,
    /// The parameters that the standard fixes and that were changed, with their values.
    not_standard: Vec<String>,
    /// The largest share of the bytes read that did not leave the client, in percent.
    cached_pcnt: Option<f64>,
    /// Load points that do not count because the server was overloaded there.
    overloaded: Vec<u32>,
    /// Load points above all that count that missed their rate for another cause than the
    /// server's speed, with the cause.
    explained: Vec<(u32, ShortfallCause)>,
    valid_count: usize,
    planned_count: usize,
    /// The reasons of the verdict.
    reasons: Vec<String>,
}

impl Verdict {
    /// The verdict on a record.
    pub fn of(record: &RunRecord) -> Self {
        Self::with_end(record, record.end.as_ref())
    }

    /// The verdict on a record with this end.
    pub fn with_end(record: &RunRecord, end: Option<&End>) -> Self {
        let planned = record.run.plan.points.len();
        let mut verdict = Self {
            not_standard: not_standard(record),
            cached_pcnt: cached_pcnt(record),
            valid_count: record.valid_points().count(),
            planned_count: planned.max(record.points.len()),
            ..Self::default()
        };
        let at_end = end.into_iter().flat_map(|e| &e.findings);
        let of_run = record.run.plan.findings.iter().chain(at_end);
        let invalid = of_run.filter(|f| f.invalidates());
        verdict.invalid = invalid.map(|f| one_line(&f.message)).collect();
        // A load point that ended the run is named with its reason.
        let is_of_point = match end.map(|e| &e.outcome) {
            Some(Outcome::Failed { reason }) => {
                let mut points = record.points.iter();
                points.any(|p| p.failure() == Some(reason))
            }
            _ => false,
        };
        if !is_of_point {
            verdict.invalid.extend(ending(end));
        }
        verdict.judge_points(record);
        let ended = record.points.iter().filter(|p| !p.is_interrupted());
        let missing = planned.saturating_sub(ended.count());
        if missing > 0 {
            let was = if missing == 1 { "was" } else { "were" };
            let points = counted(missing as u64, "load point");
            verdict.invalid.push(format!("{points} {was} not measured"));
        }
        if verdict.valid_count == 0 && verdict.invalid.is_empty() {
            verdict.invalid.push("no load point counts".into());
        }
        verdict.reasons = verdict.made_reasons();
        verdict
    }

    /// Judges points that do not count. If the server is overloaded above all points that
    /// count, or the rate was missed there for another cause, the sweep below is valid. Any
    /// other such point makes the run invalid.
    fn judge_points(&mut self, record: &RunRecord) {
        let highest = record.valid_points().max_by(|a, b| by_load(a, b));
        for point in record.points.iter().filter(|p| !p.is_valid()) {
            let number = point.load.number;
            // One of those that were not measured.
            if point.is_interrupted() {
                continue;
            }
            if let Some(reason) = point.failure() {
                let reason = one_line(reason);
                self.invalid
                    .push(format!("load point {number} failed: {reason}"));
                continue;
            }
            let rules = rules(point);
            match highest {
                Some(highest) if is_overloaded(point) && by_load(point, highest).is_gt() => {
                    match other_cause(&record.run.plan, point) {
                        Some(cause) => self.explained.push((number, cause)),
                        None => self.overloaded.push(number),
                    }
                }
                Some(_) if is_overloaded(point) => self.invalid.push(format!(
                    "load point {number} does not count ({rules}), although one of a higher load does"
                )),
                _ => self
                    .invalid
                    .push(format!("load point {number} does not count ({rules})")),
            }
        }
    }

    /// The verdict with its qualifiers.
    pub fn label(&self) -> &'static str {
        match (
            self.is_valid(),
            self.not_standard.is_empty(),
            self.cached_pcnt,
        ) {
            (false, ..) => "INVALID",
            (true, true, None) => "VALID",
            (true, true, Some(_)) => "VALID, CACHED",
            (true, false, None) => "VALID, NOT STANDARD",
            (true, false, Some(_)) => "VALID, NOT STANDARD, CACHED",
        }
    }

    /// Whether the result counts, with qualifiers or without.
    pub fn is_valid(&self) -> bool {
        self.invalid.is_empty()
    }

    /// Whether it counts with a qualifier.
    pub fn is_qualified(&self) -> bool {
        self.is_valid() && !(self.not_standard.is_empty() && self.cached_pcnt.is_none())
    }

    /// The reasons of the verdict: why INVALID; or which parameters are not standard, how
    /// much came from the client's cache, and how many load points count. A plain VALID
    /// with all points valid has none.
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// Why it is INVALID, in sentences; empty: it counts.
    pub fn invalid(&self) -> &[String] {
        &self.invalid
    }

    /// The parameters that the standard fixes and that were changed, as NAME=VALUE.
    pub fn not_standard(&self) -> &[String] {
        &self.not_standard
    }

    /// The largest share of the bytes read, over the points that count, that came from
    /// the client's own memory, in percent; `None`: nothing to report.
    pub fn cached_pcnt(&self) -> Option<f64> {
        self.cached_pcnt
    }

    /// How many load points count, and how many were planned.
    pub fn counts(&self) -> (usize, usize) {
        (self.valid_count, self.planned_count)
    }

    /// Verdict and reasons in one line: `VALID, NOT STANDARD: RUNTIME=4, WARMUP_TIME=1`.
    pub fn line(&self) -> String {
        let reasons = match self.is_valid() {
            true => {
                let mut reasons = self.qualified("");
                reasons.extend(self.counted());
                reasons
            }
            false => self.reasons.clone(),
        };
        match reasons.is_empty() {
            true => self.label().to_owned(),
            false => format!("{}: {}", self.label(), reasons.join("; ")),
        }
    }

    fn made_reasons(&self) -> Vec<String> {
        let mut reasons = self.invalid.clone();
        reasons.extend(self.qualified("not standard: "));
        reasons.extend(self.counted());
        reasons
    }

    fn qualified(&self, before_parameters: &str) -> Vec<String> {
        let mut qualifiers = Vec::new();
        if !self.not_standard.is_empty() {
            let parameters = self.not_standard.join(", ");
            qualifiers.push(format!("{before_parameters}{parameters}"));
        }
        qualifiers.extend(self.cached_pcnt.map(|pcnt| {
            format!("{pcnt:.0} % of the bytes read came from the client's own memory, not from the server")
        }));
        qualifiers
    }

    /// How many load points count, unless all of a valid run count.
    fn counted(&self) -> Option<String> {
        let (valid, planned) = self.counts();
        let counts = format!("{valid} of {planned} load points count");
        if !self.is_valid() {
            return (valid > 0).then_some(counts);
        }
        let overloaded =
            (!self.overloaded.is_empty()).then(|| "the server is overloaded above them".to_owned());
        let explained = self.explained.iter().map(|(number, cause)| {
            format!("load point {number} missed its rate for another reason than the server's speed ({cause})")
        });
        let why: Vec<String> = overloaded.into_iter().chain(explained).collect();
        (!why.is_empty()).then(|| format!("{counts}; {}", why.join("; ")))
    }
}

/// Why the run is invalid by its end, unless it is complete.
fn ending(end: Option<&End>) -> Option<String> {
    match end.map(|e| &e.outcome) {
        Some(Outcome::Complete) => None,
        Some(outcome) => Some(outcome.to_string()),
        None => Some("the record has no end: the run was cut or is still in progress".into()),
    }
}

fn not_standard(record: &RunRecord) -> Vec<String> {
    let findings = record.run.plan.findings.iter();
    let changed =
        findings.filter(|f| f.rule == Rule::NotStandard && f.severity == Severity::Warning);
    let name = |f: &Finding| {
        let message = one_line(&f.message);
        let text = message.strip_prefix(NOT_STANDARD_PREFIX);
        match text {
            Some(text) => text
                .split_once(STANDARD_SUFFIX)
                .map_or(text, |(given, _)| given)
                .to_owned(),
            None => message,
        }
    };
    changed.map(name).collect()
}

fn cached_pcnt(record: &RunRecord) -> Option<f64> {
    let findings = record.valid_points().flat_map(|p| &p.findings);
    let cached = findings.filter(|f| is_cached(f)).map(|f| f.value);
    // A finding without its figure qualifies the result nevertheless.
    cached.map(|v| v.unwrap_or(0.0)).max_by(f64::total_cmp)
}

fn is_cached(finding: &Finding) -> bool {
    finding.rule == Rule::ClientCache && finding.severity == Severity::Warning
}

/// Whether a measured point does not count only because the server did not carry its
/// load; not if [`other_cause`] names another reason.
fn is_overloaded(point: &PointRecord) -> bool {
    let against = || point.findings.iter().filter(|f| f.invalidates());
    let worked = point.measured().is_some_and(|s| s.success_count() > 0);
    // An overloaded server may also be too slow to commit in time.
    let is_left = |f: &Finding| f.rule == Rule::Uncommitted;
    let is_overload = |f: &Finding| f.rule.is_overload();
    worked
        && against().all(|f| is_overload(f) || is_left(f))
        && (against().any(is_overload) || !against().any(is_left))
}

fn rules(point: &PointRecord) -> String {
    let against = point.findings.iter().filter(|f| f.invalidates());
    let mut names: Vec<_> = against.map(|f| f.rule.name()).collect();
    names.dedup();
    names.join(", ")
}

impl PointRecord {
    /// Whether too much of what was read came out of the clients' memory. A share that is not
    /// known is a note, and does not count.
    pub fn is_cached(&self) -> bool {
        self.findings.iter().any(is_cached)
    }

    /// The verdict on the point: VALID; VALID, CACHED; INVALID; FAILED, if it
    /// was not measured to its end. Parameters that are not standard qualify only the run.
    pub fn word(&self) -> &'static str {
        match (self.measured().is_some(), self.is_valid()) {
            (false, _) => "FAILED",
            (true, false) => "INVALID",
            (true, true) if self.is_cached() => "VALID, CACHED",
            (true, true) => "VALID",
        }
    }
}

impl RunRecord {
    /// The [`Verdict`] on the run.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self)
    }

    /// The last line with the resulting verdict of the record.
    pub fn judged(&self, mut end: End) -> End {
        let verdict = Verdict::with_end(self, Some(&end));
        end.verdict = Some(verdict.label().to_owned());
        end.reasons = verdict.reasons().to_vec();
        end
    }
}

#[cfg(test)]
mod tests;
