//! The rules: each compares a figure with a limit of the programme, and returns findings.

use super::limits::programme;
use super::types::{PartMap, SourceData};
use super::{
    EnergyFinding, EnergyRule, PointEfficiency, Stats, efficiency_decimals, shown_decimals,
};
use crate::log::{EventKind, LogEvent};
use crate::reading::Quantity;
use filermark_model::Severity;
use std::collections::BTreeMap;

/// Most names that are listed in a sentence.
const NAMES_MAX: usize = 8;

/// A finding.
pub(super) fn finding(rule: EnergyRule, severity: Severity, message: String) -> EnergyFinding {
    EnergyFinding {
        rule,
        severity,
        message,
    }
}

/// Joins names for a sentence.
pub(super) fn list(names: &[String]) -> String {
    let shown = names.iter().take(NAMES_MAX).cloned();
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if names.len() > NAMES_MAX {
        text += &format!(" and {} more", names.len() - NAMES_MAX);
    }
    text
}

/// A load point without a complete RUN.
pub(super) fn not_measured() -> EnergyFinding {
    let message = "the load point has no complete RUN: there is nothing to average";
    finding(EnergyRule::NoData, Severity::Invalid, message.into())
}

/// A load point that does not count by the rules of its run.
pub(super) fn point_invalid() -> EnergyFinding {
    let message = "by the run's own rules this load point does not count (see the run's report)";
    finding(EnergyRule::PointInvalid, Severity::Invalid, message.into())
}

