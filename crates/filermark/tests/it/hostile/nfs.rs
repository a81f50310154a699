//! NFSv3 over TCP: the embedded server behind a proxy.

use super::{Begins, Expect, ProxyState, Row, run_all};
use crate::load_guard::beside_others;
use crate::second_client::serve;
use crate::sweep::Sweep;
use filermark_model::{Op, Rule};
use filermark_onc::nfs3::{PROGRAM, Procedure};
use filermark_server::{RunningServer, ServerOptions};
use filermark_testbed::{Direction, NfsProxy, ProxiedMessage, ProxyAction};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The embedded server answers quickly, so the timeout can be short.
const BROKEN_MS: u64 = 4000;

/// Bytes of a reply before its results: xid, REPLY, accepted, no verifier, SUCCESS.
pub(super) const RESULTS: usize = 24;
/// The status, and whether attributes follow.
pub(super) const ATTRIBUTES: usize = RESULTS + 8;

/// ACCESS calls of RUN before the faults begin.
const GOOD_COUNT: u64 = 2;

/// A call that waits for its reply.
pub(super) struct Asked {
    pub(super) procedure: Procedure,
    /// The record of the call as the client sent it.
    pub(super) record: Vec<u8>,
}

/// The state of a proxy, without the calls under way.
#[derive(Default)]
pub(super) struct Memory {
    /// Replies since the faults began.
    replies: u64,
    /// Some earlier reply to another procedure.
    other: HashMap<u32, Vec<u8>>,
}

/// What happens to a reply.
pub(super) type Answer = fn(&mut Memory, &Asked, Vec<u8>) -> Vec<ProxyAction>;
/// What happens to a call.
pub(super) type Call = fn(Procedure, Vec<u8>) -> Vec<u8>;

pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..at + 4).unwrap_or(&[0; 4]);
    u32::from_be_bytes(word.try_into().expect("four bytes"))
}

pub(super) fn put(bytes: &mut [u8], at: usize, word: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&word.to_be_bytes());
    }
}

/// The procedure of a call, if it is one of NFSv3.
fn procedure(call: &[u8]) -> Option<Procedure> {
    let nfs = word(call, 4) == 0 && word(call, 12) == PROGRAM && word(call, 16) == 3;
    let number = word(call, 20);
    Procedure::ALL
        .iter()
        .find(|p| nfs && **p as u32 == number)
        .copied()
}

/// A proxy of the server, and the row of a run through it.
pub(super) fn row(
    server: &RunningServer,
    name: &str,
    begins: Begins,
    expect: Expect,
    call: Option<Call>,
    answer: Answer,
) -> Row {
    let state = Arc::new(ProxyState::default());
    let own = Arc::clone(&state);
    let mut asked: HashMap<(usize, u32), Asked> = HashMap::new();
    let mut memory = Memory::default();
    let script = move |passing: &ProxiedMessage<'_>| {
        let message = passing.message.to_vec();
        let key = (passing.connection, word(&message, 0));
        let wrong = own.wrong.load(Ordering::Relaxed);
        if passing.way == Direction::ToServer {
            let Some(procedure) = procedure(&message) else {
                return vec![ProxyAction::Send(message)];
            };
            if matches!(procedure, Procedure::Create | Procedure::Symlink) {
                own.object_made(begins);
            }
            let record = message.clone();
            asked.insert(key, Asked { procedure, record });
            return vec![ProxyAction::Send(match call {
                Some(call) if wrong => call(procedure, message),
                _ => message,
            })];
        }
        let Some(asked) = asked.remove(&key) else {
            return vec![ProxyAction::Send(message)];
        };
        if asked.procedure == Procedure::Access {
            own.run_replied(begins, 1, GOOD_COUNT);
        }
        if !wrong {
            memory.other.insert(asked.procedure as u32, message.clone());
            return vec![ProxyAction::Send(message)];
        }
        memory.replies += 1;
        answer(&mut memory, &asked, message)
    };
    let proxy = NfsProxy::start(server.addrs()[0], script).expect("a proxy");
    let suffix: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    let sweep = Sweep::at(proxy.address())
        .suffix(&format!("{suffix}{}", begins as u8))
        .set("LOAD", 100)
        .set("RPC_TIMEOUT_MS", expect.timeout_ms(BROKEN_MS))
        .set("CONNECT_TIMEOUT_MS", expect.timeout_ms(BROKEN_MS));
    Row {
        name: format!("NFS {name}"),
        begins,
        expect,
        sweep,
        state,
        only_in_run: &[Op::Access],
        // Only the operation calls ACCESS.
        other_count: 0,
        proxy: Box::new(proxy),
    }
}

