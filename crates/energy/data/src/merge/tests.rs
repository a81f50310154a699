use super::*;
use crate::log::{
    EnergyPhase, Head, Lab, Log, LogLine, LogWriter, MergedRun, Port, PortSample, Readings, Source,
    SourceKind, Tag, Traffic,
};
use crate::reading::Quantity;
use filermark_results::record::PhaseRecord;
use filermark_results::testing::composite::composite_record;
use filermark_results::{Phase, Restart, RunRecord, Timestamp};
use std::path::Path;

/// A log with a meter (a reading a second) and an interface (a sample a second) over
/// `seconds` from `begin`, in one line of traffic.
fn log_text(begin: Timestamp, seconds: i64, offset_s: f64) -> Vec<u8> {
    let mut writer = LogWriter::new(Vec::new(), Path::new("test"));
    let mut line = |line: &LogLine| writer.line(line).expect("memory");
    line(&LogLine::Energy(Box::new(head(begin))));
    for (id, kind) in [(4, SourceKind::Meter), (9, SourceKind::Sflow)] {
        let mut source = Source {
            id,
            kind,
            name: format!("s{id}"),
            location: "here".into(),
            role: Default::default(),
            simulated: false,
            interval_s: Some(1.0),
            digits: Default::default(),
            instrument: Default::default(),
            clock: Default::default(),
        };
        source.clock.offset_s = offset_s;
        line(&LogLine::Source(source));
    }
    line(&LogLine::Port(Port {
        port: 7,
        source: 9,
        agent: [10, 0, 0, 248].into(),
        sub_agent: 0,
        if_index: 24,
        name: None,
        speed_bits_per_s: None,
    }));
    let sample = |second: i64| PortSample {
        after_us: second * 1_000_000,
        interval_us: 1_000_000,
        port: 7,
        in_bytes: Some(1 << 20),
        out_bytes: Some(1 << 20),
        bad_packets: Some(0),
    };
    line(&LogLine::Traffic(Traffic {
        source: 9,
        at: begin.plus_seconds(-offset_s),
        tag: None,
        samples: (0..seconds).map(sample).collect(),
    }));
    for second in 0..seconds {
        line(&LogLine::Readings(Readings {
            source: 4,
            at: begin.plus_seconds(second as f64 - offset_s),
            values: [(Quantity::Power, 500.0)].into(),
            tag: None,
        }));
    }
    writer.end(begin).expect("memory")
}

fn head(started: Timestamp) -> Head {
    Head {
        schema: crate::log::SCHEMA_VERSION,
        program: "filermark".into(),
        version: "0".into(),
        started,
        host: "lab".into(),
        notice: filermark_model::NOT_A_SPEC_RESULT.into(),
        lab: Default::default(),
    }
}

fn merged(runs: &[MergedRun], texts: &[Vec<u8>]) -> (Merged, Vec<LogLine>) {
    let open = |text: &Vec<u8>| Log::new(std::io::Cursor::new(text.clone()), Path::new("log"));
    let out = LogWriter::new(Vec::new(), Path::new("merged"));
    let logs = texts.iter().map(open).collect();
    let options = MergeOptions::default();
    let (merged, text) = merge(head(runs[0].began), runs, logs, &options, out).expect("merged");
    let lines = Log::new(text.as_slice(), Path::new("merged"));
    (merged, lines.collect::<Result<_, _>>().expect("a log"))
}

