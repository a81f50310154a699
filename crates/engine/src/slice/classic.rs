//! A proc's slice of a classical file set: which of the shared files are its own, and
//! which small files, links and directories it creates and removes. Turns an operation
//! of the mix into an action on particular objects.

use super::op_sequence::OpSequenceCursors;
use crate::action::{Action, Chosen, ObjectId, PROC_DIR};
use crate::fileset::{AccessedFiles, Deal, FileSet};
use crate::name::{Name, NameKind};
use crate::pool::Pool;
use crate::proc::{ChosenAction, PendingEffect, WATCHED_PROC};
use filermark_model::benchmark::{ClassicWork, FileSetRule};
use filermark_model::sequence::TransitionTables;
use filermark_model::{NfsOp, Op, OpTarget, Rng, SizeDistribution};

/// Offsets of reads and overwrites are whole multiples of this, in bytes.
pub(super) const ALIGN: u32 = 4096;
/// Names for symbolic links and directories that are created and removed, per proc.
const CHURN_NAMES: u16 = 16;

/// Most scratch files of a proc: our own design.
const SCRATCH_FILES: u32 = 16;
/// Ranges of scratch files begin at one of so many multiples of [`ALIGN`]: within 256 KiB, our own design.
const SCRATCH_PLACES: u64 = 64;
/// Extended attributes of a proc, in all its scratch files: our own design.
const ATTRIBUTES: u16 = 16;

/// What all procs of a classical run have in common.
#[derive(Clone, Debug)]
pub struct ClassicSet {
    pub(super) read_sizes: SizeDistribution,
    pub(super) write_sizes: SizeDistribution,
    pub(super) append_pcnt: f64,
    /// The sequence that operations follow; `None`: they come in any order.
    pub walk: Option<TransitionTables>,
    /// The rule of the I/O files.
    pub files: FileSet,
    /// How objects are numbered.
    pub layout: Layout,
}

impl ClassicSet {
    /// The file set of a classical benchmark under a seed.
    pub fn new(classic: &ClassicWork, seed: u64) -> Self {
        let rule = &classic.fileset;
        Self {
            read_sizes: classic.read_sizes.clone(),
            write_sizes: classic.write_sizes.clone(),
            append_pcnt: rule.append_pcnt,
            files: FileSet::new(seed, classic),
            walk: classic.sequence.as_ref().map(TransitionTables::new),
            layout: match &classic.sequence {
                None => Layout::new(rule.dir_count, rule.file_count, rule.symlink_count),
                Some(_) => Layout::of_files(rule.dir_count, rule.file_count),
            },
        }
    }
}

/// How a proc's objects are numbered: its directory, then directories, small
/// files, symbolic links, the three pools, and last the accessed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Directories that hold I/O files; at least one.
    pub dirs: u32,
    /// Small files that stay; at least one.
    pub small: u32,
    /// Symbolic links that stay; at least one, or none where the protocol has none.
    pub symlinks: u32,
    /// Small files that are created and removed.
    pub churn: u16,
}

impl Layout {
    /// The numbering for these counts per proc.
    pub fn new(dirs: u32, small: u32, symlinks: u32) -> Self {
        Self {
            dirs: dirs.clamp(1, FileSetRule::DIR_COUNT_MAX),
            small: small.clamp(1, FileSetRule::FILE_COUNT_MAX),
            symlinks: symlinks.clamp(1, FileSetRule::SYMLINK_COUNT_MAX),
            churn: FileSetRule::churn_count(small),
        }
    }

    /// The numbering where there are no symbolic links, and no names are created and removed.
    pub fn of_files(dirs: u32, small: u32) -> Self {
        Self {
            symlinks: 0,
            churn: 0,
            ..Self::new(dirs, small, 0)
        }
    }

