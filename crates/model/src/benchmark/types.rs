//! What a benchmark consists of, as definition files and records have it.

use super::commit::CommitPolicy;
use crate::composite::CompositeWork;
use crate::dist::SizeDistribution;
use crate::finding::Severity;
use crate::mix::Mix;
use crate::plan::Protocol;
use crate::sequence::{Sequence, SolveError};
use serde::{Deserialize, Serialize};

/// A benchmark: what is done, on what, and by which rules it is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// Its name; never another's trademark.
    pub name: String,
    /// Its version; any change of a figure makes a new one.
    pub version: u32,
    /// Its name for people.
    pub title: String,
    /// The protocol its operations belong to.
    pub protocol: Protocol,
    /// The unit of load: `op/s`, or a business metric (`BUILD`).
    pub unit: String,
    /// What a standard run keeps to.
    pub standard: Standard,
    /// The mix of logical operations of the whole; of a composite: of its components
    /// together, as their rates weigh them (see [`CompositeWork::mix`]).
    pub mix: Mix,
    /// What the procs do.
    pub work: Work,
    /// The older benchmark that it is after, where it is after one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heritage: Option<Heritage>,
}

/// An older generation of the family, on which a definition is modelled. Every report
/// of a run says what stands here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heritage {
    /// Its name and year, for people.
    pub generation: String,
    /// What the published shares of its mix add up to, in percent, where that is not
    /// 100; ours are scaled to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix_total_pcnt: Option<f64>,
    /// What a reader has to know: a sentence each.
    #[serde(default)]
    pub caveats: Vec<String>,
}

/// What the procs of a benchmark do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Work {
    /// All procs share one file set that grows with the load, in op/s.
    Classic(ClassicWork),
    /// Procs of several kinds, each with a directory tree of its own; the load
    /// says how many procs there are.
    Composite(CompositeWork),
}

/// The file set and the sizes of a classical benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassicWork {
    /// The file set.
    pub fileset: FileSetRule,
    /// Sizes of the files of the I/O set.
    pub file_sizes: SizeDistribution,
    /// Sizes of logical reads.
    pub read_sizes: SizeDistribution,
    /// Sizes of logical writes.
    pub write_sizes: SizeDistribution,
    /// NFSv3: when COMMIT is called for what was written; `None`: the definition does not
    /// say, see [`CommitPolicy::at_once`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitPolicy>,
    /// The order in which operations come, where they cannot come in any order
    /// (protocols with state); its stationary mix is the benchmark's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<Sequence>,
}

/// Durations and limits of a standard run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standard {
    /// WARMUP, in seconds.
    pub warmup_s: f64,
    /// RUN, in seconds.
    pub runtime_s: f64,
    /// Fewest evenly spaced load points.
    pub load_points_min: u32,
    /// Fewest clients that make load.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub clients_min: u32,
    /// Largest mean service time, in milliseconds; 0: no limit.
    #[serde(default)]
    pub response_limit_ms: f64,
    /// Most op/s per proc at the top load point.
    pub ops_per_proc_max: f64,
    /// Fewest op/s per proc at the bottom load point.
    pub ops_per_proc_min: f64,
    /// Least share of the requested rate that counts, in percent.
    pub achieved_pcnt_min: f64,
    /// What becomes of a load point below that share. Definitions without this figure, and
    /// records from before it was there: the point does not count.
    #[serde(default = "invalid", skip_serializing_if = "is_invalid")]
    pub achieved_severity: Severity,
    /// Least share of its own rate that every proc must reach, in percent.
    pub proc_pcnt_min: f64,
    /// Largest distance of an operation's share from the mix, in percentage points.
    pub mix_deviation_pcnt_max: f64,
    /// Share of failed operations from which on a warning is given, in percent.
    pub error_pcnt_max: f64,
    /// Share of failed operations from which on the point does not count, in percent.
    pub error_pcnt_invalid: f64,
    /// The largest physical transfer, in binary kilobytes; `None`: what the server prefers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_size_kib: Option<u32>,
    /// Composites: most that a component's share of the operations may differ from
    /// its target, in percent of the target; 0: no limit.
    #[serde(default)]
    pub component_variance_pcnt_max: f64,
}

const fn one() -> u32 {
    1
}

fn is_one(n: &u32) -> bool {
    *n == 1
}

const fn invalid() -> Severity {
    Severity::Invalid
}

fn is_invalid(severity: &Severity) -> bool {
    *severity == Severity::Invalid
}

/// The file set of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSetRule {
    /// Binary megabytes per unit of load.
    pub mb_per_op: f64,
    /// Share of the I/O files that RUN touches, in percent.
    pub access_pcnt: f64,
    /// Share of writes that append, in percent.
    pub append_pcnt: f64,
    /// Directories per proc.
    pub dir_count: u32,
    /// Symbolic links per proc.
    pub symlink_count: u32,
    /// Files outside of the I/O set per proc.
    pub file_count: u32,
}

impl FileSetRule {
    /// Most directories per proc; their names have four digits.
    pub const DIR_COUNT_MAX: u32 = 9_999;
    /// Most files outside of the I/O set per proc.
    pub const FILE_COUNT_MAX: u32 = 100_000;
    /// Most symbolic links per proc.
    pub const SYMLINK_COUNT_MAX: u32 = 100_000;

    /// Names of small files that come and go with CREATE, REMOVE and their like, per
    /// proc, where `file_count` files stay.
    pub const fn churn_count(file_count: u32) -> u16 {
        match file_count {
            0..16 => 16,
            16..4_096 => file_count as u16,
            _ => 4_096,
        }
    }

    /// What INIT makes for a proc besides the I/O files: its directory and those in
    /// it, the files and links that stay, and half of those that come and go.
    pub const fn side_count_per_proc(&self) -> u64 {
        let churn = Self::churn_count(self.file_count) / 2;
        1 + self.dir_count as u64
            + self.file_count as u64
            + self.symlink_count as u64
            + churn as u64
    }
}

impl Benchmark {
    /// Gives it another mix of operations; a sequence is solved for it anew.
    ///
    /// # Errors
    /// The sequence cannot show such a mix; nothing is changed then.
    pub fn set_mix(&mut self, mix: Mix) -> Result<(), SolveError> {
        if let Work::Classic(ClassicWork {
            sequence: Some(sequence),
            ..
        }) = &mut self.work
        {
            *sequence = sequence.for_mix(&mix)?;
        }
        self.mix = mix;
        if let Some(heritage) = &mut self.heritage {
            heritage.forget_mix();
        }
        Ok(())
    }

    /// The file set and sizes, when it is a classical one.
    pub fn classic(&self) -> Option<&ClassicWork> {
        match &self.work {
            Work::Classic(classic) => Some(classic),
            Work::Composite(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn classic_mut(&mut self) -> Option<&mut ClassicWork> {
        match &mut self.work {
            Work::Classic(classic) => Some(classic),
            Work::Composite(_) => None,
        }
    }

    /// The components, when it is a composite.
    pub fn composite(&self) -> Option<&CompositeWork> {
        match &self.work {
            Work::Classic(_) => None,
            Work::Composite(composite) => Some(composite),
        }
    }
}
