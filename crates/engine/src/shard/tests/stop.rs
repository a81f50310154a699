//! A server that stops for a while, under a virtual clock. Its response times can be
//! calculated: by formulas for uniform arrivals, and operation by operation from the
//! intended starts, which a run of the same seed on a server without delay shows.

use super::super::*;
use crate::assign_procs::classic_procs;
use crate::driver::*;
use crate::null::NullDriver;
use crate::shared_recorder::{GroupSetup, SharedRecorder};
use filermark_model::plan::PacingMode;
use filermark_model::silence;
use filermark_model::{Benchmark, Figure, Latency, Mix, Op, PointStats};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// Service time of each request.
const SERVICE: Nanos = Nanos::from_micros(100);
/// Operations per second of each proc.
const RATE: f64 = 1_000.0;
/// Seconds of RUN; there is no WARMUP.
const RUN: f64 = 20.0;
/// Seconds for which replies are waited for after RUN.
const WAIT: f64 = 15.0;

/// How a driver accepts requests.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Any number under way, as over a socket.
    Queued,
    /// This many under way, more are deferred, as in a session with credits.
    Session(usize),
    /// Done when it is submitted, as a system call.
    Blocking,
    /// Queued, by a server that takes so long for each.
    Slow(Nanos),
}

/// When the server does not answer, in seconds of the run.
#[derive(Clone, Copy, Debug)]
struct Stop {
    from: f64,
    to: f64,
}

