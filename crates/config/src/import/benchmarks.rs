//! Benchmark definitions of the 2014 kind: `<benchmark>` elements with workloads, their
//! rates, instances and parameters, and thresholds. In: XML; out: TOML.

use super::made::{ConvertedFile, ConvertedFormat};
use super::tree::{self, Node};
use crate::definitions::shipped_registry;
use crate::error::{ConfigError, SourceLocation, quoted};
use crate::given::{number, parse_size};
use crate::params::Parameter;
use crate::rc::may_be_secret;
use filermark_model::Registry;
use filermark_model::composite::Component;
use filermark_model::text::one_line;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Directories and files of a workload that sets none, as in the rc files of 2014
/// (docs/src/reference/parameters.md, DIR_COUNT and FILES_PER_DIR).
const DIR_COUNT_2014: &str = "10";
const FILES_PER_DIR_2014: &str = "100";

/// The most notes that are made, and the most benchmarks that are read.
const NOTES_MAX: usize = 1_000;
const BENCHMARKS_MAX: usize = 1_000;

/// Thresholds and the names of the same figures here.
const THRESHOLDS: [(&str, &str); 3] = [
    ("proc oprate", "proc_pcnt_min"),
    ("global oprate", "achieved_pcnt_min"),
    ("workload variance", "component_variance_pcnt_max"),
];

/// Converts a file of them.
pub(super) fn import_xml(file: &str, text: &str) -> Result<ConvertedFile, ConfigError> {
    let root = tree::read(file, text)?;
    let mut found = Vec::new();
    benchmarks(&root, &mut found);
    if found.is_empty() {
        let root = root.children.first().unwrap_or(&root);
        let message = format!(
            "the XML has a root <{}> and no <benchmark> in it",
            quoted(&root.name)
        );
        let hint = match root.name.contains("sfs") || root.name.contains("submission") {
            true => "make a new submission with 'filermark subedit', and its report with 'report'",
            false => "give a file of benchmark definitions of the 2014 kind (benchmarks.xml)",
        };
        return Err(ConfigError::new(
            SourceLocation::File(file.to_owned()),
            message,
            hint,
        ));
    }
    if found.len() > BENCHMARKS_MAX {
        let message = format!("{} benchmarks; {BENCHMARKS_MAX} are the most", found.len());
        let place = SourceLocation::File(file.to_owned());
        return Err(ConfigError::new(place, message, "divide the file"));
    }
    let registry = shipped_registry();
    let mut writer = Writer {
        file,
        registry: &registry,
        shipped: shipped_components(&registry),
        notes: Vec::new(),
        out: String::new(),
    };
    let mut names = Vec::new();
    for benchmark in found {
        names.push(writer.benchmark(benchmark)?);
    }
    let unusable = writer.unusable();
    let head = match writer.notes.is_empty() {
        true => String::new(),
        false => {
            let notes = writer.notes.iter().map(|n| format!("#   {n}\n"));
            format!(
                "#\n# Notes of the conversion:\n{}",
                notes.collect::<String>()
            )
        }
    };
    Ok(ConvertedFile {
        what: format!(
            "benchmark definitions of the 2014 kind: {}",
            names.join(", ")
        ),
        form: ConvertedFormat::Definitions(names),
        text: format!(
            "# Benchmark definitions, converted from XML of the 2014 kind.\n{head}{}",
            writer.out
        ),
        notes: writer.notes,
        unusable,
    })
}

/// The first component of each workload in the shipped composites.
fn shipped_components(registry: &Registry) -> BTreeMap<String, Component> {
    let mut found = BTreeMap::new();
    for name in registry.composite_names() {
        let benchmark = registry.composite(name).ok();
        let work = benchmark.as_ref().and_then(|b| b.composite());
        for c in work.map_or(&[][..], |w| &w.components) {
            found.entry(c.workload.name.clone()).or_insert(c.clone());
        }
    }
    found
}

/// All `<benchmark>` elements, however they are wrapped.
fn benchmarks<'a>(node: &'a Node, found: &mut Vec<&'a Node>) {
    match node.name == "benchmark" {
        true => found.push(node),
        false => node.children.iter().for_each(|c| benchmarks(c, found)),
    }
}

