//! Complete documents: written and read, checked by xmllint, and malformed ones refused.

use crate::*;
use filermark_results::{Curve, testing as records};
use proptest::prelude::*;
use std::process::Command;

/// Fills in all fields with faults.
pub(crate) fn complete(doc: &mut Document) {
    testing::complete(doc, "Something", "Something");
}

#[test]
fn values_of_a_run_are_filled_in_and_others_are_missing() {
    let record = records::record();
    let doc = testing::of_record(&record);
    let (result, curve) = &doc.results()[0];
    assert_eq!(curve.points.len(), Curve::of_record(&record).points.len());
    let ort = format!("{:.2}", record.ort_ms().unwrap());
    assert_eq!(format!("{:.2}", curve.ort_ms().unwrap()), ort);
    assert_eq!(result.value("verdict"), record.verdict().label());
    let faults = doc.faults();
    let starred: Vec<_> = (0..6)
        .map(|at| Document::is_faulty(&faults, &NodePath::root().child(at)))
        .collect();
    // Manual M, 5.1.4.2, step 5: which children have a *.
    assert_eq!(
        starred,
        [true, true, false, false, false, true],
        "{faults:?}"
    );
    assert!(faults.iter().all(|f| !f.path.contains("lgCount")));
    let mut doc = doc;
    complete(&mut doc);
    complete(&mut doc);
    let left: Vec<_> = doc.faults().iter().map(ToString::to_string).collect();
    assert_eq!(
        left.len(),
        left.iter().filter(|f| f.contains("lgType")).count(),
        "{left:?}"
    );
}

/// Also writes the XML to the folder FILERMARK_FUZZ_SEEDS, for ci/fuzz.
#[test]
fn a_document_is_unchanged_after_writing_and_reading() {
    let mut doc = testing::of_record(&records::record());
    for round in 0..2 {
        let text = write_xml(&doc);
        if let Some(corpus) = std::env::var_os("FILERMARK_FUZZ_SEEDS") {
            let dir = std::path::PathBuf::from(corpus).join("submission");
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join(format!("round{round}")), &text).unwrap();
        }
        let read = read_xml(&text).unwrap();
        assert_eq!(write_xml(&read), text);
        complete(&mut doc);
    }
    let place = doc.find("otherReportNotes").unwrap();
    doc.set(&place, "one <b>&amp;</b>\n  ]]> \"two\"").unwrap();
    let read = read_xml(&write_xml(&doc)).unwrap();
    assert_eq!(
        read.root().value("otherReportNotes"),
        "one <b>&amp;</b>\n  ]]> \"two\""
    );
}

#[test]
fn changed_figures_are_found() {
    let doc = testing::of_record(&records::record());
    let peak = doc.results()[0].0.value("peak").to_owned();
    let text = write_xml(&doc);
    let forged = text.replace(&format!("<peak>{peak}"), &format!("<peak>9{peak}"));
    assert_ne!(forged, text);
    let faults = read_xml(&forged).unwrap().faults();
    let fault = faults.iter().find(|f| f.path.ends_with(".peak")).unwrap();
    assert!(
        fault.reason.contains("not what the load points make"),
        "{fault}"
    );
}

#[test]
fn malformed_files_are_refused_with_their_line() {
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY x \"xx\"><!ENTITY y \"&x;&x;\">]>\n<filermarkSubmission version=\"1\"><otherReportNotes>&y;</otherReportNotes></filermarkSubmission>";
    let outside = "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><filermarkSubmission version=\"1\"/>";
    let whole = |inner: &str| {
        format!("<filermarkSubmission version=\"1\">\n{inner}\n</filermarkSubmission>")
    };
    let deep = "<productInfo>".repeat(100_000);
    let many = "<result/>".repeat(ITEM_COUNT_MAX + 1);
    let cases = [
        (bomb.to_owned(), 2, "document type"),
        (outside.to_owned(), 1, "document type"),
        (
            whole("<otherReportNotes>&y;</otherReportNotes>"),
            2,
            "entity &y;",
        ),
        (
            whole("<nonsense/>"),
            2,
            "may only have: productInfo, testInfo",
        ),
        (
            whole("<otherReportNotes><script/></otherReportNotes>"),
            2,
            "cannot have elements",
        ),
        (whole("<otherReportNotes/>\n<results/>"), 3, "wrong place"),
        (whole("<productInfo>text</productInfo>"), 2, "has text, but"),
        (
            whole("<results><bomItem/></results>"),
            2,
            "may only have <result>",
        ),
        (whole("<productInfo lang=\"x\"/>"), 2, "attributes"),
        (
            whole(&format!("<results>{many}</results>")),
            2,
            "more than 10000",
        ),
        (whole(&deep), 2, "may only have: vendorAndProduct"),
        (
            "<specSFS4_0Info/>".into(),
            1,
            "root element is <specSFS4_0Info>",
        ),
        (
            "<filermarkSubmission version=\"2\"/>".into(),
            1,
            "version \"2\"",
        ),
        ("<filermarkSubmission version=\"1\">".into(), 1, "too early"),
        (
            "<filermarkSubmission version=\"1\" other=\"a\"/>".into(),
            1,
            "attribute other",
        ),
        (
            "<filermarkSubmission version=\"1\" version=\"1\"/>".into(),
            1,
            "well-formed",
        ),
        (String::new(), 1, "no element"),
        ("\u{0}\u{1}".into(), 1, ""),
    ];
    for (text, line, what) in cases {
        let error = read_xml(&text).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.reason.contains(what), "{error}");
    }
    let huge = whole(&format!(
        "<otherReportNotes>{}</otherReportNotes>",
        "x".repeat(TEXT_LEN_MAX + 1)
    ));
    assert!(read_xml(&huge).unwrap_err().reason.contains("longer than"));
    let larger = "x".repeat(XML_LEN_MAX + 1);
    assert!(
        read_xml(&larger)
            .unwrap_err()
            .reason
            .contains("larger than")
    );
}

