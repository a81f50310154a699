//! Unions on a status: 0 and a value, or another number and what belongs to the failure.

use crate::{Decode, DecodeError, Decoder, Encode, Encoder};

/// What follows a status that is not 0, the status included. Its [`Encode`] writes the status first.
pub trait DecodeFailure<'a>: Sized {
    /// The name of the status in an error.
    const STATUS: &'static str;

    /// Reads what follows this status.
    ///
    /// # Errors
    /// The first field that is not what the standard says.
    fn decode_failure(status: u32, d: &mut Decoder<'a>) -> Result<Self, DecodeError>;
}

impl<T: Encode, E: Encode> Encode for Result<T, E> {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        match self {
            Ok(value) => {
                e.u32(0);
                value.encode(e);
            }
            Err(failure) => {
                let start = e.position();
                failure.encode(e);
                debug_assert!(!e.is_zero_at(start), "a failure needs a status");
            }
        }
    }
}

impl<'a, T: Decode<'a>, E: DecodeFailure<'a>> Decode<'a> for Result<T, E> {
    #[inline]
    fn decode_as(d: &mut Decoder<'a>, _what: &'static str) -> Result<Self, DecodeError> {
        match d.u32(E::STATUS)? {
            0 => T::decode(d).map(Ok),
            status => E::decode_failure(status, d).map(Err),
        }
    }
}
