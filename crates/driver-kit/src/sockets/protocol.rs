//! The interface of a protocol to the loop.

use super::Entry;
use super::calls::{CallBase, Calls};
use super::peer::Peer;
use super::state::LoopState;
use filermark_engine::driver::{ObjectId, Request, Status, Submit};
use filermark_model::Nanos;
use filermark_net::FrameProgress;
use filermark_tls::TlsError;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;

/// How much was received; an error means that a stream is corrupt, or that a datagram is no
/// message of the protocol.
pub type Received = Result<FrameProgress, Box<dyn Error + Send + Sync>>;

/// What happens to the calls that were sent on a connection that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// They are sent again on the next connection, as often as the settings allow.
    SendAgain,
    /// They end; calls that were not sent wait for the next connection.
    Fail,
}

/// The result of connecting or receiving, for the loop.
#[derive(Debug, Default)]
pub enum Event {
    /// Nothing to do.
    #[default]
    Nothing,
    /// Calls were answered: others may be sent.
    Replies,
    /// The protocol has its own bytes to send.
    Send,
    /// The set-up begins again on this connection; calls wait until it is complete.
    SetupAgain,
    /// The set-up is complete: calls may be sent.
    Up,
    /// The connection cannot be used any more; a new one is made.
    Lost(io::Error),
    /// The server has refused the set-up, for this reason; there is no retry. (With a datagram
    /// socket only while a shard is being opened.)
    Refused(String),
}

/// An event of a connection that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// It is made again after a loss.
    Reconnect,
    /// It could not be made, or not be set up.
    ConnectFailure,
    /// It was closed because a reply was late.
    Timeout,
    /// Its bytes were corrupt.
    StreamError,
    /// A call was sent once more.
    Retransmit,
    /// A datagram arrived that is no message of the protocol.
    BadDatagram,
    /// The network has reported that the peer cannot be reached.
    Unreachable,
    /// This host did not send a datagram.
    SendError,
}

