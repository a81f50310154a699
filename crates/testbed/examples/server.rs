//! Starts a server of the test bed by hand and runs a command in its network:
//!
//! ```text
//! cargo run -p filermark-testbed --example server -- ganesha-vfs|ganesha-mem|kernel|kernel-6.12|samba [COMMAND [ARGS]]
//! ```
//!
//! The default command is a shell. The export is in its environment:
//! `ADDRESS`, `NFS_PORT`, `MOUNT_PORT`, `EXPORT` and, of a server of NFSv4, `EXPORT_V4`; for samba `ADDRESS`, `SMB_PORT`, the
//! share `MNT_POINT`, `USERNAME`, `PASSWORD`, and `SMB_CONF` for smbstatus. The server
//! ends with the command; the exit status is that of the command.

use filermark_testbed::{
    Export, Fsal, Ganesha, Kernel, KernelSecurity, KernelServer, Samba, SambaOptions, Sandbox,
    ServerOptions,
};
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::time::Instant;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let start = Instant::now();
    let outcome = match args.next().as_deref() {
        Some("ganesha-vfs") => with_ganesha(Fsal::Vfs, start, args),
        Some("ganesha-mem") => with_ganesha(Fsal::Mem, start, args),
        Some("kernel") => with_kernel(Kernel::V61, start, args),
        Some("kernel-6.12") => with_kernel(Kernel::V612, start, args),
        Some("samba") => with_samba(start, args),
        _ => {
            eprintln!(
                "usage: server ganesha-vfs|ganesha-mem|kernel|kernel-6.12|samba [COMMAND [ARGS]]"
            );
            return ExitCode::from(2);
        }
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

const NFS4: ServerOptions = ServerOptions {
    nfs4: true,
    udp: false,
    read_only: false,
    root_squash: false,
    space_mib: None,
};

fn with_kernel(
    kernel: Kernel,
    start: Instant,
    args: impl Iterator<Item = String>,
) -> filermark_testbed::Result<ExitCode> {
    let sandbox = Sandbox::new()?;
    let server = KernelServer::start_as(&sandbox, kernel, NFS4, KernelSecurity::default())?;
    Ok(run(server.sandbox(), server.export(), start, args))
}

fn with_ganesha(
    fsal: Fsal,
    start: Instant,
    args: impl Iterator<Item = String>,
) -> filermark_testbed::Result<ExitCode> {
    let ganesha = Ganesha::start_in(&Sandbox::new()?, fsal, NFS4)?;
    Ok(run(ganesha.sandbox(), ganesha.export(), start, args))
}

fn with_samba(
    start: Instant,
    mut args: impl Iterator<Item = String>,
) -> filermark_testbed::Result<ExitCode> {
    let samba = Samba::start(SambaOptions::default())?;
    let share = samba.mount_point(Samba::DATA);
    eprintln!(
        "{share} on port {} is up after {:.2?}; user {}, password {}",
        samba.port(),
        start.elapsed(),
        Samba::USER,
        Samba::PASSWORD
    );
    let program = args.next().unwrap_or_else(|| "bash".into());
    let mut command = samba.sandbox().command(&program);
    command
        .args(args)
        .env("ADDRESS", samba.address().ip().to_string())
        .env("SMB_PORT", samba.port().to_string())
        .env("MNT_POINT", share)
        .env("USERNAME", Samba::USER)
        .env("PASSWORD", Samba::PASSWORD)
        .env("SMB_CONF", samba.config());
    Ok(exit_code(&program, command.status()))
}

/// Runs the command, or a shell, in the server's network.
fn run(
    sandbox: &Arc<Sandbox>,
    export: &Export,
    start: Instant,
    mut args: impl Iterator<Item = String>,
) -> ExitCode {
    eprintln!(
        "{} is up after {:.2?}; {export:?}",
        export.mount_point(),
        start.elapsed()
    );
    let program = args.next().unwrap_or_else(|| "bash".into());
    let status = sandbox
        .command(&program)
        .args(args)
        .env("ADDRESS", export.address.to_string())
        .env("NFS_PORT", export.nfs_port.to_string())
        .env("MOUNT_PORT", export.mount_port.to_string())
        .env("EXPORT", &export.path)
        .env("EXPORT_V4", export.path_v4.as_deref().unwrap_or_default())
        .status();
    exit_code(&program, status)
}

/// The exit status of the command, or 1 with a message if it did not start.
fn exit_code(program: &str, status: std::io::Result<ExitStatus>) -> ExitCode {
    match status {
        Ok(status) => {
            u8::try_from(status.code().unwrap_or(1)).map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}
