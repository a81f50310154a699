//! Processor time and memory of this process, as the kernel counts them.

use rustix::time::{ClockId, clock_gettime};

/// Processor time of the whole process so far (user and system), in nanoseconds.
pub fn process_ns() -> u64 {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Memory of this process that is in use (resident), in bytes.
pub fn resident_bytes() -> u64 {
    status_bytes("VmRSS:")
}

/// The maximum of the resident memory so far, in bytes.
pub fn peak_bytes() -> u64 {
    status_bytes("VmHWM:")
}

fn status_bytes(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(name));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
