//! Load points below their rate, and their effect on findings, verdicts and results.

use super::*;
use crate::ClassicalResult;
use crate::judge::judge;
use crate::record::RunRecord;
use crate::testing::{self, plan, quiet_point};
use filermark_model::plan::{DriverPlan, Transport};
use filermark_model::{Nanos, OpsPerSec};

const LOAD: LoadPoint = LoadPoint {
    number: 1,
    entered: OpsPerSec(1000.0),
    requested: OpsPerSec(1000.0),
    units: 0.0,
    proc_count: 0,
};

/// The finding of a point that achieved 80 % of 1,000 op/s, with something changed
/// and with other findings.
fn settled(
    change: impl FnOnce(&mut PointStats, &mut RunPlan),
    others: &[(Rule, Severity)],
) -> Option<Finding> {
    let (mut stats, mut plan) = (quiet_point(1000.0, 30), plan());
    stats.window_ns = stats.window_ns * 100 / 80;
    change(&mut stats, &mut plan);
    let mut findings = judge(&stats, LOAD, &plan, 4);
    findings.extend(others.iter().map(|(rule, s)| Finding::new(*rule, *s, "x")));
    settle_rate(&mut findings, &stats, LOAD, &plan);
    findings.into_iter().find(|f| f.rule == Rule::AchievedRate)
}

fn counted(name: &str, count: u64) -> Option<Finding> {
    settled(
        |stats, _| {
            stats.counters.insert(name.into(), count);
        },
        &[],
    )
}

/// The counters that explain a rate below the requested one, in the order of their rank.
const CAUSES: [&str; 5] = [
    "reconnects",
    "connect_failures",
    "port_unreachable",
    "timeouts",
    "stream_errors",
];

#[test]
fn of_several_causes_that_were_counted_the_first_is_named() {
    for (at, first) in CAUSES.iter().enumerate() {
        let all = |stats: &mut PointStats, _: &mut RunPlan| {
            let counters = CAUSES.iter().skip(at).map(|name| ((*name).to_owned(), 1));
            stats.counters.extend(counters);
        };
        let finding = settled(all, &[]).expect("below");
        let named = format!("{first} = 1 explains");
        assert!(finding.message.contains(&named), "{finding}");
    }
}

#[test]
fn what_another_cause_explains_does_not_count() {
    let unexplained = settled(|_, _| {}, &[]).expect("below");
    assert_eq!(unexplained.severity, Severity::Warning);
    let remark = "the result is the achieved rate";
    assert!(unexplained.message.contains(remark), "{unexplained}");
    let by_counter = CAUSES.map(|name| (counted(name, 1), format!("{name} = 1 explains")));
    let rules = [Rule::NoReply, Rule::Lateness, Rule::GeneratorBusy];
    let by_rule = rules.map(|rule| {
        let others = [(rule, Severity::Warning)];
        let late = |stats: &mut PointStats, _: &mut RunPlan| {
            if rule == Rule::Lateness {
                testing::start_late(stats);
            }
        };
        (settled(late, &others), format!("{rule} explains"))
    });
    for (finding, text) in by_counter.into_iter().chain(by_rule) {
        let finding = finding.expect("below");
        assert_eq!(finding.severity, Severity::Invalid, "{text}");
        assert!(finding.message.contains(&text), "{text}: {finding}");
        assert!(!finding.message.contains(remark), "{finding}");
        assert_eq!((finding.value, finding.limit), (Some(80.0), Some(95.0)));
    }
    for other in [
        (Rule::NoReply, Severity::Note),
        (Rule::Unsteady, Severity::Warning),
    ] {
        assert_eq!(settled(|_, _| {}, &[other]), Some(unexplained.clone()));
    }
    for name in ["jukebox_waits", SEND_ERRORS] {
        assert_eq!(counted(name, 9), Some(unexplained.clone()), "{name}");
    }
}

/// 20 procs lack a fifth of 37.5 s each, 150 s: a tenth of that is 15 s. Delays of a tenth of a
/// millisecond do not add up to that; the server was slow, or it paused.
#[test]
fn small_delays_do_not_explain_a_shortfall() {
    let with_delay = |tenths_ms: u64, others: &[Rule]| {
        let late = |stats: &mut PointStats, _: &mut RunPlan| {
            for _ in 0..10_000 {
                stats.wakeup.record(Nanos::from_micros(100 * tenths_ms));
            }
        };
        let others: Vec<_> = others.iter().map(|r| (*r, Severity::Warning)).collect();
        settled(late, &others).expect("below")
    };
    let late = [Rule::Lateness];
    assert_eq!(with_delay(14, &late).severity, Severity::Warning);
    let explained = with_delay(15, &late);
    assert!(
        explained.message.contains("lateness explains"),
        "{explained}"
    );
    let paused = with_delay(1, &[Rule::Lateness, Rule::NoReply]);
    assert!(paused.message.contains("no-reply explains"), "{paused}");
}

/// A client at its limit may lose its connections, too: the server is not the cause.
#[test]
fn causes_of_the_clients_come_first() {
    let reconnect = |stats: &mut PointStats, _: &mut RunPlan| {
        stats.counters.insert("reconnects".into(), 1);
    };
    let both = settled(reconnect, &[(Rule::GeneratorBusy, Severity::Warning)]).expect("below");
    assert!(both.message.contains("generator-busy explains"), "{both}");
}

