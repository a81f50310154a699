//! Resolves the options of a subcommand to a plan.

use crate::cli::SourceArgs;
use crate::refused::refused;
use filermark_archive::kind::{RC_FILES, refusal};
use filermark_cli_kit::exit::CommandError;
use filermark_cli_kit::view::LogWriter;
use filermark_config::{
    ConfigError, Resolved, SourceLocation, Sources, debug_filter, mount_point_count, resolve,
};
use std::path::Path;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::SubscriberBuilder;
use tracing_subscriber::fmt::format::{DefaultFields, Format, Full};

/// The usual name of rc files.
const RC_NAME: &str = "sfs_rc";

/// Loads of which one fits any benchmark: one that can be divided among any number of procs, and
/// one for benchmarks in which every unit has its own procs. They are not used.
const LOADS: [&str; 2] = ["1000000", "1"];

/// Reads the rc file and the options, and resolves them.
pub fn resolved(args: &SourceArgs) -> Result<Resolved, CommandError> {
    resolved_from(args, &sources(args)?)
}

/// Resolves sources that were read already. If no rc file was given, the message states how to
/// give one.
pub fn resolved_from(args: &SourceArgs, sources: &Sources) -> Result<Resolved, CommandError> {
    let mut sentences = match guarded_resolve(sources).map_err(CommandError::from) {
        Err(CommandError::Usage(sentences)) if args.rc.is_none() => sentences,
        other => return other,
    };
    let missing = sentences.iter().any(|s| s.contains(" is not set"));
    if missing && Path::new(RC_NAME).is_file() {
        sentences.push(format!(
            "no rc file was given; the current directory has one: -r {RC_NAME}"
        ));
    } else if args.options.is_empty() {
        sentences.push(format!(
            "no rc file was given: -r RC; `filermark template > {RC_NAME}` makes one to start from"
        ));
    }
    Err(CommandError::Usage(sentences))
}

/// Resolves, and disables core dumps if the plan has a password. If the rc file is a file of
/// another kind, that is the only error.
pub fn guarded_resolve(sources: &Sources) -> Result<Resolved, Vec<ConfigError>> {
    let resolved = resolve(sources).map_err(|errors| {
        let rc = sources.rc.as_ref();
        match rc.and_then(|rc| refusal(Path::new(&rc.name), &RC_FILES)) {
            Some(refusal) => {
                let place = SourceLocation::File(refusal.file);
                vec![ConfigError::new(place, refusal.kind, refusal.advice)]
            }
            None => errors,
        }
    });
    let given = |resolved: &Resolved| {
        let password = resolved.plan.driver.password();
        password.is_some_and(filermark_model::secret::Secret::is_given)
    };
    if resolved.as_ref().is_ok_and(given) {
        filermark_engine::sys::forbid_core_dumps();
    }
    resolved
}

/// Resolves for commands that need only the clients: LOAD, PROCS, the servers and their
/// credentials may be missing. All other errors are reported.
pub fn clients(args: &SourceArgs) -> Result<Resolved, CommandError> {
    let mut sources = sources(args)?;
    let mount_points = mount_point_count(&sources);
    sources.set_default("PROCS", &mount_points.max(1).to_string());
    let given = |name: &str| sources.overrides.iter().any(|o| o.name == name);
    let anything = ["CLIENTS", "CLIENT_MOUNTPOINTS", "MNT_POINTS"];
    if args.rc.is_none() && !anything.into_iter().any(given) {
        let sentence =
            "no clients are given: give the rc file (-r RC), or name them: -o \"CLIENTS=h1 h2\"";
        return Err(CommandError::Usage(vec![sentence.into()]));
    }
    let with = |load: &str, sources: &Sources| {
        let mut sources = sources.clone();
        sources.set_default("LOAD", load);
        guarded_resolve(&sources)
    };
    let [shared, least] = LOADS;
    let first = match with(shared, &sources) {
        Ok(resolved) => return Ok(resolved),
        Err(errors) => errors,
    };
    if let Ok(resolved) = with(least, &sources) {
        return Ok(resolved);
    }
    sources.set("without servers", "DRIVER", "null");
    match with(shared, &sources) {
        Ok(resolved) => {
            if mount_points > 0 {
                for error in &first {
                    filermark_cli_kit::stderr_line!("the servers are left out: {error}");
                }
            }
            Ok(resolved)
        }
        Err(_) => Err(first.into()),
    }
}

