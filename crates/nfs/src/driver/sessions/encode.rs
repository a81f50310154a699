//! Which call is sent next, its slot, and its bytes. A call that is sent again is encoded
//! again, with the same slot and sequence number as long as the session is the same.

use super::compounds::{self, StateCall};
use super::opening::Prepared;
use super::owners::OwnerName;
use super::state::{SessionCall, Sessions};
use super::work_calls::Work;
use crate::driver::calls::Call;
use crate::driver::core::Core;
use crate::driver::counters::Tally;
use crate::driver::encode::{ALL_RIGHTS, DIR_MODE, FILE_MODE, symlink_text};
use crate::driver::ops::LogicalOp;
use crate::driver::request::{fills, new_size};
use crate::version4::begin_compound;
use filermark_engine::driver::Action;
use filermark_model::plan::DelegationUse;
use filermark_onc::nfs3::Procedure;
use filermark_onc::nfs4::*;
use filermark_onc::xdr::Encoder;

/// READDIR: bytes of names and cookies, the number that other clients request.
const DIRCOUNT: u32 = 4096;
/// The smallest list that is asked for, in bytes.
const READDIR_LEAST: u32 = 1024;
/// Bytes of a READDIR reply beside `READDIR4resok`.
const REPLY_BYTES: u32 = 512;

/// The attributes that clients ask for with most operations: those of a `stat`.
const FILE_ATTRIBUTES: Bitmap4 = Bitmap4::of(&[
    Attribute::Type,
    Attribute::Change,
    Attribute::Size,
    Attribute::Fsid,
    Attribute::Fileid,
    Attribute::Mode,
    Attribute::Numlinks,
    Attribute::Owner,
    Attribute::OwnerGroup,
    Attribute::Rawdev,
    Attribute::SpaceUsed,
    Attribute::TimeAccess,
    Attribute::TimeMetadata,
    Attribute::TimeModify,
]);
/// READDIR: what version 3 returns for each entry.
const ENTRY_ATTRIBUTES: Bitmap4 =
    Bitmap4::of(&[Attribute::RdattrError, Attribute::MountedOnFileid]);
/// FSSTAT.
const SPACE_ATTRIBUTES: Bitmap4 = Bitmap4::of(&[
    Attribute::FilesAvail,
    Attribute::FilesFree,
    Attribute::FilesTotal,
    Attribute::SpaceAvail,
    Attribute::SpaceFree,
    Attribute::SpaceTotal,
]);
/// FSINFO.
const LIMIT_ATTRIBUTES: Bitmap4 = Bitmap4::of(&[
    Attribute::LinkSupport,
    Attribute::SymlinkSupport,
    Attribute::LeaseTime,
    Attribute::Cansettime,
    Attribute::Homogeneous,
    Attribute::Maxfilesize,
    Attribute::Maxread,
    Attribute::Maxwrite,
    Attribute::TimeDelta,
]);
/// PATHCONF.
const NAME_ATTRIBUTES: Bitmap4 = Bitmap4::of(&[
    Attribute::CaseInsensitive,
    Attribute::CasePreserving,
    Attribute::ChownRestricted,
    Attribute::Maxlink,
    Attribute::Maxname,
    Attribute::NoTrunc,
]);

pub(super) const GETATTR: GetattrArgs = GetattrArgs {
    attr_request: FILE_ATTRIBUTES,
};

impl Core<Sessions> {
    /// Appends the next call of a connection that may be sent now; returns whether there was
    /// one.
    pub(super) fn encode_session_call(&mut self, conn: u32, out: &mut Vec<u8>) -> bool {
        let is_encoded = self.encode_first(conn, out);
        if !is_encoded {
            self.pass_on_slots(conn);
        }
        is_encoded
    }

    fn encode_first(&mut self, conn: u32, out: &mut Vec<u8>) -> bool {
        while let Some(slot) = self.calls.next_to_encode(conn) {
            match self.prepare(slot) {
                Prepared::Ready => {}
                Prepared::Parked => continue,
                Prepared::Blocked => return false,
            }
            if !self.take_slot(slot) {
                return false;
            }
            self.encode_compound(slot, out);
            return true;
        }
        // Nothing waits any more.
        self.own.conn(conn).full_since = None;
        false
    }

