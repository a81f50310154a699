//! `energy collect`.

use crate::args::CollectArgs;
use crate::live::{self, CollectionContent};
use crate::setup::{self, ExtraSources};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::view::{self, LiveView, print_stderr_line};
use filermark_cli_kit::{interrupt, output};
use filermark_energy_data::log::{ClockFacts, WriteError};
use filermark_energy_data::setup::{Setup, SourceSetup, SourceSpec};
use filermark_energy_meters::collect::{Collection, Summary};
use filermark_engine::driver::StopFlag;
use filermark_link::wall_offset;
use filermark_model::units::counted;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How often the view is updated.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How often a status line is printed where there is no view.
const STATUS_INTERVAL: Duration = Duration::from_secs(10);

/// Collects until it is interrupted, or for as long as was asked.
pub fn collect(args: &CollectArgs) -> CommandResult {
    let setup = setup(args)?;
    if args.output.exists() {
        return Err(CommandError::Usage(vec![
            WriteError::Exists(args.output.clone()).to_string(),
        ]));
    }
    let host_clock = match &args.clock {
        Some(place) => host_clock(place)?,
        None => ClockFacts::default(),
    };
    let stop = StopFlag::new();
    interrupt::on_interrupt_alone(stop.clone(), "ending; every source is read once more");
    let version = env!("CARGO_PKG_VERSION");
    let collecting = Collection::start_with_clock(&setup, &args.output, version, &host_clock)
        .map_err(CommandError::of)?;
    if !args.quiet {
        print_setup(&setup, args, &collecting, &host_clock);
    }
    let failure = watch(args, &collecting, &stop);
    let last = collecting.snapshot();
    let simulated = last.sources.iter().any(|s| s.simulated);
    if !args.quiet {
        // The view was removed from the terminal; keep its last figures.
        print_stderr_line(format!("last: {}", live::status_line(&last)));
    }
    let summary = collecting.stop().map_err(CommandError::of);
    if let Some(failure) = failure {
        return Err(CommandError::Failed(failure));
    }
    let summary = summary?;
    let sources = setup.meters.len() + setup.sensors.len() + usize::from(setup.sflow.is_some());
    print(args, &summary, sources, simulated);
    Ok(ExitCode::SUCCESS)
}

/// The file and the options together.
fn setup(args: &CollectArgs) -> Result<Setup, CommandError> {
    let (meters, client_meters) = (
        specs("--meter", &args.meter)?,
        specs("--client-meter", &args.client_meter)?,
    );
    let sensors = specs("--temp", &args.temp)?;
    let also = ExtraSources {
        sflow: args.sflow,
        ports: &args.ports,
        meters: &meters,
        client_meters: &client_meters,
        sensors: &sensors,
        interval: args.interval,
    };
    let setup = setup::read(args.setup.energy.as_deref(), &also)?;
    if setup.sflow.is_none() && setup.meters.is_empty() && setup.sensors.is_empty() {
        return Err(CommandError::Usage(vec![
    "nothing to collect: name the sources in a file (--energy FILE) or by options: --sflow ADDR:PORT, --meter SOURCE, --client-meter SOURCE, --temp SOURCE".into(),
        ]));
    }
    Ok(setup)
}

/// Sources of an option. They are read here since clap shows what was typed where it is
/// wrong, with its password.
fn specs(option: &str, words: &[String]) -> Result<Vec<SourceSpec>, CommandError> {
    let read = |word: &String| {
        let spec = word.parse::<SourceSpec>();
        spec.map_err(|error| CommandError::Usage(vec![format!("{option} {error}")]))
    };
    words.iter().map(read).collect()
}

