//! What the driver costs above the system calls: each operation through a shard,
//! beside a bare loop of the same calls on the same files, and one that also reads
//! the clock before and after each, as any measuring must; in turn.
//!
//!     cargo run --release -p filermark-posix --example bare -- [DIR] [SECONDS] [OPERATION]

use filermark_driver_kit::driver::{Driver, ReleaseScope};
use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::{
    Action, Claim, LoadDriver, ProcSetup, Request, ShardDriver, ShardSetup, Status, StopFlag,
    Submit, TreeSetup,
};
use filermark_engine::file_action::{FileAction, FileKind, FileRef, Io};
use filermark_model::plan::{MountPoint, PosixPlan};
use filermark_model::workload::Attributes;
use filermark_model::{Bucket, Mix, Rng, TransferTable, WorkloadObject};
use filermark_posix::PosixDriver;
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const FILES: u32 = 16;
const FILE_BYTES: u64 = 8 << 20;
const BLOCK: usize = 4096;
/// Turns of each side; the best of each counts.
const TURNS: u32 = 200;

fn main() {
    let mut args = std::env::args().skip(1);
    let dir = args.next().unwrap_or_else(|| "/dev/shm".to_owned());
    let seconds: f64 = args.next().and_then(|s| s.parse().ok()).unwrap_or(2.0);
    let only = args.next();
    let turn = Duration::from_secs_f64(seconds / f64::from(TURNS));
    let top = tempfile::tempdir_in(&dir).expect("a directory to work in");
    let mut sides = Sides::new(top.path());
    println!("nanoseconds    bare loop  measured     shard  of bare  of measured");
    for op in OPS
        .iter()
        .copied()
        .filter(|op| only.as_deref().is_none_or(|o| o == *op))
    {
        let mut best = [f64::MAX; 3];
        let clock = Clock::real();
        let mut spent = 0;
        for _ in 0..TURNS {
            best[0] = best[0].min(per_call(turn, || sides.bare(op)));
            best[1] = best[1].min(per_call(turn, || {
                let from = clock.now();
                sides.bare(op);
                if op.contains('+') {
                    // Two operations: each is measured.
                    spent += clock.now().since(clock.now()).0;
                }
                spent += clock.now().since(from).0;
            }));
            best[2] = best[2].min(per_call(turn, || sides.shard(op)));
        }
        std::hint::black_box(spent);
        let [bare, timed, shard] = best;
        let [of_bare, of_timed] = [bare, timed].map(|limit| 100.0 * limit / shard);
        println!("{op:<14} {bare:>9.0} {timed:>9.0} {shard:>9.0} {of_bare:>8.1}% {of_timed:>8.1}%");
    }
    let driver = sides.driver;
    drop(sides.shard);
    driver
        .release(&sides.mount, &claim(), ReleaseScope::All)
        .expect("released");
}

/// Processor time per call: what else runs on the machine does not matter, and
/// neither does a disk.
fn per_call(turn: Duration, mut call: impl FnMut()) -> f64 {
    let (from, begun) = (Instant::now(), cpu_ns());
    let mut calls = 0u32;
    while from.elapsed() < turn {
        for _ in 0..64 {
            call();
        }
        calls += 64;
    }
    (cpu_ns() - begun) / f64::from(calls)
}

fn cpu_ns() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

const OPS: [&str; 7] = [
    "read_random",
    "write_random",
    "stat",
    "access",
    "create+unlink",
    "mkdir+rmdir",
    "readdir",
];

struct Sides {
    driver: PosixDriver,
    mount: MountPoint,
    shard: Box<dyn ShardDriver>,
    rng: Rng,
    bucket: OwnedFd,
    names: Vec<String>,
    files: Vec<OwnedFd>,
    buffer: Vec<u8>,
    listing: Vec<u8>,
}

fn claim() -> Claim {
    Claim {
        dir_name: "filermark.bare".to_owned(),
        run_id: "bare".to_owned(),
    }
}

impl Sides {
    fn new(top: &Path) -> Self {
        let driver = PosixDriver::new(PosixPlan::default());
        let mount = MountPoint {
            host: "localhost".to_owned(),
            path: top.to_str().expect("path").to_owned(),
        };
        driver.claim(&mount, &claim()).expect("claimed");
        let mut shard = driver.open_shard(setup(&mount)).expect("opened");
        perform(shard.as_mut(), FileAction::MakeTree);
        perform(shard.as_mut(), FileAction::MakeDirs { dir: 0 });
        for number in 0..FILES {
            let fill = FileAction::Fill {
                file: file(number, FileKind::File),
                content: u64::from(number),
                size: FILE_BYTES,
                reuse: false,
            };
            perform(shard.as_mut(), fill);
        }
        let bucket = top.join("filermark.bare/CL0_BARE/d0000/b04");
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let bucket = rustix::fs::open(&bucket, flags, Mode::empty()).expect("bucket");
        let names: Vec<String> = (0..=FILES).map(|n| format!("f{n:07}")).collect();
        let open = |name: &String| {
            rustix::fs::openat(&bucket, name, OFlags::RDWR, Mode::empty()).expect("file")
        };
        let files = names[..FILES as usize].iter().map(open).collect();
        Self {
            driver,
            mount,
            shard,
            rng: Rng::new(1, 1),
            files,
            bucket,
            names,
            buffer: vec![0; BLOCK],
            listing: Vec::with_capacity(32 << 10),
        }
    }

