//! The client of a connection: its set-up, its session, and what happens when the server has
//! lost one of them.

use super::Sessions;
use super::rows::StateCall;
use crate::driver::core::{Core, Timer};
use crate::driver::counters::Tally;
use crate::driver::variant::ConnTimer;
use crate::version4::{
    ClientIdentity, Established, MINOR_VERSION, SessionRequest, SessionSetup, SetupStep,
    StatusFlags,
};
use filermark_driver_kit::sockets::{Event, probe_xid};
use filermark_model::Nanos;
use filermark_onc::nfs4::{
    BindConnToSessionArgs, CompoundRes, CompoundWriter, Nfsstat4, PROC_COMPOUND, Sessionid4,
    channel_dir,
};
use filermark_onc::rpc::ReplyHeader;
use filermark_onc::xdr::{Decode, DecodeError, Decoder};
use std::io;
use std::time::Duration;

/// How often in a row sessions may be lost before calls end.
const LOSSES_MAX: u32 = 8;
/// The lease is renewed after a third of it without a call.
const RENEWALS: u64 = 3;

/// What is under way on the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// There is no connection.
    Down,
    /// A session is set up.
    SettingUp,
    /// The server was not ready; the set-up goes on when a timer expires.
    Waiting,
    /// The session is bound to a new connection.
    Binding,
    /// Calls can be sent.
    Up,
}

/// The client of a connection.
#[derive(Debug)]
pub(crate) struct Client {
    identity: ClientIdentity,
    pub(super) stage: Stage,
    setup: Option<SessionSetup>,
    pub(super) session: Option<Box<Established>>,
    /// The server does not know the session any more, or it cannot be used.
    is_lost: bool,
    /// Sessions that were given up and that the server may still have.
    abandoned: Vec<Sessionid4>,
    /// Counts sessions.
    pub(super) number: u32,
    /// Sessions lost since the last call that was executed.
    losses: u32,
    /// Calls ended without a reply: their slots cannot be used any more.
    dead_slots: u32,
    /// The xid of the set-up's call under way.
    pub(super) xid: u32,
    /// Messages of the set-up, and answers to callbacks.
    pub(super) unsent: Vec<u8>,
    /// When the last call with SEQUENCE was encoded.
    pub(super) last_call: Nanos,
    has_renewal_timer: bool,
    is_renewing: bool,
    /// Since when all slots are in use and calls wait.
    pub(super) full_since: Option<Nanos>,
    /// The bits of `sr_status_flags` that were reported already.
    flags_seen: u32,
    /// Sequence number of the last callback in the session.
    pub(super) callback_number: u32,
    /// CLOSEs under way.
    pub(super) closing: u32,
    /// How far the end of it is.
    pub(super) ending: super::ending::Ending,
}

impl Client {
    /// A client that is not set up.
    pub(crate) fn new(identity: ClientIdentity) -> Self {
        Self {
            identity,
            stage: Stage::Down,
            setup: None,
            session: None,
            is_lost: false,
            abandoned: Vec::new(),
            number: 0,
            losses: 0,
            dead_slots: 0,
            xid: 0,
            unsent: Vec::new(),
            last_call: Nanos::ZERO,
            has_renewal_timer: false,
            is_renewing: false,
            full_since: None,
            flags_seen: 0,
            callback_number: 0,
            closing: 0,
            ending: Default::default(),
        }
    }

    /// Begins the set-up of a session: the first one, or one in place of the lost one.
    fn begin_setup(&mut self, request: SessionRequest, ready_max: Duration) {
        self.abandon();
        self.is_lost = self.session.is_some();
        let identity = self.identity.clone();
        self.setup = Some(match &self.session {
            Some(lost) => SessionSetup::again(identity, request, ready_max, lost),
            None => SessionSetup::new(identity, request, ready_max),
        });
    }

    /// The connection has ended.
    pub(super) fn disconnected(&mut self) {
        self.stage = Stage::Down;
        self.setup = None;
        self.unsent.clear();
    }

    /// The session cannot be used any more; returns whether another one is to be tried.
    pub(super) fn lose(&mut self) -> bool {
        if !self.is_lost {
            self.is_lost = true;
            self.losses += 1;
        }
        self.losses <= LOSSES_MAX
    }

    /// The connection is not bound to the session; returns whether it is tried again.
    pub(super) fn lose_binding(&mut self) -> bool {
        self.losses += 1;
        self.losses <= LOSSES_MAX
    }

    /// A call was executed.
    #[inline]
    pub(super) fn works(&mut self) {
        self.losses = 0;
    }

    /// A slot whose call has ended without a reply: the next session has it again.
    pub(super) fn lose_slot(&mut self) {
        self.dead_slots += 1;
    }

    fn renewal_wait(&self) -> Option<Nanos> {
        let lease = self.session.as_ref()?.lease;
        let lease = u64::try_from(lease.as_nanos()).unwrap_or(u64::MAX);
        Some(Nanos(lease / RENEWALS))
    }

    /// The session is given up although the server may still have it: it is destroyed at the
    /// end.
    pub(super) fn abandon(&mut self) {
        if let Some(established) = self.session.as_ref().filter(|_| !self.is_lost) {
            self.abandoned.push(established.session.sessionid());
        }
    }

