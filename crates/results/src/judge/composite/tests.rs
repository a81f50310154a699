use crate::judge::judge;
use crate::testing::composite::{composite_record, stream_record};
use filermark_model::benchmark::Work;
use filermark_model::plan::RunPlan;
use filermark_model::{Finding, Op, OpsPerSec, PointStats, Rule, Severity};

/// The findings on the first load point of the streams after a change, without the note
/// that 270 operations are few for a mix.
fn after(change: impl FnOnce(&mut PointStats, &mut RunPlan)) -> Vec<Finding> {
    let mut record = stream_record();
    let mut stats = record.points[0].stats.take().unwrap();
    let plan = &mut record.run.plan;
    change(&mut stats, plan);
    let mut found = judge(&stats, plan.points[0], plan, 4);
    found.retain(|f| (f.rule, f.severity) != (Rule::MixDeviation, Severity::Note));
    found
}

fn rules(findings: &[Finding]) -> Vec<(Rule, Severity)> {
    findings
        .iter()
        .map(|f| {
            assert!(f.value.is_some() && f.limit.is_some() && f.source.is_some());
            (f.rule, f.severity)
        })
        .collect()
}

/// Removes `pcnt` percent of a component's operations.
fn slow_down(stats: &mut PointStats, component: usize, pcnt: u64) {
    for op in &mut stats.components[component].ops {
        op.success_count -= op.success_count * pcnt / 100;
    }
}

#[test]
fn a_quiet_composite_has_no_findings_and_no_response_limit() {
    assert_eq!(rules(&after(|_, _| {})), []);
    let found = after(|_, plan| plan.limits.response_ms = 0.001);
    assert_eq!(rules(&found), [(Rule::ResponseLimit, Severity::Invalid)]);
    let build = composite_record();
    assert!(build.points[0].is_valid() && build.points[1].is_valid());
    let third: Vec<Rule> = build.points[2].findings.iter().map(|f| f.rule).collect();
    assert_eq!(third, [Rule::AchievedRate]);
}

#[test]
fn a_component_that_lags_is_named() {
    let found = after(|stats, _| slow_down(stats, 1, 8));
    assert_eq!(
        rules(&found),
        [(Rule::ComponentVariance, Severity::Invalid)]
    );
    assert!(found[0].message.starts_with("VDA2 made "), "{}", found[0]);
    assert_eq!(rules(&after(|stats, _| slow_down(stats, 1, 3))), []);
    let found = after(|stats, plan| {
        slow_down(stats, 1, 8);
        plan.limits.component_variance_pcnt_max = 0.0;
    });
    assert_eq!(rules(&found), [], "0 means no limit");
}

#[test]
fn two_operations_per_proc_at_the_edges_are_tolerated() {
    let found = after(|stats, _| {
        // 9 procs with 5 wanted each, of which one is still in flight.
        for (component, wanted) in [(0, 405), (1, 45)] {
            let c = &mut stats.components[component];
            c.wanted_count = wanted;
            c.ops.truncate(1);
            c.ops[0].success_count = wanted - (component as u64) * 9;
        }
    });
    let found: Vec<Rule> = found.iter().map(|f| f.rule).collect();
    assert!(!found.contains(&Rule::ComponentVariance), "{found:?}");
}

#[test]
fn mixes_are_compared_per_component() {
    // READs in place of STATs: the sum over both components hides it.
    let found = after(|stats, _| {
        let all = &mut stats.components[1].ops;
        let random = all.iter_mut().find(|o| o.op == Op::ReadRandom).unwrap();
        random.success_count -= 60;
        let stat = all.iter_mut().find(|o| o.op == Op::Stat).unwrap();
        stat.success_count += 60;
    });
    assert_eq!(rules(&found), [(Rule::MixDeviation, Severity::Invalid)]);
    assert!(found[0].message.contains(" of VDA2 "), "{}", found[0]);
}

#[test]
fn background_components_do_not_count() {
    let found = after(|stats, plan| {
        let Work::Composite(work) = &mut plan.benchmark.work else {
            panic!("the streams are a composite");
        };
        work.components[1].workload.attributes.background = true;
        slow_down(stats, 1, 50);
        stats.components[1].ops[0].success_count = 9_999;
        for proc in stats.procs.iter_mut().filter(|p| p.proc % 2 == 1) {
            proc.success_count /= 3;
        }
        stats.ops = stats.components[0].ops.clone();
    });
    assert_eq!(rules(&found), []);
}

