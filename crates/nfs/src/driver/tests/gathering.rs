//! COMMIT by policy: how often it is called, and that nothing is lost when a server
//! loses data that no COMMIT covered.

use super::fake::{ServerAction, commit_reply, good, read_reply, refusal, reply, write_reply};
use super::*;
use filermark_model::Rng;
use filermark_onc::nfs3::{
    Args, Nfsstat3, ReadOk, ReadRes, SetattrArgs, StableHow, WccData, WriteOk, WriteRes,
};
use std::sync::Mutex;
use std::time::Duration;

/// With this seed a restart of the server also closes connections; each one takes a second.
const BREAKING: u64 = 1;
pub(super) const LIMITS: Deferral = Deferral {
    writes: 4,
    mib: 1,
    files: 2,
};

pub(super) fn policy(commit: CommitPolicy, transport: Transport) -> NfsPlan {
    NfsPlan {
        commit,
        transport,
        udp_timeout_ms: 5_000,
        ..plan()
    }
}

pub(super) fn deferred(limits: Deferral) -> NfsPlan {
    policy(CommitPolicy::Deferred(limits), Transport::Tcp)
}

/// Answers WRITE with UNSTABLE and one verifier.
pub(super) fn unstable(call: &ReceivedCall<'_>) -> Vec<ServerAction> {
    match call.args {
        Args::Write(args) => vec![ServerAction::Send(write_reply(
            call.xid,
            args.count,
            StableHow::Unstable,
            1,
        ))],
        _ => good(call),
    }
}

pub(super) fn write_to(object: u32, offset: u64, length: u32) -> Action {
    Action::Write {
        object: ObjectId(object),
        file: object.into(),
        offset,
        length,
    }
}

pub(super) fn settle(bench: &mut Bench) {
    let soon = bench.shard.core.state.clock.now() + Nanos::from_secs(20);
    bench.shard.make_stable(soon).expect("sockets work");
    assert!(bench.shard.core.uncommitted.is_empty());
    assert_eq!(bench.shard.core.uncommitted.ranges.used(), 0);
}

/// A bench whose first proc has files with these objects.
pub(super) fn with_files(
    plan: NfsPlan,
    objects: u32,
    script: impl FnMut(&ReceivedCall<'_>) -> Vec<ServerAction> + Send + 'static,
) -> Bench {
    let mut bench = Bench::with(plan, 1, VerifyLevel::Nothing, script);
    for object in 1..=objects {
        let handle = format!("file {object}");
        let handles = &mut bench.shard.core.procs[0].handles;
        handles.set(ObjectId(object), handle.as_bytes());
    }
    bench
}

#[test]
fn a_file_is_committed_after_so_many_writes_or_bytes_and_at_the_end() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let plan = policy(CommitPolicy::Deferred(LIMITS), transport);
        let mut bench = with_files(plan, 9, unstable);
        for n in 0..10 {
            assert_eq!(bench.run(write_to(1, n * 100, 100)).physical, 1);
        }
        let expected = [
            ("WRITE", 10),
            ("COMMIT", 2),
            ("write_commits", 2),
            ("unstable_writes", 10),
        ];
        assert_eq!(bench.counters(), counted(&expected));
        settle(&mut bench);
        let at_end = [("COMMIT", 1), ("write_commits", 1), ("end_commits", 1)];
        assert_eq!(bench.counters(), counted(&at_end));
        // By bytes: the second write reaches 1 MiB.
        for n in 0..2 {
            bench.run(write_to(2, n << 19, 1 << 19));
        }
        assert_eq!(bench.counters()["COMMIT"], 1);
        // By files: each file beyond the second has the oldest one committed.
        for object in 1..=9 {
            bench.run(write_to(object, 0, 10));
            assert!(bench.shard.core.uncommitted.file_count(0) <= 2);
        }
        assert_eq!(bench.counters()["write_commits"], 7);
        settle(&mut bench);
        assert_eq!(bench.counters()["end_commits"], 2);
    }
}

