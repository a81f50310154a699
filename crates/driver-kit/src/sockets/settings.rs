//! Settings of connections and timeouts.

use super::calls::STAGES;
use filermark_model::Nanos;
use filermark_model::plan::Transport;
use filermark_net::{BufferSizes, engine_text};

/// Settings of all connections of a shard.
#[derive(Clone, Copy, Debug)]
pub struct SocketSettings {
    /// The transport. Over datagrams each call is sent again separately.
    pub transport: Transport,
    /// Time limit for a connection and its set-up.
    pub connect_timeout: Nanos,
    /// Reply timeouts, by how often the call was sent.
    pub waits: ReplyTimeouts,
    /// After this time without a connection, a server is given up.
    pub gone_after: Nanos,
    /// How often a call is sent again.
    pub retries: u16,
    /// Whether connections use reserved local ports.
    pub reserved_port: bool,
    /// The buffer sizes that the calls of one datagram socket need.
    pub buffers: BufferSizes,
    /// The longest datagram that is expected, in bytes.
    pub datagram_max: usize,
}

impl SocketSettings {
    /// Over TCP, with one reply timeout and without retries.
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

/// What receives and sends for the load of a mount point, and why it is not io_uring, as a fact
/// for the record.
pub fn engine_fact(transport: Transport, has_tls: bool) -> (String, String) {
    let text = match (transport, has_tls) {
        (Transport::Udp, _) => "epoll: UDP".to_owned(),
        (Transport::Tcp, true) => "epoll: TLS".to_owned(),
        (Transport::Tcp, false) => engine_text(),
    };
    ("sockets".to_owned(), text)
}

/// Reply timeouts, one for each stage.
#[derive(Clone, Copy, Debug)]
pub struct ReplyTimeouts {
    stages: [Nanos; STAGES],
    last: u8,
}

impl ReplyTimeouts {
    /// The same timeout for all stages.
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

    /// The timeout of this stage.
    #[inline]
    pub fn of(&self, stage: u8) -> Nanos {
        self.stages[usize::from(stage.min(self.last))]
    }

    /// The stage after this one; the last one is followed by itself.
    pub fn after(&self, stage: u8) -> u8 {
        stage.saturating_add(1).min(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_names_the_engine() {
        let fact = |transport, has_tls| engine_fact(transport, has_tls).1;
        assert_eq!(fact(Transport::Udp, false), "epoll: UDP");
        assert_eq!(fact(Transport::Tcp, true), "epoll: TLS");
        assert_eq!(fact(Transport::Tcp, false), engine_text());
    }

    #[test]
    fn timeouts_double_up_to_the_limit() {
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
