//! What is written into files, and how reads are checked.
//!
//! The content of every byte is a pure function of (run, file, sector, generation), so
//! a reader needs no copy to check against. A sector is 512 bytes; its first words name
//! a reader needs no copy to check against. A sector is 512 bytes; its first words name
//! file, sector and generation, and its body is a pool of random words combined with a
//! key of its own, so that no two sectors are equal and a compressor finds no repetition,
//! at any distance. Every write has a new generation ([`History`] assigns them
//! and determines which ones a read may show).
//! A workload may need contents that compress (the end of every sector is zeros) or
//! deduplicate (a share of the blocks are copies of a few).

mod check;
mod compared;
mod generation_set;
mod history;
mod open_writes;
mod sampling;
mod sector;
#[cfg(test)]
mod tests;
mod vector;
mod write_boundaries;

pub use compared::{CheckOutcome, CompareOutcome};
pub use history::{History, WriteMark};
pub use sector::{BLOCK, GENERATION_LIMIT, SECTOR};

use check::{GenerationMix, SectorPart};
use filermark_model::rng::{hash3, mix64};
use sector::{BLOCK_SECTORS, HEADER, Pool, RunKey, SECTOR_BYTES};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use write_boundaries::WriteBoundaries;

/// Different blocks among those that are copies.
const COPIES: u64 = 64;
/// The file number that copies are named with.
const COPY_FILE: u64 = u64::MAX;
/// Bits that mark which files were reused, by hash of their number.
const REUSED_BITS: usize = 1 << 16;
/// Bytes that are appended at a time.
const APPEND_BYTES: usize = 8192;
/// What compressors need to describe the zeros of a sector, in bytes: these are not
/// random, so that the ratio is met. lz4 takes 5 to 6, zstd 3 to 5.
const ZEROS_COST: f64 = 4.5;

/// How much of what is read is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyLevel {
    /// Nothing: for services that keep no data. The program never asks for it.
    Nothing,
    /// One sector of every reply, or of some replies where all would take more than 1.5 % of the
    /// processor time.
    Sample,
    /// Everything (VERIFY).
    All,
}

/// Makes and checks file contents; one for all shards of an agent.
#[derive(Clone, Debug)]
pub struct DataSource {
    seed: u64,
    key: u64,
    run: RunKey,
    checking: VerifyLevel,
    /// Other procs write to the same files: any generation may be read.
    shared: bool,
    /// A proc may have several operations under way at once.
    overlapping: bool,
    /// The number of the first history.
    first_epoch: u32,
    /// Bytes of a sector that do not compress, the names among them.
    solid: usize,
    /// Blocks of 10,000 that are copies.
    copies_of_10000: u64,
    pool: Arc<Pool>,
    common: Arc<Common>,
}

/// What all shards of an agent have in common.
#[derive(Debug)]
struct Common {
    /// Histories that were begun.
    epochs: AtomicU32,
    /// Which files of an earlier run are read.
    reused: Box<[AtomicU64]>,
    /// Where writes began and ended within sectors.
    boundaries: WriteBoundaries,
    /// The pools of earlier runs whose files are used, by their keys.
    earlier: Mutex<Vec<(u64, Arc<Pool>)>>,
}

impl DataSource {
    /// The contents of the run with this seed and this `identity`.
    pub fn of_run(seed: u64, identity: &str, checking: VerifyLevel) -> Self {
        Self {
            seed,
            ..Self::new(run_key(seed, identity), checking)
        }
    }

    /// The contents that follow from a `key`.
    pub fn new(key: u64, checking: VerifyLevel) -> Self {
        Self {
            seed: key,
            key,
            run: RunKey::new(key),
            checking,
            shared: false,
            overlapping: false,
            first_epoch: 0,
            solid: SECTOR,
            copies_of_10000: 0,
            pool: Arc::new(Pool::new(key)),
            common: Arc::new(Common {
                epochs: AtomicU32::default(),
                reused: (0..REUSED_BITS / 64)
                    .map(|_| AtomicU64::default())
                    .collect(),
                boundaries: WriteBoundaries::default(),
                earlier: Mutex::default(),
            }),
        }
    }

