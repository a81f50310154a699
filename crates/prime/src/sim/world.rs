//! The world of a simulation: one thread, one clock, one seed. The prime under test
//! runs its real code on [`SimBoard`](super::board::SimBoard); agents are the real [`Duty`] over the real
//! frames, with hosts, a network and a file system that are made up here.

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

/// WARMUP, where it is fixed.
pub const FIXED_WARMUP: Nanos = Nanos::from_secs(2);

/// What happens at a moment.
#[derive(Debug)]
pub(super) enum SimEvent {
    ToAgent(usize, Vec<u8>),
    ToPrime(usize, Vec<u8>),
    AgentHearsEnd(usize),
    PrimeHearsEnd(usize, &'static str),
    Tick(usize),
    PrimeIsAlive,
    /// A step of the task under way; stale when the number is another.
    Step(usize, u64),
    Fault(usize, Fault),
    /// An order to end RUN, which this agent takes up late.
    EndRun(usize, Nanos),
}

/// One agent and its host.
pub struct Host {
    pub(super) state: AgentState,
    pub(super) opener: Opener,
    /// The password that its plan came with.
    pub password: Secret,
    pub(super) deframer: Deframer,
    /// What its clock says more than the world's.
    pub skew_ns: u64,
    pub(super) task: Option<(LongTask, u64)>,
    pub(super) steps: u64,
    pub(super) stopping: bool,
    pub(super) hung: bool,
    pub(super) lies: bool,
    pub dead: bool,
    pub ended: bool,
    /// Bytes pass on the link.
    pub(super) link: bool,
    pub(super) frozen_until: Nanos,
    /// It makes load.
    pub loads: bool,
    /// When it last stopped making load.
    pub load_ended: Nanos,
    /// When it truly began WARMUP.
    pub began: Vec<Nanos>,
    /// When it began RUN that it was told to begin, and whether it heard that before.
    pub called: Vec<(Nanos, bool)>,
    /// When RUN ended, in each load point.
    pub run_ends: Vec<Nanos>,
    pub(super) lengths: SharedDurations,
    pub(super) timetable: Option<Timetable>,
    /// Seconds of WARMUP that it has told.
    pub(super) reported_seconds: u64,
    /// When the last bytes of each direction arrive: a stream keeps its order.
    pub(super) last_arrival: [Nanos; 2],
    /// Operations that it has told in figures.
    pub reported_count: u64,
}

/// Everything.
pub struct SimState {
    pub now: Nanos,
    pub(super) rng: Rng,
    pub hosts: Vec<Host>,
    pub(super) happenings: BinaryHeap<Reverse<(Nanos, u64)>>,
    pub(super) what: std::collections::HashMap<u64, SimEvent>,
    pub(super) number: u64,
    pub(super) inbox: VecDeque<(usize, LinkEvent)>,
    pub(super) deframers: Vec<Deframer>,
    pub(super) cut: Vec<bool>,
    /// Whose files are on the shared file system.
    pub files: BTreeSet<usize>,
    /// The run's directory is there.
    pub directory: bool,
    /// WARMUP and RUN.
    pub load_span: Nanos,
    /// WARMUP until the load is steady: its longest, and for how many seconds response
    /// times fall.
    pub until_steady: Option<(Nanos, u64)>,
    /// RUN until the data is touched: its longest.
    pub open_end: Option<Nanos>,
    /// An agent that takes up the order to end RUN so much later; `None`: never.
    pub late_end: Option<(usize, Option<Nanos>)>,
    /// The share of the one file system that is free, in percent, where hosts state it.
    /// Who is not told to look at it says that nothing is free.
    pub free_pcnt: Option<u64>,
    /// A host states it once in each phase only, and which hosts have in the present one.
    pub tells_space_once: bool,
    pub(super) reported_space: BTreeSet<usize>,
    /// Longest way of a message.
    pub(super) latency_max: Nanos,
    /// The prime is killed at this moment.
    pub prime_dies_at: Option<Nanos>,
    pub faults: Vec<(usize, Fault, Nanos)>,
    /// The user wishes to stop at this moment.
    pub stop_at: Option<(Nanos, StopFlag)>,
    /// Calls of `wait`: a prime that spins is told.
    pub(super) waits: u64,
}

/// What unwinds a prime that is killed.
pub struct PrimeDied;

fn hello(host: usize, opener: &Opener) -> Hello {
    Hello {
        host: format!("h{host}"),
        ..identity::agent_hello(opener)
    }
}

impl SimState {
    /// So many hosts, each with a clock of its own.
    pub fn new(seed: u64, hosts: usize) -> Self {
        let mut rng = Rng::new(seed, 0x51);
        let way_max = Nanos::from_micros([200, 5_000, 150_000][rng.below(3) as usize]);
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
            lies: false,
            dead: false,
            ended: false,
            link: true,
            frozen_until: Nanos(0),
            loads: false,
            load_ended: Nanos(0),
            began: Vec::new(),
            called: Vec::new(),
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
            happenings: BinaryHeap::new(),
            what: std::collections::HashMap::new(),
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
            free_pcnt: None,
            tells_space_once: false,
            reported_space: BTreeSet::new(),
            latency_max: way_max,
            prime_dies_at: None,
            faults: Vec::new(),
            stop_at: None,
            waits: 0,
        };
        world.at(KEEPALIVE_INTERVAL, SimEvent::PrimeIsAlive);
        for at in 0..hosts {
            // The agent believes that it heard the prime when it was born.
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
        self.what.insert(self.number, what);
        self.happenings
            .push(Reverse((self.now + after, self.number)));
    }

