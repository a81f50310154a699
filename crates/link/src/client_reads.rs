//! Reads of a client: the bytes that its operations have read, and what its agent reports about
//! them.

use filermark_model::client_reads::{ClientReads, ReadCounter};
use filermark_model::plan::MountPoint;
use filermark_model::{PointStats, RunPlan};
use std::collections::BTreeMap;

/// Bytes that a client's operations have read below each of its mount points.
pub fn read_bytes(plan: &RunPlan, client: usize, stats: &PointStats) -> BTreeMap<MountPoint, u64> {
    let procs: BTreeMap<u32, MountPoint> = plan.procs_of(client).into_iter().collect();
    let mut bytes: BTreeMap<MountPoint, u64> = BTreeMap::new();
    for proc in &stats.proc_ops {
        if let Some(mount) = procs.get(&proc.proc) {
            let sum = bytes.entry(mount.clone()).or_default();
            for op in &proc.ops {
                *sum = sum.saturating_add(op.read_bytes);
            }
        }
    }
    bytes
}

/// The report of an agent about its reads, as the prime records it: with the client's own name,
/// and with the bytes read from its figures. So no client can add reads that were not made, or
/// omit mount points. The counts of the kernel cannot be verified.
pub fn attributed(
    plan: &RunPlan,
    client: usize,
    stats: &PointStats,
    reported: Vec<ClientReads>,
) -> Vec<ClientReads> {
    let name = plan.clients.get(client).map_or("", |c| &c.name);
    let mut missing = match plan.driver.facts().host_cache {
        true => read_bytes(plan, client, stats),
        false => BTreeMap::new(),
    };
    let mut all = Vec::with_capacity(reported.len());
    for reads in reported {
        let mut read = 0u64;
        missing.retain(|mount, bytes| {
            let is_its = reads.mounts.contains(&mount.to_string());
            if is_its {
                read = read.saturating_add(*bytes);
            }
            !is_its
        });
        all.push(ClientReads {
            client: name.to_owned(),
            read_bytes: read,
            ..reads
        });
    }
    let why = "the client did not report it";
    let left: Vec<_> = missing
        .keys()
        .map(|mount| unread(name, mount, why, &missing))
        .collect();
    all.extend(left);
    all
}

/// A mount point about which only the bytes read by operations are known.
pub fn unread(
    client: &str,
    mount: &MountPoint,
    why: &str,
    read_bytes: &BTreeMap<MountPoint, u64>,
) -> ClientReads {
    ClientReads {
        client: client.to_owned(),
        mounts: vec![mount.to_string()],
        file_system: "mounted".to_owned(),
        counter: ReadCounter::Unknown,
        read_bytes: read_bytes.get(mount).copied().unwrap_or(0),
        fetched_bytes: None,
        source: String::new(),
        unknown: Some(why.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::plan::DriverPlan;

    fn mount(path: &str) -> MountPoint {
        MountPoint {
            host: "localhost".into(),
            path: path.into(),
        }
    }

    /// An agent reports many bytes read where it read few, and none where it read many.
    #[test]
    fn the_bytes_read_are_those_of_the_figures() {
        let record = filermark_results::testing::composite::composite_record();
        let mut plan = record.run.plan.clone();
        plan.driver = DriverPlan::Posix(filermark_model::plan::PosixPlan::default());
        let client = plan.procs[0].client as usize;
        plan.clients[client].mounts = vec![mount("/a"), mount("/b")];
        for (number, proc) in plan.procs.iter_mut().enumerate() {
            proc.mount = mount(if number == 0 { "/a" } else { "/b" });
        }
        let stats = record.points[0].measured().expect("figures").clone();
        let from_figures = read_bytes(&plan, client, &stats);
        let (a, b) = (from_figures[&mount("/a")], from_figures[&mount("/b")]);
        assert!(a > 0 && b > 0, "{from_figures:?}");
        let reported = vec![ClientReads {
            client: "another client".into(),
            read_bytes: u64::MAX,
            fetched_bytes: Some(u64::MAX),
            unknown: None,
            ..unread("x", &mount("/a"), "", &BTreeMap::new())
        }];
        let kept = attributed(&plan, client, &stats, reported.clone());
        let kept: Vec<_> = kept
            .iter()
            .map(|r| {
                (
                    r.client == plan.clients[client].name,
                    &r.mounts[0],
                    r.read_bytes,
                    r.fetched_bytes,
                )
            })
            .collect();
        let names = [mount("/a"), mount("/b")].map(|mount| mount.to_string());
        assert_eq!(
            kept,
            [
                (true, &names[0], a, Some(u64::MAX)),
                (true, &names[1], b, None)
            ]
        );
        // Drivers that implement the protocol report nothing about it.
        plan.driver = DriverPlan::NULL;
        assert!(attributed(&plan, client, &stats, Vec::new()).is_empty());
    }
}
