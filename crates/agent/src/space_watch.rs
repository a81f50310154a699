//! Monitors the free space of file systems in INIT and while load is generated, if STOP_IF has
//! such a condition.

use super::streams::Reports;
use filermark_driver_kit::driver::Driver;
use filermark_link::limits::{FILE_SYSTEMS_MAX, SPACE_INTERVAL};
use filermark_link::message::{FreeSpace, Report};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};

/// Reads the free space until it is dropped, on its own thread and outside of the shards'
/// connections. It is never waited for: a server that does not answer delays nothing.
#[derive(Debug)]
pub(super) struct FreeSpaceMonitor {
    _until: Sender<()>,
}

impl FreeSpaceMonitor {
    /// Begins to monitor those of these file systems that are in `named`. `None`: none is.
    pub fn begin(
        driver: Arc<dyn Driver>,
        file_systems: &[FreeSpace],
        named: &[String],
        reports: Reports,
    ) -> Option<Self> {
        let watched = file_systems
            .iter()
            .filter(|f| named.contains(&f.file_system));
        let watched: Vec<_> = watched
            .filter_map(|f| Some((f.file_system.clone(), f.mounts.first()?.clone())))
            .take(FILE_SYSTEMS_MAX)
            .collect();
        if watched.is_empty() {
            return None;
        }
        let (until, ended) = channel::<()>();
        let poll = move || {
            while ended.recv_timeout(SPACE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                for (file_system, mount) in &watched {
                    // A failed query is repeated at the next interval.
                    let Ok(Some(space)) = driver.space(mount) else {
                        continue;
                    };
                    // Load may have ended while the query was under way.
                    if ended.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected) {
                        return;
                    }
                    let is_sent = reports.send(&Report::Space {
                        file_system: file_system.clone(),
                        free_bytes: space.free_bytes,
                        total_bytes: space.total_bytes,
                    });
                    if !is_sent {
                        return;
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("agent-space".into());
        if let Err(e) = thread.spawn(poll) {
            tracing::warn!(target: "filermark_clients", "STOP_IF: free space is not monitored: no thread can be started: {e}");
            return None;
        }
        Some(Self { _until: until })
    }
}
