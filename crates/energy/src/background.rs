//! What `run --energy` collects during a run; after the run it is merged and reduced.

use crate::live::CollectionStatus;
use crate::merge::{merge_into, run_of};
use crate::reduce::{Outputs, print_text};
use filermark_cli_kit::companion::{Companion, Ended, Power, Status};
use filermark_cli_kit::exit::CommandError;
use filermark_cli_kit::view::print_stderr_line;
use filermark_energy_data::merge::MergeOptions;
use filermark_energy_data::reduce::{ReduceOptions, reduce_files};
use filermark_energy_data::setup::Setup;
use filermark_energy_meters::collect::Collection;
use filermark_engine::driver::StopFlag;
use filermark_model::input::InputFile;
use filermark_results::{RunRecord, read_record};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the stop flag and the messages are polled before the first load point.
const POLL: Duration = Duration::from_millis(50);

/// A collection during a run.
pub struct BackgroundCollection {
    collecting: Collection,
    log: PathBuf,
    /// The logs of the earlier parts of a run that is resumed.
    earlier: Vec<PathBuf>,
    is_resumed: bool,
    /// The energy setup.
    input: InputFile,
    idle: Duration,
    /// The failure of the log has been reported.
    is_failure_reported: Cell<bool>,
}

impl BackgroundCollection {
    /// Starts to collect what the setup at `setup` names, into SUFFIX.energy.jsonl in `dir`.
    /// A resumed run gets another log next to those of its earlier parts.
    ///
    /// # Errors
    /// The setup is wrong, a source does not answer, or the log exists already.
    pub fn start(
        setup: &Path,
        dir: &Path,
        suffix: &str,
        is_resumed: bool,
    ) -> Result<Self, CommandError> {
        let (setup, input) = read_setup(setup)?;
        std::fs::create_dir_all(dir)
            .map_err(|e| CommandError::of(format!("{}: cannot be created: {e}", dir.display())))?;
        let (earlier, log) = if is_resumed {
            logs_of(dir, suffix)
        } else {
            let mut older = logs_of(dir, suffix).0;
            older.push(dir.join(format!("{suffix}.merged.jsonl")));
            if let Some(old) = older.iter().find(|old| old.exists()) {
                return Err(CommandError::Usage(vec![format!(
                    "{} exists already: choose another suffix (-s) or directory (-d), or move it away",
                    old.display()
                )]));
            }
            (Vec::new(), log_of_part(dir, suffix, 1))
        };
        let collecting =
            Collection::start(&setup, &log, env!("CARGO_PKG_VERSION")).map_err(CommandError::of)?;
        // The idle power was measured before the first part.
        let idle = if is_resumed {
            Duration::ZERO
        } else {
            setup.idle
        };
        Ok(Self {
            collecting,
            log,
            earlier,
            is_resumed,
            input,
            idle,
            is_failure_reported: Cell::new(false),
        })
    }

    fn print_messages(&self) {
        let messages = self.collecting.take_messages().into_iter();
        messages.for_each(|message| print_stderr_line(format!("energy: {message}")));
    }
}

impl Companion for BackgroundCollection {
    fn input(&self) -> InputFile {
        self.input.clone()
    }

    /// Measures the idle server for the time that the setup names.
    fn before_load(&self, stop: &StopFlag) -> Result<(), CommandError> {
        let began = Instant::now();
        if !self.idle.is_zero() {
            let seconds = self.idle.as_secs_f64();
            print_stderr_line(format!("energy: measuring the idle server for {seconds} s"));
        }
        while began.elapsed() < self.idle {
            if stop.is_raised() {
                return Err(CommandError::Stopped);
            }
            self.print_messages();
            std::thread::sleep(POLL.min(self.idle.saturating_sub(began.elapsed())));
        }
        Ok(())
    }

    fn power(&self) -> Power {
        let now = self.collecting.snapshot();
        Power {
            power_w: now.power_w,
            client_power_w: now.client_power_w,
        }
    }

    fn status(&self) -> Box<dyn Status> {
        Box::new(CollectionStatus(self.collecting.snapshot()))
    }

