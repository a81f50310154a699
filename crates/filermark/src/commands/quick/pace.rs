//! How long the phases of the parts are, and how much data they have, so that `quick` takes the
//! time that was asked for.

use super::parts::Part;
use super::setup::FIRST_MIB;
use super::target::Target;
use filermark_results::RunRecord;
use filermark_results::record::Phase;
use std::time::{Duration, Instant};

/// The shortest RUN, in seconds.
const RUN_S_MIN: f64 = 1.0;
/// The shares of WARMUP and RUN in the time of a part; the other phases have the rest.
const WARMUP_SHARE: f64 = 0.1;
const RUN_SHARE: f64 = 0.6;
/// The largest share of INIT and CLEANUP in the time of a part: beyond it the file set is smaller.
const FILES_SHARE: f64 = 0.5;
/// What the first part takes beside the phases of its file set, WARMUP and RUN, in seconds.
const FIRST_OTHER_S: f64 = 3.0;

/// What the parts may take, and what those before took.
#[derive(Clone, Debug)]
pub struct Pace {
    end: Instant,
    /// The time of a part, in seconds.
    slot_s: f64,
    /// INIT and CLEANUP of the part before.
    files_s: f64,
    /// The most that they took for each MiB of a file set whose size is chosen.
    files_s_per_mib: f64,
    /// The rest of the part before, without WARMUP and RUN.
    other_s: f64,
}

impl Pace {
    /// Of `parts` parts that take `time` together, from now on.
    pub fn new(time: Duration, parts: usize) -> Self {
        Self {
            end: Instant::now() + time,
            slot_s: time.as_secs_f64() / parts as f64,
            files_s: 0.0,
            files_s_per_mib: 0.0,
            other_s: FIRST_OTHER_S,
        }
    }

    /// The size of a file set in MiB: `most`, halved while making and removing it would take more
    /// than half of a part, but not below `least`, what the procs have at least.
    pub fn mib(&self, least: u64, most: u64) -> u64 {
        let least = least.max(FIRST_MIB);
        let mut mib = most;
        while self.files_s_per_mib * mib as f64 > self.slot_s * FILES_SHARE && mib > least {
            mib = (mib / 2).max(least);
        }
        mib
    }

    /// Lengths of WARMUP and RUN in seconds for the next part, with `left` parts to come and a
    /// file set of `mib`, if its size is chosen.
    pub fn lengths(&self, left: usize, mib: Option<u64>) -> (f64, f64) {
        let remaining = self.end.saturating_duration_since(Instant::now());
        let files_s = match mib {
            Some(mib) if self.files_s_per_mib > 0.0 => self.files_s_per_mib * mib as f64,
            _ => self.files_s,
        };
        lengths(
            self.slot_s,
            remaining.as_secs_f64() / left as f64 - self.other_s - files_s,
        )
    }

    /// Takes over what a part took: `elapsed` in all.
    pub fn note(&mut self, mib: Option<u64>, elapsed: Duration, record: &RunRecord) {
        let seconds = |wanted: [Phase; 2]| -> f64 {
            let phases = record.phases.iter();
            let phases = phases.filter(|p| wanted.contains(&p.phase));
            phases.map(|p| p.seconds).sum()
        };
        self.files_s = seconds([Phase::Init, Phase::Cleanup]);
        let measured_s = seconds([Phase::Warmup, Phase::Run]);
        self.other_s = (elapsed.as_secs_f64() - self.files_s - measured_s).max(0.0);
        if let Some(mib) = mib {
            self.files_s_per_mib = self.files_s_per_mib.max(self.files_s / mib as f64);
        }
    }
}

/// Whether the part's file set is data for the most part, whose size is chosen. The others are
/// small, and making them takes as long as their objects.
pub fn is_sized(part: Part, target: &Target) -> bool {
    match part {
        Part::Random | Part::Sequential => true,
        Part::Mix => !matches!(target, Target::Directory(_)),
        Part::Metadata | Part::Own => false,
    }
}

/// Lengths of WARMUP and RUN, in seconds, of a part that has `slot` seconds in all and `left` after
/// its other phases. They are the same in each run of a command, so that runs can be compared, but
/// where the other phases take more than their share: then they are halved until they fit.
fn lengths(slot: f64, left: f64) -> (f64, f64) {
    let round = |seconds: f64| (seconds * 10.0).round() / 10.0;
    let mut share = 1.0;
    loop {
        let warmup = round((slot * WARMUP_SHARE * share).clamp(0.2, 2.0));
        let run = round((slot * RUN_SHARE * share).max(RUN_S_MIN));
        if warmup + run <= left || run <= RUN_S_MIN {
            return (warmup, run);
        }
        share /= 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths do not depend on how long the other phases take, while there is space.
    #[test]
    fn lengths_are_the_same_while_they_fit() {
        for left in [10.6, 11.0, 14.9] {
            assert_eq!(lengths(15.0, left), (1.5, 9.0), "{left}");
        }
        assert_eq!(lengths(15.0, 6.0), (0.8, 4.5));
        assert_eq!(lengths(15.0, -3.0), (0.2, 1.0));
        assert_eq!(lengths(1.0, 0.0), (0.2, 1.0));
        assert_eq!(lengths(21_600.0, 21_000.0), (2.0, 12_960.0));
    }

    /// A part that was slow to make its files gets the next ones a smaller file set.
    #[test]
    fn a_slow_target_gets_a_smaller_file_set() {
        let mut pace = Pace::new(Duration::from_secs(60), 4);
        assert_eq!(pace.mib(16, 256), 256, "nothing is known yet");
        // 16 MiB in 0.4 s: 256 take 6.4 s of 15.
        pace.files_s_per_mib = 0.4 / 16.0;
        assert_eq!(pace.mib(16, 256), 256);
        // 16 MiB in 2 s: 256 would take 32 s, and 32 take 4 s.
        pace.files_s_per_mib = 2.0 / 16.0;
        assert_eq!(pace.mib(16, 256), 32);
        assert_eq!(pace.mib(16, 100), 50);
        // Never below the smallest.
        pace.files_s_per_mib = 10.0;
        assert_eq!(pace.mib(1, 256), FIRST_MIB);
        assert_eq!(pace.mib(64, 256), 64);
    }
}
