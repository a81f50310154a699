//! The driver against a scripted server and against the embedded one.

mod actions;
pub(in crate::driver) mod embedded;
#[cfg(target_os = "linux")]
mod engines;
pub(in crate::driver) mod fake;
mod gathering;
mod hostile;
mod lost;
pub(super) mod tls;
mod transfers;
mod udp;
mod upkeep;
mod v2;

use super::NfsDriver;
use super::core::{Core, FileSystem};
use super::open::MountState;
use fake::{Fake, ReceivedCall, ServerAction};
use filermark_driver_kit::sockets;
use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::*;
use filermark_engine::name::{Name, NameKind};
use filermark_model::Nanos;
use filermark_model::benchmark::{CommitPolicy, Deferral};
use filermark_model::plan::{Connections, IpChoice, MountPoint, NfsPlan, NfsVersion, Transport};
use filermark_onc::nfs4::Fh4;
use std::collections::BTreeMap;
use std::sync::Arc;

type Shard = sockets::Shard<Core>;

/// Transfer size that is used with the fake server.
pub(super) const SIZE: u32 = 4096;
/// A file that the tests read and write.
pub(super) const FILE: ObjectId = ObjectId(1);

pub(super) fn plan() -> NfsPlan {
    NfsPlan {
        gids: vec![1, 2],
        machine_name: "client".to_owned(),
        ip: IpChoice::V4,
        rpc_timeout_ms: 5_000,
        rpc_retries: 2,
        connect_timeout_ms: 5_000,
        jukebox_delay_ms: 1,
        jukebox_retries: 3,
        ..NfsPlan::default()
    }
}

pub(super) fn mount() -> MountPoint {
    MountPoint {
        host: "127.0.0.1".to_owned(),
        path: "/export".to_owned(),
    }
}

pub(super) fn setup(procs: u32, checking: VerifyLevel) -> ShardSetup {
    let proc = |number| ProcSetup {
        number,
        mount: mount(),
        tree: None,
    };
    ShardSetup {
        shard: 0,
        shard_count: 1,
        clock: Clock::real(),
        data: Arc::new(DataSource::new(1, checking)),
        procs: (0..procs).map(proc).collect(),
        claim: Claim {
            dir_name: "filermark.test".to_owned(),
            run_id: "test".to_owned(),
        },
        stop: StopFlag::new(),
    }
}

pub(super) fn name(kind: NameKind, number: u32) -> Name {
    Name::new(kind, number)
}

pub(super) fn file_system() -> FileSystem {
    FileSystem {
        root: Fh4::new(b"root").expect("short"),
        run_dir: Fh4::new(b"run dir").expect("short"),
        rsize: SIZE,
        wsize: SIZE,
        readdir_bytes: 8192,
        has_layouts: true,
    }
}

/// A shard with its server.
struct Bench {
    shard: Shard,
    next_token: u32,
    server: Option<Fake>,
    stop: StopFlag,
}

impl Bench {
    /// One proc that has a directory and a file, and a server that replies as `script` does.
    fn new(script: impl FnMut(&ReceivedCall<'_>) -> Vec<ServerAction> + Send + 'static) -> Self {
        Self::with(plan(), 1, VerifyLevel::Sample, script)
    }

    fn with(
        plan: NfsPlan,
        procs: u32,
        checking: VerifyLevel,
        script: impl FnMut(&ReceivedCall<'_>) -> Vec<ServerAction> + Send + 'static,
    ) -> Self {
        let server = match plan.transport {
            Transport::Tcp => Fake::start(script),
            Transport::Udp => Fake::start_udp(script),
        };
        let driver = NfsDriver::new(plan);
        let setup = setup(procs, checking);
        let place = MountState {
            host: "server.test".to_owned(),
            address: server.address,
            file_system: file_system(),
        };
        let key = (mount(), setup.claim.dir_name.clone());
        driver.mounts.lock().expect("unlocked").insert(key, place);
        let stop = setup.stop.clone();
        let mut shard = driver.shard(setup).expect("the fake server accepts");
        for proc in &mut shard.core.procs {
            proc.handles.set(PROC_DIR, b"proc dir");
            proc.handles.set(FILE, b"file");
        }
        Self {
            shard,
            next_token: 0,
            server: Some(server),
            stop,
        }
    }

    fn submit(&mut self, proc: u32, action: Action) -> u32 {
        let token = self.next_token;
        self.next_token += 1;
        let request = Request {
            token,
            proc,
            action,
        };
        match self.shard.submit(&request) {
            Submit::Queued => token,
            other => panic!("{action:?}: {other:?}"),
        }
    }

    /// Waits for this many completions.
    fn wait(&mut self, count: usize) -> BTreeMap<u32, Outcome> {
        let deadline = self.shard.core.state.clock.now() + Nanos::from_secs(120);
        let mut done = Vec::new();
        while done.len() < count {
            self.shard.flush();
            self.shard.poll(deadline, &mut done).expect("sockets work");
            let now = self.shard.core.state.clock.now();
            assert!(now < deadline, "{} of {count} came", done.len());
        }
        assert_eq!(done.len(), count);
        assert!(done.iter().all(|d| d.outcome.sent <= d.outcome.done));
        done.into_iter().map(|d| (d.token, d.outcome)).collect()
    }

    /// Submits one action and waits for its completion.
    fn run(&mut self, action: Action) -> Outcome {
        let token = self.submit(0, action);
        self.wait(1)[&token]
    }

    fn status(&mut self, action: Action) -> Status {
        self.run(action).status
    }

    /// The counters, without those of compared bytes.
    fn counters(&mut self) -> BTreeMap<String, u64> {
        let mut counters = BTreeMap::new();
        self.shard.take_counters(&mut counters);
        for bytes in ["checked_bytes", "undecided_bytes"] {
            counters.remove(bytes);
        }
        counters
    }

    fn handle(&self, object: ObjectId) -> Option<Vec<u8>> {
        let handles = &self.shard.core.procs[0].handles;
        handles.get(object).map(|h| h.as_bytes().to_vec())
    }
}

fn counted(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|(n, c)| ((*n).to_owned(), *c)).collect()
}

fn getattr() -> Action {
    Action::Getattr { object: FILE }
}

pub(super) fn read(offset: u64, length: u32) -> Action {
    Action::Read {
        object: FILE,
        file: 7,
        offset,
        length,
    }
}

pub(super) fn write(offset: u64, length: u32) -> Action {
    Action::Write {
        object: FILE,
        file: 7,
        offset,
        length,
    }
}

fn create(number: u32) -> Action {
    Action::Create {
        dir: PROC_DIR,
        name: name(NameKind::Small, number),
        object: ObjectId(100 + number),
    }
}