/// Power over RUN.
pub(super) fn power(
    stats: Option<&Stats>,
    silent: &[String],
    no_meter: bool,
) -> Vec<EnergyFinding> {
    let Some(stats) = stats else {
        let message = match (no_meter, silent.is_empty()) {
            (true, _) => "no power meter of the server is in the log: no efficiency".into(),
            (false, false) => format!(
                "no sample in RUN of {}: the server's power is not known",
                list(silent)
            ),
            (false, true) => {
                "the meters of the server have no sample in common in RUN: its power is not known"
                    .into()
            }
        };
        return vec![finding(EnergyRule::NoData, Severity::Invalid, message)];
    };
    let drift = &programme().power_drift_pcnt_max;
    [
        sample_interval("power", stats),
        coverage("power", stats),
        stability("power", stats, drift.value),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Traffic of the chosen interfaces over RUN.
pub(super) fn traffic(stats: Option<&Stats>, silent: &[String], run_s: f64) -> Vec<EnergyFinding> {
    let Some(stats) = stats else {
        let message = match silent.is_empty() {
            false => format!(
                "no complete interval of counters is in RUN of {}: the server's traffic is not known; poll more often, or run longer",
                list(silent)
            ),
            true => "no part of RUN has samples of all chosen interfaces: the server's traffic is not known".into(),
        };
        return vec![finding(EnergyRule::NoData, Severity::Invalid, message)];
    };
    let drift = &programme().traffic_drift_pcnt_max;
    [
        sample_interval("sFlow counters", stats),
        edges(stats, run_s),
        stability("traffic", stats, drift.value),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Figures of meters that are coarser than the figures of the report.
pub(super) fn resolution(
    parts: &PartMap,
    point: &PointEfficiency,
    (from, to): (f64, f64),
) -> Option<EnergyFinding> {
    let mean = point.power_w?.mean;
    let of_part = |(label, part): (&String, &super::types::MeterSeries)| {
        let stats = part.between(from, to).stats(from, to)?;
        Some((label.clone(), part.step_at(stats.mean)?))
    };
    let steps: Vec<(String, f64)> = parts.iter().filter_map(of_part).collect();
    let step: f64 = steps.iter().map(|(_, step)| step).sum();
    let shown_w = 10f64.powi(-(shown_decimals(mean) as i32));
    let efficiency = point.mib_per_s_per_w.filter(|_| mean > 0.0);
    let shown = efficiency.map(|e| 10f64.powi(-(efficiency_decimals(e) as i32)));
    let off = efficiency.map(|e| e * step / 2.0 / mean);
    let coarse_w = step > shown_w * 1.001;
    let coarse = off.zip(shown).is_some_and(|(off, shown)| off > shown);
    (coarse_w || coarse).then(|| {
        let names: Vec<String> = steps.into_iter().map(|(label, _)| label).collect();
        let efficiency = off.zip(shown).map(|(off, shown)| {
            format!("; half a step is {off:.4} MiB/s per W, which is shown to {shown}")
        });
        let message = format!(
            "power: figures of {} have steps of {step} W, and the mean is shown to {shown_w} W{}; let the meter log more digits, or voltage, current and power factor with the power",
            list(&names),
            efficiency.unwrap_or_default()
        );
        finding(EnergyRule::Resolution, Severity::Warning, message)
    })
}

/// A meter with a reversed clamp, or one that does not measure.
pub(super) fn negative(parts: &PartMap, from: f64, to: f64) -> Option<EnergyFinding> {
    let below = |part: &&super::types::MeterSeries| {
        let stats = part.between(from, to).stats(from, to);
        stats.is_some_and(|stats| stats.min < 0.0 || stats.max <= 0.0)
    };
    let below = parts.iter().filter(|(_, part)| below(part));
    let names: Vec<String> = below.map(|(label, _)| label.clone()).collect();
    (!names.is_empty()).then(|| {
        let message = format!(
            "{}: power is not above 0 W throughout RUN: is a clamp the wrong way round, or a column misread?",
            list(&names)
        );
        finding(EnergyRule::Data, Severity::Invalid, message)
    })
}

fn sample_interval(what: &str, stats: &Stats) -> Option<EnergyFinding> {
    let limit = programme().sample_interval_s_max.value;
    // Meters and agents may be late by a fraction of a second.
    let too_long = stats.interval_s > limit * 1.1;
    too_long.then(|| {
        let message = format!(
            "{what}: samples are {:.1} s apart; the programme allows {limit} s",
            stats.interval_s
        );
        finding(EnergyRule::SampleInterval, Severity::Warning, message)
    })
}

fn coverage(what: &str, stats: &Stats) -> Option<EnergyFinding> {
    let limit = programme().coverage_pcnt_min.value;
    let covered = (stats.coverage * 100.0).floor();
    (covered < limit).then(|| {
        let message = format!(
            "{what}: samples cover {covered} % of RUN, less than {limit} %: the mean is of that part only, and the point does not count here"
        );
        finding(EnergyRule::Gap, Severity::Invalid, message)
    })
}

/// Intervals across the ends of RUN are left out, two at most: they are not a gap.
fn edges(stats: &Stats, run_s: f64) -> Option<EnergyFinding> {
    let limit = programme().coverage_pcnt_min.value;
    let with_edges = stats.coverage + 2.0 * stats.interval_s / run_s;
    if with_edges * 100.0 < limit {
        return coverage("sFlow counters", stats);
    }
    (stats.coverage * 100.0 < limit).then(|| {
        let message = format!(
            "sFlow counters cover {:.0} % of RUN, since intervals over its ends are left out; poll more often than every {:.1} s, or run longer",
            (stats.coverage * 100.0).floor(),
            stats.interval_s
        );
        finding(EnergyRule::Gap, Severity::Note, message)
    })
}

fn stability(what: &str, stats: &Stats, limit: f64) -> Option<EnergyFinding> {
    let drift = stats.drift * 100.0;
    (drift.abs() > limit).then(|| {
        let message = format!(
            "{what} is not stable: it drifts by {drift:+.1} % over RUN (limit {limit} %); warm up longer"
        );
        finding(EnergyRule::Stability, Severity::Warning, message)
    })
}

/// The air at the inlet.
pub(super) fn environment(
    temperature: Option<&Stats>,
    humidity: Option<&Stats>,
) -> Vec<EnergyFinding> {
    let ranges = [
        (
            "inlet temperature",
            "°C",
            temperature,
            &programme().inlet_temperature_c,
        ),
        ("humidity", "%", humidity, &programme().humidity_pcnt),
    ];
    let outside = |(what, unit, stats, range): (
        &str,
        &str,
        Option<&Stats>,
        &super::limits::Range,
    )| {
        let stats = stats?;
        let out = stats.min < range.least || stats.max > range.most;
        out.then(|| {
            let message = format!(
                "{what} went from {:.1} to {:.1} {unit} in RUN; the programme allows {} to {} {unit}",
                stats.min, stats.max, range.least, range.most
            );
            finding(EnergyRule::Environment, Severity::Warning, message)
        })
    };
    ranges.into_iter().filter_map(outside).collect()
}

/// The supply of a meter.
pub(super) fn supply(
    label: &str,
    quantity: Quantity,
    stats: &Stats,
    nominal_voltage_v: Option<f64>,
) -> Option<EnergyFinding> {
    let nearest = |of: [f64; 2], value: f64| match (value - of[0]).abs() < (value - of[1]).abs() {
        true => of[0],
        false => of[1],
    };
    let limits = programme();
    let off = |nominal: f64, allowed_pcnt: f64, what: &str, unit: &str| {
        let far = (stats.min - nominal).abs().max((stats.max - nominal).abs());
        let off_pcnt = far / nominal * 100.0;
        (nominal > 0.0 && off_pcnt > allowed_pcnt).then(|| {
            format!(
                "{label}: {what} went from {:.1} to {:.1} {unit} in RUN, {off_pcnt:.1} % off {nominal} {unit}; the programme allows {allowed_pcnt} %",
                stats.min, stats.max
            )
        })
    };
    let message = match quantity {
        Quantity::Voltage => {
            let nominal = nominal_voltage_v.unwrap_or_else(|| nearest([115.0, 230.0], stats.mean));
            off(nominal, limits.voltage_off_pcnt_max.value, "voltage", "V")
        }
        Quantity::Frequency => {
            let nominal = nearest([50.0, 60.0], stats.mean);
            off(
                nominal,
                limits.frequency_off_pcnt_max.value,
                "frequency",
                "Hz",
            )
        }
        Quantity::VoltageDistortion => {
            let limit = limits.voltage_distortion_pcnt_max.value;
            (stats.max > limit).then(|| {
                format!(
                    "{label}: the voltage's distortion reached {:.1} % in RUN; the programme allows {limit} %",
                    stats.max
                )
            })
        }
        _ => None,
    }?;
    Some(finding(EnergyRule::Supply, Severity::Warning, message))
}

/// The events between two times, one finding for each kind and source.
pub(super) fn events(
    events: &[LogEvent],
    sources: &BTreeMap<u32, SourceData>,
    from: f64,
    to: f64,
) -> Vec<EnergyFinding> {
    let within = |event: &&LogEvent| (from..to).contains(&event.at.unix_seconds());
    let mut seen: BTreeMap<(&'static str, Option<u32>), (u64, EnergyFinding)> = BTreeMap::new();
    for event in events.iter().filter(within) {
        let (rule, word) = match event.what {
            EventKind::Lost => (EnergyRule::Gap, "lost"),
            EventKind::Invalid => (EnergyRule::Data, "bad"),
            EventKind::Gap => (EnergyRule::Data, "gap"),
            EventKind::Restart => (EnergyRule::Data, "restart"),
            EventKind::Recovered | EventKind::Note | EventKind::ClockJump => continue,
        };
        let name = event.source.and_then(|id| sources.get(&id));
        let of = name.map(|data| format!("{}: ", data.source.name));
        let message = format!("in RUN: {}{}", of.unwrap_or_default(), event.message);
        let entry = seen.entry((word, event.source));
        entry
            .or_insert_with(|| (0, finding(rule, Severity::Warning, message)))
            .0 += 1;
    }
    let with_count = |(count, mut finding): (u64, EnergyFinding)| {
        if count > 1 {
            finding.message += &format!(" (and {} more of this kind)", count - 1);
        }
        finding
    };
    seen.into_values().map(with_count).collect()
}