#[test]
fn a_commit_belongs_to_the_write_that_triggers_it() {
    let mut bench = with_files(deferred(LIMITS), 1, |call| match call.args {
        Args::Commit(_) => {
            let mut acts = vec![ServerAction::Sleep(Duration::from_millis(30))];
            acts.extend(good(call));
            acts
        }
        _ => unstable(call),
    });
    for _ in 0..3 {
        bench.run(write_to(1, 0, 10));
    }
    let fourth = bench.run(write_to(1, 0, 10));
    assert!(fourth.done.since(fourth.sent) >= Nanos::from_millis(30));
    assert_eq!((fourth.physical, fourth.written_bytes), (1, 10));
}

#[test]
fn per_write_commits_whatever_the_server_answered() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let plan = policy(CommitPolicy::PerWrite, transport);
        let mut bench = with_files(plan, 1, good);
        assert_eq!(bench.run(write(0, 3 * SIZE)).physical, 3);
        assert_eq!(bench.run(write(7, 0)).physical, 1);
        bench.run(Action::Commit { object: FILE });
        let expected = [("WRITE", 4), ("COMMIT", 3), ("write_commits", 2)];
        assert_eq!(bench.counters(), counted(&expected));
    }
}

#[test]
fn file_sync_asks_for_it_and_commits_nothing() {
    let plan = policy(CommitPolicy::FileSync, Transport::Tcp);
    let mut bench = with_files(plan, 1, |call| {
        if let Args::Write(args) = call.args {
            assert_eq!(args.stable, StableHow::FileSync);
        }
        good(call)
    });
    assert_eq!(bench.run(write(0, 3 * SIZE)).physical, 3);
    settle(&mut bench);
    assert_eq!(bench.counters(), counted(&[("WRITE", 3)]));
}

#[test]
fn writes_in_flight_when_a_commit_is_sent_wait_for_the_next_one() {
    let (mut held, mut commits): (Vec<ServerAction>, u32) = (Vec::new(), 0);
    // The fifth WRITE is answered before the COMMIT that the fourth has triggered.
    let mut bench = with_files(deferred(LIMITS), 1, move |call| {
        let mut acts = unstable(call);
        commits += u32::from(matches!(call.args, Args::Commit(_)));
        match call.args {
            Args::Commit(_) if commits == 1 => held.append(&mut acts),
            _ => acts.append(&mut held),
        }
        acts
    });
    for n in 0..4 {
        bench.submit(0, write_to(1, n * 10, 10));
        if n < 3 {
            bench.wait(1);
        }
    }
    // The COMMIT goes out once the fourth WRITE is answered.
    let mut none = Vec::new();
    while bench.shard.core.uncommitted.idle(0).is_some() {
        let soon = bench.shard.core.state.clock.now() + Nanos::from_millis(5);
        bench.shard.flush();
        bench.shard.poll(soon, &mut none).expect("sockets work");
    }
    assert!(none.is_empty());
    bench.submit(0, write_to(1, 40, 10));
    bench.wait(2);
    assert_eq!(bench.counters()["COMMIT"], 1);
    assert!(bench.shard.core.uncommitted.idle(0).is_some(), "the fifth");
    settle(&mut bench);
    assert_eq!(bench.counters()["COMMIT"], 1);
}

#[test]
fn held_ranges_are_dropped_with_their_file() {
    let gone = |call: &ReceivedCall<'_>| match call.args {
        Args::Commit(args) if args.file.as_bytes() == b"file 2" => refusal(call, Nfsstat3::Stale),
        _ => unstable(call),
    };
    let mut bench = with_files(deferred(LIMITS), 5, gone);
    // The files are created again, truncated or forgotten: nothing is committed.
    bench.run(write_to(1, 0, 10));
    let fill = Action::Fill {
        dir: PROC_DIR,
        name: name(NameKind::File, 1),
        object: Some(ObjectId(1)),
        file: 1,
        size: 0,
    };
    bench.run(fill);
    bench.run(write_to(1, 50, 10));
    let cut = Action::Setattr {
        object: ObjectId(1),
        size: Some(50),
    };
    bench.run(cut);
    bench.run(write_to(5, 50, 10));
    bench.shard.forget_objects(0, ObjectId(5));
    settle(&mut bench);
    assert_eq!(bench.counters().get("COMMIT"), None);
    // The file was removed on the server: counted, and the write that triggered the COMMIT
    // does not fail.
    for object in [2, 1, 4] {
        assert_eq!(bench.status(write_to(object, 0, 10)), Status::Ok);
    }
    assert_eq!(bench.counters()["uncommitted_writes"], 1);
    // A write fails with the COMMIT of its own file.
    for n in 0..4 {
        let refused = Status::Refused(Nfsstat3::Stale.to_u32());
        let expected = if n < 3 { Status::Ok } else { refused };
        assert_eq!(bench.status(write_to(2, 0, 10)), expected);
    }
    settle(&mut bench);
}

