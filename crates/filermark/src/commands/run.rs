//! `run`: runs a sweep.

use crate::cli::{EventsArgs, OutputArgs, RunArgs};
use crate::console::Console;
use crate::energy::CompanionArgs;
use crate::events::{Events, RunEnd, Target};
use crate::gates::Gates;
use crate::live::Facts;
use crate::log_copy::LogCopy;
use crate::metrics::{Metrics, MetricsServer};
use crate::progress::{ProgressMode, ProgressReporter, ProgressStyle};
use crate::{resolve_args, stdout};
use filermark_cli_kit::companion::{Companion, Ended};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::interrupt;
use filermark_cli_kit::view::{print_stderr_line, wrapped};
use filermark_config::{Resolved, Sources};
use filermark_engine::driver::StopFlag;
use filermark_hosts::admin::HostLimits;
use filermark_hosts::admin::install::ensure_installed;
use filermark_hosts::launch::MixedLauncher;
use filermark_hosts::launch::tag::RunTag;
use filermark_hosts::programs::HostSystems;
use filermark_link::links::ThreadLinks;
use filermark_model::input::InputFile;
use filermark_model::units::counted;
use filermark_model::{Finding, Rule, RunPlan, Severity};
use filermark_prime::{Progress, RunOptions, RunOutcome};
use filermark_results::outputs::RECORD;
use filermark_results::record::INTERRUPTED;
use filermark_results::resume::{ResumeError, RunState, run_state};
use filermark_results::{RunRecord, check_record_place};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Runs the sweep that the rc file and the options describe.
pub fn run(args: &RunArgs) -> CommandResult {
    run_sources(args, resolve_args::sources(&args.source)?)
}

/// `search`: [`run`] with LOAD=search. The other parameters of load points have no effect.
pub fn search(args: &RunArgs) -> CommandResult {
    let mut sources = resolve_args::sources(&args.source)?;
    sources.set("search", "LOAD", "search");
    run_sources(args, sources)
}

fn run_sources(args: &RunArgs, mut sources: Sources) -> CommandResult {
    args.lost.set(&mut sources);
    let gates = Gates::open(
        &args.gates,
        &args
            .source
            .rc
            .iter()
            .map(PathBuf::as_path)
            .collect::<Vec<_>>(),
    )?;
    let resolved = resolve_args::resolved_from(&args.source, &sources)?;
    resolve_args::init_tracing(&resolved.debug, args.verbose.verbose);
    if !args.progress.quiet {
        print_findings(&resolved.plan, args.verbose.verbose > 0);
    }
    gates.refuse_other_work(&resolved.plan)?;
    let mode = RunMode {
        goes_on: args.resume,
        gates: Some(&gates),
        progress: args.progress.mode(),
        console: args.console.console.is_some(),
        ..RunMode::anew(&args.setup)
    };
    if args.resume {
        check_resumable(&resolved, &args.setup)?;
    }
    carry_out(resolved, &args.output, &args.events, mode)
}

/// Refuses to resume a run that is complete, failed, or of another plan.
fn check_resumable(resolved: &Resolved, setup: &CompanionArgs) -> Result<(), CommandError> {
    let path = resolved.work_dir.join(RECORD.name(&resolved.suffix));
    let place = path.display();
    let usage = |sentence: String| Err(CommandError::Usage(vec![sentence]));
    if !path.exists() {
        return usage(format!(
            "{place}: there is no run to continue; leave out --resume, or give its suffix (-s) and directory (-d)"
        ));
    }
    let energy = setup.input()?;
    let inputs: Vec<&InputFile> = resolved.inputs.iter().chain(&energy).collect();
    let another = "measure all of it under another suffix (-s)";
    match run_state(&path, &resolved.plan, &inputs, env!("CARGO_PKG_VERSION")) {
        Ok((RunState::Cut | RunState::GoesOn { .. }, record)) => {
            print_stderr_line(continues(&record));
            Ok(())
        }
        Ok((RunState::Done, _)) => usage(format!(
            "{place}: this run is complete: there is nothing to continue; {another}"
        )),
        Ok((RunState::Failed, _)) => usage(format!("{place}: this run has failed; {another}")),
        Err(ResumeError::Read(e)) => usage(e.to_string()),
        Err(e @ ResumeError::OtherPlan { .. }) => usage(format!(
            "{place}: {e}{}; undo that, or {another}",
            e.differences()
        )),
        Err(e @ ResumeError::Changed(_)) => usage(format!(
            "{place}: this run cannot be continued, since {e}; undo that, or {another}"
        )),
    }
}

