//! From counts to a mix: the version, the benchmark's operation for each counted one,
//! and shares that add up.
#![deny(clippy::wildcard_enum_match_arm)]

use super::names::Version;
use super::types::{Dialect, Statistics};
use crate::error::{ConfigError, SourceLocation};
use filermark_model::mix::MixError;
use filermark_model::{Mix, Op};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Shares are counted in thousandths of a percent.
const WHOLE: u32 = 100_000;

/// An operation of the mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which.
    pub op: Op,
    /// How often it was called; never 0.
    pub calls: u128,
    /// Its share, in thousandths of a percent; 0: too rare.
    pub thousandths: u32,
}

impl Share {
    /// The share in percent.
    pub fn percent(&self) -> f64 {
        f64::from(self.thousandths) / 1_000.0
    }
}

/// An operation that was called and that no mix has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The name that the RFC or the tool has for it.
    pub name: String,
    /// How often it was called.
    pub calls: u64,
}

/// How an operation's share differs from another mix's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Which.
    pub op: Op,
    /// Its share here, percent.
    pub share: f64,
    /// Its share there, percent.
    pub other_share: f64,
}

/// A mix, and how the counts were converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MixOfCounts {
    /// The name of the statistics.
    pub file: String,
    /// Their layout.
    pub dialect: Dialect,
    /// They are those of a client: what it has sent.
    pub of_client: bool,
    /// The version that was taken.
    pub version: Version,
    /// Versions that were not, with their calls.
    pub others: Vec<(Version, u128)>,
    /// Calls of COMPOUND, which is not an operation itself (version 4).
    pub compounds: Option<u64>,
    /// Operations that were counted, of the mix or not.
    pub counted: u128,
    /// Those of the mix, by the order of [`Op::ALL`].
    pub shares: Vec<Share>,
    /// Those that are not in the mix, most calls first.
    pub omitted: Vec<LeftOut>,
    /// Operations that were counted as others; sentences.
    pub remarks: Vec<String>,
}

impl Statistics {
    /// The calls between an earlier snapshot of the same server and this one.
    ///
    /// # Errors
    /// A counter went backwards, or the two have no version in common.
    pub fn since(&self, earlier: &Self) -> Result<Self, ConfigError> {
        let wrong = |message: String, hint: &str| {
            ConfigError::new(SourceLocation::File(self.file.clone()), message, hint)
        };
        if self.of_client != earlier.of_client {
            let message = format!(
                "one of this and {} is of a client, the other of a server",
                earlier.file
            );
            return Err(wrong(message, "take both with the same command"));
        }
        let mut versions = BTreeMap::new();
        for (version, before) in &earlier.versions {
            let Some(now) = self.versions.get(version) else {
                continue;
            };
            let mut counts = now.clone();
            for (name, was) in before {
                let is = counts.entry(name.clone()).or_insert(0);
                let number = version.number();
                *is = is.checked_sub(*was).ok_or_else(|| {
                    let message = format!(
                        "{name} of version {number} has {is} calls here and had {was} in {}: the \
                         counters were reset in between (a restart, nfsstat -z, an overflow), or \
                         the two files are in the wrong order",
                        earlier.file
                    );
                    wrong(
                        message,
                        "take both snapshots again, without a restart in between",
                    )
                })?;
            }
            versions.insert(*version, counts);
        }
        match versions.is_empty() {
            true => {
                let message = format!("it has no version of NFS in common with {}", earlier.file);
                Err(wrong(message, "take both with the same command"))
            }
            false => Ok(Self {
                file: self.file.clone(),
                dialect: self.dialect,
                of_client: self.of_client,
                versions,
            }),
        }
    }

    /// Whether there are calls of a version.
    pub fn has(&self, version: Version) -> bool {
        self.calls(version) > 0
    }

    /// Calls of a version: of version 4 those of COMPOUND, where they are counted.
    fn calls(&self, version: Version) -> u128 {
        let Some(counts) = self.versions.get(&version) else {
            return 0;
        };
        match counts.get("compound") {
            Some(compounds) if version == Version::V4 && *compounds > 0 => (*compounds).into(),
            _ => counts.values().map(|c| u128::from(*c)).sum(),
        }
    }

