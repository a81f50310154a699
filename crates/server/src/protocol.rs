//! From a record to its reply: programs, versions, procedures, and the faults on the way.
//!
//! Uses the codecs and the file system; uses neither sockets nor threads. Every input has a
//! defined result.

// Results are the codecs' own: attributes beside the status, encoded in place.
#![allow(clippy::result_large_err)]

mod answer;
mod auth_tls;
mod cache;
mod change;
mod context;
mod convert;
mod delegated;
mod listing;
mod mount;
mod mounts;
mod nfs;
mod nfs2;
mod nfs4;
mod null;
mod portmap;
mod read_attributes;
mod transfer;

pub(crate) use cache::Session;
pub(crate) use context::{Peer, ReplyAction, Service, Shared};

use crate::options::ServerOptions;
use answer::{Refusal, mismatch, put};
use filermark_onc::record::OpenRecord;
use filermark_onc::rpc::{
    AcceptStat, AuthFlavor, AuthStat, CallError, CallHeader, RejectStat, ReplyHeader,
};
use filermark_onc::xdr::Decoder;
use filermark_onc::{mount as mnt, mount1, nfs2 as v2, nfs3, nfs4 as v4, portmap as pmap};

/// Bytes in front of every reply, which datagrams leave out.
pub(crate) const RECORD_MARK: usize = 4;
/// The most bytes in a datagram over IPv4: 65,535 without the headers of IP and UDP.
pub(crate) const MAX_DATAGRAM: usize = 65_507;

impl Shared {
    /// `started_ns`: now, on the monotonic clock.
    pub(crate) fn new(options: ServerOptions, started_ns: u64) -> Shared {
        Shared::start(options, started_ns, nfs::prepared)
    }
}

impl Service {
    /// Serves one record; appends the reply, with its mark, to `out`.
    #[inline]
    pub(crate) fn serve(&mut self, record: &[u8], peer: &Peer, out: &mut Vec<u8>) -> ReplyAction {
        if peer.outlet.is_some() && self.callback_reply(record, peer) {
            return ReplyAction::Nothing;
        }
        let mut d = Decoder::new(record);
        match CallHeader::decode(&mut d) {
            Ok(call) => self.call(record, &call, &mut d, peer, out),
            Err(error) => self.refuse_header(&error, peer, out),
        }
    }

    fn refuse_header(&self, error: &CallError, peer: &Peer, out: &mut Vec<u8>) -> ReplyAction {
        self.counters.refused.add(1);
        let malformed = matches!(error, CallError::Malformed { .. });
        let reply = match error.reply() {
            // The source address of a datagram can be forged: a malformed one gets no reply.
            Some(reply) if !(malformed && peer.is_datagram()) => reply,
            _ => return ReplyAction::Close,
        };
        let open = OpenRecord::begin(out);
        put(out, &reply);
        open.finish(out);
        ReplyAction::Send
    }

    fn call(
        &mut self,
        record: &[u8],
        call: &CallHeader<'_>,
        d: &mut Decoder<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> ReplyAction {
        if call.cred.flavor == AuthFlavor::Tls {
            return self.auth_tls(call, peer, out);
        }
        let start = out.len();
        let served = match call.prog {
            _ if !is_served(call.cred.flavor) => Err(Refusal::Auth(AuthStat::BadCred)),
            nfs3::PROGRAM if call.vers == nfs3::VERSION => self
                .check_secured(call, peer)
                .and_then(|()| self.nfs(record, call, d, peer, out)),
            nfs3::PROGRAM if call.vers == v2::VERSION => self
                .check_secured(call, peer)
                .and_then(|()| self.nfs2(record, call, d, peer, out)),
            nfs3::PROGRAM if call.vers == v4::VERSION && self.shared.has_version4(peer) => self
                .check_secured(call, peer)
                .and_then(|()| self.nfs4(record, call, d, peer, out)),
            nfs3::PROGRAM => {
                let highest = match self.shared.has_version4(peer) {
                    true => v4::VERSION,
                    false => nfs3::VERSION,
                };
                Err(mismatch(v2::VERSION, highest))
            }
            mnt::PROGRAM if matches!(call.vers, mount1::VERSION | mnt::VERSION) => {
                self.mount(call, d, peer, out)
            }
            mnt::PROGRAM => Err(mismatch(mount1::VERSION, mnt::VERSION)),
            pmap::PROGRAM if self.shared.options.portmap => self.portmap(call, d, peer, out),
            _ => Err(Refusal::Accept(AcceptStat::ProgUnavail)),
        };
        let too_long = peer.is_datagram() && out.len() - start > RECORD_MARK + MAX_DATAGRAM;
        let served = if too_long {
            Err(Refusal::Accept(AcceptStat::SystemErr))
        } else {
            served
        };
        served.unwrap_or_else(|refusal| {
            self.counters.refused.add(1);
            out.truncate(start);
            let open = OpenRecord::begin(out);
            put(
                out,
                &match refusal {
                    Refusal::Accept(stat) => ReplyHeader::accepted(call.xid, stat),
                    Refusal::Auth(stat) => {
                        ReplyHeader::denied(call.xid, RejectStat::AuthError(stat))
                    }
                },
            );
            open.finish(out);
            ReplyAction::Send
        })
    }
}

/// Whether calls with this flavor are served. A NULL call with another one is refused too: it may be the
/// first call of a context of RPCSEC_GSS (RFC 2203 section 5.2.2), and its reply would be taken for the
/// server's token.
fn is_served(flavor: AuthFlavor) -> bool {
    matches!(flavor, AuthFlavor::None | AuthFlavor::Sys)
}
