//! The driver allocates nothing per operation once it is warm.
//!
//! A test binary of its own, because the allocator is the whole program's.
use filermark_driver_kit::driver::Driver;
use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::*;
use filermark_engine::name::{Name, NameKind};
use filermark_model::Nanos;
use filermark_model::benchmark::{CommitPolicy, Deferral};
use filermark_model::plan::{
    Connections, IpChoice, MountPoint, NfsPlan, NfsVersion, TlsPlan, Transport,
};
use filermark_nfs::NfsDriver;
use filermark_server::{EXPORT, Server, ServerOptions, TlsFiles};
use filermark_testbed::{Counting, Fsal, Ganesha, Sandbox, available};
use filermark_tls::testing::Authority;
use std::sync::Arc;
use tempfile::TempDir;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PROCS: u32 = 4;
const FILE_BYTES: u64 = 600_000;

fn plan(port: u16, (version, commit): (NfsVersion, CommitPolicy), transport: Transport) -> NfsPlan {
    NfsPlan {
        version,
        transport,
        machine_name: "client".to_owned(),
        block_size_max: Some(32768),
        biod_max_reads: 4,
        biod_max_writes: 4,
        commit,
        nfs_port: Some(port),
        mount_port: Some(port),
        portmap_port: port,
        ip: IpChoice::V4,
        connections: Connections::Shared(2),
        rpc_timeout_ms: 30_000,
        rpc_retries: 1,
        connect_timeout_ms: 5_000,
        jukebox_delay_ms: 1,
        jukebox_retries: 1,
        ..NfsPlan::default()
    }
}

/// What every proc does in a round, in this order.
fn round(plus: bool) -> Vec<Action> {
    let dir = PROC_DIR;
    let file = ObjectId(1);
    let other = ObjectId(2);
    let name = |kind, number| Name::new(kind, number);
    let [a, b] = [1, 2].map(|n| name(NameKind::Small, n));
    let read = |offset, length| Action::Read {
        object: file,
        file: 7,
        offset,
        length,
    };
    vec![
        Action::Fill {
            dir,
            name: name(NameKind::File, 1),
            object: Some(file),
            file: 7,
            size: FILE_BYTES,
        },
        Action::Getattr { object: file },
        Action::Lookup {
            dir,
            name: name(NameKind::File, 1),
            object: file,
        },
        read(0, 262_144),
        read(100_001, 4096),
        Action::Write {
            object: file,
            file: 7,
            offset: 5,
            length: 200_000,
        },
        Action::Create {
            dir,
            name: a,
            object: other,
        },
        Action::Rename {
            dir,
            name: a,
            object: other,
            new_name: b,
            new_object: other,
        },
        Action::Readdir { dir, plus },
        Action::Setattr {
            object: other,
            size: None,
        },
        Action::Remove { dir, name: b },
        Action::Fsstat,
    ]
}

/// What only version 4.2 has, on the file of a round and a scratch file.
fn of_version42() -> Vec<Action> {
    let (object, target, attribute) = (ObjectId(1), ObjectId(4), 1);
    let file = 7;
    let (offset, length) = (4096, 65_536);
    let actions = [
        V4Action::Open {
            dir: PROC_DIR,
            name: Name::new(NameKind::File, 1),
            object,
        },
        V4Action::Lock { object },
        V4Action::Allocate {
            object: target,
            offset,
            length,
        },
        V4Action::Deallocate {
            object: target,
            offset,
            length,
        },
        V4Action::Seek {
            object,
            file,
            offset,
            bytes: FILE_BYTES as u32,
            is_hole: true,
        },
        V4Action::Copy {
            object,
            target,
            file,
            offset,
            length,
        },
        V4Action::Clone {
            object,
            target,
            file,
            offset,
            length,
            bytes: FILE_BYTES as u32,
        },
        V4Action::Setxattr {
            object: target,
            attribute,
        },
        V4Action::Getxattr {
            object: target,
            attribute,
        },
        V4Action::Listxattrs { object: target },
        V4Action::Removexattr {
            object: target,
            attribute,
        },
    ];
    actions.into_iter().map(Action::V4).collect()
}

/// The files of procs have numbers of their own.
fn of_proc(action: Action, of: u32) -> Action {
    let mut action = action;
    if let Action::Fill { file, .. } | Action::Read { file, .. } | Action::Write { file, .. } =
        &mut action
    {
        *file += u64::from(of);
    }
    if let Action::V4(
        V4Action::Seek { file, .. } | V4Action::Copy { file, .. } | V4Action::Clone { file, .. },
    ) = &mut action
    {
        *file += u64::from(of);
    }
    action
}

