//! WARMUP and RUN of a load point, as the prime follows them: the phases by its clock, the
//! reports of agents and scripts, and the figures.

use super::state::Run;
use super::types::Progress;
use super::watch::{PhaseWatch, PointMeasurement};
use crate::heartbeats::HeartbeatMerger;
use crate::intervals::IntervalMerger;
use crate::report_bounds::is_plausible;
use crate::run_length::RunLength;
use crate::scripts::{Script, ScriptCall};
use crate::stop_if::StopConditions;
use crate::warmup::Warmup;
use filermark_engine::run_times::RunStart;
use filermark_engine::watchdog::Watchdog;
use filermark_link::agents::{AbortRequest, AgentEvent, Agents, ExtraOrders, OrderError};
use filermark_link::message::{Order, Report};
use filermark_link::watchdog::no_watchdog;
use filermark_link::watched_space::{SpaceReporters, is_space_watched, space_watchers};
use filermark_model::stats::Interval;
use filermark_model::survey::Space;
use filermark_model::{LoadPoint, Nanos, RunPlan};
use filermark_results::Heartbeat;
use filermark_results::record::{Line, Phase};
use std::collections::BTreeSet;
use std::time::Duration;

/// Time between the order to run and the first intended start: a fixed part, one for each
/// agent that gets the order, and this multiple of the largest clock error.
const LEAD: Nanos = Nanos::from_millis(100);
const LEAD_PER_AGENT: Nanos = Nanos::from_micros(500);
const LEAD_ERRORS: u64 = 6;
/// The share of RUN after which netmist's power script is called.
const POWER_AT: f64 = 0.7;
/// Progress in percent is reported in steps of this size.
const PERCENT_STEP: u32 = 10;