fn pass(_: &mut Memory, _: &Asked, reply: Vec<u8>) -> Vec<ProxyAction> {
    vec![ProxyAction::Send(reply)]
}

fn garbage(memory: &mut Memory, _: &Asked, reply: Vec<u8>) -> Vec<ProxyAction> {
    let mut state = memory.replies.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let noise = reply.iter().map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    });
    vec![ProxyAction::Raw(noise.collect())]
}

fn truncated(_: &mut Memory, _: &Asked, reply: Vec<u8>) -> Vec<ProxyAction> {
    vec![ProxyAction::Send(reply[..reply.len() / 2].to_vec())]
}

/// A record of 2 GiB.
fn giant(_: &mut Memory, _: &Asked, reply: Vec<u8>) -> Vec<ProxyAction> {
    vec![ProxyAction::Raw([&[0xff; 4], &reply[..]].concat())]
}

/// Fragments of which none is the last.
fn endless_record(_: &mut Memory, _: &Asked, reply: Vec<u8>) -> Vec<ProxyAction> {
    let mark = (reply.len() as u32).to_be_bytes();
    vec![ProxyAction::Raw([&mark[..], &reply].concat())]
}

fn wrong_xid(_: &mut Memory, _: &Asked, mut reply: Vec<u8>) -> Vec<ProxyAction> {
    let xid = word(&reply, 0);
    put(&mut reply, 0, !xid);
    vec![ProxyAction::Send(reply)]
}

fn twice(_: &mut Memory, _: &Asked, reply: Vec<u8>) -> Vec<ProxyAction> {
    vec![ProxyAction::Send(reply.clone()), ProxyAction::Send(reply)]
}

/// The results of another procedure, with the xid of this one.
fn other_procedure(memory: &mut Memory, asked: &Asked, reply: Vec<u8>) -> Vec<ProxyAction> {
    let own = asked.procedure as u32;
    let other = memory.other.iter().find(|(number, _)| **number != own);
    let mut other = other.map_or_else(|| reply.clone(), |(_, reply)| reply.clone());
    put(&mut other, 0, word(&reply, 0));
    vec![ProxyAction::Send(other)]
}

fn resets(memory: &mut Memory, _: &Asked, reply: Vec<u8>) -> Vec<ProxyAction> {
    match memory.replies.is_multiple_of(20) {
        true => vec![ProxyAction::Close],
        false => vec![ProxyAction::Send(reply)],
    }
}

fn byte_by_byte(_: &mut Memory, _: &Asked, reply: Vec<u8>) -> Vec<ProxyAction> {
    let mark = reply.len() as u32 | 1 << 31;
    let bytes = [&mark.to_be_bytes()[..], &reply].concat();
    bytes
        .into_iter()
        .map(|byte| ProxyAction::Raw(vec![byte]))
        .collect()
}

fn silent(_: &mut Memory, _: &Asked, _: Vec<u8>) -> Vec<ProxyAction> {
    Vec::new()
}

/// No listing ends: each part states that there are more.
fn listing_never_ends(_: &mut Memory, asked: &Asked, mut reply: Vec<u8>) -> Vec<ProxyAction> {
    if matches!(asked.procedure, Procedure::Readdir | Procedure::Readdirplus) {
        let end = reply.len();
        put(&mut reply, end - 4, 0);
    }
    vec![ProxyAction::Send(reply)]
}

