//! `sfssum`: one line of 14 columns per load point (manual M, section 4.4).
//!
//! Data that classical parsers cannot read is in lines that begin with `#`:
//! a load point that failed, the reasons of one that does not count, the shortfall of one
//! that counts, the verdict of the run (`# verdict: VALID, NOT STANDARD: RUNTIME=4`), and
//! the sentence that this is no SPEC result.

use crate::record::{PointRecord, RunRecord};
use crate::sfslog::{ip_version, protocol_name};
use crate::text::finding_line;
use filermark_model::benchmark::HERITAGE_NOTICE;
use filermark_model::text::one_line;
use filermark_model::{Finding, NOT_A_SPEC_RESULT, PointStats, Rule};
use std::fmt::Write as _;

/// Column 14. It names the version of the *format*, which parsers check; it is
/// not a claim about the benchmark.
const FORMAT_VERSION: &str = "2008";

/// The text before the verdict in a summary file.
pub(crate) const VERDICT_PREFIX: &str = "verdict: ";

/// The whole file.
pub fn sfssum(record: &RunRecord) -> String {
    let mut out = String::new();
    for point in &record.points {
        match point.measured() {
            Some(stats) => {
                let _ = writeln!(out, "{}", row(record, point, stats));
                if !point.is_valid() {
                    let _ = writeln!(out, "# INVALID: {}", reasons(point));
                }
                if let Some(below) = below_rate(point) {
                    let _ = writeln!(out, "# BELOW RATE: {below}");
                }
            }
            None => {
                let requested = point.load.requested.0;
                let reason = one_line(point.failure().unwrap_or_default());
                let _ = writeln!(out, "# {requested:.0} FAILED: {reason}");
            }
        }
    }
    let _ = writeln!(out, "{}", verdict_line(record));
    if let Some(heritage) = &record.run.plan.benchmark.heritage {
        let _ = writeln!(out, "# After {}", one_line(&heritage.generation));
        if let Some(line) = crate::classical::line(record) {
            let _ = writeln!(out, "# {}", one_line(&line));
        }
        let _ = writeln!(out, "# {HERITAGE_NOTICE}");
    }
    let _ = writeln!(out, "# {NOT_A_SPEC_RESULT}");
    out
}

/// The verdict of the run, as a comment of a summary file.
pub(crate) fn verdict_line(record: &RunRecord) -> String {
    format!("# {VERDICT_PREFIX}{}", record.verdict().line())
}

/// Why a point does not count, on one line.
pub(crate) fn reasons(point: &PointRecord) -> String {
    let invalid = point.findings.iter().filter(|f| f.invalidates());
    let reasons: Vec<_> = invalid.map(finding_line).collect();
    reasons.join("; ")
}

/// The achieved rate of a point below its requested rate, if that finding does not
/// invalidate it and is not among the [`reasons`].
pub(crate) fn below_rate(point: &PointRecord) -> Option<String> {
    let is_noted = |f: &&Finding| f.rule == Rule::AchievedRate && !f.invalidates();
    point.findings.iter().find(is_noted).map(finding_line)
}

fn row(record: &RunRecord, point: &PointRecord, stats: &PointStats) -> String {
    let (reads, writes) = biods(record);
    format_row(&Row {
        requested: point.load.requested.0,
        achieved: stats.achieved_ops_per_sec(),
        mean_ms: stats.service().mean_ns() / 1e6,
        op_count: stats.success_count(),
        seconds: stats.window_ns / 1_000_000_000,
        protocol: protocol_name(record),
        network: network(record),
        ip_version: ip_version(record),
        fileset_kib: stats.fileset_bytes / 1024,
        client_count: record.run.plan.clients.len(),
        proc_count: record.run.plan.procs_per_client,
        biod_reads: reads,
        biod_writes: writes,
    })
}

/// The columns, in their order.
struct Row {
    requested: f64,
    achieved: f64,
    mean_ms: f64,
    op_count: u64,
    seconds: u64,
    protocol: &'static str,
    /// `T` for TCP, `U` for UDP.
    network: char,
    ip_version: u8,
    fileset_kib: u64,
    client_count: usize,
    proc_count: u32,
    biod_reads: u32,
    biod_writes: u32,
}

fn format_row(r: &Row) -> String {
    format!(
        "{:>7.0} {:>8.0} {:>8.1} {:>10} {:>6} {:>4} {} {} {:>11} {:>4} {:>2} {:>2} {:>2} {FORMAT_VERSION}",
        r.requested,
        r.achieved,
        r.mean_ms,
        r.op_count,
        r.seconds,
        r.protocol,
        r.network,
        r.ip_version,
        r.fileset_kib,
        r.client_count,
        r.proc_count,
        r.biod_reads,
        r.biod_writes,
    )
}

/// The transport of the run's calls, in a letter: `T` for TCP, also if no network was
/// used, `U` for UDP.
pub fn network(record: &RunRecord) -> char {
    let transport = record.run.plan.driver.facts().transport;
    transport.unwrap_or_default().sfssum_letter()
}

/// BIOD_MAX_READS and BIOD_MAX_WRITES.
pub fn biods(record: &RunRecord) -> (u32, u32) {
    record.run.plan.driver.facts().biods
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use filermark_model::plan::{DriverPlan, Transport};

    /// The first line of the seed's sample, as printed.
    #[test]
    fn a_row_looks_like_the_guides_sample() {
        let row = Row {
            requested: 320.0,
            achieved: 320.6,
            mean_ms: 1.5,
            op_count: 96_187,
            seconds: 299,
            protocol: "CIFS",
            network: 'T',
            ip_version: 4,
            fileset_kib: 37_764_720,
            client_count: 4,
            proc_count: 10,
            biod_reads: 2,
            biod_writes: 2,
        };
        assert_eq!(
            format_row(&row).trim_start(),
            "320      321      1.5      96187    299 CIFS T 4    37764720    4 10  2  2 2008"
        );
    }

    #[test]
    fn column_7_is_the_transport_of_the_calls() {
        let mut record = testing::record();
        let DriverPlan::Nfs(nfs) = &mut record.run.plan.driver else {
            panic!("the synthetic run uses NFS");
        };
        nfs.transport = Transport::Udp;
        let text = sfssum(&record);
        let row: Vec<_> = text
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        assert_eq!(row[5..8], ["NFS3", "U", "4"]);
    }

    #[test]
    fn a_classical_parser_finds_14_columns_in_every_line_but_comments() {
        let text = sfssum(&testing::record());
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter(|l| !l.starts_with('#'))
            .map(|l| l.split_whitespace().collect())
            .collect();
        assert_eq!(rows.len(), 11);
        for row in rows {
            assert_eq!(row.len(), 14, "{row:?}");
            assert!(row[..5].iter().all(|c| c.parse::<f64>().is_ok()), "{row:?}");
            assert_eq!(row[5..8], ["NFS3", "T", "4"]);
        }
        assert!(text.contains("# INVALID: the mean service time is "));
        assert!(text.contains("# 1200 FAILED: INIT on client-a"));
    }
}
