//! What is said where the watchdog of a process does not start.

/// Why a load point is not begun.
pub fn no_watchdog(why: &std::io::Error) -> String {
    format!(
        "the thread that watches whether the process stands still cannot be started: {why}; \
         see the limits of threads and memory on this host (ulimit -u, the cgroup's pids.max)"
    )
}
