//! Removes what is ours from a directory, with bounded memory whatever its size. Entries
//! may disappear meanwhile.
//!
//! A directory below the run directory is entered only if its owner file has its own path
//! and the nonce of the run. One without is removed if it is empty (INIT was killed between
//! making it and writing the file; or an operation made it), otherwise it stays.

use super::backend::{
    A_REPARSE_POINT, DirLookup, Entry, EntryKind, FilePrefix, Removal, Removed, RunDirBackend,
};
use super::layout::{Level, NameMeaning};
use super::lease::{LeaseKeeper, SystemWatch};
use super::retry::RetryingBackend;
use super::{RunDirClaim, SHOWN, at, place_below, write_again};
use crate::marker::owner_text;
use filermark_engine::driver::DriverError;
use filermark_engine::name::MARKER;
use filermark_model::Bucket;
use filermark_model::text::escaped;

/// The most names that are given; the others are only counted.
const FOREIGN_MAX: usize = 20;
/// The most occupied names in the run directory that are kept.
const OCCUPIED_MAX: usize = 1 << 16;
/// The most parts of a listing in one pass over a directory. A correct server stays far
/// below.
const PARTS_MAX: usize = 1 << 20;
/// How often a part of a listing may be the same as the one before.
const REPEATS_MAX: usize = 8;
/// The most passes over a directory. Each pass leaves less than half of the entries, even
/// if a server skips some because others are removed.
const PASSES_MAX: usize = 200;
/// The most directories of the layout from one listing: a run makes fewer.
const DIRS_MAX: usize = 1 << 20;
const TOO_MANY: &str = "not entered: its directory has more directories than a run makes";
const NOT_ENTERED: &str = "not entered: it has no owner file of this run";

/// The result of emptying a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emptied {
    /// Objects that were removed, without owner files.
    pub removed_count: u64,
    /// What remains because it is not ours, with its place.
    pub not_ours: Vec<String>,
    /// Names in the run directory that a run cannot use: they, or names of the layout below
    /// them, have another type. (Others' files in a directory of ours are no obstacle.)
    pub occupied: Vec<String>,
    /// Directories of ours that the server did not remove, with their places.
    pub not_removed: Vec<String>,
    not_ours_more: u64,
    not_removed_more: u64,
}

impl Emptied {
    /// Whether nothing remains, ours or not.
    pub(super) fn is_all(&self) -> bool {
        self.not_ours.is_empty() && self.not_removed.is_empty()
    }

    fn leave(&mut self, place: String) {
        note(&mut self.not_ours, &mut self.not_ours_more, place);
    }

    fn end(mut self, place: &str) -> Self {
        for (names, more) in [
            (&mut self.not_ours, self.not_ours_more),
            (&mut self.not_removed, self.not_removed_more),
        ] {
            if more > 0 {
                names.push(format!("{place}: and {more} more names"));
            }
        }
        self.occupied.sort_unstable();
        self.occupied.dedup();
        self
    }
}

/// Adds a place to those that are named, or only counts it.
fn note(names: &mut Vec<String>, more: &mut u64, place: String) {
    if names.contains(&place) {
        return;
    }
    match names.len() < FOREIGN_MAX {
        true => names.push(place),
        false => *more += 1,
    }
}

/// Empties and removes a directory of the layout below a run directory, by the same rules.
/// `path` is its path below the directory of the mount point, and begins with the run
/// directory's name; `parent` is the directory that it is in.
///
/// # Errors
/// As the backend's.
pub fn empty_dir<B: RunDirBackend>(
    backend: &mut B,
    parent: &B::Dir,
    path: &[&str],
    level: Level,
    nonce: &str,
) -> Result<Emptied, DriverError> {
    let Some((name, above)) = path.split_last() else {
        return Ok(Emptied::default());
    };
    let mut backend = RetryingBackend::new(backend, &SystemWatch);
    let mut emptying = DirRemoval {
        backend: &mut backend,
        nonce,
        path: above.iter().map(|name| (*name).to_owned()).collect(),
        emptied: Emptied::default(),
        lease_keeper: None,
    };
    emptying.enter(parent, name, level)?;
    Ok(emptying.emptied.end(&path.join("/")))
}

