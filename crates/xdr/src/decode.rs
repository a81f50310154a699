//! Reading XDR out of a slice, without copying and without trust.

use crate::{DecodeError, padding};

/// A value that can be read from XDR; `'a` is the life of the bytes it may borrow from.
pub trait Decode<'a>: Sized {
    /// Reads the value; plain numbers name `what` in an error, structures name their own fields.
    ///
    /// # Errors
    /// The first field that is not what the standard says.
    fn decode_as(d: &mut Decoder<'a>, what: &'static str) -> Result<Self, DecodeError>;

    /// Reads the value.
    ///
    /// # Errors
    /// As [`Decode::decode_as`].
    #[inline]
    fn decode(d: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        Self::decode_as(d, "value")
    }
}

/// Reads XDR items from a slice.
///
/// Padding bytes are skipped, not examined: RFC 4506 wants zeros, old peers send anything.
#[derive(Debug, Clone, Copy)]
pub struct Decoder<'a> {
    rest: &'a [u8],
    /// Offset of the end of `rest` in the whole message: kept so that part decoders (list iterators)
    /// still report offsets from the message's start.
    end: usize,
}

impl<'a> Decoder<'a> {
    /// Reads from the start of `bytes`.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            end: bytes.len(),
        }
    }

    /// Offset of the next item in the message, in bytes.
    #[inline]
    pub const fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    /// The bytes not yet read.
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes all that is left: a decoder over it that keeps counting offsets from the message's start.
    #[inline]
    pub fn take_rest(&mut self) -> Self {
        let all = *self;
        self.rest = &[];
        all
    }

    /// The bytes that were read since `earlier`, a copy of this decoder made before.
    #[inline]
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let read = earlier.rest.len().saturating_sub(self.rest.len());
        let rest = earlier.rest.get(..read).unwrap_or(&[]);
        Self {
            rest,
            end: earlier.offset() + rest.len(),
        }
    }

    /// Checks that the message ends here.
    ///
    /// # Errors
    /// [`crate::Problem::Trailing`] when it does not.
    #[inline]
    pub fn end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(DecodeError::trailing(self.offset(), self.rest.len()))
        }
    }

    #[inline]
    fn chunk<const N: usize>(&mut self, what: &'static str) -> Result<&'a [u8; N], DecodeError> {
        match self.rest.split_first_chunk::<N>() {
            Some((chunk, rest)) => {
                self.rest = rest;
                Ok(chunk)
            }
            None => Err(DecodeError::truncated(
                self.offset(),
                what,
                N,
                self.rest.len(),
            )),
        }
    }

    /// An unsigned integer of 32 bits.
    ///
    /// # Errors
    /// When the message ends before it does.
    #[inline]
    pub fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.chunk::<4>(what)
            .map(|chunk| u32::from_be_bytes(*chunk))
    }

    /// An unsigned hyper integer of 64 bits.
    ///
    /// # Errors
    /// When the message ends before it does.
    #[inline]
    pub fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        self.chunk::<8>(what)
            .map(|chunk| u64::from_be_bytes(*chunk))
    }

    /// A boolean.
    ///
    /// # Errors
    /// When the message ends before it does, or the word is neither 0 nor 1.
    #[inline]
    pub fn bool(&mut self, what: &'static str) -> Result<bool, DecodeError> {
        let at = self.offset();
        match self.u32(what)? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(DecodeError::unexpected(at, what, value)),
        }
    }

    /// Fixed-length opaque data of `len` bytes; its padding is skipped.
    ///
    /// # Errors
    /// When the message ends before it does.
    #[inline]
    pub fn opaque_fixed(
        &mut self,
        len: usize,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        let whole = len.saturating_add(padding(len));
        match self.rest.split_at_checked(whole) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(&bytes[..len])
            }
            None => Err(DecodeError::truncated(
                self.offset(),
                what,
                whole,
                self.rest.len(),
            )),
        }
    }

    /// The next `len` bytes, without padding.
    ///
    /// # Errors
    /// When the message ends before they do.
    #[inline]
    pub fn bytes(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        match self.rest.split_at_checked(len) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(DecodeError::truncated(
                self.offset(),
                what,
                len,
                self.rest.len(),
            )),
        }
    }

    /// The next `len` bytes as a decoder over them alone, which keeps counting offsets from the
    /// message's start.
    ///
    /// # Errors
    /// When the message ends before they do.
    #[inline]
    pub fn part(&mut self, len: usize, what: &'static str) -> Result<Self, DecodeError> {
        let start = *self;
        self.bytes(len, what)?;
        Ok(self.since(&start))
    }

    /// As [`Decoder::opaque`], but the padding may be missing where the message ends: some peers
    /// leave out the padding of the last item.
    ///
    /// # Errors
    /// When the announced length is above `max` or the message ends before the data does.
    #[inline]
    pub fn opaque_short_padding(
        &mut self,
        max: usize,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        let len = self.length(max, what)?;
        let bytes = self.bytes(len, what)?;
        self.bytes(padding(len).min(self.rest.len()), what)?;
        Ok(bytes)
    }

    /// Variable-length opaque data or a string of at most `max` bytes.
    ///
    /// # Errors
    /// When the announced length is above `max` or the message ends too early.
    #[inline]
    pub fn opaque(&mut self, max: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let len = self.length(max, what)?;
        self.opaque_fixed(len, what)
    }

    /// Variable-length opaque data of at most `max` bytes that holds XDR of its own: a decoder over it
    /// alone, which keeps counting offsets from the message's start.
    ///
    /// # Errors
    /// As [`Decoder::opaque`].
    #[inline]
    pub fn opaque_part(&mut self, max: usize, what: &'static str) -> Result<Self, DecodeError> {
        let len = self.length(max, what)?;
        let mut part = *self;
        self.opaque_fixed(len, what)?;
        part.part(len, what)
    }

    /// A length word of variable-length data, checked against `max`; the data is left to be read.
    ///
    /// # Errors
    /// When the length is above `max` or the message ends too early.
    #[inline]
    pub fn length(&mut self, max: usize, what: &'static str) -> Result<usize, DecodeError> {
        let at = self.offset();
        let len = self.u32(what)? as usize;
        if len > max {
            Err(DecodeError::too_long(at, what, len, max))
        } else {
            Ok(len)
        }
    }
}

