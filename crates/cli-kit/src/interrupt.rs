//! Signals: the first one asks the subcommand to stop, a second one ends the program at once.

#[cfg(unix)]
#[path = "interrupt/unix.rs"]
mod own;
#[cfg(not(unix))]
#[path = "interrupt/other.rs"]
mod own;

use crate::{exit, view};
use filermark_engine::driver::StopFlag;
use own::EVERY;
use signal_hook::consts::SIGINT;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Printed when the program ends at once, and agents may still run.
const LEFT: &str = "ended at once: processes and files on the clients may remain";
/// Printed when a program without agents ends at once.
const LEFT_ALONE: &str = "ended at once: the file being written may be incomplete";
/// What a signal stops.
struct SignalTarget {
    stop: StopFlag,
    /// Makes the message of the first signal.
    notice: Box<dyn Fn() -> String + Send>,
    /// Signals so far.
    count: u32,
    ending: Ending,
}

/// How a second signal ends the program.
struct Ending {
    /// The signals that end it.
    signals: &'static [i32],
    /// Called before the program ends.
    before: fn(),
    /// Printed then.
    message: String,
}

impl Ending {
    fn by_any(message: &str) -> Self {
        Self {
            signals: &EVERY,
            before: || {},
            message: message.to_owned(),
        }
    }
}

/// The target of the next signal: of several runs, one after the other, the latest.
static TARGET: Mutex<Option<SignalTarget>> = Mutex::new(None);

/// The first signal that came; 0: none.
static FIRST: AtomicI32 = AtomicI32::new(0);

/// Raises `stop` at the first signal, with a message; a second one ends the program.
pub fn on_interrupt(stop: StopFlag, message: &'static str) {
    watch(stop, move || message.to_owned(), Ending::by_any(LEFT));
}

/// [`on_interrupt`] for a run: `stop_command` removes what the run leaves on its clients, and
/// `before_end` ends the processes that it has started on this host.
pub fn on_interrupt_of_run(stop: StopFlag, message: String, stop_command: &str, before_end: fn()) {
    let left = format!(
        "ended at once; the agents remove their files within a minute, then `{stop_command}` removes the rest"
    );
    let ending = Ending {
        before: before_end,
        ..Ending::by_any(&left)
    };
    watch(stop, move || message.clone(), ending);
}

/// [`on_interrupt`] for a subcommand without agents.
pub fn on_interrupt_alone(stop: StopFlag, message: &'static str) {
    watch(stop, move || message.to_owned(), Ending::by_any(LEFT_ALONE));
}

/// [`on_interrupt`] for an agent, which only a second Ctrl-C ends at once: a prime or an
/// operator that asks again must not interrupt its clean-up. The message is made when the
/// signal comes.
pub fn on_interrupt_agent(stop: StopFlag, message: impl Fn() -> &'static str + Send + 'static) {
    let ending = Ending {
        signals: &[SIGINT],
        ..Ending::by_any(LEFT)
    };
    watch(stop, move || message().to_owned(), ending);
}

/// Whether a signal has asked the program to stop.
pub fn wished() -> bool {
    FIRST.load(Ordering::Relaxed) != 0
}

/// The exit code of a program that a signal has ended: 128 and the signal's number, of
/// the first one that came; Ctrl-C's where it was stopped some other way.
pub fn code() -> u8 {
    match FIRST.load(Ordering::Relaxed) {
        0 => exit::INTERRUPTED,
        signal => u8::try_from(128 + signal).unwrap_or(exit::INTERRUPTED),
    }
}

fn signal_target() -> MutexGuard<'static, Option<SignalTarget>> {
    TARGET.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch(stop: StopFlag, message: impl Fn() -> String + Send + 'static, ending: Ending) {
    let before = signal_target().replace(SignalTarget {
        stop,
        notice: Box::new(message),
        count: 0,
        ending,
    });
    if before.is_some() {
        return;
    }
    let Ok(signals) = own::Signals::new() else {
        return;
    };
    let _ = std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || signals.for_each(on_signal));
}

fn on_signal(signal: i32) {
    let _ = FIRST.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    let mut target = signal_target();
    let Some(target) = target.as_mut() else {
        return;
    };
    target.count += 1;
    let ending = &target.ending;
    if target.count > 1 && !ending.signals.contains(&signal) {
        return;
    }
    if target.count > 1 {
        view::leave();
        view::print_stderr_line(&ending.message);
        (ending.before)();
        std::process::exit(i32::from(code()));
    }
    target.stop.raise();
    // The view has drawn over what the terminal echoed.
    let front = if view::stopping() { "" } else { "\n" };
    view::print_stderr(&format!("{front}{}\n", (target.notice)()));
}
