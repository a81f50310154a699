//! The logs of every proc of a composite, as netmist leaves them (seed 002,
//! section 19): its results, its workload's operations, its progress; and the
//! log of all heartbeats (`-q`).
//!
//! A netmist "client" is one proc; what it did comes from [`ProcOps`].

use crate::console::{self, parameter_bytes};
use crate::figures::{KB, Planned, units};
use crate::op_names::{CLIENT_NAMES, WORKLOAD_NAMES};
use crate::record::{Phase, PointRecord, RunRecord};
use crate::text::one_line;
use crate::time::Timestamp;
use crate::timeline::{Mark, marks};
use filermark_model::composite::{Component, DataSet};
use filermark_model::plan::LoadPoint;
use filermark_model::stats::{ProcOp, ProcOps};
use filermark_model::{NOT_A_SPEC_RESULT, Op, TransferTable};
use std::fmt::Write as _;

const GIB: u64 = 1 << 30;
const RULE: &str = "-----------------------------------------------\n";

/// The three logs of one proc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcLogs {
    /// The name of its workload.
    pub workload: String,
    /// `client_<n>`: what it did, and how often it accessed its files.
    pub results: String,
    /// `Workload_<NAME>_<n>`: its operations and their latencies.
    pub operations: String,
    /// `netmist_C<n>`: how it got on.
    pub progress: String,
}

/// The logs of proc `number`; `None` when the plan has no such proc.
pub fn proc_logs(record: &RunRecord, number: u32) -> Option<ProcLogs> {
    let plan = &record.run.plan;
    let proc = plan.procs.get(number as usize)?;
    let work = plan.benchmark.composite()?;
    let component = work.components.get(proc.component as usize)?;
    let mut logs = ProcLogs {
        workload: component.workload.name.clone(),
        results: String::new(),
        operations: String::new(),
        progress: String::new(),
    };
    for load in &plan.points {
        if number >= plan.proc_count_at(*load) {
            continue;
        }
        progress(&mut logs.progress, record, *load, number, component);
        let point = record.points.iter().find(|p| p.load.number == load.number);
        let stats = point.and_then(|p| p.stats.as_ref());
        let own = stats.and_then(|s| {
            let at = s.proc_ops.binary_search_by_key(&number, |p| p.proc).ok()?;
            s.proc_ops.get(at)
        });
        if let (Some(point), Some(own)) = (point, own) {
            let case = Case {
                record,
                point,
                own,
                component,
            };
            case.results(&mut logs.results);
            case.operations(&mut logs.operations);
        }
    }
    for text in [&mut logs.results, &mut logs.operations, &mut logs.progress] {
        let _ = writeln!(text, "{NOT_A_SPEC_RESULT}");
    }
    Some(logs)
}

/// The progress of a proc at one load point, as far as it is known; `None`: it does not
/// take part.
pub(crate) fn live_progress(record: &RunRecord, point: u32, number: u32) -> Option<String> {
    let plan = &record.run.plan;
    let load = *plan.points.iter().find(|p| p.number == point)?;
    let proc = plan.procs.get(number as usize)?;
    let component = plan
        .benchmark
        .composite()?
        .components
        .get(proc.component as usize)?;
    if number >= plan.proc_count_at(load) {
        return None;
    }
    let mut out = String::new();
    progress(&mut out, record, load, number, component);
    Some(out)
}

/// All heartbeats of all procs, a line each.
pub fn heartbeat_log(record: &RunRecord) -> String {
    let mut out = heartbeat_lines(record);
    let _ = writeln!(out, "{NOT_A_SPEC_RESULT}");
    out
}

/// The same of a run that goes on.
pub(crate) fn heartbeat_lines(record: &RunRecord) -> String {
    let mut out = String::new();
    let mut point = 0;
    for beat in &record.heartbeats {
        if beat.point != point {
            point = beat.point;
            let _ = writeln!(out, "Load point {point}");
        }
        out.push_str(&console::all_heartbeats(beat));
    }
    out
}

/// One proc at one load point.
struct Case<'a> {
    record: &'a RunRecord,
    point: &'a PointRecord,
    own: &'a ProcOps,
    component: &'a Component,
}

