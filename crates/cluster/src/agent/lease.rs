//! What an agent does for the run directory's lease: it tells the prime for what a claim
//! waits, renews the markers that it wrote, and looks whether its procs find room.

use super::Reports;
use crate::message::Report;
use filermark_engine::claim::Renewed;
use filermark_engine::claim::lease::{HEARTBEAT, Watch};
use filermark_engine::driver::{Claim, ClaimReport, Driver, StopFlag};
use filermark_engine::file_action::tree_name;
use filermark_engine::name::{Name, NameKind};
use filermark_model::RunPlan;
use filermark_model::plan::MountPoint;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// An agent that waits: it can be stopped, and the prime is told for what.
pub(super) struct Waiting<'a> {
    pub reports: &'a Reports,
    pub stop: &'a StopFlag,
}

impl Watch for Waiting<'_> {
    fn pause(&self, time: Duration) -> bool {
        std::thread::sleep(time);
        !self.stop.is_raised()
    }

    fn waiting(&self, sentence: &str) {
        self.reports.send(&Report::Waiting {
            sentence: sentence.to_owned(),
        });
    }
}

/// Renews the markers of some mount points until it is dropped. Never waited for: a
/// server that does not answer holds nobody up.
#[derive(Debug)]
pub(super) struct Renewal {
    _until: Sender<()>,
}

impl Renewal {
    /// Begins. Where another run takes a directory over, `stop` is raised: nothing more
    /// is to be done there.
    pub fn begin(
        driver: Arc<dyn Driver>,
        claim: Claim,
        mounts: Vec<MountPoint>,
        stop: StopFlag,
    ) -> Option<Self> {
        let (until, ended) = channel::<()>();
        let renew = move || {
            while ended.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Timeout) {
                for mount in &mounts {
                    match driver.renew(mount, &claim, false) {
                        Ok(Renewed::Done | Renewed::NotOurs) => {}
                        Ok(Renewed::Lost(who)) => {
                            tracing::error!(target: "filermark_cluster", "{mount}/{}: taken over by {who}: this run ends", claim.dir_name);
                            stop.raise();
                            return;
                        }
                        // The operations of the run will say it as well.
                        Err(e) => {
                            tracing::debug!(target: "filermark_cluster", "heartbeat: {e}");
                        }
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("agent-lease".into());
        thread.spawn(renew).ok()?;
        Some(Self { _until: until })
    }
}

/// Why procs of a client cannot make their directories: an earlier run's are there still,
/// because of what is not ours in them. `None`: they can.
pub(super) fn in_the_way(
    plan: &RunPlan,
    client: u32,
    mount: &MountPoint,
    (claim, found): (&Claim, &ClaimReport),
) -> Option<String> {
    if found.occupied.is_empty() {
        return None;
    }
    let procs = plan.procs_of(client as usize).into_iter();
    let here = procs.filter(|(_, at)| at == mount);
    let needed: BTreeSet<String> = here.map(|(number, _)| dir_of(plan, number)).collect();
    let taken: Vec<&str> = (found.occupied.iter().map(String::as_str))
        .filter(|name| needed.contains(*name))
        .take(4)
        .collect();
    (!taken.is_empty()).then(|| {
        format!(
            "{mount}/{}: {} is in the way of this run, because of what is not Filermark's: {}; \
             move that away, or choose another suffix (-s)",
            claim.dir_name,
            taken.join(", "),
            found.foreign.join(", ")
        )
    })
}

/// The directory of a proc in the run directory.
fn dir_of(plan: &RunPlan, number: u32) -> String {
    let component = plan.proc(number).and_then(|proc| {
        let composite = plan.benchmark.composite()?;
        composite.components.get(proc.component as usize)
    });
    match component {
        Some(component) => {
            let workload = &component.workload;
            let shared = plan.fileset.sharing || workload.attributes.sharemode;
            tree_name(number, &workload.name, shared)
        }
        None => {
            let name = Name::new(NameKind::ProcDir, number).text();
            String::from_utf8_lossy(name.as_bytes()).into_owned()
        }
    }
}
