//! NFS servers, by the driver's own way: which services take connections, and whether
//! the exports mount.

use super::limits::ALL_MAX;
use crate::free_space::ClientSpace;
use filermark_link::facts::{ExportInfo, ServerInfo, ServiceInfo};
use filermark_link::parallel::each_within;
use filermark_model::plan::{MountPoint, NfsPlan};
use filermark_nfs::survey::{Service, export, hasty, services};

/// Looks at all servers of these mount points; what they have free goes into `seen`.
pub(super) fn look(
    mounts: &[MountPoint],
    plan: &NfsPlan,
    host: &str,
    seen: &mut ClientSpace,
) -> Vec<ServerInfo> {
    let plan = hasty(plan);
    let groups = by_host(mounts);
    let asked = groups.clone();
    let looks = each_within(groups, ALL_MAX, move |group| server(&group, &plan));
    let mut found = Vec::new();
    for (group, look) in asked.into_iter().zip(looks) {
        let Some((look, reports)) = look else {
            found.push(late(&group, "nfs"));
            continue;
        };
        for (mount, report) in reports {
            seen.add(&mount, false, host, &report);
        }
        found.push(look);
    }
    found
}

/// The mount points of each server; none of the groups is empty.
pub(super) fn by_host(mounts: &[MountPoint]) -> Vec<Vec<MountPoint>> {
    let mut groups: Vec<Vec<MountPoint>> = Vec::new();
    for mount in mounts {
        match groups.iter_mut().find(|g| g[0].host == mount.host) {
            Some(group) => group.push(mount.clone()),
            None => groups.push(vec![mount.clone()]),
        }
    }
    groups
}

type ServerReports = Vec<(MountPoint, filermark_driver_kit::driver::ClaimReport)>;

fn server(group: &[MountPoint], plan: &NfsPlan) -> (ServerInfo, ServerReports) {
    let mut look = ServerInfo {
        host: group[0].host.clone(),
        services: Vec::new(),
        exports: Vec::new(),
    };
    let mut reports = Vec::new();
    match services(&group[0], plan) {
        Ok(services) => look.services = services.into_iter().map(service).collect(),
        Err(e) => look.services.push(ServiceInfo {
            name: "name".into(),
            address: String::new(),
            connected_us: Err(e.to_string()),
        }),
    }
    // What does not even take connections would cost a time-out per export.
    if look.services.iter().any(|s| s.connected_us.is_err()) {
        return (look, reports);
    }
    for mount in group {
        let (writable, free_bytes) = match export(mount, plan) {
            Ok((writable, report)) => {
                let free_bytes = report.space.map(|space| space.free_bytes);
                reports.push((mount.clone(), report));
                (Ok(writable), free_bytes)
            }
            Err(e) => (Err(e.to_string()), None),
        };
        look.exports.push(ExportInfo {
            path: mount.path.clone(),
            writable,
            free_bytes,
        });
    }
    (look, reports)
}

fn service(service: Service) -> ServiceInfo {
    ServiceInfo {
        name: service.name.into(),
        address: service.address.map_or(String::new(), |a| a.to_string()),
        connected_us: service.connected.map(|took| took.as_micros() as u64),
    }
}

/// A server that took too long.
pub(super) fn late(group: &[MountPoint], service: &str) -> ServerInfo {
    ServerInfo {
        host: group[0].host.clone(),
        services: vec![ServiceInfo {
            name: service.into(),
            address: String::new(),
            connected_us: Err(format!(
                "{} did not answer all questions within {} s",
                group[0].host,
                ALL_MAX.as_secs()
            )),
        }],
        exports: Vec::new(),
    }
}
