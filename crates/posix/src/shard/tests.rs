//! Every action against a real directory, on a disk and in memory, looked at from
//! outside with the standard library.

#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod asynchronous;
mod error_injection;
#[cfg(unix)]
mod mounts;
mod names;
mod phases;
mod transfers;

use crate::PosixDriver;
use filermark_driver_kit::driver::Driver;
use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::{
    Action, Claim, LoadDriver, Outcome, ProcSetup, Request, ShardDriver, ShardSetup, Status,
    StopFlag, Submit, TreeSetup,
};
use filermark_engine::file_action::{FileAction, FileKind, FileRef, Io};
use filermark_model::plan::{MountPoint, PosixPlan};
use filermark_model::workload::Attributes;
use filermark_model::{Bucket, Mix, Nanos, TransferTable, WorkloadObject};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Contents come from this seed.
const SEED: u64 = 5;

/// A claimed directory and a shard that works in it.
pub(crate) struct Bench {
    // What is dropped first: the open files and directories, then the driver, which has
    // the run directory open. Windows removes no directory while it is open.
    pub(crate) shard: Box<dyn ShardDriver>,
    pub(crate) driver: PosixDriver,
    pub(crate) dir: TempDir,
    pub(crate) stop: StopFlag,
    setup: ShardSetup,
}

fn mount_of(dir: &Path) -> MountPoint {
    MountPoint {
        host: "localhost".to_owned(),
        path: dir.to_str().expect("path").to_owned(),
    }
}

pub(crate) fn claim() -> Claim {
    Claim {
        dir_name: "filermark.test".to_owned(),
        run_id: "run-1".to_owned(),
    }
}

fn workload(depth: u32) -> Arc<WorkloadObject> {
    Arc::new(WorkloadObject {
        name: "TEST".to_owned(),
        title: String::new(),
        mix: Mix::none(),
        read_transfers: TransferTable::fixed(5_000),
        write_transfers: TransferTable::fixed(7_000),
        attributes: Attributes {
            depth,
            // Larger than the transfers of whole files.
            sequential_read_bytes: (depth > 1).then_some(64 << 10),
            ..Attributes::default()
        },
    })
}

impl Bench {
    pub(crate) fn on(dir: TempDir, plan: PosixPlan, checking: VerifyLevel, trees: &[&str]) -> Self {
        Self::with_depth(1, dir, plan, checking, trees)
    }

    /// Whose procs have so many reads and writes under way.
    pub(crate) fn with_depth(
        depth: u32,
        dir: TempDir,
        plan: PosixPlan,
        checking: VerifyLevel,
        trees: &[&str],
    ) -> Self {
        let driver = PosixDriver::new(plan);
        let mount = mount_of(dir.path());
        driver.claim(&mount, &claim()).expect("claimed");
        let data = Arc::new(DataSource::new(SEED, checking));
        let proc = |(number, tree): (u32, &&str)| ProcSetup {
            number,
            mount: mount.clone(),
            tree: Some(Arc::new(TreeSetup {
                component: 0,
                name: (*tree).to_owned(),
                workload: workload(depth),
                data: data.clone(),
            })),
        };
        let stop = StopFlag::new();
        let setup = ShardSetup {
            shard: 0,
            shard_count: 1,
            clock: Clock::real(),
            data: data.clone(),
            procs: (0..).zip(trees).map(proc).collect(),
            claim: claim(),
            stop: stop.clone(),
        };
        let shard = driver.open_shard(setup.clone()).expect("opened");
        let mut bench = Self {
            dir,
            driver,
            shard,
            stop,
            setup,
        };
        for proc in 0..trees.len() as u32 {
            bench.good_as(proc, FileAction::MakeTree);
            bench.good_as(proc, FileAction::MakeDirs { dir: 0 });
        }
        bench
    }

    pub(crate) fn new() -> Self {
        Self::on(
            disk(),
            PosixPlan::default(),
            VerifyLevel::All,
            &["CL0_TEST"],
        )
    }

    /// Another shard of the same procs.
    pub(crate) fn second_shard(&self) -> Box<dyn ShardDriver> {
        self.driver.open_shard(self.setup.clone()).expect("opened")
    }

