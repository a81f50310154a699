//! The hash over all messages that are sent before there are keys (3.1.1; MS-SMB2 3.1.4.4.1).

use ring::digest;

/// The hash so far.
#[derive(Clone, PartialEq, Eq)]
pub struct Preauth([u8; 64]);

impl Preauth {
    /// The value before the first message.
    pub const fn new() -> Self {
        Self([0; 64])
    }

    /// A message has gone or come: from its header to its end, without the frame's mark.
    pub fn add(&mut self, message: &[u8]) {
        let mut hash = digest::Context::new(&digest::SHA512);
        hash.update(&self.0);
        hash.update(message);
        if let Ok(value) = hash.finish().as_ref().try_into() {
            self.0 = value;
        }
    }

    /// Its value.
    pub const fn value(&self) -> &[u8; 64] {
        &self.0
    }
}

impl Default for Preauth {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Preauth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Preauth")
    }
}
