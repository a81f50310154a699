//! Any state that writes of any length leave is right, and every changed byte in a piece
//! with a whole word is noticed.

use super::super::*;
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
        Self::of(DataSource::new(key, VerifyLevel::All).overlapping(overlapping))
    }

    fn of(data: DataSource) -> Self {
        let mut history = History::new(Arc::new(data), 2);
        let mark = history.begin_fill(0);
        let mut bytes = vec![0; SIZE];
        history.data().fill(FILE, 0, mark.generation, &mut bytes);
        history.end_write(0, mark, (FILE, 0, SIZE as u64), true);
        let solid = history.data().solid;
        let cuts = (0..2 * SECTORS + 1).map(|at| at / 2 * SECTOR + at % 2 * solid);
        let mut cuts: Vec<usize> = cuts.collect();
        cuts.dedup();
        Self {
            history,
            bytes,
            cuts,
        }
    }

    /// A write of which only the range `arrives` is stored.
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

    fn check(&self, from: usize, to: usize) -> CompareOutcome {
        let since = self.history.begin_read();
        (self.history).compare(since, FILE, from as u64, &self.bytes[from..to])
    }

    /// What the file would hold if it were of one generation, for each that was assigned.
    fn images(&mut self) -> Vec<Vec<u8>> {
        let last = self.history.begin_fill(1).generation;
        let image = |generation| {
            let mut image = vec![0; SIZE];
            (self.history.data()).fill(FILE, 0, generation, &mut image);
            image
        };
        (0..=last).map(image).collect()
    }

    /// Whether the word that a byte lies in, or the part of it between two cuts, may be
    /// the beginning of one generation and the end of another one.
    fn is_split(&self, at: usize, images: &[Vec<u8>]) -> bool {
        let from = *self.cuts.iter().rfind(|cut| **cut <= at).unwrap();
        let to = *self.cuts.iter().find(|cut| **cut > at).unwrap();
        let (from, to) = (from.max(at / 8 * 8), to.min(at / 8 * 8 + 8));
        let has = |from, to| {
            let here = |image: &Vec<u8>| image[from..to] == self.bytes[from..to];
            images.iter().any(here)
        };
        (from..=to).any(|split| has(from, split) && has(split, to))
    }

    /// Whether the piece that a byte is in has a whole word that shows its generation.
    fn shows_generation(&self, at: usize) -> bool {
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
        let shown = (0..SIZE).filter(|at| written.shows_generation(*at)).count();
        let compared = written.check(0, SIZE).bytes as usize;
        prop_assert!(compared >= shown, "{compared} of {shown}");
        for at in (0..SIZE).filter(|at| written.shows_generation(*at)).collect::<Vec<_>>() {
            written.bytes[at] ^= change;
            prop_assert!(!written.check(0, SIZE).good, "byte {at}");
            written.bytes[at] ^= change;
        }
    }

    /// Where the last write ended is not known: what arrived of it is right, and so is
    /// what was there before.
    #[test]
    fn a_write_of_unknown_outcome_may_be_torn(
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

    /// Torn or not: a changed byte of a piece with a whole word is found, unless the word
    /// might as well have been torn there.
    #[test]
    fn what_changed_in_torn_sectors_is_found(
        key: u64,
        compressed: bool,
        writes in prop::collection::vec(range(), 0..12),
        last in range(),
        part in 0..600usize,
        change in 1..=255u8,
    ) {
        let data = DataSource::new(key, VerifyLevel::All).overlapping(true);
        let mut written = Written::of(match compressed {
            true => data.shaped(50.0, 0.0),
            false => data,
        });
        for (from, to) in writes {
            written.write((from, to), from..to);
        }
        let (from, to) = last;
        written.write(last, from..(from + part).min(to));
        prop_assert!(written.check(0, SIZE).good);
        let images = written.images();
        for at in (0..SIZE).filter(|at| written.shows_generation(*at)).collect::<Vec<_>>() {
            written.bytes[at] ^= change;
            let sector = at / SECTOR * SECTOR;
            let is_found = !written.check(sector, sector + SECTOR).good;
            prop_assert!(is_found || written.is_split(at, &images), "byte {at}");
            written.bytes[at] ^= change;
        }
    }
}

