//! Archives of a synthetic run: packed, read back, forged in every way.

use crate::verify::{Options, State, Verification, check_zip, verify};
use crate::*;
use filermark_model::client_reads::{ClientReads, ReadCounter};
use filermark_model::silence::Silence;
use filermark_model::stall::{ProcessRole, ProcessStalls, Stalls};
use filermark_model::{Finding, Rule, Severity};
use filermark_results::files::{write_files, write_proc_logs};
use filermark_results::{
    Curve, Line, PointRecord, PointStatus, RunRecord, judge, judge_client_reads, judge_silences,
    judge_stalls, settle_rate, testing,
};
use filermark_submission::{Document, ResultFile, RunFiles, fill, write_xml};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::OnceLock;
use tempfile::TempDir;

pub(crate) const RC: &str = "LOAD=100\nPASSWORD_FILE=pw\n";

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

/// A folder as a run and subedit leave it.
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
    options: &GatherOptions,
) -> Result<Gathered, Vec<String>> {
    gather(&[dir.path().join(what)], options)
}

/// The whole archive, made once.
pub(crate) fn whole() -> &'static Bundle {
    static WHOLE: OnceLock<Bundle> = OnceLock::new();
    WHOLE.get_or_init(|| {
        gathered(&folder(), "sub.xml", &GatherOptions::default())
            .unwrap()
            .bundle
    })
}

/// All files of an archive, manifests included.
fn files_of(bundle: &Bundle) -> BTreeMap<String, Vec<u8>> {
    zipfile::unpack(&bundle.to_bytes().unwrap()).unwrap()
}

pub(crate) fn check(bundle: &Bundle) -> Verification {
    let options = Options {
        needs_manifest: true,
        html: None,
    };
    verify(bundle, &options)
}

pub(crate) fn faults(told: &Verification) -> String {
    let failed = told.checks.iter().filter(|c| c.state == State::Fail);
    failed.map(|c| format!("{c}\n")).collect()
}

/// What is found when these files are unpacked from a zip.
fn found_in(files: &BTreeMap<String, Vec<u8>>) -> String {
    faults(&check(&Bundle::of_files(files.clone())))
}

