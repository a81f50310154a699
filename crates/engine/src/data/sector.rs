//! The contents of one sector: two words that name it, then words of a pool of random
//! bytes, each combined with the sector's key.
//!
//! | word | content |
//! |---|---|
//! | 0 | low halves of file and sector number, encrypted with the run's key |
//! | 1 | high half of the file and low half of the generation, encrypted with the run's key and word 0 |
//! | 2 to 63 | a word of the pool, exclusive or the key of (run, file, sector, generation) |
//!
//! The pool's place follows from file and sector, the key from the generation too, by
//! functions that can be inverted. So each word shows the generation that it was written
//! with, and a sector that two writes share can be checked word by word.

use filermark_model::rng::{Rng, mix64, unmix64};

/// Size of a sector, in bytes.
pub const SECTOR: usize = 512;
/// Size of a block that may be a copy of another one, in bytes.
pub const BLOCK: usize = 4096;
pub(super) const BLOCK_SECTORS: u64 = (BLOCK / SECTOR) as u64;
pub(super) const SECTOR_BYTES: u64 = SECTOR as u64;
/// Words of a sector.
pub(super) const WORDS: usize = SECTOR / 8;
/// Bytes of the words that name it.
pub(super) const HEADER: usize = 16;
/// Generations are below this number; a word that decodes to a larger one is wrong.
pub const GENERATION_LIMIT: u64 = 1 << 56;

const LINE_WORDS: usize = 8;
const LINES: usize = WORDS / LINE_WORDS;
/// Lines at which a sector may begin in the pool: 64 KiB, which stays in a core's
/// second-level cache together with the buffers.
const PLACES: usize = 1 << 10;

/// A cache line of the pool.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u64; LINE_WORDS]);

/// Random words that all sectors are made of.
#[derive(Debug)]
pub(super) struct Pool(Box<[Line]>);

impl Pool {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed, u64::from_be_bytes(*b"datapool"));
        let line = |_| Line(std::array::from_fn(|_| rng.next_u64()));
        Self((0..PLACES + LINES).map(line).collect())
    }
}

/// What the names and keys of a run's sectors derive from.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunKey {
    position_key: u64,
    first: u64,
    second: u64,
}

impl RunKey {
    pub(super) const fn new(key: u64) -> Self {
        let places = mix64(key);
        let first = mix64(places);
        Self {
            position_key: places,
            first,
            second: mix64(first),
        }
    }

    /// What the sectors of a file have in common.
    #[inline]
    pub(super) const fn file(self, file: u64) -> FileKey {
        FileKey {
            run: self,
            file,
            base: mix64(self.position_key ^ file),
        }
    }

    /// File (all of it), sector and generation (their low halves) that a sector's first
    /// two words name. Words that no run wrote give arbitrary numbers.
    pub(super) const fn decode(self, words: [u64; 2]) -> (u64, u32, u32) {
        let one = unmix64(words[0]) ^ self.first;
        let two = unmix64(words[1]) ^ self.second ^ words[0];
        ((two >> 32) << 32 | one >> 32, one as u32, two as u32)
    }
}

/// The key of a file, of [`RunKey::file`].
#[derive(Clone, Copy, Debug)]
pub(super) struct FileKey {
    run: RunKey,
    file: u64,
    base: u64,
}

/// One sector, with all that its words derive from.
#[derive(Clone, Copy)]
pub(super) struct Sector<'a> {
    lines: &'a [Line],
    mask: u64,
    second: u64,
    file_high: u64,
    first_word: u64,
}

impl FileKey {
    /// A sector of the file, by its number.
    #[inline]
    pub(super) fn sector(self, pool: &Pool, number: u64) -> Sector<'_> {
        let mask = mix64(self.base.wrapping_add(number));
        let place = (mask >> 54) as usize % PLACES;
        let names = self.file << 32 | (number & 0xffff_ffff);
        Sector {
            lines: &pool.0[place..place + LINES],
            mask,
            second: self.run.second,
            file_high: self.file >> 32 << 32,
            first_word: mix64(self.run.first ^ names),
        }
    }
}

