//! Datagrams, read.

use crate::encode::*;
use filermark_energy_data::sflow::counters::*;
use filermark_energy_data::sflow::datagram::*;
use filermark_energy_data::sflow::flow::{FlowRecord, SampledHeader};
use filermark_energy_data::sflow::{Datagram, Sample, WireError};
use filermark_xdr::DecodeError;
use std::net::{IpAddr, Ipv6Addr};

const PORT: Source = Source {
    class: 0,
    index: 24,
};

#[test]
fn a_datagram_by_hand() {
    let bytes = hex(include_str!("../fixtures/counters.hex"));
    let datagram = Datagram::decode(&bytes).expect("sound");
    assert_eq!(datagram.agent, Some(IpAddr::from([10, 0, 0, 248])));
    assert_eq!((datagram.sub_agent, datagram.sequence), (0, 100));
    assert_eq!((datagram.uptime_ms, datagram.sample_count), (1_000_000, 2));
    let samples: Vec<Sample<'_>> = datagram.samples().map(|s| s.expect("sound")).collect();
    let Sample::Counters(sample) = samples[0] else {
        panic!("{:?}", samples[0]);
    };
    assert_eq!((sample.sequence, sample.source), (7, PORT));
    let records: Vec<_> = sample.records().map(|r| r.expect("sound")).collect();
    let CounterRecord::Ethernet(ethernet) = records[0] else {
        panic!("{:?}", records[0]);
    };
    assert_eq!((ethernet.alignment_errors, ethernet.symbol_errors), (1, 13));
    let wanted = InterfaceCounters {
        if_index: 24,
        if_type: 6,
        speed: 4_294_967_295,
        direction: 1,
        status: 3,
        in_octets: 164_427_808,
        in_unicast: 650_122,
        in_multicast: 2860,
        in_broadcast: 1472,
        out_octets: 1_296_109_924,
        out_unicast: 1_056_224,
        out_multicast: 170,
        out_broadcast: 228,
        promiscuous: 1,
        ..InterfaceCounters::default()
    };
    assert_eq!(records[1], CounterRecord::Interface(wanted));
    let Sample::Other { tag, length } = samples[1] else {
        panic!("{:?}", samples[1]);
    };
    assert_eq!((tag.enterprise, tag.format, length), (4095, 1, 3));
}

#[test]
fn a_datagram_of_a_real_switch() {
    let bytes = hex(include_str!("../fixtures/switch.hex"));
    let datagram = Datagram::decode(&bytes).expect("sound");
    assert_eq!(datagram.agent, Some(IpAddr::from([172, 21, 35, 17])));
    assert_eq!((datagram.sub_agent, datagram.sequence), (1, 415));
    let samples: Vec<Sample<'_>> = datagram.samples().map(|s| s.expect("sound")).collect();
    let [Sample::Counters(sample)] = samples[..] else {
        panic!("{samples:?}");
    };
    assert_eq!(
        (sample.sequence, sample.source.if_index()),
        (8485, Some(1036))
    );
    let records: Vec<_> = sample.records().map(|r| r.expect("sound")).collect();
    let [CounterRecord::Interface(counters)] = records[..] else {
        panic!("{records:?}");
    };
    assert_eq!((counters.if_index, counters.if_type), (1036, 6));
    assert_eq!(
        (counters.speed, counters.direction, counters.status),
        (100_000_000, 1, 3)
    );
    assert_eq!(
        (counters.in_octets, counters.out_octets),
        (25_963_724, 5_455_297)
    );
    assert_eq!(
        (counters.in_unicast, counters.out_broadcast),
        (39_811, 2263)
    );
}

