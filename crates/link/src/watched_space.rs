//! Which agents monitor the free space of which file systems for STOP_IF, and where that is
//! impossible.

use crate::facts::FreeSpace;
use crate::limits::FILE_SYSTEMS_MAX;
use filermark_model::RunPlan;
use filermark_model::plan::Target;
use filermark_model::stop_if::{StopCondition, StopFigure};
use std::collections::{BTreeMap, BTreeSet};

/// Mount points that a message names.
const NAMED_MAX: usize = 3;

/// The file systems that each agent monitors, by their names.
pub type SpaceReporters = BTreeMap<usize, Vec<String>>;

/// Whether the plan has a condition on free space.
pub fn is_space_watched(plan: &RunPlan) -> bool {
    let free = |c: &StopCondition| c.figure == StopFigure::Free;
    plan.stop_if.iter().any(free)
}

/// The file systems that each of these agents has to monitor: each file system is monitored by
/// one agent.
pub fn space_watchers(agents: &[usize], free: &BTreeMap<usize, Vec<FreeSpace>>) -> SpaceReporters {
    let mut seen = BTreeSet::new();
    let mut watchers = SpaceReporters::new();
    for at in agents {
        for there in free.get(at).into_iter().flatten() {
            // Another agent may know the size if this one does not.
            let is_known = there.total_bytes > 0 && seen.len() < FILE_SYSTEMS_MAX;
            if is_known && seen.insert(&there.file_system) {
                let mine = watchers.entry(*at).or_default();
                mine.push(there.file_system.clone());
            }
        }
    }
    watchers
}

/// The mount points at which a condition on free space cannot be evaluated, by what these
/// clients (by their numbers) report, as a message. `None`: none, or there is no such
/// condition.
pub fn not_monitored(plan: &RunPlan, free: &BTreeMap<usize, Vec<FreeSpace>>) -> Option<String> {
    if !is_space_watched(plan) {
        return None;
    }
    let agents: Vec<usize> = free.keys().copied().collect();
    let watchers = space_watchers(&agents, free);
    let watched: BTreeSet<&String> = watchers.values().flatten().collect();
    let mut places = BTreeSet::new();
    for (at, known) in free {
        let Some(client) = plan.clients.get(*at) else {
            continue;
        };
        for mount in &client.mounts {
            let leads_there = |there: &&FreeSpace| there.mounts.contains(mount);
            let mut there = known.iter().filter(leads_there);
            let name = mount.to_string();
            if there.any(|there| watched.contains(&there.file_system)) || watched.contains(&name) {
                continue;
            }
            places.insert(match plan.driver.facts().target {
                Target::Server => name,
                _ => format!("client {}, {name}", client.name),
            });
        }
    }
    let more = match places.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let named: Vec<String> = places.into_iter().take(NAMED_MAX).collect();
    (!named.is_empty()).then(|| {
        format!(
            "STOP_IF: a condition on free space cannot be evaluated at {}{more}: free space and size are not reported there, or there are more than {FILE_SYSTEMS_MAX} file systems; monitor the space on the server",
            named.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::plan::{ClientPlan, MountPoint};

    #[test]
    fn conditions_on_unknown_free_space_are_reported() {
        let mut plan = filermark_results::testing::plan();
        let clients = plan.clients.clone();
        let known = |total_bytes| -> BTreeMap<usize, Vec<FreeSpace>> {
            let there = |mount: &MountPoint| FreeSpace {
                mounts: vec![mount.clone()],
                file_system: mount.to_string(),
                bytes: 1,
                total_bytes,
                kept: false,
            };
            let of_client = |client: &ClientPlan| client.mounts.iter().map(there).collect();
            clients.iter().map(of_client).enumerate().collect()
        };
        let (size_unknown, known) = (known(0), known(9));
        let mounts = plan.clients.iter().flat_map(|client| &client.mounts);
        let name = mounts.map(ToString::to_string).next().expect("a mount");
        assert_eq!(
            not_monitored(&plan, &size_unknown),
            None,
            "there is no condition"
        );
        plan.stop_if = vec![StopCondition {
            figure: StopFigure::Free,
            limit: 5.0,
            seconds: 10,
        }];
        assert_eq!(not_monitored(&plan, &known), None);
        let message = not_monitored(&plan, &size_unknown).expect("it cannot be evaluated");
        assert!(
            message.contains(&format!("cannot be evaluated at {name}")),
            "{message}"
        );
        assert_eq!(
            not_monitored(&plan, &BTreeMap::new()),
            None,
            "no client has reported"
        );
    }

    #[test]
    fn each_file_system_is_monitored_by_one_agent() {
        let there = |name: &str, total_bytes| FreeSpace {
            mounts: Vec::new(),
            file_system: name.into(),
            bytes: 1,
            total_bytes,
            kept: false,
        };
        let free = BTreeMap::from([
            (0, vec![there("a", 9), there("b", 0)]),
            (1, vec![there("a", 9), there("c", 9)]),
            (2, vec![there("d", 9)]),
        ]);
        let watchers = space_watchers(&[0, 1], &free);
        let want = BTreeMap::from([(0, vec!["a".to_owned()]), (1, vec!["c".to_owned()])]);
        assert_eq!(watchers, want);
        assert!(space_watchers(&[2], &BTreeMap::new()).is_empty());
    }
}
