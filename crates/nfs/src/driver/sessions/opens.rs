//! The files that a proc has open, by key: the number of the object, or of the operation that
//! fills a file.

use super::owners::{LockOwner, Owner};
use filermark_engine::driver::ObjectId;
use filermark_engine::name::Name;
use filermark_onc::nfs4::{Fh4, Stateid4, share};

/// Most files that a proc keeps open.
pub(super) const OPENS_MAX: usize = 64;
/// Keys from here on are those of operations that fill a file; objects have lower numbers.
const FILLED: u32 = 1 << 31;
/// Keys from here on are those of files that were replaced and are not closed yet.
const DETACHED: u32 = FILLED | 1 << 30;

/// The key of an object's open.
pub(super) const fn of_object(object: ObjectId) -> u32 {
    object.0 & !FILLED
}

/// The key of the open of a file that this operation fills.
pub(super) const fn of_fill(op: u32) -> u32 {
    op | FILLED
}

/// The operation that fills the file of a key; `None`: none does.
pub(super) fn fill_of(key: u32) -> Option<u32> {
    (key & FILLED != 0 && !is_detached(key)).then_some(key & !FILLED)
}

/// Whether the key is that of a file which was replaced and is not closed yet.
pub(super) const fn is_detached(key: u32) -> bool {
    key & DETACHED == DETACHED
}

/// The object of a key; `None`: the file of a fill, or one that was replaced.
pub(super) const fn object_of(key: u32) -> Option<ObjectId> {
    match key & FILLED {
        0 => Some(ObjectId(key)),
        _ => None,
    }
}

/// What is under way with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenState {
    /// OPEN is under way.
    Opening,
    /// Version 4.0: OPEN_CONFIRM is under way.
    Confirming(Stateid4),
    /// It is open.
    Open(Stateid4),
    /// CLOSE is under way.
    Closing,
}

/// A delegation that the client holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delegation {
    pub(super) stateid: Stateid4,
    /// It is for writing, too.
    pub(super) writes: bool,
    /// The server has asked for it: it is returned when no call uses it.
    pub(super) is_recalled: bool,
    /// Calls under way with its stateid.
    pub(super) users: u32,
    /// The attributes `change` and `size` when it was granted.
    pub(super) change: u64,
    pub(super) size: u64,
    /// Something was written since then.
    pub(super) is_modified: bool,
}

/// A file in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenFile {
    pub(super) state: OpenState,
    /// What it is opened for: bits of `share`.
    pub(super) access: u32,
    /// The open that stays if the OPEN under way fails, which is to add an access.
    pub(super) earlier: Option<Stateid4>,
    /// The delegation, if there is one.
    pub(super) delegation: Option<Delegation>,
    /// Its place in the table of layouts, once one was needed.
    pub(super) layout: Option<u32>,
    /// LAYOUTGET or LAYOUTRETURN is under way: it is not closed.
    pub(super) is_asking: bool,
    /// The OPEN, CLOSE, LAYOUTGET or LAYOUTRETURN under way was sent.
    pub(super) is_sent: bool,
    /// Calls under way that use it.
    pub(super) users: u32,
    /// The number of its last use.
    last_use: u64,
    /// Version 4.0: its owner.
    pub(super) owner: Option<Owner>,
    /// Version 4.0: the owner of its locks, from its first LOCK on.
    pub(super) lock: Option<LockOwner>,
    /// Version 4.0: the xid of the LOCK or LOCKU under way. Others, and its CLOSE, wait for that.
    pub(super) turn: Option<u32>,
    /// Where it was created, if this proc has created it.
    pub(super) name: Option<(ObjectId, Name)>,
}

/// The open files of a proc.
#[derive(Debug, Default)]
pub(crate) struct ProcOpens {
    /// Searched for every READ and WRITE, so the keys are apart.
    keys: Vec<u32>,
    files: Vec<OpenFile>,
    /// Keys of files that were removed or renamed, with the calls under way that use these: another file may have
    /// the key since then. Nearly always empty.
    gone: Vec<(u32, u32)>,
    /// Handles of files that no object has any more, by key. Nearly always empty.
    left: Vec<(u32, Fh4)>,
}

/// An open file that is not in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdleFile {
    pub(super) key: u32,
    /// Its entry in the table of layouts.
    pub(super) layout: Option<u32>,
    last_use: u64,
}

impl ProcOpens {
    fn place(&self, key: u32) -> Option<usize> {
        self.keys.iter().position(|known| *known == key)
    }

    pub(super) fn find(&mut self, key: u32) -> Option<&mut OpenFile> {
        let at = self.place(key)?;
        self.files.get_mut(at)
    }

    pub(super) fn get(&self, key: u32) -> Option<&OpenFile> {
        self.files.get(self.place(key)?)
    }

    /// Whether the file is open for this access.
    pub(super) fn is_open(&self, key: u32, access: u32) -> bool {
        let serves = |file: &OpenFile| {
            access & !file.access == 0 && matches!(file.state, OpenState::Open(_))
        };
        self.get(key).is_some_and(serves)
    }

