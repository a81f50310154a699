//! The world of a simulation: one thread, one clock, one seed. The prime under test
//! runs its real code on [`SimBoard`]; agents are the real [`Duty`] over the real
//! frames, with hosts, a network and a file system that are made up here.

use crate::agent::duty::{Act, Duty, Task};
use crate::agent::lengths::Lengths;
use crate::frame::{self, Deframer, MAGIC};
use crate::handover;
use crate::identity;
use crate::message::{FreeSpace, Hello, Order, Report, Tasks};
use crate::pretend::ready;
use crate::secure::seal::Opener;
use crate::switchboard::{Event, SIGN_OF_LIFE, Switchboard};
use filermark_engine::driver::StopFlag;
use filermark_engine::run_times::{RunTimes, Timetable};
use filermark_model::secret::Secret;
use filermark_model::stats::{Interval, ProcStats};
use filermark_model::{Nanos, Op, PointStats, Rng};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// WARMUP, where it is fixed.
pub const FIXED_WARMUP: Nanos = Nanos::from_secs(2);

/// The file system that all hosts work on, and its size.
const FILE_SYSTEM: &str = "null:/";
const FS_BYTES: u64 = 1 << 50;

/// What goes wrong with one agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its process is gone, the link ends.
    Killed,
    /// Its host is gone without a word.
    HostGone,
    /// Nothing of it runs for so long.
    Frozen(Nanos),
    /// No bytes pass any more, and nobody says so.
    Blackhole,
    /// The link ends on both sides, the agent lives.
    Reset,
    /// It says something that is no message.
    Nonsense,
    /// What it is doing never ends; it goes on saying that it is alive.
    Hung,
    /// From now on what it tells is well-formed and cannot be.
    Lies,
}

/// What happens at a moment.
#[derive(Debug)]
enum Happening {
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
    duty: Duty,
    opener: Opener,
    /// The password that its plan came with.
    pub password: Secret,
    deframer: Deframer,
    /// What its clock says more than the world's.
    pub skew_ns: u64,
    task: Option<(Task, u64)>,
    steps: u64,
    stopping: bool,
    hung: bool,
    lies: bool,
    pub dead: bool,
    pub ended: bool,
    /// Bytes pass on the link.
    link: bool,
    frozen_until: Nanos,
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
    lengths: Lengths,
    timetable: Option<Timetable>,
    /// Seconds of WARMUP that it has told.
    told_seconds: u64,
    /// When the last bytes of each direction arrive: a stream keeps its order.
    last_arrival: [Nanos; 2],
    /// Operations that it has told in figures.
    pub told_count: u64,
}

/// Everything.
pub struct World {
    pub now: Nanos,
    rng: Rng,
    pub hosts: Vec<Host>,
    happenings: BinaryHeap<Reverse<(Nanos, u64)>>,
    what: std::collections::HashMap<u64, Happening>,
    number: u64,
    inbox: VecDeque<(usize, Event)>,
    deframers: Vec<Deframer>,
    cut: Vec<bool>,
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
    space_told: BTreeSet<usize>,
    /// Longest way of a message.
    way_max: Nanos,
    /// The prime is killed at this moment.
    pub prime_dies_at: Option<Nanos>,
    pub faults: Vec<(usize, Fault, Nanos)>,
    /// The user wishes to stop at this moment.
    pub stop_at: Option<(Nanos, StopFlag)>,
    /// Calls of `wait`: a prime that spins is told.
    waits: u64,
}

/// What unwinds a prime that is killed.
pub struct PrimeDied;

fn hello(host: usize, opener: &Opener) -> Hello {
    Hello {
        host: format!("h{host}"),
        ..identity::agent_hello(opener)
    }
}

