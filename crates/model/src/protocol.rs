//! The protocols that have a driver, and the versions of NFS.

mod names;

use crate::plan::Transport;
use serde::{Deserialize, Serialize};

/// The protocols that have a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// NFS version 2, over TCP or UDP.
    Nfs2,
    /// NFS version 3, over TCP or UDP.
    Nfs3,
    /// A mounted file system, by system calls.
    Posix,
    /// SMB1 (NT LM 0.12) over TCP: the classical CIFS.
    Smb1,
    /// SMB 2.0.2 to 3.1.1 over TCP.
    Smb2,
}

impl Protocol {
    /// Whether its operations come in sequences, since it has state.
    pub const fn is_sequential(self) -> bool {
        matches!(self, Self::Smb1 | Self::Smb2)
    }

    /// The version of NFS that it is.
    pub const fn nfs_version(self) -> Option<NfsVersion> {
        match self {
            Self::Nfs2 => Some(NfsVersion::V2),
            Self::Nfs3 => Some(NfsVersion::V3),
            Self::Posix | Self::Smb1 | Self::Smb2 => None,
        }
    }

    /// As sfssum spells it in column 6 (manual M, section 4.4).
    pub const fn sfssum_name(self) -> &'static str {
        match self {
            Self::Nfs2 => "NFS2",
            Self::Nfs3 => "NFS3",
            Self::Posix => "POSIX",
            Self::Smb1 => "CIFS",
            Self::Smb2 => "SMB2",
        }
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
}

impl NfsVersion {
    /// Its number, as calls carry it.
    pub const fn number(self) -> u32 {
        match self {
            Self::V2 => 2,
            Self::V3 => 3,
        }
    }

    /// The largest READ and WRITE over what carries them, in bytes; `None`: as the server
    /// likes. Version 2 has MAXDATA (RFC 1094 section 2.3); over UDP it is what kernel
    /// clients send, where a datagram could have 64 KiB less its headers.
    pub const fn transfer_bytes_max(self, transport: Transport) -> Option<u32> {
        match (self, transport) {
            (Self::V2, _) => Some(8 << 10),
            (Self::V3, Transport::Udp) => Some(32 << 10),
            (Self::V3, Transport::Tcp) => None,
        }
    }

    /// That of the MOUNT program that goes with it.
    pub const fn mount_number(self) -> u32 {
        match self {
            Self::V2 => 1,
            Self::V3 => 3,
        }
    }
}
