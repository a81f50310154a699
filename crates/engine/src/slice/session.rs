//! Selects what a walker's next step works on: files of the proc's slice, opened, read and
//! written as by a user of a protocol with open files.
//!
//! A walker that opens a file to read or write it takes one transfer size for as long as it
//! is open, as applications do: sizes are drawn once per open from the benchmark's
//! tables, the file by what fits.

use super::classic::{ALIGN, ClassicSet, ClassicSlice, log_fit};
use super::op_sequence::{OpenHandle, OpenTarget};
use crate::driver::{Action, PROC_DIR};
use crate::name::{Name, NameKind};
use crate::proc::{ChosenAction, PendingEffect};
use crate::session_action::{AttributeChange, HandleId, OpenFor, ProcPath, SessionAction};
use filermark_model::Rng;
use filermark_model::sequence::Step;

/// How often another file is tried when one is open already.
const TRIES: u32 = 8;
/// Where ranges are locked that no walker reads or writes: after the end of every file.
const UNUSED_LOCK_OFFSET: u32 = 0x8000_0000;
/// Numbers of contents from here on are those of new files of walkers.
const SCRATCH_FILES: u64 = 1 << 62;
/// The longest range that is locked, in bytes: a record.
const LOCK_BYTES_MAX: u32 = 4096;

impl ClassicSlice {
    /// Selects what the step that was drawn last works on.
    pub(super) fn choose_step(&mut self, rng: &mut Rng, set: &ClassicSet) -> ChosenAction {
        let Some((walker, step)) = self.walkers.take_drawn() else {
            return ChosenAction::Impossible;
        };
        match self.action(rng, set, walker, step) {
            Some(action) => {
                ChosenAction::Measured(Action::Session(action), PendingEffect::Walk(walker, step))
            }
            None => {
                if let Some(walk) = &set.walk {
                    self.walkers.end(walker, step, false, walk, rng);
                }
                ChosenAction::Impossible
            }
        }
    }

    /// Updates the state after a step.
    pub(super) fn settle_step(
        &mut self,
        rng: &mut Rng,
        (walker, step): (u16, Step),
        worked: bool,
        set: &ClassicSet,
    ) {
        if let Some(open) = self.walkers.open_mut(walker) {
            let appended = open.appending.take();
            match (appended, &mut open.target) {
                (Some((offset, length)), OpenTarget::File(at)) => {
                    self.files.end_append(*at as usize, offset, length, worked);
                }
                (Some((offset, length)), OpenTarget::Scratch { bytes, .. }) if worked => {
                    *bytes = (*bytes).max(offset.saturating_add(length));
                }
                _ => {}
            }
            if step == Step::UnlockRange && worked {
                open.lock = None;
            }
        }
        if let Some(walk) = &set.walk {
            self.walkers.end(walker, step, worked, walk, rng);
        }
    }

    fn action(
        &mut self,
        rng: &mut Rng,
        set: &ClassicSet,
        walker: u16,
        step: Step,
    ) -> Option<SessionAction> {
        let handle = HandleId(u32::from(walker));
        Some(match step {
            Step::Echo => SessionAction::Echo,
            Step::QueryFs => SessionAction::QueryFs,
            Step::QueryPath => SessionAction::QueryPath {
                place: self.any_place(rng, set),
            },
            Step::Find => SessionAction::Find {
                dir: set.layout.dir(rng.below(u64::from(set.layout.dirs)) as u32),
            },
            Step::OpenAttributes
            | Step::OpenDirectory
            | Step::OpenRead
            | Step::OpenUpdate
            | Step::OpenReplace
            | Step::OpenTemporary => self.open(rng, set, walker, step)?,
            Step::Close => SessionAction::Close { handle },
            Step::ReadSequential | Step::ReadRandom => self.read_open(rng, walker, step)?,
            Step::WriteSequential | Step::WriteRandom => self.write_open(rng, walker, step)?,
            Step::Flush => SessionAction::Flush { handle },
            Step::LockRange | Step::UnlockRange => self.lock(rng, walker, step)?,
            Step::QueryFile => SessionAction::QueryFile { handle },
            Step::QuerySecurity => SessionAction::QuerySecurity { handle },
            Step::SetTimes | Step::SetSize | Step::SetDelete => SessionAction::SetFile {
                handle,
                setting: self.setting(walker, step)?,
            },
        })
    }

    /// 85 % accessed files, 10 % small files, 5 % directories, as with NFS: our own design.
    fn any_place(&self, rng: &mut Rng, set: &ClassicSet) -> ProcPath {
        let layout = set.layout;
        let file = match rng.below(100) {
            0..85 => self.files.pick(rng),
            85..95 => None,
            _ => return self.dir_place(rng, set),
        };
        match file {
            Some(at) => self.file_place(at, set),
            None => small_place(rng.below(u64::from(layout.small)) as u32),
        }
    }

