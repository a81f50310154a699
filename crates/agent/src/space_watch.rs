//! Looks at the free space of file systems in INIT and while load is made, where STOP_IF
//! asks for it.

use super::streams::Reports;
use filermark_driver_kit::driver::Driver;
use filermark_link::limits::{FILE_SYSTEMS_MAX, SPACE_INTERVAL};
use filermark_link::message::{FreeSpace, Report};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};

/// Looks until it is dropped, on a thread of its own and outside of the shards'
/// connections. Never waited for: a server that does not answer delays nothing.
#[derive(Debug)]
pub(super) struct FreeSpaceMonitor {
    _until: Sender<()>,
}

impl FreeSpaceMonitor {
    /// Begins to look at those of these file systems that are named. `None`: none is.
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
        let look = move || {
            while ended.recv_timeout(SPACE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                for (file_system, mount) in &watched {
                    // What cannot be asked for now is asked for again.
                    let Ok(Some(space)) = driver.space(mount) else {
                        continue;
                    };
                    // Load may have ended while the server thought.
                    if ended.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected) {
                        return;
                    }
                    let told = reports.send(&Report::Space {
                        file_system: file_system.clone(),
                        free_bytes: space.free_bytes,
                        total_bytes: space.total_bytes,
                    });
                    if !told {
                        return;
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("agent-space".into());
        if let Err(e) = thread.spawn(look) {
            tracing::warn!(target: "filermark_cluster", "STOP_IF: free space is not watched: no thread can be started: {e}");
            return None;
        }
        Some(Self { _until: until })
    }
}
