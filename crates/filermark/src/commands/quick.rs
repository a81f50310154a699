//! `quick`: an answer about one target in a minute, without an rc file.
//!
//! Each part is an ordinary run of an rc file that is made here, with a record and a report.

mod pace;
mod parts;
mod places;
mod rows;
mod setup;
mod target;

use super::run::measure;
use crate::cli::QuickArgs;
use crate::metrics::{Metrics, MetricsServer};
use crate::resolve_args::{guarded_resolve, init_tracing};
use crate::stdout;
use filermark_cli_kit::exit::{CommandError, CommandResult, NOTHING_COUNTS};
use filermark_cli_kit::files::write_whole;
use filermark_cli_kit::interrupt;
use filermark_cli_kit::view::print_stderr_line;
use filermark_config::{RcFile, Resolved, Sources, inline_procs};
use filermark_model::{Bytes, LoadPoint, units::counted};
use filermark_prime::RunOutcome;
use filermark_results::RunRecord;
use pace::{Pace, is_sized};
use parts::{Part, PartFiles, PartSetup};
use places::{folder_and_name, refuse_saved, result_dir, take_base};
use rows::Row;
use setup::{FREE_SHARE, MIB_MAX, largest_mib, options_of, refuse_many_procs, refuse_no_user};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use target::Target;

/// Procs of a run over NFS or SMB.
const SOCKET_PROCS: u32 = 16;
/// Procs on a directory, for each core, and the most of them.
const PROCS_PER_CORE: usize = 2;
const DIRECTORY_PROCS_MAX: usize = 16;

/// Measures a target in four short parts and prints what it held.
pub fn quick(args: &QuickArgs) -> CommandResult {
    init_tracing(&[], args.verbose.verbose);
    let target = Target::parse(&args.target)?;
    let parts = parts_of(args, &target)?;
    let mut course = Course::begin(args, target, parts)?;
    course.announce();
    let mut rows = Vec::new();
    let mut failure = None;
    for (at, part) in parts.iter().copied().enumerate() {
        match course.run(part, at) {
            Ok((row, ended)) => {
                let is_complete = stdout::failure_of(&ended).is_none();
                rows.push(row);
                if !is_complete {
                    failure = stdout::failure_of(&ended).map(CommandError::Failed);
                    break;
                }
            }
            Err(why) => {
                failure = Some(why);
                break;
            }
        }
        if interrupt::wished() {
            failure = Some(CommandError::Stopped);
            break;
        }
    }
    if args.output.json || rows.iter().any(Row::is_measured) {
        let protocol = course.protocol();
        let target = (&course.target, protocol.as_str());
        rows::print(&args.output, target, &rows, parts.len());
    }
    if rows.iter().any(Row::is_measured) {
        course.print_places();
    }
    match failure {
        Some(why) => Err(why),
        None if rows.iter().any(Row::counts) => Ok(ExitCode::SUCCESS),
        None => Ok(ExitCode::from(NOTHING_COUNTS)),
    }
}

/// The parts: those of every target, or the workload of `-w`, whose operations are those of a
/// mounted file system.
fn parts_of(args: &QuickArgs, target: &Target) -> Result<&'static [Part], CommandError> {
    match (&args.workload, target) {
        (None, _) => Ok(&Part::STANDARD),
        (Some(line), _) if line.trim().is_empty() => Err(CommandError::Usage(vec![
            "-w: there is no operation in it; give one such as read_random=70,write_random=30"
                .into(),
        ])),
        (Some(_), Target::Directory(_)) => Ok(&[Part::Own]),
        (Some(_), _) => Err(CommandError::Usage(vec![format!(
            "-w: its operations are those of a mounted file system, and {} is measured by \
             Filermark's own client: mount it and give the directory, or use `filermark run` \
             with MIXFILE",
            target.name()
        )])),
    }
}

/// The state of a sequence of parts.
struct Course<'a> {
    args: &'a QuickArgs,
    parts: &'static [Part],
    /// Names and values of `-o`.
    options: Vec<(String, String)>,
    target: Target,
    dir: PathBuf,
    /// The beginning of the suffixes and file names.
    base: String,
    procs: u32,
    direct: bool,
    mount_port: Option<u16>,
    /// Free space of the target in bytes, once it is known.
    free_bytes: Option<u64>,
    pace: Pace,
    /// One for all parts.
    server: Option<MetricsServer>,
}

