//! Starts hosts of the test bed by hand, with ganesha as their filer, and runs a
//! command on the prime:
//!
//! ```text
//! cargo run -p filermark-testbed --example hosts -- COUNT [COMMAND [ARGS]]
//! ```
//!
//! The default command is a shell, in which `ssh h1` works. The export is in
//! its environment: `EXPORT`, and the ports `NFS_PORT` and `MOUNT_PORT`. The
//! hosts end with the command; the exit status is that of the command.

use filermark_testbed::{Fsal, Ganesha, Hosts};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(count) = args.next().and_then(|count| count.parse().ok()) else {
        eprintln!("usage: hosts COUNT [COMMAND [ARGS]]");
        return ExitCode::from(2);
    };
    run(count, args).unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

fn run(
    count: usize,
    mut args: impl Iterator<Item = String>,
) -> filermark_testbed::Result<ExitCode> {
    let start = Instant::now();
    let ganesha = Ganesha::start(Fsal::Vfs)?;
    let hosts = Hosts::start(ganesha.sandbox(), count)?;
    let export = hosts.export(ganesha.export());
    eprintln!("{count} hosts are up after {:.2?}", start.elapsed());
    let program = args.next().unwrap_or_else(|| "bash".into());
    let status = hosts
        .command(&program)
        .args(args)
        .env("EXPORT", export.mount_point())
        .env("NFS_PORT", export.nfs_port.to_string())
        .env("MOUNT_PORT", export.mount_port.to_string())
        .status();
    Ok(match status {
        Ok(status) => {
            u8::try_from(status.code().unwrap_or(1)).map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    })
}
