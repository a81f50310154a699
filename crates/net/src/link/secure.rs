//! TLS on a connection.

use super::{Link, Read, ReadOutcome, outcome_of, system};
use filermark_tls::{Begun, Channel, ClientTls, TlsError, plain_of};
use std::io::{self, ErrorKind};

/// The state of TLS on a connection.
#[derive(Debug)]
pub(super) struct Secure {
    pub(super) channel: Channel,
    /// Messages of TLS itself that are to be sent.
    pub(super) out: Vec<u8>,
    /// Of the sealed bytes under way: their plaintext, what the system took of them, and how much
    /// plaintext was reported as taken.
    plain_len: usize,
    wire_taken: usize,
    reported: usize,
    /// Where the bytes of the last read end in the receive buffer; 0: they are decrypted.
    sealed_end: usize,
}

impl Secure {
    pub(super) fn new(tls: &ClientTls) -> Self {
        let mut out = Vec::new();
        Self {
            channel: Channel::client(tls, &mut out),
            out,
            plain_len: 0,
            wire_taken: 0,
            reported: 0,
            sealed_end: 0,
        }
    }

    pub(super) fn buffer_bytes(&self) -> usize {
        self.channel.held_bytes() + self.out.capacity()
    }

    pub(super) fn seal(&mut self, bytes: &mut Vec<u8>, spare: &mut Vec<u8>) -> io::Result<()> {
        spare.clear();
        self.channel.seal(bytes, spare).map_err(failed)?;
        self.plain_len = bytes.len();
        self.wire_taken = 0;
        self.reported = 0;
        std::mem::swap(bytes, spare);
        Ok(())
    }

    /// The plaintext of whole records of which the system has taken the last part with these
    /// `taken` bytes.
    pub(super) fn plain_taken(&mut self, taken: usize, is_all: bool) -> usize {
        self.wire_taken += taken;
        let covered = match is_all {
            true => self.plain_len,
            false => plain_of(self.wire_taken).min(self.plain_len),
        };
        let new = covered.saturating_sub(self.reported);
        self.reported += new;
        new
    }
}

/// The error of a connection that TLS has ended; the reason is inside.
fn failed(error: TlsError) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

impl Link {
    /// One read of a connection with TLS. The bytes are not decrypted here, so that the clock can be read
    /// before that: the time of it is not the server's.
    pub(super) fn receive_sealed(&mut self, scratch: &mut [u8]) -> io::Result<Option<ReadOutcome>> {
        let Some(tls) = &mut self.tls else {
            return Ok(None);
        };
        if let Some(error) = tls.channel.failure(&mut tls.out) {
            // Only the alert could not be sent.
            let _ = self.send_messages();
            return Err(failed(error));
        }
        if tls.channel.is_ended() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let at = tls.channel.place(scratch);
        let space = scratch.get_mut(at..).unwrap_or_default();
        let space_len = space.len();
        let (came, age) = match outcome_of(system::read(&self.stream, space))? {
            Read::Bytes(came, age) => (came, age),
            Read::Nothing => return Ok(None),
            Read::Interrupted => return Ok(Some(ReadOutcome::INTERRUPTED)),
        };
        tls.sealed_end = at + came;
        Ok(Some(ReadOutcome {
            scratch_len: 0,
            more: came == space_len,
            age,
        }))
    }

    /// Decrypts what the last read brought.
    pub(super) fn open_sealed(
        &mut self,
        read: &mut ReadOutcome,
        scratch: &mut [u8],
    ) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        let end = std::mem::take(&mut tls.sealed_end);
        if end == 0 {
            // The read was interrupted.
            return Ok(());
        }
        self.partial.reserve_exact(self.wanted);
        let mut begun = Begun {
            message: &mut self.partial,
            missing: self.wanted,
        };
        let received = tls
            .channel
            .receive(scratch, end, Some(&mut begun), &mut tls.out);
        self.wanted = begun.missing;
        // Behind the plaintext: the next read has the end, or the error.
        read.more |= tls.channel.is_ended() || tls.channel.has_failure();
        if !tls.out.is_empty() {
            let sent = self.send_messages();
            // After an error only the alert could not be sent.
            if received.is_ok() {
                sent?;
            }
        }
        read.scratch_len = received.map_err(failed)?;
        Ok(())
    }

    /// Sends the messages of TLS itself. Behind bytes that are unsent they wait for [`Link::send_rest`], which
    /// returns how much of the plaintext the system took with them.
    pub(super) fn send_messages(&mut self) -> io::Result<()> {
        let is_blocked = self.unsent_len() > 0;
        if let Some(tls) = &mut self.tls {
            self.unsent.append(&mut tls.out);
        }
        if is_blocked {
            return Ok(());
        }
        self.send_unsent()?;
        if let Some(tls) = &mut self.tls {
            tls.out = Vec::new();
        }
        if self.unsent.is_empty() {
            // They are rare: no connection keeps a buffer for them.
            self.unsent = Vec::new();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
