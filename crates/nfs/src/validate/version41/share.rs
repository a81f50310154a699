//! Share reservations, and the stateids of opens.

use super::client::{OTHER, Opened, Opening};
use super::ops::{Bench, Check, Outcome, STATEID, Subject};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::*;

const OPEN: Subject = Subject::Op(Operation::Open);
const CLOSE: Subject = Subject::Op(Operation::Close);
const READ: Subject = Subject::Op(Operation::Read);
const WRITE: Subject = Subject::Op(Operation::Write);
const DOWNGRADE: Subject = Subject::Op(Operation::OpenDowngrade);
const SHARES: &str = "RFC 8881 section 9.7";
const SPECIAL: &str = "RFC 8881 section 8.2.3";
const SEQID: &str = "RFC 8881 section 8.2.2";
const MODES: &str = "RFC 8881 section 9.1.2";

checks! { CHECKS: Check =>
    "share.two_owners", OPEN, "two owners may have a file open" => two_owners, by SHARES;
    "share.denied", OPEN, "access that another owner denies answers NFS4ERR_SHARE_DENIED" => denied, by SHARES;
    "share.denied_client", OPEN, "the same for another client" => denied_client, by SHARES;
    "share.deny_too_late", OPEN, "to deny access that another owner has answers NFS4ERR_SHARE_DENIED" => too_late, by SHARES;
    "share.after_close", CLOSE, "CLOSE ends the denial" => after_close, by SHARES;
    "share.anonymous", READ, "READ without an open obeys the denial: NFS4ERR_LOCKED" => anonymous, by SPECIAL;
    "open.upgrade", OPEN, "a second OPEN of an owner adds access to the same stateid" => upgrade, by SHARES;
    "downgrade.access", DOWNGRADE, "access that was given up is refused" => downgrade;
    "downgrade.more", DOWNGRADE, "access that the open does not have answers NFS4ERR_INVAL" => downgrade_more;
    "stateid.old", CLOSE, "an earlier seqid answers NFS4ERR_OLD_STATEID" => old, by STATEID;
    "stateid.later", CLOSE, "a later seqid answers NFS4ERR_BAD_STATEID" => later, by STATEID;
    "stateid.latest", READ, "a seqid of 0 is the latest one" => latest, by SEQID, from MinorVersion::V1;
    "stateid.closed", READ, "the stateid of a closed file answers NFS4ERR_BAD_STATEID" => closed, by STATEID;
    "close.closed", CLOSE, "of a closed file answers NFS4ERR_BAD_STATEID" => close_closed, by STATEID;
    "stateid.invented", READ, "an invented stateid is refused" => invented, by STATEID;
    "stateid.other_file", READ, "the stateid of another file answers NFS4ERR_BAD_STATEID" => other_file, by STATEID;
    "stateid.other_client", READ, "the stateid of another client answers NFS4ERR_BAD_STATEID" => other_client, by STATEID, from MinorVersion::V1;
    "stateid.openmode_write", WRITE, "WRITE to a file that is open for reading answers NFS4ERR_OPENMODE" => write_refused, by MODES;
    "stateid.openmode_read", READ, "READ of a file that is open for writing may be refused" => read_refused, by MODES;
    "test_stateid.states", Subject::Op(Operation::TestStateid), "returns a status for each stateid" => test_states, from MinorVersion::V1;
    "free_stateid.open", Subject::Op(Operation::FreeStateid), "the stateid of an open file answers NFS4ERR_LOCKS_HELD" => free_open, from MinorVersion::V1;
}

const DENIED: [Nfsstat4; 1] = [Nfsstat4::ShareDenied];

fn two_owners(b: &mut Bench<'_>) -> Outcome {
    let first = b.open_new(b"file")?;
    let second = b.opens(&Opening::of(b"file", share::BOTH).by(OTHER))?;
    b.holds(
        first.stateid.other != second.stateid.other,
        "two stateids",
        "the same one",
    )?;
    b.writes(&first, b"first")?;
    b.closes(&first)?;
    b.writes(&second, b"again")
}

fn denied(b: &mut Bench<'_>) -> Outcome {
    b.file(b"file")?;
    b.opens(&Opening::of(b"file", share::READ).denying(share::WRITE))?;
    let write = Opening::of(b"file", share::WRITE).by(OTHER);
    b.open_refused("OPEN for writing", &DENIED, &write)?;
    b.opens(&Opening::of(b"file", share::READ).by(OTHER))
        .map(drop)
}

