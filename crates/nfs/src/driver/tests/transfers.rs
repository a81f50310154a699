//! READ, WRITE, COMMIT and filling of files.

use super::fake::{ServerAction, commit_reply, good, read_reply, reply, write_reply};
use super::*;
use crate::driver::status::VERIFIER_KEEPS_CHANGING;
use filermark_onc::nfs3::{Args, ReadOk, ReadRes, StableHow};
use std::collections::BTreeSet;
use std::sync::Mutex;

const BIG: u32 = 5 * SIZE + 100;

/// Offset and length of each WRITE, in the order received.
type Written = Arc<Mutex<Vec<(u64, u32)>>>;

fn fill(size: u64) -> Action {
    Action::Fill {
        dir: PROC_DIR,
        name: name(NameKind::File, 1),
        object: Some(ObjectId(3)),
        file: 7,
        size,
    }
}

fn verifying(script: impl FnMut(&ReceivedCall<'_>) -> Vec<ServerAction> + Send + 'static) -> Bench {
    Bench::with(plan(), 1, VerifyLevel::All, script)
}

/// Whether the data of a write is that of the file, in any generation.
fn is_ours(offset: u64, data: &[u8]) -> bool {
    let source = DataSource::new(1, VerifyLevel::All).shared(true);
    source.check_earlier(7, offset, data).good
}

/// A server that answers UNSTABLE, with the verifier that `verf` returns for the number of
/// the call. It checks the data and records the ranges written.
fn unstable(verf: impl Fn(usize) -> u8 + Send + 'static) -> (Bench, Written) {
    let written = Arc::new(Mutex::new(Vec::new()));
    let seen = written.clone();
    let bench = verifying(move |call| {
        let verf = verf(call.nth);
        vec![ServerAction::Send(match call.args {
            Args::Write(args) => {
                assert_eq!(args.stable, StableHow::Unstable);
                assert!(is_ours(args.offset, args.data));
                seen.lock().expect("ok").push((args.offset, args.count));
                write_reply(call.xid, args.count, StableHow::Unstable, verf)
            }
            Args::Commit(_) => commit_reply(call.xid, verf),
            _ => return good(call),
        })]
    });
    (bench, written)
}

fn covers(ranges: &[(u64, u32)], from: u64, to: u64) -> bool {
    let ranges: BTreeSet<_> = ranges.iter().copied().collect();
    let mut at = from;
    for (offset, length) in ranges {
        if offset != at {
            return false;
        }
        at += u64::from(length);
    }
    at == to
}

#[test]
fn a_read_is_split_and_replies_may_come_in_any_order() {
    let mut held: Vec<ServerAction> = Vec::new();
    // Answers in pairs, the later call first: with one call at a time it would block.
    let mut bench = verifying(move |call| {
        held.extend(good(call));
        match held.len() {
            2 => held.drain(..).rev().collect(),
            _ => Vec::new(),
        }
    });
    let outcome = bench.run(read(3, BIG));
    assert_eq!(outcome.status, Status::Ok);
    assert_eq!((outcome.physical, outcome.read_bytes), (6, u64::from(BIG)));
    assert_eq!(bench.counters(), counted(&[("READ", 6)]));
}

#[test]
fn no_more_calls_are_under_way_than_allowed() {
    let mut plan = plan();
    plan.biod_max_reads = 0;
    plan.biod_max_writes = 3;
    let mut bench = Bench::with(plan, 1, VerifyLevel::Sample, good);
    bench.submit(0, read(0, BIG));
    assert_eq!(bench.shard.core.ops.get(0).outstanding, 1);
    bench.submit(0, write(0, BIG));
    assert_eq!(bench.shard.core.ops.get(1).outstanding, 3);
    assert!(bench.wait(2).values().all(|o| o.physical == 6));
}

#[test]
fn short_reads_are_continued_up_to_the_end_of_the_file() {
    let script = |call: &ReceivedCall<'_>| {
        let Args::Read(args) = call.args else {
            return good(call);
        };
        let end = 2 * u64::from(SIZE) + 10;
        let count = u64::from(args.count).min(end.saturating_sub(args.offset));
        let count = count.min(3000) as u32;
        let eof = args.offset + u64::from(count) >= end;
        vec![ServerAction::Send(read_reply(
            call.xid,
            args.offset,
            count,
            eof,
        ))]
    };
    let mut bench = Bench::with(plan(), 1, VerifyLevel::Sample, script);
    let outcome = bench.run(read(0, 2 * SIZE));
    assert_eq!((outcome.status, outcome.end), (Status::Ok, false));
    assert_eq!(
        (outcome.physical, outcome.read_bytes),
        (4, u64::from(2 * SIZE))
    );
    assert_eq!(bench.counters()["short_reads"], 2);
    let outcome = bench.run(read(0, BIG));
    // Written data is missing: it is lost.
    assert_eq!((outcome.status, outcome.end), (Status::Lost, true));
    let counters = bench.counters();
    assert!(counters["early_eofs"] > 0);
    assert!(!counters.contains_key("verify_errors"));
}

