//! Ctrl-C: once ends the run in good order, twice ends the program at once.

use crate::live;
use filermark_engine::driver::StopFlag;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The last line when the second signal ends the program.
const LEFT: &str = "left at once: what was begun on the clients may stay there";

/// The last line of a command without clients.
const LEFT_ALONE: &str = "left at once: what was being written may lack its end";
/// The signals that are handled.
const EVERY: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// What the next signal stops.
struct SignalTarget {
    stop: StopFlag,
    notice: Box<dyn Fn() -> &'static str + Send>,
    /// Signals so far.
    count: u32,
    /// The signals that end the program when they are not the first.
    at_once: &'static [i32],
    /// The last line in that case.
    left: String,
}

/// What runs now: of several runs in sequence, the last that registered.
static WISH: Mutex<Option<SignalTarget>> = Mutex::new(None);

/// The first signal that came; 0: none.
static FIRST: AtomicI32 = AtomicI32::new(0);

/// Raises `stop` at the first signal; a second one ends the program.
pub fn on_interrupt(stop: StopFlag, first_word: &'static str) {
    watch(stop, move || first_word, &EVERY, LEFT);
}

/// [`on_interrupt`] for a run; `stop_command` removes what it leaves behind.
pub fn on_interrupt_of_run(stop: StopFlag, first_word: &'static str, stop_command: &str) {
    let left = format!(
        "left at once: agents that are alone remove what they made, for a minute at most; `{stop_command}` removes what stays"
    );
    watch(stop, move || first_word, &EVERY, &left);
}

/// [`on_interrupt`] for a command without agents.
pub fn on_interrupt_alone(stop: StopFlag, first_word: &'static str) {
    watch(stop, move || first_word, &EVERY, LEFT_ALONE);
}

/// [`on_interrupt`] for an agent, which only Ctrl-C ends at once: a second SIGTERM of a prime
/// or an operator must not end it while it cleans up. The first line is chosen when the
/// signal comes.
pub fn on_interrupt_agent(stop: StopFlag, first_word: impl Fn() -> &'static str + Send + 'static) {
    watch(stop, first_word, &[SIGINT], LEFT);
}

/// Whether the user has wished to stop, at any time since the program began to listen.
pub fn wished() -> bool {
    FIRST.load(Ordering::Relaxed) != 0
}

/// The exit code of a program that a signal has ended: 128 and the signal's number, of
/// the first one that came; Ctrl-C's where it was stopped some other way.
pub fn code() -> u8 {
    match FIRST.load(Ordering::Relaxed) {
        0 => crate::exit::INTERRUPTED,
        signal => u8::try_from(128 + signal).unwrap_or(crate::exit::INTERRUPTED),
    }
}

fn signal_target() -> MutexGuard<'static, Option<SignalTarget>> {
    WISH.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch(
    stop: StopFlag,
    first_word: impl Fn() -> &'static str + Send + 'static,
    at_once: &'static [i32],
    left: &str,
) {
    let before = signal_target().replace(SignalTarget {
        stop,
        notice: Box::new(first_word),
        count: 0,
        at_once,
        left: left.to_owned(),
    });
    if before.is_some() {
        return;
    }
    let Ok(mut signals) = Signals::new(EVERY) else {
        return;
    };
    let watch = move || signals.forever().for_each(on_signal);
    let _ = std::thread::Builder::new()
        .name("signals".into())
        .spawn(watch);
}

fn on_signal(signal: i32) {
    let _ = FIRST.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    let mut wish = signal_target();
    let Some(wish) = wish.as_mut() else { return };
    wish.count += 1;
    if wish.count > 1 && !wish.at_once.contains(&signal) {
        return;
    }
    if wish.count > 1 {
        live::leave();
        live::print_stderr_line(&wish.left);
        filermark_prime::scripts::end_all_at_once();
        std::process::exit(i32::from(code()));
    }
    wish.stop.raise();
    // The view has drawn over what the terminal echoed.
    let front = if live::stopping() { "" } else { "\n" };
    live::print_stderr(&format!("{front}{}\n", (wish.notice)()));
}
