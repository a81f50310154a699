//! The load points as comma-separated values (RFC 4180), for spreadsheets. A
//! composite's have further columns after the reasons: the business metric, and the
//! figures per component and per operation. The last column is the verdict of the run. Every
//! row has it, because a row may be read without the others.

use crate::figures::{Planned, plain};
use crate::record::{PointRecord, RunRecord};
use crate::sfssum::{below_rate, reasons};
use filermark_model::composite::CompositeWork;
use filermark_model::stats::ComponentStats;
use filermark_model::text::one_line;
use filermark_model::{Latency, Op, OpStats};
use std::fmt::Write as _;

const HEAD: &str = "point,requested_ops_per_s,achieved_ops_per_s,verdict,ops,physical_ops,errors,window_s,service_ms_mean,service_ms_p50,service_ms_p95,service_ms_p99,service_ms_p999,service_ms_max,response_ms_mean,response_ms_p99,response_at_least,read_mib_per_s,written_mib_per_s,fileset_kib,reasons,below_rate";
/// The last column: the verdict of the run.
const TAIL: &str = ",run_verdict";
/// Figures between the verdict and the reasons.
const FIGURE_COUNT: usize = 16;

/// The whole file.
pub fn csv(record: &RunRecord) -> String {
    let composite = record.run.plan.benchmark.composite().map(Composite::of);
    let more = composite.as_ref().map_or(String::new(), Composite::head);
    let verdict = field(record.verdict().label());
    let mut out = format!("{HEAD}{more}{TAIL}\r\n");
    for point in &record.points {
        let _ = write!(out, "{},{},", point.load.number, point.load.requested.0);
        figures(&mut out, point);
        let reasons = match point.failure() {
            Some(reason) => reason.to_owned(),
            None => reasons(point),
        };
        let below = below_rate(point).unwrap_or_default();
        let _ = write!(out, ",{},{}", field(&reasons), field(&below));
        if let Some(composite) = &composite {
            composite.columns(&mut out, record, point);
        }
        let _ = write!(out, ",{verdict}\r\n");
    }
    out
}

fn figures(out: &mut String, point: &PointRecord) {
    let Some(stats) = point.measured() else {
        let _ = write!(out, ",{}{}", point.word(), ",".repeat(FIGURE_COUNT));
        return;
    };
    let (service, response) = (stats.service(), stats.response());
    let seconds = (stats.window_ns as f64 / 1e9).max(1e-9);
    let ms = |percentile| service.percentile_ns(percentile) as f64 / 1e6;
    let mib = |bytes: u64| bytes as f64 / f64::from(1u32 << 20) / seconds;
    let verdict = field(point.word());
    let _ = write!(
        out,
        "{:.3},{verdict},{},{},{},{seconds:.3},{:.4},{:.4},{:.4},{:.4},{:.4},{:.4},{:.4},{:.4},{},{:.3},{:.3},{}",
        stats.achieved_ops_per_sec(),
        stats.success_count(),
        stats.physical_count(),
        stats.error_count(),
        service.mean_ns() / 1e6,
        ms(50.0),
        ms(95.0),
        ms(99.0),
        ms(99.9),
        service.max_ns() as f64 / 1e6,
        response.mean_ns() / 1e6,
        response.percentile_ns(99.0) as f64 / 1e6,
        response_at_least(&response),
        mib(stats.ops.iter().map(|o| o.read_bytes).sum()),
        mib(stats.ops.iter().map(|o| o.written_bytes).sum()),
        stats.fileset_bytes / 1024,
    );
}

/// The names of mean and 99th percentile of the response time, where they are lower bounds.
pub fn response_at_least(response: &Latency) -> String {
    let names = response.at_least_names().into_iter();
    let shown = names.filter(|name| matches!(*name, "mean" | "p99"));
    shown.collect::<Vec<_>>().join(" ")
}

/// The further columns of a composite.
struct Composite<'a> {
    components: Vec<&'a str>,
    ops: Vec<Op>,
}

impl<'a> Composite<'a> {
    fn of(work: &'a CompositeWork) -> Self {
        let workloads = work.components.iter().map(|c| &c.workload);
        let mut ops: Vec<Op> = workloads
            .clone()
            .flat_map(|w| w.mix.shares())
            .map(|(op, _)| *op)
            .collect();
        ops.sort();
        ops.dedup();
        Self {
            components: workloads.map(|w| w.name.as_str()).collect(),
            ops,
        }
    }

    fn head(&self) -> String {
        let mut out = String::from(",business_metric");
        for name in &self.components {
            for what in [
                "procs",
                "ops_per_s",
                "share_pcnt",
                "service_ms_mean",
                "service_ms_p99",
            ] {
                let _ = write!(out, ",{}", field(&format!("{}_{what}", one_line(name))));
            }
        }
        for op in &self.ops {
            let _ = write!(out, ",{op}_ops_per_s,{op}_service_ms_mean");
        }
        out
    }

    fn columns(&self, out: &mut String, record: &RunRecord, point: &PointRecord) {
        let units = Planned::of(&record.run.plan, point.load).business_metric;
        let _ = write!(out, ",{}", plain(units));
        let Some(stats) = point.measured() else {
            let empty = 5 * self.components.len() + 2 * self.ops.len();
            out.push_str(&",".repeat(empty));
            return;
        };
        let seconds = (stats.window_ns as f64 / 1e9).max(1e-9);
        let total = stats.success_count().max(1) as f64;
        for number in 0..self.components.len() as u32 {
            let none = ComponentStats::default();
            let found = stats.components.iter().find(|c| c.component == number);
            let component = found.unwrap_or(&none);
            let count = component.success_count() as f64;
            let service = service_of(&component.ops);
            let _ = write!(
                out,
                ",{},{:.3},{:.3},{:.4},{:.4}",
                component.proc_count,
                count / seconds,
                100.0 * count / total,
                service.mean_ns() / 1e6,
                service.percentile_ns(99.0) as f64 / 1e6,
            );
        }
        for op in &self.ops {
            let (count, mean) = stats.op(*op).map_or((0.0, 0.0), |o| {
                (o.success_count as f64, o.service.mean_ns() / 1e6)
            });
            let _ = write!(out, ",{:.3},{mean:.4}", count / seconds);
        }
    }
}

fn service_of(ops: &[OpStats]) -> Latency {
    ops.iter().map(|o| &o.service).sum()
}

/// A text as one field.
pub fn field(text: &str) -> String {
    if text.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(field("a b"), "a b");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }

    #[test]
    fn every_line_has_every_column() {
        for (record, columns) in [
            (testing::record(), 23),
            (testing::composite::composite_record(), 24 + 5 + 2 * 9),
            (testing::composite::stream_record(), 24 + 2 * 5 + 2 * 7),
        ] {
            for line in csv(&record).lines() {
                // Commas within quotes do not separate fields.
                let outside: String = line.split('"').step_by(2).collect();
                assert_eq!(outside.split(',').count(), columns, "{line}");
            }
        }
    }
}
