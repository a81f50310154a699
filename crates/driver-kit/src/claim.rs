//! The rules by which a run directory is claimed, emptied and given back, whatever the
//! protocol: see docs/src/design/safety.md.
//!
//! The safety of other people's data is decided here. A directory is ours only if our
//! marker or owner file is in it, with its own path and the nonce of its run, and in it
//! only names of the layout are ever removed. What a protocol does for these rules is
//! [`RunDirBackend`]. Everything blocks; nothing here is measured.
//!
//! | module | room |
//! |---|---|
//! | `again` | another try after a failure of the moment |
//! | `backend` | the operations on directories that a driver gives |
//! | `layout` | which names a run makes where |
//! | `lease` | whether the run that wrote a marker is still under way |
//! | `empty` | removing what is ours |

mod backend;
mod empty;
mod layout;
pub mod lease;
pub mod report;
mod retry;
#[cfg(test)]
mod tests;

use crate::marker::{Marker, MarkerText, State};
use crate::process;
pub use backend::{
    A_LINK, A_REPARSE_POINT, DirLookup, Entry, EntryKind, FilePrefix, NOT_A_DIRECTORY,
    OTHER_FILE_SYSTEM, Patch, Removal, Removed, RunDirBackend,
};
pub use empty::{Emptied, empty_dir};
use filermark_engine::driver::{Claim, DriverError};
use filermark_engine::name::{MARKER, RUN_DIR_PREFIX};
pub use layout::{Level, NameMeaning, PROBE_PREFIX};
use lease::{LeaseWatch, taken_over};
use report::ReleaseScope;
use retry::RetryingBackend;
use std::time::Duration;

/// Looks for a marker that another client is about to write.
const MARKER_LOOKS: u32 = 20;
/// Between two of them.
const MARKER_PAUSE: Duration = Duration::from_millis(50);
/// Between writing a marker into a directory that was there before and reading it back:
/// another run that has found the same marker over, or none, has written its own by then.
const SETTLE: Duration = Duration::from_millis(250);
/// Names that a message gives of what is in the way.
const SHOWN: usize = 4;

/// The step that claiming is in messages.
const CLAIM: &str = "claim the run's directory";

/// A run directory that was claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed<D> {
    /// The directory.
    pub dir: D,
    /// What was removed from it, and what stays.
    pub emptied: Emptied,
    /// What the owner files of its directories hold.
    pub nonce: String,
}

/// Makes the run directory and marks it as ours: what
/// [`Driver::claim`](crate::driver::Driver::claim) promises. With `keep`, the files that
/// an earlier run left stay, and so does their nonce.
///
/// # Errors
/// As the backend's, and: not ours, or in use.
pub fn claim<B: RunDirBackend>(
    backend: &mut B,
    claim: &Claim,
    keep: bool,
    watch: &dyn LeaseWatch,
) -> Result<Claimed<B::Dir>, DriverError> {
    let mut backend = RetryingBackend::new(backend, watch);
    let mut claimant = RunDirClaim::new(&mut backend, claim, watch)?;
    let (dir, fresh) = claimant.find_or_make()?;
    let taken = match fresh {
        true => ExistingDir::Free,
        false => claimant.take_over(&dir)?,
    };
    let (emptied, nonce) = match taken {
        ExistingDir::Joined(nonce) => (Emptied::default(), nonce),
        ExistingDir::Abandoned(before) => claimant.succeed(&dir, &before, keep)?,
        ExistingDir::Free => {
            let marked = claimant.mark(&dir, fresh);
            if let Err(MarkError { error, is_written }) = marked {
                return Err(match is_written {
                    true => claimant.undo(&dir, fresh, error),
                    false => error,
                });
            }
            (Emptied::default(), claim.nonce())
        }
    };
    Ok(Claimed {
        dir,
        emptied,
        nonce,
    })
}

