//! Callbacks: CB_SEQUENCE with CB_RECALL or CB_OFFLOAD, and their replies (RFC 8881 sections 20.2 and 20.9, RFC 7862
//! section 16.1).

use super::super::context::{Peer, Service, Shared};
use super::compound::Compound;
use crate::memfs::FileId;
use crate::nfs4::{
    Answered, Back, Callback, DelegationKind, FileUse, Granted, GrantingCall, NotGranted, Notice,
    Recall, Session, Undelegated, Wish,
};
use crate::options::Delegations;
use filermark_onc::nfs4::callback::{
    CbOffloadArgs, CbRecallArgs, CbSequenceArgs, OffloadFailed, PROC_COMPOUND, ReferringCall4,
    ReferringCallList4, VERSION,
};
use filermark_onc::nfs4::*;
use filermark_onc::rpc::{AuthSys, OpaqueAuth, ReplyHeader, peek_xid};
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::{Array, Decode, DecodeError, Decoder};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a client must take of a callback, in bytes and operations.
const CALLBACK_BYTES: u32 = 512;
const CALLBACK_OPERATIONS: u32 = 2;
/// Offset of the message type, and its value in a reply (RFC 5531 section 9).
const KIND_AT: usize = 4;
const REPLY: u32 = 1;

/// The wishes of OPEN's `share_access`.
const WANTS: u32 = 0xff00;

/// The channel that a CREATE_SESSION asks for; `None` where callbacks cannot be sent on it.
pub(super) fn back_of(args: &CreateSessionArgs<'_>, minor: u32) -> Option<Back> {
    let limits = &args.back_chan_attrs;
    let is_wanted = args.flags & create_session::CONN_BACK_CHAN != 0
        && limits.maxrequests > 0
        && limits.maxoperations >= CALLBACK_OPERATIONS
        && limits.maxrequestsize >= CALLBACK_BYTES
        && limits.maxresponsesize >= CALLBACK_BYTES / 2;
    if !is_wanted {
        return None;
    }
    let mut credentials = args.sec_parms.iter().filter_map(|parms| match parms {
        CallbackSecParms4::None => Some(None),
        CallbackSecParms4::Sys(sys) => Some(Some(sys)),
        CallbackSecParms4::Gss(_) => None,
    });
    let template = |cred| CallTemplate::new(args.cb_program, VERSION, cred);
    let template = match credentials.next()? {
        None => template(OpaqueAuth::NONE),
        Some(sys) => template(AuthSys::to_body(&sys).as_auth()),
    };
    Some(Back::new(template, minor))
}

/// The bytes of a callback. The client may not have the reply to the call that it follows from: CB_SEQUENCE names
/// that call.
fn message(session: &Session, callback: &Callback<'_>) -> Vec<u8> {
    let call = callback.notice.call();
    let calls = [ReferringCall4 {
        sequenceid: call.sequenceid,
        slotid: call.slotid,
    }];
    let lists = [ReferringCallList4 {
        sessionid: call.session,
        referring_calls: Array::new(&calls).unwrap_or_default(),
    }];
    let mut message = Vec::new();
    let record = callback
        .template
        .begin(&mut message, callback.xid, PROC_COMPOUND);
    let mut compound =
        CompoundWriter::<callback::Operation>::begin_callback(&mut message, b"", callback.minor, 0);
    compound.op(&CbSequenceArgs {
        sessionid: session.id,
        sequenceid: callback.sequenceid,
        slotid: 0,
        highest_slotid: 0,
        cachethis: false,
        referring_call_lists: Array::new(&lists).unwrap_or_default(),
    });
    append_notice(callback.notice, &mut compound);
    compound.finish();
    record.finish(&mut message);
    message
}

fn append_notice(notice: &Notice, compound: &mut CompoundWriter<'_, callback::Operation>) {
    let file = match notice {
        Notice::Recall(recall) => recall.file,
        Notice::Offload(offload) => offload.file,
    };
    let handle = super::handles::Object::File(file).handle();
    let Some(fh) = FileHandle4::new(&handle) else {
        return;
    };
    match notice {
        Notice::Recall(recall) => {
            compound.op(&CbRecallArgs {
                stateid: recall.stateid,
                truncate: false,
                fh,
            });
        }
        Notice::Offload(offload) => {
            compound.op(&CbOffloadArgs {
                fh,
                stateid: offload.stateid,
                offload_info: offload.ended.map_err(|status| OffloadFailed {
                    status,
                    bytes_copied: 0,
                }),
            });
        }
    }
}

