//! The classical file set: which files there are, how large, and which of them are accessed.
//!
//! A file's size is a function of (seed, file number); whether it is accessed is one of (seed,
//! file number, number of files); the number of files follows from the load. Neither procs
//! nor clients enter, which is the defect that withdrew SFS 2.0 (sources.md 1.6). The files that
//! a larger load creates begin with those of the smaller one, so a sweep can grow them from
//! point to point; with few files the accessed ones of two loads differ.
//!
//! Files are numbered 0, 1, 2 ... over the whole run and dealt to the procs in turn. Sizes are
//! stratified: each block of 256 files holds one file from every 256th part of the size
//! distribution, in an order that differs from block to block.
//!
//! Which files are accessed is decided by a rule per file: within a stratum they are spread
//! evenly over the blocks. With many files their share of the bytes is their share of the
//! files. With few, one large file decides it: then the choice is made anew, from the largest
//! file to the smallest, so that the share of the bytes comes out ([`FileSet::choice`]).

use crate::benchmark::ClassicWork;
use crate::dist::SizeDistribution;
use crate::rng::{hash3, unit_interval};
use std::cmp::Reverse;

const STRATA: u64 = 256;
/// Fractional parts of the golden ratio and of the square root of two: steps of
/// two sequences that fill the unit interval evenly and independently.
const GOLDEN: f64 = 0.618_033_988_749_894_8;
const ROOT_TWO: f64 = 0.414_213_562_373_095_05;
/// Above so many files the rule needs no correction: a test holds its share of the bytes
/// within `RULE_POINTS_MAX`.
pub const CHOSEN_FILES_MAX: u64 = 65_536;
/// The rule's share of the bytes may be off by so much, in percentage points.
const RULE_POINTS_MAX: f64 = 1.0;
/// Shares of a file's size that have to be missing for it to be accessed; the first that
/// comes near enough is taken.
const THRESHOLDS: [f64; 6] = [0.5, 1.0, 0.75, 0.25, 0.9, 0.1];
/// Above so many files sums go on with the mean size: a test holds that within 0.5 %.
const SUMMED_FILES_MAX: u64 = 1 << 16;
/// Above so many files only some of the procs are looked at, with all of their files.
const DEALT_FILES_MAX: u64 = 1 << 18;

/// The rule by which the files of a run are made.
#[derive(Clone, Debug)]
pub struct FileSet {
    seed: u64,
    sizes: SizeDistribution,
    access_share: f64,
    /// The largest logical transfer, in bytes: an accessed file has to hold it.
    longest: u64,
}

/// Which files of a number of files are accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    file_count: u64,
    /// A bit per file; `None`: as the rule says.
    chosen: Option<Vec<u64>>,
}

impl Choice {
    /// Whether it is the rule's: then a larger number of files has the same ones and more.
    pub const fn is_by_rule(&self) -> bool {
        self.chosen.is_none()
    }
}

/// What the files of a load point add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FileSums {
    /// How many files there are.
    pub file_count: u64,
    /// Their bytes when they are made.
    pub created_bytes: u64,
    /// How many RUN reads and writes.
    pub accessed_count: u64,
    /// The bytes of these when they are made.
    pub accessed_bytes: u64,
    /// Share of the logical reads for which the proc has no accessed file as large, in
    /// percent: they are cut to the largest that it has.
    pub cut_reads_pcnt: f64,
}

impl FileSums {
    /// The accessed share of the bytes, in percent.
    pub fn accessed_pcnt(&self) -> f64 {
        match self.created_bytes {
            0 => 0.0,
            all => 100.0 * self.accessed_bytes as f64 / all as f64,
        }
    }
}

impl FileSet {
    /// The file set of a classical benchmark under a seed.
    pub fn new(seed: u64, classic: &ClassicWork) -> Self {
        let longest = classic.read_sizes.max().0.max(classic.write_sizes.max().0);
        Self {
            seed,
            sizes: classic.file_sizes.clone(),
            access_share: classic.fileset.access_pcnt / 100.0,
            longest,
        }
    }

