//! Signing and encryption alone, on one core.

use crate::figure::FiguresOrSkip;
use crate::figure::{Bar, Figure};
use filermark_smbwire::crypto::{Cipher, Opener, Sealer, Signer, SigningAlgorithm};
use filermark_smbwire::smb2::header::LEN;
use std::time::{Duration, Instant};

const MESSAGE: usize = 64 << 10;
const WINDOW: Duration = Duration::from_millis(300);

/// GB/s over messages of 64 KiB.
pub fn measure(rounds: u32) -> FiguresOrSkip {
    let mut figures = Vec::new();
    for cipher in [
        Cipher::Aes128Gcm,
        Cipher::Aes256Gcm,
        Cipher::Aes128Ccm,
        Cipher::Aes256Ccm,
    ] {
        let mut sealer = Sealer::new(cipher, &[7; 32]);
        let opener = Opener::new(cipher, &[7; 32]);
        let plain = message();
        let mut sealed = plain.clone();
        let seal = (0..rounds).map(|_| {
            rate(|| {
                sealed.copy_from_slice(&plain);
                sealer.seal(1, &mut sealed);
            })
        });
        let bar = match cipher {
            Cipher::Aes128Gcm => Bar::AtLeast(2.0),
            _ => Bar::More,
        };
        let seal: Vec<_> = seal.collect();
        figures.push(Figure::new(format!("{}: seal", cipher.name()), "GB/s", seal).bar(bar));
        let mut open = Vec::new();
        for _ in 0..rounds {
            let mut failed = false;
            let mut copy = sealed.clone();
            open.push(rate(|| {
                copy.copy_from_slice(&sealed);
                failed |= opener.open(1, &mut copy).is_err();
            }));
            if failed {
                return Err(format!("{} does not open what it sealed", cipher.name()));
            }
        }
        figures.push(Figure::new(format!("{}: open", cipher.name()), "GB/s", open).bar(bar));
    }
    for algorithm in [
        SigningAlgorithm::HmacSha256,
        SigningAlgorithm::AesCmac,
        SigningAlgorithm::AesGmac,
    ] {
        let signer = Signer::new(algorithm, &[7; 16]);
        let mut message = message().split_off(filermark_smbwire::crypto::seal::TRANSFORM);
        let rates = (0..rounds).map(|_| rate(|| signer.sign(&mut message)));
        let name = format!("{}: sign", algorithm.name());
        figures.push(Figure::new(name, "GB/s", rates.collect()).bar(Bar::More));
    }
    Ok(figures)
}

/// A message of SMB2 behind room for a transform header.
fn message() -> Vec<u8> {
    let mut message = vec![0x5a; filermark_smbwire::crypto::seal::TRANSFORM + LEN + MESSAGE];
    let at = filermark_smbwire::crypto::seal::TRANSFORM;
    message[at..at + 4].copy_from_slice(b"\xFESMB");
    message
}

fn rate(mut work: impl FnMut()) -> f64 {
    let began = Instant::now();
    let mut count = 0u64;
    while began.elapsed() < WINDOW {
        work();
        count += 1;
    }
    count as f64 * MESSAGE as f64 / began.elapsed().as_secs_f64() / 1e9
}
