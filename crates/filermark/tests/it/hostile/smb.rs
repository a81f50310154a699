//! SMB 3.1.1 without signatures: Samba behind a proxy.

use super::{Begins, Expect, ProxyState, Row, run_all};
use crate::load_guard::beside_others;
use crate::smb::{ProtocolCase, samba, sweep};
use filermark_model::{Op, Rule};
use filermark_testbed::{Direction, ProxiedMessage, ProxyAction, Samba, SambaOptions, SmbProxy};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Reply timeout of runs against a server that does not answer, which wait for it several times.
/// Samba has many processes, and answers late on a busy machine.
const SILENT_MS: u64 = 20_000;
/// Reply timeout of all other runs. Some wait for it: a message of random bytes can announce more
/// than ever comes.
const REPLY_MS: u64 = 60_000;

/// Bytes of a header.
pub(super) const HEADER: usize = 64;
pub(super) const STATUS: usize = 8;
pub(super) const COMMAND: usize = 12;
const NEXT: usize = 20;
const MESSAGE_ID: usize = 24;

/// QUERY_INFO replies before the faults begin in RUN: those before RUN, and some more.
const GOOD_COUNT: u64 = 24;
/// QUERY_INFO replies that belong to no operation: free space is queried at the claim, before INIT
/// and after it. At most four have been seen.
const OTHER_COUNT: u64 = 4;
const CREATE: u16 = 5;
const QUERY_DIRECTORY: u16 = 14;
const QUERY_INFO: u16 = 16;

/// The state of a proxy.
#[derive(Default)]
pub(super) struct Memory {
    /// Replies since the faults began.
    replies: u64,
    /// Some earlier reply, by its command.
    other: HashMap<u16, Vec<u8>>,
}

/// What happens to a reply.
pub(super) type Answer = fn(&mut Memory, Vec<u8>) -> Vec<ProxyAction>;
/// What happens to a request.
pub(super) type Request = fn(&mut [u8]);

pub(super) fn u16_at(message: &[u8], at: usize) -> u16 {
    let bytes = message.get(at..at + 2).unwrap_or(&[0; 2]);
    u16::from_le_bytes(bytes.try_into().expect("two bytes"))
}

pub(super) fn u32_at(message: &[u8], at: usize) -> u32 {
    let bytes = message.get(at..at + 4).unwrap_or(&[0; 4]);
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

pub(super) fn put(message: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = message.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// Where each message of a compound begins and ends.
pub(super) fn parts(message: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut parts = Vec::new();
    let mut from = 0;
    loop {
        match u32_at(message, from + NEXT) as usize {
            0 => {
                parts.push(from..message.len());
                return parts;
            }
            next => parts.push(from..(from + next).min(message.len())),
        }
        from = parts.last().expect("one").end;
    }
}

/// Changes each message of a compound that has this command and this status.
pub(super) fn each(
    message: &mut [u8],
    command: u16,
    status: u32,
    mut change: impl FnMut(&mut [u8]),
) {
    for part in parts(message) {
        let part = &mut message[part];
        if u16_at(part, COMMAND) == command && u32_at(part, STATUS) == status {
            change(part);
        }
    }
}

pub(super) fn row(
    samba: &Samba,
    name: &str,
    begins: Begins,
    expect: Expect,
    request: Option<Request>,
    answer: Answer,
) -> Row {
    let state = Arc::new(ProxyState::default());
    let own = Arc::clone(&state);
    let mut memory = Memory::default();
    let script = move |passing: &ProxiedMessage<'_>| {
        let mut message = passing.message.to_vec();
        let commands = |command| {
            let parts = parts(passing.message).into_iter();
            parts
                .filter(|part| u16_at(&passing.message[part.clone()], COMMAND) == command)
                .count() as u64
        };
        let wrong = own.wrong.load(Ordering::Relaxed);
        if passing.way == Direction::ToServer {
            if commands(CREATE) > 0 {
                own.object_made(begins);
            }
            if let (Some(request), true) = (request, wrong) {
                request(&mut message);
            }
            return vec![ProxyAction::Send(message)];
        }
        // Free space is queried before RUN.
        own.run_replied(begins, commands(QUERY_INFO), GOOD_COUNT);
        if !wrong {
            memory
                .other
                .insert(u16_at(&message, COMMAND), message.clone());
            return vec![ProxyAction::Send(message)];
        }
        memory.replies += 1;
        answer(&mut memory, message)
    };
    let server = samba.address();
    let proxy = samba
        .sandbox()
        .run(|| SmbProxy::start(server, script).expect("a proxy"));
    let suffix: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    let timeout_ms = match name {
        "silent" => SILENT_MS,
        _ => REPLY_MS,
    };
    let sweep = sweep(samba, Samba::DATA, ProtocolCase::Smb311)
        .suffix(&format!("{suffix}{}", begins as u8))
        .set("SMB_PORT", proxy.address().port())
        .set("LOAD", 100)
        .set("RPC_TIMEOUT_MS", timeout_ms)
        .set("CONNECT_TIMEOUT_MS", timeout_ms);
    Row {
        name: format!("SMB {name}"),
        begins,
        expect,
        sweep,
        state,
        only_in_run: &[Op::QueryFile, Op::QueryPath, Op::QueryFs, Op::QuerySecurity],
        other_count: OTHER_COUNT,
        proxy: Box::new(proxy),
    }
}

pub(super) fn pass(_: &mut Memory, reply: Vec<u8>) -> Vec<ProxyAction> {
    vec![ProxyAction::Send(reply)]
}

fn garbage(memory: &mut Memory, reply: Vec<u8>) -> Vec<ProxyAction> {
    let mut state = memory.replies.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let noise = reply.iter().map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    });
    vec![ProxyAction::Raw(noise.collect())]
}

