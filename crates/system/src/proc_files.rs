//! The files below /proc and /sys in which Linux shows its state. Elsewhere these paths are
//! ordinary ones (on Windows `C:\proc`, which any user may make), so nothing is read there.

use std::fs::ReadDir;
use std::io;
use std::path::Path;

/// Whether the paths below /proc and /sys are the kernel's.
const ARE_THE_KERNELS: bool = cfg!(target_os = "linux");

/// Reads a file below /proc or /sys.
///
/// # Errors
/// Unsupported on all systems but Linux; else that of the read.
pub fn read_proc(path: impl AsRef<Path>) -> io::Result<String> {
    only_on_linux()?;
    std::fs::read_to_string(path)
}

/// Lists a directory below /proc or /sys.
///
/// # Errors
/// As those of [`read_proc`].
pub fn list_proc(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    only_on_linux()?;
    std::fs::read_dir(path)
}

/// Whether there is a file or directory below /proc or /sys; `false` on all systems but Linux.
pub fn proc_exists(path: impl AsRef<Path>) -> bool {
    ARE_THE_KERNELS && path.as_ref().exists()
}

/// This host's memory, as Linux reports it; `None` elsewhere.
pub fn mem_bytes() -> Option<u64> {
    let text = read_proc("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

fn only_on_linux() -> io::Result<()> {
    match ARE_THE_KERNELS {
        true => Ok(()),
        false => Err(io::ErrorKind::Unsupported.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The directory exists on all systems, so the answer is the system's.
    #[test]
    fn only_linux_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("stat");
        std::fs::write(&file, "cpu 1\n").unwrap();
        let is_linux = cfg!(target_os = "linux");
        assert_eq!(read_proc(&file).is_ok_and(|t| t == "cpu 1\n"), is_linux);
        assert_eq!(list_proc(dir.path()).is_ok(), is_linux);
        assert_eq!(proc_exists(&file), is_linux);
        assert!(read_proc(dir.path().join("none")).is_err());
    }
}
