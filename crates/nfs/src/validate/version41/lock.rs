//! LOCK, LOCKT and LOCKU.

use super::client::{Client, OTHER, OWNER, Opened, Opening, owner};
use super::locking::{Granted, NotGranted, Range};
use super::ops::{Bench, Check, Outcome, Subject};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::*;

const LOCK: Subject = Subject::Op(Operation::Lock);
const LOCKT: Subject = Subject::Op(Operation::Lockt);
const LOCKU: Subject = Subject::Op(Operation::Locku);

checks! { CHECKS: Check =>
    "lock.granted", LOCK, "a free range is locked, and the seqid of its stateid grows" => granted;
    "lock.denied", LOCK, "a range of another owner answers NFS4ERR_DENIED with that lock and its owner" => denied;
    "lock.denied_client", LOCK, "the same for another client" => denied_client;
    "lock.shared", LOCK, "shared locks of two owners, and no exclusive one beside them" => shared;
    "lock.beside", LOCK, "ranges side by side do not conflict" => beside;
    "lock.to_the_end", LOCK, "a length of all ones reaches to the end of any file" => to_the_end;
    "lock.zero_length", LOCK, "a length of 0 answers NFS4ERR_INVAL" => zero_length;
    "lock.overflow", LOCK, "a range beyond 64 bits answers NFS4ERR_INVAL" => overflow;
    "lock.openmode", LOCK, "an exclusive lock of a file that is open for reading answers NFS4ERR_OPENMODE" => openmode;
    "lock.upgrade", LOCK, "an owner changes a shared lock to an exclusive one" => upgrade;
    "lockt.free", LOCKT, "a free range, and one of the same owner, can be locked" => test_free;
    "lockt.denied", LOCKT, "a range of another owner answers NFS4ERR_DENIED with that lock and its owner" => test_denied;
    "lockt.zero_length", LOCKT, "a length of 0 answers NFS4ERR_INVAL" => test_zero_length;
    "lockt.dir", LOCKT, "of a directory is refused" => test_dir;
    "locku.whole", LOCKU, "another owner can lock what was unlocked" => whole;
    "locku.part", LOCKU, "unlocks the middle of a range and leaves the rest" => part;
    "locku.zero_length", LOCKU, "a length of 0 answers NFS4ERR_INVAL" => unlock_zero_length;
    "close.locked", Subject::Op(Operation::Close), "of a file with locks answers NFS4ERR_LOCKS_HELD, or unlocks" => close_locked;
    "free_stateid.locked", Subject::Op(Operation::FreeStateid), "the stateid of locks answers NFS4ERR_LOCKS_HELD" => free_locked, from MinorVersion::V1;
}

pub(super) fn new_locker<'a>(opened: &Opened, name: &'a [u8]) -> Locker4<'a> {
    Locker4::New(OpenToLockOwner4 {
        open_seqid: 0,
        open_stateid: opened.stateid,
        lock_seqid: 0,
        lock_owner: owner(name),
    })
}

const fn known_locker(lock_stateid: Stateid4) -> Locker4<'static> {
    Locker4::Existing(ExistLockOwner4 {
        lock_stateid,
        lock_seqid: 0,
    })
}

/// LOCK by an owner without locks of the file, which must be granted.
fn locks(b: &mut Bench<'_>, opened: &Opened, range: Range, name: &[u8]) -> Result<Stateid4, Stop> {
    let locker = new_locker(opened, name);
    b.done_if_supported("LOCK", |client| client.lock(&opened.file, range, locker))
}

/// LOCK by an owner without locks of the file, which must be refused with this.
fn lock_refused(
    b: &mut Bench<'_>,
    what: &str,
    opened: &Opened,
    range: Range,
    wanted: Nfsstat4,
) -> Outcome {
    let locker = new_locker(opened, OTHER);
    refused_if_supported(b, what, wanted, |client| {
        client.lock(&opened.file, range, locker)
    })
}

/// A call that must be refused with this, unless the server has no locks.
fn refused_if_supported<T>(
    b: &mut Bench<'_>,
    what: &str,
    wanted: Nfsstat4,
    call: impl FnMut(&mut Client) -> Granted<T>,
) -> Outcome {
    match b.either(what, call)? {
        Err(status) if status == wanted => Ok(()),
        Err(status @ Nfsstat4::Notsupp) => Err(b.unsupported_or_wrong(what, status)),
        answer => {
            let got = answer.err().unwrap_or(Nfsstat4::Ok);
            Err(Stop::fail(format!("{what}: {wanted}"), got))
        }
    }
}

/// Another owner can lock a byte of the file, or not.
fn is_free(b: &mut Bench<'_>, opened: &Opened, offset: u64) -> Result<bool, Stop> {
    let range = Range::write(offset, 1);
    match b.either("LOCKT", |client| {
        client.test_lock(&opened.file, range, OTHER)
    })? {
        Ok(()) => Ok(true),
        Err(Nfsstat4::Denied) => Ok(false),
        Err(status) => Err(Stop::fail("LOCKT: NFS4_OK or NFS4ERR_DENIED", status)),
    }
}

