//! Tests of what a tree selects, and of what INIT makes of it.

mod moved;

use super::*;
use crate::data::{DataSource, VerifyLevel};
use crate::driver::Action;
use crate::proc::{ChosenAction, PendingEffect};
use filermark_model::bucket::MadeBuckets;
use filermark_model::workload::{Attributes, HotSpot};
use filermark_model::{Mix, Nanos, Rng, TransferTable, WorkloadObject};
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

fn workload(mix: Mix, attributes: Attributes) -> WorkloadObject {
    WorkloadObject {
        name: "TEST".into(),
        title: String::new(),
        mix,
        read_transfers: TransferTable::fixed(3000),
        write_transfers: TransferTable::fixed(5000),
        attributes,
    }
}

fn tree_of(op: Op, dirs: u32, files: u32, sharing: Sharing, attributes: Attributes) -> TreeSlice {
    let mix = Mix::new([(op, 100.0)]).unwrap();
    let workload = workload(mix, attributes);
    tree_with(workload, dirs, files, sharing, MadeBuckets::All)
}

fn tree_with(
    workload: WorkloadObject,
    dirs: u32,
    files: u32,
    sharing: Sharing,
    buckets: MadeBuckets,
) -> TreeSlice {
    let component = Component {
        workload,
        instances: 1,
        ops_per_proc: None,
        dir_count: dirs,
        files_per_dir: files,
        file_bytes: 20_000,
        file_sizes: None,
        buckets,
    };
    let setup = TreeSetup {
        component: 0,
        name: "CL0_TEST".into(),
        workload: Arc::new(component.workload.clone()),
        data: contents(),
    };
    let parts = TreeParts {
        setup: Arc::new(setup),
        seed: 1,
        tree_number: 7,
        sharing,
        reuse: false,
        access_list: true,
    };
    TreeSlice::new(&component, parts)
}

fn contents() -> Arc<DataSource> {
    static CONTENTS: OnceLock<Arc<DataSource>> = OnceLock::new();
    CONTENTS
        .get_or_init(|| Arc::new(DataSource::new(1, VerifyLevel::Sample)))
        .clone()
}

const ALONE: Sharing = Sharing::ALONE;

fn three(index: u32) -> Sharing {
    Sharing {
        count: 3,
        index,
        filler_count: 3,
        filler_index: index,
    }
}

fn init(tree: &mut TreeSlice) -> Vec<FileAction> {
    tree.begin(false);
    std::iter::from_fn(|| tree.make()).collect()
}

/// A file system that has only names and sizes: returns whether an action works.
#[derive(Default)]
struct Names {
    sizes: HashMap<FileRef, u64>,
    dirs: HashSet<FileRef>,
}

impl Names {
    fn apply(&mut self, action: FileAction) -> Result<(), String> {
        let must = |there: bool| there.then_some(()).ok_or(format!("{action:?}"));
        match action {
            FileAction::MakeTree | FileAction::MakeDirs { .. } | FileAction::Readdir { .. } => {}
            FileAction::Fill { file, size, .. } => must(self.sizes.insert(file, size).is_none())?,
            FileAction::Create { file } => must(self.sizes.insert(file, 0).is_none())?,
            FileAction::Unlink { file } => must(self.sizes.remove(&file).is_some())?,
            FileAction::Mkdir { file } => must(self.dirs.insert(file))?,
            FileAction::Rmdir { file } => must(self.dirs.remove(&file))?,
            FileAction::Rename { from, to } => {
                let size = self.sizes.remove(&from);
                must(size.is_some() && self.sizes.insert(to, size.unwrap_or(0)).is_none())?;
            }
            FileAction::Truncate { file, size } => {
                must(self.sizes.get(&file).is_some_and(|s| *s >= size))?;
                self.sizes.insert(file, size);
            }
            FileAction::Copy { from, to, size, .. } => {
                must(self.sizes.get(&from) == Some(&size))?;
                self.sizes.insert(to, size);
            }
            FileAction::Read {
                file,
                offset,
                length,
                ..
            }
            | FileAction::MmapRead {
                file,
                offset,
                length,
                ..
            }
            | FileAction::MmapWrite {
                file,
                offset,
                length,
                ..
            }
            | FileAction::Rmw {
                file,
                offset,
                length,
                ..
            } => {
                let size = *self.sizes.get(&file).unwrap_or(&0);
                must(length > 0 && offset + u64::from(length) <= size)?;
            }
            FileAction::Write {
                file,
                offset,
                length,
                ..
            } => {
                let size = *self.sizes.get(&file).ok_or(format!("{action:?}"))?;
                must(offset <= size && length > 0)?;
                self.sizes
                    .insert(file, size.max(offset + u64::from(length)));
            }
            FileAction::ReadFile { file, size, .. } | FileAction::WriteFile { file, size, .. } => {
                must(self.sizes.get(&file) == Some(&size))?;
            }
            FileAction::Lock { file, .. }
            | FileAction::Access { file }
            | FileAction::Stat { file }
            | FileAction::Chmod { file, .. }
            | FileAction::Statfs { file }
            | FileAction::Pathconf { file }
            | FileAction::Custom { file, .. } => must(self.sizes.contains_key(&file))?,
            FileAction::RemoveDirs { .. } | FileAction::RemoveTree => {}
        }
        Ok(())
    }
}

