//! Programs of the user that run together with a benchmark. netmist's scripts (manual N,
//! sections 17 and 21) are called at fixed points of a run, each with one argument:
//!
//! | script | argument | when |
//! |---|---|---|
//! | `netmist_power.sh` | `Baseline` | once, before anything is made |
//! | `netmist_mon.sh` | `INIT` | at the beginning of INIT |
//! | `netmist_mon.sh` | `RUNNING` | at the beginning of RUN |
//! | `netmist_stat.sh` | `ZERO` | at the beginning of RUN |
//! | `netmist_power.sh` | `Load` | when 70 % of RUN are over |
//! | `netmist_stat.sh`, `netmist_mon.sh` | `STOP` | when the load has ended |
//!
//! Every such call has a thread, so that the prime's loop never waits for one while load
//! is made. Processes that a call leaves running (a monitor that writes a file) go on
//! until the run ends; a call that takes longer than the limit is ended with all that it
//! started. PRIME_MON_SCRIPT is called in the same way, by the one thread of `monitor`.

mod call;
mod errors;
mod groups;
mod monitor;
mod output;
#[cfg(test)]
mod tests;

use call::{CallLimit, CallResult, CallSignal, ScriptCommand, carry_out};
use errors::ScriptErrors;
use filermark_engine::driver::StopFlag;
use filermark_link::child;
use filermark_model::plan::{MonitorPlan, ScriptsPlan};
use filermark_model::{Finding, Nanos, Rule, Severity};
use filermark_results::{Phase, ScriptRecord, ScriptStatus, Timestamp};
use monitor::{Monitor, WAITING_MAX};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

pub use groups::end_all_at_once;
pub use monitor::{MonitorFiles, PhaseEvent};

/// Suffix of the scripts' names.
const ENDING: &str = if cfg!(windows) { "cmd" } else { "sh" };
/// Additional time for ending a call that has reached its limit.
const MARGIN: Duration = Duration::from_secs(10);
/// A call that starts later than this after its event is reported `[own]`.
const LATE_MIN: Duration = Duration::from_secs(1);
/// Time limit for the calls that clean up after the user has asked to stop.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// The three scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Starts and stops a monitor.
    Mon,
    /// Measures power.
    Power,
    /// Collects the server's counters.
    Stat,
}

impl Script {
    const ALL: [Self; 3] = [Self::Mon, Self::Power, Self::Stat];

    /// The name of its file.
    pub fn file_name(self) -> String {
        let stem = match self {
            Self::Mon => "mon",
            Self::Power => "power",
            Self::Stat => "stat",
        };
        format!("netmist_{stem}.{ENDING}")
    }
}

/// One call that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct ScriptCall {
    /// Which script.
    pub script: Script,
    /// Its argument.
    pub argument: &'static str,
    /// The load point, from 1; 0: the run as a whole.
    pub point: u32,
    /// The phase that it belongs to.
    pub phase: Option<Phase>,
}

/// How long a call may take where the plan has no limit.
const LIMIT_DEFAULT: Nanos = Nanos::from_secs(60);

/// The scripts of a run; does nothing without a plan.
pub struct Scripts {
    /// The path of each script; `None`: it is not called.
    paths: [Option<PathBuf>; 3],
    /// Time limit of a call of one of them.
    limit: Duration,
    monitor: Option<Monitor>,
    results: Receiver<(u64, CallResult)>,
    result_sender: Sender<(u64, CallResult)>,
    running: Vec<RunningCall>,
    call_count: u64,
    /// Programs that have ended, as leaders of groups in which processes may still run.
    leaders: Vec<Child>,
    errors: ScriptErrors,
    missing: Option<String>,
    /// Which scripts have to be called at the end of the load.
    begun: [bool; 3],
}

