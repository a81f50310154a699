//! Orders to the agents: every agent answers, or the reason why not is reported.

use super::pending_order::{PendingOrder, answers, differs, is_event};
use super::slots::{Agents, AgentsInput, POLL};
use super::types::{AgentEvent, EventHandler, NAMED_MAX, OrderError, REMOVE_MAX, STOP_MAX};
use crate::message::{Hello, Order, Report};
use filermark_model::Nanos;
use filermark_model::launch::OnLost;

/// How long a launcher that has not answered at the limit may still take to state why: it has the
/// same limit, and its thread may run late on a busy host.
const LAUNCHER_ANSWER_MAX: Nanos = Nanos::from_secs(10);
const REMOVE_DIR_MAX: Nanos = Nanos::from_secs(15);

impl Agents {
    /// Waits for the `Hello` of every agent. All missing agents are reported together.
    ///
    /// # Errors
    /// Agents that do not start or reply, or run another build; the stop request.
    pub fn wait_hello(
        &mut self,
        limit: Nanos,
        observe: &mut dyn FnMut(usize, usize),
    ) -> Result<(), OrderError> {
        let until = self.links.now() + limit;
        let launchers_until = until + LAUNCHER_ANSWER_MAX;
        let mut shown_count = 0;
        while self.slots.iter().any(|s| !s.is_lost && s.hello.is_none()) {
            if self.is_to_stop() {
                return Err(OrderError::Stopped);
            }
            let now = self.links.now();
            if now >= until {
                let seconds = limit.0 / 1_000_000_000;
                self.mark_lost_where(
                    |s| s.hello.is_none() && (s.is_connected || now >= launchers_until),
                    &format!(
                        "did not start within {seconds} s; check it with `filermark preflight`, or raise START_TIMEOUT"
                    ),
                );
                if self.slots.iter().all(|s| s.is_lost || s.hello.is_some()) {
                    break;
                }
            }
            let limit_at = if now < until { until } else { launchers_until };
            if let Some((at, AgentsInput::Report(report))) = self.next((now + POLL).min(limit_at)) {
                match report {
                    Report::Hello(hello) => self.take_hello(at, hello),
                    Report::Failed { reason, .. } => self.mark_lost(at, reason),
                    word if is_event(&word) => {}
                    _ => self.mark_lost(at, "protocol error: unexpected message".into()),
                }
            }
            let connected = self
                .slots
                .iter()
                .filter(|s| !s.is_lost && s.hello.is_some())
                .count();
            if connected != std::mem::replace(&mut shown_count, connected) {
                observe(connected, self.slots.len());
            }
        }
        match self.losses.is_empty() {
            true => Ok(()),
            false => Err(OrderError::Lost(self.losses.clone())),
        }
    }

    pub(super) fn take_hello(&mut self, at: usize, hello: Hello) {
        if let Some(reason) = differs(&self.own, &hello) {
            return self.mark_lost(at, reason);
        }
        self.slots[at].hello = Some(hello);
    }

    /// Sends an order to some agents and waits for all answers.
    ///
    /// # Errors
    /// What the agents reported; the stop request; with [`OnLost::End`] that an agent is lost,
    /// with [`OnLost::Continue`] only that none is left. The other agents have stopped.
    pub fn order(
        &mut self,
        who: &[usize],
        order_for: &dyn Fn(usize) -> Order,
        mut limit: Nanos,
        on_lost: OnLost,
        handler: EventHandler<'_>,
    ) -> Result<(), OrderError> {
        let began = self.links.now();
        // An abort request for an earlier order ends with that order.
        self.abort_request.borrow_mut().take();
        let mut round = PendingOrder::new(self.slots.len(), self.losses.len(), on_lost);
        for &at in who {
            if self.slots.get(at).is_none_or(|s| s.is_lost) {
                continue;
            }
            let mut order = order_for(at);
            round.kind = order.name();
            if let Err(e) = self.seal(at, &mut order) {
                self.mark_lost(at, format!("the password cannot be encrypted for it: {e}"));
                continue;
            }
            self.send(at, &order);
            round.wait_for(at);
        }
        if round.waiting_count == 0 {
            return Err(OrderError::Lost(self.losses.clone()));
        }
        let mut ticked = began;
        while round.waiting_count > 0 {
            let input = self.next(self.links.now() + POLL);
            self.take(input, &mut round, handler);
            self.report_losses(&mut round, handler);
            let now = self.links.now();
            if now.since(ticked) >= Nanos::from_millis(5) {
                ticked = now;
                handler(now, AgentEvent::Tick);
            }
            limit = self.send_extra_orders(&round).unwrap_or(limit);
            self.check_limits(&mut round, began, limit);
        }
        self.extra_orders.borrow_mut().clear();
        match round.error {
            Some(error) => Err(error),
            None if self.living().is_empty() => Err(OrderError::Lost(self.losses.clone())),
            None => Ok(()),
        }
    }