/// The same files but one, with a manifest that fits again.
fn forged(name: &str, bytes: Vec<u8>) -> Bundle {
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

#[test]
fn a_submission_brings_all_that_it_names_and_everything_is_in_order() {
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
    let mut told = check(&bundle);
    check_zip(&bundle, &bytes, &mut told);
    assert!(told.ok, "{}", faults(&told));
    let skipped: Vec<&str> = told
        .checks
        .iter()
        .filter(|c| c.state == State::Skip)
        .map(|c| c.about.as_str())
        .collect();
    assert_eq!(skipped, ["net.png", "sfs_rc"]);
    assert_eq!(told.runs[0].ort_ms, record().ort_ms());
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
fn manifest_and_verification_keep_to_their_schemas() {
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
        let told = serde_json::to_value(check(&bundle)).unwrap();
        assert_schema(crate::verify::SCHEMA, &told);
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
fn a_manifest_of_a_newer_version_is_told_in_plain_words() {
    let mut files = files_of(whole());
    let json = String::from_utf8(files[MANIFEST_JSON].clone()).unwrap();
    let newer = json.replacen("\"schema\": 1", "\"schema\": 2", 1);
    files.insert(MANIFEST_JSON.into(), newer.into_bytes());
    assert!(found_in(&files).contains("has schema version 2, and this program reads version 1"));
}

#[test]
fn figures_that_were_forged_with_their_manifest_are_found() {
    let change = |name: &str, from: &str, to: &str| {
        let old = text(name);
        assert!(old.contains(from), "{name} has no {from}");
        faults(&check(&forged(
            name,
            old.replacen(from, to, 1).into_bytes(),
        )))
    };
    let row = text("sfssum.mine")
        .split_whitespace()
        .nth(3)
        .unwrap()
        .to_owned();
    let found = change("sfssum.mine", &row, "99999");
    assert!(
        found.contains("sfssum.mine: not as mine.run.jsonl makes it: line 1"),
        "{found}"
    );
    assert!(
        found.contains("not the file that it was made from"),
        "{found}"
    );
    for (name, from) in [
        ("sfslog.mine", "TOTAL"),
        ("sfsres.mine", "peak"),
        ("sfsc0002.mine", "proc"),
    ] {
        assert!(change(name, from, "????").contains(name), "{name}");
    }
    assert!(change("mine.csv", "VALID", "valid").contains("mine.csv"));
    let found = change("sub.xml", "<peak>", "<peak>1");
    assert!(found.contains("peak is 1"), "{found}");
    let found = change("sub.xml", "<ortMs>", "<ortMs>1");
    assert!(found.contains("ortMs is 1"), "{found}");
    let found = change("sub.xml", "net.png", "other.png");
    assert!(found.contains("other.png is missing"), "{found}");
    assert!(change("sub.xml", "<meanMs>", "<meanMs>3").contains("dataPoint[1].meanMs"));
    assert!(change("sub.xml", ">INVALID<", ">VALID<").contains("verdict is \"VALID\""));
    assert!(change("sub.xml", ">RUNTIME<", ">WARMUP<").contains("rcParameters"));
    let found = change(
        "mine.run.jsonl",
        "\"severity\":\"warning\"",
        "\"severity\":\"note\"",
    );
    assert!(
        found.contains("fingerprint") || found.contains("sfs"),
        "{found}"
    );
    let found = change("mine.run.jsonl", "\"seed\":42", "\"seed\":43");
    assert!(found.contains("the fingerprint of its plan is"), "{found}");
}

/// What is found when the manifests are made anew after a text of `manifest.json` was
/// replaced.
fn with_manifest(bundle: &Bundle, change: impl Fn(String) -> String) -> String {
    let mut files = files_of(bundle);
    let json = String::from_utf8(files[MANIFEST_JSON].clone()).unwrap();
    files.insert(MANIFEST_JSON.into(), change(json).into_bytes());
    files.remove(MANIFEST_SUMS);
    let sums = files.iter().map(|(name, b)| (name.as_str(), sha256(b)));
    let sums = manifest::sums_text(sums.collect::<Vec<_>>());
    files.insert(MANIFEST_SUMS.into(), sums.into_bytes());
    found_in(&files)
}

#[test]
fn a_record_is_a_record_whatever_the_manifest_says() {
    let other = |json: String| {
        let from = json.find("\"runs\": [").unwrap();
        let to = from + json[from..].find(']').unwrap();
        let json = json.replacen(&json[from..=to], "\"runs\": []", 1);
        json.replacen("\"role\": \"record\"", "\"role\": \"other\"", 1)
    };
    let found = with_manifest(whole(), other);
    assert!(
        found.contains("mine.run.jsonl is a record by its name and content"),
        "{found}"
    );
    assert!(found.contains("its runs are not those"), "{found}");
    // By another name, with a summary that was forged with it.
    let mut bundle = Bundle::new();
    let record = text("mine.run.jsonl").replacen("\"seed\":42", "\"seed\":43", 1);
    bundle.add("notes", record, Role::Other).unwrap();
    let found = with_manifest(&bundle, other);
    assert!(found.contains("notes is a record"), "{found}");
    assert!(found.contains("the fingerprint of its plan is"), "{found}");
}

/// A change to the lines of a record.
type Change<'a> = &'a dyn Fn(&mut Vec<String>);

/// What is found when the lines of the record are changed.
fn found_after(change: impl Fn(&mut Vec<String>)) -> String {
    let mut bundle = Bundle::new();
    for (name, member) in whole().members() {
        let mut bytes = member.bytes.clone();
        if member.role == Role::Record {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            change(&mut lines);
            bytes = (lines.join("\n") + "\n").into_bytes();
        }
        bundle.add(name, bytes, member.role).unwrap();
    }
    found_in(&files_of(&bundle))
}

#[test]
fn a_record_that_lost_or_gained_lines_or_has_other_sums_is_found() {
    let kind = |line: &str, kind: &str| line.starts_with(&format!("{{\"type\":\"{kind}\""));
    let at = |lines: &[String], of: &str| lines.iter().position(|l| kind(l, of)).unwrap();
    let cases: [(&str, Change<'_>); 6] = [
        ("each stands once", &|lines| {
            let first = at(lines, "point");
            lines.insert(first, lines[first].clone());
        }),
        ("behind the end", &|lines| {
            let first = at(lines, "point");
            lines.push(lines[first].clone());
        }),
        ("sum of squares", &|lines| {
            let first = at(lines, "point");
            let front = "\"sum_sq_us\":";
            let from = lines[first].find(front).unwrap() + front.len();
            let to = from + lines[first][from..].find(',').unwrap();
            let sum: f64 = lines[first][from..to].parse().unwrap();
            lines[first].replace_range(from..to, &format!("{:?}", sum * 100.0));
        }),
        ("no line that describes a client host", &|lines| {
            lines.retain(|l| !kind(l, "environment"));
        }),
        ("no line of its INIT", &|lines| {
            lines.retain(|l| !kind(l, "phase"));
        }),
        ("does not agree with the finding", &|lines| {
            let end = lines.last_mut().unwrap();
            let other = match end.contains("\"state\":\"interrupted\"") {
                true => ("\"state\":\"interrupted\"", "\"state\":\"complete\""),
                false => ("\"state\":\"complete\"", "\"state\":\"interrupted\""),
            };
            *end = end.replacen(other.0, other.1, 1);
        }),
    ];
    for (words, change) in cases {
        let found = found_after(change);
        assert!(found.contains(words), "{words}: {found}");
    }
}

#[test]
fn an_archive_without_a_record_is_never_in_order() {
    let mut bundle = Bundle::new();
    for (name, member) in whole().members().filter(|(_, m)| m.role != Role::Record) {
        bundle.add(name, member.bytes.clone(), member.role).unwrap();
    }
    let found = found_in(&files_of(&bundle));
    assert!(
        found.contains("no run record in it: nothing could be computed again"),
        "{found}"
    );
    assert!(found.contains("sfssum.mine: a summary that no run record"));
}

#[test]
fn files_with_figures_that_no_record_makes_are_found() {
    let summary = text("sfssum.mine");
    let row = summary.split_whitespace().nth(3).unwrap().to_owned();
    let better = summary.replacen(&row, "99999", 1);
    let table = text("mine.csv").replacen(",VALID,", ",INVALID,", 1);
    for (name, bytes, is) in [
        ("sfssum.better", &better, "summary"),
        ("best.txt", &better, "summary"),
        ("sfslog.better", &better, "log"),
        ("sfsc0009.mine", &better, "client-log"),
        ("client-logs.x/client_0.x", &better, "client-log"),
        ("figures", &table, "table"),
    ] {
        let mut bundle = whole().clone();
        bundle.add(name, bytes.as_str(), Role::Other).unwrap();
        let found = found_in(&files_of(&bundle));
        let words = format!("{name}: a {is} that no run record in it makes");
        assert!(found.contains(&words), "{found}");
    }
    let mut bundle = whole().clone();
    bundle.add("copy", summary, Role::Other).unwrap();
    bundle.add("sfsval.mine", "x", Role::Log).unwrap();
    bundle
        .add("rack.csv", "unit,what\r\n", Role::Other)
        .unwrap();
    assert_eq!(found_in(&files_of(&bundle)), "");
}

#[test]
fn pages_of_this_version_are_as_made_and_of_others_have_the_headline() {
    let public = |record: &RunRecord| format!("<h1>{}</h1>9", record.run.suffix);
    let html = |record: &RunRecord| vec![public(record), "for reviewers".to_owned()];
    let told = |version: &str, name: &str, page: &str| {
        let mut bundle = Bundle::new();
        for (name, member) in whole().members() {
            let text = String::from_utf8_lossy(&member.bytes);
            let own = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
            let bytes = match member.role {
                Role::Record => text.replacen(&own, &format!("\"version\":\"{version}\""), 1),
                _ => text.into_owned(),
            };
            bundle.add(name, bytes, member.role).unwrap();
        }
        bundle.add(name, page, Role::Report).unwrap();
        let options = Options {
            needs_manifest: false,
            html: Some(&html),
        };
        let told = verify(&bundle, &options);
        let check = told.checks.iter().find(|c| c.about == name).unwrap();
        (check.state, check.text.clone())
    };
    let own = env!("CARGO_PKG_VERSION");
    let curve = Curve::of_record(&record());
    let (peak, ort) = (curve.peak_value().unwrap(), curve.ort_ms().unwrap());
    let word = record().verdict().word();
    for good in [public(&record()), "for reviewers".to_owned()] {
        assert_eq!(told(own, "mine.html", &good).0, State::Ok);
        assert_eq!(told(own, "mine.review.html", &good).0, State::Ok);
    }
    let (state, why) = told(own, "mine.html", &public(&record()).replace('9', "8"));
    assert_eq!(state, State::Fail, "{why}");
    // One word of a page of this version, whatever its figures say.
    let page = format!("<b>{word}</b> <p>{peak:.2} op/s <b>{ort:.2}</b> ms");
    let (state, why) = told(own, "mine.html", &page);
    assert_eq!(state, State::Fail, "{why}");
    // Nobody can make the pages of another version again.
    let (state, why) = told("0.0.1", "mine.html", &page);
    assert_eq!(state, State::Skip, "{why}");
    assert!(why.contains("its text is not checked"), "{why}");
    let other_word = match word {
        "INVALID" => "VALID",
        _ => "INVALID",
    };
    let (state, why) = told("0.0.1", "mine.html", &page.replace(word, other_word));
    assert_eq!(state, State::Fail, "{why}");
    let better = format!("{word} <p>{:.2} op/s <b>{ort:.2}</b> ms", peak * 2.0);
    for (name, page) in [
        ("mine.html", better.clone()),
        (
            "mine.2nd.html",
            format!("<title>x, a Filermark report</title>{better}"),
        ),
    ] {
        let (state, why) = told("0.0.1", name, &page);
        assert_eq!(state, State::Fail, "{why}");
    }
    assert_eq!(told(own, "mine.notes.html", "<p>to do").0, State::Skip);
}

#[test]
fn only_an_archive_of_the_same_things_is_replaced() {
    let dir = folder();
    let path = dir.path().join("sub.zip");
    let found = gathered(&dir, "sub.xml", &GatherOptions::default()).unwrap();
    assert_eq!(found.place, dir.path().join("sub.bundle"));
    let ours = found.bundle.made_by("bundle");
    assert_eq!(ours.check_place(&path), Ok(()));
    fs::write(&path, ours.to_bytes().unwrap()).unwrap();
    assert_eq!(ours.check_place(&path), Ok(()));
    let refused = |why: &str| {
        let said = ours.check_place(&path).unwrap_err();
        assert!(said.contains(why) && said.contains("-o FILE.zip"), "{said}");
    };
    fs::write(&path, whole().to_bytes().unwrap()).unwrap();
    refused("a zip file that `bundle` has not made");
    let mut bundle = Bundle::new().made_by("bundle");
    bundle.add("x", "x", Role::Other).unwrap();
    fs::write(&path, bundle.to_bytes().unwrap()).unwrap();
    refused("an archive of other runs or submissions");
    let foreign = zipfile::pack(BTreeMap::from([("x", &b"x"[..])])).unwrap();
    fs::write(&path, foreign).unwrap();
    refused("a zip file of another program");
    fs::write(&path, "PK\x03\x04").unwrap();
    refused("no archive that can be read");
}

#[test]
fn cut_and_newer_records_are_told_in_plain_words() {
    let record = text("mine.run.jsonl");
    let cut = &record[..record.len() - 40];
    let found = faults(&check(&forged("mine.run.jsonl", cut.into())));
    assert!(found.contains("was cut and is left out"), "{found}");
    let end = record.trim_end().rfind('\n').unwrap();
    let found = faults(&check(&forged("mine.run.jsonl", record[..=end].into())));
    assert!(found.contains("has no end: the run was cut"), "{found}");
    let newer = record.replacen("\"schema\":1", "\"schema\":7", 1);
    let found = faults(&check(&forged("mine.run.jsonl", newer.into_bytes())));
    assert!(
        found.contains("schema version 7, and this program reads version 1"),
        "{found}"
    );
    let found = faults(&check(&forged("mine.run.jsonl", b"{}\n".to_vec())));
    assert!(found.contains("cannot be checked"), "{found}");
}

/// What `verify` finds wrong with a record.
fn wrong_with(record: &RunRecord) -> String {
    let mut bundle = Bundle::new();
    bundle
        .add("mine.run.jsonl", lines_of(record), Role::Record)
        .unwrap();
    faults(&verify(&bundle, &Options::default()))
}

#[test]
fn findings_that_were_taken_out_are_missed() {
    let mut record = testing::record();
    let at = record
        .points
        .iter()
        .position(|p| !p.findings.is_empty())
        .unwrap();
    record.points = vec![record.points[at].clone()];
    assert_eq!(wrong_with(&record), "");
    let taken = record.points[0].findings.remove(0);
    let found = wrong_with(&record);
    assert!(found.contains("the rules say") || found.contains("does not say"));
    record.points[0].findings.insert(0, taken.clone());
    record.points[0].findings.push(taken);
    assert!(wrong_with(&record).contains("which the rules do not"));
}

/// The seed's sample, and the same of a record from before `achieved-rate` had a severity in
/// the definitions: each is in order by its own plan, and not by the other's.
#[test]
fn a_point_below_its_rate_is_judged_by_the_records_own_definition() {
    let now = testing::smb::sweep_record(|_, _| {});
    let before = testing::smb::sweep_record(|plan, _| {
        plan.benchmark.standard.achieved_severity = Severity::Invalid;
    });
    for (record, other) in [(&now, &before), (&before, &now)] {
        let findings = |record: &RunRecord| wrong_with(record).contains("load point 10: it ");
        assert!(!findings(record), "{}", wrong_with(record));
        let mut forged = record.clone();
        forged.points[9].findings = other.points[9].findings.clone();
        assert!(findings(&forged), "{}", wrong_with(&forged));
    }
}

/// A point below its rate that another cause explains is in order as the prime settled it, and
/// not as the rules alone say; without the cause it is the other way round.
#[test]
fn a_point_that_another_cause_explains_is_settled_again() {
    let sweep = |reconnects: u64| {
        let mut record = testing::smb::sweep_record(|_, _| {});
        let plan = record.run.plan.clone();
        let point = &mut record.points[9];
        let stats = point.stats.as_mut().unwrap();
        if reconnects > 0 {
            stats.counters.insert("reconnects".into(), reconnects);
        }
        point.findings = judge(stats, point.load, &plan, 8);
        let unsettled = point.findings.clone();
        settle_rate(&mut point.findings, stats, point.load, &plan);
        (record, unsettled)
    };
    let wrong = |record: &RunRecord| wrong_with(record).contains("load point 10: it ");
    let (lost, unsettled) = sweep(1);
    assert!(!wrong(&lost), "{}", wrong_with(&lost));
    assert_ne!(lost.points[9].findings, unsettled);
    let mut forged = lost.clone();
    forged.points[9].findings = unsettled;
    assert!(wrong(&forged), "{}", wrong_with(&forged));
    let (mut sound, same) = sweep(0);
    assert_eq!(sound.points[9].findings, same);
    assert!(!wrong(&sound), "{}", wrong_with(&sound));
    sound.points[9].findings = lost.points[9].findings.clone();
    assert!(wrong(&sound), "{}", wrong_with(&sound));
}

/// The first load point of the synthetic run, with what a run sees of its clients.
fn with_clients(change: impl FnOnce(&mut PointRecord)) -> (RunRecord, Vec<Finding>) {
    let mut record = testing::record();
    record.points.truncate(1);
    let plan = record.run.plan.clone();
    let point = &mut record.points[0];
    change(point);
    // As the prime asks the rules.
    let stats = point.stats.as_ref().unwrap();
    let mut more = judge_stalls(&point.stalls, stats.window_ns, &plan.limits);
    more.extend(judge_silences(&point.clients, &point.stalls, stats));
    more.extend(judge_client_reads(&point.client_reads, &BTreeSet::new()));
    point.findings.extend(more.clone());
    (record, more)
}

fn stalled(gap_ns: u64) -> ProcessStalls {
    ProcessStalls {
        role: ProcessRole::Agent,
        host: "c1".into(),
        stalls: Stalls {
            gap_count: 1,
            gap_sum_ns: gap_ns,
            gap_max_ns: gap_ns,
            ..Stalls::default()
        },
    }
}

fn silent(point: &mut PointRecord) {
    point.clients[0].silence = Some(Silence {
        start_ns: 1_000_000_000,
        length_ns: 200_000_000_001,
    });
}

fn cached(point: &mut PointRecord) {
    point.client_reads.push(ClientReads {
        client: "c1".into(),
        mounts: vec!["/mnt".into()],
        file_system: "nfs4".into(),
        counter: ReadCounter::Nfs,
        read_bytes: 1 << 20,
        fetched_bytes: Some(1 << 10),
        source: "nfs:/mnt".into(),
        unknown: None,
    });
}

/// A record with these findings is in order; one from which they were taken out, to which
/// they were added, or in which they say another thing, is not.
#[test]
fn findings_on_stalls_silences_and_client_reads_are_worked_out_again() {
    let all = |point: &mut PointRecord| {
        point.stalls.push(stalled(150_000_000_000));
        silent(point);
        cached(point);
    };
    let cases = [
        (
            &[Rule::GeneratorStalled][..],
            with_clients(|p| p.stalls.push(stalled(60_000_000))),
        ),
        (
            &[Rule::GeneratorStalled],
            with_clients(|p| p.stalls.push(stalled(150_000_000_000))),
        ),
        (&[Rule::NoReply], with_clients(silent)),
        (&[Rule::ClientCache], with_clients(cached)),
        (
            &[Rule::GeneratorStalled, Rule::NoReply, Rule::ClientCache],
            with_clients(all),
        ),
    ];
    for (rules, (record, more)) in cases {
        let names: Vec<Rule> = more.iter().map(|f| f.rule).collect();
        assert_eq!(names, rules);
        let findings = |record: &RunRecord| wrong_with(record).contains("load point 1: it ");
        assert!(!findings(&record), "{}", wrong_with(&record));
        let own = record.points[0].findings.len() - more.len();
        for at in own..record.points[0].findings.len() {
            let mut without = record.clone();
            without.points[0].findings.remove(at);
            assert!(findings(&without), "{rules:?} without {at}");
            let mut other = record.clone();
            other.points[0].findings[at].severity = Severity::Note;
            assert!(findings(&other), "{rules:?} with another severity at {at}");
        }
        // The same findings, and nothing in the record that they follow from.
        let (mut invented, none) = with_clients(|_| ());
        assert!(none.is_empty());
        invented.points[0].findings.extend(more);
        assert!(findings(&invented), "{rules:?} invented");
    }
}

/// How WARMUP went only the run saw.
#[test]
fn a_warmup_that_reached_its_limit_is_the_word_of_the_run() {
    let (mut record, _) = with_clients(silent);
    let told = Finding::new(Rule::WarmupLimit, Severity::Warning, "not steady in 60 s");
    record.points[0].findings.push(told.clone());
    assert_eq!(wrong_with(&record), "");
    // What the rules say stands before it.
    record.points[0].findings.pop();
    record.points[0].findings.insert(0, told);
    assert!(wrong_with(&record).contains("the rules say"));
}

#[test]
fn a_load_point_that_stop_if_ended_says_so() {
    let said = |rule, reason: &str| {
        let mut record = testing::record();
        record.points.truncate(1);
        let point = &mut record.points[0];
        point.stats = None;
        point.clients.clear();
        point.status = PointStatus::Failed {
            reason: "STOP_IF free<5% for 10s: 4.0 % is free".into(),
        };
        point.findings = vec![Finding::new(rule, Severity::Invalid, reason)];
        wrong_with(&record)
    };
    let reason = "STOP_IF free<5% for 10s: 4.0 % is free";
    for rule in [Rule::EmergencyStop, Rule::Failed] {
        let found = said(rule, reason);
        assert!(!found.contains("load point 1: it "), "{found}");
        let found = said(rule, "all is well");
        assert!(found.contains("and the rules say"), "{found}");
    }
    assert!(said(Rule::Errors, reason).contains("and the rules say"));
    // A point that was measured was ended by nothing.
    let mut record = testing::record();
    record.points.truncate(1);
    let told = Finding::new(Rule::EmergencyStop, Severity::Invalid, reason);
    record.points[0].findings.push(told);
    assert!(wrong_with(&record).contains("which the rules do not"));
}

#[test]
fn composite_runs_with_the_logs_of_their_procs() {
    let dir = tempfile::tempdir().unwrap();
    let record = testing::composite::stream_record();
    write_files(&record, dir.path()).unwrap();
    write_proc_logs(&record, dir.path()).unwrap();
    fs::write(dir.path().join("vda.run.jsonl"), lines_of(&record)).unwrap();
    let bundle = gathered(&dir, "vda.run.jsonl", &GatherOptions::default())
        .unwrap()
        .bundle;
    let logs = bundle
        .members()
        .filter(|(name, _)| name.starts_with("client-logs.vda/"));
    assert_eq!(logs.count(), 3 * 36);
    let told = check(&Bundle::from_bytes(&bundle.to_bytes().unwrap()).unwrap());
    let of_files = |c: &&verify::Check| !c.about.starts_with("vda.run.jsonl");
    let wrong: Vec<_> = told
        .checks
        .iter()
        .filter(of_files)
        .filter(|c| c.state == State::Fail)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    fs::write(dir.path().join("client-logs.vda/client_3.vda"), "forged\n").unwrap();
    let bundle = gathered(&dir, "vda.run.jsonl", &GatherOptions::default())
        .unwrap()
        .bundle;
    let found = faults(&verify(&bundle, &Options::default()));
    assert!(
        found.contains("client-logs.vda/client_3.vda: line 1 has \"forged\""),
        "{found}"
    );
}

#[test]
fn nothing_hostile_comes_out_of_a_zip() {
    use std::io::{Cursor, Write as _};
    use zip::write::SimpleFileOptions;
    let plain = SimpleFileOptions::default();
    let zip = |names: &[&str], options: SimpleFileOptions, bytes: &[u8]| {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for name in names {
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    for name in ["../x", "/etc/x", "a\\b", "a//b", "C:x"] {
        let refused = Bundle::from_bytes(&zip(&[name], plain, b"x")).unwrap_err();
        assert!(refused.0.contains("name"), "{name}: {refused}");
    }
    let link = {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        writer.add_symlink("link", "/etc/passwd", plain).unwrap();
        writer.finish().unwrap().into_inner()
    };
    assert!(
        Bundle::from_bytes(&link)
            .unwrap_err()
            .0
            .contains("not a regular file")
    );
    // The same name twice, by giving one the other's.
    let mut twice = zip(&["aaaa", "bbbb"], plain, b"x");
    for at in 0..twice.len() - 4 {
        if &twice[at..at + 4] == b"bbbb" {
            twice[at..at + 4].copy_from_slice(b"aaaa");
        }
    }
    assert!(Bundle::from_bytes(&twice).unwrap_err().0.contains("twice"));
    let zeros = vec![0u8; 80 << 20];
    let bomb = zip(&["zeros"], plain, &zeros);
    let refused = Bundle::from_bytes(&bomb).unwrap_err();
    assert!(refused.0.contains("made to fill a disk"), "{refused}");
    let mut sealed = zip(&["a"], plain, b"x");
    // The flag of encryption, in both headers.
    sealed[6] |= 1;
    let central = sealed.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    sealed[central + 8] |= 1;
    assert!(Bundle::from_bytes(&sealed).is_err());
    let mut front = b"#!/bin/sh\n".to_vec();
    front.extend(zip(&["a"], plain, b"x"));
    assert!(Bundle::from_bytes(&front).is_err());
    for junk in [&b""[..], b"PK\x03\x04", b"no zip at all"] {
        assert!(Bundle::from_bytes(junk).is_err());
    }
}

#[test]
fn names_and_files_are_taken_once() {
    let mut bundle = Bundle::new();
    bundle.add("a/b", "x", Role::Other).unwrap();
    bundle.add("a/b", "x", Role::Other).unwrap();
    for (name, why) in [
        ("a/b", "different contents"),
        ("a", "a file and a folder"),
        ("a/b/c", "a file and a folder"),
        ("../a", "outside"),
        ("manifest.json", "manifest"),
    ] {
        let refused = bundle.add(name, "y", Role::Other).unwrap_err();
        assert!(refused.0.contains(why), "{name}: {refused}");
    }
}

/// Figures of the record that are counted in more than one place.
const COUNTED: [&str; 6] = [
    "success_count",
    "error_count",
    "physical_count",
    "read_bytes",
    "written_bytes",
    "service_sum_ns",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_changed_byte_of_any_file_is_noticed(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        change in 1u8..=255,
    ) {
        let mut files = files_of(whole());
        let name = which.get(&files.keys().cloned().collect::<Vec<_>>()).clone();
        let bytes = files.get_mut(&name).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        prop_assert!(!found_in(&files).is_empty(), "{name} at {at}");
    }

    /// The record alone, without manifest and without anything beside it.
    #[test]
    fn a_changed_count_in_a_bare_record_is_noticed(
        field in prop::sample::select(&COUNTED[..]),
        which in any::<prop::sample::Index>(),
        digit in any::<prop::sample::Index>(),
        by in 1u8..10,
    ) {
        let mut record = text("mine.run.jsonl").into_bytes();
        let key = format!("\"{field}\":");
        let places: Vec<usize> = record
            .windows(key.len())
            .enumerate()
            .filter(|(_, w)| *w == key.as_bytes())
            .map(|(at, _)| at + key.len())
            .collect();
        let from = *which.get(&places);
        let count = record[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let at = from + digit.index(count);
        record[at] = b'0' + (record[at] - b'0' + by) % 10;
        let shown = String::from_utf8_lossy(&record[from.saturating_sub(200)..from + 20]).into_owned();
        // What is counted in WARMUP is in no other figure.
        prop_assume!(!in_warmup(&shown));
        let mut bundle = Bundle::new();
        bundle.add("mine.run.jsonl", record, Role::Record).unwrap();
        prop_assert!(!verify(&bundle, &Options::default()).ok, "{shown}");
    }

    #[test]
    fn no_zip_makes_the_reader_panic(
        at in any::<prop::sample::Index>(),
        change in 1u8..=255,
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bundle = Bundle::new();
        bundle.add("a", "some text some text", Role::Other).unwrap();
        bundle.add("b/c", "other", Role::Other).unwrap();
        let mut bytes = bundle.to_bytes().unwrap();
        let _ = Bundle::from_bytes(&bytes[..cut.index(bytes.len())]);
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        // Refused, found wrong, or told to be not as this program packs.
        if let Ok(read) = Bundle::from_bytes(&bytes) {
            let mut told = check(&read);
            check_zip(&read, &bytes, &mut told);
            let other = told.checks.iter().any(|c| c.about == "zip" && c.state == State::Skip);
            prop_assert!(!told.ok || other, "at {at}");
        }
    }
}

/// Whether the last second that begins in a text is one of WARMUP.
fn in_warmup(text: &str) -> bool {
    let second = text.rfind("\"second\":").map(|at| &text[at..]);
    second.is_some_and(|rest| rest.starts_with("\"second\":-") && !rest.contains('}'))
}
