//! SMB servers, by the driver's own way: whether they take connections, and whether
//! their shares let the user in and may be written to.

use super::limits::ALL_MAX;
use super::servers::{by_host, late};
use crate::free_space::ClientSpace;
use filermark_link::facts::{ExportInfo, ServerInfo, ServiceInfo};
use filermark_link::parallel::each_within;
use filermark_model::plan::{MountPoint, SmbPlan};
use filermark_smb::client::try_connection;
use filermark_smb::login::LoginRefusals;
use filermark_smb::survey::{Server, Share, hasty, server};
use filermark_smb::target::Target;
use std::net::SocketAddr;

/// Looks at all servers of these mount points; what they have free goes into `seen`.
/// Without `log_in` shares are left alone.
pub(super) fn look(
    mounts: &[MountPoint],
    plan: &SmbPlan,
    log_in: bool,
    host: &str,
    seen: &mut ClientSpace,
) -> Vec<ServerInfo> {
    let refusals = LoginRefusals::default();
    let mut groups = by_host(mounts);
    let mut looks = Vec::new();
    // One after another until somebody has let us in: a password that is wrong is not
    // to be tried by many servers of a domain at once.
    while log_in && !looks.iter().any(|(_, look)| lets_in(look)) && !groups.is_empty() {
        let next = groups.drain(..1).collect();
        looks.extend(at_once(next, plan, log_in, &refusals));
    }
    looks.extend(at_once(groups, plan, log_in, &refusals));
    let mut found = Vec::new();
    for (group, look) in looks {
        match look {
            None => found.push(late(&group, "smb")),
            Some(server) => found.push(server_info(server, host, seen)),
        }
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
    let looks = each_within(groups, ALL_MAX, move |group: Vec<MountPoint>| {
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
        connected: Err("it has no address".into()),
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

fn server_info(server: Server, host: &str, seen: &mut ClientSpace) -> ServerInfo {
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
                seen.add(&share.mount, false, host, &entered.report);
                (
                    Ok(entered.writable),
                    entered.report.space.map(|space| space.free_bytes),
                )
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

/// A reason without the address, which is told beside it.
fn without_place(why: &str, address: Option<SocketAddr>) -> String {
    let place = address.map_or(String::new(), |a| format!("cannot connect to {a}: "));
    why.strip_prefix(&place).unwrap_or(why).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::plan::DriverPlan;
    use std::net::TcpListener;

    #[test]
    fn a_server_is_reached_on_its_port_or_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let share = |host: &str, name: &str| MountPoint {
            host: host.into(),
            path: format!(r"\{name}"),
        };
        let mounts = [
            share("127.0.0.1", "a"),
            share("127.0.0.1", "b"),
            share("no such name.invalid", "a"),
        ];
        let mut plan = filermark_results::testing::smb_plan("geheim");
        plan.port = listener.local_addr().unwrap().port();
        let mut seen = ClientSpace::by(&DriverPlan::Smb(plan.clone()));
        let looks = look(&mounts, &plan, false, "here", &mut seen);
        assert_eq!(looks.len(), 2);
        let there = &looks[0].services[0];
        let name = there.name.as_str();
        assert_eq!((name, there.connected_us.is_ok()), ("smb", true));
        assert!(there.address.ends_with(&format!(":{}", plan.port)));
        assert_eq!(looks[1].services[0].name, "name");
        // Somebody who closes what he took has let nobody in.
        let closes = std::thread::spawn(move || drop(listener.accept()));
        let looks = look(&mounts[..2], &plan, true, "here", &mut seen);
        assert!(looks[0].exports.iter().all(|e| e.writable.is_err()));
        closes.join().unwrap();
        let looks = look(&mounts[..1], &plan, true, "here", &mut seen);
        assert!(looks[0].services[0].connected_us.is_err());
    }
}
