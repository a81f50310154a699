//! Decides whether a load point counts: small rules, each with its figure, its
//! limit and the source of the limit.
//!
//! A rule reads the measurements and the plan and returns findings or nothing. Rules
//! do not depend on each other. All rules are explained in
//! `docs/src/reference/rules.md`.

mod case;
mod client_cache;
mod composite;
mod data;
mod grants;
mod mix;
pub(crate) mod rate;
mod response;
mod saturated;
mod silent;
mod slots;
mod stable;
mod stalled;

pub use client_cache::judge_client_reads;
pub use rate::settle_rate;
pub use silent::judge_silences;
pub use stalled::judge_stalls;

use crate::figures::is_background;
use crate::steadiness::{self, Change};
use case::{Case, OWN, PROC_EDGE_OPS, percent_of};
use filermark_model::plan::{LoadPoint, RunPlan};
use filermark_model::stats::{ComponentStats, PointStats, ProcStats};
use filermark_model::units::counted;
use filermark_model::{Finding, Rule, Severity};
use mix::mix_distance;

/// Median delay of the generator's wake-ups above which there is a finding, in ms.
const WAKEUP_MS_P50_MAX: f64 = 0.1;
/// The same limit for the 99th percentile, in ms.
const WAKEUP_MS_P99_MAX: f64 = 1.0;
/// Share of its processors that the generator may use, in percent.
const GENERATOR_PCNT_MAX: f64 = 85.0;
/// Shortest window for stable figures, in seconds.
const WINDOW_SECONDS_MIN: f64 = 30.0;
/// Fewest operations for stable figures.
const OPS_MIN: f64 = 1_000.0;
/// Kinds of errors that a finding names.
const ERRORS_NAMED: usize = 3;

