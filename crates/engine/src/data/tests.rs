mod mixture;

use super::*;
use std::collections::{HashMap, HashSet};

const KEY: u64 = 1;

fn source() -> DataSource {
    DataSource::new(KEY, VerifyLevel::All)
}

fn bytes(data: &DataSource, file: u64, offset: u64, generation: u64, len: usize) -> Vec<u8> {
    let mut out = Vec::new();
    data.append(file, offset, generation, len, &mut out);
    out
}

/// Whether a range passes where these generations are right.
fn passes(data: &DataSource, file: u64, offset: u64, read: &[u8], right: &[u64]) -> bool {
    let boundaries = |sector| GenerationMix::Cut(data.common.boundaries.of(file, sector));
    let accepts = |_, generation| right.contains(&generation);
    data.check(file, offset, read, boundaries, accepts).good
}

#[test]
fn any_range_of_a_file_reads_back_as_written() {
    for data in [
        source(),
        source().shaped(50.0, 30.0),
        source().shaped(93.0, 0.0),
    ] {
        let whole = bytes(&data, 5, 0, 7, 20_000);
        assert_eq!(whole.len(), 20_000);
        for (from, to) in [
            (0, 1),
            (3, 40),
            (31, 33),
            (4_090, 4_200),
            (0, 20_000),
            (4_096, 8_192),
            (510, 514),
            (511, 5_119),
        ] {
            let part = bytes(&data, 5, from as u64, 7, to - from);
            assert_eq!(part, whole[from..to]);
            let mut filled = vec![0; to - from];
            data.fill(5, from as u64, 7, &mut filled);
            assert_eq!(filled, part);
            assert!(passes(&data, 5, from as u64, &part, &[7]), "{from} {to}");
        }
    }
}

#[test]
fn a_wrong_byte_file_place_run_or_generation_is_noticed() {
    for data in [source(), source().shaped(50.0, 0.0)] {
        let block = bytes(&data, 5, 4_096, 3, 8_192);
        assert!(passes(&data, 5, 4_096, &block, &[3]));
        assert!(!passes(&data, 6, 4_096, &block, &[3]));
        assert!(!passes(&data, 5, 0, &block, &[3]));
        assert!(!passes(&data, 5, 4_608, &block[..512], &[3]));
        assert!(!passes(&data, 5, 4_096, &block, &[2, 4]));
        let other = DataSource::new(2, VerifyLevel::All);
        assert!(!passes(&other, 5, 4_096, &block, &[3]));
        for at in [0, 8, 15, 16, 31, 32, 255, 511, 512, 4_095, 8_191] {
            let mut bad = block.clone();
            bad[at] ^= 1;
            assert!(!passes(&data, 5, 4_096, &bad, &[3]), "byte {at}");
        }
        assert!(!passes(&data, 5, 4_096, &vec![0; 8_192], &[0, 3]), "zeros");
    }
}

/// Two writes meet where one of them began: that passes, and nothing else.
#[test]
fn what_two_writes_left_passes_and_nothing_else() {
    for cut in [0, 512, 1_024, 1, 7, 8, 9, 16, 20, 255, 509, 511, 700, 4_095] {
        let data = source();
        let (old, new) = (bytes(&data, 5, 0, 3, 4_096), bytes(&data, 5, 0, 9, 4_096));
        let mixed = [&new[..cut], &old[cut..]].concat();
        let is_within = !cut.is_multiple_of(SECTOR);
        // The first word is the same in both.
        assert_eq!(
            passes(&data, 5, 0, &mixed, &[3, 9]),
            !is_within || cut <= 8,
            "{cut}"
        );
        data.common.boundaries.note_write(5, 0, cut as u64);
        assert!(passes(&data, 5, 0, &mixed, &[3, 9]), "{cut}");
        if (24..4_000).contains(&cut) {
            assert!(!passes(&data, 5, 0, &mixed, &[3]), "{cut}");
            assert!(!passes(&data, 5, 0, &mixed, &[9]), "{cut}");
        }
        assert!(!passes(&data, 5, 0, &vec![0; 4_096], &[0, 3, 9]), "{cut}");
    }
}

