//! The program of callbacks (RFC 8881 section 20, RFC 7862 section 16): a server calls a client. Its number
//! is what the client sent in CREATE_SESSION or SETCLIENTID.
//!
//! As in the other direction there are NULL and COMPOUND; the COMPOUNDs are written and read with
//! [`CompoundWriter::begin_callback`](super::CompoundWriter::begin_callback) and
//! [`CompoundArgs::decode_callback`](super::CompoundArgs::decode_callback).

use super::attribute::Bitmap4;
use super::basic::Fsid4;
use super::delegation::OpenDelegation4;
use super::fattr::Fattr4;
use super::layout::Layoutiomode4;
use super::space::WriteResponse4;
use super::state::{Sessionid4, StateOwner4, Stateid4};
use super::status::{Nfsstat4, Res};
use super::{FileHandle4, MAX_ATTRIBUTES, MAX_ITEMS};
use crate::xdr::{Array, DecodeError, DecodeFailure, Decoder, Encode, Encoder};

/// Version of the program in minor version 1 and later; 4 is tolerated.
pub const VERSION: u32 = 1;
/// The procedure CB_NULL, which does nothing.
pub const PROC_NULL: u32 = 0;
/// The procedure CB_COMPOUND.
pub const PROC_COMPOUND: u32 = 1;

xdr_struct! {
    /// Arguments of CB_GETATTR.
    pub struct CbGetattrArgs<'a> {
        /// A file with a delegation for writing.
        fh: FileHandle4<'a>,
        /// The attributes asked for.
        attr_request: Bitmap4,
    }
}

xdr_struct! {
    /// What CB_GETATTR returns.
    pub struct CbGetattrOk<'a> {
        /// The attributes.
        obj_attributes: Fattr4<'a>,
    }
}

/// Results of CB_GETATTR.
pub type CbGetattrRes<'a> = Res<CbGetattrOk<'a>>;

xdr_struct! {
    /// Arguments of CB_RECALL.
    pub struct CbRecallArgs<'a> {
        /// The delegation.
        stateid: Stateid4,
        /// Whether the file is about to be cut off.
        truncate: bool,
        /// The file.
        fh: FileHandle4<'a>,
    }
}

/// Results of CB_RECALL.
pub type CbRecallRes = Res<()>;

xdr_struct! {
    /// `layoutrecall_file4`: layouts of a file.
    pub struct LayoutrecallFile4<'a> {
        /// The file.
        fh: FileHandle4<'a>,
        /// From this byte.
        offset: u64,
        /// This many bytes; all ones for "to the end".
        length: u64,
        /// The layout.
        stateid: Stateid4,
    }
}

xdr_union! {
    /// `layoutrecall4`: which layouts are recalled.
    pub enum Layoutrecall4<'a> {
        /// Of a file.
        File(LayoutrecallFile4<'a>) = 1,
        /// Of a file system.
        Fsid(Fsid4) = 2,
        /// All.
        All = 3,
    }
}

xdr_struct! {
    /// Arguments of CB_LAYOUTRECALL.
    pub struct CbLayoutrecallArgs<'a> {
        /// A number of [`super::layout_type`].
        layout_type: u32,
        /// For which access.
        iomode: Layoutiomode4,
        /// Whether the layout changed, so that nothing shall be written with it.
        changed: bool,
        /// Which.
        recall: Layoutrecall4<'a>,
    }
}

/// Results of CB_LAYOUTRECALL.
pub type CbLayoutrecallRes = Res<()>;

xdr_struct! {
    /// `notify4`: a change, in the form of its kind.
    pub struct Notify4<'a> {
        /// Kinds.
        mask: Bitmap4,
        /// The changes.
        vals: &'a [u8] => MAX_ATTRIBUTES,
    }
}

xdr_struct! {
    /// Arguments of CB_NOTIFY.
    pub struct CbNotifyArgs<'a> {
        /// The delegation of the directory.
        stateid: Stateid4,
        /// The directory.
        fh: FileHandle4<'a>,
        /// The changes.
        changes: Array<'a, Notify4<'a>, MAX_ITEMS>,
    }
}