struct Writer<'a> {
    file: &'a str,
    registry: &'a Registry,
    /// The components that ship, by workload, for what the file does not set.
    shipped: BTreeMap<String, Component>,
    notes: Vec<String>,
    out: String,
}

/// `write!` into a string cannot fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => { let _ = writeln!($out, $($arg)*); };
}

impl Writer<'_> {
    fn note(&mut self, line: usize, text: impl std::fmt::Display) {
        if self.notes.len() < NOTES_MAX {
            let text = format!("{}:{line}: {text}", self.file);
            self.notes.push(one_line(&text));
        } else if self.notes.len() == NOTES_MAX {
            let text = format!("more than {NOTES_MAX} notes; the others are left out");
            self.notes.push(text);
        }
    }

    fn wrong(&self, line: usize, what: impl Into<String>, hint: &str) -> ConfigError {
        ConfigError::new(SourceLocation::line(self.file, line, 1), what, hint)
    }

    fn benchmark(&mut self, node: &Node) -> Result<String, ConfigError> {
        let Some(name) = node.title().map(name_of) else {
            let hint = "write <benchmark name=\"NAME\" business_metric=\"UNITS\">";
            return Err(self.wrong(node.line, "a benchmark without a name", hint));
        };
        let metric = node.attribute("business_metric").or_else(|| {
            let child = node.children.iter().find(|c| c.name == "business_metric");
            child.map(Node::value)
        });
        let unit = unit_of(metric.unwrap_or("UNIT"));
        if metric.is_none() {
            self.note(
                node.line,
                format!("{name} has no business_metric; its unit is {unit}"),
            );
        }
        line!(self.out, "\n[[benchmark]]\nname = \"{name}\"");
        line!(self.out, "title = \"{name}, converted\"\nunit = \"{unit}\"");
        // File sets of the 2014 generation.
        line!(self.out, "buckets = \"all\"");
        self.memory(&name, node.line);
        self.standard(node);
        let mut common = BenchmarkParts::default();
        for child in node.children.iter().filter(|c| c.name == "override_parm") {
            self.part(child, &mut common, false);
        }
        let mut any = false;
        for child in &node.children {
            match child.name.as_str() {
                "workload" => {
                    any = true;
                    self.component(child, &common)?;
                }
                "name" | "business_metric" | "override_parm" | "threshold" => {}
                other => self.note(
                    child.line,
                    format!("<{}> is not known, and left out", quoted(other)),
                ),
            }
        }
        match any {
            true => Ok(name),
            false => {
                let hint = "write <workload name=\"NAME\"> elements into it";
                Err(self.wrong(node.line, format!("benchmark {name} has no workload"), hint))
            }
        }
    }

    /// Client memory is not part of the XML: it is that of the shipped benchmark of this name.
    fn memory(&mut self, name: &str, line: usize) {
        let shipped = self.registry.composite(name).ok();
        match shipped.as_ref().and_then(|b| b.composite()) {
            Some(work) => {
                let mib = work.client_mem_mib_per_unit;
                line!(self.out, "client_mem_mib_per_unit = {mib} # as shipped");
            }
            None => self.note(
                line,
                format!("the clients' memory that {name} uses is not in the file; none is assumed"),
            ),
        }
    }

    /// Durations and thresholds of the benchmark as a whole.
    fn standard(&mut self, node: &Node) {
        let mut lines = String::new();
        for child in &node.children {
            match child.name.as_str() {
                "override_parm" => {
                    let name = child.title().unwrap_or_default().to_ascii_uppercase();
                    let key = match name.as_str() {
                        "RUNTIME" => "runtime_s",
                        "WARMUP_TIME" => "warmup_s",
                        name if PER_COMPONENT.contains(&name) => continue,
                        _ => {
                            self.no_equivalent(child, &name);
                            continue;
                        }
                    };
                    if let Some(value) = self.number(child, &name, "seconds") {
                        line!(lines, "{key} = {value}");
                    }
                }
                "threshold" => {
                    let kind = child.attribute("type").unwrap_or_default().to_lowercase();
                    match THRESHOLDS.iter().find(|(name, _)| *name == kind) {
                        Some((_, key)) => {
                            if let Some(value) = self.number(child, &kind, "percent") {
                                line!(lines, "{key} = {value}");
                                self.low_threshold(child, &kind, &value);
                            }
                        }
                        None => self.note(
                            child.line,
                            format!("threshold '{}' is not known, and left out", quoted(&kind)),
                        ),
                    }
                }
                _ => {}
            }
        }
        if !lines.is_empty() {
            line!(self.out, "[benchmark.standard]\n{}", lines.trim_end());
        }
    }

    /// Thresholds are in percent; a share of 1 probably means another value.
    fn low_threshold(&mut self, node: &Node, kind: &str, value: &str) {
        if value.parse::<f64>().is_ok_and(|x| x > 0.0 && x <= 1.0) {
            let text = format!("threshold '{kind}' of {value} is taken as percent; check it");
            self.note(node.line, text);
        }
    }

    fn component(&mut self, node: &Node, common: &BenchmarkParts) -> Result<(), ConfigError> {
        let Some(name) = node.title().map(name_of) else {
            let hint = "write <workload name=\"NAME\">";
            return Err(self.wrong(node.line, "a workload without a name", hint));
        };
        line!(self.out, "[[benchmark.component]]\nworkload = \"{name}\"");
        let parts = self.parts(node).or(common.clone());
        let shipped = self.shipped.get(&name).cloned();
        if self.registry.workload(&name).is_err() {
            let text = format!(
                "workload {name} does not ship with Filermark; define it: 'filermark workload \
                 export METADATA' prints one to start from"
            );
            self.note(node.line, text);
        }
        match parts.instances {
            Some(n) => {
                line!(self.out, "instances = {n}");
            }
            None => self.note(node.line, format!("{name} has no instances; 1 is taken")),
        }
        match parts.rate {
            Some(rate) => {
                line!(self.out, "ops_per_proc = {rate}");
            }
            None => self.note(
                node.line,
                format!("{name} has no oprate; its procs run as fast as they can"),
            ),
        }
        let dirs = parts.dir_count.unwrap_or(DIR_COUNT_2014.into());
        let files = parts.files_per_dir.unwrap_or(FILES_PER_DIR_2014.into());
        line!(self.out, "dir_count = {dirs}\nfiles_per_dir = {files}");
        match (parts.file_kib, shipped) {
            (Some(kib), _) => {
                line!(self.out, "file_kib = {kib}");
            }
            (None, Some(shipped)) => {
                let kib = shipped.file_bytes as f64 / 1024.0;
                line!(self.out, "file_kib = {kib} # as shipped");
                self.note(
                    node.line,
                    format!("{name} has no FILE_SIZE; the shipped one is taken"),
                );
            }
            (None, None) => {
                let hint = "add <override_parm name=\"FILE_SIZE\">16k</override_parm> to it";
                let message = format!("workload {name} has no FILE_SIZE, and none ships");
                return Err(self.wrong(node.line, message, hint));
            }
        }
        Ok(())
    }

    /// The figures of a workload; it takes those that it does not override from its benchmark.
    fn parts(&mut self, node: &Node) -> BenchmarkParts {
        let mut parts = BenchmarkParts::default();
        for child in &node.children {
            match child.name.as_str() {
                "oprate" => parts.rate = self.number(child, "oprate", "op/s"),
                "instances" => parts.instances = self.count(child, "instances"),
                "override_parm" => self.part(child, &mut parts, true),
                "name" => {}
                other => self.note(
                    child.line,
                    format!("<{}> is not known, and left out", quoted(other)),
                ),
            }
        }
        parts
    }

    /// Adds one override; those of a benchmark are reported elsewhere (`report` is `false`).
    fn part(&mut self, child: &Node, parts: &mut BenchmarkParts, report: bool) {
        let name = child.title().unwrap_or_default().to_ascii_uppercase();
        match name.as_str() {
            "FILE_SIZE" => parts.file_kib = self.kib(child),
            "FILES_PER_DIR" => parts.files_per_dir = self.count(child, &name),
            "DIR_COUNT" => parts.dir_count = self.count(child, &name),
            "OPRATE" => parts.rate = self.number(child, &name, "op/s"),
            "INSTANCES" => parts.instances = self.count(child, &name),
            _ if report => self.no_equivalent(child, &name),
            _ => {}
        }
    }

    /// Notes what to do with an override that has no place in definitions.
    fn no_equivalent(&mut self, child: &Node, name: &str) {
        let shown = quoted(name);
        if may_be_secret(name) {
            let text = format!("{shown} is not copied; see PASSWORD_FILE");
            return self.note(child.line, text);
        }
        // The value of an unknown name may be a secret.
        let value = match Parameter::find(name) {
            Some(_) => quoted(child.value()),
            None => "...".to_owned(),
        };
        let text = match Parameter::find(name) {
            Some(p) => format!(
                "{shown}={value} has no place in a definition; in the rc file: {}={value}",
                p.name
            ),
            None => format!("{shown}={value} has no equivalent, and is left out"),
        };
        self.note(child.line, text);
    }

    /// A number as TOML has it, in the parameter's unit (as in rc files: `5m` are 300
    /// seconds); a note where there is none.
    fn number(&mut self, node: &Node, what: &str, unit: &str) -> Option<String> {
        let text = node.value().trim();
        match number(text, unit) {
            Some(x) if x.is_finite() && x >= 0.0 => Some(x.to_string()),
            _ => self.no_number(node, what, "number"),
        }
    }

    /// As `number`, for counts.
    fn count(&mut self, node: &Node, what: &str) -> Option<String> {
        match node.value().trim().parse::<u32>() {
            Ok(n) if n > 0 => Some(n.to_string()),
            _ => self.no_number(node, what, "whole number from 1 on"),
        }
    }

    fn no_number(&mut self, node: &Node, what: &str, kind: &str) -> Option<String> {
        let (what, text) = (quoted(what), quoted(node.value()));
        self.note(
            node.line,
            format!("{what}='{text}' is not a {kind}, and left out"),
        );
        None
    }

    /// A file size in KiB; a bare number is in bytes, as netmist's own.
    fn kib(&mut self, node: &Node) -> Option<String> {
        let text = node.value();
        let bytes = parse_size(text).or_else(|| text.parse::<u64>().ok());
        if let Some(bytes) = bytes.filter(|b| *b > 0) {
            return Some((bytes as f64 / 1024.0).to_string());
        }
        let text = format!("FILE_SIZE='{}' is not a size, and left out", quoted(text));
        self.note(node.line, text);
        None
    }

    /// Reads back what was written; returns what is wrong with it.
    fn unusable(&self) -> Vec<String> {
        let mut registry = self.registry.clone();
        let wrong = registry.take_toml("the new file", &self.out).err();
        let errors = wrong.into_iter().flatten();
        errors.map(|e| e.to_string()).collect()
    }
}

