//! What becomes of a session and its calls when a channel is lost, or cannot be bound.

use super::calls::{CallOutcome, Kind};
use super::channels::{Lost, Setup, Stage};
use super::core::{Core, Timer};
use super::counters::Tally;
use super::protocol::ConnState;
use filermark_driver_kit::sockets::Event;
use filermark_engine::driver::Status;
use filermark_model::Nanos;
use filermark_smbwire::error::SetupError;
use filermark_smbwire::smb2::Session;
use filermark_smbwire::status;

/// How often one call is sent again on another channel.
const REPLAYS_MAX: u8 = 2;
/// The pause before a call is sent again that the server refuses as long as it works on the
/// one of the lost channel (STATUS_FILE_NOT_AVAILABLE), and how often that is done.
const REPLAY_PAUSE: Nanos = Nanos::from_millis(10);
const REPLAY_WAITS_MAX: u16 = 500;
/// Why the first connection of a session is refused.
const NO_CHANNELS: &str = "the server binds no other connections to a session: it does not \
     offer multichannel with this dialect and user; set SMB_CHANNELS=1, or \
     SMB_CHANNELS_FEWER=on to work with one connection, or enable it there (in Samba: server \
     multi channel support)";

/// Why a connection of a lost session is closed.
pub(super) const GIVEN_UP: &str = "its session is not used any more";

impl Kind {
    /// Whether a call has the same result if it was carried out before. (A second OPEN would
    /// leave the first file open, a second LOCK meet the lock of the first, a second removal
    /// find nothing.)
    const fn is_replayable(self) -> bool {
        !matches!(
            self,
            Self::Open | Self::Lock | Self::RemoveFile | Self::RemoveDir
        )
    }

    /// Whether the server has to know that it may have been carried out before (MS-SMB2
    /// 3.3.5.2.10).
    pub(crate) const fn has_replay_flag(self) -> bool {
        matches!(
            self,
            Self::Write | Self::SetTimes | Self::SetSize | Self::SetDelete
        )
    }
}

/// The session of a connection was lost while it was being bound.
fn given_up() -> Event {
    Event::Lost(std::io::Error::other(GIVEN_UP))
}

impl Core {
    /// Begins the set-up of a channel, or goes on with it.
    pub(crate) fn begin_channel(&mut self, conn: u32, state: &mut ConnState) -> Event {
        let guid = self.channels.client_guid(conn);
        match self.channels.begin(conn) {
            Setup::First => state.begin(Some(guid), None),
            Setup::Bind(session) => state.begin(Some(guid), Some(session)),
            Setup::Wait => Event::Nothing,
            Setup::Unused => self.unused_channel(conn),
        }
    }

    /// A channel that is set up, or set up again.
    pub(crate) fn channel_up(&mut self, conn: u32, session: Option<&Session>) -> Event {
        let Some(session) = session else {
            return Event::Up;
        };
        let is_single = !session.has_channels();
        let was = self.channels.stage(conn);
        if was == Stage::GivenUp {
            return given_up();
        }
        if was == Stage::SettingUp && is_single && !self.settings.fewer_channels {
            return Event::Refused(NO_CHANNELS.to_owned());
        }
        if was == Stage::SettingUp && is_single {
            tracing::warn!("{NO_CHANNELS}");
        }
        let first = self.channels.first_of(conn) as usize;
        self.transfers[first] = self.transfers[conn as usize];
        self.channels.up(conn, session.share(), is_single);
        self.wake_queued(conn);
        Event::Up
    }

    fn wake_queued(&mut self, conn: u32) {
        for other in self.channels.others_in(conn, Stage::Queued) {
            self.calls.mark_dirty(other);
        }
    }

    /// A channel that cannot be had: the connection gets no calls.
    fn unused_channel(&mut self, conn: u32) -> Event {
        let first = self.channels.first_of(conn) as usize;
        self.transfers[conn as usize] = self.transfers[first];
        self.channels.set_stage(conn, Stage::Refused);
        self.counters.add(Tally::ChannelsRefused);
        Event::Up
    }

    /// A connection could not be bound to its session. `None`: it was not being bound.
    pub(crate) fn bind_refused(
        &mut self,
        conn: u32,
        state: &ConnState,
        error: &SetupError,
    ) -> Option<Event> {
        match self.channels.stage(conn) {
            Stage::Binding => {}
            Stage::GivenUp => return Some(given_up()),
            _ => return None,
        }
        let refused = match error {
            SetupError::Refused { status, .. } => Some(*status),
            SetupError::Reply { .. } => return None,
            _ => None,
        };
        if refused == Some(status::USER_SESSION_DELETED) {
            self.session_lost(conn);
            return Some(Event::Lost(std::io::Error::other(error.to_string())));
        }
        let why = state.why(error);
        let place = state.place();
        tracing::warn!("{place}: a connection is not bound to its session: {why}");
        let unused = self.unused_channel(conn);
        Some(match self.settings.fewer_channels {
            true => unused,
            false => Event::Refused(format!(
                "it is not bound to its session: {why}; set a smaller SMB_CHANNELS, or \
                 SMB_CHANNELS_FEWER=on to work with the connections that it binds"
            )),
        })
    }

