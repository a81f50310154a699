//! The set-up of the clients, what they lose, and the renewal of their leases.

use super::compounds::StateCall;
use super::conns::Stage;
use super::state::Sessions;
use crate::driver::core::{Core, Timer};
use crate::driver::counters::Tally;
use crate::driver::variant::ConnTimer;
use crate::version4::{DELAY_FIRST, Established, SetupStep, StatusFlags, begin_compound};
use filermark_driver_kit::sockets::{Event, probe_xid};
use filermark_model::Nanos;
use filermark_model::plan::DelegationUse;
use filermark_onc::nfs4::{
    BindConnToSessionArgs, CompoundRes, Nfsstat4, PROC_COMPOUND, channel_dir,
};
use filermark_onc::rpc::ReplyHeader;
use filermark_onc::xdr::{Decode, DecodeError, Decoder};
use std::io;

/// Why a server does not bind a connection to the session that others use, and what to do.
const NOT_BOUND: &str = "the server does not bind another connection to the session; \
                         set a smaller NCONNECT, or CLIENT_IDS=connection";
pub(super) const SPREAD: &str = "the server did not know the session that another connection uses, more than eight times: \
                      a load balancer seems to spread the connections over servers that share no sessions; \
                      set NCONNECT=1 and CLIENT_IDS=connection, or use the address of one server";

impl Core<Sessions> {
    /// The connection is there: its client's session is set up, or goes on with it.
    pub(super) fn connect_client(&mut self, conn: u32) -> Event {
        let now = self.state.clock.now();
        self.own.conn(conn).xid = probe_xid(conn ^ now.0 as u32);
        self.set_up(conn)
    }

    /// Begins what a connection needs until calls can be sent.
    fn set_up(&mut self, conn: u32) -> Event {
        let has_sessions = self.own.has_sessions();
        let has_another = self.own.has_another(conn);
        let client = self.own.client(conn);
        // Nothing binds a client ID of version 4.0 to a connection.
        let needs_nothing =
            client.ending.is_without_session() || client.has_session() && !has_sessions;
        if needs_nothing {
            self.own.conn(conn).stage = Stage::Up;
            return Event::Up;
        }
        if client.is_set_up_by_another(conn) {
            self.own.conn(conn).stage = Stage::Queued;
            return Event::Nothing;
        }
        // A slot without a reply cannot be used again: with it the session is given up, unless calls go
        // on over other connections.
        let has_slots = client.dead_slots == 0 || has_another && !client.lacks_slots();
        if client.has_session() && has_slots {
            self.bind(conn);
        } else {
            self.begin_setup_on(conn);
        }
        Event::Send
    }

    /// A session is set up on this connection. A set-up that a lost connection has interrupted goes on:
    /// the server has the replies.
    pub(super) fn begin_setup_on(&mut self, conn: u32) {
        let (request, ready_max) = (self.own.request, self.own.ready_max);
        let client = self.own.client(conn);
        if client.setup.is_none() {
            client.begin_setup(request, ready_max);
        }
        client.set_up_on(conn);
        self.give_up_others(conn);
        self.set_up_again(conn);
    }

    /// The session goes on with this connection, or with this one, too. One that has the back channel is not
    /// bound to it later (RFC 8881 section 18.34.3: NFS4ERR_INVAL), so that all have it where it is used.
    pub(super) fn bind(&mut self, conn: u32) {
        let uses_layouts = self.own.uses_layouts();
        let place = self.own.place(conn);
        let Some(established) = &self.own.clients[place].session else {
            return;
        };
        let of = &mut self.own.conns[conn as usize];
        of.stage = Stage::Binding;
        of.xid = probe_xid(of.xid.wrapping_shr(18).wrapping_add(1));
        let out = &mut of.unsent;
        let record = self.template.begin(out, of.xid, PROC_COMPOUND);
        let mut compound = begin_compound(out, self.own.request.minor);
        compound.op(&BindConnToSessionArgs {
            sessid: established.session.sessionid(),
            dir: match self.own.delegations {
                DelegationUse::Refuse if !uses_layouts => channel_dir::FORE,
                DelegationUse::Refuse => channel_dir::BOTH,
                DelegationUse::Keep => channel_dir::BOTH,
            },
            use_conn_in_rdma_mode: false,
        });
        compound.finish();
        record.finish(out);
    }

