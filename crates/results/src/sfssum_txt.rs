//! `sfssum_<suffix>.txt`: 17 columns per load point, as the 2014 generation has
//! them (sources.md 3.9, slides E); the last one is empty or `INVALID_RUN`.
//!
//! Data that classical readers cannot read is below the rows, in lines that
//! begin with `#`.

use crate::console::short_fingerprint;
use crate::figures::{Planned, Throughput, plain};
use crate::record::{PointRecord, RunRecord};
use crate::sfssum::{reasons, verdict_line};
use filermark_model::composite::DataSet;
use filermark_model::text::one_line;
use filermark_model::{NOT_A_SPEC_RESULT, PointStats};
use std::fmt::Write as _;

/// The last column of a load point that does not count.
pub const INVALID_RUN: &str = "INVALID_RUN";
/// The head, and with it the columns' right edges.
const HEAD: &str = concat!(
    "  Business    Requested     Achieved     Avg Lat       Total          Read        Write   Run    #    Cl   Avg File      Cl Data   Start Data    Init File     Max File   Workload       Valid\n",
    "    Metric      Op Rate      Op Rate        (ms)        KBps          KBps         KBps   Sec   Cl  Proc    Size KB      Set MiB      Set MiB      Set MiB    Space MiB       Name         Run\n",
);

/// The whole file.
pub fn sfssum_txt(record: &RunRecord) -> String {
    let mut out = HEAD.to_owned();
    let mut remarks = String::new();
    for point in &record.points {
        let load = plain(Planned::of(&record.run.plan, point.load).business_metric);
        match point.measured() {
            Some(stats) => {
                let row = format_row(&Row::of(record, point, stats));
                let _ = writeln!(out, "{}", row.trim_end());
                if !point.is_valid() {
                    let _ = writeln!(remarks, "# {load} INVALID: {}", reasons(point));
                }
            }
            None => {
                let reason = one_line(point.failure().unwrap_or_default());
                let _ = writeln!(remarks, "# {load} FAILED: {reason}");
            }
        }
    }
    out.push_str(&remarks);
    let _ = writeln!(out, "{}", verdict_line(record));
    let benchmark = &record.run.plan.benchmark;
    let _ = writeln!(
        out,
        "# business metric: {}; definition version {}, finger print {}",
        one_line(&benchmark.unit),
        benchmark.version,
        short_fingerprint(benchmark)
    );
    let _ = writeln!(out, "# {NOT_A_SPEC_RESULT}");
    out
}

/// The columns, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub business_metric: f64,
    /// 0: no limit.
    pub requested: f64,
    pub achieved: f64,
    pub mean_ms: f64,
    pub moved: Throughput,
    pub run_seconds: f64,
    pub client_count: usize,
    pub procs_per_client: u32,
    pub file_kib: u64,
    pub data: DataSet,
    pub workload: String,
    pub valid: bool,
}

impl Row {
    pub(crate) fn of(record: &RunRecord, point: &PointRecord, stats: &PointStats) -> Self {
        let plan = &record.run.plan;
        let planned = Planned::of(plan, point.load);
        // A name with blanks would be two columns.
        let name = one_line(&plan.benchmark.name);
        let workload: Vec<&str> = name.split_whitespace().collect();
        Self {
            business_metric: planned.business_metric,
            requested: planned.requested.unwrap_or(0.0),
            achieved: stats.achieved_ops_per_sec(),
            mean_ms: stats.service().mean_ns() / 1e6,
            moved: Throughput::of(stats),
            run_seconds: (stats.window_ns as f64 / 1e9).round(),
            client_count: planned.client_count,
            procs_per_client: planned.procs_per_client,
            file_kib: planned.file_kib,
            data: planned.data,
            workload: workload.join("_"),
            valid: point.is_valid(),
        }
    }
}