/// Chooses `op` many times, on names that exist; returns how often it was
/// measured.
fn drive(tree: &mut TreeSlice, names: &mut Names, op: Op, rng: &mut Rng) -> u32 {
    let mut measured = 0;
    for n in 0..600 {
        let (action, effect, counts) = match tree.choose(rng, op, Nanos::from_secs(n)) {
            ChosenAction::Measured(Action::File(action), effect) => (action, effect, 1),
            ChosenAction::Prepare(Action::File(action), effect) => (action, effect, 0),
            other => panic!("{op}: {other:?}"),
        };
        names.apply(action).unwrap_or_else(|e| panic!("{op}: {e}"));
        if let PendingEffect::Tree(effect) = effect {
            tree.settle(effect, true);
        }
        measured += counts;
    }
    measured
}

#[test]
fn every_operation_works_any_number_of_times_on_what_init_made() {
    for (dirs, files) in [(1, 1), (2, 3), (10, 20)] {
        for uniform_size_dist in [true, false] {
            for op in Op::POSIX {
                let attributes = Attributes {
                    uniform_size_dist,
                    geometric_pcnt: 30.0,
                    ..Attributes::default()
                };
                let mut tree = tree_of(*op, dirs, files, ALONE, attributes);
                let mut names = Names::default();
                for action in init(&mut tree) {
                    names.apply(action).unwrap();
                }
                let mut rng = Rng::new(3, 1);
                let measured = drive(&mut tree, &mut names, *op, &mut rng);
                assert!(measured >= 290, "{op}: {measured} of 600");
            }
        }
    }
}

#[test]
fn procs_that_share_a_tree_do_not_conflict() {
    for op in Op::POSIX {
        let mut names = Names::default();
        let mut trees: Vec<_> = (0..3)
            .map(|index| tree_of(*op, 2, 5, three(index), Attributes::default()))
            .collect();
        let mut made = HashSet::new();
        for tree in &mut trees {
            for action in init(tree) {
                if let FileAction::Fill { file, reuse, .. } = action {
                    assert!(reuse && made.insert(file), "{op}: {file:?} made twice");
                }
                names.apply(action).unwrap();
            }
        }
        let copies = *op == Op::Copyfile;
        if copies || *op == Op::Append {
            continue; // each proc records its own sizes; those of the file system count
        }
        let mut rng = Rng::new(3, 1);
        for _ in 0..5 {
            for tree in &mut trees {
                drive(tree, &mut names, *op, &mut rng);
            }
        }
    }
}