    /// The contents of files of an earlier run with the same seed and this `identity`. Its
    /// generations rarely equal those of this run, whose identity is `own`.
    pub fn of_earlier(&self, identity: &str, own: &str) -> Self {
        let key = run_key(self.seed, identity);
        let mut known = (self.common.earlier.lock()).unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(of, _)| *of == key);
        let pool = match found {
            Some((_, pool)) => pool.clone(),
            None => Arc::new(Pool::new(key)),
        };
        if found.is_none() {
            known.push((key, pool.clone()));
        }
        Self {
            key,
            run: RunKey::new(key),
            pool,
            // The upper half of the numbers remains for later shards.
            first_epoch: (run_key(key, own) >> 32) as u32 % (history::EPOCHS / 2),
            ..self.clone()
        }
    }

    /// These contents for a workload whose data compresses to `100 - compress_pcnt` percent
    /// and of whose blocks `dedupe_pcnt` percent are copies.
    pub fn shaped(&self, compress_pcnt: f64, dedupe_pcnt: f64) -> Self {
        let share = 1.0 - compress_pcnt.clamp(0.0, 100.0) / 100.0;
        let solid = match compress_pcnt > 0.0 {
            true => (SECTOR as f64 * share - ZEROS_COST).round() as usize,
            false => SECTOR,
        };
        Self {
            solid: solid.clamp(HEADER, SECTOR),
            copies_of_10000: (dedupe_pcnt.clamp(0.0, 100.0) * 100.0) as u64,
            ..self.clone()
        }
    }

    /// These contents for files that several procs write to.
    pub fn shared(self, shared: bool) -> Self {
        Self { shared, ..self }
    }

    /// These contents for procs that may have several operations under way at once.
    pub fn overlapping(self, overlapping: bool) -> Self {
        Self {
            overlapping,
            ..self
        }
    }

    /// How much of what is read is compared.
    pub fn checking(&self) -> VerifyLevel {
        self.checking
    }

    /// Whether a range of a file holds what an earlier run with the same key may have
    /// written there: its writes are not known.
    pub fn check_earlier(&self, file: u64, offset: u64, data: &[u8]) -> CheckOutcome {
        self.check(file, offset, data, |_| GenerationMix::Any, |_, _| true)
    }

    /// Notes that a file of an earlier run is used: its generations are unknown.
    pub fn note_reused(&self, file: u64) {
        let (word, bit) = reused_bit(file);
        self.common.reused[word].fetch_or(bit, Ordering::Relaxed);
    }

    /// Whether a file was noted as reused; for a few other files it may be true, too.
    fn is_reused(&self, file: u64) -> bool {
        let (word, bit) = reused_bit(file);
        self.common.reused[word].load(Ordering::Relaxed) & bit != 0
    }

    /// Appends the `len` bytes that a write of `generation` to file `file` has at `offset`.
    pub fn append(&self, file: u64, offset: u64, generation: u64, len: usize, out: &mut Vec<u8>) {
        out.reserve(len);
        let mut done = 0;
        while done < len {
            // Zeroed and then written while it is in the first-level cache.
            let skip = (offset + done as u64) % SECTOR_BYTES;
            let part = (APPEND_BYTES - skip as usize).min(len - done);
            let from = out.len();
            out.resize(from + part, 0);
            self.fill(file, offset + done as u64, generation, &mut out[from..]);
            done += part;
        }
    }

    /// Fills `out` with what a write of `generation` to file `file` has from `offset` on.
    pub fn fill(&self, file: u64, offset: u64, generation: u64, out: &mut [u8]) {
        let number = offset / SECTOR_BYTES;
        let from = (offset % SECTOR_BYTES) as usize;
        let first = (SECTOR - from).min(out.len());
        let (head, rest) = match from {
            0 => out.split_at_mut(0),
            _ => out.split_at_mut(first),
        };
        if !head.is_empty() {
            self.fill_part((file, number), generation, from, head);
        }
        let number = number + u64::from(from > 0);
        let (whole, tail) = rest.as_chunks_mut::<SECTOR>();
        self.fill_whole((file, number), generation, whole);
        if !tail.is_empty() {
            self.fill_part((file, number + whole.len() as u64), generation, 0, tail);
        }
    }

    fn fill_part(&self, sector: (u64, u64), generation: u64, from: usize, out: &mut [u8]) {
        let mut whole = [[0; SECTOR]];
        self.fill_whole(sector, generation, &mut whole);
        out.copy_from_slice(&whole[0][from..from + out.len()]);
    }

    fn fill_whole(&self, (file, first): (u64, u64), generation: u64, out: &mut [[u8; SECTOR]]) {
        let own = self.run.file(file);
        if self.copies_of_10000 == 0 {
            vector::write(own, &self.pool, first, generation, out);
        } else {
            for (number, out) in (first..).zip(out.iter_mut()) {
                let one = std::slice::from_mut(out);
                match self.copied(file, number) {
                    None => vector::write(own, &self.pool, number, generation, one),
                    Some(copied) => {
                        let copies = self.run.file(COPY_FILE);
                        vector::write(copies, &self.pool, copied, 0, one);
                    }
                }
            }
        }
        if self.solid < SECTOR {
            for sector in out {
                sector[self.solid..].fill(0);
            }
        }
    }

    /// Whether `data` is what file `file` may hold at `offset`: bytes of generations that
    /// `accepts` allows for their sector, mixed as `mixture` allows, and only of this
    /// file, this place and this run. Returns how many bytes were compared.
    fn check(
        &self,
        file: u64,
        offset: u64,
        data: &[u8],
        mixture: impl Fn(u64) -> GenerationMix,
        mut accepts: impl FnMut(u64, u64) -> bool,
    ) -> CheckOutcome {
        let mut checked = CheckOutcome::NOTHING;
        let mut rest = data;
        self.pieces(file, offset, data.len(), |place, from, to| {
            let (data, tail) = rest.split_at(to - from);
            rest = tail;
            let part = SectorPart {
                sector: place.sector,
                from,
                data,
                solid: self.solid,
            };
            let mut accepts = |generation| accepts(place.number, generation);
            checked.add(match place.fixed {
                Some(generation) => part.check_fixed(generation),
                None => (vector::check_whole(&part, &mut accepts))
                    .unwrap_or_else(|| part.check_mixture(mixture(place.number), &mut accepts)),
            });
        });
        checked
    }

    /// Walks the sectors that a range touches; gives where each is and which of its bytes
    /// are in the range.
    fn pieces(
        &self,
        file: u64,
        offset: u64,
        len: usize,
        mut each: impl FnMut(SectorPosition<'_>, usize, usize),
    ) {
        let own = self.run.file(file);
        let mut number = offset / SECTOR_BYTES;
        let mut from = (offset % SECTOR_BYTES) as usize;
        let mut left = len;
        while left > 0 {
            let to = (from + left).min(SECTOR);
            let place = match self.copied(file, number) {
                None => SectorPosition {
                    sector: own.sector(&self.pool, number),
                    number,
                    fixed: None,
                },
                Some(copied) => SectorPosition {
                    sector: self.run.file(COPY_FILE).sector(&self.pool, copied),
                    number,
                    fixed: Some(0),
                },
            };
            each(place, from, to);
            left -= to - from;
            from = 0;
            number += 1;
        }
    }

    /// Which sector of the copies a sector is, if it is one.
    #[inline]
    fn copied(&self, file: u64, sector: u64) -> Option<u64> {
        if self.copies_of_10000 == 0 {
            return None;
        }
        let hash = hash3(self.key, file, sector / BLOCK_SECTORS);
        let is_copy = (hash >> 32) % 10_000 < self.copies_of_10000;
        is_copy.then(|| hash % COPIES * BLOCK_SECTORS + sector % BLOCK_SECTORS)
    }

    /// File, sector and generation that the first bytes of a sector name (see
    /// docs/src/design/data.md): for messages about wrong data.
    pub fn names(&self, sector: &[u8]) -> Option<(u64, u32, u32)> {
        let (words, _) = sector.get(..HEADER)?.as_chunks::<8>();
        let word = |at: usize| u64::from_le_bytes(words[at]);
        Some(self.run.decode([word(0), word(1)]))
    }
}

/// A sector of a file.
#[derive(Clone, Copy)]
struct SectorPosition<'a> {
    sector: sector::Sector<'a>,
    number: u64,
    /// The only generation that it can have.
    fixed: Option<u64>,
}

/// The key of a run from its seed and its identity.
fn run_key(seed: u64, identity: &str) -> u64 {
    let mixed = |key, byte: u8| mix64(key ^ u64::from(byte));
    identity.bytes().fold(mix64(seed), mixed)
}

/// Where it is noted that a file was reused: which word, which bit.
fn reused_bit(file: u64) -> (usize, u64) {
    let bit = mix64(file) as usize % REUSED_BITS;
    (bit / 64, 1 << (bit % 64))
}
