//! RPCSEC_GSS (RFC 2203): the credential of a call, the results that establish a context, and the bodies
//! of protected arguments and results. What is signed and encrypted is the business of a GSS-API library.

use super::{AuthFlavor, MAX_AUTH_BODY, OpaqueAuth};
use crate::xdr::{self, DecodeError};

/// The version of RPCSEC_GSS (RFC 2203 section 5.1).
pub const GSS_VERSION: u32 = 1;
/// Sequence numbers are below this (`MAXSEQ`, RFC 2203 section 5.3.3.1).
pub const GSS_MAXSEQ: u32 = 0x8000_0000;
/// The most bytes of a context's handle: it is inside of a credential.
pub const MAX_GSS_HANDLE: usize = MAX_AUTH_BODY - 20;
/// The most bytes of a token, in bytes: tickets of large directories are tens of KiB.
pub const MAX_GSS_TOKEN: usize = 128 << 10;
/// The most bytes of a protected body, in bytes: more than any transfer of NFS.
pub const MAX_GSS_BODY: usize = 64 << 20;
/// `gss_major` when the context is established.
pub const GSS_S_COMPLETE: u32 = 0;
/// `gss_major` when the server waits for another token.
pub const GSS_S_CONTINUE_NEEDED: u32 = 1;

xdr_enum! {
    /// `rpc_gss_proc_t`: what a call does (RFC 2203 section 5).
    pub enum GssProc {
        /// It is a call of the program.
        Data = 0 "RPCSEC_GSS_DATA",
        /// It begins a context.
        Init = 1 "RPCSEC_GSS_INIT",
        /// It goes on with a context.
        ContinueInit = 2 "RPCSEC_GSS_CONTINUE_INIT",
        /// It ends a context.
        Destroy = 3 "RPCSEC_GSS_DESTROY",
    }
}

xdr_enum! {
    /// `rpc_gss_service_t`: how arguments and results are protected (RFC 2203 section 5).
    pub enum GssService {
        /// Not at all; the header is.
        None = 1 "rpc_gss_svc_none",
        /// They are signed.
        Integrity = 2 "rpc_gss_svc_integrity",
        /// They are encrypted.
        Privacy = 3 "rpc_gss_svc_privacy",
    }
}

xdr_struct! {
    /// `rpc_gss_cred_t`: the credential of a call.
    pub struct GssCred<'a> {
        /// [`GSS_VERSION`].
        version: u32,
        /// What the call does.
        gss_proc: GssProc,
        /// Its number in the context; 0 while it is established.
        seq_num: u32,
        /// How arguments and results are protected.
        service: GssService,
        /// The server's name of the context; empty at first.
        handle: &'a [u8] => MAX_GSS_HANDLE,
    }
}

xdr_struct! {
    /// The arguments of a call that establishes a context (RFC 2203 section 5.2.2).
    pub struct GssInitArgs<'a> {
        /// The client's token.
        gss_token: &'a [u8] => MAX_GSS_TOKEN,
    }
}

xdr_struct! {
    /// `rpc_gss_init_res`: the results (RFC 2203 section 5.2.3.1).
    pub struct GssInitRes<'a> {
        /// The server's name of the context.
        handle: &'a [u8] => MAX_GSS_HANDLE,
        /// [`GSS_S_COMPLETE`], [`GSS_S_CONTINUE_NEEDED`] or an error of the server's library.
        gss_major: u32,
        /// The status of its mechanism.
        gss_minor: u32,
        /// How far a sequence number may be behind the highest one that the server has seen.
        seq_window: u32,
        /// The server's token.
        gss_token: &'a [u8] => MAX_GSS_TOKEN,
    }
}

xdr_struct! {
    /// `rpc_gss_integ_data`: signed arguments or results (RFC 2203 section 5.3.2.2).
    pub struct GssIntegData<'a> {
        /// The sequence number, then the arguments or results.
        databody_integ: &'a [u8] => MAX_GSS_BODY,
        /// The signature of that.
        checksum: &'a [u8] => MAX_AUTH_BODY,
    }
}

xdr_struct! {
    /// `rpc_gss_priv_data`: encrypted arguments or results (RFC 2203 section 5.3.2.3).
    pub struct GssPrivData<'a> {
        /// The sequence number and the arguments or results, encrypted together.
        databody_priv: &'a [u8] => MAX_GSS_BODY,
    }
}

impl<'a> OpaqueAuth<'a> {
    /// The RPCSEC_GSS credential, when that is the flavor.
    ///
    /// # Errors
    /// What is wrong in the body, or another flavor.
    pub fn gss_cred(&self) -> Result<GssCred<'a>, DecodeError> {
        match self.flavor {
            AuthFlavor::RpcsecGss => xdr::decode(self.body),
            other => Err(DecodeError::unexpected(
                0,
                "RPCSEC_GSS flavor",
                other.to_u32(),
            )),
        }
    }

    /// A verifier with this signature.
    pub const fn gss_verf(mic: &'a [u8]) -> Self {
        Self {
            flavor: AuthFlavor::RpcsecGss,
            body: mic,
        }
    }
}