impl World {
    /// So many hosts, each with a clock of its own.
    pub fn new(seed: u64, hosts: usize) -> Self {
        let mut rng = Rng::new(seed, 0x51);
        let way_max = Nanos::from_micros([200, 5_000, 150_000][rng.below(3) as usize]);
        let host = |number: usize, opener: Opener, rng: &mut Rng| Host {
            duty: Duty::new(hello(number, &opener), Nanos(0)),
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
            lengths: Lengths::default(),
            timetable: None,
            told_seconds: 0,
            last_arrival: [Nanos(0); 2],
            told_count: 0,
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
            space_told: BTreeSet::new(),
            way_max,
            prime_dies_at: None,
            faults: Vec::new(),
            stop_at: None,
            waits: 0,
        };
        world.at(SIGN_OF_LIFE, Happening::PrimeIsAlive);
        for at in 0..hosts {
            // The agent believes that it heard the prime when it was born.
            let hello = hello(at, &world.hosts[at].opener);
            world.hosts[at].duty = Duty::new(hello, world.clock_of(at));
            world.inbox.push_back((at, Event::Up));
            let noise = b"Last login: yesterday\n";
            let mut first = noise[..world.rng.below(22) as usize].to_vec();
            first.extend_from_slice(MAGIC);
            world.send_to_prime(at, first);
            world.at(Nanos::from_millis(200), Happening::Tick(at));
        }
        world
    }

    /// Something will go wrong.
    pub fn plan_fault(&mut self, host: usize, fault: Fault, at: Nanos) {
        self.faults.push((host, fault, at));
        self.at(at.since(self.now), Happening::Fault(host, fault));
    }

    fn clock_of(&self, at: usize) -> Nanos {
        Nanos(self.now.0 + self.hosts[at].skew_ns)
    }

    fn at(&mut self, after: Nanos, what: Happening) {
        self.number += 1;
        self.what.insert(self.number, what);
        self.happenings
            .push(Reverse((self.now + after, self.number)));
    }