#[test]
fn every_sample_gets_the_phase_of_its_time_with_any_clock_offset() {
    let run = merged_run(&composite_record(), 0, "here");
    let first = run.points[0].began(EnergyPhase::Pre).expect("a begin");
    let (warmup, measured) = (
        run.points[0].began(EnergyPhase::Warmup).expect("WARMUP"),
        run.points[0].measured().expect("RUN"),
    );
    let begin = first.plus_seconds(-20.0);
    for offset_s in [0.0, 3600.0] {
        let (merged, lines) = merged(
            std::slice::from_ref(&run),
            &[log_text(begin, 2000, offset_s)],
        );
        assert_eq!(merged.tagged + merged.outside, 4000);
        let mut power = 0;
        let mut expected_of = |at: Timestamp, tag: Tag| {
            let phase = match at {
                _ if at < first => EnergyPhase::PreTest,
                _ if at >= warmup && at < measured.0 => EnergyPhase::Warmup,
                _ if at >= measured.0 && at < measured.1 => {
                    let share = at.seconds_since(measured.0) / measured.1.seconds_since(measured.0);
                    match share < 0.9 {
                        true => EnergyPhase::Run,
                        false => EnergyPhase::RunTail,
                    }
                }
                _ => return,
            };
            power += 1;
            assert_eq!(tag.phase, phase, "{at}");
            assert_eq!(tag.point, u32::from(at >= first));
        };
        for line in &lines {
            match line {
                LogLine::Readings(r) => expected_of(r.at, r.tag.expect("a tag")),
                LogLine::Traffic(t) => {
                    for sample in &t.samples {
                        // An interval excludes its end.
                        let at = t.at.plus_seconds((sample.after_us - 1) as f64 / 1e6);
                        expected_of(at, t.tag.expect("a tag"));
                    }
                }
                _ => {}
            }
        }
        assert!(power > 100, "{power}");
    }
}

#[test]
fn logs_keep_their_sources_and_ports_apart() {
    let run = merged_run(&composite_record(), 0, "here");
    let text = log_text(run.began, 30, 0.0);
    let (_, lines) = merged(&[run], &[text.clone(), text]);
    let sources: Vec<u32> = lines
        .iter()
        .filter_map(|line| match line {
            LogLine::Source(source) => Some(source.id),
            _ => None,
        })
        .collect();
    assert_eq!(sources, [0, 1, 2, 3]);
    let ports: Vec<(u32, u32)> = lines
        .iter()
        .filter_map(|line| match line {
            LogLine::Port(port) => Some((port.port, port.source)),
            _ => None,
        })
        .collect();
    assert_eq!(ports, [(0, 1), (1, 3)]);
}

/// A log of a host, with a lab.
fn log_of(lab: Lab, host: &str, begin: Timestamp) -> Vec<u8> {
    let text = String::from_utf8(log_text(begin, 30, 0.0)).expect("text");
    let (_, rest) = text.split_once('\n').expect("a first line");
    let mut first = head(begin);
    (first.lab, first.host) = (lab, host.into());
    let first = serde_json::to_string(&LogLine::Energy(Box::new(first))).expect("JSON");
    format!(
        "{first}\n{}",
        rest.replace(
            "\"clock\":{\"offset_s\":0.0}",
            "\"clock\":{\"offset_s\":0.0,\"bound_s\":0.1}"
        )
    )
    .into_bytes()
}

