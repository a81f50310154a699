//! One run from the prime's seat: the load points one after the other, and the
//! record that grows with them. WARMUP and RUN are watched by [`crate::measure`].

use crate::measure::Measured;
use crate::message::{FreeSpace, Order, Report, Tasks};
use crate::monitor::Monitor;
use crate::prime::{Agents, OrderError, Progress, RunError, RunOptions, RunOutcome};
use crate::scripts::{Call, Script, Scripts};
use crate::space;
use filermark_engine::engine::CLEANUP_LIMIT_MIN;
use filermark_engine::name::RUN_DIR_PREFIX;
use filermark_model::{Bytes, Finding, LoadPoint, Nanos, PointStats, Rule, Severity};
use filermark_results::ScriptRecord;
use filermark_results::files::write_files_and_logs;
use filermark_results::record::{
    ClientSummary, End, Event, Line, Outcome, Phase, PhaseRecord, PointRecord, PointStatus,
    RunHeader,
};
use filermark_results::{RecordWriter, RunRecord, Timestamp, judge};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What phases may take beyond their own length.
pub(crate) const MARGIN: Duration = Duration::from_secs(60);
/// Longest time for connecting, mounting and sweeping up leftovers.
const PREPARE_MAX: Duration = Duration::from_secs(900);

pub(crate) struct Sweep<'a> {
    pub options: RunOptions<'a>,
    writer: RecordWriter,
    record: RunRecord,
    monitor: Monitor,
    pub scripts: Scripts,
    /// What was noticed about the run as a whole.
    findings: Vec<Finding>,
    files: Vec<PathBuf>,
    began: Instant,
    core_count: u32,
    /// The first thing that kept a line out of the record.
    write_error: Option<String>,
}

impl<'a> Sweep<'a> {
    /// Opens the record.
    pub fn begin(options: RunOptions<'a>) -> Result<Self, RunError> {
        let dir = &options.dir;
        std::fs::create_dir_all(dir).map_err(|e| {
            RunError::Record(format!(
                "{}: cannot make the result directory: {e}; choose another (-d, WORK_DIR)",
                dir.display()
            ))
        })?;
        let path = dir.join(format!("{}.run.jsonl", options.suffix));
        let mut writer =
            RecordWriter::create(&path).map_err(|e| RunError::Record(e.to_string()))?;
        let header = RunHeader::new(
            env!("CARGO_PKG_VERSION"),
            &options.suffix,
            options.plan.clone(),
        );
        let record = RunRecord::new(header);
        writer
            .write(&Line::Run(Box::new(record.run.clone())))
            .map_err(|e| RunError::Record(e.to_string()))?;
        let monitor = Monitor::new(options.plan.monitor.clone(), &options.suffix, dir);
        let scripts = Scripts::new(options.plan.scripts.as_ref());
        Ok(Self {
            writer,
            record,
            monitor,
            scripts,
            findings: Vec::new(),
            files: Vec::new(),
            began: Instant::now(),
            core_count: filermark_engine::sys::core_count() as u32,
            write_error: None,
            options,
        })
    }

    /// Carries the run out, closes the record, renders the files.
    pub fn carry_out(mut self) -> Result<RunOutcome, RunError> {
        let launched = Agents::launch(
            &self.options.launch,
            self.options.launcher,
            self.options.stop.clone(),
        );
        let outcome = match launched {
            Ok(mut agents) => {
                let outcome = self
                    .prepare(&mut agents)
                    .and_then(|()| self.measure_baseline(&mut agents))
                    .and_then(|()| self.points(&mut agents));
                let left = self.clean_up_at_the_end(&mut agents);
                self.findings.extend(left);
                agents.dismiss();
                outcome
            }
            Err(e) => Err(e),
        };
        let mut findings = std::mem::take(&mut self.findings);
        findings.extend(self.scripts.findings());
        let outcome = match outcome {
            Ok(()) => Outcome::Complete,
            Err(OrderError::Stopped) => {
                findings.push(Finding::new(
                    Rule::Interrupted,
                    Severity::Warning,
                    "the user ended the run",
                ));
                Outcome::Interrupted
            }
            Err(e) => Outcome::Failed {
                reason: e.to_string(),
            },
        };
        self.push(Line::End(End {
            at: Timestamp::now(),
            outcome,
            wall_seconds: self.began.elapsed().as_secs_f64(),
            findings,
        }));
        self.render();
        let record_path = self.writer.path().to_path_buf();
        let finished = self.writer.finish().map_err(|e| e.to_string()).err();
        if let Some(why) = self.write_error.or(finished) {
            return Err(RunError::Record(why));
        }
        Ok(RunOutcome {
            record: self.record,
            record_path,
            files: self.files,
        })
    }

