//! DELEGATIONS=keep: what servers grant is used, recalled and returned.

use crate::support::{claim, mount, plan, start};
use filermark_driver_kit::driver::{Driver, ReleaseScope};
use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::*;
use filermark_engine::name::{Name, NameKind};
use filermark_model::Nanos;
use filermark_model::plan::{Connections, DelegationUse, MountPoint, NfsPlan, NfsVersion, TlsPlan};
use filermark_nfs::NfsDriver;
use filermark_nfs::client::{AnyFh, FileClient};
use filermark_nfs::target::Target;

use filermark_onc::nfs3::Nfsstat3;
use filermark_onc::nfs4::Operation;
use filermark_server::{Delegations, RunningServer, ServerOptions, TlsFiles};
use filermark_tls::testing::Authority;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(60);

/// A shard with one proc, and its driver.
pub struct Load {
    driver: NfsDriver,
    mount: MountPoint,
    shard: Box<dyn ShardDriver>,
    clock: Clock,
    next: u32,
    pub counters: BTreeMap<String, u64>,
}

impl Load {
    pub fn new(plan: &NfsPlan, mount: &MountPoint) -> Load {
        let driver = NfsDriver::new(plan.clone());
        driver.claim(mount, &claim()).expect("nothing is there");
        let clock = Clock::real();
        let setup = ShardSetup {
            shard: 0,
            shard_count: 1,
            clock: clock.clone(),
            data: Arc::new(DataSource::new(1, VerifyLevel::All).shared(true)),
            procs: vec![ProcSetup {
                number: 0,
                mount: mount.clone(),
                tree: None,
            }],
            claim: claim(),
            stop: StopFlag::new(),
        };
        let shard = driver.open_shard(setup).expect("it serves");
        let mut load = Load {
            driver,
            mount: mount.clone(),
            shard,
            clock,
            next: 0,
            counters: BTreeMap::new(),
        };
        load.succeed(Action::MakeProcDir {
            name: Name::new(NameKind::ProcDir, 0),
        });
        load
    }

    fn submit(&mut self, action: Action) {
        self.next += 1;
        let request = Request {
            token: self.next,
            proc: 0,
            action,
        };
        assert!(matches!(self.shard.submit(&request), Submit::Queued));
    }

    /// One turn of the loop; what has ended.
    fn turn(&mut self) -> Vec<Completion> {
        let mut done = Vec::new();
        self.shard.flush();
        let until = self.clock.now() + Nanos::from_millis(1);
        self.shard.poll(until, &mut done).expect("sockets work");
        done
    }

    #[track_caller]
    pub fn succeed(&mut self, action: Action) {
        self.submit(action);
        let until = Instant::now() + LIMIT;
        loop {
            assert!(Instant::now() < until, "{action:?} takes too long");
            if let Some(done) = self.turn().pop() {
                assert_eq!(done.outcome.status, Status::Ok, "{action:?}");
                return;
            }
        }
    }

    pub fn count(&mut self, name: &str) -> u64 {
        self.shard.take_counters(&mut self.counters);
        self.counters.get(name).copied().unwrap_or(0)
    }

    /// Serves callbacks until this many delegations are returned.
    #[track_caller]
    fn wait_for_returns(&mut self, count: u64) {
        let until = Instant::now() + LIMIT;
        while self.count("delegations_returned") < count {
            assert!(Instant::now() < until, "{:?}", self.counters);
            self.turn();
        }
    }

    pub fn end(mut self) -> BTreeMap<String, u64> {
        self.shard.end(self.clock.now() + Nanos::from_secs(60));
        self.shard.take_counters(&mut self.counters);
        let released = self
            .driver
            .release(&self.mount, &claim(), ReleaseScope::All);
        released.expect("released");
        self.counters
    }
}

pub fn fill(number: u32, size: u64) -> Action {
    Action::Fill {
        dir: PROC_DIR,
        name: Name::new(NameKind::File, number),
        object: Some(ObjectId(1 + number)),
        file: number.into(),
        size,
    }
}

pub fn create(number: u32) -> Action {
    Action::Create {
        dir: PROC_DIR,
        name: Name::new(NameKind::Small, number),
        object: ObjectId(1 + number),
    }
}

