//! Whole collections, with meters and clocks of the tests.

use super::clock::{Clock, HostClock};
use super::collecting::{Collection, CollectionParts};
use super::live_state::LiveState;
use super::socket;
use super::source::WantedSource;
use super::state::CollectorState;
use super::writer::LogSender;
use super::{CollectError, Snapshot};
use crate::meter::{Meter, MeterError, Sample};
use filermark_energy_data::Quantity;
use filermark_energy_data::log::{
    ClockFacts, EventKind, Head, Lab, Log, LogLine, LogWriter, Role, Source, SourceKind,
};
use filermark_energy_data::setup::{Setup, SflowSetup};
use filermark_energy_data::sflow::{Names, PortPattern, Selection, TimeBasis};
use filermark_results::Timestamp;
use std::io::{self, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longest wait in these tests.
const LIMIT: Duration = Duration::from_secs(20);

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_there() {
        assert!(begin.elapsed() < LIMIT, "not there in time: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A meter that answers while it is switched on.
struct Fake {
    on: Arc<AtomicBool>,
    reads: Arc<AtomicUsize>,
    watts: f64,
}

impl Meter for Fake {
    fn read(&mut self) -> Result<Sample, MeterError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        match self.on.load(Ordering::SeqCst) {
            true => Ok(Sample {
                at: None,
                values: vec![(Quantity::Power, self.watts), (Quantity::Voltage, f64::NAN)],
            }),
            false => Err(MeterError {
                source_name: "fake".into(),
                step: "read",
                reason: "no answer within 1 s; is it switched on?".into(),
            }),
        }
    }

    fn is_simulated(&self) -> bool {
        true
    }
}

/// The host's clock, set by a number of seconds.
struct SetClock {
    host: HostClock,
    set_s: AtomicI64,
    looks: AtomicUsize,
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        self.looks.fetch_add(1, Ordering::SeqCst);
        let set_s = self.set_s.load(Ordering::SeqCst) as f64;
        self.host.now().plus_seconds(set_s)
    }

    fn passed(&self) -> Duration {
        self.host.passed()
    }
}

fn set_clock() -> Arc<SetClock> {
    Arc::new(SetClock {
        host: HostClock::new(),
        set_s: AtomicI64::new(0),
        looks: AtomicUsize::new(0),
    })
}

fn fake(id: u32, watts: f64) -> (WantedSource, Arc<AtomicBool>, Arc<AtomicUsize>) {
    let (on, reads) = (Arc::new(AtomicBool::new(true)), Arc::default());
    let meter = Fake {
        on: Arc::clone(&on),
        reads: Arc::clone(&reads),
        watts,
    };
    let source = Source {
        id,
        kind: SourceKind::Meter,
        name: format!("meter {id}"),
        location: "fake:".into(),
        role: Role::Server,
        simulated: false,
        interval_s: Some(0.05),
        digits: Default::default(),
        instrument: Default::default(),
        clock: ClockFacts::default(),
    };
    let wanted = WantedSource {
        source,
        interval: Duration::from_millis(50),
        offset_s: None,
        meter: Box::new(meter),
    };
    (wanted, on, reads)
}

fn parts<W: Write>(
    output: W,
    clock: Arc<dyn Clock>,
    sources: Vec<WantedSource>,
) -> CollectionParts<W> {
    CollectionParts {
        head: Head {
            schema: 1,
            program: "filermark".into(),
            version: "0".into(),
            started: clock.now(),
            host: "here".into(),
            notice: filermark_model::NOT_A_SPEC_RESULT.into(),
            lab: Lab::default(),
        },
        sources,
        sflow: None,
        log: LogWriter::new(output, Path::new("lab.energy.jsonl")),
        clock,
        now: Arc::new(LiveState::default()),
        host_clock: ClockFacts::default(),
    }
}

/// An output that the test can read.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Page {
    fn lines(&self) -> Vec<LogLine> {
        let bytes = self.0.lock().expect("no panic").clone();
        let log = Log::new(bytes.as_slice(), Path::new("lab.energy.jsonl"));
        log.map(|line| line.expect("a line")).collect()
    }

    fn events(&self) -> Vec<(EventKind, String)> {
        let event = |line| match line {
            LogLine::Event(event) => Some((event.what, event.message)),
            _ => None,
        };
        self.lines().into_iter().filter_map(event).collect()
    }

    /// The events without notes of readings that this host left out, as a busy one does.
    fn events_of_meters(&self) -> Vec<(EventKind, String)> {
        let mut events = self.events();
        events.retain(|(_, message)| !message.contains("readings left out"));
        events
    }
}