/// Each waits UDP_TIMEOUT_MS at least, 1.1 s. 20 procs lack a fifth of 37.5 s each, 150 s:
/// a tenth of that is 14 waits.
#[test]
fn lost_datagrams_explain_a_shortfall_by_their_wait_time() {
    let of = |transport: Transport, again: u64, others: &'static [(&str, u64)]| {
        let change = |stats: &mut PointStats, plan: &mut RunPlan| {
            let DriverPlan::Nfs(nfs) = &mut plan.driver else {
                panic!("the synthetic run uses NFS");
            };
            (nfs.transport, nfs.udp_timeout_ms) = (transport, 1_100);
            assert_eq!(plan.proc_count(), 20);
            stats.counters.insert(RETRANSMITS.into(), again);
            for (name, count) in others {
                stats.counters.insert((*name).into(), *count);
            }
        };
        let finding = settled(change, &[]).expect("below");
        (finding.severity, finding.message)
    };
    let severity = |transport, again, others| of(transport, again, others).0;
    assert_eq!(severity(Transport::Udp, 13, &[]), Severity::Warning);
    assert_eq!(severity(Transport::Udp, 14, &[]), Severity::Invalid);
    assert_eq!(severity(Transport::Tcp, 14, &[]), Severity::Warning);
    // A slow server: its first reply came after the call had been sent again.
    let slow = &[(DUPLICATE_REPLIES, 10)];
    assert_eq!(severity(Transport::Udp, 23, slow), Severity::Warning);
    assert_eq!(severity(Transport::Udp, 24, slow), Severity::Invalid);
    // What this host did not send.
    let (severity, message) = of(Transport::Udp, 14, &[(SEND_ERRORS, 14)]);
    assert_eq!(severity, Severity::Invalid);
    assert!(message.contains("send_errors = 14 explains"), "{message}");
}

/// Both the shortfall and its cause are reported.
#[test]
fn a_lower_limit_of_the_run_hides_nothing() {
    let own = |limit: f64, severity: Severity, counter: u64| {
        let change = move |stats: &mut PointStats, plan: &mut RunPlan| {
            plan.limits.achieved_pcnt_min = limit;
            plan.benchmark.standard.achieved_severity = severity;
            stats.counters.insert("reconnects".into(), counter);
        };
        settled(change, &[]).map(|f| f.severity)
    };
    assert_eq!(own(50.0, Severity::Warning, 0), Some(Severity::Note));
    assert_eq!(own(50.0, Severity::Warning, 1), Some(Severity::Invalid));
    assert_eq!(own(85.0, Severity::Warning, 0), Some(Severity::Warning));
    assert_eq!(own(50.0, Severity::Invalid, 1), None, "a composite");
}

/// A sweep whose highest point achieved 80 % of its rate, with this counter.
fn sweep(counter: &str, count: u64) -> RunRecord {
    let mut record = testing::record();
    record.points.truncate(10);
    record.run.plan.points.truncate(10);
    record.run.plan.findings.clear();
    let plan = record.run.plan.clone();
    let last = record.points.last_mut().expect("ten points");
    let stats = last.stats.as_mut().expect("measured");
    stats.window_ns = stats.window_ns * 100 / 80;
    stats.counters.insert(counter.into(), count);
    let mut findings = judge(stats, last.load, &plan, 8);
    settle_rate(&mut findings, stats, last.load, &plan);
    last.findings = findings;
    record
}

/// Settled before, and judged again by readers of the record.
#[test]
fn a_point_that_is_explained_is_no_figure_and_no_overload() {
    let (counts, voided) = (sweep("reconnects", 0), sweep("reconnects", 1));
    assert_eq!(counts.verdict().line(), "VALID");
    assert_eq!(
        voided.verdict().line(),
        "VALID: 9 of 10 load points count; load point 10 missed its rate for another reason than the server's speed (reconnects = 1)"
    );
    let without = |record: &RunRecord| {
        let mut cut = record.clone();
        cut.points.pop();
        ClassicalResult::of_record(&cut)
    };
    let all = ClassicalResult::of_record(&voided);
    assert!(all.is_some());
    assert_eq!(all, without(&voided), "the point is left out");
    assert_ne!(ClassicalResult::of_record(&counts), without(&counts));
    // With an overloaded point as well, both are reported.
    let mut both = voided;
    let slow = Finding::new(Rule::ResponseLimit, Severity::Invalid, "slow");
    both.points[8].findings.push(slow);
    assert_eq!(
        both.verdict().line(),
        "VALID: 8 of 10 load points count; the server is overloaded above them; load point 10 missed its rate for another reason than the server's speed (reconnects = 1)"
    );
}

/// netmist's `-O`: a server that is too slow limits the achieved rate, and the load
/// point does not count. A cause does not change the message.
#[test]
fn a_composite_that_misses_its_rate_is_invalid_with_its_figures() {
    let record = testing::composite::composite_record();
    let (plan, point) = (&record.run.plan, &record.points[2]);
    let mut stats = point.measured().expect("measured").clone();
    let below = |findings: &[Finding]| {
        let found = findings.iter().find(|f| f.rule == Rule::AchievedRate);
        found.cloned().expect("below its rate")
    };
    let finding = below(&judge(&stats, point.load, plan, 8));
    assert_eq!(finding.severity, Severity::Invalid);
    assert!(stats.achieved_ops_per_sec() < 0.95 * point.load.requested.0);
    let pcnt = 100.0 * stats.achieved_ops_per_sec() / point.load.requested.0;
    let value = finding.value.expect("a figure");
    assert!((value - pcnt).abs() < 1e-9, "{value} for {pcnt}");
    stats.counters.insert("reconnects".into(), 1);
    let mut findings = judge(&stats, point.load, plan, 8);
    settle_rate(&mut findings, &stats, point.load, plan);
    assert_eq!(below(&findings), finding);
}
