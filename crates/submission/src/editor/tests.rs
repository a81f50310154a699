//! The dialogue: the seed's sessions, and input of every kind.

use super::{Editor, EditorRequest};
use crate::testing::of_record;
use crate::tests::complete;
use crate::{Document, NodePath, read_xml, write_xml};
use filermark_results::testing;
use proptest::prelude::*;

/// A session on a document with the values of a run only.
fn fresh() -> Editor {
    Editor::new(of_record(&testing::record()), "sub.xml")
}

/// A session on a document that is complete.
fn whole() -> Editor {
    let mut document = of_record(&testing::record());
    complete(&mut document);
    let lg = document.find("testInfo.testbed.testbedItems.testbedItem.lgType");
    document.set(&lg.unwrap(), "LG1").unwrap();
    assert_eq!(document.faults(), []);
    Editor::new(document, "sub.xml")
}

/// The output for these lines, followed by the last line of the prompt.
fn session(editor: &mut Editor, lines: &[&str]) -> String {
    let mut out = String::new();
    for line in lines {
        let step = editor.enter(line);
        out.push_str(&step.output);
        match step.request {
            EditorRequest::Go => {}
            EditorRequest::Save(name) => {
                let step = editor.saved(&name);
                out.push_str(&step.output);
                if step.request == EditorRequest::Quit {
                    return out + "(end)";
                }
            }
            EditorRequest::Quit => return out + "(end)",
        }
    }
    out + editor.prompt()
}

fn at(path: &str, mut editor: Editor) -> Editor {
    editor.place = editor.document.find(path).expect(path);
    editor
}

const VENDOR: &str = "productInfo.vendorAndProduct.vendor";

/// Manual M, 5.1.4.2, steps 3 to 10, as printed there with our root's name.
#[test]
fn the_seeds_second_scenario() {
    let mut editor = fresh();
    assert_eq!(editor.begin().output, ".filermarkSubmission\n");
    assert_eq!(editor.prompt(), ":");
    assert_eq!(
        session(&mut editor, &["?c"]),
        "1. *productInfo\n2. *testInfo\n3. results\n4. otherReportNotes\n5. resultCompliance\n6. *submissionInfo\n:"
    );
    let text = session(&mut editor, &["", "", ""]);
    assert!(text.ends_with(".filermarkSubmission.productInfo.vendorAndProduct.vendor\n:"));
    assert_eq!(
        session(&mut editor, &["?d"]),
        "The name of the company or person that publishes this report.\n-----\nType: String\nValue must not be empty, and cannot be multi-line\n-----\n:"
    );
    assert_eq!(
        session(&mut editor, &["Acme Servers"]),
        ".filermarkSubmission.productInfo.vendorAndProduct.productName\n:"
    );
    assert_eq!(
        session(&mut editor, &[".p"]),
        ".filermarkSubmission.productInfo.vendorAndProduct.vendor\n    Acme Servers\n:"
    );
}

#[test]
fn saving_and_quitting_ask_before_input_is_lost() {
    let mut editor = whole();
    assert_eq!(
        session(&mut editor, &[".s"]),
        "Saved sub.xml\n.filermarkSubmission\n:"
    );
    assert_eq!(session(&mut editor, &[".q"]), "(end)");
    // Never saved.
    let text = session(&mut whole(), &[".q"]);
    assert_eq!(text, "This document has not been saved. Save it now (y/n)?");
    assert_eq!(session(&mut whole(), &[".q", "y"]), "Saved sub.xml\n(end)");
    let text = session(&mut whole(), &[".q", "n"]);
    assert_eq!(text, "Quit without saving (y/n)?");
    assert_eq!(session(&mut whole(), &[".q", "n", "Y"]), "(end)");
    assert!(session(&mut whole(), &[".q", "n", "n"]).ends_with(".filermarkSubmission\n:"));
    // Not valid.
    let really = "This document is not valid! Really save (y/n)?";
    assert_eq!(session(&mut fresh(), &[".s"]), really);
    assert_eq!(session(&mut fresh(), &[".q"]), really);
    assert!(session(&mut fresh(), &[".s", "y"]).starts_with("Saved sub.xml\n"));
    assert_eq!(
        session(&mut fresh(), &[".q", "yes"]),
        "Saved sub.xml\n(end)"
    );
    let text = session(&mut fresh(), &[".s a.zip", "perhaps"]);
    assert_eq!(text, format!("Please answer y or n.\n{really}"));
    let text = session(&mut fresh(), &[".s a.zip", "y", ".q"]);
    assert!(text.starts_with("Saved a.zip\n"));
    assert!(text.ends_with("This document is not valid! Really quit (y/n)?"));
}

