//! What becomes of a client's state when the client restarts.

use super::client::Opening;
use super::exchange::give_up;
use super::ops::{Bench, Check, Outcome, Subject};
use super::raw::{Answer, create_session_args, exchange_id_args, send, session_of, written};
use crate::validate::text::no_answer;
use crate::validate::wire::own_connection;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs4::*;

const EXCHANGE: Subject = Subject::Op(Operation::ExchangeId);

checks! { CHECKS: Check =>
    "recovery.unconfirmed", EXCHANGE, "EXCHANGE_ID with another verifier leaves the state until CREATE_SESSION" => unconfirmed;
    "recovery.opens", EXCHANGE, "a client that restarted loses its opens with CREATE_SESSION" => opens;
    "recovery.sessions", EXCHANGE, "a client that restarted loses its sessions with CREATE_SESSION" => sessions;
}

/// EXCHANGE_ID of the client's name with another verifier: the new client ID and its sequence number.
fn restarted(b: &Bench<'_>, ownerid: &[u8]) -> Result<(Clientid4, u32), Stop> {
    let what = "EXCHANGE_ID with another verifier";
    let args = written(b.minor(), |compound| {
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
    give_up(b, clientid)?;
    written_to.and(closed)
}

/// A client opens a file and denies all access to others, and restarts. Returns the answers to its old
/// session's next SEQUENCE and to OPEN by the bench's client.
fn restart(b: &mut Bench<'_>) -> Result<(Answer, Result<(), Nfsstat4>), Stop> {
    let dir = b.dir;
    b.file(b"file")?;
    let mut first = b.another();
    let denying = Opening::of(b"file", share::READ).denying(share::BOTH);
    b.succeeds("OPEN", || first.open(&dir, &denying))?;
    let up = first.nfs.session();
    let up = up.map_err(|error| no_answer("a session", &error))?;
    // The next call of the old session, as it would be right.
    let next = up.session.sequence(0, false);
    let (clientid, sequence) = restarted(b, &first.ownerid())?;
    let mut rpc = own_connection(b.plan, b.target);
    let args = written(b.minor(), |compound| {
        compound.op(&create_session_args(clientid, sequence));
    });
    let created = send(&mut rpc, "CREATE_SESSION", &args)?;
    let sessionid = match session_of(&created) {
        Ok(sessionid) => sessionid,
        Err(stop) => {
            give_up(b, clientid)?;
            return Err(stop);
        }
    };
    let args = written(b.minor(), |compound| {
        compound.op(&next);
    });
    let of_old = send(first.nfs.rpc(), "SEQUENCE of the old session", &args);
    let other = Opening::of(b"file", share::BOTH);
    let opened = b.either("OPEN", |client| client.open(&dir, &other));
    // The second client is ended, whatever it showed.
    let args = written(b.minor(), |compound| {
        compound.op(&DestroySessionArgs { sessionid });
    });
    let destroyed = send(&mut rpc, "DESTROY_SESSION", &args).map(drop);
    destroyed.and(give_up(b, clientid))?;
    Ok((of_old?, opened?.map(drop)))
}

fn opens(b: &mut Bench<'_>) -> Outcome {
    let (_, opened) = restart(b)?;
    opened.map_err(|status| {
        let what = "OPEN of a file that the client had open before its restart";
        Stop::fail(format!("{what}: {}", Nfsstat4::Ok), status)
    })
}

fn sessions(b: &mut Bench<'_>) -> Outcome {
    let (of_old, _) = restart(b)?;
    let wanted = [Nfsstat4::Badsession, Nfsstat4::Deadsession];
    of_old.must_be("SEQUENCE of the old session", &wanted)
}
