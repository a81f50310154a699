//! Work on client hosts: progress on stderr, and at the end a table or JSON on stdout.

use crate::cli::OutputArgs;
use crate::stdout;
use filermark_cli_kit::interrupt;
use filermark_engine::driver::StopFlag;
use filermark_hosts::admin::{HostOutcome, HostState, HostStep, megabytes};
use filermark_model::launch::HostPlan;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Shortest interval of updates of the line on a terminal.
const RENEW: Duration = Duration::from_millis(200);

/// Shows the progress of the hosts.
pub struct HostTable {
    terminal: bool,
    host_count: usize,
    over_count: usize,
    /// Bytes sent, and all bytes, by host.
    sending: HashMap<String, (u64, u64)>,
    renewed: Option<Instant>,
}

impl HostTable {
    /// For work on this number of hosts.
    pub fn new(host_count: usize) -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            host_count,
            over_count: 0,
            sending: HashMap::new(),
            renewed: None,
        }
    }

    /// Handles one step of a host.
    pub fn on_step(&mut self, host: &HostPlan, step: HostStep) {
        match step {
            HostStep::Inspecting | HostStep::Ending => {}
            HostStep::Asking(command) => {
                self.line(&format!("{}: {command}", host.client));
                return;
            }
            HostStep::Sending { sent, total } => {
                if !self.sending.contains_key(&host.client) {
                    self.line(&format!("{}: sending {}", host.client, megabytes(total)));
                }
                self.sending.insert(host.client.clone(), (sent, total));
            }
            HostStep::Done(state) => {
                self.over_count += 1;
                if state == HostState::Done || state == HostState::Failed {
                    self.line(&format!("{}: {state}", host.client));
                }
            }
        }
        self.renew();
    }

    /// Clears the line.
    pub fn rest(&mut self) {
        if self.renewed.take().is_some() {
            filermark_cli_kit::stderr_text!("\r\x1b[K");
        }
    }

    fn line(&mut self, text: &str) {
        self.rest();
        filermark_cli_kit::stderr_line!("{text}");
    }

    /// One line for all hosts, on a terminal.
    fn renew(&mut self) {
        let soon = self.renewed.is_some_and(|at| at.elapsed() < RENEW);
        if !self.terminal || soon || self.over_count == self.host_count {
            return;
        }
        let (sent, total) = self
            .sending
            .values()
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let mut line = format!("{} of {} hosts", self.over_count, self.host_count);
        if total > 0 {
            let _ = write!(line, ", {} of {}", megabytes(sent), megabytes(total));
        }
        filermark_cli_kit::stderr_text!("\r\x1b[K{line}");
        let _ = std::io::stderr().flush();
        self.renewed = Some(Instant::now());
    }
}

/// Prints the result, a table or JSON with `more` in it; returns the exit code.
pub fn print(
    hosts: &[HostOutcome],
    more: Value,
    output: &OutputArgs,
    stop: Option<&StopFlag>,
) -> ExitCode {
    if output.json {
        let mut value = more;
        value["hosts"] = hosts.iter().map(json_of).collect();
        stdout::print_json(&value);
    } else {
        stdout::print(&table(hosts));
    }
    match hosts.iter().any(HostOutcome::is_failure) {
        _ if stop.is_some_and(StopFlag::is_raised) => ExitCode::from(interrupt::code()),
        true => ExitCode::from(1),
        false => ExitCode::SUCCESS,
    }
}

fn json_of(host: &HostOutcome) -> Value {
    json!({
        "host": host.host,
        "launcher": host.launcher.to_string(),
        "state": host.state,
        "detail": host.detail,
    })
}

fn table(hosts: &[HostOutcome]) -> String {
    let widths = hosts.iter().map(|h| h.host.chars().count());
    let width = widths.max().unwrap_or(0).clamp(4, 40);
    let mut out = format!(
        "{:<width$}  {:<8}  {:<13}  WHAT\n",
        "HOST", "LAUNCHER", "STATE"
    );
    for host in hosts {
        let launcher = host.launcher;
        let _ = writeln!(
            out,
            "{:<width$}  {launcher:<8}  {:<13}  {}",
            host.host, host.state, host.detail
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::launch::LauncherKind;

    #[test]
    fn every_host_has_a_line() {
        let host = |host: &str, state| HostOutcome {
            host: host.into(),
            launcher: LauncherKind::Ssh,
            state,
            detail: "why".into(),
        };
        let hosts = [
            host("h1", HostState::Nothing),
            host("me@nas-17", HostState::Failed),
        ];
        assert_eq!(
            table(&hosts),
            "HOST       LAUNCHER  STATE          WHAT\n\
             h1         ssh       nothing to do  why\n\
             me@nas-17  ssh       FAILED         why\n"
        );
        assert_eq!(
            json_of(&hosts[1]),
            json!({"host": "me@nas-17", "launcher": "ssh", "state": "failed", "detail": "why"})
        );
    }
}
