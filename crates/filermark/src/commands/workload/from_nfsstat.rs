//! `workload from-nfsstat`: makes a mix file from a server's statistics. The mix file goes to
//! stdout; how the counts were used goes to stderr.

use crate::cli::FromNfsstatArgs;
use crate::stdout;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::files::{read_limited, refuse_inputs, write_whole};
use filermark_cli_kit::view::print_stderr_line;
use filermark_config::nfsstat::{
    Dialect, MixOfCounts, Statistics, TEXT_BYTES_MAX, Version, mix_file, ops_of, read_statistics,
};
use filermark_model::benchmark::{Protocol, SHIPPED};
use filermark_model::plan::NfsVersion;
use filermark_model::text::{nearest, quoted};
use filermark_model::units::counted;
use filermark_model::{Benchmark, Op};
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

/// Standard input, as a file's name.
const STDIN: &str = "-";

/// With this number of calls of one operation, counts may have overflowed: nfsstat of
/// nfs-utils 2.6.2 shows counts of 64 bits with 32.
const NFSSTAT_MANY: u128 = 1 << 31;

/// Fewer calls are not representative.
const CALLS_FEW: u128 = 1_000;

/// The benchmark to run with a mix of a version's operations: the built-in one for that
/// version whose own mix is nearest.
fn nearest_benchmark(made: &MixOfCounts, run: NfsVersion) -> Result<Benchmark, CommandError> {
    let of_run = |protocol: Protocol| protocol.nfs_version() == Some(run);
    let has_own = run.has_state() && Protocol::ALL.iter().copied().any(of_run);
    let is_wanted = |protocol: Protocol| match made.version {
        Version::V2 => protocol == Protocol::Nfs2,
        Version::V3 | Version::V4 if has_own => of_run(protocol),
        Version::V3 | Version::V4 => protocol == Protocol::Nfs3,
    };
    let mut best: Option<(f64, Benchmark)> = None;
    for (name, _) in SHIPPED {
        let benchmark = Benchmark::shipped(name).map_err(CommandError::of)?;
        if !is_wanted(benchmark.protocol) {
            continue;
        }
        let differences = made.differences(&benchmark.mix);
        let sum = differences
            .iter()
            .map(|d| (d.share - d.other_share).abs())
            .sum();
        if best.as_ref().is_none_or(|(least, _)| sum < *least) {
            best = Some((sum, benchmark));
        }
    }
    let none = || CommandError::of("no shipped benchmark speaks this version");
    best.map(|(_, benchmark)| benchmark).ok_or_else(none)
}

/// Makes the mix file.
pub fn from_nfsstat(args: &FromNfsstatArgs) -> CommandResult {
    let inputs: Vec<&Path> = [Some(args.file.as_path()), args.since.as_deref()]
        .into_iter()
        .flatten()
        .collect();
    if inputs.iter().all(|i| *i == Path::new(STDIN)) && inputs.len() > 1 {
        let text = "standard input can be read once: name a file for one of the two looks";
        return Err(CommandError::Usage(vec![text.into()]));
    }
    if let Some(out) = &args.output {
        refuse_inputs(out, &inputs)?;
    }
    let mut statistics = read(&args.file)?;
    let mut earlier = None;
    if let Some(path) = &args.since {
        let before = read(path)?;
        statistics = statistics.since(&before)?;
        earlier = Some(before.file);
    }
    let version = args.nfs_version.and_then(Version::of);
    let run = args.run_version;
    let made = statistics.mix(version, &wanted(ops_of(run), &args.without)?)?;
    let text = mix_file(&made, earlier.as_deref());
    match &args.output {
        Some(out) => write_whole(out, text.as_bytes()).map_err(CommandError::of)?,
        None => stdout::print(&text),
    }
    let near = nearest_benchmark(&made, run)?;
    print(&made, &near);
    let mine = args.output.as_deref().map(Path::display);
    // A benchmark of the version needs no NFS_VERSION.
    let over = match run.has_state() && near.protocol.nfs_version() != Some(run) {
        true => format!("-o NFS_VERSION={} ", run.name()),
        false => String::new(),
    };
    let options = format!("-o BENCHMARK={} {over}", near.name);
    print_stderr_line(match mine {
        Some(mine) => format!("next: filermark run -r RC {options}-o MIXFILE={mine}"),
        None => format!(
            "next: put this into a file (-o mine.mix); filermark run -r RC {options}-o \
             MIXFILE=mine.mix"
        ),
    });
    Ok(ExitCode::SUCCESS)
}

