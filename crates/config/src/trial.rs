//! Findings about plans whose file set is too small, whose procs are spread unevenly, or
//! which have too few clients.

use filermark_model::access::Access;
use filermark_model::op::Op;
use filermark_model::units::counted;
use filermark_model::{Finding, LoadPoint, Rule, RunPlan, Severity};

/// How far the accessed share of the bytes may be off the rule, in percentage points.
const SHARE_POINTS_MAX: f64 = 2.0;
/// Share of the reads that may be cut, in percent.
const CUT_READS_PCNT_MAX: f64 = 1.0;
const OWN: &str = "Filermark, docs/src/reference/rules.md";

/// All of them, for a plan of a classical benchmark; none for others.
pub(crate) fn findings(plan: &RunPlan) -> Vec<Finding> {
    let of_files = [accessed_share(plan), cut_reads(plan), load_generators(plan)];
    let mut found: Vec<Finding> = of_files.into_iter().flatten().collect();
    found.extend(Access::of(plan).iter().flat_map(Access::findings));
    found
}

/// The load point with the largest figure, and the figure.
fn worst(plan: &RunPlan, figure: impl Fn(LoadPoint) -> f64) -> Option<(LoadPoint, f64)> {
    let all = plan.points.iter().map(|point| (*point, figure(*point)));
    all.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Whether the mix has any of these operations.
fn does_any(plan: &RunPlan, ops: &[Op]) -> bool {
    ops.iter().any(|op| plan.benchmark.mix.percent(*op) > 0.0)
}

fn accessed_share(plan: &RunPlan) -> Option<Finding> {
    if !does_any(plan, &[Op::Read, Op::Write]) {
        return None;
    }
    let wanted = plan.benchmark.classic()?.fileset.access_pcnt;
    let off = |point: LoadPoint| (plan.io_sums(point.requested).accessed_pcnt() - wanted).abs();
    let (point, off) = worst(plan, off)?;
    (off > SHARE_POINTS_MAX).then(|| {
        let sums = plan.io_sums(point.requested);
        let message = format!(
            "the accessed files hold {:.1} % of the bytes at load point {} instead of {wanted} %: with {} for {} no choice comes closer to it; raise LOAD or FILESET_MB_PER_OP",
            sums.accessed_pcnt(),
            point.number,
            counted(sums.file_count, "file"),
            counted(u64::from(plan.proc_count()), "proc"),
        );
        Finding::new(Rule::AccessedShare, Severity::Note, message).with_limit(
            off,
            SHARE_POINTS_MAX,
            OWN,
        )
    })
}

fn cut_reads(plan: &RunPlan) -> Option<Finding> {
    plan.benchmark.classic()?;
    if !does_any(plan, &[Op::Read]) {
        return None;
    }
    let cut = |point: LoadPoint| plan.io_sums(point.requested).cut_reads_pcnt;
    let (point, cut) = worst(plan, cut)?;
    (cut > CUT_READS_PCNT_MAX).then(|| {
        let sums = plan.io_sums(point.requested);
        let message = format!(
            "{cut:.1} % of the reads at load point {} are longer than any accessed file of their proc, and are shortened to it: {} are accessed by {}; raise LOAD or FILESET_MB_PER_OP, or lower PROCS",
            point.number,
            counted(sums.accessed_count, "file"),
            counted(u64::from(plan.proc_count()), "proc"),
        );
        Finding::new(Rule::CutReads, Severity::Note, message).with_limit(
            cut,
            CUT_READS_PCNT_MAX,
            OWN,
        )
    })
}

fn load_generators(plan: &RunPlan) -> Option<Finding> {
    let (clients, least) = (plan.clients.len(), plan.benchmark.standard.clients_min);
    (clients < least as usize).then(|| {
        let name = &plan.benchmark.name;
        let message = format!(
            "{name} requires {least} load generators at least, and CLIENTS names {clients}: one client may be slower than the server"
        );
        Finding::new(Rule::LoadGenerators, Severity::Warning, message).with_limit(
            clients as f64,
            f64::from(least),
            "guide V: at least two NFS clients (the NFS load generators)",
        )
    })
}