    /// A directory of I/O files.
    pub fn dir(self, dir: u32) -> ObjectId {
        ObjectId(1 + dir)
    }
    /// A small file that stays.
    pub fn small(self, file: u32) -> ObjectId {
        ObjectId(1 + self.dirs + file)
    }
    /// A symbolic link that stays.
    pub fn symlink(self, link: u32) -> ObjectId {
        ObjectId(1 + self.dirs + self.small + link)
    }
    fn pools_base(self) -> u32 {
        1 + self.dirs + self.small + self.symlinks
    }
    fn links_base(self) -> u32 {
        self.pools_base() + u32::from(self.churn)
    }
    fn made_base(self) -> u32 {
        self.links_base() + u32::from(CHURN_NAMES)
    }
    /// The accessed file at an index.
    pub fn file(self, at: usize) -> ObjectId {
        ObjectId(self.files_base() + at as u32)
    }
    /// The number of the first accessed file.
    pub fn files_base(self) -> u32 {
        self.made_base() + u32::from(CHURN_NAMES)
    }
    /// A scratch file: one of the first small files that stay. No operation checks its contents, so the
    /// operations of version 4 that change data have these.
    fn scratch(self, number: u32) -> ObjectId {
        self.small(number % self.small.min(SCRATCH_FILES))
    }

    fn any_scratch(self, rng: &mut Rng) -> ObjectId {
        self.scratch(rng.below(u64::from(SCRATCH_FILES)) as u32)
    }

    /// The directory that holds the proc's I/O file `local`.
    pub fn dir_of(self, local: u32) -> ObjectId {
        self.dir(local % self.dirs)
    }
}

/// Which pool a name belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolId {
    /// Small files.
    Churn,
    /// Symbolic links.
    Links,
    /// Directories.
    Made,
    /// Extended attributes.
    Attributes,
}

/// The part of the file set that one proc has.
#[derive(Debug)]
pub struct ClassicSlice {
    /// Its number in the whole run and the number of procs.
    pub deal: Deal,
    /// Its accessed files.
    pub files: AccessedFiles,
    /// Whether its directories and small files exist (or may exist) on the server.
    pub populated: bool,
    /// I/O files that were made or begun, from the first on.
    pub files_made: u32,
    /// For how many of the accessed files, from the first on, the driver has an object.
    pub files_known: usize,
    /// CLEANUP: directories that could not be removed: its own (`None`), or one in it.
    pub dirs_left: Vec<Option<u32>>,
    /// Bytes of these when they were made.
    pub created_bytes: u64,
    pools: [Pool; 4],
    listing_dir: u32,
    /// The walkers of the sequence of operations, where there is one.
    pub walkers: OpSequenceCursors,
}

/// DEBUG flag 13: the drawn length of an operation, and the file found for it.
pub(super) fn log_fit(deal: Deal, wanted: u32, found: u32, what: &str) {
    if deal.proc == WATCHED_PROC {
        tracing::trace!(target: "filermark_engine::fit", proc = deal.proc, wanted, found, "{what}");
    }
}

impl ClassicSlice {
    /// The slice of the proc that `deal` names, with no files yet.
    pub fn new(deal: Deal, set: &ClassicSet) -> Self {
        let layout = set.layout;
        let mut slice = Self {
            deal,
            files: AccessedFiles::default(),
            populated: false,
            files_made: 0,
            files_known: 0,
            dirs_left: Vec::new(),
            created_bytes: 0,
            pools: std::array::from_fn(|_| Pool::new(0, 0)),
            listing_dir: deal.proc % layout.dirs,
            walkers: OpSequenceCursors::default(),
        };
        slice.forget_names(layout);
        slice
    }

    /// Resets to the state in which nothing of this proc exists on the server.
    pub fn forget_names(&mut self, layout: Layout) {
        self.files.clear();
        self.populated = false;
        self.files_made = 0;
        self.files_known = 0;
        self.dirs_left.clear();
        self.created_bytes = 0;
        self.walkers.forget();
        self.pools = [
            Pool::new(layout.pools_base(), layout.churn),
            Pool::new(layout.links_base(), CHURN_NAMES),
            Pool::new(layout.made_base(), CHURN_NAMES),
            // They are no objects.
            Pool::new(0, ATTRIBUTES),
        ];
    }

    /// Takes a free small name for INIT to create; half of the pool begins to exist.
    pub fn take_initial_churn(&mut self, layout: Layout) -> Option<u16> {
        let half = usize::from(layout.churn / 2);
        let churn = &mut self.pools[PoolId::Churn as usize];
        if churn.live_count() >= half {
            return None;
        }
        churn.take_free().inspect(|slot| churn.put_live(*slot))
    }

