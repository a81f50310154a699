//! netmist's scripts (seed 002, sections 17 and 21): programs of the user's that
//! are called at fixed points of a run, each with one argument.
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
//! Every call is a thread, so that the prime's loop never waits for one while load
//! is made. What a call leaves running (a monitor that writes a file) goes on after
//! it; a call that takes longer than the limit is ended with all that it started.

mod call;
#[cfg(test)]
mod tests;

use crate::child;
use call::carry_out;
use filermark_engine::driver::StopFlag;
use filermark_model::plan::ScriptsPlan;
use filermark_model::{Finding, Rule, Severity};
use filermark_results::{Phase, ScriptRecord, ScriptStatus, Timestamp};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Suffix of the scripts' names.
const ENDING: &str = if cfg!(windows) { "cmd" } else { "sh" };
/// What a call may need beyond its limit to be ended.
const MARGIN: Duration = Duration::from_secs(10);
/// What is left to the calls that tidy up after the user wished to stop.
const HURRY: Duration = Duration::from_secs(5);

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
pub struct Call {
    /// Which script.
    pub script: Script,
    /// What it is told.
    pub argument: &'static str,
    /// The load point, from 1; 0: the run as a whole.
    pub point: u32,
    /// The phase that it belongs to.
    pub phase: Option<Phase>,
}

/// The scripts of a run; does nothing without a plan.
pub struct Scripts {
    /// Where each of them is, and its time limit; `None`: is not called.
    paths: [Option<PathBuf>; 3],
    limit: Duration,
    ended: Receiver<ScriptRecord>,
    teller: Sender<ScriptRecord>,
    under_way: Vec<UnderWay>,
    troubles: Vec<Trouble>,
    missing: Option<String>,
    /// Which scripts have to be told of the end of the load.
    begun: [bool; 3],
}

struct UnderWay {
    call: Call,
    at: Timestamp,
    since: Instant,
    give_up: Arc<AtomicBool>,
}

/// A script that could not be called or did not do well, and where.
struct Trouble {
    script: String,
    argument: &'static str,
    reason: String,
    points: Vec<u32>,
}

