//! The state of TLS on a connection.

use filermark_tls::{Channel, TlsError};

/// The state of TLS on a connection.
#[derive(Debug)]
pub(super) struct Secure {
    pub(super) channel: Channel,
    /// The handshake was counted.
    pub(super) is_counted: bool,
}

impl Secure {
    pub(super) fn held_bytes(&self) -> usize {
        self.channel.held_bytes()
    }

    /// Appends a reply to what is to be sent.
    pub(super) fn append(&mut self, reply: &[u8], pending: &mut Vec<u8>) {
        // It fails where the session has failed: the connection is closed then.
        let _ = self.channel.seal(reply, pending);
    }

    /// Encrypts `out`; `spare` is the buffer for that.
    pub(super) fn seal(&mut self, out: &mut Vec<u8>, spare: &mut Vec<u8>) -> Result<(), TlsError> {
        spare.clear();
        self.channel.seal(out, spare)?;
        std::mem::swap(out, spare);
        Ok(())
    }
}
