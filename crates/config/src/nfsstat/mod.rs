//! How often a server was asked for what, as its own tools tell it: `nfsstat -s` in the
//! layouts of several systems, the kernel's counters, NFS-Ganesha's statistics, metrics,
//! or a plain table.
//!
//! Each layout ([`Dialect`]) is read in a file of its own, into the same counts per
//! version of the protocol ([`Statistics`]). `mix` makes a mix of them, `text` a mix file.
//! This room reads texts; it asks no server and opens no file.

mod ganesha;
mod json;
mod list;
mod metrics;
mod mix;
mod names;
mod proc;
mod table;
mod text;

pub use mix::{Difference, LeftOut, MixOfCounts, Share};
pub use names::Version;
pub use text::mix_file;

use crate::error::{ConfigError, Place, quoted};
use crate::mixfile::MIXFILE_HEADER;
use filermark_model::words::tame;
use std::collections::BTreeMap;

/// The most that a statistics file may have, in bytes. The metrics of a large host have
/// some 200 KiB.
pub const TEXT_BYTES_MAX: usize = 2 << 20;
/// The most lines.
const LINES_MAX: usize = 50_000;
/// The most names with counts; the versions have 115 together.
const NAMES_MAX: usize = 1_000;

/// The layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Rows of names over rows of counts: `nfsstat -s` of SunOS, Solaris, the BSDs and
    /// Linux.
    Nfsstat,
    /// `nfsstat -s -l` of Linux.
    NfsstatList,
    /// `/proc/net/rpc/nfsd` of Linux.
    Kernel,
    /// The text of `ganesha_stats fast`, `v3_full` and `v4_full`.
    Ganesha,
    /// JSON: `ganesha_stats json fast`, or operations with their counts.
    Json,
    /// Prometheus's text format, of its node exporter.
    Metrics,
    /// An operation and its count on each line.
    Plain,
}

impl Dialect {
    /// What to call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nfsstat => "output of nfsstat -s",
            Self::NfsstatList => "output of nfsstat -s -l",
            Self::Kernel => "/proc/net/rpc/nfsd",
            Self::Ganesha => "output of ganesha_stats",
            Self::Json => "counts as JSON",
            Self::Metrics => "metrics of node_exporter",
            Self::Plain => "table of counts",
        }
    }

    /// The layout that a text has, by its first telling line.
    pub fn of(text: &str) -> Option<Self> {
        let lines = || text.lines().map(str::trim).take(LINES_MAX);
        let tests: [(Self, Tells); 6] = [
            (Self::Json, |l| l.starts_with('{')),
            (Self::Metrics, metrics::tells),
            (Self::Kernel, proc::tells),
            (Self::NfsstatList, list::tells),
            (Self::Ganesha, ganesha::tells),
            (Self::Nfsstat, table::tells),
        ];
        for line in lines().filter(|l| !l.is_empty()) {
            if let Some((dialect, _)) = tests.iter().find(|(_, tells)| tells(line)) {
                return Some(*dialect);
            }
        }
        let first = lines().find(|l| !l.is_empty() && !l.starts_with('#'))?;
        list::is_plain(first).then_some(Self::Plain)
    }
}

/// Whether a line shows that a text is of some kind.
type Tells = fn(&str) -> bool;

/// Counts by the protocol's names, per version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// What messages call the text.
    pub file: String,
    /// Its layout.
    pub dialect: Dialect,
    versions: BTreeMap<Version, BTreeMap<String, u64>>,
}

/// What is wrong with a line; becomes a [`ConfigError`].
#[derive(Debug)]
struct Wrong {
    /// From 1; 0: the whole text.
    line: usize,
    message: String,
    hint: String,
}

impl Wrong {
    fn at(line: usize, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self {
            line,
            message,
            hint,
        }
    }

    fn whole(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::at(0, message, hint)
    }
}

/// What has been read so far.
#[derive(Default)]
struct Taken {
    counts: BTreeMap<(Version, String), (u64, usize)>,
}

impl Taken {
    /// Takes a count; `name` as the tool spells it.
    fn put(&mut self, version: Version, name: &str, calls: u64, line: usize) -> Result<(), Wrong> {
        let name = names::named(version, name);
        if self.counts.len() >= NAMES_MAX {
            let message = format!("more than {NAMES_MAX} operations");
            return Err(Wrong::at(
                line,
                message,
                "give the statistics of one server",
            ));
        }
        let number = version.number();
        match self.counts.insert((version, name.clone()), (calls, line)) {
            None => Ok(()),
            Some((_, before)) => Err(Wrong::at(
                line,
                format!("{name} of version {number} has been counted in line {before} already"),
                "the file holds two looks at the server, or two servers: keep one of them; give \
                 an earlier one with --since",
            )),
        }
    }

