//! `subedit`: the scenarios of manual M, 5.1.4, with the names of this program, at a terminal; and
//! what it refuses.

use crate::terminal::Terminal;
use crate::{filermark, stderr_text};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A copy of the shipped examples.
pub fn examples() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/submission");
    for entry in fs::read_dir(from).expect("the examples") {
        let entry = entry.expect("a file");
        fs::copy(entry.path(), dir.path().join(entry.file_name())).expect("it is copied");
    }
    dir
}

/// `subedit` at a terminal in `dir`.
pub fn at_terminal(dir: &Path, args: &[&str]) -> Terminal {
    let mut command = Command::new(env!("CARGO_BIN_EXE_filermark"));
    command.arg("subedit").args(args).current_dir(dir);
    Terminal::of(&command, 200, &[])
}

/// Types a line after a prompt, and waits for the next one: the number of prompts shows that it was
/// handled.
pub fn enter(terminal: &mut Terminal, line: &str) {
    let before = prompts(&terminal.lines());
    terminal.type_keys(&format!("{line}\r"));
    let what = format!("prompt after {line:?}");
    terminal.wait_until(&what, |lines| prompts(lines) > before);
}

fn prompts(lines: &[String]) -> usize {
    lines
        .iter()
        .filter(|l| l.starts_with(':') || l.ends_with("(y/n)?") || l.contains("(y/n)? "))
        .count()
}

pub fn wait_for_prompt(terminal: &mut Terminal) {
    terminal.wait_until("the first prompt", |lines| {
        lines.last().is_some_and(|line| line == ":")
    });
}

