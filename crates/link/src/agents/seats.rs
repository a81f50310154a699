//! The agents of a run and what is known of each: who is there, who is lost.

use super::round::is_event;
use super::types::{AbortRequest, ExtraOrders, LostAgent, OrderError, STOP_MAX};
use crate::clocks::ClockOffset;
use crate::links::{AgentLinks, LinkEvent, nonsense};
use crate::message::{Hello, Order, Report};
use crate::secure::seal::{SealError, Sealer};
use crate::{frame, thread_link};
use filermark_engine::clock::Clock;
use filermark_engine::driver::StopFlag;
use filermark_model::Nanos;
use filermark_model::launch::{LaunchPlan, OnLost};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// An agent that has not said anything for so long is lost. With the time that the
/// others take to stop, a load point ends within 15 s.
pub(crate) const SILENCE_MAX: Nanos = Nanos::from_secs(8);
/// How often the prime looks around while it waits.
pub(super) const LOOK: Nanos = Nanos::from_millis(10);
/// How often it looks for agents that are silent.
const LOOK_FOR_SILENCE: Nanos = Nanos::from_millis(250);
/// Words that are taken in at once while nothing is asked.
const IDLE_MAX: usize = 10_000;

/// The agents of a run.
pub struct Agents {
    pub(super) board: Box<dyn AgentLinks>,
    pub(super) seats: Vec<AgentSlot>,
    pub(super) stop: StopFlag,
    /// The run's own objects are being removed: the wish to stop limits the time.
    pub(super) tidying: bool,
    /// Since when it does.
    pub(super) tidy_since: Option<Nanos>,
    pub(super) losses: Vec<LostAgent>,
    pub(super) emergency: AbortRequest,
    pub(super) aside: ExtraOrders,
    pub(super) own: Hello,
    pub(super) silence_at: Nanos,
}

/// One of them.
pub(super) struct AgentSlot {
    pub(super) client: String,
    pub(super) is_lost: bool,
    /// It is on its way out by itself, and has not said yet what stays.
    pub(super) leaving: bool,
    /// Its first word, once it came.
    pub(super) hello: Option<Hello>,
    /// Seals secrets for it, from the first one on.
    pub(super) sealer: Option<Sealer>,
    pub(super) last_message_at: Nanos,
    pub(super) clock: Option<ClockOffset>,
    /// Questions for the clock that have no answer yet.
    pub(super) pending_clock_queries: VecDeque<(u32, Nanos)>,
    pub(super) seq: u32,
}

/// What the pump brings.
pub(super) enum AgentsInput {
    Report(Report),
    Clock,
    Lost,
    Timeout,
}

impl Agents {
    /// For the hosts of a plan; the board has begun to start them.
    pub fn new(board: Box<dyn AgentLinks>, plan: &LaunchPlan, own: Hello, stop: StopFlag) -> Self {
        let seat = |host: &filermark_model::launch::HostPlan| AgentSlot {
            client: host.client.clone(),
            is_lost: false,
            leaving: false,
            hello: None,
            sealer: None,
            last_message_at: Nanos(0),
            clock: None,
            pending_clock_queries: VecDeque::new(),
            seq: 0,
        };
        let now = board.now();
        Self {
            board,
            seats: plan.hosts.iter().map(seat).collect(),
            stop,
            tidying: false,
            tidy_since: None,
            losses: Vec::new(),
            emergency: AbortRequest::default(),
            aside: ExtraOrders::default(),
            own,
            silence_at: now,
        }
    }

    /// From now on the wish to stop ends nothing at once: what goes on is what it asks
    /// for. It limits the time ([`TIDY_MAX`](super::types::TIDY_MAX)), also when it comes only now.
    pub fn begin_tidying(&mut self) {
        self.tidying = true;
    }

    pub(super) fn is_to_stop(&self) -> bool {
        self.stop.is_raised() && !self.tidying
    }

