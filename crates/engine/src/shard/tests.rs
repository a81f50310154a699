//! The proc loop under a virtual clock: a run takes no real time and is
//! equal for equal seeds.

mod depth;
mod stop;

use super::*;
use crate::assign_procs::classic_procs;
use crate::driver::*;
use crate::name::Name;
use crate::null::NullDriver;
use filermark_model::plan::PacingMode;
use filermark_model::{Benchmark, Mix, Op, PointStats};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

/// A server that takes `service(n)` for its n-th request, one at a time or all at once.
struct SimServer {
    clock: Clock,
    queue: std::collections::BinaryHeap<std::cmp::Reverse<(Nanos, u32, u64)>>,
    service: Box<dyn FnMut(u64, Nanos) -> (Nanos, Status)>,
    serial: bool,
    free_at: Nanos,
    count: u64,
    outcomes: std::collections::HashMap<u64, (Nanos, Status)>,
    actions: Rc<RefCell<Vec<(Nanos, u32, Action)>>>,
}

impl ShardDriver for SimServer {
    fn submit(&mut self, request: &Request) -> Submit {
        let now = self.clock.now();
        let (service, status) = (self.service)(self.count, now);
        let start = if self.serial {
            self.free_at.max(now)
        } else {
            now
        };
        self.free_at = start + service;
        self.outcomes.insert(self.count, (now, status));
        self.queue
            .push(std::cmp::Reverse((self.free_at, request.token, self.count)));
        self.actions
            .borrow_mut()
            .push((now, request.proc, request.action));
        self.count += 1;
        Submit::Queued
    }
    fn flush(&mut self) {}
    fn poll(&mut self, deadline: Nanos, done: &mut Vec<Completion>) -> Result<(), DriverError> {
        let next = self.queue.peek().map_or(Nanos::MAX, |r| r.0.0);
        self.clock.sleep_until(next.min(deadline));
        let now = self.clock.now();
        while let Some(std::cmp::Reverse((at, token, n))) = self.queue.peek().copied() {
            if at > now {
                break;
            }
            self.queue.pop();
            let (sent, status) = self.outcomes.remove(&n).unwrap();
            done.push(Completion {
                token,
                outcome: Outcome {
                    status,
                    sent,
                    done: at,
                    physical: 1,
                    read_bytes: 0,
                    written_bytes: 0,
                    end: true,
                },
            });
        }
        Ok(())
    }
    /// Its sockets fail as soon as RUN is over.
    fn make_stable(&mut self, _: Nanos) -> Result<(), DriverError> {
        Err(DriverError {
            place: "host".to_owned(),
            step: "wait for replies".to_owned(),
            reason: "the event queue is gone".to_owned(),
            advice: String::new(),
        })
    }
    fn take_counters(&mut self, _: &mut BTreeMap<String, u64>) {}
    fn transfer_bytes(&self) -> (u32, u32) {
        (65536, 65536)
    }
    fn forget_objects(&mut self, _: u32, _: ObjectId) {}
}

struct Sim {
    shard: Shard,
    actions: Rc<RefCell<Vec<(Nanos, u32, Action)>>>,
    mix: Mix,
}

/// A driver whose server keeps state as long as it is called.
struct Leased {
    calls: u32,
    /// Gives an order at this call; without a sender there are no orders any more.
    orders: Option<std::sync::mpsc::Sender<u32>>,
}

impl ShardDriver for Leased {
    fn submit(&mut self, _: &Request) -> Submit {
        Submit::Busy
    }
    fn flush(&mut self) {}
    fn poll(&mut self, _: Nanos, _: &mut Vec<Completion>) -> Result<(), DriverError> {
        Ok(())
    }
    fn keep_alive(&mut self) -> Option<Nanos> {
        self.calls += 1;
        match (self.calls, &self.orders) {
            (3, Some(orders)) => orders.send(self.calls).unwrap(),
            (4.., _) => self.orders = None,
            _ => {}
        }
        Some(Nanos::from_millis(1))
    }
    fn take_counters(&mut self, _: &mut BTreeMap<String, u64>) {}
    fn transfer_bytes(&self) -> (u32, u32) {
        (1, 1)
    }
    fn forget_objects(&mut self, _: u32, _: ObjectId) {}
}

