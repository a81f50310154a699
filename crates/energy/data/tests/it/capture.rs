//! Packet captures: a real one, and synthetic ones.

use crate::encode::*;
use filermark_energy_data::sflow::capture::{CaptureError, Packets, read};
use filermark_energy_data::sflow::counters::InterfaceCounters;
use filermark_energy_data::sflow::datagram::Source;
use filermark_energy_data::sflow::{Collector, PORT, PortOptions, TrafficSample};
use filermark_results::Timestamp;
use proptest::prelude::*;
use std::net::IpAddr;
use std::process::Command;

/// Open vSwitch 3.1 with the user-space datapath and two veth ports (ifIndex 3 and 5), in a
/// namespace of its own: `sflow header=128 sampling=100 polling=2`. One hundred datagrams of
/// 1442 bytes a second went from port 5 to port 3 for six seconds. Captured by dumpcap on lo.
/// Datagram 2 was refused, since the listener came later.
const OVS: &[u8] = include_bytes!("../fixtures/ovs-sflow.pcap");

/// The datagrams of a capture: time in seconds, sender, payload.
type Taken = Vec<(f64, IpAddr, Vec<u8>)>;

fn taken(bytes: &[u8]) -> (Taken, Packets, Result<(), CaptureError>) {
    let (mut all, mut packets) = (Vec::new(), Packets::default());
    let sink = &mut |at: Timestamp, from, bytes: &[u8]| {
        all.push((at.unix_seconds(), from, bytes.to_vec()));
    };
    let end = read(bytes, PORT, &mut packets, sink);
    (all, packets, end)
}

#[test]
fn a_capture_of_open_vswitch() {
    let (mut packets, mut samples) = (Packets::default(), Vec::new());
    let mut collector = Collector::new(PortOptions::default());
    let end = read(OVS, PORT, &mut packets, &mut |at, from, bytes| {
        let sink = &mut |sample: TrafficSample| samples.push(sample);
        collector.datagram(at, from, bytes, sink).expect("sound");
    });
    assert_eq!(end, Ok(()));
    assert_eq!((packets.read, packets.datagrams), (8, 8));
    let problems = collector.problems();
    assert_eq!(
        (problems.unreadable, problems.broken, problems.skipped),
        (0, 0, 0)
    );
    let counts = collector.ports.counts();
    assert_eq!((counts.datagrams, counts.lost, counts.readings), (8, 1, 11));
    let silent = [
        counts.duplicates,
        counts.restarts,
        counts.resets,
        counts.clocks_differ,
    ];
    assert_eq!(silent, [0; 4]);
    let of = |index| samples.iter().filter(move |s| s.if_index == index);
    // Traffic received at 5 is sent at 3, in whole datagrams of 1442 bytes.
    let (from, to) = (of(5).next().expect("a rate"), of(3).next().expect("a rate"));
    assert_eq!((from.at, from.input), (to.at, to.output));
    let (bytes, packets) = from
        .input
        .bytes_per_s
        .zip(from.input.packets_per_s)
        .expect("known");
    assert!((bytes / packets - 1442.0).abs() < 1e-6, "{bytes} {packets}");
    assert_eq!(
        ((from.seconds * 1000.0).round(), (bytes / 1000.0).round()),
        (2000.0, 139.0)
    );
    assert_eq!(from.speed_bits_per_s, Some(10_000_000_000));
    assert_eq!((of(3).count(), of(5).count(), of(7).count()), (2, 2, 4));
}

/// Ethernet around an IPv4 packet.
fn ethernet(tags: &[u16], kind: u16, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    for tag in tags {
        frame.extend(tag.to_be_bytes());
        frame.extend([0, 7]);
    }
    frame.extend(kind.to_be_bytes());
    frame.extend(packet);
    frame
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16 + 8;
    [9999, port, length, 0]
        .iter()
        .flat_map(|w| w.to_be_bytes())
        .chain(payload.iter().copied())
        .collect()
}

fn ipv4(fragment: u16, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x46, 0, 0, 0, 0, 0];
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 192, 0, 2, 7, 192, 0, 2, 8, 1, 1, 1, 1]);
    packet.extend(payload);
    packet
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, 0, next, 64];
    packet.extend([0xfe; 16]);
    packet.extend([0xfd; 16]);
    packet.extend(payload);
    packet
}

