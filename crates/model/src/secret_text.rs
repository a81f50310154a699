//! Passwords in files that are about to be given away, or whose sum is published. Looks
//! at the text and not at the meaning: what is commented out, or is no parameter at all,
//! is a secret as well.

/// Parts of names that stand before secrets.
const WORDS: [&str; 3] = ["PASSW", "PASWORD", "SECRET"];

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
        .filter(|given| given.is_secret() && !given.names_a_file() && !given.is_empty())
        .map(|given| given.name.to_owned());
    named.chain(has_community(line).then(|| "an SNMP community".to_owned()))
}

/// `snmp://COMMUNITY@HOST`, where the community is not the one that everybody knows.
fn has_community(line: &str) -> bool {
    line.split("snmp://").skip(1).any(|rest| {
        let end = rest.find(|c: char| c.is_whitespace() || "/?\"'".contains(c));
        let authority = &rest[..end.unwrap_or(rest.len())];
        let community = authority.split_once('@').map(|(community, _)| community);
        community.is_some_and(|word| !word.is_empty() && word != "public")
    })
}

/// The text without the lines that give a secret, and how many these are. A value in
/// quotes may go on over further lines; they are left out, too.
pub fn without_secrets(text: &str) -> (String, u32) {
    let mut rest = String::with_capacity(text.len());
    let mut left_out = 0;
    let mut open: Option<char> = None;
    for line in text.split_inclusive('\n') {
        let (is_secret, next) = match open {
            Some(quote) => (true, open.filter(|_| !line.contains(quote))),
            None => (in_line(line).next().is_some(), open_quote(line)),
        };
        if is_secret {
            left_out += 1;
            open = next;
        } else {
            rest.push_str(line);
        }
    }
    (rest, left_out)
}

/// The quote of a secret's value that the line begins and does not end.
fn open_quote(line: &str) -> Option<char> {
    if line.trim_start().starts_with('#') {
        return None;
    }
    let mut secrets = given(line).filter(|g| g.is_secret() && g.form == Form::Equals);
    secrets.find_map(|given| {
        let value = given.value.trim_start();
        let quote = value.chars().next().filter(|c| ['"', '\''].contains(c))?;
        (!value[1..].contains(quote)).then_some(quote)
    })
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
struct Given<'a> {
    name: &'a str,
    form: Form,
    value: &'a str,
}

impl Given<'_> {
    fn is_secret(&self) -> bool {
        let upper = self.name.to_ascii_uppercase();
        // "Tests that pass: 3" is nobody's secret.
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
            Form::Equals => is_empty(value),
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
fn given(line: &str) -> impl Iterator<Item = Given<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let from = at + line[at..].find(is_part)?;
            let rest = &line[from..];
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            at = from + length;
            if let Some(given) = value_behind(&rest[..length], &rest[length..]) {
                return Some(given);
            }
        }
    })
}

fn value_behind<'a>(name: &'a str, behind: &'a str) -> Option<Given<'a>> {
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
    (!plain.is_empty()).then_some(Given {
        name: plain,
        form,
        value,
    })
}

/// Nothing, empty quotes, or a comment.
fn is_empty(value: &str) -> bool {
    let value = value.trim();
    let rest = value
        .strip_prefix("\"\"")
        .or_else(|| value.strip_prefix("''"));
    let rest = rest.unwrap_or(value).trim();
    rest.is_empty()
        || (rest.starts_with('#') && rest.len() < value.len())
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
}
