//! A proxy that changes a server's answers: known lies for the validator to find.

use filermark_onc::nfs3::Procedure;
use filermark_onc::record::{RecordReader, append_fragments};
use filermark_onc::rpc::{CallHeader, ReplyHeader};
use filermark_onc::xdr::{self, Decode, Decoder};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Gets a procedure, its arguments and its results (status first); returns other
/// results to be sent instead.
pub type Lie = fn(Procedure, &[u8], &[u8]) -> Option<Vec<u8>>;

type Pending = Arc<Mutex<HashMap<u32, (Procedure, Vec<u8>)>>>;

/// Starts a proxy before the server at `port`; returns its own port. It lives as
/// long as the test's process.
pub fn lie_about(port: u16, lie: Lie) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let own = listener.local_addr().expect("address").port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", port)).expect("the server behind");
            for stream in [&client, &server] {
                stream.set_nodelay(true).expect("no delay");
            }
            let pending = Pending::default();
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let calls = Arc::clone(&pending);
            std::thread::spawn(move || relay(from, to, |record| remember(&calls, record)));
            std::thread::spawn(move || {
                relay(server, client, |record| change(&pending, lie, record))
            });
        }
    });
    own
}

fn relay(mut from: TcpStream, mut to: TcpStream, change: impl Fn(&[u8]) -> Vec<u8>) {
    let mut reader = RecordReader::new(8 << 20);
    let mut input = vec![0; 64 << 10];
    while let Ok(got @ 1..) = from.read(&mut input) {
        let mut rest = &input[..got];
        while let Some(record) = reader.next_record(&mut rest).expect("a sound stream") {
            let mut out = Vec::new();
            append_fragments(&mut out, &change(record), usize::MAX);
            if to.write_all(&out).is_err() {
                return;
            }
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

fn remember(pending: &Pending, record: &[u8]) -> Vec<u8> {
    let mut d = Decoder::new(record);
    if let Ok(call) = CallHeader::decode(&mut d)
        && call.prog == filermark_onc::nfs3::PROGRAM
        && let Some(procedure) = Procedure::from_u32(call.proc)
    {
        let args = d.rest().to_vec();
        pending.lock().unwrap().insert(call.xid, (procedure, args));
    }
    record.to_vec()
}

fn change(pending: &Pending, lie: Lie, record: &[u8]) -> Vec<u8> {
    let mut d = Decoder::new(record);
    let Ok(header) = ReplyHeader::decode(&mut d) else {
        return record.to_vec();
    };
    let call = pending.lock().unwrap().remove(&header.xid);
    let changed = call.filter(|_| header.check().is_ok());
    let changed = changed.and_then(|(procedure, args)| lie(procedure, &args, d.rest()));
    match changed {
        None => record.to_vec(),
        Some(results) => {
            let mut out = Vec::new();
            xdr::append(&mut out, &header);
            out.extend_from_slice(&results);
            out
        }
    }
}
