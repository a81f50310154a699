//! ONC RPC version 2 (RFC 5531): call and reply headers, credentials, RPCSEC_GSS (RFC 2203). Both directions
//! on both sides.
//!
//! Knows nothing of the programs that are called; arguments and results follow the headers in the same
//! [`crate::xdr::Decoder`].

mod auth;
mod call;
mod gss;
mod reply;

pub use auth::{
    AuthBody, AuthFlavor, AuthSys, Gids, MAX_AUTH_BODY, MAX_GIDS, MAX_MACHINENAME, OpaqueAuth,
};
pub use call::{CallError, CallHeader};
pub use gss::{
    GSS_MAXSEQ, GSS_S_COMPLETE, GSS_S_CONTINUE_NEEDED, GSS_VERSION, GssCred, GssInitArgs,
    GssInitRes, GssIntegData, GssPrivData, GssProc, GssService, MAX_GSS_BODY, MAX_GSS_HANDLE,
    MAX_GSS_TOKEN,
};
pub use reply::{AcceptStat, AuthStat, RejectStat, ReplyBody, ReplyHeader, RpcRefusal};

use crate::xdr::{Decode, Encode};

/// The version of the RPC protocol itself.
pub const RPC_VERSION: u32 = 2;
/// `msg_type` of a call.
pub const CALL: u32 = 0;
/// `msg_type` of a reply.
pub const REPLY: u32 = 1;

/// The transaction id of a message, if it is long enough to have one: lets a client match, and a
/// server answer, what it cannot decode further.
#[inline]
pub fn peek_xid(message: &[u8]) -> Option<u32> {
    message
        .first_chunk::<4>()
        .map(|xid| u32::from_be_bytes(*xid))
}

/// The arguments of one procedure: ties them to the procedure's number and to its results, so that a
/// generic `fn call<A: Call>(args: &A)` can't mix them up.
pub trait Call: Encode {
    /// The procedure's number in its program.
    const PROC: u32;
    /// The procedure's name as in the RFC ("GETATTR").
    const NAME: &'static str;
    /// Its results, borrowing from the reply.
    type Res<'r>: Decode<'r>;
}