/// After which load points a run continues.
fn continues(record: &RunRecord) -> String {
    let searched = record.search.len() as u64;
    let measured = record.points.iter().filter(|p| p.measured().is_some());
    match (measured.count(), record.found.is_some(), searched) {
        (0, false, 0) => "the run begins anew: no load point had been measured".to_owned(),
        (0, false, n) => format!("the search continues after {}", counted(n, "load point")),
        (measured, ..) => format!(
            "the run continues after load point {measured} of {}",
            record.run.plan.points.len()
        ),
    }
}

/// Prints the findings of a plan: all of them on request, otherwise the warnings, the notes on
/// settings that the run does not use as they were given, and those on the data that RUN uses.
pub fn print_findings(plan: &RunPlan, all: bool) {
    let is_on_settings = |f: &Finding| matches!(f.rule, Rule::NotStandard | Rule::LoadPoints);
    let is_shown = |f: &Finding| is_on_settings(f) || f.rule == Rule::DataTouched;
    for finding in &plan.findings {
        if all || finding.severity > Severity::Note || is_shown(finding) {
            print_stderr_line(wrapped(&finding.message));
        }
    }
}

/// How a plan is carried out.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunMode<'a> {
    /// The collection of energy data during the run.
    pub companion: Option<&'a CompanionArgs>,
    /// After the last measured load point of the incomplete record of this suffix.
    pub goes_on: bool,
    /// Conditions that the result has to meet.
    pub gates: Option<&'a Gates<'a>>,
    /// What is printed during the run.
    pub progress: ProgressMode,
    /// Print the console of 2014, where the benchmark has one.
    pub console: bool,
}

impl<'a> RunMode<'a> {
    /// From the first load point.
    pub const fn anew(companion: &'a CompanionArgs) -> Self {
        Self {
            companion: Some(companion),
            goes_on: false,
            gates: None,
            progress: ProgressMode::View,
            console: false,
        }
    }
}

/// Runs a plan, prints its summary and the paths of the results, and writes its events.
pub fn carry_out(
    resolved: Resolved,
    output: &OutputArgs,
    wanted: &EventsArgs,
    way: RunMode<'_>,
) -> CommandResult {
    let record = resolved.work_dir.join(RECORD.name(&resolved.suffix));
    // Before any file is made or server contacted.
    if !way.goes_on {
        check_record_place(&record).map_err(|e| CommandError::Usage(vec![e.to_string()]))?;
    }
    let on_stdout = wanted.events == Some(Target::Stdout);
    if on_stdout && output.json {
        let sentence = "--events - and --json both write to standard output: give --events a file";
        return Err(CommandError::Usage(vec![sentence.into()]));
    }
    let facts = Facts::of(&resolved.plan, &resolved.suffix);
    let server = MetricsServer::start(&wanted.metrics)?;
    let metrics = server.as_ref().map(MetricsServer::metrics);
    let mut events = open_events(wanted.events.as_ref(), metrics, &facts)?;
    if let Some(events) = &mut events {
        events.begin(&resolved.plan, &resolved.suffix, &record);
    }
    let style = ProgressStyle {
        mode: way.progress,
        view: !(on_stdout && std::io::stdout().is_terminal()),
        no_color: output.no_color,
        console: way.console,
    };
    let swept = sweep_beside(resolved, facts, style, events.as_mut(), way);
    let finished = swept
        .as_ref()
        .map(|(outcome, collected)| -> Result<_, CommandError> {
            let finished = finish(outcome, output, on_stdout, way.progress);
            let code = finished
                .as_ref()
                .map_or_else(CommandError::code, |done| done.0);
            // Gates are judged also if a file cannot be written.
            let judged = way.gates.map(|gates| gates.judge(&outcome.record, code));
            let (_, page) = finished?;
            if let Some(collected) = collected.as_ref().filter(|_| outcome.earlier_run_kept) {
                collected.discard();
            } else if let Some(collected) = collected {
                let to_stdout = !on_stdout && !output.json;
                collected.report(&outcome.record, &outcome.record_path, to_stdout)?;
            }
            Ok((judged.unwrap_or(Ok(code))?, page))
        });
    let (code, report_path, failure) = match finished {
        Ok(Ok((code, page))) => (code, page, None),
        Ok(Err(failure)) => (failure.code(), None, Some(failure)),
        Err(failure) => (failure.code(), None, Some(failure.clone())),
    };
    let outcome = swept.as_ref().ok().map(|(outcome, _)| outcome);
    let end = RunEnd {
        record: outcome.map(|o| &o.record),
        reason: failure.as_ref().map(CommandError::reason),
        exit_code: code,
        record_path: outcome
            .filter(|o| !o.earlier_run_kept)
            .map(|o| o.record_path.as_path()),
        report_path,
    };
    let mut failure = failure;
    match events.map_or(Ok(None), |events| events.end(end)) {
        Ok(problem) => problem.into_iter().for_each(print_stderr_line),
        Err(why) => failure = failure.or(Some(CommandError::Failed(why))),
    }
    failure.map_or(Ok(ExitCode::from(code)), Err)
}

