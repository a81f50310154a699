//! Repeats of a run that are far from the others: a disturbed one is set aside.
//!
//! One repeat at half the rate makes the spread between runs so large that no change of the
//! server can be shown. So repeats are compared with the median of their side, in units of a
//! robust scale: Hampel's identifier (Davies and Gather, "The identification of multiple
//! outliers", JASA 88, 1993, section 3). The scale is the median of the absolute distances of both
//! sides, and never less than the assumed spread.

use super::Group;
use super::difference::{Kind, mean};
use super::points::{Cell, Pair};
use super::scatter::{MAD_TO_DEVIATION, median};
use filermark_model::text::one_line;
use serde::Serialize;

/// Fewest repeats of a side that show which of them is disturbed, and how many of them there are
/// for one that may be set aside.
const REPEATS_PER_ASIDE: usize = 3;
/// Distance from the median from which on a repeat is disturbed, in standard deviations.
const FAR_DEVIATIONS: f64 = 4.0;
/// The figures that are looked at: those of the tail vary too much.
const KINDS: [Kind; 2] = [Kind::AchievedRate, Kind::ServiceMean];

/// A repeat that is not used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetAside {
    /// The name of its side.
    pub side: String,
    /// The suffix of its record.
    pub suffix: String,
    /// The figure that is far from that of the other repeats.
    pub figure: Kind,
    /// The load point; `None`: over the sweep.
    pub point: Option<u32>,
    /// The distance from the median of the side, in percent of it.
    pub change_pcnt: f64,
}

impl SetAside {
    /// Without advice.
    pub fn short(&self) -> String {
        format!(
            "{} of {}: {} {} % from the median of its side",
            self.suffix,
            self.side,
            self.figure.words(),
            super::signed(self.change_pcnt)
        )
    }

    /// As a remark.
    pub fn text(&self) -> String {
        let place = match self.point {
            Some(number) => format!("at load point {number}"),
            None => "over the sweep".into(),
        };
        format!(
            "the repeat of suffix {} of {} is not used: its {} {place} is {} % from the median of the repeats; it was disturbed, or the server is not steady; --keep-all uses it",
            self.suffix,
            self.side,
            self.figure.words(),
            super::signed(self.change_pcnt)
        )
    }
}

/// A repeat that is far from the others of its side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disturbed {
    pub is_after: bool,
    /// Its place on its side.
    pub record: usize,
    pub kind: Kind,
    pub point: Option<u32>,
    /// The distance from the median, as a logarithm.
    pub log: f64,
    /// The same in units of the limit.
    score: f64,
}

/// The records of both sides that are compared, and their load points.
pub struct Used<'p, R> {
    pub before: Vec<R>,
    pub after: Vec<R>,
    pub pairs: Vec<Pair<'p>>,
    pub set_aside: Vec<Disturbed>,
}

/// Sets disturbed repeats aside. `spread` is the assumed one; `pairs_of` makes load points of records.
pub fn used<'p, R: Copy>(
    before: &[R],
    after: &[R],
    spread: f64,
    keep_all: bool,
    pairs_of: impl Fn(&[R], &[R]) -> Vec<Pair<'p>>,
) -> Used<'p, R> {
    let pairs = pairs_of(before, after);
    let set_aside = match keep_all {
        true => Vec::new(),
        false => disturbed(&pairs, (before.len(), after.len()), spread),
    };
    let rest = |records: &[R], is_after: bool| -> Vec<R> {
        let is_aside = |at| {
            let mut aside = set_aside.iter();
            aside.any(|d| d.is_after == is_after && d.record == at)
        };
        let kept = records.iter().enumerate().filter(|(at, _)| !is_aside(*at));
        kept.map(|(_, record)| *record).collect()
    };
    let (rest_before, rest_after) = (rest(before, false), rest(after, true));
    let pairs = match set_aside.is_empty() {
        true => pairs,
        false => pairs_of(&rest_before, &rest_after),
    };
    Used {
        before: rest_before,
        after: rest_after,
        pairs,
        set_aside,
    }
}

/// The repeats that are set aside, with their names.
pub fn named(all: &[Disturbed], before: &Group<'_>, after: &Group<'_>) -> Vec<SetAside> {
    let one = |d: &Disturbed| {
        let group = if d.is_after { after } else { before };
        let record = group.records.get(d.record)?;
        Some(SetAside {
            side: one_line(&group.name),
            suffix: one_line(&record.run.suffix),
            figure: d.kind,
            point: d.point,
            change_pcnt: (100.0 * d.log.exp_m1()).clamp(-100.0, 1e9),
        })
    };
    all.iter().filter_map(one).collect()
}

