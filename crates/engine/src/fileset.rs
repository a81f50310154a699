//! The file set: which files there are, how large, and which of them are touched.
//!
//! A pure function of (seed, file number); the number of files follows from the
//! load. Neither procs nor clients enter, which is the defect that withdrew
//! SFS 2.0 (facts.md 1.6). A larger load's file set begins with the smaller
//! one's, so a sweep can grow it from point to point.
//!
//! Files are numbered 0, 1, 2 ... over the whole run and dealt to the procs in
//! turn. Sizes are stratified: each block of 256 files holds one file from every
//! 256th part of the size distribution, in an order that differs from block to
//! block, so that any proc's hand is a fair sample. Within a stratum the
//! accessed files are spread evenly over the blocks, so that 30 % of the files
//! are also 30 % of the bytes.

use filermark_model::SizeDistribution;
use filermark_model::rng::{hash3, unit_interval};

const STRATA: u64 = 256;
/// Fractional parts of the golden ratio and of the square root of two: steps of
/// two sequences that fill the unit interval evenly and independently.
const GOLDEN: f64 = 0.618_033_988_749_894_8;
const ROOT_TWO: f64 = 0.414_213_562_373_095_05;

/// The rule by which the files of a run are made.
#[derive(Clone, Debug)]
pub struct FileSet {
    seed: u64,
    sizes: SizeDistribution,
    access_share: f64,
}

impl FileSet {
    /// The file set of the run with this `seed`; `access_pcnt` of it is touched.
    pub fn new(seed: u64, sizes: SizeDistribution, access_pcnt: f64) -> Self {
        Self {
            seed,
            sizes,
            access_share: access_pcnt / 100.0,
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

    /// Whether RUN reads and writes file number `file`.
    pub fn is_accessed(&self, file: u64) -> bool {
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
}

/// How the files of a run are dealt to its procs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deal {
    /// Procs in the whole run.
    pub proc_count: u32,
    /// This proc's number.
    pub proc: u32,
}

impl Deal {
    /// The run-wide number of the proc's own file number `local`.
    pub fn file(self, local: u32) -> u64 {
        u64::from(local) * u64::from(self.proc_count) + u64::from(self.proc)
    }

    /// How many of `total` files are this proc's.
    pub fn count(self, total: u64) -> u32 {
        let procs = u64::from(self.proc_count.max(1));
        let extra = u64::from(u64::from(self.proc) < total % procs);
        u32::try_from(total / procs + extra).unwrap_or(u32::MAX)
    }
}

/// The files of one proc that RUN touches.
///
/// Takes 20 bytes per accessed file, nothing for the others.
#[derive(Clone, Debug, Default)]
pub struct AccessedFiles {
    files: Vec<AccessedFile>,
    /// How many of them belong to the present load: the first ones.
    active: usize,
    /// Sizes at creation, rising, and beside each the index of its file.
    by_size: Vec<(u32, u32)>,
    /// How many of the proc's files have been looked at.
    scanned: u32,
}

/// One accessed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessedFile {
    /// The proc's own number for it.
    pub local: u32,
    /// Up to here it surely holds data, in bytes.
    pub stable_bytes: u32,
    /// Where the next append goes, in bytes.
    pub end_bytes: u32,
}

impl AccessedFiles {
    /// Makes the proc's first `count` files the ones to work on: takes in what is
    /// new, and leaves alone what a larger load has left. So the same load always
    /// meets the same files, whatever was measured before.
    pub fn fit(&mut self, set: &FileSet, deal: Deal, count: u32) {
        for local in self.scanned..count {
            let last_chance = local + 1 == count && self.files.is_empty();
            if set.is_accessed(deal.file(local)) || last_chance {
                let bytes = clamp_u32(set.size_bytes(deal.file(local)));
                self.files.push(AccessedFile {
                    local,
                    stable_bytes: bytes,
                    end_bytes: bytes,
                });
            }
        }
        self.scanned = self.scanned.max(count);
        let of_load = self.files.partition_point(|f| f.local < count);
        self.active = of_load.max(1).min(self.files.len());
        let created = |f: &AccessedFile| clamp_u32(set.size_bytes(deal.file(f.local)));
        let active = self.files[..self.active].iter();
        self.by_size.clear();
        self.by_size
            .extend(active.zip(0..).map(|(f, at)| (created(f), at)));
        self.by_size.sort_unstable();
    }

