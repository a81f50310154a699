//! What is noted while an operation is under way.

use crate::sys::{Errno, Result};
use filermark_engine::clock::Clock;
use filermark_engine::driver::{Outcome, Status};
use filermark_model::Nanos;

/// The tally of one operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpTally {
    /// System calls that did the work: reads, writes and the like; opens and fsyncs
    /// are counted elsewhere.
    pub physical: u32,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// The end of a file was met.
    pub end: bool,
    /// Data was not what had been written, or was not there.
    pub wrong: Option<Status>,
    /// Time spent on making and checking data between system calls.
    untimed: Nanos,
}

impl OpTally {
    /// Does something that is not to be measured.
    pub(super) fn untimed<T>(&mut self, clock: &Clock, something: impl FnOnce() -> T) -> T {
        let from = clock.now();
        let result = something();
        self.untimed = self.untimed + clock.now().since(from);
        result
    }

    /// What it came to.
    #[inline]
    pub(super) fn outcome(&self, sent: Nanos, now: Nanos, result: Result<()>) -> Outcome {
        let status = match result {
            Err(Errno(code)) => Status::Refused(code),
            Ok(()) => self.wrong.unwrap_or(Status::Ok),
        };
        Outcome {
            status,
            sent,
            // As if the operation had not been held up by us.
            done: sent + now.since(sent).since(self.untimed),
            physical: self.physical,
            read_bytes: self.read_bytes,
            written_bytes: self.written_bytes,
            end: self.end,
        }
    }
}
