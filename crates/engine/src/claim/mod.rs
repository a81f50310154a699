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
//! | `backend` | the operations on directories that a driver gives |
//! | `layout` | which names a run makes where |
//! | `lease` | whether the run that wrote a marker is still under way |
//! | `empty` | removing what is ours |

mod backend;
mod empty;
mod layout;
pub mod lease;
#[cfg(test)]
mod tests;

use crate::driver::{Claim, ClaimReport, DriverError, Reach};
use crate::marker::{Marker, MarkerText};
use crate::name::{MARKER, RUN_DIR_PREFIX};
pub use backend::{
    A_LINK, Entry, EntryKind, FileFront, Found, NOT_A_DIRECTORY, OTHER_FILE_SYSTEM, Removal,
    Removed, RunDirBackend,
};
pub use empty::{Emptied, empty_dir};
use filermark_model::plan::MountPoint;
pub use layout::{Known, Level, PROBE_PREFIX};
use lease::Watch;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Looks for a marker that another client is about to write.
const MARKER_LOOKS: u32 = 20;
/// Between two of them.
const MARKER_PAUSE: Duration = Duration::from_millis(50);
/// Names that a message gives of what is in the way.
const SHOWN: usize = 4;

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
    watch: &dyn Watch,
) -> Result<Claimed<B::Dir>, DriverError> {
    let mut claimant = Claimant::new(backend, claim, watch)?;
    let (dir, fresh) = claimant.find_or_make()?;
    let taken = match fresh {
        true => Taken::Free(Emptied::default(), claim.nonce()),
        false => claimant.take_over(&dir, keep)?,
    };
    let (emptied, nonce) = match taken {
        Taken::Joined(nonce) => {
            let emptied = Emptied::default();
            return Ok(Claimed {
                dir,
                emptied,
                nonce,
            });
        }
        Taken::Free(emptied, nonce) => (emptied, nonce),
    };
    if let Err(error) = claimant.mark(&dir, &nonce) {
        if fresh {
            let _ = claimant.backend.remove(Removal::File, &dir, &[MARKER]);
            let _ = claimant.backend.remove_run_dir();
        }
        return Err(error);
    }
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
    reach: Reach,
    watch: &dyn Watch,
) -> Result<Emptied, DriverError> {
    let mut claimant = Claimant::new(backend, claim, watch)?;
    match claimant.find()? {
        None => Ok(Emptied::default()),
        Some(dir) => claimant.give_back(&dir, reach),
    }
}

/// The nonces of the run directories that a driver has claimed.
#[derive(Debug, Default)]
pub struct Nonces(Mutex<HashMap<MountPoint, String>>);

impl Nonces {
    /// Notes what a claim came to.
    pub fn note(&self, mount: &MountPoint, report: &ClaimReport) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(mount.clone(), report.nonce.clone());
    }

    /// That of a mount point.
    pub fn of(&self, mount: &MountPoint, claim: &Claim) -> String {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(mount).cloned().unwrap_or_else(|| claim.nonce())
    }
}

/// What a renewal came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// The heartbeat is counted up.
    Done,
    /// Another client of the run renews the marker, or the directory is gone.
    NotOurs,
    /// Another run has taken the directory over, and which.
    Lost(String),
}

/// Counts the heartbeat of the run directory's marker up, if this process has written
/// it. `ended`: the run is over, and its files stay.
///
/// # Errors
/// As the backend's.
pub fn renew<B: RunDirBackend>(
    backend: &mut B,
    claim: &Claim,
    ended: bool,
    watch: &dyn Watch,
) -> Result<Renewed, DriverError> {
    let mut claimant = Claimant::new(backend, claim, watch)?;
    let Some(dir) = claimant.find()? else {
        return Ok(Renewed::NotOurs);
    };
    let (this, mut renewed) = (watch.this(), Renewed::NotOurs);
    backend.change_file(&dir, MARKER, &mut |front| {
        let FileFront::Bytes(bytes) = front else {
            return None;
        };
        let MarkerText::Marker(mut marker) = Marker::read(&bytes) else {
            return None;
        };
        if marker.run != claim.run_id {
            renewed = Renewed::Lost(marker.who());
            return None;
        }
        if marker.process != this {
            return None;
        }
        renewed = Renewed::Done;
        marker.heartbeat = marker.heartbeat.wrapping_add(1) % 10_000_000_000;
        marker.ended = ended;
        Some(marker.text())
    })?;
    Ok(renewed)
}

/// One claim being made or given back.
struct Claimant<'a, B> {
    backend: &'a mut B,
    claim: &'a Claim,
    watch: &'a dyn Watch,
}

/// Whose a directory is.
enum Mark {
    /// Nobody says.
    Missing,
    /// A marker that was being written when its run was killed.
    Cut,
    /// Somebody's own file of that name.
    Foreign,
    /// The run that it names.
    Run(Box<Marker>),
}

/// What a directory that was there before has become.
enum Taken {
    /// Ours, without a marker of this run, with this nonce.
    Free(Emptied, String),
    /// This run's already: another client was faster. With its nonce.
    Joined(String),
}

/// What a lease turned out to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    /// Its run is over.
    Over,
    /// This run has it: another client was faster.
    Joined,
    /// The marker is another one, or gone: it is looked at anew.
    Changed,
}

