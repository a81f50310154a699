//! The table of open files.

use super::*;
use filermark_engine::name::NameKind;

const OPEN: OpenState = OpenState::Open(Stateid4::ANONYMOUS);

#[test]
fn the_file_without_use_for_the_longest_time_is_closed_first() {
    let mut opens = ProcOpens::default();
    for n in 0..OPENS_MAX as u32 - 1 {
        opens.set(n, OPEN, u64::from(n));
        assert_eq!(opens.surplus(None), None);
    }
    opens.set(63, OpenState::Opening, 63);
    let key = |opens: &ProcOpens, last| opens.surplus(last).map(|idle| idle.key);
    assert_eq!(key(&opens, None), Some(0));
    assert_eq!(key(&opens, opens.surplus(None)), Some(1));
    assert!(opens.used(0, 100).is_some());
    assert_eq!(key(&opens, None), Some(1));
    // All of them in the order of their last use, and no more.
    let next = |last: &IdleFile| opens.surplus(Some(*last));
    let all: Vec<u32> = std::iter::successors(opens.surplus(None), next)
        .map(|idle| idle.key)
        .collect();
    assert_eq!(all, (1..63).chain([0]).collect::<Vec<u32>>());
    if let Some(file) = opens.find(1) {
        file.users = 1;
    }
    assert_eq!(key(&opens, None), Some(2), "1 is in use");
    opens.set(2, OpenState::Closing, 2);
    assert_eq!(opens.surplus(None), None, "one is being closed");
    assert_eq!(opens.used(2, 101), None);
    assert_eq!(opens.used(63, 101), None);
}

#[test]
fn files_in_use_are_not_idle() {
    let mut opens = ProcOpens::default();
    opens.set(1, OPEN, 1).users = 1;
    opens.set(2, OpenState::Opening, 2);
    opens.set(of_fill(3), OPEN, 3);
    assert_eq!(opens.idle(ObjectId(0)), None);
    assert!(opens.is_moving(2) && !opens.is_moving(1) && !opens.is_moving(9));
    opens.set(4, OPEN, 4);
    assert_eq!(opens.idle(ObjectId(0)), Some(4));
    assert_eq!(opens.idle(ObjectId(5)), None);
}

/// Calls that used a file which is gone do not count for another file with its key.
#[test]
fn what_has_used_an_earlier_file_leaves_the_users_of_the_next_one() {
    let mut opens = ProcOpens::default();
    opens.set(1, OPEN, 1).users = 2;
    opens.remove(1);
    opens.set(1, OPEN, 2).users = 1;
    let users = |opens: &ProcOpens| opens.get(1).map(|file| file.users);
    for _ in 0..2 {
        opens.stop_using(1);
        assert_eq!(users(&opens), Some(1));
    }
    opens.stop_using(1);
    assert_eq!(users(&opens), Some(0));
    opens.set(1, OPEN, 3).users = 1;
    opens.rename(1, 2, None);
    opens.set(1, OPEN, 4).users = 1;
    opens.stop_using(1);
    assert_eq!(users(&opens), Some(1));
    assert_eq!(opens.get(2).map(|file| file.users), Some(0));
}

#[test]
fn a_file_that_was_replaced_has_a_key_of_its_own_until_it_is_removed() {
    let mut opens = ProcOpens::default();
    let handle = |name: &[u8]| Fh4::new(name).expect("short");
    for name in [b"a", b"b"] {
        opens.set(7, OPEN, 1).turn = Some(u32::from(name[0]));
        opens.detach(7, handle(name));
        assert!(opens.get(7).is_none() && opens.left_handle(7).is_none());
    }
    let keys: Vec<u32> = b"ab"
        .iter()
        .filter_map(|turn| opens.with_turn((*turn).into()))
        .collect();
    assert_ne!(keys[0], keys[1]);
    for (key, name) in keys.iter().zip([b"a", b"b"]) {
        assert!(is_detached(*key) && fill_of(*key).is_none() && object_of(*key).is_none());
        assert_eq!(opens.idle(ObjectId(100)), Some(*key), "it can be closed");
        assert_eq!(opens.left_handle(*key).map(Fh4::as_bytes), Some(&name[..]));
        opens.remove(*key);
    }
    assert!(opens.is_empty() && opens.left.is_empty());
    // What is being opened keeps its key, what is being closed is forgotten with its CLOSE.
    opens.set(7, OpenState::Opening, 1);
    opens.detach(7, handle(b"a"));
    assert!(opens.left_handle(7).is_some());
    opens.set(8, OpenState::Closing, 1);
    opens.detach(8, handle(b"b"));
    assert!(opens.left_handle(8).is_none());
}

#[test]
fn files_are_found_by_name_and_keep_it_when_they_are_renamed() {
    let mut opens = ProcOpens::default();
    let [a, b] = [1, 2].map(|n| Name::new(NameKind::Small, n));
    let dir = ObjectId(0);
    opens.set(5, OPEN, 1).name = Some((dir, a));
    assert_eq!((opens.named(dir, a), opens.named(dir, b)), (Some(5), None));
    opens.rename(5, 6, Some((dir, b)));
    assert_eq!((opens.named(dir, a), opens.named(dir, b)), (None, Some(6)));
    assert!(opens.find(5).is_none());
}

#[test]
fn files_from_an_object_on_are_found_and_fills_only_without_one() {
    let mut opens = ProcOpens::default();
    opens.set(of_object(ObjectId(3)), OPEN, 1);
    opens.set(of_fill(7), OPEN, 1);
    assert_eq!(opens.any_open(Some(ObjectId(4))), None);
    assert_eq!(opens.any_open(Some(ObjectId(3))), Some(3));
    assert_eq!(object_of(of_fill(7)), None);
    assert_eq!(opens.lose_all(), 2);
    assert!(opens.is_empty());
}
