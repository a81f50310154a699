//! File handles (`fhandle`): 32 bytes, no more and no fewer, that only the server understands.

use std::fmt;

use crate::xdr::{Decode, DecodeError, Decoder, Encode, Encoder};

/// Bytes in a handle.
pub const FHSIZE: usize = 32;

/// A handle that borrows its bytes; on the wire it has no length in front.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fhandle<'a>(&'a [u8; FHSIZE]);

impl<'a> Fhandle<'a> {
    /// The handle with these bytes.
    #[inline]
    pub const fn new(bytes: &'a [u8; FHSIZE]) -> Self {
        Self(bytes)
    }

    /// The handle with these bytes; `None` when they are not [`FHSIZE`].
    #[inline]
    pub fn from_slice(bytes: &'a [u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Its bytes.
    #[inline]
    pub const fn as_bytes(&self) -> &'a [u8; FHSIZE] {
        self.0
    }
}

impl Encode for Fhandle<'_> {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        e.opaque_fixed(self.0);
    }
}

impl<'a> Decode<'a> for Fhandle<'a> {
    #[inline]
    fn decode_as(d: &mut Decoder<'a>, what: &'static str) -> Result<Self, DecodeError> {
        let at = d.offset();
        let bytes = d.opaque_fixed(FHSIZE, what)?;
        // `opaque_fixed` gives exactly what was asked for.
        Self::from_slice(bytes).ok_or_else(|| DecodeError::unexpected(at, what, bytes.len() as u32))
    }
}

impl fmt::Debug for Fhandle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fh:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
