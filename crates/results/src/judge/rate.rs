//! Load points below their rate: what is missing must be the time that the server took for
//! its operations. Where something else explains it, what was achieved is no figure of the
//! server.
//!
//! This is the only list of such causes. The findings, the verdict, the result at the
//! response limit and `compare` all ask here.

use super::case::{Case, OWN, percent_of};
use crate::figures::Planned;
use crate::record::PointRecord;
use filermark_model::counter::{DUPLICATE_REPLIES, RETRANSMITS, SEND_ERRORS};
use filermark_model::plan::{LoadPoint, PacingMode, RunPlan};
use filermark_model::stats::PointStats;
use filermark_model::{Finding, Rule, Severity};
use std::fmt;

/// Findings that explain what is missing, from a warning on: limits of the clients.
const CLIENT_CAUSES: [Rule; 2] = [Rule::Lateness, Rule::GeneratorBusy];
/// Over UDP a call that goes again has waited UDP_TIMEOUT_MS at least. These waits explain
/// what is missing where they are as large a share of the time that the procs lack, in
/// percent. A call with two replies was not lost: the server was slow.
const LOST_DATAGRAMS_PCNT_MIN: f64 = 10.0;

/// What explains that a load point is below its rate, other than the time that the server
/// took for its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShortfallCause {
    /// Another finding.
    Finding(Rule),
    /// A counter of the driver.
    Counter(&'static str, u64),
}

impl ShortfallCause {
    /// Whether it is a matter of the clients, and not of the server or the network.
    pub(crate) fn is_of_clients(self) -> bool {
        match self {
            Self::Finding(rule) => rule != Rule::NoReply,
            Self::Counter(name, _) => name == SEND_ERRORS,
        }
    }
}

impl fmt::Display for ShortfallCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finding(rule) => write!(f, "{rule}"),
            Self::Counter(name, count) => write!(f, "{name} = {count}"),
        }
    }
}

/// Whether a finding says that a load point missed its rate. Of a benchmark in which such a
/// point counts it is a warning.
pub(crate) fn is_missed(finding: &Finding) -> bool {
    let rate = matches!(
        finding.rule,
        Rule::AchievedRate | Rule::ProcRate | Rule::Saturated
    );
    rate && finding.severity >= Severity::Warning
}

/// What else than the server's speed explains that this load point missed its rate; `None`
/// where nothing does, and where it did not miss it.
pub(crate) fn other_cause(plan: &RunPlan, point: &PointRecord) -> Option<ShortfallCause> {
    let stats = point.measured()?;
    let missed = point.findings.iter().any(is_missed);
    missed
        .then(|| cause(plan, point.load, stats, &point.findings))
        .flatten()
}

fn cause(
    plan: &RunPlan,
    load: LoadPoint,
    stats: &PointStats,
    findings: &[Finding],
) -> Option<ShortfallCause> {
    let is_said = |rule: &Rule| {
        let mut said = findings.iter().filter(|f| f.severity >= Severity::Warning);
        said.any(|f| f.rule == *rule)
    };
    // Those of the clients first: what they cause is not the server's, whatever else there is.
    let of_clients = CLIENT_CAUSES
        .into_iter()
        .find(is_said)
        .map(ShortfallCause::Finding);
    let counted = || {
        let above_zero = plan.driver.counters().iter().filter_map(|counter| {
            let (rank, count) = (counter.shortfall_rank?, count(stats, counter.name));
            (count > 0).then_some((rank, ShortfallCause::Counter(counter.name, count)))
        });
        above_zero.min_by_key(|(rank, _)| *rank).map(|(_, c)| c)
    };
    let paused = || is_said(&Rule::NoReply).then_some(ShortfallCause::Finding(Rule::NoReply));
    of_clients
        .or_else(|| lost_datagrams(plan, load, stats))
        .or_else(counted)
        .or_else(paused)
}

fn count(stats: &PointStats, name: &str) -> u64 {
    stats.counters.get(name).copied().unwrap_or_default()
}

