//! The rc file: shell-like assignments, read without a shell.
//!
//! `NAME=value`, `NAME="several words"` (also over several lines), `NAME='...'`,
//! `#` comments, an optional `export`. Nothing is expanded or executed. The names of
//! parameters are used only to report where a quote was forgotten.

use crate::error::{ConfigError, SourceLocation, quoted};
use crate::params::{Kind, Parameter};
use std::fmt;

/// One assignment, as written in the text.
#[derive(Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The name before the `=`; not looked up yet.
    pub name: String,
    /// The value without its quotes.
    pub value: String,
    /// The place of the name.
    pub location: SourceLocation,
}

impl fmt::Debug for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value: &dyn fmt::Debug = match may_be_secret(&self.name) {
            true => &format_args!("(given)"),
            false => &self.value,
        };
        let mut fields = f.debug_struct("Assignment");
        fields.field("name", &self.name);
        fields.field("value", value).field("place", &self.location);
        fields.finish()
    }
}

/// Whether a text looks as if it gave a password, so that no message may quote it.
pub(crate) fn may_be_secret(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    ["PASSW", "PASWORD", "SECRET"]
        .iter()
        .any(|word| upper.contains(word))
}

/// The content of an rc file: all that can be read, and all that is wrong, so that
/// the user gets every mistake at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RcText {
    /// The assignments, in order.
    pub assignments: Vec<Assignment>,
    /// What is wrong.
    pub errors: Vec<ConfigError>,
    /// Names whose value could not be read; they are set, but their values are unknown.
    pub broken: Vec<String>,
}

/// Reads the text of an rc file; `file` is its name in messages.
pub fn parse_rc(file: &str, text: &str) -> RcText {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text
        .split('\n')
        .map(|l| l.strip_suffix('\r').unwrap_or(l))
        .collect();
    let mut rc = RcText::default();
    let mut at = 0;
    while at < lines.len() {
        match parse_line(file, &lines, at, &mut rc.broken) {
            Ok((found, next)) => {
                rc.assignments.extend(found);
                at = next;
            }
            Err((error, next)) => {
                rc.errors.push(error);
                at = next;
            }
        }
    }
    rc
}

/// Reads the assignment that begins on a line, if there is one; also returns the
/// line to continue with, also with an error.
fn parse_line(
    file: &str,
    lines: &[&str],
    at: usize,
    broken: &mut Vec<String>,
) -> Result<(Option<Assignment>, usize), (ConfigError, usize)> {
    let line = lines[at];
    let mut rest = line.trim_start();
    if rest.is_empty() || rest.starts_with('#') {
        return Ok((None, at + 1));
    }
    if let Some(after) = rest.strip_prefix("export")
        && after.starts_with([' ', '\t'])
    {
        rest = after.trim_start();
    }
    let column = |rest: &str| line.chars().count() - rest.chars().count() + 1;
    let place = SourceLocation::line(file, at + 1, column(rest));
    let Some((name, value)) = rest.split_once('=') else {
        let error = ConfigError::new(
            place,
            format!("{} has no '='", shown(rest.trim_end())),
            "write NAME=value, put lists in double quotes, begin comments with #",
        );
        return Err((error, at + 1));
    };
    let name = name.trim_end();
    let valid = |(i, c): (usize, char)| {
        c == '_' || c.is_ascii_alphabetic() || (i > 0 && c.is_ascii_digit())
    };
    if name.is_empty() || !name.chars().enumerate().all(valid) {
        let error = ConfigError::new(
            place,
            format!("{} before '=' is not a name", shown(name)),
            "names are letters, digits and _, as in RUNTIME=300",
        );
        return Err((error, at + 1));
    }
    let value = value.trim_start();
    let mut scan = Scan {
        file,
        lines,
        at,
        column: column(value),
        chars: value.chars().collect(),
        pos: 0,
        value: String::new(),
    };
    if let Err(error) = scan.run(name) {
        broken.push(name.to_owned());
        // The lines of a password's open quote may be parts of the password, which
        // messages on them would quote.
        let next = match may_be_secret(name) {
            true => scan.at + 1,
            false => at + 1,
        };
        return Err((error, next));
    }
    let assignment = Assignment {
        name: name.to_owned(),
        value: scan.value,
        location: place,
    };
    Ok((Some(assignment), scan.at + 1))
}

/// A piece of the text as a message may show it.
fn shown(text: &str) -> String {
    match may_be_secret(text) {
        true => "a line with a password".to_owned(),
        false => format!("'{}'", quoted(text)),
    }
}

/// Reads one value, from line to line while a quote is open.
struct Scan<'a> {
    file: &'a str,
    lines: &'a [&'a str],
    /// The current line, from 0.
    at: usize,
    /// Column of `chars[0]`, from 1.
    column: usize,
    chars: Vec<char>,
    pos: usize,
    value: String,
}

