//! What `run --energy` does beside the run: collects, and at the end merges and reduces.

use super::merge::{merge_into, run_of};
use super::reduce::{Outputs, print_text};
use filermark_cli_kit::exit::CommandError;
use filermark_cli_kit::view::print_stderr_line;
use filermark_energy::merge::MergeOptions;
use filermark_energy::reduce::{ReduceOptions, reduce_files};
use filermark_energy::setup::Setup;
use filermark_engine::driver::StopFlag;
use filermark_meters::collect::{Collection, Snapshot};
use filermark_model::input::InputFile;
use filermark_results::{RunRecord, read_record};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often somebody looks whether the user wishes to stop.
const LOOK: Duration = Duration::from_millis(50);

/// A collection that goes on beside a run.
pub struct BackgroundCollection {
    collecting: Collection,
    log: PathBuf,
    /// The logs of the pieces before, where the run goes on.
    earlier: Vec<PathBuf>,
    goes_on: bool,
    /// The file that says what is collected.
    input: InputFile,
    idle: Duration,
    /// Whether it was said that the log cannot be written any more.
    told: Cell<bool>,
}

impl BackgroundCollection {
    /// Begins to collect what the file at `setup` says, into SUFFIX.energy.jsonl in `dir`;
    /// where the run `goes_on`, into a further log beside those of the pieces before.
    ///
    /// # Errors
    /// The file makes no sense; a source does not answer; the log is there already.
    pub fn start(
        setup: &Path,
        dir: &Path,
        suffix: &str,
        goes_on: bool,
    ) -> Result<Self, CommandError> {
        let (setup, input) = read_setup(setup)?;
        std::fs::create_dir_all(dir)
            .map_err(|e| CommandError::of(format!("{}: cannot be made: {e}", dir.display())))?;
        let merged = dir.join(format!("{suffix}.merged.jsonl"));
        let (earlier, log, in_the_way) = match goes_on {
            true => {
                let (earlier, next) = logs_of(dir, suffix);
                (earlier, next, Vec::new())
            }
            false => {
                let mut in_the_way = logs_of(dir, suffix).0;
                in_the_way.push(merged);
                (Vec::new(), log_of_piece(dir, suffix, 1), in_the_way)
            }
        };
        for old in &in_the_way {
            if old.exists() {
                return Err(CommandError::Usage(vec![format!(
                    "{} is there already: choose another suffix (-s) or directory (-d), or move it away",
                    old.display()
                )]));
            }
        }
        let collecting =
            Collection::start(&setup, &log, env!("CARGO_PKG_VERSION")).map_err(CommandError::of)?;
        Ok(Self {
            collecting,
            log,
            earlier,
            goes_on,
            input,
            // The first piece has measured the server at rest.
            idle: match goes_on {
                true => Duration::ZERO,
                false => setup.idle,
            },
            told: Cell::new(false),
        })
    }

    /// The file that says what is collected, for the record.
    pub fn input(&self) -> InputFile {
        self.input.clone()
    }

    /// Measures the server at rest, as long as the setup says.
    ///
    /// # Errors
    /// The user wishes to stop.
    pub fn rest(&self, stop: &StopFlag) -> Result<(), CommandError> {
        let began = Instant::now();
        if !self.idle.is_zero() {
            let seconds = self.idle.as_secs_f64();
            print_stderr_line(format!("energy: the server at rest for {seconds} s"));
        }
        while began.elapsed() < self.idle {
            if stop.is_raised() {
                return Err(CommandError::Stopped);
            }
            self.take_messages().for_each(print_stderr_line);
            std::thread::sleep(LOOK.min(self.idle.saturating_sub(began.elapsed())));
        }
        Ok(())
    }

    /// What there is to be seen now.
    pub fn snapshot(&self) -> Snapshot {
        self.collecting.snapshot()
    }

    /// What has happened to the sources since this was asked last.
    pub fn take_messages(&self) -> impl Iterator<Item = String> {
        let news = self.collecting.take_messages().into_iter();
        news.map(|sentence| format!("energy: {sentence}"))
    }

    /// Why nothing is written any more, said once.
    pub fn write_error(&self) -> Option<String> {
        let failure = self.collecting.failure()?;
        let first = !self.told.replace(true);
        first.then(|| format!("energy: {failure}; the run goes on, and nothing more is collected"))
    }

    /// Ends the collection; the log stays, also one that could not be written to its end.
    pub fn end(self) -> CollectedLog {
        self.take_messages().for_each(print_stderr_line);
        let failure = match self.collecting.stop() {
            Ok(summary) => {
                for trouble in &summary.problems {
                    print_stderr_line(format!("energy: {trouble}"));
                }
                None
            }
            Err(error) => Some(CommandError::of(error)),
        };
        CollectedLog {
            log: self.log,
            earlier: self.earlier,
            goes_on: self.goes_on,
            failure,
        }
    }
}

/// What is to be collected, and the file that says so, for the record.
///
/// # Errors
/// The file makes no sense.
pub fn read_setup(path: &Path) -> Result<(Setup, InputFile), CommandError> {
    let read = Setup::read_text(path).and_then(|text| {
        let input = InputFile::of("--energy", path, &text);
        Ok((Setup::parse(&text, path)?, input))
    });
    read.map_err(|e| CommandError::Usage(vec![e.to_string()]))
}

/// The energy log of a piece of a run, from 1: SUFFIX.energy.jsonl, SUFFIX.energy.2.jsonl.
fn log_of_piece(dir: &Path, suffix: &str, piece: u32) -> PathBuf {
    match piece {
        1 => dir.join(format!("{suffix}.energy.jsonl")),
        n => dir.join(format!("{suffix}.energy.{n}.jsonl")),
    }
}

/// The energy logs of all pieces of a run, and the name of a further one.
pub fn logs_of(dir: &Path, suffix: &str) -> (Vec<PathBuf>, PathBuf) {
    let mut found = Vec::new();
    let mut piece = 1;
    loop {
        let log = log_of_piece(dir, suffix, piece);
        match log.exists() {
            true => found.push(log),
            // The first piece may have been without.
            false if piece > 1 => return (found, log),
            false => {}
        }
        piece += 1;
    }
}

/// The log of a run that is over.
pub struct CollectedLog {
    log: PathBuf,
    /// Those of the pieces before.
    earlier: Vec<PathBuf>,
    /// It is of a further piece of a run.
    goes_on: bool,
    /// Why it was not written to its end.
    failure: Option<CommandError>,
}

impl CollectedLog {
    /// Of a run that did not begin, or never came to a load point: removes the log, which
    /// this run has made, and whose name the next one may need. Otherwise says what can be
    /// done with it.
    pub fn forget_failed_start(&self) {
        if self.goes_on {
            // The load points of the record are those of the pieces before.
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

    /// Merges it with the run, reduces it, writes the report beside the record. The tables
    /// are printed on stdout where it is free.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn report(
        &self,
        record: &RunRecord,
        path: &Path,
        to_stdout: bool,
    ) -> Result<(), CommandError> {
        if record.points.is_empty() {
            self.forget_failed_start();
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
