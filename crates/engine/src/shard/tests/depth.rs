//! Procs with several operations under way by their depth.

use super::*;

/// A proc with a depth has as many operations under way as that, in both modes of pacing: each
/// takes 10 ms, so that a proc makes 100 a second for each of them.
#[test]
fn a_depth_is_how_many_operations_of_a_proc_are_under_way() {
    for (mode, depth, rate, wanted) in [
        (PacingMode::Closed, None, None, 100.0),
        (PacingMode::Closed, Some(8), None, 800.0),
        (PacingMode::Closed, Some(8), Some(500.0), 500.0),
        (PacingMode::Closed, Some(2), Some(500.0), 200.0),
        // The pacing alone would allow four.
        (PacingMode::Open, Some(2), Some(500.0), 200.0),
    ] {
        let mut sim = sim_of_depth(depth, 1, mode, false, fixed(Nanos::from_millis(10)));
        sim.shard.init(100, 16, Nanos::from_secs(1000)).unwrap();
        let start = sim.shard.clock.now() + Nanos::from_secs(1);
        let stats = sim.shard.run(rate, times(start)).unwrap();
        let achieved = stats.achieved_ops_per_sec();
        let case = format!("{mode:?} {depth:?} {rate:?}: {achieved}");
        assert!((achieved / wanted - 1.0).abs() < 0.02, "{case}");
        assert!((stats.service().mean_ns() - 10e6).abs() < 1e4, "{case}");
        // What waits is in the response times, and what is beyond BACKLOG_MAX is dropped.
        let is_late = rate.is_some_and(|rate| rate > wanted);
        assert_eq!(stats.response().mean_ns() > 15e6, is_late, "{case}");
        let drops = mode == PacingMode::Open && is_late;
        assert_eq!(stats.dropped_count > 0, drops, "{case}");
    }
}

/// Explains every refusal as a full disk.
struct FullDisk;

impl crate::driver::LoadDriver for FullDisk {
    fn capabilities(&self) -> crate::driver::Capabilities {
        NullDriver.capabilities()
    }
    fn open_shard(
        &self,
        setup: crate::driver::ShardSetup,
    ) -> Result<Box<dyn ShardDriver>, DriverError> {
        NullDriver.open_shard(setup)
    }
    fn status_text(&self, _: u32) -> String {
        "ENOSPC".to_owned()
    }
    fn fatal_advice(&self, _: u32) -> Option<&'static str> {
        Some("free some space")
    }
}

/// Fatal failures end RUN of a shard with a depth, as of one that blocks; other drivers go on.
#[test]
fn fatal_failures_in_a_row_end_the_run_of_a_shard_with_a_depth() {
    for (depth, is_ended) in [(Some(8), true), (None, false)] {
        let service: Service = Box::new(|_, now| {
            let is_full = now > Nanos::from_secs(1_000);
            let status = if is_full {
                Status::Refused(28)
            } else {
                Status::Ok
            };
            (Nanos::from_millis(1), status)
        });
        let mut sim = sim_of_depth(depth, 1, PacingMode::Closed, false, service);
        sim.shard.explain = Arc::new(FullDisk);
        sim.shard.init(100, 16, Nanos::from_secs(500)).unwrap();
        sim.shard.clock.sleep_until(Nanos::from_secs(999));
        let run = sim.shard.run(None, times(Nanos::from_secs(999)));
        match run {
            Ok(stats) => assert!(!is_ended && stats.error_count() > 10_000),
            Err(e) => {
                assert!(is_ended, "{e}");
                assert!(e.to_string().contains("free some space"), "{e}");
            }
        }
    }
}
