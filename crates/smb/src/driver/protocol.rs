//! SMB on the loop of the driver kit: a handshake sets up the session of a connection, and a
//! window limits the calls under way.
//!
//! Calls are not retransmitted: they use open files, which are lost with their connection. (With
//! several channels they are sent again on another one: see `failover`.) A
//! logon that the server has refused is not repeated, because servers lock accounts after
//! several failures.

use super::calls::{Call, CallOutcome};
use super::channels::Stage;
use super::core::{Core, Timer};
use super::counters::Tally;
use super::session::{MessageOutcome, SessionProtocol};
use crate::login::Login;
use filermark_driver_kit::sockets::{
    Calls, Event, Incident, LoopState, OnLoss, Received, WireProtocol,
};
use filermark_engine::driver::{ObjectId, Request, Status, Submit};
use filermark_model::Nanos;
use filermark_net::FrameProgress;
use filermark_smbwire::error::SetupError;
use filermark_smbwire::frame::{self, Front};
use filermark_smbwire::smb2;
use filermark_tls::TlsError;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// The state of a connection.
#[derive(Debug)]
pub(crate) struct ConnState {
    login: Arc<Login>,
    pub(super) session: SessionProtocol,
    /// The outcome of the messages of the current read so far.
    outcome: MessageOutcome,
    /// After a loss, this connection tests whether the server still accepts the user.
    tests_login: bool,
}

impl ConnState {
    pub(crate) fn new(login: Arc<Login>) -> Self {
        Self {
            login,
            session: SessionProtocol::default(),
            outcome: MessageOutcome::NoEvent,
            tests_login: false,
        }
    }

    /// Begins the set-up of the session, or of another channel of it.
    pub(super) fn begin(
        &mut self,
        guid: Option<[u8; 16]>,
        session: Option<&smb2::Session>,
    ) -> Event {
        match self.session.begin(&self.login, guid, session) {
            Ok(()) => Event::Send,
            Err(error) => self.refused(&error),
        }
    }

    /// The share, as the user names it.
    pub(super) fn place(&self) -> &str {
        &self.login.place
    }

    /// The event if the server refuses the user, or no logon is possible.
    fn refused(&self, error: &SetupError) -> Event {
        Event::Refused(self.why(error))
    }

    /// Why there is no session, with advice. A user who is refused is not tried again.
    pub(super) fn why(&self, error: &SetupError) -> String {
        let error = self.login.explain(error);
        let advice = match error.advice.is_empty() {
            true => String::new(),
            false => format!("; {}", error.advice),
        };
        format!("{}{advice}", error.reason)
    }
}

impl WireProtocol for Core {
    type Call = Call;
    type Conn = ConnState;
    type Timer = Timer;

    const CONNECT_STEP: &'static str = "set an SMB session up";
    /// A server starts a process or thread for each session.
    const CONNECTING_MAX: usize = 64;
    /// A user whom the server refuses must be refused once, not once per proc.
    const FIRST_ALONE: bool = true;
    const ON_LOSS: OnLoss = OnLoss::Fail;

    fn calls(&self) -> &Calls<Call> {
        &self.calls
    }

    fn calls_mut(&mut self) -> &mut Calls<Call> {
        &mut self.calls
    }

    fn state(&self) -> &LoopState<Timer> {
        &self.state
    }

    fn state_mut(&mut self) -> &mut LoopState<Timer> {
        &mut self.state
    }

    fn submit(&mut self, request: &Request) -> Submit {
        Self::submit(self, request)
    }

    fn connected(&mut self, conn: u32, state: &mut ConnState) -> Event {
        match self.channels.are_several() {
            true => self.begin_channel(conn, state),
            false => state.begin(None, None),
        }
    }

    fn go_on(&mut self, conn: u32, state: &mut ConnState) -> Event {
        match self.channels.are_several() && self.channels.can_go_on(conn) {
            true => self.begin_channel(conn, state),
            false => Event::Nothing,
        }
    }

    fn is_needed(&self, conn: u32) -> bool {
        self.channels.is_needed(conn)
    }

    fn given_up(&mut self, conn: u32, _state: &mut ConnState) -> Option<io::Error> {
        let is_given_up = self.channels.stage(conn) == Stage::GivenUp;
        is_given_up.then(|| io::Error::other(super::failover::GIVEN_UP))
    }

    fn fire(&mut self, timer: Timer) {
        self.fire_timer(timer);
    }

    fn stopping(&mut self) {
        self.end_waits();
    }

    fn may_reconnect(&mut self, state: &mut ConnState) -> bool {
        let first = state.login.try_again(self.state.now);
        state.tests_login = first == Some(true);
        first.is_some()
    }

    fn closed(&mut self, conn: u32, state: &mut ConnState) {
        match self.channels.are_several() {
            true => self.channel_down(conn),
            false => self.end_epoch(conn),
        }
        if std::mem::take(&mut state.tests_login) {
            state.login.end_trial();
        }
        state.outcome = MessageOutcome::NoEvent;
        state.session.end();
    }

    fn own_bytes(&mut self, state: &mut ConnState, out: &mut Vec<u8>) {
        state.session.take_setup(out);
    }

    #[inline]
    fn encode_next(&mut self, conn: u32, state: &mut ConnState, out: &mut Vec<u8>) -> bool {
        state.session.encode_next(conn, self, out)
    }

