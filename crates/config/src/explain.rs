//! The text of `filermark plan`: what would run, before anything is touched.

mod clients;
mod composite;

use crate::params::LOAD_MAX;
use crate::reference::wrapped;
use crate::resolved::Resolved;
use filermark_model::access::Access;
use filermark_model::launch::LaunchPlan;
use filermark_model::memory;
use filermark_model::plan::{MonitorMode, PacingMode, SearchPlan, SearchTime};
use filermark_model::text::one_line;
use filermark_model::units::counted;
use filermark_model::{Bytes, LoadPoint, Nanos, OpsPerSec, Rule, RunPlan, Severity};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Columns for the text about an older generation, or about COMMIT, next to its names.
const HERITAGE_WIDTH: usize = 76;
/// Fill rates that the time estimate shows, in bytes per second.
const FILL_RATES: [(&str, f64); 2] = [("100 MiB/s", 104_857_600.0), ("1 GiB/s", 1_073_741_824.0)];

/// Explains a plan in text, some 80 columns wide, ending with a line feed. `time` is what its search
/// takes, if that is known.
pub fn explain(resolved: &Resolved, time: Option<&SearchTime>) -> String {
    let (plan, launch) = (&resolved.plan, &resolved.launch);
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = match plan.benchmark.composite() {
        Some(work) => composite::write_all(&mut out, (plan, launch), work, time),
        None => write_all(&mut out, plan, launch, time),
    };
    out
}

/// How the clients of a plan are reached, in text; empty where this host is the only one.
pub fn explain_launch(launch: &LaunchPlan) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = clients::reach(&mut out, launch);
    out
}

fn write_all(
    out: &mut String,
    plan: &RunPlan,
    launch: &LaunchPlan,
    time: Option<&SearchTime>,
) -> std::fmt::Result {
    head(out, plan)?;
    let fileset = match (plan.fileset.reuse, plan.fileset.keep) {
        (true, false) => "grown from point to point, removed at the end",
        (true, true) => "grown from point to point, kept at the end (KEEP)",
        (false, false) => "created again for every point, removed after it",
        (false, true) => "created again for every point, the last one kept (KEEP)",
    };
    writeln!(out, "File set    {fileset}")?;
    monitor(out, plan)?;
    points(out, plan)?;
    mounts(out, plan)?;
    clients::reach(out, launch)?;
    needs(out, plan, time)?;
    remarks(out, plan)
}

/// What runs, with which driver, how paced and how long.
fn head(out: &mut String, plan: &RunPlan) -> std::fmt::Result {
    let b = &plan.benchmark;
    writeln!(
        out,
        "Benchmark   {} version {}: {}",
        b.name, b.version, b.title
    )?;
    for (name, words) in b.heritage_rows() {
        // A definition can come from any user: no control character reaches the terminal.
        let words = one_line(&words);
        let lines = wrapped(&words, HERITAGE_WIDTH).join("\n            ");
        writeln!(out, "{name:<11} {lines}")?;
    }
    writeln!(
        out,
        "Result      {}",
        b.headline_text(plan.limits.response_ms)
    )?;
    let text = plan.driver.describe();
    writeln!(out, "Driver      {}", text.summary)?;
    if let Some(commit) = plan.driver.facts().commit {
        let lines = wrapped(&commit.to_string(), HERITAGE_WIDTH).join("\n            ");
        writeln!(out, "COMMIT      {lines}")?;
    }
    for (name, value) in text.rows {
        writeln!(out, "{name:<11} {value}")?;
    }
    let pacing = match plan.pacing.mode {
        PacingMode::Closed => "closed (one operation at a time per proc)",
        PacingMode::Open => "open (the rate does not depend on the server)",
    };
    writeln!(out, "Pacing      {pacing}, seed {}", plan.seed)?;
    let warmup = duration(plan.phases.warmup);
    let warmup = match plan.phases.warmup_until_steady {
        true => format!("until the load is steady (at most {warmup})"),
        false => warmup.to_string(),
    };
    let most = match plan.phases.runtime_max {
        Some(most) => format!(
            ", and on until the data set has been touched (at most {})",
            duration(most)
        ),
        None => String::new(),
    };
    writeln!(
        out,
        "Phases      INIT (at most {}), WARMUP {warmup}, RUN {}{most}",
        duration(plan.phases.init_timeout),
        duration(plan.phases.runtime)
    )
}

fn monitor(out: &mut String, plan: &RunPlan) -> std::fmt::Result {
    let Some(monitor) = &plan.monitor else {
        return Ok(());
    };
    let words = std::iter::once(&monitor.script).chain(&monitor.args);
    let words: Vec<&str> = words.map(String::as_str).collect();
    let when = match monitor.mode {
        MonitorMode::Program => "runs while RUN does",
        MonitorMode::Phases => "called as each phase begins and ends",
    };
    writeln!(out, "Monitor     {} ({when})", words.join(" "))
}