fn granted(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let first = locks(b, &opened, Range::write(0, 100), OWNER)?;
    let locker = known_locker(first);
    let second = b.done("LOCK of another range", |client| {
        client.lock(&opened.file, Range::write(200, 100), locker)
    })?;
    b.equal("the stateid without seqid", first.other, second.other)?;
    b.equal("seqid", first.seqid.wrapping_add(1), second.seqid)
}

/// The answer to LOCK or LOCKT of a range that overlaps 100 bytes at 100 of the owner `OWNER`.
fn conflict<T>(b: &Bench<'_>, what: &str, answer: Result<T, NotGranted>) -> Outcome {
    let denied = match answer {
        Ok(_) => {
            return Err(Stop::fail(
                format!("{what}: {}", Nfsstat4::Denied),
                Nfsstat4::Ok,
            ));
        }
        Err(denied) => denied,
    };
    let Some((range, name)) = denied.holder else {
        return Err(Stop::fail(
            format!("{what}: {}", Nfsstat4::Denied),
            denied.status,
        ));
    };
    let overlaps = range.offset < 200 && range.offset.saturating_add(range.length) > 100;
    b.holds(
        overlaps,
        &format!("{what}: the lock of 100 bytes at 100"),
        format!("{range:?}"),
    )?;
    b.equal(
        &format!("{what}: kind of the lock"),
        NfsLockType4::Write,
        range.kind,
    )?;
    let shown = |name: &[u8]| name.escape_ascii().to_string();
    b.equal(
        &format!("{what}: owner of the lock"),
        shown(OWNER),
        shown(&name),
    )
}

fn denied(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    locks(b, &opened, Range::write(100, 100), OWNER)?;
    let locker = new_locker(&opened, OTHER);
    let answer = b.ask("LOCK", |client| {
        client.lock(&opened.file, Range::write(150, 500), locker)
    })?;
    conflict(b, "LOCK", answer)
}

fn denied_client(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let opened = b.open_new(b"file")?;
    locks(b, &opened, Range::write(100, 100), OWNER)?;
    let mut other = b.another();
    let opening = Opening::of(b"file", share::BOTH);
    let theirs = b.succeeds("OPEN by another client", || other.open(&dir, &opening))?;
    for kind in [Range::write(150, 10), Range::read(150, 10)] {
        let locker = new_locker(&theirs, OWNER);
        let what = "LOCK by another client";
        let answer = b.ask_other(what, || other.lock(&theirs.file, kind, locker))?;
        conflict(b, what, answer)?;
    }
    Ok(())
}

fn shared(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    locks(b, &opened, Range::read(0, 100), OWNER)?;
    locks(b, &opened, Range::read(50, 100), OTHER)?;
    let locker = new_locker(&opened, b"a third owner");
    let wanted = [Nfsstat4::Denied];
    b.refused("an exclusive LOCK beside shared ones", &wanted, |client| {
        client.lock(&opened.file, Range::write(60, 1), locker)
    })
    .map(drop)
}

fn beside(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    locks(b, &opened, Range::write(100, 100), OWNER)?;
    for (offset, free) in [(99, true), (100, false), (199, false), (200, true)] {
        let is = is_free(b, &opened, offset)?;
        b.equal(&format!("whether the byte at {offset} is free"), free, is)?;
    }
    Ok(())
}

fn to_the_end(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    locks(b, &opened, Range::write(1000, u64::MAX), OWNER)?;
    for (offset, free) in [(999, true), (1000, false)] {
        let is = is_free(b, &opened, offset)?;
        b.equal(&format!("whether the byte at {offset} is free"), free, is)?;
    }
    // A server whose locks have offsets of 32 bits answers NFS4ERR_BAD_RANGE (section 18.10.3).
    let what = "LOCKT of a byte at 2^40";
    let range = Range::write(1 << 40, 1);
    match b.either(what, |client| client.test_lock(&opened.file, range, OTHER))? {
        Err(Nfsstat4::Denied) => Ok(()),
        Err(status @ Nfsstat4::BadRange) => {
            b.note(format!("{what}: {status}"));
            Ok(())
        }
        answer => {
            let got = answer.err().unwrap_or(Nfsstat4::Ok);
            Err(Stop::fail(format!("{what}: {}", Nfsstat4::Denied), got))
        }
    }
}

fn zero_length(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let range = Range::write(10, 0);
    lock_refused(b, "LOCK of 0 bytes", &opened, range, Nfsstat4::Inval)
}

fn overflow(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let range = Range::write(u64::MAX - 10, 100);
    lock_refused(
        b,
        "LOCK of 100 bytes at 2^64 - 11",
        &opened,
        range,
        Nfsstat4::Inval,
    )
}

