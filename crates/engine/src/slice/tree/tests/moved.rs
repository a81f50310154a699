//! Compares the bytes that the operations of a tree move with those that the model expects
//! before a run (`filermark_model::moved`).

use super::super::*;
use crate::data::{DataSource, VerifyLevel};
use crate::driver::Action;
use crate::proc::{ChosenAction, PendingEffect};
use filermark_model::{Nanos, Registry, Rng, WorkloadObject};

/// Operations on each tree.
const OPERATIONS: u32 = 12_000;
/// Trees of each case: where a few files have most of the operations, their sizes matter.
const TREES: u64 = 5;
/// Relative difference that is accepted because sizes are drawn.
const TOLERANCE: f64 = 0.02;
/// Standard errors that are accepted as random differences.
const STD_ERRORS: f64 = 4.0;

fn component(workload: &WorkloadObject, file_bytes: u64) -> Component {
    Component {
        workload: workload.clone(),
        instances: 1,
        ops_per_proc: None,
        dir_count: 4,
        files_per_dir: 50,
        file_bytes,
        file_sizes: None,
        buckets: Default::default(),
    }
}

fn tree(component: &Component, seed: u64) -> TreeSlice {
    let setup = TreeSetup {
        component: 0,
        name: "CL0_TEST".into(),
        workload: Arc::new(component.workload.clone()),
        data: Arc::new(DataSource::new(1, VerifyLevel::Sample)),
    };
    let parts = TreeParts {
        setup: Arc::new(setup),
        seed,
        tree_number: 3,
        sharing: Sharing::ALONE,
        reuse: false,
        access_list: false,
    };
    TreeSlice::new(component, parts)
}

fn bytes(action: &FileAction) -> u64 {
    match action {
        FileAction::Read { length, .. }
        | FileAction::Write { length, .. }
        | FileAction::MmapRead { length, .. }
        | FileAction::MmapWrite { length, .. } => u64::from(*length),
        FileAction::Rmw { length, .. } => 2 * u64::from(*length),
        FileAction::ReadFile { size, .. } | FileAction::WriteFile { size, .. } => *size,
        FileAction::Copy { size, .. } => 2 * size,
        _ => 0,
    }
}

/// Bytes that the next measured operation of this kind moves.
fn moved_by(tree: &mut TreeSlice, rng: &mut Rng, op: Op) -> u64 {
    for _ in 0..3 {
        let (action, effect, ready) = match tree.choose(rng, op, Nanos::ZERO) {
            ChosenAction::Measured(action, effect) => (action, effect, true),
            ChosenAction::Prepare(action, effect) => (action, effect, false),
            ChosenAction::Impossible => return 0,
        };
        if let PendingEffect::Tree(effect) = effect {
            tree.settle(effect, true);
        }
        if let (true, Action::File(action)) = (ready, action) {
            return bytes(&action);
        }
    }
    0
}

/// Bytes that operations of the component's mix move on one tree.
fn moved_on(component: &Component, seed: u64) -> f64 {
    let (mut tree, mut rng) = (tree(component, seed), Rng::new(11, seed));
    let shares = component.workload.mix.shares();
    let mut total = 0;
    for _ in 0..OPERATIONS {
        let mut left = rng.unit() * 100.0;
        let drawn = shares.iter().find(|(_, percent)| {
            left -= percent;
            left < 0.0
        });
        let op = drawn.map_or(shares[0].0, |(op, _)| *op);
        total += moved_by(&mut tree, &mut rng, op);
    }
    total as f64
}

#[test]
fn operations_move_the_expected_bytes() {
    let registry = Registry::shipped();
    for workload in registry.workloads() {
        for file_bytes in [8 << 10, 96 << 10, 1 << 20] {
            let component = component(workload, file_bytes);
            let total: f64 = (0..TREES).map(|seed| moved_on(&component, seed)).sum();
            let count = f64::from(OPERATIONS) * TREES as f64;
            let expected = component.moved_per_op();
            let error = (expected.mean_square / count).sqrt();
            let doubt = component.moved_doubt() / (TREES as f64).sqrt();
            let found = total / count;
            let off = (found - expected.mean_bytes).abs();
            assert!(
                off <= (TOLERANCE + STD_ERRORS * doubt) * expected.mean_bytes + STD_ERRORS * error,
                "{} with files of {file_bytes} bytes: {found:.0} bytes an operation, {:.0} expected",
                workload.name,
                expected.mean_bytes
            );
        }
    }
}

/// The number that `filermark plan` prints.
#[test]
fn init_makes_as_many_files_as_the_plan_states() {
    let registry = Registry::shipped();
    let workload = registry.workload("SWBUILD").expect("shipped");
    for (dir_count, files_per_dir) in [(1, 1), (2, 20), (3, 7), (10, 500)] {
        let component = Component {
            dir_count,
            files_per_dir,
            ..component(workload, 4096)
        };
        let mut tree = tree(&component, 5);
        assert_eq!(tree.counts().1, component.files_per_proc());
        tree.begin(false);
        let is_file = |action: &FileAction| matches!(action, FileAction::Fill { .. });
        let made = std::iter::from_fn(|| tree.make()).filter(is_file).count();
        assert_eq!(made as u64, component.files_per_proc());
    }
}
