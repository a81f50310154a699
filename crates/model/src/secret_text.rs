//! Passwords in files that are about to be given away, or whose sum is published. Looks
//! at the text and not at the meaning: what is commented out, or is no parameter at all,
//! is a secret as well.

/// Parts of names that stand before secrets.
const WORDS: [&str; 3] = ["PASSW", "PASWORD", "SECRET"];
/// What stands for a value that was left out before other words.
const EMPTY: &str = "\"\"";
/// What an SNMP community may stand behind.
const SNMP: &str = "snmp://";

/// The lines (from 1) that give a secret, with its name: `PASSWORD=...`,
/// `Password: ...`, `"password": "..."`, `--password ...`, also behind a `#`.
pub fn secrets(text: &str) -> Vec<(usize, String)> {
    let lines = (1..).zip(text.lines());
    lines
        .flat_map(|(number, line)| in_line(line).map(move |name| (number, name)))
        .collect()
}

/// The names of the secrets that a line gives.
fn in_line(line: &str) -> impl Iterator<Item = String> {
    let named = given(line)
        .filter(Assignment::gives_a_secret)
        .map(|given| given.name.to_owned());
    named.chain(has_community(line).then(|| "an SNMP community".to_owned()))
}

/// `snmp://COMMUNITY@HOST`, where the community is not the default `public`.
fn has_community(line: &str) -> bool {
    let mut parts = line.split(SNMP).skip(1);
    parts.any(|rest| community(rest).is_some())
}

/// The secret community of what stands behind `snmp://`.
fn community(rest: &str) -> Option<&str> {
    let end = rest.find(|c: char| c.is_whitespace() || "/?\"'".contains(c));
    let authority = &rest[..end.unwrap_or(rest.len())];
    let community = authority.split_once('@').map(|(community, _)| community);
    community.filter(|word| !word.is_empty() && *word != "public")
}

/// The text without its secrets, and how many lines something is left out of. A line that
/// assigns a secret, or is a comment with one, is left out whole; a value in quotes may go
/// on over further lines. Of any other line only the value is left out, so that nothing
/// that has an effect of its own can hide beside a secret.
pub fn without_secrets(text: &str) -> (String, u32) {
    let mut kept = String::with_capacity(text.len());
    let mut left_out: u32 = 0;
    let mut at = 0;
    // A quote that is never closed is looked for once.
    let mut may_go_on = true;
    while at < text.len() {
        let mut end = line_end(text, at);
        let line = &text[at..end];
        if in_line(line).next().is_none() {
            kept.push_str(line);
            at = end;
            continue;
        }
        if !is_comment(line) {
            let from = at + leading_value(line).unwrap_or(0);
            let mut rest = from;
            if from > at {
                let value_end = word_end(&text[from..], may_go_on).map(|length| from + length);
                may_go_on &= value_end.is_some();
                rest = value_end.unwrap_or(at + without_newline(line).len());
                end = line_end(text, rest);
            }
            if from == at || !is_blank_or_comment(&text[rest..end]) {
                kept.push_str(&text[at..from]);
                kept.push_str(if from > at { EMPTY } else { "" });
                kept.push_str(&without_communities(&without_values(&text[rest..end])));
            }
        }
        let lines = text[at..end].lines().count();
        left_out = left_out.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        at = end;
    }
    (kept, left_out)
}

/// Where the line that has this byte ends, its newline with it.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |n| at + n + 1)
}

fn without_newline(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}

fn is_comment(line: &str) -> bool {
    line.trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('#')
}

fn is_blank_or_comment(rest: &str) -> bool {
    rest.trim().is_empty() || (rest.starts_with(char::is_whitespace) && is_comment(rest))
}

/// Where the value begins of a line that is `NAME=value`, NAME that of a secret.
fn leading_value(line: &str) -> Option<usize> {
    let given = given(line).next()?;
    let front = line[..given.at].trim_start_matches('\u{feff}').trim();
    let leads = front.is_empty() || front == "export";
    (leads && given.form == Form::Equals && given.gives_a_secret())
        .then(|| line.len() - given.value.len())
}

/// Where the word ends that a text begins with, as a shell reads it: quotes hold blanks
/// and, with `over_lines`, newlines. `None`: a quote is never closed.
fn word_end(text: &str, over_lines: bool) -> Option<usize> {
    let is_blank = |c: char| c.is_whitespace() && c != '\n';
    let blank = text.len() - text.trim_start_matches(is_blank).len();
    let mut open: Option<char> = None;
    let mut before = ' ';
    for (at, c) in text[blank..].char_indices() {
        match open {
            Some(_) if c == '\n' && !over_lines => return None,
            Some(quote) if c == quote && !(c == '"' && before == '\\') => open = None,
            Some(_) => {}
            None if c.is_whitespace() => return Some(blank + at),
            None => open = ['"', '\''].contains(&c).then_some(c),
        }
        before = c;
    }
    open.is_none().then_some(text.len())
}

