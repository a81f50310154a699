//! What only version 4.0 has: client IDs without sessions, and owners that number their operations (RFC 7530).

use super::client::{Client, OTHER, OWNER, Opened, Opening, of_mode, putfh};
use super::locking::Range;
use super::numbers::Owner;
use super::ops::{Bench, Check, Outcome, Subject};
use super::raw::{Answer, UNKNOWN, send, written};
use crate::client::RpcClient;
use crate::validate::text::no_answer;
use crate::validate::wire::own_connection;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs4::*;

const SETCLIENTID: Subject = Subject::Op(Operation::Setclientid);
const CONFIRM: Subject = Subject::Op(Operation::SetclientidConfirm);
const RENEW: Subject = Subject::Op(Operation::Renew);
const OPEN: Subject = Subject::Op(Operation::Open);
const CLOSE: Subject = Subject::Op(Operation::Close);
const LOCK: Subject = Subject::Op(Operation::Lock);
const RELEASE: Subject = Subject::Op(Operation::ReleaseLockowner);
const SEQUENCING: &str = "RFC 7530 section 9.1.7";
const REPLAYS: &str = "RFC 7530 section 9.1.8";
const RESTARTS: &str = "RFC 7530 section 9.6.1";

checks! { CLIENTS: Check =>
    "setclientid.confirmed", SETCLIENTID, "a client ID can be used after SETCLIENTID_CONFIRM" => confirmed;
    "setclientid.unconfirmed", SETCLIENTID, "a client ID cannot be used before SETCLIENTID_CONFIRM" => unconfirmed;
    "setclientid.same", SETCLIENTID, "the same client gets the same client ID" => same_client;
    "setclientid.restart", SETCLIENTID, "another verifier gets another client ID" => another_id;
    "setclientid.opens", SETCLIENTID, "a client that restarted loses its opens with SETCLIENTID_CONFIRM, not before" => opens, by RESTARTS;
    "setclientid_confirm.verifier", CONFIRM, "a wrong verifier answers NFS4ERR_STALE_CLIENTID" => wrong_verifier;
    "setclientid_confirm.twice", CONFIRM, "the same call again succeeds" => confirmed_twice;
    "setclientid_confirm.unknown", CONFIRM, "an unknown client ID answers NFS4ERR_STALE_CLIENTID" => confirm_unknown;
    "renew.known", RENEW, "the lease of a client ID is renewed" => renewed;
    "renew.stale", RENEW, "an unknown client ID answers NFS4ERR_STALE_CLIENTID" => renew_unknown;
    "open.stale_clientid", OPEN, "an unknown client ID answers NFS4ERR_STALE_CLIENTID" => open_unknown;
    "release_lockowner.stale", RELEASE, "an unknown client ID answers NFS4ERR_STALE_CLIENTID" => release_unknown;
}

checks! { OWNERS: Check =>
    "open_confirm.seqid", Subject::Op(Operation::OpenConfirm), "the first OPEN of an owner is confirmed, if the server asks for that" => confirmed_open;
    "seqid.open_again", OPEN, "an OPEN that is sent again gets the kept reply and is not executed" => open_again, by REPLAYS;
    "seqid.open_wrong", OPEN, "a skipped number answers NFS4ERR_BAD_SEQID" => open_wrong, by SEQUENCING;
    "seqid.failure", OPEN, "an OPEN that fails uses its number, too" => failed_open, by SEQUENCING;
    "seqid.close_again", CLOSE, "a CLOSE that is sent again gets the kept reply" => close_again, by REPLAYS;
    "seqid.close_wrong", CLOSE, "a skipped number answers NFS4ERR_BAD_SEQID" => close_wrong, by SEQUENCING;
    "seqid.lock_again", LOCK, "a LOCK that is sent again gets the kept reply" => lock_again, by REPLAYS;
    "seqid.lock_wrong", LOCK, "a skipped number of the lock's owner answers NFS4ERR_BAD_SEQID" => lock_wrong, by SEQUENCING;
    "release_lockowner.held", RELEASE, "an owner that holds locks answers NFS4ERR_LOCKS_HELD" => release_held;
    "release_lockowner.free", RELEASE, "an owner without locks is dropped: its state cannot be used any more" => release_free;
}