/// Results of CB_NOTIFY.
pub type CbNotifyRes = Res<()>;

xdr_struct! {
    /// Arguments of CB_PUSH_DELEG.
    pub struct CbPushDelegArgs<'a> {
        /// The file.
        fh: FileHandle4<'a>,
        /// The delegation.
        delegation: OpenDelegation4<'a>,
    }
}

/// Results of CB_PUSH_DELEG.
pub type CbPushDelegRes = Res<()>;

xdr_struct! {
    /// Arguments of CB_RECALL_ANY.
    pub struct CbRecallAnyArgs {
        /// How many the client may keep.
        objects_to_keep: u32,
        /// Kinds of delegations and layouts.
        type_mask: Bitmap4,
    }
}

/// Results of CB_RECALL_ANY.
pub type CbRecallAnyRes = Res<()>;

xdr_struct! {
    /// Arguments of CB_RECALLABLE_OBJ_AVAIL.
    pub struct CbRecallableObjAvailArgs {
        /// How many the client may keep.
        objects_to_keep: u32,
        /// Kinds of delegations and layouts.
        type_mask: Bitmap4,
    }
}

/// Results of CB_RECALLABLE_OBJ_AVAIL.
pub type CbRecallableObjAvailRes = Res<()>;

xdr_struct! {
    /// Arguments of CB_RECALL_SLOT.
    pub struct CbRecallSlotArgs {
        /// The highest slot that the client may use.
        target_highest_slotid: u32,
    }
}

/// Results of CB_RECALL_SLOT.
pub type CbRecallSlotRes = Res<()>;

xdr_struct! {
    /// `referring_call4`: a call that may still be in progress.
    pub struct ReferringCall4 {
        /// Sequence number of the slot.
        sequenceid: u32,
        /// The slot.
        slotid: u32,
    }
}

xdr_struct! {
    /// `referring_call_list4`: calls of a session.
    pub struct ReferringCallList4<'a> {
        /// The session.
        sessionid: Sessionid4,
        /// The calls.
        referring_calls: Array<'a, ReferringCall4, MAX_ITEMS>,
    }
}

xdr_struct! {
    /// Arguments of CB_SEQUENCE.
    pub struct CbSequenceArgs<'a> {
        /// The session.
        sessionid: Sessionid4,
        /// Sequence number of the slot.
        sequenceid: u32,
        /// The slot.
        slotid: u32,
        /// The highest slot in use.
        highest_slotid: u32,
        /// Whether the reply shall be kept for a retry.
        cachethis: bool,
        /// Calls that the callback is about.
        referring_call_lists: Array<'a, ReferringCallList4<'a>, MAX_ITEMS>,
    }
}

xdr_struct! {
    /// What CB_SEQUENCE returns.
    pub struct CbSequenceOk {
        /// The session.
        sessionid: Sessionid4,
        /// Sequence number of the slot.
        sequenceid: u32,
        /// The slot.
        slotid: u32,
        /// The highest slot that the client has.
        highest_slotid: u32,
        /// The highest slot that the server shall use.
        target_highest_slotid: u32,
    }
}

/// Results of CB_SEQUENCE.
pub type CbSequenceRes = Res<CbSequenceOk>;

xdr_struct! {
    /// Arguments of CB_WANTS_CANCELLED.
    pub struct CbWantsCancelledArgs {
        /// Delegations that others use are not pushed any more.
        contended: bool,
        /// Delegations for which there were no resources are not signaled any more.
        resourced: bool,
    }
}

/// Results of CB_WANTS_CANCELLED.
pub type CbWantsCancelledRes = Res<()>;

xdr_struct! {
    /// Arguments of CB_NOTIFY_LOCK.
    pub struct CbNotifyLockArgs<'a> {
        /// The file.
        fh: FileHandle4<'a>,
        /// Whose lock may be granted now.
        lock_owner: StateOwner4<'a>,
    }
}

/// Results of CB_NOTIFY_LOCK.
pub type CbNotifyLockRes = Res<()>;

xdr_struct! {
    /// Arguments of CB_NOTIFY_DEVICEID.
    pub struct CbNotifyDeviceidArgs<'a> {
        /// The changes.
        changes: Array<'a, Notify4<'a>, MAX_ITEMS>,
    }
}

