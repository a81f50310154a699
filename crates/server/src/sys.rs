//! What the event loop asks of one operating system, one module each, with the same functions. With
//! the feature `portable`, Linux has the one of other systems: its tests run so.

#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod linux;
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(crate) use linux::*;

#[cfg(any(feature = "portable", not(target_os = "linux")))]
mod portable;
#[cfg(any(feature = "portable", not(target_os = "linux")))]
pub(crate) use portable::*;
