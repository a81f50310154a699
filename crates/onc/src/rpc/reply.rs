//! The header of a reply (`reply_body`, RFC 5531 section 9).

use super::{OpaqueAuth, REPLY};
use crate::xdr::{Decode, DecodeError, Decoder, Encode, Encoder};

const MSG_ACCEPTED: u32 = 0;
const MSG_DENIED: u32 = 1;

/// `accept_stat`: what became of an accepted call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptStat {
    /// Executed; the results follow.
    Success,
    /// The server doesn't have the program.
    ProgUnavail,
    /// The server doesn't have this version of the program.
    ProgMismatch {
        /// Lowest version it has.
        low: u32,
        /// Highest version it has.
        high: u32,
    },
    /// The program doesn't have the procedure.
    ProcUnavail,
    /// The server couldn't decode the arguments.
    GarbageArgs,
    /// The server failed (no memory, for example).
    SystemErr,
}

impl AcceptStat {
    /// The number on the wire.
    pub const fn to_u32(self) -> u32 {
        match self {
            Self::Success => 0,
            Self::ProgUnavail => 1,
            Self::ProgMismatch { .. } => 2,
            Self::ProcUnavail => 3,
            Self::GarbageArgs => 4,
            Self::SystemErr => 5,
        }
    }

    /// The RFC's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "SUCCESS",
            Self::ProgUnavail => "PROG_UNAVAIL",
            Self::ProgMismatch { .. } => "PROG_MISMATCH",
            Self::ProcUnavail => "PROC_UNAVAIL",
            Self::GarbageArgs => "GARBAGE_ARGS",
            Self::SystemErr => "SYSTEM_ERR",
        }
    }
}

/// `reject_stat`: why a call was denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectStat {
    /// The server doesn't speak version 2 of RPC.
    RpcMismatch {
        /// Lowest version it speaks.
        low: u32,
        /// Highest version it speaks.
        high: u32,
    },
    /// The server doesn't take the credential.
    AuthError(AuthStat),
}

xdr_status! {
    /// `auth_stat`: what is wrong with a credential.
    pub enum AuthStat("AUTH_UNKNOWN") {
        /// Nothing.
        Ok = 0 "AUTH_OK" "nothing is wrong",
        /// Bad credential.
        BadCred = 1 "AUTH_BADCRED" "the server could not read the credential; check machine name and number of groups",
        /// The client must begin a new session.
        RejectedCred = 2 "AUTH_REJECTEDCRED" "the client must begin a new session",
        /// Bad verifier.
        BadVerf = 3 "AUTH_BADVERF" "the server could not read the verifier",
        /// The verifier expired or was replayed.
        RejectedVerf = 4 "AUTH_REJECTEDVERF" "the verifier has expired or was replayed",
        /// Rejected for security.
        TooWeak = 5 "AUTH_TOOWEAK" "if the export requires TLS (xprtsec), set TLS=on or mtls; otherwise the server refuses this identity or port: try RESVPORT=on, or insecure on the export, and compare SECURITY with the flavors that the export allows this client (sec=)",
        /// The server's reply was refused by the client.
        InvalidResp = 6 "AUTH_INVALIDRESP" "the reply's verifier is bogus",
        /// Something else failed.
        Failed = 7 "AUTH_FAILED" "the server gave no reason; look at its log",
        /// RPCSEC_GSS: the context is not known, or its credential is invalid.
        GssCredProblem = 13 "RPCSEC_GSS_CREDPROBLEM" "the server does not know the context of Kerberos (any more)",
        /// RPCSEC_GSS: problem with the context.
        GssCtxProblem = 14 "RPCSEC_GSS_CTXPROBLEM" "the context of Kerberos has expired or is damaged",
    }
}

/// What a reply's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyBody<'a> {
    /// The call was accepted, and this became of it.
    Accepted {
        /// The server's verifier, AUTH_NONE as a rule.
        verf: OpaqueAuth<'a>,
        /// What became of it.
        stat: AcceptStat,
    },
    /// The call was denied.
    Denied(RejectStat),
}

/// The header of a reply; after [`AcceptStat::Success`] the procedure's results follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyHeader<'a> {
    /// The call's transaction id.
    pub xid: u32,
    /// What the header says.
    pub body: ReplyBody<'a>,
}

impl ReplyHeader<'static> {
    /// The field that says what became of an accepted call, as [`DecodeError::what`] names it.
    pub const ACCEPT_STAT: &'static str = "ReplyHeader.accept_stat";

    /// An accepted reply with an empty verifier.
    pub const fn accepted(xid: u32, stat: AcceptStat) -> Self {
        let verf = OpaqueAuth::NONE;
        Self {
            xid,
            body: ReplyBody::Accepted { verf, stat },
        }
    }

    /// A denial.
    pub const fn denied(xid: u32, stat: RejectStat) -> Self {
        Self {
            xid,
            body: ReplyBody::Denied(stat),
        }
    }

    /// "I could not decode the arguments."
    pub const fn garbage_args(xid: u32) -> Self {
        Self::accepted(xid, AcceptStat::GarbageArgs)
    }

    /// Appends the header of a successful reply, the server's hot path: 24 bytes in one piece.
    #[inline]
    pub fn encode_success(out: &mut Vec<u8>, xid: u32) {
        let mut header = [0u8; 24];
        header[..4].copy_from_slice(&xid.to_be_bytes());
        header[7] = REPLY as u8;
        out.extend_from_slice(&header);
    }
}