impl<'a> Course<'a> {
    fn begin(
        args: &'a QuickArgs,
        target: Target,
        parts: &'static [Part],
    ) -> Result<Self, CommandError> {
        let options = options_of(args)?;
        refuse_no_user(&target, &options)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (procs, direct, free_bytes) = match &target {
            Target::Directory(path) => (
                (cores * PROCS_PER_CORE).min(DIRECTORY_PROCS_MAX) as u32,
                target::takes_direct(path)?,
                Some(target::free_bytes(path)?),
            ),
            Target::Nfs(_) | Target::Smb { .. } => (SOCKET_PROCS, false, None),
        };
        if let Some(save) = &args.save {
            refuse_saved(save, parts)?;
        }
        let mib = largest_mib(&target, free_bytes)?;
        let is_limited = args.workload.is_none() && free_bytes.is_some();
        let procs = match args.procs {
            Some(wanted) if is_limited => refuse_many_procs(wanted, mib)?,
            Some(wanted) => wanted,
            None if is_limited => procs.min((mib / parts::PROC_MIB_MIN) as u32),
            None => procs,
        };
        let server = MetricsServer::start(&args.metrics)?;
        // Nothing is refused below.
        let dir = result_dir(&args.dir)?;
        let base = take_base(&dir, parts)?;
        let mount_port = target.mount_port();
        Ok(Self {
            args,
            parts,
            options,
            target,
            dir,
            base,
            procs,
            direct,
            mount_port,
            free_bytes,
            pace: Pace::new(args.time, parts.len()),
            server,
        })
    }

    fn protocol(&self) -> String {
        self.target.protocol(&self.options)
    }

    fn metrics(&self) -> Option<Metrics> {
        self.server.as_ref().map(MetricsServer::metrics)
    }

    /// Prints a line on stderr, unless only results are wanted.
    fn report_line(&self, line: String) {
        if !self.args.progress.quiet {
            print_stderr_line(line);
        }
    }

    /// Prints what was chosen.
    fn announce(&self) {
        let io = match (&self.target, self.direct) {
            _ if self.args.workload.is_some() => "",
            (Target::Directory(_), true) => ", data by direct I/O (O_DIRECT)",
            (Target::Directory(_), false) => {
                ", data through this host's memory (the file system has no O_DIRECT)"
            }
            _ => ", by Filermark's own client, without a cache",
        };
        self.report_line(format!(
            "quick: {} ({}){io}",
            self.target.name(),
            self.protocol()
        ));
        let procs = match self.args.workload.as_deref().and_then(inline_procs) {
            Some(procs) => u64::from(procs) * u64::from(self.args.procs.unwrap_or(1)),
            None => u64::from(self.procs),
        };
        self.report_line(format!(
            "  {} on this host, one operation each, as fast as the target answers",
            counted(procs, "proc")
        ));
        let files = match self.args.workload {
            Some(_) => "as the workload says, at most".to_owned(),
            None => format!("at most {MIB_MAX} MiB and"),
        };
        let parts = counted(self.parts.len() as u64, "part");
        let time = match self.options.iter().find(|(name, _)| name == "RUNTIME") {
            Some((_, runtime)) => format!("with RUNTIME={runtime}"),
            None => format!("in about {} s", self.args.time.as_secs()),
        };
        self.report_line(format!(
            "  {parts} {time}; files: {files} 5 % of the free space"
        ));
    }

    /// Runs a part; `at` is its place among them.
    fn run(&mut self, part: Part, at: usize) -> Result<(Row, RunRecord), CommandError> {
        let began = Instant::now();
        let left = self.parts.len() - at;
        let mib_max = largest_mib(&self.target, self.free_bytes)?;
        let proc_mib = match self.target {
            Target::Directory(_) => parts::PROC_MIB_MIN,
            Target::Nfs(_) | Target::Smb { .. } => 1,
        };
        let mib = self.pace.mib(proc_mib * u64::from(self.procs), mib_max);
        let sized_mib = is_sized(part, &self.target).then_some(mib);
        let mut setup = PartSetup {
            line: self.args.workload.as_deref(),
            procs: self.procs,
            mib,
            direct: self.direct,
            mount_port: self.mount_port,
            seconds: self.pace.lengths(left, sized_mib),
            options: &self.options,
        };
        self.report_line(format!(
            "{} of {}: {}",
            at + 1,
            self.parts.len(),
            part.title()
        ));
        if sized_mib.is_some() && mib < mib_max {
            self.report_line(format!(
                "  files of {mib} MiB at most: making more takes too long on this target"
            ));
        }
        let outcome = self.carry_out(part, &mut setup)?;
        self.pace.note(sized_mib, began.elapsed(), &outcome.record);
        self.note_free_space(&outcome.record);
        let row = Row::of(part, &outcome);
        Ok((row, outcome.record))
    }

    fn carry_out(&self, part: Part, setup: &mut PartSetup<'_>) -> Result<RunOutcome, CommandError> {
        let resolved = loop {
            let files = parts::files(part, &self.target, setup, &self.base);
            self.write(&self.dir, &self.rc_name(part), &files)?;
            let discard = |_: &CommandError| self.discard(part, &files);
            let resolved = self.resolve(part, &files).inspect_err(discard)?;
            match self.check_size(part, &resolved) {
                Ok(()) => break resolved,
                // The sizes of a mix are drawn: few files may be large.
                Err(_) if part == Part::Mix && setup.mib > 1 => setup.mib /= 2,
                Err(why) => {
                    self.discard(part, &files);
                    return Err(why);
                }
            }
        };
        self.save(part, setup)?;
        let outcome = measure(
            resolved,
            self.args.output.no_color,
            self.args.progress.mode(),
            self.metrics(),
        )?;
        if let Some(why) = &outcome.unwritten {
            return Err(CommandError::of(why));
        }
        if !outcome.record.points.is_empty() {
            stdout::write_shipped_reports(&outcome.record, &self.dir)?;
        }
        Ok(outcome)
    }

