//! Values of the kernel from its files (Linux); unknown on other systems.

use crate::facts::LimitFacts;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;

/// The settings that the sources advise on (manual N and slides E), and one that shows whether
/// the last of them still matters.
const SYSCTLS: &[&str] = &[
    "net.core.netdev_max_backlog",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "sunrpc.tcp_max_slot_table_entries",
    "sunrpc.tcp_slot_table_entries",
];

/// Ports in the range of RESVPORT, of which one will be free.
const LOW_PORTS_TRIED: std::ops::Range<u16> = 900..1024;
/// Processors that are inspected at most.
const CPUS_MAX: usize = 4096;

/// Those that are readable; values with single spaces.
pub fn sysctls() -> BTreeMap<String, String> {
    let read = |name: &&str| {
        let path = Path::new("/proc/sys").join(name.replace('.', "/"));
        let words = line_of(path)?;
        let words: Vec<&str> = words.split_whitespace().collect();
        Some(((*name).to_owned(), words.join(" ")))
    };
    SYSCTLS.iter().filter_map(read).collect()
}

/// Memory that is available without swapping, in bytes; the limit of the process's control
/// group, if that is smaller. `None`: the system does not report it (macOS, FreeBSD).
pub fn memory_available_bytes() -> Option<u64> {
    let of_host = match filermark_system::read_proc("/proc/meminfo") {
        Ok(text) => meminfo_bytes(&text, "MemAvailable")?,
        Err(_) => filermark_system::memory_available_bytes()?,
    };
    Some(group_left_bytes().map_or(of_host, |left| left.min(of_host)))
}

/// Whether this process may bind a port below 1024 (as root, by a capability or a kernel
/// setting), found out by trying.
pub fn low_ports() -> Option<bool> {
    for port in LOW_PORTS_TRIED {
        match UdpSocket::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => return Some(true),
            Err(e) if e.kind() == ErrorKind::PermissionDenied => return Some(false),
            Err(e) if e.kind() == ErrorKind::AddrInUse => {}
            Err(_) => return None,
        }
    }
    None
}

fn meminfo_bytes(text: &str, name: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// What the control group (version 2) of this process still allows.
fn group_left_bytes() -> Option<u64> {
    let groups = filermark_system::read_proc("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|l| l.strip_prefix("0::/"))?;
    let dir = Path::new("/sys/fs/cgroup").join(own);
    let number = |name: &str| line_of(dir.join(name))?.parse::<u64>().ok();
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

/// The limits of this process.
pub fn limits() -> LimitFacts {
    let limits = filermark_system::limits();
    // The limit does not apply to root.
    let is_root = filermark_system::user().is_some_and(|user| user.effective_uid == 0);
    LimitFacts {
        open_files_soft: limits.open_files_soft,
        open_files_hard: limits.open_files_hard,
        threads: limits.threads.filter(|_| !is_root),
    }
}

/// The frequency governors of the processors, each once.
pub fn governors() -> Vec<String> {
    let dirs = filermark_system::list_proc("/sys/devices/system/cpu").into_iter();
    let found: BTreeSet<String> = dirs
        .flatten()
        .flatten()
        .take(CPUS_MAX)
        .filter_map(|dir| line_of(dir.path().join("cpufreq/scaling_governor")))
        .collect();
    found.into_iter().collect()
}

/// The fastest physical interface that is up, in megabits per second.
pub fn nic_mbps() -> Option<u32> {
    let dirs = filermark_system::list_proc("/sys/class/net").ok()?;
    let speed = |dir: std::path::PathBuf| {
        let up = line_of(dir.join("operstate"))? == "up"
            && filermark_system::proc_exists(dir.join("device"));
        // Virtual ones have -1.
        line_of(dir.join("speed")).filter(|_| up)?.parse().ok()
    };
    dirs.flatten().filter_map(|dir| speed(dir.path())).max()
}

/// Whether SELinux is enforcing; `None`: there is no SELinux.
pub fn selinux_enforcing() -> Option<bool> {
    line_of("/sys/fs/selinux/enforce").map(|mode| mode == "1")
}

/// The first line of a small file of the kernel; `None`: it cannot be read or is empty, or this
/// is not Linux.
pub(crate) fn line_of(path: impl AsRef<std::path::Path>) -> Option<String> {
    let text = filermark_system::read_proc(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read() {
        let text = "MemTotal:  16384 kB\nMemAvailableX: 1 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(meminfo_bytes(text, "MemAvailable"), Some(2 << 20));
        assert_eq!(meminfo_bytes(text, "Swap"), None);
        assert_eq!(meminfo_bytes("MemAvailable: x kB", "MemAvailable"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_values_of_this_kernel_are_read() {
        let found = sysctls();
        assert_eq!(found["net.ipv4.tcp_rmem"].split(' ').count(), 3);
        assert!(limits().open_files_soft.is_some());
    }
}
