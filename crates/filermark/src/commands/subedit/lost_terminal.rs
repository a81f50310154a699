//! What is done when the terminal is lost.

/// Calls `keep` at SIGHUP and SIGTERM, restores the terminal's settings, and ends the program.
#[cfg(unix)]
pub fn on_loss(keep: impl FnOnce() + Send + 'static) {
    use filermark_cli_kit::exit::INTERRUPTED;
    use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
    use signal_hook::consts::{SIGHUP, SIGTERM};

    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGTERM]) else {
        return;
    };
    let terminal: Option<Termios> = tcgetattr(std::io::stdin()).ok();
    let watch = move || {
        if signals.forever().next().is_some() {
            keep();
            if let Some(terminal) = &terminal {
                let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, terminal);
            }
            std::process::exit(i32::from(INTERRUPTED));
        }
    };
    let _ = std::thread::Builder::new()
        .name("signals".into())
        .spawn(watch);
}

/// Windows ends a program whose console is closed without a signal that can be handled here. The
/// autosave, which is written after each line, has everything but the line being typed.
#[cfg(not(unix))]
pub fn on_loss(_: impl FnOnce() + Send + 'static) {}
