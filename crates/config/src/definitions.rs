//! Files that define workloads and benchmarks, in either form: the project's own
//! (TOML) and netmist's text; and classical benchmarks, one to a file.

use crate::error::{ConfigError, SourceLocation, quoted};
use crate::given::Values;
use crate::hints;
use crate::netmist_text::parse;
use crate::params;
use crate::sources::read_text;
use filermark_model::benchmark::{DefinitionError, FileSetRule, SHIPPED};
use filermark_model::registry::RegistryError;
use filermark_model::{Benchmark, Op, Registry};
use std::path::Path;
use std::sync::OnceLock;

/// The forms of definition files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionFormat {
    /// `[[workload]]` and `[[benchmark]]` tables.
    Toml,
    /// The lines of netmist's `-E` and `-I`.
    NetmistText,
}

/// What a file defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedDefinitions {
    /// Its form.
    pub form: DefinitionFormat,
    /// The names of its workloads.
    pub workloads: Vec<String>,
    /// The names of its benchmarks.
    pub benchmarks: Vec<String>,
}

impl DefinitionFormat {
    /// The form that a text seems to have: its first line that is neither blank nor a
    /// comment is a table or a value in TOML, and neither in netmist's text.
    pub fn of(text: &str) -> Self {
        let mut lines = text.lines().map(str::trim);
        let first = lines.find(|l| !l.is_empty() && !l.starts_with('#'));
        match first {
            Some(line) if line.starts_with('[') || line.contains('=') => Self::Toml,
            _ => Self::NetmistText,
        }
    }

    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Toml => "TOML",
            Self::NetmistText => "netmist text",
        }
    }
}

/// What a classical definition file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassicDefinitions {
    /// Its text.
    pub text: String,
    /// The benchmark that it defines.
    pub benchmark: Benchmark,
}

/// Reads a file that defines a classical benchmark; `None`: it is of another kind, or
/// cannot be read, which [`read_definitions`] reports.
///
/// # Errors
/// What is wrong with the definition, with file and line.
pub fn read_classic(path: &Path) -> Result<Option<ClassicDefinitions>, Vec<ConfigError>> {
    let Ok(text) = read_text(path) else {
        return Ok(None);
    };
    let begins = ["protocol", "[mix]", "[fileset]", "[[sequence"];
    let mut lines = text.lines().map(str::trim_start);
    let classic = lines.any(|l| begins.iter().any(|b| l.starts_with(b)));
    if !classic || defines_composites(&text) {
        return Ok(None);
    }
    let file = path.display().to_string();
    let benchmark = parse_classic(&file, &text).map_err(|e| vec![e])?;
    Ok(Some(ClassicDefinitions { text, benchmark }))
}

/// Reads a classical definition; `file` is its name in messages.
pub(crate) fn parse_classic(file: &str, text: &str) -> Result<Benchmark, ConfigError> {
    let benchmark = Benchmark::classic_from_toml(text).map_err(|e| toml_error(file, &e))?;
    match out_of_range(&benchmark) {
        None => Ok(benchmark),
        Some(what) => {
            let place = SourceLocation::File(file.to_owned());
            Err(ConfigError::new(place, what, CLASSIC_HINT))
        }
    }
}

const CLASSIC_HINT: &str =
    "compare with a shipped one: `filermark workload export general-nfs3` or general-smb2";

fn toml_error(path: &str, e: &DefinitionError) -> ConfigError {
    let place = SourceLocation::line(path, e.line, e.column);
    ConfigError::new(place, e.reason.clone(), CLASSIC_HINT)
}

