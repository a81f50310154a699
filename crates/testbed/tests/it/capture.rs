//! Captures decoded by tshark.

use crate::round_trip;
use filermark_testbed::{Capture, Fsal, Ganesha, KernelServer, Pcap, Sandbox, available};

const READ: u32 = 6;
const WRITE: u32 = 7;
const CREATE: u32 = 8;

#[test]
fn calls_and_times_are_read_from_a_capture() {
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let export = ganesha.export();
    let ports = [export.nfs_port, export.mount_port];
    let Some(capture) = available(Capture::start(
        ganesha.sandbox(),
        ganesha.interface(),
        &ports,
    )) else {
        return;
    };
    round_trip(ganesha.sandbox(), export, 5_000_000);
    let pcap = capture.stop().expect("the capture ends");
    assert!(pcap.packets() > 20 && pcap.dropped() == 0, "{pcap:?}");
    assert_eq!(pcap.malformed().expect("tshark"), 0);
    let calls = pcap.calls().expect("tshark");
    assert_eq!(calls.get(&CREATE), Some(&1), "{calls:?}");
    // nfs-cp writes 1 MiB at a time, or less if the server prefers less.
    assert!(
        calls.get(&WRITE).is_some_and(|&count| count >= 5),
        "{calls:?}"
    );
    let times = pcap.times().expect("tshark");
    for procedure in &times {
        assert_eq!(
            calls.get(&procedure.procedure),
            Some(&procedure.calls),
            "{procedure:?}"
        );
        let in_order = procedure.min_us <= procedure.mean_us + 1.0
            && procedure.mean_us <= procedure.max_us + 1.0;
        assert!(in_order && procedure.max_us < 5e6, "{procedure:?}");
    }
    assert!(
        times
            .iter()
            .any(|row| (row.procedure, row.name.as_str()) == (READ, "READ"))
    );
}

#[test]
fn a_truncated_call_is_malformed() {
    let Some(ganesha) = available(Ganesha::start(Fsal::Mem)) else {
        return;
    };
    let nfs = ganesha.export().nfs();
    let Some(capture) = available(Capture::start(ganesha.sandbox(), "lo", &[nfs.port()])) else {
        return;
    };
    // A call of GETATTR that announces a handle of 64 bytes and ends there.
    let words: [u32; 12] = [0x8000_002c, 1, 0, 2, 100_003, 3, 1, 0, 0, 0, 0, 64];
    let call: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    ganesha.sandbox().run(|| {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(nfs).expect("connect");
        stream.write_all(&call).expect("send");
        let limit = std::time::Duration::from_secs(2);
        stream.set_read_timeout(Some(limit)).expect("set the limit");
        let _ = stream.read(&mut [0; 64]);
    });
    let pcap = capture.stop().expect("the capture ends");
    assert_ne!(pcap.malformed().expect("tshark"), 0);
}

#[test]
fn a_tap_can_be_captured_too() {
    let Some(server) = available(KernelServer::start()) else {
        return;
    };
    let port = server.export().nfs_port;
    let Some(capture) = available(Capture::start(
        server.sandbox(),
        server.interface(),
        &[port],
    )) else {
        return;
    };
    round_trip(server.sandbox(), server.export(), 100_000);
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!((pcap.malformed().expect("tshark"), pcap.dropped()), (0, 0));
    assert!(pcap.calls().expect("tshark").contains_key(&WRITE));
}

#[test]
fn a_written_capture_has_what_was_written_and_no_message_longer_than_a_packet() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    // NULL of NFSv3 and its reply, each with a record mark.
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let call: Vec<u8> = words(&[1 << 31 | 40, 7, 0, 2, 100_003, 3, 0, 0, 0, 0, 0]);
    let reply: Vec<u8> = words(&[1 << 31 | 24, 7, 1, 0, 0, 0, 0]);
    let exchanges = [(call.clone(), reply.clone()), (call.clone(), reply)];
    let Some(pcap) = available(Pcap::of_messages(&sandbox, 2049, &exchanges)) else {
        return;
    };
    assert_eq!((pcap.packets(), pcap.dropped()), (4, 0));
    assert_eq!(pcap.malformed().expect("tshark"), 0);
    assert_eq!(pcap.calls().expect("tshark"), [(0, 2)].into());
    let long = [(call, vec![0; 65_536])];
    let error = Pcap::of_messages(&sandbox, 2049, &long).expect_err("too long");
    assert!(error.to_string().contains("65536 bytes"), "{error}");
}