/// Removes the marker and the run directory, and what is ours in it: what
/// [`Driver::release`](crate::driver::Driver::release) promises.
///
/// # Errors
/// As the backend's, and: it belongs to another run by now, or one that is under way.
pub fn release<B: RunDirBackend>(
    backend: &mut B,
    claim: &Claim,
    reach: ReleaseScope,
    watch: &dyn LeaseWatch,
) -> Result<Emptied, DriverError> {
    let mut backend = RetryingBackend::new(backend, watch);
    let mut claimant = RunDirClaim::new(&mut backend, claim, watch)?;
    match claimant.find()? {
        None => Ok(Emptied::default()),
        Some(dir) => claimant.give_back(&dir, reach),
    }
}

/// What a client does about the marker of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRole {
    /// Renews it if this process has written it.
    Own,
    /// Renews it also if another client has written it and its heartbeat is still this:
    /// it has stood there for too long.
    StandIn(u64),
    /// The run is over, and its files stay.
    End,
}

/// What a renewal came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenewResult {
    /// The heartbeat is counted up.
    Done,
    /// Another client of the run renews the marker, and has counted so far.
    ByAnother(u64),
    /// There is no marker to be renewed.
    Missing,
    /// Another run has taken the directory over, and which.
    TakenOver(String),
}

/// Counts the heartbeat of the run directory's marker up, if that is this process's turn.
/// A marker that another client of the run has written is noted to be shared.
///
/// # Errors
/// As the backend's.
pub fn renew<B: RunDirBackend>(
    backend: &mut B,
    claim: &Claim,
    turn: ClaimRole,
    watch: &dyn LeaseWatch,
) -> Result<RenewResult, DriverError> {
    renew_by(
        &mut RetryingBackend::new(backend, watch),
        claim,
        turn,
        watch,
    )
}

/// The same over a backend that tries again by itself.
fn renew_by<B: RunDirBackend>(
    backend: &mut B,
    claim: &Claim,
    turn: ClaimRole,
    watch: &dyn LeaseWatch,
) -> Result<RenewResult, DriverError> {
    let mut claimant = RunDirClaim::new(backend, claim, watch)?;
    let Some(dir) = claimant.find()? else {
        return Ok(RenewResult::Missing);
    };
    let (this, mut renewed) = (watch.this(), RenewResult::Missing);
    backend.change_file(&dir, MARKER, &mut |front| {
        let FilePrefix::Bytes(bytes) = front else {
            return None;
        };
        let MarkerText::Marker(mut marker) = Marker::read(&bytes) else {
            return None;
        };
        if marker.run != claim.run_id {
            renewed = RenewResult::TakenOver(marker.who());
            return None;
        }
        let before = marker.clone();
        if marker.process != this {
            let stands = turn == ClaimRole::StandIn(marker.heartbeat);
            if !stands || marker.state != State::Running {
                renewed = RenewResult::ByAnother(marker.heartbeat);
                let is_told = std::mem::replace(&mut marker.shared, true);
                return match is_told {
                    true => None,
                    false => Patch::of_marker(&bytes, &before, &marker),
                };
            }
            (marker.process, marker.shared) = (this.clone(), true);
        }
        renewed = RenewResult::Done;
        marker.count_up();
        if turn == ClaimRole::End {
            marker.state = State::Ended;
        }
        Patch::of_marker(&bytes, &before, &marker)
    })?;
    Ok(renewed)
}

/// One claim being made or given back.
struct RunDirClaim<'a, B> {
    backend: &'a mut B,
    claim: &'a Claim,
    watch: &'a dyn LeaseWatch,
}

/// Whose a directory is.
enum DirOwnership {
    /// Nobody says.
    Missing,
    /// A marker that was being written when its run was killed.
    Cut,
    /// Somebody's own file of that name.
    NotOurs,
    /// The run that it names.
    Run(Box<Marker>),
}

/// What a directory that was there before is.
enum ExistingDir {
    /// Empty and unmarked.
    Free,
    /// This run's already: another client was faster. With its nonce.
    Joined(String),
    /// That of a run that is over, by its marker.
    Abandoned(Box<Marker>),
}

