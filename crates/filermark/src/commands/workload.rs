//! `workload`: the workloads and composite benchmarks that are known, shown,
//! exported and checked.

mod tables;

use crate::cli::{CheckArgs, ExportArgs, ListArgs, ShowArgs, WorkloadCommand};
use crate::exit::{Ended, Failure};
use crate::product;
use filermark_config::definitions::{Taken, read_definitions};
use filermark_config::netmist_text;
use filermark_model::registry::RegistryError;
use filermark_model::words::{nearest, quoted};
use filermark_model::{Benchmark, Registry, WorkloadObject};
use filermark_results::definition_fingerprint;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Does one of them.
pub fn workload(command: &WorkloadCommand) -> Ended {
    match command {
        WorkloadCommand::List(args) => list(args),
        WorkloadCommand::Show(args) => show(args),
        WorkloadCommand::Export(args) => export(args),
        WorkloadCommand::Check(args) => check(args),
    }
}

/// The shipped definitions, with the user's own over them.
fn registry(files: &[PathBuf]) -> Result<Registry, Failure> {
    let mut registry = Registry::shipped();
    for file in files {
        read_definitions(&mut registry, file)?;
    }
    Ok(registry)
}

fn usage(error: &RegistryError) -> Failure {
    Failure::Usage(vec![error.to_string()])
}

fn list(args: &ListArgs) -> Ended {
    let registry = registry(&args.files)?;
    if !args.json {
        product::print(&tables::list(&registry));
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
    product::print_json(&json!({ "workloads": workloads, "benchmarks": benchmarks }));
    Ok(ExitCode::SUCCESS)
}

/// All composite benchmarks. That each can be put together was checked when it was taken.
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

/// What goes by a name: a workload, a benchmark, or both.
struct Named<'a> {
    workload: Option<&'a WorkloadObject>,
    benchmark: Option<Benchmark>,
}

fn named<'a>(registry: &'a Registry, name: &str) -> Result<Named<'a>, Failure> {
    match (registry.workload(name), registry.composite(name)) {
        (Err(_), Err(RegistryError::UnknownBenchmark { .. })) => Err(unknown(registry, name)),
        (Err(_), Err(e)) => Err(usage(&e)),
        (workload, benchmark) => Ok(Named {
            workload: workload.ok(),
            benchmark: benchmark.ok(),
        }),
    }
}

fn unknown(registry: &Registry, name: &str) -> Failure {
    let names = registry.workload_names();
    let aliases = names.iter().flat_map(|n| registry.workload_aliases(n));
    let all = names.iter().copied();
    let all = all.chain(aliases.map(String::as_str));
    let hint = match nearest(name, all.chain(registry.composite_names())) {
        Some(near) => format!("did you mean {near}?"),
        None => "`filermark workload list` has all".to_owned(),
    };
    let name = quoted(name);
    Failure::Usage(vec![format!(
        "there is no workload and no benchmark '{name}'; {hint}"
    )])
}

fn show(args: &ShowArgs) -> Ended {
    let registry = registry(&args.files)?;
    let found = named(&registry, &args.name)?;
    if args.json {
        let benchmark = found.benchmark.as_ref().map(|b| {
            let mut value = summary(b, registry.is_experimental(&b.name));
            value["definition"] = json!(b);
            value
        });
        product::print_json(&json!({ "workload": found.workload, "benchmark": benchmark }));
    } else if args.toml {
        product::print(&definition_file(&registry, &found).map_err(|e| usage(&e))?);
    } else {
        if let Some(object) = found.workload {
            let aliases = registry.workload_aliases(&object.name);
            product::print(&tables::workload(object, aliases));
        }
        if let Some(b) = &found.benchmark {
            if found.workload.is_some() {
                product::print("\n");
            }
            product::print(&tables::benchmark(b, registry.is_experimental(&b.name)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A file that defines what was found, the workloads of a benchmark with it.
fn definition_file(registry: &Registry, found: &Named<'_>) -> Result<String, RegistryError> {
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

fn export(args: &ExportArgs) -> Ended {
    let registry = registry(&args.files)?;
    if args.names.is_empty() {
        product::print(&netmist_text::export(registry.workloads()));
        return Ok(ExitCode::SUCCESS);
    }
    let mut objects: Vec<WorkloadObject> = Vec::new();
    for name in &args.names {
        let found = named(&registry, name)?;
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
    product::print(&netmist_text::export(&objects));
    Ok(ExitCode::SUCCESS)
}

fn check(args: &CheckArgs) -> Ended {
    let mut registry = Registry::shipped();
    let taken = read_definitions(&mut registry, &args.file)?;
    let file = args.file.display().to_string();
    if args.json {
        product::print_json(&json!({
            "file": file,
            "form": taken.form.name(),
            "workloads": taken.workloads,
            "benchmarks": taken.benchmarks,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    product::print(&format!("{file}: {}\n", what_it_is(&taken)));
    for name in &taken.workloads {
        if let Ok(object) = registry.workload(name) {
            product::print(&format!("  {}\n", tables::workload_line(object)));
        }
    }
    for name in &taken.benchmarks {
        if let Ok(b) = registry.composite(name) {
            let experimental = registry.is_experimental(name);
            product::print(&format!("  {}\n", tables::benchmark_line(&b, experimental)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn what_it_is(taken: &Taken) -> String {
    use filermark_model::units::counted;
    let workloads = counted(taken.workloads.len() as u64, "workload");
    let benchmarks = counted(taken.benchmarks.len() as u64, "benchmark");
    format!(
        "{}, {workloads}, {benchmarks}, nothing wrong",
        taken.form.name()
    )
}
