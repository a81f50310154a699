//! COMMITs that fail, and data that is sent again while other operations run: nothing is
//! lost or hidden, and only reads of what the server has lost are excused.

use super::fake::{ServerAction, commit_reply, good, read_reply, refusal, write_reply};
use super::gathering::{LIMITS, deferred, policy, settle, unstable, with_files, write_to};
use super::*;
use filermark_onc::nfs3::{Args, Nfsstat3, StableHow, WriteArgs};
use std::sync::Mutex;

const SECTOR: u32 = 512;

fn read_from(object: u32, offset: u64, length: u32) -> Action {
    Action::Read {
        object: ObjectId(object),
        file: object.into(),
        offset,
        length,
    }
}

/// Replies to a READ with an end of file that is too early.
fn early_end(call: &ReceivedCall<'_>) -> Vec<ServerAction> {
    match call.args {
        Args::Read(args) => vec![ServerAction::Send(read_reply(
            call.xid,
            args.offset,
            0,
            true,
        ))],
        _ => good(call),
    }
}

fn written(call: &ReceivedCall<'_>, verf: u8) -> Vec<ServerAction> {
    match call.args {
        Args::Write(args) => {
            let how = StableHow::Unstable;
            vec![ServerAction::Send(write_reply(
                call.xid, args.count, how, verf,
            ))]
        }
        _ => good(call),
    }
}

fn io() -> Status {
    Status::Refused(Nfsstat3::Io.to_u32())
}

#[test]
fn what_a_failed_commit_was_to_cover_is_held_and_sent_again() {
    // Either the COMMIT fails, on a server that has restarted; or the data that is sent again
    // after a restart is refused.
    for refused_commit in [true, false] {
        let (mut commits, mut again) = (0, 0);
        let mut bench = with_files(deferred(LIMITS), 1, move |call| match call.args {
            Args::Commit(_) => {
                commits += 1;
                match commits == 1 && refused_commit {
                    true => refusal(call, Nfsstat3::Io),
                    false => vec![ServerAction::Send(commit_reply(call.xid, 2))],
                }
            }
            Args::Write(_) if commits > 0 => {
                again += 1;
                match again == 2 && !refused_commit {
                    true => refusal(call, Nfsstat3::Io),
                    false => written(call, 2),
                }
            }
            Args::Read(_) => early_end(call),
            _ => written(call, 1),
        });
        for n in 0..4 {
            let expected = if n < 3 { Status::Ok } else { io() };
            assert_eq!(bench.status(write_to(1, n * 10, 10)), expected);
        }
        // A read of lost data is excused, any other read is not.
        assert_eq!(bench.status(read_from(1, 30, 10)), Status::Ok);
        assert_eq!(bench.status(read_from(1, 40, 10)), Status::Lost);
        let counters = bench.counters();
        let expected = [
            ("commit_failures", 1),
            ("excused_reads", 1),
            ("early_eofs", 1),
            ("verifier_changes", 1),
        ];
        for (name, count) in expected {
            assert_eq!(counters.get(name), Some(&count), "{name}: {counters:?}");
        }
        assert_eq!(counters.get("uncommitted_writes"), None);
        settle(&mut bench);
        let counters = bench.counters();
        let lost = if refused_commit { 4 } else { 3 };
        assert_eq!(counters["end_lost_writes"], lost, "{counters:?}");
        assert_eq!(counters.get("uncommitted_writes"), None);
    }
}

#[test]
fn a_failed_commit_of_another_file_does_not_fail_the_write() {
    let mut refused = 0;
    let mut bench = with_files(deferred(LIMITS), 9, move |call| match call.args {
        Args::Commit(args) if args.file.as_bytes() == b"file 1" && refused < 2 => {
            refused += 1;
            refusal(call, Nfsstat3::Io)
        }
        _ => unstable(call),
    });
    for object in 1..=9 {
        assert_eq!(bench.status(write_to(object, 0, 10)), Status::Ok);
    }
    let counters = bench.counters();
    assert_eq!(counters["commit_failures"], 2, "{counters:?}");
    assert_eq!(counters.get("uncommitted_writes"), None);
    settle(&mut bench);
    assert_eq!(bench.counters().get("uncommitted_writes"), None);
}

