//! The agents of a run, as the prime sees them: who is there, what was asked, who
//! is missing.
//!
//! Every wait has a limit, and every agent that dies, hangs, loses its link or
//! answers nonsense is noticed here and told by its host's name. What orders mean is
//! not this room's affair, nor how bytes travel (see [`crate::switchboard`]).

mod round;

use crate::clocks::ClockOffset;
use crate::message::{Hello, Left, Order, Report};
use crate::secure::seal::{SealError, Sealer};
use crate::switchboard::{Event, Switchboard, nonsense};
use crate::{frame, handover};
use filermark_engine::clock::Clock;
use filermark_engine::driver::StopFlag;
use filermark_model::Nanos;
use filermark_model::launch::{LaunchPlan, OnLost};
use round::{Round, answers, differs, is_word};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An agent that has not said anything for so long is lost. With the time that the
/// others take to stop, a load point ends within 15 s.
pub(crate) const SILENCE_MAX: Nanos = Nanos::from_secs(8);
/// How long agents may take to stop a phase when asked.
pub const STOP_MAX: Nanos = Nanos::from_secs(10);
/// What is removed at the end may take so long once the user has wished to stop; with
/// [`STOP_MAX`], a minute. The last part is for giving the run's directory back.
pub const TIDY_MAX: Nanos = Nanos::from_secs(50);
const TIDY_LAST: Nanos = Nanos::from_secs(15);
/// How often the prime looks around while it waits.
const LOOK: Nanos = Nanos::from_millis(10);
/// How often it looks for agents that are silent.
const LOOK_FOR_SILENCE: Nanos = Nanos::from_millis(250);
/// Questions for the clock, per agent.
const CLOCK_ROUNDS: u32 = 12;
/// Agents that are asked for their clocks side by side: more would wait for each
/// other, which counts as way.
const CLOCKS_AT_ONCE: usize = 32;
/// Longest wait for one answer about the clock.
const CLOCK_MAX: Nanos = Nanos::from_millis(500);
/// Words that are taken in at once while nothing is asked.
const IDLE_MAX: usize = 10_000;
/// Lost agents that an error names.
const NAMED_MAX: usize = 5;

/// Why an order was not carried out by all agents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// An agent says why.
    #[error("{reason}")]
    Failed {
        /// Its sentence.
        reason: String,
    },
    /// The user wished to stop.
    #[error("{}", filermark_results::record::STOPPED)]
    Stopped,
    /// Agents are lost.
    #[error("{}", told(.0))]
    Lost(Vec<Loss>),
    /// A condition of STOP_IF holds.
    #[error("{reason}")]
    Emergency {
        /// Which, with its figure.
        reason: String,
    },
}

/// Where the receiver of reports says that the run is to end, and why.
pub type Emergency = Rc<RefCell<Option<String>>>;

/// Where the receiver of reports says what else is to be sent at once to all that have
/// not answered yet. With each order comes the time that the whole may take from now on,
/// counted from its beginning.
pub type Aside = Rc<RefCell<VecDeque<(Order, Nanos)>>>;

/// An agent that is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Its number in the plan, from 0.
    pub agent: usize,
    /// Its host.
    pub client: String,
    /// How that was noticed.
    pub reason: String,
    /// It said so itself, and removes what it made.
    pub tidies_up: bool,
    /// It has done so: what stays. `None` until it has said it.
    pub tidied: Option<Vec<Left>>,
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "client {}: the agent is lost: {}",
            self.client, self.reason
        )
    }
}

fn told(losses: &[Loss]) -> String {
    let mut text: Vec<String> = losses.iter().take(NAMED_MAX).map(Loss::to_string).collect();
    if losses.len() > NAMED_MAX {
        text.push(format!("and {} more", losses.len() - NAMED_MAX));
    }
    text.join("; ")
}

