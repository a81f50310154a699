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

    /// Stores zeros where nothing is stored between `offset` and `offset + len`, and extends the file to
    /// that end. The caller has checked the end against [`MAX_FILE_SIZE`] and the growth.
    pub(super) fn reserve(&mut self, offset: u64, len: usize) {
        for (index, within, n) in pieces(offset, len) {
            let chunk = self.chunks.entry(index).or_default();
            let (had, need) = (chunk.len(), within + n);
            if need > had {
                chunk.resize(need, 0);
                self.charged += charge_of(need) - charge_of(had);
            }
        }
        self.size = self.size.max(offset + len as u64);
    }

    /// Makes a hole between `from` and `to`, as far as the file goes; its size stays. Returns the bytes no
    /// longer charged.
    pub(super) fn punch(&mut self, from: u64, to: u64) -> u64 {
        let before = self.charged;
        let to = to.min(self.size);
        if from >= to {
            return 0;
        }
        let (first, last) = (from / CHUNK, (to - 1) / CHUNK);
        let inside: Vec<u64> = self.chunks.range(first..=last).map(|(i, _)| *i).collect();
        for index in inside {
            let start = index * CHUNK;
            let Some(chunk) = self.chunks.get_mut(&index) else {
                continue;
            };
            let begin = (from.saturating_sub(start) as usize).min(chunk.len());
            let end = ((to - start).min(CHUNK) as usize).min(chunk.len());
            let had = chunk.len();
            if end == had {
                chunk.truncate(begin);
                chunk.shrink_to_fit();
            } else {
                chunk[begin..end].fill(0);
            }
            self.charged -= charge_of(had) - charge_of(chunk.len());
            if chunk.is_empty() {
                self.chunks.remove(&index);
            }
        }
        before - self.charged
    }

    /// The first stored byte from `offset` on.
    pub(super) fn next_data(&self, offset: u64) -> Option<u64> {
        let stored = self.chunks.range(offset / CHUNK..);
        let mut ends = stored.map(|(i, chunk)| (i * CHUNK, i * CHUNK + chunk.len() as u64));
        let (start, _) = ends.find(|(_, end)| *end > offset)?;
        Some(start.max(offset)).filter(|at| *at < self.size)
    }

    /// The first byte from `offset` on that is not stored. There is one at the end of the file.
    pub(super) fn next_hole(&self, offset: u64) -> u64 {
        let mut at = offset;
        while let Some(chunk) = self.chunks.get(&(at / CHUNK)) {
            let end = (at / CHUNK) * CHUNK + chunk.len() as u64;
            if end <= at {
                break;
            }
            at = end;
            if !at.is_multiple_of(CHUNK) {
                break;
            }
        }
        at.min(self.size)
    }

    /// The stored parts between `from` and `to`: offset and bytes.
    pub(super) fn stored(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, &[u8])> {
        let to = to.min(self.size).max(from);
        self.chunks
            .range(from / CHUNK..to.div_ceil(CHUNK))
            .filter_map(move |(index, chunk)| {
                let start = index * CHUNK;
                let begin = from.saturating_sub(start) as usize;
                let end = ((to - start) as usize).min(chunk.len());
                let part = chunk.get(begin..end).filter(|part| !part.is_empty())?;
                Some((start + begin as u64, part))
            })
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
    fn a_hole_is_made_and_found() {
        let mut file = FileData::default();
        file.write(0, &[1; 3 * CHUNK as usize]);
        let charged = file.charged();
        let freed = file.punch(10, 2 * CHUNK);
        assert_eq!((charged - freed, file.size()), (file.charged(), 3 * CHUNK));
        assert_eq!(file.next_hole(0), 10);
        assert_eq!(file.next_data(10), Some(2 * CHUNK));
        assert_eq!(file.next_hole(2 * CHUNK), 3 * CHUNK);
        let content = all(&file);
        assert!(content[..10].iter().all(|b| *b == 1));
        assert!(content[10..2 * CHUNK as usize].iter().all(|b| *b == 0));
        assert!(content[2 * CHUNK as usize..].iter().all(|b| *b == 1));
        // Inside of a chunk the bytes become zeros, which stay stored.
        assert_eq!(file.punch(2 * CHUNK + 5, 2 * CHUNK + 7), 0);
        assert_eq!(all(&file)[2 * CHUNK as usize + 4..][..4], [1, 0, 0, 1]);
    }

    #[test]
    fn reserved_space_is_charged_and_zero() {
        let mut file = FileData::default();
        file.write(0, b"abc");
        let growth = file.growth(1, 100_000);
        let before = file.charged();
        file.reserve(1, 100_000);
        assert_eq!((file.charged(), file.size()), (before + growth, 100_001));
        assert_eq!(all(&file)[..4], *b"abc\0");
        assert_eq!(file.next_hole(0), 100_001);
    }

    #[test]
    fn stored_parts_are_those_that_were_written() {
        let mut file = FileData::default();
        file.write(5, b"abc");
        file.write(3 * CHUNK - 2, b"defg");
        let parts: Vec<_> = file.stored(6, 3 * CHUNK + 1).collect();
        // A chunk stores all bytes from its beginning on.
        assert_eq!(parts[0], (6, &b"bc"[..]));
        assert_eq!(parts[1].0, 2 * CHUNK);
        assert_eq!(parts[1].1[CHUNK as usize - 2..], *b"de");
        assert_eq!(parts[2], (3 * CHUNK, &b"f"[..]));
        assert_eq!(file.stored(9, 10).count(), 0);
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
