//! What agents that are reached over TLS have in common: streams and handle.

use filermark_link::secure::keys::PrimeKeys;
use filermark_link::secure::{LinkControl, SecureStream, WriteHalf};
use filermark_link::start::{AgentHandle, LaunchedAgent};
use filermark_model::launch::{LaunchPlan, LauncherKind};
use filermark_model::plan::IpChoice;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

/// The default port of agents and primes that listen.
pub const AGENT_PORT: u16 = 20049;
/// How long the reason for the end of a connection is awaited.
const FAILURE_WAIT_MAX: Duration = Duration::from_millis(200);

/// An agent at the other end of this connection, with its handle.
pub(super) fn launched(
    secured: SecureStream,
    handle: Box<dyn AgentHandle>,
) -> Result<LaunchedAgent, String> {
    let from_agent = secured
        .stream
        .try_clone()
        .map_err(|e| format!("its connection cannot be used: {e}"))?;
    Ok(LaunchedAgent {
        from_agent: Box::new(from_agent),
        to_agent: Box::new(WriteHalf::of(secured.stream)),
        handle,
    })
}

/// The handle of an agent that was not started by this process: its connection.
pub(super) struct RemoteAgentHandle(pub LinkControl);

impl AgentHandle for RemoteAgentHandle {
    fn final_output(&mut self) -> Option<String> {
        self.0.wait_ended(FAILURE_WAIT_MAX);
        self.0.failure_text()
    }

    fn release(&mut self, limit: Duration) {
        if !self.0.wait_ended(limit) {
            self.0.cut();
        }
    }
}

/// The prime's own key and those of its clients, from the key file in the plan. It must contain
/// one for each client of this kind.
pub(super) fn prime_keys(
    plan: &LaunchPlan,
    is_kind: fn(&LauncherKind) -> bool,
) -> Result<PrimeKeys, String> {
    let file = plan.secret_file.as_ref().ok_or(
        "agents started by hand need keys: make the files with \
         'filermark agent --make-keys DIR --clients LIST', move DIR/client-NAME.key to each \
         client, and set SECRET_FILE=DIR/prime.key",
    )?;
    let keys = PrimeKeys::read(file).map_err(|e| e.to_string())?;
    for host in plan.hosts.iter().filter(|host| is_kind(&host.launcher)) {
        keys.require(&host.client)?;
    }
    Ok(keys)
}

/// Listens on the address in the plan, or on all addresses of the family.
pub(super) fn bind(plan: &LaunchPlan, port: u16) -> Result<TcpListener, String> {
    let all_v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let all_v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    let bound = match (plan.listen, plan.ip) {
        (Some(address), _) => TcpListener::bind(address),
        (None, IpChoice::V4) => TcpListener::bind(all_v4),
        (None, IpChoice::V6) => TcpListener::bind(all_v6),
        // The second where there is no IPv6; the first accepts both families.
        (None, IpChoice::Any) => TcpListener::bind(all_v6).or_else(|error| match error.kind() {
            io::ErrorKind::AddrInUse => Err(error),
            _ => TcpListener::bind(all_v4),
        }),
    };
    bound.map_err(|error| {
        let address = plan
            .listen
            .map_or_else(|| format!("port {port}"), |a| a.to_string());
        format!("cannot listen for agents on {address}: {error}; PRIME_LISTEN sets another address")
    })
}
