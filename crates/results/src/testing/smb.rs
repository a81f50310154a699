//! A synthetic record over SMB: one load point with the figures of the seed's sample
//! (manual M, section 4.4), typed from the manual, so that the classical files can be
//! compared with it.

use super::{plan as nfs_plan, record as nfs_record};
use crate::judge::judge;
use crate::record::{ClientSummary, PointRecord, PointStatus, RunHeader, RunRecord};
use filermark_model::benchmark::{Benchmark, Protocol};
use filermark_model::plan::{
    ClientPlan, Connections, DriverPlan, IpChoice, LoadPoint, MountPoint, RunPlan,
};
use filermark_model::smb::{Auth, Dialect, Encryption, Signing, SmbPlan};
use filermark_model::stats::{PointStats, ProcStats};
use filermark_model::{Nanos, Op, OpsPerSec, Secret};

/// By operation, in the sample's order: logical count, physical count, mean and standard
/// deviation of the response time in milliseconds.
pub const SAMPLE: [(Op, u64, u64, f64, f64); 13] = [
    (Op::Echo, 4_482, 4_482, 0.62, 0.98),
    (Op::Lock, 9_811, 9_811, 0.93, 2.12),
    (Op::QuerySecurity, 14_435, 14_435, 1.34, 1.54),
    (Op::Read, 184_659, 199_307, 39.71, 74.05),
    (Op::QueryFs, 14_309, 14_309, 2.77, 2.68),
    (Op::QueryFile, 115_989, 115_989, 0.63, 0.99),
    (Op::QueryPath, 193_547, 193_547, 0.65, 1.20),
    (Op::SetFile, 29_140, 29_140, 0.64, 1.84),
    (Op::Find, 77_822, 77_822, 0.74, 2.20),
    (Op::Write, 77_679, 83_248, 14.13, 42.83),
    (Op::Open, 87_712, 87_712, 14.98, 50.84),
    (Op::Close, 87_713, 87_713, 0.73, 1.15),
    (Op::Flush, 4_463, 4_463, 0.59, 0.92),
];

/// The sample's sweep: requested and achieved op/s, mean response time in milliseconds,
/// operations, seconds.
pub const SWEEP: [(f64, f64, f64, u64, u64); 10] = [
    (320.0, 321.0, 1.5, 96_187, 299),
    (640.0, 640.0, 1.8, 192_114, 300),
    (960.0, 962.0, 2.1, 288_236, 299),
    (1280.0, 1283.0, 2.3, 384_644, 299),
    (1600.0, 1605.0, 2.5, 480_411, 299),
    (1920.0, 1924.0, 3.1, 576_595, 299),
    (2240.0, 2241.0, 4.0, 672_385, 300),
    (2560.0, 2571.0, 5.8, 768_874, 299),
    (2880.0, 2894.0, 8.9, 865_936, 299),
    (3200.0, 3011.0, 11.3, 901_761, 299),
];

/// Procs per client, of which there are four.
const PROCS: u32 = 10;
const CLIENTS: u32 = 4;
const MB: f64 = 1_048_576.0;

/// The record, over SMB1 or over SMB 2 and 3.
pub fn smb_record(protocol: Protocol) -> RunRecord {
    let plan = plan(protocol);
    let load = plan.points[0];
    let stats = stats();
    let mut record = RunRecord::new(RunHeader::new(
        env!("CARGO_PKG_VERSION"),
        "smb",
        plan.clone(),
    ));
    let nfs = nfs_record();
    record.run.started = nfs.run.started;
    record.environments = nfs.environments.clone();
    record.end = nfs.end.clone().map(|mut end| {
        end.findings.clear();
        end
    });
    let clients = (1..=CLIENTS).zip(&plan.clients);
    let mut part = stats.clone();
    part.procs.truncate(PROCS as usize);
    record.points = vec![PointRecord {
        load,
        began: nfs.points[0].began,
        ended: nfs.points[0].ended,
        status: PointStatus::Measured,
        clients: clients
            .map(|(number, c)| ClientSummary::of(number, &c.name, &part))
            .collect(),
        warmup: None,
        start: None,
        stalls: Vec::new(),
        client_reads: Vec::new(),
        findings: judge(&stats, load, &plan, 8),
        stats: Some(stats),
    }];
    record
}

/// The sample's whole sweep, its load points judged by the rules; `change` may change the
/// plan and the last load point before that.
pub fn sweep_record(change: impl FnOnce(&mut RunPlan, &mut PointStats)) -> RunRecord {
    let mut record = smb_record(Protocol::Smb1);
    let like = record.points[0].clone();
    let mut plan = record.run.plan.clone();
    let mut all: Vec<PointStats> = SWEEP.map(|row| sweep_stats(&plan, row)).to_vec();
    if let Some(last) = all.last_mut() {
        change(&mut plan, last);
    }
    plan.points = (1u32..)
        .zip(SWEEP)
        .map(|(number, (requested, ..))| LoadPoint {
            number,
            entered: OpsPerSec(requested),
            requested: OpsPerSec(requested),
            ..like.load
        })
        .collect();
    record.points = plan
        .points
        .iter()
        .zip(all)
        .map(|(load, stats)| PointRecord {
            load: *load,
            findings: judge(&stats, *load, &plan, 8),
            stats: Some(stats),
            ..like.clone()
        })
        .collect();
    record.run = RunHeader {
        started: record.run.started,
        ..RunHeader::new(env!("CARGO_PKG_VERSION"), "smb", plan)
    };
    record
}

