//! The connections of a shard, and which procs use them.

use super::peer::Peer;
use super::protocol::WireProtocol;
use super::shard::Conn;
use filermark_model::plan::{Connections, Transport};
use std::collections::HashMap;
use std::hash::Hash;

/// Assigns connections to procs. `K` is the target of shared connections: a server, a share.
#[derive(Debug)]
pub struct ConnectionAssigner<P: WireProtocol, K> {
    rule: Connections,
    transport: Transport,
    /// How many connections are made for each one of the rule.
    width: u32,
    /// The shard's number and the number of shards.
    shard: (u32, u32),
    conns: Vec<Conn<P>>,
    /// For each target: its first connection, and the number of its procs.
    targets: HashMap<K, (u32, u32)>,
}

impl<P: WireProtocol, K: Eq + Hash> ConnectionAssigner<P, K> {
    /// For the shard with this number, of `shards`.
    pub fn new(rule: Connections, transport: Transport, shard: u32, shards: u32) -> Self {
        Self {
            rule,
            transport,
            width: 1,
            shard: (shard, shards.max(1)),
            conns: Vec::new(),
            targets: HashMap::new(),
        }
    }

    /// For each connection of the rule so many are made, with numbers that follow each other.
    #[must_use]
    pub fn with_width(mut self, connections: u32) -> Self {
        self.width = connections.max(1);
        self
    }

    /// Adds a connection of the rule; returns the number of its first one.
    fn add_all(&mut self, peer: &Peer, state: impl Fn() -> P::Conn) -> u32 {
        let first = self.conns.len() as u32;
        for _ in 0..self.width {
            self.add(peer.clone(), state());
        }
        first
    }

    fn add(&mut self, peer: Peer, state: P::Conn) -> u32 {
        let number = self.conns.len() as u32;
        let conn = Conn::new(number, peer, state, self.transport);
        self.conns.push(conn);
        number
    }

    /// The connection of the next proc with this target, which is at `peer`: the first one of its width.
    pub fn next(&mut self, target: K, peer: impl Into<Peer>, state: impl Fn() -> P::Conn) -> u32 {
        let peer = peer.into();
        let per_target = match self.rule {
            Connections::PerProc => return self.add_all(&peer, state),
            // This shard's part of the agent's connections.
            Connections::Shared(count) => {
                let (shard, shards) = self.shard;
                (count / shards + u32::from(shard < count % shards)).max(1)
            }
        };
        let next = self.conns.len() as u32;
        let (first, procs) = self.targets.entry(target).or_insert((next, 0));
        let (first, nth) = (*first, std::mem::replace(procs, *procs + 1));
        if nth == 0 {
            for _ in 0..per_target {
                self.add_all(&peer, &state);
            }
        }
        first + nth % per_target * self.width
    }

    /// The connections that were assigned.
    pub fn finish(self) -> Vec<Conn<P>> {
        self.conns
    }
}
