//! A whole disclosure: against the golden files, and with hostile input.

use super::*;
use crate::{Edition, Templates};
use filermark_results::testing as records;
use filermark_submission::Document;
use filermark_submission::testing::example;

fn filled(free: &str, line: &str) -> Document {
    let document = example(&records::record(), free, line);
    assert_eq!(document.faults(), Vec::new());
    document
}

fn extras(edition: Edition) -> Extras {
    let png = b"\x89PNG\r\n\x1a\n...".to_vec();
    let image = Image::new("rack.png", png).unwrap();
    Extras {
        edition,
        generated: "2026-11-22 10:15:00".into(),
        images: [("rack.png".to_owned(), image)].into(),
        ..Extras::default()
    }
}

/// A golden file; UPDATE_GOLDEN=1 writes it.
fn assert_golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == wanted,
        "{name} differs; look at it with UPDATE_GOLDEN=1 and git diff"
    );
}

const FREE: &str = "Disk drive that contains <b><u>many</u></b> interesting\nfeatures including the fact that it holds bits of\ninformation.<ul><li>one<li>two &lt;three&gt;</ul>";

#[test]
fn text_and_summary_stay_as_they_are() {
    let document = filled(FREE, "Acme");
    let templates = Templates::builtin();
    for (name, edition) in [
        ("submission.txt", Edition::Public),
        ("submission_review.txt", Edition::Reviewer),
    ] {
        let text = submission_text(&document, &extras(edition), &templates).unwrap();
        assert_golden(name, &text);
        let is_long = |l: &&str| l.contains("SHA-256") || l.starts_with("THIS RESULT");
        let rows = text.lines().filter(|l| !is_long(l));
        let too_long: Vec<_> = rows.filter(|l| l.chars().count() > 100).collect();
        assert_eq!(too_long, Vec::<&str>::new());
    }
    assert_golden("submission.summary", &submission_summary(&document));
}

#[test]
fn the_page_has_all_fields_and_the_submitter_only_for_reviewers() {
    let document = filled(FREE, "Acme");
    let templates = Templates::builtin();
    let public = submission_html(&document, &extras(Edition::Public), &templates).unwrap();
    let review = submission_html(&document, &extras(Edition::Reviewer), &templates).unwrap();
    for page in [&public, &review] {
        assert!(page.contains("many</u></b> interesting features"));
        assert!(page.contains("<li>two &lt;three&gt;</li>"));
        assert!(page.contains("<img src=\"data:image/png;base64,iVBORw0KGgou"));
        assert!(page.contains(filermark_model::NOT_A_SPEC_RESULT));
        assert!(page.contains("Grand total"));
    }
    assert!(!public.contains("someone@example.org") && review.contains("someone@example.org"));
    assert!(!public.contains("0123456789abcdef") && review.contains("0123456789abcdef"));
    let mut extras = extras(Edition::Public);
    extras.images.clear();
    let page = submission_html(&document, &extras, &templates).unwrap();
    assert!(page.contains("rack.png did not exist"));
}

/// Every field of the form contains an attack: all of it stays text.
#[test]
fn a_hostile_form_becomes_text() {
    let attack = "<script>alert(1)</script><img src=http://attacker/x onerror=alert(2)>{{ 70007*7 }}\"'><svg/onload=alert(3)>";
    let document = filled(attack, attack);
    let page =
        submission_html(&document, &extras(Edition::Reviewer), &Templates::builtin()).unwrap();
    for bad in [
        "<script",
        "<img src=http",
        "<svg/onload",
        "onerror=alert(2)>{{",
        "490049",
    ] {
        let found = page.match_indices(bad).next();
        let around = found.and_then(|(at, _)| page.get(at.saturating_sub(80)..at + 80));
        assert_eq!(around, None, "{bad}");
    }
    let text = submission_text(&document, &extras(Edition::Reviewer), &Templates::builtin());
    assert!(text.is_ok());
}

#[test]
fn json_has_the_fields_and_the_figures() {
    let value = submission_json(&filled(FREE, "Acme"));
    assert_eq!(
        value["submission"]["productInfo"]["vendorAndProduct"]["vendor"],
        "Acme"
    );
    assert_eq!(value["results"][0]["benchmark"]["name"], "general-nfs3");
    assert_eq!(value["faults"].as_array().map(Vec::len), Some(0));
}

#[test]
fn images_must_have_a_known_format() {
    assert!(Image::new("a.jpg", b"\xff\xd8\xff\xe0".to_vec()).is_ok());
    assert!(Image::new("a.svg", b"<?xml version=\"1.0\"?><svg/>".to_vec()).is_ok());
    assert!(
        Image::new("a.png", b"<html>".to_vec())
            .unwrap_err()
            .contains("neither")
    );
    assert!(Image::new("a.png", vec![0; (IMAGE_BYTES_MAX + 1) as usize]).is_err());
}