fn denied_client(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    b.opens(&Opening::of(b"file", share::READ).denying(share::BOTH))?;
    let mut other = b.another();
    for access in [share::READ, share::WRITE] {
        let what = format!("OPEN with share_access {access} by another client");
        let opening = Opening::of(b"file", access);
        match b.ask_other(&what, || other.open(&dir, &opening))? {
            Err(Nfsstat4::ShareDenied) => {}
            answer => {
                let got = answer.err().unwrap_or(Nfsstat4::Ok);
                return Err(Stop::fail(
                    format!("{what}: {}", Nfsstat4::ShareDenied),
                    got,
                ));
            }
        }
    }
    Ok(())
}

fn too_late(b: &mut Bench<'_>) -> Outcome {
    b.open_new(b"file")?;
    let denying = Opening::of(b"file", share::READ)
        .by(OTHER)
        .denying(share::WRITE);
    b.open_refused("OPEN with share_deny WRITE", &DENIED, &denying)
}

fn after_close(b: &mut Bench<'_>) -> Outcome {
    b.file(b"file")?;
    let opened = b.opens(&Opening::of(b"file", share::READ).denying(share::BOTH))?;
    let other = Opening::of(b"file", share::BOTH).by(OTHER);
    b.open_refused("OPEN before CLOSE", &DENIED, &other)?;
    b.closes(&opened)?;
    b.opens(&other).map(drop)
}

fn anonymous(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", b"data")?;
    b.opens(&Opening::of(b"file", share::BOTH).denying(share::BOTH))?;
    let what = "READ with the anonymous stateid";
    match b.either(what, |client| client.read(&file, Stateid4::ANONYMOUS, 0, 4))? {
        Err(Nfsstat4::Locked) => Ok(()),
        Err(status) => {
            b.note(format!("{what}: {status}; {} is usual", Nfsstat4::Locked));
            Ok(())
        }
        Ok(_) => Err(Stop::fail(
            format!("{what}: {}", Nfsstat4::Locked),
            Nfsstat4::Ok,
        )),
    }
}

/// A file that was opened for reading and then for writing, too: the first and the second answer.
fn upgraded(b: &mut Bench<'_>) -> Result<(Opened, Opened), Stop> {
    b.file(b"file")?;
    let first = b.opens(&Opening::of(b"file", share::READ))?;
    let second = b.opens(&Opening::of(b"file", share::BOTH))?;
    Ok((first, second))
}

fn upgrade(b: &mut Bench<'_>) -> Outcome {
    let (first, second) = upgraded(b)?;
    b.equal(
        "the stateid without seqid",
        first.stateid.other,
        second.stateid.other,
    )?;
    b.equal(
        "seqid",
        first.stateid.seqid.wrapping_add(1),
        second.stateid.seqid,
    )?;
    b.writes(&second, b"data")
}

fn downgrade_to(
    b: &mut Bench<'_>,
    opened: &Opened,
    access: u32,
) -> Result<Result<Stateid4, Nfsstat4>, Stop> {
    b.either("OPEN_DOWNGRADE", |client| {
        client.downgrade(&opened.file, opened.stateid, access)
    })
}

fn downgrade(b: &mut Bench<'_>) -> Outcome {
    let (_, opened) = upgraded(b)?;
    let stateid = match downgrade_to(b, &opened, share::READ)? {
        Ok(stateid) => stateid,
        Err(status) => {
            return Err(Stop::fail(
                format!("OPEN_DOWNGRADE: {}", Nfsstat4::Ok),
                status,
            ));
        }
    };
    b.equal("seqid", opened.stateid.seqid.wrapping_add(1), stateid.seqid)?;
    refuses_write(b, &Opened { stateid, ..opened })
}

fn downgrade_more(b: &mut Bench<'_>) -> Outcome {
    b.file(b"file")?;
    let opened = b.opens(&Opening::of(b"file", share::READ))?;
    match downgrade_to(b, &opened, share::BOTH)? {
        Err(Nfsstat4::Inval) => Ok(()),
        answer => {
            let got = answer.err().unwrap_or(Nfsstat4::Ok);
            Err(Stop::fail(
                format!("OPEN_DOWNGRADE to more: {}", Nfsstat4::Inval),
                got,
            ))
        }
    }
}

fn old(b: &mut Bench<'_>) -> Outcome {
    let (first, _) = upgraded(b)?;
    b.refused(
        "CLOSE with the first stateid",
        &[Nfsstat4::OldStateid],
        |client| client.close(&first.file, first.stateid),
    )
    .map(drop)
}

fn later(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let stateid = Stateid4 {
        seqid: opened.stateid.seqid.wrapping_add(5),
        ..opened.stateid
    };
    b.refused(
        "CLOSE with a later seqid",
        &[Nfsstat4::BadStateid],
        |client| client.close(&opened.file, stateid),
    )
    .map(drop)
}