impl Scan<'_> {
    fn place(&self) -> SourceLocation {
        SourceLocation::line(self.file, self.at + 1, self.column + self.pos)
    }

    fn next(&mut self) -> Option<char> {
        let c = self.chars.get(self.pos).copied()?;
        self.pos += 1;
        Some(c)
    }

    fn run(&mut self, name: &str) -> Result<(), ConfigError> {
        loop {
            let place = self.place();
            match self.next() {
                None => return Ok(()),
                Some('#') if self.value.is_empty() && self.pos == 1 => return Ok(()),
                Some(c) if c.is_whitespace() => match self.end(name)? {
                    true => self.value.push(' '),
                    false => return Ok(()),
                },
                Some(quote @ ('"' | '\'')) => self.quote(name, quote, place)?,
                Some(c) => {
                    self.refuse_expansion(name, c, &place)?;
                    self.value.push(c);
                }
            }
        }
    }

    /// Checks the end of a value: only a comment may follow; or, of a parameter that takes a
    /// list, more words: then it is true. An assignment is not a word of a list.
    fn end(&mut self, name: &str) -> Result<bool, ConfigError> {
        while self.chars.get(self.pos).is_some_and(|c| c.is_whitespace()) {
            self.pos += 1;
        }
        let rest: String = self.chars.iter().skip(self.pos).collect();
        let list = || Parameter::find(name).is_some_and(|p| p.kind == Kind::List);
        match rest.chars().next() {
            None | Some('#') => Ok(false),
            Some(_) if list() && !rest.split_whitespace().any(assigns_known) => Ok(true),
            Some(_) => Err(ConfigError::new(
                self.place(),
                format!("{name} has more than one word"),
                format!("put a value with blanks in double quotes: {name}=\"FIRST SECOND\""),
            )),
        }
    }

    /// Reads to the closing quote. A later line that assigns a known parameter
    /// shows that the quote was forgotten, and where.
    fn quote(
        &mut self,
        name: &str,
        quote: char,
        opened: SourceLocation,
    ) -> Result<(), ConfigError> {
        loop {
            let place = self.place();
            match self.next() {
                Some(c) if c == quote => return Ok(()),
                Some('\\') if quote == '"' => match self.chars.get(self.pos) {
                    Some('"') => {
                        self.pos += 1;
                        self.value.push('"');
                    }
                    // Backslash at the end of a line joins it with the next.
                    None if self.at + 1 < self.lines.len() => {}
                    _ => self.value.push('\\'),
                },
                Some(c) => {
                    if quote == '"' {
                        self.refuse_expansion(name, c, &place)?;
                    }
                    self.value.push(c);
                }
                None => {
                    let next = self.lines.get(self.at + 1);
                    let Some(next) = next.filter(|l| !assigns_known(l)) else {
                        return Err(ConfigError::new(
                            opened,
                            format!(
                                "the quote {quote} that opens the value of {name} is never closed"
                            ),
                            format!("put {quote} at the end of the value"),
                        ));
                    };
                    self.at += 1;
                    self.chars = next.chars().collect();
                    self.column = 1;
                    self.pos = 0;
                    self.value.push('\n');
                }
            }
        }
    }

    /// A shell would expand this; without an error the value would be misread.
    fn refuse_expansion(
        &self,
        name: &str,
        c: char,
        place: &SourceLocation,
    ) -> Result<(), ConfigError> {
        let next = self.chars.get(self.pos);
        let expands = c == '`'
            || c == '$' && next.is_some_and(|n| n.is_ascii_alphabetic() || "_{(".contains(*n));
        if !expands {
            return Ok(());
        }
        Err(ConfigError::new(
            place.clone(),
            format!("the value of {name} has a {c} that a shell would expand; Filermark does not"),
            "write the value out, or put it in single quotes if it is meant literally",
        ))
    }
}