/// Without an order the driver is called again and again, and the end of the orders is noticed.
#[test]
fn leases_are_kept_while_a_shard_waits_for_an_order() {
    let (orders, receiver) = std::sync::mpsc::channel();
    let mut sim = sim(1, PacingMode::Closed, true, fixed(Nanos(1)));
    sim.shard.driver = Box::new(Leased {
        calls: 0,
        orders: Some(orders),
    });
    assert_eq!(sim.shard.next_order(&receiver), Some(3));
    assert_eq!(sim.shard.next_order(&receiver), None);
}

/// A driver without leases is not called, and its thread sleeps until the order.
#[test]
fn a_shard_without_leases_waits_for_its_order() {
    let (orders, receiver) = std::sync::mpsc::channel();
    let mut sim = sim(1, PacingMode::Closed, true, fixed(Nanos(1)));
    orders.send(7).unwrap();
    drop(orders);
    assert_eq!(sim.shard.next_order(&receiver), Some(7));
    assert_eq!(sim.shard.next_order(&receiver), None);
}

type Service = Box<dyn FnMut(u64, Nanos) -> (Nanos, Status)>;

fn sim(procs: u32, mode: PacingMode, serial: bool, service: Service) -> Sim {
    sim_of_depth(None, procs, mode, serial, service)
}

fn sim_of_depth(
    depth: Option<u32>,
    procs: u32,
    mode: PacingMode,
    serial: bool,
    service: Service,
) -> Sim {
    let clock = Clock::virtual_at_zero();
    let benchmark = Benchmark::shipped("general-nfs3").unwrap();
    let actions = Rc::new(RefCell::new(Vec::new()));
    let driver = SimServer {
        clock: clock.clone(),
        queue: Default::default(),
        service,
        serial,
        free_at: Nanos::ZERO,
        count: 0,
        outcomes: Default::default(),
        actions: actions.clone(),
    };
    let shard = Shard::new(ShardParts {
        driver: Box::new(driver),
        explain: Arc::new(NullDriver),
        clock,
        stop: StopFlag::new(),
        procs: classic_procs(benchmark.classic().unwrap(), 42, procs, |n| {
            format!("host{n}")
        }),
        operations: Arc::new(Operations::new(&benchmark.mix)),
        pacing: Pacing {
            mode,
            arrivals: Arrivals::Uniform,
            backlog_max_per_proc: 4,
        },
        seed: 42,
        live: None,
        live_counts: None,
        blocking: false,
        depth,
        open_op: None,
    });
    Sim {
        shard,
        actions,
        mix: benchmark.mix,
    }
}

fn fixed(service: Nanos) -> Service {
    Box::new(move |_, _| (service, Status::Ok))
}

fn times(start: Nanos) -> RunTimes {
    RunTimes {
        warmup_start: start,
        run_start: start + Nanos::from_secs(5),
        run_end: start + Nanos::from_secs(35),
    }
}

fn init_and_run(sim: &mut Sim, files: u64, rate: f64) -> PointStats {
    sim.shard.init(files, 16, Nanos::from_secs(1000)).unwrap();
    let start = sim.shard.clock.now() + Nanos::from_secs(1);
    sim.shard.run(rate, times(start)).unwrap()
}

/// The measured figures are kept, whatever the outcome of the COMMITs after RUN.
#[test]
fn a_run_is_measured_though_nothing_can_be_made_stable_after_it() {
    let mut sim = sim(1, PacingMode::Closed, true, fixed(Nanos::from_millis(1)));
    let stats = init_and_run(&mut sim, 100, 10.0);
    assert!(stats.success_count() > 200, "{}", stats.success_count());
}

#[test]
fn below_saturation_the_rate_is_kept_and_the_service_time_is_the_servers() {
    for mode in [PacingMode::Closed, PacingMode::Open] {
        let mut sim = sim(8, mode, false, fixed(Nanos::from_millis(2)));
        let stats = init_and_run(&mut sim, 1000, 50.0);
        let achieved = stats.achieved_ops_per_sec();
        assert!(
            (achieved / 400.0 - 1.0).abs() < 0.005,
            "{mode:?}: {achieved}"
        );
        assert_eq!(stats.error_count(), 0);
        assert!((stats.service().mean_ns() - 2e6).abs() < 1.0);
        assert!(stats.response().mean_ns() >= stats.service().mean_ns());
        for (op, percent) in sim.mix.shares() {
            let got = stats.op(*op).unwrap().success_count as f64 / stats.success_count() as f64;
            assert!((got * 100.0 - percent).abs() < 1.5, "{op}: {got}");
        }
        assert_eq!(stats.procs.len(), 8);
        assert!(stats.procs.iter().all(|p| p.wanted_count == 1500));
        assert_eq!(stats.intervals.iter().filter(|i| i.second >= 0).count(), 30);
    }
}

