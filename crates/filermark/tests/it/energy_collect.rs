//! `energy collect`: the counters of a real switch, those of the kernel, and the log after errors.

use crate::load_guard::beside_others;
use crate::sweep::{PROGRAM, Sweep};
use crate::terminal::Terminal;
use crate::{assert_complete, filermark, stderr_text};
use filermark_energy_data::log::{Log, LogLine, PortSample};
use filermark_testbed::{Mounts, Sandbox, SflowOptions, Switch, available};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longest wait for anything here.
const LIMIT: Duration = Duration::from_secs(600);
const LOG: &str = "lab.energy.jsonl";

pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < LIMIT, "not there in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A running program; killed when it is dropped.
pub struct Going {
    child: Child,
    stdout: ChildStdout,
    output_text: Arc<Mutex<Vec<String>>>,
}

impl Going {
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let stdout = child.stdout.take().expect("a pipe");
        let output_text = Arc::<Mutex<Vec<String>>>::default();
        let its = Arc::clone(&output_text);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                its.lock().expect("no panic").push(line);
            }
        });
        Self {
            child,
            stdout,
            output_text,
        }
    }

    /// `energy collect` that listens for sFlow on a free port, with these arguments too.
    fn collect(mut command: Command, dir: &Path, args: &[&str]) -> (Self, SocketAddr) {
        command
            .args(["energy", "collect", "--sflow", "127.0.0.1:0"])
            .args(args)
            .current_dir(dir);
        let going = Self::start(command);
        let address = going.wait_for_text("listening for sFlow on udp://");
        going.wait_for_text("Ctrl-C ends it");
        (going, address.parse().expect("an address"))
    }

    /// What follows this text in its output.
    pub fn wait_for_text(&self, words: &str) -> String {
        wait_for(words, || {
            let output_text = self.output_text.lock().expect("no panic");
            let found = output_text.iter().find_map(|line| line.split_once(words));
            found.map(|(_, rest)| rest.to_owned())
        })
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a pid");
        kill_process(Pid::from_raw(pid).expect("a pid"), signal).expect("it is there");
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("ours").is_none()
    }

    /// Its exit code, and its product.
    pub fn end(&mut self) -> (Option<i32>, String) {
        let status = wait_for("its end", || self.child.try_wait().expect("ours"));
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).expect("text");
        (status.code(), text)
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- its output ---\n{:#?}", self.output_text.lock());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines of a log, also of one that is being written.
pub fn lines(log: &Path) -> Vec<LogLine> {
    let file = std::fs::File::open(log).expect("a log");
    if file.metadata().expect("its size").len() == 0 {
        return Vec::new();
    }
    let log = Log::new(BufReader::new(file), log);
    log.map(|line| line.expect("a line")).collect()
}

/// Samples of an interface, by the time of their ends in seconds since 1970.
pub fn samples(lines: &[LogLine], if_index: u32) -> Vec<(f64, PortSample)> {
    let port = lines.iter().find_map(|line| match line {
        LogLine::Port(port) if port.if_index == if_index => Some(port.port),
        _ => None,
    });
    let mut found = Vec::new();
    for line in lines {
        if let LogLine::Traffic(traffic) = line {
            let its = traffic.samples.iter().filter(|s| Some(s.port) == port);
            let base = traffic.at.unix_seconds();
            found.extend(its.map(|s| (base + s.after_us as f64 / 1e6, *s)));
        }
    }
    found
}

pub fn now() -> f64 {
    filermark_results::Timestamp::now().unix_seconds()
}

/// Makes load between idle times during a collection, and compares the bytes of both ports with
/// those of the kernel. The two ports need not agree: the switch's datapath loses packets when it
/// gets no processor. Returns the product.
fn compare(switch: &Switch, load: impl FnOnce()) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join(LOG);
    let hosts = [Switch::SERVER, Switch::CLIENT];
    let [index, other] = hosts.map(|host| switch.if_index(host).expect("its number"));
    let command = switch.sandbox().command(PROGRAM);
    let args = ["--ports", &index.to_string(), "--json"];
    let (mut collect, address) = Going::collect(command, dir.path(), &args);
    let options = SflowOptions {
        polling_s: 1,
        sampling: 64,
    };
    switch.send_sflow_to(address, options).expect("sFlow is on");
    let later_than = |when: f64| {
        wait_for("samples", || {
            let lines = lines(&log);
            let last = [index, other].map(|n| samples(&lines, n).last().map(|(end, _)| *end));
            last.iter().all(|end| *end > Some(when)).then_some(())
        });
    };
    later_than(0.0);
    let counts = || hosts.map(|host| switch.bytes(host).expect("counts"));
    let (before, begin) = (counts(), now());
    load();
    let after = counts();
    // An agent may delay its counters by a second.
    later_than(now() + 1.1);
    collect.signal(Signal::INT);
    let (code, product) = collect.end();
    assert_eq!(code, Some(0), "{product}");
    let lines = lines(&log);
    assert!(matches!(lines.last(), Some(LogLine::End(_))));
    for (at, index) in [index, other].into_iter().enumerate() {
        // All intervals that end after the beginning: before that there was no load.
        let its = samples(&lines, index);
        let its = its.iter().filter(|(end, _)| *end > begin);
        let actual: u64 = its.map(|(_, s)| s.bytes().expect("both ways")).sum();
        let kernel = (after[at].0 - before[at].0) + (after[at].1 - before[at].1);
        let apart = (actual as f64 - kernel as f64) / kernel as f64;
        eprintln!(
            "{}: sFlow {actual} bytes, the kernel {kernel} bytes, {:+.4} % apart",
            hosts[at],
            apart * 100.0
        );
        assert!(kernel > 5 << 20, "{kernel} bytes are no load");
        assert!(apart.abs() < 0.01, "sFlow {actual}, the kernel {kernel}");
    }
    product
}

