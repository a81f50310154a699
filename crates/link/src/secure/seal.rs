//! A secret for one agent: encrypted by the prime, decrypted only by that agent.
//!
//! Links have their own protection (SSH, TLS, pipes of one host). This one is for the password
//! of a file server's user, which is more sensitive than the benchmark itself: it keeps the
//! password out of everything that messages pass through (frames, queues, logs of a link,
//! relaying programs).
//!
//! The agent's `Hello` has an X25519 key that it made for this link. When the prime has a
//! secret for it, it makes one too; both derive the same AES-256-GCM key from the exchange
//! (HKDF-SHA256 over both public keys, RFC 5869), so that a secret for one agent cannot be
//! decrypted by another. Messages are numbered, and each number is accepted once. Lengths up to
//! `PAD` are indistinguishable.
//!
//! It does not authenticate the peer: an attacker who controls the link could receive the
//! secret. The link's own protection prevents that.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use filermark_model::secret::Secret;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::hkdf;
use ring::rand::SystemRandom;
use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::Zeroizing;

/// The purpose of the derived keys.
const PURPOSE: &[u8] = b"filermark sealed secret 1";
/// Secrets are padded to a multiple of this number of bytes, including their length.
const PAD: usize = 256;
/// Bytes of an X25519 public key.
const KEY_LEN: usize = 32;
/// The longest secret in bytes.
const SECRET_LEN_MAX: usize = 2048;
/// The longest sealed text in bytes: the padded secret, and the tag.
const TEXT_LEN_MAX: usize = SECRET_LEN_MAX + 2 * PAD;

/// An encrypted secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// The prime's public key, base64.
    key: String,
    /// Its number on this link, from 1.
    number: u32,
    /// The encrypted bytes, base64.
    text: String,
}

/// Why a secret could not be sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The system provides no random numbers.
    #[error("the system gives no random numbers")]
    NoRandom,
    /// The other side's key is not valid.
    #[error("the agent has sent no valid key for it")]
    BadKey,
    /// It was sealed for another agent, changed, or sent again.
    #[error("it was not sealed for this agent and link")]
    NotForUs,
    /// It is too long.
    #[error("it is too long")]
    TooLong,
}

/// The agent's side.
pub struct Opener {
    /// Until the first secret arrives.
    private: Option<EphemeralPrivateKey>,
    public: Vec<u8>,
    /// From then on: the prime's public key, the decryption key, and the last number.
    session: Option<(String, LessSafeKey, u32)>,
}

impl Opener {
    /// With a new key; without one if the system provides no random numbers, which the prime
    /// reports when it has a secret.
    pub fn new() -> Self {
        let (private, public) = match new_key_pair() {
            Ok((private, public)) => (Some(private), public),
            Err(_) => (None, Vec::new()),
        };
        Self {
            private,
            public,
            session: None,
        }
    }

    /// The public key, for `Hello`.
    pub fn key(&self) -> String {
        BASE64.encode(&self.public)
    }

    /// Decrypts a secret.
    ///
    /// # Errors
    /// It is not for this agent or this link.
    pub fn open(&mut self, sealed: &Sealed) -> Result<Secret, SealError> {
        if let Some(private) = self.private.take() {
            let prime = decoded(&sealed.key, KEY_LEN)?;
            let key = derive_key(private, &prime, &self.public, &prime)?;
            self.session = Some((sealed.key.clone(), key, 0));
        }
        let Some((prime, key, last)) = &mut self.session else {
            return Err(SealError::NotForUs);
        };
        if *prime != sealed.key || sealed.number <= *last {
            return Err(SealError::NotForUs);
        }
        let mut text = Zeroizing::new(decoded(&sealed.text, TEXT_LEN_MAX)?);
        let nonce = Nonce::assume_unique_for_key(nonce(sealed.number));
        let plain = key.open_in_place(nonce, Aad::from(PURPOSE), &mut text);
        let secret = unpadded(plain.map_err(|_| SealError::NotForUs)?);
        *last = sealed.number;
        secret.map(Secret::new).ok_or(SealError::NotForUs)
    }
}

impl Default for Opener {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}

/// The prime's side, for one agent.
pub struct Sealer {
    public: String,
    key: LessSafeKey,
    last: u32,
}

impl Sealer {
    /// For the agent with this public key, from its `Hello`.
    ///
    /// # Errors
    /// The key is not valid; no random numbers.
    pub fn to(agent: &str) -> Result<Self, SealError> {
        let agent = decoded(agent, KEY_LEN).map_err(|_| SealError::BadKey)?;
        let (private, public) = new_key_pair()?;
        let key = derive_key(private, &agent, &agent, &public)?;
        Ok(Self {
            public: BASE64.encode(&public),
            key,
            last: 0,
        })
    }

    /// Encrypts a secret.
    ///
    /// # Errors
    /// It is too long.
    pub fn seal(&mut self, secret: &str) -> Result<Sealed, SealError> {
        let mut text = padded(secret)?;
        self.last = self.last.checked_add(1).ok_or(SealError::TooLong)?;
        let nonce = Nonce::assume_unique_for_key(nonce(self.last));
        self.key
            .seal_in_place_append_tag(nonce, Aad::from(PURPOSE), &mut text)
            .map_err(|_| SealError::TooLong)?;
        Ok(Sealed {
            key: self.public.clone(),
            number: self.last,
            text: BASE64.encode(&text),
        })
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer")
    }
}

/// A new key pair.
fn new_key_pair() -> Result<(EphemeralPrivateKey, Vec<u8>), SealError> {
    let private = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new())
        .map_err(|_| SealError::NoRandom)?;
    let public = private
        .compute_public_key()
        .map_err(|_| SealError::NoRandom)?;
    Ok((private, public.as_ref().to_vec()))
}

