//! The messages of one connection: the handshake, then calls and replies. It has no socket;
//! bytes are written to a buffer and read from one.

use super::calls::CallOutcome;
use super::core::{Core, SessionState, Settings};
use super::counters::Tally;
use super::status::{NETWORK_SESSION_EXPIRED, NO_CREDITS, NO_HANDLE};
use super::window::Window;
use super::wire;
use crate::login::{Handshake, Login, Session};
use filermark_engine::driver::Status;
use filermark_model::Nanos;
use filermark_smbwire::error::{DecodeError, SetupError};
use filermark_smbwire::settings::Next;
use filermark_smbwire::smb2::{self, session::Marks};

/// The longest message before the session is set up, in bytes.
const SETUP_MESSAGE_MAX: usize = 256 << 10;
/// Bytes of a reply besides its data.
const REPLY_OVERHEAD: usize = 16 << 10;
/// Replies up to this size are accepted with any transfer size (listings).
const REPLY_MIN: usize = 128 << 10;

/// The outcome of a message; of several, the most important one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MessageOutcome {
    #[default]
    NoEvent,
    /// Calls were answered.
    Replies,
    /// The session has expired: the user must be authenticated again.
    Expired,
    /// The handshake has data to send.
    Send,
    /// The session is set up.
    Ready,
    /// The server has ended the session or its tree.
    SessionDeleted,
    /// The server refuses the logon.
    Refused,
    /// A message is not valid.
    ProtocolError,
}

impl MessageOutcome {
    pub(crate) fn with(self, other: Self) -> Self {
        self.max(other)
    }
}

/// The protocol state of a connection.
#[derive(Debug, Default)]
pub(crate) struct SessionProtocol {
    handshake: Option<Handshake>,
    /// Data of the handshake to be sent.
    setup: Vec<u8>,
    session: Option<Session>,
    window: Option<Window>,
    /// The session has expired; calls wait until the user has been authenticated again.
    expired: bool,
    /// Largest message that is accepted, in bytes.
    message_max: usize,
    refusal: Option<SetupError>,
}

impl SessionProtocol {
    /// Begins the handshake on a new connection. `guid`: one of several of its session, or of
    /// the session that the connection is to be bound to.
    pub(crate) fn begin(
        &mut self,
        login: &Login,
        guid: Option<[u8; 16]>,
        session: Option<&smb2::Session>,
    ) -> Result<(), SetupError> {
        let mut handshake = match guid {
            None => login.handshake()?,
            Some(guid) => login.channel(guid, session)?,
        };
        self.setup.clear();
        handshake.first(&mut self.setup)?;
        self.handshake = Some(handshake);
        self.message_max = SETUP_MESSAGE_MAX;
        Ok(())
    }

