//! Transfers with data servers: READ, WRITE and COMMIT of NFSv3 (RFC 8435 section 2.2), each over one
//! connection per data server and shard. A call moves from the queue of its client's connection to that of a
//! data server, and back if the data server does not serve it.

use super::layouts::{Access, PartState, Route, Standing, TransferError};
use super::opening::Prepared;
use super::opens::{self, OpenState};
use super::state::Sessions;
use crate::driver::core::{Core, KnownVerf};
use crate::driver::counters::Tally;
use crate::driver::reply::CallOutcome;
use filermark_driver_kit::sockets::Event;
use filermark_engine::driver::Status;
use filermark_model::Nanos;
use filermark_onc::nfs3::{CommitRes, Nfsstat3, Procedure, ReadRes, WriteRes};
use filermark_onc::nfs4::flexfiles::ff_flags;
use filermark_onc::nfs4::{Nfsstat4, Operation};
use filermark_onc::rpc::{ReplyHeader, peek_xid};
use filermark_onc::xdr::{Decode, DecodeError, Decoder};

/// A data server that is out of reach for so long is given up, and for how long no call goes to it then:
/// that of other clients (Linux).
pub(super) const GONE_AFTER: Nanos = Nanos::from_secs(1);
const GONE_FOR: Nanos = Nanos::from_secs(120);

impl Core<Sessions> {
    /// Which data server a connection is to.
    #[inline]
    pub(super) fn data_server_of(&self, conn: u32) -> Option<u32> {
        conn.checked_sub(self.own.conns.len() as u32)
    }

    /// Sends a transfer to the data server of its file's layout, and asks for a layout where there is none.
    pub(super) fn prepare_layout(&mut self, slot: u32) -> Prepared {
        let call = self.calls.get(slot);
        if call.on_wire || call.own.slot.is_some() {
            // The metadata server may have it already.
            return Prepared::Ready;
        }
        let Some(access) = self.access_of(slot) else {
            return Prepared::Ready;
        };
        let (op, conn, procedure) = (call.op, call.conn, call.procedure);
        let (proc, key) = (self.ops.get(op).proc, self.written_key(slot));
        let is_commit = procedure == Procedure::Commit;
        let Some(layout) = self.layout_for(proc, key, is_commit) else {
            return Prepared::Ready;
        };
        let file = self.own.opens[proc as usize].get(key);
        let is_asking = file.is_some_and(|file| file.is_asking);
        match self.route_of(op, layout, access, is_commit) {
            Route::MetadataServer => Prepared::Ready,
            Route::Ask(_) if is_asking => self.wait_for(slot, proc, key),
            Route::Ask(access) if !self.ask_layout(op, conn, key, access) => Prepared::Blocked,
            Route::Ask(_) | Route::Wait => self.wait_for(slot, proc, key),
            Route::DataServer(server, _) if self.is_gone(server) => {
                self.counters.add(Tally::DataServersGone);
                Prepared::Ready
            }
            Route::DataServer(server, with) => {
                self.use_layout(slot, (proc, key), layout, with);
                self.send_to_data_server(slot, server);
                Prepared::Parked
            }
        }
    }

    fn route_of(&self, op: u32, layout: u32, access: Access, is_commit: bool) -> Route {
        match is_commit {
            true => self.route_of_commit(op, layout),
            false => self
                .own
                .layouts
                .get(layout)
                .map_or(Route::MetadataServer, |of| of.route(access)),
        }
    }

    /// What a call does with its file, if it can go to a data server. READ_PLUS is no procedure of NFSv3.
    fn access_of(&self, slot: u32) -> Option<Access> {
        let call = self.calls.get(slot);
        match (call.own.kind, call.procedure) {
            (None, Procedure::Read) if !call.own.is_plus => Some(Access::Read),
            (None, Procedure::Write | Procedure::Commit) => Some(Access::Write),
            _ => None,
        }
    }

    /// The key of the file that a transfer or COMMIT is for.
    fn written_key(&self, slot: u32) -> u32 {
        let call = self.calls.get(slot);
        let target = self.ops.get(call.op).target.object;
        match target.filter(|_| call.procedure == Procedure::Commit) {
            Some(object) => opens::of_object(object),
            None => self.key_of(slot),
        }
    }

