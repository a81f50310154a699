//! What is offered to the server, and what follows from what it chooses.

use super::super::negotiate::{NegotiateResponse, capability, security_mode};
use crate::crypto::{Cipher, SigningAlgorithm};
use crate::error::SetupError;
use crate::settings::Settings;
use filermark_model::smb::{Dialect, Encryption, Signing};

/// Why not, where the dialect has no such thing.
const DIALECT_LACKS: &str = "the dialect does not have it";
/// Why not, where the dialect has it and the server does not offer it.
const SERVER_LACKS: &str = "the server does not offer it";
/// Why not, where the user is not authenticated.
pub(super) const GUEST_LACKS: &str =
    "there are no keys for it, since the server logged the user in as a guest or anonymously";

/// The dialects of SMB2 to offer, ascending.
pub(super) fn dialects(settings: &Settings) -> Vec<Dialect> {
    let (low, high) = settings.dialects;
    Dialect::ALL
        .into_iter()
        .filter(|d| *d != Dialect::Nt1 && (low..=high).contains(d))
        .collect()
}

/// The ciphers to offer, the best first.
pub(super) fn ciphers(encryption: Encryption) -> &'static [Cipher] {
    match encryption {
        Encryption::Off => &[],
        Encryption::Auto | Encryption::Required => &Cipher::ALL,
        Encryption::Aes128Ccm => &[Cipher::Aes128Ccm],
        Encryption::Aes128Gcm => &[Cipher::Aes128Gcm],
        Encryption::Aes256Ccm => &[Cipher::Aes256Ccm],
        Encryption::Aes256Gcm => &[Cipher::Aes256Gcm],
    }
}

/// The signing algorithms to offer, the best first. A session that is not signed has them
/// too: its TREE_CONNECT is.
pub(super) fn signing(signing: Signing) -> &'static [SigningAlgorithm] {
    match signing {
        Signing::Auto | Signing::Off | Signing::Required => &SigningAlgorithm::ALL,
        Signing::HmacSha256 => &[SigningAlgorithm::HmacSha256],
        Signing::AesCmac => &[SigningAlgorithm::AesCmac],
        Signing::AesGmac => &[SigningAlgorithm::AesGmac],
    }
}

/// The name of the signing that the plan requires of every message, if any.
pub(super) const fn wanted_signing(signing: Signing) -> Option<&'static str> {
    match signing {
        Signing::Auto | Signing::Off => None,
        Signing::Required => Some("signing"),
        Signing::HmacSha256 => Some("signing with HMAC-SHA256"),
        Signing::AesCmac => Some("signing with AES-128-CMAC"),
        Signing::AesGmac => Some("signing with AES-128-GMAC"),
    }
}

/// The name of the encryption that the plan requires of every message, if any.
pub(super) const fn wanted_encryption(encryption: Encryption) -> Option<&'static str> {
    match encryption {
        Encryption::Auto | Encryption::Off => None,
        Encryption::Required => Some("encryption"),
        Encryption::Aes128Ccm => Some("encryption with AES-128-CCM"),
        Encryption::Aes128Gcm => Some("encryption with AES-128-GCM"),
        Encryption::Aes256Ccm => Some("encryption with AES-256-CCM"),
        Encryption::Aes256Gcm => Some("encryption with AES-256-GCM"),
    }
}

/// The client's security mode.
pub(super) const fn mode(signing: Signing) -> u16 {
    match wanted_signing(signing) {
        Some(_) => security_mode::SIGNING_ENABLED | security_mode::SIGNING_REQUIRED,
        None => security_mode::SIGNING_ENABLED,
    }
}

/// The client's capabilities; before 3.0 there was no such field (MS-SMB2 3.2.4.2.2.2).
pub(super) fn capabilities(settings: &Settings, dialects: &[Dialect]) -> u32 {
    if dialects.last() < Some(&Dialect::V300) {
        return 0;
    }
    let encryption = match ciphers(settings.encryption) {
        [] => 0,
        _ => capability::ENCRYPTION,
    };
    capability::LEASING | capability::LARGE_MTU | encryption
}

/// How messages are signed in the dialect that was chosen.
pub(super) fn signing_in(
    wanted: Signing,
    dialect: Dialect,
    answer: &NegotiateResponse<'_>,
) -> Result<SigningAlgorithm, SetupError> {
    let (algorithm, lacks) = match dialect {
        Dialect::V311 => (
            answer.choices.signing.unwrap_or(SigningAlgorithm::AesCmac),
            SERVER_LACKS,
        ),
        Dialect::V300 | Dialect::V302 => (SigningAlgorithm::AesCmac, DIALECT_LACKS),
        _ => (SigningAlgorithm::HmacSha256, DIALECT_LACKS),
    };
    match wanted_signing(wanted) {
        Some(wanted_name) if !signing(wanted).contains(&algorithm) => {
            Err(lacking(wanted_name, dialect, lacks))
        }
        _ => Ok(algorithm),
    }
}

/// The cipher that the session has at hand, whether or not it comes to use it.
pub(super) fn cipher_in(
    wanted: Encryption,
    dialect: Dialect,
    answer: &NegotiateResponse<'_>,
) -> Result<Option<Cipher>, SetupError> {
    let (cipher, lacks) = match dialect {
        Dialect::V311 => (answer.choices.cipher, SERVER_LACKS),
        Dialect::V300 | Dialect::V302 => {
            let has = answer.capabilities & capability::ENCRYPTION != 0;
            let lacks = match ciphers(wanted).contains(&Cipher::Aes128Ccm) {
                true => SERVER_LACKS,
                false => DIALECT_LACKS,
            };
            (has.then_some(Cipher::Aes128Ccm), lacks)
        }
        _ => (None, DIALECT_LACKS),
    };
    let cipher = cipher.filter(|cipher| ciphers(wanted).contains(cipher));
    match (wanted_encryption(wanted), cipher) {
        (Some(name), None) => Err(lacking(name, dialect, lacks)),
        _ => Ok(cipher),
    }
}

pub(super) const fn lacking(
    wanted: &'static str,
    dialect: Dialect,
    lacks: &'static str,
) -> SetupError {
    SetupError::Lacking {
        wanted,
        dialect,
        lacks,
    }
}
