//! The present state of all threads, for the live view.

use super::ports::PortTable;
use super::{Snapshot, SourceNow};
use filermark_energy_data::Quantity;
use filermark_energy_data::log::{Role, Source, SourceKind};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A source is silent after this number of its intervals without an answer.
const SILENT_INTERVALS: u32 = 3;
/// The shortest time until a source is silent: a meter may be a little late.
const SILENT_MIN: Duration = Duration::from_secs(1);
/// Most messages that wait to be read; the oldest are dropped.
const MESSAGES_MAX: usize = 64;
/// A failed source is silent after this time, even with a longer interval.
const FAILED_MAX: Duration = Duration::from_secs(15);

/// The state behind [`Snapshot`].
#[derive(Debug, Default)]
pub(super) struct LiveState(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    sources: Vec<Measuring>,
    ports: Option<PortTable>,
    datagrams: (u64, u64),
    last_problem: Option<String>,
    messages: VecDeque<String>,
    failure: Option<String>,
}

/// A meter or sensor.
#[derive(Debug)]
struct Measuring {
    source: Source,
    interval: Duration,
    /// Time and figures of its last answer.
    last: Option<(Duration, BTreeMap<Quantity, f64>)>,
    /// Its counter of joules at the last answer.
    joules: Option<(Duration, f64)>,
    power_w: Option<f64>,
    failing_since: Option<Duration>,
    /// How long it did not answer, without a current outage.
    lost: Duration,
}

/// The outages of a source at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceOutage {
    /// Its name.
    pub name: String,
    /// It is silent now.
    pub silent: bool,
    /// How long it did not answer, from each first failure to the next answer.
    pub lost: Duration,
}

impl Measuring {
    fn lost(&self, now: Duration) -> Duration {
        let ongoing = self.failing_since.map(|since| now.saturating_sub(since));
        self.lost + ongoing.unwrap_or_default()
    }

    fn is_silent(&self, now: Duration) -> bool {
        let limit = (self.interval * SILENT_INTERVALS).max(SILENT_MIN);
        let old = |(at, _): &(Duration, _)| now.saturating_sub(*at) > limit;
        let failed = |since: Duration| now.saturating_sub(since) > FAILED_MAX;
        self.last.as_ref().is_none_or(old) || self.failing_since.is_some_and(failed)
    }

    fn shown(&self, now: Duration) -> SourceNow {
        let last = self.last.as_ref().filter(|_| !self.is_silent(now));
        let first = last.and_then(|(_, values)| values.first_key_value());
        SourceNow {
            name: self.source.name.clone(),
            value: first.map(|(quantity, value)| shown(*quantity, *value)),
            simulated: self.source.simulated,
        }
    }
}

impl LiveState {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a meter or sensor; returns its index.
    pub fn add_source(&self, source: Source, interval: Duration) -> usize {
        let mut state = self.lock();
        state.sources.push(Measuring {
            source,
            interval,
            last: None,
            joules: None,
            power_w: None,
            failing_since: None,
            lost: Duration::ZERO,
        });
        state.sources.len() - 1
    }

    /// Records an answer.
    pub fn answered(&self, place: usize, at: Duration, values: &BTreeMap<Quantity, f64>) {
        let mut state = self.lock();
        let Some(measuring) = state.sources.get_mut(place) else {
            return;
        };
        let counted = values.get(&Quantity::Energy).map(|joules| (at, *joules));
        let passed = counted.zip(measuring.joules).and_then(|(new, old)| {
            let seconds = new.0.saturating_sub(old.0).as_secs_f64();
            (seconds > 0.0 && new.1 >= old.1).then(|| (new.1 - old.1) / seconds)
        });
        measuring.power_w = values.get(&Quantity::Power).copied().or(passed);
        measuring.joules = counted;
        measuring.last = Some((at, values.clone()));
        measuring.lost = measuring.lost(at);
        measuring.failing_since = None;
    }

    /// Records a failure.
    pub fn failed(&self, place: usize, at: Duration) {
        let mut state = self.lock();
        if let Some(measuring) = state.sources.get_mut(place) {
            measuring.failing_since.get_or_insert(at);
        }
    }

