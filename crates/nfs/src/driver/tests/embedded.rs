//! Against the embedded server: real semantics, and its own count of calls.

use super::*;
use filermark_driver_kit::driver::{Driver, ReleaseScope};
use filermark_onc::nfs3::Procedure;
use filermark_server::{EXPORT, RunningServer, Server, ServerOptions};

pub(in crate::driver) struct World {
    pub(in crate::driver) server: RunningServer,
    pub(in crate::driver) driver: NfsDriver,
    pub(in crate::driver) setup: ShardSetup,
}

impl World {
    pub(in crate::driver) fn new(
        options: ServerOptions,
        change: impl FnOnce(&mut NfsPlan),
        procs: u32,
    ) -> Self {
        let server = Server::start(options).expect("a free port");
        let port = Some(server.addrs()[0].port());
        let mut plan = NfsPlan {
            nfs_port: port,
            mount_port: port,
            rpc_timeout_ms: 300,
            rpc_retries: 20,
            ..plan()
        };
        change(&mut plan);
        let mut setup = setup(procs, VerifyLevel::All);
        // Files of several procs have the same numbers here.
        setup.data = Arc::new(DataSource::new(1, VerifyLevel::All).shared(true));
        for proc in &mut setup.procs {
            proc.mount.path = EXPORT.to_owned();
        }
        let driver = NfsDriver::new(plan);
        Self {
            server,
            driver,
            setup,
        }
    }

    pub(in crate::driver) fn mount(&self) -> &MountPoint {
        &self.setup.procs[0].mount
    }

    /// Claims the mount point, opens a shard and makes the procs' directories.
    pub(super) fn bench(&self) -> Bench {
        let report = self.driver.claim(self.mount(), &self.setup.claim);
        assert_eq!(report.expect("nothing is there").removed_count, 0);
        let shard = self.driver.shard(self.setup.clone()).expect("it serves");
        let mut bench = Bench {
            shard,
            next_token: 0,
            server: None,
            stop: self.setup.stop.clone(),
        };
        let procs = self.setup.procs.len();
        for proc in 0..procs as u32 {
            let name = name(NameKind::ProcDir, proc);
            bench.submit(proc, Action::MakeProcDir { name });
        }
        all_ok(&bench.wait(procs));
        bench
    }
}

pub(super) fn all_ok(outcomes: &BTreeMap<u32, Outcome>) {
    for (token, outcome) in outcomes {
        assert_eq!(outcome.status, Status::Ok, "{token}: {outcome:?}");
    }
}

pub(in crate::driver) fn fill(number: u32, size: u64) -> Action {
    Action::Fill {
        dir: PROC_DIR,
        name: name(NameKind::File, number),
        object: Some(ObjectId(1 + number)),
        file: number.into(),
        size,
    }
}

pub(super) fn read_file(number: u32, offset: u64, length: u32) -> Action {
    Action::Read {
        object: ObjectId(1 + number),
        file: number.into(),
        offset,
        length,
    }
}

pub(super) fn remove_file(number: u32) -> Action {
    Action::Remove {
        dir: PROC_DIR,
        name: name(NameKind::File, number),
    }
}

/// Sizes from 0 to several transfers, also uneven ones.
const SIZES: [u64; 6] = [0, 1, 4096, 70_001, 1 << 20, 3_000_000];

/// Fills, reads back, overwrites, appends and removes with several procs at once.
pub(super) fn work(bench: &mut Bench, procs: u32) {
    let files = SIZES.len();
    let each = |bench: &mut Bench, action: &dyn Fn(u32) -> Action| {
        for proc in 0..procs {
            for number in 0..files as u32 {
                bench.submit(proc, action(number));
            }
        }
        let outcomes = bench.wait(files * procs as usize);
        all_ok(&outcomes);
        outcomes
    };
    each(bench, &|n| fill(n, SIZES[n as usize]));
    let read = each(bench, &|n| read_file(n, 0, SIZES[n as usize] as u32));
    for outcome in read.values() {
        assert!(outcome.end);
    }
    let total: u64 = read.values().map(|o| o.read_bytes).sum();
    assert_eq!(total, SIZES.iter().sum::<u64>() * u64::from(procs));
    each(bench, &|n| Action::Write {
        object: ObjectId(1 + n),
        file: n.into(),
        offset: SIZES[n as usize],
        length: 100_000,
    });
    let read = each(bench, &|n| read_file(n, SIZES[n as usize], 100_000));
    assert!(read.values().all(|o| o.read_bytes == 100_000));
    each(bench, &remove_file);
    for proc in 0..procs {
        let name = name(NameKind::ProcDir, proc);
        bench.submit(proc, Action::RemoveProcDir { name });
    }
    all_ok(&bench.wait(procs as usize));
}

