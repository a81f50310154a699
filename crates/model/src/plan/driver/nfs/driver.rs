//! What the program has to know of the NFS driver, and the protocols that it speaks.

use super::{ClientIds, DelegationUse, NfsCounter, NfsPlan};
use crate::counter::CounterDecl;
use crate::mix::Mix;
use crate::op::{Op, OpSet};
use crate::plan::Labels;
use crate::plan::facts::{DriverFacts, DriverSettings, DriverText, Target, leave_out};
use crate::plan::network::{Transport, transfers_text};
use crate::protocol::{NfsVersion, ProtocolDecl};
use crate::units::{Bytes, Nanos};

/// NFS version 2.
pub(in crate::plan) const NFS2: ProtocolDecl = ProtocolDecl {
    title: "NFS version 2",
    sfssum_name: "NFS2",
    driver_word: "nfs2",
    fs_word: Some("nfs"),
    benchmark: Some("nfs2-1997"),
    ops: Op::NFS2,
    op_names: |_| None,
    is_sequential: false,
    nfs_version: Some(NfsVersion::V2),
};

/// NFS version 3.
pub(in crate::plan) const NFS3: ProtocolDecl = ProtocolDecl {
    title: "NFS version 3",
    sfssum_name: "NFS3",
    driver_word: "nfs3",
    benchmark: Some("general-nfs3"),
    ops: Op::NFS3,
    nfs_version: Some(NfsVersion::V3),
    ..NFS2
};

/// NFS version 4.0, with opens and locks: the operations of version 4.1.
pub(in crate::plan) const NFS40: ProtocolDecl = ProtocolDecl {
    title: "NFS version 4.0",
    driver_word: "nfs40",
    benchmark: Some("general-nfs40"),
    nfs_version: Some(NfsVersion::V40),
    ..NFS41
};

/// NFS version 4.1, with opens and locks.
pub(in crate::plan) const NFS41: ProtocolDecl = ProtocolDecl {
    title: "NFS version 4.1",
    sfssum_name: "NFS4",
    driver_word: "nfs41",
    fs_word: None,
    benchmark: Some("general-nfs41"),
    ops: Op::NFS41,
    nfs_version: Some(NfsVersion::V41),
    ..NFS2
};

/// NFS version 4.2, with the operations that earlier versions do not have.
pub(in crate::plan) const NFS42: ProtocolDecl = ProtocolDecl {
    title: "NFS version 4.2",
    sfssum_name: "NFS4",
    driver_word: "nfs42",
    fs_word: None,
    benchmark: Some("nfs42-offload"),
    ops: Op::NFS42,
    nfs_version: Some(NfsVersion::V42),
    ..NFS2
};

/// The port of NFS (RFC 1813, section 5.2; RFC 8881, section 2.9.3).
pub(super) const NFS_PORT: u16 = 2049;

const WITHOUT_PORTMAPPER: (&str, &str) = (
    "portmapper",
    "with NFS_PORT and MOUNT_PORT it is not needed",
);
const WITHOUT_UDP: (&str, &str) = (
    "nfs",
    "many servers are built without UDP by now: TCP=on goes over TCP",
);

impl DriverSettings for NfsPlan {
    fn facts(&self) -> DriverFacts {
        let (commit, validates) = match self.version {
            NfsVersion::V2 => (None, Some("NFSv2")),
            NfsVersion::V3 => (Some(self.commit), Some("NFSv3")),
            NfsVersion::V40 => (Some(self.commit), Some("NFSv4.0")),
            NfsVersion::V41 => (Some(self.commit), Some("NFSv4.1")),
            NfsVersion::V42 => (Some(self.commit), Some("NFSv4.2")),
        };
        let resend_after = match self.transport {
            Transport::Tcp => None,
            Transport::Udp => Some(Nanos::from_millis(u64::from(self.udp_timeout_ms))),
        };
        DriverFacts {
            target: Target::Server,
            transport: Some(self.transport),
            ip: Some(self.ip),
            port: Some(self.nfs_port.unwrap_or(NFS_PORT)),
            own_port: self.own_port(),
            reserved_ports: self.resvport,
            connections: Some(self.connections),
            nconnect: self.nconnect,
            biods: (self.biod_max_reads, self.biod_max_writes),
            commit,
            resend_after,
            validates,
            uses_layouts: !self.layouts.is_refuse(),
            keeps_delegations: !self.delegations.is_refuse(),
            service_advice: match (self.version, self.transport) {
                (NfsVersion::V40 | NfsVersion::V41 | NfsVersion::V42, _) => &[],
                (_, Transport::Tcp) => &[WITHOUT_PORTMAPPER],
                (_, Transport::Udp) => &[WITHOUT_PORTMAPPER, WITHOUT_UDP],
            },
            // Version 4 has a port, and no entry of a portmapper.
            service_command: match self.version.has_state() {
                true => "nc -vz {host} {port}",
                false => "rpcinfo -p {host}",
            },
            has_name_space_root: self.version.has_state(),
            export_command: match self.version {
                NfsVersion::V40 | NfsVersion::V41 | NfsVersion::V42 => None,
                _ => Some("showmount -e {host}"),
            },
            user_parameter: "SFS_NFS_USER_ID",
            ..DriverFacts::default()
        }
    }