fn openmode(b: &mut Bench<'_>) -> Outcome {
    b.file(b"file")?;
    let opened = b.opens(&Opening::of(b"file", share::READ))?;
    let range = Range::write(0, 10);
    lock_refused(b, "an exclusive LOCK", &opened, range, Nfsstat4::Openmode)
}

fn upgrade(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let locker = known_locker(locks(b, &opened, Range::read(0, 100), OWNER)?);
    let what = "LOCK of the same range, now exclusive";
    match b.either(what, |client| {
        client.lock(&opened.file, Range::write(0, 100), locker)
    })? {
        Ok(_) => {}
        Err(Nfsstat4::LockNotsupp) => {
            return Err(Stop::skip("the server cannot change the kind of a lock"));
        }
        Err(status) => return Err(Stop::fail(format!("{what}: {}", Nfsstat4::Ok), status)),
    }
    let wanted = [Nfsstat4::Denied];
    b.refused(
        "LOCKT of a shared lock by another owner",
        &wanted,
        |client| client.test_lock(&opened.file, Range::read(0, 100), OTHER),
    )
    .map(drop)
}

fn test_free(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let whole = Range::write(0, u64::MAX);
    b.done_if_supported("LOCKT of a free range", |client| {
        client.test_lock(&opened.file, whole, OWNER)
    })?;
    locks(b, &opened, Range::write(0, 100), OWNER)?;
    b.done("LOCKT of a range of the same owner", |client| {
        client.test_lock(&opened.file, whole, OWNER)
    })
}

fn test_denied(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    locks(b, &opened, Range::write(100, 100), OWNER)?;
    let answer = b.ask("LOCKT", |client| {
        client.test_lock(&opened.file, Range::read(0, 500), OTHER)
    })?;
    conflict(b, "LOCKT", answer)
}

fn test_zero_length(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    refused_if_supported(b, "LOCKT of 0 bytes", Nfsstat4::Inval, |client| {
        client.test_lock(&opened.file, Range::write(10, 0), OTHER)
    })
}

fn test_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.refused_somehow("LOCKT of a directory", &[Nfsstat4::Isdir], |client| {
        client.test_lock(&dir, Range::write(0, 10), OTHER)
    })
}

fn whole(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let range = Range::write(0, 100);
    let locked = locks(b, &opened, range, OWNER)?;
    let before = is_free(b, &opened, 50)?;
    b.equal("whether the range is free before LOCKU", false, before)?;
    let stateid = b.done("LOCKU", |client| client.unlock(&opened.file, locked, range))?;
    b.equal("seqid", locked.seqid.wrapping_add(1), stateid.seqid)?;
    locks(b, &opened, range, OTHER).map(drop)
}

fn part(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let locked = locks(b, &opened, Range::write(0, 100), OWNER)?;
    let middle = Range::write(40, 20);
    match b.either("LOCKU of a part", |client| {
        client.unlock(&opened.file, locked, middle)
    })? {
        Ok(_) => {}
        Err(Nfsstat4::LockRange) => {
            return Err(Stop::skip("the server cannot unlock a part of a range"));
        }
        Err(status) => {
            return Err(Stop::fail(
                format!("LOCKU of a part: {}", Nfsstat4::Ok),
                status,
            ));
        }
    }
    for (offset, free) in [
        (0, false),
        (39, false),
        (40, true),
        (59, true),
        (60, false),
        (99, false),
    ] {
        let is = is_free(b, &opened, offset)?;
        b.equal(&format!("whether the byte at {offset} is free"), free, is)?;
    }
    Ok(())
}

fn unlock_zero_length(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let locked = locks(b, &opened, Range::write(0, 100), OWNER)?;
    b.refused("LOCKU of 0 bytes", &[Nfsstat4::Inval], |client| {
        client.unlock(&opened.file, locked, Range::write(0, 0))
    })
    .map(drop)
}

/// Section 18.2.3 leaves the choice to the server.
fn close_locked(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let opened = b.open_new(b"file")?;
    let range = Range::write(0, 100);
    locks(b, &opened, range, OWNER)?;
    match b.either("CLOSE", |client| client.close(&opened.file, opened.stateid))? {
        Err(Nfsstat4::LocksHeld) => b.note("CLOSE of a file with locks is refused"),
        Err(status) => return Err(Stop::fail("CLOSE: NFS4_OK or NFS4ERR_LOCKS_HELD", status)),
        Ok(_) => {
            let mut other = b.another();
            let opening = Opening::of(b"file", share::BOTH);
            let theirs = b.succeeds("OPEN by another client", || other.open(&dir, &opening))?;
            let free = is_free(b, &theirs, 50)?;
            b.equal("whether the range is free after CLOSE", true, free)?;
        }
    }
    Ok(())
}

fn free_locked(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let stateid = locks(b, &opened, Range::write(0, 100), OWNER)?;
    let args = FreeStateidArgs { stateid };
    b.refused("FREE_STATEID of locks", &[Nfsstat4::LocksHeld], |client| {
        client.on(&opened.file, &args, |res| res)
    })
    .map(drop)
}