impl<B: RunDirBackend> RunDirClaim<'_, B> {
    /// Removes everything in the run directory that is ours, except the marker, which must
    /// name `run` all the time. `renews`: this process renews it meanwhile.
    pub(super) fn empty(
        &mut self,
        dir: &B::Dir,
        nonce: &str,
        run: &str,
        renews: bool,
    ) -> Result<Emptied, DriverError> {
        let keeper = LeaseKeeper::of(dir, run, renews, self.watch);
        let mut emptying = DirRemoval {
            lease_keeper: (!run.is_empty()).then_some(keeper),
            ..self.emptying(nonce)
        };
        emptying.empty_dir(dir, Level::Run)?;
        let emptied = emptying.emptied;
        Ok(emptied.end(&self.backend.place()))
    }

    /// Removes temporary files from the trees in a run directory that is kept: the next run
    /// begins with other names of these than the one before ended with. Other files are kept.
    pub(super) fn empty_temporary(
        &mut self,
        dir: &B::Dir,
        nonce: &str,
    ) -> Result<Emptied, DriverError> {
        let keeper = LeaseKeeper::of(dir, &self.claim.run_id, true, self.watch);
        let mut emptying = DirRemoval {
            lease_keeper: Some(keeper),
            ..self.emptying(nonce)
        };
        emptying.remove_temporary(dir, Level::Run)?;
        let mut emptied = emptying.emptied;
        emptied.removed_count = 0;
        Ok(emptied.end(&self.backend.place()))
    }

    fn emptying<'b>(&'b mut self, nonce: &'b str) -> DirRemoval<'b, B> {
        DirRemoval {
            path: vec![self.claim.dir_name.clone()],
            backend: self.backend,
            nonce,
            emptied: Emptied::default(),
            lease_keeper: None,
        }
    }

    /// A few of the names in a directory besides the marker, for a message.
    pub(super) fn other_names(&mut self, dir: &B::Dir) -> Result<Vec<String>, DriverError> {
        other_names(self.backend, dir)
    }
}

