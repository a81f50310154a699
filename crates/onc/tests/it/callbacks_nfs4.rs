//! The arguments and results of every callback of NFSv4, from a set of field values.

use filermark_onc::nfs4::callback::*;
use filermark_onc::nfs4::{Bitmap4, Fsid4, Nfsstat4, WriteResponse4};
use filermark_onc::xdr::Array;

use crate::samples_nfs4::Pool4;

const CALLS: [ReferringCall4; 2] = [
    ReferringCall4 {
        sequenceid: 0x71,
        slotid: 0x72,
    },
    ReferringCall4 {
        sequenceid: 0x73,
        slotid: 0x74,
    },
];
static REFERRING: [ReferringCallList4<'static>; 1] = [ReferringCallList4 {
    sessionid: *b"another session.",
    referring_calls: Array::new(&CALLS).expect("two"),
}];

impl Pool4 {
    fn layoutrecall(&self) -> Layoutrecall4<'_> {
        match self.choice % 3 {
            0 => Layoutrecall4::File(LayoutrecallFile4 {
                fh: self.handle(),
                offset: self.hypers[0],
                length: self.hypers[1],
                stateid: self.stateid(0),
            }),
            1 => Layoutrecall4::Fsid(Fsid4 {
                major: self.hypers[0],
                minor: self.hypers[1],
            }),
            _ => Layoutrecall4::All,
        }
    }

    fn offload(&self) -> Result<WriteResponse4, OffloadFailed> {
        if self.choice.is_multiple_of(2) {
            return Ok(self.written());
        }
        Err(OffloadFailed {
            status: self.failure(),
            bytes_copied: self.hypers[0],
        })
    }

    /// Arguments of a callback.
    pub fn cb_args(&self, operation: Operation) -> Args<'_> {
        let (w, f, stateid) = (&self.words, &self.flags, self.stateid(0));
        match operation {
            Operation::Getattr => Args::Getattr(CbGetattrArgs {
                fh: self.handle(),
                attr_request: self.bitmap(),
            }),
            Operation::Recall => Args::Recall(CbRecallArgs {
                stateid,
                truncate: f[0],
                fh: self.handle(),
            }),
            Operation::Layoutrecall => Args::Layoutrecall(CbLayoutrecallArgs {
                layout_type: 77,
                iomode: self.iomode(),
                changed: f[0],
                recall: self.layoutrecall(),
            }),
            Operation::Notify => Args::Notify(CbNotifyArgs {
                stateid,
                fh: self.handle(),
                changes: Array::EMPTY,
            }),
            Operation::PushDeleg => Args::PushDeleg(CbPushDelegArgs {
                fh: self.handle(),
                delegation: self.delegation(),
            }),
            Operation::RecallAny => Args::RecallAny(CbRecallAnyArgs {
                objects_to_keep: w[0],
                type_mask: Bitmap4::EMPTY.with_bit(0),
            }),
            Operation::RecallableObjAvail => Args::RecallableObjAvail(CbRecallableObjAvailArgs {
                objects_to_keep: w[0],
                type_mask: Bitmap4::EMPTY.with_bit(1),
            }),
            Operation::RecallSlot => Args::RecallSlot(CbRecallSlotArgs {
                target_highest_slotid: w[0],
            }),
            Operation::Sequence => Args::Sequence(CbSequenceArgs {
                sessionid: self.id16,
                sequenceid: w[0],
                slotid: w[1],
                highest_slotid: w[2],
                cachethis: f[0],
                referring_call_lists: Array::new(&REFERRING).expect("few"),
            }),
            Operation::WantsCancelled => Args::WantsCancelled(CbWantsCancelledArgs {
                contended: f[0],
                resourced: f[1],
            }),
            Operation::NotifyLock => Args::NotifyLock(CbNotifyLockArgs {
                fh: self.handle(),
                lock_owner: self.owner(),
            }),
            Operation::NotifyDeviceid => Args::NotifyDeviceid(CbNotifyDeviceidArgs {
                changes: Array::EMPTY,
            }),
            Operation::Offload => Args::Offload(CbOffloadArgs {
                fh: self.handle(),
                stateid,
                offload_info: self.offload(),
            }),
            Operation::Illegal => Args::Illegal(CbIllegalArgs {}),
        }
    }

    /// Results of a callback that succeeded.
    pub fn cb_ok(&self, operation: Operation) -> Results<'_> {
        let w = &self.words;
        match operation {
            Operation::Getattr => Results::Getattr(Ok(CbGetattrOk {
                obj_attributes: self.attrs(),
            })),
            Operation::Recall => Results::Recall(Ok(())),
            Operation::Layoutrecall => Results::Layoutrecall(Ok(())),
            Operation::Notify => Results::Notify(Ok(())),
            Operation::PushDeleg => Results::PushDeleg(Ok(())),
            Operation::RecallAny => Results::RecallAny(Ok(())),
            Operation::RecallableObjAvail => Results::RecallableObjAvail(Ok(())),
            Operation::RecallSlot => Results::RecallSlot(Ok(())),
            Operation::Sequence => Results::Sequence(Ok(CbSequenceOk {
                sessionid: self.id16,
                sequenceid: w[0],
                slotid: w[1],
                highest_slotid: w[2],
                target_highest_slotid: w[3],
            })),
            Operation::WantsCancelled => Results::WantsCancelled(Ok(())),
            Operation::NotifyLock => Results::NotifyLock(Ok(())),
            Operation::NotifyDeviceid => Results::NotifyDeviceid(Ok(())),
            Operation::Offload => Results::Offload(Ok(())),
            Operation::Illegal => Results::Illegal(Err(Nfsstat4::OpIllegal)),
        }
    }

    /// Results of a callback that failed.
    pub fn cb_failed(&self, operation: Operation) -> Results<'_> {
        let status = self.failure();
        match operation {
            Operation::Getattr => Results::Getattr(Err(status)),
            Operation::Recall => Results::Recall(Err(status)),
            Operation::Layoutrecall => Results::Layoutrecall(Err(status)),
            Operation::Notify => Results::Notify(Err(status)),
            Operation::PushDeleg => Results::PushDeleg(Err(status)),
            Operation::RecallAny => Results::RecallAny(Err(status)),
            Operation::RecallableObjAvail => Results::RecallableObjAvail(Err(status)),
            Operation::RecallSlot => Results::RecallSlot(Err(status)),
            Operation::Sequence => Results::Sequence(Err(status)),
            Operation::WantsCancelled => Results::WantsCancelled(Err(status)),
            Operation::NotifyLock => Results::NotifyLock(Err(status)),
            Operation::NotifyDeviceid => Results::NotifyDeviceid(Err(status)),
            Operation::Offload => Results::Offload(Err(status)),
            Operation::Illegal => Results::Illegal(Err(Nfsstat4::OpIllegal)),
        }
    }
}
