//! What a protocol supplies to the loop.

use super::Entry;
use super::calls::{CallBase, Calls};
use super::state::LoopState;
use filermark_engine::driver::{ObjectId, Request, Status, Submit};
use filermark_model::Nanos;
use filermark_net::FrameProgress;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;

/// What received bytes were; an error means that a stream is out of step, or that a datagram
/// is no message of the protocol.
pub type Received = Result<FrameProgress, Box<dyn Error + Send + Sync>>;

/// What becomes of the calls that went out on a connection that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// They go again on the next connection, as often as the settings allow.
    SendAgain,
    /// They end; what has not gone out waits for the next connection.
    Fail,
}

/// What a protocol makes of its connection and of what it has received.
#[derive(Debug, Default)]
pub enum Event {
    /// Nothing that concerns the loop.
    #[default]
    Nothing,
    /// Calls were answered: there may be room for more.
    Replies,
    /// There are bytes of the protocol's own to send.
    Send,
    /// The set-up begins anew on this connection; calls wait for its end.
    SetupAgain,
    /// The set-up is over: calls may go.
    Up,
    /// The connection is no good any more; it is made anew.
    Lost(io::Error),
    /// The server has refused the set-up for good, for this reason. (Of a datagram socket, as
    /// long as a shard is being opened.)
    Refused(String),
}

/// What happened to a connection, to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// It is made anew after it had been there.
    Reconnect,
    /// It could not be made, or not be set up.
    ConnectFailure,
    /// It was given up because a reply was late.
    Timeout,
    /// Its bytes were out of step.
    StreamError,
    /// A call went out once more.
    Retransmit,
    /// A datagram came that is no message of the protocol.
    BadDatagram,
    /// The network says that the peer cannot be reached.
    Unreachable,
    /// This host did not send a datagram.
    SendError,
}

/// A protocol over the sockets of a shard: the state behind the connections, which makes calls
/// and judges replies, and never touches a socket itself.
pub trait WireProtocol: Debug + Sized + 'static {
    /// What it keeps of a call under way.
    type Call: Entry<CallBase> + Debug;
    /// What it keeps of a connection: a handshake, a session, a window.
    type Conn: Debug;
    /// Timers of its own.
    type Timer: Copy + Ord + Debug;

    /// What connecting is called in messages.
    const CONNECT_STEP: &'static str;
    /// How many connections are being made at once.
    const CONNECTING_MAX: usize;
    /// The first connection is set up alone, before the others.
    const FIRST_ALONE: bool = false;
    /// What becomes of calls on a lost connection.
    const ON_LOSS: OnLoss;
    /// Bytes in front of each message that streams need and datagrams do without.
    const STREAM_MARK: usize = 0;
    /// Datagrams: why the server cannot be reached if the set-up is not answered.
    const NO_ANSWER: &'static str = "no answer";

    /// The calls under way.
    fn calls(&self) -> &Calls<Self::Call>;
    /// The calls under way.
    fn calls_mut(&mut self) -> &mut Calls<Self::Call>;
    /// What it shares with the loop beside them.
    fn state(&self) -> &LoopState<Self::Timer>;
    /// What it shares with the loop beside them.
    fn state_mut(&mut self) -> &mut LoopState<Self::Timer>;

    /// Takes a request: its first calls wait in the queue of its connection.
    fn submit(&mut self, request: &Request) -> Submit;

    /// The transport is there: begins the set-up, which is over with [`Event::Up`]. Over
    /// datagrams only what [`WireProtocol::own_bytes`] gives is sent again until then.
    fn connected(&mut self, conn: u32, state: &mut Self::Conn) -> Event;

    /// After a loss: whether the connection may be made anew now, or else a little later.
    fn may_reconnect(&mut self, _state: &mut Self::Conn) -> bool {
        true
    }

    /// The connection has ended: drops what was of it. What becomes of its calls follows.
    fn closed(&mut self, _conn: u32, _state: &mut Self::Conn) {}

    /// Appends what the protocol has to send of its own accord: messages of the set-up, answers
    /// to calls of the server. They leave before calls do. Over datagrams: one message of the
    /// set-up.
    fn own_bytes(&mut self, _state: &mut Self::Conn, _out: &mut Vec<u8>) {}

    /// Appends [`Calls::next_to_encode`] of this connection, if there is one and it may go now.
    /// (Room in a window is asked for again at [`Event::Replies`].)
    fn encode_next(&mut self, conn: u32, state: &mut Self::Conn, out: &mut Vec<u8>) -> bool;

    /// The call in this slot is handed to the system for the first time, just after now.
    fn call_sent(&mut self, slot: u32);

    /// Takes what came by `at`: of a stream, bytes that begin at a message, in place, and says
    /// how far they were whole messages; of a datagram socket, one datagram.
    fn receive(
        &mut self,
        conn: u32,
        state: &mut Self::Conn,
        bytes: &mut [u8],
        at: Nanos,
    ) -> Received;

    /// What came of the messages of one read.
    fn after_read(&mut self, conn: u32, state: &mut Self::Conn) -> Event;

    /// Ends a call that gets no reply, and its operation with this status.
    fn fail_call(&mut self, slot: u32, status: Status);

    /// Something happened to a connection, so many times.
    fn count(&mut self, incident: Incident, times: u64);

    /// A timer of the protocol's own is over.
    fn fire(&mut self, _timer: Self::Timer) {}

    /// The run is to stop: ends what waits for timers.
    fn stopping(&mut self) {}

    /// [`filermark_engine::driver::ShardDriver::make_stable`] begins.
    fn begin_settling(&mut self) {}
    /// Makes calls for what is not stable yet; `false`: all is.
    fn settle(&mut self) -> bool {
        false
    }
    /// No more calls are made for it.
    fn end_settling(&mut self) {}

    /// See [`filermark_engine::driver::ShardDriver::take_counters`].
    fn take_counters(&mut self, into: &mut BTreeMap<String, u64>);
    /// See [`filermark_engine::driver::ShardDriver::transfer_bytes`].
    fn transfer_bytes(&self) -> (u32, u32);
    /// See [`filermark_engine::driver::ShardDriver::forget_objects`].
    fn forget_objects(&mut self, proc: u32, from: ObjectId);

    /// What a connection is called in messages.
    fn place(&self, _state: &Self::Conn, peer: SocketAddr) -> String {
        peer.to_string()
    }
    /// What to look at when a connection cannot be made.
    fn connect_advice(&self) -> &'static str;
}

/// Ends all calls of a connection: there is no use in waiting for it.
pub(super) fn fail_all<P: WireProtocol>(core: &mut P, conn: u32) {
    // An operation that has failed makes few calls more (the close of a file), which fail too.
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

/// Notes that bytes (or datagrams) up to `sent_to` of a connection were handed to the system
/// just now.
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
        // The time for the reply begins here, however long it waited before.
        core.calls_mut().renew(slot, now);
    }
}