    /// Sends the next call of the set-up.
    fn set_up_again(&mut self, conn: u32) {
        let place = self.own.place(conn);
        if let Some(setup) = &self.own.clients[place].setup {
            let of = &mut self.own.conns[conn as usize];
            of.stage = Stage::SettingUp;
            of.xid = probe_xid(of.xid.wrapping_shr(18).wrapping_add(1));
            setup.next_call(&self.template, of.xid, &mut of.unsent);
            self.calls.mark_dirty(conn);
        }
    }

    /// The server was not ready, and the wait is over.
    pub(super) fn set_up_after_wait(&mut self, conn: u32) {
        if self.own.conn(conn).stage != Stage::Waiting {
            // The connection has ended meanwhile.
            return;
        }
        let client = self.own.client(conn);
        if client.is_set_up_by_another(conn) {
            self.own.conn(conn).stage = Stage::Queued;
        } else if client.setup.is_some() {
            self.set_up_again(conn);
        } else {
            self.bind(conn);
            self.calls.mark_dirty(conn);
        }
    }

    /// The server is not ready: the set-up goes on after this time.
    fn wait_for_server(&mut self, conn: u32, wait: Nanos) -> Event {
        self.own.conn(conn).stage = Stage::Waiting;
        self.counters.add(Tally::JukeboxWaits);
        let at = self.state.now + wait;
        let timer = ConnTimer::SetUp;
        self.start_timer(at, Timer::OfConn { conn, timer });
        Event::Nothing
    }

    /// A reply to a call of the set-up.
    pub(super) fn set_up_reply(&mut self, conn: u32, record: &[u8]) -> Event {
        if self.own.conn(conn).stage == Stage::Binding {
            return self.bound(conn, record);
        }
        let Some(setup) = &mut self.own.client(conn).setup else {
            return Event::Nothing;
        };
        match setup.reply(record) {
            Ok(SetupStep::Call) => {
                self.set_up_again(conn);
                Event::Send
            }
            Ok(SetupStep::Wait(wait)) => self.wait_for_server(conn, Nanos(wait.as_nanos() as u64)),
            Ok(SetupStep::Up(session)) => self.session_up(conn, session),
            Err(refusal) => Event::Refused(refusal.to_string()),
        }
    }

    /// The answer to BIND_CONN_TO_SESSION.
    fn bound(&mut self, conn: u32, record: &[u8]) -> Event {
        let status = match binding_status(record) {
            Ok(status) => status,
            Err(error) => return lost(format!("BIND_CONN_TO_SESSION: {error}")),
        };
        match status {
            Nfsstat4::Ok => {
                self.counters.add(Tally::BoundSessions);
                self.own.conn(conn).stage = Stage::Up;
                return Event::Up;
            }
            Nfsstat4::Delay => return self.wait_for_server(conn, DELAY_FIRST),
            _ if !self.own.has_another(conn) => {}
            Nfsstat4::Badsession
            | Nfsstat4::Deadsession
            | Nfsstat4::StaleClientid
            | Nfsstat4::Expired => {
                let now = self.state.now;
                if !self.own.client(conn).lose_on_another(now) {
                    return self.refuse_conn(conn, status, SPREAD);
                }
            }
            status => return self.refuse_conn(conn, status, NOT_BOUND),
        }
        self.lose_session(conn);
        self.set_up(conn)
    }

