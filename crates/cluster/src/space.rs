//! Whether a composite's data set will fit: what each file system has free, by its
//! own word, against what the procs that work there need.
//!
//! netmist ends a run for want of space in its middle (seed 002, section 18); here
//! it is seen before anything is made. Quotas, compression and thin provisioning
//! make the figure a hint, so the user may overrule it.

use crate::message::FreeSpace;
use filermark_engine::driver::ClaimReport;
use filermark_engine::name::MARKER;
use filermark_model::plan::{DriverPlan, MountPoint};
use filermark_model::{Bytes, LoadPoint, RunPlan};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Why the run cannot be made; one sentence.
    pub refusal: Option<String>,
    /// What may go wrong; a sentence for each file system.
    pub warnings: Vec<String>,
}

/// What one file system has to hold at the largest load point.
#[derive(Debug, Default)]
struct Need {
    free_bytes: u64,
    start_bytes: u64,
    max_bytes: u64,
    mounts: BTreeSet<String>,
    /// Files that are there already need no space; how many of them will do is not
    /// known before INIT.
    kept: bool,
}

/// Holds the needs of a composite's largest load point against `free`, which has an
/// entry per client with what that client sees.
pub(crate) fn check(plan: &RunPlan, free: &[Vec<FreeSpace>]) -> Verdict {
    let mut verdict = Verdict::default();
    let largest = plan.points.iter().max_by_key(|p| plan.proc_count_at(**p));
    let Some(largest) = largest else {
        return verdict;
    };
    for need in needs(plan, *largest, free).values() {
        let too_small = need.free_bytes < need.start_bytes;
        if !too_small && need.free_bytes >= need.max_bytes {
            continue;
        }
        let sentence = need.sentence(too_small);
        match too_small && !need.kept && !is_overruled(plan) {
            true => verdict.refusal = verdict.refusal.or(Some(sentence)),
            false => verdict.warnings.push(sentence),
        }
    }
    verdict
}

/// What the file set of a classical benchmark's largest load point takes, in bytes,
/// with the room by which it grows.
pub(crate) fn classic_need_bytes(plan: &RunPlan) -> Option<u64> {
    let classic = plan.benchmark.classic()?;
    let loads = plan.points.iter().map(|p| p.requested.0);
    let most = loads.fold(0.0, f64::max);
    Some((most * classic.fileset.mb_per_op * 1.1 * (1u64 << 20) as f64) as u64)
}

/// Tells when a classical benchmark's largest load point will hardly fit. Only tells:
/// quotas, compression and thin provisioning make the figure a hint.
pub(crate) fn classic_shortage(plan: &RunPlan, free: &[FreeSpace]) -> Option<String> {
    let needed = classic_need_bytes(plan)?;
    let least = free.iter().map(|f| f.bytes).min();
    let free = least.filter(|free| *free < needed)?;
    Some(format!(
        "the server has {} free, the largest load point needs about {}: lower LOAD or FILESET_MB_PER_OP",
        Bytes(free),
        Bytes(needed)
    ))
}

fn is_overruled(plan: &RunPlan) -> bool {
    match &plan.driver {
        DriverPlan::Posix(posix) => posix.ignore_space,
        DriverPlan::Nfs(_) | DriverPlan::Smb(_) | DriverPlan::Null => false,
    }
}

fn needs(plan: &RunPlan, point: LoadPoint, free: &[Vec<FreeSpace>]) -> BTreeMap<String, Need> {
    let mut needs: BTreeMap<String, Need> = BTreeMap::new();
    let Some(composite) = plan.benchmark.composite() else {
        return needs;
    };
    let mut shared = BTreeSet::new();
    for proc in plan.procs.iter().take(plan.proc_count_at(point) as usize) {
        let Some(component) = composite.components.get(proc.component as usize) else {
            continue;
        };
        // A shared tree is there once, where the first of its procs works.
        let shares = plan.fileset.sharing || component.workload.attributes.sharemode;
        if shares && !shared.insert(proc.component) {
            continue;
        }
        let seen = free.get(proc.client as usize);
        let Some(there) = seen.and_then(|f| f.iter().find(|f| f.mounts.contains(&proc.mount)))
        else {
            continue;
        };
        let need = needs.entry(there.file_system.clone()).or_insert(Need {
            free_bytes: u64::MAX,
            ..Need::default()
        });
        need.free_bytes = need.free_bytes.min(there.bytes);
        need.kept |= there.kept;
        need.start_bytes = need.start_bytes.saturating_add(component.start_bytes());
        need.max_bytes = need.max_bytes.saturating_add(component.max_bytes());
        need.mounts.insert(proc.mount.to_string());
    }
    needs
}