/// A row of the sweep: the planned mix, every operation as slow as the mean.
fn sweep_stats(
    plan: &RunPlan,
    (requested, achieved, mean_ms, total, seconds): (f64, f64, f64, u64, u64),
) -> PointStats {
    let mut stats = PointStats {
        window_ns: (total as f64 / achieved * 1e9) as u64,
        shard_count: 8,
        generator_cpu_ns: seconds * 70_000_000,
        ..PointStats::default()
    };
    for (op, percent) in plan.benchmark.mix.shares() {
        let entry = stats.op_mut(*op);
        let count = (total as f64 * percent / 100.0).round() as u64;
        (entry.success_count, entry.physical_count) = (count, count);
        // Two are enough for a mean.
        for _ in 0..2 {
            entry.service.record(Nanos((mean_ms * 1e6) as u64));
            entry
                .response
                .record(Nanos((mean_ms * 1e6) as u64 + 30_000));
        }
    }
    let procs = PROCS * CLIENTS;
    let wanted = requested * stats.window_ns as f64 / 1e9;
    stats.procs = (0..procs)
        .map(|proc| ProcStats {
            proc,
            success_count: total / u64::from(procs),
            wanted_count: (wanted / f64::from(procs)) as u64,
            service_sum_ns: (mean_ms * 1e6) as u64 * total / u64::from(procs),
            service_max_ns: (mean_ms * 1e6) as u64,
            error_count: 0,
        })
        .collect();
    stats
}

fn plan(protocol: Protocol) -> RunPlan {
    let (name, dialects) = match protocol {
        Protocol::Smb1 => ("general-smb1", (Dialect::Nt1, Dialect::Nt1)),
        _ => ("general-smb2", (Dialect::V202, Dialect::V311)),
    };
    let mount = MountPoint {
        host: "sut".into(),
        path: r"\export".into(),
    };
    let client = |number: u32| ClientPlan {
        name: format!("client-{number}"),
        mounts: vec![mount.clone(); PROCS as usize],
    };
    let load = OpsPerSec(3_200.0);
    let mut plan = nfs_plan();
    plan.benchmark = Benchmark::shipped(name).expect("a shipped definition reads");
    plan.clients = (1..=CLIENTS).map(client).collect();
    plan.procs_per_client = PROCS;
    plan.points = vec![LoadPoint {
        number: 10,
        entered: load,
        requested: load,
        units: 0.0,
        proc_count: 0,
    }];
    plan.findings.clear();
    plan.parameters = [
        ("LOAD", "3200"),
        ("MNT_POINTS", r"\\sut\export"),
        ("FS_PROTOCOL", "cifs"),
        ("USERNAME", "Administrator"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    plan.driver = DriverPlan::Smb(SmbPlan {
        dialects,
        signing: Signing::Auto,
        encryption: Encryption::Auto,
        auth: Auth::Ntlm {
            username: "Administrator".into(),
            domain: "MYGROUP".into(),
        },
        password: Secret::NONE,
        port: 445,
        ip: IpChoice::V4,
        block_size_max: None,
        biod_max_reads: 2,
        biod_max_writes: 2,
        connections: Connections::PerProc,
        channels: 1,
        fewer_channels: false,
        reply_timeout_ms: 60_000,
        connect_timeout_ms: 10_000,
    });
    plan
}

fn stats() -> PointStats {
    let mut stats = PointStats {
        window_ns: 299_490_000_000,
        shard_count: 8,
        generator_cpu_ns: 21_000_000_000,
        transfer_bytes: (61_440, 61_440),
        fileset_bytes: (380_992.5 * MB) as u64,
        accessed_base_bytes: (114_310.2 * MB) as u64,
        accessed_end_bytes: (116_088.6 * MB) as u64,
        ..PointStats::default()
    };
    for (op, logical, physical, mean, deviation) in SAMPLE {
        let entry = stats.op_mut(op);
        (entry.success_count, entry.physical_count) = (logical, physical);
        // Most are fast, some are slow: as many and as slow as the deviation says.
        let fast = mean / 4.0;
        let more = mean - fast;
        let share = more * more / (more * more + deviation * deviation);
        let slow = fast + more / share;
        let mut due = 0.0;
        for _ in 0..logical {
            due += share;
            let ms = if due >= 1.0 { slow } else { fast };
            due -= f64::from(due >= 1.0);
            let service = (ms * 1e6) as u64;
            entry.service.record(Nanos(service));
            entry.response.record(Nanos(service + 30_000));
        }
    }
    let total = stats.success_count();
    let procs = u64::from(PROCS * CLIENTS);
    stats.procs = (0..PROCS * CLIENTS)
        .map(|proc| ProcStats {
            proc,
            success_count: total / procs,
            wanted_count: total / procs,
            service_sum_ns: stats.service().sum_ns() / procs,
            service_max_ns: stats.service().max_ns(),
            error_count: 0,
        })
        .collect();
    stats
}
