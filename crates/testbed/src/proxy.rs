//! A scripted SMB server, and proxies between a client of SMB or NFS and its server that
//! delay, change, repeat or cut messages.
//!
//! A message is the bytes after the four-byte header of direct TCP (MS-SMB2 2.1) or after
//! the record mark of RPC (RFC 5531, section 11); the test interprets its contents. All
//! listen on 127.0.0.1 in the network of the thread that starts them: within
//! [`crate::Sandbox::run`] that is the sandbox's.

mod threads;

use std::net::SocketAddr;
use std::time::Duration;
use threads::{Framing, Listener};

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client.
    ToServer,
    /// From the server.
    ToClient,
}

/// A message that the proxy has received.
#[derive(Debug, Clone, Copy)]
pub struct ProxiedMessage<'a> {
    /// The number of the connection, from 0 in the order of their start.
    pub connection: usize,
    /// The number of the message in this connection and direction, from 0.
    pub nth: usize,
    /// The direction; always to the server for a [`FakeSmb`].
    pub way: Direction,
    /// The message without its header.
    pub message: &'a [u8],
}

/// What is done with a message; if a script returns no action, it is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxyAction {
    /// Sends a message in the direction of this one: to the server if it came from the
    /// client, and the reverse. A [`FakeSmb`] sends it to the client.
    Send(Vec<u8>),
    /// Sends a message back to the sender of this one.
    Back(Vec<u8>),
    /// As `Send`, after a delay; later messages are read meanwhile, but sent after it.
    Later(Duration, Vec<u8>),
    /// Sends bytes as they are, without a header.
    Raw(Vec<u8>),
    /// Pauses reading in this direction for a time.
    Sleep(Duration),
    /// Sends the messages that are queued, then closes both connections.
    Close,
}

/// A server that answers as a script specifies.
#[derive(Debug)]
pub struct FakeSmb(Listener);

impl FakeSmb {
    /// Starts it; the script is called for every message of every connection.
    ///
    /// # Errors
    ///
    /// When it cannot listen on a port.
    pub fn start(
        script: impl FnMut(&ProxiedMessage<'_>) -> Vec<ProxyAction> + Send + 'static,
    ) -> std::io::Result<FakeSmb> {
        Listener::start(Box::new(script), Framing::Smb, None).map(FakeSmb)
    }

    /// A server that accepts connections and reads messages and never answers.
    ///
    /// # Errors
    ///
    /// As [`FakeSmb::start`].
    pub fn silent() -> std::io::Result<FakeSmb> {
        FakeSmb::start(|_| Vec::new())
    }

    /// A server that sends these answers on each connection, one for each message, and
    /// then closes it.
    ///
    /// # Errors
    ///
    /// As [`FakeSmb::start`].
    pub fn answering(answers: Vec<Vec<u8>>) -> std::io::Result<FakeSmb> {
        FakeSmb::start(move |received| match answers.get(received.nth) {
            Some(answer) => vec![ProxyAction::Send(answer.clone())],
            None => vec![ProxyAction::Close],
        })
    }

    /// The address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

/// A proxy in front of an SMB server.
#[derive(Debug)]
pub struct SmbProxy(Listener);

impl SmbProxy {
    /// Starts it; the script is called for every message in both directions.
    ///
    /// # Errors
    ///
    /// When it cannot listen on a port.
    pub fn start(
        server: SocketAddr,
        script: impl FnMut(&ProxiedMessage<'_>) -> Vec<ProxyAction> + Send + 'static,
    ) -> std::io::Result<SmbProxy> {
        Listener::start(Box::new(script), Framing::Smb, Some(server)).map(SmbProxy)
    }

    /// A proxy that delays every message to the client by a time.
    ///
    /// # Errors
    ///
    /// As [`SmbProxy::start`].
    pub fn delaying(server: SocketAddr, time: Duration) -> std::io::Result<SmbProxy> {
        SmbProxy::start(server, move |received| {
            let message = received.message.to_vec();
            match received.way {
                Direction::ToServer => vec![ProxyAction::Send(message)],
                Direction::ToClient => vec![ProxyAction::Later(time, message)],
            }
        })
    }

    /// The address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// Cuts all current connections; new ones are accepted.
    pub fn cut(&self) {
        self.0.cut();
    }
}

/// A proxy in front of a server of RPC over TCP: NFS, MOUNT and the portmapper.
#[derive(Debug)]
pub struct NfsProxy(Listener);

impl NfsProxy {
    /// Starts it; the script is called for every record in both directions.
    ///
    /// # Errors
    ///
    /// When it cannot listen on a port.
    pub fn start(
        server: SocketAddr,
        script: impl FnMut(&ProxiedMessage<'_>) -> Vec<ProxyAction> + Send + 'static,
    ) -> std::io::Result<NfsProxy> {
        Listener::start(Box::new(script), Framing::Rpc, Some(server)).map(NfsProxy)
    }

    /// The address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}
