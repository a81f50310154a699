//! `nfsstat -s` as SunOS, Solaris, the BSDs and Linux print it: below a heading are rows
//! of names, each over a row of counts, with or without shares in percent. nhfsstone took
//! its mixes in this form.

use super::names::{self, Version};
use super::types::{Taken, Wrong, count};
use crate::error::quoted;

/// The fewest known names that make a row of them.
const NAMES_MIN: usize = 4;

const CUT: &str = "give all that nfsstat prints, with its lines as they are";

/// Whether a line shows that the text is of this kind.
pub(super) fn detect(line: &str) -> bool {
    matches!(heading(line), Some(h) if h != TableHeading::OtherTable)
        || line.to_ascii_lowercase().starts_with("server rpc")
        || line.to_ascii_lowercase().starts_with("client ")
        || is_names(line)
            && line
                .split_whitespace()
                .filter(|w| names::is_known(w))
                .count()
                >= NAMES_MIN
}

/// The kind of a line without counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableHeading {
    /// NFS calls of the server, of a version or of what follows.
    Server(Option<Version>),
    /// BSD's name for it: versions 2 and 3 together, by the names of version 3.
    Info,
    /// A version under [`Heading::Server`].
    Version(Version),
    /// Calls of a client, of a version; `None`: something else that a client did.
    Client(Option<Version>),
    /// Anything else.
    OtherTable,
}

/// Where the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// Before the first heading: rows without counts, and other lines are allowed here.
    Start,
    /// Below a heading of the server's NFS calls.
    Calls(Option<Version>),
    /// Below another heading.
    OtherTable,
    /// Below one of a client: its NFS calls, or others.
    Client(Option<Version>),
}

fn heading(line: &str) -> Option<TableHeading> {
    let lower = line.to_ascii_lowercase();
    let mut words = lower.split_whitespace();
    let (first, second) = (words.next()?, words.next().unwrap_or_default());
    let number = |word: &str| {
        let digits = word
            .trim_end_matches(':')
            .trim_start_matches(['n', 'f', 's', 'v']);
        digits.parse().ok().and_then(Version::of)
    };
    match (first, second.trim_end_matches(':')) {
        ("client", "nfs") => Some(TableHeading::Client(words.next().and_then(number))),
        ("client", _) => Some(TableHeading::Client(None)),
        ("server", "info") => Some(TableHeading::Info),
        ("server", "nfs") => Some(TableHeading::Server(words.next().and_then(number))),
        ("server", nfs) if number(nfs).is_some() => Some(TableHeading::Server(number(nfs))),
        ("version", version) => {
            Some(number(version).map_or(TableHeading::OtherTable, TableHeading::Version))
        }
        _ => (first == "server" || line.ends_with(':')).then_some(TableHeading::OtherTable),
    }
}

/// Whether a line has names only.
fn is_names(line: &str) -> bool {
    let is_name = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    !line.is_empty() && line.split_whitespace().all(is_name)
}

/// A row of names whose counts follow.
struct Row<'a> {
    line: usize,
    names: Vec<&'a str>,
}

/// Reads such a text.
pub(super) fn read(text: &str, taken: &mut Taken) -> Result<(), Wrong> {
    let mut section = Section::Start;
    let mut row: Option<Row<'_>> = None;
    // Rows below a heading without a version; it follows from all of their names.
    let mut open: Vec<(String, u64, usize)> = Vec::new();
    let mut client = false;
    // Taken where there is nothing of a server.
    let mut of_client: Vec<(Version, String, u64, usize)> = Vec::new();
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if line.is_empty() {
            continue;
        }
        if let Some(heading) = heading(line) {
            if let Some(row) = row.take() {
                return Err(without_counts(&row));
            }
            section = below(section, heading);
            client |= matches!(section, Section::Client(_));
            continue;
        }
        let version = match section {
            Section::Calls(version) => version,
            Section::Client(Some(version)) => Some(version),
            Section::Start => None,
            Section::OtherTable | Section::Client(None) => continue,
        };
        match row.take() {
            Some(row) => {
                let counts = counts(line, number, &row)?;
                for (name, calls) in row.names.iter().zip(counts) {
                    match version {
                        Some(version) if matches!(section, Section::Client(_)) => {
                            of_client.push((version, (*name).to_owned(), calls, number));
                        }
                        Some(version) => taken.put(version, name, calls, number)?,
                        None => open.push(((*name).to_owned(), calls, number)),
                    }
                }
            }
            None if is_names(line) => row = names_of(line, number, section),
            None if section == Section::Start => {}
            // The totals under `calls badcalls`.
            None if line.starts_with(|c: char| c.is_ascii_digit()) => {}
            None => {
                let message = format!("'{}' is neither names nor counts", quoted(line));
                return Err(Wrong::at(number, message, "take the line out"));
            }
        }
    }
    if let Some(row) = row {
        return Err(without_counts(&row));
    }
    taken.put_all(&open)?;
    let has_any = taken.put_of_client(&of_client)?;
    match client && !has_any {
        true => Err(Wrong::whole_file(
            "these are statistics of a client, in a form that is not read",
            "run `nfsstat -s` on the server, or `nfsstat -c` on Linux",
        )),
        false => Ok(()),
    }
}

/// The section below a heading.
fn below(section: Section, heading: TableHeading) -> Section {
    match (heading, section) {
        (TableHeading::Server(version), _) => Section::Calls(version),
        (TableHeading::Info, _) => Section::Calls(Some(Version::V3)),
        (TableHeading::Version(v), Section::Start | Section::Calls(_)) => Section::Calls(Some(v)),
        (TableHeading::Client(version), _) => Section::Client(version),
        (_, Section::Client(_)) => Section::Client(None),
        _ => Section::OtherTable,
    }
}

/// The row that names begin; `None`: totals, or words before the first heading.
fn names_of(line: &str, number: usize, section: Section) -> Option<Row<'_>> {
    let names: Vec<&str> = line.split_whitespace().collect();
    let totals = names
        .first()
        .is_some_and(|n| n.eq_ignore_ascii_case("calls"));
    let words = section == Section::Start && !names.iter().any(|n| names::is_known(n));
    (!totals && !words).then_some(Row {
        line: number,
        names,
    })
}

/// The counts below a row of names, without shares.
fn counts(line: &str, number: usize, row: &Row<'_>) -> Result<Vec<u64>, Wrong> {
    let words = line.split_whitespace().filter(|w| !w.ends_with('%'));
    let counts = words
        .map(|w| count(w, number))
        .collect::<Result<Vec<_>, _>>()?;
    match counts.len() == row.names.len() {
        true => Ok(counts),
        false => Err(Wrong::at(
            number,
            format!(
                "{} counts below the {} names of line {}",
                counts.len(),
                row.names.len(),
                row.line
            ),
            CUT,
        )),
    }
}

fn without_counts(row: &Row<'_>) -> Wrong {
    Wrong::at(row.line, "there are no counts below these names", CUT)
}
