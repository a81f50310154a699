//! `watch`: follows a run by its events.

use crate::cli::WatchArgs;
use crate::events::{Event, read_line};
use crate::http::{HttpServer, Listen, ServerUrl};
use crate::metrics::token_of;
use crate::progress::{ProgressMode, ProgressStyle};
use crate::watch::{Next, Page, Shown, Tail, WAIT};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::interrupt;
use filermark_cli_kit::view::print_stderr_line;
use filermark_engine::driver::StopFlag;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Time without an event after which a line says so.
const QUIET: Duration = Duration::from_secs(60);

/// Shows the events until the last one.
pub fn watch(args: &WatchArgs) -> CommandResult {
    let (tail, is_attached) = open(args)?;
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
    let mut watching = Watching {
        tail,
        is_attached,
        style,
        page,
        shown: None,
        is_over: false,
        quiet: QUIET,
        print_line: Box::new(|text| print_stderr_line(text)),
    };
    match watching.follow(&stop)? {
        true => end(server, &stop),
        false => Err(CommandError::Stopped),
    }
}

/// The input, and whether it is a running program.
fn open(args: &WatchArgs) -> Result<(Tail, bool), CommandError> {
    let usage = |why: String| CommandError::Usage(vec![why]);
    let path = args.events.as_deref();
    let url = match (&args.attach, path.and_then(Path::to_str)) {
        (Some(url), _) => Some(Ok(url.clone())),
        (None, Some(text)) if is_url(text) => {
            Some(ServerUrl::parse(text).map_err(|why| usage(format!("{text}: {why}"))))
        }
        _ => None,
    };
    if let Some(url) = url.transpose()? {
        let token = token_of(args.metrics_token_file.as_deref()).map_err(usage)?;
        let tail = Tail::attach(&url, token.as_ref()).map_err(CommandError::Failed)?;
        return Ok((tail, true));
    }
    if args.metrics_token_file.is_some() {
        let why = "--metrics-token-file is for --attach PORT|URL; a file of events needs no token";
        return Err(usage(why.into()));
    }
    let path = path.ok_or_else(|| {
        usage(
            "watch: no run is named; give the file of `run --events FILE`, or --attach PORT for \
             `run --metrics PORT`"
                .into(),
        )
    })?;
    Ok((Tail::open(path).map_err(usage)?, false))
}

fn is_url(text: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
}

struct Watching {
    tail: Tail,
    /// The input is a running program: it may have more than one run (`quick`).
    is_attached: bool,
    style: ProgressStyle,
    page: Page,
    shown: Option<Shown>,
    /// The last event of a run was shown.
    is_over: bool,
    /// [`QUIET`].
    quiet: Duration,
    /// Prints a line before the first event.
    print_line: Box<dyn FnMut(&str)>,
}

impl Watching {
    /// Shows events to the end; `false`: it was stopped.
    fn follow(&mut self, stop: &StopFlag) -> Result<bool, CommandError> {
        let mut last = Instant::now();
        let mut is_quiet = false;
        while !stop.is_raised() {
            match self.tail.next().map_err(CommandError::Failed)? {
                Next::Line(text) => {
                    (last, is_quiet) = (Instant::now(), false);
                    self.receive(&text)?;
                    if self.is_over && !self.is_attached {
                        return Ok(true);
                    }
                }
                Next::Wait => {
                    if last.elapsed() >= self.quiet && !is_quiet {
                        is_quiet = true;
                        self.line("no event for 60 s; if the run was killed, end this with Ctrl-C");
                    }
                    std::thread::sleep(WAIT);
                }
                Next::End if self.is_over => return Ok(true),
                Next::End => {
                    let name = self.tail.name();
                    return Err(CommandError::Failed(format!(
                        "{name}: ends before the end of the run"
                    )));
                }
            }
        }
        Ok(false)
    }

    fn line(&mut self, text: &str) {
        match &mut self.shown {
            Some(shown) => shown.line(text),
            None => (self.print_line)(text),
        }
    }

    fn receive(&mut self, text: &str) -> Result<(), CommandError> {
        let line = read_line(text);
        if let Some(line) = &line {
            self.page.receive(line);
        }
        match (&mut self.shown, line) {
            (Some(shown), Some(line)) if !matches!(line.event, Event::RunBegan(_)) => {
                self.is_over |= shown.receive(&line);
            }
            // Types of later versions are passed over.
            (Some(_), None) => {}
            (_, line) => {
                let first = line.and_then(|line| Shown::begin(&line, self.style));
                self.shown = Some(first.ok_or_else(|| not_events(self.tail.name()))?);
                self.is_over = false;
            }
        }
        Ok(())
    }
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
            std::thread::sleep(WAIT);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn not_events(name: &str) -> CommandError {
    CommandError::Usage(vec![format!(
        "{name}: line 1: this is no `run_began` event; give the file of `run --events FILE`"
    )])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// A run that was killed at its start leaves an empty file.
    #[test]
    fn an_input_without_any_event_is_reported() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let stop = StopFlag::new();
        let lines = Rc::new(RefCell::new(Vec::new()));
        let (its_lines, its_stop) = (lines.clone(), stop.clone());
        let mut watching = Watching {
            tail: Tail::open(file.path()).expect("it opens"),
            is_attached: false,
            style: ProgressStyle {
                mode: ProgressMode::View,
                view: false,
                no_color: true,
                console: false,
            },
            page: Page::default(),
            shown: None,
            is_over: false,
            quiet: Duration::ZERO,
            print_line: Box::new(move |text| {
                its_lines.borrow_mut().push(text.to_owned());
                its_stop.raise();
            }),
        };
        assert!(!watching.follow(&stop).expect("it is stopped"));
        let wanted = "no event for 60 s; if the run was killed, end this with Ctrl-C";
        assert_eq!(*lines.borrow(), [wanted]);
    }
}
