//! Agents that were started by hand and connect to the prime, which waits for them.

use super::pending_agents::{ClientIdentifiedBy, NoConnectReason, PendingAgents};
use super::remote::{AGENT_PORT, RemoteAgentHandle, bind, launched, prime_keys};
use filermark_link::identity::own_host;
use filermark_link::secure::acceptor::{AcceptLimits, Acceptor};
use filermark_link::secure::dial::HostPort;
use filermark_link::secure::hello::HostName;
use filermark_link::secure::keys::client_file;
use filermark_link::start::{AgentHandle, LaunchedAgent, Launcher};
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Waits for agents that connect to it (`LauncherKind::Accept`). Dropping it stops the
/// listening and keeps the connections.
pub struct AcceptLauncher {
    pending: Arc<PendingAgents>,
    acceptor: Acceptor,
    limit: Duration,
    /// The address for agents.
    listen_address: String,
}

impl AcceptLauncher {
    /// Starts to listen.
    ///
    /// # Errors
    /// The plan has no key file, or an invalid one, or the address cannot be bound.
    pub fn new(plan: &LaunchPlan) -> Result<Self, String> {
        let keys = prime_keys(plan, |launcher| *launcher == LauncherKind::Accept)?;
        let identity = keys.identity()?;
        let listener = bind(plan, AGENT_PORT)?;
        let clients = plan.hosts.iter().enumerate();
        let clients = clients.filter(|(_, host)| host.launcher == LauncherKind::Accept);
        let clients = clients.map(|(number, host)| (number, host.client.as_str()));
        let pending = Arc::new(PendingAgents::new(clients, ClientIdentifiedBy::Key(keys)));
        let inside = pending.clone();
        let receive = move |tcp, peer| inside.receive(&identity, tcp, peer);
        let acceptor = Acceptor::open(listener, AcceptLimits::PRIME, Arc::new(receive))
            .map_err(|e| format!("cannot listen for agents: {e}"))?;
        Ok(Self {
            listen_address: address_for_agents(plan, acceptor.address())?,
            pending,
            acceptor,
            limit: Duration::from_nanos(plan.start_timeout.0),
        })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.acceptor.address()
    }

    /// The command to be run on a client, which connects its agent to this prime.
    pub fn command(&self, client: &str) -> String {
        format!(
            "filermark agent --connect {} --secret-file {}",
            self.listen_address,
            client_file(client)
        )
    }
}

/// The address in the plan; else this host's name, or the address that it listens on.
fn address_for_agents(plan: &LaunchPlan, listens: SocketAddr) -> Result<String, String> {
    let port = listens.port();
    if let Some(address) = &plan.prime_address {
        let address = HostPort::parse(address, port).map_err(|e| format!("PRIME_ADDRESS: {e}"))?;
        return Ok(address.to_string());
    }
    if !listens.ip().is_unspecified() {
        return Ok(listens.to_string());
    }
    Ok(HostName::parse(&own_host()).map_or_else(
        |_| format!("PRIME:{port}"),
        |host| HostPort { host, port }.to_string(),
    ))
}

impl Launcher for AcceptLauncher {
    fn launch(&self, client: usize, host: &HostPlan) -> Result<LaunchedAgent, String> {
        let (slot, secured) = self
            .pending
            .take(client, self.limit, || None)
            .map_err(|absent| self.describe(&absent, &host.client))?;
        let handle = AcceptedAgentHandle {
            link: RemoteAgentHandle(secured.hold.clone()),
            pending: self.pending.clone(),
            slot,
        };
        launched(secured, Box::new(handle))
    }
}

impl AcceptLauncher {
    fn describe(&self, absent: &NoConnectReason, client: &str) -> String {
        match absent {
            NoConnectReason::Aborted(reason) => reason.clone(),
            NoConnectReason::NotExpected => {
                "is not a client whose agent connects to the prime".into()
            }
            NoConnectReason::TimedOut => format!(
                "its agent did not connect to {} within {:.0?}; start it on {client} with: {}",
                self.listen_address,
                self.limit,
                self.command(client)
            ),
        }
    }
}

/// Frees the slot when the agent is released.
pub(super) struct AcceptedAgentHandle {
    pub link: RemoteAgentHandle,
    pub pending: Arc<PendingAgents>,
    pub slot: usize,
}

impl AgentHandle for AcceptedAgentHandle {
    fn final_output(&mut self) -> Option<String> {
        self.link.final_output()
    }

    fn release(&mut self, limit: Duration) {
        self.link.release(limit);
        self.pending.give_back(self.slot);
    }
}
