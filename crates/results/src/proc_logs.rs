//! The logs of every proc of a composite, as netmist writes them (manual N,
//! section 19): its results, its workload's operations, its progress; and the
//! log of all heartbeats (`-q`).
//!
//! A netmist "client" is one proc; its figures come from [`ProcOps`].

use crate::console::{self, parameter_bytes};
use crate::figures::{KB, Planned, units};
use crate::heartbeat::Heartbeat;
use crate::op_names::{CLIENT_NAMES, WORKLOAD_NAMES};
use crate::record::{Phase, PointRecord, RunRecord};
use crate::time::Timestamp;
use crate::timeline::{TimelineEntry, marks};
use filermark_model::composite::{Component, DataSet};
use filermark_model::plan::LoadPoint;
use filermark_model::stats::{ProcOp, ProcOps};
use filermark_model::text::one_line;
use filermark_model::{NOT_A_SPEC_RESULT, Op, RunPlan, TransferTable};
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
    /// `netmist_C<n>`: its progress.
    pub progress: String,
}

/// The logs of proc `number`; `None` when the plan has no such proc.
pub fn proc_logs(record: &RunRecord, number: u32) -> Option<ProcLogs> {
    of_points(&points_of(record), record, number)
}

/// The logs of every proc with its number, one after the other.
pub(crate) fn all_proc_logs(record: &RunRecord) -> impl Iterator<Item = (u32, ProcLogs)> + '_ {
    let points = points_of(record);
    let plan = &record.run.plan;
    let count = plan.busy_proc_count().min(plan.procs.len() as u32);
    (0..count).filter_map(move |number| Some((number, of_points(&points, record, number)?)))
}

fn points_of(record: &RunRecord) -> Vec<PointLogs<'_>> {
    let points = record.run.plan.points.iter();
    points.map(|load| PointLogs::of(record, *load)).collect()
}

fn of_points(points: &[PointLogs<'_>], record: &RunRecord, number: u32) -> Option<ProcLogs> {
    let mut logs = ProcLogs {
        workload: component(&record.run.plan, number)?.workload.name.clone(),
        results: String::new(),
        operations: String::new(),
        progress: String::new(),
    };
    for part in points.iter().filter_map(|point| point.of_proc(number)) {
        logs.results.push_str(&part.results);
        logs.operations.push_str(&part.operations);
        logs.progress.push_str(&part.progress);
    }
    for text in [&mut logs.results, &mut logs.operations, &mut logs.progress] {
        let _ = writeln!(text, "{NOT_A_SPEC_RESULT}");
    }
    Some(logs)
}

/// The component of a proc.
fn component(plan: &RunPlan, number: u32) -> Option<&Component> {
    let proc = plan.procs.get(number as usize)?;
    let components = &plan.benchmark.composite()?.components;
    components.get(proc.component as usize)
}

/// The data of one load point, for the logs of all procs.
pub(crate) struct PointLogs<'a> {
    record: &'a RunRecord,
    load: LoadPoint,
    point: Option<&'a PointRecord>,
    marks: Vec<(Timestamp, TimelineEntry)>,
    heartbeats: Vec<(&'a Heartbeat, String)>,
    texts: ProcTexts,
}

impl<'a> PointLogs<'a> {
    /// For this load point.
    pub fn of(record: &'a RunRecord, load: LoadPoint) -> Self {
        let beats = record.heartbeats.iter().filter(|b| b.point == load.number);
        Self {
            record,
            load,
            point: record.points.iter().find(|p| p.load.number == load.number),
            marks: marks(record, load.number),
            heartbeats: beats.map(|b| (b, ProcTexts::heartbeat_prefix(b))).collect(),
            texts: ProcTexts::of(&record.run.plan),
        }
    }

    /// The part of this load point in the logs of a proc; `None`: it does not take part.
    pub fn of_proc(&self, number: u32) -> Option<ProcLogs> {
        let plan = &self.record.run.plan;
        let component = component(plan, number)?;
        if number >= plan.proc_count_at(self.load) {
            return None;
        }
        let mut logs = ProcLogs {
            workload: component.workload.name.clone(),
            results: String::new(),
            operations: String::new(),
            progress: self.progress(number),
        };
        let stats = self.point.and_then(|p| p.stats.as_ref());
        let own = stats.and_then(|s| {
            let at = s.proc_ops.binary_search_by_key(&number, |p| p.proc).ok()?;
            s.proc_ops.get(at)
        });
        if let (Some(point), Some(own)) = (self.point, own) {
            let case = ProcPoint {
                record: self.record,
                point,
                own,
                component,
            };
            case.results(&mut logs.results);
            case.operations(&mut logs.operations);
        }
        Some(logs)
    }

    fn progress(&self, number: u32) -> String {
        if self.marks.is_empty() {
            return String::new();
        }
        let plan = &self.record.run.plan;
        let marks = self.marks.iter().filter_map(|(at, mark)| {
            let text = self.texts.mark(plan, number, *at, *mark)?;
            Some((*at, Some(*mark), text))
        });
        let mut entries: Vec<(Timestamp, Option<TimelineEntry>, String)> = marks.collect();
        entries.extend(self.heartbeats.iter().filter_map(|(beat, front)| {
            let ops = beat.ops_per_sec.get(number as usize)?;
            Some((beat.at, None, ProcTexts::heartbeat_line(front, *ops)))
        }));
        entries.sort_by_key(|entry| (entry.0, entry.1));
        let mut out = self.texts.head(plan, number);
        out.extend(entries.into_iter().map(|(.., text)| text));
        out
    }
}

/// All heartbeats of all procs, one line each.
pub fn heartbeat_log(record: &RunRecord) -> String {
    let mut out = heartbeat_lines(record);
    let _ = writeln!(out, "{NOT_A_SPEC_RESULT}");
    out
}

/// The heartbeats without the notice, also during a run.
pub(crate) fn heartbeat_lines(record: &RunRecord) -> String {
    add_heartbeats(record.heartbeats.iter())
}

/// The heartbeats of one load point.
pub(crate) fn heartbeats_of(record: &RunRecord, number: u32) -> String {
    add_heartbeats(record.heartbeats.iter().filter(|b| b.point == number))
}

fn add_heartbeats<'a>(beats: impl Iterator<Item = &'a Heartbeat>) -> String {
    let mut out = String::new();
    let mut point = 0;
    beats.for_each(|beat| add_heartbeat(&mut out, beat, &mut point));
    out
}

