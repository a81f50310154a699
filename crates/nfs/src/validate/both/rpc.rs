//! NULL, and the RPC layer below.

use super::ops::Common;
use crate::validate::bench::Bench;
use crate::validate::text::no_answer;
use crate::validate::wire::{UNKNOWN_PROGRAM, own_connection, refused_by_rpc};
use filermark_driver_kit::checks::Outcome;

pub(in crate::validate) fn null<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    V::null(&mut b.nfs).map_err(|error| no_answer("NULL", &error))
}

pub(in crate::validate) fn prog_unavail<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let call = (UNKNOWN_PROGRAM, 0, &[][..]);
    let what = "an unknown program";
    refused_by_rpc(
        &mut own_connection(b.plan, b.target),
        what,
        call,
        "PROG_UNAVAIL",
    )
    .map(drop)
}
