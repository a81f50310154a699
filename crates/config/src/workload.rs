//! The benchmark of a run: a shipped or an own definition, with the changes
//! that parameters make to it.

use crate::blockfile::parse_blockfile;
use crate::error::{ConfigError, Place};
use crate::given::Values;
use crate::mixfile::read_mix;
use crate::protocol;
use crate::sources::Sources;
use filermark_model::benchmark::{DefinitionError, FileSetRule};
use filermark_model::{Benchmark, Finding};
use std::path::Path;

/// The benchmark as defined, before any change; `None`: it is wrong, as told.
pub(crate) fn definition(
    values: &Values,
    sources: &Sources,
    errors: &mut Vec<ConfigError>,
) -> Option<Benchmark> {
    if values.is_bad("BENCHMARK_FILE") || values.is_bad("BENCHMARK") {
        return None;
    }
    let Some(file) = values.text("BENCHMARK_FILE") else {
        let name = protocol::benchmark_name(values);
        return Benchmark::shipped(&name)
            .map_err(|_| {
                let registry = crate::composite::choose::shipped_registry();
                errors.push(crate::composite::choose::unknown(&name, values, &registry));
            })
            .ok();
    };
    let place = values.place("BENCHMARK_FILE");
    let (path, text) = sources
        .read_beside("BENCHMARK_FILE", &file, &[sources.folder()])
        .map_err(|why| {
            let message = format!("BENCHMARK_FILE={file} {why}");
            errors.push(ConfigError::new(
                place,
                message,
                "name a definition file (TOML)",
            ));
        })
        .ok()?;
    read_classic(&path, &text).map_err(|e| errors.push(e)).ok()
}

/// Reads a classical definition; `file` is what messages call it.
pub(crate) fn read_classic(file: &str, text: &str) -> Result<Benchmark, ConfigError> {
    let benchmark = Benchmark::classic_from_toml(text).map_err(|e| toml_error(file, &e))?;
    match nonsense(&benchmark) {
        None => Ok(benchmark),
        Some(what) => {
            let place = Place::File(file.to_owned());
            Err(ConfigError::new(place, what, CLASSIC_HINT))
        }
    }
}

const CLASSIC_HINT: &str =
    "compare with a shipped one: `filermark workload export general-nfs3` or general-smb2";

fn toml_error(path: &str, e: &DefinitionError) -> ConfigError {
    let place = Place::line(path, e.line, e.column);
    ConfigError::new(place, e.reason.clone(), CLASSIC_HINT)
}

/// The first figure of a definition that no run could work with.
fn nonsense(b: &Benchmark) -> Option<String> {
    let s = &b.standard;
    let f = &b.classic()?.fileset;
    let figures = [
        ("standard.warmup_s", s.warmup_s, 0.0, 604_800.0),
        ("standard.runtime_s", s.runtime_s, 0.1, 604_800.0),
        (
            "standard.response_limit_ms",
            s.response_limit_ms,
            0.0,
            3_600_000.0,
        ),
        ("standard.ops_per_proc_max", s.ops_per_proc_max, 0.0, 1e12),
        ("standard.ops_per_proc_min", s.ops_per_proc_min, 0.0, 1e12),
        (
            "standard.achieved_pcnt_min",
            s.achieved_pcnt_min,
            0.0,
            100.0,
        ),
        ("standard.proc_pcnt_min", s.proc_pcnt_min, 0.0, 100.0),
        (
            "standard.mix_deviation_pcnt_max",
            s.mix_deviation_pcnt_max,
            0.0,
            100.0,
        ),
        ("standard.error_pcnt_max", s.error_pcnt_max, 0.0, 100.0),
        (
            "standard.error_pcnt_invalid",
            s.error_pcnt_invalid,
            0.0,
            100.0,
        ),
        ("fileset.mb_per_op", f.mb_per_op, 0.001, 1e6),
        ("fileset.access_pcnt", f.access_pcnt, 0.1, 100.0),
        ("fileset.append_pcnt", f.append_pcnt, 0.0, 100.0),
        (
            "fileset.dir_count",
            f64::from(f.dir_count),
            1.0,
            f64::from(FileSetRule::DIR_COUNT_MAX),
        ),
        (
            "fileset.symlink_count",
            f64::from(f.symlink_count),
            // SMB has none.
            if protocol::is_smb(b.protocol) {
                0.0
            } else {
                1.0
            },
            f64::from(FileSetRule::SYMLINK_COUNT_MAX),
        ),
        (
            "fileset.file_count",
            f64::from(f.file_count),
            1.0,
            f64::from(FileSetRule::FILE_COUNT_MAX),
        ),
    ];
    figures
        .into_iter()
        .find(|(_, value, min, max)| !(min..=max).contains(&value))
        .map(|(name, value, min, max)| format!("{name} = {value} is not within {min} to {max}"))
}

