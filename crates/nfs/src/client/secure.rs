//! TLS on a blocking connection.

use super::error::{ClientError, timeout_error};
use filermark_engine::interrupt_guard;
use filermark_tls::{Channel, ClientTls, SCRATCH_MIN, TlsError};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Reads in which the reason for the end of a connection is looked for.
const READS_FOR_REASON: usize = 8;

/// A connection whose handshake is complete.
#[derive(Debug)]
pub(super) struct SecureStream {
    channel: Channel,
    scratch: Box<[u8]>,
    out: Vec<u8>,
}

impl SecureStream {
    /// Asks for TLS on a new connection, and completes the handshake within `limit`.
    pub(super) fn open(
        tls: &ClientTls,
        address: SocketAddr,
        stream: &mut TcpStream,
        limit: Duration,
    ) -> Result<Self, ClientError> {
        let deadline = Instant::now() + limit;
        let mut out = Vec::new();
        let mut new = Self {
            channel: Channel::client(tls, &mut out),
            scratch: vec![0; SCRATCH_MIN].into_boxed_slice(),
            out,
        };
        let broken = |source| timeout_error(address, limit, source);
        stream.set_write_timeout(Some(limit)).map_err(broken)?;
        new.flush(stream).map_err(broken)?;
        while !new.channel.is_open() {
            if interrupt_guard::stop_requested() {
                return Err(ClientError::Stopped);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(broken(io::ErrorKind::TimedOut.into()));
            }
            let piece = left
                .min(interrupt_guard::LOOK)
                .max(Duration::from_millis(1));
            stream.set_read_timeout(Some(piece)).map_err(broken)?;
            match new.read(stream, &mut Vec::new()) {
                Ok(0) => return Err(ClientError::TlsCut { address }),
                Ok(_) => {}
                Err(error) if is_nothing(&error) => {}
                Err(error) => return Err(broken(error)),
            }
        }
        Ok(new)
    }

    /// Version of TLS and cipher suite, in text.
    pub(super) fn description(&self) -> Option<String> {
        self.channel.description()
    }

    /// Encrypts and sends.
    pub(super) fn write_all(&mut self, stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
        let sealed = self.channel.seal(bytes, &mut self.out);
        sealed.map_err(io::Error::other)?;
        let flushed = self.flush(stream);
        flushed.map_err(|error| self.reason(stream).unwrap_or(error))
    }

    /// Why the server has closed a connection that takes no more bytes, if it has sent an alert before.
    fn reason(&mut self, stream: &mut TcpStream) -> Option<io::Error> {
        stream.set_read_timeout(Some(interrupt_guard::LOOK)).ok()?;
        for _ in 0..READS_FOR_REASON {
            match self.read(stream, &mut Vec::new()) {
                Ok(1..) => {}
                Ok(0) => return None,
                Err(error) => {
                    return error
                        .get_ref()
                        .is_some_and(|e| e.is::<TlsError>())
                        .then_some(error);
                }
            }
        }
        None
    }

    /// One read; its plaintext is appended to `into`. Returns how many bytes came, of whatever
    /// kind; 0: the end.
    pub(super) fn read(&mut self, stream: &mut TcpStream, into: &mut Vec<u8>) -> io::Result<usize> {
        if let Some(error) = self.channel.failure(&mut self.out) {
            // Only the alert could not be sent.
            let _ = self.flush(stream);
            return Err(io::Error::other(error));
        }
        if self.channel.is_ended() {
            return Ok(0);
        }
        let at = self.channel.place(&mut self.scratch);
        let came = stream.read(&mut self.scratch[at..])?;
        if came == 0 {
            return Ok(0);
        }
        let received = self
            .channel
            .receive(&mut self.scratch, at + came, None, &mut self.out);
        let flushed = self.flush(stream);
        let length = received.map_err(io::Error::other)?;
        flushed?;
        into.extend_from_slice(&self.scratch[..length]);
        Ok(came)
    }

    fn flush(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        let written = stream.write_all(&self.out);
        self.out.clear();
        written
    }

    /// Sends the notice of the end.
    pub(super) fn close(&mut self, stream: &mut TcpStream) {
        self.channel.close(&mut self.out);
        // The connection may have ended already.
        let _ = self.flush(stream);
    }
}

/// Whether nothing came within the time.
pub(super) fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
    )
}

#[cfg(test)]
mod tests;
