//! PRIME_MON_SCRIPT (manual M, section 3.3.1): a program of the user that runs during RUN,
//! or that is called for every phase.
//!
//! One thread makes the calls, one after the other, in the order of the requests.

use super::call::{CallLimit, CallResult, CallSignal, ScriptCommand, carry_out};
use filermark_model::plan::{MonitorMode, MonitorPlan};
use filermark_results::outputs::SFSMON;
use filermark_results::{Phase, Timestamp};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// The most calls that wait.
pub(super) const WAITING_MAX: usize = 64;

/// The beginning or the end of a phase.
#[derive(Clone, Copy, Debug)]
pub struct PhaseEvent {
    /// The phase.
    pub phase: Phase,
    /// Whether it begins; otherwise it ends.
    pub begins: bool,
    /// Requested load in op/s; 0: none.
    pub load: f64,
    /// The load point, from 1; 0: the run as a whole.
    pub point: u32,
}

impl PhaseEvent {
    fn as_str(self) -> &'static str {
        match self.begins {
            true => "begin",
            false => "end",
        }
    }
}

/// Where the program's output goes, and which calls were made before.
#[derive(Clone, Copy, Debug)]
pub struct MonitorFiles<'a> {
    /// The suffix of the run.
    pub suffix: &'a str,
    /// The result directory.
    pub dir: &'a Path,
    /// The number of the last call, if the run is a resumed one.
    pub earlier_calls: Option<u32>,
}

impl MonitorFiles<'_> {
    /// `sfsmon.SUFFIX`: created, or appended to.
    fn open(&self) -> Result<File, String> {
        let path = self.dir.join(SFSMON.name(self.suffix));
        let opened = match self.earlier_calls {
            None => File::create(&path),
            Some(_) => File::options().append(true).create(true).open(&path),
        };
        let begun = opened.and_then(|mut file| {
            if self.earlier_calls.is_some() {
                writeln!(file, "# the run continues, {}", Timestamp::now())?;
            }
            Ok(file)
        });
        begun.map_err(|e| {
            format!(
                "{}: cannot be written: {e}; of its output only the first 64 KiB of each \
                call are kept, in the record",
                path.display()
            )
        })
    }
}

/// The program and its thread.
pub(super) struct Monitor {
    plan: MonitorPlan,
    suffix: String,
    copy: Option<File>,
    /// The number of the last call.
    count: u32,
    commands: Sender<(u64, ScriptCommand)>,
    /// The program that runs during RUN.
    running: Option<Arc<CallSignal>>,
}

/// A call that is to be made.
pub(super) struct PendingCall {
    pub argument: String,
    pub number: u32,
    /// When the phase began or ended.
    pub event_at: Timestamp,
    pub signal: Arc<CallSignal>,
    /// Whether the run waits for its end before it goes on: a program that runs during RUN
    /// has to end before the next INIT, a call of the phase mode does not.
    pub is_waited_for: bool,
    job: ScriptCommand,
}

impl Monitor {
    /// The program's output also goes to `sfsmon.SUFFIX`; `results` gets the result of every
    /// call. The second value: why there is no such file.
    pub fn new(
        plan: MonitorPlan,
        files: MonitorFiles<'_>,
        results: Sender<(u64, CallResult)>,
    ) -> io::Result<(Self, Option<String>)> {
        let (commands, jobs) = channel::<(u64, ScriptCommand)>();
        let work = move || {
            for (id, job) in jobs {
                let _ = results.send((id, carry_out(job)));
            }
        };
        std::thread::Builder::new()
            .name("monitor".into())
            .spawn(work)?;
        let (copy, open_error) = match files.open() {
            Ok(file) => (Some(file), None),
            Err(why) => (None, Some(why)),
        };
        let monitor = Self {
            plan,
            suffix: files.suffix.into(),
            copy,
            count: files.earlier_calls.unwrap_or(0),
            commands,
            running: None,
        };
        Ok((monitor, open_error))
    }

