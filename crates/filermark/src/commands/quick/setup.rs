//! What `quick` chooses, and which choices of the user it takes: sizes, procs, lengths, parameters.

use super::parts::PROC_MIB_MIN;
use super::target::Target;
use crate::cli::QuickArgs;
use filermark_cli_kit::exit::CommandError;
use filermark_config::{Parameter, Sources};
use filermark_model::Bytes;
use std::path::Path;

/// The file set of the first part over NFS or SMB, where free space is not known yet, in MiB.
const FIRST_MIB: u64 = 16;
/// The largest file set of a part, in MiB.
pub const MIB_MAX: u64 = 256;
/// The share of the free space that a file set may take.
pub const FREE_SHARE: u64 = 20;
/// The shortest RUN, in seconds.
const RUN_S_MIN: f64 = 1.0;
/// The shares of WARMUP and RUN in the time of a part; making and removing files has the rest.
const WARMUP_SHARE: f64 = 0.1;
const RUN_SHARE: f64 = 0.6;

/// Parameters that say what a part does: the program sets them.
const SET_BY_PART: [&str; 14] = [
    "BENCHMARK",
    "BENCHMARK_FILE",
    "WORKLOAD",
    "WORKLOAD_FILE",
    "MIXFILE",
    "BLOCK_FILE",
    "LOAD",
    "PROCS",
    "FILESET_MB",
    "FS_PROTOCOL",
    "MNT_POINTS",
    "CLIENT_MOUNTPOINTS",
    "SUFFIX",
    "WORK_DIR",
];

/// The parameters of `-o`, for the rc files of the parts.
pub fn options_of(args: &QuickArgs) -> Result<Vec<(String, String)>, CommandError> {
    // It checks the form, and refuses passwords.
    let mut sources = Sources::from_rc(None)?;
    let mut options = Vec::new();
    for option in &args.options {
        sources.set_option(option)?;
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let name = Parameter::find(name.trim()).map_or(name.trim(), |p| p.name);
        let usage = |why: String| Err(CommandError::Usage(vec![format!("-o {name}: {why}")]));
        if SET_BY_PART.contains(&name) {
            return usage(
                "quick sets it for each part; use -p for PROCS, -d for WORK_DIR, -w for a \
                 workload, or `filermark run`"
                    .into(),
            );
        }
        // Rc files are read from another directory.
        let path = Path::new(value);
        let value = match name.ends_with("_FILE") && path.is_file() {
            true => std::path::absolute(path)
                .map_err(CommandError::of)?
                .display()
                .to_string(),
            false => value.to_owned(),
        };
        if value.contains('\n') || (value.contains('\'') && value.contains('"')) {
            return usage("rc files cannot hold such a value".into());
        }
        options.push((name.to_owned(), value));
    }
    Ok(options)
}

/// The largest file set of a part, in MiB.
pub fn largest_mib(target: &Target, free_bytes: Option<u64>) -> Result<u64, CommandError> {
    let Some(free) = free_bytes else {
        return Ok(FIRST_MIB);
    };
    let most = (free / FREE_SHARE) >> 20;
    if most < FIRST_MIB {
        return Err(CommandError::Failed(format!(
            "{}: {} are free, and quick uses at most 5 % of it, which must be {FIRST_MIB} MiB: \
             free some space, or use `filermark run` with a file set of your choice",
            target.name(),
            Bytes(free)
        )));
    }
    Ok(most.min(MIB_MAX))
}

/// Refuses more procs on a directory than the file set has space for.
pub fn refuse_many_procs(procs: u32, mib: u64) -> Result<u32, CommandError> {
    let most = mib / PROC_MIB_MIN;
    if u64::from(procs) <= most {
        return Ok(procs);
    }
    Err(CommandError::Usage(vec![format!(
        "{procs} procs need files of {}, and {mib} MiB are the most (256 MiB and 5 % of the free \
         space): lower --procs to {most} or less, or use `filermark run`",
        Bytes((u64::from(procs) * PROC_MIB_MIN) << 20),
    )]))
}

/// Lengths of WARMUP and RUN, in seconds, of a part that has `slot` seconds in all and `left` after
/// its other phases. They are the same in each run of a command, so that runs can be compared, but
/// where the other phases take more than their share: then they are halved until they fit.
pub fn lengths(slot: f64, left: f64) -> (f64, f64) {
    let round = |seconds: f64| (seconds * 10.0).round() / 10.0;
    let mut share = 1.0;
    loop {
        let warmup = round((slot * WARMUP_SHARE * share).clamp(0.2, 2.0));
        let run = round((slot * RUN_SHARE * share).max(RUN_S_MIN));
        if warmup + run <= left || run <= RUN_S_MIN {
            return (warmup, run);
        }
        share /= 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths do not depend on how long the other phases take, while there is space.
    #[test]
    fn lengths_are_the_same_while_they_fit() {
        for left in [10.6, 11.0, 14.9] {
            assert_eq!(lengths(15.0, left), (1.5, 9.0), "{left}");
        }
        assert_eq!(lengths(15.0, 6.0), (0.8, 4.5));
        assert_eq!(lengths(15.0, -3.0), (0.2, 1.0));
        assert_eq!(lengths(1.0, 0.0), (0.2, 1.0));
        assert_eq!(lengths(21_600.0, 21_000.0), (2.0, 12_960.0));
    }
}
