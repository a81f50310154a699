//! A result as a curve: load points with throughput and mean response, and the classical
//! figures of them (peak, ORT). It comes from a run record or from any summary
//! file, our own or another program's ([`crate::sfssum_reader`]).

use crate::figures::{KB, Planned, Throughput};
use crate::ort::OrtMethod;
use crate::record::{PointRecord, RunRecord};
use crate::sfslog::{ip_version, protocol_name};
use crate::sfssum::reasons;
use filermark_model::{Figure, PointStats};
use serde::Serialize;

/// A result: load points in the order of its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The benchmark's name; of another program's file its workload or protocol.
    pub benchmark: String,
    /// What the load is counted in: `op/s`, or a business metric.
    pub metric: String,
    /// The protocol as summary files name it; empty where they do not.
    pub protocol: String,
    /// How its ORT is made.
    pub ort_method: OrtMethod,
    /// Whether an ORT can be made of its load points ([`RunRecord::is_curve`]).
    #[serde(skip)]
    pub has_ort: bool,
    /// The load points.
    pub points: Vec<CurvePoint>,
}

/// A load point of a curve. What a source does not have is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The requested load, in the curve's metric.
    pub load: f64,
    /// The requested rate in op/s; `None`: no limit.
    pub requested: Option<f64>,
    /// The achieved rate in op/s.
    pub achieved: f64,
    /// Mean service time, in milliseconds.
    pub mean_ms: f64,
    /// 99th percentile of the service time, in milliseconds.
    pub service_ms_p99: Option<f64>,
    /// 99th percentile of the response time, in milliseconds.
    pub response_ms_p99: Option<f64>,
    /// That is a lower bound: operations that it depends on were not seen to end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub response_ms_p99_at_least: bool,
    /// Logical operations that succeeded.
    pub op_count: Option<u64>,
    /// Logical operations that failed.
    pub error_count: Option<u64>,
    /// Length of the measured window, in seconds.
    pub seconds: Option<f64>,
    /// Data read and written, in KiB per second.
    pub total_kib_per_sec: Option<f64>,
    /// Data read, in KiB per second.
    pub read_kib_per_sec: Option<f64>,
    /// Data written, in KiB per second.
    pub write_kib_per_sec: Option<f64>,
    /// Size of the file set, in KiB.
    pub fileset_kib: Option<f64>,
    /// Client hosts.
    pub client_count: Option<u64>,
    /// Procs on each of them.
    pub procs_per_client: Option<u64>,
    /// 4 for IPv4, 6 for IPv6.
    pub ip_version: Option<u8>,
    /// Whether it counts.
    pub is_valid: bool,
    /// Why it does not, as far as the source has it.
    pub reason: String,
}

impl Curve {
    /// Of a run: the load points that were measured.
    pub fn of_record(record: &RunRecord) -> Self {
        let plan = &record.run.plan;
        let unit = plan
            .benchmark
            .composite()
            .map(|_| business_metric(&plan.benchmark));
        let measured = record.points.iter().filter_map(|point| {
            let stats = point.measured()?;
            Some(point_of(record, point, stats))
        });
        Self {
            benchmark: plan.benchmark.name.clone(),
            ort_method: OrtMethod::of(unit.is_some()),
            has_ort: record.is_curve(),
            metric: unit.unwrap_or_else(|| "op/s".into()),
            protocol: match plan.benchmark.composite() {
                Some(_) => String::new(),
                None => protocol_name(record).to_owned(),
            },
            points: measured.collect(),
        }
    }

    /// The load points that count.
    pub fn valid_points(&self) -> impl Iterator<Item = &CurvePoint> {
        self.points.iter().filter(|p| p.is_valid)
    }

    /// The valid load point with the highest achieved rate.
    pub fn peak(&self) -> Option<&CurvePoint> {
        self.valid_points()
            .max_by(|a, b| a.achieved.total_cmp(&b.achieved))
    }