/// Changes the definition as the parameters say.
pub(crate) fn change(
    benchmark: &mut Benchmark,
    values: &Values,
    sources: &Sources,
    work_dir: &Path,
    findings: &mut Vec<Finding>,
    errors: &mut Vec<ConfigError>,
) {
    let smb = protocol::is_smb(benchmark.protocol);
    let Some(classic) = benchmark.classic_mut() else {
        return;
    };
    let rule = &mut classic.fileset;
    let real = |name: &str, old: f64| values.real(name).unwrap_or(old);
    let count = |name: &str, old: u32| values.int32(name).unwrap_or(old);
    rule.mb_per_op = real("FILESET_MB_PER_OP", rule.mb_per_op);
    rule.access_pcnt = real("ACCESS_PCNT", rule.access_pcnt);
    rule.append_pcnt = real("APPEND_PCNT", rule.append_pcnt);
    rule.dir_count = count("DIR_COUNT", rule.dir_count);
    rule.file_count = count("FILE_COUNT", rule.file_count);
    if !smb {
        rule.symlink_count = count("SYMLINK_COUNT", rule.symlink_count);
    }

    let folders = [work_dir, sources.folder()];
    let read = |name: &str, errors: &mut Vec<ConfigError>| {
        let file = values.text(name)?;
        sources
            .read_beside(name, &file, &folders)
            .map_err(|why| {
                let message = format!("{name}={file} {why}");
                let hint = "give its path, from WORK_DIR, the rc file's folder or /";
                errors.push(ConfigError::new(values.place(name), message, hint));
            })
            .ok()
    };
    if let Some((path, text)) = read("MIXFILE", errors) {
        match read_mix(&path, &text, benchmark.protocol) {
            Ok(read) => {
                findings.extend(read.note);
                if let Err(e) = benchmark.set_mix(read.mix) {
                    let hint = "or draw another sequence: copy the definition, set BENCHMARK_FILE";
                    errors.push(ConfigError::new(Place::File(path), e.to_string(), hint));
                }
            }
            Err(found) => errors.extend(found),
        }
    }
    if let Some((path, text)) = read("BLOCK_FILE", errors) {
        match parse_blockfile(&path, &text) {
            Ok(blocks) => {
                if let Some(classic) = benchmark.classic_mut() {
                    classic.read_sizes = blocks.read.unwrap_or(classic.read_sizes.clone());
                    classic.write_sizes = blocks.write.unwrap_or(classic.write_sizes.clone());
                }
            }
            Err(found) => errors.extend(found),
        }
    }
    contradictions(benchmark, values, errors);
}

/// What the changes make impossible.
fn contradictions(benchmark: &Benchmark, values: &Values, errors: &mut Vec<ConfigError>) {
    let Some(classic) = benchmark.classic() else {
        return;
    };
    let largest = classic.file_sizes.max();
    let transfer = classic.read_sizes.max().max(classic.write_sizes.max());
    if transfer > largest {
        errors.push(ConfigError::new(
            values.place("BLOCK_FILE"),
            format!("a transfer of {transfer} is larger than the largest file, {largest}"),
            "lower the sizes in the block file",
        ));
    }
}
