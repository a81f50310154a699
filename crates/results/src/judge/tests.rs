use super::*;
use crate::record::is_valid;
use crate::testing::{plan, quiet_point};
use filermark_model::benchmark::{CommitPolicy, Deferral};
use filermark_model::counter::{EARLY_EOFS, VERIFY_ERRORS};
use filermark_model::plan::{
    DelegationUse, DriverPlan, LayoutUse, Limits, NfsPlan, PacingMode, PosixPlan,
};
use filermark_model::stats::Interval;
use filermark_model::{Nanos, Op, OpsPerSec};

const LOAD: LoadPoint = LoadPoint {
    number: 1,
    entered: OpsPerSec(1000.0),
    requested: OpsPerSec(1000.0),
    units: 0.0,
    proc_count: 0,
};

fn rules_of(stats: &PointStats, plan: &RunPlan) -> Vec<(Rule, Severity)> {
    judge(stats, LOAD, plan, 4)
        .iter()
        .map(|f| {
            assert!(f.value.is_some() && f.limit.is_some() && f.source.is_some());
            (f.rule, f.severity)
        })
        .collect()
}

/// The findings on a quiet point after a change.
fn after(change: impl FnOnce(&mut PointStats, &mut RunPlan)) -> Vec<(Rule, Severity)> {
    let (mut stats, mut plan) = (quiet_point(1000.0, 30), plan());
    change(&mut stats, &mut plan);
    rules_of(&stats, &plan)
}

#[test]
fn a_quiet_point_has_no_findings() {
    assert_eq!(after(|_, _| {}), []);
    assert!(is_valid(&[]));
}

#[test]
fn slow_answers_invalidate() {
    let found = after(|_, plan| plan.limits.response_ms = 0.2);
    assert_eq!(found, [(Rule::ResponseLimit, Severity::Invalid)]);
    let (stats, mut plan) = (quiet_point(1000.0, 30), plan());
    plan.limits = Limits {
        response_ms: 0.2,
        ..plan.limits
    };
    let findings = judge(&stats, LOAD, &plan, 4);
    assert!(!is_valid(&findings));
    assert_eq!(
        findings[0].source.as_deref(),
        Some("RESPONSE_LIMIT_MS of this run")
    );
}

/// With a composite, and a record older than the severity in the definitions.
#[test]
fn too_few_operations_invalidate() {
    let found = after(|stats, plan| {
        stats.window_ns = stats.window_ns * 100 / 94;
        plan.benchmark.standard.achieved_severity = Severity::Invalid;
    });
    assert_eq!(found, [(Rule::AchievedRate, Severity::Invalid)]);
    // Without an achieved operation nothing counts.
    let found = after(|stats, _| stats.ops.clear());
    assert!(found.contains(&(Rule::AchievedRate, Severity::Invalid)));
    assert_eq!(
        after(|stats, _| stats.window_ns = stats.window_ns * 100 / 96),
        []
    );
}

#[test]
fn too_few_operations_warn_in_classical_benchmarks() {
    let short = |stats: &mut PointStats| stats.window_ns = stats.window_ns * 100 / 94;
    let found = after(|stats, _| short(stats));
    assert_eq!(found, [(Rule::AchievedRate, Severity::Warning)]);
    // With open pacing, and with a stricter limit of the run, it is invalid.
    for change in [
        (|plan: &mut RunPlan| plan.pacing.mode = PacingMode::Open) as fn(&mut RunPlan),
        |plan| plan.limits.achieved_pcnt_min = 97.0,
    ] {
        let found = after(|stats, plan| {
            short(stats);
            change(plan);
        });
        assert!(found.contains(&(Rule::AchievedRate, Severity::Invalid)));
    }
}

