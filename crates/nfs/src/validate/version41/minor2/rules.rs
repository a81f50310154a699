//! The rules of minor versions (RFC 8178), as they hold for this one.

use crate::validate::version41::ops::{Bench, Check, Outcome, Subject};
use crate::validate::version41::raw::{send, written};
use crate::validate::wire::own_connection;
use filermark_driver_kit::checks;
use filermark_onc::nfs4::*;

const RULES: &str = "RFC 8178 section 8.1";

checks! { CHECKS: Check =>
    "minor2.same_server", Subject::Compound, "a server of minor version 2 also has minor version 1, or says so" => other_minor, by RULES;
    "minor2.not_in_minor1", Subject::Op(Operation::Seek), "SEEK with minor version 1 is refused" => not_in_minor1, by RULES;
}

/// The answer to PUTROOTFH without a session shows whether a minor version is served.
fn other_minor(b: &mut Bench<'_>) -> Outcome {
    let what = "PUTROOTFH with minor version 1, without SEQUENCE";
    let args = written(1, |compound| {
        compound.op(&PutrootfhArgs {});
    });
    let answer = send(&mut own_connection(b.plan, b.target), what, &args)?;
    answer.must_be(
        what,
        &[Nfsstat4::OpNotInSession, Nfsstat4::MinorVersMismatch],
    )?;
    if answer.status == Nfsstat4::MinorVersMismatch {
        b.note("the server does not have minor version 1");
    }
    Ok(())
}

/// The session is of minor version 2, so the server may refuse the minor version as well.
fn not_in_minor1(b: &mut Bench<'_>) -> Outcome {
    let what = "SEEK with minor version 1";
    let raw = b.raw()?;
    let sequence = raw.sequence(false);
    drop(raw);
    let args = written(1, |compound| {
        compound.op(&sequence).op(&PutrootfhArgs {}).op(&SeekArgs {
            stateid: Stateid4::ANONYMOUS,
            offset: 0,
            what: DataContent4::Data,
        });
    });
    let answer = send(&mut own_connection(b.plan, b.target), what, &args)?;
    b.holds(
        answer.status != Nfsstat4::Ok,
        &format!("{what}: a refusal"),
        answer.status,
    )
}
