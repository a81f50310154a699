//! LOCK: who has a range, and what the others may do with it.

use super::rules::LOCK;
use crate::validate::bench::{Bench, Judge};
use crate::validate::session::{Open, Session};
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern};
use filermark_smbwire::smb2::{FileId, LockKind, LockRange};
use filermark_smbwire::status;

checks! { CHECKS: Check =>
    "lock.conflict", "LOCK", "a lock of a locked range answers LOCK_NOT_GRANTED" => conflict, by LOCK;
    "lock.data", "LOCK", "reads and writes by others answer FILE_LOCK_CONFLICT" => data, by LOCK;
    "lock.shared", "LOCK", "shared locks coexist and prevent writes" => shared, by LOCK;
    "lock.unlock", "LOCK", "an unlocked range can be locked again" => unlock, by LOCK;
    "lock.close", "LOCK", "a close releases its locks" => close, by LOCK;
    "lock.not_locked", "LOCK", "an unlock of a range that is not locked answers RANGE_NOT_LOCKED" => not_locked, by LOCK;
    "lock.all_or_none", "LOCK", "a request for several ranges locks all or none" => all_or_none, by LOCK;
    "lock.beyond_4gib", "LOCK", "ranges have 64 bits" => beyond, by LOCK;
    "lock.past_the_end", "LOCK", "a range that wraps answers INVALID_LOCK_RANGE" => wraps, by LOCK;
}

/// SMB1 servers say it the one way or the other (MS-CIFS 2.2.4.32.2, note).
pub(super) const HELD: [u32; 2] = [status::LOCK_NOT_GRANTED, status::FILE_LOCK_CONFLICT];

pub(super) fn range(offset: u64, length: u64, kind: LockKind) -> LockRange {
    LockRange {
        offset,
        length,
        kind,
        fail_immediately: kind != LockKind::Unlock,
    }
}

pub(super) fn exclusive(offset: u64, length: u64) -> [LockRange; 1] {
    [range(offset, length, LockKind::Exclusive)]
}

pub(super) fn free(offset: u64, length: u64) -> [LockRange; 1] {
    [range(offset, length, LockKind::Unlock)]
}

/// A file of 1000 bytes, open in both sessions.
pub(super) fn two(b: &mut Bench<'_>) -> Result<(FileId, FileId), Stop> {
    let ours = b.make("file", &pattern(1000, 1))?;
    let path = b.path("file");
    let theirs = b
        .other()?
        .open(&Open::file(&path))
        .done("OPEN by another session")?;
    Ok((ours, theirs.file))
}

fn is_held(
    other: &mut Session,
    file: FileId,
    ranges: &[LockRange],
    what: &str,
) -> Result<(), Stop> {
    let wanted = match other.smb1().is_some() {
        true => &HELD[..],
        false => &HELD[..1],
    };
    other.lock(file, ranges).refused(what, wanted).map(drop)
}

fn conflict(b: &mut Bench<'_>) -> Result<(), Stop> {
    let (ours, theirs) = two(b)?;
    let (smb, other) = b.pair()?;
    smb.lock(ours, &exclusive(100, 100)).done("LOCK")?;
    is_held(
        other,
        theirs,
        &exclusive(100, 100),
        "LOCK of a locked range",
    )?;
    is_held(
        other,
        theirs,
        &exclusive(199, 50),
        "LOCK of a range that overlaps",
    )?;
    let shared = [range(150, 1, LockKind::Shared)];
    is_held(other, theirs, &shared, "shared LOCK of a locked range")?;
    other
        .lock(theirs, &exclusive(200, 100))
        .done("LOCK of the adjacent range")?;
    other
        .lock(theirs, &exclusive(0, 100))
        .done("LOCK of the range before")
}

fn data(b: &mut Bench<'_>) -> Result<(), Stop> {
    let (ours, theirs) = two(b)?;
    let wanted = [status::FILE_LOCK_CONFLICT];
    let (smb, other) = b.pair()?;
    smb.lock(ours, &exclusive(100, 100)).done("LOCK")?;
    other
        .read(theirs, 150, 10)
        .refused("READ of a locked range", &wanted)?;
    other
        .read(theirs, 0, 1000)
        .refused("READ across a locked range", &wanted)?;
    other
        .write(theirs, 199, b"xx")
        .refused("WRITE to a locked range", &wanted)?;
    other.read(theirs, 0, 100).done("READ before it")?;
    other.write(theirs, 200, b"free").done("WRITE behind it")?;
    smb.read(ours, 100, 100).done("READ by who has locked it")?;
    smb.write(ours, 100, b"mine")
        .done("WRITE by who has locked it")?;
    smb.lock(ours, &free(100, 100)).done("LOCK to unlock")?;
    other
        .write(theirs, 150, b"now")
        .done("WRITE once it is unlocked")
        .map(drop)
}