    /// The object and name of a slot of a pool.
    pub fn pool_name(&self, pool: PoolId, slot: u16, layout: Layout) -> (ObjectId, Name) {
        let number = u32::from(slot);
        let name = match pool {
            PoolId::Churn => Name::new(NameKind::Small, layout.small + number),
            PoolId::Links => Name::new(NameKind::Symlink, layout.symlinks + number),
            // An attribute has a number alone.
            PoolId::Made | PoolId::Attributes => Name::new(NameKind::MadeDir, number),
        };
        (ObjectId(self.pools[pool as usize].object(slot)), name)
    }

    /// Everything of the pools that exists, for CLEANUP; attributes go with their files.
    pub fn pool_live(&self) -> impl Iterator<Item = (PoolId, u16)> + '_ {
        [PoolId::Churn, PoolId::Links, PoolId::Made]
            .into_iter()
            .flat_map(|id| self.pools[id as usize].live().iter().map(move |s| (id, *s)))
    }

    /// Selects the objects that `op` works on.
    pub fn choose(&mut self, rng: &mut Rng, op: Op, set: &ClassicSet) -> ChosenAction {
        if set.walk.is_some() {
            return self.choose_step(rng, set);
        }
        // Operations of other protocols: no classical mix of NFS has them.
        let Some(op) = op.nfs() else {
            return ChosenAction::Impossible;
        };
        let layout = set.layout;
        let object = match op.target() {
            OpTarget::Nothing => PROC_DIR,
            OpTarget::Object => self.any_object(rng, layout),
            OpTarget::File => self.any_file(rng, layout),
            OpTarget::Symlink => layout.symlink(rng.below(u64::from(layout.symlinks)) as u32),
            OpTarget::AccessedFile => match self.files.pick(rng) {
                Some(at) => layout.file(at),
                None => return ChosenAction::Impossible,
            },
            OpTarget::Directory => return self.list(op, layout),
            OpTarget::Name => return plain(Action::of(op, &self.name_there(rng, layout))),
            OpTarget::DataRead => return self.read(rng, op, set),
            OpTarget::DataWritten => return self.write(rng, op, set),
            OpTarget::NewFile | OpTarget::NewLink => {
                return self.make(rng, PoolId::Churn, op, layout);
            }
            OpTarget::NewSymlink => return self.make(rng, PoolId::Links, op, layout),
            OpTarget::NewDirectory => return self.make(rng, PoolId::Made, op, layout),
            OpTarget::OldFile => return self.choose_removal(rng, PoolId::Churn, op, layout),
            OpTarget::OldDirectory => return self.choose_removal(rng, PoolId::Made, op, layout),
            OpTarget::Rename => return self.rename(rng, op, layout),
            OpTarget::ScratchFile => layout.any_scratch(rng),
            OpTarget::ScratchRange => {
                return plain(Action::of(op, &Self::scratch_range(rng, set)));
            }
            OpTarget::DataSought => return possible(op, self.sought(rng, set)),
            OpTarget::DataCopied => return possible(op, self.copied(rng, op, set)),
            OpTarget::NewAttribute => return self.set_attribute(rng, op, layout),
            OpTarget::OldAttribute => return self.use_attribute(rng, op, layout),
        };
        let chosen = Chosen {
            object,
            ..Chosen::default()
        };
        plain(Action::of(op, &chosen))
    }

    /// Updates the proc's state after an operation; `end` is the outcome's.
    pub fn settle(
        &mut self,
        rng: &mut Rng,
        effect: PendingEffect,
        worked: bool,
        end: bool,
        set: &ClassicSet,
    ) {
        let layout = set.layout;
        match effect {
            PendingEffect::None => {}
            // Whether the server has it is not known. It can be set again in both cases.
            PendingEffect::Make(pool @ PoolId::Attributes, slot)
            | PendingEffect::Remove(pool @ PoolId::Attributes, slot)
            | PendingEffect::Keep(pool @ PoolId::Attributes, slot)
                if !worked =>
            {
                self.pool(pool).put_free(slot);
            }
            PendingEffect::Make(pool, slot) if worked => self.pool(pool).put_live(slot),
            PendingEffect::Make(pool, slot) => self.pool(pool).put_free(slot),
            PendingEffect::Remove(pool, slot) if worked => self.pool(pool).put_free(slot),
            PendingEffect::Remove(pool, slot) | PendingEffect::Keep(pool, slot) => {
                self.pool(pool).put_live(slot);
            }
            PendingEffect::Move(from, to) => {
                let (gone, there) = if worked { (from, to) } else { (to, from) };
                self.pool(PoolId::Churn).put_free(gone);
                self.pool(PoolId::Churn).put_live(there);
            }
            PendingEffect::Append(at, offset, length) => {
                self.files.end_append(at as usize, offset, length, worked);
            }
            PendingEffect::Listing if end => {
                self.listing_dir = rng.below(u64::from(layout.dirs)) as u32;
            }
            PendingEffect::Walk(walker, step) => self.settle_step(rng, (walker, step), worked, set),
            PendingEffect::Listing | PendingEffect::Tree(_) => {}
        }
    }

    fn pool(&mut self, id: PoolId) -> &mut Pool {
        &mut self.pools[id as usize]
    }

    /// 85 % accessed files, 10 % small files, 5 % directories: our own design.
    fn any_object(&mut self, rng: &mut Rng, layout: Layout) -> ObjectId {
        match rng.below(100) {
            0..85 if !self.files.is_empty() => self.accessed(rng, layout),
            85..95 => layout.small(rng.below(u64::from(layout.small)) as u32),
            _ => layout.dir(rng.below(u64::from(layout.dirs)) as u32),
        }
    }

    /// Half accessed files, half small files: our own design.
    fn any_file(&mut self, rng: &mut Rng, layout: Layout) -> ObjectId {
        match rng.below(2) {
            0 if !self.files.is_empty() => self.accessed(rng, layout),
            _ => layout.small(rng.below(u64::from(layout.small)) as u32),
        }
    }

    fn accessed(&mut self, rng: &mut Rng, layout: Layout) -> ObjectId {
        layout.file(self.files.pick(rng).unwrap_or(0))
    }

    /// 85 % names of accessed files, 15 % of small files: our own design.
    fn name_there(&mut self, rng: &mut Rng, layout: Layout) -> Chosen {
        let file = match rng.below(100) {
            0..85 => self.files.pick(rng),
            _ => None,
        };
        if let Some(at) = file {
            let local = self.files.get(at).local;
            return Chosen {
                dir: layout.dir_of(local),
                name: Name::new(NameKind::File, local),
                object: layout.file(at),
                ..Chosen::default()
            };
        }
        let small = rng.below(u64::from(layout.small)) as u32;
        Chosen {
            dir: PROC_DIR,
            name: Name::new(NameKind::Small, small),
            object: layout.small(small),
            ..Chosen::default()
        }
    }

    fn list(&self, op: NfsOp, layout: Layout) -> ChosenAction {
        let chosen = Chosen {
            dir: layout.dir(self.listing_dir),
            ..Chosen::default()
        };
        ChosenAction::Measured(Action::of(op, &chosen), PendingEffect::Listing)
    }

    fn read(&mut self, rng: &mut Rng, op: NfsOp, set: &ClassicSet) -> ChosenAction {
        let length = set.read_sizes.draw(rng).0 as u32;
        let Some(at) = self.files.pick_fitting(length, rng) else {
            return ChosenAction::Impossible;
        };
        log_fit(
            self.deal,
            length,
            self.files.get(at).stable_bytes,
            "a file to read",
        );
        let range = self.range_within(rng, at, length);
        plain(Action::of(op, &self.data(at, range, set.layout)))
    }

    fn write(&mut self, rng: &mut Rng, op: NfsOp, set: &ClassicSet) -> ChosenAction {
        let drawn = set.write_sizes.draw(rng).0 as u32;
        let append = rng.percent(set.append_pcnt);
        let at = if append {
            self.files.pick(rng)
        } else {
            self.files.pick_fitting(drawn, rng)
        };
        let Some(at) = at else {
            return ChosenAction::Impossible;
        };
        log_fit(
            self.deal,
            drawn,
            self.files.get(at).stable_bytes,
            "a file to write",
        );
        let fits = u32::MAX - self.files.get(at).end_bytes >= drawn;
        let (range, effect) = if append && fits {
            let offset = self.files.begin_append(at, drawn);
            let effect = PendingEffect::Append(at as u32, offset, drawn);
            ((offset, drawn), effect)
        } else {
            (self.range_within(rng, at, drawn), PendingEffect::None)
        };
        let action = Action::of(op, &self.data(at, range, set.layout));
        ChosenAction::Measured(action, effect)
    }

    /// A range of an accessed file.
    fn data(&self, at: usize, (offset, length): (u32, u32), layout: Layout) -> Chosen {
        Chosen {
            object: layout.file(at),
            file: self.deal.file(self.files.get(at).local),
            offset: u64::from(offset),
            length,
            bytes: self.files.get(at).stable_bytes,
            ..Chosen::default()
        }
    }

    /// An aligned range of at most `length` bytes that a file certainly holds.
    fn range_within(&mut self, rng: &mut Rng, at: usize, length: u32) -> (u32, u32) {
        let stable = self.files.get(at).stable_bytes;
        let length = length.min(stable);
        let places = (stable - length) / ALIGN + 1;
        (rng.below(u64::from(places)) as u32 * ALIGN, length)
    }

    fn make(&mut self, rng: &mut Rng, pool: PoolId, op: NfsOp, layout: Layout) -> ChosenAction {
        let Some(slot) = self.pool(pool).take_free() else {
            return self.prepare_removal(rng, pool, layout);
        };
        let (object, name) = self.pool_name(pool, slot, layout);
        let chosen = Chosen {
            object: match op.target() == OpTarget::NewLink {
                true => self.any_file(rng, layout),
                false => object,
            },
            name,
            new_name: name,
            new_object: object,
            ..Chosen::default()
        };
        ChosenAction::Measured(Action::of(op, &chosen), PendingEffect::Make(pool, slot))
    }

    /// The pool is full: first removes one of its names, unmeasured.
    fn prepare_removal(&mut self, rng: &mut Rng, pool: PoolId, layout: Layout) -> ChosenAction {
        let op = match pool {
            PoolId::Churn | PoolId::Links => NfsOp::Remove,
            PoolId::Made => NfsOp::Rmdir,
            PoolId::Attributes => NfsOp::Removexattr,
        };
        self.removal(rng, pool, op, layout)
            .map_or(ChosenAction::Impossible, |(action, effect)| {
                ChosenAction::Prepare(action, effect)
            })
    }

    fn choose_removal(
        &mut self,
        rng: &mut Rng,
        pool: PoolId,
        op: NfsOp,
        layout: Layout,
    ) -> ChosenAction {
        if let Some((action, effect)) = self.removal(rng, pool, op, layout) {
            return ChosenAction::Measured(action, effect);
        }
        self.prepare_make(rng, pool, layout)
    }

    /// The pool is empty: first makes one of its names, unmeasured.
    fn prepare_make(&mut self, rng: &mut Rng, pool: PoolId, layout: Layout) -> ChosenAction {
        let op = match pool {
            PoolId::Churn => NfsOp::Create,
            PoolId::Links => NfsOp::Symlink,
            PoolId::Made => NfsOp::Mkdir,
            PoolId::Attributes => NfsOp::Setxattr,
        };
        match self.make(rng, pool, op, layout) {
            ChosenAction::Measured(action, effect) => ChosenAction::Prepare(action, effect),
            prepare @ (ChosenAction::Prepare(..) | ChosenAction::Impossible) => prepare,
        }
    }

    fn removal(
        &mut self,
        rng: &mut Rng,
        pool: PoolId,
        op: NfsOp,
        layout: Layout,
    ) -> Option<(Action, PendingEffect)> {
        let slot = self.pools[pool as usize].take_live(rng)?;
        let (object, name) = self.pool_name(pool, slot, layout);
        let chosen = Chosen {
            object,
            name,
            ..Chosen::default()
        };
        Some((Action::of(op, &chosen), PendingEffect::Remove(pool, slot)))
    }

    /// A range of a scratch file.
    fn scratch_range(rng: &mut Rng, set: &ClassicSet) -> Chosen {
        Chosen {
            object: set.layout.any_scratch(rng),
            offset: rng.below(SCRATCH_PLACES) * u64::from(ALIGN),
            length: (set.write_sizes.draw(rng).0 as u32).max(1),
            ..Chosen::default()
        }
    }

    /// An aligned place in an accessed file, and what is looked for from there on.
    fn sought(&mut self, rng: &mut Rng, set: &ClassicSet) -> Option<Chosen> {
        let at = self.files.pick_fitting(1, rng)?;
        let range = self.range_within(rng, at, 1);
        Some(Chosen {
            is_hole: rng.below(2) == 0,
            ..self.data(at, range, set.layout)
        })
    }

    /// A range of an accessed file, and the scratch file that it is copied to. CLONE needs whole blocks (RFC
    /// 7862 section 15.13.3): multiples of [`ALIGN`], or the whole of a file that is shorter.
    fn copied(&mut self, rng: &mut Rng, op: NfsOp, set: &ClassicSet) -> Option<Chosen> {
        let drawn = set.write_sizes.draw(rng).0 as u32;
        let is_clone = op == NfsOp::Clone;
        let wanted = match is_clone {
            true => (drawn / ALIGN * ALIGN).max(ALIGN),
            false => drawn.max(1),
        };
        let at = self.files.pick_fitting(wanted, rng)?;
        let (mut offset, mut length) = self.range_within(rng, at, wanted);
        if is_clone && length % ALIGN != 0 {
            (offset, length) = match length / ALIGN * ALIGN {
                0 => (0, 0),
                blocks => (offset, blocks),
            };
        }
        Some(Chosen {
            new_object: set.layout.any_scratch(rng),
            ..self.data(at, (offset, length), set.layout)
        })
    }

    fn attribute(slot: u16, layout: Layout) -> Chosen {
        Chosen {
            object: layout.scratch(u32::from(slot)),
            name: Name::new(NameKind::Small, 0),
            attribute: slot,
            ..Chosen::default()
        }
    }

    /// SETXATTR of an attribute that is not set; if all are, of one that is.
    fn set_attribute(&mut self, rng: &mut Rng, op: NfsOp, layout: Layout) -> ChosenAction {
        let pool = self.pool(PoolId::Attributes);
        let (slot, effect) = match pool.take_free() {
            Some(slot) => (slot, PendingEffect::Make(PoolId::Attributes, slot)),
            None => match pool.take_live(rng) {
                Some(slot) => (slot, PendingEffect::Keep(PoolId::Attributes, slot)),
                None => return ChosenAction::Impossible,
            },
        };
        ChosenAction::Measured(Action::of(op, &Self::attribute(slot, layout)), effect)
    }

    /// GETXATTR or REMOVEXATTR of an attribute that is set; if none is, one is set first, unmeasured.
    fn use_attribute(&mut self, rng: &mut Rng, op: NfsOp, layout: Layout) -> ChosenAction {
        let Some(slot) = self.pool(PoolId::Attributes).take_live(rng) else {
            return match self.set_attribute(rng, NfsOp::Setxattr, layout) {
                ChosenAction::Measured(action, effect) => ChosenAction::Prepare(action, effect),
                prepare @ (ChosenAction::Prepare(..) | ChosenAction::Impossible) => prepare,
            };
        };
        let effect = match op == NfsOp::Removexattr {
            true => PendingEffect::Remove(PoolId::Attributes, slot),
            false => PendingEffect::Keep(PoolId::Attributes, slot),
        };
        ChosenAction::Measured(Action::of(op, &Self::attribute(slot, layout)), effect)
    }

    fn rename(&mut self, rng: &mut Rng, op: NfsOp, layout: Layout) -> ChosenAction {
        let churn = &mut self.pools[PoolId::Churn as usize];
        let Some(from) = churn.take_live(rng) else {
            return self.prepare_make(rng, PoolId::Churn, layout);
        };
        let Some(to) = churn.take_free() else {
            churn.put_live(from);
            return self.prepare_removal(rng, PoolId::Churn, layout);
        };
        let (object, name) = self.pool_name(PoolId::Churn, from, layout);
        let (new_object, new_name) = self.pool_name(PoolId::Churn, to, layout);
        let chosen = Chosen {
            object,
            name,
            new_name,
            new_object,
            ..Chosen::default()
        };
        ChosenAction::Measured(Action::of(op, &chosen), PendingEffect::Move(from, to))
    }
}