/// A COMPOUND on a connection of its own, without a client ID.
fn alone(
    b: &Bench<'_>,
    what: &str,
    write: impl FnOnce(&mut super::raw::Writer<'_>),
) -> Result<Answer, Stop> {
    let args = written(b.minor(), write);
    send(&mut own_connection(b.plan, b.target), what, &args)
}

/// SETCLIENTID: the client ID, and what confirms it.
fn set(b: &Bench<'_>, client: ClientOwner4<'_>) -> Result<SetclientidOk, Stop> {
    let what = "SETCLIENTID";
    let answer = alone(b, what, |compound| {
        compound.op(&SetclientidArgs {
            client,
            callback: CbClient4 {
                cb_program: 0,
                cb_location: Netaddr4 {
                    netid: b"tcp",
                    addr: b"0.0.0.0.0.0",
                },
            },
            callback_ident: 0,
        });
    })?;
    answer.must_be(what, &[Nfsstat4::Ok])?;
    let result = answer.result::<SetclientidArgs<'_>, _>(0, |result| result.ok());
    result.ok_or_else(|| Stop::fail("SETCLIENTID: its results", "none"))
}

fn confirm(b: &Bench<'_>, what: &str, set: &SetclientidOk) -> Result<Answer, Stop> {
    alone(b, what, |compound| {
        compound.op(&SetclientidConfirmArgs {
            clientid: set.clientid,
            setclientid_confirm: set.setclientid_confirm,
        });
    })
}

fn confirms(b: &Bench<'_>, set: &SetclientidOk) -> Outcome {
    let what = "SETCLIENTID_CONFIRM";
    confirm(b, what, set)?.must_be(what, &[Nfsstat4::Ok])
}

fn renew(b: &Bench<'_>, what: &str, clientid: Clientid4) -> Result<Answer, Stop> {
    alone(b, what, |compound| {
        compound.op(&RenewArgs { clientid });
    })
}

/// RENEW of a client ID that must be known. Without callbacks a server may say so.
fn renews(b: &mut Bench<'_>, clientid: Clientid4) -> Outcome {
    let answer = renew(b, "RENEW", clientid)?;
    if answer.status == Nfsstat4::CbPathDown {
        b.note("RENEW: NFS4ERR_CB_PATH_DOWN, although no delegation is held");
    }
    answer.must_be("RENEW", &[Nfsstat4::Ok, Nfsstat4::CbPathDown])
}

fn confirmed(b: &mut Bench<'_>) -> Outcome {
    let identity = b.new_identity();
    let set = set(b, identity.client_owner())?;
    confirms(b, &set)?;
    renews(b, set.clientid)
}

fn unconfirmed(b: &mut Bench<'_>) -> Outcome {
    let identity = b.new_identity();
    let set = set(b, identity.client_owner())?;
    let what = "RENEW before SETCLIENTID_CONFIRM";
    let refused = renew(b, what, set.clientid)?;
    if refused.status == Nfsstat4::Expired {
        b.note(format!(
            "{what}: {}; {} is usual",
            refused.status,
            Nfsstat4::StaleClientid
        ));
    }
    refused.must_be(what, &[Nfsstat4::StaleClientid, Nfsstat4::Expired])
}

fn same_client(b: &mut Bench<'_>) -> Outcome {
    let identity = b.new_identity();
    let first = set(b, identity.client_owner())?;
    confirms(b, &first)?;
    let again = set(b, identity.client_owner())?;
    b.equal("client ID", first.clientid, again.clientid)?;
    // Both are right: the client's record is only updated.
    confirms(b, &again)?;
    renews(b, first.clientid)
}

/// The same client with another verifier, as after its restart.
fn restarted(ownerid: &[u8]) -> ClientOwner4<'_> {
    ClientOwner4 {
        verifier: *b"restart!",
        ownerid,
    }
}

fn another_id(b: &mut Bench<'_>) -> Outcome {
    let identity = b.new_identity();
    let first = set(b, identity.client_owner())?;
    confirms(b, &first)?;
    let second = set(b, restarted(identity.ownerid()))?;
    b.holds(
        first.clientid != second.clientid,
        "another client ID",
        "the same one",
    )?;
    renews(b, first.clientid)?;
    confirms(b, &second)?;
    let what = "RENEW of the client ID before the restart";
    let wanted = [Nfsstat4::StaleClientid, Nfsstat4::Expired];
    renew(b, what, first.clientid)?.must_be(what, &wanted)?;
    renews(b, second.clientid)
}

fn opens(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    let mut first = b.another();
    let denying = Opening::of(b"file", share::READ).denying(share::BOTH);
    b.succeeds("OPEN", || first.open(&dir, &denying))?;
    let second = set(b, restarted(&first.ownerid()))?;
    let other = Opening::of(b"file", share::BOTH);
    let before = [Nfsstat4::ShareDenied];
    b.open_refused("OPEN before SETCLIENTID_CONFIRM", &before, &other)?;
    confirms(b, &second)?;
    b.opens(&other).map(drop)
}

