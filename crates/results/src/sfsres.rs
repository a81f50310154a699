//! `sfsres`: the log of a run: its phases with their times, its events, and
//! the result of each load point.

use crate::classical;
use crate::figures::Throughput;
use crate::record::{PhaseRecord, PointRecord, RunRecord};
use crate::sfssum::reasons;
use crate::text::{finding_line, severity_label};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_model::text::one_line;
use filermark_model::units::counted;
use std::fmt::Write as _;

/// The whole file.
pub fn sfsres(record: &RunRecord) -> String {
    let mut out = String::new();
    head(&mut out, record);
    let mut entries: Vec<_> = record.phases.iter().map(phase_entry).collect();
    entries.extend(record.points.iter().map(|p| (p.ended, 1, point_line(p))));
    entries.extend(record.events.iter().map(|e| {
        let text = format!("{}: {}", one_line(&e.host), one_line(&e.message));
        (e.at, 2, text)
    }));
    // By time; entries with the same time are ordered by kind.
    entries.sort_by_key(|entry| (entry.0, entry.1));
    for (at, _, text) in entries {
        let _ = writeln!(out, "{}  {text}", at.readable());
    }
    tail(&mut out, record);
    out
}

fn head(out: &mut String, record: &RunRecord) {
    let (run, plan) = (&record.run, &record.run.plan);
    let _ = writeln!(
        out,
        "{} {}: {} (version {}), run \"{}\"",
        one_line(&run.program),
        one_line(&run.version),
        one_line(&plan.benchmark.title),
        plan.benchmark.version,
        one_line(&run.suffix)
    );
    let _ = writeln!(
        out,
        "{}, {}, {} on each, seed {}",
        counted(plan.points.len() as u64, "load point"),
        counted(plan.clients.len() as u64, "client"),
        counted(u64::from(plan.procs_per_client), "proc"),
        plan.seed
    );
    let _ = writeln!(out, "plan fingerprint {}", one_line(&run.fingerprint));
    for (name, text) in plan.benchmark.heritage_rows() {
        let _ = writeln!(out, "{}: {}", name.to_lowercase(), one_line(&text));
    }
    for finding in &plan.findings {
        let _ = writeln!(
            out,
            "{}: {}",
            severity_label(finding.severity),
            finding_line(finding)
        );
    }
    let _ = writeln!(out, "\n{}  the run began", run.started.readable());
}

fn phase_entry(phase: &PhaseRecord) -> (crate::Timestamp, u8, String) {
    let mut text = match phase.point {
        0 => format!("run: {}", phase.phase),
        n => format!("load point {n}: {}", phase.phase),
    };
    let _ = write!(text, " took {:.1} s", phase.seconds);
    if !phase.detail.is_empty() {
        let _ = write!(text, ": {}", one_line(&phase.detail));
    }
    if let Some(reason) = &phase.failure {
        let _ = write!(text, "; FAILED: {}", one_line(reason));
    }
    (phase.ended, 0, text)
}

fn point_line(point: &PointRecord) -> String {
    let n = point.load.number;
    let Some(stats) = point.measured() else {
        let reason = one_line(point.failure().unwrap_or_default());
        return format!("load point {n}: FAILED: {reason}");
    };
    let verdict = if point.is_valid() {
        point.word().to_owned()
    } else {
        format!("{}: {}", point.word(), reasons(point))
    };
    format!(
        "load point {n}: requested {:.0}, achieved {:.1} op/s, mean {:.2} ms, {}: {verdict}",
        point.load.requested.0,
        stats.achieved_ops_per_sec(),
        stats.service().mean_ns() / 1e6,
        counted(stats.error_count(), "error"),
    )
}

fn tail(out: &mut String, record: &RunRecord) {
    match &record.end {
        Some(end) => {
            let (at, seconds) = (end.at.readable(), end.wall_seconds);
            let _ = writeln!(out, "{at}  {} after {seconds:.1} s", end.outcome);
            for finding in &end.findings {
                let _ = writeln!(
                    out,
                    "{}: {}",
                    severity_label(finding.severity),
                    finding_line(finding)
                );
            }
        }
        None => out.push_str("the record has no end: the run was cut or is still in progress\n"),
    }
    if let Some(cut) = &record.cut {
        let _ = writeln!(out, "the record was cut: {}", one_line(cut));
    }
    match (
        record.peak().and_then(PointRecord::measured),
        record.ort_ms(),
    ) {
        (Some(peak), ort) => {
            let ort = ort.map_or("-".to_owned(), |ort| format!("{ort:.2} ms"));
            let ort = match record.is_curve() {
                true => format!(", overall response time {ort}"),
                false => String::new(),
            };
            let mib = Throughput::of(peak).total() / 1024.0;
            let peak = peak.achieved_ops_per_sec();
            let _ = writeln!(out, "\npeak {peak:.0} op/s, {mib:.1} MiB/s{ort}");
        }
        (None, _) => out.push_str("\nno load point counts: no peak, no overall response time\n"),
    }
    let _ = writeln!(out, "verdict: {}", record.verdict().line());
    if let Some(line) = classical::line(record) {
        let _ = writeln!(out, "{line}");
    }
    let _ = writeln!(out, "{NOT_A_SPEC_RESULT}");
}
