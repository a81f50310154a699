//! The synthetic file system of the composites' records: what its clients measure.

use filermark_model::composite::Component;
use filermark_model::plan::{LoadPoint, ProcPlan, RunPlan};
use filermark_model::stats::{
    ComponentStats, Interval, OpStats, PointStats, ProcOp, ProcOps, ProcStats,
};
use filermark_model::{Nanos, Op, Rng};

/// RUN, in seconds.
pub(super) const RUN_SECONDS: u64 = 30;
/// WARMUP, in seconds.
pub(super) const WARMUP_SECONDS: u64 = 10;
/// The rate at which it is saturated, in op/s.
const CAPACITY: f64 = 1_250.0;

/// The cost of an operation relative to STAT.
fn weight(op: Op) -> f64 {
    match op {
        Op::ReadFile | Op::Read | Op::ReadRandom => 6.0,
        Op::WriteFile | Op::Write | Op::Rmw => 14.0,
        Op::Mkdir | Op::Create | Op::Unlink => 8.0,
        Op::Readdir => 3.0,
        _ => 1.0,
    }
}

/// Bytes read and written by one operation of a component.
fn moved(component: &Component, op: Op, rng: &mut Rng) -> (u64, u64) {
    let transfers = &component.workload.read_transfers;
    let mut draw = || u64::from(transfers.draw(rng));
    match op {
        Op::ReadFile => (component.file_bytes, 0),
        Op::WriteFile => (0, component.file_bytes),
        Op::Read | Op::ReadRandom => (draw(), 0),
        Op::Write => (0, draw()),
        Op::Rmw => {
            let n = draw();
            (n, n)
        }
        _ => (0, 0),
    }
}

fn op_of(ops: &mut Vec<OpStats>, op: Op) -> &mut OpStats {
    let at = match ops.binary_search_by_key(&op, |o| o.op) {
        Ok(at) => at,
        Err(at) => {
            ops.insert(at, OpStats::new(op));
            at
        }
    };
    &mut ops[at]
}

/// Adds an operation to a proc's own figures.
fn count(ops: &mut Vec<ProcOp>, op: Op, (read, written): (u64, u64), service_ns: u64) {
    let at = match ops.binary_search_by_key(&op, |o| o.op) {
        Ok(at) => at,
        Err(at) => {
            let none = ProcOp {
                op,
                success_count: 0,
                error_count: 0,
                read_bytes: 0,
                written_bytes: 0,
                service_sum_ns: 0,
            };
            ops.insert(at, none);
            at
        }
    };
    ops[at].success_count += 1;
    ops[at].read_bytes += read;
    ops[at].written_bytes += written;
    ops[at].service_sum_ns += service_ns;
}

/// What one client measured at a load point of the synthetic file system.
pub(super) fn simulate(plan: &RunPlan, load: LoadPoint, client: u32) -> PointStats {
    let procs = plan.procs[..load.proc_count as usize].iter().enumerate();
    let busy = (load.requested.0 / CAPACITY).min(0.98);
    let over = (load.requested.0 / CAPACITY).max(1.0);
    let mut stats = PointStats {
        window_ns: RUN_SECONDS * 1_000_000_000 + 600_000,
        shard_count: procs.len() as u32 / plan.clients.len() as u32,
        generator_cpu_ns: 3_000_000_000,
        transfer_bytes: (1 << 20, 1 << 20),
        intervals: (-(WARMUP_SECONDS as i64)..RUN_SECONDS as i64)
            .map(|second| Interval {
                second,
                ..Interval::default()
            })
            .collect(),
        ..PointStats::default()
    };
    for (number, proc) in procs.filter(|(_, p)| p.client == client) {
        one_proc(plan, proc, number as u32, (busy, over), &mut stats);
    }
    for component in stats.components.clone() {
        stats.merge(&PointStats {
            ops: component.ops,
            ..PointStats::default()
        });
    }
    let set = plan.data_set(load);
    stats.fileset_bytes = set.start_bytes / plan.clients.len() as u64;
    stats.accessed_base_bytes = stats.fileset_bytes;
    stats.accessed_end_bytes = stats.fileset_bytes;
    stats.counters.insert("opens".into(), 17);
    stats
}

fn one_proc(
    plan: &RunPlan,
    proc: &ProcPlan,
    number: u32,
    (busy, over): (f64, f64),
    stats: &mut PointStats,
) {
    let component =
        &plan.benchmark.composite().expect("a composite").components[proc.component as usize];
    let mut rng = Rng::new(plan.seed, u64::from(number) + 1_000);
    let wanted = proc.ops_per_sec.map_or(200.0, |r| r.0);
    let rate = wanted / over * (0.9995 + 0.001 * rng.unit());
    let mut total = ProcStats {
        proc: number,
        wanted_count: (wanted * RUN_SECONDS as f64) as u64,
        ..ProcStats::default()
    };
    let known = |c: &ComponentStats| c.component;
    let at = match stats
        .components
        .binary_search_by_key(&proc.component, known)
    {
        Ok(at) => at,
        Err(at) => {
            let new = ComponentStats {
                component: proc.component,
                ..ComponentStats::default()
            };
            stats.components.insert(at, new);
            at
        }
    };
    stats.components[at].proc_count += 1;
    stats.components[at].wanted_count += total.wanted_count;
    let mut ops = Vec::new();
    let sampler = component.workload.mix.sampler();
    for i in 0..(rate * (WARMUP_SECONDS + RUN_SECONDS) as f64) as u64 {
        let op = sampler.draw(&mut rng);
        let tail = 1.0 / (1.0 - 0.99 * rng.unit());
        let base_us = 24.0 * (1.0 + 0.5 * busy / (1.0 - busy));
        let service_ns = (base_us * weight(op) * (0.6 + 0.2 * tail) * over * 1e3) as u64;
        let (read, written) = moved(component, op, &mut rng);
        let late_ns = 9_000 + rng.below(20_000);
        let Some(interval) = stats.intervals.get_mut((i as f64 / rate) as usize) else {
            continue;
        };
        interval.success_count += 1;
        interval.service_sum_ns += service_ns;
        interval.read_bytes += read;
        interval.written_bytes += written;
        interval.response_max_ns = interval.response_max_ns.max(service_ns + late_ns);
        interval.service_log2_us[Interval::log2_slot(service_ns)] += 1;
        if interval.second < 0 {
            continue;
        }
        count(&mut ops, op, (read, written), service_ns);
        let entry = op_of(&mut stats.components[at].ops, op);
        entry.success_count += 1;
        entry.physical_count += 1;
        entry.read_bytes += read;
        entry.written_bytes += written;
        entry.service.record(Nanos(service_ns));
        entry.response.record(Nanos(service_ns + late_ns));
        stats.wakeup.record(Nanos(late_ns));
        stats.lateness.record(Nanos(late_ns));
        total.success_count += 1;
        total.service_sum_ns += service_ns;
        total.service_max_ns = total.service_max_ns.max(service_ns);
    }
    let accesses = [("data_0/5/f1", 7), ("data_0/0/f<0>\u{1b}", 12)];
    let own = ProcOps {
        proc: number,
        data_bytes: component.start_bytes(),
        dir_count: u64::from(component.dir_count) * 25,
        file_count: component.files_per_proc(),
        ops,
        accesses: accesses
            .map(|(path, n)| (format!("CL{number}_{path}"), n))
            .to_vec(),
    };
    stats.proc_ops.push(own);
    stats.procs.push(total);
}
