//! The steps: address, ports, MNT, FSINFO, PATHCONF, FSSTAT.

use super::advice::{Service, explain, refused, security_advice};
use super::datagrams::{ask, block_limit, mtu_to};
use super::negotiate::negotiate;
use super::resolve4;
use super::{Target, credential, flavor, mount_options, nfs_options};
use crate::client::{
    AnyFh, Export, FileClient, MountClient, Mounted, PortLookup, Program, Reply, find_port,
    mount_program, nfs_program, widen,
};
use filermark_engine::driver::DriverError;
use filermark_engine::interrupt_guard;
use filermark_model::plan::{IpChoice, MountPoint, NfsPlan, Transport};
use filermark_onc::mount::Mountstat3;
use filermark_onc::nfs3::{Failed, FsinfoOk, FsstatOk, Nfsstat3, PathconfOk};
use filermark_onc::rpc::AuthFlavor;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// Addresses of one name that are tried: each may cost a whole time-out.
const ADDRESSES_MAX: usize = 4;

/// Why one address did not do, and whether another of the same host may.
pub(super) struct Failure {
    error: DriverError,
    is_final: bool,
}

impl Failure {
    pub(super) fn here(error: DriverError) -> Self {
        Self {
            error,
            is_final: false,
        }
    }

    pub(super) fn everywhere(error: DriverError) -> Self {
        Self {
            error,
            is_final: true,
        }
    }
}

/// Retries and delay after NFS3ERR_JUKEBOX.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JukeboxRetries {
    delay: Duration,
    retries: u32,
}

impl JukeboxRetries {
    /// That of a plan; no single wait is longer than 30 s.
    pub(crate) fn of(plan: &NfsPlan) -> Self {
        Self {
            delay: Duration::from_millis(plan.jukebox_delay_ms.into()),
            retries: plan.jukebox_retries,
        }
    }

    /// Calls until the answer is not NFS3ERR_JUKEBOX.
    pub(crate) fn call<O, F>(self, call: impl FnMut() -> Reply<O, F>) -> Reply<O, F> {
        let is_settled = |answer: &Result<O, Failed<F>>| !matches!(answer, Err(failed) if failed.status == Nfsstat3::Jukebox);
        self.until(call, is_settled)
    }

    /// Calls until the answer is settled, with longer and longer waits, and then
    /// takes it as it is.
    pub(crate) fn until<T, E>(
        self,
        mut call: impl FnMut() -> Result<T, E>,
        is_settled: impl Fn(&T) -> bool,
    ) -> Result<T, E> {
        let mut delay = self.delay;
        for _ in 0..self.retries {
            let answer = call()?;
            if is_settled(&answer) {
                return Ok(answer);
            }
            interrupt_guard::sleep(delay);
            delay = (delay * 2).min(Duration::from_secs(30));
        }
        call()
    }
}

impl Target {
    /// Reaches a mount point and learns what is needed to work on it. Tries the
    /// addresses of a name in order. Blocks, within the plan's time-outs.
    ///
    /// # Errors
    /// Unknown host, unreachable or refusing server, refused mount: one sentence
    /// with host, step, reason and advice.
    pub fn resolve(mount: &MountPoint, plan: &NfsPlan) -> Result<Self, DriverError> {
        let mut first = None;
        for ip in addresses(mount, plan.ip)? {
            match resolve_at(mount, plan, ip) {
                Ok(target) => return Ok(target),
                Err(failure) if failure.is_final => return Err(failure.error),
                Err(failure) => {
                    tracing::debug!(target: "filermark_nfs::mount", error = %failure.error, "address failed");
                    first.get_or_insert(failure.error);
                }
            }
        }
        Err(first.unwrap_or_else(|| no_address(mount, plan.ip)))
    }
}

