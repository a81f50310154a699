//! The summary of the result for other programs (`--json`).

use crate::charts::knee_point;
use crate::composite::{ComponentFigures, components};
use crate::labels;
use crate::search;
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_model::{Latency, PointStats};
use filermark_results::assertion::percentile_ms;
use filermark_results::bands::bands;
use filermark_results::figures::{Throughput, is_composite};
use filermark_results::verdict::NextStep;
use filermark_results::{ClassicalResult, PointRecord, RunRecord};
use serde_json::{Value, json};

/// The version of this form; a change that breaks readers increases it.
const FORMAT: u32 = 1;

/// The summary as JSON: the run, the verdict with its reasons, peak, ORT, and
/// per load point the figures and findings. Names end in their units.
pub fn json_summary(record: &RunRecord) -> Value {
    json_summary_with(record, &[])
}

/// As [`json_summary`], with these percentiles of every distribution as well.
pub fn json_summary_with(record: &RunRecord, percentiles: &[f64]) -> Value {
    let latency = |latency: &Latency| latency_with(latency, percentiles);
    let run = &record.run;
    let verdict = record.verdict();
    let peak = record.peak().and_then(PointRecord::measured);
    let mut summary = json!({
        "format": FORMAT,
        "program": run.program,
        "version": run.version,
        "notice": NOT_A_SPEC_RESULT,
        "suffix": run.suffix,
        "started": run.started,
        "fingerprint": run.fingerprint,
        "benchmark": {"name": run.plan.benchmark.name, "version": run.plan.benchmark.version},
        "verdict": verdict.label(),
        "reasons": verdict.reasons(),
        "not_standard": verdict.not_standard(),
        "cached_pcnt": verdict.cached_pcnt(),
        "unit": labels::unit(record),
        "peak_units": labels::unit(record).and(record.peak()).map(|p| p.load.units),
        "peak_ops_per_sec": peak.map(PointStats::achieved_ops_per_sec),
        "peak_mib_per_sec": peak.map(labels::mib_per_sec),
        "ort_ms": record.ort_ms(),
        "knee": knee(record),
        "headline": run.plan.headline().name(),
        "classical": ClassicalResult::of_record(record),
        "heritage": run.plan.benchmark.heritage,
        "findings": record.run_findings().collect::<Vec<_>>(),
        "points": record.points.iter().map(|p| point(record, p, &latency)).collect::<Vec<_>>(),
        "wall_seconds": record.end.as_ref().map(|e| e.wall_seconds),
        "cut": record.cut,
    });
    match NextStep::of(record) {
        Some(NextStep::Begin(held)) => {
            summary["held_ops_per_sec"] = held.ops_per_sec.into();
            summary["begin_with_load"] = held.begin_with.into();
        }
        Some(NextStep::Stalled(stalled)) => summary["stalled_points"] = stalled.numbers.into(),
        None => {}
    }
    if let Some(search) = search::json(record) {
        summary["search"] = search;
    }
    summary
}

/// The knee of the curve ([`crate::KNEE_TERM`]).
fn knee(record: &RunRecord) -> Option<Value> {
    let (point, stats) = knee_point(record)?;
    Some(json!({
        "point": point.load.number,
        "units": labels::unit(record).map(|_| point.load.units),
        "achieved_ops_per_sec": stats.achieved_ops_per_sec(),
        "mib_per_sec": labels::mib_per_sec(stats),
        "service_ms_mean": stats.service().mean_ns() / 1e6,
    }))
}

fn point(record: &RunRecord, point: &PointRecord, latency: &dyn Fn(&Latency) -> Value) -> Value {
    let mut value = json!({
        "number": point.load.number,
        "requested_ops_per_sec": labels::requested(record, point.load),
        "valid": point.is_valid(),
        "verdict": point.word(),
        "failure": point.failure(),
        "findings": point.findings,
    });
    if let Some(stats) = point.measured() {
        value["achieved_ops_per_sec"] = stats.achieved_ops_per_sec().into();
        let moved = Throughput::of(stats);
        value["read_mib_per_sec"] = (moved.read / 1024.0).into();
        value["written_mib_per_sec"] = (moved.write / 1024.0).into();
        value["window_s"] = (stats.window_ns as f64 / 1e9).into();
        value["success_count"] = stats.success_count().into();
        value["physical_count"] = stats.physical_count().into();
        value["error_count"] = stats.error_count().into();
        value["service_ms"] = latency(&stats.service());
        value["response_ms"] = latency(&stats.response());
        value["lateness_ms"] = latency(&stats.lateness);
        value["fileset_bytes"] = stats.fileset_bytes.into();
        let op = |o: &filermark_model::OpStats| {
            json!({
                "op": o.op,
                "success_count": o.success_count,
                "physical_count": o.physical_count,
                "error_count": o.error_count,
                "read_bytes": o.read_bytes,
                "written_bytes": o.written_bytes,
                "service_ms": latency(&o.service),
                "response_ms": latency(&o.response),
            })
        };
        value["ops"] = stats.ops.iter().map(op).collect();
        if is_composite(record) {
            composite(&mut value, record, point, stats, latency);
        }
        value["stalls"] = json!(point.stalls);
        value["client_reads"] = json!(point.client_reads);
        value["counters"] = json!(stats.counters);
        value["errors"] = json!(stats.errors);
    }
    value
}