/// Why a directory was not marked.
struct MarkError {
    error: DriverError,
    /// The marker in it may be ours, or a part of ours.
    is_written: bool,
}

/// What a lease turned out to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeaseStatus {
    /// Its run is over.
    Expired,
    /// This run has it: another client was faster.
    Joined,
    /// The marker is another one, or gone: it is looked at anew.
    Changed,
}

impl<'a, B: RunDirBackend> RunDirClaim<'a, B> {
    fn new(
        backend: &'a mut B,
        claim: &'a Claim,
        watch: &'a dyn LeaseWatch,
    ) -> Result<Self, DriverError> {
        let name = &claim.dir_name;
        let leads_elsewhere = name.contains(['/', '\\', ':', '\0', '\n']);
        // A name that led elsewhere would make us clear the wrong place.
        if !name.starts_with(RUN_DIR_PREFIX) || leads_elsewhere || name.len() > 255 {
            return Err(DriverError {
                place: backend.place(),
                step: CLAIM.to_owned(),
                reason: format!("{name:?} is no name for it"),
                advice: "use letters, digits, '.', '_' and '-' in the suffix".to_owned(),
            });
        }
        Ok(Self {
            backend,
            claim,
            watch,
        })
    }

    fn not_ours(&self, step: &str, reason: String) -> DriverError {
        not_ours(self.backend.place(), step, reason)
    }

    fn find(&mut self) -> Result<Option<B::Dir>, DriverError> {
        match self.backend.find_run_dir()? {
            DirLookup::Missing => Ok(None),
            DirLookup::Dir(dir) => Ok(Some(dir)),
            DirLookup::Other(what) => {
                Err(self.not_ours("look at the run's directory", what.to_owned()))
            }
        }
    }

    /// The directory, and whether it was made just now.
    fn find_or_make(&mut self) -> Result<(B::Dir, bool), DriverError> {
        if let Some(dir) = self.find()? {
            return Ok((dir, false));
        }
        let fresh = self.backend.make_run_dir()?;
        match self.find()? {
            Some(dir) => Ok((dir, fresh)),
            None => Err(self.not_ours(
                "make the run's directory",
                "it was made and is gone again".to_owned(),
            )),
        }
    }

    /// Checks that a directory that was there before is ours and that its run is over.
    fn take_over(&mut self, dir: &B::Dir) -> Result<ExistingDir, DriverError> {
        /// Runs that may come and go while one of them is waited for.
        const CHANGES_MAX: usize = 10;
        let step = CLAIM;
        for _ in 0..CHANGES_MAX {
            let marker = match self.marker_in_time(dir)? {
                DirOwnership::Run(marker) => marker,
                DirOwnership::NotOurs => return Err(self.not_ours(step, not_ours_text())),
                DirOwnership::Missing | DirOwnership::Cut => {
                    self.must_be_alone(dir, step)?;
                    return Ok(ExistingDir::Free);
                }
            };
            self.must_be_of_here(&marker, step)?;
            if marker.run == self.claim.run_id {
                match self.until_emptied(dir, step)? {
                    Some(nonce) => {
                        self.join()?;
                        return Ok(ExistingDir::Joined(nonce));
                    }
                    None => continue,
                }
            }
            match self.until_over(dir, &marker, step)? {
                // What its marker says now is looked at anew, its nonce too.
                LeaseStatus::Joined | LeaseStatus::Changed => {}
                LeaseStatus::Expired => return Ok(ExistingDir::Abandoned(marker)),
            }
        }
        Err(self.not_ours(step, "one run after the other claims it".to_owned()))
    }