impl Stop {
    /// When a request that comes at `sent` is answered.
    fn answer(self, sent: Nanos) -> Nanos {
        let (from, to) = (ns(self.from), ns(self.to));
        match (from..to).contains(&sent.0) {
            true => Nanos(to) + SERVICE,
            false => sent + SERVICE,
        }
    }
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

struct StopServer {
    clock: Clock,
    kind: Kind,
    /// `None`: answers at once.
    stop: Option<Stop>,
    queue: BinaryHeap<Reverse<(Nanos, u32, Nanos)>>,
    sent: Rc<RefCell<Vec<(u32, Nanos)>>>,
}

fn outcome(sent: Nanos, done: Nanos) -> Outcome {
    Outcome {
        status: Status::Ok,
        sent,
        done,
        physical: 1,
        read_bytes: 0,
        written_bytes: 0,
        end: true,
    }
}

impl ShardDriver for StopServer {
    fn submit(&mut self, request: &Request) -> Submit {
        let sent = self.clock.now();
        if matches!(self.kind, Kind::Session(capacity) if self.queue.len() >= capacity) {
            return Submit::Busy;
        }
        self.sent.borrow_mut().push((request.proc, sent));
        let done = match self.kind {
            Kind::Slow(service) => sent + service,
            _ => self.stop.map_or(sent, |stop| stop.answer(sent)),
        };
        if self.kind == Kind::Blocking {
            self.clock.sleep_until(done);
            return Submit::Done(outcome(sent, done));
        }
        self.queue.push(Reverse((done, request.token, sent)));
        Submit::Queued
    }
    fn flush(&mut self) {}
    fn poll(&mut self, deadline: Nanos, done: &mut Vec<Completion>) -> Result<(), DriverError> {
        let next = self.queue.peek().map_or(Nanos::MAX, |r| r.0.0);
        self.clock.sleep_until(next.min(deadline));
        let now = self.clock.now();
        while let Some(Reverse((at, token, sent))) = self.queue.peek().copied() {
            if at > now {
                break;
            }
            self.queue.pop();
            let outcome = outcome(sent, at);
            done.push(Completion { token, outcome });
        }
        Ok(())
    }
    fn take_counters(&mut self, _: &mut BTreeMap<String, u64>) {}
    fn transfer_bytes(&self) -> (u32, u32) {
        (1, 1)
    }
    fn forget_objects(&mut self, _: u32, _: ObjectId) {}
}

/// A case of the matrix.
#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Kind,
    mode: PacingMode,
    arrivals: Arrivals,
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        let kinds = [Kind::Queued, Kind::Session(8), Kind::Blocking];
        let modes = [PacingMode::Closed, PacingMode::Open];
        let arrivals = [Arrivals::Uniform, Arrivals::Poisson];
        kinds.into_iter().flat_map(move |kind| {
            modes.into_iter().flat_map(move |mode| {
                arrivals.into_iter().map(move |arrivals| Self {
                    kind,
                    mode,
                    arrivals,
                })
            })
        })
    }

    /// A blocking shard has one proc; and the order of one proc's work is kept in a queue.
    fn proc_count(self) -> u32 {
        match self.kind {
            Kind::Queued | Kind::Slow(_) => 2,
            Kind::Session(_) | Kind::Blocking => 1,
        }
    }

    /// Operations of one proc that can be under way at once.
    fn width(self) -> usize {
        match (self.kind, self.mode) {
            (Kind::Blocking, _) | (_, PacingMode::Closed) => 1,
            (Kind::Session(capacity), _) => capacity,
            (Kind::Queued | Kind::Slow(_), _) => usize::MAX,
        }
    }

    /// What RUN measured; and when each proc sent each operation.
    fn run(self, stop: Option<Stop>) -> (PointStats, Vec<(u32, Nanos)>) {
        self.run_for(stop, RUN)
    }

    /// As `run`, with a RUN of `seconds`.
    fn run_for(self, stop: Option<Stop>, seconds: f64) -> (PointStats, Vec<(u32, Nanos)>) {
        let clock = Clock::virtual_at_zero();
        let mut benchmark = Benchmark::shipped("general-nfs3").unwrap();
        benchmark.mix = Mix::new([(Op::Getattr, 100.0)]).unwrap();
        let sent = Rc::new(RefCell::new(Vec::new()));
        let driver = StopServer {
            clock: clock.clone(),
            kind: self.kind,
            stop,
            queue: BinaryHeap::new(),
            sent: sent.clone(),
        };
        let procs = self.proc_count();
        let mut shard = Shard::new(ShardParts {
            driver: Box::new(driver),
            explain: Arc::new(NullDriver),
            clock,
            stop: StopFlag::new(),
            procs: classic_procs(benchmark.classic().unwrap(), 7, procs, |n| {
                format!("host{n}")
            }),
            operations: Arc::new(Operations::new(&benchmark.mix)),
            pacing: Pacing {
                mode: self.mode,
                arrivals: self.arrivals,
                backlog_max_per_proc: 1 << 20,
            },
            seed: 7,
            live: None,
            live_counts: None,
            blocking: self.kind == Kind::Blocking,
            depth: None,
            open_op: None,
        });
        let run_end = Nanos(ns(seconds));
        let times = RunTimes {
            warmup_start: Nanos::ZERO,
            run_start: Nanos::ZERO,
            run_end,
        };
        let group = (self.kind == Kind::Blocking).then(|| {
            let setup = GroupSetup {
                mix: &benchmark.mix,
                component: 0,
                background: false,
                unpaced: false,
                proc_count: 1,
                depth: 1,
                seconds: seconds as usize,
                live: None,
            };
            SharedRecorder::new(setup, times)
        });
        let stats = shard.run_counted(Some(RATE), times.into(), group).unwrap();
        drop(shard);
        (stats, sent.take())
    }

    /// The response times of all operations whose intended start is in RUN, in
    /// order: each starts when it is due and one of the proc's slots is free.
    fn truth(self, stop: Stop) -> Vec<u64> {
        let (_, starts) = self.run(None);
        let mut all = Vec::new();
        for proc in 0..self.proc_count() {
            let mut busy: BinaryHeap<Reverse<Nanos>> = BinaryHeap::new();
            for (_, intended) in starts.iter().filter(|(of, _)| *of == proc) {
                let free = match busy.len() < self.width() {
                    true => Nanos::ZERO,
                    false => busy.pop().unwrap().0,
                };
                let done = stop.answer(free.max(*intended));
                busy.push(Reverse(done));
                all.push(done.since(*intended).0);
            }
        }
        all.sort_unstable();
        all
    }

    /// The share of the time that newly arriving work takes while the proc catches up: one
    /// proc's operations of a second take so long in its slots.
    fn busy_part(self) -> f64 {
        RATE * SERVICE.0 as f64 / 1e9 / self.width() as f64
    }
}