impl Case<'_> {
    fn window_seconds(&self) -> f64 {
        let ns = self.point.stats.as_ref().map_or(0, |s| s.window_ns);
        (ns as f64 / 1e9).max(1e-9)
    }

    fn head(&self, out: &mut String) {
        let plan = &self.record.run.plan;
        let planned = Planned::of(plan, self.point.load);
        out.push_str(RULE);
        let _ = writeln!(
            out,
            "Load point {}: {}",
            self.point.load.number,
            units(planned.business_metric, &one_line(&plan.benchmark.unit))
        );
        if let Some(reason) = self.point.failure() {
            let _ = writeln!(out, "FAILED: {}", one_line(reason));
        }
    }

    fn op(&self, op: Op) -> Option<&ProcOp> {
        self.own.ops.iter().find(|o| o.op == op)
    }

    fn total(&self, of: impl Fn(&ProcOp) -> u64) -> u64 {
        self.own.ops.iter().map(of).fold(0, u64::saturating_add)
    }

    /// The mean service time of all operations, in milliseconds.
    fn mean_ms(&self) -> f64 {
        let count = self.total(|o| o.success_count).max(1);
        self.total(|o| o.service_sum_ns) as f64 / count as f64 / 1e6
    }

    fn results(&self, out: &mut String) {
        self.head(out);
        let transfers = &self.component.workload.read_transfers;
        let plan = &self.record.run.plan;
        let _ = writeln!(
            out,
            "Client {} results:\n\
             Client process has {} initialized directories with a total of {} initialized files.\n\
             Client process total active data space = {} MiBytes\n\
             {}Warmup time {:.0} seconds.\n\
             {} total logical ops. File size {} kbytes, Record size {:.0} kbytes. Runtime {:.0} seconds",
            self.own.proc,
            self.own.dir_count,
            self.own.file_count,
            DataSet::mib(self.own.data_bytes),
            sizes(self.record, self.own.proc),
            self.point
                .warmup
                .map_or(plan.phases.warmup.as_secs_f64(), |w| w.length_ns as f64
                    / 1e9),
            self.total(|o| o.success_count),
            self.component.file_bytes / 1024,
            transfers.mean_bytes() / KB,
            self.window_seconds(),
        );
        self.throughputs(out);
        let _ = writeln!(out, "{}\nOps distribution:", self.point.ended.classical());
        for (op, name) in CLIENT_NAMES {
            let count = self.op(*op).map_or(0, |o| o.success_count);
            let _ = writeln!(out, "        {name:<20} = {count:>12}");
        }
        let total = self.total(|o| o.success_count);
        let _ = writeln!(out, "        {:<20} = {total:>12}", "Total file ops");
        let mean = self.mean_ms();
        let _ = writeln!(
            out,
            "        {:<20} = {mean:>12.3} milli seconds",
            "Average latency"
        );
        let failed = self.total(|o| o.error_count);
        let _ = writeln!(out, "        {:<20} = {failed:>12}", "Failed ops");
        self.accesses(out);
    }

    /// While the proc was reading or writing: bytes over the sum of service times.
    fn throughputs(&self, out: &mut String) {
        for (op, name) in CLIENT_NAMES {
            let Some(own) = self.op(*op) else { continue };
            let name = name.trim_end_matches(" ops");
            let seconds = (own.service_sum_ns as f64 / 1e9).max(1e-9);
            for (bytes, word) in [(own.read_bytes, "Read"), (own.written_bytes, "Write")] {
                if bytes > 0 {
                    let kib = bytes as f64 / KB;
                    let what = format!("{name} throughput");
                    let _ = writeln!(
                        out,
                        "{what:<26} = {:>10.0} kbytes/sec.  {word:<5} {kib:>12.0} kbytes total.",
                        kib / seconds
                    );
                }
            }
        }
    }

    fn accesses(&self, out: &mut String) {
        if self.own.accesses.is_empty() {
            return;
        }
        let _ = writeln!(out, "File accesses:");
        for (path, count) in &self.own.accesses {
            let _ = writeln!(out, "        {count:>10} {}", one_line(path));
        }
    }

    fn operations(&self, out: &mut String) {
        self.head(out);
        let total = self.total(|o| o.success_count);
        let name = one_line(&self.component.workload.name);
        let _ = writeln!(out, "{:<16} : {name}", "Workload name");
        let _ = writeln!(out, "{:<16} : {total:>12}", "Total Ops");
        let mean = self.mean_ms();
        let _ = writeln!(
            out,
            "{:<16} : {mean:>12.3} milli seconds",
            "Average latency"
        );
        let rate = total as f64 / self.window_seconds();
        let _ = writeln!(out, "{:<16} : {rate:>12.0}", "Ops/sec");
        for (op, name) in WORKLOAD_NAMES {
            let own = self.op(*op).filter(|o| o.success_count > 0);
            let count = own.map_or(0, |o| o.success_count);
            let latency = own.map_or("Not collected".into(), |o| {
                let seconds = o.service_sum_ns as f64 / 1e9 / o.success_count as f64;
                format!("{seconds:.6}")
            });
            let _ = writeln!(out, "{name:<16} : {count:>12}  Avg Latency: {latency}");
        }
    }
}

