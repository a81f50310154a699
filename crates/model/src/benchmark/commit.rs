//! How what is written over NFSv3 becomes stable: when COMMIT is called.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The largest figures of a deferred policy. The files of a proc are searched one by one.
const WRITES_MAX: u32 = 4_096;
const MIB_MAX: u32 = 65_536;
const FILES_MAX: u32 = 256;
/// Writes of a proc that may wait for a COMMIT: each takes 40 bytes of memory.
const HELD_MAX: u32 = 16_384;

/// When COMMIT is called for what was written (RFC 1813, sections 3.3.7 and 3.3.21).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case")]
pub enum CommitPolicy {
    /// After every logical write, whatever the server answered.
    PerWrite,
    /// What a server answers UNSTABLE gathers, and is committed file by file.
    Deferred(Deferral),
    /// Never: every WRITE asks for FILE_SYNC.
    FileSync,
}

/// The limits of what gathers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deferral {
    /// Logical writes to a file after which it is committed.
    pub writes: u32,
    /// Binary megabytes after which it is committed.
    pub mib: u32,
    /// Files with such data that a proc has at most; beyond, the one whose last write
    /// is the longest ago is committed.
    pub files: u32,
}

impl Deferral {
    /// Every logical write is committed at its end.
    pub const AT_ONCE: Self = Self {
        writes: 1,
        mib: 1,
        files: 1,
    };

    /// Bytes after which a file is committed.
    pub const fn bytes(self) -> u64 {
        (self.mib as u64) << 20
    }
}

impl CommitPolicy {
    /// What runs have whose definition says nothing: every logical write that a server
    /// answers UNSTABLE is committed at its end.
    pub const fn at_once() -> Self {
        Self::Deferred(Deferral::AT_ONCE)
    }

    /// Whether it is that.
    pub fn is_at_once(&self) -> bool {
        *self == Self::at_once()
    }
}

impl Default for CommitPolicy {
    fn default() -> Self {
        Self::at_once()
    }
}

impl fmt::Display for CommitPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerWrite => f.write_str("per-write: after every logical write"),
            Self::Deferred(Deferral { writes: 1, .. }) => {
                f.write_str("deferred: after every logical write that the server answers UNSTABLE")
            }
            Self::Deferred(d) => write!(
                f,
                "deferred: what the server answers UNSTABLE is committed file by file, after {} \
                 logical writes or {} MiB to a file, beyond {} files per proc, and at the end of \
                 RUN",
                d.writes, d.mib, d.files
            ),
            Self::FileSync => f.write_str("file-sync: none, every WRITE asks for FILE_SYNC"),
        }
    }
}

/// The policy as a definition file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommitTable {
    policy: String,
    writes: Option<u32>,
    mib: Option<u32>,
    files: Option<u32>,
}

