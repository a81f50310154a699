//! Benchmarks: named, versioned definitions that ship as data files.

mod commit;
mod definition;
mod headline;
mod heritage;
mod names;

use crate::composite::CompositeWork;
use crate::dist::SizeDistribution;
use crate::finding::Severity;
use crate::mix::Mix;
use crate::plan::NfsVersion;
use crate::sequence::{Sequence, SolveError};
use serde::{Deserialize, Serialize};

pub use commit::{CommitPolicy, Deferral};
pub use definition::DefinitionError;
pub use headline::Headline;
pub use heritage::HERITAGE_NOTICE;

/// The definition files that ship with the program: (name, text).
pub const SHIPPED: &[(&str, &str)] = &[
    (
        "general-nfs3",
        include_str!("../definitions/general-nfs3.toml"),
    ),
    (
        "general-smb1",
        include_str!("../definitions/general-smb1.toml"),
    ),
    (
        "general-smb2",
        include_str!("../definitions/general-smb2.toml"),
    ),
    ("nfs2-1993", include_str!("../definitions/nfs2-1993.toml")),
    ("nfs2-1997", include_str!("../definitions/nfs2-1997.toml")),
    ("nfs3-1997", include_str!("../definitions/nfs3-1997.toml")),
    ("nfs3-2001", include_str!("../definitions/nfs3-2001.toml")),
];

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

/// An older generation of the family, of which a definition is a likeness. Every report
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

/// The protocols that have a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// NFS version 2, over TCP or UDP.
    Nfs2,
    /// NFS version 3, over TCP or UDP.
    Nfs3,
    /// A mounted file system, by system calls.
    Posix,
    /// SMB1 (NT LM 0.12) over TCP: the classical CIFS.
    Smb1,
    /// SMB 2.0.2 to 3.1.1 over TCP.
    Smb2,
}

impl Protocol {
    /// Whether its operations come in sequences, since it has state.
    pub const fn is_sequential(self) -> bool {
        matches!(self, Self::Smb1 | Self::Smb2)
    }

    /// The version of NFS that it is.
    pub const fn nfs_version(self) -> Option<NfsVersion> {
        match self {
            Self::Nfs2 => Some(NfsVersion::V2),
            Self::Nfs3 => Some(NfsVersion::V3),
            Self::Posix | Self::Smb1 | Self::Smb2 => None,
        }
    }

    /// As sfssum spells it in column 6 (seed 001, section 4.4).
    pub const fn sfssum_name(self) -> &'static str {
        match self {
            Self::Nfs2 => "NFS2",
            Self::Nfs3 => "NFS3",
            Self::Posix => "POSIX",
            Self::Smb1 => "CIFS",
            Self::Smb2 => "SMB2",
        }
    }
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

/// Why a definition cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BenchmarkError {
    /// No definition of that name ships with the program.
    #[error("there is no benchmark '{0}'; known: {1}")]
    Unknown(String, String),
    /// The text is no definition.
    #[error("benchmark definition '{name}': {reason}")]
    Text {
        /// Which definition.
        name: String,
        /// What is wrong, with its line.
        reason: String,
    },
}

impl Benchmark {
    /// A shipped definition by name.
    ///
    /// # Errors
    /// The name is unknown, or (a defect) the shipped text is wrong.
    pub fn shipped(name: &str) -> Result<Self, BenchmarkError> {
        let Some((_, text)) = SHIPPED.iter().find(|(n, _)| *n == name) else {
            let known = SHIPPED.iter().map(|(n, _)| *n).collect::<Vec<_>>();
            return Err(BenchmarkError::Unknown(name.into(), known.join(", ")));
        };
        Self::from_toml(name, text)
    }

