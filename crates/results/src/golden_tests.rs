//! Every text format of the synthetic record against the files in
//! `tests/golden`. After a wanted change: `UPDATE_GOLDEN=1 cargo test`, and
//! read the difference before committing it.

use crate::testing::composite::{composite_record, stream_record};
use crate::{
    client_log, csv, proc_logs, sfslog, sfslog_txt, sfsres, sfssum, sfssum_txt, sfssum_xml, testing,
};
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

/// Without the definition's fingerprint, which follows every change of the types.
fn without_fingerprint(record: &crate::RunRecord, text: &str) -> String {
    let (long, short) = crate::definition_fingerprint(&record.run.plan.benchmark);
    let text = text.replace(&long, "fingerprint");
    let short = format!("{short}");
    let lines = text.lines().map(|line| match line.contains("inger ") {
        true => line.replace(&short, "12345"),
        false => line.to_owned(),
    });
    lines.map(|line| line + "\n").collect()
}

#[test]
fn the_files_of_composites_are_as_they_were() {
    for record in [composite_record(), stream_record()] {
        let s = record.run.suffix.clone();
        let texts = [
            (format!("sfssum_{s}.txt"), sfssum_txt::sfssum_txt(&record)),
            (format!("sfssum_{s}.xml"), sfssum_xml::sfssum_xml(&record)),
            (format!("sfslog_{s}.log"), sfslog_txt::sfslog_txt(&record)),
            (
                format!("heartbeats_{s}.log"),
                proc_logs::heartbeat_log(&record),
            ),
        ];
        for (name, text) in texts {
            check(&name, &without_fingerprint(&record, &text));
        }
        check(&format!("{s}.csv"), &csv::csv(&record));
    }
    let logs = proc_logs::proc_logs(&stream_record(), 1).unwrap();
    check("client_1.vda", &logs.results);
    check("Workload_VDA2_1.vda", &logs.operations);
    check("netmist_C1.vda.log", &logs.progress);
}

#[test]
fn a_composite_record_with_nothing_in_it_renders_too() {
    let mut record = composite_record();
    record.points.clear();
    record.phases.clear();
    record.heartbeats.clear();
    record.run.plan.procs.clear();
    record.run.plan.clients.clear();
    record.end = None;
    assert_eq!(sfssum_txt::sfssum_txt(&record).lines().count(), 4);
    assert!(sfssum_xml::sfssum_xml(&record).contains("</filermark>"));
    assert!(!sfslog_txt::sfslog_txt(&record).contains("<<<"));
    assert_eq!(proc_logs::heartbeat_log(&record).lines().count(), 1);
    assert_eq!(csv::csv(&record).lines().count(), 1);
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
