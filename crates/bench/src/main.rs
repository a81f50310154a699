//! Measures Filermark itself: the costs of the load generator, the accuracy of its pacing and of its
//! times, the speed of INIT, memory.
//!
//! `cargo run --release -p filermark-bench [-- NAME...]`; see docs/src/reference/speed.md.
//! It prints figures; no figure makes it fail. It uses public interfaces of the other crates only.

mod alloc;
mod children;
mod cpu;
mod figure;
mod measured;
mod parts;
mod plan;
mod report;
mod server;
mod turns;

use clap::Parser;
use filermark_results::Environment;
use report::{Format, Report};
use std::process::ExitCode;
use std::time::Instant;

/// Measures Filermark itself.
#[derive(Parser)]
#[command(name = "filermark-bench")]
struct Args {
    /// Parts to measure; default: all
    #[arg(value_parser = parts::names())]
    names: Vec<String>,
    /// Rounds per figure
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Print one JSON document instead of text tables
    #[arg(long)]
    json: bool,
    /// Print the Markdown tables of docs/src/reference/speed.md instead of text tables
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

impl Args {
    fn format(&self) -> Format {
        match (self.json, self.markdown) {
            (true, _) => Format::Json,
            (_, true) => Format::Markdown,
            _ => Format::Text,
        }
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some(server::COMMAND) => return server::serve(words),
        Some(parts::smb::COMMAND) => return parts::smb::serve(),
        Some(parts::krb5p::COMMAND) => return parts::krb5p::client(words),
        Some(parts::agents::COMMAND) => return parts::agents::serve(words),
        _ => {}
    }
    let args = Args::parse();
    let mut report = Report::begin(args.format(), Environment::collect(&build()), args.rounds);
    let whole = Instant::now();
    let mut exit = ExitCode::SUCCESS;
    for part in parts::chosen(&args.names) {
        let began = Instant::now();
        let measured = (part.measure)(args.rounds);
        report.part(part, &measured, began.elapsed().as_secs_f64());
        if measured.is_err() {
            exit = ExitCode::FAILURE;
        }
    }
    report.end(whole.elapsed().as_secs_f64());
    exit
}

fn build() -> String {
    let profile = if cfg!(debug_assertions) {
        "debug build: the figures are not valid"
    } else {
        "release build"
    };
    format!("filermark-bench {} ({profile})", env!("CARGO_PKG_VERSION"))
}
