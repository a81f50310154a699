//! Nothing is allocated per operation: hundreds of thousands of them, closed and open,
//! answered at once and later, allocate nothing on the heap after a warm-up.
//!
//! A test binary of its own, because a counting allocator counts everything.
#![allow(unsafe_code)] // A global allocator that counts needs unsafe code.

use filermark_engine::assign_procs::classic_procs;
use filermark_engine::clock::Clock;
use filermark_engine::driver::{
    Action, Completion, DriverError, ObjectId, Outcome, Request, ShardDriver, Status, StopFlag,
    Submit,
};
use filermark_engine::null::NullDriver;
use filermark_engine::open_ops::{OpenOp, OpenOps};
use filermark_engine::proc::Operations;
use filermark_engine::shard::{RunTimes, Shard, ShardParts};
use filermark_engine::shared_recorder::{GroupSetup, SharedRecorder};
use filermark_model::plan::{Arrivals, Pacing, PacingMode};
use filermark_model::{Benchmark, Nanos};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

struct Counting;

thread_local! {
    // Per thread: tests run in parallel.
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more.
    let _ = TAKEN.try_with(|taken| taken.set(taken.get() + 1));
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { System.dealloc(block, layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Operations before counting begins, and with counting.
const WARM: u64 = 50_000;
const COUNTED: u64 = 150_000;
const PROCS: u32 = 64;

/// Takes a microsecond of virtual time per request, and records the allocations.
struct Server {
    clock: Clock,
    /// One in this many requests is answered at once; the others wait for `poll`.
    at_once_every: u64,
    count: u64,
    waiting: Vec<Completion>,
    /// What waits ends in `poll`, and not before.
    ends_in_poll: bool,
    marks: Rc<Marks>,
}

/// The counts of allocations when counting begins and ends.
#[derive(Default)]
struct Marks {
    running: Cell<bool>,
    first: Cell<Option<u64>>,
    last: Cell<Option<u64>>,
}

impl Server {
    fn outcome(&self, sent: Nanos, action: Action) -> Outcome {
        let (read_bytes, written_bytes) = match action {
            Action::Read { length, .. } => (length, 0),
            Action::Write { length, .. } => (0, length),
            _ => (0, 0),
        };
        Outcome {
            status: Status::Ok,
            sent,
            done: self.clock.now(),
            physical: 1,
            read_bytes: u64::from(read_bytes),
            written_bytes: u64::from(written_bytes),
            end: self.count.is_multiple_of(4),
        }
    }

    fn note(&mut self) {
        self.count += u64::from(self.marks.running.get());
        let mark = match self.count {
            WARM => &self.marks.first,
            n if n == WARM + COUNTED => &self.marks.last,
            _ => return,
        };
        mark.set(Some(TAKEN.get()));
    }
}

impl ShardDriver for Server {
    fn submit(&mut self, request: &Request) -> Submit {
        if self.waiting.len() == self.waiting.capacity() {
            return Submit::Busy;
        }
        let sent = self.clock.now();
        self.clock.sleep_until(sent + Nanos::from_micros(1));
        self.note();
        let outcome = self.outcome(sent, request.action);
        if self.count.is_multiple_of(self.at_once_every) {
            return Submit::Done(outcome);
        }
        let token = request.token;
        self.waiting.push(Completion { token, outcome });
        Submit::Queued
    }

    fn flush(&mut self) {}

    fn poll(&mut self, deadline: Nanos, done: &mut Vec<Completion>) -> Result<(), DriverError> {
        if self.waiting.is_empty() {
            self.clock.sleep_until(deadline);
        }
        if self.ends_in_poll {
            let now = self.clock.now();
            self.waiting.iter_mut().for_each(|w| w.outcome.done = now);
        }
        done.append(&mut self.waiting);
        Ok(())
    }

    fn take_counters(&mut self, _: &mut BTreeMap<String, u64>) {}

    fn transfer_bytes(&self) -> (u32, u32) {
        (1 << 20, 1 << 20)
    }

    fn forget_objects(&mut self, _: u32, _: ObjectId) {}
}

/// Allocations within [`COUNTED`] operations of the shipped benchmark.
fn allocations(mode: PacingMode, at_once_every: u64, rate_per_proc: f64) -> u64 {
    let load = Load {
        mode,
        at_once_every,
        rate: Some(rate_per_proc),
        procs: PROCS,
        depth: None,
        warmup: Nanos::from_millis(10),
    };
    allocations_of(&load)
}

struct Load {
    mode: PacingMode,
    at_once_every: u64,
    /// Of each proc; `None`: as fast as possible, with counters of a group.
    rate: Option<f64>,
    procs: u32,
    depth: Option<u32>,
    warmup: Nanos,
}

fn allocations_of(load: &Load) -> u64 {
    let (mode, at_once_every) = (load.mode, load.at_once_every);
    let benchmark = Benchmark::shipped("general-nfs3").expect("shipped");
    let clock = Clock::virtual_at_zero();
    let marks = Rc::new(Marks::default());
    // Events are not received: what does not fit is dropped.
    let (live, _words) = sync_channel(4);
    let mut shard = Shard::new(ShardParts {
        driver: Box::new(Server {
            clock: clock.clone(),
            at_once_every,
            count: 0,
            // Fewer than may be in flight with open pacing: some are deferred.
            waiting: Vec::with_capacity(256),
            ends_in_poll: load.depth.is_some(),
            marks: marks.clone(),
        }),
        explain: Arc::new(NullDriver),
        clock: clock.clone(),
        stop: StopFlag::new(),
        procs: classic_procs(benchmark.classic().unwrap(), 1, load.procs, |_| {
            "host:/path".to_owned()
        }),
        operations: Arc::new(Operations::new(&benchmark.mix)),
        pacing: Pacing {
            mode,
            arrivals: Arrivals::Uniform,
            backlog_max_per_proc: 8,
        },
        seed: 1,
        live: Some(live),
        live_counts: None,
        blocking: false,
        depth: load.depth,
        open_op: Some(OpenOp::of(&OpenOps::new(1), 0)),
    });
    let filled = shard.init(10_000, 64, Nanos::from_secs(1_000));
    filled.expect("filled");
    marks.running.set(true);
    let start = clock.now();
    let times = RunTimes {
        warmup_start: start,
        run_start: start + load.warmup,
        run_end: start + Nanos::from_secs_f64(0.3f64.max(4.5e3 / load.rate.unwrap_or(1e6))),
    };
    let group = load.rate.is_none().then(|| {
        let setup = GroupSetup {
            mix: &benchmark.mix,
            component: 0,
            background: false,
            unpaced: true,
            proc_count: 1,
            depth: load.depth.unwrap_or(1),
            seconds: 1,
            live: None,
        };
        SharedRecorder::new(setup, times)
    });
    let stats = shard.run_counted(load.rate, times.into(), group);
    assert!(stats.expect("a run").success_count() > COUNTED);
    match (marks.first.get(), marks.last.get()) {
        (Some(first), Some(last)) => last - first,
        marks => panic!("too few operations: {marks:?}"),
    }
}

/// Far behind its schedule, and with time between operations, per proc.
const RATES: [f64; 2] = [1e6, 3_000.0];

#[test]
fn the_counter_counts() {
    let before = TAKEN.get();
    drop(black_box(Vec::<u8>::with_capacity(10)));
    assert_eq!(TAKEN.get() - before, 1);
}

#[test]
fn closed_pacing_allocates_nothing_per_operation() {
    for rate_per_proc in RATES {
        assert_eq!(allocations(PacingMode::Closed, 3, rate_per_proc), 0);
    }
}

#[test]
fn open_pacing_allocates_nothing_per_operation() {
    for rate_per_proc in RATES {
        assert_eq!(allocations(PacingMode::Open, 3, rate_per_proc), 0);
    }
}

/// Also not at the begin of RUN, where all that is under way began before it.
#[test]
fn a_depth_allocates_nothing_per_operation() {
    for at_once_every in [3, u64::MAX] {
        let load = Load {
            mode: PacingMode::Closed,
            at_once_every,
            rate: None,
            procs: 1,
            depth: Some(256),
            // After counting has begun.
            warmup: Nanos(1_000 * (WARM + 20_100)),
        };
        assert_eq!(allocations_of(&load), 0, "{at_once_every}");
    }
}

#[test]
fn the_operations_of_a_blocking_driver_allocate_nothing() {
    assert_eq!(allocations(PacingMode::Closed, 1, 1e6), 0);
}
