//! Generations: every write has its own, and recent writes are recorded, so
//! that a read of older data is noticed.
//!
//! One per shard, on its thread. For a range that only one proc writes, a read may show
//! the last write that was acknowledged before the read began, or one that was issued
//! since; nothing older. That is exact for the writes that the table still holds, if one write of
//! the proc is under way at a time; where writes overlap, those that ended shortly before the last
//! one began are right, too (`open_writes`). For ranges that the table does not hold any generation
//! that this shard has issued is right. After a write that failed
//! or had to be sent again, its bytes may still arrive at any time: from then on all
//! generations of that proc's writes from this one on are right.

use super::check::GenerationMix;
use super::compared::CompareOutcome;
use super::generation_set::Candidates;
use super::open_writes::{CohortNumber, OpenWrites};
use super::sampling::Sampling;
use super::sector::{BLOCK_SECTORS, GENERATION_LIMIT, SECTOR_BYTES};
use super::{DataSource, VerifyLevel};
use filermark_model::rng::hash3;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Ranges that are remembered, of a shard of many procs and of one that has one: powers of two.
const RANGES: usize = 1 << 14;
const RANGES_OF_ONE: usize = 1 << 8;
/// Bits of a generation that count the writes of a shard; the others are its number.
const COUNT_BITS: u32 = 32;
/// Numbers of shards.
pub(super) const EPOCHS: u32 = 1 << (GENERATION_LIMIT.ilog2() - COUNT_BITS);
/// Distinguishes the keys of single sectors from those of blocks.
const SINGLE: u64 = 1 << 63;

/// A write that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteMark {
    /// What its data is made with.
    pub generation: u64,
    /// The oldest write of the proc that may not have ended when this one began.
    oldest: u64,
    cohort: CohortNumber,
}

impl WriteMark {
    /// Data of this generation is sent again while the write is under way.
    pub fn lower(&mut self, generation: u64) {
        self.oldest = self.oldest.min(generation);
    }
}

/// A range that was written: generations below `floor` are gone from it since `event`.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    key: u64,
    floor: u64,
    event: u64,
}

/// The generations of a shard's writes, and the recent writes.
#[derive(Debug)]
pub struct History {
    data: Arc<DataSource>,
    /// The last generation that was assigned.
    last: u64,
    procs: Vec<OpenWrites>,
    /// By hash of file and place; the newer one replaces the older. Empty before the first write.
    written: Vec<Written>,
    ranges: usize,
    /// Writes that have ended.
    event: u64,
    sampling: Sampling,
    /// Writes of a proc have overlapped, or the outcome of one is not known.
    may_tear: bool,
}

impl History {
    /// For a shard with this many procs.
    pub fn new(data: Arc<DataSource>, proc_count: usize) -> Self {
        Self {
            last: first_generation(&data),
            data,
            procs: vec![OpenWrites::default(); proc_count],
            written: Vec::new(),
            ranges: match proc_count {
                0 | 1 => RANGES_OF_ONE,
                _ => RANGES,
            },
            event: 0,
            sampling: Sampling::new(),
            may_tear: false,
        }
    }

    /// The contents.
    pub fn data(&self) -> &DataSource {
        &self.data
    }

    /// What is compared.
    pub fn level(&self) -> VerifyLevel {
        self.data.checking
    }

    /// Whether a read of wrong data counts as failed. Where only samples are compared, it is
    /// only counted: how many of the wrong reads would fail is random.
    pub fn fails_reads(&self) -> bool {
        self.data.checking == VerifyLevel::All
    }

    /// A write of a proc to a range (file, offset, length) begins.
    #[inline]
    pub fn begin_write(&mut self, proc: u32, range: (u64, u64, u64)) -> WriteMark {
        let (file, offset, length) = range;
        self.data.common.boundaries.note_write(file, offset, length);
        self.begin_fill(proc)
    }

    /// A proc begins to write a new file: nothing else is in its sectors,
    /// until a write begins in one.
    #[inline]
    pub fn begin_fill(&mut self, proc: u32) -> WriteMark {
        let generation = self.next_generation();
        let Some(writes) = self.procs.get_mut(proc as usize) else {
            return WriteMark {
                generation,
                oldest: generation,
                cohort: CohortNumber::default(),
            };
        };
        self.may_tear |= !writes.is_empty();
        let cohort = writes.begin(generation);
        WriteMark {
            generation,
            oldest: writes.oldest().unwrap_or(generation),
            cohort,
        }
    }

    /// A generation that no write and no other shard has: also for values that are no contents of files.
    #[inline]
    pub fn next_generation(&mut self) -> u64 {
        self.last += 1;
        if self.last & ((1 << COUNT_BITS) - 1) == 0 {
            self.last = first_generation(&self.data) + 1;
        }
        self.last
    }

