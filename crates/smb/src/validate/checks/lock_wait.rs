//! LOCK that waits, and is taken back.

use super::lock::{exclusive, free, two};
use super::rules::LOCK;
use crate::validate::bench::{Bench, Judge, names_of};
use crate::validate::session::{Session, Ticket};
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, same};
use filermark_smbwire::smb2::{FileId, LockRange};
use filermark_smbwire::status;
use std::time::{Duration, Instant};

const CANCEL: super::rules::Rule = ("MS-CIFS 2.2.4.65", "MS-SMB2 3.3.5.16");

checks! { CHECKS: Check =>
    "lock.waits", "LOCK", "a lock that may wait gets an interim answer, and is granted when the range is free" => waits, by LOCK;
    "lock.cancel", "LOCK", "a cancelled lock answers CANCELLED" => cancel, by CANCEL;
    "lock.waits_for_close", "LOCK", "a waiting lock is granted when the owner closes" => waits_for_close, by LOCK;
}

/// How long nothing may come of a lock that has to wait.
const QUIET: Duration = Duration::from_millis(300);

/// A lock that waits.
fn waiting(offset: u64, length: u64) -> [LockRange; 1] {
    exclusive(offset, length).map(|range| LockRange {
        fail_immediately: false,
        ..range
    })
}

/// Asks for a range that is taken; the answer has to keep one waiting.
fn ask(other: &mut Session, file: FileId) -> Result<Ticket, Stop> {
    let ticket = other
        .calls()
        .send_lock(file, &waiting(0, 10))
        .done("LOCK that waits")?;
    // A server that has much to do may be late with it.
    let promised = other.calls().wait_promise(ticket).done("LOCK that waits")?;
    let early = other
        .calls()
        .wait_status(ticket, QUIET)
        .done("LOCK that waits")?;
    if let Some(status) = early {
        return Err(Stop::fail(
            "LOCK that waits: no answer yet",
            status::text(status),
        ));
    }
    if promised == Some(false) {
        return Err(Stop::fail(
            "LOCK that waits: STATUS_PENDING",
            format!("nothing within {} ms", other.limit().as_millis()),
        ));
    }
    Ok(ticket)
}

/// What comes of a lock that waits; `None`: nothing within the limit.
fn outcome(other: &mut Session, ticket: Ticket) -> Result<Option<u32>, Stop> {
    let limit = other.limit();
    let came = other.calls().wait_status(ticket, limit);
    came.done("LOCK that waits")
}

fn is_grant(came: Option<u32>) -> Result<(), Stop> {
    let came = came.map_or_else(|| "no answer".to_owned(), status::text);
    same(
        "LOCK that waits, once the range is free",
        status::text(status::SUCCESS),
        came,
    )
}

fn waits(b: &mut Bench<'_>) -> Result<(), Stop> {
    let (ours, theirs) = two(b)?;
    let (smb, other) = b.pair()?;
    smb.lock(ours, &exclusive(0, 10)).done("LOCK")?;
    let ticket = ask(other, theirs)?;
    // Others are served meanwhile.
    other.echo().done("ECHO while a lock waits")?;
    smb.lock(ours, &free(0, 10)).done("LOCK to unlock")?;
    is_grant(outcome(other, ticket)?)?;
    other
        .lock(theirs, &free(0, 10))
        .done("LOCK to unlock what was waited for")
}

/// How many owners close before a lock that waits counts as never granted.
///
/// A CLOSE of Samba 4.17 wakes who waits before it removes the locks (close_normal_file:
/// close_remove_share_mode, then locking_close_file). Who asks in between finds the range
/// taken, sleeps on, and is never woken again: six waits of a thousand. A server that
/// grants, though not always, passes with a note; one that loses every wake-up fails.
const CLOSES: u32 = 3;

fn waits_for_close(b: &mut Bench<'_>) -> Result<(), Stop> {
    for close in 1..=CLOSES {
        let (ours, theirs) = two(b)?;
        let (smb, other) = b.pair()?;
        smb.lock(ours, &exclusive(0, 10)).done("LOCK")?;
        let ticket = ask(other, theirs)?;
        smb.close(ours).done("CLOSE")?;
        let came = outcome(other, ticket)?;
        other.close(theirs).done("CLOSE by who has waited")?;
        if came.is_some() {
            is_grant(came)?;
            if close > 1 {
                b.note(format!(
                    "a waiting lock was granted only by close {close}: the server lost a wake-up"
                ));
            }
            return Ok(());
        }
    }
    is_grant(None)
}

fn cancel(b: &mut Bench<'_>) -> Result<(), Stop> {
    let (ours, theirs) = two(b)?;
    let is_smb1 = b.is_smb1();
    let (smb, other) = b.pair()?;
    smb.lock(ours, &exclusive(0, 10)).done("LOCK")?;
    let ticket = ask(other, theirs)?;
    let begun = Instant::now();
    other.calls().cancel(ticket).done("CANCEL")?;
    let limit = other.limit();
    let came = other
        .calls()
        .wait_status(ticket, limit)
        .done("LOCK that is cancelled")?;
    let wanted: &[u32] = match is_smb1 {
        true => &[
            status::CANCELLED,
            status::FILE_LOCK_CONFLICT,
            status::LOCK_NOT_GRANTED,
        ],
        false => &[status::CANCELLED],
    };
    match came {
        Some(status) if wanted.contains(&status) => {}
        came => {
            return Err(Stop::fail(
                format!("LOCK that is cancelled: {}", names_of(wanted)),
                came.map_or_else(
                    || format!("nothing within {:?}", begun.elapsed()),
                    status::text,
                ),
            ));
        }
    }
    // It has not been locked after all.
    smb.lock(ours, &free(0, 10)).done("LOCK to unlock")?;
    smb.lock(ours, &exclusive(0, 10))
        .done("LOCK after a CANCEL of another's")
}
