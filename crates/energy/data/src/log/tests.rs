//! The log as a file: written lines are read again, truncated and invalid lines are reported
//! with their number, and all lines match the published schema.

use super::*;
use proptest::prelude::*;
use std::path::Path;

const SCHEMA: &str = include_str!("../../schema/energy-log-v1.json");

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_unix_seconds(1_520_000_000.0 + seconds)
}

fn head() -> LogLine {
    LogLine::Energy(Box::new(Head {
        schema: SCHEMA_VERSION,
        program: "filermark".into(),
        version: "0.1.0".into(),
        started: at(0.0),
        host: "lab".into(),
        notice: filermark_model::NOT_A_SPEC_RESULT.into(),
        lab: Lab::default(),
    }))
}

fn source(id: u32) -> LogLine {
    LogLine::Source(Source {
        id,
        kind: SourceKind::Meter,
        name: "psu".into(),
        location: "wt.csv".into(),
        role: Role::Server,
        simulated: false,
        interval_s: None,
        digits: Default::default(),
        instrument: Default::default(),
        clock: ClockFacts::default(),
    })
}

fn port(port: u32, source: u32) -> LogLine {
    LogLine::Port(Port {
        port,
        source,
        agent: [10, 0, 0, 248].into(),
        sub_agent: 0,
        if_index: 24,
        name: None,
        speed_bits_per_s: None,
    })
}

fn readings(source: u32) -> LogLine {
    LogLine::Readings(Readings {
        source,
        at: at(1.0),
        values: [(Quantity::Power, 535.0)].into(),
        tag: None,
    })
}

fn written(lines: &[LogLine]) -> Vec<u8> {
    let mut writer = LogWriter::new(Vec::new(), Path::new("lab"));
    for line in lines {
        writer.line(line).expect("memory");
    }
    writer.end(at(9.0)).expect("memory")
}

