//! The buffers of a shard: whole pages, as transfers past the cache want them.

use filermark_engine::data::DataSource;
use filermark_model::rng::mix64;

/// What it is aligned to, in bytes; no file system asks for more.
pub(crate) const ALIGN: usize = 4096;

/// Grows to the largest transfer, and stays.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// `len` bytes from an aligned address; what they hold is left over from the
    /// last time.
    pub(crate) fn get(&mut self, len: usize) -> &mut [u8] {
        if self.bytes.len() < len + ALIGN {
            // Zeroed by the system page by page, when they are first used.
            self.bytes = vec![0; len + ALIGN];
        }
        let from = self.bytes.as_ptr().align_offset(ALIGN).min(ALIGN);
        &mut self.bytes[from..from + len]
    }
}

/// What is written where nobody will check it: bytes that do not compress, with a
/// fresh stamp in every block so that none is like another. Stamping costs next to
/// nothing; making every block anew would cost as much as writing it to memory.
#[derive(Debug)]
pub(crate) struct Outgoing {
    buffer: Buffer,
    filled: usize,
    stamps: u64,
}

/// Blocks of a file that a server might compare, in bytes.
const BLOCK: u64 = filermark_engine::data::BLOCK as u64;

/// Puts a stamp at the beginning of a block, or as much of it as there is room for.
fn stamp(block: &mut [u8], file: u64, number: u64) {
    let mut stamp = [0; 16];
    stamp[..8].copy_from_slice(&file.to_le_bytes());
    stamp[8..].copy_from_slice(&mix64(number).to_le_bytes());
    let len = block.len().min(stamp.len());
    block[..len].copy_from_slice(&stamp[..len]);
}

impl Outgoing {
    /// Of the shard whose first proc has this number: no other shard makes the same
    /// stamps.
    pub(crate) fn new(proc: u32) -> Self {
        Self {
            buffer: Buffer::default(),
            filled: 0,
            stamps: u64::from(proc) << 40,
        }
    }

    /// `len` bytes of file `file`'s for `offset`, exactly those of `data`.
    pub(crate) fn exact(
        &mut self,
        data: &DataSource,
        (file, offset): (u64, u64),
        len: usize,
    ) -> &[u8] {
        self.filled = 0;
        let bytes = self.buffer.get(len);
        data.fill(file, offset, bytes);
        bytes
    }

    /// `len` bytes for `offset` that nothing else has.
    pub(crate) fn stamped(
        &mut self,
        data: &DataSource,
        (file, offset): (u64, u64),
        len: usize,
    ) -> &[u8] {
        if self.filled < len {
            data.fill(file, offset, self.buffer.get(len));
            self.filled = len;
        }
        let bytes = self.buffer.get(len);
        let first = (offset.next_multiple_of(BLOCK) - offset) as usize;
        if first > 0 {
            // What begins within a block gets one, too.
            self.stamps += 1;
            stamp(bytes, file, self.stamps);
        }
        for at in (first..len).step_by(BLOCK as usize) {
            self.stamps += 1;
            stamp(&mut bytes[at..], file, self.stamps);
        }
        bytes
    }

    /// What [`exact`](Self::exact) or [`stamped`](Self::stamped) made last.
    pub(crate) fn get(&mut self, len: usize) -> &[u8] {
        self.buffer.get(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_aligned_and_keeps_what_it_held() {
        let mut buffer = Buffer::default();
        for len in [1, 10_000, 5, 1 << 20] {
            let bytes = buffer.get(len);
            assert_eq!(bytes.len(), len);
            assert_eq!(bytes.as_ptr() as usize % ALIGN, 0);
        }
        buffer.get(100).fill(7);
        assert!(buffer.get(50).iter().all(|b| *b == 7));
    }

    #[test]
    fn exact_bytes_are_those_of_the_file() {
        let data = DataSource::new(1, true);
        let mut out = Outgoing::new(0);
        for (offset, len) in [(0, 9_000), (17, 4_096), (4_095, 1)] {
            assert!(data.check(3, offset, out.exact(&data, (3, offset), len)));
        }
    }

    #[test]
    fn no_stamped_block_is_like_another() {
        let data = DataSource::new(1, false);
        let mut seen = std::collections::HashSet::new();
        let mut shards = [Outgoing::new(0), Outgoing::new(1)];
        for round in 0..200 {
            for out in &mut shards {
                let bytes = out.stamped(&data, (3, 4_096 * (round % 5)), 16_384);
                for block in bytes.chunks(4_096) {
                    assert!(seen.insert(block.to_vec()), "round {round}");
                }
            }
        }
        // In the middle of blocks, and for less than a stamp.
        let out = &mut shards[0];
        for (offset, len) in [(5, 10_000), (4_090, 20), (3, 10), (4_096, 1), (0, 0)] {
            let before = out.stamped(&data, (3, offset), len).to_vec();
            assert_eq!(before.len(), len);
            let again = out.stamped(&data, (3, offset), len);
            assert!(len < 20 || before != again, "{offset} {len}");
        }
    }
}
