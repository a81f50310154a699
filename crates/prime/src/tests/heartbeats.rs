//! Heartbeats of several agents are merged.

use crate::heartbeats::HeartbeatMerger;
use filermark_link::message::AgentHeartbeat;
use filermark_model::{LoadPoint, Nanos, OpsPerSec};
use filermark_results::Phase;

fn point() -> LoadPoint {
    LoadPoint {
        number: 2,
        entered: OpsPerSec(100.0),
        requested: OpsPerSec(100.0),
        units: 1.0,
        proc_count: 3,
    }
}

fn beat(number: u32, procs: &[(u32, u64)]) -> AgentHeartbeat {
    AgentHeartbeat {
        phase: Phase::Run,
        number,
        elapsed_ns: 2_000_000_000,
        procs: procs.to_vec(),
    }
}

fn beats() -> HeartbeatMerger {
    HeartbeatMerger::new(point(), 3, &[0, 1], Nanos::from_secs(2))
}

#[test]
fn the_parts_of_all_agents_make_one() {
    let mut beats = beats();
    assert!(beats.add_heartbeat(1, &beat(1, &[(1, 50)])).is_empty());
    // The first agent is behind; the second agent's next part may arrive earlier.
    assert!(beats.add_heartbeat(1, &beat(2, &[(1, 70)])).is_empty());
    let first = beats.add_heartbeat(0, &beat(1, &[(0, 10), (2, 20)]));
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].ops_per_sec, [5.0, 25.0, 10.0]);
    assert_eq!((first[0].point, first[0].seconds), (2, 2.0));
    // Never complete, since the agent was lost, but returned at the end.
    let rest = beats.end();
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0].ops_per_sec, [0.0, 35.0, 0.0]);
    assert!(beats.end().is_empty());
}

#[test]
fn a_silent_agent_delays_the_others_for_a_limited_time() {
    let mut beats = beats();
    let returned: usize = (1..=200)
        .map(|n| beats.add_heartbeat(0, &beat(n, &[(0, 1)])).len())
        .sum();
    assert!((100..200).contains(&returned), "{returned}");
}

#[test]
fn unknown_agents_and_procs_are_left_out() {
    let mut beats = beats();
    assert!(beats.add_heartbeat(7, &beat(1, &[(0, 1)])).is_empty());
    beats.add_heartbeat(0, &beat(1, &[(0, 4), (900_000, 1)]));
    assert_eq!(beats.end()[0].ops_per_sec, [2.0, 0.0, 0.0]);
}
