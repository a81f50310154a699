//! Load points and procs of a composite: which proc works where, at which load.

use super::mounts::ClientMount;
use crate::error::SourceLocation;
use crate::hosts::key;
use crate::params::PROCS_MAX;
use crate::reading::Reports;
use filermark_model::OpsPerSec;
use filermark_model::composite::CompositeWork;
use filermark_model::plan::{ClientPlan, LoadPoint, MountPoint, ProcPlan};
use std::collections::{HashMap, HashSet};

/// Load points of so many units each.
pub(crate) fn points(
    reports: &mut Reports,
    units: &[u64],
    work: &CompositeWork,
    unit: &str,
    place: &SourceLocation,
) -> Vec<LoadPoint> {
    let per_unit = u64::from(work.procs_per_unit());
    let largest = units.iter().copied().max().unwrap_or(0);
    let procs = largest.saturating_mul(per_unit);
    if procs > PROCS_MAX {
        reports.refuse(
            place.clone(),
            format!("{largest} {unit}s take {procs} procs, {per_unit} each"),
            format!("{PROCS_MAX} procs are the most: lower the load"),
        );
        return Vec::new();
    }
    let rate = work.ops_per_unit().unwrap_or(0.0);
    let point = |(i, units): (usize, &u64)| {
        let requested = OpsPerSec(*units as f64 * rate);
        LoadPoint {
            number: i as u32 + 1,
            entered: requested,
            requested,
            units: *units as f64,
            proc_count: (*units * per_unit) as u32,
        }
    };
    units.iter().enumerate().map(point).collect()
}

/// The distinct clients in their order, each with its directories, each once; and
/// for every mount the number of its client.
pub(crate) fn clients(mounts: &[ClientMount]) -> (Vec<ClientPlan>, Vec<u32>) {
    let mut clients: Vec<ClientPlan> = Vec::new();
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut seen: HashSet<(u32, &str)> = HashSet::new();
    let mut of_mount = Vec::new();
    for mount in mounts {
        let next = clients.len() as u32;
        let number = *numbers.entry(key(&mount.client)).or_insert(next);
        if number == next {
            clients.push(ClientPlan {
                name: mount.client.clone(),
                mounts: Vec::new(),
            });
        }
        if let Some(client) = clients.get_mut(number as usize)
            && seen.insert((number, &mount.path))
        {
            client.mounts.push(mount_point(&client.name, &mount.path));
        }
        of_mount.push(number);
    }
    (clients, of_mount)
}

/// A directory on a client.
pub(crate) fn mount_point(client: &str, path: &str) -> MountPoint {
    MountPoint {
        host: client.to_owned(),
        path: path.to_owned(),
    }
}

/// All procs of so many units, in the order in which they are added: unit by
/// unit, component by component. The k-th proc of a component works in directory
/// k + (procs of the components before it in a unit), modulo the length of the list, so
/// that the components are spread over the clients evenly.
pub(crate) fn procs(
    units: u64,
    work: &CompositeWork,
    mounts: &[ClientMount],
    clients: &[ClientPlan],
    client_of_mount: &[u32],
) -> Vec<ProcPlan> {
    let mut procs = Vec::new();
    for unit in 0..units {
        let mut offset = 0;
        for (component, c) in work.components.iter().enumerate() {
            let instances = u64::from(c.instances);
            for i in 0..instances {
                let instance = unit * instances + i;
                let at = ((instance + offset) % mounts.len().max(1) as u64) as usize;
                let (Some(mount), Some(client)) = (mounts.get(at), client_of_mount.get(at)) else {
                    return Vec::new();
                };
                let name = clients.get(*client as usize).map_or("", |c| &c.name);
                procs.push(ProcPlan {
                    client: *client,
                    mount: mount_point(name, &mount.path),
                    component: component as u32,
                    instance: instance as u32,
                    ops_per_sec: c.ops_per_proc.map(OpsPerSec),
                });
            }
            offset += instances;
        }
    }
    procs
}

/// Procs on the client that has most of them.
pub(crate) fn most_per_client(procs: &[ProcPlan], clients: usize) -> u32 {
    let mut counts = vec![0u32; clients];
    for proc in procs {
        if let Some(count) = counts.get_mut(proc.client as usize) {
            *count += 1;
        }
    }
    counts.into_iter().max().unwrap_or(0)
}

/// The share of the procs that run on clients with these numbers, from 0 to 1.
pub(crate) fn share_on(procs: &[ProcPlan], is_meant: impl Fn(u32) -> bool) -> f64 {
    let there = procs.iter().filter(|p| is_meant(p.client)).count();
    there as f64 / procs.len().max(1) as f64
}
