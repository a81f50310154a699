//! Helpers: checks for programs, the end of a log, waits with a time limit.

use crate::error::check_enabled;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The time limit of a step that takes less than a few seconds on an idle machine: beside other load
/// it has taken more than 30 s.
pub const BUSY_LIMIT: Duration = Duration::from_secs(120);

/// Lines of a log in an error message.
const TAIL_LINES: usize = 30;

/// The search path for the fixtures' programs: the user's own, and the system
/// directories, which may be missing in it.
pub(crate) fn search_path() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    format!("{own}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
}

/// Checks that each program is installed; the second of a pair names the
/// Debian package that has it.
pub(crate) fn need(programs: &[(&str, &str)]) -> Result<()> {
    check_enabled()?;
    let path = search_path();
    for (program, package) in programs {
        let found = path
            .split(':')
            .filter(|dir| !dir.is_empty())
            .any(|dir| Path::new(dir).join(program).is_file());
        if !found {
            return Err(Error::Unavailable(format!(
                "{program} is missing (Debian package {package}); run ci/install-deps"
            )));
        }
    }
    Ok(())
}

/// The last lines of a log file, or why there are none.
pub(crate) fn log_tail(log: &Path) -> String {
    match std::fs::read(log) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            let lines: Vec<&str> = text.lines().collect();
            lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
        }
        Err(error) => format!("(no log {}: {error})", log.display()),
    }
}

/// Calls `check` every few milliseconds until it returns a value.
pub(crate) fn wait_until<T>(
    what: &str,
    limit: Duration,
    log: &Path,
    mut check: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(answer) = check()? {
            return Ok(answer);
        }
        if start.elapsed() > limit {
            return Err(Error::TimedOut {
                what: what.to_owned(),
                limit,
                log: log_tail(log),
            });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Writes a file of a fixture.
pub(crate) fn write(path: PathBuf, text: &str) -> Result<PathBuf> {
    std::fs::write(&path, text).map_err(Error::path("write", &path))?;
    Ok(path)
}
