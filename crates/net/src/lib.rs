//! Sockets without waiting, for drivers and for the embedded server: readiness, TCP
//! connections and datagram sockets, coalesced writes. It moves bytes and knows no protocol.
//!
//! * [`Reactor`] reports which sockets are ready.
//! * [`Link`] is one connection: it takes whatever was encoded in one write, keeps
//!   only what the system did not take, and hands out what came in place.
//! * [`Datagrams`] is one UDP socket with one peer: many datagrams per system call in
//!   both directions, and nothing kept of what the system did not take.
//! * [`SocketRing`] receives and sends for many links by io_uring, where the system has it.
//! * [`BufferPool`] lends the few buffers that are needed between turns, so that
//!   an idle connection holds none.
//!
//! What belongs to an operating system is in one module for Linux (`linux`: epoll,
//! io_uring, many datagrams per call, arrival times of the kernel) and one for all others (`portable`: the
//! crate `polling` and the standard library). Tests of Linux run both; the feature `portable`
//! puts the second one under everything.
//!
//! Nothing here allocates per message once the pool is warm.

mod datagrams;
mod engine;
mod limits;
mod link;
mod pool;
mod ready;
mod socket;

#[cfg(target_os = "linux")]
#[cfg_attr(
    feature = "portable",
    allow(dead_code, unused_imports, reason = "its tests run")
)]
mod linux;
#[cfg(any(test, feature = "portable", not(target_os = "linux")))]
#[cfg_attr(
    all(test, target_os = "linux"),
    allow(dead_code, reason = "it is compiled everywhere")
)]
mod no_ring;
#[cfg(any(test, feature = "portable", not(target_os = "linux")))]
#[cfg_attr(
    all(test, target_os = "linux"),
    allow(dead_code, unused_imports, reason = "its tests run")
)]
mod portable;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
use linux as system;
#[cfg(any(feature = "portable", not(target_os = "linux")))]
use portable as system;

pub use datagrams::{Arrivals, Datagrams, Received, Sent, is_unreachable};
pub use engine::{ENGINE_VARIABLE, SocketEngine, engine_text};
pub use limits::open_files_limit;
pub use link::{FrameProgress, Link, ReadOutcome};
pub use pool::BufferPool;
pub use ready::{BATCH, Interest, Ready, SEND_BYTES_MAX, SENDS_MAX, SentBytes};
pub use socket::{
    BufferSizes, ConnectOptions, RESERVED_PORTS, bind_reserved, connect_datagrams, raise_buffers,
};
pub use system::{Reactor, SocketRing, Source, Waker, path_mtu};
