//! The course of a run: the load points one after the other.

use super::state::{MARGIN, Run};
use super::tasks::TaskSummary;
use super::types::{Progress, RunError, RunOutcome};
use super::watch::PointMeasurement;
use crate::scripts::{Script, ScriptCall};
use crate::space_used;
use crate::stop_if::StopConditions;
use filermark_link::agents::{Agents, OrderError};
use filermark_link::identity;
use filermark_link::links::AgentLinks;
use filermark_link::message::Order;
use filermark_model::launch::LauncherKind;
use filermark_model::{Finding, LoadPoint, Rule, Severity};
use filermark_results::live::RunEvent;
use filermark_results::record::{End, INTERRUPTED, Line, Outcome, Phase, PointRecord, PointStatus};
use filermark_results::{
    Timestamp, judge, judge_client_reads, judge_silences, judge_stalls, settle_rate,
};
use std::collections::BTreeSet;

impl Run<'_> {
    /// Carries out the run, closes the record, writes the files.
    pub fn carry_out(mut self, board: Box<dyn AgentLinks>) -> Result<RunOutcome, RunError> {
        let (own, stop) = (identity::own_hello(), self.options.stop.clone());
        let mut agents = Agents::new(board, &self.options.launch, own, stop);
        let connected = self.wait_for_agents(&mut agents);
        // No agent makes files before all are connected.
        let has_begun = connected.is_ok();
        let prepared = connected.and_then(|()| self.prepare(&mut agents));
        self.is_prepared = prepared.is_ok();
        let outcome = prepared
            .and_then(|()| self.begin_results())
            .and_then(|()| self.measure_baseline(&mut agents))
            .and_then(|()| self.search(&mut agents))
            .and_then(|()| self.points(&mut agents));
        self.report_losses(&agents);
        if has_begun {
            let left = self.clean_up_at_the_end(&mut agents, outcome.is_err());
            // An earlier piece may have the same findings.
            self.journal.add_new_findings(left);
        }
        agents.dismiss();
        let ended = self.scripts.finish(&self.options.stop);
        self.keep_scripts(ended);
        let mut findings = self.journal.take_findings();
        findings.extend(self.scripts.findings());
        let record = self.journal.record();
        if let (Some(search), Some(found)) = (&self.options.plan.search, &record.found) {
            findings.extend(found.findings(search));
        }
        let pieces = record.pieces();
        findings.extend(pieces.map(|text| Finding::new(Rule::Resumed, Severity::Note, text)));
        let outcome = match outcome {
            Ok(()) => Outcome::Complete,
            Err(OrderError::Stopped) => {
                findings.push(Finding::new(
                    Rule::Interrupted,
                    Severity::Warning,
                    INTERRUPTED,
                ));
                Outcome::Interrupted
            }
            Err(e) => Outcome::Failed {
                reason: e.to_string(),
            },
        };
        let wall_seconds = self.journal.seconds_before() + self.began.elapsed().as_secs_f64();
        Ok(self.journal.finish(End {
            at: Timestamp::now(),
            outcome,
            wall_seconds,
            findings,
            verdict: None,
            reasons: Vec::new(),
        }))
    }

    /// netmist's power script measures the idle system before files are made. In a resumed
    /// run the first piece has done that.
    fn measure_baseline(&mut self, agents: &mut Agents) -> Result<(), OrderError> {
        if !self.journal.record().restarts.is_empty() {
            return Ok(());
        }
        self.scripts.call(ScriptCall {
            script: Script::Power,
            argument: "Baseline",
            point: 0,
            phase: None,
        });
        self.wait_for_scripts(agents)
    }

    /// Waits for all calls of scripts; no load is made meanwhile.
    fn wait_for_scripts(&mut self, agents: &mut Agents) -> Result<(), OrderError> {
        let mut alive = Ok(());
        let on_lost = self.options.launch.on_lost;
        let ended = self.scripts.wait(&self.options.stop, &mut || {
            if alive.is_ok() {
                alive = agents.idle(on_lost);
            }
        });
        self.keep_scripts(ended);
        alive
    }

    /// The load of a point has ended or failed: calls the scripts that were called at its
    /// beginning.
    fn stop_scripts(&mut self, agents: &mut Agents, point: LoadPoint) -> Result<(), OrderError> {
        self.scripts.call_stops(point.number);
        self.wait_for_scripts(agents)
    }

    fn points(&mut self, agents: &mut Agents) -> Result<(), OrderError> {
        let points = self.options.plan.points.clone();
        let last = points.last().map(|p| p.number);
        // In a resumed run some points are measured already.
        let measured: BTreeSet<u32> = self
            .journal
            .record()
            .points
            .iter()
            .map(|p| p.load.number)
            .collect();
        for point in points.into_iter().filter(|p| !measured.contains(&p.number)) {
            let began = Timestamp::now();
            self.journal
                .push_live(|| RunEvent::Point(point.number, began));
            let measured = self.measure_point(agents, point);
            let rule = match &measured {
                Err(OrderError::Emergency { .. }) => Rule::EmergencyStop,
                Err(OrderError::Stopped) => Rule::Interrupted,
                _ => Rule::Failed,
            };
            let (status, measured, result) = match measured {
                Ok(measured) => (PointStatus::Measured, Some(measured), Ok(())),
                Err(e) => (
                    PointStatus::Failed {
                        reason: e.to_string(),
                    },
                    None,
                    Err(e),
                ),
            };
            self.report_losses(agents);
            self.end_point(point, began, (status, rule), measured, agents);
            result?;
            let is_made_again = !self.options.plan.fileset.reuse && Some(point.number) != last;
            if is_made_again {
                self.clean_up(agents, Some(point))?;
            }
        }
        Ok(())
    }

    /// INIT, WARMUP and RUN of a load point, and the ends of its scripts.
    pub fn measure_point(
        &mut self,
        agents: &mut Agents,
        point: LoadPoint,
    ) -> Result<PointMeasurement, OrderError> {
        let measured = self.init(agents, point).and_then(|(noticed, stop_if)| {
            let mut measured = self.measure(agents, point, stop_if)?;
            measured.noticed.extend(noticed);
            Ok(measured)
        });
        let stopped = self.stop_scripts(agents, point);
        measured.and_then(|measured| stopped.map(|()| measured))
    }

    /// INIT of a load point; returns a finding about it, and the state of the conditions of
    /// STOP_IF.
    fn init(
        &mut self,
        agents: &mut Agents,
        point: LoadPoint,
    ) -> Result<(Option<Finding>, StopConditions), OrderError> {
        self.scripts.call(ScriptCall {
            script: Script::Mon,
            argument: "INIT",
            point: point.number,
            phase: Some(Phase::Init),
        });
        self.wait_for_scripts(agents)?;
        let phase = self.begin_phase(Some(point), Phase::Init, None);
        let limit = self.options.plan.phases.init_timeout + MARGIN;
        let on_lost = self.options.launch.on_lost;
        let living = agents.living();
        let watchers = self.space_watchers(&living);
        let mut guard = StopConditions::new(&self.options.plan, point, watchers);
        let watched: Vec<_> = (0..self.options.launch.hosts.len())
            .map(|at| guard.watched_by(at))
            .collect();
        let order = |at: usize| Order::Init {
            point,
            watch_space: watched.get(at).cloned().unwrap_or_default(),
        };
        let done = self.order_tasks(agents, &living, &order, limit, on_lost, &mut guard);
        self.push_phase(
            phase,
            done.as_ref().map(TaskSummary::describe).unwrap_or_default(),
            done.as_ref().err(),
            done.as_ref().ok().and_then(TaskSummary::space_use),
        );
        let space_use = done?.space_use();
        let noticed = space_use.and_then(|space| space_used::judge(&space));
        Ok((noticed, guard))
    }

    /// The names of the clients that the prime has started on its own host.
    fn clients_here(&self) -> BTreeSet<&str> {
        let hosts = self.options.launch.hosts.iter();
        let here = hosts.filter(|host| host.launcher == LauncherKind::Local);
        here.map(|host| host.client.as_str()).collect()
    }

    fn end_point(
        &mut self,
        load: LoadPoint,
        began: Timestamp,
        outcome: (PointStatus, Rule),
        measured: Option<PointMeasurement>,
        agents: &Agents,
    ) {
        let point = self.judged_point(load, began, outcome, measured, agents);
        self.keep_point(point);
    }

    /// Adds a load point of the sweep to the record.
    pub fn keep_point(&mut self, point: PointRecord) {
        self.journal.push(Line::Point(Box::new(point)));
        self.render();
        let record = self.journal.record();
        if let Some(point) = record.points.last() {
            (self.options.observe)(Progress::PointEnded(record, point));
        }
    }

    /// The record of a load point that has ended or failed.
    pub fn judged_point(
        &self,
        load: LoadPoint,
        began: Timestamp,
        (status, rule): (PointStatus, Rule),
        measured: Option<PointMeasurement>,
        agents: &Agents,
    ) -> PointRecord {
        let plan = &self.options.plan;
        let core_count = self.core_counts.values().sum();
        let was_measured = measured.is_some();
        let m = measured.unwrap_or_default();
        let stats = was_measured.then_some(m.stats);
        let mut findings = match (&stats, &status) {
            (Some(stats), _) => judge(stats, load, plan, core_count),
            (None, PointStatus::Failed { reason }) => {
                vec![Finding::new(rule, Severity::Invalid, reason.clone())]
            }
            (None, PointStatus::Measured) => Vec::new(),
        };
        let window_ns = stats.as_ref().map_or(0, |s| s.window_ns);
        findings.extend(judge_stalls(&m.stalls, window_ns, &plan.limits));
        let silences = |stats| judge_silences(&m.clients, &m.stalls, stats);
        findings.extend(stats.as_ref().and_then(silences));
        findings.extend(judge_client_reads(&m.reads, &self.clients_here()));
        if let Some(stats) = &stats {
            settle_rate(&mut findings, stats, load, plan);
        }
        findings.extend(m.noticed);
        if stats.is_some() {
            let lost = agents.losses().iter();
            findings.extend(
                lost.map(|loss| {
                    Finding::new(Rule::ClientLost, Severity::Invalid, loss.to_string())
                }),
            );
        }
        PointRecord {
            load,
            began,
            ended: Timestamp::now(),
            status,
            stats,
            clients: m.clients,
            warmup: m.warmup,
            start: m.start,
            stalls: m.stalls,
            client_reads: m.reads,
            findings,
        }
    }
}
