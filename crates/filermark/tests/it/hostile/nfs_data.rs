//! NFSv3: servers that return other data than was written, or less data.

use super::nfs::{ATTRIBUTES, Answer, Asked, Call, Memory, RESULTS, arguments, put, row, word};
use super::{Begins, Expect, Row, run_all};
use crate::load_guard::beside_others;
use crate::second_client::serve;
use filermark_model::Rule;
use filermark_onc::nfs3::Procedure;
use filermark_server::ServerOptions;
use filermark_testbed::ProxyAction;

/// Bytes of a file's attributes.
const FATTR: usize = 84;

/// Where a successful READ has its count, its end-of-file flag and its data.
fn data_of(asked: &Asked, reply: &[u8]) -> Option<usize> {
    let read = asked.procedure == Procedure::Read && word(reply, RESULTS) == 0;
    let count = match word(reply, RESULTS + 4) {
        1 => ATTRIBUTES + FATTR,
        _ => ATTRIBUTES,
    };
    (read && word(reply, count) > 0).then_some(count)
}

/// Cuts the data of a READ to this number of bytes and sets the end-of-file flag.
fn ends_after(mut reply: Vec<u8>, count: usize, bytes: usize) -> Vec<u8> {
    put(&mut reply, count, bytes as u32);
    put(&mut reply, count + 4, 1);
    put(&mut reply, count + 8, bytes as u32);
    reply.truncate(count + 12 + bytes.next_multiple_of(4));
    reply
}

fn no_data(_: &mut Memory, asked: &Asked, reply: Vec<u8>) -> Vec<ProxyAction> {
    vec![ProxyAction::Send(match data_of(asked, &reply) {
        Some(count) => ends_after(reply, count, 0),
        None => reply,
    })]
}

fn early_end(_: &mut Memory, asked: &Asked, reply: Vec<u8>) -> Vec<ProxyAction> {
    vec![ProxyAction::Send(match data_of(asked, &reply) {
        Some(count) => {
            let half = word(&reply, count) as usize / 2;
            ends_after(reply, count, half)
        }
        None => reply,
    })]
}

fn wrong_data(_: &mut Memory, asked: &Asked, mut reply: Vec<u8>) -> Vec<ProxyAction> {
    if let Some(count) = data_of(asked, &reply) {
        let bytes = word(&reply, count) as usize;
        let data = count + 12;
        for byte in reply.iter_mut().skip(data).take(bytes) {
            *byte ^= 0x5a;
        }
    }
    vec![ProxyAction::Send(reply)]
}

/// A WRITE reaches the server without its data.
fn forget_data(procedure: Procedure, mut call: Vec<u8>) -> Vec<u8> {
    if procedure == Procedure::Write {
        let handle = arguments(&call);
        let count = handle + 4 + word(&call, handle) as usize + 8;
        put(&mut call, count, 0);
        put(&mut call, count + 8, 0);
        call.truncate(count + 12);
    }
    call
}

/// Changes its reply to report that all data was written.
fn all_written(_: &mut Memory, asked: &Asked, mut reply: Vec<u8>) -> Vec<ProxyAction> {
    if asked.procedure == Procedure::Write && word(&reply, RESULTS) == 0 {
        let handle = arguments(&asked.record);
        let asked_count = handle + 4 + word(&asked.record, handle) as usize + 8;
        // After the count: how it was committed, and the verifier.
        let at = reply.len() - 16;
        put(&mut reply, at, word(&asked.record, asked_count));
    }
    vec![ProxyAction::Send(reply)]
}

use Begins::{InInit, InRun};
use Expect::Invalid;

/// A run with so little data that written data is read again, all of it compared.
pub(super) fn rewriting(mut row: Row) -> Row {
    row.sweep = (row.sweep)
        .set("LOAD", 400)
        .set("FILESET_MB_PER_OP", 0.002)
        .set("VERIFY", "on");
    row
}

/// Most operations are reads and writes.
fn with_mix(mut row: Row) -> Row {
    let sweep = row.sweep.set("MIXFILE", "data.mix");
    std::fs::create_dir_all(sweep.result("")).expect("the result directory");
    let mix = "SFS MIXFILE VERSION 2\nread 45%\nwrite 45%\naccess 10%\n";
    std::fs::write(sweep.result("data.mix"), mix).expect("the mix file");
    row.sweep = sweep;
    row
}

#[test]
fn slow_data_that_is_lost_or_changed_makes_a_run_over_nfs_invalid() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let lost = Invalid(&[Rule::DataLost]);
    let changed = Invalid(&[Rule::DataVerify]);
    let row = |name, begins, expect, call: Option<Call>, answer: Answer| {
        row(&server, name, begins, expect, call, answer)
    };
    run_all(vec![
        row("no data", InRun, lost, None, no_data),
        row("early ends of files", InRun, lost, None, early_end),
        row("wrong data", InRun, changed, None, wrong_data),
        row(
            "writes forgotten",
            InInit,
            lost,
            Some(forget_data),
            all_written,
        ),
        rewriting(with_mix(row(
            "old data",
            InRun,
            changed,
            Some(forget_data),
            all_written,
        ))),
    ]);
}
