//! Selects file, range and kind of transfer.

use super::{Sharing, TreePendingEffect, TreePool, TreeSlice};
use crate::driver::Action;
use crate::file_action::{FileAction, FileKind, FileRef, Io};
use crate::proc::{ChosenAction, PendingEffect};
use filermark_model::rng::hash3;
use filermark_model::transfer_bytes::GEOMETRIC_PART;
use filermark_model::workload::{Attributes, HotSpot};
use filermark_model::{Bucket, Nanos, Op, PosixOp, Rng};

/// Mapped ranges begin at whole multiples of this, in bytes.
const PAGE: u64 = 4096;
/// Locks are within the first bytes of a file, whether it has them or not `[own]`.
const LOCK_SPAN: u64 = 1 << 20;
/// Locks begin at whole multiples of this, in bytes `[own]`.
const LOCK_ALIGN: u64 = 4096;

impl TreeSlice {
    /// Selects the file that `op` works on, at about `now`.
    pub fn choose(&mut self, rng: &mut Rng, op: Op, now: Nanos) -> ChosenAction {
        // Operations of other protocols: no workload on mounted file systems has them.
        let Some(of_tree) = op.posix() else {
            return ChosenAction::Impossible;
        };
        match of_tree {
            PosixOp::Mkdir => self.make_name(rng, TreePool::Dirs),
            PosixOp::Rmdir => self.remove_name(rng, TreePool::Dirs),
            PosixOp::Create => self.make_name(rng, TreePool::Files),
            PosixOp::Unlink => self.remove_name(rng, TreePool::Files),
            PosixOp::Unlink2 => self.remove_name(rng, TreePool::Full),
            PosixOp::Rename => self.rename(rng),
            PosixOp::Append => self.append(rng),
            PosixOp::Copyfile => self.copy(rng),
            PosixOp::Read
            | PosixOp::ReadFile
            | PosixOp::MmapRead
            | PosixOp::ReadRandom
            | PosixOp::Write
            | PosixOp::WriteFile
            | PosixOp::MmapWrite
            | PosixOp::WriteRandom
            | PosixOp::Rmw
            | PosixOp::Locking
            | PosixOp::Access
            | PosixOp::Stat
            | PosixOp::Chmod
            | PosixOp::Readdir
            | PosixOp::Statfs
            | PosixOp::Pathconf
            | PosixOp::Custom1
            | PosixOp::Custom2 => self.on_existing(rng, of_tree, now),
        }
    }

    /// An operation on an existing file.
    fn on_existing(&mut self, rng: &mut Rng, op: PosixOp, now: Nanos) -> ChosenAction {
        let Some((bucket, number)) = self.pick(rng, op.op()) else {
            return ChosenAction::Impossible;
        };
        self.count_access(bucket, number);
        self.transfer(rng, op, now, bucket, number)
            .map_or(ChosenAction::Impossible, plain)
    }

    /// Updates the state after an operation.
    pub fn settle(&mut self, effect: TreePendingEffect, worked: bool) {
        self.state.settle(effect, worked);
    }