    #[inline]
    fn call_sent(&mut self, slot: u32) {
        let call = self.calls.get(slot);
        tracing::trace!(target: "filermark_smb::rpc", conn = call.conn, call = slot, kind = ?call.kind, messages = call.left, "sent");
        match call.replays {
            0 => self.counters.call(call.kind),
            _ => self.counters.add(Tally::ReplayedCalls),
        }
        self.ops.get_mut(call.op).stamp_sent(self.state.now);
    }

    #[inline]
    fn receive(
        &mut self,
        conn: u32,
        state: &mut ConnState,
        bytes: &mut [u8],
        at: Nanos,
    ) -> Received {
        let (session, outcome) = (&mut state.session, &mut state.outcome);
        let progress = split(bytes, session.message_max(), |message| {
            *outcome = outcome.with(session.message(conn, message, self, at));
        });
        Ok(progress?)
    }

    #[inline]
    fn after_read(&mut self, conn: u32, state: &mut ConnState) -> Event {
        match std::mem::take(&mut state.outcome) {
            MessageOutcome::NoEvent => Event::Nothing,
            MessageOutcome::Replies => Event::Replies,
            outcome => self.after_setup_or_end(conn, state, outcome),
        }
    }

    fn fail_call(&mut self, slot: u32, status: Status) {
        if self.channels.are_several() && self.replay(slot) {
            return;
        }
        let now = self.state.now;
        self.end_call(slot, CallOutcome::Ends(status), 0, now);
    }

    fn count(&mut self, incident: Incident, times: u64) {
        let tally = match incident {
            Incident::Reconnect => Tally::Reconnects,
            Incident::ConnectFailure => Tally::ConnectFailures,
            Incident::Timeout => Tally::Timeouts,
            Incident::StreamError => Tally::StreamErrors,
            // Calls are sent once, and over streams.
            Incident::Retransmit
            | Incident::BadDatagram
            | Incident::Unreachable
            | Incident::SendError => return,
        };
        self.counters.add_many(tally, times);
    }

    fn take_counters(&mut self, into: &mut BTreeMap<String, u64>) {
        self.counters.take(into);
        self.channels.take_counters(into);
    }

    fn transfer_bytes(&self) -> (u32, u32) {
        let sizes = self.transfers.iter().copied();
        sizes
            .reduce(|a, b| (a.0.min(b.0), a.1.min(b.1)))
            .unwrap_or_default()
    }

    fn forget_objects(&mut self, proc: u32, from: ObjectId) {
        if let Some(proc) = self.procs.get_mut(proc as usize) {
            proc.forget_objects(from);
        }
    }

    fn place(&self, state: &ConnState, peer: SocketAddr) -> String {
        format!("{} ({peer})", state.login.place)
    }

    fn connect_advice(&self, _tls: Option<&TlsError>) -> &'static str {
        "check that the server runs, how many sessions it allows and how many open files \
         this client allows (ulimit -n); with CONNECTIONS=N procs share connections"
    }
}

impl Core {
    #[cold]
    fn after_setup_or_end(
        &mut self,
        conn: u32,
        state: &mut ConnState,
        outcome: MessageOutcome,
    ) -> Event {
        match outcome {
            MessageOutcome::NoEvent => Event::Nothing,
            MessageOutcome::Replies => Event::Replies,
            MessageOutcome::Expired => match state.session.renew(&state.login, self) {
                Ok(true) => Event::SetupAgain,
                Ok(false) => Event::Nothing,
                Err(error) => state.refused(&error),
            },
            MessageOutcome::Send => Event::Send,
            MessageOutcome::SessionDeleted => {
                if self.channels.are_several() {
                    self.session_lost(conn);
                }
                Event::Lost(io::Error::other("the server has ended the session"))
            }
            MessageOutcome::Ready => {
                state.login.let_in(self.state.now);
                state.tests_login = false;
                self.transfers[conn as usize] = state.session.transfers(&self.settings);
                match self.channels.are_several() {
                    true => self.channel_up(conn, state.session.smb2()),
                    false => Event::Up,
                }
            }
            MessageOutcome::Refused => match state.session.take_refusal() {
                Some(error) if let Some(event) = self.bind_refused(conn, state, &error) => event,
                Some(error) if Login::is_final(&error) => state.refused(&error),
                // A server that is starting or busy may accept the logon later.
                Some(error) => Event::Lost(io::Error::other(error.to_string())),
                None => Event::Nothing,
            },
            MessageOutcome::ProtocolError => Event::Lost(io::Error::new(
                io::ErrorKind::InvalidData,
                "a message is malformed or has a wrong signature",
            )),
        }
    }
}

/// Passes every whole message in `bytes` to `each`; returns how many bytes were consumed and
/// how many are missing.
fn split(
    bytes: &mut [u8],
    max: usize,
    mut each: impl FnMut(&mut [u8]),
) -> Result<FrameProgress, frame::FrameError> {
    let mut at = 0;
    loop {
        let rest = bytes.get_mut(at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(FrameProgress {
                consumed: at,
                wanted: 0,
            });
        }
        match frame::front(rest, max)? {
            Front::Complete(len) => {
                let whole = frame::MARK + len;
                each(rest.get_mut(frame::MARK..whole).unwrap_or_default());
                at += whole;
            }
            Front::Incomplete(wanted) => {
                return Ok(FrameProgress {
                    consumed: at,
                    wanted,
                });
            }
        }
    }
}