fn truncated(_: &mut Memory, reply: Vec<u8>) -> Vec<ProxyAction> {
    vec![ProxyAction::Send(reply[..reply.len() / 2].to_vec())]
}

/// A message of 16 MiB that ends early.
fn giant(_: &mut Memory, reply: Vec<u8>) -> Vec<ProxyAction> {
    vec![ProxyAction::Raw(
        [&[0, 0xff, 0xff, 0xff], &reply[..]].concat(),
    )]
}

fn wrong_id(_: &mut Memory, mut reply: Vec<u8>) -> Vec<ProxyAction> {
    put(&mut reply, MESSAGE_ID + 4, &[7]);
    vec![ProxyAction::Send(reply)]
}

fn twice(_: &mut Memory, reply: Vec<u8>) -> Vec<ProxyAction> {
    vec![ProxyAction::Send(reply.clone()), ProxyAction::Send(reply)]
}

/// The reply to another command, with the id of this one.
fn other_command(memory: &mut Memory, reply: Vec<u8>) -> Vec<ProxyAction> {
    let own = u16_at(&reply, COMMAND);
    let other = memory.other.iter().find(|(command, _)| **command != own);
    let mut other = other.map_or_else(|| reply.clone(), |(_, reply)| reply.clone());
    let id = reply[MESSAGE_ID..MESSAGE_ID + 8].to_vec();
    put(&mut other, MESSAGE_ID, &id);
    vec![ProxyAction::Send(other)]
}

fn resets(memory: &mut Memory, reply: Vec<u8>) -> Vec<ProxyAction> {
    match memory.replies.is_multiple_of(20) {
        true => vec![ProxyAction::Close],
        false => vec![ProxyAction::Send(reply)],
    }
}

fn byte_by_byte(_: &mut Memory, reply: Vec<u8>) -> Vec<ProxyAction> {
    let mark = (reply.len() as u32).to_be_bytes();
    let bytes = [&mark[..], &reply].concat();
    bytes
        .into_iter()
        .map(|byte| ProxyAction::Raw(vec![byte]))
        .collect()
}

fn silent(_: &mut Memory, _: Vec<u8>) -> Vec<ProxyAction> {
    Vec::new()
}

/// Every file has 2^60 bytes.
fn wrong_sizes(_: &mut Memory, mut reply: Vec<u8>) -> Vec<ProxyAction> {
    each(&mut reply, CREATE, 0, |part| {
        put(part, HEADER + 48, &(1u64 << 60).to_le_bytes());
    });
    vec![ProxyAction::Send(reply)]
}

/// Every object is a directory.
fn wrong_types(_: &mut Memory, mut reply: Vec<u8>) -> Vec<ProxyAction> {
    each(&mut reply, CREATE, 0, |part| {
        put(part, HEADER + 56, &0x10u32.to_le_bytes());
    });
    vec![ProxyAction::Send(reply)]
}

/// Every part of a listing is the first one.
fn from_the_beginning(request: &mut [u8]) {
    /// SMB2_RESTART_SCANS.
    const RESTART_SCANS: u8 = 1;
    each(request, QUERY_DIRECTORY, 0, |part| {
        if let Some(flags) = part.get_mut(HEADER + 3) {
            *flags |= RESTART_SCANS;
        }
    });
}

use Begins::{AtOnce, InInit, InRun};
use Expect::{Fails, Invalid, Right, RightOr};

#[test]
fn outcomes_with_faulty_smb_servers() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let row =
        |name, begins, expect, answer: Answer| row(&samba, name, begins, expect, None, answer);
    let broken = Invalid(&[
        Rule::Errors,
        Rule::OpenOperations,
        Rule::AchievedRate,
        Rule::Failed,
    ]);
    let mut rows = vec![
        row("garbage", AtOnce, Fails(&[]), garbage),
        row("garbage", InInit, Fails(&["INIT"]), garbage),
        row("garbage", InRun, broken, garbage),
        row("truncated replies", InInit, Fails(&["INIT"]), truncated),
        row("truncated replies", InRun, broken, truncated),
        row("giant messages", InRun, broken, giant),
        row("wrong message ids", InInit, Fails(&["INIT"]), wrong_id),
        row("wrong message ids", InRun, broken, wrong_id),
        row("replies sent twice", InRun, Right, twice),
        row("replies of other commands", InRun, broken, other_command),
        row("resets", InRun, broken, resets),
        // On a busy machine some of these replies are not complete when the run ends.
        row(
            "byte by byte",
            AtOnce,
            RightOr(&[Rule::OpenOperations]),
            byte_by_byte,
        ),
        row("silent", AtOnce, Fails(&[]), silent),
        row("silent", InInit, Fails(&["INIT"]), silent),
        row("silent", InRun, broken, silent),
        row("wrong sizes", InRun, Right, wrong_sizes),
        row("wrong types", InRun, Right, wrong_types),
    ];
    rows.push(self::row(
        &samba,
        "listings in a loop",
        InRun,
        RightOr(&[Rule::Errors]),
        Some(from_the_beginning),
        pass,
    ));
    run_all(rows);
}
