//! NFSv4 as tshark understands it: every operation and callback, calls and replies.

use filermark_onc::nfs4::{self, callback, *};
use filermark_onc::record::OpenRecord;
use filermark_onc::rpc::{AuthSys, CallHeader, OpaqueAuth, ReplyHeader};
use filermark_onc::xdr::{self, Array};
use filermark_testbed::{Pcap, Sandbox, available};

use crate::nfs4::{
    all_results, call, cb_call, flexible_device, flexible_layout, flexible_report, reply,
};
use crate::samples_nfs4::Pool4;

/// The program number of callbacks that tshark knows.
const CB_PROGRAM: u32 = 0x4000_0000;

/// A call and its reply.
type Exchange = (Vec<u8>, Vec<u8>);

/// A call and its reply with headers and record marks.
fn exchange(xid: u32, prog: u32, vers: u32, args: &[u8], results: &[u8]) -> Exchange {
    let body = AuthSys::new(1, b"client", 2, 3, &[4]).to_body();
    let header = CallHeader {
        xid,
        prog,
        vers,
        proc: nfs4::PROC_COMPOUND,
        cred: body.as_auth(),
        verf: OpaqueAuth::NONE,
    };
    let (mut call, mut reply) = (Vec::new(), Vec::new());
    let record = OpenRecord::begin(&mut call);
    xdr::append(&mut call, &header);
    call.extend_from_slice(args);
    record.finish(&mut call);
    let record = OpenRecord::begin(&mut reply);
    ReplyHeader::encode_success(&mut reply, xid);
    reply.extend_from_slice(results);
    record.finish(&mut reply);
    (call, reply)
}

/// Each operation with each kind of arguments and results, and its number.
fn operations() -> Vec<(u32, Exchange)> {
    let (mut pool, mut all) = (Pool4::fixed(), Vec::new());
    for choice in 0..7 {
        pool.choice = choice;
        pool.write_forms();
        for &operation in Operation::ALL {
            // As the arguments of ILLEGAL tshark shows an operation that does not exist.
            if operation == Operation::ILLEGAL {
                continue;
            }
            for results in all_results(&pool, operation) {
                // tshark 4.0 reads one handle where the standard has an array (`spi_handles<>`).
                if let Results::ExchangeId(Ok(ok)) = results
                    && matches!(ok.state_protect, StateProtect4R::Ssv(_))
                {
                    continue;
                }
                let messages = exchange(
                    all.len() as u32,
                    nfs4::PROGRAM,
                    nfs4::VERSION,
                    &call(&pool, operation),
                    &reply::<Operation>(&results),
                );
                all.push((operation.to_u32(), messages));
            }
        }
    }
    all
}

fn callbacks() -> Vec<(u32, Exchange)> {
    let (mut pool, mut all) = (Pool4::fixed(), Vec::new());
    for choice in 0..7 {
        pool.choice = choice;
        pool.write_forms();
        for &operation in callback::Operation::ALL {
            if operation == callback::Operation::ILLEGAL {
                continue;
            }
            for results in [pool.cb_ok(operation), pool.cb_failed(operation)] {
                let messages = exchange(
                    all.len() as u32,
                    CB_PROGRAM,
                    callback::VERSION,
                    &cb_call(&pool, operation),
                    &reply::<callback::Operation>(&results),
                );
                all.push((operation.to_u32(), messages));
            }
        }
    }
    all
}

fn tshark_agrees(all: Vec<(u32, Exchange)>, field: &str) {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let (numbers, exchanges): (Vec<u32>, Vec<_>) = all.into_iter().unzip();
    let Some(pcap) = available(Pcap::of_messages(&sandbox, nfs4::PORT, &exchanges)) else {
        return;
    };
    let fields = ["-T", "fields", "-e", field];
    let lines = pcap.tshark(&fields).expect("tshark");
    // Behind the operation's own number are those that it lists (EXCHANGE_ID).
    let seen: Vec<&str> = lines
        .lines()
        .filter_map(|line| line.split(',').next())
        .collect();
    let expected: Vec<String> = numbers
        .iter()
        .flat_map(|number| [number.to_string(), number.to_string()])
        .collect();
    assert_eq!(seen, expected, "the operation of each call and reply");
    let shown = pcap.tshark(&["-Y", "_ws.malformed", "-V"]).expect("tshark");
    assert_eq!(pcap.malformed().expect("tshark"), 0, "{shown}");
}

/// A layout, a data server and a report in the form of flexible files.
fn flexible_files() -> Vec<(u32, Exchange)> {
    let pool = Pool4::fixed();
    let (layout, device) = (flexible_layout(&pool), flexible_device(&pool));
    let content = |body| LayoutContent4 {
        layout_type: layout_type::FLEX_FILES,
        body,
    };
    let parts = [Layout4 {
        offset: 0,
        length: u64::MAX,
        iomode: Layoutiomode4::Rw,
        content: content(&layout),
    }];
    let got = Results::Layoutget(Ok(LayoutgetOk {
        return_on_close: true,
        stateid: pool.stateid(0),
        layout: Array::new(&parts).expect("one"),
    }));
    let found = Results::Getdeviceinfo(Ok(GetdeviceinfoOk {
        device_addr: content(&device),
        notification: Bitmap4::EMPTY,
    }));
    let all = [got, found].map(|results| {
        let operation = results.operation();
        let messages = exchange(
            operation.to_u32(),
            nfs4::PROGRAM,
            nfs4::VERSION,
            &call(&pool, operation),
            &reply::<Operation>(&results),
        );
        (operation.to_u32(), messages)
    });
    let report = flexible_report(&pool);
    let args = LayoutreturnArgs {
        reclaim: false,
        layout_type: layout_type::FLEX_FILES,
        iomode: Layoutiomode4::Any,
        layoutreturn: Layoutreturn4::File(LayoutreturnFile4 {
            offset: 0,
            length: u64::MAX,
            stateid: pool.stateid(0),
            body: &report,
        }),
    };
    let mut returned = Vec::new();
    let mut compound = CompoundWriter::begin(&mut returned, b"tag", 2);
    compound.op(&args);
    compound.finish();
    let results = reply::<Operation>(&pool.ok(Operation::Layoutreturn));
    let number = Operation::Layoutreturn.to_u32();
    let messages = exchange(number, nfs4::PROGRAM, nfs4::VERSION, &returned, &results);
    [all.to_vec(), vec![(number, messages)]].concat()
}

#[test]
fn tshark_reads_the_bodies_of_flexible_files() {
    tshark_agrees(flexible_files(), "nfs.opcode");
}

#[test]
fn tshark_reads_every_operation() {
    tshark_agrees(operations(), "nfs.opcode");
}

#[test]
fn tshark_reads_every_callback() {
    tshark_agrees(callbacks(), "nfs.cb.operation");
}
