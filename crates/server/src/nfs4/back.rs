//! The channel for callbacks of a session (RFC 8881 sections 2.10.3.1, 2.10.6 and 20.9): the connections
//! that carry it, and its one slot. A callback whose connection has ended is sent again on another one,
//! with the same number, so that the client executes it once.

use super::recall::Notice;
use super::session::Session;
use filermark_onc::nfs4::seq4_status;
use filermark_onc::template::CallTemplate;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Most connections that are remembered for one channel, and most calls of one connection.
const CONNECTIONS_MAX: usize = 16;
/// Most callbacks that wait for the slot. What does not fit is asked for again by who waits for it.
const WAITING_MAX: usize = 1024;
/// Most calls of a connection whose replies have not come.
const CALLS_MAX: usize = 1024;

/// Puts a message among those to be sent on a connection.
type Send = Box<dyn Fn(Vec<u8>) + std::marker::Send + Sync>;

/// The way to the client of a connection, for messages that are no replies.
pub(crate) struct Outlet {
    send: Send,
    is_open: AtomicBool,
    /// The calls without a reply so far: xid and session.
    calls: Mutex<Vec<(u32, Weak<Session>)>>,
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet")
            .field("is_open", &self.is_open)
            .finish_non_exhaustive()
    }
}

impl Outlet {
    /// Of a connection on which `send` sends.
    pub(crate) fn new(send: Send) -> Outlet {
        Outlet {
            send,
            is_open: AtomicBool::new(true),
            calls: Mutex::default(),
        }
    }

    /// The connection has ended.
    pub(crate) fn close(&self) {
        self.is_open.store(false, Ordering::Release);
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    fn calls(&self) -> MutexGuard<'_, Vec<(u32, Weak<Session>)>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self, xid: u32, session: &Arc<Session>, message: Vec<u8>) {
        let mut calls = self.calls();
        calls.retain(|(_, session)| session.strong_count() > 0);
        if calls.len() < CALLS_MAX {
            calls.push((xid, Arc::downgrade(session)));
            drop(calls);
            (self.send)(message);
        }
    }

    /// The session whose call has this reply. Each reply is taken once.
    pub(crate) fn answered(&self, xid: u32) -> Option<Arc<Session>> {
        let mut calls = self.calls();
        let at = calls.iter().position(|(sent, _)| *sent == xid)?;
        calls.swap_remove(at).1.upgrade()
    }

    /// Whether the client owes a reply.
    pub(crate) fn has_calls(&self) -> bool {
        !self.calls().is_empty()
    }
}

/// What a reply to a callback says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answered {
    /// The callback was executed, whatever its result.
    Executed,
    /// It was not, and may be sent again.
    Refused,
    /// The client and the server do not agree: the channel is not used any more.
    Fault,
}

/// A callback to be written.
#[derive(Debug)]
pub(crate) struct Callback<'a> {
    pub(crate) xid: u32,
    pub(crate) sequenceid: u32,
    pub(crate) minor: u32,
    pub(crate) template: &'a CallTemplate,
    pub(crate) notice: &'a Notice,
}

#[derive(Debug)]
struct InFlight {
    xid: u32,
    message: Vec<u8>,
    outlet: Arc<Outlet>,
    notice: Notice,
}

#[derive(Debug, Default)]
struct Channel {
    outlets: Vec<Arc<Outlet>>,
    /// Of the last callback.
    sequenceid: u32,
    in_flight: Option<InFlight>,
    waiting: VecDeque<Notice>,
}

/// The channel for callbacks of a session.
#[derive(Debug)]
pub(crate) struct Back {
    template: CallTemplate,
    minor: u32,
    is_faulty: AtomicBool,
    channel: Mutex<Channel>,
}

impl Back {
    /// A channel without connections, for calls with this header.
    pub(crate) fn new(template: CallTemplate, minor: u32) -> Back {
        Back {
            template,
            minor,
            is_faulty: AtomicBool::new(false),
            channel: Mutex::default(),
        }
    }

