//! The V2 encoding of HdrHistogram: a header of 40 bytes with the bounds, then numbers of
//! variable length for the buckets in their order: a count, or less than zero, how many
//! buckets in a row are empty.

use super::buckets::{BUCKET_COUNT, DIGITS, LATENCY_NS_MAX};
use super::sparse::Sparse;

/// The first word: V2, with numbers of at most eight bytes of payload.
const COOKIE: u32 = 0x1c84_9313;
/// Bytes of the header.
const HEADER_LEN: usize = 40;
/// Bytes of a number, at most.
const NUMBER_LEN_MAX: usize = 9;

/// Encodes counts.
pub(super) fn encode(sparse: &Sparse) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_LEN + 3 * sparse.pairs().len());
    out.extend_from_slice(&header(0));
    let mut next = 0;
    for (bucket, count) in sparse.pairs() {
        // The library writes a single empty bucket as a count of zero.
        match i64::from(bucket - next) {
            0 => {}
            1 => put(&mut out, 0),
            empty => put(&mut out, -empty),
        }
        put(&mut out, i64::try_from(*count).unwrap_or(i64::MAX));
        next = bucket + 1;
    }
    if sparse.pairs().is_empty() {
        put(&mut out, 0);
    }
    let payload = (out.len() - HEADER_LEN) as u32;
    out[..HEADER_LEN].copy_from_slice(&header(payload));
    out
}

/// Decodes counts; what follows them is ignored.
///
/// # Errors
/// A sentence: it is no such encoding, has other bounds, was cut, or has more buckets than its
/// bounds.
pub(super) fn decode(bytes: &[u8]) -> Result<Sparse, String> {
    let (head, rest) = bytes
        .split_first_chunk::<HEADER_LEN>()
        .ok_or_else(|| format!("{} bytes, less than its header", bytes.len()))?;
    let length = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
    if *head != header(length) {
        return Err(format!(
            "it is not in the V2 encoding with {DIGITS} digits from 1 to {LATENCY_NS_MAX} ns"
        ));
    }
    let mut payload = rest
        .get(..length as usize)
        .ok_or_else(|| format!("{} bytes of counts, of {length}", rest.len()))?;
    let too_many = || format!("more than {BUCKET_COUNT} buckets");
    let mut pairs = Vec::new();
    let mut bucket = 0u64;
    while !payload.is_empty() {
        let number = take(&mut payload).ok_or("it ends within a number")?;
        if number > 0 {
            let at = u32::try_from(bucket).ok().filter(|at| *at < BUCKET_COUNT);
            pairs.push((at.ok_or_else(too_many)?, number.unsigned_abs()));
        }
        let buckets = if number < 0 { number.unsigned_abs() } else { 1 };
        bucket = bucket.checked_add(buckets).ok_or_else(too_many)?;
    }
    Ok(pairs.into_iter().collect())
}

/// The header before so many bytes.
fn header(payload: u32) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..4].copy_from_slice(&COOKIE.to_be_bytes());
    header[4..8].copy_from_slice(&payload.to_be_bytes());
    // Four bytes of zero: no bucket is shifted.
    header[12..16].copy_from_slice(&u32::from(DIGITS).to_be_bytes());
    header[16..24].copy_from_slice(&1u64.to_be_bytes());
    header[24..32].copy_from_slice(&LATENCY_NS_MAX.to_be_bytes());
    header[32..].copy_from_slice(&1f64.to_be_bytes());
    header
}

/// Appends a number: the sign in the lowest bit, seven bits per byte from the lowest on, the
/// highest bit of a byte set if another follows; the ninth byte has eight bits.
fn put(out: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    for _ in 1..NUMBER_LEN_MAX {
        if rest < 0x80 {
            break;
        }
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Takes a number from the front; `None`: the bytes end within it.
fn take(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0u64;
    for at in 0..NUMBER_LEN_MAX {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let is_last = at == NUMBER_LEN_MAX - 1 || *byte < 0x80;
        let bits = if is_last { *byte } else { *byte & 0x7f };
        number |= u64::from(bits) << (7 * at);
        if is_last {
            break;
        }
    }
    Some((number >> 1) as i64 ^ -((number & 1) as i64))
}