fn read(bytes: &[u8]) -> (Vec<LogLine>, Option<ReadError>, Option<u64>) {
    let mut log = Log::new(bytes, Path::new("lab"));
    let mut lines = Vec::new();
    let error = loop {
        match log.next_line() {
            Ok(Some(line)) => lines.push(line),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    (lines, error, log.cut())
}

fn refused(bytes: &[u8], what: &str) {
    let (_, error, _) = read(bytes);
    let message = error.expect(what).to_string();
    assert!(message.contains(what), "{message}");
}

#[test]
fn a_truncated_log_loses_its_last_line_with_a_notice() {
    let whole = written(&[head(), source(0), readings(0)]);
    let (lines, error, cut) = read(&whole);
    assert!(error.is_none() && cut.is_none());
    let Some(LogLine::End(end)) = lines.last() else {
        panic!("{lines:?}");
    };
    assert_eq!((end.readings, end.samples), (1, 0));
    let third = whole.len() - whole.rsplit(|b| *b == b'\n').nth(1).expect("a line").len() - 1;
    for length in third + 1..whole.len() - 2 {
        let (lines, error, cut) = read(&whole[..length]);
        assert!(error.is_none(), "{error:?}");
        assert_eq!((lines.len(), cut), (3, Some(4)), "{length}");
    }
    // A last line without its line feed is complete.
    assert_eq!(read(&whole[..whole.len() - 1]).0.len(), 4);
    // In the middle it is an error.
    let mut middle = whole[..third - 5].to_vec();
    middle.push(b'\n');
    refused(&middle, "lab:3: not a line of an energy log");
}

#[test]
fn other_files_and_invalid_lines_are_refused() {
    refused(b"", "not an energy log");
    refused(b"CNTR,10.0.0.248\n", "filermark energy import");
    refused(&written(&[source(0)]), "not an energy log");
    refused(
        &written(&[head(), head()]),
        "lab:2: not a line of an energy log: a second first line",
    );
    refused(
        &written(&[head(), readings(7)]),
        "source 7 was not declared",
    );
    refused(
        &written(&[head(), source(0), source(0)]),
        "source 0 is declared twice",
    );
    refused(&written(&[head(), port(0, 3)]), "source 3 was not declared");
    let traffic = LogLine::Traffic(Traffic {
        source: 0,
        at: at(0.0),
        tag: None,
        samples: vec![PortSample {
            after_us: 0,
            interval_us: 1,
            port: 5,
            in_bytes: None,
            out_bytes: Some(1),
            bad_packets: None,
        }],
    });
    refused(
        &written(&[head(), source(0), traffic]),
        "port 5 was not declared",
    );
    let schema = String::from_utf8(written(&[head()])).expect("text");
    let other = schema.replacen("\"schema\":1", "\"schema\":7", 1);
    refused(
        other.as_bytes(),
        "schema version 7, and this program reads version 1",
    );
    let nothing = "{\"type\":\"traffic\",\"source\":0,\"at\":\"2018-03-04T00:00:00Z\",\"samples\":[[0,0,0,1,1,0]]}\n";
    let text = String::from_utf8(written(&[head(), source(0), port(0, 0)])).expect("text");
    let cut = text.rfind("{\"type\":\"end\"").expect("an end");
    refused(
        format!("{}{nothing}", &text[..cut]).as_bytes(),
        "an interval of 0",
    );
    let mut long = written(&[head()]);
    long.resize(long.len() + LINE_LEN_MAX + 1, b' ');
    refused(&long, "longer than 16777216 bytes");
}

#[test]
fn a_log_is_never_overwritten() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("lab.energy.jsonl");
    let mut writer = LogWriter::create(&path).expect("new");
    writer.line(&head()).expect("written");
    writer.end(at(1.0)).expect("written");
    let error = LogWriter::create(&path)
        .expect_err("there is one")
        .to_string();
    assert!(error.contains("exists already"), "{error}");
    let lines: Result<Vec<_>, _> = Log::open(&path).expect("there").collect();
    assert_eq!(lines.expect("sound").len(), 2);
}

fn stamps() -> impl Strategy<Value = Timestamp> {
    (0..4_000_000_000_u32).prop_map(|s| Timestamp::from_unix_seconds(f64::from(s) + 0.25))
}

fn figures() -> impl Strategy<Value = f64> {
    -1e9..1e9_f64
}

fn phases() -> impl Strategy<Value = EnergyPhase> {
    prop::sample::select(EnergyPhase::ALL.to_vec())
}

fn tags() -> impl Strategy<Value = Option<Tag>> {
    let tag = (any::<u32>(), any::<u32>(), phases());
    prop::option::of(tag.prop_map(|(run, point, phase)| Tag { run, point, phase }))
}

fn labs() -> impl Strategy<Value = Lab> {
    let option = || prop::option::of(figures());
    let ports = prop::collection::vec("\\PC{0,9}", 0..3);
    let text = || prop::option::of("\\PC{0,9}");
    let texts = (text(), text(), text());
    (
        prop::option::of(any::<u32>()),
        option(),
        option(),
        ports,
        texts,
    )
        .prop_map(
            |(drives, raw_capacity_gb, nominal_voltage_v, ports, (name, firmware, place))| Lab {
                drives,
                raw_capacity_gb,
                nominal_voltage_v,
                ports,
                product: Product {
                    name,
                    firmware,
                    ..Product::default()
                },
                place,
                measured_by: None,
            },
        )
}

fn sources() -> impl Strategy<Value = Source> {
    let kinds = vec![SourceKind::Meter, SourceKind::Sensor, SourceKind::Sflow];
    let roles = vec![Role::Server, Role::Client, Role::Other];
    let added = prop::option::of(figures());
    let clock = (figures(), prop::option::of(figures()), "\\PC{0,9}", added);
    (
        prop::sample::select(kinds),
        prop::sample::select(roles),
        "\\PC{0,9}",
        any::<bool>(),
        prop::option::of(figures()),
        clock,
    )
        .prop_map(|(kind, role, name, simulated, interval_s, clock)| Source {
            id: 1,
            kind,
            location: name.clone(),
            name,
            role,
            simulated,
            interval_s,
            digits: Default::default(),
            instrument: Default::default(),
            clock: ClockFacts {
                offset_s: clock.0,
                bound_s: clock.1,
                how: clock.2,
                added_s: clock.3,
            },
        })
}

fn ports() -> impl Strategy<Value = Port> {
    let name = prop::option::of("\\PC{0,9}");
    let speed = prop::option::of(any::<u64>());
    (
        any::<std::net::IpAddr>(),
        any::<u32>(),
        any::<u32>(),
        name,
        speed,
    )
        .prop_map(
            |(agent, sub_agent, if_index, name, speed_bits_per_s)| Port {
                port: 1,
                source: 1,
                agent,
                sub_agent,
                if_index,
                name,
                speed_bits_per_s,
            },
        )
}

fn points() -> impl Strategy<Value = MergedPoint> {
    let option = || prop::option::of(figures());
    let begin = (phases(), stamps()).prop_map(|(phase, at)| PhaseBegin { phase, at });
    (
        any::<u32>(),
        (option(), option(), option(), option()),
        prop::option::of(any::<bool>()),
        prop::collection::vec(begin, 0..4),
        prop::option::of(stamps()),
        (prop::collection::vec(figures(), 0..3), option()),
    )
        .prop_map(
            |(number, figures, valid, phases, run_ended, moved)| MergedPoint {
                number,
                load: figures.0,
                achieved_ops_per_s: figures.1,
                client_mib_per_s: figures.2,
                latency_ms_mean: figures.3,
                valid,
                phases,
                run_ended,
                throughput_mib_per_s: moved.0,
                throughput_step_s: moved.1,
            },
        )
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let count = || prop::option::of(any::<u64>());
    let sample = (any::<i64>(), 1..u64::MAX, count(), count(), count()).prop_map(
        |(after_us, interval_us, in_bytes, out_bytes, bad_packets)| PortSample {
            after_us,
            interval_us,
            port: 1,
            in_bytes,
            out_bytes,
            bad_packets,
        },
    );
    (stamps(), tags(), prop::collection::vec(sample, 0..5)).prop_map(|(at, tag, samples)| Traffic {
        source: 1,
        at,
        tag,
        samples,
    })
}

fn events() -> impl Strategy<Value = LogEvent> {
    use EventKind::{ClockJump, Gap, Invalid, Lost, Note, Recovered, Restart};
    let kinds = vec![Recovered, Invalid, ClockJump, Gap, Lost, Note, Restart];
    let source = prop::option::of(any::<u32>());
    (stamps(), source, prop::sample::select(kinds), "\\PC{0,30}").prop_map(
        |(at, source, what, message)| LogEvent {
            at,
            source,
            what,
            message,
        },
    )
}

fn values() -> impl Strategy<Value = BTreeMap<Quantity, f64>> {
    let quantity = prop::sample::select(Quantity::ALL.to_vec());
    prop::collection::btree_map(quantity, figures(), 0..10)
}

proptest! {
    /// Every type of line is read back unchanged, and matches the schema; the schema refuses
    /// unknown fields.
    #[test]
    fn all_lines_are_read_back_unchanged(
        (lab, text, started) in (labs(), "\\PC{0,9}", stamps()),
        (source, port) in (sources(), ports()),
        points in prop::collection::vec(points(), 0..3),
        (values, tag, traffic) in (values(), tags(), traffic()),
        event in events(),
    ) {
        let LogLine::Energy(mut first) = head() else {
            return Ok(());
        };
        (first.lab, first.host, first.started) = (lab, text.clone(), started);
        let lines = [
            LogLine::Energy(first),
            LogLine::Source(source),
            LogLine::Port(port),
            LogLine::Run(Box::new(MergedRun {
                run: 0,
                name: text.clone(),
                location: text.clone(),
                fingerprint: text.clone(),
                benchmark: text.clone(),
                load_unit: text,
                began: started,
                ended: tag.map(|_| started),
                cut_after: Vec::new(),
                points,
            })),
            LogLine::Readings(Readings { source: 1, at: started, values, tag }),
            LogLine::Traffic(traffic),
            LogLine::Event(event),
        ];
        let bytes = written(&lines);
        let (back, error, cut) = read(&bytes);
        prop_assert!(error.is_none() && cut.is_none(), "{:?}", error);
        prop_assert_eq!(&back[..lines.len()], &lines);
        prop_assert_eq!(back.len(), lines.len() + 1);

        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).expect("JSON");
        compiler.add_resource("mem://log.json", schema).expect("added");
        let index = compiler.compile("mem://log.json", &mut schemas).expect("a schema");
        for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            let mut value: serde_json::Value = serde_json::from_slice(line).expect("JSON");
            if let Err(error) = schemas.validate(&value, index) {
                prop_assert!(false, "{}", error);
            }
            value["surprise"] = 1.into();
            prop_assert!(schemas.validate(&value, index).is_err());
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        cut in 0..400_usize,
    ) {
        let mut log = written(&[head(), source(0), port(0, 0), readings(0)]);
        log.truncate(cut);
        log.extend_from_slice(&bytes);
        let _ = read(&log);
        let _ = read(&bytes);
    }
}
