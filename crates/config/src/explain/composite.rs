//! The text of `filermark plan` for composite benchmarks.

use super::{FILL_RATES, head, monitor, remarks, span};
use filermark_model::composite::{CompositeWork, DataSet};
use filermark_model::launch::LaunchPlan;
use filermark_model::memory::{CLIENT_BYTES, COMPOSITE_PROC_BYTES};
use filermark_model::plan::{LoadPoint, MountPoint, SearchTime};
use filermark_model::units::counted;
use filermark_model::{Bytes, RunPlan};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Files that are made a second: over a network, and on a local disk.
const FILES_PER_S: [f64; 2] = [1_000.0, 10_000.0];

pub(super) fn write_all(
    out: &mut String,
    (plan, launch): (&RunPlan, &LaunchPlan),
    work: &CompositeWork,
    time: Option<&SearchTime>,
) -> std::fmt::Result {
    head(out, plan)?;
    files(out, plan)?;
    monitor(out, plan)?;
    if let Some(scripts) = &plan.scripts {
        let limit = span(scripts.limit.as_secs_f64());
        writeln!(
            out,
            "Scripts     netmist_mon.sh, netmist_power.sh, netmist_stat.sh where they are in {}, {limit} each",
            scripts.dir
        )?;
    }
    if let Some(clock) = &plan.clock_service {
        writeln!(
            out,
            "Clock       compared with {} port {}",
            clock.host, clock.port
        )?;
    }
    components(out, plan, work)?;
    points(out, plan, work)?;
    clients(out, plan)?;
    super::clients::reach(out, launch)?;
    needs(out, plan, work, time)?;
    remarks(out, plan)
}

/// How the file set is made and removed.
fn files(out: &mut String, plan: &RunPlan) -> std::fmt::Result {
    let fileset = match (plan.fileset.reuse, plan.fileset.keep) {
        (true, false) => "kept from point to point, removed at the end",
        (true, true) => "kept from point to point, and at the end (KEEP)",
        (false, false) => "created again for every point, removed after it",
        (false, true) => "created again for every point, the last one kept (KEEP)",
    };
    let mut more = String::new();
    if plan.fileset.sharing {
        more += ", shared by all procs of a workload";
    }
    if plan.driver.facts().no_fsync {
        more += ", no fsync";
    }
    if !plan.space.check {
        more += ", space not checked";
    }
    writeln!(out, "File set    {fileset}{more}")
}

fn components(out: &mut String, plan: &RunPlan, work: &CompositeWork) -> std::fmt::Result {
    // netmist has no unit of load: its components give the number of procs.
    let per = match plan.points.first() {
        Some(point) if point.units > 0.0 => format!(" per {}", plan.benchmark.unit),
        _ => String::new(),
    };
    writeln!(out, "\nComponents")?;
    for c in &work.components {
        let rate = match c.ops_per_proc {
            Some(rate) => format!("{} op/s each", short(rate)),
            None => "as fast as they go".to_owned(),
        };
        let whose = match plan.fileset.sharing || c.workload.attributes.sharemode {
            true => "all procs on a mount point together",
            false => "each proc",
        };
        let directories = match c.dir_count {
            1 => "1 directory".to_owned(),
            n => format!("{n} directories"),
        };
        writeln!(
            out,
            "  {:<12} {}{per}, {rate}",
            c.workload.name,
            counted(u64::from(c.instances), "proc"),
        )?;
        writeln!(
            out,
            "               {whose}: {directories} with {} for each kind of operation, {} in all;",
            counted(u64::from(c.files_per_dir), "file"),
            c.files_per_proc(),
        )?;
        writeln!(
            out,
            "               {} hold data, {} in the mean: {} to begin with, {} at most",
            c.data_files_per_proc(),
            Bytes(c.file_bytes),
            Bytes(c.start_bytes()),
            Bytes(c.max_bytes()),
        )?;
    }
    Ok(())
}

/// A number with as many digits as it needs, four after the point at most.
fn short(x: f64) -> String {
    ((x * 1e4).round() / 1e4).to_string()
}

fn data_set(plan: &RunPlan, work: &CompositeWork, point: LoadPoint) -> DataSet {
    let procs = plan.proc_count_at(point) as usize;
    let procs = plan.procs.get(..procs).unwrap_or(&plan.procs);
    work.data_set(procs, plan.clients.len() as u32, plan.fileset.sharing)
}

