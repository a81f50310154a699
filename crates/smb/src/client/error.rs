//! What can go wrong between a request and its reply, and what a refusal is.

use filermark_smbwire::error::DecodeError;
use filermark_smbwire::frame::FrameError;
use filermark_smbwire::status;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why a request has no reply. A refusal by the server (an NTSTATUS) is a reply and not
/// among these.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The task that the request belongs to is to end.
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
    /// The connection broke.
    #[error("the connection to {address} broke: {}", io_text(source))]
    Broken {
        /// The other end.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The server closed the connection.
    #[error("{address} closed the connection instead of answering")]
    Closed {
        /// The other end.
        address: SocketAddr,
    },
    /// No reply within the limit.
    #[error("{address} accepted the connection but did not answer within {} ms", waited.as_millis())]
    TimedOut {
        /// The other end.
        address: SocketAddr,
        /// The limit.
        waited: Duration,
    },
    /// The stream is not made of messages.
    #[error("{address}: {source}")]
    Frame {
        /// The other end.
        address: SocketAddr,
        /// What is wrong.
        source: FrameError,
    },
    /// A message is not valid, or is not this session's.
    #[error("{address} sent an invalid message: {source}")]
    Garbage {
        /// The other end.
        address: SocketAddr,
        /// What is wrong.
        source: DecodeError,
    },
    /// Nothing is in flight, and still the server permits no further request.
    #[error("{address} grants no credits, so no request can be sent")]
    NoCredits {
        /// The other end.
        address: SocketAddr,
    },
}

impl ClientError {
    /// Whether the connection was there and is no more.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Broken { .. } | Self::Closed { .. })
    }
}

/// The system's error without its number.
fn io_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((front, _)) => front.to_lowercase(),
        None => text,
    }
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The server refused it.
    #[error("{step}: {}", status::text(*status))]
    Refused {
        /// The request: the command as the specification names it.
        step: &'static str,
        /// Its NTSTATUS.
        status: u32,
    },
    /// There is no reply.
    #[error("{step}: {error}")]
    ConnectionLost {
        /// The request.
        step: &'static str,
        /// Why.
        error: ClientError,
    },
}

impl Failure {
    /// The NTSTATUS of a refusal.
    pub const fn status(&self) -> Option<u32> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            Self::ConnectionLost { .. } => None,
        }
    }

    /// Whether the server refused it with one of these.
    pub fn is(&self, statuses: &[u32]) -> bool {
        self.status()
            .is_some_and(|status| statuses.contains(&status))
    }
}

/// Whether nothing has this name: the name or the way to it is missing.
pub const NOT_THERE: [u32; 3] = [
    status::OBJECT_NAME_NOT_FOUND,
    status::OBJECT_PATH_NOT_FOUND,
    status::NO_SUCH_FILE,
];