    fn dir_place(&self, rng: &mut Rng, set: &ClassicSet) -> ProcPath {
        let dir = rng.below(u64::from(set.layout.dirs)) as u32;
        ProcPath {
            dir: PROC_DIR,
            name: Some(Name::new(NameKind::Dir, dir)),
        }
    }

    fn file_place(&self, at: usize, set: &ClassicSet) -> ProcPath {
        let local = self.files.get(at).local;
        ProcPath {
            dir: set.layout.dir_of(local),
            name: Some(Name::new(NameKind::File, local)),
        }
    }

    fn open(
        &mut self,
        rng: &mut Rng,
        set: &ClassicSet,
        walker: u16,
        step: Step,
    ) -> Option<SessionAction> {
        let mut opened = OpenHandle::OTHER;
        let (place, how) = match step {
            Step::OpenDirectory => (self.dir_place(rng, set), OpenFor::Attributes),
            Step::OpenAttributes => (self.any_place(rng, set), OpenFor::Attributes),
            Step::OpenRead | Step::OpenUpdate => {
                opened.read_length = set.read_sizes.draw(rng).0 as u32;
                opened.write_length = set.write_sizes.draw(rng).0 as u32;
                opened.appends = step == Step::OpenUpdate && rng.percent(set.append_pcnt);
                let at = self.file_to_open(rng, walker, step, &opened)?;
                opened.target = OpenTarget::File(at as u32);
                let how = match step == Step::OpenRead {
                    true => OpenFor::Read,
                    false => OpenFor::Update,
                };
                (self.file_place(at, set), how)
            }
            Step::OpenReplace | Step::OpenTemporary => {
                let temporary = step == Step::OpenTemporary;
                opened.write_length = set.write_sizes.draw(rng).0 as u32;
                opened.read_length = opened.write_length;
                opened.target = OpenTarget::Scratch {
                    bytes: 0,
                    temporary,
                };
                let (number, how) = match temporary {
                    // Names after those that stay, one per walker.
                    true => (set.layout.small + u32::from(walker), OpenFor::Temporary),
                    false => (self.small_to_replace(rng, walker, set), OpenFor::Replace),
                };
                (small_place(number), how)
            }
            // These open no file.
            Step::Echo
            | Step::QueryPath
            | Step::QueryFs
            | Step::Find
            | Step::Close
            | Step::ReadSequential
            | Step::ReadRandom
            | Step::WriteSequential
            | Step::WriteRandom
            | Step::Flush
            | Step::LockRange
            | Step::UnlockRange
            | Step::QueryFile
            | Step::QuerySecurity
            | Step::SetTimes
            | Step::SetSize
            | Step::SetDelete => return None,
        };
        self.walkers.begin_open(walker, opened);
        Some(SessionAction::Open {
            place,
            handle: HandleId(u32::from(walker)),
            how,
        })
    }

    /// Walkers replace different files: each has its own share of the small ones.
    fn small_to_replace(&self, rng: &mut Rng, walker: u16, set: &ClassicSet) -> u32 {
        const APART: u64 = 16;
        let small = u64::from(set.layout.small);
        let group = u64::from(walker) % APART;
        let in_group = (small.saturating_sub(group)).div_ceil(APART).max(1);
        let number = group + APART * rng.below(in_group);
        (number % small) as u32
    }

    fn file_to_open(
        &self,
        rng: &mut Rng,
        walker: u16,
        step: Step,
        opened: &OpenHandle,
    ) -> Option<usize> {
        let mut at = 0;
        for _ in 0..TRIES {
            at = match (step, opened.appends) {
                // An append fits any file; what is read or overwritten must
                // exist, so that the sizes of the tables are met.
                (Step::OpenRead, _) | (_, true) => {
                    self.files.pick_fitting(opened.read_length, rng)?
                }
                (_, false) => {
                    let longest = opened.read_length.max(opened.write_length);
                    self.files.pick_fitting(longest, rng)?
                }
            };
            if !self.walkers.others_have(walker, at as u32) {
                break;
            }
        }
        let wanted = opened.read_length.max(opened.write_length);
        log_fit(
            self.deal,
            wanted,
            self.files.get(at).stable_bytes,
            "a file to open",
        );
        Some(at)
    }

    /// Bytes that certainly exist in what is open.
    fn stable_bytes(&self, target: OpenTarget) -> u32 {
        match target {
            OpenTarget::File(at) => self.files.get(at as usize).stable_bytes,
            OpenTarget::Scratch { bytes, .. } => bytes,
            OpenTarget::Other => 0,
        }
    }

