//! The rules, on a file system in a map.

mod again;
mod leases;
mod map;

use super::*;
use crate::marker::{marker_run, marker_text};
use map::{Map, Node, RUN_DIR};

fn this_run() -> Claim {
    Claim {
        dir_name: "filermark.t".into(),
        run_id: "20260101-this".into(),
    }
}

fn run(id: &str) -> Claim {
    Claim {
        run_id: id.into(),
        ..this_run()
    }
}

/// The run's directory, with the marker of a run of this process: it is over.
fn left_by(id: &str) -> Map {
    let mut map = Map::with(&[("filermark.t/", "")]);
    map.put("filermark.t/.filermark-owner", &marker_text(&run(id)));
    map
}

fn claim(map: &mut Map, claim: &Claim) -> Result<Emptied, DriverError> {
    super::claim(map, claim, false, &lease::SystemWatch).map(|claimed| claimed.emptied)
}

fn release(map: &mut Map, claim: &Claim, reach: ReleaseScope) -> Result<Emptied, DriverError> {
    super::release(map, claim, reach, &lease::SystemWatch)
}

fn owner(map: &Map) -> Option<String> {
    match map.nodes.get("filermark.t/.filermark-owner")? {
        Node::File(bytes) => marker_run(bytes),
        _ => None,
    }
}

#[test]
fn a_directory_is_made_joined_and_released() {
    let mut map = Map::with(&[]);
    assert_eq!(claim(&mut map, &this_run()), Ok(Emptied::default()));
    assert_eq!(owner(&map).as_deref(), Some("20260101-this"));
    map.own("filermark.t/p000000", &this_run());
    assert_eq!(
        claim(&mut map, &this_run()),
        Ok(Emptied::default()),
        "joined"
    );
    assert!(map.has("filermark.t/p000000"));
    let kept = release(&mut map, &this_run(), ReleaseScope::Rest).unwrap();
    assert_eq!(kept.removed_count, 0, "others still use it");
    let gone = release(&mut map, &this_run(), ReleaseScope::All).unwrap();
    assert_eq!((gone.removed_count, map.nodes.len()), (1, 0));
    assert_eq!(
        release(&mut map, &this_run(), ReleaseScope::All),
        Ok(Emptied::default())
    );
    assert_eq!(map.listings, 0, "every listing is ended");
}

#[test]
fn leftovers_go_and_foreign_names_stay() {
    let old = run("20250101-old");
    let mut map = left_by("20250101-old");
    for dir in ["p000000", "p000000/d0000", "p000003", "CL0_VDA1"] {
        map.own(&format!("filermark.t/{dir}"), &old);
    }
    for (path, text) in [
        ("p000000/d0000/f0000000001", "x"),
        ("p000000/d0000/thesis.doc", "mine"),
        ("p000000/l000001", "link"),
        ("p000000/m000009/", ""),
        // Our names with another type than theirs.
        ("p000000/m000001", "a file"),
        ("p000000/n000001/", ""),
        ("p000001", "link"),
        ("P000002/", ""),
        // Our names in directories in which no run makes them.
        ("f0000000001", "x"),
        ("p000000/p000000/", ""),
    ] {
        map.put(&format!("filermark.t/{path}"), text);
    }
    for number in 50..150 {
        map.put(&format!("filermark.t/p000000/n{number:06}"), "");
    }
    let emptied = claim(&mut map, &this_run()).unwrap();
    assert_eq!(emptied.removed_count, 105);
    let mut foreign = emptied.not_ours.clone();
    foreign.sort();
    assert_eq!(
        foreign,
        [
            "map/filermark.t/P000002",
            "map/filermark.t/f0000000001",
            "map/filermark.t/p000000/d0000/thesis.doc",
            "map/filermark.t/p000000/m000001",
            "map/filermark.t/p000000/n000001",
            "map/filermark.t/p000000/p000000",
            "map/filermark.t/p000001 (it is a link, or over SMB another reparse point)",
        ]
    );
    assert_eq!(emptied.occupied, ["p000000", "p000001"]);
    assert_eq!(owner(&map).as_deref(), Some("20260101-this"));
    let released = release(&mut map, &this_run(), ReleaseScope::All).unwrap();
    assert!(
        map.has("filermark.t/.filermark-owner"),
        "it stays with them"
    );
    assert!(!released.not_ours.is_empty());
    assert_eq!(map.listings, 0, "every listing is ended");
}

