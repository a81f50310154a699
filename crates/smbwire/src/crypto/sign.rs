//! Signatures of messages (MS-SMB2 3.1.4.1, 3.1.5.1).

use super::cmac::Cmac;
use super::gmac::Gmac;
use super::{SigningAlgorithm, same};
use ring::hmac;

/// Where a header has its flags.
const FLAGS: usize = 16;
/// Where a header has its message id.
const MESSAGE_ID: usize = 24;
/// Where a header has its signature.
const SIGNATURE: std::ops::Range<usize> = 48..64;
const FLAG_SIGNED: u8 = 0x08;
const FLAG_SERVER: u8 = 0x01;
const COMMAND: usize = 12;
const CANCEL: u8 = 12;

/// Signs messages, and checks signatures.
#[derive(Clone)]
pub struct Signer {
    kind: Kind,
}

#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // One for each session; a box would be one more step to every key.
enum Kind {
    Hmac(hmac::Key),
    Cmac(Cmac),
    Gmac(Gmac),
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Signer({})", self.algorithm())
    }
}

impl Signer {
    /// With this key.
    pub fn new(algorithm: SigningAlgorithm, key: &[u8; 16]) -> Self {
        let kind = match algorithm {
            SigningAlgorithm::HmacSha256 => Kind::Hmac(hmac::Key::new(hmac::HMAC_SHA256, key)),
            SigningAlgorithm::AesCmac => Kind::Cmac(Cmac::new(key)),
            // A key of 16 bytes is never refused.
            SigningAlgorithm::AesGmac => {
                Gmac::new(key).map_or_else(|| Kind::Cmac(Cmac::new(key)), Kind::Gmac)
            }
        };
        Self { kind }
    }

    /// How it signs.
    pub const fn algorithm(&self) -> SigningAlgorithm {
        match self.kind {
            Kind::Hmac(_) => SigningAlgorithm::HmacSha256,
            Kind::Cmac(_) => SigningAlgorithm::AesCmac,
            Kind::Gmac(_) => SigningAlgorithm::AesGmac,
        }
    }

    /// Marks a message as signed and signs it, from its header to its end with padding.
    /// What is shorter than a header is left alone.
    #[inline]
    pub fn sign(&self, message: &mut [u8]) {
        if let Some(flags) = message.get_mut(FLAGS) {
            *flags |= FLAG_SIGNED;
        }
        let Some(place) = message.get_mut(SIGNATURE) else {
            return;
        };
        place.fill(0);
        let signature = self.signature(message);
        if let Some(place) = message.get_mut(SIGNATURE) {
            place.copy_from_slice(&signature);
        }
    }

    /// Whether a message's signature is right. It is zeros afterwards.
    #[inline]
    pub fn verify(&self, message: &mut [u8]) -> bool {
        let Some(place) = message.get_mut(SIGNATURE) else {
            return false;
        };
        let mut given = [0; 16];
        given.copy_from_slice(place);
        place.fill(0);
        same(&given, &self.signature(message))
    }

    /// The signature of a message whose signature is zeros.
    fn signature(&self, message: &[u8]) -> [u8; 16] {
        match &self.kind {
            Kind::Hmac(key) => {
                let tag = hmac::sign(key, message);
                tag.as_ref().first_chunk().copied().unwrap_or_default()
            }
            Kind::Cmac(key) => key.tag(message),
            Kind::Gmac(key) => key.tag(gmac_nonce(message), message),
        }
    }
}

/// The message's id, who sent it, and whether it is a CANCEL (which has the id of another).
fn gmac_nonce(message: &[u8]) -> [u8; 12] {
    let mut nonce = [0; 12];
    if let Some(id) = message.get(MESSAGE_ID..MESSAGE_ID + 8) {
        nonce[..8].copy_from_slice(id);
    }
    let from_server = message.get(FLAGS).is_some_and(|f| f & FLAG_SERVER != 0);
    let is_cancel = message.get(COMMAND).is_some_and(|c| *c == CANCEL);
    nonce[8] = u8::from(from_server) | u8::from(is_cancel) << 1;
    nonce
}
