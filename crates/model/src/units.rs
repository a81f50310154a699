//! Newtypes for the quantities that cross a crate border.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

/// A point in time or a span, in nanoseconds.
///
/// As a point in time it counts from the origin of the clock it was read from;
/// two instants from different clocks must never be subtracted.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all; the origin of a clock.
    pub const ZERO: Self = Self(0);
    /// The end of time: a deadline that is never reached.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }
    /// A span of whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }
    /// A span of whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }
    /// A span of seconds with a fraction; negative and non-finite values give zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9).max(0.0) as u64)
    }
    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// In milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// The span from `earlier` to here; zero where `earlier` is later.
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        self.since(rhs)
    }
}

/// An amount of data, in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// `n` binary kilobytes.
    pub const fn from_kib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 10))
    }
    /// `n` binary megabytes.
    pub const fn from_mib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 20))
    }
    /// In binary megabytes.
    pub fn as_mib_f64(self) -> f64 {
        self.0 as f64 / (1u64 << 20) as f64
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        match unit {
            0 => write!(f, "{} B", self.0),
            _ => write!(f, "{value:.1} {}", UNITS[unit]),
        }
    }
}

/// A count of things: `1 proc`, `2 procs`.
pub fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A rate of logical operations, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpsPerSec(pub f64);

impl fmt::Display for OpsPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 100.0 || self.0.fract() == 0.0 {
            write!(f, "{:.0} op/s", self.0)
        } else {
            write!(f, "{:.2} op/s", self.0)
        }
    }
}