fn wrong_verifier(b: &mut Bench<'_>) -> Outcome {
    let identity = b.new_identity();
    let mut set = set(b, identity.client_owner())?;
    set.setclientid_confirm[3] ^= 0x55;
    let what = "SETCLIENTID_CONFIRM with another verifier";
    confirm(b, what, &set)?.must_be(what, &[Nfsstat4::StaleClientid])
}

fn confirmed_twice(b: &mut Bench<'_>) -> Outcome {
    let identity = b.new_identity();
    let set = set(b, identity.client_owner())?;
    confirms(b, &set)?;
    confirms(b, &set)?;
    renews(b, set.clientid)
}

fn confirm_unknown(b: &mut Bench<'_>) -> Outcome {
    let what = "SETCLIENTID_CONFIRM of an unknown client ID";
    let unknown = SetclientidOk {
        clientid: UNKNOWN,
        setclientid_confirm: *b"verifier",
    };
    confirm(b, what, &unknown)?.must_be(what, &[Nfsstat4::StaleClientid])
}

fn renewed(b: &mut Bench<'_>) -> Outcome {
    let clientid = b
        .nfs
        .clientid()
        .map_err(|error| no_answer("a client ID", &error))?;
    renews(b, clientid)?;
    renews(b, clientid)
}

fn renew_unknown(b: &mut Bench<'_>) -> Outcome {
    let what = "RENEW of an unknown client ID";
    renew(b, what, UNKNOWN)?.must_be(what, &[Nfsstat4::StaleClientid])
}

fn open_unknown(b: &mut Bench<'_>) -> Outcome {
    let (dir, what) = (b.dir, "OPEN with an unknown client ID");
    b.file(b"file")?;
    let opening = Opening::of(b"file", share::READ);
    let answer = alone(b, what, |compound| {
        compound
            .op(&putfh(&dir))
            .op(&numbered(&opening, UNKNOWN, 0));
    })?;
    answer.must_be(what, &[Nfsstat4::StaleClientid])
}

fn release_unknown(b: &mut Bench<'_>) -> Outcome {
    let what = "RELEASE_LOCKOWNER with an unknown client ID";
    let answer = alone(b, what, |compound| {
        compound.op(&ReleaseLockownerArgs {
            lock_owner: StateOwner4 {
                clientid: UNKNOWN,
                owner: OWNER,
            },
        });
    })?;
    answer.must_be(what, &[Nfsstat4::StaleClientid])
}

/// An OPEN with this client ID and number.
fn numbered<'a>(opening: &Opening<'a>, clientid: Clientid4, seqid: u32) -> OpenArgs<'a> {
    OpenArgs {
        seqid,
        share_access: opening.access,
        owner: StateOwner4 {
            clientid,
            owner: opening.owner,
        },
        ..opening.args()
    }
}

/// An owner of opens that the server knows and has confirmed: its open file, the client ID and its next number.
fn known_owner(b: &mut Bench<'_>) -> Result<(Opened, Clientid4, u32), Stop> {
    let opened = b.open_new(b"file")?;
    let clientid = b
        .nfs
        .clientid()
        .map_err(|error| no_answer("a client ID", &error))?;
    Ok((
        opened,
        clientid,
        b.nfs.numbers.next(&Owner::of_opens(OWNER)),
    ))
}

/// A COMPOUND on the connection of the bench's client.
fn by_client(b: &mut Bench<'_>, what: &str, args: &[u8]) -> Result<Answer, Stop> {
    let rpc: &mut RpcClient = b.nfs.nfs.rpc();
    send(rpc, what, args)
}

