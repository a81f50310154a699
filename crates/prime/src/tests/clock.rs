//! The time service and its client, over the loopback interface.

use crate::clock_verdict;
use filermark_agent::clock_check::{ClockSampler, wait_until};
use filermark_engine::clock::Clock;
use filermark_link::clock_service::{CLIENTS_MAX, ClockService};
use filermark_link::message::ClockCheck;
use filermark_model::Nanos;
use filermark_model::plan::ClockServicePlan;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

fn start() -> (ClockService, SocketAddr) {
    let service = ClockService::start(&[(Ipv4Addr::LOCALHOST, 0).into()]).unwrap();
    let address = service.addrs()[0];
    (service, address)
}

/// A load point with this RUN.
fn run(start: Nanos, end: Nanos) -> filermark_engine::shard::Timetable {
    let times = filermark_engine::shard::RunTimes {
        warmup_start: start,
        run_start: start,
        run_end: end,
    };
    times.into()
}

fn plan(address: SocketAddr) -> ClockServicePlan {
    ClockServicePlan {
        host: address.ip().to_string(),
        port: address.port(),
    }
}

/// Sends a request and returns the first line of the answer.
fn request(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    answer
}

fn check(address: SocketAddr, millis: u64) -> ClockCheck {
    let clock = Clock::real();
    let start = clock.now() + Nanos::from_millis(20);
    let end = start + Nanos::from_millis(millis);
    let check = ClockSampler::begin(&plan(address), &clock, run(start, end));
    clock.sleep_until(end);
    check.finish()
}

#[test]
fn a_correct_service_agrees() {
    let (service, address) = start();
    let began = Instant::now();
    let found = check(address, 400);
    let took = began.elapsed();
    let ClockCheck::Compared {
        ours_ns,
        service_ns,
        bound_ns,
    } = found
    else {
        panic!("{found:?}");
    };
    assert!(
        ours_ns.abs_diff(service_ns) <= bound_ns + 1_000,
        "{found:?}"
    );
    // How late each reading is depends on the machine: the first one may be later than the
    // last one, so that the time between them is shorter than RUN.
    let ours = Duration::from_nanos(ours_ns);
    assert!(!ours.is_zero() && ours <= took, "{found:?} in {took:?}");
    let (message, finding) = clock_verdict::judge(&found, &plan(address));
    assert!(message.contains("the time service 127.0.0.1:"), "{message}");
    assert_eq!(finding, None);
    // The service counts an answer after it was sent, so the client may have it earlier.
    let until = Instant::now() + Duration::from_secs(5);
    while service.counts().0 < 10 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(service.counts(), (10, 0));
}

#[test]
fn an_instant_is_waited_for_and_not_missed() {
    let clock = Clock::real();
    let (_phase, over) = std::sync::mpsc::channel::<()>();
    for millis in [0, 30, 700] {
        let instant = clock.now() + Nanos::from_millis(millis);
        assert!(wait_until(&clock, || instant, &over));
        // The two clocks (this one and that of sleeps) may be slewed apart by 0.1 %.
        let now = clock.now() + Nanos::from_millis(1);
        assert!(now >= instant, "{now:?} {instant:?}");
    }
}

#[test]
fn a_clock_that_runs_differently_is_a_finding() {
    let found = ClockCheck::Compared {
        ours_ns: 300_000_000_000,
        service_ns: 310_000_000_000,
        bound_ns: 200_000,
    };
    let service = ClockServicePlan {
        host: "time".into(),
        port: 2010,
    };
    let (_, finding) = clock_verdict::judge(&found, &service);
    let finding = finding.expect("10 s in 300 s");
    assert!(
        finding.message.starts_with("the clock here is slow"),
        "{finding}"
    );
    assert_eq!(finding.value, Some(10_000.0));
    assert!((finding.limit.unwrap() - 310.2).abs() < 1e-6, "{finding:?}");
    // Just inside: 0.1 % and the bound.
    let inside = ClockCheck::Compared {
        ours_ns: 310_310_000_000,
        service_ns: 310_000_000_000,
        bound_ns: 200_000,
    };
    assert_eq!(clock_verdict::judge(&inside, &service).1, None);
}

