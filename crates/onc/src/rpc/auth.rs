//! Credentials and verifiers: AUTH_NONE and AUTH_SYS (RFC 5531 section 8.2 and appendix A).

use crate::xdr::{self, Decode, DecodeError, Decoder, Encode, Encoder};

/// The most bytes in the body of a credential or verifier (RFC 5531 section 8.2).
pub const MAX_AUTH_BODY: usize = 400;
/// The most bytes in `machinename` (RFC 5531 appendix A).
pub const MAX_MACHINENAME: usize = 255;
/// The most supplementary groups of AUTH_SYS (RFC 5531 appendix A).
pub const MAX_GIDS: usize = 16;

xdr_status! {
    /// `auth_flavor`: how the body of a credential is to be read.
    pub enum AuthFlavor("AUTH_UNKNOWN") {
        /// No authentication.
        None = 0 "AUTH_NONE" "calls carry no identity",
        /// Unix uid and gids, taken on trust.
        Sys = 1 "AUTH_SYS" "calls carry uid and gids, taken on trust",
        /// A server's short form of AUTH_SYS.
        Short = 2 "AUTH_SHORT" "a server's short form of AUTH_SYS",
        /// Diffie-Hellman.
        Dh = 3 "AUTH_DH" "Diffie-Hellman, obsolete",
        /// GSS-API, mostly Kerberos.
        RpcsecGss = 6 "RPCSEC_GSS" "GSS-API, mostly Kerberos: SECURITY=krb5, krb5i or krb5p",
        /// The call asks whether the server has TLS (RFC 9289 section 4.1).
        Tls = 7 "AUTH_TLS" "TLS is set up before other calls",
        /// The pseudo-flavor of MOUNT and rpcbind for Kerberos authentication (RFC 2623).
        Krb5 = 390_003 "krb5" "Kerberos 5: SECURITY=krb5",
        /// Kerberos with integrity.
        Krb5i = 390_004 "krb5i" "Kerberos 5: SECURITY=krb5i",
        /// Kerberos with privacy.
        Krb5p = 390_005 "krb5p" "Kerberos 5: SECURITY=krb5p",
    }
}

xdr_struct! {
    /// A credential or verifier as it is on the wire (`opaque_auth`).
    pub struct OpaqueAuth<'a> {
        /// How to read the body.
        flavor: AuthFlavor,
        /// The body, [`MAX_AUTH_BODY`] bytes at most.
        body: &'a [u8] => MAX_AUTH_BODY,
    }
}

impl<'a> OpaqueAuth<'a> {
    /// AUTH_NONE: what verifiers are in this protocol family.
    pub const NONE: OpaqueAuth<'static> = OpaqueAuth {
        flavor: AuthFlavor::None,
        body: &[],
    };

    /// The credential of the call that asks for TLS (RFC 9289 section 4.1).
    pub const TLS: OpaqueAuth<'static> = OpaqueAuth {
        flavor: AuthFlavor::Tls,
        body: &[],
    };

    /// The verifier in the reply to that call, where TLS begins behind the reply (RFC 9289 section 4.1).
    pub const STARTTLS: OpaqueAuth<'static> = OpaqueAuth {
        flavor: AuthFlavor::None,
        body: b"STARTTLS",
    };

    /// The AUTH_SYS parameters, when that is the flavor.
    ///
    /// # Errors
    /// What is wrong in the body (a server answers it with AUTH_BADCRED), or another flavor (AUTH_TOOWEAK
    /// or AUTH_REJECTEDCRED).
    pub fn auth_sys(&self) -> Result<AuthSys<'a>, DecodeError> {
        match self.flavor {
            AuthFlavor::Sys => xdr::decode(self.body),
            other => Err(DecodeError::unexpected(
                0,
                "AUTH_SYS flavor",
                other.to_u32(),
            )),
        }
    }
}

