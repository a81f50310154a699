//! What belongs to an archive, and what stays at home.

use crate::tests::*;
use crate::*;
use std::fs;

#[test]
fn secrets_stay_at_home_unless_they_are_asked_for() {
    let dir = folder();
    let with = |rc: &str, add: &[&str], with_secrets| {
        fs::write(dir.path().join("rc2"), rc).unwrap();
        fs::write(dir.path().join("pw"), "geheim\n").unwrap();
        let options = GatherOptions {
            rc: Some(dir.path().join("rc2")),
            add: add.iter().map(|name| dir.path().join(name)).collect(),
            with_secrets,
            ..GatherOptions::default()
        };
        gathered(&dir, "mine.run.jsonl", &options)
    };
    let faults = with("LOAD=1\nPASSWORD='geheim'\n", &[], false).unwrap_err();
    assert!(
        faults[0].contains("rc2:2: PASSWORD has a value") && faults[0].contains("--with-secrets")
    );
    assert!(!faults[0].contains("geheim"));
    assert!(with("LOAD=1\nPASSWORD='geheim'\n", &[], true).is_ok());
    assert!(with("PASSWORD_FILE=keys/pw\n", &[], false).is_ok());
    let faults = with("PASSWORD_FILE=keys/pw\n", &["pw"], false).unwrap_err();
    assert!(faults[0].contains("the place of a secret"), "{faults:?}");
}

#[test]
fn secrets_are_looked_for_in_files_that_were_found_by_name() {
    for (name, line) in [
        ("mine.txt", "PASSWORD=geheim"),
        ("mine.json", "{\"password\": \"geheim\"}"),
        ("mine.notes", "mounted with pass=geheim"),
        ("sfsval.mine", "Password: geheim"),
        ("mine.html", "<p>--password geheim</p>"),
    ] {
        let dir = folder();
        fs::write(dir.path().join(name), format!("one\n{line}\n")).unwrap();
        let faults = gathered(&dir, "mine.run.jsonl", &GatherOptions::default()).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with(&format!("{name}:2: ")), "{faults:?}");
        assert!(!faults[0].contains("geheim"), "{faults:?}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_only_where_the_user_names_them() {
    use std::os::unix::fs::symlink;
    let dir = folder();
    let at = |name: &str| dir.path().join(name);
    let away = tempfile::tempdir().unwrap();
    let private = away.path().join("private");
    fs::write(&private, "private").unwrap();
    symlink(&private, at("mine.notes")).unwrap();
    fs::remove_file(at("sfs_rc")).unwrap();
    symlink(&private, at("sfs_rc")).unwrap();
    let plain = GatherOptions::default();
    let found = gathered(&dir, "mine.run.jsonl", &plain).unwrap();
    let all = found.remarks.join("\n");
    for name in ["mine.notes", "sfs_rc"] {
        assert!(found.bundle.get(name).is_none(), "{name}");
        assert!(all.contains(&format!("{name}: a link")), "{all}");
    }
    let named = GatherOptions {
        rc: Some(at("sfs_rc")),
        add: vec![at("mine.notes")],
        ..GatherOptions::default()
    };
    let found = gathered(&dir, "mine.run.jsonl", &named).unwrap();
    assert!(found.bundle.get("mine.notes").is_some() && found.bundle.get("sfs_rc").is_some());
    // What a submission names is not what the user names.
    fs::remove_file(at("net.png")).unwrap();
    symlink(&private, at("net.png")).unwrap();
    let faults = gathered(&dir, "sub.xml", &plain).unwrap_err().join("\n");
    assert!(faults.contains("the diagram net.png is a link"), "{faults}");
    assert!(
        faults.contains("names sfs_rc, which is not beside it"),
        "{faults}"
    );
}

#[test]
fn missing_and_changed_files_of_a_submission_are_told() {
    let dir = folder();
    fs::remove_file(dir.path().join("net.png")).unwrap();
    fs::write(dir.path().join("sfs_rc"), "LOAD=7\n").unwrap();
    let faults = gathered(&dir, "sub.xml", &GatherOptions::default()).unwrap_err();
    assert!(faults[0].contains("names the diagram net.png") && faults[0].contains("--force"));
    assert!(faults[1].contains("has other contents than when the submission was made"));
    let force = GatherOptions {
        force: true,
        ..GatherOptions::default()
    };
    let found = gathered(&dir, "sub.xml", &force).unwrap();
    assert_eq!(found.remarks.len(), 2);
    let told = crate::tests::faults(&check(&found.bundle));
    assert!(told.contains("the diagram net.png is missing"), "{told}");
    fs::write(dir.path().join("bad.xml"), "<x/>").unwrap();
    let faults = gathered(&dir, "bad.xml", &force).unwrap_err();
    assert!(faults[0].contains("neither a run record"), "{faults:?}");
}

#[test]
fn files_of_other_runs_in_the_folder_stay_out() {
    let dir = folder();
    for name in [
        "mine.2.run.jsonl",
        "mine.2.html",
        "sfssum.2.mine",
        "2.mine.run.jsonl",
        "x.html",
    ] {
        fs::write(dir.path().join(name), "x").unwrap();
    }
    let page = "<title>y, a Filermark report</title>9";
    fs::write(dir.path().join("mine.smb.html"), page).unwrap();
    for name in ["mine.html", "sfsval.mine", "mine.zip"] {
        fs::write(dir.path().join(name), "y").unwrap();
    }
    let bundle = gathered(&dir, "mine.run.jsonl", &GatherOptions::default())
        .unwrap()
        .bundle;
    let names: Vec<&str> = bundle.members().map(|(name, _)| name).collect();
    assert!(
        names.contains(&"mine.html") && names.contains(&"sfsval.mine"),
        "{names:?}"
    );
    assert!(
        !names
            .iter()
            .any(|n| n.contains('2') && *n != "sfsc0002.mine"),
        "{names:?}"
    );
    assert!(!names.contains(&"mine.smb.html"), "{names:?}");
    assert!(
        !names.contains(&"mine.zip") && !names.contains(&"x.html"),
        "{names:?}"
    );
}
