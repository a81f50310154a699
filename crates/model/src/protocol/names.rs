//! What the protocols call the logical operations, and in which order tables have them.

use super::Protocol;
use crate::op::Op;

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
        let of_smb = op.smb_commands().unwrap_or([op.name(); 2]);
        match self {
            Self::Nfs2 | Self::Nfs3 | Self::Posix => op.name(),
            Self::Smb1 => of_smb[0],
            Self::Smb2 => of_smb[1],
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
