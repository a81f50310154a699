//! Synthetic records of composite benchmarks on mounted file systems: one of a
//! software build in four load points (two valid, one too slow, one failed), one
//! of video streams with two components.

use super::mounted::{RUN_SECONDS, WARMUP_SECONDS, simulate};
use crate::environment::Environment;
use crate::heartbeat::{Heartbeat, ScriptRecord, ScriptStatus};
use crate::judge::judge;
use crate::record::{
    ClientSummary, End, Line, Outcome, Phase, PhaseRecord, PointRecord, PointStatus, RunHeader,
    RunRecord, SCHEMA_VERSION, fingerprint,
};
use crate::time::Timestamp;
use filermark_model::benchmark::{Benchmark, Protocol, Standard, Work};
use filermark_model::composite::{Component, CompositeWork};
use filermark_model::plan::{
    ClientPlan, DriverPlan, FileSetPlan, LoadPoint, MountPoint, Pacing, PhasePlan, PosixPlan,
    ProcPlan, RunPlan, ScriptsPlan,
};
use filermark_model::stats::{PointStats, ProcStats};
use filermark_model::transfer::{TransferSlot, TransferTable};
use filermark_model::workload::{Attributes, WorkloadObject};
use filermark_model::{Finding, Mix, NOT_A_SPEC_RESULT, Nanos, Op, OpsPerSec, Rule, Severity};
use std::sync::OnceLock;

/// When the synthetic runs began: 2026-11-21T09:30:00Z.
const START_UNIX_SECONDS: f64 = 1_795_253_400.0;
/// Interval of heartbeats, in seconds.
const HEARTBEAT_SECONDS: u64 = 10;

/// Slots of a transfer table: (least bytes, most bytes, percent).
fn transfers(slots: &[(u32, u32, f64)]) -> TransferTable {
    let slot = |(min_bytes, max_bytes, percent): &(u32, u32, f64)| TransferSlot {
        min_bytes: *min_bytes,
        max_bytes: *max_bytes,
        percent: *percent,
    };
    TransferTable::new(slots.iter().map(slot).collect()).expect("the slots total 100")
}

fn workload(name: &str, mix: &[(Op, f64)], transfers: &TransferTable) -> WorkloadObject {
    WorkloadObject {
        name: name.into(),
        title: format!("a {name} of the tests"),
        mix: Mix::new(mix.iter().copied()).expect("the mix totals 100"),
        read_transfers: transfers.clone(),
        write_transfers: transfers.clone(),
        attributes: Attributes::default(),
    }
}

/// One component of SWBUILD's figures: 5 procs of 100 op/s per BUILD.
fn build_work() -> CompositeWork {
    let mix = [
        (Op::ReadFile, 6.0),
        (Op::WriteFile, 7.0),
        (Op::Mkdir, 1.0),
        (Op::Create, 1.0),
        (Op::Unlink, 2.0),
        (Op::Access, 6.0),
        (Op::Stat, 70.0),
        (Op::Chmod, 5.0),
        (Op::Readdir, 2.0),
    ];
    let sizes = transfers(&[(1, 511, 10.0), (4096, 8191, 50.0), (65536, 131072, 40.0)]);
    CompositeWork {
        components: vec![Component {
            workload: workload("SWBUILD", &mix, &sizes),
            instances: 5,
            ops_per_proc: Some(100.0),
            dir_count: 50,
            files_per_dir: 100,
            file_bytes: 16 << 10,
            file_sizes: None,
            buckets: Default::default(),
        }],
        client_mem_mib_per_unit: 400.0,
    }
}

/// Two components of VDA's figures: 9 and 1 op/s per STREAM.
fn stream_work() -> CompositeWork {
    let readers = [
        (Op::Read, 5.0),
        (Op::ReadRandom, 86.0),
        (Op::Rmw, 2.0),
        (Op::Access, 2.0),
        (Op::Stat, 2.0),
        (Op::Readdir, 3.0),
    ];
    let sizes = transfers(&[
        (65536, 65536, 20.0),
        (262144, 262144, 30.0),
        (1 << 20, 1 << 20, 50.0),
    ]);
    let component = |name: &str, mix: &[(Op, f64)], rate: f64| Component {
        workload: workload(name, mix, &sizes),
        instances: 1,
        ops_per_proc: Some(rate),
        dir_count: 1,
        files_per_dir: 1,
        file_bytes: 1 << 30,
        file_sizes: None,
        buckets: Default::default(),
    };
    CompositeWork {
        components: vec![
            component("VDA1", &[(Op::Write, 100.0)], 9.0),
            component("VDA2", &readers, 1.0),
        ],
        client_mem_mib_per_unit: 10.0,
    }
}

