//! The operations that version 3 does not have, on the embedded server.

use crate::driver::core::Core;
use crate::driver::sessions::Sessions;
use crate::driver::sessions::scratch::Value;
use crate::driver::tests::embedded::{World, fill};
use crate::driver::tests::name;
use filermark_driver_kit::driver::Driver;
use filermark_driver_kit::sockets;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::*;
use filermark_engine::name::NameKind;
use filermark_model::plan::{MinorVersion, NfsPlan, NfsVersion};
use filermark_model::{Nanos, Op};
use filermark_server::{Operation4, ServerOptions};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The file that is read, and the scratch file.
pub(super) const DATA: ObjectId = ObjectId(1);
const SCRATCH: ObjectId = ObjectId(2);
const BYTES: u64 = 300_000;

pub(super) struct Work {
    /// Its server ends with it.
    _world: World,
    pub(super) shard: sockets::Shard<Core<Sessions>>,
}

impl Work {
    fn new(options: ServerOptions) -> Self {
        Self::of(options, NfsVersion::V42)
    }

    /// Only samples are compared.
    fn sampled() -> Self {
        let level = VerifyLevel::Sample;
        Self::with(ServerOptions::default(), NfsVersion::V42, level)
    }

    pub(super) fn of(options: ServerOptions, version: NfsVersion) -> Self {
        Self::with(options, version, VerifyLevel::All)
    }

    fn with(options: ServerOptions, version: NfsVersion, level: VerifyLevel) -> Self {
        let mut world = World::new(options, |plan| plan.version = version, 1);
        world.setup.data = Arc::new(DataSource::new(1, level).shared(true));
        let claimed = world.driver.claim(world.mount(), &world.setup.claim);
        claimed.expect("nothing is there");
        let minor = version.minor_version().unwrap_or(MinorVersion::V2);
        let shard = world.driver.shard4(world.setup.clone(), minor);
        let mut work = Self {
            shard: shard.expect("it serves"),
            _world: world,
        };
        let name = name(NameKind::ProcDir, 0);
        work.good(Action::MakeProcDir { name });
        work.good(fill(0, BYTES));
        work.good(fill(1, 0));
        work
    }

    fn run_all(&mut self, actions: &[Action]) -> Vec<Outcome> {
        for (token, action) in actions.iter().enumerate() {
            let request = Request {
                token: token as u32,
                proc: 0,
                action: *action,
            };
            assert!(
                matches!(self.shard.submit(&request), Submit::Queued),
                "{action:?}"
            );
        }
        let mut done: Vec<Completion> = Vec::new();
        while done.len() < actions.len() {
            self.shard.flush();
            self.shard
                .poll(Nanos::MAX, &mut done)
                .expect("sockets work");
        }
        done.sort_by_key(|completion| completion.token);
        done.into_iter()
            .map(|completion| completion.outcome)
            .collect()
    }

    fn run(&mut self, action: Action) -> Outcome {
        self.run_all(&[action])[0]
    }

    #[track_caller]
    pub(super) fn good(&mut self, action: Action) -> Outcome {
        let outcome = self.run(action);
        assert_eq!(outcome.status, Status::Ok, "{action:?}");
        outcome
    }

    /// Waits for the READs of the driver itself: a connection answers in order.
    fn wait_for_reads(&mut self) {
        for _ in 0..20 {
            self.good(Action::Getattr { object: DATA });
        }
    }

    fn counter(&mut self, name: &str) -> u64 {
        self.counters().get(name).copied().unwrap_or(0)
    }

    pub(super) fn counters(&mut self) -> BTreeMap<String, u64> {
        let mut counters = BTreeMap::new();
        self.shard.take_counters(&mut counters);
        counters
    }

    #[track_caller]
    fn refuses_later_operations(&mut self) {
        for (action, _) in all().into_iter().skip(2) {
            let request = Request {
                token: 0,
                proc: 0,
                action,
            };
            let Submit::Done(outcome) = self.shard.submit(&request) else {
                panic!("{action:?}");
            };
            assert!(matches!(outcome.status, Status::Refused(_)), "{action:?}");
        }
    }

