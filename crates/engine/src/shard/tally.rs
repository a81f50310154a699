//! Where a shard counts: into counters of its own, or into those of a group.

use crate::driver::Status;
use crate::recorder::{FinishedOp, LiveEvents, Recorder, UnfinishedOp};
use crate::shared_recorder::{Batch, SharedRecorder};
use filermark_model::{Mix, Nanos, Op, PointStats};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// A shard's counters.
pub enum Tally {
    /// Its own.
    Own(Box<Recorder>),
    /// Its group's.
    Shared(Batch),
}

impl Tally {
    /// Counters of its own.
    pub fn own(mix: &Mix, seconds: usize, live: Option<SyncSender<LiveEvents>>) -> Self {
        Self::Own(Box::new(Recorder::new(mix, seconds, live)))
    }

    /// Those of a group.
    pub fn shared(group: Arc<SharedRecorder>) -> Self {
        Self::Shared(Batch::new(group))
    }

    /// Sets the latest start of RUN; the series starts at `now`.
    pub fn begin(&mut self, now: Nanos, latest_run_start: Nanos) {
        if let Self::Own(recorder) = self {
            recorder.begin(now, latest_run_start);
        }
    }

    /// WARMUP is over, RUN began then.
    pub fn begin_run(&mut self, run_start: Nanos) {
        match self {
            Self::Own(recorder) => recorder.begin_run(run_start),
            Self::Shared(batch) => batch.begin_run(run_start),
        }
    }

    /// Records the number of open operations and the age of the oldest for the second that ends.
    pub fn note_open(&mut self, (count, oldest): (u64, Nanos)) {
        if let Self::Own(recorder) = self {
            recorder.note_open(count, oldest);
        }
    }

    /// Closes the seconds that have passed; gives when the current one ends.
    pub fn roll(&mut self, now: Nanos) -> Nanos {
        match self {
            Self::Own(recorder) => recorder.roll(now),
            Self::Shared(batch) => batch.roll(now),
        }
    }

    /// Counts an operation that has ended.
    #[inline]
    pub fn record(&mut self, ended: &FinishedOp) {
        match self {
            Self::Own(recorder) => recorder.record(ended),
            Self::Shared(batch) => batch.record(ended),
        }
    }

    /// Sets when the oldest operation that is still under way was intended.
    pub fn note_open_since(&mut self, since: Nanos) {
        match self {
            Self::Own(recorder) => recorder.note_open_since(since),
            Self::Shared(batch) => batch.note_open_since(since),
        }
    }

    /// Counts operations of RUN that were not seen to end, with the time that each had
    /// waited.
    pub fn record_unseen(&mut self, why: UnfinishedOp, waited: impl Iterator<Item = (Op, Nanos)>) {
        match self {
            Self::Own(recorder) => recorder.record_unseen(why, waited),
            Self::Shared(batch) => batch.record_unseen(why, waited),
        }
    }

    /// Everything counted; the last proc of a group returns the group's.
    pub fn finish(self, now: Nanos, text: impl Fn(Status) -> String) -> PointStats {
        match self {
            Self::Own(recorder) => recorder.finish(text),
            Self::Shared(batch) => batch.finish(now, text),
        }
    }
}
