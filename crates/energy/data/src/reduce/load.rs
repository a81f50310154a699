//! Reads a merged log and keeps what the reduction needs: the readings of meters, the pieces
//! of chosen interfaces, the sums of the others.

use super::power::power_of;
use super::steps::{Piece, Steps};
use super::types::{LogData, MeterSeries, PortData, ReduceError, Resolution, SourceData};
use crate::log::{EnergyPhase, Head, Log, LogLine, Readings, Role, SourceKind, Tag, Traffic};
use crate::reading::Quantity;
use crate::sflow::{Names, PortPattern, Selection};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Most figures of meters, and most samples of chosen interfaces, that are held.
const HELD_MAX: usize = 12_000_000;
/// Most events that are held.
const EVENTS_MAX: usize = 10_000;

impl LogData {
    /// Reads a whole log.
    pub(super) fn read<R: BufRead>(log: &mut Log<R>) -> Result<Self, ReduceError> {
        let path = log.path().to_path_buf();
        let Some(LogLine::Energy(head)) = log.next_line()? else {
            return Err(crate::log::ReadError::NotALog(path).into());
        };
        let mut gathered = Self::new(*head);
        while let Some(line) = log.next_line()? {
            gathered.line(line);
            if gathered.held > HELD_MAX {
                return Err(ReduceError::TooMuch(path, HELD_MAX));
            }
        }
        gathered.cut = log.cut();
        if gathered.runs.is_empty() {
            return Err(ReduceError::NotMerged(path));
        }
        gathered.sort();
        Ok(gathered)
    }

    fn new(head: Head) -> Self {
        let mut ports: Vec<PortPattern> = Vec::new();
        let mut bad_ports = Vec::new();
        for text in &head.lab.ports {
            match text.parse() {
                Ok(pattern) => ports.push(pattern),
                Err(_) => bad_ports.push(text.clone()),
            }
        }
        Self {
            head,
            runs: Vec::new(),
            sources: BTreeMap::new(),
            ports: BTreeMap::new(),
            selection: Selection::new(ports, Names::default()),
            bad_ports,
            events: Vec::new(),
            events_omitted: 0,
            cut: None,
            held: 0,
            by_number: BTreeMap::new(),
        }
    }

    fn line(&mut self, line: LogLine) {
        match line {
            LogLine::Run(run) => self.runs.push(*run),
            LogLine::Source(source) => {
                let data = SourceData {
                    samples: 0,
                    moments: BTreeMap::new(),
                    source,
                };
                self.sources.insert(data.source.id, data);
            }
            LogLine::Port(port) => self.port(&port),
            LogLine::Readings(readings) => self.readings(readings),
            LogLine::Traffic(traffic) => self.traffic(&traffic),
            LogLine::Event(event) if self.events.len() < EVENTS_MAX => self.events.push(event),
            LogLine::Event(_) => self.events_omitted += 1,
            LogLine::Energy(_) | LogLine::End(_) => {}
        }
    }

    fn port(&mut self, port: &crate::log::Port) {
        let key = (port.agent, port.if_index);
        self.by_number.insert(port.port, key);
        if let Some(name) = &port.name {
            let names = &mut self.selection.names;
            names.set(Some(port.agent), port.if_index, name.clone());
        }
        let chosen = self.selection.has(port.agent, port.if_index);
        let data = self.ports.entry(key).or_insert_with(|| PortData {
            label: port.label(),
            chosen,
            pieces: Vec::new(),
            unknown: 0,
            bad_packets: 0,
            run_bytes: BTreeMap::new(),
        });
        data.chosen |= chosen;
    }

    fn readings(&mut self, readings: Readings) {
        let Some(data) = self.sources.get_mut(&readings.source) else {
            return;
        };
        data.samples += 1;
        self.held += readings.values.len();
        let at = readings.at.unix_seconds();
        for (quantity, value) in readings.values {
            data.moments.entry(quantity).or_default().push((at, value));
        }
    }