/// Every listing begins again, whatever the cookie.
fn from_the_beginning(procedure: Procedure, mut call: Vec<u8>) -> Vec<u8> {
    if matches!(procedure, Procedure::Readdir | Procedure::Readdirplus) {
        let handle = arguments(&call);
        let cookie = handle + 4 + word(&call, handle) as usize;
        if let Some(place) = call.get_mut(cookie..cookie + 16) {
            place.fill(0);
        }
    }
    call
}

/// Where the arguments of a call begin: after the credentials and the verifier.
pub(super) fn arguments(call: &[u8]) -> usize {
    let cred = word(call, 28) as usize;
    let verifier = 32 + cred;
    verifier + 8 + word(call, verifier + 4) as usize
}

/// Where the attributes are in a successful reply that has them.
fn attributes(asked: &Asked, reply: &[u8]) -> Option<usize> {
    let ok = word(reply, RESULTS) == 0;
    match asked.procedure {
        Procedure::Getattr if ok => Some(RESULTS + 4),
        Procedure::Read | Procedure::Access if ok && word(reply, RESULTS + 4) == 1 => {
            Some(ATTRIBUTES)
        }
        Procedure::Lookup if ok => {
            let handle = word(reply, RESULTS + 4) as usize;
            let present = RESULTS + 8 + handle;
            (word(reply, present) == 1).then_some(present + 4)
        }
        _ => None,
    }
}

/// Every object is a socket.
fn wrong_type(_: &mut Memory, asked: &Asked, mut reply: Vec<u8>) -> Vec<ProxyAction> {
    if let Some(at) = attributes(asked, &reply) {
        put(&mut reply, at, 6);
    }
    vec![ProxyAction::Send(reply)]
}

/// Every file has 2^60 bytes.
fn wrong_size(_: &mut Memory, asked: &Asked, mut reply: Vec<u8>) -> Vec<ProxyAction> {
    if let Some(at) = attributes(asked, &reply) {
        put(&mut reply, at + 20, 1 << 28);
    }
    vec![ProxyAction::Send(reply)]
}

/// Each reply names another file system.
fn wrong_fsid(memory: &mut Memory, asked: &Asked, mut reply: Vec<u8>) -> Vec<ProxyAction> {
    if let Some(at) = attributes(asked, &reply) {
        put(&mut reply, at + 48, memory.replies as u32);
    }
    vec![ProxyAction::Send(reply)]
}

use Begins::{AtOnce, InInit, InRun};
use Expect::{Fails, Invalid, Right, RightOr};

#[test]
fn slow_outcomes_with_faulty_nfs_servers() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let row =
        |name, begins, expect, answer: Answer| row(&server, name, begins, expect, None, answer);
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
        row("giant records", InInit, Fails(&["INIT"]), giant),
        row("giant records", InRun, broken, giant),
        row("records without an end", InRun, broken, endless_record),
        row("wrong xids", InInit, Fails(&["INIT"]), wrong_xid),
        row("wrong xids", InRun, broken, wrong_xid),
        row(
            "replies sent twice",
            AtOnce,
            Fails(&["answered call"]),
            twice,
        ),
        row("replies sent twice", InRun, Right, twice),
        row(
            "replies of other procedures",
            InInit,
            Fails(&["INIT"]),
            other_procedure,
        ),
        row(
            "replies of other procedures",
            InRun,
            broken,
            other_procedure,
        ),
        row("resets", InRun, Right, resets),
        row("byte by byte", AtOnce, Right, byte_by_byte),
        row("silent", AtOnce, Fails(&[]), silent),
        row("silent", InInit, Fails(&["INIT"]), silent),
        row("silent", InRun, broken, silent),
        row(
            "listings without an end",
            InRun,
            RightOr(&[Rule::Errors]),
            listing_never_ends,
        ),
        row("wrong types", InRun, Right, wrong_type),
        row("wrong sizes", InRun, Right, wrong_size),
        row("changing file systems", InRun, Right, wrong_fsid),
    ];
    let with_calls = |name, begins, expect, call: Call, answer: Answer| {
        self::row(&server, name, begins, expect, Some(call), answer)
    };
    rows.push(with_calls(
        "listings in a loop",
        InRun,
        Right,
        from_the_beginning,
        pass,
    ));
    run_all(rows);
}
