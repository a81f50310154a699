//! A synthetic run record for tests: the same on every machine, with a valid
//! sweep, a load point that does not count, one that failed, errors, and names
//! with unusual characters.
//!
//! Latencies are made with plain arithmetic (no `ln`, no `exp`), so that the
//! golden files do not depend on a library's rounding.

pub mod compare;
pub mod composite;
pub mod every_field;
mod golden;
pub mod heritage;
mod mounted;
pub mod smb;

use crate::environment::{Environment, MountFacts, ServerAddresses};
use crate::judge::judge;
use crate::record::{
    ClientSummary, End, Event, Line, Outcome, Phase, PhaseRecord, PointRecord, PointStatus,
    RunHeader, RunRecord, SCHEMA_VERSION, fingerprint,
};
use crate::time::Timestamp;
use filermark_model::plan::{
    ClientPlan, Connections, DriverPlan, IpChoice, LoadPoint, MountPoint, NfsPlan, Pacing,
    PhasePlan, RunPlan, SmbPlan,
};
use filermark_model::secret::Secret;
use filermark_model::smb::Auth;
use filermark_model::stats::{Interval, PointStats, ProcStats};
use filermark_model::{
    Benchmark, Finding, NOT_A_SPEC_RESULT, Nanos, Op, OpsPerSec, Rng, Rule, Severity,
};
pub use golden::golden;
use std::sync::OnceLock;

/// When the synthetic run began: 2026-11-21T09:30:00Z.
const START_UNIX_SECONDS: f64 = 1_795_253_400.0;
/// The rate at which the synthetic server is saturated, in op/s.
const CAPACITY: f64 = 1_090.0;
/// Its RUN, in seconds.
const RUN_SECONDS: u64 = 30;
/// Its WARMUP, in seconds.
const WARMUP_SECONDS: u64 = 5;
/// Procs per client; there are two clients.
const PROCS: u32 = 10;

