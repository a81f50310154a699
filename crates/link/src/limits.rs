//! Limits that both sides of a link go by.

use filermark_model::Nanos;
use std::time::Duration;

/// How long agents have to clean up after they were asked to end.
pub const CLEAN_UP_MAX: Duration = Duration::from_secs(30);
/// Between two looks at the free space of a file system.
pub const SPACE_INTERVAL: Duration = Duration::from_secs(5);
/// File systems that are looked at.
pub const FILE_SYSTEMS_MAX: usize = 64;
/// Shortest interval of heartbeats: more often would be load of its own.
pub const HEARTBEAT_INTERVAL_MIN: Nanos = Nanos::from_millis(100);
