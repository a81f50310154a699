//! Versions 4.0 (RFC 7530), 4.1 (RFC 8881) and 4.2 (RFC 7862) on the loop of the driver kit. A client has a client ID
//! and, but for version 4.0, a session, which one connection or several are bound to.
//!
//! | module | what it has |
//! |---|---|
//! | `state` | the state of a shard and of a call |
//! | `client` | a client and its session |
//! | `conns` | a connection of a client |
//! | `trunking` | what the connections of a client have in common |
//! | `setup` | its set-up, what it has lost, the renewal of its lease |
//! | `compounds` | which operations each call has |
//! | `encode` | which call is sent next, its slot, its bytes |
//! | `reply` | what a reply says of session and state |
//! | `results` | the results of the operations, as those of version 3 |
//! | `work`, `work_encode` | the operations that version 3 does not have |
//! | `scratch`, `copied` | what they have done with scratch files and attributes; copies are read back |
//! | `offloads` | copies that go on after the reply |
//! | `opens` | the table of open files of a proc |
//! | `opening`, `closing` | when files are opened and closed |
//! | `waits`, `open_uses` | which calls wait for that, and which ones use an open file |
//! | `delegations` | delegations: granted, used, recalled, returned, revoked |
//! | `layouts`, `devices` | layouts of pNFS: which files have them, what is used of them |
//! | `layout_calls`, `layout_returns` | layouts: asked for; recalled and returned |
//! | `layout_commits` | layouts: what was written with them, and is to be committed |
//! | `data_servers`, `transfers` | data servers, and the transfers with them |
//! | `callbacks` | answers to calls of the server |
//! | `version40` | what only version 4.0 has: numbered owners of opens and locks (`owners`, `turns`), names (`names`) |
//! | `ending` | CLOSE, DESTROY_SESSION and DESTROY_CLIENTID at the end |
//!
//! A READ or WRITE that finds its file not open makes an OPEN as a call of its operation, and
//! waits for it; so it does again when the server has lost the state. All calls but a few have
//! a slot of the session from their encoding to their reply. A call that is sent again on
//! another connection keeps slot and sequence number, so that the server executes it once.

mod callbacks;
mod client;
mod closing;
mod compounds;
mod conns;
mod copied;
mod data_servers;
mod delegations;
mod devices;
mod encode;
mod ending;
mod layout_calls;
mod layout_commits;
mod layout_returns;
mod layouts;
mod names;
mod offloads;
mod open_uses;
mod opening;
mod opens;
mod owners;
mod reply;
mod results;
mod scratch;
mod setup;
mod state;
mod transfers;
mod trunking;
mod turns;
mod version40;
mod waits;
mod work;
mod work_calls;
mod work_encode;

pub(crate) use client::Client;
pub(crate) use data_servers::DataServers;
pub(crate) use state::Sessions;

use super::calls::Call;
use super::core::{Core, KnownVerf};
use super::counters::Tally;
use super::ops::LogicalOp;
use super::reply::CallOutcome;
use super::status::NOT_IN_VERSION;
use super::variant::{ConnTimer, Variant};
use crate::version4::{DELAY_FIRST, DELAY_LONGEST};
use conns::Stage;
use filermark_driver_kit::sockets::{Event, Peer, Received};
use filermark_engine::driver::{Action, ObjectId};
use filermark_model::plan::{MinorVersion, NfsPlan};
use filermark_model::{Nanos, NfsOp};
use filermark_onc::nfs4::VERSION;
use filermark_onc::rpc::peek_xid;
use state::SessionCall;
use std::collections::BTreeMap;
use std::io;

/// The event of a connection's last read, and its number.
#[derive(Debug, Default)]
pub(crate) struct SessionConn {
    number: u32,
    event: Event,
    /// It is to a data server: NFSv3, without a client.
    is_to_data_server: bool,
}

impl Variant for Sessions {
    type Call = SessionCall;
    type Conn = SessionConn;

    const HAS_LEASES: bool = true;

    fn program_version(_plan: &NfsPlan) -> u32 {
        VERSION
    }

