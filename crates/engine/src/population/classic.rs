//! INIT and CLEANUP of a classical file set as streams of tasks, in an order that a server can carry out:
//! directories before what is in them, and the other way round.
//!
//! Within a stage the tasks alternate between the procs, so that all connections work.

use super::{Next, Task};
use crate::driver::{Action, ObjectId, PROC_DIR};
use crate::name::{Name, NameKind};
use crate::owner::{OWNER_BYTES, owner_number};
use crate::proc::{PendingEffect, Proc};
use crate::session_action::{HandleId, ProcPath, SessionAction};
use crate::slice::classic::{ClassicSet, ClassicSlice, PoolId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// What RUN left open.
    Close,
    ProcDirs,
    /// Its owner file, before anything else is in it.
    ProcOwner,
    Dirs,
    DirOwners,
    Small,
    Symlinks,
    Churn,
    /// Files that were made for an earlier load point and are accessed only now.
    Known,
    Restore,
    Files,
    Barrier,
    RemovePools,
    RemoveSmall,
    RemoveSymlinks,
    RemoveFiles,
    RemoveDirOwners,
    RemoveDirs,
    RemoveProcOwner,
    RemoveProcDirs,
    /// The owner files of directories that stay, because something is in them: a later
    /// clean-up must be able to recognize them.
    RewriteOwners,
}

const FILL: &[Stage] = &[
    Stage::Close,
    Stage::Barrier,
    Stage::ProcDirs,
    Stage::Barrier,
    Stage::ProcOwner,
    Stage::Barrier,
    Stage::Dirs,
    Stage::Barrier,
    Stage::DirOwners,
    Stage::Barrier,
    Stage::Small,
    Stage::Symlinks,
    Stage::Churn,
    Stage::Known,
    Stage::Restore,
    Stage::Files,
];

const EMPTY: &[Stage] = &[
    Stage::Close,
    Stage::Barrier,
    Stage::RemovePools,
    Stage::RemoveSmall,
    Stage::RemoveSymlinks,
    Stage::RemoveFiles,
    Stage::Barrier,
    Stage::RemoveDirOwners,
    Stage::Barrier,
    Stage::RemoveDirs,
    Stage::Barrier,
    Stage::RemoveProcOwner,
    Stage::Barrier,
    Stage::RemoveProcDirs,
    Stage::Barrier,
    Stage::RewriteOwners,
];

/// A walk over the stages, the items of each, and the procs of each item.
#[derive(Debug)]
pub struct ClassicWalk {
    stages: &'static [Stage],
    item: u32,
    proc: usize,
    /// Most items that any proc has in this stage, once known.
    longest: Option<u32>,
    /// What the procs' pools hold, for CLEANUP.
    pool_names: Vec<Vec<(PoolId, u16)>>,
    /// What walkers of the procs have open.
    open: Vec<Vec<u16>>,
}

impl ClassicWalk {
    /// Makes what is missing: everything for procs that have nothing yet, else
    /// the new files, and grown files cut back to their size.
    pub fn fill(procs: &[Proc]) -> Self {
        Self {
            open: open(procs),
            stages: FILL,
            item: 0,
            proc: 0,
            longest: None,
            pool_names: Vec::new(),
        }
    }

    /// Removes everything that the procs have made.
    pub fn empty(procs: &[Proc]) -> Self {
        Self {
            open: open(procs),
            stages: EMPTY,
            item: 0,
            proc: 0,
            longest: None,
            pool_names: procs
                .iter()
                .map(|p| {
                    p.slice
                        .classic()
                        .map_or_else(Vec::new, |c| c.pool_live().collect())
                })
                .collect(),
        }
    }

    /// The next task.
    pub fn next(&mut self, procs: &mut [Proc], set: &ClassicSet) -> Next {
        while let Some(stage) = self.stages.first().copied() {
            if stage == Stage::Barrier {
                self.begin_stage();
                return Next::Barrier;
            }
            if let Some(task) = self.next_in(stage, procs, set) {
                return Next::Task(task);
            }
            self.begin_stage();
        }
        Next::Done
    }

    fn begin_stage(&mut self) {
        self.stages = &self.stages[1..];
        self.item = 0;
        self.proc = 0;
        self.longest = None;
    }