/// UPDATE_GOLDEN=1 writes the published file again.
#[test]
fn the_published_schema_matches_the_form() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/submission-v1.xsd");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, xsd()).unwrap();
    }
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(published == xsd(), "write it again with UPDATE_GOLDEN=1");
}

/// Whether xmllint accepts a text with the published schema.
fn xmllint_accepts(text: &str) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let (schema, document) = (dir.path().join("s.xsd"), dir.path().join("d.xml"));
    std::fs::write(&schema, xsd()).unwrap();
    std::fs::write(&document, text).unwrap();
    let output = Command::new("xmllint")
        .args(["--noout", "--nonet", "--schema"])
        .args([&schema, &document])
        .output()
        .expect("xmllint: Debian's libxml2-utils");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("Schemas parser error"), "{stderr}");
    output.status.success()
}

#[test]
#[cfg_attr(windows, ignore = "a program of Windows cannot start Debian's xmllint")]
fn xmllint_accepts_only_a_valid_document() {
    let mut doc = testing::of_record(&records::record());
    assert!(!xmllint_accepts(&write_xml(&doc)));
    complete(&mut doc);
    let place = doc.find("testInfo.testbed.testbedItems.testbedItem.lgType");
    doc.set(&place.unwrap(), "Something").unwrap();
    complete(&mut doc);
    assert!(xmllint_accepts(&write_xml(&doc)), "{:?}", doc.faults());
}

/// Paths of fields of every kind, and texts that may or may not be valid.
const FIELDS: [&str; 8] = [
    "productInfo.vendorAndProduct.vendor",
    "productInfo.vendorAndProduct.hardwareAvailable",
    "productInfo.hardwareTuning.environmentType",
    "productInfo.configDiagrams.diagram.file",
    "productInfo.memory.memoryItem.sizeGib",
    "productInfo.disksAndFilesystems.filesystemCount",
    "submissionInfo.submitterEmail",
    "submissionInfo.submissionDate",
];
const TEXTS: [&str; 24] = [
    "",
    " ",
    "x",
    "Nov 2026",
    "Nov  2026",
    "nov 2026",
    "Nov 26",
    "physical",
    "physical ",
    "metal",
    "a.png",
    "a.PNG",
    "../a.png",
    "a.txt",
    ".png",
    "a b.png",
    "1.5",
    "1.",
    "7",
    "-1",
    "a@b",
    "a@b@c",
    "2026-11-22",
    "2026-13-01",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    #[cfg_attr(windows, ignore = "a program of Windows cannot start Debian's xmllint")]
    fn the_schema_and_the_checks_agree(field in 0..FIELDS.len(), text in 0..TEXTS.len()) {
        let mut doc = testing::of_record(&records::record());
        complete(&mut doc);
        let lg = doc.find("testInfo.testbed.testbedItems.testbedItem.lgType").unwrap();
        doc.set(&lg, doc.root().value("testInfo.loadGeneratorTypes.lgType.name").to_owned().as_str()).unwrap();
        let name = doc.find("productInfo.configDiagrams.diagram.name").unwrap();
        doc.set(&name, "A picture").unwrap();
        doc.set(&doc.find(FIELDS[field]).unwrap(), TEXTS[text]).unwrap();
        if !FIELDS[field].contains("diagram") {
            doc.set(&doc.find("productInfo.configDiagrams.diagram.file").unwrap(), "a.png").unwrap();
        }
        let faults = doc.faults();
        prop_assert_eq!(xmllint_accepts(&write_xml(&doc)), faults.is_empty(), "{} = {:?}: {:?}", FIELDS[field], TEXTS[text], faults);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[<>/a-z&;\"= !\\[\\]-]{0,200}") {
        let _ = read_xml(&text);
        let _ = read_xml(&format!("<filermarkSubmission version=\"1\">{text}</filermarkSubmission>"));
    }
}

/// The blank form reads as one, and has every field that is not of a run, with its explanation.
#[test]
fn the_skeleton_has_every_field_with_an_explanation() {
    let text = write_skeleton();
    let read = read_xml(&text).expect("it is a submission");
    assert!(
        read.root()
            .value("productInfo.vendorAndProduct.vendor")
            .is_empty()
    );
    fn each(node: &'static Node, check: &mut dyn FnMut(&'static Node)) {
        check(node);
        node.children().iter().for_each(|child| each(child, check));
    }
    let (mut own, mut of_run) = (0, 0);
    each(&FORM, &mut |node| {
        if node.field().is_none() {
            return;
        }
        let element = format!("<{}>", node.name);
        match node.is_of_run() {
            true => of_run += 1,
            false => {
                own += 1;
                assert!(text.contains(&element), "{element}");
                assert!(text.contains(&node.doc.replace("--", "- -")), "{element}");
            }
        }
    });
    assert!(own > 90 && of_run > 20, "{own} {of_run}");
    assert_eq!(text.matches("<dataPoint>").count(), 0);
    assert!(!read.faults().is_empty(), "it is not complete");
}
