//! The rules by which a run directory is claimed, emptied and released, whatever the
//! protocol: see docs/src/design/safety.md.
//!
//! These rules protect the data of others. A directory is ours only if our marker or owner
//! file is in it, with its own path and the nonce of its run, and only names of the layout
//! are removed from it. [`RunDirBackend`] is what a protocol supplies. Everything blocks;
//! nothing here is measured.
//!
//! | module | contents |
//! |---|---|
//! | `retry` | retries after transient failures |
//! | `backend` | the operations on directories that a driver supplies |
//! | `layout` | which names a run makes in which directory |
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

/// How often to look for a marker that another client is about to write.
const MARKER_LOOKS: u32 = 20;
/// Time between two of these looks.
const MARKER_PAUSE: Duration = Duration::from_millis(50);
/// Time between writing a marker into an existing directory and reading it back: another
/// run that has found the same marker expired, or none, has written its own by then.
const SETTLE: Duration = Duration::from_millis(250);
/// The most names that a message gives.
const SHOWN: usize = 4;

/// The name of this step in messages.
const CLAIM: &str = "claim the run's directory";

/// A run directory that was claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed<D> {
    /// The directory.
    pub dir: D,
    /// What was removed from it, and what remains.
    pub emptied: Emptied,
    /// The nonce in the owner files of its directories.
    pub nonce: String,
}

/// Makes the run directory and marks it as ours, as described at
/// [`Driver::claim`](crate::driver::Driver::claim). With `keep`, the files of an earlier
/// run and their nonce are kept.
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

/// Removes the marker and the run directory, and what is ours in it, as described at
/// [`Driver::release`](crate::driver::Driver::release).
///
/// # Errors
/// As the backend's, and: it now belongs to another run, or to one that is under way.
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
        Some(dir) => claimant.release(&dir, reach),
    }
}

/// What a client does about the marker of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRole {
    /// Renews it if this process has written it.
    Own,
    /// Renews it also if another client has written it and its heartbeat still has this
    /// value: that client has not renewed it for too long.
    StandIn(u64),
    /// The run is over, and its files stay.
    End,
}

/// The result of a renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenewResult {
    /// The heartbeat was incremented.
    Done,
    /// Another client of the run renews the marker; the value of its heartbeat.
    ByAnother(u64),
    /// There is no marker to be renewed.
    Missing,
    /// Another run has taken over the directory; a description of that run.
    TakenOver(String),
}

/// Increments the heartbeat of the run directory's marker, if this process has to. A
/// marker that another client of the run has written is marked as shared.
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

