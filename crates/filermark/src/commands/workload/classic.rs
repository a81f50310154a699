//! Classical benchmarks as text: the mix, the file set, the rules, and the order of operations if
//! there is one.

use super::sequence;
use crate::cli::ShowArgs;
use filermark_cli_kit::exit::CommandError;
use filermark_config::definitions::ClassicDefinitions;
use filermark_model::benchmark::{ClassicWork, SHIPPED};
use filermark_model::text::one_line;
use filermark_model::text::quoted;
use filermark_model::units::counted;
use filermark_model::{Benchmark, Bytes, Severity, SizeDistribution};
use filermark_report::{sequence_dot, sequence_svg};
use filermark_results::definition_fingerprint;
use filermark_results::figures::plain;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// `write!` into a string cannot fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => { let _ = writeln!($out, $($arg)*); };
}

/// The built-in benchmarks.
pub fn shipped() -> Result<Vec<ClassicDefinitions>, CommandError> {
    let read = |(name, text): &(&str, &str)| {
        let benchmark = Benchmark::from_toml(name, text).map_err(CommandError::of)?;
        let text = (*text).to_owned();
        Ok(ClassicDefinitions { text, benchmark })
    };
    SHIPPED.iter().map(read).collect()
}

/// The list of them.
pub fn list(all: &[ClassicDefinitions]) -> String {
    let mut out = String::new();
    line!(
        out,
        "\n{:<14} {:>3}  {:>10} {:>10} {:>7}  WHAT IT IS",
        "CLASSICAL",
        "OPS",
        "MEAN READ",
        "MEAN WRITE",
        "STATES"
    );
    for ClassicDefinitions { benchmark: b, .. } in all {
        let Some(work) = b.classic() else { continue };
        let states = work
            .sequence
            .as_ref()
            .map_or("-".to_owned(), |s| s.states().len().to_string());
        line!(
            out,
            "{:<14} {:>3}  {:>10} {:>10} {states:>7}  {}",
            b.name,
            b.mix.shares().len(),
            mean(&work.read_sizes),
            mean(&work.write_sizes),
            b.title
        );
    }
    out
}

/// A benchmark in JSON lists.
pub fn json(b: &Benchmark) -> Value {
    let (hash, digits) = definition_fingerprint(b);
    let sequence = b.classic().and_then(|w| w.sequence.as_ref());
    json!({
        "name": b.name,
        "version": b.version,
        "title": b.title,
        "protocol": b.protocol,
        "unit": b.unit,
        "operations": b.mix.shares().len(),
        "states": sequence.map(|s| s.states().len()),
        "heritage": b.heritage,
        "fingerprint": hash,
        "fingerprint_digits": format!("{digits:05}"),
    })
}

/// The description of a file that defines one.
pub fn checked(file: &str, b: &Benchmark) -> String {
    let mut out = format!("{file}: TOML, 1 classical benchmark, nothing wrong\n");
    let ops = counted(b.mix.shares().len() as u64, "operation");
    let digits = definition_fingerprint(b).1;
    line!(
        out,
        "  benchmark {}: {ops}, fingerprint {digits:05}",
        b.name
    );
    if let Some(sequence) = b.classic().and_then(|w| w.sequence.as_ref()) {
        line!(
            out,
            "  sequence: {}; every order of operations is right, the mix is met, {:.4} bits per \
             operation from what is drawn",
            counted(sequence.states().len() as u64, "state"),
            sequence.figures().distance_bits
        );
    }
    out
}

/// What `workload show` prints of one.
pub fn show(found: &ClassicDefinitions, args: &ShowArgs) -> Result<String, CommandError> {
    let b = &found.benchmark;
    if args.toml {
        return Ok(found.text.clone());
    }
    let sequence = b.classic().and_then(|w| w.sequence.as_ref());
    if args.json {
        let mut value = json(b);
        value["definition"] = json!(b);
        value["figures"] = json!(sequence.map(|s| s.figures()));
        return Ok(format!("{:#}\n", json!({ "benchmark": value })));
    }
    if !(args.dot || args.svg || args.sample.is_some()) {
        return Ok(text(b));
    }
    let sequence = sequence.ok_or_else(|| no_sequence(&b.name))?;
    Ok(match args.sample {
        Some(count) => sequence::sample(b.protocol, sequence, count, args.seed),
        None if args.dot => sequence_dot(&b.name, sequence),
        None => sequence_svg(&b.name, sequence),
    })
}

