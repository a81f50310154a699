//! The agents of a run and their state: which are connected, which are lost.

use super::pending_order::is_event;
use super::types::{AbortRequest, ExtraOrders, LostAgent, OrderError, STOP_MAX};
use crate::clocks::ClockOffset;
use crate::links::{AgentLinks, LinkEvent, invalid_message};
use crate::message::{Hello, Order, Report};
use crate::secure::seal::{SealError, Sealer};
use crate::{frame, plan_password};
use filermark_engine::clock::Clock;
use filermark_engine::driver::StopFlag;
use filermark_model::Nanos;
use filermark_model::launch::{LaunchPlan, OnLost};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// An agent that has sent no message for this long is lost. With the time that the others take
/// to stop, a load point ends within 15 s.
pub(crate) const SILENCE_MAX: Nanos = Nanos::from_secs(8);
/// Interval at which the prime checks its limits while it waits.
pub(super) const POLL: Nanos = Nanos::from_millis(10);
/// Interval of the checks for silent agents.
const SILENCE_CHECK: Nanos = Nanos::from_millis(250);
/// Messages that are handled in one call while no order is pending.
const IDLE_MAX: usize = 10_000;

/// The agents of a run.
pub struct Agents {
    pub(super) links: Box<dyn AgentLinks>,
    pub(super) slots: Vec<AgentSlot>,
    pub(super) stop: StopFlag,
    /// The run's own objects are being removed: a stop request limits the time.
    pub(super) removing: bool,
    /// Since when a stop request limits it.
    pub(super) removing_since: Option<Nanos>,
    pub(super) losses: Vec<LostAgent>,
    pub(super) abort_request: AbortRequest,
    pub(super) extra_orders: ExtraOrders,
    pub(super) own: Hello,
    pub(super) silence_at: Nanos,
    /// All messages that were received before this time have been handled. Agents whose
    /// messages wait in the queue are not silent.
    pub(super) handled_until: Nanos,
}

/// One agent.
pub(super) struct AgentSlot {
    pub(super) client: String,
    pub(super) is_lost: bool,
    /// Its launcher has started it.
    pub(super) is_connected: bool,
    /// It is exiting without an order, and has not reported yet what is left.
    pub(super) leaving: bool,
    /// Its `Hello`, once received.
    pub(super) hello: Option<Hello>,
    /// Encrypts secrets for it; made for the first one.
    pub(super) sealer: Option<Sealer>,
    pub(super) last_message_at: Nanos,
    pub(super) clock: Option<ClockOffset>,
    /// Requests for the clock that have no reply yet.
    pub(super) pending_clock_queries: VecDeque<(u32, Nanos)>,
    pub(super) seq: u32,
}

/// What [`Agents::next`] returns.
pub(super) enum AgentsInput {
    Report(Report),
    Clock,
    Lost,
    Timeout,
}

impl Agents {
    /// For the hosts of a plan; the links have begun to start their agents.
    pub fn new(links: Box<dyn AgentLinks>, plan: &LaunchPlan, own: Hello, stop: StopFlag) -> Self {
        let slot = |host: &filermark_model::launch::HostPlan| AgentSlot {
            client: host.client.clone(),
            is_lost: false,
            is_connected: false,
            leaving: false,
            hello: None,
            sealer: None,
            last_message_at: Nanos(0),
            clock: None,
            pending_clock_queries: VecDeque::new(),
            seq: 0,
        };
        let now = links.now();
        Self {
            links,
            slots: plan.hosts.iter().map(slot).collect(),
            stop,
            removing: false,
            removing_since: None,
            losses: Vec::new(),
            abort_request: AbortRequest::default(),
            extra_orders: ExtraOrders::default(),
            own,
            silence_at: now,
            handled_until: now,
        }
    }

    /// From now on a stop request does not end an order immediately, because the objects are
    /// being removed already. It limits the time ([`REMOVE_MAX`](super::types::REMOVE_MAX)),
    /// also if it comes later.
    pub fn begin_removal(&mut self) {
        self.removing = true;
    }

    pub(super) fn is_to_stop(&self) -> bool {
        self.stop.is_raised() && !self.removing
    }

    /// Where the event handler requests the end of the run.
    pub fn abort_request(&self) -> AbortRequest {
        Rc::clone(&self.abort_request)
    }

