//! Determines which benchmark a run is: a classical one, or a composite.

use crate::definitions::{
    defines_composites, shipped_registry, take_definitions, unknown_benchmark,
};
use crate::error::SourceLocation;
use crate::given::Values;
use crate::inline::{INLINE_NAME, InlineWorkload, refused_settings};
use crate::params::{self, Parameter};
use crate::reading::{Reading, Reports};
use crate::sources::Sources;
use filermark_model::benchmark::SHIPPED;
use filermark_model::registry::{Registry, RegistryError};
use filermark_model::{Benchmark, Finding, Rule, Severity};
use std::path::Path;

/// The choice of BENCHMARK and BENCHMARK_FILE.
pub(crate) enum BenchmarkChoice {
    /// A classical benchmark, or an unknown one: handled by the classical modules.
    Classic,
    /// A composite; `None`: it is wrong, as reported.
    Composite(Option<Box<ChosenBenchmark>>),
}

/// A composite benchmark, found.
pub(crate) struct ChosenBenchmark {
    /// As it is defined, before the parameters change it.
    pub definition: Benchmark,
    /// With the workload objects of WORKLOAD_FILE in it.
    pub benchmark: Benchmark,
    /// Findings so far.
    pub findings: Vec<Finding>,
}

/// Finds the benchmark.
pub(crate) fn choose(r: &mut Reading<'_>, work_dir: &Path) -> BenchmarkChoice {
    let (values, sources) = (r.values, r.sources);
    if values.is_bad(&params::WORKLOAD) {
        return BenchmarkChoice::Composite(None);
    }
    if let Some(line) = values.get(&params::WORKLOAD) {
        return BenchmarkChoice::Composite(inline(r, &line, work_dir));
    }
    let own = match own_text(values, sources) {
        OwnDefinitions::Classic => return BenchmarkChoice::Classic,
        OwnDefinitions::None => None,
        OwnDefinitions::Composites(path, text) => Some((path, text)),
    };
    let given = values.given(&params::BENCHMARK).map(|g| g.raw.clone());
    let classic = |name: &String| SHIPPED.iter().any(|(n, _)| n == name);
    let mounted = values.given(&params::CLIENT_MOUNTPOINTS).is_some();
    if given.is_none() && own.is_none() && mounted && values.given(&params::MNT_POINTS).is_none() {
        let names = shipped_registry().composite_names().join(", ");
        r.refuse(
            &params::CLIENT_MOUNTPOINTS,
            "CLIENT_MOUNTPOINTS belongs to composite benchmarks, and BENCHMARK is not set",
            format!("add BENCHMARK=SWBUILD, or another of: {names}"),
        );
        return BenchmarkChoice::Composite(None);
    }
    if own.is_none() && given.as_ref().is_none_or(classic) {
        return BenchmarkChoice::Classic;
    }
    let mut registry = shipped_registry();
    let mut own_benchmarks = Vec::new();
    if let Some((path, text)) = &own {
        match take_definitions(&mut registry, path, text) {
            Ok(taken) => own_benchmarks = taken.benchmarks,
            Err(found) => {
                r.reports.errors.extend(found);
                return BenchmarkChoice::Composite(None);
            }
        }
    }
    let name = match given {
        Some(name) if classic(&name) => return BenchmarkChoice::Classic,
        Some(name) => name,
        None if own_benchmarks.len() == 1 => own_benchmarks.remove(0),
        None => {
            r.reports.refuse(
                SourceLocation::Missing,
                "BENCHMARK is not set",
                format!("choose one of: {}", registry.composite_names().join(", ")),
            );
            return BenchmarkChoice::Composite(None);
        }
    };
    // A benchmark that is unknown is assumed to be of the kind that the other parameters belong to.
    let mounts = &params::CLIENT_MOUNTPOINTS;
    let like_composite = values.given(mounts).is_some() || values.is_bad(mounts);
    match registry.composite(&name) {
        Ok(definition) => BenchmarkChoice::Composite(changed(r, definition, registry, work_dir)),
        Err(RegistryError::UnknownBenchmark { .. }) if !like_composite => BenchmarkChoice::Classic,
        Err(RegistryError::UnknownBenchmark { .. }) => {
            r.reports
                .errors
                .push(unknown_benchmark(&name, values, &registry));
            BenchmarkChoice::Composite(None)
        }
        Err(e) => {
            let hint = "see the definition file";
            r.refuse(&params::BENCHMARK, e.to_string(), hint);
            BenchmarkChoice::Composite(None)
        }
    }
}