/// A protocol over the sockets of a shard: the state of the connections. It makes calls and
/// judges replies, and does not use sockets itself.
pub trait WireProtocol: Debug + Sized + 'static {
    /// Its data for a call under way.
    type Call: Entry<CallBase> + Debug;
    /// Its data for a connection: a handshake, a session, a window.
    type Conn: Debug;
    /// Its own timers.
    type Timer: Copy + Ord + Debug;

    /// Servers keep state of clients as long as they call: between two phases, timers of the protocol go
    /// on and replies are read.
    const HAS_LEASES: bool = false;
    /// The name of connecting in messages.
    const CONNECT_STEP: &'static str;
    /// How many connections are made at the same time.
    const CONNECTING_MAX: usize;
    /// The first connection is set up alone, before the others.
    const FIRST_ALONE: bool = false;
    /// What happens to calls on a lost connection.
    const ON_LOSS: OnLoss;
    /// Length of the header of each message on streams; datagrams have none.
    const STREAM_MARK: usize = 0;
    /// Datagrams: why the server cannot be reached if the set-up is not answered.
    const NO_ANSWER: &'static str = "no answer";

    /// The calls under way.
    fn calls(&self) -> &Calls<Self::Call>;
    /// The calls under way.
    fn calls_mut(&mut self) -> &mut Calls<Self::Call>;
    /// The state that it shares with the loop.
    fn state(&self) -> &LoopState<Self::Timer>;
    /// The state that it shares with the loop.
    fn state_mut(&mut self) -> &mut LoopState<Self::Timer>;

    /// Accepts a request; adds its first calls to the queue of its connection.
    fn submit(&mut self, request: &Request) -> Submit;

    /// The transport is connected: begins the set-up, which ends with [`Event::Up`]. Over
    /// datagrams only the bytes of [`WireProtocol::own_bytes`] are sent again until then.
    fn connected(&mut self, conn: u32, state: &mut Self::Conn) -> Event;

    /// A connection that is needed beside those that the shard was opened with: its peer and its state.
    /// [`Calls::add_connection`] has returned its number, in the same order. It is made when it has a
    /// call to send.
    fn new_connection(&mut self) -> Option<(Peer, Self::Conn)> {
        None
    }

    /// For how long the server of this connection may be out of reach before its calls end, and how long a set-up
    /// of it may last; `usual`: by the settings.
    fn gone_after(&self, _state: &Self::Conn, usual: Nanos) -> Nanos {
        usual
    }

    /// A connection that is not there is to be made although it has no call to send. (To be asked it has to
    /// be marked by [`Calls::mark_dirty`].)
    fn is_needed(&self, _conn: u32) -> bool {
        false
    }

    /// A set-up that waits for something else than its server, such as the set-up of another connection,
    /// may go on now. (As [`WireProtocol::is_needed`].)
    fn go_on(&mut self, _conn: u32, _state: &mut Self::Conn) -> Event {
        Event::Nothing
    }

    /// After a loss: whether a new connection may be made now; otherwise it is tried later.
    fn may_reconnect(&mut self, _state: &mut Self::Conn) -> bool {
        true
    }

    /// The connection has ended: drops its state. Its calls are handled after that.
    fn closed(&mut self, _conn: u32, _state: &mut Self::Conn) {}

    /// Why this connection cannot be used any more although it has not ended, asked before it sends. It is
    /// made again for the next call. (To be asked it has to be marked by [`Calls::mark_dirty`].)
    fn given_up(&mut self, _conn: u32, _state: &mut Self::Conn) -> Option<io::Error> {
        None
    }

    /// Appends the protocol's own messages: those of the set-up, answers to calls of the server.
    /// They are sent before calls. Over datagrams: one message of the set-up.
    fn own_bytes(&mut self, _state: &mut Self::Conn, _out: &mut Vec<u8>) {}

    /// Appends [`Calls::next_to_encode`] of this connection, if there is one that may be sent now.
    /// (A full window is checked again at [`Event::Replies`].)
    fn encode_next(&mut self, conn: u32, state: &mut Self::Conn, out: &mut Vec<u8>) -> bool;

    /// The call in this slot is sent for the first time, just after now.
    fn call_sent(&mut self, slot: u32);

    /// Processes what was received at `at`: from a stream, bytes that begin at a message, in
    /// place, and returns how many were complete messages; from a datagram socket, one datagram.
    fn receive(
        &mut self,
        conn: u32,
        state: &mut Self::Conn,
        bytes: &mut [u8],
        at: Nanos,
    ) -> Received;

    /// The event of the messages of one read.
    fn after_read(&mut self, conn: u32, state: &mut Self::Conn) -> Event;

    /// Ends a call that gets no reply, and its operation with this status; or has it sent on another
    /// connection, unless [`LoopState::stopping`].
    fn fail_call(&mut self, slot: u32, status: Status);

    /// Counts an incident of a connection.
    fn count(&mut self, incident: Incident, times: u64);

    /// One of the protocol's own timers has expired.
    fn fire(&mut self, _timer: Self::Timer) {}

    /// The run is to stop, or a phase is broken off: ends calls that wait for timers.
    fn stopping(&mut self) {}

    /// [`filermark_engine::driver::ShardDriver::make_stable`] begins.
    fn begin_settling(&mut self) {}
    /// Makes calls for data that is not stable; `false`: all data is.
    fn settle(&mut self) -> bool {
        false
    }
    /// Ends it; no more calls are made.
    fn end_settling(&mut self) {}

    /// [`filermark_engine::driver::ShardDriver::end`]: makes the calls that end what the server
    /// keeps for the connections; `false`: there is nothing.
    fn end(&mut self) -> bool {
        false
    }
    /// How many clients the server has, or may keep after that.
    fn clients_left(&self) -> u64 {
        0
    }

    /// See [`filermark_engine::driver::ShardDriver::take_counters`].
    fn take_counters(&mut self, into: &mut BTreeMap<String, u64>);
    /// See [`filermark_engine::driver::ShardDriver::transfer_bytes`].
    fn transfer_bytes(&self) -> (u32, u32);
    /// See [`filermark_engine::driver::ShardDriver::forget_objects`].
    fn forget_objects(&mut self, proc: u32, from: ObjectId);

    /// The name of a connection in messages.
    fn place(&self, _state: &Self::Conn, peer: SocketAddr) -> String {
        peer.to_string()
    }
    /// The advice when a connection cannot be made; `tls`: the reason, where it is TLS.
    fn connect_advice(&self, tls: Option<&TlsError>) -> &'static str;
}

/// Ends all calls of a connection.
pub(super) fn fail_all<P: WireProtocol>(core: &mut P, conn: u32) {
    // An operation that has failed makes a few more calls (the close of a file), which fail too.
    while let Some(slot) = core.calls().first(conn) {
        core.fail_call(slot, Status::Disconnected);
    }
}

/// Ends the calls of a connection that were encoded on it.
pub(super) fn fail_encoded<P: WireProtocol>(core: &mut P, conn: u32, status: Status) {
    while let Some(slot) = core.calls().first(conn)
        && core.calls().get(slot).is_encoded()
    {
        core.fail_call(slot, status);
    }
}

/// Records that bytes (or datagrams) up to `sent_to` of a connection were sent just now.
#[inline]
pub(super) fn stamp<P: WireProtocol>(core: &mut P, conn: u32, sent_to: u32, datagrams: bool) {
    let now = core.state().now;
    while let Some(slot) = core.calls_mut().next_sent(conn, sent_to) {
        let call = core.calls_mut().get_mut(slot);
        if call.on_wire {
            call.retransmitted = true;
            if datagrams {
                core.calls_mut().renew(slot, now);
            }
            core.count(Incident::Retransmit, 1);
            continue;
        }
        call.on_wire = true;
        call.first = now;
        core.call_sent(slot);
        // The reply timeout begins here, however long the call has waited before.
        core.calls_mut().renew(slot, now);
    }
}
