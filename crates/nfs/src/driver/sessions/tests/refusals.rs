//! Calls that are refused in part or for now, and what waits meanwhile.

use super::super::opens::{self, OpenState};
use super::*;
use filermark_driver_kit::sockets::Event;
use filermark_model::benchmark::{CommitPolicy, Deferral};
use filermark_onc::nfs4::Nfsstat4;
use filermark_onc::nfs4::Operation::*;
use filermark_onc::nfs4::{StableHow, Stateid4};

#[test]
fn a_call_whose_sequence_was_delayed_goes_before_those_that_wait_for_its_slot() {
    let mut is_first = true;
    let script = move |seen: &Seen| match seen.has(Getattr) && std::mem::take(&mut is_first) {
        true => Deed::Sequence(Nfsstat4::Delay),
        false => Deed::Good,
    };
    let mut bench = Bench::with(shared(), 2, Server::start(1, script));
    bench.submit(0, getattr());
    bench.submit(1, getattr());
    let ended = bench.wait(2);
    assert!(ended.values().all(|o| o.status == Status::Ok));
    assert_eq!(bench.counters().get("timeouts"), None);
    bench.end();
}

#[test]
fn lost_data_is_written_again_after_run() {
    let limits = Deferral {
        writes: 100,
        mib: 100,
        files: 10,
    };
    let plan = NfsPlan {
        commit: CommitPolicy::Deferred(limits),
        ..plan()
    };
    let mut bench = Bench::with(plan, 1, Server::start(16, |_| Deed::Good));
    bench.server.state().stable = StableHow::Unstable;
    bench.succeed(write(0, SIZE));
    bench.server.state().verf = [2; 8];
    let soon = bench.shard.core.state.clock.now() + Nanos::from_secs(60);
    bench.shard.make_stable(soon).expect("sockets work");
    assert_eq!(bench.server.count(Write), 2);
    assert!(!bench.counters().contains_key("uncommitted_writes"));
    bench.end();
}

#[test]
fn a_change_is_not_made_again_when_an_operation_behind_it_is_delayed() {
    for failed in [3, 4] {
        let mut calls = 0;
        let script = move |seen: &Seen| {
            if !seen.has(Create) {
                return Deed::Good;
            }
            calls += 1;
            match calls {
                1 => Deed::Fail(failed, Nfsstat4::Delay),
                _ => Deed::Fail(2, Nfsstat4::Exist),
            }
        };
        let mut bench = Bench::new(script);
        bench.succeed(Action::Symlink {
            dir: PROC_DIR,
            name: name(NameKind::Small, 9),
            object: ObjectId(50),
        });
        assert_eq!(bench.server.count(Create), 1);
        bench.end();
    }
}

#[test]
fn data_is_not_written_again_when_the_operation_behind_write_is_delayed() {
    let mut is_first = true;
    let script = move |seen: &Seen| match seen.has(Write) && std::mem::take(&mut is_first) {
        true => Deed::Fail(3, Nfsstat4::Delay),
        false => Deed::Good,
    };
    let mut bench = Bench::new(script);
    bench.succeed(write(0, SIZE));
    assert_eq!(bench.server.count(Write), 1);
    assert_eq!(bench.counters().get("jukebox_waits"), None);
    bench.end();
}

#[test]
fn calls_that_fail_before_sequence_give_their_slots_back() {
    let script = |seen: &Seen| match seen.nth {
        0..4 => Deed::Bare(Nfsstat4::Resource),
        _ => Deed::Good,
    };
    let mut bench = Bench::with(plan(), 1, Server::start(2, script));
    for _ in 0..4 {
        let status = bench.run(getattr()).status;
        assert_eq!(status, Status::Refused(Nfsstat4::Resource.to_u32()));
    }
    bench.succeed(getattr());
    assert_eq!(bench.counters().get("timeouts"), None);
    bench.end();
}

#[test]
fn a_session_without_usable_slots_is_replaced() {
    let script = |seen: &Seen| match seen.nth {
        0..2 => Deed::Garbage,
        _ => Deed::Good,
    };
    let mut bench = Bench::with(plan(), 1, Server::start(2, script));
    for _ in 0..2 {
        assert_eq!(bench.run(getattr()).status, Status::Garbage);
    }
    bench.succeed(getattr());
    let counters = bench.counters();
    assert_eq!(counters.get("timeouts"), None);
    assert_eq!(counters["bad_replies"], 2);
    assert_eq!(counters["reconnects"], 1);
}

