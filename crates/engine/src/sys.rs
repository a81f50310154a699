//! Code for one operating system, one module each, with the same functions.

#[cfg(unix)]
mod unix;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::*;

#[cfg(all(unix, not(target_os = "linux")))]
mod other_unix;
#[cfg(all(unix, not(target_os = "linux")))]
pub use other_unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::*;

/// Processors that this process may use.
pub fn core_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
