//! The fields of SFTP's packets: big-endian numbers, and bytes behind their length.

use super::{Attributes, SftpResult, malformed};

const IS_DIRECTORY: u32 = 0o040_000;
const KIND_MASK: u32 = 0o170_000;

/// A field of a request.
pub(super) enum Field<'a> {
    Number(u32),
    Long(u64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// The rest of a packet.
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> SftpResult<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn number(&mut self) -> SftpResult<u32> {
        let bytes = self.take(4)?;
        Ok(bytes.iter().fold(0, |sum, b| sum << 8 | u32::from(*b)))
    }

    pub fn long(&mut self) -> SftpResult<u64> {
        Ok(u64::from(self.number()?) << 32 | u64::from(self.number()?))
    }

    pub fn bytes(&mut self) -> SftpResult<&'a [u8]> {
        let len = self.number()?;
        self.take(len as usize)
    }

    pub fn text(&mut self) -> SftpResult<String> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    pub fn attributes(&mut self) -> SftpResult<Attributes> {
        let flags = self.number()?;
        let mut found = Attributes::default();
        if flags & 1 != 0 {
            found.len = self.long()?;
        }
        if flags & 2 != 0 {
            self.take(8)?;
        }
        if flags & 4 != 0 {
            found.is_dir = self.number()? & KIND_MASK == IS_DIRECTORY;
        }
        if flags & 8 != 0 {
            self.number()?;
            found.changed_at = self.number()?;
        }
        if flags & 0x8000_0000 != 0 {
            for _ in 0..self.number()? {
                self.bytes()?;
                self.bytes()?;
            }
        }
        Ok(found)
    }
}

pub(super) fn append_field(body: &mut Vec<u8>, field: &Field<'_>) {
    match field {
        Field::Number(number) => body.extend(number.to_be_bytes()),
        Field::Long(number) => body.extend(number.to_be_bytes()),
        Field::Text(text) => append_bytes(body, text.as_bytes()),
        Field::Bytes(bytes) => append_bytes(body, bytes),
    }
}

fn append_bytes(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend((bytes.len() as u32).to_be_bytes());
    body.extend_from_slice(bytes);
}
