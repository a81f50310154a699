//! Datagrams, read.

use crate::encode::*;
use filermark_energy_data::sflow::counters::*;
use filermark_energy_data::sflow::datagram::*;
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
    let is_ethernet = |r: &CounterRecord| matches!(r, CounterRecord::Other { tag, length: 52 } if tag.format == 2);
    assert!(is_ethernet(&records[0]), "{:?}", records[0]);
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
    let port = Source {
        class: 0,
        index: 1036,
    };
    assert_eq!((sample.sequence, sample.source), (8485, port));
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

/// Sampled and discarded packets are not used, nor are other counters than those of
/// interfaces. The samples after them are read.
#[test]
fn other_samples_and_records_are_skipped() {
    let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let counters = InterfaceCounters {
        if_index: 24,
        in_octets: 5,
        ..InterfaceCounters::default()
    };
    let flow = Flow {
        sequence: 9,
        source: PORT,
        sampling_rate: 400,
        sample_pool: 77_000,
        drops: 2,
        input: 3,
        output: 5,
    };
    let frame: Vec<u8> = (0..61).collect();
    let ethernet = (0..13).fold(Words::default(), Words::u32);
    let groups = [
        (2, ethernet),
        (2003, Words::default().u32(1)),
        interface_record(&counters),
    ];
    let samples = [
        flow_sample(&flow, false, &[header(1518, &frame)]),
        flow_sample(&flow, true, &[header(1518, &frame)]),
        discarded(4, 0, 257, &[header(100, b"abc")]),
        counter_sample(1, PORT, true, &groups),
    ];
    let head = Head {
        agent: Some(v6),
        ..head(1, 2)
    };
    let bytes = datagram(&head, &samples);
    let read = Datagram::decode(&bytes).expect("sound");
    assert_eq!(read.agent, Some(v6));
    let samples: Vec<_> = read.samples().map(|s| s.expect("sound")).collect();
    let [
        Sample::Packet,
        Sample::Packet,
        Sample::Packet,
        Sample::Counters(sample),
    ] = samples[..]
    else {
        panic!("{samples:?}");
    };
    let records: Vec<_> = sample.records().map(|r| r.expect("sound")).collect();
    let other = |format, length| CounterRecord::Other {
        tag: Tag {
            enterprise: 0,
            format,
        },
        length,
    };
    let wanted = [
        other(2, 52),
        other(2003, 4),
        CounterRecord::Interface(counters),
    ];
    assert_eq!(records, wanted);
}

#[test]
fn errors_have_offset_and_field() {
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
        "sFlow datagram, byte 20: samples is 4294967295; at most 8192 is accepted"
    );
    let unknown = Words::default().u32(5).u32(9).0;
    let wanted = DecodeError::unexpected(4, "address_type", 9);
    assert_eq!(error(&unknown), WireError(wanted));
}

#[test]
fn a_broken_record_does_not_affect_others() {
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
