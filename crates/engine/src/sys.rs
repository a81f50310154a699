//! Code for one operating system, one module each, with the same functions. With the feature
//! `portable`, Linux has the one of other Unix systems: its tests run so.

#[cfg(unix)]
mod unix;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod linux;
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub use linux::*;

#[cfg(all(unix, any(feature = "portable", not(target_os = "linux"))))]
mod other_unix;
#[cfg(all(unix, any(feature = "portable", not(target_os = "linux"))))]
pub use other_unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::*;

/// Processors that this process may use.
pub fn core_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
