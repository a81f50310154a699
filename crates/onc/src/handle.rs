//! File handles: bytes that only the server understands, at most `MAX` of them. Versions 3 and 4 of NFS
//! differ in the limit alone.

use std::fmt;

use crate::xdr::{Decode, DecodeError, Decoder, Encode, Encoder};

/// A handle that borrows its bytes; never longer than `MAX`, which is at most 255.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Handle<'a, const MAX: usize>(&'a [u8]);

impl<'a, const MAX: usize> Handle<'a, MAX> {
    /// The handle with these bytes; `None` when they are too many.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Option<Self> {
        if bytes.len() <= MAX {
            Some(Self(bytes))
        } else {
            None
        }
    }

    /// Its bytes.
    #[inline]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// A copy that owns its bytes.
    #[inline]
    pub fn to_fh(self) -> HandleBuf<MAX> {
        let mut data = [0; MAX];
        data[..self.0.len()].copy_from_slice(self.0);
        HandleBuf {
            len: self.0.len() as u8,
            data,
        }
    }
}

impl<const MAX: usize> Encode for Handle<'_, MAX> {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        e.opaque(self.0);
    }
}

impl<'a, const MAX: usize> Decode<'a> for Handle<'a, MAX> {
    #[inline]
    fn decode_as(d: &mut Decoder<'a>, what: &'static str) -> Result<Self, DecodeError> {
        d.opaque(MAX, what).map(Self)
    }
}

impl<const MAX: usize> fmt::Debug for Handle<'_, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fh:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A handle that owns its bytes: `MAX` bytes and a length, copied like a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HandleBuf<const MAX: usize> {
    len: u8,
    /// Zero behind `len`, so that comparing whole arrays is right.
    data: [u8; MAX],
}

impl<const MAX: usize> HandleBuf<MAX> {
    /// The handle with these bytes; `None` when they are too many.
    #[inline]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        Handle::<MAX>::new(bytes).map(Handle::to_fh)
    }

    /// Its bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.data[..usize::from(self.len)]
    }

    /// A borrowed view, as arguments want it.
    #[inline]
    pub fn handle(&self) -> Handle<'_, MAX> {
        Handle(self.as_bytes())
    }
}

impl<const MAX: usize> fmt::Debug for HandleBuf<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle().fmt(f)
    }
}

impl<const MAX: usize> Encode for HandleBuf<MAX> {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        self.handle().encode(e);
    }
}

impl<const MAX: usize> Decode<'_> for HandleBuf<MAX> {
    #[inline]
    fn decode_as(d: &mut Decoder<'_>, what: &'static str) -> Result<Self, DecodeError> {
        Handle::decode_as(d, what).map(Handle::to_fh)
    }
}

/// A handle of NFSv2 always fits one of NFSv3.
impl<'a> From<crate::nfs2::Fhandle<'a>> for Handle<'a, { crate::nfs3::FHSIZE3 }> {
    #[inline]
    fn from(handle: crate::nfs2::Fhandle<'a>) -> Self {
        Self(handle.as_bytes())
    }
}