    /// Ends the clients, and compares what was counted meanwhile.
    #[track_caller]
    fn ended_with(mut self, expected: &[(&str, u64)]) {
        self.end_clients();
        let counters = self.counters();
        for (name, count) in expected {
            assert_eq!(counters.get(*name), Some(count), "{name}: {counters:?}");
        }
        let served = self._world.server.stats();
        assert_eq!(served.of4(Operation4::Locku), served.of4(Operation4::Lock));
    }

    fn end(mut self) {
        self.end_clients();
    }

    fn end_clients(&mut self) {
        let now = self.shard.core.state.clock.now();
        self.shard.end(now + Nanos::from_secs(60));
        assert!(
            self.shard
                .core
                .own
                .opens
                .iter()
                .all(|opens| opens.is_empty())
        );
    }
}

fn v4(action: V4Action) -> Action {
    Action::V4(action)
}

fn open_by_name() -> Action {
    v4(V4Action::Open {
        dir: PROC_DIR,
        name: name(NameKind::File, 0),
        object: DATA,
    })
}

const LOCK: Action = Action::V4(V4Action::Lock { object: DATA });

pub(super) fn copy(offset: u64, length: u32) -> Action {
    v4(V4Action::Copy {
        object: DATA,
        target: SCRATCH,
        file: 0,
        offset,
        length,
    })
}

fn clone(offset: u64, length: u32) -> Action {
    v4(V4Action::Clone {
        object: DATA,
        target: SCRATCH,
        file: 0,
        offset,
        length,
        bytes: BYTES as u32,
    })
}

const fn sought(offset: u64, bytes: u64, is_hole: bool) -> Action {
    Action::V4(V4Action::Seek {
        object: DATA,
        file: 0,
        offset,
        bytes: bytes as u32,
        is_hole,
    })
}

const SET: Action = Action::V4(V4Action::Setxattr {
    object: SCRATCH,
    attribute: 3,
});
const GET: Action = Action::V4(V4Action::Getxattr {
    object: SCRATCH,
    attribute: 3,
});

fn read_plus(offset: u64, length: u32) -> Action {
    v4(V4Action::ReadPlus {
        object: DATA,
        file: 0,
        offset,
        length,
    })
}

fn all() -> Vec<(Action, &'static [&'static str])> {
    let object = SCRATCH;
    vec![
        (open_by_name(), &["OPEN", "CLOSE"]),
        (LOCK, &["LOCK", "LOCKU"]),
        (
            v4(V4Action::Allocate {
                object,
                offset: 4096,
                length: 70_000,
            }),
            &["ALLOCATE"],
        ),
        (
            v4(V4Action::Deallocate {
                object,
                offset: 4096,
                length: 4096,
            }),
            &["DEALLOCATE"],
        ),
        (
            v4(V4Action::Seek {
                object: DATA,
                file: 0,
                offset: 4096,
                bytes: BYTES as u32,
                is_hole: true,
            }),
            &["SEEK"],
        ),
        (read_plus(100, 5_000), &["READ_PLUS"]),
        (copy(0, 100_000), &["COPY"]),
        (clone(4096, 8192), &["CLONE"]),
        (
            v4(V4Action::Setxattr {
                object,
                attribute: 3,
            }),
            &["SETXATTR"],
        ),
        (
            v4(V4Action::Getxattr {
                object,
                attribute: 3,
            }),
            &["GETXATTR"],
        ),
        (v4(V4Action::Listxattrs { object }), &["LISTXATTRS"]),
        (
            v4(V4Action::Removexattr {
                object,
                attribute: 3,
            }),
            &["REMOVEXATTR"],
        ),
    ]
}

#[test]
fn every_operation_succeeds_and_has_its_calls_on_the_wire() {
    let mut work = Work::sampled();
    // Both files are open, so that no OPEN belongs to another operation.
    work.good(copy(0, 1));
    work.counters();
    for (action, names) in all() {
        let outcome = work.good(action);
        assert_eq!(outcome.physical as usize, names.len(), "{action:?}");
        let counters = work.counters();
        let calls: u64 = counters["COMPOUND"];
        assert_eq!(calls as usize, names.len(), "{action:?}: {counters:?}");
        for name in names {
            assert_eq!(counters[*name], 1, "{action:?}: {counters:?}");
        }
    }
    work.end();
}

