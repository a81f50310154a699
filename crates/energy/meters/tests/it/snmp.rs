//! SNMP against net-snmp's agent, and against agents that are silent or send invalid answers.

use crate::{LIMIT, SHORT, failure, figure, meter, read};
use filermark_energy_data::Quantity;
use filermark_testbed::{Sandbox, Snmpd, available};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The object of an outlet's power of a PDU.
const OUTLET: &str = "1.3.6.1.4.1.3808.1.1.3.2.3.1.1.11.1";
const OTHER: &str = "1.3.6.1.4.1.3808.1.1.3.2.3.1.1.11.2";

fn agent() -> Option<Snmpd> {
    let sandbox = available(Sandbox::new())?;
    available(Snmpd::start_in(&sandbox))
}

fn source(agent: &Snmpd, rest: &str) -> String {
    format!("snmp://{}@{}/{rest}", Snmpd::COMMUNITY, agent.address())
}

#[test]
fn outlets_of_a_real_agent_add_up() {
    let Some(agent) = agent() else { return };
    agent.sandbox().run(|| {
        agent.set(OUTLET, Some(("integer", "2510"))).expect("set");
        agent.set(OTHER, Some(("gauge", "2490"))).expect("set");
        let both = source(&agent, &format!("{OUTLET},.{OTHER}?scale=0.1"));
        let mut power = meter(&both, LIMIT);
        assert_eq!(figure(&read(&mut *power), Quantity::Power), Some(500.0));
        agent.set(OUTLET, Some(("integer", "10"))).expect("set");
        let changed = figure(&read(&mut *power), Quantity::Power).expect("a figure");
        assert!((changed - 250.0).abs() < 1e-9, "{changed}");
        // A sum without an outlet is not reported.
        agent.set(OTHER, None).expect("removed");
        let message = failure(&mut *power, LIMIT);
        assert!(
            message.contains(OTHER) && message.contains("no such object"),
            "{message}"
        );
        assert!(!message.contains(Snmpd::COMMUNITY), "{message}");
        agent.set(OTHER, Some(("gauge", "90"))).expect("set");
        let again = figure(&read(&mut *power), Quantity::Power).expect("a figure");
        assert!((again - 10.0).abs() < 1e-9, "{again}");
    });
}

#[test]
fn all_kinds_of_objects_of_a_real_agent() {
    let Some(agent) = agent() else { return };
    agent.sandbox().run(|| {
        for (kind, text, wanted) in [
            ("string", "535.2 W", Some(535.2)),
            ("counter", "4294967295", Some(4_294_967_295.0)),
            ("counter64", "8589934592", Some(8_589_934_592.0)),
            ("integer", "-40", Some(-40.0)),
            ("timeticks", "77", Some(77.0)),
            ("string", "off", None),
            ("ipaddress", "10.0.0.1", None),
        ] {
            agent.set(OUTLET, Some((kind, text))).expect("set");
            let mut power = meter(&source(&agent, OUTLET), LIMIT);
            match wanted {
                Some(_) => assert_eq!(figure(&read(&mut *power), Quantity::Power), wanted),
                None => assert!(failure(&mut *power, LIMIT).contains(OUTLET)),
            }
        }
        // What every agent has: its uptime, and a text without a number.
        let mut uptime = meter(
            &source(&agent, "1.3.6.1.2.1.1.3.0?quantity=energy_j"),
            LIMIT,
        );
        assert!(figure(&read(&mut *uptime), Quantity::Energy).is_some());
    });
}

#[test]
fn a_wrong_community_is_a_silent_agent() {
    let Some(agent) = agent() else { return };
    agent.sandbox().run(|| {
        let wrong = format!("snmp://wrong@{}/{OUTLET}", agent.address());
        let message = failure(&mut *meter(&wrong, SHORT), SHORT);
        assert!(message.contains("is the community right"), "{message}");
        assert!(!message.contains("wrong@"), "{message}");
    });
}

/// A socket that answers every datagram by a function, until it is dropped.
struct Answering(Arc<AtomicBool>, Option<std::thread::JoinHandle<()>>);

impl Answering {
    fn start(answer: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + 'static) -> (Self, String) {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let wait = Some(Duration::from_millis(20));
        socket.set_read_timeout(wait).expect("a timeout");
        let address = socket.local_addr().expect("an address");
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        let thread = std::thread::spawn(move || {
            let mut bytes = [0; 2048];
            while !end.load(Ordering::SeqCst) {
                let Ok((len, from)) = socket.recv_from(&mut bytes) else {
                    continue;
                };
                if let Some(answer) = answer(&bytes[..len]) {
                    socket.send_to(&answer, from).expect("sent");
                }
            }
        });
        (
            Self(ended, Some(thread)),
            format!("snmp://{address}/{OUTLET}"),
        )
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
        self.1.take().map(std::thread::JoinHandle::join);
    }
}

#[test]
fn a_silent_agent_takes_no_longer_than_the_limit() {
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let (_agent, source) = Answering::start(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        None
    });
    let message = failure(&mut *meter(&source, SHORT), SHORT);
    assert!(message.contains("to 3 requests"), "{message}");
    // Each try has a third of the limit; the socket keeps what the thread has not seen yet.
    let start = std::time::Instant::now();
    while asked.load(Ordering::SeqCst) < 3 && start.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[test]
fn invalid_answers_are_reported() {
    for answer in [
        Vec::new(),
        vec![0x30],
        vec![0xff; 1500],
        vec![0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
        vec![0x30, 0x80, 0x02],
    ] {
        let (_agent, source) = Answering::start(move |_| Some(answer.clone()));
        let message = failure(&mut *meter(&source, SHORT), SHORT);
        assert!(message.contains("cannot be decoded"), "{message}");
    }
    // The request sent back: well formed, but not an answer.
    let (_agent, source) = Answering::start(|request| Some(request.to_vec()));
    let message = failure(&mut *meter(&source, SHORT), SHORT);
    assert!(message.contains("cannot be decoded"), "{message}");
}

#[test]
fn a_missing_agent_is_reported() {
    let port = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = port.local_addr().expect("an address");
    drop(port);
    let message = failure(
        &mut *meter(&format!("snmp://{address}/{OUTLET}"), SHORT),
        SHORT,
    );
    assert!(message.contains("is it on"), "{message}");
}