    /// The session that is to be destroyed next.
    pub(super) fn to_be_destroyed(&self) -> Option<Sessionid4> {
        let own = self.session.as_ref().filter(|_| !self.is_lost);
        let own = own.map(|established| established.session.sessionid());
        self.abandoned.last().copied().or(own)
    }

    /// The session of [`Client::to_be_destroyed`] is over.
    pub(super) fn end_session(&mut self) {
        if self.abandoned.pop().is_none() {
            self.is_lost = true;
        }
    }

    /// Whether there is a session that the server knows, as far as is known.
    pub(super) fn has_session(&self) -> bool {
        self.session.is_some() && !self.is_lost
    }

    /// The renewal under way has ended.
    pub(super) fn renewed(&mut self) {
        self.is_renewing = false;
    }
}

impl Core<Sessions> {
    /// The connection is there: a session is set up, or goes on with it.
    pub(super) fn connect_client(&mut self, conn: u32) -> Event {
        let now = self.state.clock.now();
        let (request, ready_max) = (self.own.request, self.own.ready_max);
        let client = self.own.client(conn);
        client.xid = probe_xid(conn ^ now.0 as u32);
        if client.ending.is_without_session() {
            client.stage = Stage::Up;
            return Event::Up;
        }
        // A slot without a reply cannot be used again: with it the session is given up.
        if client.has_session() && client.dead_slots == 0 {
            self.bind(conn);
        } else {
            client.begin_setup(request, ready_max);
            self.set_up_again(conn);
        }
        Event::Send
    }

    /// The session of an earlier connection goes on with this one.
    fn bind(&mut self, conn: u32) {
        let client = &mut self.own.clients[conn as usize];
        let Some(established) = &client.session else {
            return;
        };
        client.stage = Stage::Binding;
        let out = &mut client.unsent;
        let record = self.template.begin(out, client.xid, PROC_COMPOUND);
        let mut row = CompoundWriter::begin(out, b"", MINOR_VERSION);
        row.op(&BindConnToSessionArgs {
            sessid: established.session.sessionid(),
            dir: channel_dir::FORE,
            use_conn_in_rdma_mode: false,
        });
        row.finish();
        record.finish(out);
    }

    /// Sends the next call of the set-up.
    pub(super) fn set_up_again(&mut self, conn: u32) {
        let client = &mut self.own.clients[conn as usize];
        if let Some(setup) = &client.setup {
            client.stage = Stage::SettingUp;
            client.xid = probe_xid(client.xid.wrapping_shr(18).wrapping_add(1));
            setup.next_call(&self.template, client.xid, &mut client.unsent);
            self.calls.mark_dirty(conn);
        }
    }

    /// A reply to a call of the set-up.
    pub(super) fn set_up_reply(&mut self, conn: u32, record: &[u8]) -> Event {
        let client = self.own.client(conn);
        if client.stage == Stage::Binding {
            return self.bound(conn, record);
        }
        let Some(setup) = &mut client.setup else {
            return Event::Nothing;
        };
        match setup.reply(record) {
            Ok(SetupStep::Call) => {
                self.set_up_again(conn);
                Event::Send
            }
            Ok(SetupStep::Wait(wait)) => {
                client.stage = Stage::Waiting;
                self.counters.add(Tally::JukeboxWaits);
                let at = self.state.now + Nanos(wait.as_nanos() as u64);
                let timer = ConnTimer::SetUp;
                self.start_timer(at, Timer::OfConn { conn, timer });
                Event::Nothing
            }
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
        if status == Nfsstat4::Ok {
            self.counters.add(Tally::BoundSessions);
            self.own.client(conn).stage = Stage::Up;
            return Event::Up;
        }
        self.lose_session(conn);
        let (request, ready_max) = (self.own.request, self.own.ready_max);
        self.own.client(conn).begin_setup(request, ready_max);
        self.set_up_again(conn);
        Event::Send
    }

    /// A session was set up.
    fn session_up(&mut self, conn: u32, established: Box<Established>) -> Event {
        let client = self.own.client(conn);
        let had_session = client.session.is_some();
        let is_new_client = established.is_new_client;
        let limits = *established.session.fore();
        client.setup = None;
        client.session = Some(established);
        client.stage = Stage::Up;
        client.is_lost = false;
        client.dead_slots = 0;
        client.callback_number = 0;
        client.number = client.number.wrapping_add(1);
        client.last_call = self.state.now;
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
        let client = self.own.client(conn);
        let is_first = !client.is_lost;
        let again = client.lose();
        self.counters
            .add_many(Tally::LostSessions, u64::from(is_first));
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

    /// Renews the lease if the connection was idle for a third of it.
    pub(super) fn renew_lease(&mut self, conn: u32) {
        let now = self.state.now;
        let client = self.own.client(conn);
        client.has_renewal_timer = false;
        let Some(wait) = client.renewal_wait() else {
            return;
        };
        let is_idle = now.since(client.last_call) >= wait;
        let is_due = is_idle && client.has_session() && !client.is_renewing;
        if is_due && !self.state.stop.is_raised() {
            self.own.client(conn).is_renewing = true;
            self.counters.add(Tally::LeaseRenewals);
            self.own_call(conn, None, StateCall::Renew);
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
    let mut row = CompoundRes::decode(&mut d)?;
    if row.left() == 0 {
        return Ok(row.status);
    }
    let result = row.read::<BindConnToSessionArgs>()?;
    Ok(result.err().unwrap_or(Nfsstat4::Ok))
}