impl Need {
    fn sentence(&self, too_small: bool) -> String {
        let mounts: Vec<&str> = self.mounts.iter().map(String::as_str).collect();
        let place = match mounts.as_slice() {
            [first, second, .., _] => format!("{first}, {second}, ..."),
            few => few.join(", "),
        };
        let free = Bytes(self.free_bytes);
        let (start, max) = (Bytes(self.start_bytes), Bytes(self.max_bytes));
        let advice = "lower LOAD or FILE_SIZE, free some space, or say SPACE_CHECK=off";
        match too_small {
            true => format!(
                "{place}: {free} are free, but the file set of the largest load point takes {start}, and up to {max} during RUN: {advice}"
            ),
            false => format!(
                "{place}: {free} are free; the file set of the largest load point takes {start}, but may come to take {max} during RUN and then fail: {advice}"
            ),
        }
    }
}

/// What one client sees, mount point by mount point.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Whether the paths are of this host's own.
    mounted: bool,
    file_systems: Vec<(String, FreeSpace)>,
}

impl Seen {
    /// Nothing yet; the driver says what the paths mean.
    pub fn by(driver: &DriverPlan) -> Self {
        Self {
            mounted: matches!(driver, DriverPlan::Posix(_)),
            file_systems: Vec::new(),
        }
    }

    /// Adds what a claim has found. Several mount points of one file system, which
    /// have one device number, count once.
    pub fn add(&mut self, mount: &MountPoint, kept: bool, host: &str, found: &ClaimReport) {
        let Some(bytes) = found.free_bytes else {
            return;
        };
        let device = match self.mounted {
            true => device_of(&mount.path),
            false => mount.to_string(),
        };
        match self.file_systems.iter_mut().find(|(d, _)| *d == device) {
            Some((_, known)) => {
                known.bytes = known.bytes.min(bytes);
                known.kept |= kept;
                known.mounts.push(mount.clone());
            }
            None => {
                let free = FreeSpace {
                    mounts: vec![mount.clone()],
                    file_system: name_of(&device, host, found),
                    bytes,
                    kept,
                };
                self.file_systems.push((device, free));
            }
        }
    }

    /// All of it, for the prime.
    pub fn into_free(self) -> Vec<FreeSpace> {
        self.file_systems.into_iter().map(|(_, f)| f).collect()
    }
}

/// Names a file system, so that two hosts that see one are seen to do so: a remote
/// one by what is mounted, a local one by its host and device.
fn name_of(device: &str, host: &str, found: &ClaimReport) -> String {
    let source = found.server_facts.iter().find(|(name, _)| name == SOURCE);
    match source {
        Some((_, source)) if source.contains(':') || source.starts_with("//") => source.clone(),
        _ => format!("{host} {} {device}", boot_id()),
    }
}

/// Tells hosts apart that call themselves the same: copies of one virtual machine.
fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map_or_else(|_| String::new(), |id| id.trim().to_owned())
}

/// The fact in which the driver of mounted file systems says what is mounted there.
const SOURCE: &str = "source";

/// Whether an earlier run has left files that this one may use again. To be asked
/// before the directory is claimed.
pub(crate) fn is_kept(driver: &DriverPlan, mount: &MountPoint, dir_name: &str) -> bool {
    let DriverPlan::Posix(posix) = driver else {
        return false;
    };
    let dir = Path::new(&mount.path).join(dir_name);
    let mut names = std::fs::read_dir(dir).into_iter().flatten().flatten();
    posix.reuse_kept && names.any(|name| name.file_name() != MARKER)
}

/// The number of the device that a path is on; the path itself where there is none.
#[cfg(unix)]
fn device_of(path: &str) -> String {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).map_or_else(|_| path.to_owned(), |found| found.dev().to_string())
}

#[cfg(not(unix))]
fn device_of(path: &str) -> String {
    path.to_owned()
}
