//! The times of events at a load point, for the logs of mounted runs: the phases and their
//! progress. The progress of a phase follows from the clock: a phase has a fixed
//! length.

use crate::console::PERCENT_STEP;
use crate::record::{Phase, PhaseRecord, RunRecord};
use crate::time::Timestamp;

/// A phase may end this much early and still be complete, in seconds.
const SLACK_SECONDS: f64 = 0.5;

/// An event, in the order of entries with the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimelineEntry {
    /// INIT begins.
    InitBegins,
    /// INIT has ended successfully.
    InitEnds,
    /// The clients get the start signal.
    TestingBegins,
    /// WARMUP begins.
    WarmBegins,
    /// This percentage of WARMUP is over.
    WarmPercent(u32),
    /// RUN begins.
    RunBegins,
    /// This percentage of RUN is over.
    RunPercent(u32),
    /// RUN has ended successfully.
    Finished,
}

/// The events at load point `number`, by time.
pub fn marks(record: &RunRecord, number: u32) -> Vec<(Timestamp, TimelineEntry)> {
    let phases = &record.run.plan.phases;
    let mut all = Vec::new();
    for phase in record.phases.iter().filter(|p| p.point == number) {
        let whole = phase.failure.is_none();
        match phase.phase {
            Phase::Init => {
                all.push((phase.began, TimelineEntry::InitBegins));
                all.extend(whole.then_some((phase.ended, TimelineEntry::InitEnds)));
            }
            Phase::Warmup => {
                all.push((phase.began, TimelineEntry::TestingBegins));
                all.push((phase.began, TimelineEntry::WarmBegins));
                let length = match phases.warmup_until_steady {
                    true => phase.seconds,
                    false => phases.warmup.as_secs_f64(),
                };
                all.extend(percents(phase, length, TimelineEntry::WarmPercent));
            }
            Phase::Run => {
                all.push((phase.began, TimelineEntry::RunBegins));
                match phases.runtime_max {
                    Some(_) => all.extend(percent_marks(phase)),
                    None => {
                        let length = phases.runtime.as_secs_f64();
                        all.extend(percents(phase, length, TimelineEntry::RunPercent));
                    }
                }
                all.extend(whole.then_some((phase.ended, TimelineEntry::Finished)));
            }
            Phase::Validate | Phase::Cleanup => {}
        }
    }
    all.sort();
    all
}

/// The tenths of a RUN without a fixed length.
fn percent_marks(phase: &PhaseRecord) -> impl Iterator<Item = (Timestamp, TimelineEntry)> {
    let steps = (PERCENT_STEP..=100).step_by(PERCENT_STEP as usize);
    let marks = steps.map(TimelineEntry::RunPercent);
    phase.percents.iter().copied().zip(marks)
}

fn percents(
    phase: &PhaseRecord,
    length: f64,
    mark: fn(u32) -> TimelineEntry,
) -> impl Iterator<Item = (Timestamp, TimelineEntry)> {
    let reached = phase.seconds + SLACK_SECONDS;
    let steps = (PERCENT_STEP..=100).step_by(PERCENT_STEP as usize);
    let at = move |percent: &u32| length * f64::from(*percent) / 100.0;
    steps
        .filter(move |percent| length > 0.0 && at(percent) <= reached)
        .map(move |percent| {
            let seconds = at(&percent).min(phase.seconds);
            (phase.began.plus_seconds(seconds), mark(percent))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::composite::composite_record;

    #[test]
    fn a_whole_point_has_every_mark_in_order() {
        let marks: Vec<TimelineEntry> = marks(&composite_record(), 1)
            .into_iter()
            .map(|m| m.1)
            .collect();
        assert_eq!(marks.len(), 4 + 10 + 1 + 10 + 1);
        assert!(marks.is_sorted());
        assert_eq!(
            marks[..2],
            [TimelineEntry::InitBegins, TimelineEntry::InitEnds]
        );
        assert_eq!(
            marks[13..15],
            [TimelineEntry::WarmPercent(100), TimelineEntry::RunBegins]
        );
    }

    #[test]
    fn a_phase_that_was_cut_has_its_progress_marks() {
        let mut record = composite_record();
        assert_eq!(marks(&record, 4).len(), 1, "INIT began and failed");
        let run = record
            .phases
            .iter_mut()
            .find(|p| p.point == 2 && p.phase == Phase::Run)
            .unwrap();
        (run.seconds, run.failure) = (16.0, Some("gone".into()));
        run.ended = run.began.plus_seconds(16.0);
        let marks = marks(&record, 2);
        assert_eq!(marks.last().unwrap().1, TimelineEntry::RunPercent(50));
        record.run.plan.phases.runtime.0 = 0;
        assert!(
            super::marks(&record, 2)
                .iter()
                .all(|m| m.1 <= TimelineEntry::RunBegins)
        );
    }
}
