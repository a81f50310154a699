//! Commands that are given a file of the wrong kind: one message with the kind and what to give,
//! whatever the command and the kind.

use crate::subedit::examples;
use crate::{filermark, stderr_text};
use std::fs;
use std::path::Path;

/// A file in the directory of the examples, and the kind that a message names.
struct Input {
    name: &'static str,
    /// `None`: the examples have it, or it does not exist.
    content: Option<&'static [u8]>,
    kind: &'static str,
}

const fn input(name: &'static str, content: Option<&'static [u8]>, kind: &'static str) -> Input {
    Input {
        name,
        content,
        kind,
    }
}

const RECORD: &str = "this is a run record";
const RC: &str = "this is an rc file";
const SUMMARY: &str = "this is a summary file";
const SUBMISSION: &str = "this is a submission";
const ZIP: &str = "this is a ZIP archive";
const DIRECTORY: &str = "this is a directory";
const EMPTY: &str = "the file is empty";
const MIX: &str = "this is a mix file";

const INPUTS: [Input; 14] = [
    input("example.run.jsonl", None, RECORD),
    input("example_rc", None, RC),
    input("sfssum.example", None, SUMMARY),
    input("example.xml", None, SUBMISSION),
    input("example.html", None, "this is an HTML report"),
    input("example.png", None, "this is a binary file"),
    input("mine.zip", Some(b"PK\x03\x04\x14\x00\x00\x00"), ZIP),
    input("mine.csv", Some(b"a,b,c\n1,2,3\n"), "this is a table (CSV)"),
    input(
        "mine.mix",
        Some(b"SFS MIXFILE VERSION 2\ngetattr 100%\n"),
        MIX,
    ),
    input(
        "mine.toml",
        Some(b"[sflow]\nlisten = \"127.0.0.1:6343\"\n"),
        "this is an energy setup",
    ),
    input("mine.json", Some(b"{\"a\":1}\n"), "this is a JSON file"),
    input("mine.empty", Some(b""), EMPTY),
    input("none", None, "there is no such file"),
    input(".", None, DIRECTORY),
];

/// A command.
struct Reader {
    /// The command line before the input.
    args: &'static [&'static str],
    /// The kinds that it reads.
    reads: &'static [&'static str],
    /// The beginning of what it says to give.
    advice: &'static str,
}

const READERS: [Reader; 6] = [
    Reader {
        args: &["report", "-f", "text"],
        reads: &[RECORD, SUMMARY, SUBMISSION],
        advice: "; give a run record (SUFFIX.run.jsonl), a submission (XML) or a summary file",
    },
    Reader {
        args: &["compare", "example.run.jsonl"],
        reads: &[RECORD],
        advice: "; give a run record (SUFFIX.run.jsonl)",
    },
    Reader {
        args: &["verify"],
        reads: &[RECORD, SUBMISSION, ZIP, DIRECTORY],
        advice: "; give an archive (ZIP), a run record (SUFFIX.run.jsonl), a submission (XML)",
    },
    Reader {
        args: &["bundle", "-o", "out.zip"],
        reads: &[RECORD, SUBMISSION, DIRECTORY],
        advice: "; give a run record (SUFFIX.run.jsonl), a submission (XML) or a directory",
    },
    Reader {
        args: &["plan", "-r"],
        reads: &[RC, EMPTY],
        advice: "; give an rc file",
    },
    Reader {
        args: &["import"],
        reads: &[RC, MIX],
        advice: "; give an rc file of an earlier generation, or an XML file",
    },
];

fn assert_refused(dir: &Path, reader: &Reader, input: &Input) {
    let args: Vec<&str> = reader.args.iter().copied().chain([input.name]).collect();
    let output = filermark(dir, &args);
    let text = stderr_text(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    assert!(output.stdout.is_empty(), "{args:?} prints results: {text}");
    let message = format!("{}: {}", input.name, input.kind);
    let lines: Vec<&str> = text.lines().filter(|l| l.contains(&message)).collect();
    assert_eq!(lines.len(), 1, "{args:?}: {text}");
    assert!(lines[0].contains(reader.advice), "{args:?}: {text}");
}

#[test]
fn every_command_names_the_kind_of_a_file_that_it_does_not_read() {
    let dir = examples();
    for input in &INPUTS {
        if let Some(content) = input.content {
            fs::write(dir.path().join(input.name), content).expect(input.name);
        }
    }
    for reader in &READERS {
        let others = INPUTS.iter().filter(|i| !reader.reads.contains(&i.kind));
        for input in others {
            assert_refused(dir.path(), reader, input);
        }
    }
}