/// The length of RUN and the verdict depend on the same components.
#[test]
fn background_components_do_not_count_as_touched_data() {
    let touched = |counted_bytes: u64, background_bytes: u64| {
        after(|stats, plan| {
            let point = plan.points[0];
            let all = plan.bytes_to_touch(point);
            let Work::Composite(work) = &mut plan.benchmark.work else {
                panic!("the streams are a composite");
            };
            work.components[1].workload.attributes.background = true;
            plan.fileset.touch_all = true;
            let set = plan.bytes_to_touch(point);
            assert!(0 < set && set < all, "{set} of {all}");
            for c in &mut stats.components {
                for op in &mut c.ops {
                    (op.read_bytes, op.written_bytes) = (0, 0);
                }
            }
            stats.components[0].ops[0].read_bytes = set - 1 + counted_bytes;
            stats.components[1].ops[0].read_bytes = background_bytes;
        })
    };
    let found = touched(0, 1 << 50);
    assert!(
        rules(&found).contains(&(Rule::DataTouched, Severity::Invalid)),
        "{found:?}"
    );
    let found = touched(1, 0);
    assert!(
        rules(&found)
            .iter()
            .all(|(rule, _)| *rule != Rule::DataTouched),
        "{found:?}"
    );
}

#[test]
fn without_a_rate_nothing_is_too_slow() {
    let unlimited = |stats: &mut PointStats, plan: &mut RunPlan| {
        plan.points[0].requested = OpsPerSec(0.0);
        for proc in &mut plan.procs {
            proc.ops_per_sec = None;
        }
        for proc in &mut stats.procs {
            (proc.wanted_count, proc.success_count) = (0, proc.success_count / 3);
        }
        for c in &mut stats.components {
            c.wanted_count = 0;
        }
        slow_down(stats, 1, 50);
    };
    assert_eq!(rules(&after(unlimited)), []);
    let found = after(|stats, _| stats.procs[3].success_count /= 2);
    assert_eq!(rules(&found), [(Rule::ProcRate, Severity::Invalid)]);
}

#[test]
fn the_data_set_must_be_touched_where_the_run_asks_for_it() {
    let found = after(|_, plan| plan.fileset.touch_all = true);
    assert_eq!(rules(&found), [(Rule::DataTouched, Severity::Invalid)]);
    assert!(
        found[0].message.contains("RUNTIME must be "),
        "{}",
        found[0]
    );
    let seconds = found[0].limit.unwrap() / found[0].value.unwrap() * 30.0006;
    let words = format!("must be {:.0} s", seconds.ceil());
    assert!(found[0].message.contains(&words), "{words}: {}", found[0]);
    let found = after(|stats, plan| {
        plan.fileset.touch_all = true;
        stats.components[0].ops[0].read_bytes = 202_752 << 20;
    });
    assert_eq!(rules(&found), []);
    let found = after(|stats, plan| {
        plan.fileset.touch_all = true;
        stats.components.clear();
    });
    assert!(found[0].message.contains("would not help"), "{}", found[0]);
}

/// DATABASE by the text of manual N: above the limit "you fail", above half of it possibly.
#[test]
fn random_reads_have_a_limit_of_their_own() {
    let with = |share: f64| {
        after(|stats, plan| {
            let reads = stats.components[1]
                .ops
                .iter()
                .find(|o| o.op == Op::ReadRandom);
            let mean_ms = reads.expect("random reads").service.mean_ns() / 1e6;
            let Work::Composite(work) = &mut plan.benchmark.work else {
                panic!("a composite");
            };
            let limit = Some(mean_ms / share);
            work.components[1].workload.attributes.random_read_limit_ms = limit;
        })
    };
    assert_eq!(rules(&with(0.45)), []);
    assert_eq!(rules(&with(0.55)), [(Rule::ResponseLimit, Severity::Note)]);
    let found = with(1.1);
    assert_eq!(rules(&found), [(Rule::ResponseLimit, Severity::Invalid)]);
    assert!(
        found[0].message.contains("random reads of VDA2"),
        "{}",
        found[0]
    );
}

#[test]
fn missing_features_of_the_file_system_are_reported() {
    let found = after(|stats, _| {
        stats.counters.insert("direct_fallbacks".into(), 7);
        stats.counters.insert("lock_waits".into(), 1);
    });
    assert_eq!(
        rules(&found),
        [
            (Rule::ServerEvent, Severity::Note),
            (Rule::Lacking, Severity::Warning)
        ]
    );
}
