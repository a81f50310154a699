//! A TCP connection that carries messages: frames out, frames in, every wait limited.

use super::error::ClientError;
use filermark_engine::interrupt_guard;
use filermark_smbwire::frame::{self, Front, MARK};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// A connection.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    peer: SocketAddr,
    /// What has come; the front of it is handed out already.
    input: Vec<u8>,
    taken: usize,
    /// Longest message that is taken, in bytes.
    message_max: usize,
}

impl Wire {
    /// Connects.
    ///
    /// # Errors
    /// Refused, or no answer within `limit`.
    pub(super) fn connect(
        address: SocketAddr,
        limit: Duration,
        message_max: usize,
    ) -> Result<Self, ClientError> {
        let limit = limit.max(Duration::from_millis(1));
        let stream =
            interrupt_guard::run_interruptible(move || TcpStream::connect_timeout(&address, limit))
                .ok_or(ClientError::Stopped)?
                .map_err(|source| match source.kind() {
                    io::ErrorKind::TimedOut => ClientError::ConnectTimedOut {
                        address,
                        waited: limit,
                    },
                    _ => ClientError::Connect { address, source },
                })?;
        stream
            .set_nodelay(true)
            .map_err(|source| ClientError::Connect { address, source })?;
        Ok(Self {
            stream,
            peer: address,
            input: Vec::new(),
            taken: 0,
            message_max,
        })
    }

    pub(super) const fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(super) fn set_message_max(&mut self, bytes: usize) {
        self.message_max = bytes.min(frame::LENGTH_MAX);
    }

    /// Sends whole frames.
    ///
    /// # Errors
    /// The connection is gone, or the server takes nothing for so long.
    pub(super) fn send(&mut self, frames: &[u8], limit: Duration) -> Result<(), ClientError> {
        let limit = limit.max(Duration::from_millis(1));
        let sent = self
            .stream
            .set_write_timeout(Some(limit))
            .and_then(|()| self.stream.write_all(frames));
        sent.map_err(|source| self.broken(source, limit))
    }

    /// The next message, without its mark, into `message`; `false`: none within the
    /// limit. What has come of one by then is kept.
    ///
    /// # Errors
    /// The connection is gone, or the stream is not made of messages.
    pub(super) fn receive(
        &mut self,
        message: &mut Vec<u8>,
        limit: Duration,
    ) -> Result<bool, ClientError> {
        let until = Instant::now() + limit;
        loop {
            // Also from a server that sends its reply byte by byte.
            if interrupt_guard::stop_requested() {
                return Err(ClientError::Stopped);
            }
            let waiting = self.input.get(self.taken..).unwrap_or_default();
            let front = frame::front(waiting, self.message_max);
            let front = front.map_err(|source| ClientError::Frame {
                address: self.peer,
                source,
            })?;
            match front {
                Front::Complete(length) => {
                    let whole = waiting.get(MARK..MARK + length).unwrap_or_default();
                    message.clear();
                    message.extend_from_slice(whole);
                    self.taken += MARK + length;
                    return Ok(true);
                }
                Front::Incomplete(_) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(false);
                    }
                    self.fill(left.min(interrupt_guard::LOOK))?;
                }
            }
        }
    }

    /// Reads something, if it comes within the limit.
    fn fill(&mut self, limit: Duration) -> Result<(), ClientError> {
        self.input.drain(..self.taken);
        self.taken = 0;
        let before = self.input.len();
        self.input.resize(before + CHUNK, 0);
        let place = self.input.get_mut(before..).unwrap_or_default();
        let got = self
            .stream
            .set_read_timeout(Some(limit.max(Duration::from_millis(1))))
            .and_then(|()| self.stream.read(place));
        self.input.truncate(before + *got.as_ref().unwrap_or(&0));
        match got {
            Ok(0) => Err(ClientError::Closed { address: self.peer }),
            Ok(_) => Ok(()),
            Err(e) if is_time_out(e.kind()) || e.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(source) => Err(self.broken(source, limit)),
        }
    }

    fn broken(&self, source: io::Error, waited: Duration) -> ClientError {
        let address = self.peer;
        match source.kind() {
            kind if is_time_out(kind) => ClientError::TimedOut { address, waited },
            _ => ClientError::Broken { address, source },
        }
    }
}

/// How systems say that a time-out of a socket has passed.
const fn is_time_out(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
