//! Compares the figures of a record with each other: figures that a run counts in two
//! places must be equal.

use super::types::{CheckStatus, Run, Verification};
use filermark_model::latency::LATENCY_NS_MAX;
use filermark_model::stats::{ComponentStats, PointStats};
use filermark_model::{Latency, NOT_A_SPEC_RESULT, Nanos, Rule, RunPlan};
use filermark_results::figures::is_background;
use filermark_results::record::Outcome;
use filermark_results::search::{Decided, SearchKind, SearchPoint, SearchResult, SearchStep};
use filermark_results::{
    ClientSummary, Phase, PointRecord, RunRecord, Timestamp, fingerprint, hosts_changed,
};
use std::collections::BTreeMap;

/// A window may be longer or shorter than RUN by a tenth and this. The prime refuses other
/// windows.
const WINDOW_MARGIN: Nanos = Nanos::from_secs(1);
/// Maximum number of seconds in a time series.
const SECONDS_MAX: usize = 100_000;
/// Ratio of the bounds of the histogram buckets that are used here.
const BUCKET_RATIO: f64 = 1.05;

pub(super) fn check(run: &Run<'_>, verification: &mut Verification) {
    check_complete(run, verification);
    check_plan(run, verification);
    check_points(run, verification);
    check_search(run, verification);
    for point in &run.record.points {
        if let Some(stats) = &point.stats {
            check_point(run, point, stats, verification);
        }
    }
}

/// Checks that a record is complete.
fn check_complete(run: &Run<'_>, verification: &mut Verification) {
    let mut faults: Vec<String> = run.record.cut.iter().cloned().collect();
    if run.record.end.is_none() {
        faults.push(
            "has no end: the run was cut or is still in progress, or the record was truncated"
                .into(),
        );
    }
    faults.extend(restart_faults(run));
    if run.record.environments.is_empty() && run.record.points.iter().any(|p| p.stats.is_some()) {
        faults.push("has figures, but no line that describes a client host".into());
    }
    for point in run.record.points.iter().filter(|p| p.measured().is_some()) {
        faults.extend(missing_phase(run, point));
    }
    faults.extend(end_fault(run));
    let count = run.record.points.len();
    verification.conclude(
        run.name,
        format!("complete, with {count} load points"),
        faults,
    );
}

/// Faults of a resumed run: it must be resumed by the same version, after its earlier load
/// points, and have the finding `resumed`.
fn restart_faults(run: &Run<'_>) -> Vec<String> {
    let record = &run.record;
    let mut faults = Vec::new();
    let mut before = record.run.started;
    for restart in &record.restarts {
        if restart.version != record.run.version {
            faults.push(format!(
                "was started by version {} and resumed by version {}",
                record.run.version, restart.version
            ));
        }
        let earlier = record.points.iter().take(restart.point_count);
        let last = earlier
            .map(|point| point.ended)
            .fold(before, Timestamp::max);
        let later = record.points.iter().skip(restart.point_count);
        let begins_early = later.clone().any(|point| point.began < restart.at);
        if restart.at < last || begins_early {
            faults.push(format!(
                "was resumed at {}, which does not fit the times of its load points",
                restart.at.readable()
            ));
        }
        before = restart.at;
    }
    faults.extend(host_faults(record));
    let Some(end) = &record.end else {
        return faults;
    };
    let stated: Vec<&str> = (end.findings.iter())
        .filter(|f| f.rule == Rule::Resumed)
        .map(|f| f.message.as_str())
        .collect();
    let pieces = record.pieces();
    if stated != pieces.as_deref().into_iter().collect::<Vec<_>>() {
        faults.push(
            "its first lines do not agree with the finding `resumed`: one of them was changed"
                .into(),
        );
    }
    faults
}