#[test]
fn the_worst_proc_is_named() {
    let (mut stats, plan) = (quiet_point(1000.0, 30), plan());
    stats.procs[3].success_count /= 2;
    stats.procs[5].success_count /= 4;
    let findings = judge(&stats, LOAD, &plan, 4);
    assert_eq!(findings[0].rule, Rule::ProcRate);
    assert!(findings[0].message.contains("proc 5 "), "{}", findings[0]);
    assert!(findings[0].message.starts_with("2 of "), "{}", findings[0]);
    // Two operations at the edges of the window are tolerated.
    for proc in &mut stats.procs {
        (proc.wanted_count, proc.success_count) = (3, 1);
    }
    assert_eq!(rules_of(&stats, &plan), []);
}

#[test]
fn a_shifted_mix_invalidates_unless_chance_explains_it() {
    let found = after(|stats, _| stats.op_mut(Op::Read).success_count += 1_000);
    assert_eq!(found, [(Rule::MixDeviation, Severity::Invalid)]);
    // 26 % of 100 operations, give or take 17 by chance.
    let found = after(|stats, _| {
        for op in &mut stats.ops {
            op.success_count = op.success_count * 100 / 30_000;
        }
        stats.op_mut(Op::Getattr).success_count += 5;
        stats.window_ns /= 300;
    });
    assert!(
        found.contains(&(Rule::MixDeviation, Severity::Note)),
        "{found:?}"
    );
    let found = after(|stats, _| stats.op_mut(Op::Mknod).success_count = 1_000);
    assert_eq!(found, [(Rule::MixDeviation, Severity::Invalid)]);
}

#[test]
fn errors_warn_and_many_invalidate() {
    let fail = |n: u64| {
        move |stats: &mut PointStats, _: &mut RunPlan| {
            stats.op_mut(Op::Write).error_count = n;
            stats.errors.insert("write: NFS3ERR_NOSPC".into(), n);
        }
    };
    assert_eq!(after(fail(3)), [(Rule::Errors, Severity::Warning)]);
    assert_eq!(after(fail(600)), [(Rule::Errors, Severity::Invalid)]);
    let (mut stats, mut p) = (quiet_point(1000.0, 30), plan());
    fail(3)(&mut stats, &mut p);
    let findings = judge(&stats, LOAD, &p, 4);
    assert!(
        findings[0].message.contains("write: NFS3ERR_NOSPC (3×)"),
        "{}",
        findings[0]
    );
}

#[test]
fn open_pacing_reports_saturation() {
    let wait = |stats: &mut PointStats| stats.backlog_end = 501;
    assert_eq!(after(|stats, _| wait(stats)), []);
    let found = after(|stats, plan| {
        wait(stats);
        plan.pacing.mode = PacingMode::Open;
    });
    assert_eq!(found, [(Rule::Saturated, Severity::Invalid)]);
    let found = after(|stats, plan| {
        stats.dropped_count = 1;
        plan.pacing.mode = PacingMode::Open;
    });
    assert_eq!(found, [(Rule::Saturated, Severity::Invalid)]);
}

#[test]
fn a_late_or_busy_generator_is_reported() {
    let found = after(|stats, _| {
        for _ in 0..40_000 {
            stats.wakeup.record(Nanos::from_micros(200));
        }
    });
    assert_eq!(found, [(Rule::Lateness, Severity::Warning)]);
    let found = after(|stats, _| {
        for _ in 0..1_000 {
            stats.wakeup.record(Nanos::from_millis(5));
        }
    });
    assert_eq!(found, [(Rule::Lateness, Severity::Warning)]);
    let busy = |stats: &mut PointStats, _: &mut RunPlan| {
        stats.shard_count = 8;
        stats.generator_cpu_ns = stats.window_ns * 7 / 2;
    };
    assert_eq!(after(busy), [(Rule::GeneratorBusy, Severity::Warning)]);
}

#[test]
fn wrong_data_and_server_events_are_reported() {
    let count = |name: &'static str| {
        after(move |stats, _| {
            stats.counters.insert(name.into(), 2);
        })
    };
    assert_eq!(
        count(VERIFY_ERRORS),
        [(Rule::DataVerify, Severity::Invalid)]
    );
    assert_eq!(count(EARLY_EOFS), [(Rule::DataLost, Severity::Invalid)]);
    assert_eq!(count("checked_bytes"), []);
    assert_eq!(
        count("undecided_bytes"),
        [(Rule::DataUnchecked, Severity::Note)]
    );
    assert_eq!(
        count("reconnects"),
        [(Rule::ServerEvent, Severity::Warning)]
    );
    assert_eq!(count("short_reads"), [(Rule::ServerEvent, Severity::Note)]);
    assert_eq!(count("READ"), []);
}