#[test]
fn the_server_counts_what_the_driver_counts() {
    let options = ServerOptions {
        unstable: "on".parse().expect("sound"),
        rtmax: 65536,
        rtpref: 65536,
        wtmax: 32768,
        wtpref: 32768,
        ..ServerOptions::default()
    };
    let world = World::new(options, |_| (), 3);
    let mut bench = world.bench();
    assert_eq!(bench.shard.transfer_bytes(), (65536, 32768));
    let before = world.server.stats();
    bench.counters();
    work(&mut bench, 3);
    let mut counters = bench.counters();
    assert!(counters.remove("unstable_writes") > Some(0));
    // The mix of this test has no COMMIT.
    assert_eq!(
        counters.remove("write_commits"),
        counters.get("COMMIT").copied()
    );
    let after = world.server.stats();
    for procedure in Procedure::ALL {
        let served = after.of(*procedure) - before.of(*procedure);
        let counted = counters.remove(procedure.name()).unwrap_or_default();
        assert_eq!(counted, served, "{procedure}");
    }
    assert!(counters.is_empty(), "{counters:?}");
    drop(bench);
    let report = world
        .driver
        .release(world.mount(), &world.setup.claim, ReleaseScope::All);
    let report = report.expect("empty by now");
    assert_eq!((report.removed_count, report.not_ours.len()), (0, 0));
}

#[test]
fn names_work_as_they_should() {
    let world = World::new(ServerOptions::default(), |_| (), 1);
    let mut bench = world.bench();
    let dir = PROC_DIR;
    let [a, b, link] = [1, 2, 3].map(|n| name(NameKind::Small, n));
    let symlink = name(NameKind::Symlink, 1);
    let made = name(NameKind::MadeDir, 1);
    let [obj_a, obj_b, obj_link, obj_sym, obj_made] = [10, 11, 12, 13, 14].map(ObjectId);
    let ok = [
        Action::Create {
            dir,
            name: a,
            object: obj_a,
        },
        Action::Rename {
            dir,
            name: a,
            object: obj_a,
            new_name: b,
            new_object: obj_b,
        },
        Action::Link {
            object: obj_b,
            dir,
            new_name: link,
            new_object: obj_link,
        },
        Action::Symlink {
            dir,
            name: symlink,
            object: obj_sym,
        },
        Action::Mkdir {
            dir,
            name: made,
            object: obj_made,
        },
        Action::Readlink { object: obj_sym },
        Action::Setattr {
            object: obj_b,
            size: Some(5000),
        },
        Action::Setattr {
            object: obj_made,
            size: None,
        },
        Action::Access { object: obj_made },
        Action::Getattr { object: obj_link },
        Action::Lookup {
            dir,
            name: link,
            object: obj_a,
        },
        Action::Getattr { object: obj_a },
        Action::Mknod {
            dir: obj_made,
            name: a,
            object: ObjectId(15),
        },
        Action::Fsstat,
        Action::Fsinfo,
        Action::Pathconf,
        Action::Commit { object: obj_b },
        Action::Remove { dir, name: link },
        Action::Remove {
            dir: obj_made,
            name: a,
        },
        Action::Rmdir { dir, name: made },
    ];
    for action in ok {
        assert_eq!(bench.status(action), Status::Ok, "{action:?}");
    }
    let exists = Action::Create {
        dir,
        name: b,
        object: obj_a,
    };
    assert_eq!(bench.status(exists), Status::Refused(17));
    let gone = Action::Getattr { object: obj_made };
    assert_eq!(bench.status(gone), Status::Refused(70));
}

#[test]
fn a_directory_is_listed_in_parts_to_its_end() {
    let world = World::new(ServerOptions::default(), |_| (), 2);
    let mut bench = world.bench();
    for n in 0..1500 {
        bench.submit(0, fill(n, 0));
    }
    all_ok(&bench.wait(1500));
    for plus in [false, true] {
        let list = Action::Readdir {
            dir: PROC_DIR,
            plus,
        };
        let mut parts = 1;
        while !bench.run(list).end {
            parts += 1;
        }
        assert!((2..200).contains(&parts), "{parts}");
    }
}

