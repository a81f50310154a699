//! Block devices: `/sys/dev/block/MAJOR:MINOR/stat` counts what was read from a disk, a
//! partition, a volume (device mapper) or a loop device. Others that read from it are
//! counted too, and so are directories and other metadata: what is left for the
//! client's memory is the least that it can have been.
//!
//! Of a loop device what its backing file's own cache answered counts as read from the
//! device. RAM disks are memory.

use std::path::{Path, PathBuf};

/// Bytes of the unit that the kernel counts in, whatever the device's own.
const SECTOR_BYTES: u64 = 512;

/// What is below a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Device {
    /// This file counts.
    Counted(PathBuf),
    /// The client's memory.
    Memory,
}

/// The device of a file system with this device number. Where it has a number of its
/// own making (btrfs), its source names the device.
pub(super) fn of(device: u64, source: &str) -> Option<Device> {
    let by_number = in_sysfs(device);
    let by_source = || {
        // Several devices in one source are separated by colons; then it is not known.
        let path = Path::new(source);
        let is_device = source.starts_with("/dev/") && !source.contains(':');
        in_sysfs(crate::sys::device_at(path.to_str().filter(|_| is_device)?)?)
    };
    by_number.or_else(by_source)
}

fn in_sysfs(device: u64) -> Option<Device> {
    let (major, minor) = crate::sys::device_numbers(device);
    let dir = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let name = std::fs::read_link(&dir).ok()?;
    match is_memory(name.file_name()?.to_str()?) {
        true => Some(Device::Memory),
        false => Some(Device::Counted(dir.join("stat"))),
    }
}

/// By the kernel's names: `ram0`, `zram1`.
fn is_memory(name: &str) -> bool {
    let number = name.strip_prefix('z').unwrap_or(name).strip_prefix("ram");
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Reads, reads merged, sectors read, ... (Documentation/block/stat.rst of Linux).
pub fn read_bytes_in(stat: &str) -> Option<u64> {
    let sectors: u64 = stat.split_ascii_whitespace().nth(2)?.parse().ok()?;
    Some(sectors.saturating_mul(SECTOR_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_figure_is_sectors_read() {
        let loop_device = "     251        0    16442        9      104        0     8136       \
                           26        0       52       36        0        0        0        0        0        0\n";
        assert_eq!(read_bytes_in(loop_device), Some(16_442 * 512));
        for broken in ["", "1 2", "1 2 x", "1 2 -3"] {
            assert_eq!(read_bytes_in(broken), None, "{broken}");
        }
    }

    #[test]
    fn ram_disks_are_known_by_name() {
        assert!(is_memory("ram0") && is_memory("zram12"));
        for disk in ["sda1", "ramdisk", "loop0", "dm-0", "nvme0n1p1", "ram", ""] {
            assert!(!is_memory(disk), "{disk}");
        }
    }

    #[test]
    fn what_is_no_block_device_has_no_counter() {
        assert_eq!(of(0, "/dev/none"), None);
        assert_eq!(of(0, "tmpfs"), None);
        assert_eq!(of(u64::MAX, "/dev/a:/dev/b"), None);
        assert_eq!(of(0, "/dev/null"), None, "no block device");
    }
}
