//! Inspects servers before a run: whether and how quickly they accept connections, and
//! whether shares accept the user and can be written to. Creates nothing on the server.

pub(crate) mod shares;

use crate::claim::ShareSession;
use crate::client::{Client, Failure, OpenFor, advice, try_connection};
use crate::login::LoginRefusals;
use crate::target::Target;
use filermark_driver_kit::driver::ClaimReport;
use filermark_driver_kit::run_dirs::MountSession;
use filermark_engine::driver::DriverError;
use filermark_model::plan::{MountPoint, SmbPlan};
use filermark_smbwire::status;
use std::net::SocketAddr;
use std::time::Duration;

/// Longest waits of the survey, in milliseconds: a run has longer limits.
const WAIT_MS_MAX: u32 = 5_000;

/// A server, and those of its shares that are inspected.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its name, as the mount points give it.
    pub host: String,
    /// Where it was tried; `None`: the name has no address.
    pub address: Option<SocketAddr>,
    /// How long the connection took to be made; or why there is none.
    pub connected: Result<Duration, String>,
    /// Its shares, in the order of the mount points.
    pub shares: Vec<Share>,
}

/// A share.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The mount point.
    pub mount: MountPoint,
    /// What came of logging in to it.
    pub entered: Result<AccessibleShare, DriverError>,
}

/// A share that lets us in.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessibleShare {
    /// Whether files and directories may be made in the mount point's directory.
    pub writable: bool,
    /// Free space, dialect, signing, encryption, user: as for a claim.
    pub report: ClaimReport,
}

/// The same plan with short waits.
#[must_use]
pub fn hasty(plan: &SmbPlan) -> SmbPlan {
    SmbPlan {
        connect_timeout_ms: plan.connect_timeout_ms.min(WAIT_MS_MAX),
        reply_timeout_ms: plan.reply_timeout_ms.min(WAIT_MS_MAX),
        ..plan.clone()
    }
}

/// Inspects mount points, server by server; once one has refused the user, no login that
/// shares `refusals` is tried again.
pub fn survey(mounts: &[MountPoint], plan: &SmbPlan, refusals: &LoginRefusals) -> Vec<Server> {
    let mut hosts: Vec<&str> = Vec::new();
    for mount in mounts {
        if !hosts.contains(&mount.host.as_str()) {
            hosts.push(&mount.host);
        }
    }
    let of = |host: &str| -> Vec<MountPoint> {
        let own = mounts.iter().filter(|m| m.host == host);
        own.cloned().collect()
    };
    hosts
        .into_iter()
        .map(|host| server(host, &of(host), plan, refusals))
        .collect()
}

/// Looks at one server, by mount points that are all on it.
pub fn server(
    host: &str,
    mounts: &[MountPoint],
    plan: &SmbPlan,
    refusals: &LoginRefusals,
) -> Server {
    let plan = hasty(plan);
    let (address, connected) = reach(mounts, &plan);
    // What does not even take connections would cost a time-out per share.
    let looked_at = match connected {
        Ok(_) => mounts,
        Err(_) => &[],
    };
    let shares = looked_at.iter().map(|mount| Share {
        mount: mount.clone(),
        entered: enter(mount, &plan, refusals),
    });
    Server {
        host: host.to_owned(),
        address,
        connected,
        shares: shares.collect(),
    }
}

/// Of a name with several addresses, the first at which something answers counts.
fn reach(mounts: &[MountPoint], plan: &SmbPlan) -> (Option<SocketAddr>, Result<Duration, String>) {
    let addresses = match mounts
        .first()
        .map(|mount| Target::of(mount)?.addresses(plan))
    {
        Some(Ok(addresses)) => addresses,
        Some(Err(error)) => return (None, Err(error.to_string())),
        None => Vec::new(),
    };
    let mut first = (None, Err("the name has no address".to_owned()));
    for address in addresses {
        match try_connection(address, plan) {
            Ok(took) => return (Some(address), Ok(took)),
            Err(error) if first.0.is_none() => first = (Some(address), Err(error.to_string())),
            Err(_) => {}
        }
    }
    first
}

/// Logs in to a share and leaves it again.
///
/// # Errors
/// As [`Client::connect`], and: the share has no such directory.
pub fn enter(
    mount: &MountPoint,
    plan: &SmbPlan,
    refusals: &LoginRefusals,
) -> Result<AccessibleShare, DriverError> {
    let mut share = ShareSession::connect(plan, mount, refusals)?;
    let writable = is_writable(&mut share.client, &share.target.dir).map_err(|failure| {
        let step = "open the mount point's directory";
        advice::explain(&mount.to_string(), step, &failure, plan)
    });
    let entered = writable.map(|writable| AccessibleShare {
        writable,
        report: share.report(None),
    });
    share.close(false);
    entered
}

/// Opens a directory for making things in it, and makes nothing.
fn is_writable(client: &mut Client, dir: &str) -> Result<bool, Failure> {
    let files = client.files();
    match files.open(dir, OpenFor::MakeIn) {
        Ok(file) => files.close(file).map(|()| true),
        Err(failure) if failure.is(&[status::ACCESS_DENIED, status::MEDIA_WRITE_PROTECTED]) => {
            let file = files.open(dir, OpenFor::Attributes)?;
            files.close(file).map(|()| false)
        }
        Err(failure) => Err(failure),
    }
}