    /// A session was set up.
    fn session_up(&mut self, conn: u32, established: Box<Established>) -> Event {
        let client = self.own.client(conn);
        let had_session = client.session.is_some();
        let is_new_client = established.is_new_client;
        let limits = *established.session.fore();
        client.setup = None;
        client.end_setup_on(conn);
        client.session = Some(established);
        client.is_lost = false;
        client.dead_slots = 0;
        client.callback_number = 0;
        client.callback_results.clear();
        client.number = client.number.wrapping_add(1);
        client.last_call = self.state.now;
        self.own.conn(conn).stage = Stage::Up;
        self.bind_queued(conn);
        self.start_renewal(conn);
        let (read_max, write_max) = (limits.read_bytes_max(), limits.write_bytes_max());
        for file_system in &mut self.file_systems {
            file_system.rsize = file_system.rsize.min(read_max);
            file_system.wsize = file_system.wsize.min(write_max);
            file_system.readdir_bytes = file_system.readdir_bytes.min(read_max);
        }
        if had_session && is_new_client {
            self.counters.add(Tally::LostClients);
            self.lose_opens(conn);
        }
        Event::Up
    }

    /// The server has lost the session, or it cannot be used; returns whether another one is
    /// to be tried.
    pub(super) fn lose_session(&mut self, conn: u32) -> bool {
        let has_sessions = self.own.has_sessions();
        let client = self.own.client(conn);
        // Version 4.0 loses its client ID, which is counted when there is another one.
        let is_first = !client.is_lost && has_sessions;
        let again = client.lose();
        self.counters
            .add_many(Tally::LostSessions, u64::from(is_first));
        // Their calls would wait for a session that this connection, without calls, does not set up.
        self.give_up_others(conn);
        again
    }

    fn start_renewal(&mut self, conn: u32) {
        let client = self.own.client(conn);
        let Some(wait) = client.renewal_wait() else {
            return;
        };
        if !std::mem::replace(&mut client.has_renewal_timer, true) {
            let at = client.last_call + wait;
            let at = at.max(self.state.now + Nanos::from_millis(100));
            let timer = ConnTimer::Renewal;
            self.start_timer(at, Timer::OfConn { conn, timer });
        }
    }

    /// Renews the lease if the client was idle for a third of it.
    pub(super) fn renew_lease(&mut self, conn: u32) {
        let now = self.state.now;
        let client = self.own.client(conn);
        client.has_renewal_timer = false;
        let Some(wait) = client.renewal_wait() else {
            return;
        };
        let is_idle = now.since(client.last_call) >= wait;
        let is_due = is_idle && client.needs_renewal();
        if is_due && !self.state.stop.is_raised() {
            self.counters.add(Tally::LeaseRenewals);
            let is_begun = self.own_call(conn, None, StateCall::Renew);
            self.own.client(conn).is_renewing = is_begun;
        }
        if is_idle {
            self.own.client(conn).last_call = now;
        }
        self.start_renewal(conn);
    }

    /// Reads `sr_status_flags`: each flag is counted once per session.
    pub(super) fn note_flags(&mut self, conn: u32, flags: StatusFlags) {
        let client = self.own.client(conn);
        let new = flags.0 & !client.flags_seen;
        client.flags_seen = flags.0;
        if new == 0 {
            return;
        }
        let new = StatusFlags(new);
        self.counters.add(Tally::StatusFlags);
        self.counters.add_many(
            Tally::RevokedStates,
            u64::from(new.is_state_revoked() || new.is_reclaim_needed()),
        );
    }
}

pub(super) fn lost(reason: String) -> Event {
    Event::Lost(io::Error::other(reason))
}

fn binding_status(record: &[u8]) -> Result<Nfsstat4, DecodeError> {
    let mut d = Decoder::new(record);
    let header = ReplyHeader::decode(&mut d)?;
    if header.check().is_err() {
        return Ok(Nfsstat4::Serverfault);
    }
    let mut compound = CompoundRes::decode(&mut d)?;
    if compound.left() == 0 {
        return Ok(compound.status);
    }
    let result = compound.read::<BindConnToSessionArgs>()?;
    Ok(result.err().unwrap_or(Nfsstat4::Ok))
}