struct RunningCall {
    id: u64,
    /// Its line of the record, without the result.
    record: ScriptRecord,
    /// Its name in a finding; the argument is left out where all calls are meant.
    shown: (String, String),
    since: Instant,
    signal: Arc<CallSignal>,
    /// Whether the run waits for it.
    is_waited_for: bool,
}

impl Scripts {
    /// Looks for the scripts.
    pub fn new(plan: Option<&ScriptsPlan>) -> Self {
        let (result_sender, results) = channel();
        let mut scripts = Self {
            paths: [const { None }; 3],
            limit: Duration::from_nanos(plan.map_or(0, |p| p.limit.0)),
            monitor: None,
            results,
            result_sender,
            running: Vec::new(),
            call_count: 0,
            leaders: Vec::new(),
            errors: ScriptErrors::default(),
            missing: None,
            begun: [false; 3],
        };
        if let Some(plan) = plan {
            for script in Script::ALL {
                scripts.look_for(script, Path::new(&plan.dir));
            }
        }
        scripts
    }

    /// Adds the errors of the earlier pieces of a resumed run, from the calls in its record.
    pub fn take_earlier(&mut self, calls: &[ScriptRecord]) {
        for call in calls {
            let shown = match call.call {
                Some(_) => monitor::shown(&call.script),
                None => call.script.clone(),
            };
            self.note_lateness(&shown, call);
            if !call.status.is_ok() {
                let argument = match call.call {
                    Some(_) => "",
                    None => &call.argument,
                };
                self.record_error(&shown, argument, &call.status.to_string(), call.point);
            }
        }
    }

    /// Adds an error for a call that was started long after its event. A call that was not
    /// started has taken no time.
    fn note_lateness(&mut self, shown: &str, call: &ScriptRecord) {
        let late = call.event_at.map(|event| call.at.seconds_since(event));
        if call.seconds > 0.0 && late.is_some_and(|late| late > LATE_MIN.as_secs_f64()) {
            let reason = format!(
                "was started more than {} s after its event, since the call before it had not ended",
                LATE_MIN.as_secs()
            );
            self.record_error(shown, &call.argument, &reason, call.point);
        }
    }

    /// Prepares the calls of PRIME_MON_SCRIPT, where the plan has one.
    pub fn begin_monitor(&mut self, plan: Option<&MonitorPlan>, files: MonitorFiles<'_>) {
        let Some(plan) = plan.cloned() else { return };
        let script = plan.script.clone();
        match Monitor::new(plan, files, self.result_sender.clone()) {
            Ok((monitor, open_error)) => {
                if let Some(why) = open_error {
                    self.record_error(&monitor.shown(), "", &why, 0);
                }
                self.monitor = Some(monitor);
            }
            Err(e) => {
                let shown = format!("PRIME_MON_SCRIPT {script}");
                self.record_error(&shown, "", &format!("cannot start a thread for it: {e}"), 0);
            }
        }
    }

    /// A phase begins or ends: calls PRIME_MON_SCRIPT if the plan has it called here.
    pub fn notify_monitor(&mut self, event: PhaseEvent) {
        let Some(monitor) = self.monitor.as_mut() else {
            return;
        };
        let Some(planned) = monitor.plan(event) else {
            return;
        };
        let (name, shown) = (monitor.name(), monitor.shown());
        let waiting = self.running.iter().filter(|w| !w.is_waited_for).count();
        if waiting >= WAITING_MAX {
            let reason =
                format!("{WAITING_MAX} calls wait for their turn; it was not called again");
            self.record_error(&shown, "", &reason, event.point);
            return;
        }
        self.call_count += 1;
        self.running.push(RunningCall {
            id: self.call_count,
            record: ScriptRecord {
                at: planned.event_at,
                call: Some(planned.number),
                event_at: Some(planned.event_at),
                ..record(name, &planned.argument, event.point, Some(event.phase))
            },
            shown: (shown, String::new()),
            since: Instant::now(),
            signal: planned.signal.clone(),
            is_waited_for: planned.is_waited_for,
        });
        if let Some(monitor) = &self.monitor {
            monitor.send(self.call_count, planned);
        }
    }

