//! New connections: one thread takes them and deals them out to all in turn.

use super::conn::Token;
use super::{FIRST_LISTENER, Incoming, WAKE, system};
use crate::nfs4::Outlet;
use crate::options::ServerError;
use crate::protocol::{Peer, Session};
use crate::sys;
use filermark_net::{Interest, Reactor, Waker};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

/// Connections that may wait to be taken.
const BACKLOG: i32 = 1024;
/// Taken at once, before others get their turn.
const BATCH: usize = 64;
/// How long to leave the listeners alone when the process is out of files, in ns.
const PAUSE_NS: u64 = 100_000_000;

/// Opens a listening socket. IPv6 addresses take IPv6 only, so that both can have one port.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, ServerError> {
    let open = || {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        socket.set_nonblocking(true)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        sys::reuse_address(&socket)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(TcpListener::from(socket))
    };
    open().map_err(|source: io::Error| ServerError::Listen { address, source })
}

/// Where a thread gets its connections from, and what wakes it up.
#[derive(Debug)]
pub(crate) struct Inbox {
    queue: Mutex<Vec<Incoming>>,
    /// Callbacks for connections of the thread.
    messages: Mutex<Vec<(Token, Vec<u8>)>>,
    waker: Waker,
}

impl Inbox {
    /// A thread's inbox and the reactor that it wakes.
    pub(crate) fn with_reactor() -> Result<(Arc<Inbox>, Reactor), ServerError> {
        let mut reactor = Reactor::new().map_err(system("make an event queue"))?;
        let waker = reactor.waker(WAKE).map_err(system("make a wake-up"))?;
        let inbox = Inbox {
            queue: Mutex::default(),
            messages: Mutex::default(),
            waker,
        };
        Ok((Arc::new(inbox), reactor))
    }

    /// Makes the thread look at its inbox, and whether it is to stop.
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    fn put(&self, incoming: Incoming) {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(incoming);
        self.wake();
    }

    /// The way to send callbacks on a connection of the thread.
    pub(super) fn outlet(self: &Arc<Inbox>, token: Token) -> Arc<Outlet> {
        let inbox = self.clone();
        Arc::new(Outlet::new(Box::new(move |message| {
            let messages = inbox.messages.lock();
            let mut messages = messages.unwrap_or_else(PoisonError::into_inner);
            messages.push((token, message));
            drop(messages);
            inbox.wake();
        })))
    }

    pub(super) fn take_messages(&self) -> Vec<(Token, Vec<u8>)> {
        let messages = self.messages.lock();
        std::mem::take(&mut *messages.unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn take(&self) -> Vec<Incoming> {
        std::mem::take(&mut *self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The listeners, if this thread has them.
#[derive(Debug)]
pub(super) struct Acceptor {
    listeners: Vec<TcpListener>,
    inboxes: Vec<Arc<Inbox>>,
    next: usize,
    retry_at_ns: Option<u64>,
}

/// IPv4 clients of an IPv6 socket are the IPv4 clients that they are.
fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

impl Acceptor {
    pub(super) fn new(listeners: Vec<TcpListener>, inboxes: Vec<Arc<Inbox>>) -> Acceptor {
        Acceptor {
            listeners,
            inboxes,
            next: 0,
            retry_at_ns: None,
        }
    }

    /// When to try again after the process ran out of files, on the monotonic clock.
    pub(super) fn retry_at(&self) -> Option<u64> {
        self.retry_at_ns
    }

    /// Takes what waits on all listeners.
    pub(super) fn accept(&mut self, reactor: &Reactor, now_ns: u64) {
        for at in 0..self.listeners.len() {
            for _ in 0..BATCH {
                match self.listeners[at].accept() {
                    Ok((stream, client)) => {
                        let Ok(local) = stream.local_addr() else {
                            continue;
                        };
                        let session = Arc::new(Session::default());
                        let client = canonical(client.ip());
                        self.deal((
                            stream,
                            Peer {
                                client,
                                udp_port: None,
                                local,
                                session,
                                is_secured: false,
                                outlet: None,
                            },
                        ));
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // The client gave up while it waited; the next may not have.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                    Err(_) => return self.pause(reactor, now_ns),
                }
            }
        }
    }

    fn deal(&mut self, incoming: Incoming) {
        self.next = (self.next + 1) % self.inboxes.len();
        self.inboxes[self.next].put(incoming);
    }

    /// Out of files or memory: watching on would spin.
    fn pause(&mut self, reactor: &Reactor, now_ns: u64) {
        self.retry_at_ns = Some(now_ns + PAUSE_NS);
        self.watch(reactor, Interest::Nothing);
    }

    pub(super) fn resume(&mut self, reactor: &Reactor) {
        self.retry_at_ns = None;
        self.watch(reactor, Interest::Read);
    }

    fn watch(&self, reactor: &Reactor, interest: Interest) {
        for (listener, key) in self.listeners.iter().zip(FIRST_LISTENER..) {
            let _ = reactor.change(listener, key, interest);
        }
    }
}