/// Waits for a slot are noted by their share: of the calls, or of the response time.
#[test]
fn waits_for_slots_are_noted_above_a_share() {
    let of = |waits: u64, wait_us: u64| {
        let (mut stats, plan) = (quiet_point(1000.0, 30), plan());
        for (name, count) in [
            ("COMPOUND", 10_000),
            ("slot_waits", waits),
            ("slot_wait_us", wait_us),
        ] {
            stats.counters.insert(name.into(), count);
        }
        let response_us = stats.response().sum_ns() / 1_000;
        let found = judge(&stats, LOAD, &plan, 4);
        let messages: Vec<String> = found.into_iter().map(|f| f.message).collect();
        (messages, response_us)
    };
    let (none, response_us) = of(0, 0);
    assert!(none.is_empty() && response_us > 1_000, "{none:?}");
    assert!(of(100, response_us / 100).0.is_empty());
    let (of_calls, _) = of(250, 0);
    assert!(
        of_calls[0].starts_with("slot_waits = 250: 2.5 % of the calls waited"),
        "{of_calls:?}"
    );
    let (of_time, _) = of(1, response_us / 20);
    assert!(
        of_time[0].contains("0.0 % of the calls") && of_time[0].contains("5.0 % of the response"),
        "{of_time:?}"
    );
}

/// Waits for the window of a context are noted by their share of the response time.
#[test]
fn waits_for_windows_are_noted_above_a_share() {
    let of = |waits: u64, part: u64| {
        let (mut stats, plan) = (quiet_point(1000.0, 30), plan());
        let wait_us = stats.response().sum_ns() / 1_000 / part;
        for (name, count) in [("window_waits", waits), ("window_wait_us", wait_us)] {
            stats.counters.insert(name.into(), count);
        }
        judge(&stats, LOAD, &plan, 4)
    };
    assert!(of(250, 100).is_empty());
    let found = of(250, 20);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Note));
    let message = &found[0].message;
    assert!(message.starts_with("window_waits = 250: calls waited"));
    assert!(message.contains("5.0 % of the response"), "{message}");
}

/// The findings on a quiet point of an NFS plan after a change, with these counters.
fn with_counters(
    change: impl Fn(&mut NfsPlan),
    counters: &[(&str, u64)],
) -> Vec<(Severity, String)> {
    let (mut stats, mut plan) = (quiet_point(1000.0, 30), plan());
    let DriverPlan::Nfs(nfs) = &mut plan.driver else {
        panic!("no plan of NFS");
    };
    change(nfs);
    let counters = counters.iter().map(|(name, n)| ((*name).to_owned(), *n));
    stats.counters.extend(counters);
    let found = judge(&stats, LOAD, &plan, 4).into_iter();
    found.map(|f| (f.severity, f.message)).collect()
}

