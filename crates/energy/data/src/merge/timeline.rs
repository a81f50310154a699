//! The load point and phase of a time.

use crate::log::{EnergyPhase, MergedRun, Tag};
use filermark_results::Timestamp;

/// Times at which the tag changes, in order.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// `None`: a run was interrupted; samples belong to no load point.
    changes: Vec<(Timestamp, Option<Tag>)>,
    /// Pairs of runs at the same time.
    overlaps: Vec<(u32, u32)>,
}

impl Timeline {
    /// The timeline of these runs.
    pub fn new(runs: &[MergedRun]) -> Self {
        let mut by_time: Vec<&MergedRun> = runs.iter().collect();
        by_time.sort_by_key(|run| run.began);
        // When the runs begin, and when they are resumed.
        let mut starts: Vec<(Timestamp, u32, bool)> = Vec::new();
        for run in &by_time {
            let goes_on = spans_of(run).into_iter().filter(|s| s.0 != run.began);
            starts.push((run.began, run.run, true));
            starts.extend(goes_on.map(|(at, _)| (at, run.run, false)));
        }
        starts.sort_by_key(|(at, run, _)| (*at, *run));
        let mut changes = Vec::new();
        for run in &by_time {
            let points = run.points.iter();
            changes.extend(points.flat_map(|point| {
                point.phases.iter().map(|begin| {
                    let (number, phase) = (point.number, begin.phase);
                    (begin.at, Some(tag(run.run, number, phase)))
                })
            }));
            changes.extend(run.cut_after.iter().map(|at| (*at, None)));
            // The time after a run is before the next one, or in the gap of a resumed one.
            if let Some(ended) = run.ended {
                let mut others = starts.iter().filter(|(_, other, _)| *other != run.run);
                if let Some((_, next, is_first)) = others.find(|(at, _, _)| *at >= ended) {
                    let before = is_first.then(|| tag(*next, 0, EnergyPhase::PreTest));
                    changes.push((ended, before));
                }
            }
        }
        changes.sort_by_key(|(at, tag)| (*at, tag.map(|tag| (tag.run, tag.point, tag.phase))));
        Self {
            changes,
            overlaps: overlaps(&by_time),
        }
    }

    /// The tag of a time; before the first change it is that before the first run. `None`: the
    /// run was interrupted, or there is no run.
    pub fn at(&self, at: Timestamp) -> Option<Tag> {
        match self.last_change(at) {
            Some(tag) => tag,
            None => {
                let first = self.changes.iter().find_map(|(_, tag)| *tag)?;
                Some(tag(first.run, 0, EnergyPhase::PreTest))
            }
        }
    }

    /// Whether a time lies between the last measured load point of an interrupted run and the
    /// next load point.
    pub fn is_cut(&self, at: Timestamp) -> bool {
        self.last_change(at) == Some(None)
    }

    fn last_change(&self, at: Timestamp) -> Option<Option<Tag>> {
        let after = self.changes.partition_point(|(change, _)| *change <= at);
        let last = after.checked_sub(1).and_then(|i| self.changes.get(i))?;
        Some(last.1)
    }

    /// When the tag of `at` ends.
    pub fn next_change(&self, at: Timestamp) -> Option<Timestamp> {
        let after = self.changes.partition_point(|(change, _)| *change <= at);
        self.changes.get(after).map(|(change, _)| *change)
    }

    /// Pairs of runs at the same time: their power cannot be separated.
    pub fn overlaps(&self) -> &[(u32, u32)] {
        &self.overlaps
    }
}

fn tag(run: u32, point: u32, phase: EnergyPhase) -> Tag {
    Tag { run, point, phase }
}

/// The last known time of a run.
pub(crate) fn end_of(run: &MergedRun) -> Timestamp {
    let points = run.points.iter();
    let phases = points.flat_map(|p| p.phases.iter().map(|b| b.at).chain(p.run_ended));
    phases.chain(run.ended).fold(run.began, Timestamp::max)
}

/// The spans of a run: several for an interrupted and resumed run, without the gaps.
pub(crate) fn spans_of(run: &MergedRun) -> Vec<(Timestamp, Timestamp)> {
    let begins = || run.points.iter().filter_map(|p| p.phases.first());
    let mut spans = Vec::new();
    let mut began = Some(run.began);
    for cut in &run.cut_after {
        // A part without a measured load point has no span.
        spans.extend(began.filter(|at| at < cut).map(|at| (at, *cut)));
        began = begins().map(|begin| begin.at).filter(|at| at >= cut).min();
    }
    spans.extend(began.map(|at| (at, end_of(run).max(at))));
    spans
}

/// Whether two runs, by their spans, ran at the same time.
pub(crate) fn overlap(one: &[(Timestamp, Timestamp)], other: &[(Timestamp, Timestamp)]) -> bool {
    one.iter()
        .any(|a| other.iter().any(|b| a.0 < b.1 && b.0 < a.1))
}

fn overlaps(by_time: &[&MergedRun]) -> Vec<(u32, u32)> {
    let spans: Vec<_> = by_time.iter().map(|run| (run.run, spans_of(run))).collect();
    let mut found = Vec::new();
    for (i, (first, own)) in spans.iter().enumerate() {
        let rest = spans.iter().skip(i + 1);
        let over = rest.filter(|(_, theirs)| overlap(own, theirs));
        found.extend(over.map(|(next, _)| (*first, *next)));
    }
    found
}
