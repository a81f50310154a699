//! The tokens of SPNEGO: the server's offer, our first, and the responses (RFC 4178 4.2).

use super::der::{self, Der, wrap};
use crate::auth::AuthError;
use std::fmt;

/// 1.3.6.1.5.5.2: SPNEGO itself.
const SPNEGO: &[u8] = &[0x2B, 0x06, 0x01, 0x05, 0x05, 0x02];
/// Mechanisms of an offer that are looked at; more is no honest offer.
const MECHS_MAX: usize = 32;

/// A mechanism by its object identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mech {
    /// 1.3.6.1.4.1.311.2.2.10.
    Ntlm,
    /// 1.2.840.113554.1.2.2.
    Kerberos,
    /// 1.2.840.48018.1.2.2: Kerberos under the name Windows 2000 gave it by mistake.
    MsKerberos,
    /// Any other.
    Other,
}

impl Mech {
    /// Those with a name.
    pub const KNOWN: [Self; 3] = [Self::Ntlm, Self::Kerberos, Self::MsKerberos];

    /// Its object identifier, encoded; nothing for the others.
    pub const fn oid(self) -> &'static [u8] {
        match self {
            Self::Ntlm => &[0x2B, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 0x0A],
            Self::Kerberos => &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 2],
            Self::MsKerberos => &[0x2A, 0x86, 0x48, 0x82, 0xF7, 0x12, 1, 2, 2],
            Self::Other => &[],
        }
    }

    /// The mechanism with an object identifier.
    pub fn of(oid: &[u8]) -> Self {
        let known = Self::KNOWN.into_iter().find(|m| m.oid() == oid);
        known.unwrap_or(Self::Other)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Ntlm => "NTLM",
            Self::Kerberos => "Kerberos",
            Self::MsKerberos => "Kerberos (old identifier)",
            Self::Other => "something unknown",
        }
    }
}

/// What a server offers in its reply to NEGOTIATE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    mechs: Vec<Mech>,
}

impl Offer {
    /// Reads a NegTokenInit or NegTokenInit2 (MS-SPNG 2.2.1).
    ///
    /// # Errors
    /// It is no such token.
    pub fn read(token: &[u8]) -> Result<Self, AuthError> {
        let mut gss = Der::new(Der::new(token).expect(der::GSS)?);
        if gss.expect(der::OID)? != SPNEGO {
            return Err(AuthError::Token("it is not SPNEGO"));
        }
        let mut body = Der::new(gss.expect(der::field(0))?);
        let mut fields = Der::new(body.expect(der::SEQUENCE)?);
        let mut mechs = Vec::new();
        while !fields.is_empty() {
            // The hint of NegTokenInit2, flags and the rest are of no use to a client.
            let (tag, value) = fields.next()?;
            if tag == der::field(0) {
                let mut list = Der::new(Der::new(value).expect(der::SEQUENCE)?);
                while !list.is_empty() && mechs.len() < MECHS_MAX {
                    mechs.push(Mech::of(list.expect(der::OID)?));
                }
            }
        }
        Ok(Self { mechs })
    }

    /// Whether a mechanism is among them.
    pub fn has(&self, mech: Mech) -> bool {
        self.mechs.contains(&mech)
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mechs.is_empty() {
            return f.write_str("nothing");
        }
        for (at, mech) in self.mechs.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{}", mech.name())?;
        }
        Ok(())
    }
}

/// MechTypeList, which is what both sides sign.
pub fn mech_list(mechs: &[Mech]) -> Vec<u8> {
    let oids: Vec<u8> = mechs.iter().flat_map(|m| wrap(der::OID, m.oid())).collect();
    wrap(der::SEQUENCE, &oids)
}

/// Our NegTokenInit, with the first token of the preferred mechanism.
pub fn init(mechs: &[Mech], token: &[u8]) -> Vec<u8> {
    let mut fields = wrap(der::field(0), &mech_list(mechs));
    fields.extend(wrap(der::field(2), &wrap(der::OCTETS, token)));
    let mut gss = wrap(der::OID, SPNEGO);
    gss.extend(wrap(der::field(0), &wrap(der::SEQUENCE, &fields)));
    wrap(der::GSS, &gss)
}

/// Our NegTokenResp.
pub fn response(token: Option<&[u8]>, mic: Option<&[u8]>) -> Vec<u8> {
    let mut fields = Vec::new();
    if let Some(token) = token {
        fields.extend(wrap(der::field(2), &wrap(der::OCTETS, token)));
    }
    if let Some(mic) = mic {
        fields.extend(wrap(der::field(3), &wrap(der::OCTETS, mic)));
    }
    wrap(der::field(1), &wrap(der::SEQUENCE, &fields))
}

/// How far the exchange is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NegState {
    /// accept-completed.
    Completed,
    /// accept-incomplete.
    Incomplete,
    /// reject.
    Reject,
    /// request-mic.
    RequestMic,
}

/// A NegTokenResp of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Response<'a> {
    /// How far it is.
    pub state: Option<NegState>,
    /// The mechanism that it chose.
    pub mech: Option<Mech>,
    /// The mechanism's token.
    pub token: Option<&'a [u8]>,
    /// Its signature of the list of mechanisms.
    pub mic: Option<&'a [u8]>,
}

impl<'a> Response<'a> {
    /// Reads one.
    ///
    /// # Errors
    /// It is no such token.
    pub fn read(token: &'a [u8]) -> Result<Self, AuthError> {
        let mut body = Der::new(Der::new(token).expect(der::field(1))?);
        let mut fields = Der::new(body.expect(der::SEQUENCE)?);
        let mut read = Self::default();
        while !fields.is_empty() {
            let (tag, value) = fields.next()?;
            let mut value = Der::new(value);
            match tag {
                0xA0 => {
                    read.state = Some(match value.expect(der::ENUM)? {
                        [0] => NegState::Completed,
                        [1] => NegState::Incomplete,
                        [2] => NegState::Reject,
                        [3] => NegState::RequestMic,
                        _ => return Err(AuthError::Token("it has an unknown state")),
                    });
                }
                0xA1 => read.mech = Some(Mech::of(value.expect(der::OID)?)),
                0xA2 => read.token = Some(value.expect(der::OCTETS)?),
                0xA3 => read.mic = Some(value.expect(der::OCTETS)?),
                _ => {}
            }
        }
        // Some servers say an empty token instead of none.
        read.token = read.token.filter(|t| !t.is_empty());
        Ok(read)
    }
}