/// Operations under way at the same time do not close or unlock what another one has.
#[test]
fn operations_on_one_file_do_not_disturb_each_other() {
    let mut work = Work::new(ServerOptions::default());
    let many: Vec<Action> = (0..8)
        .flat_map(|_| [open_by_name(), LOCK, copy(0, 4096), read_plus(0, 60_000)])
        .collect();
    for outcome in work.run_all(&many) {
        assert_eq!(outcome.status, Status::Ok);
    }
    let counters = work.counters();
    assert_eq!((counters["LOCK"], counters["LOCKU"]), (8, 8));
    // One OPEN of the data and of the scratch file each is kept; INIT has closed its own.
    assert_eq!(counters["READ_PLUS"] % 8, 0);
    work.end();
}

/// Version 4.0: the first LOCK of a file has the owner of its open, the next ones its own. The owner of locks ends
/// with the file.
#[test]
fn version_40_opens_and_locks_with_numbered_owners() {
    let mut work = Work::of(ServerOptions::default(), NfsVersion::V40);
    work.counters();
    for _ in 0..3 {
        let outcome = work.good(open_by_name());
        assert_eq!(outcome.physical, 2);
    }
    // The data is opened for the first of these.
    for physical in [3, 2, 2] {
        assert_eq!(work.good(LOCK).physical, physical);
    }
    let counters = work.counters();
    assert_eq!((counters["OPEN"], counters["CLOSE"]), (4, 3));
    assert_eq!((counters["LOCK"], counters["LOCKU"]), (3, 3));
    for never in ["OPEN_CONFIRM", "FREE_STATEID", "RELEASE_LOCKOWNER"] {
        assert!(!counters.contains_key(never), "{counters:?}");
    }
    work.ended_with(&[("CLOSE", 1), ("RELEASE_LOCKOWNER", 1)]);
}

/// Version 4.0: the calls of one owner wait for each other, whatever operation they belong to.
#[test]
fn version_40_numbers_the_calls_of_an_owner_one_at_a_time() {
    let mut work = Work::of(ServerOptions::default(), NfsVersion::V40);
    work.counters();
    let many: Vec<Action> = (0..8).flat_map(|_| [open_by_name(), LOCK]).collect();
    for outcome in work.run_all(&many) {
        assert_eq!(outcome.status, Status::Ok);
    }
    let counters = work.counters();
    assert_eq!((counters["LOCK"], counters["LOCKU"]), (8, 8));
    assert_eq!((counters["OPEN"], counters["CLOSE"]), (9, 8));
    for never in ["lost_opens", "refused_closes"] {
        assert!(!counters.contains_key(never), "{counters:?}");
    }
    work.ended_with(&[("CLOSE", 1), ("RELEASE_LOCKOWNER", 1)]);
}

/// Version 4.0: a call of an owner whose reply was lost is executed once.
#[test]
fn version_40_gets_the_replies_of_owners_again_after_a_lost_connection() {
    let mut work = Work::of(
        ServerOptions {
            drop: "conn@9".parse().expect("a fault"),
            ..ServerOptions::default()
        },
        NfsVersion::V40,
    );
    for _ in 0..30 {
        work.good(open_by_name());
        work.good(LOCK);
    }
    let counters = work.counters();
    assert!(counters["reconnects"] >= 10, "{counters:?}");
    assert_eq!((counters["LOCK"], counters["LOCKU"]), (30, 30));
    for never in ["lost_opens", "refused_closes", "lost_clients"] {
        assert!(!counters.contains_key(never), "{counters:?}");
    }
    work.end();
}

/// Over 4.0 as over 4.1: what later versions have is refused, and the message names them.
#[test]
fn version_40_refuses_operations_of_version_42() {
    let mut work = Work::of(ServerOptions::default(), NfsVersion::V40);
    work.refuses_later_operations();
    work.end();
}

/// The contents are compared as those of READ.
#[test]
fn what_read_plus_returns_is_compared() {
    let mut work = Work::new(ServerOptions::default());
    let read = work.good(read_plus(0, 200_000));
    assert_eq!(read.read_bytes, 200_000);
    let checked = work.counters()["checked_bytes"];
    assert_eq!(checked, 200_000);
    // A hole where there was data.
    work.good(v4(V4Action::Deallocate {
        object: DATA,
        offset: 65_536,
        length: 65_536,
    }));
    let wrong = work.run(read_plus(0, 200_000));
    assert_eq!(wrong.status, Status::Corrupt);
    work.end();
}