    pub(crate) fn act_as(&mut self, proc: u32, action: FileAction) -> Outcome {
        submit(self.shard.as_mut(), proc, action)
    }

    pub(crate) fn act(&mut self, action: FileAction) -> Outcome {
        self.act_as(0, action)
    }

    pub(crate) fn good_as(&mut self, proc: u32, action: FileAction) -> Outcome {
        let outcome = self.act_as(proc, action);
        assert_eq!(outcome.status, Status::Ok, "{action:?}");
        assert!(outcome.physical > 0, "{action:?}");
        outcome
    }

    pub(crate) fn good(&mut self, action: FileAction) -> Outcome {
        self.good_as(0, action)
    }

    /// The name of the error that an action must end with.
    pub(crate) fn bad(&mut self, action: FileAction) -> String {
        match self.act(action).status {
            Status::Refused(code) => {
                let text = self.driver.status_text(code);
                text.split(':').next().unwrap_or_default().to_owned()
            }
            other => panic!("{action:?}: {other:?}"),
        }
    }

    /// Fills a file with so many bytes.
    pub(crate) fn fill(&mut self, file: FileRef, size: u64) {
        let outcome = self.good(FileAction::Fill {
            file,
            content: content(file),
            size,
            reuse: false,
        });
        assert_eq!(outcome.written_bytes, size);
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.dir.path().join("filermark.test")
    }

    pub(crate) fn path(&self, file: FileRef) -> PathBuf {
        let name = crate::names::file(file).expect("name");
        self.bucket_path(file.bucket).join(name.as_str())
    }

    pub(crate) fn bucket_path(&self, bucket: Bucket) -> PathBuf {
        let tree = self.run_dir().join("CL0_TEST/d0000");
        tree.join(format!("b{:02}", bucket.number()))
    }

    pub(crate) fn counters(&mut self) -> BTreeMap<String, u64> {
        let mut counters = BTreeMap::new();
        self.shard.take_counters(&mut counters);
        counters
    }
}

pub(crate) fn submit(shard: &mut dyn ShardDriver, proc: u32, action: FileAction) -> Outcome {
    let request = Request {
        token: 1,
        proc,
        action: Action::File(action),
    };
    let outcome = match shard.submit(&request) {
        Submit::Done(outcome) => outcome,
        Submit::Queued => {
            let mut done = Vec::new();
            shard.flush();
            shard.poll(Nanos::MAX, &mut done).expect("ended");
            assert_eq!(done.len(), 1);
            done[0].outcome
        }
        Submit::Busy => panic!("busy"),
    };
    assert!(outcome.done >= outcome.sent);
    outcome
}

/// The depths that tests of transfers run with: io_uring is there on Linux only.
pub(crate) const DEPTHS: &[u32] = match cfg!(all(target_os = "linux", not(feature = "portable"))) {
    true => &[1, 8],
    false => &[1],
};

/// A directory on a disk.
pub(crate) fn disk() -> TempDir {
    tempfile::tempdir().expect("tempdir")
}

/// One on the disk and, where there is one, one in memory.
pub(crate) fn both() -> Vec<TempDir> {
    let memory = tempfile::tempdir_in("/dev/shm").ok();
    [Some(disk()), memory].into_iter().flatten().collect()
}

pub(crate) fn file_in(bucket: u8, number: u32) -> FileRef {
    FileRef {
        dir: 0,
        bucket: Bucket::new(bucket).expect("bucket"),
        kind: FileKind::File,
        file: number,
    }
}

/// The number of a file's contents.
pub(crate) fn content(file: FileRef) -> u64 {
    u64::from(file.bucket.number()) << 32 | u64::from(file.file)
}

/// Whether these are a file's bytes from the first on, of whatever generations.
pub(crate) fn is_of(file: FileRef, bytes: &[u8]) -> bool {
    let source = DataSource::new(SEED, VerifyLevel::All).shared(true);
    source.check_earlier(content(file), 0, bytes).good
}

pub(crate) fn io(direct: bool, sync: bool, commit: bool) -> Io {
    Io {
        direct,
        sync,
        commit,
    }
}
