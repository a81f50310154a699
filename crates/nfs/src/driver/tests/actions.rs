//! Every action, and the cases of operations on names.

use super::fake::{ServerAction, created_reply, good, listing_reply, refusal, reply};
use super::*;
use crate::driver::status;
use filermark_driver_kit::sockets::WireProtocol;
use filermark_onc::nfs3::{Args, Createhow3, Nfsstat3, Procedure};
use filermark_onc::rpc::{AcceptStat, AuthStat, RejectStat, ReplyHeader, RpcRefusal};
use filermark_onc::xdr;
use std::time::Duration;

fn dir_actions(n: u32) -> Vec<Action> {
    let (dir, object) = (PROC_DIR, ObjectId(10 + n));
    let small = name(NameKind::Small, n);
    vec![
        create(n),
        Action::Mkdir {
            dir,
            name: name(NameKind::MadeDir, n),
            object,
        },
        Action::Symlink {
            dir,
            name: name(NameKind::Symlink, n),
            object,
        },
        Action::Mknod {
            dir,
            name: small,
            object,
        },
        Action::Remove { dir, name: small },
        Action::Rmdir { dir, name: small },
        Action::Rename {
            dir,
            name: small,
            object: FILE,
            new_name: name(NameKind::Small, n + 1),
            new_object: FILE,
        },
        Action::Link {
            object: FILE,
            dir,
            new_name: small,
            new_object: object,
        },
    ]
}

#[test]
fn every_action_is_carried_out_by_its_procedure() {
    let mut bench = Bench::new(good);
    let object = FILE;
    let mut actions = dir_actions(3);
    actions.extend([
        Action::Null,
        getattr(),
        Action::Setattr { object, size: None },
        Action::Setattr {
            object,
            size: Some(5),
        },
        Action::Lookup {
            dir: PROC_DIR,
            name: name(NameKind::File, 5),
            object: ObjectId(5),
        },
        Action::Access { object },
        Action::Readlink { object },
        read(0, 10),
        write(0, 10),
        Action::Commit { object },
        Action::Readdir {
            dir: PROC_DIR,
            plus: false,
        },
        Action::Readdir {
            dir: PROC_DIR,
            plus: true,
        },
        Action::Fsstat,
        Action::Pathconf,
        Action::MakeProcDir {
            name: name(NameKind::ProcDir, 0),
        },
        Action::RemoveProcDir {
            name: name(NameKind::ProcDir, 0),
        },
    ]);
    for action in &actions {
        let outcome = bench.run(*action);
        assert_eq!(outcome.status, Status::Ok, "{action:?}");
        assert_eq!(outcome.physical, 1, "{action:?}");
    }
    assert_eq!(
        bench.status(Action::Fsinfo),
        Status::Refused(Nfsstat3::Notsupp.to_u32())
    );
    let counters = bench.counters();
    assert_eq!(counters.values().sum::<u64>(), actions.len() as u64 + 1);
    assert_eq!(counters.len(), Procedure::COUNT, "{counters:?}");
    assert_eq!(counters["SETATTR"], 2);
    assert_eq!(bench.handle(ObjectId(5)), Some(b"found".to_vec()));
    assert_eq!(bench.handle(PROC_DIR), Some(b"p000000".to_vec()));
    assert_eq!(bench.handle(ObjectId(13)), Some(b"file".to_vec()), "LINK");
}

