//! Findings about a run as a whole: clocks, interfaces, data, load points.

use super::limits::programme;
use super::rules::{finding, list};
use super::types::{LogData, Parts, Resolution};
use super::{EnergyFinding, EnergyRule, WorkloadReduction};
use crate::log::{EventKind, MergedRun, Role, Source, SourceKind};
use crate::merge::Timeline;
use crate::sflow::{PortPattern, Selection};
use filermark_model::Severity;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Most jumps of clocks that are reported.
const EVENTS_SHOWN: usize = 10;
/// Most interfaces that are listed by their traffic.
const BUSY_MAX: usize = 6;
/// Load points may be off an even spacing by this share of a step.
const SPACING_OFF: f64 = 0.1;

/// All findings of a run.
pub(super) fn findings(
    log: &LogData,
    parts: &Parts,
    run: &MergedRun,
    workload: &WorkloadReduction,
    without_tail: bool,
) -> Vec<EnergyFinding> {
    let mut found = Vec::new();
    found.extend(same_meter(log, parts));
    found.extend(against_clients(workload));
    found.extend(products(parts));
    found.extend(constant_meters(log, parts));
    found.extend(without_tail.then(tail));
    found.extend(simulated(log));
    found.extend(overlap(log, run));
    found.extend(clocks(log));
    found.extend(ports(log, parts, run));
    found.extend(data(log));
    found.extend(load_points(run));
    found.extend(environment(parts));
    found.extend(disclosure(log, run));
    found.extend(idle(parts, workload));
    found
}

fn simulated(log: &LogData) -> Option<EnergyFinding> {
    let sources = log.sources.values().filter(|data| data.source.simulated);
    let names: Vec<String> = sources.map(|data| data.source.name.clone()).collect();
    (!names.is_empty()).then(|| {
        let message = format!(
            "simulated figures: {} made up, nothing was measured by it; not a measurement",
            list(&names)
        );
        finding(EnergyRule::Simulated, Severity::Invalid, message)
    })
}

fn overlap(log: &LogData, run: &MergedRun) -> Option<EnergyFinding> {
    let timeline = Timeline::new(&log.runs);
    let with = timeline
        .overlaps()
        .iter()
        .filter_map(|&(a, b)| match run.run {
            n if n == a => Some(b),
            n if n == b => Some(a),
            _ => None,
        });
    let name = |n: u32| log.runs.iter().find(|r| r.run == n).map(|r| r.name.clone());
    let names: Vec<String> = with.filter_map(name).collect();
    (!names.is_empty()).then(|| overlapping(&names))
}

/// Runs at the same time as this one.
pub(super) fn overlapping(names: &[String]) -> EnergyFinding {
    let message = format!(
        "the run overlaps with {}: their power cannot be separated",
        list(names)
    );
    finding(EnergyRule::Overlap, Severity::Invalid, message)
}

fn clocks(log: &LogData) -> Vec<EnergyFinding> {
    let limit = programme().clock_bound_s_max.value;
    let clock_finding = |data: &super::types::SourceData| {
        let source = &data.source;
        let message = match source.clock.bound_s {
            Some(bound) if bound <= limit => return None,
            Some(bound) => format!(
                "{}: its clock is known within {bound:.1} s only; the programme allows {limit} s",
                source.name
            ),
            None => format!(
                "{}: the offset of its clock from the prime's is unknown; measure it, or give it (--offset, --bound)",
                source.name
            ),
        };
        Some(finding(EnergyRule::Clock, Severity::Warning, message))
    };
    log.sources.values().filter_map(clock_finding).collect()
}

