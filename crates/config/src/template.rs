//! rc files as a starting point: every parameter of a benchmark, with comments.

use crate::definitions::{benchmark_names, shipped_registry};
use crate::drivers::{driver_of, protocols};
use crate::error::quoted;
use crate::hints;
use crate::params::{Family, Group, Kind, Parameter};
use crate::protocol::DEFAULT;
use crate::reference::{WIDTH, wrapped};
use filermark_model::Benchmark;
use filermark_model::benchmark::{FileSetRule, Protocol, SHIPPED};
use filermark_model::registry::RegistryError;
use std::fmt::Write;

/// The commented rc file as a starting point: `filermark template`, examples/sfs_rc.
pub fn template_rc() -> String {
    let head = "\
# A Filermark rc file. Set LOAD, PROCS and MNT_POINTS, then: filermark plan -r sfs_rc
# This is a whole sweep: it takes hours, and its files grow with LOAD (plan shows how much).
# A first answer in a minute, without this file: filermark quick TARGET
";
    match Benchmark::shipped("general-nfs3") {
        Ok(benchmark) => template(head, &benchmark),
        // The benchmark ships with the program; a test checks that it is valid.
        Err(e) => format!("# {e}\n"),
    }
}

/// The rc file of a benchmark by its name: `filermark template general-smb2`,
/// `filermark template SWBUILD`, `filermark template nfs2-1993`. `cifs` and `smb` stand for the
/// benchmarks of SMB.
///
/// # Errors
/// There is no such benchmark; the text suggests similar ones.
pub fn template_rc_of(name: &str) -> Result<String, String> {
    let has_word = |p: &Protocol| {
        let decl = p.decl();
        decl.driver_word == name || decl.fs_word == Some(name)
    };
    let of_word = protocols().rev().find(has_word);
    let name = of_word.and_then(|p| p.decl().benchmark).unwrap_or(name);
    let mut classic = SHIPPED.iter().map(|(known, _)| *known);
    if let Some(known) = classic.find(|known| known.eq_ignore_ascii_case(name)) {
        let benchmark = Benchmark::shipped(known).map_err(|e| e.to_string())?;
        let must_be_set = driver_of(benchmark.protocol).map_or("", |driver| driver.must_be_set);
        return Ok(match &benchmark.heritage {
            _ if !must_be_set.is_empty() => with_more(&benchmark, must_be_set),
            Some(heritage) => older(&benchmark, &heritage.generation),
            None => template_rc(),
        });
    }
    composite(name)
}

fn composite(name: &str) -> Result<String, String> {
    let benchmark = shipped_registry().composite(name).map_err(|e| match e {
        RegistryError::UnknownBenchmark { .. } => unknown(name),
        e => e.to_string(),
    })?;
    let head = format!(
        "# A Filermark rc file for {}: {}.\n\
         # Set LOAD (in {}s) and CLIENT_MOUNTPOINTS, then: filermark plan -r sfs_rc\n",
        benchmark.name, benchmark.title, benchmark.unit
    );
    Ok(template(&head, &benchmark))
}

fn unknown(name: &str) -> String {
    let names = benchmark_names();
    let mut words: Vec<&str> = protocols()
        .map(Protocol::decl)
        .filter(|decl| decl.benchmark.is_some())
        .flat_map(|decl| [Some(decl.driver_word), decl.fs_word])
        .flatten()
        .collect();
    words.sort_unstable();
    words.dedup();
    let hint = match hints::benchmark(name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("choose one of these, or a protocol: {}", words.join(", ")),
    };
    let (name, known) = (quoted(name), names.join(", "));
    format!("there is no benchmark '{name}'; known: {known}; {hint}")
}

/// The rc file of a benchmark after an older generation.
fn older(benchmark: &Benchmark, generation: &str) -> String {
    let figure = |f: fn(&FileSetRule) -> f64| benchmark.classic().map_or(0.0, |c| f(&c.fileset));
    let head = format!(
        "# A Filermark rc file for {}, modelled on {generation}:\n\
         # {} MiB of files per op/s, a limit of {} ms. Not comparable with results of that generation.\n\
         # Set LOAD, PROCS and MNT_POINTS, then: filermark plan -r sfs_rc\n\
         # LOAD is divided evenly among all procs: multiples of PROCS times the number of clients\n\
         # are requested unchanged.\n",
        benchmark.name,
        figure(|r| r.mb_per_op),
        benchmark.standard.response_limit_ms
    );
    template(&head, benchmark)
}

