//! Whether an agent's figures are possible: of its own procs, each once, of a window as
//! long as RUN. The prime checks the figures of all agents.

use filermark_model::client_reads::ClientReads;
use filermark_model::stall::Stalls;
use filermark_model::stats::Interval;
use filermark_model::{Nanos, PointStats, RunPlan};
use std::collections::BTreeSet;

/// How much longer or shorter than RUN a window may be: a tenth, and this.
const WINDOW_MARGIN: Nanos = Nanos::from_secs(1);
/// How long after RUN operations may end.
const TAIL: Nanos = Nanos::from_secs(900);

/// Processors that a host may have.
const CORES_MAX: u64 = 1 << 16;
/// Longest that a host may have been suspended.
const SUSPENDED_MAX: Nanos = Nanos::from_secs(366 * 86_400);

/// What is impossible in a client's figures of a RUN of this length; `None`: nothing.
pub(crate) fn implausible(
    plan: &RunPlan,
    client: usize,
    stats: &PointStats,
    runtime: Nanos,
) -> Option<String> {
    let runtime = runtime.0;
    let idle = stats.procs.is_empty() && stats.success_count() == 0;
    let apart = stats.window_ns.abs_diff(runtime);
    if apart > runtime / 10 + WINDOW_MARGIN.0 && !(idle && stats.window_ns == 0) {
        return Some(format!(
            "a measured time of {} ns, where RUN has {runtime} ns",
            stats.window_ns
        ));
    }
    if let Some(foreign) = stats
        .procs
        .iter()
        .find(|p| owner(plan, p.proc) != Some(client))
    {
        return Some(format!("proc {}, which is not its own", foreign.proc));
    }
    if stats.procs.windows(2).any(|p| p[0].proc >= p[1].proc) {
        return Some("a proc twice, or procs out of order".into());
    }
    let components = stats.components.iter().flat_map(|c| &c.ops);
    if let Some(fault) = stats
        .ops
        .iter()
        .chain(components)
        .find_map(|o| o.response_fault())
    {
        return Some(fault);
    }
    let silent_ns = stats
        .silence
        .map_or(0, |s| s.start_ns.saturating_add(s.length_ns));
    if silent_ns > stats.window_ns.saturating_add(WINDOW_MARGIN.0) {
        return Some("a time without replies beyond the end of RUN".into());
    }
    let strange = stats.intervals.iter().find(|i| !is_plausible(plan, i));
    strange.map(|i| format!("second {} of RUN", i.second))
}

/// Which length of WARMUP or RUN at a client is outside of what the plan allows.
pub(crate) fn implausible_lengths(plan: &RunPlan, warmup: Nanos, runtime: Nanos) -> Option<String> {
    let phases = &plan.phases;
    let shortest_warmup = match phases.warmup_until_steady {
        true => Nanos::ZERO,
        false => phases.warmup,
    };
    let outside = |what: &str, had: Nanos, least: Nanos, most: Nanos| {
        (!(least..=most).contains(&had)).then(|| {
            format!(
                "a {what} of {} ns, where the plan allows {} to {} ns",
                had.0, least.0, most.0
            )
        })
    };
    outside("WARMUP", warmup, shortest_warmup, phases.warmup)
        .or_else(|| outside("RUN", runtime, phases.runtime, phases.longest_run()))
}

/// What is impossible in the stalls that a process reports.
pub(crate) fn implausible_stalls(plan: &RunPlan, stalls: &Stalls) -> Option<String> {
    let watched = (plan.phases.longest_run() + TAIL).0;
    let awake_ns = stalls.gap_sum_ns.checked_sub(stalls.suspended_ns);
    let all_cores = watched.saturating_mul(CORES_MAX);
    let impossible = match awake_ns {
        None => "a suspension longer than all gaps",
        Some(ns) if ns > watched => "gaps longer than RUN",
        _ if stalls.gap_max_ns > stalls.gap_sum_ns => "a gap longer than all of them",
        _ if (stalls.gap_count == 0) != (stalls.gap_sum_ns == 0) => "gaps without a length",
        _ if stalls.suspended_ns > SUSPENDED_MAX.0 => "a suspension of years",
        _ if stalls.stolen_ns.is_some_and(|ns| ns > all_cores) => "stolen time",
        _ if stalls.throttled_ns.is_some_and(|ns| ns > all_cores) => "throttled time",
        _ => return None,
    };
    Some(impossible.to_owned())
}