/// Interfaces that were not chosen, sent no counters, or were received twice.
fn ports(log: &LogData, parts: &Parts, run: &MergedRun) -> Vec<EnergyFinding> {
    let mut found = Vec::new();
    let mut add = |severity, message| found.push(finding(EnergyRule::Ports, severity, message));
    if !log.bad_ports.is_empty() {
        let message = format!(
            "{}: no interfaces; give 24, 1-3, NAME or AGENT/24",
            list(&log.bad_ports)
        );
        add(Severity::Warning, message);
    }
    let seen: Vec<(IpAddr, u32)> = log.ports.keys().copied().collect();
    let silent = log.selection.unmatched(&seen).map(ToString::to_string);
    let silent: Vec<String> = silent.collect();
    if !silent.is_empty() {
        let message = format!(
            "no counters were received for chosen interfaces: {}; check their names: their traffic is missing in all figures",
            list(&silent)
        );
        add(Severity::Invalid, message);
    }
    let chosen = !log.head.lab.ports.is_empty();
    let has_collector = log
        .sources
        .values()
        .any(|d| d.source.kind == SourceKind::Sflow);
    if !chosen && seen.is_empty() && has_collector {
        let message = "the sFlow collector received no counters: MiB/s are the clients'";
        add(Severity::Warning, message.into());
    }
    for (pattern, agents) in ambiguous(log) {
        let message = format!(
            "{pattern} is an interface of several agents ({}), and all are counted; give AGENT/{pattern} for one",
            list(&agents)
        );
        add(Severity::Warning, message);
    }
    if !chosen && !seen.is_empty() {
        let message = format!(
            "no interface is chosen as facing the server, so MiB/s are the clients'; choose with --ports ({})",
            busiest(log, run)
        );
        add(Severity::Warning, message);
    }
    if parts.traffic_over > 0 {
        let message = format!(
            "{} samples of chosen interfaces overlap others (received by two collectors?): the first of each counts",
            parts.traffic_over
        );
        add(Severity::Warning, message);
    }
    let chosen = || log.ports.values().filter(|port| port.chosen);
    let unknown: u64 = chosen().map(|port| port.unknown).sum();
    if unknown > 0 {
        let message =
            format!("{unknown} samples of chosen interfaces lack a count of bytes and are missing");
        add(Severity::Warning, message);
    }
    let bad: u64 = chosen().map(|port| port.bad_packets).sum();
    if bad > 0 {
        let message = format!(
            "chosen interfaces dropped {bad} packets in RUN: check cables and flow control"
        );
        add(Severity::Note, message);
    }
    found
}

fn busiest(log: &LogData, run: &MergedRun) -> String {
    let bytes = |port: &super::types::PortData| port.run_bytes.get(&run.run).copied().unwrap_or(0);
    let mut by_bytes: Vec<_> = log
        .ports
        .iter()
        .map(|(key, port)| (bytes(port), key))
        .collect();
    by_bytes.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let one = |(bytes, (agent, index)): &(u64, &(IpAddr, u32))| {
        format!("{agent}/{index} {} MiB", bytes >> 20)
    };
    let shown: Vec<String> = by_bytes.iter().take(BUSY_MAX).map(one).collect();
    format!("in RUN: {}", shown.join(", "))
}

/// Patterns without an agent that match interfaces of several agents.
fn ambiguous(log: &LogData) -> Vec<(String, Vec<String>)> {
    let several = |text: &String| {
        let pattern: PortPattern = text.parse().ok()?;
        if pattern.agent.is_some() {
            return None;
        }
        let one = Selection::new(vec![pattern], log.selection.names.clone());
        let fits = log.ports.keys().filter(|(agent, n)| one.has(*agent, *n));
        let agents: BTreeSet<String> = fits.map(|(agent, _)| agent.to_string()).collect();
        (agents.len() > 1).then(|| (text.clone(), agents.into_iter().collect()))
    };
    log.head.lab.ports.iter().filter_map(several).collect()
}

/// One meter in two logs that disagree, or under two names.
fn same_meter(log: &LogData, parts: &Parts) -> Vec<EnergyFinding> {
    let contradict = parts.power.iter().filter(|(_, part)| part.contradicts);
    let names: Vec<String> = contradict.map(|(label, _)| label.clone()).collect();
    let mut found = Vec::new();
    if !names.is_empty() {
        let message = format!(
            "two logs have {} with different figures for one time: are they two meters? Give them different names; until then only the first counts",
            list(&names)
        );
        found.push(finding(EnergyRule::Data, Severity::Invalid, message));
    }
    let mut by_place: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let meters = log.sources.values().map(|data| &data.source);
    let real = |source: &&Source| {
        source.kind == SourceKind::Meter && source.role == Role::Server && !source.simulated
    };
    for source in meters.filter(real) {
        let names = by_place.entry(&source.location).or_default();
        names.insert(&source.name);
    }
    for (place, names) in by_place.into_iter().filter(|(_, names)| names.len() > 1) {
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let message = format!(
            "{place} is counted under several names ({}): if it is one meter, its power is added up more than once",
            list(&names)
        );
        found.push(finding(EnergyRule::Data, Severity::Invalid, message));
    }
    found
}

