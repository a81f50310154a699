//! Composite benchmarks: components, what a unit of load is made of, and the
//! data set that the procs need.
//!
//! The arithmetic is that of sources.md 3.7, which reproduces the published rows to
//! the digit: with F = directories x files per directory, a proc's data set is
//! 11 x F x file size to begin with and 12 x F x file size at most. Components of other
//! benchmarks have data only where their mix moves some ([`MadeBuckets::Reached`]).

use crate::bucket::{Bucket, Buckets, MadeBuckets};
use crate::dist::SizeDistribution;
use crate::mix::Mix;
use crate::op::Op;
use crate::plan::ProcPlan;
use crate::workload::WorkloadObject;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Binary megabytes.
const MIB: u64 = 1 << 20;

/// What the procs of a composite benchmark do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompositeWork {
    /// Its components; their order is that of the procs in a unit.
    pub components: Vec<Component>,
    /// Client memory that a unit of load wants, in binary megabytes; 0: unknown.
    pub client_mem_mib_per_unit: f64,
}

/// One kind of proc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// What it does.
    pub workload: WorkloadObject,
    /// Procs of it per unit of load.
    pub instances: u32,
    /// Operations per second of each proc; `None`: as many as possible.
    pub ops_per_proc: Option<f64>,
    /// Directories per proc.
    pub dir_count: u32,
    /// Files in each bucket of each directory.
    pub files_per_dir: u32,
    /// The file size, or the mean of the sizes, in bytes.
    pub file_bytes: u64,
    /// Sizes by a table, whose mean is then the file size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_sizes: Option<SizeDistribution>,
    /// The buckets that INIT makes files in.
    #[serde(default, skip_serializing_if = "MadeBuckets::is_all")]
    pub buckets: MadeBuckets,
}

/// Space that the procs of a load point need, as sfssum reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSet {
    /// Data at the start, all procs, in bytes.
    pub start_bytes: u64,
    /// Space that INIT takes, in bytes.
    pub init_bytes: u64,
    /// Space that a run may come to take, in bytes.
    pub max_bytes: u64,
    /// Data at the start per client, in bytes.
    pub client_bytes: u64,
    /// Files that INIT makes, the empty ones too.
    pub file_count: u64,
}

impl DataSet {
    /// Whole binary megabytes, the rest cut off, as the printed figures are.
    pub const fn mib(bytes: u64) -> u64 {
        bytes / MIB
    }
}

impl Component {
    /// Files in each bucket of one proc.
    pub fn files_per_bucket(&self) -> u64 {
        u64::from(self.dir_count) * u64::from(self.files_per_dir)
    }

    /// The buckets that INIT makes files in.
    pub fn made_buckets(&self) -> Buckets {
        match self.buckets {
            MadeBuckets::All => Buckets::ALL,
            MadeBuckets::Reached => self.reached(Bucket::candidates),
        }
    }

    /// The buckets whose files hold data from INIT on.
    pub fn data_buckets(&self) -> Buckets {
        match self.buckets {
            MadeBuckets::All => Buckets::with_data(),
            MadeBuckets::Reached => self.reached(Bucket::moved_by),
        }
    }

    fn reached(&self, of: fn(Op) -> &'static [Bucket]) -> Buckets {
        let in_mix = self.workload.mix.shares().iter().filter(|(_, p)| *p > 0.0);
        in_mix.flat_map(|(op, _)| of(*op)).copied().collect()
    }

    /// Data of one proc to begin with.
    pub fn start_bytes(&self) -> u64 {
        (self.data_buckets().count() * self.files_per_bucket()).saturating_mul(self.file_bytes)
    }

    /// The most that one proc may come to need: the files of APPEND may double.
    pub fn max_bytes(&self) -> u64 {
        let factor = match self.buckets {
            MadeBuckets::All => Bucket::MAX_FACTOR,
            MadeBuckets::Reached => {
                let grows = self.data_buckets().contains(Bucket::APPEND);
                self.data_buckets().count() + u64::from(grows)
            }
        };
        (factor * self.files_per_bucket()).saturating_mul(self.file_bytes)
    }

    /// Files that INIT makes for one proc, the empty ones too.
    pub fn files_per_proc(&self) -> u64 {
        self.standing_files() + self.pool_files()
    }

