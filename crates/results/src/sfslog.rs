//! `sfslog`: per load point the table of operations and the summary block of
//! the 2008 generation (manual M, section 4.4), and below it what that
//! generation did not print: percentiles, counters, findings.

use crate::classical;
use crate::record::{PointRecord, RunRecord};
use crate::text::{finding_line, severity_label};
use filermark_model::counter::{
    COMMIT_FAILURES, COMMITS, END_COMMITS, END_LOST_WRITES, LOST_WRITES, READ_COMMITS,
    UNCOMMITTED_WRITES, WRITE_COMMITS,
};
use filermark_model::plan::{IpChoice, Target};
use filermark_model::text::one_line;
use filermark_model::{Figure, NOT_A_SPEC_RESULT, Op, OpStats, PointStats};
use std::fmt::Write as _;

/// Columns of the table of operations after the name.
const FIGURES_WIDTH: usize = 94;
/// The head of the table of operations.
const HEAD: &[[&str; 9]] = &[
    [
        "Target",
        "Actual",
        "Logical",
        "Physical",
        "",
        "Mean",
        "Std Dev",
        "Std Error of",
        "Pcnt",
    ],
    [
        "Mix",
        "Mix",
        "Success",
        "Success",
        "Error",
        "Response",
        "Response",
        "Mean,95% Conf",
        "of",
    ],
    [
        "Pcnt",
        "Pcnt",
        "Count",
        "Count",
        "Count",
        "Msec/Op",
        "Msec/Op",
        "+-Msec/Op",
        "Total",
    ],
];
/// The head over SMB; # is replaced by the protocol's name.
const HEAD_SMB: &[[&str; 9]] = &[
    [
        "Target",
        "Actual",
        "# Op",
        "# Op",
        "",
        "Mean",
        "Std Dev",
        "Std Error",
        "",
    ],
    [
        "#", "#", "Logical", "Physical", "# Op", "Response", "Response", "of Mean,", "Pcnt",
    ],
    [
        "Mix", "Mix", "Success", "Success", "Error", "Time", "Time", "95% Conf", "of",
    ],
    [
        "Pcnt",
        "Pcnt",
        "Count",
        "Count",
        "Count",
        "Msec/Op",
        "Msec/Op",
        "+-Msec/Op",
        "Total",
    ],
];
/// Bytes in the classical logs' MB.
const MB: f64 = (1u64 << 20) as f64;

/// The whole file.
pub fn sfslog(record: &RunRecord) -> String {
    let mut out = String::new();
    for point in &record.points {
        section(&mut out, record, point);
    }
    let run_findings: Vec<_> = record.run_findings().collect();
    if !run_findings.is_empty() {
        let _ = writeln!(out, "FINDINGS ABOUT THE RUN:");
        for finding in run_findings {
            let _ = writeln!(
                out,
                "  {}: {}",
                severity_label(finding.severity),
                finding_line(finding)
            );
        }
        out.push('\n');
    }
    let heritage = record.run.plan.benchmark.heritage_rows();
    if !heritage.is_empty() {
        let _ = writeln!(out, "THE BENCHMARK:");
        for (name, text) in heritage {
            let _ = writeln!(out, "  {}: {}", name.to_lowercase(), one_line(&text));
        }
        out.push('\n');
    }
    if let Some(line) = classical::line(record) {
        let _ = writeln!(out, "{line}");
    }
    let _ = writeln!(out, "{NOT_A_SPEC_RESULT}");
    out
}

fn section(out: &mut String, record: &RunRecord, point: &PointRecord) {
    let _ = writeln!(
        out,
        "Filermark Aggregate Results for {} Client(s), {}",
        record.run.plan.clients.len(),
        point.ended.classical()
    );
    let _ = writeln!(
        out,
        "{} Protocol, load point {}\n",
        protocol(record),
        point.load.number
    );
    match point.measured() {
        Some(stats) => {
            op_table(out, record, stats);
            summary(out, record, point, stats);
            percentiles(out, record, stats);
            commits(out, record, stats);
            remarks(out, point, stats);
        }
        None => {
            let _ = writeln!(
                out,
                "FAILED: {}",
                one_line(point.failure().unwrap_or_default())
            );
            let _ = writeln!(
                out,
                "AGGREGATE REQUESTED LOAD: {:.0} Ops/Sec",
                point.load.requested.0
            );
        }
    }
    let _ = writeln!(out, "\n{}\n", rule(record));
}

