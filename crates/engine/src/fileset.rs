//! The files of a proc: which of the run's files are assigned to it, and which of these are
//! accessed. The file set itself is [`filermark_model::fileset`].

pub use filermark_model::fileset::{Choice, FileSet};

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
/// Takes 20 bytes per accessed file, nothing for the others; 4 more where load points have
/// so few files that each makes its own choice.
#[derive(Clone, Debug)]
pub struct AccessedFiles {
    /// All that any load point so far has accessed, in the order in which they were added:
    /// an index always stands for the same file.
    files: Vec<AccessedFile>,
    /// Those of the present load: sizes at creation, ascending, each with the index of its
    /// file.
    by_size: Vec<(u32, u32)>,
    /// Indices in the order of `local`, where `files` is not in that order.
    by_local: Vec<u32>,
    /// Whether every load point so far took the rule's choice.
    by_rule: bool,
    /// How many of the proc's files have been examined.
    scanned: u32,
}

/// One accessed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessedFile {
    /// The proc's own number for it.
    pub local: u32,
    /// It certainly holds data up to here, in bytes.
    pub stable_bytes: u32,
    /// Where the next append goes, in bytes.
    pub end_bytes: u32,
}

impl Default for AccessedFiles {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            by_size: Vec::new(),
            by_local: Vec::new(),
            by_rule: true,
            scanned: 0,
        }
    }
}

impl AccessedFiles {
    /// Selects those of the proc's first `count` files that are in `choice`: adds new ones and
    /// keeps those of other loads. So the same load always accesses the same files, whatever
    /// was measured before.
    pub fn fit(&mut self, set: &FileSet, choice: &Choice, deal: Deal, count: u32) {
        let is_wanted = |local: u32| set.is_accessed(choice, deal.file(local));
        let keeps_order = self.by_rule && choice.is_by_rule();
        self.by_rule = keeps_order;
        self.sort();
        let first = if keeps_order { self.scanned } else { 0 };
        for local in first..count {
            if is_wanted(local) && (keeps_order || self.position(local).is_none()) {
                self.take_in(set, deal, local);
            }
        }
        self.scanned = self.scanned.max(count);
        self.sort();
        let created = |f: &AccessedFile| clamp_u32(set.size_bytes(deal.file(f.local)));
        self.by_size.clear();
        let of_load = self
            .files
            .iter()
            .zip(0..)
            .filter(|(f, _)| is_wanted(f.local));
        self.by_size.extend(of_load.map(|(f, at)| (created(f), at)));
        if self.by_size.is_empty() && count > 0 {
            self.take_last(set, deal, count - 1);
        }
        self.by_size.sort_unstable();
    }

    fn take_in(&mut self, set: &FileSet, deal: Deal, local: u32) {
        let bytes = clamp_u32(set.size_bytes(deal.file(local)));
        self.files.push(AccessedFile {
            local,
            stable_bytes: bytes,
            end_bytes: bytes,
        });
    }

    /// A proc of whose files none is accessed works on its last one.
    fn take_last(&mut self, set: &FileSet, deal: Deal, local: u32) {
        if self.position(local).is_none() {
            self.take_in(set, deal, local);
            // A larger load may have files before this one.
            self.by_rule = false;
            self.sort();
        }
        if let Some(at) = self.position(local) {
            let bytes = clamp_u32(set.size_bytes(deal.file(local)));
            self.by_size.push((bytes, at as u32));
        }
    }

    fn sort(&mut self) {
        self.by_local.clear();
        if !self.by_rule {
            self.by_local.extend(0..self.files.len() as u32);
            let files = &self.files;
            self.by_local.sort_by_key(|at| files[*at as usize].local);
        }
    }

