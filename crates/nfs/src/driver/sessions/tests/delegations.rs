//! DELEGATIONS=keep against a server in the test: recalls that come at any time, and revocations.

use super::*;
use filermark_model::plan::DelegationUse;
use filermark_onc::nfs4::Operation::*;
use filermark_onc::nfs4::callback::{
    self, Args as CbArgs, CbGetattrArgs, CbRecallAnyArgs, CbRecallArgs, CbSequenceArgs,
};
use filermark_onc::nfs4::{
    Attribute, Bitmap4, CompoundRes, CompoundWriter, FileHandle4, Nfsstat4, PROC_COMPOUND,
    Sessionid4, Stateid4,
};
use filermark_onc::rpc::{CallHeader, OpaqueAuth, ReplyHeader};
use filermark_onc::xdr::{self, Array, Decoder};
use std::time::{Duration, Instant};

/// The server numbers clients and sessions from 1.
fn session() -> Sessionid4 {
    let mut id = [0; 16];
    id[7] = 2;
    id
}

/// The first and the second delegation that the server grants to its first client.
fn stateid(number: u64) -> Stateid4 {
    let mut other = [9; 12];
    other[..8].copy_from_slice(&number.to_be_bytes());
    Stateid4 { seqid: 1, other }
}

fn keeping(writes: bool, script: impl FnMut(&Seen) -> Deed + Send + 'static) -> Bench {
    let server = Server::start(16, script);
    server.state().grants = Some(writes);
    let plan = NfsPlan {
        delegations: DelegationUse::Keep,
        ..plan()
    };
    Bench::with(plan, 1, server)
}

/// A callback with one operation behind CB_SEQUENCE.
pub(super) fn callback(xid: u32, sequenceid: u32, args: &CbArgs<'_>) -> Vec<u8> {
    callback_of(MinorVersion::V1, xid, sequenceid, args)
}

pub(super) fn callback_of(
    minor: MinorVersion,
    xid: u32,
    sequenceid: u32,
    args: &CbArgs<'_>,
) -> Vec<u8> {
    let mut out = Vec::new();
    let header = CallHeader {
        xid,
        prog: 0x4000_0000,
        vers: callback::VERSION,
        proc: PROC_COMPOUND,
        cred: OpaqueAuth::NONE,
        verf: OpaqueAuth::NONE,
    };
    xdr::append(&mut out, &header);
    let mut compound = CompoundWriter::begin_callback(&mut out, b"", minor.number(), 0);
    compound.op(&CbSequenceArgs {
        sessionid: session(),
        sequenceid,
        slotid: 0,
        highest_slotid: 0,
        cachethis: false,
        referring_call_lists: Array::EMPTY,
    });
    compound.any(args);
    compound.finish();
    out
}

fn recall(xid: u32, sequenceid: u32, stateid: Stateid4) -> Deed {
    Deed::Call(callback(
        xid,
        sequenceid,
        &CbArgs::Recall(CbRecallArgs {
            stateid,
            truncate: false,
            fh: FileHandle4::new(b"file").expect("short"),
        }),
    ))
}

/// Waits until the server has so many answers to callbacks; their xids and statuses.
#[track_caller]
pub(super) fn answers(bench: &mut Bench, count: usize) -> Vec<(u32, Nfsstat4)> {
    let until = Instant::now() + Duration::from_secs(60);
    while bench.server.state().answers.len() < count {
        assert!(Instant::now() < until);
        bench.succeed(getattr());
    }
    let answers = bench.server.state().answers.clone();
    let of = |answer: &Vec<u8>| {
        let mut d = Decoder::new(answer);
        let header: ReplyHeader<'_> = xdr::Decode::decode(&mut d).expect("a header");
        let compound = CompoundRes::<callback::Operation>::decode(&mut d).expect("results");
        (header.xid, compound.status)
    };
    answers.iter().map(of).collect()
}

