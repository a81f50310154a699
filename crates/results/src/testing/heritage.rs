//! A synthetic record modelled on an older generation: NFSv2 over UDP, with the limit of 50 ms.
//! Its server gets slower with the load and passes the limit between two load points.

use super::{plan as nfs_plan, record as nfs_record};
use crate::judge::judge;
use crate::record::{ClientSummary, PointRecord, PointStatus, RunHeader, RunRecord};
use filermark_model::benchmark::Benchmark;
use filermark_model::plan::{DriverPlan, LoadPoint, NfsVersion, RunPlan, Transport};
use filermark_model::stats::{PointStats, ProcStats};
use filermark_model::{Nanos, OpsPerSec, Rng};

/// Requested rate and mean service time in milliseconds of each load point.
pub const CURVE: [(f64, f64); 10] = [
    (100.0, 2.0),
    (200.0, 2.4),
    (300.0, 3.0),
    (400.0, 3.8),
    (500.0, 5.0),
    (600.0, 7.0),
    (700.0, 11.0),
    (800.0, 19.0),
    (900.0, 38.0),
    (1000.0, 74.0),
];
/// RUN, in seconds.
const SECONDS: u64 = 30;

/// The record: of `nfs2-1993`, over UDP. The classical result is between its last two
/// load points; the very last is invalid by the response limit alone.
pub fn heritage_record() -> RunRecord {
    let plan = plan();
    let nfs = nfs_record();
    let mut record = RunRecord::new(RunHeader::new(
        env!("CARGO_PKG_VERSION"),
        "old",
        plan.clone(),
    ));
    record.run.started = nfs.run.started;
    record.environments = nfs.environments.clone();
    record.end = nfs.end.clone().map(|mut end| {
        end.findings.clear();
        end
    });
    record.points = plan
        .points
        .iter()
        .zip(&nfs.points)
        .zip(CURVE)
        .map(|((load, like), (_, mean_ms))| point(&plan, *load, like, mean_ms))
        .collect();
    record
}

fn plan() -> RunPlan {
    let mut plan = nfs_plan();
    plan.benchmark = Benchmark::shipped("nfs2-1993").expect("a shipped definition reads");
    plan.limits.response_ms = plan.benchmark.standard.response_limit_ms;
    plan.findings.clear();
    for client in plan.clients.iter_mut().zip(["client-a", "client-b"]) {
        client.0.name = client.1.into();
    }
    plan.parameters = [
        ("BENCHMARK", "nfs2-1993"),
        ("LOAD", "100"),
        ("INCR_LOAD", "100"),
        ("NUM_RUNS", "10"),
        ("PROCS", "10"),
        ("NFS_TRANSPORT", "udp"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    if let DriverPlan::Nfs(nfs) = &mut plan.driver {
        nfs.version = NfsVersion::V2;
        nfs.transport = Transport::Udp;
    }
    plan.points = (1u32..)
        .zip(CURVE)
        .map(|(number, (rate, _))| LoadPoint {
            number,
            entered: OpsPerSec(rate),
            requested: OpsPerSec(rate),
            units: 0.0,
            proc_count: 0,
        })
        .collect();
    plan
}

fn point(plan: &RunPlan, load: LoadPoint, like: &PointRecord, mean_ms: f64) -> PointRecord {
    let stats = stats(plan, load, mean_ms);
    let clients = (1u32..).zip(&plan.clients);
    PointRecord {
        load,
        began: like.began,
        ended: like.ended,
        status: PointStatus::Measured,
        clients: clients
            .map(|(number, c)| ClientSummary::of(number, &c.name, &part_of(plan, &stats, number)))
            .collect(),
        warmup: None,
        start: None,
        stalls: Vec::new(),
        client_reads: Vec::new(),
        findings: judge(&stats, load, plan, 8),
        stats: Some(stats),
    }
}

/// One client's procs.
fn part_of(plan: &RunPlan, whole: &PointStats, client: u32) -> PointStats {
    let mut part = whole.clone();
    let own = |p: &ProcStats| p.proc / plan.procs_per_client + 1 == client;
    part.procs.retain(own);
    part
}

fn stats(plan: &RunPlan, load: LoadPoint, mean_ms: f64) -> PointStats {
    let total = (load.requested.0 * 0.995 * SECONDS as f64) as u64;
    let mut rng = Rng::new(plan.seed, u64::from(load.number));
    let mut stats = PointStats {
        window_ns: SECONDS * 1_000_000_000,
        shard_count: 2,
        generator_cpu_ns: SECONDS * 200_000_000,
        transfer_bytes: (8_192, 8_192),
        ..PointStats::default()
    };
    for (op, percent) in plan.benchmark.mix.shares() {
        let count = (total as f64 * percent / 100.0).round() as u64;
        let entry = stats.op_mut(*op);
        (entry.success_count, entry.physical_count) = (count, count);
        for _ in 0..count {
            // Evenly from half to one and a half of the mean.
            let ns = mean_ms * 1e6 * (0.5 + rng.unit());
            entry.service.record(Nanos(ns as u64));
            entry.response.record(Nanos(ns as u64 + 20_000));
        }
    }
    let count = stats.success_count();
    for _ in 0..count {
        stats.wakeup.record(Nanos::from_micros(20));
        stats.lateness.record(Nanos::from_micros(20));
    }
    let procs = u64::from(plan.proc_count());
    stats.procs = (0..plan.proc_count())
        .map(|proc| ProcStats {
            proc,
            success_count: count / procs,
            wanted_count: total / procs,
            service_sum_ns: (mean_ms * 1e6) as u64 * (count / procs),
            service_max_ns: (mean_ms * 1.5e6) as u64,
            error_count: 0,
        })
        .collect();
    let mib = 1u64 << 20;
    stats.fileset_bytes = load.requested.0 as u64 * 5 * mib;
    stats.accessed_base_bytes = stats.fileset_bytes / 5;
    stats.accessed_end_bytes = stats.accessed_base_bytes;
    stats
        .counters
        .insert("retransmits".into(), u64::from(load.number / 8) * 3);
    stats.counters.retain(|_, n| *n > 0);
    stats
}
