//! Reads and writes that are under way at a time.

use super::*;
use filermark_engine::driver::Completion;

const DEPTH: u32 = 8;
const FILE_BYTES: u64 = 256 << 10;

fn deep(plan: PosixPlan, dir: TempDir) -> Bench {
    Bench::with_depth(DEPTH, dir, plan, VerifyLevel::All, &["CL0_TEST"])
}

fn transfer(writes: bool, file: FileRef, offset: u64, io: Io) -> FileAction {
    let (content, length) = (content(file), 4096);
    match writes {
        true => FileAction::Write {
            file,
            content,
            offset,
            length,
            io,
        },
        false => FileAction::Read {
            file,
            content,
            offset,
            length,
            io,
        },
    }
}

impl Bench {
    fn queue(&mut self, token: u32, action: FileAction) -> Submit {
        self.shard.submit(&Request {
            token,
            proc: 0,
            action: Action::File(action),
        })
    }

    /// Waits for everything under way; in the order of tokens.
    fn all_done(&mut self, count: usize) -> Vec<Completion> {
        let mut done = Vec::new();
        while done.len() < count {
            self.shard.flush();
            (self.shard.poll(Nanos::MAX, &mut done)).expect("polled");
        }
        done.sort_by_key(|completion| completion.token);
        done
    }
}

#[test]
fn as_many_as_the_depth_are_under_way() {
    for dir in both() {
        let mut bench = deep(PosixPlan::default(), dir);
        let file = file_in(4, 0);
        bench.fill(file, FILE_BYTES);
        for writes in [true, false] {
            for token in 0..DEPTH {
                let action = transfer(
                    writes,
                    file,
                    u64::from(token) * 4096,
                    io(true, false, false),
                );
                assert!(matches!(bench.queue(token, action), Submit::Queued));
            }
            let more = transfer(false, file, 0, Io::default());
            assert!(matches!(bench.queue(DEPTH, more), Submit::Busy));
            let done = bench.all_done(DEPTH as usize);
            let first = done[0].outcome.sent;
            for (token, completion) in (0..).zip(&done) {
                let outcome = completion.outcome;
                assert_eq!((completion.token, outcome.status), (token, Status::Ok));
                assert_eq!(outcome.physical, 1);
                assert_eq!(outcome.read_bytes + outcome.written_bytes, 4096);
                // The first one has opened the file before it was sent.
                assert!(outcome.done >= outcome.sent && outcome.sent >= first);
            }
            // The others were sent by one system call.
            let sent = done[2..]
                .iter()
                .all(|d| d.outcome.sent == done[1].outcome.sent);
            assert!(sent, "{done:?}");
        }
        assert!(is_of(file, &std::fs::read(bench.path(file)).expect("file")));
        let counters = bench.counters();
        assert_eq!(counters["async_transfers"], 2 * u64::from(DEPTH));
    }
}

/// Many turns over a few files with few handles: every operation ends once, and what is read is
/// what had been written, also where writes overlap.
#[test]
fn overlapping_operations_on_files_that_are_closed_meanwhile_end_once() {
    let plan = PosixPlan {
        open_files_max: Some(3),
        ..PosixPlan::default()
    };
    let all = both().into_iter().zip([true, false]);
    for (dir, direct) in all.chain(both().into_iter().zip([false, true])) {
        let mut bench = deep(plan.clone(), dir);
        for number in 0..6 {
            bench.fill(file_in(4, number), 64 << 10);
        }
        let mut rng = filermark_model::Rng::new(1, 2);
        let (mut begun, mut ended) = (0_u32, Vec::new());
        while ended.len() < 4_000 {
            while begun < 4_000 {
                let file = file_in(4, rng.below(6) as u32);
                let io = io(direct, rng.percent(5.0), rng.percent(5.0));
                let action = transfer(rng.percent(50.0), file, rng.below(16) * 4096, io);
                match bench.queue(begun, action) {
                    Submit::Queued => begun += 1,
                    Submit::Busy => break,
                    Submit::Done(outcome) => panic!("{outcome:?}"),
                }
            }
            bench.shard.flush();
            (bench.shard.poll(Nanos::MAX, &mut ended)).expect("polled");
        }
        let mut tokens: Vec<u32> = ended.iter().map(|done| done.token).collect();
        tokens.sort_unstable();
        assert_eq!(tokens, (0..4_000).collect::<Vec<u32>>());
        let failed = ended.iter().find(|done| done.outcome.status != Status::Ok);
        assert!(failed.is_none(), "{failed:?}");
        let counters = bench.counters();
        assert_eq!(counters.get("verify_errors"), None);
        assert!(counters["opens"] > 100);
    }
}

