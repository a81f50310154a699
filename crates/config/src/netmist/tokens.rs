//! The token file: which client works on what, and where (manual N, section 9).
//!
//! `Key=value` words in any order, one line per proc (or per `Instances`); blanks
//! around the `=`, quotes around a value with blanks, `#` begins a comment. A
//! `Password` may be on a line of its own below the line that it belongs to.

mod lines;
mod scan;

use crate::composite::mounts::check_path;
use crate::error::{ConfigError, SourceLocation, quoted};
use crate::hosts::{NO_NAME, Pattern, check_program, check_user};
use crate::params::PROCS_MAX;
use lines::{Lines, ParsedLine};
use scan::{Scan, Word};
use std::collections::HashSet;

/// The most mistakes that are reported.
const ERRORS_MAX: usize = 50;

/// A line of the token file.
#[derive(Clone, PartialEq)]
pub struct TokenLine {
    /// The client's name; a line whose client is a range is here once for each.
    pub client: String,
    /// The user on the client, where the line names one.
    pub user: Option<String>,
    /// The program on the client, where the line names one.
    pub program: Option<String>,
    /// The directory to work in.
    pub workdir: String,
    /// The workload's name, as written.
    pub workload: String,
    /// Operations per second of each proc.
    pub oprate: Option<f64>,
    /// Procs that the line stands for.
    pub instances: u32,
    /// Whether it has a password, which is not kept.
    pub has_password: bool,
    /// The place of the line.
    pub location: SourceLocation,
    /// The place of the workload's name.
    pub workload_location: SourceLocation,
}

impl std::fmt::Debug for TokenLine {
    /// Everything but the password, which is not stored.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {} {} {:?} x {}",
            self.client, self.workdir, self.workload, self.oprate, self.instances
        )
    }
}

/// Reads a token file; `file` is its name in messages.
///
/// # Errors
/// Everything that is wrong with it, up to 50 mistakes.
pub fn parse_tokens(file: &str, text: &str) -> Result<Vec<TokenLine>, Vec<ConfigError>> {
    parse_known(file, text, &|_| None)
}

/// As [`parse_tokens`], with a check of workload names; each wrong name is reported once.
pub(super) fn parse_known(
    file: &str,
    text: &str,
    unknown: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<TokenLine>, Vec<ConfigError>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut errors = Vec::new();
    let mut entries: Vec<(SourceLocation, Vec<Word>)> = Vec::new();
    // Whether the line above is wrong: then a password below it is not checked.
    let mut after_wrong = false;
    for (i, line) in text.lines().enumerate() {
        if errors.len() >= ERRORS_MAX {
            break;
        }
        let before = errors.len();
        let words = words(file, i + 1, line, &mut errors);
        let sound = errors.len() == before;
        match (words.as_slice(), entries.last_mut()) {
            ([], _) => {}
            ([only], Some((_, last)))
                if only.key == "Password" && last.iter().all(|w| w.key != "Password") =>
            {
                last.extend(words);
            }
            ([only], _) if only.key == "Password" && after_wrong => {}
            _ if sound => entries.push((SourceLocation::line(file, i + 1, 1), words)),
            _ => {}
        }
        after_wrong = !sound;
    }
    let mut lines = Lines::default();
    let mut named = HashSet::new();
    for (place, words) in entries {
        if let Some(word) = words.iter().find(|w| w.key == "Workload")
            && named.insert(word.value.clone())
            && let Some(why) = unknown(&word.value)
        {
            errors.push(ConfigError::new(word.location.clone(), why, ""));
        }
        if let Some(parsed) = line_of(place, words, &mut errors) {
            lines.take(&parsed, &mut errors);
        }
        if errors.len() >= ERRORS_MAX {
            break;
        }
    }
    lines.report(file, &mut errors);
    let lines = lines.found;
    if lines.is_empty() && errors.is_empty() {
        errors.push(ConfigError::new(
            SourceLocation::File(file.to_owned()),
            "there is no client in the token file",
            "write lines: Clientname=localhost Workdir=/mnt/test Workload=METADATA",
        ));
    }
    match errors.is_empty() {
        true => Ok(lines),
        false => {
            errors.sort_by(|a, b| a.location.cmp(&b.location));
            errors.truncate(ERRORS_MAX);
            Err(errors)
        }
    }
}

