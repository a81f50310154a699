//! Workload objects: what one kind of proc does on a mounted file system, with
//! all attributes of the netmist manual (manual N, sections 3, 4 and 11).

use crate::mix::{Mix, MixError};
use crate::op::Op;
use crate::rng::Rng;
use crate::text::quoted;
use crate::transfer::{TRANSFER_BYTES_MAX, TransferError, TransferTable};
use serde::{Deserialize, Serialize};

/// A workload object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadObject {
    /// Its name, in capitals: `SWBUILD`.
    pub name: String,
    /// What it stands for, in a sentence.
    #[serde(default)]
    pub title: String,
    /// Operations and their shares.
    pub mix: Mix,
    /// Sizes of read transfers.
    pub read_transfers: TransferTable,
    /// Sizes of write transfers.
    pub write_transfers: TransferTable,
    /// Its other attributes.
    pub attributes: Attributes,
}

/// What a workload object has besides its tables. All shares are percentages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Attributes {
    /// Share of writes that are followed by fsync.
    pub write_commit_pcnt: f64,
    /// Share of reads and writes that bypass the client's cache (O_DIRECT).
    pub direct_pcnt: f64,
    /// Share of writes to files opened with O_SYNC.
    pub osync_pcnt: f64,
    /// Share of file choices that follow a geometric distribution; the others are uniform.
    pub geometric_pcnt: f64,
    /// How far written data can be compressed: the share of a block that is.
    pub compress_pcnt: f64,
    /// Share of written blocks that are copies of a few others.
    pub dedupe_pcnt: f64,
    /// Not counted in the overall result.
    pub background: bool,
    /// All procs of this workload share one directory tree.
    pub sharemode: bool,
    /// All files have the same size; else sizes are normally distributed.
    pub uniform_size_dist: bool,
    /// How places within a file are chosen.
    pub rand_dist_behavior: RandDist,
    /// The kind of file system interface.
    pub fs_type: FsType,
    /// Random offsets are whole multiples of this, in bytes.
    pub random_align_bytes: u32,
    /// Where random accesses crowd, if they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot_spot: Option<HotSpot>,
    /// Sequential reads have this size in bytes, and the other reads any other size of the
    /// table; none: all draw from the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequential_read_bytes: Option<u32>,
    /// The mean service time of random reads, in milliseconds, above which a load point
    /// does not count; from half of it on it is noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random_read_limit_ms: Option<f64>,
    /// The client is to keep no attributes (`noac`), which is noted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_attribute_cache: bool,
    /// Operations that a proc keeps under way at a time; above 1 its reads and writes are
    /// asynchronous.
    #[serde(skip_serializing_if = "is_one")]
    pub depth: u32,
}

fn is_one(depth: &u32) -> bool {
    *depth == 1
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            write_commit_pcnt: 0.0,
            direct_pcnt: 0.0,
            osync_pcnt: 0.0,
            geometric_pcnt: 0.0,
            compress_pcnt: 0.0,
            dedupe_pcnt: 0.0,
            background: false,
            sharemode: false,
            uniform_size_dist: false,
            rand_dist_behavior: RandDist::Uniform,
            fs_type: FsType::Posix,
            random_align_bytes: Self::RANDOM_ALIGN_BYTES,
            hot_spot: None,
            sequential_read_bytes: None,
            random_read_limit_ms: None,
            no_attribute_cache: false,
            depth: 1,
        }
    }
}

impl Attributes {
    /// The alignment of random offsets where a definition names none `[own]`.
    pub const RANDOM_ALIGN_BYTES: u32 = 4096;
    /// The largest depth `[own]`: each operation under way has a buffer of its own.
    pub const DEPTH_MAX: u32 = 1024;
}

/// "Rand dist behavior"; the seed names 0 only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RandDist {
    /// 0: every place alike likely, but for the hot spot where there is one.
    #[default]
    Uniform,
}

/// "FS type".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum FsType {
    /// Files and directories by system calls.
    #[default]
    Posix,
}

/// A hot spot that moves (manual N, database: 80 % of random accesses go to 5 %,
/// and the hot spots move over time).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HotSpot {
    /// Share of random accesses that go to it.
    pub access_pcnt: f64,
    /// Share of the file that it is.
    pub area_pcnt: f64,
    /// It moves to another place so often, in seconds.
    pub move_every_s: f64,
}

