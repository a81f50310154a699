//! The checks of preflight: one line for each.

use filermark_model::text::sanitize;
use serde::Serialize;
use std::fmt;

/// Longest message, in characters.
const SENTENCE_CHARS_MAX: usize = 2000;
/// Longest command, in characters: two quoted paths fit.
const COMMAND_CHARS_MAX: usize = 16 << 10;

/// The host name of checks of all clients together.
pub const ALL: &str = "all";
/// The host name of checks of the prime's host.
pub const PRIME: &str = "prime";

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// A run is possible, but its figures may be affected.
    Warning,
    /// A run would fail.
    Failure,
}

impl fmt::Display for CheckStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Warning => "warn",
            Self::Failure => "FAIL",
        })
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The client by its name in the rc file, [`PRIME`] or [`ALL`].
    pub host: String,
    /// The subject of the check, in one word.
    pub what: &'static str,
    /// Its result.
    pub verdict: CheckStatus,
    /// The result as a message; if something is wrong, why it matters.
    pub sentence: String,
    /// The command that fixes it, to be run on that host; `None`: there is no single command.
    pub command: Option<String>,
}

impl Check {
    fn new(
        verdict: CheckStatus,
        host: &str,
        what: &'static str,
        sentence: impl Into<String>,
    ) -> Self {
        Self {
            host: host.into(),
            what,
            verdict,
            sentence: sentence.into(),
            command: None,
        }
    }

    /// It is as it should be.
    pub fn ok(host: &str, what: &'static str, sentence: impl Into<String>) -> Self {
        Self::new(CheckStatus::Ok, host, what, sentence)
    }

    /// It could be better.
    pub fn warning(host: &str, what: &'static str, sentence: impl Into<String>) -> Self {
        Self::new(CheckStatus::Warning, host, what, sentence)
    }

    /// A run would fail.
    pub fn failure(host: &str, what: &'static str, sentence: impl Into<String>) -> Self {
        Self::new(CheckStatus::Failure, host, what, sentence)
    }

    /// This command fixes it.
    #[must_use]
    pub fn fix(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// The command between backticks in the message fixes it.
    #[must_use]
    pub fn fix_as_stated(mut self) -> Self {
        let mut quoted = self.sentence.split('`').skip(1).step_by(2);
        self.command = quoted.next().map(str::to_owned);
        self
    }
}

/// All results of preflight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Grouped by host: the prime, the clients in the order of the rc file, all.
    pub checks: Vec<Check>,
    /// The clients of the rc file.
    pub host_count: usize,
    /// The user stopped it before all checks were done.
    pub stopped: bool,
}

impl Findings {
    /// Sorts checks by host; those of one host keep their order. Messages contain text from
    /// hosts and files: control characters are removed for all forms of the output.
    pub(super) fn new(mut checks: Vec<Check>, clients: &[String], stopped: bool) -> Self {
        let place = |check: &Check| match check.host.as_str() {
            PRIME => 0,
            ALL => clients.len() + 1,
            host => clients.iter().position(|c| c == host).unwrap_or(0) + 1,
        };
        checks.sort_by_cached_key(place);
        for check in &mut checks {
            check.sentence = sanitize(&check.sentence, SENTENCE_CHARS_MAX);
            let command = check.command.take();
            check.command = command.map(|c| sanitize(&c, COMMAND_CHARS_MAX));
        }
        Self {
            checks,
            host_count: clients.len(),
            stopped,
        }
    }

    /// The number of checks with this result.
    pub fn count(&self, verdict: CheckStatus) -> usize {
        let of = |c: &&Check| c.verdict == verdict;
        self.checks.iter().filter(of).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_grouped_by_host_and_counted() {
        let clients = ["h2".to_owned(), "h1".to_owned()];
        let checks = vec![
            Check::ok(ALL, "space", ""),
            Check::failure("h1", "ssh", ""),
            Check::ok("h2", "ssh", ""),
            Check::warning("h1", "cpu", ""),
            Check::ok(PRIME, "files", ""),
        ];
        let findings = Findings::new(checks, &clients, false);
        let hosts: Vec<_> = findings.checks.iter().map(|c| c.host.as_str()).collect();
        assert_eq!(hosts, ["prime", "h2", "h1", "h1", "all"]);
        assert_eq!(findings.checks[2].what, "ssh");
        let counts = [CheckStatus::Ok, CheckStatus::Warning, CheckStatus::Failure]
            .map(|v| findings.count(v));
        assert_eq!(counts, [3, 1, 1]);
    }

    #[test]
    fn sentence_and_command_are_sanitized() {
        let check = Check::failure("h", "mount", "no\x1b[2J").fix("ls '\u{9b}2J\n'");
        let findings = Findings::new(vec![check], &["h".to_owned()], false);
        assert_eq!(findings.checks[0].sentence, "no\u{fffd}[2J");
        assert_eq!(
            findings.checks[0].command.as_deref(),
            Some("ls '\u{fffd}2J '")
        );
    }

    #[test]
    fn a_command_in_the_sentence_is_found() {
        let check = Check::failure("h", "ssh", "denied; `filermark keys -r RC` sets it up");
        assert_eq!(
            check.fix_as_stated().command.as_deref(),
            Some("filermark keys -r RC")
        );
        assert_eq!(
            Check::failure("h", "ssh", "no").fix_as_stated().command,
            None
        );
    }
}