    /// Sets the interfaces of a collector of sFlow.
    pub fn set_ports(&self, table: PortTable) {
        self.lock().ports = Some(table);
    }

    /// Calls `work` with the interfaces; `None` without a collector.
    pub fn with_ports<T>(&self, work: impl FnOnce(&mut PortTable) -> T) -> Option<T> {
        self.lock().ports.as_mut().map(work)
    }

    /// Sets the numbers of datagrams received and lost.
    pub fn set_datagrams(&self, came: u64, lost: u64) {
        self.lock().datagrams = (came, lost);
    }

    /// Sets the last problem.
    pub fn set_last_problem(&self, sentence: String) {
        self.lock().last_problem = Some(sentence);
    }

    /// Adds a message for the terminal.
    pub fn push_message(&self, sentence: String) {
        let mut state = self.lock();
        if state.messages.len() >= MESSAGES_MAX {
            state.messages.pop_front();
        }
        state.messages.push_back(sentence);
    }

    /// The messages since the last call, the oldest first.
    pub fn take_messages(&self) -> Vec<String> {
        self.lock().messages.drain(..).collect()
    }

    /// Records that the log cannot be written.
    pub fn set_failure(&self, sentence: String) {
        let mut state = self.lock();
        state.last_problem = Some(sentence.clone());
        state.failure.get_or_insert(sentence);
    }

    /// Why the log cannot be written.
    pub fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    /// Meters and sensors that are silent, or did not answer for some time.
    pub fn absences(&self, now: Duration) -> Vec<SourceOutage> {
        let state = self.lock();
        let all = state.in_order().into_iter().map(|s| SourceOutage {
            name: s.source.name.clone(),
            silent: s.is_silent(now),
            lost: s.lost(now),
        });
        all.filter(|a| a.silent || !a.lost.is_zero()).collect()
    }

    /// The state for the live view.
    pub fn snapshot(&self, now: Duration) -> Snapshot {
        let state = self.lock();
        let ports = state.ports.as_ref();
        Snapshot {
            power_w: state.power_w(Role::Server, now),
            client_power_w: state.power_w(Role::Client, now),
            traffic_mib_per_s: ports.and_then(|ports| ports.chosen_mib_per_s(now)),
            sources: state.in_order().iter().map(|s| s.shown(now)).collect(),
            ports: ports.map(|ports| ports.busiest(now)).unwrap_or_default(),
            datagrams: state.datagrams,
            listens: None,
            last_problem: state.last_problem.clone(),
        }
    }
}

impl State {
    /// The sources in the order of the setup.
    fn in_order(&self) -> Vec<&Measuring> {
        let mut sources: Vec<&Measuring> = self.sources.iter().collect();
        sources.sort_by_key(|measuring| measuring.source.id);
        sources
    }

    /// All meters of a role added up; `None` while one is silent, and where there is none.
    fn power_w(&self, role: Role, now: Duration) -> Option<f64> {
        let of_role = |s: &&Measuring| s.source.kind == SourceKind::Meter && s.source.role == role;
        let mut sum = None;
        for meter in self.sources.iter().filter(of_role) {
            let power = meter.power_w.filter(|_| !meter.is_silent(now))?;
            *sum.get_or_insert(0.0) += power;
        }
        sum
    }
}

/// A figure with its unit, as text.
fn shown(quantity: Quantity, value: f64) -> String {
    let (decimals, unit) = match quantity {
        Quantity::Power => (1, " W"),
        Quantity::ApparentPower => (1, " VA"),
        Quantity::Energy => (0, " J"),
        Quantity::Voltage => (1, " V"),
        Quantity::Current => (2, " A"),
        Quantity::PowerFactor => (3, ""),
        Quantity::Frequency => (2, " Hz"),
        Quantity::VoltageDistortion => (1, " % THD"),
        Quantity::Temperature => (1, " °C"),
        Quantity::Humidity => (1, " %"),
    };
    format!("{value:.decimals$}{unit}")
}
