//! The self-signed certificate: TLS needs one to transport a public key, and it contains
//! nothing else.

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

/// Prefix of the 32 bytes of a private key in PKCS #8 (RFC 8410, section 7).
const PKCS8_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// A key, and a certificate with its public half.
pub(super) struct KeyCertificate {
    /// The private key (PKCS #8).
    pub key: PrivatePkcs8KeyDer<'static>,
    /// Signed with the key itself.
    pub certificate: CertificateDer<'static>,
}

/// Makes both from the 32 bytes of an Ed25519 private key.
///
/// # Errors
/// The library failed, for which no reason is known.
pub(super) fn certified(seed: &[u8; 32]) -> Result<KeyCertificate, String> {
    let key = PrivatePkcs8KeyDer::from([PKCS8_HEAD.as_slice(), seed].concat());
    let made = || {
        let pair = KeyPair::try_from(&key)?;
        let certificate = CertificateParams::new(["filermark".to_owned()])?.self_signed(&pair)?;
        Ok(certificate.into())
    };
    let certificate = made().map_err(|e: rcgen::Error| e.to_string())?;
    Ok(KeyCertificate { key, certificate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::server::ParsedCertificate;

    #[test]
    fn the_certificate_contains_the_key_and_is_always_the_same() {
        let key_info = |seed| {
            let one = certified(&[seed; 32]).unwrap();
            let parsed = ParsedCertificate::try_from(&one.certificate).unwrap();
            parsed.subject_public_key_info().as_ref().to_vec()
        };
        assert_eq!(key_info(7), key_info(7));
        assert_ne!(key_info(7), key_info(8));
    }
}
