//! EXCHANGE_ID, CREATE_SESSION, BIND_CONN_TO_SESSION, DESTROY_SESSION, DESTROY_CLIENTID and
//! RECLAIM_COMPLETE (RFC 8881 sections 18.34 to 18.37, 18.50 and 18.51).

use super::callbacks::back_of;
use super::compound::{Compound, Results};
use crate::nfs4::{ClientRequest, Limits, SessionRequest};
use filermark_onc::nfs4::*;

/// Most slots of a session.
const SLOTS_MAX: u32 = 64;
/// Most operations of a COMPOUND.
pub(super) const OPERATIONS_MAX: u32 = 64;
/// Longest reply that is kept, in bytes.
const CACHED_BYTES_MAX: u32 = 8192;
/// A session in which requests and replies are shorter is of no use.
const BYTES_MIN: u32 = 1024;
/// What a reply has beside the data of a READ, at most.
pub(super) const REPLY_OVERHEAD_BYTES: u32 = 8192;

/// Flags that a client may send.
const CLIENT_FLAGS: u32 = exchgid::SUPP_MOVED_REFER
    | exchgid::SUPP_MOVED_MIGR
    | exchgid::BIND_PRINC_STATEID
    | exchgid::USE_NON_PNFS
    | exchgid::USE_PNFS_MDS
    | exchgid::USE_PNFS_DS
    | exchgid::UPD_CONFIRMED_REC_A;

