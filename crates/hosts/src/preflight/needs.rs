//! The requirements of a plan on each client: memory, open files, threads. Pure arithmetic.

use filermark_model::memory;
use filermark_model::plan::{Connections, Target};
use filermark_model::{LoadPoint, RunPlan};
use std::collections::BTreeSet;

/// Descriptors of an agent besides its connections: streams, logs, event queues.
const OWN_FILES: u64 = 64;
/// Descriptors of each load-generating thread of the drivers that use the network.
const FILES_PER_SHARD: u64 = 4;
/// Threads of an agent besides those that generate load.
const OWN_THREADS: u64 = 16;

/// The requirements on one client at the largest load point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Needs {
    /// Procs that generate load.
    pub proc_count: u64,
    /// Open files without which it does not work.
    pub open_files_min: u64,
    /// Open files with which it works best.
    pub open_files_best: u64,
    /// Threads.
    pub thread_count: u64,
    /// Memory of the program, in bytes.
    pub own_memory_bytes: u64,
    /// Memory that the benchmark's definition requires, page cache included, in bytes; 0: it
    /// has no figure.
    pub advised_memory_bytes: u64,
    /// Most operations that a proc of the plan keeps under way.
    pub depth: u32,
}

/// For each client of a plan; `core_count` returns its number of processors.
pub(super) fn of_clients(plan: &RunPlan, core_count: impl Fn(usize) -> u32) -> Vec<Needs> {
    let procs = proc_counts(plan);
    let advised = advised_memory(plan);
    let own = own_memory(plan, &procs);
    let of = |(client, proc_count): (usize, &u64)| {
        let shards = u64::from(plan.shards.unwrap_or(core_count(client).max(2)));
        let (open_files_min, open_files_best) = open_files(plan, client, *proc_count, shards);
        Needs {
            proc_count: *proc_count,
            open_files_min,
            open_files_best,
            thread_count: threads(plan, *proc_count, shards),
            own_memory_bytes: own[client],
            advised_memory_bytes: advised[client],
            depth: depth(plan),
        }
    };
    procs.iter().enumerate().map(of).collect()
}

fn depth(plan: &RunPlan) -> u32 {
    let work = plan.benchmark.composite();
    let components = work.iter().flat_map(|work| &work.components);
    let depths = components.map(|c| c.workload.attributes.depth);
    depths.max().unwrap_or(1)
}

fn largest(plan: &RunPlan) -> Option<&LoadPoint> {
    plan.points.iter().max_by_key(|p| plan.proc_count_at(**p))
}

fn proc_counts(plan: &RunPlan) -> Vec<u64> {
    if plan.procs.is_empty() {
        return vec![u64::from(plan.procs_per_client); plan.clients.len()];
    }
    let mut counts = vec![0; plan.clients.len()];
    let most = largest(plan).map_or(plan.procs.len(), |p| plan.proc_count_at(*p) as usize);
    for proc in plan.procs.iter().take(most) {
        if let Some(count) = counts.get_mut(proc.client as usize) {
            *count += 1;
        }
    }
    counts
}

/// The memory per unit of load is distributed over the clients like the procs.
fn advised_memory(plan: &RunPlan) -> Vec<u64> {
    let Some(work) = plan.benchmark.composite() else {
        return vec![0; plan.clients.len()];
    };
    let mib_per_proc = work.client_mem_mib_per_unit / f64::from(work.procs_per_unit().max(1));
    let bytes = |procs: &u64| (*procs as f64 * mib_per_proc * (1u64 << 20) as f64) as u64;
    proc_counts(plan).iter().map(bytes).collect()
}

fn own_memory(plan: &RunPlan, procs: &[u64]) -> Vec<u64> {
    let Some(work) = plan.benchmark.composite() else {
        let files = plan
            .points
            .iter()
            .map(|p| plan.io_file_count(p.requested))
            .max();
        let share = files.unwrap_or(0) / (procs.len() as u64).max(1);
        let of = |procs: &u64| {
            memory::CLIENT_BYTES
                .saturating_add(share.saturating_mul(memory::CLASSIC_FILE_BYTES))
                .saturating_add(procs.saturating_mul(memory::CLASSIC_PROC_BYTES))
        };
        return procs.iter().map(of).collect();
    };
    let mut own = vec![memory::CLIENT_BYTES; procs.len()];
    for proc in &plan.procs {
        let component = work.components.get(proc.component as usize);
        let buffer = component.map_or(0, |c| c.workload.buffer_bytes());
        if let Some(bytes) = own.get_mut(proc.client as usize) {
            *bytes = bytes.saturating_add(memory::COMPOSITE_PROC_BYTES + buffer);
        }
    }
    own
}