    /// The key of the file with this delegation.
    pub(super) fn delegated(&self, stateid: &Stateid4) -> Option<u32> {
        let of = |file: &OpenFile| file.delegation.map(|held| held.stateid.other);
        let mut files = self.keys.iter().zip(&self.files);
        let found = files.find(|(_, file)| of(file) == Some(stateid.other));
        found.map(|(key, _)| *key)
    }

    /// The key of a file whose delegation was recalled and is not in use.
    pub(super) fn recalled(&self) -> Option<u32> {
        let is_due = |held: Delegation| held.is_recalled && held.users == 0;
        let mut files = self.keys.iter().zip(&self.files);
        let found = files.find(|(_, file)| file.delegation.is_some_and(is_due));
        found.map(|(key, _)| *key)
    }

    /// Whether an OPEN is under way.
    pub(super) fn has_opening(&self) -> bool {
        let mut files = self.files.iter();
        files.any(|file| file.state == OpenState::Opening)
    }

    /// The delegations for writing, with their keys.
    pub(super) fn held_for_writing(&self) -> impl Iterator<Item = (u32, &Delegation)> {
        let files = self.keys.iter().zip(&self.files);
        files.filter_map(|(key, file)| {
            let held = file.delegation.as_ref().filter(|held| held.writes)?;
            Some((*key, held))
        })
    }

    /// All delegations.
    pub(super) fn delegations(&mut self) -> impl Iterator<Item = &mut Delegation> {
        self.files
            .iter_mut()
            .filter_map(|file| file.delegation.as_mut())
    }

    /// The stateid of an open file, which is used now.
    #[inline]
    pub(super) fn used(&mut self, key: u32, number: u64) -> Option<Stateid4> {
        let file = self.find(key)?;
        let OpenState::Open(stateid) = file.state else {
            return None;
        };
        file.last_use = number;
        Some(stateid)
    }

    /// Adds a file, or replaces what is known of it.
    pub(super) fn set(&mut self, key: u32, state: OpenState, number: u64) -> &mut OpenFile {
        let file = OpenFile {
            state,
            access: share::BOTH,
            earlier: None,
            delegation: None,
            layout: None,
            is_asking: false,
            is_sent: false,
            users: 0,
            last_use: number,
            owner: None,
            lock: None,
            turn: None,
            name: None,
        };
        let at = match self.place(key) {
            Some(at) => at,
            None => {
                self.keys.push(key);
                self.files.push(file);
                self.keys.len() - 1
            }
        };
        let kept = &mut self.files[at];
        kept.earlier = match (kept.state, state) {
            (OpenState::Open(stateid), OpenState::Opening) => Some(stateid),
            _ => None,
        };
        kept.state = state;
        kept.is_sent = false;
        kept.last_use = number;
        kept
    }

    pub(super) fn remove(&mut self, key: u32) {
        if let Some(at) = self.place(key) {
            self.keys.swap_remove(at);
            let file = self.files.swap_remove(at);
            self.note_gone(key, file.users);
            self.left.retain(|(of, _)| *of != key);
        }
    }

    /// The handle of a file that no object has any more.
    pub(super) fn left_handle(&self, key: u32) -> Option<&Fh4> {
        let found = self.left.iter().find(|(of, _)| *of == key);
        found.map(|(_, handle)| handle)
    }

    /// The key of a file stands for another one from now on: an open file gets a key of its own, with its handle.
    /// One that is being opened keeps its key, which the end of the OPEN has.
    pub(super) fn detach(&mut self, key: u32, handle: Fh4) {
        self.left.retain(|(of, _)| *of != key);
        match self.get(key).map(|file| file.state) {
            Some(OpenState::Open(_)) => {
                let mut keys = DETACHED..;
                if let Some(free) = keys.find(|key| self.place(*key).is_none()) {
                    self.rename(key, free, None);
                    self.left.push((free, handle));
                }
            }
            Some(OpenState::Opening | OpenState::Confirming(_)) => self.left.push((key, handle)),
            // The CLOSE has its handle.
            Some(OpenState::Closing) | None => {}
        }
    }

    fn note_gone(&mut self, key: u32, users: u32) {
        if users > 0 {
            self.gone.push((key, users));
        }
    }

    /// A call that has used the file under this key has ended, or waits.
    pub(super) fn stop_using(&mut self, key: u32) {
        // Which of the calls it is does not matter: the file is in use until all have ended.
        if let Some(at) = self.gone.iter().position(|(of, _)| *of == key) {
            self.gone[at].1 -= 1;
            if self.gone[at].1 == 0 {
                self.gone.swap_remove(at);
            }
        } else if let Some(file) = self.find(key) {
            file.users = file.users.saturating_sub(1);
        }
    }

    /// The key of the file that was created with this name.
    pub(super) fn named(&self, dir: ObjectId, name: Name) -> Option<u32> {
        let mut files = self.keys.iter().zip(&self.files);
        let found = files.find(|(_, file)| file.name == Some((dir, name)));
        found.map(|(key, _)| *key)
    }