/// What the reply to a callback says of the slot, and of what the client was called for.
fn judge(
    record: &[u8],
    session: &Session,
    (sequenceid, notice): (u32, &Notice),
) -> Result<(Answered, Nfsstat4), DecodeError> {
    let mut d = Decoder::new(record);
    let header = ReplyHeader::decode(&mut d)?;
    if header.check().is_err() {
        return Ok((Answered::Fault, Nfsstat4::Delay));
    }
    let mut results = CompoundRes::<callback::Operation>::decode(&mut d)?;
    if results.left() == 0 {
        return Ok((Answered::Fault, Nfsstat4::Delay));
    }
    match results.read::<CbSequenceArgs<'_>>()? {
        Err(Nfsstat4::Delay) => return Ok((Answered::Refused, Nfsstat4::Delay)),
        Ok(ok) if ok.sessionid == session.id && ok.sequenceid == sequenceid && ok.slotid == 0 => {}
        _ => return Ok((Answered::Fault, Nfsstat4::Delay)),
    }
    if results.left() == 0 {
        return Ok((Answered::Fault, Nfsstat4::Delay));
    }
    // A client that does not know what it is called for yet, or is busy, is called again.
    let taken = match notice {
        Notice::Recall(_) => results.read::<CbRecallArgs<'_>>()?,
        Notice::Offload(_) => results.read::<CbOffloadArgs<'_>>()?,
    };
    results.end()?;
    Ok((Answered::Executed, taken.err().unwrap_or(Nfsstat4::Ok)))
}

impl Shared {
    /// Sends callbacks of a session that can be sent now.
    pub(super) fn advance(&self, session: &Arc<Session>) {
        let Some(back) = &session.back else { return };
        let xid = || self.nfs4.callback_xid.fetch_add(1, Ordering::Relaxed);
        back.advance(session, xid, message);
    }

    /// Sends recalls, each over the first session of its client that has a path.
    pub(in super::super) fn send_recalls(&self, recalls: Vec<Recall>) {
        for recall in recalls {
            self.send_notice(Notice::Recall(recall));
        }
    }

    /// Calls a client over the first of its sessions that has a path.
    pub(super) fn send_notice(&self, notice: Notice) {
        let sessions = self.nfs4.clients.sessions_with_back(notice.clientid());
        let is_up = |session: &&Arc<Session>| session.back.as_ref().is_some_and(Back::is_up);
        let Some(session) = sessions.iter().find(is_up) else {
            return;
        };
        if let Some(back) = &session.back {
            back.queue(notice);
        }
        self.advance(session);
    }

    /// A client has answered a callback.
    fn notice_answered(&self, notice: &Notice, taken: Nfsstat4) {
        match (notice, taken) {
            (Notice::Recall(recall), Nfsstat4::Ok) => {
                self.nfs4.files.recall_answered(&recall.stateid);
            }
            (Notice::Offload(offload), Nfsstat4::Ok) => {
                let offloads = &self.nfs4.offloads;
                offloads.forget(offload.clientid, &offload.stateid);
            }
            (Notice::Offload(offload), Nfsstat4::Delay) => {
                // The callback was faster than the reply to COPY.
                if let Some(again) = self.nfs4.offloads.call_again(offload) {
                    self.send_notice(Notice::Offload(again));
                }
            }
            // What waits for a recall sends it again; a client can ask for its copy.
            (Notice::Recall(_) | Notice::Offload(_), _) => {}
        }
    }
}

impl Service {
    /// Takes the reply to a callback. `false`: it is none that this connection owes.
    pub(in super::super) fn callback_reply(&self, record: &[u8], peer: &Peer) -> bool {
        let Some(outlet) = &peer.outlet else {
            return false;
        };
        let kind = record.get(KIND_AT..).and_then(<[u8]>::first_chunk);
        let (Some(kind), Some(xid)) = (kind, peek_xid(record)) else {
            return false;
        };
        if u32::from_be_bytes(*kind) != REPLY || !outlet.has_calls() {
            return false;
        }
        let Some(session) = outlet.answered(xid) else {
            // Of a session that is gone, or sent twice.
            self.counters.refused.add(1);
            return true;
        };
        let Some(back) = &session.back else {
            return true;
        };
        let mut taken = None;
        let answered = back.answer(xid, |sequenceid, notice| {
            match judge(record, &session, (sequenceid, notice)) {
                Ok((answered, status)) => {
                    taken = (answered != Answered::Fault).then_some(status);
                    answered
                }
                Err(_) => Answered::Fault,
            }
        });
        if let (Some((notice, _)), Some(taken)) = (answered, taken) {
            self.shared.notice_answered(&notice, taken);
        }
        self.shared.advance(&session);
        true
    }
}

