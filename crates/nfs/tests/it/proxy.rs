//! A proxy that changes a server's answers: known lies for the validator to find.

use filermark_onc::nfs3::{self, Procedure};
use filermark_onc::record::{RecordReader, append_fragments};
use filermark_onc::rpc::{AcceptStat, AuthFlavor, CallHeader, ReplyHeader};
use filermark_onc::xdr::{self, Decode, Decoder};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Gets a procedure, its arguments and its results (status first); returns other
/// results to be sent instead.
pub type ResultEditor = fn(Procedure, &[u8], &[u8]) -> Option<Vec<u8>>;

/// A call on its way.
#[derive(Clone, Debug)]
pub struct SeenCall {
    pub xid: u32,
    pub prog: u32,
    pub vers: u32,
    pub proc: u32,
    pub flavor: AuthFlavor,
    pub args: Vec<u8>,
}

/// What is to be sent in place of the server's answer.
pub enum ReplacedReply {
    /// These results.
    Results(Vec<u8>),
    /// No results, for this reason.
    Accepted(AcceptStat),
}

/// Gets a call and its results, or `None` where the server's RPC layer refused it.
pub type ReplyEditor = Box<dyn FnMut(&SeenCall, Option<&[u8]>) -> Option<ReplacedReply> + Send>;

type Pending = Arc<Mutex<HashMap<u32, SeenCall>>>;

/// Starts a proxy before the server at `port`; returns its own port. It lives as
/// long as the test's process.
pub fn lie_about(port: u16, lie: ResultEditor) -> u16 {
    lie_at_will(
        port,
        Box::new(move |call, results| {
            let ours = call.prog == nfs3::PROGRAM && call.vers == nfs3::VERSION;
            let procedure = Procedure::from_u32(call.proc).filter(|_| ours)?;
            lie(procedure, &call.args, results?).map(ReplacedReply::Results)
        }),
    )
}

/// The same, for any program and any answer.
pub fn lie_at_will(port: u16, lie: ReplyEditor) -> u16 {
    let lie = Arc::new(Mutex::new(lie));
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
            let lie = Arc::clone(&lie);
            std::thread::spawn(move || relay(from, to, |record| remember(&calls, record)));
            std::thread::spawn(move || {
                relay(server, client, |record| change(&pending, &lie, record))
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
    if let Ok(call) = CallHeader::decode(&mut d) {
        let seen = SeenCall {
            xid: call.xid,
            prog: call.prog,
            vers: call.vers,
            proc: call.proc,
            flavor: call.cred.flavor,
            args: d.rest().to_vec(),
        };
        pending.lock().unwrap().insert(call.xid, seen);
    }
    record.to_vec()
}

fn change(pending: &Pending, lie: &Mutex<ReplyEditor>, record: &[u8]) -> Vec<u8> {
    let mut d = Decoder::new(record);
    let Ok(header) = ReplyHeader::decode(&mut d) else {
        return record.to_vec();
    };
    let Some(call) = pending.lock().unwrap().remove(&header.xid) else {
        return record.to_vec();
    };
    let results = header.check().is_ok().then(|| d.rest());
    let edited = lie.lock().unwrap()(&call, results);
    let mut out = Vec::new();
    match edited {
        None => return record.to_vec(),
        Some(ReplacedReply::Results(results)) => {
            ReplyHeader::encode_success(&mut out, header.xid);
            out.extend_from_slice(&results);
        }
        Some(ReplacedReply::Accepted(stat)) => {
            xdr::append(&mut out, &ReplyHeader::accepted(header.xid, stat));
        }
    }
    out
}