    /// Forgets all files.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// How many of the proc's files were taken in, accessed or not.
    pub fn scanned(&self) -> u32 {
        self.scanned
    }

    /// The file at an index.
    pub fn get(&self, at: usize) -> AccessedFile {
        self.files[at]
    }

    /// All of them, in creation order.
    pub fn iter(&self) -> impl Iterator<Item = &AccessedFile> {
        self.files.iter()
    }

    /// The position of the proc's file `local`, if it is accessed.
    pub fn position(&self, local: u32) -> Option<usize> {
        self.files.binary_search_by_key(&local, |f| f.local).ok()
    }

    /// Picks a file that held at least `length` bytes when it was made, each of
    /// these with the same chance ("best fit", facts.md 1.4); the largest where
    /// none did. `None` only when there are no files.
    #[inline]
    pub fn pick_fitting(&self, length: u32, rng: &mut filermark_model::Rng) -> Option<usize> {
        let first = self.by_size.partition_point(|(size, _)| *size < length);
        let fitting = (self.by_size.len() - first) as u64;
        let at = match fitting {
            0 => self.by_size.len().checked_sub(1)?,
            n => first + rng.below(n) as usize,
        };
        Some(self.by_size[at].1 as usize)
    }

    /// Picks any file.
    #[inline]
    pub fn pick(&self, rng: &mut filermark_model::Rng) -> Option<usize> {
        match self.active {
            0 => None,
            n => Some(rng.below(n as u64) as usize),
        }
    }

    /// Reserves `length` bytes at the end of a file for an append; gives the offset.
    pub fn begin_append(&mut self, at: usize, length: u32) -> u32 {
        let file = &mut self.files[at];
        let offset = file.end_bytes;
        file.end_bytes = offset.saturating_add(length);
        offset
    }

    /// Ends an append that was begun.
    pub fn end_append(&mut self, at: usize, offset: u32, length: u32, worked: bool) {
        let Some(file) = self.files.get_mut(at) else {
            return;
        };
        if worked && file.stable_bytes == offset {
            file.stable_bytes = offset.saturating_add(length);
        } else if !worked && file.end_bytes == offset.saturating_add(length) {
            file.end_bytes = offset;
        }
    }

    /// Makes a file be as large as when it was made; gives that size.
    pub fn reset_size(&mut self, at: usize, created_bytes: u64) {
        let bytes = clamp_u32(created_bytes);
        self.files[at].stable_bytes = bytes;
        self.files[at].end_bytes = bytes;
    }

