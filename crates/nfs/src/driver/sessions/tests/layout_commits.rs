//! What was written to a data server and is not stable: it is committed there, and reported, before the layout is
//! returned and before the metadata server is asked for it.

use super::delegations::{answers, wait_for};
use super::layout_calls::write_of;
use super::layouts::{Kind, LIKE_LINUX, counted, data_server, deferring, end_with, good, recall};
use super::*;
use crate::driver::tests::fake::{self, Fake, ServerAction};
use filermark_onc::nfs3::{self, Nfsstat3, StableHow};
use filermark_onc::nfs4::Nfsstat4;
use filermark_onc::nfs4::Operation::*;
use filermark_onc::nfs4::callback::Layoutrecall4;
use filermark_onc::nfs4::flexfiles::ff_flags;
use std::sync::{Arc, Mutex, mpsc};

/// A data server that makes nothing stable before COMMIT. It does not answer some calls before the test lets it.
struct Slow {
    /// Dropped first: the thread of the data server ends then.
    go: mpsc::Sender<()>,
    fake: Fake,
    seen: Arc<Mutex<Vec<&'static str>>>,
    /// Such a call has come.
    reported: mpsc::Receiver<()>,
}

/// The answer of such a server, where it is not the usual one.
fn unstable(call: &fake::ReceivedCall<'_>) -> Option<Vec<ServerAction>> {
    match call.args {
        nfs3::Args::Write(args) => {
            let reply = fake::write_reply(call.xid, args.count, StableHow::Unstable, 1);
            Some(vec![ServerAction::Send(reply)])
        }
        _ => None,
    }
}

fn slow(stops_at: &'static [&'static str]) -> Slow {
    let (report, reported) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let (fake, seen) = data_server(move |call| {
        let answer = unstable(call);
        let name = match call.args {
            nfs3::Args::Write(_) => "WRITE",
            nfs3::Args::Commit(_) => "COMMIT",
            _ => "READ",
        };
        if stops_at.contains(&name) {
            let _ = report.send(());
            let _ = may_go.recv();
        }
        answer
    });
    Slow {
        fake,
        seen,
        reported,
        go,
    }
}

impl Slow {
    #[track_caller]
    fn has_seen(&self, expected: &[&str]) {
        assert_eq!(*self.seen.lock().expect("no panic"), expected);
    }
}

/// The server recalls all layouts with the first GETATTR.
fn recalling() -> impl FnMut(&Seen) -> Deed + Send + 'static {
    let mut is_over = false;
    move |seen| match seen.ops == [Putfh, Getattr] && !is_over {
        true => {
            is_over = true;
            recall(70, 1, Layoutrecall4::All)
        }
        false => Deed::Good,
    }
}

const NOTHING_LOST: [(&str, u64); 3] = [("lost_writes", 0), ("rewrites", 0), ("end_commits", 0)];

#[test]
fn what_is_held_is_committed_before_a_recalled_layout_is_returned() {
    for kind in Kind::ALL {
        let server = slow(&[]);
        let mut bench = deferring(kind, server.fake.address, 0, recalling());
        bench.succeed(write(0, SIZE));
        server.has_seen(&["WRITE"]);
        assert_eq!(answers(&mut bench, 1), [(70, Nfsstat4::Ok)]);
        wait_for(&mut bench, |state| state.layouts.held.is_empty());
        server.has_seen(&["WRITE", "COMMIT"]);
        let counters = bench.counters();
        counted(&counters, &NOTHING_LOST);
        counted(&counters, &[("COMMIT", 1), ("layouts_returned", 1)]);
        let expected = [Some(u64::from(SIZE) - 1)];
        assert_eq!(bench.server.state().layouts.committed, expected);
        bench.end();
    }
}

