//! The rules by which a run's directory is claimed and given back, whatever the protocol.
//!
//! The safety of other people's data is decided here: a directory is ours only if our
//! marker file is in it, and in it only names of the layout ([`Name`]) are ever removed:
//! what a protocol does for these rules ([`Ground`]) it is told by such names only.
//! Everything blocks; nothing here is measured.

mod empty;
#[cfg(test)]
mod tests;

use crate::driver::{Claim, DriverError, Reach};
use crate::marker::{marker_run, marker_text};
use crate::name::{MARKER, Name, RUN_DIR_PREFIX};
pub use empty::Emptied;
use std::time::Duration;

/// Looks for a marker that another client is about to write.
const MARKER_LOOKS: u32 = 20;
/// Between two of them.
const MARKER_PAUSE: Duration = Duration::from_millis(50);

/// Where a run's directory is, or is to be: one directory of a server, by one protocol.
/// All errors are sentences that name the place, the step, the reason and what to try.
pub trait Ground {
    /// A listing that is under way.
    type Listing;

    /// The run's directory, for people.
    fn place(&self) -> String;

    /// What separates names in paths that are told.
    fn separator(&self) -> char {
        '/'
    }

    /// What has the directory's name.
    ///
    /// # Errors
    /// The server could not be asked.
    fn find(&mut self) -> Result<Option<EntryKind>, DriverError>;

    /// Makes the directory; `false`: something has its name already.
    ///
    /// # Errors
    /// No right, read-only, full.
    fn make(&mut self) -> Result<bool, DriverError>;

    /// Removes the directory, which is empty; that it is gone is fine.
    ///
    /// # Errors
    /// It stays.
    fn remove(&mut self) -> Result<(), DriverError>;

    /// What is in the marker file.
    ///
    /// # Errors
    /// It cannot be read.
    fn read_marker(&mut self) -> Result<MarkerFile, DriverError>;

    /// Writes the marker file, over whatever was in it.
    ///
    /// # Errors
    /// No right, read-only, full.
    fn write_marker(&mut self, text: &str) -> Result<(), DriverError>;

    /// Removes the marker file; that it is gone is fine.
    ///
    /// # Errors
    /// It stays.
    fn remove_marker(&mut self) -> Result<(), DriverError>;

    /// Begins to list the directory, or one below it; `None`: it is gone.
    ///
    /// # Errors
    /// It cannot be listed.
    fn list(&mut self, below: &[Name]) -> Result<Option<Self::Listing>, DriverError>;

    /// Goes on with it: some entries, without `.` and `..`; `None`: there are no more.
    ///
    /// # Errors
    /// It cannot be listed.
    fn next_entries(
        &mut self,
        listing: &mut Self::Listing,
    ) -> Result<Option<Vec<Entry>>, DriverError>;

    /// Ends it. Best effort.
    fn end_list(&mut self, listing: Self::Listing);

    /// Removes files, or directories, which are empty, from one directory; what became
    /// of each, in their order.
    ///
    /// # Errors
    /// Something that is ours cannot be removed.
    fn remove_names(
        &mut self,
        what: Removal,
        below: &[Name],
        names: &[Name],
    ) -> Result<Vec<Removed>, DriverError>;
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// Something without entries of its own.
    File,
    /// A directory.
    Dir,
    /// Something that leads elsewhere, which is never followed.
    Link,
}

/// What a marker file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerFile {
    /// There is none.
    Missing,
    /// Something that has its name and cannot be read as a file.
    NoFile,
    /// What it begins with ([`crate::marker::MARKER_BYTES_MAX`]).
    Bytes(Vec<u8>),
}

/// What is to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// Files.
    File,
    /// Empty directories.
    Dir,
}

/// What became of a name that was to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It is removed.
    Done,
    /// It was gone already.
    Gone,
    /// It stays: it is something else, or not empty.
    Stays,
}

/// Makes the run's directory and marks it as ours: what
/// [`Driver::claim`](crate::driver::Driver::claim) promises.
///
/// # Errors
/// As the ground's, and: not ours.
pub fn claim<G: Ground>(ground: &mut G, claim: &Claim) -> Result<Emptied, DriverError> {
    let mut claimant = Claimant::new(ground, claim)?;
    let fresh = claimant.find_or_make()?;
    let found = match fresh {
        true => Found::Free(Emptied::default()),
        false => claimant.take_over()?,
    };
    let Found::Free(emptied) = found else {
        return Ok(Emptied::default());
    };
    let text = marker_text(claim);
    if let Err(error) = claimant.ground.write_marker(&text) {
        if fresh {
            let _ = claimant.ground.remove_marker();
            let _ = claimant.ground.remove();
        }
        return Err(error);
    }
    Ok(emptied)
}

/// Removes the marker and the run's directory, and what is ours in it: what
/// [`Driver::release`](crate::driver::Driver::release) promises.
///
/// # Errors
/// As the ground's, and: it belongs to another run by now.
pub fn release<G: Ground>(
    ground: &mut G,
    claim: &Claim,
    reach: Reach,
) -> Result<Emptied, DriverError> {
    let mut claimant = Claimant::new(ground, claim)?;
    match claimant.find()? {
        false => Ok(Emptied::default()),
        true => claimant.give_back(reach),
    }
}

/// One claim being made or given back.
struct Claimant<'a, G> {
    ground: &'a mut G,
    claim: &'a Claim,
}

