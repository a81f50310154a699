//! Several connections of one session (SMB_CHANNELS): which of them sets the session up, which
//! one the next call goes over, what becomes of the calls of one that is lost
//! (MS-SMB2 3.2.4.2.3, 3.2.7.1).
//!
//! The channels of a session have consecutive numbers and are in one shard, so that nothing is
//! shared between threads. A session with one channel has none of this.

use super::counters::Counters;
use filermark_driver_kit::sockets::Turns;
use filermark_model::Nanos;
use filermark_smbwire::smb2;

/// A lost channel is made again after this time, doubled with each attempt.
const BACKOFF_MIN: Nanos = Nanos::from_millis(10);
const BACKOFF_MAX: Nanos = Nanos::from_secs(1);

/// How far a channel is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// There is no connection.
    #[default]
    Down,
    /// It waits until another channel has set the session up.
    Queued,
    /// It sets the session up.
    SettingUp,
    /// It is being bound to the session.
    Binding,
    /// Calls go over it.
    Up,
    /// Its session is lost: the connection is to be closed.
    GivenUp,
    /// The server does not bind it. It is not tried again.
    Refused,
}

/// How the set-up of a channel begins.
#[derive(Debug)]
pub(crate) enum Setup<'a> {
    /// The session is set up.
    First,
    /// The connection is bound to this session.
    Bind(&'a smb2::Session),
    /// Another channel sets the session up.
    Wait,
    /// The server has sessions with one connection only.
    Unused,
}

#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    stage: Stage,
    /// It was lost, and is to be made again without a call.
    is_needed: bool,
    backoff: Nanos,
}

/// A session and its channels.
#[derive(Debug, Default)]
struct Group {
    turns: Turns,
    /// The identity of the client, which all channels state.
    client_guid: [u8; 16],
    /// The session, to be bound to others; `None`: there is none.
    session: Option<Box<smb2::Session>>,
    /// The channel that sets the session up.
    set_up_by: Option<u32>,
    /// The server has sessions of one connection only.
    is_single: bool,
    /// How many channels have been lost.
    sequence: u16,
}

/// Calls and bytes of the channels with the same place in their sessions.
#[derive(Debug)]
struct Traffic {
    names: [String; 2],
    counts: [u64; 2],
}

/// The sessions of a shard and their channels.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    /// Channels of each session; 1: each connection is a session, and nothing is kept here.
    width: u32,
    groups: Vec<Group>,
    channels: Vec<Channel>,
    traffic: Vec<Traffic>,
}

impl Channels {
    /// For so many connections. `guid` makes the identities of clients.
    pub(crate) fn new(conns: usize, width: u32, mut guid: impl FnMut() -> [u8; 16]) -> Self {
        if width <= 1 {
            return Self {
                width: 1,
                ..Self::default()
            };
        }
        let groups = (0..conns as u32).step_by(width as usize);
        Self {
            width,
            groups: groups
                .map(|first| Group {
                    turns: (first..first + width).into(),
                    client_guid: guid(),
                    ..Group::default()
                })
                .collect(),
            channels: vec![Channel::default(); conns],
            traffic: (1..=width)
                .map(|n| Traffic {
                    names: ["calls", "bytes"].map(|what| format!("channel_{n}_{what}")),
                    counts: [0; 2],
                })
                .collect(),
        }
    }

    /// Whether sessions have several channels.
    #[inline]
    pub(crate) const fn are_several(&self) -> bool {
        self.width > 1
    }

    /// The first channel of the session of a connection.
    #[inline]
    pub(crate) const fn first_of(&self, conn: u32) -> u32 {
        conn - conn % self.width
    }

    fn group(&mut self, conn: u32) -> &mut Group {
        &mut self.groups[(conn / self.width) as usize]
    }

    pub(crate) fn client_guid(&mut self, conn: u32) -> [u8; 16] {
        self.group(conn).client_guid
    }

    pub(crate) fn stage(&self, conn: u32) -> Stage {
        (self.channels.get(conn as usize)).map_or(Stage::Up, |channel| channel.stage)
    }

    pub(crate) fn set_stage(&mut self, conn: u32, stage: Stage) {
        self.channels[conn as usize].stage = stage;
    }

    /// How many channels of the session have been lost.
    #[inline]
    pub(crate) fn sequence(&self, conn: u32) -> u16 {
        self.groups[(conn / self.width) as usize].sequence
    }

    /// The connection for the next call of a session: those that are up take turns.
    #[inline]
    pub(crate) fn next(&mut self, first: u32) -> u32 {
        if self.width == 1 {
            return first;
        }
        match self.next_up(first) {
            Some(conn) => conn,
            None => self.next_to_set_up(first),
        }
    }

    /// The next channel of the session that is up.
    pub(crate) fn next_up(&mut self, conn: u32) -> Option<u32> {
        if self.width == 1 {
            return None;
        }
        let group = &mut self.groups[(conn / self.width) as usize];
        let channels = &self.channels;
        (group.turns).next(|conn| channels[conn as usize].stage == Stage::Up)
    }