fn points(out: &mut String, plan: &RunPlan, work: &CompositeWork) -> std::fmt::Result {
    if let Some(plan) = &plan.search {
        return super::search(out, plan);
    }
    let units = plan.points.iter().any(|p| p.units > 0.0);
    let unit = match units {
        true => format!("{}s", plan.benchmark.unit),
        false => "-".to_owned(),
    };
    writeln!(out, "\nLoad points (start and max MiB: all procs together)")?;
    writeln!(
        out,
        "{:>5} {unit:>10} {:>7} {:>10} {:>9} {:>11} {:>11} {:>11}",
        "point", "procs", "op/s", "procs/cl", "start MiB", "max MiB", "MiB/client"
    )?;
    for p in &plan.points {
        let set = data_set(plan, work, *p);
        let procs = plan.proc_count_at(*p);
        let shown = match units {
            true => short(p.units),
            false => "-".to_owned(),
        };
        let rate = match p.requested.0 > 0.0 {
            true => short(p.requested.0),
            false => "no limit".to_owned(),
        };
        writeln!(
            out,
            "{:>5} {shown:>10} {procs:>7} {rate:>10} {:>9} {:>11} {:>11} {:>11}",
            p.number,
            procs / (plan.clients.len() as u32).max(1),
            DataSet::mib(set.start_bytes),
            DataSet::mib(set.max_bytes),
            DataSet::mib(set.client_bytes),
        )?;
    }
    Ok(())
}

/// Where the procs of the largest load work.
fn clients(out: &mut String, plan: &RunPlan) -> std::fmt::Result {
    writeln!(
        out,
        "\n{}, {} at most",
        counted(plan.clients.len() as u64, "client"),
        counted(u64::from(plan.proc_count()), "proc")
    )?;
    let mut by_mount = BTreeMap::<(u32, &str), u64>::new();
    for proc in &plan.procs {
        *by_mount.entry((proc.client, &proc.mount.path)).or_default() += 1;
    }
    let work = (0u32..).zip(&plan.clients).map(|(number, client)| {
        let place = |mount: &MountPoint| {
            let procs = by_mount.get(&(number, mount.path.as_str()));
            (format!("in {}", mount.path), procs.copied().unwrap_or(0))
        };
        let places = client.mounts.iter().map(place).collect();
        (client.name.as_str(), places)
    });
    super::clients::work(out, work)
}

fn needs(
    out: &mut String,
    plan: &RunPlan,
    work: &CompositeWork,
    time: Option<&SearchTime>,
) -> std::fmt::Result {
    if let Some(search) = &plan.search {
        super::open_needs(out, time, search.sweep)?;
        return memory(out, plan, work);
    }
    let sets: Vec<DataSet> = plan
        .points
        .iter()
        .map(|p| data_set(plan, work, *p))
        .collect();
    let space = sets.iter().map(|s| s.max_bytes).max().unwrap_or(0);
    let files = sets.iter().map(|s| s.file_count).max().unwrap_or(0);
    writeln!(
        out,
        "\nSpace on the servers  {} and {files} files, for all procs of the largest load point",
        Bytes(space)
    )?;
    memory(out, plan, work)?;
    let starts = sets.iter().map(|s| s.start_bytes);
    let filled = match plan.fileset.reuse {
        true => starts.max().unwrap_or(0),
        false => starts.fold(0, u64::saturating_add),
    };
    let per_point = plan.phases.warmup.as_secs_f64() + plan.phases.runtime.as_secs_f64();
    let measured = per_point * plan.points.len() as f64;
    writeln!(
        out,
        "Time                  {} of WARMUP and RUN, and filling {}:",
        span(measured),
        Bytes(filled)
    )?;
    // Many small files take longer to make than to fill.
    for ((rate, bytes_per_s), files_per_s) in FILL_RATES.into_iter().zip(FILES_PER_S) {
        let filling = (filled as f64 / bytes_per_s).max(files as f64 / files_per_s);
        writeln!(
            out,
            "                      {} in all at {rate} and {files_per_s} files a second",
            span(measured + filling)
        )?;
    }
    Ok(())
}

fn memory(out: &mut String, plan: &RunPlan, work: &CompositeWork) -> std::fmt::Result {
    let buffer = |number: u32| {
        let c = work.components.get(number as usize);
        c.map_or(0, |c| u64::from(c.workload.transfer_bytes_max()))
    };
    let base = CLIENT_BYTES.saturating_mul(plan.clients.len() as u64);
    let own = plan.procs.iter().fold(base, |sum, p| {
        sum.saturating_add(COMPOSITE_PROC_BYTES)
            .saturating_add(buffer(p.component))
    });
    let units = plan.points.iter().map(|p| p.units).fold(0.0, f64::max);
    let wanted = units * work.client_mem_mib_per_unit * (1u64 << 20) as f64;
    write!(out, "Memory on the clients {} for Filermark", Bytes(own))?;
    if wanted > 0.0 {
        write!(
            out,
            "; {} in all by the definition ({} MiB per {})",
            Bytes(wanted as u64),
            work.client_mem_mib_per_unit,
            plan.benchmark.unit
        )?;
    }
    writeln!(out)
}