    fn channel(&self) -> MutexGuard<'_, Channel> {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection carries callbacks from now on.
    pub(crate) fn bind(&self, outlet: &Arc<Outlet>) {
        let outlets = &mut self.channel().outlets;
        outlets.retain(|known| known.is_open() && !Arc::ptr_eq(known, outlet));
        if outlets.len() >= CONNECTIONS_MAX {
            outlets.remove(0);
        }
        outlets.push(outlet.clone());
        self.is_faulty.store(false, Ordering::Relaxed);
    }

    /// Bits of `seq4_status`: what is wrong with the channel.
    pub(crate) fn status(&self) -> u32 {
        if self.is_faulty.load(Ordering::Relaxed) {
            return seq4_status::BACKCHANNEL_FAULT;
        }
        match self.channel().outlets.iter().any(|outlet| outlet.is_open()) {
            true => 0,
            false => seq4_status::CB_PATH_DOWN | seq4_status::CB_PATH_DOWN_SESSION,
        }
    }

    /// Whether callbacks can be sent now.
    pub(crate) fn is_up(&self) -> bool {
        self.status() == 0
    }

    /// Queues a callback, unless one about the same waits already.
    pub(crate) fn queue(&self, notice: Notice) {
        let channel = &mut *self.channel();
        let is_same = |known: &Notice| known.stateid() == notice.stateid();
        let is_known = channel.waiting.iter().any(is_same)
            || channel
                .in_flight
                .as_ref()
                .is_some_and(|sent| is_same(&sent.notice));
        if !is_known && channel.waiting.len() < WAITING_MAX {
            channel.waiting.push_back(notice);
        }
    }

    /// Sends the next callback if the slot is free, or the one under way again if its connection has ended.
    /// Returns whether a new one was sent. `write` makes its bytes; `xid` numbers it.
    pub(crate) fn advance(
        &self,
        session: &Arc<Session>,
        xid: impl FnOnce() -> u32,
        write: impl FnOnce(&Session, &Callback<'_>) -> Vec<u8>,
    ) -> bool {
        let channel = &mut *self.channel();
        let Some(outlet) = channel
            .outlets
            .iter()
            .rfind(|outlet| outlet.is_open())
            .cloned()
        else {
            return false;
        };
        if self.is_faulty.load(Ordering::Relaxed) {
            return false;
        }
        if let Some(sent) = &mut channel.in_flight {
            if !sent.outlet.is_open() {
                sent.outlet = outlet;
                sent.outlet.call(sent.xid, session, sent.message.clone());
            }
            return false;
        }
        let Some(notice) = channel.waiting.pop_front() else {
            return false;
        };
        let xid = xid();
        let message = write(
            session,
            &Callback {
                xid,
                sequenceid: channel.sequenceid.wrapping_add(1),
                minor: self.minor,
                template: &self.template,
                notice: &notice,
            },
        );
        outlet.call(xid, session, message.clone());
        channel.in_flight = Some(InFlight {
            xid,
            message,
            outlet,
            notice,
        });
        true
    }

    /// The reply to a callback has come. `judge` gets its sequence number and what it
    /// was about, and says what it means. Returns
    /// what it was about.
    pub(crate) fn answer(
        &self,
        xid: u32,
        judge: impl FnOnce(u32, &Notice) -> Answered,
    ) -> Option<(Notice, Answered)> {
        let channel = &mut *self.channel();
        let sent = channel.in_flight.take_if(|sent| sent.xid == xid)?;
        let answered = judge(channel.sequenceid.wrapping_add(1), &sent.notice);
        match answered {
            Answered::Executed => channel.sequenceid = channel.sequenceid.wrapping_add(1),
            Answered::Refused => {}
            Answered::Fault => self.is_faulty.store(true, Ordering::Relaxed),
        }
        Some((sent.notice, answered))
    }
}