/// The lines about the client's memory and the aggregate data set, as far as the run
/// knows them.
fn sizes(record: &RunRecord, proc: u32) -> String {
    let plan = &record.run.plan;
    let here = plan.procs.get(proc as usize).map(|p| p.client as usize);
    let host = here.and_then(|client| record.environments.get(client));
    let memory = parameter_bytes(plan, "CLIENT_MEM").or(host.map(|e| e.memory_bytes));
    let lines = [
        ("Client memory size", memory.filter(|bytes| *bytes > 0)),
        (
            "Adjusted aggregate data set size",
            parameter_bytes(plan, "AGGR_CAP"),
        ),
    ];
    let mut out = String::new();
    for (what, bytes) in lines {
        let Some(bytes) = bytes else { continue };
        let _ = match bytes >= GIB && bytes % GIB == 0 {
            true => writeln!(out, "{what} = {} GiBytes", bytes / GIB),
            false => writeln!(out, "{what} = {} MiBytes", DataSet::mib(bytes)),
        };
    }
    out
}

/// As many transfers of this mean size as go through all files of a bucket, in whole
/// transfers per file (seed 002, section 19: files of 352 kbytes and reads of 13 make 27000).
fn min_ops(component: &Component, table: &TransferTable) -> u64 {
    let mean = (table.mean_bytes() / KB).round().max(1.0) as u64;
    let per_file = component.file_bytes / 1024 / mean;
    component.files_per_bucket().saturating_mul(per_file)
}

fn progress(
    out: &mut String,
    record: &RunRecord,
    load: LoadPoint,
    number: u32,
    component: &Component,
) {
    let proc = &record.run.plan.procs[number as usize];
    let marks = marks(record, load.number);
    if marks.is_empty() {
        return;
    }
    let mean = |table: &TransferTable| table.mean_bytes() / KB;
    let workload = &component.workload;
    let _ = write!(
        out,
        "{RULE}Client {number}: My_workload id {} Name: {}\n\
         Average read size  = {:.0} Kbytes\nAverage write size = {:.0} Kbytes\n",
        proc.component,
        one_line(&workload.name),
        mean(&workload.read_transfers),
        mean(&workload.write_transfers),
    );
    let mut entries: Vec<(Timestamp, Option<Mark>, String)> = marks
        .into_iter()
        .filter_map(|(at, mark)| {
            let mut text = mark_text(at, mark)?;
            if mark == Mark::InitEnds {
                let reads = min_ops(component, &workload.read_transfers);
                let writes = min_ops(component, &workload.write_transfers);
                let _ = write!(text, "Min Read ops  = {reads}\nMin Write ops = {writes}\n");
            }
            Some((at, Some(mark), text))
        })
        .collect();
    let beats = record.heartbeats.iter().filter(|b| b.point == load.number);
    entries.extend(beats.filter_map(|beat| {
        let ops = beat.ops_per_sec.get(number as usize)?;
        let phase = match beat.phase {
            Phase::Warmup => "warm-up ",
            _ => "",
        };
        let text = format!("{} {phase}{ops:.3} Ops/sec\n", beat.at.classical());
        Some((beat.at, None, text))
    }));
    entries.sort_by_key(|entry| (entry.0, entry.1));
    out.extend(entries.into_iter().map(|(.., text)| text));
}

/// The line of a progress log, where there is one for this mark.
fn mark_text(at: Timestamp, mark: Mark) -> Option<String> {
    let at = at.classical();
    let text = match mark {
        Mark::InitBegins => format!("{at}\n"),
        Mark::InitEnds => format!("{at} Finished client init files\n"),
        Mark::WarmBegins => format!("{at} Starting warm-up phase.\n"),
        Mark::RunBegins => format!("{at} Starting run phase\n"),
        Mark::RunPercent(n) if n < 100 => format!("{at} -> {n} percent complete\n"),
        Mark::Finished => format!("{at} Client reporting results.\n"),
        Mark::TestingBegins | Mark::WarmPercent(_) | Mark::RunPercent(_) => return None,
    };
    Some(text)
}

#[cfg(test)]
#[path = "proc_logs_tests.rs"]
mod tests;
