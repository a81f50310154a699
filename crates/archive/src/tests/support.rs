//! An archive of a synthetic run, and the faults that the checks find in it.

use crate::verify::{CheckStatus, Options, Verification, verify};
use crate::{Bundle, CollectOptions, CollectedFiles, gather, sha256, zipfile};
use filermark_results::files::write_files;
use filermark_results::output::{Make, Origin, Output};
use filermark_results::{Curve, Line, Role, RunRecord, testing};
use filermark_submission::{Document, ResultFile, RunFiles, fill, write_xml};
use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;
use tempfile::TempDir;

pub(crate) const RC: &str = "LOAD=100\nPASSWORD_FILE=pw\n";

/// A row for a page in two editions.
pub(crate) const REPORTS: &[Output] = &[Output {
    pattern: "{suffix}.html",
    role: Role::Report,
    media_type: "text/html",
    origin: Origin::EveryRun,
    make: Make::Page(&[
        |record| Some(public_page(record)),
        |_| Some(PAGE_FOR_REVIEWERS.to_owned()),
    ]),
    about: "a page",
    readers: "people",
}];

pub(super) const PAGE_FOR_REVIEWERS: &str = "for reviewers";

pub(super) fn public_page(record: &RunRecord) -> String {
    format!("<h1>{}</h1>9", record.run.suffix)
}

/// The synthetic run with two of its load points.
pub(crate) fn record() -> RunRecord {
    let mut record = testing::record();
    record.points.truncate(2);
    record
}

pub(crate) fn lines_of(record: &RunRecord) -> String {
    let mut lines = vec![Line::Run(Box::new(record.run.clone()))];
    lines.extend(record.environments.iter().cloned().map(Line::Environment));
    lines.extend(record.phases.iter().cloned().map(Line::Phase));
    lines.extend(record.events.iter().cloned().map(Line::Event));
    lines.extend(record.heartbeats.iter().cloned().map(Line::Heartbeat));
    lines.extend(
        record
            .points
            .iter()
            .cloned()
            .map(|p| Line::Point(Box::new(p))),
    );
    lines.extend(record.scripts.iter().cloned().map(Line::Script));
    lines.extend(record.end.iter().cloned().map(Line::End));
    let json = |line: &Line| serde_json::to_string(line).unwrap() + "\n";
    lines.iter().map(json).collect()
}

/// A folder with the files of a run and of a submission.
pub(crate) fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let record = record();
    write_files(&record, dir.path()).unwrap();
    fs::write(dir.path().join("mine.run.jsonl"), lines_of(&record)).unwrap();
    fs::write(dir.path().join("sfs_rc"), RC).unwrap();
    fs::write(dir.path().join("net.png"), b"\x89PNG").unwrap();
    let file = |name: &str| ResultFile {
        name: name.into(),
        sha256: sha256(&fs::read(dir.path().join(name)).unwrap()),
    };
    let files = ["sfssum.mine", "sfs_rc", "mine.run.jsonl"].map(file);
    let mut document = Document::new();
    let run = RunFiles {
        plan: &record.run.plan,
        curve: &Curve::of_record(&record),
        verdict: "VALID",
        record: Some(&record),
        summary_file: &files[0],
        rc_file: &files[1],
        record_file: Some(&files[2]),
    };
    fill(&mut document, &[run]);
    let diagram = document
        .find("productInfo.configDiagrams.diagram.file")
        .unwrap();
    document.set(&diagram, "net.png").unwrap();
    fs::write(dir.path().join("sub.xml"), write_xml(&document)).unwrap();
    dir
}

pub(crate) fn gathered(
    dir: &TempDir,
    what: &str,
    options: &CollectOptions,
) -> Result<CollectedFiles, Vec<String>> {
    let options = CollectOptions {
        reports: REPORTS,
        ..options.clone()
    };
    gather(&[dir.path().join(what)], &options)
}

/// The archive of the submission, made once.
pub(crate) fn whole() -> &'static Bundle {
    static WHOLE: OnceLock<Bundle> = OnceLock::new();
    WHOLE.get_or_init(|| {
        gathered(&folder(), "sub.xml", &CollectOptions::default())
            .unwrap()
            .bundle
    })
}

/// All files of an archive, manifests included.
pub(super) fn files_of(bundle: &Bundle) -> BTreeMap<String, Vec<u8>> {
    zipfile::unpack(&bundle.to_bytes().unwrap()).unwrap()
}

pub(crate) fn check(bundle: &Bundle) -> Verification {
    let options = Options {
        needs_manifest: true,
        reports: &[],
    };
    verify(bundle, &options)
}

pub(crate) fn faults(verification: &Verification) -> String {
    let failed = verification
        .checks
        .iter()
        .filter(|c| c.state == CheckStatus::Fail);
    failed.map(|c| format!("{c}\n")).collect()
}

/// The faults of an archive with these files.
pub(super) fn found_in(files: &BTreeMap<String, Vec<u8>>) -> String {
    faults(&check(&Bundle::of_files(files.clone())))
}

/// The archive with other contents of one file and a manifest that matches.
pub(super) fn forged(name: &str, bytes: Vec<u8>) -> Bundle {
    let mut bundle = Bundle::new();
    for (member, is) in whole().members() {
        let content = if member == name {
            bytes.clone()
        } else {
            is.bytes.clone()
        };
        bundle.add(member, content, is.role).unwrap();
    }
    Bundle::from_bytes(&bundle.to_bytes().unwrap()).unwrap()
}

pub(crate) fn text(name: &str) -> String {
    whole().get(name).unwrap().text().unwrap().to_owned()
}
