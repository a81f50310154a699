//! The set-up, for the report's template: the plan in words, the parameters
//! as given, the facts that the servers reported.

use crate::composite;
use crate::format::seconds;
use filermark_model::access::Access;
use filermark_model::plan::{Arrivals, Connections, DriverPlan, PacingMode, Target, Transport};
use filermark_model::text::one_line;
use filermark_model::{Rule, Severity};
use filermark_results::figures::is_composite;
use filermark_results::{PointRecord, RunRecord};

/// A parameter as given.
#[derive(serde::Serialize)]
pub struct ParameterRow {
    pub name: String,
    pub value: String,
    pub not_standard: bool,
}

/// The parameters as given; marked if a finding states that one is not standard.
pub fn parameter_rows(record: &RunRecord) -> Vec<ParameterRow> {
    let marked = |name: &str| {
        let findings = record.run.plan.findings.iter();
        // A note of this rule is about a parameter without effect.
        let mut not_standard =
            findings.filter(|f| f.rule == Rule::NotStandard && f.severity > Severity::Note);
        not_standard.any(|f| {
            let words = f
                .message
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.into_iter().any(|word| word == name)
        })
    };
    let parameters = record.run.plan.parameters.iter();
    parameters
        .map(|(name, value)| ParameterRow {
            not_standard: marked(name),
            name: one_line(name),
            value: one_line(value),
        })
        .collect()
}

/// The plan in words.
pub fn plan_rows(record: &RunRecord) -> Vec<(&'static str, String)> {
    let plan = &record.run.plan;
    let span = |n: filermark_model::Nanos| seconds(n.as_secs_f64());
    let clients: Vec<_> = plan.clients.iter().map(|c| one_line(&c.name)).collect();
    let mut rows = vec![
        ("Clients", clients.join(", ")),
        (
            "Procs",
            format!(
                "{}{} on each client, {} in all",
                if is_composite(record) { "at most " } else { "" },
                plan.procs_per_client,
                plan.proc_count()
            ),
        ),
        (
            "Pacing",
            format!(
                "{}, {} gaps",
                match plan.pacing.mode {
                    PacingMode::Closed => "closed (one operation in flight per proc)",
                    PacingMode::Open => "open (the arrival rate is kept)",
                },
                match plan.pacing.arrivals {
                    Arrivals::Uniform => "uniform",
                    Arrivals::Poisson => "Poisson",
                }
            ),
        ),
        (
            "Phases",
            format!(
                "WARMUP {}{}, RUN {}{}",
                match plan.phases.warmup_until_steady {
                    true => "until the load is steady, at most ",
                    false => "",
                },
                span(plan.phases.warmup),
                span(plan.phases.runtime),
                match plan.phases.runtime_max {
                    Some(most) => format!(
                        ", and on until the data set was touched, at most {}",
                        span(most)
                    ),
                    None => String::new(),
                }
            ),
        ),
        ("Seed", plan.seed.to_string()),
    ];
    if let Some(work) = plan.benchmark.composite() {
        let at = rows.len() - 1;
        rows.splice(at..at, composite::plan_rows(record, work));
    }
    if let Some(classic) = plan.benchmark.classic() {
        let rule = &classic.fileset;
        let text = format!(
            "{} MiB per op/s, {} % of it accessed, {} % of writes append",
            rule.mb_per_op, rule.access_pcnt, rule.append_pcnt
        );
        rows.insert(rows.len() - 1, ("File set", text));
    }
    if let Some(access) = Access::of(plan) {
        rows.insert(2, ("Access", one_line(&access.text())));
    }
    rows.push(("Driver", driver_row(&plan.driver)));
    rows.extend(plan.driver.describe().rows);
    if let Some(stats) = record
        .points
        .iter()
        .filter_map(PointRecord::measured)
        .next()
    {
        let (read, write) = stats.transfer_bytes;
        if read > 0 {
            rows.push((
                "Transfer sizes",
                format!("{} KiB reads, {} KiB writes", read / 1024, write / 1024),
            ));
        }
    }
    rows
}

fn driver_row(driver: &DriverPlan) -> String {
    let (facts, text) = (driver.facts(), driver.describe());
    let Some(transport) = facts.transport else {
        return match facts.target {
            Target::Nothing => "null: no server was used".to_owned(),
            Target::Mounted | Target::Server => text.summary,
        };
    };
    let ways = match transport {
        Transport::Tcp => ("connection", "connections"),
        Transport::Udp => ("socket", "sockets"),
    };
    let connections = match facts.connections {
        None | Some(Connections::PerProc) => format!("one {} per proc", ways.0),
        Some(Connections::Shared(n)) => format!("{n} shared {} per client and server", ways.1),
    };
    let (reads, writes) = facts.biods;
    format!(
        "{} over {}, {connections}, up to {} reads and {} writes in flight per operation",
        text.protocol,
        transport.name(),
        reads.max(1),
        writes.max(1)
    )
}

/// The facts that the servers reported, by mount point; once each, for any number of
/// clients.
pub(crate) fn mount_rows(record: &RunRecord) -> Vec<(String, Vec<(String, String)>)> {
    let mut rows: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for seen in record.environments.iter().flat_map(|e| &e.mounts) {
        let mount = one_line(&seen.mount);
        if rows.iter().all(|(known, _)| *known != mount) {
            let facts = seen
                .facts
                .iter()
                .map(|(name, value)| (one_line(name), one_line(value)));
            rows.push((mount, facts.collect()));
        }
    }
    rows
}