    fn transfer(
        &mut self,
        rng: &mut Rng,
        op: PosixOp,
        now: Nanos,
        bucket: Bucket,
        number: u64,
    ) -> Option<FileAction> {
        let file = self.existing(bucket, number);
        let content = self.content(bucket, number);
        // Only transfers need it, and it takes as long as a part of a short call.
        let size = |tree: &Self| tree.sizes.created(bucket, number);
        Some(match op {
            PosixOp::Read | PosixOp::ReadRandom => {
                let size = size(self);
                let (offset, length) = match op == PosixOp::Read {
                    true => self.in_sequence(rng, op, bucket, number, size),
                    false => self.at_random(rng, op, now, size),
                };
                let io = self.read_io(rng);
                FileAction::Read {
                    file,
                    content,
                    offset,
                    length,
                    io,
                }
            }
            PosixOp::Write | PosixOp::WriteRandom => {
                let size = self.whole_blocks(size(self));
                let (offset, length) = match op == PosixOp::Write {
                    true => self.in_sequence(rng, op, bucket, number, size),
                    false => self.at_random(rng, op, now, size),
                };
                let io = self.write_io(rng);
                FileAction::Write {
                    file,
                    content,
                    offset,
                    length,
                    io,
                }
            }
            PosixOp::Rmw => {
                let (offset, length) = self.at_random(rng, op, now, size(self));
                let io = self.write_io(rng);
                FileAction::Rmw {
                    file,
                    content,
                    offset,
                    length,
                    io,
                }
            }
            PosixOp::ReadFile => {
                let (seed, io) = (rng.next_u64(), self.read_io(rng));
                let size = size(self);
                FileAction::ReadFile {
                    file,
                    content,
                    size,
                    seed,
                    io,
                }
            }
            PosixOp::WriteFile => {
                let (seed, io) = (rng.next_u64(), self.write_io(rng));
                let size = size(self);
                FileAction::WriteFile {
                    file,
                    content,
                    size,
                    seed,
                    io,
                }
            }
            PosixOp::MmapRead => {
                let length = self.draw_length(rng, op);
                let (offset, length) = range(rng, size(self), length, PAGE, None);
                FileAction::MmapRead {
                    file,
                    content,
                    offset,
                    length,
                }
            }
            PosixOp::MmapWrite => {
                let length = self.setup.workload.write_transfers.draw(rng);
                let (offset, length) = range(rng, size(self), length, PAGE, None);
                let commit = self.write_io(rng).commit;
                FileAction::MmapWrite {
                    file,
                    content,
                    offset,
                    length,
                    commit,
                }
            }
            PosixOp::Locking => {
                let length = u64::from(self.setup.workload.write_transfers.draw(rng));
                let offset = rng.below(LOCK_SPAN / LOCK_ALIGN) * LOCK_ALIGN;
                let exclusive = rng.percent(50.0);
                FileAction::Lock {
                    file,
                    offset,
                    length,
                    exclusive,
                }
            }
            PosixOp::Access => FileAction::Access { file },
            PosixOp::Chmod => FileAction::Chmod {
                file,
                mode: 0o600 | (rng.below(2) as u32 * 0o044),
            },
            PosixOp::Readdir => FileAction::Readdir {
                dir: file.dir,
                bucket,
            },
            PosixOp::Statfs => FileAction::Statfs { file },
            PosixOp::Pathconf => FileAction::Pathconf { file },
            PosixOp::Custom1 => FileAction::Custom { which: 0, file },
            PosixOp::Custom2 => FileAction::Custom { which: 1, file },
            PosixOp::Stat => FileAction::Stat { file },
            // These make, remove, rename, lengthen or copy: they are chosen elsewhere.
            PosixOp::Mkdir
            | PosixOp::Rmdir
            | PosixOp::Create
            | PosixOp::Unlink
            | PosixOp::Unlink2
            | PosixOp::Rename
            | PosixOp::Append
            | PosixOp::Copyfile => return None,
        })
    }

    /// A bucket that `op` may touch, and a file of it.
    fn pick(&mut self, rng: &mut Rng, op: Op) -> Option<(Bucket, u64)> {
        let buckets = Bucket::candidates(op);
        if buckets.is_empty() {
            return None;
        }
        loop {
            let bucket = buckets[rng.below(buckets.len() as u64) as usize];
            // Where only reached buckets are made, that of rmw alone has no data.
            if op == Op::Rmw && !self.sizes.holds_data(bucket) {
                continue;
            }
            // In a shared tree others may be renaming its files.
            if bucket != Bucket::RENAME || self.sharing == Sharing::ALONE {
                return Some((bucket, self.pick_file(rng)));
            }
        }
    }

    fn pick_file(&self, rng: &mut Rng) -> u64 {
        let n = self.sizes.count();
        let geometric = self.setup.workload.attributes.geometric_pcnt;
        if geometric > 0.0 && rng.percent(geometric) {
            let at = rng.exponential() * n as f64 / GEOMETRIC_PART;
            if at < n as f64 {
                return at as u64;
            }
        }
        rng.below(n)
    }

    fn existing(&self, bucket: Bucket, number: u64) -> FileRef {
        let second = bucket == Bucket::RENAME && self.state.is_renamed(number);
        let kind = if second {
            FileKind::Renamed
        } else {
            FileKind::File
        };
        self.named(bucket, number, kind)
    }