#[test]
fn what_no_commit_confirms_is_counted_whatever_the_policy() {
    for (commit, statuses) in [
        (CommitPolicy::PerWrite, [io(); 3]),
        (CommitPolicy::at_once(), [io(); 3]),
        (CommitPolicy::FileSync, [io(); 3]),
        (CommitPolicy::Deferred(LIMITS), [Status::Ok; 3]),
    ] {
        let plan = policy(commit, Transport::Tcp);
        let mut bench = with_files(plan, 1, |call| match call.args {
            Args::Commit(_) => refusal(call, Nfsstat3::Io),
            _ => unstable(call),
        });
        for (n, status) in statuses.into_iter().enumerate() {
            assert_eq!(bench.status(write_to(1, n as u64 * 10, 10)), status);
        }
        settle(&mut bench);
        let counters = bench.counters();
        assert_eq!(counters["uncommitted_writes"], 3, "{commit}: {counters:?}");
        assert_eq!(counters["unstable_writes"], 3);
        // FILE_SYNC was requested; the server answered with less.
        let less = (commit == CommitPolicy::FileSync).then_some(&3);
        assert_eq!(counters.get("less_stable"), less);
    }
}

#[test]
fn a_read_whose_commit_fails_is_judged() {
    let mut bench = with_files(deferred(LIMITS), 1, |call| match call.args {
        Args::Commit(_) => refusal(call, Nfsstat3::Io),
        Args::Read(_) => early_end(call),
        _ => unstable(call),
    });
    bench.run(write_to(1, 0, 10));
    assert_eq!(bench.status(read_from(1, 0, 10)), Status::Lost);
    assert_eq!(bench.counters()["early_eofs"], 1);
}

#[test]
fn only_reads_of_lost_ranges_are_excused_while_they_are_sent_again() {
    let (mut held, mut commits, mut reads): (Vec<ServerAction>, _, _) = (Vec::new(), 0, 0);
    let mut bench = with_files(deferred(LIMITS), 2, move |call| match call.args {
        Args::Commit(_) => {
            commits += 1;
            vec![ServerAction::Send(commit_reply(call.xid, 2))]
        }
        // The first range that is sent again is answered after the last read.
        Args::Write(_) if commits == 1 && reads < 3 => {
            held = written(call, 2);
            Vec::new()
        }
        Args::Read(_) => {
            reads += 1;
            let mut acts = early_end(call);
            if reads == 3 {
                acts.append(&mut held);
            }
            acts
        }
        _ => written(call, if commits == 0 { 1 } else { 2 }),
    });
    for n in 0..4 {
        bench.submit(0, write_to(1, n * 10, 10));
        if n < 3 {
            bench.wait(1);
        }
    }
    // Until the loss is known and the first range is under way.
    let mut none = Vec::new();
    while !bench.shard.core.ops.get(0).resending {
        bench.shard.flush();
        let soon = bench.shard.core.state.clock.now() + Nanos::from_millis(5);
        bench.shard.poll(soon, &mut none).expect("sockets work");
    }
    assert!(none.is_empty());
    for (action, status) in [
        (read_from(2, 0, 10), Status::Lost),
        (read_from(1, 40, 10), Status::Lost),
        (read_from(1, 30, 10), Status::Ok),
    ] {
        let token = bench.submit(0, action);
        let ended = bench.wait(1);
        assert_eq!(
            ended.get(&token).map(|o| o.status),
            Some(status),
            "{action:?}"
        );
    }
    bench.wait(1);
    let counters = bench.counters();
    assert_eq!((counters["excused_reads"], counters["early_eofs"]), (1, 2));
    assert_eq!(counters["lost_writes"], 4);
}

/// A server of one file that reorders writes.
#[derive(Debug, Default)]
struct ReorderingServer {
    contents: Vec<u8>,
    commits: u32,
    /// Offset, data and reply of the first write that was sent again, while it is held back.
    held: Option<(u64, Vec<u8>, Vec<ServerAction>)>,
    /// Data of the write that arrived meanwhile.
    newest: Vec<u8>,
}

impl ReorderingServer {
    fn put(&mut self, offset: u64, data: &[u8]) {
        let (from, to) = (offset as usize, offset as usize + data.len());
        self.contents.resize(self.contents.len().max(to), 0);
        self.contents[from..to].copy_from_slice(data);
    }

    /// `last`: the older write is answered after the newer one, otherwise before it. In
    /// the file it always replaces the newer one.
    fn answer(&mut self, call: &ReceivedCall<'_>, last: bool) -> Vec<ServerAction> {
        match call.args {
            Args::Commit(_) => {
                self.commits += 1;
                vec![ServerAction::Send(commit_reply(call.xid, 2))]
            }
            Args::Write(args) if self.commits == 1 && self.newest.is_empty() => {
                let verf = 2;
                let Some((offset, data, mut older)) = self.held.take() else {
                    let acts = written(call, verf);
                    self.held = Some((args.offset, args.data.to_vec(), acts));
                    return Vec::new();
                };
                self.newest = args.data.to_vec();
                self.put(offset, &data);
                let mut newer = written(call, verf);
                match last {
                    true => newer.append(&mut older),
                    false => {
                        older.append(&mut newer);
                        newer = older;
                    }
                }
                newer
            }
            Args::Write(args) => {
                self.put(args.offset, args.data);
                written(call, if self.commits == 0 { 1 } else { 2 })
            }
            _ => good(call),
        }
    }
}

