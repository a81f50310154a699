//! The purpose of a file of a result.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The purpose of a file, named in manifests of archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A run record: the source of everything else.
    Record,
    /// An rc file.
    Rc,
    /// A submission.
    Submission,
    /// A summary: sfssum in any format.
    Summary,
    /// The log of a run: sfslog, sfsres, heartbeats.
    Log,
    /// The log of one client or proc.
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
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Record,
        Self::Rc,
        Self::Submission,
        Self::Summary,
        Self::Log,
        Self::ClientLog,
        Self::Table,
        Self::Report,
        Self::Diagram,
        Self::Other,
    ];

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

    /// The files that have it, for the documentation.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Record => "a run record",
            Self::Rc => "an rc file",
            Self::Submission => "a submission",
            Self::Summary => "sfssum in any format",
            Self::Log => "sfslog, sfsres, sfsval, heartbeats",
            Self::ClientLog => "log of one client or proc",
            Self::Table => "a table of a run, as `SUFFIX.csv`",
            Self::Report => "HTML, text, PDF, charts",
            Self::Diagram => "a picture that a submission names",
            Self::Other => "`sfsmon.SUFFIX`, files of `--add`",
        }
    }
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
    fn names_are_those_of_manifests() {
        for role in Role::ALL {
            assert_eq!(serde_json::to_value(role).unwrap(), role.name());
        }
    }
}
