//! Inspects servers before a run: which of their services accept connections (over UDP:
//! answer a NULL call), how quickly, and whether exports can be mounted. Creates nothing on
//! the server but a file for the operations of a mix that a server of version 4.2 need not have.

pub(crate) mod servers;

use crate::claim::probe::probe;
use crate::client::{
    PortLookup, Program, RpcOptions, connect, find_port, mount_program, nfs_program,
};
use crate::target::{Target, addresses, ask, mount_options};
use filermark_driver_kit::claim::PROBE_PREFIX;
use filermark_driver_kit::driver::ClaimReport;
use filermark_engine::driver::DriverError;
use filermark_model::plan::{MountPoint, NfsPlan, Transport};
use filermark_onc::nfs3::access;
use filermark_onc::portmap;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Longest waits of the survey, in milliseconds: a run has longer limits.
const WAIT_MS_MAX: u32 = 5_000;

/// A service of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    /// `portmapper`, `mount`, `nfs`.
    pub name: &'static str,
    /// Where it listens; `None`: not known.
    pub address: Option<SocketAddr>,
    /// What carries the calls to it.
    pub transport: Transport,
    /// How long the connection took to be made, or over UDP the answer to a NULL call
    /// to come; or why there is none.
    pub connected: Result<Duration, String>,
}

/// The same plan with short waits and one try.
#[must_use]
pub(crate) fn hasty(plan: &NfsPlan) -> NfsPlan {
    NfsPlan {
        connect_timeout_ms: plan.connect_timeout_ms.min(WAIT_MS_MAX),
        rpc_timeout_ms: plan.rpc_timeout_ms.min(WAIT_MS_MAX),
        rpc_retries: 0,
        jukebox_retries: 0,
        ..plan.clone()
    }
}

/// Connects to every service of a mount point's server that a run needs. Of a name
/// with several addresses, the first at which something answers counts.
///
/// # Errors
/// The name has no address.
pub(crate) fn services(mount: &MountPoint, plan: &NfsPlan) -> Result<Vec<Service>, DriverError> {
    let mut first = None;
    for ip in addresses(mount, plan.ip)? {
        let found = services_at(ip, plan);
        if found.iter().any(|s| s.connected.is_ok()) {
            return Ok(found);
        }
        first.get_or_insert(found);
    }
    Ok(first.unwrap_or_default())
}

fn services_at(ip: IpAddr, plan: &NfsPlan) -> Vec<Service> {
    let mut found = Vec::new();
    if plan.version.has_state() {
        let address = SocketAddr::new(ip, plan.port_without_portmapper());
        return vec![reach("nfs", address, nfs_program(plan.version), plan)];
    }
    if plan.nfs_port.is_none() || plan.mount_port.is_none() {
        let portmapper = SocketAddr::new(ip, plan.portmap_port);
        let program = Program {
            prog: portmap::PROGRAM,
            vers: portmap::VERSION,
        };
        found.push(reach("portmapper", portmapper, program, plan));
        if found.iter().any(|s| s.connected.is_err()) {
            // The others would only be unknown because of this.
            return found;
        }
    }
    for (name, program, explicit) in [
        ("mount", mount_program(plan.version), plan.mount_port),
        ("nfs", nfs_program(plan.version), plan.nfs_port),
    ] {
        let mut service = look(name, ip, (program, explicit), plan);
        // Servers with NFS over UDP may have MOUNT over TCP alone.
        if service.connected.is_err() && name == "mount" && plan.transport == Transport::Udp {
            let streamed = NfsPlan {
                transport: Transport::Tcp,
                ..plan.clone()
            };
            let other = look(name, ip, (program, explicit), &streamed);
            if other.connected.is_ok() {
                service = other;
            }
        }
        found.push(service);
    }
    found
}

fn look(
    name: &'static str,
    ip: IpAddr,
    (program, explicit): (Program, Option<u16>),
    plan: &NfsPlan,
) -> Service {
    match port(ip, program, explicit, plan) {
        Ok(port) => reach(name, SocketAddr::new(ip, port), program, plan),
        Err(reason) => Service {
            name,
            address: None,
            transport: plan.transport,
            connected: Err(reason),
        },
    }
}

fn port(
    ip: IpAddr,
    program: Program,
    explicit: Option<u16>,
    plan: &NfsPlan,
) -> Result<u16, String> {
    if let Some(port) = explicit {
        return Ok(port);
    }
    let portmapper = SocketAddr::new(ip, plan.portmap_port);
    match find_port(portmapper, program, plan.transport, &mount_options(plan)) {
        Ok(PortLookup::Port(port)) => Ok(port),
        Ok(PortLookup::NotRegistered) => Err(format!(
            "the server has not registered it for {}",
            plan.transport.name()
        )),
        Err(e) => Err(e.to_string()),
    }
}

fn reach(name: &'static str, address: SocketAddr, program: Program, plan: &NfsPlan) -> Service {
    let began = Instant::now();
    let limit = Duration::from_millis(plan.connect_timeout_ms.into());
    let connected = match plan.transport {
        Transport::Tcp => connect(address, false, limit).map(drop),
        Transport::Udp => {
            let options = RpcOptions {
                resvport: false,
                ..mount_options(plan)
            };
            ask(address, program, options)
        }
    };
    Service {
        name,
        address: Some(address),
        transport: plan.transport,
        connected: connected
            .map(|()| began.elapsed())
            .map_err(|e| e.to_string()),
    }
}

/// A name that no other client's check has at this time.
fn probe_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let ns = since.unwrap_or_default().as_nanos();
    format!("{PROBE_PREFIX}{ns:x}-{:x}", std::process::id())
}

/// Mounts an export, asks whether it may be written to and how much is free, and
/// takes the mount back. Operations of the mix that a server of version 4.2 need not have are tried on a
/// file of its own, which is removed.
///
/// # Errors
/// As [`Target::resolve`]; the server does not have one of these operations.
pub(crate) fn export(
    mount: &MountPoint,
    plan: &NfsPlan,
) -> Result<(bool, ClaimReport), DriverError> {
    const WANTED: u32 = access::MODIFY | access::EXTEND | access::DELETE;
    let target = Target::resolve(mount, plan)?;
    let answer = target.file_client(plan).access(&target.root, WANTED);
    let writable = match answer {
        Ok(Ok(granted)) => granted & access::EXTEND != 0,
        // A server without ACCESS says nothing against it.
        Ok(Err(_)) | Err(_) => true,
    };
    let tried = match writable {
        true => probe(plan, &target, (&target.root, &probe_name())),
        false => Ok(()),
    };
    target.unmount(plan);
    tried?;
    let report = ClaimReport {
        space: target.space(),
        server_facts: target.facts(),
        ..ClaimReport::default()
    };
    Ok((writable, report))
}