#[test]
fn a_failed_save_keeps_the_session() {
    let mut editor = whole();
    editor.enter(".q");
    assert_eq!(
        editor.enter("y").request,
        EditorRequest::Save("sub.xml".into())
    );
    let step = editor.not_saved("the disk is full");
    assert_eq!(step.output, "Not saved: the disk is full\n");
    assert_eq!(step.request, EditorRequest::Go);
    assert!(!editor.is_saved());
    // The next save does not quit.
    editor.enter(".s");
    assert_eq!(editor.saved("sub.xml").request, EditorRequest::Go);
}

#[test]
fn invalid_values_are_stored_with_a_message() {
    let mut editor = at("productInfo.hardwareTuning.environmentType", fresh());
    let text = session(&mut editor, &["metal"]);
    assert!(text.starts_with("Stored, but not valid: \"metal\" is not valid; expected: one of"));
    assert_eq!(editor.here().text(), "metal");
    let text = session(&mut editor, &["VIRTUAL", ".p"]);
    assert!(text.ends_with("environmentType\n    virtual\n:"), "{text}");
    // Emptied.
    let mut editor = at(VENDOR, whole());
    let text = session(&mut editor, &[".", "."]);
    assert!(text.contains("must not be empty"), "{text}");
    assert_eq!(editor.here().text(), "");
    // A type of load generator that is not described.
    let mut editor = at("testInfo.testbed.testbedItems.testbedItem.lgType", whole());
    let text = session(&mut editor, &["Other"]);
    assert!(text.contains("no load generator type \"Other\""), "{text}");
}

/// Paths from a list of invalid nodes, entered at a group and at a field.
#[test]
fn complete_paths_work_at_every_node() {
    let path = "filermarkSubmission.productInfo.sutBomList.bomItem.model";
    for from in ["testInfo", "productInfo.vendorAndProduct.vendor"] {
        let mut editor = at(from, fresh());
        session(&mut editor, &[path]);
        assert_eq!(editor.path(), path);
        session(&mut editor, &["filermarkSubmission.nothing"]);
        let stored = editor
            .document()
            .root()
            .value("productInfo.sutBomList.bomItem.model");
        assert_eq!(
            stored, "filermarkSubmission.nothing",
            "an unknown path is a value"
        );
    }
}

#[test]
fn entries_of_several_lines() {
    let mut editor = at("otherReportNotes", fresh());
    let hint = "Several lines: a line with only . ends them, Ctrl-C discards them.\n>";
    assert_eq!(session(&mut editor, &["."]), hint);
    assert_eq!(session(&mut editor, &["one", "", ".two"]), ">");
    assert_eq!(
        editor.snapshot().root().value("otherReportNotes"),
        "one\n\n.two"
    );
    let text = session(&mut editor, &["."]);
    assert_eq!(text, ".filermarkSubmission.resultCompliance\n:");
    assert_eq!(
        session(&mut editor, &[".p"]),
        ".filermarkSubmission.otherReportNotes\n    one\n    \n    .two\n:"
    );
    // Discarded.
    session(&mut editor, &[".", "three"]);
    editor.abandon();
    assert!(editor.here().text().starts_with("one"));
    // The input ends.
    session(&mut editor, &[".", "four"]);
    editor.end_entry();
    assert_eq!(editor.document().root().value("otherReportNotes"), "four");
    // Pasted at once.
    let mut editor = at("otherReportNotes", fresh());
    session(&mut editor, &["a\nb"]);
    assert_eq!(editor.document().root().value("otherReportNotes"), "a\nb");
    let text = session(
        &mut at("otherReportNotes", fresh()),
        &[".", "a\nb\n.\n.u\n?c"],
    );
    assert!(text.contains("1. *productInfo"), "{text}");
    // Joined where there may be one line only.
    let mut editor = at(VENDOR, fresh());
    let text = session(&mut editor, &[".", "Acme", "Servers", "."]);
    assert!(text.contains("the lines are joined"), "{text}");
    assert_eq!(editor.document().root().value(VENDOR), "Acme Servers");
}

