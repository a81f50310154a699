//! Between a client of SMB or NFS and its server: a server that does what a test says, and
//! proxies that delay, change, repeat or cut what passes.
//!
//! Messages are bytes here, behind the four bytes of direct TCP (MS-SMB2 2.1) or the marks of
//! RPC's fragments (RFC 5531, section 11); what is in them is the test's business. All listen on 127.0.0.1 in the network of the thread
//! that starts them: within [`crate::Sandbox::run`] that is the sandbox's.

mod threads;

use std::net::SocketAddr;
use std::time::Duration;
use threads::{Framing, Listener};

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client.
    ToServer,
    /// From the server.
    ToClient,
}

/// A message as it comes by.
#[derive(Debug, Clone, Copy)]
pub struct ProxiedMessage<'a> {
    /// Which connection, from 0 in the order they were made.
    pub connection: usize,
    /// Which message of this connection and way, from 0.
    pub nth: usize,
    /// Which way; always to the server for a [`FakeSmb`].
    pub way: Direction,
    /// The message without the mark.
    pub message: &'a [u8],
}

/// What is done about a message; nothing at all if a script returns no act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxyAction {
    /// Sends a message on: to the server if it came from the client, and the other way
    /// round. A [`FakeSmb`] has only one other side.
    Send(Vec<u8>),
    /// Sends a message to where this one came from.
    Back(Vec<u8>),
    /// As `Send`, after a time; those behind it wait their turn, but are read meanwhile.
    Later(Duration, Vec<u8>),
    /// Sends bytes as they are, without a mark.
    Raw(Vec<u8>),
    /// Reads nothing more that goes this way for a time.
    Sleep(Duration),
    /// Sends what is on its way, then closes the connection on both sides.
    Close,
}

/// A server that answers by a script.
#[derive(Debug)]
pub struct FakeSmb(Listener);

impl FakeSmb {
    /// Starts it; the script is asked about every message of every connection.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn start(
        script: impl FnMut(&ProxiedMessage<'_>) -> Vec<ProxyAction> + Send + 'static,
    ) -> std::io::Result<FakeSmb> {
        Listener::start(Box::new(script), Framing::Smb, None).map(FakeSmb)
    }

    /// A server that takes connections and bytes and never says a word.
    ///
    /// # Errors
    ///
    /// As [`FakeSmb::start`].
    pub fn silent() -> std::io::Result<FakeSmb> {
        FakeSmb::start(|_| Vec::new())
    }

    /// A server that has these answers for each connection, one for each message, and
    /// then closes it.
    ///
    /// # Errors
    ///
    /// As [`FakeSmb::start`].
    pub fn answering(answers: Vec<Vec<u8>>) -> std::io::Result<FakeSmb> {
        FakeSmb::start(move |heard| match answers.get(heard.nth) {
            Some(answer) => vec![ProxyAction::Send(answer.clone())],
            None => vec![ProxyAction::Close],
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

/// A proxy before a server.
#[derive(Debug)]
pub struct SmbProxy(Listener);

impl SmbProxy {
    /// Starts it; the script is asked about every message, both ways.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn start(
        server: SocketAddr,
        script: impl FnMut(&ProxiedMessage<'_>) -> Vec<ProxyAction> + Send + 'static,
    ) -> std::io::Result<SmbProxy> {
        Listener::start(Box::new(script), Framing::Smb, Some(server)).map(SmbProxy)
    }

    /// A proxy that makes the way to the client longer by a time.
    ///
    /// # Errors
    ///
    /// As [`SmbProxy::start`].
    pub fn delaying(server: SocketAddr, time: Duration) -> std::io::Result<SmbProxy> {
        SmbProxy::start(server, move |passing| {
            let message = passing.message.to_vec();
            match passing.way {
                Direction::ToServer => vec![ProxyAction::Send(message)],
                Direction::ToClient => vec![ProxyAction::Later(time, message)],
            }
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// Cuts all connections of now; new ones are taken.
    pub fn cut(&self) {
        self.0.cut();
    }
}

/// A proxy before a server of RPC over TCP: NFS, MOUNT and the portmapper.
#[derive(Debug)]
pub struct NfsProxy(Listener);

impl NfsProxy {
    /// Starts it; the script is asked about every record, both ways.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn start(
        server: SocketAddr,
        script: impl FnMut(&ProxiedMessage<'_>) -> Vec<ProxyAction> + Send + 'static,
    ) -> std::io::Result<NfsProxy> {
        Listener::start(Box::new(script), Framing::Rpc, Some(server)).map(NfsProxy)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}
