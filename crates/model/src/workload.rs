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
    /// Direct writes with a depth are whole multiples of this `[own]`: the largest block of disks.
    pub const DIRECT_BLOCK_BYTES: u32 = 4096;
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
    /// A depth that the kernel cannot carry out.
    #[error("workload {workload}: {reason}")]
    Depth {
        /// Which workload.
        workload: String,
        /// Why, and what to do.
        reason: String,
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

/// The buffer of an operation under way, in bytes, if so many are transferred at most: a read past
/// the cache is extended to whole blocks at both ends.
pub fn depth_buffer_bytes(largest: u32) -> u64 {
    let block = u64::from(Attributes::DIRECT_BLOCK_BYTES);
    u64::from(largest).next_multiple_of(block) + block
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

    /// Why its reads and writes cannot be under way at a time: where a cached and a direct transfer
    /// of the same pages collide, Linux reports EIO, to one of them or to a later fsync
    /// (`dio_warn_stale_pagecache` in fs/iomap and mm). Direct writes that are not whole blocks go
    /// through the cache.
    pub fn depth_fault(&self) -> Option<String> {
        let a = &self.attributes;
        if a.depth <= 1 || a.direct_pcnt <= 0.0 {
            return None;
        }
        if a.direct_pcnt < 100.0 {
            return Some(format!(
                "direct_pcnt is {} with a depth of {}: cached and direct transfers of one file under \
                 way at a time collide, and the kernel fails some of them with EIO; use direct_pcnt 0 \
                 or 100, or depth=1",
                a.direct_pcnt, a.depth
            ));
        }
        let block = Attributes::DIRECT_BLOCK_BYTES;
        let writes = |op| {
            self.mix
                .shares()
                .iter()
                .any(|(o, share)| *o == op && *share > 0.0)
        };
        let is_random = writes(Op::WriteRandom);
        let what = if !(is_random || writes(Op::Write)) {
            return None;
        } else if let Some(size) = self.write_transfers.odd_size(block) {
            format!("write transfers of {size} bytes")
        } else if is_random && !a.random_align_bytes.is_multiple_of(block) {
            format!(
                "random offsets that are multiples of {} bytes",
                a.random_align_bytes
            )
        } else {
            return None;
        };
        Some(format!(
            "{what} with direct_pcnt 100 and a depth of {}: a direct write that is not whole blocks \
             goes through the cache and collides with the direct transfers under way; use multiples \
             of {block} bytes, direct_pcnt 0, or depth=1",
            a.depth
        ))
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
        faults.extend(self.depth_fault().map(|reason| WorkloadError::Depth {
            workload: self.name.clone(),
            reason,
        }));
        faults
    }

    /// The largest read or write that may be asynchronous, in bytes.
    pub fn largest_read_or_write(&self) -> u32 {
        let sequential = self.attributes.sequential_read_bytes.unwrap_or(0);
        self.transfer_bytes_max().max(sequential)
    }

    /// Memory of the buffers of a proc, in bytes.
    pub fn buffer_bytes(&self) -> u64 {
        match self.attributes.depth {
            0 | 1 => u64::from(self.transfer_bytes_max()),
            depth => u64::from(depth) * depth_buffer_bytes(self.largest_read_or_write()),
        }
    }

    /// The largest transfer that it can draw, in bytes.
    pub fn transfer_bytes_max(&self) -> u32 {
        self.read_transfers
            .max_bytes()
            .max(self.write_transfers.max_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_depth_with_direct_writes_that_are_not_whole_blocks_is_a_fault() {
        let of = |op, depth, direct_pcnt, write_bytes, random_align_bytes| {
            let workload = WorkloadObject {
                name: "W".to_owned(),
                title: String::new(),
                mix: Mix::new([(op, 50.0), (Op::Stat, 50.0)]).expect("a mix"),
                read_transfers: TransferTable::fixed(5_000),
                write_transfers: TransferTable::fixed(write_bytes),
                attributes: Attributes {
                    depth,
                    direct_pcnt,
                    random_align_bytes,
                    ..Attributes::default()
                },
            };
            let faults = workload.faults().into_iter().map(|f| f.to_string());
            faults.collect::<Vec<_>>().join("; ")
        };
        for (op, depth, direct_pcnt, write_bytes, align, part) in [
            (Op::Write, 4, 50.0, 4096, 4096, "direct_pcnt is 50"),
            (
                Op::Write,
                4,
                100.0,
                5000,
                4096,
                "write transfers of 5000 bytes",
            ),
            (
                Op::WriteRandom,
                4,
                100.0,
                512,
                4096,
                "write transfers of 512 bytes",
            ),
            (
                Op::WriteRandom,
                4,
                100.0,
                8192,
                512,
                "multiples of 512 bytes",
            ),
            (Op::WriteRandom, 4, 100.0, 8192, 8192, ""),
            (Op::Write, 4, 100.0, 8192, 512, ""),
            (Op::Read, 4, 100.0, 5000, 1, ""),
            (Op::Write, 4, 0.0, 5000, 1, ""),
            (Op::Write, 1, 50.0, 5000, 1, ""),
        ] {
            let faults = of(op, depth, direct_pcnt, write_bytes, align);
            let case = format!("{op} {depth} {direct_pcnt} {write_bytes} {align}: {faults}");
            assert_eq!(faults.is_empty(), part.is_empty(), "{case}");
            assert!(faults.contains(part), "{case}");
            assert!(part.is_empty() || faults.contains("depth=1"), "{case}");
        }
    }
}