#[test]
fn closed_pacing_never_has_two_in_flight_and_slows_down_with_the_server() {
    // 4 procs on a server that does 100 a second: a third of the requested rate.
    let mut sim = sim(4, PacingMode::Closed, true, fixed(Nanos::from_millis(10)));
    let stats = init_and_run(&mut sim, 100, 80.0);
    assert!((stats.achieved_ops_per_sec() - 100.0).abs() < 1.0);
    assert!(
        (stats.service().mean_ns() - 40e6).abs() < 2e6,
        "four queue at the server"
    );
    assert!(
        stats.response().mean_ns() > 1e9,
        "lateness shows in the response time"
    );
    assert!(stats.rescheduled_count > 0);
    assert_eq!(stats.dropped_count, 0);
}

#[test]
fn open_pacing_keeps_arriving_and_bounds_its_backlog() {
    let mut sim = sim(4, PacingMode::Open, true, fixed(Nanos::from_millis(10)));
    let stats = init_and_run(&mut sim, 100, 40.0);
    assert!(stats.dropped_count > 500, "{}", stats.dropped_count);
    assert!(stats.backlog_max > 0);
    assert!(stats.achieved_ops_per_sec() < 101.0);
}

#[test]
fn a_stall_is_seen_by_the_response_time_and_not_by_the_service_time_alone() {
    // One second in thirty the server does nothing.
    let service: Service = Box::new(|_, now| {
        let in_stall = (20_000_000_000..21_000_000_000).contains(&now.0);
        let wait = if in_stall { 21_000_000_000 - now.0 } else { 0 };
        (Nanos(wait + 1_000_000), Status::Ok)
    });
    let mut sim = sim(1, PacingMode::Closed, false, service);
    let stats = init_and_run(&mut sim, 10, 100.0);
    let (service, response) = (stats.service(), stats.response());
    assert!(service.percentile_ns(99.0) < 3_000_000);
    assert!(
        response.percentile_ns(97.5) > 200_000_000,
        "{}",
        response.percentile_ns(97.5)
    );
    assert!(
        (stats.achieved_ops_per_sec() - 100.0).abs() < 0.5,
        "the backlog is worked off"
    );
}

#[test]
fn the_same_seed_makes_the_same_run() {
    let run = || {
        let mut sim = sim(5, PacingMode::Closed, false, fixed(Nanos::from_micros(300)));
        init_and_run(&mut sim, 500, 20.0);
        sim.actions.take()
    };
    assert_eq!(run(), run());
}

#[test]
fn init_makes_parents_first_and_cleanup_removes_all_that_was_made() {
    let mut sim = sim(3, PacingMode::Closed, false, fixed(Nanos::from_micros(100)));
    init_and_run(&mut sim, 700, 30.0);
    sim.shard.cleanup(16, Nanos::from_secs(1000)).unwrap();
    let mut there: HashSet<(u32, ObjectId, Name)> = HashSet::new();
    let mut dirs: HashSet<(u32, ObjectId)> = HashSet::new();
    let mut proc_dirs = HashSet::new();
    for (_, proc, action) in sim.actions.take() {
        match action {
            Action::MakeProcDir { .. } => {
                proc_dirs.insert(proc);
                dirs.insert((proc, PROC_DIR));
            }
            Action::Mkdir { dir, name, object } => {
                assert!(dirs.contains(&(proc, dir)));
                dirs.insert((proc, object));
                there.insert((proc, dir, name));
            }
            Action::Fill { dir, name, .. }
            | Action::Create { dir, name, .. }
            | Action::Symlink { dir, name, .. } => {
                assert!(dirs.contains(&(proc, dir)), "{name:?} before its directory");
                there.insert((proc, dir, name));
            }
            Action::Remove { dir, name } | Action::Rmdir { dir, name } => {
                assert!(
                    there.remove(&(proc, dir, name)),
                    "{name:?} removed but never made"
                );
            }
            Action::RemoveProcDir { .. } => assert!(proc_dirs.remove(&proc)),
            _ => {}
        }
    }
    assert!(
        there.is_empty() && proc_dirs.is_empty(),
        "left behind: {there:?}"
    );
}