fn shared(b: &mut Bench<'_>) -> Result<(), Stop> {
    let (ours, theirs) = two(b)?;
    let shared = [range(100, 100, LockKind::Shared)];
    let wanted = [status::FILE_LOCK_CONFLICT];
    let (smb, other) = b.pair()?;
    smb.lock(ours, &shared).done("shared LOCK")?;
    other.lock(theirs, &shared).done("the second shared LOCK")?;
    other
        .read(theirs, 100, 100)
        .done("READ of a range with shared locks")?;
    other
        .write(theirs, 100, b"x")
        .refused("WRITE to a range with shared locks", &wanted)?;
    smb.lock(ours, &free(100, 100)).done("LOCK to unlock")?;
    is_held(
        smb,
        ours,
        &exclusive(100, 100),
        "LOCK of what another has a shared lock on",
    )?;
    other.lock(theirs, &free(100, 100)).done("LOCK to unlock")?;
    smb.lock(ours, &exclusive(100, 100))
        .done("LOCK once all shared ones are gone")
}

fn unlock(b: &mut Bench<'_>) -> Result<(), Stop> {
    let (ours, theirs) = two(b)?;
    let (smb, other) = b.pair()?;
    smb.lock(ours, &exclusive(0, 1000)).done("LOCK")?;
    smb.lock(ours, &free(0, 1000)).done("LOCK to unlock")?;
    other
        .lock(theirs, &exclusive(0, 1000))
        .done("LOCK of what is free again")
}

fn close(b: &mut Bench<'_>) -> Result<(), Stop> {
    let (ours, theirs) = two(b)?;
    let (smb, other) = b.pair()?;
    smb.lock(ours, &exclusive(0, 10)).done("LOCK")?;
    smb.close(ours).done("CLOSE")?;
    other
        .lock(theirs, &exclusive(0, 10))
        .done("LOCK once the owner has closed")
}

fn not_locked(b: &mut Bench<'_>) -> Result<(), Stop> {
    let (ours, theirs) = two(b)?;
    let wanted = [status::RANGE_NOT_LOCKED];
    let (smb, other) = b.pair()?;
    smb.lock(ours, &free(0, 10))
        .refused("LOCK to unlock what is free", &wanted)?;
    smb.lock(ours, &exclusive(0, 10)).done("LOCK")?;
    smb.lock(ours, &free(0, 5))
        .refused("LOCK to unlock half of a range", &wanted)?;
    other
        .lock(theirs, &free(0, 10))
        .refused("LOCK to unlock another's range", &wanted)?;
    smb.lock(ours, &free(0, 10)).done("LOCK to unlock")
}

fn all_or_none(b: &mut Bench<'_>) -> Result<(), Stop> {
    let (ours, theirs) = two(b)?;
    let (smb, other) = b.pair()?;
    smb.lock(ours, &exclusive(500, 10)).done("LOCK")?;
    let three = [0, 500, 800].map(|at| range(at, 10, LockKind::Exclusive));
    is_held(
        other,
        theirs,
        &three,
        "LOCK of three ranges, one of them locked",
    )?;
    smb.lock(ours, &exclusive(0, 10))
        .done("LOCK of the first of the three")?;
    smb.lock(ours, &exclusive(800, 10))
        .done("LOCK of the last of the three")?;
    let all = [0, 500, 800].map(|at| range(at, 10, LockKind::Unlock));
    smb.lock(ours, &all).done("LOCK to unlock three ranges")?;
    other.lock(theirs, &three).done("LOCK of three free ranges")
}

fn beyond(b: &mut Bench<'_>) -> Result<(), Stop> {
    const FAR: u64 = (1 << 32) + 100;
    let (ours, theirs) = two(b)?;
    let (smb, other) = b.pair()?;
    smb.lock(ours, &exclusive(FAR, 100))
        .done("LOCK beyond 4 GiB")?;
    is_held(
        other,
        theirs,
        &exclusive(FAR + 50, 10),
        "LOCK of a range beyond 4 GiB",
    )?;
    // What was cut to 32 bits would be here.
    other
        .lock(theirs, &exclusive(100, 100))
        .done("LOCK 4 GiB below")
}

fn wraps(b: &mut Bench<'_>) -> Result<(), Stop> {
    let ours = b.make("file", &[])?;
    let wanted = [status::INVALID_LOCK_RANGE];
    let locked = b.smb.lock(ours, &exclusive(u64::MAX - 1, 10));
    locked
        .refused("LOCK of a range across the end of all numbers", &wanted)
        .map(drop)
}
