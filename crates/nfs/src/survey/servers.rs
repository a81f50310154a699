//! NFS servers, by the driver's own way: which services take connections, and whether
//! the exports mount.

use super::{Service, export, hasty, services};
use filermark_driver_kit::driver::ClaimReport;
use filermark_driver_kit::survey::{MountReport, SURVEY_MAX, Survey, Surveyed, by_host, late};
use filermark_engine::parallel::each_within;
use filermark_model::plan::{MountPoint, NfsPlan};
use filermark_model::survey::{ExportInfo, ServerInfo, ServiceInfo};

/// Looks at all servers of these mount points.
pub(crate) fn look(plan: &NfsPlan, what: &Survey<'_>) -> Surveyed {
    let plan = hasty(plan);
    let groups = by_host(what.mounts);
    let asked = groups.clone();
    let looks = each_within(groups, SURVEY_MAX, move |group| server(&group, &plan));
    let mut found = Surveyed::default();
    for (group, look) in asked.into_iter().zip(looks) {
        let Some((look, reports)) = look else {
            found.servers.push(late(&group[0].host, "nfs"));
            continue;
        };
        let reports = reports.into_iter().map(|(mount, report)| MountReport {
            mount,
            is_kept: false,
            report,
        });
        found.reports.extend(reports);
        found.servers.push(look);
    }
    found
}

type ServerReports = Vec<(MountPoint, ClaimReport)>;

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