    /// Bytes go in pieces, each with its own delay, and keep their order.
    fn transmit(&mut self, at: usize, direction: usize, bytes: Vec<u8>) {
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
            let arrival = self.now + Nanos(self.rng.below(self.way_max.0));
            let last = &mut self.hosts[at].last_arrival[direction];
            *last = arrival.max(*last);
            let wait = last.since(self.now);
            let what = match direction {
                0 => Happening::ToAgent(at, piece.to_vec()),
                _ => Happening::ToPrime(at, piece.to_vec()),
            };
            self.at(wait, what);
        }
    }

    fn send_to_prime(&mut self, at: usize, bytes: Vec<u8>) {
        if self.hosts[at].link {
            self.transmit(at, 1, bytes);
        }
    }

    /// Lets the next thing happen, if it is due by then.
    fn step(&mut self, until: Nanos) -> bool {
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

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::ToAgent(at, bytes) => self.agent_reads(at, &bytes),
            Happening::ToPrime(at, bytes) => self.prime_reads(at, &bytes),
            Happening::AgentHearsEnd(at) => {
                let acts = self.hosts[at].duty.link_ended();
                self.act(at, acts);
            }
            Happening::PrimeHearsEnd(at, why) => self.post(at, Event::Ended(why.into())),
            Happening::Tick(at) => self.tick(at),
            Happening::PrimeIsAlive => self.tell_of_prime(),
            Happening::Step(at, number) => self.work(at, number),
            Happening::Fault(at, fault) => self.break_host(at, fault),
            Happening::EndRun(at, runtime) => self.end_run(at, runtime),
        }
    }

    fn post(&mut self, at: usize, event: Event) {
        if !self.cut[at] {
            self.inbox.push_back((at, event));
        }
    }

    fn prime_reads(&mut self, at: usize, bytes: &[u8]) {
        self.deframers[at].push(bytes);
        loop {
            match self.deframers[at].next_frame() {
                Ok(Some(frame)) => self.post(at, Event::Said(frame, self.now)),
                Ok(None) => return,
                Err(e) => return self.post(at, Event::Ended(e.to_string())),
            }
        }
    }

    fn agent_reads(&mut self, at: usize, bytes: &[u8]) {
        if self.is_out(at) {
            return;
        }
        self.hosts[at].deframer.push(bytes);
        while let Ok(Some(frame)) = self.hosts[at].deframer.next_frame() {
            let clock = self.clock_of(at);
            let order = frame.decode().expect("the prime makes sense");
            let acts = self.hosts[at].duty.hear(order, clock, self.now.0);
            self.act(at, acts);
        }
    }

    /// The board's sign of life, as long as there is a prime.
    fn tell_of_prime(&mut self) {
        let frame = frame::encode(&Order::Alive).expect("an order");
        for at in 0..self.hosts.len() {
            if self.hosts[at].link && !self.cut[at] {
                self.transmit(at, 0, frame.clone());
            }
        }
        if self.prime_dies_at.is_none_or(|dies| self.now < dies) {
            self.at(SIGN_OF_LIFE, Happening::PrimeIsAlive);
        }
    }

    fn is_out(&self, at: usize) -> bool {
        self.hosts[at].dead || self.hosts[at].ended
    }

    fn tick(&mut self, at: usize) {
        if self.is_out(at) {
            return;
        }
        let clock = self.clock_of(at);
        let acts = self.hosts[at].duty.tick(clock);
        self.act(at, acts);
        self.tell_seconds(at);
        self.tell_space(at);
        if self.rng.percent(40.0) {
            self.tell(at, &Report::Alive);
        }
        self.at(Nanos::from_millis(200), Happening::Tick(at));
    }

    /// How much is free, in INIT and under load.
    fn tell_space(&mut self, at: usize) {
        let task = self.hosts[at].task.as_ref();
        let (Some(pcnt), Some((Task::Init { watch_space, .. } | Task::Run { watch_space, .. }, _))) =
            (self.free_pcnt, task)
        else {
            return;
        };
        let is_first = self.space_told.insert(at);
        if self.tells_space_once && !is_first {
            return;
        }
        let is_told_to = watch_space.iter().any(|name| name == FILE_SYSTEM);
        let report = Report::Space {
            file_system: FILE_SYSTEM.into(),
            free_bytes: if is_told_to { FS_BYTES / 100 * pcnt } else { 0 },
            total_bytes: FS_BYTES,
        };
        self.tell(at, &report);
    }

    fn tell(&mut self, at: usize, report: &Report) {
        let frame = frame::encode(report).expect("a report");
        self.send_to_prime(at, frame);
    }

    fn act(&mut self, at: usize, acts: Vec<Act>) {
        for act in acts {
            match act {
                Act::Tell(report) => self.tell(at, &report),
                Act::Begin(task) => self.begin(at, task),
                Act::EndWarmup(warmup) => self.end_warmup(at, warmup),
                Act::EndRun(runtime) => match self.late_end {
                    Some((late, by)) if late == at => {
                        if let Some(by) = by {
                            self.at(by, Happening::EndRun(at, runtime));
                        }
                    }
                    _ => self.end_run(at, runtime),
                },
                Act::Stop => self.stop(at),
                Act::End => {
                    self.hosts[at].ended = true;
                    if std::mem::take(&mut self.hosts[at].link) {
                        let way = Nanos(self.rng.below(self.way_max.0));
                        self.at(way, Happening::PrimeHearsEnd(at, "the link ended"));
                    }
                }
            }
        }
    }

    fn begin(&mut self, at: usize, task: Task) {
        let wait = match &task {
            Task::Run { warmup_at, .. } => warmup_at.since(self.clock_of(at)),
            Task::Init { .. } if self.free_pcnt.is_some() => Nanos::from_secs(10),
            _ => Nanos(self.rng.below(2_000_000_000)),
        };
        self.space_told.remove(&at);
        let host = &mut self.hosts[at];
        host.steps += 1;
        host.stopping = false;
        host.lengths.clear();
        let number = host.steps;
        host.task = Some((task, number));
        self.at(wait, Happening::Step(at, number));
    }

    fn stop(&mut self, at: usize) {
        let wait = Nanos(self.rng.below(500_000_000));
        let host = &mut self.hosts[at];
        host.stopping = true;
        if let Some((_, number)) = &mut host.task {
            host.steps += 1;
            *number = host.steps;
            let number = *number;
            self.at(wait, Happening::Step(at, number));
        }
    }

    /// The task under way has come to where it wanted.
    fn work(&mut self, at: usize, number: u64) {
        if self.is_out(at) || self.hosts[at].hung {
            return;
        }
        let Some((task, current)) = self.hosts[at].task.clone() else {
            return;
        };
        if current != number {
            return;
        }
        let stopping = self.hosts[at].stopping && !matches!(task, Task::TidyUp);
        let report = match stopping {
            true => {
                self.end_load(at);
                Report::Failed {
                    reason: "stopped".into(),
                    stopped: true,
                }
            }
            false => match self.outcome(at, &task) {
                Some(report) => report,
                None => return,
            },
        };
        self.hosts[at].task = None;
        let acts = self.hosts[at].duty.done(report);
        self.act(at, acts);
    }

    fn end_load(&mut self, at: usize) {
        if std::mem::take(&mut self.hosts[at].loads) {
            self.hosts[at].load_ended = self.now;
        }
    }

    /// What a task came to; `None`: it has a further step.
    fn outcome(&mut self, at: usize, task: &Task) -> Option<Report> {
        let done = |task_count| Tasks {
            task_count,
            ..Tasks::default()
        };
        Some(match task {
            Task::Prepare(share) => {
                let mut share = share.clone();
                let host = &mut self.hosts[at];
                if let Err(reason) = handover::open(&mut share, &mut host.opener) {
                    return Some(Report::Failed {
                        reason,
                        stopped: false,
                    });
                }
                host.password = share.plan.driver.password().cloned().unwrap_or_default();
                self.directory = true;
                let mut report = ready(format!("h{at}"));
                if let (Some(_), Report::Ready { free, .. }) = (self.free_pcnt, &mut report) {
                    free.push(FreeSpace {
                        mounts: share.plan.clients[at].mounts.clone(),
                        file_system: FILE_SYSTEM.into(),
                        bytes: FS_BYTES,
                        total_bytes: FS_BYTES,
                        kept: false,
                    });
                }
                report
            }
            Task::Inspect(_) => Report::Failed {
                reason: "there is nothing to look at".into(),
                stopped: false,
            },
            Task::Init { .. } => {
                self.files.insert(at);
                Report::Populated {
                    tasks: done(10),
                    space: Vec::new(),
                }
            }
            Task::Run { .. } => return self.run_step(at),
            Task::Cleanup => {
                self.files.remove(&at);
                cleaned(done(10))
            }
            Task::Release { .. } | Task::Sweep(_) => {
                let count = self.files.len() as u64;
                self.files.clear();
                self.directory = false;
                cleaned(done(count))
            }
            Task::TidyUp => {
                self.files.remove(&at);
                if self.files.is_empty() {
                    self.directory = false;
                }
                cleaned(Tasks::default())
            }
        })
    }

    /// WARMUP begins, then after its time RUN has ended.
    fn run_step(&mut self, at: usize) -> Option<Report> {
        if !self.hosts[at].loads {
            self.hosts[at].loads = true;
            self.hosts[at].began.push(self.now);
            self.begin_load(at);
            if self.tells_seconds() {
                return None;
            }
            let interval = Interval::default();
            self.tell(at, &Report::Second { interval });
            return None;
        }
        self.end_load(at);
        let phases = self.hosts[at].lengths.finish();
        let run_end = self.run_end(at);
        self.hosts[at].run_ends.extend(run_end);
        let count = 100 + self.rng.below(1000);
        self.hosts[at].told_count += count;
        let mut stats = PointStats {
            window_ns: phases.runtime.0,
            ..PointStats::default()
        };
        let op = stats.op_mut(Op::NFS3[0]);
        for i in 0..count {
            op.success_count += 1;
            op.service.record(Nanos(100_000 + i));
            op.response.record(Nanos(100_000 + i));
        }
        if self.hosts[at].lies {
            match self.rng.below(4) {
                0 => return Some(cleaned(Tasks::default())),
                1 => stats.window_ns = 1 << 63,
                2 => stats.window_ns = 0,
                _ => stats.procs.push(ProcStats {
                    proc: at as u32 + 1,
                    ..ProcStats::default()
                }),
            }
        }
        Some(Report::Measured {
            stats: Box::new(stats),
            clock: None,
            late_ns: 0,
            warmup_ns: phases.warmup.0,
            runtime_ns: phases.runtime.0,
            run_late_ns: phases.late.0,
            stalls: filermark_model::stall::Stalls::default(),
            reads: Vec::new(),
        })
    }

    /// RUN begins so long after WARMUP has begun.
    fn end_warmup(&mut self, at: usize, warmup: Nanos) {
        let host = &mut self.hosts[at];
        let Some(began) = host.began.last().filter(|_| host.loads && !host.stopping) else {
            return;
        };
        let run_start = *began + warmup;
        host.called.push((run_start, self.now < run_start));
        let clock = self.clock_of(at);
        self.hosts[at].lengths.end_warmup(warmup, clock);
        self.end_when_due(at);
    }

    /// RUN takes so long.
    fn end_run(&mut self, at: usize, runtime: Nanos) {
        let clock = self.clock_of(at);
        let host = &self.hosts[at];
        if self.is_out(at) || !host.loads || host.stopping {
            return;
        }
        host.lengths.end_run(runtime, clock);
        self.end_when_due(at);
    }

    /// WARMUP has begun.
    fn begin_load(&mut self, at: usize) {
        let warmup_start = self.clock_of(at);
        let (longest, _) = self.until_steady.unwrap_or((FIXED_WARMUP, 0));
        let fixed = self.load_span.since(FIXED_WARMUP);
        let run_start = warmup_start + longest;
        let latest = RunTimes {
            warmup_start,
            run_start,
            run_end: run_start + self.open_end.unwrap_or(fixed),
        };
        let timetable = match self.open_end {
            Some(_) => Timetable::with_open_end(latest),
            None => Timetable::from(latest),
        };
        let host = &mut self.hosts[at];
        host.told_seconds = 0;
        host.lengths.begin(&timetable);
        host.timetable = Some(timetable);
        self.end_when_due(at);
    }

    /// When RUN ends at a host that makes load.
    fn run_end(&self, at: usize) -> Option<Nanos> {
        let host = &self.hosts[at];
        let times = host.timetable.as_ref()?.times();
        Some(Nanos(times.run_end.0 - host.skew_ns))
    }

    /// The load ends with RUN, and what the last operations take; it may be overdue.
    fn end_when_due(&mut self, at: usize) {
        let end = self.run_end(at).unwrap_or(self.now);
        let host = &mut self.hosts[at];
        host.steps += 1;
        if let Some((_, number)) = &mut host.task {
            *number = host.steps;
        }
        let number = host.steps;
        let wait = end.since(self.now) + Nanos(self.rng.below(300_000_000));
        self.at(wait, Happening::Step(at, number));
    }

    fn tells_seconds(&self) -> bool {
        self.until_steady.is_some() || self.open_end.is_some()
    }

    /// Whole seconds, counted from the latest instant at which RUN may begin.
    fn tell_seconds(&mut self, at: usize) {
        if !self.tells_seconds() {
            return;
        }
        let (longest, falls_for) = self.until_steady.unwrap_or((FIXED_WARMUP, 0));
        let host = &self.hosts[at];
        let Some(began) = host.began.last().filter(|_| host.loads) else {
            return;
        };
        let passed = self.now.since(*began).0 / 1_000_000_000;
        for second in host.told_seconds..passed {
            let success_count = 1_000 + self.rng.below(10);
            let mean_ns = 200_000 + 20_000 * falls_for.saturating_sub(second);
            let interval = Interval {
                second: second as i64 - (longest.0 / 1_000_000_000) as i64,
                success_count,
                response_sum_ns: success_count * (mean_ns + self.rng.below(2_000)),
                ..Interval::default()
            };
            self.tell(at, &Report::Second { interval });
        }
        self.hosts[at].told_seconds = passed;
    }

    fn break_host(&mut self, at: usize, fault: Fault) {
        let way = Nanos(self.rng.below(self.way_max.0));
        match fault {
            Fault::Killed => {
                self.die(at);
                if std::mem::take(&mut self.hosts[at].link) {
                    self.at(way, Happening::PrimeHearsEnd(at, "the link ended"));
                }
            }
            Fault::HostGone => {
                self.die(at);
                self.hosts[at].link = false;
            }
            Fault::Frozen(span) => self.hosts[at].frozen_until = self.now + span,
            Fault::Blackhole => self.hosts[at].link = false,
            Fault::Reset => {
                if std::mem::take(&mut self.hosts[at].link) {
                    self.at(way, Happening::PrimeHearsEnd(at, "reset by peer"));
                    self.at(way, Happening::AgentHearsEnd(at));
                }
            }
            Fault::Nonsense => self.send_to_prime(at, b"\0\0\0\x09\0hello the".to_vec()),
            Fault::Hung => self.hosts[at].hung = true,
            Fault::Lies => {
                self.hosts[at].lies = true;
                for _ in 0..2 {
                    for second in [i64::MAX, i64::MIN] {
                        let interval = Interval {
                            second,
                            success_count: u64::MAX,
                            ..Interval::default()
                        };
                        self.tell(at, &Report::Second { interval });
                    }
                    let (task_count, bytes) = (u64::MAX, u64::MAX);
                    self.tell(at, &Report::Progress { task_count, bytes });
                }
            }
        }
    }

    fn die(&mut self, at: usize) {
        self.end_load(at);
        self.hosts[at].dead = true;
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

    fn hang_up(&mut self, at: usize) {
        self.cut[at] = true;
        if std::mem::take(&mut self.hosts[at].link) {
            let way = Nanos(self.rng.below(self.way_max.0));
            self.at(way, Happening::AgentHearsEnd(at));
        }
    }
}