#[test]
fn older_data_that_is_sent_again_does_not_replace_newer_data() {
    for last in [true, false] {
        let server = Arc::new(Mutex::new(ReorderingServer::default()));
        let of_server = server.clone();
        let mut bench = Bench::with(deferred(LIMITS), 1, VerifyLevel::All, move |call| {
            of_server.lock().expect("no panic").answer(call, last)
        });
        for n in 0..4 {
            bench.submit(0, write(n * u64::from(SECTOR), SECTOR));
            if n < 3 {
                bench.wait(1);
            }
        }
        let mut none = Vec::new();
        while server.lock().expect("ok").held.is_none() {
            bench.shard.flush();
            let soon = bench.shard.core.state.clock.now() + Nanos::from_millis(5);
            bench.shard.poll(soon, &mut none).expect("sockets work");
        }
        assert!(none.is_empty());
        bench.submit(0, write(0, SECTOR));
        let ended = bench.wait(2);
        assert!(ended.values().all(|o| o.status == Status::Ok), "{ended:?}");
        settle(&mut bench);
        let server = server.lock().expect("ok");
        assert_eq!(server.newest.len(), SECTOR as usize);
        assert!(
            server.contents[..SECTOR as usize] == server.newest,
            "{last}"
        );
    }
}

#[test]
fn events_after_run_are_not_counted_in_it() {
    let mut commits = 0;
    let mut bench = with_files(deferred(LIMITS), 1, move |call| match call.args {
        Args::Commit(_) => {
            commits += 1;
            match commits {
                1 => vec![ServerAction::Close],
                _ => vec![ServerAction::Send(commit_reply(call.xid, 2))],
            }
        }
        _ => written(call, if commits < 2 { 1 } else { 2 }),
    });
    bench.run(write_to(1, 0, 10));
    bench.counters();
    settle(&mut bench);
    let counters = bench.counters();
    for kept in ["write_commits", "end_commits", "COMMIT", "end_lost_writes"] {
        assert!(counters.contains_key(kept), "{kept}: {counters:?}");
    }
    assert_eq!(counters.len(), 4, "{counters:?}");
}

/// The file, offset and data of a WRITE.
type Sent = (Vec<u8>, u64, Vec<u8>);

fn sent(args: &WriteArgs<'_>) -> Sent {
    let file = args.file.as_bytes().to_vec();
    (file, args.offset, args.data.to_vec())
}

#[test]
fn a_write_of_lost_data_is_the_same_when_it_is_sent_once_more() {
    let all: Arc<Mutex<Vec<Sent>>> = Arc::default();
    let (of_server, mut commits, mut closed) = (all.clone(), 0, false);
    let mut bench = with_files(deferred(LIMITS), 3, move |call| match call.args {
        Args::Commit(_) => {
            commits += 1;
            vec![ServerAction::Send(commit_reply(call.xid, 2))]
        }
        Args::Write(args) if commits > 0 => {
            of_server.lock().expect("ok").push(sent(&args));
            match args.offset {
                0 => refusal(call, Nfsstat3::Stale),
                _ if !std::mem::replace(&mut closed, true) => vec![ServerAction::Close],
                _ => written(call, 2),
            }
        }
        _ => written(call, 1),
    });
    assert_eq!(bench.status(write_to(1, 0, 2 * SIZE)), Status::Ok);
    assert_eq!(bench.status(write_to(2, 0, 10)), Status::Ok);
    // Commits the first file, which is gone, while the second of its WRITEs is under way.
    assert_eq!(bench.status(write_to(3, 0, 10)), Status::Ok);
    let all = all.lock().expect("ok");
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|(file, ..)| file == b"file 1"));
    assert_eq!(all[1].1, u64::from(SIZE));
    assert!(all[1] == all[2]);
    assert_eq!(bench.counters()["uncommitted_writes"], 1);
}

/// Whether the history still counts writes as open.
fn has_open_writes(bench: &Bench) -> bool {
    bench.shard.core.history.has_open_writes()
}