/// The disturbed repeats of both sides; of each side at most a third of its repeats.
fn disturbed(pairs: &[Pair<'_>], repeats: (usize, usize), spread: f64) -> Vec<Disturbed> {
    let mut found: Vec<Disturbed> = Vec::new();
    for kind in KINDS {
        let rows = rows(pairs, repeats, kind);
        for is_of_sweep in [true, false] {
            let level: Vec<&Row> = rows
                .iter()
                .filter(|r| r.point.is_none() == is_of_sweep)
                .collect();
            let least = match is_of_sweep {
                true => spread * kind.spread_factor(),
                false => spread * kind.spread_factor() * kind.point_spread_factor(),
            };
            let limit = FAR_DEVIATIONS * scale(&level).max(least);
            found.extend(level.iter().flat_map(|row| row.beyond(kind, limit)));
        }
    }
    let sides = [(false, repeats.0), (true, repeats.1)];
    let of_side = |(is_after, count): (bool, usize)| {
        let mut side: Vec<Disturbed> = found
            .iter()
            .filter(|d| d.is_after == is_after)
            .copied()
            .collect();
        side.sort_by(|a, b| b.score.total_cmp(&a.score));
        let mut records = Vec::new();
        side.retain(|d| {
            let is_first = !records.contains(&d.record);
            records.push(d.record);
            is_first
        });
        side.truncate(count / REPEATS_PER_ASIDE); // None of two.
        side
    };
    sides.into_iter().flat_map(of_side).collect()
}

/// The distances of the repeats of one side from their median.
struct Row {
    is_after: bool,
    point: Option<u32>,
    logs: Vec<f64>,
}

impl Row {
    fn of(is_after: bool, point: Option<u32>, logs: &[f64]) -> Self {
        let middle = median(logs.to_vec());
        Self {
            is_after,
            point,
            logs: logs.iter().map(|log| log - middle).collect(),
        }
    }

    fn beyond(&self, kind: Kind, limit: f64) -> Vec<Disturbed> {
        let is_far = |log: &f64| limit > 0.0 && log.is_finite() && log.abs() > limit;
        let each = self.logs.iter().enumerate();
        each.filter(|(_, log)| is_far(log))
            .map(|(record, log)| Disturbed {
                is_after: self.is_after,
                record,
                kind,
                point: self.point,
                log: *log,
                score: log.abs() / limit,
            })
            .collect()
    }
}

/// The distances at each load point that all repeats of a side measured, and over these points.
fn rows(pairs: &[Pair<'_>], repeats: (usize, usize), kind: Kind) -> Vec<Row> {
    let mut rows = Vec::new();
    for (is_after, count) in [(false, repeats.0), (true, repeats.1)] {
        if count < 2 {
            continue;
        }
        let logs = |pair: &Pair<'_>| -> Option<Vec<f64>> {
            let cells: &[Cell<'_>] = if is_after { &pair.after } else { &pair.before };
            let log = |c: &Cell<'_>| c.figure(kind).map(|f| f.value.ln());
            let logs: Vec<f64> = cells.iter().filter_map(log).collect();
            (logs.len() == count).then_some(logs)
        };
        let points: Vec<(u32, Vec<f64>)> = pairs
            .iter()
            .filter_map(|p| Some((p.number, logs(p)?)))
            .collect();
        if points.is_empty() {
            continue;
        }
        let over = |record: usize| {
            let each: Vec<f64> = points.iter().map(|(_, logs)| logs[record]).collect();
            mean(&each)
        };
        let sweep: Vec<f64> = (0..count).map(over).collect();
        rows.push(Row::of(is_after, None, &sweep));
        let each = points
            .iter()
            .map(|(number, logs)| Row::of(is_after, Some(*number), logs));
        rows.extend(each);
    }
    rows
}

/// The mean logarithm of each record of the side before, over the load points that all of them
/// measured; `None`: there is none.
pub fn over_the_sweep(pairs: &[Pair<'_>], count: usize, kind: Kind) -> Option<Vec<f64>> {
    let rows = rows(pairs, (count, 0), kind);
    let sweep = rows.into_iter().find(|row| row.point.is_none());
    sweep.map(|row| row.logs)
}

/// The robust standard deviation of one repeat. The median of each row is at its own distance of
/// zero, which says nothing: it is left out.
fn scale(rows: &[&Row]) -> f64 {
    let mut all = Vec::new();
    for row in rows {
        let mut distances: Vec<f64> = row.logs.iter().map(|log| log.abs()).collect();
        distances.sort_by(f64::total_cmp);
        all.extend(distances.into_iter().skip(1));
    }
    MAD_TO_DEVIATION * median(all)
}