/// No reply has a whole word: except for the first word of each sector, which is the same in
/// all generations, nothing is compared, and the counters show it.
#[test]
fn replies_that_are_too_short_to_be_compared_are_counted() {
    for checking in [VerifyLevel::Sample, VerifyLevel::All] {
        let mut bench = Bench::with(plan(), 1, checking, |call| {
            let Args::Read(args) = call.args else {
                return good(call);
            };
            let count = args.count.min(7);
            vec![ServerAction::Send(read_reply(
                call.xid,
                args.offset,
                count,
                false,
            ))]
        });
        assert_eq!(bench.run(read(0, 600)).status, Status::Ok);
        let mut counters = BTreeMap::new();
        bench.shard.take_counters(&mut counters);
        assert_eq!(counters["checked_bytes"], 16);
        assert_eq!(counters["undecided_bytes"], 584);
    }
}

#[test]
fn a_read_of_length_zero_makes_one_call() {
    let mut bench = verifying(good);
    let outcome = bench.run(read(5, 0));
    assert_eq!((outcome.status, outcome.physical), (Status::Ok, 1));
    let outcome = bench.run(write(5, 0));
    assert_eq!((outcome.status, outcome.physical), (Status::Ok, 1));
}

/// How a read of wrong data ends.
fn of_wrong_data(checking: VerifyLevel) -> Status {
    match checking {
        VerifyLevel::All => Status::Corrupt,
        _ => Status::Ok,
    }
}

#[test]
fn stale_data_is_detected() {
    for checking in [VerifyLevel::All, VerifyLevel::Sample] {
        // Every read returns the data from before the write.
        let mut bench = Bench::with(plan(), 1, checking, good);
        assert_eq!(bench.status(read(0, SIZE)), Status::Ok);
        assert_eq!(bench.status(write(0, SIZE)), Status::Ok);
        assert_eq!(bench.status(read(0, SIZE)), of_wrong_data(checking));
        assert_eq!(bench.status(read(u64::from(SIZE), SIZE)), Status::Ok);
        assert_eq!(bench.counters()["verify_errors"], 1);
    }
}

#[test]
fn wrong_data_is_detected_with_full_and_with_sampled_comparison() {
    for checking in [VerifyLevel::All, VerifyLevel::Sample] {
        wrong_data_is_detected(checking);
    }
}