/// The recall comes while the WRITE is under way, which its operation commits.
#[test]
fn a_write_under_way_is_committed_before_a_recalled_layout_is_returned() {
    for kind in Kind::ALL {
        let server = slow(&["WRITE", "COMMIT"]);
        let mut bench =
            super::layouts::bench_of(kind, server.fake.address, LIKE_LINUX, recalling());
        bench.server.state().verf = [9; 8];
        let first = bench.submit(0, write(0, SIZE));
        assert!(bench.turn_until(&server.reported).is_empty());
        assert_eq!(answers(&mut bench, 1), [(70, Nfsstat4::Ok)]);
        server.go.send(()).expect("the data server waits");
        assert!(bench.turn_until(&server.reported).is_empty());
        bench.succeed(getattr());
        assert_eq!(bench.server.count(Layoutreturn), 0, "COMMIT is under way");
        server.go.send(()).expect("the data server waits");
        assert_eq!(bench.wait(1)[&first].status, Status::Ok);
        wait_for(&mut bench, |state| state.layouts.held.is_empty());
        server.has_seen(&["WRITE", "COMMIT"]);
        counted(&bench.counters(), &NOTHING_LOST);
        bench.end();
    }
}

/// Each COMMIT goes to the server that has answered the WRITE.
#[test]
fn what_was_written_after_a_recall_is_committed_by_the_metadata_server() {
    for is_written_again in [false, true] {
        commit_after_recall(is_written_again);
    }
}

fn commit_after_recall(is_written_again: bool) {
    let server = slow(&["COMMIT"]);
    let mut bench = deferring(Kind::Plain, server.fake.address, LIKE_LINUX, recalling());
    bench.server.state().stable = filermark_onc::nfs4::StableHow::Unstable;
    bench.succeed(write(0, SIZE));
    assert_eq!(answers(&mut bench, 1), [(70, Nfsstat4::Ok)]);
    assert!(bench.turn_until(&server.reported).is_empty());
    bench.succeed(write(u64::from(SIZE), SIZE));
    server.go.send(()).expect("the data server waits");
    wait_for(&mut bench, |state| state.layouts.held.is_empty());
    if is_written_again {
        bench.succeed(write(0, SIZE));
        server.go.send(()).expect("the data server is there");
    }
    bench.succeed(Action::Commit { object: FILE });
    let commits = 1 + usize::from(is_written_again);
    server.has_seen(&["WRITE", "COMMIT"].repeat(commits));
    let counters = bench.counters();
    counted(&counters, &NOTHING_LOST);
    counted(&counters, &[("data_server_commits", commits as u64)]);
    assert_eq!(bench.server.count(Commit), 1);
    bench.end();
}

#[test]
fn a_file_with_data_to_be_committed_is_not_closed_for_others() {
    for kind in Kind::ALL {
        let server = slow(&[]);
        let mut bench = deferring(kind, server.fake.address, LIKE_LINUX, good);
        bench.succeed(create(0));
        bench.succeed(write_of(100));
        for number in 1..80 {
            bench.succeed(create(number));
        }
        let object = ObjectId(100);
        bench.succeed(Action::Commit { object });
        server.has_seen(&["WRITE", "COMMIT"]);
        let counters = bench.counters();
        counted(&counters, &NOTHING_LOST);
        assert!(counters["CLOSE"] > 10, "{counters:?}");
        bench.end();
    }
}

/// The places of these COMPOUNDs among those that the server has executed.
#[track_caller]
fn order(bench: &Bench, compounds: &[&[Operation]]) -> Vec<usize> {
    let state = bench.server.state();
    let place = |of: &&[Operation]| state.executed.iter().position(|ops| ops == of);
    compounds
        .iter()
        .map(|of| place(of).expect("executed"))
        .collect()
}

