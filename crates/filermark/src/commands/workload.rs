//! `workload`: lists, shows, exports and checks workloads and benchmarks, and makes mixes from
//! servers' statistics.

mod classic;
mod from_nfsstat;
mod sequence;
mod tables;

use crate::cli::{CheckArgs, ExportArgs, ListArgs, ShowArgs, WorkloadCommand};
use crate::stdout;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_config::definitions::{
    ClassicDefinitions, LoadedDefinitions, read_classic, read_definitions,
};
use filermark_config::netmist_text;
use filermark_model::registry::RegistryError;
use filermark_model::text::{nearest, quoted};
use filermark_model::{Benchmark, Registry, WorkloadObject};
use filermark_results::definition_fingerprint;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs one of the subcommands.
pub fn workload(command: &WorkloadCommand) -> CommandResult {
    match command {
        WorkloadCommand::List(args) => list(args),
        WorkloadCommand::Show(args) => show(args),
        WorkloadCommand::Export(args) => export(args),
        WorkloadCommand::Check(args) => check(args),
        WorkloadCommand::FromNfsstat(args) => from_nfsstat::from_nfsstat(args),
    }
}

/// All definitions: the built-in ones, replaced by the user's own.
struct KnownDefinitions {
    registry: Registry,
    classics: Vec<ClassicDefinitions>,
}

impl KnownDefinitions {
    fn with(files: &[PathBuf]) -> Result<Self, CommandError> {
        let mut known = Self {
            registry: Registry::shipped(),
            classics: classic::shipped()?,
        };
        for file in files {
            match read_classic(file)? {
                Some(own) => {
                    let same = |c: &ClassicDefinitions| c.benchmark.name == own.benchmark.name;
                    known.classics.retain(|c| !same(c));
                    known.classics.push(own);
                }
                None => {
                    read_definitions(&mut known.registry, file)?;
                }
            }
        }
        Ok(known)
    }

    fn classic(&self, name: &str) -> Option<&ClassicDefinitions> {
        let is = |c: &&ClassicDefinitions| c.benchmark.name.eq_ignore_ascii_case(name);
        self.classics.iter().find(is)
    }
}

fn usage(error: &RegistryError) -> CommandError {
    CommandError::Usage(vec![error.to_string()])
}

fn list(args: &ListArgs) -> CommandResult {
    let KnownDefinitions { registry, classics } = KnownDefinitions::with(&args.files)?;
    if !args.json {
        stdout::print_folded(&tables::list(&registry));
        stdout::print_folded(&classic::list(&classics));
        return Ok(ExitCode::SUCCESS);
    }
    let workloads: Vec<Value> = registry
        .workloads()
        .map(|w| {
            json!({
                "name": w.name,
                "aliases": registry.workload_aliases(&w.name),
                "title": w.title,
                "operations": w.mix.shares().len(),
            })
        })
        .collect();
    let benchmarks: Vec<Value> = benchmarks(&registry)
        .map(|b| summary(&b, registry.is_experimental(&b.name)))
        .collect();
    let classics: Vec<Value> = classics
        .iter()
        .map(|c| classic::json(&c.benchmark))
        .collect();
    stdout::print_json(&json!({
        "workloads": workloads,
        "benchmarks": benchmarks,
        "classical": classics,
    }));
    Ok(ExitCode::SUCCESS)
}

/// All composite benchmarks. Each was checked when it was added.
fn benchmarks(registry: &Registry) -> impl Iterator<Item = Benchmark> {
    let names = registry.composite_names();
    names.into_iter().filter_map(|n| registry.composite(n).ok())
}

fn summary(b: &Benchmark, experimental: bool) -> Value {
    let (hash, digits) = definition_fingerprint(b);
    let work = b.composite();
    json!({
        "name": b.name,
        "version": b.version,
        "title": b.title,
        "unit": b.unit,
        "experimental": experimental,
        "ops_per_unit": work.and_then(|w| w.ops_per_unit()),
        "procs_per_unit": work.map(|w| w.procs_per_unit()),
        "fingerprint": hash,
        "fingerprint_digits": format!("{digits:05}"),
    })
}

/// What has a name: a workload, a benchmark, or both.
struct NamedDefinition<'a> {
    workload: Option<&'a WorkloadObject>,
    benchmark: Option<Benchmark>,
}

fn named<'a>(known: &'a KnownDefinitions, name: &str) -> Result<NamedDefinition<'a>, CommandError> {
    let registry = &known.registry;
    match (registry.workload(name), registry.composite(name)) {
        (Err(_), Err(RegistryError::UnknownBenchmark { .. })) => Err(unknown(known, name)),
        (Err(_), Err(e)) => Err(usage(&e)),
        (workload, benchmark) => Ok(NamedDefinition {
            workload: workload.ok(),
            benchmark: benchmark.ok(),
        }),
    }
}

fn unknown(known: &KnownDefinitions, name: &str) -> CommandError {
    let registry = &known.registry;
    let names = registry.workload_names();
    let aliases = names.iter().flat_map(|n| registry.workload_aliases(n));
    let all = names.iter().copied();
    let all = all.chain(aliases.map(String::as_str));
    let classics = known.classics.iter().map(|c| c.benchmark.name.as_str());
    let all = all.chain(registry.composite_names()).chain(classics);
    let hint = match nearest(name, all) {
        Some(near) => format!("did you mean {near}?"),
        None => "`filermark workload list` has all".to_owned(),
    };
    let name = quoted(name);
    CommandError::Usage(vec![format!(
        "there is no workload and no benchmark '{name}'; {hint}"
    )])
}