    /// Gives a call its slot of the session; `false`: none is free.
    fn take_slot(&mut self, slot: u32) -> bool {
        if !self.own.has_sessions() {
            return self.prepare_without_session(slot);
        }
        let now = self.state.now;
        let call = self.calls.get_mut(slot);
        if !compounds::needs_slot(call) {
            return true;
        }
        let conn = call.conn;
        let place = self.own.place(conn);
        let client = &mut self.own.clients[place];
        if call.own.slot.is_some() && call.own.session != client.number {
            call.own.slot = None;
            // The earlier session may have executed it.
            call.own.is_repeated |= call.on_wire;
        }
        if !client.has_session() {
            return false;
        }
        let Some(established) = &mut client.session else {
            return false;
        };
        if call.own.slot.is_none() {
            let Some(taken) = established.session.take_slot() else {
                self.own.block(conn, now);
                return false;
            };
            call.own.slot = Some(taken);
            call.own.session = client.number;
            if let Some(since) = self.own.conns[conn as usize].full_since {
                let waited_us = now.since(since.max(call.first)).0 / 1_000;
                self.counters.add(Tally::SlotWaits);
                self.counters.add_many(Tally::SlotWaitTime, waited_us);
            }
        }
        client.last_call = now;
        true
    }

    /// The server has refused SEQUENCE for now: the call keeps its slot while it waits.
    pub(super) fn delayed(&mut self, slot: u32) {
        let call = self.calls.get_mut(slot);
        if call.own.slot.is_none() {
            return;
        }
        // The server may execute an earlier transmission still.
        call.own.is_repeated |= call.retransmitted;
        call.on_wire = call.retransmitted;
    }

    /// A call that has a slot does not wait behind those that wait for one.
    pub(super) fn queue_first(&mut self, slot: u32) {
        if self.calls.get(slot).own.slot.is_some() {
            self.calls.requeue(slot);
        }
    }

    /// Appends a call.
    fn encode_compound(&mut self, slot: u32, out: &mut Vec<u8>) {
        let mut stateid = self.stateid_for(slot);
        if self.own.has_sessions() {
            // The latest state of an open (RFC 8881 section 8.2.2).
            stateid.seqid = 0;
        }
        if self.calls.get(slot).own.kind == Some(StateCall::Work(Work::ReadBack)) {
            self.note_asked(self.calls.get(slot).op);
        }
        let call = self.calls.get(slot);
        let op = self.ops.get(call.op);
        if compounds::is_null(call) {
            self.template.begin(out, call.xid, PROC_NULL).finish(out);
            return;
        }
        let record = self.template.begin(out, call.xid, PROC_COMPOUND);
        let client = self.own.client_of(call.conn);
        let mut compound = match (call.own.slot, &client.session) {
            (Some(taken), Some(established)) => {
                let session = &established.session;
                let sequence = session.sequence(taken, compounds::is_cached(call));
                CompoundWriter::begin_in_session(out, session.minor().number(), &sequence)
            }
            _ => begin_compound(out, self.own.request.minor),
        };
        match call.own.kind {
            Some(StateCall::Work(work)) => {
                self.encode_work(work, call, op, stateid, &mut compound);
            }
            Some(kind) => self.encode_own(kind, call, op, &mut compound),
            None => self.encode_operations(call, op, stateid, &mut compound),
        }
        compound.finish();
        record.finish(out);
    }

    /// The stateid of a call that has one.
    fn stateid_for(&mut self, slot: u32) -> Stateid4 {
        let call = self.calls.get(slot);
        let op = self.ops.get(call.op);
        match (call.own.kind, call.procedure) {
            (None, Procedure::Read | Procedure::Write) => self.use_open(slot),
            (Some(StateCall::Work(work)), _) if work.uses_open() => self.use_open(slot),
            (None, Procedure::Setattr) => match op.action {
                Action::Setattr { object, .. } => self.stateid_of(op.proc, object),
                _ => Stateid4::ANONYMOUS,
            },
            (None, Procedure::Create) => {
                let (op, conn) = (call.op, call.conn);
                if !call.on_wire {
                    self.make_space(op, conn);
                }
                Stateid4::ANONYMOUS
            }
            _ => Stateid4::ANONYMOUS,
        }
    }

