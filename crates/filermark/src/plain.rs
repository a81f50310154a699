//! From the options of a subcommand to a resolved plan.

use crate::cli::SourceArgs;
use crate::exit::Failure;
use crate::live::LogWriter;
use filermark_config::{Resolved, Sources, debug_filter, resolve};
use tracing_subscriber::EnvFilter;

/// Loads of which one fits any benchmark: one that any number of procs can share out,
/// and one of a benchmark in which every unit has procs of its own. None is made.
const LOADS: [&str; 2] = ["1000000", "1"];

/// Reads the rc file and the options, and resolves them.
pub fn resolved(args: &SourceArgs) -> Result<Resolved, Failure> {
    let resolved = resolve(&sources(args)?);
    resolved.map_err(|errors| match Failure::from(errors) {
        Failure::Usage(mut sentences) if args.rc.is_none() && args.options.is_empty() => {
            sentences.push(
                "no rc file was given: -r RC; `filermark template > sfs_rc` makes one to start from".into(),
            );
            Failure::Usage(sentences)
        }
        other => other,
    })
}

/// The same where only the clients matter: LOAD and PROCS may be missing, and without
/// an rc file also the server.
pub fn clients(args: &SourceArgs) -> Result<Resolved, Failure> {
    let mut sources = sources(args)?;
    let mount_points = sources.mount_point_count();
    sources.set_default("PROCS", &mount_points.max(1).to_string());
    let given = |name: &str| sources.overrides.iter().any(|o| o.name == name);
    let anything = ["CLIENTS", "CLIENT_MOUNTPOINTS", "MNT_POINTS"];
    if args.rc.is_none() && !anything.into_iter().any(given) {
        let sentence =
            "which clients? Give the rc file (-r RC), or name them: -o \"CLIENTS=h1 h2\"";
        return Err(Failure::Usage(vec![sentence.into()]));
    }
    if args.rc.is_none() && mount_points == 0 && !given("CLIENT_MOUNTPOINTS") {
        sources.set_default("DRIVER", "null");
    }
    let with = |load: &str| {
        let mut sources = sources.clone();
        sources.set_default("LOAD", load);
        resolve(&sources)
    };
    let [shared, least] = LOADS;
    with(shared).or_else(|first| with(least).map_err(|_| first.into()))
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
