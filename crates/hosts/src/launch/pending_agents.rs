//! A slot for every client whose agent connects to the prime: which agent may use it, and
//! whether it is connected.

use filermark_link::secure::acceptor::RejectionLog;
use filermark_link::secure::connect::INTRODUCTION_MAX;
use filermark_link::secure::hello::{HelloLine, HostName, read_line, refuse, write_line};
use filermark_link::secure::keys::PrimeKeys;
use filermark_link::secure::{Identity, PublicKey, SecureError, SecureStream, secure_server};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Interval at which a waiting launch checks whether it should give up.
const POLL: Duration = Duration::from_millis(50);
/// Clients that are listed for an agent that is none of them.
const NAMED_MAX: usize = 8;

/// The clients whose agents are expected.
pub(super) struct PendingAgents {
    clients: Vec<PendingClient>,
    states: Mutex<Vec<PendingState>>,
    changed: Condvar,
    /// The beginning of the wait for agents.
    since: OnceLock<Instant>,
    known_by: ClientIdentifiedBy,
    failures: RejectionLog,
}

/// How the client of an agent is identified.
pub(super) enum ClientIdentifiedBy {
    /// Each client has its own key: the names that an agent sends do not matter.
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
    /// Its agent is connecting.
    Connecting,
    Connected(SecureStream),
    /// Its agent was handed to the prime.
    HandedOver,
    /// No agent is expected any more.
    Disconnected,
}

/// Why no agent connected.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoConnectReason {
    /// The time is over.
    TimedOut,
    /// The wait was ended; the reason.
    Aborted(String),
    /// This client is not expected to connect.
    NotExpected,
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

    /// Handles a connection: an expected agent gets its slot, any other peer a message.
    pub fn receive(&self, identity: &Identity, tcp: TcpStream, peer: SocketAddr) {
        if let Err(error) = self.assign(identity, tcp) {
            self.failures.log(peer, &error);
        }
    }

    fn assign(&self, identity: &Identity, tcp: TcpStream) -> Result<(), SecureError> {
        let deadline = Instant::now() + INTRODUCTION_MAX;
        let secured = secure_server(tcp, identity, INTRODUCTION_MAX)?;
        let line = read_line(&secured, deadline);
        let found = match &line {
            Ok(HelloLine::Agent(names)) => self.find(&secured.peer_key, names),
            Ok(_) => Err("this is a prime, which waits for agents".into()),
            Err(error) => Err(error.to_string()),
        };
        let slot = found.map_err(|sentence| {
            refuse(&secured, sentence.clone());
            SecureError::Rejected(sentence)
        })?;
        let sent = write_line(&secured, &HelloLine::Welcome);
        let state = match sent {
            Ok(()) => PendingState::Connected(secured),
            Err(_) => PendingState::Free,
        };
        self.set(slot, state);
        sent
    }

    /// Finds the slot of an agent and reserves it.
    fn find(&self, key: &PublicKey, names: &[HostName]) -> Result<usize, String> {
        let found = match &self.known_by {
            ClientIdentifiedBy::Key(keys) => {
                let name = keys.name_of(key).ok_or("its key is not in SECRET_FILE")?;
                let found = self.named(|c| PrimeKeys::is_same(c, name.as_str()));
                self.or_unknown(found, std::slice::from_ref(name))?
            }
            ClientIdentifiedBy::Name => self.or_unknown(self.with_name(names), names)?,
        };
        self.reserve(&found).ok_or_else(|| {
            let name = self.name(found[0]);
            format!("client {name} already has an agent; end that one first")
        })
    }

    /// The clients with one of these names, or else with the same first label.
    fn with_name(&self, names: &[HostName]) -> Vec<usize> {
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
        let mut with_name = names.iter().map(exact).chain(names.iter().map(short));
        with_name
            .find(|found| !found.is_empty())
            .unwrap_or_default()
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

    fn name(&self, slot: usize) -> &str {
        &self.clients[slot].name
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
            ClientIdentifiedBy::Name => "set the client with --name CLIENT",
        };
        format!(
            "no client of this run is named {}; {advice}; clients: {}{more}",
            names.join(" or "),
            clients.join(", ")
        )
    }

    /// Reserves the first of these slots that is free, or whose agent has disconnected.
    fn reserve(&self, slots: &[usize]) -> Option<usize> {
        let mut states = self.lock();
        let free = slots.iter().copied().find(|slot| match &states[*slot] {
            PendingState::Free => true,
            PendingState::Connected(secured) => secured.hold.has_ended(),
            PendingState::Connecting | PendingState::HandedOver | PendingState::Disconnected => {
                false
            }
        })?;
        states[free] = PendingState::Connecting;
        Some(free)
    }

    /// The time limit for agents counts from here.
    pub fn begin_at(&self, since: Instant) {
        let _ = self.since.set(since);
    }

    /// Waits until the agent of a client is connected and returns it; at most `limit` from
    /// [`Self::begin_at`] or the first call on, so that clients that are launched later do not
    /// wait for missing ones again. `give_up_reason` is called repeatedly and may return a reason to give
    /// up.
    pub fn take(
        &self,
        client: usize,
        limit: Duration,
        mut give_up_reason: impl FnMut() -> Option<String>,
    ) -> Result<(usize, SecureStream), NoConnectReason> {
        let slot = self.clients.iter().position(|c| c.number == client);
        let slot = slot.ok_or(NoConnectReason::NotExpected)?;
        let deadline = *self.since.get_or_init(Instant::now) + limit;
        loop {
            let mut states = self.lock();
            match std::mem::replace(&mut states[slot], PendingState::Free) {
                PendingState::Connected(secured) if !secured.hold.has_ended() => {
                    states[slot] = PendingState::HandedOver;
                    return Ok((slot, secured));
                }
                PendingState::Connected(_) => {}
                PendingState::Disconnected => {
                    states[slot] = PendingState::Disconnected;
                    return Err(NoConnectReason::Aborted("all agents were released".into()));
                }
                other => states[slot] = other,
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NoConnectReason::TimedOut);
            }
            drop(self.changed.wait_timeout(states, left.min(POLL)));
            if let Some(reason) = give_up_reason() {
                return Err(NoConnectReason::Aborted(reason));
            }
        }
    }

    /// The prime has released it: another agent may connect.
    pub fn give_back(&self, slot: usize) {
        self.set(slot, PendingState::Free);
    }

    /// No agent is expected any more: agents that were not taken are disconnected.
    pub fn close(&self) {
        for state in self.lock().iter_mut() {
            *state = PendingState::Disconnected;
        }
    }

    fn set(&self, slot: usize, state: PendingState) {
        let mut states = self.lock();
        if !matches!(states[slot], PendingState::Disconnected) {
            states[slot] = state;
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
