//! Scripts of records that a peer sends on an open session: what is made of them does not depend on where the
//! stream is cut. For fuzzing and tests.
//!
//! A script is the sizes of the pieces (one byte each, behind a byte with their number), then items: a byte, a
//! length of two bytes, and so many bytes. With a first byte below 128 the item is a sound record of that type,
//! otherwise its bytes are sent as they are. With 127 the item before is sent again: its length is how often,
//! and it has no bytes. So a short script reaches the limits of a channel.

use crate::channel::HEADROOM;
use crate::{Channel, SCRATCH_MIN, TlsError};

const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
const KEY_UPDATE: [u8; 4] = [24, 0, 0, 1];
/// The longest record that is sound, in bytes.
const PLAIN_MAX: usize = 16 << 10;

/// The type of an item that repeats the one before, and how often at most: more than the limits of a channel
/// need.
const AGAIN: u8 = 127;
const AGAIN_MAX: usize = 64;
/// Bytes of a stream after which nothing is repeated.
const REPEATED_MAX: usize = 256 << 10;

/// A record's type, or a number from 128 on, and its bytes.
type Item<'a> = (u8, &'a [u8]);

/// What a channel has made of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The plaintext.
    pub plain: Vec<u8>,
    /// What it has answered.
    pub answers: Vec<u8>,
    /// The error that ended the session.
    pub error: Option<TlsError>,
    /// The peer has ended the session.
    pub is_ended: bool,
}

/// The stream of a script, and the data of the records in front of the first bytes that are not sound records.
struct Stream {
    wire: Vec<u8>,
    data: Vec<u8>,
}

/// The type and the plaintext of a record, whose type may be padding (RFC 8446 section 5.4).
fn read(kind: u8, bytes: &[u8]) -> (u8, &[u8]) {
    let padding = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    match (kind, bytes.get(..bytes.len() - padding)) {
        (0, Some([plain @ .., kind])) => (*kind, plain),
        _ => (kind, bytes),
    }
}

fn stream(mut items: &[u8], is_client: bool) -> Result<Stream, TlsError> {
    let mut peer = Channel::known(is_client)?;
    let mut made = Stream {
        wire: Vec::new(),
        data: Vec::new(),
    };
    let mut is_sound = true;
    let mut last: Item<'_> = (128, &[]);
    while let Some(([kind, high, low], rest)) = items.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if *kind == AGAIN {
            items = rest;
            for _ in 0..length.min(AGAIN_MAX) {
                if made.wire.len() < REPEATED_MAX {
                    append(&mut made, &mut peer, &mut is_sound, last)?;
                }
            }
            continue;
        }
        let (bytes, behind) = rest.split_at(length.min(rest.len()).min(PLAIN_MAX));
        (items, last) = (behind, (*kind, bytes));
        append(&mut made, &mut peer, &mut is_sound, last)?;
    }
    Ok(made)
}

fn append(
    made: &mut Stream,
    peer: &mut Channel,
    is_sound: &mut bool,
    (kind, bytes): Item<'_>,
) -> Result<(), TlsError> {
    if kind >= 128 {
        made.wire.extend_from_slice(bytes);
        *is_sound &= bytes.is_empty();
        return Ok(());
    }
    peer.append_any(kind, bytes, &mut made.wire)?;
    match read(kind, bytes) {
        (DATA, plain) if *is_sound => made.data.extend_from_slice(plain),
        (HANDSHAKE, [.., a, b, c, d, 0 | 1]) if [*a, *b, *c, *d] == KEY_UPDATE => {
            peer.take_next_key()?;
        }
        _ => {}
    }
    Ok(())
}

