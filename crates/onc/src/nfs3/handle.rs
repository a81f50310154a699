//! File handles (`nfs_fh3`): up to 64 bytes that only the server understands; and names in directories.

use std::fmt;

use super::MAX_NAME;
use crate::xdr::{Decode, DecodeError, Decoder, Encode, Encoder};

/// The most bytes in a handle.
pub const FHSIZE3: usize = 64;

xdr_struct! {
    /// `diropargs3`: a name in a directory.
    pub struct Diropargs3<'a> {
        /// The directory.
        dir: FileHandle<'a>,
        /// The name.
        name: &'a [u8] => MAX_NAME,
    }
}

/// A handle that borrows its bytes; never longer than [`FHSIZE3`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileHandle<'a>(&'a [u8]);

impl<'a> FileHandle<'a> {
    /// The handle with these bytes; `None` when they are too many.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Option<Self> {
        if bytes.len() <= FHSIZE3 {
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
    pub fn to_fh(self) -> Fh {
        let mut data = [0; FHSIZE3];
        data[..self.0.len()].copy_from_slice(self.0);
        Fh {
            len: self.0.len() as u8,
            data,
        }
    }
}

/// A handle of version 2 fits always.
impl<'a> From<crate::nfs2::Fhandle<'a>> for FileHandle<'a> {
    #[inline]
    fn from(handle: crate::nfs2::Fhandle<'a>) -> Self {
        Self(handle.as_bytes())
    }
}

impl Encode for FileHandle<'_> {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        e.opaque(self.0);
    }
}

impl<'a> Decode<'a> for FileHandle<'a> {
    #[inline]
    fn decode_as(d: &mut Decoder<'a>, what: &'static str) -> Result<Self, DecodeError> {
        d.opaque(FHSIZE3, what).map(Self)
    }
}

impl fmt::Debug for FileHandle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fh:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A handle that owns its bytes: 65 bytes, copied like a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fh {
    len: u8,
    /// Zero behind `len`, so that comparing whole arrays is right.
    data: [u8; FHSIZE3],
}

impl Fh {
    /// The handle with these bytes; `None` when they are too many.
    #[inline]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        FileHandle::new(bytes).map(FileHandle::to_fh)
    }

    /// Its bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.data[..usize::from(self.len)]
    }

    /// A borrowed view, as arguments want it.
    #[inline]
    pub fn handle(&self) -> FileHandle<'_> {
        FileHandle(self.as_bytes())
    }
}

impl fmt::Debug for Fh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle().fmt(f)
    }
}

impl Encode for Fh {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        self.handle().encode(e);
    }
}

impl Decode<'_> for Fh {
    #[inline]
    fn decode_as(d: &mut Decoder<'_>, what: &'static str) -> Result<Self, DecodeError> {
        FileHandle::decode_as(d, what).map(FileHandle::to_fh)
    }
}