    /// Takes the directory of a run that is over: first with the marker of this run, so
    /// that others see it, then without what is left in it. The nonce is that of before
    /// until nothing is left that is known by it.
    fn succeed(
        &mut self,
        dir: &B::Dir,
        before: &Marker,
        keep: bool,
    ) -> Result<(Emptied, String), DriverError> {
        let claim = self.claim;
        let mut ours = Marker::new(self.claim, self.watch.this(), process::utc_now());
        ours.state = State::Emptying;
        if !before.nonce.is_empty() {
            ours.nonce.clone_from(&before.nonce);
        }
        self.rewrite(dir, |now| {
            let is_as_judged = now.run == before.run && now.heartbeat == before.heartbeat;
            is_as_judged.then(|| ours.clone())
        })?;
        self.watch.pause(SETTLE);
        self.must_be_marked(dir)?;
        let (mut nonce, run) = (ours.nonce, claim.run_id.as_str());
        let emptied = match keep {
            true => self.empty_passing(dir, &nonce)?,
            false => self.empty(dir, &nonce, run, true)?,
        };
        // What stays because of others' files is known by the nonce before.
        if !keep && emptied.is_all() {
            nonce = self.claim.nonce();
        }
        self.rewrite(dir, |now| {
            let mut ours = now.clone();
            (ours.nonce, ours.state) = (nonce.clone(), State::Running);
            (now.run == self.claim.run_id).then_some(ours)
        })?;
        Ok((emptied, nonce))
    }

    /// Writes another marker over the one in the directory, where `change` makes one of
    /// it.
    fn rewrite(
        &mut self,
        dir: &B::Dir,
        change: impl Fn(&Marker) -> Option<Marker>,
    ) -> Result<(), DriverError> {
        let mut other = Some("an unknown run".to_owned());
        self.backend.change_file(dir, MARKER, &mut |front| {
            let FilePrefix::Bytes(bytes) = front else {
                return None;
            };
            let MarkerText::Marker(now) = Marker::read(&bytes) else {
                return None;
            };
            let changed = change(&now);
            other = changed.is_none().then(|| now.who());
            Patch::of_marker(&bytes, &now, &changed?)
        })?;
        match other {
            None => Ok(()),
            Some(who) => Err(self.not_ours(CLAIM, at_the_same_moment(&who))),
        }
    }

    /// A directory without a marker is ours only if nothing else is in it.
    fn must_be_alone(&mut self, dir: &B::Dir, step: &str) -> Result<(), DriverError> {
        let names = self.other_names(dir)?;
        if names.is_empty() {
            return Ok(());
        }
        let names = names.join(", ");
        let reason = format!("it has no {MARKER} and is not empty ({names})");
        Err(self.not_ours(step, reason))
    }

    /// A marker that was written for another directory is seen through a link.
    fn must_be_of_here(&self, marker: &Marker, step: &str) -> Result<(), DriverError> {
        let path = &marker.path;
        if path.is_empty() || *path == self.claim.dir_name {
            return Ok(());
        }
        Err(self.not_ours(step, format!("the {MARKER} in it is that of {path}")))
    }

    /// The marker; one that another client is writing at this moment is waited for a
    /// little.
    fn marker_in_time(&mut self, dir: &B::Dir) -> Result<DirOwnership, DriverError> {
        for _ in 0..MARKER_LOOKS {
            let marker = self.marker(dir)?;
            if !matches!(marker, DirOwnership::Missing | DirOwnership::Cut) {
                return Ok(marker);
            }
            self.watch.pause(MARKER_PAUSE);
        }
        self.marker(dir)
    }

    fn marker(&mut self, dir: &B::Dir) -> Result<DirOwnership, DriverError> {
        let front = self.backend.read_file(dir, MARKER);
        let front = front.map_err(|error| at(error, self.backend, &[MARKER]))?;
        Ok(match front {
            FilePrefix::Missing => DirOwnership::Missing,
            FilePrefix::NoFile => DirOwnership::NotOurs,
            FilePrefix::Bytes(bytes) => match Marker::read(&bytes) {
                MarkerText::Marker(marker) => DirOwnership::Run(marker),
                MarkerText::Cut => DirOwnership::Cut,
                MarkerText::NotOurs => DirOwnership::NotOurs,
            },
        })
    }

