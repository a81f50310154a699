//! Load points below their rate. The shortfall must come from the time that the server took
//! for its operations. If it has another cause, the achieved rate is not a figure of the
//! server.
//!
//! This is the only list of such causes. The findings, the verdict, the result at the
//! response limit and `compare` all use it.

use super::case::{Case, OWN, percent_of};
use crate::figures::Planned;
use crate::record::PointRecord;
use filermark_model::counter::{DUPLICATE_REPLIES, RETRANSMITS, SEND_ERRORS};
use filermark_model::plan::{LoadPoint, PacingMode, RunPlan};
use filermark_model::stats::PointStats;
use filermark_model::{Finding, Rule, Severity};
use std::fmt;

/// Waits explain a shortfall if they are at least this share of the time that the procs lack, in
/// percent.
const WAITS_PCNT_MIN: f64 = 10.0;

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
    /// Whether the cause is the clients, and not the server or the network.
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

/// Whether a finding states that a load point missed its rate. In benchmarks in which such a
/// point counts it is a warning.
pub(crate) fn is_missed(finding: &Finding) -> bool {
    let rate = matches!(
        finding.rule,
        Rule::AchievedRate | Rule::ProcRate | Rule::Saturated
    );
    rate && finding.severity >= Severity::Warning
}

/// The cause, other than the server's speed, of a rate below the requested one; `None` if
/// there is none or the load point did not miss its rate.
pub(crate) fn other_cause(plan: &RunPlan, point: &PointRecord) -> Option<ShortfallCause> {
    let missed = point.findings.iter().any(is_missed);
    missed.then(|| shortfall_cause(plan, point)).flatten()
}

/// [`other_cause`] for a load point that missed its rate by a limit of the caller: a search has its
/// own. It depends on the plan's driver, procs and rates and not on its phases, so that the
/// plan of the run serves for the probes of a search, too.
pub(crate) fn shortfall_cause(plan: &RunPlan, point: &PointRecord) -> Option<ShortfallCause> {
    cause(plan, point.load, point.measured()?, &point.findings)
}

fn cause(
    plan: &RunPlan,
    load: LoadPoint,
    stats: &PointStats,
    findings: &[Finding],
) -> Option<ShortfallCause> {
    let has_finding = |rule: &Rule| {
        let mut warnings = findings.iter().filter(|f| f.severity >= Severity::Warning);
        warnings.any(|f| f.rule == *rule)
    };
    // Causes of the clients first: their effects are not the server's, whatever else happened.
    let is_late = || has_finding(&Rule::Lateness) && is_explained_by_lateness(plan, load, stats);
    let late = || is_late().then_some(ShortfallCause::Finding(Rule::Lateness));
    let is_busy = has_finding(&Rule::GeneratorBusy);
    let busy = is_busy.then_some(ShortfallCause::Finding(Rule::GeneratorBusy));
    let counted = || {
        let above_zero = plan.driver.counters().iter().filter_map(|counter| {
            let (rank, count) = (counter.shortfall_rank?, count(stats, counter.name));
            (count > 0).then_some((rank, ShortfallCause::Counter(counter.name, count)))
        });
        above_zero.min_by_key(|(rank, _)| *rank).map(|(_, c)| c)
    };
    let paused = || has_finding(&Rule::NoReply).then_some(ShortfallCause::Finding(Rule::NoReply));
    busy.or_else(late)
        .or_else(|| lost_datagrams(plan, load, stats))
        .or_else(counted)
        .or_else(paused)
}

fn count(stats: &PointStats, name: &str) -> u64 {
    stats.counters.get(name).copied().unwrap_or_default()
}

/// Whether the delays of late starts add up to enough of the time that the procs lack: a delay of
/// a tenth of a millisecond does not explain a rate that a slow server misses.
fn is_explained_by_lateness(plan: &RunPlan, load: LoadPoint, stats: &PointStats) -> bool {
    let late_ns = stats.wakeup.count() as f64 * stats.wakeup.mean_ns();
    Shortfall::of(plan, load, stats).is_some_and(|s| s.is_explained_by(late_ns, plan, load, stats))
}

/// Calls or replies that UDP lost, or that this host did not send, if they explain the
/// shortfall: a call that is sent again has waited UDP_TIMEOUT_MS at least. A call with two
/// replies was not lost: the server was slow.
fn lost_datagrams(plan: &RunPlan, load: LoadPoint, stats: &PointStats) -> Option<ShortfallCause> {
    let resend_after = plan.driver.facts().resend_after?;
    let shortfall = Shortfall::of(plan, load, stats)?;
    let again = count(stats, RETRANSMITS).saturating_sub(count(stats, DUPLICATE_REPLIES));
    let waited_ns = again as f64 * resend_after.0 as f64;
    let explains = again > 0 && shortfall.is_explained_by(waited_ns, plan, load, stats);
    // Calls that were not sent are sent again, too.
    let unsent = count(stats, SEND_ERRORS);
    let name = match unsent > again / 2 {
        true => SEND_ERRORS,
        false => RETRANSMITS,
    };
    explains.then(|| ShortfallCause::Counter(name, count(stats, name)))
}

/// The achieved and the requested rate.
struct Shortfall {
    achieved: f64,
    requested: f64,
}

impl Shortfall {
    /// `None`: no rate was requested.
    fn of(plan: &RunPlan, load: LoadPoint, stats: &PointStats) -> Option<Self> {
        Some(Self {
            achieved: stats.achieved_ops_per_sec(),
            requested: Planned::of(plan, load).requested?,
        })
    }

    fn pcnt(&self) -> f64 {
        percent_of(self.achieved, self.requested)
    }

    /// Whether waits of the procs, in nanoseconds of all of them, are the cause.
    fn is_explained_by(
        &self,
        waited_ns: f64,
        plan: &RunPlan,
        load: LoadPoint,
        stats: &PointStats,
    ) -> bool {
        let procs_ns = stats.window_ns as f64 * f64::from(plan.proc_count_at(load));
        let missing_ns = procs_ns * (1.0 - self.pcnt() / 100.0).max(0.0);
        waited_ns >= WAITS_PCNT_MIN / 100.0 * missing_ns
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

/// In the classical benchmarks a load point below its rate counts with its achieved rate
/// (manual M, section 4.4), with closed pacing and unless the shortfall has another cause
/// ([`settle_rate`]). A stricter limit of the run applies as it was set. With a lower limit
/// there is a note.
pub(super) fn achieved(case: &Case<'_>) -> Option<Finding> {
    if case.stats.success_count() == 0 {
        return None; // reported by `nothing_measured`.
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
            let why = "the result is the achieved rate; more PROCS may raise it";
            (
                standard.achieved_severity,
                own,
                format!("below {own} %: {why}"),
            )
        }
        true => (Severity::Invalid, own, format!("below {own} %")),
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

/// A load point below its rate does not count if the shortfall has another cause than the
/// server's speed. Call this when all other findings of the point are known.
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
            format!("{shortfall}; it does not count, because {cause} explains the shortfall");
    }
}

/// Without a successful operation there is no result, whatever the requested rate.
pub(super) fn nothing_measured(case: &Case<'_>) -> Option<Finding> {
    (case.stats.success_count() == 0).then(|| {
        let message = "no operation succeeded in RUN; check the errors, or raise RUNTIME if operations take that long";
        Finding::new(Rule::AchievedRate, Severity::Invalid, message).with_limit(0.0, 1.0, OWN)
    })
}

#[cfg(test)]
mod tests;
