//! Writing XDR into a vector that the caller owns.

use crate::padding;

/// A value with an XDR form.
pub trait Encode {
    /// Appends the XDR form.
    fn encode(&self, e: &mut Encoder<'_>);
}

/// Appends XDR items to a caller's vector. Allocates only when the vector's capacity runs out.
///
/// Encoding cannot fail: the code that builds the value keeps the limits (the decoder of
/// the peer rejects what exceeds them).
#[derive(Debug)]
pub struct Encoder<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> Encoder<'o> {
    /// Appends to `out`, after what is already in it.
    #[inline]
    pub const fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Length of the vector, in bytes, what was there before included.
    #[inline]
    pub fn position(&self) -> usize {
        self.out.len()
    }

    /// Whether the word at `position` is there and is 0.
    pub(crate) fn is_zero_at(&self, position: usize) -> bool {
        let word = self.out.get(position..position + 4);
        word.is_some_and(|word| word == [0; 4])
    }

    /// Forgets everything after `position`: takes back what did not fit a reply.
    #[inline]
    pub fn truncate(&mut self, position: usize) {
        self.out.truncate(position);
    }

    /// An unsigned integer of 32 bits.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    /// An unsigned hyper integer of 64 bits.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    /// A boolean: 0 or 1 as a word.
    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.u32(u32::from(value));
    }

    /// Fixed-length opaque data: the bytes and their padding.
    #[inline]
    pub fn opaque_fixed(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
        self.out
            .extend_from_slice(&[0u8; 3][..padding(bytes.len())]);
    }

    /// Variable-length opaque data or a string: length, bytes, padding.
    #[inline]
    pub fn opaque(&mut self, bytes: &[u8]) {
        debug_assert!(
            u32::try_from(bytes.len()).is_ok(),
            "XDR lengths have 32 bits"
        );
        self.u32(bytes.len() as u32);
        self.opaque_fixed(bytes);
    }

    /// Variable-length opaque data of `len` bytes for the caller to fill in place (they start as zero):
    /// saves a server the copy of READ data from pieces.
    pub fn opaque_in_place(&mut self, len: u32) -> &mut [u8] {
        self.u32(len);
        let start = self.out.len();
        let len = len as usize;
        self.out.resize(start + len + padding(len), 0);
        &mut self.out[start..start + len]
    }

    /// Variable-length opaque data whose bytes are what `write` appends: an XDR form within another
    /// (attributes, layouts).
    pub fn opaque_with(&mut self, write: impl FnOnce(&mut Encoder<'_>)) {
        let start = self.position();
        self.u32(0);
        write(self);
        let len = self.position() - start - 4;
        self.set_u32(start, len as u32);
        self.out.extend_from_slice(&[0u8; 3][..padding(len)]);
    }

    /// Replaces the word at `position`, which was appended before: a count or a status that is known
    /// only when what follows it has been written. Without a whole word there nothing is changed.
    #[inline]
    pub fn set_u32(&mut self, position: usize, value: u32) {
        if let Some(word) = self.out.get_mut(position..position + 4) {
            word.copy_from_slice(&value.to_be_bytes());
        }
    }

    /// Bytes that are XDR already.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Any value with an XDR form.
    #[inline]
    pub fn put<T: Encode + ?Sized>(&mut self, value: &T) {
        value.encode(self);
    }
}

impl Encode for () {
    #[inline]
    fn encode(&self, _e: &mut Encoder<'_>) {}
}

impl Encode for u32 {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        e.u32(*self);
    }
}

impl Encode for u64 {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        e.u64(*self);
    }
}

/// A hyper integer, two's complement.
impl Encode for i64 {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        e.u64(self.cast_unsigned());
    }
}

impl Encode for bool {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        e.bool(*self);
    }
}

/// Fixed-length opaque data (verifiers).
impl<const N: usize> Encode for [u8; N] {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        e.opaque_fixed(self);
    }
}

/// Optional data: a boolean, then the value if it is there (RFC 4506 section 4.19).
impl<T: Encode> Encode for Option<T> {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        match self {
            Some(value) => {
                e.bool(true);
                value.encode(e);
            }
            None => e.bool(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_data_in_place_has_its_length_and_padding() {
        let mut out = vec![9];
        let mut e = Encoder::new(&mut out);
        e.opaque_with(|e| e.raw(b"hello"));
        assert_eq!(out, [&[9, 0, 0, 0, 5][..], b"hello", &[0, 0, 0]].concat());
    }

    #[test]
    fn only_a_whole_word_is_replaced() {
        let mut out = vec![1, 2, 3, 4, 5];
        let mut e = Encoder::new(&mut out);
        e.set_u32(2, 0);
        e.set_u32(1, 0x0a0b_0c0d);
        assert_eq!(out, [1, 10, 11, 12, 13]);
    }
}
