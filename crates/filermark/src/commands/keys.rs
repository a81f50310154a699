//! `keys`: sets up SSH without a password on every client.

use crate::cli::{KeysArgs, OutputArgs};
use crate::host_table::{self, HostTable};
use crate::resolve_args;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_hosts::admin::keys::{KeysOptions, KeysReport, keys as set_up};
use filermark_hosts::admin::{HostLimits, HostState};
use serde_json::json;
use std::path::PathBuf;

/// Checks it, or sets it up. Ctrl-C also ends the program that asks for a password.
pub fn keys(args: &KeysArgs) -> CommandResult {
    let resolved = resolve_args::clients(&args.source)?;
    resolve_args::init_tracing(&resolved.debug, args.verbose.verbose);
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    let options = KeysOptions {
        do_it: args.yes,
        home: home.map(PathBuf::from).ok_or_else(|| {
            CommandError::Failed(
                "HOME is not set, so the directory ~/.ssh is unknown; set HOME".into(),
            )
        })?,
        limits: HostLimits::default(),
    };
    let mut watch = HostTable::new(resolved.launch.hosts.len());
    let report = set_up(&resolved.launch, &options, &mut |host, step| {
        watch.on_step(host, step);
    });
    watch.rest();
    print(&report.map_err(CommandError::Failed)?, &args.output)
}

fn print(report: &KeysReport, output: &OutputArgs) -> CommandResult {
    let key = report.key.as_ref();
    match key {
        Some(key) if key.made => {
            filermark_cli_kit::stderr_line!("{}: a new key was made", key.path.display())
        }
        Some(key) => filermark_cli_kit::stderr_line!("there is no key yet; first: {}", key.command),
        None => {}
    }
    if report.hosts.iter().any(|h| h.state == HostState::Planned) {
        filermark_cli_kit::stderr_line!("nothing was changed; --yes does it");
    }
    let more = json!({
        "key": key.map(|k| json!({ "path": k.path, "command": k.command, "made": k.made })),
    });
    Ok(host_table::print(&report.hosts, more, output, None))
}
