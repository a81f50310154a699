//! What the protocols call the logical operations, and in which order tables have them.

use super::Protocol;
use crate::op::Op;

/// By operation: the name over SMB1 (manual M, section 2.2.2), and what stands for it
/// over SMB 2 and 3 (MS-SMB2 2.2; those on paths are chains of CREATE, what is named
/// here, and CLOSE).
const SMB: &[(Op, &str, &str)] = &[
    (Op::Echo, "ECHO", "ECHO"),
    (Op::Lock, "LOCKING_ANDX", "LOCK"),
    (
        Op::QuerySecurity,
        "NT_TRANSACT_QUERY_SECURITY_DESC",
        "QUERY_INFO_SECURITY",
    ),
    (Op::Read, "READ_ANDX", "READ"),
    (
        Op::QueryFs,
        "TRANS2_QUERY_FS_INFORMATION",
        "QUERY_INFO_FILESYSTEM",
    ),
    (
        Op::QueryFile,
        "TRANS2_QUERY_FILE_INFORMATION",
        "QUERY_INFO_FILE",
    ),
    (
        Op::QueryPath,
        "TRANS2_QUERY_PATH_INFORMATION",
        "QUERY_INFO_PATH",
    ),
    (Op::SetFile, "TRANS2_SET_FILE_INFORMATION", "SET_INFO_FILE"),
    (Op::Find, "TRANS2_FIND_FIRST2", "QUERY_DIRECTORY"),
    (Op::Write, "WRITE_ANDX", "WRITE"),
    (Op::Open, "NT_CREATE_ANDX", "CREATE"),
    (Op::Close, "CLOSE", "CLOSE"),
    (Op::Flush, "FLUSH", "FLUSH"),
];

impl Protocol {
    /// Its operations, in the order of its tables.
    pub const fn ops(self) -> &'static [Op] {
        match self {
            Self::Nfs2 => Op::NFS2,
            Self::Nfs3 => Op::NFS3,
            Self::Posix => Op::POSIX,
            Self::Smb1 | Self::Smb2 => Op::SMB,
        }
    }

    /// What it calls an operation: over SMB the name of the command, else that of the
    /// mix files.
    pub fn op_name(self, op: Op) -> &'static str {
        let row = || SMB.iter().find(|(o, _, _)| *o == op);
        match self {
            Self::Nfs2 | Self::Nfs3 | Self::Posix => op.name(),
            Self::Smb1 => row().map_or(op.name(), |(_, name, _)| name),
            Self::Smb2 => row().map_or(op.name(), |(_, _, name)| name),
        }
    }

    /// Where an operation stands in tables: SMB's come in the order of the seed's table,
    /// the others in that of [`Op::ALL`].
    pub fn op_place(self, op: Op) -> usize {
        let of_smb = || Op::SMB.iter().position(|o| *o == op);
        let place = if self.is_sequential() { of_smb() } else { None };
        place.unwrap_or(Op::SMB.len() + op.index())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_smb_has_its_names_in_the_order_of_the_table() {
        assert!(SMB.iter().map(|(op, _, _)| op).eq(Op::SMB));
        for (place, op) in Op::SMB.iter().enumerate() {
            for protocol in [Protocol::Smb1, Protocol::Smb2] {
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
