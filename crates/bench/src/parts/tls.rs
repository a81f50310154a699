//! READ and WRITE of one connection over TLS, against a server with canned replies in another process. The
//! processor time that TLS adds is compared with that of the cipher alone over the same bytes.

use super::nfs_shard::{FILE, FILE_NUMBER, SaturatedShard};
use crate::cpu;
use crate::figure::{Bar, Figure};
use crate::measured::{Measured, MeasuredOrReason};
use crate::server::{ServerProcess, ServerSpec};
use crate::turns::Turn;
use filermark_engine::driver::Action;
use filermark_model::Nanos;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, Tag, UnboundKey};
use std::time::{Duration, Instant};

const WINDOW: Nanos = Nanos::from_millis(500);
/// The file, in bytes: small, so that the processor's caches hold it on both sides.
const FILE_BYTES: u64 = 1 << 20;
/// Bytes of a transfer, and of a record of TLS.
const TRANSFER: usize = 64 << 10;
const RECORD: usize = 16 << 10;
/// Distance of source and copy, in bytes.
const APART: usize = 2 << 10;
/// The header of a record, which is authenticated with it (RFC 8446 section 5.2).
const HEADER: [u8; 5] = [23, 3, 3, 0x40, 0x11];
/// Calls under way.
const DEPTHS: [u32; 2] = [1, 8];
/// The most processor time that TLS may add, divided by that of the cipher.
const ADDED_AT_MOST: f64 = 1.3;

/// Measures reads and writes.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    let clear = ServerProcess::start(ServerSpec::default())?;
    let sealed = ServerProcess::start(ServerSpec {
        has_tls: true,
        ..ServerSpec::default()
    })?;
    let mut measured = Measured::default();
    for write in [false, true] {
        for depth in DEPTHS {
            measured.add(transfers(&clear, &sealed, (write, depth), rounds)?);
        }
    }
    Ok(measured)
}

fn transfers(
    clear: &ServerProcess,
    sealed: &ServerProcess,
    (write, depth): (bool, u32),
    rounds: u32,
) -> Result<Vec<Figure>, String> {
    let (object, file, offset, length) = (FILE, FILE_NUMBER, 0, TRANSFER as u32);
    let (operation, action) = match write {
        false => (
            "READ",
            Action::Read {
                object,
                file,
                offset,
                length,
            },
        ),
        true => (
            "WRITE",
            Action::Write {
                object,
                file,
                offset,
                length,
            },
        ),
    };
    let (mut added, mut whole, mut cipher, mut allocations) = (vec![], vec![], vec![], vec![]);
    for _ in 0..rounds {
        let of = |server| SaturatedShard::turn(server, (1, depth), (action, FILE_BYTES), WINDOW);
        let each_us = |turn: &Turn| turn.cpu_ns / 1e3 / turn.ops;
        let (in_clear, _) = of(clear)?;
        let alone = Turn::measure(cpu::process_ns, || ciphers(write))?;
        let (over_tls, allocated) = of(sealed)?;
        let (clear_us, tls_us) = (each_us(&in_clear), each_us(&over_tls));
        added.push((tls_us - clear_us) / each_us(&alone));
        whole.push(tls_us / clear_us);
        cipher.push(each_us(&alone));
        allocations.push(allocated);
    }
    let name = |what: &str| format!("{operation} 64 KiB x {depth}: {what}");
    Ok(vec![
        Figure::new(name("added by TLS, of the cipher alone"), "x", added)
            .bar(Bar::AtMost(ADDED_AT_MOST)),
        Figure::new(name("over TLS, of that in the clear"), "x", whole),
        Figure::new(name("cipher alone"), "us/op", cipher),
        Figure::new(name("allocations over TLS"), "per op", allocations).bar(Bar::AtMost(0.0)),
    ])
}

/// Encrypts (`write`) or decrypts transfers in place for the time of a turn; returns how many.
fn ciphers(write: bool) -> Result<f64, String> {
    let failed = |_| "AES-256-GCM failed".to_owned();
    let key = UnboundKey::new(&AES_256_GCM, &[7; 32]).map_err(failed)?;
    let key = LessSafeKey::new(key);
    let nonce = || Nonce::assume_unique_for_key([9; NONCE_LEN]);
    // One allocation with a distance: a copy between places with the same low bits of their addresses, as two
    // allocations would have, takes several times as long.
    let mut bytes = vec![0; 2 * TRANSFER + APART];
    let (source, work) = bytes.split_at_mut(TRANSFER + APART);
    let source = &mut source[..TRANSFER];
    let mut tags = Vec::new();
    if !write {
        for record in source.chunks_mut(RECORD) {
            let tag = key.seal_in_place_separate_tag(nonce(), Aad::from(HEADER), record);
            tags.push(tag.map_err(failed)?);
        }
    }
    let window = Duration::from_nanos(WINDOW.0);
    let (began, mut count) = (Instant::now(), 0.0);
    while began.elapsed() < window {
        // Decryption changes the bytes: they are the same again for each transfer.
        work.copy_from_slice(source);
        for (number, record) in work.chunks_mut(RECORD).enumerate() {
            match tags.get(number) {
                Some(tag) => open(&key, nonce(), tag, record).map_err(failed)?,
                None => {
                    let tag = key.seal_in_place_separate_tag(nonce(), Aad::from(HEADER), record);
                    std::hint::black_box(tag.map_err(failed)?.as_ref());
                }
            }
        }
        count += 1.0;
    }
    Ok(count)
}

fn open(
    key: &LessSafeKey,
    nonce: Nonce,
    tag: &Tag,
    record: &mut [u8],
) -> Result<(), ring::error::Unspecified> {
    let opened = key.open_in_place_separate_tag(nonce, Aad::from(HEADER), *tag, record, 0..)?;
    std::hint::black_box(opened);
    Ok(())
}
