//! The door: accepts connections and has each received on a thread of its own, so that
//! whoever is slow holds up nobody. Few are received at once; when all places are
//! taken, whoever has stood in the door for longest has to go.

use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long somebody may stand in a full door. The honest need milliseconds.
const GRACE: Duration = Duration::from_secs(1);
/// Pause when the system has no more descriptors or threads.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a closing door waits for those who stand in it.
const CLOSING: Duration = Duration::from_secs(2);

/// Receives one connection; ends within a time of its own, and when the connection
/// does.
pub type Receive = dyn Fn(TcpStream, SocketAddr) + Send + Sync;

/// A listening socket with those who come in by it. Dropping it closes it, and cuts
/// off who stands in it.
pub struct Door {
    address: SocketAddr,
    places: Arc<Places>,
    /// Its end wakes the listening thread.
    open: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Door {
    /// Opens it for at most `places_max` at once.
    ///
    /// # Errors
    /// The socket or a thread cannot be had.
    pub fn open(
        listener: TcpListener,
        places_max: usize,
        receive: Arc<Receive>,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let (open, closed) = UnixStream::pair()?;
        let places = Arc::new(Places {
            max: places_max.max(1),
            taken: Mutex::default(),
            changed: Condvar::new(),
        });
        let inside = places.clone();
        let thread = std::thread::Builder::new()
            .name("door".into())
            .spawn(move || accept(&listener, &closed, &inside, &receive))?;
        Ok(Self {
            address,
            places,
            open: Some(open),
            thread: Some(thread),
        })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.open = None;
        self.places.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.places.wait_empty();
    }
}

fn accept(
    listener: &TcpListener,
    closed: &UnixStream,
    places: &Arc<Places>,
    receive: &Arc<Receive>,
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
                if !places.has_room() {
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
    places: &Arc<Places>,
    receive: &Arc<Receive>,
) -> io::Result<()> {
    let place = places.take(tcp.try_clone()?);
    let receive = receive.clone();
    std::thread::Builder::new()
        .name("door-guest".into())
        .spawn(move || {
            receive(tcp, peer);
            drop(place);
        })?;
    Ok(())
}

/// Those who stand in the door, the one who came first in front.
struct Places {
    max: usize,
    taken: Mutex<Taken>,
    changed: Condvar,
}

#[derive(Default)]
struct Taken {
    guests: Vec<Standing>,
    next_number: u64,
    closed: bool,
}

struct Standing {
    number: u64,
    since: Instant,
    tcp: TcpStream,
    told_to_go: bool,
}

/// One of the places; freed when dropped.
struct Place {
    places: Arc<Places>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        taken.guests.retain(|guest| guest.number != self.number);
        self.places.changed.notify_all();
    }
}

impl Places {
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(self: &Arc<Self>, tcp: TcpStream) -> Place {
        let mut taken = self.lock();
        let number = taken.next_number;
        taken.next_number += 1;
        taken.guests.push(Standing {
            number,
            since: Instant::now(),
            tcp,
            told_to_go: false,
        });
        Place {
            places: self.clone(),
            number,
        }
    }

    /// Waits for a free place, and makes one if need be; `false`: the door closes.
    fn has_room(&self) -> bool {
        let mut taken = self.lock();
        while !taken.closed && taken.guests.len() >= self.max {
            let longest = taken.guests.iter_mut().find(|guest| !guest.told_to_go);
            let wait = match longest {
                Some(guest) if guest.since.elapsed() < GRACE => {
                    GRACE.saturating_sub(guest.since.elapsed())
                }
                Some(guest) => {
                    let _ = guest.tcp.shutdown(Shutdown::Both);
                    guest.told_to_go = true;
                    GRACE
                }
                None => GRACE,
            };
            let woken = self.changed.wait_timeout(taken, wait);
            taken = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        !taken.closed
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
        let wait = |taken: &mut Taken| !taken.guests.is_empty();
        let _ = self.changed.wait_timeout_while(taken, CLOSING, wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::sync::mpsc::channel;

    /// Receives whoever says a byte; the others stand in the door until they go.
    fn door(places_max: usize) -> (Door, std::sync::mpsc::Receiver<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (sender, receiver) = channel();
        let sender = Mutex::new(sender);
        let receive = move |mut tcp: TcpStream, _| {
            let mut byte = [0];
            if tcp.set_nonblocking(false).is_ok() && tcp.read_exact(&mut byte).is_ok() {
                let _ = sender.lock().unwrap().send(byte[0]);
            }
        };
        let door = Door::open(listener, places_max, Arc::new(receive)).unwrap();
        (door, receiver)
    }

    #[test]
    fn who_stands_in_a_full_door_for_long_has_to_go() {
        let (door, received) = door(4);
        let mut silent: Vec<_> = (0..4)
            .map(|_| TcpStream::connect(door.address()).unwrap())
            .collect();
        let began = Instant::now();
        let mut honest = TcpStream::connect(door.address()).unwrap();
        io::Write::write_all(&mut honest, &[7]).unwrap();
        let limit = Duration::from_secs(8);
        assert_eq!(received.recv_timeout(limit), Ok(7));
        assert!(began.elapsed() >= GRACE / 2, "{:?}", began.elapsed());
        silent[0].set_read_timeout(Some(limit)).unwrap();
        assert_eq!(silent[0].read(&mut [0]).unwrap(), 0, "the first had to go");
    }

    #[test]
    fn a_door_closes_at_once_and_takes_with_it_who_stands_in_it() {
        let (door, received) = door(4);
        let silent = TcpStream::connect(door.address()).unwrap();
        let (address, began) = (door.address(), Instant::now());
        while door.places.lock().guests.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(door);
        assert!(began.elapsed() < CLOSING, "{:?}", began.elapsed());
        assert!(TcpStream::connect(address).is_err());
        assert!(received.try_recv().is_err());
        drop(silent);
    }
}
