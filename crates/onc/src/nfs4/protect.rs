//! Protection of a client's state in EXCHANGE_ID (RFC 8881 section 18.35), and the SSV (section 18.47).

use super::attribute::Bitmap4;
use super::status::Res;
use super::{MAX_ITEMS, MAX_OWNER};
use crate::xdr::{Array, Opaque};

xdr_struct! {
    /// `state_protect_ops4`: operations, by their numbers.
    #[derive(Default)]
    pub struct StateProtectOps4 {
        /// Those that need the credential of the state.
        must_enforce: Bitmap4,
        /// Those that may be called with it.
        must_allow: Bitmap4,
    }
}

xdr_struct! {
    /// `ssv_sp_parms4`: what the client offers for an SSV.
    pub struct SsvSpParms4<'a> {
        /// The operations.
        ops: StateProtectOps4,
        /// Hash algorithms, as encoded object identifiers (`sec_oid4`).
        hash_algs: Array<'a, Opaque<'a, MAX_OWNER>, MAX_ITEMS>,
        /// Encryption algorithms, as encoded object identifiers.
        encr_algs: Array<'a, Opaque<'a, MAX_OWNER>, MAX_ITEMS>,
        /// SSVs that stay valid.
        window: u32,
        /// GSS handles that the server shall make.
        num_gss_handles: u32,
    }
}

xdr_struct! {
    /// `ssv_prot_info4`: what the server chose.
    pub struct SsvProtInfo4<'a> {
        /// The operations.
        ops: StateProtectOps4,
        /// Index of the hash algorithm.
        hash_alg: u32,
        /// Index of the encryption algorithm.
        encr_alg: u32,
        /// Length of the SSV, in bytes.
        ssv_len: u32,
        /// SSVs that stay valid.
        window: u32,
        /// GSS handles.
        handles: Array<'a, Opaque<'a, MAX_OWNER>, MAX_ITEMS>,
    }
}

xdr_union! {
    /// `state_protect4_a`: the protection that a client asks for.
    pub enum StateProtect4A<'a> {
        /// None.
        None = 0,
        /// By the credential of the machine.
        MachCred(StateProtectOps4) = 1,
        /// By a shared secret.
        Ssv(SsvSpParms4<'a>) = 2,
    }
}

xdr_union! {
    /// `state_protect4_r`: the protection that a server grants.
    pub enum StateProtect4R<'a> {
        /// None.
        None = 0,
        /// By the credential of the machine.
        MachCred(StateProtectOps4) = 1,
        /// By a shared secret.
        Ssv(SsvProtInfo4<'a>) = 2,
    }
}

xdr_struct! {
    /// Arguments of SET_SSV.
    pub struct SetSsvArgs<'a> {
        /// To be combined with the SSV.
        ssv: &'a [u8] => MAX_OWNER,
        /// Digest of the call.
        digest: &'a [u8] => MAX_OWNER,
    }
}

xdr_struct! {
    /// What SET_SSV returns.
    pub struct SetSsvOk<'a> {
        /// Digest of the reply.
        digest: &'a [u8] => MAX_OWNER,
    }
}

/// Results of SET_SSV.
pub type SetSsvRes<'a> = Res<SetSsvOk<'a>>;