    pub(super) fn take(
        &mut self,
        input: Option<(usize, AgentsInput)>,
        round: &mut PendingOrder,
        handler: EventHandler<'_>,
    ) {
        let now = self.links.now();
        match input {
            Some((at, AgentsInput::Report(report))) if is_event(&report) => {
                handler(now, AgentEvent::Report(at, &report));
            }
            Some((at, AgentsInput::Report(report)))
                if round.is_waiting(at) && answers(round.kind, &report) =>
            {
                round.answered(at);
                match report {
                    Report::Failed { stopped: true, .. } => round.fail(OrderError::Stopped),
                    Report::Failed { reason, .. } => {
                        let reason = self.named(at, reason);
                        round.fail(OrderError::Failed { reason });
                    }
                    answer => handler(now, AgentEvent::Answer(at, answer)),
                }
            }
            Some((at, AgentsInput::Report(_))) => {
                self.mark_lost(at, "protocol error: unexpected message".into());
            }
            _ => {}
        }
    }

    /// Sends the extra orders of the event handler; returns the time limit that comes with
    /// them.
    pub(super) fn send_extra_orders(&mut self, round: &PendingOrder) -> Option<Nanos> {
        let mut limit = None;
        while let Some((order, changed)) = self.take_extra_order() {
            limit = Some(changed);
            for at in (0..self.slots.len()).filter(|at| round.is_waiting(*at)) {
                self.send(at, &order);
            }
        }
        limit
    }

    pub(super) fn take_extra_order(&self) -> Option<(Order, Nanos)> {
        self.extra_orders.borrow_mut().pop_front()
    }

    /// Reports agents that have been lost since the last call.
    pub(super) fn report_losses(&mut self, round: &mut PendingOrder, handler: EventHandler<'_>) {
        let now = self.links.now();
        while let Some(loss) = self.losses.get(round.reported_losses) {
            round.reported_losses += 1;
            round.answered(loss.agent);
            handler(now, AgentEvent::Lost(loss));
            if round.on_lost == OnLost::End {
                round.fail(OrderError::Lost(vec![loss.clone()]));
            }
        }
    }

    /// The stop request, an error, an exceeded limit: all of them stop the other agents, which
    /// has a limit too.
    pub(super) fn check_limits(&mut self, round: &mut PendingOrder, began: Nanos, limit: Nanos) {
        let now = self.links.now();
        let Some(stopping) = round.stopping else {
            let over = now.since(began) > limit;
            if let Some(passed) = self.removal_time_over(round.kind) {
                let seconds = passed.0 / 1_000_000_000;
                let reason = format!("ended {seconds} s after the stop request");
                round.fail(OrderError::Failed { reason });
            } else if over {
                let late = (0..self.slots.len()).filter(|at| round.is_waiting(*at));
                let names: Vec<&str> = late
                    .take(NAMED_MAX)
                    .map(|at| self.slots[at].client.as_str())
                    .collect();
                let reason = format!(
                    "client {}: no answer within {} s",
                    names.join(", "),
                    limit.0 / 1_000_000_000
                );
                round.fail(OrderError::Failed { reason });
            } else if let Some(error) = self.abort_request.borrow_mut().take() {
                round.fail(error);
            } else if self.is_to_stop() {
                round.fail(OrderError::Stopped);
            }
            if round.error.is_some() {
                round.stopping = Some(now);
                self.send_stop();
            }
            return;
        };
        if now.since(stopping) > STOP_MAX {
            for at in 0..self.slots.len() {
                if round.is_waiting(at) {
                    round.answered(at);
                    let seconds = STOP_MAX.0 / 1_000_000_000;
                    self.mark_lost(at, format!("it did not stop within {seconds} s"));
                }
            }
        }
    }

    /// How long the run's objects have been removed since the stop request, if that is too long
    /// for this order.
    pub(super) fn removal_time_over(&mut self, order: &str) -> Option<Nanos> {
        if !self.removing || !self.stop.is_raised() {
            return None;
        }
        let now = self.links.now();
        let passed = now.since(*self.removing_since.get_or_insert(now));
        let limit = match order {
            "release" => REMOVE_MAX,
            _ => REMOVE_MAX.since(REMOVE_DIR_MAX),
        };
        (passed > limit).then_some(passed)
    }
}
