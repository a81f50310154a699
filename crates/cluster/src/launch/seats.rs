//! A seat for every client whose agent comes by itself: who may sit where, and who is
//! there.

use crate::secure::dial::resolve;
use crate::secure::introduce::{HostName, Line, hear, refuse, say};
use crate::secure::join::INTRODUCTION_MAX;
use crate::secure::{Identity, SecureError, Secured, secure_server};
use filermark_model::plan::IpChoice;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often a waiting launch looks whether there is still something to wait for.
const LOOK: Duration = Duration::from_millis(50);
/// How long the names of all clients may take to be resolved, and by how many at once.
const RESOLVE_MAX: Duration = Duration::from_secs(5);
const RESOLVERS: usize = 16;
/// Clients that are named to an agent that is none of them.
const NAMED_MAX: usize = 8;

/// The clients that agents come for.
pub(super) struct Seats {
    clients: Vec<Client>,
    states: Mutex<Vec<State>>,
    changed: Condvar,
    /// Since when agents are asked for.
    since: OnceLock<Instant>,
    ip: IpChoice,
    /// An agent whose names are unknown is known by its address.
    by_address: bool,
    addresses: OnceLock<Vec<Vec<IpAddr>>>,
}

struct Client {
    /// In the plan.
    number: usize,
    name: String,
}

enum State {
    Free,
    /// Its agent is being welcomed.
    Coming,
    Here(Secured),
    /// Its agent was handed to the prime.
    Taken,
    /// Nobody is wanted any more.
    Gone,
}

/// Why nobody came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Absent {
    /// Time is over.
    TimedOut,
    /// There is nothing to wait for any more.
    Hopeless(String),
    /// No such client has a seat.
    NoSeat,
}

impl Seats {
    /// For these clients: number in the plan and name.
    pub fn new<'a>(
        clients: impl IntoIterator<Item = (usize, &'a str)>,
        ip: IpChoice,
        by_address: bool,
    ) -> Self {
        let client = |(number, name): (usize, &str)| Client {
            number,
            name: name.into(),
        };
        let clients: Vec<_> = clients.into_iter().map(client).collect();
        Self {
            states: Mutex::new(clients.iter().map(|_| State::Free).collect()),
            clients,
            changed: Condvar::new(),
            since: OnceLock::new(),
            ip,
            by_address,
            addresses: OnceLock::new(),
        }
    }

    /// Receives somebody who connected: an agent that is wanted gets its seat, everybody
    /// else a sentence.
    pub fn receive(&self, identity: &Identity, tcp: TcpStream, peer: SocketAddr) {
        if let Err(error) = self.seat(identity, tcp, peer) {
            tracing::warn!(target: "filermark_cluster", "{peer} wanted in: {error}");
        }
    }

    fn seat(
        &self,
        identity: &Identity,
        tcp: TcpStream,
        peer: SocketAddr,
    ) -> Result<(), SecureError> {
        let deadline = Instant::now() + INTRODUCTION_MAX;
        let secured = secure_server(tcp, identity, INTRODUCTION_MAX)?;
        let heard = hear(&secured, deadline);
        let found = match &heard {
            Ok(Line::Agent(names)) => self.find(names, peer.ip().to_canonical()),
            Ok(_) => Err("this is a prime, and waits for agents".into()),
            Err(error) => Err(error.to_string()),
        };
        let seat = found.map_err(|sentence| {
            refuse(&secured, sentence.clone());
            SecureError::TurnedAway(sentence)
        })?;
        let welcomed = say(&secured, &Line::Welcome);
        let state = match welcomed {
            Ok(()) => State::Here(secured),
            Err(_) => State::Free,
        };
        self.set(seat, state);
        welcomed
    }

    /// Finds the seat of an agent and keeps it for it.
    fn find(&self, names: &[HostName], peer: IpAddr) -> Result<usize, String> {
        let exact = |name: &HostName| self.named(|c| c.eq_ignore_ascii_case(name.as_str()));
        let short = |name: &HostName| {
            let found = self.named(|c| same_short(c, name.as_str()));
            let different: BTreeSet<_> = found.iter().map(|i| self.name(*i)).collect();
            if different.len() == 1 {
                found
            } else {
                Vec::new()
            }
        };
        let mut by_name = names.iter().map(exact).chain(names.iter().map(short));
        let found = match by_name.find(|found| !found.is_empty()) {
            Some(found) => found,
            None => self.only_client_at(peer, names)?,
        };
        self.keep(&found).ok_or_else(|| {
            let name = self.name(found[0]);
            format!("client {name} has its agent already; end that one first")
        })
    }

    fn only_client_at(&self, peer: IpAddr, names: &[HostName]) -> Result<Vec<usize>, String> {
        let at = self.at(peer);
        let different: BTreeSet<_> = at.iter().map(|i| self.name(*i)).collect();
        match different.len() {
            0 => Err(self.unknown(names, peer)),
            1 => Ok(at),
            _ => Err(format!(
                "several clients of this run have the address {peer}; say which with --name CLIENT"
            )),
        }
    }

