//! The loop of socket drivers: many procs, few threads, no waiting. Generic over the protocol.
//!
//! | module | what it has |
//! |---|---|
//! | `protocol` | [`WireProtocol`]: what a protocol supplies |
//! | `calls`, `ops` | the tables of what is under way: calls by id, connection and age; operations |
//! | `state` | clock, timers, the wish to stop, completions |
//! | `settings` | how connections and replies are waited for |
//! | `shard` | [`Shard`]: the loop, which is the engine's `ShardDriver` |
//! | `stream`, `datagram` | one connection over TCP: made when it is needed, made anew when it breaks; one UDP socket |
//! | `late` | when replies are late, and what follows |
//! | `assign` | which procs use which connections |
//!
//! A request becomes an operation and calls in the queue of a connection; a flush encodes what
//! is queued and hands it over in one write per connection. The state of a protocol holds the
//! tables, so that it makes calls and judges replies without a socket at hand; the loop holds
//! the connections. Nothing is allocated per operation once the tables have grown to what is
//! under way at once, and no call of the loop to the protocol is dynamic.

mod assign;
mod calls;
mod datagram;
mod late;
mod ops;
mod protocol;
mod settings;
mod shard;
mod state;
mod stream;

#[cfg(test)]
mod tests;

pub use assign::ConnectionAssigner;
pub use calls::{CallBase, Calls, probe_xid};
pub use ops::{NOT_SENT, OpBase, Ops};
pub use protocol::{Event, Incident, OnLoss, Received, WireProtocol};
pub use settings::{ReplyTimeouts, SocketSettings};
pub use shard::{Conn, Io, Shard, SystemCalls};
pub use state::LoopState;

use std::ops::DerefMut;

/// An entry of a table: what the loop keeps of it, inside of what the protocol keeps.
pub trait Entry<Base>: From<Base> + DerefMut<Target = Base> {}
impl<Base, T: From<Base> + DerefMut<Target = Base>> Entry<Base> for T {}

/// Lets the fields of `base` be used as those of the type that has it.
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