fn is_near(figure: Figure, expected_ns: f64, tolerance: f64) -> bool {
    (figure.value / expected_ns - 1.0).abs() <= tolerance
}

/// Compares a latency with all its values, in order.
fn assert_truth(case: Case, latency: &Latency, sorted: &[u64]) {
    assert_eq!(latency.count(), sorted.len() as u64, "{case:?}");
    let mean = sorted.iter().map(|ns| *ns as f64).sum::<f64>() / sorted.len() as f64;
    assert!(is_near(latency.mean(), mean, 1e-6), "{case:?}: {mean}");
    for percentile in [50.0, 99.0, 99.9, 100.0] {
        let figure = latency.percentile(percentile);
        // A float may round a rank to the next.
        let rank = (sorted.len() as f64 * percentile / 100.0) as usize;
        let ranks = &sorted[rank.saturating_sub(2)..(rank + 1).min(sorted.len())];
        assert!(
            ranks.iter().any(|ns| is_near(figure, *ns as f64, 0.001)),
            "{case:?}: {figure:?} is none of {ranks:?}"
        );
    }
}

fn measured(latency: &Latency) -> [Figure; 5] {
    let at = |percentile| latency.percentile(percentile);
    [latency.mean(), at(50.0), at(99.0), at(99.9), latency.max()]
}

/// Compares a latency with figures by formula, which leave out a gap or two.
fn assert_figures(case: Case, latency: &Latency, expected: [f64; 5], tolerance: f64) {
    for (got, expected) in measured(latency).iter().zip(expected) {
        assert!(
            is_near(*got, expected, tolerance),
            "{case:?}: {got:?} is not {expected}"
        );
    }
}

/// By formula: the response time decreases linearly from the length of the stop,
/// for the starts intended from its beginning until `until`.
fn by_formula(case: Case, stop: Stop, until: f64) -> [f64; 5] {
    let (length, fall) = (stop.to - stop.from, 1.0 - case.busy_part());
    let service = SERVICE.0 as f64 / 1e9;
    let span = (until - stop.from).min(length / fall);
    let mean = service + span * (length - span * fall / 2.0) / RUN;
    let top = |part: f64| length + service - part * RUN * fall;
    [mean, service, top(0.01), top(0.001), length + service].map(|seconds| seconds * 1e9)
}

#[test]
fn a_stop_within_run_has_the_response_times_that_can_be_calculated() {
    let stop = Stop {
        from: 8.0,
        to: 10.0,
    };
    for case in Case::all() {
        let (stats, _) = case.run(Some(stop));
        let (read, response) = (&stats.ops[0], stats.response());
        assert_eq!(read.response_fault(), None);
        assert_eq!(stats.open_count() + stats.missed_count(), 0, "{case:?}");
        assert!(measured(&response).iter().all(|f| !f.at_least));
        assert_silence(case, &stats, Some((8.0, 2.0)));
        let truth = case.truth(stop);
        assert_truth(case, &response, &truth);
        if case.arrivals == Arrivals::Uniform {
            assert_figures(case, &response, by_formula(case, stop, RUN), 0.002);
        }
    }
}