#[test]
fn flow_samples_of_both_forms() {
    let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let frame: Vec<u8> = (0..61).collect();
    for expanded in [false, true] {
        for (input, output) in [
            (Interface::Index(3), Interface::Index(5)),
            (Interface::Unknown, Interface::Internal),
            (Interface::Index(7), Interface::Discarded(256)),
            (Interface::Index(0x3fff_fffe), Interface::Multiple(4)),
            (Interface::Index(1), Interface::Other(3)),
        ] {
            let flow = Flow {
                sequence: 9,
                source: PORT,
                sampling_rate: 400,
                sample_pool: 77_000,
                drops: 2,
                input,
                output,
            };
            let switch = (1001, Words::default().u32(1).u32(0).u32(2).u32(0));
            let sample = flow_sample(&flow, expanded, &[switch, header(1518, &frame)]);
            let bytes = datagram(
                &Head {
                    agent: Some(v6),
                    ..head(1, 2)
                },
                &[sample],
            );
            let datagram = Datagram::decode(&bytes).expect("sound");
            assert_eq!(datagram.agent, Some(v6));
            let Some(Ok(Sample::Flow(sample))) = datagram.samples().next() else {
                panic!("no flow sample");
            };
            assert_eq!((sample.sequence, sample.source), (9, PORT));
            assert_eq!(
                (sample.sampling_rate, sample.sample_pool, sample.drops),
                (400, 77_000, 2)
            );
            assert_eq!((sample.input, sample.output), (input, output));
            let records: Vec<_> = sample.records().map(|r| r.expect("sound")).collect();
            assert!(matches!(
                records[0],
                FlowRecord::Other {
                    tag: Tag {
                        enterprise: 0,
                        format: 1001
                    },
                    length: 16
                }
            ));
            let wanted = SampledHeader {
                protocol: 1,
                frame_length: 1518,
                stripped: 4,
                header: &frame,
            };
            assert_eq!(records[1], FlowRecord::Header(wanted));
        }
    }
}

#[test]
fn host_counters_and_thrown_away_packets() {
    let host = Words::default()
        .opaque(b"server.example")
        .bytes(&[7; 16])
        .u32(3)
        .u32(2)
        .opaque(b"6.1.0");
    let cpu = (0..17).fold(Words::default(), |words, n| match n {
        0..3 => words.u32((0.5 * n as f32).to_bits()),
        _ => words.u32(n),
    });
    let memory = (0..7)
        .fold(Words::default(), |words, n| words.u64(n + 1))
        .u32(8)
        .u32(9)
        .u32(10)
        .u32(11);
    let disk = Words::default()
        .u64(1)
        .u64(2)
        .u32(3)
        .u32(4)
        .u64(5)
        .u32(6)
        .u32(7)
        .u64(8)
        .u32(9);
    let net = Words::default()
        .u64(1)
        .u32(2)
        .u32(3)
        .u32(4)
        .u64(5)
        .u32(6)
        .u32(7)
        .u32(8);
    let source = Source { class: 2, index: 1 };
    // A later revision of cpu has three words more at its end.
    let cpu_longer = cpu.clone().u32(1).u32(2).u32(3);
    let groups = [
        (2000, host),
        (2003, cpu),
        (2003, cpu_longer),
        (2004, memory),
        (2005, disk),
        (2006, net),
    ];
    let sample = counter_sample(1, source, true, &groups);
    let bytes = datagram(
        &head(1, 1),
        &[sample, discarded(4, 0, 257, &[header(100, b"abc")])],
    );
    let read = Datagram::decode(&bytes).expect("sound");
    let mut samples = read.samples();
    let Some(Ok(Sample::Counters(sample))) = samples.next() else {
        panic!("no counters");
    };
    assert_eq!((sample.source, sample.source.if_index()), (source, None));
    let records: Vec<_> = sample.records().map(|r| r.expect("sound")).collect();
    let CounterRecord::Host(host) = records[0] else {
        panic!("{:?}", records[0]);
    };
    assert_eq!(
        (host.name, host.release),
        (&b"server.example"[..], &b"6.1.0"[..])
    );
    assert_eq!((host.uuid, host.machine, host.system), ([7; 16], 3, 2));
    let CounterRecord::Cpu(cpu) = records[1] else {
        panic!("{:?}", records[1]);
    };
    assert_eq!(
        (cpu.load_five, cpu.running, cpu.idle_ms, cpu.contexts),
        (0.5, 3, 11, 16)
    );
    assert_eq!(records[2], records[1]);
    let CounterRecord::Memory(memory) = records[3] else {
        panic!("{:?}", records[3]);
    };
    assert_eq!(
        (memory.total, memory.swap_free, memory.swap_out),
        (1, 7, 11)
    );
    let CounterRecord::Disk(disk) = records[4] else {
        panic!("{:?}", records[4]);
    };
    assert_eq!(
        (
            disk.fullest,
            disk.bytes_read,
            disk.bytes_written,
            disk.write_ms
        ),
        (3, 5, 8, 9)
    );
    let CounterRecord::Network(net) = records[5] else {
        panic!("{:?}", records[5]);
    };
    assert_eq!((net.bytes_in, net.bytes_out, net.drops_out), (1, 5, 8));
    let Some(Ok(Sample::Discarded(packet))) = samples.next() else {
        panic!("no discarded packet");
    };
    assert_eq!((packet.input, packet.output, packet.reason), (4, 0, 257));
    assert_eq!(packet.records().count(), 1);
    assert!(samples.next().is_none());
}

