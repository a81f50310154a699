//! What 3.1.1 adds to NEGOTIATE: contexts (MS-SMB2 2.2.3.1, 2.2.4.1).

use super::{align8, patch};
use crate::bytes::{ByteReader, Put};
use crate::crypto::{Cipher, SigningAlgorithm};
use crate::error::DecodeError;

const PREAUTH_INTEGRITY: u16 = 1;
const ENCRYPTION: u16 = 2;
const NETNAME: u16 = 5;
const SIGNING: u16 = 8;
/// The one hash algorithm that there is.
const SHA_512: u16 = 1;

/// What the client offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers<'a> {
    /// Random bytes that make the hash of this connection its own.
    pub salt: &'a [u8; 32],
    /// Ciphers, the best first; none: no encryption.
    pub ciphers: &'a [Cipher],
    /// Signing algorithms, the best first.
    pub signing: &'a [SigningAlgorithm],
    /// The server as the client calls it.
    pub server: &'a str,
}

impl Offers<'_> {
    /// Appends them; `message` is where the message begins. Gives how many they are.
    pub(super) fn encode(&self, out: &mut Vec<u8>, message: usize) -> u16 {
        let mut count = 0;
        let mut context = |out: &mut Vec<u8>, kind: u16, put: &dyn Fn(&mut Vec<u8>)| {
            align8(out, message);
            let start = out.len();
            out.put_u16(kind);
            out.put_u16(0); // length
            out.put_u32(0);
            put(out);
            let length = (out.len() - start - 8) as u16;
            patch(out, start + 2, &length.to_le_bytes());
            count += 1;
        };
        context(out, PREAUTH_INTEGRITY, &|out| {
            out.put_u16(1);
            out.put_u16(self.salt.len() as u16);
            out.put_u16(SHA_512);
            out.extend_from_slice(self.salt);
        });
        if !self.ciphers.is_empty() {
            context(out, ENCRYPTION, &|out| {
                put_numbers(out, self.ciphers.iter().map(|cipher| cipher.number()));
            });
        }
        if !self.signing.is_empty() {
            context(out, SIGNING, &|out| {
                put_numbers(out, self.signing.iter().map(|a| a.number()));
            });
        }
        if !self.server.is_empty() {
            context(out, NETNAME, &|out| out.put_utf16(self.server));
        }
        count
    }
}

fn put_numbers(out: &mut Vec<u8>, numbers: impl ExactSizeIterator<Item = u16>) {
    out.put_u16(numbers.len() as u16);
    for number in numbers {
        out.put_u16(number);
    }
}

/// What the server has chosen of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Whether it has chosen SHA-512 for the hash of the messages before there are keys.
    pub sha_512: bool,
    /// The cipher; `None` where there is none in common.
    pub cipher: Option<Cipher>,
    /// The signing algorithm; `None` where it knows no such choice: AES-CMAC.
    pub signing: Option<SigningAlgorithm>,
}

impl Choices {
    /// Decodes `count` contexts.
    ///
    /// # Errors
    /// They are cut, or say more than one thing.
    pub fn decode(contexts: &[u8], count: u16) -> Result<Self, DecodeError> {
        let mut choices = Self::default();
        let mut r = ByteReader::new(contexts);
        for _ in 0..count {
            let lacking = r.position().wrapping_neg() & 7;
            r.take(lacking)?;
            let (kind, length) = (r.u16()?, usize::from(r.u16()?));
            r.u32()?;
            let data = ByteReader::new(r.take(length)?);
            match kind {
                PREAUTH_INTEGRITY => choices.sha_512 = hash_algorithm(data)? == SHA_512,
                ENCRYPTION => {
                    choices.cipher = match the_one(data, "the number of ciphers")? {
                        0 => None,
                        number => Some(
                            Cipher::from_number(number).ok_or(DecodeError::Bad("the cipher"))?,
                        ),
                    };
                }
                SIGNING => {
                    let number = the_one(data, "the number of signing algorithms")?;
                    choices.signing = Some(
                        SigningAlgorithm::from_number(number)
                            .ok_or(DecodeError::Bad("the signing algorithm"))?,
                    );
                }
                _ => {}
            }
        }
        Ok(choices)
    }
}

fn the_one(mut data: ByteReader<'_>, what: &'static str) -> Result<u16, DecodeError> {
    match data.u16()? {
        1 => data.u16(),
        _ => Err(DecodeError::Bad(what)),
    }
}

fn hash_algorithm(mut data: ByteReader<'_>) -> Result<u16, DecodeError> {
    let count = data.u16()?;
    data.u16()?; // the salt's length
    match count {
        1 => data.u16(),
        _ => Err(DecodeError::Bad("the number of hash algorithms")),
    }
}
