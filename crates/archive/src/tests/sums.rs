//! Archives without faults, and files that were changed, removed or added.

use super::support::{check, faults, files_of, found_in, record, whole};
use crate::verify::{CheckStatus, check_zip};
use crate::{Bundle, MANIFEST_JSON, SCHEMA};

#[test]
fn the_archive_of_a_submission_has_all_files_and_passes() {
    let bytes = whole().to_bytes().unwrap();
    let bundle = Bundle::from_bytes(&bytes).unwrap();
    let names: Vec<&str> = bundle.members().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "mine.csv",
            "mine.run.jsonl",
            "net.png",
            "sfs_rc",
            "sfsc0001.mine",
            "sfsc0002.mine",
            "sfslog.mine",
            "sfsres.mine",
            "sfssum.mine",
            "sub.xml"
        ]
    );
    let mut verification = check(&bundle);
    check_zip(&bundle, &bytes, &mut verification);
    assert!(verification.ok, "{}", faults(&verification));
    let skipped: Vec<&str> = verification
        .checks
        .iter()
        .filter(|c| c.state == CheckStatus::Skip)
        .map(|c| c.about.as_str())
        .collect();
    assert_eq!(skipped, ["net.png", "sfs_rc"]);
    assert_eq!(verification.runs[0].ort_ms, record().ort_ms());
}

#[test]
fn the_same_files_give_the_same_bytes_in_any_order() {
    let (mut one, mut other) = (Bundle::new(), Bundle::new());
    let members: Vec<_> = whole().members().collect();
    for (name, member) in &members {
        one.add(name, member.bytes.clone(), member.role).unwrap();
    }
    for (name, member) in members.iter().rev() {
        other.add(name, member.bytes.clone(), member.role).unwrap();
    }
    assert_eq!(one.to_bytes().unwrap(), other.to_bytes().unwrap());
    let made = one.made_at(filermark_results::Timestamp::from_unix_seconds(0.0));
    assert_ne!(made.to_bytes().unwrap(), other.to_bytes().unwrap());
}

fn assert_schema(schema: &str, value: &serde_json::Value) {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let schema = serde_json::from_str(schema).unwrap();
    compiler.add_resource("mem://schema.json", schema).unwrap();
    let index = compiler.compile("mem://schema.json", &mut schemas).unwrap();
    if let Err(e) = schemas.validate(value, index) {
        panic!("{value}\n{e:#}");
    }
}

#[test]
fn manifest_and_verification_match_their_schemas() {
    let bundle = whole().clone().made_at(filermark_results::Timestamp::now());
    let files = files_of(&bundle);
    let manifest = serde_json::from_slice(&files[MANIFEST_JSON]).unwrap();
    assert_schema(SCHEMA, &manifest);
    assert_eq!(manifest["files"].as_array().map(Vec::len), Some(10));
    assert_eq!(
        manifest["runs"][0]["fingerprint"],
        record().run.fingerprint.as_str()
    );
    for bundle in [whole().clone(), Bundle::new()] {
        let verification = serde_json::to_value(check(&bundle)).unwrap();
        assert_schema(crate::verify::SCHEMA, &verification);
    }
}

#[test]
fn files_that_were_changed_removed_or_added_are_named() {
    let whole = files_of(whole());
    for name in whole.keys() {
        let mut files = whole.clone();
        files.remove(name);
        let found = found_in(&files);
        assert!(found.contains(name) && !found.is_empty(), "{name}: {found}");
        let mut files = whole.clone();
        files.get_mut(name).unwrap().push(b' ');
        assert!(!found_in(&files).is_empty(), "{name} longer");
        files.insert(name.clone(), Vec::new());
        assert!(!found_in(&files).is_empty(), "{name} empty");
    }
    let mut files = whole;
    files.insert("more".into(), b"x".to_vec());
    assert!(found_in(&files).contains("more was added"));
}

#[test]
fn a_manifest_of_a_newer_version_has_a_clear_message() {
    let mut files = files_of(whole());
    let json = String::from_utf8(files[MANIFEST_JSON].clone()).unwrap();
    let newer = json.replacen("\"schema\": 1", "\"schema\": 2", 1);
    files.insert(MANIFEST_JSON.into(), newer.into_bytes());
    assert!(found_in(&files).contains("has schema version 2, and this program reads version 1"));
}