/// Whether a line looks like the assignment of a parameter that exists.
fn assigns_known(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
    line.split_once('=')
        .is_some_and(|(name, _)| Parameter::find(name.trim_end()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(text: &str) -> Vec<(String, String)> {
        let rc = parse_rc("rc", text);
        assert_eq!(rc.errors, [], "{text}");
        rc.assignments
            .into_iter()
            .map(|a| (a.name, a.value))
            .collect()
    }

    fn bad(text: &str) -> Vec<String> {
        parse_rc("rc", text)
            .errors
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn what_is_read() {
        let cases = [
            ("", vec![]),
            ("\n# only\n  # comments\r\n", vec![]),
            ("LOAD=100", vec![("LOAD", "100")]),
            ("\u{feff}LOAD=100\r\n", vec![("LOAD", "100")]),
            ("  export LOAD=100 # x", vec![("LOAD", "100")]),
            ("LOAD = 100", vec![("LOAD", "100")]),
            ("LOAD=", vec![("LOAD", "")]),
            ("LOAD= # none", vec![("LOAD", "")]),
            ("LOAD=\"\"", vec![("LOAD", "")]),
            ("LOAD=\"1 2\" # x", vec![("LOAD", "1 2")]),
            ("LOAD='1 2'\nPROCS=3", vec![("LOAD", "1 2"), ("PROCS", "3")]),
            ("A=\"1\n2\r\n 3\"\nB=4", vec![("A", "1\n2\n 3"), ("B", "4")]),
            ("A=\"1 \\\n2\"", vec![("A", "1 \n2")]),
            ("A=x#y", vec![("A", "x#y")]),
            ("A=\"x # y\"", vec![("A", "x # y")]),
            ("A='$HOME'", vec![("A", "$HOME")]),
            ("A=5$", vec![("A", "5$")]),
            ("A=\"say \\\"x\\\"\"", vec![("A", "say \"x\"")]),
            ("A=\"\\\\srv\\share\"", vec![("A", "\\\\srv\\share")]),
            (
                r#"A="\\testsys\test1 \\testsys\test2""#,
                vec![("A", r"\\testsys\test1 \\testsys\test2")],
            ),
            (r"A=\\srv\share\new", vec![("A", r"\\srv\share\new")]),
            (r"A='\\srv\c$ \\srv\$x'", vec![("A", r"\\srv\c$ \\srv\$x")]),
            ("A=a\"b c\"'d'", vec![("A", "ab cd")]),
            ("exported=1", vec![("exported", "1")]),
            // As the training of 2014 shows it: a list without quotes.
            (
                "CLIENT_MOUNTPOINTS= localhost:/a  localhost:/b # two",
                vec![("CLIENT_MOUNTPOINTS", "localhost:/a localhost:/b")],
            ),
            ("LOAD=1 2", vec![("LOAD", "1 2")]),
            ("LOAD=\"1\" 2", vec![("LOAD", "1 2")]),
        ];
        for (text, want) in cases {
            let want: Vec<_> = want
                .into_iter()
                .map(|(n, v)| (n.to_owned(), v.to_owned()))
                .collect();
            assert_eq!(good(text), want, "{text:?}");
        }
    }

    #[test]
    fn what_is_refused_and_where() {
        let cases = [
            ("LOAD 100", "rc:1:1: 'LOAD 100' has no '='"),
            ("  2X=1", "rc:1:3: '2X' before '=' is not a name"),
            ("\n=1", "rc:2:1: '' before '=' is not a name"),
            ("LOAD=1 PROCS=2", "rc:1:8: LOAD has more than one word"),
            ("RUNTIME=1 2", "rc:1:11: RUNTIME has more than one word"),
            ("SUFFIX=\"1\" 2", "rc:1:12: SUFFIX has more than one word"),
            (
                "LOAD=\"1 2",
                "rc:1:6: the quote \" that opens the value of LOAD",
            ),
            ("LOAD='1 2\n", "rc:1:6: the quote ' that opens"),
            ("DIR=$HOME/x", "rc:1:5: the value of DIR has a $"),
            ("DIR=\"`pwd`\"", "rc:1:6: the value of DIR has a `"),
        ];
        for (text, want) in cases {
            let got = bad(text);
            assert_eq!(got.len(), 1, "{text:?}: {got:?}");
            assert!(got[0].starts_with(want), "{text:?}: {}", got[0]);
        }
    }

    #[test]
    fn no_piece_of_a_password_is_quoted() {
        let texts = [
            "PASSWORD geheim",
            "export PASSWORD geheim",
            "password: geheim",
            "PASSWORD geheim=geheim",
            "PASSWORD=\"geheim\ngeheim geheim\ngeheim=1\n",
            "PASSWORD='geheim\ngeheim",
            "PASSWORD=geheim geheim",
            "PASSWORD=\"geheim`geheim\"",
        ];
        for text in texts {
            let rc = parse_rc("rc", text);
            let shown = format!("{:?}", rc);
            assert_eq!(rc.errors.len(), 1, "{shown}");
            assert!(!shown.contains("geheim"), "{shown}");
        }
        let rc = parse_rc("rc", "PASSWORD='geheim\nPROCS=4\n");
        assert_eq!((rc.errors.len(), rc.assignments.len()), (1, 1));
    }

    #[test]
    fn a_forgotten_quote_is_reported_at_its_place_and_the_rest_is_still_read() {
        let text = "LOAD=\"100 200\nPROCS=4\nMNT_POINTS=\"a:/x b:/y\"\n";
        let rc = parse_rc("rc", text);
        assert_eq!(rc.broken, ["LOAD"]);
        assert_eq!(rc.errors.len(), 1);
        assert!(rc.errors[0].to_string().starts_with("rc:1:6: the quote"));
        let names: Vec<_> = rc.assignments.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["PROCS", "MNT_POINTS"]);
    }
}
