//! The way between prime and agents where no SSH carries it: TLS 1.3 over TCP. Each side
//! has a secret of its own and knows the public keys that it takes.
//!
//! From its secret a side derives an Ed25519 key, and with it a self-made certificate
//! ([`peer_keys`]). An agent takes the key of its prime and no other, a prime the keys of
//! its clients ([`keys`]): the public key of what the peer shows must be one of these,
//! and the peer must sign the handshake with it. Names and dates are not looked at,
//! since a key that nobody else can have says more than they do.
//!
//! So the secret of a client lets its holder join a run as this client. Orders are taken
//! from whoever has the secret of the prime.
//!
//! Why that is sound:
//!
//! - The secret itself never travels, nor anything that it could be replaced by: TLS
//!   proves that the peer holds the private key, over the random numbers and key
//!   shares of this very connection. What was recorded cannot be played again.
//! - The traffic keys come from a fresh X25519 exchange. Whoever learns the secret
//!   later cannot read what was recorded before.
//! - A side cannot be played against itself: what client and server sign differs in TLS
//!   1.3, and prime and agents name different protocols (ALPN, [`LinkRole`]), so that a
//!   connection between two agents does not come about.
//! - Sessions are neither resumed nor begun with early data.
//!
//! What it needs:
//!
//! - A strong secret. Whoever connects to a listening side sees its certificate, and
//!   may try secrets against the public key in it, at home and as fast as they like.
//!   Hence random bytes, 128 bits at least and 256 as a rule, and no pass phrases.
//! - Secrets that are kept: an agent does what its prime orders with the rights of the
//!   user that started it. Files that others may read are refused. A client's key that
//!   got out is struck off the prime's list; a prime's key that got out means new keys
//!   for all.
//! - For Slurm, trust in Slurm: a one-time secret for the agents and the public key of
//!   the prime go to them through `srun`'s standard input, over Slurm's own connections,
//!   which it does not encrypt unless it was set up to.
//!
//! Everything behind [`wire`] sees plain byte streams. This room knows nothing of
//! plans, orders and load.

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
pub mod wire;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod wire_tests;

use std::io;
use std::time::Duration;

pub use peer_keys::{Identity, LinkRole, PublicKey};
pub use relay::LinkControl;
pub use secret::{Secret, SecretError};
pub use wire::{SecureStream, WriteHalf, secure_client, secure_server};

/// Why a connection did not come about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecureError {
    /// The other side showed a key that is not taken here.
    #[error("the other side has another key than the one that is expected")]
    WrongKey,
    /// The other side did not take the key that it was shown.
    #[error("the other side does not accept the key of this one")]
    KeyRefused,
    /// Something else than TLS came.
    #[error("what is there does not speak TLS, but says {0:?}")]
    NotTls(String),
    /// Both are primes, or both are agents.
    #[error("the other side is {0}, as this one is, or another version of Filermark")]
    SameSide(LinkRole),
    /// TLS failed in another way.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// Nothing, or not enough, came in time.
    #[error("nothing came of it within {0:.1?}")]
    TimedOut(Duration),
    /// The connection ended too early.
    #[error("the connection was closed before it was made")]
    Closed,
    /// Nothing listens there.
    #[error("refused: nothing listens there")]
    Refused,
    /// The network does not lead there.
    #[error("no route leads there")]
    NoRoute,
    /// The name has no address.
    #[error("the name {name} has no address{family}: {reason}")]
    NoAddress {
        /// The name.
        name: String,
        /// " of the wished family", where one is wished.
        family: &'static str,
        /// What the resolver said.
        reason: String,
    },
    /// The other side said no, and why.
    #[error("turned away: {0}")]
    Rejected(String),
    /// The other side has its key and talks nonsense.
    #[error("what came is no introduction: {0}")]
    Malformed(String),
    /// Anything else that sockets and threads fail with.
    #[error("{0}")]
    Io(String),
}

impl SecureError {
    /// Whether another attempt in a moment may go better.
    pub fn may_pass(&self) -> bool {
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