/// Files outside of the I/O set, links and directories, of all procs when RUN begins.
fn other_count(plan: &RunPlan) -> u64 {
    let classic = plan.benchmark.classic();
    let per_proc = classic.map_or(0, |c| c.fileset.side_count_per_proc());
    per_proc.saturating_mul(u64::from(plan.proc_count()))
}

/// The load whose file set exists at each load point: its own, or with REUSE the
/// largest one so far, since a file set only grows.
fn fileset_loads(plan: &RunPlan) -> impl Iterator<Item = OpsPerSec> {
    let mut largest = OpsPerSec(0.0);
    plan.points.iter().map(move |point| {
        if !plan.fileset.reuse || point.requested > largest {
            largest = point.requested;
        }
        largest
    })
}

/// How the highest load is searched for.
fn search(out: &mut String, search: &SearchPlan) -> std::fmt::Result {
    let goal = search.goal.as_deref().unwrap_or("none beside the rules");
    let most = match search.max {
        LOAD_MAX => String::new(),
        max => format!(" to {} at most", search.shown(max)),
    };
    let sweep = match search.sweep {
        true => "a sweep of ten load points up to the load that was found",
        false => "none (SEARCH_SWEEP=off)",
    };
    writeln!(
        out,
        "\nSearch      from {} on{most}, in multiples of {};\n            probes with WARMUP {} and RUN {}, then full load points\nGoal        {goal}\nAfter it    {sweep}",
        search.shown(search.first),
        search.shown(search.step),
        duration(search.probe_warmup),
        duration(search.probe_runtime)
    )
}

fn points(out: &mut String, plan: &RunPlan) -> std::fmt::Result {
    if let Some(plan) = &plan.search {
        return search(out, plan);
    }
    writeln!(
        out,
        "\n{:>5} {:>10} {:>10} {:>10} {:>11} {:>11} {:>11}",
        "point", "LOAD", "requested", "per proc", "files", "file set", "accessed"
    )?;
    for (p, load) in plan.points.iter().zip(fileset_loads(plan)) {
        let accessed = plan.io_sums(p.requested).accessed_bytes;
        writeln!(
            out,
            "{:>5} {:>10} {:>10} {:>10} {:>11} {:>11} {:>11}",
            p.number,
            or_max(*p, p.entered),
            or_max(*p, p.requested),
            or_max(*p, plan.rate_per_proc(p.requested)),
            plan.io_file_count(load),
            Bytes(plan.io_bytes(load)).to_string(),
            Bytes(accessed).to_string(),
        )?;
    }
    let mut both = plan.points.iter().zip(fileset_loads(plan));
    if both.any(|(point, load)| point.requested < load) {
        writeln!(
            out,
            "With REUSE a file set never shrinks: where the load falls, the larger one stays, but only the load's own files are used."
        )?;
    }
    Ok(())
}

/// A rate of a load point; `max` where none is requested.
fn or_max(point: LoadPoint, rate: OpsPerSec) -> String {
    match point.is_max() {
        true => "max".to_owned(),
        false => rate.0.to_string(),
    }
}

fn mounts(out: &mut String, plan: &RunPlan) -> std::fmt::Result {
    writeln!(
        out,
        "\n{} x {} = {}",
        counted(plan.clients.len() as u64, "client"),
        counted(u64::from(plan.procs_per_client), "proc"),
        counted(u64::from(plan.proc_count()), "proc")
    )?;
    let work = plan.clients.iter().map(|client| {
        let mut by_mount = BTreeMap::<_, u64>::new();
        for mount in &client.mounts {
            *by_mount.entry(mount).or_default() += 1;
        }
        let places = by_mount.into_iter();
        let places = places.map(|(mount, procs)| (format!("on {mount}"), procs));
        (client.name.as_str(), places.collect())
    });
    clients::work(out, work)?;
    let Some(access) = Access::of(plan) else {
        return Ok(());
    };
    let words = wrapped(&access.text(), HERITAGE_WIDTH).join("\n            ");
    writeln!(out, "Access      {words}")?;
    let judged = match access.findings().is_empty() {
        true => "evenly spread, judging by MNT_POINTS; it does not show which hosts are one server",
        false => "not uniform, see the notes (uniform-access)",
    };
    writeln!(out, "            {judged}")
}

