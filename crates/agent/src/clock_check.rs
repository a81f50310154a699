//! Compares an agent's clock with a time service ([`filermark_link::clock_reading`]): the
//! length of RUN by its own clock and by the service's. The service is read at the beginning
//! and at the end of RUN.

use filermark_engine::clock::Clock;
use filermark_engine::shard::Timetable;
use filermark_link::clock_reading::{ANSWER_MAX, READING_MAX, Reading, read};
use filermark_link::message::ClockCheck;
use filermark_model::Nanos;
use filermark_model::plan::ClockServicePlan;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Longest interval between two checks of a time that may still move: the beginning of RUN is
/// announced at least a second ahead.
const POLL: Duration = Duration::from_millis(500);

/// Two readings that are made on a thread.
pub struct ClockSampler {
    result: Receiver<ClockCheck>,
    /// Dropping it informs the thread that the phase is over.
    phase: Option<Sender<()>>,
}

impl ClockSampler {
    /// Reads when RUN begins and when it ends.
    pub fn begin(plan: &ClockServicePlan, clock: &Clock, timetable: Timetable) -> Self {
        let (sender, result) = channel();
        let (phase, over) = channel();
        let (plan, clock) = (plan.clone(), clock.clone());
        let work = move || {
            let _ = sender.send(check(&plan, &clock, &timetable, &over));
        };
        // Without a thread the channel ends, which is reported as a failure.
        let _ = std::thread::Builder::new()
            .name("clock-check".into())
            .spawn(work);
        Self {
            result,
            phase: Some(phase),
        }
    }

    /// The result, after the end of RUN.
    pub fn finish(mut self) -> ClockCheck {
        self.phase.take();
        let limit = READING_MAX + ANSWER_MAX;
        self.result
            .recv_timeout(limit)
            .unwrap_or_else(|_| failed("no answer in time"))
    }
}

fn failed(reason: &str) -> ClockCheck {
    ClockCheck::Failed {
        reason: reason.into(),
    }
}

fn check(
    plan: &ClockServicePlan,
    clock: &Clock,
    timetable: &Timetable,
    over: &Receiver<()>,
) -> ClockCheck {
    if !wait_until(clock, || timetable.times().run_start, over) {
        return failed("RUN did not begin");
    }
    let first = match read(plan, clock) {
        Ok(reading) => reading,
        Err(why) => return failed(&format!("at the beginning of RUN: {why}")),
    };
    wait_until(clock, || timetable.times().run_end, over);
    match read(plan, clock) {
        Ok(last) => compare(first, last),
        Err(why) => failed(&format!("at the end of RUN: {why}")),
    }
}

/// Whether this time came before the phase was over. It may become earlier during the wait, and
/// is checked repeatedly.
pub fn wait_until(clock: &Clock, mut instant: impl FnMut() -> Nanos, over: &Receiver<()>) -> bool {
    loop {
        let left = Duration::from_nanos(instant().since(clock.now()).0);
        if over.recv_timeout(left.min(POLL)) != Err(RecvTimeoutError::Timeout) {
            return false;
        }
        if left <= POLL {
            return true;
        }
    }
}

fn compare(first: Reading, last: Reading) -> ClockCheck {
    if last.service < first.service {
        return failed("the service was restarted during RUN");
    }
    ClockCheck::Compared {
        ours_ns: last.ours.since(first.ours).0,
        service_ns: last.service.since(first.service).0,
        bound_ns: (first.bound + last.bound).0,
    }
}
