//! CREATE_SESSION, SEQUENCE, BIND_CONN_TO_SESSION, RECLAIM_COMPLETE and DESTROY_SESSION.

use super::client::putfh;
use super::ops::{Bench, Check, Outcome, Subject};
use super::raw::{Raw, UNKNOWN, create_session_args, send, written};
use crate::validate::wire::own_connection;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs4::*;

const CREATE: Subject = Subject::Op(Operation::CreateSession);
const SEQUENCE: Subject = Subject::Op(Operation::Sequence);
const BIND: Subject = Subject::Op(Operation::BindConnToSession);
const DESTROY: Subject = Subject::Op(Operation::DestroySession);
const SLOTS: &str = "RFC 8881 section 2.10.6.1";

checks! { CHECKS: Check =>
    "create_session.limits", CREATE, "grants limits of 1 or more, and no longer replies than requested" => limits;
    "create_session.replay", CREATE, "a call with the same sequence number returns the same session" => replay;
    "create_session.misordered", CREATE, "a wrong sequence number answers NFS4ERR_SEQ_MISORDERED" => create_misordered;
    "create_session.stale", CREATE, "an unknown client ID answers NFS4ERR_STALE_CLIENTID" => stale_clientid;
    "sequence.answer", SEQUENCE, "returns session, slot and sequence number of the call" => answer;
    "sequence.misordered", SEQUENCE, "a skipped sequence number answers NFS4ERR_SEQ_MISORDERED" => misordered, by SLOTS;
    "sequence.badslot", SEQUENCE, "a slot that was not granted answers NFS4ERR_BADSLOT" => badslot;
    "sequence.badsession", SEQUENCE, "an unknown session answers NFS4ERR_BADSESSION" => badsession;
    "sequence.missing", SEQUENCE, "an operation without SEQUENCE answers NFS4ERR_OP_NOT_IN_SESSION" => missing;
    "sequence.not_first", SEQUENCE, "SEQUENCE as second operation answers NFS4ERR_SEQUENCE_POS" => not_first;
    "sequence.too_many_ops", SEQUENCE, "one operation more than ca_maxoperations answers NFS4ERR_TOO_MANY_OPS" => too_many_ops;
    "bind_conn.badsession", BIND, "an unknown session answers NFS4ERR_BADSESSION" => bind_badsession;
    "bind_conn.bound", BIND, "a second connection carries calls of the session" => bound;
    "reclaim_complete.twice", Subject::Op(Operation::ReclaimComplete), "the second call answers NFS4ERR_COMPLETE_ALREADY" => complete_already;
    "destroy_session.gone", DESTROY, "the session does not exist any more" => session_gone;
    "destroy_session.unknown", DESTROY, "an unknown session answers NFS4ERR_BADSESSION" => session_unknown;
}

/// The longest COMPOUND that is sent, in operations, beside the one too many.
const OPERATIONS_MOST: u32 = 256;
const UNKNOWN_SESSION: Sessionid4 = [0xa5; 16];

/// A further session of the client, which ends with `raw`.
fn create(raw: &mut Raw) -> Result<CreateSessionOk, Stop> {
    let args = create_session_args(raw.clientid, raw.create_sequence);
    let answer = raw.send("CREATE_SESSION", |compound| {
        compound.op(&args);
    })?;
    answer.must_be("CREATE_SESSION", &[Nfsstat4::Ok])?;
    let ok = answer.result::<CreateSessionArgs<'_>, _>(0, |result| result.ok());
    let ok = ok.ok_or_else(|| Stop::fail("CREATE_SESSION: its results", "none"))?;
    raw.also_ends(ok.sessionid);
    Ok(ok)
}

fn limits(b: &mut Bench<'_>) -> Outcome {
    let mut raw = b.raw()?;
    let asked = create_session_args(raw.clientid, raw.create_sequence).fore_chan_attrs;
    let granted = create(&mut raw)?.fore_chan_attrs;
    // What the client accepts. The other limits are what the server accepts (section 18.36.3).
    let most = asked.maxresponsesize;
    b.holds(
        granted.maxresponsesize <= most,
        &format!("ca_maxresponsesize: {most} or less"),
        granted.maxresponsesize,
    )?;
    for (name, asked, granted) in [
        (
            "ca_maxrequestsize",
            asked.maxrequestsize,
            granted.maxrequestsize,
        ),
        (
            "ca_maxresponsesize",
            asked.maxresponsesize,
            granted.maxresponsesize,
        ),
        (
            "ca_maxoperations",
            asked.maxoperations,
            granted.maxoperations,
        ),
        ("ca_maxrequests", asked.maxrequests, granted.maxrequests),
    ] {
        b.holds(granted != 0, &format!("{name}: 1 or more"), granted)?;
        if granted > asked {
            b.note(format!("{name}: {granted} are granted, {asked} requested"));
        }
    }
    Ok(())
}