/// A line, or its end, without the values of secrets.
fn without_values(line: &str) -> String {
    let line_length = without_newline(line).len();
    let comment = line.find('#').unwrap_or(line.len());
    let mut kept = String::with_capacity(line.len());
    let mut done = 0;
    for given in given(line) {
        if given.at < done || !given.gives_a_secret() {
            continue;
        }
        let from = line.len() - given.value.len();
        // Where a value ends that is no word is not known.
        let is_word = given.at < comment && matches!(given.form, Form::Equals | Form::Option);
        let end = is_word.then(|| word_end(given.value, false)).flatten();
        let to = end.map_or(line_length, |length| from + length);
        kept.push_str(&line[done..from]);
        done = to.max(from);
        if given.form == Form::Equals && !line[done..].trim().is_empty() {
            kept.push_str(EMPTY);
        }
    }
    kept.push_str(&line[done..]);
    kept
}

/// A line without SNMP communities but the default one.
fn without_communities(line: &str) -> String {
    let mut parts = line.split(SNMP);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for rest in parts {
        let community = community(rest).map_or(0, str::len);
        kept.push_str(SNMP);
        kept.push_str(&rest[community..]);
    }
    kept
}

/// The files that an rc file names as the place of a secret (PASSWORD_FILE,
/// SECRET_FILE), as it names them.
pub fn secret_files(text: &str) -> Vec<String> {
    let all = text.lines().flat_map(given);
    all.filter(|given| given.is_secret() && given.names_a_file() && !given.is_empty())
        .map(|given| {
            let value = given.value.trim();
            let quote = value.chars().next().filter(|c| ['"', '\''].contains(c));
            let end = match quote {
                Some(quote) => value[1..].find(quote).map(|at| &value[1..at + 1]),
                None => value.split_whitespace().next(),
            };
            end.unwrap_or(value).to_owned()
        })
        .collect()
}

/// How a name is given its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `name=value`.
    Equals,
    /// `name: value`.
    Colon,
    /// `"name": value`.
    Quoted,
    /// `--name value`.
    Option,
}

/// A name and what stands behind it up to the end of the line.
struct Assignment<'a> {
    /// Where it begins in its line.
    at: usize,
    name: &'a str,
    form: Form,
    value: &'a str,
}

impl Assignment<'_> {
    fn gives_a_secret(&self) -> bool {
        self.is_secret() && !self.names_a_file() && !self.is_empty()
    }

    fn is_secret(&self) -> bool {
        let upper = self.name.to_ascii_uppercase();
        // "Tests that pass: 3" is no secret.
        let short = self.form != Form::Colon
            && (upper == "PASS" || upper.ends_with("_PASS") || upper.ends_with("-PASS"));
        short || WORDS.iter().any(|word| upper.contains(word))
    }

    fn names_a_file(&self) -> bool {
        let upper = self.name.to_ascii_uppercase();
        upper.ends_with("_FILE") || upper.ends_with("-FILE")
    }

    /// Nothing, empty quotes, a comment, or no text where a text would be.
    fn is_empty(&self) -> bool {
        let value = self.value.trim();
        match self.form {
            Form::Equals => is_empty(value) || begins_empty(value),
            Form::Option => value.is_empty() || value.starts_with('-'),
            Form::Colon | Form::Quoted => {
                let ends = |c: char| c.is_whitespace() || [',', '}', ']'].contains(&c);
                let value = value.trim_end_matches(ends);
                is_empty(value) || ["null", "true", "false"].contains(&value)
            }
        }
    }
}

/// Every name of a line that has something behind it that can be a value.
fn given(line: &str) -> impl Iterator<Item = Assignment<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let from = at + line[at..].find(is_part)?;
            let rest = &line[from..];
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            at = from + length;
            if let Some(given) = value_behind(&rest[..length], &rest[length..]) {
                return Some(Assignment { at: from, ..given });
            }
        }
    })
}

fn value_behind<'a>(name: &'a str, behind: &'a str) -> Option<Assignment<'a>> {
    let plain = name.trim_matches('-');
    let unquoted = behind.strip_prefix(['"', '\'']);
    let next = unquoted.unwrap_or(behind).trim_start();
    let (form, value) = if let Some(value) = next.strip_prefix('=') {
        (Form::Equals, value)
    } else if let Some(value) = next.strip_prefix(':') {
        let form = unquoted.map_or(Form::Colon, |_| Form::Quoted);
        (form, value)
    } else if name.starts_with('-') && behind.starts_with(char::is_whitespace) {
        (Form::Option, behind)
    } else {
        return None;
    };
    (!plain.is_empty()).then_some(Assignment {
        at: 0,
        name: plain,
        form,
        value,
    })
}

/// Empty quotes as a word of their own.
fn begins_empty(value: &str) -> bool {
    let rest = value.strip_prefix(EMPTY);
    rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
}