/// What COPY and CLONE have written is read back, in as many READs as it takes.
#[test]
fn what_was_copied_is_read_back_and_compared() {
    let mut work = Work::new(ServerOptions::default());
    // The same with the contents of another file is what a server shows that has copied something else.
    let of_other = |action| match action {
        Action::V4(V4Action::Copy {
            object,
            target,
            offset,
            length,
            ..
        }) => v4(V4Action::Copy {
            object,
            target,
            file: 9,
            offset,
            length,
        }),
        _ => v4(V4Action::Clone {
            object: DATA,
            target: SCRATCH,
            file: 9,
            offset: 0,
            length: 0,
            bytes: BYTES as u32,
        }),
    };
    let whole = clone(0, 0);
    for (action, bytes) in [
        (copy(4096, 200_000), 200_000),
        (clone(8192, 65_536), 65_536),
        (whole, BYTES),
    ] {
        work.good(action);
        work.wait_for_reads();
        let counters = work.counters();
        assert_eq!(counters["checked_bytes"], bytes, "{action:?}");
        assert_eq!(counters.get("verify_errors"), None, "{action:?}");
        work.good(of_other(action));
        work.wait_for_reads();
        assert_eq!(work.counter("verify_errors"), 1, "{action:?}");
    }
    work.end();
}

/// Another client of the shard may get a session with smaller transfers while a READ is under way.
#[test]
fn a_read_back_is_judged_by_what_it_has_asked_for() {
    let mut work = Work::new(ServerOptions::default());
    work.good(copy(4096, 200_000));
    // The READ is encoded.
    work.shard.flush();
    for file_system in &mut work.shard.core.file_systems {
        file_system.rsize = 50_000;
    }
    work.wait_for_reads();
    let counters = work.counters();
    assert_eq!((counters["READ"], counters["checked_bytes"]), (1, 200_000));
    // In the next one the size is the smaller one.
    work.good(copy(4096, 200_000));
    work.wait_for_reads();
    let counters = work.counters();
    assert_eq!((counters["READ"], counters["checked_bytes"]), (4, 200_000));
    assert_eq!(counters.get("bad_replies"), None, "{counters:?}");
    work.end();
}

/// Where only samples are compared, a part of one in 16 is read back.
#[test]
fn few_copies_are_read_back_without_verify() {
    let mut work = Work::sampled();
    for _ in 0..48 {
        work.good(copy(0, 100_000));
    }
    work.wait_for_reads();
    let counters = work.counters();
    assert_eq!(counters["READ"], 3, "{counters:?}");
    // The next COPY to the same file may have been faster than the first two of them.
    assert!(counters["checked_bytes"] >= 512, "{counters:?}");
    assert_eq!(counters.get("verify_errors"), None);
    work.end();
}

/// What may have changed meanwhile is not compared.
#[test]
fn a_copy_that_another_operation_may_have_replaced_is_not_compared() {
    let mut work = Work::new(ServerOptions::default());
    for outcome in work.run_all(&[copy(0, 4096), copy(4096, 4096), copy(8192, 4096)]) {
        assert_eq!(outcome.status, Status::Ok);
    }
    work.wait_for_reads();
    let counters = work.counters();
    assert_eq!(counters.get("checked_bytes"), None, "{counters:?}");
    assert_eq!(counters.get("verify_errors"), None, "{counters:?}");
    work.end();
}

/// The files that are looked at have no holes: RFC 7862 section 15.11.
#[test]
fn the_answer_of_seek_is_compared_with_a_file_without_holes() {
    let mut work = Work::new(ServerOptions::default());
    for offset in [0, 4096, BYTES - 1] {
        work.good(sought(offset, BYTES, false));
        work.good(sought(offset, BYTES, true));
    }
    assert_eq!(work.counter("verify_errors"), 0);
    // The file is shorter than what was written.
    assert_eq!(work.run(sought(0, BYTES + 1, true)).status, Status::Corrupt);
    work.good(v4(V4Action::Deallocate {
        object: DATA,
        offset: 65_536,
        length: 65_536,
    }));
    for is_hole in [false, true] {
        let wrong = work.run(sought(65_536, BYTES, is_hole));
        assert_eq!(wrong.status, Status::Corrupt, "{is_hole}");
    }
    assert_eq!(work.counter("verify_errors"), 3);
    work.end();
}