/// Files that were closed are not kept open by the kernel's table: an unlinked file would stay.
#[test]
fn the_kernel_keeps_no_closed_file_open() {
    let mut bench = deep(PosixPlan::default(), disk());
    let file = file_in(4, 0);
    bench.fill(file, FILE_BYTES);
    bench.good(transfer(false, file, 0, Io::default()));
    // The only other handle of it: a lease is granted if there is no writer.
    let path = bench.path(file);
    assert!(is_open_for_writing(&path));
    bench
        .shard
        .forget_objects(0, filermark_engine::driver::ObjectId(0));
    assert!(!is_open_for_writing(&path));
    bench.good(transfer(false, file, 0, Io::default()));
    assert!(is_open_for_writing(&path));
    bench.good(FileAction::RemoveDirs { dir: 0 });
    assert!(!path.exists());
}

/// A read lease needs that no process has the file open for writing (fcntl(2)).
fn is_open_for_writing(path: &Path) -> bool {
    use std::os::fd::AsFd;
    let file = std::fs::File::open(path).expect("file");
    !crate::sys::takes_read_lease(file.as_fd())
}

#[test]
fn other_operations_wait_and_send_what_is_queued_before() {
    let mut bench = deep(PosixPlan::default(), disk());
    let file = file_in(4, 0);
    bench.fill(file, FILE_BYTES);
    let queued = bench.queue(1, transfer(true, file, 0, Io::default()));
    assert!(matches!(queued, Submit::Queued));
    let Submit::Done(stat) = bench.queue(2, FileAction::Stat { file }) else {
        panic!("stat is queued");
    };
    let done = bench.all_done(1);
    assert_eq!(done[0].token, 1);
    assert!(done[0].outcome.sent <= stat.sent);
    // The next one begins where this one has ended.
    let append = file_in(10, 0);
    bench.fill(append, 10);
    let action = transfer(true, append, 10, Io::default());
    assert!(matches!(bench.queue(3, action), Submit::Done(_)));
}

#[test]
fn a_poll_ends_at_its_deadline_with_and_without_operations() {
    let mut bench = deep(PosixPlan::default(), disk());
    let clock = bench.setup.clock.clone();
    let mut done = Vec::new();
    let deadline = clock.now() + Nanos::from_millis(20);
    bench.shard.poll(deadline, &mut done).expect("polled");
    assert!(clock.now() >= deadline && done.is_empty());
    bench.shard.poll(Nanos::ZERO, &mut done).expect("polled");
    let file = file_in(4, 0);
    bench.fill(file, FILE_BYTES);
    bench.queue(1, transfer(false, file, 0, Io::default()));
    bench.shard.flush();
    // A deadline in the past sends, and takes what has ended.
    while done.is_empty() {
        bench.shard.poll(Nanos::ZERO, &mut done).expect("polled");
    }
    assert_eq!(done.len(), 1);
}

/// A shard may be dropped, and a phase be broken off, with operations under way.
#[test]
fn a_shard_ends_with_operations_under_way() {
    for is_broken_off in [false, true] {
        let mut bench = deep(PosixPlan::default(), disk());
        let file = file_in(4, 0);
        bench.fill(file, FILE_BYTES);
        for token in 0..DEPTH {
            bench.queue(
                token,
                transfer(token % 2 == 0, file, 0, io(true, true, true)),
            );
        }
        bench
            .shard
            .poll(Nanos::ZERO, &mut Vec::new())
            .expect("polled");
        if is_broken_off {
            bench.shard.break_off();
        }
        bench.shard = bench.second_shard();
        bench.good(transfer(false, file, 0, Io::default()));
    }
}

