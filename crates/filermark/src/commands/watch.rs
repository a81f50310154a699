//! `watch`: follows a run by its events.

use crate::cli::WatchArgs;
use crate::events::read_line;
use crate::http::{HttpServer, Listen};
use crate::progress::{ProgressMode, ProgressStyle};
use crate::watch::{Next, Page, Shown, Tail};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::interrupt;
use filermark_cli_kit::view::print_stderr_line;
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
        mode: ProgressMode::View,
        view: true,
        no_color: args.no_color,
        console: false,
    };
    let page = Page::default();
    let server = args.web.map(|port| serve(&page, port)).transpose()?;
    let mut shown: Option<Shown> = None;
    let mut last = Instant::now();
    let mut is_quiet = false;
    while !stop.is_raised() {
        match tail.next().map_err(CommandError::Failed)? {
            Next::Line(text) => {
                (last, is_quiet) = (Instant::now(), false);
                let line = read_line(&text);
                if let Some(line) = &line {
                    page.receive(line);
                }
                match (&mut shown, line) {
                    (Some(shown), Some(line)) => {
                        if shown.receive(&line) {
                            return end(server, &stop);
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

/// Offers the page on this host.
fn serve(page: &Page, port: u16) -> Result<HttpServer, CommandError> {
    let (listen, its) = (Listen::local(port), page.clone());
    let server = HttpServer::start(listen, None, move |request| its.answer(request));
    let server = server.map_err(|e| {
        CommandError::Failed(format!(
            "--web={port}: cannot listen: {e}; choose another port"
        ))
    })?;
    print_stderr_line(format_args!("page: http://{}/", server.address()));
    Ok(server)
}

/// After the last event: the page stays until Ctrl-C.
fn end(server: Option<HttpServer>, stop: &StopFlag) -> CommandResult {
    if let Some(server) = server {
        print_stderr_line(format_args!(
            "the run has ended; the page stays at http://{}/ until Ctrl-C",
            server.address()
        ));
        while !stop.is_raised() {
            std::thread::sleep(LOOK);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn not_events(name: &str) -> CommandError {
    CommandError::Usage(vec![format!(
        "{name}: line 1: this is no `run_began` event; give the file of `run --events FILE`"
    )])
}
