//! Keys, signatures and ciphers against known answers, and what they must refuse.

mod modes;

use super::vectors::{HANDSHAKE, HASHES, KEYS, SEALED, SESSION_KEY};
use super::*;
use crate::error::DecodeError;
use filermark_model::smb::Dialect;

fn hex(text: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).expect("a hex digit") as u8;
    text.as_bytes()
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

fn key<const N: usize>(text: &str) -> [u8; N] {
    let mut key = [0; N];
    let bytes = hex(text);
    key[..bytes.len()].copy_from_slice(&bytes);
    key
}

/// The hash after all of the published handshake that goes into it.
fn hashed() -> Preauth {
    let mut preauth = Preauth::new();
    for (message, hash) in HANDSHAKE.iter().zip(HASHES) {
        preauth.add(&hex(message));
        assert_eq!(preauth.value()[..], hex(hash));
    }
    preauth
}

#[test]
fn the_hash_chain_and_the_keys_of_3_1_1_are_the_published_ones() {
    let keys = Keys::derive(
        Dialect::V311,
        Some(Cipher::Aes128Gcm),
        &hex(SESSION_KEY),
        &hashed(),
    );
    assert_eq!(keys.signing[..], hex(KEYS[0]));
    assert_eq!(keys.client_to_server, key(KEYS[1]));
    assert_eq!(keys.server_to_client, key(KEYS[2]));
}

#[test]
fn the_keys_of_3_0_are_the_published_ones() {
    let from = |session_key: &str| {
        let cipher = Some(Cipher::Aes128Ccm);
        Keys::derive(Dialect::V300, cipher, &hex(session_key), &hashed())
    };
    let keys = from("7CD451825D0450D235424E44BA6E78CC");
    assert_eq!(keys.signing, key("0B7E9C5CAC36C0F6EA9AB275298CEDCE"));
    assert_eq!(
        keys.client_to_server,
        key("FAD27796665B313EBB578F388632B4F7")
    );
    assert_eq!(
        keys.server_to_client,
        key("B0F0427F7CEB416D1D9DCC0CD4F99447")
    );
    let keys = from("B4546771B515F766A86735532DD6C4F0");
    assert_eq!(keys.signing, key("F773CD23C18FD1E08EE510CADA7CF852"));
    assert_eq!(
        keys.client_to_server,
        key("261B72350558F2E9DCF613070383EDBF")
    );
    assert_eq!(
        keys.server_to_client,
        key("8FE2B57EC34D2DB5B1A9727F526BBDB5")
    );
}

/// Computed with Python's hmac after MS-SMB2 3.1.4.2: all of the login's key, and 256 bits.
#[test]
fn long_keys_are_made_of_all_of_the_logins_key() {
    let full: Vec<u8> = (1..=32).collect();
    let keys = Keys::derive(Dialect::V311, Some(Cipher::Aes256Gcm), &full, &hashed());
    let c2s = "e85c15f24b6d1a2568a83401d30f3b185946abc5e76cef72d98bfc1870c147c0";
    let s2c = "582c2da749ee7931791588dbfa0ae0266e9335e5ef4c1b03833e4ca084f728fe";
    assert_eq!(keys.client_to_server[..], hex(c2s));
    assert_eq!(keys.server_to_client[..], hex(s2c));
    assert_eq!(keys.signing, key("8d4e96512d0f1da5e012141bc918709a"));
}

#[test]
fn before_3_0_the_logins_key_signs_itself() {
    let keys = Keys::derive(Dialect::V210, None, &[7; 20], &Preauth::new());
    assert_eq!(keys.signing, [7; 16]);
    let keys = Keys::derive(Dialect::V202, None, &[7; 8], &Preauth::new());
    assert_eq!(keys.signing, key("0707070707070707"));
}

#[test]
fn the_last_reply_of_a_windows_server_is_signed_with_cmac() {
    let signer = Signer::new(SigningAlgorithm::AesCmac, &key(KEYS[0]));
    let reply = hex(HANDSHAKE[5]);
    assert!(signer.verify(&mut reply.clone()));
    let mut signed = reply.clone();
    signer.sign(&mut signed);
    assert_eq!(signed, reply, "what is signed already does not change");
    for at in [4, 20, 47, 48, 63, 64, reply.len() - 1] {
        let mut changed = reply.clone();
        changed[at] ^= 0x10;
        assert!(!signer.verify(&mut changed), "byte {at}");
    }
}

