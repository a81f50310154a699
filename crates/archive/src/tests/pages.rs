//! HTML pages, archives that are replaced, and records that were cut.

use super::support::{
    PAGE_FOR_REVIEWERS, REPORTS, check, faults, folder, forged, gathered, public_page, record,
    text, whole,
};
use crate::verify::{CheckStatus, Options, verify};
use crate::{Bundle, CollectOptions, zipfile};
use filermark_results::{Curve, Role};
use std::collections::BTreeMap;
use std::fs;

#[test]
fn pages_of_this_version_are_compared_and_others_have_the_headline() {
    let check_of = |version: &str, name: &str, page: &str| {
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
            reports: REPORTS,
        };
        let verification = verify(&bundle, &options);
        let check = verification
            .checks
            .iter()
            .find(|c| c.about == name)
            .unwrap();
        (check.state, check.text.clone())
    };
    let own = env!("CARGO_PKG_VERSION");
    let curve = Curve::of_record(&record());
    let (peak, ort) = (curve.peak_value().unwrap(), curve.ort_ms().unwrap());
    let word = record().verdict().label();
    for good in [public_page(&record()), PAGE_FOR_REVIEWERS.to_owned()] {
        assert_eq!(check_of(own, "mine.html", &good).0, CheckStatus::Ok);
        assert_eq!(check_of(own, "mine.review.html", &good).0, CheckStatus::Ok);
    }
    let (state, why) = check_of(own, "mine.html", &public_page(&record()).replace('9', "8"));
    assert_eq!(state, CheckStatus::Fail, "{why}");
    // A page of this version with other words, even with the right figures.
    let page = format!("<b>{word}</b> <p>{peak:.2} op/s <b>{ort:.2}</b> ms");
    let (state, why) = check_of(own, "mine.html", &page);
    assert_eq!(state, CheckStatus::Fail, "{why}");
    // The pages of another version cannot be made again.
    let (state, why) = check_of("0.0.1", "mine.html", &page);
    assert_eq!(state, CheckStatus::Skip, "{why}");
    assert!(why.contains("its text is not checked"), "{why}");
    let other_word = match word {
        "INVALID" => "VALID",
        _ => "INVALID",
    };
    let (state, why) = check_of("0.0.1", "mine.html", &page.replace(word, other_word));
    assert_eq!(state, CheckStatus::Fail, "{why}");
    let better = format!("{word} <p>{:.2} op/s <b>{ort:.2}</b> ms", peak * 2.0);
    for (name, page) in [
        ("mine.html", better.clone()),
        (
            "mine.2nd.html",
            format!("<title>x, a Filermark report</title>{better}"),
        ),
    ] {
        let (state, why) = check_of("0.0.1", name, &page);
        assert_eq!(state, CheckStatus::Fail, "{why}");
    }
    assert_eq!(
        check_of(own, "mine.notes.html", "<p>to do").0,
        CheckStatus::Skip
    );
}

#[test]
fn only_an_archive_of_the_same_runs_and_submissions_is_replaced() {
    let dir = folder();
    let path = dir.path().join("sub.zip");
    let found = gathered(&dir, "sub.xml", &CollectOptions::default()).unwrap();
    assert_eq!(found.place, dir.path().join("sub.bundle"));
    let ours = found.bundle.made_by("bundle");
    assert_eq!(ours.check_place(&path), Ok(()));
    fs::write(&path, ours.to_bytes().unwrap()).unwrap();
    assert_eq!(ours.check_place(&path), Ok(()));
    let refused = |why: &str| {
        let message = ours.check_place(&path).unwrap_err();
        assert!(
            message.contains(why) && message.contains("-o FILE.zip"),
            "{message}"
        );
    };
    fs::write(&path, whole().to_bytes().unwrap()).unwrap();
    refused("a zip file that was not made by `bundle`");
    let mut bundle = Bundle::new().made_by("bundle");
    bundle.add("x", "x", Role::Other).unwrap();
    fs::write(&path, bundle.to_bytes().unwrap()).unwrap();
    refused("an archive of other runs or submissions");
    let foreign = zipfile::pack(BTreeMap::from([("x", &b"x"[..])])).unwrap();
    fs::write(&path, foreign).unwrap();
    refused("a zip file of another program");
    fs::write(&path, "PK\x03\x04").unwrap();
    refused("not a readable archive");
}

#[test]
fn cut_and_newer_records_have_clear_messages() {
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
