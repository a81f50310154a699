//! New connections: one thread takes them and deals them out to all in turn.

use super::{FIRST_LISTENER, Incoming};
use crate::options::ServerError;
use crate::protocol::{Peer, Session};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
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
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.set_reuse_address(true)?;
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
    pub(super) wake: OwnedFd,
}

impl Inbox {
    pub(crate) fn new() -> Result<Inbox, ServerError> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|errno| {
            ServerError::System {
                step: "make a wake-up",
                source: errno.into(),
            }
        })?;
        Ok(Inbox {
            queue: Mutex::default(),
            wake,
        })
    }

    /// Makes the thread look at its inbox, and whether it is to stop.
    pub(crate) fn wake(&self) {
        // It fails only where 2^64 wake-ups wait already.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    fn put(&self, incoming: Incoming) {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(incoming);
        self.wake();
    }

    pub(super) fn take(&self) -> Vec<Incoming> {
        let _ = rustix::io::read(&self.wake, &mut [0u8; 8]);
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
    pub(super) fn accept(&mut self, epoll: &OwnedFd, now_ns: u64) {
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
                            },
                        ));
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // The client gave up while it waited; the next may not have.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                    Err(_) => return self.pause(epoll, now_ns),
                }
            }
        }
    }

    fn deal(&mut self, incoming: Incoming) {
        self.next = (self.next + 1) % self.inboxes.len();
        self.inboxes[self.next].put(incoming);
    }

    /// Out of files or memory: watching on would spin.
    fn pause(&mut self, epoll: &OwnedFd, now_ns: u64) {
        self.retry_at_ns = Some(now_ns + PAUSE_NS);
        self.watch(epoll, EventFlags::empty());
    }

    pub(super) fn resume(&mut self, epoll: &OwnedFd) {
        self.retry_at_ns = None;
        self.watch(epoll, EventFlags::IN);
    }

    fn watch(&self, epoll: &OwnedFd, events: EventFlags) {
        for (listener, data) in self.listeners.iter().zip(FIRST_LISTENER..) {
            let _ = epoll::modify(epoll, listener, EventData::new_u64(data), events);
        }
    }
}