impl Compound<'_> {
    /// Whether this server grants delegations.
    pub(super) fn delegates(&self) -> bool {
        self.cx.shared.options.delegations != Delegations::Off
    }

    /// The delegations that this OPEN may get; `None`: none at all, for the reason in its reply.
    pub(super) fn wish(&self, access: u32) -> Option<Wish> {
        let call = self.calling().filter(|_| self.delegates())?;
        let (read, write) = match access & WANTS {
            0 | share::WANT_ANY_DELEG => (true, true),
            share::WANT_READ_DELEG => (true, false),
            share::WANT_WRITE_DELEG => (false, true),
            _ => return None,
        };
        Some(Wish {
            read,
            write: write && self.cx.shared.options.delegations == Delegations::Write,
            call,
        })
    }

    /// This call, if its client can be called back.
    pub(super) fn calling(&self) -> Option<GrantingCall> {
        let session = self.session.as_ref()?;
        session.back.as_ref().filter(|back| back.is_up())?;
        let sequence = self.sequence?;
        Some(GrantingCall {
            session: session.id,
            slotid: sequence.slotid,
            sequenceid: sequence.sequenceid,
        })
    }

    /// What OPEN returns of delegations: to a client that has stated what it wants, with the reason for none.
    pub(super) fn delegation(access: u32, granted: Option<Granted>) -> OpenDelegation4<'static> {
        let none = match (access & WANTS, granted) {
            (_, Some(Ok((kind, stateid)))) => return granted_delegation(kind, stateid),
            (0, _) => return OpenDelegation4::None,
            (share::WANT_NO_DELEG, _) => OpenNoneDelegation4::NotWanted,
            (share::WANT_CANCEL, _) => OpenNoneDelegation4::Cancelled,
            (_, Some(Err(NotGranted::Contention))) => OpenNoneDelegation4::Contention(false),
            (_, Some(Err(NotGranted::Upgrade))) => OpenNoneDelegation4::NotSuppUpgrade,
            _ => OpenNoneDelegation4::Resource(false),
        };
        OpenDelegation4::NoneExt(none)
    }

    /// No delegation of another client is in the way of this use of files, and none is granted while the
    /// result lives.
    ///
    /// # Errors
    /// DELAY: delegations are recalled.
    pub(super) fn undelegated(
        &self,
        files: [Option<FileId>; 2],
        wanted: FileUse,
    ) -> Res<Option<Undelegated<'_>>> {
        if !self.delegates() {
            return Ok(None);
        }
        let shared = self.cx.shared;
        let client = self.session.as_ref().map(|session| session.client.id);
        let free = shared
            .nfs4
            .files
            .undelegated(files, client, wanted, self.now_ns);
        free.map(Some).map_err(|recalls| {
            shared.send_recalls(recalls);
            Nfsstat4::Delay
        })
    }

    pub(super) fn delegreturn(&self, args: &DelegreturnArgs) -> DelegreturnRes {
        let id = self.current()?.file_or(Nfsstat4::BadStateid)?;
        let stateid = self.resolved(&args.deleg_stateid)?;
        let files = &self.cx.shared.nfs4.files;
        files.return_delegation(&stateid, (self.client()?, id))
    }
}

/// The server reserves no space and checks every access, so the client asks for both.
fn granted_delegation(kind: DelegationKind, stateid: Stateid4) -> OpenDelegation4<'static> {
    let permissions = Nfsace4 {
        acetype: 0,
        flag: 0,
        access_mask: 0,
        who: b"OWNER@",
    };
    match kind {
        DelegationKind::Read => OpenDelegation4::Read(OpenReadDelegation4 {
            stateid,
            recall: false,
            permissions,
        }),
        DelegationKind::Write => OpenDelegation4::Write(OpenWriteDelegation4 {
            stateid,
            recall: false,
            space_limit: NfsSpaceLimit4::Size(0),
            permissions,
        }),
    }
}
