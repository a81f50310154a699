//! Reads of a client: the bytes that its operations have read, and what its agent says of
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

/// What an agent says of its reads, as the prime keeps it: under the client's own name, and
/// with the bytes read that its figures have. So nobody adds reads that were not made, or
/// leaves mount points out. What the prime cannot know is what the kernel has counted.
pub fn attributed(
    plan: &RunPlan,
    client: usize,
    stats: &PointStats,
    said: Vec<ClientReads>,
) -> Vec<ClientReads> {
    let name = plan.clients.get(client).map_or("", |c| &c.name);
    let mut unsaid = match plan.driver.facts().host_cache {
        true => read_bytes(plan, client, stats),
        false => BTreeMap::new(),
    };
    let mut all = Vec::with_capacity(said.len());
    for reads in said {
        let mut read = 0u64;
        unsaid.retain(|mount, bytes| {
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
    let why = "the client does not say it";
    let left: Vec<_> = unsaid
        .keys()
        .map(|mount| unread(name, mount, why, &unsaid))
        .collect();
    all.extend(left);
    all
}

/// A mount point of which nothing is known but what operations have read.
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

    /// An agent says that it read much where it read little, and nothing where it read much.
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
        let told = read_bytes(&plan, client, &stats);
        let (a, b) = (told[&mount("/a")], told[&mount("/b")]);
        assert!(a > 0 && b > 0, "{told:?}");
        let said = vec![ClientReads {
            client: "somebody else".into(),
            read_bytes: u64::MAX,
            fetched_bytes: Some(u64::MAX),
            unknown: None,
            ..unread("x", &mount("/a"), "", &BTreeMap::new())
        }];
        let kept = attributed(&plan, client, &stats, said.clone());
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
        // Drivers that speak to servers themselves say nothing of it.
        plan.driver = DriverPlan::NULL;
        assert!(attributed(&plan, client, &stats, Vec::new()).is_empty());
    }
}