/// `authsys_parms`: who calls, taken on trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthSys<'a> {
    /// An arbitrary number of the client's.
    pub stamp: u32,
    /// The client's host name, [`MAX_MACHINENAME`] bytes at most.
    pub machinename: &'a [u8],
    /// Effective user.
    pub uid: u32,
    /// Effective group.
    pub gid: u32,
    /// Supplementary groups.
    pub gids: Gids,
}

impl<'a> AuthSys<'a> {
    /// A credential. A longer machine name and groups beyond the sixteenth are cut off, as kernel
    /// clients do.
    pub fn new(stamp: u32, machinename: &'a [u8], uid: u32, gid: u32, gids: &[u32]) -> Self {
        let machinename = machinename.get(..MAX_MACHINENAME).unwrap_or(machinename);
        Self {
            stamp,
            machinename,
            uid,
            gid,
            gids: Gids::new(gids),
        }
    }

    /// The wire form, ready to be put in call headers.
    pub fn to_body(&self) -> AuthBody {
        let mut bytes = Vec::with_capacity(MAX_AUTH_BODY);
        xdr::append(&mut bytes, self);
        AuthBody {
            flavor: AuthFlavor::Sys,
            bytes,
        }
    }
}

impl Encode for AuthSys<'_> {
    fn encode(&self, e: &mut Encoder<'_>) {
        let name = self.machinename;
        e.u32(self.stamp);
        e.opaque(name.get(..MAX_MACHINENAME).unwrap_or(name));
        e.u32(self.uid);
        e.u32(self.gid);
        e.put(&self.gids);
    }
}

impl<'a> Decode<'a> for AuthSys<'a> {
    fn decode_as(d: &mut Decoder<'a>, _what: &'static str) -> Result<Self, DecodeError> {
        Ok(Self {
            stamp: d.u32("AuthSys.stamp")?,
            machinename: d.opaque(MAX_MACHINENAME, "AuthSys.machinename")?,
            uid: d.u32("AuthSys.uid")?,
            gid: d.u32("AuthSys.gid")?,
            gids: Gids::decode(d)?,
        })
    }
}

/// Supplementary groups, held in place.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Gids {
    len: u8,
    gids: [u32; MAX_GIDS],
}

impl Gids {
    /// These groups; those beyond the sixteenth are cut off.
    pub fn new(gids: &[u32]) -> Self {
        let mut out = Self::default();
        for (slot, gid) in out.gids.iter_mut().zip(gids) {
            *slot = *gid;
            out.len += 1;
        }
        out
    }

    /// The groups.
    pub fn as_slice(&self) -> &[u32] {
        &self.gids[..usize::from(self.len)]
    }
}

impl std::fmt::Debug for Gids {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl Encode for Gids {
    fn encode(&self, e: &mut Encoder<'_>) {
        e.u32(u32::from(self.len));
        for gid in self.as_slice() {
            e.u32(*gid);
        }
    }
}

impl Decode<'_> for Gids {
    fn decode_as(d: &mut Decoder<'_>, _what: &'static str) -> Result<Self, DecodeError> {
        let len = d.length(MAX_GIDS, "AuthSys.gids")?;
        let mut out = Self::default();
        for slot in out.gids.iter_mut().take(len) {
            *slot = d.u32("AuthSys.gids")?;
            out.len += 1;
        }
        Ok(out)
    }
}

/// An encoded credential that owns its bytes: made once for an identity, borrowed by every header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthBody {
    flavor: AuthFlavor,
    bytes: Vec<u8>,
}

impl AuthBody {
    /// The AUTH_NONE credential.
    pub const NONE: Self = Self {
        flavor: AuthFlavor::None,
        bytes: Vec::new(),
    };

    /// As it goes into a header.
    pub fn as_auth(&self) -> OpaqueAuth<'_> {
        OpaqueAuth {
            flavor: self.flavor,
            body: &self.bytes,
        }
    }
}
