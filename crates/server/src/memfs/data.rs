//! The content of one regular file: sparse chunks, so that a hole costs nothing and
//! a small file costs its own size.

use std::collections::BTreeMap;

/// Largest piece of content that is kept in one allocation.
const CHUNK: u64 = 64 * 1024;
/// Space is charged in blocks of this size, as a disk would.
const BLOCK: u64 = 4096;
/// Largest size of a file: what a signed 64-bit offset can name.
pub(super) const MAX_FILE_SIZE: u64 = i64::MAX as u64;

/// Content; bytes that no chunk holds are zero.
#[derive(Debug, Default)]
pub(super) struct FileData {
    size: u64,
    charged: u64,
    chunks: BTreeMap<u64, Vec<u8>>,
}

fn charge_of(len: usize) -> u64 {
    (len as u64).next_multiple_of(BLOCK)
}

/// Cuts `[offset, offset + len)` at chunk borders: (chunk, first byte in it, length).
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = offset + len as u64;
    let mut at = offset;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let within = at % CHUNK;
        let n = (CHUNK - within).min(end - at);
        let piece = (at / CHUNK, within as usize, n as usize);
        at += n;
        Some(piece)
    })
}

impl FileData {
    /// Size in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes charged against the capacity.
    pub(super) fn charged(&self) -> u64 {
        self.charged
    }

    /// How many more bytes a write would charge.
    pub(super) fn growth(&self, offset: u64, len: usize) -> u64 {
        pieces(offset, len)
            .map(|(chunk, within, n)| {
                let have = self.chunks.get(&chunk).map_or(0, Vec::len);
                charge_of(have.max(within + n)) - charge_of(have)
            })
            .sum()
    }

    /// Stores the bytes. The caller has checked the end against [`MAX_FILE_SIZE`].
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) {
        let mut rest = data;
        for (index, within, n) in pieces(offset, data.len()) {
            let (now, later) = rest.split_at(n);
            rest = later;
            let chunk = self.chunks.entry(index).or_default();
            let (had, need) = (chunk.len(), within + n);
            if need > had {
                // Grow by doubling inside a chunk, but a file written once costs its size.
                if need > chunk.capacity() {
                    let want = need.max(chunk.capacity() * 2).min(CHUNK as usize);
                    chunk.reserve_exact(want - had);
                }
                if within >= had {
                    chunk.resize(within, 0);
                    chunk.extend_from_slice(now);
                } else {
                    let (over, beyond) = now.split_at(had - within);
                    chunk[within..].copy_from_slice(over);
                    chunk.extend_from_slice(beyond);
                }
                self.charged += charge_of(need) - charge_of(had);
            } else {
                chunk[within..need].copy_from_slice(now);
            }
        }
        if !data.is_empty() {
            self.size = self.size.max(offset + data.len() as u64);
        }
    }

    /// Appends up to `count` bytes from `offset` to `out`; returns how many there were.
    pub(super) fn read(&self, offset: u64, count: u32, out: &mut Vec<u8>) -> u32 {
        let n = u64::from(count).min(self.size.saturating_sub(offset)) as usize;
        out.reserve(n);
        for (index, within, n) in pieces(offset, n) {
            let chunk = self.chunks.get(&index).map_or(&[][..], Vec::as_slice);
            let stored = chunk.get(within..).unwrap_or(&[]);
            let stored = &stored[..stored.len().min(n)];
            out.extend_from_slice(stored);
            out.resize(out.len() + (n - stored.len()), 0);
        }
        n as u32
    }

    /// Cuts the file, or extends it with a hole; returns the bytes no longer charged.
    pub(super) fn set_size(&mut self, size: u64) -> u64 {
        let before = self.charged;
        if size < self.size {
            let first_gone = size.div_ceil(CHUNK);
            for chunk in self.chunks.split_off(&first_gone).into_values() {
                self.charged -= charge_of(chunk.len());
            }
            if let Some(last) = self.chunks.get_mut(&(size / CHUNK)) {
                let keep = ((size % CHUNK) as usize).min(last.len());
                self.charged -= charge_of(last.len()) - charge_of(keep);
                last.truncate(keep);
                last.shrink_to(keep);
            }
        }
        self.size = size;
        before - self.charged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(file: &FileData) -> Vec<u8> {
        let mut out = Vec::new();
        file.read(0, u32::MAX, &mut out);
        out
    }

    #[test]
    fn a_hole_costs_nothing_and_reads_as_zeros() {
        let mut file = FileData::default();
        file.write(1 << 40, b"x");
        assert_eq!(file.size(), (1 << 40) + 1);
        assert_eq!(file.charged(), BLOCK);
        let mut out = vec![7];
        assert_eq!(file.read((1 << 40) - 3, 100, &mut out), 4);
        assert_eq!(out, [7, 0, 0, 0, b'x']);
    }

    #[test]
    fn growth_foretells_the_charge() {
        let mut file = FileData::default();
        for (offset, len) in [(0, 1), (1, 4095), (4000, 200), (60_000, 200_000), (10, 5)] {
            let (growth, before) = (file.growth(offset, len), file.charged());
            file.write(offset, &vec![9; len]);
            assert_eq!(
                file.charged(),
                before + growth,
                "write of {len} at {offset}"
            );
        }
        let charged = file.charged();
        assert_eq!(file.set_size(0), charged);
        assert_eq!(file.charged(), 0);
    }

    #[test]
    fn a_cut_file_grows_back_with_zeros() {
        let mut file = FileData::default();
        file.write(0, &[1; 100_000]);
        file.set_size(70_000);
        file.set_size(100_000);
        let content = all(&file);
        assert!(content[..70_000].iter().all(|b| *b == 1));
        assert!(content[70_000..].iter().all(|b| *b == 0));
        file.set_size(CHUNK);
        file.write(CHUNK + 5, b"y");
        assert_eq!(all(&file)[CHUNK as usize..], [0, 0, 0, 0, 0, b'y']);
    }

    #[test]
    fn overlapping_writes_land_where_they_should() {
        let mut file = FileData::default();
        let mut model = vec![0u8; 0];
        let mut seed = 1u64;
        for round in 0..200u8 {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let (offset, len) = (
                (seed >> 33) as usize % 200_000,
                (seed >> 20) as usize % 90_000,
            );
            file.write(offset as u64, &vec![round; len]);
            if len > 0 {
                model.resize(model.len().max(offset + len), 0);
                model[offset..offset + len].fill(round);
            }
            assert_eq!(file.size(), model.len() as u64);
        }
        assert!(all(&file) == model);
    }
}