/// An agent that loses its prime in CLEANUP stops, and then cleans up by itself.
#[test]
fn a_cleanup_that_is_broken_off_is_made_again_in_full() {
    let stop: Rc<RefCell<Option<StopFlag>>> = Rc::default();
    let (flag, mut removals) = (stop.clone(), 0);
    let service = Box::new(move |_, _| {
        if let Some(flag) = &*flag.borrow() {
            removals += 1;
            if removals == 40 {
                flag.raise();
            }
        }
        (Nanos::from_millis(1), Status::Ok)
    });
    let mut sim = sim(2, PacingMode::Closed, false, service);
    init_and_run(&mut sim, 300, 20.0);
    stop.replace(Some(sim.shard.stop.clone()));
    let broken_off = sim.shard.cleanup(16, Nanos::from_secs(1000));
    assert_eq!(broken_off, Err(PhaseError::Stopped));
    sim.shard.stop.lower();
    sim.shard.cleanup(16, Nanos::from_secs(1000)).unwrap();
    let mut there = HashSet::new();
    for (_, proc, action) in sim.actions.take() {
        match action {
            Action::Mkdir { dir, name, .. }
            | Action::Fill { dir, name, .. }
            | Action::Create { dir, name, .. }
            | Action::Symlink { dir, name, .. } => {
                there.insert((proc, dir, name));
            }
            Action::Remove { dir, name } | Action::Rmdir { dir, name } => {
                there.remove(&(proc, dir, name));
            }
            _ => {}
        }
    }
    assert!(there.is_empty(), "left behind: {there:?}");
}

/// What was not answered was not removed: the prime ends a CLEANUP without progress.
#[test]
fn removals_without_a_reply_are_no_progress() {
    let (in_cleanup, answered) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
    let (flag, count) = (in_cleanup.clone(), answered.clone());
    let service = Box::new(move |number, _| {
        let is_answered = !flag.get() || number % 2 == 0;
        count.set(count.get() + u64::from(flag.get() && is_answered));
        let status = if is_answered {
            Status::Ok
        } else {
            Status::TimedOut
        };
        (Nanos::from_millis(1), status)
    });
    let mut sim = sim(2, PacingMode::Closed, false, service);
    init_and_run(&mut sim, 300, 20.0);
    in_cleanup.set(true);
    let report = sim.shard.cleanup(16, Nanos::from_secs(1000)).unwrap();
    assert!(report.failed_count > 0);
    assert_eq!(report.task_count, answered.get());
}

#[test]
fn a_second_init_only_grows_and_restores() {
    let mut sim = sim(2, PacingMode::Closed, false, fixed(Nanos::from_micros(100)));
    init_and_run(&mut sim, 300, 50.0);
    sim.actions.take();
    let report = sim.shard.init(400, 16, Nanos::from_secs(1000)).unwrap();
    let actions = sim.actions.take();
    let fills = actions
        .iter()
        .filter(|a| matches!(a.2, Action::Fill { .. }))
        .count();
    let cuts = actions
        .iter()
        .filter(|a| matches!(a.2, Action::Setattr { size: Some(_), .. }))
        .count();
    assert_eq!(fills, 100);
    assert!(cuts > 0, "files that had grown are cut back");
    // Files that become accessed with the larger load were made without a handle.
    let found = actions
        .iter()
        .filter(|a| matches!(a.2, Action::Lookup { .. }))
        .count();
    assert!(found > 0);
    assert_eq!(report.task_count as usize, fills + cuts + found);
}

#[test]
fn a_refusal_ends_init_but_only_counts_in_run() {
    let refusing = |from: u64| -> Service {
        Box::new(move |n, _| {
            let status = if n >= from {
                Status::Refused(28)
            } else {
                Status::Ok
            };
            (Nanos::from_micros(50), status)
        })
    };
    let mut full = sim(1, PacingMode::Closed, false, refusing(200));
    let error = full.shard.init(1000, 8, Nanos::from_secs(9)).unwrap_err();
    assert!(
        error.to_string().contains("host0: INIT: CREATE")
            && error.to_string().contains(" p000000/")
            && error.to_string().contains("status 28"),
        "{error}"
    );

    let mut later = sim(1, PacingMode::Closed, false, refusing(10_000));
    let stats = init_and_run(&mut later, 10, 1000.0);
    assert!(stats.error_count() > 0);
    assert!(
        stats.errors.keys().any(|k| k.ends_with("status 28")),
        "{:?}",
        stats.errors
    );
}

