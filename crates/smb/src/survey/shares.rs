//! SMB servers, by the driver's own way: whether they take connections, and whether
//! their shares let the user in and may be written to.

use super::{Server, Share, hasty, server};
use crate::client::try_connection;
use crate::login::LoginRefusals;
use crate::target::Target;
use filermark_driver_kit::survey::{MountReport, SURVEY_MAX, Survey, Surveyed, by_host, late};
use filermark_engine::parallel::each_within;
use filermark_model::plan::{MountPoint, SmbPlan};
use filermark_model::survey::{ExportInfo, ServerInfo, ServiceInfo};
use std::net::SocketAddr;

/// Looks at all servers of these mount points. Without a login shares are left alone.
pub(crate) fn look(plan: &SmbPlan, what: &Survey<'_>) -> Surveyed {
    let refusals = LoginRefusals::default();
    let log_in = what.log_in;
    let mut groups = by_host(what.mounts);
    let mut looks = Vec::new();
    // One after another until a server has accepted the user: a wrong password must not
    // be tried on many servers of a domain at once.
    while log_in && !looks.iter().any(|(_, look)| lets_in(look)) && !groups.is_empty() {
        let next = groups.drain(..1).collect();
        looks.extend(at_once(next, plan, log_in, &refusals));
    }
    looks.extend(at_once(groups, plan, log_in, &refusals));
    let mut found = Surveyed::default();
    for (group, look) in looks {
        let info = match look {
            None => late(&group[0].host, "smb"),
            Some(server) => server_info(server, &mut found.reports),
        };
        found.servers.push(info);
    }
    found
}

type ShareChecks = Vec<(Vec<MountPoint>, Option<Server>)>;

fn at_once(
    groups: Vec<Vec<MountPoint>>,
    plan: &SmbPlan,
    log_in: bool,
    refusals: &LoginRefusals,
) -> ShareChecks {
    let (asked, plan, refusals) = (groups.clone(), plan.clone(), refusals.clone());
    let looks = each_within(groups, SURVEY_MAX, move |group: Vec<MountPoint>| {
        let host = group[0].host.clone();
        match log_in {
            true => server(&host, &group, &plan, &refusals),
            false => connection(host, &group[0], &plan),
        }
    });
    asked.into_iter().zip(looks).collect()
}

/// Only whether a server takes connections.
fn connection(host: String, mount: &MountPoint, plan: &SmbPlan) -> Server {
    let plan = hasty(plan);
    let mut found = Server {
        host,
        address: None,
        connected: Err("the name has no address".into()),
        shares: Vec::new(),
    };
    let addresses = match Target::of(mount).and_then(|target| target.addresses(&plan)) {
        Ok(addresses) => addresses,
        Err(e) => {
            found.connected = Err(e.to_string());
            return found;
        }
    };
    for address in addresses {
        let connected = try_connection(address, &plan).map_err(|e| e.to_string());
        if connected.is_ok() || found.address.is_none() {
            found.address = Some(address);
            found.connected = connected;
        }
        if found.connected.is_ok() {
            break;
        }
    }
    found
}

fn lets_in(look: &Option<Server>) -> bool {
    let shares = look.iter().flat_map(|server| &server.shares);
    shares.into_iter().any(|share| share.entered.is_ok())
}

fn server_info(server: Server, reports: &mut Vec<MountReport>) -> ServerInfo {
    let has_address = server.address.is_some();
    let address = server.address.map_or(String::new(), |a| a.to_string());
    let service = ServiceInfo {
        name: if has_address { "smb" } else { "name" }.into(),
        address,
        connected_us: match server.connected {
            Ok(took) => Ok(took.as_micros() as u64),
            Err(why) => Err(without_place(&why, server.address)),
        },
    };
    let export = |share: Share| {
        let (writable, free_bytes) = match share.entered {
            Ok(entered) => {
                let free_bytes = entered.report.space.map(|space| space.free_bytes);
                reports.push(MountReport {
                    mount: share.mount.clone(),
                    is_kept: false,
                    report: entered.report,
                });
                (Ok(entered.writable), free_bytes)
            }
            Err(e) => (Err(e.to_string()), None),
        };
        ExportInfo {
            path: share.mount.path,
            writable,
            free_bytes,
        }
    };
    ServerInfo {
        host: server.host,
        services: vec![service],
        exports: server.shares.into_iter().map(export).collect(),
    }
}

/// A reason without the address, which is shown beside it.
fn without_place(why: &str, address: Option<SocketAddr>) -> String {
    let place = address.map_or(String::new(), |a| format!("cannot connect to {a}: "));
    why.strip_prefix(&place).unwrap_or(why).to_owned()
}
