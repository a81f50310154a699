//! What servers have answered UNSTABLE and no COMMIT has shown stable yet: per proc a
//! bounded table of files, per file a list of ranges.
//!
//! A range knows the generation of its data and the verifier of its reply, so that what a
//! server has lost can be told and made anew. All ranges of a shard stand in one block of
//! memory; nothing is allocated once that and the tables have grown.

use super::ops::Reach;
use filermark_engine::driver::ObjectId;
use filermark_model::Nanos;
use filermark_model::benchmark::{CommitPolicy, Deferral};
use filermark_onc::nfs3::Verf;

/// No range, no operation.
const NIL: u32 = u32::MAX;

/// A range that was answered UNSTABLE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) reach: Reach,
    /// What its data was made with.
    pub(crate) generation: u64,
    /// The verifier of the reply.
    pub(crate) verf: Verf,
}

/// Some ranges, in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    first: u32,
    last: u32,
}

impl List {
    pub(crate) const EMPTY: Self = Self {
        first: NIL,
        last: NIL,
    };

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.first == NIL
    }
}

/// The ranges of a shard.
#[derive(Debug)]
pub(crate) struct Ranges {
    slots: Vec<(Held, u32)>,
    free: u32,
}

impl Ranges {
    fn with_room(count: usize) -> Self {
        Self {
            slots: Vec::with_capacity(count),
            free: NIL,
        }
    }

    pub(crate) fn push(&mut self, list: &mut List, held: Held) {
        let at = match self.free {
            NIL => {
                self.slots.push((held, NIL));
                self.slots.len() as u32 - 1
            }
            at => {
                self.free = self.slots[at as usize].1;
                self.slots[at as usize] = (held, NIL);
                at
            }
        };
        match list.last {
            NIL => list.first = at,
            last => self.slots[last as usize].1 = at,
        }
        list.last = at;
    }

    /// Takes the first one off a list.
    pub(crate) fn pop(&mut self, list: &mut List) -> Option<Held> {
        let at = list.first;
        let (held, next) = *self.slots.get(at as usize)?;
        list.first = next;
        if next == NIL {
            list.last = NIL;
        }
        self.slots[at as usize].1 = self.free;
        self.free = at;
        Some(held)
    }

    /// Empties a list; gives how many there were.
    pub(crate) fn clear(&mut self, list: &mut List) -> u64 {
        let mut count = 0;
        while self.pop(list).is_some() {
            count += 1;
        }
        count
    }

    pub(crate) fn iter(&self, list: List) -> impl Iterator<Item = &Held> {
        let mut at = list.first;
        std::iter::from_fn(move || {
            let (held, next) = self.slots.get(at as usize)?;
            at = *next;
            Some(held)
        })
    }

    /// Takes what `reach` covers out of the ranges that are older than generation `before`.
    pub(crate) fn cut(&mut self, list: &mut List, reach: Reach, before: u64) {
        let is_cut = |held: &Held| held.generation < before && held.reach.meets(reach);
        if !self.iter(*list).any(is_cut) {
            return;
        }
        let mut kept = List::EMPTY;
        while let Some(held) = self.pop(list) {
            if !is_cut(&held) {
                self.push(&mut kept, held);
                continue;
            }
            for part in [
                Reach {
                    to: reach.from,
                    ..held.reach
                },
                Reach {
                    from: reach.to,
                    ..held.reach
                },
            ] {
                if part.from < part.to {
                    self.push(
                        &mut kept,
                        Held {
                            reach: part,
                            ..held
                        },
                    );
                }
            }
        }
        *list = kept;
    }

    /// A COMMIT was answered with `verf`: what was written under it is stable and leaves
    /// `sent`, all else is lost and goes over to `lost`. Gives how many that are, and the
    /// oldest generation among them.
    pub(crate) fn settle(&mut self, sent: &mut List, lost: &mut List, verf: Verf) -> (u64, u64) {
        let (mut count, mut oldest) = (0, u64::MAX);
        while let Some(held) = self.pop(sent) {
            if held.verf != verf {
                count += 1;
                oldest = oldest.min(held.generation);
                self.push(lost, held);
            }
        }
        (count, oldest)
    }

    /// Ranges in use.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        let mut free = 0;
        let mut at = self.free;
        while let Some((_, next)) = self.slots.get(at as usize) {
            (at, free) = (*next, free + 1);
        }
        self.slots.len() - free
    }
}

/// A file with such ranges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldFile {
    pub(crate) object: ObjectId,
    /// Its number, for its contents.
    pub(crate) file: u64,
    /// What no COMMIT under way covers.
    pub(crate) ranges: List,
    /// The logical writes and bytes in it.
    writes: u32,
    bytes: u64,
    /// The verifier of the latest range.
    verf: Verf,
    /// The operation that commits it.
    committer: u32,
    /// When it was written last, as a count of writes.
    last: u64,
}

