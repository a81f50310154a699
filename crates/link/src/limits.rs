//! Limits that both sides of a link use.

use filermark_model::Nanos;
use std::time::Duration;

/// How long agents may take to clean up after they were asked to end.
pub const CLEAN_UP_MAX: Duration = Duration::from_secs(30);
/// Interval between two readings of the free space of a file system.
pub const SPACE_INTERVAL: Duration = Duration::from_secs(5);
/// File systems whose free space is monitored.
pub const FILE_SYSTEMS_MAX: usize = 64;
/// Shortest interval of heartbeats: shorter ones would be a load of their own.
pub const HEARTBEAT_INTERVAL_MIN: Nanos = Nanos::from_millis(100);