    /// The operations of the calls that keep the state.
    fn encode_own(
        &self,
        kind: StateCall,
        call: &Call<SessionCall>,
        op: &LogicalOp,
        compound: &mut CompoundWriter<'_, Operation>,
    ) {
        let client = self.own.client_of(call.conn);
        match kind {
            StateCall::Open(key) => {
                let owner = self.owner_name(call, op.proc);
                let file = self.own.opens[op.proc as usize].get(key);
                let access = file.map_or(share::BOTH, |file| file.access);
                let open = self.open_args(call, access, &owner, Openflag4::NoCreate);
                if self.own.has_sessions() {
                    let handle = self.handle_of(op.proc, key);
                    compound.op(&putfh(handle.handle())).op(&open);
                } else if let Some(place) = self.name_of(op.proc, key) {
                    let claim = OpenClaim4::Null(place.text.as_bytes());
                    compound
                        .op(&putfh(place.dir))
                        .op(&OpenArgs { claim, ..open });
                } else {
                    let handle = self.handle_of(op.proc, key);
                    let claim = OpenClaim4::Null(b"");
                    compound
                        .op(&putfh(handle.handle()))
                        .op(&OpenArgs { claim, ..open });
                }
                compound.op(&GETATTR);
            }
            StateCall::Confirm(key) => {
                let handle = self.handle_of(op.proc, key);
                let (open_stateid, seqid) = self.unconfirmed(op.proc, key);
                compound.op(&putfh(handle.handle())).op(&OpenConfirmArgs {
                    open_stateid,
                    seqid,
                });
            }
            StateCall::Close(place) => {
                if let Some(closing) = self.own.closing(place) {
                    compound.op(&putfh(closing.handle.handle())).op(&CloseArgs {
                        seqid: closing.owner.map_or(0, |owner| owner.seqid),
                        open_stateid: closing.stateid,
                    });
                }
            }
            StateCall::Renew if self.own.has_sessions() => {}
            StateCall::Renew => {
                let clientid = self.clientid(call.conn);
                compound.op(&RenewArgs { clientid });
            }
            // It is encoded by `encode_work`.
            StateCall::Work(_) => {}
            StateCall::Return(place) => {
                if let Some(returned) = self.own.closing(place) {
                    compound
                        .op(&putfh(returned.handle.handle()))
                        .op(&DelegreturnArgs {
                            deleg_stateid: returned.stateid,
                        });
                }
            }
            StateCall::Free(place) => {
                if let Some(revoked) = self.own.closing(place) {
                    let stateid = revoked.stateid;
                    compound.op(&FreeStateidArgs { stateid });
                }
            }
            StateCall::Layoutget(place, access) => {
                self.encode_layoutget(place, access, compound);
            }
            StateCall::Getdeviceinfo(device) => {
                self.encode_getdeviceinfo(call.conn, device, compound);
            }
            StateCall::CommitLayout(place) => self.encode_layoutcommit(place, compound),
            StateCall::ReturnLayout(place, commits) => {
                if let Some(returned) = self.own.closing(place) {
                    compound.op(&putfh(returned.handle.handle()));
                    self.encode_return(&returned, commits, compound);
                }
            }
            StateCall::CloseReturning(place, commits) => {
                if let Some(closing) = self.own.closing(place) {
                    compound.op(&putfh(closing.handle.handle()));
                    self.encode_return(&closing, commits, compound);
                    compound.op(&CloseArgs {
                        seqid: 0,
                        open_stateid: closing.stateid,
                    });
                }
            }
            StateCall::DestroySession => {
                let sessionid = client.to_be_destroyed().unwrap_or_default();
                compound.op(&DestroySessionArgs { sessionid });
            }
            StateCall::ReleaseOwner { proc, number } => {
                let owner = OwnerName::of_locks(self.own.owners[proc as usize], number);
                compound.op(&ReleaseLockownerArgs {
                    lock_owner: StateOwner4 {
                        clientid: self.clientid(call.conn),
                        owner: owner.as_bytes(),
                    },
                });
            }
            StateCall::DestroyClientid => {
                let clientid = self.clientid(call.conn);
                compound.op(&DestroyClientidArgs { clientid });
            }
        }
    }