#[test]
fn a_meter_that_stops_is_reported_once_and_so_is_its_return() {
    let (one, on, reads) = fake(0, 300.0);
    let (two, ..) = fake(1, 200.0);
    let page = Page::default();
    let parts = parts(page.clone(), Arc::new(HostClock::new()), vec![one, two]);
    let collecting = Collection::begin(parts).expect("begins");
    let snapshot = || collecting.snapshot();
    assert_eq!(snapshot().power_w, Some(500.0));
    assert_eq!(snapshot().client_power_w, None);
    assert_eq!(snapshot().sources[0].value.as_deref(), Some("300.0 W"));
    assert!(snapshot().sources[0].simulated);
    on.store(false, Ordering::SeqCst);
    let before = reads.load(Ordering::SeqCst);
    wait_for("some failures", || {
        reads.load(Ordering::SeqCst) >= before + 3
    });
    wait_for("silence", || snapshot().power_w.is_none());
    assert_eq!(snapshot().sources[0].value, None);
    let problem = snapshot().last_problem.expect("a problem");
    assert!(
        problem.contains("meter 0: fake: read: no answer"),
        "{problem}"
    );
    on.store(true, Ordering::SeqCst);
    wait_for("its return", || snapshot().power_w == Some(500.0));
    let messages = collecting.take_messages();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].contains("no answer") && messages[1].contains("answers again after"));
    let summary = collecting.stop().expect("a whole log");
    let [absent] = summary.problems.as_slice() else {
        panic!("{:?}", summary.problems);
    };
    let seconds = absent.strip_prefix("meter 0: ").expect("its name");
    let seconds = seconds.strip_suffix(" s without an answer in all");
    let seconds: f64 = seconds.expect("the sum").parse().expect("a number");
    assert!((1.0..60.0).contains(&seconds), "{absent}");
    let events = page.events_of_meters();
    let kinds: Vec<EventKind> = events.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [EventKind::Lost, EventKind::Recovered], "{events:?}");
    assert!(events[1].1.contains("answers again after"), "{events:?}");
    let lines = page.lines();
    assert!(matches!(lines.first(), Some(LogLine::Energy(_))));
    let Some(LogLine::End(end)) = lines.last() else {
        panic!("no last line: {lines:?}");
    };
    assert_eq!((end.readings, end.samples), (summary.readings, 0));
    let of_one = lines.iter().filter_map(|line| match line {
        LogLine::Readings(r) if r.source == 0 => Some(r),
        _ => None,
    });
    for readings in of_one {
        // NaN is not a figure.
        assert_eq!(readings.values.len(), 1);
    }
    let source = lines.iter().find_map(|line| match line {
        LogLine::Source(source) => Some(source),
        _ => None,
    });
    let source = source.expect("a source");
    assert!(source.simulated);
    let bound = source.clock.bound_s.expect("a bound");
    assert!((0.0..1.0).contains(&bound), "{bound}");
}

#[test]
fn readings_keep_their_times_and_a_slow_answer_is_reported() {
    struct Slow(u32);
    impl Meter for Slow {
        fn read(&mut self) -> Result<Sample, MeterError> {
            self.0 += 1;
            if self.0 == 3 {
                std::thread::sleep(Duration::from_millis(330));
            }
            Ok(Sample {
                at: None,
                values: vec![(Quantity::Power, f64::from(self.0))],
            })
        }
    }
    let (mut wanted, ..) = fake(0, 0.0);
    wanted.interval = Duration::from_millis(100);
    wanted.meter = Box::new(Slow(0));
    let page = Page::default();
    let clock = Arc::new(HostClock::new());
    let collecting = Collection::begin(parts(page.clone(), clock, vec![wanted])).expect("begins");
    wait_for("ten answers", || {
        let snapshot: Snapshot = collecting.snapshot();
        snapshot.sources[0].value.as_deref() == Some("10.0 W")
    });
    collecting.stop().expect("a whole log");
    let events = page.events();
    // A busy machine leaves more out.
    let is_reported = |e: &(EventKind, String)| e.0 == EventKind::Note && e.1.contains("left out");
    assert!(events.iter().any(is_reported), "{events:?}");
    let times = page.lines().into_iter().filter_map(|line| match line {
        LogLine::Readings(r) => Some((r.at.unix_seconds(), r.values[&Quantity::Power])),
        _ => None,
    });
    let times: Vec<(f64, f64)> = times.collect();
    // From the second to the tenth: 8 intervals and the 3 that were left out.
    let (second, tenth) = (times[1], times[9]);
    assert_eq!((second.1, tenth.1), (2.0, 10.0));
    let passed = tenth.0 - second.0;
    assert!(passed > 1.05, "no drift to the front: {passed}");
}

