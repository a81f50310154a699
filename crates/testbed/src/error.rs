//! The errors of fixtures, and how a test handles them.

use std::path::PathBuf;
use std::time::Duration;

/// `require` (`./test`): a fixture that is not available on this machine fails the
/// test. `none` (`./test quick`): no fixture is available. Otherwise a test whose
/// fixture is not available is skipped.
const POLICY: &str = "FILERMARK_TESTBED";

/// Whether the environment variable has this value.
fn policy_is(value: &str) -> bool {
    std::env::var(POLICY).is_ok_and(|given| given == value)
}

/// Checks that fixtures are enabled.
///
/// # Errors
///
/// [`Error::Unavailable`] under `FILERMARK_TESTBED=none`.
pub(crate) fn check_enabled() -> Result<()> {
    if policy_is("none") {
        return Err(Error::Unavailable(format!("{POLICY}=none: no fixtures")));
    }
    Ok(())
}

/// The result of a fixture's operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a fixture failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not possible on this machine: not root, or a package is missing.
    #[error("not available here: {0}")]
    Unavailable(String),
    /// A program of the fixture failed; `log` is the end of its output.
    #[error("{what}: {why}\n--- end of its output ---\n{log}")]
    Failed {
        /// The program, or the step.
        what: String,
        /// The exit status or the problem.
        why: String,
        /// The last lines of its output.
        log: String,
    },
    /// What was waited for did not happen in time.
    #[error("{what}: timed out after {limit:?}\n--- end of its output ---\n{log}")]
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
        /// The error of the system.
        source: std::io::Error,
    },
}

impl Error {
    /// For `map_err` of I/O errors: adds the step that failed.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
        let what = what.into();
        move |source| Error::Io { what, source }
    }

    /// A program that ended or refused.
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

    /// As [`Error::io`], for an action on a path.
    pub(crate) fn path(
        action: &str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Error {
        Error::io(format!("{action} {}", path.into().display()))
    }
}

/// Unwraps a fixture in a test, or returns `None` if the test must be skipped.
///
/// `None`: the fixture is not available on this machine; the reason is on stderr.
/// With `FILERMARK_TESTBED=require` in the environment, which `./test` sets after
/// installing everything, that is a failure instead.
///
/// # Panics
///
/// On every error but [`Error::Unavailable`], and with
/// `FILERMARK_TESTBED=require` on that one, too.
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