/// The key of a link between this agent and this prime.
fn derive_key(
    private: EphemeralPrivateKey,
    peer: &[u8],
    agent: &[u8],
    prime: &[u8],
) -> Result<LessSafeKey, SealError> {
    let peer = UnparsedPublicKey::new(&X25519, peer);
    agree_ephemeral(private, &peer, |shared| {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, PURPOSE);
        let info = [agent, prime];
        let okm = salt.extract(shared);
        let okm = okm.expand(&info, &AES_256_GCM);
        okm.map(|okm| LessSafeKey::new(UnboundKey::from(okm)))
    })
    .map_err(|_| SealError::BadKey)?
    .map_err(|_| SealError::BadKey)
}

/// A number is used once with a key, and a key in one direction.
fn nonce(number: u32) -> [u8; NONCE_LEN] {
    let mut nonce = [0; NONCE_LEN];
    nonce[NONCE_LEN - 4..].copy_from_slice(&number.to_be_bytes());
    nonce
}

/// The length (2 bytes, big endian), the secret, zeros.
fn padded(secret: &str) -> Result<Vec<u8>, SealError> {
    if secret.len() > SECRET_LEN_MAX {
        return Err(SealError::TooLong);
    }
    // Allocated once, with space for the tag: a growing buffer would leave copies in memory.
    // The secret itself is encrypted in place.
    let mut text = Vec::with_capacity(TEXT_LEN_MAX);
    text.extend_from_slice(&(secret.len() as u16).to_be_bytes());
    text.extend_from_slice(secret.as_bytes());
    text.resize(text.len().next_multiple_of(PAD), 0);
    Ok(text)
}

fn unpadded(text: &[u8]) -> Option<&str> {
    let (len, rest) = text.split_first_chunk::<2>()?;
    let secret = rest.get(..usize::from(u16::from_be_bytes(*len)))?;
    std::str::from_utf8(secret).ok()
}

/// Decodes base64 of at most `len_max` bytes.
fn decoded(text: &str, len_max: usize) -> Result<Vec<u8>, SealError> {
    if text.len() > len_max.div_ceil(3) * 4 {
        return Err(SealError::TooLong);
    }
    BASE64.decode(text).map_err(|_| SealError::NotForUs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair() -> (Sealer, Opener) {
        let opener = Opener::new();
        (Sealer::to(&opener.key()).unwrap(), opener)
    }

    #[test]
    fn a_sealed_secret_is_opened_by_its_agent() {
        let (mut sealer, mut opener) = pair();
        for word in ["geheim", "", "ü", &"x".repeat(SECRET_LEN_MAX)] {
            let sealed = sealer.seal(word).unwrap();
            assert_eq!(opener.open(&sealed), Ok(Secret::new(word)), "{word}");
            // Accepted once only.
            assert_eq!(opener.open(&sealed), Err(SealError::NotForUs));
        }
        let too_long = "x".repeat(SECRET_LEN_MAX + 1);
        assert_eq!(sealer.seal(&too_long), Err(SealError::TooLong));
    }

    #[test]
    fn no_other_agent_can_open_it() {
        let (mut sealer, mut opener) = pair();
        let sealed = sealer.seal("geheim").unwrap();
        assert_eq!(Opener::new().open(&sealed), Err(SealError::NotForUs));
        // Another prime cannot continue a link that has begun.
        assert!(opener.open(&sealed).is_ok());
        let other = Sealer::to(&opener.key()).unwrap().seal("geheim").unwrap();
        assert_eq!(opener.open(&other), Err(SealError::NotForUs));
        // Two links never produce the same bytes.
        let (mut again, _) = pair();
        assert_ne!(again.seal("geheim").unwrap(), sealed);
    }

    #[test]
    fn lengths_are_indistinguishable() {
        let (mut sealer, _) = pair();
        let len = |sealed: Sealed| sealed.text.len();
        let short = len(sealer.seal("a").unwrap());
        assert_eq!(short, len(sealer.seal(&"a".repeat(254)).unwrap()));
        assert!(short < len(sealer.seal(&"a".repeat(255)).unwrap()));
    }

    #[test]
    fn bad_keys_are_refused() {
        let zeros = BASE64.encode([0; KEY_LEN]);
        let short = BASE64.encode([7; KEY_LEN - 1]);
        let long = BASE64.encode([7; 4000]);
        for key in ["", "x", "AAAA", &zeros, &short, &long] {
            assert_eq!(Sealer::to(key).err(), Some(SealError::BadKey), "{key}");
            let (mut sealer, mut opener) = pair();
            let mut sealed = sealer.seal("geheim").unwrap();
            sealed.key = key.to_owned();
            assert!(opener.open(&sealed).is_err(), "{key}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_changed_bit_is_detected(byte in 0usize..272, bit in 0u8..8, number in 0u32..3) {
            let (mut sealer, mut opener) = pair();
            let mut sealed = sealer.seal("geheim").unwrap();
            let mut text = BASE64.decode(&sealed.text).unwrap();
            let len = text.len();
            text[byte % len] ^= 1 << bit;
            sealed.text = BASE64.encode(text);
            sealed.number = number;
            prop_assert!(opener.open(&sealed).is_err());
        }

        #[test]
        fn any_text_is_refused_without_panic(key in ".{0,60}", number: u32, text in ".{0,600}") {
            let sealed = Sealed { key, number, text };
            prop_assert!(Opener::new().open(&sealed).is_err());
        }
    }
}
