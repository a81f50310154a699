//! Reads every byte between a prime and real agents: neither the password nor its hashes
//! are in them.
#![cfg(unix)] // The links are pairs of local sockets of Unix.

use crate::leftovers::sweep_leftovers;
use crate::{RunOptions, run};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use filermark_agent as agent;
use filermark_engine::driver::StopFlag;
use filermark_hosts::preflight::{PreflightOptions, preflight};
use filermark_link::frame::Deframer;
use filermark_link::links::{AgentLinks, ThreadLinks};
use filermark_link::message::Order;
use filermark_link::start::{AgentHandle, LaunchedAgent, Launcher};
use filermark_model::RunPlan;
use filermark_model::launch::{HostPlan, LaunchPlan};
use filermark_model::plan::{ClientPlan, DriverPlan, MountPoint};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// MS-NLMP 4.2.1: the user of the examples is `User` of `Domain`.
const PASSWORD: &str = "Password";
/// MS-NLMP 4.2.2.1.2: NTOWFv1 of it, the "NT hash".
const NT_HASH: [u8; 16] = [
    0xa4, 0xf4, 0x9c, 0x40, 0x65, 0x10, 0xbd, 0xca, 0xb6, 0x82, 0x4e, 0xe7, 0xc3, 0x0f, 0xd8, 0x52,
];
/// MS-NLMP 4.2.4.1.1: NTOWFv2 of it.
const NT_HASH_V2: [u8; 16] = [
    0x0c, 0x86, 0x8a, 0x40, 0x3b, 0xfd, 0x7a, 0x93, 0xa3, 0x00, 0x1e, 0xf2, 0x2e, 0xf0, 0x2e, 0x3f,
];

/// All bytes of a direction.
type RecordedBytes = Arc<Mutex<Vec<u8>>>;

/// Passes a stream on and keeps what went through.
struct Recorded<S>(S, RecordedBytes);

impl<S: Read> Read for Recorded<S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(bytes)?;
        self.1.lock().unwrap().extend_from_slice(&bytes[..count]);
        Ok(count)
    }
}

impl<S: Write> Write for Recorded<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.0.write(bytes)?;
        self.1.lock().unwrap().extend_from_slice(&bytes[..count]);
        Ok(count)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Real agents on threads.
#[derive(Default)]
struct Threads {
    /// To the agents and from them, one pair for each that was started.
    tapes: Mutex<Vec<(RecordedBytes, RecordedBytes)>>,
}

struct DetachedHandle;

impl AgentHandle for DetachedHandle {
    fn final_output(&mut self) -> Option<String> {
        None
    }
    fn release(&mut self, _: Duration) {}
}

impl Launcher for Threads {
    fn launch(&self, _client: usize, _host: &HostPlan) -> Result<LaunchedAgent, String> {
        let (to, from) = (RecordedBytes::default(), RecordedBytes::default());
        self.tapes.lock().unwrap().push((to.clone(), from.clone()));
        let (ours, theirs) = UnixStream::pair().map_err(|e| e.to_string())?;
        let orders = Recorded(theirs.try_clone().map_err(|e| e.to_string())?, to);
        std::thread::spawn(move || agent::serve(orders, Recorded(theirs, from)));
        Ok(LaunchedAgent {
            from_agent: Box::new(ours.try_clone().map_err(|e| e.to_string())?),
            to_agent: Box::new(ours),
            handle: Box::new(DetachedHandle),
        })
    }
}

fn plan() -> RunPlan {
    let mut plan = filermark_results::testing::plan();
    plan.driver = DriverPlan::Smb(filermark_results::testing::smb_plan(PASSWORD));
    // Each client has its own mount point, so that it does not wait for the other's claim.
    let client = |name: &str| ClientPlan {
        name: name.into(),
        mounts: vec![MountPoint {
            host: "127.0.0.1".into(),
            path: format!(r"\{name}"),
        }],
    };
    plan.clients = vec![client("one"), client("two")];
    plan.procs_per_client = 1;
    plan.points.truncate(1);
    let benchmark = filermark_model::Benchmark::shipped("general-smb2").unwrap();
    plan.benchmark = benchmark;
    plan
}

fn launch() -> LaunchPlan {
    LaunchPlan::local(["one".to_owned(), "two".to_owned()])
}

/// What can be read from a stream: its bytes, and the decoded messages.
fn seen(tape: &RecordedBytes, of_agent: bool) -> Vec<u8> {
    let mut all = tape.lock().unwrap().clone();
    let mut deframer = match of_agent {
        true => Deframer::of_agent(),
        false => Deframer::of_prime(),
    };
    deframer.push(&all.clone());
    while let Some(frame) = deframer.next_frame().unwrap() {
        let message: serde_json::Value = frame.decode().unwrap();
        all.extend(message.to_string().into_bytes());
    }
    all
}