fn run(shard: &mut dyn ShardDriver, actions: &[Action], done: &mut Vec<Completion>) {
    for action in actions {
        done.clear();
        for proc in 0..PROCS {
            let request = Request {
                token: proc,
                proc,
                action: of_proc(*action, proc),
            };
            assert!(matches!(shard.submit(&request), Submit::Queued));
        }
        while done.len() < PROCS as usize {
            shard.flush();
            shard.poll(Nanos::MAX, done).expect("sockets work");
        }
        for completion in done.iter() {
            assert_eq!(completion.outcome.status, Status::Ok, "{action:?}");
        }
    }
}

/// One test, since the allocator counts for the whole program.
#[test]
fn nothing_is_allocated_per_operation() {
    let deferred = CommitPolicy::Deferred(Deferral {
        writes: 3,
        mib: 1,
        files: 1,
    });
    let general = CommitPolicy::Deferred(Deferral {
        writes: 64,
        mib: 4,
        files: 16,
    });
    for transport in [Transport::Tcp, Transport::Udp] {
        count_in((NfsVersion::V3, CommitPolicy::at_once()), transport);
        count_in((NfsVersion::V3, deferred), transport);
        count_in((NfsVersion::V3, general), transport);
        count_in((NfsVersion::V3, CommitPolicy::PerWrite), transport);
        count_in((NfsVersion::V2, CommitPolicy::at_once()), transport);
    }
    count_in((NfsVersion::V42, CommitPolicy::at_once()), Transport::Tcp);
    count_over_tls();
}

fn count_over_tls() {
    let dir = TempDir::new().expect("a directory");
    let authority = Authority::new(dir.path(), "ca").expect("written");
    let own = authority.sign("server", &["127.0.0.1"]).expect("written");
    let server = Server::start(ServerOptions {
        tls: Some(TlsFiles {
            certificate: own.certificate,
            key: own.key,
            client_authorities: None,
            client_optional: false,
        }),
        tls_only: true,
        ..ServerOptions::default()
    })
    .expect("a free port");
    let port = server.addrs()[0].port();
    let versioned = (NfsVersion::V3, CommitPolicy::at_once());
    let plan = NfsPlan {
        tls: Some(TlsPlan {
            authorities: authority.file().display().to_string(),
            own: None,
            server_name: None,
        }),
        ..plan(port, versioned, Transport::Tcp)
    };
    count_on(&plan, EXPORT);
}

/// The table of data that waits for a COMMIT is allocated in advance: it fills up for the first time
/// while load is made.
fn fill_table(shard: &mut dyn ShardDriver, done: &mut Vec<Completion>) {
    let files = 1..=16;
    let number = |n: u32| 100 * u64::from(n);
    let fills = files.clone().map(|n| Action::Fill {
        dir: PROC_DIR,
        name: Name::new(NameKind::File, n),
        object: Some(ObjectId(n)),
        file: number(n),
        size: 100_000,
    });
    run(shard, &fills.collect::<Vec<_>>(), done);
    let writes = |round: u64| -> Vec<Action> {
        let write = |n| Action::Write {
            object: ObjectId(n),
            file: number(n),
            offset: round * 1_000,
            length: 1_000,
        };
        files.clone().map(write).collect()
    };
    // Two of 64 writes to each file, for all else that grows.
    (0..2).for_each(|round| run(shard, &writes(round), done));
    let rounds: Vec<_> = (2..62).map(writes).collect();
    let before = Counting::count();
    rounds.iter().for_each(|actions| run(shard, actions, done));
    let allocations = Counting::count() - before;
    assert!(allocations <= 4, "{allocations} allocations");
    let mut counters = Default::default();
    shard.take_counters(&mut counters);
    let waiting = u64::from(PROCS) * 16 * 62;
    assert_eq!(counters["unstable_writes"], waiting);
    let filled = u64::from(PROCS) * 16;
    assert_eq!(
        counters["write_commits"], filled,
        "those of the fills alone"
    );
}

fn count_in((version, commit): (NfsVersion, CommitPolicy), transport: Transport) {
    let server = Server::start(ServerOptions {
        unstable: "on".parse().expect("sound"),
        udp: true,
        ..ServerOptions::default()
    })
    .expect("a free port");
    let port = server.addrs()[0].port();
    count_on(&plan(port, (version, commit), transport), EXPORT);
}

