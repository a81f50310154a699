//! Composite benchmarks in definition files.

use super::{Registry, RegistryError};
use crate::benchmark::{Benchmark, Protocol, Standard, Work};
use crate::bucket::MadeBuckets;
use crate::composite::{Component, CompositeWork};
use crate::dist::{SizeDistribution, SizeShare};
use crate::finding::Severity;
use crate::text::quoted;
use crate::workload::is_name;
use serde::Deserialize;

/// A composite benchmark whose workloads are names still.
#[derive(Clone, Debug)]
pub(super) struct Composite {
    pub name: String,
    pub experimental: bool,
    version: u32,
    title: String,
    unit: String,
    standard: Standard,
    client_mem_mib_per_unit: f64,
    buckets: MadeBuckets,
    components: Vec<NamedComponent>,
}

/// A component whose workload is a name still.
#[derive(Clone, Debug)]
struct NamedComponent {
    workload: String,
    instances: u32,
    ops_per_proc: Option<f64>,
    dir_count: u32,
    files_per_dir: u32,
    file_bytes: u64,
    file_sizes: Option<SizeDistribution>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BenchmarkTable {
    name: String,
    #[serde(default = "one")]
    version: u32,
    #[serde(default)]
    title: String,
    unit: String,
    #[serde(default)]
    experimental: bool,
    #[serde(default)]
    client_mem_mib_per_unit: f64,
    #[serde(default = "reached")]
    buckets: MadeBuckets,
    #[serde(default)]
    standard: StandardTable,
    component: Vec<ComponentTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComponentTable {
    workload: String,
    #[serde(default = "one")]
    instances: u32,
    ops_per_proc: Option<f64>,
    dir_count: u32,
    files_per_dir: u32,
    file_kib: Option<f64>,
    file_sizes: Option<Vec<SizeShare>>,
}

/// The limits of a standard run; sources in definitions/composites.toml.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct StandardTable {
    warmup_s: f64,
    runtime_s: f64,
    load_points_min: u32,
    response_limit_ms: f64,
    achieved_pcnt_min: f64,
    proc_pcnt_min: f64,
    component_variance_pcnt_max: f64,
    mix_deviation_pcnt_max: f64,
    error_pcnt_max: f64,
    error_pcnt_invalid: f64,
}

impl Default for StandardTable {
    fn default() -> Self {
        Self {
            warmup_s: 300.0,
            runtime_s: 300.0,
            load_points_min: 10,
            response_limit_ms: 0.0,
            achieved_pcnt_min: 95.0,
            proc_pcnt_min: 75.0,
            component_variance_pcnt_max: 5.0,
            mix_deviation_pcnt_max: 1.0,
            error_pcnt_max: 0.0,
            error_pcnt_invalid: 1.0,
        }
    }
}

const fn one() -> u32 {
    1
}

/// Own definitions have files where their mix touches some.
const fn reached() -> MadeBuckets {
    MadeBuckets::Reached
}

impl BenchmarkTable {
    /// The composite, or everything that is wrong with it.
    pub fn check(self) -> Result<Composite, Vec<String>> {
        let name = quoted(&self.name);
        let mut faults = Vec::new();
        if !is_name(&self.name) {
            faults.push(format!(
                "benchmark name '{name}': use 1 to 32 letters, digits and '_'"
            ));
        }
        let mut report = |what: String| faults.push(format!("benchmark {name}: {what}"));
        if self.unit.is_empty() || self.unit.len() > 16 || self.unit.contains(char::is_whitespace) {
            let unit = quoted(&self.unit);
            report(format!("unit '{unit}': use one word of 1 to 16 characters"));
        }
        let count = self.component.len();
        if !(1..=COMPONENTS_MAX).contains(&count) {
            report(format!(
                "{count} components; there are 1 to {COMPONENTS_MAX}"
            ));
        }
        let memory = self.client_mem_mib_per_unit;
        let figures = in_range(&[
            ("version", f64::from(self.version), 1.0, 1e6),
            ("client_mem_mib_per_unit", memory, 0.0, 1e9),
        ]);
        for figures in [figures, self.standard.check()] {
            figures.unwrap_or_else(&mut report);
        }
        let mut components = Vec::new();
        for (i, table) in self.component.into_iter().enumerate() {
            match table.check() {
                Ok(part) => components.push(part),
                Err(e) => report(format!("component {}: {e}", i + 1)),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Composite {
            name: self.name,
            experimental: self.experimental,
            version: self.version,
            title: self.title,
            unit: self.unit,
            standard: self.standard.into(),
            client_mem_mib_per_unit: self.client_mem_mib_per_unit,
            buckets: self.buckets,
            components,
        })
    }
}

/// Most components of a composite.
const COMPONENTS_MAX: usize = 64;

/// The first of (name, value, min, max) that is out of its range.
fn in_range(figures: &[(&str, f64, f64, f64)]) -> Result<(), String> {
    let bad = |(_, value, min, max): &&(&str, f64, f64, f64)| !(*min..=*max).contains(value);
    match figures.iter().find(bad) {
        None => Ok(()),
        Some((name, value, min, max)) => {
            Err(format!("{name} is {value}; it goes from {min} to {max}"))
        }
    }
}

impl ComponentTable {
    /// Directories and files have names of four and seven digits.
    fn check(self) -> Result<NamedComponent, String> {
        let sizes = self.file_sizes.map(SizeDistribution::new).transpose();
        let sizes = sizes.map_err(|e| format!("file_sizes: {e}"))?;
        let file_kib = match (&sizes, self.file_kib) {
            (Some(sizes), None) => sizes.mean_bytes() / 1024.0,
            (None, Some(kib)) => kib,
            _ => return Err("it needs either file_kib or file_sizes".to_owned()),
        };
        in_range(&[
            ("instances", f64::from(self.instances), 1.0, 10_000.0),
            ("ops_per_proc", self.ops_per_proc.unwrap_or(1.0), 1e-6, 1e9),
            ("dir_count", f64::from(self.dir_count), 1.0, 9_999.0),
            ("files_per_dir", f64::from(self.files_per_dir), 1.0, 1e6),
            ("file_kib", file_kib, 1.0 / 1024.0, (1u64 << 34) as f64),
        ])?;
        Ok(NamedComponent {
            workload: self.workload,
            instances: self.instances,
            ops_per_proc: self.ops_per_proc,
            dir_count: self.dir_count,
            files_per_dir: self.files_per_dir,
            file_bytes: (file_kib * 1024.0).round() as u64,
            file_sizes: sizes,
        })
    }
}

impl StandardTable {
    fn check(&self) -> Result<(), String> {
        in_range(&[
            ("standard.warmup_s", self.warmup_s, 0.0, 604_800.0),
            ("standard.runtime_s", self.runtime_s, 0.1, 604_800.0),
            (
                "standard.load_points_min",
                f64::from(self.load_points_min),
                1.0,
                10_000.0,
            ),
            (
                "standard.response_limit_ms",
                self.response_limit_ms,
                0.0,
                3.6e6,
            ),
            (
                "standard.achieved_pcnt_min",
                self.achieved_pcnt_min,
                0.0,
                100.0,
            ),
            ("standard.proc_pcnt_min", self.proc_pcnt_min, 0.0, 100.0),
            (
                "standard.component_variance_pcnt_max",
                self.component_variance_pcnt_max,
                0.0,
                100.0,
            ),
            (
                "standard.mix_deviation_pcnt_max",
                self.mix_deviation_pcnt_max,
                0.0,
                100.0,
            ),
            ("standard.error_pcnt_max", self.error_pcnt_max, 0.0, 100.0),
            (
                "standard.error_pcnt_invalid",
                self.error_pcnt_invalid,
                0.0,
                100.0,
            ),
        ])
    }
}

impl From<StandardTable> for Standard {
    /// Composites have no limits of op/s per proc: the definition says how many.
    fn from(t: StandardTable) -> Self {
        Self {
            warmup_s: t.warmup_s,
            runtime_s: t.runtime_s,
            load_points_min: t.load_points_min,
            clients_min: 1,
            response_limit_ms: t.response_limit_ms,
            ops_per_proc_max: 1e12,
            ops_per_proc_min: 0.0,
            achieved_pcnt_min: t.achieved_pcnt_min,
            achieved_severity: Severity::Invalid,
            proc_pcnt_min: t.proc_pcnt_min,
            mix_deviation_pcnt_max: t.mix_deviation_pcnt_max,
            error_pcnt_max: t.error_pcnt_max,
            error_pcnt_invalid: t.error_pcnt_invalid,
            block_size_kib: None,
            component_variance_pcnt_max: t.component_variance_pcnt_max,
        }
    }
}

impl Composite {
    /// The benchmark, with the workloads as the registry has them now.
    pub fn build(&self, registry: &Registry) -> Result<Benchmark, RegistryError> {
        let mut components = Vec::new();
        for (i, part) in self.components.iter().enumerate() {
            let workload = registry.workload(&part.workload);
            components.push(Component {
                workload: workload
                    .map_err(|e| RegistryError::Component {
                        benchmark: self.name.clone(),
                        component: i + 1,
                        reason: e.to_string(),
                    })?
                    .clone(),
                instances: part.instances,
                ops_per_proc: part.ops_per_proc,
                dir_count: part.dir_count,
                files_per_dir: part.files_per_dir,
                file_bytes: part.file_bytes,
                file_sizes: part.file_sizes.clone(),
                buckets: self.buckets,
            });
        }
        let work = CompositeWork {
            components,
            client_mem_mib_per_unit: self.client_mem_mib_per_unit,
        };
        Ok(Benchmark {
            name: self.name.clone(),
            version: self.version,
            title: self.title.clone(),
            protocol: Protocol::Posix,
            unit: self.unit.clone(),
            standard: self.standard.clone(),
            mix: work.mix(),
            work: Work::Composite(work),
            heritage: None,
        })
    }
}
