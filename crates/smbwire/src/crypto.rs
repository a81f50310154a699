//! Keys, signatures and encryption of SMB 2 and 3 (MS-SMB2 3.1.4). Nothing here allocates
//! once a key is set up. What uses the processor's instructions does the work: `ring` for
//! HMAC and GCM, `graviola` for GMAC, `aes` for CMAC and CCM, whose modes are here.
//!
//! It uses keys and bytes, and of a message only what its signature depends on.

mod ccm;
mod chain;
mod cmac;
mod gmac;
pub mod keys;
pub mod preauth;
pub mod seal;
pub mod sign;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod vectors;

pub use keys::Keys;
pub use preauth::Preauth;
pub use seal::{Opener, Sealer};
pub use sign::Signer;

use std::fmt;

/// How messages are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Cipher {
    /// AES-128-CCM: 3.0 and later.
    Aes128Ccm = 1,
    /// AES-128-GCM: 3.1.1.
    Aes128Gcm = 2,
    /// AES-256-CCM: 3.1.1.
    Aes256Ccm = 3,
    /// AES-256-GCM: 3.1.1.
    Aes256Gcm = 4,
}

impl Cipher {
    /// All of them, the fastest first.
    pub const ALL: [Self; 4] = [
        Self::Aes128Gcm,
        Self::Aes256Gcm,
        Self::Aes128Ccm,
        Self::Aes256Ccm,
    ];

    /// The number on the wire.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// The cipher with a number of the wire.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.number() == number)
    }

    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Ccm => "AES-128-CCM",
            Self::Aes128Gcm => "AES-128-GCM",
            Self::Aes256Ccm => "AES-256-CCM",
            Self::Aes256Gcm => "AES-256-GCM",
        }
    }

    /// Bytes of its key.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128Ccm | Self::Aes128Gcm => 16,
            Self::Aes256Ccm | Self::Aes256Gcm => 32,
        }
    }

    /// Bytes of its nonce.
    pub const fn nonce_len(self) -> usize {
        match self {
            Self::Aes128Ccm | Self::Aes256Ccm => 11,
            Self::Aes128Gcm | Self::Aes256Gcm => 12,
        }
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How messages are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum SigningAlgorithm {
    /// HMAC-SHA256, the first 16 bytes of it: 2.0.2 and 2.1; 3.1.1 where offered.
    HmacSha256 = 0,
    /// AES-128-CMAC: 3.0 and later.
    AesCmac = 1,
    /// AES-128-GMAC: 3.1.1 where offered.
    AesGmac = 2,
}

impl SigningAlgorithm {
    /// All of them, the fastest first.
    pub const ALL: [Self; 3] = [Self::AesGmac, Self::AesCmac, Self::HmacSha256];

    /// The number on the wire.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// The algorithm with a number of the wire.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|a| a.number() == number)
    }

    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HmacSha256 => "HMAC-SHA256",
            Self::AesCmac => "AES-128-CMAC",
            Self::AesGmac => "AES-128-GMAC",
        }
    }
}

impl fmt::Display for SigningAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether two values are equal, in a time that does not depend on where they differ.
pub(crate) fn same(a: &[u8; 16], b: &[u8; 16]) -> bool {
    let differences = a.iter().zip(b).fold(0, |acc, (x, y)| acc | (x ^ y));
    std::hint::black_box(differences) == 0
}
