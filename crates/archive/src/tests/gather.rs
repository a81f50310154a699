//! Which files are packed, and which are left out.
#![cfg(unix)] // Most tests make symbolic links.

use crate::gather::{above, path_in};
use crate::tests::*;
use crate::*;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

#[test]
fn secrets_are_packed_only_on_request() {
    let dir = folder();
    let with = |rc: &str, add: &[&str], with_secrets| {
        fs::write(dir.path().join("rc2"), rc).unwrap();
        fs::write(dir.path().join("pw"), "geheim\n").unwrap();
        let options = CollectOptions {
            rc: Some(dir.path().join("rc2")),
            add: add.iter().map(|name| dir.path().join(name)).collect(),
            with_secrets,
            ..CollectOptions::default()
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
    assert!(faults[0].contains("the file of a secret"), "{faults:?}");
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
        let faults = gathered(&dir, "mine.run.jsonl", &CollectOptions::default()).unwrap_err();
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
    let plain = CollectOptions::default();
    let found = gathered(&dir, "mine.run.jsonl", &plain).unwrap();
    let all = found.remarks.join("\n");
    for name in ["mine.notes", "sfs_rc"] {
        assert!(found.bundle.get(name).is_none(), "{name}");
        assert!(all.contains(&format!("{name}: a link")), "{all}");
    }
    let named = CollectOptions {
        rc: Some(at("sfs_rc")),
        add: vec![at("mine.notes")],
        ..CollectOptions::default()
    };
    let found = gathered(&dir, "mine.run.jsonl", &named).unwrap();
    assert!(found.bundle.get("mine.notes").is_some() && found.bundle.get("sfs_rc").is_some());
    // Links that only a submission names are not followed.
    fs::remove_file(at("net.png")).unwrap();
    symlink(&private, at("net.png")).unwrap();
    let faults = gathered(&dir, "sub.xml", &plain).unwrap_err().join("\n");
    assert!(faults.contains("the diagram net.png is a link"), "{faults}");
    assert!(
        faults.contains("names sfs_rc, which was not found"),
        "{faults}"
    );
}

#[test]
fn paths_have_no_dot_dot_where_it_is_not_needed() {
    let dir = tempfile::tempdir().unwrap();
    let below = dir.path().join("result");
    fs::create_dir(&below).unwrap();
    symlink(&below, dir.path().join("link")).unwrap();
    assert_eq!(above(&below), dir.path());
    assert_eq!(
        above(&dir.path().join("link")),
        dir.path().join("link").join("..")
    );
    assert_eq!(above(Path::new("result")), Path::new("."));
    assert_eq!(above(Path::new(".")), Path::new(".."));
    assert_eq!(above(Path::new("..")), Path::new("../.."));
    assert_eq!(path_in(Path::new("."), "sfs_rc"), Path::new("sfs_rc"));
    assert_eq!(path_in(Path::new(".."), "sfs_rc"), Path::new("../sfs_rc"));

    // The message on a changed file has a path without `..`.
    let dir = folder();
    let below = dir.path().join("result");
    fs::create_dir(&below).unwrap();
    let rc = dir.path().join("sfs_rc");
    fs::write(&rc, "LOAD=7\n").unwrap();
    fs::rename(
        dir.path().join("mine.run.jsonl"),
        below.join("mine.run.jsonl"),
    )
    .unwrap();
    let found = gathered(&dir, "result/mine.run.jsonl", &CollectOptions::default());
    let messages = match found {
        Ok(found) => found.remarks.join("\n"),
        Err(faults) => faults.join("\n"),
    };
    assert!(messages.contains(&rc.display().to_string()), "{messages}");
    assert!(!messages.contains(".."), "{messages}");
}

#[test]
fn missing_and_changed_files_of_a_submission_are_reported() {
    let dir = folder();
    fs::remove_file(dir.path().join("net.png")).unwrap();
    fs::write(dir.path().join("sfs_rc"), "LOAD=7\n").unwrap();
    let faults = gathered(&dir, "sub.xml", &CollectOptions::default()).unwrap_err();
    assert!(faults[0].contains("names the diagram net.png") && faults[0].contains("--force"));
    assert!(faults[1].contains("has changed since the submission was made"));
    let force = CollectOptions {
        force: true,
        ..CollectOptions::default()
    };
    let found = gathered(&dir, "sub.xml", &force).unwrap();
    assert_eq!(found.remarks.len(), 2);
    let faults = crate::tests::faults(&check(&found.bundle));
    assert!(
        faults.contains("the diagram net.png is missing"),
        "{faults}"
    );
    fs::write(dir.path().join("bad.xml"), "<x/>").unwrap();
    let faults = gathered(&dir, "bad.xml", &force).unwrap_err();
    assert!(faults[0].contains("neither a run record"), "{faults:?}");
}

#[test]
fn files_of_other_runs_in_the_folder_are_left_out() {
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
    let bundle = gathered(&dir, "mine.run.jsonl", &CollectOptions::default())
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

proptest! {
    /// All values that the rc file's parser takes for a password are found.
    #[test]
    fn no_password_that_the_parser_finds_is_missed(
        front in "[ \t]{0,2}(export )?",
        name in "PASSWORD|WINDOWS_PASSWORD",
        gap in "[ \t]{0,1}",
        value in "[ -~]{0,12}|\"[ -!#-~\n]{0,12}\"|'[ -&(-~\n]{0,12}'",
        before in "(LOAD=1\n|# x\n|\r\n){0,2}",
    ) {
        let text = format!("{before}{front}{name}{gap}={value}\n");
        let rc = filermark_config::rc::parse_rc("rc", &text);
        let given = rc.assignments.iter().any(|a| a.name == name && !a.value.trim().is_empty());
        prop_assert!(!given || !secrets(&text).is_empty(), "{text:?}");
        // None of its lines is in the sum.
        if given && rc.errors.is_empty() {
            let (kept, _) = filermark_model::secret_text::without_secrets(&(text.clone() + "PROCS=2\n"));
            prop_assert_eq!(kept, before + "PROCS=2\n", "{:?}", text);
        }
    }
}
/// The folder of a run whose record names the files that it read: an rc file and a mix file.
fn folder_with_inputs(mix: &str) -> tempfile::TempDir {
    let dir = folder();
    let mut record = record();
    let input = |option: &str, name: &str, text: &str| {
        filermark_model::InputFile::of(option, std::path::Path::new(name), text)
    };
    record.run = record.run.with_inputs(vec![
        input("-r", "sfs_rc", RC),
        input("MIXFILE", "mixes/mine_mix", mix),
    ]);
    fs::write(dir.path().join("mine.run.jsonl"), lines_of(&record)).unwrap();
    dir
}

fn packed(
    dir: &tempfile::TempDir,
    rc: Option<&str>,
    force: bool,
) -> Result<CollectedFiles, String> {
    let options = CollectOptions {
        rc: rc.map(|rc| dir.path().join(rc)),
        force,
        ..CollectOptions::default()
    };
    gathered(dir, "mine.run.jsonl", &options).map_err(|faults| faults.join("\n"))
}

#[test]
fn inputs_are_packed_by_their_sums_and_verified() {
    let dir = folder_with_inputs("read 50\n");
    fs::write(dir.path().join("mine_mix"), "read 50\n").unwrap();
    let found = packed(&dir, None, false).unwrap();
    assert_eq!(found.remarks, [""; 0]);
    assert_eq!(found.bundle.get("sfs_rc").unwrap().role, Role::Rc);
    let verification = check(&Bundle::from_bytes(&found.bundle.to_bytes().unwrap()).unwrap());
    assert!(verification.ok, "{}", faults(&verification));
    for line in [
        "ok    sfs_rc: as mine.run.jsonl read it (-r)",
        "ok    mine_mix: as mine.run.jsonl read it (MIXFILE)",
    ] {
        assert!(
            verification.checks.iter().any(|c| c.to_string() == line),
            "{line}"
        );
    }
    // The name does not matter if the contents are the same.
    fs::rename(dir.path().join("sfs_rc"), dir.path().join("old_rc")).unwrap();
    assert!(packed(&dir, Some("old_rc"), false).is_ok());
    // Missing files are reported.
    fs::remove_file(dir.path().join("mine_mix")).unwrap();
    let found = packed(&dir, Some("old_rc"), false).unwrap();
    assert!(found.remarks[0].starts_with("mine_mix, which the run read (MIXFILE): not found"));
    let verification = check(&Bundle::from_bytes(&found.bundle.to_bytes().unwrap()).unwrap());
    assert!(verification.ok, "{}", faults(&verification));
    let skipped = "skip  mine.run.jsonl: mine_mix, which it read (MIXFILE), is missing";
    assert!(verification.checks.iter().any(|c| c.to_string() == skipped));
}

#[test]
fn no_other_file_is_packed_for_an_input() {
    let dir = folder_with_inputs("read 50\n");
    let at = |name: &str| dir.path().join(name);
    fs::write(at("mine_mix"), "read 50\n").unwrap();
    fs::write(at("sfs_rc"), "LOAD=500\n").unwrap();
    fs::write(at("else_rc"), "LOAD=500\n").unwrap();
    for rc in [None, Some("sfs_rc"), Some("else_rc")] {
        let why = packed(&dir, rc, false).unwrap_err();
        assert!(why.contains("not the file that the run read"), "{why}");
        assert!(why.contains("its SHA-256 begins with"), "{why}");
        assert!(why.contains("give it as it was"), "{why}");
        let found = packed(&dir, rc, true).unwrap();
        assert!(
            found.bundle.members().all(|(_, m)| m.role != Role::Rc),
            "{rc:?}"
        );
    }
    fs::write(at("sfs_rc"), RC).unwrap();
    fs::write(at("mine_mix"), "read 51\n").unwrap();
    let why = packed(&dir, None, false).unwrap_err();
    assert!(why.contains("mine_mix: not the file"), "{why}");
    // An archive that another program packed is checked too.
    let mut bundle = packed(&dir, None, true).unwrap().bundle;
    bundle.add("mine_mix", "read 51\n", Role::Other).unwrap();
    bundle.add("else_rc", "LOAD=500\n", Role::Rc).unwrap();
    let verification = check(&Bundle::from_bytes(&bundle.to_bytes().unwrap()).unwrap());
    let found = faults(&verification);
    assert!(
        found.contains("FAIL  mine_mix: not the file that mine.run.jsonl read"),
        "{found}"
    );
    assert!(
        found.contains("FAIL  else_rc: no run in the archive read this rc file"),
        "{found}"
    );
}

#[test]
fn an_unchanged_copy_does_not_hide_a_changed_input() {
    let dir = folder_with_inputs("read 50\n");
    let mut bundle = packed(&dir, None, true).unwrap().bundle;
    bundle
        .add("copy/mine_mix", "read 50\n", Role::Other)
        .unwrap();
    let whole = |bundle: &Bundle| check(&Bundle::from_bytes(&bundle.to_bytes().unwrap()).unwrap());
    let verification = whole(&bundle);
    assert!(verification.ok, "{}", faults(&verification));
    for name in ["mine_mix", "other/mine_mix"] {
        bundle.add(name, "read 51\n", Role::Other).unwrap();
    }
    let verification = whole(&bundle);
    let found: Vec<String> = verification
        .checks
        .iter()
        .map(ToString::to_string)
        .collect();
    for line in [
        "ok    copy/mine_mix: as mine.run.jsonl read it (MIXFILE)",
        "FAIL  mine_mix: not the file that mine.run.jsonl read",
        "FAIL  other/mine_mix: not the file that mine.run.jsonl read",
    ] {
        let count = found.iter().filter(|check| check.starts_with(line)).count();
        assert_eq!(count, 1, "{line} in {found:#?}");
    }
}

#[test]
fn a_file_without_its_password_lines_is_still_the_file_of_the_run() {
    let dir = folder();
    let mut record = record();
    let with = "LOAD=100\nPASSWORD=geheim\nPROCS=2\n";
    let rc = filermark_model::InputFile::of("-r", std::path::Path::new("sfs_rc"), with);
    record.run = record.run.with_inputs(vec![rc]);
    fs::write(dir.path().join("mine.run.jsonl"), lines_of(&record)).unwrap();
    fs::write(dir.path().join("sfs_rc"), with).unwrap();
    let why = packed(&dir, None, false).unwrap_err();
    assert!(why.starts_with("sfs_rc:2: PASSWORD has a value"), "{why}");
    fs::write(dir.path().join("sfs_rc"), "LOAD=100\nPROCS=2\n").unwrap();
    let found = packed(&dir, None, false).unwrap();
    let verification = check(&Bundle::from_bytes(&found.bundle.to_bytes().unwrap()).unwrap());
    let line =
        "ok    sfs_rc: as mine.run.jsonl read it (-r); lines with secrets (1) are not in its sum";
    assert!(
        verification.checks.iter().any(|c| c.to_string() == line),
        "{verification:?}"
    );
}
