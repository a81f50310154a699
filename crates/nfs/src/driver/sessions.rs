//! Versions 4.0 (RFC 7530), 4.1 (RFC 8881) and 4.2 (RFC 7862) on the loop of the driver kit. Every connection is
//! one client with a client ID and, but for version 4.0, a session of its own.
//!
//! | module | what it has |
//! |---|---|
//! | `state` | the state of a shard and of a call |
//! | `client` | the client of a connection |
//! | `setup` | its set-up, what it has lost, the renewal of its lease |
//! | `compounds` | which operations each call has |
//! | `encode` | which call is sent next, its slot, its bytes |
//! | `reply` | what a reply says of session and state |
//! | `results` | the results of the operations, as those of version 3 |
//! | `work`, `work_encode` | the operations that version 3 does not have |
//! | `scratch`, `copied` | what they have done with scratch files and attributes; copies are read back |
//! | `opens` | the table of open files of a proc |
//! | `opening` | when files are opened and closed, and what waits for that |
//! | `delegations` | delegations: granted, used, recalled, returned, revoked |
//! | `callbacks` | answers to calls of the server |
//! | `version40` | what only version 4.0 has: numbered owners of opens (`owners`), names (`names`) |
//! | `ending` | CLOSE, DESTROY_SESSION and DESTROY_CLIENTID at the end |
//!
//! A READ or WRITE that finds its file not open makes an OPEN as a call of its operation, and
//! waits for it; so it does again when the server has lost the state. All calls but a few have
//! a slot of the session from their encoding to their reply. A call that is sent again on
//! another connection keeps slot and sequence number, so that the server executes it once.

mod callbacks;
mod client;
mod compounds;
mod copied;
mod delegations;
mod encode;
mod ending;
mod names;
mod opening;
mod opens;
mod owners;
mod reply;
mod results;
mod scratch;
mod setup;
mod state;
mod version40;
mod work;
mod work_calls;
mod work_encode;

pub(crate) use client::Client;
pub(crate) use state::Sessions;

use super::calls::Call;
use super::core::Core;
use super::counters::Tally;
use super::ops::LogicalOp;
use super::reply::CallOutcome;
use super::status::NOT_IN_VERSION;
use super::variant::{ConnTimer, Variant};
use crate::version4::{DELAY_FIRST, DELAY_LONGEST};
use client::Stage;
use filermark_driver_kit::sockets::{Event, Received};
use filermark_engine::driver::{Action, ObjectId};
use filermark_model::plan::{MinorVersion, NfsPlan};
use filermark_model::{Nanos, NfsOp};
use filermark_onc::nfs4::VERSION;
use filermark_onc::rpc::peek_xid;
use state::SessionCall;

/// The event of a connection's last read, and its number.
#[derive(Debug, Default)]
pub(crate) struct SessionConn {
    number: u32,
    event: Event,
}

impl Variant for Sessions {
    type Call = SessionCall;
    type Conn = SessionConn;

    const HAS_LEASES: bool = true;

    fn program_version(_plan: &NfsPlan) -> u32 {
        VERSION
    }

    /// All operations of version 3 can be translated.
    fn refusal(core: &Core<Self>, op: NfsOp, action: Action) -> Option<u32> {
        let is_refused = match core.own.request.minor {
            MinorVersion::V0 => matches!(action, Action::V4(_)),
            MinorVersion::V1 => op.op().needs_nfs42(),
            MinorVersion::V2 => false,
        };
        is_refused.then_some(NOT_IN_VERSION)
    }

    fn call_of(op: &LogicalOp) -> SessionCall {
        SessionCall {
            is_plus: op.is_plus,
            ..SessionCall::default()
        }
    }

    fn begin_work(core: &mut Core<Self>, op: u32) {
        core.begin_work(op);
    }

    fn connected(core: &mut Core<Self>, conn: u32, state: &mut SessionConn) -> Event {
        state.number = conn;
        core.connect_client(conn)
    }

    fn closed(core: &mut Core<Self>, conn: u32, state: &mut SessionConn) {
        state.event = Event::Nothing;
        core.own.client(conn).disconnected();
    }

    fn own_bytes(core: &mut Core<Self>, state: &mut SessionConn, out: &mut Vec<u8>) {
        let conn = state.number;
        if core.own.client(conn).unsent.is_empty() || !core.has_space(conn) {
            return;
        }
        let start = out.len();
        out.append(&mut core.own.client(conn).unsent);
        core.own.client(conn).unsent = core.protect_own(conn, out, start);
    }