#[test]
fn a_commit_that_is_given_up_ends_without_success_with_its_calls() {
    // The WRITE of lost data is answered late, or is retransmitted.
    for is_closed in [false, true] {
        let all: Arc<Mutex<Vec<Sent>>> = Arc::default();
        let (of_server, mut commits) = (all.clone(), 0);
        let mut held: Option<Vec<ServerAction>> = None;
        let mut bench = with_files(deferred(LIMITS), 1, move |call| match call.args {
            Args::Commit(_) => {
                commits += 1;
                vec![ServerAction::Send(commit_reply(call.xid, 2))]
            }
            Args::Write(args) if commits > 0 => {
                of_server.lock().expect("ok").push(sent(&args));
                match held {
                    Some(_) => written(call, 2),
                    None => {
                        held = Some(written(call, 2));
                        Vec::new()
                    }
                }
            }
            Args::Getattr(_) if is_closed && call.conn == 0 => vec![ServerAction::Close],
            Args::Getattr(_) => {
                let mut acts = good(call);
                acts.extend(held.take().filter(|_| !is_closed).unwrap_or_default());
                acts
            }
            _ => written(call, 1),
        });
        for n in 0..3 {
            assert_eq!(bench.status(write_to(1, n * 10, 10)), Status::Ok);
        }
        let last = bench.submit(0, write_to(1, 30, 10));
        let mut none = Vec::new();
        while all.lock().expect("ok").is_empty() {
            bench.shard.flush();
            let soon = bench.shard.core.state.clock.now() + Nanos::from_millis(5);
            bench.shard.poll(soon, &mut none).expect("sockets work");
        }
        let now = bench.shard.core.state.clock.now();
        bench.shard.make_stable(now).expect("sockets work");
        assert!(none.is_empty());
        bench.submit(0, getattr());
        let ended = bench.wait(2);
        assert_eq!(ended[&last].status, Status::TimedOut);
        let all = all.lock().expect("ok");
        assert_eq!(all.len(), if is_closed { 2 } else { 1 });
        assert!(all.iter().all(|one| *one == all[0]));
        assert_eq!(bench.counters()["uncommitted_writes"], 4);
        assert_eq!(bench.shard.core.uncommitted.ranges.used(), 0);
        // What was sent twice may still be executed.
        assert_eq!(has_open_writes(&bench), is_closed);
    }
}

#[test]
fn a_commit_that_is_sent_twice_leaves_its_write_certain() {
    let mut closed = false;
    let plan = policy(CommitPolicy::PerWrite, Transport::Tcp);
    let mut bench = with_files(plan, 1, move |call| match call.args {
        Args::Commit(_) if !std::mem::replace(&mut closed, true) => vec![ServerAction::Close],
        _ => unstable(call),
    });
    assert_eq!(bench.status(write_to(1, 0, 10)), Status::Ok);
    assert_eq!(bench.counters()["reconnects"], 1);
    assert!(!has_open_writes(&bench));
}

#[test]
fn a_suspect_read_is_judged_even_if_another_of_its_calls_fails() {
    let mut bench = with_files(deferred(LIMITS), 1, |call| match call.args {
        Args::Read(args) if args.offset > 0 => refusal(call, Nfsstat3::Io),
        Args::Read(_) => early_end(call),
        _ => unstable(call),
    });
    bench.run(write_to(1, 0, 2 * SIZE));
    assert_eq!(bench.status(read_from(1, 0, 2 * SIZE)), io());
    assert_eq!(bench.counters()["early_eofs"], 1);
}

#[test]
fn each_part_of_a_read_is_judged_by_its_own_verifier() {
    let mut commits = 0;
    let mut bench = with_files(deferred(LIMITS), 1, move |call| match call.args {
        // Two verifiers are held once the COMMIT of the second write has failed.
        Args::Commit(_) => {
            commits += 1;
            match commits {
                1 => refusal(call, Nfsstat3::Io),
                _ => vec![ServerAction::Send(commit_reply(call.xid, 2))],
            }
        }
        Args::Read(_) => early_end(call),
        Args::Write(args) => written(call, if args.offset == 0 { 1 } else { 2 }),
        _ => good(call),
    });
    assert_eq!(bench.status(write_to(1, 0, SIZE)), Status::Ok);
    assert_eq!(bench.status(write_to(1, SIZE.into(), SIZE)), io());
    assert_eq!(bench.status(read_from(1, 0, 2 * SIZE)), Status::Lost);
    let counters = bench.counters();
    assert_eq!((counters["excused_reads"], counters["early_eofs"]), (1, 1));
}

#[test]
fn a_commit_follows_every_reply_that_is_less_than_file_sync() {
    let plan = policy(CommitPolicy::FileSync, Transport::Tcp);
    let mut bench = with_files(plan, 1, |call| match call.args {
        Args::Write(args) => {
            let how = StableHow::DataSync;
            vec![ServerAction::Send(write_reply(
                call.xid, args.count, how, 1,
            ))]
        }
        _ => good(call),
    });
    assert_eq!(bench.status(write_to(1, 0, 10)), Status::Ok);
    let expected = [
        ("COMMIT", 1),
        ("WRITE", 1),
        ("less_stable", 1),
        ("write_commits", 1),
    ];
    assert_eq!(bench.counters(), counted(&expected));
}
