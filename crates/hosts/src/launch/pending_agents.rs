//! A seat for every client whose agent comes by itself: who may sit where, and who is
//! there.

use filermark_link::secure::acceptor::RejectionLog;
use filermark_link::secure::connect::INTRODUCTION_MAX;
use filermark_link::secure::hello::{HelloLine, HostName, read_line, refuse, write_line};
use filermark_link::secure::keys::PrimeKeys;
use filermark_link::secure::{Identity, PublicKey, SecureError, SecureStream, secure_server};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often a waiting launch looks whether there is still something to wait for.
const LOOK: Duration = Duration::from_millis(50);
/// Clients that are named to an agent that is none of them.
const NAMED_MAX: usize = 8;

/// The clients that agents come for.
pub(super) struct PendingAgents {
    clients: Vec<PendingClient>,
    states: Mutex<Vec<PendingState>>,
    changed: Condvar,
    /// Since when agents are asked for.
    since: OnceLock<Instant>,
    known_by: ClientIdentifiedBy,
    failures: RejectionLog,
}

/// How it is known which client an agent is.
pub(super) enum ClientIdentifiedBy {
    /// Each has a key of its own: what it says of itself does not matter.
    Key(PrimeKeys),
    /// All have one key, and are started by one user.
    Name,
}

struct PendingClient {
    /// In the plan.
    number: usize,
    name: String,
}

enum PendingState {
    Free,
    /// Its agent is being welcomed.
    Coming,
    Connected(SecureStream),
    /// Its agent was handed to the prime.
    Taken,
    /// Nobody is wanted any more.
    Disconnected,
}

/// Why nobody came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoConnectReason {
    /// Time is over.
    TimedOut,
    /// There is nothing to wait for any more.
    Hopeless(String),
    /// No such client has a seat.
    NoSeat,
}

impl PendingAgents {
    /// For these clients: number in the plan and name.
    pub fn new<'a>(
        clients: impl IntoIterator<Item = (usize, &'a str)>,
        known_by: ClientIdentifiedBy,
    ) -> Self {
        let client = |(number, name): (usize, &str)| PendingClient {
            number,
            name: name.into(),
        };
        let clients: Vec<_> = clients.into_iter().map(client).collect();
        Self {
            states: Mutex::new(clients.iter().map(|_| PendingState::Free).collect()),
            clients,
            changed: Condvar::new(),
            since: OnceLock::new(),
            known_by,
            failures: RejectionLog::default(),
        }
    }

    /// Receives somebody who connected: an agent that is wanted gets its seat, everybody
    /// else a sentence.
    pub fn receive(&self, identity: &Identity, tcp: TcpStream, peer: SocketAddr) {
        if let Err(error) = self.assign(identity, tcp) {
            self.failures.log(peer, &error);
        }
    }

    fn assign(&self, identity: &Identity, tcp: TcpStream) -> Result<(), SecureError> {
        let deadline = Instant::now() + INTRODUCTION_MAX;
        let secured = secure_server(tcp, identity, INTRODUCTION_MAX)?;
        let heard = read_line(&secured, deadline);
        let found = match &heard {
            Ok(HelloLine::Agent(names)) => self.find(&secured.peer_key, names),
            Ok(_) => Err("this is a prime, and waits for agents".into()),
            Err(error) => Err(error.to_string()),
        };
        let seat = found.map_err(|sentence| {
            refuse(&secured, sentence.clone());
            SecureError::Rejected(sentence)
        })?;
        let welcomed = write_line(&secured, &HelloLine::Welcome);
        let state = match welcomed {
            Ok(()) => PendingState::Connected(secured),
            Err(_) => PendingState::Free,
        };
        self.set(seat, state);
        welcomed
    }

    /// Finds the seat of an agent and keeps it for it.
    fn find(&self, key: &PublicKey, said: &[HostName]) -> Result<usize, String> {
        let found = match &self.known_by {
            ClientIdentifiedBy::Key(keys) => {
                let name = keys.name_of(key).ok_or("its key is none of SECRET_FILE")?;
                let found = self.named(|c| PrimeKeys::is_same(c, name.as_str()));
                self.or_unknown(found, std::slice::from_ref(name))?
            }
            ClientIdentifiedBy::Name => self.or_unknown(self.by_name(said), said)?,
        };
        self.keep(&found).ok_or_else(|| {
            let name = self.name(found[0]);
            format!("client {name} has its agent already; end that one first")
        })
    }