#[test]
fn init_makes_the_data_set_of_the_arithmetic() {
    for (dirs, files) in [(1, 1), (3, 7)] {
        let mut tree = tree_of(Op::Stat, dirs, files, ALONE, Attributes::default());
        let actions = init(&mut tree);
        let fills = actions.iter().filter_map(|a| match a {
            FileAction::Fill { size, .. } => Some(*size),
            _ => None,
        });
        let count = u64::from(dirs * files);
        assert_eq!(fills.clone().sum::<u64>(), 11 * count * 20_000);
        assert_eq!(tree.data_bytes(), 11 * count * 20_000);
        assert_eq!(tree.counts().1, fills.count() as u64);
        // A second INIT finds all files.
        assert_eq!(init(&mut tree), []);
        tree.begin(true);
        let removed: Vec<_> = std::iter::from_fn(|| tree.next_removal()).collect();
        assert_eq!(removed.len(), dirs as usize + 1);
        tree.forget();
        tree.begin(true);
        assert_eq!(tree.next_removal(), None);
    }
}

/// Buckets and sizes of what INIT makes for this mix, where it makes what is reached.
fn reached(shares: &[(Op, f64)]) -> (TreeSlice, Names, Vec<(u8, u64)>) {
    let mix = Mix::new(shares.iter().copied()).unwrap();
    let workload = workload(mix, Attributes::default());
    let mut tree = tree_with(workload, 1, 4, ALONE, MadeBuckets::Reached);
    let mut names = Names::default();
    let mut made = Vec::new();
    for action in init(&mut tree) {
        if let FileAction::Fill { file, size, .. } = &action {
            made.push((file.bucket.number(), *size));
        }
        names.apply(action).unwrap();
    }
    (tree, names, made)
}

#[test]
fn only_the_buckets_that_the_mix_reaches_are_made() {
    let (tree, _, made) = reached(&[(Op::ReadRandom, 50.0), (Op::WriteRandom, 50.0)]);
    assert_eq!(made.len(), 8);
    assert!(made.iter().all(|(bucket, _)| [4, 5].contains(bucket)));
    assert_eq!(tree.data_bytes(), 8 * 20_000);
    assert_eq!(tree.counts().1, 8);
    // Names of all standing buckets, data where data is moved, half of a pool's names.
    let mix = [(Op::Rmw, 40.0), (Op::Stat, 40.0), (Op::Create, 20.0)];
    let (mut tree, mut names, made) = reached(&mix);
    assert_eq!((made.len(), tree.counts().1), (19 * 4 + 2, 19 * 4 + 2));
    assert_eq!(tree.data_bytes(), 8 * 20_000);
    let data = made.iter().filter(|(_, size)| *size > 0);
    assert!(data.clone().all(|(bucket, _)| [4, 5].contains(bucket)));
    let mut rng = Rng::new(1, 1);
    for _ in 0..5 {
        for (op, _) in mix {
            drive(&mut tree, &mut names, op, &mut rng);
        }
    }
    for _ in 0..200 {
        let chosen = tree.choose(&mut rng, Op::Rmw, Nanos::ZERO);
        let ChosenAction::Measured(Action::File(FileAction::Rmw { length, .. }), _) = chosen else {
            panic!("a read-modify-write");
        };
        assert!(length > 0);
    }
}

#[test]
fn sequential_reads_walk_through_the_file() {
    let mut tree = tree_of(
        Op::Read,
        1,
        1,
        ALONE,
        Attributes {
            uniform_size_dist: true,
            ..Attributes::default()
        },
    );
    init(&mut tree);
    let mut rng = Rng::new(1, 1);
    let mut next: HashMap<FileRef, u64> = HashMap::new();
    for _ in 0..200 {
        let ChosenAction::Measured(
            Action::File(FileAction::Read {
                file,
                offset,
                length,
                ..
            }),
            _,
        ) = tree.choose(&mut rng, Op::Read, Nanos::ZERO)
        else {
            panic!("a read");
        };
        let place = next.entry(file).or_default();
        assert_eq!(offset, *place % 20_000);
        *place = offset + u64::from(length);
    }
}

