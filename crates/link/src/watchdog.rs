//! The message if the watchdog of a process does not start.

/// Why a load point is not begun.
pub fn no_watchdog(why: &std::io::Error) -> String {
    format!(
        "the watchdog thread, which detects stalls of this process, cannot be started: {why}; \
         see the limits of threads and memory on this host (ulimit -u, the cgroup's pids.max)"
    )
}