#[test]
fn a_sector_names_its_file_place_and_generation() {
    let data = source();
    let file = 0x8000_0001_2345_6789;
    let sector = bytes(&data, file, 77 * 512, 12, 512);
    assert_eq!(data.names(&sector), Some((file, 77, 12)));
}

#[test]
fn no_two_sectors_are_alike() {
    let data = source();
    let mut seen = HashSet::new();
    for (file, generation) in (0..8).flat_map(|file| [(file, 0), (file, 1)]) {
        let out = bytes(&data, file, 0, generation, 1 << 20);
        for sector in out.chunks(SECTOR) {
            assert!(seen.insert(sector.to_vec()));
        }
    }
}

#[test]
fn shaped_contents_compress_and_repeat_as_asked() {
    let data = source().shaped(50.0, 30.0);
    let mut seen = HashMap::new();
    let (mut zeros, mut total) = (0, 0);
    for file in 0..16 {
        let out = bytes(&data, file, 0, 1, 1 << 20);
        assert!(passes(&data, file, 0, &out, &[1]));
        for block in out.chunks(BLOCK) {
            *seen.entry(block.to_vec()).or_insert(0u32) += 1;
        }
        for sector in out.chunks(SECTOR) {
            zeros += sector.iter().rev().take_while(|b| **b == 0).count();
            total += sector.len();
        }
    }
    let share = zeros as f64 / total as f64;
    assert!((0.49..0.52).contains(&share), "{share}");
    let copies: u32 = seen.values().filter(|n| **n > 1).sum();
    let share = f64::from(copies) / 4_096.0;
    assert!((0.28..0.32).contains(&share), "{share}");
    let mut bad = bytes(&data, 3, 0, 1, 8_192);
    bad[8_191] = 1;
    assert!(!passes(&data, 3, 0, &bad, &[1]));
}

/// A read may show the last write that was acknowledged, or one under way; nothing older.
#[test]
fn what_is_stale_is_noticed() {
    let data = Arc::new(source());
    let mut history = History::new(data.clone(), 2);
    let range = (5, 4_096, 8_192);
    let write = |history: &mut History| {
        let mark = history.begin_write(1, range);
        history.end_write(1, mark, range, true);
        mark.generation
    };
    let read = |history: &mut History, since, generation| {
        let read = bytes(&data, 5, 4_096, generation, 8_192);
        history.check(since, 5, 4_096, &read).good
    };
    let first = write(&mut history);
    let before = history.begin_read();
    let second = write(&mut history);
    let after = history.begin_read();
    assert!(read(&mut history, before, first) && read(&mut history, before, second));
    assert!(!read(&mut history, after, first) && read(&mut history, after, second));
    assert!(!read(&mut history, after, second + 1), "never issued");
    // Under way: both are right, whichever ends first.
    let (one, two) = (history.begin_write(1, range), history.begin_write(1, range));
    assert!(read(&mut history, after, one.generation) && read(&mut history, after, second));
    history.end_write(1, two, range, true);
    history.end_write(1, one, range, true);
    let last = history.begin_read();
    assert!(read(&mut history, last, one.generation) && read(&mut history, last, two.generation));
    assert!(!read(&mut history, last, second));
    // The outcome is not known: this write and all that follow are right.
    let lost = history.begin_write(1, range);
    history.end_write(1, lost, range, false);
    let third = write(&mut history);
    let end = history.begin_read();
    assert!(read(&mut history, end, lost.generation) && read(&mut history, end, third));
    assert!(!read(&mut history, end, two.generation));
    // Other procs are not affected.
    let other = history.begin_write(0, (6, 0, 512));
    history.end_write(0, other, (6, 0, 512), true);
    let newest = history.begin_write(0, (6, 0, 512));
    history.end_write(0, newest, (6, 0, 512), true);
    let old = bytes(&data, 6, 0, other.generation, 512);
    assert!(!history.check(history.begin_read(), 6, 0, &old).good);
}

