//! A client: its session, and what the server has lost of it. `conns` has its connections.

use super::devices::Device;
use crate::version4::{ClientIdentity, Established, SessionRequest, SessionSetup};
use filermark_driver_kit::sockets::Turns;
use filermark_model::Nanos;
use filermark_onc::nfs4::Sessionid4;
use std::collections::VecDeque;
use std::time::Duration;

/// How often in a row sessions may be lost before calls end.
pub(super) const LOSSES_MAX: u32 = 8;
/// A shorter lease counts as this: our own design.
const LEASE_MIN: Nanos = Nanos::from_secs(10);
/// The lease is renewed after a third of it without a call.
const RENEWALS: u64 = 3;

/// How far the end of a client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It has not begun.
    #[default]
    Running,
    /// CLOSEs are under way.
    Closing,
    /// DESTROY_SESSION is under way.
    Session,
    /// DESTROY_CLIENTID is to be sent.
    Client,
    /// It is under way.
    LastCall,
    /// Nothing is left to do.
    Done,
}

impl Ending {
    /// A connection that is made now needs no session.
    pub(super) const fn is_without_session(self) -> bool {
        matches!(self, Self::Client | Self::LastCall | Self::Done)
    }
}

/// A client with its connections.
#[derive(Debug)]
pub(crate) struct Client {
    identity: ClientIdentity,
    /// The numbers of its connections.
    conns: Turns,
    /// Those whose calls wait for a slot, the longest wait first.
    pub(super) blocked: VecDeque<u32>,
    /// The connection on which the session is set up.
    set_up_by: Option<u32>,
    pub(super) setup: Option<SessionSetup>,
    pub(super) session: Option<Box<Established>>,
    /// The server does not know the session any more, or it cannot be used.
    pub(super) is_lost: bool,
    /// Sessions that were given up and that the server may still have.
    abandoned: Vec<Sessionid4>,
    /// Counts sessions.
    pub(super) number: u32,
    /// Sessions lost since the last call that was executed.
    losses: u32,
    /// Sessions that the server did not know on a further connection, each soon after the one before, and when
    /// that was for the last time.
    unknown_sessions: u32,
    unknown_at: Nanos,
    /// Calls ended without a reply: their slots cannot be used any more.
    pub(super) dead_slots: u32,
    /// When the last call with SEQUENCE was encoded.
    pub(super) last_call: Nanos,
    pub(super) has_renewal_timer: bool,
    pub(super) is_renewing: bool,
    /// The bits of `sr_status_flags` that were reported already.
    pub(super) flags_seen: u32,
    /// Sequence number of the last callback in the session.
    pub(super) callback_number: u32,
    /// The results of that callback, for a retry.
    pub(super) callback_results: Vec<u8>,
    /// Delegations or layouts were recalled that are not returned yet.
    pub(super) has_recalls: bool,
    /// Data servers of its layouts.
    pub(super) devices: Vec<Device>,
    /// CLOSEs, DELEGRETURNs and LAYOUTRETURNs under way.
    pub(super) closing: u32,
    /// How far the end of it is.
    pub(super) ending: Ending,
    /// The server has not confirmed that it has dropped the client.
    pub(super) is_refused: bool,
}

impl Client {
    /// A client that is not set up, without connections.
    pub(crate) fn new(identity: ClientIdentity) -> Self {
        Self {
            identity,
            conns: Turns::default(),
            blocked: VecDeque::new(),
            set_up_by: None,
            setup: None,
            session: None,
            is_lost: false,
            abandoned: Vec::new(),
            number: 0,
            losses: 0,
            unknown_sessions: 0,
            unknown_at: Nanos::ZERO,
            dead_slots: 0,
            last_call: Nanos::ZERO,
            has_renewal_timer: false,
            is_renewing: false,
            flags_seen: 0,
            callback_number: 0,
            callback_results: Vec::new(),
            has_recalls: false,
            devices: Vec::new(),
            closing: 0,
            ending: Default::default(),
            is_refused: false,
        }
    }