pub fn switch() -> Option<Switch> {
    let sandbox = available(Sandbox::new())?;
    available(Switch::start_in(&sandbox))
}

#[test]
fn a_transfer_through_a_switch_is_what_the_kernel_counts() {
    let _turn = beside_others();
    let Some(switch) = switch() else { return };
    let address = SocketAddr::from((Switch::address(Switch::SERVER), 2000));
    let product = compare(&switch, || transfer(&switch, address, 60 << 20));
    let product: serde_json::Value = serde_json::from_str(&product).expect("JSON");
    assert!(product["samples"].as_u64() > Some(0), "{product}");
    assert_eq!(product["troubles"], serde_json::json!([]), "{product}");
    assert_eq!(product["simulated"], false);
}

/// Sends this number of bytes from the client to the server.
fn transfer(switch: &Switch, address: SocketAddr, size: usize) {
    let listener = switch.run(Switch::SERVER, || TcpListener::bind(address));
    let listener = listener.expect("the host").expect("a port");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        std::io::copy(&mut stream, &mut std::io::sink()).expect("all of it")
    });
    let send = || {
        let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
        stream.set_write_timeout(Some(LIMIT))?;
        stream.write_all(&vec![7; size])
    };
    switch
        .run(Switch::CLIENT, send)
        .expect("the host")
        .expect("sent");
    assert_eq!(server.join().expect("the server"), size as u64);
}

/// The embedded server on the switch's server host, ready.
pub fn serve_on(switch: &Switch) -> (Going, SocketAddr) {
    let address = SocketAddr::from((Switch::address(Switch::SERVER), 2049));
    let mut serve = switch.command(Switch::SERVER, PROGRAM);
    serve.args(["serve", "--no-udp", "--listen", &address.to_string()]);
    let server = Going::start(serve);
    server.wait_for_text("to mount it on Linux:");
    (server, address)
}