/// The rc file of a benchmark whose driver needs more parameters than the others.
fn with_more(benchmark: &Benchmark, must_be_set: &str) -> String {
    let head = format!(
        "# A Filermark rc file for {}: {}.\n\
         # Set LOAD, PROCS, MNT_POINTS and {must_be_set}, then: filermark plan -r sfs_rc\n",
        benchmark.name, benchmark.title
    );
    template(&head, benchmark)
}

fn template(head: &str, benchmark: &Benchmark) -> String {
    let mut out = format!(
        "{head}\
         # NAME=value; lists in double quotes; # begins a comment. Parameters in comments have the\n\
         # value shown ('e.g.': not set). Description of a parameter: filermark params NAME\n\
         # Changing a parameter marked [standard] makes the run not standard.\n",
    );
    let family = Family::of(benchmark);
    for group in Group::ALL.iter().filter(|g| **g != Group::Legacy) {
        let title = group.title();
        // Writing to a String cannot fail, here and below.
        let _ = write!(
            out,
            "\n### {title} {}\n",
            "#".repeat(WIDTH.saturating_sub(title.len() + 5))
        );
        let here = |p: &&Parameter| p.group == *group && p.scope.holds(family);
        for p in Parameter::all().filter(here) {
            out.push('\n');
            let mark = match p.standard_text(benchmark) {
                Some(_) => " [standard]",
                None => "",
            };
            let more = match p.name == "TCP" && benchmark.heritage.is_some() {
                true => ". The generations up to 2001 had both",
                false => "",
            };
            for line in wrapped(&format!("{}{more}{mark}", p.one_line), WIDTH - 2) {
                let _ = writeln!(out, "# {line}");
            }
            template_line(&mut out, p, benchmark, family);
        }
    }
    out
}

/// Parameters that must be set, in any of the templates.
const MUST_BE_SET: [&str; 7] = [
    "LOAD",
    "INCR_LOAD",
    "PROCS",
    "MNT_POINTS",
    "CLIENT_MOUNTPOINTS",
    "USERNAME",
    "PASSWORD_FILE",
];

fn template_line(out: &mut String, p: &Parameter, benchmark: &Benchmark, family: Family) {
    let quote = |text: &str| match p.kind {
        Kind::List => format!("\"{text}\""),
        _ => text.to_owned(),
    };
    let example = match (p.name, family) {
        ("LOAD" | "INCR_LOAD", Family::Composite) => "1",
        // PROCS=8 divides it.
        ("LOAD" | "INCR_LOAD", Family::Classic(_)) if benchmark.heritage.is_some() => "80",
        ("MNT_POINTS", Family::Classic(protocol)) => {
            let syntax = driver_of(protocol).and_then(|driver| driver.mounts);
            syntax.map_or(p.example, |syntax| syntax.example)
        }
        _ => p.example,
    };
    let default = match (p.name, family) {
        // The driver follows from the benchmark.
        ("DRIVER", Family::Composite) => None,
        ("BENCHMARK", _) => Some(benchmark.name.clone()),
        _ => p.default_text(benchmark),
    };
    let fs_word = benchmark.protocol.decl().fs_word;
    let _ = match (default, example) {
        _ if p.name == "BENCHMARK"
            && (family == Family::Composite || benchmark.heritage.is_some()) =>
        {
            writeln!(out, "BENCHMARK={}", benchmark.name)
        }
        _ if p.name == "FS_PROTOCOL" && fs_word != DEFAULT.decl().fs_word => {
            writeln!(out, "FS_PROTOCOL={}", fs_word.unwrap_or_default())
        }
        (_, example) if MUST_BE_SET.contains(&p.name) => {
            writeln!(out, "{}={}", p.name, quote(example))
        }
        (Some(default), _) => writeln!(out, "#{}={}", p.name, quote(&default)),
        (None, "") => writeln!(out, "#{}=", p.name),
        (None, example) => writeln!(out, "#{}={}   # e.g.", p.name, quote(example)),
    };
}
