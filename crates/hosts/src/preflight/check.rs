//! What preflight tells: one line for each thing it looked at.

use filermark_model::text::sanitize;
use serde::Serialize;
use std::fmt;

/// Longest sentence that is kept, in characters.
const SENTENCE_CHARS_MAX: usize = 2000;
/// Longest command, in characters: two quoted paths fit.
const COMMAND_CHARS_MAX: usize = 16 << 10;

/// The host that a check of all clients together is listed under.
pub const ALL: &str = "all";
/// The host that a check of this one is listed under.
pub const PRIME: &str = "prime";

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// A run will do, but its figures or its convenience may suffer.
    Warning,
    /// A run will not do.
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

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The client by its name in the rc file, [`PRIME`] or [`ALL`].
    pub host: String,
    /// What was looked at, in one word.
    pub what: &'static str,
    /// How it went.
    pub verdict: CheckStatus,
    /// What was found; where something is wrong, why that matters.
    pub sentence: String,
    /// What mends it, to be run on that host; `None`: no single command does.
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

    /// It will not do.
    pub fn failure(host: &str, what: &'static str, sentence: impl Into<String>) -> Self {
        Self::new(CheckStatus::Failure, host, what, sentence)
    }

    /// This command mends it.
    #[must_use]
    pub fn fix(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// The command that the sentence itself names, between backticks, mends it.
    #[must_use]
    pub fn fix_as_stated(mut self) -> Self {
        let mut quoted = self.sentence.split('`').skip(1).step_by(2);
        self.command = quoted.next().map(str::to_owned);
        self
    }
}

/// All that preflight found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Grouped by host: the prime, the clients in the order of the rc file, all.
    pub checks: Vec<Check>,
    /// The clients of the rc file.
    pub host_count: usize,
    /// The user ended it before everything was looked at.
    pub stopped: bool,
}

impl Findings {
    /// Sorts checks by host; what belongs to one stays in its order. Hosts and files have
    /// put words into them: a terminal must not obey those, in no form of the output.
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

    /// Checks that went so.
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
    fn sentence_and_command_are_tame() {
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
        let told = Check::failure("h", "ssh", "denied; `filermark keys -r RC` sets it up");
        assert_eq!(
            told.fix_as_stated().command.as_deref(),
            Some("filermark keys -r RC")
        );
        assert_eq!(
            Check::failure("h", "ssh", "no").fix_as_stated().command,
            None
        );
    }
}
