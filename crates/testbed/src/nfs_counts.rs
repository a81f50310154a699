//! Operation counts of a kernel's NFS server.

use crate::{Error, Result};
use std::collections::BTreeMap;

/// NFSv3's procedures, by number (RFC 1813, section 3.3).
const V3: [&str; 22] = [
    "NULL",
    "GETATTR",
    "SETATTR",
    "LOOKUP",
    "ACCESS",
    "READLINK",
    "READ",
    "WRITE",
    "CREATE",
    "MKDIR",
    "SYMLINK",
    "MKNOD",
    "REMOVE",
    "RMDIR",
    "RENAME",
    "LINK",
    "READDIR",
    "READDIRPLUS",
    "FSSTAT",
    "FSINFO",
    "PATHCONF",
    "COMMIT",
];

/// NFSv4's operations, by number, from 3 on (RFC 7530, section 16; RFC 8881,
/// section 18); those of 4.2 that a client of files uses at the end (RFC 7862).
const V4_FIRST: usize = 3;
const V4: [&str; 73] = [
    "ACCESS",
    "CLOSE",
    "COMMIT",
    "CREATE",
    "DELEGPURGE",
    "DELEGRETURN",
    "GETATTR",
    "GETFH",
    "LINK",
    "LOCK",
    "LOCKT",
    "LOCKU",
    "LOOKUP",
    "LOOKUPP",
    "NVERIFY",
    "OPEN",
    "OPENATTR",
    "OPEN_CONFIRM",
    "OPEN_DOWNGRADE",
    "PUTFH",
    "PUTPUBFH",
    "PUTROOTFH",
    "READ",
    "READDIR",
    "READLINK",
    "REMOVE",
    "RENAME",
    "RENEW",
    "RESTOREFH",
    "SAVEFH",
    "SECINFO",
    "SETATTR",
    "SETCLIENTID",
    "SETCLIENTID_CONFIRM",
    "VERIFY",
    "WRITE",
    "RELEASE_LOCKOWNER",
    "BACKCHANNEL_CTL",
    "BIND_CONN_TO_SESSION",
    "EXCHANGE_ID",
    "CREATE_SESSION",
    "DESTROY_SESSION",
    "FREE_STATEID",
    "GET_DIR_DELEGATION",
    "GETDEVICEINFO",
    "GETDEVICELIST",
    "LAYOUTCOMMIT",
    "LAYOUTGET",
    "LAYOUTRETURN",
    "SECINFO_NO_NAME",
    "SEQUENCE",
    "SET_SSV",
    "TEST_STATEID",
    "WANT_DELEGATION",
    "DESTROY_CLIENTID",
    "RECLAIM_COMPLETE",
    "ALLOCATE",
    "COPY",
    "COPY_NOTIFY",
    "DEALLOCATE",
    "IO_ADVISE",
    "LAYOUTERROR",
    "LAYOUTSTATS",
    "OFFLOAD_CANCEL",
    "OFFLOAD_STATUS",
    "READ_PLUS",
    "SEEK",
    "WRITE_SAME",
    "CLONE",
    "GETXATTR",
    "SETXATTR",
    "LISTXATTRS",
    "REMOVEXATTR",
];

/// Counts by the names of the RFCs, in capitals; an NFSv3 procedure and an NFSv4
/// operation of the same name are added.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NfsCounts(BTreeMap<&'static str, u64>);

impl NfsCounts {
    /// Reads the text of `/proc/net/rpc/nfsd`.
    pub(crate) fn of_server(text: &str) -> Result<NfsCounts> {
        let mut counts = NfsCounts::default();
        let mut seen = false;
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (first, names): (usize, &[&str]) = match words.next() {
                Some("proc3") => (0, &V3),
                Some("proc4ops") => (V4_FIRST, &V4),
                _ => continue,
            };
            seen = true;
            // The second word is the number of counters that follow.
            for (word, name) in words.skip(1 + first).zip(names) {
                let count: u64 = word
                    .parse()
                    .map_err(|_| Error::failed("/proc/net/rpc/nfsd", "not a number", line))?;
                *counts.0.entry(name).or_insert(0) += count;
            }
        }
        match seen {
            true => Ok(counts),
            false => Err(Error::failed("/proc/net/rpc/nfsd", "no counters", text)),
        }
    }

    /// The count of this name; 0 for an unknown name.
    #[must_use]
    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// The increase since earlier counts.
    #[must_use]
    pub fn since(&self, earlier: &NfsCounts) -> NfsCounts {
        let added =
            |(name, count): (&&'static str, &u64)| (*name, count.saturating_sub(earlier.get(name)));
        NfsCounts(self.0.iter().map(added).collect())
    }

    /// The counts that are not 0.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let used = self.0.iter().filter(|(_, count)| **count > 0);
        used.map(|(name, count)| (*name, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read_and_the_difference_taken() {
        let text = "rc 0 3 4\nproc3 22 1 2 0 0 0 0 7 0 0 0 0 0 0 0 0 0 0 0 0 0 0 9\n\
                    proc4 2 0 10\nproc4ops 76 0 0 0 1 2 30 4 0 0 500 0\n";
        let counts = NfsCounts::of_server(text).expect("counters");
        assert_eq!((counts.get("READ"), counts.get("COMMIT")), (7, 39));
        // GETATTR: 2 of version 3 and, as the operation number 9, 500 of version 4.
        assert_eq!((counts.get("GETATTR"), counts.get("ACCESS")), (502, 1));
        let none: Vec<_> = counts.since(&counts).iter().map(|(name, _)| name).collect();
        assert!(none.is_empty(), "{none:?}");
        assert!(NfsCounts::of_server("nothing").is_err());
        assert!(NfsCounts::of_server("proc3 22 x").is_err());
    }
}
