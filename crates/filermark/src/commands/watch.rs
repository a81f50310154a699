//! `watch`: follows a run by its events.

use crate::cli::WatchArgs;
use crate::events::read_line;
use crate::progress::{ProgressForm, ProgressStyle};
use crate::watch::{Next, Shown, Tail};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::interrupt;
use filermark_engine::driver::StopFlag;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Interval at which the file is read.
const LOOK: Duration = Duration::from_millis(200);
/// Time without an event after which a line says so.
const QUIET: Duration = Duration::from_secs(60);

/// Shows the events until the last one.
pub fn watch(args: &WatchArgs) -> CommandResult {
    let mut tail = Tail::open(&args.events).map_err(|why| CommandError::Usage(vec![why]))?;
    let stop = StopFlag::new();
    interrupt::on_interrupt_alone(stop.clone(), "watch ends; the run goes on");
    let style = ProgressStyle {
        form: ProgressForm::View,
        no_color: args.no_color,
        console: false,
    };
    let mut shown: Option<Shown> = None;
    let mut last = Instant::now();
    let mut is_quiet = false;
    while !stop.is_raised() {
        match tail.next().map_err(CommandError::Failed)? {
            Next::Line(text) => {
                (last, is_quiet) = (Instant::now(), false);
                match (&mut shown, read_line(&text)) {
                    (Some(shown), Some(line)) => {
                        if shown.receive(&line) {
                            return Ok(ExitCode::SUCCESS);
                        }
                    }
                    // Types of later versions are passed over.
                    (Some(_), None) => {}
                    (None, line) => {
                        let first = line.and_then(|line| Shown::begin(&line, style));
                        shown = Some(first.ok_or_else(|| not_events(tail.name()))?);
                    }
                }
            }
            Next::Wait => {
                if last.elapsed() >= QUIET && !is_quiet {
                    is_quiet = true;
                    if let Some(shown) = &mut shown {
                        shown
                            .line("no event for 60 s; if the run was killed, end this with Ctrl-C");
                    }
                }
                std::thread::sleep(LOOK);
            }
            Next::End => {
                let name = tail.name();
                return Err(CommandError::Failed(format!(
                    "{name}: ends before the end of the run"
                )));
            }
        }
    }
    Err(CommandError::Stopped)
}

fn not_events(name: &str) -> CommandError {
    CommandError::Usage(vec![format!(
        "{name}: line 1: this is no `run_began` event; give the file of `run --events FILE`"
    )])
}