    /// A write has ended; `certain`: all of it is on the server, and no part of it can
    /// still arrive.
    pub fn end_write(
        &mut self,
        proc: u32,
        mark: WriteMark,
        (file, offset, length): (u64, u64, u64),
        certain: bool,
    ) {
        if !certain {
            self.may_tear = true;
            return;
        }
        if let Some(writes) = self.procs.get_mut(proc as usize) {
            writes.end(mark.cohort);
        }
        if self.data.shared {
            return;
        }
        if self.written.is_empty() {
            self.written = vec![Written::default(); self.ranges];
        }
        self.event += 1;
        let (first, end) = (
            offset.div_ceil(SECTOR_BYTES),
            offset.saturating_add(length) / SECTOR_BYTES,
        );
        let mut sector = first;
        while sector < end {
            let whole = sector.is_multiple_of(BLOCK_SECTORS) && end - sector >= BLOCK_SECTORS;
            let (key, step) = match whole {
                true => (block_key(file, sector), BLOCK_SECTORS),
                false => (sector_key(file, sector), 1),
            };
            let place = key as usize & (self.written.len() - 1);
            self.written[place] = Written {
                key,
                floor: mark.oldest,
                event: self.event,
            };
            sector += step;
        }
    }

    /// Data of a write that had ended is sent again, since the server lost it: until
    /// [`Self::end_again`] it counts as under way, and the writes under way must be
    /// [lowered](WriteMark::lower).
    pub fn begin_again(&mut self, proc: u32, generation: u64) {
        self.may_tear = true;
        if let Some(writes) = self.procs.get_mut(proc as usize) {
            writes.begin_again(generation);
        }
    }

    /// The data is stored again; `certain`: no part of it can still arrive.
    pub fn end_again(&mut self, proc: u32, certain: bool) {
        if let Some(writes) = self.procs.get_mut(proc as usize)
            && certain
        {
            writes.end_again();
        }
    }

    /// Whether writes are under way, or of unknown outcome.
    pub fn has_open_writes(&self) -> bool {
        self.procs.iter().any(|writes| !writes.is_empty())
    }

    /// The position of a read in the order of writes.
    #[inline]
    pub fn begin_read(&self) -> u64 {
        self.event
    }

    /// Compares what a read that began at `since` returned: all of it, a sector or nothing.
    #[inline]
    pub fn check(&mut self, since: u64, file: u64, offset: u64, data: &[u8]) -> CompareOutcome {
        let part = self.part(offset, data.len());
        if part.is_empty() {
            return CompareOutcome::NOTHING;
        }
        let began = self.sampling.is_timed().then(Instant::now);
        let compared = self.compare(since, file, offset + part.start as u64, &data[part]);
        if let Some(began) = began {
            self.sampling.note_cost(began.elapsed());
        }
        compared
    }

    /// Which part of the next read of a range is to be compared.
    #[inline]
    pub fn part(&mut self, offset: u64, len: usize) -> Range<usize> {
        match self.data.checking {
            VerifyLevel::Nothing => 0..0,
            VerifyLevel::All => 0..len,
            VerifyLevel::Sample => self.sampling.draw(offset, len),
        }
    }

    /// Compares all of what a read that began at `since` returned.
    pub fn compare(&self, since: u64, file: u64, offset: u64, data: &[u8]) -> CompareOutcome {
        let is_reused = self.data.is_reused(file);
        let mixture = |sector| {
            let cuts = || self.data.common.boundaries.of(file, sector);
            match self.data.overlapping || self.may_tear {
                _ if is_reused || self.data.shared => GenerationMix::Any,
                true => {
                    GenerationMix::Torn(cuts(), self.accepted(since, (file, sector), is_reused))
                }
                false => GenerationMix::Cut(cuts()),
            }
        };
        let accepts = |sector, generation| {
            (self.accepted(since, (file, sector), is_reused)).spans(generation)
        };
        let checked = self.data.check(file, offset, data, mixture, accepts);
        CompareOutcome {
            good: checked.good,
            bytes: checked.bytes,
            undecided_bytes: (data.len() as u64).saturating_sub(checked.bytes),
        }
    }

    /// The generations that a read of a sector may show.
    fn accepted(&self, since: u64, (file, sector): (u64, u64), is_reused: bool) -> Candidates {
        if self.data.shared {
            return Candidates::range(0, GENERATION_LIMIT - 1);
        }
        let known = |key: u64| {
            let at = key as usize & self.written.len().checked_sub(1)?;
            let found = self.written[at];
            (found.key == key && found.event <= since).then_some(found.floor)
        };
        let floor = known(sector_key(file, sector)).max(known(block_key(file, sector)));
        match floor {
            Some(floor) => Candidates::range(floor, self.last),
            None if is_reused => Candidates::range(0, u64::MAX),
            None => Candidates::range(u64::from(self.data.first_epoch) << COUNT_BITS, self.last),
        }
    }
}

/// The generation that those of a new history follow.
fn first_generation(data: &DataSource) -> u64 {
    let epochs = data.common.epochs.fetch_add(1, Ordering::Relaxed);
    u64::from(data.first_epoch.wrapping_add(epochs) % EPOCHS) << COUNT_BITS
}

fn block_key(file: u64, sector: u64) -> u64 {
    hash3(0, file, sector / BLOCK_SECTORS)
}

fn sector_key(file: u64, sector: u64) -> u64 {
    hash3(0, file, sector | SINGLE)
}