#[test]
fn labs_of_logs_are_joined_or_refused() {
    let run = merged_run(&composite_record(), 0, "here");
    let lab = |drives: Option<u32>, port: &str| Lab {
        drives,
        ports: vec![port.into()],
        ..Lab::default()
    };
    let go = |first: Lab, second: Lab, options: MergeOptions| {
        let text = [first, second].map(|lab| log_of(lab, "lab1", run.began));
        let open = |text: Vec<u8>| Log::new(std::io::Cursor::new(text), Path::new("log"));
        let out = LogWriter::new(Vec::new(), Path::new("merged"));
        let runs = std::slice::from_ref(&run);
        merge(head(run.began), runs, text.map(open).into(), &options, out)
    };
    let lines = |text: &[u8]| -> Vec<LogLine> {
        Log::new(text, Path::new("merged"))
            .map(|line| line.expect("a line"))
            .collect()
    };
    let plain = MergeOptions::default();
    let (_, text) = go(lab(Some(24), "1/1"), lab(None, "2/1"), plain.clone()).expect("merged");
    let LogLine::Energy(first) = &lines(&text)[0] else {
        panic!("no head")
    };
    assert_eq!(
        (first.lab.drives, &first.lab.ports[..]),
        (Some(24), &["1/1".to_owned(), "2/1".into()][..])
    );
    let error = go(lab(Some(24), "1"), lab(Some(28), "1"), plain.clone()).expect_err("differ");
    assert!(
        error
            .to_string()
            .contains("24 and 28; choose with --drives"),
        "{error}"
    );

    // The clock of an unknown host has no bound.
    let bounds = |hosts: &[&str]| -> Vec<bool> {
        let options = MergeOptions {
            prime_hosts: Some(hosts.iter().map(|h| (*h).to_owned()).collect()),
            ..plain.clone()
        };
        let (_, text) = go(lab(None, "1"), lab(None, "1"), options).expect("merged");
        let sources = lines(&text).into_iter().filter_map(|line| match line {
            LogLine::Source(source) => Some(source.clock.bound_s.is_some()),
            _ => None,
        });
        sources.collect()
    };
    assert_eq!(bounds(&["lab1"]), [true; 4]);
    assert_eq!(bounds(&["prime"]), [false; 4]);
}

#[test]
fn samples_far_from_the_run_are_left_out_and_counted() {
    let run = merged_run(&composite_record(), 0, "here");
    let begin = run.began.plus_seconds(-86_400.0);
    let (merged, lines) = merged(&[run], &[log_text(begin, 100, 0.0)]);
    assert_eq!((merged.tagged, merged.outside), (0, 200));
    assert_eq!(merged.span.map(|s| s.0), Some(begin));
    let samples = |line: &&LogLine| matches!(line, LogLine::Readings(_) | LogLine::Traffic(_));
    assert_eq!(lines.iter().filter(samples).count(), 0);
}

/// Makes the RUN phase of a record's first point end this many seconds after its load, and
/// shifts what follows.
fn with_late_answers(record: &mut RunRecord, seconds: f64) {
    let run = |p: &&mut PhaseRecord| p.point == 1 && p.phase == Phase::Run;
    let run = record.phases.iter_mut().find(run).expect("RUN");
    run.ended = run.ended.plus_seconds(seconds);
    let point = record.points.first_mut().expect("a point");
    point.ended = point.ended.max(run.ended);
}

/// The load of RUN ends with its time; the server is idle while late answers arrive.
#[test]
fn run_ends_with_its_load_and_not_with_the_last_answer() {
    let plain = merged_run(&composite_record(), 0, "here");
    let mut record = composite_record();
    with_late_answers(&mut record, 40.0);
    let late = merged_run(&record, 0, "here");
    let (_, plainly) = plain.points[0].measured().expect("RUN");
    let (began, ended) = late.points[0].measured().expect("RUN");
    // The synthetic phase is as long as the planned RUN, the window a little longer.
    let apart = ended.seconds_since(plainly);
    assert!((0.0..0.01).contains(&apart), "{apart}");
    let stats = record.points[0].measured().expect("figures");
    let length = ended.seconds_since(began);
    assert!(
        (length - stats.window_ns as f64 / 1e9).abs() < 0.01,
        "{length}"
    );
    let timeline = Timeline::new(&[late]);
    let phase = |after: f64| timeline.at(ended.plus_seconds(after)).map(|tag| tag.phase);
    assert_eq!(phase(-length * 0.05), Some(EnergyPhase::RunTail));
    assert_eq!(phase(0.5), Some(EnergyPhase::Post));
    // A RUN whose phase was shorter is not made longer.
    let mut record = composite_record();
    with_late_answers(&mut record, -10.0);
    let short = merged_run(&record, 0, "here");
    let (_, end) = short.points[0].measured().expect("RUN");
    assert_eq!(end, plainly.plus_seconds(-10.0));
}

