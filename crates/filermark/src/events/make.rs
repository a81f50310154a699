//! Events from what a run reports.

use super::event::{Event, Figures, OperationFigures, PointWanted, Second};
use crate::live::PointFacts;
use filermark_model::LoadPoint;
use filermark_model::plan::SEARCH_NUMBERS;
use filermark_model::stats::{Interval, OpStats, PointStats};
use filermark_results::{Heartbeat, Phase, ScriptRecord, ScriptStatus};
use std::borrow::Cow;
use std::time::Duration;

/// A planned load point.
pub fn wanted(fact: &PointFacts, proc_count: u32) -> PointWanted {
    PointWanted {
        point: fact.number,
        name: fact.name.clone(),
        requested_ops_per_sec: fact.requested_ops_per_sec,
        proc_count,
        init_bytes: fact.init_bytes,
        fileset_bytes: fact.fileset_bytes,
    }
}

/// The beginning of a phase.
pub fn phase_began(point: Option<LoadPoint>, phase: Phase, expected: Option<Duration>) -> Event {
    let step = point.and_then(|p| p.number.checked_sub(SEARCH_NUMBERS));
    Event::PhaseBegan {
        point: point.map(|p| p.number),
        phase,
        search_step: step.filter(|step| *step > 0),
        requested_ops_per_sec: point.filter(|p| !p.is_max()).map(|p| p.requested.0),
        expected_seconds: expected.map(|e| e.as_secs_f64()),
    }
}

/// A second of the load point.
pub fn second(point: u32, second: &Interval) -> Second {
    let measured = second.success_count > 0;
    let used = second.service_log2_us.iter().rposition(|count| *count > 0);
    Second {
        point,
        // Seconds of WARMUP may arrive when RUN has begun.
        phase: match second.second {
            0.. => Phase::Run,
            _ => Phase::Warmup,
        },
        second: second.second,
        success_count: second.success_count,
        error_count: second.error_count,
        read_bytes: second.read_bytes,
        written_bytes: second.written_bytes,
        service_mean_ms: measured.then(|| second.service_mean_ns() / 1e6),
        response_max_ms: measured.then(|| second.response_max_ns as f64 / 1e6),
        service_sum_ms: second.service_sum_ns as f64 / 1e6,
        response_sum_ms: second.response_sum_ns as f64 / 1e6,
        service_log2_us: second.service_log2_us[..used.map_or(0, |last| last + 1)].to_vec(),
        responses: second.responses,
        open_count: second.open_count,
        open_age_max_ms: second.open_age_max_ns as f64 / 1e6,
    }
}

fn operation(op: &OpStats) -> Option<OperationFigures> {
    let occurred = op.success_count > 0 || op.error_count > 0;
    occurred.then(|| OperationFigures {
        operation: op.op.to_string(),
        success_count: op.success_count,
        error_count: op.error_count,
        service_mean_ms: op.service.mean_ns() / 1e6,
    })
}

pub fn heartbeat(beat: &Heartbeat) -> Event {
    let rates = &beat.ops_per_sec;
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    Event::Heartbeat {
        point: beat.point,
        phase: beat.phase,
        seconds: beat.seconds,
        proc_count: rates.len(),
        total_ops_per_sec: beat.total_ops_per_sec(),
        slowest_ops_per_sec: if rates.is_empty() { 0.0 } else { least },
        fastest_ops_per_sec: rates.iter().copied().fold(0.0, f64::max),
    }
}

pub fn script_ended(script: &ScriptRecord) -> Event {
    let (exit_code, reason) = match &script.status {
        ScriptStatus::Exited { code } => (Some(*code), None),
        ScriptStatus::Stopped { code } => (*code, None),
        ScriptStatus::Failed { reason } => (None, Some(reason.clone())),
    };
    Event::Script {
        script: script.script.clone(),
        argument: script.argument.clone(),
        point: script.point,
        ok: script.status.is_ok(),
        exit_code,
        reason,
        seconds: script.seconds,
    }
}

pub fn figures(stats: &PointStats) -> Figures {
    let (service, response) = (stats.service(), stats.response());
    let sum = |bytes: fn(&filermark_model::OpStats) -> u64| {
        stats.ops.iter().map(bytes).fold(0, u64::saturating_add)
    };
    Figures {
        achieved_ops_per_sec: stats.achieved_ops_per_sec(),
        window_seconds: stats.window_ns as f64 / 1e9,
        success_count: stats.success_count(),
        error_count: stats.error_count(),
        read_bytes: sum(|op| op.read_bytes),
        written_bytes: sum(|op| op.written_bytes),
        service_mean_ms: service.mean_ns() / 1e6,
        service_p99_ms: service.percentile_ns(99.0) as f64 / 1e6,
        response_mean_ms: response.mean_ns() / 1e6,
        response_p99_ms: response.percentile_ns(99.0) as f64 / 1e6,
        response_at_least: response
            .at_least_names()
            .into_iter()
            .map(Cow::from)
            .collect(),
        lateness_p99_ms: stats.lateness.percentile_ns(99.0) as f64 / 1e6,
        backlog_max: stats.backlog_max,
        operations: stats.ops.iter().filter_map(operation).collect(),
    }
}