/// Compares the longest time without a reply with when the server stopped answering and
/// for how long, in seconds, within the time between two operations.
fn assert_silence(case: Case, stats: &PointStats, expected: Option<(f64, f64)>) {
    let found = silence::longest(&stats.replies, Nanos::ZERO, Nanos(ns(RUN)));
    let found = found.map(|s| (s.start_ns as f64 / 1e9, s.length_ns as f64 / 1e9));
    // Ten times the mean time between two: longer ones are one in 20,000.
    let near = |a: f64, b: f64| (a - b).abs() <= 10.0 / RATE;
    let is_right = match (found, expected) {
        (None, None) => true,
        (Some(f), Some(e)) => near(f.0, e.0) && near(f.1, e.1),
        _ => false,
    };
    assert!(is_right, "{case:?}: {found:?}, not {expected:?}");
}

#[test]
fn a_server_that_answers_all_the_time_is_never_silent() {
    for case in Case::all() {
        let (stats, _) = case.run(Some(Stop { from: 0.0, to: 0.0 }));
        assert_silence(case, &stats, None);
    }
    // Operations that take 0.9 s each, and procs that are never idle.
    let mut slow = CLOSED;
    slow.kind = Kind::Slow(Nanos::from_millis(900));
    assert_silence(slow, &slow.run(None).0, None);
}

/// Of a silence that continues after RUN only the part in RUN counts, whether replies come
/// later or never.
#[test]
fn a_silence_ends_with_run() {
    for to in [21.5, 1e6] {
        let stop = Stop { from: 17.0, to };
        let ends = |c: &Case| c.kind != Kind::Blocking || to < 1e6;
        for case in Case::all().filter(ends) {
            let (stats, _) = case.run(Some(stop));
            assert_silence(case, &stats, Some((17.0, 3.0)));
        }
    }
}

#[test]
fn a_stop_across_the_end_of_run_has_the_calculated_response_times() {
    let stop = Stop {
        from: 19.0,
        to: 21.5,
    };
    for case in Case::all() {
        let (stats, _) = case.run(Some(stop));
        let (read, response) = (&stats.ops[0], stats.response());
        assert_eq!(read.response_fault(), None);
        assert_eq!(stats.open_count() + stats.missed_count(), 0, "{case:?}");
        assert!(measured(&response).iter().all(|f| !f.at_least));
        // Throughput and service times are those of what ended in RUN.
        let in_window = stats.success_count() as f64 / f64::from(case.proc_count());
        assert!((in_window / (19.0 * RATE) - 1.0).abs() < 0.02, "{case:?}");
        assert!(stats.service().max_ns() < 2 * SERVICE.0);
        let truth = case.truth(stop);
        assert_truth(case, &response, &truth);
        if case.arrivals == Arrivals::Uniform {
            assert_figures(case, &response, by_formula(case, stop, RUN), 0.002);
        }
    }
}

/// No operation ends: each start from 19 s on has waited until the wait for
/// replies was over. (A blocking call that never returns has no end to measure.)
#[test]
fn a_stop_without_an_end_gives_lower_bounds() {
    let stop = Stop {
        from: 19.0,
        to: 1e6,
    };
    let wait_end = RUN + WAIT;
    for case in Case::all().filter(|c| c.kind != Kind::Blocking) {
        let (stats, _) = case.run(Some(stop));
        let (read, response) = (&stats.ops[0], stats.response());
        assert_eq!(read.response_fault(), None);
        let (open, missed) = (stats.open_count() as f64, stats.missed_count() as f64);
        let procs = f64::from(case.proc_count());
        // In open pacing all are open; in closed pacing one of each proc is.
        let chance = match case.arrivals {
            Arrivals::Uniform => 0.002,
            Arrivals::Poisson => 5.0 / (RATE * procs).sqrt(),
        };
        let (of, expected) = match case.mode {
            PacingMode::Open => (missed, open),
            PacingMode::Closed => (open - procs, open + missed),
        };
        assert_eq!(of, 0.0, "{case:?}");
        let unseen = RATE * procs;
        assert!((expected / unseen - 1.0).abs() <= chance, "{case:?}");
        // What depends on them is a lower bound, and nothing else is.
        let bounds = measured(&response).map(|f| f.at_least);
        assert_eq!(bounds, [true, false, true, true, true], "{case:?}");
        let service = SERVICE.0 as f64 / 1e9;
        let oldest = wait_end - stop.from;
        // What has no capacity is given up when the catching up ends, 13 s earlier.
        if case.kind == Kind::Queued || case.mode == PacingMode::Closed {
            let mean = service + (oldest - 0.5) / RUN;
            let top = |part: f64| oldest - part * RUN;
            let formula = [mean, service, top(0.01), top(0.001), oldest].map(|s| s * 1e9);
            let tolerance = chance.max(0.002);
            assert_figures(case, &response, formula, tolerance);
        } else {
            assert!(is_near(response.max(), oldest * 1e9, 0.002));
        }
    }
}