/// Differences between the hosts of a part of a resumed run and those of the part before it.
fn host_faults(record: &RunRecord) -> Vec<String> {
    let hosts = record.restarts.iter().map(|restart| &restart.environments);
    let mut hosts = hosts.chain(std::iter::once(&record.environments));
    let mut earlier = hosts.next();
    let mut faults = Vec::new();
    for now in hosts {
        // A part that was cut before its clients were ready has no hosts.
        let Some(was) = earlier.filter(|_| !now.is_empty()) else {
            continue;
        };
        let changes = match was.is_empty() {
            true => Vec::new(),
            false => hosts_changed(was, now),
        };
        if !changes.is_empty() {
            faults.push(format!(
                "was resumed on other hosts than it was started on: {}",
                changes.join(", ")
            ));
        }
        earlier = Some(now);
    }
    faults
}

/// The first phase that a measured load point lacks.
fn missing_phase(run: &Run<'_>, point: &PointRecord) -> Option<String> {
    // Without a sweep the load point is one of the search, with its phases.
    let mut searched = run.record.search.iter().map(|tried| &tried.point);
    let same = searched.find(|tried| tried.began == point.began);
    let number = same.map_or(point.load.number, |tried| tried.load.number);
    let is_there = |phase: &Phase| {
        let mut phases = run.record.phases.iter();
        phases.any(|p| p.point == number && p.phase == *phase)
    };
    let wanted = [Phase::Init, Phase::Warmup, Phase::Run];
    let missing = wanted.into_iter().find(|phase| !is_there(phase))?;
    Some(format!("load point {number} has no line of its {missing}"))
}

/// Whether the outcome of the run and the finding `interrupted` contradict each other.
fn end_fault(run: &Run<'_>) -> Option<String> {
    let end = run.record.end.as_ref()?;
    let has_finding = end.findings.iter().any(|f| f.rule == Rule::Interrupted);
    let is_interrupted = end.outcome == Outcome::Interrupted;
    (has_finding != is_interrupted).then(|| {
        "its last line does not agree with the finding `interrupted`: one of them was changed"
            .into()
    })
}

fn check_plan(run: &Run<'_>, verification: &mut Verification) {
    let header = &run.record.run;
    let made = fingerprint(&header.plan);
    let mut faults = Vec::new();
    if made != header.fingerprint {
        faults.push(format!(
            "the fingerprint of its plan is {made}, but its header has {}",
            header.fingerprint
        ));
    }
    if header.notice != NOT_A_SPEC_RESULT {
        faults.push("the notice that this is no SPEC result was changed".into());
    }
    verification.conclude(
        run.name,
        format!("the plan has the fingerprint {made}"),
        faults,
    );
}

/// Checks that the load points are those of the plan.
fn check_points(run: &Run<'_>, verification: &mut Verification) {
    let record = &run.record;
    let mut faults = Vec::new();
    for point in &record.points {
        let number = point.load.number;
        match record.run.plan.points.iter().find(|p| p.number == number) {
            Some(planned) if *planned == point.load => {}
            Some(_) => faults.push(format!("load point {number} is not as in the plan")),
            None => faults.push(format!("load point {number} is not in the plan")),
        }
        if point.ended < point.began {
            faults.push(format!("load point {number} ends before it begins"));
        }
    }
    verification.conclude(run.name, "the load points are those of the plan", faults);
}

/// Whether what a search has found is the same; a rate may be rounded in the record.
fn is_same(found: &SearchResult, made: Option<&SearchResult>) -> bool {
    let Some(made) = made else {
        return false;
    };
    let rate = |result: &SearchResult| result.achieved.unwrap_or(0.0);
    let is_near = (rate(found) - rate(made)).abs() <= 1e-6 * rate(found).abs();
    let rounded = SearchResult {
        achieved: found.achieved,
        ..made.clone()
    };
    is_near && *found == rounded
}

