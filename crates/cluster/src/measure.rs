//! WARMUP and RUN of a load point, as the prime watches them: the phases by its
//! clock, what agents and scripts say meanwhile, and what came of it.

use crate::beats::Beats;
use crate::clock_check;
use crate::message::{ClockCheck, Order, Report};
use crate::prime::{Agents, OrderError, Progress};
use crate::scripts::{Call, Script};
use crate::sweep::{MARGIN, OpenPhase, Sweep, to_duration};
use filermark_model::{Finding, LoadPoint, PointStats};
use filermark_results::Heartbeat;
use filermark_results::record::{Line, Phase};
use std::time::{Duration, Instant};

/// Between the order to run and the first intended start.
const LEAD: Duration = Duration::from_millis(100);
/// The share of RUN after which netmist's power script is called.
const POWER_AT: f64 = 0.7;
/// Percent are told in steps of so many.
const PERCENT_STEP: u32 = 10;

/// What a load point came to.
pub(crate) struct Measured {
    /// The figures of each client.
    pub stats: Vec<PointStats>,
    /// What was noticed beside them.
    pub noticed: Vec<Finding>,
}

/// WARMUP and RUN under way.
struct Watch {
    point: LoadPoint,
    /// When the phase that goes on began and will end, by the prime's clock.
    from: Instant,
    to: Instant,
    run_end: Instant,
    /// When the power script is due, till it was called.
    power_at: Option<Instant>,
    running: bool,
    open: Option<OpenPhase>,
    percent: u32,
    beats: Option<Beats>,
}

impl Sweep<'_> {
    /// WARMUP and RUN of a load point.
    pub fn measure(
        &mut self,
        agents: &mut Agents,
        point: LoadPoint,
    ) -> Result<Measured, OrderError> {
        let phases = self.options.plan.phases;
        let (warmup, runtime) = (to_duration(phases.warmup), to_duration(phases.runtime));
        let limit = LEAD + warmup + runtime + MARGIN;
        let order = Order::Run {
            point,
            start_in_ns: LEAD.as_nanos() as u64,
        };
        let mut watch = self.begin_watch(point, agents.count(), warmup, runtime);
        let answers = agents.order(|_| order.clone(), limit, &mut |agent, word| {
            self.keep_time(&mut watch);
            if let Some(word) = word {
                self.hear(&mut watch, agent, word);
            }
        });
        self.end_watch(watch, &answers);
        Ok(self.take_in(answers?))
    }

    fn begin_watch(
        &mut self,
        point: LoadPoint,
        agent_count: usize,
        warmup: Duration,
        runtime: Duration,
    ) -> Watch {
        let from = Instant::now() + LEAD;
        let run_start = from + warmup;
        let plan = &self.options.plan;
        let proc_count = plan.proc_count_at(point);
        let beats = plan
            .heartbeat
            .map(|interval| Beats::new(point, proc_count, agent_count, interval));
        let open = self.begin_phase(Some(point), Phase::Warmup, Some(LEAD + warmup));
        Watch {
            point,
            from,
            to: run_start,
            run_end: run_start + runtime,
            power_at: Some(run_start + runtime.mul_f64(POWER_AT)),
            running: false,
            open: Some(open),
            percent: 0,
            beats,
        }
    }

    /// Does what the clock says is due. Must not wait: load is being made.
    fn keep_time(&mut self, watch: &mut Watch) {
        let now = Instant::now();
        self.tell_percent(watch, now);
        if !watch.running && now >= watch.to {
            self.enter_run(watch);
        }
        if watch.running && watch.power_at.take_if(|at| now >= *at).is_some() {
            self.call_in_run(watch, Script::Power, "Load");
        }
        let ended = self.scripts.take_ended();
        self.keep_scripts(ended);
    }

    fn enter_run(&mut self, watch: &mut Watch) {
        watch.running = true;
        (watch.from, watch.to) = (watch.to, watch.run_end);
        watch.percent = 0;
        if let Some(warmup) = watch.open.take() {
            self.end_phase(warmup, String::new(), None);
        }
        let length = watch.to.saturating_duration_since(watch.from);
        watch.open = Some(self.begin_phase(Some(watch.point), Phase::Run, Some(length)));
        self.call_in_run(watch, Script::Stat, "ZERO");
        self.call_in_run(watch, Script::Mon, "RUNNING");
    }

    fn call_in_run(&mut self, watch: &Watch, script: Script, argument: &'static str) {
        self.scripts.call(Call {
            script,
            argument,
            point: watch.point.number,
            phase: Some(Phase::Run),
        });
    }

    /// Tells every tenth of the phase that is over by now.
    fn tell_percent(&mut self, watch: &mut Watch, now: Instant) {
        let length = watch.to.saturating_duration_since(watch.from);
        if length.is_zero() {
            return;
        }
        let passed = now.saturating_duration_since(watch.from);
        let percent = (100.0 * passed.as_secs_f64() / length.as_secs_f64()).min(100.0) as u32;
        while watch.percent + PERCENT_STEP <= percent {
            watch.percent += PERCENT_STEP;
            (self.options.observe)(Progress::Percent {
                point: watch.point,
                phase: if watch.running {
                    Phase::Run
                } else {
                    Phase::Warmup
                },
                percent: watch.percent,
            });
        }
    }

    fn hear(&mut self, watch: &mut Watch, agent: usize, word: &Report) {
        match word {
            Report::Second { interval } => (self.options.observe)(Progress::Second(interval)),
            Report::Heartbeat(beat) => {
                let beats = watch.beats.as_mut();
                let whole = beats.map_or_else(Vec::new, |b| b.hear(agent, beat));
                self.keep_heartbeats(whole);
            }
            _ => {}
        }
    }

    fn keep_heartbeats(&mut self, heartbeats: Vec<Heartbeat>) {
        for heartbeat in heartbeats {
            (self.options.observe)(Progress::Heartbeat(&heartbeat));
            self.push(Line::Heartbeat(heartbeat));
        }
    }

    fn end_watch(&mut self, mut watch: Watch, answers: &Result<Vec<Report>, OrderError>) {
        if answers.is_ok() {
            self.keep_time(&mut watch);
        }
        let late = watch.beats.as_mut().map_or_else(Vec::new, Beats::end);
        self.keep_heartbeats(late);
        if let Some(open) = watch.open {
            self.end_phase(open, String::new(), answers.as_ref().err());
        }
    }

    fn take_in(&mut self, answers: Vec<Report>) -> Measured {
        let mut measured = Measured {
            stats: Vec::new(),
            noticed: Vec::new(),
        };
        for (at, report) in answers.into_iter().enumerate() {
            if let Report::Measured { stats, clock } = report {
                measured.stats.push(*stats);
                measured
                    .noticed
                    .extend(clock.and_then(|c| self.judge_clock(at, &c)));
            }
        }
        measured
    }

    fn judge_clock(&mut self, client: usize, check: &ClockCheck) -> Option<Finding> {
        let service = self.options.plan.clock_service.clone()?;
        let host = self.options.plan.clients.get(client)?.name.clone();
        let (message, finding) = clock_check::judge(check, &service);
        self.remark(&host, message);
        finding
    }
}