    /// No channel is up: the one that sets the session up, or can do that.
    fn next_to_set_up(&mut self, first: u32) -> u32 {
        let group = &self.groups[(first / self.width) as usize];
        let may = |conn: &u32| self.channels[*conn as usize].stage != Stage::Refused;
        let other = || (first..first + self.width).find(may);
        group.set_up_by.or_else(other).unwrap_or(first)
    }

    /// The other channels of a session in this stage.
    pub(crate) fn others_in(&self, conn: u32, stage: Stage) -> impl Iterator<Item = u32> + '_ {
        let first = self.first_of(conn);
        (first..first + self.width)
            .filter(move |other| *other != conn && self.stage(*other) == stage)
    }

    /// How the set-up of a connection begins.
    pub(crate) fn begin(&mut self, conn: u32) -> Setup<'_> {
        let group = &mut self.groups[(conn / self.width) as usize];
        let (stage, setup) = match (&group.session, group.set_up_by) {
            (Some(_), _) if group.is_single => (Stage::Refused, Setup::Unused),
            (Some(session), _) => (Stage::Binding, Setup::Bind(session)),
            (None, None) => {
                group.set_up_by = Some(conn);
                (Stage::SettingUp, Setup::First)
            }
            (None, Some(by)) if by == conn => (Stage::SettingUp, Setup::First),
            (None, Some(_)) => (Stage::Queued, Setup::Wait),
        };
        self.channels[conn as usize].stage = stage;
        setup
    }

    /// Whether a channel that has waited for the session can go on.
    pub(crate) fn can_go_on(&self, conn: u32) -> bool {
        let Some(group) = self.groups.get((conn / self.width) as usize) else {
            return false;
        };
        let is_there = group.session.is_some() || group.is_single || group.set_up_by.is_none();
        is_there && self.stage(conn) == Stage::Queued
    }

    /// A channel is up. `session`: what it has set up; the server binds no others to it if
    /// `is_single`.
    pub(crate) fn up(&mut self, conn: u32, session: smb2::Session, is_single: bool) {
        let was = std::mem::replace(&mut self.channels[conn as usize].stage, Stage::Up);
        let channel = &mut self.channels[conn as usize];
        channel.backoff = Nanos::ZERO;
        channel.is_needed = false;
        if was == Stage::SettingUp {
            let group = self.group(conn);
            group.set_up_by = None;
            group.sequence = 0;
            group.is_single = is_single;
            group.session = Some(Box::new(session));
        }
    }

    /// A connection has ended. Whether others carry the session on.
    pub(crate) fn down(&mut self, conn: u32) -> Lost {
        let channel = &mut self.channels[conn as usize];
        if channel.stage == Stage::Refused {
            return Lost::Nothing;
        }
        let was = std::mem::take(&mut channel.stage);
        let group = self.group(conn);
        if group.set_up_by == Some(conn) {
            group.set_up_by = None;
        }
        if was != Stage::Up {
            return Lost::Nothing;
        }
        group.sequence = group.sequence.wrapping_add(1);
        match self.others_in(conn, Stage::Up).next() {
            Some(_) => Lost::Channel,
            None => Lost::Session,
        }
    }

    /// The session is lost: its other channels are to be closed. Gives one after another.
    pub(crate) fn give_up_next(&mut self, conn: u32) -> Option<u32> {
        let group = self.group(conn);
        group.session = None;
        group.is_single = false;
        let up = self.others_in(conn, Stage::Up).next();
        let other = up.or_else(|| self.others_in(conn, Stage::Binding).next())?;
        self.set_stage(other, Stage::GivenUp);
        Some(other)
    }

    /// When to make a lost channel again.
    pub(crate) fn make_again_at(&mut self, conn: u32, now: Nanos) -> Option<Nanos> {
        let channel = &mut self.channels[conn as usize];
        if channel.stage == Stage::Refused {
            return None;
        }
        channel.is_needed = false;
        channel.backoff = Nanos(channel.backoff.0 * 2).clamp(BACKOFF_MIN, BACKOFF_MAX);
        Some(now + channel.backoff)
    }

    /// The time has come.
    pub(crate) fn make_again(&mut self, conn: u32) {
        let channel = &mut self.channels[conn as usize];
        channel.is_needed = channel.stage == Stage::Down;
    }

    pub(crate) fn is_needed(&self, conn: u32) -> bool {
        (self.channels.get(conn as usize)).is_some_and(|channel| channel.is_needed)
    }

    /// Counts an answered call.
    #[inline]
    pub(crate) fn count(&mut self, conn: u32, bytes: u32) {
        if let Some(traffic) = self.traffic.get_mut((conn % self.width) as usize) {
            traffic.counts[0] += 1;
            traffic.counts[1] += u64::from(bytes);
        }
    }

    /// Adds its counters to `into`, and resets them.
    pub(crate) fn take_counters(&mut self, into: &mut std::collections::BTreeMap<String, u64>) {
        for traffic in &mut self.traffic {
            Counters::take_named(&traffic.names, &mut traffic.counts, into);
        }
    }
}

/// What was lost with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It was not up.
    Nothing,
    /// Other channels carry the session on.
    Channel,
    /// The session, with the open files.
    Session,
}