/// The needs of a run with a search.
fn open_needs(out: &mut String, time: Option<&SearchTime>, has_sweep: bool) -> std::fmt::Result {
    let Some(time) = time else {
        return writeln!(out, "\nSpace and time depend on the load that is found.");
    };
    writeln!(
        out,
        "\nSpace depends on the load that is found.\nTime                  {} to {} of WARMUP and RUN, in {} to {} load points{},\n                      if the speed of the server does not vary;\n                      INIT and CLEANUP come on top. A search has at most {}",
        duration(time.least),
        duration(time.most),
        time.points_least,
        time.points_most,
        if has_sweep {
            " of search and sweep"
        } else {
            ""
        },
        counted(time.tries_max, "load point")
    )
}

fn needs(out: &mut String, plan: &RunPlan, time: Option<&SearchTime>) -> std::fmt::Result {
    if let Some(search) = &plan.search {
        return open_needs(out, time, search.sweep);
    }
    let sizes: Vec<u64> = plan
        .points
        .iter()
        .map(|p| plan.io_bytes(p.requested))
        .collect();
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let files = plan
        .points
        .iter()
        .map(|p| plan.io_file_count(p.requested))
        .max();
    let files = files.unwrap_or(0).saturating_add(other_count(plan));
    let space = plan.points.iter().map(|p| plan.io_space_bytes(p.requested));
    let space = space.max().unwrap_or(0);
    writeln!(
        out,
        "\nSpace on the server   {} ({} for growth included), {files} files, links and directories",
        Bytes(space),
        Bytes(space.saturating_sub(largest))
    )?;
    let procs = u64::from(plan.proc_count()).saturating_mul(memory::CLASSIC_PROC_BYTES);
    let memory = files
        .saturating_mul(memory::CLASSIC_FILE_BYTES)
        .saturating_add(procs)
        .saturating_add(memory::CLIENT_BYTES.saturating_mul(plan.clients.len() as u64));
    writeln!(out, "Memory on the clients {} in all", Bytes(memory))?;
    let filled = match plan.fileset.reuse {
        true => largest,
        false => sizes.iter().fold(0u64, |all, n| all.saturating_add(*n)),
    };
    let points = plan.points.len() as f64;
    let measured = (plan.phases.warmup.as_secs_f64() + plan.phases.runtime.as_secs_f64()) * points;
    writeln!(
        out,
        "Time                  {} of WARMUP and RUN, and filling {}:",
        span(measured),
        Bytes(filled)
    )?;
    for (rate, bytes_per_s) in FILL_RATES {
        let fill = filled as f64 / bytes_per_s;
        writeln!(
            out,
            "                      {} in all if it fills at {rate}",
            span(measured + fill)
        )?;
    }
    Ok(())
}

fn remarks(out: &mut String, plan: &RunPlan) -> std::fmt::Result {
    let changed =
        |f: &&filermark_model::Finding| f.rule == Rule::NotStandard && f.severity > Severity::Note;
    let (fixed, others): (Vec<_>, Vec<_>) = plan.findings.iter().partition(|f| changed(f));
    if fixed.is_empty() {
        writeln!(
            out,
            "\nAll parameters that a standard run fixes have their standard values."
        )?;
    } else {
        writeln!(out, "\nNot a standard run:")?;
    }
    for finding in fixed {
        let text = finding.message.strip_prefix("not standard: ");
        writeln!(out, "  {}", text.unwrap_or(&finding.message))?;
    }
    if !others.is_empty() {
        writeln!(out, "\nNotes:")?;
    }
    for finding in others {
        writeln!(out, "  {}", finding.message)?;
    }
    writeln!(out, "\n{}", filermark_model::NOT_A_SPEC_RESULT)
}

fn duration(t: Nanos) -> String {
    span(t.as_secs_f64())
}

/// A span of time for people: 5 s, 5 min, 1 h 40 min.
fn span(seconds: f64) -> String {
    if seconds < 120.0 {
        let tenths = (seconds * 10.0).round() / 10.0;
        return format!("{tenths} s");
    }
    let minutes = (seconds / 60.0).round() as u64;
    match (minutes / 60, minutes % 60) {
        (0, m) => format!("{m} min"),
        (h, 0) => format!("{h} h"),
        (h, m) if h < 48 => format!("{h} h {m} min"),
        (h, _) => format!("{} days {} h", h / 24, h % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn spans_for_people() {
        let cases = [
            (0.25, "0.3 s"),
            (5.0, "5 s"),
            (300.0, "5 min"),
            (6_000.0, "1 h 40 min"),
            (7_200.0, "2 h"),
            (200_000.0, "2 days 7 h"),
        ];
        for (seconds, want) in cases {
            assert_eq!(span(seconds), want);
        }
    }
}