impl Decode<'_> for () {
    #[inline]
    fn decode_as(_d: &mut Decoder<'_>, _what: &'static str) -> Result<Self, DecodeError> {
        Ok(())
    }
}

impl Decode<'_> for u32 {
    #[inline]
    fn decode_as(d: &mut Decoder<'_>, what: &'static str) -> Result<Self, DecodeError> {
        d.u32(what)
    }
}

impl Decode<'_> for u64 {
    #[inline]
    fn decode_as(d: &mut Decoder<'_>, what: &'static str) -> Result<Self, DecodeError> {
        d.u64(what)
    }
}

/// A hyper integer, two's complement.
impl Decode<'_> for i64 {
    #[inline]
    fn decode_as(d: &mut Decoder<'_>, what: &'static str) -> Result<Self, DecodeError> {
        d.u64(what).map(u64::cast_signed)
    }
}

impl Decode<'_> for bool {
    #[inline]
    fn decode_as(d: &mut Decoder<'_>, what: &'static str) -> Result<Self, DecodeError> {
        d.bool(what)
    }
}

/// Fixed-length opaque data (verifiers).
impl<const N: usize> Decode<'_> for [u8; N] {
    #[inline]
    fn decode_as(d: &mut Decoder<'_>, what: &'static str) -> Result<Self, DecodeError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(d.opaque_fixed(N, what)?);
        Ok(bytes)
    }
}

/// Optional data: a boolean, then the value if it is there.
impl<'a, T: Decode<'a>> Decode<'a> for Option<T> {
    #[inline]
    fn decode_as(d: &mut Decoder<'a>, what: &'static str) -> Result<Self, DecodeError> {
        if d.bool(what)? {
            T::decode_as(d, what).map(Some)
        } else {
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three words: 1, the length 5, and 5 bytes of data without their padding.
    const WORDS: [u8; 13] = [0, 0, 0, 1, 0, 0, 0, 5, b'h', b'e', b'l', b'l', b'o'];

    #[test]
    fn a_part_ends_where_it_should_and_keeps_its_offset() {
        let mut d = Decoder::new(&WORDS);
        assert_eq!(d.bytes(3, "head"), Ok(&WORDS[..3]));
        let mut part = d.part(2, "part").expect("two bytes are there");
        assert_eq!((part.offset(), d.offset()), (3, 5));
        let error = DecodeError::truncated(3, "word", 4, 2);
        assert_eq!(part.u32("word"), Err(error));
        let error = DecodeError::truncated(5, "part", 9, 8);
        assert_eq!(d.part(9, "part").map(|_| ()), Err(error));
        assert_eq!(d.bytes(9, "part"), Err(error));
        assert_eq!(d.offset(), 5);
    }

    #[test]
    fn padding_may_be_missing_at_the_end_only_where_it_is_allowed() {
        let mut d = Decoder::new(&WORDS);
        d.u32("first").expect("a word");
        let start = d;
        assert_eq!(d.opaque_short_padding(5, "text"), Ok(&b"hello"[..]));
        assert_eq!(d.end(), Ok(()));
        let mut d = start;
        let error = DecodeError::truncated(8, "text", 8, 5);
        assert_eq!(d.opaque(5, "text"), Err(error));
        let mut d = start;
        let error = DecodeError::too_long(4, "text", 5, 4);
        assert_eq!(d.opaque_short_padding(4, "text"), Err(error));
        let mut d = Decoder::new(&WORDS[4..12]);
        let error = DecodeError::truncated(4, "text", 5, 4);
        assert_eq!(d.opaque_short_padding(5, "text"), Err(error));
        let mut padded = WORDS.to_vec();
        padded.extend([0, 0, 0, 9]);
        let mut d = Decoder::new(&padded[4..]);
        assert_eq!(d.opaque_short_padding(5, "text"), Ok(&b"hello"[..]));
        assert_eq!(d.rest(), [9]);
    }
}