#[test]
fn list_items_are_added_removed_and_distinguished() {
    let mut editor = at("productInfo.sutBomList", fresh());
    let text = session(
        &mut editor,
        &["?c", ".a", ".1", "", "2", "Controller", "Acme", "X100"],
    );
    assert!(text.contains("1. *bomItem\n"), "{text}");
    assert!(text.contains("Added item 2; .2 goes to it.\n"), "{text}");
    let text = session(&mut editor, &[".u2", "?c"]);
    assert!(
        text.contains("1. *bomItem (2, Acme, X100)\n2. bomItem\n:"),
        "{text}"
    );
    assert!(session(&mut editor, &[".r9"]).starts_with("There is no item"));
    assert!(session(&mut editor, &[".r2", ".r1"]).contains("The only item of a list"));
    let text = session(&mut editor, &["?d"]);
    assert!(
        text.contains("Type: List of bomItem\nCannot be left blank; .a adds"),
        "{text}"
    );
    assert!(session(&mut at(VENDOR, fresh()), &[".a"]).starts_with("This node is not a list"));
    // Results come from the run's files.
    let mut editor = at("results", fresh());
    assert!(session(&mut editor, &[".a"]).contains("run's files"));
    let mut editor = at("results.result.peak", fresh());
    for line in ["5", "."] {
        let text = session(&mut editor, &[line]);
        assert!(text.contains("run's files and cannot be edited"), "{text}");
    }
    session(&mut editor, &["."]);
    assert!(session(&mut editor, &["?d"]).contains("Value comes from the run's files"));
}

/// A value of several lines that is pasted at a node without a text changes nothing.
#[test]
fn pasted_lines_of_a_refused_value_are_not_commands() {
    let mut editor = at("productInfo", fresh());
    let before = editor.revision();
    let text = session(&mut editor, &[".", ".q", ".1", ".a", "filermarkSubmission"]);
    assert!(text.contains("holds no text itself"), "{text}");
    assert!(text.contains("The following lines are ignored"), "{text}");
    assert_eq!(editor.path(), "filermarkSubmission.productInfo");
    assert_eq!(editor.revision(), before);
    // A line with only . ends that, and so does Ctrl-C.
    session(&mut editor, &[".", ".1"]);
    assert_ne!(editor.path(), "filermarkSubmission.productInfo");
    let mut editor = at("productInfo", fresh());
    session(&mut editor, &["."]);
    assert_eq!(editor.prompt(), ">");
    editor.abandon();
    session(&mut editor, &[".u"]);
    assert_eq!(editor.path(), "filermarkSubmission");
    // Pasted at once.
    let mut editor = at("productInfo", fresh());
    session(&mut editor, &[".", ".q\n.1\n.\n.u"]);
    assert_eq!(editor.path(), "filermarkSubmission");
}

#[test]
fn commands_move_through_the_document() {
    let mut editor = fresh();
    assert!(session(&mut editor, &[".n"]).starts_with("There is no next sibling"));
    assert!(session(&mut editor, &[".p"]).starts_with("There is no previous sibling"));
    assert!(session(&mut editor, &[".9"]).starts_with("There is no child"));
    assert!(session(&mut editor, &[".0"]).starts_with("There is no child"));
    let text = session(&mut editor, &[".6", ".1", ".n", ".u", ".p", ".u7"]);
    let paths = text.lines().filter(|line| line.starts_with('.'));
    let paths: Vec<_> = paths
        .map(|p| p.replace(".filermarkSubmission", ""))
        .collect();
    let wanted = [
        ".submissionInfo",
        ".submissionInfo.submitterName",
        ".submissionInfo.submitterEmail",
        ".submissionInfo",
        ".resultCompliance",
        "",
    ];
    assert_eq!(paths, wanted);
    // Names of children.
    let text = session(&mut editor, &["productInfo", "vendorAndProduct.vendor"]);
    assert!(text.ends_with("vendorAndProduct.vendor\n:"), "{text}");
    assert!(session(&mut editor, &[".u", "nothing"]).contains("holds no text itself"));
    // The last one.
    let mut editor = at("submissionInfo.reviewersComments", fresh());
    let text = session(&mut editor, &[""]);
    assert!(
        text.starts_with("This is the last node of the document"),
        "{text}"
    );
}

#[test]
fn validating_lists_paths_and_reasons() {
    assert!(session(&mut whole(), &[".v"]).starts_with("Document is valid\n"));
    let mut editor = fresh();
    let text = session(&mut editor, &[".v"]);
    assert!(text.starts_with("Document is not valid: "), "{text}");
    assert!(
        text.ends_with("Show the list of invalid nodes (y/n)?"),
        "{text}"
    );
    let text = session(&mut editor, &["y"]);
    assert!(
        text.starts_with(
            "filermarkSubmission.productInfo.vendorAndProduct.vendor: the value must not be empty\n"
        ),
        "{text}"
    );
    assert!(session(&mut fresh(), &[".v", "n"]).ends_with(".filermarkSubmission\n:"));
}

