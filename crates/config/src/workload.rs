//! The benchmark of a run: a shipped or an own definition, with the changes
//! that parameters make to it.

use crate::blockfile::parse_blockfile;
use crate::definitions::{parse_classic, shipped_registry, unknown_benchmark};
use crate::error::SourceLocation;
use crate::mixfile::read_mix;
use crate::params::{self, Param};
use crate::protocol;
use crate::reading::Reading;
use filermark_model::benchmark::{NFS2_FILE_BYTES_MAX, Protocol};
use filermark_model::plan::DriverPlan;
use filermark_model::{Benchmark, Op, SizeDistribution};
use std::path::Path;

/// The benchmark as defined, before any change; `None`: it is wrong, as reported.
pub(crate) fn definition(r: &mut Reading<'_>) -> Option<Benchmark> {
    let (values, sources) = (r.values, r.sources);
    if values.is_bad(&params::BENCHMARK_FILE) || values.is_bad(&params::BENCHMARK) {
        return None;
    }
    let Some(file) = values.get(&params::BENCHMARK_FILE) else {
        let name = protocol::benchmark_name(values);
        return Benchmark::shipped(&name)
            .map_err(|_| {
                let registry = shipped_registry();
                r.reports
                    .errors
                    .push(unknown_benchmark(&name, values, &registry));
            })
            .ok();
    };
    let place = values.place(&params::BENCHMARK_FILE);
    let (path, text) = sources
        .read_beside("BENCHMARK_FILE", &file, &[sources.folder()])
        .map_err(|why| {
            let message = format!("BENCHMARK_FILE={file} {why}");
            r.reports
                .refuse(place, message, "name a definition file (TOML)");
        })
        .ok()?;
    parse_classic(&path, &text)
        .map_err(|e| r.reports.errors.push(e))
        .ok()
}

/// Changes the definition as the parameters require.
pub(crate) fn change(r: &mut Reading<'_>, benchmark: &mut Benchmark, work_dir: &Path) {
    let (values, sources) = (r.values, r.sources);
    let has_symlinks = benchmark.protocol.ops().contains(&Op::Symlink);
    let Some(classic) = benchmark.classic_mut() else {
        return;
    };
    let rule = &mut classic.fileset;
    let real = |p: &Param<Option<f64>>, old: f64| values.get(p).unwrap_or(old);
    let count = |p: &Param<Option<u32>>, old: u32| values.get(p).unwrap_or(old);
    rule.mb_per_op = real(&params::FILESET_MB_PER_OP, rule.mb_per_op);
    rule.access_pcnt = real(&params::ACCESS_PCNT, rule.access_pcnt);
    rule.append_pcnt = real(&params::APPEND_PCNT, rule.append_pcnt);
    rule.dir_count = count(&params::DIR_COUNT, rule.dir_count);
    rule.file_count = count(&params::FILE_COUNT, rule.file_count);
    if has_symlinks {
        rule.symlink_count = count(&params::SYMLINK_COUNT, rule.symlink_count);
    }
    if let Some(bytes) = values.get(&params::FILE_SIZE) {
        classic.file_sizes = SizeDistribution::fixed(bytes);
    }

    let folders = [work_dir, sources.folder()];
    if let Some((path, text)) = read(r, &params::MIXFILE, &folders) {
        let run = values.get(&params::NFS_VERSION);
        match read_mix(&path, &text, (benchmark.protocol, run)) {
            Ok(read) => {
                r.reports.findings.extend(read.note);
                if let Err(e) = benchmark.set_mix(read.mix) {
                    let hint = "or draw another sequence: copy the definition, set BENCHMARK_FILE";
                    r.reports
                        .refuse(SourceLocation::File(path), e.to_string(), hint);
                }
            }
            Err(found) => r.reports.errors.extend(found),
        }
    }
    if let Some((path, text)) = read(r, &params::BLOCK_FILE, &folders) {
        match parse_blockfile(&path, &text) {
            Ok(blocks) => {
                if let Some(classic) = benchmark.classic_mut() {
                    classic.read_sizes = blocks.read.unwrap_or(classic.read_sizes.clone());
                    classic.write_sizes = blocks.write.unwrap_or(classic.write_sizes.clone());
                }
            }
            Err(found) => r.reports.errors.extend(found),
        }
    }
    contradictions(r, benchmark);
}

/// Refuses operations of the mix that the driver does not have with these settings.
pub(crate) fn refuse_missing(r: &mut Reading<'_>, benchmark: &Benchmark, driver: &DriverPlan) {
    let ops = driver.ops();
    let shares = benchmark.mix.shares().iter();
    let all: Vec<Op> = shares.map(|(op, _)| *op).collect();
    let missing: Vec<Op> = all
        .iter()
        .copied()
        .filter(|op| !ops.contains(*op))
        .collect();
    let names: Vec<&str> = missing.iter().map(|op| op.name()).collect();
    let operations = match names.as_slice() {
        [] => return,
        [one] => format!("the operation {one}"),
        [rest @ .., last] => format!("the operations {} and {last}", rest.join(", ")),
    };
    let of = driver.describe().protocol;
    let message = format!("the mix has {operations}, which {of} does not have");
    r.refuse(
        &params::MIXFILE,
        message,
        driver.advice_without(&missing, &all),
    );
}

/// The file that a parameter names: its path and its text.
fn read(
    r: &mut Reading<'_>,
    parameter: &Param<Option<String>>,
    folders: &[&Path],
) -> Option<(String, String)> {
    let file = r.values.get(parameter)?;
    let name = parameter.name;
    r.sources
        .read_beside(name, &file, folders)
        .map_err(|why| {
            let message = format!("{name}={file} {why}");
            let hint = "give its path, from WORK_DIR, the rc file's folder or /";
            r.refuse(parameter, message, hint);
        })
        .ok()
}

/// Refuses contradictions that the changes cause.
fn contradictions(r: &mut Reading<'_>, benchmark: &Benchmark) {
    let Some(classic) = benchmark.classic() else {
        return;
    };
    let largest = classic.file_sizes.max();
    let transfer = classic.read_sizes.max().max(classic.write_sizes.max());
    if benchmark.protocol == Protocol::Nfs2 && largest.0 > NFS2_FILE_BYTES_MAX {
        let message = format!("a file of NFS version 2 ends at 2 GiB, and {largest} is larger");
        r.refuse(&params::FILE_SIZE, message, "lower FILE_SIZE");
        return;
    }
    if transfer <= largest {
        return;
    }
    let (parameter, hint) = match r.values.given(&params::FILE_SIZE) {
        Some(_) => (
            &params::FILE_SIZE as &params::Parameter,
            "raise FILE_SIZE, or give smaller transfers with BLOCK_FILE",
        ),
        None => (
            &params::BLOCK_FILE as &params::Parameter,
            "lower the sizes in the block file, or raise FILE_SIZE",
        ),
    };
    let message = format!("a transfer of {transfer} is larger than the largest file, {largest}");
    r.refuse(parameter, message, hint);
}
