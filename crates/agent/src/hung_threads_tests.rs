//! Threads of the engine that do not return from the kernel.

use filermark_engine::clock::Clock;
use filermark_engine::driver::{
    Capabilities, Claim, Completion, DriverError, LoadDriver, ObjectId, Request, ShardDriver,
    ShardSetup, StopFlag, Submit,
};
use filermark_engine::engine::{Engine, EngineSetup};
use filermark_engine::null::NullDriver;
use filermark_model::Nanos;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How many threads are inside a call, whether calls return, and how many shards have ended.
#[derive(Default)]
struct Gate {
    state: Mutex<(usize, bool, usize)>,
    changed: Condvar,
}

impl Gate {
    fn change(&self, change: impl FnOnce(&mut (usize, bool, usize))) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    fn wait(&self, until: impl Fn(&(usize, bool, usize)) -> bool) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_while(state, |state| !until(state));
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Its calls return when the gate is open, whatever is requested meanwhile.
struct HangingDriver(Arc<Gate>);

impl LoadDriver for HangingDriver {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            blocking: true,
            ..NullDriver.capabilities()
        }
    }
    fn open_shard(&self, setup: ShardSetup) -> Result<Box<dyn ShardDriver>, DriverError> {
        Ok(Box::new(HangingShard {
            inner: NullDriver.open_shard(setup)?,
            gate: self.0.clone(),
        }))
    }
    fn status_text(&self, _: u32) -> String {
        String::new()
    }
    fn fatal_advice(&self, _: u32) -> Option<&'static str> {
        None
    }
}

struct HangingShard {
    inner: Box<dyn ShardDriver>,
    gate: Arc<Gate>,
}

impl ShardDriver for HangingShard {
    fn submit(&mut self, request: &Request) -> Submit {
        self.gate.change(|state| state.0 += 1);
        self.gate.wait(|state| state.1);
        self.inner.submit(request)
    }
    fn flush(&mut self) {}
    fn poll(&mut self, deadline: Nanos, done: &mut Vec<Completion>) -> Result<(), DriverError> {
        self.inner.poll(deadline, done)
    }
    fn take_counters(&mut self, _: &mut BTreeMap<String, u64>) {}
    fn transfer_bytes(&self) -> (u32, u32) {
        (1, 1)
    }
    fn forget_objects(&mut self, _: u32, _: ObjectId) {}
}

impl Drop for HangingShard {
    fn drop(&mut self) {
        self.gate.change(|state| state.2 += 1);
    }
}

#[test]
fn a_thread_that_does_not_return_is_named_and_left() {
    let mut plan = filermark_results::testing::composite::composite_record()
        .run
        .plan;
    plan.clients.truncate(1);
    plan.procs.truncate(2);
    let point = plan.points[0];
    let (gate, stop) = (Arc::new(Gate::default()), StopFlag::new());
    let mut engine = Engine::start(EngineSetup {
        plan: Arc::new(plan),
        client: 0,
        driver: Arc::new(HangingDriver(gate.clone())),
        claim: Claim {
            dir_name: "filermark.x".to_owned(),
            run_id: "run".to_owned(),
        },
        clock: Clock::real(),
        stop: stop.clone(),
        live: None,
        hang_max: Duration::from_millis(1),
    })
    .expect("started");
    let shards = engine.shard_count();
    let stopped = std::thread::scope(|scope| {
        scope.spawn(|| {
            gate.wait(|state| state.0 == shards);
            stop.raise();
        });
        engine.init(point)
    });
    let wanted = "mkdir its top directory in the tree of proc";
    for error in [stopped.err(), engine.cleanup().err()] {
        let text = error.expect("it hangs").to_string();
        assert!(
            text.contains("thread shard-") && text.contains(wanted),
            "{text}"
        );
    }
    let hung = engine.end().hung;
    assert_eq!(hung.len(), shards, "{hung:?}");
    assert!(hung.iter().all(|text| text.contains(wanted)), "{hung:?}");
    gate.change(|state| state.1 = true);
    gate.wait(|state| state.2 == shards);
}