    /// The part of a file that writes go to: all of it, but for the bytes after the last whole
    /// block where direct writes are under way at a time ([`WorkloadObject::depth_fault`]).
    ///
    /// [`WorkloadObject::depth_fault`]: filermark_model::WorkloadObject::depth_fault
    fn whole_blocks(&self, size: u64) -> u64 {
        let a = &self.setup.workload.attributes;
        let block = u64::from(Attributes::DIRECT_BLOCK_BYTES);
        match a.depth > 1 && a.direct_pcnt > 0.0 && size >= block {
            true => size - size % block,
            false => size,
        }
    }

    fn in_sequence(
        &mut self,
        rng: &mut Rng,
        op: PosixOp,
        bucket: Bucket,
        number: u64,
        size: u64,
    ) -> (u64, u32) {
        let length = self.draw_length(rng, op);
        let lane = usize::from(bucket.number() / 2) * 2 + usize::from(op == PosixOp::Write);
        let key = number as usize * 4 + lane;
        self.state.advance(key, size, length)
    }

    fn at_random(&self, rng: &mut Rng, op: PosixOp, now: Nanos, size: u64) -> (u64, u32) {
        let length = self.draw_length(rng, op);
        let workload = &self.setup.workload;
        let align = u64::from(workload.attributes.random_align_bytes.max(1));
        let spot = workload.attributes.hot_spot.map(|s| (s, now));
        range(rng, size, length, align, spot)
    }

    fn draw_length(&self, rng: &mut Rng, op: PosixOp) -> u32 {
        let workload = &self.setup.workload;
        let reads = matches!(op, PosixOp::Read | PosixOp::ReadRandom | PosixOp::MmapRead);
        match reads {
            true => workload.read_length(op.op(), rng),
            false => workload.write_transfers.draw(rng),
        }
    }

    fn read_io(&self, rng: &mut Rng) -> Io {
        Io {
            direct: share(rng, self.setup.workload.attributes.direct_pcnt),
            ..Io::default()
        }
    }

    fn write_io(&self, rng: &mut Rng) -> Io {
        let a = &self.setup.workload.attributes;
        Io {
            direct: share(rng, a.direct_pcnt),
            sync: share(rng, a.osync_pcnt),
            commit: share(rng, a.write_commit_pcnt),
        }
    }

    fn make_name(&mut self, rng: &mut Rng, pool: TreePool) -> ChosenAction {
        let free = self.state.pool(pool).and_then(|names| names.take_free());
        let Some(slot) = free else {
            // Full: remove one first, unmeasured.
            return match self.removal(rng, pool) {
                Some((action, effect)) => ChosenAction::Prepare(Action::File(action), effect),
                None => ChosenAction::Impossible,
            };
        };
        let number = self.state.number(slot);
        let action = match pool {
            TreePool::Dirs => FileAction::Mkdir {
                file: self.named(pool.bucket(), number, FileKind::MadeDir),
            },
            TreePool::Files => FileAction::Create {
                file: self.file(pool.bucket(), number),
            },
            TreePool::Full => FileAction::Fill {
                file: self.file(pool.bucket(), number),
                content: self.content(pool.bucket(), number),
                size: self.unlink2_bytes(),
                reuse: false,
            },
        };
        held(action, TreePendingEffect::Make(pool, slot))
    }

    fn remove_name(&mut self, rng: &mut Rng, pool: TreePool) -> ChosenAction {
        if let Some((action, effect)) = self.removal(rng, pool) {
            return ChosenAction::Measured(Action::File(action), effect);
        }
        match self.make_name(rng, pool) {
            ChosenAction::Measured(action, effect) => ChosenAction::Prepare(action, effect),
            prepare @ (ChosenAction::Prepare(..) | ChosenAction::Impossible) => prepare,
        }
    }

    fn removal(&mut self, rng: &mut Rng, pool: TreePool) -> Option<(FileAction, PendingEffect)> {
        let slot = self.state.pool(pool)?.take_live(rng)?;
        let number = self.state.number(slot);
        let action = match pool {
            TreePool::Dirs => FileAction::Rmdir {
                file: self.named(pool.bucket(), number, FileKind::MadeDir),
            },
            TreePool::Files | TreePool::Full => FileAction::Unlink {
                file: self.file(pool.bucket(), number),
            },
        };
        Some((
            action,
            PendingEffect::Tree(TreePendingEffect::Remove(pool, slot)),
        ))
    }

