//! Answers to calls of the server on the connection (RFC 8881 section 20). The driver wants no
//! delegations and no layouts, so there is nothing to return; but a server that calls gets an
//! answer, as it may wait for one.

use super::setup::lost;
use super::state::Sessions;
use crate::driver::core::Core;
use filermark_driver_kit::sockets::Event;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::callback::{
    Args, CbSequenceArgs, CbSequenceOk, Operation, PROC_COMPOUND, PROC_NULL, VERSION,
};
use filermark_onc::nfs4::{CompoundArgs, CompoundResWriter, Nfsstat4};
use filermark_onc::record::OpenRecord;
use filermark_onc::rpc::{AcceptStat, CallHeader, ReplyHeader};
use filermark_onc::xdr::{Decoder, Encoder};

/// Offset of the message type, and its value in a call (RFC 5531 section 9).
const KIND_AT: usize = 4;
const CALL: u32 = 0;
/// Most bytes of answers that wait to be sent.
const UNSENT_MAX: usize = 256 << 10;
/// Most operations of a callback that are looked at.
const OPERATIONS_MAX: usize = 16;

/// Whether a message is a call.
#[inline]
pub(super) fn is_call(record: &[u8]) -> bool {
    let kind = record.get(KIND_AT..).and_then(<[u8]>::first_chunk);
    kind.is_some_and(|kind| u32::from_be_bytes(*kind) == CALL)
}

impl Core<Sessions> {
    /// Puts the answer to a call of the server among the messages to be sent.
    pub(super) fn answer_callback(&mut self, conn: u32, record: &[u8]) -> Event {
        let mut d = Decoder::new(record);
        let Ok(header) = CallHeader::decode(&mut d) else {
            return Event::Nothing;
        };
        let client = &mut self.own.clients[conn as usize];
        if client.unsent.len() > UNSENT_MAX {
            return lost("the server sends callbacks and does not take the answers".to_owned());
        }
        let minor = self.own.request.minor;
        let session = client.session.as_ref().map(|s| s.session.sessionid());
        let out = &mut client.unsent;
        let open = OpenRecord::begin(out);
        match header.proc {
            PROC_NULL => ReplyHeader::encode_success(out, header.xid),
            PROC_COMPOUND if matches!(header.vers, VERSION | 4) => {
                ReplyHeader::encode_success(out, header.xid);
                let number = &mut client.callback_number;
                answer_compound(&mut d, minor, session, number, out);
            }
            _ => {
                let refusal = ReplyHeader::accepted(header.xid, AcceptStat::ProcUnavail);
                Encoder::new(out).put(&refusal);
            }
        }
        open.finish(out);
        Event::Send
    }
}

/// Appends the results of a CB_COMPOUND, which has the minor version of the session's calls.
fn answer_compound(
    d: &mut Decoder<'_>,
    minor: MinorVersion,
    session: Option<[u8; 16]>,
    number: &mut u32,
    out: &mut Vec<u8>,
) {
    let Ok(args) = CompoundArgs::<Operation>::decode_callback(d) else {
        CompoundResWriter::<Operation>::begin(out, b"").finish_as(Nfsstat4::Badxdr);
        return;
    };
    let mut results = CompoundResWriter::<Operation>::begin(out, args.tag);
    if args.minorversion != minor.number() {
        results.finish_as(Nfsstat4::MinorVersMismatch);
        return;
    }
    for (at, operation) in args.take(OPERATIONS_MAX).enumerate() {
        let status = match operation {
            Ok(Args::Sequence(sequence)) if at == 0 => {
                answer_sequence(&sequence, session, number, &mut results)
            }
            Ok(other) => {
                let operation = other.operation();
                match (at, answer_status(operation)) {
                    (0, _) => results.fail(operation, Nfsstat4::OpNotInSession),
                    (_, Nfsstat4::Ok) => results.with(operation, |out| {
                        out.extend_from_slice(&Nfsstat4::Ok.to_u32().to_be_bytes());
                    }),
                    (_, status) => results.fail(operation, status),
                }
            }
            Err(error) => results.fail(error.resop(), error.status()),
        };
        if status != Nfsstat4::Ok {
            break;
        }
    }
    results.finish();
}

/// CB_SEQUENCE: one slot, in which calls are numbered from 1.
fn answer_sequence(
    args: &CbSequenceArgs<'_>,
    session: Option<[u8; 16]>,
    number: &mut u32,
    results: &mut CompoundResWriter<'_, Operation>,
) -> Nfsstat4 {
    let status = match session {
        known if known != Some(args.sessionid) => Nfsstat4::Badsession,
        _ if args.slotid != 0 => Nfsstat4::Badslot,
        // A retry gets the same answers, since no operation changes anything.
        _ if args.sequenceid == *number && *number > 0 => Nfsstat4::Ok,
        _ if args.sequenceid == number.wrapping_add(1) => Nfsstat4::Ok,
        _ => Nfsstat4::SeqMisordered,
    };
    if status != Nfsstat4::Ok {
        return results.fail(Operation::Sequence, status);
    }
    *number = args.sequenceid;
    results.result::<CbSequenceArgs<'_>>(&Ok(CbSequenceOk {
        sessionid: args.sessionid,
        sequenceid: args.sequenceid,
        slotid: 0,
        highest_slotid: 0,
        target_highest_slotid: 0,
    }))
}

/// The answer of a client without delegations and layouts.
const fn answer_status(operation: Operation) -> Nfsstat4 {
    match operation {
        Operation::Recall | Operation::Getattr => Nfsstat4::Badhandle,
        Operation::Layoutrecall => Nfsstat4::NomatchingLayout,
        Operation::RecallAny
        | Operation::RecallSlot
        | Operation::RecallableObjAvail
        | Operation::NotifyLock
        | Operation::WantsCancelled
        | Operation::Notify
        | Operation::NotifyDeviceid => Nfsstat4::Ok,
        Operation::PushDeleg => Nfsstat4::RejectDeleg,
        Operation::Sequence => Nfsstat4::SequencePos,
        Operation::Offload => Nfsstat4::BadStateid,
        Operation::Illegal => Nfsstat4::OpIllegal,
    }
}