/// The first figure of a definition that no run could work with.
fn out_of_range(b: &Benchmark) -> Option<String> {
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
            match b.protocol.ops().contains(&Op::Symlink) {
                true => 1.0,
                false => 0.0,
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

/// Whether a definition file has tables of composites rather than one classical
/// benchmark. Determined from its lines, since the kind of a file with mistakes must be
/// known, too.
pub(crate) fn defines_composites(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|l| l.starts_with("[[benchmark") || l.starts_with("[[workload"))
}

/// Reads a definition file into the registry: what it defines is added or replaces
/// the one of its name. On an error nothing is changed.
///
/// # Errors
/// Everything that is wrong, with file and line.
pub fn read_definitions(
    registry: &mut Registry,
    path: &Path,
) -> Result<LoadedDefinitions, Vec<ConfigError>> {
    let file = path.display().to_string();
    match read_text(path) {
        Ok(text) => take_definitions(registry, &file, &text),
        Err(why) => {
            let message = format!("the file {why}");
            let hint = "name a file with workloads or benchmarks";
            Err(vec![ConfigError::new(
                SourceLocation::File(file),
                message,
                hint,
            )])
        }
    }
}

/// Reads a text as [`read_definitions`] does; `file` is its name in messages.
///
/// # Errors
/// Everything that is wrong, with file and line.
pub fn take_definitions(
    registry: &mut Registry,
    file: &str,
    text: &str,
) -> Result<LoadedDefinitions, Vec<ConfigError>> {
    if text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('<')
    {
        let message = "this is XML, as the benchmark definitions of 2014 are, and not TOML";
        let hint = format!(
            "convert it: 'filermark import {file} -o mine.toml', and give that: -b mine.toml"
        );
        return Err(vec![ConfigError::new(
            SourceLocation::File(file.to_owned()),
            message,
            hint,
        )]);
    }
    let form = DefinitionFormat::of(text);
    let (workloads, benchmarks) = match form {
        DefinitionFormat::Toml => {
            let located = |all: Vec<RegistryError>| -> Vec<ConfigError> {
                all.into_iter().map(|e| registry_error(file, e)).collect()
            };
            registry.take_toml(file, text).map_err(located)?;
            Registry::names_in_toml(file, text).map_err(located)?
        }
        DefinitionFormat::NetmistText => {
            let objects = parse(file, text)?;
            let names = objects.iter().map(|w| w.name.clone()).collect();
            for object in objects {
                registry.put_workload(object);
            }
            (names, Vec::new())
        }
    };
    Ok(LoadedDefinitions {
        form,
        workloads,
        benchmarks,
    })
}

/// A registry's error at its place; `file` where it has none of its own.
pub(crate) fn registry_error(file: &str, error: RegistryError) -> ConfigError {
    match error {
        RegistryError::Text {
            file,
            line,
            column,
            reason,
            hint,
        } => ConfigError::new(SourceLocation::line(&file, line, column), reason, hint),
        other => ConfigError::new(SourceLocation::File(file.to_owned()), other.to_string(), ""),
    }
}

/// What ships with the program; read once, since that takes some milliseconds.
pub(crate) fn shipped_registry() -> Registry {
    static SHIPPED_ONES: OnceLock<Registry> = OnceLock::new();
    SHIPPED_ONES.get_or_init(Registry::shipped).clone()
}

/// The names of all benchmarks, the classical ones first.
pub(crate) fn benchmark_names() -> Vec<String> {
    let registry = shipped_registry();
    let classic = SHIPPED.iter().map(|(n, _)| *n);
    let all = classic.chain(registry.composite_names());
    all.map(str::to_owned).collect()
}

/// The message about a benchmark that does not exist.
pub(crate) fn unknown_benchmark(name: &str, values: &Values, registry: &Registry) -> ConfigError {
    let classic = SHIPPED.iter().map(|(n, _)| *n);
    let known: Vec<&str> = classic.chain(registry.composite_names()).collect();
    let hint = match hints::benchmark(name, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => "choose one of these, or set BENCHMARK_FILE".to_owned(),
    };
    let name = quoted(name);
    let message = format!(
        "there is no benchmark '{name}'; known: {}",
        known.join(", ")
    );
    ConfigError::new(values.place(&params::BENCHMARK), message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netmist_text::export;
    use filermark_model::workload::Attributes;

    #[test]
    fn both_forms_are_known_and_taken() {
        let mut registry = Registry::shipped();
        let mut mine = registry.workload("VDI").unwrap().clone();
        mine.attributes.osync_pcnt = 12.5;
        let text = export([&mine]);
        let taken = take_definitions(&mut registry, "w", &text).unwrap();
        assert_eq!(
            (taken.form, taken.workloads.len()),
            (DefinitionFormat::NetmistText, 1)
        );
        assert_eq!(registry.workload("VDI").unwrap(), &mine);
        let toml =
            registry.workload_toml("VDI").unwrap() + &registry.composite_toml("VDI").unwrap();
        let taken = take_definitions(&mut Registry::default(), "t", &toml).unwrap();
        assert_eq!(taken.form, DefinitionFormat::Toml);
        assert_eq!(
            (taken.workloads, taken.benchmarks),
            (vec!["VDI".into()], vec!["VDI".into()])
        );
    }

    #[test]
    fn mistakes_have_their_place_and_change_nothing() {
        let mut registry = Registry::shipped();
        let e = take_definitions(&mut registry, "t", "\n[[workloads]]\n").unwrap_err();
        assert!(
            e[0].to_string()
                .starts_with("t:2:3: unknown field `workloads`"),
            "{}",
            e[0]
        );
        let text = export(registry.workloads());
        let bad = text.replace("Percent direct 100", "Percent direct 101");
        let e = take_definitions(&mut registry, "t", &bad).unwrap_err();
        assert_eq!(e.len(), 2);
        let e = read_definitions(&mut registry, Path::new("/nowhere/x")).unwrap_err();
        assert!(
            e[0].to_string()
                .starts_with("/nowhere/x: the file cannot be opened")
        );
        assert!(registry.workloads().eq(Registry::shipped().workloads()));
    }

    #[test]
    fn the_example_of_the_manual_reads_and_names_the_defaults() {
        let page = include_str!("../../../docs/src/reference/workloads.md");
        let block = |from: &str| {
            let (_, rest) = page.split_once(from).expect("a block");
            rest.split_once("```").expect("its end").0.to_owned()
        };
        let mut registry = Registry::default();
        take_definitions(&mut registry, "t", &block("```toml\n")).unwrap();
        let object = registry.workload("TEMPFILES").unwrap();
        assert_eq!(object.attributes, Attributes::default());
        let shown = registry.composite("SCRATCH").unwrap().standard;
        let shipped = Registry::shipped().composite("VDI").unwrap().standard;
        assert_eq!(shown, shipped);
        let (text, form) = (export([object]), block("```text\n"));
        let lines: Vec<&str> = form.lines().filter(|l| *l != "...").collect();
        assert!(lines.len() > 15);
        for line in lines {
            let (key, _) = line.rsplit_once(' ').unwrap();
            assert!(text.contains(key), "{line}");
        }
    }
}