/// Longest name of a counter or of a file system's type, in bytes.
const NAME_MAX: usize = 256;

/// What is impossible in a client's report of where its bytes came from. It may report its
/// own mount points only, each once.
pub(crate) fn implausible_reads(
    plan: &RunPlan,
    client: usize,
    reads: &[ClientReads],
) -> Option<String> {
    let mounts = plan.clients.get(client).map_or(&[][..], |c| &c.mounts[..]);
    let own: BTreeSet<String> = mounts.iter().map(ToString::to_string).collect();
    if reads.iter().any(|r| r.mounts.is_empty()) {
        return Some("bytes read at no mount point".to_owned());
    }
    let is_strange = |word: &str| word.len() > NAME_MAX || word.chars().any(char::is_control);
    let words = |r: &ClientReads| is_strange(&r.source) || is_strange(&r.file_system);
    if reads.iter().any(words) {
        return Some("a counter or file system with an invalid name".to_owned());
    }
    let mut seen = BTreeSet::new();
    let strange = reads.iter().flat_map(|r| &r.mounts);
    let mut strange = strange.filter(|m| !own.contains(*m) || !seen.insert(*m));
    let mount = strange.next()?;
    Some(format!("bytes read at {mount}, which is not its own"))
}

/// Whether a second lies in WARMUP and RUN, or a little after.
pub(crate) fn is_plausible(plan: &RunPlan, interval: &Interval) -> bool {
    let seconds = |span: Nanos| (span.0 / 1_000_000_000) as i64 + 2;
    let from = -seconds(plan.phases.warmup);
    let to = seconds(plan.phases.longest_run() + TAIL);
    (from..=to).contains(&interval.second)
}

