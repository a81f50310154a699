//! A proxy that simulates a misbehaving server: it passes everything on to a real server
//! until the test makes it drop the replies or send them byte by byte. For any protocol
//! over TCP, on loopback.

use crate::error::{Error, Result};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval at which the proxy checks for new connections and for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What the proxy does with the server's replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replies {
    /// Passes them on.
    Pass,
    /// Drops them; requests are passed on.
    Drop,
    /// Passes them on byte by byte, five per second.
    Bytes,
}

/// A proxy in front of a server; it ends when dropped.
#[derive(Debug)]
pub struct Hostile {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    upstream: SocketAddr,
    replies: AtomicU8,
    ended: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

impl Hostile {
    /// Starts a proxy in front of a server.
    ///
    /// # Errors
    /// When it cannot listen on loopback.
    pub fn before(upstream: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(Error::io("listen"))?;
        listener
            .set_nonblocking(true)
            .map_err(Error::io("listen"))?;
        let address = listener.local_addr().map_err(Error::io("listen"))?;
        let shared = Arc::new(Shared {
            upstream,
            replies: AtomicU8::new(Replies::Pass as u8),
            ended: AtomicBool::new(false),
            streams: Mutex::new(Vec::new()),
        });
        let served = Arc::clone(&shared);
        let thread = std::thread::spawn(move || served.serve(&listener));
        Ok(Self {
            address,
            shared,
            thread: Some(thread),
        })
    }

    /// The address on which it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that have been made so far.
    pub fn connection_count(&self) -> usize {
        self.shared.streams().len() / 2
    }

    /// Sets what is done with further replies.
    pub fn set(&self, replies: Replies) {
        self.shared.replies.store(replies as u8, Ordering::Relaxed);
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn serve(self: Arc<Self>, listener: &TcpListener) {
        let mut threads = Vec::new();
        while !self.has_ended() {
            let Ok((client, _)) = listener.accept() else {
                std::thread::sleep(POLL_INTERVAL);
                continue;
            };
            let Ok(server) = TcpStream::connect(self.upstream) else {
                continue;
            };
            for (from, to, is_reply) in [(&client, &server, false), (&server, &client, true)] {
                let (Ok(from), Ok(to), Ok(kept)) =
                    (from.try_clone(), to.try_clone(), from.try_clone())
                else {
                    continue;
                };
                let _ = from.set_nonblocking(false);
                self.streams().push(kept);
                let shared = Arc::clone(&self);
                threads.push(std::thread::spawn(move || shared.pass(from, to, is_reply)));
            }
        }
        for stream in self.streams().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for thread in threads {
            let _ = thread.join();
        }
    }

    fn streams(&self) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream, is_reply: bool) {
        let mut bytes = vec![0; 64 << 10];
        loop {
            let count = match from.read(&mut bytes) {
                Ok(count) if count > 0 => count,
                _ => break,
            };
            let all = bytes.get(..count).unwrap_or_default();
            let replies = self.replies.load(Ordering::Relaxed);
            let passed = match is_reply {
                true if replies == Replies::Drop as u8 => Ok(()),
                true if replies == Replies::Bytes as u8 => self.trickle(&mut to, all),
                _ => to.write_all(all),
            };
            if passed.is_err() || self.has_ended() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    }

    fn trickle(&self, to: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
        for byte in bytes.chunks(1) {
            for _ in 0..10 {
                if self.has_ended() {
                    return Ok(());
                }
                std::thread::sleep(POLL_INTERVAL);
            }
            to.write_all(byte)?;
        }
        Ok(())
    }
}
