//! Every kind of event against the published schema.

use super::*;
use filermark_model::op::OpGroup;
use filermark_model::stats::Interval;
use filermark_model::{LoadPoint, Nanos, OpsPerSec};
use filermark_prime::Progress;
use filermark_results::testing::composite::composite_record;
use filermark_results::{PointStatus, ScriptRecord, ScriptStatus, testing};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;

const SCHEMA: &str = include_str!("../../schema/events-v1.json");

/// The lines as values, each checked against the schema.
fn checked(text: &str) -> Vec<Value> {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let name = "mem://events.json";
    compiler.add_resource(name, schema).expect("it is taken");
    let index = compiler.compile(name, &mut schemas).expect("it is sound");
    let check = |line: &str| {
        let value: Value = serde_json::from_str(line).expect("every line is JSON");
        if let Err(e) = schemas.validate(&value, index) {
            panic!("{line}\n{e:#}");
        }
        value
    };
    text.lines().map(check).collect()
}

/// Writes the events of a run to a file; returns its text.
fn written(plan: &RunPlan, send_report: impl FnOnce(&mut Events) -> RunEnd<'static>) -> Vec<Value> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("events");
    let facts = Facts::of(plan, "mine");
    let mut events =
        Events::open(Some(&Target::File(path.clone())), None, facts).expect("it opens");
    events.begin(plan, "mine", Path::new("result/mine.run.jsonl"));
    let end = send_report(&mut events);
    assert_eq!(events.end(end), Ok(None));
    checked(&std::fs::read_to_string(&path).expect("it was written"))
}

fn complete() -> RunEnd<'static> {
    static RECORD: LazyLock<RunRecord> = LazyLock::new(composite_record);
    RunEnd {
        record: Some(&RECORD),
        reason: None,
        exit_code: 0,
        record_path: Some(Path::new("result/mine.run.jsonl")),
        report_path: Some("result/mine.html".into()),
    }
}

fn began(point: Option<LoadPoint>, phase: Phase) -> Progress<'static> {
    Progress::PhaseBegan {
        point,
        phase,
        expected: (phase == Phase::Run).then_some(Duration::from_secs(30)),
    }
}

#[test]
fn every_kind_of_event_keeps_to_the_schema() {
    let mut record = composite_record();
    record.points[1].status = PointStatus::Failed {
        reason: "the run was interrupted".into(),
    };
    let script = ScriptRecord {
        at: filermark_results::Timestamp::now(),
        script: "netmist_mon.sh".into(),
        argument: "INIT".into(),
        call: None,
        event_at: None,
        point: 0,
        phase: None,
        status: ScriptStatus::Failed {
            reason: "it is missing".into(),
        },
        seconds: 0.1,
        output: String::new(),
    };
    let mut second = Interval {
        second: -2,
        success_count: 3,
        service_sum_ns: 6_000_000,
        response_max_ns: 2_500_000,
        ..Interval::default()
    };
    for response_ns in [1_900_000, 2_500_000, 1_600_000] {
        second.responses.count(OpGroup::Reads, response_ns);
    }
    let point = record.run.plan.points[0];
    let lines = written(&record.run.plan, |events| {
        let percent = Progress::Percent {
            point,
            phase: Phase::Warmup,
            percent: 50,
        };
        let all = [
            Progress::Agents { living: 1, all: 2 },
            began(
                Some(LoadPoint {
                    number: 10_002,
                    requested: OpsPerSec(40.0),
                    ..point
                }),
                Phase::Run,
            ),
            began(Some(point), Phase::Init),
            Progress::Tasks {
                task_count: 7,
                bytes: 9,
            },
            began(Some(point), Phase::Warmup),
            Progress::Second(&second),
            percent,
            began(Some(point), Phase::Run),
            Progress::Heartbeat(&record.heartbeats[0]),
            Progress::Script(&script),
            Progress::SearchEnded(&record.run.plan),
            Progress::PointEnded(&record, &record.points[0]),
            Progress::PointEnded(&record, &record.points[1]),
            Progress::Remark("tab\there, \"quotes\", \u{1b}"),
            began(None, Phase::Cleanup),
        ];
        all.iter().for_each(|progress| events.on_progress(progress));
        events.beside(|| Power {
            power_w: Some(120.5),
            client_power_w: None,
        });
        events.beside(|| unreachable!("once a second"));
        complete()
    });
    let kinds: BTreeSet<&str> = lines.iter().filter_map(|l| l["type"].as_str()).collect();
    assert_eq!(kinds.len(), 13, "{kinds:?}");
    let seqs: Vec<u64> = lines.iter().filter_map(|l| l["seq"].as_u64()).collect();
    assert_eq!(seqs, (0..lines.len() as u64).collect::<Vec<_>>());
    // Each can be read again.
    for line in &lines {
        let again = read_line(&line.to_string()).expect("an event");
        assert_eq!(serde_json::to_value(&again).expect("JSON"), *line);
    }
    assert!(read_line("{\"type\":\"later\",\"at\":\"x\",\"seq\":1}").is_none());
    let find = |kind: &str| {
        lines
            .iter()
            .find(|l| l["type"] == kind)
            .expect("it is there")
    };
    assert_eq!(find("run_began")["points"][1]["name"], "2 BUILDs");
    let step = find("phase_began");
    assert_eq!(
        (&step["search_step"], &step["requested_ops_per_sec"]),
        (&2.into(), &40.0.into())
    );
    let second = find("second");
    assert_eq!(
        (&second["phase"], &second["point"]),
        (&"WARMUP".into(), &1.into())
    );
    assert_eq!(
        (&second["service_mean_ms"], &second["response_max_ms"]),
        (&2.0.into(), &2.5.into())
    );
    assert_eq!(find("script")["ok"], false);
    let ends: Vec<_> = lines
        .iter()
        .filter(|l| l["type"] == "point_ended")
        .collect();
    let stats = record.points[0].measured().expect("measured");
    assert_eq!(ends[0]["figures"]["success_count"], stats.success_count());
    assert_eq!(ends[0]["verdict"], "VALID");
    assert_eq!(
        (&ends[1]["verdict"], &ends[1]["figures"]),
        (&"FAILED".into(), &Value::Null)
    );
    assert_eq!(ends[1]["reason"], "the run was interrupted");
    let end = find("run_ended");
    assert_eq!(
        (&end["outcome"], &end["verdict"]),
        (&"complete".into(), &"INVALID".into())
    );
    assert_eq!(
        end["verdict_reasons"][0],
        composite_record().verdict().reasons()[0]
    );
}

