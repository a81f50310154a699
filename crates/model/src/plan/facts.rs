//! What the rest of the program has to know of a driver: facts and texts, so that nobody
//! outside of this module and of the drivers' crates asks which driver it is.

use super::{
    Connections, DriverPlan, IpChoice, NfsPlan, NfsVersion, PosixPlan, SmbPlan, Transport,
};
use crate::benchmark::CommitPolicy;
use crate::units::{Bytes, Nanos, counted};

/// What a driver works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// Nothing: it answers every operation itself.
    #[default]
    Nothing,
    /// File systems that the client host has mounted.
    Mounted,
    /// Servers, by a network protocol that it speaks itself, so that any client can reach any
    /// mount point by its name.
    Server,
}

/// What a driver does with its settings. The default is a driver that works on nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DriverFacts {
    /// What it works on.
    pub target: Target,
    /// An operation blocks its thread: every proc has a thread of its own.
    pub blocks: bool,
    /// A cache of the client host may answer reads.
    pub host_cache: bool,
    /// Users log in to the servers; accounts may be locked after a few wrong passwords.
    pub logs_in: bool,
    /// Names that differ only in case are the same.
    pub ignores_case: bool,
    /// Files that an earlier run with the same suffix kept are used again.
    pub reuses_kept: bool,
    /// fsync is never called.
    pub no_fsync: bool,
    /// Open files of a proc: those that it cannot do without, and those with which it works
    /// best. Drivers of servers have connections instead.
    pub open_files_per_proc: (u64, u64),
    /// Open files of the driver beside those of its procs.
    pub open_files_reserved: u64,
    /// What carries its calls; `None`: it uses no network itself.
    pub transport: Option<Transport>,
    /// The address family that it was told to use; `None`: it uses no network itself.
    pub ip: Option<IpChoice>,
    /// The port by which its servers are reached; `None`: it uses no network itself.
    pub port: Option<u16>,
    /// It calls from source ports below 1024.
    pub reserved_ports: bool,
    /// How procs share connections, where it makes any.
    pub connections: Option<Connections>,
    /// BIOD_MAX_READS and BIOD_MAX_WRITES.
    pub biods: (u32, u32),
    /// When COMMIT is called, where the protocol has it.
    pub commit: Option<CommitPolicy>,
    /// The first wait for a reply before a call is sent again on the same socket; `None`:
    /// that is not done.
    pub resend_after: Option<Nanos>,
    /// The protocol for which its servers can be validated; `None`: there is none.
    pub validates: Option<&'static str>,
    /// What else may help where a service of its servers does not answer: the service, a
    /// sentence.
    pub service_advice: &'static [(&'static str, &'static str)],
    /// The command that shows whether a service answers; `{host}` and `{port}` stand for
    /// those of the server.
    pub service_command: &'static str,
    /// The command that shows what a server exports, where there is one for everybody.
    pub export_command: Option<&'static str>,
    /// The parameter that names the user on the servers.
    pub user_parameter: &'static str,
}

/// A driver with its settings, in text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverText {
    /// The driver in a line, as `filermark plan` has it.
    pub summary: String,
    /// The protocol, as `NFSv3` or `SMB 3.1.1`; empty where there is none.
    pub protocol: String,
    /// Settings that have rows of their own: (name, value).
    pub rows: Vec<(&'static str, String)>,
    /// The user on the servers.
    pub user: String,
    /// The ports of the servers that a firewall has to let through.
    pub ports: String,
}

impl DriverPlan {
    /// What the driver does with these settings.
    pub fn facts(&self) -> DriverFacts {
        match self {
            Self::Nfs(nfs) => nfs_facts(nfs),
            Self::Smb(smb) => smb_facts(smb),
            Self::Posix(posix) => DriverFacts {
                target: Target::Mounted,
                blocks: true,
                host_cache: true,
                reuses_kept: posix.reuse_kept,
                no_fsync: posix.no_fsync,
                open_files_per_proc: posix.open_files_per_proc(),
                open_files_reserved: PosixPlan::OPEN_FILES_RESERVED,
                ..DriverFacts::default()
            },
            Self::Null => DriverFacts::default(),
        }
    }

    /// The driver and its settings in text.
    pub fn describe(&self) -> DriverText {
        let text = |summary: String| DriverText {
            summary,
            protocol: String::new(),
            rows: Vec::new(),
            user: "this user".to_owned(),
            ports: String::new(),
        };
        match self {
            Self::Nfs(nfs) => DriverText {
                protocol: format!("NFSv{}", nfs.version.number()),
                user: format!("user {}", nfs.uid),
                ports: "the ports of NFS (2049), MOUNT and portmapper (111)".to_owned(),
                ..text(nfs_summary(nfs))
            },
            Self::Smb(smb) => DriverText {
                protocol: smb.dialect_text(),
                rows: smb.rows().to_vec(),
                user: smb.auth.to_string(),
                ports: format!("port {}", smb.port),
                ..text(smb_summary(smb))
            },
            Self::Posix(_) => text("mounted file systems, by system calls".to_owned()),
            Self::Null => text("null: answers at once, measures the generator".to_owned()),
        }
    }
}

