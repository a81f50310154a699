//! The metrics of a run over HTTP (`--metrics`), for Prometheus and other programs that read
//! OpenMetrics, and its events for `watch --attach`.
//!
//! The source is the events of the run ([`crate::events`]). [`Totals`] adds them up, `families`
//! declares the metrics, `text` writes them. A reader never delays the run: an answer is made from a
//! copy of the totals, by a thread of its own.

mod families;
#[cfg(test)]
mod tests;
mod text;
mod totals;

use crate::cli::MetricsArgs;
use crate::events::{Event, EventLog};
use crate::http::{HttpServer, Listen, Request, Response, Token};
use filermark_cli_kit::exit::CommandError;
use filermark_cli_kit::view::print_stderr_line;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use text::Format;
use totals::Totals;

/// The variable with the token.
pub const TOKEN_VARIABLE: &str = "FILERMARK_METRICS_TOKEN";

/// Receives the events of a run.
#[derive(Clone, Default)]
pub struct Metrics {
    totals: Arc<Mutex<Totals>>,
    log: EventLog,
}

impl Metrics {
    /// Counts an event, and keeps its line for readers of events.
    pub fn receive(&self, event: &Event, line: &str) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.receive(event);
        drop(totals);
        self.log.push(line, event.is_passing());
    }

    fn copy(&self) -> Totals {
        let totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.clone()
    }

    fn answer(&self, request: &Request) -> Response {
        match request.path.as_str() {
            "/metrics" => {
                let format = Format::for_accept(&request.accept);
                Response::of(format.content_type(), text::text(&self.copy(), format))
            }
            "/events" => Response::lines("application/jsonl", self.log.reader()),
            _ => Response::text(
                404,
                "not found; the metrics are at /metrics, the events at /events",
            ),
        }
    }
}

/// The metrics and their server, until the end of the run.
pub struct MetricsServer {
    metrics: Metrics,
    _server: HttpServer,
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        // Readers get the last lines, and the server can end.
        self.metrics.log.close();
    }
}

impl MetricsServer {
    /// Starts what the options want, and prints its address on stderr.
    ///
    /// # Errors
    /// A token is missing or cannot be read; the address cannot be used.
    pub fn start(args: &MetricsArgs) -> Result<Option<Self>, CommandError> {
        let Some(listen) = args.metrics else {
            return Ok(None);
        };
        let usage = |why: String| CommandError::Usage(vec![why]);
        let token = token_of(args.metrics_token_file.as_deref()).map_err(usage)?;
        if token.is_none() && !listen.is_local() {
            return Err(usage(format!(
                "--metrics {}: other hosts can reach this address, so a token is needed: \
                 --metrics-token-file FILE or {TOKEN_VARIABLE}; or give the port alone",
                listen.0
            )));
        }
        let server = Self::listen(listen, token).map_err(|e| {
            CommandError::Failed(format!(
                "--metrics {}: cannot listen: {e}; choose another port",
                listen.0
            ))
        })?;
        print_stderr_line(format_args!(
            "metrics: http://{}/metrics",
            server._server.address()
        ));
        Ok(Some(server))
    }

    fn listen(listen: Listen, token: Option<Token>) -> std::io::Result<Self> {
        let metrics = Metrics::default();
        let its = metrics.clone();
        let server = HttpServer::start(listen, token, move |request| its.answer(request))?;
        Ok(Self {
            metrics,
            _server: server,
        })
    }

    /// What receives the events.
    pub fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }
}

/// The token of the file (`--metrics-token-file`) or the variable.
///
/// # Errors
/// It cannot be read, or is none.
pub fn token_of(file: Option<&Path>) -> Result<Option<Token>, String> {
    if let Some(path) = file {
        let token = Token::read(path).map_err(|why| format!("--metrics-token-file {why}"))?;
        return Ok(Some(token));
    }
    let Some(text) = std::env::var_os(TOKEN_VARIABLE) else {
        return Ok(None);
    };
    let token = Token::new(&text.to_string_lossy());
    token
        .map(Some)
        .map_err(|why| format!("{TOKEN_VARIABLE}: {why}"))
}