/// What comes while an order is carried out.
pub enum Heard<'a> {
    /// Time has passed.
    Tick,
    /// A word in between.
    Word(usize, &'a Report),
    /// An answer. Failures are not among them.
    Answer(usize, Report),
    /// An agent is lost.
    Lost(&'a Loss),
}

/// Listens to what comes: the prime's time, and what it is.
pub(crate) type Ear<'a> = &'a mut dyn FnMut(Nanos, Heard<'_>);

/// The agents of a run.
pub struct Agents {
    board: Box<dyn Switchboard>,
    seats: Vec<Seat>,
    stop: StopFlag,
    /// The run's own objects are being removed: the wish to stop limits the time.
    tidying: bool,
    /// Since when it does.
    tidy_since: Option<Nanos>,
    losses: Vec<Loss>,
    emergency: Emergency,
    aside: Aside,
    own: Hello,
    silence_at: Nanos,
}

struct Seat {
    client: String,
    lost: bool,
    /// It is on its way out by itself, and has not said yet what stays.
    leaving: bool,
    /// Its first word, once it came.
    hello: Option<Hello>,
    /// Seals secrets for it, from the first one on.
    sealer: Option<Sealer>,
    heard: Nanos,
    clock: Option<ClockOffset>,
    /// Questions for the clock that have no answer yet.
    asked: VecDeque<(u32, Nanos)>,
    seq: u32,
}

/// What the pump brings.
enum Came {
    Report(Report),
    Clock,
    Lost,
    Nothing,
}

impl Agents {
    /// For the hosts of a plan; the board has begun to start them.
    pub fn new(board: Box<dyn Switchboard>, plan: &LaunchPlan, own: Hello, stop: StopFlag) -> Self {
        let seat = |host: &filermark_model::launch::HostPlan| Seat {
            client: host.client.clone(),
            lost: false,
            leaving: false,
            hello: None,
            sealer: None,
            heard: Nanos(0),
            clock: None,
            asked: VecDeque::new(),
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
            emergency: Emergency::default(),
            aside: Aside::default(),
            own,
            silence_at: now,
        }
    }

    /// Waits for the first word of every agent. All that cannot be had are told at
    /// once.
    ///
    /// # Errors
    /// Agents that do not start or answer, or are of another build; the wish to stop.
    pub fn greet(
        &mut self,
        limit: Nanos,
        observe: &mut dyn FnMut(usize, usize),
    ) -> Result<(), OrderError> {
        let until = self.board.now() + limit;
        let mut told = 0;
        while self.seats.iter().any(|s| !s.lost && s.hello.is_none()) {
            if self.is_to_stop() {
                return Err(OrderError::Stopped);
            }
            let now = self.board.now();
            if now >= until {
                let seconds = limit.0 / 1_000_000_000;
                self.lose_where(
                    |s| s.hello.is_none(),
                    &format!(
                        "did not start within {seconds} s; can it be reached? (filermark preflight; START_TIMEOUT)"
                    ),
                );
                break;
            }
            if let Some((at, Came::Report(report))) = self.next((now + LOOK).min(until)) {
                match report {
                    Report::Hello(hello) => self.take_hello(at, hello),
                    Report::Failed { reason, .. } => self.lose(at, reason),
                    word if is_word(&word) => {}
                    _ => self.lose(at, "it spoke out of turn".into()),
                }
            }
            let there = self
                .seats
                .iter()
                .filter(|s| !s.lost && s.hello.is_some())
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

    fn take_hello(&mut self, at: usize, hello: Hello) {
        if let Some(reason) = differs(&self.own, &hello) {
            return self.lose(at, reason);
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
        ear: Ear<'_>,
    ) -> Result<(), OrderError> {
        let began = self.board.now();
        // What was said of an order before, while it was being stopped, is over with it.
        self.emergency.borrow_mut().take();
        let mut round = Round::new(self.seats.len(), self.losses.len(), on_lost);
        for &at in who {
            if self.seats.get(at).is_none_or(|s| s.lost) {
                continue;
            }
            let mut order = make(at);
            round.kind = order.name();
            if let Err(e) = self.seal(at, &mut order) {
                self.lose(at, format!("the password cannot be encrypted for it: {e}"));
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
            self.hear_of_losses(&mut round, ear);
            let now = self.board.now();
            if now.since(ticked) >= Nanos::from_millis(5) {
                ticked = now;
                ear(now, Heard::Tick);
            }
            limit = self.tell_aside(&round).unwrap_or(limit);
            self.look_at_limits(&mut round, began, limit);
        }
        self.aside.borrow_mut().clear();
        match round.error {
            Some(error) => Err(error),
            None if self.living().is_empty() => Err(OrderError::Lost(self.losses.clone())),
            None => Ok(()),
        }
    }

    fn take(&mut self, came: Option<(usize, Came)>, round: &mut Round, ear: Ear<'_>) {
        let now = self.board.now();
        match came {
            Some((at, Came::Report(report))) if is_word(&report) => {
                ear(now, Heard::Word(at, &report));
            }
            Some((at, Came::Report(report)))
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
            Some((at, Came::Report(_))) => {
                self.lose(at, "it spoke out of turn".into());
            }
            _ => {}
        }
    }

    /// Sends what the receiver of reports has ordered meanwhile; gives the limit that
    /// follows from it.
    fn tell_aside(&mut self, round: &Round) -> Option<Nanos> {
        let mut limit = None;
        while let Some((order, changed)) = self.take_aside() {
            limit = Some(changed);
            for at in (0..self.seats.len()).filter(|at| round.is_waiting(*at)) {
                self.send(at, &order);
            }
        }
        limit
    }

    fn take_aside(&self) -> Option<(Order, Nanos)> {
        self.aside.borrow_mut().pop_front()
    }

    /// Takes in that agents have been lost since it was last looked.
    fn hear_of_losses(&mut self, round: &mut Round, ear: Ear<'_>) {
        let now = self.board.now();
        while let Some(loss) = self.losses.get(round.losses_seen) {
            round.losses_seen += 1;
            round.answered(loss.agent);
            ear(now, Heard::Lost(loss));
            if round.on_lost == OnLost::End {
                round.fail(OrderError::Lost(vec![loss.clone()]));
            }
        }
    }

    /// The wish to stop, an error, the time that is over: all lead to a stop of the
    /// others, and that has a limit too.
    fn look_at_limits(&mut self, round: &mut Round, began: Nanos, limit: Nanos) {
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
                self.tell_stop();
            }
            return;
        };
        if now.since(stopping) > STOP_MAX {
            for at in 0..self.seats.len() {
                if round.is_waiting(at) {
                    round.answered(at);
                    let seconds = STOP_MAX.0 / 1_000_000_000;
                    self.lose(at, format!("it does not stop within {seconds} s"));
                }
            }
        }
    }

    /// Asks every agent for its clock, several times; the best answers count.
    ///
    /// # Errors
    /// As [`Agents::order`].
    pub fn sync_clocks(&mut self, on_lost: OnLost) -> Result<(), OrderError> {
        let before = self.losses.len();
        for seat in &mut self.seats {
            seat.clock = None;
        }
        for group in self.living().chunks(CLOCKS_AT_ONCE) {
            for _ in 0..CLOCK_ROUNDS {
                if self.is_to_stop() {
                    return Err(OrderError::Stopped);
                }
                self.ask_clocks(group);
            }
        }
        self.lose_where(
            |s| s.clock.is_none(),
            "it does not answer what its clock says",
        );
        match self.losses.get(before..) {
            Some([]) | None => Ok(()),
            Some(lost) if on_lost == OnLost::End || self.living().is_empty() => {
                Err(OrderError::Lost(lost.to_vec()))
            }
            Some(_) => Ok(()),
        }
    }

    fn ask_clocks(&mut self, group: &[usize]) {
        for &at in group {
            let seat = &mut self.seats[at];
            if seat.lost {
                continue;
            }
            seat.seq = seat.seq.wrapping_add(1);
            seat.asked.clear();
            let frame = pack(&Order::Time { seq: seat.seq });
            seat.asked.push_back((seat.seq, self.board.now()));
            self.board.send(at, &frame);
        }
        let until = self.board.now() + CLOCK_MAX;
        let open = |seats: &[Seat]| {
            group
                .iter()
                .any(|at| !seats[*at].lost && !seats[*at].asked.is_empty())
        };
        while open(&self.seats) && self.board.now() < until {
            if let Some((at, Came::Report(report))) = self.next(until)
                && !is_word(&report)
            {
                self.lose(at, "it spoke out of turn".into());
            }
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
            if let Came::Report(report) = came
                && !is_word(&report)
            {
                self.lose(at, "it spoke out of turn".into());
            }
        }
        match self.losses.get(before..) {
            Some([]) | None => Ok(()),
            Some(_) if on_lost == OnLost::Continue && !self.living().is_empty() => Ok(()),
            Some(lost) => Err(OrderError::Lost(lost.to_vec())),
        }
    }

    /// From now on the wish to stop ends nothing at once: what goes on is what it asks
    /// for. It limits the time ([`TIDY_MAX`]), also when it comes only now.
    pub fn begin_tidying(&mut self) {
        self.tidying = true;
    }

    /// How long the run's objects have been removed since the user wished to stop, when
    /// that is too long for this order.
    fn tidy_time_over(&mut self, order: &str) -> Option<Nanos> {
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

    fn is_to_stop(&self) -> bool {
        self.stop.is_raised() && !self.tidying
    }

    /// Where it is said that the run is to end.
    pub fn emergency(&self) -> Emergency {
        Rc::clone(&self.emergency)
    }

    /// Where it is said what else is to be told.
    pub fn aside(&self) -> Aside {
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
        let living = |at: &usize| !self.seats[*at].lost;
        (0..self.seats.len()).filter(living).collect()
    }

    /// Those that are lost, in the order in which they were.
    pub fn losses(&self) -> &[Loss] {
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

    fn named(&self, at: usize, reason: String) -> String {
        match self.seats.len() {
            1 => reason,
            _ => format!("client {}: {reason}", self.seats[at].client),
        }
    }

    /// Puts the password that an order's plan has beside it, for this agent only.
    fn seal(&mut self, at: usize, order: &mut Order) -> Result<(), SealError> {
        let seat = &mut self.seats[at];
        let (hello, place) = (&seat.hello, &mut seat.sealer);
        handover::seal(order, || match place {
            Some(sealer) => Ok(sealer),
            None => {
                let key = hello.as_ref().map_or("", |h| h.key.as_str());
                Ok(place.insert(Sealer::to(key)?))
            }
        })
    }

    fn send(&mut self, at: usize, order: &Order) {
        match frame::encode(order) {
            Ok(frame) => self.board.send(at, &frame.into()),
            Err(e) => self.lose(
                at,
                format!("the order '{}' cannot be sent: {e}", order.name()),
            ),
        }
    }

    fn tell_stop(&mut self) {
        let living = self.living();
        tracing::debug!(target: "filermark_cluster::signal", agents = living.len(), "telling all agents to stop");
        for at in living {
            self.send(at, &Order::Stop);
        }
    }

    fn lose(&mut self, at: usize, reason: String) {
        self.lose_with(at, reason, false);
    }

    /// `tidies_up`: it has said so itself, and is listened to until it has removed what it
    /// made.
    fn lose_with(&mut self, at: usize, reason: String, tidies_up: bool) {
        let Some(seat) = self.seats.get_mut(at).filter(|s| !s.lost) else {
            return;
        };
        seat.lost = true;
        seat.leaving = tidies_up;
        tracing::debug!(target: "filermark_cluster", client = seat.client, reason, "lost");
        self.losses.push(Loss {
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
    fn take_farewell(&mut self, at: usize, event: &Event) {
        let Some(seat) = self.seats.get_mut(at).filter(|s| s.leaving) else {
            return;
        };
        let Event::Said(frame, _) = event else {
            seat.leaving = !matches!(event, Event::Ended(_));
            return;
        };
        if let Ok(Report::Cleaned { left_behind, .. }) = frame.decode().map(crate::tame::tamed) {
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
            if let Some((at, Came::Report(report))) = self.next((now + LOOK).min(until))
                && !is_word(&report)
            {
                self.lose(at, "it spoke out of turn".into());
            }
        }
    }

    fn lose_where(&mut self, which: impl Fn(&Seat) -> bool, reason: &str) {
        for at in self.living() {
            if which(&self.seats[at]) {
                self.lose(at, reason.to_owned());
            }
        }
    }

    /// Brings the next thing that comes, and does what is due: looking for the
    /// silent.
    fn next(&mut self, until: Nanos) -> Option<(usize, Came)> {
        let before = self.losses.len();
        self.do_what_is_due();
        if let Some(loss) = self.losses.get(before) {
            return Some((loss.agent, Came::Lost));
        }
        let (at, event) = self.board.wait(until)?;
        if self.seats.get(at).is_none_or(|s| s.lost) {
            self.take_farewell(at, &event);
            return Some((at, Came::Nothing));
        }
        let came = match event {
            Event::Up => {
                let hello = Order::Hello(self.own.clone());
                self.send(at, &hello);
                Came::Nothing
            }
            Event::Ended(reason) => {
                self.lose(at, reason);
                Came::Lost
            }
            Event::Said(frame, when) => {
                self.seats[at].heard = self.board.now();
                match frame.decode().map(crate::tame::tamed) {
                    Ok(Report::Time {
                        seq,
                        clock_ns,
                        unix_ns,
                    }) => {
                        self.take_time(at, when, seq, (clock_ns, unix_ns));
                        Came::Clock
                    }
                    Ok(Report::Leaving { reason }) => {
                        self.lose_with(at, reason, true);
                        Came::Lost
                    }
                    Ok(report) => Came::Report(report),
                    Err(e) => {
                        self.lose(at, nonsense(&e));
                        Came::Lost
                    }
                }
            }
        };
        Some((at, came))
    }

    fn take_time(&mut self, at: usize, heard: Nanos, seq: u32, said: (u64, u64)) {
        // Of the moment when it was heard, not of this one, when it is looked at.
        let own_unix = SystemTime::now().duration_since(UNIX_EPOCH);
        let waited = self.board.now().since(heard).0;
        let own_unix_ns = own_unix
            .map_or(0, |t| t.as_nanos() as u64)
            .saturating_sub(waited);
        let seat = &mut self.seats[at];
        let Some(place) = seat.asked.iter().position(|(asked, _)| *asked == seq) else {
            return;
        };
        let Some((_, sent)) = seat.asked.remove(place) else {
            return;
        };
        let offset = ClockOffset::of(sent, heard, said.0, said.1, own_unix_ns);
        seat.clock = Some(seat.clock.map_or(offset, |known| known.or_better(offset)));
    }

    fn do_what_is_due(&mut self) {
        let now = self.board.now();
        if now >= self.silence_at {
            // While nobody listened (a long wait for a disk), nobody was silent.
            let deaf = now.since(self.silence_at);
            self.silence_at = now + LOOK_FOR_SILENCE;
            if deaf > Nanos::from_secs(1) {
                for seat in &mut self.seats {
                    seat.heard = now;
                }
            }
            let seconds = SILENCE_MAX.0 / 1_000_000_000;
            self.lose_where(
                |s| s.hello.is_some() && now.since(s.heard) > SILENCE_MAX,
                &format!("not a word for {seconds} s"),
            );
        }
    }
}

fn pack(order: &Order) -> Arc<[u8]> {
    // Only small ones; an empty frame would be told as nonsense by the agent.
    frame::encode(order).unwrap_or_default().into()
}
