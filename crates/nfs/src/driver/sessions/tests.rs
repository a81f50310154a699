//! The load of version 4 against a server in the test.

mod delegations;
mod embedded40;
mod layout_calls;
mod layout_commits;
mod layouts;
mod offloads;
mod recovery;
mod refusals;
mod replaced;
mod server;
mod server40;
mod server_layouts;
mod state;
#[cfg(target_os = "linux")]
mod tls;
mod trunks;
mod version40;
mod work;

use super::Sessions;
use crate::driver::NfsDriver;
use crate::driver::core::Core;
use crate::driver::open::MountState;
use crate::driver::tests::{FILE, SIZE, file_system, mount, name, plan, setup};
use filermark_driver_kit::sockets;
use filermark_engine::data::VerifyLevel;
use filermark_engine::driver::*;
use filermark_engine::name::NameKind;
use filermark_model::Nanos;
use filermark_model::plan::{Connections, MinorVersion, NfsPlan};
use filermark_onc::nfs4::Operation;
use server::{Deed, Seen, Server};
use std::collections::BTreeMap;
use std::net::SocketAddr;

type Shard = sockets::Shard<Core<Sessions>>;

/// A shard with its server.
struct Bench {
    shard: Shard,
    next_token: u32,
    server: Server,
    stop: StopFlag,
}

impl Bench {
    /// One proc, and a server that grants 16 slots.
    fn new(script: impl FnMut(&Seen) -> Deed + Send + 'static) -> Self {
        Self::with(plan(), 1, Server::start(16, script))
    }

    /// The same with this minor version.
    fn of_minor(minor: MinorVersion, script: impl FnMut(&Seen) -> Deed + Send + 'static) -> Self {
        let server = Server::start(16, script);
        server.state().minor = minor;
        let plan = NfsPlan {
            version: minor.version(),
            ..plan()
        };
        Self::with(plan, 1, server)
    }

    fn with(plan: NfsPlan, procs: u32, server: Server) -> Self {
        Self::at(plan, setup(procs, VerifyLevel::Sample), server)
    }

    fn at(plan: NfsPlan, setup: ShardSetup, server: Server) -> Self {
        let address = server.address;
        Self::behind(plan, setup, server, ("server.test", address))
    }

    /// The server is reached at another address, and has this name.
    fn behind(
        plan: NfsPlan,
        setup: ShardSetup,
        server: Server,
        (host, address): (&str, SocketAddr),
    ) -> Self {
        let minor = plan.version.minor_version().unwrap_or_default();
        let driver = NfsDriver::new(plan);
        let place = MountState {
            host: host.to_owned(),
            address,
            file_system: file_system(),
        };
        let key = (mount(), setup.claim.dir_name.clone());
        driver.mounts.lock().expect("unlocked").insert(key, place);
        let stop = setup.stop.clone();
        let mut shard = driver.shard4(setup, minor).expect("the server accepts");
        for proc in &mut shard.core.procs {
            proc.handles.set(PROC_DIR, b"proc dir");
            proc.handles.set(FILE, b"file");
        }
        Self {
            shard,
            next_token: 0,
            server,
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
        let deadline = self.shard.core.state.clock.now() + Nanos::from_secs(60);
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

    fn run(&mut self, action: Action) -> Outcome {
        let token = self.submit(0, action);
        self.wait(1)[&token]
    }

    #[track_caller]
    fn succeed(&mut self, action: Action) {
        assert_eq!(self.run(action).status, Status::Ok, "{action:?}");
    }

    fn counters(&mut self) -> BTreeMap<String, u64> {
        let mut counters = BTreeMap::new();
        self.shard.take_counters(&mut counters);
        for always in [
            "checked_bytes",
            "undecided_bytes",
            "client_ids",
            "sessions",
            "connections",
        ] {
            counters.remove(always);
        }
        counters
    }

    /// Ends the clients; the server must have nothing of them after that.
    #[track_caller]
    fn end(mut self) {
        let now = self.shard.core.state.clock.now();
        self.shard.end(now + Nanos::from_secs(60));
        let state = self.server.state();
        assert!(state.clients.is_empty(), "{:?}", state.clients);
        assert!(state.opens.is_empty(), "{:?}", state.opens);
        assert!(state.delegations.is_empty(), "{:?}", state.delegations);
        assert!(state.layouts.held.is_empty(), "{:?}", state.layouts.held);
        let count = |of| state.single.iter().filter(|o| **o == of).count();
        let sessions = count(Operation::DestroySession);
        assert_eq!(sessions, self.shard.core.own.clients.len());
        assert_eq!(sessions, count(Operation::DestroyClientid));
    }
}

/// A plan whose procs share a connection.
fn shared() -> NfsPlan {
    NfsPlan {
        connections: Connections::Shared(1),
        ..plan()
    }
}

fn create(number: u32) -> Action {
    Action::Create {
        dir: PROC_DIR,
        name: name(NameKind::Small, number),
        object: ObjectId(100 + number),
    }
}

fn remove(number: u32) -> Action {
    Action::Remove {
        dir: PROC_DIR,
        name: name(NameKind::Small, number),
    }
}

fn fill(number: u32, size: u64) -> Action {
    Action::Fill {
        dir: PROC_DIR,
        name: name(NameKind::File, number),
        object: Some(ObjectId(1000 + number)),
        file: 7,
        size,
    }
}

fn read(offset: u64, length: u32) -> Action {
    crate::driver::tests::read(offset, length)
}

fn write(offset: u64, length: u32) -> Action {
    crate::driver::tests::write(offset, length)
}

fn getattr() -> Action {
    Action::Getattr { object: FILE }
}

impl Bench {
    /// The same where earlier sessions of the client were left on the server.
    #[track_caller]
    fn end_with_sessions(mut self) {
        self.server.state().forget_sessions_of_losers();
        let now = self.shard.core.state.clock.now();
        self.shard.end(now + Nanos::from_secs(60));
        assert!(self.server.state().clients.is_empty());
    }
}