    /// Where the event handler adds further orders.
    pub fn extra_orders(&self) -> ExtraOrders {
        Rc::clone(&self.extra_orders)
    }

    /// The prime's clock.
    pub fn now(&self) -> Nanos {
        self.links.now()
    }

    /// The prime's clock as a clock of the system; `None`: the time is simulated.
    pub fn clock_of_prime(&self) -> Option<Clock> {
        self.links.clock()
    }

    /// The connected agents, by their numbers in the plan.
    pub fn living(&self) -> Vec<usize> {
        let living = |at: &usize| !self.slots[*at].is_lost;
        (0..self.slots.len()).filter(living).collect()
    }

    /// The lost agents, in the order of their losses.
    pub fn losses(&self) -> &[LostAgent] {
        &self.losses
    }

    /// An agent's clock, as last read.
    pub fn clock(&self, agent: usize) -> Option<ClockOffset> {
        self.slots.get(agent)?.clock
    }

    /// Sends `Goodbye` and waits until the agents have ended.
    pub fn dismiss(mut self) {
        for at in self.living() {
            match self.slots[at].hello.is_some() {
                true => self.send(at, &Order::Goodbye),
                // It has not been connected yet: there is nothing to wait for.
                false => self.links.cut(at),
            }
        }
        self.links.release_all(Duration::from_nanos(STOP_MAX.0));
    }

    pub(super) fn named(&self, at: usize, reason: String) -> String {
        match self.slots.len() {
            1 => reason,
            _ => format!("client {}: {reason}", self.slots[at].client),
        }
    }

    /// Adds the password of an order's plan, encrypted for this agent only.
    pub(super) fn seal(&mut self, at: usize, order: &mut Order) -> Result<(), SealError> {
        let slot = &mut self.slots[at];
        let (hello, sealer) = (&slot.hello, &mut slot.sealer);
        plan_password::seal(order, || match sealer {
            Some(sealer) => Ok(sealer),
            None => {
                let key = hello.as_ref().map_or("", |h| h.key.as_str());
                Ok(sealer.insert(Sealer::to(key)?))
            }
        })
    }

    pub(super) fn send(&mut self, at: usize, order: &Order) {
        match frame::encode(order) {
            Ok(frame) => self.links.send(at, &frame.into()),
            Err(e) => self.mark_lost(
                at,
                format!("the order '{}' cannot be sent: {e}", order.name()),
            ),
        }
    }

    pub(super) fn send_stop(&mut self) {
        let living = self.living();
        tracing::debug!(target: "filermark_clients::signal", agents = living.len(), "sending stop to all agents");
        for at in living {
            self.send(at, &Order::Stop);
        }
    }

    pub(super) fn mark_lost(&mut self, at: usize, reason: String) {
        self.mark_lost_with(at, reason, false);
    }

    /// `cleans_up`: it has reported that itself, and may still send what it could not remove.
    pub(super) fn mark_lost_with(&mut self, at: usize, reason: String, cleans_up: bool) {
        let Some(slot) = self.slots.get_mut(at).filter(|s| !s.is_lost) else {
            return;
        };
        slot.is_lost = true;
        slot.leaving = cleans_up;
        tracing::debug!(target: "filermark_clients", client = slot.client, reason, "lost");
        self.losses.push(LostAgent {
            agent: at,
            client: slot.client.clone(),
            reason,
            cleans_up,
            cleaned: None,
        });
        if !cleans_up {
            self.links.cut(at);
        }
    }

    /// The last report of an agent that is leaving: what is left. If its link ends without one,
    /// that is unknown.
    pub(super) fn take_last_report(&mut self, at: usize, event: LinkEvent) {
        let Some(slot) = self.slots.get_mut(at).filter(|s| s.leaving) else {
            return;
        };
        let LinkEvent::Message(message, _) = event else {
            slot.leaving = !matches!(event, LinkEvent::Closed(_));
            return;
        };
        if let Ok(Report::Cleaned { left_behind, .. }) = message.into_report() {
            slot.leaving = false;
            let loss = self.losses.iter_mut().find(|loss| loss.agent == at);
            if let Some(loss) = loss {
                loss.cleaned = Some(left_behind);
            }
        }
    }