/// Versions 4.1 and 4.0, with ganesha.
#[test]
fn nothing_is_allocated_per_operation_with_open_files() {
    let options = filermark_testbed::ServerOptions {
        nfs4: true,
        ..Default::default()
    };
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(ganesha) = available(Ganesha::start_in(&sandbox, Fsal::Vfs, options)) else {
        return;
    };
    let export = ganesha.export();
    let path = export.path_v4.as_deref().expect("it serves version 4");
    let deferred = CommitPolicy::Deferred(Deferral {
        writes: 3,
        mib: 1,
        files: 1,
    });
    for version in [NfsVersion::V41, NfsVersion::V40] {
        for commit in [CommitPolicy::at_once(), deferred] {
            let plan = plan(export.nfs_port, (version, commit), Transport::Tcp);
            sandbox.run(|| count_on(&plan, path));
        }
    }
    // One client with two connections.
    let trunk = NfsPlan {
        connections: Connections::Shared(1),
        nconnect: 2,
        ..plan(
            export.nfs_port,
            (NfsVersion::V41, CommitPolicy::at_once()),
            Transport::Tcp,
        )
    };
    sandbox.run(|| count_on(&trunk, path));
}

fn count_on(plan: &NfsPlan, path: &str) {
    let (version, commit, transport) = (plan.version, plan.commit, plan.transport);
    let mount = MountPoint {
        host: "127.0.0.1".to_owned(),
        path: path.to_owned(),
    };
    let driver = NfsDriver::new(plan.clone());
    let clock = Clock::real();
    let is_deferred = matches!(commit, CommitPolicy::Deferred(Deferral { writes: 3, .. }));
    let claim = Claim {
        // The server may be that of an earlier call.
        dir_name: format!("filermark.alloc{}{}", version.name(), u8::from(is_deferred)),
        run_id: "alloc".to_owned(),
    };
    driver.claim(&mount, &claim).expect("nothing is there");
    let proc = |number| ProcSetup {
        number,
        mount: mount.clone(),
        tree: None,
    };
    let setup = ShardSetup {
        shard: 0,
        shard_count: 1,
        clock: clock.clone(),
        data: Arc::new(DataSource::new(1, VerifyLevel::All)),
        procs: (0..PROCS).map(proc).collect(),
        claim: claim.clone(),
        stop: StopFlag::new(),
    };
    let mut shard = driver.open_shard(setup).expect("it serves");
    let mut done = Vec::with_capacity(64);
    for proc in 0..PROCS {
        let name = Name::new(NameKind::ProcDir, proc);
        let action = Action::MakeProcDir { name };
        shard.submit(&Request {
            token: proc,
            proc,
            action,
        });
    }
    while done.len() < PROCS as usize {
        shard.flush();
        shard.poll(Nanos::MAX, &mut done).expect("sockets work");
    }
    if let CommitPolicy::Deferred(Deferral { writes: 64, .. }) = commit {
        return fill_table(&mut *shard, &mut done);
    }
    let mut actions = round(version != NfsVersion::V2);
    if let CommitPolicy::Deferred(Deferral { writes: 3, .. }) = commit {
        // Two files are filled once, then what is written to them gathers.
        run(&mut *shard, &actions[..1], &mut done);
        let (other, second) = (ObjectId(3), 100);
        let mut fill = actions.remove(0);
        if let Action::Fill {
            name, object, file, ..
        } = &mut fill
        {
            (name.number, *object, *file) = (2, Some(other), second);
        }
        run(&mut *shard, &[fill], &mut done);
        for offset in [0, 400_000] {
            actions.push(Action::Write {
                object: other,
                file: second,
                offset,
                length: 60_000,
            });
        }
    }
    if version == NfsVersion::V42 {
        let scratch = Action::Fill {
            dir: PROC_DIR,
            name: Name::new(NameKind::Small, 4),
            object: Some(ObjectId(4)),
            file: 400,
            size: 0,
        };
        run(&mut *shard, &[scratch], &mut done);
        actions.extend(of_version42());
    }
    for _ in 0..100 {
        run(&mut *shard, &actions, &mut done);
    }
    let before = Counting::count();
    const ROUNDS: u64 = 100;
    for _ in 0..ROUNDS {
        run(&mut *shard, &actions, &mut done);
    }
    let allocations = Counting::count() - before;
    let operations = ROUNDS * actions.len() as u64 * u64::from(PROCS);
    // A buffer may still grow when a burst larger than any before comes; that is
    // not per operation.
    assert!(
        allocations <= 4,
        "{version:?} {transport:?} (TLS: {}): {allocations} allocations in {operations} operations",
        plan.tls.is_some()
    );
    shard.end(clock.now() + Nanos::from_secs(60));
}