/// The load of an interrupted point is not the POST of the point before.
#[test]
fn samples_after_an_interruption_until_the_next_load_point_are_left_out() {
    let mut record = composite_record();
    record.points[0].ended = record.points[0].ended.plus_seconds(1.0);
    let (first, next) = (record.points[0].ended, record.points[1].began);
    // Part two begins 100 s later than the next point did.
    let later = |at: &mut Timestamp| *at = at.plus_seconds(100.0);
    for phase in record.phases.iter_mut().filter(|p| p.point != 1) {
        later(&mut phase.began);
        later(&mut phase.ended);
    }
    for point in record.points.iter_mut().skip(1) {
        later(&mut point.began);
        later(&mut point.ended);
    }
    record.end.iter_mut().for_each(|end| later(&mut end.at));
    let restarted = next.plus_seconds(95.0);
    record.restarts.push(Restart {
        at: restarted,
        version: record.run.version.clone(),
        point_count: 1,
        seconds_before: 0.0,
        environments: Vec::new(),
    });
    let run = merged_run(&record, 0, "here");
    let cut = run.cut_after[0];
    assert!(
        run.cut_after.len() == 1 && cut >= first && cut <= next,
        "{cut:?}"
    );
    assert_eq!(run.points[1].phases[0].at, restarted);
    let timeline = Timeline::new(std::slice::from_ref(&run));
    let at = |at: Timestamp| timeline.at(at).map(|tag| (tag.point, tag.phase));
    assert_eq!(at(cut.plus_seconds(-0.5)), Some((1, EnergyPhase::Post)));
    assert_eq!(at(cut.plus_seconds(0.5)), None);
    assert_eq!(at(restarted.plus_seconds(-0.5)), None);
    assert_eq!(at(restarted.plus_seconds(0.5)), Some((2, EnergyPhase::Pre)));
    // A meter and an interface with a sample a second each.
    let seconds = restarted.seconds_since(cut) as i64;
    let (merged, _) = merged(&[run], &[log_text(cut, seconds + 50, 0.0)]);
    assert!(
        merged.cut_off.abs_diff(2 * seconds as u64) <= 4,
        "{merged:?} {seconds}"
    );
    assert_eq!(merged.outside, 0);
    assert_eq!(merged.tagged + merged.cut_off, 2 * (seconds as u64 + 50));
}

#[test]
fn a_merged_log_merges_again_to_the_same() {
    let run = merged_run(&composite_record(), 0, "here");
    let text = log_text(run.began, 300, 1.5);
    let out = || LogWriter::new(Vec::new(), Path::new("merged"));
    let once = |text: Vec<u8>| {
        let log = Log::new(std::io::Cursor::new(text), Path::new("log"));
        let runs = [run.clone()];
        let options = MergeOptions::default();
        merge(head(run.began), &runs, vec![log], &options, out()).expect("merged")
    };
    let (first, text) = once(text);
    let (second, again) = once(text.clone());
    assert_eq!(first.in_run, second.in_run);
    let body = |text: &[u8]| {
        let text = String::from_utf8(text.to_vec()).expect("text");
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines[..lines.len() - 1].to_vec()
    };
    assert_eq!(body(&text), body(&again));
}

#[test]
fn overlapping_runs_are_reported_and_samples_between_runs_are_before_the_next() {
    let first = merged_run(&composite_record(), 0, "a");
    let mut second = merged_run(&composite_record(), 1, "b");
    let both = [first.clone(), second.clone()];
    assert_eq!(Timeline::new(&both).overlaps(), [(0, 1)]);
    let later = end_of(&first).seconds_since(first.began) + 1000.0;
    let shift = |at: &mut Timestamp| *at = at.plus_seconds(later);
    shift(&mut second.began);
    second.ended.iter_mut().for_each(shift);
    for point in &mut second.points {
        point.phases.iter_mut().for_each(|b| shift(&mut b.at));
        point.run_ended.iter_mut().for_each(shift);
    }
    let timeline = Timeline::new(&[first.clone(), second.clone()]);
    assert!(timeline.overlaps().is_empty());
    let between = timeline.at(second.began.plus_seconds(-10.0));
    let expected = Tag {
        run: 1,
        point: 0,
        phase: EnergyPhase::PreTest,
    };
    assert_eq!(between, Some(expected));
    assert_eq!(Timeline::default().at(first.began), None);
}

