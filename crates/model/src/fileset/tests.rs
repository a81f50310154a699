use super::*;
use crate::Benchmark;
use crate::benchmark::SHIPPED;

fn classic(name: &str) -> ClassicWork {
    let benchmark = Benchmark::shipped(name).expect("a shipped one");
    benchmark.classic().expect("a classical one").clone()
}

/// Bytes created and accessed of so many files.
fn bytes(set: &FileSet, count: u64) -> (u64, u64) {
    let choice = set.choice(count);
    let all = (0..count).map(|f| (set.size_bytes(f), set.is_accessed(&choice, f)));
    all.fold((0, 0), |(created, accessed), (size, is)| {
        (created + size, accessed + if is { size } else { 0 })
    })
}

/// How far the accessed share of the bytes is off, in percentage points.
fn points_off(set: &FileSet, count: u64, wanted_pcnt: f64) -> f64 {
    let (created, accessed) = bytes(set, count);
    100.0 * accessed as f64 / created as f64 - wanted_pcnt
}

/// Why no choice gives this share of the bytes: the file for the largest transfer has more
/// alone, or all files that have no more than the share have too little together.
fn is_impossible(set: &FileSet, count: u64, wanted: f64) -> bool {
    let sizes: Vec<u64> = (0..count).map(|f| set.size_bytes(f)).collect();
    let all = sizes.iter().sum::<u64>() as f64;
    let pcnt = |bytes: u64| 100.0 * bytes as f64 / all;
    let holds = sizes.iter().filter(|size| **size >= set.longest).min();
    let small = sizes.iter().filter(|size| pcnt(**size) <= wanted + 2.0);
    holds.is_some_and(|size| pcnt(*size) > wanted + 2.0) || pcnt(small.sum()) < wanted - 2.0
}

/// From 100 files on, unless no choice can.
#[test]
fn few_files_have_their_share_of_the_bytes() {
    let mut impossible = 0;
    for (name, _) in SHIPPED {
        let work = classic(name);
        let wanted = work.fileset.access_pcnt;
        for seed in 0..100 {
            let set = FileSet::new(seed, &work);
            for count in [100, 101, 130, 256, 400, 1_000, 2_400] {
                let off = points_off(&set, count, wanted);
                if off.abs() > 2.0 {
                    let why = format!("{name} seed {seed}, {count} files: {off:.1} points off");
                    assert!(count < 256 && is_impossible(&set, count, wanted), "{why}");
                    impossible += 1;
                }
            }
        }
    }
    eprintln!("{impossible} of {} sets cannot", SHIPPED.len() * 700);
    assert!(impossible < 300, "{impossible}");
}

/// The rule as it always was, where it is near enough: at all sizes of standard runs.
#[test]
fn many_files_are_chosen_by_the_rule_alone() {
    for (name, _) in SHIPPED {
        let work = classic(name);
        for seed in 0..4 {
            let set = FileSet::new(seed, &work);
            for count in [CHOSEN_FILES_MAX, CHOSEN_FILES_MAX + 1, 90_001] {
                assert!(set.choice(count).is_by_rule(), "{name} {seed} {count}");
                let off = points_off(&set, count, work.fileset.access_pcnt);
                assert!(off.abs() <= RULE_POINTS_MAX, "{name} {seed} {count}: {off}");
            }
        }
    }
}

/// A read of the largest size finds a file wherever one was made.
#[test]
fn the_largest_transfer_has_a_file() {
    let work = classic("general-nfs3");
    let longest = work.read_sizes.max().0;
    for seed in 0..200 {
        let set = FileSet::new(seed, &work);
        for count in [1, 2, 5, 10, 20, 50, 100, 1_000] {
            let choice = set.choice(count);
            let largest = (0..count).map(|f| set.size_bytes(f)).max().unwrap_or(0);
            let accessed = (0..count).filter(|f| set.is_accessed(&choice, *f));
            let holds = accessed.map(|f| set.size_bytes(f)).max().unwrap_or(0);
            assert!(
                holds >= longest.min(largest),
                "seed {seed}, {count}: {holds}"
            );
        }
    }
}

/// The choice made anew takes files of every size, not only the largest or the smallest.
#[test]
fn the_chosen_files_are_a_share_of_all() {
    let work = classic("general-nfs3");
    for seed in 0..50 {
        let set = FileSet::new(seed, &work);
        let choice = set.choice(300);
        let small = |f: &u64| set.size_bytes(*f) <= 65_536;
        let all = (0..300).filter(small).count() as f64;
        let accessed = (0..300)
            .filter(small)
            .filter(|f| set.is_accessed(&choice, *f));
        let share = accessed.count() as f64 / all;
        assert!(
            (0.2..0.95).contains(&share),
            "seed {seed}: {share:.2} of the small files"
        );
    }
}

#[test]
fn sums_go_on_with_the_mean() {
    let work = classic("general-nfs3");
    let set = FileSet::new(7, &work);
    let count = SUMMED_FILES_MAX * 3 / 2;
    let (created, accessed) = bytes(&set, count);
    let sums = set.sums(count, 8, &work.read_sizes);
    for (sum, real) in [
        (sums.created_bytes, created),
        (sums.accessed_bytes, accessed),
    ] {
        let off = sum as f64 / real as f64 - 1.0;
        assert!(off.abs() < 0.005, "{off}");
    }
    let exact = set.sums(1_000, 4, &work.read_sizes);
    assert_eq!(
        (exact.created_bytes, exact.accessed_bytes),
        bytes(&set, 1_000)
    );
    assert_eq!(exact.cut_reads_pcnt, 0.0);
    // Two files for eight procs: each of two procs has one, and reads what it holds.
    let few = set.sums(2, 8, &work.read_sizes);
    assert_eq!(
        (few.accessed_count, few.accessed_bytes),
        (2, few.created_bytes)
    );
    assert!((0.0..=100.0).contains(&few.cut_reads_pcnt));
    assert_eq!(set.sums(0, 1, &work.read_sizes), FileSums::default());
}

/// Standard loads of 10 op/s and more per proc: each proc has more than a thousand accessed
/// files, so none of its reads is cut, however many procs there are.
#[test]
fn many_procs_of_a_standard_load_cut_no_reads() {
    let work = classic("general-nfs3");
    let set = FileSet::new(1, &work);
    for procs in [1_600, 3_200, 6_400] {
        let count = 6_144_000;
        let sums = set.sums(count, procs, &work.read_sizes);
        assert!(sums.cut_reads_pcnt < 0.01, "{procs}: {sums:?}");
        let share = sums.accessed_count as f64 / count as f64;
        assert!((share - 0.3).abs() < 0.001, "{procs}: {sums:?}");
    }
    // Fewer files than procs, and many: what each of some procs has stands for all.
    let few = set.sums(300_000, 200_000, &work.read_sizes);
    assert!((110_000..300_000).contains(&few.accessed_count), "{few:?}");
    assert!(few.cut_reads_pcnt > 5.0, "{few:?}");
}