impl<'a, B: RunDirBackend> Claimant<'a, B> {
    fn new(
        backend: &'a mut B,
        claim: &'a Claim,
        watch: &'a dyn Watch,
    ) -> Result<Self, DriverError> {
        let name = &claim.dir_name;
        let leads_elsewhere = name.contains(['/', '\\', ':', '\0', '\n']);
        // A name that led elsewhere would make us clear the wrong place.
        if !name.starts_with(RUN_DIR_PREFIX) || leads_elsewhere || name.len() > 255 {
            return Err(DriverError {
                place: backend.place(),
                step: "claim the run's directory".to_owned(),
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
        DriverError {
            place: self.backend.place(),
            step: step.to_owned(),
            reason,
            advice: "Filermark leaves it alone: choose another suffix (-s), or move it away"
                .to_owned(),
        }
    }

    fn find(&mut self) -> Result<Option<B::Dir>, DriverError> {
        match self.backend.find_run_dir()? {
            Found::Missing => Ok(None),
            Found::Dir(dir) => Ok(Some(dir)),
            Found::Other(what) => {
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

    /// Checks that a directory that was there before is ours and that its run is over,
    /// and empties it.
    fn take_over(&mut self, dir: &B::Dir, keep: bool) -> Result<Taken, DriverError> {
        /// Runs that may come and go while one of them is waited for.
        const CHANGES_MAX: usize = 10;
        let step = "claim the run's directory";
        for _ in 0..CHANGES_MAX {
            let marker = match self.marker_in_time(dir)? {
                Mark::Run(marker) => marker,
                Mark::Foreign => return Err(self.not_ours(step, foreign_marker())),
                Mark::Missing | Mark::Cut => {
                    self.must_be_alone(dir, step)?;
                    return Ok(Taken::Free(Emptied::default(), self.claim.nonce()));
                }
            };
            self.must_be_of_here(&marker, step)?;
            if marker.run == self.claim.run_id {
                return Ok(Taken::Joined(marker.nonce));
            }
            match self.until_over(dir, &marker, step)? {
                // What its marker says now is looked at anew, its nonce too.
                Held::Joined | Held::Changed => {}
                Held::Over if keep => {
                    let emptied = self.empty_passing(dir, &marker.nonce)?;
                    return Ok(Taken::Free(emptied, marker.nonce));
                }
                Held::Over => {
                    let emptied = self.empty(dir, &marker.nonce)?;
                    // What stays because of others' files is known by the nonce before.
                    let stays = !emptied.foreign.is_empty() && !marker.nonce.is_empty();
                    let nonce = if stays {
                        marker.nonce
                    } else {
                        self.claim.nonce()
                    };
                    return Ok(Taken::Free(emptied, nonce));
                }
            }
        }
        Err(self.not_ours(step, "one run after the other claims it".to_owned()))
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
    fn marker_in_time(&mut self, dir: &B::Dir) -> Result<Mark, DriverError> {
        for _ in 0..MARKER_LOOKS {
            let marker = self.marker(dir)?;
            if !matches!(marker, Mark::Missing | Mark::Cut) {
                return Ok(marker);
            }
            self.watch.pause(MARKER_PAUSE);
        }
        self.marker(dir)
    }

    fn marker(&mut self, dir: &B::Dir) -> Result<Mark, DriverError> {
        Ok(match self.backend.read_file(dir, MARKER)? {
            FileFront::Missing => Mark::Missing,
            FileFront::NoFile => Mark::Foreign,
            FileFront::Bytes(bytes) => match Marker::read(&bytes) {
                MarkerText::Marker(marker) => Mark::Run(marker),
                MarkerText::Cut => Mark::Cut,
                MarkerText::Foreign => Mark::Foreign,
            },
        })
    }

    /// Writes this run's marker, and looks whether it is still there.
    fn mark(&mut self, dir: &B::Dir, nonce: &str) -> Result<(), DriverError> {
        let mut marker = Marker::new(self.claim, self.watch.this(), lease::utc_now());
        nonce.clone_into(&mut marker.nonce);
        self.backend.write_file(dir, MARKER, &marker.text())?;
        match self.marker(dir)? {
            Mark::Run(marker) if marker.run == self.claim.run_id => Ok(()),
            Mark::Run(marker) => Err(self.not_ours(
                "claim the run's directory",
                format!("at the same moment it was claimed by {}", marker.who()),
            )),
            Mark::Missing | Mark::Cut | Mark::Foreign => Err(self.not_ours(
                "claim the run's directory",
                format!("the {MARKER} that was written does not read back as it was written"),
            )),
        }
    }

    /// Empties and removes the directory if it is this run's.
    fn give_back(&mut self, dir: &B::Dir, reach: Reach) -> Result<Emptied, DriverError> {
        let step = "remove the run's directory";
        let ours = self.claim.run_id.as_str();
        let nonce = match self.marker(dir)? {
            Mark::Run(marker) => {
                self.must_be_of_here(&marker, step)?;
                let is_left = reach == Reach::Leftovers && marker.run.starts_with(ours);
                if is_left {
                    if self.until_over(dir, &marker, step)? != Held::Over {
                        let reason = "its marker has changed meanwhile".to_owned();
                        return Err(self.not_ours(step, reason));
                    }
                } else if marker.run != ours {
                    return Err(self.not_ours(step, format!("it belongs to {}", marker.who())));
                }
                marker.nonce
            }
            Mark::Foreign => return Err(self.not_ours(step, foreign_marker())),
            // A claim, or a release, that was cut between two of its steps.
            Mark::Missing | Mark::Cut => {
                self.must_be_alone(dir, step)?;
                String::new()
            }
        };
        if reach == Reach::Rest && !self.other_names(dir)?.is_empty() {
            return Ok(Emptied::default());
        }
        let emptied = self.empty(dir, &nonce)?;
        // While something stays, the marker stays too: it says whose the rest is.
        if emptied.foreign.is_empty() {
            self.backend.remove(Removal::File, dir, &[MARKER])?;
            self.backend.remove_run_dir()?;
        }
        Ok(emptied)
    }
}

fn foreign_marker() -> String {
    format!("the {MARKER} in it was not written by Filermark")
}