/// Adds a heartbeat of all procs; `point` is the load point of the previous one.
pub(crate) fn add_heartbeat(out: &mut String, beat: &Heartbeat, point: &mut u32) {
    if std::mem::replace(point, beat.point) != beat.point {
        let _ = writeln!(out, "Load point {}", beat.point);
    }
    out.push_str(&console::all_heartbeats(beat));
}

/// One proc at one load point.
struct ProcPoint<'a> {
    record: &'a RunRecord,
    point: &'a PointRecord,
    own: &'a ProcOps,
    component: &'a Component,
}

impl ProcPoint<'_> {
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

/// The lines about the client's memory and the aggregate data set, as far as they are
/// known.
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

/// The number of transfers of this mean size that cover all files of a bucket, in whole
/// transfers per file (manual N, section 19: files of 352 kbytes and reads of 13 give 27000).
fn min_ops(component: &Component, table: &TransferTable) -> u64 {
    let mean = (table.mean_bytes() / KB).round().max(1.0) as u64;
    let per_file = component.file_bytes / 1024 / mean;
    component.files_per_bucket().saturating_mul(per_file)
}

/// The texts of the progress logs; texts that differ only by component are made once.
#[derive(Debug)]
pub(crate) struct ProcTexts {
    /// The text after the proc's number in the first line, and the lines below it.
    heads: Vec<String>,
    /// The number of operations that cover all files, printed when INIT has ended.
    min_ops: Vec<String>,
}

impl ProcTexts {
    /// Of the components of a plan.
    pub fn of(plan: &RunPlan) -> Self {
        let work = plan.benchmark.composite();
        let components = work.map_or(&[][..], |work| &work.components);
        let mean = |table: &TransferTable| table.mean_bytes() / KB;
        let head = |(at, c): (usize, &Component)| {
            let workload = &c.workload;
            format!(
                "My_workload id {at} Name: {}\n\
                 Average read size  = {:.0} Kbytes\nAverage write size = {:.0} Kbytes\n",
                one_line(&workload.name),
                mean(&workload.read_transfers),
                mean(&workload.write_transfers),
            )
        };
        let least = |c: &Component| {
            let reads = min_ops(c, &c.workload.read_transfers);
            let writes = min_ops(c, &c.workload.write_transfers);
            format!("Min Read ops  = {reads}\nMin Write ops = {writes}\n")
        };
        Self {
            heads: components.iter().enumerate().map(head).collect(),
            min_ops: components.iter().map(least).collect(),
        }
    }

    /// The begin of the part of a load point in the log of a proc.
    pub fn head(&self, plan: &RunPlan, number: u32) -> String {
        let text = of_proc(&self.heads, plan, number);
        format!("{RULE}Client {number}: {text}")
    }

    /// The progress of the load point, if the log has a line for it.
    pub fn mark(
        &self,
        plan: &RunPlan,
        number: u32,
        at: Timestamp,
        mark: TimelineEntry,
    ) -> Option<String> {
        let mut text = mark_text(at, mark)?;
        if mark == TimelineEntry::InitEnds {
            text.push_str(of_proc(&self.min_ops, plan, number));
        }
        Some(text)
    }

    /// The prefix of a heartbeat's lines, in the logs of all procs.
    pub fn heartbeat_prefix(beat: &Heartbeat) -> String {
        let phase = match beat.phase {
            Phase::Warmup => "warm-up ",
            _ => "",
        };
        format!("{} {phase}", beat.at.classical())
    }

    /// A heartbeat of one proc.
    pub fn heartbeat_line(front: &str, ops_per_sec: f64) -> String {
        format!("{front}{ops_per_sec:.3} Ops/sec\n")
    }
}

/// The text of a proc's component.
fn of_proc<'a>(texts: &'a [String], plan: &RunPlan, number: u32) -> &'a str {
    let proc = plan.procs.get(number as usize);
    let text = proc.and_then(|proc| texts.get(proc.component as usize));
    text.map_or("", String::as_str)
}

/// The line of a progress log, if there is one for this mark.
fn mark_text(at: Timestamp, mark: TimelineEntry) -> Option<String> {
    let at = at.classical();
    let text = match mark {
        TimelineEntry::InitBegins => format!("{at}\n"),
        TimelineEntry::InitEnds => format!("{at} Finished client init files\n"),
        TimelineEntry::WarmBegins => format!("{at} Starting warm-up phase.\n"),
        TimelineEntry::RunBegins => format!("{at} Starting run phase\n"),
        TimelineEntry::RunPercent(n) if n < 100 => format!("{at} -> {n} percent complete\n"),
        TimelineEntry::Finished => format!("{at} Client reporting results.\n"),
        TimelineEntry::TestingBegins
        | TimelineEntry::WarmPercent(_)
        | TimelineEntry::RunPercent(_) => return None,
    };
    Some(text)
}

#[cfg(test)]
mod tests;