    /// Moves the handshake's data to `out`.
    pub(crate) fn take_setup(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.setup);
    }

    pub(crate) fn message_max(&self) -> usize {
        self.message_max
    }

    /// Why the server refuses the logon.
    pub(crate) fn take_refusal(&mut self) -> Option<SetupError> {
        self.refusal.take()
    }

    /// The session, if it is one of SMB2.
    pub(crate) fn smb2(&self) -> Option<&smb2::Session> {
        match &self.session {
            Some(Session::Smb2(session)) => Some(session),
            Some(Session::Smb1(_)) | None => None,
        }
    }

    /// Largest transfers of the session that the user's settings allow, in bytes.
    pub(crate) fn transfers(&self, settings: &Settings) -> (u32, u32) {
        let limits = self.session.as_ref().map(Session::limits);
        limits.map_or((0, 0), |l| {
            let of = |most: u32| most.min(settings.block_max).max(1);
            (of(l.read_max), of(l.write_max))
        })
    }

    /// Encodes the next call of the connection's queue; `false`: there is none, or it must wait
    /// for replies.
    pub(crate) fn encode_next(&mut self, conn: u32, core: &mut Core, out: &mut Vec<u8>) -> bool {
        if self.expired {
            return false;
        }
        let Some(slot) = next_call(conn, core) else {
            return false;
        };
        let (Some(session), Some(window)) = (&mut self.session, &mut self.window) else {
            return false;
        };
        let (mut messages, mut charge) = cost(session, core, slot);
        if !window.can_send(charge, messages) {
            core.counters.add(Tally::CreditWaits);
            if !window.is_empty() {
                return false;
            }
            // No reply is awaited that could grant more credits: uses those at hand.
            core.split(slot, window.bytes_payable());
            (messages, charge) = cost(session, core, slot);
            if !window.can_send(charge, messages) {
                let now = core.state.now;
                core.end_call(slot, CallOutcome::Failed(NO_CREDITS), 0, now);
                return false;
            }
        }
        match session {
            Session::Smb1(session) => wire::encode(&mut **session, window, core, slot, out),
            Session::Smb2(session) => {
                if core.channels.are_several() {
                    let call = core.calls.get(slot);
                    session.mark(Marks {
                        channel_sequence: core.channels.sequence(conn),
                        is_replay: call.replays > 0 && call.kind.has_replay_flag(),
                    });
                }
                wire::encode(&mut **session, window, core, slot, out);
            }
        }
        core.calls.get_mut(slot).left = messages as u8;
        true
    }

    /// Processes a whole message that was received at `now`.
    pub(crate) fn message(
        &mut self,
        conn: u32,
        message: &mut [u8],
        core: &mut Core,
        now: Nanos,
    ) -> MessageOutcome {
        if self.refusal.is_some() {
            return MessageOutcome::Refused;
        }
        if self.handshake.is_some() {
            return self.receive_handshake(message, core);
        }
        let (Some(session), Some(window)) = (&mut self.session, &mut self.window) else {
            return MessageOutcome::NoEvent;
        };
        let received = match session {
            Session::Smb1(session) => wire::receive_smb1(session, window, core, message, now),
            Session::Smb2(session) => wire::receive_smb2(session, window, core, message, now),
        };
        let state = std::mem::replace(&mut core.session, SessionState::Valid);
        match (received, state) {
            (Err(error), _) => {
                tracing::debug!(conn, %error, "message refused");
                core.counters.add(match error {
                    DecodeError::Signature | DecodeError::Sealed => Tally::BadSignatures,
                    DecodeError::TooShort | DecodeError::Bad(_) => Tally::BadReplies,
                });
                MessageOutcome::ProtocolError
            }
            (Ok(()), SessionState::Deleted) => MessageOutcome::SessionDeleted,
            (Ok(()), SessionState::Expired) => {
                self.expired = true;
                MessageOutcome::Expired
            }
            (Ok(()), SessionState::Valid) => match self.expired {
                true => MessageOutcome::Expired,
                false => MessageOutcome::Replies,
            },
        }
    }

    /// Renews an expired session (MS-SMB2 3.2.5.1.6): when no call is under way any more, the
    /// user is authenticated again on the same connection; open files stay open.
    pub(crate) fn renew(&mut self, login: &Login, core: &mut Core) -> Result<bool, SetupError> {
        let (Some(Session::Smb2(session)), Some(window)) = (&mut self.session, &self.window) else {
            return Ok(false);
        };
        if !window.is_empty() || self.handshake.is_some() {
            return Ok(false);
        }
        window.return_credits(&mut session.credits);
        let mut handshake = login.handshake_again(session)?;
        handshake.first(&mut self.setup)?;
        self.handshake = Some(handshake);
        core.counters.add(Tally::SessionRenewals);
        Ok(true)
    }

    fn receive_handshake(&mut self, message: &mut [u8], core: &mut Core) -> MessageOutcome {
        let settings = &core.settings;
        let Some(handshake) = &mut self.handshake else {
            return MessageOutcome::NoEvent;
        };
        match handshake.reply(message, &mut self.setup) {
            Ok(Next::Send) => MessageOutcome::Send,
            Ok(Next::Pending) => MessageOutcome::NoEvent,
            Ok(Next::Ready(session)) => {
                self.handshake = None;
                self.window = Some(session.window());
                let limits = session.limits();
                let data = limits.read_max.min(settings.block_max) as usize;
                self.message_max = data.max(REPLY_MIN) + REPLY_OVERHEAD;
                self.session = Some(*session);
                self.expired = false;
                MessageOutcome::Ready
            }
            Err(error) => {
                self.refusal = Some(error);
                MessageOutcome::Refused
            }
        }
    }

    /// Resets the state after the end of the connection.
    pub(crate) fn end(&mut self) {
        *self = Self {
            message_max: self.message_max,
            ..Self::default()
        };
    }
}

/// The first call of the queue that can be made. Calls on files that were lost with an earlier
/// connection end here.
fn next_call(conn: u32, core: &mut Core) -> Option<u32> {
    loop {
        let slot = core.calls.next_to_encode(conn)?;
        let call = *core.calls.get(slot);
        if !core.is_on_lost_file(&call) {
            return Some(slot);
        }
        core.ops.get_mut(call.op).owns_file = false;
        let now = core.state.now;
        core.end_call(slot, CallOutcome::Failed(NO_HANDLE), 0, now);
    }
}

/// How many messages a call is, and how many credits they take.
fn cost(session: &Session, core: &Core, slot: u32) -> (u32, u32) {
    let call = core.calls.get(slot);
    match session {
        Session::Smb1(session) => wire::cost(&**session, core, call),
        Session::Smb2(session) => wire::cost(&**session, core, call),
    }
}

/// Notes the answer to a message of a call, and ends the call with its last one.
pub(crate) fn part_answered(core: &mut Core, slot: u32, good: CallOutcome, now: Nanos) {
    let call = core.calls.get_mut(slot);
    call.left = call.left.saturating_sub(1);
    if call.left > 0 {
        return;
    }
    if call.status == NETWORK_SESSION_EXPIRED && !call.is_garbage {
        return core.call_again(slot);
    }
    let is_replay = call.replays > 0;
    if is_replay && core.replay_waits(slot) {
        return;
    }
    let call = core.calls.get(slot);
    let verdict = match (call.is_garbage, call.is_lost, call.status) {
        (true, ..) => {
            core.counters.add(Tally::BadReplies);
            CallOutcome::Ends(Status::Garbage)
        }
        (_, true, _) => CallOutcome::Ends(Status::Disconnected),
        (.., 0) => good,
        (.., status) => CallOutcome::Failed(status),
    };
    let verdict = match is_replay {
        true => core.accept_replayed(slot, verdict, now),
        false => verdict,
    };
    // One frame and one round trip, however many messages are in it.
    core.end_call(slot, verdict, 1, now);
}