/// The text on the terminal, without blanks at the end of lines.
fn shown(terminal: &Terminal) -> String {
    terminal.lines().join("\n")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// example.xml with a vendor and without a product name, as in scenario 3.
fn without_product(dir: &Path) {
    let path = dir.join("example.xml");
    let text = fs::read_to_string(&path).expect("the example");
    let (before, rest) = text.split_once("<productName>").expect("a name");
    let (_, after) = rest.split_once("</productName>").expect("its end");
    let text = format!("{before}<productName></productName>{after}");
    fs::write(path, text).expect("it is written");
}

const PAIR: [&str; 2] = ["sfssum.example", "example_rc"];

#[test]
fn scenario_1_the_xml_and_the_zip_without_a_question() {
    for (name, options) in [("sub.xml", "-b"), ("sub.zip", "-z")] {
        let dir = examples();
        let [sum, rc] = PAIR;
        let args = ["subedit", options, "-o", name, "-i", "example.xml", sum, rc];
        let output = filermark(dir.path(), &args);
        assert_eq!(
            out(&output),
            format!("Document is valid\nSaved {name}\n"),
            "{}",
            stderr_text(&output)
        );
        assert!(output.status.success());
        assert!(dir.path().join(name).is_file());
    }
}

/// Scenario 1 with SMB, and without a password.
#[test]
fn scenario_1_with_cifs() {
    let dir = examples();
    let pair = ["sfssum.cifs.example", "example_cifs_rc"];
    let args = ["subedit", "-b", "-o", "sub.xml", "-i", "example.cifs.xml"];
    let output = filermark(dir.path(), &[&args[..], &pair[..]].concat());
    assert_eq!(out(&output), "Document is valid\nSaved sub.xml\n");
    let checked = filermark(dir.path(), &["subedit", "-v", "-i", "sub.xml"]);
    assert_eq!(out(&checked), "Document is valid\n");
}

#[test]
fn a_zip_has_every_file_and_another_tool_unpacks_it() {
    let dir = examples();
    let args = ["subedit", "-z", "-o", "sub.zip", "-i", "example.xml"];
    filermark(dir.path(), &[&args[..], &PAIR[..]].concat());
    let unzip = Command::new("unzip")
        .args(["-q", "sub.zip", "-d", "there"])
        .current_dir(dir.path())
        .status()
        .expect("Debian's unzip");
    assert!(unzip.success());
    for name in [
        "sfssum.example",
        "example_rc",
        "example.run.jsonl",
        "example_config.png",
    ] {
        let there = fs::read(dir.path().join("there").join(name)).expect(name);
        assert_eq!(there, fs::read(dir.path().join(name)).expect(name));
    }
    assert!(dir.path().join("there/sub.xml").is_file());
}

/// Scenario 2, both examples: an empty form, the prompts of steps 3 to 10, and an incomplete file
/// that can be saved.
#[test]
fn scenario_2_from_nothing() {
    for save in ["sub.xml", "sub.zip"] {
        let dir = examples();
        let mut terminal = at_terminal(dir.path(), &["-o", "sub.xml", PAIR[0], PAIR[1]]);
        wait_for_prompt(&mut terminal);
        for line in ["?c", "", "", "", "?d", "Acme Servers"] {
            enter(&mut terminal, line);
        }
        let wanted = "\
.filermarkSubmission
: ?c
1. *productInfo
2. *testInfo
3. results
4. otherReportNotes
5. resultCompliance
6. *submissionInfo
:
.filermarkSubmission.productInfo
:
.filermarkSubmission.productInfo.vendorAndProduct
:
.filermarkSubmission.productInfo.vendorAndProduct.vendor
: ?d
The name of the company or person that publishes this report.
-----
Type: String
Value must not be empty, and cannot be multi-line
-----
: Acme Servers
.filermarkSubmission.productInfo.vendorAndProduct.productName
:";
        assert_eq!(shown(&terminal), wanted);
        let command = match save {
            "sub.xml" => ".s",
            _ => ".s sub.zip",
        };
        enter(&mut terminal, command);
        enter(&mut terminal, "y");
        assert!(shown(&terminal).contains(&format!(
            "{command}\nThis document is not valid! Really save (y/n)? y\nSaved {save}\n"
        )));
        enter(&mut terminal, ".q");
        terminal.type_keys("y\r");
        assert!(terminal.wait().success());
        assert!(dir.path().join(save).is_file());
        assert_eq!(dir.path().join("sub.xml").is_file(), save == "sub.xml");
        assert!(!dir.path().join(".sub.xml.autosave").exists());
    }
}

/// Scenario 3, both examples: missing values are filled in, and the document is valid.
#[test]
fn scenario_3_from_an_existing_submission() {
    for save in ["sub.xml", "sub.zip"] {
        let dir = examples();
        without_product(dir.path());
        let args = ["-i", "example.xml", "-o", "sub.xml", PAIR[0], PAIR[1]];
        let mut terminal = at_terminal(dir.path(), &args);
        wait_for_prompt(&mut terminal);
        for line in ["?c", "", "", "", "Acme Servers", "A server"] {
            enter(&mut terminal, line);
        }
        let wanted = "\
.filermarkSubmission
: ?c
1. *productInfo
2. testInfo
3. results
4. otherReportNotes
5. resultCompliance
6. submissionInfo
:
.filermarkSubmission.productInfo
:
.filermarkSubmission.productInfo.vendorAndProduct
:
.filermarkSubmission.productInfo.vendorAndProduct.vendor
    Acme Servers
: Acme Servers
.filermarkSubmission.productInfo.vendorAndProduct.productName
: A server
.filermarkSubmission.productInfo.vendorAndProduct.testedBy
    The Filermark authors
:";
        assert_eq!(shown(&terminal), wanted);
        let command = match save {
            "sub.xml" => ".s",
            _ => ".s sub.zip",
        };
        enter(&mut terminal, command);
        assert!(shown(&terminal).contains(&format!("{command}\nSaved {save}\n")));
        terminal.type_keys(".q\r");
        assert!(terminal.wait().success());
        assert_eq!(dir.path().join("sub.xml").is_file(), save == "sub.xml");
        assert!(dir.path().join(save).is_file());
    }
}

#[test]
fn lines_are_edited_completed_and_remembered() {
    let dir = examples();
    let mut terminal = at_terminal(dir.path(), &["-o", "sub.xml", PAIR[0], PAIR[1]]);
    wait_for_prompt(&mut terminal);
    // Tab completes the name of a child, the arrow key recalls the line, Ctrl-C drops it.
    enter(&mut terminal, "submi\t");
    enter(&mut terminal, ".u");
    enter(&mut terminal, "\x1b[A\x1b[A");
    let text = shown(&terminal);
    assert_eq!(text.matches(": submissionInfo").count(), 2, "{text}");
    terminal.type_keys("half a line");
    terminal.wait_until("the line", |lines| {
        lines.last().is_some_and(|line| line == ": half a line")
    });
    terminal.type_keys("\x03");
    wait_for_prompt(&mut terminal);
    // Ctrl-D is .q, which asks for confirmation.
    terminal.type_keys("\x04");
    terminal.wait_until("question", |lines| {
        lines
            .last()
            .is_some_and(|l| l.ends_with("Really save (y/n)?"))
    });
    enter(&mut terminal, "n");
    terminal.type_keys("y\r");
    assert!(terminal.wait().success());
    assert!(!dir.path().join("sub.xml").exists());
}

/// Input that was typed before its prompt, or pasted, is not lost.
#[test]
fn input_that_is_typed_ahead_or_pasted_is_not_lost() {
    let dir = examples();
    let mut terminal = at_terminal(dir.path(), &["-o", "sub.xml", PAIR[0], PAIR[1]]);
    terminal.type_keys("\r\r\rAcme\rProduct X\rMe\r.s\ry\r.q\ry\r");
    assert!(terminal.wait().success());
    let saved = fs::read_to_string(dir.path().join("sub.xml")).expect("it was saved");
    let wanted = [
        "<vendor>Acme</vendor>",
        "<productName>Product X</productName>",
        "<testedBy>Me</testedBy>",
    ];
    for wanted in wanted {
        assert!(saved.contains(wanted), "{wanted}: {saved}");
    }
    // The document alone can be edited, too.
    let mut terminal = at_terminal(dir.path(), &["-o", "sub.xml", "-i", "sub.xml"]);
    wait_for_prompt(&mut terminal);
    enter(&mut terminal, "otherReportNotes");
    terminal.type_keys("\x1b[200~one\n.q\n\x1b[201~");
    enter(&mut terminal, "");
    enter(&mut terminal, ".s");
    enter(&mut terminal, "y");
    let saved = fs::read_to_string(dir.path().join("sub.xml")).expect("it was saved");
    assert!(
        saved.contains("<otherReportNotes>one\n.q</otherReportNotes>"),
        "{saved}"
    );
}

/// A script fills in the blank form; what is missing is named.
#[test]
fn a_blank_form_is_filled_in_without_prompts() {
    let dir = examples();
    let form = filermark(dir.path(), &["subedit", "--skeleton"]);
    assert!(form.status.success());
    let text = out(&form).replace("<vendor></vendor>", "<vendor>Me</vendor>");
    fs::write(dir.path().join("mine.xml"), &text).expect("written");
    let args = ["subedit", "-b", "-o", "sub.xml", "-i", "mine.xml"];
    let output = filermark(dir.path(), &[&args[..], &PAIR[..]].concat());
    assert!(
        out(&output).ends_with("Saved sub.xml\n"),
        "{}",
        out(&output)
    );
    let saved = fs::read_to_string(dir.path().join("sub.xml")).expect("the file");
    assert!(saved.contains("<vendor>Me</vendor>"), "{saved}");
    assert!(
        saved.contains("<dataPoint>"),
        "the results are those of the run"
    );
    // The refusal without a form names the option.
    let args = ["subedit", "-b", "-o", "sub.xml"];
    let output = filermark(dir.path(), &[&args[..], &PAIR[..]].concat());
    assert!(
        stderr_text(&output).contains("subedit --skeleton"),
        "{}",
        stderr_text(&output)
    );
}

#[test]
fn marked_as_non_compliant() {
    let dir = examples();
    let args = ["subedit", "-b", "-o", "sub.xml", "-i", "example.xml"];
    filermark(dir.path(), &[&args[..], &PAIR[..]].concat());
    let args = ["subedit", "-n", "-o", "n.xml", "-i", "sub.xml"];
    let output = filermark(dir.path(), &[&args[..], &["--reason", "No & no."]].concat());
    assert_eq!(out(&output), "Document is valid\nSaved n.xml\n");
    let text = fs::read_to_string(dir.path().join("n.xml")).expect("the file");
    assert!(text.contains("<isCompliant>no</isCompliant>"), "{text}");
    assert!(text.contains("<reason>No &amp; no.</reason>"), "{text}");
}

#[test]
fn an_invalid_document_is_saved_and_reported() {
    let dir = examples();
    without_product(dir.path());
    let args = ["subedit", "-b", "-o", "sub.xml", "-i", "example.xml"];
    let output = filermark(dir.path(), &[&args[..], &PAIR[..]].concat());
    let wanted = "\
Document is not valid
filermarkSubmission.productInfo.vendorAndProduct.productName: the value must not be empty
";
    assert_eq!(out(&output), format!("{wanted}Saved sub.xml\n"));
    assert_eq!(output.status.code(), Some(1));
    let output = filermark(dir.path(), &["subedit", "-v", "-i", "sub.xml"]);
    assert_eq!(out(&output), wanted);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_schema_is_printed_and_xmllint_takes_a_submission_by_it() {
    let dir = examples();
    let args = ["subedit", "-b", "-o", "sub.xml", "-i", "example.xml"];
    filermark(dir.path(), &[&args[..], &PAIR[..]].concat());
    let xsd = filermark(dir.path(), &["subedit", "--xsd"]);
    fs::write(dir.path().join("s.xsd"), &xsd.stdout).expect("it is written");
    let lint = Command::new("xmllint")
        .args(["--noout", "--nonet", "--schema", "s.xsd", "sub.xml"])
        .current_dir(dir.path())
        .output()
        .expect("xmllint: Debian's libxml2-utils");
    assert!(lint.status.success(), "{}", stderr_text(&lint));
}

/// Refused command lines and files: the message, and that no file is written.
#[test]
fn what_does_not_fit_is_refused_in_plain_words() {
    type Change = fn(&Path);
    let nothing: Change = |_| {};
    let base = ["-b", "-o", "sub.xml", "-i", "example.xml"];
    let with = |rest: &[&'static str]| [&base[..], rest].concat();
    let elsewhere = ["-o", "no/sub.xml", PAIR[0], PAIR[1]];
    let cases: [(Change, Vec<&str>, &str); 16] = [
        (nothing, elsewhere.to_vec(), "no folder no; make it first"),
        (nothing, vec!["-o", "sub.xml"], "which result?"),
        (nothing, vec![PAIR[0], PAIR[1]], "-o OUT"),
        (
            nothing,
            vec!["-b", "-o", "sub.xml", PAIR[0], PAIR[1]],
            "-i SUB.xml",
        ),
        (nothing, vec!["-v"], "-i SUB.xml"),
        (nothing, with(&[PAIR[0]]), "given together"),
        (
            nothing,
            with(&["sfssum.cifs.example", "example_rc"]),
            "does not belong to example_rc: protocol: SMB2 in the summary, NFS3 in the rc file",
        ),
        (
            nothing,
            with(&["example_rc", "sfssum.example"]),
            "example_rc: this is an rc file; give a summary file",
        ),
        (
            nothing,
            with(&["nothing", "example_rc"]),
            "nothing: there is no such file; give a summary file",
        ),
        (
            nothing,
            with(&[PAIR[0], "nothing"]),
            "nothing: the rc file cannot be opened",
        ),
        (
            |dir| fs::write(dir.join("example.xml"), BOMB).expect("a bomb"),
            with(&PAIR),
            "example.xml:2: a document type declaration",
        ),
        (
            |dir| fs::write(dir.join("example.xml"), [0xff, 0xfe]).expect("no text"),
            with(&PAIR),
            "example.xml: this is a binary file; give a submission",
        ),
        (
            |dir| {
                change(
                    dir,
                    "sfssum.example",
                    "    100      100 ",
                    "    100      101 ",
                )
            },
            with(&PAIR),
            "does not match the run record in the same directory, example.run.jsonl",
        ),
        (
            |dir| change(dir, "example.run.jsonl", "\"schema\":1,", "\"schema\":999,"),
            with(&PAIR),
            "999",
        ),
        (
            |dir| {
                let path = dir.join("example.run.jsonl");
                let text = fs::read(&path).expect("the record");
                fs::write(path, &text[..text.len() / 2]).expect("half of it");
            },
            with(&PAIR),
            "the run record is incomplete",
        ),
        (
            nothing,
            vec![
                "-b",
                "-o",
                "example_rc",
                "-i",
                "example.xml",
                PAIR[0],
                PAIR[1],
            ],
            "one of the run's own files",
        ),
    ];
    for (prepare, args, wanted) in cases {
        let dir = examples();
        prepare(dir.path());
        let args = [&["subedit"][..], &args[..]].concat();
        let output = filermark(dir.path(), &args);
        let output_text = stderr_text(&output);
        assert!(output_text.contains(wanted), "{args:?}: {output_text}");
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output_text}");
        assert!(!dir.path().join("sub.xml").exists(), "{args:?}");
        assert!(!output_text.contains("panicked"), "{output_text}");
    }
}

const BOMB: &str = "<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY x \"xx\"><!ENTITY y \"&x;&x;\">]>\n<filermarkSubmission version=\"1\"><otherReportNotes>&y;</otherReportNotes></filermarkSubmission>";

fn change(dir: &Path, name: &str, from: &str, to: &str) {
    let text = fs::read_to_string(dir.join(name)).expect(name);
    assert!(text.contains(from), "{name} has no {from:?}");
    fs::write(dir.join(name), text.replacen(from, to, 1)).expect(name);
}

/// Exit code 1: the command line is right, and the file cannot be made.
#[test]
fn a_zip_that_would_lack_a_file_or_contain_a_password_is_not_made() {
    let zip = ["subedit", "-z", "-o", "sub.zip", "-i", "example.xml"];
    let dir = examples();
    fs::remove_file(dir.path().join("example_config.png")).expect("it was there");
    let output = filermark(dir.path(), &[&zip[..], &PAIR[..]].concat());
    assert!(
        stderr_text(&output).contains("the diagram example_config.png"),
        "{}",
        stderr_text(&output)
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(!dir.path().join("sub.zip").exists());
    let dir = examples();
    change(
        dir.path(),
        "example_cifs_rc",
        "USERNAME=",
        "PASSWORD=\"se cret\"\nUSERNAME=",
    );
    let pair = ["sfssum.cifs.example", "example_cifs_rc"];
    let output = filermark(dir.path(), &[&zip[..], &pair[..]].concat());
    let output_text = stderr_text(&output);
    assert!(
        output_text.contains("PASSWORD is in this rc file"),
        "{output_text}"
    );
    assert!(!output_text.contains("se cret"), "{output_text}");
    assert!(!dir.path().join("sub.zip").exists());
}

#[test]
fn force_takes_what_does_not_belong_together() {
    let dir = examples();
    let args = [
        "subedit",
        "-b",
        "-o",
        "sub.xml",
        "-i",
        "example.xml",
        "--force",
    ];
    let pair = ["sfssum.cifs.example", "example_rc"];
    let output = filermark(dir.path(), &[&args[..], &pair[..]].concat());
    assert!(
        stderr_text(&output).contains("does not belong"),
        "{}",
        stderr_text(&output)
    );
    assert!(dir.path().join("sub.xml").exists());
}