fn resolve_at(mount: &MountPoint, plan: &NfsPlan, ip: IpAddr) -> Result<Target, Failure> {
    if let Some(minor) = plan.version.minor_version() {
        return resolve4::resolve_at(mount, plan, minor, ip);
    }
    let nfs = (nfs_program(plan.version), plan.nfs_port, "NFS_PORT");
    let nfs_port = port_of(mount, plan, ip, nfs)?;
    let nfs_address = SocketAddr::new(ip, nfs_port);
    let (mount_address, mount_transport, mounted) = mount_at(mount, plan, ip)?;
    let (cred, options) = (credential(plan), nfs_options(plan, &mount.host));
    if plan.transport == Transport::Udp {
        is_there(mount, plan, nfs_address)?;
    }
    let mut nfs = FileClient::new(plan.version, nfs_address, cred, options);
    let root = widen(&mounted.root);
    let info = fsinfo(mount, plan, &mut nfs, &root)?;
    let (pathconf, fsstat) = optional_facts(plan, &mut nfs, &root);
    let block = block_limit(plan);
    Ok(Target {
        mount: mount.clone(),
        nfs_address,
        mount_address,
        transport: plan.transport,
        mount_transport,
        mtu: mtu_to(nfs_address, plan),
        root,
        root_attributes: info.obj_attributes,
        auth_flavors: mounted.auth_flavors,
        rsize: negotiate(info.rtpref, info.rtmax, info.rtmult, block),
        wsize: negotiate(info.wtpref, info.wtmax, info.wtmult, block),
        fsinfo: info,
        pathconf,
        fsstat,
        tls: nfs.rpc().tls_description(),
        session: None,
    })
}

/// MNT over what the plan says; where the server's MOUNT program is not there over
/// UDP, over TCP.
fn mount_at(
    mount: &MountPoint,
    plan: &NfsPlan,
    ip: IpAddr,
) -> Result<(SocketAddr, Transport, Mounted), Failure> {
    let over = |plan: &NfsPlan| -> Result<_, Failure> {
        let port = port_of(
            mount,
            plan,
            ip,
            (mount_program(plan.version), plan.mount_port, "MOUNT_PORT"),
        )?;
        let address = SocketAddr::new(ip, port);
        let mounted = mnt(mount, plan, address)?;
        Ok((address, plan.transport, mounted))
    };
    match over(plan) {
        Err(failure) if plan.transport == Transport::Udp && !failure.is_final => {
            tracing::debug!(target: "filermark_nfs::mount", error = %failure.error, "MOUNT over TCP");
            let streamed = NfsPlan {
                transport: Transport::Tcp,
                ..plan.clone()
            };
            over(&streamed).map_err(|_| failure)
        }
        outcome => outcome,
    }
}

/// Over UDP there is no connection whose making shows that a server answers, and the
/// patience of a run is long: one NULL call, with the patience of a connection.
fn is_there(mount: &MountPoint, plan: &NfsPlan, address: SocketAddr) -> Result<(), Failure> {
    let step = format!("connect to the server of {}", mount.path);
    ask(address, nfs_program(plan.version), mount_options(plan)).map_err(|error| {
        let error = explain(&mount.host, &step, Service::Nfs, address, &error);
        Failure::here(error)
    })
}

/// The addresses of a mount point's server, of the wanted family.
pub(crate) fn addresses(mount: &MountPoint, choice: IpChoice) -> Result<Vec<IpAddr>, DriverError> {
    let wanted = |ip: &IpAddr| match choice {
        IpChoice::V4 => ip.is_ipv4(),
        IpChoice::V6 => ip.is_ipv6(),
        IpChoice::Any => true,
    };
    let host = mount.host.clone();
    let look_up = move || {
        let found = (host.as_str(), 0u16).to_socket_addrs();
        found.map(Iterator::collect::<Vec<_>>)
    };
    let found = interrupt_guard::run_interruptible(look_up)
        .unwrap_or_else(|| Err(std::io::Error::other("stopped on request")))
        .map_err(|error| DriverError {
            place: mount.host.clone(),
            step: "look up the host name".to_owned(),
            reason: error.to_string(),
            advice:
                "check the spelling in MNT_POINTS and the hosts file or DNS, or give the address itself"
                    .to_owned(),
        })?;
    let mut ips: Vec<IpAddr> = Vec::new();
    for ip in found.into_iter().map(|a| a.ip()).filter(wanted) {
        if !ips.contains(&ip) && ips.len() < ADDRESSES_MAX {
            ips.push(ip);
        }
    }
    if ips.is_empty() {
        return Err(no_address(mount, choice));
    }
    Ok(ips)
}

