//! XDR (RFC 4506): big-endian words of four bytes, everything padded to four.
//!
//! Knows nothing of RPC or NFS. [`Encoder`] appends to a `Vec` that the caller owns and reuses;
//! [`Decoder`] borrows from a slice and never copies or allocates.

mod array;
mod decode;
mod encode;
mod error;
mod list;
mod union;

pub use array::{Array, ArrayIter, Opaque};
pub use decode::{Decode, Decoder};
pub use encode::{Encode, Encoder};
pub use error::{DecodeError, Problem};
pub use list::{List, ListIter, encode_list};
pub use union::DecodeFailure;

/// The most items taken from one XDR linked list (DUMP, EXPORT): a wall against endless replies.
pub const MAX_LIST_ITEMS: usize = 65_536;

/// Appends the XDR form of `value` to `out`.
#[inline]
pub fn append<T: Encode + ?Sized>(out: &mut Vec<u8>, value: &T) {
    value.encode(&mut Encoder::new(out));
}

/// Decodes one value that must fill `bytes` exactly.
///
/// # Errors
/// What the value's decoder finds wrong, or [`Problem::Trailing`] when bytes are left over.
#[inline]
pub fn decode<'a, T: Decode<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    finish(&mut Decoder::new(bytes))
}

/// Decodes the last value of a message: nothing may follow it.
///
/// # Errors
/// As [`decode`].
#[inline]
pub fn finish<'a, T: Decode<'a>>(d: &mut Decoder<'a>) -> Result<T, DecodeError> {
    let value = T::decode(d)?;
    d.end()?;
    Ok(value)
}

/// The number of zero bytes that follow `len` bytes of opaque data (RFC 4506 section 4.9).
#[inline]
pub(crate) const fn padding(len: usize) -> usize {
    len.wrapping_neg() & 3
}
