//! The three messages of NTLM (MS-NLMP 2.2.1).

use super::keys::Key;
use crate::auth::AuthError;
use crate::bytes::{ByteReader, Put};
use crate::error::DecodeError;

const SIGNATURE: &[u8; 8] = b"NTLMSSP\0";
/// VERSION (2.2.2.10): its contents have no effect; the last byte is the revision.
const VERSION: [u8; 8] = [6, 1, 0, 0, 0, 0, 0, 15];
/// Where AUTHENTICATE has its MIC.
const MIC_AT: usize = 72;
/// Where the payload of AUTHENTICATE begins.
const PAYLOAD_AT: usize = 88;

/// NegotiateFlags (2.2.2.5).
pub mod flag {
    /// Unicode.
    pub const UNICODE: u32 = 0x0000_0001;
    /// The server is to name itself.
    pub const REQUEST_TARGET: u32 = 0x0000_0004;
    /// Signatures.
    pub const SIGN: u32 = 0x0000_0010;
    /// NTLM.
    pub const NTLM: u32 = 0x0000_0200;
    /// Anonymous.
    pub const ANONYMOUS: u32 = 0x0000_0800;
    /// A signature, if only a dummy.
    pub const ALWAYS_SIGN: u32 = 0x0000_8000;
    /// Extended session security: today's signatures.
    pub const EXTENDED: u32 = 0x0008_0000;
    /// VERSION is filled.
    pub const VERSION: u32 = 0x0200_0000;
    /// Keys of 128 bits.
    pub const BITS_128: u32 = 0x2000_0000;
    /// A key of its own is exchanged.
    pub const KEY_EXCHANGE: u32 = 0x4000_0000;

    /// What is asked for.
    pub const ASKED: u32 = UNICODE
        | REQUEST_TARGET
        | SIGN
        | NTLM
        | ALWAYS_SIGN
        | EXTENDED
        | VERSION
        | BITS_128
        | KEY_EXCHANGE;
    /// What there is no session without.
    pub const NEEDED: u32 = UNICODE | NTLM | EXTENDED | BITS_128;
}

/// NEGOTIATE_MESSAGE, without names: a server makes nothing of them.
pub fn negotiate(flags: u32) -> Vec<u8> {
    let mut out = SIGNATURE.to_vec();
    out.put_u32(1);
    out.put_u32(flags);
    for _ in 0..2 {
        out.put_u32(0);
        out.put_u32(40);
    }
    out.extend_from_slice(&VERSION);
    out
}

/// CHALLENGE_MESSAGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Challenge<'a> {
    /// NegotiateFlags.
    pub flags: u32,
    /// ServerChallenge.
    pub challenge: [u8; 8],
    /// TargetName in UTF-16.
    pub target: &'a [u8],
    /// TargetInfo: AV pairs, perhaps none.
    pub info: &'a [u8],
}

impl<'a> Challenge<'a> {
    /// Reads one.
    ///
    /// # Errors
    /// It is none, or is cut short.
    pub fn read(bytes: &'a [u8]) -> Result<Self, AuthError> {
        Self::parts(bytes).map_err(|_| AuthError::Token("it is not a valid NTLM challenge"))
    }

    fn parts(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(bytes);
        if r.take(8)? != SIGNATURE || r.u32()? != 2 {
            return Err(DecodeError::Bad("the signature"));
        }
        let target = payload(&mut r)?;
        let flags = r.u32()?;
        let challenge = r.array()?;
        r.take(8)?;
        Ok(Self {
            flags,
            challenge,
            target,
            info: payload(&mut r)?,
        })
    }
}

/// Bytes that a field points to.
fn payload<'a>(r: &mut ByteReader<'a>) -> Result<&'a [u8], DecodeError> {
    let length = r.u16()?;
    r.u16()?;
    let offset = r.u32()?;
    match length {
        0 => Ok(&[]),
        _ => r.at(offset as usize, length.into()),
    }
}

/// What goes into AUTHENTICATE_MESSAGE.
pub struct Authenticate<'a> {
    /// LmChallengeResponse.
    pub lm: &'a [u8],
    /// NtChallengeResponse.
    pub nt: &'a [u8],
    /// DomainName.
    pub domain: &'a str,
    /// UserName.
    pub user: &'a str,
    /// Workstation.
    pub workstation: &'a str,
    /// EncryptedRandomSessionKey, perhaps none.
    pub key: &'a [u8],
    /// NegotiateFlags.
    pub flags: u32,
}

impl Authenticate<'_> {
    /// As bytes, with space for a MIC that `put_mic` fills.
    ///
    /// # Errors
    /// A name is too long for the message.
    pub fn write(&self) -> Result<Vec<u8>, AuthError> {
        let utf16 = |text: &str| {
            let mut out = Vec::new();
            out.put_utf16(text);
            out
        };
        let names = [self.domain, self.user, self.workstation].map(utf16);
        let [domain, user, workstation] = &names;
        let fields = [self.lm, self.nt, domain, user, workstation, self.key];
        let mut out = SIGNATURE.to_vec();
        out.put_u32(3);
        let mut at = PAYLOAD_AT;
        for field in fields {
            let length = u16::try_from(field.len())
                .map_err(|_| AuthError::Token("it is too long: the answer does not fit"))?;
            out.put_u16(length);
            out.put_u16(length);
            // Six fields of 64 KiB at most.
            out.put_u32(at as u32);
            at += field.len();
        }
        out.put_u32(self.flags);
        out.extend_from_slice(&VERSION);
        out.resize(PAYLOAD_AT, 0);
        for field in fields {
            out.extend_from_slice(field);
        }
        Ok(out)
    }
}

/// Puts the MIC into a written AUTHENTICATE_MESSAGE.
pub fn put_mic(message: &mut [u8], mic: &Key) {
    if let Some(place) = message.get_mut(MIC_AT..MIC_AT + 16) {
        place.copy_from_slice(mic);
    }
}
