//! NFSv2 against the embedded server.

use super::embedded::{World, all_ok, fill, read_file, remove_file};
use super::*;
use crate::driver::status::NOT_IN_V2;
use filermark_onc::nfs2::Procedure;
use filermark_server::ServerOptions;

fn world(options: ServerOptions, procs: u32) -> World {
    World::new(options, |plan| plan.version = NfsVersion::V2, procs)
}

/// Sizes from 0 to several transfers, also uneven ones.
const SIZES: [u64; 5] = [0, 1, 8_192, 70_001, 300_000];

/// Fills, reads back, appends, lists and removes with several procs at once.
fn work(bench: &mut Bench, procs: u32) {
    let all = |bench: &mut Bench, action: &dyn Fn(u32) -> Action| {
        for proc in 0..procs {
            for number in 0..SIZES.len() as u32 {
                bench.submit(proc, action(number));
            }
        }
        let outcomes = bench.wait(SIZES.len() * procs as usize);
        all_ok(&outcomes);
        outcomes
    };
    all(bench, &|n| fill(n, SIZES[n as usize]));
    let read = all(bench, &|n| read_file(n, 0, SIZES[n as usize] as u32));
    assert!(read.values().all(|outcome| outcome.end));
    let total: u64 = read.values().map(|o| o.read_bytes).sum();
    assert_eq!(total, SIZES.iter().sum::<u64>() * u64::from(procs));
    let written = all(bench, &|n| Action::Write {
        object: ObjectId(1 + n),
        file: n.into(),
        offset: SIZES[n as usize],
        length: 20_000,
    });
    // Three calls of 8 KB at most, and no COMMIT.
    assert!(
        written
            .values()
            .all(|o| o.physical == 3 && o.written_bytes == 20_000)
    );
    let read = all(bench, &|n| read_file(n, SIZES[n as usize], 20_000));
    assert!(read.values().all(|o| o.read_bytes == 20_000));
    all(bench, &remove_file);
}

#[test]
fn the_server_counts_what_the_driver_counts() {
    let world = world(ServerOptions::default(), 3);
    let mut bench = world.bench();
    assert_eq!(bench.shard.transfer_bytes(), (8_192, 8_192));
    let before = world.server.stats();
    bench.counters();
    work(&mut bench, 3);
    bench.submit(0, Action::Fsstat);
    all_ok(&bench.wait(1));
    let mut counters = bench.counters();
    let after = world.server.stats();
    assert_eq!(counters.get("STATFS"), Some(&1));
    for procedure in Procedure::ALL {
        let served = after.of2(*procedure) - before.of2(*procedure);
        let counted = counters.remove(procedure.name()).unwrap_or_default();
        assert_eq!(counted, served, "{procedure}");
    }
    assert!(counters.is_empty(), "{counters:?}");
    assert_eq!(after.nfs, [0; 22], "nothing of version 3 was asked");
}

#[test]
fn every_operation_of_version_2_works_and_no_other_is_sent() {
    let world = world(ServerOptions::default(), 1);
    let mut bench = world.bench();
    let dir = PROC_DIR;
    let [a, b, link] = [1, 2, 3].map(|n| name(NameKind::Small, n));
    let (symlink, made) = (name(NameKind::Symlink, 1), name(NameKind::MadeDir, 1));
    let [obj_a, obj_b, obj_link, obj_sym, obj_made] = [10, 11, 12, 13, 14].map(ObjectId);
    let create = Action::Create {
        dir,
        name: a,
        object: obj_a,
    };
    let rename = Action::Rename {
        dir,
        name: a,
        object: obj_a,
        new_name: b,
        new_object: obj_b,
    };
    let hard = Action::Link {
        object: obj_b,
        dir,
        new_name: link,
        new_object: obj_link,
    };
    let soft = Action::Symlink {
        dir,
        name: symlink,
        object: obj_sym,
    };
    let mkdir = Action::Mkdir {
        dir,
        name: made,
        object: obj_made,
    };
    let setattr = |object, size| Action::Setattr { object, size };
    let lookup = Action::Lookup {
        dir,
        name: link,
        object: obj_a,
    };
    let ok = [
        Action::Null,
        create,
        rename,
        hard,
        soft,
        mkdir,
        // SYMLINK returned no handle: it was looked up.
        Action::Readlink { object: obj_sym },
        setattr(obj_b, Some(5_000)),
        setattr(obj_made, None),
        Action::Getattr { object: obj_link },
        lookup,
        Action::Readdir { dir, plus: false },
        Action::Fsstat,
        Action::Remove { dir, name: link },
        Action::Rmdir { dir, name: made },
    ];
    for action in ok {
        assert_eq!(bench.status(action), Status::Ok, "{action:?}");
    }
    assert_eq!(bench.status(hard), Status::Ok);
    assert_eq!(bench.status(hard), Status::Refused(17));
    let gone = Action::Getattr { object: obj_made };
    assert_eq!(bench.status(gone), Status::Refused(70));
    let text = world.driver.status_text(70);
    assert_eq!(text, "NFSERR_STALE");
    let lacking = [
        Action::Access { object: obj_b },
        Action::Readdir { dir, plus: true },
        Action::Commit { object: obj_b },
        Action::Pathconf,
        fill(9, 1 << 31),
        read_file(1, u64::from(u32::MAX), 8),
    ];
    for action in lacking {
        let request = Request {
            token: 0,
            proc: 0,
            action,
        };
        match bench.shard.submit(&request) {
            Submit::Done(outcome) => assert_eq!(outcome.status, Status::Refused(NOT_IN_V2)),
            other => {
                panic!("{action:?}: {other:?}");
            }
        }
    }
}

#[test]
fn a_directory_is_listed_in_parts_to_its_end() {
    let world = world(ServerOptions::default(), 1);
    let mut bench = world.bench();
    for n in 0..1_500 {
        bench.submit(0, fill(n, 0));
    }
    all_ok(&bench.wait(1_500));
    let list = Action::Readdir {
        dir: PROC_DIR,
        plus: false,
    };
    let mut parts = 1;
    while !bench.run(list).end {
        parts += 1;
    }
    assert!((4..200).contains(&parts), "{parts}");
}

/// With lost replies and connections the work completes, and the data is what was written.
#[test]
fn faults_do_not_harm_the_data() {
    let options = ServerOptions {
        drop: "conn@40,reply@1%".parse().expect("sound"),
        ..ServerOptions::default()
    };
    let world = world(options, 2);
    let mut bench = world.bench();
    work(&mut bench, 2);
    let counters = bench.counters();
    for name in ["reconnects", "retransmits"] {
        assert!(counters.contains_key(name), "no {name}: {counters:?}");
    }
    assert!(!counters.contains_key("verify_errors"));
    assert!(!counters.contains_key("bad_replies"));
}