/// The events, if a file or the metrics want them.
fn open_events(
    target: Option<&Target>,
    metrics: Option<Metrics>,
    facts: &Facts,
) -> Result<Option<Events>, CommandError> {
    if target.is_none() && metrics.is_none() {
        return Ok(None);
    }
    let events = Events::open(target, metrics, facts.clone());
    events.map(Some).map_err(CommandError::Failed)
}

/// Carries out a plan with progress on stderr and writes its files; prints no summary.
///
/// # Errors
/// It could not begin, or has left no record.
pub fn measure(
    resolved: Resolved,
    no_color: bool,
    mode: ProgressMode,
    metrics: Option<Metrics>,
) -> Result<RunOutcome, CommandError> {
    let facts = Facts::of(&resolved.plan, &resolved.suffix);
    let mut events = open_events(None, metrics, &facts)?;
    if let Some(events) = &mut events {
        let record = resolved.work_dir.join(RECORD.name(&resolved.suffix));
        events.begin(&resolved.plan, &resolved.suffix, &record);
    }
    let style = ProgressStyle {
        mode,
        view: true,
        no_color,
        console: false,
    };
    let swept = sweep_beside(resolved, facts, style, events.as_mut(), RunMode::default());
    if let Some(events) = events {
        let outcome = swept.as_ref().ok().map(|(outcome, _)| outcome);
        let failure = swept.as_ref().err();
        let end = RunEnd {
            record: outcome.map(|o| &o.record),
            reason: failure.map(CommandError::reason),
            exit_code: failure.map_or(0, CommandError::code),
            record_path: outcome.map(|o| o.record_path.as_path()),
            report_path: None,
        };
        // Without a file of events there is nothing to report.
        let _ = events.end(end);
    }
    swept.map(|(outcome, _)| outcome)
}