fn wrong_data_is_detected(checking: VerifyLevel) {
    let source = DataSource::new(1, VerifyLevel::All);
    let of = |file, offset| {
        let mut data = Vec::new();
        source.append(file, offset, 0, SIZE as usize, &mut data);
        data
    };
    let other_run = {
        let mut data = Vec::new();
        DataSource::new(2, checking).append(7, 0, 0, SIZE as usize, &mut data);
        data
    };
    let zeros = vec![0; SIZE as usize];
    let garbage = vec![0x5a; SIZE as usize];
    for data in [zeros, garbage, of(8, 0), of(7, u64::from(SIZE)), other_run] {
        let mut bench = Bench::with(plan(), 1, checking, move |call| {
            let read: ReadRes<'_> = Ok(ReadOk {
                file_attributes: None,
                count: SIZE,
                eof: false,
                data: &data,
            });
            vec![ServerAction::Send(reply(call.xid, &read))]
        });
        assert_eq!(bench.status(read(0, SIZE)), of_wrong_data(checking));
        assert_eq!(bench.counters()["verify_errors"], 1);
    }
}

#[test]
fn impossible_counts_are_garbage() {
    let mut bench = Bench::new(|call| {
        vec![ServerAction::Send(match (call.nth, call.args) {
            (0, _) => read_reply(call.xid, 0, 0, false),
            (1, _) => read_reply(call.xid, 0, SIZE + 4, false),
            (2, _) => write_reply(call.xid, 0, StableHow::FileSync, 1),
            (_, _) => write_reply(call.xid, SIZE + 1, StableHow::FileSync, 1),
        })]
    });
    assert_eq!(bench.status(read(0, SIZE)), Status::Garbage);
    assert_eq!(bench.status(read(0, SIZE)), Status::Garbage);
    assert_eq!(bench.status(write(0, SIZE)), Status::Garbage);
    assert_eq!(bench.status(write(0, SIZE)), Status::Garbage);
    assert_eq!(bench.counters()["bad_replies"], 4);
}

#[test]
fn unstable_writes_are_committed_inside_the_operation() {
    let (mut bench, written) = unstable(|_| 9);
    let outcome = bench.run(write(10, BIG));
    assert_eq!(outcome.status, Status::Ok);
    assert_eq!(
        (outcome.physical, outcome.written_bytes),
        (6, u64::from(BIG))
    );
    let written = written.lock().expect("ok").clone();
    assert!(covers(&written, 10, 10 + u64::from(BIG)), "{written:?}");
    assert_eq!(
        bench.counters(),
        counted(&[
            ("WRITE", 6),
            ("COMMIT", 1),
            ("write_commits", 1),
            ("unstable_writes", 1)
        ])
    );
}

#[test]
fn stable_writes_are_not_committed() {
    let mut bench = verifying(good);
    assert_eq!(bench.run(write(0, BIG)).physical, 6);
    assert_eq!(bench.status(fill(u64::from(BIG))), Status::Ok);
    let expected = counted(&[("WRITE", 12), ("CREATE", 1)]);
    assert_eq!(bench.counters(), expected);
}

#[test]
fn short_writes_are_continued() {
    let mut bench = verifying(|call| match call.args {
        Args::Write(args) => {
            assert!(is_ours(args.offset, args.data));
            let count = args.count.min(3000);
            vec![ServerAction::Send(write_reply(
                call.xid,
                count,
                StableHow::FileSync,
                1,
            ))]
        }
        _ => good(call),
    });
    let outcome = bench.run(write(1, 2 * SIZE));
    assert_eq!(
        (outcome.physical, outcome.written_bytes),
        (4, u64::from(2 * SIZE))
    );
    assert_eq!(bench.counters()["short_writes"], 2);
}

#[test]
fn writes_are_repeated_when_the_verifier_changes_between_them() {
    let (mut bench, written) = unstable(|nth| if nth < 3 { 1 } else { 2 });
    let outcome = bench.run(write(0, BIG));
    assert_eq!(outcome.status, Status::Ok);
    assert_eq!(
        (outcome.physical, outcome.written_bytes),
        (6, u64::from(BIG))
    );
    let expected = counted(&[
        ("WRITE", 9),
        ("COMMIT", 1),
        ("write_commits", 1),
        ("unstable_writes", 1),
        ("verifier_changes", 1),
        ("rewrites", 3),
    ]);
    assert_eq!(bench.counters(), expected);
    let again = &written.lock().expect("ok")[6..];
    assert!(
        covers(again, 0, 3 * u64::from(SIZE)),
        "the WRITEs with the old verifier"
    );
}