#[test]
fn tasks_come_once_a_second_and_their_last_sum_always() {
    let plan = testing::plan();
    let point = plan.points[0];
    let lines = written(&plan, |events| {
        events.on_progress(&began(Some(point), Phase::Init));
        for n in 1..=500 {
            events.on_progress(&Progress::Tasks {
                task_count: n,
                bytes: n * 10,
            });
        }
        events.on_progress(&began(Some(point), Phase::Warmup));
        complete()
    });
    let tasks: Vec<_> = lines.iter().filter(|l| l["type"] == "tasks").collect();
    assert!((2..5).contains(&tasks.len()), "{}", tasks.len());
    let last = tasks.last().expect("the last");
    assert_eq!(
        (&last["task_count"], &last["phase"]),
        (&500.into(), &"INIT".into())
    );
}

#[test]
fn a_run_without_limit_and_without_record_can_be_reported() {
    let mut plan = composite_record().run.plan;
    for point in &mut plan.points {
        (point.requested, point.entered) = (OpsPerSec(0.0), OpsPerSec(0.0));
    }
    plan.phases.warmup = Nanos::ZERO;
    plan.phases.runtime_max = Some(Nanos::from_secs(14_400));
    let no_record = |exit_code, reason: &str| RunEnd {
        record: None,
        reason: Some(reason.into()),
        exit_code,
        record_path: None,
        report_path: None,
    };
    let stopped = written(&plan, |_| no_record(130, "the run was interrupted"));
    assert_eq!(stopped[1]["outcome"], "interrupted");
    let lines = written(&plan, |_| no_record(1, "no space"));
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["points"][0]["requested_ops_per_sec"], Value::Null);
    assert_eq!(lines[0]["run_max_seconds"], 14_400.0);
    let last = &lines[1];
    assert_eq!(
        (&last["outcome"], &last["reason"]),
        (&"failed".into(), &"no space".into())
    );
}

#[test]
fn the_reference_page_names_all_that_the_schema_has() {
    const PAGE: &str = include_str!("../../../../docs/src/reference/events.md");
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let defs = schema["$defs"].as_object().expect("definitions");
    for (name, def) in defs
        .iter()
        .filter(|(_, def)| def["properties"]["type"].is_object())
    {
        let row = PAGE
            .lines()
            .find(|l| l.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("no row for {name}"));
        for member in def["properties"].as_object().expect("members").keys() {
            let everywhere = ["type", "at", "seq"].contains(&member.as_str());
            assert!(
                everywhere || row.contains(&format!("`{member}`")),
                "{name}: {member}"
            );
        }
    }
}
