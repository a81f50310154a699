//! What is written into files, and how reads are checked.
//!
//! The content of every byte is a pure function of (run, file, sector, generation), so
//! a reader needs no copy to check against. A sector is 512 bytes; its first words name
//! file, sector and generation, and its body is a pool of random words combined with a
//! key of its own, so that no two sectors are alike and nothing is found by a compressor,
//! however far back it looks. Every write has a new generation ([`History`] gives them out
//! and says which ones a read may show).
//!
//! A workload may want contents that compress (the end of every sector is zeros) or
//! deduplicate (a share of the blocks are copies of a few).

mod history;
mod sector;
#[cfg(test)]
mod tests;
mod vector;

pub use history::{Checked, History, WriteMark};
pub use sector::{GENERATION_LIMIT, SECTOR};

use filermark_model::rng::{hash3, mix64};
use sector::{HEADER, Pool, RunKey};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Size of a block that may be a copy of another one, in bytes.
pub const BLOCK: usize = 4096;
const BLOCK_SECTORS: u64 = (BLOCK / SECTOR) as u64;
const SECTOR_BYTES: u64 = SECTOR as u64;
/// Different blocks among those that are copies.
const COPIES: u64 = 64;
/// The file number that copies are named with.
const COPY_FILE: u64 = u64::MAX;
/// Words of a part of a sector that may tell no generation where writes are short: fewer
/// of them cannot be told from what several short writes leave.
const UNKNOWN_WORDS_MAX: usize = 8;
/// What is appended at a time, in bytes.
const APPEND_BYTES: usize = 8192;
/// What compressors need to describe the zeros of a sector, in bytes: these are not
/// random, so that the ratio is met. lz4 takes 5 to 6, zstd 3 to 5.
const ZEROS_COST: f64 = 4.5;

/// How much of what is read is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checking {
    /// Nothing: for services that keep no data. The program never asks for it.
    Nothing,
    /// One sector of every reply.
    Sample,
    /// Everything (VERIFY).
    All,
}

/// Makes and checks file contents; one for all shards of an agent.
#[derive(Clone, Debug)]
pub struct DataSource {
    key: u64,
    run: RunKey,
    checking: Checking,
    /// Others write to the same files: any generation may be read.
    shared: bool,
    /// Bytes of a sector that do not compress, the names among them.
    solid: usize,
    /// Blocks of 10,000 that are copies.
    copies_of_10000: u64,
    pool: Arc<Pool>,
    common: Arc<Common>,
}

/// What all shards of an agent have in common.
#[derive(Debug, Default)]
struct Common {
    /// Histories that were begun.
    epochs: AtomicU32,
    /// Files of an earlier run are read.
    reused: AtomicBool,
    /// Writes began or ended within a sector: sectors may be of several generations.
    ragged: AtomicBool,
}

impl DataSource {
    /// The contents of the run with this `key`.
    pub fn new(key: u64, checking: Checking) -> Self {
        Self {
            key,
            run: RunKey::new(key),
            checking,
            shared: false,
            solid: SECTOR,
            copies_of_10000: 0,
            pool: Arc::new(Pool::new(key)),
            common: Arc::default(),
        }
    }

    /// The same, for a workload whose data compresses to `100 - compress_pcnt` percent
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

    /// The same, for files that several procs write to.
    pub fn shared(self, shared: bool) -> Self {
        Self { shared, ..self }
    }

    /// How much of what is read is compared.
    pub fn checking(&self) -> Checking {
        self.checking
    }

    /// Notes that files of an earlier run are used: their generations are unknown.
    pub fn note_reused(&self) {
        self.common.reused.store(true, Ordering::Relaxed);
    }