impl ReplyHeader<'_> {
    /// Whether results follow.
    ///
    /// # Errors
    /// Why they don't.
    #[inline]
    pub const fn check(&self) -> Result<(), RpcRefusal> {
        match self.body {
            ReplyBody::Accepted { stat, .. } => match stat {
                AcceptStat::Success => Ok(()),
                other => Err(RpcRefusal::Accepted(other)),
            },
            ReplyBody::Denied(stat) => Err(RpcRefusal::Denied(stat)),
        }
    }
}

impl Encode for ReplyHeader<'_> {
    fn encode(&self, e: &mut Encoder<'_>) {
        e.u32(self.xid);
        e.u32(REPLY);
        match self.body {
            ReplyBody::Accepted { verf, stat } => {
                e.u32(MSG_ACCEPTED);
                e.put(&verf);
                encode_accept(e, stat);
            }
            ReplyBody::Denied(stat) => {
                e.u32(MSG_DENIED);
                encode_reject(e, stat);
            }
        }
    }
}

fn encode_accept(e: &mut Encoder<'_>, stat: AcceptStat) {
    e.u32(stat.to_u32());
    if let AcceptStat::ProgMismatch { low, high } = stat {
        e.u32(low);
        e.u32(high);
    }
}

fn encode_reject(e: &mut Encoder<'_>, stat: RejectStat) {
    match stat {
        RejectStat::RpcMismatch { low, high } => [0, low, high].iter().for_each(|w| e.u32(*w)),
        RejectStat::AuthError(why) => {
            e.u32(1);
            e.put(&why);
        }
    }
}

impl<'a> Decode<'a> for ReplyHeader<'a> {
    #[inline]
    fn decode_as(d: &mut Decoder<'a>, _what: &'static str) -> Result<Self, DecodeError> {
        let xid = d.u32("ReplyHeader.xid")?;
        let at = d.offset();
        let mtype = d.u32("ReplyHeader.mtype")?;
        if mtype != REPLY {
            return Err(DecodeError::unexpected(at, "ReplyHeader.mtype", mtype));
        }
        let at = d.offset();
        let body = match d.u32("ReplyHeader.reply_stat")? {
            MSG_ACCEPTED => ReplyBody::Accepted {
                verf: OpaqueAuth::decode(d)?,
                stat: decode_accept(d)?,
            },
            MSG_DENIED => ReplyBody::Denied(decode_reject(d)?),
            other => return Err(DecodeError::unexpected(at, "ReplyHeader.reply_stat", other)),
        };
        Ok(Self { xid, body })
    }
}

#[inline]
fn decode_accept(d: &mut Decoder<'_>) -> Result<AcceptStat, DecodeError> {
    let at = d.offset();
    Ok(match d.u32(ReplyHeader::ACCEPT_STAT)? {
        0 => AcceptStat::Success,
        1 => AcceptStat::ProgUnavail,
        2 => AcceptStat::ProgMismatch {
            low: d.u32("PROG_MISMATCH.low")?,
            high: d.u32("PROG_MISMATCH.high")?,
        },
        3 => AcceptStat::ProcUnavail,
        4 => AcceptStat::GarbageArgs,
        5 => AcceptStat::SystemErr,
        other => {
            return Err(DecodeError::unexpected(at, ReplyHeader::ACCEPT_STAT, other));
        }
    })
}

fn decode_reject(d: &mut Decoder<'_>) -> Result<RejectStat, DecodeError> {
    let at = d.offset();
    Ok(match d.u32("ReplyHeader.reject_stat")? {
        0 => RejectStat::RpcMismatch {
            low: d.u32("RPC_MISMATCH.low")?,
            high: d.u32("RPC_MISMATCH.high")?,
        },
        1 => RejectStat::AuthError(AuthStat::decode(d)?),
        other => {
            return Err(DecodeError::unexpected(
                at,
                "ReplyHeader.reject_stat",
                other,
            ));
        }
    })
}

/// A call that the server's RPC layer did not execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RpcRefusal {
    /// Accepted, but not executed.
    Accepted(AcceptStat),
    /// Denied.
    Denied(RejectStat),
}

impl std::fmt::Display for RpcRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Accepted(stat @ AcceptStat::ProgMismatch { low, high }) => write!(
                f,
                "{}: the server has versions {low} to {high} of this program",
                stat.name()
            ),
            Self::Accepted(stat) => write!(f, "{}: {}", stat.name(), accept_advice(stat)),
            Self::Denied(RejectStat::RpcMismatch { low, high }) => {
                write!(
                    f,
                    "RPC_MISMATCH: the server speaks RPC versions {low} to {high}, not 2"
                )
            }
            Self::Denied(RejectStat::AuthError(why)) => {
                write!(f, "AUTH_ERROR {why}: {}", why.advice())
            }
        }
    }
}

impl std::error::Error for RpcRefusal {}

const fn accept_advice(stat: AcceptStat) -> &'static str {
    match stat {
        AcceptStat::Success => "executed",
        AcceptStat::ProgUnavail => "no such program behind this port; check host, port and service",
        AcceptStat::ProgMismatch { .. } => "another version of the program",
        AcceptStat::ProcUnavail => "the server does not have this procedure",
        AcceptStat::GarbageArgs => "the server could not decode the arguments",
        AcceptStat::SystemErr => {
            "the server failed before it could execute the call; look at its log"
        }
    }
}