impl Scripts {
    /// Looks which scripts are there.
    pub fn new(plan: Option<&ScriptsPlan>) -> Self {
        let (teller, ended) = channel();
        let mut scripts = Self {
            paths: [const { None }; 3],
            limit: Duration::from_nanos(plan.map_or(0, |p| p.limit.0)),
            ended,
            teller,
            under_way: Vec::new(),
            troubles: Vec::new(),
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
                self.trouble(&script.file_name(), "", reason, 0);
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                if script == Script::Stat {
                    self.missing = Some(path.display().to_string());
                }
            }
            Err(e) => self.trouble(&script.file_name(), "", &e.to_string(), 0),
        }
    }

    /// Starts a call; does nothing where the script is not there.
    pub fn call(&mut self, call: Call) {
        let Some(path) = self.paths[call.script as usize].clone() else {
            return;
        };
        self.begun[call.script as usize] = call.argument != "STOP";
        let (at, since) = (Timestamp::now(), Instant::now());
        let give_up = Arc::new(AtomicBool::new(false));
        let (teller, limit, hurry) = (self.teller.clone(), self.limit, give_up.clone());
        let thread = std::thread::Builder::new()
            .name("script".into())
            .spawn(move || {
                let (status, output) = carry_out(&path, call.argument, limit, &hurry);
                let _ = teller.send(record(call, at, since, status, output));
            });
        match thread {
            Ok(_) => self.under_way.push(UnderWay {
                call,
                at,
                since,
                give_up,
            }),
            Err(e) => {
                let reason = format!("no thread for it: {e}");
                self.trouble(&call.script.file_name(), call.argument, &reason, call.point);
            }
        }
    }

    /// Tells the scripts that were told of this load point that its load has ended.
    pub fn call_stops(&mut self, point: u32) {
        for script in [Script::Stat, Script::Mon] {
            if std::mem::take(&mut self.begun[script as usize]) {
                self.call(Call {
                    script,
                    argument: "STOP",
                    point,
                    phase: None,
                });
            }
        }
    }

    /// The calls that have ended since it was last asked. Never waits.
    pub fn take_ended(&mut self) -> Vec<ScriptRecord> {
        let records: Vec<_> = self.ended.try_iter().collect();
        for ended in &records {
            self.under_way
                .retain(|w| !(w.at == ended.at && w.call.is_of(ended)));
            self.judge(ended);
        }
        records
    }

    /// Waits till all calls have ended, which their limits see to. The wish to stop
    /// shortens that. `meanwhile` is called every few milliseconds.
    pub fn wait(&mut self, stop: &StopFlag, meanwhile: &mut dyn FnMut()) -> Vec<ScriptRecord> {
        let mut records = self.take_ended();
        let began = Instant::now();
        let mut stopped: Option<Instant> = None;
        while !self.under_way.is_empty() {
            if stop.is_raised() && stopped.get_or_insert_with(Instant::now).elapsed() >= HURRY {
                for call in &self.under_way {
                    call.give_up.store(true, Ordering::Relaxed);
                }
            }
            if began.elapsed() >= self.limit + MARGIN {
                records.extend(self.abandon());
                break;
            }
            meanwhile();
            std::thread::sleep(child::LOOK);
            records.extend(self.take_ended());
        }
        records
    }

    /// Calls that cannot even be ended are left to themselves.
    fn abandon(&mut self) -> Vec<ScriptRecord> {
        let left = std::mem::take(&mut self.under_way);
        let told = left.into_iter().map(|w| {
            let reason = "does not end although it was killed, and is left alone".to_owned();
            let status = ScriptStatus::Failed { reason };
            let told = record(w.call, w.at, w.since, status, String::new());
            self.judge(&told);
            told
        });
        told.collect()
    }

    fn judge(&mut self, ended: &ScriptRecord) {
        if !ended.status.is_ok() {
            let argument = ARGUMENTS.iter().find(|a| **a == ended.argument);
            let reason = ended.status.to_string();
            self.trouble(&ended.script, argument.unwrap_or(&""), &reason, ended.point);
        }
    }

    fn trouble(&mut self, script: &str, argument: &'static str, reason: &str, point: u32) {
        let known = self
            .troubles
            .iter_mut()
            .find(|t| t.script == script && t.argument == argument && t.reason == reason);
        match known {
            Some(known) => known.points.push(point),
            None => self.troubles.push(Trouble {
                script: script.into(),
                argument,
                reason: reason.into(),
                points: vec![point],
            }),
        }
    }

    /// What is to be said of the scripts at the end of the run, each thing once.
    pub fn findings(&self) -> Vec<Finding> {
        // Who has none of them does not think of netmist.
        let any = self.paths.iter().any(Option::is_some) || !self.troubles.is_empty();
        let missing = self.missing.iter().filter(|_| any).map(|path| {
            let message = format!(
                "{path} is missing: the manual of netmist asks for a script that collects the server's counters"
            );
            Finding::new(Rule::Script, Severity::Note, message)
        });
        let troubles = self
            .troubles
            .iter()
            .map(|t| Finding::new(Rule::Script, Severity::Warning, t.to_string()));
        missing.chain(troubles).collect()
    }
}

/// No call outlives the run, however it ended.
impl Drop for Scripts {
    fn drop(&mut self) {
        for call in &self.under_way {
            call.give_up.store(true, Ordering::Relaxed);
        }
        let deadline = Instant::now() + 3 * child::PATIENCE;
        while !self.under_way.is_empty() && Instant::now() < deadline {
            std::thread::sleep(child::LOOK);
            self.take_ended();
        }
    }
}

const ARGUMENTS: [&str; 6] = ["Baseline", "INIT", "RUNNING", "ZERO", "Load", "STOP"];

impl Call {
    fn is_of(&self, ended: &ScriptRecord) -> bool {
        self.argument == ended.argument
            && self.point == ended.point
            && self.script.file_name() == ended.script
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.script)?;
        if !self.argument.is_empty() {
            write!(f, " {}", self.argument)?;
        }
        write!(f, ": {}", self.reason)?;
        let numbers = self.points.iter().filter(|n| **n > 0);
        let numbers: Vec<String> = numbers.map(ToString::to_string).collect();
        match numbers.as_slice() {
            [] => Ok(()),
            [one] => write!(f, " (load point {one})"),
            more => write!(f, " (load points {})", more.join(", ")),
        }
    }
}

fn record(
    call: Call,
    at: Timestamp,
    since: Instant,
    status: ScriptStatus,
    output: String,
) -> ScriptRecord {
    ScriptRecord {
        at,
        script: call.script.file_name(),
        argument: call.argument.into(),
        point: call.point,
        phase: call.phase,
        status,
        seconds: since.elapsed().as_secs_f64(),
        output,
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
