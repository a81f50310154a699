//! Requests in datagrams (UDP): for each address one socket per thread, over which the kernel spreads the
//! clients.
//!
//! A reply leaves in the turn that its request came in. What the socket does not take waits, and nothing
//! is read meanwhile; what does not fit into the socket's buffer then is lost, as datagrams may be.
//! Replies leave from the socket's own address: one that is bound to all addresses leaves the choice to
//! the routing table.

use super::timers::Target;
use super::{EventLoop, INPUT};
use crate::protocol::{MAX_DATAGRAM, Peer, RECORD_MARK, ReplyAction, Session};
use crate::sys::{self, now_ns};
use filermark_net::{BufferSizes, Interest, Reactor, raise_buffers};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

/// Datagrams read in one turn, before others get theirs.
const TURN: usize = 64;
/// Bytes of the socket's buffers, as far as the system allows: a burst of large WRITEs from many clients.
const BUFFER: usize = 8 << 20;
/// The receive buffer as Linux counts it: twice what is asked for.
const RECEIVE_BUFFER: BufferSizes = BufferSizes {
    receive: 2 * BUFFER,
    send: 0,
};
/// Replies that may wait, for their time or for the socket, before it is read no further.
const MAX_WAITING: usize = 65_536;
/// And how many bytes of them.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// Opens a socket for datagrams; several may have one address.
pub(crate) fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    socket.set_nonblocking(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    sys::share_address(&socket)?;
    let _ = socket.set_send_buffer_size(BUFFER);
    socket.bind(&address.into())?;
    let socket = UdpSocket::from(socket);
    // Beyond the system's limit if we may, else as far as it goes; a small buffer works too.
    let _ = raise_buffers(&socket, RECEIVE_BUFFER);
    Ok(socket)
}

/// One socket.
#[derive(Debug)]
pub(super) struct Datagrams {
    socket: UdpSocket,
    /// Who sent the datagram that is being served.
    peer: Peer,
    /// Replies that the socket did not take yet.
    pending: VecDeque<(SocketAddr, Vec<u8>)>,
    waiting: usize,
    waiting_bytes: usize,
    interest: Interest,
}

impl Datagrams {
    pub(super) fn new(socket: UdpSocket) -> io::Result<Datagrams> {
        let local = socket.local_addr()?;
        Ok(Datagrams {
            socket,
            peer: Peer {
                client: local.ip(),
                udp_port: Some(local.port()),
                local,
                session: Arc::new(Session::default()),
                is_secured: false,
                outlet: None,
            },
            pending: VecDeque::new(),
            waiting: 0,
            waiting_bytes: 0,
            interest: Interest::Read,
        })
    }

    pub(super) fn watch(&self, reactor: &Reactor, key: u64) -> io::Result<()> {
        reactor.watch(&self.socket, key, self.interest)
    }

    /// Whether no further request may be served before something has left.
    fn is_blocked(&self) -> bool {
        !self.pending.is_empty()
            || self.waiting >= MAX_WAITING
            || self.waiting_bytes >= MAX_WAITING_BYTES
    }

    fn hold(&mut self, bytes: usize) {
        self.waiting += 1;
        self.waiting_bytes += bytes;
    }

    fn release(&mut self, bytes: usize) {
        self.waiting -= 1;
        self.waiting_bytes -= bytes;
    }

    /// Whether the socket took it. If the client's port is closed or there is no route, it is lost.
    fn try_send(&self, to: SocketAddr, reply: &[u8]) -> bool {
        loop {
            match self.socket.send_to(reply, to) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Ok(_) | Err(_) => return true,
            }
        }
    }

    /// Sends now, or as soon as the socket takes it.
    fn send(&mut self, to: SocketAddr, reply: &[u8]) {
        if !self.pending.is_empty() || !self.try_send(to, reply) {
            self.hold(reply.len());
            self.pending.push_back((to, reply.to_vec()));
        }
    }

    fn flush(&mut self) {
        while let Some((to, reply)) = self.pending.pop_front() {
            if !self.try_send(to, &reply) {
                self.pending.push_front((to, reply));
                return;
            }
            self.release(reply.len());
        }
    }

    fn wanted(&self) -> Interest {
        if !self.pending.is_empty() {
            Interest::Write
        } else if self.is_blocked() {
            Interest::Nothing
        } else {
            Interest::Read
        }
    }
}