/// The words of a line, as far as they can be read.
fn words(file: &str, line: usize, text: &str, errors: &mut Vec<ConfigError>) -> Vec<Word> {
    let mut scan = Scan::new(file, line, text);
    let mut words = Vec::new();
    loop {
        scan.skip_blanks();
        match scan.peek() {
            None | Some('#') => return words,
            Some(_) => {}
        }
        match scan.word() {
            Ok(word) if words.iter().any(|w: &Word| w.key == word.key) => {
                let message = format!("{} is twice on the line", word.key);
                errors.push(ConfigError::new(
                    word.location,
                    message,
                    "leave one of them out",
                ));
            }
            Ok(word) => words.push(word),
            Err(error) => {
                errors.push(error);
                // The words after a quote that is never closed cannot be separated.
                if errors.len() >= ERRORS_MAX || scan.is_at_end() {
                    return words;
                }
            }
        }
    }
}

/// Makes a line of its words, without its clients.
fn line_of(
    place: SourceLocation,
    words: Vec<Word>,
    errors: &mut Vec<ConfigError>,
) -> Option<ParsedLine> {
    let before = errors.len();
    let find = |key: &str| words.iter().find(|w| w.key == key);
    let mut required = |key: &str| {
        let found = find(key);
        if found.is_none() {
            let message = format!("the line has no {key}");
            let hint = "a line needs Clientname, Workdir and Workload";
            errors.push(ConfigError::new(place.clone(), message, hint));
        }
        found
    };
    let (client, workdir, workload) = (
        required("Clientname"),
        required("Workdir"),
        required("Workload"),
    );
    let mut wrong = |word: &Word, what: &str, hint: &str| {
        let message = format!("{}={} {what}", word.key, quoted(&word.value));
        errors.push(ConfigError::new(word.location.clone(), message, hint));
    };
    let pattern = client.and_then(|word| match Pattern::parse(&word.value) {
        Ok(pattern) => Some(pattern),
        Err((what, hint)) => {
            let what = match what == NO_NAME {
                true => "is not a valid host name",
                false => &what,
            };
            wrong(word, what, &hint);
            None
        }
    });
    for (key, check) in [
        ("Username", check_user as fn(&str) -> _),
        ("Execpath", check_program),
    ] {
        if let Some(word) = find(key)
            && let Err((what, hint)) = check(&word.value)
        {
            wrong(word, &what, &hint);
        }
    }
    if let Some(word) = workdir
        && let Err((what, hint)) = check_path(&word.value)
    {
        wrong(word, &what, &hint);
    }
    let oprate = find("Oprate").and_then(|word| match rate(&word.value) {
        Some(rate) => Some(rate),
        None => {
            wrong(
                word,
                "is not a rate",
                "give operations per second, e.g. Oprate=10",
            );
            None
        }
    });
    let instances = match find("Instances") {
        None => 1,
        Some(word) => match word.value.parse::<u32>() {
            Ok(n) if (1..=PROCS_MAX).contains(&u64::from(n)) => n,
            _ => {
                let hint = format!("give a whole number from 1 to {PROCS_MAX}");
                wrong(word, "is not a number of copies", &hint);
                1
            }
        },
    };
    let (pattern, workdir, workload) = (pattern?, workdir?, workload?);
    let text = |key: &str| find(key).map(|word| word.value.clone());
    let line = TokenLine {
        client: String::new(),
        user: text("Username"),
        program: text("Execpath"),
        workdir: workdir.value.clone(),
        workload: workload.value.clone(),
        oprate,
        instances,
        has_password: find("Password").is_some(),
        location: place,
        workload_location: workload.location.clone(),
    };
    let place_of = |key: &str| find(key).map(|word| word.location.clone());
    (errors.len() == before).then(|| ParsedLine {
        pattern,
        line,
        login_locations: [place_of("Username"), place_of("Execpath")],
    })
}

/// Operations per second above zero, up to a billion.
pub(crate) fn rate(text: &str) -> Option<f64> {
    let rate = text.parse::<f64>().ok()?;
    (rate > 0.0 && rate <= 1e9).then_some(rate)
}

#[cfg(test)]
mod tests;
