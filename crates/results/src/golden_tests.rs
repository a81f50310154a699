//! Every text format of the synthetic record against the files in
//! `tests/golden`. After a wanted change: `UPDATE_GOLDEN=1 cargo test`, and
//! read the difference before committing it.

use crate::{client_log, csv, sfslog, sfsres, sfssum, testing};
use std::path::Path;

fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; make it with UPDATE_GOLDEN=1", path.display()));
    for (i, (new, old)) in text.lines().zip(golden.lines()).enumerate() {
        assert_eq!(new, old, "{name}, line {}", i + 1);
    }
    assert_eq!(text.len(), golden.len(), "{name}: another length");
}

#[test]
fn the_classical_files_are_as_they_were() {
    let mut record = testing::record();
    // Of the plan, which may grow parameters: tested elsewhere.
    record.run.fingerprint = "fingerprint".into();
    check("sfssum.mine", &sfssum::sfssum(&record));
    check("sfslog.mine", &sfslog::sfslog(&record));
    check("sfsres.mine", &sfsres::sfsres(&record));
    check("sfsc0001.mine", &client_log::client_log(&record, 1));
    check("sfsc0002.mine", &client_log::client_log(&record, 2));
    check("mine.csv", &csv::csv(&record));
}

#[test]
fn a_record_with_nothing_in_it_renders_too() {
    let mut record = testing::record();
    record.points.clear();
    record.phases.clear();
    record.end = None;
    record.cut = Some("line 3 was cut".into());
    assert!(sfssum::sfssum(&record).starts_with("# This is"));
    assert!(sfslog::sfslog(&record).contains("not standard: RUNTIME=30"));
    let log = sfsres::sfsres(&record);
    assert!(log.contains("no load point counts") && log.contains("line 3 was cut"));
    assert!(client_log::client_log(&record, 3).contains("no client 3"));
    assert_eq!(csv::csv(&record).lines().count(), 1);
}