/// RFC 4493 section 4, without and with a message.
#[test]
fn cmac_is_that_of_rfc_4493() {
    let message = hex(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
                       30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
    );
    for (length, tag) in [
        (0, "bb1d6929e95937287fa37d129b756746"),
        (16, "070a16b46b4d4144f79bdd9dd04a287c"),
        (40, "dfa66747de9ae63030ca32611497c827"),
        (64, "51f0bebf7e3b9d92fc49741779363cfe"),
    ] {
        let key: [u8; 16] = key("2b7e151628aed2a6abf7158809cf4f3c");
        let made = cmac::Cmac::new(&key).tag(&message[..length]);
        assert_eq!(made[..], hex(tag), "{length} bytes");
    }
}

/// A message of 113 bytes; signatures computed with Python's cryptography (OpenSSL).
fn message() -> Vec<u8> {
    let header = "fe534d424000010000000000080040000000000000000000341200000000000000000000\
                  07000000990000000000000000000000000000000000000000000000";
    let mut message = hex(header);
    message.extend(0..49);
    message
}

#[test]
fn signatures_are_those_that_openssl_makes() {
    let zero_to_f: [u8; 16] = std::array::from_fn(|n| n as u8);
    for (algorithm, signature) in [
        (
            SigningAlgorithm::HmacSha256,
            "496dcf62877cfb239aedb20fb7a6389c",
        ),
        (
            SigningAlgorithm::AesCmac,
            "f951ee9c6510a7ad181db20d8a0251fb",
        ),
        (
            SigningAlgorithm::AesGmac,
            "85946d37b79710475f9d2dd9b5150a67",
        ),
    ] {
        let signer = Signer::new(algorithm, &zero_to_f);
        assert_eq!(signer.algorithm(), algorithm);
        let mut message = message();
        signer.sign(&mut message);
        assert_eq!(message[48..64], hex(signature), "{algorithm}");
        assert_eq!(message[16], 8, "it is marked as signed");
        assert!(signer.verify(&mut message));
    }
}

/// The nonce of GMAC differs between request, reply and CANCEL of one message id.
#[test]
fn gmac_signs_replies_and_cancels_with_other_nonces() {
    let zero_to_f: [u8; 16] = std::array::from_fn(|n| n as u8);
    let signer = Signer::new(SigningAlgorithm::AesGmac, &zero_to_f);
    let mut reply = message();
    reply[16] = 1;
    signer.sign(&mut reply);
    assert_eq!(reply[48..64], hex("7c4287a64f8fa7b782ce276de39a445f"));
    let mut cancel = message();
    cancel[12] = 12;
    signer.sign(&mut cancel);
    assert_eq!(cancel[48..64], hex("0d5b4dd4ba0128ab7d8c7a70d3f5f96f"));
}

#[test]
fn what_is_shorter_than_a_header_is_neither_signed_nor_taken() {
    for algorithm in SigningAlgorithm::ALL {
        let signer = Signer::new(algorithm, &[1; 16]);
        for length in [0, 12, 16, 17, 24, 48, 63] {
            let mut short = vec![0; length];
            signer.sign(&mut short);
            assert!(!signer.verify(&mut short));
        }
    }
}

#[test]
fn published_frames_are_decrypted() {
    for sealed in &SEALED {
        let opener = Opener::new(sealed.cipher, &key(sealed.key));
        let mut frame = hex(sealed.frame);
        let plain = opener.open(sealed.session, &mut frame).expect("a frame");
        assert_eq!(plain, hex(sealed.plain), "{}", sealed.cipher);
    }
}