#[test]
fn a_wrong_read_is_excused_only_by_a_restart() {
    for (restarts, status) in [(true, Status::Ok), (false, Status::Lost)] {
        let mut bench = Bench::with(deferred(LIMITS), 1, VerifyLevel::All, move |call| {
            match call.args {
                // The end of the file comes too early.
                Args::Read(args) => vec![ServerAction::Send(read_reply(
                    call.xid,
                    args.offset,
                    0,
                    true,
                ))],
                Args::Commit(_) if restarts => vec![ServerAction::Send(commit_reply(call.xid, 2))],
                _ => unstable(call),
            }
        });
        bench.run(write(0, 100));
        assert_eq!(bench.status(read(0, 100)), status);
        let counters = bench.counters();
        let excused = counters.get("excused_reads").copied().unwrap_or(0);
        assert_eq!(excused, u64::from(restarts), "{counters:?}");
        assert_eq!((counters["read_commits"], counters["COMMIT"]), (1, 1));
        assert_eq!(counters.get("write_commits"), None);
        // A range that is not held is not excused.
        assert_eq!(bench.status(read(100, 100)), Status::Lost);
    }
}

/// Replies to calls that were under way together show the verifiers in any order.
#[test]
fn late_replies_with_old_verifiers_are_not_counted_as_changes() {
    let mut verifiers = [1, 2, 3, 1, 2, 3].into_iter();
    let mut bench = with_files(deferred(LIMITS), 2, move |call| match call.args {
        Args::Write(args) => {
            let verf = verifiers.next().unwrap_or(3);
            let how = StableHow::Unstable;
            vec![ServerAction::Send(write_reply(
                call.xid, args.count, how, verf,
            ))]
        }
        Args::Commit(_) => vec![ServerAction::Send(commit_reply(call.xid, 3))],
        _ => good(call),
    });
    bench.run(write_to(1, 0, 10));
    for n in 1..6 {
        bench.submit(0, write_to(1 + n % 2, u64::from(n) * 10, 10));
    }
    for outcome in bench.wait(5).values() {
        assert_eq!(outcome.status, Status::Ok);
    }
    settle(&mut bench);
    bench.run(write_to(1, 0, 10));
    // From 1 to 2, and from 2 to 3.
    assert_eq!(bench.counters()["verifier_changes"], 2);
    settle(&mut bench);
}

/// A server that restarts at random and then loses what was not committed.
#[derive(Debug)]
struct RestartingServer {
    rng: Rng,
    /// Restarts in percent of the calls.
    restart_pcnt: f64,
    /// Or it restarts after so many calls and closes the connection.
    breaks_after: Option<u32>,
    calls: u32,
    verf: u8,
    restarts: u32,
    commits: u64,
    /// By handle: the stable contents, and the contents that reads return.
    files: BTreeMap<Vec<u8>, (Vec<u8>, Vec<u8>)>,
}

impl RestartingServer {
    fn restart(&mut self) {
        self.verf = self.verf.wrapping_add(1);
        self.restarts += 1;
        for (stable, shown) in self.files.values_mut() {
            shown.clone_from(stable);
        }
    }