/// A call that blocks is measured to its end, and then its proc catches up.
#[test]
fn a_blocking_call_that_returns_late_has_its_true_time() {
    let stop = Stop {
        from: 19.0,
        to: 60.0,
    };
    for case in Case::all().filter(|c| c.kind == Kind::Blocking) {
        let (stats, _) = case.run(Some(stop));
        let response = stats.response();
        assert_eq!(stats.ops[0].response_fault(), None);
        assert_eq!(stats.open_count() + stats.missed_count(), 0, "{case:?}");
        assert!(is_near(response.max(), 41.0e9, 0.002), "{case:?}");
        assert_truth(case, &response, &case.truth(stop));
    }
}

const CLOSED: Case = Case {
    kind: Kind::Queued,
    mode: PacingMode::Closed,
    arrivals: Arrivals::Uniform,
};

/// Every start that was due in RUN has a response time, also where there was no time to
/// catch up: then it is a lower bound.
#[test]
fn starts_that_are_never_made_are_missed_load() {
    let procs = f64::from(CLOSED.proc_count());
    let due = RUN * RATE * procs;
    let sound = CLOSED.run(Some(Stop { from: 0.0, to: 0.0 })).0;
    assert_eq!(sound.missed_count(), 0);
    assert_eq!(sound.response().count() as f64, due);
    assert!(measured(&sound.response()).iter().all(|f| !f.at_least));
    // A server that is too slow by a half: at the end there is too much to catch up with.
    let mut slow = CLOSED;
    slow.kind = Kind::Slow(Nanos::from_micros(1_500));
    let (stats, _) = slow.run(None);
    assert_eq!(stats.ops[0].response_fault(), None);
    let response = stats.response();
    assert!(
        (response.count() as f64 - due).abs() <= procs,
        "{response:?}"
    );
    // 22 s of 666.7 operations a second.
    let missed = due - (RUN * 1.1) / 1.5e-3 * procs;
    assert!((stats.missed_count() as f64 - missed).abs() < missed * 0.01);
    assert!(!response.percentile(10.0).at_least);
    assert!(response.percentile(99.0).at_least && response.mean().at_least);
}

/// A closed schedule that is moved at a checkpoint leaves starts behind.
#[test]
fn starts_that_a_moved_schedule_leaves_behind_are_missed_load() {
    // The checkpoint at 20 s finds procs that are more than 10 s behind.
    let stop = Stop {
        from: 0.5,
        to: 21.0,
    };
    let stats = CLOSED.run_for(Some(stop), 30.0).0;
    assert_eq!(stats.ops[0].response_fault(), None);
    let procs = f64::from(CLOSED.proc_count());
    assert_eq!(stats.rescheduled_count as f64, procs);
    let (due, missed) = (30.0 * RATE * procs, 19.5 * RATE * procs);
    assert!((stats.response().count() as f64 - due).abs() <= procs);
    assert!((stats.missed_count() as f64 - missed).abs() <= 2.0 * procs);
    // Their waiting times range from 19.5 s to none: half of all for 4.5 s and more.
    let median = stats.response().percentile(50.0);
    assert!(
        median.at_least && is_near(median, 4.5e9, 0.01),
        "{median:?}"
    );
}
