//! The marker as a lease: whether the run that wrote it is still under way.
//!
//! Clocks of other hosts are not used. If the marker's process belongs to this system, the
//! system shows whether it still runs. Otherwise the heartbeat is watched for longer than
//! two of its periods, by the local clock: if it changes, the run is under way.

use super::backend::{Patch, RunDirBackend};
use super::{DriverError, FilePrefix, LeaseStatus, RunDirClaim, not_ours};
use crate::marker::{Marker, MarkerText, State};
use crate::process::Process;
use filermark_engine::name::MARKER;
use std::time::Duration;

/// How often a run renews its marker.
pub const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long a heartbeat is watched before its run counts as ended: two periods and a
/// margin.
pub const WATCH: Duration = Duration::from_secs(25);
/// Time between two reads of the heartbeat.
const POLL: Duration = Duration::from_secs(1);
/// Another client of the run renews the marker when its heartbeat has not changed for this
/// time: a period and a half. Together with [`OTHERS_LOOK`] that is shorter than [`WATCH`].
pub const STAND_IN: Duration = Duration::from_secs(15);
/// How often clients that do not renew the marker read it.
pub const OTHERS_LOOK: Duration = Duration::from_secs(5);
/// How long this run's marker may be unreadable before another run may have taken over:
/// [`WATCH`], less the time between a renewal by another client and the next read.
pub const UNSEEN_MAX: Duration = WATCH.saturating_sub(OTHERS_LOOK);
/// Time limit for another client of the run to empty the directory.
const EMPTYING_MAX: Duration = Duration::from_secs(900);

/// Time that has passed, by a clock of this host that cannot be set and that goes on while
/// the host is suspended. Leases of other runs are judged by this clock.
pub fn now() -> Duration {
    Duration::from_nanos(filermark_engine::sys::since_boot().0)
}

/// Time and processes, for judging a lease; tests replace them.
pub trait LeaseWatch {
    /// Waits; `false`: a stop is requested.
    fn pause(&self, time: Duration) -> bool;

    /// Time that has passed: [`now`].
    fn now(&self) -> Duration {
        now()
    }

    /// This process.
    fn this(&self) -> Process {
        Process::this().clone()
    }

    /// Whether a process runs; `None`: this system cannot determine it.
    fn is_alive(&self, process: &Process) -> Option<bool> {
        process.is_alive()
    }

    /// Called before a long wait, with what is waited for.
    fn waiting(&self, sentence: &str);
}

/// The real time and processes; waits are only logged.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemWatch;

impl LeaseWatch for SystemWatch {
    fn pause(&self, time: Duration) -> bool {
        filermark_engine::interrupt_guard::sleep(time);
        !filermark_engine::interrupt_guard::stop_requested()
    }

    fn waiting(&self, sentence: &str) {
        tracing::info!(target: "filermark_engine::claim", "{sentence}");
    }
}