    /// Whether the server may keep it after its end.
    pub(super) const fn is_left(&self) -> bool {
        self.is_refused || (self.session.is_some() && !matches!(self.ending, Ending::Done))
    }

    /// Begins the set-up of a session: the first one, or one in place of the lost one.
    pub(super) fn begin_setup(&mut self, request: SessionRequest, ready_max: Duration) {
        self.abandon();
        self.is_lost = self.session.is_some();
        if self.is_lost && !request.minor.has_sessions() {
            self.identity.restart();
        }
        let identity = self.identity.clone();
        self.setup = Some(match &self.session {
            Some(lost) => SessionSetup::again(identity, request, ready_max, lost),
            None => SessionSetup::new(identity, request, ready_max),
        });
    }

    /// Its connections.
    #[inline]
    pub(super) fn conns(&self) -> &[u32] {
        self.conns.conns()
    }

    /// Adds a connection. Nothing is allocated after that when one waits for a slot.
    pub(super) fn add_conn(&mut self, conn: u32) {
        self.conns.add(conn);
        self.blocked.reserve(self.conns.conns().len());
    }

    /// The next connection after that of the last turn which is fit.
    #[inline]
    pub(super) fn take_turn(&mut self, is_fit: impl Fn(u32) -> bool) -> Option<u32> {
        self.conns.next(is_fit)
    }

    /// Whether another connection than this one sets the session up.
    pub(super) fn is_set_up_by_another(&self, conn: u32) -> bool {
        self.set_up_by.is_some_and(|by| by != conn)
    }

    /// The session is set up on this connection.
    pub(super) fn set_up_on(&mut self, conn: u32) {
        self.set_up_by = Some(conn);
    }

    /// The set-up on this connection is over; returns whether there was one.
    pub(super) fn end_setup_on(&mut self, conn: u32) -> bool {
        self.set_up_by.take_if(|by| *by == conn).is_some()
    }

    /// Whether a slot of the session is free.
    pub(super) fn has_free_slot(&self) -> bool {
        let session = self.session.as_ref().filter(|_| !self.is_lost);
        session.is_some_and(|known| known.session.slots().has_free())
    }

    /// The session cannot be used any more; returns whether another one is to be tried.
    pub(super) fn lose(&mut self) -> bool {
        if !self.is_lost {
            self.is_lost = true;
            self.losses += 1;
        }
        self.losses <= LOSSES_MAX
    }

    /// The server does not know the session on another connection, although calls go over one; returns whether
    /// another session is to be set up there. Servers that have restarted do that, but not all the time: calls
    /// that are executed do not make it right, a lease does.
    pub(super) fn lose_on_another(&mut self, now: Nanos) -> bool {
        let lease = self.lease().unwrap_or(Nanos::ZERO).max(LEASE_MIN);
        if now.since(self.unknown_at) >= lease {
            self.unknown_sessions = 0;
        }
        self.unknown_at = now;
        self.unknown_sessions += 1;
        self.unknown_sessions <= LOSSES_MAX
    }

    /// Version 4.0: an OPEN could not be confirmed; returns whether the file is opened again.
    pub(super) fn lose_confirmation(&mut self) -> bool {
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

    /// Whether no slot of the session can be used any more.
    pub(super) fn lacks_slots(&self) -> bool {
        let session = self.session.as_ref().filter(|_| !self.is_lost);
        session.is_some_and(|known| self.dead_slots >= known.session.slots().granted())
    }

    fn lease(&self) -> Option<Nanos> {
        let lease = self.session.as_ref()?.lease;
        Some(Nanos(u64::try_from(lease.as_nanos()).unwrap_or(u64::MAX)))
    }

    pub(super) fn renewal_wait(&self) -> Option<Nanos> {
        Some(Nanos(self.lease()?.0 / RENEWALS))
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

    /// Whether its lease is to be renewed when no call does it.
    pub(super) fn needs_renewal(&self) -> bool {
        self.has_session() && !self.is_renewing && self.ending == Ending::Running
    }

    /// The renewal under way has ended.
    pub(super) fn renewed(&mut self) {
        self.is_renewing = false;
    }
}
