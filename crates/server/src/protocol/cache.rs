//! The duplicate request cache: a request that is sent again, because its reply was lost, is
//! not executed again; it gets the first reply.
//!
//! A request is known again by xid, client address and a hash of all its bytes. Two clients
//! on one host may by chance send the same bytes with the same xid at different times, above
//! all where a seed decides both; so replies of a connection that its client has read to the
//! end and closed are removed: no client can still need them.

use std::collections::VecDeque;
use std::collections::hash_map::{DefaultHasher, Entry as Slot, HashMap};
use std::hash::Hasher;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const SHARDS: usize = 16;
/// Replies that one shard remembers.
const ENTRIES: usize = 1024;
/// How long a reply is remembered.
const LIFETIME: Duration = Duration::from_secs(120);

/// One connection, as far as the cache needs to know it.
#[derive(Debug, Default)]
pub(crate) struct Session {
    settled: AtomicBool,
    dropped_replies: AtomicBool,
}

impl Session {
    /// A reply was lost on purpose: its client will ask again on another connection.
    pub(crate) fn lost_a_reply(&self) {
        self.dropped_replies.store(true, Ordering::Relaxed);
    }

    /// The client closed the connection in order, and every reply had been sent. (Had it
    /// left some unread, its system would have reset the connection instead.)
    pub(crate) fn settle(&self) {
        if !self.dropped_replies.load(Ordering::Relaxed) {
            self.settled.store(true, Ordering::Release);
        }
    }
}

/// Whose request it is: the address, and over UDP the port too, which a client keeps for all its
/// attempts. (Over TCP it sends the call again on a new connection, from a new port; that is `None` here.)
pub(super) type Client = (IpAddr, Option<u16>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    xid: u32,
    client: Client,
    checksum: u64,
}

impl Key {
    pub(super) fn new(xid: u32, client: Client, record: &[u8]) -> Key {
        let mut hasher = DefaultHasher::new();
        hasher.write(record);
        Key {
            xid,
            client,
            checksum: hasher.finish(),
        }
    }
}

#[derive(Debug)]
struct CachedReply {
    reply: Box<[u8]>,
    session: Arc<Session>,
    at: Instant,
}

#[derive(Debug, Default)]
struct Shard {
    replies: HashMap<Key, CachedReply>,
    /// Keys by age; each key of `replies` once.
    order: VecDeque<Key>,
}

#[derive(Debug, Default)]
pub(super) struct ReplyCache {
    shards: [Mutex<Shard>; SHARDS],
}

/// Whether a reply is worth remembering: only where something was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheDecision {
    Yes,
    No,
}

impl ReplyCache {
    /// Appends the remembered reply and says true, or lets `serve` append one and remembers it.
    /// The shard stays locked meanwhile, so that a repeated request waits for the first.
    pub(super) fn serve(
        &self,
        key: Key,
        session: &Arc<Session>,
        out: &mut Vec<u8>,
        serve: impl FnOnce(&mut Vec<u8>) -> CacheDecision,
    ) -> bool {
        let shard = &self.shards[(key.checksum % SHARDS as u64) as usize];
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(known) = shard.replies.get(&key) {
            let forgotten = known.session.settled.load(Ordering::Acquire);
            if !forgotten && now.duration_since(known.at) < LIFETIME {
                out.extend_from_slice(&known.reply);
                return true;
            }
        }
        let start = out.len();
        if serve(out) == CacheDecision::Yes {
            let reply = out[start..].into();
            shard.remember(
                key,
                CachedReply {
                    reply,
                    session: session.clone(),
                    at: now,
                },
            );
        }
        false
    }
}

impl Shard {
    fn remember(&mut self, key: Key, reply: CachedReply) {
        match self.replies.entry(key) {
            Slot::Occupied(mut slot) => {
                slot.insert(reply);
            }
            Slot::Vacant(slot) => {
                slot.insert(reply);
                self.order.push_back(key);
            }
        }
        if self.order.len() > ENTRIES
            && let Some(oldest) = self.order.pop_front()
        {
            self.replies.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(cache: &ReplyCache, session: &Arc<Session>, xid: u32, reply: &[u8]) -> (bool, Vec<u8>) {
        let mut out = b"before".to_vec();
        let key = Key::new(xid, ([127, 0, 0, 1].into(), None), b"request");
        let repeated = cache.serve(key, session, &mut out, |out| {
            out.extend_from_slice(reply);
            CacheDecision::Yes
        });
        (repeated, out.split_off(6))
    }

    #[test]
    fn a_repeated_request_gets_the_first_reply() {
        let (cache, first) = (ReplyCache::default(), Arc::new(Session::default()));
        assert_eq!(ask(&cache, &first, 1, b"one"), (false, b"one".to_vec()));
        let second = Arc::new(Session::default());
        assert_eq!(ask(&cache, &second, 1, b"two"), (true, b"one".to_vec()));
        assert_eq!(ask(&cache, &second, 2, b"two"), (false, b"two".to_vec()));
    }

    #[test]
    fn what_was_read_to_the_end_is_forgotten_unless_a_reply_was_lost() {
        let (cache, first) = (ReplyCache::default(), Arc::new(Session::default()));
        ask(&cache, &first, 1, b"one");
        first.settle();
        let lossy = Arc::new(Session::default());
        assert_eq!(ask(&cache, &lossy, 1, b"two"), (false, b"two".to_vec()));
        lossy.lost_a_reply();
        lossy.settle();
        assert_eq!(ask(&cache, &first, 1, b"three"), (true, b"two".to_vec()));
    }

    #[test]
    fn the_memory_is_bounded() {
        let (cache, session) = (ReplyCache::default(), Arc::new(Session::default()));
        let total = (SHARDS * ENTRIES * 2) as u32;
        for xid in 0..total {
            let key = Key::new(xid, ([127, 0, 0, 1].into(), None), &xid.to_be_bytes());
            cache.serve(key, &session, &mut Vec::new(), |_| CacheDecision::Yes);
        }
        for shard in &cache.shards {
            let shard = shard.lock().expect("lock");
            assert!(shard.replies.len() <= ENTRIES && shard.order.len() == shard.replies.len());
        }
    }
}