/// The findings of all rules on a measured load point.
///
/// `core_count` are the processors of all client hosts together
/// ([`crate::Environment::core_count`]); zero: unknown.
pub fn judge(stats: &PointStats, load: LoadPoint, plan: &RunPlan, core_count: u32) -> Vec<Finding> {
    let case = Case {
        stats,
        load,
        plan,
        core_count,
    };
    let rules: &[fn(&Case<'_>) -> Option<Finding>] = &[
        data::verify,
        data::lost,
        data::unchecked,
        stable::uncommitted,
        stable::no_commit_in_run,
        errors,
        response_limit,
        rate::nothing_measured,
        background,
        rate::achieved,
        proc_rate,
        mix_deviation,
        composite::component_variance,
        composite::data_touched,
        composite::random_reads,
        saturated::saturated,
        response::open_operations,
        response::missed_load,
        lateness,
        generator_busy,
        unsteady,
        slots::waits,
        slots::window_waits,
        grants::layouts,
        grants::delegations,
    ];
    let mut findings: Vec<Finding> = rules.iter().filter_map(|rule| rule(&case)).collect();
    findings.extend(counter_findings(&case));
    findings.extend(short_run(&case));
    findings
}

fn response_limit(case: &Case<'_>) -> Option<Finding> {
    let limit = case.plan.limits.response_ms;
    let mean_ms = case.stats.service().mean_ns() / 1e6;
    (limit > 0.0 && mean_ms > limit).then(|| {
        let message =
            format!("the mean service time is {mean_ms:.1} ms, above the limit of {limit} ms");
        let standard = case.plan.benchmark.standard.response_limit_ms;
        let source = case.source("RESPONSE_LIMIT_MS", limit, standard);
        Finding::new(Rule::ResponseLimit, Severity::Invalid, message)
            .with_limit(mean_ms, limit, &source)
    })
}

/// Background components are in no figure; this checks that they did their part.
fn background(case: &Case<'_>) -> Option<Finding> {
    let work = case.plan.benchmark.composite()?;
    let failed = |c: &&ComponentStats| {
        let component = work.components.get(c.component as usize);
        let errors: u64 = c.ops.iter().map(|o| o.error_count).sum();
        let done = c.success_count();
        let least = c.wanted_count as f64 * case.plan.limits.proc_pcnt_min / 100.0;
        component.is_some_and(|c| c.workload.attributes.background)
            && (errors > 0 || (done as f64) < least || done == 0)
    };
    let c = case.stats.components.iter().find(failed)?;
    let name = &work.components.get(c.component as usize)?.workload.name;
    let errors: u64 = c.ops.iter().map(|o| o.error_count).sum();
    let message = format!(
        "the background workload {name} completed {} of {} planned operations; {errors} failed: the background load was not that of the benchmark",
        c.success_count(),
        c.wanted_count
    );
    Some(Finding::new(Rule::Errors, Severity::Warning, message))
}

/// The planned operations of one proc in the window; 0: no limit, or nothing that counts.
fn wanted_of(case: &Case<'_>, proc: &ProcStats) -> f64 {
    let planned = case.plan.procs.get(proc.proc as usize);
    if planned.is_some_and(|p| is_background(case.plan, p.component)) {
        return 0.0;
    }
    match case.plan.rate_of_proc(proc.proc, case.load) {
        None => 0.0,
        Some(rate) if proc.wanted_count == 0 => rate.0 * case.window_seconds(),
        Some(_) => proc.wanted_count as f64,
    }
}

fn proc_rate(case: &Case<'_>) -> Option<Finding> {
    let limit = case.plan.limits.proc_pcnt_min;
    let mut short_count = 0u32;
    let mut worst: Option<(f64, &ProcStats)> = None;
    for proc in &case.stats.procs {
        let wanted = wanted_of(case, proc);
        let pcnt = percent_of(proc.success_count as f64, wanted);
        if pcnt < limit && wanted - proc.success_count as f64 > PROC_EDGE_OPS {
            short_count += 1;
            if worst.is_none_or(|(least, _)| pcnt < least) {
                worst = Some((pcnt, proc));
            }
        }
    }
    let (pcnt, proc) = worst?;
    let message = format!(
        "{short_count} of {} procs got less than {limit} % of their own rate; the worst is proc {} with {} of {:.0} operations, {pcnt:.1} %",
        case.stats.procs.len(),
        proc.proc,
        proc.success_count,
        wanted_of(case, proc),
    );
    let standard = case.plan.benchmark.standard.proc_pcnt_min;
    let source = case.source("PROC_PCNT_MIN", limit, standard);
    let finding = Finding::new(Rule::ProcRate, Severity::Invalid, message);
    Some(finding.with_limit(pcnt, limit, &source))
}

/// The operation whose share differs most from the mix; of a composite, among the
/// components that count, each compared with its own mix.
fn mix_deviation(case: &Case<'_>) -> Option<Finding> {
    match case.plan.benchmark.composite() {
        Some(work) => composite::mix_deviation(case, work),
        None => mix_distance(case, "", &case.plan.benchmark.mix, &case.stats.ops),
    }
}

fn errors(case: &Case<'_>) -> Option<Finding> {
    let late = case.stats.late_error_count();
    let failed = case.stats.error_count().saturating_add(late);
    let tried = failed.saturating_add(case.stats.success_count());
    let pcnt = percent_of(failed as f64, tried as f64);
    let (warn, void) = (
        case.plan.benchmark.standard.error_pcnt_max,
        case.plan.limits.error_pcnt_max,
    );
    let (severity, limit) = match (pcnt > void, pcnt > warn) {
        (true, _) => (Severity::Invalid, void),
        (false, true) => (Severity::Warning, warn),
        (false, false) => return None,
    };
    let mut kinds: Vec<(&String, &u64)> = case.stats.errors.iter().collect();
    kinds.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let mut named: Vec<String> = kinds
        .iter()
        .take(ERRORS_NAMED)
        .map(|(kind, n)| format!("{kind} ({n}×)"))
        .collect();
    if kinds.len() > ERRORS_NAMED {
        named.push(format!("{} other kinds", kinds.len() - ERRORS_NAMED));
    }
    if late > 0 {
        named.push(format!("{late} after RUN had ended"));
    }
    let list = if named.is_empty() {
        String::new()
    } else {
        format!(": {}", named.join(", "))
    };
    let message = format!("{failed} of {tried} operations failed, {pcnt:.3} %{list}");
    let standard = case.plan.benchmark.standard.error_pcnt_invalid;
    let source = match severity {
        Severity::Invalid => case.source("ERROR_PCNT_MAX", void, standard),
        _ => case.source("ERROR_PCNT_MAX", warn, warn),
    };
    Some(Finding::new(Rule::Errors, severity, message).with_limit(pcnt, limit, &source))
}

fn lateness(case: &Case<'_>) -> Option<Finding> {
    let ms = |percentile| case.stats.wakeup.percentile_ns(percentile) as f64 / 1e6;
    let (which, value, limit) = if ms(99.0) > WAKEUP_MS_P99_MAX {
        ("the 99th percentile", ms(99.0), WAKEUP_MS_P99_MAX)
    } else if ms(50.0) > WAKEUP_MS_P50_MAX {
        ("the median", ms(50.0), WAKEUP_MS_P50_MAX)
    } else {
        return None;
    };
    let message = format!(
        "the load generator started operations late: {which} of the delay is {value:.3} ms (limit {limit} ms); response times include this delay, service times do not"
    );
    Some(Finding::new(Rule::Lateness, Severity::Warning, message).with_limit(value, limit, OWN))
}

fn generator_busy(case: &Case<'_>) -> Option<Finding> {
    let shards = case.stats.shard_count;
    let processors = match case.core_count {
        0 => shards,
        cores => shards.min(cores),
    };
    let offered_ns = case.stats.window_ns as f64 * f64::from(processors);
    let pcnt = percent_of(case.stats.generator_cpu_ns as f64, offered_ns);
    (pcnt > GENERATOR_PCNT_MAX).then(|| {
        let message = format!(
            "the load generator used {pcnt:.0} % of the time of {}; above {GENERATOR_PCNT_MAX} % the client may limit the figures, not the server",
            counted(u64::from(processors), "processor")
        );
        Finding::new(Rule::GeneratorBusy, Severity::Warning, message)
            .with_limit(pcnt, GENERATOR_PCNT_MAX, OWN)
    })
}

/// A trend over RUN, or thirds that differ: the figures depend on the time of measurement.
fn unsteady(case: &Case<'_>) -> Option<Finding> {
    let found = steadiness::of_point(case.stats);
    let real = |change: Option<Change>| change.filter(Change::is_real);
    let (rate, response) = (real(found.rate), real(found.response));
    let of_rate = rate.map(|c| {
        let (first, last) = c.means;
        change_text(
            "the rate",
            c,
            format!("from {first:.1} op/s in the first third of RUN to {last:.1} op/s in the last"),
        )
    });
    let of_response = response.map(|c| {
        let (first, last) = (c.means.0 / 1e6, c.means.1 / 1e6);
        change_text(
            "the mean response time",
            c,
            format!("from {first:.3} ms in the first third of RUN to {last:.3} ms in the last"),
        )
    });
    let changes: Vec<String> = of_rate.into_iter().chain(of_response).collect();
    if changes.is_empty() {
        return None;
    }
    let sizes = [rate, response].into_iter().flatten();
    let largest = sizes.map(|c| c.size().abs()).fold(0.0, f64::max);
    let message = format!(
        "{}: the figures depend on the length of RUN; raise WARMUP_TIME, or check the activity of the server during RUN",
        changes.join("; ")
    );
    let limit = 100.0 * steadiness::TREND_MAX;
    Some(
        Finding::new(Rule::Unsteady, Severity::Warning, message).with_limit(
            100.0 * largest,
            limit,
            OWN,
        ),
    )
}

/// A change in words. The means of the thirds are left out where single seconds move them against
/// the slope.
fn change_text(what: &str, change: Change, means: String) -> String {
    let size = change.size();
    let moved = if size < 0.0 { "fell" } else { "rose" };
    let agree = size.signum() == change.thirds.signum();
    let from = if agree {
        means
    } else {
        "by its median slope over RUN".into()
    };
    format!("{what} {moved} by {:.1} %, {from}", 100.0 * size.abs())
}

/// A finding for each counter that is above zero and whose declaration has a finding.
fn counter_findings<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Finding> + 'a {
    let counters = case.plan.driver.counters().iter();
    counters.filter_map(|counter| {
        let (n, leads_to) = (case.count(counter.name), counter.finding?);
        let message = format!("{} = {n}: {}", counter.name, leads_to.message);
        let finding = Finding::new(leads_to.rule, leads_to.severity, message);
        (n > 0).then(|| finding.with_limit(n as f64, 0.0, OWN))
    })
}

fn short_run(case: &Case<'_>) -> Option<Finding> {
    let seconds = case.window_seconds();
    let ops = case.stats.success_count() as f64;
    let (message, value, limit) = if seconds < WINDOW_SECONDS_MIN {
        let message = format!(
            "RUN was {seconds:.1} s long; below {WINDOW_SECONDS_MIN:.0} s figures vary a lot between runs"
        );
        (message, seconds, WINDOW_SECONDS_MIN)
    } else if ops < OPS_MIN {
        let message = format!(
            "only {} measured; below {OPS_MIN:.0} figures vary a lot between runs",
            counted(ops as u64, "operation")
        );
        (message, ops, OPS_MIN)
    } else {
        return None;
    };
    Some(Finding::new(Rule::ShortRun, Severity::Note, message).with_limit(value, limit, OWN))
}

#[cfg(test)]
mod tests;
