//! NFS-Ganesha's statistics as `ganesha_stats` prints them. `fast` has a count on each
//! line below the name of the protocol; `v3_full` and `v4_full` have a table with
//! latencies, for which counting must be switched on. `global` and `inode` have no
//! counts of operations.

use super::names::Version;
use super::types::{Taken, Wrong, count};
use crate::error::quoted;

/// Lines that begin one of its outputs.
const BEGINS: [&str; 7] = [
    "fast stats",
    "global stats",
    "global ops:",
    "nfsv3 detailed statistics",
    "nfsv4 detailed statistics",
    "inode cache ",
    "total stats for export",
];

/// Whether a line shows that the text is of this kind.
pub(super) fn detect(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    BEGINS.iter().any(|begin| lower.starts_with(begin))
        || lower.starts_with("total nfsv3 ops")
        || lower.contains("ganesha response status")
        || lower == "nfsv3:"
}

/// The kind of the following lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// `fast`: NAME : COUNT.
    Counts(Version),
    /// `v3_full`, `v4_full`: NAME TOTAL ERROR ... | latencies.
    Table(Version),
    /// Of another protocol, or text.
    Other,
}

/// Reads such a text.
pub(super) fn read(text: &str, taken: &mut Taken) -> Result<(), Wrong> {
    let mut section = Section::Other;
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if let Some(next) = heading(line) {
            section = next;
            continue;
        }
        match section {
            Section::Other => {}
            Section::Counts(version) => {
                if let Some((name, calls)) = line.split_once(':') {
                    // Times have colons, too.
                    if is_name(name.trim()) {
                        let calls = count(calls.trim(), number)?;
                        taken.put(version, name.trim(), calls, number)?;
                    }
                } else if !line.is_empty() {
                    return Err(malformed(line, number));
                }
            }
            Section::Table(version) => row(line, number, version, taken)?,
        }
    }
    match taken.counts.is_empty() {
        true => Err(without(text)),
        false => Ok(()),
    }
}

fn heading(line: &str) -> Option<Section> {
    let lower = line.to_ascii_lowercase();
    if lower.starts_with("nfsv3 detailed") {
        return Some(Section::Table(Version::V3));
    }
    if lower.starts_with("nfsv4 detailed") {
        return Some(Section::Table(Version::V4));
    }
    match lower.as_str() {
        "nfsv3:" => Some(Section::Counts(Version::V3)),
        "nfsv4:" => Some(Section::Counts(Version::V4)),
        _ => lower.ends_with(':').then_some(Section::Other),
    }
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A line of the table with latencies.
fn row(line: &str, number: usize, version: Version, taken: &mut Taken) -> Result<(), Wrong> {
    let Some((counts, _)) = line.split_once('|') else {
        return Ok(());
    };
    let words: Vec<&str> = counts.split_whitespace().collect();
    match words.as_slice() {
        [name, total, ..] if is_name(name) && !["Total", "Details"].contains(total) => {
            taken.put(version, name, count(total, number)?, number)
        }
        _ => Ok(()),
    }
}

fn malformed(line: &str, number: usize) -> Wrong {
    let message = format!("'{}' is not a line of ganesha_stats", quoted(line));
    Wrong::at(number, message, "take the line out")
}

fn without(text: &str) -> Wrong {
    let lower = text.to_ascii_lowercase();
    let message = match lower.contains("inode cache") {
        true => "these are the figures of a cache; no operation is counted",
        false => "no operation of NFS is counted here",
    };
    let hint = "give what `ganesha_stats fast` or `ganesha_stats v3_full` prints; the latter \
                counts after `ganesha_stats enable v3_full`";
    Wrong::whole_file(message, hint)
}