/// Checks that a search has tried the loads that follow from its outcomes, and that they and
/// the load that was found follow from its measurements.
fn check_search(run: &Run<'_>, verification: &mut Verification) {
    let record = &run.record;
    let Some(plan) = &record.run.plan.search else {
        return;
    };
    let mut faults = Vec::new();
    for (at, tried) in record.search.iter().enumerate() {
        let number = at + 1;
        let judged = match tried.point.measured() {
            Some(_) => SearchPoint::judged(tried.kind, tried.point.clone(), &record.run.plan, plan),
            None => SearchPoint::too_large(tried.kind, tried.point.clone()),
        };
        let outcome = |p: &SearchPoint| (p.held, p.undecided, p.reason.clone(), p.unjudged.clone());
        if outcome(&judged) != outcome(tried) {
            faults.push(format!(
                "load point {number} of the search does not have the outcome that its figures give"
            ));
        }
        let before = Decided::of(plan, &record.search[..at]);
        let next = before.next_step(plan);
        let (load, is_full) = (tried.load(plan), tried.kind == SearchKind::Confirm);
        let follows = match next {
            SearchStep::Probe(wanted) => !is_full && wanted == load,
            SearchStep::Confirm(wanted) => is_full && wanted == load,
            SearchStep::End(_) => false,
        };
        if !follows {
            faults.push(format!(
                "load point {number} of the search is not the one that follows from those before it"
            ));
        }
    }
    let made = SearchResult::of(plan, &record.search);
    if record
        .found
        .as_ref()
        .is_some_and(|found| !is_same(found, made.as_ref()))
    {
        faults.push("what the search has found does not follow from its load points".into());
    }
    let count = record.search.len();
    let text = format!("the {count} load points of the search give what was found");
    verification.conclude(run.name, text, faults);
}

fn check_point(
    run: &Run<'_>,
    point: &PointRecord,
    stats: &PointStats,
    verification: &mut Verification,
) {
    let plan = &run.record.run.plan;
    let mut faults = Vec::new();
    window(stats, plan, &mut faults);
    operations(stats, &mut faults);
    procs(stats, plan, &mut faults);
    components(stats, plan, &mut faults);
    proc_ops(stats, &mut faults);
    clients(stats, &point.clients, &mut faults);
    seconds(stats, plan, &mut faults);
    let about = format!("{} load point {}", run.name, point.load.number);
    let good = format!(
        "{} operations: histograms, procs, clients and seconds add up",
        stats.success_count()
    );
    verification.conclude(&about, good, faults);
    if stats.procs.is_empty() && stats.success_count() > 0 {
        verification.push(
            CheckStatus::Fail,
            about,
            "has operations, but no procs that made them",
        );
    }
}

