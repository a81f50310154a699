//! Signing and encryption alone, on one core.

use crate::figure::{Bar, Figure};
use crate::measured::{Measured, MeasuredOrReason};
use crate::turns::{Bars, Contender, Turn, compare};
use filermark_engine::sys::thread_cpu;
use filermark_smbwire::crypto::seal::TRANSFORM;
use filermark_smbwire::crypto::{Cipher, Opener, Sealer, Signer, SigningAlgorithm};
use filermark_smbwire::smb2::header::LEN;
use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use std::time::{Duration, Instant};

/// Data of a message, in bytes.
const DATA: usize = 64 << 10;
const MIB_PER_MESSAGE: f64 = DATA as f64 / (1 << 20) as f64;
const WINDOW: Duration = Duration::from_millis(200);
/// Bytes that are authenticated and not encrypted, as those of a transform header.
const ASSOCIATED: [u8; 32] = [3; 32];
const KEY: [u8; 32] = [7; 32];
/// Sealing also makes the nonce and writes the transform header.
const OF_RING: Bars = Bars {
    cpu_at_most: Some(1.15),
    rate_at_least: None,
};

/// The counters are enciphered while the chain waits; what is left is a copy of the message.
const OF_CMAC: Bars = Bars {
    cpu_at_most: Some(1.15),
    rate_at_least: None,
};
/// A signature is a part of the work of encryption.
const OF_GCM: Bars = Bars {
    cpu_at_most: Some(1.0),
    rate_at_least: None,
};

/// Messages of 64 KiB: sealing compared with ring alone, if ring has the cipher, CCM with CMAC;
/// opening; signing, GMAC compared with ring's encryption.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    let mut measured = Measured::default();
    for cipher in [
        Cipher::Aes128Gcm,
        Cipher::Aes256Gcm,
        Cipher::Aes128Ccm,
        Cipher::Aes256Ccm,
    ] {
        measured.add(encryption(cipher, rounds)?);
    }
    for algorithm in [SigningAlgorithm::HmacSha256, SigningAlgorithm::AesCmac] {
        let mut sign = signing(algorithm);
        let rates = (0..rounds).map(|_| sign().map(|turn| mib_per_s(&turn)));
        let rates = rates.collect::<Result<_, _>>()?;
        let name = format!("{}: sign", algorithm.name());
        measured.add(Figure::new(name, "MiB/s", rates).bar(Bar::More));
    }
    let mut contenders = vec![Contender::filermark(signing(SigningAlgorithm::AesGmac))];
    if let Some(key) = ring_key(Cipher::Aes128Gcm)? {
        contenders.push(Contender::other("ring, AES-128-GCM", OF_GCM, ring(key)));
    }
    measured.add(compare("AES-128-GMAC: sign", "MiB/s", rounds, contenders)?);
    Ok(measured)
}

fn encryption(cipher: Cipher, rounds: u32) -> MeasuredOrReason {
    let mut sealer = Sealer::new(cipher, &KEY);
    let opener = Opener::new(cipher, &KEY);
    let plain = message();
    let mut sealed = plain.clone();
    let seal = || {
        turn(|| {
            sealed.copy_from_slice(&plain);
            sealer.seal(1, &mut sealed);
        })
    };
    let of = format!("{}: seal", cipher.name());
    let mut contenders = vec![Contender::filermark(seal)];
    if let Some(key) = ring_key(cipher)? {
        contenders.push(Contender::other("ring alone", OF_RING, ring(key)));
    } else if cipher == Cipher::Aes128Ccm {
        let sign = signing(SigningAlgorithm::AesCmac);
        contenders.push(Contender::other("AES-128-CMAC", OF_CMAC, sign));
    }
    let has_peer = contenders.len() > 1;
    let compared = compare(&of, "MiB/s", rounds, contenders)?;
    let mut measured = match has_peer {
        true => Measured::from(compared),
        false => compared.figures().into(),
    };
    let mut failed = false;
    let mut copy = sealed.clone();
    let rates = (0..rounds).map(|_| {
        let turn = turn(|| {
            copy.copy_from_slice(&sealed);
            failed |= opener.open(1, &mut copy).is_err();
        });
        turn.map(|turn| mib_per_s(&turn))
    });
    let rates = rates.collect::<Result<_, _>>()?;
    if failed {
        return Err(format!("{} does not open what it sealed", cipher.name()));
    }
    let name = format!("{}: open", cipher.name());
    measured.add(Figure::new(name, "MiB/s", rates).bar(Bar::More));
    Ok(measured)
}

/// Turns of signatures.
fn signing(algorithm: SigningAlgorithm) -> impl FnMut() -> Result<Turn, String> {
    let signer = Signer::new(algorithm, &[7; 16]);
    let mut message = message().split_off(TRANSFORM);
    move || turn(|| signer.sign(&mut message))
}

/// Turns of encryption by ring alone.
fn ring(key: LessSafeKey) -> impl FnMut() -> Result<Turn, String> {
    let plain = vec![0x5a; DATA];
    let mut sealed = plain.clone();
    move || {
        turn(|| {
            sealed.copy_from_slice(&plain);
            let nonce = Nonce::assume_unique_for_key([1; aead::NONCE_LEN]);
            let tag = key.seal_in_place_separate_tag(
                nonce,
                Aad::from(ASSOCIATED),
                std::hint::black_box(&mut sealed),
            );
            let _ = std::hint::black_box(tag);
        })
    }
}

fn ring_key(cipher: Cipher) -> Result<Option<LessSafeKey>, String> {
    let (algorithm, length) = match cipher {
        Cipher::Aes128Gcm => (&aead::AES_128_GCM, 16),
        Cipher::Aes256Gcm => (&aead::AES_256_GCM, 32),
        _ => return Ok(None),
    };
    let key = UnboundKey::new(algorithm, &KEY[..length]).map_err(|e| e.to_string())?;
    Ok(Some(LessSafeKey::new(key)))
}

/// A message of SMB2 after space for a transform header.
fn message() -> Vec<u8> {
    let mut message = vec![0x5a; TRANSFORM + LEN + DATA];
    message[TRANSFORM..TRANSFORM + 4].copy_from_slice(b"\xFESMB");
    message
}

/// One turn, counted in MiB.
fn turn(mut work: impl FnMut()) -> Result<Turn, String> {
    Turn::measure(
        || thread_cpu().0,
        || {
            let began = Instant::now();
            let mut count = 0u64;
            while began.elapsed() < WINDOW {
                work();
                count += 1;
            }
            Ok(count as f64 * MIB_PER_MESSAGE)
        },
    )
}

/// MiB per second of processor time.
fn mib_per_s(turn: &Turn) -> f64 {
    turn.ops / turn.cpu_ns * 1e9
}
