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

/// A generator that wakes up late, or whose thread waits for the file system in each `submit`.
struct Slow {
    inner: Box<dyn ShardDriver>,
    clock: Clock,
    wakes_late: Nanos,
    waits: Nanos,
    waited_until: Nanos,
}

impl ShardDriver for Slow {
    fn submit(&mut self, request: &Request) -> Submit {
        let submitted = self.inner.submit(request);
        if self.waits > Nanos::ZERO {
            self.clock.sleep_until(self.clock.now() + self.waits);
            self.waited_until = self.clock.now();
        }
        submitted
    }
    fn waited_until(&self) -> Nanos {
        self.waited_until
    }
    fn flush(&mut self) {}
    fn poll(&mut self, deadline: Nanos, done: &mut Vec<Completion>) -> Result<(), DriverError> {
        self.inner.poll(deadline, done)?;
        if done.is_empty() {
            self.clock.sleep_until(deadline);
        }
        if self.wakes_late > Nanos::ZERO {
            // What ends in the meantime is seen with it.
            let late = self.clock.now() + self.wakes_late;
            self.clock.sleep_until(late);
            self.inner.poll(late, done)?;
        }
        Ok(())
    }
    fn take_counters(&mut self, _: &mut BTreeMap<String, u64>) {}
    fn transfer_bytes(&self) -> (u32, u32) {
        (65536, 65536)
    }
    fn forget_objects(&mut self, _: u32, _: ObjectId) {}
}

/// `wakeup` has the delays of the generator and no others, with a depth, with open pacing, and
/// with one operation at a time: those of starts that were due while fewer operations were under
/// way than may be.
#[test]
fn a_late_generator_is_distinguished_from_a_slow_server() {
    let ms = Nanos::from_millis;
    for (mode, depth) in [
        (PacingMode::Closed, None),
        (PacingMode::Closed, Some(8)),
        (PacingMode::Open, Some(8)),
        (PacingMode::Open, None),
    ] {
        let run = |rate: f64, service: Nanos, wakes_late: Nanos, waits: Nanos| {
            let mut sim = sim_of_depth(depth, 1, mode, false, fixed(service));
            let clock = sim.shard.clock.clone();
            sim.shard.init(100, 16, Nanos::from_secs(1000)).unwrap();
            let inner = std::mem::replace(
                &mut sim.shard.driver,
                Box::new(Leased {
                    calls: 0,
                    orders: None,
                }),
            );
            sim.shard.driver = Box::new(Slow {
                inner,
                clock,
                wakes_late,
                waits,
                waited_until: Nanos::ZERO,
            });
            let start = sim.shard.clock.now() + Nanos::from_secs(1);
            let stats = sim.shard.run(rate, times(start)).unwrap();
            let free = stats.wakeup.count() as f64 / stats.success_count() as f64;
            (
                free,
                stats.wakeup.mean_ns() / 1e6,
                stats.lateness.mean_ns() / 1e6,
            )
        };
        let case = format!("{mode:?} {depth:?}");
        // In time, with operations under way at nearly all starts but the first.
        let (free, mean, _) = run(60.0, ms(10), Nanos::ZERO, Nanos::ZERO);
        assert!(free > 0.4 && mean < 0.1, "{case}: {free} {mean}");
        // Late by 6 ms, in which others end, where several are under way.
        let is_one = depth.is_none() && mode == PacingMode::Closed;
        let (rate, service, least) = if is_one {
            (60.0, ms(10), 0.3)
        } else {
            (300.0, ms(5), 0.8)
        };
        let (free, mean, _) = run(rate, service, ms(6), Nanos::ZERO);
        assert!(free > least && mean > 2.0, "{case}: {free} {mean}");
        // The server takes longer than the schedule allows: no start is late because of the
        // generator.
        let (free, mean, late) = run(2_000.0, ms(10), Nanos::ZERO, Nanos::ZERO);
        assert!(free < 0.1 || mean < 0.1, "{case}: {free} {mean}");
        assert!(late > 5.0, "{case}: {late}");
        // The thread waits for files that are opened.
        if depth.is_some() {
            let (_, mean, late) = run(60.0, ms(1), Nanos::ZERO, ms(15));
            assert!(mean < 0.1 && late > 2.0, "{case}: {mean} {late}");
        }
    }
}

/// Inside `submit` an operation is published besides those that are under way.
#[test]
fn a_call_that_waits_beside_a_depth_is_published() {
    struct Watching {
        inner: Box<dyn ShardDriver>,
        all: Arc<crate::open_ops::OpenOps>,
        clock: Clock,
        seen: Rc<RefCell<Vec<u64>>>,
    }
    impl ShardDriver for Watching {
        fn submit(&mut self, request: &Request) -> Submit {
            // As long as it may take until the next time that what is under way is published.
            let now = self.clock.now() + Nanos::from_millis(7);
            self.clock.sleep_until(now);
            self.seen.borrow_mut().push(self.all.sample(now).0);
            self.inner.submit(request)
        }
        fn flush(&mut self) {}
        fn poll(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), DriverError> {
            self.inner.poll(until, done)
        }
        fn take_counters(&mut self, _: &mut BTreeMap<String, u64>) {}
        fn transfer_bytes(&self) -> (u32, u32) {
            (65536, 65536)
        }
        fn forget_objects(&mut self, _: u32, _: ObjectId) {}
    }
    let service = fixed(Nanos::from_secs(2));
    let mut sim = sim_of_depth(Some(8), 1, PacingMode::Closed, false, service);
    sim.shard.init(100, 16, Nanos::from_secs(1000)).unwrap();
    let all = crate::open_ops::OpenOps::new(1);
    let (seen, clock) = (Rc::default(), sim.shard.clock.clone());
    let leased = Leased {
        calls: 0,
        orders: None,
    };
    let inner = std::mem::replace(&mut sim.shard.driver, Box::new(leased));
    sim.shard.driver = Box::new(Watching {
        inner,
        all: all.clone(),
        clock: clock.clone(),
        seen: Rc::clone(&seen),
    });
    sim.shard.open_op = Some(crate::open_ops::OpenOp::of(&all, 0));
    let start = clock.now() + Nanos::from_secs(1);
    sim.shard.run(2.0, times(start)).unwrap();
    let seen = seen.borrow();
    // Two a second that take two seconds each, and the one inside.
    assert!(seen.iter().all(|count| *count >= 1), "{seen:?}");
    let many = seen.iter().filter(|count| (3..=7).contains(*count)).count();
    assert!(many > seen.len() / 2, "{seen:?}");
    assert_eq!(all.sample(clock.now()).0, 0);
}