impl HeldFile {
    pub(crate) fn committer(&self) -> Option<u32> {
        (self.committer != NIL).then_some(self.committer)
    }
}

/// What a proc has.
#[derive(Debug, Default)]
struct HeldOfProc {
    files: Vec<HeldFile>,
    /// Until here lost data was missing from the server: what was read before may show it.
    lost_until: Nanos,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Gather {
    pub(crate) ranges: Ranges,
    procs: Vec<HeldOfProc>,
    /// Writes that gathered so far.
    count: u64,
}

impl Gather {
    /// Tables for so many procs, with room as far as the policy needs any.
    pub(crate) fn new(policy: CommitPolicy, proc_count: usize) -> Self {
        let files = match policy {
            CommitPolicy::Deferred(d) if d.writes > 1 => d.files as usize + 1,
            _ => 0,
        };
        let of_proc = || HeldOfProc {
            files: Vec::with_capacity(files),
            lost_until: Nanos::ZERO,
        };
        Self {
            ranges: Ranges::with_room(files.saturating_mul(proc_count)),
            procs: (0..proc_count).map(|_| of_proc()).collect(),
            count: 0,
        }
    }

    /// Takes in a logical write; gives the file that is to be committed now.
    pub(crate) fn add(
        &mut self,
        proc: u32,
        (object, file): (ObjectId, u64),
        held: Held,
        limits: Deferral,
    ) -> Option<ObjectId> {
        self.count += 1;
        let files = &mut self.procs.get_mut(proc as usize)?.files;
        let at = match files.iter().position(|f| f.object == object) {
            Some(at) => at,
            None => {
                files.push(HeldFile {
                    object,
                    file,
                    ranges: List::EMPTY,
                    writes: 0,
                    bytes: 0,
                    verf: held.verf,
                    committer: NIL,
                    last: 0,
                });
                files.len() - 1
            }
        };
        let entry = &mut files[at];
        // Another verifier: the server has lost what is here.
        let is_due = entry.verf != held.verf;
        entry.writes += 1;
        entry.bytes += held.reach.to - held.reach.from;
        entry.verf = held.verf;
        entry.last = self.count;
        self.ranges.push(&mut entry.ranges, held);
        let is_full = entry.writes >= limits.writes || entry.bytes >= limits.bytes();
        if (is_due || is_full) && entry.committer == NIL {
            return Some(object);
        }
        if files.len() <= limits.files as usize {
            return None;
        }
        let idle = files.iter().filter(|f| f.committer == NIL);
        idle.min_by_key(|f| f.last).map(|f| f.object)
    }

    pub(crate) fn find(&mut self, proc: u32, object: ObjectId) -> Option<&mut HeldFile> {
        let files = &mut self.procs.get_mut(proc as usize)?.files;
        files.iter_mut().find(|f| f.object == object)
    }

    /// `op` commits a file that nobody commits yet: gives its number and its ranges.
    pub(crate) fn take(&mut self, proc: u32, object: ObjectId, op: u32) -> Option<(u64, List)> {
        let entry = self.find(proc, object)?;
        if entry.committer != NIL || entry.ranges.is_empty() {
            return None;
        }
        entry.committer = op;
        (entry.writes, entry.bytes) = (0, 0);
        let ranges = std::mem::replace(&mut entry.ranges, List::EMPTY);
        Some((entry.file, ranges))
    }

    /// The operation that committed a file has ended.
    pub(crate) fn give_back(&mut self, proc: u32, object: ObjectId) {
        let Some(files) = self.procs.get_mut(proc as usize).map(|p| &mut p.files) else {
            return;
        };
        if let Some(file) = files.iter_mut().find(|f| f.object == object) {
            file.committer = NIL;
        }
        self.drop_empty(proc, object);
    }

    /// Takes a file out of the table if nothing of it is held any more.
    pub(crate) fn drop_empty(&mut self, proc: u32, object: ObjectId) {
        let Some(files) = self.procs.get_mut(proc as usize).map(|p| &mut p.files) else {
            return;
        };
        let is_it = |f: &HeldFile| f.object == object && f.ranges.is_empty();
        if let Some(at) = files.iter().position(is_it)
            && files[at].committer == NIL
        {
            files.swap_remove(at);
        }
    }

    /// What has been held of a file under one object is now held under another one.
    pub(crate) fn rename(&mut self, proc: u32, from: ObjectId, to: ObjectId) {
        if let Some(entry) = self.find(proc, from) {
            entry.object = to;
        }
    }

    /// Some file of a proc with ranges that nobody commits.
    pub(crate) fn idle(&self, proc: u32) -> Option<ObjectId> {
        let files = self.procs.get(proc as usize)?.files.iter();
        let mut idle = files.filter(|f| f.committer == NIL);
        idle.next().map(|f| f.object)
    }