    fn next_in(&mut self, stage: Stage, procs: &mut [Proc], set: &ClassicSet) -> Option<Task> {
        let longest = match self.longest {
            Some(longest) => longest,
            None => (0..procs.len())
                .map(|p| self.count_of(stage, p, &procs[p], set))
                .max()?,
        };
        self.longest = Some(longest);
        while self.item < longest {
            while self.proc < procs.len() {
                let at = self.proc;
                self.proc += 1;
                if self.item < self.count_of(stage, at, &procs[at], set)
                    && let Some(slice) = procs[at].slice.classic_mut()
                    && let Some(task) = self.task(stage, at, slice, set)
                {
                    return Some(task);
                }
            }
            self.proc = 0;
            self.item += 1;
        }
        None
    }

    fn count_of(&self, stage: Stage, at: usize, proc: &Proc, set: &ClassicSet) -> u32 {
        let slice = proc.slice.classic();
        slice.map_or(0, |slice| self.count(stage, at, slice, set))
    }

    /// How many items a stage has for a proc.
    fn count(&self, stage: Stage, at: usize, proc: &ClassicSlice, set: &ClassicSet) -> u32 {
        let layout = set.layout;
        let first_time = u32::from(!proc.populated);
        let made = u32::from(proc.populated);
        match stage {
            Stage::Barrier => 0,
            Stage::Close => self.open.get(at).map_or(0, |o| o.len() as u32),
            Stage::ProcDirs | Stage::ProcOwner => first_time,
            Stage::Dirs | Stage::DirOwners => first_time * layout.dirs,
            Stage::Small => first_time * layout.small,
            Stage::Symlinks => first_time * layout.symlinks,
            Stage::Churn => first_time * u32::from(layout.churn),
            Stage::Known | Stage::Restore => made * proc.files.len() as u32,
            Stage::Files => proc.files.scanned(),
            Stage::RemovePools => self.pool_names.get(at).map_or(0, |n| n.len() as u32),
            Stage::RemoveSmall => layout.small,
            Stage::RemoveSymlinks => layout.symlinks,
            Stage::RemoveFiles => proc.files_made,
            Stage::RemoveDirOwners | Stage::RemoveDirs => layout.dirs,
            Stage::RemoveProcOwner | Stage::RemoveProcDirs => 1,
            Stage::RewriteOwners => proc.dirs_left.len() as u32,
        }
    }

    fn task(
        &self,
        stage: Stage,
        at: usize,
        proc: &mut ClassicSlice,
        set: &ClassicSet,
    ) -> Option<Task> {
        let layout = set.layout;
        let item = self.item;
        let small = Name::new(NameKind::Small, item);
        let symlink = Name::new(NameKind::Symlink, item);
        let proc_name = Name::new(NameKind::ProcDir, proc.deal.proc);
        let dir = PROC_DIR;
        let dir_name = Name::new(NameKind::Dir, item);
        let owner = Name::new(NameKind::Owner, 0);
        let removes = if stage == Stage::RemoveDirs {
            Some(Some(item))
        } else {
            (stage == Stage::RemoveProcDirs).then_some(None)
        };
        let action = match stage {
            Stage::Barrier => return None,
            Stage::Close => {
                let walker = *self.open.get(at)?.get(item as usize)?;
                let handle = HandleId(u32::from(walker));
                if item + 1 == self.open[at].len() as u32 {
                    proc.walkers.forget();
                }
                Action::Session(SessionAction::Close { handle })
            }
            Stage::ProcDirs => Action::MakeProcDir { name: proc_name },
            Stage::ProcOwner => owner_file(proc, set, None),
            Stage::Dirs => Action::Mkdir {
                dir,
                name: dir_name,
                object: layout.dir(item),
            },
            Stage::DirOwners => owner_file(proc, set, Some(item)),
            Stage::Small => empty_file(proc, small, layout.small(item)),
            Stage::Symlinks => Action::Symlink {
                dir,
                name: symlink,
                object: layout.symlink(item),
            },
            Stage::Churn => {
                let slot = proc.take_initial_churn(layout)?;
                let (object, name) = proc.pool_name(PoolId::Churn, slot, layout);
                empty_file(proc, name, object)
            }
            Stage::Known => find(item as usize, proc, set)?,
            Stage::Restore => return restore(at, item as usize, proc, set),
            Stage::Files => return fill_file(at, item, proc, set),
            Stage::RemovePools => {
                let (pool, slot) = self.pool_names[at][item as usize];
                let (_, name) = proc.pool_name(pool, slot, layout);
                match name.kind.is_dir() {
                    true => Action::Rmdir { dir, name },
                    false => Action::Remove { dir, name },
                }
            }
            Stage::RemoveSmall => Action::Remove { dir, name: small },
            Stage::RemoveSymlinks => Action::Remove { dir, name: symlink },
            Stage::RemoveFiles => Action::Remove {
                dir: layout.dir_of(item),
                name: Name::new(NameKind::File, item),
            },
            Stage::RemoveDirOwners => Action::Remove {
                dir: layout.dir(item),
                name: owner,
            },
            Stage::RemoveProcOwner => Action::Remove { dir, name: owner },
            Stage::RewriteOwners => owner_file(proc, set, *proc.dirs_left.get(item as usize)?),
            Stage::RemoveDirs => Action::Rmdir {
                dir,
                name: dir_name,
            },
            Stage::RemoveProcDirs => Action::RemoveProcDir { name: proc_name },
        };
        Some(Task {
            proc: at,
            action,
            bytes: 0,
            effect: PendingEffect::None,
            may_fail: stage == Stage::Close,
            removes,
        })
    }
}

