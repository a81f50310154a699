//! Why there is no session.

use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::Nfsstat4;
use filermark_onc::rpc::{AcceptStat, RpcRefusal};
use filermark_onc::xdr::DecodeError;
use std::time::Duration;

/// Why a server gives no session, as a sentence about the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionRefusal {
    /// The server does not have version 4.
    #[error(
        "the server does not offer NFSv4, but NFS versions {low} to {high} (PROG_MISMATCH); set \
         NFS_VERSION={high}, or enable NFSv4 on the server"
    )]
    NoVersion4 {
        /// Lowest version that it has.
        low: u32,
        /// Highest version that it has.
        high: u32,
    },
    /// The server has version 4 but not this minor version of it.
    #[error(
        "the server offers NFSv4, but not minor version {} (NFS4ERR_MINOR_VERS_MISMATCH); enable NFSv{} \
         on the server, or set NFS_VERSION={} if it has that", .0.number(), .0.name(), lower(*.0)
    )]
    NoMinorVersion(MinorVersion),
    /// The RPC layer refused.
    #[error("the server refused the call: {0}")]
    Rpc(RpcRefusal),
    /// The answer could not be decoded.
    #[error("the server sent an invalid answer to {call}: {error}")]
    Malformed {
        /// The operation that was asked for.
        call: &'static str,
        /// What is wrong.
        error: DecodeError,
    },
    /// An operation failed.
    #[error("{call} was answered with {status}: {}", advice(*.status))]
    Status {
        /// The operation.
        call: &'static str,
        /// Its status.
        status: Nfsstat4,
    },
    /// The server was not ready within the limit.
    #[error(
        "{call} was still answered with {status} after {} s: {}",
        waited.as_secs(), advice(*.status)
    )]
    NotReady {
        /// The operation.
        call: &'static str,
        /// Its last status.
        status: Nfsstat4,
        /// How long the waits were together.
        waited: Duration,
    },
    /// The limits that the server grants are too low.
    #[error(
        "the server grants a session with {field} {granted}; at least {least} is needed. Raise the \
         limit on the server, or stop other clients if it grants less because of them"
    )]
    TooLittle {
        /// The attribute of the channel.
        field: &'static str,
        /// What was granted.
        granted: u32,
        /// What is needed.
        least: u32,
    },
    /// The answer belongs to another session, slot or call.
    #[error("the server answered {call} with the result of another call")]
    OtherCall {
        /// The operation that was asked for.
        call: &'static str,
    },
    /// The server forgot the client ID again and again.
    #[error(
        "the server forgot the client ID {times} times while the session was set up ({status})"
    )]
    Forgotten {
        /// How often.
        times: u32,
        /// The last status.
        status: Nfsstat4,
    },
}

impl SessionRefusal {
    /// Whether the server does not offer the minor version at all.
    pub const fn is_no_version(&self) -> bool {
        matches!(
            self,
            Self::NoVersion4 { .. }
                | Self::NoMinorVersion(_)
                | Self::Rpc(RpcRefusal::Accepted(AcceptStat::ProgUnavail))
        )
    }
}

impl From<RpcRefusal> for SessionRefusal {
    fn from(refusal: RpcRefusal) -> Self {
        match refusal {
            RpcRefusal::Accepted(AcceptStat::ProgMismatch { low, high }) => {
                Self::NoVersion4 { low, high }
            }
            other => Self::Rpc(other),
        }
    }
}

/// The next lower version that NFS_VERSION may name.
const fn lower(minor: MinorVersion) -> &'static str {
    match minor {
        MinorVersion::V0 => "3",
        MinorVersion::V1 => MinorVersion::V0.name(),
        MinorVersion::V2 => MinorVersion::V1.name(),
    }
}

/// What to do, where set-up means another thing than other operations.
fn advice(status: Nfsstat4) -> &'static str {
    match status {
        Nfsstat4::Wrongsec => {
            "the server requires another security flavor: compare SECURITY (sys, krb5, krb5i, krb5p) and TLS (off, \
             on, mtls) with what the export allows this client (sec=, xprtsec=)"
        }
        Nfsstat4::ClidInuse => {
            "another user's client has this name; the server compares users, run as the same UID"
        }
        Nfsstat4::Nospc => {
            "the server has no memory for another session; stop other clients or wait until their \
             leases expire"
        }
        other => other.advice(),
    }
}