#[test]
fn a_source_that_never_answers_prevents_the_start() {
    let (good, ..) = fake(0, 1.0);
    let (bad, on, _) = fake(1, 1.0);
    on.store(false, Ordering::SeqCst);
    let page = Page::default();
    let parts = parts(page, Arc::new(HostClock::new()), vec![good, bad]);
    let CollectError(why) = Collection::begin(parts).expect_err("one is silent");
    assert!(
        why.contains("meter 1: fake: read: no answer within 1 s"),
        "{why}"
    );
}

#[test]
fn the_clock_of_the_host_is_watched() {
    let (wanted, ..) = fake(0, 1.0);
    let (page, clock) = (Page::default(), set_clock());
    let mut parts = parts(page.clone(), clock.clone(), vec![wanted]);
    parts.host_clock = ClockFacts {
        offset_s: 2.5,
        bound_s: Some(0.25),
        how: "against prime:6344".into(),
        ..ClockFacts::default()
    };
    let collecting = Collection::begin(parts).expect("begins");
    // The clock watch reads the clock every quarter of a second, other threads at most once a
    // second, so some of these reads are its own. The step must lie between two of them.
    wait_for("looks of the watch", || {
        clock.looks.load(Ordering::SeqCst) >= 16
    });
    clock.set_s.store(-7, Ordering::SeqCst);
    wait_for("an event", || collecting.snapshot().last_problem.is_some());
    let summary = collecting.stop().expect("a whole log");
    let events = page.events_of_meters();
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0].0, EventKind::ClockJump);
    assert!(events[0].1.contains("set back by 7.0 s"), "{events:?}");
    assert_eq!(
        summary.problems,
        ["this host's clock was set during the collection (1 time)"]
    );
    let LogLine::Source(source) = &page.lines()[1] else {
        panic!("no source");
    };
    assert_eq!(source.clock.offset_s, 2.5);
    assert!(source.clock.bound_s >= Some(0.25));
    assert!(source.clock.how.ends_with("; against prime:6344"));
}

#[test]
fn a_full_disk_ends_it_with_an_error_without_a_hang() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.checked_sub(bytes.len()) {
                Some(left) => {
                    self.0 = left;
                    Ok(bytes.len())
                }
                None => Err(io::ErrorKind::StorageFull.into()),
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (wanted, ..) = fake(0, 1.0);
    let parts = parts(Full(2000), Arc::new(HostClock::new()), vec![wanted]);
    let collecting = Collection::begin(parts).expect("begins");
    wait_for("the failure", || collecting.failure().is_some());
    let begin = Instant::now();
    let CollectError(why) = collecting.stop().expect_err("a log that is not whole");
    assert!(
        why.contains("lab.energy.jsonl: cannot write the energy log"),
        "{why}"
    );
    assert!(begin.elapsed() < Duration::from_secs(5));
}

/// A datagram of one agent with counters of its interfaces 1 to `ports`.
fn datagram(agent: [u8; 4], sequence: u32, uptime_ms: u32, ports: u32, octets: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut word = |value: u32| bytes.extend_from_slice(&value.to_be_bytes());
    let wide = |word: &mut dyn FnMut(u32), value: u64| {
        word((value >> 32) as u32);
        word(value as u32);
    };
    for value in [
        5,
        1,
        u32::from_be_bytes(agent),
        0,
        sequence,
        uptime_ms,
        ports,
    ] {
        word(value);
    }
    for port in 1..=ports {
        for value in [2, 12 + 8 + 88, sequence, port, 1, 1, 88, port, 6] {
            word(value);
        }
        wide(&mut word, 10_000_000_000);
        word(1);
        word(3);
        wide(&mut word, octets);
        for value in [(octets / 1000) as u32, 0, 0, 0, 0, 0] {
            word(value);
        }
        wide(&mut word, 2 * octets);
        for value in [(octets / 500) as u32, 0, 0, 0, 0, 0] {
            word(value);
        }
    }
    bytes
}