    /// The operations that stand for a procedure of version 3.
    fn encode_operations(
        &self,
        call: &Call<SessionCall>,
        op: &LogicalOp,
        stateid: Stateid4,
        compound: &mut CompoundWriter<'_, Operation>,
    ) {
        let object = putfh(self.object(op));
        match call.procedure {
            Procedure::Null => {}
            Procedure::Getattr => {
                compound.op(&object).op(&GETATTR);
            }
            Procedure::Fsstat => self.encode_fs(op, SPACE_ATTRIBUTES, compound),
            Procedure::Fsinfo => self.encode_fs(op, LIMIT_ATTRIBUTES, compound),
            Procedure::Pathconf => self.encode_fs(op, NAME_ATTRIBUTES, compound),
            Procedure::Setattr => {
                let values = match new_size(op) {
                    Some(size) => size_attribute(size),
                    None => mode_attribute(DIR_MODE),
                };
                let args = SetattrArgs {
                    stateid,
                    obj_attributes: Fattr4::new(&values),
                };
                compound.op(&object).op(&args).op(&GETATTR);
            }
            Procedure::Access => {
                let args = AccessArgs { access: ALL_RIGHTS };
                compound.op(&object).op(&args).op(&GETATTR);
            }
            Procedure::Readlink => {
                compound.op(&object).op(&ReadlinkArgs {});
            }
            Procedure::Read => {
                let (offset, count) = (call.offset, call.length);
                let args = ReadArgs {
                    stateid,
                    offset,
                    count,
                };
                let file = putfh(self.written_file(call, op).0);
                match call.own.is_plus {
                    true => compound.op(&file).op(&ReadPlusArgs {
                        stateid,
                        offset,
                        count,
                    }),
                    false => compound.op(&file).op(&args),
                };
            }
            Procedure::Write => self.encode_write4(call, op, stateid, compound),
            Procedure::Commit => {
                let (offset, count) = (call.offset, call.length);
                let file = self.written_file(call, op).0;
                compound.op(&putfh(file)).op(&CommitArgs { offset, count });
            }
            Procedure::Readdir | Procedure::Readdirplus => {
                self.encode_listing(call, op, compound);
            }
            Procedure::Lookup
            | Procedure::Create
            | Procedure::Mkdir
            | Procedure::Symlink
            | Procedure::Mknod
            | Procedure::Remove
            | Procedure::Rmdir
            | Procedure::Rename
            | Procedure::Link => self.encode_named(call, op, compound),
        }
    }

    fn encode_fs(
        &self,
        op: &LogicalOp,
        attr_request: Bitmap4,
        compound: &mut CompoundWriter<'_, Operation>,
    ) {
        compound
            .op(&putfh(self.root(op)))
            .op(&GetattrArgs { attr_request });
    }

    /// The operations on names.
    fn encode_named(
        &self,
        call: &Call<SessionCall>,
        op: &LogicalOp,
        compound: &mut CompoundWriter<'_, Operation>,
    ) {
        let place = self.place(op);
        let (dir, name) = (putfh(place.dir), place.text.as_bytes());
        match call.procedure {
            Procedure::Create => {
                let values = match fills(op) {
                    true => Attributes {
                        mode: Some(FILE_MODE),
                        ..size_attribute(0)
                    },
                    false => mode_attribute(FILE_MODE),
                };
                let attributes = Fattr4::new(&values);
                let how = match fills(op) {
                    true => Createhow4::Unchecked(attributes),
                    false => Createhow4::Guarded(attributes),
                };
                let owner = self.owner_name(call, op.proc);
                let open = OpenArgs {
                    claim: OpenClaim4::Null(name),
                    ..self.open_args(call, share::BOTH, &owner, Openflag4::Create(how))
                };
                let rights = AccessArgs { access: ALL_RIGHTS };
                compound
                    .op(&dir)
                    .op(&open)
                    .op(&GetfhArgs {})
                    .op(&rights)
                    .op(&GETATTR);
            }
            Procedure::Mkdir | Procedure::Symlink | Procedure::Mknod => {
                let text = symlink_text(&place.text);
                let (objtype, mode) = match call.procedure {
                    Procedure::Mkdir => (Createtype4::Dir, DIR_MODE),
                    Procedure::Symlink => (Createtype4::Lnk(&text), 0o777),
                    _ => (Createtype4::Fifo, FILE_MODE),
                };
                let values = mode_attribute(mode);
                let args = CreateArgs {
                    objtype,
                    objname: name,
                    createattrs: Fattr4::new(&values),
                };
                compound.op(&dir).op(&args).op(&GetfhArgs {}).op(&GETATTR);
            }
            Procedure::Remove | Procedure::Rmdir => {
                compound.op(&dir).op(&RemoveArgs { target: name });
            }
            Procedure::Rename => {
                let to = self.new_place(op);
                let args = RenameArgs {
                    oldname: name,
                    newname: to.text.as_bytes(),
                };
                compound
                    .op(&dir)
                    .op(&SavefhArgs {})
                    .op(&putfh(to.dir))
                    .op(&args);
            }
            Procedure::Link => {
                compound
                    .op(&putfh(self.object(op)))
                    .op(&SavefhArgs {})
                    .op(&dir)
                    .op(&LinkArgs { newname: name })
                    .op(&RestorefhArgs {})
                    .op(&GETATTR);
            }
            _ => {
                let args = LookupArgs { objname: name };
                compound.op(&dir).op(&args).op(&GetfhArgs {}).op(&GETATTR);
            }
        }
    }