impl<B: RunDirBackend> RunDirClaim<'_, B> {
    /// Waits until it is certain whether the run of a marker is over; an error if it is under
    /// way.
    pub(super) fn until_over(
        &mut self,
        dir: &B::Dir,
        marker: &Marker,
        step: &str,
    ) -> Result<LeaseStatus, DriverError> {
        // A process makes one run at a time.
        if marker.state == State::Ended || marker.process == self.watch.this() {
            return Ok(LeaseStatus::Expired);
        }
        match self.watch.is_alive(&marker.process) {
            // Other clients of the run may still be active, on this or another host.
            Some(false) if marker.shared => {}
            Some(false) => return Ok(LeaseStatus::Expired),
            Some(true) => return Err(self.in_use(step, marker)),
            None => {}
        }
        self.watch.waiting(&format!(
            "{}: it was claimed by {}; its heartbeat is watched for {} s to see whether that \
             run is still under way",
            self.backend.place(),
            marker.who(),
            WATCH.as_secs()
        ));
        let mut watched = Duration::ZERO;
        while watched < WATCH {
            if !self.watch.pause(POLL) {
                return Err(
                    self.not_ours(step, "stopped while waiting for its heartbeat".to_owned())
                );
            }
            watched += POLL;
            match self.marker(dir)? {
                super::DirOwnership::Run(now) if now.run == self.claim.run_id => {
                    return Ok(LeaseStatus::Joined);
                }
                super::DirOwnership::Run(now) if now.state == State::Ended => {
                    return Ok(LeaseStatus::Expired);
                }
                super::DirOwnership::Run(now) if *now == *marker => {}
                super::DirOwnership::Run(now) => return Err(self.in_use(step, &now)),
                super::DirOwnership::Missing
                | super::DirOwnership::Cut
                | super::DirOwnership::NotOurs => {
                    return Ok(LeaseStatus::Changed);
                }
            }
        }
        Ok(LeaseStatus::Expired)
    }

    /// Waits until another client of this run has emptied the directory. Returns the nonce
    /// that the run uses then.
    pub(super) fn until_emptied(
        &mut self,
        dir: &B::Dir,
        step: &str,
    ) -> Result<Option<String>, DriverError> {
        let mut waited = Duration::ZERO;
        while waited < EMPTYING_MAX {
            match self.marker(dir)? {
                super::DirOwnership::Run(now) if now.run != self.claim.run_id => return Ok(None),
                super::DirOwnership::Run(now) if now.state != State::Emptying => {
                    return Ok(Some(now.nonce));
                }
                super::DirOwnership::Run(_) => {}
                super::DirOwnership::Missing
                | super::DirOwnership::Cut
                | super::DirOwnership::NotOurs => return Ok(None),
            }
            if !self.watch.pause(POLL) {
                break;
            }
            waited += POLL;
        }
        let reason = "another client of this run has not emptied it yet".to_owned();
        Err(self.not_ours(step, reason))
    }

    fn in_use(&self, step: &str, marker: &Marker) -> DriverError {
        DriverError {
            place: self.backend.place(),
            step: step.to_owned(),
            reason: format!("it is in use by {}", marker.who()),
            advice: "choose another suffix (-s), or wait until that run is over".to_owned(),
        }
    }
}

/// Keeps the lease while a directory is being emptied, which may take long: renews the
/// marker in between, and fails when it names another run.
pub(super) struct LeaseKeeper<'a, D> {
    dir: &'a D,
    /// The run that the marker must name.
    run: String,
    /// The process that renews it; `None`: `filermark stop`, which does not renew.
    this: Option<Process>,
    watch: &'a dyn LeaseWatch,
    at: Duration,
}

impl<'a, D> LeaseKeeper<'a, D> {
    pub(super) fn of(dir: &'a D, run: &str, renews: bool, watch: &'a dyn LeaseWatch) -> Self {
        Self {
            dir,
            run: run.to_owned(),
            this: renews.then(|| watch.this()),
            watch,
            at: watch.now(),
        }
    }

    /// Renews the marker if that is due.
    ///
    /// # Errors
    /// As the backend's, and: another run has taken over the directory.
    pub(super) fn renew_if_due<B: RunDirBackend<Dir = D>>(
        &mut self,
        backend: &mut B,
    ) -> Result<(), DriverError> {
        let now = self.watch.now();
        if now.saturating_sub(self.at) < HEARTBEAT {
            return Ok(());
        }
        self.at = now;
        let (run, this) = (&self.run, &self.this);
        let mut other = None;
        backend.change_file(self.dir, MARKER, &mut |front| {
            let FilePrefix::Bytes(bytes) = front else {
                return None;
            };
            let MarkerText::Marker(mut marker) = Marker::read(&bytes) else {
                return None;
            };
            if marker.run != *run {
                other = Some(marker.who());
                return None;
            }
            let before = marker.clone();
            marker.process = this.clone()?;
            marker.count_up();
            Patch::of_marker(&bytes, &before, &marker)
        })?;
        match other {
            None => Ok(()),
            Some(who) => Err(taken_over(
                backend.place(),
                "empty the run's directory",
                &who,
            )),
        }
    }
}

/// The error that another run has the directory now.
pub(super) fn taken_over(place: String, step: &str, who: &str) -> DriverError {
    not_ours(place, step, format!("it was taken over by {who}"))
}