    fn answer(&mut self, call: &ReceivedCall<'_>) -> Vec<ServerAction> {
        self.calls += 1;
        if self
            .breaks_after
            .is_some_and(|n| self.calls.is_multiple_of(n))
        {
            self.restart();
            return vec![ServerAction::Close];
        }
        if self.rng.percent(self.restart_pcnt) {
            self.restart();
        }
        let verf = [self.verf; 8];
        vec![ServerAction::Send(match call.args {
            Args::Create(args) => {
                self.files
                    .insert(args.location.name.to_vec(), Default::default());
                return good(call);
            }
            Args::Setattr(SetattrArgs {
                object,
                new_attributes,
                ..
            }) => {
                let file = self.files.get_mut(object.as_bytes());
                if let (Some((stable, shown)), Some(size)) = (file, new_attributes.size) {
                    stable.resize(size as usize, 0);
                    shown.resize(size as usize, 0);
                }
                return good(call);
            }
            Args::Write(args) => {
                let (stable, shown) = self.files.get_mut(args.file.as_bytes()).expect("made");
                // Some large transfers are only half done.
                let count = match self.rng.percent(3.0) && args.count > 1024 {
                    true => args.count / 2 / 512 * 512,
                    false => args.count,
                };
                let data = &args.data[..count as usize];
                put(shown, args.offset, data);
                let committed = match self.rng.percent(10.0) {
                    true => {
                        put(stable, args.offset, data);
                        StableHow::FileSync
                    }
                    false => StableHow::Unstable,
                };
                let file_wcc = WccData::default();
                let written: WriteRes = Ok(WriteOk {
                    file_wcc,
                    count,
                    committed,
                    verf,
                });
                reply(call.xid, &written)
            }
            Args::Commit(args) => {
                self.commits += 1;
                let (stable, shown) = self.files.get_mut(args.file.as_bytes()).expect("made");
                stable.clone_from(shown);
                commit_reply(call.xid, self.verf)
            }
            Args::Read(args) => {
                let (_, shown) = &self.files[args.file.as_bytes()];
                let from = (args.offset as usize).min(shown.len());
                let to = (from + args.count as usize).min(shown.len());
                let read: ReadRes<'_> = Ok(ReadOk {
                    file_attributes: None,
                    count: (to - from) as u32,
                    eof: to == shown.len(),
                    data: &shown[from..to],
                });
                reply(call.xid, &read)
            }
            _ => return good(call),
        })]
    }
}

fn put(file: &mut Vec<u8>, offset: u64, data: &[u8]) {
    let (from, to) = (offset as usize, offset as usize + data.len());
    file.resize(file.len().max(to), 0);
    file[from..to].copy_from_slice(data);
}

/// The ranges of a file that the engine may read.
#[derive(Clone, Copy)]
struct Known {
    proc: u32,
    object: ObjectId,
    /// The end of what was acknowledged, and of what was begun.
    stable: u64,
    end: u64,
}

impl Known {
    fn number(&self) -> u64 {
        u64::from(self.object.0) * 10 + u64::from(self.proc)
    }

    fn write(&mut self, rng: &mut Rng) -> Action {
        let length = 1 + rng.below(3 * u64::from(SIZE)) as u32;
        let offset = match rng.percent(60.0) {
            true => self.end,
            // As in the engine: a read that overlaps a write sees whole sectors of it.
            false => rng.below(self.stable) / u64::from(SIZE) * u64::from(SIZE),
        };
        self.end = self.end.max(offset + u64::from(length));
        Action::Write {
            object: self.object,
            file: self.number(),
            offset,
            length,
        }
    }

    fn read(&self, rng: &mut Rng) -> Action {
        let offset = rng.below(self.stable);
        let length = (1 + rng.below(3 * u64::from(SIZE))).min(self.stable - offset);
        Action::Read {
            object: self.object,
            file: self.number(),
            offset,
            length: length as u32,
        }
    }

    fn whole(&self) -> Action {
        Action::Read {
            object: self.object,
            file: self.number(),
            offset: 0,
            length: self.stable as u32,
        }
    }

    /// A write is over; appends are confirmed in order.
    fn confirm(&mut self, action: Action, rest: &mut Vec<(u64, u64)>) {
        let Action::Write { offset, length, .. } = action else {
            return;
        };
        rest.push((offset, offset + u64::from(length)));
        while let Some(at) = rest.iter().position(|(from, _)| *from <= self.stable) {
            self.stable = self.stable.max(rest.swap_remove(at).1);
        }
    }
}

