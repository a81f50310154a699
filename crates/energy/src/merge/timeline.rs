//! Which load point and phase a moment belongs to.

use crate::log::{EnergyPhase, MergedRun, Tag};
use filermark_results::Timestamp;

/// Moments at which the tag changes, by time.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// `None`: a run was cut, and nothing that counts follows.
    changes: Vec<(Timestamp, Option<Tag>)>,
    /// Pairs of runs that go on at the same time.
    overlaps: Vec<(u32, u32)>,
}

impl Timeline {
    /// Of these runs.
    pub fn new(runs: &[MergedRun]) -> Self {
        let mut by_time: Vec<&MergedRun> = runs.iter().collect();
        by_time.sort_by_key(|run| run.began);
        let mut changes = Vec::new();
        for (i, run) in by_time.iter().enumerate() {
            let points = run.points.iter();
            changes.extend(points.flat_map(|point| {
                point.phases.iter().map(|begin| {
                    let (number, phase) = (point.number, begin.phase);
                    (begin.at, Some(tag(run.run, number, phase)))
                })
            }));
            changes.extend(run.cut_after.iter().map(|at| (*at, None)));
            // What follows a run is before the next one.
            if let (Some(ended), Some(next)) = (run.ended, by_time.get(i + 1)) {
                changes.push((ended, Some(tag(next.run, 0, EnergyPhase::PreTest))));
            }
        }
        changes.sort_by_key(|(at, tag)| (*at, tag.map(|tag| (tag.run, tag.point, tag.phase))));
        Self {
            changes,
            overlaps: overlaps(&by_time),
        }
    }

    /// Where a moment lies; before the first change in front of the first run. `None`:
    /// nowhere, since the run was cut, or since there is no run.
    pub fn at(&self, at: Timestamp) -> Option<Tag> {
        match self.last_change(at) {
            Some(tag) => tag,
            None => {
                let first = self.changes.iter().find_map(|(_, tag)| *tag)?;
                Some(tag(first.run, 0, EnergyPhase::PreTest))
            }
        }
    }

    /// Whether a moment lies between what was measured before a run was cut, and the next
    /// load point.
    pub fn is_cut(&self, at: Timestamp) -> bool {
        self.last_change(at) == Some(None)
    }

    fn last_change(&self, at: Timestamp) -> Option<Option<Tag>> {
        let after = self.changes.partition_point(|(change, _)| *change <= at);
        let last = after.checked_sub(1).and_then(|i| self.changes.get(i))?;
        Some(last.1)
    }

    /// Until when the tag of `at` holds.
    pub fn next_change(&self, at: Timestamp) -> Option<Timestamp> {
        let after = self.changes.partition_point(|(change, _)| *change <= at);
        self.changes.get(after).map(|(change, _)| *change)
    }

    /// Pairs of runs that go on at the same time: whose power it is, nobody can tell.
    pub fn overlaps(&self) -> &[(u32, u32)] {
        &self.overlaps
    }
}

fn tag(run: u32, point: u32, phase: EnergyPhase) -> Tag {
    Tag { run, point, phase }
}

/// When the last thing that is known of a run happened.
pub(crate) fn end_of(run: &MergedRun) -> Timestamp {
    let points = run.points.iter();
    let phases = points.flat_map(|p| p.phases.iter().map(|b| b.at).chain(p.run_ended));
    phases.chain(run.ended).fold(run.began, Timestamp::max)
}

fn overlaps(by_time: &[&MergedRun]) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for (i, first) in by_time.iter().enumerate() {
        let end = end_of(first);
        let rest = by_time.iter().skip(i + 1);
        found.extend(
            rest.take_while(|next| next.began < end)
                .map(|next| (first.run, next.run)),
        );
    }
    found
}