    /// RUN is over: the program that runs during RUN ends.
    pub fn end_with_run(&mut self) {
        if let Some(monitor) = &mut self.monitor {
            monitor.end_with_run();
        }
    }

    fn look_for(&mut self, script: Script, dir: &Path) {
        let path = dir.join(script.file_name());
        match std::fs::metadata(&path) {
            Ok(found) if found.is_file() && is_executable(&found) => {
                self.paths[script as usize] = Some(path);
            }
            Ok(found) => {
                let reason = match found.is_file() {
                    true => "is not executable and is not called (chmod +x)",
                    false => "is no file and is not called",
                };
                self.record_error(&script.file_name(), "", reason, 0);
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                if script == Script::Stat {
                    self.missing = Some(path.display().to_string());
                }
            }
            Err(e) => self.record_error(&script.file_name(), "", &e.to_string(), 0),
        }
    }

    /// Starts a call; does nothing if the script is missing.
    pub fn call(&mut self, call: ScriptCall) {
        let Some(path) = self.paths[call.script as usize].clone() else {
            return;
        };
        self.begun[call.script as usize] = call.argument != "STOP";
        self.call_count += 1;
        let (id, result_sender, signal) = (
            self.call_count,
            self.result_sender.clone(),
            Arc::new(CallSignal::default()),
        );
        let job = ScriptCommand {
            program: path,
            args: vec![call.argument.to_owned()],
            env: Vec::new(),
            until: CallLimit::Limit(self.limit),
            copy: None,
            splits_errors: false,
            signal: signal.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("script".into())
            .spawn(move || {
                let _ = result_sender.send((id, carry_out(job)));
            });
        let name = call.script.file_name();
        match thread {
            Ok(_) => self.running.push(RunningCall {
                id,
                record: record(name.clone(), call.argument, call.point, call.phase),
                shown: (name, call.argument.to_owned()),
                since: Instant::now(),
                signal,
                is_waited_for: true,
            }),
            Err(e) => {
                let reason = format!("cannot start a thread for it: {e}");
                self.record_error(&name, call.argument, &reason, call.point);
            }
        }
    }

    /// Calls the scripts that were called at the beginning of the load with `STOP`.
    pub fn call_stops(&mut self, point: u32) {
        for script in [Script::Stat, Script::Mon] {
            if std::mem::take(&mut self.begun[script as usize]) {
                self.call(ScriptCall {
                    script,
                    argument: "STOP",
                    point,
                    phase: None,
                });
            }
        }
    }

    /// The calls that have ended since the last call of this function. Never waits.
    pub fn take_ended(&mut self) -> Vec<ScriptRecord> {
        let mut records = Vec::new();
        while let Ok((id, ended)) = self.results.try_recv() {
            if let Some(at) = self.running.iter().position(|w| w.id == id) {
                let call = self.running.remove(at);
                records.push(self.take_in(call, ended));
            }
        }
        records
    }

    fn take_in(&mut self, call: RunningCall, ended: CallResult) -> ScriptRecord {
        self.leaders.extend(ended.leader);
        let (shown, argument) = &call.shown;
        if !ended.status.is_ok() {
            let (reason, point) = (ended.status.to_string(), call.record.point);
            self.errors
                .add(shown, argument, &reason, &ended.errors, point);
        }
        let record = ScriptRecord {
            at: ended.at,
            status: ended.status,
            seconds: ended.seconds,
            output: ended.output,
            ..call.record
        };
        self.note_lateness(shown, &record);
        record
    }

    /// Waits until the calls have ended that the run waits for, at most for their limits, or
    /// for a shorter time after a request to stop. `meanwhile` is called every few
    /// milliseconds.
    pub fn wait(&mut self, stop: &StopFlag, meanwhile: &mut dyn FnMut()) -> Vec<ScriptRecord> {
        let mut records = self.take_ended();
        let of_monitor = self.monitor.as_ref().and_then(Monitor::limit);
        let limit = self.limit.max(of_monitor.unwrap_or_default());
        let began = Instant::now();
        let mut stopped: Option<Instant> = None;
        while self.running.iter().any(|w| w.is_waited_for) {
            let is_stopped = stop.is_raised()
                && stopped.get_or_insert_with(Instant::now).elapsed() >= STOP_LIMIT;
            let is_late = began.elapsed() >= limit + MARGIN;
            if is_stopped || is_late {
                self.give_up();
            }
            if began.elapsed() >= limit + MARGIN + 3 * child::TERM_GRACE {
                records.extend(self.abandon());
                break;
            }
            meanwhile();
            std::thread::sleep(child::POLL);
            records.extend(self.take_ended());
        }
        records
    }

    /// The run is over: waits for every call, and ends the processes that calls have left.
    pub fn finish(&mut self, stop: &StopFlag) -> Vec<ScriptRecord> {
        self.end_with_run();
        for call in &mut self.running {
            call.is_waited_for = true;
        }
        let records = self.wait(stop, &mut || {});
        self.end_leftovers();
        records
    }

    fn end_leftovers(&mut self) {
        groups::end(&mut self.leaders);
        self.leaders.clear();
    }

    /// Ends all calls; waiting ones do not begin.
    fn give_up(&self) {
        for call in self.running.iter().filter(|w| w.is_waited_for) {
            call.signal.give_up.store(true, Ordering::Relaxed);
        }
    }

    /// Removes the calls that cannot be ended.
    fn abandon(&mut self) -> Vec<ScriptRecord> {
        let (left, others) = std::mem::take(&mut self.running)
            .into_iter()
            .partition(|w: &RunningCall| w.is_waited_for);
        self.running = others;
        let left: Vec<RunningCall> = left;
        left.into_iter()
            .map(|call| {
                let reason =
                    "does not end although it was killed, and is not waited for any longer";
                let ended = CallResult {
                    at: call.record.at,
                    seconds: call.since.elapsed().as_secs_f64(),
                    ..CallResult::failed(reason.into())
                };
                self.take_in(call, ended)
            })
            .collect()
    }

    fn record_error(&mut self, script: &str, argument: &str, reason: &str, point: u32) {
        self.errors.add(script, argument, reason, "", point);
    }

    /// The findings about the scripts at the end of the run, each once.
    pub fn findings(&self) -> Vec<Finding> {
        // Without any script the user does not use netmist's scripts.
        let any = self.paths.iter().any(Option::is_some) || !self.errors.is_empty();
        let missing = self.missing.iter().filter(|_| any).map(|path| {
            let message = format!(
                "{path} is missing: the manual of netmist asks for a script that collects the server's counters"
            );
            Finding::new(Rule::Script, Severity::Note, message)
        });
        missing.chain(self.errors.findings()).collect()
    }
}

/// Ends all calls, however the run ended.
impl Drop for Scripts {
    fn drop(&mut self) {
        self.end_with_run();
        for call in &mut self.running {
            call.is_waited_for = true;
        }
        self.give_up();
        let deadline = Instant::now() + 3 * child::TERM_GRACE;
        while !self.running.is_empty() && Instant::now() < deadline {
            std::thread::sleep(child::POLL);
            self.take_ended();
        }
        self.end_leftovers();
    }
}

/// The line of a call that begins; the result follows.
fn record(script: String, argument: &str, point: u32, phase: Option<Phase>) -> ScriptRecord {
    ScriptRecord {
        at: Timestamp::now(),
        script,
        argument: argument.to_owned(),
        call: None,
        event_at: None,
        point,
        phase,
        status: ScriptStatus::Exited { code: 0 },
        seconds: 0.0,
        output: String::new(),
    }
}

#[cfg(unix)]
fn is_executable(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}