/// The operations that the mix may have.
fn wanted(all: &[Op], without: &[String]) -> Result<Vec<Op>, CommandError> {
    let mut ops = all.to_vec();
    for name in without.iter().map(|n| n.trim().to_lowercase()) {
        let names = all.iter().map(|op| op.name());
        if !names.clone().any(|n| n == name) {
            let hint = match nearest(&name, names) {
                Some(near) => format!("did you mean {near}?"),
                None => "name operations of NFSv3, as null,commit".into(),
            };
            let name = quoted(&name);
            let text = format!("--without: there is no operation '{name}'; {hint}");
            return Err(CommandError::Usage(vec![text]));
        }
        ops.retain(|op| op.name() != name);
    }
    Ok(ops)
}

/// Reads a file or standard input.
fn read(path: &Path) -> Result<Statistics, CommandError> {
    let wrong = |text: String| CommandError::Usage(vec![text]);
    let (name, bytes) = if path == Path::new(STDIN) {
        let mut bytes = Vec::new();
        // One byte more, to detect files that are too long.
        let limit = TEXT_BYTES_MAX as u64 + 1;
        std::io::stdin()
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|e| wrong(format!("standard input: cannot be read: {e}")))?;
        ("standard input".to_owned(), bytes)
    } else {
        let bytes = read_limited(path, TEXT_BYTES_MAX as u64).map_err(wrong)?;
        (path.display().to_string(), bytes)
    };
    let text = String::from_utf8(bytes).map_err(|_| wrong(format!("{name}: not UTF-8 text")))?;
    Ok(read_statistics(&name, &text)?)
}

/// Prints what was read, what was left out, and how the mix differs.
fn print(made: &MixOfCounts, near: &Benchmark) {
    print_stderr_line(format!("{}: {}", made.file, made.what()));
    for (version, calls) in &made.others {
        let number = version.number();
        print_stderr_line(format!(
            "not in it: version {number} with {calls} calls (--nfs-version {number} takes it)"
        ));
    }
    if let Some(words) = made.omitted_text() {
        print_stderr_line(format!("left out, {words}"));
    }
    for remark in &made.remarks {
        print_stderr_line(remark);
    }
    let rare: Vec<String> = made.rare().map(|s| s.op.to_string()).collect();
    if !rare.is_empty() {
        print_stderr_line(format!("too rare for a share: {}", rare.join(" ")));
    }
    if made.shares.iter().any(|s| s.op == Op::Commit) {
        print_stderr_line(
            "note: a run sends COMMITs of its own for writes that the server answers UNSTABLE; \
             --without commit leaves those of the statistics out",
        );
    }
    let nfsstat = matches!(made.dialect, Dialect::Nfsstat | Dialect::NfsstatList);
    if nfsstat && made.shares.iter().any(|s| s.calls >= NFSSTAT_MANY) {
        print_stderr_line(
            "note: nfsstat on Linux shows counts modulo 4294967296, and some are near that; \
             /proc/net/rpc/nfsd has them whole, --since takes a shorter time",
        );
    }
    if made.version == Version::V4 && !made.of_client {
        print_stderr_line(
            "note: clients of version 4 request attributes with most operations, which version 3 \
            returns anyway: the share of getattr is too high",
        );
    }
    if made.kept() < CALLS_FEW {
        print_stderr_line(format!(
            "note: {} are few: shares of so few calls are random; take \
            the statistics over a working day",
            counted(u64::try_from(made.kept()).unwrap_or(u64::MAX), "call")
        ));
    }
    let name = &near.name;
    print_stderr_line(format!("the nearest of the shipped benchmarks is {name}:"));
    print_stderr_line(format!(
        "  {:<12} {:>9} {name:>13} {:>9}",
        "", "yours", "differs"
    ));
    for d in made.differences(&near.mix) {
        let by = d.share - d.other_share;
        print_stderr_line(format!(
            "  {:<12} {:>9.3} {:>13.3} {by:>+9.3}",
            d.op, d.share, d.other_share
        ));
    }
}
