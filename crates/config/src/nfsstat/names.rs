//! The names of NFS's procedures and operations, as the RFCs number them and as the
//! tools of several systems spell them. Those of version 4 are here, since no driver has
//! its operations; those of the others are in the table of [`Op`].
#![deny(clippy::wildcard_enum_match_arm)]

use filermark_model::Op;
use filermark_model::plan::NfsVersion;
use filermark_model::text::sanitize;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// RFC 1094.
    V2,
    /// RFC 1813.
    V3,
    /// RFC 7530, RFC 8881 and RFC 7862, all minor versions together.
    V4,
}

impl Version {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::V2, Self::V3, Self::V4];

    /// Its number.
    pub const fn number(self) -> u8 {
        match self {
            Self::V2 => 2,
            Self::V3 => 3,
            Self::V4 => 4,
        }
    }

    /// The version with this number.
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|v| v.number() == number)
    }

    /// The procedures by number; of version 4 the operations from number 3 on
    /// ([`V4_FIRST`]).
    pub(super) const fn names(self) -> &'static [&'static str] {
        match self {
            Self::V2 => &V2,
            Self::V3 => &V3,
            Self::V4 => &V4,
        }
    }
}

/// The names of operations in the order of their procedures' numbers; `names` has those of
/// procedures that are not operations.
const fn numbered<const COUNT: usize>(
    mut names: [&'static str; COUNT],
    ops: &[Op],
    version: Version,
) -> [&'static str; COUNT] {
    let mut at = 0;
    while at < ops.len() {
        let number = match version {
            Version::V2 => ops[at].nfs2_number(),
            Version::V3 => ops[at].nfs3_number(),
            Version::V4 => None,
        };
        if let Some(number) = number {
            names[number as usize] = ops[at].name();
        }
        at += 1;
    }
    names
}

/// RFC 1094, section 2.2. ROOT (2.2.4) is obsolete, WRITECACHE (2.2.8) is not used.
const V2: [&str; 18] = {
    let mut names = [""; 18];
    names[3] = "root";
    names[7] = "wrcache";
    numbered(names, Op::NFS2, Version::V2)
};

/// RFC 1813, section 3.3.
const V3: [&str; Op::NFS3.len()] = numbered([""; Op::NFS3.len()], Op::NFS3, Version::V3);

/// The number of the first operation of version 4.
pub(super) const V4_FIRST: usize = 3;

/// RFC 7530, section 16; RFC 8881, section 18; RFC 7862, section 15; RFC 8276.
const V4: [&str; 73] = [
    "access",
    "close",
    "commit",
    "create",
    "delegpurge",
    "delegreturn",
    "getattr",
    "getfh",
    "link",
    "lock",
    "lockt",
    "locku",
    "lookup",
    "lookupp",
    "nverify",
    "open",
    "openattr",
    "open_confirm",
    "open_downgrade",
    "putfh",
    "putpubfh",
    "putrootfh",
    "read",
    "readdir",
    "readlink",
    "remove",
    "rename",
    "renew",
    "restorefh",
    "savefh",
    "secinfo",
    "setattr",
    "setclientid",
    "setclientid_confirm",
    "verify",
    "write",
    "release_lockowner",
    "backchannel_ctl",
    "bind_conn_to_session",
    "exchange_id",
    "create_session",
    "destroy_session",
    "free_stateid",
    "get_dir_delegation",
    "getdeviceinfo",
    "getdevicelist",
    "layoutcommit",
    "layoutget",
    "layoutreturn",
    "secinfo_no_name",
    "sequence",
    "set_ssv",
    "test_stateid",
    "want_delegation",
    "destroy_clientid",
    "reclaim_complete",
    "allocate",
    "copy",
    "copy_notify",
    "deallocate",
    "io_advise",
    "layouterror",
    "layoutstats",
    "offload_cancel",
    "offload_status",
    "read_plus",
    "seek",
    "write_same",
    "clone",
    "getxattr",
    "setxattr",
    "listxattrs",
    "removexattr",
];

/// The counters of Linux's client of version 4 by number (`nfs4.h` of the kernel): each is a COMPOUND, named by
/// what it is for. `statfs` has the name of the operation that it is.
pub(super) const V4_CLIENT: [&str; 69] = [
    "null",
    "read",
    "write",
    "commit",
    "open",
    "open_confirm",
    "open_noattr",
    "open_downgrade",
    "close",
    "setattr",
    "fsinfo",
    "renew",
    "setclientid",
    "setclientid_confirm",
    "lock",
    "lockt",
    "locku",
    "access",
    "getattr",
    "lookup",
    "lookup_root",
    "remove",
    "rename",
    "link",
    "symlink",
    "create",
    "pathconf",
    "fsstat",
    "readlink",
    "readdir",
    "server_caps",
    "delegreturn",
    "getacl",
    "setacl",
    "fs_locations",
    "release_lockowner",
    "secinfo",
    "fsid_present",
    "exchange_id",
    "create_session",
    "destroy_session",
    "sequence",
    "get_lease_time",
    "reclaim_complete",
    "layoutget",
    "getdeviceinfo",
    "layoutcommit",
    "layoutreturn",
    "secinfo_no_name",
    "test_stateid",
    "free_stateid",
    "getdevicelist",
    "bind_conn_to_session",
    "destroy_clientid",
    "seek",
    "allocate",
    "deallocate",
    "layoutstats",
    "clone",
    "copy",
    "offload_cancel",
    "lookupp",
    "layouterror",
    "copy_notify",
    "getxattr",
    "setxattr",
    "listxattrs",
    "removexattr",
    "read_plus",
];

/// How nfsstat spells them, without what [`same_name`] drops.
const ALSO_CLIENT: &[(&str, &str)] = &[
    ("openconf", "open_confirm"),
    ("opennoat", "open_noattr"),
    ("opendgrd", "open_downgrade"),
    ("setclntid", "setclientid"),
    ("confirm", "setclientid_confirm"),
    ("statfs", "fsstat"),
    ("rellkowner", "release_lockowner"),
    ("reclaimcomp", "reclaim_complete"),
    ("getdevinfo", "getdeviceinfo"),
    ("secinfono", "secinfo_no_name"),
    ("bindconntoses", "bind_conn_to_session"),
];

/// The procedures of version 4 itself (RFC 7530, section 15).
pub(super) const V4_PROCEDURES: [&str; 2] = ["null", "compound"];

/// Other spellings, without what [`same_name`] drops: of nfsstat on Linux, on BSD and on
/// Solaris.
const ALSO: &[(Version, &str, &str)] = &[
    (Version::V2, "statfs", "fsstat"),
    (Version::V2, "writecache", "wrcache"),
    (Version::V3, "rdirplus", "readdirplus"),
    (Version::V3, "statfs", "fsstat"),
    (Version::V4, "lookuproot", "lookupp"),
    (Version::V4, "openconf", "open_confirm"),
    (Version::V4, "opendgrd", "open_downgrade"),
    (Version::V4, "setcltid", "setclientid"),
    (Version::V4, "setcltidconf", "setclientid_confirm"),
    (Version::V4, "rellockowner", "release_lockowner"),
    (Version::V4, "bcctl", "backchannel_ctl"),
    (Version::V4, "bindconn", "bind_conn_to_session"),
    (Version::V4, "createses", "create_session"),
    (Version::V4, "destroyses", "destroy_session"),
    (Version::V4, "getdirdeleg", "get_dir_delegation"),
    (Version::V4, "getdevinfo", "getdeviceinfo"),
    (Version::V4, "getdevlist", "getdevicelist"),
    (Version::V4, "secinfononam", "secinfo_no_name"),
    (Version::V4, "wantdeleg", "want_delegation"),
    (Version::V4, "destroyclid", "destroy_clientid"),
    (Version::V4, "reclaimcomp", "reclaim_complete"),
    (Version::V4, "openconfirm", "open_confirm"),
];

/// Whether version 4 has an operation of this name.
pub fn is_of_version4(name: &str) -> bool {
    V4.contains(&name)
}

/// The operations that a mix for a run over a version can have.
pub const fn ops_of(run: NfsVersion) -> &'static [Op] {
    match run {
        NfsVersion::V2 => Op::NFS2,
        NfsVersion::V3 | NfsVersion::V40 => Op::NFS3,
        NfsVersion::V41 => Op::NFS41,
        NfsVersion::V42 => Op::NFS42,
    }
}

