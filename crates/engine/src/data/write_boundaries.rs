//! Where writes began or ended within a sector: only there may its generation change.
//!
//! One set of bits for all files of an agent, of a fixed size. A place is noted in two
//! lines of the set that follow from file and sector, and was noted if both have it. So
//! other sectors may add places to a sector's, and none is ever missed.

use super::sector::{SECTOR, SECTOR_BYTES};
use filermark_model::rng::hash3;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lines of the set: 8 MiB, allocated by the first write that needs them.
const LINES: usize = 1 << 17;
const LINE_WORDS: usize = SECTOR / 64;

/// A bit for each byte of a sector.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line([AtomicU64; LINE_WORDS]);

/// The set of places where writes began or ended within sectors.
#[derive(Debug, Default)]
pub(super) struct WriteBoundaries(OnceLock<Box<[Line]>>);

impl WriteBoundaries {
    /// Notes where a write to a file begins and ends.
    #[inline]
    pub(super) fn note_write(&self, file: u64, offset: u64, length: u64) {
        if !(offset | length).is_multiple_of(SECTOR_BYTES) {
            self.note(file, offset);
            self.note(file, offset.saturating_add(length));
        }
    }

    /// Notes a place in a file, unless a sector begins there.
    fn note(&self, file: u64, at: u64) {
        let within = (at % SECTOR_BYTES) as usize;
        if within == 0 {
            return;
        }
        let lines = self.0.get_or_init(|| {
            let lines = (0..LINES).map(|_| Line::default());
            lines.collect()
        });
        let bit = 1 << (within % 64);
        for line in places(file, at / SECTOR_BYTES) {
            lines[line].0[within / 64].fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// The noted places within a sector.
    pub(super) fn of(&self, file: u64, sector: u64) -> Cuts {
        let Some(lines) = self.0.get() else {
            return Cuts::default();
        };
        let [one, two] = places(file, sector).map(|line| &lines[line].0);
        let both = |at: usize| one[at].load(Ordering::Relaxed) & two[at].load(Ordering::Relaxed);
        Cuts(std::array::from_fn(both))
    }
}

/// The lines that a sector's places are noted in.
fn places(file: u64, sector: u64) -> [usize; 2] {
    let hash = hash3(1, file, sector);
    [hash, hash >> 32].map(|hash| hash as usize % LINES)
}

/// Places within a sector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cuts([u64; LINE_WORDS]);

impl Cuts {
    /// The first place after a byte of the sector; its end, if there is none.
    pub(super) fn next(&self, behind: usize) -> usize {
        let mut at = behind + 1;
        while at < SECTOR {
            match self.0[at / 64] >> (at % 64) {
                0 => at = (at / 64 + 1) * 64,
                rest => return at + rest.trailing_zeros() as usize,
            }
        }
        SECTOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(cuts: Cuts) -> Vec<usize> {
        let next = |at: &usize| Some(cuts.next(*at)).filter(|at| *at < SECTOR);
        std::iter::successors(Some(cuts.next(0)).filter(|at| *at < SECTOR), next).collect()
    }

    #[test]
    fn places_are_those_of_their_sector() {
        let boundaries = WriteBoundaries::default();
        assert_eq!(boundaries.of(1, 1), Cuts::default());
        boundaries.note_write(1, 1_024, 512);
        assert!(boundaries.0.get().is_none(), "whole sectors need nothing");
        boundaries.note_write(1, 513, 1_000);
        boundaries.note_write(1, 1_023, 63);
        boundaries.note_write(1, u64::MAX, 7);
        assert_eq!(all(boundaries.of(1, 1)), [1, 511]);
        assert_eq!(all(boundaries.of(1, 2)), [62, 489]);
        assert_eq!(all(boundaries.of(1, 0)), [0; 0]);
        assert_eq!(all(boundaries.of(2, 1)), [0; 0]);
    }

    /// Many sectors with a few places each: most others have none.
    #[test]
    fn others_add_few_places() {
        let boundaries = WriteBoundaries::default();
        for sector in 0..1_000_000 {
            boundaries.note_write(sector % 1_000, sector * SECTOR_BYTES + sector % 500 + 1, 5);
        }
        let added: usize = (0..1_000)
            .map(|sector| all(boundaries.of(5_000, sector)).len())
            .sum();
        assert!(added < 4_000, "{added}");
    }
}