/// Results of CB_NOTIFY_DEVICEID.
pub type CbNotifyDeviceidRes = Res<()>;

/// The work failed (`offload_info4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffloadFailed {
    /// Why; never [`Nfsstat4::Ok`].
    pub status: Nfsstat4,
    /// How many bytes were written.
    pub bytes_copied: u64,
}

impl Encode for OffloadFailed {
    fn encode(&self, e: &mut Encoder<'_>) {
        e.put(&self.status);
        e.u64(self.bytes_copied);
    }
}

impl DecodeFailure<'_> for OffloadFailed {
    const STATUS: &'static str = "nfsstat4";

    fn decode_failure(status: u32, d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            status: Nfsstat4::from_u32(status),
            bytes_copied: d.u64("OffloadFailed.bytes_copied")?,
        })
    }
}

xdr_struct! {
    /// Arguments of CB_OFFLOAD.
    pub struct CbOffloadArgs<'a> {
        /// The target.
        fh: FileHandle4<'a>,
        /// The work.
        stateid: Stateid4,
        /// What became of it.
        offload_info: Result<WriteResponse4, OffloadFailed>,
    }
}

/// Results of CB_OFFLOAD.
pub type CbOffloadRes = Res<()>;

xdr_struct! {
    /// Arguments of CB_ILLEGAL: none.
    pub struct CbIllegalArgs {}
}

/// Results of CB_ILLEGAL.
pub type CbIllegalRes = Res<()>;

xdr_operations! {
    /// Asks for attributes of a file with a delegation.
    Getattr = 3 "CB_GETATTR" [0 2] (CbGetattrArgs<'a>) -> CbGetattrRes<'r>;
    /// Recalls a delegation.
    Recall = 4 "CB_RECALL" [0 2] (CbRecallArgs<'a>) -> CbRecallRes;
    /// Recalls layouts.
    Layoutrecall = 5 "CB_LAYOUTRECALL" [1 2] (CbLayoutrecallArgs<'a>) -> CbLayoutrecallRes;
    /// Reports changes of a directory.
    Notify = 6 "CB_NOTIFY" [1 2] (CbNotifyArgs<'a>) -> CbNotifyRes;
    /// Gives a delegation that was wanted.
    PushDeleg = 7 "CB_PUSH_DELEG" [1 2] (CbPushDelegArgs<'a>) -> CbPushDelegRes;
    /// Asks for delegations and layouts back.
    RecallAny = 8 "CB_RECALL_ANY" [1 2] (CbRecallAnyArgs) -> CbRecallAnyRes;
    /// Signals that delegations can be had.
    RecallableObjAvail = 9 "CB_RECALLABLE_OBJ_AVAIL" [1 2] (CbRecallableObjAvailArgs) -> CbRecallableObjAvailRes;
    /// Takes slots back.
    RecallSlot = 10 "CB_RECALL_SLOT" [1 2] (CbRecallSlotArgs) -> CbRecallSlotRes;
    /// Names session and slot.
    Sequence = 11 "CB_SEQUENCE" [1 2] (CbSequenceArgs<'a>) -> CbSequenceRes;
    /// Takes a promise of delegations back.
    WantsCancelled = 12 "CB_WANTS_CANCELLED" [1 2] (CbWantsCancelledArgs) -> CbWantsCancelledRes;
    /// Reports that a lock may be granted now.
    NotifyLock = 13 "CB_NOTIFY_LOCK" [1 2] (CbNotifyLockArgs<'a>) -> CbNotifyLockRes;
    /// Reports changes of data servers.
    NotifyDeviceid = 14 "CB_NOTIFY_DEVICEID" [1 2] (CbNotifyDeviceidArgs<'a>) -> CbNotifyDeviceidRes;
    /// Reports the end of work.
    Offload = 15 "CB_OFFLOAD" [2 2] (CbOffloadArgs<'a>) -> CbOffloadRes;
    /// Stands for an operation that does not exist.
    Illegal = 10044 "CB_ILLEGAL" [0 2] (CbIllegalArgs) -> CbIllegalRes;
}
