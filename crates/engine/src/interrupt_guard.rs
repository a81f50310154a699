//! How blocking calls are ended: every loop that waits for a server checks the flag
//! of the task that its thread carries out.
//!
//! Claims, releases and surveys make blocking calls in many places. Each thread that
//! carries out such a task sets once which flag ends it ([`interrupt_on`]); the waits of the
//! blocking clients are divided into pieces ([`LOOK`]) and check it between two of them.
//! A thread that has set no flag is never interrupted.

use crate::driver::StopFlag;
use std::cell::RefCell;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longest wait between two checks of the flag.
pub const LOOK: Duration = Duration::from_millis(200);

thread_local! {
    static FLAG: RefCell<Option<StopFlag>> = const { RefCell::new(None) };
}

/// While this lives, the thread's blocking calls end when its flag is raised.
#[must_use]
#[derive(Debug)]
pub struct InterruptGuard(Option<StopFlag>);

impl Drop for InterruptGuard {
    fn drop(&mut self) {
        FLAG.with(|flag| *flag.borrow_mut() = self.0.take());
    }
}

/// From now on this thread's blocking calls end when `stop` is raised.
pub fn interrupt_on(stop: &StopFlag) -> InterruptGuard {
    InterruptGuard(FLAG.with(|flag| flag.borrow_mut().replace(stop.clone())))
}

/// Whether this thread's task is to end.
pub fn stop_requested() -> bool {
    FLAG.with(|flag| flag.borrow().as_ref().is_some_and(StopFlag::is_raised))
}

/// The flag of this thread's task; one that is never raised where there is none.
pub fn flag() -> StopFlag {
    FLAG.with(|flag| flag.borrow().clone()).unwrap_or_default()
}

/// Sleeps, but ends early when a stop is requested.
pub fn sleep(time: Duration) {
    let until = Instant::now() + time;
    while !stop_requested() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(LOOK));
    }
}

/// Makes a call that cannot be divided on a thread of its own. `None`: the task
/// is to end, or no thread could start; the call ends by its own time limit, and its
/// result is dropped.
pub fn run_interruptible<T: Send + 'static>(
    call: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if FLAG.with(|flag| flag.borrow().is_none()) {
        return Some(call());
    }
    let (sender, done) = channel();
    let thread = std::thread::Builder::new().name("call-apart".into());
    thread
        .spawn(move || {
            let _ = sender.send(call());
        })
        .ok()?;
    loop {
        match done.recv_timeout(LOOK) {
            Ok(value) => return Some(value),
            Err(RecvTimeoutError::Timeout) if !stop_requested() => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_end_with_the_flag_of_the_thread() {
        let stop = StopFlag::new();
        assert!(!stop_requested(), "no flag is set");
        let outer = interrupt_on(&stop);
        assert_eq!(run_interruptible(|| 7), Some(7));
        stop.raise();
        assert!(stop_requested());
        // Would take an hour.
        sleep(Duration::from_secs(3600));
        let hangs = run_interruptible(|| std::thread::sleep(Duration::from_secs(3600)));
        assert!(hangs.is_none());
        let inner = interrupt_on(&StopFlag::new());
        assert!(!stop_requested());
        drop(inner);
        assert!(stop_requested());
        drop(outer);
        assert!(!stop_requested());
    }
}