#[test]
fn rename_moves_the_handle() {
    let mut bench = Bench::new(good);
    let rename = Action::Rename {
        dir: PROC_DIR,
        name: name(NameKind::Small, 1),
        object: FILE,
        new_name: name(NameKind::Small, 2),
        new_object: ObjectId(9),
    };
    assert_eq!(bench.status(rename), Status::Ok);
    assert_eq!(bench.handle(FILE), None);
    assert_eq!(bench.handle(ObjectId(9)), Some(b"file".to_vec()));
    bench.shard.forget_objects(0, ObjectId(2));
    assert_eq!(bench.handle(ObjectId(9)), None);
    let request = Request {
        token: 0,
        proc: 0,
        action: getattr(),
    };
    match bench.shard.submit(&request) {
        Submit::Done(outcome) => assert_eq!(outcome.status, Status::Refused(status::NO_HANDLE)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_comes_without_a_handle_is_looked_up() {
    let mut bench = Bench::new(|call| match call.args {
        Args::Create(_) => vec![ServerAction::Send(created_reply(call.xid, None))],
        Args::Mkdir(_) => refusal(call, Nfsstat3::Exist),
        _ => good(call),
    });
    let outcome = bench.run(create(1));
    assert_eq!((outcome.status, outcome.physical), (Status::Ok, 2));
    assert_eq!(bench.handle(ObjectId(101)), Some(b"found".to_vec()));
    let fill = Action::Fill {
        dir: PROC_DIR,
        name: name(NameKind::File, 1),
        object: None,
        file: 7,
        size: 10,
    };
    assert_eq!(bench.status(fill), Status::Ok);
    let make = Action::MakeProcDir {
        name: name(NameKind::ProcDir, 0),
    };
    assert_eq!(bench.status(make), Status::Ok, "there from before");
    assert_eq!(bench.handle(PROC_DIR), Some(b"found".to_vec()));
    let mkdir = dir_actions(4)[1];
    assert_eq!(bench.status(mkdir), Status::Refused(17));
    let counters = bench.counters();
    assert_eq!(counters["LOOKUP"], 3);
}

#[test]
fn create_is_guarded_and_fill_is_not() {
    let mut bench = Bench::new(|call| {
        if let Args::Create(args) = call.args {
            let guarded = matches!(args.how, Createhow3::Guarded(_));
            assert_eq!(guarded, args.location.name[0] == b'n');
        }
        good(call)
    });
    let fill = Action::Fill {
        dir: PROC_DIR,
        name: name(NameKind::File, 1),
        object: Some(ObjectId(3)),
        file: 7,
        size: 0,
    };
    assert_eq!(bench.status(fill), Status::Ok);
    assert_eq!(bench.status(create(1)), Status::Ok);
    assert_eq!(bench.handle(ObjectId(3)), Some(b"f0000000001".to_vec()));
}

#[test]
fn refusals_of_either_layer_are_reported_by_number() {
    let refusals = [
        RpcRefusal::Accepted(AcceptStat::ProgUnavail),
        RpcRefusal::Accepted(AcceptStat::ProgMismatch { low: 4, high: 4 }),
        RpcRefusal::Accepted(AcceptStat::ProcUnavail),
        RpcRefusal::Accepted(AcceptStat::GarbageArgs),
        RpcRefusal::Accepted(AcceptStat::SystemErr),
        RpcRefusal::Denied(RejectStat::RpcMismatch { low: 3, high: 3 }),
        RpcRefusal::Denied(RejectStat::AuthError(AuthStat::TooWeak)),
    ];
    let mut bench = Bench::new(move |call| {
        let header = match refusals.get(call.nth) {
            Some(RpcRefusal::Accepted(stat)) => ReplyHeader::accepted(call.xid, *stat),
            Some(RpcRefusal::Denied(stat)) => ReplyHeader::denied(call.xid, *stat),
            None => return refusal(call, Nfsstat3::Nospc),
        };
        let mut out = Vec::new();
        xdr::append(&mut out, &header);
        vec![ServerAction::Send(out)]
    });
    for refusal in refusals {
        let code = status::rpc_code(refusal);
        assert_eq!(bench.status(getattr()), Status::Refused(code));
    }
    assert_eq!(bench.status(write(0, 1)), Status::Refused(28));
}

#[test]
fn a_call_refused_with_jukebox_is_repeated_as_a_new_call() {
    let mut xids = Vec::new();
    let mut bench = Bench::new(move |call| {
        assert!(!xids.contains(&call.xid), "the xid must be new");
        xids.push(call.xid);
        match call.nth {
            2 => good(call),
            _ => refusal(call, Nfsstat3::Jukebox),
        }
    });
    let outcome = bench.run(create(1));
    assert_eq!((outcome.status, outcome.physical), (Status::Ok, 1));
    // Waits of 1 and 2 ms.
    assert!(outcome.done.since(outcome.sent) >= Nanos::from_millis(3));
    let expected = counted(&[("CREATE", 3), ("jukebox_waits", 2)]);
    assert_eq!(bench.counters(), expected);
    assert_eq!(bench.status(getattr()), Status::Refused(10008));
    let expected = counted(&[("GETATTR", 4), ("jukebox_waits", 3)]);
    assert_eq!(bench.counters(), expected);
}

#[test]
fn a_listing_continues_where_it_ended() {
    let mut bench = Bench::new(|call| {
        let Args::Readdir(args) = call.args else {
            return good(call);
        };
        let verf = if args.cookie == 0 { [0; 8] } else { [5; 8] };
        assert_eq!(args.cookieverf, verf);
        vec![ServerAction::Send(match args.cookie {
            0 => listing_reply(call.xid, &[3, 8], false),
            8 => listing_reply(call.xid, &[9], true),
            other => panic!("cookie {other}"),
        })]
    });
    let list = |dir| Action::Readdir { dir, plus: false };
    let parts = [PROC_DIR, PROC_DIR, PROC_DIR, FILE, PROC_DIR].map(|dir| bench.run(list(dir)));
    assert!(parts.iter().all(|p| p.status == Status::Ok));
    assert_eq!(parts.map(|p| p.end), [false, true, false, false, true]);
    bench.shard.forget_objects(0, FILE);
    assert!(bench.shard.core.cursors.is_empty(), "FILE's is forgotten");
}

#[test]
fn a_stale_cookie_restarts_the_listing_once() {
    let mut bench = Bench::new(|call| {
        let Args::Readdir(args) = call.args else {
            return good(call);
        };
        match (call.nth, args.cookie) {
            (0 | 2, 0) => vec![ServerAction::Send(listing_reply(call.xid, &[4], false))],
            // An empty list that is not the end.
            (4, 0) => vec![ServerAction::Send(listing_reply(call.xid, &[], false))],
            _ => refusal(call, Nfsstat3::BadCookie),
        }
    });
    let list = Action::Readdir {
        dir: PROC_DIR,
        plus: false,
    };
    assert_eq!(bench.status(list), Status::Ok);
    let again = bench.run(list);
    assert_eq!(
        (again.status, again.physical, again.end),
        (Status::Ok, 2, false)
    );
    assert_eq!(bench.counters()["readdir_restarts"], 1);
    // Stale, and refused from the start as well (call 3 has cookie 4, call 4 is empty).
    assert_eq!(bench.status(list), Status::Garbage);
    assert_eq!(bench.status(list), Status::Refused(10003));
}

#[test]
fn service_time_is_from_the_write_to_the_read() {
    let mut bench = Bench::new(|call| {
        let mut acts = vec![ServerAction::Sleep(Duration::from_millis(20))];
        acts.extend(good(call));
        acts
    });
    let token = bench.submit(0, getattr());
    // The time between submission and flush is not counted.
    std::thread::sleep(Duration::from_millis(30));
    let before = bench.shard.core.state.clock.now();
    let outcome = bench.wait(1)[&token];
    let after = bench.shard.core.state.clock.now();
    assert!(outcome.sent >= before && outcome.done <= after);
    let service = outcome.done.since(outcome.sent);
    assert!(service >= Nanos::from_millis(20), "{service:?}");
}

#[test]
fn procs_share_connections_or_have_their_own() {
    for (rule, connections) in [
        (Connections::PerProc, 6),
        (Connections::Shared(4), 4),
        (Connections::Shared(0), 1),
    ] {
        let plan = NfsPlan {
            connections: rule,
            ..plan()
        };
        let mut bench = Bench::with(plan, 6, VerifyLevel::Sample, |call| {
            let conn = call.conn as u32;
            vec![
                ServerAction::Send(reply(call.xid, &conn)),
                ServerAction::Sleep(Duration::ZERO),
            ]
        });
        assert_eq!(bench.shard.conns.len(), connections);
        let mut used: Vec<u32> = bench.shard.core.procs.iter().map(|p| p.conn).collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), connections);
        for proc in 0..6 {
            bench.submit(proc, Action::Null);
        }
        assert!(bench.wait(6).values().all(|o| o.status == Status::Ok));
    }
}

#[test]
fn a_request_beyond_the_capacity_is_busy() {
    let mut bench = Bench::new(|_| Vec::new());
    let request = Request {
        token: 0,
        proc: 0,
        action: getattr(),
    };
    let mut taken = 0;
    while matches!(bench.shard.submit(&request), Submit::Queued) {
        taken += 1;
        assert!(taken <= 1 << 18, "there is no bound");
    }
    assert!(matches!(bench.shard.submit(&request), Submit::Busy));
    // Once some have ended, requests are taken again.
    bench.shard.flush();
    let core = &mut bench.shard.core;
    while let Some(slot) = core.calls.first(0) {
        core.fail_call(slot, Status::Disconnected);
    }
    let mut done = Vec::new();
    bench
        .shard
        .poll(Nanos::ZERO, &mut done)
        .expect("sockets work");
    assert_eq!(done.len(), taken);
    assert!(matches!(bench.shard.submit(&request), Submit::Queued));
}
