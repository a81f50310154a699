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

/// The most that it ever was, in bytes.
pub fn peak_bytes() -> u64 {
    status_bytes("VmHWM:")
}

fn status_bytes(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(name));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Processor time of children that have ended and were waited for, in nanoseconds.
pub fn children_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = text.rsplit(')').next().unwrap_or_default();
    // Fields 16 and 17 of proc(5), in ticks; the first behind the name is field 3.
    let ticks = behind_name.split_whitespace().skip(13).take(2);
    let ticks: u64 = ticks.filter_map(|t| t.parse::<u64>().ok()).sum();
    ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second()
}
