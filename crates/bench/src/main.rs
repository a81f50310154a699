//! Measures Filermark itself and prints the figures: what the generator costs,
//! how exact its pacing and its times are, how fast it fills, what it holds.
//!
//! `cargo run --release -p filermark-bench [-- NAME...]`; see docs/src/reference/speed.md.
//! It only prints: a slow machine fails nothing. It uses the public interfaces of the
//! other crates only.

mod alloc;
mod children;
mod cpu;
mod figure;
mod parts;
mod plan;
mod server;
mod turns;

use clap::Parser;
use figure::{Figure, FiguresOrSkip, table};
use filermark_results::Environment;
use serde_json::json;
use std::process::ExitCode;
use std::time::Instant;

/// Measures Filermark itself.
#[derive(Parser)]
#[command(name = "filermark-bench")]
struct Args {
    /// Parts to measure; without any: all of them
    #[arg(value_parser = parts::names())]
    names: Vec<String>,
    /// Rounds per figure
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some(server::COMMAND) => return server::serve(words),
        Some(parts::smb::COMMAND) => return parts::smb::serve(),
        Some(parts::agents::COMMAND) => return parts::agents::serve(words),
        _ => {}
    }
    let args = Args::parse();
    let environment = Environment::collect(&build());
    if !args.json {
        println!("Filermark measured by itself");
        for (name, value) in environment.rows() {
            println!("  {name:<20} {value}");
        }
    }
    let whole = Instant::now();
    let mut failed = false;
    let mut documents = Vec::new();
    for part in parts::chosen(&args.names) {
        let began = Instant::now();
        let measured = (part.measure)(args.rounds);
        let seconds = began.elapsed().as_secs_f64();
        if args.json {
            documents.push(document(part, &measured, seconds));
        } else {
            println!("\n{}: {} ({seconds:.1} s)", part.name, part.about);
            match &measured {
                Ok(figures) => print!("{}", table(figures)),
                Err(why) => println!("  not measured: {why}"),
            }
        }
        failed |= measured.is_err();
    }
    let seconds = whole.elapsed().as_secs_f64();
    if !args.json {
        println!("\n{seconds:.0} s in the whole");
    }
    if args.json {
        let all = json!({"environment": environment, "rounds": args.rounds, "seconds": seconds, "parts": documents});
        println!("{all:#}");
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn document(part: &parts::Part, measured: &FiguresOrSkip, seconds: f64) -> serde_json::Value {
    let (figures, reason) = match measured {
        Ok(figures) => (figures.iter().map(Figure::to_json).collect(), None),
        Err(why) => (Vec::new(), Some(why)),
    };
    json!({
        "name": part.name,
        "about": part.about,
        "seconds": seconds,
        "figures": figures,
        "not_measured": reason,
    })
}

fn build() -> String {
    let profile = if cfg!(debug_assertions) {
        "debug build: the figures mean nothing"
    } else {
        "release build"
    };
    format!("filermark-bench {} ({profile})", env!("CARGO_PKG_VERSION"))
}