fn latest(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    b.writes(&opened, b"data")?;
    let stateid = Stateid4 {
        seqid: 0,
        ..opened.stateid
    };
    let read = b.done("READ with seqid 0", |client| {
        client.read(&opened.file, stateid, 0, 4)
    })?;
    b.equal("data", &b"data"[..], &read.1[..])
}

fn closed(b: &mut Bench<'_>) -> Outcome {
    let Opened { file, stateid, .. } = b.open_new(b"file")?;
    b.done("CLOSE", |client| client.close(&file, stateid))?;
    b.refused("READ after CLOSE", &[Nfsstat4::BadStateid], |client| {
        client.read(&file, stateid, 0, 4)
    })
    .map(drop)
}

fn close_closed(b: &mut Bench<'_>) -> Outcome {
    let Opened { file, stateid, .. } = b.open_new(b"file")?;
    b.done("CLOSE", |client| client.close(&file, stateid))?;
    b.refused("CLOSE after CLOSE", &[Nfsstat4::BadStateid], |client| {
        client.close(&file, stateid)
    })
    .map(drop)
}

fn invented(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", b"data")?;
    let stateid = Stateid4 {
        seqid: 1,
        other: [0x5a; 12],
    };
    let usual = [Nfsstat4::BadStateid, Nfsstat4::StaleStateid];
    let usual = &usual[..if b.minor() == 0 { 2 } else { 1 }];
    b.refused_somehow("READ with an invented stateid", usual, |client| {
        client.read(&file, stateid, 0, 4)
    })
}

fn other_file(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"other", b"data")?;
    let opened = b.open_new(b"file")?;
    let wanted = [Nfsstat4::BadStateid];
    b.refused("READ of another file", &wanted, |client| {
        client.read(&file, opened.stateid, 0, 4)
    })
    .map(drop)
}

fn other_client(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let what = "READ by another client";
    let mut other = b.another();
    let Opened { file, stateid, .. } = opened;
    match b.ask_other(what, || other.read(&file, stateid, 0, 4))? {
        Err(Nfsstat4::BadStateid) => Ok(()),
        answer => {
            let got = answer.err().unwrap_or(Nfsstat4::Ok);
            Err(Stop::fail(format!("{what}: {}", Nfsstat4::BadStateid), got))
        }
    }
}

fn refuses_write(b: &mut Bench<'_>, opened: &Opened) -> Outcome {
    let Opened { file, stateid, .. } = *opened;
    let wanted = [Nfsstat4::Openmode];
    b.refused(
        "WRITE to a file that is open for reading",
        &wanted,
        |client| client.write(&file, stateid, 0, b"data", StableHow::FileSync),
    )
    .map(drop)
}

fn write_refused(b: &mut Bench<'_>) -> Outcome {
    b.file(b"file")?;
    let opened = b.opens(&Opening::of(b"file", share::READ))?;
    refuses_write(b, &opened)
}

/// A server may allow it, since clients read whole blocks to write parts of them.
fn read_refused(b: &mut Bench<'_>) -> Outcome {
    b.file_with(b"file", b"data")?;
    let Opened { file, stateid, .. } = b.opens(&Opening::of(b"file", share::WRITE))?;
    match b.either("READ", |client| client.read(&file, stateid, 0, 4))? {
        Err(Nfsstat4::Openmode) => Ok(()),
        Err(status) => Err(Stop::fail(format!("READ: {}", Nfsstat4::Openmode), status)),
        Ok(_) => {
            b.note("a file that is open for writing can be read");
            Ok(())
        }
    }
}

fn test_states(b: &mut Bench<'_>) -> Outcome {
    let (one, two) = (b.open_new(b"one")?, b.open_new(b"two")?);
    b.closes(&two)?;
    let states = [one.stateid, two.stateid];
    let args = TestStateidArgs {
        stateids: filermark_onc::xdr::Array::new(&states).unwrap_or_default(),
    };
    let statuses = b.done("TEST_STATEID", |client| {
        client.on(&one.file, &args, |res| {
            let ok = res?;
            Ok(ok.status_codes.iter().collect::<Vec<Nfsstat4>>())
        })
    })?;
    b.equal(
        "statuses of an open and a closed file",
        vec![Nfsstat4::Ok, Nfsstat4::BadStateid],
        statuses,
    )
}

fn free_open(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let args = FreeStateidArgs {
        stateid: opened.stateid,
    };
    b.refused(
        "FREE_STATEID of an open file",
        &[Nfsstat4::LocksHeld],
        |client| client.on(&opened.file, &args, |res| res),
    )
    .map(drop)
}
