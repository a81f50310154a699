//! From counters to rates, over datagrams.

use crate::encode::*;
use filermark_energy_data::sflow::counters::InterfaceCounters;
use filermark_energy_data::sflow::{Admission, Collector, PortOptions, TimeBasis, TrafficSample};
use filermark_results::Timestamp;
use std::net::IpAddr;

const SENDER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

/// A collector and its samples.
struct TestCollector {
    collector: Collector,
    samples: Vec<TrafficSample>,
}

impl TestCollector {
    fn new(options: PortOptions) -> Self {
        Self {
            collector: Collector::new(options),
            samples: Vec::new(),
        }
    }

    fn take(&mut self, seconds: f64, bytes: &[u8]) -> Admission {
        let at = Timestamp::from_unix_seconds(1_520_000_000.0 + seconds);
        let sink = &mut |sample| self.samples.push(sample);
        self.collector
            .datagram(at, SENDER, bytes, sink)
            .expect("sound")
    }

    /// A datagram with one reading of a port: number of the datagram (the sample's is the
    /// same), uptime and bytes received.
    fn read(&mut self, seconds: f64, number: u32, uptime_ms: u32, in_octets: u64) -> Admission {
        self.take(
            seconds,
            &datagram(
                &head(number, uptime_ms),
                &[port_sample(number, &port(in_octets))],
            ),
        )
    }

    fn rates(&self) -> Vec<f64> {
        self.samples
            .iter()
            .filter_map(|s| s.input.bytes_per_s)
            .collect()
    }
}

fn port(in_octets: u64) -> InterfaceCounters {
    InterfaceCounters {
        if_index: 24,
        speed: 10_000_000_000,
        direction: 1,
        in_octets,
        ..InterfaceCounters::default()
    }
}

#[test]
fn rates_over_lost_late_and_doubled_datagrams() {
    let mut desk = TestCollector::new(PortOptions::default());
    desk.read(0.0, 10, 100_000, 0);
    desk.read(5.0, 11, 105_000, 5_000);
    assert_eq!(desk.read(5.1, 11, 105_000, 5_000), Admission::No);
    // 12 is on its way; 13 spans both intervals. Then 12 comes, and 14.
    desk.read(15.0, 13, 115_000, 25_000);
    assert_eq!(desk.collector.ports.counts().lost, 1);
    assert_eq!(desk.read(15.1, 12, 110_000, 10_000), Admission::OutOfOrder);
    desk.read(20.0, 14, 120_000, 30_000);
    assert_eq!(desk.rates(), [1000.0, 2000.0, 1000.0]);
    assert_eq!(desk.samples[1].seconds, 10.0);
    let counts = desk.collector.ports.counts();
    assert_eq!((counts.datagrams, counts.lost, counts.late), (5, 0, 1));
    assert_eq!((counts.duplicates, counts.stale, counts.resets), (1, 1, 0));
    let sample = desk.samples[0];
    assert_eq!((sample.if_index, sample.sub_agent), (24, 0));
    assert_eq!(sample.agent, IpAddr::from([10, 0, 0, 248]));
    assert_eq!(sample.speed_bits_per_s, Some(10_000_000_000));
    assert_eq!(sample.mib_per_s(), Some(1000.0 / 1_048_576.0));
}

#[test]
fn a_restarted_agent_loses_one_interval() {
    let mut desk = TestCollector::new(PortOptions::default());
    desk.read(0.0, 500, 9_000_000, 1_000_000);
    desk.read(5.0, 501, 9_005_000, 1_005_000);
    // It restarts, and has counted past the old figure at its next datagram.
    desk.read(15.0, 1, 4_000, 2_000_000);
    desk.read(20.0, 2, 9_000, 2_010_000);
    assert_eq!(desk.rates(), [1000.0, 2000.0]);
    let counts = desk.collector.ports.counts();
    assert_eq!((counts.restarts, counts.resets, counts.lost), (1, 1, 0));
}