#[test]
fn errors_tell_where_and_what() {
    let error = |bytes: &[u8]| Datagram::decode(bytes).expect_err("unsound");
    assert_eq!(
        error(&[0, 0, 0, 4]).to_string(),
        "sFlow datagram, byte 0: version is 4, which is not known here"
    );
    assert_eq!(
        error(&[0, 0, 0, 5, 0, 0, 0, 1, 10]).to_string(),
        "sFlow datagram, byte 8: agent_address has 4 bytes, but 1 are left"
    );
    let many = Words::default()
        .u32(5)
        .u32(0)
        .u32(0)
        .u32(1)
        .u32(1)
        .u32(u32::MAX)
        .0;
    assert_eq!(
        error(&many).to_string(),
        "sFlow datagram, byte 20: samples is 4294967295; at most 8192 is believed"
    );
    let unknown = Words::default().u32(5).u32(9).0;
    let wanted = DecodeError::unexpected(4, "address_type", 9);
    assert_eq!(error(&unknown), WireError(wanted));
}

#[test]
fn a_broken_record_spoils_no_other_one() {
    let counters = InterfaceCounters {
        if_index: 24,
        ..InterfaceCounters::default()
    };
    let short = (1, Words::default().u32(24));
    let sample = counter_sample(1, PORT, false, &[short, interface_record(&counters)]);
    let mut bytes = datagram(&head(1, 1), &[(2, Words::default()), sample]);
    bytes.extend(b"what some agents leave behind");
    let read = Datagram::decode(&bytes).expect("sound");
    let mut samples = read.samples();
    let error = samples.next().expect("one").expect_err("empty");
    assert_eq!((error.0.offset, error.0.what), (36, "sequence_number"));
    let Some(Ok(Sample::Counters(sample))) = samples.next() else {
        panic!("no counters");
    };
    let records: Vec<_> = sample.records().collect();
    assert_eq!(records[0].expect_err("short").0.what, "ifType");
    assert_eq!(records[1], Ok(CounterRecord::Interface(counters)));
    assert!(samples.next().is_none());
}

#[test]
fn a_length_beyond_the_end_ends_the_samples() {
    let mut bytes = datagram(&head(1, 1), &[(2, Words::default()), (2, Words::default())]);
    bytes[35] = 200;
    let read = Datagram::decode(&bytes).expect("sound");
    let samples: Vec<_> = read.samples().map(|s| s.map(|_| ())).collect();
    let wanted = DecodeError::truncated(32, "sample_data", 200, 8);
    assert_eq!(samples, [Err(WireError(wanted))]);
}
