//! CMAC, CCM and GMAC against published answers, and against the libraries that these modes
//! were taken from before.

use super::super::ccm::Ccm;
use super::super::cmac::Cmac;
use super::super::gmac::Gmac;
use super::{hex, key};
use ::ccm::aead::consts::{U11, U16};
use ::ccm::{AeadInOut, KeyInit};
use ::cmac::Mac;
use aes::{Aes128, Aes128Enc, Aes256, Aes256Enc};
use proptest::collection::vec;
use proptest::prelude::*;

/// NIST's CAVP, gcmEncryptExtIV128: no plaintext; and test case 1 of the specification of GCM.
#[test]
fn gmac_is_that_of_nist() {
    for (secret, nonce, message, tag) in [
        (
            "00000000000000000000000000000000",
            "000000000000000000000000",
            "",
            "58e2fccefa7e3061367f1d57a4e7455a",
        ),
        (
            "77be63708971c4e240d1cb79e8d77feb",
            "e0e00f19fed7ba0136a797f3",
            "7a43ec1d9c0a5a78a0b16533a6213cab",
            "209fcc8d3675ed938e9c7166709dd946",
        ),
    ] {
        let secret = key(secret);
        for gmac in [Gmac::new(&secret), Gmac::portable(&secret)] {
            let made = gmac.expect("a key").tag(key(nonce), &hex(message));
            assert_eq!(made[..], hex(tag));
        }
    }
}

/// Every length to beyond what is taken at once, by AVX-512 in 256 bytes.
#[test]
fn both_ways_of_gmac_agree_for_every_length() {
    let secret = key("feffe9928665731c6d6a8f9467308308");
    let fast = Gmac::new(&secret).expect("a key");
    let portable = Gmac::portable(&secret).expect("a key");
    let message: Vec<u8> = (0..1100u32).map(|n| ((n * 151) >> 3) as u8).collect();
    for length in 0..=message.len() {
        let (message, nonce) = (&message[..length], [length as u8; 12]);
        assert_eq!(
            fast.tag(nonce, message),
            portable.tag(nonce, message),
            "{length}"
        );
    }
}

#[test]
fn cmac_is_that_of_its_library_for_every_length() {
    let secret = [0x2b; 16];
    let message: Vec<u8> = (0..200u32).map(|n| ((n * 151) >> 3) as u8).collect();
    for length in 0..=message.len() {
        same_cmac(&secret, &message[..length]);
    }
}

#[test]
fn ccm_is_that_of_its_library_for_every_length() {
    let message: Vec<u8> = (0..200u32).map(|n| ((n * 151) >> 3) as u8).collect();
    for length in 0..=message.len() {
        same_ccm(&[0x2b; 32], &[9; 11], &message[..32], &message[..length]);
        let associated = &message[..length.max(1)];
        same_ccm(&[0x2b; 32], &[9; 11], associated, &message[..40]);
    }
}

#[test]
fn ccm_refuses_associated_data_that_it_cannot_take() {
    let ccm = Ccm::new(Aes128Enc::new(&[1; 16].into()));
    for length in [0, 0xff00, 0x1_0000] {
        let mut message = [3; 20];
        assert_eq!(ccm.seal(&[2; 11], &vec![0; length], &mut message), None);
        assert_eq!(message, [3; 20]);
        assert!(!ccm.open(&[2; 11], &vec![0; length], &[0; 16], &mut message));
        assert_eq!(message, [0; 20]);
    }
    let most = vec![5; 0xff00 - 1];
    same_ccm(&[0x2b; 32], &[9; 11], &most, b"message");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn cmac_is_that_of_its_library(secret: [u8; 16], message in vec(any::<u8>(), 0..9000)) {
        same_cmac(&secret, &message);
    }

    #[test]
    fn ccm_is_that_of_its_library(
        secret: [u8; 32],
        nonce: [u8; 11],
        associated in vec(any::<u8>(), 1..70),
        message in vec(any::<u8>(), 0..9000),
    ) {
        same_ccm(&secret, &nonce, &associated, &message);
    }

    #[test]
    fn both_ways_of_gmac_agree(
        secret: [u8; 16],
        nonce: [u8; 12],
        message in vec(any::<u8>(), 0..9000),
    ) {
        let made = Gmac::new(&secret).map(|gmac| gmac.tag(nonce, &message));
        prop_assert!(made.is_some());
        prop_assert_eq!(made, Gmac::portable(&secret).map(|gmac| gmac.tag(nonce, &message)));
    }
}

fn same_cmac(secret: &[u8; 16], message: &[u8]) {
    let mut library = ::cmac::Cmac::<Aes128>::new(secret.into());
    library.update(message);
    let expected: [u8; 16] = library.finalize().into_bytes().into();
    assert_eq!(Cmac::new(secret).tag(message), expected);
}

/// With both lengths of keys; what was sealed is opened, and with another tag it is zeros.
fn same_ccm(secret: &[u8; 32], nonce: &[u8; 11], associated: &[u8], plain: &[u8]) {
    let short = secret[..16].first_chunk().expect("16 bytes");
    let library = ::ccm::Ccm::<Aes128, U16, U11>::new(short.into());
    let ours = Ccm::new(Aes128Enc::new(short.into()));
    same_as(&ours, &library, nonce, associated, plain);
    let library = ::ccm::Ccm::<Aes256, U16, U11>::new(secret.into());
    let ours = Ccm::new(Aes256Enc::new(secret.into()));
    same_as(&ours, &library, nonce, associated, plain);
}

fn same_as<C: super::super::chain::Aes>(
    ours: &Ccm<C>,
    library: &impl AeadInOut<NonceSize = U11, TagSize = U16>,
    nonce: &[u8; 11],
    associated: &[u8],
    plain: &[u8],
) {
    let mut expected = plain.to_vec();
    let tag =
        library.encrypt_inout_detached(nonce.into(), associated, expected.as_mut_slice().into());
    let tag: [u8; 16] = tag.expect("sealed").into();
    let mut message = plain.to_vec();
    assert_eq!(ours.seal(nonce, associated, &mut message), Some(tag));
    assert_eq!(message, expected);
    assert!(ours.open(nonce, associated, &tag, &mut message));
    assert_eq!(message, plain);
    let mut wrong = tag;
    wrong[15] ^= 1;
    assert!(!ours.open(nonce, associated, &wrong, &mut expected));
    assert!(expected.iter().all(|byte| *byte == 0));
}
