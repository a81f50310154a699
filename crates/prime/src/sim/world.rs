//! The state of a simulation: one thread, one clock, one seed. The prime under test runs
//! its real code on [`SimBoard`](super::board::SimBoard); agents are the real
//! [`AgentState`] over the real frames. Hosts, network and file system are simulated.

use super::fault::Fault;
use filermark_agent::lengths::SharedDurations;
use filermark_engine::driver::StopFlag;
use filermark_engine::run_times::Timetable;
use filermark_link::agent_state::{AgentState, LongTask};
use filermark_link::frame::{self, Deframer, MAGIC};
use filermark_link::identity;
use filermark_link::links::{KEEPALIVE_INTERVAL, LinkEvent};
use filermark_link::message::{Hello, Order};
use filermark_link::secure::seal::Opener;
use filermark_model::secret::Secret;
use filermark_model::{Nanos, Rng};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// WARMUP, if its length is fixed.
pub const FIXED_WARMUP: Nanos = Nanos::from_secs(2);

/// An event of a simulation.
#[derive(Debug)]
pub(super) enum SimEvent {
    ToAgent(usize, Vec<u8>),
    ToPrime(usize, Vec<u8>),
    LinkEndAtAgent(usize),
    LinkEndAtPrime(usize, &'static str),
    Tick(usize),
    PrimeIsAlive,
    /// A step of the present task; outdated if the number differs.
    Step(usize, u64),
    Fault(usize, Fault),
    /// An order to end RUN, which this agent follows late.
    EndRun(usize, Nanos),
}

/// One agent and its host.
pub struct Host {
    pub(super) state: AgentState,
    pub(super) opener: Opener,
    /// The password in its plan.
    pub password: Secret,
    pub(super) deframer: Deframer,
    /// How far its clock is ahead of that of the simulation.
    pub skew_ns: u64,
    pub(super) task: Option<(LongTask, u64)>,
    pub(super) steps: u64,
    pub(super) stopping: bool,
    pub(super) hung: bool,
    pub(super) sends_false_reports: bool,
    pub dead: bool,
    pub ended: bool,
    /// Whether bytes pass on the link.
    pub(super) link: bool,
    pub(super) frozen_until: Nanos,
    /// Whether it makes load.
    pub loads: bool,
    /// When it last stopped making load.
    pub load_ended: Nanos,
    /// When it began WARMUP.
    pub began: Vec<Nanos>,
    /// When RUN began that the prime has begun early, and whether the order arrived before.
    pub run_starts: Vec<(Nanos, bool)>,
    /// When RUN ended, in each load point.
    pub run_ends: Vec<Nanos>,
    pub(super) lengths: SharedDurations,
    pub(super) timetable: Option<Timetable>,
    /// Seconds that it has reported.
    pub(super) reported_seconds: u64,
    /// When the last bytes of each direction arrive: later bytes must not overtake them.
    pub(super) last_arrival: [Nanos; 2],
    /// Operations in the figures that it has reported.
    pub reported_count: u64,
}

/// The whole state of a simulation.
pub struct SimState {
    pub now: Nanos,
    pub(super) rng: Rng,
    pub hosts: Vec<Host>,
    pub(super) queue: BinaryHeap<Reverse<(Nanos, u64)>>,
    pub(super) events: std::collections::HashMap<u64, SimEvent>,
    pub(super) number: u64,
    pub(super) inbox: VecDeque<(usize, LinkEvent)>,
    pub(super) deframers: Vec<Deframer>,
    pub(super) cut: Vec<bool>,
    /// The hosts that have files on the shared file system.
    pub files: BTreeSet<usize>,
    /// Whether the run's directory exists.
    pub directory: bool,
    /// The length of WARMUP and RUN together.
    pub load_span: Nanos,
    /// WARMUP until the load is steady: its longest length, and for how many seconds response
    /// times fall.
    pub until_steady: Option<(Nanos, u64)>,
    /// RUN until the data is touched: its longest length.
    pub open_end: Option<Nanos>,
    /// An agent that follows the order to end RUN this much later; `None`: never.
    pub late_end: Option<(usize, Option<Nanos>)>,
    /// The server does not answer while files are removed.
    pub is_silent_in_cleanup: bool,
    /// The free share of the file system, in percent, if hosts report it. A host that does not
    /// have to watch it reports that nothing is free.
    pub free_pcnt: Option<u64>,
    /// Whether a host reports it only once in each phase.
    pub reports_space_once: bool,
    /// The hosts that have reported it in the present phase.
    pub(super) reported_space: BTreeSet<usize>,
    /// The highest rate of the server, in op/s; `None`: it is random.
    pub knee: Option<u64>,
    /// The numbers of the load points in which the first host stalls.
    pub stalled: BTreeSet<u32>,
    /// The longest delay of a message.
    pub(super) latency_max: Nanos,
    /// The prime is killed at this moment.
    pub prime_dies_at: Option<Nanos>,
    pub faults: Vec<(usize, Fault, Nanos)>,
    /// The user asks to stop at this moment.
    pub stop_at: Option<(Nanos, StopFlag)>,
    /// Calls of `wait`, to find a prime that loops without end.
    pub(super) waits: u64,
}

/// The panic payload that ends a prime that is killed.
pub struct PrimeDied;

fn hello(host: usize, opener: &Opener) -> Hello {
    Hello {
        host: format!("h{host}"),
        ..identity::agent_hello(opener)
    }
}

impl SimState {
    /// With this number of hosts, each with its own clock.
    pub fn new(seed: u64, hosts: usize) -> Self {
        let mut rng = Rng::new(seed, 0x51);
        let latency_max = Nanos::from_micros([200, 5_000, 150_000][rng.below(3) as usize]);
        let host = |number: usize, opener: Opener, rng: &mut Rng| Host {
            state: AgentState::new(hello(number, &opener), Nanos(0)),
            opener,
            deframer: Deframer::of_prime(),
            skew_ns: rng.below(1_000_000_000_000),
            task: None,
            steps: 0,
            password: Secret::NONE,
            stopping: false,
            hung: false,
            sends_false_reports: false,
            dead: false,
            ended: false,
            link: true,
            frozen_until: Nanos(0),
            loads: false,
            load_ended: Nanos(0),
            began: Vec::new(),
            run_starts: Vec::new(),
            run_ends: Vec::new(),
            lengths: SharedDurations::default(),
            timetable: None,
            reported_seconds: 0,
            last_arrival: [Nanos(0); 2],
            reported_count: 0,
        };
        let mut world = Self {
            now: Nanos::from_secs(1),
            hosts: (0..hosts)
                .map(|n| host(n, Opener::new(), &mut rng))
                .collect(),
            rng,
            queue: BinaryHeap::new(),
            events: std::collections::HashMap::new(),
            number: 0,
            inbox: VecDeque::new(),
            deframers: (0..hosts).map(|_| Deframer::of_agent()).collect(),
            cut: vec![false; hosts],
            files: BTreeSet::new(),
            directory: false,
            load_span: Nanos::from_secs(7),
            until_steady: None,
            open_end: None,
            late_end: None,
            is_silent_in_cleanup: false,
            free_pcnt: None,
            reports_space_once: false,
            reported_space: BTreeSet::new(),
            knee: None,
            stalled: BTreeSet::new(),
            latency_max,
            prime_dies_at: None,
            faults: Vec::new(),
            stop_at: None,
            waits: 0,
        };
        world.at(KEEPALIVE_INTERVAL, SimEvent::PrimeIsAlive);
        for at in 0..hosts {
            // The agent's time without a message from the prime begins with its own start.
            let hello = hello(at, &world.hosts[at].opener);
            world.hosts[at].state = AgentState::new(hello, world.clock_of(at));
            world.inbox.push_back((at, LinkEvent::Connected));
            let noise = b"Last login: yesterday\n";
            let mut first = noise[..world.rng.below(22) as usize].to_vec();
            first.extend_from_slice(MAGIC);
            world.send_to_prime(at, first);
            world.at(Nanos::from_millis(200), SimEvent::Tick(at));
        }
        world
    }

