//! What is written into files, and how reads are checked.
//!
//! The content of every byte is a pure function of (seed, file, offset), so a
//! reader needs no copy to check against. Each block of 4 KiB begins with a
//! stamp that says which file and block it is, so that no two blocks are alike
//! and nothing can be deduplicated; the rest comes from a pool of incompressible
//! bytes at a place that depends on file and block. VERIFY checks what is read.
//!
//! A workload may want contents that compress (the end of every block is zeros) or
//! deduplicate (a share of the blocks are copies of a few): also that is a function
//! of (seed, file, offset) alone.

use filermark_model::rng::{Rng, hash3};
use std::sync::Arc;

/// Size of a stamped block, in bytes.
pub const BLOCK: usize = 4096;
const STAMP: usize = 32;
const POOL: usize = 1 << 20;
/// Different blocks among those that are copies.
const COPIES: u64 = 64;
/// The file number that copies are stamped with.
const COPY_FILE: u64 = u64::MAX;
const MAGIC: u64 = u64::from_be_bytes(*b"filermrk");

/// Makes and checks file contents; one for all shards of an agent.
#[derive(Debug)]
pub struct DataSource {
    seed: u64,
    verify: bool,
    /// Bytes of a block that do not compress, the stamp among them.
    solid: usize,
    /// Blocks of 10,000 that are copies.
    copies_of_10000: u64,
    pool: Arc<Vec<u8>>,
}

impl DataSource {
    /// The contents of the run with this `seed`; with `verify`, reads are checked.
    pub fn new(seed: u64, verify: bool) -> Self {
        let mut rng = Rng::new(seed, u64::from_be_bytes(*b"datapool"));
        let pool = (0..(POOL + BLOCK) / 8)
            .flat_map(|_| rng.next_u64().to_le_bytes())
            .collect();
        Self {
            seed,
            verify,
            solid: BLOCK,
            copies_of_10000: 0,
            pool: Arc::new(pool),
        }
    }

    /// The same, for a workload whose data compresses to `100 - compress_pcnt` percent
    /// and of whose blocks `dedupe_pcnt` percent are copies.
    pub fn shaped(&self, compress_pcnt: f64, dedupe_pcnt: f64) -> Self {
        let solid = (BLOCK as f64 * (1.0 - compress_pcnt.clamp(0.0, 100.0) / 100.0)) as usize;
        Self {
            seed: self.seed,
            verify: self.verify,
            solid: solid.max(STAMP),
            copies_of_10000: (dedupe_pcnt.clamp(0.0, 100.0) * 100.0) as u64,
            pool: self.pool.clone(),
        }
    }

    /// Whether reads can be checked.
    pub fn verifies(&self) -> bool {
        self.verify
    }

    /// Appends the `len` bytes that file `file` holds at `offset`.
    pub fn append(&self, file: u64, offset: u64, len: usize, out: &mut Vec<u8>) {
        self.pieces(file, offset, len, |block, stamp_from, zeros| {
            out.extend_from_slice(stamp_from);
            out.extend_from_slice(block);
            out.resize(out.len() + zeros, 0);
            true
        });
    }

    /// Writes what file `file` holds from `offset` on into `out`, as far as that goes.
    pub fn fill(&self, file: u64, offset: u64, out: &mut [u8]) {
        let mut rest = &mut *out;
        let len = rest.len();
        self.pieces(file, offset, len, |block, stamp, zeros| {
            let taken = std::mem::take(&mut rest);
            let (head, tail) = taken.split_at_mut(stamp.len());
            head.copy_from_slice(stamp);
            let (body, tail) = tail.split_at_mut(block.len());
            body.copy_from_slice(block);
            let (end, tail) = tail.split_at_mut(zeros);
            end.fill(0);
            rest = tail;
            true
        });
    }

    /// Whether `data` is what file `file` holds at `offset`. Always true without VERIFY.
    pub fn check(&self, file: u64, offset: u64, data: &[u8]) -> bool {
        if !self.verify {
            return true;
        }
        let mut rest = data;
        self.pieces(file, offset, data.len(), |block, stamp, zeros| {
            let (head, tail) = rest.split_at(stamp.len());
            let (body, tail) = tail.split_at(block.len());
            let (end, tail) = tail.split_at(zeros);
            rest = tail;
            head == stamp && body == block && end.iter().all(|b| *b == 0)
        })
    }

