//! The hot path allocates nothing: calls are encoded into a vector that has its capacity, replies are
//! decoded where they lie.
#![allow(unsafe_code)] // A global allocator that counts can't be written without.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use filermark_onc::nfs3::*;
use filermark_onc::record::RecordReader;
use filermark_onc::rpc::{AuthSys, CallHeader, ReplyHeader};
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::{self, Decode, Decoder, Encoder};

use crate::samples::Pool;

struct Counting;

thread_local! {
    // Per thread: the other tests of this binary allocate at the same time.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more.
    let _ = ALLOCATIONS.try_with(|counter| counter.set(counter.get() + 1));
}

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { System.dealloc(block, layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(
        allocations(|| drop(black_box(Vec::<u8>::with_capacity(10)))),
        1
    );
    assert_eq!(allocations(|| ()), 0);
}

#[test]
fn calls_are_encoded_without_allocation() {
    let cred = AuthSys::new(1, b"client", 2, 3, &[4]).to_body();
    let template = CallTemplate::new(PROGRAM, VERSION, cred.as_auth());
    let pool = Pool::fixed();
    let fh = Fh::new(b"a handle of some length").unwrap();
    let mut out = Vec::with_capacity(1 << 16);
    let count = allocations(|| {
        for xid in 0..10 {
            let file = fh.handle();
            let what = Diropargs3 {
                dir: file,
                name: b"name",
            };
            template.call(&mut out, xid, &GetattrArgs { object: file });
            template.call(&mut out, xid, &LookupArgs { what });
            template.call(
                &mut out,
                xid,
                &AccessArgs {
                    object: file,
                    access: access::READ,
                },
            );
            template.call(
                &mut out,
                xid,
                &ReadArgs {
                    file,
                    offset: 1,
                    count: 4096,
                },
            );
            let stable = StableHow::Unstable;
            let data = &pool.data[..];
            template.call(
                &mut out,
                xid,
                &WriteArgs {
                    file,
                    offset: 1,
                    count: 263,
                    stable,
                    data,
                },
            );
            // And the rest, though it matters less.
            for &procedure in Procedure::ALL {
                let record = template.begin(&mut out, xid, procedure.to_u32());
                Encoder::new(&mut out).put(&pool.args(procedure));
                record.finish(&mut out);
            }
        }
    });
    assert_eq!(count, 0);
    assert!(out.len() > 10_000, "something was encoded");
}

#[test]
fn a_stream_of_replies_is_decoded_without_allocation() {
    let pool = Pool::fixed();
    let mut stream = Vec::new();
    for (xid, &procedure) in (0..).zip(Procedure::ALL) {
        for results in [Some(pool.ok(procedure)), pool.failed(procedure)]
            .into_iter()
            .flatten()
        {
            let record = filermark_onc::record::OpenRecord::begin(&mut stream);
            ReplyHeader::encode_success(&mut stream, xid);
            xdr::append(&mut stream, &results);
            record.finish(&mut stream);
        }
    }
    let mut reader = RecordReader::new(1 << 20);
    let mut entries = 0;
    let count = allocations(|| {
        let mut input = &stream[..];
        while let Ok(Some(record)) = reader.next_record(&mut input) {
            let mut d = Decoder::new(record);
            let header = ReplyHeader::decode(&mut d).unwrap();
            header.check().unwrap();
            match Results::decode(Procedure::from_u32(header.xid).unwrap(), &mut d).unwrap() {
                Results::Readdir(Ok(ok)) => entries += ok.reply.iter().map(Result::unwrap).count(),
                Results::Readdirplus(Ok(ok)) => {
                    entries += ok.reply.iter().map(Result::unwrap).count();
                }
                other => drop(black_box(other)),
            }
        }
    });
    assert_eq!((count, entries), (0, 8));
}

#[test]
fn a_server_decodes_calls_and_answers_without_allocation() {
    let cred = AuthSys::new(1, b"client", 2, 3, &[4]).to_body();
    let template = CallTemplate::new(PROGRAM, VERSION, cred.as_auth());
    let pool = Pool::fixed();
    let mut stream = Vec::new();
    for &procedure in Procedure::ALL {
        let record = template.begin(&mut stream, 1, procedure.to_u32());
        Encoder::new(&mut stream).put(&pool.args(procedure));
        record.finish(&mut stream);
    }
    let mut reader = RecordReader::new(1 << 20);
    let mut out = Vec::with_capacity(1 << 16);
    let mut served = 0;
    let count = allocations(|| {
        let mut input = &stream[..];
        while let Ok(Some(record)) = reader.next_record(&mut input) {
            let mut d = Decoder::new(record);
            let call = CallHeader::decode(&mut d).unwrap();
            assert_eq!(call.cred.auth_sys().unwrap().uid, 2);
            let procedure = Procedure::from_u32(call.proc).unwrap();
            black_box(Args::decode(procedure, &mut d).unwrap());
            let reply = filermark_onc::record::OpenRecord::begin(&mut out);
            ReplyHeader::encode_success(&mut out, call.xid);
            xdr::append(&mut out, &pool.ok(procedure));
            reply.finish(&mut out);
            served += 1;
        }
    });
    assert_eq!((count, served), (0, Procedure::COUNT));
}

#[test]
fn version_2_allocates_nothing_either() {
    use filermark_onc::nfs2;
    let cred = AuthSys::new(1, b"client", 2, 3, &[4]).to_body();
    let template = CallTemplate::new(nfs2::PROGRAM, nfs2::VERSION, cred.as_auth());
    let pool = crate::samples_nfs2::Pool2::fixed();
    let mut out = Vec::with_capacity(1 << 16);
    let mut reader = RecordReader::new(1 << 20);
    let (mut calls, mut entries) = (0, 0);
    let count = allocations(|| {
        for &procedure in nfs2::Procedure::ALL {
            let record = template.begin(&mut out, procedure.to_u32(), procedure.to_u32());
            Encoder::new(&mut out).put(&pool.args(procedure));
            record.finish(&mut out);
        }
        let mut input = &out[..];
        while let Ok(Some(record)) = reader.next_record(&mut input) {
            let mut d = Decoder::new(record);
            let call = CallHeader::decode(&mut d).unwrap();
            let procedure = nfs2::Procedure::from_u32(call.proc).unwrap();
            black_box(nfs2::Args::decode(procedure, &mut d).unwrap());
            calls += 1;
        }
        for &procedure in nfs2::Procedure::ALL {
            for results in [Some(pool.ok(procedure)), pool.failed(procedure)]
                .into_iter()
                .flatten()
            {
                out.clear();
                xdr::append(&mut out, &results);
                let results = nfs2::Results::decode(procedure, &mut Decoder::new(&out)).unwrap();
                if let nfs2::Results::Readdir(Ok(ok)) = results {
                    entries += ok.reply.iter().map(Result::unwrap).count();
                }
            }
        }
    });
    assert_eq!((count, calls, entries), (0, nfs2::Procedure::COUNT, 4));
}

#[test]
fn compounds_of_version_4_are_written_and_read_without_allocation() {
    use filermark_onc::nfs4::{self, CompoundArgs, CompoundRes, CompoundResWriter, CompoundWriter};
    let pool = crate::samples_nfs4::Pool4::fixed();
    let mut out = Vec::with_capacity(1 << 17);
    let (mut operations, mut entries, mut attributes) = (0, 0, 0);
    let count = allocations(|| {
        let mut compound = CompoundWriter::begin(&mut out, b"", 2);
        for &operation in nfs4::Operation::ALL {
            if operation.minor_versions().contains(&2) && operation != nfs4::Operation::Illegal {
                compound.any(&pool.args(operation));
            }
        }
        let sent = compound.finish();
        let compound = CompoundArgs::decode(&mut Decoder::new(&out)).unwrap();
        for args in compound {
            black_box(args.unwrap());
            operations += 1;
        }
        assert_eq!(operations, sent as usize);
        out.clear();
        let mut compound = CompoundResWriter::<nfs4::Operation>::begin(&mut out, b"");
        for &operation in nfs4::Operation::ALL {
            if operation != nfs4::Operation::Illegal {
                compound.any(&pool.ok(operation));
            }
        }
        compound.finish();
        let compound = CompoundRes::<nfs4::Operation>::decode(&mut Decoder::new(&out)).unwrap();
        for results in compound {
            match results.unwrap() {
                nfs4::Results::Readdir(Ok(ok)) => {
                    entries += ok
                        .entries
                        .iter()
                        .filter(|e| e.attrs.attributes().is_ok())
                        .count();
                }
                nfs4::Results::Getattr(Ok(ok)) => {
                    attributes += usize::from(ok.obj_attributes.attributes().is_ok());
                }
                other => drop(black_box(other)),
            }
        }
    });
    assert_eq!((count, entries, attributes), (0, 4, 1));
    assert!(operations > 60, "{operations}");
}