#[test]
fn an_operation_that_cannot_be_prepared_fails_once_and_at_its_time() {
    // No object exists that could be removed, and the full disk accepts none.
    for mode in [PacingMode::Closed, PacingMode::Open] {
        let refusal: Service = Box::new(|_, _| (Nanos::from_millis(1), Status::Refused(28)));
        let mut sim = sim(2, mode, false, refusal);
        let mut benchmark = Benchmark::shipped("general-nfs3").unwrap();
        benchmark.mix = Mix::new([(Op::Remove, 100.0)]).unwrap();
        sim.shard.operations = Arc::new(Operations::new(&benchmark.mix));
        let stats = sim.shard.run(10.0, times(Nanos::ZERO)).unwrap();
        assert_eq!((stats.success_count(), stats.error_count()), (0, 600));
        assert_eq!(stats.preparation_count, 600);
        assert_eq!(sim.actions.borrow().len(), 700);
    }
}

#[test]
fn a_server_that_is_gone_ends_the_run_early() {
    let service: Service = Box::new(|_, now| match now.0 {
        0..10_000_000_000 => (Nanos::from_micros(50), Status::Ok),
        _ => (Nanos::from_millis(100), Status::Disconnected),
    });
    let mut sim = sim(4, PacingMode::Closed, false, service);
    sim.shard.init(10, 8, Nanos::from_secs(9)).unwrap();
    let error = sim.shard.run(50.0, times(Nanos::from_secs(1))).unwrap_err();
    assert!(
        error.to_string().contains("does not answer any more"),
        "{error}"
    );
    assert!(sim.shard.clock.now() < Nanos::from_secs(12));
}

#[test]
fn a_server_that_only_stays_silent_ends_the_run_too() {
    let service: Service = Box::new(|_, now| match now.0 {
        0..10_000_000_000 => (Nanos::from_micros(50), Status::Ok),
        _ => (Nanos::from_secs(100_000), Status::Ok),
    });
    let mut sim = sim(4, PacingMode::Closed, false, service);
    sim.shard.init(10, 8, Nanos::from_secs(9)).unwrap();
    let mut times = times(Nanos::from_secs(1));
    times.run_end = Nanos::from_secs(1000);
    let error = sim.shard.run(50.0, times).unwrap_err();
    assert!(
        error.to_string().contains("does not answer any more"),
        "{error}"
    );
    // When RUN is over before that can be determined, it was measured: nothing that
    // server left open is missing.
    let service: Service = Box::new(|_, now| match now.0 {
        0..10_000_000_000 => (Nanos::from_micros(50), Status::Ok),
        _ => (Nanos::from_secs(100_000), Status::Ok),
    });
    let mut sim = self::sim(4, PacingMode::Closed, false, service);
    sim.shard.init(10, 8, Nanos::from_secs(9)).unwrap();
    times.run_end = Nanos::from_secs(12);
    let stats = sim.shard.run(50.0, times).unwrap();
    assert_eq!(stats.open_count(), 4);
    assert!((380..400).contains(&stats.missed_count()));
}

#[test]
fn what_has_no_object_left_fails_and_is_not_measured_as_something_else() {
    // A second per reply, 100 MKDIRs a second, and 16 names to make.
    let mut sim = sim(1, PacingMode::Open, false, fixed(Nanos::from_secs(1)));
    let mut benchmark = Benchmark::shipped("general-nfs3").unwrap();
    benchmark.mix = Mix::new([(Op::Mkdir, 100.0)]).unwrap();
    sim.shard.operations = Arc::new(Operations::new(&benchmark.mix));
    sim.shard.pacing.backlog_max_per_proc = 64;
    let stats = sim.shard.run(100.0, times(Nanos::ZERO)).unwrap();
    assert!(
        stats.errors.keys().any(|k| k.contains("in flight")),
        "{:?}",
        stats.errors
    );
    assert!(sim.actions.borrow().iter().all(|a| a.2 != Action::Null));
}