impl Sector<'_> {
    /// The key of the words of a generation.
    #[inline]
    fn key(&self, generation: u64) -> u64 {
        mix64(self.mask ^ generation)
    }

    /// The word that names the generation.
    #[inline]
    fn second_word(&self, generation: u64) -> u64 {
        let names = self.file_high | (generation & 0xffff_ffff);
        mix64(self.second ^ self.first_word ^ names)
    }

    #[inline]
    fn pool_word(&self, at: usize) -> u64 {
        self.lines[at / LINE_WORDS].0[at % LINE_WORDS]
    }

    /// Writes the sector with this generation.
    #[inline]
    pub(super) fn write(&self, generation: u64, out: &mut [u8; SECTOR]) {
        let key = self.key(generation);
        let (lines, _) = out.as_chunks_mut::<{ LINE_WORDS * 8 }>();
        for (out, line) in lines.iter_mut().zip(self.lines) {
            let (words, _) = out.as_chunks_mut::<8>();
            for (out, word) in words.iter_mut().zip(line.0) {
                *out = (word ^ key).to_le_bytes();
            }
        }
        out[..8].copy_from_slice(&self.first_word.to_le_bytes());
        out[8..HEADER].copy_from_slice(&self.second_word(generation).to_le_bytes());
    }

    /// The generation of a whole sector, if one generation wrote it; only the first
    /// `solid` of its bytes are checked.
    #[inline(always)]
    pub(super) fn read_whole(&self, data: &[u8; SECTOR], solid: usize) -> Option<u64> {
        let (words, _) = data.as_chunks::<8>();
        let read = |at: usize| u64::from_le_bytes(words[at]);
        let whole = solid / 8;
        let generation = match whole {
            0..3 => return None,
            _ => self.generation_of(2, read(2))?,
        };
        let key = self.key(generation);
        let mut wrong = read(0) ^ self.first_word | read(1) ^ self.second_word(generation);
        if whole == WORDS {
            let (lines, _) = data.as_chunks::<{ LINE_WORDS * 8 }>();
            // The two words of the header are not words of the pool.
            for (at, word) in words.iter().enumerate().take(LINE_WORDS).skip(2) {
                wrong |= u64::from_le_bytes(*word) ^ self.pool_word(at) ^ key;
            }
            for (data, line) in lines.iter().zip(self.lines).skip(1) {
                let (words, _) = data.as_chunks::<8>();
                for (data, word) in words.iter().zip(line.0) {
                    wrong |= u64::from_le_bytes(*data) ^ word ^ key;
                }
            }
        } else {
            for at in 2..whole {
                wrong |= read(at) ^ self.pool_word(at) ^ key;
            }
            let last = (self.pool_word(whole) ^ key).to_le_bytes();
            let rest = solid % 8;
            wrong |= u64::from(last[..rest] != data[whole * 8..solid]);
        }
        (wrong == 0).then_some(generation)
    }

    /// The generation that a whole word was written with; of the first word `None`, since
    /// all generations have the same.
    #[inline]
    pub(super) fn generation_of(&self, at: usize, word: u64) -> Option<u64> {
        let generation = match at {
            0 => return None,
            1 => unmix64(word) ^ self.second ^ self.first_word ^ self.file_high,
            _ => unmix64(word ^ self.pool_word(at)) ^ self.mask,
        };
        (generation < GENERATION_LIMIT).then_some(generation)
    }

    /// The word at a place as a generation writes it.
    #[inline]
    pub(super) fn word(&self, at: usize, generation: u64) -> u64 {
        match at {
            0 => self.first_word,
            1 => self.second_word(generation),
            _ => self.pool_word(at) ^ self.key(generation),
        }
    }
}
