//! Findings of a composite run: changed parameters, parameters
//! without effect, load points, memory.

use crate::given::{GivenValue, Values};
use crate::params::{self, Family, Parameter, StandardValue};
use crate::plan::common::{is_idle, left_out, not_standard};
use crate::sources::Host;
use filermark_model::plan::{LoadPoint, ProcPlan};
use filermark_model::units::counted;
use filermark_model::{Benchmark, Bytes, Finding, Rule, Severity};
use std::collections::HashSet;

/// Whether it is a parameter that changes a composite in a way that [`super::change`] reports.
fn is_reported_by_change(parameter: &Parameter) -> bool {
    let reported: [&Parameter; 6] = [
        &params::FILE_SIZE,
        &params::DIR_COUNT,
        &params::FILES_PER_DIR,
        &params::CLIENT_MEM,
        &params::AGGR_CAP,
        &params::DRIVER,
    ];
    reported.iter().any(|p| p.is(parameter))
}

/// Findings about the parameters themselves.
pub(super) fn changes(values: &Values, definition: &Benchmark) -> Vec<Finding> {
    let with = format!("BENCHMARK={}", definition.name);
    let of = |g: &GivenValue| idle_with(g, &with).or_else(|| fixed(g, definition));
    let mut findings: Vec<Finding> = values.all().filter_map(of).collect();
    findings.extend(left_out(values));
    findings
}

fn fixed(given: &GivenValue, definition: &Benchmark) -> Option<Finding> {
    match is_reported_by_change(given.parameter) {
        true => None,
        false => not_standard(given, definition),
    }
}

/// A parameter that has no effect in a composite run; `with` describes the run.
pub(crate) fn idle_with(given: &GivenValue, with: &str) -> Option<Finding> {
    let p = given.parameter;
    let foreign = !p.scope.holds(Family::Composite);
    let is_password = p.is(&params::PASSWORD);
    let idle = !is_password && matches!(p.standard, StandardValue::NoEffect);
    if !foreign && !idle || is_idle(given) {
        return None;
    }
    let text = match foreign && !is_password {
        true => format!("{} has no effect with {with}", given.shown()),
        false => format!("{} has no effect here", given.shown()),
    };
    Some(Finding::new(Rule::NotStandard, Severity::Note, text))
}

/// Workloads that require a client without attribute caching.
pub(crate) fn attribute_cache(benchmark: &Benchmark) -> Option<Finding> {
    let components = benchmark.composite()?.components.iter();
    let wants = components.filter(|c| c.workload.attributes.no_attribute_cache);
    let names: Vec<&str> = wants.map(|c| c.workload.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        let text = format!(
            "{}: its description requires a client without attribute caching: mount NFS with noac (actimeo=0), SMB with actimeo=0",
            names.join(", ")
        );
        Finding::new(Rule::Lacking, Severity::Note, text)
    })
}

/// Too few load points, or not evenly spaced.
pub(super) fn points(points: &[LoadPoint], benchmark: &Benchmark) -> Vec<Finding> {
    let asked: Vec<f64> = points.iter().map(|p| p.units).collect();
    crate::loads::spread(&asked, &benchmark.standard)
}

/// Clients that have no proc even at the largest load.
pub(super) fn idle_clients(procs: &[ProcPlan], clients: usize) -> Option<Finding> {
    let busy: HashSet<u32> = procs.iter().map(|p| p.client).collect();
    let idle = clients.saturating_sub(busy.len());
    let text = format!(
        "{idle} of {clients} clients have nothing to do: the largest load has {}",
        counted(procs.len() as u64, "proc")
    );
    (idle > 0).then(|| Finding::new(Rule::ProcLoad, Severity::Note, text))
}

/// More memory needed of this host than it has; `here` is the share of the procs that
/// run on it, from 0 to 1. The memory of the other clients is not known here.
pub(super) fn memory(
    points: &[LoadPoint],
    benchmark: &Benchmark,
    host: &Host,
    here: f64,
) -> Option<Finding> {
    let per_unit = benchmark.composite()?.client_mem_mib_per_unit;
    let units = points.iter().map(|p| p.units).fold(0.0, f64::max);
    let wanted = units * per_unit * here;
    let have = host.mem_bytes? as f64 / (1u64 << 20) as f64;
    if wanted <= have {
        return None;
    }
    let mib = |mib: f64| Bytes((mib * (1u64 << 20) as f64) as u64);
    let of_it = match here < 1.0 {
        true => format!(", {} of it on this host, which has", mib(wanted)),
        false => "; this host has".to_owned(),
    };
    let text = format!(
        "the largest load needs {} of client memory ({per_unit} MiB per {}){of_it} {}",
        mib(units * per_unit),
        benchmark.unit,
        Bytes(host.mem_bytes?)
    );
    let source = "memory per unit of load, the 2014 generation's manual";
    let finding = Finding::new(Rule::Resources, Severity::Warning, text);
    Some(finding.with_limit(wanted, have, source))
}
