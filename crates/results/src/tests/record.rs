//! Writing and reading records, and the schema that describes them.

use crate::reader::{ReadError, read_from, read_record};
use crate::record::{End, Event, Phase, PointStatus};
use crate::record::{Line, Outcome, RunRecord, SCHEMA};
use crate::testing;
use crate::writer::{RecordWriter, WriteError, check_record_place};
use filermark_model::Rule;
use filermark_model::plan::{DriverPlan, PosixPlan, Transport};
use std::io::BufReader;
use std::path::Path;

fn lines() -> Vec<Line> {
    testing::lines()
}

fn text() -> String {
    lines().iter().fold(String::new(), |all, line| {
        all + &serde_json::to_string(line).unwrap() + "\n"
    })
}

fn read(text: &str) -> Result<RunRecord, ReadError> {
    read_from(BufReader::new(text.as_bytes()), Path::new("r.jsonl"))
}

#[test]
fn a_record_reads_back_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.run.jsonl");
    let mut writer = RecordWriter::create(&path, false).unwrap();
    for line in lines() {
        writer.write(&line).unwrap();
    }
    writer.finish().unwrap();
    let record = read_record(&path).unwrap();
    let original = testing::record();
    assert_eq!(record.run, original.run);
    assert_eq!(record.environments, original.environments);
    assert_eq!(record.phases, original.phases);
    assert_eq!(record.events, original.events);
    assert_eq!(record.end, original.end);
    assert_eq!(record.cut, None);
    assert_eq!(record.points.len(), 12);
    assert_eq!(record.ort_ms(), original.ort_ms());
    assert!(matches!(
        RecordWriter::create(&path, false),
        Err(WriteError::Exists(_))
    ));
}

#[test]
fn a_record_without_points_is_replaced_unless_its_run_is_in_progress() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.run.jsonl");
    let mut first = RecordWriter::create(&path, false).unwrap();
    first.write(&lines()[0]).unwrap();
    assert!(matches!(
        RecordWriter::create(&path, false),
        Err(WriteError::InUse(_))
    ));
    first.finish().unwrap();
    let before = std::fs::read(&path).unwrap();
    let names = || std::fs::read_dir(dir.path()).unwrap().count();

    // A run without results leaves it unchanged, and adds no file.
    let mut second = RecordWriter::create(&path, false).unwrap();
    assert!(second.is_draft());
    second.write(&lines()[0]).unwrap();
    assert!(matches!(
        RecordWriter::create(&path, false),
        Err(WriteError::InUse(_))
    ));
    drop(second);
    assert_eq!((std::fs::read(&path).unwrap(), names()), (before, 1));

    // The draft of a killed run is replaced.
    std::fs::write(dir.path().join(".mine.run.jsonl.draft"), "cut").unwrap();
    let mut third = RecordWriter::create(&path, false).unwrap();
    third.keep().unwrap();
    assert!(!third.is_draft());
    third.write(&lines()[0]).unwrap();
    assert!(matches!(
        check_record_place(&path),
        Err(WriteError::InUse(_))
    ));
    third.finish().unwrap();
    assert_eq!(names(), 1);
    assert_eq!(read_record(&path).unwrap().run, testing::record().run);

    // Also without an older record, if other files of that run are there.
    let path = dir.path().join("other.run.jsonl");
    drop(RecordWriter::create(&path, true).unwrap());
    assert!(!path.exists());
}

#[test]
fn a_cut_record_keeps_its_complete_lines_and_can_be_resumed() {
    let whole = text();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.run.jsonl");
    std::fs::write(&path, &whole[..whole.len() - 40]).unwrap();
    let record = read_record(&path).unwrap();
    assert!(record.cut.is_some() && record.end.is_none());
    assert_eq!(record.points.len(), 12);
    assert_eq!(record.verdict().label(), "INVALID");

    let before = std::fs::read(&path).unwrap();
    let mut writer = RecordWriter::go_on(&path).unwrap();
    writer.write(lines().last().unwrap()).unwrap();
    assert!(matches!(
        RecordWriter::go_on(&path),
        Err(WriteError::InUse(_))
    ));
    // Until it is kept, nothing has changed.
    assert_eq!(std::fs::read(&path).unwrap(), before);
    writer.keep().unwrap();
    writer.finish().unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    let record = read_record(&path).unwrap();
    assert_eq!(record.cut, None);
    assert_eq!(record.end.unwrap().outcome, Outcome::Complete);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
}