/// Where writes are always under way, too.
#[test]
fn what_is_stale_is_noticed_where_writes_always_overlap() {
    let data = Arc::new(source().overlapping(true));
    let mut history = History::new(data.clone(), 1);
    let others = |at: u64| (5, (1 + at % 8) * 4_096, 4_096);
    let mut under_way: std::collections::VecDeque<_> = (0..8)
        .map(|at| (history.begin_write(0, others(at)), others(at)))
        .collect();
    let mut turn = |history: &mut History, range| {
        under_way.push_back((history.begin_write(0, range), range));
        let begun = under_way[under_way.len() - 1].0.generation;
        let (mark, range) = under_way.pop_front().expect("under way");
        history.end_write(0, mark, range, true);
        begun
    };
    let target = (5, 0, 4_096);
    let first = turn(&mut history, target);
    for at in 0..100 {
        turn(&mut history, others(at));
    }
    let second = turn(&mut history, target);
    for at in 0..8 {
        turn(&mut history, others(at));
    }
    let since = history.begin_read();
    let mut is_good = |generation| {
        let read = bytes(&data, 5, 0, generation, 4_096);
        history.check(since, 5, 0, &read).good
    };
    assert!(is_good(second));
    assert!(
        !is_good(first),
        "generation {first} was replaced by {second}"
    );
}

#[test]
fn shared_files_show_any_write_and_samples_are_sectors() {
    let data = Arc::new(DataSource::new(KEY, VerifyLevel::Sample).shared(true));
    let mut history = History::new(data.clone(), 1);
    for generation in [0, 5, GENERATION_LIMIT - 1] {
        let read = bytes(&data, 5, 100, generation, 10_000);
        let checked = history.check(0, 5, 100, &read);
        assert!(checked.good);
        assert_eq!(checked.bytes, 512);
    }
    let mut seen = HashSet::new();
    for _ in 0..200 {
        let part = history.part(100, 10_000);
        assert_eq!(((100 + part.start) % 512, part.len()), (0, 512));
        seen.insert(part.start);
    }
    assert_eq!(seen.len(), 18, "each whole sector in turn");
    assert!(!history.check(0, 5, 0, &[0; 4_096]).good);
}

/// Any generation is right, also of other procs; but no garbage, and no other file's data.
#[test]
fn shared_files_hold_no_garbage() {
    let data = Arc::new(DataSource::new(KEY, VerifyLevel::All).shared(true));
    let mut history = History::new(data.clone(), 1);
    let mut rng = filermark_model::Rng::new(3, 3);
    let right: Vec<u64> = (1..=40).map(|n| (5 << 32) + n).collect();
    for round in 0..1_000 {
        let mut mixed = bytes(&data, 5, 0, right[0], 512);
        for generation in &right[1..] {
            let from = rng.below(2) as usize * rng.below(500) as usize;
            let to = (from + 1 + rng.below(511) as usize).min(512);
            mixed[from..to].copy_from_slice(&bytes(&data, 5, 0, *generation, 512)[from..to]);
        }
        assert!(history.check(0, 5, 0, &mixed).good, "{round}");
        assert!(!history.check(0, 6, 0, &mixed).good, "{round}");
    }
    // What cannot be decided is not counted as compared.
    let mut bad = bytes(&data, 5, 0, 1, 512);
    assert_eq!(history.check(0, 5, 0, &bad).bytes, 512);
    bad[100..104].fill(1);
    assert_eq!(history.check(0, 5, 0, &bad).bytes, 504);
    bad[96..400].fill(1);
    assert!(!history.check(0, 5, 0, &bad).good);
}

/// An earlier run's data is right only in files that are used again, and only if it has
/// that run's identity.
#[test]
fn data_of_an_earlier_run_is_right_where_its_file_is_used() {
    let earlier = DataSource::of_run(KEY, "earlier", VerifyLevel::All);
    let own = DataSource::of_run(KEY, "own", VerifyLevel::All);
    let old = bytes(&earlier, 5, 0, 7, 1_024);
    let mut history = History::new(Arc::new(own.clone()), 1);
    let _ = history.begin_fill(0);
    own.note_reused(5);
    assert!(!history.check(0, 5, 0, &old).good, "another run's");

    let used = Arc::new(own.of_earlier("earlier", "own"));
    let mut history = History::new(used.clone(), 1);
    let mark = history.begin_fill(0);
    let made = bytes(&used, 6, 0, mark.generation, 1_024);
    assert!(history.check(0, 5, 0, &old).good, "used again");
    assert!(history.check(0, 6, 0, &made).good, "made by this run");
    let old = bytes(&earlier, 6, 0, 7, 1_024);
    assert!(!history.check(0, 6, 0, &old).good, "made anew since");
}
