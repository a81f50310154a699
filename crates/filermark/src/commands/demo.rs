//! `demo`: measures an embedded server.
//!
//! The server delays its replies like a single slow disk, so that the curve has a knee on any
//! machine.

use super::run;
use crate::cli::DemoArgs;
use crate::gates::Gates;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_config::{Sources, resolve};
use filermark_results::outputs::RECORD;
use filermark_server::{EXPORT, Server, ServerOptions};

/// Delay of each operation: 200 microseconds in the mean of the mix, so about 5,000 op/s at
/// most.
const DISK: &str = "READ=uniform:200us-400us,WRITE=uniform:300us-500us,COMMIT=500us,\
CREATE=uniform:300us-600us,REMOVE=uniform:300us-600us,SETATTR=250us,\
READDIR=300us,READDIRPLUS=uniform:300us-600us,uniform:50us-200us";

/// Starts the server, sweeps it, and ends with the path of the report.
pub fn demo(args: &DemoArgs) -> CommandResult {
    crate::resolve_args::init_tracing(&[], args.verbose.verbose);
    let server = Server::start(ServerOptions {
        listen: vec![([127, 0, 0, 1], 0).into()],
        delay: DISK.parse().map_err(CommandError::of)?,
        queue: true,
        udp: false,
        ..ServerOptions::default()
    })
    .map_err(CommandError::of)?;
    let port = server.addrs()[0].port().to_string();
    let mut sources = Sources::from_rc(None)?;
    let seconds = args.seconds.as_secs_f64().to_string();
    for (name, value) in [
        ("LOAD", "480"),
        ("INCR_LOAD", "480"),
        ("NUM_RUNS", "10"),
        ("PROCS", "20"),
        ("WARMUP_TIME", "1"),
        ("RUNTIME", &seconds),
        // The points take a few seconds on any machine: a stall is reported, but they stay valid.
        ("STALL_PCNT_MAX", "100"),
        ("FILESET_MB_PER_OP", "0.05"),
        ("MNT_POINTS", &format!("127.0.0.1:{EXPORT}")),
        ("NFS_PORT", &port),
        ("MOUNT_PORT", &port),
    ] {
        sources.set("demo", name, value);
    }
    let suffix = free_suffix(&args.dir);
    sources.set("demo", "SUFFIX", &suffix);
    sources.set("-d", "WORK_DIR", &args.dir.display().to_string());
    let resolved = resolve(&sources)?;
    let gates = Gates::open(&args.gates, &[])?;
    gates.refuse_other_work(&resolved.plan)?;
    let rest = args.setup.idle()?.as_secs_f64();
    let points = resolved.plan.points.len() as f64;
    if !args.progress.quiet {
        filermark_cli_kit::stderr_line!(
            "A server inside this program is measured at {points} load points; it takes about {:.0} s.",
            rest + points * (args.seconds.as_secs_f64() + 1.2)
        );
    }
    let ended = run::carry_out(
        resolved,
        &args.output,
        &args.events,
        run::RunMode {
            gates: Some(&gates),
            progress: args.progress.mode(),
            ..run::RunMode::anew(&args.setup)
        },
    );
    server.stop();
    ended
}

/// `demo`, or the first of `demo2`, `demo3` ... that has no record yet: results
/// are never overwritten.
fn free_suffix(dir: &std::path::Path) -> String {
    (1..)
        .map(|n| {
            if n == 1 {
                "demo".to_owned()
            } else {
                format!("demo{n}")
            }
        })
        .find(|s| !dir.join(RECORD.name(s)).exists())
        .unwrap_or_else(|| "demo".to_owned())
}