/// What the procs' walkers have open.
fn open(procs: &[Proc]) -> Vec<Vec<u16>> {
    let of = |proc: &Proc| {
        let slice = proc.slice.classic();
        slice.map_or_else(Vec::new, |s| s.walkers.with_open().collect())
    };
    procs.iter().map(of).collect()
}

/// The owner file of a directory, filled like any other file.
fn owner_file(proc: &ClassicSlice, set: &ClassicSet, dir: Option<u32>) -> Action {
    Action::Fill {
        dir: dir.map_or(PROC_DIR, |dir| set.layout.dir(dir)),
        name: Name::new(NameKind::Owner, 0),
        object: None,
        file: owner_number(proc.deal.proc, dir),
        size: OWNER_BYTES as u64,
    }
}

fn empty_file(proc: &ClassicSlice, name: Name, object: ObjectId) -> Action {
    Action::Fill {
        dir: PROC_DIR,
        name,
        object: Some(object),
        file: u64::from(proc.deal.proc),
        size: 0,
    }
}

fn fill_file(at: usize, local: u32, proc: &mut ClassicSlice, set: &ClassicSet) -> Option<Task> {
    if local < proc.files_made {
        return None;
    }
    proc.files_made = local + 1;
    let layout = set.layout;
    let file = proc.deal.file(local);
    let bytes = set.files.size_bytes(file);
    proc.created_bytes += bytes;
    Some(Task {
        proc: at,
        action: Action::Fill {
            dir: layout.dir_of(local),
            name: Name::new(NameKind::File, local),
            object: proc.files.position(local).map(|i| layout.file(i)),
            file,
            size: bytes,
        },
        bytes,
        effect: PendingEffect::None,
        may_fail: false,
        removes: None,
    })
}

/// A driver that works on handles must look up a file that it made without one. With SMB
/// files are opened by name.
fn find(index: usize, proc: &ClassicSlice, set: &ClassicSet) -> Option<Action> {
    let local = proc.files.get(index).local;
    if index < proc.files_known || local >= proc.files_made || set.walk.is_some() {
        return None;
    }
    Some(Action::Lookup {
        dir: set.layout.dir_of(local),
        name: Name::new(NameKind::File, local),
        object: set.layout.file(index),
    })
}

fn restore(at: usize, index: usize, proc: &mut ClassicSlice, set: &ClassicSet) -> Option<Task> {
    let file = proc.files.get(index);
    let created = set.files.size_bytes(proc.deal.file(file.local));
    let is_new = file.local >= proc.files_made;
    if is_new || u64::from(file.end_bytes) == created {
        return None;
    }
    proc.files.reset_size(index, created);
    let action = match set.walk {
        None => Action::Setattr {
            object: set.layout.file(index),
            size: Some(created),
        },
        Some(_) => Action::Session(SessionAction::Truncate {
            place: ProcPath {
                dir: set.layout.dir_of(file.local),
                name: Some(Name::new(NameKind::File, file.local)),
            },
            size: created,
        }),
    };
    Some(Task {
        proc: at,
        action,
        bytes: 0,
        effect: PendingEffect::None,
        may_fail: false,
        removes: None,
    })
}
