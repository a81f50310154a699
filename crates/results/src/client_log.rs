//! `sfsc0001`, `sfsc0002` ...: what one client did, per load point: its
//! operations, its procs, its counters and its errors.

use crate::record::{ClientSummary, PointRecord, RunRecord};
use filermark_model::stats::ProcStats;
use filermark_model::text::one_line;
use filermark_model::units::counted;
use filermark_model::{NOT_A_SPEC_RESULT, PointStats};
use std::fmt::Write as _;

/// The log of client number `client`, from 1.
pub fn client_log(record: &RunRecord, client: u32) -> String {
    let mut out = String::new();
    let plan = &record.run.plan;
    let index = (client as usize).saturating_sub(1);
    let Some(host) = plan.clients.get(index) else {
        return format!("there is no client {client} in this run\n");
    };
    let _ = writeln!(
        out,
        "Client {client} of {}, {}, {}\n",
        plan.clients.len(),
        one_line(&host.name),
        counted(u64::from(plan.procs_per_client), "proc")
    );
    for point in &record.points {
        let _ = writeln!(
            out,
            "LOAD POINT {}: {:.0} Ops/Sec requested, {}",
            point.load.number,
            point.load.requested.0,
            point.ended.classical()
        );
        if let Some(reason) = point.failure() {
            let _ = writeln!(out, "FAILED: {}", one_line(reason));
        }
        match point.clients.iter().find(|c| c.client == client) {
            Some(summary) => {
                operations(&mut out, record, summary);
                procs(&mut out, record, point, summary);
                counters(&mut out, summary);
            }
            None => out.push_str("(no figures of this client)\n"),
        }
        out.push('\n');
    }
    let _ = writeln!(out, "{NOT_A_SPEC_RESULT}");
    out
}

fn operations(out: &mut String, record: &RunRecord, summary: &ClientSummary) {
    let protocol = record.run.plan.benchmark.protocol;
    let width = if protocol.is_sequential() { 31 } else { 14 };
    let seconds = summary.window_ns as f64 / 1e9;
    let cpu_seconds = summary.generator_cpu_ns as f64 / 1e9;
    let _ = writeln!(
        out,
        "{:.1} Ops/Sec over {seconds:.3} s, {}; {} took {cpu_seconds:.2} s of processor time; woken {:.1} usec late (median), {:.1} usec (99%)",
        summary.success_count() as f64 / seconds.max(1e-9),
        counted(summary.error_count(), "error"),
        counted(u64::from(summary.shard_count), "thread"),
        summary.wakeup_ns_p50 as f64 / 1e3,
        summary.wakeup_ns_p99 as f64 / 1e3,
    );
    let _ = writeln!(
        out,
        "{:<width$} {:>11} {:>11} {:>8} {:>12} {:>12} {:>10} {:>10}",
        "Op Type", "Logical", "Physical", "Errors", "Read KB", "Written KB", "Mean ms", "99% ms"
    );
    let mut ops: Vec<_> = summary.ops.iter().collect();
    ops.sort_by_key(|o| protocol.op_place(o.op));
    for o in ops {
        let _ = writeln!(
            out,
            "{:<width$} {:>11} {:>11} {:>8} {:>12} {:>12} {:>10.3} {:>10.3}",
            protocol.op_name(o.op).to_uppercase(),
            o.success_count,
            o.physical_count,
            o.error_count,
            o.read_bytes / 1024,
            o.written_bytes / 1024,
            o.service_ns_mean / 1e6,
            o.service_ns_p99 as f64 / 1e6,
        );
    }
}

fn procs(out: &mut String, record: &RunRecord, point: &PointRecord, summary: &ClientSummary) {
    let all = point
        .stats
        .as_ref()
        .map_or(&[][..], |s: &PointStats| &s.procs);
    let last = summary.first_proc.saturating_add(summary.proc_count);
    let mine = |p: &&ProcStats| (summary.first_proc..last).contains(&p.proc);
    let mounts = record
        .run
        .plan
        .clients
        .get(summary.client.saturating_sub(1) as usize);
    let _ = writeln!(
        out,
        "{:>6} {:>10} {:>10} {:>7} {:>8} {:>10} {:>10}  Mount point",
        "Proc", "Wanted", "Done", "Pcnt", "Errors", "Mean ms", "Max ms"
    );
    for p in all.iter().filter(mine) {
        let wanted = match p.wanted_count {
            0 => 0.0,
            n => 100.0 * p.success_count as f64 / n as f64,
        };
        let mount = mounts.and_then(|c| c.mounts.get((p.proc - summary.first_proc) as usize));
        let _ = writeln!(
            out,
            "{:>6} {:>10} {:>10} {wanted:>6.1}% {:>8} {:>10.3} {:>10.3}  {}",
            p.proc,
            p.wanted_count,
            p.success_count,
            p.error_count,
            p.service_sum_ns as f64 / p.success_count.max(1) as f64 / 1e6,
            p.service_max_ns as f64 / 1e6,
            one_line(&mount.map_or(String::new(), ToString::to_string)),
        );
    }
}

fn counters(out: &mut String, summary: &ClientSummary) {
    if !summary.counters.is_empty() {
        let all = summary.counters.iter();
        let all: Vec<_> = all.map(|(n, v)| format!("{}={v}", one_line(n))).collect();
        let _ = writeln!(out, "Counters: {}", all.join(" "));
    }
    for (kind, n) in &summary.errors {
        let _ = writeln!(out, "Errors: {n} x {}", one_line(kind));
    }
}