impl CommitTable {
    /// The policy; or what is wrong with the table.
    pub(super) fn policy(&self) -> Result<CommitPolicy, String> {
        let figures = [
            ("writes", self.writes, WRITES_MAX),
            ("mib", self.mib, MIB_MAX),
            ("files", self.files, FILES_MAX),
        ];
        let policy = match self.policy.as_str() {
            "per-write" => CommitPolicy::PerWrite,
            "file-sync" => CommitPolicy::FileSync,
            "deferred" => {
                for (name, value, most) in figures {
                    if !value.is_some_and(|value| (1..=most).contains(&value)) {
                        return Err(format!("deferred COMMITs need {name} = 1 to {most}"));
                    }
                }
                let figure = |value: Option<u32>| value.unwrap_or(1);
                let deferral = Deferral {
                    writes: figure(self.writes),
                    mib: figure(self.mib),
                    files: figure(self.files),
                };
                if deferral.writes * deferral.files > HELD_MAX {
                    return Err(format!(
                        "writes times files is {} and may be {HELD_MAX} at most: so many writes \
                         of a proc would be kept in memory",
                        deferral.writes * deferral.files
                    ));
                }
                return Ok(CommitPolicy::Deferred(deferral));
            }
            _ => return Err("the policy is per-write, deferred or file-sync".into()),
        };
        match figures.iter().find(|(_, value, _)| value.is_some()) {
            Some((name, ..)) => Err(format!("only the policy deferred has {name}; leave it out")),
            None => Ok(policy),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Benchmark;
    use crate::benchmark::{CommitPolicy, Deferral, SHIPPED};

    fn policy(name: &str) -> Option<CommitPolicy> {
        Benchmark::shipped(name).unwrap().classic().unwrap().commit
    }

    /// Manual M, section 2.2.1: "after every logical write ... regardless", then "after a
    /// number of WRITE operations".
    #[test]
    fn each_generation_has_the_policy_of_its_time() {
        assert_eq!(policy("nfs3-1997"), Some(CommitPolicy::PerWrite));
        assert_eq!(policy("nfs3-2001"), Some(CommitPolicy::PerWrite));
        let Some(CommitPolicy::Deferred(general)) = policy("general-nfs3") else {
            panic!("{:?}", policy("general-nfs3"));
        };
        assert!(general.writes > 1 && general.bytes() > 1 << 20);
        for name in ["nfs2-1993", "nfs2-1997", "general-smb1", "general-smb2"] {
            assert_eq!(policy(name), None, "{name}");
        }
    }

    #[test]
    fn definitions_have_it_in_a_table_and_records_keep_it() {
        let (_, text) = SHIPPED.iter().find(|(n, _)| *n == "nfs3-2001").unwrap();
        let own = |table: &str| {
            let text = text.replace("policy = \"per-write\"", table);
            Benchmark::from_toml("own", &text)
        };
        let deferral = Deferral {
            writes: 3,
            mib: 2,
            files: 5,
        };
        for (table, policy) in [
            ("policy = \"file-sync\"", CommitPolicy::FileSync),
            (
                "policy = \"deferred\"\nwrites = 3\nmib = 2\nfiles = 5",
                CommitPolicy::Deferred(deferral),
            ),
        ] {
            let own = own(table).unwrap();
            assert_eq!(own.classic().unwrap().commit, Some(policy));
            let json = serde_json::to_string(&own).unwrap();
            assert_eq!(serde_json::from_str::<Benchmark>(&json).unwrap(), own);
        }
        for (table, expected) in [
            ("policy = \"never\"", "per-write, deferred or file-sync"),
            ("policy = \"per-write\"\nmib = 3", "has mib"),
            (
                "policy = \"deferred\"\nwrites = 3\nmib = 2",
                "files = 1 to 256",
            ),
            (
                "policy = \"deferred\"\nwrites = 4096\nmib = 2\nfiles = 5",
                "writes times files is 20480 and may be 16384 at most",
            ),
            (
                "policy = \"deferred\"\nwrites = 0\nmib = 2\nfiles = 1",
                "writes = 1 to",
            ),
            ("policy = \"per-write\"\nwrite = 3", "unknown field `write`"),
        ] {
            let error = own(table).unwrap_err().to_string();
            assert!(error.contains(expected), "{table}: {error}");
        }
        let (_, smb) = SHIPPED.iter().find(|(n, _)| *n == "nfs2-1997").unwrap();
        let smb = smb.replace("[fileset]", "[commit]\npolicy = \"per-write\"\n[fileset]");
        let error = Benchmark::from_toml("own", &smb).unwrap_err().to_string();
        assert!(error.contains("this protocol has no COMMIT"), "{error}");
    }

    #[test]
    fn a_record_from_before_has_none() {
        let mut value = serde_json::to_value(Benchmark::shipped("nfs3-2001").unwrap()).unwrap();
        let work = value.get_mut("work").unwrap().as_object_mut().unwrap();
        assert!(work.remove("commit").is_some());
        let benchmark: Benchmark = serde_json::from_value(value).unwrap();
        assert_eq!(benchmark.classic().unwrap().commit, None);
        let text = CommitPolicy::default().to_string();
        assert!(text.contains("every logical write that"), "{text}");
    }
}