/// A little-endian pcapng block.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padding = body.len().wrapping_neg() & 3;
    let length = (body.len() + padding + 12) as u32;
    let mut block = [kind.to_le_bytes(), length.to_le_bytes()].concat();
    block.extend(body);
    block.extend(&[0; 3][..padding]);
    block.extend(length.to_le_bytes());
    block
}

fn section() -> Vec<u8> {
    let mut body = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
    body.extend([1, 0, 0, 0]);
    body.extend([0xff; 8]);
    block(0x0a0d_0d0a, &body)
}

/// An interface with times in units of 10^-`digits` seconds.
fn interface(link: u16, digits: u8) -> Vec<u8> {
    let mut body = link.to_le_bytes().to_vec();
    body.extend([0; 6]);
    body.extend([9, 0, 1, 0, digits, 0, 0, 0, 0, 0, 0, 0]);
    block(1, &body)
}

fn packet(interface: u32, time: u64, bytes: &[u8], missing: u32) -> Vec<u8> {
    let length = bytes.len() as u32;
    let words = [
        interface,
        (time >> 32) as u32,
        time as u32,
        length,
        length + missing,
    ];
    let mut body: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    body.extend(bytes);
    block(6, &body)
}

fn pcapng() -> Vec<u8> {
    let good = udp(PORT, b"datagram");
    let v4 = ipv4(0, 17, &good);
    let mut padded = ethernet(&[], 0x0800, &v4);
    padded.extend([0; 10]);
    let hops = [&[17, 0, 1, 4, 0, 0, 0, 0][..], &good].concat();
    let cooked = [&[0; 14][..], &[0x08, 0x00], &v4].concat();
    let time = 1_700_000_000_250_000_000;
    [
        section(),
        interface(1, 9),
        interface(113, 6),
        interface(101, 3),
        interface(147, 6),
        packet(0, time, &padded, 0),
        packet(
            0,
            time,
            &ethernet(&[0x88a8, 0x8100], 0x86dd, &ipv6(0, &hops)),
            0,
        ),
        packet(1, time / 1000, &cooked, 0),
        packet(2, time / 1_000_000, &v4, 0),
        // Not to the port, not UDP, not IP, a fragment, truncated, of an unknown layer, of an
        // unknown interface.
        packet(
            0,
            time,
            &ethernet(&[], 0x0800, &ipv4(0, 17, &udp(53, b"?"))),
            0,
        ),
        packet(0, time, &ethernet(&[], 0x0800, &ipv4(0, 6, &good)), 0),
        packet(0, time, &ethernet(&[], 0x0806, &[0; 28]), 0),
        packet(0, time, &ethernet(&[], 0x0800, &ipv4(0x2000, 17, &good)), 0),
        packet(0, time, &ethernet(&[], 0x86dd, &ipv6(44, &[17; 20])), 0),
        packet(0, time, &ethernet(&[], 0x0800, &v4[..v4.len() - 3]), 3),
        packet(3, time, &v4, 0),
        packet(9, time, &v4, 0),
    ]
    .concat()
}

#[test]
fn pcapng_with_many_kinds_of_packets() {
    let (all, packets, end) = taken(&pcapng());
    assert_eq!(end, Ok(()));
    let v4: IpAddr = [192, 0, 2, 7].into();
    let v6: IpAddr = [0xfe; 16].into();
    let wanted = [v4, v6, v4, v4].map(|from| (1_700_000_000.25, from, b"datagram".to_vec()));
    assert_eq!(all, wanted);
    assert_eq!((packets.read, packets.datagrams, packets.other), (12, 4, 3));
    assert_eq!((packets.fragments, packets.cut, packets.unknown), (2, 1, 2));
    assert!(!packets.ends_early);
}