    /// Writes this run's marker into a directory that has none, and looks whether it is
    /// still there. `fresh`: this run has made the directory. Where another client of the
    /// run has written it meanwhile, its marker stays and is noted to be shared.
    fn mark(&mut self, dir: &B::Dir, fresh: bool) -> Result<(), MarkError> {
        let not_written = |error| MarkError {
            error,
            is_written: false,
        };
        // The run that made the directory may have been slow, and another run faster.
        let is_written = match self.marker(dir).map_err(not_written)? {
            DirOwnership::Run(marker) if marker.run != self.claim.run_id => {
                let error = self.not_ours(CLAIM, at_the_same_moment(&marker.who()));
                return Err(not_written(error));
            }
            DirOwnership::Run(marker) => {
                self.share(&marker).map_err(not_written)?;
                false
            }
            DirOwnership::Missing | DirOwnership::Cut | DirOwnership::NotOurs => {
                let marker = Marker::new(self.claim, self.watch.this(), process::utc_now());
                let written = self.backend.write_file(dir, MARKER, &marker.text());
                written.map_err(|error| MarkError {
                    error,
                    is_written: true,
                })?;
                true
            }
        };
        if !fresh {
            self.watch.pause(SETTLE);
        }
        let marked = self.must_be_marked(dir);
        let shared = marked.and_then(|marker| self.share(&marker));
        shared.map_err(|error| MarkError { error, is_written })
    }

    /// Removes the marker of a claim that has failed, and the directory if it is `fresh`,
    /// unless others use them by now. What may stay is told with the failure.
    fn undo(&mut self, dir: &B::Dir, fresh: bool, mut error: DriverError) -> DriverError {
        let looked = self.marker(dir);
        let is_seen = looked.is_ok();
        let goes = match looked {
            // Others of this run, or another run.
            Ok(DirOwnership::Run(marker))
                if marker.shared
                    || marker.run != self.claim.run_id
                    || marker.process != self.watch.this() =>
            {
                return error;
            }
            Ok(DirOwnership::Run(_)) => true,
            Ok(DirOwnership::Missing | DirOwnership::Cut) => fresh,
            Ok(DirOwnership::NotOurs) => return error,
            Err(_) => false,
        };
        let undone = goes
            && self.backend.remove(Removal::File, dir, &[MARKER]).is_ok()
            && (!fresh || self.backend.remove_run_dir().is_ok());
        let may_stay = !undone
            && (fresh || !is_seen || !matches!(self.marker(dir), Ok(DirOwnership::Missing)));
        if may_stay {
            error.reason.push_str(&format!(
                "; {}, with this run's {MARKER}, may stay: `filermark stop` removes it",
                self.backend.place()
            ));
        }
        error
    }

    /// Notes in a marker of this run that it is shared, if another client has written it.
    fn share(&mut self, marker: &Marker) -> Result<(), DriverError> {
        match marker.process == self.watch.this() {
            true => Ok(()),
            false => self.join(),
        }
    }

    /// Renews the marker of this run, or notes in it that it is shared.
    fn join(&mut self) -> Result<(), DriverError> {
        match renew_by(self.backend, self.claim, ClaimRole::Own, self.watch)? {
            RenewResult::Done | RenewResult::ByAnother(_) => Ok(()),
            RenewResult::TakenOver(who) => Err(self.not_ours(CLAIM, at_the_same_moment(&who))),
            RenewResult::Missing => Err(self.not_ours(
                CLAIM,
                format!("the {MARKER} that another client of this run wrote is gone again"),
            )),
        }
    }

    /// The marker that this run has written is still there.
    fn must_be_marked(&mut self, dir: &B::Dir) -> Result<Marker, DriverError> {
        match self.marker(dir)? {
            DirOwnership::Run(marker) if marker.run == self.claim.run_id => Ok(*marker),
            DirOwnership::Run(marker) => {
                Err(self.not_ours(CLAIM, at_the_same_moment(&marker.who())))
            }
            DirOwnership::Missing | DirOwnership::Cut | DirOwnership::NotOurs => Err(self
                .not_ours(
                    CLAIM,
                    format!("the {MARKER} that was written does not read back as it was written"),
                )),
        }
    }