fn confirmed_open(b: &mut Bench<'_>) -> Outcome {
    let (dir, mode) = (b.dir, of_mode(0o644));
    let clientid = b
        .nfs
        .clientid()
        .map_err(|error| no_answer("a client ID", &error))?;
    let how = Createhow4::Guarded(Fattr4::new(&mode));
    let opening = Opening::new_file(b"file", how).by(b"a new owner");
    let args = written(b.minor(), |compound| {
        compound
            .op(&putfh(&dir))
            .op(&numbered(&opening, clientid, 7))
            .op(&GetfhArgs {});
    });
    let answer = by_client(b, "OPEN of a new owner", &args)?;
    answer.must_be("OPEN of a new owner", &[Nfsstat4::Ok])?;
    let open = answer.result::<OpenArgs<'_>, _>(1, |result| {
        let ok = result.ok()?;
        Some((ok.stateid, ok.rflags))
    });
    let file = answer.result::<GetfhArgs, _>(2, |result| Some(result.ok()?.object.to_fh()));
    let (Some((mut stateid, rflags)), Some(file)) = (open, file) else {
        return Err(Stop::fail("OPEN, GETFH: their results", "none"));
    };
    let asks = rflags & open_result::CONFIRM != 0;
    if asks {
        let args = written(b.minor(), |compound| {
            compound.op(&putfh(&file)).op(&OpenConfirmArgs {
                open_stateid: stateid,
                seqid: 8,
            });
        });
        let answer = by_client(b, "OPEN_CONFIRM", &args)?;
        answer.must_be("OPEN_CONFIRM", &[Nfsstat4::Ok])?;
        let confirmed =
            answer.result::<OpenConfirmArgs, _>(1, |result| Some(result.ok()?.open_stateid));
        let confirmed = confirmed.ok_or_else(|| Stop::fail("OPEN_CONFIRM: its results", "none"))?;
        b.equal("the stateid without seqid", stateid.other, confirmed.other)?;
        b.equal("seqid", stateid.seqid.wrapping_add(1), confirmed.seqid)?;
        stateid = confirmed;
    }
    let args = close(b, &file, stateid, if asks { 9 } else { 8 });
    by_client(b, "CLOSE", &args)?.must_be("CLOSE", &[Nfsstat4::Ok])?;
    match asks {
        true => Ok(()),
        false => Err(Stop::skip("the server does not ask for OPEN_CONFIRM")),
    }
}

fn close(b: &Bench<'_>, file: &Fh4, open_stateid: Stateid4, seqid: u32) -> Vec<u8> {
    written(b.minor(), |compound| {
        compound.op(&putfh(file)).op(&CloseArgs {
            seqid,
            open_stateid,
        });
    })
}

/// The call succeeds, and its second sending has the same results.
fn same_twice(b: &mut Bench<'_>, what: &str, args: &[u8]) -> Result<Answer, Stop> {
    let first = by_client(b, what, args)?;
    first.must_be(what, &[Nfsstat4::Ok])?;
    let again = by_client(b, &format!("{what}, sent again"), args)?;
    b.equal(
        &format!("{what}, sent again: status"),
        first.status,
        again.status,
    )?;
    b.holds(
        first.body == again.body,
        &format!("{what}, sent again: the same results"),
        "others",
    )?;
    Ok(first)
}

fn open_again(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let (_, clientid, seqid) = known_owner(b)?;
    let mode = of_mode(0o644);
    // Executed again, it would answer NFS4ERR_EXIST.
    let opening = Opening::new_file(b"another", Createhow4::Guarded(Fattr4::new(&mode)));
    let args = written(b.minor(), |compound| {
        compound
            .op(&putfh(&dir))
            .op(&numbered(&opening, clientid, seqid));
    });
    let answer = same_twice(b, "OPEN", &args)?;
    let stateid = answer.result::<OpenArgs<'_>, _>(1, |result| Some(result.ok()?.stateid));
    let stateid = stateid.ok_or_else(|| Stop::fail("OPEN: its results", "none"))?;
    let file = b.find(&dir, b"another")?;
    note(&mut b.nfs, stateid, file);
    Ok(())
}

/// The owner's operation by hand was executed, and has opened this.
fn note(client: &mut Client, stateid: Stateid4, file: Fh4) {
    let owner = Owner::of_opens(OWNER);
    client.numbers.answered(&owner, &Ok(()));
    client.numbers.note(&owner, stateid);
    client.hold(file, stateid, None);
}

fn open_wrong(b: &mut Bench<'_>) -> Outcome {
    let (dir, what) = (b.dir, "OPEN with a skipped number");
    let (_, clientid, seqid) = known_owner(b)?;
    let opening = Opening::of(b"file", share::BOTH);
    let args = written(b.minor(), |compound| {
        let args = numbered(&opening, clientid, seqid.wrapping_add(5));
        compound.op(&putfh(&dir)).op(&args);
    });
    by_client(b, what, &args)?.must_be(what, &[Nfsstat4::BadSeqid])?;
    // The owner is as it was.
    b.opens(&opening).map(drop)
}

fn failed_open(b: &mut Bench<'_>) -> Outcome {
    known_owner(b)?;
    let none = Opening::of(b"none", share::READ);
    b.open_refused("OPEN of nothing", &[Nfsstat4::Noent], &none)?;
    b.opens(&Opening::of(b"file", share::READ)).map(drop)
}

