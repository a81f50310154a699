//! Encryption of messages, in place (MS-SMB2 2.2.41, 3.1.4.3, 3.2.5.1.1).

use super::Cipher;
use super::ccm::Ccm;
use crate::error::DecodeError;
use aes::cipher::KeyInit;
use aes::{Aes128Enc, Aes256Enc};
use ring::aead;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of the transform header, which takes the place of the message's own before it.
pub const TRANSFORM: usize = 52;
/// What it begins with.
pub const TRANSFORM_ID: [u8; 4] = *b"\xFDSMB";
/// Where what it vouches for begins: nonce, length, flags and session.
const VOUCHED: usize = 20;
/// The one value of its flags: encrypted.
const ENCRYPTED: u16 = 1;

#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // As in `sign`: no step more to a key than needed.
enum Key {
    Ccm128(Ccm<Aes128Enc>),
    Ccm256(Ccm<Aes256Enc>),
    Gcm(aead::LessSafeKey),
}

impl Key {
    fn new(cipher: Cipher, key: &[u8; 32]) -> Self {
        let short: [u8; 16] = key.first_chunk().copied().unwrap_or_default();
        let gcm = |algorithm, key: &[u8]| {
            aead::UnboundKey::new(algorithm, key)
                .ok()
                .map(|key| Self::Gcm(aead::LessSafeKey::new(key)))
        };
        let made = match cipher {
            Cipher::Aes128Ccm => None,
            Cipher::Aes256Ccm => Some(Self::Ccm256(Ccm::new(Aes256Enc::new(key.into())))),
            Cipher::Aes128Gcm => gcm(&aead::AES_128_GCM, &short),
            Cipher::Aes256Gcm => gcm(&aead::AES_256_GCM, key),
        };
        // The lengths are right: the other way is AES-128-CCM's only.
        made.unwrap_or_else(|| Self::Ccm128(Ccm::new(Aes128Enc::new(&short.into()))))
    }

    fn seal(&self, nonce: &[u8; 12], vouched: &[u8], message: &mut [u8]) -> Option<[u8; 16]> {
        let short = eleven(nonce);
        match self {
            Self::Ccm128(key) => key.seal(&short, vouched, message),
            Self::Ccm256(key) => key.seal(&short, vouched, message),
            Self::Gcm(key) => {
                let nonce = aead::Nonce::assume_unique_for_key(*nonce);
                let tag = key.seal_in_place_separate_tag(nonce, aead::Aad::from(vouched), message);
                tag.ok().and_then(|tag| tag.as_ref().try_into().ok())
            }
        }
    }

    fn open(&self, nonce: &[u8; 12], vouched: &[u8], tag: [u8; 16], message: &mut [u8]) -> bool {
        let short = eleven(nonce);
        match self {
            Self::Ccm128(key) => key.open(&short, vouched, &tag, message),
            Self::Ccm256(key) => key.open(&short, vouched, &tag, message),
            Self::Gcm(key) => {
                let nonce = aead::Nonce::assume_unique_for_key(*nonce);
                let aad = aead::Aad::from(vouched);
                key.open_in_place_separate_tag(nonce, aad, tag.into(), message, 0..)
                    .is_ok()
            }
        }
    }
}

fn eleven(nonce: &[u8; 12]) -> [u8; 11] {
    nonce.first_chunk().copied().unwrap_or_default()
}

/// Encrypts what goes to the server. No two messages get the same nonce: it counts, and
/// cannot be cloned.
pub struct Sealer {
    key: Key,
    cipher: Cipher,
    count: u64,
    lane: u32,
    /// The last lane of the key that is in use.
    last_lane: Arc<AtomicU32>,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sealer({})", self.cipher)
    }
}

impl Sealer {
    /// With this key, of which the first [`Cipher::key_len`] bytes count.
    pub fn new(cipher: Cipher, key: &[u8; 32]) -> Self {
        Self {
            key: Key::new(cipher, key),
            cipher,
            count: 0,
            lane: 0,
            last_lane: Arc::default(),
        }
    }

    /// The cipher.
    pub const fn cipher(&self) -> Cipher {
        self.cipher
    }

    /// One with the same key whose nonces are all others than this one's, and than those of
    /// whatever else was made with the key: several connections of a session use it at once.
    pub(crate) fn fork(&self) -> Self {
        Self {
            key: self.key.clone(),
            cipher: self.cipher,
            // Goes on counting: lanes may come round, counts do not.
            count: self.count,
            lane: self
                .last_lane
                .fetch_add(1, Ordering::Relaxed)
                .wrapping_add(1),
            last_lane: self.last_lane.clone(),
        }
    }

    /// Encrypts all that is behind the first [`TRANSFORM`] bytes, and fills those.
    #[inline]
    pub fn seal(&mut self, session_id: u64, message: &mut [u8]) {
        let Some((head, message)) = message.split_first_chunk_mut::<TRANSFORM>() else {
            return;
        };
        self.count = self.count.wrapping_add(1);
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&self.count.to_le_bytes());
        // The shortest nonce has three bytes for it.
        nonce[8..11].copy_from_slice(&self.lane.to_le_bytes()[..3]);
        let used = self.cipher.nonce_len();
        head.fill(0);
        head[..4].copy_from_slice(&TRANSFORM_ID);
        head[20..20 + used].copy_from_slice(&nonce[..used]);
        head[36..40].copy_from_slice(&(message.len() as u32).to_le_bytes());
        head[42..44].copy_from_slice(&ENCRYPTED.to_le_bytes());
        head[44..52].copy_from_slice(&session_id.to_le_bytes());
        let tag = self.key.seal(&nonce, &head[VOUCHED..], message);
        match tag {
            Some(tag) => head[4..20].copy_from_slice(&tag),
            // Only lengths that no frame has come here; they must not go out in the clear.
            None => message.fill(0),
        }
    }
}

/// Decrypts what comes from the server.
#[derive(Clone)]
pub struct Opener {
    key: Key,
    cipher: Cipher,
}

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Opener({})", self.cipher)
    }
}

impl Opener {
    /// With this key, of which the first [`Cipher::key_len`] bytes count.
    pub fn new(cipher: Cipher, key: &[u8; 32]) -> Self {
        Self {
            key: Key::new(cipher, key),
            cipher,
        }
    }

    /// Decrypts a frame (without its mark) in place and gives the message in it.
    ///
    /// # Errors
    /// It is no transform header of this session, or the key does not open it.
    #[inline]
    pub fn open<'a>(
        &self,
        session_id: u64,
        frame: &'a mut [u8],
    ) -> Result<&'a mut [u8], DecodeError> {
        let (head, message) = frame
            .split_first_chunk_mut::<TRANSFORM>()
            .ok_or(DecodeError::TooShort)?;
        if head[..4] != TRANSFORM_ID {
            return Err(DecodeError::Bad("the transform header's mark"));
        }
        if head[36..40] != (message.len() as u32).to_le_bytes() {
            return Err(DecodeError::Bad("the length of the encrypted message"));
        }
        if head[42..44] != ENCRYPTED.to_le_bytes() {
            return Err(DecodeError::Bad("the transform header's flags"));
        }
        if head[44..52] != session_id.to_le_bytes() {
            return Err(DecodeError::Bad("the transform header's session"));
        }
        let (mut nonce, mut tag) = ([0; 12], [0; 16]);
        nonce.copy_from_slice(&head[20..32]);
        tag.copy_from_slice(&head[4..20]);
        match self.key.open(&nonce, &head[VOUCHED..], tag, message) {
            true => Ok(message),
            false => Err(DecodeError::Sealed),
        }
    }
}