    /// The mix of a version, or else of that with the most calls, for a benchmark that
    /// has `ops`.
    ///
    /// # Errors
    /// There is no call of that version, or no operation that a mix can have.
    pub fn mix(&self, version: Option<Version>, ops: &[Op]) -> Result<MixOfCounts, ConfigError> {
        let wrong = |message: String, hint: &str| {
            ConfigError::new(SourceLocation::File(self.file.clone()), message, hint)
        };
        let called = Version::ALL.into_iter().filter(|v| self.calls(*v) > 0);
        // The newest of those with equal counts.
        let most = called.clone().max_by_key(|v| self.calls(*v));
        let version = match version {
            Some(asked) if self.calls(asked) == 0 => {
                let has: Vec<String> = called.map(|v| v.number().to_string()).collect();
                let message = format!("no call of NFS version {} is counted", asked.number());
                let hint = match has.is_empty() {
                    true => "no other version has one, either".to_owned(),
                    false => format!("there are calls of version {}", has.join(" and ")),
                };
                return Err(wrong(message, &hint));
            }
            Some(asked) => asked,
            None => most.ok_or_else(|| {
                let hint = "take the statistics from a server that has been used";
                wrong("every count is 0".into(), hint)
            })?,
        };
        let none = BTreeMap::new();
        let counts = self.versions.get(&version).unwrap_or(&none);
        // A version 2 mix is for version 2: operations that it lacks are left out and reported.
        let of_version: Vec<Op> = match version {
            Version::V2 => ops
                .iter()
                .copied()
                .filter(|op| Op::NFS2.contains(op))
                .collect(),
            Version::V3 | Version::V4 => ops.to_vec(),
        };
        let sorted = SortedCounts::of(version, counts, &of_version);
        let shares = shares(&sorted.ops);
        if shares.is_empty() {
            let message = format!(
                "of NFS version {} no operation is counted that a mix can have",
                version.number()
            );
            let hint = match version {
                Version::V4 => "give the counts of the operations, too, not only of COMPOUND",
                Version::V2 | Version::V3 => {
                    "take another version (--nfs-version), or other statistics"
                }
            };
            return Err(wrong(message, hint));
        }
        if shares.iter().all(|s| s.op == Op::Null) {
            let message = format!(
                "of NFS version {} nothing but null is counted: calls that do nothing, as a \
                 mount or a test of the server makes them",
                version.number()
            );
            let hint = "take the statistics from a server that has been used";
            return Err(wrong(message, hint));
        }
        Ok(MixOfCounts {
            file: self.file.clone(),
            dialect: self.dialect,
            of_client: self.of_client,
            version,
            others: called
                .filter(|v| *v != version)
                .map(|v| (v, self.calls(v)))
                .collect(),
            compounds: counts.get("compound").copied().filter(|c| *c > 0),
            counted: sorted.counted,
            shares,
            omitted: sorted.omitted,
            remarks: sorted.remarks,
        })
    }
}

/// Counts, sorted by their use in the mix.
#[derive(Default)]
struct SortedCounts {
    ops: BTreeMap<Op, u128>,
    omitted: Vec<LeftOut>,
    remarks: Vec<String>,
    counted: u128,
}

impl SortedCounts {
    fn of(version: Version, counts: &BTreeMap<String, u64>, ops: &[Op]) -> Self {
        let mut sorted = Self::default();
        for (name, calls) in counts.iter().filter(|(_, calls)| **calls > 0) {
            if version == Version::V4 && name == "compound" {
                continue;
            }
            sorted.counted += u128::from(*calls);
            let of = |name: &str| counts.get(name).copied().unwrap_or(0);
            // What CREATE has made must be removed, too, by REMOVE.
            let split = match (version, name.as_str()) {
                (Version::V4, "open") => Some(SplitOperation {
                    to: Op::Create,
                    calls: of("remove").saturating_sub(of("create")),
                    why: "as many as files are removed",
                    // A run over version 4 opens the others, too.
                    rest: match ops.contains(&Op::Open) {
                        true => Op::Open,
                        false => Op::Lookup,
                    },
                }),
                (Version::V4, "remove") => Some(SplitOperation {
                    to: Op::Rmdir,
                    calls: of("create"),
                    why: "as many as there are create",
                    rest: Op::Remove,
                }),
                _ => None,
            };
            let split = split.filter(|s| ops.contains(&s.to) && ops.contains(&s.rest));
            if let Some(split) = split {
                sorted.split(name, *calls, &split);
                continue;
            }
            match likes(version, name).find(|op| ops.contains(op)) {
                Some(op) => sorted.take(name, op, *calls),
                None => sorted.leave_out(name, *calls),
            }
        }
        sorted.omitted.sort_by_key(|l| Reverse(l.calls));
        sorted
    }

    fn take(&mut self, name: &str, op: Op, calls: u64) {
        *self.ops.entry(op).or_insert(0) += u128::from(calls);
        if name != op.name() {
            self.remarks.push(format!("{calls} {name} count as {op}"));
        }
    }

    fn leave_out(&mut self, name: &str, calls: u64) {
        let name = name.to_owned();
        self.omitted.push(LeftOut { name, calls });
    }

    fn split(&mut self, name: &str, calls: u64, split: &SplitOperation) {
        let to = calls.min(split.calls);
        for (op, calls) in [(split.to, to), (split.rest, calls - to)] {
            if calls > 0 {
                *self.ops.entry(op).or_insert(0) += u128::from(calls);
            }
        }
        if to > 0 || name != split.rest.name() {
            let SplitOperation { why, rest, .. } = split;
            self.remarks.push(format!(
                "of {calls} {name} {to} count as {}, {why}, and {} as {rest}",
                split.to,
                calls - to
            ));
        }
    }
}

