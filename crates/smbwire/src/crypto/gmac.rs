//! AES-128-GMAC (NIST SP 800-38D): the tag of AES-GCM for no data, with the message associated.
//!
//! `ring` takes associated data block by block, 2 GB/s where its encryption reaches 12.
//! `graviola` takes 16 blocks at once: 30 GB/s; without AVX-512 8: 7 GB/s. It refuses processors
//! without its instructions, and is for x86-64 and arm64 only: there `ring` is what is used.

use ring::aead;
use std::sync::Arc;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use graviola::{aead::AesGcm, util::is_cpu_supported};

/// A key. Copies share it: the one of `graviola` cannot be cloned.
#[derive(Clone)]
pub(super) enum Gmac {
    /// Many blocks at once.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    Fast(Arc<AesGcm>),
    /// On every processor.
    Portable(Arc<aead::LessSafeKey>),
}

impl Gmac {
    /// With this key, the fastest way that the processor has.
    pub(super) fn new(key: &[u8; 16]) -> Option<Self> {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        if is_cpu_supported() {
            return Some(Self::Fast(Arc::new(AesGcm::new(key))));
        }
        Self::portable(key)
    }

    /// With this key, for every processor. `None` does not occur: all keys of 16 bytes serve.
    pub(super) fn portable(key: &[u8; 16]) -> Option<Self> {
        let key = aead::UnboundKey::new(&aead::AES_128_GCM, key).ok()?;
        Some(Self::Portable(Arc::new(aead::LessSafeKey::new(key))))
    }

    /// The tag of a message.
    pub(super) fn tag(&self, nonce: [u8; 12], message: &[u8]) -> [u8; 16] {
        let mut tag = [0; 16];
        match self {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Self::Fast(key) => key.encrypt(&nonce, message, &mut [], &mut tag),
            Self::Portable(key) => {
                let nonce = aead::Nonce::assume_unique_for_key(nonce);
                let message = aead::Aad::from(message);
                // Only messages longer than memory fail.
                if let Ok(made) = key.seal_in_place_separate_tag(nonce, message, &mut []) {
                    tag.copy_from_slice(made.as_ref());
                }
            }
        }
        tag
    }
}
