//! Reduces merged logs together.

use super::rules::finding;
use super::types::{LogData, Parts, ReduceError};
use super::workload::{clear_best_if_invalid, reduce_run};
use super::{EnergyFinding, EnergyRule, Reduction, WorkloadReduction, best_foot, whole};
use crate::log::{Log, MergedRun};
use crate::merge::{overlap, spans_of};
use filermark_model::Severity;
use filermark_results::Timestamp;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// The four workloads of the programme (slides E).
pub const WORKLOADS: [&str; 4] = ["SWBUILD", "VDA", "VDI", "DATABASE"];

/// How to reduce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReduceOptions {
    /// The last tenth of RUN is left out.
    pub without_tail: bool,
}

/// Reduces merged logs together.
///
/// # Errors
/// One cannot be read, was not merged, or is too large.
pub fn reduce_files(paths: &[PathBuf], options: &ReduceOptions) -> Result<Reduction, ReduceError> {
    let open = |path: &PathBuf| Log::open(path);
    let logs: Vec<Log> = paths.iter().map(open).collect::<Result<_, _>>()?;
    reduce_logs(logs, options)
}

/// Reduces open logs together.
///
/// # Errors
/// As [`reduce_files`].
pub fn reduce_logs<R: BufRead>(
    logs: Vec<Log<R>>,
    options: &ReduceOptions,
) -> Result<Reduction, ReduceError> {
    let mut workloads: Vec<WorkloadReduction> = Vec::new();
    let mut spans: Vec<Spans> = Vec::new();
    for mut log in logs {
        let gathered = LogData::read(&mut log)?;
        let parts = Parts::of(&gathered);
        for run in &gathered.runs {
            workloads.push(reduce_run(&gathered, &parts, run, options.without_tail));
            spans.push(Spans::of(run, log.path()));
        }
    }
    overlaps(&mut workloads, &spans);
    Ok(Reduction {
        best_foot: best_foot::best_foot(&workloads),
        findings: missing(&workloads).into_iter().collect(),
        simulated: workloads.iter().any(|w| w.simulated),
        workloads,
    })
}

/// The spans of a run.
struct Spans {
    name: String,
    pieces: Vec<(Timestamp, Timestamp)>,
    log: PathBuf,
}

impl Spans {
    fn of(run: &MergedRun, log: &Path) -> Self {
        Self {
            name: run.name.clone(),
            pieces: spans_of(run),
            log: log.into(),
        }
    }
}

/// Runs of different logs at the same time; those of one log are reported already.
fn overlaps(workloads: &mut [WorkloadReduction], spans: &[Spans]) {
    for (i, (workload, mine)) in workloads.iter_mut().zip(spans).enumerate() {
        let others = spans.iter().enumerate().filter(|(j, _)| *j != i);
        let over = others
            .filter(|(_, other)| other.log != mine.log && overlap(&mine.pieces, &other.pieces));
        let names: Vec<String> = over.map(|(_, other)| other.name.clone()).collect();
        if !names.is_empty() {
            workload.findings.push(whole::overlapping(&names));
            clear_best_if_invalid(workload);
        }
    }
}

/// The missing ones of the four workloads; nothing if all are missing.
fn missing(workloads: &[WorkloadReduction]) -> Option<EnergyFinding> {
    let has = |name: &str| {
        let mut names = workloads.iter().map(|w| w.benchmark.as_str());
        names.any(|benchmark| benchmark.eq_ignore_ascii_case(name))
    };
    let missing: Vec<&str> = WORKLOADS.into_iter().filter(|name| !has(name)).collect();
    (!missing.is_empty() && missing.len() < WORKLOADS.len()).then(|| {
        let message = format!(
            "the programme has four workloads; missing: {}",
            missing.join(", ")
        );
        finding(EnergyRule::Coverage, Severity::Note, message)
    })
}
