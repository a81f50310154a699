//! Load points side by side: which belong together, which count, and how each figure
//! differs.

use super::difference::{
    Difference, ExtraUncertainty, Judgement, Kind, SideEstimate, difference, mean,
};
use super::interval_variance::{Figure, Figures};
use super::point_validity::{PointNote, PointValidity, standing};
use super::scatter::standard_error;
use crate::figures::{Planned, units};
use crate::record::{PointRecord, RunRecord};
use filermark_model::OpStats;
use filermark_model::plan::{LoadPoint, RunPlan};
use filermark_model::text::one_line;
use filermark_model::units::counted;
use serde::Serialize;

/// Share of the requested rate from which on pacing holds the achieved rate.
const HELD_SHARE: f64 = 0.99;
/// Latencies are compared where the achieved rates differ by no more, in percent.
const SAME_RATE_PCNT: f64 = 5.0;
/// The time that a reply and its request may wait for the client's processor, as a multiple
/// of its own delay.
const CLIENT_WAITS: f64 = 2.0;
/// Standard errors within which a difference of lateness is chance, with repeats.
const CHANCE_ERRORS: f64 = 2.0;

/// One load point on two sides.
#[derive(Clone, Debug, Serialize)]
pub struct PointDifference {
    /// Its number in the base.
    pub number: u32,
    /// The load in its own unit: `1000 op/s`, `2 BUILDs`.
    pub load: String,
    /// The requested rate that counts, op/s; `None`: no limit.
    pub requested_ops_per_sec: Option<f64>,
    /// Its validity in the base; with repeats: the worst of them.
    pub before: PointValidity,
    /// Its validity on the other side.
    pub after: PointValidity,
    /// What was compared; empty where the point has no figures on one side.
    pub figures: Vec<Difference>,
    /// The mean service time of each operation.
    pub ops: Vec<OpDifference>,
    /// Whether both sides reached the requested rate, so that the rate shows no difference.
    pub held_by_pacing: bool,
    /// RUN of a record has too few seconds to show how they scatter: it is not compared.
    pub is_too_short: bool,
    /// The verdict where it counts on one side only.
    pub standing_verdict: Judgement,
}

/// One operation on two sides.
#[derive(Clone, Debug, Serialize)]
pub struct OpDifference {
    /// Its name in the protocol of the benchmark.
    pub name: String,
    /// Successful operations on both sides together.
    pub count: u64,
    /// Its mean service time.
    #[serde(flatten)]
    pub service: Difference,
}

/// A load point with the figures of its records.
pub struct Pair<'a> {
    pub number: u32,
    pub load: String,
    pub requested: Option<f64>,
    pub before: Vec<Cell<'a>>,
    pub after: Vec<Cell<'a>>,
    pub standing: (PointValidity, PointValidity),
    pub marks: (PointNote, PointNote),
    /// Whether a run on either side is INVALID as a whole.
    pub in_invalid_run: bool,
}

/// A load point in one record.
pub struct Cell<'a> {
    /// Without it there are no operations.
    pub point: Option<&'a PointRecord>,
    pub figures: Figures,
}

/// The points that all records of both sides have.
pub fn pairs<'a>(before: &[&'a RunRecord], after: &[&'a RunRecord]) -> Vec<Pair<'a>> {
    let Some(base) = before.first() else {
        return Vec::new();
    };
    let plan = &base.run.plan;
    let everywhere = |load: &&LoadPoint| {
        let has = |r: &&RunRecord| r.run.plan.points.iter().any(|l| same_load(l, load));
        before.iter().all(has) && after.iter().all(has)
    };
    let mut runs = before.iter().chain(after);
    let in_invalid_run = runs.any(|r| !r.verdict().is_valid());
    let of = |load: &LoadPoint| {
        let marks = (mark(before, load), mark(after, load));
        let (before, b) = cells(before, load);
        let (after, a) = cells(after, load);
        Pair {
            number: load.number,
            load: load_text(plan, *load),
            requested: Planned::of(plan, *load).requested,
            before,
            after,
            standing: (b, a),
            marks,
            in_invalid_run,
        }
    };
    plan.points.iter().filter(everywhere).map(of).collect()
}

/// Load points are equal by what was requested, not by their number.
fn same_load(a: &LoadPoint, b: &LoadPoint) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    near(a.requested.0, b.requested.0) && near(a.units, b.units) && a.proc_count == b.proc_count
}

fn load_text(plan: &RunPlan, load: LoadPoint) -> String {
    match Planned::of(plan, load).requested {
        _ if load.units > 0.0 => units(load.units, &one_line(&plan.benchmark.unit)),
        Some(requested) => format!("{} op/s", crate::figures::plain(requested)),
        None => counted(u64::from(plan.proc_count_at(load)), "proc"),
    }
}

