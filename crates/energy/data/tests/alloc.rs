//! Nothing is allocated per datagram once the interfaces are known.
//!
//! A test binary of its own, because the allocator is the whole program's.

#[path = "it/encode.rs"]
mod encode;

use encode::*;
use filermark_energy_data::sflow::counters::InterfaceCounters;
use filermark_energy_data::sflow::datagram::Source;
use filermark_energy_data::sflow::{Collector, PortOptions, TrafficSample};
use filermark_results::Timestamp;
use filermark_testbed::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A datagram of this number, with counters of a port and a picked packet.
fn numbered(number: u32) -> Vec<u8> {
    let counters = InterfaceCounters {
        if_index: number % 48,
        in_octets: u64::from(number) * 1000,
        ..InterfaceCounters::default()
    };
    let flow = Flow {
        sequence: number,
        source: Source { class: 0, index: 3 },
        sampling_rate: 64,
        sample_pool: 9,
        drops: 0,
        input: 3,
        output: number % 48,
    };
    let samples = [
        port_sample(number, &counters),
        flow_sample(&flow, false, &[header(1500, &[1; 61])]),
    ];
    datagram(&head(number, number * 10), &samples)
}

#[test]
fn nothing_is_allocated_per_datagram() {
    let datagrams: Vec<Vec<u8>> = (1..5000).map(numbered).collect();
    let (warm, rest) = datagrams.split_at(200);
    let mut collector = Collector::new(PortOptions::default());
    let mut rates = 0u32;
    let mut second = 0.0;
    let mut take = |bytes: &[u8]| {
        second += 0.01;
        let at = Timestamp::from_unix_seconds(second);
        let sink = &mut |_: TrafficSample| rates += 1;
        let taken = collector.datagram(at, [10, 0, 0, 1].into(), bytes, sink);
        assert!(taken.is_ok());
    };
    warm.iter().for_each(|bytes| take(bytes));
    let before = Counting::count();
    rest.iter().for_each(|bytes| take(bytes));
    let allocations = Counting::count() - before;
    assert_eq!(allocations, 0, "in {} datagrams", rest.len());
    assert!(rates > 4000, "{rates}");
}
