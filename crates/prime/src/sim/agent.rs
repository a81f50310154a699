//! How the agents of a simulation carry out their orders: with simulated files, load and
//! reports.

use super::world::{FIXED_WARMUP, SimEvent, SimState};
use crate::fake_agent::ready;
use filermark_engine::run_times::{RunTimes, Timetable};
use filermark_link::agent_state::{AgentAction, LongTask};
use filermark_link::frame;
use filermark_link::message::{FreeSpace, Report, TaskTotals};
use filermark_link::plan_password;
use filermark_model::stall::Stalls;
use filermark_model::stats::{Interval, ProcStats};
use filermark_model::{LoadPoint, Nanos, Op, PointStats};

/// The file system of all hosts, and its size.
const FILE_SYSTEM: &str = "null:/";
const FS_BYTES: u64 = 1 << 50;

impl SimState {
    pub(super) fn agent_reads(&mut self, at: usize, bytes: &[u8]) {
        if self.is_out(at) {
            return;
        }
        self.hosts[at].deframer.push(bytes);
        while let Ok(Some(frame)) = self.hosts[at].deframer.next_frame() {
            let clock = self.clock_of(at);
            let order = frame.decode().expect("a valid order");
            let acts = self.hosts[at].state.handle_order(order, clock, self.now.0);
            self.act(at, acts);
        }
    }

    pub(super) fn is_out(&self, at: usize) -> bool {
        self.hosts[at].dead || self.hosts[at].ended
    }

    pub(super) fn tick(&mut self, at: usize) {
        if self.is_out(at) {
            return;
        }
        let clock = self.clock_of(at);
        let acts = self.hosts[at].state.tick(clock);
        self.act(at, acts);
        self.report_seconds(at);
        self.report_space(at);
        if self.rng.percent(40.0) {
            self.report(at, &Report::Alive);
        }
        self.at(Nanos::from_millis(200), SimEvent::Tick(at));
    }

    /// Reports the free space, in INIT and under load.
    pub(super) fn report_space(&mut self, at: usize) {
        let task = self.hosts[at].task.as_ref();
        let (
            Some(pcnt),
            Some((LongTask::Init { watch_space, .. } | LongTask::Run { watch_space, .. }, _)),
        ) = (self.free_pcnt, task)
        else {
            return;
        };
        let is_first = self.reported_space.insert(at);
        if self.reports_space_once && !is_first {
            return;
        }
        let is_watched = watch_space.iter().any(|name| name == FILE_SYSTEM);
        let report = Report::Space {
            file_system: FILE_SYSTEM.into(),
            free_bytes: if is_watched { FS_BYTES / 100 * pcnt } else { 0 },
            total_bytes: FS_BYTES,
        };
        self.report(at, &report);
    }

    pub(super) fn report(&mut self, at: usize, report: &Report) {
        let frame = frame::encode(report).expect("a report");
        self.send_to_prime(at, frame);
    }

    pub(super) fn act(&mut self, at: usize, acts: Vec<AgentAction>) {
        for act in acts {
            match act {
                AgentAction::Send(report) => self.report(at, &report),
                AgentAction::Begin(task) => self.begin(at, task),
                AgentAction::EndWarmup(warmup) => self.end_warmup(at, warmup),
                AgentAction::EndRun(runtime) => match self.late_end {
                    Some((late, by)) if late == at => {
                        if let Some(by) = by {
                            self.at(by, SimEvent::EndRun(at, runtime));
                        }
                    }
                    _ => self.end_run(at, runtime),
                },
                AgentAction::Stop => self.stop(at),
                AgentAction::End => {
                    self.hosts[at].ended = true;
                    if std::mem::take(&mut self.hosts[at].link) {
                        let delay = Nanos(self.rng.below(self.latency_max.0));
                        self.at(delay, SimEvent::LinkEndAtPrime(at, "the link ended"));
                    }
                }
            }
        }
    }