pub fn read(number: u32) -> Action {
    Action::Read {
        object: ObjectId(1 + number),
        file: number.into(),
        offset: 0,
        length: 4096,
    }
}

pub fn write(number: u32) -> Action {
    Action::Write {
        object: ObjectId(1 + number),
        file: number.into(),
        offset: 0,
        length: 4096,
    }
}

fn remove(number: u32) -> Action {
    Action::Remove {
        dir: PROC_DIR,
        name: Name::new(NameKind::File, number),
    }
}

/// Another client of the server, and the directory of the proc.
pub struct Other {
    client: FileClient,
    dir: AnyFh,
}

impl Other {
    pub fn new(plan: &NfsPlan, mount: &MountPoint) -> Other {
        let target = Target::resolve(mount, plan).expect("a target");
        let mut client = target.file_client(plan);
        let proc_dir = Name::new(NameKind::ProcDir, 0).text();
        let mut dir = target.root;
        for name in ["filermark.test".as_bytes(), proc_dir.as_bytes()] {
            dir = client.lookup(&dir, name).unwrap().expect("found").object;
        }
        Other { client, dir }
    }

    /// Writes to a file of the load, which serves callbacks meanwhile.
    #[track_caller]
    pub fn writes(&mut self, load: &mut Load, name: Name) {
        let until = Instant::now() + LIMIT;
        loop {
            assert!(Instant::now() < until, "{:?}", load.counters);
            match self.write(name) {
                Err(Nfsstat3::Jukebox) => drop(load.turn()),
                done => return done.expect("written"),
            }
        }
    }

    fn write(&mut self, name: Name) -> Result<(), Nfsstat3> {
        let found = self.client.lookup(&self.dir, name.text().as_bytes());
        let file = found.unwrap().map_err(|failed| failed.status)?.object;
        let written = self.client.write(&file, 1 << 20, b"data");
        written.unwrap().map(drop).map_err(|failed| failed.status)
    }
}

pub fn keeping(plan: NfsPlan) -> NfsPlan {
    NfsPlan {
        version: NfsVersion::V41,
        delegations: DelegationUse::Keep,
        connections: Connections::Shared(1),
        rpc_timeout_ms: 60_000,
        mount_port: None,
        portmap_port: 111,
        ..plan
    }
}

fn delegating(kinds: Delegations) -> (RunningServer, NfsPlan) {
    let (server, port) = start(ServerOptions {
        delegations: kinds,
        ..ServerOptions::default()
    });
    (server, keeping(plan(port)))
}

#[test]
fn what_is_granted_is_used_and_returned_when_the_file_is_closed() {
    let (server, plan) = delegating(Delegations::Write);
    let mut load = Load::new(&plan, &mount());
    load.succeed(fill(0, 8192));
    assert_eq!(load.count("delegations_write"), 1);
    load.wait_for_returns(1);
    for _ in 0..3 {
        load.succeed(read(0));
    }
    // One OPEN for reading, and one more for writing with the first WRITE.
    assert_eq!(load.count("delegations_read"), 1);
    load.succeed(write(0));
    load.succeed(write(0));
    load.succeed(read(0));
    assert_eq!(load.count("OPEN"), 3);
    load.succeed(fill(1, 8192));
    load.succeed(write(1));
    load.succeed(remove(0));
    let counters = load.end();
    let [read, write] = ["delegations_read", "delegations_write"].map(|name| counters[name]);
    assert_eq!((read, write), (1, 3));
    assert_eq!(counters["delegations_returned"], read + write);
    assert_eq!(counters["DELEGRETURN"], read + write);
    let stats = server.stop();
    assert_eq!(stats.delegations_returned, read + write);
    assert_eq!(
        (stats.delegations_recalled, stats.delegations_revoked),
        (0, 0)
    );
}

/// LOCK has the state of the open, whatever is delegated (RFC 8881 section 18.10).
#[test]
fn a_delegated_file_is_locked_with_the_state_of_its_open() {
    let (server, plan) = delegating(Delegations::Write);
    let mut load = Load::new(&plan, &mount());
    let lock = Action::V4(V4Action::Lock {
        object: ObjectId(1),
    });
    load.succeed(create(0));
    load.succeed(write(0));
    load.succeed(lock);
    load.succeed(read(0));
    load.succeed(lock);
    let counters = load.end();
    assert_eq!((counters["LOCK"], counters["LOCKU"]), (2, 2));
    assert!(!counters.contains_key("delegations_revoked"));
    assert!(!counters.contains_key("lost_opens"));
    assert!(counters["delegations_write"] > 0);
    let stats = server.stop();
    assert_eq!(
        stats.delegations_returned,
        stats.delegations_read + stats.delegations_write
    );
}

