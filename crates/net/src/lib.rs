//! The thin event loop that socket drivers share: non-blocking TCP connections and
//! datagram sockets, readiness, coalesced writes. It moves bytes and knows no protocol.
//!
//! * [`Reactor`] says which connections are ready. What belongs to one operating
//!   system is behind it, in one module per system.
//! * [`Link`] is one connection: it takes whatever was encoded in one write, keeps
//!   only what the system did not take, and hands out what came in place.
//! * [`Datagrams`] is one UDP socket with one peer: many datagrams per system call in
//!   both directions, and nothing kept of what the system did not take.
//! * [`BufferPool`] lends the few buffers that are needed between turns, so that
//!   an idle connection holds none.
//!
//! Nothing here allocates per message once the pool is warm.

mod datagrams;
mod link;
mod pool;
mod socket;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(not(target_os = "linux"))]
compile_error!(
    "filermark-net has an event loop for Linux only so far: write the few functions of \
     crates/net/src/linux.rs for your system beside it"
);

pub use datagrams::{Arrivals, Datagrams, Received, Sent, is_unreachable};
pub use link::{FrameProgress, Link, ReadOutcome};
pub use pool::BufferPool;
pub use socket::{
    BufferSizes, ConnectOptions, RESERVED_PORTS, bind_reserved, connect_datagrams, raise_buffers,
};
pub use system::{BATCH, Reactor, open_files_limit, path_mtu};

/// What a connection is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The key it was added with.
    pub key: u64,
    /// There is something to read, or the end of the stream.
    pub readable: bool,
    /// There is room to write, or the connection has been made.
    pub writable: bool,
    /// The peer sends no more: read on to the end of the stream, for the end will
    /// not be told again.
    pub ended: bool,
    /// The connection broke or was refused.
    pub broken: bool,
}