/// An operation with two functions, which no statistics distinguish. OPEN finds a file by
/// its name, and creates it if the caller requests that; REMOVE removes a file or a directory.
/// On a server that does not grow, as many are made as removed.
struct SplitOperation {
    to: Op,
    calls: u64,
    why: &'static str,
    rest: Op,
}

/// The operations that are similar to an operation of a version, the best first.
fn likes(version: Version, name: &str) -> impl Iterator<Item = Op> {
    let others: &[Op] = match (version, name) {
        (Version::V4, "lookupp" | "lookup_root") => &[Op::Lookup],
        // A client opens a file that it has looked up.
        (Version::V4, "open_noattr") => &[Op::Open, Op::Lookup],
        // Directories and other objects without data; the statistics do not distinguish them.
        (Version::V4, "create") => &[Op::Mkdir],
        // It lists names with attributes.
        (Version::V4, "readdir") => &[Op::Readdirplus, Op::Readdir],
        (Version::V4, "read_plus") => &[Op::ReadPlus, Op::Read],
        _ => &[],
    };
    // All others that the mix has by the same name have the same meaning.
    let has_own_meaning = !others.is_empty();
    let all = match version {
        Version::V2 | Version::V3 => Op::NFS3,
        Version::V4 => Op::NFS42,
    };
    let mut all = all.iter().copied();
    let same = all.find(|op| !has_own_meaning && op.name() == name);
    others.iter().copied().chain(same)
}

/// Shares that add up to the whole: the loss of rounding goes to those that lost most.
fn shares(ops: &BTreeMap<Op, u128>) -> Vec<Share> {
    let total: u128 = ops.values().sum();
    if total == 0 {
        return Vec::new();
    }
    let whole = u128::from(WHOLE);
    let mut shares: Vec<Share> = Vec::new();
    let mut lost: Vec<(u128, usize)> = Vec::new();
    for (op, calls) in ops {
        lost.push((calls * whole % total, shares.len()));
        shares.push(Share {
            op: *op,
            calls: *calls,
            thousandths: u32::try_from(calls * whole / total).unwrap_or(WHOLE),
        });
    }
    let given: u32 = shares.iter().map(|s| s.thousandths).sum();
    lost.sort_by_key(|(part, at)| (Reverse(*part), *at));
    for (_, at) in lost.into_iter().take((WHOLE - given) as usize) {
        shares[at].thousandths += 1;
    }
    shares
}

impl MixOfCounts {
    /// The mix.
    ///
    /// # Errors
    /// None is known: the shares add up.
    pub fn mix(&self) -> Result<Mix, MixError> {
        Mix::new(self.shares.iter().map(|s| (s.op, s.percent())))
    }

    /// Operations that are in the mix.
    pub fn kept(&self) -> u128 {
        self.shares.iter().map(|s| s.calls).sum()
    }

    /// The percentage of so many calls of all that were counted.
    pub fn percent_of_counted(&self, calls: u128) -> f64 {
        100.0 * calls as f64 / self.counted.max(1) as f64
    }

    /// Operations that are in the mix with a share of zero: too rare.
    pub fn rare(&self) -> impl Iterator<Item = &Share> {
        self.shares.iter().filter(|s| s.thousandths == 0)
    }

    /// Every operation that this or another mix has.
    pub fn differences(&self, other: &Mix) -> Vec<Difference> {
        let here = |op: Op| self.shares.iter().find(|s| s.op == op);
        let both = Op::ALL.iter().map(|op| Difference {
            op: *op,
            share: here(*op).map_or(0.0, Share::percent),
            other_share: other.percent(*op),
        });
        both.filter(|d| d.share > 0.0 || d.other_share > 0.0)
            .collect()
    }

    /// A short description of these statistics.
    pub fn what(&self) -> String {
        let number = self.version.number();
        let name = match self.of_client {
            true => format!("{} of a client", self.dialect.name()),
            false => self.dialect.name().to_owned(),
        };
        match self.compounds {
            None => format!("{name}, NFS version {number}, {} calls", self.counted),
            Some(compounds) => format!(
                "{name}, NFS version {number}, {} operations in {compounds} calls",
                self.counted
            ),
        }
    }

    /// A short description of what was left out; `None`: nothing.
    pub fn omitted_text(&self) -> Option<String> {
        if self.omitted.is_empty() {
            return None;
        }
        let names: Vec<String> = self.omitted.iter().map(of_left_out).collect();
        let calls = self.omitted.iter().map(|l| u128::from(l.calls)).sum();
        let percent = self.percent_of_counted(calls);
        Some(format!(
            "{percent:.3} % of what was counted: {}",
            names.join(", ")
        ))
    }
}

fn of_left_out(left: &LeftOut) -> String {
    let LeftOut { name, calls } = left;
    match name.as_str() {
        "root" => format!("{name} {calls} (obsolete, RFC 1094, section 2.2.4)"),
        "wrcache" => format!("{name} {calls} (not used, RFC 1094, section 2.2.8)"),
        _ => format!("{name} {calls}"),
    }
}