    /// Walks the blocks that a range touches; gives (pool bytes, stamp bytes, how many
    /// zeros follow) of each, cut to the range. Stops early when `each` says false.
    fn pieces(
        &self,
        file: u64,
        offset: u64,
        len: usize,
        mut each: impl FnMut(&[u8], &[u8], usize) -> bool,
    ) -> bool {
        let mut offset = offset;
        let mut left = len;
        while left > 0 {
            let block = offset / BLOCK as u64;
            let from = (offset % BLOCK as u64) as usize;
            let to = (from + left).min(BLOCK);
            let (file, block, hash) = self.source_of(file, block);
            let stamp = Self::stamp(file, block, hash);
            let place = hash as usize % POOL;
            let stamp_part = &stamp[from.min(STAMP)..to.min(STAMP)];
            let solid = |at: usize| place + at.clamp(STAMP, self.solid);
            let pool_part = &self.pool[solid(from)..solid(to)];
            let zeros = to.max(self.solid) - from.max(self.solid);
            if !each(pool_part, stamp_part, zeros) {
                return false;
            }
            offset += (to - from) as u64;
            left -= to - from;
        }
        true
    }

    /// Whose contents a block has: its own, or those of a copy.
    #[inline]
    fn source_of(&self, file: u64, block: u64) -> (u64, u64, u64) {
        let hash = hash3(self.seed, file, block);
        if self.copies_of_10000 == 0 || (hash >> 32) % 10_000 >= self.copies_of_10000 {
            return (file, block, hash);
        }
        let copy = hash % COPIES;
        (COPY_FILE, copy, hash3(self.seed, COPY_FILE, copy))
    }

    fn stamp(file: u64, block: u64, hash: u64) -> [u8; STAMP] {
        let mut stamp = [0; STAMP];
        for (slot, word) in stamp.chunks_exact_mut(8).zip([MAGIC, file, block, hash]) {
            slot.copy_from_slice(&word.to_be_bytes());
        }
        stamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_of_a_file_reads_back_as_written() {
        let data = DataSource::new(1, true);
        let mut whole = Vec::new();
        data.append(5, 0, 20_000, &mut whole);
        assert_eq!(whole.len(), 20_000);
        for (from, to) in [
            (0, 1),
            (3, 40),
            (31, 33),
            (4090, 4200),
            (0, 20_000),
            (4096, 8192),
        ] {
            let mut part = Vec::new();
            data.append(5, from as u64, to - from, &mut part);
            assert_eq!(part, whole[from..to]);
            let mut filled = vec![0; to - from];
            data.fill(5, from as u64, &mut filled);
            assert_eq!(filled, part);
            assert!(data.check(5, from as u64, &part));
        }
    }

    #[test]
    fn a_wrong_byte_file_or_place_is_noticed() {
        let data = DataSource::new(1, true);
        let mut block = Vec::new();
        data.append(5, 4096, 8192, &mut block);
        assert!(!data.check(6, 4096, &block));
        assert!(!data.check(5, 0, &block));
        for at in [0, 31, 32, 4095, 8191] {
            let mut bad = block.clone();
            bad[at] ^= 1;
            assert!(!data.check(5, 4096, &bad), "byte {at}");
        }
    }

    #[test]
    fn no_two_blocks_are_alike_and_none_compresses_to_nothing() {
        let data = DataSource::new(1, false);
        let mut seen = std::collections::HashSet::new();
        for file in 0..16 {
            let mut out = Vec::new();
            data.append(file, 0, 1 << 20, &mut out);
            assert_eq!(out.len(), 1 << 20);
            for block in out.chunks(BLOCK) {
                assert!(seen.insert(block.to_vec()));
                let distinct: std::collections::HashSet<_> = block.iter().collect();
                assert!(distinct.len() > 200);
            }
        }
    }

    #[test]
    fn shaped_contents_compress_and_repeat_as_asked() {
        let data = DataSource::new(1, true).shaped(50.0, 30.0);
        let mut seen = std::collections::HashMap::new();
        let (mut zeros, mut total) = (0, 0);
        for file in 0..16 {
            let mut out = vec![1; 1 << 20];
            data.fill(file, 0, &mut out);
            assert!(data.check(file, 0, &out));
            let mut part = Vec::new();
            data.append(file, 4090, 3000, &mut part);
            assert_eq!(part, out[4090..7090]);
            for block in out.chunks(BLOCK) {
                *seen.entry(block.to_vec()).or_insert(0u32) += 1;
                zeros += block.iter().rev().take_while(|b| **b == 0).count();
                total += block.len();
            }
        }
        let share = zeros as f64 / total as f64;
        assert!((0.49..0.51).contains(&share), "{share}");
        let copies: u32 = seen.values().filter(|n| **n > 1).sum();
        let share = f64::from(copies) / 4096.0;
        assert!((0.26..0.34).contains(&share), "{share}");
        let mut bad = vec![0; 8192];
        data.fill(3, 0, &mut bad);
        bad[8191] = 1;
        assert!(!data.check(3, 0, &bad));
    }
}
