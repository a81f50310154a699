//! Accepts connections and handles each on its own thread, so that a slow peer does not block
//! others. The number of connections without a completed introduction is limited; at the limit,
//! the oldest connection of the address with the most connections is closed. So idle
//! connections cannot block others, and connections of one address displace each other first.

use crate::local::{LocalStream, local_pair};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Limits of connections that have not completed the introduction.
#[derive(Clone, Copy, Debug)]
pub struct AcceptLimits {
    /// Connections that have not introduced themselves.
    pub connections_max: usize,
    /// A connection is not closed for another one before this time. Two round trips and some
    /// milliseconds are needed.
    pub grace: Duration,
}

impl AcceptLimits {
    /// Of a listening agent: one prime is expected at a time.
    pub const AGENT: Self = Self {
        connections_max: 128,
        grace: Duration::from_millis(50),
    };
    /// Of a listening prime: all agents may connect at once, possibly through one router.
    pub const PRIME: Self = Self {
        connections_max: 256,
        grace: Duration::from_millis(250),
    };
}

/// Longest wait for the thread of a connection that was closed.
const EVICTION_POLL: Duration = Duration::from_millis(100);
/// Stack of a thread of a connection; a handshake needs some tens of KiB.
const STACK_BYTES: usize = 512 << 10;
/// Failures that are logged as warnings; further ones are logged at debug level.
const WARNINGS_MAX: u64 = 20;
/// Pause when the system has no free descriptors or threads.
const PAUSE: Duration = Duration::from_millis(50);
/// How long closing waits for pending connections.
const CLOSING: Duration = Duration::from_secs(2);

/// Handles one connection; ends within its own time limit, and when the connection ends or is
/// shut down by another thread: it waits by `await_socket`, since on Windows a blocked read does
/// not end then.
pub type Handshake = dyn Fn(TcpStream, SocketAddr) + Send + Sync;

/// A listening socket with its pending connections. Dropping it closes all of them.
pub struct Acceptor {
    address: SocketAddr,
    slots: Arc<ConnectionSlots>,
    /// Closing it wakes the listening thread.
    open: Option<LocalStream>,
    thread: Option<JoinHandle<()>>,
}

impl Acceptor {
    /// Starts to accept.
    ///
    /// # Errors
    /// The socket or a thread cannot be created.
    pub fn open(
        listener: TcpListener,
        limits: AcceptLimits,
        receive: Arc<Handshake>,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let (open, closed) = local_pair()?;
        let slots = Arc::new(ConnectionSlots {
            max: limits.connections_max.max(1),
            grace: limits.grace,
            taken: Mutex::default(),
            changed: Condvar::new(),
        });
        let inside = slots.clone();
        let thread = std::thread::Builder::new()
            .name("acceptor".into())
            .spawn(move || accept(&listener, &closed, &inside, &receive))?;
        Ok(Self {
            address,
            slots,
            open: Some(open),
            thread: Some(thread),
        })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.open = None;
        self.slots.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.slots.wait_empty();
    }
}

