//! What the connections of a client have in common (RFC 8881 section 2.10.4): which of them sets the session
//! up, which one the next call goes over, which ones wait for a slot.
//!
//! All connections of a client are in one shard, so that nothing here is shared between threads.

use super::client::Client;
use super::conns::{ClientConn, Stage};
use super::state::Sessions;
use crate::driver::core::Core;
use filermark_driver_kit::sockets::Event;
use filermark_model::Nanos;
use filermark_onc::nfs4::Nfsstat4;
use std::io;

impl Sessions {
    /// The connection.
    pub(super) fn conn(&mut self, conn: u32) -> &mut ClientConn {
        &mut self.conns[conn as usize]
    }

    /// The place of the client of a connection.
    #[inline]
    pub(super) fn place(&self, conn: u32) -> usize {
        self.conns[conn as usize].client as usize
    }

    /// The client of a connection.
    #[inline]
    pub(super) fn client_of(&self, conn: u32) -> &Client {
        &self.clients[self.place(conn)]
    }

    /// Whether two connections have a client in common.
    #[inline]
    pub(super) fn is_same_client(&self, one: u32, other: u32) -> bool {
        self.place(one) == self.place(other)
    }

    /// The other connections of the client of a connection, in this stage.
    fn others_in(&self, conn: u32, stage: Stage) -> impl Iterator<Item = u32> + '_ {
        let all = self.client_of(conn).conns().iter().copied();
        all.filter(move |other| *other != conn && self.conns[*other as usize].stage == stage)
    }

    /// Whether another connection of the client has the session.
    pub(super) fn has_another(&self, conn: u32) -> bool {
        self.others_in(conn, Stage::Up).next().is_some()
    }

    /// Calls of a connection wait for a slot, since `now` if they did not before.
    pub(super) fn block(&mut self, conn: u32, now: Nanos) {
        let of = &mut self.conns[conn as usize];
        of.full_since.get_or_insert(now);
        if !std::mem::replace(&mut of.is_blocked, true) {
            self.clients[of.client as usize].blocked.push_back(conn);
        }
    }

    /// The next connection that waits for a slot and can use one.
    fn next_blocked(&mut self, conn: u32) -> Option<u32> {
        let place = self.place(conn);
        while let Some(next) = self.clients[place].blocked.pop_front() {
            let of = &mut self.conns[next as usize];
            of.is_blocked = false;
            if of.stage == Stage::Up {
                return Some(next);
            }
        }
        None
    }

    /// How many clients, sessions and connections there are at present.
    pub(super) fn present(&self) -> [u64; 3] {
        let clients = self.clients.iter().filter(|client| client.has_session());
        let clients = clients.count() as u64;
        let conns = self.conns.iter().filter(|conn| conn.stage == Stage::Up);
        let sessions = clients * u64::from(self.has_sessions());
        [clients, sessions, conns.count() as u64]
    }
}

impl Core<Sessions> {
    /// The connection of a client for the next call: they take turns. One that is being made gets no second
    /// call as long as there is another one, and one that the server does not bind to the session gets none.
    #[inline]
    pub(super) fn route_call(&mut self, conn: u32) -> u32 {
        match self.own.client_of(conn).conns().len() {
            0 | 1 => conn,
            _ => self.next_in_turn(conn),
        }
    }

    fn next_in_turn(&mut self, conn: u32) -> u32 {
        let Sessions { clients, conns, .. } = &mut self.own;
        let client = &mut clients[conns[conn as usize].client as usize];
        let is_ready = |next: u32| {
            let of = &conns[next as usize];
            of.stage == Stage::Up || !of.is_refused && self.calls.first(next).is_none()
        };
        let next = match client.take_turn(is_ready) {
            Some(next) => Some(next),
            None => client.take_turn(|next| !conns[next as usize].is_refused),
        };
        next.unwrap_or(conn)
    }

    /// A slot of the client is free: the connection that has waited for the longest time may take it.
    #[inline]
    pub(super) fn wake_blocked(&mut self, conn: u32) {
        if let Some(next) = self.own.next_blocked(conn) {
            self.calls.mark_dirty(next);
        }
    }

    /// A connection has no more calls to send: what is left of the slots is for others.
    #[inline]
    pub(super) fn pass_on_slots(&mut self, conn: u32) {
        let client = self.own.client_of(conn);
        if !client.blocked.is_empty() && client.has_free_slot() {
            self.wake_blocked(conn);
        }
    }

    /// The session that there was is not used any more, for a reason that this connection has found: the others
    /// of the client are closed, and bound to the next one.
    pub(super) fn give_up_others(&mut self, conn: u32) {
        for at in 0..self.own.client_of(conn).conns().len() {
            let other = self.own.client_of(conn).conns()[at];
            let stage = &mut self.own.conn(other).stage;
            if other != conn && matches!(stage, Stage::Up | Stage::Binding) {
                *stage = Stage::GivenUp;
                self.calls.mark_dirty(other);
            }
        }
    }

    /// The session is there: it is bound to the connections that have waited for it.
    pub(super) fn bind_queued(&mut self, conn: u32) {
        while let Some(other) = self.next_queued(conn) {
            self.bind(other);
            self.calls.mark_dirty(other);
        }
    }

    fn next_queued(&self, conn: u32) -> Option<u32> {
        self.own.others_in(conn, Stage::Queued).next()
    }

    /// A connection has ended. If it was to set the session up, another one does that.
    pub(super) fn conn_closed(&mut self, conn: u32) {
        let of = self.own.conn(conn);
        of.stage = Stage::Down;
        of.unsent.clear();
        if !self.own.client(conn).end_setup_on(conn) {
            return;
        }
        let Some(other) = self.next_queued(conn) else {
            return;
        };
        if self.own.client(conn).ending.is_without_session() {
            self.own.conn(other).stage = Stage::GivenUp;
        } else {
            self.begin_setup_on(other);
        }
        self.calls.mark_dirty(other);
    }

    /// Why a connection is to be closed.
    pub(super) fn why_given_up(&mut self, conn: u32) -> Option<io::Error> {
        // Connections to data servers have no session.
        let of = self.own.conns.get(conn as usize)?;
        let is_given_up = of.stage == Stage::GivenUp;
        is_given_up.then(|| io::Error::other("its session is not used any more"))
    }

    /// The server does not bind the connection to the session that others use.
    pub(super) fn refuse_conn(&mut self, conn: u32, status: Nfsstat4, why: &str) -> Event {
        self.own.conn(conn).is_refused = true;
        tracing::warn!("BIND_CONN_TO_SESSION: {status}: {why}");
        Event::Refused(format!("BIND_CONN_TO_SESSION: {status}: {why}"))
    }
}