/// The width of an operation's name: over SMB as in the seed's sample, which truncates
/// the longest one.
fn name_width(record: &RunRecord) -> usize {
    match record.run.plan.benchmark.protocol.is_sequential() {
        true => 30,
        false => 14,
    }
}

/// An operation as the logs of this protocol name it.
fn op_name(record: &RunRecord, op: Op) -> String {
    let name = record.run.plan.benchmark.protocol.op_name(op);
    name.to_uppercase().chars().take(30).collect()
}

fn rule(record: &RunRecord) -> String {
    "-".repeat(name_width(record) + FIGURES_WIDTH)
}

fn protocol(record: &RunRecord) -> &'static str {
    match protocol_name(record) {
        "NFS2" => "NFS V2",
        "NFS3" => "NFS V3",
        other => other,
    }
}

fn op_table(out: &mut String, record: &RunRecord, stats: &PointStats) {
    let (mix, width) = (&record.run.plan.benchmark.mix, name_width(record));
    let smb = record.run.plan.benchmark.protocol.is_sequential();
    let (name, head) = match smb {
        true => (protocol(record), HEAD_SMB),
        false => ("", HEAD),
    };
    for (i, row) in head.iter().enumerate() {
        let first = match i + 1 == head.len() {
            true => format!("{name} Op Type").trim_start().to_owned(),
            false => String::new(),
        };
        let [
            target,
            actual,
            logical,
            physical,
            error,
            mean,
            dev,
            conf,
            total,
        ] = row.map(|word| word.replace('#', name));
        let _ = writeln!(
            out,
            "{first:<width$} {target:>6}  {actual:>6}  {logical:>11}  {physical:>11}  {error:>7} {mean:>9} {dev:>11} {conf:>13} {total:>11}"
        );
    }
    let _ = writeln!(out, "{}", rule(record));
    let total = stats.success_count().max(1) as f64;
    let time_ns: u64 = stats.ops.iter().map(|o| o.service.sum_ns()).sum();
    for o in rows(record, stats) {
        let _ = writeln!(
            out,
            "{:<width$} {:>5.1}%  {:>5.1}%  {:>11}  {:>11}  {:>7} {:>9.2} {:>11.2} {:>13.2} {:>10.1}%",
            op_name(record, o.op),
            mix.percent(o.op),
            100.0 * o.success_count as f64 / total,
            o.success_count,
            o.physical_count,
            o.error_count,
            o.service.mean_ns() / 1e6,
            o.service.std_dev_ns() / 1e6,
            o.service.mean_confidence95_ns() / 1e6,
            100.0 * o.service.sum_ns() as f64 / time_ns.max(1) as f64,
        );
    }
}

/// The measured operations, and those of the mix that never occurred.
fn rows(record: &RunRecord, stats: &PointStats) -> Vec<OpStats> {
    let benchmark = &record.run.plan.benchmark;
    let missing = benchmark
        .mix
        .shares()
        .iter()
        .filter(|(op, percent)| *percent > 0.0 && stats.op(*op).is_none());
    let mut rows: Vec<OpStats> = stats.ops.clone();
    rows.extend(missing.map(|(op, _)| OpStats::new(*op)));
    rows.sort_by_key(|o| benchmark.protocol.op_place(o.op));
    rows
}