    /// The objects from `from` on of which something is held.
    pub(crate) fn any_from(&self, proc: u32, from: ObjectId) -> Option<ObjectId> {
        let files = self.procs.get(proc as usize)?.files.iter();
        let mut found = files.filter(|f| f.object >= from);
        found.next().map(|f| f.object)
    }

    /// Takes a file out of the table, whoever commits it.
    pub(crate) fn remove(&mut self, proc: u32, object: ObjectId) -> Option<HeldFile> {
        let files = &mut self.procs.get_mut(proc as usize)?.files;
        let at = files.iter().position(|f| f.object == object)?;
        Some(files.swap_remove(at))
    }

    /// Whether nothing of any proc is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.procs.iter().all(|p| p.files.is_empty())
    }

    /// Lost data of a proc was missing from the server until now.
    pub(crate) fn note_lost_until(&mut self, proc: u32, now: Nanos) {
        if let Some(proc) = self.procs.get_mut(proc as usize) {
            proc.lost_until = now;
        }
    }

    pub(crate) fn lost_until(&self, proc: u32) -> Nanos {
        self.procs
            .get(proc as usize)
            .map_or(Nanos::ZERO, |p| p.lost_until)
    }

    /// Files of a proc in the table.
    #[cfg(test)]
    pub(crate) fn file_count(&self, proc: u32) -> usize {
        self.procs[proc as usize].files.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(from: u64, to: u64, generation: u64, verf: u8) -> Held {
        Held {
            reach: Reach { from, to },
            generation,
            verf: [verf; 8],
        }
    }

    fn reaches(ranges: &Ranges, list: List) -> Vec<(u64, u64, u64)> {
        let all = ranges.iter(list);
        all.map(|h| (h.reach.from, h.reach.to, h.generation))
            .collect()
    }

    #[test]
    fn a_later_write_takes_its_place_out_of_earlier_ones() {
        let mut ranges = Ranges::with_room(0);
        let mut list = List::EMPTY;
        for one in [
            held(0, 10, 1, 1),
            held(20, 30, 2, 1),
            held(5, 25, 9, 1),
            held(40, 50, 3, 1),
        ] {
            ranges.push(&mut list, one);
        }
        ranges.cut(&mut list, Reach { from: 4, to: 22 }, 5);
        let left = [(0, 4, 1), (22, 30, 2), (5, 25, 9), (40, 50, 3)];
        assert_eq!(reaches(&ranges, list), left);
        ranges.cut(&mut list, Reach { from: 44, to: 46 }, 5);
        let left = [(0, 4, 1), (22, 30, 2), (5, 25, 9), (40, 44, 3), (46, 50, 3)];
        assert_eq!(reaches(&ranges, list), left);
        ranges.cut(&mut list, Reach { from: 0, to: 99 }, u64::MAX);
        assert!(list.is_empty() && ranges.used() == 0);
    }

    #[test]
    fn a_commit_parts_the_stable_from_the_lost() {
        let mut ranges = Ranges::with_room(0);
        let (mut sent, mut lost) = (List::EMPTY, List::EMPTY);
        for (n, verf) in [(7, 1), (4, 1), (5, 2)] {
            ranges.push(&mut sent, held(n, n + 1, n, verf));
        }
        assert_eq!(ranges.settle(&mut sent, &mut lost, [2; 8]), (2, 4));
        assert!(sent.is_empty());
        assert_eq!(reaches(&ranges, lost), [(7, 8, 7), (4, 5, 4)]);
        assert_eq!(ranges.clear(&mut lost), 2);
        assert_eq!(ranges.used(), 0);
    }

    #[test]
    fn a_file_is_due_after_its_writes_its_bytes_or_when_the_table_is_full() {
        let limits = Deferral {
            writes: 3,
            mib: 1,
            files: 2,
        };
        let mut gather = Gather::new(CommitPolicy::Deferred(limits), 1);
        let mut add = |object: u32, to: u64, verf: u8| {
            let held = held(0, to, 1, verf);
            let due = gather.add(0, (ObjectId(object), 7), held, limits);
            if let Some(due) = due {
                let (_, mut ranges) = gather.take(0, due, 5).expect("nobody has it");
                assert!(gather.take(0, due, 6).is_none());
                gather.ranges.clear(&mut ranges);
                gather.give_back(0, due);
            }
            due.map(|object| object.0)
        };
        assert_eq!(
            [add(1, 9, 1), add(1, 9, 1), add(1, 9, 1)].map(|d| d),
            [None, None, Some(1)]
        );
        assert_eq!(add(2, 1 << 20, 1), Some(2), "a megabyte");
        assert_eq!(
            (add(3, 9, 1), add(4, 9, 1), add(3, 9, 1)),
            (None, None, None)
        );
        assert_eq!(add(5, 9, 1), Some(4), "its last write is the longest ago");
        assert_eq!(add(5, 9, 2), Some(5), "another verifier");
        assert_eq!(add(3, 9, 1), Some(3));
        assert!(gather.is_empty() && gather.ranges.used() == 0);
    }
}
