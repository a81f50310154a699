//! `stop`: what a run has left running on its clients.

use crate::cli::{OutputArgs, StopArgs};
use crate::exit::{Ended, Failure};
use crate::roster::{self, Watch};
use crate::{interrupt, plain};
use filermark_cluster::hosts::{HostLimits, stop};
use filermark_cluster::launch::tag::RunTag;
use filermark_config::Resolved;
use filermark_engine::driver::StopFlag;
use serde_json::json;

/// Ends the agents of the run that the rc file and SUFFIX name.
pub fn stop(args: &StopArgs) -> Ended {
    let resolved = plain::clients(&args.source)?;
    plain::listen_to_rooms(&resolved.debug, args.verbose.verbose);
    stop_run(&resolved, &args.output)
}

/// Ends the agents of a run.
pub fn stop_run(resolved: &Resolved, output: &OutputArgs) -> Ended {
    let tag = RunTag::new(&resolved.suffix).map_err(Failure::Failed)?;
    let flag = StopFlag::new();
    interrupt::on_interrupt(flag.clone(), "stopping: not all hosts were looked at");
    let limits = HostLimits {
        stop: flag.clone(),
        ..HostLimits::default()
    };
    let mut watch = Watch::new(resolved.launch.hosts.len());
    let hosts = stop::stop(&resolved.launch, &tag, &limits, &mut |host, step| {
        watch.hear(host, step);
    });
    watch.rest();
    let more = json!({ "run": tag.as_str() });
    Ok(roster::tell(&hosts, more, output, Some(&flag)))
}
