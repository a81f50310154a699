//! What was written to a data server and is not stable: it is committed there, and reported, before the layout is
//! returned and before the metadata server is asked for it.

use super::delegations::{answers, wait_for};
use super::layout_calls::write_of;
use super::layouts::{Kind, LIKE_LINUX, counted, data_server, deferring, end_with, good, recall};
use super::*;
use crate::driver::tests::fake::{self, Fake, ServerAction};
use filermark_onc::nfs3::{self, StableHow};
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

fn slow(stops_at: &'static [&'static str]) -> Slow {
    let (report, reported) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let (fake, seen) = data_server(move |call| {
        let (name, answer) = match call.args {
            nfs3::Args::Write(args) => {
                let reply = fake::write_reply(call.xid, args.count, StableHow::Unstable, 1);
                ("WRITE", Some(vec![ServerAction::Send(reply)]))
            }
            nfs3::Args::Commit(_) => ("COMMIT", None),
            _ => ("READ", None),
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
