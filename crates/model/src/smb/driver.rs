//! What the program has to know of the SMB driver, and the protocols that it speaks.

use super::{SmbCounter, SmbPlan};
use crate::counter::CounterDecl;
use crate::op::{Op, OpSet};
use crate::plan::Labels;
use crate::plan::facts::{DriverFacts, DriverSettings, DriverText, Target};
use crate::plan::network::{Transport, transfers_text};
use crate::protocol::ProtocolDecl;
use crate::secret::Secret;

/// SMB1. Operations have the names of its commands (manual M, section 2.2.2).
pub(crate) const SMB1: ProtocolDecl = ProtocolDecl {
    title: "SMB1",
    sfssum_name: "CIFS",
    driver_word: "smb",
    fs_word: Some("cifs"),
    benchmark: Some("general-smb1"),
    ops: Op::SMB,
    op_names: smb1_command,
    is_sequential: true,
    nfs_version: None,
};

/// SMB 2 and 3. Operations have the names of the commands that stand for them (MS-SMB2 2.2;
/// those on paths are chains of CREATE, what is named here, and CLOSE).
pub(crate) const SMB2: ProtocolDecl = ProtocolDecl {
    title: "SMB 2 and 3",
    sfssum_name: "SMB2",
    fs_word: Some("smb"),
    benchmark: Some("general-smb2"),
    op_names: smb2_command,
    ..SMB1
};

fn smb1_command(op: Op) -> Option<&'static str> {
    op.smb_commands().map(|[smb1, _]| smb1)
}

fn smb2_command(op: Op) -> Option<&'static str> {
    op.smb_commands().map(|[_, smb2]| smb2)
}

impl DriverSettings for SmbPlan {
    fn facts(&self) -> DriverFacts {
        DriverFacts {
            target: Target::Server,
            logs_in: true,
            ignores_case: true,
            transport: Some(Transport::Tcp),
            ip: Some(self.ip),
            port: Some(self.port),
            own_port: Some(self.port).filter(|port| *port != super::PORT),
            connections: Some(self.connections),
            nconnect: self.channels,
            biods: (self.biod_max_reads, self.biod_max_writes),
            validates: Some("SMB"),
            service_command: "nc -vz {host} {port}",
            user_parameter: "USERNAME",
            ..DriverFacts::default()
        }
    }

    fn describe(&self) -> DriverText {
        let summary = format!(
            "{} over TCP port {}, {}, {}",
            self.dialect_text(),
            self.port,
            self.connections_text(),
            transfers_text(self.block_size_max)
        );
        DriverText {
            protocol: self.dialect_text(),
            rows: self.rows().to_vec(),
            user: self.auth.to_string(),
            ports: format!("port {}", self.port),
            ..DriverText::of(summary)
        }
    }

    fn ops(&self) -> OpSet {
        OpSet::SMB
    }

    fn counters(&self) -> &'static [CounterDecl] {
        SmbCounter::ALL
    }

    fn labels(&self) -> Labels {
        Self::LABELS
    }

    fn places(&self) -> &'static [&'static str] {
        Self::PLACES
    }

    fn password(&self) -> Option<&Secret> {
        Some(&self.password)
    }

    fn set_password(&mut self, password: Secret) {
        self.password = password;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::Protocol;

    #[test]
    fn every_operation_has_its_names_in_the_order_of_the_table() {
        for protocol in [Protocol::Smb1, Protocol::Smb2] {
            for (place, op) in Op::SMB.iter().enumerate() {
                assert_eq!(protocol.op_place(*op), place);
                let same = |o: &&Op| protocol.op_name(**o) == protocol.op_name(*op);
                assert_eq!(Op::SMB.iter().filter(same).count(), 1, "{op}");
            }
        }
        assert_eq!(Protocol::Smb1.op_name(Op::Open), "NT_CREATE_ANDX");
        assert_eq!(Protocol::Smb2.op_name(Op::Open), "CREATE");
        assert_eq!(Protocol::Nfs3.op_name(Op::Getattr), "getattr");
        assert!(Protocol::Nfs3.op_place(Op::Read) < Protocol::Nfs3.op_place(Op::Write));
    }
}
