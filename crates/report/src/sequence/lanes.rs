//! The positions of the states of a drawing: those with nothing open in the first column;
//! each open, with the states it leads to, in a lane from left to right.

use super::{closes, opens};
use filermark_model::sequence::{Level, Sequence};

/// Column and row of each state; `None`: not used.
pub(super) struct Lanes {
    /// By state. Rows may be half numbers.
    pub places: Vec<Option<(usize, f64)>>,
    /// How many columns there are.
    pub columns: usize,
    /// How many rows there are.
    pub rows: usize,
}

impl Lanes {
    pub fn of(sequence: &Sequence) -> Self {
        let states = sequence.states();
        let mut lanes = Self {
            places: vec![None; states.len()],
            columns: 1,
            rows: 0,
        };
        let used = |at: &usize| states[*at].share > 0.0;
        let all = (0..states.len()).filter(used);
        let idle = all.filter(|at| states[*at].level == Level::Idle);
        let (opening, browsing): (Vec<usize>, Vec<usize>) =
            idle.partition(|at| opens(&states[*at]));
        for at in opening {
            lanes.add_lane(sequence, at);
        }
        lanes.rows = lanes.rows.max(browsing.len());
        let apart = lanes.rows as f64 / browsing.len().max(1) as f64;
        for (i, at) in browsing.into_iter().enumerate() {
            lanes.places[at] = Some((0, (i as f64 + 0.5) * apart - 0.5));
        }
        lanes
    }

    /// Adds a lane with all states that an open leads to and that have no position yet.
    fn add_lane(&mut self, sequence: &Sequence, open: usize) {
        let states = sequence.states();
        let mut columns: Vec<Vec<usize>> = vec![vec![open]];
        let mut known = vec![false; states.len()];
        loop {
            let mut next: Vec<usize> = Vec::new();
            for from in columns.last().into_iter().flatten() {
                for way in states[*from].next.iter().filter(|w| w.share > 0.0) {
                    let to = way.to as usize;
                    let placed = self.places.get(to).is_none_or(Option::is_some);
                    if !placed && states[to].level != Level::Idle && !known[to] {
                        known[to] = true;
                        next.push(to);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            columns.push(next);
        }
        // Closing states are at the end.
        let mut last = Vec::new();
        for column in &mut columns {
            let closing = |at: &usize| closes(&states[*at]);
            last.extend(column.iter().copied().filter(closing));
            column.retain(|at| !closing(at));
        }
        columns.push(last);
        columns.retain(|c| !c.is_empty());
        let height = columns.iter().map(Vec::len).max().unwrap_or(1);
        for (column, inside) in columns.iter().enumerate() {
            let above = (height - inside.len()) as f64 / 2.0;
            for (i, at) in inside.iter().enumerate() {
                let row = self.rows as f64 + above + i as f64;
                self.places[*at] = Some((column + 1, row));
            }
        }
        self.rows += height;
        self.columns = self.columns.max(columns.len() + 1);
    }
}
