//! Windows.

mod raw;

use filermark_model::Nanos;
pub use raw::*;

/// The clock of `Instant` runs while the host is suspended: nothing to add.
pub const fn suspended() -> Nanos {
    Nanos::ZERO
}

/// There is no /proc.
pub const fn ticks_per_second() -> u64 {
    0
}
