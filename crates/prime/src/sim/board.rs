//! The prime's side of the links of a simulation.

use super::world::{PrimeDied, SimState};
use filermark_link::links::{AgentLinks, LinkEvent};
use filermark_model::Nanos;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The links of the prime in a simulation.
pub struct SimBoard(pub Rc<RefCell<SimState>>);

impl AgentLinks for SimBoard {
    fn now(&self) -> Nanos {
        self.0.borrow().now
    }

    fn send(&mut self, agent: usize, frame: &Arc<[u8]>) {
        let mut world = self.0.borrow_mut();
        if world.hosts[agent].link && !world.cut[agent] {
            world.transmit(agent, 0, frame.to_vec());
        }
    }

    fn wait(&mut self, until: Nanos) -> Option<(usize, LinkEvent)> {
        let mut world = self.0.borrow_mut();
        world.waits += 1;
        assert!(world.waits < 3_000_000, "the prime does not end");
        loop {
            let now = world.now;
            if let Some((_, stop)) = world.stop_at.take_if(|(at, _)| now >= *at) {
                stop.raise();
            }
            if world.prime_dies_at.is_some_and(|at| world.now >= at) {
                drop(world);
                std::panic::resume_unwind(Box::new(PrimeDied));
            }
            if let Some((at, event)) = world.inbox.pop_front() {
                if world.cut[at] {
                    continue;
                }
                return Some((at, event));
            }
            if !world.step(until) {
                return None;
            }
        }
    }

    fn cut(&mut self, agent: usize) {
        self.0.borrow_mut().end_link(agent);
    }

    fn release_all(&mut self, limit: Duration) {
        let mut world = self.0.borrow_mut();
        let until = world.now + Nanos(limit.as_nanos() as u64);
        let all_out =
            |world: &SimState| (0..world.hosts.len()).all(|at| world.is_out(at) || world.cut[at]);
        while !all_out(&world) && world.step(until) {}
        world.end_links();
    }
}