/// `None`: there is no file for it.
fn possible(op: NfsOp, chosen: Option<Chosen>) -> ChosenAction {
    match chosen {
        Some(chosen) => plain(Action::of(op, &chosen)),
        None => ChosenAction::Impossible,
    }
}

fn plain(action: Action) -> ChosenAction {
    ChosenAction::Measured(action, PendingEffect::None)
}

#[cfg(test)]
mod tests {
    mod version4;

    use super::*;
    use filermark_model::Benchmark;

    pub(super) fn slice() -> (ClassicSlice, ClassicSet, Rng) {
        let benchmark = Benchmark::shipped("general-nfs3").unwrap();
        let set = ClassicSet::new(benchmark.classic().unwrap(), 1);
        let deal = Deal {
            proc_count: 1,
            proc: 0,
        };
        let mut slice = ClassicSlice::new(deal, &set);
        slice
            .files
            .fit(&set.files, &set.files.choice(400), deal, 400);
        (slice, set, Rng::new(1, 0))
    }

    #[test]
    fn every_operation_can_be_chosen_any_number_of_times() {
        for op in Op::NFS42 {
            let (mut slice, set, mut rng) = slice();
            let mut measured = 0;
            for _ in 0..500 {
                let (effect, is_measured) = match slice.choose(&mut rng, *op, &set) {
                    ChosenAction::Measured(action, effect) => {
                        let subject = action.subject().expect("an action of NFS");
                        assert_eq!(subject.op.op(), *op, "{action:?}");
                        (effect, 1)
                    }
                    ChosenAction::Prepare(_, effect) => (effect, 0),
                    ChosenAction::Impossible => panic!("nothing is in flight"),
                };
                slice.settle(&mut rng, effect, true, false, &set);
                measured += is_measured;
            }
            assert!(measured >= 250, "{op}: {measured} of 500");
        }
    }

