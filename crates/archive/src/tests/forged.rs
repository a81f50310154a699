//! Files that were forged together with their manifest.

use super::support::{check, faults, files_of, forged, found_in, text, whole};
use crate::{Bundle, MANIFEST_JSON, MANIFEST_SUMS, manifest, sha256};
use filermark_results::Role;

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

/// The faults of an archive whose `manifest.json` is changed and whose sums are computed
/// again.
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
fn a_record_is_recognized_without_the_manifest() {
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
    // With another name.
    let mut bundle = Bundle::new();
    let record = text("mine.run.jsonl").replacen("\"seed\":42", "\"seed\":43", 1);
    bundle.add("notes", record, Role::Other).unwrap();
    let found = with_manifest(&bundle, other);
    assert!(found.contains("notes is a record"), "{found}");
    assert!(found.contains("the fingerprint of its plan is"), "{found}");
}

/// A change to the lines of a record.
type EditLines<'a> = &'a dyn Fn(&mut Vec<String>);

/// The faults of the archive after a change to the lines of the record.
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
    let cases: [(&str, EditLines<'_>); 7] = [
        ("each must occur once", &|lines| {
            let first = at(lines, "point");
            lines.insert(first, lines[first].clone());
        }),
        ("after the end", &|lines| {
            let first = at(lines, "point");
            lines.push(lines[first].clone());
        }),
        ("sum of squares", &|lines| {
            let first = at(lines, "point");
            let key = "\"sum_sq_us\":";
            let from = lines[first].find(key).unwrap() + key.len();
            let to = from + lines[first][from..].find(',').unwrap();
            let sum: f64 = lines[first][from..to].parse().unwrap();
            lines[first].replace_range(from..to, &format!("{:?}", sum * 100.0));
        }),
        ("by bucket 1 of 1 ns", &|lines| {
            let first = at(lines, "point");
            let responses =
                "\"responses\":{\"reads\":{\"sum_ns\":1,\"counts\":[1]}},\"service_log2_us\":";
            lines[first] = lines[first].replacen("\"service_log2_us\":", responses, 1);
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
fn an_archive_without_a_record_fails() {
    let mut bundle = Bundle::new();
    for (name, member) in whole().members().filter(|(_, m)| m.role != Role::Record) {
        bundle.add(name, member.bytes.clone(), member.role).unwrap();
    }
    let found = found_in(&files_of(&bundle));
    assert!(
        found.contains("no run record in the archive: nothing could be computed again"),
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
        let words = format!("{name}: a {is} that no run record in the archive makes");
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
