//! Nothing is allocated per operation once a shard is warm.
//!
//! A test binary of its own, because a counting allocator counts everything.
#![allow(unsafe_code)] // A global allocator that counts can't be written without.

use filermark_driver_kit::driver::Driver;
use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::{
    Action, Claim, Completion, LoadDriver, ProcSetup, Request, ShardDriver, ShardSetup, Status,
    StopFlag, Submit, TreeSetup,
};
use filermark_engine::file_action::{FileAction, FileKind, FileRef, Io};
use filermark_model::plan::{MountPoint, PosixPlan};
use filermark_model::workload::Attributes;
use filermark_model::{Bucket, Mix, Nanos, Rng, TransferTable, WorkloadObject};
use filermark_posix::PosixDriver;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::Arc;

struct Counting;

thread_local! {
    // Per thread: tests run beside each other.
    static TAKEN: Cell<u64> = const { Cell::new(0) };
    static COMPLETIONS: Cell<Vec<Completion>> = const { Cell::new(Vec::new()) };
}

fn count() {
    // A thread that is ending has no counter any more.
    let _ = TAKEN.try_with(|taken| taken.set(taken.get() + 1));
}

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { System.dealloc(block, layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const FILES: u32 = 8;
const FILE_BYTES: u64 = 64 << 10;

fn workload(depth: u32) -> WorkloadObject {
    WorkloadObject {
        name: "TEST".to_owned(),
        title: String::new(),
        mix: Mix::none(),
        read_transfers: TransferTable::fixed(5_000),
        write_transfers: TransferTable::fixed(7_000),
        attributes: Attributes {
            depth,
            ..Attributes::default()
        },
    }
}

fn shard(
    driver: &PosixDriver,
    path: &str,
    checking: VerifyLevel,
    depth: u32,
) -> Box<dyn ShardDriver> {
    let mount = MountPoint {
        host: "here".to_owned(),
        path: path.to_owned(),
    };
    let claim = Claim {
        dir_name: "filermark.alloc".to_owned(),
        run_id: "run".to_owned(),
    };
    driver.claim(&mount, &claim).expect("claimed");
    let data = Arc::new(DataSource::new(1, checking));
    let tree = TreeSetup {
        component: 0,
        name: "CL0_TEST".to_owned(),
        workload: Arc::new(workload(depth)),
        data: data.clone(),
    };
    let setup = ShardSetup {
        shard: 0,
        shard_count: 1,
        clock: Clock::real(),
        data,
        procs: vec![ProcSetup {
            number: 0,
            mount,
            tree: Some(Arc::new(tree)),
        }],
        claim,
        stop: StopFlag::new(),
    };
    driver.open_shard(setup).expect("opened")
}

fn perform(shard: &mut dyn ShardDriver, action: FileAction) {
    let request = Request {
        token: 0,
        proc: 0,
        action: Action::File(action),
    };
    let outcome = match shard.submit(&request) {
        Submit::Done(outcome) => outcome,
        Submit::Queued => {
            let mut done = COMPLETIONS.take();
            shard.flush();
            shard.poll(Nanos::MAX, &mut done).expect("polled");
            let ended = done.pop().expect("a completion");
            COMPLETIONS.set(done);
            ended.outcome
        }
        Submit::Busy => panic!("busy"),
    };
    assert_eq!(outcome.status, Status::Ok, "{action:?}");
}

fn file(bucket: u8, number: u32, kind: FileKind) -> FileRef {
    FileRef {
        dir: 0,
        bucket: Bucket::new(bucket).expect("bucket"),
        kind,
        file: number,
    }
}

/// Every operation once, on a file and at a place that vary.
fn round(shard: &mut dyn ShardDriver, rng: &mut Rng) {
    use FileAction as A;
    let number = rng.below(u64::from(FILES)) as u32;
    let file = file(4, number, FileKind::File);
    let new = FileRef {
        file: FILES,
        ..file
    };
    let renamed = FileRef {
        kind: FileKind::Renamed,
        ..new
    };
    let made = FileRef {
        kind: FileKind::MadeDir,
        ..new
    };
    let copy = FileRef {
        kind: FileKind::Copy,
        ..file
    };
    let content = u64::from(number);
    let (offset, length) = (rng.below(15) * 4096, 4096);
    let io = Io {
        direct: rng.percent(50.0),
        sync: rng.percent(10.0),
        commit: rng.percent(1.0),
    };
    let (size, seed) = (FILE_BYTES, rng.next_u64());
    let (exclusive, dir, bucket, commit) = (true, 0, file.bucket, false);
    #[rustfmt::skip]
    let all = [
        A::Read { file, content, offset, length, io },
        A::Write { file, content, offset, length, io },
        A::Rmw { file, content, offset, length, io },
        A::ReadFile { file, content, size, seed, io },
        A::WriteFile { file, content, size, seed, io },
        A::MmapRead { file, content, offset, length },
        A::MmapWrite { file, content, offset, length, commit },
        A::Lock { file, offset, length: 10, exclusive },
        A::Access { file },
        A::Stat { file },
        A::Chmod { file, mode: 0o640 },
        A::Statfs { file },
        A::Pathconf { file },
        A::Create { file: new },
        A::Rename { from: new, to: renamed },
        A::Unlink { file: renamed },
        A::Mkdir { file: made },
        A::Rmdir { file: made },
        A::Copy { from: file, to: copy, size, seed },
    ];
    for action in all {
        perform(shard, action);
    }
    #[cfg(any(target_os = "linux", windows))]
    perform(shard, A::Readdir { dir, bucket });
}

fn allocations(checking: VerifyLevel, depth: u32) -> u64 {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let dir = dir.expect("tempdir");
    let driver = PosixDriver::new(PosixPlan::default());
    let mut shard = shard(&driver, dir.path().to_str().expect("path"), checking, depth);
    perform(shard.as_mut(), FileAction::MakeTree);
    perform(shard.as_mut(), FileAction::MakeDirs { dir: 0 });
    for number in 0..FILES {
        let fill = FileAction::Fill {
            file: file(4, number, FileKind::File),
            content: u64::from(number),
            size: FILE_BYTES,
            reuse: false,
        };
        perform(shard.as_mut(), fill);
    }
    let mut rng = Rng::new(1, 0);
    for _ in 0..200 {
        round(shard.as_mut(), &mut rng);
    }
    let before = TAKEN.get();
    for _ in 0..1_000 {
        round(shard.as_mut(), &mut rng);
    }
    TAKEN.get() - before
}

#[test]
fn the_counter_counts() {
    let before = TAKEN.get();
    drop(black_box(Vec::<u8>::with_capacity(10)));
    assert_eq!(TAKEN.get() - before, 1);
}

#[test]
fn operations_allocate_nothing() {
    for checking in [VerifyLevel::Sample, VerifyLevel::All] {
        assert_eq!(allocations(checking, 1), 0, "{checking:?}");
    }
}

/// The reads and writes of a shard with a depth are asynchronous. One at a time here: they are
/// mixed with direct transfers, and nothing else is under way.
#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[test]
fn asynchronous_operations_allocate_nothing() {
    for checking in [VerifyLevel::Sample, VerifyLevel::All] {
        assert_eq!(allocations(checking, 8), 0, "{checking:?}");
    }
}