/// Further members of composites.
fn composite(
    value: &mut Value,
    record: &RunRecord,
    point: &PointRecord,
    stats: &PointStats,
    latency: &dyn Fn(&Latency) -> Value,
) {
    value["units"] = labels::unit(record).map(|_| point.load.units).into();
    value["proc_count"] = record.run.plan.proc_count_at(point.load).into();
    let moved = Throughput::of(stats);
    value["read_kib_per_sec"] = moved.read.into();
    value["written_kib_per_sec"] = moved.write.into();
    let component = |c: ComponentFigures| {
        json!({
            "name": c.name,
            "background": c.background,
            "proc_count": c.proc_count,
            "wanted_ops_per_sec": c.wanted_ops_per_sec,
            "achieved_ops_per_sec": c.achieved_ops_per_sec,
            "target_pcnt": c.target_pcnt,
            "actual_pcnt": c.actual_pcnt,
            "read_kib_per_sec": c.moved.read,
            "written_kib_per_sec": c.moved.write,
            "service_ms": latency(&c.service),
        })
    };
    let all = components(record, stats).into_iter().map(component);
    value["components"] = all.collect();
    let entries = bands(&stats.service()).into_iter().flatten();
    let entries = entries.map(|e| json!({"at_most": e.label, "count": e.count}));
    value["latency_bands"] = entries.collect();
}

