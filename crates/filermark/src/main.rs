//! The binary, with one small file per subcommand.
//!
//! Results go to stdout, progress and diagnostics to stderr. Exit codes: 0 success;
//! 1 the run, the server or a test failed; 2 the command line or the rc file is wrong;
//! 3 a gate failed, or a comparison has a verdict of `--fail-on`; 4 a run of which no load point counts;
//! 130, 143 interrupted.

mod browser;
mod cli;
mod command_aliases;
mod commands;
mod console;
mod energy;
mod events;
mod gates;
mod globs;
mod historical;
mod host_table;
mod http;
mod live;
mod log_copy;
mod metrics;
mod outputs;
mod progress;
mod refused;
mod resolve_args;
mod stdout;
mod watch;
// The pages advise commands of `energy`, too.
#[cfg(all(test, feature = "energy"))]
mod tests;

use cli::{Cli, Command};
use std::process::ExitCode;

/// The build of this program, as `build.rs` names it. It is in the file as one text, so that
/// it can be read from a program for another system.
#[used]
static BUILD: &str = concat!(
    "filermark-build/1: ",
    env!("FILERMARK_SOURCES"),
    "; ",
    env!("CARGO_PKG_VERSION"),
    "; ",
    env!("FILERMARK_SYSTEM"),
    "; ",
    env!("FILERMARK_COMMIT"),
    ";profile=",
    env!("FILERMARK_PROFILE"),
    ";"
);

fn main() -> ExitCode {
    filermark_link::build_mark::declare(BUILD);
    let cli: Cli = match stdout::parse() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let ended = match cli.command {
        Command::Quick(args) => commands::quick::quick(&args),
        Command::Demo(args) => commands::demo::demo(&args),
        Command::Plan(args) => commands::plan::plan(&args),
        Command::Preflight(args) => commands::preflight::preflight(&args),
        Command::Validate(args) => commands::validate::validate(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Search(args) => commands::run::search(&args),
        Command::Watch(args) => commands::watch::watch(&args),
        Command::Serve(args) => commands::serve::serve(&args),
        Command::Keys(args) => commands::keys::keys(&args),
        Command::Install(args) => commands::install::install(&args),
        Command::Stop(args) => commands::stop::stop(&args),
        Command::Agent(args) => commands::agent::agent(&args),
        Command::Clock(args) => commands::clock::clock(&args),
        Command::Workload(args) => commands::workload::workload(&args.command),
        Command::Params(args) => commands::params::params(&args),
        Command::Template(args) => commands::params::template(&args),
        Command::Netmist(args) => commands::netmist::netmist(&args),
        Command::Import(args) => commands::import::import(&args),
        Command::Report(args) => commands::report::report(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::List(args) => commands::history::list(&args),
        Command::Show(args) => commands::history::show(&args),
        Command::Tag(args) => commands::history::tag(&args),
        Command::Trend(args) => commands::history::trend_over_runs(&args),
        Command::Export(args) => commands::history::export(&args),
        #[cfg(feature = "energy")]
        Command::Energy(args) => commands::energy::energy(&args),
        Command::Subedit(args) => commands::subedit::subedit(&args),
        Command::Bundle(args) => commands::bundle::bundle(&args),
        Command::Verify(args) => commands::verify::verify(&args),
        Command::Completions(args) => commands::manual::completions(args),
        Command::Man(args) => commands::manual::man(&args),
    };
    match stdout::ended(ended) {
        Ok(code) => code,
        Err(failure) => failure.print(),
    }
}
