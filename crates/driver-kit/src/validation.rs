//! The results of a protocol's checks, and their text: the same for every protocol.

use std::fmt::Write;
use std::time::Duration;

/// How many checks are run (`-v LEVEL` of the classical manual: 1 or 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Stops at the first failure.
    First,
    /// Runs every check.
    All,
}

/// The verdict of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As the specification requires.
    Pass,
    /// Not as the specification requires.
    Fail {
        /// The expected result.
        expected: String,
        /// The actual result.
        got: String,
        /// The section of the specification.
        section: String,
    },
    /// It could not be run.
    Skipped {
        /// The reason.
        why: String,
    },
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// The check's name: "lookup.noent".
    pub id: &'static str,
    /// The procedure or operation it is about: "LOOKUP".
    pub procedure: &'static str,
    /// The dialect it was run with, if a protocol has several: "3.1.1".
    pub dialect: Option<&'static str>,
    /// What is expected, in a few words.
    pub title: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// Further observations: what the specification leaves to the server.
    pub notes: Vec<String>,
    /// How long it took.
    pub elapsed: Duration,
}

impl CheckResult {
    /// Whether the server did something that it must not do.
    pub const fn is_failure(&self) -> bool {
        matches!(self.verdict, Verdict::Fail { .. })
    }

    /// One line, and more lines (each beginning with blanks) for reasons and notes.
    pub fn render_text(&self) -> String {
        let word = match self.verdict {
            Verdict::Pass => "pass",
            Verdict::Fail { .. } => "FAIL",
            Verdict::Skipped { .. } => "skip",
        };
        let about = match self.dialect {
            Some(dialect) => format!("{dialect:<5}  {:<14}", self.procedure),
            None => format!("{:<11}", self.procedure),
        };
        let mut text = format!("{word}  {about}  {:<26}  {}", self.id, self.title);
        match &self.verdict {
            Verdict::Pass => {}
            Verdict::Fail {
                expected,
                got,
                section,
            } => {
                let _ = write!(text, "\n      expected: {expected}");
                let _ = write!(text, "\n      got:      {got}");
                let _ = write!(text, "\n      see:      {section}");
            }
            Verdict::Skipped { why } => {
                let _ = write!(text, "\n      because:  {why}");
            }
        }
        for note in &self.notes {
            let _ = write!(text, "\n      note:     {note}");
        }
        text
    }
}

/// The results of a validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The protocol: "NFSv3".
    pub protocol: &'static str,
    /// The mount point.
    pub mount: String,
    /// What is known about the server: name, value.
    pub server_facts: Vec<(String, String)>,
    /// How many checks were run.
    pub level: Level,
    /// The checks that ran, in order.
    pub results: Vec<CheckResult>,
    /// Why it ended early, if it did: a request, or the server.
    pub cut_short: Option<String>,
    /// Why the run's directory could not be removed, if so.
    pub leftovers: Option<String>,
    /// Names in the run's directory that are not ours, or could not be removed.
    pub not_ours: Vec<String>,
}

impl Report {
    /// A report without results.
    pub const fn new(
        protocol: &'static str,
        mount: String,
        server_facts: Vec<(String, String)>,
        level: Level,
    ) -> Self {
        Self {
            protocol,
            mount,
            server_facts,
            level,
            results: Vec::new(),
            cut_short: None,
            leftovers: None,
            not_ours: Vec::new(),
        }
    }

    /// Checks that passed.
    pub fn passed_count(&self) -> usize {
        self.count(|verdict| *verdict == Verdict::Pass)
    }

    /// Checks that failed.
    pub fn failed_count(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::Fail { .. }))
    }

    /// Checks that could not be run.
    pub fn skipped_count(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::Skipped { .. }))
    }

    /// Whether nothing failed, everything ran and nothing remains. Decides the exit code.
    pub fn is_success(&self) -> bool {
        self.failed_count() == 0 && self.cut_short.is_none() && self.leftovers.is_none()
    }

    fn count(&self, which: impl Fn(&Verdict) -> bool) -> usize {
        let verdicts = self.results.iter().map(|result| &result.verdict);
        verdicts.filter(|verdict| which(verdict)).count()
    }

    /// The whole report as text (`sfsval.SUFFIX`).
    pub fn render_text(&self) -> String {
        let mut text = format!(
            "{} protocol validation of {}\n\n",
            self.protocol, self.mount
        );
        for (name, value) in &self.server_facts {
            let _ = writeln!(text, "{name:<14} {value}");
        }
        text.push('\n');
        for result in &self.results {
            let _ = writeln!(text, "{}", result.render_text());
        }
        for name in &self.not_ours {
            let _ = writeln!(text, "left  {name}");
        }
        if let Some(why) = &self.leftovers {
            let _ = writeln!(text, "left  {why}");
        }
        let _ = writeln!(text, "\n{}", self.summary());
        text
    }

    /// The result in one line.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{} checks: {} passed, {} failed, {} skipped",
            self.results.len(),
            self.passed_count(),
            self.failed_count(),
            self.skipped_count()
        );
        if let Some(why) = &self.cut_short {
            let _ = write!(text, "; cut short: {why}");
        } else if self.failed_count() > 0 && self.level == Level::First {
            text.push_str("; level 1 stops at the first failure, level 2 runs all checks");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(verdict: Verdict) -> CheckResult {
        CheckResult {
            id: "lookup.noent",
            procedure: "LOOKUP",
            dialect: None,
            title: "an unknown name is not found",
            verdict,
            notes: vec!["something else".to_owned()],
            elapsed: Duration::ZERO,
        }
    }

    #[test]
    fn a_failure_shows_what_was_expected_and_the_section() {
        let failure = Verdict::Fail {
            expected: "LOOKUP: NFS3ERR_NOENT".to_owned(),
            got: "NFS3_OK".to_owned(),
            section: "RFC 1813 section 3.3.3".to_owned(),
        };
        let report = Report {
            protocol: "NFSv3",
            mount: "srv:/export".to_owned(),
            server_facts: vec![("rsize".to_owned(), "65536".to_owned())],
            level: Level::First,
            results: vec![result(Verdict::Pass), result(failure)],
            cut_short: None,
            leftovers: None,
            not_ours: vec![],
        };
        assert!(!report.is_success());
        let text = report.render_text();
        for part in [
            "srv:/export",
            "expected: LOOKUP: NFS3ERR_NOENT",
            "got:      NFS3_OK",
            "see:      RFC 1813 section 3.3.3",
            "note:     something else",
            "2 checks: 1 passed, 1 failed, 0 skipped; level 1 stops",
        ] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
    }
}