    fn traffic(&mut self, traffic: &Traffic) {
        if let Some(data) = self.sources.get_mut(&traffic.source) {
            data.samples += traffic.samples.len() as u64;
        }
        let base = traffic.at.unix_seconds();
        let run = traffic.tag.filter(in_run).map(|tag| tag.run);
        for sample in &traffic.samples {
            let key = self.by_number.get(&sample.port);
            let Some(data) = key.and_then(|key| self.ports.get_mut(key)) else {
                continue;
            };
            let Some(bytes) = sample.bytes() else {
                data.unknown += 1;
                continue;
            };
            if let Some(run) = run {
                let sum = data.run_bytes.entry(run).or_default();
                *sum = sum.saturating_add(bytes);
                let bad = sample.bad_packets.unwrap_or(0);
                data.bad_packets = data.bad_packets.saturating_add(bad);
            }
            if data.chosen {
                let seconds = sample.interval_us as f64 / 1e6;
                let to = base + sample.after_us as f64 / 1e6;
                data.pieces.push(Piece {
                    from: to - seconds,
                    to,
                    value: bytes as f64 / crate::MIB / seconds,
                });
                self.held += 1;
            }
        }
    }

    /// Sorts samples of several logs of one source by time; of one time the first counts.
    fn sort(&mut self) {
        for data in self.sources.values_mut() {
            for moments in data.moments.values_mut() {
                moments.sort_by(|a, b| a.0.total_cmp(&b.0));
                moments.dedup_by(|later, first| later.0 <= first.0);
            }
        }
        for data in self.ports.values_mut() {
            data.pieces.sort_by(|a, b| a.to.total_cmp(&b.to));
        }
    }

    /// The figures of every source of a role that has them, by label; a meter in two logs is one.
    pub(super) fn parts(&self, role: Role, quantity: Quantity) -> BTreeMap<String, MeterSeries> {
        let mut parts: BTreeMap<(String, String), MergedMeter> = BTreeMap::new();
        let of_role = |data: &&SourceData| data.source.role == role;
        for data in self.sources.values().filter(of_role) {
            let declared = data.source.kind == SourceKind::Meter && quantity == Quantity::Power;
            let (moments, fineness) = match data.moments.get(&quantity) {
                Some(_) if quantity == Quantity::Power => power_of(data),
                Some(moments) => (moments.clone(), Resolution::default()),
                // A meter of the server without any reading is missing, not absent.
                None if declared => (Vec::new(), Resolution::default()),
                None => continue,
            };
            let key = (data.source.name.clone(), data.source.location.clone());
            let joined = parts.entry(key).or_default();
            joined.take(&moments);
            joined.fineness.push(fineness);
            joined.asked_s = joined.asked_s.or(data.source.interval_s);
        }
        let one = |((name, location), joined): ((String, String), MergedMeter)| {
            let moments = joined.moments;
            let all = Steps::of_moments(&moments, None);
            let asked = joined.asked_s.filter(|s| s.is_finite() && *s > 0.0);
            let interval_s = asked.or(Some(all.interval_s()).filter(|s| *s > 0.0));
            let label = match name == location {
                true => name,
                false => format!("{name} ({location})"),
            };
            let part = MeterSeries {
                moments,
                interval_s,
                all,
                contradicts: joined.contradicts,
                fineness: joined.fineness,
            };
            (label, part)
        };
        parts.into_iter().map(one).collect()
    }
}

/// The figures of one meter in all logs.
#[derive(Default)]
struct MergedMeter {
    moments: Vec<(f64, f64)>,
    asked_s: Option<f64>,
    contradicts: bool,
    fineness: Vec<Resolution>,
}

impl MergedMeter {
    /// Adds another log. Where both cover a time the first counts; they contradict each other
    /// unless all their readings are equal.
    fn take(&mut self, moments: &[(f64, f64)]) {
        let ends = |m: &[(f64, f64)]| Some((m.first()?.0, m.last()?.0));
        let Some((known, new)) = ends(&self.moments).zip(ends(moments)) else {
            self.moments.extend_from_slice(moments);
            return;
        };
        let overlap = known.0 <= new.1 && new.0 <= known.1;
        if overlap {
            self.contradicts |= self.moments != moments;
            let outside = moments.iter().filter(|m| m.0 < known.0 || m.0 > known.1);
            let outside: Vec<(f64, f64)> = outside.copied().collect();
            self.moments.extend(outside);
        } else {
            self.moments.extend_from_slice(moments);
        }
        self.moments.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.moments.dedup_by(|later, first| later.0 <= first.0);
    }
}

fn in_run(tag: &Tag) -> bool {
    matches!(tag.phase, EnergyPhase::Run | EnergyPhase::RunTail)
}
