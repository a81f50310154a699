//! One run from the prime's seat: the load points one after the other, and the
//! record that grows with them. WARMUP and RUN are watched by [`crate::measure`].

use crate::agents::{Agents, Heard, Loss, OrderError};
use crate::identity;
use crate::live_writer::LiveWriter;
use crate::measure::Measured;
use crate::message::{FreeSpace, Left, Order, Report, Share, Tasks};
use crate::prime::{Progress, RunError, RunOptions, RunOutcome};
use crate::scripts::{self, Call, Script, Scripts};
use crate::space;
use crate::space_used;
use crate::stop_if::{StopIf, unwatched};
use crate::switchboard::Switchboard;
use crate::waves::waves;
use filermark_driver_kit::driver::Space;
use filermark_engine::engine::CLEANUP_LIMIT_MIN;
use filermark_engine::name::RUN_DIR_PREFIX;
use filermark_model::launch::{LauncherKind, OnLost};
use filermark_model::{Finding, LoadPoint, Nanos, Rule, Severity};
use filermark_results::ScriptRecord;
use filermark_results::files::{
    write_files_and_logs, write_files_so_far, write_heartbeat_log, write_results,
};
use filermark_results::live::{LivePlaces, News, OpenPhase as LivePhase};
use filermark_results::record::{
    End, Event, Line, Outcome, Phase, PhaseRecord, PointRecord, PointStatus, RunHeader,
    SpaceChange, SpaceUse,
};
use filermark_results::settled_logs::SettledLogs;
use filermark_results::{
    RecordWriter, RunRecord, Timestamp, hosts_changed, judge, judge_client_reads, judge_silences,
    judge_stalls, read_record, settle_rate,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What phases may take beyond their own length.
pub(crate) const MARGIN: Nanos = Nanos::from_secs(60);
/// Longest time for connecting, mounting and sweeping up leftovers.
const PREPARE_MAX: Nanos = Nanos::from_secs(900);

pub(crate) struct Sweep<'a> {
    pub options: RunOptions<'a>,
    writer: RecordWriter,
    record: RunRecord,
    pub scripts: Scripts,
    /// What was noticed about the run as a whole.
    findings: Vec<Finding>,
    files: Vec<PathBuf>,
    began: Instant,
    /// Processors of the client hosts, by their names.
    core_counts: BTreeMap<String, u32>,
    /// Free space that every client has told, by its number.
    pub free: BTreeMap<usize, Vec<FreeSpace>>,
    /// Whether all clients were ready: the run's directories are its own, and it went on.
    pub is_prepared: bool,
    /// Losses that the record has.
    losses_told: usize,
    /// The first thing that kept a line out of the record, or a file from being written.
    write_error: Option<String>,
    /// Writes the logs of a composite while it runs.
    live: Option<LiveWriter>,
    /// The logs of the load points that have ended.
    settled: SettledLogs,
    /// The files of the results are this run's.
    has_results: bool,
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
        let header = RunHeader::new(
            env!("CARGO_PKG_VERSION"),
            &options.suffix,
            options.plan.clone(),
        )
        .with_inputs(options.inputs.clone());
        let line = Line::Run(Box::new(header.clone()));
        let opened = match options.goes_on {
            true => continued(&path, header),
            false => {
                let is_taken = has_files_of(dir, &options.suffix);
                RecordWriter::create(&path, is_taken)
                    .map(|writer| (writer, RunRecord::new(header)))
                    .map_err(|e| e.to_string())
            }
        };
        let (mut writer, record) = opened.map_err(RunError::Record)?;
        writer
            .write(&line)
            .map_err(|e| RunError::Record(e.to_string()))?;
        let mut scripts = Scripts::new(options.plan.scripts.as_ref());
        scripts.take_earlier(&record.scripts);
        let findings = record.warnings_of_events();
        let settled = SettledLogs::new(places(&options));
        Ok(Self {
            writer,
            record,
            scripts,
            findings,
            files: Vec::new(),
            began: Instant::now(),
            core_counts: BTreeMap::new(),
            free: BTreeMap::new(),
            is_prepared: false,
            losses_told: 0,
            write_error: None,
            live: None,
            settled,
            has_results: false,
            options,
        })
    }

    /// Carries the run out, closes the record, renders the files.
    pub fn carry_out(mut self, board: Box<dyn Switchboard>) -> Result<RunOutcome, RunError> {
        let (own, stop) = (identity::own_hello(), self.options.stop.clone());
        let mut agents = Agents::new(board, &self.options.launch, own, stop);
        let greeted = self.greet(&mut agents);
        // Nobody makes anything before all are there.
        let has_begun = greeted.is_ok();
        let prepared = greeted.and_then(|()| self.prepare(&mut agents));
        self.is_prepared = prepared.is_ok();
        let outcome = prepared
            .and_then(|()| self.begin_results())
            .and_then(|()| self.measure_baseline(&mut agents))
            .and_then(|()| self.points(&mut agents));
        self.tell_losses(&agents);
        if has_begun {
            let left = self.clean_up_at_the_end(&mut agents, outcome.is_err());
            // A piece before may have left the same.
            let fresh = left.into_iter().filter(|f| !self.findings.contains(f));
            let fresh: Vec<Finding> = fresh.collect();
            self.findings.extend(fresh);
        }
        agents.dismiss();
        let ended = self.scripts.finish(&self.options.stop);
        self.keep_scripts(ended);
        let mut findings = std::mem::take(&mut self.findings);
        findings.extend(self.scripts.findings());
        let pieces = self.record.pieces();
        findings.extend(pieces.map(|told| Finding::new(Rule::Resumed, Severity::Note, told)));
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
        let end = self.record.judged(End {
            at: Timestamp::now(),
            outcome,
            wall_seconds: self.seconds_before() + self.began.elapsed().as_secs_f64(),
            findings,
            verdict: None,
            reasons: Vec::new(),
        });
        self.push(Line::End(end));
        let earlier_stays = self.writer.is_draft();
        if !earlier_stays {
            self.render();
        }
        let record_path = self.writer.path().to_path_buf();
        let finished = self.writer.finish().map_err(|e| e.to_string()).err();
        Ok(RunOutcome {
            record: self.record,
            record_path,
            files: self.files,
            earlier_stays,
            unwritten: self.write_error.or(finished),
        })
    }

    /// How long the pieces before this one took.
    fn seconds_before(&self) -> f64 {
        let last = self.record.restarts.last();
        last.map_or(0.0, |restart| restart.seconds_before)
    }

    /// Everybody is ready: from now on the record and the files are this run's.
    fn begin_results(&mut self) -> Result<(), OrderError> {
        let kept = self.writer.keep().map_err(|e| OrderError::Failed {
            reason: e.to_string(),
        });
        let options = &self.options;
        if kept.is_ok() {
            let monitor = options.plan.monitor.as_ref();
            let calls = self.record.scripts.iter().filter_map(|script| script.call);
            let goes_on = !self.record.restarts.is_empty();
            let files = scripts::MonitorFiles {
                suffix: &options.suffix,
                dir: &options.dir,
                earlier_calls: goes_on.then(|| calls.max().unwrap_or(0)),
            };
            self.scripts.begin_monitor(monitor, files);
            self.has_results = true;
            self.begin_live_logs();
        }
        kept
    }

    /// The logs of a composite grow while it runs.
    fn begin_live_logs(&mut self) {
        let options = &self.options;
        if options.plan.benchmark.composite().is_none() {
            return;
        }
        let places = places(options);
        // Of a run that goes on: the logs go on behind the load points that it has.
        if !self.record.points.is_empty() {
            self.render();
        }
        match LiveWriter::begin(self.record.clone(), places) {
            Ok(live) => self.live = Some(live),
            Err(why) => {
                self.write_error.get_or_insert(why);
            }
        }
    }

    /// What the logs of a run under way tell.
    fn tell_live(&self, news: impl FnOnce() -> News) {
        if let Some(live) = &self.live {
            live.tell(news());
        }
    }

    fn greet(&mut self, agents: &mut Agents) -> Result<(), OrderError> {
        let limit = self.options.launch.start_timeout;
        agents.greet(limit, &mut |living, all| {
            (self.options.observe)(Progress::Agents { living, all });
        })
    }

    fn prepare(&mut self, agents: &mut Agents) -> Result<(), OrderError> {
        let dir_name = self.dir_name();
        let started = self.record.run.started;
        let run_id = format!(
            "{}{started}",
            run_id_front(&self.options.suffix, &self.record.run.fingerprint)
        );
        let plan = self.options.plan.clone();
        let order = |client: usize| {
            Order::Prepare(Share {
                plan: Box::new(plan.for_client(client)),
                client: client as u32,
                dir_name: dir_name.clone(),
                run_id: run_id.clone(),
                password: None,
            })
        };
        for wave in waves(&plan) {
            let mut ready = BTreeMap::new();
            agents.order(
                &wave,
                &order,
                PREPARE_MAX,
                OnLost::End,
                &mut |_, heard| match heard {
                    Heard::Answer(at, report) => {
                        ready.insert(at, report);
                    }
                    Heard::Word(at, Report::Waiting { sentence }) => {
                        self.tell_waiting(at, sentence.clone());
                    }
                    _ => {}
                },
            )?;
            for (at, report) in ready {
                self.take_ready(at, report);
            }
        }
        self.same_hosts()?;
        if let Some(message) = unwatched(&plan, &self.free) {
            self.warn("prime", Rule::Lacking, message);
        }
        let free: Vec<_> = (0..plan.clients.len())
            .map(|at| self.free.get(&at).cloned().unwrap_or_default())
            .collect();
        self.check_space(&free)
    }

    /// A run goes on with the hosts that it was begun with, or not at all.
    fn same_hosts(&self) -> Result<(), OrderError> {
        let Some(restart) = self.record.restarts.last() else {
            return Ok(());
        };
        let changes = hosts_changed(&restart.environments, &self.record.environments);
        if changes.is_empty() {
            return Ok(());
        }
        Err(OrderError::Failed {
            reason: format!(
                "the run cannot go on, since its hosts have changed: {}; undo that, or move {} away and measure all of it again",
                changes.join(", "),
                self.writer.path().display()
            ),
        })
    }

    fn take_ready(&mut self, at: usize, report: Report) {
        let Report::Ready {
            environment,
            remarks,
            free,
            lacking,
            ..
        } = report
        else {
            return;
        };
        let host = environment.host.clone();
        self.core_counts
            .insert(host.clone(), environment.core_count);
        (self.options.observe)(Progress::Host(&environment));
        self.push(Line::Environment(*environment));
        for message in remarks {
            self.remark(&host, message);
        }
        for message in lacking {
            self.warn(&host, Rule::Lacking, message);
        }
        let own = space::of_its_own(&self.options.plan, at, free);
        self.free.insert(at, own);
    }

    /// Into the record with the agents that were lost since it was last looked.
    pub fn tell_losses(&mut self, agents: &Agents) {
        let fresh = agents.losses().get(self.losses_told..).unwrap_or_default();
        for loss in fresh {
            self.tell_loss(loss);
        }
        if !fresh.is_empty() {
            self.tell_living(agents.living().len());
        }
    }

    /// The next loss, which came just now.
    pub fn tell_loss(&mut self, loss: &Loss) {
        self.losses_told += 1;
        self.remark(&loss.client, loss.to_string());
    }

    /// So many agents are there.
    pub fn tell_living(&mut self, living: usize) {
        let all = self.options.launch.hosts.len();
        (self.options.observe)(Progress::Agents { living, all });
    }

    /// The name of the run's directory below the mount points.
    pub fn dir_name(&self) -> String {
        format!("{RUN_DIR_PREFIX}{}", self.options.suffix)
    }

    /// Says when the largest load point will not, or may not, fit.
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

    /// netmist's power script measures the idle system, before anything is made: of a run
    /// that goes on that was in its first piece.
    fn measure_baseline(&mut self, agents: &mut Agents) -> Result<(), OrderError> {
        if !self.record.restarts.is_empty() {
            return Ok(());
        }
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
        let on_lost = self.options.launch.on_lost;
        let ended = self.scripts.wait(&self.options.stop, &mut || {
            if alive.is_ok() {
                alive = agents.idle(on_lost);
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
        // Of a run that goes on.
        let measured: BTreeSet<u32> = self.record.points.iter().map(|p| p.load.number).collect();
        for point in points.into_iter().filter(|p| !measured.contains(&p.number)) {
            let began = Timestamp::now();
            self.tell_live(|| News::Point(point.number, began));
            let measured = self.init(agents, point).and_then(|(noticed, stop_if)| {
                let mut measured = self.measure(agents, point, stop_if)?;
                measured.noticed.extend(noticed);
                Ok(measured)
            });
            let told = self.stop_scripts(agents, point);
            let measured = measured.and_then(|measured| told.map(|()| measured));
            let rule = match &measured {
                Err(OrderError::Emergency { .. }) => Rule::EmergencyStop,
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
            self.tell_losses(agents);
            self.end_point(point, began, (status, rule), measured, agents);
            result?;
            let anew = !self.options.plan.fileset.reuse && Some(point.number) != last;
            if anew {
                self.clean_up(agents, Some(point))?;
            }
        }
        Ok(())
    }

    /// INIT of a load point; gives what was noticed, and what was heard of free space.
    fn init(
        &mut self,
        agents: &mut Agents,
        point: LoadPoint,
    ) -> Result<(Option<Finding>, StopIf), OrderError> {
        self.scripts.call(Call {
            script: Script::Mon,
            argument: "INIT",
            point: point.number,
            phase: Some(Phase::Init),
        });
        self.wait_for_scripts(agents)?;
        let phase = self.begin_phase(Some(point), Phase::Init, None);
        let limit = self.options.plan.phases.init_timeout + MARGIN;
        let on_lost = self.options.launch.on_lost;
        let everybody = agents.living();
        let watchers = self.space_watchers(&everybody);
        let mut guard = StopIf::new(&self.options.plan, point, watchers);
        let watched: Vec<_> = (0..self.options.launch.hosts.len())
            .map(|at| guard.watched_by(at))
            .collect();
        let order = |at: usize| Order::Init {
            point,
            watch_space: watched.get(at).cloned().unwrap_or_default(),
        };
        let done = self.order_tasks(agents, &everybody, &order, limit, on_lost, &mut guard);
        self.push_phase(
            phase,
            done.as_ref().map(Done::describe).unwrap_or_default(),
            done.as_ref().err(),
            done.as_ref().ok().and_then(Done::space_use),
        );
        let space_use = done?.space_use();
        let noticed = space_use.and_then(|space| space_used::judge(&space));
        Ok((noticed, guard))
    }

    /// The names of the clients that run on this host, as the prime itself has started them.
    fn clients_here(&self) -> BTreeSet<&str> {
        let hosts = self.options.launch.hosts.iter();
        let here = hosts.filter(|host| host.launcher == LauncherKind::Local);
        here.map(|host| host.client.as_str()).collect()
    }

    fn end_point(
        &mut self,
        load: LoadPoint,
        began: Timestamp,
        (status, rule): (PointStatus, Rule),
        measured: Option<Measured>,
        agents: &Agents,
    ) {
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
        self.push(Line::Point(Box::new(PointRecord {
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
        })));
        self.render();
        if let Some(point) = self.record.points.last() {
            (self.options.observe)(Progress::PointEnded(&self.record, point));
        }
    }

    /// CLEANUP between load points and before the end: everybody removes what its own
    /// procs made.
    pub fn clean_up(
        &mut self,
        agents: &mut Agents,
        point: Option<LoadPoint>,
    ) -> Result<(), OrderError> {
        let limit = self.cleanup_limit() + self.cleanup_limit() + MARGIN;
        let phase = self.begin_phase(point, Phase::Cleanup, None);
        let everybody = agents.living();
        let done = self.order_tasks(
            agents,
            &everybody,
            &|_| Order::Cleanup,
            limit,
            OnLost::Continue,
            &mut StopIf::default(),
        );
        self.end_phase(
            phase,
            done.as_ref().map(Done::describe).unwrap_or_default(),
            done.as_ref().err(),
        );
        self.tell_losses(agents);
        done.map(|_| ())
    }

    /// How long the removal of the file set may take.
    pub fn cleanup_limit(&self) -> Nanos {
        self.options.plan.phases.init_timeout.max(CLEANUP_LIMIT_MIN)
    }

    /// Gives an order that makes or removes files, and sums up what it came to. Ends it
    /// where the guard says so.
    pub fn order_tasks(
        &mut self,
        agents: &mut Agents,
        who: &[usize],
        order: &dyn Fn(usize) -> Order,
        limit: Nanos,
        on_lost: OnLost,
        guard: &mut StopIf,
    ) -> Result<Done, OrderError> {
        let mut done = Done::default();
        let emergency = agents.emergency();
        let (mut task_count, mut bytes) = (0, 0);
        let mut living = agents.living().len();
        agents.order(who, order, limit, on_lost, &mut |_, heard| match heard {
            Heard::Word(
                _,
                Report::Progress {
                    task_count: more,
                    bytes: written,
                },
            ) => {
                task_count = u64::saturating_add(task_count, *more);
                bytes = u64::saturating_add(bytes, *written);
                (self.options.observe)(Progress::Tasks { task_count, bytes });
            }
            Heard::Word(
                at,
                Report::Space {
                    file_system,
                    free_bytes,
                    total_bytes,
                },
            ) => {
                let space = Space {
                    free_bytes: *free_bytes,
                    total_bytes: *total_bytes,
                };
                if let Some(reason) = guard.hear_space(at, file_system, space) {
                    emergency.borrow_mut().get_or_insert(reason);
                }
            }
            Heard::Answer(_, report) => done.add(report),
            Heard::Word(at, Report::Waiting { sentence }) => {
                self.tell_waiting(at, sentence.clone());
            }
            Heard::Lost(_) => {
                living = living.saturating_sub(1);
                self.tell_living(living);
            }
            _ => {}
        })?;
        Ok(done)
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
        let open = OpenPhase {
            point,
            phase,
            began: Timestamp::now(),
            since: Instant::now(),
            percents: Vec::new(),
        };
        self.tell_live(|| open.news());
        self.tell_monitor(point, phase, true);
        open
    }

    /// A further tenth of a phase is over.
    pub fn tell_tenth(&mut self, open: &mut OpenPhase, is_fixed: bool) {
        if !is_fixed {
            open.percents.push(Timestamp::now());
        }
        self.tell_live(|| open.news());
    }

    pub fn end_phase(&mut self, open: OpenPhase, detail: String, failure: Option<&OrderError>) {
        self.push_phase(open, detail, failure, None);
    }

    fn push_phase(
        &mut self,
        open: OpenPhase,
        detail: String,
        failure: Option<&OrderError>,
        space: Option<SpaceUse>,
    ) {
        self.tell_monitor(open.point, open.phase, false);
        self.push(Line::Phase(PhaseRecord {
            point: open.point.map_or(0, |p| p.number),
            phase: open.phase,
            began: open.began,
            ended: Timestamp::now(),
            seconds: open.since.elapsed().as_secs_f64(),
            detail,
            failure: failure.map(ToString::to_string),
            space,
            percents: open.percents,
        }));
    }

    fn tell_monitor(&mut self, point: Option<LoadPoint>, phase: Phase, begins: bool) {
        let (load, point) = point.map_or((0.0, 0), |p| (p.requested.0, p.number));
        self.scripts.tell_monitor(scripts::Event {
            phase,
            begins,
            load,
            point,
        });
        let ended = self.scripts.take_ended();
        self.keep_scripts(ended);
    }

    /// A client waits, and for what.
    fn tell_waiting(&mut self, client: usize, sentence: String) {
        let client = self.options.plan.clients.get(client);
        let name = client.map_or_else(String::new, |client| client.name.clone());
        self.remark(&name, sentence);
    }

    pub fn remark(&mut self, host: &str, message: String) {
        self.push_event(host, message, None);
    }

    pub fn push_event(&mut self, host: &str, message: String, rule: Option<Rule>) {
        let several = self.options.plan.clients.len() > 1;
        match several && host != "prime" && !message.contains(host) {
            true => (self.options.observe)(Progress::Remark(&format!("{host}: {message}"))),
            false => (self.options.observe)(Progress::Remark(&message)),
        }
        self.push(Line::Event(Event {
            at: Timestamp::now(),
            host: host.into(),
            message,
            rule,
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
        self.push_event(host, message, Some(rule));
    }

    /// Into the file first, then into memory.
    pub fn push(&mut self, line: Line) {
        if let Err(e) = self.writer.write(&line) {
            self.write_error.get_or_insert(e.to_string());
        }
        if !matches!(line, Line::Point(_) | Line::End(_)) {
            self.tell_live(|| News::Line(Box::new(line.clone())));
        }
        self.record.push(line);
    }

    /// Writes the files of what has been measured so far, or of the whole run.
    fn render(&mut self) {
        let has_ended = self.record.end.is_some();
        // It is a line of the live log, too.
        self.tell_left_out();
        let settle = |live: &LiveWriter| live.settle(has_ended);
        let trouble = self.live.as_ref().and_then(settle);
        self.keep_trouble(trouble);
        let dir = &self.options.dir;
        let written = match (
            has_ended,
            self.live.as_ref().is_some_and(LiveWriter::has_failed),
        ) {
            (_, true) => write_results(&self.record, dir),
            (true, false) => write_files_and_logs(&self.record, dir, &log_dir(&self.options)),
            (false, false) => write_files_so_far(&self.record, dir, &mut self.settled),
        };
        match written {
            Ok(files) => self.files = files,
            Err(e) => self.keep_trouble(Some(e.to_string())),
        }
        if has_ended {
            self.write_late_logs();
        }
        self.write_heartbeat_log();
    }

    /// The logs of a thread that was late, and has come to its end after all.
    fn write_late_logs(&mut self) {
        let Some(back) = self.live.as_ref().and_then(LiveWriter::settle_again) else {
            return;
        };
        if self.write_error.as_ref() == Some(&back.told) {
            self.write_error = None;
        }
        self.keep_trouble(back.trouble);
        let options = &self.options;
        match write_files_and_logs(&self.record, &options.dir, &log_dir(options)) {
            Ok(files) => self.files = files,
            Err(e) => self.keep_trouble(Some(e.to_string())),
        }
    }

    /// The log of `-q`, complete.
    fn write_heartbeat_log(&mut self) {
        let is_due = self.has_results && self.record.end.is_some();
        let is_free = !self.live.as_ref().is_some_and(LiveWriter::has_failed);
        let path = self.options.heartbeat_log.as_ref();
        if let Some(path) = path.filter(|_| is_due && is_free) {
            let written = write_heartbeat_log(&self.record, path);
            self.keep_trouble(written.err().map(|e| e.to_string()));
        }
    }

    fn keep_trouble(&mut self, trouble: Option<String>) {
        if let Some(trouble) = trouble {
            self.write_error.get_or_insert(trouble);
        }
    }

    /// The logs of the load point lacked lines while it was measured.
    fn tell_left_out(&mut self) {
        let left_out = self.live.as_ref().map_or(0, LiveWriter::take_left_out);
        if left_out > 0 && self.record.end.is_none() {
            self.remark(
                "prime",
                format!("{left_out} lines of the logs came late: the file system took too long to write them"),
            );
        }
    }
}

/// Where the logs of a run are.
fn places(options: &RunOptions<'_>) -> LivePlaces {
    LivePlaces {
        dir: options.dir.clone(),
        log_dir: log_dir(options),
        heartbeat_log: options.heartbeat_log.clone(),
    }
}

fn log_dir(options: &RunOptions<'_>) -> PathBuf {
    let own = options.client_log_dir.as_ref();
    own.unwrap_or(&options.dir).clone()
}

pub(crate) struct OpenPhase {
    point: Option<LoadPoint>,
    phase: Phase,
    began: Timestamp,
    since: Instant,
    /// As in the record.
    percents: Vec<Timestamp>,
}

impl OpenPhase {
    fn news(&self) -> News {
        News::Phase(LivePhase {
            point: self.point.map_or(0, |p| p.number),
            phase: self.phase,
            began: self.began,
            since: self.since,
            percents: self.percents.clone(),
        })
    }
}

/// The record at `path` as it goes on with this line.
fn continued(path: &Path, header: RunHeader) -> Result<(RecordWriter, RunRecord), String> {
    // What another run has written until then is in the record.
    let writer = RecordWriter::go_on(path).map_err(|e| e.to_string())?;
    let mut record = read_record(path).map_err(|e| e.to_string())?;
    if record.run.fingerprint != header.fingerprint || record.run.version != header.version {
        return Err(format!(
            "{}: a run of another plan or version cannot go on; move it away, or choose another suffix",
            path.display()
        ));
    }
    // Another command may have gone on with it since this one has looked.
    let has_failed = record.failed_points().next().is_some();
    let what = match record.end.as_ref().map(|end| &end.outcome) {
        Some(Outcome::Complete) => Some("is complete"),
        Some(Outcome::Failed { .. }) => Some("has failed"),
        _ => has_failed.then_some("has failed"),
    };
    if let Some(what) = what {
        return Err(format!(
            "{}: this run {what} meanwhile; start the command again",
            path.display()
        ));
    }
    record.go_on(&header);
    Ok((writer, record))
}

/// Whether a run of this suffix has left files in a result directory, whatever became of
/// its record.
fn has_files_of(dir: &Path, suffix: &str) -> bool {
    let names = [
        format!("sfssum.{suffix}"),
        format!("{suffix}.csv"),
        format!("{suffix}.html"),
    ];
    let mut names = names.iter();
    names.any(|name| std::fs::symlink_metadata(dir.join(name)).is_ok())
}

/// What the identities of all runs of one plan under one suffix begin with.
pub fn run_id_front(suffix: &str, fingerprint: &str) -> String {
    format!("{suffix} {fingerprint} ")
}

/// What an order that makes or removes files came to, all agents together.
#[derive(Debug, Default)]
pub(crate) struct Done {
    tasks: Tasks,
    /// What stays.
    pub left_behind: Vec<Left>,
    /// INIT: free space before and after.
    space: Vec<SpaceChange>,
}

impl Done {
    fn add(&mut self, report: Report) {
        let tasks = match report {
            Report::Populated { tasks, space } => {
                space_used::merge(&mut self.space, space);
                tasks
            }
            Report::Cleaned { tasks, left_behind } => {
                self.left_behind.extend(left_behind);
                tasks
            }
            _ => return,
        };
        self.tasks.task_count = self.tasks.task_count.saturating_add(tasks.task_count);
        self.tasks.failed_count = self.tasks.failed_count.saturating_add(tasks.failed_count);
        self.tasks.bytes = self.tasks.bytes.saturating_add(tasks.bytes);
        let uncached = &mut self.tasks.uncached_count;
        *uncached = uncached.saturating_add(tasks.uncached_count);
        self.tasks.elapsed_ns = self.tasks.elapsed_ns.max(tasks.elapsed_ns);
    }

    /// Objects that were made or removed.
    pub fn task_count(&self) -> u64 {
        self.tasks.task_count
    }

    /// What INIT wrote and did to the free space, where servers state it.
    fn space_use(&self) -> Option<SpaceUse> {
        (!self.space.is_empty()).then(|| SpaceUse {
            written_bytes: self.tasks.bytes,
            file_systems: self.space.clone(),
        })
    }

    fn describe(&self) -> String {
        let tasks = &self.tasks;
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
        if tasks.uncached_count > 0 {
            text.push_str(&format!(
                ", {} files taken out of the clients' caches",
                tasks.uncached_count
            ));
        }
        if tasks.failed_count > 0 {
            text.push_str(&format!(", {} refused", tasks.failed_count));
        }
        text
    }
}

#[cfg(test)]
#[path = "sweep_continued_tests.rs"]
mod continued_tests;