/// Reads the rc file and the options.
pub fn sources(args: &SourceArgs) -> Result<Sources, CommandError> {
    let mut sources = Sources::from_rc(args.rc.as_deref())
        .map_err(|e| refused(args.rc.as_deref().unwrap_or(Path::new("")), &RC_FILES, e))?;
    for option in &args.options {
        sources.set_option(option)?;
    }
    if let Some(suffix) = &args.suffix {
        sources.set("-s", "SUFFIX", suffix);
    }
    if let Some(dir) = &args.dir {
        sources.set("-d", "WORK_DIR", &dir.display().to_string());
    }
    if let Some(dir) = &args.agents {
        // Relative to the current directory, too.
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
        sources.set("--agents", "AGENTS_DIR", &dir.display().to_string());
    }
    if let Some(file) = &args.benchmarks {
        // Relative to the current directory, not to the rc file.
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        sources.set("-b", "BENCHMARK_FILE", &file.display().to_string());
    }
    if let Some(line) = &args.workload {
        sources.set("-w", "WORKLOAD", line);
        sources.set_default("LOAD", "1");
    }
    Ok(sources)
}

/// The log directives: DEBUG flags, `-v`, or RUST_LOG; `None`: only warnings.
pub fn log_directives(debug: &[u8], verbose: u8) -> Option<String> {
    let base = match verbose {
        0 => "warn",
        1 => "filermark=info,warn",
        _ => "debug",
    };
    let flags = debug_filter(debug);
    match (std::env::var("RUST_LOG"), flags.is_empty()) {
        (Ok(wish), _) if !wish.is_empty() => Some(wish),
        (_, true) => (verbose > 0).then(|| base.to_owned()),
        // Output of agents is logged at level info.
        (_, false) => Some(format!("{base},filermark_clients::launch=info,{flags}")),
    }
}

type LogToStderr = SubscriberBuilder<DefaultFields, Format<Full>, EnvFilter, fn() -> LogWriter>;

/// Sends the crates' log to stderr.
pub fn init_tracing(debug: &[u8], verbose: u8) {
    let _ = log_to_stderr(debug, verbose).try_init();
}

/// The same for an agent whose stderr a prime reads: without times, since the log of the prime
/// has them.
pub fn init_tracing_of_agent(verbose: u8) {
    let _ = log_to_stderr(&[], verbose).without_time().try_init();
}

fn log_to_stderr(debug: &[u8], verbose: u8) -> LogToStderr {
    let directives = log_directives(debug, verbose).unwrap_or_else(|| "warn".into());
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(directives))
        .with_writer((|| LogWriter) as fn() -> LogWriter)
        .with_ansi(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rc: &str) -> Result<Resolved, CommandError> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("sfs_rc");
        std::fs::write(&path, rc).expect("write it");
        clients(&SourceArgs {
            rc: Some(path),
            ..SourceArgs::default()
        })
    }

    #[test]
    fn clients_are_enough_where_only_they_matter() {
        // Also without credentials, and with any driver.
        for more in [
            "",
            "LOAD=100\nPROCS=4\n",
            "FS_PROTOCOL=smb\nMNT_POINTS=//nas/share\nUSERNAME=me\n",
            "DRIVER=smb\n",
        ] {
            let resolved = of(&format!("CLIENTS=\"c1 c2\"\n{more}"));
            let resolved = resolved.unwrap_or_else(|_| panic!("{more}"));
            let names = resolved.launch.hosts.iter().map(|h| h.client.as_str());
            assert_eq!(names.collect::<Vec<_>>(), ["c1", "c2"], "{more}");
        }
    }

    #[test]
    fn what_is_wrong_with_the_clients_is_still_reported() {
        for wrong in [
            "CLIENTS=\"c1 c1\"\n",
            "CLIENTS=c1\nMNT_POINTS=nas\n",
            "CLIENTS=c1\nSSH_COMMAND=-x\n",
        ] {
            let Err(CommandError::Usage(sentences)) = of(wrong) else {
                panic!("{wrong}");
            };
            // Another error is reported before the missing benchmark.
            assert!(!sentences.is_empty(), "{sentences:?}");
        }
    }
}