#[test]
fn a_hot_spot_takes_its_share_and_moves() {
    let spot = HotSpot {
        access_pcnt: 80.0,
        area_pcnt: 5.0,
        move_every_s: 10.0,
    };
    let attributes = Attributes {
        uniform_size_dist: true,
        hot_spot: Some(spot),
        random_align_bytes: 1,
        ..Attributes::default()
    };
    let mut tree = tree_of(Op::ReadRandom, 1, 1, ALONE, attributes);
    init(&mut tree);
    let mut rng = Rng::new(1, 1);
    let mut hottest = |second| {
        let mut twentieths = [0u32; 21];
        for _ in 0..4000 {
            let now = Nanos::from_secs(second);
            let ChosenAction::Measured(Action::File(FileAction::Read { offset, .. }), _) =
                tree.choose(&mut rng, Op::ReadRandom, now)
            else {
                panic!("a read");
            };
            twentieths[(offset / 850) as usize] += 1;
        }
        // The spot may lie across two twentieths.
        let pairs = twentieths.windows(2).map(|w| w[0] + w[1]);
        let best = pairs.clone().max().unwrap_or(0);
        (best, pairs.clone().position(|n| n == best))
    };
    let (share, first) = hottest(5);
    assert!(share > 3100, "{share} of 4000");
    let moved = [15, 25, 35].map(&mut hottest);
    assert!(moved.iter().any(|(_, at)| *at != first), "{moved:?}");
}

#[test]
fn accesses_are_counted_by_name() {
    let mut tree = tree_of(Op::ReadFile, 2, 3, ALONE, Attributes::default());
    init(&mut tree);
    let mut names = Names::default();
    for action in init(&mut tree_of(
        Op::ReadFile,
        2,
        3,
        ALONE,
        Attributes::default(),
    )) {
        names.apply(action).unwrap();
    }
    drive(&mut tree, &mut names, Op::ReadFile, &mut Rng::new(1, 1));
    let accesses = tree.accesses();
    assert_eq!(accesses.iter().map(|(_, n)| n).sum::<u64>(), 600);
    assert_eq!(accesses.len(), 12);
    assert_eq!(accesses[0].0, "CL0_TEST/d0000/b01/f0000000");
    tree.begin_run();
    assert_eq!(tree.accesses(), []);
}

#[test]
fn the_geometric_share_prefers_the_first_files() {
    let mean_file = |geometric_pcnt| {
        let attributes = Attributes {
            geometric_pcnt,
            ..Attributes::default()
        };
        let mut tree = tree_of(Op::ReadRandom, 1, 1000, ALONE, attributes);
        init(&mut tree);
        let mut rng = Rng::new(1, 1);
        let mut sum = 0;
        for _ in 0..4000 {
            let ChosenAction::Measured(Action::File(FileAction::Read { file, .. }), _) =
                tree.choose(&mut rng, Op::ReadRandom, Nanos::ZERO)
            else {
                panic!("a read");
            };
            sum += file.file;
        }
        sum / 4000
    };
    // Uniform: the middle. All of it geometric: a tenth. Half of it: in between.
    assert!(mean_file(0.0).abs_diff(500) < 25, "{}", mean_file(0.0));
    assert!(mean_file(100.0).abs_diff(100) < 15, "{}", mean_file(100.0));
    assert!(mean_file(50.0).abs_diff(300) < 25, "{}", mean_file(50.0));
}

#[test]
fn writes_are_direct_synchronous_and_committed_in_their_shares() {
    let attributes = Attributes {
        direct_pcnt: 20.0,
        osync_pcnt: 10.0,
        write_commit_pcnt: 33.0,
        ..Attributes::default()
    };
    let mut tree = tree_of(Op::WriteRandom, 1, 2, ALONE, attributes);
    init(&mut tree);
    let mut rng = Rng::new(1, 1);
    let (mut direct, mut sync, mut commit) = (0u32, 0u32, 0u32);
    for _ in 0..10_000 {
        let ChosenAction::Measured(Action::File(FileAction::Write { io, .. }), _) =
            tree.choose(&mut rng, Op::WriteRandom, Nanos::ZERO)
        else {
            panic!("a write");
        };
        direct += u32::from(io.direct);
        sync += u32::from(io.sync);
        commit += u32::from(io.commit);
    }
    // Five standard deviations of 10,000 draws are at most 2.4 %.
    for (count, want) in [(direct, 2000u32), (sync, 1000), (commit, 3300)] {
        assert!(count.abs_diff(want) < 240, "{count} for {want}");
    }
}