/// No layout for reading: the metadata server does not know how long the file is before LAYOUTCOMMIT.
#[test]
fn the_metadata_server_learns_the_size_before_it_reads() {
    for kind in Kind::ALL {
        for is_refused in [false, true] {
            let server = slow(&[]);
            let (at_data_server, before) = (server.seen.clone(), Arc::new(Mutex::new(Vec::new())));
            let before_commit = before.clone();
            let script = move |seen: &Seen| {
                if seen.has(Layoutcommit) {
                    let calls = at_data_server.lock().expect("no panic").clone();
                    before_commit.lock().expect("no panic").push(calls);
                }
                match seen.has(Layoutcommit) && !seen.has(Close) && is_refused {
                    true => Deed::Fail(1, Nfsstat4::Inval),
                    false => Deed::Good,
                }
            };
            let flags = ff_flags::NO_READ_IO;
            let mut bench = deferring(kind, server.fake.address, flags, script);
            bench.succeed(write(0, SIZE));
            bench.server.state().layouts.refuses = Some(Nfsstat4::Layoutunavailable);
            bench.succeed(read(0, SIZE));
            // A COMMIT of the data server comes before LAYOUTCOMMIT.
            let calls = before.lock().expect("no panic")[0].clone();
            assert_eq!(calls, ["WRITE", "COMMIT"]);
            let at = order(&bench, &[&[Putfh, Layoutcommit], &[Putfh, Read]]);
            assert!(at[0] < at[1], "{at:?}");
            // One that was refused is not sent again for each read.
            bench.succeed(read(0, SIZE));
            assert_eq!(before.lock().expect("no panic").len(), 1);
            counted(&bench.counters(), &NOTHING_LOST);
            match is_refused {
                true => bench.end(),
                false => end_with(bench, &[Putfh, Layoutreturn, Close]),
            }
        }
    }
}

/// A LAYOUTCOMMIT behind the SETATTR would make the file as long as before.
#[test]
fn the_metadata_server_learns_the_size_before_it_sets_another_one() {
    let (fake, _) = data_server(|_| None);
    let mut bench = deferring(Kind::Plain, fake.address, 0, good);
    bench.succeed(write(0, SIZE));
    bench.succeed(Action::Setattr {
        object: FILE,
        size: Some(7),
    });
    let [commit, set] = [&[Putfh, Layoutcommit][..], &[Putfh, Setattr, Getattr]];
    let at = order(&bench, &[commit, set]);
    assert!(at[0] < at[1], "{at:?}");
    end_with(bench, &[Putfh, Layoutreturn, Close]);
}

/// The COMMIT before the return of a recalled layout fails: the layout is returned all the same, and the data is held
/// until the metadata server, which does not have it, has got it again.
#[test]
fn what_a_failed_commit_of_the_driver_has_not_confirmed_is_written_again() {
    for kind in Kind::ALL {
        let mut commits = 0;
        let (fake, seen) = data_server(move |call| {
            commits += u32::from(matches!(call.args, nfs3::Args::Commit(_)));
            match (call.args, commits) {
                (nfs3::Args::Commit(_), 1) => Some(fake::refusal(call, Nfsstat3::Jukebox)),
                (nfs3::Args::Commit(_), 2) => Some(fake::refusal(call, Nfsstat3::Nospc)),
                _ => unstable(call),
            }
        });
        let mut bench = deferring(kind, fake.address, LIKE_LINUX, recalling());
        bench.succeed(write(0, SIZE));
        assert_eq!(answers(&mut bench, 1), [(70, Nfsstat4::Ok)]);
        wait_for(&mut bench, |state| state.layouts.held.is_empty());
        let expected = [
            ("commit_failures", 1),
            ("jukebox_waits", 1),
            ("layouts_returned", 1),
            ("uncommitted_writes", 0),
        ];
        counted(&bench.counters(), &expected);
        bench.succeed(Action::Commit { object: FILE });
        let calls = ["WRITE", "COMMIT", "COMMIT", "WRITE", "COMMIT"];
        assert_eq!(*seen.lock().expect("no panic"), calls);
        let expected = [("lost_writes", 1), ("uncommitted_writes", 0)];
        counted(&bench.counters(), &expected);
        bench.end();
    }
}