/// The switch should count a little more than what clients read and wrote.
fn against_clients(workload: &WorkloadReduction) -> Option<EnergyFinding> {
    const LESS: f64 = 0.9;
    const MORE: f64 = 1.8;
    let both = workload.points.iter().filter_map(|point| {
        let clients = point.client_mib_per_s.filter(|mib| *mib >= 1.0)?;
        Some((point.number, point.traffic_mib_per_s?.mean / clients))
    });
    let off: Vec<(u32, f64)> = both.filter(|(_, r)| *r < LESS || *r > MORE).collect();
    let (_, ratio) = *off.first()?;
    let numbers: Vec<String> = off.iter().map(|(n, _)| n.to_string()).collect();
    let why = match ratio < LESS {
        true => "is a link to the server missing, or the wrong interface chosen?",
        false => {
            "is traffic counted twice (both ends of a link chosen), or are operations so small?"
        }
    };
    let message = format!(
        "the switch counted {ratio:.2} times what clients read and wrote (load point {}): {why}",
        list(&numbers)
    );
    Some(finding(EnergyRule::Ports, Severity::Warning, message))
}

/// Meters whose power has more digits as the product of other columns.
fn products(parts: &Parts) -> Vec<EnergyFinding> {
    let parts = parts.power.iter().chain(&parts.client_power);
    let all = parts.flat_map(|(label, part)| part.fineness.iter().map(move |f| (label, f)));
    let one = |(label, fineness): (&String, &Resolution)| {
        let product = fineness.product?;
        let column = fineness.column?;
        let (step, made) = (
            column.step_at(product.mean_w),
            product.share * 2.0 * product.mean_w,
        );
        let both = format!(
            "{label}: the meter's own power has {} digits (steps of {step} W near {:.0} W), voltage x current x power factor of the same readings steps of {made:.2} W",
            column.count, product.mean_w
        );
        let apart = format!(
            "they differ by {:.3} W at most, rounding explains {:.3} W",
            product.apart_w, product.explained_w
        );
        Some(match product.is_used {
            true => finding(
                EnergyRule::Resolution,
                Severity::Note,
                format!("{both} and is used; {apart}; the log has all of them"),
            ),
            false => finding(
                EnergyRule::Resolution,
                Severity::Warning,
                format!(
                    "{both}, but does not fit: {apart}; it is not used. Are the columns those of one element?"
                ),
            ),
        })
    };
    let mut found: Vec<EnergyFinding> = all.filter_map(one).collect();
    found.dedup();
    found
}

/// A meter with constant figures may not measure.
fn constant_meters(log: &LogData, parts: &Parts) -> Option<EnergyFinding> {
    const SAMPLES_MIN: usize = 30;
    if log.sources.values().any(|data| data.source.simulated) {
        return None;
    }
    let same = |moments: &[(f64, f64)]| {
        let first = moments.first().map(|m| m.1);
        moments.len() >= SAMPLES_MIN && moments.iter().all(|m| Some(m.1) == first)
    };
    let stuck = parts.power.iter().filter(|(_, part)| same(&part.moments));
    let names: Vec<String> = stuck.map(|(label, _)| label.clone()).collect();
    (!names.is_empty()).then(|| {
        let message = format!(
            "{} has the same figure in every sample: check that it measures",
            list(&names)
        );
        finding(EnergyRule::Data, Severity::Note, message)
    })
}

fn tail() -> EnergyFinding {
    let message = "power and the switch's traffic are over the first 90 % of RUN, operations and the clients' MiB/s over all of it";
    finding(EnergyRule::Coverage, Severity::Note, message.into())
}

/// Data that was lost or could not be read, over the whole log.
fn data(log: &LogData) -> Vec<EnergyFinding> {
    let mut found = Vec::new();
    if let Some(line) = log.cut {
        let message = format!("line {line} of the merged log was cut and is left out");
        found.push(finding(EnergyRule::Data, Severity::Warning, message));
    }
    if log.events_omitted > 0 {
        let message = format!("{} more events are not shown", log.events_omitted);
        found.push(finding(EnergyRule::Data, Severity::Note, message));
    }
    // The time of a jump is wrong on one side of it, so it is always reported.
    for jump in log
        .events
        .iter()
        .filter(|e| e.what == EventKind::ClockJump)
        .take(EVENTS_SHOWN)
    {
        let message = format!(
            "{} (at {}): times before and after cannot be compared, samples may be in the wrong phase",
            jump.message,
            jump.at.readable()
        );
        found.push(finding(EnergyRule::Clock, Severity::Warning, message));
    }
    let bad = log.events.iter().filter(|e| e.what == EventKind::Invalid);
    let mut bad: Vec<String> = bad.map(|e| e.message.clone()).collect();
    bad.dedup();
    if !bad.is_empty() {
        let message = format!("not everything could be used: {}", list(&bad));
        found.push(finding(EnergyRule::Data, Severity::Note, message));
    }
    found
}

