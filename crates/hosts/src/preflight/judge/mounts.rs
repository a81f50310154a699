//! Whether mounted directories are there, can be written to, and are the same for all
//! clients that name them alike.

use super::client::Client;
use crate::launch::ssh::quote;
use crate::preflight::check::Check;
use filermark_link::facts::{MountEntry, MountInfo, ProbeOutcome};
use filermark_model::Bytes;

/// What came of a probe file: one client laid it, others looked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::preflight) struct ProbeResult {
    /// The directory.
    pub dir: String,
    /// The client that laid it, by its number in the plan.
    pub layer: usize,
    /// Why it could not; `None`: it lay there.
    pub unlaid: Option<String>,
    /// The others, and what each found.
    pub seen: Vec<(usize, ProbeOutcome)>,
    /// Why it is still there; `None`: it is gone again.
    pub left: Option<String>,
}

/// The directories of one client, among all clients.
pub(super) fn mounts(client: &Client<'_>, all: &[Client<'_>]) -> Vec<Check> {
    let of = |look: &MountInfo| mount(client, look, all);
    client.facts.mounts.iter().map(of).collect()
}

fn mount(client: &Client<'_>, look: &MountInfo, all: &[Client<'_>]) -> Check {
    let (name, path) = (client.name, &look.mount.path);
    let there = match &look.mounted {
        Ok(there) => there,
        Err(reason) => {
            let check = Check::failure(name, "mount", reason.clone());
            return match elsewhere(path, all) {
                Some(other) => check.fix(mount_command(other, path)),
                None => check,
            };
        }
    };
    let on = format!("{} {}", there.kind, there.source);
    let on = on.trim().to_owned();
    if let Some(reason) = &there.unwritable {
        let hint = match client.facts.selinux_enforcing {
            Some(true) => {
                "; if its permissions allow it, SELinux may not: `ausearch -m avc -ts recent`"
            }
            _ => "",
        };
        let sentence = format!("{path} ({on}) cannot be written to: {reason}{hint}");
        let check = Check::failure(name, "mount", sentence);
        let is_read_only = there.options.split(',').any(|o| o == "ro");
        return match is_read_only {
            true => check.fix(format!(
                "sudo mount -o remount,rw {}",
                quote(&there.mount_point)
            )),
            false => check,
        };
    }
    if there.mount_point == "/" {
        let sentence = format!(
            "{path} is on the root file system ({on}): is what is to be measured mounted there?"
        );
        let check = Check::warning(name, "mount", sentence);
        return match elsewhere(path, all) {
            Some(other) => check.fix(mount_command(other, path)),
            None => check,
        };
    }
    let free = there
        .free_bytes
        .map_or(String::new(), |b| format!(", {} free", Bytes(b)));
    let place = match &there.mount_point {
        point if point == path || point.is_empty() => String::new(),
        point => format!(" at {point}"),
    };
    Check::ok(
        name,
        "mount",
        format!("{path}: {on}{place}, writable{free}"),
    )
}

/// What another client has mounted there over a network.
fn elsewhere<'a>(path: &str, all: &[Client<'a>]) -> Option<&'a MountEntry> {
    let looks = all.iter().flat_map(|c| &c.facts.mounts);
    let there = looks
        .filter(|l| l.mount.path == path)
        .filter_map(|l| l.mounted.as_ref().ok());
    there.into_iter().find(|m| m.is_remote())
}

fn mount_command(other: &MountEntry, path: &str) -> String {
    let point = match other.mount_point.as_str() {
        "" => path,
        point => point,
    };
    let (point, kind, source) = (quote(point), quote(&other.kind), quote(&other.source));
    format!("sudo mkdir -p {point} && sudo mount -t {kind} {source} {point}")
}

/// Which clients see another file system under the same path. `is_shared`: procs of
/// several clients work in one tree.
pub(super) fn sameness(
    clients: &[Client<'_>],
    sighting: &ProbeResult,
    is_shared: bool,
) -> Vec<Check> {
    let of = |at: usize| clients.iter().find(|c| c.at == at);
    let Some(layer) = of(sighting.layer) else {
        return Vec::new();
    };
    let dir = &sighting.dir;
    let mut checks = Vec::new();
    if let Some(reason) = &sighting.left {
        let sentence = format!("a probe file could not be removed: {reason}");
        checks.push(Check::failure(layer.name, "same", sentence).fix(format!(
            "rm {}/.filermark-probe-*",
            quote(dir.trim_end_matches('/'))
        )));
    }
    if let Some(reason) = &sighting.unlaid {
        let sentence = format!("{dir}: whether all see the same is not known: {reason}");
        checks.push(Check::failure(layer.name, "same", sentence));
        return checks;
    }
    for (at, outcome) in &sighting.seen {
        let Some(client) = of(*at) else { continue };
        checks.push(match outcome {
            ProbeOutcome::Done => {
                let sentence = format!("{dir} is what {} sees there", layer.name);
                Check::ok(client.name, "same", sentence)
            }
            ProbeOutcome::Failed { reason } => Check::failure(client.name, "same", reason.clone()),
            ProbeOutcome::Missing => another(client, layer, dir, is_shared),
        });
    }
    checks
}

fn another(client: &Client<'_>, layer: &Client<'_>, dir: &str, is_shared: bool) -> Check {
    let on = |c: &Client<'_>| {
        let look = c.facts.mounts.iter().find(|m| m.mount.path == dir);
        look.and_then(|l| l.mounted.as_ref().ok())
            .cloned()
            .unwrap_or_default()
    };
    let (own, other) = (on(client), on(layer));
    let sentence = format!(
        "{dir} is another file system ({} {}) than on {} ({} {})",
        own.kind, own.source, layer.name, other.kind, other.source
    );
    let mend = |check: Check| match (other.is_remote(), own.is_remote()) {
        (true, _) => check.fix(mount_command(&other, dir)),
        (false, _) => check,
    };
    if is_shared {
        let why = format!("{sentence}, but procs of all clients share one tree (-X, sharemode)");
        return mend(Check::failure(client.name, "same", why));
    }
    match (own.is_remote(), other.is_remote()) {
        (false, true) => mend(Check::failure(
            client.name,
            "same",
            format!("{sentence}: it is not mounted here"),
        )),
        (true, false) => {
            let check = format!("{sentence}: it is not mounted on {}", layer.name);
            Check::failure(client.name, "same", check)
        }
        (true, true) if own.source == other.source => Check::failure(
            client.name,
            "same",
            format!(
                "{sentence}, though both are named alike: does one of them reach another server?"
            ),
        ),
        _ => Check::warning(
            client.name,
            "same",
            format!("{sentence}: right if each is to have its own, wrong if one was meant"),
        ),
    }
}

#[cfg(test)]
#[path = "mounts_tests.rs"]
mod tests;
