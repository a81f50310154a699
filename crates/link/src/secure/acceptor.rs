//! The door: accepts connections and has each received on a thread of its own, so that
//! whoever is slow holds up nobody. The number of connections that have not introduced
//! themselves yet is limited; when all places are taken, the oldest connection of the
//! address that has most of them is closed. So idle connections cannot keep anybody out,
//! and those of one address displace each other first.

use rustix::event::{PollFd, PollFlags, poll};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How many connections may be received at once, and how long each is left alone.
#[derive(Clone, Copy, Debug)]
pub struct AcceptLimits {
    /// Connections that have not introduced themselves.
    pub connections_max: usize,
    /// For so long a connection is not closed for the sake of another one. Two round
    /// trips and some milliseconds are needed.
    pub grace: Duration,
}

impl AcceptLimits {
    /// Of an agent that listens: one prime is expected at a time.
    pub const AGENT: Self = Self {
        connections_max: 128,
        grace: Duration::from_millis(50),
    };
    /// Of a prime that waits: all agents may come at once, also through one router.
    pub const PRIME: Self = Self {
        connections_max: 256,
        grace: Duration::from_millis(250),
    };
}

/// Longest wait for the thread of a connection that was closed.
const LEAVING: Duration = Duration::from_millis(100);
/// Stack of a thread that receives; a handshake takes a few ten KiB of it.
const STACK_BYTES: usize = 512 << 10;
/// Failures that are logged as warnings; a flood of them says nothing new.
const WARNINGS_MAX: u64 = 20;
/// Pause when the system has no more descriptors or threads.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a closing door waits for those who stand in it.
const CLOSING: Duration = Duration::from_secs(2);

/// Receives one connection; ends within a time of its own, and when the connection
/// does.
pub type Handshake = dyn Fn(TcpStream, SocketAddr) + Send + Sync;

