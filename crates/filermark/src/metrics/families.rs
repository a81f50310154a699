//! The metrics, each declared once: name, type, unit, help and where its values come from.

use super::text::Samples;
use super::totals::{BUCKETS, Totals};
use crate::events::Second;
use filermark_model::op::OpGroup;
use filermark_model::responses::BOUNDS_NS;
use filermark_results::Phase;

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows; its sample has the ending `_total`.
    Counter,
    /// A present value.
    Gauge,
    /// Cumulative buckets.
    Histogram,
}

/// A metric.
pub struct Family {
    /// Its name, without `_total`.
    pub name: &'static str,
    pub kind: Kind,
    /// The end of its name, or empty.
    pub unit: &'static str,
    pub help: &'static str,
    /// Adds its values; none: it is left out.
    pub values: fn(&Totals, &mut Samples),
}

const PHASES: [Phase; 5] = [
    Phase::Validate,
    Phase::Init,
    Phase::Warmup,
    Phase::Run,
    Phase::Cleanup,
];

const fn family(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    help: &'static str,
    values: fn(&Totals, &mut Samples),
) -> Family {
    Family {
        name,
        kind,
        unit,
        help,
        values,
    }
}

use Kind::{Counter, Gauge, Histogram};

/// All metrics, in the order in which they are written.
pub const FAMILIES: &[Family] = &[
    family(
        "filermark_build_info",
        Gauge,
        "",
        "The version of the program; always 1.",
        |_, out| {
            out.labelled(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
        },
    ),
    family(
        "filermark_run_info",
        Gauge,
        "",
        "The run: its suffix, benchmark and fingerprint of the plan; always 1.",
        run_info,
    ),
    family(
        "filermark_run_active",
        Gauge,
        "",
        "1 during a run, 0 before and after it.",
        |t, out| {
            out.value(flag(t.run.is_some() && !t.is_over));
        },
    ),
    family(
        "filermark_phase",
        Gauge,
        "",
        "1 for the present phase, 0 for the others.",
        |t, out| {
            for phase in PHASES {
                out.labelled(&[("phase", phase.name())], flag(t.phase == Some(phase)));
            }
        },
    ),
    family(
        "filermark_load_point",
        Gauge,
        "",
        "The number of the present load point, from 1; 0 outside of load points.",
        |t, out| {
            out.value(f64::from(t.point.unwrap_or(0)));
        },
    ),
    family(
        "filermark_search_step",
        Gauge,
        "",
        "The number of the present step of a search, from 1; 0 outside of a search.",
        |t, out| {
            out.value(f64::from(t.search_step.unwrap_or(0)));
        },
    ),
    family(
        "filermark_load_points",
        Gauge,
        "",
        "Load points of the plan.",
        |t, out| {
            out.value(t.points.len() as f64);
        },
    ),
    family(
        "filermark_load_points_ended",
        Counter,
        "",
        "Load points that have ended, by verdict.",
        |t, out| {
            for (verdict, count) in &t.ended {
                out.labelled(&[("verdict", verdict)], *count as f64);
            }
        },
    ),
    family(
        "filermark_clients",
        Gauge,
        "",
        "Clients of the plan.",
        |t, out| out.value(t.all_count as f64),
    ),
    family(
        "filermark_clients_connected",
        Gauge,
        "",
        "Clients that are connected.",
        |t, out| out.value(t.living_count as f64),
    ),
    family(
        "filermark_clients_lost",
        Gauge,
        "",
        "Clients that were connected and are lost.",
        |t, out| out.value(t.lost_count() as f64),
    ),
    family(
        "filermark_operations",
        Counter,
        "",
        "Operations that succeeded in WARMUP and RUN.",
        |t, out| out.value(t.success_count as f64),
    ),
    family(
        "filermark_errors",
        Counter,
        "",
        "Operations that failed in WARMUP and RUN.",
        |t, out| out.value(t.error_count as f64),
    ),
    family(
        "filermark_point_operations",
        Counter,
        "",
        "Operations that succeeded in RUN, by operation; added when a load point ends.",
        |t, out| {
            for (operation, sum) in &t.operations {
                out.labelled(&[("operation", operation)], sum.success_count as f64);
            }
        },
    ),
    family(
        "filermark_point_errors",
        Counter,
        "",
        "Operations that failed in RUN, by operation; added when a load point ends.",
        |t, out| {
            for (operation, sum) in &t.operations {
                out.labelled(&[("operation", operation)], sum.error_count as f64);
            }
        },
    ),
    family(
        "filermark_read_bytes",
        Counter,
        "bytes",
        "Bytes read in WARMUP and RUN.",
        |t, out| out.value(t.read_bytes as f64),
    ),
    family(
        "filermark_written_bytes",
        Counter,
        "bytes",
        "Bytes written in WARMUP and RUN.",
        |t, out| out.value(t.written_bytes as f64),
    ),
    family(
        "filermark_service_time_seconds",
        Histogram,
        "seconds",
        "Service times of operations that succeeded in WARMUP and RUN: reply minus sent. Waiting before the start is not included.",
        service_times,
    ),
    family(
        "filermark_response_time_seconds",
        Histogram,
        "seconds",
        "Response times of the same operations, by group of operations: reply minus intended start.",
        response_times,
    ),
    family(
        "filermark_response_time_max_seconds",
        Gauge,
        "seconds",
        "The longest response time of the last second.",
        |t, out| {
            out.optional(
                t.second
                    .as_ref()
                    .and_then(|s| s.response_max_ms)
                    .map(|ms| ms / 1e3),
            );
        },
    ),
    family(
        "filermark_start_delay_seconds",
        Gauge,
        "seconds",
        "How late operations of the last second were sent after their intended start, mean.",
        |t, out| {
            out.optional(t.second.as_ref().and_then(start_delay));
        },
    ),
    family(
        "filermark_requested_ops_per_second",
        Gauge,
        "",
        "The requested rate of the load point or the step of a search; missing: as fast as possible.",
        |t, out| {
            out.optional(t.requested_ops_per_sec);
        },
    ),
    family(
        "filermark_achieved_ops_per_second",
        Gauge,
        "",
        "Operations that succeeded in the last second.",
        |t, out| {
            out.optional(t.second.as_ref().map(|s| s.success_count as f64));
        },
    ),
    family(
        "filermark_open_operations",
        Gauge,
        "",
        "Operations under way at the end of the last second.",
        |t, out| {
            out.optional(t.second.as_ref().map(|s| s.open_count as f64));
        },
    ),
    family(
        "filermark_oldest_open_operation_seconds",
        Gauge,
        "seconds",
        "How long ago the oldest of them was intended to start.",
        |t, out| {
            out.optional(t.second.as_ref().map(|s| s.open_age_max_ms / 1e3));
        },
    ),
    family(
        "filermark_point_backlog_max",
        Gauge,
        "",
        "The most operations that were due and not started, of the load point that ended last.",
        |t, out| {
            let figures = t.last_point.as_ref().and_then(|p| p.figures.as_ref());
            out.optional(figures.map(|f| f.backlog_max as f64));
        },
    ),
    family(
        "filermark_point_lateness_p99_seconds",
        Gauge,
        "seconds",
        "How late the generator itself started operations, 99th percentile, of the load point that ended last.",
        |t, out| {
            let figures = t.last_point.as_ref().and_then(|p| p.figures.as_ref());
            out.optional(figures.map(|f| f.lateness_p99_ms / 1e3));
        },
    ),
    family(
        "filermark_point_achieved_ops_per_second",
        Gauge,
        "",
        "The achieved rate of the load point that ended last.",
        |t, out| {
            let figures = t.last_point.as_ref().and_then(|p| p.figures.as_ref());
            out.optional(figures.map(|f| f.achieved_ops_per_sec));
        },
    ),
    family(
        "filermark_objects_made",
        Counter,
        "",
        "Files, directories and other objects that INIT has made.",
        |t, out| out.value(t.made_count as f64),
    ),
    family(
        "filermark_objects_removed",
        Counter,
        "",
        "Objects that CLEANUP has removed.",
        |t, out| out.value(t.removed_count as f64),
    ),
    family(
        "filermark_power_watts",
        Gauge,
        "watts",
        "Power at this moment, where it is measured (--energy): the storage, and the clients.",
        |t, out| {
            for (what, power) in [
                ("storage", t.power.storage_w),
                ("clients", t.power.clients_w),
            ] {
                if let Some(power) = power {
                    out.labelled(&[("of", what)], power);
                }
            }
        },
    ),
    family(
        "filermark_exit_code",
        Gauge,
        "",
        "The exit code of the run; missing until its end.",
        |t, out| {
            out.optional(t.exit_code.map(f64::from));
        },
    ),
];

fn flag(is_set: bool) -> f64 {
    f64::from(u8::from(is_set))
}

fn run_info(totals: &Totals, out: &mut Samples) {
    if let Some(run) = &totals.run {
        let labels = [
            ("suffix", run.suffix.as_str()),
            ("benchmark", &run.benchmark),
            ("fingerprint", &run.fingerprint),
        ];
        out.labelled(&labels, 1.0);
    }
}

fn start_delay(second: &Second) -> Option<f64> {
    let delay_ms = second.response_sum_ms - second.service_sum_ms;
    (second.success_count > 0).then(|| delay_ms.max(0.0) / second.success_count as f64 / 1e3)
}

/// Buckets end at powers of two microseconds; the last one has no end.
fn service_times(totals: &Totals, out: &mut Samples) {
    let bounds = (1..BUCKETS).map(|power| f64::from(1u32 << power) / 1e6);
    let sum_s = totals.service_sum_ms / 1e3;
    histogram(out, &[], bounds, &totals.service_log2_us, sum_s);
}

/// Also of groups without operations: a rate needs the zero before the first operation.
fn response_times(totals: &Totals, out: &mut Samples) {
    for (group, times) in OpGroup::ALL.iter().zip(&totals.responses) {
        let bounds = BOUNDS_NS.iter().map(|ns| *ns as f64 / 1e9);
        let sum_s = times.sum_ns as f64 / 1e9;
        let labels = [("group", group.word())];
        histogram(out, &labels, bounds, &times.counts, sum_s);
    }
}

/// One histogram: counts by bucket become cumulative; the last bucket has no bound.
fn histogram(
    out: &mut Samples,
    labels: &[(&str, &str)],
    bounds: impl Iterator<Item = f64>,
    counts: &[u64],
    sum_s: f64,
) {
    // OpenMetrics writes whole numbers as 1.0 here.
    let ends = bounds.map(|bound| match bound.fract() == 0.0 {
        true => format!("{bound:.1}"),
        false => bound.to_string(),
    });
    let mut sum = 0u64;
    for (end, count) in ends.chain(["+Inf".to_owned()]).zip(counts) {
        sum = sum.saturating_add(*count);
        out.suffixed("_bucket", &[labels, &[("le", &end)]].concat(), sum as f64);
    }
    out.suffixed("_count", labels, sum as f64);
    out.suffixed("_sum", labels, sum_s);
}