#[test]
fn at_a_change_a_reading_belongs_to_the_next_phase_and_an_interval_to_the_last() {
    let run = merged_run(&composite_record(), 0, "here");
    let (began, ended) = run.points[0].measured().expect("RUN");
    for (moment, reading, interval) in [
        (began, EnergyPhase::Run, EnergyPhase::Warmup),
        (ended, EnergyPhase::Post, EnergyPhase::RunTail),
    ] {
        let (_, lines) = merged(std::slice::from_ref(&run), &[log_text(moment, 1, 0.0)]);
        let tags: Vec<EnergyPhase> = lines
            .iter()
            .filter_map(|line| match line {
                LogLine::Readings(r) => Some(r.tag.expect("a tag").phase),
                LogLine::Traffic(t) => Some(t.tag.expect("a tag").phase),
                _ => None,
            })
            .collect();
        assert_eq!(tags, [interval, reading]);
    }
}

/// An interrupted run, with parts of 1000 s and a gap of a day, and another one.
#[test]
fn a_run_in_the_gap_of_a_resumed_one_is_not_at_the_same_time() {
    let shifted = |number: u32, seconds: f64| {
        let mut run = merged_run(&composite_record(), number, "a");
        let shift = |at: &mut Timestamp| *at = at.plus_seconds(seconds);
        shift(&mut run.began);
        run.ended.iter_mut().for_each(shift);
        for point in &mut run.points {
            point.phases.iter_mut().for_each(|b| shift(&mut b.at));
            point.run_ended.iter_mut().for_each(shift);
        }
        run
    };
    const DAY: f64 = 86_400.0;
    let (mut cut, late) = (shifted(0, 0.0), shifted(0, DAY));
    let end_of_first = cut.points[0].run_ended.expect("measured");
    cut.cut_after = vec![end_of_first];
    cut.ended = late.ended;
    cut.points.splice(1.., late.points[1..].iter().cloned());
    let goes_on = cut.points[1].phases[0].at;
    let spans = spans_of(&cut);
    assert_eq!(spans, [(cut.began, end_of_first), (goes_on, end_of(&late))]);
    let inside = shifted(1, DAY / 2.0);
    let timeline = Timeline::new(&[cut.clone(), inside.clone()]);
    assert!(timeline.overlaps().is_empty());
    // The ends of both runs do not extend into each other.
    let ended = inside.ended.expect("it ended");
    assert_eq!(timeline.at(ended.plus_seconds(60.0)), None);
    let behind = timeline.at(goes_on.plus_seconds(1e-3)).expect("goes on");
    assert_eq!((behind.run, behind.point), (0, 2));
    let last = timeline.at(end_of(&late).plus_seconds(60.0));
    assert_eq!(last.map(|tag| tag.run), Some(0));
    // During the first part, and during the second.
    for seconds in [0.5, DAY] {
        let over = shifted(1, seconds);
        assert_eq!(Timeline::new(&[cut.clone(), over]).overlaps(), [(0, 1)]);
    }
    // A part without a measured load point has no span.
    let mut nothing = cut.clone();
    nothing.cut_after.insert(0, nothing.began);
    nothing.points[0].phases[0].at = nothing.began.plus_seconds(0.1);
    assert_eq!(spans_of(&nothing)[0].0, nothing.points[0].phases[0].at);
    assert_eq!(spans_of(&nothing).len(), 2);
}