#[test]
fn a_run_through_a_switch_is_what_the_kernel_counts() {
    let _turn = beside_others();
    let Some(switch) = switch() else { return };
    let (_server, address) = serve_on(&switch);
    let sweep = Sweep::at(address).set("LOAD", 300).set("RUNTIME", 5);
    let line = sweep.to_command();
    let mut run = switch.command(Switch::CLIENT, PROGRAM);
    run.args(line.get_args()).current_dir(sweep.dir());
    compare(&switch, || {
        let run = run.env_remove("RUST_LOG").output().expect("it runs");
        assert_complete(&run);
    });
}

/// The header of a datagram without samples.
fn datagram(sequence: u32) -> Vec<u8> {
    let words = [5, 1, 0x0a00_00f8, 0, sequence, sequence * 1000, 0];
    words
        .iter()
        .flat_map(|word: &u32| word.to_be_bytes())
        .collect()
}

/// A datagram with counters of this number of interfaces.
fn counters(sequence: u32, ports: u32) -> Vec<u8> {
    let mut words = vec![5, 1, 0x0a00_00f8, 0, sequence, sequence * 1000, ports];
    for port in 1..=ports {
        words.extend([
            2,
            108,
            sequence,
            port,
            1,
            1,
            88,
            port,
            6,
            0,
            1_000_000_000,
            1,
            3,
        ]);
        words.extend([0, sequence * 1000, sequence, 0, 0, 0, 0, 0]);
        words.extend([0, sequence * 3000, sequence, 0, 0, 0, 0, 0]);
    }
    words
        .iter()
        .flat_map(|word: &u32| word.to_be_bytes())
        .collect()
}

#[test]
fn a_killed_collection_leaves_all_but_its_last_second() {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut collect, address) = Going::collect(Command::new(PROGRAM), dir.path(), &[]);
    let log = dir.path().join(LOG);
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let mut sequence = 0;
    // Until there are several lines of traffic, and another one is due.
    wait_for("traffic in the log", || {
        sequence += 1;
        sender
            .send_to(&counters(sequence, 40), address)
            .expect("sent");
        (samples(&lines(&log), 1).len() > 100).then_some(())
    });
    collect.signal(Signal::KILL);
    assert_eq!(collect.end().0, None);
    let file = std::fs::File::open(&log).expect("a log");
    let mut reader = Log::new(BufReader::new(file), &log);
    let mut last = None;
    while let Some(line) = reader.next_line().expect("all but the last are whole") {
        last = Some(line);
    }
    assert!(!matches!(last, None | Some(LogLine::End(_))));
}

#[test]
fn what_cannot_be_collected_is_reported_at_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let nothing = filermark(dir.path(), &["energy", "collect"]);
    assert_eq!(nothing.status.code(), Some(2));
    for option in ["--energy", "--sflow", "--meter", "--temp"] {
        assert!(
            stderr_text(&nothing).contains(option),
            "{}",
            stderr_text(&nothing)
        );
    }
    let ports = filermark(dir.path(), &["energy", "collect", "--ports", "24"]);
    assert_eq!(ports.status.code(), Some(2));
    assert!(
        stderr_text(&ports).contains("add --sflow"),
        "{}",
        stderr_text(&ports)
    );

    let (mut first, address) = Going::collect(Command::new(PROGRAM), dir.path(), &[]);
    let address = address.to_string();
    let second = [
        "energy",
        "collect",
        "--sflow",
        &address,
        "-o",
        "second.jsonl",
    ];
    let second = filermark(dir.path(), &second);
    assert_eq!(second.status.code(), Some(1));
    let why = stderr_text(&second);
    assert!(
        why.contains("another collector listens there already"),
        "{why}"
    );
    assert!(!dir.path().join("second.jsonl").exists());
    let again = filermark(dir.path(), &["energy", "collect", "--sflow", "127.0.0.1:0"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        stderr_text(&again).contains("exists already"),
        "{}",
        stderr_text(&again)
    );
    first.signal(Signal::TERM);
    let (code, product) = first.end();
    assert_eq!(code, Some(0));
    assert!(
        product.contains("problem: no datagram of sFlow received"),
        "{product}"
    );
}