    fn describe(&self) -> DriverText {
        let tls = self
            .tls
            .as_ref()
            .map_or_else(String::new, |tls| format!(" with {}", tls.name()));
        let delegations = match self.delegations {
            DelegationUse::Keep => ", delegations kept",
            DelegationUse::Refuse => "",
        };
        let summary = format!(
            "NFSv{} over {}{tls}, {}, {}, {}{delegations}",
            self.version.name(),
            self.transport.name(),
            self.connections_text(),
            self.transfers(),
            self.user_text()
        );
        DriverText {
            protocol: format!("NFSv{}", self.version.name()),
            rows: self
                .clients_text()
                .map(|text| ("Client IDs", text))
                .into_iter()
                .collect(),
            user: match (self.security.is_sys(), self.username.as_str()) {
                (true, _) => format!("user {}", self.uid),
                (false, "") => "the owner of the tickets".to_owned(),
                (false, name) => format!("user {name}"),
            },
            ports: match self.version {
                NfsVersion::V40 | NfsVersion::V41 | NfsVersion::V42 => {
                    "the port of NFS (2049)".to_owned()
                }
                _ => "the ports of NFS (2049), MOUNT and portmapper (111)".to_owned(),
            },
            ..DriverText::of(summary)
        }
    }

    fn ops(&self) -> OpSet {
        match self.version {
            NfsVersion::V2 => OpSet::NFS2,
            NfsVersion::V3 => OpSet::NFS3,
            // Those of version 3 as COMPOUNDs, and those of their own: 4.1 adds none to 4.0.
            NfsVersion::V40 | NfsVersion::V41 => OpSet::NFS41,
            NfsVersion::V42 => OpSet::NFS42,
        }
    }

    fn note_mix(&mut self, mix: &Mix) {
        let ops = mix.shares().iter().map(|(op, _)| *op);
        self.optional_ops = match self.version {
            NfsVersion::V42 => ops.filter(|op| op.needs_nfs42()).collect(),
            NfsVersion::V2 | NfsVersion::V3 | NfsVersion::V40 | NfsVersion::V41 => Vec::new(),
        };
    }

    /// Names the versions that have all of them, so that the advice does not lead to the next refusal.
    fn advice_without(&self, missing: &[Op], all: &[Op]) -> String {
        let has_all = |version: &NfsVersion| {
            let version = *version;
            let ops = Self {
                version,
                ..self.clone()
            }
            .ops();
            all.iter().all(|op| ops.contains(*op))
        };
        let versions = [
            NfsVersion::V3,
            NfsVersion::V40,
            NfsVersion::V41,
            NfsVersion::V42,
        ];
        let names: Vec<&str> = versions
            .iter()
            .filter(|version| has_all(version))
            .map(|version| version.name())
            .collect();
        let out = leave_out(missing);
        match names.as_slice() {
            [] => out.to_owned(),
            [name] => format!("set NFS_VERSION={name}, or {out}"),
            [names @ .., last] => {
                format!("set NFS_VERSION={} or {last}, or {out}", names.join(", "))
            }
        }
    }

    fn counters(&self) -> &'static [CounterDecl] {
        NfsCounter::ALL
    }

    fn labels(&self) -> Labels {
        Self::LABELS
    }

    fn places(&self) -> &'static [&'static str] {
        Self::PLACES
    }
}

impl NfsPlan {
    /// Which connections are one client, where not each is one by itself.
    fn clients_text(&self) -> Option<String> {
        match (self.client_ids, self.nconnect) {
            (ClientIds::Shared, _) => Some("one client ID per thread and server".to_owned()),
            (ClientIds::Connection, 0 | 1) => None,
            (ClientIds::Connection, n) => Some(format!("each a client with nconnect={n}")),
        }
    }

    /// How procs share connections, and these client IDs, in text.
    fn connections_text(&self) -> String {
        let connections = self.connections.text(self.transport);
        match self.clients_text() {
            Some(clients) => format!("{connections} ({clients})"),
            None => connections,
        }
    }

    /// The user in text, with the security of calls where it is not AUTH_SYS.
    fn user_text(&self) -> String {
        if self.security.is_sys() {
            return format!("uid {} gid {}", self.uid, self.gid);
        }
        let realm = match self.realm.as_str() {
            "" => "of the default realm".to_owned(),
            realm => format!("of the realm {realm}"),
        };
        let user = match self.username.as_str() {
            "" => "whose tickets are in the cache".to_owned(),
            name => format!("user {name} {realm}"),
        };
        format!("Kerberos ({}), {user}", self.security.name())
    }

    /// The transfers in text: what version and transport carry is the most, whatever is asked.
    fn transfers(&self) -> String {
        let limit = self.version.transfer_bytes_max(self.transport);
        match (self.block_size_max, limit) {
            (Some(asked), Some(limit)) => transfers_text(Some(asked.min(limit))),
            (None, Some(limit)) => format!(
                "transfers as the server prefers, {} at most",
                Bytes(u64::from(limit))
            ),
            (asked, None) => transfers_text(asked),
        }
    }
}
