//! What the operations that version 3 does not have work on.

use super::slice;
use super::*;
use crate::v4_action::V4Action;
use filermark_model::Op;

fn chosen(op: Op) -> Vec<V4Action> {
    let (mut slice, set, mut rng) = slice();
    let mut all = Vec::new();
    for _ in 0..2_000 {
        match slice.choose(&mut rng, op, &set) {
            ChosenAction::Measured(Action::V4(action), effect) => {
                slice.settle(&mut rng, effect, true, false, &set);
                all.push(action);
            }
            ChosenAction::Prepare(Action::V4(V4Action::Setxattr { .. }), effect) => {
                slice.settle(&mut rng, effect, true, false, &set);
            }
            other => panic!("{other:?}"),
        }
    }
    all
}

/// Files that are read and compared are not changed.
#[test]
fn what_changes_data_has_scratch_files() {
    let (_, set, _) = slice();
    let is_scratch = |object: ObjectId| (0..16).any(|n| set.layout.small(n) == object);
    for op in [Op::Allocate, Op::Deallocate, Op::Setxattr, Op::Removexattr] {
        for action in chosen(op) {
            assert!(is_scratch(action.object()), "{action:?}");
        }
    }
    for op in [Op::Copy, Op::Clone] {
        for action in chosen(op) {
            let target = action.target().expect("a target");
            assert!(is_scratch(target), "{action:?}");
            assert!(action.object().0 >= set.layout.files_base(), "{action:?}");
        }
    }
}

#[test]
fn ranges_that_are_cloned_are_whole_blocks_or_whole_files() {
    for action in chosen(Op::Clone) {
        let V4Action::Clone {
            offset,
            length,
            bytes,
            ..
        } = action
        else {
            panic!("{action:?}");
        };
        assert!(offset + u64::from(length) <= u64::from(bytes));
        assert_eq!((offset % 4096, length % 4096), (0, 0));
        assert!(length > 0 || offset == 0);
    }
}

#[test]
fn places_that_are_looked_from_are_within_the_file() {
    let (slice, set, _) = slice();
    let mut holes = 0;
    for action in chosen(Op::Seek) {
        let V4Action::Seek {
            object,
            offset,
            bytes,
            is_hole,
            ..
        } = action
        else {
            panic!("{action:?}");
        };
        let at = (object.0 - set.layout.files_base()) as usize;
        assert_eq!(bytes, slice.files.get(at).stable_bytes);
        assert!(offset < u64::from(bytes));
        holes += usize::from(is_hole);
    }
    assert!((800..1_200).contains(&holes), "{holes}");
}

/// Two operations never use one attribute at the same time, and only attributes that exist are read.
#[test]
fn attributes_in_use_are_not_chosen_again() {
    let (mut slice, set, mut rng) = slice();
    let mut set_now = Vec::new();
    while let ChosenAction::Measured(Action::V4(action), effect) =
        slice.choose(&mut rng, Op::Setxattr, &set)
    {
        let V4Action::Setxattr { attribute, .. } = action else {
            panic!("{action:?}");
        };
        assert!(!set_now.iter().any(|(known, _)| *known == attribute));
        set_now.push((attribute, effect));
    }
    assert_eq!(set_now.len(), usize::from(ATTRIBUTES));
    let read = slice.choose(&mut rng, Op::Getxattr, &set);
    assert_eq!(read, ChosenAction::Impossible, "all are in flight");
    let (first, effect) = set_now[0];
    slice.settle(&mut rng, effect, true, false, &set);
    let read = slice.choose(&mut rng, Op::Getxattr, &set);
    let ChosenAction::Measured(Action::V4(V4Action::Getxattr { attribute, .. }), _) = read else {
        panic!("{read:?}");
    };
    assert_eq!(attribute, first);
}

/// A REMOVEXATTR or SETXATTR without a reply, or a GETXATTR that has found nothing: the attribute is set again
/// before it is used.
#[test]
fn attributes_that_may_be_gone_are_set_again_first() {
    for op in [Op::Setxattr, Op::Getxattr, Op::Removexattr] {
        let (mut slice, set, mut rng) = slice();
        let ChosenAction::Measured(_, effect) = slice.choose(&mut rng, Op::Setxattr, &set) else {
            panic!("it can be set");
        };
        slice.settle(&mut rng, effect, true, false, &set);
        let ChosenAction::Measured(_, effect) = slice.choose(&mut rng, op, &set) else {
            panic!("{op} can be done");
        };
        slice.settle(&mut rng, effect, false, false, &set);
        // SETXATTR has chosen another attribute, and the first is there still.
        let used = slice.choose(&mut rng, Op::Getxattr, &set);
        assert_eq!(
            matches!(used, ChosenAction::Prepare(..)),
            op != Op::Setxattr,
            "{op}: {used:?}"
        );
    }
}