fn replay(b: &mut Bench<'_>) -> Outcome {
    let mut raw = b.raw()?;
    let first = create(&mut raw)?;
    let second = create(&mut raw)?;
    b.equal("session", first.sessionid, second.sessionid)?;
    b.equal("sequence number", raw.create_sequence, second.sequence)
}

fn create_misordered(b: &mut Bench<'_>) -> Outcome {
    let mut raw = b.raw()?;
    let args = create_session_args(raw.clientid, raw.create_sequence.wrapping_add(7));
    let answer = raw.send("CREATE_SESSION", |compound| {
        compound.op(&args);
    })?;
    answer.must_be("CREATE_SESSION", &[Nfsstat4::SeqMisordered])
}

fn stale_clientid(b: &mut Bench<'_>) -> Outcome {
    let what = "CREATE_SESSION of an unknown client ID";
    let args = written(b.minor(), |compound| {
        compound.op(&create_session_args(UNKNOWN, 1));
    });
    let answer = send(&mut own_connection(b.plan, b.target), what, &args)?;
    answer.must_be(what, &[Nfsstat4::StaleClientid])
}

fn answer(b: &mut Bench<'_>) -> Outcome {
    let mut raw = b.raw()?;
    let asked = raw.sequence(false);
    let slots = raw.fore.slots;
    let answer = raw.call("SEQUENCE", false, |_| {})?;
    let ok = answer.result::<SequenceArgs, _>(0, |result| result.ok());
    let ok = ok.ok_or_else(|| Stop::fail("SEQUENCE: its results", answer.status))?;
    b.equal(
        "session, slot and sequence number",
        (asked.sessionid, asked.slotid, asked.sequenceid),
        (ok.sessionid, ok.slotid, ok.sequenceid),
    )?;
    if ok.highest_slotid >= slots {
        b.note(format!(
            "sr_highest_slotid is {} of {slots} slots",
            ok.highest_slotid
        ));
    }
    Ok(())
}

fn misordered(b: &mut Bench<'_>) -> Outcome {
    let mut raw = b.raw()?;
    let next = raw.sequence(false);
    for ahead in [1, 1000, 1 << 31] {
        let what = format!("SEQUENCE {ahead} ahead");
        let args = SequenceArgs {
            sequenceid: next.sequenceid.wrapping_add(ahead),
            ..next
        };
        let answer = raw.send(&what, |compound| {
            compound.op(&args).op(&PutrootfhArgs {});
        })?;
        answer.must_be(&what, &[Nfsstat4::SeqMisordered])?;
    }
    // The slot is as it was.
    raw.call("SEQUENCE with the right number afterwards", false, |_| {})
        .map(drop)
}

fn badslot(b: &mut Bench<'_>) -> Outcome {
    let mut raw = b.raw()?;
    let created = create(&mut raw)?;
    let slotid = created.fore_chan_attrs.maxrequests;
    let what = format!("SEQUENCE in slot {slotid} of {slotid}");
    let answer = raw.send(&what, |compound| {
        compound.op(&SequenceArgs {
            sessionid: created.sessionid,
            sequenceid: 1,
            slotid,
            highest_slotid: slotid,
            cachethis: false,
        });
    })?;
    if answer.status == Nfsstat4::BadHighSlot {
        b.note(format!("{what}: {}", answer.status));
        return Ok(());
    }
    answer.must_be(&what, &[Nfsstat4::Badslot])
}

fn badsession(b: &mut Bench<'_>) -> Outcome {
    let mut raw = b.raw()?;
    let args = SequenceArgs {
        sessionid: UNKNOWN_SESSION,
        ..raw.sequence(false)
    };
    let what = "SEQUENCE of an unknown session";
    let answer = raw.send(what, |compound| {
        compound.op(&args);
    })?;
    answer.must_be(what, &[Nfsstat4::Badsession])
}

