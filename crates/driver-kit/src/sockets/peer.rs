//! The other end of a connection.

use filermark_tls::ClientTls;
use std::net::SocketAddr;

/// Where a connection leads, and how it is protected.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The server's address.
    pub address: SocketAddr,
    /// TLS, for connections over TCP.
    pub tls: Option<ClientTls>,
}

impl From<SocketAddr> for Peer {
    /// In the clear.
    fn from(address: SocketAddr) -> Self {
        Self { address, tls: None }
    }
}
