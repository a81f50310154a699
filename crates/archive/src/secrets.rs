//! Passwords in files that are about to be given away. Looks at the text and not at
//! the meaning: what is commented out, or is no parameter at all, is a secret as well.

/// Parts of names that stand before secrets.
const WORDS: [&str; 3] = ["PASSW", "PASWORD", "SECRET"];

/// The lines (from 1) that give a secret, with its name: `PASSWORD=...`,
/// `Password: ...`, `"password": "..."`, `--password ...`, also behind a `#`.
pub fn secrets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for given in given(line) {
            if given.is_secret() && !given.names_a_file() && !given.is_empty() {
                found.push((number, given.name.to_owned()));
            }
        }
    }
    found
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
    use proptest::prelude::*;

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

    proptest! {
        /// Whatever the rc file's own reader takes for a password is found.
        #[test]
        fn no_password_that_the_reader_sees_is_missed(
            front in "[ \t]{0,2}(export )?",
            name in "PASSWORD|WINDOWS_PASSWORD",
            gap in "[ \t]{0,1}",
            value in "[ -~]{0,12}|\"[ -!#-~\n]{0,12}\"|'[ -&(-~\n]{0,12}'",
            before in "(LOAD=1\n|# x\n|\r\n){0,2}",
        ) {
            let text = format!("{before}{front}{name}{gap}={value}\n");
            let rc = filermark_config::rc::parse_rc("rc", &text);
            let given = rc.assignments.iter().any(|a| a.name == name && !a.value.trim().is_empty());
            prop_assert!(!given || !secrets(&text).is_empty(), "{text:?}");
        }
    }
}