    /// The session is no more: its other channels are closed, and its files are lost.
    pub(crate) fn session_lost(&mut self, conn: u32) {
        while let Some(other) = self.channels.give_up_next(conn) {
            self.calls.mark_dirty(other);
        }
        self.end_epoch(self.channels.first_of(conn));
    }

    /// A connection of a session with several has ended.
    #[cold]
    pub(crate) fn channel_down(&mut self, conn: u32) {
        match self.channels.down(conn) {
            Lost::Nothing => {}
            Lost::Channel => self.counters.add(Tally::ChannelFailovers),
            Lost::Session => self.session_lost(conn),
        }
        self.wake_queued(conn);
        // Calls that wait to be encoded go over the others.
        while let Some(slot) = self.calls.next_to_encode(conn)
            && !self.state.stopping
            && let Some(other) = self.channels.next_up(conn)
        {
            self.calls.park(slot);
            self.send_on(slot, other);
        }
        if let Some(at) = self.channels.make_again_at(conn, self.state.now) {
            self.state.start_timer(at, Timer::MakeChannel { conn });
        }
    }

    /// Sends a parked call on this connection.
    fn send_on(&mut self, slot: u32, conn: u32) {
        let call = self.calls.get_mut(slot);
        call.conn = conn;
        call.status = 0;
        call.received = 0;
        call.is_garbage = false;
        call.is_lost = false;
        self.calls.unpark(slot, self.state.now);
    }

    /// Has a call sent on another channel, whose own was lost; `false`: it ends.
    #[cold]
    pub(crate) fn replay(&mut self, slot: u32) -> bool {
        if self.state.stopping {
            return false;
        }
        let call = *self.calls.get(slot);
        let Some(other) = self.channels.next_up(call.conn).filter(|o| *o != call.conn) else {
            return false;
        };
        let is_sent = call.on_wire || call.replays > 0;
        if is_sent && (!call.kind.is_replayable() || call.replays >= REPLAYS_MAX) {
            self.counters.add(Tally::UnreplayedCalls);
            return false;
        }
        self.calls.park(slot);
        if is_sent {
            let now = self.state.now;
            let call = self.calls.get_mut(slot);
            call.replays += 1;
            if call.replays == 1 {
                call.lost_at = now;
            }
        }
        self.send_on(slot, other);
        true
    }

    /// A call that was sent again has an answer: whether it has to wait, since the server is still
    /// working on the one of the lost channel.
    #[cold]
    pub(crate) fn replay_waits(&mut self, slot: u32) -> bool {
        let call = self.calls.get_mut(slot);
        let must_wait = call.status == status::FILE_NOT_AVAILABLE && !call.is_garbage;
        if !must_wait || call.replay_waits >= REPLAY_WAITS_MAX || self.state.stopping {
            return false;
        }
        call.replay_waits += 1;
        let xid = call.xid;
        self.calls.park(slot);
        self.counters.add(Tally::ReplayWaits);
        let at = self.state.now + REPLAY_PAUSE;
        self.state.start_timer(at, Timer::Replay { xid });
        true
    }

    /// The outcome of a call that was sent again: what was closed before is closed.
    pub(crate) fn accept_replayed(
        &mut self,
        slot: u32,
        verdict: CallOutcome,
        now: Nanos,
    ) -> CallOutcome {
        let call = self.calls.get(slot);
        let micros = now.since(call.lost_at).0 / 1000;
        self.counters.add_many(Tally::ReplayUs, micros);
        match (call.kind, verdict) {
            (Kind::Close, CallOutcome::Failed(status::FILE_CLOSED)) => CallOutcome::Ok,
            (_, verdict) => verdict,
        }
    }

    pub(crate) fn fire_timer(&mut self, timer: Timer) {
        match timer {
            Timer::MakeChannel { conn } => {
                self.channels.make_again(conn);
                self.calls.mark_dirty(conn);
            }
            Timer::Replay { xid } => {
                if let Some(slot) = self.calls.find(xid).filter(|s| self.calls.get(*s).parked) {
                    let conn = self.calls.get(slot).conn;
                    let conn = self.channels.next(self.channels.first_of(conn));
                    self.send_on(slot, conn);
                }
            }
        }
    }

    /// Calls that wait for a timer end; channels are still to be made again.
    pub(crate) fn end_waits(&mut self) {
        for timer in self.state.take_timers() {
            match timer {
                Timer::MakeChannel { .. } => self.state.start_timer(self.state.now, timer),
                Timer::Replay { xid } => {
                    if let Some(slot) = self.calls.find(xid).filter(|s| self.calls.get(*s).parked) {
                        let now = self.state.now;
                        self.end_call(slot, CallOutcome::Ends(Status::Disconnected), 0, now);
                    }
                }
            }
        }
    }
}