/// Calls or replies that UDP lost, or that this host did not send, where they explain what
/// is missing.
fn lost_datagrams(plan: &RunPlan, load: LoadPoint, stats: &PointStats) -> Option<ShortfallCause> {
    let resend_after = plan.driver.facts().resend_after?;
    let shortfall = Shortfall::of(plan, load, stats)?;
    let again = count(stats, RETRANSMITS).saturating_sub(count(stats, DUPLICATE_REPLIES));
    let waited_ns = again as f64 * resend_after.0 as f64;
    let procs_ns = stats.window_ns as f64 * f64::from(plan.proc_count_at(load));
    let missing_ns = procs_ns * (1.0 - shortfall.pcnt() / 100.0).max(0.0);
    let explains = again > 0 && waited_ns >= LOST_DATAGRAMS_PCNT_MIN / 100.0 * missing_ns;
    // What was not sent went again, too.
    let unsent = count(stats, SEND_ERRORS);
    let name = match unsent > again / 2 {
        true => SEND_ERRORS,
        false => RETRANSMITS,
    };
    explains.then(|| ShortfallCause::Counter(name, count(stats, name)))
}

/// What was done of what was wanted.
struct Shortfall {
    achieved: f64,
    requested: f64,
}

impl Shortfall {
    /// `None`: no rate was asked for.
    fn of(plan: &RunPlan, load: LoadPoint, stats: &PointStats) -> Option<Self> {
        Some(Self {
            achieved: stats.achieved_ops_per_sec(),
            requested: Planned::of(plan, load).requested?,
        })
    }

    fn pcnt(&self) -> f64 {
        percent_of(self.achieved, self.requested)
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            achieved,
            requested,
        } = self;
        let pcnt = self.pcnt();
        write!(
            f,
            "{achieved:.1} op/s were achieved of {requested:.1} requested, {pcnt:.1} %"
        )
    }
}

/// In the classical benchmarks a load point below its rate counts with what it achieved
/// (manual M, section 4.4), with closed pacing and unless something else explains what is
/// missing ([`settle_rate`]). A stricter limit of the run's own holds as it was set. A lower
/// one does not hide the point: it is noted.
pub(super) fn achieved(case: &Case<'_>) -> Option<Finding> {
    if case.stats.success_count() == 0 {
        return None; // `nothing_measured` speaks.
    }
    let shortfall = Shortfall::of(case.plan, case.load, case.stats)?;
    let (pcnt, standard) = (shortfall.pcnt(), &case.plan.benchmark.standard);
    let (own, usual) = (
        case.plan.limits.achieved_pcnt_min,
        standard.achieved_pcnt_min,
    );
    let counts = standard.achieved_severity < Severity::Invalid;
    let is_row = counts && own <= usual && case.plan.pacing.mode != PacingMode::Open;
    let (severity, limit, remark) = match pcnt < own {
        true if is_row => {
            let why = "the figure is what was achieved, and more PROCS may achieve more";
            (
                standard.achieved_severity,
                own,
                format!("below {own} %: {why}"),
            )
        }
        true => (Severity::Invalid, own, format!("the least is {own} %")),
        false if counts && pcnt < usual => {
            let why = format!("below {usual} %, and not below the {own} % of this run");
            (Severity::Note, usual, why)
        }
        false => return None,
    };
    let message = format!("{shortfall}; {remark}");
    let source = case.source("ACHIEVED_PCNT_MIN", limit, usual);
    Some(Finding::new(Rule::AchievedRate, severity, message).with_limit(pcnt, limit, &source))
}

/// A load point below its rate does not count where something else than the server's speed
/// explains what is missing. To be asked when all other findings of the point are there.
pub fn settle_rate(findings: &mut [Finding], stats: &PointStats, load: LoadPoint, plan: &RunPlan) {
    let below = |f: &Finding| f.rule == Rule::AchievedRate && f.severity < Severity::Invalid;
    if !findings.iter().any(below) {
        return;
    }
    let shortfall = Shortfall::of(plan, load, stats);
    let cause = cause(plan, load, stats, findings);
    let (Some(shortfall), Some(cause)) = (shortfall, cause) else {
        return;
    };
    for finding in findings.iter_mut().filter(|f| below(f)) {
        finding.severity = Severity::Invalid;
        finding.message =
            format!("{shortfall}; it does not count, since {cause} explains what is missing");
    }
}

/// Nothing measured is no result, whatever rate was asked for.
pub(super) fn nothing_measured(case: &Case<'_>) -> Option<Finding> {
    (case.stats.success_count() == 0).then(|| {
        let message = "not one operation succeeded in the window; see the errors, or raise RUNTIME where operations take so long";
        Finding::new(Rule::AchievedRate, Severity::Invalid, message).with_limit(0.0, 1.0, OWN)
    })
}

#[cfg(test)]
#[path = "rate_tests.rs"]
mod tests;
