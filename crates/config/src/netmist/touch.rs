//! How long RUN must be so that the data set is used, not only made.

use crate::reading::Reports;
use filermark_model::composite::Component;
use filermark_model::plan::{PhasePlan, ProcPlan};
use filermark_model::transfer_bytes::MovedBytes;
use filermark_model::{Benchmark, Bytes, Nanos, Rule, Severity};

/// The bytes of operations differ at random: RUN is so long that the data set is touched
/// also where they move less, by so many standard errors.
const STD_ERRORS: f64 = 4.0;
/// Standard errors for the sizes of the files of a tree, which may be smaller than intended;
/// each proc has its own, and they differ.
const TREE_STD_ERRORS: f64 = 3.0;
/// The longest that RUN is made so that the data set is touched, in seconds.
const RUNTIME_S_MAX: f64 = 86_400.0;
/// The longest RUN where no rate is requested, in seconds `[own]`.
const OPEN_RUNTIME_S_MAX: f64 = 14_400.0;

/// Makes RUN so long that as many bytes are moved as the data set has (manual N,
/// section 10: the benchmark enforces a minimum run time). Returns whether it does.
pub(super) fn touch(
    reports: &mut Reports,
    benchmark: &Benchmark,
    all: &[ProcPlan],
    sharing: bool,
    phases: &mut PhasePlan,
) -> bool {
    let Some(work) = benchmark.composite() else {
        return false;
    };
    let mut note = |severity, text: String| {
        reports.note(Rule::DataTouched, severity, text);
    };
    // Background work is not in the result, and its trees need not be touched.
    let counts = |p: &&ProcPlan| !work.is_background(p.component);
    let moved: Vec<MovedBytes> = work.components.iter().map(least_moved).collect();
    let measured = || all.iter().filter(counts);
    let mut in_use = measured().filter_map(|p| moved.get(p.component as usize));
    if !in_use.any(|m| m.mean_bytes > 0.0) {
        note(
            Severity::Note,
            "the workloads move no data: the run is as long as -t says".into(),
        );
        return false;
    }
    let data = work.bytes_to_touch(all, sharing) as f64;
    let rate = |p: &ProcPlan| {
        let moved = moved.get(p.component as usize)?;
        Some((p.ops_per_sec?.0, *moved))
    };
    let asked = phases.runtime.as_secs_f64();
    // Without a rate the time is not known in advance.
    let Some(rates) = measured().map(rate).collect::<Option<Vec<_>>>() else {
        let most = OPEN_RUNTIME_S_MAX.max(asked);
        phases.runtime_max = Some(Nanos::from_secs_f64(most));
        note(
            Severity::Note,
            format!(
                "RUN takes {asked} s and continues until the data set of {} has been read and written once, \
                 {most} s at most (Filermark's own limit; --exact-time: {asked} s)",
                Bytes(data as u64),
            ),
        );
        return true;
    };
    let needed = seconds_to_move(data, &rates, benchmark.standard.achieved_pcnt_min).ceil();
    if needed <= asked {
        return true;
    }
    phases.runtime = Nanos::from_secs_f64(needed.min(RUNTIME_S_MAX).max(asked));
    let at_rate = format!(
        "the data set of {} needs {needed:.0} s at this rate",
        Bytes(data as u64)
    );
    match needed <= RUNTIME_S_MAX {
        true => note(
            Severity::Note,
            format!(
                "RUN takes {needed:.0} s instead of {asked} s: {at_rate} (--exact-time: {asked} s)"
            ),
        ),
        false => note(
            Severity::Warning,
            format!(
                "RUN takes {:.0} s, the maximum, but {at_rate}: the load point will not count; \
                 lower -b, -B, -Q or -T, or take --exact-time",
                phases.runtime.as_secs_f64()
            ),
        ),
    }
    true
}

/// The bytes that an operation moves, on a tree whose files are smaller than intended.
fn least_moved(component: &Component) -> MovedBytes {
    let moved = component.moved_per_op();
    let least = (1.0 - TREE_STD_ERRORS * component.moved_doubt()).max(0.25);
    MovedBytes {
        mean_bytes: moved.mean_bytes * least,
        ..moved
    }
}

/// How many seconds operations of these rates take until so many bytes are moved: with
/// the least share of the rate that counts as achieved, and unfavorable random deviations.
fn seconds_to_move(bytes: f64, rates: &[(f64, MovedBytes)], achieved_pcnt_min: f64) -> f64 {
    let sum =
        |of: &dyn Fn(&MovedBytes) -> f64| rates.iter().map(|(rate, m)| rate * of(m)).sum::<f64>();
    let per_second = sum(&|m| m.mean_bytes) * (achieved_pcnt_min / 100.0).clamp(0.5, 1.0);
    let scatter = STD_ERRORS * sum(&|m| m.mean_square).sqrt();
    // per_second * t - scatter * sqrt(t) = bytes.
    let root = (scatter * scatter + 4.0 * per_second * bytes).sqrt();
    ((scatter + root) / (2.0 * per_second.max(1e-9))).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_deviations_and_the_least_rate_are_included() {
        let moved = |mean_bytes: f64, mean_square: f64| MovedBytes {
            mean_bytes,
            mean_square,
        };
        // All operations move the same, at the full rate: the scatter is that of their
        // number only.
        let even = [(100.0, moved(1000.0, 0.0))];
        assert!((seconds_to_move(1e6, &even, 100.0) - 10.0).abs() < 1e-9);
        assert!((seconds_to_move(0.95e6, &even, 95.0) - 10.0).abs() < 1e-9);
        let procs = [(50.0, moved(1000.0, 0.0)), (100.0, moved(500.0, 0.0))];
        assert!((seconds_to_move(1e6, &procs, 100.0) - 10.0).abs() < 1e-9);
        // One in a hundred moves 100 kB: about t of them in t seconds.
        let rare = [(100.0, moved(1000.0, 1e8))];
        let t = seconds_to_move(1e6, &rare, 100.0);
        assert!(
            (t * 1e5 - 4.0 * (100.0 * t * 1e8).sqrt() - 1e6).abs() < 1.0,
            "{t}"
        );
        assert!((30.0..40.0).contains(&t), "{t}");
    }
}