    /// Reads a definition; `name` is used in error messages.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, BenchmarkError> {
        Self::classic_from_toml(text).map_err(|e| BenchmarkError::Text {
            name: name.into(),
            reason: e.to_string(),
        })
    }

    /// Reads a definition; the error knows its place in the text.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn classic_from_toml(text: &str) -> Result<Self, DefinitionError> {
        definition::read(text)
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Op;
    use crate::units::Bytes;

    #[test]
    fn every_shipped_definition_reads() {
        for (name, _) in SHIPPED {
            assert_eq!(Benchmark::shipped(name).unwrap().name, *name);
        }
        assert!(Benchmark::shipped("nfs").is_err());
    }

    #[test]
    fn the_older_generations_keep_to_what_is_known() {
        for (name, limit_ms, mb_per_op, access_pcnt) in [
            ("nfs2-1993", 50.0, 5.0, 20.0),
            ("nfs2-1997", 40.0, 10.0, 10.0),
            ("nfs3-1997", 40.0, 10.0, 10.0),
            ("nfs3-2001", 40.0, 10.0, 10.0),
        ] {
            let b = Benchmark::shipped(name).unwrap();
            assert_eq!(b.standard.response_limit_ms, limit_ms, "{name}");
            let c = b.classic().unwrap();
            assert_eq!(c.fileset.mb_per_op, mb_per_op);
            assert_eq!(b.standard.block_size_kib, Some(8), "facts 1.4");
            assert_eq!(c.fileset.access_pcnt, access_pcnt);
            assert_eq!(
                [
                    c.fileset.dir_count,
                    c.fileset.symlink_count,
                    c.fileset.file_count
                ],
                [20, 20, 100]
            );
            // Facts 1.4: 128 KB and a fragment of 7.
            assert_eq!(c.read_sizes.max(), Bytes::from_kib(135));
            assert_eq!(c.write_sizes.max(), Bytes::from_kib(135));
            let heritage = b.heritage.expect("it is after an older one");
            assert!(heritage.generation.contains(name.get(5..).unwrap()));
            assert!(
                heritage
                    .caveats
                    .iter()
                    .any(|c| c.contains("never comparable"))
            );
        }
        // Facts 1.3: the mean of the list is 26.7 KB.
        let b = Benchmark::shipped("nfs3-2001").unwrap();
        let mean_kib = b.classic().unwrap().file_sizes.mean_bytes() / 1024.0;
        assert!((mean_kib - 26.7).abs() < 0.05, "{mean_kib}");
    }

    #[test]
    fn a_mix_that_is_published_with_another_total_is_scaled() {
        let b = Benchmark::shipped("nfs3-2001").unwrap();
        assert_eq!(b.heritage.unwrap().mix_total_pcnt, Some(99.0));
        assert!((b.mix.percent(Op::Lookup) - 27.0 / 0.99).abs() < 1e-9);
        assert!((b.mix.percent(Op::Commit) - 5.0 / 0.99).abs() < 1e-9);
        let (_, text) = SHIPPED.iter().find(|(n, _)| *n == "nfs3-2001").unwrap();
        for (changed, said) in [
            (
                text.replace("commit = 5.0", "commit = 6.0"),
                "not to the 99",
            ),
            (text.replace("mix_total_pcnt = 99.0", ""), "not 100"),
            (
                text.replace("mix_total_pcnt = 99.0", "mix_total_pcnt = 0.0"),
                "not to the 0",
            ),
            (
                text.replace("\"nfs3\"", "\"nfs2\""),
                "NFS2 has no operation access",
            ),
        ] {
            let error = Benchmark::from_toml("changed", &changed)
                .unwrap_err()
                .to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn smb1_takes_the_physical_transfers_of_the_sample() {
        let b = Benchmark::shipped("general-smb1").unwrap();
        let c = b.classic().unwrap();
        // Seed 001, section 4.4, a CIFS run: 199307 physical of 184659 logical reads, and
        // 83248 of 77679 writes. Transfers are those of Filermark's SMB1.
        let block = Bytes::from_kib(60);
        let (reads, writes) = (199_307.0 / 184_659.0, 83_248.0 / 77_679.0);
        assert!((c.read_sizes.mean_transfers(block) - reads).abs() < 0.001);
        assert!((c.write_sizes.mean_transfers(block) - writes).abs() < 0.001);
        assert_eq!(c.read_sizes.max(), Bytes::from_kib(256));
        assert_eq!(c.write_sizes.max(), Bytes::from_kib(256));
        let mean_kib = c.write_sizes.mean_bytes() / 1024.0;
        assert!((17.0..34.0).contains(&mean_kib), "{mean_kib}");
    }

    #[test]
    fn general_nfs3_keeps_to_the_known_means() {
        let b = Benchmark::shipped("general-nfs3").unwrap();
        // Seed 001, section 2.2.1: the mix. COMMIT has no share of its own.
        let mix = [
            (Op::Lookup, 24.0),
            (Op::Read, 18.0),
            (Op::Write, 10.0),
            (Op::Getattr, 26.0),
            (Op::Readlink, 1.0),
            (Op::Readdir, 1.0),
            (Op::Create, 1.0),
            (Op::Remove, 1.0),
            (Op::Fsstat, 1.0),
            (Op::Setattr, 4.0),
            (Op::Readdirplus, 2.0),
            (Op::Access, 11.0),
        ];
        for (op, percent) in mix {
            assert_eq!(b.mix.percent(op), percent, "{op}");
        }
        assert_eq!(b.mix.shares().len(), mix.len());
        let c = b.classic().unwrap();
        // Facts 1.3 and 2.3: 383 files per op/s, files of 1 KB to 32 MB.
        let files_per_op = c.fileset.mb_per_op * 1048576.0 / c.file_sizes.mean_bytes();
        assert!((files_per_op - 383.0).abs() < 4.0, "{files_per_op}");
        assert_eq!(c.file_sizes.quantile(0.0), Bytes::from_kib(1));
        assert_eq!(c.file_sizes.max(), Bytes::from_mib(32));
        // Seed 001, section 4.4: physical per logical transfer.
        let block = Bytes::from_kib(64);
        assert!((c.read_sizes.mean_transfers(block) - 1.079).abs() < 0.002);
        assert!((c.write_sizes.mean_transfers(block) - 1.072).abs() < 0.002);
        assert_eq!(c.read_sizes.max(), Bytes::from_kib(256));
        assert_eq!(c.write_sizes.max(), Bytes::from_kib(256));
        // Seed 001, section 4.4: growth per append, 17 to 34 KB.
        let mean_kib = c.write_sizes.mean_bytes() / 1024.0;
        assert!((17.0..34.0).contains(&mean_kib), "{mean_kib}");
    }
}