    /// Empties and removes the directory if it is this run's.
    fn give_back(&mut self, dir: &B::Dir, reach: ReleaseScope) -> Result<Emptied, DriverError> {
        let step = "remove the run's directory";
        let ours = self.claim.run_id.as_str();
        let marker = match self.marker(dir)? {
            DirOwnership::Run(marker) => {
                self.must_be_of_here(&marker, step)?;
                let is_left = reach == ReleaseScope::Leftovers && marker.run.starts_with(ours);
                if is_left {
                    if self.until_over(dir, &marker, step)? != LeaseStatus::Expired {
                        let reason = "its marker has changed meanwhile".to_owned();
                        return Err(self.not_ours(step, reason));
                    }
                } else if marker.run != ours {
                    return Err(self.not_ours(step, format!("it belongs to {}", marker.who())));
                }
                *marker
            }
            DirOwnership::NotOurs => return Err(self.not_ours(step, not_ours_text())),
            // A claim, or a release, that was cut between two of its steps.
            DirOwnership::Missing | DirOwnership::Cut => {
                self.must_be_alone(dir, step)?;
                Marker::default()
            }
        };
        if reach == ReleaseScope::Rest && !self.other_names(dir)?.is_empty() {
            return Ok(Emptied::default());
        }
        let emptied = self.empty(dir, &marker.nonce, &marker.run, marker.run == ours)?;
        // While something stays, the marker stays too: it says whose the rest is.
        if emptied.is_all() {
            self.remove_marked(dir, &marker, step)?;
        }
        Ok(emptied)
    }

    /// Removes the marker and the directory, which is empty. Where the directory stays,
    /// so does its marker.
    fn remove_marked(
        &mut self,
        dir: &B::Dir,
        marker: &Marker,
        step: &str,
    ) -> Result<(), DriverError> {
        match self.marker(dir)? {
            DirOwnership::Run(now) if now.run != marker.run => {
                return Err(taken_over(self.backend.place(), step, &now.who()));
            }
            _ => {}
        }
        self.backend.remove(Removal::File, dir, &[MARKER])?;
        let removed = self.backend.remove_run_dir();
        if removed.is_err() && !marker.run.is_empty() {
            write_again(self.backend, dir, &marker.text());
        }
        removed
    }
}

/// Writes the marker or owner file of a directory that could not be removed again, unless
/// another run has written its own meanwhile.
fn write_again<B: RunDirBackend>(backend: &mut B, dir: &B::Dir, text: &str) {
    if backend.read_file(dir, MARKER) == Ok(FilePrefix::Missing) {
        // The failure to remove it is what the user has to know.
        let _ = backend.write_file(dir, MARKER, text);
    }
}

/// The place of what lies in the run directory, by its path from there on: with the host,
/// and absolute.
fn place_below<B: RunDirBackend>(backend: &B, path: &[&str]) -> String {
    let mut place = backend.place();
    for name in path {
        place.push(backend.separator());
        place.push_str(name);
    }
    place
}

/// A failure, with the place below the run directory that it is about.
fn at<B: RunDirBackend>(mut error: DriverError, backend: &B, path: &[&str]) -> DriverError {
    // One that names a place of its own (a host that cannot be found) keeps it.
    if error.place == backend.place() {
        error.place = place_below(backend, path);
    }
    error
}

fn not_ours(place: String, step: &str, reason: String) -> DriverError {
    DriverError {
        place,
        step: step.to_owned(),
        reason,
        advice: NOT_OURS.to_owned(),
    }
}

/// What is advised about a directory that is not this run's.
const NOT_OURS: &str = "Filermark leaves it alone: choose another suffix (-s), or move it away";

/// Whether a failure means that the directory is not this run's, so that nothing of
/// Filermark's removes it as it is.
pub fn is_of_others(error: &DriverError) -> bool {
    error.advice == NOT_OURS
}

fn at_the_same_moment(who: &str) -> String {
    format!("at the same moment it was claimed by {who}")
}

fn not_ours_text() -> String {
    format!("the {MARKER} in it was not written by Filermark")
}