fn benchmark(name: &str, title: &str, unit: &str, work: CompositeWork) -> Benchmark {
    Benchmark {
        name: name.into(),
        version: 1,
        title: title.into(),
        protocol: Protocol::Posix,
        unit: unit.into(),
        standard: Standard {
            block_size_kib: None,
            warmup_s: 300.0,
            runtime_s: 300.0,
            load_points_min: 10,
            clients_min: 1,
            response_limit_ms: 0.0,
            ops_per_proc_max: 0.0,
            ops_per_proc_min: 0.0,
            achieved_pcnt_min: 95.0,
            achieved_severity: Severity::Invalid,
            proc_pcnt_min: 75.0,
            mix_deviation_pcnt_max: 1.0,
            error_pcnt_max: 0.0,
            error_pcnt_invalid: 1.0,
            component_variance_pcnt_max: 5.0,
        },
        mix: work.mix(),
        work: Work::Composite(work),
        heritage: None,
    }
}

/// Procs of `units` units, round robin over `clients` hosts.
fn procs(work: &CompositeWork, units: u32, clients: u32) -> Vec<ProcPlan> {
    let mut procs = Vec::new();
    for unit in 0..units {
        for (component, c) in (0..).zip(&work.components) {
            procs.extend((0..c.instances).map(|i| ProcPlan {
                client: 0,
                mount: mount(),
                component,
                instance: unit * c.instances + i,
                ops_per_sec: c.ops_per_proc.map(OpsPerSec),
            }));
        }
    }
    for (number, proc) in (0..).zip(&mut procs) {
        proc.client = number % clients;
    }
    procs
}

fn mount() -> MountPoint {
    MountPoint {
        host: "filer".into(),
        path: "/mnt/test".into(),
    }
}

fn load_point(work: &CompositeWork, number: u32, units: u32) -> LoadPoint {
    let rate = OpsPerSec(f64::from(units) * work.ops_per_unit().unwrap_or(0.0));
    LoadPoint {
        number,
        entered: rate,
        requested: rate,
        units: f64::from(units),
        proc_count: units * work.procs_per_unit(),
    }
}