    /// The size of file number `file` when it is made, in bytes.
    pub fn size_bytes(&self, file: u64) -> u64 {
        let (block, stratum) = self.place(file);
        let offset = unit_interval(hash3(self.seed, stratum, 1));
        let within = (block as f64 * GOLDEN + offset).fract();
        let quantile = (stratum as f64 + within) / STRATA as f64;
        self.sizes.quantile(quantile).0
    }

    /// Whether RUN reads and writes file number `file` of a load point with this choice.
    pub fn is_accessed(&self, choice: &Choice, file: u64) -> bool {
        match &choice.chosen {
            _ if file >= choice.file_count => false,
            None => self.is_spread(file),
            Some(bits) => {
                let word = bits.get((file / 64) as usize).copied().unwrap_or_default();
                word >> (file % 64) & 1 == 1
            }
        }
    }

    /// The rule per file.
    fn is_spread(&self, file: u64) -> bool {
        let (block, stratum) = self.place(file);
        let offset = unit_interval(hash3(self.seed, stratum, 2));
        (block as f64 * ROOT_TWO + offset).fract() < self.access_share
    }

    /// Block and stratum of a file: an affine permutation per block, with an odd
    /// factor so that it is one.
    fn place(&self, file: u64) -> (u64, u64) {
        let block = file / STRATA;
        let key = hash3(self.seed, block, 0);
        let factor = key | 1;
        let stratum = (file % STRATA).wrapping_mul(factor).wrapping_add(key >> 32) % STRATA;
        (block, stratum)
    }

    /// Which of `file_count` files are accessed: as the rule says where that gives the share
    /// of the bytes within a point, and a file that holds the largest transfer; else chosen
    /// anew.
    pub fn choice(&self, file_count: u64) -> Choice {
        let by_rule = Choice {
            file_count,
            chosen: None,
        };
        if file_count > CHOSEN_FILES_MAX {
            return by_rule;
        }
        let sizes: Vec<u64> = (0..file_count).map(|file| self.size_bytes(file)).collect();
        let largest = sizes.iter().copied().max().unwrap_or_default();
        let (mut all, mut accessed, mut holds) = (0u64, 0u64, 0u64);
        for (file, size) in (0u64..).zip(&sizes) {
            all = all.saturating_add(*size);
            if self.is_spread(file) {
                accessed = accessed.saturating_add(*size);
                holds = holds.max(*size);
            }
        }
        let off = (accessed as f64 - self.access_share * all as f64).abs();
        let is_near = off <= RULE_POINTS_MAX / 100.0 * all as f64;
        match is_near && holds >= self.longest.min(largest) {
            true => by_rule,
            false => Choice {
                file_count,
                chosen: Some(self.chosen(&sizes)),
            },
        }
    }

