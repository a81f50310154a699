//! How many bytes an operation of a component moves, before anything has run.
//!
//! A transfer ends with its file, so that its size in the mean follows from the tables of
//! transfer sizes and from the file sizes together: a transfer of 1 MiB from a file of
//! 8 KiB moves 8 KiB. Worked out by drawing sizes as a run draws them, from a stream of
//! random numbers that is always the same.

use crate::composite::Component;
use crate::dist::normal_offset;
use crate::op::{Op, PosixOp};
use crate::rng::Rng;

/// The stream of random numbers.
const SEED: u64 = 0x6d6f_7665;
/// The geometric distribution's mean lies at the n-th part of the files `[own]`.
pub const GEOMETRIC_PART: f64 = 10.0;
/// Files that a copy moves: in a run that touches its data set once, most of the bytes
/// may be those of the one bucket of copyfile.
const FILES_PER_COPY: f64 = 2.0;
/// Files that are drawn for an operation.
const FILES: u64 = 2_048;
/// Fewest transfers of a walk through a file, so that its last, short one has its weight.
const WALK_MIN: u64 = 16;
/// Most of them: of a longer walk the last transfer is lost in the others.
const WALK_MAX: u64 = 256;

/// Bytes that an operation of a mix moves: read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MovedBytes {
    /// In the mean.
    pub mean_bytes: f64,
    /// The mean of the squares, from which the scatter follows.
    pub mean_square: f64,
}

impl MovedBytes {
    /// An operation that moves so many bytes.
    fn bytes(bytes: f64) -> Self {
        Self {
            mean_bytes: bytes,
            mean_square: bytes * bytes,
        }
    }

    /// Adds a part of this weight.
    fn add(&mut self, other: Self, weight: f64) {
        self.mean_bytes += other.mean_bytes * weight;
        self.mean_square += other.mean_square * weight;
    }

    /// For operations that each transfer this many times.
    fn times(self, n: f64) -> Self {
        Self {
            mean_bytes: self.mean_bytes * n,
            mean_square: self.mean_square * n * n,
        }
    }
}

impl Component {
    /// What an operation of its mix moves; operations that move nothing count too.
    pub fn moved_per_op(&self) -> MovedBytes {
        let w = &self.workload;
        let mut all = MovedBytes::default();
        for (op, percent) in w.mix.shares() {
            let Some(of_tree) = op.posix() else {
                continue;
            };
            let moved = match of_tree {
                PosixOp::ReadRandom | PosixOp::MmapRead => {
                    self.places(|rng| w.read_length(*op, rng))
                }
                PosixOp::WriteRandom | PosixOp::MmapWrite => {
                    self.places(|rng| w.write_transfers.draw(rng))
                }
                PosixOp::Rmw => self.places(|rng| w.write_transfers.draw(rng)).times(2.0),
                PosixOp::Read => self.walks(|rng| w.read_length(*op, rng)),
                // Appended are as many bytes as a file has, then it is cut back.
                PosixOp::Write | PosixOp::Append => self.walks(|rng| w.write_transfers.draw(rng)),
                PosixOp::ReadFile | PosixOp::WriteFile => self.files(),
                PosixOp::Copyfile => self.files().times(2.0),
                PosixOp::Mkdir
                | PosixOp::Rmdir
                | PosixOp::Create
                | PosixOp::Unlink
                | PosixOp::Unlink2
                | PosixOp::Locking
                | PosixOp::Access
                | PosixOp::Stat
                | PosixOp::Chmod
                | PosixOp::Readdir
                | PosixOp::Rename
                | PosixOp::Statfs
                | PosixOp::Pathconf
                | PosixOp::Custom1
                | PosixOp::Custom2 => continue,
            };
            all.add(moved, percent / 100.0);
        }
        all
    }

    /// The standard error of [`Component::moved_per_op`] on one tree, as a share of it:
    /// where few files have most of the operations, or are copied over the others, it is
    /// their sizes that count and not the mean of all.
    pub fn moved_doubt(&self) -> f64 {
        let w = &self.workload;
        let sizes = self.files();
        let mean = sizes.mean_bytes.max(1.0);
        let variation = (sizes.mean_square / (mean * mean) - 1.0).max(0.0).sqrt();
        let files = self.files_per_bucket().max(1) as f64;
        // Of an exponential distribution over files with this mean count twice as many.
        let favourites = (2.0 * files / GEOMETRIC_PART).max(1.0);
        let geometric = w.attributes.geometric_pcnt / 100.0 / favourites.sqrt();
        let all = self.moved_per_op().mean_bytes.max(1.0);
        let copied = 2.0 * mean * w.mix.percent(Op::Copyfile) / 100.0 / all;
        let copies_per_file = self.data_buckets().count() as f64 / FILES_PER_COPY;
        let copied = copied * (2.0 * copies_per_file / files).min(1.0).sqrt();
        variation * geometric.hypot(copied)
    }

    /// What transfers at places in a file move.
    fn places(&self, draw: impl Fn(&mut Rng) -> u32) -> MovedBytes {
        let mut rng = Rng::new(SEED, 1);
        self.mean(|size| MovedBytes::bytes(u64::from(draw(&mut rng)).min(size) as f64))
    }

    /// What transfers move that go through a file from its beginning to its end, and
    /// again: all files have as many of them.
    fn walks(&self, draw: impl Fn(&mut Rng) -> u32) -> MovedBytes {
        let mut rng = Rng::new(SEED, 2);
        self.mean(|size| {
            let (mut sum, mut count, mut place) = (MovedBytes::default(), 0, 0);
            while count < WALK_MAX && (count < WALK_MIN || place < size) {
                if place >= size {
                    place = 0;
                }
                let length = u64::from(draw(&mut rng)).min(size - place);
                place += length;
                count += 1;
                sum.add(MovedBytes::bytes(length as f64), 1.0);
            }
            let mut mean = MovedBytes::default();
            mean.add(sum, 1.0 / count as f64);
            mean
        })
    }

    /// What moving whole files moves.
    fn files(&self) -> MovedBytes {
        self.mean(|size| MovedBytes::bytes(size as f64))
    }

    /// The mean over its files.
    fn mean(&self, mut of: impl FnMut(u64) -> MovedBytes) -> MovedBytes {
        let mut rng = Rng::new(SEED, 0);
        let mut mean = MovedBytes::default();
        for at in 0..FILES {
            let size = match &self.file_sizes {
                Some(table) => table.quantile((at as f64 + 0.5) / FILES as f64).0,
                None if self.workload.attributes.uniform_size_dist => self.file_bytes,
                None => {
                    let off = normal_offset(self.file_bytes, rng.next_u64());
                    self.file_bytes.saturating_add_signed(off)
                }
            };
            mean.add(of(size), 1.0 / FILES as f64);
        }
        mean
    }
}