/// A collector on a port of its own, with interface 2 chosen and named.
fn with_sflow(clock: Arc<dyn Clock>, page: &Page) -> (Collection, UdpSocket) {
    let mut names = Names::default();
    names.set(None, 2, "filer-e0a".into());
    let ports: Vec<PortPattern> = vec!["2".parse().expect("ports")];
    let mut setup = SflowSetup::new(SocketAddr::from(([127, 0, 0, 1], 0)));
    setup.selection = Selection::new(ports.clone(), names);
    setup.ports = ports;
    let mut parts = parts(page.clone(), clock, Vec::new());
    parts.sflow = Some((socket::listen(setup.listen).expect("a port"), setup));
    let collecting = Collection::begin(parts).expect("begins");
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a port");
    sender
        .connect(collecting.listens().expect("it listens"))
        .expect("connects");
    (collecting, sender)
}

#[test]
fn datagrams_become_samples_with_exact_bytes() {
    let page = Page::default();
    let (collecting, sender) = with_sflow(Arc::new(HostClock::new()), &page);
    let agent = [10, 0, 0, 248];
    sender.send(b"garbage").expect("sent");
    sender
        .send(&datagram(agent, 1, 1000, 3, 1_000_000))
        .expect("sent");
    // The interval begins when the first is received.
    wait_for("the first", || collecting.snapshot().datagrams == (1, 0));
    std::thread::sleep(Duration::from_millis(50));
    // The second is missing.
    sender
        .send(&datagram(agent, 3, 3000, 3, 5_000_001))
        .expect("sent");
    wait_for("a rate", || {
        collecting.snapshot().traffic_mib_per_s.is_some()
    });
    let snapshot = collecting.snapshot();
    assert_eq!(snapshot.ports.len(), 3);
    let chosen = snapshot.ports.iter().find(|port| port.chosen).expect("one");
    assert_eq!(chosen.label, "10.0.0.248 filer-e0a");
    assert!(chosen.out_mib_per_s > 1.99 * chosen.in_mib_per_s);
    assert!(chosen.utilisation > Some(0.0));
    wait_for("the loss", || collecting.snapshot().datagrams == (2, 1));
    let summary = collecting.stop().expect("a whole log");
    assert_eq!(summary.samples, 3);
    assert_eq!(
        summary.problems,
        [
            "1 datagram of sFlow lost on the way",
            "1 datagram not sFlow version 5"
        ]
    );
    let mut ports = Vec::new();
    let mut samples = Vec::new();
    for line in page.lines() {
        match line {
            LogLine::Port(port) => ports.push(port),
            LogLine::Traffic(traffic) => samples.extend(traffic.samples),
            LogLine::Source(source) => {
                assert_eq!(source.clock.bound_s, Some(1.0));
                assert!(
                    source.clock.how.contains("section 5"),
                    "{}",
                    source.clock.how
                );
            }
            _ => {}
        }
    }
    assert_eq!(ports.len(), 3);
    let two = ports.iter().find(|port| port.if_index == 2).expect("it");
    assert_eq!(two.name.as_deref(), Some("filer-e0a"));
    assert_eq!(two.speed_bits_per_s, Some(10_000_000_000));
    for sample in samples {
        assert_eq!(sample.in_bytes, Some(4_000_001));
        assert_eq!(sample.out_bytes, Some(8_000_002));
        assert_eq!(sample.bad_packets, Some(0));
        assert!(sample.interval_us >= 50_000);
    }
    let mut kinds: Vec<EventKind> = page.events().iter().map(|(kind, _)| *kind).collect();
    // On a busy machine they are reported at different times.
    kinds.sort_by_key(|kind| *kind == EventKind::Invalid);
    assert_eq!(
        kinds,
        [EventKind::Gap, EventKind::Invalid],
        "{:?}",
        page.events()
    );
}