/// The client that a proc is on.
fn owner(plan: &RunPlan, proc: u32) -> Option<usize> {
    match plan.procs.is_empty() {
        true => (proc < plan.proc_count()).then(|| (proc / plan.procs_per_client.max(1)) as usize),
        false => plan.procs.get(proc as usize).map(|p| p.client as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::stats::ProcStats;

    #[test]
    fn bytes_of_mount_points_of_other_clients_are_refused() {
        use filermark_model::client_reads::ReadCounter;
        let plan = filermark_results::testing::plan();
        let own = plan.clients[0].mounts[0].to_string();
        let reads = |mounts: &[&String]| ClientReads {
            client: String::new(),
            mounts: mounts.iter().map(ToString::to_string).collect(),
            file_system: "nfs".into(),
            counter: ReadCounter::Nfs,
            read_bytes: u64::MAX,
            fetched_bytes: None,
            source: String::new(),
            unknown: None,
        };
        let refusal = |reads: &[ClientReads]| implausible_reads(&plan, 0, reads);
        assert_eq!(refusal(&[reads(&[&own])]), None);
        assert!(
            refusal(&[reads(&[&own]), reads(&[&own])]).is_some(),
            "twice"
        );
        assert!(refusal(&[reads(&[&"h:/other".to_owned()])]).is_some());
        assert!(refusal(&[reads(&[])]).is_some(), "at no mount point");
        let mut strange = reads(&[&own]);
        strange.source = "\u{1b}[2J".into();
        assert!(refusal(&[strange]).is_some());
    }

    #[test]
    fn impossible_stalls_are_refused() {
        let plan = filermark_results::testing::plan();
        let good = Stalls {
            gap_count: 2,
            gap_sum_ns: 3_000_000_000,
            gap_max_ns: 2_000_000_000,
            suspended_ns: 1_000_000_000,
            stolen_ns: Some(5),
            ..Stalls::default()
        };
        assert_eq!(implausible_stalls(&plan, &good), None);
        assert_eq!(implausible_stalls(&plan, &Stalls::default()), None);
        let asleep = Stalls {
            gap_sum_ns: u64::MAX / 2,
            suspended_ns: u64::MAX / 2,
            ..good
        };
        let changed: [fn(&mut Stalls); 6] = [
            |s| s.gap_sum_ns = u64::MAX,
            |s| s.gap_max_ns = u64::MAX,
            |s| s.suspended_ns = u64::MAX,
            |s| s.gap_count = 0,
            |s| s.stolen_ns = Some(u64::MAX),
            |s| s.throttled_ns = Some(u64::MAX),
        ];
        for (at, change) in changed.iter().enumerate() {
            let mut stalls = good;
            change(&mut stalls);
            assert!(implausible_stalls(&plan, &stalls).is_some(), "{at}");
        }
        assert!(implausible_stalls(&plan, &asleep).is_some());
    }

    #[test]
    fn lengths_of_phases_that_the_plan_does_not_allow_are_refused() {
        let seconds = Nanos::from_secs;
        let mut plan = filermark_results::testing::plan();
        (plan.phases.warmup, plan.phases.runtime) = (seconds(60), seconds(300));
        let refusal = |plan: &RunPlan, warmup, runtime| {
            implausible_lengths(plan, seconds(warmup), seconds(runtime)).unwrap_or_default()
        };
        assert_eq!(refusal(&plan, 60, 300), "");
        assert!(refusal(&plan, 59, 300).starts_with("a WARMUP of 59000000000 ns"));
        assert!(refusal(&plan, 60, 301).starts_with("a RUN of 301000000000 ns"));
        plan.phases.warmup_until_steady = true;
        plan.phases.runtime_max = Some(seconds(900));
        assert_eq!(refusal(&plan, 31, 899), "");
        for (warmup, runtime, what) in [(61, 300, "WARMUP"), (60, 299, "RUN"), (60, 901, "RUN")] {
            assert!(
                refusal(&plan, warmup, runtime).contains(what),
                "{warmup} {runtime}"
            );
        }
    }

    #[test]
    fn impossible_figures_are_refused() {
        let plan = filermark_results::testing::plan();
        let own = plan.procs_per_client;
        let proc = |proc| ProcStats {
            proc,
            ..ProcStats::default()
        };
        let good = PointStats {
            window_ns: plan.phases.runtime.0,
            procs: (own..2 * own).map(proc).collect(),
            intervals: vec![Interval::default()],
            ..PointStats::default()
        };
        assert_eq!(implausible(&plan, 1, &good, plan.phases.runtime), None);
        assert_eq!(
            implausible(&plan, 1, &PointStats::default(), plan.phases.runtime),
            None,
            "no procs"
        );
        let refusal = |change: &dyn Fn(&mut PointStats)| {
            let mut stats = good.clone();
            change(&mut stats);
            implausible(&plan, 1, &stats, plan.phases.runtime).expect("impossible")
        };
        assert!(refusal(&|s| s.window_ns = 0).contains("measured time of 0 ns"));
        assert!(refusal(&|s| s.window_ns = 1 << 63).contains("measured time"));
        assert!(refusal(&|s| s.procs[0].proc = 0).contains("proc 0, which is not its own"));
        assert!(refusal(&|s| s.procs[0].proc = u32::MAX).contains("not its own"));
        assert!(refusal(&|s| s.procs[1].proc = own).contains("twice"));
        let op = |change: fn(&mut filermark_model::OpStats)| {
            refusal(&|s| change(s.op_mut(filermark_model::Op::Read)))
        };
        assert!(op(|o| o.open_count = u64::MAX).contains("0 lower bounds"));
        assert!(op(|o| o.late_count = u64::MAX).contains("ended after it"));
        assert!(op(|o| o.early_count = 1).contains("intended before RUN"));
        assert!(op(|o| o.success_count = 1).contains("0 response times"));
        let silence = |start_ns, length_ns| {
            refusal(&|s| {
                s.silence = Some(filermark_model::silence::Silence {
                    start_ns,
                    length_ns,
                });
            })
        };
        assert!(silence(0, 1 << 62).contains("beyond the end of RUN"));
        assert!(silence(u64::MAX, u64::MAX).contains("beyond the end of RUN"));
        assert!(refusal(&|s| s.intervals[0].second = i64::MIN).contains("second -9"));
        assert!(refusal(&|s| s.intervals[0].second = i64::MAX).contains("second 9"));
    }
}