#[test]
fn malformed_and_long_lines_are_refused() {
    let (service, address) = start();
    assert_eq!(
        request(address, b"GET / HTTP/1.1\r\n\r\n"),
        "error the request is 'time'\n"
    );
    assert_eq!(request(address, b"\n"), "error the request is 'time'\n");
    assert_eq!(
        request(address, &[b'x'; 400]),
        "error the request is 'time'\n"
    );
    assert_eq!(
        request(address, b"\xff\xfe\n"),
        "error the request is 'time'\n"
    );
    // Both line endings are accepted.
    let answer = request(address, b"time\r\n");
    let (nanos, wall) = answer.trim_end().split_once(' ').unwrap();
    assert!(nanos.parse::<u64>().is_ok() && wall.parse::<f64>().unwrap() > 1.6e9);
    let deadline = Instant::now() + Duration::from_secs(10);
    while service.counts() != (1, 4) {
        assert!(Instant::now() < deadline, "{:?}", service.counts());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn too_many_clients_are_refused_and_the_others_served() {
    let (_service, address) = start();
    let mut open: Vec<TcpStream> = Vec::new();
    for _ in 0..CLIENTS_MAX {
        let mut stream = TcpStream::connect(address).unwrap();
        // Served, and therefore counted, before the next one connects.
        stream.write_all(b"time\n").unwrap();
        assert!(stream.read(&mut [0; 128]).unwrap() > 0);
        open.push(stream);
    }
    assert_eq!(request(address, b""), "error too many clients\n");
    open[0].write_all(b"time\n").unwrap();
    assert!(open[0].read(&mut [0; 128]).unwrap() > 0);
    drop(open);
    let deadline = Instant::now() + Duration::from_secs(10);
    while request(address, b"time\n").starts_with("error") {
        assert!(
            Instant::now() < deadline,
            "closed connections are not counted"
        );
    }
}

#[test]
fn a_slow_client_does_not_delay_others() {
    let (_service, address) = start();
    let mut slow = TcpStream::connect(address).unwrap();
    slow.write_all(b"ti").unwrap();
    let began = Instant::now();
    assert!(!request(address, b"time\n").is_empty());
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_missing_a_silent_and_a_wrong_service_fail_in_time() {
    // Nothing listens on the port.
    let gone = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.local_addr().unwrap()
    };
    let found = check(gone, 10);
    assert!(matches!(&found, ClockCheck::Failed { .. }), "{found:?}");
    let (message, finding) = clock_verdict::judge(&found, &plan(gone));
    assert!(message.contains("'filermark clock'"), "{message}");
    assert!(finding.is_some());

    // Accepts connections and sends nothing.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let began = Instant::now();
    let found = check(silent.local_addr().unwrap(), 10);
    assert!(matches!(&found, ClockCheck::Failed { .. }), "{found:?}");
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );

    // Another service.
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = other.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        let _ = stream.write_all(b"220 mail.example ESMTP\n");
    });
    let ClockCheck::Failed { reason } = check(address, 10) else {
        panic!("it is no time service");
    };
    assert!(reason.contains("it sent '220 mail"), "{reason}");
    thread.join().unwrap();
}

#[test]
fn a_run_that_fails_early_does_not_wait_for_its_end() {
    let (_service, address) = start();
    let clock = Clock::real();
    let start = clock.now();
    let check = ClockSampler::begin(
        &plan(address),
        &clock,
        run(start, start + Nanos::from_secs(600)),
    );
    std::thread::sleep(Duration::from_millis(100));
    let began = Instant::now();
    check.finish();
    assert!(began.elapsed() < Duration::from_secs(5));
}
