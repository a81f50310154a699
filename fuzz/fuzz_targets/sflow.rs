#![no_main]

use filermark_energy_data::sflow::{Collector, PORT, PortOptions, TrafficSample, capture, sflowtool};
use filermark_results::Timestamp;

// Datagrams, captures and text with any bytes: nothing panics, nothing grows without bound,
// and every rate is a finite number.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let options = PortOptions {
        agents_max: 4,
        interfaces_max: 16,
        ..PortOptions::default()
    };
    let mut collector = Collector::new(options);
    let mut sink = |sample: TrafficSample| {
        assert!(sample.seconds > 0.0);
        assert!(
            sample
                .bytes_per_s()
                .is_none_or(|rate| rate.is_finite() && rate >= 0.0)
        );
    };
    let from = [192, 0, 2, 1].into();
    // The whole, and again pieces of it as if they were datagrams that follow each other.
    for (second, piece) in [data].into_iter().chain(data.chunks(244)).enumerate() {
        let at = Timestamp::from_unix_seconds(second as f64);
        let _ = collector.datagram(at, from, piece, &mut sink);
    }
    let _ = capture::read(
        data,
        PORT,
        &mut capture::Packets::default(),
        &mut |at, from, bytes| {
            let _ = collector.datagram(at, from, bytes, &mut sink);
        },
    );
    let mut reader = sflowtool::SflowtoolReader::new(Some(filermark_energy_data::sflow::Zone::UTC));
    for line in String::from_utf8_lossy(data).lines() {
        reader.line(line, &mut |row| {
            collector.row(Timestamp::from_unix_seconds(1e9), &row, &mut sink)
        });
    }
    reader.end();
    let (agents, interfaces) = collector.ports.sizes();
    assert!(agents <= 4 && interfaces <= 64);
});
