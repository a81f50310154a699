//! The marker as a lease: whether the run that wrote it is still under way.
//!
//! No clock of another host is trusted. Where the marker's process is one of this very
//! system, the system says whether it lives. Else the heartbeat is watched for longer
//! than two of its periods, by the watcher's own clock: if it changes, the run is alive.

use super::backend::{Patch, RunDirBackend};
use super::{DriverError, FilePrefix, LeaseStatus, RunDirClaim, not_ours};
use crate::marker::{Marker, MarkerText, State};
use crate::process::Process;
use filermark_engine::name::MARKER;
use std::time::Duration;

/// How often a run renews its marker.
pub const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long a heartbeat is watched before its run counts as dead: two periods, and room
/// for a slow one.
pub const WATCH: Duration = Duration::from_secs(25);
/// Between two looks at it.
const LOOK: Duration = Duration::from_secs(1);
/// Another client of the run renews the marker when its heartbeat has stood still for so
/// long: a period and a half. With [`OTHERS_LOOK`] that is within [`WATCH`].
pub const STAND_IN: Duration = Duration::from_secs(15);
/// How often those clients look that do not renew the marker.
pub const OTHERS_LOOK: Duration = Duration::from_secs(5);
/// How long nothing may have been seen of this run's marker before it may be another
/// run's: [`WATCH`], less the time for which a renewal by another client may have stood
/// there before it was seen.
pub const UNSEEN_MAX: Duration = WATCH.saturating_sub(OTHERS_LOOK);
/// Longest that another client of the run is waited for that empties the directory.
const EMPTYING_MAX: Duration = Duration::from_secs(900);

/// Time that has passed, by a clock of this host that cannot be set and that goes on while
/// the host is suspended: the leases of others' runs go by it.
pub fn now() -> Duration {
    Duration::from_nanos(filermark_engine::sys::since_boot().0)
}

/// What judging a lease needs of the world; tests have their own.
pub trait LeaseWatch {
    /// Waits; `false`: somebody wishes to stop.
    fn pause(&self, time: Duration) -> bool;

    /// Time that has passed: [`now`].
    fn now(&self) -> Duration {
        now()
    }

    /// This process.
    fn this(&self) -> Process {
        Process::this().clone()
    }

    /// Whether a process lives, where this system can tell.
    fn is_alive(&self, process: &Process) -> Option<bool> {
        process.is_alive()
    }

    /// It takes a while: for what, in one sentence.
    fn waiting(&self, sentence: &str);
}

/// The world as it is, with nobody to tell.
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
    /// Waits until it is certain whether the run of a marker is over; an error if it is
    /// not.
    pub(super) fn until_over(
        &mut self,
        dir: &B::Dir,
        marker: &Marker,
        step: &str,
    ) -> Result<LeaseStatus, DriverError> {
        // A process makes one run after the other.
        if marker.state == State::Ended || marker.process == self.watch.this() {
            return Ok(LeaseStatus::Expired);
        }
        match self.watch.is_alive(&marker.process) {
            // Other clients of the run may be at work, here or elsewhere.
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
            if !self.watch.pause(LOOK) {
                return Err(
                    self.not_ours(step, "stopped while waiting for its heartbeat".to_owned())
                );
            }
            watched += LOOK;
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

    /// Another client of this run empties the directory: waits until it has. The nonce
    /// that the run goes on with.
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
            if !self.watch.pause(LOOK) {
                break;
            }
            waited += LOOK;
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

/// Keeps the lease while a directory is being emptied, which may take long: the one who
/// does it renews the marker in between, and ends when it names another run.
pub(super) struct LeaseKeeper<'a, D> {
    dir: &'a D,
    /// Whose marker it is to be.
    run: String,
    /// Who renews it; `None`: `filermark stop` is at work, which does not renew.
    this: Option<Process>,
    watch: &'a dyn LeaseWatch,
    at: Duration,
}

impl<'a, D> LeaseKeeper<'a, D> {
    /// From now on.
    pub(super) fn of(dir: &'a D, run: &str, renews: bool, watch: &'a dyn LeaseWatch) -> Self {
        Self {
            dir,
            run: run.to_owned(),
            this: renews.then(|| watch.this()),
            watch,
            at: watch.now(),
        }
    }

    /// Renews the marker if it is time.
    ///
    /// # Errors
    /// As the backend's, and: another run has taken the directory over.
    pub(super) fn look<B: RunDirBackend<Dir = D>>(
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

/// Another run has the directory by now.
pub(super) fn taken_over(place: String, step: &str, who: &str) -> DriverError {
    not_ours(place, step, format!("it was taken over by {who}"))
}
