//! How often each operation of a server was called, or a client has called it, from its own tools: `nfsstat -s` in the
//! layouts of several systems, the kernel's counters, NFS-Ganesha's statistics, metrics,
//! or a plain table.
//!
//! Each layout ([`Dialect`]) is read in a file of its own, into the same counts per
//! version of the protocol ([`Statistics`]). `mix` makes a mix of them, `text` a mix file.
//! This module reads texts; it connects to no server and opens no file.

mod ganesha;
mod json;
mod list;
mod metrics;
mod mix;
mod names;
mod proc;
mod table;
mod text;
pub(crate) mod types;

pub use mix::{Difference, LeftOut, MixOfCounts, Share};
pub use names::{Version, is_of_version4, ops_of};
pub use text::mix_file;
pub use types::{Dialect, Statistics};

use crate::error::{ConfigError, SourceLocation, quoted};
use filermark_model::text::sanitize;
use std::collections::BTreeMap;
use types::{MIXFILE_HEADER, Taken, Wrong};

/// The most that a statistics file may have, in bytes. The metrics of a large host have
/// some 200 KiB.
pub const TEXT_BYTES_MAX: usize = 2 << 20;
/// The most lines.
const LINES_MAX: usize = 50_000;

impl Dialect {
    /// The layout of a text, by its first distinctive line.
    pub fn of(text: &str) -> Option<Self> {
        let lines = || text.lines().map(str::trim).take(LINES_MAX);
        let tests: [(Self, DetectFormat); 6] = [
            (Self::Json, |l| l.starts_with('{')),
            (Self::Metrics, metrics::detect),
            (Self::Kernel, proc::detect),
            (Self::NfsstatList, list::detect),
            (Self::Ganesha, ganesha::detect),
            (Self::Nfsstat, table::detect),
        ];
        for line in lines().filter(|l| !l.is_empty()) {
            if let Some((dialect, _)) = tests.iter().find(|(_, detect)| detect(line)) {
                return Some(*dialect);
            }
        }
        let first = lines().find(|l| !l.is_empty() && !l.starts_with('#'))?;
        list::is_plain(first).then_some(Self::Plain)
    }
}

/// Whether a line shows that a text is of some kind.
type DetectFormat = fn(&str) -> bool;

/// Reads statistics; `file` is their name in messages.
///
/// # Errors
/// They are in none of the layouts, or something is wrong in them; with the line.
pub fn read_statistics(file: &str, text: &str) -> Result<Statistics, ConfigError> {
    read(file, text).map_err(|wrong| {
        let place = match wrong.line {
            0 => SourceLocation::File(file.to_owned()),
            line => SourceLocation::line(file, line, 1),
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
        return Err(Wrong::whole_file(
            message,
            "give the statistics of one server, once",
        ));
    }
    if text.lines().next() == Some(MIXFILE_HEADER) {
        return Err(Wrong::at(
            1,
            "this is a mix file already, not statistics",
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
    for ((version, name), (calls, _)) in std::mem::take(&mut taken.counts) {
        versions.entry(version).or_default().insert(name, calls);
    }
    if versions.is_empty() {
        let message = format!("{} without a count of an operation", dialect.name());
        return Err(Wrong::whole_file(message, "give all that the tool prints"));
    }
    Ok(Statistics {
        file: sanitize(file, 200),
        dialect,
        of_client: taken.of_client,
        versions,
    })
}

fn unknown(text: &str) -> Wrong {
    let mut lines = text.lines().map(str::trim).zip(1..);
    let first = lines.find(|(l, _)| !l.is_empty() && !l.starts_with('#'));
    let hint = "give what `nfsstat -s`, `cat /proc/net/rpc/nfsd` or `ganesha_stats fast` print, \
                or lines with an operation and its count, e.g. 'getattr 1200'";
    match first {
        None => Wrong::whole_file("there is nothing in it", hint),
        Some((line, number)) => Wrong::at(
            number,
            format!("'{}' does not begin any known statistics", quoted(line)),
            hint,
        ),
    }
}

#[cfg(test)]
mod tests;