    fn rename(&mut self, rng: &mut Rng) -> ChosenAction {
        let (count, index) = (u64::from(self.sharing.count), u64::from(self.sharing.index));
        let n = self.sizes.count();
        if index >= n {
            return ChosenAction::Impossible;
        }
        // Of a shared tree every proc renames its own share of the files.
        let mine = (n - index).div_ceil(count);
        let number = rng.below(mine) * count + index;
        let from = self.existing(Bucket::RENAME, number);
        let kind = match from.kind == FileKind::Renamed {
            true => FileKind::File,
            false => FileKind::Renamed,
        };
        let to = FileRef { kind, ..from };
        self.count_access(Bucket::RENAME, number);
        held(
            FileAction::Rename { from, to },
            TreePendingEffect::Rename(number as u32),
        )
    }

    /// Files of APPEND grow up to twice their size, then are cut back `[own]`: that is
    /// the space by which a run may grow (sources.md 3.7).
    fn append(&mut self, rng: &mut Rng) -> ChosenAction {
        let number = self.pick_file(rng);
        let file = self.file(Bucket::APPEND, number);
        let size = self.state.grown(number);
        let created = self.sizes.created(Bucket::APPEND, number);
        let length = self.setup.workload.write_transfers.draw(rng);
        let most = created.saturating_mul(2);
        if size >= most.max(1) {
            let action = Action::File(FileAction::Truncate {
                file,
                size: created,
            });
            let effect = PendingEffect::Tree(TreePendingEffect::Grow(number as u32, created));
            return ChosenAction::Prepare(action, effect);
        }
        let length = u64::from(length).min(most.max(1) - size) as u32;
        self.count_access(Bucket::APPEND, number);
        let action = FileAction::Write {
            file,
            content: self.content(Bucket::APPEND, number),
            offset: size,
            length,
            io: self.write_io(rng),
        };
        let grown = size + u64::from(length);
        held(action, TreePendingEffect::Grow(number as u32, grown))
    }

    /// Copies a file of the bucket over the next one.
    fn copy(&mut self, rng: &mut Rng) -> ChosenAction {
        let n = self.sizes.count();
        let from_number = self.pick_file(rng);
        let from = self.file(Bucket::COPYFILE, from_number);
        let size = self.state.copied(from_number);
        let seed = rng.next_u64();
        self.count_access(Bucket::COPYFILE, from_number);
        if n == 1 {
            let to = self.named(Bucket::COPYFILE, 0, FileKind::Copy);
            return plain(FileAction::Copy {
                from,
                to,
                size,
                seed,
            });
        }
        let to_number = (from_number + 1 + rng.below(n - 1)) % n;
        let to = self.file(Bucket::COPYFILE, to_number);
        let effect = TreePendingEffect::Copy(from_number as u32, to_number as u32);
        held(
            FileAction::Copy {
                from,
                to,
                size,
                seed,
            },
            effect,
        )
    }

    fn count_access(&mut self, bucket: Bucket, number: u64) {
        let at = bucket.index() * self.sizes.count() as usize + number as usize;
        if let Some(count) = self.accesses.get_mut(at) {
            *count = count.saturating_add(1);
        }
    }
}

/// A share of 0 or 100 percent takes no draw.
fn share(rng: &mut Rng, percent: f64) -> bool {
    match percent {
        p if p <= 0.0 => false,
        p if p >= 100.0 => true,
        p => rng.percent(p),
    }
}

/// A place for `length` bytes in a file of `size`, at a multiple of `align`; with a
/// hot spot, most often within it.
fn range(
    rng: &mut Rng,
    size: u64,
    length: u32,
    align: u64,
    spot: Option<(HotSpot, Nanos)>,
) -> (u64, u32) {
    let length = u64::from(length).min(size);
    let places = (size - length) / align + 1;
    let place = match spot {
        Some((spot, now)) if rng.percent(spot.access_pcnt) => {
            let width = ((places as f64 * spot.area_pcnt / 100.0) as u64).clamp(1, places);
            let epoch = (now.0 as f64 / (spot.move_every_s * 1e9)) as u64;
            let start = hash3(epoch, size, width) % places;
            (start + rng.below(width)) % places
        }
        _ => rng.below(places),
    };
    (place * align, length as u32)
}

fn plain(action: FileAction) -> ChosenAction {
    ChosenAction::Measured(Action::File(action), PendingEffect::None)
}

fn held(action: FileAction, effect: TreePendingEffect) -> ChosenAction {
    ChosenAction::Measured(Action::File(action), PendingEffect::Tree(effect))
}
