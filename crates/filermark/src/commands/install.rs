//! `install`: installs this program on every client.

use crate::cli::{InstallArgs, OutputArgs};
use crate::host_table::{self, HostTable};
use crate::resolve_args;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::interrupt;
use filermark_engine::driver::StopFlag;
use filermark_hosts::admin::{HostLimits, install};
use filermark_link::build::own_build;
use filermark_model::launch::LaunchPlan;
use serde_json::json;

/// Installs the program on the clients of the rc file.
pub fn install(args: &InstallArgs) -> CommandResult {
    let resolved = resolve_args::clients(&args.source)?;
    resolve_args::init_tracing(&resolved.debug, args.verbose.verbose);
    install_on(&resolved.launch, &args.output)
}

/// Installs the program on the clients of a plan.
pub fn install_on(plan: &LaunchPlan, output: &OutputArgs) -> CommandResult {
    let stop = StopFlag::new();
    interrupt::on_interrupt(
        stop.clone(),
        "stopping: no host is left with an incomplete program",
    );
    let limits = HostLimits {
        stop: stop.clone(),
        ..HostLimits::default()
    };
    let mut watch = HostTable::new(plan.hosts.len());
    let hosts = install::install(plan, &limits, &mut |host, step| watch.on_step(host, step));
    watch.rest();
    let hosts = hosts.map_err(CommandError::Failed)?;
    let more = json!({ "build": own_build() });
    Ok(host_table::print(&hosts, more, output, Some(&stop)))
}