impl Run<'_> {
    /// WARMUP and RUN of a load point.
    pub fn measure(
        &mut self,
        agents: &mut Agents,
        point: LoadPoint,
        init: StopConditions,
    ) -> Result<PointMeasurement, OrderError> {
        let on_lost = self.options.launch.on_lost;
        let synced = agents.sync_clocks(on_lost);
        self.report_losses(agents);
        synced?;
        let phases = self.options.plan.phases;
        let living = agents.living();
        let lead = start_lead_time(agents, &living);
        let warmup_at = agents.now() + lead;
        let run_start = RunStart::from(warmup_at + phases.warmup);
        let watchdog = begin_watchdog(agents, run_start.clone())?;
        let agent_starts: Vec<u64> = (0..self.options.launch.hosts.len())
            .map(|at| {
                agents
                    .clock(at)
                    .map_or(0, |clock| clock.at_agent(warmup_at))
            })
            .collect();
        let mut watch = self.begin_watch(point, &living, lead, warmup_at);
        watch.stop_if = std::mem::take(&mut watch.stop_if).continued_from(init);
        let order = {
            let watched: Vec<_> = (0..agent_starts.len())
                .map(|at| watch.stop_if.watched_by(at))
                .collect();
            let is_probe = self.is_probe;
            move |at: usize| Order::Run {
                point,
                warmup_at_ns: agent_starts[at],
                watch_space: watched[at].clone(),
                phases: is_probe.then_some(phases),
            }
        };
        let limit = watch.limit(phases.warmup);
        watch.abort_request = agents.abort_request();
        watch.extra_orders = agents.extra_orders();
        watch.run_start = run_start;
        let done = agents.order(&living, &order, limit, on_lost, &mut |now, event| {
            self.keep_time(&mut watch, now);
            match event {
                AgentEvent::Report(agent, report) => {
                    self.take_report(&mut watch, (now, agent), report)
                }
                AgentEvent::Answer(agent, report) => self.take_in(&mut watch, agent, report),
                AgentEvent::Lost(loss) => {
                    watch.seconds.forget(loss.agent);
                    if let Some(beats) = &mut watch.heartbeats {
                        beats.forget(loss.agent);
                    }
                    self.report_loss(loss);
                    watch.agent_count = watch.agent_count.saturating_sub(1);
                    self.report_agent_count(watch.agent_count);
                }
                AgentEvent::Tick => {}
            }
        });
        let own_stalls = watchdog.map(Watchdog::finish);
        self.end_watch(&mut watch, agents.now(), &done);
        done?;
        watch.sort_procs();
        watch.add_stalls(own_stalls);
        if let Some(reason) = watch.invalid_message {
            return Err(OrderError::Failed { reason });
        }
        for (agent, check) in std::mem::take(&mut watch.checks) {
            watch
                .measured
                .noticed
                .extend(self.judge_clock(agent, &check));
        }
        self.note_start(&mut watch, agents);
        watch.note_warmup();
        Ok(watch.measured)
    }

    fn begin_watch(
        &mut self,
        point: LoadPoint,
        agents: &[usize],
        lead: Nanos,
        from: Nanos,
    ) -> PhaseWatch {
        let plan = &self.options.plan;
        let phases = plan.phases;
        let run_start = from + phases.warmup;
        let proc_count = plan.proc_count_at(point);
        let beats = plan
            .heartbeat
            .map(|interval| HeartbeatMerger::new(point, proc_count, agents, interval));
        let seconds = IntervalMerger::of(&with_load(plan, point, agents));
        let expected = Duration::from_nanos((lead + phases.warmup).0);
        let warmup = Warmup::new(plan, lead);
        let run_length = RunLength::new(plan, point, lead);
        let stop_if = StopConditions::new(plan, point, self.space_watchers(agents));
        let open = self.begin_phase(Some(point), Phase::Warmup, Some(expected));
        PhaseWatch {
            point,
            from,
            to: run_start,
            lead,
            run_end: run_start + run_length.length(),
            warmup,
            run_length,
            run_start: run_start.into(),
            extra_orders: ExtraOrders::default(),
            power_due: true,
            running: false,
            open: Some(open),
            percent: 0,
            heartbeats: beats,
            seconds,
            stop_if,
            abort_request: AbortRequest::default(),
            agent_count: agents.len(),
            measured: PointMeasurement::default(),
            late: Vec::new(),
            checks: Vec::new(),
            invalid_message: None,
        }
    }

    /// Does what is due by now. Must not wait: load is being made.
    fn keep_time(&mut self, watch: &mut PhaseWatch, now: Nanos) {
        self.report_percent(watch, now);
        if !watch.running && now >= watch.to {
            self.enter_run(watch);
        }
        if watch.running && watch.power_due && watch.share(now) >= POWER_AT {
            watch.power_due = false;
            self.call_in_run(watch, Script::Power, "Load");
        }
        if watch.running && now >= watch.run_end {
            self.scripts.end_with_run();
        }
        let ended = self.scripts.take_ended();
        self.keep_scripts(ended);
    }

    fn enter_run(&mut self, watch: &mut PhaseWatch) {
        watch.running = true;
        (watch.from, watch.to) = (watch.to, watch.run_end);
        watch.percent = 0;
        if let Some(warmup) = watch.open.take() {
            self.end_phase(warmup, String::new(), None);
        }
        let length = watch.run_length.fixed().map(|l| Duration::from_nanos(l.0));
        watch.open = Some(self.begin_phase(Some(watch.point), Phase::Run, length));
        self.call_in_run(watch, Script::Stat, "ZERO");
        self.call_in_run(watch, Script::Mon, "RUNNING");
    }

    fn call_in_run(&mut self, watch: &PhaseWatch, script: Script, argument: &'static str) {
        self.scripts.call(ScriptCall {
            script,
            argument,
            point: watch.point.number,
            phase: Some(Phase::Run),
        });
    }

    /// Reports every tenth of the phase that is over by now.
    fn report_percent(&mut self, watch: &mut PhaseWatch, now: Nanos) {
        if watch.to.since(watch.from).0 == 0 {
            return;
        }
        let percent = (100.0 * watch.share(now)) as u32;
        while watch.percent + PERCENT_STEP <= percent {
            watch.percent += PERCENT_STEP;
            let is_fixed = !watch.running || watch.run_length.fixed().is_some();
            if let Some(open) = &mut watch.open {
                self.add_tenth(open, is_fixed);
            }
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

    fn take_report(
        &mut self,
        watch: &mut PhaseWatch,
        (now, agent): (Nanos, usize),
        report: &Report,
    ) {
        match report {
            Report::Second { interval } if is_plausible(&self.options.plan, interval) => {
                for mut second in watch.seconds.add(agent, interval) {
                    let passed = now.since(watch.from);
                    let warmup_length = match watch.running {
                        true => None,
                        false => watch.warmup.add_interval(&second, passed),
                    };
                    if let Some(length) = warmup_length {
                        self.begin_run_early(watch, length);
                    }
                    watch.warmup.renumber(&mut second);
                    (self.options.observe)(Progress::Second(&second));
                    if let Some(reason) = watch.stop_if.add_interval(&second) {
                        let error = OrderError::Emergency { reason };
                        watch.abort_request.borrow_mut().get_or_insert(error);
                    }
                }
                self.count_bytes(watch, now, interval);
            }
            Report::Space {
                file_system,
                free_bytes,
                total_bytes,
            } => {
                let space = Space {
                    free_bytes: *free_bytes,
                    total_bytes: *total_bytes,
                };
                if let Some(reason) = watch.stop_if.add_space(agent, file_system, space) {
                    let error = OrderError::Emergency { reason };
                    watch.abort_request.borrow_mut().get_or_insert(error);
                }
            }
            Report::Heartbeat(beat) => {
                let beats = watch.heartbeats.as_mut();
                let whole = beats.map_or_else(Vec::new, |b| b.add_heartbeat(agent, beat));
                self.keep_heartbeats(whole);
            }
            _ => {}
        }
    }

    /// Which agents watch the free space of which file systems; none without such a
    /// condition in STOP_IF.
    pub fn space_watchers(&self, agents: &[usize]) -> SpaceReporters {
        match is_space_watched(&self.options.plan) {
            true => space_watchers(agents, &self.free),
            false => SpaceReporters::new(),
        }
    }

    /// Adds one agent's second of RUN, also one that arrives too late for the live view.
    fn count_bytes(&mut self, watch: &mut PhaseWatch, now: Nanos, own: &Interval) {
        let mut second = own.clone();
        watch.warmup.renumber(&mut second);
        if !watch.running {
            return;
        }
        if let Some(length) = watch
            .run_length
            .add_interval(&second, now.since(watch.from))
        {
            self.end_run(watch, length);
        }
    }

    /// The load is steady: RUN begins before its latest possible time.
    fn begin_run_early(&mut self, watch: &mut PhaseWatch, warmup: Nanos) {
        watch.to = watch.from + warmup;
        watch.run_end = watch.to + watch.run_length.length();
        watch.run_start.advance_to(watch.to);
        let warmup_ns = warmup.0;
        watch.order(Order::BeginRun { warmup_ns }, warmup);
        self.remark(
            "prime",
            format!(
                "the load is steady: RUN begins after {} s of WARMUP",
                warmup.as_secs_f64()
            ),
        );
    }

    /// The data set has been touched: RUN ends before its latest possible time.
    fn end_run(&mut self, watch: &mut PhaseWatch, runtime: Nanos) {
        watch.to = watch.from + runtime;
        watch.run_end = watch.to;
        let runtime_ns = runtime.0;
        watch.order(Order::EndRun { runtime_ns }, watch.warmup.length());
        self.remark(
            "prime",
            format!(
                "the data set has been read and written once: RUN ends after {} s",
                runtime.as_secs_f64()
            ),
        );
    }

    fn keep_heartbeats(&mut self, heartbeats: Vec<Heartbeat>) {
        for heartbeat in heartbeats {
            (self.options.observe)(Progress::Heartbeat(&heartbeat));
            self.journal.push(Line::Heartbeat(heartbeat));
        }
    }

    fn end_watch(&mut self, watch: &mut PhaseWatch, now: Nanos, done: &Result<(), OrderError>) {
        if done.is_ok() {
            self.keep_time(watch, now);
        }
        for mut second in watch.seconds.end() {
            watch.warmup.renumber(&mut second);
            (self.options.observe)(Progress::Second(&second));
        }
        let late = watch
            .heartbeats
            .as_mut()
            .map_or_else(Vec::new, HeartbeatMerger::end);
        self.keep_heartbeats(late);
        if let Some(open) = watch.open.take() {
            self.end_phase(open, String::new(), done.as_ref().err());
        }
    }
}

/// Watches the prime itself, unless its time is simulated.
fn begin_watchdog(agents: &Agents, run_start: RunStart) -> Result<Option<Watchdog>, OrderError> {
    let clock = agents.clock_of_prime();
    let begun = clock.map(|clock| Watchdog::begin(&clock, run_start));
    begun.transpose().map_err(|e| OrderError::Failed {
        reason: no_watchdog(&e),
    })
}

/// The agents that have procs at this load.
fn with_load(plan: &RunPlan, point: LoadPoint, agents: &[usize]) -> Vec<usize> {
    if plan.procs.is_empty() {
        return agents.to_vec();
    }
    let procs = plan.procs.iter().take(plan.proc_count_at(point) as usize);
    let busy: BTreeSet<usize> = procs.map(|p| p.client as usize).collect();
    agents
        .iter()
        .copied()
        .filter(|at| busy.contains(at))
        .collect()
}

/// How long before WARMUP the order is given.
fn start_lead_time(agents: &Agents, living: &[usize]) -> Nanos {
    let errors = living
        .iter()
        .filter_map(|at| agents.clock(*at))
        .map(|c| c.error_ns);
    let farthest = Nanos(errors.max().unwrap_or(0));
    LEAD + Nanos(LEAD_PER_AGENT.0 * living.len() as u64) + Nanos(farthest.0 * LEAD_ERRORS)
}
