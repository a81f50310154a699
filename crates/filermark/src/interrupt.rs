//! Ctrl-C: once ends the run in good order, twice ends the program at once.

use crate::live;
use filermark_engine::driver::StopFlag;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Raises `stop` at the first signal; a second one ends the program.
pub fn on_interrupt(stop: StopFlag, first_word: &'static str) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
        return;
    };
    let watch = move || {
        let mut count = 0;
        for _ in signals.forever() {
            count += 1;
            if count > 1 {
                live::leave();
                eprintln!(
                    "left at once: what was made on the server stays there; a run with the same suffix (-s) removes it"
                );
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
