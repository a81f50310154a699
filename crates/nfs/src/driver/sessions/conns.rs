//! A connection of a client: how far it is set up, and what is to be sent on it beside calls.

use super::client::{Client, LOSSES_MAX};
use filermark_model::Nanos;

/// What is under way on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// There is no connection.
    Down,
    /// Another connection of the client sets the session up.
    Queued,
    /// A session is set up.
    SettingUp,
    /// The server was not ready; the set-up goes on when a timer expires.
    Waiting,
    /// The session is bound to a new connection.
    Binding,
    /// Calls can be sent.
    Up,
    /// It is to be closed: the session that it was bound to is not used any more.
    GivenUp,
}

/// A connection of a client.
#[derive(Debug)]
pub(crate) struct ClientConn {
    /// The place of its client.
    pub(super) client: u32,
    pub(super) stage: Stage,
    /// The xid of the set-up's call under way.
    pub(super) xid: u32,
    /// Messages of the set-up, and answers to callbacks.
    pub(super) unsent: Vec<u8>,
    /// Since when its calls wait for a slot.
    pub(super) full_since: Option<Nanos>,
    /// It is among those that wait for a slot.
    pub(super) is_blocked: bool,
    /// The server does not bind it to the session.
    pub(super) is_refused: bool,
    /// How often in a row the server did not know that it is bound.
    unbound: u32,
}

impl ClientConn {
    fn new(client: u32) -> Self {
        Self {
            client,
            stage: Stage::Down,
            xid: 0,
            unsent: Vec::new(),
            full_since: None,
            is_blocked: false,
            is_refused: false,
            unbound: 0,
        }
    }

    /// The connection is not bound to the session; returns whether it is tried again.
    pub(super) fn lose_binding(&mut self) -> bool {
        self.unbound += 1;
        self.unbound <= LOSSES_MAX
    }

    /// A call was executed.
    #[inline]
    pub(super) fn works(&mut self) {
        self.unbound = 0;
    }
}

/// The connections of so many clients, from the client of each: the connections know their clients, and these
/// know them.
pub(super) fn of_clients(clients: &mut [Client], client_of: &[u32]) -> Vec<ClientConn> {
    for (conn, client) in client_of.iter().enumerate() {
        if let Some(client) = clients.get_mut(*client as usize) {
            client.add_conn(conn as u32);
        }
    }
    client_of.iter().map(|of| ClientConn::new(*of)).collect()
}