/// The sweep, and the energy data.
fn sweep_beside(
    mut resolved: Resolved,
    facts: Facts,
    style: ProgressStyle,
    events: Option<&mut Events>,
    way: RunMode<'_>,
) -> Result<(RunOutcome, Option<Box<dyn Ended>>), CommandError> {
    let stop = StopFlag::new();
    interrupt::on_interrupt_of_run(
        stop.clone(),
        format!(
            "{INTERRUPTED}: the results so far are kept, files on the server are removed (again: exit at once)"
        ),
        &resolved.stop_command,
        filermark_prime::scripts::end_all_at_once,
    );
    let start = |companion: &CompanionArgs| {
        let (dir, suffix) = (&resolved.work_dir, &resolved.suffix);
        companion.start(dir, suffix, way.goes_on)
    };
    let beside = way.companion.map_or(Ok(None), start)?;
    let ready = match &beside {
        Some(beside) => beside.before_load(&stop),
        None => Ok(()),
    };
    resolved
        .inputs
        .extend(beside.as_ref().map(|beside| beside.input()));
    let around = SweepContext {
        facts,
        style,
        stop,
        goes_on: way.goes_on,
    };
    let swept = ready.and_then(|()| sweep(resolved, around, events, beside.as_deref()));
    let collected = beside.map(Companion::end);
    if let (Err(_), Some(collected)) = (&swept, &collected) {
        collected.discard();
    }
    swept.map(|outcome| (outcome, collected))
}

/// A plan and how to run it.
struct SweepContext {
    facts: Facts,
    style: ProgressStyle,
    stop: StopFlag,
    goes_on: bool,
}

/// Runs the load points with progress on stderr; writes all files.
fn sweep(
    resolved: Resolved,
    around: SweepContext,
    mut events: Option<&mut Events>,
    beside: Option<&dyn Companion>,
) -> Result<RunOutcome, CommandError> {
    let SweepContext {
        facts,
        style,
        stop,
        goes_on,
    } = around;
    let dir = resolved.work_dir.clone();
    let netmist = resolved.netmist.clone();
    // The consoles of 2014 always show the bands; netmist's does on request.
    let bands = netmist.as_ref().is_none_or(|n| n.bands);
    let netmist = netmist.unwrap_or_default();
    let copy = match &netmist.log {
        Some(path) => LogCopy::create(path).map_err(CommandError::Failed)?,
        None => LogCopy::default(),
    };
    let console = Console::new(&resolved.plan, &dir.display().to_string(), bands);
    let console = console.filter(|_| style.console);
    let mut progress_view = ProgressReporter::new(facts, style, console, copy);
    let board = launch(&resolved, &stop, &mut |line| progress_view.problem(line))?;
    let mut is_page_reported = false;
    let options = RunOptions {
        launch: resolved.launch,
        plan: resolved.plan,
        suffix: resolved.suffix,
        stop_command: resolved.stop_command,
        inputs: resolved.inputs,
        goes_on,
        dir: resolved.work_dir,
        client_log_dir: netmist.client_log_dir.clone(),
        heartbeat_log: netmist.heartbeat_log.clone(),
        reports: filermark_report::OUTPUTS,
        stop,
        observe: &mut |progress| {
            let mut failures = Vec::new();
            if let Progress::PointEnded(record, _) = &progress
                && let Err(CommandError::Failed(why)) = stdout::write_shipped_reports(record, &dir)
                && !std::mem::replace(&mut is_page_reported, true)
                && record.points.len() < record.run.plan.points.len()
            {
                // Once, so that it can be repaired meanwhile. The last one is the error of the run.
                failures.push(format!("{why}; tried again after each load point"));
            }
            if let Some(events) = &mut events {
                events.on_progress(&progress);
                failures.extend(events.take_write_error());
            }
            progress_view.on_progress(&progress);
            if let Some(beside) = beside {
                if let Some(events) = &mut events {
                    events.beside(|| beside.power());
                }
                progress_view.beside(|| beside.status());
                failures.extend(beside.take_messages());
            }
            for why in failures {
                progress_view.problem(&why);
            }
        },
    };
    let outcome = filermark_prime::run(options, Box::new(board));
    progress_view.rest();
    outcome.map_err(CommandError::of)
}