/// Overrides that belong to workloads, also where the benchmark has them for all its workloads.
const PER_COMPONENT: [&str; 5] = [
    "FILE_SIZE",
    "FILES_PER_DIR",
    "DIR_COUNT",
    "OPRATE",
    "INSTANCES",
];

#[derive(Clone, Default)]
struct BenchmarkParts {
    rate: Option<String>,
    instances: Option<String>,
    file_kib: Option<String>,
    files_per_dir: Option<String>,
    dir_count: Option<String>,
}

impl BenchmarkParts {
    fn or(self, other: Self) -> Self {
        Self {
            rate: self.rate.or(other.rate),
            instances: self.instances.or(other.instances),
            file_kib: self.file_kib.or(other.file_kib),
            files_per_dir: self.files_per_dir.or(other.files_per_dir),
            dir_count: self.dir_count.or(other.dir_count),
        }
    }
}

/// A name as definitions allow it: letters, digits and `_`.
fn name_of(text: &str) -> String {
    let word = |c: char| match c.is_ascii_alphanumeric() {
        true => c,
        false => '_',
    };
    text.chars().take(32).map(word).collect()
}

/// One unit of a business metric, which files name in the plural: `JOB_SETS`.
fn unit_of(metric: &str) -> String {
    let name: String = name_of(metric).chars().take(16).collect();
    match name.strip_suffix(['S', 's']) {
        Some(one) if !one.is_empty() => one.to_owned(),
        _ => name,
    }
}