#[test]
fn a_failed_call_is_the_error_of_its_operation_only() {
    let mut bench = deep(PosixPlan::default(), disk());
    let (file, gone) = (file_in(4, 0), file_in(4, 1));
    bench.fill(file, FILE_BYTES);
    // Not to be opened: refused at once.
    let refused = bench.queue(0, transfer(false, gone, 0, Io::default()));
    let Submit::Done(outcome) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(outcome.status, Status::Refused(libc::ENOENT as u32));
    // A place that no file system has: the call fails.
    bench.queue(
        1,
        transfer(true, file, i64::MAX as u64 & !4095, Io::default()),
    );
    bench.queue(2, transfer(false, file, 0, Io::default()));
    let done = bench.all_done(2);
    let status = |at: usize| done[at].outcome.status;
    assert!(
        matches!(status(0), Status::Refused(code) if code == libc::EFBIG as u32 || code == libc::EINVAL as u32),
        "{done:?}"
    );
    assert_eq!(status(1), Status::Ok);
}

/// Buffers that are larger than a shard may have are refused before the run.
#[test]
fn a_depth_that_takes_too_much_memory_is_refused() {
    let bench = Bench::new();
    let mut setup = bench.setup.clone();
    let mut tree = TreeSetup {
        component: 0,
        name: "CL0_TEST".to_owned(),
        workload: workload(1024),
        data: setup.data.clone(),
    };
    let workload = Arc::make_mut(&mut tree.workload);
    workload.attributes.sequential_read_bytes = Some(4 << 20);
    setup.procs[0].tree = Some(Arc::new(tree));
    let refused = bench.driver.open_shard(setup).err().expect("refused");
    let text = refused.to_string();
    assert!(
        text.contains("1024 operations") && text.contains("lower depth"),
        "{text}"
    );
}

/// The kernel fails cached transfers beside direct ones: refused before the run.
#[test]
fn a_depth_with_direct_and_cached_transfers_is_refused() {
    let bench = Bench::new();
    for (direct_pcnt, is_refused) in [(50.0, true), (0.0, false)] {
        let mut setup = bench.setup.clone();
        let mut workload = workload(4);
        Arc::make_mut(&mut workload).attributes.direct_pcnt = direct_pcnt;
        setup.procs[0].tree = Some(Arc::new(TreeSetup {
            component: 0,
            name: "CL0_TEST".to_owned(),
            workload,
            data: setup.data.clone(),
        }));
        let refused = bench.driver.open_shard(setup).err().map(|e| e.to_string());
        assert_eq!(refused.is_some(), is_refused, "{refused:?}");
        assert!(refused.is_none_or(|text| text.contains("direct_pcnt 0 or 100")));
    }
}

/// Where io_uring is forbidden or missing, the run ends before INIT, with what can be done.
#[test]
fn where_io_uring_is_missing_a_depth_is_refused_with_the_reason() {
    for (errno, parts) in [
        (
            libc::EPERM,
            [
                "io_uring is forbidden here: EPERM",
                "kernel.io_uring_disabled=0",
            ],
        ),
        (
            libc::ENOSYS,
            ["no io_uring that can be used: ENOSYS", "Linux 5.11"],
        ),
        (
            libc::ENOMEM,
            ["limit for locked memory is too low: ENOMEM", "ulimit -l"],
        ),
    ] {
        // The filter is the thread's own, and cannot be removed.
        let refused = std::thread::spawn(move || {
            let mut bench = Bench::new();
            assert!(
                filermark_system::uring::testing::forbid(errno as u32),
                "seccomp"
            );
            let setup = bench.setup.clone();
            let mut deep = setup.clone();
            deep.procs[0].tree = Some(Arc::new(TreeSetup {
                component: 0,
                name: "CL0_TEST".to_owned(),
                workload: workload(2),
                data: setup.data.clone(),
            }));
            let refused = bench.driver.open_shard(deep).err().expect("refused");
            // Depth 1 needs none.
            bench.shard = bench.driver.open_shard(setup).expect("opened");
            bench.fill(file_in(4, 0), 4096);
            refused.to_string()
        });
        let refused = refused.join().expect("no panic");
        for part in parts
            .into_iter()
            .chain(["depth=1 and use more procs", "2 operations"])
        {
            assert!(refused.contains(part), "{part}: {refused}");
        }
    }
}
