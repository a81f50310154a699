//! What a server of version 4 states about itself and granted, for the record and the survey.

use crate::version4::{ChannelLimits, Established, ServerIdentity};
use filermark_onc::nfs4::{Attribute, Bitmap4, exchgid};
use std::time::Duration;

/// What EXCHANGE_ID and CREATE_SESSION returned, and the attributes of the export.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionFacts {
    /// What the server states about itself.
    pub server: ServerIdentity,
    /// How long it keeps a client's state without a call.
    pub lease: Duration,
    /// The limits of a session for calls, as granted; version 4.0 has none.
    pub fore: Option<ChannelLimits>,
    /// The attributes that it supports in the export's file system.
    pub supported: Bitmap4,
    /// It has layouts of flexible files (RFC 8435) for the export's file system.
    pub has_flexible_files: bool,
}

/// Attributes that change what can be measured, with their names.
const NAMED: [(Attribute, &str); 5] = [
    (Attribute::Acl, "acl"),
    (Attribute::FsLayoutTypes, "fs_layout_types"),
    (Attribute::SecLabel, "sec_label"),
    (Attribute::CloneBlksize, "clone_blksize"),
    (Attribute::XattrSupport, "xattr_support"),
];

impl SessionFacts {
    pub(super) fn of(up: &Established, supported: Bitmap4, has_flexible_files: bool) -> Self {
        Self {
            server: up.server.clone(),
            lease: up.lease,
            fore: (up.session.minor().has_sessions()).then(|| *up.session.fore()),
            supported,
            has_flexible_files,
        }
    }

    /// Adds name and value of each.
    pub(super) fn add_facts(&self, facts: &mut Vec<(&'static str, String)>) {
        let server = &self.server;
        if !server.name.is_empty() {
            let by = match server.domain.as_str() {
                "" => String::new(),
                domain => format!(" ({domain})"),
            };
            facts.push(("implementation", format!("{}{by}", server.name)));
        }
        let roles = [
            (exchgid::USE_NON_PNFS, "no pNFS"),
            (exchgid::USE_PNFS_MDS, "metadata server"),
            (exchgid::USE_PNFS_DS, "data server"),
        ];
        let roles: Vec<&str> = roles
            .iter()
            .filter(|(bit, _)| server.flags & bit != 0)
            .map(|(_, role)| *role)
            .collect();
        if self.has_flexible_files {
            facts.push(("layouts", "flexible files".to_owned()));
        }
        if !roles.is_empty() {
            facts.push(("roles", roles.join(", ")));
        }
        facts.push(("lease", format!("{} s", self.lease.as_secs())));
        if let Some(fore) = &self.fore {
            let numbers = [
                ("slots", fore.slots),
                ("ca_maxrequestsize", fore.request_bytes_max),
                ("ca_maxresponsesize", fore.response_bytes_max),
                ("ca_maxresponsesize_cached", fore.cached_bytes_max),
                ("ca_maxoperations", fore.operations_max),
            ];
            facts.extend(numbers.map(|(name, number)| (name, number.to_string())));
        }
        let has = NAMED.iter().filter(|(a, _)| self.supported.has(*a));
        let names: Vec<&str> = has.map(|(_, name)| *name).collect();
        let count = self.supported.bits().count();
        let named = match names.len() {
            0 => String::new(),
            _ => format!(", {} among them", names.join(", ")),
        };
        facts.push(("supported attributes", format!("{count}{named}")));
    }
}
