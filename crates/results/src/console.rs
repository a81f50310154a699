//! What netmist and the 2014 generation print while they run (manual N, sections
//! 13, 14 and 20; slides E), one text per step: a live console prints them as events
//! occur, `sfslog.<suffix>.txt` has all of them.
//!
//! Every text ends with a line end. Nothing here reads a clock.

use crate::bands::band_lines;
use crate::environment::Environment;
use crate::figures::{Planned, Throughput, plain};
use crate::heartbeat::Heartbeat;
use crate::record::{Phase, definition_fingerprint};
use crate::time::Timestamp;
use filermark_model::composite::DataSet;
use filermark_model::plan::{LoadPoint, RunPlan, SEARCH_NUMBERS};
use filermark_model::text::one_line;
use filermark_model::{Benchmark, NOT_A_SPEC_RESULT, PointStats};
use std::fmt::Write as _;

/// Between the parts of a load point.
const RULE: &str =
    "    ------------------------------------------------------------------------------\n";
/// Steps of a phase that are printed, in percent.
pub const PERCENT_STEP: u32 = 10;

/// The header: the benchmark and its version.
pub fn banner(version: &str, benchmark: &Benchmark) -> String {
    format!(
        "{RULE}    Filermark {}: {} (definition version {}, finger print {})\n    {NOT_A_SPEC_RESULT}\n{RULE}",
        one_line(version),
        one_line(&benchmark.title),
        benchmark.version,
        short_fingerprint(benchmark),
    )
}

/// The five digits of [`definition_fingerprint`].
pub fn short_fingerprint(benchmark: &Benchmark) -> u32 {
    definition_fingerprint(benchmark).1
}

/// A new load point begins: the line that merging tools look for (sources.md 3.10). A load point
/// of a search is none of a sweep.
pub fn new_load_point(at: Timestamp, plan: &RunPlan, point: LoadPoint) -> String {
    // A load without a business metric is counted in procs.
    let unit = match point.units > 0.0 {
        true => one_line(&plan.benchmark.unit),
        false => "proc".into(),
    };
    let number = match point.number.checked_sub(SEARCH_NUMBERS) {
        Some(number) if number > 0 => format!("search {number}"),
        _ => format!("run {} of {}", point.number, plan.points.len()),
    };
    format!(
        "<<< {}: Starting {} {number}: {unit}s={} >>>\n",
        at.classical(),
        one_line(&plan.benchmark.name),
        plain(Planned::of(plan, point).business_metric),
    )
}

/// What a load point will do and what it needs. `environments` are the client
/// hosts, where they are known; `results_dir` is printed where it is given.
pub fn plan_block(
    plan: &RunPlan,
    point: LoadPoint,
    environments: &[Environment],
    results_dir: Option<&str>,
) -> String {
    let planned = Planned::of(plan, point);
    let mut out = String::new();
    let seconds = |span: filermark_model::Nanos| plain(span.as_secs_f64());
    let warmup = seconds(plan.phases.warmup);
    let warmup = match plan.phases.warmup_until_steady {
        true => format!("until steady, at most {warmup} seconds"),
        false => format!("{warmup} seconds"),
    };
    let _ = writeln!(
        out,
        "    Test run time = {} seconds, Warmup = {warmup}.",
        seconds(plan.phases.runtime),
    );
    if let Some(rate) = planned.requested {
        let _ = writeln!(out, "    Request Op_rate = {} ops/second", plain(rate));
    }
    let _ = writeln!(
        out,
        "    Running {} copies of the test on {} clients",
        planned.proc_count, planned.client_count
    );
    if let Some(dir) = results_dir {
        let _ = writeln!(out, "    Results directory: {}", one_line(dir));
    }
    memory_lines(&mut out, plan, &planned, environments);
    file_size_lines(&mut out, plan);
    for (what, bytes) in [
        ("Client data set size", planned.data.client_bytes),
        ("Total starting data set size", planned.data.start_bytes),
        ("Total initial file space", planned.data.init_bytes),
        ("Total max file space", planned.data.max_bytes),
    ] {
        let _ = writeln!(out, "    {what:<28} = {:>8} MiBytes", DataSet::mib(bytes));
    }
    out
}

fn memory_lines(out: &mut String, plan: &RunPlan, planned: &Planned, seen: &[Environment]) {
    let given =
        parameter_bytes(plan, "CLIENT_MEM").map(|b| b.saturating_mul(planned.client_count as u64));
    let known = seen
        .iter()
        .fold(0u64, |sum, e| sum.saturating_add(e.memory_bytes));
    let memory = given.or((known > 0).then_some(known));
    if let Some(memory) = memory {
        let _ = writeln!(
            out,
            "    Clients have a total of {} MiBytes of memory",
            DataSet::mib(memory)
        );
        let _ = writeln!(
            out,
            "    Clients have {} MiBytes of memory size per process",
            DataSet::mib(memory / u64::from(planned.proc_count.max(1)))
        );
    }
    let _ = writeln!(
        out,
        "    Clients each have {} processes",
        planned.procs_per_client
    );
    if let Some(bytes) = parameter_bytes(plan, "AGGR_CAP") {
        let _ = writeln!(
            out,
            "    Adjustable aggregate data set value set to {} MiBytes",
            DataSet::mib(bytes)
        );
    }
}

