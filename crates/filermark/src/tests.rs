//! Checks that every `filermark ...` command in a message, a help text or a page exists: its
//! subcommand, and each of its options.

use crate::cli::Cli;
use clap::{Command, CommandFactory};
use std::fs;
use std::path::{Path, PathBuf};

/// A command that is advised somewhere.
#[derive(Debug, Default, PartialEq, Eq)]
struct Advice {
    /// The words after `filermark`, up to the end of the command.
    words: Vec<String>,
}

/// What ends a command inside a text: the end of the line or of the quoted piece, or
/// what a shell would not hand to the program.
const ENDS: [char; 12] = [
    '`', '"', '\'', '\\', ';', '|', '>', '<', ')', '#', '(', '\u{2026}',
];

/// The commands of a line of text.
fn commands(line: &str) -> Vec<Advice> {
    let mut found = Vec::new();
    for (at, name) in line.match_indices("filermark ") {
        let before = line[..at].chars().next_back();
        let rest = &line[at + name.len()..];
        // Not a part of another word or a directory, not bytes of a protocol, not a package of cargo.
        let is_part = before.is_some_and(|c| c.is_alphanumeric() || "-_.".contains(c));
        let others = ["b\"", "~/.cache/", "-p "];
        if is_part || rest.starts_with(' ') || others.iter().any(|o| line[..at].ends_with(o)) {
            continue;
        }
        let rest = rest.split(ENDS).next().unwrap_or_default();
        let words: Vec<String> = rest
            .split_whitespace()
            .take_while(|word| !["&&", "2"].contains(word))
            .map(|word| {
                word.trim_end_matches(['.', ',', ':', ']', '}', '*'])
                    .to_owned()
            })
            .collect();
        found.push(Advice { words });
    }
    found
}

/// Why a command cannot be typed as it is advised; `None`: it can.
fn fault(root: &Command, words: &[String]) -> Option<String> {
    let mut command = root;
    let mut words = words.iter().map(String::as_str).peekable();
    // `filermark is ...`, `filermark {version}`: no command at all.
    while let Some(word) = words.next_if(|word| is_name(word)) {
        match command.find_subcommand(word) {
            Some(sub) => command = sub,
            None if command.has_subcommands() => {
                return Some(format!("there is no '{} {word}'", command.get_name()));
            }
            None => break,
        }
    }
    for word in words {
        let known = match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(""), _) => return None,
            (Some(long), _) => {
                let long = long.split(['=', '[']).next().unwrap_or_default();
                long == "help" || long == "version" || has_long(command, long)
            }
            (None, Some(short)) => short.chars().next().is_none_or(|c| {
                !c.is_ascii_alphabetic() || c == 'h' || c == 'V' || has_short(command, c)
            }),
            (None, None) => true,
        };
        if !known {
            return Some(format!("'{}' has no option {word}", command.get_name()));
        }
    }
    None
}

/// Whether a word can be a subcommand's name.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

fn has_long(command: &Command, long: &str) -> bool {
    let mut arguments = command.get_arguments();
    arguments.any(|a| {
        let aliases = a.get_all_aliases().unwrap_or_default();
        a.get_long() == Some(long) || aliases.contains(&long)
    })
}

fn has_short(command: &Command, short: char) -> bool {
    let mut arguments = command.get_arguments();
    arguments.any(|a| {
        let aliases = a.get_all_short_aliases().unwrap_or_default();
        a.get_short() == Some(short) || aliases.contains(&short)
    })
}

/// All files below a folder with this ending of their names.
fn files_below(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the source tree") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_below(&path, end, found);
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
}

/// The lines of a source file without its tests; a string that continues after a backslash at
/// the end of a line is one line.
fn text_of_source(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut joined = String::new();
    let mut goes_on = false;
    for line in text.split_inclusive('\n') {
        let line = if goes_on { line.trim_start() } else { line };
        let front = line.trim_end_matches('\n').strip_suffix('\\');
        joined.push_str(front.unwrap_or(line));
        goes_on = front.is_some();
    }
    joined
}

#[test]
fn no_advice_names_a_command_that_does_not_exist() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![
        top.join("README.md"),
        top.join("CONTRIBUTING.md"),
        top.join("CHANGELOG.md"),
    ];
    files_below(&top.join("docs/src"), ".md", &mut files);
    files_below(&top.join("examples"), ".md", &mut files);
    files_below(&top.join("crates"), ".rs", &mut files);
    files.retain(|path| {
        let path = path.to_string_lossy();
        let is_source = !path.ends_with(".rs") || path.contains("/src/");
        is_source && !path.contains("/tests") && !path.ends_with("tests.rs")
    });
    let mut root = Cli::command();
    root.build();
    let (mut faults, mut count) = (Vec::new(), 0);
    for path in &files {
        let text = fs::read_to_string(path).expect("a text");
        let text = match path.extension().is_some_and(|end| end == "rs") {
            true => text_of_source(&text),
            false => text,
        };
        for (number, line) in (1..).zip(text.lines()) {
            for advice in commands(line) {
                count += 1;
                if let Some(why) = fault(&root, &advice.words) {
                    faults.push(format!("{}:{number}: {why}: {line}", path.display()));
                }
            }
        }
    }
    assert!(count > 300, "only {count} commands were found");
    assert_eq!(faults, [""; 0], "{}", faults.join("\n"));
}

#[test]
fn commands_are_found_in_texts_and_distinguished_from_others() {
    let mut root = Cli::command();
    root.build();
    let why = |line: &str| {
        let found = commands(line);
        assert_eq!(found.len(), 1, "{line}");
        fault(&root, &found[0].words)
    };
    for good in [
        "clean up with `filermark stop -r sfs_rc -s mine`, then go on",
        "'filermark template' prints one to start from",
        "filermark energy reduce --help",
        "sudo filermark workload check mine.toml > out",
        "filermark {} and more",
        "filermark netmist -b 1g -O 1000",
    ] {
        assert_eq!(why(good), None, "{good}");
    }
    for bad in [
        "run `filermark cleanup -s mine`",
        "run filermark run cleanup2 --no-such-option",
        "filermark energy reducer",
        "filermark stop -Q",
    ] {
        assert!(why(bad).is_some(), "{bad}");
    }
    assert_eq!(commands("the directory docs-filermark is").len(), 0);
    let source = "let x = \"filermark \\\n         stop\";\n#[cfg(test)]\nfilermark nothing";
    assert_eq!(text_of_source(source), "let x = \"filermark stop\";\n");
}