fn other_names<B: RunDirBackend>(
    backend: &mut B,
    dir: &B::Dir,
) -> Result<Vec<String>, DriverError> {
    let Some(listing) = backend.list(dir)? else {
        return Ok(Vec::new());
    };
    let mut parts = ListingPages::new(listing);
    let mut names = Vec::new();
    let mut outcome = Ok(());
    for _ in 0..PARTS_MAX {
        match parts.next(backend) {
            Ok(Some(entries)) => {
                let others = entries.iter().filter(|e| e.name != MARKER.as_bytes());
                names.extend(others.take(SHOWN).map(|e| escaped(&e.name)));
                if !names.is_empty() {
                    break;
                }
            }
            Ok(None) => {
                // The rest is not known, so the directory is not empty.
                if parts.is_repeated() {
                    names.push("entries that the server does not list completely".to_owned());
                }
                break;
            }
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    backend.end_list(parts.listing);
    outcome.map(|()| names)
}

/// The parts of a listing. A part that is repeated too often is the last: with a server
/// that begins again with every part the listing would never end.
struct ListingPages<L> {
    listing: L,
    last: Vec<Entry>,
    repeat_count: usize,
}

impl<L> ListingPages<L> {
    fn new(listing: L) -> Self {
        Self {
            listing,
            last: Vec::new(),
            repeat_count: 0,
        }
    }

    /// Whether the server repeats the same part.
    fn is_repeated(&self) -> bool {
        self.repeat_count >= REPEATS_MAX
    }

    /// The next part; `None`: the end.
    fn next<B: RunDirBackend<Listing = L>>(
        &mut self,
        backend: &mut B,
    ) -> Result<Option<Vec<Entry>>, DriverError> {
        let Some(entries) = backend.next_entries(&mut self.listing)? else {
            return Ok(None);
        };
        self.repeat_count = match entries == self.last {
            true => self.repeat_count + 1,
            false => 0,
        };
        if self.is_repeated() {
            return Ok(None);
        }
        self.last.clone_from(&entries);
        Ok(Some(entries))
    }
}

/// A directory being emptied.
struct DirRemoval<'a, B: RunDirBackend> {
    backend: &'a mut B,
    nonce: &'a str,
    /// The present directory: the run directory's name, and those of directories below.
    path: Vec<String>,
    emptied: Emptied,
    /// Renews the marker of the run directory meanwhile.
    lease_keeper: Option<LeaseKeeper<'a, B::Dir>>,
}

/// The state of the owner file of a directory.
enum Owner {
    /// That of this run and directory.
    Ours,
    /// Missing, or incomplete because its run was killed while writing it.
    Unwritten,
    /// Another file.
    NotOurs,
}

/// The result of emptying a directory below the run directory.
enum EmptyOutcome {
    /// It was ours, and contains only its owner file.
    Emptied,
    /// It is empty and has no complete owner file.
    Unwritten,
    /// It is ours, and other files remain in it.
    NotRemoved,
    /// It is not ours.
    NotOurs,
}

impl<B: RunDirBackend> DirRemoval<'_, B> {
    /// Empties one directory in several passes: a server may skip entries because others are
    /// removed during the listing, so it is listed again until no entry of ours is found.
    /// Returns whether it is empty except for its owner file.
    fn empty_dir(&mut self, dir: &B::Dir, level: Level) -> Result<bool, DriverError> {
        for _ in 0..PASSES_MAX {
            let before = self.emptied.removed_count;
            let listing = self.backend.list(dir);
            let Some(listing) = self.with_place(listing)? else {
                return Ok(true);
            };
            let mut parts = ListingPages::new(listing);
            let left = self.one_pass(dir, level, &mut parts);
            self.backend.end_list(parts.listing);
            let left = left?;
            if self.emptied.removed_count == before {
                return Ok(left == 0);
            }
        }
        Err(DriverError {
            place: self.backend.place(),
            step: "remove leftovers".to_owned(),
            reason: format!("it does not become empty in {PASSES_MAX} passes"),
            advice: "another run may be using it: choose another suffix (-s)".to_owned(),
        })
    }

    /// One pass; returns how many entries remain.
    fn one_pass(
        &mut self,
        dir: &B::Dir,
        level: Level,
        parts: &mut ListingPages<B::Listing>,
    ) -> Result<u64, DriverError> {
        let mut left = 0;
        for _ in 0..PARTS_MAX {
            if self.backend.is_stopped() {
                return Err(DriverError {
                    place: self.backend.place(),
                    step: "remove leftovers".to_owned(),
                    reason: "stopped".to_owned(),
                    advice: String::new(),
                });
            }
            self.keep_lease()?;
            let entries = parts.next(self.backend);
            let Some(entries) = self.with_place(entries)? else {
                break;
            };
            left += self.clear_part(dir, level, &entries)?;
        }
        Ok(left)
    }

    /// Removes what is ours among some entries; returns how many remain.
    fn clear_part(
        &mut self,
        dir: &B::Dir,
        level: Level,
        entries: &[Entry],
    ) -> Result<u64, DriverError> {
        let (mut files, mut dirs, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        let mut left = 0;
        for Entry { name, kind } in entries {
            // Our names are valid UTF-8.
            let text = std::str::from_utf8(name).unwrap_or("");
            match (level.meaning(name), kind) {
                (NameMeaning::Owner, _) => {}
                (NameMeaning::File, EntryKind::File | EntryKind::Link | EntryKind::Unknown) => {
                    files.push(text);
                }
                (NameMeaning::Dir(below), EntryKind::Dir | EntryKind::Unknown) => {
                    dirs.push((text, below));
                }
                (NameMeaning::Empty, EntryKind::Dir | EntryKind::Unknown) => empty.push(text),
                (known, _) => {
                    left += 1;
                    if matches!(known, NameMeaning::File | NameMeaning::Dir(_)) {
                        self.add_occupied(name);
                    }
                    self.leave(name, reason(*kind));
                }
            }
        }
        left += self.remove_names(Removal::File, dir, &files)?;
        left += self.remove_names(Removal::Dir, dir, &empty)?;
        for (name, below) in dirs {
            self.keep_lease()?;
            left += u64::from(!self.enter(dir, name, below)?);
        }
        Ok(left)
    }

    fn keep_lease(&mut self) -> Result<(), DriverError> {
        match &mut self.lease_keeper {
            Some(keeper) => keeper.renew_if_due(self.backend),
            None => Ok(()),
        }
    }

    /// Empties and removes a directory in another one if it is ours; returns whether it is
    /// gone.
    fn enter(&mut self, parent: &B::Dir, name: &str, level: Level) -> Result<bool, DriverError> {
        let found = self.backend.find_dir(parent, name);
        let found = found.map_err(|e| at(e, &*self.backend, &self.names_to(name)))?;
        let dir = match found {
            DirLookup::Missing => return Ok(true),
            DirLookup::Dir(dir) => dir,
            DirLookup::Other(what) => {
                self.add_occupied(name.as_bytes());
                self.leave(name.as_bytes(), what);
                return Ok(false);
            }
        };
        self.path.push(name.to_owned());
        let entered = self.empty_if_ours(&dir, level);
        let owner = owner_text(&self.path.join("/"), self.nonce);
        self.path.pop();
        match entered? {
            EmptyOutcome::Emptied => self.remove_owned(parent, name, &dir, Some(&owner)),
            EmptyOutcome::Unwritten => self.remove_owned(parent, name, &dir, None),
            EmptyOutcome::NotRemoved => Ok(false),
            EmptyOutcome::NotOurs => {
                self.add_occupied(name.as_bytes());
                self.leave(name.as_bytes(), NOT_ENTERED);
                Ok(false)
            }
        }
    }

    /// Removes the owner file of a directory that is otherwise empty, and the directory;
    /// returns whether it is gone. If it stays, the owner file is written again, so that the
    /// directory is recognized as ours later.
    fn remove_owned(
        &mut self,
        parent: &B::Dir,
        name: &str,
        dir: &B::Dir,
        owner: Option<&str>,
    ) -> Result<bool, DriverError> {
        self.backend.remove(Removal::File, dir, &[MARKER])?;
        let Some(owner) = owner else {
            return Ok(self.remove_names(Removal::Dir, parent, &[name])? == 0);
        };
        let became = self.backend.remove(Removal::Dir, parent, &[name]);
        let stays = match &became {
            Ok(became) => became.contains(&Removed::NotRemoved),
            Err(_) => true,
        };
        if stays {
            write_again(self.backend, dir, owner);
        }
        self.emptied.removed_count += u64::from(self.with_place(became)?.contains(&Removed::Done));
        if stays {
            let place = self.place_of(name);
            let Emptied {
                not_removed,
                not_removed_more,
                ..
            } = &mut self.emptied;
            note(not_removed, not_removed_more, place);
        }
        Ok(!stays)
    }

    /// Empties a directory if it is ours, except for its owner file.
    fn empty_if_ours(&mut self, dir: &B::Dir, level: Level) -> Result<EmptyOutcome, DriverError> {
        Ok(match self.owner(dir)? {
            Owner::Ours if self.empty_dir(dir, level)? => EmptyOutcome::Emptied,
            Owner::Ours => EmptyOutcome::NotRemoved,
            // No data can be lost: RMDIR of a directory that is not empty fails.
            Owner::Unwritten if other_names(self.backend, dir)?.is_empty() => {
                EmptyOutcome::Unwritten
            }
            Owner::Unwritten | Owner::NotOurs => EmptyOutcome::NotOurs,
        })
    }

    fn owner(&mut self, dir: &B::Dir) -> Result<Owner, DriverError> {
        let text = owner_text(&self.path.join("/"), self.nonce);
        let front = self.backend.read_file(dir, MARKER);
        let front = front.map_err(|e| at(e, &*self.backend, &self.names_to(MARKER)))?;
        Ok(match front {
            FilePrefix::Missing => Owner::Unwritten,
            FilePrefix::NoFile => Owner::NotOurs,
            FilePrefix::Bytes(bytes) => {
                let is_blank = bytes.iter().all(|byte| *byte == 0);
                match bytes == text.as_bytes() && !self.nonce.is_empty() {
                    true => Owner::Ours,
                    false if is_blank || text.as_bytes().starts_with(&bytes) => Owner::Unwritten,
                    false => Owner::NotOurs,
                }
            }
        })
    }

    /// Removes names from a directory; returns how many remain.
    fn remove_names(
        &mut self,
        what: Removal,
        dir: &B::Dir,
        names: &[&str],
    ) -> Result<u64, DriverError> {
        if names.is_empty() {
            return Ok(0);
        }
        let mut left = 0;
        let became = self.backend.remove(what, dir, names);
        let became = self.with_place(became)?;
        for (name, removed) in names.iter().zip(became) {
            match removed {
                Removed::Done => self.emptied.removed_count += 1,
                Removed::NotFound => {}
                Removed::NotRemoved => {
                    left += 1;
                    if what == Removal::File {
                        self.add_occupied(name.as_bytes());
                    }
                    self.leave(name.as_bytes(), "");
                }
            }
        }
        Ok(left)
    }

    /// A name of the layout has another type: a run cannot use the entry of the run directory
    /// that it is, or is in.
    fn add_occupied(&mut self, name: &[u8]) {
        let entry = match self.path.get(1) {
            Some(entry) => entry.clone(),
            None => escaped(name),
        };
        let occupied = &mut self.emptied.occupied;
        if occupied.len() < OCCUPIED_MAX && !occupied.contains(&entry) {
            occupied.push(entry);
        }
    }

    /// Adds a name that remains.
    fn leave(&mut self, name: &[u8], why: &str) {
        let mut place = self.place_of(&escaped(name));
        if !why.is_empty() {
            place.push_str(&format!(" ({why})"));
        }
        self.emptied.leave(place);
    }

    /// The place of a name in the present directory.
    fn place_of(&self, name: &str) -> String {
        place_below(&*self.backend, &self.names_to(name))
    }

    /// An error in the present directory, with its place.
    fn with_place<T>(&self, outcome: Result<T, DriverError>) -> Result<T, DriverError> {
        let above: Vec<&str> = self.path.iter().skip(1).map(String::as_str).collect();
        outcome.map_err(|error| at(error, &*self.backend, &above))
    }

    /// The path from the run directory to a name in the present directory.
    fn names_to<'n>(&'n self, name: &'n str) -> Vec<&'n str> {
        let above = self.path.iter().skip(1).map(String::as_str);
        above.chain([name]).collect()
    }

    /// Finds the buckets of temporary files, and empties those.
    fn remove_temporary(&mut self, dir: &B::Dir, level: Level) -> Result<(), DriverError> {
        const TEMPORARY: [Bucket; 4] = [
            Bucket::MKDIR,
            Bucket::UNLINK,
            Bucket::RENAME,
            Bucket::UNLINK2,
        ];
        let names: Vec<(String, Level)> = match level {
            Level::Dir => TEMPORARY
                .iter()
                .map(|bucket| (format!("b{:02}", bucket.number()), Level::Bucket))
                .collect(),
            _ => self.dirs_in(dir, level)?,
        };
        for (name, below) in names {
            self.keep_lease()?;
            let inner = match self.backend.find_dir(dir, &name)? {
                DirLookup::Missing => continue,
                DirLookup::Dir(inner) => inner,
                DirLookup::Other(what) => {
                    self.add_occupied(name.as_bytes());
                    self.leave(name.as_bytes(), what);
                    continue;
                }
            };
            self.path.push(name.clone());
            let owner = self.owner(&inner);
            let done = match owner {
                Ok(Owner::Ours) if below == Level::Bucket => {
                    self.empty_dir(&inner, below).map(|_| true)
                }
                Ok(Owner::Ours) => self.remove_temporary(&inner, below).map(|()| true),
                // Its run was killed just after making it: INIT continues from there.
                Ok(Owner::Unwritten) => {
                    other_names(self.backend, &inner).map(|names| names.is_empty())
                }
                Ok(Owner::NotOurs) => Ok(false),
                Err(error) => Err(error),
            };
            self.path.pop();
            if !done? {
                self.add_occupied(name.as_bytes());
                self.leave(name.as_bytes(), NOT_ENTERED);
            }
        }
        Ok(())
    }

    /// The directories of the layout in one directory; adds the names that are not ours.
    fn dirs_in(&mut self, dir: &B::Dir, level: Level) -> Result<Vec<(String, Level)>, DriverError> {
        let mut dirs = Vec::new();
        let Some(listing) = self.backend.list(dir)? else {
            return Ok(dirs);
        };
        let mut parts = ListingPages::new(listing);
        let mut outcome = Ok(());
        for _ in 0..PARTS_MAX {
            let entries = match parts.next(self.backend) {
                Ok(Some(entries)) => entries,
                Ok(None) => break,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            };
            for Entry { name, kind } in entries {
                match (level.meaning(&name), kind) {
                    (NameMeaning::Dir(_), _) if dirs.len() >= DIRS_MAX => {
                        self.leave(&name, TOO_MANY)
                    }
                    (NameMeaning::Dir(below), EntryKind::Dir | EntryKind::Unknown) => {
                        dirs.push((String::from_utf8_lossy(&name).into_owned(), below));
                    }
                    (NameMeaning::NotOurs, _) => self.leave(&name, ""),
                    _ => {}
                }
            }
        }
        self.backend.end_list(parts.listing);
        outcome.map(|()| dirs)
    }
}

/// Why an entry of this kind is not removed.
const fn reason(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Link => A_REPARSE_POINT,
        _ => "",
    }
}