/// A size among the run's parameters, as rc files give it: `1g`, `512MiB`.
pub(crate) fn parameter_bytes(plan: &RunPlan, name: &str) -> Option<u64> {
    let (_, value) = plan.parameters.iter().find(|(n, _)| n == name)?;
    let value = value.trim();
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = value[digits.len()..].to_ascii_lowercase();
    let letter = unit.strip_suffix("ib").or(unit.strip_suffix('b'));
    let shift = match letter.unwrap_or(&unit) {
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    let number: u32 = digits.parse().ok()?;
    u64::from(number).checked_mul(1 << shift)
}

fn file_size_lines(out: &mut String, plan: &RunPlan) {
    let Some(composite) = plan.benchmark.composite() else {
        return;
    };
    let components = &composite.components;
    let first = components.first().map_or(0, |c| c.file_bytes);
    if components.iter().all(|c| c.file_bytes == first) {
        let _ = writeln!(
            out,
            "    {:<28} = {:>8} kbytes",
            "Each process file size",
            first / 1024
        );
        return;
    }
    for c in components {
        let _ = writeln!(
            out,
            "    {:<28} = {:>8} kbytes ({})",
            "Each process file size",
            c.file_bytes / 1024,
            one_line(&c.workload.name)
        );
    }
}

/// The clients are started next.
pub fn starting_tests(at: Timestamp) -> String {
    format!("    Starting tests: {}\n", at.classical())
}

/// The procs, each with its host, its workload and its directory.
pub fn launching(plan: &RunPlan, point: LoadPoint) -> String {
    let count = plan.proc_count_at(point);
    let mut out = format!("    Launching {count} processes.\n");
    let components = plan
        .benchmark
        .composite()
        .map_or(&[][..], |c| &c.components);
    for (number, proc) in plan.procs.iter().take(count as usize).enumerate() {
        let host = plan.clients.get(proc.client as usize);
        let workload = components.get(proc.component as usize);
        let _ = writeln!(
            out,
            "        Starting test client: {number:>4} Host: {:<20} Workload: {:<12} Location: {}",
            one_line(host.map_or("", |c| &c.name)),
            one_line(workload.map_or("", |c| &c.workload.name)),
            one_line(&proc.mount.path),
        );
    }
    out
}

/// INIT begins.
pub fn waiting_for_init(at: Timestamp) -> String {
    format!(
        "        Waiting to finish initialization. {}\n",
        at.classical()
    )
}

/// INIT has ended.
pub fn init_finished(at: Timestamp) -> String {
    format!("        Initialization finished: {}\n", at.classical())
}

/// All clients get the start signal.
pub fn testing_begins(at: Timestamp) -> String {
    format!(
        "        Testing begins: {0}\n        Waiting for tests to finish. {0}\n",
        at.classical()
    )
}

/// WARMUP or RUN begins; nothing for the other phases.
pub fn phase_begins(at: Timestamp, phase: Phase) -> String {
    match phase {
        Phase::Warmup => format!("        {} Starting WARM phase\n", at.classical()),
        Phase::Run => format!("        {} Starting RUN phase\n", at.classical()),
        _ => String::new(),
    }
}

/// `Warm-up` or `Run`, as the lines of a phase begin.
const fn phase_label(phase: Phase) -> &'static str {
    match phase {
        Phase::Warmup => "Warm-up",
        _ => "Run",
    }
}

/// Progress of a phase. `client` is the number of the proc that reports it.
pub fn percent_complete(at: Timestamp, phase: Phase, percent: u32, client: u32) -> String {
    format!(
        "        {} {} {percent} percent complete from client {client}\n",
        at.classical(),
        phase_label(phase)
    )
}

/// The rate of one proc.
pub fn heartbeat(at: Timestamp, phase: Phase, client: u32, ops_per_sec: f64) -> String {
    let front = heartbeat_front(at, phase);
    format!("{front}{client}: {ops_per_sec:.3} Ops/sec\n")
}

fn heartbeat_front(at: Timestamp, phase: Phase) -> String {
    format!(
        "        {} {} Heartbeat Client ",
        at.classical(),
        phase_label(phase)
    )
}

/// The heartbeat of the last proc alone, as consoles show it.
pub fn last_heartbeat(beat: &Heartbeat) -> String {
    let last = beat.ops_per_sec.last();
    last.map_or(String::new(), |ops| {
        let client = beat.ops_per_sec.len() as u32 - 1;
        heartbeat(beat.at, beat.phase, client, *ops)
    })
}

/// The heartbeats of all procs, as heartbeat logs have them (`-q`).
pub fn all_heartbeats(beat: &Heartbeat) -> String {
    let front = heartbeat_front(beat.at, beat.phase);
    let mut out = String::new();
    for (client, ops) in (0u32..).zip(&beat.ops_per_sec) {
        let _ = writeln!(out, "{front}{client}: {ops:.3} Ops/sec");
    }
    out
}

/// RUN has ended.
pub fn tests_finished(at: Timestamp) -> String {
    format!("    Tests finished: {}\n", at.classical())
}

/// The figures of all procs together, and the latency bands.
pub fn overall_block(benchmark: &Benchmark, stats: &PointStats) -> String {
    let moved = Throughput::of(stats);
    let service = stats.service();
    let mut out = String::from(RULE);
    for (what, figure, unit) in [
        (
            "Overall average latency",
            service.mean_ns() / 1e6,
            "Milli-seconds",
        ),
        ("Overall Ops/sec", stats.achieved_ops_per_sec(), "Ops/sec"),
        ("Overall Read throughput   ~", moved.read, "Kbytes/sec"),
        ("Overall Write throughput  ~", moved.write, "Kbytes/sec"),
        ("Overall throughput        ~", moved.total(), "Kbytes/sec"),
    ] {
        let _ = writeln!(out, "    {what:<28} {figure:>14.3} {unit}");
    }
    let print = short_fingerprint(benchmark);
    let _ = writeln!(out, "    {:<28} {print:>14}", "Public Finger Print");
    out.push_str(RULE);
    out.push_str(&band_lines(&service));
    out.push_str(RULE);
    out
}

#[cfg(test)]
mod tests;