/// At the end one file of a proc is committed at a time, behind those that are committed already.
#[test]
fn files_that_the_driver_commits_are_counted() {
    let server = slow(&["COMMIT"]);
    let mut bench = deferring(Kind::Plain, server.fake.address, LIKE_LINUX, good);
    for number in 1..4 {
        bench.succeed(create(number));
        bench.succeed(write_of(100 + number));
    }
    for object in [101, 102] {
        assert!(bench.shard.core.settle_file(0, ObjectId(object)));
    }
    for left in [1, 0] {
        assert_eq!(bench.shard.core.procs[0].settling, left + 1);
        assert!(bench.shard.core.settle());
        let third = bench.shard.core.uncommitted.find(0, ObjectId(103));
        assert_eq!(third.expect("held").committer(), None, "{left}");
        assert!(bench.turn_until(&server.reported).is_empty());
        server.go.send(()).expect("the data server waits");
        while bench.shard.core.procs[0].settling > left {
            bench.turn();
        }
    }
    assert!(bench.shard.core.settle());
    assert_eq!(bench.shard.core.procs[0].settling, 1);
    assert!(bench.turn_until(&server.reported).is_empty());
    server.go.send(()).expect("the data server waits");
    while bench.shard.core.procs[0].settling > 0 {
        bench.turn();
    }
    assert!(!bench.shard.core.settle());
    server.has_seen(&[["WRITE"; 3], ["COMMIT"; 3]].concat());
    bench.end();
}

/// All open files have data that needs a COMMIT: with each file beyond the limit one of them is committed, and is
/// closed then. What cannot be committed stays open.
#[test]
fn files_with_data_beyond_the_limit_are_committed_and_closed() {
    for is_full in [false, true] {
        let (fake, _) = data_server(move |call| match call.args {
            nfs3::Args::Commit(_) if is_full => Some(fake::refusal(call, Nfsstat3::Nospc)),
            _ => unstable(call),
        });
        let mut bench = deferring(Kind::Plain, fake.address, LIKE_LINUX, good);
        for number in 0..80 {
            bench.succeed(create(number));
            bench.succeed(write_of(100 + number));
        }
        let counters = bench.counters();
        counted(&counters, &NOTHING_LOST);
        counted(&counters, &[("uncommitted_writes", 0)]);
        let open = bench.server.state().opens.len();
        match is_full {
            true => {
                assert_eq!(open, 80);
                // One of each CREATE beyond the limit, and no more.
                assert!(
                    (10..=16).contains(&counters["commit_failures"]),
                    "{counters:?}"
                );
            }
            false => assert!(open <= 66, "{open}: {counters:?}"),
        }
        bench.end();
    }
}

/// The server keeps a layout, and the open, until they are given back.
#[test]
fn a_layout_is_returned_although_layoutcommit_is_refused() {
    let refusing = |seen: &Seen| match seen.has(Layoutcommit) {
        true => Deed::Fail(1, Nfsstat4::Inval),
        false => Deed::Good,
    };
    for kind in Kind::ALL {
        let (fake, _) = data_server(|_| None);
        let mut bench = super::layouts::bench_of(kind, fake.address, 0, refusing);
        bench.succeed(write(0, SIZE));
        end_with(bench, &[Putfh, Layoutreturn, Close]);
        let mut recalling = recalling();
        let mut bench = super::layouts::bench_of(kind, fake.address, 0, move |seen| {
            match seen.has(Layoutcommit) {
                true => refusing(seen),
                false => recalling(seen),
            }
        });
        bench.succeed(write(0, SIZE));
        assert_eq!(answers(&mut bench, 1), [(70, Nfsstat4::Ok)]);
        wait_for(&mut bench, |state| state.layouts.held.is_empty());
        let expected = [
            ("LAYOUTCOMMIT", 1),
            ("LAYOUTRETURN", 2),
            ("layouts_returned", 1),
            ("layouts_lost", 0),
        ];
        counted(&bench.counters(), &expected);
        bench.end();
    }
}