#[test]
fn samples_that_a_slow_disk_drops_are_counted_and_reported() {
    let clock: Arc<dyn Clock> = Arc::new(HostClock::new());
    let (outbox, posts) = LogSender::new(Arc::new(LiveState::default()), clock);
    let selection = Selection::default();
    let mut state = CollectorState::new(0, selection, TimeBasis::default(), outbox.clone());
    let ports = 500;
    let mut sequence = 0;
    // No thread reads from the queue to the disk.
    while state.totals().not_written == 0 {
        sequence += 1;
        assert!(sequence < 5000, "the queue to the disk has no limit");
        let octets = u64::from(sequence) * 1000;
        let bytes = datagram([10, 0, 0, 1], sequence, sequence * 1000, ports, octets);
        std::thread::sleep(Duration::from_millis(1));
        state.datagram([127, 0, 0, 1].into(), &bytes);
        assert!(state.send_due(), "the writer is there");
    }
    let reader = std::thread::spawn(move || posts.iter().flatten().collect::<Vec<LogLine>>());
    drop(outbox);
    let totals = state.end(None);
    let lines = reader.join().expect("no panic");
    let mut written = 0;
    let mut events = Vec::new();
    let mut declared = 0;
    for line in lines {
        match line {
            LogLine::Port(_) => declared += 1,
            LogLine::Traffic(traffic) => {
                assert!(traffic.samples.len() <= 4096);
                written += traffic.samples.len() as u64;
            }
            LogLine::Event(event) => events.push((event.what, event.message)),
            _ => {}
        }
    }
    assert_eq!(declared, ports);
    assert_eq!(
        written + totals.not_written,
        u64::from(sequence - 1) * u64::from(ports)
    );
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0].0, EventKind::Invalid);
    assert!(events[0].1.contains("the disk is too slow"), "{events:?}");
}

#[test]
fn no_interval_spans_a_step_of_the_clock() {
    let (page, clock) = (Page::default(), set_clock());
    let (collecting, sender) = with_sflow(clock.clone(), &page);
    let send = |sequence: u32| {
        let bytes = datagram(
            [10, 0, 0, 1],
            sequence,
            1000 * sequence,
            2,
            u64::from(sequence) << 20,
        );
        sender.send(&bytes).expect("sent");
        std::thread::sleep(Duration::from_millis(20));
    };
    send(1);
    send(2);
    wait_for("a rate", || {
        collecting.snapshot().traffic_mib_per_s.is_some()
    });
    clock.set_s.store(60, Ordering::SeqCst);
    send(3);
    send(4);
    let summary = collecting.stop().expect("a whole log");
    // 1 to 2 and 3 to 4; from 2 to 3 would have been a minute.
    assert_eq!(summary.samples, 4);
    for line in page.lines() {
        if let LogLine::Traffic(traffic) = line {
            let intervals = traffic.samples.iter().map(|s| s.interval_us);
            assert!(intervals.max() < Some(30_000_000));
        }
    }
}

#[test]
fn other_datagrams_are_reported_once() {
    let page = Page::default();
    let (collecting, sender) = with_sflow(Arc::new(HostClock::new()), &page);
    assert!(collecting.snapshot().listens.is_some());
    sender.send(b"garbage").expect("sent");
    wait_for("the event", || collecting.snapshot().last_problem.is_some());
    let summary = collecting.stop().expect("a whole log");
    let [problem] = summary.problems.as_slice() else {
        panic!("{:?}", summary.problems);
    };
    assert!(
        problem.starts_with("no datagram of sFlow version 5 received on 127.0.0.1:"),
        "{problem}"
    );
    assert!(problem.contains("1 datagram of another kind"), "{problem}");
    let lost = page
        .events()
        .into_iter()
        .filter(|(what, _)| *what == EventKind::Lost);
    assert_eq!(
        lost.map(|(_, message)| message).collect::<Vec<_>>(),
        std::slice::from_ref(problem)
    );
}

#[test]
fn a_port_in_use_is_reported() {
    let first = socket::listen(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    let address = first.local_addr().expect("an address");
    let setup = Setup {
        sflow: Some(SflowSetup::new(address)),
        ..Setup::default()
    };
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("lab.energy.jsonl");
    let CollectError(why) = Collection::start(&setup, &log, "0").expect_err("it is taken");
    assert!(
        why.contains("another collector listens there already"),
        "{why}"
    );
    assert!(!log.exists(), "no log without a collection");
    drop(first);
    let collecting = Collection::start(&setup, &log, "0").expect("it is free now");
    let summary = collecting.stop().expect("a whole log");
    assert!(summary.problems[0].starts_with("no datagram of sFlow received on 127.0.0.1:"));
    let text = std::fs::read_to_string(&log).expect("a log");
    assert!(text.contains("\"lost\"") && text.contains("no datagram of sFlow received"));
    let CollectError(why) = Collection::start(&setup, &log, "0").expect_err("a log is there");
    assert!(why.contains("exists already"), "{why}");
}
