//! What `quick` chooses, and which choices of the user it takes: sizes, procs, parameters.

use super::parts::PROC_MIB_MIN;
use super::target::Target;
use crate::cli::QuickArgs;
use filermark_cli_kit::exit::CommandError;
use filermark_config::{Parameter, Sources};
use filermark_model::Bytes;
use std::path::Path;

/// The file set of the first part over NFS or SMB, where free space is not known yet, and the
/// smallest one, in MiB.
pub const FIRST_MIB: u64 = 16;
/// The largest file set of a part, in MiB.
pub const MIB_MAX: u64 = 256;
/// The share of the free space that a file set may take.
pub const FREE_SHARE: u64 = 20;

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

/// Refuses an SMB share without a user, in the words of this command.
pub fn refuse_no_user(target: &Target, options: &[(String, String)]) -> Result<(), CommandError> {
    let names_user = |(name, _): &(String, String)| name == "USERNAME" || name == "SMB_AUTH";
    let Target::Smb { share, user: None } = target else {
        return Ok(());
    };
    if options.iter().any(names_user) {
        return Ok(());
    }
    Err(CommandError::Usage(vec![format!(
        "{share}: no user is given; write smb://USER@host/share, or add -o USERNAME=USER; the \
         password comes from FILERMARK_PASSWORD or -o PASSWORD_FILE=FILE"
    )]))
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
