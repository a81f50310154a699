//! What parameters change in a composite benchmark: sizes, counts, rates.

use super::scale::{MEM_BYTES_DEFAULT, Scale};
use crate::error::SourceLocation;
use crate::given::GivenValue;
use crate::params::{self, Param, Value};
use crate::reading::{Reading, Reports};
use filermark_model::benchmark::Work;
use filermark_model::composite::Component;
use filermark_model::{Benchmark, Bytes, Finding, Rule, Severity};

/// Changes the components as the parameters require. `procs` is how many procs there
/// are at the largest load point: in all, and on the client that has most.
pub(crate) fn change(r: &mut Reading<'_>, benchmark: &mut Benchmark, procs: (u64, u64)) {
    let values = r.values;
    let Work::Composite(work) = &mut benchmark.work else {
        return;
    };
    let counts = counts_of_2014(r);
    let mut number = |parameter: &Param<Option<u32>>,
                      set: &mut dyn FnMut(&mut Component, u32) -> u32| {
        let given = values.given(parameter).filter(|_| counts);
        let (Some(given), Some(n)) = (given, values.get(parameter)) else {
            return;
        };
        let old: Vec<(String, String)> = work
            .components
            .iter_mut()
            .map(|c| (c.workload.name.clone(), set(c, n).to_string()))
            .collect();
        if old.iter().any(|(_, text)| *text != n.to_string()) {
            r.reports.findings.push(not_standard(given, &old));
        }
    };
    number(&params::DIR_COUNT, &mut |c, n| {
        std::mem::replace(&mut c.dir_count, n)
    });
    number(&params::FILES_PER_DIR, &mut |c, n| {
        std::mem::replace(&mut c.files_per_dir, n)
    });
    match (
        values.given(&params::FILE_SIZE),
        values.get(&params::FILE_SIZE),
    ) {
        (Some(given), Some(bytes)) => file_size(&mut r.reports, &mut work.components, bytes, given),
        _ => scaled(r, &mut work.components, procs),
    }
    let times = values.get(&params::OPRATE_MULTIPLIER);
    for c in &mut work.components {
        c.ops_per_proc = c.ops_per_proc.map(|rate| rate * times);
    }
}

/// Whether DIR_COUNT and FILES_PER_DIR count: not where the rc file sets both to the
/// values of the rc files of 2014.
fn counts_of_2014(r: &mut Reading<'_>) -> bool {
    let values = r.values;
    let as_shipped = |(parameter, n): (&Param<Option<u32>>, u32)| {
        let in_file = matches!(values.place(parameter), SourceLocation::At { .. });
        in_file && values.get(parameter) == Some(n)
    };
    // Every rc file of 2014 has them, and they are ignored there in favor of the benchmark's
    // own figures (sources.md 3.1 and 3.3).
    let of_2014 = [(&params::DIR_COUNT, 10), (&params::FILES_PER_DIR, 100)];
    if !of_2014.into_iter().all(as_shipped) {
        return true;
    }
    let text = "DIR_COUNT=10 and FILES_PER_DIR=100, as in every rc file of 2014, are ignored, \
                as in 2014: the benchmark's own figures apply";
    r.reports.note(Rule::NotStandard, Severity::Note, text);
    false
}

fn not_standard(given: &GivenValue, old: &[(String, String)]) -> Finding {
    let mut kinds: Vec<&str> = old.iter().map(|(_, text)| text.as_str()).collect();
    kinds.dedup();
    let standard = match kinds.as_slice() {
        [one] => (*one).to_owned(),
        _ => old
            .iter()
            .map(|(name, text)| format!("{name} {text}"))
            .collect::<Vec<_>>()
            .join(", "),
    };
    let text = format!("not standard: {} (standard: {standard})", given.shown());
    Finding::new(Rule::NotStandard, Severity::Warning, text)
}

fn file_size(reports: &mut Reports, components: &mut [Component], bytes: u64, given: &GivenValue) {
    let same = |c: &Component| c.file_bytes == bytes && c.file_sizes.is_none();
    if components.iter().all(same) {
        return;
    }
    let old: Vec<(String, String)> = components
        .iter()
        .map(|c| (c.workload.name.clone(), Bytes(c.file_bytes).to_string()))
        .collect();
    reports.findings.push(not_standard(given, &old));
    for c in components {
        c.file_bytes = bytes;
        c.file_sizes = None;
    }
}

/// Scales the files by CLIENT_MEM and AGGR_CAP where the benchmark is one of
/// netmist's single workloads: one component, as fast as possible.
fn scaled(r: &mut Reading<'_>, components: &mut [Component], procs: (u64, u64)) {
    let values = r.values;
    let given: Vec<&GivenValue> = [&params::CLIENT_MEM, &params::AGGR_CAP]
        .into_iter()
        .filter_map(|parameter| values.given(parameter))
        .collect();
    let [c] = components else {
        return fixed_sizes(&mut r.reports, &given);
    };
    if c.ops_per_proc.is_some() {
        return fixed_sizes(&mut r.reports, &given);
    }
    let Some(first) = given.first() else { return };
    let scale = Scale {
        client_mem_bytes: values.get(&params::CLIENT_MEM),
        aggregate_bytes: values.get(&params::AGGR_CAP),
        procs_per_client: procs.1,
        procs: procs.0,
    };
    let new = scale.file_bytes(c.files_per_bucket());
    let old = std::mem::replace(&mut c.file_bytes, new);
    if old != c.file_bytes {
        let text = format!(
            "file size {} from CLIENT_MEM and AGGR_CAP ({}; as defined: {})",
            Bytes(c.file_bytes),
            first.location,
            Bytes(old)
        );
        r.reports.note(Rule::NotStandard, Severity::Warning, text);
        c.file_sizes = None;
    }
}

/// CLIENT_MEM and AGGR_CAP without effect; 1g is the value in every rc file of 2014.
fn fixed_sizes(reports: &mut Reports, given: &[&GivenValue]) {
    let changed = given
        .iter()
        .filter(|g| g.value != Some(Value::Int(MEM_BYTES_DEFAULT)));
    for g in changed {
        let text = format!(
            "{} has no effect: the benchmark's file sizes are fixed",
            g.shown()
        );
        reports.note(Rule::NotStandard, Severity::Note, text);
    }
}
