//! EXCHANGE_ID and DESTROY_CLIENTID.

use super::client::Opening;
use super::ops::{Bench, Check, Outcome, Subject};
use super::raw::{UNKNOWN, create_session_args, exchange_id_args, send, session_of, written};
use crate::validate::text::no_answer;
use crate::validate::wire::own_connection;
use crate::version4::ClientIdentity;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs4::*;

const EXCHANGE: Subject = Subject::Op(Operation::ExchangeId);
const DESTROY: Subject = Subject::Op(Operation::DestroyClientid);

checks! { CHECKS: Check =>
    "exchange_id.roles", EXCHANGE, "states a role, and that the client ID is new" => roles;
    "exchange_id.same", EXCHANGE, "the same client gets the same client ID, now confirmed" => same_client;
    "exchange_id.flags", EXCHANGE, "a flag of the server in the request answers NFS4ERR_INVAL" => flags;
    "exchange_id.only_op", EXCHANGE, "with another operation and without SEQUENCE answers NFS4ERR_NOT_ONLY_OP" => only_op;
    "exchange_id.update", EXCHANGE, "an update of an unknown client answers NFS4ERR_NOENT" => update;
    "destroy_clientid.session", DESTROY, "a client ID with a session answers NFS4ERR_CLIENTID_BUSY" => busy_with_session;
    "destroy_clientid.state", DESTROY, "a client ID with an open file answers NFS4ERR_CLIENTID_BUSY" => busy_with_state;
    "destroy_clientid.stale", DESTROY, "an unknown client ID answers NFS4ERR_STALE_CLIENTID" => client_unknown;
}