    /// The layouts of an open file; for a COMMIT only those that there are.
    fn layout_for(&mut self, proc: u32, key: u32, is_commit: bool) -> Option<u32> {
        let conn = self.procs[proc as usize].conn;
        let has_layouts = self.file_system(proc).has_layouts && self.own.client(conn).has_layouts();
        let file = self.own.opens[proc as usize].find(key)?;
        if !matches!(file.state, OpenState::Open(_)) {
            return None;
        }
        if file.layout.is_some() || is_commit {
            return file.layout;
        }
        file.layout = self.own.layouts.add(has_layouts);
        let refused = u64::from(!has_layouts);
        self.counters.add_many(Tally::LayoutsRefused, refused);
        file.layout
    }

    fn is_gone(&mut self, server: u32) -> bool {
        let now = self.state.now;
        let server = self.own.data_servers.get_mut(server);
        server.is_none_or(|server| now < server.gone_until)
    }

    /// The call uses a layout, and the open of its file, from now on.
    fn use_layout(&mut self, slot: u32, (proc, key): (u32, u32), layout: u32, with: Access) {
        self.stop_using(slot);
        self.own.uses += 1;
        let uses = self.own.uses;
        let opens = &mut self.own.opens[proc as usize];
        opens.used(key, uses);
        if let Some(file) = opens.find(key) {
            file.users += 1;
        }
        self.own.layouts.acquire(layout);
        let own = &mut self.calls.get_mut(slot).own;
        own.used = Some(key);
        own.layout = Some((layout, with));
    }

    fn send_to_data_server(&mut self, slot: u32, server: u32) {
        let conn = self.own.conns.len() as u32 + server;
        let known = self.own.data_servers.get_mut(server);
        let verf_number = known.map_or(0, |server| server.verf.number);
        let call = self.calls.get_mut(slot);
        call.own.at_data_server = true;
        call.verf_number = verf_number;
        self.move_call(slot, conn);
    }

    /// A call that its data server does not serve goes to the metadata server. `was_answered`: the data
    /// server does not execute it any more.
    fn send_to_metadata_server(&mut self, slot: u32, was_answered: bool) {
        self.stop_using(slot);
        let call = self.calls.get_mut(slot);
        call.own.at_data_server = false;
        call.own.is_repeated |= call.on_wire && (call.retransmitted || !was_answered);
        call.tries = 0;
        let conn = self.procs[self.ops.get(call.op).proc as usize].conn;
        let verf_number = self.file_system_verf(slot).number;
        self.calls.get_mut(slot).verf_number = verf_number;
        self.move_call(slot, conn);
    }

    fn move_call(&mut self, slot: u32, conn: u32) {
        let now = self.state.now;
        self.calls.park(slot);
        self.calls.get_mut(slot).conn = conn;
        self.calls.unpark(slot, now);
    }

    /// Appends the next call to a data server.
    pub(super) fn encode_for_data_server(
        &mut self,
        conn: u32,
        server: u32,
        out: &mut Vec<u8>,
    ) -> bool {
        while let Some(slot) = self.calls.next_to_encode(conn) {
            if self.holds_layout(slot, server) {
                self.encode_transfer(slot, out);
                return true;
            }
            self.send_to_metadata_server(slot, false);
        }
        false
    }

    /// Whether a call has a layout of this data server still; one that has waited for the data server
    /// (NFS3ERR_JUKEBOX) takes it again.
    fn holds_layout(&mut self, slot: u32, server: u32) -> bool {
        let call = self.calls.get(slot);
        if let Some((layout, with)) = call.own.layout {
            let layout = self.own.layouts.get(layout);
            return layout.is_some_and(|layout| {
                layout.standing != Standing::Gone
                    && layout.part(with).state == PartState::Held(server)
            });
        }
        let proc = self.ops.get(call.op).proc;
        let key = self.written_key(slot);
        let file = self.own.opens[proc as usize].get(key);
        let known = file.and_then(|file| Some((file.layout?, self.access_of(slot)?)));
        let Some((layout, access)) = known else {
            return false;
        };
        let call = self.calls.get(slot);
        let is_commit = call.procedure == Procedure::Commit;
        match self.route_of(call.op, layout, access, is_commit) {
            Route::DataServer(at, with) if at == server => {
                self.use_layout(slot, (proc, key), layout, with);
                true
            }
            _ => false,
        }
    }