/// Waits until the server's state is so, and until the replies that it has sent by then are read.
#[track_caller]
pub(super) fn wait_for(bench: &mut Bench, is_so: impl Fn(&server::State) -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so(&bench.server.state()) {
        assert!(Instant::now() < until);
        bench.succeed(getattr());
    }
    bench.succeed(getattr());
}

/// The stateid of the open is 3 in the server's numbers, that of the delegation 4.
const FIRST: u64 = 4;

#[test]
fn a_recall_is_answered_once_and_again_with_the_same_results() {
    let mut reads = 0;
    let mut bench = keeping(false, move |seen| {
        reads += u32::from(seen.has(Read));
        match (seen.has(Read), reads) {
            (true, 1) => recall(70, 1, stateid(FIRST)),
            (true, 2) => recall(71, 1, stateid(FIRST)),
            (true, 3) => recall(72, 2, stateid(FIRST)),
            _ => Deed::Good,
        }
    });
    bench.succeed(read(0, SIZE));
    wait_for(&mut bench, |state| state.delegations.is_empty());
    bench.succeed(read(0, SIZE));
    bench.succeed(read(0, SIZE));
    let expected = [
        (70, Nfsstat4::Ok),
        // Sent again: the same results, although it is returned meanwhile.
        (71, Nfsstat4::Ok),
        (72, Nfsstat4::Badhandle),
    ];
    assert_eq!(answers(&mut bench, 3), expected);
    let counters = bench.counters();
    assert_eq!((counters["OPEN"], counters["DELEGRETURN"]), (1, 1));
    assert_eq!(counters["delegations_recalled"], 1);
    assert_eq!(counters["delegations_returned"], 1);
    bench.end();
}

/// The recall is in front of the reply to the OPEN: the client cannot know the delegation.
#[test]
fn a_recall_that_overtakes_its_open_is_to_be_sent_again() {
    let mut opens = 0;
    let mut bench = keeping(false, move |seen| {
        opens += u32::from(seen.has(Open));
        match seen.has(Open) && opens == 1 {
            true => recall(70, 1, stateid(FIRST)),
            false => Deed::Good,
        }
    });
    bench.succeed(read(0, SIZE));
    assert_eq!(answers(&mut bench, 1), [(70, Nfsstat4::Delay)]);
    let counters = bench.counters();
    assert_eq!(counters.get("delegations_recalled"), None);
    bench.end();
}

#[test]
fn a_delegation_that_was_revoked_is_confirmed_and_the_file_stays_open() {
    let mut left = 1;
    let mut bench = keeping(true, move |seen| match seen.has(Write) && left > 0 {
        true => {
            left -= 1;
            Deed::Fail(1, Nfsstat4::DelegRevoked)
        }
        false => Deed::Good,
    });
    bench.succeed(write(0, SIZE));
    wait_for(&mut bench, |state| state.freed == 1);
    let counters = bench.counters();
    assert_eq!((counters["OPEN"], counters["WRITE"]), (1, 2));
    assert_eq!(counters["delegations_revoked"], 1);
    assert_eq!(counters.get("lost_opens"), None);
    bench.server.state().delegations.clear();
    bench.end();
}

#[test]
fn a_return_that_is_refused_ends_and_is_counted() {
    let mut bench = keeping(false, |seen| match seen.has(Delegreturn) {
        true => Deed::Fail(1, Nfsstat4::DelegRevoked),
        false => Deed::Good,
    });
    bench.succeed(create(1));
    bench.succeed(remove(1));
    wait_for(&mut bench, |state| state.freed == 1);
    let counters = bench.counters();
    assert_eq!(counters["delegations_revoked"], 1);
    assert_eq!(counters.get("delegations_returned"), None);
    bench.server.state().delegations.clear();
    bench.end();
}