    /// The number of the contents of what is open.
    fn contents(&self, walker: u16, target: OpenTarget) -> u64 {
        match target {
            OpenTarget::File(at) => self.deal.file(self.files.get(at as usize).local),
            OpenTarget::Scratch { .. } | OpenTarget::Other => {
                SCRATCH_FILES | u64::from(self.deal.proc) << 16 | u64::from(walker)
            }
        }
    }

    fn read_open(&mut self, rng: &mut Rng, walker: u16, step: Step) -> Option<SessionAction> {
        let open = *self.walkers.open(walker)?;
        let stable = self.stable_bytes(open.target);
        let length = open.read_length.min(stable);
        let offset = match step == Step::ReadRandom {
            true => random_place(rng, stable, length),
            // At the end it starts again: there is always a whole transfer.
            false if open.read_at > stable - length => 0,
            false => open.read_at,
        };
        self.walkers.open_mut(walker)?.read_at = offset + length;
        Some(SessionAction::Read {
            handle: HandleId(u32::from(walker)),
            file: self.contents(walker, open.target),
            offset: u64::from(offset),
            length,
        })
    }

    fn write_open(&mut self, rng: &mut Rng, walker: u16, step: Step) -> Option<SessionAction> {
        let mut open = *self.walkers.open(walker)?;
        let stable = self.stable_bytes(open.target);
        let (offset, length) = match (open.target, step) {
            (OpenTarget::File(at), Step::WriteSequential)
                if open.appends
                    && u32::MAX - self.files.get(at as usize).end_bytes >= open.write_length =>
            {
                let offset = self.files.begin_append(at as usize, open.write_length);
                open.appending = Some((offset, open.write_length));
                (offset, open.write_length)
            }
            (OpenTarget::Scratch { bytes, .. }, Step::WriteSequential) => {
                open.appending = Some((bytes, open.write_length));
                (bytes, open.write_length)
            }
            (_, step) => {
                let length = open.write_length.min(stable);
                match step == Step::WriteRandom {
                    true => (random_place(rng, stable, length), length),
                    false if open.write_at > stable - length => (0, length),
                    false => (open.write_at, length),
                }
            }
        };
        open.write_at = offset.saturating_add(length);
        *self.walkers.open_mut(walker)? = open;
        Some(SessionAction::Write {
            handle: HandleId(u32::from(walker)),
            file: self.contents(walker, open.target),
            offset: u64::from(offset),
            length,
        })
    }

    fn lock(&mut self, rng: &mut Rng, walker: u16, step: Step) -> Option<SessionAction> {
        let open = *self.walkers.open(walker)?;
        let (offset, length) = match (step, open.lock) {
            (Step::UnlockRange, Some(range)) => range,
            // Another walker has the file open as well: a record that no walker reads or
            // writes, so that none of them is refused.
            _ if matches!(open.target, OpenTarget::File(at) if self.walkers.others_have(walker, at)) =>
            {
                let behind = UNUSED_LOCK_OFFSET + u32::from(walker) * LOCK_BYTES_MAX;
                (behind, LOCK_BYTES_MAX)
            }
            _ => {
                let stable = self.stable_bytes(open.target);
                let length = LOCK_BYTES_MAX.min(stable).max(1);
                (random_place(rng, stable.max(length), length), length)
            }
        };
        self.walkers.open_mut(walker)?.lock = Some((offset, length));
        Some(SessionAction::Lock {
            handle: HandleId(u32::from(walker)),
            offset: u64::from(offset),
            length: u64::from(length),
            unlock: step == Step::UnlockRange,
        })
    }

    fn setting(&self, walker: u16, step: Step) -> Option<AttributeChange> {
        let open = self.walkers.open(walker)?;
        Some(match (step, open.target) {
            // Another walker may be extending it at this moment.
            (Step::SetSize, OpenTarget::File(at)) if !self.walkers.others_have(walker, at) => {
                AttributeChange::Size(u64::from(self.files.get(at as usize).end_bytes))
            }
            (Step::SetSize, OpenTarget::Scratch { bytes, .. }) => {
                AttributeChange::Size(u64::from(bytes))
            }
            (
                Step::SetDelete,
                OpenTarget::Scratch {
                    temporary: true, ..
                },
            ) => AttributeChange::Delete,
            _ => AttributeChange::Times,
        })
    }
}

fn small_place(number: u32) -> ProcPath {
    ProcPath {
        dir: PROC_DIR,
        name: Some(Name::new(NameKind::Small, number)),
    }
}

/// An aligned place for `length` bytes within `stable` ones.
fn random_place(rng: &mut Rng, stable: u32, length: u32) -> u32 {
    let places = stable.saturating_sub(length) / ALIGN + 1;
    rng.below(u64::from(places)) as u32 * ALIGN
}
