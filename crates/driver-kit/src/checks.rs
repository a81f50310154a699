//! Checks of a protocol: how a check is declared, in one line, and how checks are run.

use crate::driver::ClaimReport;
use crate::validation::{CheckResult, Level, Report, Verdict};
use filermark_engine::driver::{DriverError, StopFlag};
use std::fmt::Display;
use std::time::Instant;

/// Why a check ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The server did what it must not do.
    Fail {
        /// The expected result.
        expected: String,
        /// The actual result.
        got: String,
    },
    /// The check cannot be run.
    Skip(String),
}

impl Stop {
    /// A failure.
    pub fn fail(expected: impl Display, got: impl Display) -> Self {
        Self::Fail {
            expected: expected.to_string(),
            got: got.to_string(),
        }
    }

    /// No result, with the reason.
    pub fn skip(why: impl Display) -> Self {
        Self::Skip(why.to_string())
    }
}

/// How a check ends.
pub type Outcome = Result<(), Stop>;

/// What the checks of a protocol, or of a version of it, have in common.
pub trait Suite: Sized + 'static {
    /// The access that a check has to the server.
    type Bench<'a>: Bench;
    /// What a check is about: a procedure, an operation.
    type About: Copy + 'static;
    /// Where something is required.
    type Rule: Copy + 'static;
    /// A dialect of the protocol, with which the checks are run; `()` if there is only one.
    type Dialect: Copy + PartialOrd + 'static;

    /// The displayed name of what a check is about: "LOOKUP".
    fn name_of(about: Self::About) -> &'static str;
    /// The displayed name of a dialect, if the protocol has several.
    fn dialect_name(dialect: Self::Dialect) -> Option<&'static str>;
    /// The section of the specification that requires what a check expects.
    fn section_of(check: &Check<Self>, dialect: Self::Dialect) -> String;
}

/// What the runner needs of the access to the server.
pub trait Bench {
    /// Makes a separate directory for the check of this number.
    ///
    /// # Errors
    /// The server refused that.
    fn enter(&mut self, number: u32) -> Outcome;
    /// Removes the directory with its contents. `is_done`: the check was not ended early.
    fn leave(&mut self, is_done: bool);
    /// Takes the check's notes.
    fn take_notes(&mut self) -> Vec<String>;
    /// Why no further check can run after this one. `goes_on`: there is another one.
    fn lost(&mut self, result: &CheckResult, goes_on: bool) -> Option<String>;
}

/// One check, declared with [`checks!`](crate::checks!).
pub struct Check<S: Suite> {
    /// Its name: "lookup.noent".
    pub id: &'static str,
    /// What it is about.
    pub about: S::About,
    /// What is expected, in a few words.
    pub title: &'static str,
    /// Where that is required, if not where `about` is specified.
    pub rule: Option<S::Rule>,
    /// The lowest dialect that it is run with.
    pub lowest: Option<S::Dialect>,
    run: fn(&mut S::Bench<'_>) -> Outcome,
}

impl<S: Suite> Check<S> {
    /// A check for all dialects.
    pub const fn new(
        id: &'static str,
        about: S::About,
        title: &'static str,
        run: fn(&mut S::Bench<'_>) -> Outcome,
    ) -> Self {
        Self {
            id,
            about,
            title,
            rule: None,
            lowest: None,
            run,
        }
    }

    /// Required there.
    #[must_use]
    pub const fn by(mut self, rule: S::Rule) -> Self {
        self.rule = Some(rule);
        self
    }

    /// Only with this dialect and those above.
    #[must_use]
    pub const fn from(mut self, dialect: S::Dialect) -> Self {
        self.lowest = Some(dialect);
        self
    }

    /// Whether it is run with a dialect.
    pub fn is_for(&self, dialect: S::Dialect) -> bool {
        self.lowest.is_none_or(|lowest| lowest <= dialect)
    }

    /// The name of what it is about.
    pub fn about_name(&self) -> &'static str {
        S::name_of(self.about)
    }

    /// The section of the specification for a dialect.
    pub fn section(&self, dialect: S::Dialect) -> String {
        S::section_of(self, dialect)
    }

    /// Runs it alone, in the directory that the bench has.
    ///
    /// # Errors
    /// Why it ended early.
    pub fn outcome(&self, bench: &mut S::Bench<'_>) -> Outcome {
        (self.run)(bench)
    }

    /// Its result.
    pub fn result(
        &self,
        dialect: S::Dialect,
        outcome: Outcome,
        notes: Vec<String>,
        begun: Instant,
    ) -> CheckResult {
        CheckResult {
            id: self.id,
            procedure: self.about_name(),
            dialect: S::dialect_name(dialect),
            title: self.title,
            verdict: match outcome {
                Ok(()) => Verdict::Pass,
                Err(Stop::Skip(why)) => Verdict::Skipped { why },
                Err(Stop::Fail { expected, got }) => Verdict::Fail {
                    expected,
                    got,
                    section: self.section(dialect),
                },
            },
            notes,
            elapsed: begun.elapsed(),
        }
    }
}

impl<S: Suite> std::fmt::Debug for Check<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.id, self.title)
    }
}