    #[test]
    fn names_in_flight_are_never_handed_out_twice() {
        let (mut slice, set, mut rng) = slice();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..set.layout.churn {
            match slice.choose(&mut rng, Op::Create, &set) {
                ChosenAction::Measured(Action::Create { object, name, .. }, _) => {
                    assert!(seen.insert((object, name.number)));
                }
                other => panic!("{other:?}"),
            }
        }
        // All are in flight: there is nothing left to make or to remove.
        assert_eq!(
            slice.choose(&mut rng, Op::Create, &set),
            ChosenAction::Impossible
        );
    }

    #[test]
    fn reads_stay_within_the_file_and_writes_append_as_defined() {
        let (mut slice, set, mut rng) = slice();
        let mut appends = 0;
        for _ in 0..20_000 {
            if let ChosenAction::Measured(
                Action::Read {
                    object,
                    offset,
                    length,
                    ..
                },
                _,
            ) = slice.choose(&mut rng, Op::Read, &set)
            {
                let at = (object.0 - set.layout.files_base()) as usize;
                assert!(offset + u64::from(length) <= u64::from(slice.files.get(at).stable_bytes));
                assert!(length > 0);
            }
            if let ChosenAction::Measured(Action::Write { .. }, effect) =
                slice.choose(&mut rng, Op::Write, &set)
            {
                appends += u32::from(matches!(effect, PendingEffect::Append(..)));
                slice.settle(&mut rng, effect, true, false, &set);
            }
        }
        let share = f64::from(appends) / 20_000.0;
        assert!((share - 0.7).abs() < 0.02, "{share}");
    }

    #[test]
    fn objects_do_not_overlap() {
        let layout = Layout::new(30, 100, 20);
        let (slice, ..) = slice();
        let last_small = layout.small(99).0;
        assert!(layout.dir(29).0 < layout.small(0).0);
        assert_eq!(layout.symlink(0).0, last_small + 1);
        let churn_first = slice.pool_name(PoolId::Churn, 0, layout).0.0;
        assert_eq!(churn_first, layout.symlink(19).0 + 1);
        let made_last = slice.pool_name(PoolId::Made, CHURN_NAMES - 1, layout).0.0;
        assert_eq!(layout.file(0).0, made_last + 1);
    }
}
