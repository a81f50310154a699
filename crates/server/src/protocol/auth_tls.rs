//! The call that asks for TLS (RFC 9289 section 4.1).

use super::answer::{Refusal, put};
use super::context::{Peer, ReplyAction, Service};
use filermark_onc::record::OpenRecord;
use filermark_onc::rpc::{
    AcceptStat, AuthStat, CallHeader, OpaqueAuth, RejectStat, ReplyBody, ReplyHeader,
};

impl Service {
    /// Answers a call with the flavor AUTH_TLS: STARTTLS, or AUTH_BADCRED where TLS is not offered, has
    /// begun already, or the call is not the NULL call that it has to be.
    pub(super) fn auth_tls(
        &self,
        call: &CallHeader<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> ReplyAction {
        let is_sound = call.proc == 0 && call.cred.body.is_empty() && call.verf == OpaqueAuth::NONE;
        let is_offered = self.shared.tls.is_some() && !peer.is_datagram() && !peer.is_secured;
        let (reply, action) = match is_sound && is_offered {
            true => {
                let body = ReplyBody::Accepted {
                    verf: OpaqueAuth::STARTTLS,
                    stat: AcceptStat::Success,
                };
                let xid = call.xid;
                (ReplyHeader { xid, body }, ReplyAction::StartTls)
            }
            false => {
                self.counters.refused.add(1);
                let stat = RejectStat::AuthError(AuthStat::BadCred);
                (ReplyHeader::denied(call.xid, stat), ReplyAction::Send)
            }
        };
        let open = OpenRecord::begin(out);
        put(out, &reply);
        open.finish(out);
        action
    }

    /// Refuses a call in the clear to a program that is served with TLS alone.
    pub(super) fn check_secured(&self, call: &CallHeader<'_>, peer: &Peer) -> Result<(), Refusal> {
        match self.shared.options.tls_only && !peer.is_secured && call.proc != 0 {
            true => Err(Refusal::Auth(AuthStat::TooWeak)),
            false => Ok(()),
        }
    }
}