    fn take_messages(&self) -> Vec<String> {
        let messages = self.collecting.take_messages().into_iter();
        let mut messages: Vec<String> = messages.map(|text| format!("energy: {text}")).collect();
        if let Some(failure) = self.collecting.failure()
            && !self.is_failure_reported.replace(true)
        {
            messages.push(format!(
                "energy: {failure}; the run continues, and nothing more is collected"
            ));
        }
        messages
    }

    /// The log is kept, even if it is incomplete.
    fn end(self: Box<Self>) -> Box<dyn Ended> {
        self.print_messages();
        let failure = match self.collecting.stop() {
            Ok(summary) => {
                for problem in &summary.problems {
                    print_stderr_line(format!("energy: {problem}"));
                }
                None
            }
            Err(error) => Some(CommandError::of(error)),
        };
        Box::new(CollectedLog {
            log: self.log,
            earlier: self.earlier,
            is_resumed: self.is_resumed,
            failure,
        })
    }
}

/// The energy setup at `path`, and its entry in the run record.
///
/// # Errors
/// The setup is wrong.
pub fn read_setup(path: &Path) -> Result<(Setup, InputFile), CommandError> {
    let read = Setup::read_text(path).and_then(|text| {
        let input = InputFile::of("--energy", path, &text);
        Ok((Setup::parse(&text, path)?, input))
    });
    read.map_err(|e| CommandError::Usage(vec![e.to_string()]))
}

/// The energy log of a part of a run, from 1: SUFFIX.energy.jsonl, SUFFIX.energy.2.jsonl.
fn log_of_part(dir: &Path, suffix: &str, part: u32) -> PathBuf {
    match part {
        1 => dir.join(format!("{suffix}.energy.jsonl")),
        n => dir.join(format!("{suffix}.energy.{n}.jsonl")),
    }
}

/// The energy logs of all parts of a run, and the name of the next.
pub fn logs_of(dir: &Path, suffix: &str) -> (Vec<PathBuf>, PathBuf) {
    let mut found = Vec::new();
    let mut part = 1;
    loop {
        let log = log_of_part(dir, suffix, part);
        match log.exists() {
            true => found.push(log),
            // The first part of a run may have no log.
            false if part > 1 => return (found, log),
            false => {}
        }
        part += 1;
    }
}

/// The log of a run that has ended.
struct CollectedLog {
    log: PathBuf,
    /// The logs of the earlier parts.
    earlier: Vec<PathBuf>,
    is_resumed: bool,
    /// Why it is incomplete.
    failure: Option<CommandError>,
}

impl Ended for CollectedLog {
    /// Removes the log, so that its name is free for the next run. Where the record has load
    /// points, the log is kept, and the command that merges both is printed.
    fn discard(&self) {
        if self.is_resumed {
            // The load points of the record are those of the earlier parts.
            let _ = std::fs::remove_file(&self.log);
            return;
        }
        let record = self.log.with_extension("").with_extension("run.jsonl");
        match read_record(&record) {
            Ok(read) if !read.points.is_empty() => print_stderr_line(format!(
                "energy: {} stays; filermark energy merge {} {}",
                self.log.display(),
                record.display(),
                self.log.display()
            )),
            _ => {
                let _ = std::fs::remove_file(&self.log);
            }
        }
    }

    /// Merges the log with the record, reduces both, and writes the report next to the record.
    fn report(&self, record: &RunRecord, path: &Path, to_stdout: bool) -> Result<(), CommandError> {
        if record.points.is_empty() {
            self.discard();
            return self.failure.clone().map_or(Ok(()), Err);
        }
        let name = |ending: &str| path.with_file_name(format!("{}{ending}", record.run.suffix));
        let merged = name(".merged.jsonl");
        let runs = [run_of(record, 0, path)];
        let mut logs = self.earlier.clone();
        logs.push(self.log.clone());
        merge_into(&runs, &logs, &MergeOptions::default(), &merged, true)?;
        let reduction = reduce_files(std::slice::from_ref(&merged), &ReduceOptions::default())
            .map_err(CommandError::of)?;
        Outputs::named(&name(".energy")).write(&reduction)?;
        if to_stdout {
            print_text(&reduction);
        }
        self.failure.clone().map_or(Ok(()), Err)
    }
}
