//! Reduces a load point: power and traffic over RUN, and the quotients.

use super::rules;
use super::steps::Steps;
use super::types::{LogData, MeterSeries, PartMap, Parts};
use super::{EnergyFinding, PointEfficiency, Stats, TrafficFrom};
use crate::log::{EnergyPhase, MergedPoint, Role};
use crate::reading::Quantity;
use std::collections::BTreeMap;

impl Parts {
    pub(super) fn of(log: &LogData) -> Self {
        let mut traffic_over = 0;
        let mut traffic = BTreeMap::new();
        for ((_, index), port) in log.ports.iter().filter(|(_, port)| port.chosen) {
            let (steps, over) = Steps::of_pieces(port.pieces.iter().copied());
            traffic_over += over;
            // Two interfaces may have the same name, as those of a link aggregation.
            let label = match traffic.contains_key(&port.label) {
                false => port.label.clone(),
                true => format!("{} (interface {index})", port.label),
            };
            traffic.insert(label, steps);
        }
        let server = |quantity| log.parts(Role::Server, quantity);
        Self {
            power: server(Quantity::Power),
            client_power: log.parts(Role::Client, Quantity::Power),
            temperature: server(Quantity::Temperature),
            humidity: server(Quantity::Humidity),
            voltage: server(Quantity::Voltage),
            frequency: server(Quantity::Frequency),
            distortion: server(Quantity::VoltageDistortion),
            traffic,
            traffic_over,
        }
    }
}

/// The sum of all parts between two times; where one has no value there is none.
pub(super) fn sum_between(parts: &PartMap, from: f64, to: f64) -> Option<Stats> {
    let all: Vec<Steps> = parts.values().map(|part| part.between(from, to)).collect();
    Steps::sum(&all).stats(from, to)
}

fn mean_between(parts: &PartMap, from: f64, to: f64) -> Option<Stats> {
    let all: Vec<Steps> = parts.values().map(|part| part.between(from, to)).collect();
    Steps::mean_of(&all).stats(from, to)
}

fn traffic_between(parts: &BTreeMap<String, Steps>, from: f64, to: f64) -> Option<Stats> {
    let within = parts.values().map(|steps| steps.wholly_within(from, to));
    let all: Vec<Steps> = within.collect();
    Steps::sum(&all).stats(from, to)
}

/// Reduces a load point. `traffic_from` is the source of MiB/s.
pub(super) fn reduce_point(
    log: &LogData,
    parts: &Parts,
    point: &MergedPoint,
    traffic_from: TrafficFrom,
    without_tail: bool,
) -> PointEfficiency {
    let mut reduced = PointEfficiency {
        number: point.number,
        load: point.load,
        achieved_ops_per_s: point.achieved_ops_per_s,
        latency_ms_mean: point.latency_ms_mean,
        client_mib_per_s: point.client_mib_per_s,
        valid: point.valid,
        began: None,
        ended: None,
        traffic_mib_per_s: None,
        power_w: None,
        client_power_w: None,
        temperature_c: None,
        humidity_pcnt: None,
        mib_per_s_per_w: None,
        ops_per_s_per_w: None,
        joules_per_op: None,
        findings: Vec::new(),
    };
    let Some((began, ended)) = window(point, without_tail) else {
        reduced.findings.push(rules::not_measured());
        return reduced;
    };
    let (from, to) = (began.unix_seconds(), ended.unix_seconds());
    reduced.began = Some(began);
    reduced.ended = Some(ended);
    reduced.power_w = sum_between(&parts.power, from, to);
    reduced.client_power_w = sum_between(&parts.client_power, from, to);
    reduced.temperature_c = mean_between(&parts.temperature, from, to);
    reduced.humidity_pcnt = mean_between(&parts.humidity, from, to);
    reduced.traffic_mib_per_s = traffic_between(&parts.traffic, from, to);
    efficiency(&mut reduced, traffic_from);
    reduced.findings = findings(log, parts, &reduced, (from, to), traffic_from);
    reduced
}

fn window(
    point: &MergedPoint,
    without_tail: bool,
) -> Option<(filermark_results::Timestamp, filermark_results::Timestamp)> {
    let (began, ended) = point.measured()?;
    let tail = point.began(EnergyPhase::RunTail).filter(|_| without_tail);
    let ended = tail.unwrap_or(ended);
    (ended > began).then_some((began, ended))
}

/// The quotients; none without power or without the figure.
fn efficiency(point: &mut PointEfficiency, traffic_from: TrafficFrom) {
    let mib_per_s = match traffic_from {
        TrafficFrom::Sflow => point.traffic_mib_per_s.map(|stats| stats.mean),
        TrafficFrom::Clients => point.client_mib_per_s,
        TrafficFrom::Nowhere => None,
    };
    let watts = point.power_w.map(|stats| stats.mean).filter(|w| *w > 0.0);
    let ops = point.achieved_ops_per_s;
    let per_watt = |what: Option<f64>| what.zip(watts).map(|(what, watts)| what / watts);
    point.mib_per_s_per_w = per_watt(mib_per_s);
    point.ops_per_s_per_w = per_watt(ops);
    point.joules_per_op = watts
        .zip(ops.filter(|ops| *ops > 0.0))
        .map(|(watts, ops)| watts / ops);
}

fn findings(
    log: &LogData,
    parts: &Parts,
    point: &PointEfficiency,
    (from, to): (f64, f64),
    traffic_from: TrafficFrom,
) -> Vec<EnergyFinding> {
    let mut found = Vec::new();
    let silent = |parts: &PartMap| -> Vec<String> {
        let is_silent = |part: &&(&String, &MeterSeries)| part.1.between(from, to).is_empty();
        parts
            .iter()
            .filter(|p| is_silent(&p))
            .map(|p| p.0.clone())
            .collect()
    };
    found.extend(rules::power(
        point.power_w.as_ref(),
        &silent(&parts.power),
        parts.power.is_empty(),
    ));
    if traffic_from == TrafficFrom::Sflow {
        let is_silent = |steps: &Steps| steps.wholly_within(from, to).is_empty();
        let silent = parts.traffic.iter().filter(|(_, steps)| is_silent(steps));
        let silent: Vec<String> = silent.map(|(label, _)| label.clone()).collect();
        let traffic = point.traffic_mib_per_s.as_ref();
        found.extend(rules::traffic(traffic, &silent, to - from));
    }
    found.extend(rules::environment(
        point.temperature_c.as_ref(),
        point.humidity_pcnt.as_ref(),
    ));
    let supply = [
        (&parts.voltage, Quantity::Voltage),
        (&parts.frequency, Quantity::Frequency),
        (&parts.distortion, Quantity::VoltageDistortion),
    ];
    for (parts, quantity) in supply {
        for (label, part) in parts {
            let stats = part.between(from, to).stats(from, to);
            let nominal = log.head.lab.nominal_voltage_v;
            found.extend(stats.and_then(|s| rules::supply(label, quantity, &s, nominal)));
        }
    }
    found.extend(rules::events(&log.events, &log.sources, from, to));
    found.extend(rules::resolution(&parts.power, point, (from, to)));
    found.extend(rules::negative(&parts.power, from, to));
    if point.valid == Some(false) {
        found.push(rules::point_invalid());
    }
    found
}
