//! Listings in parts, with the directory changing in between.

use super::*;
use std::collections::BTreeMap;

/// Lists in parts of `part` entries and calls `between` after each.
fn list(fs: &MemFs, dir: FileId, part: usize, mut between: impl FnMut(usize)) -> Vec<String> {
    let (mut cookie, mut verifier, mut names) = (0, 0, Vec::new());
    for round in 0.. {
        let mut budget = part;
        let take = |_: &DirEntry| {
            budget = budget.wrapping_sub(1);
            budget != usize::MAX
        };
        let (attr, list) = fs.readdir(
            dir,
            cookie,
            Some(verifier),
            &Cred::ROOT,
            round % 2 == 0,
            take,
        );
        assert!(attr.is_some());
        let list = list.expect("readdir");
        for entry in &list.entries {
            assert!(entry.cookie > cookie);
            assert_eq!(entry.attr.is_some(), round % 2 == 0);
            cookie = entry.cookie;
            names.push(String::from_utf8_lossy(&entry.name).into_owned());
        }
        verifier = list.verifier;
        if list.eof {
            return names;
        }
        between(round);
    }
    names
}

#[test]
fn what_stays_is_listed_once_while_others_come_and_go() {
    let fs = fs();
    let dir = mkdir(&fs, fs.root(), "d");
    for i in 0..1000 {
        mkfile(&fs, dir, &format!("f{i}"));
    }
    let names = list(&fs, dir, 7, |round| {
        // Odd names go, from both ends; new ones come.
        for i in [round * 2 + 1, 999 - round * 2] {
            let _ = fs.remove(dir, format!("f{i}").as_bytes(), &Cred::ROOT);
        }
        mkfile(&fs, dir, &format!("n{round}"));
    });
    let mut seen = BTreeMap::new();
    for name in names {
        *seen.entry(name).or_insert(0) += 1;
    }
    assert!(seen.values().all(|n| *n == 1), "nothing twice");
    assert!(
        (0..1000)
            .step_by(2)
            .all(|i| seen.contains_key(&format!("f{i}"))),
        "nothing lost"
    );
    assert!(seen.contains_key(".") && seen.contains_key(".."));
}

#[test]
fn rename_over_keeps_the_place_of_the_target() {
    let fs = fs();
    for name in ["a", "b", "c"] {
        mkfile(&fs, fs.root(), name);
    }
    assert_eq!(mv(&fs, (fs.root(), "c"), (fs.root(), "a")), Ok(()));
    assert_eq!(list(&fs, fs.root(), 1, |_| ()), [".", "..", "a", "b"]);
}

#[test]
fn a_foreign_verifier_is_refused() {
    let fs = fs();
    let first = fs
        .readdir(fs.root(), 0, Some(0), &Cred::ROOT, false, |_| true)
        .1
        .expect("list");
    let again = |verifier| {
        fs.readdir(fs.root(), 1, Some(verifier), &Cred::ROOT, false, |_| true)
            .1
    };
    assert_eq!(again(first.verifier + 1), Err(FsError::BadCookie));
    assert_eq!(again(first.verifier).map(|l| l.entries.len()), Ok(1));
    let file = mkfile(&fs, fs.root(), "f");
    let listed = fs.readdir(file, 0, Some(0), &Cred::ROOT, false, |_| true).1;
    assert_eq!(listed, Err(FsError::NotDir));
}