    /// From the largest file to the smallest: each is accessed where that brings the bytes
    /// accessed so far nearer to their share of the bytes so far. What large files leave
    /// missing or too much the many smaller ones behind them make up for. The smallest file
    /// that holds the largest transfer is accessed in any case. Where few large files hold
    /// most of the bytes, other thresholds may come nearer to the share.
    fn chosen(&self, sizes: &[u64]) -> Vec<u64> {
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|at| (Reverse(sizes[*at]), hash3(self.seed, *at as u64, 3)));
        let all: f64 = sizes.iter().map(|size| *size as f64).sum();
        let near = RULE_POINTS_MAX / 100.0 * all;
        let mut best: Option<(f64, Vec<u64>)> = None;
        for threshold in THRESHOLDS {
            let (accessed, bits) = self.chosen_by(sizes, &order, threshold);
            let off = (accessed - self.access_share * all).abs();
            if best.as_ref().is_none_or(|(least, _)| off < *least) {
                best = Some((off, bits));
            }
            if off <= near {
                break;
            }
        }
        best.map(|(_, bits)| bits).unwrap_or_default()
    }

    /// The bytes accessed, and which files. A file is accessed where so much of its size is
    /// missing to the share of the files so far.
    fn chosen_by(&self, sizes: &[u64], order: &[usize], threshold: f64) -> (f64, Vec<u64>) {
        let fits = |at: &&usize| sizes[**at] >= self.longest;
        let kept = order.iter().rev().find(fits).or(order.first()).copied();
        let mut bits = vec![0u64; sizes.len().div_ceil(64)];
        let mut accessed = kept.map_or(0.0, |at| sizes[at] as f64);
        let mut so_far = 0.0;
        for at in order.iter().copied() {
            let size = sizes[at] as f64;
            so_far += size;
            let is_kept = kept == Some(at);
            let is_wanted = self.access_share * so_far - accessed >= threshold * size;
            if is_wanted && !is_kept {
                accessed += size;
            }
            if is_wanted || is_kept {
                bits[at / 64] |= 1 << (at % 64);
            }
        }
        (accessed, bits)
    }

    /// What `file_count` files add up to, dealt to `proc_count` procs.
    pub fn sums(&self, file_count: u64, proc_count: u32, reads: &SizeDistribution) -> FileSums {
        let choice = self.choice(file_count);
        let summed = file_count.min(SUMMED_FILES_MAX);
        let mut sums = FileSums {
            file_count,
            ..FileSums::default()
        };
        for file in 0..summed {
            let size = self.size_bytes(file);
            sums.created_bytes = sums.created_bytes.saturating_add(size);
            if self.is_accessed(&choice, file) {
                sums.accessed_count += 1;
                sums.accessed_bytes = sums.accessed_bytes.saturating_add(size);
            }
        }
        let more = (file_count - summed) as f64;
        let bytes = more * self.sizes.mean_bytes();
        sums.created_bytes = sums.created_bytes.saturating_add(bytes as u64);
        let accessed = bytes * self.access_share;
        sums.accessed_bytes = sums.accessed_bytes.saturating_add(accessed as u64);
        sums.accessed_count += (more * self.access_share) as u64;
        self.add_procs(&mut sums, &choice, u64::from(proc_count.max(1)), reads);
        sums
    }

    /// What depends on how the files are dealt: procs without an accessed file have their
    /// last one, and reads are cut to the largest that a proc has. With many files it is
    /// taken from some of the procs, evenly spread over all.
    fn add_procs(
        &self,
        sums: &mut FileSums,
        choice: &Choice,
        proc_count: u64,
        reads: &SizeDistribution,
    ) {
        // Procs beyond the number of files have none.
        let procs = proc_count.min(sums.file_count);
        if procs == 0 {
            return;
        }
        let looked_at = match sums.file_count <= DEALT_FILES_MAX {
            true => procs,
            false => (procs * DEALT_FILES_MAX / sums.file_count).max(1),
        };
        let longest = reads.max().0;
        let (mut cut_pcnt, mut without, mut without_bytes) = (0.0, 0u64, 0u64);
        for at in 0..looked_at {
            let proc = at * procs / looked_at;
            let mut largest = None;
            let mut own = (proc..sums.file_count).step_by(proc_count as usize);
            while largest.is_none_or(|bytes| bytes < longest)
                && let Some(file) = own.next()
            {
                if self.is_accessed(choice, file) {
                    largest = largest.max(Some(self.size_bytes(file)));
                }
            }
            let largest = largest.unwrap_or_else(|| {
                let last = proc + (sums.file_count - 1 - proc) / proc_count * proc_count;
                let bytes = self.size_bytes(last);
                without += 1;
                without_bytes = without_bytes.saturating_add(bytes);
                bytes
            });
            let longer = reads.rows().iter().filter(|row| row.bytes() > largest);
            cut_pcnt += longer.map(|row| row.percent).sum::<f64>();
        }
        sums.cut_reads_pcnt = cut_pcnt / looked_at as f64;
        let scale = procs as f64 / looked_at as f64;
        sums.accessed_count += (without as f64 * scale) as u64;
        let bytes = (without_bytes as f64 * scale) as u64;
        sums.accessed_bytes = sums.accessed_bytes.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests;
