//! `run`: the sweep.

use super::energy::{Beside, Collected};
use crate::cli::{EventsArgs, OutputArgs, RunArgs};
use crate::console::Console;
use crate::copies::Copy;
use crate::events::{Events, RunEnd, Target};
use crate::exit::{Ended, Failure};
use crate::live::{Facts, say_line};
use crate::talk::{Talk, TalkStyle};
use crate::{interrupt, plain, product};
use filermark_config::Resolved;
use filermark_engine::driver::StopFlag;
use filermark_hosts::admin::HostLimits;
use filermark_hosts::admin::install::ensure_installed;
use filermark_hosts::launch::EveryLauncher;
use filermark_hosts::launch::tag::RunTag;
use filermark_link::switchboard::Lines;
use filermark_model::Severity;
use filermark_prime::{Progress, RunOptions, RunOutcome};
use filermark_results::{RunRecord, check_record_place};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Runs the sweep that the rc file and the options describe.
pub fn run(args: &RunArgs) -> Ended {
    let mut sources = plain::sources(&args.source)?;
    args.lost.set(&mut sources);
    let resolved = plain::resolved_from(&args.source, &sources)?;
    plain::listen_to_rooms(&resolved.debug, args.verbose.verbose);
    for finding in &resolved.plan.findings {
        if finding.severity > Severity::Note || args.verbose.verbose > 0 {
            say_line(&finding.message);
        }
    }
    carry_out(
        resolved,
        &args.output,
        &args.events,
        Way::anew(args.setup.energy.as_deref()),
    )
}

/// How a plan is carried out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Way<'a> {
    /// The file that says what is collected beside.
    pub energy: Option<&'a Path>,
    /// Behind the last measured load point of the record of this suffix, which was cut.
    pub goes_on: bool,
}

impl<'a> Way<'a> {
    /// From the first load point.
    pub const fn anew(energy: Option<&'a Path>) -> Self {
        Self {
            energy,
            goes_on: false,
        }
    }
}

/// Carries a plan out, prints its summary, and says where everything is. Whoever
/// reads the events hears of it.
pub fn carry_out(
    resolved: Resolved,
    output: &OutputArgs,
    wanted: &EventsArgs,
    way: Way<'_>,
) -> Ended {
    let record = resolved
        .work_dir
        .join(format!("{}.run.jsonl", resolved.suffix));
    // Before anything is made or asked.
    if !way.goes_on {
        check_record_place(&record).map_err(|e| Failure::Usage(vec![e.to_string()]))?;
    }
    let on_stdout = wanted.events == Some(Target::Stdout);
    if on_stdout && output.json {
        let sentence = "--events - and --json both want standard output: give --events a file";
        return Err(Failure::Usage(vec![sentence.into()]));
    }
    let facts = Facts::of(&resolved.plan, &resolved.suffix);
    let open = |target: &Target| Events::open(target, facts.clone()).map_err(Failure::Failed);
    let mut events = wanted.events.as_ref().map(open).transpose()?;
    if let Some(events) = &mut events {
        events.begin(&resolved.plan, &resolved.suffix, &record);
    }
    let style = TalkStyle {
        view: !(on_stdout && std::io::stdout().is_terminal()),
        no_color: output.no_color,
    };
    let swept = sweep_beside(resolved, facts, style, events.as_mut(), way);
    let finished = swept
        .as_ref()
        .map(|(outcome, collected)| -> Result<_, Failure> {
            let done = finish(outcome, output, on_stdout)?;
            if let Some(collected) = collected.as_ref().filter(|_| outcome.earlier_stays) {
                collected.forget_failed_start();
            } else if let Some(collected) = collected {
                let to_stdout = !on_stdout && !output.json;
                collected.report(&outcome.record, &outcome.record_path, to_stdout)?;
            }
            Ok(done)
        });
    let (code, report_path, failure) = match finished {
        Ok(Ok((code, page))) => (code, page, None),
        Ok(Err(failure)) => (failure.code(), None, Some(failure)),
        Err(failure) => (failure.code(), None, Some(failure.clone())),
    };
    let outcome = swept.as_ref().ok().map(|(outcome, _)| outcome);
    let end = RunEnd {
        record: outcome.map(|o| &o.record),
        reason: failure.as_ref().map(Failure::reason),
        exit_code: code,
        record_path: outcome
            .filter(|o| !o.earlier_stays)
            .map(|o| o.record_path.as_path()),
        report_path,
    };
    let mut failure = failure;
    match events.map_or(Ok(None), |events| events.end(end)) {
        Ok(trouble) => trouble.into_iter().for_each(say_line),
        Err(why) => failure = failure.or(Some(Failure::Failed(why))),
    }
    failure.map_or(Ok(ExitCode::from(code)), Err)
}