    pub(super) fn begin(&mut self, at: usize, task: LongTask) {
        let wait = match &task {
            LongTask::Run { warmup_at, .. } => warmup_at.since(self.clock_of(at)),
            LongTask::Init { .. } if self.free_pcnt.is_some() => Nanos::from_secs(10),
            _ => Nanos(self.rng.below(2_000_000_000)),
        };
        self.reported_space.remove(&at);
        let host = &mut self.hosts[at];
        host.steps += 1;
        host.stopping = false;
        host.lengths.clear();
        let number = host.steps;
        host.task = Some((task, number));
        self.at(wait, SimEvent::Step(at, number));
    }

    pub(super) fn stop(&mut self, at: usize) {
        let wait = Nanos(self.rng.below(500_000_000));
        let host = &mut self.hosts[at];
        host.stopping = true;
        if let Some((_, number)) = &mut host.task {
            host.steps += 1;
            *number = host.steps;
            let number = *number;
            self.at(wait, SimEvent::Step(at, number));
        }
    }

    /// The step of the present task is done.
    pub(super) fn work(&mut self, at: usize, number: u64) {
        if self.is_out(at) || self.hosts[at].hung {
            return;
        }
        let Some((task, current)) = self.hosts[at].task.clone() else {
            return;
        };
        if current != number {
            return;
        }
        let stopping = self.hosts[at].stopping && !matches!(task, LongTask::FinalCleanup);
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
        let acts = self.hosts[at].state.done(report);
        self.act(at, acts);
    }

    pub(super) fn end_load(&mut self, at: usize) {
        if std::mem::take(&mut self.hosts[at].loads) {
            self.hosts[at].load_ended = self.now;
        }
    }