#[test]
fn a_request_to_stop_ends_the_run() {
    let mut sim = sim(4, PacingMode::Closed, false, fixed(Nanos::from_millis(1)));
    sim.shard.init(10, 8, Nanos::from_secs(9)).unwrap();
    sim.shard.stop.raise();
    assert_eq!(
        sim.shard.run(5.0, times(Nanos::from_secs(1))).unwrap_err(),
        PhaseError::Stopped
    );
}

/// Blocks within `submit`, as system calls do.
struct Blocking {
    clock: Clock,
    service: Nanos,
}

impl ShardDriver for Blocking {
    fn submit(&mut self, _: &Request) -> Submit {
        let sent = self.clock.now();
        self.clock.sleep_until(sent + self.service);
        Submit::Done(Outcome {
            status: Status::Ok,
            sent,
            done: self.clock.now(),
            physical: 1,
            read_bytes: 0,
            written_bytes: 0,
            end: true,
        })
    }
    fn flush(&mut self) {}
    fn poll(&mut self, deadline: Nanos, _: &mut Vec<Completion>) -> Result<(), DriverError> {
        self.clock.sleep_until(deadline);
        Ok(())
    }
    fn take_counters(&mut self, _: &mut BTreeMap<String, u64>) {}
    fn transfer_bytes(&self) -> (u32, u32) {
        (1, 1)
    }
    fn forget_objects(&mut self, _: u32, _: ObjectId) {}
}

/// Ten seconds of RUN after five of WARMUP, without a rate.
fn blocked(service: Nanos) -> PointStats {
    let mut sim = sim(1, PacingMode::Closed, false, fixed(service));
    let clock = sim.shard.clock.clone();
    sim.shard.driver = Box::new(Blocking { clock, service });
    let times = RunTimes {
        warmup_start: Nanos::ZERO,
        run_start: Nanos::from_secs(5),
        run_end: Nanos::from_secs(15),
    };
    sim.shard.operations = Arc::new(Operations::new(&Mix::new([(Op::Getattr, 100.0)]).unwrap()));
    sim.shard.run(None, times).unwrap()
}

#[test]
fn what_ends_in_run_counts_there_also_when_it_blocks() {
    // The ends that lie between 5 and 15 s are those of number 8 to 21.
    let stats = blocked(Nanos::from_millis(700));
    assert_eq!(stats.success_count(), 14);
    assert_eq!(stats.procs[0].success_count, 14);
    let in_run = stats.intervals.iter().filter(|i| i.second >= 0);
    assert_eq!(in_run.map(|i| i.success_count).sum::<u64>(), 14);
    // Number 7 was sent before RUN; number 22 was sent in RUN and ends after it.
    assert_eq!((stats.ops[0].early_count, stats.ops[0].late_count), (1, 1));
    assert_eq!(stats.response().count(), 14);
    assert_eq!(stats.ops[0].response_fault(), None);
}

#[test]
fn a_blocking_operation_that_hangs_over_the_end_is_in_the_response_times() {
    let stats = blocked(Nanos::from_secs(4));
    assert_eq!(stats.success_count(), 2);
    assert_eq!((stats.ops[0].early_count, stats.ops[0].late_count), (1, 1));
    assert_eq!(stats.response().count(), 2);
    // Not even one ended in RUN: it has waited since its start.
    let stats = blocked(Nanos::from_secs(40));
    assert_eq!((stats.success_count(), stats.ops[0].late_count), (0, 1));
    let response = stats.response();
    assert_eq!((response.count(), response.sum_ns()), (1, 35_000_000_000));
}

/// RUN that is started while load is made has the figures of a warm-up that was planned
/// with that length: without blocking, in procs of their own and in a group.
#[test]
fn a_run_that_is_called_early_is_that_of_a_shorter_warmup() {
    let latest = RunTimes {
        warmup_start: Nanos::from_secs(1),
        run_start: Nanos::from_secs(301),
        run_end: Nanos::from_secs(311),
    };
    let planned = RunTimes {
        run_start: Nanos::from_secs(41),
        run_end: Nanos::from_secs(51),
        ..latest
    };
    let seconds = |stats: &PointStats| -> Vec<(i64, u64)> {
        let of = |i: &filermark_model::stats::Interval| (i.second, i.success_count);
        stats.intervals.iter().map(of).collect()
    };
    let measured = |table: Timetable, call: bool| {
        let called = table.clone();
        let service: Service = Box::new(move |_, now| {
            if call && now >= Nanos::from_secs(39) {
                called.end_warmup(Nanos::from_secs(40));
            }
            (Nanos::from_millis(3), Status::Ok)
        });
        let mut sim = sim(4, PacingMode::Closed, false, service);
        sim.shard.run(20.0, table).unwrap()
    };
    let want = measured(planned.into(), false);
    let got = measured(latest.into(), true);
    assert_eq!(got.window_ns, 10_000_000_000);
    assert_eq!(seconds(&got), seconds(&want));
    assert_eq!(seconds(&got).first().unwrap().0, -40);
    assert_eq!(got.success_count(), want.success_count());
    let latencies = |stats: &PointStats| (stats.response().count(), stats.response().sum_ns());
    assert_eq!(latencies(&got), latencies(&want));
    assert_eq!(got.ops[0].early_count, want.ops[0].early_count);
    // It ends without a call of `end_warmup`.
    let longest = measured(latest.into(), false);
    assert_eq!(seconds(&longest).first().unwrap().0, -300);
}

