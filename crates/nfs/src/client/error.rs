//! What can go wrong between a call and its answer.

use crate::security::SecurityError;
use crate::version4::SessionRefusal;
use filermark_onc::record::RecordTooLong;
use filermark_onc::rpc::RpcRefusal;
use filermark_onc::xdr::DecodeError;
use filermark_tls::{FileError, TlsError};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why a call has no answer. A refusal by the called procedure itself
/// (`NFS3ERR_...`) is an answer and not among these.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The task that the call belongs to is to end.
    #[error("stopped on request")]
    Stopped,
    /// The connection could not be made.
    #[error("cannot connect to {address}: {}", io_text(source))]
    Connect {
        /// The server's address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// No connection within the limit.
    #[error("no answer to the connection request to {address} within {} ms", waited.as_millis())]
    ConnectTimedOut {
        /// The server's address.
        address: SocketAddr,
        /// The limit.
        waited: Duration,
    },
    /// A source port below 1024 is required and could not be bound.
    #[error("cannot bind to a source port from 1023 to 512: {}", io_text(source))]
    ReservedPort {
        /// The system's last error.
        source: io::Error,
    },
    /// The connection broke.
    #[error("the connection to {address} broke: {}", io_text(source))]
    Broken {
        /// The other end.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The peer closed the connection instead of answering.
    #[error("{address} closed the connection instead of answering")]
    Closed {
        /// The other end.
        address: SocketAddr,
    },
    /// No answer within the limit.
    #[error("{address} accepted the connection but did not answer within {} ms", waited.as_millis())]
    TimedOut {
        /// The other end.
        address: SocketAddr,
        /// The limit.
        waited: Duration,
    },
    /// UDP: no answer within the limit, however often the call went out.
    #[error("no answer from {address} over UDP within {} ms (sent {sent} times)", waited.as_millis())]
    Silent {
        /// The server's address.
        address: SocketAddr,
        /// How long we waited in all.
        waited: Duration,
        /// How often the call went out.
        sent: u32,
    },
    /// UDP: the network reports the port as closed.
    #[error("UDP port {address} is closed (ICMP port unreachable)")]
    PortUnreachable {
        /// The server's address.
        address: SocketAddr,
    },
    /// The stream is not split into records.
    #[error("{address} does not answer in RPC records: {source}")]
    Record {
        /// The other end.
        address: SocketAddr,
        /// What is wrong.
        source: RecordTooLong,
    },
    /// The answer could not be decoded.
    #[error("{address} sent an invalid answer: {source}")]
    Garbage {
        /// The other end.
        address: SocketAddr,
        /// What is wrong.
        source: DecodeError,
    },
    /// The answer belongs to another call.
    #[error("{address} answered call {got:#x} instead of {expected:#x}")]
    WrongXid {
        /// The other end.
        address: SocketAddr,
        /// Our transaction id.
        expected: u32,
        /// Theirs.
        got: u32,
    },
    /// The RPC layer of the server did not execute the call.
    #[error("{address} refused the call: {refusal}")]
    Refused {
        /// The other end.
        address: SocketAddr,
        /// Why.
        refusal: RpcRefusal,
    },
    /// A file of certificates or keys cannot be used.
    #[error("{source}")]
    TlsFile {
        /// Which, and why.
        source: FileError,
    },
    /// The connection is not, or no longer, protected by TLS.
    #[error("{address}: {source}")]
    Tls {
        /// The server's address.
        address: SocketAddr,
        /// Why.
        source: TlsError,
    },
    /// The connection ended while TLS was being set up.
    #[error("{address} closed the connection while TLS was being set up")]
    TlsCut {
        /// The server's address.
        address: SocketAddr,
    },
    /// Calls cannot be protected, or a reply is not.
    #[error("{error}")]
    Kerberos {
        /// The other end.
        address: SocketAddr,
        /// Why.
        error: Box<SecurityError>,
    },
    /// NFSv4.1: there is no session.
    #[error("{address} gave no session: {refusal}")]
    NoSession {
        /// The other end.
        address: SocketAddr,
        /// Why.
        refusal: SessionRefusal,
    },
}

impl ClientError {
    /// Whether the port is closed or the host unreachable: another address of the same
    /// host may work.
    pub const fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Connect { .. }
                | Self::ConnectTimedOut { .. }
                | Self::Silent { .. }
                | Self::PortUnreachable { .. }
        )
    }

    /// Whether the same call may get an answer on a new connection.
    pub const fn is_worth_a_retry(&self) -> bool {
        if let Self::Tls { source, .. } = self {
            return !source.is_final();
        }
        matches!(
            self,
            Self::TlsCut { .. }
                | Self::Connect { .. }
                | Self::ConnectTimedOut { .. }
                | Self::Broken { .. }
                | Self::Closed { .. }
                | Self::TimedOut { .. }
                | Self::Silent { .. }
                | Self::PortUnreachable { .. }
        )
    }

    /// The refusal, if the server's RPC layer refused.
    pub const fn refusal(&self) -> Option<&RpcRefusal> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal),
            _ => None,
        }
    }
}

/// The error of a read or write, with TLS that of TLS.
pub(super) fn timeout_error(
    address: SocketAddr,
    waited: Duration,
    source: io::Error,
) -> ClientError {
    let of_tls = source.get_ref().and_then(|inner| inner.downcast_ref());
    if let Some(of_tls) = of_tls {
        let source = TlsError::clone(of_tls);
        return ClientError::Tls { address, source };
    }
    match source.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            ClientError::TimedOut { address, waited }
        }
        _ => ClientError::Broken { address, source },
    }
}

/// The system's error without its number.
fn io_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}