/// Declares a table of checks, one line each:
/// `"name", about, "what is expected" => function, by rule, from dialect;`
/// (`by` and `from` only where they are needed). `ci/check-docs` reads these lines.
#[macro_export]
macro_rules! checks {
    ($name:ident: $check:ty => $($id:literal, $about:expr, $title:literal => $run:ident
        $(, by $rule:expr)? $(, from $dialect:expr)?;)*) => {
        pub(super) const $name: &[$check] = &[
            $(<$check>::new($id, $about, $title, $run)$(.by($rule))?$(.from($dialect))?),*
        ];
    };
}

/// Checks that run one after the other, and their results.
pub struct Course<'a> {
    /// The results until now.
    pub report: Report,
    stop: &'a StopFlag,
    sink: &'a mut dyn FnMut(&CheckResult),
}

impl<'a> Course<'a> {
    /// Every result is added to `report` and passed to `sink` at once. A raised `stop` ends
    /// the checks after the present one.
    pub fn new(report: Report, stop: &'a StopFlag, sink: &'a mut dyn FnMut(&CheckResult)) -> Self {
        Self { report, stop, sink }
    }

    /// Whether there is a reason to run another check.
    pub fn goes_on(&self) -> bool {
        let is_over = self.report.level == Level::First && self.report.failed_count() > 0;
        self.report.cut_short.is_none() && !is_over
    }

    /// Adds a result.
    pub fn take(&mut self, result: CheckResult) {
        (self.sink)(&result);
        self.report.results.push(result);
    }

    /// Runs the checks with one dialect, each in a separate directory.
    pub fn run<'c, S: Suite>(
        &mut self,
        checks: impl Iterator<Item = &'c Check<S>>,
        dialect: S::Dialect,
        bench: &mut S::Bench<'_>,
    ) {
        for (number, check) in (1..).zip(checks.filter(|check| check.is_for(dialect))) {
            if self.stop.is_raised() {
                self.report.cut_short = Some("on request".to_owned());
                return;
            }
            let begun = Instant::now();
            let outcome = bench.enter(number).and_then(|()| check.outcome(bench));
            bench.leave(outcome.is_ok());
            let result = check.result(dialect, outcome, bench.take_notes(), begun);
            self.take(result);
            let goes_on = self.goes_on();
            if let Some(result) = self.report.results.last()
                && let Some(why) = bench.lost(result, goes_on)
            {
                self.report.cut_short = Some(why);
                return;
            }
            if !goes_on {
                return;
            }
        }
    }

    /// The report, with what remains on the server after the run's directory was released.
    pub fn end(self, released: Result<ClaimReport, DriverError>) -> Report {
        let mut report = self.report;
        match released {
            Ok(released) => {
                let is_new = |name: &String| !report.not_ours.contains(name);
                let foreign: Vec<_> = released.not_ours.into_iter().filter(is_new).collect();
                report.not_ours.extend(foreign);
                let stay = released.not_removed;
                report.leftovers = (!stay.is_empty())
                    .then(|| format!("{}: the server did not remove it", stay.join(", ")));
            }
            // The results are still valid.
            Err(error) => report.leftovers = Some(error.to_string()),
        }
        report
    }
}

/// Checks that two values are equal.
///
/// # Errors
/// They differ.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, wanted: T, got: T) -> Outcome {
    match wanted == got {
        true => Ok(()),
        false => Err(Stop::fail(
            format!("{what}: {wanted:?}"),
            format!("{got:?}"),
        )),
    }
}

/// Pseudo-random bytes, so that wrong data does not match by chance.
pub fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..len).map(step).collect()
}

/// Compares data; the failure states where it differs.
///
/// # Errors
/// It differs.
pub fn same_bytes(offset: u64, wanted: &[u8], got: &[u8]) -> Outcome {
    if wanted == got {
        return Ok(());
    }
    let expected = format!("{} bytes at {offset}, as written", wanted.len());
    let position = wanted.iter().zip(got).position(|(a, b)| a != b);
    Err(match position {
        Some(at) => Stop::fail(
            expected,
            format!(
                "{} bytes, the first wrong one at {} ({:#04x} instead of {:#04x})",
                got.len(),
                offset + at as u64,
                got.get(at).copied().unwrap_or_default(),
                wanted.get(at).copied().unwrap_or_default(),
            ),
        ),
        None => Stop::fail(expected, format!("{} bytes", got.len())),
    })
}
