//! Ctrl-C: once ends the run in good order, twice ends the program at once.

use crate::live;
use filermark_engine::driver::StopFlag;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The last word of somebody who does not wait. Agents notice that they are alone.
const LEFT: &str = "left at once: agents that are alone remove what they made; `filermark stop` with the same suffix (-s) finds what stays";

/// Raises `stop` at the first signal; a second one ends the program.
pub fn on_interrupt(stop: StopFlag, first_word: &'static str) {
    watch(stop, first_word, &[SIGINT, SIGTERM, SIGHUP]);
}

/// The same for an agent, which only Ctrl-C ends at once: a prime or an operator that
/// asks again must not end it in the middle of its tidying.
pub fn on_wish_to_end(stop: StopFlag, first_word: &'static str) {
    watch(stop, first_word, &[SIGINT]);
}

/// `at_once`: the signals that end the program when they are not the first.
fn watch(stop: StopFlag, first_word: &'static str, at_once: &'static [i32]) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
        return;
    };
    let watch = move || {
        let mut count = 0;
        for signal in signals.forever() {
            count += 1;
            if count > 1 && !at_once.contains(&signal) {
                continue;
            }
            if count > 1 {
                live::leave();
                live::say_line(LEFT);
                std::process::exit(i32::from(crate::exit::INTERRUPTED));
            }
            stop.raise();
            // The view has drawn over what the terminal echoed.
            let front = if live::stopping() { "" } else { "\n" };
            live::say(&format!("{front}{first_word}\n"));
        }
    };
    let _ = std::thread::Builder::new()
        .name("signals".into())
        .spawn(watch);
}