fn mark(records: &[&RunRecord], load: &LoadPoint) -> PointNote {
    let of = |r: &&RunRecord| {
        let point = r.points.iter().find(|p| same_load(&p.load, load));
        PointNote::of(&r.run.plan, point)
    };
    records.iter().map(of).collect()
}

fn cells<'a>(records: &[&'a RunRecord], load: &LoadPoint) -> (Vec<Cell<'a>>, PointValidity) {
    let mut cells = Vec::new();
    let mut worst = PointValidity::Valid;
    let rank = |s: &PointValidity| match s {
        PointValidity::Valid => 0,
        PointValidity::TooSlow { .. } => 1,
        PointValidity::Invalid { .. } => 2,
        PointValidity::Missing { .. } => 3,
    };
    for record in records {
        let point = record.points.iter().find(|p| same_load(&p.load, load));
        let standing = standing(&record.run.plan, point);
        if let Some(point) = point.filter(|_| standing.has_figures())
            && let Some(stats) = point.measured()
        {
            let figures = Figures::of(stats);
            cells.push(Cell {
                point: Some(point),
                figures,
            });
        }
        if rank(&standing) > rank(&worst) {
            worst = standing;
        }
    }
    (cells, worst)
}

impl Pair<'_> {
    /// Whether there are figures of every record.
    pub fn is_measured(&self) -> bool {
        self.standing.0.has_figures() && self.standing.1.has_figures()
    }

    /// Whether it does not count because of the clients, on either side.
    pub fn is_of_clients(&self) -> bool {
        self.marks.0.is_of_clients() || self.marks.1.is_of_clients()
    }

    /// Whether RUN of a record has too few seconds to show how they scatter.
    pub fn is_too_short(&self) -> bool {
        let mut cells = self.before.iter().chain(&self.after);
        cells.any(|c| c.figures.is_too_short)
    }

    /// Whether its figures may affect the verdict. Where it counts on neither side, the runs
    /// must be VALID: then it is above the load that the server can carry.
    pub fn is_sound(&self) -> bool {
        let counts = |s: &PointValidity| *s == PointValidity::Valid;
        let one = counts(&self.standing.0) || counts(&self.standing.1);
        self.is_measured() && !self.is_too_short() && (one || !self.in_invalid_run)
    }

    /// Whether it counts in all records, and its figures may affect the verdict.
    pub fn is_valid(&self) -> bool {
        self.standing == (PointValidity::Valid, PointValidity::Valid) && self.is_sound()
    }

    /// The achieved rates of all records; `None` if one of them has none.
    fn rates(&self) -> Option<Vec<f64>> {
        let all = self.before.iter().chain(&self.after);
        let both = !self.before.is_empty() && !self.after.is_empty();
        let rates = all.map(|c| c.figures.achieved.map(|f| f.value));
        rates.collect::<Option<Vec<f64>>>().filter(|_| both)
    }

    /// Whether all records reached the requested rate.
    pub fn is_held(&self) -> bool {
        let reached = |asked: f64| {
            let rates = self.rates();
            rates.is_some_and(|all| all.iter().all(|rate| *rate >= HELD_SHARE * asked))
        };
        self.is_measured() && self.requested.is_some_and(reached)
    }

    /// Whether latencies were measured at the same rate, or no rate was requested.
    pub fn is_at_one_rate(&self) -> bool {
        let near = |rates: Vec<f64>| {
            let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let high = rates.iter().copied().fold(0.0, f64::max);
            high <= low * (1.0 + SAME_RATE_PCNT / 100.0)
        };
        self.requested.is_none() || self.rates().is_some_and(near)
    }

    /// A figure on both sides: (before, after), one of each record.
    pub fn sides(&self, kind: Kind) -> (SideEstimate, SideEstimate) {
        let of = |cells: &[Cell<'_>]| SideEstimate::of(cells.iter().filter_map(|c| c.figure(kind)));
        (of(&self.before), of(&self.after))
    }

    /// The uncertainty of a figure at this point.
    pub fn uncertainty(&self, kind: Kind, spread: f64) -> ExtraUncertainty {
        let held = kind.is_rate() && self.is_held();
        let free = if held { 0.0 } else { 1.0 };
        ExtraUncertainty {
            spread: free * spread * kind.spread_factor(),
            scatter: None,
            allowance: free * self.allowance(kind),
        }
    }

    /// The part of a figure's logarithm that the clients' own delays can explain: they wait
    /// for their processor when a reply arrives as they do when a timer expires.
    fn allowance(&self, kind: Kind) -> f64 {
        let waits = match kind {
            Kind::ResponseMean => CLIENT_WAITS + 1.0,
            _ => CLIENT_WAITS,
        };
        let late = |f: &Figures| match kind {
            Kind::ServiceP99 => f.wakeup_p99_ns,
            _ => f.wakeup_mean_ns,
        };
        let latency = match kind {
            Kind::ServiceP99 | Kind::ResponseMean => kind,
            _ => Kind::ServiceMean,
        };
        let of = |c: &Cell<'_>| c.figure(latency).map(|f| f.value);
        self.explained(waits, late, of)
    }

    /// The clients' own mean delay in ns, before and after, and the part of the logarithm of
    /// the mean service time that it can explain.
    pub fn client_delay(&self) -> (f64, f64, f64) {
        let late = |cells: &[Cell<'_>]| {
            let all: Vec<f64> = cells.iter().map(|c| c.figures.wakeup_mean_ns).collect();
            mean(&all)
        };
        let explained = self.allowance(Kind::ServiceMean);
        (late(&self.before), late(&self.after), explained)
    }

    fn explained(
        &self,
        waits: f64,
        late: impl Fn(&Figures) -> f64,
        latency: impl Fn(&Cell<'_>) -> Option<f64>,
    ) -> f64 {
        let lateness =
            |cells: &[Cell<'_>]| -> Vec<f64> { cells.iter().map(|c| late(&c.figures)).collect() };
        let (before, after) = (lateness(&self.before), lateness(&self.after));
        // The spread between runs contains the scatter of repeats already.
        let chance = match before.len().min(after.len()) {
            0 | 1 => 0.0,
            _ => CHANCE_ERRORS * standard_error(&before, &after),
        };
        let more = waits * ((mean(&after) - mean(&before)).abs() - chance).max(0.0);
        let all = self.before.iter().chain(&self.after);
        let least = all.filter_map(latency).fold(f64::INFINITY, f64::min);
        // Without a latency there is no comparison.
        if least.is_finite() {
            (more / least.max(1.0)).ln_1p()
        } else {
            0.0
        }
    }

    /// The differences at this point alone, not judged yet. `scatter`: see [`super::scatter::scatter`].
    pub fn differences(&self, spread: f64, scatter: impl Fn(Kind) -> f64) -> Vec<Difference> {
        if !self.is_sound() {
            return Vec::new();
        }
        let latencies = [Kind::ServiceMean, Kind::ServiceP99, Kind::ResponseMean];
        let kinds = std::iter::once(Kind::AchievedRate)
            .chain(latencies.into_iter().filter(|_| self.is_at_one_rate()));
        let of = |kind| {
            let (before, after) = self.sides(kind);
            let mut uncertainty = self.uncertainty(kind, kind.point_spread_factor() * spread);
            if uncertainty.spread > 0.0 {
                uncertainty.spread = uncertainty.spread.max(scatter(kind));
            }
            difference(kind, &before, &after, uncertainty)
        };
        kinds.filter_map(of).collect()
    }

    /// An operation on both sides, with how often it was done.
    pub fn op_sides(&self, op: filermark_model::Op) -> (SideEstimate, SideEstimate, u64) {
        let of =
            |cells: &[Cell<'_>]| SideEstimate::of(cells.iter().filter_map(|c| c.op_figure(op)));
        let all = self.before.iter().chain(&self.after);
        let counts = all.filter_map(|c| c.op(op)).map(|o| o.success_count);
        let count = counts.fold(0, u64::saturating_add);
        (of(&self.before), of(&self.after), count)
    }

    /// The uncertainty of an operation's mean service time.
    pub fn op_uncertainty(&self, op: filermark_model::Op, spread: f64) -> ExtraUncertainty {
        let of = |c: &Cell<'_>| c.op_figure(op).map(|f| f.value);
        ExtraUncertainty {
            spread,
            scatter: None,
            allowance: self.explained(CLIENT_WAITS, |f| f.wakeup_mean_ns, of),
        }
    }

    /// The operations that were done on both sides.
    pub fn ops(&self) -> Vec<filermark_model::Op> {
        let done = |cells: &[Cell<'_>], op| {
            !cells.is_empty() && cells.iter().all(|c| c.op_figure(op).is_some())
        };
        let all = filermark_model::Op::ALL.iter().copied();
        all.filter(|op| done(&self.before, *op) && done(&self.after, *op))
            .collect()
    }
}

impl Cell<'_> {
    pub fn figure(&self, kind: Kind) -> Option<Figure> {
        match kind {
            Kind::AchievedRate | Kind::HighestRate => self.figures.achieved,
            Kind::ServiceMean | Kind::Ort => self.figures.service_mean,
            Kind::ServiceP99 => self.figures.service_p99,
            Kind::ResponseMean => self.figures.response_mean,
        }
    }

    fn op(&self, op: filermark_model::Op) -> Option<&OpStats> {
        self.point?.measured()?.op(op)
    }

    fn op_figure(&self, op: filermark_model::Op) -> Option<Figure> {
        self.op(op).and_then(|o| self.figures.of_op(o))
    }

    /// Achieved rate in op/s and mean service time in ms: a point of the curve.
    pub fn curve_point(&self) -> Option<(f64, f64)> {
        Some((
            self.figures.achieved?.value,
            self.figures.service_mean?.value / 1e6,
        ))
    }
}
