//! What a file of an archive is for.

use crate::submission_file::looks_like_submission;
use filermark_results::parse_sfssum;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A run record: everything else comes from it.
    Record,
    /// An rc file.
    Rc,
    /// A submission.
    Submission,
    /// A summary: sfssum in any form.
    Summary,
    /// The log of a run: sfslog, sfsres, heartbeats.
    Log,
    /// What one client or proc did.
    ClientLog,
    /// A table for spreadsheets.
    Table,
    /// A report.
    Report,
    /// A picture of the configuration.
    Diagram,
    /// Anything else.
    Other,
}

impl Role {
    /// The name in manifests and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Rc => "rc",
            Self::Submission => "submission",
            Self::Summary => "summary",
            Self::Log => "log",
            Self::ClientLog => "client-log",
            Self::Table => "table",
            Self::Report => "report",
            Self::Diagram => "diagram",
            Self::Other => "other",
        }
    }

    /// What a file is beyond doubt, by its name and its content, whatever a manifest
    /// says: whoever forges figures writes the manifest, too.
    pub(crate) fn certain(name: &str, bytes: &[u8]) -> Option<Self> {
        let named = Self::of_name(name);
        if named == Self::Record || is_run_line(bytes) {
            return Some(Self::Record);
        }
        let by_hand = name.rsplit('/').next().unwrap_or(name);
        match named {
            Self::Log if by_hand.starts_with("sfsval.") => None,
            Self::Summary | Self::Log | Self::ClientLog => Some(named),
            _ if bytes.starts_with(CSV_FRONT) => Some(Self::Table),
            _ if is_submission(bytes) => Some(Self::Submission),
            _ if is_summary(bytes) => Some(Self::Summary),
            _ => None,
        }
    }

    /// What a file is where nothing is certain: any CSV file may be somebody's own.
    pub(crate) fn guess(name: &str) -> Self {
        match Self::of_name(name) {
            Self::Table => Self::Other,
            role => role,
        }
    }

    /// What a file of this name most likely is, by the names that runs use.
    pub fn of_name(name: &str) -> Self {
        let base = name.rsplit('/').next().unwrap_or(name);
        let ends = |ends: &[&str]| ends.iter().any(|end| base.ends_with(end));
        let begins = |fronts: &[&str]| fronts.iter().any(|front| base.starts_with(front));
        if ends(&[".run.jsonl"]) {
            Self::Record
        } else if begins(&["sfssum.", "sfssum_"]) {
            Self::Summary
        } else if name.starts_with("client-logs.") || is_client_log(base) {
            Self::ClientLog
        } else if begins(&["sfslog.", "sfslog_", "sfsres.", "sfsval.", "heartbeats_"]) {
            Self::Log
        } else if begins(&["sfs_rc"]) || ends(&[".rc", "_rc"]) {
            Self::Rc
        } else if ends(&[".csv"]) {
            Self::Table
        } else if ends(&[".xml"]) {
            Self::Submission
        } else if ends(&[".html", ".txt", ".pdf", ".png", ".svg", ".summary", ".json"]) {
            Self::Report
        } else {
            Self::Other
        }
    }
}

/// How the table of a run begins.
const CSV_FRONT: &[u8] = b"point,requested_ops_per_s,achieved_ops_per_s,";
/// Largest summary, in bytes.
const SUMMARY_LEN_MAX: usize = 1 << 20;

/// Whether the first line that is not blank is that of a run record.
fn is_run_line(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct RoleSerde {
        r#type: String,
    }
    let line = bytes.trim_ascii_start().split(|b| *b == b'\n').next();
    let line = line.filter(|line| line.starts_with(b"{"));
    line.and_then(|line| serde_json::from_slice::<RoleSerde>(line).ok())
        .is_some_and(|kind| kind.r#type == "run")
}

/// Whether it is XML with the root element of a submission.
fn is_submission(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.trim_ascii_start().starts_with(b"<") && looks_like_submission(bytes)
}

/// Whether it reads as a summary with load points.
fn is_summary(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes).ok();
    let text = text.filter(|text| text.len() <= SUMMARY_LEN_MAX);
    text.is_some_and(|text| parse_sfssum(text).is_ok())
}

/// `sfsc0001.mine`.
fn is_client_log(base: &str) -> bool {
    let number = base
        .strip_prefix("sfsc")
        .and_then(|rest| rest.split_once('.'));
    number.is_some_and(|(n, _)| n.len() >= 4 && n.bytes().all(|b| b.is_ascii_digit()))
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_run_tell_their_roles() {
        let roles = [
            ("mine.run.jsonl", Role::Record),
            ("sfssum.mine", Role::Summary),
            ("sfssum.mine.txt", Role::Summary),
            ("sfslog.mine.txt", Role::Log),
            ("sfssum_mine.xml", Role::Summary),
            ("sfsc0001.mine", Role::ClientLog),
            ("client-logs.m/netmist_C0.m.log", Role::ClientLog),
            ("sfsres.mine", Role::Log),
            ("sfs_rc", Role::Rc),
            ("sub.xml", Role::Submission),
            ("mine.html", Role::Report),
            ("mine.csv", Role::Table),
            ("notes", Role::Other),
        ];
        for (name, role) in roles {
            assert_eq!(Role::of_name(name), role, "{name}");
            let json = serde_json::to_value(role).unwrap();
            assert_eq!(json, role.name());
        }
    }
}
