//! One connection of a shard, over what the plan says carries the calls.
//!
//! | module | room |
//! |---|---|
//! | `stream` | TCP: made anew when it breaks, and everything goes again |
//! | `datagram` | UDP: never broken; each call that is not answered goes again |
//!
//! What calls are and what replies mean is the core's; a connection takes calls from
//! its queue there, and says when they were sent.

mod datagram;
mod stream;

use super::core::Core;
use super::records::RecordSplitter;
use datagram::Datagram;
use filermark_model::plan::Transport;
use filermark_net::{Arrivals, BufferPool, Reactor, Ready};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use stream::Stream;

/// What all connections of a shard share.
#[derive(Debug)]
pub(crate) struct Io {
    pub(crate) reactor: Reactor,
    pub(crate) pool: BufferPool,
    /// What is read lands here, and is worked on in place.
    pub(crate) scratch: Vec<u8>,
    /// What is sent is encoded here.
    pub(crate) send: Vec<u8>,
    /// Where in `send` the datagrams are.
    pub(crate) pieces: Vec<Range<usize>>,
    pub(crate) records: RecordSplitter,
    pub(crate) arrivals: Arrivals,
    /// Connections with more to read than one turn allows.
    pub(crate) unread: Vec<u64>,
    /// That the system gives smaller buffers than were wanted has been said.
    pub(crate) reported_buffers: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) enum Conn {
    /// Over TCP.
    Stream(Stream),
    /// Over UDP.
    Datagram(Datagram),
}

/// Does the same with either.
macro_rules! either {
    ($conn:expr, $inner:ident => $do:expr) => {
        match $conn {
            Conn::Stream($inner) => $do,
            Conn::Datagram($inner) => $do,
        }
    };
}

impl Conn {
    pub(crate) fn new(number: u32, peer: SocketAddr, transport: Transport) -> Self {
        match transport {
            Transport::Tcp => Self::Stream(Stream::new(number, peer)),
            Transport::Udp => Self::Datagram(Datagram::new(number, peer)),
        }
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        either!(self, conn => conn.peer())
    }

    pub(crate) fn is_up(&self) -> bool {
        either!(self, conn => conn.is_up())
    }

    /// Why the last attempt to connect failed, if it did.
    pub(crate) fn failure(&self) -> Option<&str> {
        either!(self, conn => conn.failure())
    }

    /// What to look at when it did.
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::Stream(_) => {
                "check that the server runs and how many connections it and this client allow \
                 (ulimit -n; RESVPORT allows 512 at most); CONNECTIONS=N lets procs share"
            }
            Self::Datagram(_) => {
                "check that the server serves NFS over UDP (many are built without it by now) and \
                 that no firewall is between; TCP=on goes over TCP"
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn unsent_len(&self) -> usize {
        match self {
            Self::Stream(stream) => stream.unsent_len(),
            Self::Datagram(_) => 0,
        }
    }

    #[cfg(test)]
    pub(crate) fn local_port(&self) -> Option<u16> {
        either!(self, conn => conn.local_port())
    }

    #[cfg(test)]
    pub(crate) fn holds_no_buffer(&self) -> bool {
        match self {
            Self::Stream(stream) => stream.holds_no_buffer(),
            Self::Datagram(_) => true,
        }
    }

    /// Begins to connect.
    pub(crate) fn connect(&mut self, core: &mut Core, io: &mut Io) -> io::Result<()> {
        either!(self, conn => conn.connect(core, io))
    }

    /// Sends what is in the queue: everything that fits in one system call.
    pub(crate) fn pump(&mut self, core: &mut Core, io: &mut Io) {
        either!(self, conn => conn.pump(core, io));
    }

    /// The reactor says that something happened.
    pub(crate) fn ready(&mut self, ready: Ready, core: &mut Core, io: &mut Io) {
        either!(self, conn => conn.ready(ready, core, io));
    }

    /// The wait after a failure is over.
    pub(crate) fn try_again(&mut self, epoch: u32, core: &mut Core, io: &mut Io) {
        match self {
            Self::Stream(stream) => stream.try_again(epoch, core),
            Self::Datagram(datagram) => datagram.ask_again(core, io),
        }
    }

    /// The connection should have been made by now.
    pub(crate) fn connect_timed_out(&mut self, epoch: u32, core: &mut Core, io: &mut Io) {
        match self {
            Self::Stream(stream) => stream.connect_timed_out(epoch, core, io),
            Self::Datagram(datagram) => datagram.connect_timed_out(),
        }
    }

    /// The reply to this call did not come in time.
    pub(crate) fn reply_timed_out(&mut self, slot: u32, core: &mut Core, io: &mut Io) {
        match self {
            Self::Stream(stream) => stream.reply_timed_out(core, io),
            Self::Datagram(datagram) => datagram.reply_timed_out(slot, core),
        }
    }

    /// Everybody wishes to stop: nothing waits for a server that is gone any more.
    pub(crate) fn give_up_waiting(&mut self, core: &mut Core) {
        either!(self, conn => conn.give_up_waiting(core));
    }
}