    #[inline]
    fn encode_next(core: &mut Core<Self>, conn: u32, out: &mut Vec<u8>) -> bool {
        core.encode_session_call(conn, out)
    }

    fn count_call(core: &mut Core<Self>, slot: u32) {
        core.state_call_sent(slot);
        let call = core.calls.get(slot);
        match compounds::of(call, core.own.request.minor) {
            [] => core.counters.call(call.procedure),
            operations => core.counters.compound(operations),
        }
    }

    fn receive(
        core: &mut Core<Self>,
        conn: u32,
        state: &mut SessionConn,
        bytes: &[u8],
        at: Nanos,
    ) -> Received {
        let (progress, event) = core.receive_records(conn, bytes, |core, record| {
            core.session_message(conn, record, at)
        })?;
        state.event = event;
        Ok(progress)
    }

    fn after_read(_core: &mut Core<Self>, _conn: u32, state: &mut SessionConn) -> Event {
        std::mem::take(&mut state.event)
    }

    fn fire(core: &mut Core<Self>, conn: u32, timer: ConnTimer) {
        match timer {
            ConnTimer::SetUp if core.own.client(conn).stage == Stage::Waiting => {
                core.set_up_again(conn);
            }
            // The connection has ended meanwhile.
            ConnTimer::SetUp => {}
            ConnTimer::Renewal => core.renew_lease(conn),
        }
    }

    #[inline]
    fn is_repeated(call: &Call<SessionCall>) -> bool {
        call.own.is_repeated
    }

    fn delay(core: &Core<Self>, waits: u16) -> Option<Nanos> {
        if waits >= core.own.delays_max {
            return None;
        }
        let factor = 1u64 << waits.min(10);
        Some(Nanos(DELAY_FIRST.0 * factor).min(DELAY_LONGEST))
    }

    fn parked(core: &mut Core<Self>, slot: u32) {
        core.stop_using(slot);
        core.delayed(slot);
    }

    fn unparked(core: &mut Core<Self>, slot: u32) {
        core.queue_first(slot);
    }

    fn ended(core: &mut Core<Self>, slot: u32, outcome: CallOutcome) {
        core.stop_using(slot);
        core.drop_slot(slot);
        core.give_back_owner(slot, outcome);
        core.state_call_ended(slot, outcome);
    }

    fn finish(core: &mut Core<Self>, op: u32) {
        core.close_filled(op);
        core.continue_work(op);
    }

    fn settle(core: &mut Core<Self>) -> bool {
        core.close_idle()
    }

    fn forget_objects(core: &mut Core<Self>, proc: u32, from: ObjectId) {
        core.close_from(proc, from);
        if let Some(names) = core.own.names.get_mut(proc as usize) {
            names.forget(from);
        }
    }

    fn named(core: &mut Core<Self>, op: u32) {
        core.keep_name(op);
    }

    fn renamed(core: &mut Core<Self>, op: u32) {
        core.rename_open(op);
        core.keep_name(op);
    }

    fn end(core: &mut Core<Self>) -> bool {
        core.end_clients()
    }

    fn clients_left(core: &Core<Self>) -> u64 {
        let clients = core.own.clients.iter();
        clients.filter(|client| client.is_left()).count() as u64
    }

    fn connect_advice(_core: &Core<Self>) -> &'static str {
        "check that the server runs, serves this version (NFS_VERSION=3 is another choice), and how \
         many connections it and this client allow (ulimit -n; RESVPORT allows 512 at most); \
         CONNECTIONS=N lets procs share"
    }
}

impl Core<Sessions> {
    /// Processes a message of the server; returns its event.
    fn session_message(&mut self, conn: u32, record: &[u8], at: Nanos) -> Event {
        if callbacks::is_call(record) {
            self.counters.add(Tally::Callbacks);
            return self.answer_callback(conn, record);
        }
        let client = self.own.client(conn);
        let is_own = peek_xid(record) == Some(client.xid);
        match client.stage {
            Stage::SettingUp | Stage::Binding if is_own => self.set_up_reply(conn, record),
            Stage::Up => self.session_reply(conn, record, at),
            Stage::Down | Stage::Waiting | Stage::SettingUp | Stage::Binding => {
                self.count_unexpected_reply(peek_xid(record));
                Event::Nothing
            }
        }
    }
}

#[cfg(test)]
mod tests;