fn summary(out: &mut String, record: &RunRecord, point: &PointRecord, stats: &PointStats) {
    let plan = &record.run.plan;
    let name = match protocol_name(record) {
        "NFS3" => "NFS",
        other => other,
    };
    let seconds = stats.window_ns as f64 / 1e9;
    let given = |name: &str| {
        let mut all = plan.parameters.iter();
        all.find(|(n, v)| n == name && !v.is_empty())
    };
    // The texts of the seed's sample (M, section 4.4), for the mix of every benchmark.
    let default = match given("BENCHMARK_FILE") {
        None => "SFS default",
        Some(_) => "benchmark default",
    };
    let mixfile = given("MIXFILE").map_or(default.into(), |(_, v)| one_line(v));
    let (base, end) = (
        stats.accessed_base_bytes as f64,
        stats.accessed_end_bytes as f64,
    );
    let carrier = plan.driver.facts().transport.unwrap_or_default().name();
    let of_base = if base > 0.0 {
        100.0 * end / base
    } else {
        100.0
    };
    let _ = write!(
        out,
        "
        ------------------------------------------
        |  FILERMARK AGGREGATE RESULTS SUMMARY   |
        ------------------------------------------
SFS {name} THROUGHPUT: {:.0} Ops/Sec   AVG. RESPONSE TIME: {:.1} Msec/Op
{carrier} PROTOCOL (IPv{})
{name} MIXFILE: [ {mixfile} ]
AGGREGATE REQUESTED LOAD: {:.0} Ops/Sec
TOTAL LOGICAL {name} OPERATIONS: {}   TEST TIME: {} Sec
TOTAL PHYSICAL {name} OPERATIONS: {}
PHYSICAL {name} IO THROUGHPUT: {:.0} Ops/sec
NUMBER OF SFS CLIENTS: {}
TOTAL FILE SET SIZE CREATED: {:.1} MB
TOTAL FILE SET SIZE ACCESSED: {:.1} - {:.1} MB (100.00% to {of_base:.2}% of Base)

",
        stats.achieved_ops_per_sec(),
        stats.service().mean_ns() / 1e6,
        ip_version(record),
        point.load.requested.0,
        stats.success_count(),
        stats.window_ns / 1_000_000_000,
        stats.physical_count(),
        stats.physical_count() as f64 / seconds.max(1e-9),
        plan.clients.len(),
        stats.fileset_bytes as f64 / MB,
        base / MB,
        end / MB,
    );
}

fn percentiles(out: &mut String, record: &RunRecord, stats: &PointStats) {
    let width = name_width(record);
    let _ = writeln!(
        out,
        "LATENCY PERCENTILES, Msec (service: reply - sent; response: reply - intended start)"
    );
    let _ = writeln!(
        out,
        "{:<width$} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} | {:>9} {:>9} {:>9}",
        "Op Type", "Svc 50%", "90%", "95%", "99%", "99.9%", "Max", "Rsp 50%", "99%", "Max"
    );
    let mut line = |name: &str,
                    service: &filermark_model::Latency,
                    response: &filermark_model::Latency| {
        let ms = |ns: u64| ns as f64 / 1e6;
        let bound = |figure: Figure| figure.ms().text(|ms| format!("{ms:.3}"));
        let _ = writeln!(
            out,
            "{name:<width$} {:>9.3} {:>9.3} {:>9.3} {:>9.3} {:>9.3} {:>9.3} | {:>9} {:>9} {:>9}",
            ms(service.percentile_ns(50.0)),
            ms(service.percentile_ns(90.0)),
            ms(service.percentile_ns(95.0)),
            ms(service.percentile_ns(99.0)),
            ms(service.percentile_ns(99.9)),
            ms(service.max_ns()),
            bound(response.percentile(50.0)),
            bound(response.percentile(99.0)),
            bound(response.max()),
        );
    };
    let mut ops: Vec<&OpStats> = stats.ops.iter().collect();
    ops.sort_by_key(|o| record.run.plan.benchmark.protocol.op_place(o.op));
    for o in ops {
        line(&op_name(record, o.op), &o.service, &o.response);
    }
    line("ALL", &stats.service(), &stats.response());
}

