//! SECINFO and SECINFO_NO_NAME (RFC 8881 sections 18.29 and 18.45): arguments and results.

use super::status::Res;
use super::{MAX_ITEMS, MAX_NAME, MAX_OWNER};
use crate::xdr::{Array, Decode, DecodeError, Decoder, Encode, Encoder};

/// Number of the flavor that has more than its number.
const RPCSEC_GSS: u32 = 6;

xdr_struct! {
    /// `rpcsec_gss_info`: a mechanism of RPCSEC_GSS.
    pub struct RpcsecGssInfo<'a> {
        /// The mechanism, as an encoded object identifier (`sec_oid4`).
        oid: &'a [u8] => MAX_OWNER,
        /// Quality of protection.
        qop: u32,
        /// Service: 1 none, 2 integrity, 3 privacy.
        service: u32,
    }
}

/// `secinfo4`: a security flavor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secinfo4<'a> {
    /// RPCSEC_GSS.
    Gss(RpcsecGssInfo<'a>),
    /// Another flavor, by its number; not 6.
    Flavor(u32),
}

impl Encode for Secinfo4<'_> {
    fn encode(&self, e: &mut Encoder<'_>) {
        match self {
            Self::Gss(info) => {
                e.u32(RPCSEC_GSS);
                e.put(info);
            }
            Self::Flavor(number) => e.u32(*number),
        }
    }
}

impl<'a> Decode<'a> for Secinfo4<'a> {
    fn decode_as(d: &mut Decoder<'a>, _what: &'static str) -> Result<Self, DecodeError> {
        match d.u32("secinfo4.flavor")? {
            RPCSEC_GSS => RpcsecGssInfo::decode(d).map(Self::Gss),
            number => Ok(Self::Flavor(number)),
        }
    }
}

/// What SECINFO and SECINFO_NO_NAME return (`SECINFO4resok`), the preferred flavor first.
pub type SecinfoOk<'a> = Array<'a, Secinfo4<'a>, MAX_ITEMS>;

xdr_struct! {
    /// Arguments of SECINFO.
    pub struct SecinfoArgs<'a> {
        /// The name.
        name: &'a [u8] => MAX_NAME,
    }
}

/// Results of SECINFO.
pub type SecinfoRes<'a> = Res<SecinfoOk<'a>>;

xdr_enum! {
    /// `secinfo_style4`: of what SECINFO_NO_NAME lists the flavors.
    pub enum SecinfoStyle4 {
        /// The current file handle.
        CurrentFh = 0 "SECINFO_STYLE4_CURRENT_FH",
        /// Its parent directory.
        Parent = 1 "SECINFO_STYLE4_PARENT",
    }
}

xdr_struct! {
    /// Arguments of SECINFO_NO_NAME.
    pub struct SecinfoNoNameArgs {
        /// Of what.
        style: SecinfoStyle4,
    }
}

/// Results of SECINFO_NO_NAME.
pub type SecinfoNoNameRes<'a> = Res<SecinfoOk<'a>>;
