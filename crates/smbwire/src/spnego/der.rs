//! The little of DER (X.690) that SPNEGO needs: definite lengths, one-byte tags.

use crate::auth::AuthError;

/// The one thing that can be wrong here.
const BAD: AuthError = AuthError::Token("it is not valid DER");

/// Tags that occur.
pub const OCTETS: u8 = 0x04;
/// OBJECT IDENTIFIER.
pub const OID: u8 = 0x06;
/// ENUMERATED.
pub const ENUM: u8 = 0x0A;
/// SEQUENCE and SEQUENCE OF.
pub const SEQUENCE: u8 = 0x30;
/// `[APPLICATION 0]`: the GSS-API wrapping (RFC 2743 3.1).
pub const GSS: u8 = 0x60;

/// The tag of a field `[n]`.
pub const fn field(n: u8) -> u8 {
    0xA0 | n
}

/// Reads values one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// At the front of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether all is read.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next value with its tag.
    pub fn next(&mut self) -> Result<(u8, &'a [u8]), AuthError> {
        let [tag, first, rest @ ..] = self.0 else {
            return Err(BAD);
        };
        let (length, rest) = match *first {
            short @ 0..=0x7F => (usize::from(short), rest),
            long => {
                let bytes = usize::from(long & 0x7F);
                // 0x80 is the indefinite length; nothing here is 4 GiB long.
                if !(1..=4).contains(&bytes) {
                    return Err(BAD);
                }
                let (digits, rest) = rest.split_at_checked(bytes).ok_or(BAD)?;
                let length = digits.iter().fold(0, |n, d| n << 8 | usize::from(*d));
                (length, rest)
            }
        };
        let (value, rest) = rest.split_at_checked(length).ok_or(BAD)?;
        self.0 = rest;
        Ok((*tag, value))
    }

    /// The next value, which has this tag.
    pub fn expect(&mut self, tag: u8) -> Result<&'a [u8], AuthError> {
        match self.next()? {
            (found, value) if found == tag => Ok(value),
            _ => Err(BAD),
        }
    }
}

/// A value with its tag and length.
pub fn wrap(tag: u8, value: &[u8]) -> Vec<u8> {
    let length = value.len();
    let mut out = Vec::with_capacity(length + 6);
    out.push(tag);
    match length {
        0..=0x7F => out.push(length as u8),
        0x80..=0xFF => out.extend_from_slice(&[0x81, length as u8]),
        0x100..=0xFFFF => out.extend_from_slice(&[0x82, (length >> 8) as u8, length as u8]),
        _ => {
            out.push(0x84);
            out.extend_from_slice(&(length as u32).to_be_bytes());
        }
    }
    out.extend_from_slice(value);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_every_form_come_back() {
        for length in [0, 1, 0x7F, 0x80, 0xFF, 0x100, 0xFFFF, 0x1_0000] {
            let value = vec![7; length];
            let bytes = wrap(OCTETS, &value);
            let mut der = Der::new(&bytes);
            assert_eq!(der.expect(OCTETS).as_deref(), Ok(&value[..]));
            assert!(der.is_empty());
            let mut cut = Der::new(&bytes[..bytes.len() - 1]);
            assert!(cut.next().is_err(), "cut short");
        }
    }

    #[test]
    fn what_is_no_der_is_refused() {
        let bad: [&[u8]; 6] = [
            &[],
            &[4],
            &[4, 0x80, 0, 0],
            &[4, 0x85, 0, 0, 0, 0, 0],
            &[4, 0x84, 0xFF, 0xFF, 0xFF, 0xFF, 0],
            &[4, 0x82, 1],
        ];
        for bytes in bad {
            assert_eq!(Der::new(bytes).next(), Err(BAD), "{bytes:02x?}");
        }
    }
}