/// Frames of session 9 that Python's cryptography (OpenSSL) has made of 75 bytes, with the
/// key 00 01 02 ... and the nonce 40 41 42 ...
#[test]
fn ciphers_are_those_of_openssl() {
    let plain: Vec<u8> = (0..75_u32).map(|n| (n * 7 + 3) as u8).collect();
    let counting: [u8; 32] = std::array::from_fn(|n| n as u8);
    for (cipher, frame) in [
        (
            Cipher::Aes128Ccm,
            "fd534d427e620419a692a4ab4889f74131055d33404142434445464748494a00000000004b00\
             0000000001000900000000000000fa4bfc6f961813bc11ec36e8874ea4c9bf7cfbb2afeb3c26\
             ac587a8cfbfc19e8d0458d286aba2e0adddcd16f89d888af907d3c7cc020fd9fb832f71e5920\
             4c9e9f21d2570b35000a24bbcc",
        ),
        (
            Cipher::Aes128Gcm,
            "fd534d42a97fb701dbd313514087dcf68aaf3f14404142434445464748494a4b000000004b00\
             00000000010009000000000000003a2378d2726dd484b7fb0a4fa97918943f0738e39244083a\
             10f271e1bb12d6d5ee30a99264a73f598ca0b3e234060dc598bcaf17dc3208415080078600cb\
             aa858c21c5c88ac2537cbbc73d",
        ),
        (
            Cipher::Aes256Ccm,
            "fd534d42261cb9b6dbc05fd1e3b7b92c8d59f286404142434445464748494a00000000004b00\
             0000000001000900000000000000760762b214ccaf00519a81dbd6fa2f5cfbe166c2fef2cb6d\
             16e3d223a8a81a28cbfeea7a918c12d92296b7ba6f8b8bfeff52029a5b601fd284d2ca35b7d3\
             551d8265f1434cc463349184ba",
        ),
        (
            Cipher::Aes256Gcm,
            "fd534d42feb5d1785c60c394bcb862946f6f2b05404142434445464748494a4b000000004b00\
             0000000001000900000000000000e1b3bf3b391aaa37f6865e66cc3a76370abcd3d438a39287\
             dcf5f72550dd38077be2025421bfd2403ad6225fa6339a96982bcb595cb19f8d0a884da48044\
             9d7c27d90472db38c65eacc36a",
        ),
    ] {
        let mut frame = hex(frame);
        let opened = Opener::new(cipher, &counting).open(9, &mut frame);
        assert_eq!(opened, Ok(&mut plain.clone()[..]), "{cipher}");
    }
}

#[test]
fn what_is_sealed_is_opened_and_nothing_else() {
    for cipher in Cipher::ALL {
        let secret: [u8; 32] = std::array::from_fn(|n| (n * 5) as u8);
        let mut sealer = Sealer::new(cipher, &secret);
        let opener = Opener::new(cipher, &secret);
        let mut frame = vec![0; seal::TRANSFORM];
        frame.extend(message());
        let mut other = frame.clone();
        sealer.seal(9, &mut frame);
        sealer.seal(9, &mut other);
        assert_ne!(frame[20..32], other[20..32], "a nonce serves once");
        assert_ne!(frame[52..], other[52..]);
        assert_eq!(opener.open(9, &mut frame.clone()), Ok(&mut message()[..]));
        assert!(
            opener.open(8, &mut frame.clone()).is_err(),
            "another session"
        );
        let short = frame.len() - 1;
        assert!(opener.open(9, &mut frame.clone()[..short]).is_err());
        for at in 0..frame.len() {
            let mut changed = frame.clone();
            changed[at] ^= 1;
            let opened = opener.open(9, &mut changed);
            assert!(opened.is_err(), "{cipher}, byte {at}: {opened:?}");
        }
        let mut nothing = [0; seal::TRANSFORM - 1];
        sealer.seal(9, &mut nothing);
        assert_eq!(opener.open(9, &mut nothing), Err(DecodeError::TooShort));
    }
}

#[test]
fn a_sealer_for_a_new_login_repeats_no_nonce() {
    let mut sealer = Sealer::new(Cipher::Aes256Ccm, &[3; 32]);
    let mut nonces = std::collections::HashSet::new();
    for _ in 0..3 {
        for _ in 0..4 {
            let mut frame = [0; 120];
            sealer.seal(1, &mut frame);
            assert_eq!(frame[31..36], [0; 5], "11 bytes are used");
            assert!(nonces.insert(frame[20..31].to_vec()));
        }
        sealer = sealer.fork();
    }
    // Several connections of a session, each made of the same one.
    for mut other in [sealer.fork(), sealer.fork(), sealer.fork().fork()] {
        let mut frame = [0; 120];
        other.seal(1, &mut frame);
        assert!(nonces.insert(frame[20..31].to_vec()));
    }
}
