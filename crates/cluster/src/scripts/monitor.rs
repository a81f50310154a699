//! PRIME_MON_SCRIPT (seed 001, section 3.3.1): a program of the user's that runs while
//! RUN does, or that is told of every phase.
//!
//! Calls are carried out by one thread, one after the other, in the order in which they
//! were asked for.

use super::call::{Ended, Job, Until, Wish, carry_out};
use filermark_model::plan::{MonitorMode, MonitorPlan};
use filermark_results::{Phase, Timestamp};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};

/// Calls that wait for their turn at most.
pub(super) const WAITING_MAX: usize = 64;

/// The beginning or the end of a phase.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The phase.
    pub phase: Phase,
    /// Whether it begins; otherwise it ends.
    pub begins: bool,
    /// Requested load in op/s; 0: none.
    pub load: f64,
    /// The load point, from 1; 0: the run as a whole.
    pub point: u32,
}

impl Event {
    fn word(self) -> &'static str {
        match self.begins {
            true => "begin",
            false => "end",
        }
    }
}

/// The program and its thread.
pub(super) struct Monitor {
    plan: MonitorPlan,
    suffix: String,
    copy: Option<File>,
    /// Calls so far.
    count: u32,
    lane: Sender<(u64, Job)>,
    /// The program that runs while RUN does.
    running: Option<Arc<Wish>>,
}

/// A call that is to be made.
pub(super) struct Planned {
    pub argument: String,
    pub number: u32,
    pub wish: Arc<Wish>,
    /// Whether it ends by itself, as a call of the phase mode does; a program that runs
    /// beside RUN is ended.
    pub is_short: bool,
    job: Job,
}

impl Monitor {
    /// What the program prints goes to `sfsmon.SUFFIX` in `dir`, too; `tell` hears of
    /// every call that has ended.
    pub fn new(
        plan: MonitorPlan,
        suffix: &str,
        dir: &Path,
        tell: Sender<(u64, Ended)>,
    ) -> std::io::Result<Self> {
        let (lane, jobs) = channel::<(u64, Job)>();
        let work = move || {
            for (id, job) in jobs {
                let _ = tell.send((id, carry_out(job)));
            }
        };
        std::thread::Builder::new()
            .name("monitor".into())
            .spawn(work)?;
        Ok(Self {
            plan,
            suffix: suffix.into(),
            copy: File::create(dir.join(format!("sfsmon.{suffix}"))).ok(),
            count: 0,
            lane,
            running: None,
        })
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

    /// The call that a phase's begin or end asks for, if it does.
    pub fn plan(&mut self, event: Event) -> Option<Planned> {
        match (self.plan.mode, event.phase, event.begins) {
            (MonitorMode::Phases, _, _) => Some(self.call(event)),
            (MonitorMode::Program, Phase::Run, true) => {
                let planned = self.call(event);
                self.running = Some(planned.wish.clone());
                Some(planned)
            }
            (MonitorMode::Program, Phase::Run, false) => {
                self.end_with_run();
                None
            }
            (MonitorMode::Program, _, _) => None,
        }
    }

    /// RUN has ended, and the program that runs beside it shall.
    pub fn end_with_run(&mut self) {
        if let Some(wish) = self.running.take() {
            wish.run_ended.store(true, Ordering::Relaxed);
        }
    }

    /// Into the thread with a call.
    pub fn send(&self, id: u64, planned: Planned) {
        let _ = self.lane.send((id, planned.job));
    }

    fn call(&mut self, event: Event) -> Planned {
        self.count += 1;
        let is_short = self.plan.mode == MonitorMode::Phases;
        let (phase, now) = (event.phase.name(), Timestamp::now());
        let (load, point) = (format!("{:.0}", event.load), event.point.to_string());
        let mut args = self.plan.args.clone();
        if is_short {
            let added = [
                ("--phase", phase),
                ("--event", event.word()),
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
            true => format!("{phase} {}", event.word()),
            false => phase.to_owned(),
        };
        let number = self.count;
        let head = format!("# call {number}, {now}: {argument}, load point {point}, load {load}");
        let env = vec![
            ("FILERMARK_CALL", number.to_string()),
            ("FILERMARK_TIME", now.to_string()),
            ("FILERMARK_PHASE", phase.to_owned()),
            ("FILERMARK_EVENT", event.word().to_owned()),
            ("FILERMARK_LOAD", load),
            ("FILERMARK_RUN", point),
            ("FILERMARK_SUFFIX", self.suffix.clone()),
        ];
        let wish = Arc::new(Wish::default());
        let copy = self.copy.as_ref().and_then(|file| file.try_clone().ok());
        Planned {
            argument,
            number,
            wish: wish.clone(),
            is_short,
            job: Job {
                program: PathBuf::from(&self.plan.script),
                args,
                env,
                until: self.until(),
                copy: copy.map(|file| (file, head)),
                wish,
            },
        }
    }

    fn until(&self) -> Until {
        match self.plan.mode {
            MonitorMode::Program => Until::EndOfRun,
            MonitorMode::Phases => Until::Limit(self.limit()),
        }
    }

    /// How long a call of a phase may take.
    pub fn limit(&self) -> std::time::Duration {
        let limit = self.plan.limit.unwrap_or(super::LIMIT_DEFAULT);
        std::time::Duration::from_nanos(limit.0)
    }
}
/// The name of a program monitor in a finding.
pub(super) fn shown(name: &str) -> String {
    format!("PRIME_MON_SCRIPT {name}")
}