/// Random writes, reads and COMMITs, several under way, on a server that restarts at random:
/// no read is wrong, and at the end everything is stable.
fn check_restarts(seed: u64) {
    const PROCS: u32 = 2;
    const FILES: u32 = 4;
    let mut rng = Rng::new(seed, 0);
    let server = Arc::new(Mutex::new(RestartingServer {
        rng: Rng::new(seed, 1),
        restart_pcnt: 0.0,
        breaks_after: (seed == BREAKING).then_some(150),
        calls: 0,
        verf: 1,
        restarts: 0,
        commits: 0,
        files: BTreeMap::new(),
    }));
    let of_server = server.clone();
    let limits = Deferral {
        writes: 2 + rng.below(6) as u32,
        mib: 1,
        files: 1 + rng.below(3) as u32,
    };
    let plan = NfsPlan {
        rpc_retries: 100,
        ..deferred(limits)
    };
    let mut bench = Bench::with(plan, PROCS, VerifyLevel::All, move |call| {
        of_server.lock().expect("no panic").answer(call)
    });
    let mut files = Vec::new();
    for (proc, object) in (0..PROCS).flat_map(|p| (1..=FILES).map(move |o| (p, o))) {
        let mut file = Known {
            proc,
            object: ObjectId(object),
            stable: 10_000,
            end: 10_000,
        };
        let fill = Action::Fill {
            dir: PROC_DIR,
            name: name(NameKind::File, proc * 100 + object),
            object: Some(file.object),
            file: file.number(),
            size: file.stable,
        };
        bench.submit(proc, fill);
        assert_eq!(
            bench.wait(1).values().next().map(|o| o.status),
            Some(Status::Ok)
        );
        file.end = file.stable;
        files.push((file, Vec::new()));
    }
    bench.counters();
    server.lock().expect("ok").commits = 0;
    server.lock().expect("ok").restart_pcnt = match seed {
        BREAKING => 0.0,
        _ => 3.0,
    };
    let mut open = BTreeMap::new();
    let window = 1 + rng.below(6) as usize;
    let (mut done, mut started) = (Vec::new(), 0);
    while started < 400 || !open.is_empty() {
        while started < 400 && open.len() < window {
            let at = rng.below(files.len() as u64) as usize;
            let (file, _) = &mut files[at];
            let action = match rng.below(100) {
                0..60 => file.write(&mut rng),
                60..98 => file.read(&mut rng),
                _ => Action::Commit {
                    object: file.object,
                },
            };
            open.insert(bench.submit(file.proc, action), (at, action));
            started += 1;
        }
        bench.shard.flush();
        let soon = bench.shard.core.state.clock.now() + Nanos::from_secs(20);
        bench.shard.poll(soon, &mut done).expect("sockets work");
        assert!(
            bench.shard.core.state.clock.now() < soon,
            "seed {seed}: no completion in 20 s"
        );
        for completion in done.drain(..) {
            let (at, action) = open.remove(&completion.token).expect("known");
            let status = completion.outcome.status;
            assert_eq!(status, Status::Ok, "seed {seed}: {action:?}");
            let (file, rest) = &mut files[at];
            file.confirm(action, rest);
        }
    }
    settle(&mut bench);
    {
        let mut server = server.lock().expect("ok");
        server.restart_pcnt = 0.0;
        server.restart();
        assert!(server.restarts > 2, "seed {seed}");
    }
    let mut counters = bench.counters();
    // Restarts that no reply shows are not counted; none is counted twice.
    let restarts = u64::from(server.lock().expect("ok").restarts);
    let seen = counters.get("verifier_changes").copied().unwrap_or(0);
    assert!(
        seen > 0 && seen < restarts,
        "seed {seed}: {seen} of {restarts}"
    );
    for never in ["verify_errors", "early_eofs", "uncommitted_writes"] {
        assert_eq!(counters.remove(never), None, "seed {seed}: {never}");
    }
    assert!(
        seed == BREAKING || counters["lost_writes"] > 0,
        "seed {seed}: {counters:?}"
    );
    let commits = server.lock().expect("ok").commits;
    let counted = counters["COMMIT"];
    // When connections break, the server receives some COMMITs twice or not at all.
    assert!(
        seed == BREAKING || commits == counted,
        "seed {seed}: {commits} of {counted}"
    );
    // Everything is stable: after one more restart, reads return what was written.
    for (file, rest) in files {
        assert!(rest.is_empty() && file.stable == file.end);
        let outcome = bench.submit(file.proc, file.whole());
        let outcome = bench.wait(1)[&outcome];
        assert_eq!(outcome.status, Status::Ok, "seed {seed}");
        assert_eq!(outcome.read_bytes, file.stable);
    }
    assert_eq!(bench.counters().get("excused_reads"), None, "seed {seed}");
}

#[test]
fn nothing_is_lost_however_often_the_server_restarts() {
    for seed in BREAKING..BREAKING + 24 {
        check_restarts(seed);
    }
}
