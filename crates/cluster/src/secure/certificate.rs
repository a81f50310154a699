//! The smallest certificate there is: X.509 needs one to carry a public key, and this
//! carries nothing else. Made by hand, since all of it is fixed but key and signature.

use ring::signature::{Ed25519KeyPair, KeyPair};

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT_ID: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// `[0]`, the tag of the version.
const VERSION: u8 = 0xa0;

/// 1.3.101.112, Ed25519 (RFC 8410, section 3).
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
/// 2.5.4.3, the common name.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// A certificate of this key, signed by itself (RFC 5280, section 4.1), without end.
pub(super) fn self_signed(key: &Ed25519KeyPair) -> Vec<u8> {
    let algorithm = algorithm();
    let name = name();
    let validity = der(
        SEQUENCE,
        &[
            &der(UTC_TIME, &[b"700101000000Z"]),
            // "No well-defined expiration date" (section 4.1.2.5).
            &der(GENERALIZED_TIME, &[b"99991231235959Z"]),
        ],
    );
    let body = der(
        SEQUENCE,
        &[
            &der(VERSION, &[&der(INTEGER, &[&[2]])]),
            &der(INTEGER, &[&[1]]),
            &algorithm,
            &name,
            &validity,
            &name,
            &public_key_info(key),
        ],
    );
    let signature = key.sign(&body);
    der(
        SEQUENCE,
        &[
            &body,
            &algorithm,
            &der(BIT_STRING, &[&[0], signature.as_ref()]),
        ],
    )
}

/// SubjectPublicKeyInfo of this key.
pub(super) fn public_key_info(key: &Ed25519KeyPair) -> Vec<u8> {
    let bits = der(BIT_STRING, &[&[0], key.public_key().as_ref()]);
    der(SEQUENCE, &[&algorithm(), &bits])
}

fn algorithm() -> Vec<u8> {
    der(SEQUENCE, &[&der(OBJECT_ID, &[ED25519])])
}

fn name() -> Vec<u8> {
    let common = [
        der(OBJECT_ID, &[COMMON_NAME]),
        der(UTF8_STRING, &[b"filermark"]),
    ];
    let common = der(SEQUENCE, &[&common[0], &common[1]]);
    der(SEQUENCE, &[&der(SET, &[&common])])
}

/// One value with its tag and its length in bytes (X.690, section 8.1.3), up to 64 KiB.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let len = (content.len() as u16).to_be_bytes();
    let mut out = vec![tag];
    match len {
        [0, short @ 0..=0x7f] => out.push(short),
        [0, low] => out.extend([0x81, low]),
        [high, low] => out.extend([0x82, high, low]),
    }
    out.extend(content);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::CertificateDer;
    use rustls::server::ParsedCertificate;

    #[test]
    fn others_find_the_key_in_it() {
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let certificate = CertificateDer::from(self_signed(&key));
        let parsed = ParsedCertificate::try_from(&certificate).unwrap();
        assert_eq!(
            parsed.subject_public_key_info().as_ref(),
            public_key_info(&key)
        );
    }

    #[test]
    fn lengths_of_each_form() {
        assert_eq!(der(SET, &[&[9; 3]]), [SET, 3, 9, 9, 9]);
        assert_eq!(der(SET, &[&[9; 0x80]])[..3], [SET, 0x81, 0x80]);
        assert_eq!(der(SET, &[&[9; 0x100]])[..4], [SET, 0x82, 1, 0]);
    }
}