/// Why a workload object cannot be used; names the workload, the table and the total.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum WorkloadError {
    /// A mix that is none.
    #[error("workload {workload}: operation mix: {reason}")]
    Mix {
        /// Which workload.
        workload: String,
        /// What is wrong, with the total.
        reason: String,
    },
    /// An operation that mounted file systems do not have.
    #[error(
        "workload {workload}: operation mix: '{op}' is not an operation on mounted file systems"
    )]
    Op {
        /// Which workload.
        workload: String,
        /// Which operation.
        op: Op,
    },
    /// A transfer table that is none.
    #[error("workload {workload}: {table} transfer sizes: {reason}")]
    Transfers {
        /// Which workload.
        workload: String,
        /// `read` or `write`.
        table: &'static str,
        /// What is wrong.
        reason: TransferError,
    },
    /// An attribute out of its range.
    #[error("workload {workload}: {attribute} is {value}; it goes from {min} to {max}")]
    Attribute {
        /// Which workload.
        workload: String,
        /// Which attribute.
        attribute: &'static str,
        /// As given.
        value: f64,
        /// The least.
        min: f64,
        /// The most.
        max: f64,
    },
    /// A name that cannot be part of a directory's name.
    #[error("workload name '{0}': use 1 to 32 letters, digits and '_'")]
    Name(String),
    /// A title that is no line of text.
    #[error("workload {workload}: the title is not one line of at most 200 characters")]
    Title {
        /// Which workload.
        workload: String,
    },
}

impl WorkloadError {
    /// Why a mix is none, in the words of a workload's tables.
    pub fn of_mix(workload: &str, error: &MixError) -> Self {
        Self::Mix {
            workload: workload.to_owned(),
            reason: match error {
                MixError::Sum(sum) => format!("total {sum} percent, not 100"),
                share @ MixError::Share(..) => share.to_string(),
            },
        }
    }
}

/// Whether a workload or a benchmark may have this name, which becomes a part of
/// directory names.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.len() <= 32 && name.chars().all(plain)
}

/// Draws until a size is another than that of sequential reads.
const DRAWS_MAX: usize = 64;

impl WorkloadObject {
    /// Checks what the types do not: the name, the title, the operations, the ranges.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), WorkloadError> {
        self.faults().into_iter().next().map_or(Ok(()), Err)
    }

    /// The size of a read of this kind, in bytes.
    pub fn read_length(&self, op: Op, rng: &mut Rng) -> u32 {
        let Some(sequential) = self.attributes.sequential_read_bytes else {
            return self.read_transfers.draw(rng);
        };
        if op == Op::Read {
            return sequential;
        }
        // A table that has that one size only is drawn from all the same.
        let draws = (0..DRAWS_MAX).map(|_| self.read_transfers.draw(rng));
        let mut last = sequential;
        for drawn in draws {
            last = drawn;
            if drawn != sequential {
                break;
            }
        }
        last
    }

    /// Everything that is wrong with its figures.
    pub fn faults(&self) -> Vec<WorkloadError> {
        let mut faults = Vec::new();
        if !is_name(&self.name) {
            faults.push(WorkloadError::Name(quoted(&self.name)));
        }
        let title = &self.title;
        if title.chars().count() > 200
            || title.chars().any(char::is_control)
            || title.trim() != title
        {
            faults.push(WorkloadError::Title {
                workload: self.name.clone(),
            });
        }
        let foreign = self
            .mix
            .shares()
            .iter()
            .find(|(op, _)| !Op::POSIX.contains(op));
        if let Some((op, _)) = foreign {
            faults.push(WorkloadError::Op {
                workload: self.name.clone(),
                op: *op,
            });
        }
        let a = &self.attributes;
        let spot = a.hot_spot.unwrap_or(HotSpot {
            access_pcnt: 1.0,
            area_pcnt: 1.0,
            move_every_s: 1.0,
        });
        let ranges = [
            ("percent write commit", a.write_commit_pcnt, 0.0, 100.0),
            ("percent direct", a.direct_pcnt, 0.0, 100.0),
            ("percent osync", a.osync_pcnt, 0.0, 100.0),
            ("percent geometric", a.geometric_pcnt, 0.0, 100.0),
            ("percent compress", a.compress_pcnt, 0.0, 100.0),
            ("percent dedupe", a.dedupe_pcnt, 0.0, 100.0),
            ("hot spot access percent", spot.access_pcnt, 0.0, 100.0),
            ("hot spot area percent", spot.area_pcnt, 0.01, 100.0),
            ("hot spot move seconds", spot.move_every_s, 0.1, 1e6),
            (
                "random alignment in bytes",
                f64::from(a.random_align_bytes),
                1.0,
                f64::from(1 << 20),
            ),
            (
                "sequential read size in bytes",
                f64::from(a.sequential_read_bytes.unwrap_or(1)),
                1.0,
                f64::from(TRANSFER_BYTES_MAX),
            ),
            (
                "random read limit in ms",
                a.random_read_limit_ms.unwrap_or(1.0),
                0.001,
                3.6e6,
            ),
            (
                "depth",
                f64::from(a.depth),
                1.0,
                f64::from(Attributes::DEPTH_MAX),
            ),
        ];
        for (attribute, value, min, max) in ranges {
            if !(min..=max).contains(&value) {
                faults.push(WorkloadError::Attribute {
                    workload: self.name.clone(),
                    attribute,
                    value,
                    min,
                    max,
                });
            }
        }
        faults
    }

    /// The largest transfer that it can draw, in bytes.
    pub fn transfer_bytes_max(&self) -> u32 {
        self.read_transfers
            .max_bytes()
            .max(self.write_transfers.max_bytes())
    }
}
