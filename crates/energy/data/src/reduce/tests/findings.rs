//! Findings of the rules.

use super::*;

#[test]
fn missing_fields_of_the_worksheet_and_old_calibrations_are_reported() {
    let mut lab = lab(&["24-25"]);
    let lacks = |lab: &Lab, instrument: Instrument| {
        let mut lines = Lines::new(lab.clone(), run(1));
        let LogLine::Source(mut source) = source(1, SourceKind::Meter, Role::Server) else {
            panic!("a source");
        };
        source.instrument = Box::new(instrument);
        lines.push(LogLine::Source(source));
        for second in 0..400 {
            lines.reading(1, f64::from(second), Quantity::Power, 500.25);
        }
        let reduced = lines.reduce();
        let found = of_rule(&reduced.findings, EnergyRule::Disclosure);
        let parts = |f: &&EnergyFinding| (f.severity, f.message.clone());
        found.iter().map(parts).collect::<Vec<_>>()
    };
    let found = lacks(&lab, Instrument::default());
    assert_eq!((found.len(), found[0].0), (1, Severity::Note));
    for word in [
        "product.vendor",
        "product.firmware",
        "place",
        "make/model/serial/calibrated of meter source 1",
    ] {
        assert!(found[0].1.contains(word), "{word}: {found:?}");
    }
    for field in lab.product.fields_mut() {
        *field = Some("given".into());
    }
    lab.place = Some("here".into());
    lab.measured_by = Some("us".into());
    let mut instrument = Instrument {
        make: Some("Yokogawa".into()),
        model: Some("WT310E".into()),
        serial: Some("C3".into()),
        firmware: None,
        calibrated: Some("2017-11-06".into()),
    };
    assert_eq!(lacks(&lab, instrument.clone()), []);
    for (day, words) in [
        ("2016-01-01", "(limit 366)"),
        ("2019-01-01", "after the measurement"),
    ] {
        instrument.calibrated = Some(day.into());
        let found = lacks(&lab, instrument.clone());
        assert_eq!((found.len(), found[0].0), (1, Severity::Warning));
        assert!(found[0].1.contains(words), "{found:?}");
    }
}

#[test]
fn a_step_of_the_clock_is_reported_at_any_time() {
    for seconds in [-5000.0, 100.0, 9000.0] {
        let mut lines = swbuild(&["24-25"]);
        lines.push(LogLine::Event(LogEvent {
            at: at(seconds),
            source: None,
            what: EventKind::ClockJump,
            message: "the clock was set by 3600 s".into(),
        }));
        assert_eq!(
            of_rule(&lines.reduce().findings, EnergyRule::Clock).len(),
            1
        );
    }
}

#[test]
fn the_rules_of_the_programme_give_findings() {
    let reduced = metered(&[(1, Role::Server, &|s| Some(500.0 + s))], 10);
    let found = &reduced.points[0].findings;
    let message = |rule| of_rule(found, rule)[0].message.clone();
    assert!(message(EnergyRule::SampleInterval).contains("10.0 s apart"));
    assert!(message(EnergyRule::Stability).contains("+42"), "{found:?}");

    let mut lines = Lines::new(lab(&[]), run(1));
    lines.source(1, SourceKind::Meter, Role::Server);
    lines.source(2, SourceKind::Sensor, Role::Server);
    for second in 0..400 {
        let seconds = f64::from(second);
        lines.reading(1, seconds, Quantity::Power, 500.0);
        lines.reading(1, seconds + 0.1, Quantity::Voltage, 200.0);
        lines.reading(1, seconds + 0.2, Quantity::Frequency, 50.4);
        lines.reading(2, seconds, Quantity::Temperature, 31.5);
        lines.reading(2, seconds + 0.1, Quantity::Humidity, 12.0);
    }
    lines.push(LogLine::Event(LogEvent {
        at: at(200.0),
        source: Some(1),
        what: EventKind::Restart,
        message: "counted from zero again".into(),
    }));
    let reduced = lines.reduce();
    let found = &reduced.points[0].findings;
    let messages = |rule| of_rule(found, rule).len();
    assert_eq!(messages(EnergyRule::Environment), 2, "{found:?}");
    assert_eq!(messages(EnergyRule::Supply), 1, "{found:?}");
    let supply = &of_rule(found, EnergyRule::Supply)[0].message;
    assert!(supply.contains("13.0 % off 230 V"), "{supply}");
    assert_eq!(messages(EnergyRule::Data), 1, "{found:?}");
}

#[test]
fn runs_at_one_time_do_not_count_and_logs_without_runs_are_refused() {
    let two = vec![swbuild(&["24"]).log(), swbuild(&["24"]).log()];
    // Logs of one path are treated as one; give the second another path.
    let [first, second] = <[_; 2]>::try_from(two).unwrap_or_else(|_| unreachable!());
    let text = |mut log: Log<std::io::Cursor<Vec<u8>>>| {
        let mut lines = Vec::new();
        while let Some(line) = log.next_line().expect("a line") {
            lines.push(line);
        }
        lines
    };
    let mut writer = LogWriter::new(Vec::new(), Path::new("other"));
    for line in text(second) {
        if !matches!(line, LogLine::End(_)) {
            writer.line(&line).expect("memory");
        }
    }
    let other = writer.end(at(0.0)).expect("memory");
    let other = Log::new(std::io::Cursor::new(other), Path::new("other"));
    let reduced = reduce_logs(vec![first, other], &ReduceOptions::default()).expect("reduced");
    for workload in &reduced.workloads {
        let overlap = of_rule(&workload.findings, EnergyRule::Overlap);
        assert_eq!(overlap[0].severity, Severity::Invalid);
    }
    let missing = of_rule(&reduced.findings, EnergyRule::Coverage);
    assert!(missing[0].message.ends_with("missing: VDA, VDI, DATABASE"));
}

#[test]
fn the_workloads_of_the_programme_are_shipped() {
    let registry = filermark_model::Registry::shipped();
    for name in WORKLOADS {
        assert!(registry.composite_names().contains(&name), "{name}");
    }
}