fn differ(faults: &mut Vec<String>, what: &str, one: u64, other: u64) {
    if one != other {
        faults.push(format!("{what}: {one} is not {other}"));
    }
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn window(stats: &PointStats, plan: &RunPlan, faults: &mut Vec<String>) {
    let (runtime, longest) = (plan.phases.runtime.0, plan.phases.longest_run().0);
    let apart = stats
        .window_ns
        .abs_diff(stats.window_ns.clamp(runtime, longest));
    let idle = stats.success_count() == 0;
    if apart > (runtime / 10).saturating_add(WINDOW_MARGIN.0) && !idle {
        let most = match longest > runtime {
            true => format!(" to {longest}"),
            false => String::new(),
        };
        faults.push(format!(
            "a measured time of {} ns, but RUN takes {runtime}{most} ns",
            stats.window_ns
        ));
    }
}

fn operations(stats: &PointStats, faults: &mut Vec<String>) {
    for op in &stats.ops {
        let of = |what: &str| format!("{} {what}", op.op);
        let done = op.success_count;
        differ(
            faults,
            &of("successes and service times"),
            done,
            op.service.count(),
        );
        faults.extend(op.response_fault());
        for (kind, latency) in [("service", &op.service), ("response", &op.response)] {
            sum_in_histogram(&of(&format!("{kind} times")), latency, faults);
        }
    }
    sum_in_histogram("wake-ups", &stats.wakeup, faults);
    sum_in_histogram("lateness", &stats.lateness, faults);
    let errors = sum(stats.errors.values().copied());
    differ(
        faults,
        "errors by kind and by operation",
        errors,
        stats.error_count(),
    );
    if stats.lateness.count() != 0 {
        let (late, done) = (stats.lateness.count(), stats.success_count());
        differ(faults, "lateness and successes", late, done);
    }
    if stats.wakeup.count() > stats.lateness.count() {
        faults.push("more wake-ups than operations".into());
    }
}

/// Checks that the exact sums are within the bounds of the histogram.
fn sum_in_histogram(what: &str, latency: &Latency, faults: &mut Vec<String>) {
    let (mut low, mut high, mut before) = (0.0, 0.0, 0.0);
    let (mut low_sq_us, mut high_sq_us) = (0.0, 0.0);
    for (upper, count) in latency.buckets(1, BUCKET_RATIO) {
        let (upper, count) = (upper as f64, count as f64);
        low += before * count;
        high += upper * count;
        low_sq_us += (before / 1e3).powi(2) * count;
        high_sq_us += (upper / 1e3).powi(2) * count;
        before = upper;
    }
    // The resolution of the histogram is a thousandth. 0 counts as 1 ns; values above the
    // maximum count as the maximum.
    let sum = latency.sum_ns() as f64;
    let is_open = latency.max_ns() >= LATENCY_NS_MAX;
    if sum < low * 0.998 - latency.count() as f64 || (sum > high * 1.002 + 1.0 && !is_open) {
        faults.push(format!(
            "{what}: a sum of {sum:.0} ns is impossible; by the histogram it is {low:.0} to {high:.0}"
        ));
    }
    // The bounds of a bucket are inexact for the squares of latencies below a microsecond.
    let squares = latency.sum_sq_us();
    let margin = latency.count() as f64 * 1e-3;
    let fits = squares >= low_sq_us * 0.996 - margin
        && (is_open || squares <= high_sq_us * 1.004 + margin);
    if !fits {
        faults.push(format!(
            "{what}: a sum of squares of {squares:.0} us^2 is impossible; by the histogram it is {low_sq_us:.0} to {high_sq_us:.0}"
        ));
    }
}

fn procs(stats: &PointStats, plan: &RunPlan, faults: &mut Vec<String>) {
    let counts = |proc: u32| {
        let planned = plan.procs.get(proc as usize);
        !planned.is_some_and(|p| is_background(plan, p.component))
    };
    let measured = || stats.procs.iter().filter(|p| counts(p.proc));
    let done = sum(measured().map(|p| p.success_count));
    differ(
        faults,
        "successes of the procs and of the operations",
        done,
        stats.success_count(),
    );
    let failed = sum(measured().map(|p| p.error_count));
    differ(
        faults,
        "errors of the procs and of the operations",
        failed,
        stats.error_count(),
    );
    let took = sum(measured().map(|p| p.service_sum_ns));
    let all = sum(stats.ops.iter().map(|o| o.service.sum_ns()));
    differ(
        faults,
        "service times (ns) of the procs and of the operations",
        took,
        all,
    );
    for proc in &stats.procs {
        let most = u128::from(proc.service_max_ns) * u128::from(proc.success_count);
        if u128::from(proc.service_sum_ns) > most || proc.service_max_ns > proc.service_sum_ns {
            faults.push(format!(
                "proc {}: its longest service time contradicts the sum of its service times",
                proc.proc
            ));
        }
    }
    if stats.procs.windows(2).any(|p| p[0].proc >= p[1].proc) {
        faults.push("a proc is there twice, or out of order".into());
    }
}

/// One of an operation's figures.
type Figure<'a> = &'a dyn Fn(&filermark_model::OpStats) -> u64;

fn components(stats: &PointStats, plan: &RunPlan, faults: &mut Vec<String>) {
    if stats.components.is_empty() {
        return;
    }
    let foreground = || {
        stats
            .components
            .iter()
            .filter(|c| !is_background(plan, c.component))
    };
    for op in &stats.ops {
        let of = |figure: Figure<'_>| {
            let all = foreground().flat_map(|c| &c.ops).filter(|o| o.op == op.op);
            (sum(all.map(figure)), figure(op))
        };
        let figures: [(&str, Figure<'_>); 5] = [
            ("successes", &|o| o.success_count),
            ("errors", &|o| o.error_count),
            ("bytes read", &|o| o.read_bytes),
            ("bytes written", &|o| o.written_bytes),
            ("service times (ns)", &|o| o.service.sum_ns()),
        ];
        for (name, figure) in figures {
            let (parts, whole) = of(figure);
            differ(
                faults,
                &format!("{} {name} of the components and of all", op.op),
                parts,
                whole,
            );
        }
    }
    for component in &stats.components {
        let own = |proc: u32| {
            plan.procs
                .get(proc as usize)
                .is_some_and(|p| p.component == component.component)
        };
        let done = sum(stats
            .procs
            .iter()
            .filter(|p| own(p.proc))
            .map(|p| p.success_count));
        let what = format!(
            "successes of component {} and of its procs",
            component.component
        );
        differ(
            faults,
            &what,
            ComponentStats::success_count(component),
            done,
        );
    }
}

fn proc_ops(stats: &PointStats, faults: &mut Vec<String>) {
    let by_proc: BTreeMap<u32, _> = stats.procs.iter().map(|p| (p.proc, p)).collect();
    for detail in &stats.proc_ops {
        let Some(proc) = by_proc.get(&detail.proc) else {
            faults.push(format!(
                "proc {} has operations, but no figures",
                detail.proc
            ));
            continue;
        };
        let what = |name: &str| format!("proc {}: {name} by operation and of all", detail.proc);
        let done = sum(detail.ops.iter().map(|o| o.success_count));
        differ(faults, &what("successes"), done, proc.success_count);
        let failed = sum(detail.ops.iter().map(|o| o.error_count));
        differ(faults, &what("errors"), failed, proc.error_count);
        let took = sum(detail.ops.iter().map(|o| o.service_sum_ns));
        differ(
            faults,
            &what("service times (ns)"),
            took,
            proc.service_sum_ns,
        );
    }
}

fn clients(stats: &PointStats, clients: &[ClientSummary], faults: &mut Vec<String>) {
    if clients.is_empty() {
        return;
    }
    let all = |figure: &dyn Fn(&ClientSummary) -> u64| sum(clients.iter().map(figure));
    let mut same = |what: &str, parts: u64, whole: u64| {
        differ(
            faults,
            &format!("{what} of the clients and of all"),
            parts,
            whole,
        );
    };
    same(
        "procs",
        all(&|c| u64::from(c.proc_count)),
        stats.procs.len() as u64,
    );
    same(
        "load-making threads",
        all(&|c| u64::from(c.shard_count)),
        u64::from(stats.shard_count),
    );
    same(
        "processor time (ns)",
        all(&|c| c.generator_cpu_ns),
        stats.generator_cpu_ns,
    );
    let window = clients.iter().map(|c| c.window_ns).max().unwrap_or(0);
    same("the length of RUN (ns)", window, stats.window_ns);
    for op in &stats.ops {
        let of = |figure: &dyn Fn(&filermark_results::record::ClientOp) -> u64| {
            let ops = clients
                .iter()
                .flat_map(|c| &c.ops)
                .filter(|o| o.op == op.op);
            sum(ops.map(figure))
        };
        same(
            &format!("{} successes", op.op),
            of(&|o| o.success_count),
            op.success_count,
        );
        same(
            &format!("{} physical", op.op),
            of(&|o| o.physical_count),
            op.physical_count,
        );
        same(
            &format!("{} errors", op.op),
            of(&|o| o.error_count),
            op.error_count,
        );
        same(
            &format!("{} bytes read", op.op),
            of(&|o| o.read_bytes),
            op.read_bytes,
        );
        same(
            &format!("{} bytes written", op.op),
            of(&|o| o.written_bytes),
            op.written_bytes,
        );
    }
    same_names(
        "counter",
        &stats.counters,
        clients.iter().map(|c| &c.counters),
        faults,
    );
    same_names(
        "error",
        &stats.errors,
        clients.iter().map(|c| &c.errors),
        faults,
    );
    client_means(stats, clients, faults);
}

fn same_names<'a>(
    kind: &str,
    whole: &BTreeMap<String, u64>,
    parts: impl Iterator<Item = &'a BTreeMap<String, u64>>,
    faults: &mut Vec<String>,
) {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, n) in parts.flatten() {
        let sum = sums.entry(name).or_default();
        *sum = sum.saturating_add(*n);
    }
    for (name, n) in whole {
        let parts = sums.remove(name.as_str()).unwrap_or(0);
        differ(
            faults,
            &format!("{kind} \"{name}\" of the clients and of all"),
            parts,
            *n,
        );
    }
    faults.extend(
        sums.keys()
            .map(|name| format!("{kind} \"{name}\" of a client is not in the sum")),
    );
}

