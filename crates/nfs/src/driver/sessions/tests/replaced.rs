//! Files whose place another file takes while a call about their layouts or locks is under way: they are closed after
//! that call.

use super::layout_calls::{lock, write_of};
use super::layouts::{Kind, LIKE_LINUX, bench_of, data_server};
use super::*;
use filermark_onc::nfs4::Nfsstat4;
use filermark_onc::nfs4::Operation::*;
use std::sync::mpsc;

/// Lets a test do something while the server executes a COMPOUND.
struct Pause {
    go: mpsc::Sender<()>,
    reported: mpsc::Receiver<()>,
}

/// The server stops at the `nth` COMPOUND with this operation until the test goes on.
fn pausing(
    operation: Operation,
    nth: u32,
    mut script: impl FnMut(&Seen) -> Deed + Send + 'static,
) -> (Pause, impl FnMut(&Seen) -> Deed + Send + 'static) {
    let (report, reported) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let mut count = 0;
    let script = move |seen: &Seen| {
        count += u32::from(seen.has(operation));
        if seen.has(operation) && count == nth {
            let _ = report.send(());
            let _ = may_go.recv();
        }
        script(seen)
    };
    (Pause { go, reported }, script)
}

impl Pause {
    /// Has the second operation begin its first call while the server executes the first one.
    #[track_caller]
    fn meanwhile(self, bench: &mut Bench, first: Action, second: Action) -> [Status; 2] {
        let first = bench.submit(0, first);
        assert!(bench.turn_until(&self.reported).is_empty());
        let second = bench.submit(0, second);
        bench.shard.flush();
        self.go.send(()).expect("the server waits");
        let done = bench.wait(2);
        [first, second].map(|token| done[&token].status)
    }
}

/// The first file takes the place of the second one.
fn rename() -> Action {
    Action::Rename {
        dir: PROC_DIR,
        name: name(NameKind::Small, 1),
        object: ObjectId(101),
        new_name: name(NameKind::Small, 2),
        new_object: ObjectId(102),
    }
}

#[test]
fn a_file_that_is_renamed_over_is_closed_after_its_layoutget() {
    for kind in Kind::ALL {
        let (fake, seen) = data_server(|_| None);
        let (pause, script) = pausing(Rename, 1, |_| Deed::Good);
        let mut bench = bench_of(kind, fake.address, LIKE_LINUX, script);
        bench.succeed(create(1));
        bench.succeed(create(2));
        let ended = pause.meanwhile(&mut bench, rename(), write_of(102));
        assert_eq!(ended, [Status::Ok; 2]);
        assert_eq!(*seen.lock().expect("no panic"), ["WRITE"]);
        // That of the file which is gone, and that of the one which has taken its place.
        assert_eq!(bench.server.count(Layoutget), 2);
        bench.end();
    }
}

#[test]
fn a_file_that_is_created_again_is_closed_after_its_lock() {
    let (pause, script) = pausing(Getfh, 2, |seen| match seen.has(Lock) {
        true => Deed::Fail(1, Nfsstat4::Inval),
        false => Deed::Good,
    });
    let mut bench = Bench::of_minor(MinorVersion::V0, script);
    bench.succeed(create(1));
    let ended = pause.meanwhile(&mut bench, create(1), lock(101));
    let refused = Status::Refused(Nfsstat4::Inval.to_u32());
    assert_eq!(ended, [Status::Ok, refused]);
    bench.succeed(write_of(101));
    let counters = bench.counters();
    assert_eq!(counters["CLOSE"], 1, "{counters:?}");
    assert!(!counters.contains_key("refused_closes"), "{counters:?}");
    bench.end40();
}

/// An OPEN was begun during the RENAME: the file is closed by the handle that it had then.
#[test]
fn a_file_that_is_renamed_while_it_is_opened_is_closed() {
    let (pause, script) = pausing(Rename, 1, |_| Deed::Good);
    let mut bench = Bench::new(script);
    bench.succeed(create(1));
    bench.shard.core.close_from(0, ObjectId(0));
    super::delegations::wait_for(&mut bench, |state| state.opens.is_empty());
    let ended = pause.meanwhile(&mut bench, rename(), write_of(101));
    assert_eq!(ended[0], Status::Ok);
    bench.succeed(write_of(102));
    assert_eq!(bench.server.count(Open), 3);
    bench.end();
}
