//! Oplocks and leases: what the first one may keep is taken back when the second one comes.

use crate::validate::bench::{Bench, Judge};
use crate::validate::session::{Open, Opened, OplockBreakInfo};
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, same};
use filermark_model::smb::Dialect;
use filermark_smbwire::smb2::create::{OplockLevel, lease};
use filermark_smbwire::smb2::{RequestedOplock, file::disposition};
use std::time::Duration;

const RULE: super::rules::Rule = ("MS-CIFS 3.3.4.2", "MS-SMB2 3.3.4.6, 3.3.5.22");
const LEASE: super::rules::Rule = ("", "MS-SMB2 3.3.4.7, 3.3.5.22.2");

checks! { CHECKS: Check =>
    "oplock.granted", "OPEN", "the only open gets the requested oplock" => granted, by RULE;
    "oplock.exclusive", "OPEN", "a second open breaks an exclusive oplock, and succeeds" => exclusive, by RULE;
    "oplock.batch", "OPEN", "a second open breaks a batch oplock, and succeeds" => batch, by RULE;
    "oplock.closed", "OPEN", "a close acknowledges a break" => closed, by RULE;
    "oplock.two", "WRITE", "a write breaks the level II oplocks of others" => level_two, by RULE, from Dialect::V202;
    "lease.granted", "OPEN", "the only open gets the requested lease" => lease_granted, by LEASE, from Dialect::V210;
    "lease.write", "OPEN", "a second open breaks the right to cache writes, and succeeds" => lease_write, by LEASE, from Dialect::V210;
    "lease.handle", "OPEN", "an open that violates a share mode waits for the break of a cached handle" => lease_handle, by LEASE, from Dialect::V210;
    "lease.same_key", "OPEN", "another open with the same key breaks nothing" => same_key, by LEASE, from Dialect::V210;
}

/// How long nothing may come that has to wait.
const QUIET: Duration = Duration::from_millis(200);

fn oplock(b: &mut Bench<'_>, level: OplockLevel) -> Result<Opened, Stop> {
    b.put("file", b"some")?;
    let path = b.path("file");
    let open = Open::file(&path).keeping(RequestedOplock::Oplock(level));
    let opened = b.smb.open(&open).done("OPEN with an oplock")?;
    match opened.oplock == level {
        true => Ok(opened),
        false => Err(Stop::skip(format!(
            "the server grants no such oplock ({:?} of {level:?})",
            opened.oplock
        ))),
    }
}

fn granted(b: &mut Bench<'_>) -> Result<(), Stop> {
    let opened = oplock(b, OplockLevel::Exclusive)?;
    b.smb.close(opened.file).done("CLOSE")?;
    oplock(b, OplockLevel::Batch).map(drop)
}

fn exclusive(b: &mut Bench<'_>) -> Result<(), Stop> {
    breaks(b, OplockLevel::Exclusive)
}

fn batch(b: &mut Bench<'_>) -> Result<(), Stop> {
    breaks(b, OplockLevel::Batch)
}

/// The break that the first session receives.
fn received_break(b: &mut Bench<'_>) -> Result<OplockBreakInfo, Stop> {
    let limit = b.smb.limit();
    let received = b.smb.calls().next_break(limit).done("a break")?;
    received.ok_or_else(|| {
        Stop::fail(
            "a break of the first open's oplock",
            format!("none within {} ms", limit.as_millis()),
        )
    })
}

fn breaks(b: &mut Bench<'_>, level: OplockLevel) -> Result<(), Stop> {
    let first = oplock(b, level)?;
    let path = b.path("file");
    let ticket = b
        .other()?
        .calls()
        .send_open(&Open::file(&path))
        .done("the second OPEN")?;
    let broken = received_break(b)?;
    match broken {
        OplockBreakInfo::Oplock { file, level } => {
            same("the break: the handle", first.file.volatile, file.volatile)?;
            let sinks = matches!(level, OplockLevel::None | OplockLevel::Two);
            same("the break: the new level is II or none", true, sinks)?;
        }
        OplockBreakInfo::Lease { .. } => {
            return Err(Stop::fail("a break of an oplock", "one of a lease"));
        }
    }
    goes_on(b, ticket, &broken)?;
    // The first one can still work.
    b.reads_back(first.file, 0, b"some")
}

/// The second open waits for the acknowledgment, and then succeeds.
fn goes_on(
    b: &mut Bench<'_>,
    ticket: crate::validate::session::Ticket,
    broken: &OplockBreakInfo,
) -> Result<(), Stop> {
    let other = b.other()?;
    if let Ok(Some(_)) = other.wait_open(ticket, QUIET).either("the second OPEN")? {
        return Err(Stop::fail(
            "the second OPEN: no answer before the break is acknowledged",
            "STATUS_SUCCESS",
        ));
    }
    b.smb
        .calls()
        .acknowledge(broken)
        .done("the acknowledgment")?;
    let other = b.other()?;
    let limit = other.limit();
    match other.wait_open(ticket, limit).done("the second OPEN")? {
        Some(_) => Ok(()),
        None => Err(Stop::fail(
            "the second OPEN: an answer once the break is acknowledged",
            "none",
        )),
    }
}

fn closed(b: &mut Bench<'_>) -> Result<(), Stop> {
    let first = oplock(b, OplockLevel::Batch)?;
    let path = b.path("file");
    let open = Open::file(&path).shared(0);
    let ticket = b
        .other()?
        .calls()
        .send_open(&open)
        .done("the second OPEN")?;
    received_break(b)?;
    b.smb.close(first.file).done("CLOSE")?;
    let other = b.other()?;
    let limit = other.limit();
    match other.wait_open(ticket, limit).done("the second OPEN")? {
        Some(_) => Ok(()),
        None => Err(Stop::fail(
            "the second OPEN: an answer once the first is closed",
            "none",
        )),
    }
}