    /// Waits up to `limit` until agents that are leaving have reported what is left.
    pub fn await_leaving(&mut self, limit: Nanos) {
        let until = self.links.now() + limit;
        while self.slots.iter().any(|s| s.leaving) && self.links.now() < until {
            let now = self.links.now();
            if let Some((at, AgentsInput::Report(report))) = self.next((now + POLL).min(until))
                && !is_event(&report)
            {
                self.mark_lost(at, "protocol error: unexpected message".into());
            }
        }
    }

    pub(super) fn mark_lost_where(&mut self, which: impl Fn(&AgentSlot) -> bool, reason: &str) {
        for at in self.living() {
            if which(&self.slots[at]) {
                self.mark_lost(at, reason.to_owned());
            }
        }
    }

    /// Returns the next input, after periodic work: the check for silent agents.
    pub(super) fn next(&mut self, until: Nanos) -> Option<(usize, AgentsInput)> {
        let before = self.losses.len();
        self.check_silence();
        if let Some(loss) = self.losses.get(before) {
            return Some((loss.agent, AgentsInput::Lost));
        }
        let now = self.links.now();
        let Some((at, event)) = self.links.wait(until) else {
            self.handled_until = self.handled_until.max(now);
            return None;
        };
        if self.slots.get(at).is_none_or(|s| s.is_lost) {
            self.take_last_report(at, event);
            return Some((at, AgentsInput::Timeout));
        }
        let input = match event {
            LinkEvent::Connected => {
                self.slots[at].is_connected = true;
                let hello = Order::Hello(self.own.clone());
                self.send(at, &hello);
                AgentsInput::Timeout
            }
            LinkEvent::Closed(reason) => {
                self.mark_lost(at, reason);
                AgentsInput::Lost
            }
            LinkEvent::Message(message, when) => {
                let slot = &mut self.slots[at];
                slot.last_message_at = slot.last_message_at.max(when);
                self.handled_until = self.handled_until.max(when);
                match message.into_report() {
                    Ok(Report::Time {
                        seq,
                        clock_ns,
                        unix_ns,
                    }) => {
                        self.take_time(at, when, seq, (clock_ns, unix_ns));
                        AgentsInput::Clock
                    }
                    Ok(Report::Leaving { reason }) => {
                        self.mark_lost_with(at, reason, true);
                        AgentsInput::Lost
                    }
                    Ok(report) => AgentsInput::Report(report),
                    Err(e) => {
                        self.mark_lost(at, invalid_message(&e));
                        AgentsInput::Lost
                    }
                }
            }
        };
        Some((at, input))
    }

    pub(super) fn check_silence(&mut self) {
        let now = self.links.now();
        if now >= self.silence_at {
            // While this thread was blocked (for example by a disk), no agent counts as silent.
            let blocked = now.since(self.silence_at);
            self.silence_at = now + SILENCE_CHECK;
            if blocked > Nanos::from_secs(1) {
                for slot in &mut self.slots {
                    slot.last_message_at = now;
                }
            }
            let seconds = SILENCE_MAX.0 / 1_000_000_000;
            let handled = self.handled_until;
            self.mark_lost_where(
                |s| s.hello.is_some() && handled.since(s.last_message_at) > SILENCE_MAX,
                &format!("no message for {seconds} s"),
            );
        }
    }

    /// Handles messages while no order is pending: keep-alive messages must not pile up while
    /// scripts run.
    ///
    /// # Errors
    /// As [`Agents::order`].
    pub fn idle(&mut self, on_lost: OnLost) -> Result<(), OrderError> {
        let before = self.losses.len();
        for _ in 0..IDLE_MAX {
            let Some((at, input)) = self.next(self.links.now()) else {
                break;
            };
            if let AgentsInput::Report(report) = input
                && !is_event(&report)
            {
                self.mark_lost(at, "protocol error: unexpected message".into());
            }
        }
        match self.losses.get(before..) {
            Some([]) | None => Ok(()),
            Some(_) if on_lost == OnLost::Continue && !self.living().is_empty() => Ok(()),
            Some(lost) => Err(OrderError::Lost(lost.to_vec())),
        }
    }
}

#[cfg(test)]
mod tests;