    fn encode_transfer(&self, slot: u32, out: &mut Vec<u8>) {
        let call = self.calls.get(slot);
        let layout = call.own.layout;
        let part = layout.and_then(|(layout, with)| {
            let layout = self.own.layouts.get(layout)?;
            Some(layout.part(with))
        });
        let Some(part) = part else {
            return;
        };
        let Some(template) = self.own.data_servers.template(part.credential) else {
            return;
        };
        let at = (template, part.handle.handle());
        match call.procedure {
            Procedure::Read => self.encode_read(at, call, out),
            Procedure::Commit => self.encode_commit(at, call, out),
            _ => {
                let number = self.written_file(call, self.ops.get(call.op)).1;
                self.encode_write(at, number, call, out)
            }
        };
    }

    /// Counts a call to a data server; after RUN the COMMITs alone.
    pub(super) fn count_transfer(&mut self, slot: u32) {
        let call = self.calls.get(slot);
        let (procedure, conn) = (call.procedure, call.conn);
        self.counters.call(procedure);
        self.counters.add(match procedure {
            Procedure::Read => Tally::DataServerReads,
            Procedure::Commit => Tally::DataServerCommits,
            _ => Tally::DataServerWrites,
        });
        let is_after_run = self.counted_in_run.is_some();
        if is_after_run && procedure != Procedure::Commit {
            return;
        }
        if let Some(server) = self.data_server_of(conn) {
            self.own.data_servers.count(server, procedure);
        }
    }

    /// Processes a reply of a data server.
    pub(super) fn data_server_reply(&mut self, conn: u32, record: &[u8], now: Nanos) -> Event {
        let slot = peek_xid(record).and_then(|xid| self.calls.find(xid));
        let slot = slot.filter(|slot| {
            let call = self.calls.get(*slot);
            call.conn == conn && call.on_wire && !call.parked
        });
        let Some(slot) = slot else {
            self.count_unexpected_reply(peek_xid(record));
            return Event::Nothing;
        };
        let client = self.procs[self.ops.get(self.calls.get(slot).op).proc as usize].conn;
        match self.judge_transfer(slot, record) {
            Err(_) => {
                self.counters.add(Tally::BadReplies);
                self.end_call(slot, CallOutcome::Ends(Status::Garbage), now);
            }
            Ok(Transferred::Refused) => self.refused_transfer(slot, Nfsstat4::Access),
            Ok(Transferred::Judged(outcome)) => self.end_transfer(slot, outcome, now),
        }
        if self.own.client(client).has_recalls {
            self.return_recalled(client);
        }
        Event::Replies
    }

    fn judge_transfer(&mut self, slot: u32, record: &[u8]) -> Result<Transferred, DecodeError> {
        let mut d = Decoder::new(record);
        let header = ReplyHeader::decode(&mut d)?;
        if header.check().is_err() {
            return Ok(Transferred::Refused);
        }
        let d = &mut d;
        Ok(Transferred::Judged(match self.calls.get(slot).procedure {
            Procedure::Read => {
                let results = ReadRes::decode(d)?;
                self.has_read(slot, results)
            }
            Procedure::Commit => {
                let results = CommitRes::decode(d)?;
                self.has_committed(slot, results)
            }
            _ => {
                let results = WriteRes::decode(d)?;
                self.has_written(slot, results)
            }
        }))
    }

    fn end_transfer(&mut self, slot: u32, outcome: CallOutcome, now: Nanos) {
        match outcome {
            CallOutcome::Failed(Nfsstat3::Jukebox) => {
                if !self.park(slot, now, Tally::JukeboxWaits) {
                    self.end_call(slot, outcome, now);
                }
            }
            CallOutcome::Failed(status) if !is_of_file(status) => {
                self.refused_transfer(slot, Nfsstat4::from_u32(status.to_u32()));
            }
            CallOutcome::Ok | CallOutcome::Retry(_) => {
                self.note_write(slot);
                self.end_call(slot, outcome, now);
            }
            CallOutcome::Failed(_) | CallOutcome::Ends(_) => self.end_call(slot, outcome, now),
        }
    }