fn missing(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let answer = b.raw()?.send("PUTFH without SEQUENCE", |compound| {
        compound.op(&putfh(&dir));
    })?;
    answer.must_be("PUTFH without SEQUENCE", &[Nfsstat4::OpNotInSession])
}

fn not_first(b: &mut Bench<'_>) -> Outcome {
    let mut raw = b.raw()?;
    let again = raw.sequence(false);
    let what = "SEQUENCE, SEQUENCE";
    let answer = raw.call(what, false, |compound| {
        compound.op(&again);
    })?;
    answer.must_be(what, &[Nfsstat4::SequencePos])
}

fn too_many_ops(b: &mut Bench<'_>) -> Outcome {
    let mut raw = b.raw()?;
    let created = create(&mut raw)?;
    let most = created.fore_chan_attrs.maxoperations;
    if most > OPERATIONS_MOST {
        let why = format!("ca_maxoperations is {most}: more than {OPERATIONS_MOST} are not sent");
        return Err(Stop::Skip(why));
    }
    let what = format!("{} operations, where {most} are granted", most + 1);
    let answer = raw.send(&what, |compound| {
        compound.op(&SequenceArgs {
            sessionid: created.sessionid,
            sequenceid: 1,
            slotid: 0,
            highest_slotid: 0,
            cachethis: false,
        });
        for _ in 0..most {
            compound.op(&PutrootfhArgs {});
        }
    })?;
    answer.must_be(&what, &[Nfsstat4::TooManyOps])
}

fn bind(sessid: Sessionid4) -> BindConnToSessionArgs {
    BindConnToSessionArgs {
        sessid,
        dir: channel_dir::FORE,
        use_conn_in_rdma_mode: false,
    }
}

fn bind_badsession(b: &mut Bench<'_>) -> Outcome {
    let what = "BIND_CONN_TO_SESSION of an unknown session";
    let args = written(b.minor(), |compound| {
        compound.op(&bind(UNKNOWN_SESSION));
    });
    let answer = send(&mut own_connection(b.plan, b.target), what, &args)?;
    answer.must_be(what, &[Nfsstat4::Badsession])
}

fn bound(b: &mut Bench<'_>) -> Outcome {
    let raw = b.raw()?;
    let mut second = own_connection(b.plan, b.target);
    let args = written(b.minor(), |compound| {
        compound.op(&bind(raw.sessionid));
    });
    let answer = send(&mut second, "BIND_CONN_TO_SESSION", &args)?;
    answer.must_be("BIND_CONN_TO_SESSION", &[Nfsstat4::Ok])?;
    let args = raw.call_bytes(false, |compound| {
        compound.op(&PutrootfhArgs {});
    });
    let answer = send(&mut second, "SEQUENCE on the second connection", &args)?;
    answer.must_be(
        "SEQUENCE, PUTROOTFH on the second connection",
        &[Nfsstat4::Ok],
    )
}

fn complete_already(b: &mut Bench<'_>) -> Outcome {
    let what = "RECLAIM_COMPLETE for the second time";
    let answer = b.raw()?.call(what, false, |compound| {
        compound.op(&ReclaimCompleteArgs { one_fs: false });
    })?;
    answer.must_be(what, &[Nfsstat4::CompleteAlready])
}

fn session_gone(b: &mut Bench<'_>) -> Outcome {
    let mut raw = b.raw()?;
    let sessionid = create(&mut raw)?.sessionid;
    let destroyed = raw.send("DESTROY_SESSION", |compound| {
        compound.op(&DestroySessionArgs { sessionid });
    })?;
    destroyed.must_be("DESTROY_SESSION", &[Nfsstat4::Ok])?;
    let what = "SEQUENCE after DESTROY_SESSION";
    let answer = raw.send(what, |compound| {
        compound.op(&SequenceArgs {
            sessionid,
            sequenceid: 1,
            slotid: 0,
            highest_slotid: 0,
            cachethis: false,
        });
    })?;
    answer.must_be(what, &[Nfsstat4::Badsession])
}

fn session_unknown(b: &mut Bench<'_>) -> Outcome {
    let what = "DESTROY_SESSION of an unknown session";
    let args = written(b.minor(), |compound| {
        compound.op(&DestroySessionArgs {
            sessionid: UNKNOWN_SESSION,
        });
    });
    let answer = send(&mut own_connection(b.plan, b.target), what, &args)?;
    answer.must_be(what, &[Nfsstat4::Badsession])
}
