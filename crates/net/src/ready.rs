//! What the modules of all systems have in common: events, interests, datagrams that came.

use filermark_model::Nanos;
use std::io;

/// Datagrams of one system call, at most.
pub const BATCH: usize = 64;

/// How many events one wait brings at most.
pub(crate) const EVENTS_MAX: usize = 1024;

/// What a socket is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The key it was added with.
    pub key: u64,
    /// There is something to read, or the end of the stream.
    pub readable: bool,
    /// The socket can take bytes, or the connection has been made.
    pub writable: bool,
    /// The peer may send no more: read on to the end of the stream, which is reported
    /// once.
    pub ended: bool,
    /// The connection broke or was refused.
    pub broken: bool,
}

/// Connections of one system call that sends by io_uring. The time from which their calls are
/// measured is that before the system call: for each connection it is early by what the kernel
/// takes for those in front of it, some microseconds.
pub const SENDS_MAX: usize = 4;
/// Bytes of each of them. More are sent by a system call of their own, since those behind them would
/// seem to take as much longer as these take.
pub const SEND_BYTES_MAX: usize = 4 << 10;

/// What the system took of the bytes of a connection.
#[derive(Debug)]
pub struct SentBytes {
    /// The connection's key.
    pub key: u64,
    /// The bytes that were to be sent.
    pub bytes: Vec<u8>,
    /// How many of them the system took, or why the connection broke.
    pub taken: io::Result<usize>,
}

/// What a level-triggered socket is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Nothing: a broken connection may be reported all the same.
    Nothing,
    /// Something to read, or the end of the stream.
    Read,
    /// Space in the send buffer.
    Write,
}

/// A datagram that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedDatagram {
    /// Bytes of it that were kept.
    pub(crate) len: usize,
    /// It was longer than its part of the buffer: the rest is lost.
    pub(crate) cut: bool,
    /// How long ago it had arrived at this host; no time where that is not known.
    pub(crate) age: Nanos,
}

impl ReceivedDatagram {
    /// Nothing.
    pub(crate) const NONE: Self = Self {
        len: 0,
        cut: false,
        age: Nanos::ZERO,
    };
}

/// Which buffer of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketBuffer {
    /// What came and was not read.
    Receive,
    /// What was sent and has not left.
    Send,
}