    /// Moves an open file to another key.
    pub(super) fn rename(&mut self, from: u32, to: u32, name: Option<(ObjectId, Name)>) {
        if let Some(at) = self.place(from) {
            self.keys[at] = to;
            self.files[at].name = name;
            // Calls under way know the earlier key.
            let users = std::mem::take(&mut self.files[at].users);
            self.note_gone(from, users);
            if let Some(held) = &mut self.files[at].delegation {
                held.users = 0;
            }
        }
    }

    /// How many files are open, or being opened.
    pub(super) fn count(&self) -> usize {
        let files = self.files.iter();
        files
            .filter(|file| file.state != OpenState::Closing)
            .count()
    }

    /// The open file to be closed so that another one can be opened: the one that was not used
    /// for the longest time, if there are too many. Those in use are not chosen, nor those up to the `last` one.
    pub(super) fn surplus(&self, last: Option<IdleFile>) -> Option<IdleFile> {
        if self.keys.len() < OPENS_MAX || self.count() < OPENS_MAX {
            return None;
        }
        let is_open = |file: &OpenFile| matches!(file.state, OpenState::Open(_));
        let is_idle = |file: &OpenFile| is_open(file) && file.users == 0 && !file.is_asking;
        let files = self.keys.iter().zip(&self.files);
        let idle = files
            .filter(|(_, file)| is_idle(file))
            .map(|(key, file)| IdleFile {
                key: *key,
                layout: file.layout,
                last_use: file.last_use,
            });
        let place = |file: &IdleFile| (file.last_use, file.key);
        let behind = idle.filter(|file| last.is_none_or(|last| place(file) > place(&last)));
        behind.min_by_key(place)
    }

    /// Whether OPEN or CLOSE of this file is under way, or a layout of it is asked for or returned.
    pub(super) fn is_moving(&mut self, key: u32) -> bool {
        let file = self.find(key);
        file.is_some_and(|file| file.is_asking || !matches!(file.state, OpenState::Open(_)))
    }

    /// The keys of files with an entry in the table of layouts, and their entries, except for those of which
    /// a layout is asked for or returned.
    pub(super) fn layouts(&self) -> impl Iterator<Item = (u32, u32)> {
        let files = self.keys.iter().zip(&self.files);
        let settled = files.filter(|(_, file)| !file.is_asking);
        settled.filter_map(|(key, file)| Some((*key, file.layout?)))
    }

    /// The keys of files of which a layout is asked for or returned.
    pub(super) fn asking(&self) -> impl Iterator<Item = u32> {
        let files = self.keys.iter().zip(&self.files);
        files.filter_map(|(key, file)| file.is_asking.then_some(*key))
    }

    /// The key of the file with this entry in the table of layouts.
    pub(super) fn with_layout(&self, layout: u32) -> Option<u32> {
        let mut files = self.keys.iter().zip(&self.files);
        let found = files.find(|(_, file)| file.layout == Some(layout));
        found.map(|(key, _)| *key)
    }

    /// The key of the file for which the LOCK or LOCKU with this xid is under way.
    pub(super) fn with_turn(&self, xid: u32) -> Option<u32> {
        let mut files = self.keys.iter().zip(&self.files);
        let found = files.find(|(_, file)| file.turn == Some(xid));
        found.map(|(key, _)| *key)
    }

    /// Takes all entries in the table of layouts.
    pub(super) fn take_layouts(&mut self) -> Vec<u32> {
        let files = self.files.iter_mut();
        files.filter_map(|file| file.layout.take()).collect()
    }

    /// A file of an object from this one on that is open and not in use, or such a file that was replaced.
    pub(super) fn idle(&self, from: ObjectId) -> Option<u32> {
        let mut files = self.keys.iter().zip(&self.files);
        let found = files.find(|(key, file)| {
            (is_detached(**key) || object_of(**key).is_some_and(|object| object >= from))
                && matches!(file.state, OpenState::Open(_))
                && file.users == 0
                && !file.is_asking
        });
        found.map(|(key, _)| *key)
    }

    /// A file that is open, from this object on; without `from` also the file of a fill.
    pub(super) fn any_open(&self, from: Option<ObjectId>) -> Option<u32> {
        let mut files = self.keys.iter().zip(&self.files);
        let found = files.find(|(key, file)| {
            let is_meant = match (from, object_of(**key)) {
                (Some(from), Some(object)) => object >= from,
                (Some(_), None) => false,
                (None, _) => true,
            };
            is_meant && matches!(file.state, OpenState::Open(_))
        });
        found.map(|(key, _)| *key)
    }

    /// Drops the open files: the server has lost them. What is being opened is opened after
    /// that. Returns how many were open.
    pub(super) fn lose_all(&mut self) -> u64 {
        let mut lost = 0;
        while let Some(key) = self.any_open(None) {
            self.remove(key);
            lost += 1;
        }
        for file in &mut self.files {
            lost += u64::from(file.earlier.take().is_some());
            file.delegation = None;
        }
        lost
    }

    /// Whether nothing is open, being opened or being closed.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

#[cfg(test)]
mod tests;
