//! Parses a line of input.

use filermark_model::text::sanitize;
use std::borrow::Cow;

/// A parsed line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input<'a> {
    Down,
    Up(usize),
    Next,
    Previous,
    Child(usize),
    Add,
    Remove(usize),
    Quit,
    Save(Option<&'a str>),
    Validate,
    Children,
    Explain,
    Help,
    /// A line with only `.`: the lines of a value follow.
    Lines,
    Text(Cow<'a, str>),
    /// Not a command: the message.
    Unknown(String),
}

/// Words of other programs that are no values, and the command that is meant.
const FOREIGN: [(&str, &str); 5] = [
    ("quit", ".q"),
    ("exit", ".q"),
    ("save", ".s"),
    ("help", "?"),
    ("ls", "?c"),
];

/// Parses a line. A `\` before a first `.`, `?` or `\`, or before a word of [`FOREIGN`], marks a
/// value.
pub(super) fn parse(line: &str) -> Input<'_> {
    let line = line.trim();
    let foreign = |word: &str| FOREIGN.iter().find(|(f, _)| f.eq_ignore_ascii_case(word));
    if let Some(rest) = line.strip_prefix('\\')
        && (rest.starts_with(['.', '?', '\\']) || foreign(rest).is_some())
    {
        return Input::Text(rest.into());
    }
    if let Some((word, command)) = foreign(line) {
        return Input::Unknown(format!(
            "Not stored: the command is {command}. To enter the word {word} as a value, put a \\ \
             before it."
        ));
    }
    match line.as_bytes().first() {
        None => Input::Down,
        Some(b'.') => command(line),
        Some(b'?') => query(line),
        Some(_) => Input::Text(line.into()),
    }
}

fn query(line: &str) -> Input<'_> {
    match line {
        "?" => Input::Help,
        "?c" => Input::Children,
        "?d" => Input::Explain,
        _ => unknown(line),
    }
}

fn command(line: &str) -> Input<'_> {
    let word = line.get(1..).unwrap_or_default();
    let after = |letter: char| word.strip_prefix(letter).map(str::trim);
    match word {
        "" => Input::Lines,
        "d" => Input::Down,
        "n" => Input::Next,
        "p" => Input::Previous,
        "a" => Input::Add,
        "q" => Input::Quit,
        "v" => Input::Validate,
        "u" => Input::Up(1),
        "s" => Input::Save(None),
        "r" => Input::Unknown(
            "Which item? For example .r2 removes item 2; ?c shows the numbers.".into(),
        ),
        _ => {
            if let Some(number) = number(word) {
                Input::Child(number)
            } else if let Some(levels) = after('u').and_then(number) {
                Input::Up(levels)
            } else if let Some(number) = after('r').and_then(number) {
                Input::Remove(number)
            } else if let Some(name) = word.strip_prefix("s ") {
                save(name.trim())
            } else {
                unknown(line)
            }
        }
    }
}

/// Parses a number; one that is too large becomes the maximum.
fn number(text: &str) -> Option<usize> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(usize::MAX))
}

fn save(name: &str) -> Input<'_> {
    let lower = name.to_ascii_lowercase();
    match [".xml", ".zip"].iter().any(|end| lower.ends_with(end)) {
        true => Input::Save(Some(name)),
        false => Input::Unknown(
            "Give a name that ends in .xml (the document) or .zip (the document with all its files).".into(),
        ),
    }
}

/// Maximum length of a line in a message, in characters.
const SHOWN_CHARS_MAX: usize = 40;

fn unknown(line: &str) -> Input<'_> {
    Input::Unknown(format!(
        "There is no command {}; ? lists the commands. To enter it as a value, put a \\ before it.",
        sanitize(line, SHOWN_CHARS_MAX)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parsed_as_the_seed_defines() {
        for (line, input) in [
            ("", Input::Down),
            ("   ", Input::Down),
            (".d", Input::Down),
            (".u", Input::Up(1)),
            (".u12", Input::Up(12)),
            (".7", Input::Child(7)),
            (".n", Input::Next),
            (".p", Input::Previous),
            (".a", Input::Add),
            (".r3", Input::Remove(3)),
            (".q", Input::Quit),
            (".s", Input::Save(None)),
            (".s a b.zip", Input::Save(Some("a b.zip"))),
            (".v", Input::Validate),
            ("?", Input::Help),
            ("?c", Input::Children),
            ("?d", Input::Explain),
            (".", Input::Lines),
            (" Acme Servers ", Input::Text("Acme Servers".into())),
            ("\\.5", Input::Text(".5".into())),
            ("\\\\host", Input::Text("\\host".into())),
            ("\\n", Input::Text("\\n".into())),
            ("\\quit", Input::Text("quit".into())),
            ("quite", Input::Text("quite".into())),
            (".99999999999999999999999", Input::Child(usize::MAX)),
        ] {
            assert_eq!(parse(line), input, "{line}");
        }
        for line in [
            ".x", "..", ".s a.txt", ".r", ".u-1", "?x", ".d3", ".é", ".sx", "quit", "HELP", "ls",
        ] {
            assert!(matches!(parse(line), Input::Unknown(_)), "{line}");
        }
    }
}