/// An operation that blocks while the start of RUN is set, and ends in it.
#[test]
fn a_blocking_operation_that_ends_in_a_run_called_meanwhile_is_counted_there() {
    struct Calling {
        clock: Clock,
        table: Timetable,
    }
    impl ShardDriver for Calling {
        fn submit(&mut self, _: &Request) -> Submit {
            let sent = self.clock.now();
            if sent >= Nanos::from_secs(35) {
                self.table.end_warmup(Nanos::from_secs(40));
            }
            let done = sent + Nanos::from_secs(7);
            self.clock.sleep_until(done);
            Submit::Done(Outcome {
                status: Status::Ok,
                sent,
                done,
                physical: 1,
                read_bytes: 0,
                written_bytes: 0,
                end: true,
            })
        }
        fn flush(&mut self) {}
        fn poll(&mut self, deadline: Nanos, _: &mut Vec<Completion>) -> Result<(), DriverError> {
            self.clock.sleep_until(deadline);
            Ok(())
        }
        fn take_counters(&mut self, _: &mut BTreeMap<String, u64>) {}
        fn transfer_bytes(&self) -> (u32, u32) {
            (1, 1)
        }
        fn forget_objects(&mut self, _: u32, _: ObjectId) {}
    }
    let mut sim = sim(1, PacingMode::Closed, false, fixed(Nanos::ZERO));
    let table = Timetable::from(RunTimes {
        warmup_start: Nanos::ZERO,
        run_start: Nanos::from_secs(300),
        run_end: Nanos::from_secs(320),
    });
    let clock = sim.shard.clock.clone();
    sim.shard.driver = Box::new(Calling {
        clock,
        table: table.clone(),
    });
    sim.shard.operations = Arc::new(Operations::new(&Mix::new([(Op::Getattr, 100.0)]).unwrap()));
    let stats = sim.shard.run(None, table).unwrap();
    // They end at 42, 49, 56 and 63; RUN is from 40 to 60.
    assert_eq!(
        (stats.success_count(), stats.window_ns),
        (3, 20_000_000_000)
    );
    assert_eq!((stats.ops[0].early_count, stats.ops[0].late_count), (1, 1));
}

/// A server that does not answer: each second has how many operations wait, and how
/// long the oldest has waited.
#[test]
fn each_second_has_the_open_operations() {
    let silent_from = Nanos::from_secs(10);
    let service: Service = Box::new(move |_, now| match now < silent_from {
        true => (Nanos::from_millis(1), Status::Ok),
        false => (Nanos::from_secs(6), Status::Ok),
    });
    let mut sim = sim(4, PacingMode::Closed, false, service);
    let times = RunTimes {
        warmup_start: Nanos::ZERO,
        run_start: Nanos::from_secs(5),
        run_end: Nanos::from_secs(30),
    };
    let stats = sim.shard.run(50.0, times).unwrap();
    let second = |at| stats.intervals.iter().find(|i| i.second == at).unwrap();
    assert_eq!(second(1).open_age_max_ns / 1_000_000_000, 0);
    // All four procs wait from the first operation after 10 s on.
    for at in 6..10 {
        let now = second(at);
        assert_eq!(now.open_count, 4, "{now:?}");
        let age = now.open_age_max_ns / 1_000_000;
        let passed = (at as u64 + 1 - 5) * 1_000;
        assert!(age <= passed && age + 50 > passed, "{age} at {at}");
    }
}