fn level_two(b: &mut Bench<'_>) -> Result<(), Stop> {
    let first = oplock(b, OplockLevel::Two)?;
    let path = b.path("file");
    let other = b.other()?;
    let second = other.open(&Open::file(&path)).done("the second OPEN")?;
    other.write(second.file, 0, b"new").done("WRITE")?;
    match received_break(b)? {
        OplockBreakInfo::Oplock { file, level } => {
            same("the break: the handle", first.file, file)?;
            same("the break: the new level", OplockLevel::None, level)
        }
        OplockBreakInfo::Lease { .. } => Err(Stop::fail("a break of an oplock", "one of a lease")),
    }
}

const KEY: [u8; 16] = *b"filermark lease1";

fn asking(b: &Bench<'_>, state: u32) -> RequestedOplock {
    match b.dialect >= Dialect::V300 {
        true => RequestedOplock::LeaseV2 {
            key: KEY,
            state,
            parent: None,
            epoch: 0,
        },
        false => RequestedOplock::Lease { key: KEY, state },
    }
}

/// A file that is open with a lease of this state.
fn leased(b: &mut Bench<'_>, state: u32) -> Result<Opened, Stop> {
    if !b.smb.smb2().is_some_and(|smb2| smb2.session().has_leases()) {
        return Err(Stop::skip("the server offers no leases"));
    }
    b.put("file", b"some")?;
    let path = b.path("file");
    let open = Open::file(&path).keeping(asking(b, state));
    let opened = b.smb.open(&open).done("OPEN with a lease")?;
    match opened.lease {
        Some(granted) => {
            same("OPEN: the lease's key", KEY, granted.key)?;
            match granted.state == state {
                true => Ok(opened),
                false => Err(Stop::skip(format!(
                    "the server grants {} of lease {state}",
                    granted.state
                ))),
            }
        }
        None => Err(Stop::fail(
            "OPEN with a lease: the state that is granted",
            "nothing of it",
        )),
    }
}

const ALL: u32 = lease::READ | lease::HANDLE | lease::WRITE;

fn lease_granted(b: &mut Bench<'_>) -> Result<(), Stop> {
    for state in [lease::READ, lease::READ | lease::HANDLE, ALL] {
        let opened = leased(b, state)?;
        b.smb.close(opened.file).done("CLOSE")?;
    }
    Ok(())
}

/// A break of our lease from one state to another.
fn lease_break(b: &mut Bench<'_>, from: u32, to: &[u32]) -> Result<OplockBreakInfo, Stop> {
    let broken = received_break(b)?;
    let OplockBreakInfo::Lease {
        key,
        current,
        new,
        must_acknowledge,
    } = broken
    else {
        return Err(Stop::fail("a break of a lease", "one of an oplock"));
    };
    same("the break: the key", KEY, key)?;
    same("the break: the state so far", from, current)?;
    same("the break: is to be acknowledged", true, must_acknowledge)?;
    match to.contains(&new) {
        true => Ok(broken),
        false => Err(Stop::fail(format!("the break: a new state of {to:?}"), new)),
    }
}

fn lease_write(b: &mut Bench<'_>) -> Result<(), Stop> {
    let first = leased(b, ALL)?;
    let path = b.path("file");
    let ticket = b
        .other()?
        .calls()
        .send_open(&Open::file(&path))
        .done("the second OPEN")?;
    let broken = lease_break(b, ALL, &[lease::READ | lease::HANDLE])?;
    goes_on(b, ticket, &broken)?;
    b.reads_back(first.file, 0, b"some")
}

fn lease_handle(b: &mut Bench<'_>) -> Result<(), Stop> {
    if !b.smb.smb2().is_some_and(|smb2| smb2.session().has_leases()) {
        return Err(Stop::skip("the server offers no leases"));
    }
    let path = b.path("file");
    let state = lease::READ | lease::HANDLE;
    let keep = Open::file(&path)
        .by(disposition::OPEN_IF)
        .shared(0)
        .keeping(asking(b, state));
    let first = b
        .smb
        .open(&keep)
        .done("OPEN with a lease, nothing shared")?;
    if first.lease.map(|lease| lease.state) != Some(state) {
        return Err(Stop::skip("the server grants no lease of handles"));
    }
    let ticket = b
        .other()?
        .calls()
        .send_open(&Open::file(&path))
        .done("the second OPEN")?;
    let broken = lease_break(b, state, &[lease::READ])?;
    // The kept handle goes, and with it what was in the way.
    b.smb.close(first.file).done("CLOSE")?;
    let _ = b.smb.calls().acknowledge(&broken);
    let other = b.other()?;
    let limit = other.limit();
    match other.wait_open(ticket, limit).done("the second OPEN")? {
        Some(_) => Ok(()),
        None => Err(Stop::fail(
            "the second OPEN: an answer once the handle is closed",
            "none",
        )),
    }
}

fn same_key(b: &mut Bench<'_>) -> Result<(), Stop> {
    leased(b, ALL)?;
    let path = b.path("file");
    let again = Open::file(&path).keeping(asking(b, ALL));
    let second = b.smb.open(&again).done("OPEN by the same key")?;
    same(
        "OPEN by the same key: the state",
        Some(ALL),
        second.lease.map(|lease| lease.state),
    )?;
    let received = b.smb.calls().next_break(QUIET).done("a break")?;
    same("a break", None, received)
}