    /// The client ID of a connection; 0: there is none.
    pub(super) fn clientid(&self, conn: u32) -> Clientid4 {
        let client = self.own.client_of(conn);
        let session = client.session.as_ref().map(|up| &up.session);
        session.map_or(0, |session| session.clientid())
    }

    /// The name of the owner of an OPEN.
    pub(super) fn owner_name(&self, call: &Call<SessionCall>, proc: u32) -> OwnerName {
        let number = call.own.owner.map(|owner| owner.number);
        OwnerName::new(self.own.owners[proc as usize], number)
    }

    /// OPEN of the current file for this access. In a session client ID and sequence number are not used;
    /// where delegations are kept, the server decides whether it grants one.
    pub(super) fn open_args<'a>(
        &self,
        call: &Call<SessionCall>,
        access: u32,
        owner: &'a OwnerName,
        openhow: Openflag4<'a>,
    ) -> OpenArgs<'a> {
        let has_sessions = self.own.has_sessions();
        let wanted = match self.own.delegations {
            DelegationUse::Refuse if has_sessions => share::WANT_NO_DELEG,
            _ => 0,
        };
        let open = open_args(access | wanted, owner.as_bytes(), openhow, OpenClaim4::Fh);
        if has_sessions {
            return open;
        }
        OpenArgs {
            seqid: call.own.owner.map_or(0, |owner| owner.seqid),
            owner: StateOwner4 {
                clientid: self.clientid(call.conn),
                owner: owner.as_bytes(),
            },
            ..open
        }
    }

    fn encode_listing(
        &self,
        call: &Call<SessionCall>,
        op: &LogicalOp,
        compound: &mut CompoundWriter<'_, Operation>,
    ) {
        let bytes = self.file_system(op.proc).readdir_bytes;
        let maxcount = bytes.saturating_sub(REPLY_BYTES).max(READDIR_LEAST);
        let attr_request = match call.procedure {
            Procedure::Readdirplus => FILE_ATTRIBUTES
                .with(Attribute::Filehandle)
                .with(Attribute::RdattrError)
                .with(Attribute::MountedOnFileid),
            _ => ENTRY_ATTRIBUTES,
        };
        compound.op(&putfh(self.object(op))).op(&ReaddirArgs {
            cookie: call.offset,
            cookieverf: op.verf,
            dircount: DIRCOUNT.min(maxcount),
            maxcount,
            attr_request,
        });
    }

    /// WRITE. The data is generated directly into the message.
    fn encode_write4(
        &self,
        call: &Call<SessionCall>,
        op: &LogicalOp,
        stateid: Stateid4,
        compound: &mut CompoundWriter<'_, Operation>,
    ) {
        let (file, number) = self.written_file(call, op);
        compound.op(&putfh(file));
        compound.with(Operation::Write, |out| {
            let mut e = Encoder::new(out);
            e.put(&stateid);
            e.u64(call.offset);
            e.put(&self.asked_stability(call));
            e.u32(call.length);
            self.append_contents(call, number, out);
            let length = call.length as usize;
            out.extend_from_slice(&[0; 3][..length.wrapping_neg() & 3]);
        });
        compound.op(&GETATTR);
    }
}

pub(super) const fn putfh(object: FileHandle4<'_>) -> PutfhArgs<'_> {
    PutfhArgs { object }
}

/// OPEN in a session, which needs no client ID and no sequence number.
const fn open_args<'a>(
    share_access: u32,
    owner: &'a [u8],
    openhow: Openflag4<'a>,
    claim: OpenClaim4<'a>,
) -> OpenArgs<'a> {
    OpenArgs {
        seqid: 0,
        share_access,
        share_deny: 0,
        owner: StateOwner4 { clientid: 0, owner },
        openhow,
        claim,
    }
}

fn mode_attribute(mode: u32) -> Attributes<'static> {
    Attributes {
        mode: Some(mode),
        ..Attributes::default()
    }
}

fn size_attribute(size: u64) -> Attributes<'static> {
    Attributes {
        size: Some(size),
        ..Attributes::default()
    }
}