/// A listening socket with those who come in by it. Dropping it closes it, and cuts
/// off who stands in it.
pub struct Acceptor {
    address: SocketAddr,
    slots: Arc<ConnectionSlots>,
    /// Its end wakes the listening thread.
    open: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Acceptor {
    /// Opens it.
    ///
    /// # Errors
    /// The socket or a thread cannot be had.
    pub fn open(
        listener: TcpListener,
        limits: AcceptLimits,
        receive: Arc<Handshake>,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let (open, closed) = UnixStream::pair()?;
        let places = Arc::new(ConnectionSlots {
            max: limits.connections_max.max(1),
            grace: limits.grace,
            taken: Mutex::default(),
            changed: Condvar::new(),
        });
        let inside = places.clone();
        let thread = std::thread::Builder::new()
            .name("door".into())
            .spawn(move || accept(&listener, &closed, &inside, &receive))?;
        Ok(Self {
            address,
            slots: places,
            open: Some(open),
            thread: Some(thread),
        })
    }

    /// Where it is.
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
    closed: &UnixStream,
    places: &Arc<ConnectionSlots>,
    receive: &Arc<Handshake>,
) {
    loop {
        let mut asked = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(closed, PollFlags::IN),
        ];
        let _ = poll(&mut asked, None);
        if !asked[1].revents().is_empty() {
            return;
        }
        match listener.accept() {
            Ok((tcp, peer)) => {
                if !places.wait_free_slot() {
                    return;
                }
                if let Err(error) = admit(tcp, peer, places, receive) {
                    tracing::debug!(target: "filermark_cluster", "{peer}: not received: {error}");
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
    places: &Arc<ConnectionSlots>,
    receive: &Arc<Handshake>,
) -> io::Result<()> {
    let place = places.take(tcp.try_clone()?, peer.ip());
    let receive = receive.clone();
    std::thread::Builder::new()
        .name("door-guest".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            receive(tcp, peer);
            drop(place);
        })?;
    Ok(())
}

/// Those who stand in the door, the one who came first in front.
struct ConnectionSlots {
    max: usize,
    grace: Duration,
    taken: Mutex<SlotTable>,
    changed: Condvar,
}

#[derive(Default)]
struct SlotTable {
    guests: Vec<PendingConnection>,
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
    /// The oldest connection of the address that has most of them.
    fn victim(&mut self) -> Option<&mut PendingConnection> {
        let mut counts = HashMap::new();
        for guest in self.guests.iter().filter(|guest| !guest.evicted) {
            *counts.entry(guest.from).or_insert(0_usize) += 1;
        }
        let most = counts.values().copied().max()?;
        let is_one = |guest: &&mut PendingConnection| {
            !guest.evicted && counts.get(&guest.from).is_some_and(|count| *count == most)
        };
        self.guests.iter_mut().find(is_one)
    }
}

/// What counts as one address: of IPv6 the 64 bits that one customer is given at least.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

/// Counts those who were not let in, and tells of the first few.
#[derive(Debug, Default)]
pub struct RejectionLog(AtomicU64);

impl RejectionLog {
    /// One more.
    pub fn log(&self, peer: SocketAddr, error: &super::SecureError) {
        let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        if count <= WARNINGS_MAX {
            tracing::warn!(target: "filermark_cluster", "{peer} wanted in: {error}");
        } else {
            tracing::debug!(target: "filermark_cluster", "{peer} wanted in: {error}");
        }
        if count == WARNINGS_MAX {
            let rest = "further connections that are not let in are told with -vv only";
            tracing::warn!(target: "filermark_cluster", "{rest}");
        }
    }
}

/// One of the places; freed when dropped.
struct SlotGuard {
    slots: Arc<ConnectionSlots>,
    number: u64,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        let mut taken = self.slots.lock();
        taken.guests.retain(|guest| guest.number != self.number);
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
        taken.guests.push(PendingConnection {
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

    /// Waits for a free place, and makes one if need be; `false`: the door closes.
    fn wait_free_slot(&self) -> bool {
        let mut taken = self.lock();
        loop {
            if taken.closed {
                return false;
            }
            let leaving = taken.guests.iter().filter(|g| g.evicted).count();
            let staying = taken.guests.len() - leaving;
            // Whoever was told to go has a thread until it notices.
            if staying < self.max && leaving < self.max {
                return true;
            }
            let wait = match taken.victim() {
                Some(victim) if leaving < self.max => {
                    let left = self.grace.saturating_sub(victim.since.elapsed());
                    if left.is_zero() {
                        let _ = victim.tcp.shutdown(Shutdown::Both);
                        victim.evicted = true;
                        continue;
                    }
                    left
                }
                _ => LEAVING,
            };
            let woken = self.changed.wait_timeout(taken, wait);
            taken = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn close(&self) {
        let mut taken = self.lock();
        taken.closed = true;
        for guest in &taken.guests {
            let _ = guest.tcp.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }

    fn wait_empty(&self) {
        let taken = self.lock();
        let wait = |taken: &mut SlotTable| !taken.guests.is_empty();
        let _ = self.changed.wait_timeout_while(taken, CLOSING, wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::sync::mpsc::{Receiver, channel};

    const LIMIT: Duration = Duration::from_secs(60);

    /// Receives whoever says a byte; the others stand in the door until they go.
    fn door(places_max: usize, grace: Duration) -> (Acceptor, Receiver<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (sender, receiver) = channel();
        let sender = Mutex::new(sender);
        let receive = move |mut tcp: TcpStream, _| {
            let mut byte = [0];
            if tcp.set_nonblocking(false).is_ok() && tcp.read_exact(&mut byte).is_ok() {
                let _ = sender.lock().unwrap().send(byte[0]);
            }
        };
        let limits = AcceptLimits {
            connections_max: places_max,
            grace,
        };
        let door = Acceptor::open(listener, limits, Arc::new(receive)).unwrap();
        (door, receiver)
    }

    #[test]
    fn who_stands_in_a_full_door_for_long_has_to_go() {
        let (door, received) = door(4, Duration::from_millis(100));
        let mut silent: Vec<_> = (0..40)
            .map(|_| TcpStream::connect(door.address()).unwrap())
            .collect();
        let mut honest = TcpStream::connect(door.address()).unwrap();
        honest.write_all(&[7]).unwrap();
        assert_eq!(received.recv_timeout(LIMIT), Ok(7));
        silent[0].set_read_timeout(Some(LIMIT)).unwrap();
        assert_eq!(silent[0].read(&mut [0]).unwrap(), 0, "the first had to go");
    }

    #[test]
    fn nobody_is_closed_before_his_time() {
        let (door, received) = door(2, LIMIT * 10);
        let mut first: Vec<_> = (0..2)
            .map(|_| TcpStream::connect(door.address()).unwrap())
            .collect();
        let mut later = TcpStream::connect(door.address()).unwrap();
        later.write_all(&[3]).unwrap();
        // The places are taken: the third one waits until one is free.
        let early = received.recv_timeout(Duration::from_millis(100));
        assert!(early.is_err(), "{early:?}");
        first[1].write_all(&[1]).unwrap();
        assert_eq!(received.recv_timeout(LIMIT), Ok(1));
        assert_eq!(received.recv_timeout(LIMIT), Ok(3));
        first[0].write_all(&[2]).unwrap();
        assert_eq!(received.recv_timeout(LIMIT), Ok(2));
    }

    /// Places that are taken, without sockets that are accepted.
    fn taken(from: &[&str]) -> (Arc<ConnectionSlots>, Vec<SlotGuard>) {
        let places = Arc::new(ConnectionSlots {
            max: from.len(),
            grace: Duration::ZERO,
            taken: Mutex::default(),
            changed: Condvar::new(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut all = Vec::new();
        for address in from {
            let tcp = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            all.push(places.take(tcp, address.parse().unwrap()));
        }
        (places, all)
    }

    #[test]
    fn an_address_displaces_its_own_connections_first() {
        let (places, all) = taken(&["10.0.0.1", "10.0.0.2", "::ffff:10.0.0.2", "10.0.0.3"]);
        assert!(places.wait_free_slot());
        let gone = |places: &ConnectionSlots| {
            let taken = places.lock();
            let gone = taken.guests.iter().filter(|g| g.evicted);
            gone.map(|g| g.number).collect::<Vec<_>>()
        };
        assert_eq!(gone(&places), [1], "the oldest of 10.0.0.2");
        drop(all);
        let (places, all) = taken(&[
            "2001:db8::1",
            "10.0.0.2",
            "2001:db8::9:1",
            "2001:db8:0:1::1",
        ]);
        assert!(places.wait_free_slot());
        assert_eq!(gone(&places), [0], "the oldest of 2001:db8::/64");
        drop(all);
    }

    #[test]
    fn a_door_closes_at_once_and_takes_with_it_who_stands_in_it() {
        let (door, received) = door(4, Duration::from_secs(1));
        let silent = TcpStream::connect(door.address()).unwrap();
        let (address, began) = (door.address(), Instant::now());
        while door.slots.lock().guests.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(door);
        assert!(began.elapsed() < CLOSING, "{:?}", began.elapsed());
        assert!(TcpStream::connect(address).is_err());
        assert!(received.try_recv().is_err());
        drop(silent);
    }
}