/// Hands a stream to a channel in pieces of these sizes, again and again.
fn receive(wire: &[u8], sizes: &[usize], is_client: bool) -> Result<Received, TlsError> {
    let mut channel = Channel::known(is_client)?;
    let mut scratch = vec![0; HEADROOM + SCRATCH_MIN + wire.len()];
    let (mut received, mut rest) = (Received::default(), wire);
    for size in sizes.iter().cycle() {
        if rest.is_empty() || received.error.is_some() {
            break;
        }
        let (piece, behind) = rest.split_at((*size).clamp(1, rest.len()));
        rest = behind;
        let at = channel.place(&mut scratch);
        let end = at + piece.len();
        scratch[at..end].copy_from_slice(piece);
        let answers = &mut received.answers;
        match channel.receive(&mut scratch, end, None, answers) {
            Ok(length) => received.plain.extend_from_slice(&scratch[..length]),
            Err(error) => received.error = Some(error),
        }
        if let Some(error) = channel.failure(answers) {
            received.error = Some(error);
        }
        assert!(channel.held_bytes() <= 2 * SCRATCH_MIN, "what it holds");
    }
    received.is_ended = channel.is_ended();
    Ok(received)
}

/// Runs a script for either side.
///
/// # Errors
/// The library refuses a key.
///
/// # Panics
/// The outcome depends on where the stream is cut, or plaintext is not what was sent.
pub fn check(script: &[u8]) -> Result<[Received; 2], TlsError> {
    let (count, rest) = script.split_first().unwrap_or((&0, &[]));
    let (sizes, items) = rest.split_at(usize::from(count % 16).min(rest.len()));
    let mut sizes: Vec<usize> = sizes.iter().map(|size| usize::from(*size)).collect();
    sizes.push(97);
    let check_side = |is_client: bool| {
        let sent = stream(items, !is_client)?;
        let whole = receive(&sent.wire, &[usize::MAX], is_client)?;
        let cut = receive(&sent.wire, &sizes, is_client)?;
        assert_eq!(whole, cut);
        assert!(sent.data.starts_with(&whole.plain), "plaintext");
        Ok::<_, TlsError>(whole)
    };
    Ok([check_side(true)?, check_side(false)?])
}

/// Scripts of which each has another outcome: names and texts.
pub fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let update = [24, 0, 0, 1, 1];
    // The begin of a message of 1 MiB, then 2 KiB of it for each item.
    let long = [4, 16, 0, 0].repeat(512);
    let items: [(&str, &[Item<'_>]); 9] = [
        ("data", &[(23, b"call"), (23, b""), (23, b"another call")]),
        (
            "update",
            &[
                (22, &update),
                (23, b"call"),
                (22, &[24, 0, 0, 1, 0]),
                (23, b"call"),
            ],
        ),
        ("end", &[(23, b"call"), (21, &[1, 0]), (23, b"late")]),
        (
            "ticket",
            &[(22, &[4, 0, 0, 2, 7]), (22, &[7]), (23, b"reply")],
        ),
        (
            "parts",
            &[(22, &update[..2]), (21, &[1, 90]), (22, &update[2..])],
        ),
        ("padding", &[(0, b"call\x17\0\0"), (23, b"more")]),
        ("long", &[(23, b"call"), (22, &long), (AGAIN, &[0; 40])]),
        (
            "many",
            &[(23, b"call"), (22, &[24, 0, 0, 1, 0]), (AGAIN, &[0; 40])],
        ),
        (
            "junk",
            &[
                (23, b"call"),
                (
                    128,
                    &[
                        23, 3, 3, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                        18, 19, 20,
                    ],
                ),
            ],
        ),
    ];
    let script = |items: &[Item<'_>]| {
        let mut script = vec![3, 1, 30, 5];
        for (kind, bytes) in items {
            script.push(*kind);
            script.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
            // Of a repetition only the count is in the script.
            if *kind != AGAIN {
                script.extend_from_slice(bytes);
            }
        }
        script
    };
    items
        .iter()
        .map(|(name, items)| (*name, script(items)))
        .collect()
}

#[cfg(test)]
mod tests;
