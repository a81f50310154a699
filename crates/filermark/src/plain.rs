//! From the options of a subcommand to a resolved plan.

use crate::cli::SourceArgs;
use crate::exit::Failure;
use crate::live::LogWriter;
use filermark_config::{Resolved, Sources, debug_filter, resolve};
use tracing_subscriber::EnvFilter;

/// A load that any number of procs can share out; none is made.
const LOAD: &str = "1000000";

/// Reads the rc file and the options, and resolves them.
pub fn resolved(args: &SourceArgs) -> Result<Resolved, Failure> {
    Ok(resolve(&sources(args)?)?)
}

/// The same where only the clients matter: LOAD and PROCS may be missing, and without
/// an rc file also the server.
pub fn clients(args: &SourceArgs) -> Result<Resolved, Failure> {
    let mut sources = sources(args)?;
    let mount_points = sources.mount_point_count();
    sources.set_default("PROCS", &mount_points.max(1).to_string());
    sources.set_default("LOAD", LOAD);
    let given = |name: &str| sources.overrides.iter().any(|o| o.name == name);
    if args.rc.is_none() && mount_points == 0 && !given("CLIENT_MOUNTPOINTS") {
        sources.set_default("DRIVER", "null");
    }
    Ok(resolve(&sources)?)
}

/// Reads the rc file and the options.
pub fn sources(args: &SourceArgs) -> Result<Sources, Failure> {
    let mut sources = Sources::from_rc(args.rc.as_deref())?;
    for option in &args.options {
        sources.set_option(option)?;
    }
    if let Some(suffix) = &args.suffix {
        sources.set("-s", "SUFFIX", suffix);
    }
    if let Some(dir) = &args.dir {
        sources.set("-d", "WORK_DIR", &dir.display().to_string());
    }
    if let Some(file) = &args.benchmarks {
        // As the shell understands it, not beside the rc file.
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        sources.set("-b", "BENCHMARK_FILE", &file.display().to_string());
    }
    Ok(sources)
}

/// What the rooms are to say: DEBUG flags, `-v`, or RUST_LOG; `None`: only warnings.
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
        // What agents say comes as information.
        (_, false) => Some(format!("{base},filermark_cluster::launch=info,{flags}")),
    }
}

/// Sends the rooms' own words to stderr.
pub fn listen_to_rooms(debug: &[u8], verbose: u8) {
    let directives = log_directives(debug, verbose).unwrap_or_else(|| "warn".into());
    let _ = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(directives))
        .with_writer(|| LogWriter)
        .with_ansi(false)
        .try_init();
}