/// The synthetic run's plan: 12 load points of 100 op/s each, two clients of 10
/// procs, every second proc on a mount point with an unusual name.
pub fn plan() -> RunPlan {
    let benchmark = Benchmark::shipped("general-nfs3").expect("a shipped definition reads");
    let not_standard = |name: &str, value: f64, standard: f64| {
        Finding::new(
            Rule::NotStandard,
            Severity::Warning,
            format!("not standard: {name}={value}"),
        )
        .with_limit(value, standard, "benchmark general-nfs3 version 2")
    };
    RunPlan {
        points: (1..=12).map(load_point).collect(),
        clients: vec![
            client("client-a"),
            client("<script>alert(1)</script>&\"b\""),
        ],
        procs_per_client: PROCS,
        pacing: Pacing {
            backlog_max_per_proc: 1024,
            ..Pacing::default()
        },
        phases: PhasePlan {
            warmup: Nanos::from_secs(WARMUP_SECONDS),
            runtime: Nanos::from_secs(RUN_SECONDS),
            ..PhasePlan::of(&benchmark.standard)
        },
        seed: 42,
        findings: vec![
            not_standard("RUNTIME", RUN_SECONDS as f64, 300.0),
            not_standard("WARMUP_TIME", WARMUP_SECONDS as f64, 300.0),
        ],
        parameters: [
            ("LOAD", "100 200 300 400 500 600 700 800 900 1000 1100 1200"),
            ("PROCS", "10"),
            ("CLIENTS", "client-a <script>alert(1)</script>&\"b\""),
            ("MNT_POINTS", "filer:/export filer:/vol/ümlaut,comma"),
            ("RUNTIME", "30"),
            ("WARMUP_TIME", "5"),
            ("BIOD_MAX_READS", "2"),
            ("BIOD_MAX_WRITES", "2"),
            ("SEED", "42"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        ..RunPlan::of(benchmark, DriverPlan::Nfs(nfs3_plan()))
    }
}

fn load_point(number: u32) -> LoadPoint {
    let load = OpsPerSec(f64::from(number) * 100.0);
    LoadPoint {
        number,
        entered: load,
        requested: load,
        units: 0.0,
        proc_count: 0,
    }
}

fn client(name: &str) -> ClientPlan {
    let mount = |path: &str| MountPoint {
        host: "filer".into(),
        path: path.into(),
    };
    ClientPlan {
        name: name.into(),
        mounts: (0..PROCS)
            .map(|i| mount(["/export", "/vol/ümlaut,comma"][i as usize % 2]))
            .collect(),
    }
}

fn nfs3_plan() -> NfsPlan {
    NfsPlan {
        uid: 500,
        gid: 500,
        machine_name: "client-a".into(),
        ip: IpChoice::V4,
        jukebox_retries: 10,
        ..NfsPlan::default()
    }
}

/// Settings of the SMB driver, with this password; nothing listens at its port.
pub fn smb_plan(password: &str) -> SmbPlan {
    SmbPlan {
        auth: Auth::Ntlm {
            username: "User".into(),
            domain: "Domain".into(),
        },
        password: Secret::new(password),
        port: 1,
        ip: IpChoice::V4,
        reply_timeout_ms: 10_000,
        connect_timeout_ms: 2_000,
        ..SmbPlan::default()
    }
}

/// The cost of an operation relative to GETATTR.
fn weight(op: Op) -> f64 {
    match op {
        Op::Read => 3.0,
        Op::Write => 6.0,
        Op::Create | Op::Remove => 4.0,
        Op::Setattr => 2.5,
        Op::Readdirplus => 2.2,
        Op::Readdir => 1.8,
        _ => 1.0,
    }
}

/// Adds delays of starts that take all of RUN together for each of 20 procs.
pub fn start_late(stats: &mut PointStats) {
    let window = Nanos(stats.window_ns);
    (0..20).for_each(|_| stats.wakeup.record(window));
}

/// A point without findings: exact mix, exact rate, every operation fast.
pub fn quiet_point(ops_per_sec: f64, seconds: u64) -> PointStats {
    let plan = plan();
    let total = ops_per_sec * seconds as f64;
    let mut stats = PointStats {
        window_ns: seconds * 1_000_000_000,
        shard_count: 2,
        generator_cpu_ns: seconds * 200_000_000,
        ..PointStats::default()
    };
    for (op, percent) in plan.benchmark.mix.shares() {
        let count = (total * percent / 100.0).round() as u64;
        let entry = stats.op_mut(*op);
        (entry.success_count, entry.physical_count) = (count, count);
        for _ in 0..count {
            entry.service.record(Nanos::from_micros(500));
            entry.response.record(Nanos::from_micros(520));
        }
    }
    for _ in 0..total as u64 {
        stats.wakeup.record(Nanos::from_micros(20));
        stats.lateness.record(Nanos::from_micros(20));
    }
    let procs = plan.proc_count();
    stats.procs = (0..procs)
        .map(|proc| ProcStats {
            proc,
            success_count: total as u64 / u64::from(procs),
            wanted_count: total as u64 / u64::from(procs),
            service_sum_ns: 500_000 * total as u64 / u64::from(procs),
            service_max_ns: 500_000,
            error_count: 0,
        })
        .collect();
    stats
}

/// One client's figures at a load point of the synthetic server.
fn simulate(plan: &RunPlan, load: LoadPoint, client: u32) -> PointStats {
    let mut rng = Rng::new(plan.seed, u64::from(load.number * 2 + client));
    let busy = (load.requested.0 / CAPACITY).min(0.985);
    // Saturated: the rate is below the requested one, and operations wait.
    let over = (load.requested.0 / CAPACITY - 0.985).max(0.0);
    let rate = load.requested.0 / 2.0 / (1.0 + over * 4.0);
    let base_us = 180.0 * (1.0 + 0.4 * busy / (1.0 - busy));
    let mut stats = PointStats {
        window_ns: RUN_SECONDS * 1_000_000_000 + 1_200_000,
        shard_count: 2,
        transfer_bytes: (65_536, 65_536),
        ..PointStats::default()
    };
    let mut procs = vec![ProcStats::default(); PROCS as usize];
    let mut intervals: Vec<Interval> = (-(WARMUP_SECONDS as i64)..RUN_SECONDS as i64)
        .map(|second| Interval {
            second,
            ..Interval::default()
        })
        .collect();
    let sampler = plan.benchmark.mix.sampler();
    let count = (rate * (WARMUP_SECONDS + RUN_SECONDS) as f64) as u64;
    for i in 0..count {
        let at = i as f64 / rate;
        let proc = rng.below(u64::from(PROCS)) as usize;
        let tail = 1.0 / (1.0 - 0.985 * rng.unit());
        let hiccup = if (18.0..19.0).contains(&at) { 3.0 } else { 1.0 };
        let op = sampler.draw(&mut rng);
        let cost = base_us * weight(op) * hiccup * (1.0 + over * 60.0);
        let service_ns = (cost * (0.55 + 0.25 * rng.unit() + 0.12 * tail) * 1e3) as u64;
        let late_ns = 8_000 + rng.below(30_000);
        let wait_ns = (over * 9e8 * rng.unit() + base_us * busy * 400.0 * rng.unit()) as u64;
        let response_ns = service_ns + late_ns + wait_ns;
        let Some(interval) = intervals.get_mut(at as usize) else {
            continue;
        };
        let warm = interval.second >= 0;
        let failed = warm && load.number >= 9 && op == Op::Write && rng.below(300) == 0;
        if failed {
            interval.error_count += 1;
            procs[proc].error_count += 1;
            stats.op_mut(op).error_count += 1;
            let kind = "write: NFS3ERR_NOSPC <no space>".to_owned();
            *stats.errors.entry(kind).or_default() += 1;
            continue;
        }
        interval.success_count += 1;
        interval.service_sum_ns += service_ns;
        interval.response_max_ns = interval.response_max_ns.max(response_ns);
        interval.service_log2_us[Interval::log2_slot(service_ns)] += 1;
        let bytes = match op {
            Op::Read => {
                plan.benchmark
                    .classic()
                    .expect("a classical one")
                    .read_sizes
                    .draw(&mut rng)
                    .0
            }
            Op::Write => {
                plan.benchmark
                    .classic()
                    .expect("a classical one")
                    .write_sizes
                    .draw(&mut rng)
                    .0
            }
            _ => 0,
        };
        let (read, written) = if op == Op::Read {
            (bytes, 0)
        } else {
            (0, bytes)
        };
        interval.read_bytes += read;
        interval.written_bytes += written;
        if !warm {
            continue;
        }
        let entry = stats.op_mut(op);
        entry.success_count += 1;
        entry.physical_count += bytes.div_ceil(65_536).max(1);
        entry.read_bytes += read;
        entry.written_bytes += written;
        entry.service.record(Nanos(service_ns));
        entry.response.record(Nanos(response_ns));
        stats.lateness.record(Nanos(late_ns + wait_ns));
        stats.wakeup.record(Nanos(late_ns));
        procs[proc].success_count += 1;
        procs[proc].service_sum_ns += service_ns;
        procs[proc].service_max_ns = procs[proc].service_max_ns.max(service_ns);
    }
    finish(&mut stats, load, client, procs, intervals);
    stats
}

fn finish(
    stats: &mut PointStats,
    load: LoadPoint,
    client: u32,
    mut procs: Vec<ProcStats>,
    intervals: Vec<Interval>,
) {
    let wanted = load.requested.0 * RUN_SECONDS as f64 / f64::from(2 * PROCS);
    for (i, proc) in procs.iter_mut().enumerate() {
        proc.proc = (client - 1) * PROCS + i as u32;
        proc.wanted_count = wanted as u64;
    }
    stats.procs = procs;
    stats.intervals = intervals;
    for entry in &stats.ops {
        let name = entry.op.name().to_uppercase();
        stats.counters.insert(name, entry.physical_count);
    }
    if load.number == 8 && client == 2 {
        stats.counters.insert("reconnects".into(), 1);
        stats.counters.insert("retransmits".into(), 3);
    }
    stats.generator_cpu_ns = stats.success_count() * 24_000 + 40_000_000;
    let mb = 1u64 << 20;
    stats.fileset_bytes = load.requested.0 as u64 * 60 * mb + 37 * mb;
    stats.accessed_base_bytes = stats.fileset_bytes * 3 / 10;
    stats.accessed_end_bytes = stats.accessed_base_bytes + stats.success_count() * 1_900;
    stats.preparation_count = stats.success_count() / 900;
    stats.rescheduled_count = u64::from(load.number / 11) * 37;
}

/// The lines of the synthetic record; made once.
pub fn lines() -> Vec<Line> {
    static LINES: OnceLock<Vec<Line>> = OnceLock::new();
    LINES.get_or_init(make_lines).clone()
}

fn make_lines() -> Vec<Line> {
    let plan = plan();
    let mut clock = START_UNIX_SECONDS;
    let mut lines = vec![
        Line::Run(Box::new(RunHeader {
            schema: SCHEMA_VERSION,
            program: "filermark".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            suffix: "mine".into(),
            started: Timestamp::from_unix_seconds(clock),
            fingerprint: fingerprint(&plan),
            notice: NOT_A_SPEC_RESULT.into(),
            plan: plan.clone(),
            inputs: None,
        })),
        Line::Environment(environment()),
    ];
    for load in &plan.points {
        clock += 1.5;
        point_lines(&plan, *load, &mut clock, &mut lines);
    }
    let end = End {
        at: Timestamp::from_unix_seconds(clock),
        outcome: Outcome::Complete,
        wall_seconds: clock - START_UNIX_SECONDS,
        findings: vec![Finding::new(
            Rule::LeftBehind,
            Severity::Warning,
            "filer:/export/filermark-mine could not be removed (NFS3ERR_NOTEMPTY); remove it by hand",
        )],
        verdict: None,
        reasons: Vec::new(),
    };
    ended(lines, end)
}

/// The lines with an end that has the verdict.
pub(crate) fn ended(mut lines: Vec<Line>, end: End) -> Vec<Line> {
    let end = collected(&lines).judged(end);
    lines.push(Line::End(end));
    lines
}

/// The record of these lines.
pub(crate) fn collected(lines: &[Line]) -> RunRecord {
    let mut lines = lines.iter().cloned();
    let Some(Line::Run(run)) = lines.next() else {
        unreachable!("the first line is the run");
    };
    let mut record = RunRecord::new(*run);
    lines.for_each(|line| record.push(line));
    record
}

fn environment() -> Environment {
    Environment {
        host: "client-a".into(),
        os: "Debian GNU/Linux 13 (trixie)".into(),
        kernel: "Linux 6.12.43+deb13-amd64".into(),
        architecture: "x86_64".into(),
        cpu_model: "Synthetic CPU @ 3.00GHz".into(),
        core_count: 4,
        memory_bytes: 16 << 30,
        virtualization: "yes (KVM)".into(),
        clock_source: "tsc".into(),
        cpu_governor: "performance".into(),
        load_average: 0.07,
        program_build: "filermark 0.2.0 (release, x86_64-unknown-linux-gnu)".into(),
        servers: vec![ServerAddresses {
            host: "filer".into(),
            addresses: vec!["192.0.2.7".into()],
        }],
        mounts: vec![MountFacts {
            mount: "filer:/export".into(),
            facts: [("rsize", "1048576"), ("free bytes", "<unknown>")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
        }],
    }
}

/// The phases of one load point, what happened in it, and its figures.
fn point_lines(plan: &RunPlan, load: LoadPoint, clock: &mut f64, lines: &mut Vec<Line>) {
    let fails = load.number == 12;
    let began = *clock;
    let mut phase = |phase, seconds: f64, detail: String, failure: Option<String>| {
        let from = Timestamp::from_unix_seconds(*clock);
        *clock += seconds;
        lines.push(Line::Phase(PhaseRecord {
            point: load.number,
            phase,
            began: from,
            ended: Timestamp::from_unix_seconds(*clock),
            seconds,
            detail,
            failure,
            space: None,
            percents: Vec::new(),
        }));
    };
    let reason = "INIT on client-a: filer: writing /export/filermark-mine/p003/f0000017: no space left (NFS3ERR_NOSPC); free some space or lower LOAD";
    let made = "38300 files created, 12000.0 MiB, 412.5 MiB/s".to_owned();
    if fails {
        phase(
            Phase::Init,
            21.0,
            "31002 files created".into(),
            Some(reason.into()),
        );
    } else {
        phase(Phase::Init, 29.1, made, None);
        phase(Phase::Warmup, WARMUP_SECONDS as f64, String::new(), None);
        phase(Phase::Run, RUN_SECONDS as f64, String::new(), None);
    }
    phase(Phase::Cleanup, 3.25, "38320 files removed".into(), None);
    if load.number == 8 {
        lines.push(Line::Event(Event {
            at: Timestamp::from_unix_seconds(began + 40.0),
            host: "client-b".into(),
            message: "proc 13: connection to filer lost <reset>; connected again after 12 ms"
                .into(),
            rule: None,
        }));
    }
    let (began, ended) = (
        Timestamp::from_unix_seconds(began),
        Timestamp::from_unix_seconds(*clock),
    );
    let mut record = PointRecord {
        load,
        began,
        ended,
        status: PointStatus::Measured,
        stats: None,
        clients: Vec::new(),
        warmup: None,
        start: None,
        stalls: Vec::new(),
        client_reads: Vec::new(),
        findings: Vec::new(),
    };
    if fails {
        record.status = PointStatus::Failed {
            reason: reason.into(),
        };
        record.findings = vec![Finding::new(Rule::Failed, Severity::Invalid, reason)];
    } else {
        let mut whole = PointStats::default();
        for (i, client) in plan.clients.iter().enumerate() {
            let part = simulate(plan, load, i as u32 + 1);
            let summary = ClientSummary::of(i as u32 + 1, &client.name, &part);
            record.clients.push(summary);
            whole.merge(&part);
        }
        record.findings = judge(&whole, load, plan, 8);
        record.stats = Some(whole);
    }
    lines.push(Line::Point(Box::new(record)));
}

/// Lines of the forms that the synthetic record does not have.
pub fn other_lines() -> Vec<Line> {
    let at = Timestamp::from_unix_seconds(START_UNIX_SECONDS);
    let mut plan = plan();
    plan.driver = DriverPlan::NULL;
    plan.shards = Some(3);
    let mut nfs3 = nfs3_plan();
    nfs3.connections = Connections::Shared(4);
    nfs3.block_size_max = Some(32_768);
    let null = RunHeader::new(env!("CARGO_PKG_VERSION"), "other", plan.clone());
    plan.driver = DriverPlan::Nfs(nfs3);
    plan.monitor = Some(filermark_model::plan::MonitorPlan {
        script: "/bin/true".into(),
        args: vec!["x".into()],
        mode: filermark_model::plan::MonitorMode::Program,
        limit: None,
    });
    let shared = RunHeader::new(env!("CARGO_PKG_VERSION"), "other", plan);
    let end = |outcome| End {
        at,
        outcome,
        wall_seconds: 0.5,
        findings: Vec::new(),
        verdict: None,
        reasons: Vec::new(),
    };
    vec![
        Line::Run(Box::new(null)),
        Line::Run(Box::new(shared)),
        Line::End(end(Outcome::Interrupted)),
        Line::End(end(Outcome::Failed {
            reason: "the prime ran out of ideas".into(),
        })),
    ]
}

/// The synthetic record.
pub fn record() -> RunRecord {
    collected(&lines())
}