#[test]
fn truncated_and_invalid_captures() {
    let whole = taken(OVS).0;
    let (all, packets, end) = taken(&OVS[..OVS.len() - 20]);
    assert_eq!(
        (end, packets.ends_early, all.len()),
        (Ok(()), true, whole.len() - 1)
    );
    for none in [
        &b""[..],
        b"CNTR,10.0.0.254,17,6",
        b"\x1f\x8b\x08\x00 packed",
    ] {
        assert_eq!(taken(none).2, Err(CaptureError::NoCapture));
    }
    // A record with a length of 4 GB.
    let mut long = OVS.to_vec();
    long[32..40].fill(0x7f);
    assert_eq!(taken(&long).2, Err(CaptureError::BlockTooLong(0)));
}

proptest! {
    // Each has two buffers of a megabyte.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn captures_with_wrong_bytes_are_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        which in any::<bool>(),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = if which { pcapng() } else { OVS.to_vec() };
        for (place, byte) in changes {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        let (_, packets, _) = taken(&bytes);
        prop_assert!(packets.datagrams <= packets.read);
        bytes.truncate(end.index(bytes.len()));
        let _ = taken(&bytes);
    }
}

/// tshark and this decoder read the same figures from the test encoder's datagrams.
#[test]
fn tshark_reads_the_same() {
    let counters = InterfaceCounters {
        if_index: 24,
        if_type: 6,
        speed: 10_000_000_000,
        direction: 1,
        status: 3,
        in_octets: 12_345_678_901,
        in_unicast: 11,
        in_multicast: 12,
        in_broadcast: 13,
        in_discards: 14,
        in_errors: 15,
        in_unknown_protocols: 16,
        out_octets: 98_765_432_109,
        out_unicast: 21,
        out_multicast: 22,
        out_broadcast: 23,
        out_discards: 24,
        out_errors: 25,
        promiscuous: 1,
    };
    let flow = Flow {
        sequence: 8,
        source: Source { class: 0, index: 3 },
        sampling_rate: 400,
        sample_pool: 9000,
        drops: 0,
        input: 3,
        output: 5,
    };
    let inner = ethernet(&[], 0x0800, &ipv4_sound(&udp(53, b"a picked packet")));
    let samples = [
        port_sample(5, &counters),
        flow_sample(&flow, false, &[header(1518, &inner)]),
    ];
    let payload = datagram(&head(77, 123_456), &samples);
    let frame = ethernet(&[], 0x0800, &ipv4_sound(&udp(PORT, &payload)));
    let file = [
        section(),
        interface(1, 6),
        packet(0, 1_700_000_000_000_000, &frame, 0),
    ]
    .concat();
    let (all, _, _) = taken(&file);
    assert_eq!(all[0].2, payload);
    let Some(theirs) = filermark_testbed::available(tshark(&file)) else {
        return;
    };
    let ours = [
        "Agent address: 10.0.0.248",
        "Sequence number: 77",
        "(123456ms)",
        "Source ID index: 24",
        "Interface Speed: 10000000000",
        "Input Octets: 12345678901",
        "Input Packets: 11",
        "Input Multicast Packets: 12",
        "Input Broadcast Packets: 13",
        "Input Discarded Packets: 14",
        "Input Errors: 15",
        "Input Unknown Protocol Packets: 16",
        "Output Octets: 98765432109",
        "Output Packets: 21",
        "Output Multicast Packets: 22",
        "Output Broadcast Packets: 23",
        "Output Discarded Packets: 24",
        "Output Errors: 25",
        "Flow sample, seq 8",
        "Sampling rate: 1 out of 400 packets",
        "Frame Length: 1518",
    ];
    for line in ours {
        assert!(theirs.contains(line), "{line} is not in {theirs}");
    }
    assert!(!theirs.contains("Malformed"), "{theirs}");
}

/// IPv4 as tshark requires it: with the correct length and no options.
fn ipv4_sound(payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((payload.len() as u16 + 20).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 7, 192, 0, 2, 8]);
    packet.extend(payload);
    packet
}

/// The text output of tshark for a capture.
fn tshark(file: &[u8]) -> filermark_testbed::Result<String> {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("sflow.pcapng");
    std::fs::write(&path, file).expect("a temporary file");
    let output = Command::new("tshark")
        .args(["-n", "-V", "-r"])
        .arg(&path)
        .output();
    let output = output.map_err(|error| {
        let reason = format!("tshark cannot be run ({error}; Debian package tshark)");
        filermark_testbed::Error::Unavailable(reason)
    })?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
