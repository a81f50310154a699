//! Emptying a directory of what is ours: bounded in memory whatever its size, and at
//! ease with entries that vanish meanwhile.
//!
//! A directory below the run directory is entered only if its owner file holds its own
//! path and the nonce of the run. One without is removed if it is empty (INIT was killed
//! between making it and writing the file; or an operation made it), else it stays.

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

/// Names of others that are given; more are only counted.
const FOREIGN_MAX: usize = 20;
/// Entries of the run directory that are told to be of no use to a run.
const OCCUPIED_MAX: usize = 1 << 16;
/// Parts of a listing that are taken for one pass over a directory, and passes. No sound
/// server comes near: each pass leaves less than half of the entries even where removing
/// makes the server skip some.
const PARTS_MAX: usize = 1 << 20;
/// How often a part of a listing may be the same as the one before.
const REPEATS_MAX: usize = 8;
const PASSES_MAX: usize = 200;
/// Directories of the layout that are taken from one listing: a run makes fewer.
const DIRS_MAX: usize = 1 << 20;
/// What is said of a directory that is not entered for want of an owner file.
const TOO_MANY: &str = "not entered: there are too many directories beside it";
const NOT_ENTERED: &str = "not entered: it has no owner file of this run";

/// What emptying came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emptied {
    /// Objects that were removed, owner files aside.
    pub removed_count: u64,
    /// What stays because it is not ours, with its place.
    pub not_ours: Vec<String>,
    /// Names in the run directory that a run cannot use for its own: they, or names of the
    /// layout below, are something else. (Others' files in a directory of ours are no
    /// obstacle.)
    pub occupied: Vec<String>,
    /// Directories of ours that the server did not remove, with their places.
    pub not_removed: Vec<String>,
    not_ours_more: u64,
    not_removed_more: u64,
}

impl Emptied {
    /// Whether nothing stays, ours or not.
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

/// Adds a place to those that are named, or counts it.
fn note(names: &mut Vec<String>, more: &mut u64, place: String) {
    if names.contains(&place) {
        return;
    }
    match names.len() < FOREIGN_MAX {
        true => names.push(place),
        false => *more += 1,
    }
}

/// Empties a directory of the layout below a run directory, and removes it, by the same
/// rules. `path` is its own, from the directory of the mount point on, and begins with
/// the run directory's name; `parent` is the directory that it is in.
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
    /// Removes everything in the run directory that is ours, except the marker, which
    /// has to be that of `run` all the time. `renews`: this process renews it meanwhile.
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