    /// Those of them that hold data.
    pub fn data_files_per_proc(&self) -> u64 {
        self.data_buckets().count() * self.files_per_bucket()
    }

    /// Files that stay: procs that share a tree have them once.
    fn standing_files(&self) -> u64 {
        let made = self.made_buckets();
        let pools = Bucket::POOL_BUCKETS.iter();
        let pools = pools.filter(|pool| made.contains(**pool)).count() as u64;
        (made.count() - pools) * self.files_per_bucket()
    }

    /// Files that come and go, of which each proc has its own.
    fn pool_files(&self) -> u64 {
        let names = self.files_per_bucket().clamp(1, Bucket::POOL_MAX);
        let made = self.made_buckets();
        let pools = [Bucket::UNLINK, Bucket::UNLINK2].into_iter();
        pools.filter(|pool| made.contains(*pool)).count() as u64 * (names / 2)
    }
}

impl CompositeWork {
    /// Procs per unit of load.
    pub fn procs_per_unit(&self) -> u32 {
        self.components.iter().map(|c| c.instances).sum()
    }

    /// Operations per second per unit of load; `None`: a component has no rate.
    pub fn ops_per_unit(&self) -> Option<f64> {
        let of = |c: &Component| Some(c.ops_per_proc? * f64::from(c.instances));
        self.components.iter().map(of).sum()
    }

    /// The mix of all components together, background ones left out, each weighing
    /// as much as its share of the rate (of the procs, where one has no rate).
    pub fn mix(&self) -> Mix {
        let rated = self.ops_per_unit().is_some();
        let mut shares: BTreeMap<Op, f64> = BTreeMap::new();
        let mut total = 0.0;
        for c in &self.components {
            if c.workload.attributes.background {
                continue;
            }
            let rate = c.ops_per_proc.filter(|_| rated).unwrap_or(1.0);
            let weight = rate * f64::from(c.instances.max(1));
            total += weight;
            for (op, percent) in c.workload.mix.shares() {
                *shares.entry(*op).or_default() += weight * percent;
            }
        }
        let shares = shares
            .into_iter()
            .map(|(op, sum)| (op, sum / f64::max(total, 1e-9)));
        Mix::new(shares).unwrap_or_else(|_| Mix::none())
    }

    /// The mean file size of the components' procs in a unit, in bytes.
    pub fn mean_file_bytes(&self) -> f64 {
        let procs = f64::from(self.procs_per_unit().max(1));
        let of = |c: &Component| c.file_bytes as f64 * f64::from(c.instances);
        self.components.iter().map(of).sum::<f64>() / procs
    }

    /// Bytes that RUN is to move where the data set is to be touched: those of
    /// [`data_set`](Self::data_set), without the trees of components in the background,
    /// whose operations are in no figure.
    pub fn bytes_to_touch(&self, procs: &[ProcPlan], sharing: bool) -> u64 {
        let counts = |p: &&ProcPlan| !self.is_background(p.component);
        let procs: Vec<ProcPlan> = procs.iter().filter(counts).cloned().collect();
        self.data_set(&procs, 1, sharing).start_bytes
    }

    /// Whether a component is in the background.
    pub fn is_background(&self, component: u32) -> bool {
        let component = self.components.get(component as usize);
        component.is_some_and(|c| c.workload.attributes.background)
    }

    /// What these procs need. With `sharing`, or where a workload shares by itself,
    /// all procs of a component on one mount point have one tree together.
    pub fn data_set(&self, procs: &[ProcPlan], clients: u32, sharing: bool) -> DataSet {
        let mut set = DataSet::default();
        let mut seen = BTreeSet::new();
        for proc in procs {
            let Some(c) = self.components.get(proc.component as usize) else {
                continue;
            };
            let shared = sharing || c.workload.attributes.sharemode;
            set.file_count = set.file_count.saturating_add(c.pool_files());
            if shared && !seen.insert((proc.component, &proc.mount)) {
                continue;
            }
            set.start_bytes = set.start_bytes.saturating_add(c.start_bytes());
            set.max_bytes = set.max_bytes.saturating_add(c.max_bytes());
            set.file_count = set.file_count.saturating_add(c.standing_files());
        }
        set.init_bytes = set.start_bytes;
        set.client_bytes = set.start_bytes / u64::from(clients.max(1));
        set
    }
}