#[test]
fn values_that_look_like_commands_are_escaped() {
    let mut editor = at("otherReportNotes", fresh());
    let text = session(&mut editor, &[".hidden"]);
    assert!(text.contains("There is no command .hidden"), "{text}");
    session(&mut editor, &["\\.hidden"]);
    assert_eq!(
        editor.document().root().value("otherReportNotes"),
        ".hidden"
    );
    let help = session(&mut editor, &["?"]);
    for command in [
        ".d", ".u#", ".n", ".p", ".#", ".a", ".r#", ".v", ".s", ".q", "?c", "?d",
    ] {
        assert!(help.contains(command), "{command}");
    }
}

#[test]
fn long_values_are_limited_in_prompts_and_documents() {
    let mut editor = at("otherReportNotes", fresh());
    session(&mut editor, &["."]);
    for _ in 0..300 {
        editor.enter(&"x".repeat(3000));
    }
    let output = editor.enter(&"y".repeat(1 << 20)).output;
    assert!(output.contains("more than 1 MiB"), "{output}");
    session(&mut editor, &["."]);
    let text = session(&mut editor, &[".p"]);
    assert!(text.contains("... (100 more lines)"));
    assert!(text.lines().all(|line| line.chars().count() < 2100));
}

#[test]
fn lines_are_completed() {
    let editor = fresh();
    assert_eq!(editor.completions("prod"), ["productInfo"]);
    assert_eq!(editor.completions("").len(), 6);
    assert_eq!(editor.completions("?").len(), 3);
    assert!(!editor.completions(".").contains(&".a".to_owned()));
    let mut list = at("productInfo.sutBomList", fresh());
    assert!(list.completions(".").contains(&".a".to_owned()));
    assert_eq!(list.completions("b"), ["bomItem"]);
    list.enter(".a");
    assert_eq!(list.completions("b"), ["bomItem[1]", "bomItem[2]"]);
    let choice = at("productInfo.hardwareTuning.environmentType", fresh());
    assert_eq!(choice.completions("V"), ["virtual"]);
    assert_eq!(choice.completions("é"), [] as [&str; 0]);
    let mut asked = fresh();
    asked.enter(".q");
    assert_eq!(asked.completions(""), ["y", "n"]);
}

/// Whether a document has the structure of the form.
fn has_shape(document: &Document, place: &NodePath) -> bool {
    let element = document.element(place).unwrap();
    let (node, children) = (element.node(), element.children());
    let same = match node.is_list() {
        true => !children.is_empty() && children.iter().all(|c| c.node() == &node.children()[0]),
        false => {
            children.len() == node.children().len()
                && children
                    .iter()
                    .zip(node.children())
                    .all(|(c, n)| c.node() == n)
        }
    };
    same && (0..children.len()).all(|at| has_shape(document, &place.child(at)))
}

fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        2 => "\\.[dnpaqsvu]?[0-9]{0,2}",
        1 => "\\.[ur][0-9]{0,22}",
        1 => "\\?[cdx]?",
        1 => Just("y".to_owned()),
        1 => Just("n".to_owned()),
        2 => "[a-z0-9.@ -]{1,12}",
        2 => "\\PC{0,30}",
        1 => "[\\x00-\\x7f]{0,20}",
        1 => Just(".s x.xml".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// No input causes a panic, an invalid position or another structure than the form's. The
    /// saved document is equal.
    #[test]
    fn no_session_breaks_the_document(lines in prop::collection::vec(any_line(), 0..60)) {
        let mut editor = fresh();
        for line in &lines {
            let revision = editor.revision();
            let before = editor.snapshot();
            let step = editor.enter(line);
            editor.completions(line);
            prop_assert!(editor.document().element(&editor.place).is_some());
            if editor.snapshot() != before {
                prop_assert!(editor.revision() > revision);
                prop_assert!(editor.is_typed());
            }
            match step.request {
                EditorRequest::Quit => break,
                EditorRequest::Save(name) => { editor.saved(&name); }
                EditorRequest::Go => {}
            }
        }
        prop_assert!(has_shape(editor.document(), &NodePath::root()));
        let text = write_xml(editor.document());
        prop_assert_eq!(write_xml(&read_xml(&text).unwrap()), text);
    }

    /// Line and paragraph separators of Unicode become blanks: a field without line ends stays on
    /// one line.
    #[test]
    fn input_is_saved_unchanged(text in "[^.?\\\\\\pC \u{fffe}\u{ffff}][^\\pC\u{fffe}\u{ffff}]{0,60}") {
        let mut editor = at(VENDOR, fresh());
        editor.enter(&text);
        let saved = read_xml(&write_xml(editor.document())).unwrap();
        let expected = text.replace(['\u{2028}', '\u{2029}'], " ");
        prop_assert_eq!(saved.root().value(VENDOR), expected.trim());
    }
}