/// Nothing, empty quotes, or a comment.
fn is_empty(value: &str) -> bool {
    let value = value.trim();
    let rest = value
        .strip_prefix("\"\"")
        .or_else(|| value.strip_prefix("''"));
    let rest = rest.unwrap_or(value);
    rest.trim().is_empty()
        || (rest.len() < value.len() && is_blank_or_comment(rest))
        || (rest == value && rest.starts_with("# "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_by_line_and_name() {
        let text = "LOAD=100\nPASSWORD=geheim\n#PASSWORD='x'\nexport WINDOWS_PASSWORD=\"\n y\"\nClientname=a Password=b\n";
        let names: Vec<_> = secrets(text).into_iter().collect();
        assert_eq!(
            names,
            [
                (2, "PASSWORD".to_owned()),
                (3, "PASSWORD".to_owned()),
                (4, "WINDOWS_PASSWORD".to_owned()),
                (6, "Password".to_owned())
            ]
        );
        for none in [
            "PASSWORD=",
            "PASSWORD=\"\"",
            "PASSWORD=''  # none",
            "PASSWORD_FILE=pw",
            "X=1",
        ] {
            assert_eq!(secrets(none), [], "{none}");
        }
        assert_eq!(
            secret_files("PASSWORD_FILE=\"a b\"\nSECRET_FILE = s.secret # x\n"),
            ["a b", "s.secret"]
        );
    }

    #[test]
    fn secrets_are_found_in_other_forms_than_an_rc_files() {
        for some in [
            "Password: geheim",
            "{\"password\": \"x\", \"a\": 1}",
            "'secret' : 'x'",
            "filermark run --password geheim -s x",
            "--password=x",
            "mount -o user=a,pass=x",
            "\"pass\":\"x\"",
            "SMB_PASS=x",
        ] {
            assert_eq!(secrets(some).len(), 1, "{some}");
        }
        for none in [
            "Password:",
            "\"password\": \"\",",
            "\"password\": null }",
            "--password-file pw",
            "--password --json",
            "Tests that pass: 3",
            "ask for the password",
            "compass=3",
        ] {
            assert_eq!(secrets(none), [], "{none}");
        }
    }

    #[test]
    fn lines_with_secrets_are_left_out_of_the_text() {
        let of = |text: &str| without_secrets(text);
        assert_eq!(of("LOAD=1\nPROCS=2"), ("LOAD=1\nPROCS=2".into(), 0));
        assert_eq!(
            of("LOAD=1\nPASSWORD=x\nPROCS=2\n"),
            ("LOAD=1\nPROCS=2\n".into(), 1)
        );
        let long = "PASSWORD=\"a\nb\nc\" # end\nLOAD=1\n";
        assert_eq!(of(long), ("LOAD=1\n".into(), 3));
        assert_eq!(of("# PASSWORD=\"a\nLOAD=1\n"), ("LOAD=1\n".into(), 1));
        assert_eq!(of("PASSWORD_FILE=\"pw\nLOAD=1\n").1, 0);
        let meters =
            "at = \"snmp://lab7@pdu\"\nat = \"snmp://public@pdu\"\nat = \"snmp://pdu/a@b\"\n";
        assert_eq!(of(meters).1, 1);
    }

    #[test]
    fn nothing_but_the_secret_is_left_out_beside_it() {
        let of = |text: &str| without_secrets(text);
        for (text, kept, count) in [
            ("LOAD=5 # PASSWORD=x y\n", "LOAD=5 # PASSWORD=\n", 1),
            // Its quote opens nothing.
            (
                "X=1 # PASSWORD=\"\nY=\"2\"\n",
                "X=1 # PASSWORD=\nY=\"2\"\n",
                1,
            ),
            ("X=1 PASSWORD=\"a\nY=2\"\n", "X=1 PASSWORD=\nY=2\"\n", 1),
            ("PASSWORD=x LOAD=5\n", "PASSWORD=\"\" LOAD=5\n", 1),
            ("PASSWORD=\"a\nb\" LOAD=5\n", "PASSWORD=\"\" LOAD=5\n", 2),
            // Never closed: only the line.
            ("PASSWORD=\"a\nX=1\n", "X=1\n", 1),
            ("PASSWORD=x # LOAD=5\n", "", 1),
            ("\u{feff}export PASSWORD='a\r\nb'\r\nX=1", "X=1", 2),
            ("PASSWORD=a\"b\\\" c\"'d e' # f\nX=1", "X=1", 1),
            (
                "Clientname=a Password='b c' Workdir=d\n",
                "Clientname=a Password=\"\" Workdir=d\n",
                1,
            ),
            ("{\"password\": \"x y\", \"a\": 1}", "{\"password\":", 1),
            ("PASSWORD=\u{a0}x\nX=1", "X=1", 1),
            ("Password: x y\r\n", "Password:\r\n", 1),
            ("run --password geheim -s x", "run --password -s x", 1),
            (
                "snmp://lab7@pdu/1 snmp://public@b\n",
                "snmp://@pdu/1 snmp://public@b\n",
                1,
            ),
            ("X=ä # SECRET=ß\u{a0}", "X=ä # SECRET=", 1),
        ] {
            assert_eq!(of(text), (kept.to_owned(), count), "{text:?}");
            // What is taken out already is not left out again.
            assert!(of(kept).1 == 0 || kept == of(kept).0, "{text:?}");
        }
    }
}