fn cleaned(tasks: Tasks) -> Report {
    Report::Cleaned {
        tasks,
        left_behind: Vec::new(),
    }
}

/// Which host's doing a happening is.
fn host_of(what: &Happening) -> Option<usize> {
    match what {
        Happening::ToAgent(at, _)
        | Happening::AgentHearsEnd(at)
        | Happening::Tick(at)
        | Happening::Step(at, _)
        | Happening::EndRun(at, _) => Some(*at),
        _ => None,
    }
}

/// The world as the prime sees it.
pub struct SimBoard(pub Rc<RefCell<World>>);

impl Switchboard for SimBoard {
    fn now(&self) -> Nanos {
        self.0.borrow().now
    }

    fn send(&mut self, agent: usize, frame: &Arc<[u8]>) {
        let mut world = self.0.borrow_mut();
        if world.hosts[agent].link && !world.cut[agent] {
            world.transmit(agent, 0, frame.to_vec());
        }
    }

    fn wait(&mut self, until: Nanos) -> Option<(usize, Event)> {
        let mut world = self.0.borrow_mut();
        world.waits += 1;
        assert!(world.waits < 3_000_000, "the prime never comes to an end");
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
        self.0.borrow_mut().hang_up(agent);
    }

    fn let_go(&mut self, limit: Duration) {
        let mut world = self.0.borrow_mut();
        let until = world.now + Nanos(limit.as_nanos() as u64);
        let all_out =
            |world: &World| (0..world.hosts.len()).all(|at| world.is_out(at) || world.cut[at]);
        while !all_out(&world) && world.step(until) {}
        world.end_links();
    }
}
