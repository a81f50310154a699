//! A count on each line: `nfsstat -s -l` of Linux, and plain tables that people write.

use super::names::{self, Version};
use super::types::{Taken, Wrong, count};
use crate::error::{nearest, quoted};

/// A line of `nfsstat -l`: the version, the side, the operation, the count.
fn parts(line: &str) -> Option<(Version, &str, &str, &str)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["nfs", version, whose, name, calls] = words.as_slice() else {
        return None;
    };
    let number = version.strip_prefix('v')?.parse().ok()?;
    Some((Version::of(number)?, whose, name.strip_suffix(':')?, calls))
}

/// Whether a line shows that the text is of this kind.
pub(super) fn detect(line: &str) -> bool {
    parts(line).is_some()
}

/// Reads `nfsstat -s -l`.
pub(super) fn read(text: &str, taken: &mut Taken) -> Result<(), Wrong> {
    let mut of_client = Vec::new();
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if line.chars().all(|c| c == '-' || c == ' ') {
            continue;
        }
        let Some((version, whose, name, calls)) = parts(line) else {
            if taken.counts.is_empty() && of_client.is_empty() {
                continue;
            }
            let message = format!("'{}' is not a line of nfsstat -l", quoted(line));
            return Err(Wrong::at(number, message, "take the line out"));
        };
        match whose {
            "server" | "servop" if name != "total" => {
                taken.put(version, name, count(calls, number)?, number)?;
            }
            "client" if name != "total" => {
                of_client.push((version, name.to_owned(), count(calls, number)?, number));
            }
            _ => {}
        }
    }
    taken.put_of_client(&of_client).map(drop)
}

/// The name and the count of a plain line.
fn pair(line: &str) -> Option<(&str, &str)> {
    let separates = |c: char| c.is_whitespace() || ":=,;".contains(c);
    let mut words = line.split(separates).filter(|w| !w.is_empty());
    let (name, calls) = (words.next()?, words.next()?);
    words.next().is_none().then_some((name, calls))
}

/// Whether a line has the name of an operation, or a similar one, and a count.
pub(super) fn is_plain(line: &str) -> bool {
    let Some((name, calls)) = pair(line) else {
        return false;
    };
    let number = calls.strip_prefix('-').unwrap_or(calls);
    let counts = number.bytes().all(|b| b.is_ascii_digit()) && !number.is_empty();
    is_head(line) || counts && (names::is_known(name) || near(name).is_some())
}

/// The line that may be above a table.
fn is_head(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    matches!(pair(&lower), Some(("op" | "operation", "count" | "calls")))
}

fn near(name: &str) -> Option<&'static str> {
    let all = Version::ALL.into_iter().flat_map(|v| v.names());
    nearest(name, all.copied())
}

/// Reads a plain table. Its names must be known, since people write it.
pub(super) fn read_plain(text: &str, taken: &mut Taken) -> Result<(), Wrong> {
    let mut counts: Vec<(String, u64, usize)> = Vec::new();
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if line.is_empty() || line.starts_with('#') || counts.is_empty() && is_head(line) {
            continue;
        }
        let Some((name, calls)) = pair(line) else {
            let message = format!("'{}' is not an operation and its count", quoted(line));
            return Err(Wrong::at(number, message, "write 'getattr 1200'"));
        };
        let calls = count(calls, number)?;
        if !names::is_known(name) {
            let hint = match near(name) {
                Some(near) => format!("did you mean {near}?"),
                None => "take the line out, or name an operation of NFS".into(),
            };
            let message = format!("there is no operation '{}'", quoted(name));
            return Err(Wrong::at(number, message, hint));
        }
        counts.push((name.to_owned(), calls, number));
    }
    taken.put_all(&counts)
}