    /// Forgets all files.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// How many there are, of all load points so far.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// How many belong to the present load.
    pub fn active_len(&self) -> usize {
        self.by_size.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// How many of the proc's files were examined, accessed or not.
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

    /// The index of the proc's file `local`, if a load point so far has accessed it.
    pub fn position(&self, local: u32) -> Option<usize> {
        let order = &self.by_local;
        if order.is_empty() {
            return self.files.binary_search_by_key(&local, |f| f.local).ok();
        }
        let at = order.binary_search_by_key(&local, |at| self.files[*at as usize].local);
        at.ok().map(|at| order[at] as usize)
    }

    /// Picks a file that held at least `length` bytes when it was made, each of
    /// these with the same chance ("best fit", sources.md 1.4); the largest where
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

    /// Picks any file of the present load.
    #[inline]
    pub fn pick(&self, rng: &mut filermark_model::Rng) -> Option<usize> {
        match self.by_size.len() {
            0 => None,
            n => Some(self.by_size[rng.below(n as u64) as usize].1 as usize),
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

    /// Sets the size of a file to its size at creation; returns that size.
    pub fn reset_size(&mut self, at: usize, created_bytes: u64) {
        let bytes = clamp_u32(created_bytes);
        self.files[at].stable_bytes = bytes;
        self.files[at].end_bytes = bytes;
    }

    /// The present size of those that belong to the present load, in bytes.
    pub fn bytes(&self) -> u64 {
        let of_load = self.by_size.iter().map(|(_, at)| self.files[*at as usize]);
        of_load.map(|f| u64::from(f.end_bytes)).sum()
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
        (FileSet::new(11, &b), b)
    }

    #[test]
    fn sizes_and_accessed_share_are_as_defined() {
        let (set, b) = set();
        let n = 38_400; // 100 op/s
        let total: u64 = (0..n).map(|f| set.size_bytes(f)).sum();
        let mean = total as f64 / n as f64;
        let want = b.file_sizes.mean_bytes();
        assert!((mean / want - 1.0).abs() < 0.01, "{mean} for {want}");
        let choice = set.choice(n);
        let accessed: Vec<u64> = (0..n).filter(|f| set.is_accessed(&choice, *f)).collect();
        let files = accessed.len() as f64 / n as f64;
        let bytes = accessed.iter().map(|f| set.size_bytes(*f)).sum::<u64>() as f64 / total as f64;
        assert!((files - 0.30).abs() < 0.003, "{files}");
        assert!((bytes - 0.30).abs() < 0.01, "{bytes}");
    }

    /// Sources.md 1.6: the accessed files must not depend on how many
    /// procs share the work. 200,000 reads, divided among 1 to 1,000 procs.
    #[test]
    fn the_touched_files_do_not_depend_on_the_number_of_procs() {
        let (set, b) = set();
        let total = 384_000u64; // 1,000 op/s
        let choice = set.choice(total);
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
                files.fit(&set, &choice, deal, deal.count(total));
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

    /// The file numbers of the present load, and what picks find.
    fn picked(files: &AccessedFiles) -> Vec<u32> {
        let mut rng = Rng::new(1, 2);
        let lengths = [1, 5_000, 100_000, 1 << 20].into_iter().cycle().take(400);
        let fitting = lengths.filter_map(|n| files.pick_fitting(n, &mut rng));
        fitting.map(|at| files.get(at).local).collect()
    }

    /// Large loads take the rule's choice, small ones a choice of their own: whatever was
    /// measured before, a load accesses the same files as when it is measured alone.
    #[test]
    fn a_larger_set_begins_with_the_smaller_one() {
        let (set, _) = set();
        let deal = Deal {
            proc_count: 7,
            proc: 3,
        };
        let counts = [150u64, 700, 3_000, 90_000, 9_000, 150, 700];
        assert!(counts.iter().any(|n| !set.choice(*n).is_by_rule()));
        let mut grown = AccessedFiles::default();
        for count in counts {
            let choice = set.choice(count);
            let before: Vec<_> = grown.iter().copied().collect();
            grown.fit(&set, &choice, deal, deal.count(count));
            // An index always stands for the same file: the driver's handles depend on it.
            assert!(grown.iter().copied().take(before.len()).eq(before));
            let mut alone = AccessedFiles::default();
            alone.fit(&set, &choice, deal, deal.count(count));
            assert_eq!(
                (grown.bytes(), grown.active_len()),
                (alone.bytes(), alone.active_len())
            );
            let locals = |files: &AccessedFiles| {
                let mut all: Vec<u32> = files
                    .by_size
                    .iter()
                    .map(|(_, at)| files.get(*at as usize).local)
                    .collect();
                all.sort_unstable();
                all
            };
            assert_eq!(locals(&grown), locals(&alone));
            let wanted: Vec<u32> = (0..deal.count(count))
                .filter(|n| set.is_accessed(&choice, deal.file(*n)))
                .collect();
            assert_eq!(locals(&grown), wanted);
            assert_eq!(picked(&grown).len(), 400);
            for (at, file) in grown.iter().enumerate() {
                assert_eq!(grown.position(file.local), Some(at));
            }
        }
    }

    /// The sums of the plan are those of the procs: exact to the file where all files are
    /// added up, approximate where the mean size is used, or not all procs are examined.
    #[test]
    fn the_sums_of_a_plan_are_those_of_the_procs() {
        let (set, b) = set();
        let longer = |largest: u32| -> f64 {
            let rows = b.read_sizes.rows().iter();
            let cut = rows.filter(|row| row.bytes() > u64::from(largest));
            cut.map(|row| row.percent).sum()
        };
        for (total, procs) in [
            (20u64, 8u32),
            (150, 8),
            (700, 3),
            (3_000, 16),
            (90_000, 3_200),
            (400_000, 3_200),
        ] {
            let choice = set.choice(total);
            let (mut count, mut bytes, mut cut) = (0, 0, 0.0);
            for proc in 0..procs {
                let deal = Deal {
                    proc_count: procs,
                    proc,
                };
                let mut files = AccessedFiles::default();
                files.fit(&set, &choice, deal, deal.count(total));
                count += files.active_len() as u64;
                bytes += files.bytes();
                cut += files
                    .by_size
                    .last()
                    .map_or(0.0, |(bytes, _)| longer(*bytes));
            }
            cut /= f64::from(procs);
            let sums = set.sums(total, procs, &b.read_sizes);
            let near = |sum: u64, real: u64| (sum as f64 / real as f64 - 1.0).abs();
            let exact = total <= 65_536;
            let (off, cut_off) = if exact {
                (0.0, 1e-9)
            } else {
                (0.005, 0.01 + 0.02 * cut)
            };
            let all = format!("{total} for {procs}: {sums:?}, and {count}, {bytes}, {cut}");
            assert!(near(sums.accessed_count, count) <= off, "{all}");
            assert!(near(sums.accessed_bytes, bytes) <= off, "{all}");
            assert!((sums.cut_reads_pcnt - cut).abs() <= cut_off, "{all}");
        }
    }

    #[test]
    fn all_files_are_dealt() {
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
        files.fit(&set, &set.choice(10), deal, 10);
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