const WITHOUT_PORTMAPPER: (&str, &str) = (
    "portmapper",
    "With NFS_PORT and MOUNT_PORT it is not needed",
);
const WITHOUT_UDP: (&str, &str) = (
    "nfs",
    "Many servers are built without UDP by now: TCP=on goes over TCP",
);

fn nfs_facts(nfs: &NfsPlan) -> DriverFacts {
    let (commit, validates) = match nfs.version {
        NfsVersion::V2 => (None, "NFSv2"),
        NfsVersion::V3 => (Some(nfs.commit), "NFSv3"),
    };
    let resend_after = match nfs.transport {
        Transport::Tcp => None,
        Transport::Udp => Some(Nanos::from_millis(u64::from(nfs.udp_timeout_ms))),
    };
    DriverFacts {
        target: Target::Server,
        transport: Some(nfs.transport),
        ip: Some(nfs.ip),
        port: Some(nfs.nfs_port.unwrap_or(2049)),
        reserved_ports: nfs.resvport,
        connections: Some(nfs.connections),
        biods: (nfs.biod_max_reads, nfs.biod_max_writes),
        commit,
        resend_after,
        validates: Some(validates),
        service_advice: match nfs.transport {
            Transport::Tcp => &[WITHOUT_PORTMAPPER],
            Transport::Udp => &[WITHOUT_PORTMAPPER, WITHOUT_UDP],
        },
        service_command: "rpcinfo -p {host}",
        export_command: Some("showmount -e {host}"),
        user_parameter: "SFS_NFS_USER_ID",
        ..DriverFacts::default()
    }
}

fn smb_facts(smb: &SmbPlan) -> DriverFacts {
    DriverFacts {
        target: Target::Server,
        logs_in: true,
        ignores_case: true,
        transport: Some(Transport::Tcp),
        ip: Some(smb.ip),
        port: Some(smb.port),
        connections: Some(smb.connections),
        biods: (smb.biod_max_reads, smb.biod_max_writes),
        validates: Some("SMB"),
        service_command: "nc -vz {host} {port}",
        user_parameter: "USERNAME",
        ..DriverFacts::default()
    }
}

fn nfs_summary(nfs: &NfsPlan) -> String {
    format!(
        "NFSv{} over {}, {}, {}, uid {} gid {}",
        nfs.version.number(),
        nfs.transport.name(),
        connections(nfs.connections, nfs.transport),
        nfs_transfers(nfs),
        nfs.uid,
        nfs.gid
    )
}

fn smb_summary(smb: &SmbPlan) -> String {
    format!(
        "{} over TCP port {}, {}, {}",
        smb.dialect_text(),
        smb.port,
        connections(smb.connections, Transport::Tcp),
        transfers(smb.block_size_max)
    )
}

fn connections(connections: Connections, transport: Transport) -> String {
    let what = match transport {
        Transport::Tcp => "connection",
        Transport::Udp => "socket",
    };
    match connections {
        Connections::PerProc => format!("a {what} per proc"),
        Connections::Shared(n) => {
            let shared = counted(u64::from(n), &format!("shared {what}"));
            format!("{shared} per server")
        }
    }
}

/// The transfers of NFS: what version and transport carry is the most, whatever is asked.
fn nfs_transfers(nfs: &NfsPlan) -> String {
    let limit = nfs.version.transfer_bytes_max(nfs.transport);
    match (nfs.block_size_max, limit) {
        (Some(asked), Some(limit)) => transfers(Some(asked.min(limit))),
        (None, Some(limit)) => format!(
            "transfers as the server prefers, {} at most",
            Bytes(u64::from(limit))
        ),
        (asked, None) => transfers(asked),
    }
}

fn transfers(bytes_max: Option<u32>) -> String {
    match bytes_max {
        Some(bytes) => format!("transfers up to {}", Bytes(u64::from(bytes))),
        None => "transfers as the server prefers".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_mounted_file_systems_are_facts() {
        let posix = PosixPlan {
            no_fsync: true,
            open_files_max: Some(9),
            reuse_kept: true,
            ..PosixPlan::default()
        };
        let facts = DriverPlan::Posix(posix).facts();
        assert_eq!(facts.target, Target::Mounted);
        assert!(facts.blocks && facts.no_fsync && facts.reuses_kept);
        assert_eq!(facts.open_files_per_proc, (10, 24));
        assert_eq!((facts.transport, facts.port), (None, None));
    }

    #[test]
    fn a_driver_of_nothing_has_the_default_facts() {
        assert_eq!(DriverPlan::Null.facts(), DriverFacts::default());
        assert_eq!(DriverPlan::Null.describe().protocol, "");
    }
}