impl Compound<'_> {
    pub(super) fn exchange_id(
        &self,
        args: &ExchangeIdArgs<'_>,
        results: &mut Results<'_>,
    ) -> Nfsstat4 {
        let (shared, uid) = (self.cx.shared, self.cx.caller.uid);
        let is_known = args.flags & !CLIENT_FLAGS == 0;
        if !is_known || !matches!(args.state_protect, StateProtect4A::None) {
            return results.fail(Operation::ExchangeId, Nfsstat4::Inval);
        }
        let request = ClientRequest {
            ownerid: args.clientowner.ownerid,
            verifier: args.clientowner.verifier,
            uid,
            is_update: args.flags & exchgid::UPD_CONFIRMED_REC_A != 0,
        };
        let found = match shared.nfs4.clients.exchange(&request, self.now_ns) {
            Ok(found) => found,
            Err(status) => return results.fail(Operation::ExchangeId, status),
        };
        // Sessions and client IDs are of one run of one server.
        let name = format!("filermark-{:016x}", shared.fsid);
        let confirmed = match found.is_confirmed {
            true => exchgid::CONFIRMED_R,
            false => 0,
        };
        results.result::<ExchangeIdArgs<'_>>(&Ok(ExchangeIdOk {
            clientid: found.clientid,
            sequenceid: found.sequence,
            flags: exchgid::USE_NON_PNFS | confirmed,
            state_protect: StateProtect4R::None,
            server_owner: ServerOwner4 {
                minor_id: 0,
                major_id: name.as_bytes(),
            },
            server_scope: name.as_bytes(),
            server_impl_id: None,
        }))
    }

    /// What is granted of the limits that a client asks for.
    fn limits(&self, asked: &ChannelAttrs4) -> Res<Limits> {
        let options = self.cx.options;
        if asked.maxrequestsize < BYTES_MIN
            || asked.maxresponsesize < BYTES_MIN
            || asked.maxoperations == 0
            || asked.maxrequests == 0
        {
            return Err(Nfsstat4::Toosmall);
        }
        let request_most = self.cx.shared.max_record() as u32;
        let response_most = options.rtmax.max(BYTES_MIN) + REPLY_OVERHEAD_BYTES;
        Ok(Limits {
            request_bytes: asked.maxrequestsize.min(request_most),
            response_bytes: asked.maxresponsesize.min(response_most),
            cached_bytes: asked.maxresponsesize_cached.min(CACHED_BYTES_MAX),
            operations: asked.maxoperations.min(OPERATIONS_MAX),
            slots: asked.maxrequests.min(SLOTS_MAX),
        })
    }

    pub(super) fn create_session(&self, args: &CreateSessionArgs<'_>) -> CreateSessionRes {
        let shared = self.cx.shared;
        let request = SessionRequest {
            clientid: args.clientid,
            sequence: args.sequence,
            uid: self.cx.caller.uid,
            limits: self.limits(&args.fore_chan_attrs)?,
        };
        let clients = &shared.nfs4.clients;
        // The only callbacks are recalls and, of version 4.2, the ends of copies.
        let is_called = self.delegates() || self.minor >= 2;
        let outlet = self.cx.outlet.filter(|_| is_called);
        let back = outlet.and_then(|_| back_of(args, self.minor));
        let (created, replaced) = clients.create_session(&request, back, self.now_ns);
        if let Some(replaced) = replaced {
            for file in shared.nfs4.end_clients(&[replaced]) {
                shared.fs.release(file);
            }
        }
        let created = created?;
        let limits = created.limits;
        if created.has_back {
            self.bind_back(&created.sessionid)?;
        }
        Ok(CreateSessionOk {
            sessionid: created.sessionid,
            sequence: args.sequence,
            // Replies are not kept over a restart.
            flags: match created.has_back {
                true => create_session::CONN_BACK_CHAN,
                false => 0,
            },
            fore_chan_attrs: ChannelAttrs4 {
                headerpadsize: 0,
                maxrequestsize: limits.request_bytes,
                maxresponsesize: limits.response_bytes,
                maxresponsesize_cached: limits.cached_bytes,
                maxoperations: limits.operations,
                maxrequests: limits.slots,
                rdma_ird: None,
            },
            back_chan_attrs: ChannelAttrs4 {
                headerpadsize: 0,
                rdma_ird: None,
                ..args.back_chan_attrs
            },
        })
    }

    /// Callbacks of a session go over this connection, too. `false`: the session has none.
    fn bind_back(&self, id: &Sessionid4) -> Res<bool> {
        let session = self.cx.shared.nfs4.clients.session(id)?;
        let (Some(back), Some(outlet)) = (&session.back, self.cx.outlet) else {
            return Ok(false);
        };
        back.bind(outlet);
        self.cx.shared.advance(&session);
        Ok(true)
    }

    /// Any connection may carry the calls of a session: nothing is to be remembered of that (RFC 8881
    /// section 2.10.3.1, as there is no state protection).
    pub(super) fn bind_conn_to_session(
        &self,
        args: &BindConnToSessionArgs,
    ) -> BindConnToSessionRes {
        if self.session.is_some() {
            return Err(Nfsstat4::NotOnlyOp);
        }
        self.cx.shared.nfs4.clients.session(&args.sessid)?;
        let wants_back = args.dir != channel_dir::FORE;
        let is_back = wants_back && self.bind_back(&args.sessid)?;
        let dir = match (args.dir, is_back) {
            (channel_dir::FORE, _) | (channel_dir::BOTH, false) => channel_dir::FORE,
            (channel_dir::BACK, _) | (channel_dir::BACK_OR_BOTH, false) => channel_dir::BACK,
            (channel_dir::BOTH | channel_dir::BACK_OR_BOTH, true) => channel_dir::BOTH,
            _ => return Err(Nfsstat4::Badxdr),
        };
        Ok(BindConnToSessionOk {
            sessid: args.sessid,
            dir,
            use_conn_in_rdma_mode: false,
        })
    }

    pub(super) fn destroy_session(&self, args: &DestroySessionArgs) -> DestroySessionRes {
        let is_own = self
            .session
            .as_ref()
            .is_some_and(|session| session.id == args.sessionid);
        if is_own && self.left > 0 {
            return Err(Nfsstat4::NotOnlyOp); // its own session only as the last operation
        }
        self.cx.shared.nfs4.clients.destroy_session(&args.sessionid)
    }

    pub(super) fn destroy_clientid(&self, args: &DestroyClientidArgs) -> DestroyClientidRes {
        let shared = self.cx.shared;
        let ended = shared.nfs4.clients.destroy_client(args.clientid)?;
        // What was revoked and not freed.
        shared.nfs4.files.end_clients(&Vec::from_iter(ended));
        Ok(())
    }

    pub(super) fn reclaim_complete(&self, args: &ReclaimCompleteArgs) -> ReclaimCompleteRes {
        if args.one_fs {
            return self.current().map(drop);
        }
        match self.client()?.complete_reclaim() {
            true => Ok(()),
            false => Err(Nfsstat4::CompleteAlready),
        }
    }
}