/// With any number of generations: any tear of one write is right, and a changed
/// word is not.
#[test]
fn words_at_the_borders_of_sectors_are_compared_with_open_pacing() {
    for others in [0, 100_000] {
        let mut written = Written::new(3, true);
        let old = written.bytes.clone();
        written.write((0, SIZE), 0..SIZE);
        let new = written.bytes.clone();
        // The old generation is not accepted any more, but two that follow are.
        let mark = written.history.begin_write(0, (FILE, 0, SIZE as u64));
        let mut next = vec![0; SIZE];
        (written.history.data()).fill(FILE, 0, mark.generation, &mut next);
        for _ in 0..others {
            let _ = written.history.begin_fill(1);
        }
        for tear in 0..=SIZE {
            written.bytes = [&next[..tear], &new[tear..]].concat();
            let checked = written.check(0, SIZE);
            assert!(checked.good, "{tear}");
            assert!(checked.bytes as usize >= SIZE - 8, "{tear}");
        }
        for (from, to) in [(504, 512), (8, 16), (16, 24), (8, 24), (1_024, 1_032)] {
            written.bytes = new.clone();
            written.bytes[from..to]
                .iter_mut()
                .for_each(|byte| *byte ^= 0x55);
            assert!(!written.check(0, SIZE).good, "{from} to {to}");
            written.bytes = new.clone();
            written.bytes[from..to].copy_from_slice(&old[from..to]);
            let is_name = from % SECTOR == 0;
            assert_eq!(written.check(0, SIZE).good, is_name, "{from} to {to}");
        }
    }
}

/// A torn word at the end of what is read, and more generations than are tried: its bytes
/// may be those of any of them. They do not count as compared, and are recorded as undecided.
#[test]
fn bytes_of_too_many_generations_are_undecided() {
    let mut written = Written::new(3, true);
    written.write((0, SIZE), 0..SIZE);
    for _ in 0..20_000 {
        let _ = written.history.begin_fill(1);
    }
    let whole = written.check(0, SECTOR);
    assert_eq!((whole.bytes, whole.undecided_bytes), (SECTOR as u64, 0));
    // One byte of each side of the word is wrong, so no generation shows.
    for (at, is_good) in [(SECTOR - 1, true), (SECTOR - 8, false)] {
        written.bytes[at] ^= 0x55;
        let compared = written.check(0, SECTOR);
        assert_eq!(compared.good, is_good, "byte {at}");
        let undecided = if is_good { 8 } else { 0 };
        assert_eq!(compared.undecided_bytes, undecided, "byte {at}");
        assert_eq!(compared.bytes + undecided, SECTOR as u64, "byte {at}");
        written.bytes[at] ^= 0x55;
    }
    // Short reads have no word that shows anything.
    let short = written.check(17, 30);
    assert_eq!((short.bytes, short.undecided_bytes), (0, 13));
}

/// The second word names half of a generation: with very many earlier shards, too many
/// generations have it. The other side of the tear is not compared then.
#[test]
fn generations_with_one_half_may_be_too_many() {
    let data = DataSource::new(3, VerifyLevel::All).overlapping(true);
    let part = |read: &[u8; SECTOR]| {
        let run = data.run.file(FILE);
        let part = check::SectorPart {
            sector: run.sector(&data.pool, 0),
            from: 8,
            data: &read[8..],
            solid: SECTOR,
        };
        let boundaries = write_boundaries::WriteBoundaries::default();
        let last = 20_000 << 32 | 9;
        let mixture = GenerationMix::Torn(
            boundaries.of(FILE, 0),
            generation_set::Candidates::range(0, last),
        );
        part.check_mixture(mixture, &mut |generation| generation <= last)
    };
    let mut read = [0; SECTOR];
    data.fill(FILE, 0, 5, &mut read);
    let whole = part(&read);
    assert!(whole.good && whole.bytes == SECTOR as u64 - 8, "{whole:?}");
    let mut other = [0; SECTOR];
    data.fill(FILE, 0, 7, &mut other);
    // The first bytes of the third word are of a generation that its neighbour names in
    // part only, the last ones are of no adjacent generation.
    read[16..20].copy_from_slice(&other[16..20]);
    let torn = part(&read);
    assert!(torn.good && torn.bytes == SECTOR as u64 - 16, "{torn:?}");
}
