//! Limits of the looks at a host.

use std::time::Duration;

/// How long all mounts or servers together may take.
pub(super) const ALL_MAX: Duration = Duration::from_secs(60);