    fn prepare(&mut self, agents: &mut Agents) -> Result<(), OrderError> {
        let plan = Box::new(self.options.plan.clone());
        let dir_name = format!("{RUN_DIR_PREFIX}{}", self.options.suffix);
        let started = self.record.run.started;
        let run_id = format!(
            "{} {} {started:?}",
            self.options.suffix, self.record.run.fingerprint
        );
        let order = |client: usize| Order::Prepare {
            plan: plan.clone(),
            client: client as u32,
            dir_name: dir_name.clone(),
            run_id: run_id.clone(),
        };
        let mut free = Vec::new();
        for report in agents.order(order, PREPARE_MAX, &mut |_, _| {})? {
            let Report::Ready {
                environment,
                remarks,
                free: seen,
                lacking,
                ..
            } = report
            else {
                continue;
            };
            let host = environment.host.clone();
            self.push(Line::Environment(*environment));
            for message in remarks {
                self.remark(&host, message);
            }
            for message in lacking {
                self.warn(&host, Rule::Lacking, message);
            }
            self.check_classic_space(&host, &seen);
            free.push(seen);
        }
        self.check_space(&free)
    }

    /// Says when the largest load point of a composite will not, or may not, fit.
    fn check_space(&mut self, free: &[Vec<FreeSpace>]) -> Result<(), OrderError> {
        let verdict = space::check(&self.options.plan, free);
        for message in verdict.warnings {
            self.warn("prime", Rule::Resources, message);
        }
        match verdict.refusal {
            Some(reason) => Err(OrderError::Failed { reason }),
            None => Ok(()),
        }
    }

    /// Tells when the largest load point will hardly fit. Only tells: quotas,
    /// compression and thin provisioning make the figure a hint.
    fn check_classic_space(&mut self, host: &str, free: &[FreeSpace]) {
        let plan = &self.options.plan;
        let Some(classic) = plan.benchmark.classic() else {
            return;
        };
        let most = plan
            .points
            .iter()
            .map(|p| p.requested.0)
            .fold(0.0, f64::max);
        let needed = most * classic.fileset.mb_per_op * 1.1 * (1u64 << 20) as f64;
        let least = free.iter().map(|f| f.bytes).min();
        if let Some(free) = least.filter(|free| (*free as f64) < needed) {
            let message = format!(
                "the server has {} free, the largest load point needs about {}: lower LOAD or FILESET_MB_PER_OP",
                Bytes(free),
                Bytes(needed as u64)
            );
            self.remark(host, message);
        }
    }