fn no_address(mount: &MountPoint, choice: IpChoice) -> DriverError {
    let (family, other) = match choice {
        IpChoice::V6 => ("IPv6 ", "set IPV6_ENABLE=off to use IPv4"),
        IpChoice::V4 => ("IPv4 ", "set IPV6_ENABLE=on to use IPv6"),
        IpChoice::Any => ("", "check the hosts file or DNS"),
    };
    DriverError {
        place: mount.host.clone(),
        step: "look up the host name".to_owned(),
        reason: format!("the name has no {family}address"),
        advice: other.to_owned(),
    }
}

fn port_of(
    mount: &MountPoint,
    plan: &NfsPlan,
    ip: IpAddr,
    (program, explicit, parameter): (Program, Option<u16>, &str),
) -> Result<u16, Failure> {
    if let Some(port) = explicit {
        return Ok(port);
    }
    let name = match program.prog {
        filermark_onc::mount::PROGRAM => "MOUNT",
        _ => "NFS",
    };
    let what = format!("{name} version {}", program.vers);
    let step = format!("look up the port of {what}");
    let portmapper = SocketAddr::new(ip, plan.portmap_port);
    let transport = plan.transport;
    match find_port(portmapper, program, transport, &mount_options(plan)) {
        Ok(PortLookup::Port(port)) => Ok(port),
        Ok(PortLookup::NotRegistered) => Err(Failure::here(DriverError {
            place: mount.host.clone(),
            step: format!("{step} (portmapper at {portmapper})"),
            reason: format!(
                "the server has not registered {what} for {}",
                transport.name()
            ),
            advice: not_registered(plan, parameter),
        })),
        Err(error) => Err(Failure::here(explain(
            &mount.host,
            &step,
            Service::Portmapper,
            portmapper,
            &error,
        ))),
    }
}

fn not_registered(plan: &NfsPlan, parameter: &str) -> String {
    let version = plan.version.name();
    match plan.transport {
        Transport::Tcp => {
            format!("start the NFS server with NFSv{version} over TCP, or set {parameter}")
        }
        Transport::Udp => format!(
            "many servers are built without NFS over UDP: enable it there, set {parameter}, \
             or use TCP (TCP=on)"
        ),
    }
}

fn mnt(mount: &MountPoint, plan: &NfsPlan, address: SocketAddr) -> Result<Mounted, Failure> {
    let step = format!("mount {}", mount.path);
    let mut client = MountClient::new(plan.version, address, credential(plan), mount_options(plan));
    let mounted = client.mnt(&mount.path).map_err(|error| {
        let error = explain(&mount.host, &step, Service::Mount, address, &error);
        Failure::here(error)
    })?;
    let refusal = |reason: String, advice: String| {
        Failure::everywhere(DriverError {
            place: mount.host.clone(),
            step: step.clone(),
            reason,
            advice,
        })
    };
    match mounted {
        Ok(mounted) if allows(&mounted, plan) => Ok(mounted),
        Ok(mounted) => Err(refusal(
            format!("the export accepts only {}", flavors(&mounted.auth_flavors)),
            security_advice(plan),
        )),
        Err(status) => Err(refusal(
            format!("the server answered {status}"),
            mnt_advice(&mut client, &mount.path, status, plan.resvport),
        )),
    }
}

/// Whether the list of MNT has what the plan uses.
fn allows(mounted: &Mounted, plan: &NfsPlan) -> bool {
    match flavor(plan) {
        AuthFlavor::Sys => mounted.allows_sys,
        wanted => mounted.auth_flavors.contains(&wanted),
    }
}

