//! What the versions of NFS do differently: versions 2 and 3 have no state on the server,
//! version 4 has clients, sessions and opens. Everything else of the driver is written once, for
//! `Core<V>`.

use super::calls::Call;
use super::core::{Core, KnownVerf};
use super::ops::LogicalOp;
use super::reply::CallOutcome;
use filermark_driver_kit::sockets::{Event, Peer, Received};
use filermark_engine::driver::{Action, ObjectId};
use filermark_model::plan::NfsPlan;
use filermark_model::{Nanos, NfsOp};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;

/// Versions of NFS that the driver handles alike.
pub(crate) trait Variant: Debug + Sized + 'static {
    /// Its data of a call.
    type Call: Clone + Debug + Default;
    /// Its data of a connection.
    type Conn: Debug + Default;

    /// The server drops the state of clients that do not call.
    const HAS_LEASES: bool = false;

    /// The version of the RPC program.
    fn program_version(plan: &NfsPlan) -> u32;
    /// Why an operation cannot be done in this version; a number of [`super::status`].
    fn refusal(core: &Core<Self>, op: NfsOp, action: Action) -> Option<u32>;

    /// Its data of a call that an operation makes.
    fn call_of(_op: &LogicalOp) -> Self::Call {
        Self::Call::default()
    }
    /// Makes the first call of an operation that only version 4 has.
    fn begin_work(_core: &mut Core<Self>, _op: u32) {}

    /// See [`WireProtocol::connected`](filermark_driver_kit::sockets::WireProtocol::connected).
    fn connected(core: &mut Core<Self>, conn: u32, state: &mut Self::Conn) -> Event;
    /// The connection has ended.
    fn closed(core: &mut Core<Self>, conn: u32, state: &mut Self::Conn);
    /// See [`WireProtocol::given_up`](filermark_driver_kit::sockets::WireProtocol::given_up).
    fn given_up(_core: &mut Core<Self>, _conn: u32) -> Option<io::Error> {
        None
    }
    /// The connection for the next call of a proc that has this one.
    #[inline]
    fn route(_core: &mut Core<Self>, conn: u32) -> u32 {
        conn
    }
    /// Counts what there is at present.
    fn count_present(_core: &mut Core<Self>) {}
    /// Appends messages that are no calls of operations.
    fn own_bytes(core: &mut Core<Self>, state: &mut Self::Conn, out: &mut Vec<u8>);
    /// Appends the next call of the connection that may be sent now.
    fn encode_next(core: &mut Core<Self>, conn: u32, out: &mut Vec<u8>) -> bool;
    /// Counts a call that is sent for the first time.
    fn count_call(core: &mut Core<Self>, slot: u32);
    /// Processes received bytes.
    fn receive(
        core: &mut Core<Self>,
        conn: u32,
        state: &mut Self::Conn,
        bytes: &[u8],
        at: Nanos,
    ) -> Received;
    /// The event of what was received.
    fn after_read(core: &mut Core<Self>, conn: u32, state: &mut Self::Conn) -> Event;
    /// See [`WireProtocol::new_connection`](filermark_driver_kit::sockets::WireProtocol::new_connection).
    fn new_connection(_core: &mut Core<Self>) -> Option<(Peer, Self::Conn)> {
        None
    }
    /// See [`WireProtocol::gone_after`](filermark_driver_kit::sockets::WireProtocol::gone_after).
    fn gone_after(_state: &Self::Conn, usual: Nanos) -> Nanos {
        usual
    }
    /// A call gets no reply on its connection: whether it is sent on another one.
    fn send_elsewhere(_core: &mut Core<Self>, _slot: u32) -> bool {
        false
    }
    /// The latest known write verifier of the server to which a call goes.
    fn known_verf(core: &mut Core<Self>, slot: u32) -> &mut KnownVerf {
        core.file_system_verf(slot)
    }
    /// Adds counters that have no declaration.
    fn take_counters(_core: &mut Core<Self>, _into: &mut BTreeMap<String, u64>) {}
    /// A timer of this connection has expired.
    fn fire(_core: &mut Core<Self>, _conn: u32, _timer: ConnTimer) {}

    /// Whether the server may have executed the call before, or may execute it again.
    fn is_repeated(call: &Call<Self::Call>) -> bool;
    /// How long a call waits that was refused for now after so many waits; `None`: too often.
    fn delay(core: &Core<Self>, waits: u16) -> Option<Nanos>;
    /// A call waits for a timer, and will be sent as a new one.
    fn parked(_core: &mut Core<Self>, _slot: u32) {}
    /// A call that waited for a timer is in the queue again.
    fn unparked(_core: &mut Core<Self>, _slot: u32) {}
    /// A call has ended.
    fn ended(_core: &mut Core<Self>, _slot: u32, _outcome: CallOutcome) {}
    /// An operation has found, made or linked an object.
    fn named(_core: &mut Core<Self>, _op: u32) {}
    /// RENAME is done; the handles are still where they were.
    fn renamed(_core: &mut Core<Self>, _op: u32) {}
    /// All calls of an operation have ended: may make more.
    fn finish(_core: &mut Core<Self>, _op: u32) {}
    /// After RUN: makes calls that leave nothing open; `false`: nothing is.
    fn settle(_core: &mut Core<Self>) -> bool {
        false
    }
    /// Objects from `from` on are forgotten.
    fn forget_objects(_core: &mut Core<Self>, _proc: u32, _from: ObjectId) {}
    /// Makes the calls that end the state on the server; `false`: there is none.
    fn end(_core: &mut Core<Self>) -> bool {
        false
    }
    /// How many clients the server has, or may keep after that.
    fn clients_left(_core: &Core<Self>) -> u64 {
        0
    }
    /// The advice when a connection cannot be made.
    fn connect_advice(core: &Core<Self>) -> &'static str;
}

/// A timer of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConnTimer {
    /// The set-up goes on.
    SetUp,
    /// The lease is renewed, if the connection was idle.
    Renewal,
}

/// Versions 2 and 3, over TCP and UDP.
#[derive(Debug, Default)]
pub(crate) struct Stateless;