/// No counter of RUN has the LAYOUTGETs before RUN: the transfers show what came of them.
#[test]
fn transfers_without_layouts_are_a_warning_without_opens_in_run() {
    let of = |layouts, more: &[(&str, u64)]| {
        let counters = [&[("READ", 300), ("WRITE", 100)], more].concat();
        with_counters(|nfs| nfs.layouts = layouts, &counters)
    };
    let found = of(LayoutUse::Use, &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    let text = "data_server_reads + data_server_writes = 0: 400 of 400 READs and WRITEs went to the metadata";
    assert!(
        found[0].0 == Severity::Warning && found[0].1.starts_with(text),
        "{found:?}"
    );
    let parts = [("data_server_reads", 300), ("data_server_writes", 50)];
    let found = of(LayoutUse::Use, &parts);
    assert!(found[0].1.contains("= 350: 50 of 400"), "{found:?}");
    let most = [("data_server_reads", 297), ("data_server_writes", 99)];
    assert_eq!(of(LayoutUse::Use, &most), []);
    assert_eq!(of(LayoutUse::Refuse, &[]), []);
    for counter in ["layouts_refused", "layouts_unusable"] {
        let found = of(LayoutUse::Use, &[(counter, 1)]);
        assert!(
            found.len() == 1 && found[0].1.starts_with(counter),
            "{found:?}"
        );
    }
    let idle = with_counters(|nfs| nfs.layouts = LayoutUse::Use, &[]);
    assert_eq!(idle, []);
}

/// Delegations are returned at the end of RUN: without one there was none.
#[test]
fn kept_delegations_of_which_there_are_none_are_noted_without_opens_in_run() {
    let of = |used, counter| with_counters(|nfs| nfs.delegations = used, &[(counter, 1)]);
    let found = of(DelegationUse::Keep, "READ");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].0 == Severity::Note && found[0].1.starts_with("delegations_returned = 0: "),
        "{found:?}"
    );
    for known in ["OPEN", "delegations_returned"] {
        assert_eq!(of(DelegationUse::Keep, known), [], "{known}");
    }
    let revoked = of(DelegationUse::Keep, "delegations_revoked");
    assert_eq!(revoked.len(), 1, "its own finding: {revoked:?}");
    assert_eq!(of(DelegationUse::Refuse, "READ"), []);
}

/// The findings of the counters of a plan's driver, all above zero: names in their order, and
/// severities.
fn of_all_counters(driver: DriverPlan) -> Vec<(Rule, Severity, String)> {
    let (mut stats, mut plan) = (quiet_point(1000.0, 30), plan());
    plan.driver = driver;
    for counter in plan.driver.counters() {
        stats.counters.insert(counter.name.into(), 1);
    }
    let findings = judge(&stats, LOAD, &plan, 4).into_iter();
    let of_counters = findings.filter_map(|f| {
        let name = f.message.split_once(" = 1: ")?.0.to_owned();
        Some((f.rule, f.severity, name))
    });
    of_counters.collect()
}

/// The rules of records of earlier versions: the same names, severities and order.
#[test]
fn counters_lead_to_the_same_findings_in_the_same_order_as_before() {
    let of = |driver, events: &[(&str, Severity)]| {
        let found = of_all_counters(driver);
        let expected = events.iter().map(|(name, severity)| {
            let rule = match *name {
                "direct_fallbacks" => Rule::Lacking,
                _ => Rule::ServerEvent,
            };
            (rule, *severity, (*name).to_owned())
        });
        assert_eq!(found, expected.collect::<Vec<_>>());
    };
    let (note, warning) = (Severity::Note, Severity::Warning);
    of(
        plan().driver,
        &[
            ("retransmits", warning),
            ("late_replies", warning),
            ("port_unreachable", warning),
            ("send_errors", warning),
            ("duplicate_replies", note),
            ("reconnects", warning),
            ("verifier_changes", warning),
            ("lost_writes", warning),
            ("excused_reads", note),
            ("commit_failures", warning),
            ("less_stable", warning),
            ("timeouts", warning),
            ("bad_replies", warning),
            ("stream_errors", warning),
            ("readdir_restarts", note),
            ("jukebox_waits", note),
            ("grace_waits", warning),
            ("lost_sessions", warning),
            ("lost_clients", warning),
            ("lost_opens", warning),
            ("status_flags", note),
            ("revoked_states", warning),
            ("delegations_none", note),
            ("delegations_recalled", note),
            ("delegations_revoked", warning),
            ("layouts_recalled", note),
            ("layouts_lost", warning),
            ("layouts_refused", warning),
            ("layouts_unusable", warning),
            ("data_servers_gone", warning),
            ("data_server_errors", warning),
            ("new_contexts", note),
            ("context_failures", warning),
            ("short_reads", note),
            ("short_writes", note),
        ],
    );
    of(
        crate::testing::smb_plan("geheim").into(),
        &[
            ("reconnects", warning),
            ("timeouts", warning),
            ("bad_replies", warning),
            ("stream_errors", warning),
            ("short_reads", note),
            ("short_writes", note),
        ],
    );
    of(
        PosixPlan::default().into(),
        &[
            ("short_reads", note),
            ("short_writes", note),
            ("lock_waits", note),
            ("direct_fallbacks", warning),
            ("unregistered_transfers", note),
        ],
    );
    of(DriverPlan::NULL, &[]);
}

