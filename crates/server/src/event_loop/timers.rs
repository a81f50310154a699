//! Replies that wait for their time.

use super::conn::Token;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;

/// Where a reply goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Conn(Token),
    /// By the socket with this index, to this client.
    Datagram(usize, SocketAddr),
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DelayedReply {
    due_ns: u64,
    /// Replies that are due together leave in the order they were made.
    nth: u64,
    target: Target,
    reply: Vec<u8>,
}

/// A queue by time. Its length is bounded by what connections and sockets may hold back.
#[derive(Debug, Default)]
pub(super) struct Timers {
    queue: BinaryHeap<Reverse<DelayedReply>>,
    added: u64,
}

impl Timers {
    pub(super) fn add(&mut self, due_ns: u64, target: Target, reply: Vec<u8>) {
        self.added += 1;
        self.queue.push(Reverse(DelayedReply {
            due_ns,
            nth: self.added,
            target,
            reply,
        }));
    }

    pub(super) fn next_due(&self) -> Option<u64> {
        self.queue.peek().map(|Reverse(first)| first.due_ns)
    }

    /// The next whose time has come, with this time.
    pub(super) fn pop_due(&mut self, now_ns: u64) -> Option<(u64, Target, Vec<u8>)> {
        if self.next_due()? > now_ns {
            return None;
        }
        self.queue
            .pop()
            .map(|Reverse(first)| (first.due_ns, first.target, first.reply))
    }
}