#[test]
fn a_recall_is_answered_and_the_file_stays_open() {
    let (server, plan) = delegating(Delegations::Write);
    recalled_and_open(server, &plan);
}

#[test]
fn a_recall_goes_over_tls() {
    let dir = TempDir::new().expect("a directory");
    let authority = Authority::new(dir.path(), "ca").expect("written");
    let own = authority
        .sign("server", &["127.0.0.1", "nas.test"])
        .expect("written");
    let (server, port) = start(ServerOptions {
        delegations: Delegations::Write,
        tls: Some(TlsFiles {
            certificate: own.certificate.clone(),
            key: own.key.clone(),
            client_authorities: None,
            client_optional: false,
        }),
        tls_only: true,
        ..ServerOptions::default()
    });
    let plan = NfsPlan {
        tls: Some(TlsPlan {
            authorities: authority.file().to_string_lossy().into_owned(),
            own: None,
            server_name: Some("nas.test".to_owned()),
        }),
        ..keeping(plan(port))
    };
    recalled_and_open(server, &plan);
}

fn recalled_and_open(server: RunningServer, plan: &NfsPlan) {
    let mut load = Load::new(plan, &mount());
    let refusing = NfsPlan {
        delegations: DelegationUse::Refuse,
        ..plan.clone()
    };
    let mut other = Other::new(&refusing, &mount());
    for number in 0..2 {
        load.succeed(fill(number, 8192));
    }
    load.wait_for_returns(2);
    load.succeed(read(0));
    load.succeed(write(1));
    let opens = load.count("OPEN");
    for number in 0..2 {
        other.writes(&mut load, Name::new(NameKind::File, number));
        load.wait_for_returns(u64::from(number) + 3);
    }
    assert_eq!(load.count("delegations_recalled"), 2);
    load.succeed(read(0));
    load.succeed(write(1));
    // Nothing was opened again, and nothing was granted while others are waiting.
    assert_eq!(load.count("OPEN"), opens);
    assert_eq!(load.count("callbacks"), 2);
    drop(other);
    let counters = load.end();
    assert_eq!(counters.get("delegations_revoked"), None);
    assert_eq!(counters.get("lost_opens"), None);
    let stats = server.stop();
    assert_eq!(
        (stats.delegations_recalled, stats.delegations_revoked),
        (2, 0)
    );
    assert_eq!(stats.delegations_returned, 4);
}

#[test]
fn delegations_that_are_refused_are_never_granted() {
    let (server, plan) = delegating(Delegations::Write);
    let refusing = NfsPlan {
        delegations: DelegationUse::Refuse,
        ..plan
    };
    let mut load = Load::new(&refusing, &mount());
    load.succeed(fill(0, 8192));
    load.succeed(read(0));
    load.succeed(write(0));
    assert_eq!(load.count("OPEN"), 2);
    let counters = load.end();
    assert_eq!(counters.get("DELEGRETURN"), None);
    let stats = server.stop();
    assert_eq!((stats.delegations_read, stats.delegations_write), (0, 0));
    assert_eq!(stats.of4(Operation::Delegreturn), 0);
}

#[test]
fn delegations_stay_over_a_lost_connection() {
    let (server, port) = start(ServerOptions {
        delegations: Delegations::Write,
        drop: "conn@9".parse().expect("a fault"),
        ..ServerOptions::default()
    });
    let plan = keeping(plan(port));
    let mut load = Load::new(&plan, &mount());
    load.succeed(fill(0, 8192));
    for _ in 0..40 {
        load.succeed(read(0));
        load.succeed(write(0));
    }
    assert!(load.count("reconnects") > 3, "{:?}", load.counters);
    let counters = load.end();
    let [read, write] = ["delegations_read", "delegations_write"].map(|name| counters[name]);
    assert_eq!(counters["delegations_returned"], read + write);
    assert_eq!(counters.get("lost_opens"), None);
    assert_eq!(server.stop().delegations_revoked, 0);
}
