//! What can go wrong with a fixture, and how a test reacts to it.

use std::path::PathBuf;
use std::time::Duration;

/// `require` (`./test`): a fixture that this machine cannot offer fails the
/// test. `none` (`./test quick`): no fixture is offered. Otherwise a test whose
/// fixture is missing is skipped.
const POLICY: &str = "FILERMARK_TESTBED";

/// Whether the environment says so.
fn policy_is(value: &str) -> bool {
    std::env::var(POLICY).is_ok_and(|given| given == value)
}

/// Checks that fixtures are wanted.
///
/// # Errors
///
/// [`Error::Unavailable`] under `FILERMARK_TESTBED=none`.
pub(crate) fn are_wanted() -> Result<()> {
    if policy_is("none") {
        return Err(Error::Unavailable(format!("{POLICY}=none: no fixtures")));
    }
    Ok(())
}

/// The result of a fixture's operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a fixture is not there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This machine lacks something: not root, a package is missing.
    #[error("not available here: {0}")]
    Unavailable(String),
    /// A program of the fixture failed; `log` is the end of what it said.
    #[error("{what}: {why}\n--- its last words ---\n{log}")]
    Failed {
        /// The program, or the step.
        what: String,
        /// What was seen.
        why: String,
        /// The last lines of its output.
        log: String,
    },
    /// Something that should have happened did not, in time.
    #[error("{what}: not there after {limit:?}\n--- its last words ---\n{log}")]
    TimedOut {
        /// What was waited for.
        what: String,
        /// How long.
        limit: Duration,
        /// The last lines of the program's output.
        log: String,
    },
    /// A system call failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done, and to what.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl Error {
    /// For `map_err` on I/O: names the step that failed.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
        let what = what.into();
        move |source| Error::Io { what, source }
    }

    /// A program that ended, or said no.
    pub(crate) fn failed(
        what: impl Into<String>,
        why: impl Into<String>,
        log: impl Into<String>,
    ) -> Error {
        Error::Failed {
            what: what.into(),
            why: why.into(),
            log: log.into(),
        }
    }

    /// A path for messages.
    pub(crate) fn path(
        action: &str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Error {
        Error::io(format!("{action} {}", path.into().display()))
    }
}

/// Unwraps a fixture in a test, or says that the test has to be skipped.
///
/// `None` means: this machine cannot offer the fixture; the reason is on
/// stderr. Where the environment says `FILERMARK_TESTBED=require`, as `./test`
/// does after installing everything, that is a failure instead.
///
/// # Panics
///
/// On every error but [`Error::Unavailable`], and on that one too under
/// `FILERMARK_TESTBED=require`: it is for tests.
#[track_caller]
pub fn available<T>(fixture: Result<T>) -> Option<T> {
    match fixture {
        Ok(fixture) => Some(fixture),
        Err(Error::Unavailable(reason)) if policy_is("require") => {
            panic!("the test bed is required here, but {reason}")
        }
        Err(Error::Unavailable(reason)) => {
            eprintln!("SKIPPED: {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