/// NFSv3: the COMMITs of the data written, apart from those of the mix. Earlier
/// records of definitions without COMMIT did not count them separately.
fn commits(out: &mut String, record: &RunRecord, stats: &PointStats) {
    let plan = &record.run.plan;
    let policy = plan.benchmark.classic().and_then(|c| c.commit);
    let Some(commit) = plan.driver.facts().commit else {
        return;
    };
    let counted = |name: &str| stats.counters.get(name).copied().unwrap_or(0);
    let (written, of_reads) = (counted(WRITE_COMMITS), counted(READ_COMMITS));
    let (lost, left) = (
        counted(LOST_WRITES) + counted(END_LOST_WRITES),
        counted(UNCOMMITTED_WRITES),
    );
    if policy.is_none() && written + of_reads + lost + left == 0 {
        return;
    }
    let _ = writeln!(out, "\nCOMMIT POLICY: {commit}");
    let _ = writeln!(
        out,
        "COMMITS: {written} for what was written, {} of them after the operations of RUN; {} of the mix",
        counted(END_COMMITS),
        counted(COMMITS).saturating_sub(written + of_reads),
    );
    let failed = counted(COMMIT_FAILURES);
    if of_reads > 0 || failed > 0 {
        let _ = writeln!(
            out,
            "OTHER COMMITS: {of_reads} of reads, to check for a restart of the server; {failed} failed"
        );
    }
    if lost > 0 || left > 0 {
        let _ = writeln!(
            out,
            "UNSTABLE WRITES: {lost} lost by the server and sent again, {left} not confirmed by a COMMIT"
        );
    }
}

fn remarks(out: &mut String, point: &PointRecord, stats: &PointStats) {
    let us = |ns: u64| ns as f64 / 1e3;
    let _ = writeln!(
        out,
        "\nSCHEDULE: starts late by {:.1} usec (median), {:.1} usec (99%), of which the generator's own {:.1} and {:.1}; schedules moved {} times",
        us(stats.lateness.percentile_ns(50.0)),
        us(stats.lateness.percentile_ns(99.0)),
        us(stats.wakeup.percentile_ns(50.0)),
        us(stats.wakeup.percentile_ns(99.0)),
        stats.rescheduled_count,
    );
    for (kind, n) in &stats.errors {
        let _ = writeln!(out, "ERRORS: {n} x {}", one_line(kind));
    }
    let _ = writeln!(out, "VALIDITY: {}", point.word());
    for finding in &point.findings {
        let _ = writeln!(
            out,
            "  {}: {}",
            severity_label(finding.severity),
            finding_line(finding)
        );
    }
}

/// `4` or `6`: the address family of the run's calls.
pub fn ip_version(record: &RunRecord) -> u8 {
    match record.run.plan.driver.facts().ip.unwrap_or(IpChoice::V4) {
        IpChoice::V4 => 4,
        IpChoice::V6 => 6,
        IpChoice::Any => {
            let mut servers = record.environments.iter().flat_map(|e| &e.servers);
            let v6 = servers.any(|s| s.addresses.first().is_some_and(|a| a.contains(':')));
            if v6 { 6 } else { 4 }
        }
    }
}

/// The protocol as the classical files write it; `NULL` if no server was
/// used.
pub fn protocol_name(record: &RunRecord) -> &'static str {
    match record.run.plan.driver.facts().target {
        Target::Nothing => "NULL",
        Target::Mounted | Target::Server => record.run.plan.benchmark.protocol.sfssum_name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sfssum::biods;
    use crate::testing;
    use filermark_model::plan::DriverPlan;

    #[test]
    fn the_address_family_follows_the_plan_and_the_servers() {
        let mut record = testing::record();
        assert_eq!((ip_version(&record), protocol_name(&record)), (4, "NFS3"));
        let DriverPlan::Nfs(nfs3) = &mut record.run.plan.driver else {
            panic!("the synthetic run uses NFSv3");
        };
        nfs3.ip = IpChoice::Any;
        assert_eq!(ip_version(&record), 4);
        record.environments[0].servers[0].addresses = vec!["2001:db8::7".into()];
        assert_eq!(ip_version(&record), 6);
        record.run.plan.driver = DriverPlan::NULL;
        assert_eq!((protocol_name(&record), biods(&record)), ("NULL", (0, 0)));
    }
}