#[test]
fn a_meter_that_goes_away_is_reported_when_it_does_and_at_the_end() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(PROGRAM);
    let file = dir.path().join("watts");
    std::fs::write(&file, "220\n").expect("written");
    command
        .args(["energy", "collect", "--interval", "100ms"])
        .args(["--meter", "cmd:cat watts"])
        .current_dir(dir.path());
    let mut collect = Going::start(command);
    collect.wait_for_text("Ctrl-C ends it");
    std::fs::remove_file(&file).expect("there");
    let why = collect.wait_for_text("meter1: cmd:cat watts: run the command: ");
    assert!(why.contains("exit status: 1"), "{why}");
    std::fs::write(&file, "221\n").expect("written");
    collect.wait_for_text("meter1: answers again after ");
    collect.signal(Signal::INT);
    let (code, product) = collect.end();
    assert_eq!(code, Some(0));
    let failure = "problem: meter1: ";
    assert!(
        product.contains(failure) && product.contains(" s without an answer in all"),
        "{product}"
    );
    assert!(collect.wait_for_text("last: ").contains("meter1 22"));
}

#[test]
fn what_cannot_be_collected_is_refused_in_words() {
    let dir = tempfile::tempdir().expect("a directory");
    for (args, what) in [
        (&["--temp", "cmd:echo 22"][..], "write cmd+temperature_c:"),
        (
            &["--meter", "cmd+temperature_c:echo 22"],
            "put it under [[sensor]]",
        ),
        (
            &["--client-meter", "sim:idle=40,quantity=humidity_pcnt"],
            "put it under [[sensor]]",
        ),
        (&["--meter", "sim:", "--interval", "11m"], "50ms to 10m"),
        (&["--meter", "sim:", "--interval", "10ms"], "50ms to 10m"),
        (&["--meter", "sim:", "--seconds", "3000h"], "100 days"),
        (&["--sflow", "6343"], "0.0.0.0:6343"),
        (
            &["--sflow", "127.0.0.1:0", "--ports", "10.0.0.248-24"],
            "write 10.0.0.248/24",
        ),
    ] {
        let output = filermark(dir.path(), &[&["energy", "collect"], args].concat());
        assert_eq!(
            output.status.code(),
            Some(2),
            "{args:?}: {}",
            stderr_text(&output)
        );
        assert!(
            stderr_text(&output).contains(what),
            "{args:?}: {}",
            stderr_text(&output)
        );
        assert!(output.stdout.is_empty());
    }
    // The message about a source without an answer states what to try; its name is there once.
    std::fs::write(
        dir.path().join("energy.toml"),
        "[[meter]]\nat = \"scpi://127.0.0.1:1\"\n",
    )
    .expect("written");
    for (args, what) in [
        (
            &["--energy", "energy.toml"][..],
            "filermark: scpi://127.0.0.1:1: connect: ",
        ),
        (
            &["--meter", "redfish+http://127.0.0.1:1/redfish/v1/Chassis/1"],
            "is the service on, and is this its port (http://127.0.0.1:1)?",
        ),
        (
            &["--meter", "cmd:false"],
            "and printed nothing on stderr; try it in a shell",
        ),
        (
            &["--meter", "cmd:echo 220,5 W"],
            "a decimal comma? print 220.5",
        ),
    ] {
        let output = filermark(dir.path(), &[&["energy", "collect"], args].concat());
        assert_eq!(
            output.status.code(),
            Some(1),
            "{args:?}: {}",
            stderr_text(&output)
        );
        assert!(
            stderr_text(&output).contains(what),
            "{args:?}: {}",
            stderr_text(&output)
        );
    }
    assert_eq!(std::fs::read_dir(dir.path()).expect("there").count(), 1);
}

