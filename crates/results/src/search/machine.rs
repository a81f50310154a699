//! The search for the highest load that holds, as a state machine: its input is which load was
//! tried and whether it held, its output which load comes next. It knows no clock, no server and
//! no random choice, so that a search that was cut continues from its record.
//!
//! Probes double the load until one does not hold, then halve the interval; the throughput of
//! an overloaded server shows where to look first. At the end the lowest load that did not
//! hold is tried again, and full load points confirm the highest one that did.

use filermark_model::plan::SearchPlan;
use std::collections::BTreeMap;

/// Most load points of a search.
pub const TRIES_MAX: usize = 60;
/// Full load points that must hold at the result.
const CONFIRMED_BY: u32 = 2;
/// Full load points, of up to three, that must fail for a load not to hold.
const REFUTED_BY: u32 = 2;
/// How often the lowest load that did not hold is tried, unless the tries differ.
const EDGE_TRIES: u32 = 2;
/// How often the throughput of an overloaded server is used as an estimate.
const ESTIMATES_MAX: u32 = 2;
/// Where the probes around an estimate are, as shares of it.
const BELOW_ESTIMATE: f64 = 0.995;
const ABOVE_ESTIMATE: f64 = 1.024;

/// A load that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// The load.
    pub load: u64,
    /// By a full load point, not a probe.
    pub full: bool,
    /// Whether it held.
    pub held: bool,
    /// The load that was achieved, in the unit of the search; 0: unknown.
    pub achieved: f64,
    /// It counts as not held because of its clients: it shows nothing about the server.
    pub of_clients: bool,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchStep {
    /// A short load point.
    Probe(u64),
    /// A load point of full length.
    Confirm(u64),
    /// The search has ended.
    End(SearchEnd),
}

/// The end of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchEnd {
    /// The highest load that holds, confirmed; `None`: none.
    pub load: Option<u64>,
    /// The lowest load above it that did not hold; `None`: the highest load that is tried holds.
    pub failed_at: Option<u64>,
    /// Whether it ended because of [`TRIES_MAX`].
    pub gave_up: bool,
}

/// Tries of one load.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    held: u32,
    failed: u32,
    full_held: u32,
    full_failed: u32,
}

/// A search in progress.
#[derive(Clone, Debug)]
pub struct Search {
    plan: SearchPlan,
    tries: usize,
    counts: BTreeMap<u64, Counts>,
    /// The highest load that holds; 0: none yet.
    low: u64,
    /// The lowest load that does not hold.
    high: Option<u64>,
    /// The load that full load points are to confirm.
    confirming: Option<u64>,
    /// How many loads were refuted by full load points.
    refuted: u32,
    /// The throughput of the overloaded server, and how often it was used.
    estimate: Option<f64>,
    estimates: u32,
    changes: Vec<String>,
}

impl Search {
    /// A search that begins.
    pub fn new(plan: &SearchPlan) -> Self {
        let step = plan.step.max(1);
        let max = (plan.max / step * step).max(step);
        let plan = SearchPlan {
            step,
            max,
            first: (plan.first / step * step).clamp(step, max),
            ..plan.clone()
        };
        Self {
            plan,
            tries: 0,
            counts: BTreeMap::new(),
            low: 0,
            high: None,
            confirming: None,
            refuted: 0,
            estimate: None,
            estimates: 0,
            changes: Vec::new(),
        }
    }

    /// A search after these tries.
    pub fn after(plan: &SearchPlan, tried: impl IntoIterator<Item = Tried>) -> Self {
        let mut search = Self::new(plan);
        for tried in tried {
            search.take(tried);
        }
        search
    }

    /// Counts load points that are in no try towards [`TRIES_MAX`].
    pub fn spend(&mut self, count: usize) {
        self.tries += count;
    }

    /// Where the tries contradict each other: the limit of the server has moved, or it varies.
    pub fn changes(&self) -> &[String] {
        &self.changes
    }

    /// What comes next.
    pub fn next_step(&self) -> SearchStep {
        let ended = |load, gave_up| {
            SearchStep::End(SearchEnd {
                load,
                failed_at: self.high,
                gave_up,
            })
        };
        if let Some(load) = self.confirming {
            return match self.of(load).full_held >= CONFIRMED_BY {
                true => ended(Some(load), false),
                false if self.tries >= TRIES_MAX => ended(None, true),
                false => SearchStep::Confirm(load),
            };
        }
        if self.tries >= TRIES_MAX {
            return ended(None, true);
        }
        match self.high {
            Some(high) if high <= self.plan.step => match self.edge_is_known(high) {
                true => ended(None, false),
                false => SearchStep::Probe(high),
            },
            Some(high) if self.low > 0 && high - self.low <= self.gap(self.low) => {
                match self.edge_is_known(high) {
                    true => SearchStep::Confirm(self.low),
                    false => SearchStep::Probe(high),
                }
            }
            Some(high) => SearchStep::Probe(self.between(high)),
            None if self.low == 0 => SearchStep::Probe(self.plan.first),
            None if self.low >= self.plan.max => SearchStep::Confirm(self.low),
            None => SearchStep::Probe(self.low.saturating_mul(2).min(self.plan.max)),
        }
    }