#[test]
fn of_concurrent_resumes_one_gets_the_record() {
    let whole = text();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.run.jsonl");
    let cut = &whole[..whole.len() - 40];
    let kept = &cut[..=cut.rfind('\n').unwrap()];
    for _ in 0..20 {
        std::fs::write(&path, cut).unwrap();
        let barrier = std::sync::Barrier::new(8);
        let writers: Vec<_> = std::thread::scope(|scope| {
            let begin = || {
                barrier.wait();
                RecordWriter::go_on(&path)
            };
            let all: Vec<_> = (0..8).map(|_| scope.spawn(begin)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let (good, refused): (Vec<_>, Vec<_>) = writers.into_iter().partition(Result::is_ok);
        assert_eq!((good.len(), refused.len()), (1, 7));
        let in_use = |one: &Result<_, _>| matches!(one, Err(WriteError::InUse(_)));
        assert!(refused.iter().all(in_use));
        for mut writer in good.into_iter().flatten() {
            writer.keep().unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), kept);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
    // A record that is being written is not resumed, and no draft stays.
    let writer = std::fs::File::open(&path).unwrap();
    writer.try_lock().unwrap();
    assert!(matches!(
        RecordWriter::go_on(&path),
        Err(WriteError::InUse(_))
    ));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn other_versions_and_invalid_files_are_rejected_with_a_reason() {
    let other = text().replacen("\"schema\":1", "\"schema\":2", 1);
    let message = read(&other).unwrap_err().to_string();
    assert!(message.contains("schema version 2"), "{message}");
    for nonsense in [
        "",
        "\n",
        "hello\n",
        "{\"type\":\"end\"}\n",
        "{\"type\":\"run\"",
    ] {
        assert!(
            matches!(read(nonsense), Err(ReadError::NoRun(_))),
            "{nonsense}"
        );
    }
    let lacking = "{\"type\":\"run\",\"schema\":1}\n";
    let message = read(lacking).unwrap_err().to_string();
    assert!(message.starts_with("r.jsonl:1: "), "{message}");
    let first = text().lines().next().unwrap().to_owned();
    let message = read(&format!("{first}\ngarbage\n{first}\n"))
        .unwrap_err()
        .to_string();
    assert!(message.starts_with("r.jsonl:2: "), "{message}");
    let changed = first.replacen("\"fingerprint\":\"", "\"fingerprint\":\"0", 1);
    assert!(read(&format!("{first}\n{first}\n")).is_ok());
    assert!(matches!(
        read(&format!("{first}\n{changed}\n")),
        Err(ReadError::Line { line: 2, .. })
    ));
}

/// The lines of a record as text, with a change to them.
fn changed(change: impl Fn(&mut Vec<String>)) -> Result<RunRecord, ReadError> {
    let mut all: Vec<String> = text().lines().map(str::to_owned).collect();
    change(&mut all);
    read(&(all.join("\n") + "\n"))
}

#[test]
fn lines_occur_once_in_order_and_none_after_the_end() {
    let is_point = |line: &String| line.starts_with("{\"type\":\"point\"");
    assert!(changed(|_| {}).is_ok());
    let error = |change: &dyn Fn(&mut Vec<String>)| changed(change).unwrap_err().to_string();
    // The same point twice: the last one would replace the first.
    let twice = error(&|all| {
        let at = all.iter().rposition(is_point).unwrap();
        all.insert(at, all[at].clone());
    });
    assert!(twice.contains("each must occur once"), "{twice}");
    let swapped = error(&|all| {
        let at = all.iter().position(is_point).unwrap();
        let next = all.iter().skip(at + 1).position(is_point).unwrap() + at + 1;
        all.swap(at, next);
    });
    assert!(
        swapped.contains("each must occur once, in order"),
        "{swapped}"
    );
    let behind = error(&|all| {
        let at = all.iter().position(is_point).unwrap();
        all.push(all[at].clone());
    });
    assert!(behind.contains("after the end"), "{behind}");
    // A resumed run measures no point twice.
    let again = error(&|all| {
        all.pop();
        let at = all.iter().position(is_point).unwrap();
        let again = [all[0].clone(), all[at].clone()];
        all.extend(again);
    });
    assert!(again.contains("each must occur once"), "{again}");
}

/// The lines of a run that was interrupted in its third load point, and was resumed.
fn resumed() -> Vec<Line> {
    let mut all = Vec::new();
    let mut rest = Vec::new();
    for line in lines() {
        match line {
            Line::Point(point) if point.load.number == 3 => {
                let mut failed = point.clone();
                failed.status = PointStatus::Failed {
                    reason: "interrupted".into(),
                };
                failed.stats = None;
                all.push(Line::Point(failed));
                rest.push(Line::Point(point));
            }
            Line::Phase(phase) if phase.point == 3 => {
                all.push(Line::Phase(phase.clone()));
                rest.push(Line::Phase(phase));
            }
            line if rest.is_empty() => all.push(line),
            line => rest.push(line),
        }
    }
    let Some(Line::End(end)) = rest.last() else {
        panic!("a record has an end");
    };
    let mut early = end.clone();
    early.outcome = Outcome::Interrupted;
    early.wall_seconds = 100.0;
    let at = early.at;
    for message in ["too little memory", "too little memory", "no space"] {
        all.push(Line::Event(Event {
            at,
            host: "client-a".into(),
            message: message.into(),
            rule: Some(Rule::Resources),
        }));
    }
    all.push(Line::End(early));
    let mut again = testing::record().run;
    again.started = at.plus_seconds(60.0);
    all.push(Line::Run(Box::new(again)));
    all.extend(rest);
    all
}

#[test]
fn a_resumed_run_keeps_only_measured_load_points() {
    let text = |lines: &[Line]| -> String {
        let json = |line: &Line| serde_json::to_string(line).unwrap() + "\n";
        lines.iter().map(json).collect()
    };
    let all = resumed();
    let record = read(&text(&all)).unwrap();
    assert_eq!(record.points.len(), testing::record().points.len());
    assert!(record.points[2].measured().is_some());
    let runs = record.phases.iter();
    let runs = runs.filter(|p| p.point == 3 && p.phase == Phase::Run);
    assert_eq!(runs.count(), 1, "the attempt that was cut is left out");
    assert_eq!(record.restarts.len(), 1);
    assert_eq!(record.restarts[0].point_count, 2);
    assert_eq!(record.restarts[0].seconds_before, 100.0);
    // The hosts of the first piece, and the warnings on the run in it.
    let hosts = &record.restarts[0].environments;
    assert_eq!(*hosts, testing::record().environments);
    let warnings = record.warnings_of_events();
    let warnings: Vec<&str> = warnings.iter().map(|f| f.message.as_str()).collect();
    assert_eq!(warnings, ["too little memory", "no space"]);
    let pieces = record.pieces().unwrap();
    assert!(pieces.contains("2 pieces"), "{pieces}");
    assert!(pieces.contains("after load point 2"), "{pieces}");
    assert_eq!(testing::record().pieces(), None);
    // After a regular end the run cannot be resumed.
    let complete: Vec<Line> = all
        .into_iter()
        .map(|line| match line {
            Line::End(end) => Line::End(End {
                outcome: Outcome::Complete,
                ..end
            }),
            line => line,
        })
        .collect();
    let error = read(&text(&complete)).unwrap_err().to_string();
    assert!(error.contains("after the end"), "{error}");
}

#[test]
fn a_point_that_was_measured_again_replaces_the_first() {
    let mut record = testing::record();
    let again = record.points[2].clone();
    record.push(Line::Point(Box::new(again)));
    assert_eq!(record.points.len(), 12);
}

#[test]
fn the_fingerprint_is_of_the_plan_alone() {
    let plan = testing::plan();
    let print = crate::fingerprint(&plan);
    assert_eq!(print.len(), 64);
    assert_eq!(print, crate::fingerprint(&plan.clone()));
    let mut other = plan.clone();
    other.seed += 1;
    assert_ne!(print, crate::fingerprint(&other));
    let mut renamed = plan.clone();
    renamed.parameters.push(("SUFFIX".into(), "other".into()));
    assert_eq!(print, crate::fingerprint(&renamed), "the same work");
}

/// First lines of runs of every composite benchmark that ships.
fn shipped_composites() -> Vec<Line> {
    let registry = filermark_model::Registry::shipped();
    let names = registry.composite_names();
    let line = |name: &&str| {
        let mut run = testing::composite::stream_record().run;
        run.plan.benchmark = registry.composite(name).unwrap();
        run.plan.clock_service = Some(filermark_model::plan::ClockServicePlan {
            host: "pit".into(),
            port: 2010,
        });
        run.plan.driver = DriverPlan::Posix(PosixPlan {
            open_files_max: Some(9),
            custom: [vec!["/bin/true".into(), "x".into()], Vec::new()],
            ..PosixPlan::default()
        });
        Line::Run(Box::new(run))
    };
    names.iter().map(line).collect()
}

/// The plans of all classical benchmarks, over their transports.
fn shipped_classics() -> Vec<Line> {
    let named = filermark_model::benchmark::SHIPPED.iter();
    let line = |(name, _): &(&str, &str)| {
        let Some(Line::Run(mut run)) = lines().into_iter().find(|l| matches!(l, Line::Run(_)))
        else {
            panic!("a record begins with its run");
        };
        run.plan.benchmark = filermark_model::Benchmark::shipped(name).unwrap();
        if run.plan.benchmark.protocol.is_sequential() {
            run.plan.driver = DriverPlan::Smb(testing::smb_plan("geheim"));
        }
        if let (DriverPlan::Nfs(nfs), Some(version)) = (
            &mut run.plan.driver,
            run.plan.benchmark.protocol.nfs_version(),
        ) {
            nfs.version = version;
            nfs.transport = Transport::Udp;
        }
        Line::Run(run)
    };
    named.map(line).collect()
}

/// Plans as earlier builds wrote them are read.
#[test]
fn a_driver_by_its_former_name_is_version_3_over_tcp() {
    let mut value = serde_json::to_value(testing::plan().driver).unwrap();
    let fields = value.as_object_mut().unwrap();
    for newer in ["version", "transport", "udp_timeout_ms"] {
        assert!(fields.remove(newer).is_some());
    }
    fields.insert("name".into(), "nfs3".into());
    let driver: DriverPlan = serde_json::from_value(value).unwrap();
    assert_eq!(driver, testing::plan().driver);
}

/// Every line that we write matches the published schema, and the schema rejects invalid
/// lines.
#[test]
fn the_published_schema_describes_every_line() {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    compiler.add_resource("mem://record.json", schema).unwrap();
    let index = compiler.compile("mem://record.json", &mut schemas).unwrap();
    let mut kinds = std::collections::BTreeSet::new();
    let mut all = lines();
    all.push(with_inputs());
    all.extend(testing::other_lines());
    all.extend(testing::composite::composite_lines());
    all.extend(testing::composite::stream_lines());
    all.extend(shipped_composites());
    all.extend(open_ended());
    all.extend(shipped_classics());
    for line in all {
        let mut value = serde_json::to_value(&line).unwrap();
        kinds.insert(value["type"].to_string());
        if let Err(e) = schemas.validate(&value, index) {
            panic!("{e:#}");
        }
        value["surprise"] = 1.into();
        assert!(schemas.validate(&value, index).is_err());
    }
    assert_eq!(kinds.len(), 8, "{kinds:?}");
}

/// Lines of a run of netmist's without a rate.
fn open_ended() -> [Line; 2] {
    let record = testing::composite::composite_record();
    let mut run = record.run;
    run.plan.phases.runtime_max = Some(filermark_model::Nanos::from_secs(14_400));
    if let filermark_model::benchmark::Work::Composite(work) = &mut run.plan.benchmark.work {
        work.components[0].buckets = filermark_model::bucket::MadeBuckets::Reached;
    }
    let mut phase = record.phases[0].clone();
    phase.percents = vec![phase.began, phase.ended];
    [Line::Run(Box::new(run)), Line::Phase(phase)]
}

/// The first line of a run that read an rc file with a password, and a mix file.
fn with_inputs() -> Line {
    let input = |option: &str, name: &str, text: &str| {
        filermark_model::InputFile::of(option, Path::new(name), text)
    };
    let rc = input("-r", "sfs_rc", "LOAD=1\nPASSWORD=x\n");
    let mix = input("MIXFILE", "a/mix", "read 1\n");
    let header = testing::record().run.with_inputs(vec![rc, mix]);
    Line::Run(Box::new(header))
}

#[test]
fn inputs_are_read_back_and_older_records_have_none() {
    let line = serde_json::to_string(&with_inputs()).unwrap();
    assert!(line.contains(r#""secret_line_count":1"#), "{line}");
    let inputs = read(&(line + "\n")).unwrap().run.inputs.unwrap();
    assert_eq!((inputs.len(), inputs[1].name.as_str()), (2, "mix"));
    assert_eq!(read(&text()).unwrap().run.inputs, None);
}

#[test]
fn the_fingerprint_of_a_definition_follows_its_figures() {
    let mut registry = filermark_model::Registry::shipped();
    let print = |r: &filermark_model::Registry, name: &str| {
        crate::definition_fingerprint(&r.composite(name).unwrap())
    };
    let (hex, digits) = print(&registry, "VDI");
    assert_eq!(hex.len(), 64);
    let first = u64::from_str_radix(&hex[..16], 16).unwrap();
    assert_eq!(u64::from(digits), first % 100_000);
    assert_eq!(print(&registry, "vdi"), (hex.clone(), digits));
    let mut changed = registry.workload("VDI").unwrap().clone();
    changed.attributes.write_commit_pcnt = 99.0;
    registry.put_workload(changed);
    assert_ne!(print(&registry, "VDI").0, hex);
}
