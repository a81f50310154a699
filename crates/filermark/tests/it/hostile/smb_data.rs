//! SMB: servers that return other data than was written, or less data.

use super::nfs_data::rewriting;
use super::smb::{
    Answer, COMMAND, HEADER, Memory, Request, STATUS, each, parts, pass, put, row, u16_at, u32_at,
};
use super::{Begins, Expect, run_all};
use crate::load_guard::beside_others;
use crate::smb::samba;
use filermark_model::Rule;
use filermark_testbed::{ProxyAction, SambaOptions};

const READ: u16 = 8;
const WRITE: u16 = 9;

const STATUS_END_OF_FILE: u32 = 0xC000_0011;

fn no_data(_: &mut Memory, mut reply: Vec<u8>) -> Vec<ProxyAction> {
    each(&mut reply, READ, 0, |part| {
        put(part, STATUS, &STATUS_END_OF_FILE.to_le_bytes());
        put(part, HEADER, &[9, 0, 0, 0, 0, 0, 0, 0, 0]);
    });
    let alone = parts(&reply).len() == 1 && u32_at(&reply, STATUS) == STATUS_END_OF_FILE;
    reply.truncate(if alone { HEADER + 9 } else { reply.len() });
    vec![ProxyAction::Send(reply)]
}

fn early_end(_: &mut Memory, mut reply: Vec<u8>) -> Vec<ProxyAction> {
    each(&mut reply, READ, 0, |part| {
        let half = u32_at(part, HEADER + 4) / 2;
        put(part, HEADER + 4, &half.to_le_bytes());
    });
    if parts(&reply).len() == 1 && u16_at(&reply, COMMAND) == READ && u32_at(&reply, STATUS) == 0 {
        let data = usize::from(reply[HEADER + 2]);
        reply.truncate(data + u32_at(&reply, HEADER + 4) as usize);
    }
    vec![ProxyAction::Send(reply)]
}

fn wrong_data(_: &mut Memory, mut reply: Vec<u8>) -> Vec<ProxyAction> {
    each(&mut reply, READ, 0, |part| {
        let data = usize::from(part[HEADER + 2]);
        let bytes = u32_at(part, HEADER + 4) as usize;
        for byte in part.iter_mut().skip(data).take(bytes) {
            *byte ^= 0x5a;
        }
    });
    vec![ProxyAction::Send(reply)]
}

/// Writes zeroes instead of the data.
fn zeroes(request: &mut [u8]) {
    each(request, WRITE, 0, |part| {
        let data = usize::from(u16_at(part, HEADER + 2));
        let bytes = u32_at(part, HEADER + 4) as usize;
        for byte in part.iter_mut().skip(data).take(bytes) {
            *byte = 0;
        }
    });
}

/// Writes far beyond the file's end: the earlier data is not changed.
fn elsewhere(request: &mut [u8]) {
    each(request, WRITE, 0, |part| put(part, HEADER + 12, &[1]));
}

use Begins::{InInit, InRun};
use Expect::Invalid;

#[test]
fn data_that_is_lost_or_changed_makes_a_run_over_smb_invalid() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let lost = Invalid(&[Rule::DataLost]);
    // The client has the length of the file, so it may refuse a shorter reply.
    let early = Invalid(&[Rule::DataLost, Rule::Errors]);
    let changed = Invalid(&[Rule::DataVerify]);
    let row = |name, begins, expect, request: Option<Request>, answer: Answer| {
        row(&samba, name, begins, expect, request, answer)
    };
    run_all(vec![
        row("no data", InRun, lost, None, no_data),
        row("early ends of files", InRun, early, None, early_end),
        row("wrong data", InRun, changed, None, wrong_data),
        row("zeroes written", InInit, changed, Some(zeroes), pass),
        rewriting(row("old data", InRun, changed, Some(elsewhere), pass)),
    ]);
}