/// At least ten, evenly spaced.
fn load_points(run: &MergedRun) -> Option<EnergyFinding> {
    let wanted = programme().load_points_min.value;
    let count = run.points.len();
    if (count as f64) < wanted {
        let message = format!("{count} load points; the programme has {wanted}, evenly spaced");
        return Some(finding(EnergyRule::Coverage, Severity::Note, message));
    }
    let loads: Vec<f64> = run.points.iter().filter_map(|p| p.load).collect();
    let (first, last) = (loads.first()?, loads.last()?);
    let step = (last - first) / (loads.len().checked_sub(1)? as f64);
    let off = |(i, load): (usize, &f64)| (load - (first + step * i as f64)).abs();
    let far = loads.iter().enumerate().map(off).fold(0.0, f64::max);
    (far > step.abs() * SPACING_OFF && far > 1.0).then(|| {
        let message = "the load points are not evenly spaced, as the programme has them";
        finding(EnergyRule::Coverage, Severity::Note, message.into())
    })
}

/// Missing fields of the worksheet, and calibrations that are too old. Made-up figures need no
/// worksheet.
fn disclosure(log: &LogData, run: &MergedRun) -> Vec<EnergyFinding> {
    let sources = || log.sources.values().map(|data| &data.source);
    if sources().any(|source| source.simulated) {
        return Vec::new();
    }
    let texts = log.head.lab.texts();
    let missing = texts.iter().filter(|(_, _, value)| value.is_none());
    let mut missing: Vec<String> = missing.map(|(name, _, _)| name.clone()).collect();
    let meters = || sources().filter(|source| source.kind == SourceKind::Meter);
    for meter in meters() {
        let fields = meter.instrument.fields();
        let lacks = fields.iter().filter(|(_, value)| value.is_none());
        let lacks: Vec<&str> = lacks
            .map(|(name, _)| *name)
            .filter(|n| *n != "firmware")
            .collect();
        if !lacks.is_empty() {
            missing.push(format!("{} of meter {}", lacks.join("/"), meter.name));
        }
    }
    let mut found = Vec::new();
    if !missing.is_empty() {
        let message = format!(
            "the worksheet lacks: {}; write it into the setup (energy-setup.md) and merge with --energy FILE",
            missing.join(", ")
        );
        found.push(finding(EnergyRule::Disclosure, Severity::Note, message));
    }
    found.extend(meters().filter_map(|meter| calibration(meter, run)));
    found
}

fn calibration(meter: &Source, run: &MergedRun) -> Option<EnergyFinding> {
    let limit = programme().calibration_days_max.value;
    let calibrated = meter.instrument.calibrated.as_ref()?;
    let calibrated = calibrated.parse::<jiff::civil::Date>().ok()?;
    let midnight = calibrated.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    let seconds = run.began.unix_seconds() - midnight.timestamp().as_second() as f64;
    let days = (seconds / 86_400.0).floor();
    let what = match days {
        // Days begin at different moments around the world.
        days if days < -1.0 => "after the measurement".to_owned(),
        days if days > limit => format!("{days} days before the measurement (limit {limit})"),
        _ => return None,
    };
    let message = format!("{}: calibrated on {calibrated}, {what}", meter.name);
    Some(finding(EnergyRule::Disclosure, Severity::Warning, message))
}

fn environment(parts: &Parts) -> Option<EnergyFinding> {
    parts.temperature.is_empty().then(|| {
        let message =
            "the inlet's temperature was not recorded; the programme requires it throughout";
        finding(EnergyRule::Environment, Severity::Note, message.into())
    })
}

/// GB/W requires two hours of idle time.
fn idle(parts: &Parts, workload: &WorkloadReduction) -> Option<EnergyFinding> {
    let wanted = programme().ready_idle_s.value;
    let meters = parts.power.len();
    let message = match workload.idle {
        None if meters == 0 => return None,
        None => "no power was measured before the first load point: no idle baseline".into(),
        Some(stats) => {
            let seconds = stats.interval_s * stats.samples as f64 / meters as f64;
            if seconds >= wanted * 0.95 {
                return None;
            }
            format!(
                "the idle baseline is of about {seconds:.0} s; the programme's is of {wanted} s"
            )
        }
    };
    Some(finding(EnergyRule::Coverage, Severity::Note, message))
}