    fn named(&self, matches: impl Fn(&str) -> bool) -> Vec<usize> {
        let all = 0..self.clients.len();
        all.filter(|i| matches(&self.clients[*i].name)).collect()
    }

    fn name(&self, seat: usize) -> &str {
        &self.clients[seat].name
    }

    /// The clients with this address.
    fn at(&self, peer: IpAddr) -> Vec<usize> {
        if !self.by_address {
            return Vec::new();
        }
        let addresses = self.addresses.get_or_init(|| self.resolve_all());
        let all = 0..self.clients.len();
        all.filter(|i| addresses.get(*i).is_some_and(|a| a.contains(&peer)))
            .collect()
    }

    fn unknown(&self, names: &[HostName], peer: IpAddr) -> String {
        let names: Vec<_> = names.iter().map(HostName::as_str).collect();
        let clients: Vec<_> = self
            .clients
            .iter()
            .take(NAMED_MAX)
            .map(|c| &*c.name)
            .collect();
        let more = match self.clients.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "no client of this run is called {}, nor has the address {peer}; say which one it is with --name CLIENT, of: {}{more}",
            names.join(" or "),
            clients.join(", ")
        )
    }

    /// Keeps the first of these seats that is free, or whose agent has gone again.
    fn keep(&self, seats: &[usize]) -> Option<usize> {
        let mut states = self.lock();
        let free = seats.iter().copied().find(|seat| match &states[*seat] {
            State::Free => true,
            State::Here(secured) => secured.hold.has_ended(),
            State::Coming | State::Taken | State::Gone => false,
        })?;
        states[free] = State::Coming;
        Some(free)
    }

    /// The time that agents have counts from here.
    pub fn begin_at(&self, since: Instant) {
        let _ = self.since.set(since);
    }

    /// Waits until the agent of a client is there and hands it over; at most `limit`
    /// from the begin or the first call on: those asked for last need not wait for the missing ones
    /// among the first. `look` is asked now and then whether there is a reason to give
    /// up.
    pub fn take(
        &self,
        client: usize,
        limit: Duration,
        mut look: impl FnMut() -> Option<String>,
    ) -> Result<(usize, Secured), Absent> {
        let seat = self.clients.iter().position(|c| c.number == client);
        let seat = seat.ok_or(Absent::NoSeat)?;
        let deadline = *self.since.get_or_init(Instant::now) + limit;
        loop {
            let mut states = self.lock();
            match std::mem::replace(&mut states[seat], State::Free) {
                State::Here(secured) if !secured.hold.has_ended() => {
                    states[seat] = State::Taken;
                    return Ok((seat, secured));
                }
                State::Here(_) => {}
                State::Gone => {
                    states[seat] = State::Gone;
                    return Err(Absent::Hopeless("all agents were let go".into()));
                }
                other => states[seat] = other,
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Absent::TimedOut);
            }
            drop(self.changed.wait_timeout(states, left.min(LOOK)));
            if let Some(reason) = look() {
                return Err(Absent::Hopeless(reason));
            }
        }
    }

    /// The prime has no use for it any more: another agent may come.
    pub fn give_back(&self, seat: usize) {
        self.set(seat, State::Free);
    }

    /// Nobody is wanted any more: agents that nobody asked for are let go.
    pub fn close(&self) {
        for state in self.lock().iter_mut() {
            *state = State::Gone;
        }
    }

    fn set(&self, seat: usize, state: State) {
        let mut states = self.lock();
        if !matches!(states[seat], State::Gone) {
            states[seat] = state;
        }
        drop(states);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nth(&self, i: usize) -> Option<(usize, &Client)> {
        self.clients.get(i).map(|client| (i, client))
    }

    /// Of each client; of those that could not be resolved in time, none.
    fn resolve_all(&self) -> Vec<Vec<IpAddr>> {
        let found = Mutex::new(vec![Vec::new(); self.clients.len()]);
        let next = AtomicUsize::new(0);
        let deadline = Instant::now() + RESOLVE_MAX;
        let work = || {
            while let Some((i, client)) = self.nth(next.fetch_add(1, Ordering::Relaxed)) {
                let left = deadline.saturating_duration_since(Instant::now());
                let addresses = resolve(&client.name, 0, self.ip, left).unwrap_or_default();
                let addresses = addresses.iter().map(|a| a.ip().to_canonical());
                found.lock().unwrap_or_else(PoisonError::into_inner)[i] = addresses.collect();
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..RESOLVERS.min(self.clients.len()) {
                // Without it the others have more to do.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether two names have the same first label. Addresses have none.
fn same_short(a: &str, b: &str) -> bool {
    fn short(name: &str) -> Option<&str> {
        let is_address = name.parse::<IpAddr>().is_ok();
        let first = name.split('.').next().unwrap_or(name);
        (!is_address && !first.is_empty()).then_some(first)
    }
    matches!((short(a), short(b)), (Some(a), Some(b)) if a.eq_ignore_ascii_case(b))
}