    pub(super) fn clock_of(&self, at: usize) -> Nanos {
        Nanos(self.now.0 + self.hosts[at].skew_ns)
    }

    pub(super) fn at(&mut self, after: Nanos, what: SimEvent) {
        self.number += 1;
        self.events.insert(self.number, what);
        self.queue.push(Reverse((self.now + after, self.number)));
    }

    /// Sends bytes in pieces, each with its own delay, in their order.
    pub(super) fn transmit(&mut self, at: usize, direction: usize, bytes: Vec<u8>) {
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let most = if self.rng.percent(70.0) {
                rest.len() as u64
            } else {
                9
            };
            let count = (1 + self.rng.below(most)).min(rest.len() as u64) as usize;
            let (piece, more) = rest.split_at(count);
            rest = more;
            let arrival = self.now + Nanos(self.rng.below(self.latency_max.0));
            let last = &mut self.hosts[at].last_arrival[direction];
            *last = arrival.max(*last);
            let wait = last.since(self.now);
            let what = match direction {
                0 => SimEvent::ToAgent(at, piece.to_vec()),
                _ => SimEvent::ToPrime(at, piece.to_vec()),
            };
            self.at(wait, what);
        }
    }

    pub(super) fn send_to_prime(&mut self, at: usize, bytes: Vec<u8>) {
        if self.hosts[at].link {
            self.transmit(at, 1, bytes);
        }
    }