/// Begins to start the agents; first installs the program where it is missing.
fn launch(
    resolved: &Resolved,
    stop: &StopFlag,
    print: &mut dyn FnMut(&str),
) -> Result<ThreadLinks, CommandError> {
    let plan = &resolved.launch;
    let tag = RunTag::new(&resolved.suffix).map_err(CommandError::Failed)?;
    let log = resolve_args::log_directives(&resolved.debug, 0);
    let mut systems = HostSystems::default();
    if plan.install {
        let limits = HostLimits {
            stop: stop.clone(),
            ..HostLimits::default()
        };
        let (done, found) = ensure_installed(plan, &limits, &mut |_, _| {}).map_err(|why| {
            match stop.is_raised() {
                true => CommandError::Stopped,
                false => CommandError::Failed(why),
            }
        })?;
        systems = found;
        for host in done {
            print(&format!("{}: {}", host.host, host.detail));
        }
    }
    let launcher = MixedLauncher::new(plan, &tag, log).map_err(CommandError::Failed)?;
    let launcher = launcher.with_systems(systems);
    for line in launcher.to_do_by_hand(plan) {
        print(&line);
    }
    Ok(ThreadLinks::launch(plan, Arc::new(launcher)))
}

/// Prints the summary and the paths of the results. Returns the exit code and the page.
fn finish(
    outcome: &RunOutcome,
    output: &OutputArgs,
    stdout_is_taken: bool,
    mode: ProgressMode,
) -> Result<(u8, Option<PathBuf>), CommandError> {
    let record = &outcome.record;
    let dir = outcome
        .record_path
        .parent()
        .unwrap_or_else(|| std::path::Path::new("."));
    // A run without a load point has no summary; one whose search found none has.
    let is_empty = record.points.is_empty() && record.search.is_empty();
    match (stdout_is_taken, output.json || !is_empty) {
        (_, false) => {}
        (true, true) => stdout::print_summary_to_stderr(record, output),
        (false, true) => stdout::print_summary(record, output),
    }
    if outcome.earlier_run_kept || record.points.is_empty() {
        return without_results(outcome, dir, mode);
    }
    // The summary was printed before, so it is not lost if the disk is full.
    let reports = stdout::write_shipped_reports(record, dir);
    if let Some(why) = &outcome.unwritten {
        return Err(CommandError::of(why));
    }
    let mut reports = reports?.into_iter();
    let page = reports.next();
    if mode != ProgressMode::Quiet {
        print_files(dir, outcome.files.iter().cloned().chain(reports));
        print_stderr_line(format!("record: {}", outcome.record_path.display()));
        if let Some(page) = &page {
            print_stderr_line(format!("report: {}", page.display()));
        }
    }
    print_failure(record);
    Ok((stdout::exit_code(record), page))
}

/// The end of a run without a load point: the reason first, then where the record is, if there
/// is one.
fn without_results(
    outcome: &RunOutcome,
    dir: &Path,
    mode: ProgressMode,
) -> Result<(u8, Option<PathBuf>), CommandError> {
    let record = &outcome.record;
    print_failure(record);
    let is_quiet = mode == ProgressMode::Quiet;
    if is_quiet && outcome.unwritten.is_none() {
        return Ok((stdout::exit_code(record), None));
    }
    if outcome.earlier_run_kept {
        print_stderr_line(format!(
            "record: none; the files of an earlier run '{}' in {} are unchanged",
            record.run.suffix,
            dir.display()
        ));
        return Ok((stdout::exit_code(record), None));
    }
    if let Some(why) = &outcome.unwritten {
        return Err(CommandError::of(why));
    }
    print_files(dir, outcome.files.iter().cloned());
    let why = match record.search.is_empty() {
        true => "no load point was measured",
        false => "the search has found no load",
    };
    print_stderr_line(format!(
        "record: {}; {why}, so there is no report",
        outcome.record_path.display()
    ));
    Ok((stdout::exit_code(record), None))
}

/// Prints the names of the files of results, if there are any.
fn print_files(dir: &Path, files: impl Iterator<Item = PathBuf>) {
    let names = files
        .filter_map(|f| f.file_name().map(ToOwned::to_owned))
        .map(|n| n.to_string_lossy().into_owned());
    let names = names.collect::<Vec<_>>().join(" ");
    if !names.is_empty() {
        print_stderr_line(wrapped(&format!("files in {}: {names}", dir.display())));
    }
}

/// Prints why a run failed.
fn print_failure(record: &RunRecord) {
    if let Some(reason) = stdout::failure_of(record) {
        print_stderr_line(format!("filermark: {reason}"));
    }
}