fn open_files(plan: &RunPlan, client: usize, procs: u64, shards: u64) -> (u64, u64) {
    let facts = plan.driver.facts();
    match facts.target {
        Target::Mounted => {
            let of = |per_proc| {
                (facts.open_files_reserved).saturating_add(procs.saturating_mul(per_proc))
            };
            let (min, best) = facts.open_files_per_proc;
            (of(min), of(best))
        }
        Target::Server => {
            let connections = match facts.connections {
                None | Some(Connections::PerProc) => procs,
                Some(Connections::Shared(n)) => {
                    let mounts = plan.clients.get(client).map_or(&[][..], |c| &c.mounts[..]);
                    let servers: BTreeSet<&str> = mounts.iter().map(|m| m.host.as_str()).collect();
                    // Each shard has its share, at least one.
                    (u64::from(n).max(shards)).saturating_mul(servers.len() as u64)
                }
            };
            let connections = connections.saturating_mul(u64::from(facts.nconnect.max(1)));
            let need = OWN_FILES + shards.saturating_mul(FILES_PER_SHARD) + connections;
            (need, need)
        }
        Target::Nothing => (OWN_FILES, OWN_FILES),
    }
}

fn threads(plan: &RunPlan, procs: u64, shards: u64) -> u64 {
    let load = match plan.driver.facts().blocks {
        true => procs,
        false => shards,
    };
    load.saturating_add(OWN_THREADS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::plan::{DriverPlan, PosixPlan};
    use filermark_results::testing::composite::composite_record;

    #[test]
    fn the_needs_of_a_composite_follow_its_procs() {
        let mut plan = composite_record().run.plan;
        plan.driver = DriverPlan::Posix(PosixPlan::default());
        let work = plan.benchmark.composite().expect("a composite").clone();
        let needs = of_clients(&plan, |_| 4);
        assert_eq!(needs.len(), plan.clients.len());
        let procs: u64 = needs.iter().map(|n| n.proc_count).sum();
        let most = plan.points.iter().map(|p| plan.proc_count_at(*p)).max();
        assert_eq!(procs, u64::from(most.unwrap()));
        let units = procs as f64 / f64::from(work.procs_per_unit());
        let wanted = units * work.client_mem_mib_per_unit * 1_048_576.0;
        let advised: u64 = needs.iter().map(|n| n.advised_memory_bytes).sum();
        assert!(advised.abs_diff(wanted as u64) < 4096, "{advised} {wanted}");
        for need in needs {
            assert!(need.open_files_min > need.proc_count * 10);
            assert!(need.open_files_best > need.open_files_min);
            assert!(need.thread_count > need.proc_count);
            assert!(need.own_memory_bytes > memory::CLIENT_BYTES);
            assert_eq!(need.depth, 1);
        }
    }

    /// Each operation under way has a buffer.
    #[test]
    fn a_depth_needs_memory() {
        let mut plan = filermark_results::testing::composite::composite_record()
            .run
            .plan;
        let one = of_clients(&plan, |_| 8)[0];
        if let filermark_model::benchmark::Work::Composite(work) = &mut plan.benchmark.work {
            for component in &mut work.components {
                component.workload.attributes.depth = 32;
            }
        }
        let many = of_clients(&plan, |_| 8)[0];
        assert_eq!(many.depth, 32);
        let more = many.own_memory_bytes - one.own_memory_bytes;
        let least = one.proc_count * 31 * 4096;
        assert!(more > least, "{more} {least}");
    }

    #[test]
    fn a_classical_plan_needs_a_connection_per_proc() {
        let mut plan = filermark_results::testing::plan();
        let of = |plan: &RunPlan| of_clients(plan, |_| 8)[0];
        let per_proc = of(&plan);
        assert!(per_proc.open_files_min >= OWN_FILES + u64::from(plan.procs_per_client));
        assert_eq!(per_proc.advised_memory_bytes, 0);
        if let DriverPlan::Nfs(nfs) = &mut plan.driver {
            nfs.connections = Connections::Shared(2);
        }
        plan.procs_per_client = 50_000;
        let shared = of(&plan);
        assert!(shared.open_files_min < 1000, "{shared:?}");
        assert!(shared.own_memory_bytes > per_proc.own_memory_bytes);
        assert!(shared.thread_count < 100);
    }
}