    /// Handles the next event, if it is due by then.
    pub(super) fn step(&mut self, until: Nanos) -> bool {
        let Some(Reverse((when, number))) = self.queue.peek().copied() else {
            self.now = until.max(self.now);
            return false;
        };
        if when > until {
            self.now = until.max(self.now);
            return false;
        }
        self.queue.pop();
        self.now = when.max(self.now);
        let Some(what) = self.events.remove(&number) else {
            return true;
        };
        if let Some(host) = host_of(&what)
            && self.hosts[host].frozen_until > self.now
        {
            let wait = self.hosts[host].frozen_until.since(self.now);
            self.at(wait, what);
            return true;
        }
        self.handle(what);
        true
    }

    pub(super) fn handle(&mut self, what: SimEvent) {
        match what {
            SimEvent::ToAgent(at, bytes) => self.agent_reads(at, &bytes),
            SimEvent::ToPrime(at, bytes) => self.prime_reads(at, &bytes),
            SimEvent::LinkEndAtAgent(at) => {
                let acts = self.hosts[at].state.link_ended();
                self.act(at, acts);
            }
            SimEvent::LinkEndAtPrime(at, why) => self.post(at, LinkEvent::Closed(why.into())),
            SimEvent::Tick(at) => self.tick(at),
            SimEvent::PrimeIsAlive => self.send_keepalives(),
            SimEvent::Step(at, number) => self.work(at, number),
            SimEvent::Fault(at, fault) => self.apply_fault(at, fault),
            SimEvent::EndRun(at, runtime) => self.end_run(at, runtime),
        }
    }

    pub(super) fn post(&mut self, at: usize, event: LinkEvent) {
        if !self.cut[at] {
            self.inbox.push_back((at, event));
        }
    }

    pub(super) fn prime_reads(&mut self, at: usize, bytes: &[u8]) {
        self.deframers[at].push(bytes);
        loop {
            match self.deframers[at].next_frame() {
                Ok(Some(frame)) => self.post(at, LinkEvent::Message(frame.into(), self.now)),
                Ok(None) => return,
                Err(e) => return self.post(at, LinkEvent::Closed(e.to_string())),
            }
        }
    }

    /// The keepalives of the prime, as long as it runs.
    pub(super) fn send_keepalives(&mut self) {
        let frame = frame::encode(&Order::Alive).expect("an order");
        for at in 0..self.hosts.len() {
            if self.hosts[at].link && !self.cut[at] {
                self.transmit(at, 0, frame.clone());
            }
        }
        if self.prime_dies_at.is_none_or(|dies| self.now < dies) {
            self.at(KEEPALIVE_INTERVAL, SimEvent::PrimeIsAlive);
        }
    }

    /// Goes on for this time without a prime.
    pub fn run_for(&mut self, span: Nanos) {
        let until = self.now + span;
        while self.step(until) {}
    }

    /// The prime has ended: all links end.
    pub fn end_links(&mut self) {
        for at in 0..self.hosts.len() {
            self.end_link(at);
        }
    }

    pub(super) fn end_link(&mut self, at: usize) {
        self.cut[at] = true;
        if std::mem::take(&mut self.hosts[at].link) {
            let delay = Nanos(self.rng.below(self.latency_max.0));
            self.at(delay, SimEvent::LinkEndAtAgent(at));
        }
    }
}

/// The host that an event belongs to.
fn host_of(what: &SimEvent) -> Option<usize> {
    match what {
        SimEvent::ToAgent(at, _)
        | SimEvent::LinkEndAtAgent(at)
        | SimEvent::Tick(at)
        | SimEvent::Step(at, _)
        | SimEvent::EndRun(at, _) => Some(*at),
        _ => None,
    }
}
