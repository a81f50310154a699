//! Calls about layouts: what waits for them, what becomes of late answers, data servers that are not known.

use super::layouts::{Kind, LIKE_LINUX, bench_of, counted, data_server};
use super::*;
use crate::driver::tests::fake;
use filermark_onc::nfs3::Nfsstat3;
use filermark_onc::nfs4::Nfsstat4;
use filermark_onc::nfs4::Operation::*;
use std::sync::mpsc;

pub(super) fn lock(object: u32) -> Action {
    Action::V4(V4Action::Lock {
        object: ObjectId(object),
    })
}

pub(super) fn write_of(object: u32) -> Action {
    Action::Write {
        object: ObjectId(object),
        file: 7,
        offset: 0,
        length: SIZE,
    }
}

impl Bench {
    /// Sends and receives until a server says so; returns what has ended meanwhile.
    #[track_caller]
    pub(super) fn turn_until(&mut self, reported: &mpsc::Receiver<()>) -> Vec<Completion> {
        let until = self.shard.core.state.clock.now() + Nanos::from_secs(60);
        let mut done = Vec::new();
        while reported.try_recv().is_err() {
            assert!(self.shard.core.state.clock.now() < until);
            done.append(&mut self.turn());
        }
        done
    }

    /// Sends and receives for a moment; returns what has ended.
    pub(super) fn turn(&mut self) -> Vec<Completion> {
        let mut done = Vec::new();
        self.shard.flush();
        let soon = self.shard.core.state.clock.now() + Nanos::from_millis(5);
        self.shard.poll(soon, &mut done).expect("sockets work");
        done
    }
}

/// A LAYOUTRETURN is under way when all data of the file has been written: its CLOSE comes after that.
#[test]
fn a_filled_file_is_closed_although_its_layout_is_being_returned() {
    for kind in Kind::ALL {
        let mut left = 1;
        let (fake, _) = data_server(move |call| {
            left -= 1;
            (left >= 0).then(|| fake::refusal(call, Nfsstat3::Stale))
        });
        let mut is_written = false;
        let mut bench = bench_of(kind, fake.address, LIKE_LINUX, move |seen| {
            let was_written = is_written;
            is_written |= seen.has(Write);
            match seen.ops == [Putfh, Layoutreturn] && !was_written {
                true => Deed::Fail(1, Nfsstat4::Delay),
                false => Deed::Good,
            }
        });
        for number in 1..3 {
            bench.succeed(fill(number, 3 * u64::from(SIZE)));
            assert!(bench.server.state().opens.is_empty());
        }
        let counters = bench.counters();
        counted(
            &counters,
            &[("OPEN", 2), ("CLOSE", 2), ("layouts_returned", 2)],
        );
        bench.end();
    }
}

/// What a call about layouts delays is the server's time: that of an operation which joins the wait begins then.
#[test]
fn the_wait_for_a_layout_call_under_way_is_service_time() {
    for (waited_for, kind) in [(Layoutget, Kind::Plain), (Layoutreturn, Kind::Plain)] {
        let (fake, _) = data_server(move |call| match waited_for {
            Layoutreturn => Some(fake::refusal(call, Nfsstat3::Stale)),
            _ => None,
        });
        let (report, reported) = mpsc::channel();
        let (go, may_go) = mpsc::channel::<()>();
        let mut bench = bench_of(kind, fake.address, LIKE_LINUX, move |seen| {
            if seen.ops == [Putfh, waited_for] {
                report.send(()).expect("the test waits");
                may_go.recv().expect("the test goes on");
            }
            Deed::Good
        });
        bench.succeed(create(1));
        bench.submit(0, write_of(101));
        let ended = bench.turn_until(&reported).len();
        let second = bench.submit(
            0,
            match waited_for {
                Layoutreturn => remove(1),
                _ => write_of(101),
            },
        );
        bench.shard.flush();
        let joined = bench.shard.core.state.clock.now();
        go.send(()).expect("the server waits");
        let done = bench.wait(2 - ended);
        assert!(done.values().all(|of| of.status == Status::Ok), "{done:?}");
        assert!(done[&second].sent <= joined, "{waited_for:?}");
        drop(go);
        bench.end();
    }
}

