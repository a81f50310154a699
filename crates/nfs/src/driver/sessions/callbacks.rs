//! Answers to calls of the server on the connection (RFC 8881 section 20): recalls of delegations
//! and layouts, the end of copies, and what else a server may call, as it may wait for an answer.

use super::setup::lost;
use super::state::Sessions;
use crate::driver::core::Core;
use filermark_driver_kit::sockets::Event;
use filermark_onc::nfs4::callback::{
    Args, CbGetattrArgs, CbGetattrOk, CbSequenceArgs, CbSequenceOk, Operation, PROC_COMPOUND,
    PROC_NULL, VERSION,
};
use filermark_onc::nfs4::{
    Attribute, Attributes, CompoundArgs, CompoundResWriter, Fattr4, Nfsstat4,
};
use filermark_onc::record::OpenRecord;
use filermark_onc::rpc::{AcceptStat, CallHeader, ReplyHeader};
use filermark_onc::xdr::{Decoder, Encoder};

/// Offset of the message type, and its value in a call (RFC 5531 section 9).
const KIND_AT: usize = 4;
const CALL: u32 = 0;
/// Most bytes of answers that wait to be sent.
const UNSENT_MAX: usize = 256 << 10;
/// Bits of CB_RECALL_ANY: delegations for reading and for writing (RFC 8881 section 20.6.1).
const READ_BIT: u32 = 0;
const WRITE_BIT: u32 = 1;
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
        let of = self.own.conn(conn);
        if of.unsent.len() > UNSENT_MAX {
            return lost("the server sends callbacks and does not take the answers".to_owned());
        }
        // Out of its place while the tables are looked at.
        let mut out = std::mem::take(&mut of.unsent);
        let open = OpenRecord::begin(&mut out);
        match header.proc {
            PROC_NULL => ReplyHeader::encode_success(&mut out, header.xid),
            PROC_COMPOUND if matches!(header.vers, VERSION | 4) => {
                ReplyHeader::encode_success(&mut out, header.xid);
                self.answer_compound(conn, &mut d, &mut out);
            }
            _ => {
                let refusal = ReplyHeader::accepted(header.xid, AcceptStat::ProcUnavail);
                Encoder::new(&mut out).put(&refusal);
            }
        }
        open.finish(&mut out);
        self.own.conn(conn).unsent = out;
        if self.own.client(conn).has_recalls {
            self.return_recalled(conn);
        }
        Event::Send
    }

    /// Appends the results of a CB_COMPOUND, which has the minor version of the session's calls.
    fn answer_compound(&mut self, conn: u32, d: &mut Decoder<'_>, out: &mut Vec<u8>) {
        let Ok(mut args) = CompoundArgs::<Operation>::decode_callback(d) else {
            CompoundResWriter::<Operation>::begin(out, b"").finish_as(Nfsstat4::Badxdr);
            return;
        };
        let results_at = out.len();
        let mut results = CompoundResWriter::<Operation>::begin(out, args.tag);
        if args.minorversion != self.own.request.minor.number() {
            results.finish_as(Nfsstat4::MinorVersMismatch);
            return;
        }
        let number = match args.next() {
            None => {
                results.finish();
                return;
            }
            Some(Ok(Args::Sequence(sequence))) => {
                match self.judge_sequence_of(conn, &sequence) {
                    Numbered::New => {}
                    Numbered::Again => {
                        results.replace(results_at, &self.own.client(conn).callback_results);
                        return;
                    }
                    Numbered::Refused(status) => {
                        results.fail(Operation::Sequence, status);
                        results.finish();
                        return;
                    }
                }
                results.result::<CbSequenceArgs<'_>>(&Ok(CbSequenceOk {
                    sessionid: sequence.sessionid,
                    sequenceid: sequence.sequenceid,
                    slotid: 0,
                    highest_slotid: 0,
                    target_highest_slotid: 0,
                }));
                sequence.sequenceid
            }
            Some(Ok(other)) => {
                results.fail(other.operation(), Nfsstat4::OpNotInSession);
                results.finish();
                return;
            }
            Some(Err(error)) => {
                results.fail(error.resop(), error.status());
                results.finish();
                return;
            }
        };
        for operation in args.take(OPERATIONS_MAX) {
            let status = match operation {
                Ok(args) => self.execute_callback(conn, &args, &mut results),
                Err(error) => results.fail(error.resop(), error.status()),
            };
            if status != Nfsstat4::Ok {
                break;
            }
        }
        let kept = results.finish_from(results_at);
        let client = self.own.client(conn);
        client.callback_number = number;
        client.callback_results.clear();
        client.callback_results.extend_from_slice(kept);
    }

    /// CB_SEQUENCE: one slot, in which calls are numbered from 1.
    fn judge_sequence_of(&mut self, conn: u32, args: &CbSequenceArgs<'_>) -> Numbered {
        let client = self.own.client(conn);
        let session = client.session.as_ref().map(|s| s.session.sessionid());
        let number = client.callback_number;
        match session {
            known if known != Some(args.sessionid) => Numbered::Refused(Nfsstat4::Badsession),
            _ if args.slotid != 0 => Numbered::Refused(Nfsstat4::Badslot),
            _ if args.sequenceid == number && number > 0 => Numbered::Again,
            _ if args.sequenceid == number.wrapping_add(1) => Numbered::New,
            _ => Numbered::Refused(Nfsstat4::SeqMisordered),
        }
    }

    /// Executes an operation and appends its results.
    fn execute_callback(
        &mut self,
        conn: u32,
        args: &Args<'_>,
        results: &mut CompoundResWriter<'_, Operation>,
    ) -> Nfsstat4 {
        let operation = args.operation();
        let status = match args {
            Args::Recall(args) => self.recall(conn, &args.stateid),
            Args::RecallAny(args) => {
                let kinds = (
                    args.type_mask.has_bit(READ_BIT),
                    args.type_mask.has_bit(WRITE_BIT),
                );
                self.recall_any(conn, args.objects_to_keep, kinds);
                Nfsstat4::Ok
            }
            Args::Layoutrecall(args) => self.recall_layouts(conn, args),
            Args::Offload(args) => self.offload_ended(conn, args),
            Args::Getattr(args) => match self.delegated_attributes(conn, args) {
                None => Nfsstat4::Badhandle,
                Some((change, size)) => {
                    let asked = |attribute| args.attr_request.has(attribute);
                    let values = Attributes {
                        change: asked(Attribute::Change).then_some(change),
                        size: asked(Attribute::Size).then_some(size),
                        ..Attributes::default()
                    };
                    return results.result::<CbGetattrArgs<'_>>(&Ok(CbGetattrOk {
                        obj_attributes: Fattr4::new(&values),
                    }));
                }
            },
            _ => answer_status(operation),
        };
        match status {
            Nfsstat4::Ok => results.with(operation, |out| {
                out.extend_from_slice(&Nfsstat4::Ok.to_u32().to_be_bytes());
            }),
            status => results.fail(operation, status),
        }
    }
}

/// How a callback is numbered.
enum Numbered {
    New,
    /// The last one, sent again: it gets the same results.
    Again,
    Refused(Nfsstat4),
}

/// The answer to what has nothing to do with delegations and layouts.
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