#[test]
fn attributes_are_those_of_the_grant_and_of_what_was_written() {
    let ask = |xid, sequenceid| {
        Deed::Call(callback(
            xid,
            sequenceid,
            &CbArgs::Getattr(CbGetattrArgs {
                fh: FileHandle4::new(b"file").expect("short"),
                attr_request: Bitmap4::of(&[Attribute::Change, Attribute::Size]),
            }),
        ))
    };
    let mut calls = 0;
    let mut bench = keeping(true, move |seen| {
        calls += u32::from(seen.has(Getattr) && !seen.has(Write) && !seen.has(Open));
        match calls {
            1 if !seen.has(Write) && !seen.has(Open) => ask(70, 1),
            _ => Deed::Good,
        }
    });
    bench.succeed(write(0, SIZE));
    assert_eq!(answers(&mut bench, 1), [(70, Nfsstat4::Ok)]);
    let answer = bench.server.state().answers[0].clone();
    let mut d = Decoder::new(&answer);
    let _: ReplyHeader<'_> = xdr::Decode::decode(&mut d).expect("a header");
    let mut results = CompoundRes::<callback::Operation>::decode(&mut d).expect("results");
    results
        .read::<CbSequenceArgs<'_>>()
        .expect("read")
        .expect("CB_SEQUENCE");
    let found = results
        .read::<CbGetattrArgs<'_>>()
        .expect("read")
        .expect("attributes");
    let values = found.obj_attributes.attributes().expect("attributes");
    assert_eq!((values.change, values.size), (Some(41), Some(SIZE.into())));
    bench.end();
}

#[test]
fn what_is_beyond_the_number_that_may_stay_is_returned() {
    let any = CbArgs::RecallAny(CbRecallAnyArgs {
        objects_to_keep: 1,
        type_mask: Bitmap4::EMPTY.with_bit(0),
    });
    let call = callback(70, 1, &any);
    let mut asked = 0;
    let mut bench = keeping(false, move |seen| {
        let is_plain = seen.ops == [Putfh, Getattr];
        asked += u32::from(is_plain);
        match is_plain && asked == 1 {
            true => Deed::Call(call.clone()),
            false => Deed::Good,
        }
    });
    for number in 1..=3 {
        bench.succeed(create(number));
    }
    assert_eq!(bench.server.state().delegations.len(), 3);
    wait_for(&mut bench, |state| state.delegations.len() == 1);
    assert_eq!(answers(&mut bench, 1), [(70, Nfsstat4::Ok)]);
    assert_eq!(bench.counters()["delegations_recalled"], 2);
    bench.end();
}

/// A call under way whose delegation is recalled is sent again as it was: another stateid would make it
/// another call in its slot.
#[test]
fn a_call_that_is_sent_again_keeps_its_stateid() {
    let mut reads = 0;
    let server = Server::start(16, move |seen| {
        reads += u32::from(seen.has(Read));
        match seen.has(Read) && reads == 2 {
            true => Deed::Silent,
            false => Deed::Good,
        }
    });
    server.state().grants = Some(false);
    let plan = NfsPlan {
        delegations: DelegationUse::Keep,
        rpc_timeout_ms: 300,
        rpc_retries: 100,
        ..plan()
    };
    let mut bench = Bench::with(plan, 1, server);
    bench.succeed(read(0, SIZE));
    let token = bench.submit(0, read(0, SIZE));
    let until = Instant::now() + Duration::from_secs(60);
    while bench.server.state().read_with.len() < 2 {
        assert!(Instant::now() < until);
        bench.shard.flush();
        let now = bench.shard.core.state.clock.now();
        let mut done = Vec::new();
        bench.shard.poll(now, &mut done).expect("sockets work");
        assert!(done.is_empty());
    }
    let core = &mut bench.shard.core;
    assert_eq!(core.recall(0, &stateid(FIRST)), Nfsstat4::Ok);
    assert_eq!(bench.wait(1)[&token].status, Status::Ok);
    wait_for(&mut bench, |state| state.delegations.is_empty());
    bench.succeed(read(0, SIZE));
    let read_with = bench.server.state().read_with.clone();
    let (held, open) = (stateid(FIRST).other, read_with.last().copied());
    assert_eq!(
        read_with[..read_with.len() - 1],
        vec![held; read_with.len() - 1]
    );
    assert!(read_with.len() >= 4 && open != Some(held), "{read_with:?}");
    assert!(bench.counters()["reconnects"] > 0);
    bench.end();
}