/// Every SETXATTR has a value of its own, so one that the server has not carried out is seen.
#[test]
fn an_attribute_has_the_value_that_was_set_last() {
    let mut work = Work::new(ServerOptions::default());
    work.good(SET);
    work.good(GET);
    work.good(SET);
    work.good(GET);
    // A server that has not carried out the last one has the value of an earlier one.
    let later = work.shard.core.history.next_generation();
    let scratch = work.shard.core.scratch(0);
    scratch.set_value(3, Value::Of(later));
    assert_eq!(work.run(GET).status, Status::Corrupt);
    assert_eq!(work.counter("verify_errors"), 1);
    // After a SETXATTR without a reply any value is right.
    work.shard.core.scratch(0).set_value(3, Value::Unsettled);
    work.good(GET);
    work.end();
}

/// A server that copies a part is asked for the rest, and what it has not made stable is committed.
#[test]
fn a_copy_goes_on_after_a_part_and_is_committed() {
    let mut work = Work::new(ServerOptions {
        short: Some(40_000),
        unstable: "on".parse().expect("sound"),
        ..ServerOptions::default()
    });
    work.good(copy(0, 1));
    work.counters();
    let outcome = work.good(copy(5, 100_000));
    assert_eq!(outcome.physical, 4);
    let counters = work.counters();
    assert_eq!((counters["COPY"], counters["COMMIT"]), (3, 1));
    work.end();
}

#[test]
fn version_41_refuses_operations_of_version_42() {
    let mut work = Work::of(ServerOptions::default(), NfsVersion::V41);
    work.good(open_by_name());
    work.good(LOCK);
    work.refuses_later_operations();
    work.end();
}

#[test]
fn operations_that_the_server_does_not_offer_are_named_before_the_run() {
    use Operation4::{Clone, Setxattr};
    let refused = |ops: &[Op], missing: &[Operation4]| {
        let options = ServerOptions {
            not_offered: missing.to_vec(),
            ..ServerOptions::default()
        };
        let change = |plan: &mut NfsPlan| {
            plan.version = NfsVersion::V42;
            plan.optional_ops = ops.to_vec();
        };
        let world = World::new(options, change, 1);
        let claimed = world.driver.claim(world.mount(), &world.setup.claim);
        claimed.err().map(|error| error.to_string())
    };
    let optional: Vec<Op> = Op::NFS42
        .iter()
        .copied()
        .filter(|op| op.needs_nfs42())
        .collect();
    assert_eq!(refused(&optional, &[]), None);
    let text = refused(&optional, &[Clone, Setxattr]).expect("refused");
    assert!(
        text.contains("does not offer clone, setxattr here (NFS4ERR_NOTSUPP)"),
        "{text}"
    );
    assert!(text.contains("MIXFILE"), "{text}");
    assert_eq!(refused(&[Op::Seek], &[Clone]), None);
}

/// The check before a run does the same, where it may write, and leaves nothing behind.
#[test]
fn the_check_before_a_run_tries_the_operations_of_the_mix() {
    use Operation4::{Clone, Open, Remove, Seek};
    for (is_read_only, missing, wanted) in [
        (false, &[][..], None),
        (
            false,
            &[Clone],
            Some("does not offer clone here (NFS4ERR_NOTSUPP)"),
        ),
        (true, &[Clone], None),
    ] {
        let options = ServerOptions {
            not_offered: missing.to_vec(),
            read_only: is_read_only,
            ..ServerOptions::default()
        };
        let change = |plan: &mut NfsPlan| {
            plan.version = NfsVersion::V42;
            plan.optional_ops = vec![Op::Seek, Op::Clone];
        };
        let world = World::new(options, change, 1);
        let found = crate::survey::export(world.mount(), &world.driver.plan);
        let error = found.as_ref().err().map(ToString::to_string);
        match wanted {
            Some(sentence) => assert!(error.expect("refused").contains(sentence)),
            None => assert_eq!(
                found.map(|(writable, _)| writable).ok(),
                Some(!is_read_only)
            ),
        }
        let stats = world.server.stats();
        let tried = u64::from(!is_read_only);
        for operation in [Open, Remove, Seek, Clone] {
            assert_eq!(stats.of4(operation), tried, "{operation:?} {missing:?}");
        }
    }
}
