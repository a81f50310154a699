//! Processor time and rate of direct transfers of 4 KiB at several depths, by the engine's loop:
//! one proc that works in one file by io_uring. (`filermark-bench mounted` compares that with fio.)
//!
//!     cargo run --release -p filermark-posix --example depth -- [DIR] [SECONDS] [DEPTH] [MIB]

use filermark_driver_kit::driver::{Driver, ReleaseScope};
use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::{Claim, LoadDriver, ProcSetup, ShardSetup, StopFlag, TreeSetup};
use filermark_engine::proc::Operations;
use filermark_engine::shard::{RunTimes, Shard, ShardParts, ShardProc};
use filermark_engine::slice::Slice;
use filermark_engine::slice::tree::{Sharing, TreeParts, TreeSlice};
use filermark_model::bucket::MadeBuckets;
use filermark_model::composite::Component;
use filermark_model::plan::{Arrivals, MountPoint, Pacing, PacingMode, PosixPlan};
use filermark_model::workload::Attributes;
use filermark_model::{Mix, Nanos, Op, TransferTable, WorkloadObject};
use filermark_posix::PosixDriver;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn main() {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().unwrap_or_else(|| ".".to_owned()));
    let mut number = |or: u64| args.next().and_then(|n| n.parse().ok()).unwrap_or(or);
    let (seconds, depth, mib) = (number(2), number(32) as u32, number(64));
    println!("{:>14} {:>6} {:>10} {:>8}", "", "depth", "op/s", "us/op");
    for op in [Op::ReadRandom, Op::WriteRandom] {
        let top = tempfile::tempdir_in(&dir).expect("a directory to work in");
        let mut work = Work::new(top.path(), op, depth, mib << 20);
        for _ in 0..3 {
            let (rate, us) = work.turn(seconds);
            println!("{:>14} {depth:>6} {rate:>10.0} {us:>8.2}", op.name());
        }
        work.end();
    }
}

/// One proc, its shard and its file.
struct Work {
    driver: Arc<PosixDriver>,
    mount: MountPoint,
    claim: Claim,
    shard: Shard,
    clock: Clock,
}

impl Work {
    fn new(dir: &Path, op: Op, depth: u32, file_bytes: u64) -> Self {
        let mount = MountPoint {
            host: "here".to_owned(),
            path: dir.display().to_string(),
        };
        let claim = Claim {
            dir_name: "filermark.depth".to_owned(),
            run_id: "depth".to_owned(),
        };
        let driver = Arc::new(PosixDriver::new(PosixPlan::default()));
        driver.claim(&mount, &claim).expect("claimed");
        let (component, tree) = tree(op, depth, file_bytes);
        let clock = Clock::real();
        let setup = ShardSetup {
            shard: 0,
            shard_count: 1,
            clock: clock.clone(),
            data: tree.data.clone(),
            procs: vec![ProcSetup {
                number: 0,
                mount: mount.clone(),
                tree: Some(tree.clone()),
            }],
            claim: claim.clone(),
            stop: StopFlag::new(),
        };
        let parts = TreeParts {
            setup: tree,
            seed: 1,
            tree_number: 0,
            sharing: Sharing::ALONE,
            reuse: false,
            access_list: false,
        };
        let mut shard = Shard::new(ShardParts {
            driver: driver.open_shard(setup).expect("a shard"),
            explain: driver.clone(),
            clock: clock.clone(),
            stop: StopFlag::new(),
            procs: vec![ShardProc {
                number: 1,
                place: "here".to_owned(),
                slice: Slice::Tree(Box::new(TreeSlice::new(&component, parts))),
            }],
            operations: Arc::new(Operations::new(&component.workload.mix)),
            pacing: Pacing {
                mode: PacingMode::Closed,
                arrivals: Arrivals::Uniform,
                backlog_max_per_proc: 1,
            },
            seed: 1,
            live: None,
            live_counts: None,
            blocking: false,
            depth: (depth > 1).then_some(depth),
            open_op: None,
        });
        shard.init(0, 1, Nanos::from_secs(600)).expect("INIT");
        Self {
            driver,
            mount,
            claim,
            shard,
            clock,
        }
    }

    /// Operations per second, and processor time for each in microseconds.
    fn turn(&mut self, seconds: u64) -> (f64, f64) {
        let start = self.clock.now() + Nanos::from_millis(10);
        let run_start = start + Nanos::from_millis(300);
        let times = RunTimes {
            warmup_start: start,
            run_start,
            run_end: run_start + Nanos::from_secs(seconds),
        };
        let stats = self.shard.run(None, times).expect("RUN");
        assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
        let ops = stats.success_count().max(1) as f64;
        (
            ops / seconds as f64,
            stats.generator_cpu_ns as f64 / ops / 1e3,
        )
    }

    fn end(mut self) {
        self.shard
            .cleanup(1, Nanos::from_secs(600))
            .expect("CLEANUP");
        let scope = ReleaseScope::All;
        let released = self.driver.release(&self.mount, &self.claim, scope);
        released.expect("released");
    }
}

/// A workload of transfers of 4 KiB in one file.
fn tree(op: Op, depth: u32, file_bytes: u64) -> (Component, Arc<TreeSetup>) {
    let workload = WorkloadObject {
        name: "DEPTH".to_owned(),
        title: String::new(),
        mix: Mix::new([(op, 100.0)]).expect("a mix"),
        read_transfers: TransferTable::fixed(4096),
        write_transfers: TransferTable::fixed(4096),
        attributes: Attributes {
            direct_pcnt: 100.0,
            uniform_size_dist: true,
            depth,
            ..Attributes::default()
        },
    };
    let tree = TreeSetup {
        component: 0,
        name: "CL0_DEPTH".to_owned(),
        workload: Arc::new(workload.clone()),
        data: Arc::new(DataSource::new(1, VerifyLevel::Sample).overlapping(true)),
    };
    let component = Component {
        workload,
        instances: 1,
        ops_per_proc: None,
        dir_count: 1,
        files_per_dir: 1,
        file_bytes,
        file_sizes: None,
        buckets: MadeBuckets::Reached,
    };
    (component, Arc::new(tree))
}
