//! Passwords in files that are about to be given away. Looks at the text and not at
//! the meaning: what is commented out, or is no parameter at all, is a secret as well.

/// Parts of names that stand before secrets.
const WORDS: [&str; 3] = ["PASSW", "PASWORD", "SECRET"];

/// The lines (from 1) that give a secret, with its name: `PASSWORD=...`,
/// `Password=...` in a token file, also behind a `#`.
pub fn secrets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for (name, value) in assignments(line) {
            if is_secret(name) && !names_a_file(name) && !is_empty(value) {
                found.push((number, name.to_owned()));
            }
        }
    }
    found
}

/// The files that an rc file names as the place of a secret (PASSWORD_FILE,
/// SECRET_FILE), as it names them.
pub fn secret_files(text: &str) -> Vec<String> {
    let all = text.lines().flat_map(assignments);
    all.filter(|(name, value)| is_secret(name) && names_a_file(name) && !is_empty(value))
        .map(|(_, value)| {
            let value = value.trim();
            let quote = value.chars().next().filter(|c| ['"', '\''].contains(c));
            let end = match quote {
                Some(quote) => value[1..].find(quote).map(|at| &value[1..at + 1]),
                None => value.split_whitespace().next(),
            };
            end.unwrap_or(value).to_owned()
        })
        .collect()
}

fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    WORDS.iter().any(|word| upper.contains(word))
}

fn names_a_file(name: &str) -> bool {
    name.to_ascii_uppercase().ends_with("_FILE")
}

/// Name and what stands behind the `=`, for every `=` of a line.
fn assignments(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.match_indices('=').filter_map(|(at, _)| {
        let before = line[..at].trim_end();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = &before[before.trim_end_matches(is_part).len()..];
        (!name.is_empty()).then(|| (name, &line[at + 1..]))
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