    /// The clients that are called so, or else alike.
    fn by_name(&self, names: &[HostName]) -> Vec<usize> {
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
        by_name.find(|found| !found.is_empty()).unwrap_or_default()
    }

    fn or_unknown(&self, found: Vec<usize>, names: &[HostName]) -> Result<Vec<usize>, String> {
        match found.is_empty() {
            true => Err(self.unknown(names)),
            false => Ok(found),
        }
    }

    fn named(&self, matches: impl Fn(&str) -> bool) -> Vec<usize> {
        let all = 0..self.clients.len();
        all.filter(|i| matches(&self.clients[*i].name)).collect()
    }

    fn name(&self, seat: usize) -> &str {
        &self.clients[seat].name
    }

    fn unknown(&self, names: &[HostName]) -> String {
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
        let advice = match self.known_by {
            ClientIdentifiedBy::Key(_) => "the name in the agent's key file counts",
            ClientIdentifiedBy::Name => "say which one it is with --name CLIENT",
        };
        format!(
            "no client of this run is called {}; {advice}, of: {}{more}",
            names.join(" or "),
            clients.join(", ")
        )
    }

    /// Keeps the first of these seats that is free, or whose agent has gone again.
    fn keep(&self, seats: &[usize]) -> Option<usize> {
        let mut states = self.lock();
        let free = seats.iter().copied().find(|seat| match &states[*seat] {
            PendingState::Free => true,
            PendingState::Connected(secured) => secured.hold.has_ended(),
            PendingState::Coming | PendingState::Taken | PendingState::Disconnected => false,
        })?;
        states[free] = PendingState::Coming;
        Some(free)
    }

    /// The time that agents have counts from here.
    pub fn begin_at(&self, since: Instant) {
        let _ = self.since.set(since);
    }

    /// Waits until the agent of a client is there and hands it over; at most `limit`
    /// from the beginning or the first call on: those asked for last need not wait for the missing ones
    /// among the first. `look` is asked now and then whether there is a reason to give
    /// up.
    pub fn take(
        &self,
        client: usize,
        limit: Duration,
        mut look: impl FnMut() -> Option<String>,
    ) -> Result<(usize, SecureStream), NoConnectReason> {
        let seat = self.clients.iter().position(|c| c.number == client);
        let seat = seat.ok_or(NoConnectReason::NoSeat)?;
        let deadline = *self.since.get_or_init(Instant::now) + limit;
        loop {
            let mut states = self.lock();
            match std::mem::replace(&mut states[seat], PendingState::Free) {
                PendingState::Connected(secured) if !secured.hold.has_ended() => {
                    states[seat] = PendingState::Taken;
                    return Ok((seat, secured));
                }
                PendingState::Connected(_) => {}
                PendingState::Disconnected => {
                    states[seat] = PendingState::Disconnected;
                    return Err(NoConnectReason::Hopeless("all agents were let go".into()));
                }
                other => states[seat] = other,
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NoConnectReason::TimedOut);
            }
            drop(self.changed.wait_timeout(states, left.min(LOOK)));
            if let Some(reason) = look() {
                return Err(NoConnectReason::Hopeless(reason));
            }
        }
    }

    /// The prime has no use for it any more: another agent may come.
    pub fn give_back(&self, seat: usize) {
        self.set(seat, PendingState::Free);
    }

    /// Nobody is wanted any more: agents that nobody asked for are let go.
    pub fn close(&self) {
        for state in self.lock().iter_mut() {
            *state = PendingState::Disconnected;
        }
    }

    fn set(&self, seat: usize, state: PendingState) {
        let mut states = self.lock();
        if !matches!(states[seat], PendingState::Disconnected) {
            states[seat] = state;
        }
        drop(states);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PendingState>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
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