    /// Its name in messages.
    pub fn shown(&self) -> String {
        shown(&self.name())
    }

    /// Its name in the record.
    pub fn name(&self) -> String {
        let name = Path::new(&self.plan.script).file_name();
        name.map_or_else(
            || self.plan.script.clone(),
            |n| n.to_string_lossy().into_owned(),
        )
    }

    /// The call that is due at the beginning or end of a phase, if any.
    pub fn plan(&mut self, event: PhaseEvent) -> Option<PendingCall> {
        match (self.plan.mode, event.phase, event.begins) {
            (MonitorMode::Phases, _, _) => Some(self.call(event)),
            (MonitorMode::Program, Phase::Run, true) => {
                let planned = self.call(event);
                self.running = Some(planned.signal.clone());
                Some(planned)
            }
            (MonitorMode::Program, Phase::Run, false) => {
                self.end_with_run();
                None
            }
            (MonitorMode::Program, _, _) => None,
        }
    }

    /// RUN has ended: ends the program that runs during RUN.
    pub fn end_with_run(&mut self) {
        if let Some(signal) = self.running.take() {
            signal.run_ended.store(true, Ordering::Relaxed);
        }
    }

    /// Queues a call for the thread.
    pub fn send(&self, id: u64, planned: PendingCall) {
        let _ = self.commands.send((id, planned.job));
    }

    fn call(&mut self, event: PhaseEvent) -> PendingCall {
        self.count += 1;
        let is_short = self.plan.mode == MonitorMode::Phases;
        let (phase, now) = (event.phase.name(), Timestamp::now());
        let (load, point) = (format!("{:.0}", event.load), event.point.to_string());
        let mut args = self.plan.args.clone();
        if is_short {
            let added = [
                ("--phase", phase),
                ("--event", event.as_str()),
                ("--load", &load),
                ("--run", &point),
                ("--suffix", &self.suffix),
            ];
            args.extend(
                added
                    .iter()
                    .flat_map(|(name, value)| [*name, *value])
                    .map(Into::into),
            );
        }
        let argument = match is_short {
            true => format!("{phase} {}", event.as_str()),
            false => phase.to_owned(),
        };
        let number = self.count;
        let head = format!("# call {number}, {now}: {argument}, load point {point}, load {load}");
        let env = vec![
            ("FILERMARK_CALL", number.to_string()),
            ("FILERMARK_TIME", now.to_string()),
            ("FILERMARK_PHASE", phase.to_owned()),
            ("FILERMARK_EVENT", event.as_str().to_owned()),
            ("FILERMARK_LOAD", load),
            ("FILERMARK_RUN", point),
            ("FILERMARK_SUFFIX", self.suffix.clone()),
        ];
        let signal = Arc::new(CallSignal::default());
        let copy = self.copy.as_ref().and_then(|file| file.try_clone().ok());
        PendingCall {
            argument,
            number,
            event_at: now,
            signal: signal.clone(),
            is_waited_for: !is_short,
            job: ScriptCommand {
                program: PathBuf::from(&self.plan.script),
                args,
                env,
                until: self.until(),
                copy: copy.map(|file| (file, head)),
                splits_errors: true,
                signal,
            },
        }
    }

    fn until(&self) -> CallLimit {
        self.limit().map_or(CallLimit::EndOfRun, CallLimit::Limit)
    }

    /// How long a call of a phase may take; a program that runs during RUN has no limit.
    pub fn limit(&self) -> Option<Duration> {
        match self.plan.mode {
            MonitorMode::Program => None,
            MonitorMode::Phases => {
                let limit = self.plan.limit.unwrap_or(super::LIMIT_DEFAULT);
                Some(Duration::from_nanos(limit.0))
            }
        }
    }
}
/// The name of the program in a finding.
pub(super) fn shown(name: &str) -> String {
    format!("PRIME_MON_SCRIPT {name}")
}