#[test]
fn all_writes_are_repeated_when_the_verifier_changes_before_the_commit() {
    let (mut bench, _) = unstable(|nth| if nth < 7 { 1 } else { 2 });
    // CREATE is call 0, WRITEs are 1 to 6, COMMIT is 7.
    let outcome = bench.run(fill(u64::from(BIG)));
    assert_eq!(outcome.status, Status::Ok);
    assert_eq!(
        (outcome.physical, outcome.written_bytes),
        (7, u64::from(BIG))
    );
    let expected = counted(&[
        ("CREATE", 1),
        ("WRITE", 12),
        ("COMMIT", 2),
        ("write_commits", 2),
        ("verifier_changes", 1),
        ("lost_writes", 1),
        ("rewrites", 6),
    ]);
    assert_eq!(bench.counters(), expected);
}

#[test]
fn a_verifier_that_changes_with_every_reply_fails_the_write() {
    let (mut bench, _) = unstable(|nth| nth as u8);
    let status = bench.status(write(0, SIZE));
    assert_eq!(status, Status::Refused(VERIFIER_KEEPS_CHANGING));
    // The logical COMMIT has nothing to compare with.
    assert_eq!(bench.status(Action::Commit { object: FILE }), Status::Ok);
}

#[test]
fn filling_keeps_a_window_of_writes_under_way() {
    let most = Arc::new(Mutex::new((0usize, Vec::new())));
    let seen = most.clone();
    // Holds WRITEs until sixteen have arrived.
    let mut bench = verifying(move |call| {
        if !matches!(call.args, Args::Write(_)) {
            return good(call);
        }
        let mut seen = seen.lock().expect("ok");
        seen.1.extend(good(call));
        seen.0 = seen.0.max(seen.1.len());
        match seen.1.len() {
            16 => seen.1.drain(..).rev().collect(),
            _ => Vec::new(),
        }
    });
    let size = 64 * u64::from(SIZE);
    let outcome = bench.run(fill(size));
    assert_eq!(outcome.status, Status::Ok);
    assert_eq!(outcome.written_bytes, size);
    assert_eq!(most.lock().expect("ok").0, 16);
}

#[test]
fn what_waits_to_be_sent_is_bounded() {
    // The server reads nothing until the gate opens.
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock().expect("ok");
    let gate_of_server = gate.clone();
    let mut bench = Bench::with(
        NfsPlan {
            connections: Connections::Shared(1),
            ..plan()
        },
        400,
        VerifyLevel::Sample,
        move |call| {
            let _open = gate_of_server.lock().expect("ok");
            good(call)
        },
    );
    bench.shard.core.file_systems[0].wsize = 1 << 20;
    for proc in &mut bench.shard.core.procs {
        proc.handles.set(FILE, b"file");
    }
    for proc in 0..40 {
        bench.submit(proc, write(0, 1 << 20));
    }
    for proc in 40..400 {
        bench.submit(proc, write(0, 64 << 10));
    }
    bench.shard.flush();
    let mut done = Vec::new();
    let soon = bench.shard.core.state.clock.now() + Nanos::from_millis(50);
    bench.shard.poll(soon, &mut done).expect("sockets work");
    assert!(done.is_empty());
    let unsent: usize = bench.shard.conns.iter().map(|c| c.unsent_len()).sum();
    assert!(
        unsent > 0 && unsent < (256 << 10) + (1 << 20) + 1000,
        "{unsent}"
    );
    drop(closed);
    assert!(bench.wait(400).values().all(|o| o.status == Status::Ok));
    assert!(bench.shard.conns.iter().all(|c| c.buffer_bytes() == 0));
}
