//! Copies that go on after the reply to COPY: how their operations learn of the end.

use super::delegations::{answers, callback_of};
use super::layouts::counted;
use super::server::COPYING;
use super::work::{self, Work};
use super::*;
use filermark_model::plan::NfsVersion;
use filermark_onc::nfs4::Operation::*;
use filermark_onc::nfs4::callback::{Args as CbArgs, CbOffloadArgs, OffloadFailed};
use filermark_onc::nfs4::{FileHandle4, Nfsstat4, StableHow, WriteResponse4};
use filermark_server::ServerOptions;

const LENGTH: u32 = 3 * SIZE;

fn copy(length: u32) -> Action {
    Action::V4(V4Action::Copy {
        object: FILE,
        target: ObjectId(101),
        file: 7,
        offset: 0,
        length,
    })
}

fn offload(xid: u32, number: u32, ended: Result<u64, Nfsstat4>) -> Deed {
    let response = |count| WriteResponse4 {
        callback_id: None,
        count,
        committed: StableHow::FileSync,
        writeverf: [1; 8],
    };
    let args = CbOffloadArgs {
        fh: FileHandle4::new(b"target").expect("short"),
        stateid: COPYING,
        offload_info: ended.map(response).map_err(|status| OffloadFailed {
            status,
            bytes_copied: 0,
        }),
    };
    Deed::Call(callback_of(
        MinorVersion::V2,
        xid,
        number,
        &CbArgs::Offload(args),
    ))
}

fn bench(script: impl FnMut(&Seen) -> Deed + Send + 'static) -> Bench {
    let mut bench = Bench::of_minor(MinorVersion::V2, script);
    bench.succeed(create(1));
    bench
}

/// The server calls back with the first GETATTR.
fn calling_back(ended: Result<u64, Nfsstat4>) -> impl FnMut(&Seen) -> Deed + Send + 'static {
    let mut is_over = false;
    move |seen| match seen.ops == [Putfh, Getattr] && !is_over {
        true => {
            is_over = true;
            offload(70, 1, ended)
        }
        false => Deed::Good,
    }
}

#[test]
fn an_operation_ends_with_the_callback() {
    for (ended, status) in [
        (Ok(LENGTH.into()), Status::Ok),
        (
            Err(Nfsstat4::Nospc),
            Status::Refused(Nfsstat4::Nospc.to_u32()),
        ),
        (Ok(u64::from(LENGTH) + 1), Status::Garbage),
    ] {
        let mut bench = bench(calling_back(ended));
        let copied = bench.submit(0, copy(LENGTH));
        while bench.server.state().copies.is_empty() {
            assert!(bench.turn().is_empty());
        }
        // Its reply is in front of that to another call.
        let asked = bench.submit(0, getattr());
        let done = bench.wait(2);
        assert_eq!(
            (done[&copied].status, done[&asked].status),
            (status, Status::Ok)
        );
        assert_eq!(answers(&mut bench, 1), [(70, Nfsstat4::Ok)]);
        assert_eq!(bench.server.state().copies, [false]);
        let counters = bench.counters();
        let asked = counters.get("OFFLOAD_STATUS").copied().unwrap_or(0);
        // COPY, the OPEN of its source, and what was asked meanwhile.
        assert_eq!(u64::from(done[&copied].physical), 2 + asked, "{counters:?}");
        counted(&counters, &[("callbacks", 1), ("COPY", 1)]);
        bench.end();
    }
}

/// The server is asked, and what it says is not stable is committed.
#[test]
fn the_end_of_a_copy_is_found_without_the_callback() {
    let mut bench = bench(|_| Deed::Good);
    let complete = (u64::from(LENGTH), Some(Nfsstat4::Ok));
    bench.server.state().progress = [Ok((5, None)), Ok(complete)].into();
    bench.succeed(copy(LENGTH));
    let expected = [("COPY", 1), ("OFFLOAD_STATUS", 2), ("COMMIT", 1)];
    counted(&bench.counters(), &expected);
    bench.server.state().progress = [Ok((5, Some(Nfsstat4::Io)))].into();
    let refused = bench.run(copy(LENGTH)).status;
    assert_eq!(refused, Status::Refused(Nfsstat4::Io.to_u32()));
    bench.end();
}

/// The server has restarted: the range is copied again, but not without end.
#[test]
fn a_copy_that_the_server_does_not_know_is_begun_again() {
    let mut bench = bench(|_| Deed::Good);
    let complete = (u64::from(LENGTH), Some(Nfsstat4::Ok));
    bench.server.state().progress = [Err(Nfsstat4::BadStateid), Ok(complete)].into();
    bench.succeed(copy(LENGTH));
    assert_eq!(bench.server.state().copies, [false; 2]);
    bench.server.state().progress = vec![Err(Nfsstat4::BadStateid); 9].into();
    let refused = bench.run(copy(LENGTH)).status;
    assert_eq!(refused, Status::Refused(Nfsstat4::BadStateid.to_u32()));
    assert_eq!(bench.server.state().copies.len(), 2 + 4);
    bench.end();
}

/// The callback may come before the reply to COPY: the server is to call again. Short copies end with the reply.
#[test]
fn a_callback_before_the_reply_is_called_again() {
    let mut is_over = false;
    let mut bench = bench(move |seen| match seen.has(Copy) && !is_over {
        true => {
            is_over = true;
            offload(70, 1, Ok(LENGTH.into()))
        }
        false => Deed::Good,
    });
    let complete = (u64::from(LENGTH), Some(Nfsstat4::Ok));
    bench.server.state().progress = [Ok(complete)].into();
    bench.succeed(copy(LENGTH));
    assert_eq!(answers(&mut bench, 1), [(70, Nfsstat4::Delay)]);
    bench.succeed(copy(2 * SIZE));
    assert_eq!(bench.server.state().copies, [false, true]);
    bench.end();
}

/// The embedded server reports the end of copies that are longer than two transfers.
#[test]
fn copies_on_the_embedded_server_end_with_callbacks() {
    let options = ServerOptions {
        rtmax: 32 << 10,
        rtpref: 32 << 10,
        ..ServerOptions::default()
    };
    let mut work = Work::of(options, NfsVersion::V42);
    work.counters();
    for length in [64 << 10, 200 << 10] {
        work.good(work::copy(0, length));
    }
    let counters = work.counters();
    let asked = counters.get("OFFLOAD_STATUS").copied().unwrap_or(0);
    let copies = counters["COPY"];
    let called = counters.get("callbacks").copied().unwrap_or(0);
    assert!(
        asked > 0 || called > 0,
        "{counters:?} {:?}",
        work.shard.transfer_bytes()
    );
    assert!((2..=3).contains(&copies), "{counters:?}");
    assert!(!counters.contains_key("verify_errors"), "{counters:?}");
}
