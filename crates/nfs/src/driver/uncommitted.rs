//! Data that was answered UNSTABLE and that no COMMIT has confirmed yet ("held data"): per
//! proc a table of files, per file a list of [ranges](super::ranges).

use super::ranges::{ByteSpan, NIL, RangeList, Ranges, UncommittedRange};
use filermark_engine::driver::ObjectId;
use filermark_model::Nanos;
use filermark_model::benchmark::{CommitPolicy, Deferral};
use filermark_onc::nfs3::Verf;
use std::collections::VecDeque;

/// A file with held ranges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UncommittedFile {
    pub(crate) object: ObjectId,
    /// Its number, for its contents.
    pub(crate) file: u64,
    /// Ranges that no COMMIT under way covers.
    pub(crate) ranges: RangeList,
    /// The logical writes and bytes in `ranges`.
    writes: u32,
    bytes: u64,
    /// The verifier of the latest range.
    verf: Verf,
    /// The operation that commits it.
    committer: u32,
    /// The number of its last write, in the order of all writes of the shard.
    last: u64,
}

impl UncommittedFile {
    pub(crate) fn committer(&self) -> Option<u32> {
        (self.committer != NIL).then_some(self.committer)
    }
}

/// A range that the server had lost and that was sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResentRange {
    /// The number of its file.
    pub(crate) file: u64,
    pub(crate) span: ByteSpan,
    pub(crate) generation: u64,
    /// The time of the reply to that.
    pub(crate) until: Nanos,
}

/// The held data of a proc.
#[derive(Debug, Default)]
struct UncommittedOfProc {
    files: Vec<UncommittedFile>,
    /// The latest restored ranges, in the order of time. Empty as long as nothing is lost.
    restored: VecDeque<ResentRange>,
    /// Ranges that are not in `restored` any more were sent again up to this time.
    restored_before: Nanos,
    /// Files with ranges that were dropped without a COMMIT, until they are forgotten: their
    /// objects and numbers. Empty as long as no COMMIT fails.
    dropped: Vec<(ObjectId, u64)>,
    /// `dropped` is full and incomplete.
    has_more_dropped: bool,
}

/// Most restored ranges of a proc that are kept.
const RESTORED_MAX: usize = 1_024;
/// Most ranges of a shard whose memory is allocated in advance (48 MB).
const RANGES_MAX: usize = 1 << 20;
/// Most files of a proc with dropped ranges that are kept.
const DROPPED_MAX: usize = 4_096;
/// How far beyond its limits a table may grow while COMMITs fail.
const FAILED_FACTOR: usize = 2;

/// The held data of a shard.
#[derive(Debug)]
pub(crate) struct UncommittedWrites {
    pub(crate) ranges: Ranges,
    procs: Vec<UncommittedOfProc>,
    limits: Deferral,
    /// Writes added so far.
    count: u64,
}

impl UncommittedWrites {
    /// Tables for so many procs, with the capacity that the policy needs.
    pub(crate) fn new(policy: CommitPolicy, proc_count: usize) -> Self {
        let limits = match policy {
            CommitPolicy::Deferred(limits) => limits,
            CommitPolicy::PerWrite | CommitPolicy::FileSync => Deferral::AT_ONCE,
        };
        let files = match limits.writes {
            ..=1 => 0,
            _ => limits.files as usize + 1,
        };
        let of_proc = || UncommittedOfProc {
            files: Vec::with_capacity(files),
            ..UncommittedOfProc::default()
        };
        let ranges = files.saturating_mul(limits.writes as usize);
        Self {
            ranges: Ranges::with_capacity(ranges.saturating_mul(proc_count).min(RANGES_MAX)),
            procs: (0..proc_count).map(|_| of_proc()).collect(),
            limits,
            count: 0,
        }
    }

