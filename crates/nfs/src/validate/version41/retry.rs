//! Exactly-once semantics: a call that is sent again in its slot is not executed again.

use super::client::{Opening, of_mode, putfh};
use super::ops::{Bench, Check, Outcome, Subject};
use super::raw::{Answer, Raw, Writer, send, written};
use crate::validate::wire::own_connection;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs4::*;

const CACHE: &str = "RFC 8881 section 2.10.6.1.3";
const TRUNKS: &str = "RFC 8881 section 2.10.6.2";
const CREATE: Subject = Subject::Op(Operation::Create);
const REMOVE: Subject = Subject::Op(Operation::Remove);
const OPEN: Subject = Subject::Op(Operation::Open);

checks! { CHECKS: Check =>
    "retry.create", CREATE, "a CREATE that is sent again gets the kept reply" => create, by CACHE;
    "retry.remove", REMOVE, "a REMOVE that is sent again gets the kept reply" => remove, by CACHE;
    "retry.open", OPEN, "an OPEN that is sent again gets the same stateid" => open, by CACHE;
    "retry.failure", REMOVE, "a failure is kept, too, and the call is not executed later" => failure, by CACHE;
    "retry.not_kept", REMOVE, "a call whose reply was not to be kept is not executed again" => not_kept, by CACHE;
    "retry.new_connection", REMOVE, "a call that is sent again on another connection gets the kept reply" => new_connection, by TRUNKS;
}

/// Length of a COMPOUND's status, empty tag, count, and of its first result, of SEQUENCE, in bytes.
const FRONT_BYTES: usize = 12 + 44;

/// The results behind SEQUENCE must be those of the first answer. What SEQUENCE states about the
/// session may have changed.
fn same_answer(b: &Bench<'_>, what: &str, first: &Answer, second: &Answer) -> Outcome {
    let what = format!("{what}, sent again");
    b.equal(&format!("{what}: status"), first.status, second.status)?;
    let (first, second) = (
        first.body.get(FRONT_BYTES..),
        second.body.get(FRONT_BYTES..),
    );
    b.holds(
        first.is_some() && first == second,
        &format!("{what}: the results of the first reply"),
        "other results with the same status",
    )
}

/// Makes a call whose reply is to be kept, and sends it again. Returns the first answer.
fn twice(
    b: &Bench<'_>,
    raw: &mut Raw,
    what: &str,
    write: impl Fn(&mut Writer<'_>),
) -> Result<Answer, Stop> {
    let (first, args) = raw.call_and_bytes(what, true, write)?;
    let second = raw.send_bytes(what, &args)?;
    same_answer(b, what, &first, &second)?;
    Ok(first)
}

fn create(b: &mut Bench<'_>) -> Outcome {
    let (dir, mode) = (b.dir, of_mode(0o755));
    let first = twice(b, &mut b.raw()?, "CREATE of a directory", |compound| {
        compound.op(&putfh(&dir)).op(&CreateArgs {
            objtype: Createtype4::Dir,
            objname: b"made",
            createattrs: Fattr4::new(&mode),
        });
        compound.op(&GetfhArgs {});
    })?;
    first.must_be("CREATE of a directory", &[Nfsstat4::Ok])?;
    let entries = b.list(&dir)?.len();
    b.equal("entries", 1, entries)
}

fn remove(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    let first = twice(b, &mut b.raw()?, "REMOVE", |compound| {
        compound
            .op(&putfh(&dir))
            .op(&RemoveArgs { target: b"file" });
    })?;
    first.must_be("REMOVE", &[Nfsstat4::Ok])?;
    b.absent(&dir, b"file")
}

fn open(b: &mut Bench<'_>) -> Outcome {
    let (dir, mode) = (b.dir, of_mode(0o644));
    let mut raw = b.raw()?;
    let opening = Opening::new_file(b"file", Createhow4::Guarded(Fattr4::new(&mode)));
    let (first, args) = raw.call_and_bytes("OPEN", true, |compound| {
        compound.op(&putfh(&dir)).op(&opening.args());
        compound.op(&GetfhArgs {});
    })?;
    first.must_be("OPEN", &[Nfsstat4::Ok])?;
    let stateid = first.result::<OpenArgs<'_>, _>(2, |result| Some(result.ok()?.stateid));
    let file = first.result::<GetfhArgs, _>(3, |result| Some(result.ok()?.object.to_fh()));
    let (Some(stateid), Some(file)) = (stateid, file) else {
        return Err(Stop::fail("OPEN: its results", "none"));
    };
    raw.also_closes(file, stateid);
    let second = raw.send_bytes("OPEN", &args)?;
    same_answer(b, "OPEN", &first, &second)?;
    // An OPEN that was executed twice would have changed the stateid.
    let closed = raw.call("CLOSE", true, |compound| {
        compound.op(&putfh(&file)).op(&CloseArgs {
            seqid: 0,
            open_stateid: stateid,
        });
    })?;
    closed.must_be("CLOSE with the stateid of both replies", &[Nfsstat4::Ok])
}

fn failure(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let mut raw = b.raw()?;
    let (first, args) = raw.call_and_bytes("REMOVE of nothing", true, |compound| {
        compound
            .op(&putfh(&dir))
            .op(&RemoveArgs { target: b"file" });
    })?;
    first.must_be("REMOVE of nothing", &[Nfsstat4::Noent])?;
    b.file(b"file")?;
    let second = raw.send_bytes("REMOVE of nothing", &args)?;
    b.equal(
        "REMOVE of nothing, sent again: status",
        first.status,
        second.status,
    )?;
    b.find(&dir, b"file").map(drop)
}

/// The server may keep the reply all the same (section 2.10.6.1.3).
fn not_kept(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    let mut raw = b.raw()?;
    let (first, args) = raw.call_and_bytes("REMOVE", false, |compound| {
        compound
            .op(&putfh(&dir))
            .op(&RemoveArgs { target: b"file" });
    })?;
    first.must_be("REMOVE", &[Nfsstat4::Ok])?;
    b.file(b"file")?;
    let second = raw.send_bytes("REMOVE", &args)?;
    second.must_be(
        "REMOVE, sent again",
        &[Nfsstat4::RetryUncachedRep, Nfsstat4::Ok],
    )?;
    b.find(&dir, b"file").map(drop)
}

fn new_connection(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    let mut raw = b.raw()?;
    let (first, args) = raw.call_and_bytes("REMOVE", true, |compound| {
        compound
            .op(&putfh(&dir))
            .op(&RemoveArgs { target: b"file" });
    })?;
    first.must_be("REMOVE", &[Nfsstat4::Ok])?;
    let mut other = own_connection(b.plan, b.target);
    let sessid = raw.sessionid;
    let bind = written(b.minor(), |compound| {
        compound.op(&BindConnToSessionArgs {
            sessid,
            dir: channel_dir::FORE,
            use_conn_in_rdma_mode: false,
        });
    });
    let bound = send(&mut other, "BIND_CONN_TO_SESSION", &bind)?;
    bound.must_be("BIND_CONN_TO_SESSION", &[Nfsstat4::Ok])?;
    let second = send(&mut other, "REMOVE", &args)?;
    same_answer(b, "REMOVE", &first, &second)
}