    /// A WRITE has succeeded: the metadata server is to learn its end, where the layout says so.
    fn note_write(&mut self, slot: u32) {
        let call = self.calls.get(slot);
        let end = call.offset.saturating_add(call.length.into());
        let Some((layout, with)) = call
            .own
            .layout
            .filter(|_| call.procedure == Procedure::Write)
        else {
            return;
        };
        if let Some(layout) = self.own.layouts.get_mut(layout)
            && layout.part(with).flags & ff_flags::NO_LAYOUTCOMMIT == 0
            && let Some(last) = end.checked_sub(1)
        {
            layout.last_write = layout.last_write.max(Some(last));
            layout.is_commit_refused = false;
        }
    }

    /// A data server has refused a call.
    fn refused_transfer(&mut self, slot: u32, status: Nfsstat4) {
        self.counters.add(Tally::DataServerErrors);
        self.note_error(slot, status);
        self.send_to_metadata_server(slot, true);
    }

    /// Notes an error of a data server, for LAYOUTRETURN: the file's layouts are not used any more.
    fn note_error(&mut self, slot: u32, status: Nfsstat4) {
        let call = self.calls.get(slot);
        let client = self.procs[self.ops.get(call.op).proc as usize].conn;
        let operation = match call.procedure {
            Procedure::Read => Operation::Read,
            Procedure::Commit => Operation::Commit,
            _ => Operation::Write,
        };
        let (offset, length) = (call.offset, u64::from(call.length));
        let Some((layout, with)) = call.own.layout else {
            return;
        };
        let Some(layout) = self.own.layouts.get_mut(layout) else {
            return;
        };
        if layout.standing == Standing::Gone {
            return;
        }
        layout.standing = Standing::Failed;
        layout.error.get_or_insert(TransferError {
            offset,
            length,
            device: layout.part(with).device,
            status,
            operation,
        });
        self.own.client(client).has_recalls = true;
    }

    /// A call gets no reply from its data server, which is not called for a while then.
    pub(super) fn leave_data_server(&mut self, slot: u32) -> bool {
        let call = self.calls.get(slot);
        let (conn, is_meant) = (call.conn, call.own.at_data_server);
        if !is_meant || self.state.stopping || self.state.stop.is_raised() {
            return false;
        }
        let until = self.state.now + GONE_FOR;
        let server = self.data_server_of(conn);
        if let Some(server) = server.and_then(|server| self.own.data_servers.get_mut(server)) {
            if server.gone_until < self.state.now {
                tracing::warn!(address = %server.address, "a data server cannot be reached, or does not answer");
            }
            server.gone_until = until;
        }
        self.counters.add(Tally::DataServersGone);
        self.note_error(slot, Nfsstat4::Nxio);
        self.send_to_metadata_server(slot, false);
        true
    }

    /// The latest known write verifier of the server to which a call goes.
    pub(super) fn verf_of(&mut self, slot: u32) -> &mut KnownVerf {
        let call = self.calls.get(slot);
        let server = match call.own.at_data_server {
            true => self.data_server_of(call.conn),
            false => None,
        };
        match server.filter(|server| self.own.data_servers.has(*server)) {
            Some(server) => self.own.data_servers.verf(server),
            None => self.file_system_verf(slot),
        }
    }
}

/// What a data server has answered.
enum Transferred {
    Judged(CallOutcome),
    /// It has refused the call before the procedure, most often because of the user (RFC 5531 section 9).
    Refused,
}

/// Whether a status is about the file and its space, and would be that of the metadata server, too.
const fn is_of_file(status: Nfsstat3) -> bool {
    matches!(
        status,
        Nfsstat3::Nospc | Nfsstat3::Dquot | Nfsstat3::Fbig | Nfsstat3::Rofs
    )
}