fn close_again(b: &mut Bench<'_>) -> Outcome {
    let (opened, _, seqid) = known_owner(b)?;
    let args = close(b, &opened.file, opened.stateid, seqid);
    // The stateid that CLOSE returns has no meaning.
    let first = by_client(b, "CLOSE", &args)?;
    first.must_be("CLOSE", &[Nfsstat4::Ok])?;
    b.nfs.closed_by_hand(&opened.stateid);
    let what = "CLOSE, sent again";
    by_client(b, what, &args)?.must_be(what, &[Nfsstat4::Ok])
}

fn close_wrong(b: &mut Bench<'_>) -> Outcome {
    let what = "CLOSE with a skipped number";
    let (opened, _, seqid) = known_owner(b)?;
    let args = close(b, &opened.file, opened.stateid, seqid.wrapping_add(5));
    by_client(b, what, &args)?.must_be(what, &[Nfsstat4::BadSeqid])?;
    b.closes(&opened)
}

/// A file with a lock of the owner `OTHER`, and the state of that.
fn locked(b: &mut Bench<'_>) -> Result<(Opened, Stateid4), Stop> {
    let opened = b.open_new(b"file")?;
    let locker = super::lock::new_locker(&opened, OTHER);
    let range = Range::write(0, 100);
    let stateid = b.done_if_supported("LOCK", |client| client.lock(&opened.file, range, locker))?;
    Ok((opened, stateid))
}

/// LOCK of another range by an owner with locks.
fn lock_more(b: &Bench<'_>, file: &Fh4, lock_stateid: Stateid4, lock_seqid: u32) -> Vec<u8> {
    written(b.minor(), |compound| {
        compound.op(&putfh(file)).op(&LockArgs {
            locktype: NfsLockType4::Write,
            reclaim: false,
            offset: 1000,
            length: 10,
            locker: Locker4::Existing(ExistLockOwner4 {
                lock_stateid,
                lock_seqid,
            }),
        });
    })
}

fn lock_again(b: &mut Bench<'_>) -> Outcome {
    let (opened, stateid) = locked(b)?;
    let owner = Owner::of_locks(OTHER);
    let args = lock_more(b, &opened.file, stateid, b.nfs.numbers.next(&owner));
    let answer = same_twice(b, "LOCK", &args)?;
    let latest = answer.result::<LockArgs<'_>, _>(1, |result| Some(result.ok()?.lock_stateid));
    let latest = latest.ok_or_else(|| Stop::fail("LOCK: its results", "none"))?;
    b.nfs.numbers.answered(&owner, &Ok(()));
    b.nfs.numbers.note(&owner, latest);
    b.nfs
        .hold(opened.file, latest, Some(Range::write(1000, 10)));
    b.equal("seqid", stateid.seqid.wrapping_add(1), latest.seqid)
}

fn lock_wrong(b: &mut Bench<'_>) -> Outcome {
    let what = "LOCK with a skipped number";
    let (opened, stateid) = locked(b)?;
    let next = b.nfs.numbers.next(&Owner::of_locks(OTHER));
    let args = lock_more(b, &opened.file, stateid, next.wrapping_add(5));
    by_client(b, what, &args)?.must_be(what, &[Nfsstat4::BadSeqid])
}

fn release_held(b: &mut Bench<'_>) -> Outcome {
    locked(b)?;
    let wanted = [Nfsstat4::LocksHeld];
    b.refused(
        "RELEASE_LOCKOWNER of an owner with locks",
        &wanted,
        |client| client.release(OTHER),
    )
    .map(drop)
}

fn release_free(b: &mut Bench<'_>) -> Outcome {
    let (opened, stateid) = locked(b)?;
    let range = Range::write(0, 100);
    b.done("LOCKU", |client| {
        client.unlock(&opened.file, stateid, range)
    })?;
    b.nfs.unlocked_by_hand(&stateid);
    b.done("RELEASE_LOCKOWNER", |client| client.release(OTHER))?;
    let latest = b.nfs.latest(stateid);
    let next = b.nfs.numbers.next(&Owner::of_locks(OTHER));
    let what = "LOCK with the state of an owner that was released";
    let args = lock_more(b, &opened.file, latest, next);
    let refused = by_client(b, what, &args)?;
    if refused.status != Nfsstat4::BadStateid {
        b.note(format!(
            "{what}: {}; {} is usual",
            refused.status,
            Nfsstat4::BadStateid
        ));
    }
    b.holds(
        refused.status != Nfsstat4::Ok,
        &format!("{what}: a refusal"),
        refused.status,
    )
}