#[test]
fn an_operation_that_waits_for_the_open_of_another_one_is_in_service() {
    let mut bench = Bench::new(|_| Deed::Good);
    bench.submit(0, read(0, SIZE));
    bench.submit(0, read(u64::from(SIZE), SIZE));
    let ended = bench.wait(2);
    assert_eq!(bench.server.count(Open), 1);
    let sent: Vec<Nanos> = ended.values().map(|o| o.sent).collect();
    assert_eq!(sent[0], sent[1], "both are sent with the OPEN");
    bench.end();
}

#[test]
fn a_late_reply_with_an_earlier_state_does_not_drop_a_newer_open() {
    let mut bench = Bench::new(|_| Deed::Good);
    bench.succeed(read(0, SIZE));
    bench.submit(0, read(0, SIZE));
    bench.shard.flush();
    let core = &mut bench.shard.core;
    let slot = core.calls.first(0).expect("the READ is under way");
    let newer = Stateid4 {
        seqid: 9,
        other: [9; 12],
    };
    let key = opens::of_object(FILE);
    core.own.opens[0].set(key, OpenState::Open(newer), 1);
    assert!(
        core.open_again(slot, Nfsstat4::BadStateid),
        "it is sent again"
    );
    let file = core.own.opens[0].find(key).expect("it is open still");
    assert_eq!(file.state, OpenState::Open(newer));
}

#[test]
fn answers_that_the_server_does_not_take_have_a_limit() {
    let mut bench = Bench::new(|_| Deed::Good);
    bench.succeed(getattr());
    // A call of the procedure NULL of the callback program.
    let record: Vec<u8> = [77, 0, 2, 0x4000_0000, 1, 0, 0, 0, 0, 0]
        .into_iter()
        .flat_map(u32::to_be_bytes)
        .collect();
    let core = &mut bench.shard.core;
    let answers = (0..100_000)
        .map(|_| core.answer_callback(0, &record))
        .position(|event| matches!(event, Event::Lost(_)));
    assert!(answers.is_some_and(|count| count > 1000), "{answers:?}");
}

#[test]
fn a_rename_waits_for_the_close_of_its_file() {
    let mut bench = Bench::new(|_| Deed::Good);
    for n in 0..64 {
        bench.succeed(create(n));
    }
    bench.submit(0, create(64));
    bench.submit(
        0,
        Action::Rename {
            dir: PROC_DIR,
            name: name(NameKind::Small, 0),
            object: ObjectId(100),
            new_name: name(NameKind::Small, 900),
            new_object: ObjectId(1900),
        },
    );
    let ended = bench.wait(2);
    assert!(ended.values().all(|o| o.status == Status::Ok));
    bench.succeed(remove(900));
    bench.end();
}

#[test]
fn a_file_is_closed_with_its_own_handle_when_many_are_filled() {
    let mut bench = Bench::with(plan(), 1, Server::start(64, |_| Deed::Good));
    bench.server.state().stable = StableHow::Unstable;
    for n in 0..100 {
        bench.submit(0, fill(n, 3 * u64::from(SIZE)));
    }
    let ended = bench.wait(100);
    assert!(ended.values().all(|o| o.status == Status::Ok));
    assert_eq!(bench.server.state().wrong_handles, 0);
    bench.end();
}

#[test]
fn an_open_file_is_closed_when_its_object_number_becomes_another_file() {
    let mut bench = Bench::new(|_| Deed::Good);
    bench.succeed(read(0, SIZE));
    let Action::Create { dir, name, .. } = create(1) else {
        unreachable!("create makes a file")
    };
    bench.succeed(Action::Create {
        dir,
        name,
        object: FILE,
    });
    bench.end();
}

#[test]
fn clients_whose_end_was_not_confirmed_in_time_are_counted() {
    let mut bench = Bench::with(shared(), 2, Server::start(4, |_| Deed::Good));
    bench.succeed(getattr());
    let now = bench.shard.core.state.clock.now();
    assert_eq!(bench.shard.end(now), 1, "there was no time");
    assert_eq!(bench.shard.end(now + Nanos::from_secs(60)), 0);
    assert!(bench.server.state().clients.is_empty());
}
