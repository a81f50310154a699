//! Little-endian reading and writing.

use crate::error::DecodeError;

/// Reads on from the front of bytes, and never beyond their end.
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ByteReader<'a> {
    /// At the front of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where it is, from the front of its bytes.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// What it has not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// All of its bytes, whatever has been read.
    pub const fn all(&self) -> &'a [u8] {
        self.bytes
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// There are fewer.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.at.checked_add(len).ok_or(DecodeError::TooShort)?;
        let taken = self.bytes.get(self.at..end).ok_or(DecodeError::TooShort)?;
        self.at = end;
        Ok(taken)
    }

    /// The next bytes as an array.
    ///
    /// # Errors
    /// There are fewer.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| DecodeError::TooShort)
    }

    /// A byte.
    ///
    /// # Errors
    /// There is none.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes.
    ///
    /// # Errors
    /// There are fewer.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Four bytes.
    ///
    /// # Errors
    /// There are fewer.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// There are fewer.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// `len` bytes at an offset from the front of all bytes, wherever it has read to.
    ///
    /// # Errors
    /// They are not all there.
    pub fn at(&self, offset: usize, len: usize) -> Result<&'a [u8], DecodeError> {
        let end = offset.checked_add(len).ok_or(DecodeError::TooShort)?;
        self.bytes.get(offset..end).ok_or(DecodeError::TooShort)
    }
}

/// Writing at the end of a buffer.
pub trait Put {
    /// Two bytes.
    fn put_u16(&mut self, value: u16);
    /// Four bytes.
    fn put_u32(&mut self, value: u32);
    /// Eight bytes.
    fn put_u64(&mut self, value: u64);
    /// Text as UTF-16, without an end mark.
    fn put_utf16(&mut self, text: &str);
}

impl Put for Vec<u8> {
    #[inline]
    fn put_u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    #[inline]
    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    #[inline]
    fn put_u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_utf16(&mut self, text: &str) {
        for unit in text.encode_utf16() {
            self.put_u16(unit);
        }
    }
}

/// Text from UTF-16; what is no text becomes replacement characters, an odd last byte is left out.
pub fn text_of_utf16(bytes: &[u8]) -> String {
    let units = bytes
        .chunks_exact(2)
        .map(|c| u16::from_le_bytes([c[0], c[1]]));
    char::decode_utf16(units)
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// Whether signatures are equal, in a time that does not depend on where they differ.
pub fn same(ours: &[u8], theirs: &[u8]) -> bool {
    let differing = ours.iter().zip(theirs).fold(0, |d, (a, b)| d | (a ^ b));
    ours.len() == theirs.len() && std::hint::black_box(differing) == 0
}