/// The sweep, and what was collected beside it.
fn sweep_beside(
    mut resolved: Resolved,
    facts: Facts,
    style: TalkStyle,
    events: Option<&mut Events>,
    way: Way<'_>,
) -> Result<(RunOutcome, Option<Collected>), Failure> {
    let stop = StopFlag::new();
    interrupt::on_interrupt_of_run(
        stop.clone(),
        "stopping: the results so far are kept, what was made on the server is removed (again: leave at once)",
        &resolved.stop_command,
    );
    let start = |setup: &Path| {
        let (dir, suffix) = (&resolved.work_dir, &resolved.suffix);
        Beside::start(setup, dir, suffix, way.goes_on)
    };
    let beside = way.energy.map(start).transpose()?;
    let rested = beside.as_ref().map_or(Ok(()), |beside| beside.rest(&stop));
    resolved.inputs.extend(beside.as_ref().map(Beside::input));
    let around = Around {
        facts,
        style,
        stop,
        goes_on: way.goes_on,
    };
    let swept = rested.and_then(|()| sweep(resolved, around, events, beside.as_ref()));
    let collected = beside.map(Beside::end);
    if let (Err(_), Some(collected)) = (&swept, &collected) {
        collected.forget_failed_start();
    }
    swept.map(|outcome| (outcome, collected))
}

/// What a sweep needs besides its plan.
struct Around {
    facts: Facts,
    style: TalkStyle,
    stop: StopFlag,
    goes_on: bool,
}

/// Makes the load points with the talk on stderr; writes all files.
fn sweep(
    resolved: Resolved,
    around: Around,
    mut events: Option<&mut Events>,
    beside: Option<&Beside>,
) -> Result<RunOutcome, Failure> {
    let Around {
        facts,
        style,
        stop,
        goes_on,
    } = around;
    let dir = resolved.work_dir.clone();
    let netmist = resolved.netmist.clone();
    // The consoles of 2014 always show the bands; netmist's does when asked to.
    let bands = netmist.as_ref().is_none_or(|n| n.bands);
    let netmist = netmist.unwrap_or_default();
    let copy = match &netmist.log {
        Some(path) => Copy::create(path).map_err(Failure::Failed)?,
        None => Copy::default(),
    };
    let console = Console::new(&resolved.plan, &dir.display().to_string(), bands);
    let mut talk = Talk::new(facts, style, console, copy);
    let board = launch(&resolved, &stop, &mut |line| talk.line(line))?;
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
        stop,
        observe: &mut |progress| {
            let mut troubles = Vec::new();
            if let Progress::PointEnded(record, _) = &progress
                && let Err(Failure::Failed(why)) = product::write_html(record, &dir)
            {
                troubles.push(why);
            }
            if let Some(events) = &mut events {
                events.hear(&progress);
                troubles.extend(events.trouble());
            }
            talk.hear(&progress);
            if let Some(beside) = beside {
                talk.see(|| beside.snapshot());
                troubles.extend(beside.trouble());
                troubles.extend(beside.news());
            }
            for why in troubles {
                talk.line(&why);
            }
        },
    };
    let outcome = filermark_prime::run(options, Box::new(board));
    talk.rest();
    outcome.map_err(Failure::of)
}

/// Begins to start the agents; first brings the program to where it is missing.
fn launch(
    resolved: &Resolved,
    stop: &StopFlag,
    say: &mut dyn FnMut(&str),
) -> Result<Lines, Failure> {
    let plan = &resolved.launch;
    let tag = RunTag::new(&resolved.suffix).map_err(Failure::Failed)?;
    let log = plain::log_directives(&resolved.debug, 0);
    if plan.install {
        let limits = HostLimits {
            stop: stop.clone(),
            ..HostLimits::default()
        };
        let done = ensure_installed(plan, &limits, &mut |_, _| {}).map_err(|why| {
            match stop.is_raised() {
                true => Failure::Stopped,
                false => Failure::Failed(why),
            }
        })?;
        for host in done {
            say(&format!("{}: {}", host.host, host.detail));
        }
    }
    let launcher = EveryLauncher::new(plan, &tag, log).map_err(Failure::Failed)?;
    for line in launcher.to_do_by_hand(plan) {
        say(&line);
    }
    Ok(Lines::launch(plan, Arc::new(launcher)))
}

/// Prints the summary and says where everything is. Gives the exit code and the page.
fn finish(
    outcome: &RunOutcome,
    output: &OutputArgs,
    stdout_is_taken: bool,
) -> Result<(u8, Option<PathBuf>), Failure> {
    let record = &outcome.record;
    let dir = outcome
        .record_path
        .parent()
        .unwrap_or_else(|| std::path::Path::new("."));
    // A run that never came to a load point has nothing to sum up.
    match (stdout_is_taken, output.json || !record.points.is_empty()) {
        (_, false) => {}
        (true, true) => product::tell_summary(record, output),
        (false, true) => product::print_summary(record, output),
    }
    if outcome.earlier_stays {
        say_line(format!(
            "record: none; files of an earlier run '{}' are in {} and stay as they were",
            record.run.suffix,
            dir.display()
        ));
        tell_failure(record);
        return Ok((product::exit_code(record), None));
    }
    // The result has been told, whatever the room for files.
    let page = product::write_html(record, dir);
    if let Some(why) = &outcome.unwritten {
        return Err(Failure::of(why));
    }
    let page = page?;
    let names = outcome
        .files
        .iter()
        .filter_map(|f| f.file_name())
        .map(|n| n.to_string_lossy());
    let names = names.collect::<Vec<_>>().join(" ");
    say_line(format!("files in {}: {names}", dir.display()));
    say_line(format!("record: {}", outcome.record_path.display()));
    say_line(format!("report: {}", page.display()));
    tell_failure(record);
    Ok((product::exit_code(record), Some(page)))
}

/// Why a run failed, last on stderr.
fn tell_failure(record: &RunRecord) {
    if let Some(reason) = product::failure_of(record) {
        say_line(format!("filermark: {reason}"));
    }
}