/// The server has lost the open while LAYOUTGET is under way, and the file is opened again: the answer to that
/// LAYOUTGET is none for the file that is open now.
#[test]
fn an_answer_for_an_earlier_open_is_not_used() {
    for kind in Kind::ALL {
        let (fake, seen) = data_server(|_| None);
        let (report, reported) = mpsc::channel();
        let mut locks = 0;
        let mut bench = bench_of(kind, fake.address, LIKE_LINUX, move |seen| {
            if seen.has(Layoutget) {
                let _ = report.send(());
            }
            locks += u32::from(seen.has(Lock));
            match (seen.has(Lock), locks) {
                (true, 1) => Deed::Fail(1, Nfsstat4::BadStateid),
                (true, _) => Deed::Fail(1, Nfsstat4::Denied),
                _ => Deed::Good,
            }
        });
        bench.server.state().layouts.is_busy = true;
        bench.succeed(create(1));
        let write = bench.submit(0, write_of(101));
        assert!(bench.turn_until(&reported).is_empty());
        bench.server.state().opens.clear();
        bench.submit(0, lock(101));
        let done = bench.wait(2);
        assert_eq!(done[&write].status, Status::Ok);
        assert_eq!(*seen.lock().expect("no panic"), ["WRITE"]);
        counted(
            &bench.counters(),
            &[("layouts_refused", 0), ("layouts_write", 1)],
        );
        bench.end();
    }
}

/// The server has granted a layout for an open that it does not know any more when the answer comes: the layout
/// is returned, and the next open has one of its own.
#[test]
fn a_layout_that_comes_after_the_loss_of_its_open_is_returned() {
    let (fake, seen) = data_server(|_| None);
    let mut locks = 0;
    let mut bench = bench_of(Kind::Plain, fake.address, LIKE_LINUX, move |seen| {
        locks += u32::from(seen.has(Lock));
        match (seen.has(Lock), locks) {
            (true, 1) => Deed::Fail(1, Nfsstat4::BadStateid),
            (true, _) => Deed::Fail(1, Nfsstat4::Denied),
            _ => Deed::Good,
        }
    });
    bench.succeed(create(1));
    bench.submit(0, lock(101));
    let write = bench.submit(0, write_of(101));
    let done = bench.wait(2);
    assert_eq!(done[&write].status, Status::Ok);
    assert_eq!(*seen.lock().expect("no panic"), ["WRITE"]);
    let expected = [
        ("LAYOUTGET", 2),
        ("layouts_write", 2),
        ("layouts_returned", 1),
        ("layouts_lost", 0),
        ("lost_opens", 1),
    ];
    counted(&bench.counters(), &expected);
    assert_eq!(bench.server.state().layouts.held.len(), 1);
    // The server of the test has the first open still.
    bench.server.state().opens.pop_first();
    bench.end();
}

/// A refusal that may pass is asked about again with the next layout; one that stays is not.
#[test]
fn a_data_server_is_asked_for_again_unless_its_refusal_stays() {
    for (status, asked, at_data_server) in [
        (Nfsstat4::Serverfault, 2, 1),
        (Nfsstat4::Delay, 2, 2),
        (Nfsstat4::Noent, 1, 0),
        (Nfsstat4::UnknownLayouttype, 1, 0),
        (Nfsstat4::Inval, 1, 0),
    ] {
        let (fake, seen) = data_server(|_| None);
        let mut left = 1;
        let mut bench = bench_of(Kind::Plain, fake.address, LIKE_LINUX, move |seen| {
            left -= i32::from(seen.has(Getdeviceinfo));
            match seen.has(Getdeviceinfo) && left == 0 {
                true => Deed::Fail(0, status),
                false => Deed::Good,
            }
        });
        for number in 1..3 {
            bench.succeed(create(number));
            bench.succeed(write_of(100 + number));
        }
        assert_eq!(bench.server.count(Getdeviceinfo), asked, "{status}");
        assert_eq!(
            seen.lock().expect("no panic").len(),
            at_data_server,
            "{status}"
        );
        bench.end();
    }
}
