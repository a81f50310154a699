//! Holds an agent's clock against a time service ([`filermark_link::clock_reading`]): how long was
//! RUN by its own clock, how long by the service's? The service is asked at the beginning
//! and at the end of RUN.

use filermark_engine::clock::Clock;
use filermark_engine::shard::Timetable;
use filermark_link::clock_reading::{ANSWER_MAX, READING_MAX, Reading, read};
use filermark_link::message::ClockCheck;
use filermark_model::Nanos;
use filermark_model::plan::ClockServicePlan;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Longest time without a look at an instant that may have moved: the beginning of RUN
/// is told a second before it at least.
const LOOK: Duration = Duration::from_millis(500);

/// Two readings that are being made on a thread.
pub struct ClockSampler {
    result: Receiver<ClockCheck>,
    /// Its end tells the thread that the phase is over.
    phase: Option<Sender<()>>,
}

impl ClockSampler {
    /// Will read when RUN begins and when it ends.
    pub fn begin(plan: &ClockServicePlan, clock: &Clock, timetable: Timetable) -> Self {
        let (sender, result) = channel();
        let (phase, over) = channel();
        let (plan, clock) = (plan.clone(), clock.clone());
        let work = move || {
            let _ = sender.send(check(&plan, &clock, &timetable, &over));
        };
        // Without a thread the channel ends, which is told as a failure.
        let _ = std::thread::Builder::new()
            .name("clock-check".into())
            .spawn(work);
        Self {
            result,
            phase: Some(phase),
        }
    }

    /// What came of it, now that RUN has ended.
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

/// Whether the instant came before the phase was over. It may move to the front while
/// it is waited for, and is looked at again and again.
pub fn wait_until(clock: &Clock, mut instant: impl FnMut() -> Nanos, over: &Receiver<()>) -> bool {
    loop {
        let left = Duration::from_nanos(instant().since(clock.now()).0);
        if over.recv_timeout(left.min(LOOK)) != Err(RecvTimeoutError::Timeout) {
            return false;
        }
        if left <= LOOK {
            return true;
        }
    }
}

fn compare(first: Reading, last: Reading) -> ClockCheck {
    if last.service < first.service {
        return failed("the service was started anew during RUN");
    }
    ClockCheck::Compared {
        ours_ns: last.ours.since(first.ours).0,
        service_ns: last.service.since(first.service).0,
        bound_ns: (first.bound + last.bound).0,
    }
}