    /// Adds a load that was tried.
    pub fn take(&mut self, tried: Tried) {
        if let SearchStep::Probe(load) = self.next_step()
            && self.is_estimate(load)
        {
            self.estimates += 1;
        }
        self.tries += 1;
        let counts = self.counts.entry(tried.load).or_default();
        match (tried.full, tried.held) {
            (false, true) => counts.held += 1,
            (false, false) => counts.failed += 1,
            (true, true) => counts.full_held += 1,
            (true, false) => counts.full_failed += 1,
        }
        let counts = *counts;
        match (tried.full, tried.held) {
            (true, _) => self.take_full(tried, counts),
            (false, true) => self.take_held(tried.load, counts),
            (false, false) => self.take_failed(tried),
        }
    }

    fn take_held(&mut self, load: u64, counts: Counts) {
        let was_limit = self.high.is_some_and(|high| load >= high);
        if was_limit && counts.held <= counts.failed {
            return;
        }
        if was_limit {
            self.changes.push(format!(
                "a load of {} did not hold, and held later: the server has become faster, or its speed varies",
                self.plan.shown(load)
            ));
            let mut above = self.counts.range(load + 1..);
            self.high = above
                .find(|(_, counts)| counts.failed > counts.held)
                .map(|(load, _)| *load);
        }
        self.low = self.low.max(load);
    }

    fn take_failed(&mut self, tried: Tried) {
        self.high = Some(self.high.map_or(tried.load, |high| high.min(tried.load)));
        let shows_limit = tried.achieved > 0.0 && !tried.of_clients;
        self.estimate = shows_limit.then_some(tried.achieved);
    }

    fn take_full(&mut self, tried: Tried, counts: Counts) {
        let load = tried.load;
        self.confirming = Some(load);
        if tried.held || counts.full_failed < REFUTED_BY {
            return;
        }
        self.refuted += 1;
        let held_before = match counts.held {
            0 => "",
            _ => ", although probes of it held",
        };
        if !tried.of_clients {
            self.changes.push(format!(
                "a load of {} did not hold in {} of {} full load points{held_before}: the server has become slower, or its speed varies",
                self.plan.shown(load),
                counts.full_failed,
                counts.full_failed + counts.full_held
            ));
        }
        self.high = Some(load);
        let down = self.gap(load) << (self.refuted - 1).min(8);
        let below = load.saturating_sub(down.max(self.plan.step));
        let by_estimate = match tried.achieved > 0.0 && !tried.of_clients {
            true => (tried.achieved * BELOW_ESTIMATE) as u64,
            false => below,
        };
        let next = self.rounded(by_estimate.min(below));
        match next {
            0 if load > self.plan.step => self.confirming = Some(self.plan.step),
            0 => (self.confirming, self.low) = (None, 0),
            next => (self.confirming, self.low) = (Some(next), next),
        }
    }

    fn of(&self, load: u64) -> Counts {
        self.counts.get(&load).copied().unwrap_or_default()
    }

    /// Whether the lowest load that did not hold was tried often enough.
    fn edge_is_known(&self, high: u64) -> bool {
        let Counts {
            held,
            failed,
            full_failed,
            ..
        } = self.of(high);
        full_failed > 0 || (held + failed >= EDGE_TRIES && failed > held)
    }

    /// The interval in which the limit need not be known better.
    fn gap(&self, low: u64) -> u64 {
        let tolerance = low as f64 * self.plan.tolerance_pcnt / 100.0;
        self.plan.step.max(tolerance as u64)
    }

    fn rounded(&self, load: u64) -> u64 {
        load / self.plan.step * self.plan.step
    }

    /// A load between the highest one that holds and the lowest one that does not.
    fn between(&self, high: u64) -> u64 {
        if let Some(load) = self.estimated(high) {
            return load;
        }
        let middle = match self.low {
            0 => high / 2,
            low => (low as f64 * high as f64).sqrt() as u64,
        };
        let step = self.plan.step;
        let most = high - step;
        self.rounded(middle)
            .clamp((self.low + step).min(most), most)
    }

    /// The next load around the throughput of the overloaded server.
    fn estimated(&self, high: u64) -> Option<u64> {
        let estimate = self.estimate.filter(|_| self.estimates < ESTIMATES_MAX)?;
        let fits = |load: &u64| *load > self.low && *load < high;
        let below = self.rounded((estimate * BELOW_ESTIMATE) as u64);
        let above = (estimate * ABOVE_ESTIMATE) as u64;
        let above = self.rounded(above.saturating_add(self.plan.step - 1));
        [below, above].into_iter().find(fits)
    }

    fn is_estimate(&self, load: u64) -> bool {
        let closed = |high: u64| self.low > 0 && high - self.low <= self.gap(self.low);
        self.high
            .filter(|high| !closed(*high))
            .is_some_and(|high| self.estimated(high) == Some(load))
    }
}
