//! VXI-11 against a server written here by hand after the specification (VXIbus
//! Consortium, 1995, appendix C); not a capture.

use crate::device::{Device, Wattmeter};
use crate::{LIMIT, SHORT, failure, figure, meter, read};
use filermark_energy_data::Quantity;
use filermark_testbed::{Sandbox, available};
use std::io::{Read, Write};
use std::net::TcpStream;

/// How a server misbehaves.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Well,
    /// An answer comes in pieces of this many bytes.
    Pieces(usize),
    /// There is no link left.
    Full,
    /// Every reply has this body.
    Nonsense(&'static [u8]),
    /// A reply to another call.
    Confused,
    /// Replies never have the END flag.
    Endless,
    /// Reads are never answered.
    Silent,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at * 4..at * 4 + 4].try_into().expect("a word"))
}

fn opaque(data: &[u8]) -> Vec<u8> {
    let mut out = u32::try_from(data.len())
        .expect("short")
        .to_be_bytes()
        .to_vec();
    out.extend_from_slice(data);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Serves calls until the client disconnects. `core` is the port that the portmapper returns.
fn serve(mut stream: TcpStream, wattmeter: &Wattmeter, way: Way, core: u16) {
    let mut answer_bytes: Vec<u8> = Vec::new();
    let mut mark = [0; 4];
    while stream.read_exact(&mut mark).is_ok() {
        let len = u32::from_be_bytes(mark);
        assert!(len & 0x8000_0000 != 0, "one fragment");
        let mut call = vec![0; (len & 0x7fff_ffff) as usize];
        stream.read_exact(&mut call).expect("a whole call");
        assert_eq!((word(&call, 1), word(&call, 2)), (0, 2), "a call of RPC 2");
        let procedure = (word(&call, 3), word(&call, 4), word(&call, 5));
        let result = match procedure {
            (100_000, 2, 3) => {
                assert_eq!((word(&call, 10), word(&call, 11)), (395_183, 1));
                words(&[u32::from(core)])
            }
            (395_183, 1, 10) => {
                assert_eq!((word(&call, 13), &call[56..61]), (5, &b"inst0"[..]));
                let error = if way == Way::Full { 9 } else { 0 };
                words(&[error, 7, 0, 4096])
            }
            (395_183, 1, 11) => {
                assert_eq!((word(&call, 10), word(&call, 13)), (7, 8), "link and END");
                let len = word(&call, 14) as usize;
                let line = std::str::from_utf8(&call[60..60 + len]).expect("text");
                let line = line.strip_suffix('\n').expect("a line");
                if let Some(answer) = wattmeter.answer(line) {
                    answer_bytes = format!("{answer}\n").into_bytes();
                }
                words(&[0, word(&call, 14)])
            }
            (395_183, 1, 12) => match way {
                Way::Silent => continue,
                Way::Endless => [words(&[0, 0]), opaque(&[b'1'; 512])].concat(),
                _ => {
                    let most = if let Way::Pieces(len) = way {
                        len
                    } else {
                        4096
                    };
                    let now: Vec<u8> = answer_bytes.drain(..most.min(answer_bytes.len())).collect();
                    let reason = if answer_bytes.is_empty() { 4 } else { 1 };
                    [words(&[0, reason]), opaque(&now)].concat()
                }
            },
            other => panic!("{other:?}"),
        };
        let xid = word(&call, 0).wrapping_add(u32::from(way == Way::Confused));
        let mut reply = [words(&[xid, 1, 0, 0, 0, 0]), result].concat();
        if let Way::Nonsense(bytes) = way {
            reply = bytes.to_vec();
        }
        let mark = u32::try_from(reply.len()).expect("short") | 0x8000_0000;
        let record = [mark.to_be_bytes().to_vec(), reply].concat();
        if stream.write_all(&record).is_err() {
            return;
        }
    }
}

fn device(way: Way) -> (Device, String) {
    let wattmeter = Wattmeter::new();
    let device = Device::start(move |stream| serve(stream, &wattmeter, way, 0));
    let source = format!("vxi11://{}", device.address());
    (device, source)
}

#[test]
fn figures_come_over_one_link() {
    for way in [Way::Well, Way::Pieces(5)] {
        let (device, source) = device(way);
        let mut meter = meter(&source, LIMIT);
        for _ in 0..3 {
            let sample = read(&mut *meter);
            assert_eq!(figure(&sample, Quantity::Power), Some(535.2));
            assert_eq!(sample.values.len(), 7);
        }
        assert_eq!(device.connections(), 1);
    }
}

#[test]
fn the_portmapper_returns_the_port() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    sandbox.run(|| {
        let (core, _) = device(Way::Well);
        let port = core.address().port();
        let asked = |port| {
            let wattmeter = Wattmeter::new();
            let serve = move |stream| serve(stream, &wattmeter, Way::Well, port);
            let portmapper = Device::start_at(111, serve);
            let read = meter("vxi11://127.0.0.1", LIMIT).read();
            drop(portmapper);
            read
        };
        let sample = asked(port).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(figure(&sample, Quantity::Power), Some(535.2));
        let message = asked(0).expect_err("no such program").to_string();
        assert!(message.contains("has no VXI-11"), "{message}");
    });
}

#[test]
fn failures_have_a_message() {
    for (way, wanted) in [
        (Way::Full, "no link left"),
        (Way::Confused, "not a reply to the call"),
        (Way::Endless, "without an end"),
        (Way::Silent, "no answer within 0.4 s"),
        (Way::Nonsense(b""), "too long, or empty"),
        (Way::Nonsense(&[0; 8192]), "too long, or empty"),
        (Way::Nonsense(&[0; 3]), "cut short"),
        // Accepted, with a verifier that is longer than the reply; and a call that is not known.
        (
            Way::Nonsense(&[
                0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255,
            ]),
            "cut short",
        ),
        (
            Way::Nonsense(&[
                0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
            ]),
            "RPC status 1",
        ),
    ] {
        let (_device, source) = device(way);
        let message = failure(&mut *meter(&source, SHORT), SHORT);
        assert!(message.contains(wanted), "{wanted}: {message}");
    }
}