    /// The peak in the curve's metric: the achieved rate of a classical result, the
    /// business metric of a composite one.
    pub fn peak_value(&self) -> Option<f64> {
        let peak = self.peak()?;
        Some(match self.is_classical() {
            true => peak.achieved,
            false => peak.load,
        })
    }

    /// Whether its load is a rate, not a business metric.
    pub fn is_classical(&self) -> bool {
        self.ort_method == OrtMethod::FromOrigin
    }

    /// Whether the points are in the order of their load.
    pub fn is_sorted(&self) -> bool {
        self.points.is_sorted_by(|a, b| a.load <= b.load)
    }

    /// The overall response time of the valid points, in milliseconds, taken in the
    /// order of their load ([`OrtMethod::ort`]).
    pub fn ort_ms(&self) -> Option<f64> {
        if !self.has_ort {
            return None;
        }
        let mut valid: Vec<_> = self.valid_points().collect();
        // By load: the source may have any order.
        valid.sort_by(|a, b| a.load.total_cmp(&b.load));
        let points: Vec<_> = valid.iter().map(|p| (p.achieved, p.mean_ms)).collect();
        // The load of a classical curve is the requested rate.
        let has_rates = valid.iter().all(|p| match self.is_classical() {
            true => p.load > 0.0,
            false => p.requested.is_some(),
        });
        self.ort_method.ort(&points, has_rates)
    }
}

impl CurvePoint {
    /// 99th percentile of the response time, in milliseconds, as a figure.
    pub fn response_p99(&self) -> Option<Figure> {
        let at_least = self.response_ms_p99_at_least;
        self.response_ms_p99.map(|value| Figure { value, at_least })
    }

    /// The 99th percentile of the response time in milliseconds where it is known and not a
    /// lower bound.
    pub fn response_p99_known(&self) -> Option<f64> {
        let known = self.response_p99().filter(|f| !f.at_least);
        known.map(|f| f.value)
    }
}

fn point_of(record: &RunRecord, point: &PointRecord, stats: &PointStats) -> CurvePoint {
    let plan = &record.run.plan;
    let planned = Planned::of(plan, point.load);
    let is_composite = plan.benchmark.composite().is_some();
    let throughput = Throughput::of(stats);
    let service = stats.service();
    let response_p99 = stats.response().percentile(99.0).ms();
    CurvePoint {
        load: match is_composite {
            true => planned.business_metric,
            false => point.load.requested.0,
        },
        requested: match is_composite {
            true => planned.requested,
            false => Some(point.load.requested.0).filter(|rate| *rate > 0.0),
        },
        achieved: stats.achieved_ops_per_sec(),
        mean_ms: service.mean_ns() / 1e6,
        service_ms_p99: Some(service.percentile_ns(99.0) as f64 / 1e6),
        response_ms_p99: Some(response_p99.value),
        response_ms_p99_at_least: response_p99.at_least,
        op_count: Some(stats.success_count()),
        error_count: Some(stats.error_count()),
        seconds: Some(stats.window_ns as f64 / 1e9),
        total_kib_per_sec: Some(throughput.total()),
        read_kib_per_sec: Some(throughput.read),
        write_kib_per_sec: Some(throughput.write),
        fileset_kib: Some(match is_composite {
            true => planned.data.start_bytes as f64 / KB,
            false => stats.fileset_bytes as f64 / KB,
        }),
        client_count: Some(plan.clients.len() as u64),
        procs_per_client: Some(u64::from(planned.procs_per_client)),
        ip_version: match is_composite {
            true => None,
            false => Some(ip_version(record)),
        },
        is_valid: point.is_valid(),
        reason: reasons(point),
    }
}

/// The unit of a composite's load: its business metric, `procs` where it has none.
pub fn business_metric(benchmark: &filermark_model::Benchmark) -> String {
    let unit = filermark_model::text::one_line(&benchmark.unit);
    match unit.is_empty() {
        true => "procs".into(),
        false => unit,
    }
}