    /// Takes counts that nothing gives a version, but their names.
    fn put_all(&mut self, counts: &[(String, u64, usize)]) -> Result<(), Wrong> {
        let version = names::version_of(counts.iter().map(|(name, _, _)| name.as_str()));
        let mut counts = counts.iter();
        counts.try_for_each(|(name, calls, line)| self.put(version, name, *calls, *line))
    }
}

/// Reads statistics; `file` is what messages call them.
///
/// # Errors
/// They are in none of the layouts, or something is wrong in them; with the line.
pub fn read_statistics(file: &str, text: &str) -> Result<Statistics, ConfigError> {
    read(file, text).map_err(|wrong| {
        let place = match wrong.line {
            0 => Place::File(file.to_owned()),
            line => Place::line(file, line, 1),
        };
        ConfigError::new(place, wrong.message, wrong.hint)
    })
}

fn read(file: &str, text: &str) -> Result<Statistics, Wrong> {
    if text.len() > TEXT_BYTES_MAX || text.lines().count() > LINES_MAX {
        let message = format!(
            "there are more than {} MiB or {LINES_MAX} lines",
            TEXT_BYTES_MAX >> 20
        );
        return Err(Wrong::whole(
            message,
            "give the statistics of one server, once",
        ));
    }
    if text.lines().next() == Some(MIXFILE_HEADER) {
        return Err(Wrong::at(
            1,
            "this is a mix file already, and no statistics",
            "give it to a run as it is: -o MIXFILE=NAME",
        ));
    }
    let Some(dialect) = Dialect::of(text) else {
        return Err(unknown(text));
    };
    let mut taken = Taken::default();
    match dialect {
        Dialect::Nfsstat => table::read(text, &mut taken),
        Dialect::NfsstatList => list::read(text, &mut taken),
        Dialect::Kernel => proc::read(text, &mut taken),
        Dialect::Ganesha => ganesha::read(text, &mut taken),
        Dialect::Json => json::read(text, &mut taken),
        Dialect::Metrics => metrics::read(text, &mut taken),
        Dialect::Plain => list::read_plain(text, &mut taken),
    }?;
    let mut versions: BTreeMap<Version, BTreeMap<String, u64>> = BTreeMap::new();
    for ((version, name), (calls, _)) in taken.counts {
        versions.entry(version).or_default().insert(name, calls);
    }
    if versions.is_empty() {
        let message = format!("{} without a count of an operation", dialect.name());
        return Err(Wrong::whole(message, "give all that the tool prints"));
    }
    Ok(Statistics {
        file: tame(file, 200),
        dialect,
        versions,
    })
}

fn unknown(text: &str) -> Wrong {
    let mut lines = text.lines().map(str::trim).zip(1..);
    let told = lines.find(|(l, _)| !l.is_empty() && !l.starts_with('#'));
    let hint = "give what `nfsstat -s`, `cat /proc/net/rpc/nfsd` or `ganesha_stats fast` print, \
                or lines with an operation and its count, e.g. 'getattr 1200'";
    match told {
        None => Wrong::whole("there is nothing in it", hint),
        Some((line, number)) => Wrong::at(
            number,
            format!("'{}' begins no statistics that are known", quoted(line)),
            hint,
        ),
    }
}

/// A count as tools print it.
fn count(word: &str, line: usize) -> Result<u64, Wrong> {
    let is_digits = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_digit());
    if let Ok(count) = word.parse::<u64>()
        && is_digits(word)
    {
        return Ok(count);
    }
    let shown = quoted(word);
    Err(match word.strip_prefix('-') {
        Some(rest) if is_digits(rest) => Wrong::at(
            line,
            format!("{shown} calls: a count below zero; the counter has overflowed"),
            "reset the server's counters (nfsstat -z, or a restart) and take a shorter time",
        ),
        _ if is_digits(word) => Wrong::at(
            line,
            format!("{shown} calls are more than any counter holds"),
            "take the statistics again",
        ),
        _ => Wrong::at(
            line,
            format!("'{shown}' is no count"),
            "give the output as the tool printed it, with nothing before, between or behind",
        ),
    })
}

#[cfg(test)]
mod tests;