fn format_row(r: &Row) -> String {
    format!(
        "{:>10} {:>12.2} {:>12.3} {:>11.3} {:>11.3} {:>13.3} {:>12.3} {:>5.0} {:>4} {:>5} {:>10} {:>12} {:>12} {:>12} {:>12} {:>10} {:>11}",
        plain(r.business_metric),
        r.requested,
        r.achieved,
        r.mean_ms,
        r.moved.total(),
        r.moved.read,
        r.moved.write,
        r.run_seconds,
        r.client_count,
        r.procs_per_client,
        r.file_kib,
        DataSet::mib(r.data.client_bytes),
        DataSet::mib(r.data.start_bytes),
        DataSet::mib(r.data.init_bytes),
        DataSet::mib(r.data.max_bytes),
        r.workload,
        if r.valid { "" } else { INVALID_RUN },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::composite::{composite_record, stream_record};

    fn rows(text: &str) -> Vec<Vec<&str>> {
        let rows = text.lines().skip(2).filter(|l| !l.starts_with('#'));
        rows.map(|l| l.split_whitespace().collect()).collect()
    }

    /// Slides E: the space columns of SWBUILD LOAD 2 and of VDA 9 and 18.
    #[test]
    fn space_columns_match_the_seed() {
        let text = sfssum_txt(&composite_record());
        let builds = rows(&text);
        assert_eq!(builds[1][0..2], ["2", "1000.00"]);
        let space = ["2", "5", "16", "4296", "8593", "8593", "9375", "SWBUILD"];
        assert_eq!(builds[1][8..], space);
        let text = sfssum_txt(&stream_record());
        let streams = rows(&text);
        assert_eq!(streams[0][0..2], ["9", "90.00"]);
        let space = "1 18 1048576 202752 202752 202752 221184 VDA";
        assert_eq!(streams[0][8..].join(" "), space);
        let space = "1 36 1048576 405504 405504 405504 442368 VDA";
        assert_eq!(streams[1][8..].join(" "), space);
    }

    /// A row of the seed as printed, except for its blanks.
    #[test]
    fn a_row_looks_like_the_seeds() {
        let record = stream_record();
        let point = &record.points[0];
        let mut row = Row::of(&record, point, point.measured().unwrap());
        (row.achieved, row.mean_ms, row.run_seconds) = (90.071, 0.798, 300.0);
        row.moved = Throughput {
            read: 3647.205,
            write: 37952.037,
        };
        let line = format_row(&row);
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            words.join(" "),
            "9 90.00 90.071 0.798 41599.242 3647.205 37952.037 300 1 18 1048576 202752 202752 202752 221184 VDA"
        );
        // Every figure ends below the end of its head, in all columns.
        let ends = |line: &str| -> Vec<usize> {
            let chars: Vec<char> = line.chars().chain([' ']).collect();
            let end = |i: &usize| chars[*i] != ' ' && chars[i + 1] == ' ';
            (0..chars.len() - 1).filter(end).collect()
        };
        for head in HEAD.lines() {
            assert_eq!(head.len(), HEAD.lines().next().unwrap().len());
            let head = ends(head);
            assert!(ends(&line).iter().all(|end| head.contains(end)), "{line}");
        }
    }

    #[test]
    fn readers_that_split_at_blanks_find_16_or_17_columns() {
        let text = sfssum_txt(&composite_record());
        let rows = rows(&text);
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [16, 16, 17]);
        assert_eq!(rows[2][16], INVALID_RUN);
        for row in &rows {
            assert!(
                row[..15].iter().all(|c| c.parse::<f64>().is_ok()),
                "{row:?}"
            );
        }
        assert!(text.contains("# 4 FAILED: INIT on node2"));
        assert!(text.contains("# 3 INVALID: "));
    }

    #[test]
    fn odd_names_stay_one_column() {
        let mut record = stream_record();
        record.run.plan.benchmark.name = "my own\nbench\x1b[2J".into();
        record.run.plan.benchmark.unit = "X\nY".into();
        record.points[0].load.units = 0.0;
        let text = sfssum_txt(&record);
        assert_eq!(rows(&text)[0].len(), 16);
        assert_eq!(rows(&text)[0][0], "18", "the procs, where there is no unit");
        assert!(!text.contains('\x1b') && text.contains("metric: X Y;"));
    }
}