fn flavors(list: &[AuthFlavor]) -> String {
    let names: Vec<String> = list.iter().map(AuthFlavor::to_string).collect();
    names.join(", ")
}

/// Advice for a refused MNT, with the server's export list.
fn mnt_advice(client: &mut MountClient, path: &str, status: Mountstat3, resvport: bool) -> String {
    let advice = match status {
        Mountstat3::Acces | Mountstat3::Perm if resvport => {
            "check that the export's client list has this client"
        }
        Mountstat3::Acces | Mountstat3::Perm => {
            "check that the export's client list has this client; if the server requires a source port below 1024, set RESVPORT=on"
        }
        Mountstat3::Noent => "check the path",
        other => other.advice(),
    };
    match client.exports() {
        Ok(exports) if !exports.is_empty() && !exports.iter().any(|e| offers(e, path)) => {
            format!(
                "{path} is not in the server's list of exports{}; it exports {}",
                meant(&exports, path),
                listed(&exports, path)
            )
        }
        Ok(exports) if exports.is_empty() => format!("{advice}; the server exports nothing"),
        Ok(exports) => format!("{advice}; the server exports {}", listed(&exports, path)),
        Err(_) => advice.to_owned(),
    }
}

/// Whether a path may be mounted by way of an export: it is one, or lies below one.
fn offers(export: &Export, path: &str) -> bool {
    let below = path.strip_prefix(export.dir.trim_end_matches('/'));
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The export that was probably meant, as a question.
fn meant(exports: &[Export], path: &str) -> String {
    let known = exports.iter().map(|e| e.dir.as_str());
    match filermark_model::text::nearest(path, known) {
        Some(near) => format!(" (did you mean {near}?)"),
        None => String::new(),
    }
}

/// The export list for a sentence: the wanted path alone if it is among them.
fn listed(exports: &[Export], path: &str) -> String {
    const SHOWN: usize = 8;
    if let Some(export) = exports.iter().find(|export| export.dir == path) {
        return export.to_string();
    }
    let shown: Vec<String> = exports.iter().take(SHOWN).map(Export::to_string).collect();
    let more = match exports.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

fn fsinfo(
    mount: &MountPoint,
    plan: &NfsPlan,
    nfs: &mut FileClient,
    root: &AnyFh,
) -> Result<FsinfoOk, Failure> {
    let address = nfs.rpc().address();
    let reply = JukeboxRetries::of(plan).call(|| nfs.fsinfo(root));
    match reply {
        Ok(Ok(info)) => Ok(info),
        Ok(Err(failed)) => Err(Failure::everywhere(refused(
            mount,
            format!("FSINFO (NFS program at {address})"),
            failed.status,
            plan,
        ))),
        Err(error) => Err(Failure::here(explain(
            &mount.host,
            &format!("read the properties of {}", mount.path),
            Service::Nfs,
            address,
            &error,
        ))),
    }
}

/// PATHCONF and FSSTAT: nice to know; a server without them can be measured.
fn optional_facts(
    plan: &NfsPlan,
    nfs: &mut FileClient,
    root: &AnyFh,
) -> (Option<PathconfOk>, Option<FsstatOk>) {
    let patience = JukeboxRetries::of(plan);
    let pathconf = patience.call(|| nfs.pathconf(root));
    let fsstat = patience.call(|| nfs.fsstat(root));
    let told = |name, error: &dyn std::fmt::Display| {
        tracing::debug!(target: "filermark_nfs::mount", %error, "{name} failed");
    };
    let pathconf = match pathconf {
        Ok(Ok(limits)) => Some(limits),
        Ok(Err(failed)) => {
            told("PATHCONF", &failed);
            None
        }
        Err(error) => {
            told("PATHCONF", &error);
            None
        }
    };
    let fsstat = match fsstat {
        Ok(Ok(space)) => Some(space),
        Ok(Err(failed)) => {
            told("FSSTAT", &failed);
            None
        }
        Err(error) => {
            told("FSSTAT", &error);
            None
        }
    };
    (pathconf, fsstat)
}
