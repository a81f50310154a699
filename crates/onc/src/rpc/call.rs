//! The header of a call (`call_body`, RFC 5531 section 9).

use super::{CALL, OpaqueAuth, RPC_VERSION, RejectStat, ReplyHeader, peek_xid};
use crate::xdr::{Decode, DecodeError, Decoder, Encode, Encoder};

/// The header of a call; the procedure's arguments follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallHeader<'a> {
    /// Transaction id: the reply carries the same.
    pub xid: u32,
    /// Program.
    pub prog: u32,
    /// Version of the program.
    pub vers: u32,
    /// Procedure of the program.
    pub proc: u32,
    /// Who calls.
    pub cred: OpaqueAuth<'a>,
    /// AUTH_NONE with the flavors Filermark speaks.
    pub verf: OpaqueAuth<'a>,
}

impl Encode for CallHeader<'_> {
    fn encode(&self, e: &mut Encoder<'_>) {
        for word in [self.xid, CALL, RPC_VERSION, self.prog, self.vers, self.proc] {
            e.u32(word);
        }
        e.put(&self.cred);
        e.put(&self.verf);
    }
}

impl<'a> CallHeader<'a> {
    /// Reads the header and leaves the decoder at the arguments.
    ///
    /// # Errors
    /// [`CallError`], which knows the answer a server owes the caller.
    pub fn decode(d: &mut Decoder<'a>) -> Result<Self, CallError> {
        let message = d.rest();
        let malformed = |error| CallError::Malformed {
            xid: peek_xid(message),
            error,
        };
        let xid = d.u32("CallHeader.xid").map_err(malformed)?;
        let at = d.offset();
        let mtype = d.u32("CallHeader.mtype").map_err(malformed)?;
        if mtype != CALL {
            let error = DecodeError::unexpected(at, "CallHeader.mtype", mtype);
            return Err(CallError::NotACall { error });
        }
        let rpcvers = d.u32("CallHeader.rpcvers").map_err(malformed)?;
        if rpcvers != RPC_VERSION {
            return Err(CallError::RpcMismatch { xid, rpcvers });
        }
        Self::decode_rest(d, xid).map_err(malformed)
    }

    fn decode_rest(d: &mut Decoder<'a>, xid: u32) -> Result<Self, DecodeError> {
        Ok(Self {
            xid,
            prog: d.u32("CallHeader.prog")?,
            vers: d.u32("CallHeader.vers")?,
            proc: d.u32("CallHeader.proc")?,
            cred: OpaqueAuth::decode(d)?,
            verf: OpaqueAuth::decode(d)?,
        })
    }
}

/// Why a message is not a call that can be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The header is cut off or damaged.
    #[error("malformed RPC call header: {error}")]
    Malformed {
        /// The transaction id, if the message is long enough.
        xid: Option<u32>,
        /// What is wrong.
        error: DecodeError,
    },
    /// The message is not a call (and must not be answered).
    #[error("not an RPC call: {error}")]
    NotACall {
        /// What is wrong.
        error: DecodeError,
    },
    /// Another version of RPC itself.
    #[error("RPC version {rpcvers} instead of 2")]
    RpcMismatch {
        /// The transaction id.
        xid: u32,
        /// The version asked for.
        rpcvers: u32,
    },
}

impl CallError {
    /// The reply a server owes, if any: RPC_MISMATCH, or GARBAGE_ARGS for a damaged header.
    pub fn reply(&self) -> Option<ReplyHeader<'static>> {
        match *self {
            Self::Malformed { xid, .. } => xid.map(ReplyHeader::garbage_args),
            Self::NotACall { .. } => None,
            Self::RpcMismatch { xid, .. } => Some(ReplyHeader::denied(
                xid,
                RejectStat::RpcMismatch {
                    low: RPC_VERSION,
                    high: RPC_VERSION,
                },
            )),
        }
    }
}
