//! TLS on the connections of the loop.

use super::EventLoop;
use super::conn::{Conn, ConnState};
use super::session::Secure;
use filermark_tls::Channel;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;

/// After a failure of TLS: what is read and dropped, in bytes, before the connection is closed.
const DROPPED_MAX: usize = 1 << 20;

impl Conn {
    /// Sends the notice of the end, if the socket takes it at once.
    pub(super) fn end_tls(&mut self) {
        if let Some(tls) = &mut self.tls {
            let mut out = Vec::new();
            tls.channel.close(&mut out);
            // The client may be gone.
            let _ = (&self.stream).write(&out);
        }
    }

    /// TLS has failed: sends the reason to the client, and drops what comes until it has closed the
    /// connection. Closed at once, the connection would be reset and the client would not learn why.
    fn refuse_tls(&mut self) -> ConnState {
        self.tls = None;
        self.dropped_bytes = Some(0);
        if self.flush().is_err() || self.stream.shutdown(Shutdown::Write).is_err() {
            return ConnState::Close;
        }
        ConnState::Keep
    }
}

impl EventLoop {
    /// Sends `out`, encrypted where the connection has TLS, and empties it.
    #[inline]
    pub(super) fn send(&mut self, conn: &mut Conn, out: &mut Vec<u8>) -> ConnState {
        if let Some(tls) = &mut conn.tls
            && !out.is_empty()
            && tls.seal(out, &mut self.spare).is_err()
        {
            return ConnState::Close;
        }
        conn.send(out)
    }

    /// TLS begins behind the reply in `out`. Bytes of the client that came before it would be taken for
    /// bytes of TLS, and replies that are held back would be sent in the clear.
    pub(super) fn begin_tls(
        &mut self,
        conn: &mut Conn,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> ConnState {
        let channel = self.service.shared.tls.as_ref().map(Channel::server);
        let (Some(Ok(channel)), true, false) = (channel, input.is_empty(), conn.holds_replies())
        else {
            self.service.counters.tls_failures.add(1);
            return ConnState::Close;
        };
        let state = conn.send(out);
        conn.tls = Some(Box::new(Secure {
            channel,
            is_counted: false,
        }));
        state
    }

    /// Reads from a connection with TLS and serves what is complete.
    pub(super) fn read_sealed(&mut self, conn: &mut Conn) -> ConnState {
        let mut input = std::mem::take(&mut self.input);
        let state = self.receive_sealed(conn, &mut input);
        self.input = input;
        state
    }

    fn receive_sealed(&mut self, conn: &mut Conn, input: &mut [u8]) -> ConnState {
        let Some(tls) = &mut conn.tls else {
            return ConnState::Close;
        };
        let at = tls.channel.place(input);
        let space = input.get_mut(at..).unwrap_or_default();
        let came = match (&conn.stream).read(space) {
            Ok(0) => {
                conn.at_end = true;
                return ConnState::Keep;
            }
            Ok(came) => came,
            Err(error) => {
                return match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::Interrupted => ConnState::Keep,
                    _ => ConnState::Close,
                };
            }
        };
        let mut messages = Vec::new();
        let received = tls.channel.receive(input, at + came, None, &mut messages);
        let (is_open, is_ended) = (tls.channel.is_open(), tls.channel.is_ended());
        if is_open && !std::mem::replace(&mut tls.is_counted, true) {
            self.service.counters.connections_tls.add(1);
        }
        conn.push(&messages);
        let Ok(length) = received else {
            self.service.counters.tls_failures.add(1);
            return conn.refuse_tls();
        };
        conn.peer.is_secured = is_open;
        if !messages.is_empty() && conn.flush().is_err() {
            return ConnState::Close;
        }
        let state = match length {
            0 => ConnState::Keep,
            _ => self.process(conn, input.get(..length).unwrap_or_default()),
        };
        conn.at_end |= is_ended;
        match state {
            ConnState::Keep => self.end_behind_input(conn),
            ConnState::Close => ConnState::Close,
        }
    }

    /// The session may be broken behind the calls that were served.
    fn end_behind_input(&mut self, conn: &mut Conn) -> ConnState {
        let Some(tls) = &mut conn.tls else {
            return ConnState::Keep;
        };
        let mut alert = Vec::new();
        if tls.channel.failure(&mut alert).is_none() {
            return ConnState::Keep;
        }
        conn.push(&alert);
        self.service.counters.tls_failures.add(1);
        conn.refuse_tls()
    }

    /// Drops what comes after a failure of TLS.
    pub(super) fn drop_input(&mut self, conn: &mut Conn) -> ConnState {
        let dropped = conn.dropped_bytes.unwrap_or_default();
        match (&conn.stream).read(&mut self.input) {
            Ok(0) => ConnState::Close,
            Ok(came) if dropped + came > DROPPED_MAX => ConnState::Close,
            Ok(came) => {
                conn.dropped_bytes = Some(dropped + came);
                ConnState::Keep
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => ConnState::Keep,
            Err(_) => ConnState::Close,
        }
    }
}
