//! Whether a run's file set will fit: the free space of each file system, as its server reports
//! it, against the needs of the procs that work entry.
//!
//! netmist ends a run in the middle if space runs out (manual N, section 18); here this is
//! detected before files are created, and a reserve remains free for other users of the server.
//! With quotas, compression and thin provisioning the figure is an estimate, so the user may
//! override it.

use crate::message::FreeSpace;
use filermark_model::plan::{MountPoint, Target};
use filermark_model::{Bytes, OpsPerSec, RunPlan};
use std::collections::{BTreeMap, BTreeSet};

/// The result of the check.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SpaceCheck {
    /// Why the run cannot be started; a message.
    pub refusal: Option<String>,
    /// Possible problems; a message for each file system.
    pub warnings: Vec<String>,
}

/// What one file system has to store at the largest load point.
#[derive(Debug, Default)]
struct SpaceNeed {
    free_bytes: u64,
    /// The part of it that must remain free.
    reserve_bytes: u64,
    start_bytes: u64,
    max_bytes: u64,
    mounts: BTreeSet<String>,
    /// Existing files need no further space; how many of them can be used is not known before
    /// INIT.
    kept: bool,
}

/// Compares the needs of the largest load point with `free`, which has an entry per client with
/// the free space that this client reports.
pub fn check(plan: &RunPlan, free: &[Vec<FreeSpace>]) -> SpaceCheck {
    let mut verdict = SpaceCheck::default();
    for need in needs(plan, free).values() {
        let usable = need.free_bytes.saturating_sub(need.reserve_bytes);
        let too_small = usable < need.start_bytes;
        if !too_small && usable >= need.max_bytes {
            continue;
        }
        let sentence = need.describe(plan, too_small);
        match too_small && !need.kept && plan.space.check {
            true => verdict.refusal = verdict.refusal.or(Some(sentence)),
            false => verdict.warnings.push(sentence),
        }
    }
    verdict
}

/// The maximum size of the file set of the largest load point, in bytes.
pub fn need_bytes(plan: &RunPlan) -> u64 {
    match plan.benchmark.composite() {
        Some(_) => {
            let sets = plan.points.iter().map(|p| plan.data_set(*p).max_bytes);
            sets.max().unwrap_or(0)
        }
        None => classic_bytes(plan).1,
    }
}

/// The size of the file set of a classical benchmark's largest load point: at first, and with
/// its maximum growth, in bytes.
fn classic_bytes(plan: &RunPlan) -> (u64, u64) {
    let most = |bytes: fn(&RunPlan, OpsPerSec) -> u64| {
        let of_points = plan.points.iter().map(|p| bytes(plan, p.requested));
        of_points.max().unwrap_or(0)
    };
    (most(RunPlan::io_bytes), most(RunPlan::io_space_bytes))
}

/// The needs of the largest load point, by file system.
fn needs(plan: &RunPlan, free: &[Vec<FreeSpace>]) -> BTreeMap<String, SpaceNeed> {
    match plan.benchmark.composite() {
        Some(_) => composite_needs(plan, free),
        None => classic_needs(plan, free),
    }
}

/// Every proc has an equal share of the file set, on its own mount point.
fn classic_needs(plan: &RunPlan, free: &[Vec<FreeSpace>]) -> BTreeMap<String, SpaceNeed> {
    let mut needs = BTreeMap::new();
    let mut procs: BTreeMap<String, u64> = BTreeMap::new();
    for client in 0..plan.clients.len() {
        for (_, mount) in plan.procs_of(client) {
            if let Some(entry) = space_at(free, client, &mount) {
                need_of(&mut needs, plan, entry, &mount);
                *procs.entry(entry.file_system.clone()).or_default() += 1;
            }
        }
    }
    let (start, max) = classic_bytes(plan);
    let all = f64::from(plan.proc_count().max(1));
    for (file_system, need) in &mut needs {
        let share = procs.get(file_system).map_or(0.0, |n| *n as f64 / all);
        need.start_bytes = (start as f64 * share) as u64;
        need.max_bytes = (max as f64 * share) as u64;
    }
    needs
}