/// [`renew`] with a backend that retries.
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
            let is_unchanged = turn == ClaimRole::StandIn(marker.heartbeat);
            if !is_unchanged || marker.state != State::Running {
                renewed = RenewResult::ByAnother(marker.heartbeat);
                let was_shared = std::mem::replace(&mut marker.shared, true);
                return match was_shared {
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

/// A claim that is being made or released.
struct RunDirClaim<'a, B> {
    backend: &'a mut B,
    claim: &'a Claim,
    watch: &'a dyn LeaseWatch,
}

/// Who owns a directory.
enum DirOwnership {
    /// It has no marker.
    Missing,
    /// A marker that was being written when its run was killed.
    Cut,
    /// A file of that name that Filermark has not written.
    NotOurs,
    /// The run that the marker names.
    Run(Box<Marker>),
}

/// The state of an existing directory.
enum ExistingDir {
    /// Empty and unmarked.
    Free,
    /// Already claimed by another client of this run. With its nonce.
    Joined(String),
    /// That of a run that is over. With its marker.
    Abandoned(Box<Marker>),
}

/// Why a directory was not marked.
struct MarkError {
    error: DriverError,
    /// The directory may have our marker, or a part of it.
    is_written: bool,
}

/// The state of a lease.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeaseStatus {
    /// Its run is over.
    Expired,
    /// Another client of this run has it now.
    Joined,
    /// The marker was changed or removed: it is read again.
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
        // With such a name another directory would be emptied.
        if !name.starts_with(RUN_DIR_PREFIX) || leads_elsewhere || name.len() > 255 {
            return Err(DriverError {
                place: backend.place(),
                step: CLAIM.to_owned(),
                reason: format!("{name:?} is not a valid name for it"),
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

    /// The directory, and whether this call has made it.
    fn find_or_make(&mut self) -> Result<(B::Dir, bool), DriverError> {
        if let Some(dir) = self.find()? {
            return Ok((dir, false));
        }
        let fresh = self.backend.make_run_dir()?;
        match self.find()? {
            Some(dir) => Ok((dir, fresh)),
            None => Err(self.not_ours(
                "make the run's directory",
                "it was made, but does not exist any more".to_owned(),
            )),
        }
    }

    /// Checks that an existing directory is ours and that its run is over.
    fn take_over(&mut self, dir: &B::Dir) -> Result<ExistingDir, DriverError> {
        /// The most changes of the marker while waiting.
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
            self.must_be_of_this_dir(&marker, step)?;
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
                // The marker is read again, with its nonce.
                LeaseStatus::Joined | LeaseStatus::Changed => {}
                LeaseStatus::Expired => return Ok(ExistingDir::Abandoned(marker)),
            }
        }
        Err(self.not_ours(step, "it is claimed by one run after the other".to_owned()))
    }

    /// Takes over the directory of a run that is over: first writes the marker of this run,
    /// so that others see it, then empties the directory. The nonce stays that of the earlier
    /// run until all files with it are removed.
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
            true => self.empty_temporary(dir, &nonce)?,
            false => self.empty(dir, &nonce, run, true)?,
        };
        // Directories that stay because of others' files have the earlier nonce.
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

    /// Replaces the marker in the directory, if `change` returns a new one.
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

    /// A marker of another directory was found through a link.
    fn must_be_of_this_dir(&self, marker: &Marker, step: &str) -> Result<(), DriverError> {
        let path = &marker.path;
        if path.is_empty() || *path == self.claim.dir_name {
            return Ok(());
        }
        Err(self.not_ours(step, format!("the {MARKER} in it is that of {path}")))
    }

    /// The marker; waits a short time for one that another client is writing.
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

    /// Writes this run's marker into a directory that has none, and checks that it is still
    /// there. `fresh`: this run has made the directory. If another client of the run has
    /// written it meanwhile, its marker stays and is marked as shared.
    fn mark(&mut self, dir: &B::Dir, fresh: bool) -> Result<(), MarkError> {
        let not_written = |error| MarkError {
            error,
            is_written: false,
        };
        // Another run may have marked the directory before the run that made it.
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
    /// unless others use them now. The error names what may remain.
    fn undo(&mut self, dir: &B::Dir, fresh: bool, mut error: DriverError) -> DriverError {
        let found = self.marker(dir);
        let is_readable = found.is_ok();
        let is_removable = match found {
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
        let undone = is_removable
            && self.backend.remove(Removal::File, dir, &[MARKER]).is_ok()
            && (!fresh || self.backend.remove_run_dir().is_ok());
        let may_stay = !undone
            && (fresh || !is_readable || !matches!(self.marker(dir), Ok(DirOwnership::Missing)));
        if may_stay {
            error.reason.push_str(&format!(
                "; {}, with this run's {MARKER}, may stay: `filermark stop` removes it",
                self.backend.place()
            ));
        }
        error
    }

    /// Marks the marker of this run as shared, if another client has written it.
    fn share(&mut self, marker: &Marker) -> Result<(), DriverError> {
        match marker.process == self.watch.this() {
            true => Ok(()),
            false => self.join(),
        }
    }

    /// Renews the marker of this run, or marks it as shared.
    fn join(&mut self) -> Result<(), DriverError> {
        match renew_by(self.backend, self.claim, ClaimRole::Own, self.watch)? {
            RenewResult::Done | RenewResult::ByAnother(_) => Ok(()),
            RenewResult::TakenOver(who) => Err(self.not_ours(CLAIM, at_the_same_moment(&who))),
            RenewResult::Missing => Err(self.not_ours(
                CLAIM,
                format!("the {MARKER} that another client of this run wrote was removed meanwhile"),
            )),
        }
    }

    /// Checks that the marker of this run is still there.
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
    fn release(&mut self, dir: &B::Dir, reach: ReleaseScope) -> Result<Emptied, DriverError> {
        let step = "remove the run's directory";
        let ours = self.claim.run_id.as_str();
        let marker = match self.marker(dir)? {
            DirOwnership::Run(marker) => {
                self.must_be_of_this_dir(&marker, step)?;
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
            // A claim or release that was interrupted between two steps.
            DirOwnership::Missing | DirOwnership::Cut => {
                self.must_be_alone(dir, step)?;
                Marker::default()
            }
        };
        if reach == ReleaseScope::Rest && !self.other_names(dir)?.is_empty() {
            return Ok(Emptied::default());
        }
        let emptied = self.empty(dir, &marker.nonce, &marker.run, marker.run == ours)?;
        // While something remains, the marker stays too: it names the owner.
        if emptied.is_all() {
            self.remove_marked(dir, &marker, step)?;
        }
        Ok(emptied)
    }

    /// Removes the marker and the directory, which is empty. If the directory cannot be
    /// removed, its marker is written again.
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
        // The error that is reported is that of the removal.
        let _ = backend.write_file(dir, MARKER, text);
    }
}

/// The absolute place, with the host, of a path below the run directory.
fn place_below<B: RunDirBackend>(backend: &B, path: &[&str]) -> String {
    let mut place = backend.place();
    for name in path {
        place.push(backend.separator());
        place.push_str(name);
    }
    place
}

/// An error, with the place below the run directory that it is about.
fn at<B: RunDirBackend>(mut error: DriverError, backend: &B, path: &[&str]) -> DriverError {
    // An error with another place (a host that cannot be found) keeps it.
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

/// The advice about a directory of another owner.
const NOT_OURS: &str = "Filermark leaves it alone: choose another suffix (-s), or move it away";

/// Whether an error means that the directory has another owner, so that no command of
/// Filermark removes it.
pub fn is_of_others(error: &DriverError) -> bool {
    error.advice == NOT_OURS
}

fn at_the_same_moment(who: &str) -> String {
    format!("at the same moment it was claimed by {who}")
}

fn not_ours_text() -> String {
    format!("the {MARKER} in it was not written by Filermark")
}