/// EXCHANGE_ID on a connection of its own; what `take` makes of the results.
fn exchange<T>(
    b: &Bench<'_>,
    owner: ClientOwner4<'_>,
    flags: u32,
    take: impl Fn(&ExchangeIdOk<'_>) -> T,
) -> Result<Result<T, Nfsstat4>, Stop> {
    let what = "EXCHANGE_ID";
    let args = written(b.minor(), |compound| {
        compound.op(&exchange_id_args(owner, flags));
    });
    let answer = send(&mut own_connection(b.plan, b.target), what, &args)?;
    let result =
        answer.result::<ExchangeIdArgs<'_>, _>(0, |result| Some(result.map(|ok| take(&ok))));
    result.ok_or_else(|| Stop::fail(format!("{what}: its results"), answer.status))
}

fn exchanged<T>(
    b: &Bench<'_>,
    owner: ClientOwner4<'_>,
    take: impl Fn(&ExchangeIdOk<'_>) -> T,
) -> Result<T, Stop> {
    exchange(b, owner, 0, take)?
        .map_err(|status| Stop::fail(format!("EXCHANGE_ID: {}", Nfsstat4::Ok), status))
}

/// DESTROY_CLIENTID of a client ID without sessions. What is refused there ends with the lease.
pub(super) fn give_up(b: &Bench<'_>, clientid: Clientid4) -> Outcome {
    let args = written(b.minor(), |compound| {
        compound.op(&DestroyClientidArgs { clientid });
    });
    send(
        &mut own_connection(b.plan, b.target),
        "DESTROY_CLIENTID",
        &args,
    )
    .map(drop)
}

fn roles(b: &mut Bench<'_>) -> Outcome {
    const ROLES: u32 = exchgid::USE_NON_PNFS | exchgid::USE_PNFS_MDS | exchgid::USE_PNFS_DS;
    let identity = b.new_identity();
    let (clientid, flags) = exchanged(b, identity.client_owner(), |ok| (ok.clientid, ok.flags))?;
    give_up(b, clientid)?;
    b.holds(
        flags & ROLES != 0,
        "one of EXCHGID4_FLAG_USE_...",
        format!("{flags:#x}"),
    )?;
    let both = exchgid::USE_NON_PNFS | exchgid::USE_PNFS_MDS;
    b.holds(
        flags & both != both,
        "not both of USE_NON_PNFS and USE_PNFS_MDS",
        format!("{flags:#x}"),
    )?;
    b.holds(
        flags & exchgid::CONFIRMED_R == 0,
        "a new client without EXCHGID4_FLAG_CONFIRMED_R",
        format!("{flags:#x}"),
    )
}

fn same_client(b: &mut Bench<'_>) -> Outcome {
    let identity = b.new_identity();
    let owner = identity.client_owner();
    let (clientid, sequence) = exchanged(b, owner, |ok| (ok.clientid, ok.sequenceid))?;
    let args = written(b.minor(), |compound| {
        compound.op(&create_session_args(clientid, sequence));
    });
    let mut rpc = own_connection(b.plan, b.target);
    let created = send(&mut rpc, "CREATE_SESSION", &args)?;
    let sessionid = match session_of(&created) {
        Ok(sessionid) => sessionid,
        Err(stop) => {
            give_up(b, clientid)?;
            return Err(stop);
        }
    };
    let again = exchanged(b, owner, |ok| (ok.clientid, ok.flags));
    let args = written(b.minor(), |compound| {
        compound.op(&DestroySessionArgs { sessionid });
    });
    send(&mut rpc, "DESTROY_SESSION", &args)?;
    give_up(b, clientid)?;
    let (again, flags) = again?;
    b.equal("client ID", clientid, again)?;
    b.holds(
        flags & exchgid::CONFIRMED_R != 0,
        "EXCHGID4_FLAG_CONFIRMED_R after CREATE_SESSION",
        format!("{flags:#x}"),
    )
}

fn flags(b: &mut Bench<'_>) -> Outcome {
    let identity = b.new_identity();
    let what = "EXCHANGE_ID with EXCHGID4_FLAG_CONFIRMED_R";
    exchange_refused(b, what, &identity, exchgid::CONFIRMED_R, Nfsstat4::Inval)
}

/// EXCHANGE_ID of a new client, which must be refused with this.
fn exchange_refused(
    b: &Bench<'_>,
    what: &str,
    identity: &ClientIdentity,
    flags: u32,
    wanted: Nfsstat4,
) -> Outcome {
    let got = match exchange(b, identity.client_owner(), flags, |ok| ok.clientid)? {
        Err(status) if status == wanted => return Ok(()),
        Err(status) => status,
        Ok(clientid) => {
            give_up(b, clientid)?;
            Nfsstat4::Ok
        }
    };
    Err(Stop::fail(format!("{what}: {wanted}"), got))
}

fn only_op(b: &mut Bench<'_>) -> Outcome {
    let identity = b.new_identity();
    let what = "EXCHANGE_ID, PUTROOTFH";
    let args = written(b.minor(), |compound| {
        compound.op(&exchange_id_args(identity.client_owner(), 0));
        compound.op(&PutrootfhArgs {});
    });
    let answer = send(&mut own_connection(b.plan, b.target), what, &args)?;
    let made = answer.result::<ExchangeIdArgs<'_>, _>(0, |result| Some(result.ok()?.clientid));
    if let Some(clientid) = made {
        give_up(b, clientid)?;
    }
    answer.must_be(what, &[Nfsstat4::NotOnlyOp])
}

fn update(b: &mut Bench<'_>) -> Outcome {
    let identity = b.new_identity();
    let what = "EXCHANGE_ID with EXCHGID4_FLAG_UPD_CONFIRMED_REC_A";
    let flags = exchgid::UPD_CONFIRMED_REC_A;
    exchange_refused(b, what, &identity, flags, Nfsstat4::Noent)
}

fn destroy_client(b: &Bench<'_>, what: &str, clientid: Clientid4, wanted: Nfsstat4) -> Outcome {
    let args = written(b.minor(), |compound| {
        compound.op(&DestroyClientidArgs { clientid });
    });
    let answer = send(&mut own_connection(b.plan, b.target), what, &args)?;
    answer.must_be(what, &[wanted])
}

fn busy_with_session(b: &mut Bench<'_>) -> Outcome {
    let raw = b.raw()?;
    let what = "DESTROY_CLIENTID with a session";
    destroy_client(b, what, raw.clientid, Nfsstat4::ClientidBusy)
}

/// The open stays when the session is gone; another session is made afterwards to close it.
fn busy_with_state(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    let mut other = b.another();
    let opening = Opening::of(b"file", share::READ);
    b.succeeds("OPEN", || other.open(&dir, &opening))?;
    let up = other.nfs.session();
    let up = up.map_err(|error| no_answer("a session", &error))?;
    let (clientid, sessionid) = (up.session.clientid(), up.session.sessionid());
    let args = written(b.minor(), |compound| {
        compound.op(&DestroySessionArgs { sessionid });
    });
    let destroyed = send(other.nfs.rpc(), "DESTROY_SESSION", &args)?;
    destroyed.must_be("DESTROY_SESSION", &[Nfsstat4::Ok])?;
    let what = "DESTROY_CLIENTID with an open file";
    destroy_client(b, what, clientid, Nfsstat4::ClientidBusy)
}

fn client_unknown(b: &mut Bench<'_>) -> Outcome {
    let what = "DESTROY_CLIENTID of an unknown client ID";
    destroy_client(b, what, UNKNOWN, Nfsstat4::StaleClientid)
}