/// Writes that the server may still lose. `general-nfs3` defers COMMIT; if each write commits
/// its own data, an unconfirmed write has failed.
#[test]
fn writes_that_no_commit_confirmed_invalidate_above_a_share() {
    let of = |counters: &'static [(&str, u64)], commit: CommitPolicy| {
        after(move |stats, plan| {
            let DriverPlan::Nfs(nfs) = &mut plan.driver else {
                panic!("the synthetic run uses NFS");
            };
            nfs.commit = commit;
            stats.op_mut(Op::Write).success_count = 2_000;
            plan.limits.mix_deviation_pcnt_max = 100.0;
            for (name, count) in counters {
                stats.counters.insert((*name).into(), *count);
            }
        })
    };
    let deferred = CommitPolicy::Deferred(Deferral {
        writes: 64,
        mib: 4,
        files: 16,
    });
    let warning = [(Rule::Uncommitted, Severity::Warning)];
    let invalid = [(Rule::Uncommitted, Severity::Invalid)];
    assert_eq!(of(&[("COMMIT", 9), ("end_commits", 8)], deferred), []);
    let few = &[("COMMIT", 9), ("uncommitted_writes", 10)];
    assert_eq!(of(few, deferred), warning);
    let many = &[("COMMIT", 9), ("uncommitted_writes", 11)];
    assert_eq!(of(many, deferred), invalid);
    for own in [CommitPolicy::PerWrite, CommitPolicy::at_once()] {
        assert_eq!(of(many, own), warning);
    }
    // All of them after RUN, or none at all.
    let late = &[("COMMIT", 8), ("end_commits", 8)];
    assert_eq!(of(late, deferred), warning);
    assert_eq!(of(late, CommitPolicy::PerWrite), []);
    let asked = &[("COMMIT", 1), ("read_commits", 1), ("unstable_writes", 3)];
    assert_eq!(of(asked, deferred), warning);
    let never = &[("uncommitted_writes", 2_000)];
    assert_eq!(of(never, deferred), [invalid[0], warning[0]]);
}

#[test]
fn data_too_short_to_compare_is_reported() {
    let of = |checked: u64, undecided: u64, verify: bool| {
        after(move |stats, plan| {
            plan.fileset.verify = verify;
            for (name, bytes) in [("checked_bytes", checked), ("undecided_bytes", undecided)] {
                stats.counters.insert(name.into(), bytes);
            }
        })
    };
    assert_eq!(of(0, 0, true), []);
    assert_eq!(of(1 << 40, 0, true), []);
    assert_eq!(of(50, 50, false), [], "half of it was compared");
    let note = [(Rule::DataUnchecked, Severity::Note)];
    assert_eq!(of(49, 51, false), note);
    let invalid = [(Rule::DataUnchecked, Severity::Invalid)];
    assert_eq!(of(0, 8, true), invalid, "VERIFY=on promises more");
    assert_eq!(of(50, 50, true), invalid);
    assert_eq!(of(899, 101, true), invalid);
    assert_eq!(of(900, 100, true), note);
    assert_eq!(of(1 << 40, 1, true), note, "there is always a finding");
    assert_eq!(of(u64::MAX, u64::MAX, true), invalid);
}

#[test]
fn short_windows_are_noted() {
    let found = rules_of(&quiet_point(1000.0, 5), &plan());
    assert_eq!(found, [(Rule::ShortRun, Severity::Note)]);
}

/// A point with a series of 30 seconds, each made by `of_second`.
fn by_second(of_second: impl Fn(i64) -> Interval) -> Vec<Finding> {
    let (mut stats, plan) = (quiet_point(1000.0, 30), plan());
    stats.intervals = (0..30).map(of_second).collect();
    judge(&stats, LOAD, &plan, 4)
}

