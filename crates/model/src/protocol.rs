//! What is known of a protocol whose operations a benchmark has, and the versions of NFS.

use crate::op::Op;
use crate::plan::Transport;
use serde::{Deserialize, Serialize};

/// What is known of a protocol whose operations a benchmark has. The protocols themselves are
/// [`Protocol`](crate::benchmark::Protocol).
#[derive(Clone, Copy, Debug)]
pub struct ProtocolDecl {
    /// What people call it.
    pub title: &'static str,
    /// As sfssum spells it in column 6 (manual M, section 4.4).
    pub sfssum_name: &'static str,
    /// The value of DRIVER that chooses it. Of several protocols with the same one the last is
    /// meant where nothing else says which.
    pub driver_word: &'static str,
    /// The value of FS_PROTOCOL that chooses it; `None`: no value does.
    pub fs_word: Option<&'static str>,
    /// The benchmark of a run that names the protocol and no benchmark.
    pub benchmark: Option<&'static str>,
    /// Its operations, in the order of its tables.
    pub ops: &'static [Op],
    /// The protocol's name of an operation; `None`: the name of the mix files.
    pub op_names: fn(Op) -> Option<&'static str>,
    /// Its operations come in sequences, since it has state. Tables have them in the order of
    /// `ops`, those of other protocols in that of [`Op::ALL`].
    pub is_sequential: bool,
    /// The version of NFS that it is.
    pub nfs_version: Option<NfsVersion>,
}

impl ProtocolDecl {
    /// What it calls an operation.
    pub fn op_name(&self, op: Op) -> &'static str {
        (self.op_names)(op).unwrap_or(op.name())
    }

    /// Where an operation stands in tables.
    pub fn op_place(&self, op: Op) -> usize {
        let mut own = self.ops.iter();
        let place = match self.is_sequential {
            true => own.position(|of| *of == op),
            false => None,
        };
        place.unwrap_or(self.ops.len() + op.index())
    }
}

/// A version of NFS that the driver speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NfsVersion {
    /// Version 2 (RFC 1094), with version 1 of MOUNT.
    V2,
    /// Version 3 (RFC 1813), with version 3 of MOUNT.
    #[default]
    V3,
    /// Version 4.0 (RFC 7530), which has no MOUNT and needs no portmapper.
    V40,
    /// Version 4.1 (RFC 8881), which has sessions.
    V41,
    /// Version 4.2 (RFC 7862): the same protocol with another minor version and more operations.
    V42,
}

/// A minor version of NFS version 4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MinorVersion {
    /// That of version 4.0 (RFC 7530).
    V0,
    /// That of version 4.1 (RFC 8881).
    #[default]
    V1,
    /// That of version 4.2 (RFC 7862).
    V2,
}

impl MinorVersion {
    /// Its number, as COMPOUNDs carry it.
    pub const fn number(self) -> u32 {
        match self {
            Self::V0 => 0,
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }

    /// The version of NFS that it is part of.
    pub const fn version(self) -> NfsVersion {
        match self {
            Self::V0 => NfsVersion::V40,
            Self::V1 => NfsVersion::V41,
            Self::V2 => NfsVersion::V42,
        }
    }

    /// Whether calls are made in a session: version 4.0 has none.
    pub const fn has_sessions(self) -> bool {
        !matches!(self, Self::V0)
    }

    /// That of NFS_VERSION that has it.
    pub const fn name(self) -> &'static str {
        self.version().name()
    }
}

impl NfsVersion {
    /// Its number, as calls carry it: without the minor version.
    pub const fn number(self) -> u32 {
        match self {
            Self::V2 => 2,
            Self::V3 => 3,
            Self::V40 | Self::V41 | Self::V42 => 4,
        }
    }

    /// Its number with the minor version, as NFS_VERSION and texts have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V2 => "2",
            Self::V3 => "3",
            Self::V40 => "4.0",
            Self::V41 => "4.1",
            Self::V42 => "4.2",
        }
    }

    /// Whether clients have a state on the server, and files are opened: no UDP, no MOUNT.
    pub const fn has_state(self) -> bool {
        self.minor_version().is_some()
    }

    /// The minor version of version 4; `None`: it is version 2 or 3.
    pub const fn minor_version(self) -> Option<MinorVersion> {
        match self {
            Self::V2 | Self::V3 => None,
            Self::V40 => Some(MinorVersion::V0),
            Self::V41 => Some(MinorVersion::V1),
            Self::V42 => Some(MinorVersion::V2),
        }
    }

    /// The largest READ and WRITE over what carries them, in bytes; `None`: as the server
    /// likes. Version 2 has MAXDATA (RFC 1094 section 2.3); over UDP it is what kernel
    /// clients send, where a datagram could have 64 KiB less its headers.
    pub const fn transfer_bytes_max(self, transport: Transport) -> Option<u32> {
        match (self, transport) {
            (Self::V2, _) => Some(8 << 10),
            (Self::V3, Transport::Udp) => Some(32 << 10),
            (Self::V3, Transport::Tcp) | (Self::V40 | Self::V41 | Self::V42, _) => None,
        }
    }

    /// That of the MOUNT program that goes with it; `None`: it has none.
    pub const fn mount_number(self) -> Option<u32> {
        match self {
            Self::V2 => Some(1),
            Self::V3 => Some(3),
            Self::V40 | Self::V41 | Self::V42 => None,
        }
    }
}
