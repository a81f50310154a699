//! Sends what is due on all connections.

use super::{Conn, Shard};
use crate::sockets::protocol::WireProtocol;
use filermark_net::SocketRing;

impl<P: WireProtocol> Shard<P> {
    /// Sends what connections have in their queues.
    pub(super) fn send_dirty(&mut self) {
        loop {
            let mut place = 0;
            while let Some(conn) = self.core.calls_mut().next_dirty(place) {
                place += 1;
                while let Some((peer, state)) = self.core.new_connection() {
                    let number = self.conns.len() as u32;
                    let transport = self.io.settings.transport;
                    self.conns.push(Conn::new(number, peer, state, transport));
                }
                self.conns[conn as usize].pump(&mut self.core, &mut self.io);
                if self.io.ring.as_ref().is_some_and(SocketRing::is_full) {
                    self.send_queued();
                }
            }
            // What a socket has taken may be followed by more.
            if !self.send_queued() {
                return;
            }
        }
    }

    /// Sends what the ring has for several connections, by one system call. Whether it had any.
    fn send_queued(&mut self) -> bool {
        let Some(ring) = self.io.ring.as_mut().filter(|ring| ring.has_sends()) else {
            return false;
        };
        // All of them are measured from here on: the kernel takes them one after the other.
        self.core.state_mut().tick();
        match ring.send_queued() {
            Ok(()) => self.io.system_calls.writes += 1,
            // The next wait fails, and ends the phase.
            Err(error) => {
                tracing::warn!(%error, "io_uring has failed");
                return false;
            }
        }
        while let Some(sent) = self.io.ring.as_mut().and_then(SocketRing::next_sent) {
            if let Some(conn) = self.conns.get_mut(sent.key as u32 as usize) {
                conn.sent(sent, &mut self.core, &mut self.io);
            }
        }
        true
    }
}