    /// Bytes go in pieces, each with its own delay, and keep their order.
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

    /// Lets the next thing happen, if it is due by then.
    pub(super) fn step(&mut self, until: Nanos) -> bool {
        let Some(Reverse((when, number))) = self.happenings.peek().copied() else {
            self.now = until.max(self.now);
            return false;
        };
        if when > until {
            self.now = until.max(self.now);
            return false;
        }
        self.happenings.pop();
        self.now = when.max(self.now);
        let Some(what) = self.what.remove(&number) else {
            return true;
        };
        if let Some(host) = host_of(&what)
            && self.hosts[host].frozen_until > self.now
        {
            let wait = self.hosts[host].frozen_until.since(self.now);
            self.at(wait, what);
            return true;
        }
        self.happen(what);
        true
    }

    pub(super) fn happen(&mut self, what: SimEvent) {
        match what {
            SimEvent::ToAgent(at, bytes) => self.agent_reads(at, &bytes),
            SimEvent::ToPrime(at, bytes) => self.prime_reads(at, &bytes),
            SimEvent::AgentHearsEnd(at) => {
                let acts = self.hosts[at].state.link_ended();
                self.act(at, acts);
            }
            SimEvent::PrimeHearsEnd(at, why) => self.post(at, LinkEvent::Closed(why.into())),
            SimEvent::Tick(at) => self.tick(at),
            SimEvent::PrimeIsAlive => self.tell_of_prime(),
            SimEvent::Step(at, number) => self.work(at, number),
            SimEvent::Fault(at, fault) => self.break_host(at, fault),
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
                Ok(Some(frame)) => self.post(at, LinkEvent::Message(frame, self.now)),
                Ok(None) => return,
                Err(e) => return self.post(at, LinkEvent::Closed(e.to_string())),
            }
        }
    }

    /// The board's sign of life, as long as there is a prime.
    pub(super) fn tell_of_prime(&mut self) {
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

    /// Lets the world go on without a prime.
    pub fn go_on(&mut self, span: Nanos) {
        let until = self.now + span;
        while self.step(until) {}
    }

    /// The prime is gone: all links end.
    pub fn end_links(&mut self) {
        for at in 0..self.hosts.len() {
            self.hang_up(at);
        }
    }

    pub(super) fn hang_up(&mut self, at: usize) {
        self.cut[at] = true;
        if std::mem::take(&mut self.hosts[at].link) {
            let way = Nanos(self.rng.below(self.latency_max.0));
            self.at(way, SimEvent::AgentHearsEnd(at));
        }
    }
}

/// Which host's doing a happening is.
fn host_of(what: &SimEvent) -> Option<usize> {
    match what {
        SimEvent::ToAgent(at, _)
        | SimEvent::AgentHearsEnd(at)
        | SimEvent::Tick(at)
        | SimEvent::Step(at, _)
        | SimEvent::EndRun(at, _) => Some(*at),
        _ => None,
    }
}