/// The figures that reports show; 90 % and 99.99 %, and what was asked for, where at least ten
/// operations are above.
fn latency_with(latency: &Latency, percentiles: &[f64]) -> Value {
    let mut value = json!({ "std_dev": latency.std_dev_ns() / 1e6 });
    let mut at_least = latency.at_least_names();
    for (name, figure) in latency.figures() {
        value[name] = figure.ms().value.into();
    }
    for (name, percentile) in [("p90", 90.0), ("p9999", 99.99)] {
        if let Some(ms) = percentile_ms(latency, percentile) {
            value[name] = ms.into();
            at_least.extend(latency.percentile(percentile).at_least.then_some(name));
        }
    }
    if !at_least.is_empty() {
        value["at_least"] = json!(at_least);
    }
    if !percentiles.is_empty() {
        let entry = |percentile: &f64| {
            let figure = latency.percentile(*percentile);
            json!({
                "percentile": percentile,
                "value": percentile_ms(latency, *percentile),
                "at_least": figure.at_least,
            })
        };
        value["percentiles"] = percentiles.iter().map(entry).collect();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::testing;

    /// Every rendering marks the same figures as lower bounds, and no
    /// others.
    #[test]
    fn lower_bounds_are_marked_in_all_renderings() {
        use filermark_model::Nanos;
        let renderings = |record: &RunRecord| {
            let templates = crate::Templates::builtin();
            let options = crate::ReportOptions::new(&templates);
            [
                crate::summary(record, false, 200),
                crate::text(record, &options).unwrap(),
                crate::html(record, &options).unwrap(),
                filermark_results::sfslog::sfslog(record),
            ]
        };
        let mut record = testing::record();
        let is_marked = |text: &String| text.contains(">=") || text.contains("&gt;=");
        let before = renderings(&record).map(|text| text.matches(">=").count());
        assert_eq!(before[3], 0);
        let stats = record.points[0].stats.as_mut().unwrap();
        let op = stats
            .ops
            .iter_mut()
            .max_by_key(|o| o.success_count)
            .unwrap();
        for _ in 0..40 {
            op.response.record_at_least(Nanos::from_secs(7));
        }
        op.open_count = 40;
        for (text, before) in renderings(&record).iter().zip(before) {
            assert!(is_marked(text));
            let bound = text.matches(">=7").count() + text.matches("&gt;=7").count();
            assert!(bound > 0 && before == 0 || bound > before, "{text}");
        }
        let value = json_summary(&record);
        let response = &value["points"][0]["response_ms"];
        assert_eq!(response["at_least"], json!(["mean", "p99", "p999", "max"]));
        assert!(value["points"][0]["service_ms"].get("at_least").is_none());
        assert!(value["points"][1]["response_ms"].get("at_least").is_none());
        let csv = filermark_results::csv::csv(&record);
        assert!(csv.lines().nth(1).unwrap().contains(",mean p99,"), "{csv}");
        assert!(!csv.lines().nth(2).unwrap().contains("p99"), "{csv}");
    }

    #[test]
    fn percentiles_exist_where_enough_operations_are_above_them() {
        let record = testing::record();
        let value = json_summary_with(&record, &[50.0, 99.5, 99.9999]);
        let service = &value["points"][3]["service_ms"];
        let count = value["points"][3]["success_count"].as_u64().unwrap();
        assert!(service["p90"].as_f64() >= service["p50"].as_f64());
        assert_eq!(service["p9999"].is_number(), count >= 100_000, "{count}");
        let asked = &service["percentiles"];
        assert_eq!(asked[0]["value"], service["p50"]);
        if count >= 2_000 {
            let above = |name: &str| service[name].as_f64() <= asked[1]["value"].as_f64();
            assert!(above("p50") && above("p99"), "{service:#}");
        } else {
            assert!(asked[1]["value"].is_null(), "{service:#}");
        }
        assert!(asked[2]["value"].is_null());
        assert_eq!(asked[2]["percentile"], 99.9999);
        assert!(json_summary(&record)["points"][3]["service_ms"]["percentiles"].is_null());
    }

    #[test]
    fn the_summary_has_the_figures_that_scripts_ask_for() {
        let value = json_summary(&testing::record());
        assert_eq!(value["verdict"], "INVALID");
        assert_eq!(value["not_standard"][0], "RUNTIME=30");
        assert_eq!(value["points"][11]["verdict"], "FAILED");
        assert_eq!(value["points"].as_array().unwrap().len(), 12);
        assert!((value["peak_ops_per_sec"].as_f64().unwrap() - 1000.0).abs() < 1.0);
        assert!(value["points"][3]["service_ms"]["p99"].as_f64().unwrap() > 1.0);
        assert_eq!(value["points"][10]["valid"], false);
        assert!(value["points"][11]["failure"].is_string());
        assert!(value["points"][11]["success_count"].is_null());
        assert!(value["unit"].is_null() && value["points"][0]["components"].is_null());
        let mut empty = testing::record();
        empty.points.clear();
        assert!(json_summary(&empty)["ort_ms"].is_null());
    }

    #[test]
    fn results_at_the_limit_and_generations_are_in_the_summary() {
        let value = json_summary(&testing::heritage::heritage_record());
        assert_eq!(value["classical"]["basis"], "interpolated");
        assert_eq!(value["classical"]["below_point"], 9);
        let rate = value["classical"]["ops_per_sec"].as_f64().unwrap();
        assert!((rate - 928.4).abs() < 0.5, "{rate}");
        assert_eq!(value["heritage"]["caveats"].as_array().unwrap().len(), 4);
        let general = json_summary(&testing::record());
        assert!(general["heritage"].is_null());
        assert_eq!(general["classical"]["basis"], "interpolated");
        // Its last load point missed its rate.
        assert_eq!(general["classical"]["overloaded"], true);
        let mut short = testing::record();
        short.points.truncate(5);
        let short = json_summary(&short);
        assert_eq!(short["classical"]["basis"], "last_point");
        let builds = json_summary(&testing::composite::composite_record());
        assert!(builds["classical"].is_null());
    }

    #[test]
    fn composites_have_their_units_and_components() {
        let mut record = testing::composite::stream_record();
        let value = json_summary(&record);
        assert_eq!(
            (&value["unit"], &value["peak_units"]),
            (&json!("STREAM"), &json!(18.0))
        );
        let point = &value["points"][0];
        assert_eq!(
            (&point["units"], &point["proc_count"]),
            (&json!(9.0), &json!(18))
        );
        assert_eq!(point["components"][1]["name"], "VDA2");
        assert_eq!(point["components"][0]["target_pcnt"], 90.0);
        let bands = point["latency_bands"].as_array().unwrap();
        let total: u64 = bands.iter().map(|b| b["count"].as_u64().unwrap()).sum();
        assert_eq!(
            (bands.len(), total),
            (40, point["success_count"].as_u64().unwrap())
        );
        record.points[0].load.requested.0 = 0.0;
        assert!(json_summary(&record)["points"][0]["requested_ops_per_sec"].is_null());
    }
}