impl EventLoop {
    /// Runs `body` on a socket and watches afterwards for what its state asks for.
    fn with_datagrams(&mut self, index: usize, body: impl FnOnce(&mut EventLoop, &mut Datagrams)) {
        let Some(mut datagrams) = self.datagrams.get_mut(index).and_then(Option::take) else {
            return;
        };
        body(self, &mut datagrams);
        let wanted = datagrams.wanted();
        if wanted != datagrams.interest {
            let key = super::FIRST_DATAGRAMS + index as u64;
            // It fails only where the system is out of memory; the next change tries again.
            if self.reactor.change(&datagrams.socket, key, wanted).is_ok() {
                datagrams.interest = wanted;
            }
        }
        self.datagrams[index] = Some(datagrams);
    }

    pub(super) fn datagram_event(&mut self, index: usize) {
        self.with_datagrams(index, |this, datagrams| {
            datagrams.flush();
            let mut input = std::mem::take(&mut this.input);
            for _ in 0..TURN {
                if datagrams.is_blocked() {
                    break;
                }
                match datagrams.socket.recv_from(&mut input[..INPUT]) {
                    Ok((length, from)) => {
                        this.serve_datagram(index, datagrams, &input[..length], from);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // An error of an earlier reply (port closed, no route): it does not concern the next datagram.
                    Err(_) => {}
                }
            }
            this.input = input;
        });
    }

    fn serve_datagram(
        &mut self,
        index: usize,
        datagrams: &mut Datagrams,
        request: &[u8],
        from: SocketAddr,
    ) {
        self.service.counters.datagrams.add(1);
        if from.port() == 0 {
            // Who sends from there wants no answer, and none can be sent.
            self.service.counters.refused.add(1);
            return;
        }
        datagrams.peer.client = from.ip().to_canonical();
        datagrams.peer.udp_port = Some(from.port());
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let verdict = self.service.serve(request, &datagrams.peer, &mut out);
        let reply = out.get(RECORD_MARK..).unwrap_or_default();
        debug_assert!(reply.len() <= MAX_DATAGRAM, "serve() keeps to it");
        match verdict {
            ReplyAction::Send => self.send_or_hold(index, datagrams, from, None, reply),
            ReplyAction::SendTwice => {
                self.send_or_hold(index, datagrams, from, None, reply);
                self.send_or_hold(index, datagrams, from, None, reply);
            }
            ReplyAction::Later(delay_ns) => {
                self.send_or_hold(index, datagrams, from, Some(delay_ns), reply);
            }
            ReplyAction::Lose
            | ReplyAction::Nothing
            | ReplyAction::Close
            | ReplyAction::StartTls => {}
        }
        self.out = out;
    }

    /// Sends the reply, or holds it back where it is not to leave at once.
    fn send_or_hold(
        &mut self,
        index: usize,
        datagrams: &mut Datagrams,
        to: SocketAddr,
        delay_ns: Option<u64>,
        reply: &[u8],
    ) {
        let faults = &self.service.shared.faults;
        if !faults.delays_replies() {
            return datagrams.send(to, reply);
        }
        let now = now_ns();
        let due_ns = faults.due_ns(now, delay_ns);
        if due_ns <= now {
            return datagrams.send(to, reply);
        }
        datagrams.hold(reply.len());
        self.service.counters.replies_delayed.add(1);
        let target = Target::Datagram(index, to);
        self.timers.add(due_ns, target, reply.to_vec());
    }

    /// The time of a reply has come.
    pub(super) fn datagram_due(&mut self, index: usize, to: SocketAddr, reply: &[u8]) {
        self.with_datagrams(index, |_, datagrams| {
            datagrams.release(reply.len());
            datagrams.send(to, reply);
        });
    }
}
