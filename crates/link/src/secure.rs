//! The transport between prime and agents without SSH: TLS 1.3 over TCP. Each side has its own
//! secret and the public keys that it accepts.
//!
//! From its secret a side derives an Ed25519 key, and with it a self-signed certificate
//! ([`peer_keys`]). An agent accepts only the key of its prime, a prime the keys of its clients
//! ([`keys`]): the public key in the peer's certificate must be one of these, and the peer must
//! sign the handshake with it. Names and dates in certificates are not checked, because the key
//! alone identifies the peer.
//!
//! So the holder of a client's secret can join a run as this client. Orders are accepted from
//! the holder of the prime's secret.
//!
//! Security properties:
//!
//! - The secret itself is never sent, nor anything equivalent: TLS proves that the peer holds
//!   the private key, over the random numbers and key shares of this connection. A recorded
//!   handshake cannot be replayed.
//! - The traffic keys come from an ephemeral X25519 exchange. An attacker who obtains the secret
//!   later cannot decrypt recorded traffic.
//! - A side cannot be used against itself: client and server sign different data in TLS 1.3,
//!   and prime and agents use different protocols (ALPN, [`LinkRole`]), so that two agents
//!   cannot connect to each other.
//! - Sessions are neither resumed nor begun with early data.
//!
//! Requirements:
//!
//! - A strong secret. A peer that connects to a listening side sees its certificate, and can
//!   test guessed secrets against the public key in it, offline and without a rate limit. So
//!   secrets are random bytes, at least 128 bits and usually 256, and never pass phrases.
//! - Secrets that are kept secret: an agent carries out the orders of its prime with the rights
//!   of the user that started it. Files that others may read are refused. If a client's key is
//!   stolen, remove it from the prime's list; if a prime's key is stolen, make new keys for all.
//! - For Slurm, trust in Slurm: the agents get a secret for one launch and the public key of the
//!   prime through `srun`'s standard input, over Slurm's own connections, which Slurm encrypts
//!   only if it is configured to.
//!
//! Code behind [`wire`] uses plain byte streams. This module knows nothing of plans, orders and
//! load.

pub mod acceptor;
mod certificate;
pub mod connect;
pub mod dial;
pub mod hello;
pub mod keys;
pub mod peer_keys;
mod relay;
pub mod seal;
pub mod secret;
#[cfg(test)]
mod tests;
pub mod wire;

use std::io;
use std::time::Duration;

pub use peer_keys::{Identity, LinkRole, PublicKey};
pub use relay::LinkControl;
pub use secret::{Secret, SecretError};
pub use wire::{SecureStream, WriteHalf, secure_client, secure_server};

/// Why a connection failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecureError {
    /// The peer presented a key that is not accepted here.
    #[error("the peer has another key than the expected one")]
    WrongKey,
    /// The peer did not accept the key of this side.
    #[error("the peer does not accept the key of this side")]
    KeyRefused,
    /// The peer does not use TLS.
    #[error("the peer does not use TLS; it sent {0:?}")]
    NotTls(String),
    /// Both are primes, or both are agents.
    #[error("the peer is {0}, like this side, or another version of Filermark")]
    SameSide(LinkRole),
    /// TLS failed in another way.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// The time limit passed.
    #[error("timed out after {0:.1?}")]
    TimedOut(Duration),
    /// The peer closed the connection too early.
    #[error("the peer closed the connection during the handshake")]
    Closed,
    /// Nothing listens there.
    #[error("refused: nothing listens there")]
    Refused,
    /// There is no route to the host.
    #[error("no route to the host")]
    NoRoute,
    /// The name has no address.
    #[error("the name {name} has no address{family}: {reason}")]
    NoAddress {
        /// The name.
        name: String,
        /// " for IPv4" or " for IPv6", if a family is requested.
        family: &'static str,
        /// The error of the resolver.
        reason: String,
    },
    /// The peer rejected the connection, with a reason.
    #[error("rejected: {0}")]
    Rejected(String),
    /// The peer has a valid key, but its introduction is not valid.
    #[error("invalid introduction: {0}")]
    Malformed(String),
    /// Another error of sockets and threads.
    #[error("{0}")]
    Io(String),
}

impl SecureError {
    /// Whether another attempt may succeed.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::TimedOut(_)
            | Self::Closed
            | Self::Refused
            | Self::NoRoute
            | Self::NoAddress { .. }
            | Self::Io(_) => true,
            Self::WrongKey
            | Self::KeyRefused
            | Self::NotTls(_)
            | Self::SameSide(_)
            | Self::Tls(_)
            | Self::Rejected(_)
            | Self::Malformed(_) => false,
        }
    }
}

impl From<io::Error> for SecureError {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::ConnectionRefused => Self::Refused,
            Kind::HostUnreachable | Kind::NetworkUnreachable => Self::NoRoute,
            Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::NotConnected
            | Kind::UnexpectedEof => Self::Closed,
            _ => Self::Io(error.to_string()),
        }
    }
}