/// With lost replies and connections, temporary errors, short transfers and changing
/// verifiers, the work completes and the data is what was written.
#[test]
fn faults_do_not_harm_the_data() {
    let options = ServerOptions {
        drop: "conn@40,reply@1%".parse().expect("sound"),
        errors: "READ=NFS3ERR_JUKEBOX@5%,WRITE=NFS3ERR_JUKEBOX@5%,CREATE=NFS3ERR_JUKEBOX@10%"
            .parse()
            .expect("sound"),
        unstable: "verf@250".parse().expect("sound"),
        short: Some(50_000),
        rtpref: 65536,
        wtpref: 65536,
        ..ServerOptions::default()
    };
    for connections in [Connections::PerProc, Connections::Shared(1)] {
        let change = |plan: &mut NfsPlan| {
            plan.connections = connections;
            plan.jukebox_retries = 20;
        };
        let world = World::new(options.clone(), change, 2);
        let mut bench = world.bench();
        work(&mut bench, 2);
        let counters = bench.counters();
        for name in [
            "jukebox_waits",
            "reconnects",
            "retransmits",
            "rewrites",
            "short_reads",
            "short_writes",
            "verifier_changes",
        ] {
            assert!(counters.contains_key(name), "no {name}: {counters:?}");
        }
        assert!(!counters.contains_key("verify_errors"));
        assert!(!counters.contains_key("bad_replies"));
    }
}

#[test]
fn many_idle_procs_cost_little() {
    const PROCS: u32 = 400;
    let long_timeout = |plan: &mut NfsPlan| plan.rpc_timeout_ms = 30_000;
    let world = World::new(ServerOptions::default(), long_timeout, PROCS);
    let mut bench = world.bench();
    for proc in 0..PROCS {
        bench.submit(proc, fill(0, 200_000));
        bench.submit(proc, Action::Fsstat);
    }
    all_ok(&bench.wait(2 * PROCS as usize));
    for proc in 0..PROCS {
        bench.submit(proc, read_file(0, 0, 200_000));
    }
    all_ok(&bench.wait(PROCS as usize));
    assert_eq!(bench.shard.conns.len(), PROCS as usize);
    assert!(bench.shard.conns.iter().all(|c| c.buffer_bytes() == 0));
    assert!(bench.shard.io.pool.kept_bytes() <= 32 << 20);
    let counters = bench.counters();
    assert!(!counters.contains_key("retransmits"), "{counters:?}");
}

#[test]
fn the_error_of_a_missing_run_directory_names_it_and_the_status() {
    let world = World::new(ServerOptions::default(), |_| (), 1);
    // Without a claim the run's directory does not exist.
    let error = world.driver.open_shard(world.setup.clone());
    let error = error.err().expect("it is not there").to_string();
    assert!(error.contains("filermark.test"), "{error}");
    assert!(error.contains("NFS3ERR_NOENT"), "{error}");
}

#[test]
fn reserved_source_ports_are_used_with_resvport() {
    let reserved = |plan: &mut NfsPlan| plan.resvport = true;
    let world = World::new(ServerOptions::default(), reserved, 3);
    match world.driver.claim(world.mount(), &world.setup.claim) {
        // Only root may bind to reserved ports.
        Err(error) => assert!(error.to_string().contains("RESVPORT"), "{error}"),
        Ok(_) => {
            let shard = world.driver.shard(world.setup.clone());
            let shard = shard.expect("root has enough ports");
            for conn in &shard.conns {
                let port = conn.local_port().expect("connected");
                assert!((512..1024).contains(&port), "{port}");
            }
        }
    }
}

#[test]
fn ipv6_works_as_ipv4_does() {
    let options = ServerOptions {
        listen: vec![(std::net::Ipv6Addr::LOCALHOST, 0).into()],
        ..ServerOptions::default()
    };
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return; // no IPv6 on this machine
    }
    let mut world = World::new(options, |plan| plan.ip = IpChoice::V6, 1);
    world.setup.procs[0].mount.host = "::1".to_owned();
    let mut bench = world.bench();
    assert_eq!(bench.status(fill(1, 100_000)), Status::Ok);
    assert_eq!(bench.run(read_file(1, 0, 100_000)).read_bytes, 100_000);
}
