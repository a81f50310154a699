//! One message of every kind is encoded and decoded; also writes them to the directory in
//! FILERMARK_FUZZ_SEEDS, for ci/fuzz.

use crate::facts::{InspectFacts, InspectRequest, Probe, ProbeOutcome};
use crate::frame::{Deframer, MAGIC, encode};
use crate::identity::own_hello;
use crate::message::*;
use crate::secure::seal::{Opener, Sealer};
use filermark_model::op::OpGroup;
use filermark_model::plan::MountPoint;
use filermark_model::stats::Interval;
use filermark_results::record::SpaceChange;
use filermark_results::{Environment, Phase};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn mount() -> MountPoint {
    MountPoint {
        host: "nas".into(),
        path: "/export/ü".into(),
    }
}

fn orders() -> Vec<Order> {
    let plan = filermark_results::testing::plan();
    let point = plan.points[0];
    let share = ClientShare {
        plan: Box::new(plan.for_client(1)),
        client: 1,
        dir_name: "filermark.x".to_owned(),
        run_id: "x y".into(),
        password: None,
    };
    let mut sealer = Sealer::to(&Opener::new().key()).expect("a key");
    let sealed = ClientShare {
        password: Some(sealer.seal("geheim").expect("short enough")),
        ..share.clone()
    };
    vec![
        Order::Hello(own_hello()),
        Order::Time { seq: 7 },
        Order::Inspect(Box::new(InspectRequest::CreateProbes {
            probes: vec![Probe {
                dir: "/mnt".into(),
                name: "n".into(),
                token: "t".into(),
            }],
        })),
        Order::Prepare(share.clone()),
        Order::Init {
            point,
            watch_space: vec!["fs".into()],
        },
        Order::Run {
            point,
            warmup_at_ns: u64::MAX,
            watch_space: vec!["fs".into()],
            phases: Some(share.plan.phases),
        },
        Order::Cleanup,
        Order::Release {
            orphans: vec![mount()],
        },
        Order::Sweep(sealed),
        Order::Stop,
        Order::Alive,
        Order::Goodbye,
    ]
}

fn second() -> Interval {
    let mut second = Interval::default();
    second.responses.count(OpGroup::Reads, 150_000);
    second.responses.count(OpGroup::Changes, u64::MAX);
    second
}

fn reports() -> Vec<Report> {
    let tasks = TaskTotals {
        task_count: 3,
        ..TaskTotals::default()
    };
    vec![
        Report::Hello(own_hello()),
        Report::Time {
            seq: 7,
            clock_ns: 1,
            unix_ns: u64::MAX,
        },
        Report::Inspected(Box::new(InspectFacts::Probes {
            outcomes: vec![ProbeOutcome::Done, ProbeOutcome::Missing],
        })),
        Report::Ready {
            environment: Box::new(Environment::default()),
            shard_count: 2,
            remarks: vec!["a".into()],
            free: vec![FreeSpace {
                total_bytes: 1 << 40,
                mounts: vec![mount()],
                file_system: "nas:/export".into(),
                bytes: 9,
                kept: true,
            }],
            lacking: vec!["b".into()],
        },
        Report::Progress {
            task_count: 1,
            bytes: 2,
        },
        Report::Waiting {
            sentence: "g".into(),
        },
        Report::Second {
            interval: Box::new(second()),
        },
        Report::Heartbeat(AgentHeartbeat {
            phase: Phase::Run,
            number: 2,
            elapsed_ns: 10,
            procs: vec![(3, 4)],
        }),
        Report::Alive,
        Report::Leaving { reason: "c".into() },
        Report::Populated {
            tasks,
            space: vec![SpaceChange {
                file_system: "nas:/vol".into(),
                total_bytes: 1 << 40,
                before_bytes: 1 << 39,
                after_bytes: 1 << 38,
            }],
        },
        Report::Measured {
            stats: Box::new(filermark_results::testing::quiet_point(100.0, 5)),
            clock: Some(ClockCheck::Failed { reason: "d".into() }),
            late_ns: 5,
            warmup_ns: 0,
            runtime_ns: 0,
            run_late_ns: 0,
            stalls: filermark_model::stall::Stalls::default(),
            reads: Vec::new(),
        },
        Report::Cleaned {
            tasks,
            left_behind: vec![Leftover::ours("e"), Leftover::not_ours("g")],
        },
        Report::Failed {
            reason: "f".into(),
            stopped: true,
        },
    ]
}

/// The encoding of all of them, each of which was decoded again.
fn wire<T: Serialize + DeserializeOwned>(messages: &[T]) -> Vec<Vec<u8>> {
    let there_and_back = |message: &T| {
        let mut wire = MAGIC.to_vec();
        wire.extend(encode(message).expect("packed"));
        let mut deframer = Deframer::of_agent();
        deframer.push(&wire);
        let frame = deframer.next_frame().expect("a frame").expect("whole");
        let back: T = frame.decode().expect("a message");
        let json = |m: &T| serde_json::to_string(m).expect("JSON");
        assert_eq!(json(&back), json(message));
        assert_eq!(deframer.next_frame(), Ok(None));
        wire
    };
    messages.iter().map(there_and_back).collect()
}

#[test]
fn every_message_is_decoded_as_it_was_encoded() {
    let all = [wire(&orders()), wire(&reports())].concat();
    let Some(corpus) = std::env::var_os("FILERMARK_FUZZ_SEEDS") else {
        return;
    };
    let folder = std::path::Path::new(&corpus).join("frames");
    std::fs::create_dir_all(&folder).expect("create the corpus folder");
    for (number, bytes) in all.iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{number}")), bytes).expect("write a seed");
    }
}

#[test]
fn figures_merge_equally_before_and_after_encoding() {
    let one = filermark_results::testing::quiet_point(100.0, 5);
    let two = filermark_results::testing::quiet_point(250.0, 5);
    let sent = |stats: &filermark_model::PointStats| {
        let report = Report::Measured {
            stats: Box::new(stats.clone()),
            clock: None,
            late_ns: 0,
            warmup_ns: 0,
            runtime_ns: 0,
            run_late_ns: 0,
            stalls: filermark_model::stall::Stalls::default(),
            reads: Vec::new(),
        };
        let mut deframer = Deframer::of_prime();
        deframer.push(&encode(&report).expect("packed"));
        let frame = deframer.next_frame().expect("a frame").expect("whole");
        match frame.decode() {
            Ok(Report::Measured { stats, .. }) => *stats,
            other => panic!("{other:?}"),
        }
    };
    let (mut here, mut there) = (one.clone(), sent(&one));
    here.merge(&two);
    there.merge(&sent(&two));
    let json = |stats: &filermark_model::PointStats| serde_json::to_string(stats).expect("JSON");
    assert_eq!(json(&here), json(&there));
    for percentile in [50.0, 90.0, 99.0, 99.9, 100.0] {
        let of = |stats: &filermark_model::PointStats| stats.service().percentile_ns(percentile);
        assert_eq!(of(&here), of(&there));
    }
}