/// A server that follows symbolic links by itself shows them as directories.
#[test]
fn nothing_outside_of_the_tree_is_entered() {
    let old = run("20250101-old");
    let mut map = left_by("20250101-old");
    for dir in ["p000000", "p000000/d0000", "p000001", "p000002"] {
        map.own(&format!("filermark.t/{dir}"), &old);
    }
    // A directory of a user, one of another run, one of another proc of the same run.
    for path in ["userdata/", "userdata/d0000/", "userdata/d0000/f0000000000"] {
        map.put(path, "mine");
    }
    map.put("userdata/n000001", "mine");
    map.own("filermark.other/p000004", &run("other"));
    map.put("filermark.other/p000004/n000001", "theirs");
    map.put("filermark.t/p000000/n000001", "");
    let through = [
        ("filermark.t/p000003", "userdata"),
        ("filermark.t/p000004", "filermark.other/p000004"),
        ("filermark.t/p000005", "filermark.t/p000001"),
        ("filermark.t/p000000/d0001", "userdata/d0000"),
    ];
    for (path, target) in through {
        map.nodes.insert(path.into(), Node::Through(target));
    }
    map.put("filermark.t/p000006/", "");
    map.put("filermark.t/p000006/n000001", "moved here");
    map.nodes
        .insert("filermark.t/p000002/d0000".into(), Node::Mount);
    let emptied = claim(&mut map, &this_run()).unwrap();
    for canary in [
        "userdata/d0000/f0000000000",
        "userdata/n000001",
        "filermark.other/p000004/n000001",
        "filermark.t/p000006/n000001",
        "filermark.t/p000002/d0000",
    ] {
        assert!(map.has(canary), "{canary}");
    }
    let foreign = emptied.not_ours.join("\n");
    for named in [
        "p000000/d0001 (not entered",
        "p000003 (not entered",
        "p000004 (not entered",
        "p000006 (not entered",
        "p000002/d0000 (another file system",
    ] {
        assert!(foreign.contains(named), "{named} in {foreign}");
    }
    assert!(!map.has("filermark.t/p000000/d0000") && !map.has("filermark.t/p000001"));
}

/// INIT is killed between making a directory and the last byte of its owner file.
#[test]
fn directories_that_init_had_just_made_are_removed() {
    let old = run("20250101-old");
    let mut map = left_by("20250101-old");
    map.own("filermark.t/p000000", &old);
    let whole = crate::marker::owner_text("filermark.t/p000002", &old.nonce());
    for (path, text) in [
        ("p000000/d0000/", ""),
        ("p000001/", ""),
        ("p000001/.filermark-owner", ""),
        ("p000002/", ""),
        ("p000002/.filermark-owner", &whole[..70]),
        ("p000003/", ""),
        ("p000003/.filermark-owner", "a user's"),
    ] {
        map.put(&format!("filermark.t/{path}"), text);
    }
    let emptied = claim(&mut map, &this_run()).unwrap();
    assert_eq!(emptied.removed_count, 4);
    assert_eq!(emptied.occupied, ["p000003"]);
    assert_eq!(map.nodes.len(), 4, "{:?}", map.nodes);
}