/// The forms in which the password could be found.
fn traces() -> Vec<Vec<u8>> {
    let utf16: Vec<u8> = PASSWORD.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let words = [PASSWORD.into(), utf16, NT_HASH.into(), NT_HASH_V2.into()];
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let forms = |bytes: Vec<u8>| {
        let base64 = BASE64.encode(&bytes);
        let text = [base64.trim_end_matches('=').into(), hex(&bytes)];
        let upper = text[1].to_ascii_uppercase();
        let [base64, hex] = text.map(String::into_bytes);
        [bytes, base64, hex, upper.into_bytes()]
    };
    words.into_iter().flat_map(forms).collect()
}

fn has(all: &[u8], trace: &[u8]) -> bool {
    all.windows(trace.len()).any(|window| window == trace)
}

/// Searches what two agents have received and sent; `to_count` of them have received
/// `order`, with the password.
fn assert_unseen(threads: &Threads, order: &str, to_count: usize) {
    let tapes = threads.tapes.lock().unwrap();
    assert_eq!(tapes.len(), 2);
    let mut order_count = 0;
    for (to, from) in tapes.iter() {
        let (received, sent) = (seen(to, false), seen(from, true));
        let name = format!(r#""order":"{order}""#);
        if has(&received, name.as_bytes()) {
            order_count += 1;
            assert!(has(&received, br#""password":{"#), "it was sent");
        }
        for trace in traces() {
            assert!(
                !has(&received, &trace),
                "{}",
                String::from_utf8_lossy(&trace)
            );
            assert!(!has(&sent, &trace), "{}", String::from_utf8_lossy(&trace));
        }
    }
    assert_eq!(order_count, to_count, "{order}");
}

#[test]
fn a_run_a_preflight_and_a_sweep_send_no_password() {
    let dir = tempfile::tempdir().unwrap();
    let threads = Arc::new(Threads::default());
    let board = ThreadLinks::launch(&launch(), threads.clone());
    let options = RunOptions {
        plan: plan(),
        launch: launch(),
        suffix: "sealed".into(),
        dir: dir.path().into(),
        stop_command: "filermark stop".into(),
        inputs: Vec::new(),
        goes_on: false,
        client_log_dir: None,
        heartbeat_log: None,
        reports: &[],
        stop: StopFlag::new(),
        observe: &mut |_| {},
    };
    let outcome = run(options, Box::new(board)).unwrap();
    assert_unseen(&threads, "prepare", 1);
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(traces().iter().all(|trace| !has(&bytes, trace)));
    }
    let shown = format!("{:?}", outcome.record);
    assert!(!shown.contains(PASSWORD));

    let threads = Arc::new(Threads::default());
    let board = ThreadLinks::launch(&launch(), threads.clone());
    let stop = StopFlag::new();
    let swept = sweep_leftovers(
        &plan(),
        &launch(),
        "sealed",
        "",
        Box::new(board),
        stop,
        &mut |_| {},
    );
    assert_unseen(&threads, "sweep", 1);
    // The login of the first client failed; the other does not try the same password.
    assert!(swept[0].left[0].sentence.contains("127.0.0.1"), "{swept:?}");
    assert!(
        swept[1].left[0]
            .sentence
            .starts_with("not tried: client one"),
        "{swept:?}"
    );

    let threads = Arc::new(Threads::default());
    let started = threads.clone();
    let findings = preflight(PreflightOptions {
        plan: plan(),
        launch: launch(),
        suffix: "sealed".into(),
        dir: dir.path().into(),
        rc: None,
        stop: StopFlag::new(),
        board: &mut move |launch| {
            let board: Box<dyn AgentLinks> = Box::new(ThreadLinks::launch(launch, started.clone()));
            Ok(board)
        },
        observe: &mut |_| {},
    });
    assert_unseen(&threads, "inspect", 2);
    assert!(!format!("{findings:?}").contains(PASSWORD));
}

#[test]
fn sealing_needs_a_key_only_where_there_is_a_password() {
    use filermark_link::message::ClientShare;
    use filermark_link::plan_password::seal;
    use filermark_link::secure::seal::{SealError, Sealer};
    let mut order = Order::Prepare(ClientShare {
        plan: Box::new(plan()),
        client: 0,
        dir_name: "d".into(),
        run_id: "r".into(),
        password: None,
    });
    assert_eq!(
        seal(&mut order, || Err(SealError::BadKey)),
        Err(SealError::BadKey)
    );
    // Without a password the key is not used.
    let mut without = plan();
    without.driver = DriverPlan::NULL;
    let mut order = Order::Sweep(ClientShare {
        plan: Box::new(without),
        client: 0,
        dir_name: "d".into(),
        run_id: "r".into(),
        password: None,
    });
    let none = || -> Result<&'static mut Sealer, SealError> { panic!("nothing to seal") };
    assert_eq!(seal(&mut order, none), Ok(()));
}
