//! How long RUN has to be so that the data set is used, not only made.

use filermark_model::composite::Component;
use filermark_model::plan::ProcPlan;
use filermark_model::{Benchmark, Bytes, Finding, Mix, Nanos, Op, Rule, Severity};

/// Transfers end with their file: fewer bytes move than the tables say. So much
/// longer RUN is made.
const RESERVE: f64 = 1.5;
/// The longest that RUN is made so that the data set is touched, in seconds.
const RUNTIME_S_MAX: f64 = 86_400.0;

/// Makes RUN so long that as many bytes are moved as the data set has (seed 002,
/// section 10: the benchmark enforces a minimum run time). Whether it does at all.
pub(super) fn touch(
    benchmark: &Benchmark,
    all: &[ProcPlan],
    sharing: bool,
    runtime: &mut Nanos,
    findings: &mut Vec<Finding>,
) -> bool {
    let Some(work) = benchmark.composite() else {
        return false;
    };
    let mut note = |severity, text: String| {
        findings.push(Finding::new(Rule::DataTouched, severity, text));
    };
    let moves = |c: &Component| bytes_per_op(c) > 0.0;
    if !work.components.iter().any(moves) {
        note(
            Severity::Note,
            "the workloads move no data: the run is as long as -t says".into(),
        );
        return false;
    }
    let data = work.data_set(all, 1, sharing).start_bytes as f64;
    let rate = |p: &ProcPlan| {
        let component = work.components.get(p.component as usize)?;
        Some(p.ops_per_sec?.0 * bytes_per_op(component))
    };
    // Without a rate the time is known only when it has passed.
    let Some(per_second) = all.iter().map(rate).sum::<Option<f64>>() else {
        return true;
    };
    let needed = (RESERVE * data / per_second.max(1e-9)).ceil();
    if needed <= runtime.as_secs_f64() {
        return true;
    }
    let asked = runtime.as_secs_f64();
    *runtime = Nanos::from_secs_f64(needed.min(RUNTIME_S_MAX).max(asked));
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
                "RUN takes {:.0} s, the most that there is, but {at_rate}: the load point will not count; \
                 lower -b, -B, -Q or -T, or take --exact-time",
                runtime.as_secs_f64()
            ),
        ),
    }
    true
}

/// What an operation of a component moves in the mean, in bytes.
fn bytes_per_op(c: &Component) -> f64 {
    let w = &c.workload;
    let (read, write) = (
        w.read_transfers.mean_bytes(),
        w.write_transfers.mean_bytes(),
    );
    let file = c.file_bytes as f64;
    let mix: &Mix = &w.mix;
    let of = |(op, percent): &(Op, f64)| {
        let bytes = match op {
            Op::Read | Op::MmapRead | Op::ReadRandom => read,
            Op::Write | Op::MmapWrite | Op::WriteRandom | Op::Append => write,
            Op::ReadFile | Op::WriteFile => file,
            Op::Rmw => 2.0 * write,
            Op::Copyfile => 2.0 * file,
            _ => 0.0,
        };
        bytes * percent / 100.0
    };
    mix.shares().iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::composite::choose::shipped_registry;
    use filermark_model::Registry;

    fn moved(registry: &Registry, benchmark: &str) -> f64 {
        let benchmark = registry.composite(benchmark).unwrap();
        bytes_per_op(&benchmark.composite().unwrap().components[0])
    }

    #[test]
    fn what_an_operation_moves_follows_from_mix_and_tables() {
        let registry = shipped_registry();
        // VDA1 writes only: the mean of its table, 450 KiB.
        let vda1 =
            32.0 * 0.05 + 64.0 * 0.1 + 128.0 * 0.1 + 256.0 * 0.25 + 512.0 * 0.25 + 1024.0 * 0.25;
        assert!((moved(&registry, "VDA") / 1024.0 - vda1).abs() < 0.1);
        // SWBUILD: 6 % whole-file reads and 7 % whole-file writes of 16 KiB.
        assert!((moved(&registry, "SWBUILD") - 16384.0 * 0.13).abs() < 1e-6);
    }
}
