//! Untrusted bytes.

use crate::encode::*;
use filermark_energy_data::log::Log;
use filermark_energy_data::reduce::{ReduceOptions, reduce_logs};
use filermark_energy_data::setup::Setup;
use filermark_energy_data::sflow::counters::InterfaceCounters;
use filermark_energy_data::sflow::datagram::Source;
use filermark_energy_data::sflow::{Collector, PortOptions};
use filermark_results::Timestamp;
use proptest::prelude::*;

/// A valid datagram with many kinds of samples.
fn sound(sequence: u32) -> Vec<u8> {
    let counters = InterfaceCounters {
        if_index: sequence % 40,
        in_octets: u64::from(sequence) * 1000,
        ..InterfaceCounters::default()
    };
    let source = Source { class: 0, index: 3 };
    let flow = Flow {
        sequence,
        source,
        sampling_rate: 64,
        sample_pool: 9,
        drops: 0,
        input: 3,
        output: sequence % 50,
    };
    let host = Words::default()
        .opaque(b"host")
        .bytes(&[7; 16])
        .u32(3)
        .u32(2)
        .opaque(b"6");
    let samples = [
        port_sample(sequence, &counters),
        counter_sample(
            sequence,
            source,
            true,
            &[(2000, host), interface_record(&counters)],
        ),
        flow_sample(&flow, false, &[header(1500, &[1; 61])]),
        flow_sample(&flow, true, &[header(1500, &[1; 64])]),
        discarded(1, 2, 3, &[header(60, b"abcd")]),
    ];
    datagram(&head(sequence, sequence.wrapping_mul(1000)), &samples)
}

fn small() -> Collector {
    Collector::new(PortOptions {
        agents_max: 4,
        interfaces_max: 8,
        ..PortOptions::default()
    })
}

fn take(collector: &mut Collector, seconds: f64, bytes: &[u8]) {
    let at = Timestamp::from_unix_seconds(seconds);
    let sink = &mut |sample: filermark_energy_data::sflow::TrafficSample| {
        assert!(sample.seconds > 0.0 && sample.seconds.is_finite());
        for rate in [sample.input.bytes_per_s, sample.output.packets_per_s] {
            assert!(rate.is_none_or(|rate| rate.is_finite() && rate >= 0.0));
        }
    };
    let _ = collector.datagram(at, [10, 0, 0, 1].into(), bytes, sink);
    let (agents, interfaces) = collector.ports.sizes();
    assert!(agents <= 4 && interfaces <= 32, "{agents} {interfaces}");
}

/// The starting points of fuzzing; see `ci/fuzz`.
#[test]
fn sound_messages_pass_every_target() {
    let bytes = sound(7);
    let mut collector = small();
    take(&mut collector, 0.0, &bytes);
    let problems = collector.problems();
    assert_eq!(
        (problems.unreadable, problems.broken, problems.skipped),
        (0, 0, 0)
    );
    if let Some(dir) = std::env::var_os("FILERMARK_FUZZ_SEEDS") {
        let dir = std::path::Path::new(&dir).join("sflow");
        std::fs::create_dir_all(&dir).expect("a folder for seeds");
        let hand = hex(include_str!("../fixtures/counters.hex"));
        let capture = include_bytes!("../fixtures/ovs-sflow.pcap").to_vec();
        let rows = include_bytes!("../fixtures/sflowtool-training.csv").to_vec();
        let json = include_bytes!("../fixtures/sflowtool.json").to_vec();
        let seeds = [
            ("all", bytes),
            ("hand", hand),
            ("capture", capture),
            ("rows", rows),
            ("json", json),
        ];
        for (name, bytes) in seeds {
            std::fs::write(dir.join(name), bytes).expect("a seed");
        }
        text_seeds(dir.parent().expect("the folder of all"));
    }
}

/// The seeds of logs and setups are valid, so that fuzzing gets past the first checks.
#[test]
fn seeds_of_logs_and_setups_are_valid() {
    let path = std::path::Path::new("seed");
    Setup::parse(SETUP, path).expect("a setup");
    let log = Log::new(MERGED.as_bytes(), path);
    let reduced = reduce_logs(vec![log], &ReduceOptions::default()).expect("a reduction");
    assert_eq!(reduced.workloads[0].points.len(), 2);
}

const SETUP: &str = include_str!("../fixtures/energy.toml");
const MERGED: &str = include_str!("../fixtures/merged.jsonl");

/// Seeds of the targets that take text.
fn text_seeds(corpus: &std::path::Path) {
    let wt = include_str!("../fixtures/wtviewer-training.csv");
    let cw = include_str!("../fixtures/cw121.csv");
    let hioki = include_str!("../fixtures/hioki.csv");
    let log = include_str!("../fixtures/sfslog-training.txt");
    for (target, name, text) in [
        ("power_csv", "wt", wt),
        ("power_csv", "cw", cw),
        ("power_csv", "hioki", hioki),
        ("sfslog", "training", log),
        ("energy_log", "merged", MERGED),
        ("energy_setup", "all", SETUP),
    ] {
        let dir = corpus.join(target);
        std::fs::create_dir_all(&dir).expect("a folder for seeds");
        std::fs::write(dir.join(name), text).expect("a seed");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20)) {
        let mut collector = small();
        for (second, bytes) in datagrams.iter().enumerate() {
            take(&mut collector, second as f64, bytes);
        }
    }

    #[test]
    fn sound_datagrams_with_wrong_bytes_are_survived(
        changes in prop::collection::vec((any::<u32>(), any::<prop::sample::Index>(), any::<u8>(), any::<prop::sample::Index>(), -1e9..1e9f64), 1..40),
    ) {
        let mut collector = small();
        for (sequence, place, byte, end, seconds) in changes {
            let mut bytes = sound(sequence);
            let at = place.index(bytes.len());
            bytes[at] = byte;
            take(&mut collector, seconds, &bytes);
            bytes.truncate(end.index(bytes.len()));
            take(&mut collector, seconds + 1.0, &bytes);
        }
    }

    /// Encoded counters are decoded unchanged.
    #[test]
    fn interface_counters_come_back(words in prop::array::uniform32(any::<u32>()), wide in prop::array::uniform3(any::<u64>())) {
        use filermark_energy_data::sflow::{Datagram, Sample, counters::CounterRecord};
        let counters = InterfaceCounters {
            if_index: words[0], if_type: words[1], speed: wide[0], direction: words[2], status: words[3],
            in_octets: wide[1], in_unicast: words[4], in_multicast: words[5], in_broadcast: words[6],
            in_discards: words[7], in_errors: words[8], in_unknown_protocols: words[9],
            out_octets: wide[2], out_unicast: words[10], out_multicast: words[11], out_broadcast: words[12],
            out_discards: words[13], out_errors: words[14], promiscuous: words[15],
        };
        let source = Source { class: words[16], index: words[17] };
        let bytes = datagram(&head(words[18], words[19]), &[counter_sample(words[20], source, true, &[interface_record(&counters)])]);
        let read = Datagram::decode(&bytes).expect("sound");
        prop_assert_eq!((read.sequence, read.uptime_ms), (words[18], words[19]));
        let Some(Ok(Sample::Counters(sample))) = read.samples().next() else { panic!("no counters") };
        prop_assert_eq!((sample.sequence, sample.source), (words[20], source));
        prop_assert_eq!(sample.records().next(), Some(Ok(CounterRecord::Interface(counters))));
    }
}
