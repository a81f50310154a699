//! The event loop of socket drivers: many procs on few threads. Generic over the protocol.
//!
//! | module | contents |
//! |---|---|
//! | `protocol` | [`WireProtocol`]: what a protocol supplies |
//! | `calls`, `ops` | the tables of calls under way (by id, connection and age) and of operations |
//! | `state` | clock, timers, requests to stop, completions |
//! | `settings` | timeouts of connections and replies |
//! | `shard` | [`Shard`]: the loop, which implements the engine's `ShardDriver` |
//! | `stream`, `datagram` | a TCP connection, which is made when it is needed and made again when it breaks; a UDP socket |
//! | `late` | when replies are late, and what happens then |
//! | `assign`, `turns` | which procs use which connections; which of several the next call goes over |
//!
//! A request becomes an operation and calls in the queue of a connection; a flush encodes the
//! queue and sends it in one write per connection. The state of a protocol has the tables, so
//! that it makes calls and judges replies without a socket; the loop has the connections. Once
//! the tables have grown to the number of operations under way, nothing is allocated per
//! operation, and the loop makes no dynamic calls to the protocol.

mod assign;
mod calls;
mod datagram;
mod late;
mod ops;
mod peer;
mod protocol;
mod settings;
mod shard;
mod state;
mod stream;
mod turns;

#[cfg(test)]
mod tests;

pub use assign::ConnectionAssigner;
pub use calls::{CallBase, Calls, probe_xid};
pub use ops::{NOT_SENT, OpBase, Ops};
pub use peer::Peer;
pub use protocol::{Event, Incident, OnLoss, Received, WireProtocol};
pub use settings::{ReplyTimeouts, SocketSettings, engine_fact};
pub use shard::{Conn, Io, Shard, SystemCalls};
pub use state::LoopState;
pub use turns::Turns;

use std::ops::DerefMut;

/// An entry of a table: the fields of the loop inside of a type of the protocol.
pub trait Entry<Base>: From<Base> + DerefMut<Target = Base> {}
impl<Base, T: From<Base> + DerefMut<Target = Base>> Entry<Base> for T {}

/// Makes the fields of `base` accessible on the type that contains it.
#[macro_export]
macro_rules! extends {
    ($whole:ty, $base:ty) => {
        impl std::ops::Deref for $whole {
            type Target = $base;
            #[inline]
            fn deref(&self) -> &$base {
                &self.base
            }
        }
        impl std::ops::DerefMut for $whole {
            #[inline]
            fn deref_mut(&mut self) -> &mut $base {
                &mut self.base
            }
        }
    };
}