    /// Notes that a write begins or ends within a sector.
    #[inline]
    fn note_ragged(&self) {
        // Looked at first: the line is shared by all shards.
        if !self.is_ragged() {
            self.common.ragged.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a sector may be of several generations: writes begin or end within it, or
    /// several clients write to it at once.
    fn is_ragged(&self) -> bool {
        let common = &self.common;
        let noted = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        self.shared || noted(&common.ragged) || noted(&common.reused)
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

    /// Writes what a write of `generation` to file `file` has from `offset` on into `out`,
    /// as far as that goes.
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

    /// Whether `data` is what file `file` may hold at `offset`: words of generations that
    /// `accepts` allows for their sector, and none but this file's, this place's and this
    /// run's. Gives how many bytes were compared. Words that are only partly in the range
    /// are not.
    pub fn check(
        &self,
        file: u64,
        offset: u64,
        data: &[u8],
        mut accepts: impl FnMut(u64, u64) -> bool,
    ) -> Checked {
        let mut checked = Checked::NOTHING;
        let mut rest = data;
        self.pieces(file, offset, data.len(), |place, from, to| {
            let (part, tail) = rest.split_at(to - from);
            rest = tail;
            let number = place.number;
            let fixed = place.fixed;
            let right = |generation: u64| match fixed {
                Some(fixed) => generation == fixed,
                None => accepts(number, generation),
            };
            checked.add(self.check_sector(place, from, part, right));
        });
        checked
    }

    fn check_sector(
        &self,
        place: Place<'_>,
        from: usize,
        data: &[u8],
        mut accepts: impl FnMut(u64) -> bool,
    ) -> Checked {
        if let Ok(whole) = <&[u8; SECTOR]>::try_from(data)
            && let Some(generation) = place.sector.read_whole(whole, self.solid)
        {
            let good = accepts(generation) && is_zero(&whole[self.solid..]);
            let bytes = SECTOR_BYTES;
            return Checked { good, bytes };
        }
        let is_ragged = self.is_ragged();
        let end = from + data.len();
        let solid_end = end.min(self.solid.max(from));
        let mut good = is_zero(&data[solid_end - from..]);
        let mut bytes = (end - solid_end) as u64;
        let words = from.div_ceil(8)..solid_end / 8;
        let read = |at: usize| {
            let bytes = &data[at * 8 - from..at * 8 - from + 8];
            bytes.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b))
        };
        let generation_of = |at: usize| match words.contains(&at) && at > 1 {
            true => place.sector.generation_of(at, read(at)),
            false => None,
        };
        let mut unknown = 0;
        // What the word before was written with, and what it says that it was.
        let (mut before, mut said) = (None, None);
        for at in words.clone() {
            bytes += 8;
            let (word, generation) = (read(at), generation_of(at));
            match generation {
                _ if at == 0 => good &= word == place.sector.word(0, 0),
                // It names the low half of a generation only.
                None if at == 1 && place.sector.generation_of(1, word).is_some_and(is_half) => {}
                Some(generation) if accepts(generation) => {
                    let names = at != 2
                        || !words.contains(&1)
                        || read(1) == place.sector.word(1, generation);
                    let same = before.is_none_or(|before| before == generation) && names;
                    good &= same || is_ragged;
                    before = Some(generation);
                }
                // Two words say the same, and it is wrong.
                Some(_) if generation == said || generation == generation_of(at + 1) => {
                    good = false;
                }
                _ => {
                    // Two writes may meet within a word.
                    let is_last = !words.contains(&(at + 1));
                    let after = generation_of(at + 1);
                    let meets =
                        (is_last || after.is_some()) && place.meets(at, word, before, after);
                    unknown += usize::from(!meets);
                    good &= is_ragged;
                }
            }
            said = generation;
        }
        // More than two meet in a word, or in two, where writes are very short.
        good &= unknown <= (words.len() / 2).max(UNKNOWN_WORDS_MAX);
        Checked { good, bytes }
    }

    /// Walks the sectors that a range touches; gives where each is and which of its bytes
    /// are in the range.
    fn pieces(
        &self,
        file: u64,
        offset: u64,
        len: usize,
        mut each: impl FnMut(Place<'_>, usize, usize),
    ) {
        let own = self.run.file(file);
        let mut number = offset / SECTOR_BYTES;
        let mut from = (offset % SECTOR_BYTES) as usize;
        let mut left = len;
        while left > 0 {
            let to = (from + left).min(SECTOR);
            let place = match self.copied(file, number) {
                None => Place {
                    sector: own.sector(&self.pool, number),
                    number,
                    fixed: None,
                },
                Some(copied) => Place {
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

    /// The key of a run from its seed and its identity.
    pub fn key(seed: u64, identity: &str) -> u64 {
        let mixed = |key, byte: u8| mix64(key ^ u64::from(byte));
        identity.bytes().fold(mix64(seed), mixed)
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
struct Place<'a> {
    sector: sector::Sector<'a>,
    number: u64,
    /// The only generation that it can have.
    fixed: Option<u64>,
}

impl Place<'_> {
    /// Whether a word begins as one generation and ends as another; `None` is one that is
    /// not known, because the word is the first or the last one.
    fn meets(&self, at: usize, word: u64, before: Option<u64>, after: Option<u64>) -> bool {
        let read = word.to_le_bytes();
        let of =
            |generation: Option<u64>| generation.map(|g| self.sector.word(at, g).to_le_bytes());
        let (before, after) = (of(before), of(after));
        (0..=8).any(|split: usize| {
            before.is_none_or(|word| word[..split] == read[..split])
                && after.is_none_or(|word| word[split..] == read[split..])
        })
    }
}

/// Whether a number is the low half of a generation.
fn is_half(names: u64) -> bool {
    names >> 32 == 0
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