#[test]
fn a_rate_that_falls_through_run_is_unsteady() {
    let falling = |share: f64| {
        by_second(|second| Interval {
            second,
            success_count: (1_000.0 * (1.0 - share * second as f64 / 30.0)) as u64,
            ..Interval::default()
        })
    };
    assert_eq!(falling(0.03), []);
    let found = falling(0.2);
    let [unsteady] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        (unsteady.rule, unsteady.severity),
        (Rule::Unsteady, Severity::Warning)
    );
    assert!(
        unsteady.message.starts_with("the rate fell by 21."),
        "{unsteady}"
    );
}

#[test]
fn a_response_time_that_rises_through_run_is_unsteady() {
    let found = by_second(|second| Interval {
        second,
        success_count: 1_000,
        response_sum_ns: 1_000 * (1_000_000 + 20_000 * second as u64),
        ..Interval::default()
    });
    let [unsteady] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(
        unsteady
            .message
            .starts_with("the mean response time rose by 45.0 %, from 1.090 ms"),
        "{unsteady}"
    );
}

/// Operations of RUN whose end was not observed: `count` open, and as many missed, each
/// of which had waited for two seconds.
fn with_unseen(stats: &mut PointStats, count: u64, missed: u64) {
    let op = stats
        .ops
        .iter_mut()
        .max_by_key(|o| o.success_count)
        .unwrap();
    for _ in 0..count + missed {
        op.response.record_at_least(Nanos::from_secs(2));
    }
    (op.open_count, op.missed_count) = (count, missed);
    assert_eq!(op.response_fault(), None);
}

#[test]
fn open_operations_invalidate_above_a_thousandth() {
    // 30,000 operations.
    let open = |count| after(|stats, _| with_unseen(stats, count, 0));
    assert_eq!(open(30), [(Rule::OpenOperations, Severity::Warning)]);
    assert_eq!(open(31), [(Rule::OpenOperations, Severity::Invalid)]);
    // A server that does not keep up is judged by `saturated`.
    let found = after(|stats, plan| {
        plan.pacing.mode = PacingMode::Open;
        stats.dropped_count = 500;
        with_unseen(stats, 500, 0);
    });
    let [first, second] = found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(first, (Rule::Saturated, Severity::Invalid));
    assert_eq!(second, (Rule::OpenOperations, Severity::Warning));
}

#[test]
fn failures_after_run_are_errors_too() {
    let found = after(|stats, _| stats.ops[0].late_error_count = 1);
    assert_eq!(found, [(Rule::Errors, Severity::Warning)]);
    let found = after(|stats, _| stats.ops[0].late_error_count = 600);
    assert_eq!(found, [(Rule::Errors, Severity::Invalid)]);
    let mut stats = quiet_point(1000.0, 30);
    stats.ops[0].late_error_count = 600;
    let findings = judge(&stats, LOAD, &plan(), 4);
    assert!(
        findings[0].message.contains("600 after RUN had ended"),
        "{findings:?}"
    );
}

#[test]
fn missed_load_is_a_warning() {
    let found = after(|stats, _| with_unseen(stats, 0, 900));
    assert_eq!(found, [(Rule::MissedLoad, Severity::Warning)]);
    let mut stats = quiet_point(1000.0, 30);
    with_unseen(&mut stats, 0, 300);
    let findings = judge(&stats, LOAD, &plan(), 4);
    assert!(
        findings[0].message.contains("300 starts were due in RUN"),
        "{findings:?}"
    );
    assert!(findings[0].message.contains("0.990 %"), "{findings:?}");
    // An operation that failed without a reply is an error already.
    let found = after(|stats, _| {
        let op = &mut stats.ops[0];
        op.response.record_at_least(Nanos::from_secs(30));
        (op.error_count, op.given_up_count) = (1, 1);
    });
    assert_eq!(found, [(Rule::Errors, Severity::Warning)]);
}