/// Checks that the clients' mean service times, weighted by their counts, give the mean of
/// all.
fn client_means(stats: &PointStats, clients: &[ClientSummary], faults: &mut Vec<String>) {
    for op in &stats.ops {
        let ops = clients
            .iter()
            .flat_map(|c| &c.ops)
            .filter(|o| o.op == op.op);
        let parts: f64 = ops
            .map(|o| o.service_ns_mean * o.success_count as f64)
            .sum();
        let whole = op.service.sum_ns() as f64;
        if (parts - whole).abs() > whole * 1e-9 + 1.0 {
            faults.push(format!(
                "{} service times (ns) of the clients and of all: {parts:.0} is not {whole:.0}",
                op.op
            ));
        }
    }
}

/// Checks that the time series has the same operations. The procs of a mounted file system
/// pass their operations on one by one: one per proc at either end of RUN may be counted in
/// only one of the two. Where the counts agree, the operations are the same.
fn seconds(stats: &PointStats, plan: &RunPlan, faults: &mut Vec<String>) {
    if stats.intervals.len() >= SECONDS_MAX {
        return;
    }
    let run = || stats.intervals.iter().filter(|i| i.second >= 0);
    let edge = match plan.benchmark.composite() {
        Some(_) => 2 * stats.procs.len() as u64,
        None => 0,
    };
    let ops = &stats.ops;
    let counts = [
        (
            "successes",
            sum(run().map(|i| i.success_count)),
            stats.success_count(),
        ),
        (
            "errors",
            sum(run().map(|i| i.error_count)),
            stats.error_count(),
        ),
    ];
    let sums = [
        (
            "bytes read",
            sum(run().map(|i| i.read_bytes)),
            sum(ops.iter().map(|o| o.read_bytes)),
        ),
        (
            "bytes written",
            sum(run().map(|i| i.written_bytes)),
            sum(ops.iter().map(|o| o.written_bytes)),
        ),
        (
            "service times (ns)",
            sum(run().map(|i| i.service_sum_ns)),
            sum(ops.iter().map(|o| o.service.sum_ns())),
        ),
    ];
    let same = counts.iter().all(|(_, series, whole)| series == whole);
    let edges = counts.iter().map(|c| (c, edge));
    for ((what, series, whole), edge) in edges.chain(sums.iter().filter(|_| same).map(|s| (s, 0))) {
        if series.abs_diff(*whole) > edge {
            faults.push(format!(
                "{what} by second and of all: {series} is not {whole}"
            ));
        }
    }
    let longest = run().map(|i| i.response_max_ns).max().unwrap_or(0) as f64;
    let all = ops.iter().map(|o| o.response.max_ns()).max().unwrap_or(0) as f64;
    let is_open = all >= LATENCY_NS_MAX as f64;
    // The series has operations that ended in RUN, the response times those intended in RUN.
    let is_one_set = ops
        .iter()
        .all(|o| o.early_count + o.late_count + o.response.at_least_count() == 0);
    if same && is_one_set && !is_open && (longest - all).abs() > all * 0.002 + 1.0 {
        faults.push(format!(
            "longest response time (ns) by second and of all: {longest} is not {all}"
        ));
    }
    for second in &stats.intervals {
        let slots = sum(second.service_log2_us.iter().map(|n| u64::from(*n)));
        if slots != second.success_count {
            faults.push(format!(
                "second {}: {} successes and {slots} service times",
                second.second, second.success_count
            ));
        }
        let responses = (second.responses.success_count(), second.responses.sum_ns());
        let wanted = (second.success_count, second.response_sum_ns);
        // Records of older versions have none.
        if !second.responses.is_empty() && responses != wanted {
            faults.push(format!(
                "second {}: {} successes with response times of {} ns, and by bucket {} of {} ns",
                second.second, wanted.0, wanted.1, responses.0, responses.1
            ));
        }
    }
}