/// The longest name that is kept, in characters.
const NAME_CHARS_MAX: usize = 32;

/// Whether two names are equal except for what tools add or leave out: capitals, underscores,
/// hyphens. Malformed files may have many names, so nothing is allocated.
fn same_name(a: &str, b: &str) -> bool {
    fn plain(name: &str) -> impl Iterator<Item = u8> {
        let bytes = name.bytes().filter(u8::is_ascii_alphanumeric);
        bytes.map(|b| b.to_ascii_lowercase())
    }
    plain(a).eq(plain(b))
}

/// The RFC's name for a tool's `name` in a version.
pub(super) fn known(version: Version, name: &str) -> Option<&'static str> {
    let also = ALSO
        .iter()
        .find(|(v, other, _)| *v == version && same_name(other, name));
    if let Some((_, _, name)) = also {
        return Some(name);
    }
    let procedures: &[&str] = match version {
        Version::V4 => &V4_PROCEDURES,
        Version::V2 | Version::V3 => &[],
    };
    let all = version.names().iter().chain(procedures);
    all.copied().find(|n| same_name(n, name))
}

/// The RFC's name, or the tool's own where the RFCs have none: newer tools may have more.
pub(super) fn named(version: Version, name: &str) -> String {
    known(version, name).map_or_else(
        || sanitize(&name.to_lowercase(), NAME_CHARS_MAX),
        ToOwned::to_owned,
    )
}