    /// Where it is said that the run is to end.
    pub fn emergency(&self) -> AbortRequest {
        Rc::clone(&self.emergency)
    }

    /// Where it is said what else is to be told.
    pub fn extra_orders(&self) -> ExtraOrders {
        Rc::clone(&self.aside)
    }

    /// The prime's clock.
    pub fn now(&self) -> Nanos {
        self.board.now()
    }

    /// The same as a clock of the system; `None`: the time is made up.
    pub fn clock_of_prime(&self) -> Option<Clock> {
        self.board.clock()
    }

    /// Those that are there, by their numbers in the plan.
    pub fn living(&self) -> Vec<usize> {
        let living = |at: &usize| !self.seats[*at].is_lost;
        (0..self.seats.len()).filter(living).collect()
    }

    /// Those that are lost, in the order in which they were.
    pub fn losses(&self) -> &[LostAgent] {
        &self.losses
    }

    /// An agent's clock, as last asked.
    pub fn clock(&self, agent: usize) -> Option<ClockOffset> {
        self.seats.get(agent)?.clock
    }

    /// Says goodbye and waits till the agents have ended.
    pub fn dismiss(mut self) {
        for at in self.living() {
            match self.seats[at].hello.is_some() {
                true => self.send(at, &Order::Goodbye),
                // It has not even begun: there is nothing to wait for.
                false => self.board.cut(at),
            }
        }
        self.board.let_go(Duration::from_nanos(STOP_MAX.0));
    }

    pub(super) fn named(&self, at: usize, reason: String) -> String {
        match self.seats.len() {
            1 => reason,
            _ => format!("client {}: {reason}", self.seats[at].client),
        }
    }

    /// Puts the password that an order's plan has beside it, for this agent only.
    pub(super) fn seal(&mut self, at: usize, order: &mut Order) -> Result<(), SealError> {
        let seat = &mut self.seats[at];
        let (hello, place) = (&seat.hello, &mut seat.sealer);
        thread_link::seal(order, || match place {
            Some(sealer) => Ok(sealer),
            None => {
                let key = hello.as_ref().map_or("", |h| h.key.as_str());
                Ok(place.insert(Sealer::to(key)?))
            }
        })
    }

    pub(super) fn send(&mut self, at: usize, order: &Order) {
        match frame::encode(order) {
            Ok(frame) => self.board.send(at, &frame.into()),
            Err(e) => self.mark_lost(
                at,
                format!("the order '{}' cannot be sent: {e}", order.name()),
            ),
        }
    }

    pub(super) fn send_stop(&mut self) {
        let living = self.living();
        tracing::debug!(target: "filermark_cluster::signal", agents = living.len(), "telling all agents to stop");
        for at in living {
            self.send(at, &Order::Stop);
        }
    }

    pub(super) fn mark_lost(&mut self, at: usize, reason: String) {
        self.mark_lost_with(at, reason, false);
    }

    /// `tidies_up`: it has said so itself, and is listened to until it has removed what it
    /// made.
    pub(super) fn mark_lost_with(&mut self, at: usize, reason: String, tidies_up: bool) {
        let Some(seat) = self.seats.get_mut(at).filter(|s| !s.is_lost) else {
            return;
        };
        seat.is_lost = true;
        seat.leaving = tidies_up;
        tracing::debug!(target: "filermark_cluster", client = seat.client, reason, "lost");
        self.losses.push(LostAgent {
            agent: at,
            client: seat.client.clone(),
            reason,
            tidies_up,
            tidied: None,
        });
        if !tidies_up {
            self.board.cut(at);
        }
    }

