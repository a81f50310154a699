//! The limit of open files.

/// Raises the limit of open files to `wanted` as far as allowed, and returns what
/// it is then.
#[cfg(unix)]
pub fn open_files_limit(wanted: u64) -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let current = now.current.unwrap_or(u64::MAX);
    if current >= wanted {
        return current;
    }
    let target = wanted.min(now.maximum.unwrap_or(u64::MAX));
    let raised = Rlimit {
        current: Some(target),
        maximum: now.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => target,
        Err(_) => current,
    }
}

/// This system has no limit of its own for sockets.
#[cfg(not(unix))]
pub fn open_files_limit(_wanted: u64) -> u64 {
    u64::MAX
}
