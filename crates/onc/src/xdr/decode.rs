//! Reading XDR out of a slice, without copying and without trust.

use super::{DecodeError, padding};

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
    /// [`super::Problem::Trailing`] when it does not.
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

    /// Variable-length opaque data or a string of at most `max` bytes.
    ///
    /// # Errors
    /// When the announced length is above `max` or the message ends too early.
    #[inline]
    pub fn opaque(&mut self, max: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let len = self.length(max, what)?;
        self.opaque_fixed(len, what)
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
