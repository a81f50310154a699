//! Requests as they are on the wire, of either protocol, and their replies whatever they
//! say: what the file level and the validator build on. Several may be under way.

mod one;
mod two;

pub use one::{RawOne, ReplyOne};
pub use two::{Compound, RawTwo, ReplyTwo};

use super::error::ClientError;
use super::wire::Wire;
use filermark_smbwire::settings::TransferLimits;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// What a reply has around its data, in bytes.
const REPLY_OVERHEAD: usize = 64 << 10;

/// A session with its connection.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // There is one for each connection.
pub enum Raw {
    /// SMB1.
    One(RawOne),
    /// SMB2 and 3.
    Two(RawTwo),
}

/// The connection of a session, and how long it is waited for.
#[derive(Debug)]
struct Line {
    wire: Wire,
    limit: Duration,
    /// The next frame is put together here.
    out: Vec<u8>,
    /// The last message that came.
    message: Vec<u8>,
}

impl Line {
    fn new(mut wire: Wire, limits: TransferLimits, limit: Duration) -> Self {
        let most = limits.read_max.max(limits.transact_max) as usize;
        wire.set_message_max(most.saturating_add(REPLY_OVERHEAD));
        Self {
            wire,
            limit,
            out: Vec::new(),
            message: Vec::new(),
        }
    }

    const fn peer(&self) -> SocketAddr {
        self.wire.peer()
    }

    /// Sends what is in `out`.
    fn send(&mut self) -> Result<(), ClientError> {
        let sent = self.wire.send(&self.out, self.limit);
        self.out.clear();
        sent
    }

    /// Waits for the next message until then; `false`: none came.
    fn receive(&mut self, until: Instant) -> Result<bool, ClientError> {
        let left = until.saturating_duration_since(Instant::now());
        self.wire.receive(&mut self.message, left)
    }

    fn late(&self) -> ClientError {
        ClientError::TimedOut {
            address: self.peer(),
            waited: self.limit,
        }
    }
}