#[test]
fn what_is_kept_stays_with_its_nonce() {
    let old = run("20250101-old");
    let mut map = left_by("20250101-old");
    for dir in ["", "/d0000", "/d0000/b00", "/d0000/b07"] {
        map.own(&format!("filermark.t/CL0_VDA1{dir}"), &old);
    }
    let passing = format!("b{:02}", filermark_model::Bucket::UNLINK.number());
    map.own(&format!("filermark.t/CL0_VDA1/d0000/{passing}"), &old);
    map.put(
        &format!("filermark.t/CL0_VDA1/d0000/{passing}/f0000001"),
        "",
    );
    map.put("filermark.t/CL0_VDA1/d0000/b00/f0000000", "x");
    map.put("filermark.t/letter", "x");
    map.put("filermark.t/SM_DB/", "x");
    map.put("filermark.t/SM_DB/not ours", "x");
    let claimed = super::claim(&mut map, &this_run(), true, &lease::SystemWatch).unwrap();
    assert_eq!(claimed.nonce, old.nonce());
    assert_eq!(claimed.emptied.occupied, ["SM_DB"]);
    assert!(
        claimed
            .emptied
            .not_ours
            .contains(&"map/filermark.t/letter".to_owned())
    );
    assert!(map.has("filermark.t/CL0_VDA1/d0000/b00/f0000000"));
    assert!(!map.has(&format!("filermark.t/CL0_VDA1/d0000/{passing}/f0000001")));
    release(&mut map, &this_run(), ReleaseScope::All).unwrap();
    assert!(
        !map.has("filermark.t/CL0_VDA1"),
        "by the nonce in the marker"
    );
}

#[test]
fn what_is_not_ours_is_refused() {
    for (nodes, reason) in [
        (&[("filermark.t", "file")][..], "not a directory"),
        (
            &[
                ("filermark.t/", ""),
                ("filermark.t/.filermark-owner", "a diary"),
            ],
            "not written by",
        ),
        (
            &[("filermark.t/", ""), ("filermark.t/.filermark-owner/", "")],
            "not written by",
        ),
        (
            &[("filermark.t/", ""), ("filermark.t/p000000/", "")],
            "is not empty (p000000)",
        ),
        (
            &[
                ("filermark.t/", ""),
                ("filermark.t/.filermark-owner", ""),
                ("filermark.t/letter", ""),
            ],
            "is not empty (letter)",
        ),
    ] {
        let mut map = Map::with(nodes);
        let before = map.nodes.clone();
        let error = claim(&mut map, &this_run()).unwrap_err();
        assert!(error.reason.contains(reason), "{error}");
        assert!(release(&mut map, &this_run(), ReleaseScope::All).is_err());
        assert_eq!(map.nodes, before);
    }
    let mut map = left_by("20250101-other");
    map.own("filermark.t/p000000", &run("20250101-other"));
    for reach in [
        ReleaseScope::All,
        ReleaseScope::Rest,
        ReleaseScope::Leftovers,
    ] {
        let error = release(&mut map, &this_run(), reach).unwrap_err();
        assert!(error.reason.contains("20250101-other"), "{error}");
    }
    assert!(release(&mut map, &run("20250101-"), ReleaseScope::Leftovers).is_ok());
    assert!(map.nodes.is_empty());
    // The whole directory is a link to that of another run.
    let mut map = Map::with(&[("filermark.u/", "")]);
    let theirs = Claim {
        dir_name: "filermark.u".into(),
        ..this_run()
    };
    map.put("filermark.u/.filermark-owner", &marker_text(&theirs));
    map.nodes
        .insert("filermark.t".into(), Node::Through("filermark.u"));
    let error = claim(&mut map, &this_run()).unwrap_err();
    assert!(error.reason.contains("is that of filermark.u"), "{error}");
}

/// Killed between the marker's CREATE and WRITE.
#[test]
fn a_cut_marker_is_ours_where_nothing_else_is() {
    let text = marker_text(&run("20250101-old"));
    let cut = text.find("benchmark").unwrap();
    for bytes in ["", &text[..cut]] {
        let mut map = Map::with(&[
            ("filermark.t/", ""),
            ("filermark.t/.filermark-owner", bytes),
        ]);
        claim(&mut map, &this_run()).unwrap();
        assert_eq!(owner(&map).as_deref(), Some("20260101-this"));
        map.put("filermark.t/.filermark-owner", bytes);
        release(&mut map, &run(""), ReleaseScope::Leftovers).unwrap();
        assert!(map.nodes.is_empty());
    }
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for name in [
        "other",
        "filermark./../x",
        r"filermark.\..\x",
        "filermark.a:b",
        "filermark.\0",
    ] {
        let mut map = Map::with(&[]);
        let bad = Claim {
            dir_name: name.into(),
            ..this_run()
        };
        let error = claim(&mut map, &bad).unwrap_err();
        assert!(error.reason.contains("not a valid name"), "{error}");
        assert!(release(&mut map, &bad, ReleaseScope::All).is_err());
    }
}

