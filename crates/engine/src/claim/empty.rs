//! Emptying a directory of what is ours: bounded in memory whatever its size, and at
//! ease with entries that vanish meanwhile.

use super::{Claimant, Entry, EntryKind, Ground, Removal, Removed};
use crate::driver::DriverError;
use crate::name::{MARKER, Name};

/// Foreign names that are told; more are only counted.
const FOREIGN_TOLD_MAX: usize = 20;
/// Parts of a listing that are taken for one pass over a directory, and passes. No sound
/// server comes near: each pass leaves less than half of the entries even where removing
/// makes the server skip some.
const PARTS_MAX: usize = 1 << 20;
const PASSES_MAX: usize = 200;
/// Our own layout is three deep; deeper nesting is not ours.
const DEPTH_MAX: usize = 8;

/// What emptying came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emptied {
    /// Objects that were removed.
    pub removed_count: u64,
    /// Names that are not ours, with their place.
    pub foreign: Vec<String>,
    foreign_untold: u64,
}

impl Emptied {
    fn leave(&mut self, place: String) {
        if self.foreign.contains(&place) {
            return;
        }
        if self.foreign.len() < FOREIGN_TOLD_MAX {
            self.foreign.push(place);
        } else {
            self.foreign_untold += 1;
        }
    }
}

impl<G: Ground> Claimant<'_, G> {
    /// Removes everything in the directory that is ours, except the marker.
    pub(super) fn empty(&mut self) -> Result<Emptied, DriverError> {
        let mut emptied = Emptied::default();
        self.empty_dir(&mut Vec::new(), &mut emptied)?;
        if emptied.foreign_untold > 0 {
            let place = &self.claim.dir_name;
            let more = format!("{place}: and {} more names", emptied.foreign_untold);
            emptied.foreign.push(more);
        }
        Ok(emptied)
    }

    /// One directory, pass by pass: removing entries while listing may make a server skip
    /// some, so it is listed again until nothing of ours turns up. Tells whether it is
    /// empty now (the marker aside).
    fn empty_dir(
        &mut self,
        below: &mut Vec<Name>,
        emptied: &mut Emptied,
    ) -> Result<bool, DriverError> {
        for _ in 0..PASSES_MAX {
            let before = emptied.removed_count;
            let Some(mut listing) = self.ground.list(below)? else {
                return Ok(true);
            };
            let left = self.clear(below, &mut listing, emptied);
            self.ground.end_list(listing);
            let left = left?;
            if emptied.removed_count == before {
                return Ok(left == 0);
            }
        }
        Err(DriverError {
            place: self.ground.place(),
            step: "remove leftovers".to_owned(),
            reason: format!("it does not become empty in {PASSES_MAX} passes"),
            advice: "is another run at work in it? Choose another suffix (-s)".to_owned(),
        })
    }

    /// One pass; tells how many entries stay.
    fn clear(
        &mut self,
        below: &mut Vec<Name>,
        listing: &mut G::Listing,
        emptied: &mut Emptied,
    ) -> Result<u64, DriverError> {
        let mut left = 0;
        for _ in 0..PARTS_MAX {
            let Some(entries) = self.ground.next_entries(listing)? else {
                break;
            };
            left += self.clear_part(below, &entries, emptied)?;
        }
        Ok(left)
    }

    /// Removes what is ours among some entries; tells how many stay.
    fn clear_part(
        &mut self,
        below: &mut Vec<Name>,
        entries: &[Entry],
        emptied: &mut Emptied,
    ) -> Result<u64, DriverError> {
        let (mut files, mut dirs) = (Vec::new(), Vec::new());
        let mut left = 0;
        for entry in entries {
            match (Name::parse(&entry.name), entry.kind) {
                (Some(ours), EntryKind::Dir) if ours.kind.is_dir() => dirs.push(ours),
                (Some(ours), EntryKind::File | EntryKind::Link) if !ours.kind.is_dir() => {
                    files.push(ours);
                }
                (None, _) if below.is_empty() && entry.name == MARKER.as_bytes() => {}
                _ => {
                    left += 1;
                    emptied.leave(self.told(below, &entry.name));
                }
            }
        }
        left += self.remove_row(Removal::File, below, &files, emptied)?;
        let mut hollow = Vec::new();
        for name in dirs {
            match self.empty_below(below, name, emptied)? {
                true => hollow.push(name),
                false => left += 1,
            }
        }
        left += self.remove_row(Removal::Dir, below, &hollow, emptied)?;
        Ok(left)
    }

    /// Empties a directory in another; tells whether it may be removed.
    fn empty_below(
        &mut self,
        below: &mut Vec<Name>,
        name: Name,
        emptied: &mut Emptied,
    ) -> Result<bool, DriverError> {
        if below.len() >= DEPTH_MAX {
            emptied.leave(self.told(below, name.text().as_bytes()));
            return Ok(false);
        }
        below.push(name);
        let is_empty = self.empty_dir(below, emptied);
        below.pop();
        is_empty
    }

    /// Removes a row of names from a directory; tells how many stay.
    fn remove_row(
        &mut self,
        what: Removal,
        below: &[Name],
        names: &[Name],
        emptied: &mut Emptied,
    ) -> Result<u64, DriverError> {
        if names.is_empty() {
            return Ok(0);
        }
        let mut left = 0;
        let became = self.ground.remove_names(what, below, names)?;
        for (name, removed) in names.iter().zip(became) {
            match removed {
                Removed::Done => emptied.removed_count += 1,
                Removed::Gone => {}
                Removed::Stays => {
                    left += 1;
                    emptied.leave(self.told(below, name.text().as_bytes()));
                }
            }
        }
        Ok(left)
    }

    /// A few of the names in the directory, for a message.
    pub(super) fn some_names(&mut self) -> Result<Vec<String>, DriverError> {
        const SHOWN: usize = 4;
        let Some(mut listing) = self.ground.list(&[])? else {
            return Ok(Vec::new());
        };
        let mut names = Ok(Vec::new());
        for _ in 0..PARTS_MAX {
            match self.ground.next_entries(&mut listing) {
                Ok(Some(entries)) if entries.is_empty() => {}
                Ok(Some(entries)) => {
                    let shown = entries.iter().take(SHOWN);
                    names = Ok(shown.map(|entry| printable(&entry.name)).collect());
                    break;
                }
                Ok(None) => break,
                Err(error) => {
                    names = Err(error);
                    break;
                }
            }
        }
        self.ground.end_list(listing);
        names
    }

    /// A name with its place, for people.
    fn told(&self, below: &[Name], name: &[u8]) -> String {
        let mut told = self.claim.dir_name.clone();
        let dirs = below.iter().map(|dir| printable(dir.text().as_bytes()));
        for part in dirs.chain([printable(name)]) {
            told.push(self.ground.separator());
            told.push_str(&part);
        }
        told
    }
}

/// A name for people: what is not printable is escaped.
fn printable(name: &[u8]) -> String {
    String::from_utf8_lossy(name).escape_debug().to_string()
}
