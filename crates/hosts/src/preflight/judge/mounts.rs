//! Checks whether mounted directories exist, are writable, and are the same file system on all
//! clients that use the same path.

use super::client::Client;
use crate::launch::ssh::quote;
use crate::preflight::check::Check;
use filermark_link::facts::{MountEntry, MountInfo, ProbeOutcome};
use filermark_model::Bytes;

/// The result of a probe file: one client created it, others searched for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::preflight) struct ProbeResult {
    /// The directory.
    pub dir: String,
    /// The client that created it, by its number in the plan.
    pub creator: usize,
    /// Why it could not be created; `None`: it was.
    pub create_error: Option<String>,
    /// The other clients, and the result of each.
    pub seen: Vec<(usize, ProbeOutcome)>,
    /// Why it still exists; `None`: it was removed.
    pub left: Option<String>,
}

/// The directories of one client, among all clients.
pub(super) fn mounts(client: &Client<'_>, all: &[Client<'_>]) -> Vec<Check> {
    let of = |mount_info: &MountInfo| mount(client, mount_info, all);
    client.facts.mounts.iter().map(of).collect()
}

fn mount(client: &Client<'_>, mount_info: &MountInfo, all: &[Client<'_>]) -> Check {
    let (name, path) = (client.name, &mount_info.mount.path);
    let entry = match &mount_info.mounted {
        Ok(entry) => entry,
        Err(reason) => {
            let check = Check::failure(name, "mount", reason.clone());
            return match remote_mount(path, all) {
                Some(other) => check.fix(mount_command(other, path)),
                None => check,
            };
        }
    };
    let on = format!("{} {}", entry.kind, entry.source);
    let on = on.trim().to_owned();
    if let Some(reason) = &entry.unwritable {
        let hint = match client.facts.selinux_enforcing {
            Some(true) => {
                "; if its permissions allow it, SELinux may deny it: `ausearch -m avc -ts recent`"
            }
            _ => "",
        };
        let sentence = format!("{path} ({on}) cannot be written to: {reason}{hint}");
        let check = Check::failure(name, "mount", sentence);
        let is_read_only = entry.options.split(',').any(|o| o == "ro");
        return match is_read_only {
            true => check.fix(format!(
                "sudo mount -o remount,rw {}",
                quote(&entry.mount_point)
            )),
            false => check,
        };
    }
    if entry.mount_point == "/" {
        let sentence = format!(
            "{path} is on the root file system ({on}): check that the file system to be measured is mounted"
        );
        let check = Check::warning(name, "mount", sentence);
        return match remote_mount(path, all) {
            Some(other) => check.fix(mount_command(other, path)),
            None => check,
        };
    }
    let free = entry
        .free_bytes
        .map_or(String::new(), |b| format!(", {} free", Bytes(b)));
    let place = match &entry.mount_point {
        point if point == path || point.is_empty() => String::new(),
        point => format!(" at {point}"),
    };
    Check::ok(
        name,
        "mount",
        format!("{path}: {on}{place}, writable{free}"),
    )
}

/// A network file system that another client has mounted there.
fn remote_mount<'a>(path: &str, all: &[Client<'a>]) -> Option<&'a MountEntry> {
    let mounts = all.iter().flat_map(|c| &c.facts.mounts);
    let entry = mounts
        .filter(|l| l.mount.path == path)
        .filter_map(|l| l.mounted.as_ref().ok());
    entry.into_iter().find(|m| m.is_remote())
}

fn mount_command(other: &MountEntry, path: &str) -> String {
    let point = match other.mount_point.as_str() {
        "" => path,
        point => point,
    };
    let (point, kind, source) = (quote(point), quote(&other.kind), quote(&other.source));
    format!("sudo mkdir -p {point} && sudo mount -t {kind} {source} {point}")
}

/// Which clients have another file system under the same path. `is_shared`: procs of several
/// clients work in one tree.
pub(super) fn same_file_system(
    clients: &[Client<'_>],
    probe_result: &ProbeResult,
    is_shared: bool,
) -> Vec<Check> {
    let of = |at: usize| clients.iter().find(|c| c.at == at);
    let Some(creator) = of(probe_result.creator) else {
        return Vec::new();
    };
    let dir = &probe_result.dir;
    let mut checks = Vec::new();
    if let Some(reason) = &probe_result.left {
        let sentence = format!("a probe file could not be removed: {reason}");
        checks.push(Check::failure(creator.name, "same", sentence).fix(format!(
            "rm {}/.filermark-probe-*",
            quote(dir.trim_end_matches('/'))
        )));
    }
    if let Some(reason) = &probe_result.create_error {
        let sentence = format!(
            "{dir}: it is not known whether all clients have the same file system: {reason}"
        );
        checks.push(Check::failure(creator.name, "same", sentence));
        return checks;
    }
    for (at, outcome) in &probe_result.seen {
        let Some(client) = of(*at) else { continue };
        checks.push(match outcome {
            ProbeOutcome::Done => {
                let sentence = format!("{dir} is the same file system as on {}", creator.name);
                Check::ok(client.name, "same", sentence)
            }
            ProbeOutcome::Failed { reason } => Check::failure(client.name, "same", reason.clone()),
            ProbeOutcome::Missing => other_file_system(client, creator, dir, is_shared),
        });
    }
    checks
}

fn other_file_system(
    client: &Client<'_>,
    creator: &Client<'_>,
    dir: &str,
    is_shared: bool,
) -> Check {
    let on = |c: &Client<'_>| {
        let mount_info = c.facts.mounts.iter().find(|m| m.mount.path == dir);
        mount_info
            .and_then(|l| l.mounted.as_ref().ok())
            .cloned()
            .unwrap_or_default()
    };
    let (own, other) = (on(client), on(creator));
    let sentence = format!(
        "{dir} is another file system ({} {}) than on {} ({} {})",
        own.kind, own.source, creator.name, other.kind, other.source
    );
    let with_fix = |check: Check| match (other.is_remote(), own.is_remote()) {
        (true, _) => check.fix(mount_command(&other, dir)),
        (false, _) => check,
    };
    if is_shared {
        let why = format!("{sentence}, but procs of all clients share one tree (-X, sharemode)");
        return with_fix(Check::failure(client.name, "same", why));
    }
    match (own.is_remote(), other.is_remote()) {
        (false, true) => with_fix(Check::failure(
            client.name,
            "same",
            format!("{sentence}: it is not mounted here"),
        )),
        (true, false) => {
            let check = format!("{sentence}: it is not mounted on {}", creator.name);
            Check::failure(client.name, "same", check)
        }
        (true, true) if own.source == other.source => Check::failure(
            client.name,
            "same",
            format!(
                "{sentence}, although both have the same source: check that both reach the same server"
            ),
        ),
        _ => Check::warning(
            client.name,
            "same",
            format!("{sentence}: correct only if each client is to have its own"),
        ),
    }
}

#[cfg(test)]
#[path = "mounts_tests.rs"]
mod tests;