fn plan(benchmark: Benchmark, units: &[u32], clients: &[&str]) -> RunPlan {
    let work = benchmark.composite().expect("a composite one").clone();
    let most = units.iter().copied().max().unwrap_or(1);
    let procs = procs(&work, most, clients.len() as u32);
    let client = |name: &&str| ClientPlan {
        name: (*name).into(),
        mounts: vec![mount()],
    };
    RunPlan {
        points: (1..)
            .zip(units)
            .map(|(number, units)| load_point(&work, number, *units))
            .collect(),
        clients: clients.iter().map(client).collect(),
        procs_per_client: (procs.len() as u32).div_ceil(clients.len() as u32),
        procs,
        pacing: Pacing {
            backlog_max_per_proc: 1024,
            ..Pacing::default()
        },
        phases: PhasePlan {
            warmup: Nanos::from_secs(WARMUP_SECONDS),
            runtime: Nanos::from_secs(RUN_SECONDS),
            ..PhasePlan::of(&benchmark.standard)
        },
        fileset: FileSetPlan {
            access_list: true,
            ..FileSetPlan::default()
        },
        seed: 42,
        scripts: Some(ScriptsPlan {
            dir: ".".into(),
            limit: Nanos::from_secs(30),
        }),
        heartbeat: Some(Nanos::from_secs(HEARTBEAT_SECONDS)),
        findings: vec![Finding::new(
            Rule::Experimental,
            Severity::Note,
            "the transfer sizes of this definition are the tests' own",
        )],
        parameters: [
            ("BENCHMARK", benchmark.name.as_str()),
            ("CLIENT_MEM", "1g"),
            ("AGGR_CAP", "1g"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        ..RunPlan::of(benchmark, DriverPlan::Posix(PosixPlan::default()))
    }
}

struct Builder {
    plan: RunPlan,
    clock: f64,
    lines: Vec<Line>,
}

impl Builder {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_seconds(self.clock)
    }

    fn phase(&mut self, point: u32, phase: Phase, seconds: f64, failure: Option<&str>) {
        let began = self.now();
        self.clock += seconds;
        self.lines.push(Line::Phase(PhaseRecord {
            point,
            phase,
            began,
            ended: self.now(),
            seconds,
            detail: String::new(),
            failure: failure.map(Into::into),
            space: None,
            percents: Vec::new(),
        }));
    }

    fn script(&mut self, script: &str, argument: &str, point: u32, status: ScriptStatus) {
        let output = if status.is_ok() {
            "counters\nreset\n"
        } else {
            ""
        };
        self.lines.push(Line::Script(ScriptRecord {
            at: self.now(),
            script: script.into(),
            argument: argument.into(),
            call: None,
            event_at: None,
            point,
            phase: (point > 0).then_some(Phase::Init),
            status,
            seconds: 0.125,
            output: output.into(),
        }));
    }

    fn heartbeats(&mut self, load: LoadPoint, phase: Phase, seconds: u64, stats: &PointStats) {
        let began = self.clock;
        let window = stats.window_ns as f64 / 1e9;
        for second in (HEARTBEAT_SECONDS..=seconds).step_by(HEARTBEAT_SECONDS as usize) {
            let off = second as f64 / 100.0;
            let of = |p: &ProcStats| p.success_count as f64 / window * (0.98 + off / 20.0);
            self.lines.push(Line::Heartbeat(Heartbeat {
                at: Timestamp::from_unix_seconds(began + second as f64),
                point: load.number,
                phase,
                seconds: second as f64,
                ops_per_sec: stats.procs.iter().map(of).collect(),
            }));
        }
    }

    fn point(&mut self, load: LoadPoint, failure: Option<&str>) {
        let began = self.now();
        let mut record = PointRecord {
            load,
            began,
            ended: began,
            status: PointStatus::Measured,
            stats: None,
            clients: Vec::new(),
            warmup: None,
            start: None,
            stalls: Vec::new(),
            client_reads: Vec::new(),
            findings: Vec::new(),
        };
        if let Some(reason) = failure {
            self.phase(load.number, Phase::Init, 21.0, failure);
            record.status = PointStatus::Failed {
                reason: reason.into(),
            };
            record.findings = vec![Finding::new(Rule::Failed, Severity::Invalid, reason)];
        } else {
            let mut whole = PointStats::default();
            for (i, client) in (0..).zip(&self.plan.clients) {
                let part = simulate(&self.plan, load, i);
                let summary = ClientSummary::of(i + 1, &client.name, &part);
                record.clients.push(summary);
                whole.merge(&part);
            }
            self.phase(load.number, Phase::Init, 30.0, None);
            self.heartbeats(load, Phase::Warmup, WARMUP_SECONDS, &whole);
            self.phase(load.number, Phase::Warmup, WARMUP_SECONDS as f64, None);
            self.heartbeats(load, Phase::Run, RUN_SECONDS, &whole);
            self.phase(load.number, Phase::Run, RUN_SECONDS as f64, None);
            record.findings = judge(&whole, load, &self.plan, 8);
            record.stats = Some(whole);
        }
        record.ended = self.now();
        self.lines.push(Line::Point(Box::new(record)));
        self.clock += 2.0;
    }
}

/// The lines of a run of this plan, whose last load point fails with the reason
/// `failure`, if given.
fn run(plan: RunPlan, suffix: &str, failure: Option<&str>) -> Vec<Line> {
    let header = RunHeader {
        schema: SCHEMA_VERSION,
        program: "filermark".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        suffix: suffix.into(),
        started: Timestamp::from_unix_seconds(START_UNIX_SECONDS),
        fingerprint: fingerprint(&plan),
        notice: NOT_A_SPEC_RESULT.into(),
        plan: plan.clone(),
        inputs: None,
    };
    let host = |client: &ClientPlan| {
        Line::Environment(Environment {
            host: client.name.clone(),
            os: "Debian GNU/Linux 13 (trixie)".into(),
            core_count: 4,
            memory_bytes: 16 << 30,
            ..Environment::default()
        })
    };
    let mut lines = vec![Line::Run(Box::new(header))];
    lines.extend(plan.clients.iter().map(host));
    let mut builder = Builder {
        clock: START_UNIX_SECONDS + 1.0,
        lines,
        plan,
    };
    let missing = ScriptStatus::Failed {
        reason: "there is no such file".into(),
    };
    builder.script("netmist_power.sh", "Baseline", 0, missing);
    let points = builder.plan.points.clone();
    for load in &points {
        let fails = failure.filter(|_| load.number as usize == points.len());
        let status = ScriptStatus::Exited { code: 0 };
        builder.script("netmist_mon.sh", "INIT", load.number, status);
        builder.point(*load, fails);
    }
    builder.phase(0, Phase::Cleanup, 4.0, None);
    let end = End {
        at: builder.now(),
        outcome: Outcome::Complete,
        wall_seconds: builder.clock - START_UNIX_SECONDS,
        findings: Vec::new(),
        verdict: None,
        reasons: Vec::new(),
    };
    super::ended(builder.lines, end)
}

/// The lines of [`composite_record`]; made once.
pub fn composite_lines() -> Vec<Line> {
    static LINES: OnceLock<Vec<Line>> = OnceLock::new();
    LINES
        .get_or_init(|| {
            let builds = benchmark("SWBUILD", "Software build", "BUILD", build_work());
            let plan = plan(builds, &[1, 2, 3, 4], &["node1", "node2"]);
            let full = "INIT on node2: /mnt/test/filermark-build/CL7_SWBUILD/dir_3/5/file_9: writing 16384 bytes: no space left on device; free some space or lower LOAD";
            run(plan, "build", Some(full))
        })
        .clone()
}

/// A software build on two clients: 1, 2 and 3 BUILDs measured, of which the
/// last is too slow to count, and 4 failed in INIT.
pub fn composite_record() -> RunRecord {
    super::collected(&composite_lines())
}

/// The lines of [`stream_record`]; made once.
pub fn stream_lines() -> Vec<Line> {
    static LINES: OnceLock<Vec<Line>> = OnceLock::new();
    LINES
        .get_or_init(|| {
            let streams = benchmark("VDA", "Video data acquisition", "STREAM", stream_work());
            run(plan(streams, &[9, 18], &["node1"]), "vda", None)
        })
        .clone()
}

/// Video streams of two components on one client: 9 and 18 STREAMs.
pub fn stream_record() -> RunRecord {
    super::collected(&stream_lines())
}