/// The message for a benchmark without a sequence, if a drawing or a sample is requested.
pub fn no_sequence(name: &str) -> CommandError {
    let name = quoted(name);
    CommandError::Usage(vec![format!(
        "{name} has no sequence of operations: they come in any order; general-smb1 and \
         general-smb2 have one"
    )])
}

fn text(b: &Benchmark) -> String {
    let (hash, digits) = definition_fingerprint(b);
    let mut out = format!("Benchmark {}, version {}: {}\n", b.name, b.version, b.title);
    line!(out, "fingerprint {digits:05} ({hash})");
    heritage(&mut out, b);
    let Some(work) = b.classic() else {
        return out;
    };
    file_set(&mut out, work);
    rules(&mut out, b);
    match &work.sequence {
        Some(sequence) => out += &sequence::text(b, sequence),
        None => {
            line!(out, "\nOperations, percent");
            for (op, percent) in b.mix.shares() {
                let published = match b.heritage.as_ref().and_then(|h| h.mix_total_pcnt) {
                    Some(total) => format!("  published {}", plain(percent * total / 100.0)),
                    None => String::new(),
                };
                let name = b.protocol.op_name(*op);
                line!(out, "  {name:<12} {:>6}{published}", plain(*percent));
            }
        }
    }
    out
}

/// The older generation that it follows, with its limits and caveats.
fn heritage(out: &mut String, b: &Benchmark) {
    let rows = b.heritage_rows();
    if !rows.is_empty() {
        line!(out, "\nAfter an older generation");
    }
    for (name, words) in rows {
        line!(out, "  {name}: {}", one_line(&words));
    }
}

fn file_set(out: &mut String, work: &ClassicWork) {
    let rule = &work.fileset;
    line!(out, "\nFile set");
    line!(
        out,
        "  {} MiB per op/s in files of {} to {}, {} on average; {} % of them are accessed",
        rule.mb_per_op,
        work.file_sizes.quantile(0.0),
        work.file_sizes.max(),
        mean(&work.file_sizes),
        rule.access_pcnt
    );
    line!(
        out,
        "  per proc {}, {}, {}",
        counted(rule.dir_count.into(), "directory").replace("ys", "ies"),
        counted(rule.file_count.into(), "small file"),
        counted(rule.symlink_count.into(), "symbolic link")
    );
    let what = match work.sequence {
        Some(_) => "opens to update a file append to it what they write in sequence",
        None => "writes append",
    };
    line!(out, "  {} % of {what}", rule.append_pcnt);
    for (what, sizes) in [("read", &work.read_sizes), ("write", &work.write_sizes)] {
        line!(
            out,
            "  a {what} is of {} on average, {} at most",
            mean(sizes),
            sizes.max()
        );
    }
    if let Some(commit) = work.commit {
        line!(out, "  COMMIT {commit}");
    }
}

fn rules(out: &mut String, b: &Benchmark) {
    let s = &b.standard;
    line!(out, "\nA standard run");
    line!(
        out,
        "  WARMUP {} s, RUN {} s, {} load points at least",
        s.warmup_s,
        s.runtime_s,
        s.load_points_min
    );
    line!(
        out,
        "  mean response of {} ms at most; {} % of the requested rate{}, {} % of its own for \
         every proc",
        s.response_limit_ms,
        s.achieved_pcnt_min,
        match s.achieved_severity {
            Severity::Invalid => "",
            _ => " (below it a point counts with a warning)",
        },
        s.proc_pcnt_min
    );
    line!(out, "  result: {}", b.headline_text(s.response_limit_ms));
    line!(
        out,
        "  operations within {} points of their share",
        s.mix_deviation_pcnt_max
    );
}

fn mean(sizes: &SizeDistribution) -> String {
    Bytes(sizes.mean_bytes().round() as u64).to_string()
}