#[test]
fn a_claim_that_fails_leaves_nothing() {
    let mut map = Map::with(&[]);
    map.refuses_marker = true;
    assert!(claim(&mut map, &this_run()).is_err());
    assert!(map.nodes.is_empty());
    // A directory that existed before stays.
    let mut map = Map::with(&[("filermark.t/", "")]);
    map.refuses_marker = true;
    assert!(claim(&mut map, &this_run()).is_err());
    assert_eq!(map.nodes.len(), 1);
}

#[test]
fn a_directory_that_cannot_be_removed_keeps_its_owner_file() {
    let old = run("20250101-old");
    let mut map = left_by("20250101-old");
    for dir in ["p000000", "p000000/d0000"] {
        map.own(&format!("filermark.t/{dir}"), &old);
    }
    map.put("filermark.t/p000000/d0000/f0000000001", "x");
    map.pinned = vec!["filermark.t/p000000/d0000", RUN_DIR];
    let emptied = claim(&mut map, &this_run()).unwrap();
    assert_eq!(emptied.not_removed, ["map/filermark.t/p000000/d0000"]);
    assert_eq!(emptied.not_ours, [""; 0], "it is ours");
    assert!(map.has("filermark.t/p000000/d0000/.filermark-owner"));
    map.pinned = vec![RUN_DIR];
    let error = release(&mut map, &this_run(), ReleaseScope::All).unwrap_err();
    assert_eq!(error.reason, "busy");
    assert_eq!(
        owner(&map).as_deref(),
        Some("20260101-this"),
        "the marker is written again"
    );
    map.pinned.clear();
    release(&mut map, &this_run(), ReleaseScope::All).unwrap();
    assert!(map.nodes.is_empty(), "{:?}", map.nodes);
}

/// A new run may have taken the directory between the removal of the marker and that of
/// the directory, which fails then.
#[test]
fn what_another_run_has_written_meanwhile_is_not_overwritten() {
    let mut map = Map::with(&[]);
    claim(&mut map, &this_run()).unwrap();
    map.pinned = vec![RUN_DIR];
    let theirs = marker_text(&run("20260101-next"));
    map.meanwhile = Some(("filermark.t/.filermark-owner", theirs));
    let error = release(&mut map, &this_run(), ReleaseScope::All).unwrap_err();
    assert_eq!(error.reason, "busy");
    assert_eq!(owner(&map).as_deref(), Some("20260101-next"));
    // The owner file of a directory in it is not overwritten either.
    let mut map = left_by("20250101-old");
    map.own("filermark.t/p000000", &run("20250101-old"));
    map.pinned = vec!["filermark.t/p000000"];
    let path = "filermark.t/p000000/.filermark-owner";
    map.meanwhile = Some((path, "theirs".to_owned()));
    claim(&mut map, &this_run()).unwrap();
    assert_eq!(map.nodes.get(path), Some(&Node::File(b"theirs".to_vec())));
}

#[test]
fn a_listing_that_repeats_its_first_part_ends() {
    let mut map = left_by("20250101-earlier");
    map.own("filermark.t/p000000", &run("20250101-earlier"));
    map.put("filermark.t/p000000/theirs", "");
    map.repeats_first_part = true;
    let emptied = claim(&mut map, &this_run());
    assert!(map.part_count < 1_000, "{}", map.part_count);
    assert_eq!(map.listings, 0, "every listing is ended");
    assert!(map.has("filermark.t/p000000/theirs"), "{emptied:?}");
}
