//! Orders to the agents: all that are asked answer, or it is said why not.

use super::round::{PendingOrder, answers, differs, is_event};
use super::seats::{Agents, AgentsInput, LOOK};
use super::types::{EventHandler, Heard, NAMED_MAX, OrderError, STOP_MAX, TIDY_MAX};
use crate::message::{Hello, Order, Report};
use filermark_model::Nanos;
use filermark_model::launch::OnLost;

const TIDY_LAST: Nanos = Nanos::from_secs(15);

impl Agents {
    /// Waits for the first word of every agent. All that cannot be had are told at
    /// once.
    ///
    /// # Errors
    /// Agents that do not start or answer, or are of another build; the wish to stop.
    pub fn wait_hello(
        &mut self,
        limit: Nanos,
        observe: &mut dyn FnMut(usize, usize),
    ) -> Result<(), OrderError> {
        let until = self.board.now() + limit;
        let mut told = 0;
        while self.seats.iter().any(|s| !s.is_lost && s.hello.is_none()) {
            if self.is_to_stop() {
                return Err(OrderError::Stopped);
            }
            let now = self.board.now();
            if now >= until {
                let seconds = limit.0 / 1_000_000_000;
                self.mark_lost_where(
                    |s| s.hello.is_none(),
                    &format!(
                        "did not start within {seconds} s; can it be reached? (filermark preflight; START_TIMEOUT)"
                    ),
                );
                break;
            }
            if let Some((at, AgentsInput::Report(report))) = self.next((now + LOOK).min(until)) {
                match report {
                    Report::Hello(hello) => self.take_hello(at, hello),
                    Report::Failed { reason, .. } => self.mark_lost(at, reason),
                    word if is_event(&word) => {}
                    _ => self.mark_lost(at, "it spoke out of turn".into()),
                }
            }
            let there = self
                .seats
                .iter()
                .filter(|s| !s.is_lost && s.hello.is_some())
                .count();
            if there != std::mem::replace(&mut told, there) {
                observe(there, self.seats.len());
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
        self.seats[at].hello = Some(hello);
    }

    /// Gives some agents an order and waits for all answers.
    ///
    /// # Errors
    /// What the agents said; the wish to stop; with [`OnLost::End`] that one is lost,
    /// with [`OnLost::Continue`] only that none is left. The others have stopped.
    pub fn order(
        &mut self,
        who: &[usize],
        make: &dyn Fn(usize) -> Order,
        mut limit: Nanos,
        on_lost: OnLost,
        ear: EventHandler<'_>,
    ) -> Result<(), OrderError> {
        let began = self.board.now();
        // What was said of an order before, while it was being stopped, is over with it.
        self.emergency.borrow_mut().take();
        let mut round = PendingOrder::new(self.seats.len(), self.losses.len(), on_lost);
        for &at in who {
            if self.seats.get(at).is_none_or(|s| s.is_lost) {
                continue;
            }
            let mut order = make(at);
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
            let came = self.next(self.board.now() + LOOK);
            self.take(came, &mut round, ear);
            self.report_losses(&mut round, ear);
            let now = self.board.now();
            if now.since(ticked) >= Nanos::from_millis(5) {
                ticked = now;
                ear(now, Heard::Tick);
            }
            limit = self.send_extra_orders(&round).unwrap_or(limit);
            self.look_at_limits(&mut round, began, limit);
        }
        self.aside.borrow_mut().clear();
        match round.error {
            Some(error) => Err(error),
            None if self.living().is_empty() => Err(OrderError::Lost(self.losses.clone())),
            None => Ok(()),
        }
    }

    pub(super) fn take(
        &mut self,
        came: Option<(usize, AgentsInput)>,
        round: &mut PendingOrder,
        ear: EventHandler<'_>,
    ) {
        let now = self.board.now();
        match came {
            Some((at, AgentsInput::Report(report))) if is_event(&report) => {
                ear(now, Heard::Report(at, &report));
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
                    answer => ear(now, Heard::Answer(at, answer)),
                }
            }
            Some((at, AgentsInput::Report(_))) => {
                self.mark_lost(at, "it spoke out of turn".into());
            }
            _ => {}
        }
    }

    /// Sends what the receiver of reports has ordered meanwhile; gives the limit that
    /// follows from it.
    pub(super) fn send_extra_orders(&mut self, round: &PendingOrder) -> Option<Nanos> {
        let mut limit = None;
        while let Some((order, changed)) = self.take_extra_order() {
            limit = Some(changed);
            for at in (0..self.seats.len()).filter(|at| round.is_waiting(*at)) {
                self.send(at, &order);
            }
        }
        limit
    }

    pub(super) fn take_extra_order(&self) -> Option<(Order, Nanos)> {
        self.aside.borrow_mut().pop_front()
    }

    /// Takes in that agents have been lost since it was last looked.
    pub(super) fn report_losses(&mut self, round: &mut PendingOrder, ear: EventHandler<'_>) {
        let now = self.board.now();
        while let Some(loss) = self.losses.get(round.reported_losses) {
            round.reported_losses += 1;
            round.answered(loss.agent);
            ear(now, Heard::Lost(loss));
            if round.on_lost == OnLost::End {
                round.fail(OrderError::Lost(vec![loss.clone()]));
            }
        }
    }

    /// The wish to stop, an error, the time that is over: all lead to a stop of the
    /// others, and that has a limit too.
    pub(super) fn look_at_limits(&mut self, round: &mut PendingOrder, began: Nanos, limit: Nanos) {
        let now = self.board.now();
        let Some(stopping) = round.stopping else {
            let over = now.since(began) > limit;
            if let Some(passed) = self.tidy_time_over(round.kind) {
                let seconds = passed.0 / 1_000_000_000;
                let reason = format!("ended {seconds} s after the wish to stop");
                round.fail(OrderError::Failed { reason });
            } else if over {
                let late = (0..self.seats.len()).filter(|at| round.is_waiting(*at));
                let names: Vec<&str> = late
                    .take(NAMED_MAX)
                    .map(|at| self.seats[at].client.as_str())
                    .collect();
                let reason = format!(
                    "client {}: no answer within {} s",
                    names.join(", "),
                    limit.0 / 1_000_000_000
                );
                round.fail(OrderError::Failed { reason });
            } else if let Some(reason) = self.emergency.borrow_mut().take() {
                round.fail(OrderError::Emergency { reason });
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
            for at in 0..self.seats.len() {
                if round.is_waiting(at) {
                    round.answered(at);
                    let seconds = STOP_MAX.0 / 1_000_000_000;
                    self.mark_lost(at, format!("it does not stop within {seconds} s"));
                }
            }
        }
    }

    /// How long the run's objects have been removed since the user wished to stop, when
    /// that is too long for this order.
    pub(super) fn tidy_time_over(&mut self, order: &str) -> Option<Nanos> {
        if !self.tidying || !self.stop.is_raised() {
            return None;
        }
        let now = self.board.now();
        let passed = now.since(*self.tidy_since.get_or_insert(now));
        let limit = match order {
            "release" => TIDY_MAX,
            _ => TIDY_MAX.since(TIDY_LAST),
        };
        (passed > limit).then_some(passed)
    }
}