    /// The last word of one that is leaving: what stays. If its link ends without it,
    /// nobody knows.
    pub(super) fn take_farewell(&mut self, at: usize, event: &LinkEvent) {
        let Some(seat) = self.seats.get_mut(at).filter(|s| s.leaving) else {
            return;
        };
        let LinkEvent::Message(frame, _) = event else {
            seat.leaving = !matches!(event, LinkEvent::Closed(_));
            return;
        };
        if let Ok(Report::Cleaned { left_behind, .. }) =
            frame.decode().map(crate::sanitize::sanitized)
        {
            seat.leaving = false;
            let loss = self.losses.iter_mut().find(|loss| loss.agent == at);
            if let Some(loss) = loss {
                loss.tidied = Some(left_behind);
            }
        }
    }

    /// Waits until those that are leaving have said what stays, so long at most.
    pub fn await_farewells(&mut self, limit: Nanos) {
        let until = self.board.now() + limit;
        while self.seats.iter().any(|s| s.leaving) && self.board.now() < until {
            let now = self.board.now();
            if let Some((at, AgentsInput::Report(report))) = self.next((now + LOOK).min(until))
                && !is_event(&report)
            {
                self.mark_lost(at, "it spoke out of turn".into());
            }
        }
    }

    pub(super) fn mark_lost_where(&mut self, which: impl Fn(&AgentSlot) -> bool, reason: &str) {
        for at in self.living() {
            if which(&self.seats[at]) {
                self.mark_lost(at, reason.to_owned());
            }
        }
    }

    /// Brings the next thing that comes, and does what is due: looking for the
    /// silent.
    pub(super) fn next(&mut self, until: Nanos) -> Option<(usize, AgentsInput)> {
        let before = self.losses.len();
        self.do_what_is_due();
        if let Some(loss) = self.losses.get(before) {
            return Some((loss.agent, AgentsInput::Lost));
        }
        let (at, event) = self.board.wait(until)?;
        if self.seats.get(at).is_none_or(|s| s.is_lost) {
            self.take_farewell(at, &event);
            return Some((at, AgentsInput::Timeout));
        }
        let came = match event {
            LinkEvent::Connected => {
                let hello = Order::Hello(self.own.clone());
                self.send(at, &hello);
                AgentsInput::Timeout
            }
            LinkEvent::Closed(reason) => {
                self.mark_lost(at, reason);
                AgentsInput::Lost
            }
            LinkEvent::Message(frame, when) => {
                self.seats[at].last_message_at = self.board.now();
                match frame.decode().map(crate::sanitize::sanitized) {
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
                        self.mark_lost(at, nonsense(&e));
                        AgentsInput::Lost
                    }
                }
            }
        };
        Some((at, came))
    }

    pub(super) fn do_what_is_due(&mut self) {
        let now = self.board.now();
        if now >= self.silence_at {
            // While nobody listened (a long wait for a disk), nobody was silent.
            let deaf = now.since(self.silence_at);
            self.silence_at = now + LOOK_FOR_SILENCE;
            if deaf > Nanos::from_secs(1) {
                for seat in &mut self.seats {
                    seat.last_message_at = now;
                }
            }
            let seconds = SILENCE_MAX.0 / 1_000_000_000;
            self.mark_lost_where(
                |s| s.hello.is_some() && now.since(s.last_message_at) > SILENCE_MAX,
                &format!("not a word for {seconds} s"),
            );
        }
    }

    /// Takes in what the agents say while they have no order: their signs of life
    /// must not pile up while scripts are waited for.
    ///
    /// # Errors
    /// As [`Agents::order`].
    pub fn idle(&mut self, on_lost: OnLost) -> Result<(), OrderError> {
        let before = self.losses.len();
        for _ in 0..IDLE_MAX {
            let Some((at, came)) = self.next(self.board.now()) else {
                break;
            };
            if let AgentsInput::Report(report) = came
                && !is_event(&report)
            {
                self.mark_lost(at, "it spoke out of turn".into());
            }
        }
        match self.losses.get(before..) {
            Some([]) | None => Ok(()),
            Some(_) if on_lost == OnLost::Continue && !self.living().is_empty() => Ok(()),
            Some(lost) => Err(OrderError::Lost(lost.to_vec())),
        }
    }
}