/// Two READs use it: its recall comes with the reply to the first one, and the second one is answered later.
#[test]
fn a_delegation_in_use_is_not_returned_before_its_last_call_has_ended() {
    let mut reads = 0;
    let server = Server::start(16, move |seen| {
        reads += u32::from(seen.has(Read));
        match (seen.has(Read), reads) {
            (true, 2) => Deed::Silent,
            (true, 3) => recall(70, 1, stateid(FIRST)),
            _ => Deed::Good,
        }
    });
    server.state().grants = Some(false);
    let plan = NfsPlan {
        delegations: DelegationUse::Keep,
        rpc_timeout_ms: 300,
        rpc_retries: 100,
        ..plan()
    };
    let mut bench = Bench::with(plan, 1, server);
    bench.succeed(read(0, SIZE));
    for _ in 0..2 {
        bench.submit(0, read(0, SIZE));
    }
    let outcomes = bench.wait(2);
    assert!(outcomes.values().all(|o| o.status == Status::Ok));
    wait_for(&mut bench, |state| state.delegations.is_empty());
    let state = bench.server.state();
    assert_eq!(state.read_with, vec![stateid(FIRST).other; 4]);
    let of = |operation| {
        let mut executed = state.executed.iter();
        executed.rposition(|ops| ops.contains(&operation))
    };
    assert!(of(Read) < of(Delegreturn), "{:?}", state.executed);
    drop(state);
    assert_eq!(bench.counters()["delegations_returned"], 1);
    bench.end();
}

/// A file that is open for reading alone is opened for writing before its size is set: the server refuses that
/// with the stateid of the other open (NFS4ERR_OPENMODE).
#[test]
fn a_size_is_set_with_an_open_for_writing() {
    let mut bench = keeping(false, |_| Deed::Good);
    bench.succeed(read(0, SIZE));
    bench.succeed(Action::Setattr {
        object: FILE,
        size: Some(0),
    });
    bench.succeed(Action::Setattr {
        object: FILE,
        size: None,
    });
    let counters = bench.counters();
    // This server has a state for each OPEN, so it is not ended.
    assert_eq!((counters["OPEN"], counters["SETATTR"]), (2, 2));
}

/// The server calls over any connection of the session; a callback that is sent again over another one gets the
/// same results, and nothing is done twice.
#[test]
fn callbacks_are_answered_over_every_connection_of_a_session() {
    let mut first: Option<usize> = None;
    let mut is_repeated = false;
    let script = move |seen: &Seen| {
        if seen.ops != [Putfh, Getattr] || is_repeated || first == Some(seen.conn) {
            return Deed::Good;
        }
        is_repeated = first.replace(seen.conn).is_some();
        recall(50 + u32::from(is_repeated), 1, stateid(FIRST))
    };
    let server = Server::start(16, script);
    server.state().grants = Some(false);
    let plan = NfsPlan {
        delegations: DelegationUse::Keep,
        nconnect: 2,
        ..plan()
    };
    let mut bench = Bench::with(plan, 1, server);
    bench.succeed(read(0, SIZE));
    let answers = answers(&mut bench, 2);
    assert_eq!(answers, [(50, Nfsstat4::Ok), (51, Nfsstat4::Ok)]);
    wait_for(&mut bench, |state| state.delegations.is_empty());
    let counters = bench.counters();
    assert_eq!(counters["delegations_recalled"], 1);
    assert_eq!((counters["callbacks"], counters["DELEGRETURN"]), (2, 1));
    bench.end();
}
