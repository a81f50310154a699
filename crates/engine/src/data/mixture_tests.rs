//! Whatever writes of any length leave is right, and every changed byte in a piece with
//! a whole word is noticed.

use super::*;
use proptest::prelude::*;

const FILE: u64 = 5;
const SECTORS: usize = 3;
const SIZE: usize = SECTORS * SECTOR;

/// What a file holds, and where writes began and ended.
struct Written {
    history: History,
    bytes: Vec<u8>,
    cuts: Vec<usize>,
}

impl Written {
    fn new(key: u64, overlapping: bool) -> Self {
        let data = DataSource::new(key, Checking::All).overlapping(overlapping);
        let mut history = History::new(Arc::new(data), 1);
        let mark = history.begin_fill(0);
        let mut bytes = vec![0; SIZE];
        history.data().fill(FILE, 0, mark.generation, &mut bytes);
        history.end_write(0, mark, (FILE, 0, SIZE as u64), true);
        let cuts = (0..=SECTORS).map(|at| at * SECTOR).collect();
        Self {
            history,
            bytes,
            cuts,
        }
    }

    /// A write, of which as much arrives as is said.
    fn write(&mut self, (from, to): (usize, usize), arrives: std::ops::Range<usize>) {
        let range = (FILE, from as u64, (to - from) as u64);
        let mark = self.history.begin_write(0, range);
        let mut whole = vec![0; to - from];
        (self.history.data()).fill(FILE, from as u64, mark.generation, &mut whole);
        self.bytes[arrives.clone()]
            .copy_from_slice(&whole[arrives.start - from..arrives.end - from]);
        self.history
            .end_write(0, mark, range, arrives == (from..to));
        self.cuts.extend([from, to]);
        self.cuts.sort_unstable();
    }

    fn check(&self, from: usize, to: usize) -> Checked {
        let since = self.history.begin_read();
        (self.history).compare(since, FILE, from as u64, &self.bytes[from..to])
    }

    /// Whether the piece that a byte lies in has a whole word that tells its generation.
    fn is_told(&self, at: usize) -> bool {
        let from = *self.cuts.iter().rfind(|cut| **cut <= at).unwrap();
        let to = *self.cuts.iter().find(|cut| **cut > at).unwrap();
        (from.div_ceil(8)..to / 8).any(|word| word * 8 % SECTOR >= HEADER)
    }
}

fn range() -> impl Strategy<Value = (usize, usize)> {
    let length = prop_oneof![1..20usize, 1..600usize, Just(SECTOR)];
    let from = prop_oneof![0..SIZE - 1, (0..SECTORS).prop_map(|at| at * SECTOR)];
    (from, length).prop_map(|(from, length)| (from, (from + length).min(SIZE)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_any_writes_left_is_right_and_what_changed_is_not(
        key: u64,
        writes in prop::collection::vec(range(), 0..60),
        read in range(),
        change in 1..=255u8,
    ) {
        let mut written = Written::new(key, false);
        for (from, to) in writes {
            written.write((from, to), from..to);
        }
        prop_assert!(written.check(0, SIZE).good);
        prop_assert!(written.check(read.0, read.1).good);
        let told = (0..SIZE).filter(|at| written.is_told(*at)).count();
        let compared = written.check(0, SIZE).bytes as usize;
        prop_assert!(compared >= told, "{compared} of {told}");
        for at in (0..SIZE).filter(|at| written.is_told(*at)).collect::<Vec<_>>() {
            written.bytes[at] ^= change;
            prop_assert!(!written.check(0, SIZE).good, "byte {at}");
            written.bytes[at] ^= change;
        }
    }

    /// The last write ended nobody knows where: what arrived of it is right, and so is
    /// what was there before.
    #[test]
    fn a_write_of_unknown_fate_may_be_torn(
        key: u64,
        overlapping: bool,
        writes in prop::collection::vec(range(), 0..20),
        last in range(),
        part in 0..600usize,
        at in 0..SIZE,
    ) {
        let mut written = Written::new(key, overlapping);
        for (from, to) in writes {
            written.write((from, to), from..to);
        }
        let (from, to) = last;
        let end = (from + part).min(to);
        written.write(last, from..end);
        prop_assert!(written.check(0, SIZE).good);
        // A whole sector is compared even then.
        let sector = at / SECTOR * SECTOR;
        written.write((sector, sector + SECTOR), sector..sector + SECTOR);
        prop_assert!(written.check(0, SIZE).good);
        written.bytes[sector..sector + SECTOR].fill(7);
        prop_assert!(!written.check(0, SIZE).good);
    }
}
