//! `install`: this very program, on every client.

use crate::cli::{InstallArgs, OutputArgs};
use crate::exit::{Ended, Failure};
use crate::roster::{self, Watch};
use crate::{interrupt, plain};
use filermark_engine::driver::StopFlag;
use filermark_hosts::admin::{HostLimits, install};
use filermark_link::build::own_build;
use filermark_model::launch::LaunchPlan;
use serde_json::json;

/// Brings the program to the clients of the rc file.
pub fn install(args: &InstallArgs) -> Ended {
    let resolved = plain::clients(&args.source)?;
    plain::listen_to_rooms(&resolved.debug, args.verbose.verbose);
    install_on(&resolved.launch, &args.output)
}

/// Brings the program to the clients of a plan.
pub fn install_on(plan: &LaunchPlan, output: &OutputArgs) -> Ended {
    let stop = StopFlag::new();
    interrupt::on_interrupt(
        stop.clone(),
        "stopping: no host is left with half a program",
    );
    let limits = HostLimits {
        stop: stop.clone(),
        ..HostLimits::default()
    };
    let mut watch = Watch::new(plan.hosts.len());
    let hosts = install::install(plan, &limits, &mut |host, step| watch.hear(host, step));
    watch.rest();
    let hosts = hosts.map_err(Failure::Failed)?;
    let more = json!({ "build": own_build() });
    Ok(roster::tell(&hosts, more, output, Some(&stop)))
}
