use super::*;
use crate::frame::{Deframer, Frame};
use std::cell::Cell;
use std::sync::Arc;

/// Messages in the prime's queue, each with its agent and time of receipt; handling one takes
/// 10 ms.
struct Queue {
    now: Rc<Cell<Nanos>>,
    messages: VecDeque<(usize, Nanos)>,
}

impl AgentLinks for Queue {
    fn now(&self) -> Nanos {
        self.now.get()
    }

    fn send(&mut self, _: usize, _: &Arc<[u8]>) {}

    fn wait(&mut self, until: Nanos) -> Option<(usize, LinkEvent)> {
        let Some((at, received)) = self.messages.pop_front() else {
            self.now.set(self.now.get().max(until));
            return None;
        };
        self.now.set(self.now.get() + Nanos::from_millis(10));
        Some((at, LinkEvent::Message(message(), received)))
    }

    fn cut(&mut self, _: usize) {}

    fn release_all(&mut self, _: Duration) {}
}

fn message() -> Frame {
    let report = Report::Time {
        seq: 0,
        clock_ns: 0,
        unix_ns: 0,
    };
    let mut deframer = Deframer::of_prime();
    deframer.push(&frame::encode(&report).expect("a message"));
    deframer.next_frame().expect("a frame").expect("all of it")
}

fn agents_of(messages: VecDeque<(usize, Nanos)>) -> (Agents, Rc<Cell<Nanos>>) {
    let now = Rc::new(Cell::new(Nanos(0)));
    let plan = LaunchPlan::local(["h1", "h2"].map(str::to_owned));
    let queue = Queue {
        now: Rc::clone(&now),
        messages,
    };
    let own = crate::identity::own_hello();
    let mut agents = Agents::new(Box::new(queue), &plan, own.clone(), StopFlag::new());
    for slot in &mut agents.slots {
        slot.hello = Some(own.clone());
    }
    (agents, now)
}

#[test]
fn an_agent_whose_messages_wait_in_the_queue_is_not_lost() {
    // The prime handles 100 messages a second and receives more: those of h2 come last.
    let first = (0..2000).map(|n| (0, Nanos::from_millis(n)));
    let last = (0..10).map(|n| (1, Nanos::from_millis(2000 + n)));
    let (mut agents, now) = agents_of(first.chain(last).collect());
    for _ in 0..2010 {
        agents.next(now.get());
    }
    assert!(now.get() > Nanos::from_secs(19));
    assert!(agents.losses.is_empty());
}

#[test]
fn an_agent_that_sends_nothing_is_lost_while_the_other_sends() {
    let messages = (0..2000).map(|n| (0, Nanos::from_millis(10 * n)));
    let (mut agents, now) = agents_of(messages.collect());
    while agents.losses.is_empty() {
        agents.next(now.get());
        assert!(now.get() < Nanos::from_secs(9));
    }
    assert_eq!(agents.losses[0].agent, 1);
    assert!(agents.losses[0].reason.contains("no message for 8 s"));
}

#[test]
fn an_agent_that_sends_nothing_is_lost_while_the_queue_is_empty() {
    let (mut agents, now) = agents_of(VecDeque::new());
    while agents.losses.is_empty() {
        agents.next(now.get() + Nanos::from_millis(100));
        assert!(now.get() < Nanos::from_secs(9));
    }
    assert_eq!(agents.losses.len(), 2);
}