fn show(args: &ShowArgs) -> CommandResult {
    let known = KnownDefinitions::with(&args.files)?;
    if let Some(found) = known.classic(&args.name) {
        stdout::print(&classic::show(found, args)?);
        return Ok(ExitCode::SUCCESS);
    }
    let found = named(&known, &args.name)?;
    let registry = &known.registry;
    if args.dot || args.svg || args.sample.is_some() {
        return Err(classic::no_sequence(&args.name));
    }
    if args.json {
        let benchmark = found.benchmark.as_ref().map(|b| {
            let mut value = summary(b, registry.is_experimental(&b.name));
            value["definition"] = json!(b);
            value
        });
        stdout::print_json(&json!({ "workload": found.workload, "benchmark": benchmark }));
    } else if args.toml {
        stdout::print(&definition_file(registry, &found).map_err(|e| usage(&e))?);
    } else {
        if let Some(object) = found.workload {
            let aliases = registry.workload_aliases(&object.name);
            stdout::print(&tables::workload(object, aliases));
        }
        if let Some(b) = &found.benchmark {
            if found.workload.is_some() {
                stdout::print("\n");
            }
            stdout::print(&tables::benchmark(b, registry.is_experimental(&b.name)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A file that defines what was found, with the workloads of a benchmark.
fn definition_file(
    registry: &Registry,
    found: &NamedDefinition<'_>,
) -> Result<String, RegistryError> {
    let mut names: Vec<&str> = found.workload.iter().map(|w| w.name.as_str()).collect();
    if let Some(work) = found.benchmark.as_ref().and_then(Benchmark::composite) {
        for c in &work.components {
            if !names.contains(&c.workload.name.as_str()) {
                names.push(&c.workload.name);
            }
        }
    }
    let mut tables = Vec::new();
    for name in names {
        tables.push(registry.workload_toml(name)?);
    }
    if let Some(b) = &found.benchmark {
        tables.push(registry.composite_toml(&b.name)?);
    }
    Ok(tables.join("\n"))
}

fn export(args: &ExportArgs) -> CommandResult {
    let known = KnownDefinitions::with(&args.files)?;
    if args.names.is_empty() {
        stdout::print(&netmist_text::export(known.registry.workloads()));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(found) = args.names.iter().find_map(|n| known.classic(n)) {
        if args.names.len() > 1 {
            let name = &found.benchmark.name;
            let text = format!("{name} needs a separate file; export it alone");
            return Err(CommandError::Usage(vec![text]));
        }
        stdout::print(&found.text);
        return Ok(ExitCode::SUCCESS);
    }
    let mut objects: Vec<WorkloadObject> = Vec::new();
    for name in &args.names {
        let found = named(&known, name)?;
        let of = |b: &Benchmark| b.composite().map(|w| w.components.clone());
        let more: Vec<WorkloadObject> = match (found.workload, found.benchmark) {
            (Some(object), _) => vec![object.clone()],
            (None, b) => {
                let components = b.as_ref().and_then(of).unwrap_or_default();
                components.into_iter().map(|c| c.workload).collect()
            }
        };
        for object in more {
            if !objects.iter().any(|o| o.name == object.name) {
                objects.push(object);
            }
        }
    }
    stdout::print(&netmist_text::export(&objects));
    Ok(ExitCode::SUCCESS)
}

fn check(args: &CheckArgs) -> CommandResult {
    if let Some(found) = read_classic(&args.file)? {
        let file = args.file.display().to_string();
        match args.json {
            true => stdout::print_json(&json!({
                "file": file,
                "form": "TOML",
                "classical": [classic::json(&found.benchmark)],
            })),
            false => stdout::print(&classic::checked(&file, &found.benchmark)),
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut registry = Registry::shipped();
    let taken = read_definitions(&mut registry, &args.file)?;
    let file = args.file.display().to_string();
    if args.json {
        stdout::print_json(&json!({
            "file": file,
            "form": taken.form.name(),
            "workloads": taken.workloads,
            "benchmarks": taken.benchmarks,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    stdout::print(&format!("{file}: {}\n", what_it_is(&taken)));
    for name in &taken.workloads {
        if let Ok(object) = registry.workload(name) {
            stdout::print(&format!("  {}\n", tables::workload_line(object)));
        }
    }
    for name in &taken.benchmarks {
        if let Ok(b) = registry.composite(name) {
            let experimental = registry.is_experimental(name);
            stdout::print(&format!("  {}\n", tables::benchmark_line(&b, experimental)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn what_it_is(taken: &LoadedDefinitions) -> String {
    use filermark_model::units::counted;
    let workloads = counted(taken.workloads.len() as u64, "workload");
    let benchmarks = counted(taken.benchmarks.len() as u64, "benchmark");
    format!(
        "{}, {workloads}, {benchmarks}, nothing wrong",
        taken.form.name()
    )
}