    /// netmist's power script measures the idle system, before anything is made.
    fn measure_baseline(&mut self, agents: &mut Agents) -> Result<(), OrderError> {
        self.scripts.call(Call {
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
        let ended = self.scripts.wait(&self.options.stop, &mut || {
            if alive.is_ok() {
                alive = agents.idle();
            }
        });
        self.keep_scripts(ended);
        alive
    }

    /// Into the record with what scripts have said.
    pub fn keep_scripts(&mut self, ended: Vec<ScriptRecord>) {
        for script in ended {
            (self.options.observe)(Progress::Script(&script));
            self.push(Line::Script(script));
        }
    }

    /// The load of a point has ended, well or not: the scripts that it began are told.
    fn stop_scripts(&mut self, agents: &mut Agents, point: LoadPoint) -> Result<(), OrderError> {
        self.scripts.call_stops(point.number);
        self.wait_for_scripts(agents)
    }

    fn points(&mut self, agents: &mut Agents) -> Result<(), OrderError> {
        let points = self.options.plan.points.clone();
        let last = points.last().map(|p| p.number);
        for point in points {
            let began = Timestamp::now();
            let measured = self
                .init(agents, point)
                .and_then(|()| self.measure(agents, point));
            let told = self.stop_scripts(agents, point);
            let measured = measured.and_then(|measured| told.map(|()| measured));
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
            self.end_point(point, began, status, measured);
            result?;
            let anew = !self.options.plan.fileset.reuse && Some(point.number) != last;
            if anew {
                self.clean_up(agents, Some(point), false)?;
            }
        }
        Ok(())
    }

    fn init(&mut self, agents: &mut Agents, point: LoadPoint) -> Result<(), OrderError> {
        self.scripts.call(Call {
            script: Script::Mon,
            argument: "INIT",
            point: point.number,
            phase: Some(Phase::Init),
        });
        self.wait_for_scripts(agents)?;
        let phase = self.begin_phase(Some(point), Phase::Init, None);
        let limit = to_duration(self.options.plan.phases.init_timeout) + MARGIN;
        let answers = self.order_tasks(agents, Order::Init { point }, limit);
        let detail = answers
            .as_ref()
            .map_or_else(|_| String::new(), |a| describe(&sum_tasks(a)));
        self.end_phase(phase, detail, answers.as_ref().err());
        answers.map(|_| ())
    }

    fn end_point(
        &mut self,
        load: LoadPoint,
        began: Timestamp,
        status: PointStatus,
        measured: Option<Measured>,
    ) {
        let plan = &self.options.plan;
        let (stats, noticed) = measured.map_or((None, Vec::new()), |m| (Some(m.stats), m.noticed));
        let clients = stats.iter().flatten().zip(&plan.clients).zip(1..);
        let clients = clients
            .map(|((stats, client), number)| ClientSummary::of(number, &client.name, stats))
            .collect();
        let stats = stats.map(|all| {
            all.iter().fold(PointStats::default(), |mut sum, one| {
                sum.merge(one);
                sum
            })
        });
        let mut findings = match (&stats, &status) {
            (Some(stats), _) => judge(stats, load, plan, self.core_count),
            (None, PointStatus::Failed { reason }) => {
                vec![Finding::new(
                    Rule::Failed,
                    Severity::Invalid,
                    reason.clone(),
                )]
            }
            (None, PointStatus::Measured) => Vec::new(),
        };
        findings.extend(noticed);
        self.push(Line::Point(Box::new(PointRecord {
            load,
            began,
            ended: Timestamp::now(),
            status,
            stats,
            clients,
            findings,
        })));
        self.render();
        if let Some(point) = self.record.points.last() {
            (self.options.observe)(Progress::PointEnded(&self.record, point));
        }
    }

    fn clean_up_at_the_end(&mut self, agents: &mut Agents) -> Vec<Finding> {
        let dir = format!("{RUN_DIR_PREFIX}{}", self.options.suffix);
        if self.options.plan.fileset.keep {
            let message = format!("KEEP=on: the file set stays in {dir} below the mount points");
            return vec![Finding::new(Rule::LeftBehind, Severity::Note, message)];
        }
        // The wish to stop has been heard; the tidying up is not to hear it again.
        self.options.stop.lower();
        let left = match self.clean_up(agents, None, true) {
            Ok(left) => left,
            Err(e) => vec![format!("{dir} below the mount points: {e}")],
        };
        left.into_iter()
            .map(|place| {
                self.remark("prime", format!("left behind: {place}"));
                Finding::new(
                    Rule::LeftBehind,
                    Severity::Warning,
                    format!("left behind: {place}"),
                )
            })
            .collect()
    }

    fn clean_up(
        &mut self,
        agents: &mut Agents,
        point: Option<LoadPoint>,
        release: bool,
    ) -> Result<Vec<String>, OrderError> {
        if agents.all_lost() {
            return Err(OrderError::Failed {
                reason: "no agent is left to remove it".into(),
            });
        }
        // First the shards remove what they know of, then the rest is swept up.
        let shards = self.options.plan.phases.init_timeout.max(CLEANUP_LIMIT_MIN);
        let limit = 2 * to_duration(shards) + MARGIN;
        let phase = self.begin_phase(point, Phase::Cleanup, None);
        let answers = self.order_tasks(agents, Order::Cleanup { release }, limit);
        let detail = answers
            .as_ref()
            .map_or_else(|_| String::new(), |a| describe(&sum_tasks(a)));
        self.end_phase(phase, detail, answers.as_ref().err());
        let left = answers?.into_iter().flat_map(|report| match report {
            Report::Cleaned { left_behind, .. } => left_behind,
            _ => Vec::new(),
        });
        Ok(left.collect())
    }

    fn order_tasks(
        &mut self,
        agents: &mut Agents,
        order: Order,
        limit: Duration,
    ) -> Result<Vec<Report>, OrderError> {
        let (mut tasks, mut written) = (0, 0);
        agents.order(|_| order.clone(), limit, &mut |_, word| {
            if let Some(Report::Progress { task_count, bytes }) = word {
                tasks += task_count;
                written += bytes;
                (self.options.observe)(Progress::Tasks {
                    task_count: tasks,
                    bytes: written,
                });
            }
        })
    }

    pub fn begin_phase(
        &mut self,
        point: Option<LoadPoint>,
        phase: Phase,
        expected: Option<Duration>,
    ) -> OpenPhase {
        (self.options.observe)(Progress::PhaseBegan {
            point,
            phase,
            expected,
        });
        self.tell_monitor(point, phase, "begin");
        OpenPhase {
            point,
            phase,
            began: Timestamp::now(),
            since: Instant::now(),
        }
    }

    pub fn end_phase(&mut self, open: OpenPhase, detail: String, failure: Option<&OrderError>) {
        self.tell_monitor(open.point, open.phase, "end");
        self.push(Line::Phase(PhaseRecord {
            point: open.point.map_or(0, |p| p.number),
            phase: open.phase,
            began: open.began,
            ended: Timestamp::now(),
            seconds: open.since.elapsed().as_secs_f64(),
            detail,
            failure: failure.map(ToString::to_string),
        }));
    }

    fn tell_monitor(&mut self, point: Option<LoadPoint>, phase: Phase, event: &str) {
        let (load, number) = point.map_or((0.0, 0), |p| (p.requested.0, p.number));
        if let Some(message) = self.monitor.tell(phase, event, load, number) {
            self.remark("prime", message);
        }
    }

    pub fn remark(&mut self, host: &str, message: String) {
        (self.options.observe)(Progress::Remark(&message));
        self.push(Line::Event(Event {
            at: Timestamp::now(),
            host: host.into(),
            message,
        }));
    }

    /// An event, and a finding about the run as a whole; the same one only once.
    fn warn(&mut self, host: &str, rule: Rule, message: String) {
        if self
            .findings
            .iter()
            .any(|f| f.rule == rule && f.message == message)
        {
            return;
        }
        self.findings
            .push(Finding::new(rule, Severity::Warning, message.clone()));
        self.remark(host, message);
    }

    /// Into the file first, then into memory.
    pub fn push(&mut self, line: Line) {
        if let Err(e) = self.writer.write(&line) {
            self.write_error.get_or_insert(e.to_string());
        }
        self.record.push(line);
    }

    fn render(&mut self) {
        let dir = &self.options.dir;
        let log_dir = self.options.client_log_dir.as_ref().unwrap_or(dir);
        match write_files_and_logs(&self.record, dir, log_dir) {
            Ok(files) => self.files = files,
            Err(e) => {
                self.write_error.get_or_insert(e.to_string());
            }
        }
    }
}

pub(crate) struct OpenPhase {
    point: Option<LoadPoint>,
    phase: Phase,
    began: Timestamp,
    since: Instant,
}

pub(crate) fn to_duration(span: Nanos) -> Duration {
    Duration::from_nanos(span.0)
}

fn sum_tasks(answers: &[Report]) -> Tasks {
    let mut sum = Tasks::default();
    for answer in answers {
        if let Report::Populated(tasks) | Report::Cleaned { tasks, .. } = answer {
            sum.task_count += tasks.task_count;
            sum.failed_count += tasks.failed_count;
            sum.bytes += tasks.bytes;
            sum.elapsed_ns = sum.elapsed_ns.max(tasks.elapsed_ns);
        }
    }
    sum
}

fn describe(tasks: &Tasks) -> String {
    let seconds = (tasks.elapsed_ns as f64 / 1e9).max(1e-3);
    let mut text = format!(
        "{} objects, {:.0}/s",
        tasks.task_count,
        tasks.task_count as f64 / seconds
    );
    if tasks.bytes > 0 {
        let mib = tasks.bytes as f64 / (1u64 << 20) as f64;
        text.push_str(&format!(", {mib:.1} MiB, {:.1} MiB/s", mib / seconds));
    }
    if tasks.failed_count > 0 {
        text.push_str(&format!(", {} refused", tasks.failed_count));
    }
    text
}
