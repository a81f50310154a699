//! Which connections have a client ID in common.

use serde::{Deserialize, Serialize};

/// Which connections of NFSv4.1 and 4.2 are one client, with one client ID and one session (CLIENT_IDS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientIds {
    /// Each connection of CONNECTIONS, which NCONNECT multiplies.
    #[default]
    Connection,
    /// All connections of a thread to one server.
    Shared,
}

impl ClientIds {
    /// Whether every connection of CONNECTIONS is a client.
    pub const fn is_connection(&self) -> bool {
        matches!(self, Self::Connection)
    }
}