fn composite_needs(plan: &RunPlan, free: &[Vec<FreeSpace>]) -> BTreeMap<String, SpaceNeed> {
    let mut needs = BTreeMap::new();
    let largest = plan.points.iter().max_by_key(|p| plan.proc_count_at(**p));
    let (Some(composite), Some(point)) = (plan.benchmark.composite(), largest) else {
        return needs;
    };
    let mut shared = BTreeSet::new();
    for proc in plan.procs.iter().take(plan.proc_count_at(*point) as usize) {
        let Some(component) = composite.components.get(proc.component as usize) else {
            continue;
        };
        // A shared tree counts once, where the first of its procs works.
        let shares = plan.fileset.sharing || component.workload.attributes.sharemode;
        if shares && !shared.insert(proc.component) {
            continue;
        }
        let Some(entry) = space_at(free, proc.client as usize, &proc.mount) else {
            continue;
        };
        let need = need_of(&mut needs, plan, entry, &proc.mount);
        need.start_bytes = need.start_bytes.saturating_add(component.start_bytes());
        need.max_bytes = need.max_bytes.saturating_add(component.max_bytes());
    }
    needs
}

/// The file system of a client's mount point, if its space is known.
fn space_at<'a>(
    free: &'a [Vec<FreeSpace>],
    client: usize,
    mount: &MountPoint,
) -> Option<&'a FreeSpace> {
    let seen = free.get(client)?;
    seen.iter().find(|f| f.mounts.contains(mount))
}

/// The entry of a file system, with the smallest free space that a client reports.
fn need_of<'a>(
    needs: &'a mut BTreeMap<String, SpaceNeed>,
    plan: &RunPlan,
    entry: &FreeSpace,
    mount: &MountPoint,
) -> &'a mut SpaceNeed {
    let need = needs.entry(entry.file_system.clone()).or_insert(SpaceNeed {
        free_bytes: u64::MAX,
        ..SpaceNeed::default()
    });
    let whole = match entry.total_bytes {
        0 => entry.bytes,
        total => total,
    };
    let reserve = (whole as f64 * plan.space.reserve_pcnt / 100.0) as u64;
    need.free_bytes = need.free_bytes.min(entry.bytes);
    need.reserve_bytes = need.reserve_bytes.max(reserve);
    need.kept |= entry.kept;
    need.mounts.insert(mount.to_string());
    need
}

impl SpaceNeed {
    fn describe(&self, plan: &RunPlan, too_small: bool) -> String {
        let mounts: Vec<&str> = self.mounts.iter().map(String::as_str).collect();
        let place = match mounts.as_slice() {
            [first, second, .., _] => format!("{first}, {second}, ..."),
            few => few.join(", "),
        };
        let mut free = format!("{} are free", Bytes(self.free_bytes));
        if self.reserve_bytes > 0 {
            let reserve = Bytes(self.reserve_bytes);
            free += &format!(", of which {reserve} must stay free (SPACE_RESERVE)");
        }
        let (start, max) = (Bytes(self.start_bytes), Bytes(self.max_bytes));
        let size = match plan.benchmark.composite() {
            Some(_) => "FILE_SIZE",
            None => "FILESET_MB_PER_OP",
        };
        let or_reserve = match self.free_bytes >= self.max_bytes {
            true => " or SPACE_RESERVE",
            false => "",
        };
        let advice =
            format!("lower LOAD or {size}{or_reserve}, free some space, or set SPACE_CHECK=off");
        match too_small {
            true => format!(
                "{place}: {free}; the file set of the largest load point takes {start}, and up to {max} during RUN: {advice}"
            ),
            false => format!(
                "{place}: {free}; the file set of the largest load point takes {start}, but may grow to {max} during RUN and then fail: {advice}"
            ),
        }
    }
}

/// The report of an agent about free space, reduced to the mount points of its client in the
/// plan. If the paths belong to servers, a file system has the name of its mount point and no
/// other.
pub fn of_own_mounts(plan: &RunPlan, client: usize, reported: Vec<FreeSpace>) -> Vec<FreeSpace> {
    let own = plan.clients.get(client).map_or(&[][..], |c| &c.mounts[..]);
    let is_own = |entry: &FreeSpace| {
        let names = |mount: &MountPoint| {
            plan.driver.facts().target != Target::Server || mount.to_string() == entry.file_system
        };
        let mut mounts = entry.mounts.iter();
        !entry.mounts.is_empty() && mounts.all(|mount| own.contains(mount) && names(mount))
    };
    reported.into_iter().filter(is_own).collect()
}
