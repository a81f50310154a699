//! What becomes of a client's state when the client restarts.

use super::client::Opening;
use super::ops::{Bench, Check, Outcome, Subject};
use super::raw::{create_session_args, exchange_id_args, send, written};
use crate::validate::text::no_answer;
use crate::validate::wire::own_connection;
use crate::version4::MINOR_VERSION;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs4::*;

const EXCHANGE: Subject = Subject::Op(Operation::ExchangeId);

checks! { CHECKS: Check =>
    "recovery.unconfirmed", EXCHANGE, "EXCHANGE_ID with another verifier leaves the state until CREATE_SESSION" => unconfirmed;
    "recovery.restart", EXCHANGE, "a client that restarted loses its sessions and opens with CREATE_SESSION" => restart;
}

/// EXCHANGE_ID of the client's name with another verifier: the new client ID and its sequence number.
fn restarted(b: &Bench<'_>, ownerid: &[u8]) -> Result<(Clientid4, u32), Stop> {
    let what = "EXCHANGE_ID with another verifier";
    let args = written(MINOR_VERSION, |compound| {
        let owner = ClientOwner4 {
            verifier: *b"restart!",
            ownerid,
        };
        compound.op(&exchange_id_args(owner, 0));
    });
    let answer = send(&mut own_connection(b.plan, b.target), what, &args)?;
    answer.must_be(what, &[Nfsstat4::Ok])?;
    let ids = answer.result::<ExchangeIdArgs<'_>, _>(0, |result| {
        let ok = result.ok()?;
        Some((ok.clientid, ok.sequenceid))
    });
    ids.ok_or_else(|| Stop::fail(format!("{what}: its results"), "none"))
}

fn unconfirmed(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let ownerid = b.nfs.ownerid();
    let (clientid, _) = restarted(b, &ownerid)?;
    // The session is still there, and so is the open.
    let written_to = b.writes(&opened, b"data");
    let closed = b.closes(&opened);
    let args = written(MINOR_VERSION, |compound| {
        compound.op(&DestroyClientidArgs { clientid });
    });
    send(
        &mut own_connection(b.plan, b.target),
        "DESTROY_CLIENTID",
        &args,
    )?;
    written_to.and(closed)
}

fn restart(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    let mut first = b.another();
    let denying = Opening::of(b"file", share::READ).denying(share::BOTH);
    let opened = first.open(&dir, &denying);
    b.succeeds("OPEN", opened)?;
    let up = first
        .nfs
        .session()
        .map_err(|error| no_answer("a session", &error))?;
    let old = up.session.sessionid();
    let (clientid, sequence) = restarted(b, &first.ownerid())?;
    let mut rpc = own_connection(b.plan, b.target);
    let args = written(MINOR_VERSION, |compound| {
        compound.op(&create_session_args(clientid, sequence));
    });
    let created = send(&mut rpc, "CREATE_SESSION", &args)?;
    created.must_be("CREATE_SESSION", &[Nfsstat4::Ok])?;
    let session =
        created.result::<CreateSessionArgs<'_>, _>(0, |result| Some(result.ok()?.sessionid));
    let session = session.ok_or_else(|| Stop::fail("CREATE_SESSION: its results", "none"))?;
    let args = written(MINOR_VERSION, |compound| {
        compound.op(&SequenceArgs {
            sessionid: old,
            sequenceid: 1,
            slotid: 0,
            highest_slotid: 0,
            cachethis: false,
        });
    });
    let of_old = send(first.nfs.rpc(), "SEQUENCE of the old session", &args)?;
    let opened = b.opens(&Opening::of(b"file", share::BOTH));
    // The second client is ended, whatever it showed.
    for write in [
        written(MINOR_VERSION, |compound| {
            compound.op(&DestroySessionArgs { sessionid: session });
        }),
        written(MINOR_VERSION, |compound| {
            compound.op(&DestroyClientidArgs { clientid });
        }),
    ] {
        send(&mut rpc, "the end of the client", &write)?;
    }
    first.forget();
    of_old.must_be(
        "SEQUENCE of the old session",
        &[Nfsstat4::Badsession, Nfsstat4::Deadsession],
    )?;
    opened.map(drop)
}