    /// Refuses a file set that is larger than was announced: with many procs, or with `-w`.
    fn check_size(&self, part: Part, resolved: &Resolved) -> Result<(), CommandError> {
        let Some(free) = self.free_bytes else {
            return Ok(());
        };
        let plan = &resolved.plan;
        let size = |point: &LoadPoint| match plan.benchmark.classic() {
            Some(_) => plan.io_bytes(point.requested),
            None => plan.data_set(*point).max_bytes,
        };
        let needed = plan.points.iter().map(size).max().unwrap_or(0);
        let (most, advice) = match self.args.workload {
            Some(_) => (u64::MAX, "lower file_size, files, dirs or procs of -w"),
            None => (MIB_MAX << 20, "lower --procs"),
        };
        let most = most.min(free / FREE_SHARE);
        if needed <= most {
            return Ok(());
        }
        Err(CommandError::Usage(vec![format!(
            "{}: its files take {}, and {} are the most (5 % of the free space, and 256 MiB \
             without -w): {advice}, or use `filermark run`",
            part.title(),
            Bytes(needed),
            Bytes(most)
        )]))
    }

    /// Writes the rc file of a part for `--save`, with names of its own for the files beside it.
    fn save(&self, part: Part, setup: &PartSetup<'_>) -> Result<(), CommandError> {
        let Some(save) = &self.args.save else {
            return Ok(());
        };
        let (folder, name) = folder_and_name(save);
        let files = parts::files(part, &self.target, setup, &name);
        self.write(&folder, &format!("{name}-{}", part.name()), &files)
    }

    /// Removes the files of a part that was refused.
    fn discard(&self, part: Part, files: &PartFiles) {
        let names = files.others.iter().map(|(name, _)| name.clone());
        for name in names.chain([self.rc_name(part)]) {
            let _ = std::fs::remove_file(self.dir.join(name));
        }
    }

    fn rc_name(&self, part: Part) -> String {
        format!("{}-{}.rc", self.base, part.name())
    }

    fn write(&self, folder: &Path, name: &str, files: &PartFiles) -> Result<(), CommandError> {
        std::fs::create_dir_all(folder)
            .map_err(|e| CommandError::Failed(format!("{}: {e}", folder.display())))?;
        let rc = (name.to_owned(), files.rc.clone());
        for (name, text) in std::iter::once(&rc).chain(&files.others) {
            write_whole(&folder.join(name), text.as_bytes()).map_err(CommandError::Failed)?;
        }
        Ok(())
    }

    fn resolve(&self, part: Part, files: &PartFiles) -> Result<Resolved, CommandError> {
        let mut sources = Sources::from_rc(None)?;
        sources.rc = Some(RcFile {
            name: self.dir.join(self.rc_name(part)).display().to_string(),
            folder: self.dir.clone(),
            // The options are set below, so that messages name them, and once.
            text: files.rc[..files.options_at].to_owned(),
            others_can_read: false,
        });
        for (name, value) in &self.options {
            sources.set_option(&format!("{name}={value}"))?;
        }
        if let Some(line) = &self.args.workload {
            sources.set("-w", "WORKLOAD", line);
        }
        sources.set("quick", "SUFFIX", &format!("{}-{}", self.base, part.name()));
        sources.set("quick", "WORK_DIR", &self.dir.display().to_string());
        Ok(guarded_resolve(&sources)?)
    }

    /// Over NFS and SMB the first part has seen how much space is free.
    fn note_free_space(&mut self, record: &RunRecord) {
        if matches!(self.target, Target::Directory(_)) {
            return;
        }
        let spaces = record
            .phases
            .iter()
            .filter_map(|phase| phase.space.as_ref());
        let free = spaces.flat_map(|space| &space.file_systems);
        let free = free.map(|change| change.before_bytes).min();
        self.free_bytes = free.or(self.free_bytes);
    }

    /// Prints where the records and rc files are.
    fn print_places(&self) {
        let dir = self.dir.display();
        let base = &self.base;
        let part = self.parts.get(1).unwrap_or(&self.parts[0]);
        self.report_line(format!(
            "records and reports: {dir}/{base}-*.run.jsonl, {dir}/{base}-*.html"
        ));
        self.report_line(format!(
            "repeat a part: filermark run -r {dir}/{base}-{}.rc -s mine",
            part.name()
        ));
    }
}