#[test]
fn reset_counters_lose_one_interval() {
    let mut desk = TestCollector::new(PortOptions::default());
    let mut read = |seconds: f64, number: u32, sample: u32, octets: u64| {
        let reading = port_sample(sample, &port(octets));
        desk.take(seconds, &datagram(&head(number, number * 5000), &[reading]));
    };
    read(0.0, 1, 71, 1_000_000);
    // The sample's own number restarts: the sign defined by the standard.
    read(5.0, 2, 1, 1_900_000);
    read(10.0, 3, 2, 1_905_000);
    // No sign, but no counter wraps from there.
    read(15.0, 4, 3, 10);
    read(20.0, 5, 4, 5_010);
    assert_eq!(desk.rates(), [1000.0, 1000.0]);
    let counts = desk.collector.ports.counts();
    assert_eq!((counts.resets, counts.restarts), (2, 0));
}

#[test]
fn the_agents_clock_and_the_receivers() {
    for (basis, wanted) in [
        (TimeBasis::Receiver, [1250.0, 833.3]),
        (TimeBasis::AgentUptime, [1000.0, 1000.0]),
    ] {
        let mut desk = TestCollector::new(PortOptions {
            time_basis: basis,
            ..PortOptions::default()
        });
        desk.read(0.0, 1, 0, 0);
        desk.read(4.0, 2, 5_000, 5_000);
        desk.read(10.0, 3, 10_000, 10_000);
        let rates: Vec<f64> = desk
            .rates()
            .iter()
            .map(|r| (r * 10.0).round() / 10.0)
            .collect();
        assert_eq!(rates, wanted);
        assert_eq!(desk.collector.ports.counts().clocks_differ, 0);
    }
}

#[test]
fn a_receivers_clock_that_jumps_is_counted() {
    let mut desk = TestCollector::new(PortOptions::default());
    desk.read(1000.0, 1, 100_000, 0);
    desk.read(1005.0, 2, 105_000, 5_000);
    desk.read(10.0, 3, 110_000, 10_000);
    desk.read(15.0, 4, 115_000, 15_000);
    desk.read(100.0, 5, 120_000, 20_000);
    desk.read(5000.0, 6, 125_000, 25_000);
    assert_eq!(desk.rates()[..2], [1000.0, 1000.0]);
    assert_eq!(desk.samples.len(), 3);
    let counts = desk.collector.ports.counts();
    assert_eq!((counts.clock_back, counts.too_long), (1, 1));
    assert_eq!(counts.clocks_differ, 3);
    assert_eq!(counts.restarts, 0);
}

#[test]
fn two_readings_at_one_time_are_one() {
    let mut desk = TestCollector::new(PortOptions::default());
    desk.read(0.0, 1, 0, 0);
    desk.read(0.0, 2, 0, 100);
    desk.read(5.0, 3, 5_000, 5_000);
    assert_eq!(desk.rates(), [1000.0]);
    assert_eq!(desk.collector.ports.counts().no_time, 1);
}

#[test]
fn parts_of_an_agent_count_apart() {
    let mut desk = TestCollector::new(PortOptions::default());
    for turn in 0..3u32 {
        for sub_agent in [0, 1] {
            let head = Head {
                agent: None,
                sub_agent,
                ..head(turn + 7 * sub_agent, turn * 1000)
            };
            let octets = u64::from(turn * 100 * (sub_agent + 1));
            let bytes = datagram(&head, &[port_sample(turn, &port(octets))]);
            desk.take(f64::from(turn), &bytes);
        }
    }
    assert_eq!(desk.rates(), [100.0, 200.0, 100.0, 200.0]);
    assert_eq!(desk.samples[0].agent, SENDER);
    assert_eq!(desk.collector.ports.counts().lost, 0);
}

#[test]
fn agents_and_interfaces_have_their_limits() {
    let options = PortOptions {
        agents_max: 8,
        interfaces_max: 16,
        ..PortOptions::default()
    };
    let mut desk = TestCollector::new(options);
    for number in 0..500u32 {
        let head = Head {
            agent: Some(number.to_be_bytes().into()),
            ..head(1, 1)
        };
        let ports: Vec<_> = (0..50)
            .map(|if_index| {
                port_sample(
                    1,
                    &InterfaceCounters {
                        if_index,
                        ..port(1)
                    },
                )
            })
            .collect();
        desk.take(f64::from(number), &datagram(&head, &ports));
    }
    assert_eq!(desk.collector.ports.sizes(), (8, 8 * 16));
    let counts = desk.collector.ports.counts();
    assert_eq!(counts.agents_dropped, 492);
    assert_eq!(counts.interfaces_dropped, 500 * 34);
}