    /// The size now of those that belong to the present load, in bytes.
    pub fn bytes(&self) -> u64 {
        self.files[..self.active]
            .iter()
            .map(|f| u64::from(f.end_bytes))
            .sum()
    }
}

fn clamp_u32(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::benchmark::ClassicWork;
    use filermark_model::{Benchmark, Rng};

    fn set() -> (FileSet, ClassicWork) {
        let b = Benchmark::shipped("general-nfs3")
            .unwrap()
            .classic()
            .unwrap()
            .clone();
        (FileSet::new(11, b.file_sizes.clone(), 30.0), b)
    }

    #[test]
    fn sizes_and_accessed_share_are_as_defined() {
        let (set, b) = set();
        let n = 38_400; // 100 op/s
        let total: u64 = (0..n).map(|f| set.size_bytes(f)).sum();
        let mean = total as f64 / n as f64;
        let want = b.file_sizes.mean_bytes();
        assert!((mean / want - 1.0).abs() < 0.01, "{mean} for {want}");
        let accessed: Vec<u64> = (0..n).filter(|f| set.is_accessed(*f)).collect();
        let files = accessed.len() as f64 / n as f64;
        let bytes = accessed.iter().map(|f| set.size_bytes(*f)).sum::<u64>() as f64 / total as f64;
        assert!((files - 0.30).abs() < 0.003, "{files}");
        assert!((bytes - 0.30).abs() < 0.01, "{bytes}");
    }

    /// The lesson of facts.md 1.6: what is touched must not depend on how many
    /// procs share the work. The same 200,000 reads, dealt to 1 to 1,000 procs.
    #[test]
    fn the_touched_files_do_not_depend_on_the_number_of_procs() {
        let (set, b) = set();
        let total = 384_000u64; // 1,000 op/s
        let reads = 200_000u32;
        let profile = |procs: u32| {
            let mut counts = vec![0u16; total as usize];
            let mut bytes = 0u64;
            let (mut accessed_files, mut accessed_bytes) = (0usize, 0u64);
            for proc in 0..procs {
                let deal = Deal {
                    proc_count: procs,
                    proc,
                };
                let mut files = AccessedFiles::default();
                files.fit(&set, deal, deal.count(total));
                accessed_files += files.len();
                accessed_bytes += files.bytes();
                let mut rng = Rng::new(5, u64::from(proc));
                for _ in 0..reads / procs {
                    let length = b.read_sizes.draw(&mut rng).0 as u32;
                    let at = files.pick_fitting(length, &mut rng).unwrap();
                    let file = deal.file(files.get(at).local);
                    counts[file as usize] += 1;
                    bytes += set.size_bytes(file);
                }
            }
            let distinct = counts.iter().filter(|c| **c > 0).count() as f64;
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let top = counts[..total as usize / 100]
                .iter()
                .map(|c| u64::from(*c))
                .sum::<u64>();
            let done = f64::from(reads / procs * procs);
            [
                accessed_files as f64,
                accessed_bytes as f64,
                distinct,
                bytes as f64 / done,
                top as f64 / done,
            ]
        };
        let one = profile(1);
        for procs in [2, 3, 7, 8, 13, 32, 100, 144, 250, 256, 500, 987, 1000] {
            let many = profile(procs);
            for (what, (got, want)) in ["files", "bytes", "distinct", "mean size", "top 1 %"]
                .iter()
                .zip(many.iter().zip(one))
            {
                let off = (got / want - 1.0).abs();
                assert!(off < 0.03, "{procs} procs: {what} {got} for {want}");
            }
        }
    }

    #[test]
    fn a_larger_set_begins_with_the_smaller_one() {
        let (set, _) = set();
        let deal = Deal {
            proc_count: 7,
            proc: 3,
        };
        let mut grown = AccessedFiles::default();
        grown.fit(&set, deal, deal.count(3_000));
        let small: Vec<_> = grown.iter().copied().collect();
        grown.fit(&set, deal, deal.count(9_000));
        assert_eq!(
            grown.iter().copied().take(small.len()).collect::<Vec<_>>(),
            small
        );
        assert_eq!(grown.scanned(), deal.count(9_000));
        // Back to the smaller load: the very files that it would meet alone.
        grown.fit(&set, deal, deal.count(3_000));
        let mut alone = AccessedFiles::default();
        alone.fit(&set, deal, deal.count(3_000));
        assert_eq!(grown.bytes(), alone.bytes());
        for length in [1, 5_000, 100_000, 1 << 20] {
            let (mut a, mut b) = (Rng::new(1, 2), Rng::new(1, 2));
            for _ in 0..100 {
                assert_eq!(
                    grown.pick_fitting(length, &mut a),
                    alone.pick_fitting(length, &mut b)
                );
                assert_eq!(grown.pick(&mut a), alone.pick(&mut b));
            }
        }
        let dealt: u32 = (0..7)
            .map(|proc| {
                Deal {
                    proc_count: 7,
                    proc,
                }
                .count(9_001)
            })
            .sum();
        assert_eq!(dealt, 9_001);
    }

    #[test]
    fn appends_are_reserved_and_confirmed_in_order() {
        let (set, _) = set();
        let deal = Deal {
            proc_count: 1,
            proc: 0,
        };
        let mut files = AccessedFiles::default();
        files.fit(&set, deal, 10);
        let base = files.get(0).end_bytes;
        let first = files.begin_append(0, 100);
        let second = files.begin_append(0, 50);
        assert_eq!((first, second), (base, base + 100));
        files.end_append(0, second, 50, true);
        assert_eq!(files.get(0).stable_bytes, base);
        files.end_append(0, first, 100, true);
        assert_eq!(files.get(0).stable_bytes, base + 100);
        assert_eq!(files.get(0).end_bytes, base + 150);
    }

    #[test]
    fn accessed_files_take_little_memory() {
        assert!(size_of::<AccessedFile>() + size_of::<(u32, u32)>() <= 20);
    }
}