#[test]
fn a_disk_that_is_full_ends_it() {
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let small = mounts.tmpfs(1).expect("a small file system");
    let log = small.path().join(LOG).display().to_string();
    let dir = tempfile::tempdir().expect("a directory");
    let command = mounts.command(PROGRAM);
    let (mut collect, address) = Going::collect(command, dir.path(), &["-o", &log]);
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let mut sequence = 0;
    let status = wait_for("its end", || {
        for _ in 0..20 {
            sequence += 1;
            sender
                .send_to(&counters(sequence, 100), address)
                .expect("sent");
        }
        collect.child.try_wait().expect("ours")
    });
    assert_eq!(status.code(), Some(1));
    collect.wait_for_text("cannot write the energy log: No space left on device");
}

#[test]
fn the_clock_of_the_prime_is_asked() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut clock = Command::new(PROGRAM);
    clock.args(["clock", "--listen", "127.0.0.1:0"]);
    let clock = Going::start(clock);
    let output_text = clock.wait_for_text("serving the time on ");
    let place = output_text.split(';').next().expect("an address");
    let args = ["--clock", place, "--seconds", "1"];
    let (mut collect, _) = Going::collect(Command::new(PROGRAM), dir.path(), &args);
    assert_eq!(collect.end().0, Some(0));
    let lines = lines(&dir.path().join(LOG));
    let facts = lines.iter().find_map(|line| match line {
        LogLine::Source(source) => Some(&source.clock),
        _ => None,
    });
    let facts = facts.expect("a source");
    // Both use the same clock.
    let bound = facts.bound_s.expect("a bound");
    assert!((1.0..1.5).contains(&bound), "{facts:?}");
    assert!(facts.offset_s.abs() <= bound - 1.0 + 1e-5, "{facts:?}");
    assert!(facts.how.contains(place), "{facts:?}");
    for bad in ["nowhere", ":6344", "prime:x"] {
        let args = [
            "energy",
            "collect",
            "--sflow",
            "127.0.0.1:0",
            "--clock",
            bad,
        ];
        let refused = filermark(dir.path(), &args);
        assert_eq!(refused.status.code(), Some(2), "{}", stderr_text(&refused));
    }
}

#[test]
fn a_person_sees_the_busiest_interfaces() {
    let _turn = beside_others();
    let dir = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(PROGRAM);
    command
        .args(["energy", "collect", "--ports", "1"])
        .args(["--sflow", "127.0.0.1:0"])
        .current_dir(dir.path());
    let mut terminal = Terminal::of(&command, 100, &[]);
    let listens = |line: &String| {
        let place = line.strip_prefix("listening for sFlow on udp://")?;
        place.trim().parse::<SocketAddr>().ok()
    };
    terminal.wait_until("where it listens", |lines| {
        lines.iter().any(|l| listens(l).is_some())
    });
    let address = terminal
        .lines()
        .iter()
        .find_map(listens)
        .expect("an address");
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let sequence = Mutex::new(0);
    terminal.wait_until("the view", |lines| {
        let mut sequence = sequence.lock().expect("no panic");
        *sequence += 1;
        let _ = sender.send_to(&counters(*sequence, 2), address);
        let has = |front: &str| lines.iter().any(|line| line.starts_with(front));
        has(" energy lab.energy.jsonl") && has(" traffic ") && has(" ports   * 10.0.0.248")
    });
    let _ = sender.send_to(&datagram(u32::MAX / 1000), address);
    eprintln!("{:#?}", terminal.lines());
    terminal.type_keys("\x03");
    assert!(terminal.wait().success(), "{:#?}", terminal.lines());
    let lines = terminal.lines();
    assert!(
        !lines.iter().any(|line| line.starts_with(" energy ")),
        "{lines:#?}"
    );
    let counts: BTreeMap<&str, usize> = ["samples of traffic", "ending;"]
        .into_iter()
        .map(|words| (words, lines.iter().filter(|l| l.contains(words)).count()))
        .collect();
    assert!(counts.values().all(|n| *n == 1), "{lines:#?}");
}
