//! Heartbeats: taken in one agent, put together from several.

use crate::beats::{Beats, Pulse};
use crate::message::Beat;
use filermark_engine::clock::Clock;
use filermark_engine::live_counts::LiveCounts;
use filermark_engine::shard::RunTimes;
use filermark_model::{LoadPoint, Nanos, OpsPerSec};
use filermark_results::Phase;
use std::sync::Arc;
use std::sync::mpsc::channel;

fn point() -> LoadPoint {
    LoadPoint {
        number: 2,
        asked: OpsPerSec(100.0),
        requested: OpsPerSec(100.0),
        units: 1.0,
        proc_count: 3,
    }
}

fn beat(number: u32, procs: &[(u32, u64)]) -> Beat {
    Beat {
        phase: Phase::Run,
        number,
        elapsed_ns: 2_000_000_000,
        procs: procs.to_vec(),
    }
}

fn beats() -> Beats {
    Beats::new(point(), 3, &[0, 1], Nanos::from_secs(2))
}

#[test]
fn the_parts_of_all_agents_make_one() {
    let mut beats = beats();
    assert!(beats.hear(1, &beat(1, &[(1, 50)])).is_empty());
    // The first agent is behind; the second one's next part may come before.
    assert!(beats.hear(1, &beat(2, &[(1, 70)])).is_empty());
    let first = beats.hear(0, &beat(1, &[(0, 10), (2, 20)]));
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].ops_per_sec, [5.0, 25.0, 10.0]);
    assert_eq!((first[0].point, first[0].seconds), (2, 2.0));
    // Never complete, but told at the end: the agent was lost.
    let rest = beats.end();
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0].ops_per_sec, [0.0, 35.0, 0.0]);
    assert!(beats.end().is_empty());
}

#[test]
fn an_agent_that_is_silent_does_not_hold_back_the_others_for_ever() {
    let mut beats = beats();
    let told: usize = (1..=200)
        .map(|n| beats.hear(0, &beat(n, &[(0, 1)])).len())
        .sum();
    assert!((100..200).contains(&told), "{told}");
}

#[test]
fn numbers_that_make_no_sense_are_left_out() {
    let mut beats = beats();
    assert!(beats.hear(7, &beat(1, &[(0, 1)])).is_empty());
    beats.hear(0, &beat(1, &[(0, 4), (900_000, 1)]));
    assert_eq!(beats.end()[0].ops_per_sec, [2.0, 0.0, 0.0]);
}

#[test]
fn both_phases_are_counted_from_their_own_beginning() {
    let clock = Clock::real();
    let start = clock.now() + Nanos::from_millis(20);
    let at = |ms| start + Nanos::from_millis(ms);
    let times = RunTimes {
        warmup_start: start,
        run_start: at(1_000),
        run_end: at(2_200),
    };
    let counts = Arc::new(LiveCounts::new(vec![4]));
    let (sender, receiver) = channel();
    let tell = move |beat| sender.send(beat).is_ok();
    let pulse = Pulse::begin(
        counts.clone(),
        &clock,
        times.into(),
        Nanos::from_millis(400),
        tell,
    );
    let mut total = 0;
    let mut count = |ms, n| {
        clock.sleep_until(at(ms));
        total += n;
        counts.set(0, total);
    };
    count(200, 10);
    // After the last whole interval of WARMUP: told of neither phase.
    count(900, 5);
    count(1_200, 7);
    clock.sleep_until(at(2_200));
    drop(pulse);
    let told: Vec<Beat> = receiver.iter().collect();
    let phases: Vec<_> = told.iter().map(|b| (b.phase, b.number)).collect();
    let (warmup, run) = (Phase::Warmup, Phase::Run);
    assert_eq!(
        phases,
        [(warmup, 1), (warmup, 2), (run, 1), (run, 2), (run, 3)]
    );
    let done = |phase| -> u64 {
        let all = told.iter().filter(|b| b.phase == phase);
        all.flat_map(|b| &b.procs).map(|(_, n)| n).sum()
    };
    assert_eq!(told[0].procs[0].0, 4);
    assert_eq!((done(warmup), done(run)), (10, 7));
}
