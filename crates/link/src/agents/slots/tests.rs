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
        Some((at, LinkEvent::Message(message().into(), received)))
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

/// Links on which events happen at set times.
struct Scheduled {
    now: Nanos,
    events: VecDeque<(Nanos, usize, LinkEvent)>,
}

impl AgentLinks for Scheduled {
    fn now(&self) -> Nanos {
        self.now
    }

    fn send(&mut self, _: usize, _: &Arc<[u8]>) {}

    fn wait(&mut self, until: Nanos) -> Option<(usize, LinkEvent)> {
        let next = self.events.pop_front_if(|(at, ..)| *at <= until);
        self.now = self.now.max(next.as_ref().map_or(until, |(at, ..)| *at));
        next.map(|(_, agent, event)| (agent, event))
    }

    fn cut(&mut self, _: usize) {}

    fn release_all(&mut self, _: Duration) {}
}

/// A launcher has the same limit as the wait for its agent. Its reason says more.
#[test]
fn a_launcher_that_answers_a_little_late_states_the_reason() {
    let second = Nanos::from_secs;
    let events = [
        (Nanos(0), 0, LinkEvent::Connected),
        (second(9), 1, LinkEvent::Closed("its own reason".to_owned())),
    ];
    let links = Scheduled {
        now: Nanos(0),
        events: events.into(),
    };
    let plan = LaunchPlan::local(["h1", "h2", "h3"].map(str::to_owned));
    let own = crate::identity::own_hello();
    let mut agents = Agents::new(Box::new(links), &plan, own, StopFlag::new());
    let Err(OrderError::Lost(losses)) = agents.wait_hello(second(5), &mut |_, _| {}) else {
        panic!("no agent has sent its Hello");
    };
    let mut reasons: Vec<_> = losses
        .iter()
        .map(|l| (l.agent, l.reason.as_str()))
        .collect();
    reasons.sort_unstable();
    let late =
        "did not start within 5 s; check it with `filermark preflight`, or raise START_TIMEOUT";
    assert_eq!(reasons, [(0, late), (1, "its own reason"), (2, late)]);
    // Nothing is awaited beyond the last launcher's time.
    assert_eq!(agents.links.now(), second(15));
}
