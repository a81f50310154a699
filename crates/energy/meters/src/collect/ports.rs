//! Numbers of interfaces in the log, and the last rate of each.

use super::{PortNow, TOP_PORTS};
use filermark_energy_data::MIB;
use filermark_energy_data::log::Port;
use filermark_energy_data::sflow::{Selection, TrafficSample};
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

/// Most interfaces of a log, since senders can forge them.
pub(super) const PORTS_MAX: usize = 65_536;
/// A rate is valid until this number of its own intervals has passed without a new one.
const STALE_INTERVALS: f64 = 3.0;

/// An interface: agent, part of the agent, ifIndex.
type Key = (IpAddr, u32, u32);

/// All interfaces with a rate.
#[derive(Debug)]
pub(super) struct PortTable {
    source: u32,
    selection: Selection,
    numbers: HashMap<Key, u32>,
    last: Vec<Last>,
}

/// The last rate of an interface.
#[derive(Debug)]
struct Last {
    key: Key,
    label: String,
    chosen: bool,
    sample: TrafficSample,
    received: Duration,
}

impl Last {
    fn is_fresh(&self, now: Duration) -> bool {
        now.saturating_sub(self.received).as_secs_f64() <= STALE_INTERVALS * self.sample.seconds
    }
}

impl PortTable {
    /// Of this source of the log.
    pub fn new(source: u32, selection: Selection) -> Self {
        Self {
            source,
            selection,
            numbers: HashMap::new(),
            last: Vec::new(),
        }
    }

    /// Stores a rate. Returns the interface's number, and its line if it is new; `None`: there
    /// are too many.
    pub fn take(
        &mut self,
        sample: &TrafficSample,
        received: Duration,
    ) -> Option<(u32, Option<Port>)> {
        let key = (sample.agent, sample.sub_agent, sample.if_index);
        if let Some(number) = self.numbers.get(&key) {
            let last = self.last.get_mut(*number as usize)?;
            last.sample = *sample;
            last.received = received;
            return Some((*number, None));
        }
        if self.last.len() >= PORTS_MAX {
            return None;
        }
        let port = Port {
            port: self.last.len() as u32,
            source: self.source,
            agent: sample.agent,
            sub_agent: sample.sub_agent,
            if_index: sample.if_index,
            name: self
                .selection
                .names
                .get(sample.agent, sample.if_index)
                .map(str::to_owned),
            speed_bits_per_s: sample.speed_bits_per_s,
        };
        self.numbers.insert(key, port.port);
        self.last.push(Last {
            key,
            label: port.label(),
            chosen: self.selection.has(sample.agent, sample.if_index),
            sample: *sample,
            received,
        });
        Some((port.port, Some(port)))
    }

    /// MiB/s through the chosen interfaces whose last rate is not too old; `None` without one.
    pub fn chosen_mib_per_s(&self, now: Duration) -> Option<f64> {
        let fresh = self.last.iter().filter(|p| p.chosen && p.is_fresh(now));
        let rates = fresh.filter_map(|port| port.sample.mib_per_s());
        rates.reduce(|a, b| a + b)
    }

    /// The chosen interfaces first, then the busiest.
    pub fn busiest(&self, now: Duration) -> Vec<PortNow> {
        let mut fresh: Vec<&Last> = self.last.iter().filter(|p| p.is_fresh(now)).collect();
        let rate = |last: &Last| last.sample.mib_per_s().unwrap_or(0.0);
        fresh.sort_by(|a, b| {
            let order = b.chosen.cmp(&a.chosen);
            let order = order.then_with(|| rate(b).total_cmp(&rate(a)));
            order.then_with(|| a.key.cmp(&b.key))
        });
        fresh.truncate(TOP_PORTS);
        fresh.iter().map(|last| last.shown()).collect()
    }

    /// Chosen interfaces without any rate, as in the setup.
    pub fn without_traffic(&self) -> Vec<String> {
        let seen: Vec<(IpAddr, u32)> = self.last.iter().map(|p| (p.key.0, p.key.2)).collect();
        let unmatched = self.selection.unmatched(&seen);
        unmatched.map(ToString::to_string).collect()
    }
}

impl Last {
    fn shown(&self) -> PortNow {
        let (input, output) = (&self.sample.input, &self.sample.output);
        let used = input.utilisation.into_iter().chain(output.utilisation);
        PortNow {
            label: self.label.clone(),
            chosen: self.chosen,
            in_mib_per_s: input.bytes_per_s.unwrap_or(0.0) / MIB,
            out_mib_per_s: output.bytes_per_s.unwrap_or(0.0) / MIB,
            utilisation: used.reduce(f64::max),
        }
    }
}
