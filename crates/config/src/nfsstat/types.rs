//! The type that all layouts are read into, and the errors in them.

use super::names::{self, Version};
use crate::error::quoted;
use std::collections::BTreeMap;

/// The exact first line of a mix file.
pub const MIXFILE_HEADER: &str = "SFS MIXFILE VERSION 2";
/// The most names with counts; the versions have 115 together.
pub(super) const NAMES_MAX: usize = 1_000;

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
    /// Its name in messages.
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
}

/// Counts by the protocol's names, per version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// The name of the text in messages.
    pub file: String,
    /// Its layout.
    pub dialect: Dialect,
    /// They are those of a client: what it has sent.
    pub of_client: bool,
    pub(super) versions: BTreeMap<Version, BTreeMap<String, u64>>,
}

/// What is wrong with a line; becomes a [`ConfigError`](crate::ConfigError).
#[derive(Debug)]
pub(super) struct Wrong {
    /// From 1; 0: the whole text.
    pub line: usize,
    pub message: String,
    pub hint: String,
}

impl Wrong {
    pub fn at(line: usize, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self {
            line,
            message,
            hint,
        }
    }

    pub fn whole_file(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::at(0, message, hint)
    }
}

/// The counts that have been read so far.
#[derive(Default)]
pub(super) struct Taken {
    /// They are those of a client.
    pub of_client: bool,
    pub counts: BTreeMap<(Version, String), (u64, usize)>,
}

impl Taken {
    /// Adds a count; `name` as the tool spells it.
    pub fn put(
        &mut self,
        version: Version,
        name: &str,
        calls: u64,
        line: usize,
    ) -> Result<(), Wrong> {
        let name = match self.of_client {
            true => names::named_by_client(version, name),
            false => names::named(version, name),
        };
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
                "the file has two snapshots of the server, or two servers: keep one of them; give \
                 an earlier one with --since",
            )),
        }
    }

    /// Adds what a client has counted, where there is nothing of a server. Returns whether there is anything.
    pub fn put_of_client(
        &mut self,
        counts: &[(Version, String, u64, usize)],
    ) -> Result<bool, Wrong> {
        if self.counts.is_empty() {
            self.of_client = !counts.is_empty();
            for (version, name, calls, line) in counts {
                self.put(*version, name, *calls, *line)?;
            }
        }
        Ok(!self.counts.is_empty())
    }

    /// Adds counts whose version follows only from their names.
    pub fn put_all(&mut self, counts: &[(String, u64, usize)]) -> Result<(), Wrong> {
        let version = names::version_of(counts.iter().map(|(name, _, _)| name.as_str()));
        let mut counts = counts.iter();
        counts.try_for_each(|(name, calls, line)| self.put(version, name, *calls, *line))
    }
}

/// A count as tools print it.
pub(super) fn count(word: &str, line: usize) -> Result<u64, Wrong> {
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
            format!("'{shown}' is not a count"),
            "give the output as the tool printed it, with no other text before, between or after it",
        ),
    })
}
