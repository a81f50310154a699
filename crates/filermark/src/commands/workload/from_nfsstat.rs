//! `workload from-nfsstat`: a server's statistics in, a mix file out. The mix file is the
//! product; what became of the counts is talk.

use crate::cli::FromNfsstatArgs;
use crate::exit::{Ended, Failure};
use crate::files::{read_limited, refuse_inputs, write_whole};
use crate::live::say_line;
use crate::product;
use filermark_config::nfsstat::{
    Dialect, MixOfCounts, Statistics, TEXT_BYTES_MAX, Version, mix_file, read_statistics,
};
use filermark_model::benchmark::Protocol;
use filermark_model::words::{nearest, quoted};
use filermark_model::{Benchmark, Op};
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

/// Standard input, as a file's name.
const STDIN: &str = "-";

/// From so many calls of one operation on, others may have been cut off: nfsstat of
/// nfs-utils 2.6.2 shows counts of 64 bits with 32.
const NFSSTAT_MANY: u128 = 1 << 31;

/// Whose mix the one of the server is compared with.
const fn compared(version: Version) -> &'static str {
    match version {
        Version::V2 => "nfs2-1997",
        Version::V3 | Version::V4 => "general-nfs3",
    }
}

/// The options of a run with a mix of a version's operations, but for MIXFILE.
const fn run_options(version: Version) -> &'static str {
    match version {
        Version::V2 => "-o NFS_VERSION=2 ",
        Version::V3 | Version::V4 => "",
    }
}

/// Makes the mix file.
pub fn from_nfsstat(args: &FromNfsstatArgs) -> Ended {
    let inputs: Vec<&Path> = [Some(args.file.as_path()), args.since.as_deref()]
        .into_iter()
        .flatten()
        .collect();
    if inputs.iter().all(|i| *i == Path::new(STDIN)) && inputs.len() > 1 {
        let text = "standard input can be read once: name a file for one of the two looks";
        return Err(Failure::Usage(vec![text.into()]));
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
    let made = statistics.mix(version, &wanted(&args.without)?)?;
    let text = mix_file(&made, earlier.as_deref());
    match &args.output {
        Some(out) => write_whole(out, text.as_bytes()).map_err(Failure::of)?,
        None => product::print(&text),
    }
    tell(&made)?;
    let mine = args.output.as_deref().map(Path::display);
    let options = run_options(made.version);
    say_line(match mine {
        Some(mine) => format!("next: filermark run -r RC {options}-o MIXFILE={mine}"),
        None => format!(
            "next: put this into a file (-o mine.mix); filermark run -r RC {options}-o \
             MIXFILE=mine.mix"
        ),
    });
    Ok(ExitCode::SUCCESS)
}

/// The operations that the mix may have.
fn wanted(without: &[String]) -> Result<Vec<Op>, Failure> {
    let mut ops = Protocol::Nfs3.ops().to_vec();
    for name in without.iter().map(|n| n.trim().to_lowercase()) {
        let names = Protocol::Nfs3.ops().iter().map(|op| op.name());
        if !names.clone().any(|n| n == name) {
            let hint = match nearest(&name, names) {
                Some(near) => format!("did you mean {near}?"),
                None => "name operations of NFSv3, as null,commit".into(),
            };
            let name = quoted(&name);
            let text = format!("--without: there is no operation '{name}'; {hint}");
            return Err(Failure::Usage(vec![text]));
        }
        ops.retain(|op| op.name() != name);
    }
    Ok(ops)
}

/// Reads a file or standard input.
fn read(path: &Path) -> Result<Statistics, Failure> {
    let wrong = |text: String| Failure::Usage(vec![text]);
    let (name, bytes) = if path == Path::new(STDIN) {
        let mut bytes = Vec::new();
        // One byte more, so that it is told when there are too many.
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
    let text =
        String::from_utf8(bytes).map_err(|_| wrong(format!("{name}: this is no text (UTF-8)")))?;
    Ok(read_statistics(&name, &text)?)
}

/// Tells what was read, what was left out, and how the mix differs.
fn tell(made: &MixOfCounts) -> Result<(), Failure> {
    say_line(format!("{}: {}", made.file, made.what()));
    for (version, calls) in &made.others {
        let number = version.number();
        say_line(format!(
            "not in it: version {number} with {calls} calls (--nfs-version {number} takes it)"
        ));
    }
    if let Some(words) = made.left_out_words() {
        say_line(format!("left out, {words}"));
    }
    for remark in &made.remarks {
        say_line(remark);
    }
    let rare: Vec<String> = made.rare().map(|s| s.op.to_string()).collect();
    if !rare.is_empty() {
        say_line(format!("too rare for a share: {}", rare.join(" ")));
    }
    if made.shares.iter().any(|s| s.op == Op::Commit) {
        say_line(
            "mind: a write of a run sends a COMMIT of its own where the server wants one; \
             --without commit leaves those of the statistics out",
        );
    }
    let nfsstat = matches!(made.dialect, Dialect::Nfsstat | Dialect::NfsstatList);
    if nfsstat && made.shares.iter().any(|s| s.calls >= NFSSTAT_MANY) {
        say_line(
            "mind: nfsstat on Linux shows counts modulo 4294967296, and some are near that; \
             /proc/net/rpc/nfsd has them whole, --since takes a shorter time",
        );
    }
    if made.version == Version::V4 {
        say_line(
            "mind: clients of version 4 ask for attributes beside most operations, which version 3 \
             gets unasked: the share of getattr is too high",
        );
    }
    let compared = compared(made.version);
    let own = Benchmark::shipped(compared).map_err(Failure::of)?;
    say_line(format!(
        "  {:<12} {:>9} {compared:>13} {:>9}",
        "", "yours", "differs"
    ));
    for d in made.differences(&own.mix) {
        let by = d.here - d.there;
        say_line(format!(
            "  {:<12} {:>9.3} {:>13.3} {by:>+9.3}",
            d.op, d.here, d.there
        ));
    }
    Ok(())
}