/// Whose a directory is.
enum Marker {
    /// Nobody says.
    Missing,
    /// Somebody's own file of that name; `true`: without a byte in it.
    NotOurs(bool),
    /// The run that it names.
    Run(String),
}

/// What a directory that was there before has become.
enum Found {
    /// Ours, without a marker of this run.
    Free(Emptied),
    /// This run's already: another client was faster.
    Joined,
}

impl<'a, G: Ground> Claimant<'a, G> {
    fn new(ground: &'a mut G, claim: &'a Claim) -> Result<Self, DriverError> {
        let name = &claim.dir_name;
        let leads_elsewhere = name.contains(['/', '\\', ':', '\0']);
        // A name that led elsewhere would make us clear the wrong place.
        if !name.starts_with(RUN_DIR_PREFIX) || leads_elsewhere || name.len() > 255 {
            return Err(DriverError {
                place: ground.place(),
                step: "claim the run's directory".to_owned(),
                reason: format!("{name:?} is no name for it"),
                advice: "use letters, digits, '.', '_' and '-' in the suffix".to_owned(),
            });
        }
        Ok(Self { ground, claim })
    }

    fn not_ours(&self, step: &str, reason: String) -> DriverError {
        DriverError {
            place: self.ground.place(),
            step: step.to_owned(),
            reason,
            advice: "Filermark leaves it alone: choose another suffix (-s), or move it away"
                .to_owned(),
        }
    }

    /// Whether the directory is there.
    fn find(&mut self) -> Result<bool, DriverError> {
        match self.ground.find()? {
            None => Ok(false),
            Some(EntryKind::Dir) => Ok(true),
            Some(EntryKind::File | EntryKind::Link) => Err(self.not_ours(
                "look at the run's directory",
                "it is not a directory".to_owned(),
            )),
        }
    }

    /// Whether the directory was made just now.
    fn find_or_make(&mut self) -> Result<bool, DriverError> {
        if self.find()? {
            return Ok(false);
        }
        if self.ground.make()? {
            return Ok(true);
        }
        // Somebody else was faster.
        match self.find()? {
            true => Ok(false),
            false => Err(self.not_ours(
                "make the run's directory",
                "it was made and is gone again".to_owned(),
            )),
        }
    }

    /// Checks that a directory that was there before is ours, and empties it.
    fn take_over(&mut self) -> Result<Found, DriverError> {
        let step = "claim the run's directory";
        match self.marker_in_time()? {
            Marker::Run(run) if run == self.claim.run_id => Ok(Found::Joined),
            Marker::Run(_) => self.empty().map(Found::Free),
            Marker::NotOurs(_) => {
                let reason = format!("the {MARKER} in it was not written by Filermark");
                Err(self.not_ours(step, reason))
            }
            Marker::Missing => {
                let names = self.some_names()?;
                if names.is_empty() {
                    return Ok(Found::Free(Emptied::default()));
                }
                let names = names.join(", ");
                let reason = format!("it has no {MARKER} and is not empty ({names})");
                Err(self.not_ours(step, reason))
            }
        }
    }

    /// The marker; one that another client is writing at this moment is waited for a
    /// little.
    fn marker_in_time(&mut self) -> Result<Marker, DriverError> {
        for _ in 0..MARKER_LOOKS {
            let marker = self.marker()?;
            let unwritten = match &marker {
                Marker::Run(_) => false,
                Marker::NotOurs(is_empty) => *is_empty,
                Marker::Missing => !self.some_names()?.is_empty(),
            };
            if !unwritten {
                return Ok(marker);
            }
            std::thread::sleep(MARKER_PAUSE);
        }
        self.marker()
    }

    fn marker(&mut self) -> Result<Marker, DriverError> {
        Ok(match self.ground.read_marker()? {
            MarkerFile::Missing => Marker::Missing,
            MarkerFile::NoFile => Marker::NotOurs(false),
            MarkerFile::Bytes(bytes) => match marker_run(&bytes) {
                Some(run) => Marker::Run(run),
                None => Marker::NotOurs(bytes.is_empty()),
            },
        })
    }

    /// Empties and removes the directory if it is this run's.
    fn give_back(&mut self, reach: Reach) -> Result<Emptied, DriverError> {
        let step = "remove the run's directory";
        let ours = self.claim.run_id.as_str();
        match self.marker()? {
            Marker::Run(run) if run == ours => {}
            Marker::Run(run) if reach == Reach::Leftovers && run.starts_with(ours) => {}
            Marker::Run(run) => {
                return Err(self.not_ours(step, format!("it belongs to run {run}")));
            }
            // A release that was cut between its two last steps.
            Marker::Missing if self.some_names()?.is_empty() => {}
            Marker::NotOurs(_) | Marker::Missing => {
                return Err(self.not_ours(step, format!("our {MARKER} in it is gone")));
            }
        }
        let others = |name: &String| name != MARKER;
        if reach == Reach::Rest && self.some_names()?.iter().any(others) {
            return Ok(Emptied::default());
        }
        let emptied = self.empty()?;
        // While something foreign stays, the marker stays too: the next run may come
        // back to the same directory.
        if emptied.foreign.is_empty() {
            self.ground.remove_marker()?;
            self.ground.remove()?;
        }
        Ok(emptied)
    }
}