    /// The result of a task; `None`: it has another step.
    pub(super) fn outcome(&mut self, at: usize, task: &LongTask) -> Option<Report> {
        let done = |task_count| TaskTotals {
            task_count,
            ..TaskTotals::default()
        };
        Some(match task {
            LongTask::Prepare(share) => {
                let mut share = share.clone();
                let host = &mut self.hosts[at];
                if let Err(reason) = plan_password::open(&mut share, &mut host.opener) {
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
            LongTask::Inspect(_) => Report::Failed {
                reason: "a simulated agent has nothing to inspect".into(),
                stopped: false,
            },
            LongTask::Init { .. } => {
                self.files.insert(at);
                Report::Populated {
                    tasks: done(10),
                    space: Vec::new(),
                }
            }
            LongTask::Run { point, .. } => return self.run_step(at, *point),
            LongTask::Cleanup if self.is_silent_in_cleanup => return None,
            LongTask::Cleanup => {
                self.files.remove(&at);
                cleaned(done(10))
            }
            LongTask::Release { .. } | LongTask::Sweep(_) => {
                let count = self.files.len() as u64;
                self.files.clear();
                self.directory = false;
                cleaned(done(count))
            }
            LongTask::FinalCleanup => {
                self.files.remove(&at);
                if self.files.is_empty() {
                    self.directory = false;
                }
                cleaned(TaskTotals::default())
            }
        })
    }

    /// The first step begins WARMUP; the second is the end of RUN.
    pub(super) fn run_step(&mut self, at: usize, point: LoadPoint) -> Option<Report> {
        if !self.hosts[at].loads {
            self.hosts[at].loads = true;
            self.hosts[at].began.push(self.now);
            self.begin_load(at);
            if self.reports_seconds() {
                return None;
            }
            let interval = Box::<Interval>::default();
            self.report(at, &Report::Second { interval });
            return None;
        }
        self.end_load(at);
        let phases = self.hosts[at].lengths.finish();
        let run_end = self.run_end(at);
        self.hosts[at].run_ends.extend(run_end);
        let count = self.op_count(at, point, phases.runtime);
        self.hosts[at].reported_count += count;
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
        if self.hosts[at].sends_false_reports {
            match self.rng.below(4) {
                0 => return Some(cleaned(TaskTotals::default())),
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
            stalls: match at == 0 && self.stalled.contains(&point.number) {
                true => stalled_for(Nanos(phases.runtime.0 / 10)),
                false => Stalls::default(),
            },
            reads: Vec::new(),
        })
    }

    /// The operations of a host in RUN.
    fn op_count(&mut self, at: usize, point: LoadPoint, runtime: Nanos) -> u64 {
        let Some(knee) = self.knee else {
            return 100 + self.rng.below(1000);
        };
        let rate = (point.requested.0 as u64).min(knee);
        let (all, hosts) = (rate * runtime.0 / 1_000_000_000, self.hosts.len() as u64);
        all / hosts + u64::from((at as u64) < all % hosts)
    }

    /// Sets the length of WARMUP.
    pub(super) fn end_warmup(&mut self, at: usize, warmup: Nanos) {
        let host = &mut self.hosts[at];
        let Some(began) = host.began.last().filter(|_| host.loads && !host.stopping) else {
            return;
        };
        let run_start = *began + warmup;
        host.run_starts.push((run_start, self.now < run_start));
        let clock = self.clock_of(at);
        self.hosts[at].lengths.end_warmup(warmup, clock);
        self.end_when_due(at);
    }

    /// Sets the length of RUN.
    pub(super) fn end_run(&mut self, at: usize, runtime: Nanos) {
        let clock = self.clock_of(at);
        let host = &self.hosts[at];
        if self.is_out(at) || !host.loads || host.stopping {
            return;
        }
        host.lengths.end_run(runtime, clock);
        self.end_when_due(at);
    }

    /// WARMUP begins.
    pub(super) fn begin_load(&mut self, at: usize) {
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
        host.reported_seconds = 0;
        host.lengths.begin(&timetable);
        host.timetable = Some(timetable);
        self.end_when_due(at);
    }

    /// When RUN ends on a host that makes load.
    pub(super) fn run_end(&self, at: usize) -> Option<Nanos> {
        let host = &self.hosts[at];
        let times = host.timetable.as_ref()?.times();
        Some(Nanos(times.run_end.0 - host.skew_ns))
    }

    /// Schedules the end of the load: the end of RUN and the time of the last operations.
    pub(super) fn end_when_due(&mut self, at: usize) {
        let end = self.run_end(at).unwrap_or(self.now);
        let host = &mut self.hosts[at];
        host.steps += 1;
        if let Some((_, number)) = &mut host.task {
            *number = host.steps;
        }
        let number = host.steps;
        let wait = end.since(self.now) + Nanos(self.rng.below(300_000_000));
        self.at(wait, SimEvent::Step(at, number));
    }

    pub(super) fn reports_seconds(&self) -> bool {
        self.until_steady.is_some() || self.open_end.is_some()
    }

    /// Reports complete seconds, counted from the latest possible beginning of RUN.
    pub(super) fn report_seconds(&mut self, at: usize) {
        if !self.reports_seconds() {
            return;
        }
        let (longest, falls_for) = self.until_steady.unwrap_or((FIXED_WARMUP, 0));
        let host = &self.hosts[at];
        let Some(began) = host.began.last().filter(|_| host.loads) else {
            return;
        };
        let passed = self.now.since(*began).0 / 1_000_000_000;
        for second in host.reported_seconds..passed {
            let success_count = 1_000 + self.rng.below(10);
            let mean_ns = 200_000 + 20_000 * falls_for.saturating_sub(second);
            let interval = Interval {
                second: second as i64 - (longest.0 / 1_000_000_000) as i64,
                success_count,
                response_sum_ns: success_count * (mean_ns + self.rng.below(2_000)),
                ..Interval::default()
            };
            let interval = Box::new(interval);
            self.report(at, &Report::Second { interval });
        }
        self.hosts[at].reported_seconds = passed;
    }
}

fn stalled_for(span: Nanos) -> Stalls {
    Stalls {
        gap_count: 1,
        gap_sum_ns: span.0,
        gap_max_ns: span.0,
        ..Stalls::default()
    }
}

fn cleaned(tasks: TaskTotals) -> Report {
    Report::Cleaned {
        tasks,
        left_behind: Vec::new(),
    }
}