    /// All operations of version 3 can be translated.
    fn refusal(core: &Core<Self>, op: NfsOp, _action: Action) -> Option<u32> {
        let is_refused = match core.own.request.minor {
            MinorVersion::V0 | MinorVersion::V1 => op.op().needs_nfs42(),
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
        match state.is_to_data_server {
            true => Event::Up,
            false => core.connect_client(conn),
        }
    }

    fn closed(core: &mut Core<Self>, conn: u32, state: &mut SessionConn) {
        state.event = Event::Nothing;
        if !state.is_to_data_server {
            core.conn_closed(conn);
        }
    }

    fn given_up(core: &mut Core<Self>, conn: u32) -> Option<io::Error> {
        core.why_given_up(conn)
    }

    #[inline]
    fn route(core: &mut Core<Self>, conn: u32) -> u32 {
        core.route_call(conn)
    }

    fn count_present(core: &mut Core<Self>) {
        let [clients, sessions, conns] = core.own.present();
        core.counters.add_many(Tally::ClientIds, clients);
        core.counters.add_many(Tally::Sessions, sessions);
        core.counters.add_many(Tally::Connections, conns);
    }

    fn own_bytes(core: &mut Core<Self>, state: &mut SessionConn, out: &mut Vec<u8>) {
        let conn = state.number;
        if state.is_to_data_server {
            return;
        }
        if core.own.conn(conn).unsent.is_empty() || !core.has_space(conn) {
            return;
        }
        let start = out.len();
        out.append(&mut core.own.conn(conn).unsent);
        core.own.conn(conn).unsent = core.protect_own(conn, out, start);
    }

    #[inline]
    fn encode_next(core: &mut Core<Self>, conn: u32, out: &mut Vec<u8>) -> bool {
        match core.data_server_of(conn) {
            None => core.encode_session_call(conn, out),
            Some(server) => core.encode_for_data_server(conn, server, out),
        }
    }

    fn count_call(core: &mut Core<Self>, slot: u32) {
        if core.calls.get(slot).own.at_data_server {
            return core.count_transfer(slot);
        }
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
        let is_to_data_server = state.is_to_data_server;
        let (progress, event) =
            core.receive_records(conn, bytes, |core, record| match is_to_data_server {
                false => core.session_message(conn, record, at),
                true => core.data_server_reply(conn, record, at),
            })?;
        state.event = event;
        Ok(progress)
    }

    fn after_read(_core: &mut Core<Self>, _conn: u32, state: &mut SessionConn) -> Event {
        std::mem::take(&mut state.event)
    }

    fn fire(core: &mut Core<Self>, conn: u32, timer: ConnTimer) {
        match timer {
            ConnTimer::SetUp => core.set_up_after_wait(conn),
            ConnTimer::Renewal => core.renew_lease(conn),
        }
    }

    #[inline]
    fn is_repeated(call: &Call<SessionCall>) -> bool {
        call.own.is_repeated || (call.own.at_data_server && call.retransmitted)
    }

    fn new_connection(core: &mut Core<Self>) -> Option<(Peer, SessionConn)> {
        let address = core.own.data_servers.next_new()?;
        let state = SessionConn {
            is_to_data_server: true,
            ..SessionConn::default()
        };
        Some((address.into(), state))
    }

    fn gone_after(state: &SessionConn, usual: Nanos) -> Nanos {
        match state.is_to_data_server {
            true => transfers::GONE_AFTER.min(usual),
            false => usual,
        }
    }

    fn send_elsewhere(core: &mut Core<Self>, slot: u32) -> bool {
        core.leave_data_server(slot)
    }

    fn known_verf(core: &mut Core<Self>, slot: u32) -> &mut KnownVerf {
        core.verf_of(slot)
    }

    fn take_counters(core: &mut Core<Self>, into: &mut BTreeMap<String, u64>) {
        core.own.data_servers.take_counts(into);
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
        core.end_turn(slot);
        core.delayed(slot);
    }

    fn unparked(core: &mut Core<Self>, slot: u32) {
        core.queue_first(slot);
    }

    fn ended(core: &mut Core<Self>, slot: u32, outcome: CallOutcome) {
        core.stop_using(slot);
        core.drop_slot(slot);
        core.give_back_owner(slot, outcome);
        core.end_turn(slot);
        core.state_call_ended(slot, outcome);
    }

    fn finish(core: &mut Core<Self>, op: u32) {
        core.wake_after(op);
        core.close_filled(op);
        core.continue_work(op);
    }

    fn settle(core: &mut Core<Self>) -> bool {
        if core.own.uses_layouts() && !core.uncommitted.is_empty() {
            // A layout is returned after the COMMITs that need it (RFC 8881 section 18.44.3).
            return true;
        }
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
        let of = self.own.conn(conn);
        let is_own = peek_xid(record) == Some(of.xid);
        match of.stage {
            Stage::SettingUp | Stage::Binding if is_own => self.set_up_reply(conn, record),
            Stage::Up => self.session_reply(conn, record, at),
            Stage::Down
            | Stage::Queued
            | Stage::Waiting
            | Stage::SettingUp
            | Stage::Binding
            | Stage::GivenUp => {
                self.count_unexpected_reply(peek_xid(record));
                Event::Nothing
            }
        }
    }
}

#[cfg(test)]
mod tests;