/// The benchmark that WORKLOAD describes.
fn inline(r: &mut Reading<'_>, line: &str, work_dir: &Path) -> Option<Box<ChosenBenchmark>> {
    let others: [&Parameter; 2] = [&params::BENCHMARK, &params::BENCHMARK_FILE];
    for other in others {
        if r.values.given(other).is_some() {
            let message = format!(
                "WORKLOAD describes the benchmark, so {} does not",
                other.name
            );
            r.refuse(other, message, "leave one of the two out");
        }
    }
    let place = r.values.place(&params::WORKLOAD);
    let mut registry = shipped_registry();
    take_inline(r, line, &mut registry, |_| None)?;
    let definition = registry
        .composite(INLINE_NAME)
        .map_err(|e| r.reports.refuse(place, e.to_string(), ""))
        .ok()?;
    changed(r, definition, registry, work_dir)
}

/// Takes the workload of WORKLOAD, called INLINE. `refused` says what to write in place of a
/// setting that has no meaning here.
pub(crate) fn take_inline(
    r: &mut Reading<'_>,
    line: &str,
    registry: &mut Registry,
    refused: impl Fn(&str) -> Option<&'static str>,
) -> Option<()> {
    let place = r.values.place(&params::WORKLOAD);
    let read = InlineWorkload::parse(line);
    let mut faults = refused_settings(line, refused);
    faults.extend(read.as_ref().err().cloned().unwrap_or_default());
    for fault in &faults {
        let message = match fault.column {
            0 => fault.message.clone(),
            column => format!("character {column} of the workload: {}", fault.message),
        };
        r.reports.refuse(place.clone(), message, &fault.hint);
    }
    let workload = read.ok().filter(|_| faults.is_empty())?;
    take_objects(&mut r.reports, "WORKLOAD", &workload.to_toml(), registry).map(drop)
}

/// What BENCHMARK_FILE holds.
enum OwnDefinitions {
    /// It is not set.
    None,
    /// A classical definition (or none at all), which the classical modules read.
    Classic,
    /// Composites or workload objects: the file's path and its text.
    Composites(String, String),
}

fn own_text(values: &Values, sources: &Sources) -> OwnDefinitions {
    let Some(file) = values.get(&params::BENCHMARK_FILE) else {
        return OwnDefinitions::None;
    };
    match sources.read_beside("BENCHMARK_FILE", &file, &[sources.folder()]) {
        Ok((path, text)) if defines_composites(&text) || is_xml(&text) => {
            OwnDefinitions::Composites(path, text)
        }
        _ => OwnDefinitions::Classic,
    }
}

/// Whether a definition file is of the 2014 kind, which must be converted first.
fn is_xml(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

/// The definition, and the definition with the objects of WORKLOAD_FILE.
fn changed(
    r: &mut Reading<'_>,
    definition: Benchmark,
    mut registry: Registry,
    work_dir: &Path,
) -> Option<Box<ChosenBenchmark>> {
    let (values, sources) = (r.values, r.sources);
    let mut findings = Vec::new();
    if registry.is_experimental(&definition.name) {
        let text = format!(
            "{}: figures of this benchmark are experimental or Filermark's own",
            definition.name
        );
        findings.push(Finding::new(Rule::Experimental, Severity::Note, text));
    }
    if values.is_bad(&params::WORKLOAD_FILE) {
        return None;
    }
    let mut benchmark = definition.clone();
    if let Some(file) = values.get(&params::WORKLOAD_FILE) {
        let place = values.place(&params::WORKLOAD_FILE);
        let folders = [work_dir, sources.folder()];
        let (path, text) = sources
            .read_beside("WORKLOAD_FILE", &file, &folders)
            .map_err(|why| {
                let message = format!("WORKLOAD_FILE={file} {why}");
                let hint = "give its path, from WORK_DIR, the rc file's folder or /";
                r.reports.refuse(place.clone(), message, hint);
            })
            .ok()?;
        let names = take_objects(&mut r.reports, &path, &text, &mut registry)?;
        benchmark = registry
            .composite(&definition.name)
            .map_err(|e| r.reports.refuse(place, e.to_string(), ""))
            .ok()?;
        let used = |name: &String| {
            let components = benchmark.composite().map_or(&[][..], |c| &c.components);
            components.iter().any(|c| c.workload.name == *name)
        };
        if !names.iter().any(used) {
            let text = format!(
                "{path} has no workload of {}: {}",
                definition.name,
                names.join(", ")
            );
            findings.push(Finding::new(Rule::NotStandard, Severity::Note, text));
        }
    }
    Some(Box::new(ChosenBenchmark {
        definition,
        benchmark,
        findings,
    }))
}

/// Adds what a text defines to the registry; returns the names of its workloads.
pub(crate) fn take_objects(
    reports: &mut Reports,
    path: &str,
    text: &str,
    registry: &mut Registry,
) -> Option<Vec<String>> {
    match take_definitions(registry, path, text) {
        Ok(taken) => Some(taken.workloads),
        Err(found) => {
            reports.errors.extend(found);
            None
        }
    }
}
