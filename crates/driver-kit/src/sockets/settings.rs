//! How connections are made and replies waited for.

use super::calls::STAGES;
use filermark_model::Nanos;
use filermark_model::plan::Transport;
use filermark_net::BufferSizes;

/// The same for all connections of a shard.
#[derive(Clone, Copy, Debug)]
pub struct SocketSettings {
    /// What carries the calls. Over datagrams each one is sent again on its own.
    pub transport: Transport,
    /// A connection, with its set-up, must be there in this time.
    pub connect_timeout: Nanos,
    /// How long a reply may take, by how often the call went out.
    pub waits: ReplyTimeouts,
    /// A server that could not be reached for so long is gone.
    pub gone_after: Nanos,
    /// How often a call goes again.
    pub retries: u16,
    /// Connections come from reserved ports.
    pub reserved_port: bool,
    /// What the calls of one datagram socket need at most.
    pub buffers: BufferSizes,
    /// The longest datagram that is expected, in bytes.
    pub datagram_max: usize,
}

impl SocketSettings {
    /// Over TCP; a reply may take `reply_timeout`, and nothing goes again.
    pub fn streams(connect_timeout: Nanos, reply_timeout: Nanos) -> Self {
        Self {
            transport: Transport::Tcp,
            connect_timeout,
            waits: ReplyTimeouts::constant(reply_timeout),
            gone_after: reply_timeout,
            retries: 0,
            reserved_port: false,
            buffers: BufferSizes::default(),
            datagram_max: 0,
        }
    }

    pub(super) fn datagrams(&self) -> bool {
        self.transport == Transport::Udp
    }
}
/// How long a reply may take, one wait per stage.
#[derive(Clone, Copy, Debug)]
pub struct ReplyTimeouts {
    stages: [Nanos; STAGES],
    last: u8,
}

impl ReplyTimeouts {
    /// Always the same.
    pub const fn constant(wait: Nanos) -> Self {
        Self {
            stages: [wait; STAGES],
            last: 0,
        }
    }

    /// `first`, doubled with each stage up to `most`.
    pub fn doubling(first: Nanos, most: Nanos) -> Self {
        let mut waits = Self::constant(first.min(most));
        for stage in 1..STAGES {
            let before = waits.stages[stage - 1];
            if before >= most {
                break;
            }
            waits.stages[stage] = Nanos(before.0.saturating_mul(2)).min(most);
            waits.last = stage as u8;
        }
        waits
    }

    /// The wait of this stage.
    #[inline]
    pub fn of(&self, stage: u8) -> Nanos {
        self.stages[usize::from(stage.min(self.last))]
    }

    /// The stage behind this one; the last one is its own.
    pub fn after(&self, stage: u8) -> u8 {
        stage.saturating_add(1).min(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_most_and_stay_there() {
        let waits = ReplyTimeouts::doubling(Nanos(1_100), Nanos(10_000));
        let seen: Vec<u64> = (0..8).map(|stage| waits.of(stage).0).collect();
        assert_eq!(
            seen,
            [1_100, 2_200, 4_400, 8_800, 10_000, 10_000, 10_000, 10_000]
        );
        assert_eq!(
            (waits.after(0), waits.after(4), waits.after(200)),
            (1, 4, 4)
        );
        let short = ReplyTimeouts::doubling(Nanos(5_000), Nanos(3_000));
        assert_eq!((short.of(0), short.of(9)), (Nanos(3_000), Nanos(3_000)));
        assert_eq!(short.after(0), 0);
        let long = ReplyTimeouts::doubling(Nanos(1), Nanos::MAX);
        assert_eq!(long.after(u8::MAX), STAGES as u8 - 1);
    }
}
