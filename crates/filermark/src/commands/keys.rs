//! `keys`: SSH that asks nothing, on every client.

use crate::cli::{KeysArgs, OutputArgs};
use crate::exit::{Ended, Failure};
use crate::plain;
use crate::roster::{self, Watch};
use filermark_hosts::admin::keys::{KeysOptions, KeysReport, keys as set_up};
use filermark_hosts::admin::{HostLimits, HostState};
use serde_json::json;
use std::path::PathBuf;

/// Looks, or sets it up. Ctrl-C ends it with the program that asks, as a terminal does.
pub fn keys(args: &KeysArgs) -> Ended {
    let resolved = plain::clients(&args.source)?;
    plain::listen_to_rooms(&resolved.debug, args.verbose.verbose);
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    let options = KeysOptions {
        do_it: args.yes,
        home: home.map(PathBuf::from).ok_or_else(|| {
            Failure::Failed("HOME is not set: nobody knows where ~/.ssh is".into())
        })?,
        limits: HostLimits::default(),
    };
    let mut watch = Watch::new(resolved.launch.hosts.len());
    let report = set_up(&resolved.launch, &options, &mut |host, step| {
        watch.hear(host, step);
    });
    watch.rest();
    tell(&report.map_err(Failure::Failed)?, &args.output)
}

fn tell(report: &KeysReport, output: &OutputArgs) -> Ended {
    let key = report.key.as_ref();
    match key {
        Some(key) if key.made => eprintln!("{}: a new key was made", key.path.display()),
        Some(key) => eprintln!("there is no key yet; first: {}", key.command),
        None => {}
    }
    if report.hosts.iter().any(|h| h.state == HostState::Planned) {
        eprintln!("nothing was changed; --yes does it");
    }
    let more = json!({
        "key": key.map(|k| json!({ "path": k.path, "command": k.command, "made": k.made })),
    });
    Ok(roster::tell(&report.hosts, more, output, None))
}