/// The same for the counters of a client.
pub(super) fn named_by_client(version: Version, name: &str) -> String {
    if version != Version::V4 {
        return named(version, name);
    }
    let also = ALSO_CLIENT
        .iter()
        .find(|(other, _)| same_name(other, name))
        .map(|(_, name)| *name);
    let mut own = V4_CLIENT.iter().copied();
    let found = also.or_else(|| own.find(|known| same_name(known, name)));
    found.map_or_else(
        || sanitize(&name.to_lowercase(), NAME_CHARS_MAX),
        ToOwned::to_owned,
    )
}

/// Whether any version has something of this name.
pub(super) fn is_known(name: &str) -> bool {
    Version::ALL.into_iter().any(|v| known(v, name).is_some())
}

/// The version of these names, where the text does not give it: those of version 2 have
/// ROOT or WRITECACHE, those of version 4 something that version 3 lacks.
pub(super) fn version_of<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Version {
    let is_of = |version: Version, name: &str| known(version, name).is_some();
    let only = |version: Version| {
        names
            .clone()
            .any(|n| is_of(version, n) && !is_of(Version::V3, n))
    };
    match (only(Version::V2), only(Version::V4)) {
        (true, _) => Version::V2,
        (_, true) => Version::V4,
        _ => Version::V3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_spell_names_in_many_ways() {
        for (version, spelled, name) in [
            (Version::V2, "WrCache", "wrcache"),
            (Version::V3, "RdirPlus", "readdirplus"),
            (Version::V3, "PathConf", "pathconf"),
            (Version::V4, "OpenConfirm", "open_confirm"),
            (Version::V4, "open_conf", "open_confirm"),
            (Version::V4, "lookup_root", "lookupp"),
            (Version::V4, "COMPOUND", "compound"),
        ] {
            assert_eq!(known(version, spelled), Some(name), "{spelled}");
        }
        assert_eq!(
            V2.join(" "),
            "null getattr setattr root lookup readlink read wrcache write create remove rename \
             link symlink mkdir rmdir readdir fsstat"
        );
        assert_eq!((V3[0], V3[17], V3[21]), ("null", "readdirplus", "commit"));
        assert_eq!(known(Version::V3, "compound"), None);
        assert_eq!(named(Version::V4, "New_Op"), "new_op");
        assert_eq!(V4[50 - V4_FIRST], "layoutget", "RFC 8881, 18.43: number 50");
    }

    #[test]
    fn the_version_follows_from_the_names() {
        let of = |names: &str| version_of(names.split(' '));
        assert_eq!(of("getattr read write"), Version::V3);
        assert_eq!(of("getattr root read"), Version::V2);
        assert_eq!(of("getattr open read"), Version::V4);
        assert_eq!(of("getattr nonsense"), Version::V3);
    }
}