    /// Adds a logical write; returns the file that is due for a COMMIT.
    pub(crate) fn add(
        &mut self,
        proc: u32,
        (object, file): (ObjectId, u64),
        held: UncommittedRange,
    ) -> Option<ObjectId> {
        let limits = self.limits;
        self.count += 1;
        let files = &mut self.procs.get_mut(proc as usize)?.files;
        let at = match files.iter().position(|f| f.object == object) {
            Some(at) => at,
            None => {
                files.push(UncommittedFile {
                    object,
                    file,
                    ranges: RangeList::EMPTY,
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
        // A different verifier: the server has lost the ranges of this file.
        let is_due = entry.verf != held.verf;
        entry.writes += 1;
        entry.bytes += held.span.to - held.span.from;
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

    pub(crate) fn find(&mut self, proc: u32, object: ObjectId) -> Option<&mut UncommittedFile> {
        let files = &mut self.procs.get_mut(proc as usize)?.files;
        files.iter_mut().find(|f| f.object == object)
    }

    /// Makes `op` the committer of a file that has none; returns the file's number and ranges.
    pub(crate) fn take(
        &mut self,
        proc: u32,
        object: ObjectId,
        op: u32,
    ) -> Option<(u64, RangeList)> {
        let entry = self.find(proc, object)?;
        if entry.committer != NIL || entry.ranges.is_empty() {
            return None;
        }
        entry.committer = op;
        (entry.writes, entry.bytes) = (0, 0);
        let ranges = std::mem::replace(&mut entry.ranges, RangeList::EMPTY);
        Some((entry.file, ranges))
    }

    /// Ends the COMMIT of a file by `op`.
    pub(crate) fn end_commit(&mut self, proc: u32, (object, op): (ObjectId, u32)) {
        let Some(files) = self.procs.get_mut(proc as usize).map(|p| &mut p.files) else {
            return;
        };
        let is_it = |f: &&mut UncommittedFile| f.object == object && f.committer == op;
        if let Some(file) = files.iter_mut().find(is_it) {
            file.committer = NIL;
        }
        self.drop_empty(proc, object);
    }

    /// Removes a file from the table if nothing of it is held any more.
    pub(crate) fn drop_empty(&mut self, proc: u32, object: ObjectId) {
        let Some(files) = self.procs.get_mut(proc as usize).map(|p| &mut p.files) else {
            return;
        };
        let is_it = |f: &UncommittedFile| f.object == object && f.ranges.is_empty();
        if let Some(at) = files.iter().position(is_it)
            && files[at].committer == NIL
        {
            files.swap_remove(at);
        }
    }

    /// Moves the held data of one object to another one.
    pub(crate) fn rename(&mut self, proc: u32, from: ObjectId, to: ObjectId) {
        if let Some(entry) = self.find(proc, from) {
            entry.object = to;
        }
        if let Some(of_proc) = self.procs.get_mut(proc as usize) {
            let dropped = of_proc.dropped.iter_mut();
            dropped
                .filter(|(object, _)| *object == from)
                .for_each(|(object, _)| *object = to);
        }
    }

    /// A file of a proc that no operation commits.
    pub(crate) fn idle(&self, proc: u32) -> Option<ObjectId> {
        let files = self.procs.get(proc as usize)?.files.iter();
        let mut idle = files.filter(|f| f.committer == NIL);
        idle.next().map(|f| f.object)
    }

    /// An object from `from` on of which data is held.
    pub(crate) fn any_from(&self, proc: u32, from: ObjectId) -> Option<ObjectId> {
        let files = self.procs.get(proc as usize)?.files.iter();
        let mut found = files.filter(|f| f.object >= from);
        found.next().map(|f| f.object)
    }

    /// Removes a file from the table, even if an operation commits it.
    pub(crate) fn remove(&mut self, proc: u32, object: ObjectId) -> Option<UncommittedFile> {
        let files = &mut self.procs.get_mut(proc as usize)?.files;
        let at = files.iter().position(|f| f.object == object)?;
        Some(files.swap_remove(at))
    }

    /// Whether no data of any proc is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.procs.iter().all(|p| p.files.is_empty())
    }

    /// Notes that a lost range of a proc was written again.
    pub(crate) fn note_restored(&mut self, proc: u32, restored: ResentRange) {
        let Some(proc) = self.procs.get_mut(proc as usize) else {
            return;
        };
        if proc.restored.len() >= RESTORED_MAX
            && let Some(oldest) = proc.restored.pop_front()
        {
            proc.restored_before = oldest.until;
        }
        proc.restored.push_back(restored);
    }

    /// Whether data older than `generation` was written again in a range after `since`.
    pub(crate) fn was_restored(
        &self,
        proc: u32,
        (file, span): (u64, ByteSpan),
        since: Nanos,
        generation: u64,
    ) -> bool {
        let Some(proc) = self.procs.get(proc as usize) else {
            return false;
        };
        let latest = proc.restored.iter().rev();
        let mut later = latest.take_while(|r| r.until > since);
        proc.restored_before > since
            || later.any(|r| r.file == file && r.generation < generation && r.span.overlaps(span))
    }

    /// Holds the ranges of a failed COMMIT of a file again, in front of newer ones. Returns the
    /// number of writes that were dropped because the table was full.
    pub(crate) fn put_back(
        &mut self,
        proc: u32,
        (object, op): (ObjectId, u32),
        mut failed: RangeList,
    ) -> u64 {
        let (limits, count) = (self.limits, self.count);
        if failed.is_empty() {
            return 0;
        }
        let Some(of_proc) = self.procs.get_mut(proc as usize) else {
            return self.ranges.clear(&mut failed);
        };
        let is_full = of_proc.files.len() > FAILED_FACTOR * limits.files as usize;
        let is_it = |f: &&mut UncommittedFile| f.object == object && f.committer == op;
        let Some(entry) = of_proc.files.iter_mut().find(is_it) else {
            // The file was removed.
            self.ranges.clear(&mut failed);
            return 0;
        };
        let ranges = &mut self.ranges;
        ranges.append(&mut failed, &mut entry.ranges);
        let kept_max = match is_full {
            true => 0,
            false => FAILED_FACTOR * limits.writes as usize,
        };
        let mut surplus = RangeList::EMPTY;
        for _ in kept_max..ranges.iter(failed).count() {
            if let Some(held) = ranges.pop(&mut failed) {
                ranges.push(&mut surplus, held);
            }
        }
        entry.ranges = failed;
        // Other files are committed first.
        entry.last = count;
        let known = (object, entry.file);
        let is_new = !surplus.is_empty() && !of_proc.dropped.contains(&known);
        if is_new && of_proc.dropped.len() < DROPPED_MAX {
            of_proc.dropped.push(known);
        } else {
            of_proc.has_more_dropped |= is_new;
        }
        ranges.clear(&mut surplus)
    }

    /// Whether ranges of a file were dropped without a COMMIT.
    pub(crate) fn has_dropped(&self, proc: u32, file: u64) -> bool {
        let of_proc = self.procs.get(proc as usize);
        of_proc.is_some_and(|p| {
            p.has_more_dropped || p.dropped.iter().any(|(_, number)| *number == file)
        })
    }

    /// Removes objects from `dropped` that cannot be read any more or are other files now.
    pub(crate) fn forget_dropped(&mut self, proc: u32, is_gone: impl Fn(ObjectId) -> bool) {
        if let Some(of_proc) = self.procs.get_mut(proc as usize) {
            of_proc.dropped.retain(|(object, _)| !is_gone(*object));
            of_proc.has_more_dropped &= !of_proc.dropped.is_empty();
        }
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

    fn held(from: u64, to: u64, generation: u64, verf: u8) -> UncommittedRange {
        UncommittedRange {
            span: ByteSpan { from, to },
            generation,
            verf: [verf; 8],
        }
    }

    #[test]
    fn a_file_is_due_after_its_writes_its_bytes_or_when_the_table_is_full() {
        let limits = Deferral {
            writes: 3,
            mib: 1,
            files: 2,
        };
        let mut uncommitted = UncommittedWrites::new(CommitPolicy::Deferred(limits), 1);
        let mut add = |object: u32, to: u64, verf: u8| {
            let held = held(0, to, 1, verf);
            let due = uncommitted.add(0, (ObjectId(object), 7), held);
            if let Some(due) = due {
                let (_, mut ranges) = uncommitted.take(0, due, 5).expect("no committer");
                assert!(uncommitted.take(0, due, 6).is_none());
                uncommitted.ranges.clear(&mut ranges);
                uncommitted.end_commit(0, (due, 5));
            }
            due.map(|object| object.0)
        };
        assert_eq!(
            [add(1, 9, 1), add(1, 9, 1), add(1, 9, 1)].map(|d| d),
            [None, None, Some(1)]
        );
        assert_eq!(add(2, 1 << 20, 1), Some(2), "1 MiB");
        assert_eq!(
            (add(3, 9, 1), add(4, 9, 1), add(3, 9, 1)),
            (None, None, None)
        );
        assert_eq!(add(5, 9, 1), Some(4), "the earliest last write");
        assert_eq!(add(5, 9, 2), Some(5), "a different verifier");
        assert_eq!(add(3, 9, 1), Some(3));
        assert!(uncommitted.is_empty() && uncommitted.ranges.used() == 0);
    }

    #[test]
    fn restored_ranges_are_found_by_file_range_and_time() {
        let mut uncommitted = UncommittedWrites::new(CommitPolicy::PerWrite, 1);
        let at = |file, from| {
            (
                file,
                ByteSpan {
                    from,
                    to: from + 10,
                },
            )
        };
        let note = |uncommitted: &mut UncommittedWrites, file, until| {
            let restored = ResentRange {
                file,
                span: ByteSpan { from: 0, to: 100 },
                generation: 5,
                until: Nanos(until),
            };
            uncommitted.note_restored(0, restored);
        };
        note(&mut uncommitted, 1, 70);
        note(&mut uncommitted, 2, 80);
        let known = |uncommitted: &UncommittedWrites, at, since| {
            uncommitted.was_restored(0, at, Nanos(since), u64::MAX)
        };
        assert!(known(&uncommitted, at(1, 95), 69) && !known(&uncommitted, at(1, 95), 70));
        assert!(!known(&uncommitted, at(1, 100), 0) && !known(&uncommitted, at(3, 0), 0));
        assert!(
            !uncommitted.was_restored(0, at(1, 0), Nanos::ZERO, 5),
            "not older"
        );
        // More than are kept: then only the time decides.
        (0..RESTORED_MAX as u64).for_each(|n| note(&mut uncommitted, 4, 90 + n));
        assert!(known(&uncommitted, at(3, 0), 79) && !known(&uncommitted, at(3, 0), 80));
    }

    #[test]
    fn failed_commits_keep_a_bounded_number_of_writes() {
        let limits = Deferral {
            writes: 3,
            mib: 1,
            files: 1,
        };
        let mut uncommitted = UncommittedWrites::new(CommitPolicy::Deferred(limits), 1);
        let (mut dropped, object) = (0, ObjectId(1));
        for n in 0..30 {
            let due = uncommitted.add(0, (object, 7), held(n, n + 1, n, 1));
            let Some((_, list)) = due.and_then(|due| uncommitted.take(0, due, 5)) else {
                continue;
            };
            dropped += uncommitted.put_back(0, (object, 5), list);
            uncommitted.end_commit(0, (object, 5));
        }
        let ranges = uncommitted.find(0, object).expect("held").ranges;
        let kept: Vec<u64> = uncommitted
            .ranges
            .iter(ranges)
            .map(|h| h.generation)
            .collect();
        assert_eq!(kept, [24, 25, 26, 27, 28, 29], "the latest");
        assert!(dropped == 24 && uncommitted.has_dropped(0, 7) && !uncommitted.has_dropped(0, 8));
        // Files beyond the limit are not kept either.
        for n in 2..9 {
            let due = uncommitted.add(0, (ObjectId(n), 7), held(0, 1, 100, 1));
            if let Some((due, (_, list))) = due.and_then(|d| Some((d, uncommitted.take(0, d, 5)?)))
            {
                uncommitted.put_back(0, (due, 5), list);
                uncommitted.end_commit(0, (due, 5));
            }
        }
        assert!(
            uncommitted.file_count(0) <= 3,
            "{}",
            uncommitted.file_count(0)
        );
        // A renamed file stays dropped; a file that is created again does not.
        uncommitted.rename(0, object, ObjectId(20));
        uncommitted.forget_dropped(0, |of| of == object);
        assert!(uncommitted.has_dropped(0, 7));
        uncommitted.forget_dropped(0, |of| of >= ObjectId(2));
        assert!(!uncommitted.has_dropped(0, 7));
    }
}