    /// Removes what comes and goes from the trees in a run directory that is kept: the
    /// next run begins with other names of these than the one before ended with. Files
    /// that stay are left.
    pub(super) fn empty_passing(
        &mut self,
        dir: &B::Dir,
        nonce: &str,
    ) -> Result<Emptied, DriverError> {
        let keeper = LeaseKeeper::of(dir, &self.claim.run_id, true, self.watch);
        let mut emptying = DirRemoval {
            lease_keeper: Some(keeper),
            ..self.emptying(nonce)
        };
        emptying.passing(dir, Level::Run)?;
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
                // What else is there is not known, so it is not empty.
                if parts.is_repeated() {
                    names.push("what the server does not list to its end".to_owned());
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

/// The parts of a listing. One that comes again and again is the last: a server that
/// begins anew with every part would never end.
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

    /// Whether the server gave the same part again and again.
    fn is_repeated(&self) -> bool {
        self.repeat_count >= REPEATS_MAX
    }

    /// The next part; `None`: there is no other.
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
    /// Where it is at work: the run directory's name, and those of directories below.
    path: Vec<String>,
    emptied: Emptied,
    /// Renews the marker of the run directory meanwhile.
    lease_keeper: Option<LeaseKeeper<'a, B::Dir>>,
}

/// What the owner file of a directory says.
enum Owner {
    /// What it should.
    Ours,
    /// Nothing yet: it was being written when its run was killed, or is missing.
    Unwritten,
    /// Something else.
    NotOurs,
}

/// What emptying a directory came to.
enum EmptyOutcome {
    /// It was ours, and nothing but its owner file is in it.
    Emptied,
    /// It is empty and has no whole owner file.
    Unwritten,
    /// It is ours, and something stays in it.
    NotRemoved,
    /// It is not ours.
    NotOurs,
}

impl<B: RunDirBackend> DirRemoval<'_, B> {
    /// One directory, pass by pass: removing entries while listing may make a server skip
    /// some, so it is listed again until nothing of ours turns up. Whether it is empty
    /// now, its owner file aside.
    fn empty_dir(&mut self, dir: &B::Dir, level: Level) -> Result<bool, DriverError> {
        for _ in 0..PASSES_MAX {
            let before = self.emptied.removed_count;
            let listing = self.backend.list(dir);
            let Some(listing) = self.of_here(listing)? else {
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
            advice: "is another run at work in it? Choose another suffix (-s)".to_owned(),
        })
    }

    /// One pass; tells how many entries stay.
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
            let Some(entries) = self.of_here(entries)? else {
                break;
            };
            left += self.clear_part(dir, level, &entries)?;
        }
        Ok(left)
    }

    /// Removes what is ours among some entries; tells how many stay.
    fn clear_part(
        &mut self,
        dir: &B::Dir,
        level: Level,
        entries: &[Entry],
    ) -> Result<u64, DriverError> {
        let (mut files, mut dirs, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        let mut left = 0;
        for Entry { name, kind } in entries {
            // Names of ours are text.
            let text = std::str::from_utf8(name).unwrap_or("");
            match (level.look(name), kind) {
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
                        self.block(name);
                    }
                    self.leave(name, reason(*kind));
                }
            }
        }
        left += self.remove_row(Removal::File, dir, &files)?;
        left += self.remove_row(Removal::Dir, dir, &empty)?;
        for (name, below) in dirs {
            self.keep_lease()?;
            left += u64::from(!self.enter(dir, name, below)?);
        }
        Ok(left)
    }

    fn keep_lease(&mut self) -> Result<(), DriverError> {
        match &mut self.lease_keeper {
            Some(keeper) => keeper.look(self.backend),
            None => Ok(()),
        }
    }

    /// Empties a directory in another and removes it if it is ours; whether it is gone.
    fn enter(&mut self, parent: &B::Dir, name: &str, level: Level) -> Result<bool, DriverError> {
        let found = self.backend.find_dir(parent, name);
        let found = found.map_err(|e| at(e, &*self.backend, &self.names_to(name)))?;
        let dir = match found {
            DirLookup::Missing => return Ok(true),
            DirLookup::Dir(dir) => dir,
            DirLookup::Other(what) => {
                self.block(name.as_bytes());
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
                self.block(name.as_bytes());
                self.leave(name.as_bytes(), NOT_ENTERED);
                Ok(false)
            }
        }
    }

    /// Removes the owner file of a directory that is empty otherwise, and the directory;
    /// whether it is gone. One that stays has its owner file again: it has to be known
    /// as ours later.
    fn remove_owned(
        &mut self,
        parent: &B::Dir,
        name: &str,
        dir: &B::Dir,
        owner: Option<&str>,
    ) -> Result<bool, DriverError> {
        self.backend.remove(Removal::File, dir, &[MARKER])?;
        let Some(owner) = owner else {
            return Ok(self.remove_row(Removal::Dir, parent, &[name])? == 0);
        };
        let became = self.backend.remove(Removal::Dir, parent, &[name]);
        let stays = match &became {
            Ok(became) => became.contains(&Removed::NotRemoved),
            Err(_) => true,
        };
        if stays {
            write_again(self.backend, dir, owner);
        }
        self.emptied.removed_count += u64::from(self.of_here(became)?.contains(&Removed::Done));
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

    /// Empties a directory if it is ours, its owner file aside.
    fn empty_if_ours(&mut self, dir: &B::Dir, level: Level) -> Result<EmptyOutcome, DriverError> {
        Ok(match self.owner(dir)? {
            Owner::Ours if self.empty_dir(dir, level)? => EmptyOutcome::Emptied,
            Owner::Ours => EmptyOutcome::NotRemoved,
            // Nothing is in it that its removal could destroy: RMDIR of what is not
            // empty fails.
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

    /// Removes a row of names from a directory; tells how many stay.
    fn remove_row(
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
        let became = self.of_here(became)?;
        for (name, removed) in names.iter().zip(became) {
            match removed {
                Removed::Done => self.emptied.removed_count += 1,
                Removed::NotFound => {}
                Removed::NotRemoved => {
                    left += 1;
                    if what == Removal::File {
                        self.block(name.as_bytes());
                    }
                    self.leave(name.as_bytes(), "");
                }
            }
        }
        Ok(left)
    }

    /// A name of the layout is something else: the run directory's entry that it is, or
    /// is in, is of no use to a run.
    fn block(&mut self, name: &[u8]) {
        let entry = match self.path.get(1) {
            Some(entry) => entry.clone(),
            None => escaped(name),
        };
        let occupied = &mut self.emptied.occupied;
        if occupied.len() < OCCUPIED_MAX && !occupied.contains(&entry) {
            occupied.push(entry);
        }
    }

    /// Names something that stays.
    fn leave(&mut self, name: &[u8], why: &str) {
        let mut place = self.place_of(&escaped(name));
        if !why.is_empty() {
            place.push_str(&format!(" ({why})"));
        }
        self.emptied.leave(place);
    }

    /// The place of a name in the directory at work.
    fn place_of(&self, name: &str) -> String {
        place_below(&*self.backend, &self.names_to(name))
    }

    /// A failure in the directory at work, with its place.
    fn of_here<T>(&self, outcome: Result<T, DriverError>) -> Result<T, DriverError> {
        let above: Vec<&str> = self.path.iter().skip(1).map(String::as_str).collect();
        outcome.map_err(|error| at(error, &*self.backend, &above))
    }

    /// The names that lead from the run directory to one in the directory at work.
    fn names_to<'n>(&'n self, name: &'n str) -> Vec<&'n str> {
        let above = self.path.iter().skip(1).map(String::as_str);
        above.chain([name]).collect()
    }

    /// Walks to the buckets whose files come and go, and empties those.
    fn passing(&mut self, dir: &B::Dir, level: Level) -> Result<(), DriverError> {
        const PASSING: [Bucket; 4] = [
            Bucket::MKDIR,
            Bucket::UNLINK,
            Bucket::RENAME,
            Bucket::UNLINK2,
        ];
        let names: Vec<(String, Level)> = match level {
            Level::Dir => PASSING
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
                    self.block(name.as_bytes());
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
                Ok(Owner::Ours) => self.passing(&inner, below).map(|()| true),
                // Made a moment before its run was killed: INIT goes on from there.
                Ok(Owner::Unwritten) => {
                    other_names(self.backend, &inner).map(|names| names.is_empty())
                }
                Ok(Owner::NotOurs) => Ok(false),
                Err(error) => Err(error),
            };
            self.path.pop();
            if !done? {
                self.block(name.as_bytes());
                self.leave(name.as_bytes(), NOT_ENTERED);
            }
        }
        Ok(())
    }

    /// The directories of the layout in one; names that are not ours are noted.
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
                match (level.look(&name), kind) {
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

/// Why an entry of this kind is left where it is.
const fn reason(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Link => A_REPARSE_POINT,
        _ => "",
    }
}