/// The offset between this host's clock and the prime's.
fn host_clock(place: &str) -> Result<ClockFacts, CommandError> {
    let bad = || {
        let sentence =
            format!("--clock \"{place}\": give HOST:PORT of `filermark clock` on the prime");
        CommandError::Usage(vec![sentence])
    };
    let (host, port) = place.rsplit_once(':').ok_or_else(bad)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port: u16 = port.parse().map_err(|_| bad())?;
    if host.is_empty() || port == 0 {
        return Err(bad());
    }
    let offset = wall_offset(host, port).map_err(|why| {
        CommandError::Failed(format!(
            "--clock: {why}; is `filermark clock` running on the prime?"
        ))
    })?;
    Ok(ClockFacts {
        offset_s: offset.offset_s,
        bound_s: Some(offset.bound_s),
        how: format!("this host's clock against {place} at the beginning"),
        ..ClockFacts::default()
    })
}

/// What is collected, and where it goes.
fn print_setup(setup: &Setup, args: &CollectArgs, collecting: &Collection, clock: &ClockFacts) {
    if let Some(listens) = collecting.listens() {
        let chosen = setup.sflow.as_ref().map_or(0, |sflow| sflow.ports.len());
        print_stderr_line(format!("listening for sFlow on udp://{listens}"));
        if chosen == 0 {
            print_stderr_line(
                "no interface is chosen (--ports): all are written, and `energy merge --ports` may choose later",
            );
        }
    }
    let print_source = |what: &str, source: &SourceSetup| {
        let seconds = source.interval.as_secs_f64();
        print_stderr_line(format!(
            "{what} {}: {} every {seconds} s",
            source.name, source.at
        ));
    };
    for meter in &setup.meters {
        print_source(&format!("meter ({})", meter.role.name()), meter);
    }
    for sensor in &setup.sensors {
        print_source("sensor", sensor);
    }
    if let Some(bound_s) = clock.bound_s {
        print_stderr_line(format!(
            "the prime's clock is {:+.6} s from this host's, within {bound_s:.6} s",
            clock.offset_s
        ));
    }
    print_stderr_line(format!("writing {}; Ctrl-C ends it", args.output.display()));
}

/// Shows the collection until it ends. Returns the reason if it ended too early.
fn watch(args: &CollectArgs, collecting: &Collection, stop: &StopFlag) -> Option<String> {
    let began = Instant::now();
    let drawn = !args.quiet && view::wanted();
    let colour = drawn && !args.print.no_color && output::colour_wanted();
    let view = drawn
        .then(|| LiveView::start(CollectionContent::new(log_name(&args.output)), colour))
        .flatten();
    let mut status_printed = began;
    while !stop.is_raised() {
        let passed = began.elapsed();
        if let Some(failure) = collecting.failure() {
            return Some(failure);
        }
        if !args.quiet {
            collecting
                .take_messages()
                .into_iter()
                .for_each(print_stderr_line);
        }
        let left = match args.seconds.map(|seconds| seconds.checked_sub(passed)) {
            Some(None) => return None,
            Some(Some(left)) => left,
            None => POLL_INTERVAL,
        };
        match &view {
            Some(view) => {
                let snapshot = collecting.snapshot();
                view.change(|collection, _| collection.update(snapshot));
            }
            None if !args.quiet && status_printed.elapsed() >= STATUS_INTERVAL => {
                status_printed = Instant::now();
                print_stderr_line(live::status_line(&collecting.snapshot()));
            }
            None => {}
        }
        std::thread::sleep(left.min(POLL_INTERVAL));
    }
    None
}

fn log_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Prints the result: what the log has.
fn print(args: &CollectArgs, summary: &Summary, sources: usize, simulated: bool) {
    if args.print.json {
        output::print_json(&json!({
            "log": args.output.display().to_string(),
            "sources": sources,
            "readings": summary.readings,
            "samples": summary.samples,
            "simulated": simulated,
            "troubles": summary.problems,
        }));
        return;
    }
    let mut text = format!(
        "{}\n{}: {} of meters and sensors, {} of traffic\n",
        args.output.display(),
        counted(sources as u64, "source"),
        counted(summary.readings, "reading"),
        counted(summary.samples, "sample"),
    );
    if simulated {
        text.push_str("SIMULATED: figures of at least one source are made up\n");
    }
    for problem in &summary.problems {
        text.push_str(&format!("problem: {problem}\n"));
    }
    output::print(&text);
}