fn accept(
    listener: &TcpListener,
    closed: &LocalStream,
    slots: &Arc<ConnectionSlots>,
    receive: &Arc<Handshake>,
) {
    loop {
        let mut polled = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(closed, PollFlags::IN),
        ];
        let _ = poll(&mut polled, None);
        if !polled[1].revents().is_empty() {
            return;
        }
        match listener.accept() {
            Ok((tcp, peer)) => {
                if !slots.wait_free_slot() {
                    return;
                }
                if let Err(error) = admit(tcp, peer, slots, receive) {
                    tracing::debug!(target: "filermark_clients", "{peer}: not accepted: {error}");
                    std::thread::sleep(PAUSE);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

fn admit(
    tcp: TcpStream,
    peer: SocketAddr,
    slots: &Arc<ConnectionSlots>,
    receive: &Arc<Handshake>,
) -> io::Result<()> {
    let slot = slots.take(tcp.try_clone()?, peer.ip());
    let receive = receive.clone();
    std::thread::Builder::new()
        .name("acceptor-connection".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            receive(tcp, peer);
            drop(slot);
        })?;
    Ok(())
}

/// The pending connections, the oldest one first.
struct ConnectionSlots {
    max: usize,
    grace: Duration,
    taken: Mutex<SlotTable>,
    changed: Condvar,
}

#[derive(Default)]
struct SlotTable {
    connections: Vec<PendingConnection>,
    next_number: u64,
    closed: bool,
}

struct PendingConnection {
    number: u64,
    since: Instant,
    tcp: TcpStream,
    from: IpAddr,
    evicted: bool,
}

impl SlotTable {
    /// The oldest connection of the address with the most connections.
    fn oldest_of_largest(&mut self) -> Option<&mut PendingConnection> {
        let mut counts = HashMap::new();
        for connection in self
            .connections
            .iter()
            .filter(|connection| !connection.evicted)
        {
            *counts.entry(connection.from).or_insert(0_usize) += 1;
        }
        let most = counts.values().copied().max()?;
        let is_one = |connection: &&mut PendingConnection| {
            !connection.evicted
                && counts
                    .get(&connection.from)
                    .is_some_and(|count| *count == most)
        };
        self.connections.iter_mut().find(is_one)
    }
}

/// Connections of one network count as one address: with IPv6 a /64, the smallest network of a
/// customer.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

/// Counts rejected connections, and logs the first few.
#[derive(Debug, Default)]
pub struct RejectionLog(AtomicU64);

impl RejectionLog {
    /// Logs one rejection.
    pub fn log(&self, peer: SocketAddr, error: &super::SecureError) {
        let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        if count <= WARNINGS_MAX {
            tracing::warn!(target: "filermark_clients", "connection from {peer} rejected: {error}");
        } else {
            tracing::debug!(target: "filermark_clients", "connection from {peer} rejected: {error}");
        }
        if count == WARNINGS_MAX {
            let rest = "further rejected connections are logged with -vv only";
            tracing::warn!(target: "filermark_clients", "{rest}");
        }
    }
}

/// A slot of a connection; freed when dropped.
struct SlotGuard {
    slots: Arc<ConnectionSlots>,
    number: u64,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        let mut taken = self.slots.lock();
        taken
            .connections
            .retain(|connection| connection.number != self.number);
        self.slots.changed.notify_all();
    }
}

impl ConnectionSlots {
    fn lock(&self) -> MutexGuard<'_, SlotTable> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(self: &Arc<Self>, tcp: TcpStream, from: IpAddr) -> SlotGuard {
        let mut taken = self.lock();
        let number = taken.next_number;
        taken.next_number += 1;
        taken.connections.push(PendingConnection {
            number,
            since: Instant::now(),
            tcp,
            from: network(from),
            evicted: false,
        });
        SlotGuard {
            slots: self.clone(),
            number,
        }
    }

    /// Waits for a free slot, and closes a connection if necessary; `false`: the acceptor
    /// closes.
    fn wait_free_slot(&self) -> bool {
        let mut taken = self.lock();
        loop {
            if taken.closed {
                return false;
            }
            let leaving = taken.connections.iter().filter(|g| g.evicted).count();
            let staying = taken.connections.len() - leaving;
            // A closed connection has a thread until that thread detects it.
            if staying < self.max && leaving < self.max {
                return true;
            }
            let wait = match taken.oldest_of_largest() {
                Some(oldest_of_largest) if leaving < self.max => {
                    let left = self.grace.saturating_sub(oldest_of_largest.since.elapsed());
                    if left.is_zero() {
                        let _ = oldest_of_largest.tcp.shutdown(Shutdown::Both);
                        oldest_of_largest.evicted = true;
                        continue;
                    }
                    left
                }
                _ => EVICTION_POLL,
            };
            let woken = self.changed.wait_timeout(taken, wait);
            taken = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn close(&self) {
        let mut taken = self.lock();
        taken.closed = true;
        for connection in &taken.connections {
            let _ = connection.tcp.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }

    fn wait_empty(&self) {
        let taken = self.lock();
        let wait = |taken: &mut SlotTable| !taken.connections.is_empty();
        let _ = self.changed.wait_timeout_while(taken, CLOSING, wait);
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::await_socket;
    use super::*;
    use std::io::{Read, Write};
    use std::sync::mpsc::{Receiver, channel};

    const LIMIT: Duration = Duration::from_secs(60);

    /// Accepts any peer that sends a byte; other connections remain pending.
    fn acceptor(connections_max: usize, grace: Duration) -> (Acceptor, Receiver<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (sender, receiver) = channel();
        let sender = Mutex::new(sender);
        let receive = move |mut tcp: TcpStream, _| {
            let mut byte = [0];
            tcp.set_nonblocking(true).unwrap();
            let deadline = Instant::now() + LIMIT * 10;
            while await_socket(&tcp, false, deadline, LIMIT).is_ok() {
                match tcp.read(&mut byte) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Ok(1) => {
                        let _ = sender.lock().unwrap().send(byte[0]);
                        return;
                    }
                    _ => return,
                }
            }
        };
        let limits = AcceptLimits {
            connections_max,
            grace,
        };
        let acceptor = Acceptor::open(listener, limits, Arc::new(receive)).unwrap();
        (acceptor, receiver)
    }

    #[test]
    fn at_the_limit_the_oldest_connection_is_closed() {
        let (acceptor, received) = acceptor(4, Duration::from_millis(100));
        let mut silent: Vec<_> = (0..40)
            .map(|_| TcpStream::connect(acceptor.address()).unwrap())
            .collect();
        let mut honest = TcpStream::connect(acceptor.address()).unwrap();
        honest.write_all(&[7]).unwrap();
        assert_eq!(received.recv_timeout(LIMIT), Ok(7));
        silent[0].set_read_timeout(Some(LIMIT)).unwrap();
        assert_eq!(silent[0].read(&mut [0]).unwrap(), 0, "the first was closed");
    }

    #[test]
    fn no_connection_is_closed_before_the_grace_time() {
        let (acceptor, received) = acceptor(2, LIMIT * 10);
        let mut first: Vec<_> = (0..2)
            .map(|_| TcpStream::connect(acceptor.address()).unwrap())
            .collect();
        let mut later = TcpStream::connect(acceptor.address()).unwrap();
        later.write_all(&[3]).unwrap();
        // All slots are taken: the third one waits until one is free.
        let early = received.recv_timeout(Duration::from_millis(100));
        assert!(early.is_err(), "{early:?}");
        first[1].write_all(&[1]).unwrap();
        assert_eq!(received.recv_timeout(LIMIT), Ok(1));
        assert_eq!(received.recv_timeout(LIMIT), Ok(3));
        first[0].write_all(&[2]).unwrap();
        assert_eq!(received.recv_timeout(LIMIT), Ok(2));
    }

    /// Taken slots, with sockets that are not accepted.
    fn taken(from: &[&str]) -> (Arc<ConnectionSlots>, Vec<SlotGuard>) {
        let slots = Arc::new(ConnectionSlots {
            max: from.len(),
            grace: Duration::ZERO,
            taken: Mutex::default(),
            changed: Condvar::new(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut all = Vec::new();
        for address in from {
            let tcp = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            all.push(slots.take(tcp, address.parse().unwrap()));
        }
        (slots, all)
    }

    #[test]
    fn an_address_displaces_its_own_connections_first() {
        let (slots, all) = taken(&["10.0.0.1", "10.0.0.2", "::ffff:10.0.0.2", "10.0.0.3"]);
        assert!(slots.wait_free_slot());
        let evicted_numbers = |slots: &ConnectionSlots| {
            let taken = slots.lock();
            let evicted_numbers = taken.connections.iter().filter(|g| g.evicted);
            evicted_numbers.map(|g| g.number).collect::<Vec<_>>()
        };
        assert_eq!(evicted_numbers(&slots), [1], "the oldest of 10.0.0.2");
        drop(all);
        let (slots, all) = taken(&[
            "2001:db8::1",
            "10.0.0.2",
            "2001:db8::9:1",
            "2001:db8:0:1::1",
        ]);
        assert!(slots.wait_free_slot());
        assert_eq!(evicted_numbers(&slots), [0], "the oldest of 2001:db8::/64");
        drop(all);
    }

    #[test]
    fn closing_closes_pending_connections_immediately() {
        let (acceptor, received) = acceptor(4, Duration::from_secs(1));
        let silent = TcpStream::connect(acceptor.address()).unwrap();
        let (address, began) = (acceptor.address(), Instant::now());
        while acceptor.slots.lock().connections.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(acceptor);
        assert!(began.elapsed() < CLOSING, "{:?}", began.elapsed());
        assert!(TcpStream::connect(address).is_err());
        assert!(received.try_recv().is_err());
        drop(silent);
    }
}