    fn place(&mut self) -> (u32, u64) {
        let number = self.rng.below(u64::from(FILES)) as u32;
        let block = self.rng.below(FILE_BYTES / BLOCK as u64);
        (number, block * BLOCK as u64)
    }

    fn bare(&mut self, op: &str) {
        let (number, offset) = self.place();
        let name = &self.names[number as usize];
        let new = &self.names[FILES as usize];
        let file = &self.files[number as usize];
        let none = AtFlags::empty();
        match op {
            "read_random" => {
                rustix::io::pread(file, &mut *self.buffer, offset).expect("read");
            }
            "write_random" => {
                rustix::io::pwrite(file, &self.buffer, offset).expect("write");
            }
            "stat" => {
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                rustix::fs::statat(&self.bucket, name, flags).expect("stat");
            }
            "access" => {
                rustix::fs::accessat(&self.bucket, name, Access::READ_OK, none).expect("access");
            }
            "create+unlink" => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
                let mode = Mode::from_raw_mode(0o644);
                drop(rustix::fs::openat(&self.bucket, new, flags, mode).expect("create"));
                rustix::fs::unlinkat(&self.bucket, new, none).expect("unlink");
            }
            "mkdir+rmdir" => {
                let mode = Mode::from_raw_mode(0o755);
                rustix::fs::mkdirat(&self.bucket, new, mode).expect("mkdir");
                rustix::fs::unlinkat(&self.bucket, new, AtFlags::REMOVEDIR).expect("rmdir");
            }
            _ => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY;
                let dir = rustix::fs::openat(&self.bucket, ".", flags, Mode::empty());
                self.listing.clear();
                let spare = self.listing.spare_capacity_mut();
                let mut listing = rustix::fs::RawDir::new(dir.expect("open"), spare);
                while let Some(entry) = listing.next() {
                    entry.expect("entry");
                }
            }
        }
    }

    fn shard(&mut self, op: &str) {
        use FileAction as A;
        let (number, offset) = self.place();
        let of = file(number, FileKind::File);
        let new = file(FILES, FileKind::File);
        let made = file(FILES, FileKind::MadeDir);
        let (content, length, io) = (u64::from(number), BLOCK as u32, Io::default());
        let shard = self.shard.as_mut();
        let (file, dir, bucket) = (of, 0, of.bucket);
        #[rustfmt::skip]
        match op {
            "read_random" => perform(shard, A::Read { file, content, offset, length, io }),
            "write_random" => perform(shard, A::Write { file, content, offset, length, io }),
            "stat" => perform(shard, A::Stat { file }),
            "access" => perform(shard, A::Access { file }),
            "create+unlink" => {
                perform(shard, A::Create { file: new });
                perform(shard, A::Unlink { file: new });
            }
            "mkdir+rmdir" => {
                perform(shard, A::Mkdir { file: made });
                perform(shard, A::Rmdir { file: made });
            }
            _ => perform(shard, A::Readdir { dir, bucket }),
        };
    }
}

fn setup(mount: &MountPoint) -> ShardSetup {
    let data = Arc::new(DataSource::new(1, VerifyLevel::Sample));
    let tree = TreeSetup {
        component: 0,
        name: "CL0_BARE".to_owned(),
        workload: Arc::new(WorkloadObject {
            name: "BARE".to_owned(),
            title: String::new(),
            mix: Mix::none(),
            read_transfers: TransferTable::fixed(BLOCK as u32),
            write_transfers: TransferTable::fixed(BLOCK as u32),
            attributes: Attributes::default(),
        }),
        data: data.clone(),
    };
    ShardSetup {
        shard: 0,
        shard_count: 1,
        clock: Clock::real(),
        data,
        procs: vec![ProcSetup {
            number: 0,
            mount: mount.clone(),
            tree: Some(Arc::new(tree)),
        }],
        claim: claim(),
        stop: StopFlag::new(),
    }
}

fn file(number: u32, kind: FileKind) -> FileRef {
    FileRef {
        dir: 0,
        bucket: Bucket::new(4).expect("bucket"),
        kind,
        file: number,
    }
}

fn perform(shard: &mut dyn ShardDriver, action: FileAction) {
    let request = Request {
        token: 0,
        proc: 0,
        action: Action::File(action),
    };
    match shard.submit(&request) {
        Submit::Done(outcome) if outcome.status == Status::Ok => {}
        other => panic!("{action:?}: {other:?}"),
    }
}
